//! What of a document is followed as SVG 2 and CSS have it, and that all else is told with its place.

use relief_vector::svg::{Document, Options, Picture};
use relief_vector::text::Font;
use relief_vector::{Limits, Pixel};

/// A document of 200 by 100, whose first line is its root.
fn drawn(inside: &str) -> Picture {
    drawn_by(inside, &[])
}

fn drawn_by(inside: &str, fonts: &[&Font]) -> Picture {
    let text = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='200' height='100' fill='white'>\n{inside}</svg>"
    );
    let options = Options::default().with(|with| with.pixel = Pixel::dpi(254));
    let document = Document::parse(&text, &Limits::default()).unwrap();
    document.draw_with(&options, fonts).unwrap()
}

fn font() -> Font {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/plate/FredokaOne-Regular.ttf"
    );
    Font::parse(std::fs::read(path).unwrap()).unwrap()
}

fn told(inside: &str) -> Vec<String> {
    let warnings = drawn(inside).warnings;
    warnings.iter().map(ToString::to_string).collect()
}

/// Left, top, right and bottom in pixels.
fn bounds(inside: &str) -> Option<[f64; 4]> {
    let bounds = drawn(inside).drawing.bounds()?;
    Some([bounds.0, bounds.1, bounds.2, bounds.3].map(|side| side as f64 / 256.0))
}

#[track_caller]
fn is_told_once(inside: &str, expected: &str) {
    assert_eq!(told(inside), [expected], "{inside}");
}

#[track_caller]
fn is_as(inside: &str, plain: &str) {
    assert_eq!(told(inside), Vec::<String>::new(), "{inside}");
    assert_eq!(bounds(inside), bounds(plain), "{inside}");
}

const UNREAD: &str = "is not read, and counts as if it were not written";

#[test]
fn lengths_in_all_units_are_what_css_says() {
    let rect = |side: &str| format!("<rect width='{side}' height='{side}'/>");
    for (side, pixels) in [
        ("12", 12.0),
        ("12px", 12.0),
        ("12PX", 12.0),
        ("1.2e1", 12.0),
        ("+12.", 12.0),
        (".5em", 8.0),
        ("2em", 32.0),
        ("2ex", 16.0),
        ("2ch", 16.0),
        ("2rem", 32.0),
        ("5vw", 10.0),
        ("5vh", 5.0),
        ("5vmin", 5.0),
        ("5vmax", 10.0),
        // At 254 pixels an inch.
        ("2mm", 20.0),
        ("4Q", 10.0),
        ("1cm", 100.0),
        (".1in", 25.4),
    ] {
        is_as(&rect(side), &rect(&pixels.to_string()));
    }
    // A font of 30 px: an em is that of the element itself, a rem that of the root.
    is_as(
        "<g font-size='30'><rect width='1em' height='1rem'/></g>",
        "<rect width='30' height='16'/>",
    );
    is_as(
        "<g font-size='10'><rect font-size='200%' width='1em' height='1em'/></g>",
        &rect("20"),
    );
    // A width in units of the font is inherited as that length.
    let line = |style: &str| {
        format!(
            "<g font-size='10' {style}><line font-size='40' x1='50' y1='50' x2='90' y2='50' stroke='white'/></g>"
        )
    };
    is_as(&line("stroke-width='2em'"), &line("stroke-width='20'"));
    is_as(
        &line("style='stroke-width:5%'"),
        &line("stroke-width='7.90569415042'"),
    );
    is_as(
        "<line x1='0' y1='50' x2='200' y2='50' stroke='white' stroke-width='4' stroke-dasharray='10% 1000'/>",
        "<line x1='0' y1='50' x2='15.8113883' y2='50' stroke='white' stroke-width='4'/>",
    );
}

#[test]
fn sizes_of_fonts_are_what_css_says() {
    let font = font();
    let of = |size: &str| {
        let text = format!("<text y='60' {size}>H</text>");
        let picture = drawn_by(&text, &[&font]);
        let told: Vec<String> = picture.warnings.iter().map(ToString::to_string).collect();
        (picture.drawing.bounds(), told)
    };
    let same = [
        ("font-size='2rem'", "font-size='32'"),
        ("font-size='1.5em'", "font-size='24'"),
        ("font-size='150%'", "font-size='24'"),
        ("font-size='3ex'", "font-size='24'"),
        ("font-size='10VW'", "font-size='20'"),
        ("font-size='Large'", "font-size='19.2'"),
        ("style='font:20px/2 serif'", "font-size='20'"),
    ];
    for (size, plain) in same {
        assert_eq!(of(size), (of(plain).0, vec![]), "{size}");
    }
    for size in [
        "NaN",
        "calc(1px + 2px)",
        "-3",
        "abc",
        "2furlong",
        "inf",
        "1e400",
        "3 px",
    ] {
        let (bounds, told) = of(&format!("font-size='{size}'"));
        assert_eq!(bounds, of("").0, "{size}");
        assert_eq!(told, [format!("2:1: font-size={size:?} {UNREAD}")]);
    }
    // The length that is needed is named where the text is, not where no text is.
    let text = "<svg xmlns='http://www.w3.org/2000/svg' font-size='12pt'><text y='9'>a</text></svg>";
    let document = Document::parse(text, &Limits::default()).unwrap();
    let error = document.draw_with(&Options::default(), &[&font]).unwrap_err();
    assert!(error.to_string().contains("12pt has an absolute unit"), "{error}");
    assert!(document.draw(&Options::default()).is_ok());
}

/// Every attribute that is read, with values that are none of it.
#[test]
fn every_value_that_is_not_read_is_told() {
    let values = ["abc", "NaN", "calc(1px * 2)", "5parsec", "--x", "1 2 3 4", "#"];
    let on = |element: &str, attribute: &str, value: &str| {
        let path = if element == "path" && attribute != "d" {
            "d='M0 0h50v50z'"
        } else {
            ""
        };
        let inner = match element {
            "use" => "<rect id='r' width='9' height='9'/>",
            _ => "",
        };
        let target = if element == "use" { "href='#r'" } else { "" };
        let target = if attribute == "preserveAspectRatio" {
            "viewBox='0 0 9 9'"
        } else {
            target
        };
        let sides = if element == "svg" {
            "<rect width='9' height='9'/>"
        } else {
            ""
        };
        format!("{inner}<{element} {target} {path} {attribute}=\"{value}\">{sides}</{element}>")
    };
    let all: [(&str, &[&str]); 9] = [
        ("rect", &["x", "y", "width", "height", "rx", "ry"]),
        ("circle", &["cx", "cy", "r"]),
        ("ellipse", &["cx", "cy", "rx", "ry"]),
        ("line", &["x1", "y1", "x2", "y2"]),
        ("polyline", &["points"]),
        ("polygon", &["points"]),
        ("use", &["x", "y"]),
        (
            "svg",
            &["x", "y", "width", "height", "viewBox", "preserveAspectRatio"],
        ),
        (
            "path",
            &[
                "fill",
                "fill-opacity",
                "fill-rule",
                "stroke",
                "stroke-opacity",
                "stroke-width",
                "stroke-dasharray",
                "stroke-dashoffset",
                "stroke-linecap",
                "stroke-linejoin",
                "stroke-miterlimit",
                "paint-order",
                "visibility",
                "opacity",
                "clip-path",
                "clip-rule",
                "color",
                "overflow",
                "shape-rendering",
                "font-size",
                "font-weight",
                "font-style",
                "text-anchor",
                "letter-spacing",
                "word-spacing",
                "white-space",
                "d",
                "transform",
            ],
        ),
    ];
    for (element, attributes) in all {
        for attribute in attributes {
            for value in values {
                // Four numbers are what these are; dashes and points may be as many.
                let is_list = matches!(*attribute, "viewBox" | "stroke-dasharray" | "points");
                if value == "1 2 3 4" && is_list {
                    continue;
                }
                let told = told(&on(element, attribute, value));
                assert_eq!(told.len(), 1, "{element} {attribute}={value}: {told:?}");
                let is_named = told[0].contains(attribute) && told[0].contains(value);
                let is_place = told[0].starts_with("2:");
                let is_other = matches!(*attribute, "points" | "d" | "transform" | "clip-path");
                assert!(is_place && (is_named || is_other), "{told:?}");
            }
        }
    }
    // As if it were not written.
    for (wrong, plain) in [
        (
            "<rect width='9' height='9' x='abc'/>",
            "<rect width='9' height='9'/>",
        ),
        (
            "<g stroke='white' fill='none' stroke-width='6'><path d='M9 9h9' stroke-width='abc'/></g>",
            "<path d='M9 9h9' stroke='white' fill='none' stroke-width='6'/>",
        ),
        (
            "<path d='M9 9h9v9z' style='fill:none;fill:#12'/>",
            "<path d='M9 9h9v9z' fill='none'/>",
        ),
        (
            "<polygon points='1 1 9 1 9 9 4'/>",
            "<polygon points='1 1 9 1 9 9'/>",
        ),
    ] {
        assert_eq!(bounds(wrong), bounds(plain), "{wrong}");
    }
    for attribute in ["width", "height", "rx", "ry"] {
        is_told_once(
            &format!("<rect {attribute}='-3'/>"),
            &format!("2:1: {attribute}=\"-3\" is negative, and counts as if it were not written"),
        );
    }
    // What CSS allows everywhere.
    for value in ["inherit", "initial", "unset", "revert", "INHERIT"] {
        for name in [
            "stroke",
            "stroke-width",
            "opacity",
            "font-size",
            "display",
            "visibility",
            "clip-path",
        ] {
            let text = format!("<rect width='9' height='9' style='{name}:{value}'/>");
            assert_eq!(told(&text), Vec::<String>::new(), "{text}");
        }
    }
    is_as(
        "<g stroke='white' stroke-width='8'><path d='M20 20h9' style='stroke-width:initial'/></g>",
        "<path d='M20 20h9' stroke='white'/>",
    );
    is_as(
        "<g fill='none'><rect width='9' height='9' fill='WHITE'/></g>",
        "<rect width='9' height='9'/>",
    );
    is_as(
        "<g color='white'><rect width='9' height='9' fill='currentcolor'/></g>",
        "<rect width='9' height='9'/>",
    );
}

#[test]
fn the_root_is_read_as_all_others() {
    let told = |root: &str| {
        let text = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' {root}><rect width='9' height='9' fill='#fff'/></svg>"
        );
        let document = Document::parse(&text, &Limits::default()).unwrap();
        let picture = document.draw(&Options::default()).unwrap();
        let told: Vec<String> = picture.warnings.iter().map(ToString::to_string).collect();
        (document.size(None).unwrap(), told)
    };
    assert_eq!(
        told("width='4em' height='50' font-size='10'").0,
        Some((40.0, 50.0))
    );
    assert_eq!(
        told("width='abc' viewBox='0 0 30 20'"),
        (Some((30.0, 20.0)), vec![format!("1:1: width=\"abc\" {UNREAD}")])
    );
    assert_eq!(
        told("width='30' height='20' viewBox='0 0 0 9'").1,
        ["1:1: viewBox=\"0 0 0 9\" is no box with an area, and counts as if it were not written"]
    );
    assert_eq!(
        told("width='30' height='20' transform='scale(2)'").1,
        ["1:1: the transform of the whole document is not followed"]
    );
    assert_eq!(
        told("width='30' height='20' style='background:#fff'").1,
        ["1:1: `background` is not drawn"]
    );
    assert_eq!(
        told("width='30' height='20' enable-background='new 0 0 30 20' style='background:none'").1,
        Vec::<String>::new()
    );
}

#[test]
fn rules_of_style_sheets_that_are_not_followed_are_told_once_with_their_line() {
    let two = "<rect class='a' width='9' height='9'/><rect class='a' width='9' height='9'/>";
    let sheet = |rules: &str| format!("<style>\n{rules}</style>{two}");
    for selector in [
        "rect:not(.b)",
        "rect ~ rect",
        "rect:nth-of-type(2)",
        "rect:nth-child(2n)",
        "rect:is(.a)",
        "rect::before",
        "svg|rect",
        "rect[class^='a']",
        ":root",
        "rect > ",
        "r\\65 ct",
    ] {
        is_told_once(
            &sheet(&format!(" {selector}{{fill:none}}")),
            &format!(
                "3:2: the selector {:?} of a style sheet is not followed",
                selector.trim()
            ),
        );
    }
    // The other selectors of its list are.
    let text = sheet(".b, rect:not(.b), .a { fill: none }");
    assert_eq!(
        told(&text),
        ["3:5: the selector \"rect:not(.b)\" of a style sheet is not followed"]
    );
    assert_eq!(bounds(&text), None);
    for rule in [
        "@import url(other.css);",
        "@import 'other.css' print;",
        "@font-face { font-family: x; src: url(x.woff) }",
        "@keyframes k { from { x: 1px } }",
        "@supports (fill: none) { .a { fill: none } }",
        "@media (min-width: 10px) { .a { fill: none } }",
        "@layer base { .a { fill: none } }",
        "@namespace s url(other);",
    ] {
        let all = told(&sheet(&format!("/* a\ncomment */ {rule}")));
        assert_eq!(all.len(), 1, "{rule}: {all:?}");
        let name = rule.split(' ').next().unwrap();
        assert!(
            all[0].starts_with("4:12: \"@") && all[0].contains(name),
            "{all:?}"
        );
        assert!(all[0].ends_with("in a style sheet is not followed"), "{all:?}");
        assert!(bounds(&sheet(rule)).is_some());
    }
    // A value that is not read is told where the rule has it, not for each element.
    is_told_once(
        &sheet(".a { stroke-width: 3px;\n  stroke-width: abc }"),
        &format!("4:3: stroke-width=\"abc\" {UNREAD}"),
    );
    is_told_once(
        &sheet(".a { fill none }"),
        "3:6: \"fill none\" in a style sheet is no declaration",
    );
    is_told_once(
        &sheet(".a { fill:none; .b { fill:none } }"),
        "3:17: \".b { fill:none }\" in a style sheet is no declaration",
    );
    is_told_once(&sheet("nothing"), "3:1: \"nothing\" in a style sheet is no rule");
}

#[test]
fn media_and_types_of_style_sheets_decide() {
    let rect = "<rect class='a' width='9' height='9'/>";
    for (media, is_followed) in [
        ("print", true),
        ("all", true),
        ("screen", false),
        ("screen, print", true),
        ("not screen", true),
        ("screen and (min-width: 9px)", false),
        ("ONLY print", true),
    ] {
        for text in [
            format!("<style>@media {media} {{ .a {{ fill: none }} }}</style>{rect}"),
            format!("<style media='{media}'>.a {{ fill: none }}</style>{rect}"),
        ] {
            assert_eq!(told(&text), Vec::<String>::new(), "{text}");
            assert_eq!(bounds(&text).is_none(), is_followed, "{text}");
        }
    }
    is_told_once(
        &format!("<style media='(color)'>.a {{ fill: none }}</style>{rect}"),
        "2:1: a style sheet for \"(color)\" is not followed",
    );
    is_told_once(
        &format!("<style type='text/less'>.a {{ fill: none }}</style>{rect}"),
        "2:1: a style sheet of the type \"text/less\" is not followed",
    );
    // A rule behind one that is not followed, in CDATA, with what once hid it from others.
    let text = format!(
        "<style type='TEXT/CSS'><![CDATA[<!-- @charset 'utf-8'; @page {{ size: a4 }}\n.a > .b {{ }} .a {{ FILL: None }} -->]]></style>{rect}"
    );
    assert_eq!((told(&text), bounds(&text)), (vec![], None));
    is_as(
        "<style>a:link rect{fill:none} :lang(de) rect{fill:none} rect:hover{fill:none}</style><a href='#x'><rect width='5' height='5'/></a><g lang='de-CH'><rect width='6' height='6'/></g><rect width='7' height='7'/>",
        "<rect width='7' height='7'/>",
    );
    let text = "<?xml-stylesheet href='a.css'?><svg xmlns='http://www.w3.org/2000/svg'><rect width='9' height='9' fill='#fff'/></svg>";
    let picture = Document::parse(text, &Limits::default())
        .unwrap()
        .draw(&Options::default())
        .unwrap();
    assert_eq!(
        picture.warnings[0].to_string(),
        "1:1: no other file is opened: the style sheet is not followed"
    );
}

#[test]
fn declarations_end_where_they_do() {
    // What other readers stop at.
    is_as(
        "<rect width='9' height='9' style=\"x-a: calc((1px + 2px) * 3); font-family: 'a;b'; fill: none ! IMPORTANT\"/><rect width='5' height='5'/>",
        "<rect width='5' height='5'/>",
    );
}

/// A font with one table more, by the header and the list of tables that OpenType 1.9.1 gives a file.
fn with_table(font: &[u8], tag: [u8; 4], table: &[u8]) -> Vec<u8> {
    let number = |at: usize| u32::from_be_bytes(font[at..at + 4].try_into().unwrap());
    let count = usize::from(u16::from_be_bytes([font[4], font[5]]));
    let head = 12 + 16 * count;
    let mut records: Vec<([u8; 4], [u32; 3])> = (0..count)
        .map(|record| 12 + 16 * record)
        .map(|at| {
            let numbers = [number(at + 4), number(at + 8) + 16, number(at + 12)];
            (font[at..at + 4].try_into().unwrap(), numbers)
        })
        .collect();
    records.push((tag, [0, font.len() as u32 + 16, table.len() as u32]));
    records.sort_unstable();
    let mut made = font[..12].to_vec();
    made[4..6].copy_from_slice(&(count as u16 + 1).to_be_bytes());
    for (tag, numbers) in records {
        made.extend(tag);
        made.extend(numbers.into_iter().flat_map(u32::to_be_bytes));
    }
    made.extend(&font[head..]);
    made.extend(table);
    made
}

#[test]
fn letters_that_a_font_draws_in_colours_are_told() {
    let plain = std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/plate/FredokaOne-Regular.ttf"
    ))
    .unwrap();
    let text = "<text x='9' y='60' font-size='40'>ab</text>";
    let told = |bytes: Vec<u8>| -> Vec<String> {
        let font = Font::parse(bytes).unwrap();
        let warnings = drawn_by(text, &[&font]).warnings;
        warnings.iter().map(ToString::to_string).collect()
    };
    assert_eq!(told(plain.clone()), Vec::<String>::new());
    // OpenType 1.9.1, `SVG `: one document for the glyphs from `first` on.
    let documents = |first: u8| {
        let mut table = vec![0, 0, 0, 0, 0, 10, 0, 0, 0, 0];
        table.extend([0, 1, first, 0, 255, 255, 0, 0, 0, 14, 0, 0, 0, 6]);
        table.extend(b"<svg/>");
        table
    };
    let what = "2:1: \"Fredoka One\" has colours for its letters, which are not drawn";
    assert_eq!(told(with_table(&plain, *b"SVG ", &documents(0))), [what]);
    // Other letters than these have.
    assert_eq!(
        told(with_table(&plain, *b"SVG ", &documents(255))),
        Vec::<String>::new()
    );
    // A table that is cut short says nothing.
    assert_eq!(
        told(with_table(&plain, *b"SVG ", &documents(0)[..20])),
        Vec::<String>::new()
    );
}

/// The bytes of a table, number by number: how many bytes each has, and what it is.
fn numbers(of: &[(usize, u32)]) -> Vec<u8> {
    let bytes = of
        .iter()
        .flat_map(|(width, number)| number.to_be_bytes()[4 - width..].to_vec());
    bytes.collect()
}

/// `COLR` of version 0 for glyphs below `end`, each of one layer: itself in the first colour.
fn layers(end: u32) -> Vec<u8> {
    let mut table = numbers(&[(2, 0), (2, end), (4, 14), (4, 14 + 6 * end), (2, end)]);
    table.extend((0..end).flat_map(|glyph| numbers(&[(2, glyph), (2, glyph), (2, 1)])));
    table.extend((0..end).flat_map(|glyph| numbers(&[(2, glyph), (2, 0)])));
    table
}

/// `COLR` of version 1 for glyphs below `end`, each of one paint: the first colour everywhere.
fn paints(end: u32) -> Vec<u8> {
    let mut table = numbers(&[
        (2, 1),
        (2, 0),
        (4, 0),
        (4, 0),
        (2, 0),
        (4, 34),
        (4, 0),
        (4, 0),
        (4, 0),
        (4, 0),
    ]);
    table.extend(numbers(&[(4, end)]));
    table.extend((0..end).flat_map(|glyph| numbers(&[(2, glyph), (4, 4 + 6 * end)])));
    table.extend(numbers(&[(1, 2), (2, 0), (2, 1 << 14)]));
    table
}

/// The first bytes of a PNG of 8 × 8 pixels: all that a font needs to say of one.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x08\0\0\0\x08\x08\x06\0\0\0";

/// `sbix` of one size of `glyphs` glyphs, of which those below `end` are pictures.
fn strike(glyphs: u32, end: u32) -> Vec<u8> {
    let mut table = numbers(&[(2, 1), (2, 1), (4, 1), (4, 12), (2, 16), (2, 72)]);
    let (size, first) = (8 + PNG.len() as u32, 4 + 4 * (glyphs + 1));
    table.extend((0..=glyphs).flat_map(|glyph| numbers(&[(4, first + size * glyph.min(end))])));
    for _ in 0..end {
        table.extend(numbers(&[(2, 0), (2, 0)]));
        table.extend(b"png ");
        table.extend(PNG);
    }
    table
}

/// `CBLC` and `CBDT` of one size, of pictures of the glyphs below `end`.
fn bitmaps(end: u32) -> (Vec<u8>, Vec<u8>) {
    let metrics = (1, 8);
    // One size with one list: where it is, its length, and one part.
    let mut places = numbers(&[
        (2, 3),
        (2, 0),
        (4, 1),
        (4, 56),
        (4, 8 + 8 + 4 * (end + 1)),
        (4, 1),
        (4, 0),
    ]);
    for _ in 0..2 {
        // Ascent, descent and width; nothing else is needed.
        places.extend(numbers(&[metrics, (1, 0), metrics]));
        places.extend([0; 9]);
    }
    places.extend(numbers(&[(2, 0), (2, end - 1), (1, 8), (1, 8), (1, 32), (1, 1)]));
    // All glyphs in one part, whose pictures are PNGs with five bytes of metrics.
    places.extend(numbers(&[(2, 0), (2, end - 1), (4, 8), (2, 1), (2, 17), (4, 4)]));
    let size = 5 + 4 + PNG.len() as u32;
    places.extend((0..=end).flat_map(|glyph| numbers(&[(4, size * glyph)])));
    let mut pictures = numbers(&[(2, 3), (2, 0)]);
    for _ in 0..end {
        pictures.extend(numbers(&[
            metrics,
            metrics,
            (1, 0),
            metrics,
            metrics,
            (4, PNG.len() as u32),
        ]));
        pictures.extend(PNG);
    }
    (places, pictures)
}

#[test]
fn letters_that_a_font_has_as_pictures_or_layers_are_told_where_they_stand() {
    let plain = std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/plate/FredokaOne-Regular.ttf"
    ))
    .unwrap();
    // `numGlyphs` of `maxp`, by the list of tables.
    let maxp = plain.windows(4).position(|tag| tag == b"maxp").unwrap() + 8;
    let maxp = u32::from_be_bytes(plain[maxp..maxp + 4].try_into().unwrap()) as usize;
    let glyphs = u32::from(u16::from_be_bytes([plain[maxp + 4], plain[maxp + 5]]));
    let text = "<g>\n  <text x='9' y='60' font-size='40'>a<tspan\n fill='gray'>b</tspan></text></g>";
    let draw = |tables: &[(&[u8; 4], Vec<u8>)]| {
        let mut bytes = plain.clone();
        for (tag, table) in tables {
            bytes = with_table(&bytes, **tag, table);
        }
        let picture = drawn_by(text, &[&Font::parse(bytes).unwrap()]);
        let told: Vec<String> = picture.warnings.iter().map(ToString::to_string).collect();
        (told, picture.drawing)
    };
    let (nothing, outlines) = draw(&[]);
    assert_eq!(nothing, Vec::<String>::new());
    let bitmap = |end| {
        let (places, pictures) = bitmaps(end);
        vec![(b"CBLC", places), (b"CBDT", pictures)]
    };
    let fonts = |end| {
        [
            vec![(b"COLR", layers(end))],
            vec![(b"COLR", paints(end))],
            vec![(b"sbix", strike(glyphs, end))],
            bitmap(end),
        ]
    };
    let what = "\"Fredoka One\" has colours for its letters, which are not drawn";
    for tables in fonts(glyphs) {
        let (told, drawing) = draw(&tables);
        assert_eq!(
            told,
            [format!("3:3: {what}"), format!("3:38: {what}")],
            "{:?}",
            tables[0].0
        );
        assert_eq!(drawing, outlines, "{:?}: the outlines are drawn", tables[0].0);
    }
    // Only the glyph of what is missing is one.
    for tables in fonts(1) {
        assert_eq!(draw(&tables).0, nothing, "{:?}", tables[0].0);
    }
}

#[test]
fn properties_of_one_program_are_told_once_a_document_where_they_stand_first() {
    let two = |one: &str, other: &str| {
        format!("<rect width='9' height='9' style='{one}'/>\n<g><path d='M0 0h9v9z' style='{other}'/></g>")
    };
    assert_eq!(
        told(&two(
            "-webkit-mask:url(#m);-moz-opacity:.5",
            "-webkit-mask:url(#n);-o-transform:none;-ms-filter:alpha"
        )),
        [
            "2:1: `-webkit-mask` is not followed",
            "2:1: `-moz-opacity` is not followed",
            "3:4: `-ms-filter` is not followed",
        ]
    );
    // Of a style sheet by the place of the rule.
    is_told_once(
        "<style>\nrect {\n  -WEBKIT-Transform: scale(2) }</style><rect width='9' height='9'/><rect width='5' height='5'/>",
        "4:3: `-webkit-transform` is not followed",
    );
    // Hints, and what is not set.
    let hints = "-inkscape-font-specification:Sans;-webkit-font-smoothing:antialiased;-webkit-filter:none;-moz-transform:initial";
    assert_eq!(told(&two(hints, "-webkit-user-select:all")), Vec::<String>::new());
    // Names of one's own are no one's.
    assert_eq!(told(&two("--webkit-mask:3", "-mine:3")), Vec::<String>::new());
}

#[test]
fn taking_back_all_properties_is_told_at_every_place() {
    assert_eq!(
        told("<g style='fill:red;all:unset'><rect width='9' height='9' style='ALL: initial'/></g>"),
        [
            "2:1: `all` in a style is not followed",
            "2:31: `all` in a style is not followed",
        ]
    );
    // No attribute is called so.
    is_as(
        "<rect width='9' height='9' all='unset'/>",
        "<rect width='9' height='9'/>",
    );
}

#[test]
fn properties_that_change_the_picture_are_told() {
    let rect = |property: &str| format!("<rect width='9' height='9' style='{property}'/>");
    for (property, what) in [
        ("mask:url(#m)", "a mask"),
        ("mask-image:url(#m)", "a mask"),
        ("filter:blur(2px)", "a filter"),
        ("mix-blend-mode:multiply", "a blend mode"),
        ("vector-effect:non-scaling-stroke", "a vector effect"),
        ("clip:rect(0,1,1,0)", "`clip`"),
        ("clip-path:circle(50%)", "a clip path that is not url(#name)"),
        ("color-interpolation:linearRGB", "`color-interpolation`"),
        ("offset-path:path(\"M0 0h9\")", "`offset-path`"),
        ("animation:k 2s", "an animation"),
        ("content-visibility:hidden", "`content-visibility`"),
        ("outline:1px solid red", "`outline`"),
        ("stroke-linejoin:arcs", "this kind of corner"),
    ] {
        is_told_once(&rect(property), &format!("2:1: {what} is not followed"));
    }
    for name in ["width", "height", "x", "y", "rx", "ry"] {
        is_told_once(
            &rect(&format!("{name}:3px")),
            &format!("2:1: `{name}` in a style is not followed; write it as an attribute"),
        );
    }
    for name in ["transform", "translate", "rotate", "scale"] {
        is_told_once(
            &rect(&format!("{name}:3px")),
            &format!("2:1: `{name}` in a style is not followed; write `transform` as an attribute"),
        );
    }
    is_told_once(
        "<rect width='9' height='9' transform='scale(2)' transform-origin='50% 50%'/>",
        "2:1: a transform origin is not followed",
    );
    is_told_once(
        "<path d='M0 0h9v9z' marker-mid='url(#m)'/>",
        "2:1: markers are not drawn",
    );
    is_told_once(
        "<rect width='9' height='9' shape-rendering='crispEdges'/>",
        "2:1: `shape-rendering` is not followed; antialias=\"none\" samples all by centres of pixels",
    );
    is_told_once(
        "<rect width='9' height='9' transform='rotate(9)' style='transform-box:fill-box'/>",
        "2:1: `transform-box` is not followed",
    );
    // What changes nothing.
    for property in [
        "transform-box:fill-box;outline:rgb(0, 0, 0) none 0px;outline-style:none;content-visibility:visible",
        "mask:none;filter:none;mix-blend-mode:normal;vector-effect:none;clip:auto;clip-path:none",
        "marker:none;marker-end:none;shape-rendering:auto;color-interpolation:sRGB",
        "pointer-events:none;cursor:pointer;image-rendering:auto;text-rendering:optimizeLegibility;isolation:isolate",
        "transform-origin:50% 50%;stop-color:red;-inkscape-stroke:none;--own:3",
        "animation:none;offset-path:none;enable-background:accumulate",
    ] {
        assert_eq!(told(&rect(property)), Vec::<String>::new(), "{property}");
    }
    // SVG 2 has them on every shape.
    is_told_once(
        "<rect width='9' height='9' marker-mid='url(#m)'/>",
        "2:1: markers are not drawn",
    );
    // No box, no shape; a group is what it holds.
    assert_eq!(bounds(&rect("display:contents")), None);
    is_as(
        "<g style='display:contents'><rect width='9' height='9'/></g>",
        "<rect width='9' height='9'/>",
    );
    // A property as well as an attribute.
    for overflow in ["overflow='visible'", "style='overflow:visible'"] {
        is_as(
            &format!("<svg width='5' height='5' {overflow}><rect width='9' height='9'/></svg>"),
            "<rect width='9' height='9'/>",
        );
    }
}

#[test]
fn dashes_count_by_the_length_that_a_path_says() {
    is_as(
        "<path d='M0 50h80v0' pathLength='4' stroke='white' stroke-width='4' fill='none' stroke-dasharray='1 9'/>",
        "<path d='M0 50h20' stroke='white' stroke-width='4' fill='none'/>",
    );
    is_told_once(
        "<path d='M0 50h80' pathLength='abc' stroke='white' stroke-dasharray='1 9'/>",
        &format!("2:1: pathLength=\"abc\" {UNREAD}"),
    );
}

#[test]
fn elements_that_are_not_drawn_are_told() {
    let rect = "<rect id='r' width='9' height='9'/>";
    for (inside, what) in [
        ("<image href='a.png'/>", "<image> is not drawn"),
        ("<foreignObject/>", "<foreignObject> is not drawn"),
        ("<flowRoot/>", "<flowRoot> is not known and not drawn"),
        ("<recht/>", "<recht> is not known and not drawn"),
        ("<script>1</script>", "scripts are not run"),
        ("<use/>", "<use> names nothing by `href`"),
        (
            "<use href='#none'/>",
            "there is nothing named \"#none\" in the drawing",
        ),
        (
            "<use href='other.svg#a'/>",
            "there is nothing named \"other.svg#a\" in the drawing",
        ),
        (
            "<linearGradient id='g'/><use href='#g'/>",
            "<use> of a <linearGradient> draws nothing",
        ),
        (
            "<img xmlns='http://www.w3.org/1999/xhtml'/>",
            "<img> of HTML is not followed",
        ),
        (
            "<circle r='5'><animate attributeName='r' to='9'/></circle>",
            "<animate> is not followed: the picture is that without it",
        ),
        (
            "<symbol id='s' refX='4'><path d='M0 0h9v9z'/></symbol><use href='#s'/>",
            "`refX` of a symbol is not followed",
        ),
        (
            "<clipPath id='c'><g><path d='M0 0h9'/></g></clipPath><rect width='5' height='5' clip-path='url(#c)'/>",
            "<g> in a clip path does not clip",
        ),
        (
            "<clipPath id='c'><use id='u' href='#r'/><use href='#u'/></clipPath><rect width='5' height='5' clip-path='url(#c)'/>",
            "<use> of a <use> in a clip path does not clip",
        ),
        (
            "<clipPath id='c'><rect width='9' height='9' transform='turn(3)'/></clipPath><rect width='5' height='5' clip-path='url(#c)'/>",
            "its transform cannot be read; it does not clip",
        ),
    ] {
        let all = told(&format!("{rect}{inside}"));
        assert_eq!(all.len(), 1, "{inside}: {all:?}");
        assert!(
            all[0].starts_with("2:") && all[0].ends_with(what),
            "{inside}: {all:?}"
        );
    }
    let quiet = "<defs><linearGradient/></defs><title>a</title><desc>b</desc><metadata/><view/><tspan>c</tspan><other xmlns='urn:any'/>";
    assert_eq!(told(&format!("{rect}{quiet}")), Vec::<String>::new());
}

#[test]
fn what_of_a_text_is_dropped_is_told() {
    let font = font();
    let told = |text: &str| {
        let picture = drawn_by(text, &[&font]);
        picture
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    for (inside, what) in [
        ("a<rect width='9' height='9'/>", "<rect> in a text is not drawn"),
        ("a<use href='#x'/>", "<use> in a text is not drawn"),
        (
            "a<switch><tspan>b</tspan></switch>",
            "<switch> in a text is not drawn",
        ),
        ("a<other>b</other>", "<other> in a text is not drawn"),
        (
            "a<b xmlns='http://www.w3.org/1999/xhtml'>c</b>",
            "<b> of another namespace in a text is not drawn",
        ),
        (
            "a<animate attributeName='x'/>",
            "<animate> is not followed: the picture is that without it",
        ),
        (
            "a<tspan x='abc'>b</tspan>",
            "x=\"abc\" is not read, and counts as if it were not written",
        ),
        (
            "a<tspan dy='1 NaN 2'>bcd</tspan>",
            "dy=\"NaN\" is not read, and counts as if it were not written",
        ),
        (
            "a<tspan style='text-shadow:1px 1px red'>b</tspan>",
            "`text-shadow` is not followed",
        ),
        (
            "a<tspan style='font-variant-caps:small-caps'>b</tspan>",
            "`font-variant-caps` is not followed",
        ),
        (
            "a<tspan style='font:caption'>b</tspan>",
            "font=\"caption\" is not read, and counts as if it were not written",
        ),
        (
            "a<tspan letter-spacing='5%'>b</tspan>",
            "letter-spacing=\"5%\" is not read, and counts as if it were not written",
        ),
    ] {
        let all = told(&format!("<text y='20'>{inside}</text>"));
        assert_eq!(all.len(), 1, "{inside}: {all:?}");
        assert!(
            all[0].starts_with("2:") && all[0].ends_with(what),
            "{inside}: {all:?}"
        );
    }
    let mixed = told("<text y='20'>a\u{5d0}b</text>");
    assert!(
        mixed.iter().any(|what| what.contains("from right to left")),
        "{mixed:?}"
    );
    let title = "<text y='20'>a<title>b</title><desc>c</desc></text>";
    assert_eq!(told(title), Vec::<String>::new());
}

#[test]
fn a_fault_that_many_elements_have_is_told_quickly_and_once() {
    // A sheet of many rules, and an element that is used often, far behind in the file.
    let uses = "<use href='#r'/>".repeat(20_000);
    let text = format!(
        "<style>.a{{stroke-width:abc}}</style><g>{uses}</g><defs><rect id='r' class='a' width='9' height='9' x='abc'/></defs>"
    );
    let picture = drawn(&text);
    assert_eq!(picture.warnings.len(), 2, "{:?}", picture.warnings);
    assert_eq!(picture.more, 0);
}

#[test]
fn selectors_of_any_length_are_refused_or_told() {
    for part in ["a+", "a>", "a ", ".a", "#a", "[a]", ":hover"] {
        let text = format!(
            "<style>{}a{{fill:none}}</style><g><rect width='9' height='9'/></g>",
            part.repeat(30_000)
        );
        let picture = drawn(&text);
        assert_eq!(picture.warnings.len(), 1, "{part}: {:?}", picture.warnings);
    }
    let nested = format!(
        "<style>{}.a{{fill:none}}{}</style><rect width='9' height='9'/>",
        "@media all{".repeat(10_000),
        "}".repeat(10_000)
    );
    assert_eq!(drawn(&nested).warnings.len(), 1);
}

proptest::proptest! {
    #[test]
    fn any_style_is_followed_or_told(
        sheet in "[a-z@{};:,\"'()\\\\/*!> \n#.~+\\[\\]=é0-9%-]{0,120}",
        style in "[a-z{};:,\"'()\\\\/*! \n#.é0-9%-]{0,60}",
        name in "(fill|stroke-width|font|font-size|clip-path|stroke-dasharray|paint-order|transform-origin|opacity|display)",
        value in "[a-zA-Z0-9%()#., +e-]{0,20}",
    ) {
        // What would end the section of characters is no sheet.
        let sheet = sheet.replace("]]>", "]] >");
        let text = format!(
            "<svg xmlns='http://www.w3.org/2000/svg'><style><![CDATA[{sheet}]]></style><g class='a' style='x'><rect width='9' height='9' {name}='{value}'/><path d='M0 0h9v9z' style='{}'/></g></svg>",
            style.replace(['\'', '<', '&'], "")
        );
        let document = Document::parse(&text, &Limits::default()).unwrap();
        let picture = document.draw(&Options::default());
        if let Ok(picture) = picture {
            for warning in picture.warnings {
                // A place within the file.
                let line = text.lines().nth(warning.place.line as usize - 1);
                proptest::prop_assert!(line.is_some_and(|line| warning.place.column as usize <= line.chars().count() + 1));
            }
        }
    }
}
