//! SVG as samples and points, against areas and places that are known without this crate.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod letters;
mod support;
mod told;

use std::f64::consts::PI;

use proptest::prelude::*;
use relief_vector::svg::{Document, Error, Gray, Options, Picture};
use relief_vector::{Affine, Limits, Pixel, Refused};

fn document(inside: &str) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' fill='white'>{inside}</svg>"
    )
}

fn draw_with(text: &str, options: &Options) -> Result<Picture, Error> {
    Document::parse(text, &options.limits)?.draw(options)
}

fn draw(inside: &str) -> Picture {
    draw_with(&document(inside), &Options::default()).unwrap()
}

fn samples(inside: &str, size: (usize, usize)) -> Vec<u8> {
    support::render(&draw(inside).drawing, size)
}

/// The area covered in pixels, of a drawing within 200 × 200.
fn area(inside: &str) -> f64 {
    let samples = support::render::<u16>(&draw(inside).drawing, (200, 200));
    samples.iter().map(|sample| f64::from(*sample)).sum::<f64>() / 65_535.0
}

#[track_caller]
fn has_area(inside: &str, expected: f64) {
    let area = area(inside);
    assert!(
        (area - expected).abs() < 0.005 * expected + 0.5,
        "{area} is not {expected}"
    );
}

#[test]
fn shapes_have_their_areas() {
    has_area("<rect x='10' y='20' width='50.5' height='40'/>", 2_020.0);
    has_area(
        "<rect x='10' y='20' width='60' height='40' rx='10'/>",
        2_400.0 - (4.0 - PI) * 100.0,
    );
    has_area("<circle cx='90' cy='80' r='55'/>", PI * 55.0 * 55.0);
    has_area("<ellipse cx='90' cy='80' rx='55' ry='12'/>", PI * 55.0 * 12.0);
    has_area("<polygon points='10,10 110,10 10,60'/>", 2_500.0);
    has_area(
        "<path d='M10 10h80v40q-40 20 -80 0z'/>",
        80.0 * 40.0 + 2.0 / 3.0 * 80.0 * 10.0,
    );
    has_area("<path d='M100 40 a60 60 0 0 1 60 60 h-60 z'/>", PI * 900.0);
    has_area(
        "<path fill-rule='evenodd' d='M10 10h90v90h-90z M30 30h50v50h-50z'/>",
        8_100.0 - 2_500.0,
    );
    has_area("<path d='M10 10h90v90h-90z M30 30h50v50h-50z'/>", 8_100.0);
}

#[test]
fn lines_have_their_widths_ends_corners_and_dashes() {
    let line = |more: &str| format!("<g fill='none' stroke='white' stroke-width='12'>{more}</g>");
    has_area(&line("<line x1='30' y1='50' x2='130' y2='50'/>"), 1_200.0);
    has_area(
        &line("<line x1='30' y1='50' x2='130' y2='50' stroke-linecap='square'/>"),
        1_344.0,
    );
    has_area(
        &line("<line x1='30' y1='50' x2='130' y2='50' stroke-linecap='round'/>"),
        1_200.0 + PI * 36.0,
    );
    has_area(
        &line("<line x1='30' y1='50' x2='130' y2='50' stroke-dasharray='10 15'/>"),
        480.0,
    );
    has_area(
        &line("<line x1='30' y1='50' x2='130' y2='50' stroke-dasharray='10' stroke-dashoffset='5'/>"),
        600.0,
    );
    has_area(&line("<circle cx='90' cy='90' r='60'/>"), 2.0 * PI * 60.0 * 12.0);
    has_area(&line("<path d='M30 30h80v80'/>"), 80.0 * 12.0 * 2.0);
    has_area(
        &line("<path d='M30 30h80v80' stroke-linejoin='bevel'/>"),
        80.0 * 12.0 * 2.0 - 18.0,
    );
    has_area(
        &line("<path d='M30 30h80v80' stroke-linejoin='round'/>"),
        80.0 * 12.0 * 2.0 - 36.0 + PI * 9.0,
    );
    has_area(&line("<path d='M50 50h0' stroke-linecap='round'/>"), PI * 36.0);
    has_area(&line("<path d='M50 50z' stroke-linecap='square'/>"), 144.0);
    has_area(
        &line("<rect x='20' y='20' width='50' height='50' transform='scale(2 1)'/>"),
        2.0 * (62.0 * 62.0 - 38.0 * 38.0),
    );
}

/// Where a parser that makes four cubics of a circle is off by 5.5 px.
#[test]
fn circles_and_arcs_are_round_at_any_size() {
    let scale = 20_000.0 / 40.0;
    for inside in [
        "<circle cx='50' cy='50' r='40'/>",
        "<path d='M10 50a40 40 0 0 1 80 0a40 40 0 0 1 -80 0'/>",
    ] {
        let options = Options::default().with(|with| with.transform = Affine::scale(scale));
        let drawing = draw_with(&document(inside), &options).unwrap().drawing;
        let outline = drawing.outline(0);
        let mut worst = 0.0_f64;
        for (at, point) in outline.iter().enumerate() {
            let next = outline[(at + 1) % outline.len()];
            // The point, and the middle of the chord to the next one.
            for (x, y) in [*point, ((point.0 + next.0) / 2, (point.1 + next.1) / 2)] {
                let (x, y) = (x as f64 / 256.0 - 25_000.0, y as f64 / 256.0 - 25_000.0);
                worst = worst.max((f64::hypot(x, y) - 20_000.0).abs());
            }
        }
        assert!(worst < 1.0 / 16.0, "{worst} px off the circle");
    }
}

#[test]
fn groups_uses_symbols_and_transforms_place_shapes() {
    let square = "<rect width='10' height='10'/>";
    for inside in [
        format!("<g transform='translate(20 30) scale(2)'><g transform='translate(1 1)'>{square}</g></g>"),
        "<defs><rect id='s' width='10' height='10'/></defs><use href='#s' x='1' y='1' transform='matrix(2 0 0 2 20 30)'/>".into(),
        "<symbol id='s' viewBox='0 0 5 5'><rect width='5' height='5'/></symbol><use xlink:href='#s' x='22' y='32' width='20' height='20'/>".into(),
        "<svg x='22' y='32' width='20' height='20' viewBox='0 0 1 1'><rect x='-1' width='3' height='1'/></svg>".into(),
        "<rect x='22' y='32' width='20' height='20' transform='rotate(90 32 42)'/>".into(),
    ] {
        let samples = samples(&inside, (60, 60));
        for (at, sample) in samples.iter().enumerate() {
            let inside_square = (22..42).contains(&(at % 60)) && (32..52).contains(&(at / 60));
            assert_eq!(*sample, if inside_square { 255 } else { 0 }, "{inside}: pixel {at}");
        }
    }
}

#[test]
fn clip_paths_intersect_unite_and_nest() {
    let clipped = |clip: &str| {
        format!("<clipPath id='c'>{clip}</clipPath><rect width='100' height='100' clip-path='url(#c)'/>")
    };
    has_area(&clipped("<rect x='50' y='-9' width='99' height='59'/>"), 2_500.0);
    has_area(
        &clipped("<rect width='60' height='10'/><rect width='10' height='60'/>"),
        1_100.0,
    );
    has_area(
        &clipped("<circle cx='50' cy='50' r='30'/><circle cx='50' cy='50' r='20'/>"),
        PI * 900.0,
    );
    has_area(&clipped(""), 0.0);
    let two = "<clipPath id='d'><rect width='50' height='50'/></clipPath><g clip-path='url(#d)'>";
    has_area(
        &format!("{two}{}</g>", clipped("<rect x='25' width='90' height='90'/>")),
        1_250.0,
    );
}

#[test]
fn later_elements_hide_earlier_ones_and_black_cuts_out() {
    let text = "<rect width='4' height='1'/><rect x='1' width='1' height='1' fill='black'/><rect x='2.5' width='1' height='1' fill='#808080'/>";
    assert_eq!(samples(text, (5, 1)), [255, 0, 192, 192, 0]);
}

#[test]
fn colours_become_luma_ink_or_opacity() {
    let text = document(
        "<rect width='1' height='1' fill='#0f0'/><rect x='1' width='1' height='1' fill='black' opacity='.5'/>",
    );
    let with = |gray| {
        let picture = draw_with(&text, &Options::default().with(|with| with.gray = gray)).unwrap();
        support::render::<u8>(&picture.drawing, (2, 1))
    };
    assert_eq!(with(Gray::Luma), [182, 0], "0.7152 of 255");
    assert_eq!(with(Gray::Ink), [73, 128]);
    assert_eq!(with(Gray::Opacity), [255, 128]);
}

#[test]
fn style_sheets_and_styles_outrank_attributes() {
    let text = "<style>.a { fill: #fff } g rect { fill: #000 } #b { fill: #fff !important }</style><g><rect class='a' width='1' height='1' fill='red'/><rect id='b' x='1' width='1' height='1' style='fill:red'/><rect x='2' width='1' height='1' style='fill:white'/><rect x='3' width='1' height='1'/></g>";
    assert_eq!(samples(text, (4, 1)), [255, 255, 255, 0]);
}

#[test]
fn absolute_units_are_measured_by_the_pixel() {
    let text = "<svg xmlns='http://www.w3.org/2000/svg' width='2in' height='25.4mm' viewBox='0 0 20 10'><rect width='20' height='10' fill='#fff'/></svg>";
    let document = Document::parse(text, &Limits::default()).unwrap();
    assert_eq!(
        document.size(Pixel::dpi(1_200)).unwrap(),
        Some((2_400.0, 1_200.0))
    );
    assert_eq!(
        document.size(Pixel::metres(1, 1_000_000)).unwrap(),
        Some((50_800.0, 25_400.0))
    );
    let error = document.size(None).unwrap_err();
    assert!(
        error.to_string().starts_with("1:1: 2in has an absolute unit"),
        "{error}"
    );
    let options = Options::default().with(|with| with.pixel = Pixel::dpi(1_200));
    assert_eq!(
        document.draw(&options).unwrap().drawing.bounds(),
        Some((0, 0, 2_400 * 256, 1_200 * 256))
    );
}

#[test]
fn what_is_not_drawn_is_said_with_its_place() {
    let picture = draw(
        "\n <text>a</text>\n<rect width='1' height='1' fill='url(#g)' filter='url(#f)'/><path d='M0 0h1v1zK9'/>\n<rect width='1' height='1' fill='context-fill'/>",
    );
    let all: Vec<String> = picture.warnings.iter().map(ToString::to_string).collect();
    let has = |text: &str| {
        assert!(
            all.iter().any(|warning| warning == text),
            "{text} is not among {all:#?}"
        )
    };
    has("2:2: <text> is not drawn, as no font is given");
    has("3:1: a filter is not followed");
    has("4:1: the paint of a context is not followed");
    has("3:1: the gradient or pattern \"g\" is not drawn");
    assert!(
        all.iter()
            .any(|w| w.contains("the path has a fault at its byte 9")),
        "{all:?}"
    );
    let black = draw_with(
        &document("<rect width='9' height='9' fill='black'/>"),
        &Options::default(),
    )
    .unwrap();
    assert!(black.warnings[0].what.contains("everything is painted black"));
}

#[test]
fn a_switch_passes_over_elements_that_are_not_known() {
    let switch = "<switch><random/><title>a</title><rect width='3' height='2' fill='#fff'/><rect width='9' height='9'/></switch>";
    let picture = draw(switch);
    assert_eq!(picture.drawing.bounds(), Some((0, 0, 3 * 256, 2 * 256)));
}

#[test]
fn hostile_documents_are_refused() {
    let refused = |inside: &str| draw_with(&document(inside), &Options::default()).unwrap_err();
    let error = refused("<g id='a'><use href='#b'/></g><g id='b'><use href='#a'/></g>");
    assert!(matches!(error, Error::Loop { .. }), "{error}");
    let error = refused(
        "<clipPath id='a'><rect width='1' height='1' clip-path='url(#a)'/></clipPath><rect width='1' height='1' clip-path='url(#a)'/>",
    );
    assert!(matches!(error, Error::Loop { .. }), "{error}");
    let deep = "<g>".repeat(1_000) + &"</g>".repeat(1_000);
    assert!(matches!(refused(&deep), Error::Depth { .. }));
    let far = refused("<rect width='1e300' height='1'/>");
    assert!(
        matches!(
            far,
            Error::Refused {
                cause: Refused::Far(..),
                ..
            }
        ),
        "{far}"
    );
    assert!(
        far.to_string()
            .starts_with("1:97: <rect>: a point lies at (1e300, 0) px"),
        "{far}"
    );
    let far = refused("<polygon points='0 0 1e200 0 9 9'/>").to_string();
    assert!(far.contains("<polygon>: a point lies at (1e200"), "{far}");
    let far = refused("<g><line x2='1e99' stroke='#fff'/></g>").to_string();
    assert!(far.contains("<line>: a point lies at"), "{far}");
    let dashes = refused("<path d='M0 0h1e9' stroke='#fff' stroke-dasharray='1e-6'/>");
    assert!(
        matches!(
            dashes,
            Error::Refused {
                cause: Refused::Points(_),
                ..
            }
        ),
        "{dashes}"
    );

    // Ten uses of ten uses, twelve times over.
    let mut bomb = String::from("<rect id='u0' width='1' height='1'/>");
    for level in 1..12 {
        let uses = format!("<use href='#u{}'/>", level - 1).repeat(10);
        bomb += &format!("<g id='u{level}'>{uses}</g>");
    }
    let options = Options::default().with(|with| {
        with.limits = Limits {
            items: 20_000,
            ..Limits::default()
        }
    });
    let error = draw_with(&document(&bomb), &options).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Refused {
                cause: Refused::Items(20_000),
                ..
            }
        ),
        "{error}"
    );
    let options = Options::default().with(|with| {
        with.limits = Limits {
            points: 10,
            ..Limits::default()
        }
    });
    let error = draw_with(&document("<circle r='1000'/>"), &options).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Refused {
                cause: Refused::Points(10),
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn style_sheets_that_would_take_long_to_match_are_refused() {
    let nested = |levels: usize, ancestors: usize| {
        let style = format!("<style>a {}rect{{fill:red}}</style>", "g ".repeat(ancestors));
        let (open, close) = ("<g>".repeat(levels), "</g>".repeat(levels));
        document(&format!("{style}{open}<rect width='5' height='5'/>{close}"))
    };
    let drawn = |text: &str| draw_with(text, &Options::default());
    assert!(drawn(&nested(60, 2)).is_ok());
    for (levels, ancestors) in [(60, 30), (90, 5)] {
        let error = drawn(&nested(levels, ancestors)).unwrap_err();
        assert!(matches!(error, Error::Styles { .. }), "{error}");
        assert!(error.to_string().contains("name fewer ancestors"), "{error}");
    }
    let rules: String = (0..20_000)
        .map(|number| format!(".a{number} text .b{number}{{fill:red}}"))
        .collect();
    let error = drawn(&document(&format!("<style>{rules}</style>"))).unwrap_err();
    assert!(error.to_string().contains("more than 262144 bytes"), "{error}");
    let style = "fill:red;".repeat(500);
    let error = drawn(&document(&format!(
        "<rect width='1' height='1' style='{style}'/>"
    )))
    .unwrap_err();
    assert!(error.to_string().contains("more than 4096 bytes"), "{error}");
}

#[test]
fn entities_that_grow_and_texts_that_are_no_svg_are_refused() {
    let limits = Limits::default();
    let mut entities = String::from("<!DOCTYPE svg [<!ENTITY a '0 0 0 0 0 0 0 0 0 0'>");
    for (name, before) in ["b", "c", "d", "e", "f", "g", "h", "i"]
        .into_iter()
        .zip(["a", "b", "c", "d", "e", "f", "g", "h"])
    {
        entities += &format!("<!ENTITY {name} '{}'>", format!("&{before};").repeat(20));
    }
    let text = format!("{entities}]><svg xmlns='http://www.w3.org/2000/svg'><path d='&i;'/></svg>");
    assert!(matches!(Document::parse(&text, &limits), Err(Error::Xml(_))));
    assert!(matches!(
        Document::parse("<svg/>", &limits),
        Err(Error::NotSvg(_))
    ));
    assert!(matches!(Document::parse("GIF89a", &limits), Err(Error::Xml(_))));
    let short = Limits { bytes: 20, ..limits };
    assert_eq!(
        Document::parse(&document(""), &short).unwrap_err(),
        Error::Long(20)
    );
}

#[test]
fn arcs_of_any_radius_are_drawn_or_refused() {
    let limits = Limits {
        points: 100_000,
        ..Limits::default()
    };
    for radius in ["1e-300", "1e-9", "3", "1e20", "1e200", "1e300"] {
        for transform in ["", "scale(1e-200)", "scale(1e200)", "scale(1e300 1)"] {
            for shape in [
                format!("<path d='M1 1A{radius} 7 0 1 1 9 9z'"),
                format!("<path d='M1 1A{radius} {radius} 0 1 0 9 9z'"),
                format!("<circle cx='50' cy='50' r='{radius}'"),
                format!("<ellipse cx='50' cy='50' rx='{radius}' ry='2'"),
                format!("<rect width='{radius}' height='30' rx='{radius}' ry='9'"),
            ] {
                for stroke in ["", "stroke='#fff' stroke-linejoin='round'"] {
                    let text = document(&format!("{shape} transform='{transform}' {stroke}/>"));
                    let options = Options::default().with(|with| with.limits = limits);
                    if let Ok(picture) = draw_with(&text, &options) {
                        assert!(picture.drawing.points() <= 100_000, "{text}");
                    }
                }
            }
        }
    }
}

#[test]
fn arcs_of_a_very_large_radius_are_as_good_as_straight() {
    for radius in ["1e9", "1e12", "1e16", "1e100"] {
        has_area(
            &format!("<path d='M10 10h80v60A{radius} {radius} 30 0 1 10 70z'/>"),
            4_800.0,
        );
        has_area(
            &format!("<path d='M10 10h80v60A{radius} {radius} 0 0 0 10 70z'/>"),
            4_800.0,
        );
    }
    // A segment of a circle: 2/3 of its chord times its height, which is the square of half the chord over twice the radius.
    has_area(
        "<path d='M0 0A2e6 2e6 0 0 1 1.8 0z' transform='translate(10 110) scale(50 5e8)'/>",
        2.0 / 3.0 * 90.0 * 101.25,
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_path_and_stroke_is_drawn_or_refused(
        data in "[MLHVCSQTAZmlhvcsqtaz0-9 .,e-]{0,60}",
        width in prop_oneof![Just("1e-9"), Just("3"), Just("1e30"), Just("NaN"), Just("-1")],
        dashes in prop_oneof![Just("none"), Just("0"), Just("1 2 3"), Just("1e-30"), Just("1e30")],
        transform in prop_oneof![Just(""), Just("scale(0)"), Just("skewX(90)"), Just("matrix(1e200 0 0 1 0 0)")],
    ) {
        let text = document(&format!(
            "<path d='M1 1{data}' stroke='#fff' stroke-width='{width}' stroke-dasharray='{dashes}' stroke-linejoin='round' stroke-linecap='round' transform='{transform}'/>"
        ));
        let limits = Limits { points: 100_000, ..Limits::default() };
        if let Ok(picture) = draw_with(&text, &Options::default().with(|with| with.limits = limits)) {
            prop_assert!(picture.drawing.points() <= 100_000);
            let _ = support::render::<u8>(&picture.drawing, (9, 9));
        }
    }
}
