//! Texts of SVG, against pictures by resvg (`make.py`) and against what places mean.

use relief_vector::svg::{Document, Options, Picture, Why};
use relief_vector::text::Font;
use relief_vector::{Affine, Limits};

use super::support;

const WIDTH: usize = 48;
const HEIGHT: usize = 20;
/// How much larger texts are drawn to be averaged.
const TIMES: usize = 8;

fn font() -> Font {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/plate/FredokaOne-Regular.ttf"
    );
    Font::parse(std::fs::read(path).unwrap()).unwrap()
}

fn drawn(body: &str, scale: f64) -> Picture {
    let text =
        format!("<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}'>{body}</svg>");
    let options = Options::default().with(|with| {
        with.transform = Affine::scale(scale);
        with.gray = relief_vector::svg::Gray::Opacity;
    });
    let document = Document::parse(&text, &Limits::default()).unwrap();
    document.draw_with(&options, &[&font()]).unwrap()
}

fn told(body: &str) -> Vec<String> {
    let warnings = drawn(body, 1.0).warnings;
    warnings.iter().map(|warning| warning.what.clone()).collect()
}

/// The box around what is drawn, in pixels.
fn bounds(body: &str) -> [f64; 4] {
    let (left, top, right, bottom) = drawn(body, 1.0).drawing.bounds().unwrap();
    [left, top, right, bottom].map(|side| side as f64 / 256.0)
}

#[test]
fn texts_look_as_resvg_draws_them() {
    let mut seen = 0;
    for line in include_str!("letters.expected").lines() {
        let (body, hex) = line.split_once('\t').unwrap();
        let picture = drawn(body, TIMES as f64);
        let large = support::render::<u8>(&picture.drawing, (TIMES * WIDTH, TIMES * HEIGHT));
        for (at, digits) in hex.as_bytes().chunks(2).enumerate() {
            let expected = u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
            let (x, y) = (at % WIDTH, at / WIDTH);
            let sum: u64 = (0..TIMES * TIMES)
                .map(|n| {
                    let (column, row) = (TIMES * x + n % TIMES, TIMES * y + n / TIMES);
                    u64::from(large[row * TIMES * WIDTH + column])
                })
                .sum();
            let found = sum as f64 / (TIMES * TIMES) as f64;
            assert!(
                (found - f64::from(expected)).abs() <= 6.0,
                "{body}: {found} for {expected} at ({x}, {y})"
            );
        }
        seen += 1;
    }
    assert_eq!(seen, 20);
}

#[test]
fn anchors_move_a_text_by_its_own_width() {
    // Advances of the font, in thousandths: A 706, V 695.
    let start = bounds("<text x='10' y='15' font-size='10'>A<tspan>V</tspan></text>");
    for (anchor, share) in [("middle", 0.5), ("end", 1.0)] {
        let moved = bounds(&format!(
            "<text x='10' y='15' font-size='10' text-anchor='{anchor}'>A<tspan>V</tspan></text>"
        ));
        let alone = bounds("<text x='10' y='15' font-size='10'>AV<tspan>I</tspan></text>");
        let last = bounds("<text x='10' y='15' font-size='10'>I</text>");
        // As wide as an I behind it lies further than one at its place.
        let width = (alone[2] - last[2]) * share;
        assert!(
            (start[0] - moved[0] - width).abs() < 0.2,
            "{anchor}: {start:?} {moved:?} {width}"
        );
        assert_eq!(start[1], moved[1]);
    }
}

#[test]
fn a_move_within_a_text_moves_what_follows() {
    let both = |body: &str| bounds(body);
    let plain = both("<text x='1' y='15' font-size='10'>H<tspan fill='red'>H</tspan></text>");
    let moved = both("<text x='1' y='15' font-size='10'>H<tspan dx='3.5' dy='2'>H</tspan></text>");
    assert_eq!([moved[0], moved[1]], [plain[0], plain[1]]);
    assert!((moved[2] - plain[2] - 3.5).abs() < 0.01 && (moved[3] - plain[3] - 2.0).abs() < 0.01);
    // Units of the font are those of the text.
    let em = both("<text x='1' y='15' font-size='10'>H<tspan dx='.35em' dy='20%'>H</tspan></text>");
    assert!((em[2] - moved[2]).abs() < 0.01, "{em:?}");
    // A percentage is one of the page.
    assert!((em[3] - plain[3] - 4.0).abs() < 0.01, "{em:?}");
}

#[test]
fn what_no_font_has_is_told() {
    assert_eq!(told("<text y='15'>plain</text>"), Vec::<String>::new());
    assert_eq!(
        told("<text y='15' font-family='fredoka one, serif'>plain</text>"),
        Vec::<String>::new()
    );
    assert_eq!(
        told("<text y='15' font-family='serif'>any</text>"),
        Vec::<String>::new()
    );
    let other = drawn("<text y='15' font-family='Arial, sans-serif'>other</text>", 1.0);
    assert_eq!(other.warnings[0].why, Why::OtherFont);
    assert_eq!(
        other.warnings[0].what,
        "no font given is of the family \"Arial\"; \"Fredoka One\" is taken"
    );
    assert!(other.drawing.bounds().is_some());
    let bold = told("<text y='15' font-weight='bold' font-style='italic'>b</text>");
    assert_eq!(
        bold,
        ["no font given of its family has weight 700, italic; \"Fredoka One\" of weight 400 is taken"]
    );
    assert_eq!(
        told("<text y='15'>a漢字漢</text>"),
        ["\"Fredoka One\" has no letter for \"漢\" (U+6F22), \"字\" (U+5B57)"]
    );
}

#[test]
fn what_is_not_laid_out_is_told() {
    for (body, what) in [
        ("<text y='9' rotate='10'>a</text>", "`rotate` is not followed"),
        (
            "<text y='9' textLength='40'>a</text>",
            "`textLength` is not followed",
        ),
        (
            "<text y='9'>a<textPath href='#p'>b</textPath></text>",
            "<textPath> in a text is not drawn",
        ),
        (
            "<text y='9' style='text-decoration:underline'>a</text>",
            "`text-decoration` is not followed",
        ),
        (
            "<text y='9'>a<tspan baseline-shift='super'>b</tspan></text>",
            "`baseline-shift` is not followed",
        ),
        (
            "<text y='9' writing-mode='tb'>a</text>",
            "`writing-mode` is not followed",
        ),
        (
            "<text y='9' dominant-baseline='hanging'>a</text>",
            "this `dominant-baseline` is not followed",
        ),
        (
            "<g direction='rtl'><text y='9'>a</text></g>",
            "`direction` is not followed",
        ),
    ] {
        assert_eq!(told(body), [what], "{body}");
    }
    // What programs write and changes nothing.
    let inkscape = "<text y='9' style='font-variant:normal;font-stretch:normal;text-decoration:none;writing-mode:lr-tb;direction:ltr;letter-spacing:0px;baseline-shift:baseline'>a</text>";
    assert_eq!(told(inkscape), Vec::<String>::new());
}

#[test]
fn the_font_of_the_weight_that_is_named_is_taken() {
    // One that says that it is bold, and is as wide: its weight stands in the table OS/2, 4 bytes from its beginning.
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/plate/FredokaOne-Regular.ttf"
    );
    let mut bytes = std::fs::read(path).unwrap();
    let tables = usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
    let entry = (0..tables)
        .map(|n| 12 + 16 * n)
        .find(|at| &bytes[*at..*at + 4] == b"OS/2")
        .unwrap();
    let at = u32::from_be_bytes(bytes[entry + 8..entry + 12].try_into().unwrap()) as usize;
    bytes[at + 4..at + 6].copy_from_slice(&700_u16.to_be_bytes());
    let (regular, bold) = (font(), Font::parse(bytes).unwrap());
    for (weight, warnings) in [("400", 0), ("bold", 0), ("300", 1), ("900", 1)] {
        let text = format!(
            "<svg xmlns='http://www.w3.org/2000/svg'><text y='9' font-weight='{weight}'>a</text></svg>"
        );
        let document = Document::parse(&text, &Limits::default()).unwrap();
        let picture = document
            .draw_with(&Options::default(), &[&bold, &regular])
            .unwrap();
        assert_eq!(
            picture
                .warnings
                .iter()
                .filter(|told| told.why == Why::OtherFont)
                .count(),
            warnings,
            "{weight}"
        );
        if weight == "300" {
            assert!(
                picture.warnings[0].what.ends_with("of weight 400 is taken"),
                "{:?}",
                picture.warnings
            );
        }
    }
}

#[test]
fn a_letter_is_drawn_the_same_wherever_it_stands() {
    let look = "font-size='10' fill='#888' stroke='white' stroke-width='1.3' stroke-dasharray='2 1' paint-order='stroke'";
    let together = drawn(
        &format!("<text y='15' x='2 12.25 22.5 33' {look}>AVAV</text>"),
        1.0,
    );
    let alone: String = [("A", "2"), ("V", "12.25"), ("A", "22.5"), ("V", "33")]
        .map(|(letter, x)| format!("<text y='15' x='{x}' {look}>{letter}</text>"))
        .concat();
    let alone = drawn(&alone, 1.0);
    let size = (WIDTH, HEIGHT);
    let [one, other] = [&together, &alone].map(|picture| support::render::<u8>(&picture.drawing, size));
    let differs = one
        .iter()
        .zip(&other)
        .filter(|(a, b)| a.abs_diff(**b) > 1)
        .count();
    assert_eq!(differs, 0);
    assert!(one.iter().any(|sample| *sample > 200));
}

#[test]
fn texts_beyond_the_limits_are_refused() {
    let text = format!(
        "<svg xmlns='http://www.w3.org/2000/svg'><text y='9'>{}</text></svg>",
        "a".repeat(10_000)
    );
    let refused = |limits: Limits| {
        let document = Document::parse(&text, &limits).unwrap();
        let options = Options::default().with(|with| with.limits = limits);
        document.draw_with(&options, &[&font()]).unwrap_err().refused()
    };
    let few = |items, memory| Limits {
        items,
        memory,
        ..Limits::default()
    };
    assert_eq!(
        refused(few(9_999, u64::MAX)),
        Some(relief_vector::Refused::Items(9_999))
    );
    assert_eq!(
        refused(few(1 << 20, 1 << 20)),
        Some(relief_vector::Refused::Memory(1 << 20))
    );
    // Elements in elements, as deep as any.
    let deep = format!(
        "<svg xmlns='http://www.w3.org/2000/svg'><text y='9'>{}a{}</text></svg>",
        "<tspan>".repeat(200),
        "</tspan>".repeat(200)
    );
    let document = Document::parse(&deep, &Limits::default()).unwrap();
    let error = document.draw_with(&Options::default(), &[&font()]).unwrap_err();
    assert!(error.to_string().contains("nested more than 128 deep"), "{error}");
}
