//! Drawings written by ezdxf, against its own geometry (`make.py`), and files that are none.

use relief_vector::dxf::{Document, Error, Layout, Options, Origin};
use relief_vector::{Limits, Pixel, Refused, Rule, Stroke};

use crate::support;

mod tapers;

fn read(text: &str) -> Document {
    Document::read(text.as_bytes(), Limits::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Pixels of so many units of 10^-6 m.
fn options(micrometres: u64) -> Options {
    Options {
        pixel: Pixel::metres(micrometres, 1_000_000).unwrap(),
        unit: None,
        origin: Origin::Box,
        layers: None,
        value: 65_535,
        stroke: None,
        rule: Rule::EvenOdd,
    }
}

/// A file of these entities, in millimetres: group by group, with `|` between them.
fn file(blocks: &str, entities: &str) -> String {
    let section = |name: &str, groups: &str| {
        let groups: String = groups
            .split('|')
            .filter(|group| !group.trim().is_empty())
            .map(|group| {
                let (code, value) = group.trim().split_once(' ').unwrap();
                format!("{code}\n{value}\n")
            })
            .collect();
        format!("0\nSECTION\n2\n{name}\n{groups}0\nENDSEC\n")
    };
    [
        section("HEADER", "9 $INSUNITS | 70 4"),
        section(
            "TABLES",
            "0 TABLE | 2 LAYER | 0 LAYER | 2 FROST | 70 1 | 62 7 | 0 LAYER | 2 CUT | 70 0 | 62 1 | 0 LAYER | 2 DARK | 70 0 | 62 -7 |\
             0 ENDTAB",
        ),
        section("BLOCKS", blocks),
        section("ENTITIES", entities),
        "0\nEOF\n".to_owned(),
    ]
    .concat()
}

/// A square of 4 mm at a place, on a layer.
fn square(x: i32, y: i32, layer: &str) -> String {
    format!(
        "0 LWPOLYLINE | 8 {layer} | 70 1 | 10 {x} | 20 {y} | 10 {} | 20 {y} | 10 {} | 20 {} | 10 {x} | 20 {} |",
        x + 4,
        x + 4,
        y + 4,
        y + 4
    )
}

fn drawn(text: &str, options: &Options) -> Layout {
    read(text).draw(options).unwrap_or_else(|error| panic!("{error}"))
}

/// The area covered, in pixels.
fn area(layout: &Layout) -> f64 {
    let (width, height) = layout.size.unwrap();
    let samples = support::render::<u16>(&layout.drawing, (width as usize, height as usize));
    samples.iter().map(|&sample| f64::from(sample) / 65_535.0).sum()
}

fn check(name: &str, micrometres_a_unit: f64) {
    let folder = format!("{}/tests/dxf/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(folder.clone() + ".dxf").unwrap();
    let expected = std::fs::read_to_string(folder + ".expected").unwrap();
    let mut lines = expected.lines();
    let head: Vec<f64> = lines
        .next()
        .unwrap()
        .split(' ')
        .map(|n| n.parse().unwrap())
        .collect();
    let layout = drawn(&text, &options((head[0] * micrometres_a_unit) as u64));
    assert_eq!(layout.warnings, [], "{name}");
    assert_eq!(layout.size, Some((head[1] as u64, head[2] as u64)), "{name}");
    let samples = support::render::<u16>(&layout.drawing, (head[1] as usize, head[2] as usize));
    let shares = lines
        .flat_map(|line| line.split(' '))
        .map(|n| n.parse::<f64>().unwrap());
    for (at, (sample, share)) in samples.iter().zip(shares).enumerate() {
        let is = f64::from(*sample) / 65_535.0;
        // Curves lie within 1/16 px of their chords, and the reference has 32 × 32 places a pixel.
        assert!(
            (is - share).abs() < 0.06,
            "{name}: pixel {at} is {is}, not {share}"
        );
    }
}

#[test]
fn curves_of_every_kind_lie_where_ezdxf_has_them() {
    check("curves", 1_000.0);
}

#[test]
fn blocks_in_blocks_and_their_arrays_lie_where_ezdxf_has_them() {
    check("blocks", 25_400.0);
}

#[test]
fn lines_of_more_than_one_width_lie_where_ezdxf_has_them() {
    check("tapers", 1_000.0);
}

#[test]
fn layers_are_chosen_by_name_or_by_what_is_not_frozen() {
    let text = file(
        "",
        &[square(0, 0, "CUT"), square(10, 0, "0"), square(20, 0, "FROST")].concat(),
    );
    let layout = drawn(&text, &options(1_000));
    assert_eq!((layout.size, area(&layout)), (Some((14, 4)), 32.0));
    let mut one = options(1_000);
    one.layers = Some(vec!["cut".to_owned()]);
    let layout = drawn(&text, &one);
    // The box is that of all layers that are not frozen.
    assert_eq!((layout.size, area(&layout)), (Some((14, 4)), 16.0));
    one.layers = Some(vec!["frost".to_owned()]);
    assert_eq!(drawn(&text, &one).drawing.copies(), 1);
    // What lies on layer 0 of a block lies on that of its insert.
    let block = format!(
        "0 BLOCK | 2 A | 10 0 | 20 0 | {} {} 0 ENDBLK",
        square(0, 0, "0"),
        square(6, 0, "CUT")
    );
    let text = file(
        &block,
        "0 INSERT | 2 a | 8 FROST | 0 INSERT | 2 A | 8 KEPT | 10 0 | 20 10",
    );
    assert_eq!(area(&drawn(&text, &options(1_000))), 32.0);
    one.layers = Some(vec!["KEPT".to_owned()]);
    assert_eq!(area(&drawn(&text, &one)), 16.0);
}

#[test]
fn what_a_layer_that_is_off_inserts_shows_on_layers_that_are_on() {
    // A block of a square on its insert's layer, one on CUT, and one in a block within it.
    let block = format!(
        "0 BLOCK | 2 IN | {} 0 ENDBLK | 0 BLOCK | 2 A | {} {} 0 INSERT | 2 IN | 10 12 | 8 0 | 0 ENDBLK",
        square(0, 0, "CUT"),
        square(0, 0, "0"),
        square(6, 0, "CUT")
    );
    let insert = |layer: &str| {
        let text = file(
            &block,
            &format!("0 INSERT | 2 A | 8 {layer} | {}", square(0, 10, "CUT")),
        );
        area(&drawn(&text, &options(1_000)))
    };
    assert_eq!(insert("CUT"), 64.0);
    assert_eq!(insert("DARK"), 48.0);
    assert_eq!(insert("FROST"), 16.0);
}

#[test]
fn what_is_invisible_is_not_drawn_and_makes_no_box() {
    let hidden = |entity: &str| entity.replace("| 8 ", "| 60 1 | 8 ");
    let old = "0 POLYLINE | 8 CUT | 70 1 | 0 VERTEX | 8 CUT | 10 50 | 20 0 | 0 VERTEX | 8 CUT | 10 60 | 20 0 |\
               0 VERTEX | 8 CUT | 10 60 | 20 9 | 0 SEQEND |";
    // A state of a block that is not the one at hand.
    let block = format!(
        "0 BLOCK | 2 A | {} {} 0 ENDBLK",
        square(0, 0, "0"),
        hidden(&square(0, 6, "0"))
    );
    let kept = "0 INSERT | 8 CUT | 2 A | 10 10 | 20 0 |";
    let all = [
        square(0, 0, "CUT"),
        square(0, 30, "CUT").replace("| 8 ", "| 60 0 | 8 "),
        hidden(&square(20, 0, "CUT")),
        hidden("0 LINE | 8 CUT | 10 0 | 20 0 | 11 90 | 21 90 |"),
        hidden(old),
        kept.to_owned(),
        hidden(&kept.replace("10 10", "10 70")),
        hidden("0 TEXT | 8 CUT |"),
    ];
    let layout = drawn(&file(&block, &all.concat()), &options(1_000));
    assert_eq!((layout.size, area(&layout)), (Some((14, 34)), 48.0));
    assert_eq!(layout.warnings, []);
}

#[test]
fn sides_without_a_width_of_their_own_have_that_of_the_whole() {
    let layout = |entities: &str| {
        drawn(
            &file("", &(entities.to_owned() + &square(0, 0, "CUT"))),
            &options(1_000),
        )
    };
    let old = |head: &str, corners: [&str; 2]| {
        let [one, two] = corners;
        layout(&format!(
            "0 POLYLINE | 66 1 | {head} 0 VERTEX | 10 10 | 20 2 | {one} 0 VERTEX | 10 30 | 20 2 | {two} 0 SEQEND |"
        ))
    };
    let new = |head: &str, one: &str, two: &str| {
        layout(&format!(
            "0 LWPOLYLINE | {head} 10 10 | 20 2 | {one} 10 30 | 20 2 | {two}"
        ))
    };
    let wide = "40 2 | 41 2 |";
    for (drawn, area_of) in [
        (old(wide, ["", ""]), 40.0),
        (old("", [wide, ""]), 40.0),
        // The last corner of an open line begins no side.
        (old("", [wide, "40 0 | 41 0 |"]), 40.0),
        (old("40 1 | 41 1 |", [wide, ""]), 40.0),
        (old(wide, ["41 2 |", ""]), 40.0),
        (new("43 2 |", "", ""), 40.0),
        (new("43 2 |", "40 1 | 41 3 |", ""), 40.0),
        (new("", wide, ""), 40.0),
        (new("", wide, "40 0 | 41 0 |"), 40.0),
    ] {
        assert_eq!(drawn.warnings, []);
        assert_eq!(area(&drawn), 16.0 + area_of);
    }
    for drawn in [
        old("40 2 | 41 0 |", ["", ""]),
        old("40 2 |", ["", ""]),
        old(wide, ["41 0 |", ""]),
        new("", "40 2 |", ""),
        new("", "41 2 |", ""),
    ] {
        // From a width of 2 to none.
        assert_eq!(drawn.warnings, []);
        assert!((area(&drawn) - 36.0).abs() < 0.2, "{}", area(&drawn));
    }
    // A width of 0 that is written is one: a line without a width.
    let thin = old(wide, ["40 0 | 41 0 |", ""]);
    assert_eq!(thin.warnings[0].what, "an open curve without a stroke");
}

#[test]
fn layers_of_a_file_lie_upon_each_other_whichever_are_chosen() {
    // A wide line, an open one and a closed one reach beyond each other.
    let text = file(
        "",
        "0 LWPOLYLINE | 8 WIDE | 43 3 | 10 0 | 20 0 | 10 20 | 20 0 | 0 LINE | 8 OPEN | 10 -9 | 20 0 | 11 40 | 21 30 |\
         0 CIRCLE | 8 CUT | 10 6 | 20 5 | 40 5",
    );
    for stroke in [None, Some(Stroke::solid(1.0))] {
        let mut options = options(1_000);
        options.stroke = stroke;
        let whole = drawn(&text, &options);
        let drawn_alone = |name: &str| {
            let mut options = options.clone();
            options.layers = Some(vec![name.to_owned()]);
            let one = drawn(&text, &options);
            assert_eq!(one.size, whole.size, "{name}");
            let (width, height) = one.size.unwrap();
            support::render::<u16>(&one.drawing, (width as usize, height as usize))
        };
        let layers = ["WIDE", "OPEN", "CUT"].map(drawn_alone);
        let (width, height) = whole.size.unwrap();
        let all = support::render::<u16>(&whole.drawing, (width as usize, height as usize));
        for (at, sample) in all.iter().enumerate() {
            let most = layers.iter().map(|layer| layer[at]).max().unwrap();
            assert!(most <= *sample, "pixel {at}");
            assert_eq!(most == 0, *sample == 0, "pixel {at}");
        }
    }
    // What lies too far out to be drawn hinders other layers no more than it did.
    let stray = file("", &(square(0, 0, "CUT") + "0 LINE | 8 OPEN | 11 1e300"));
    let mut one = options(1_000);
    one.layers = Some(vec!["CUT".to_owned()]);
    one.stroke = Some(Stroke::solid(2.0));
    assert_eq!(drawn(&stray, &one).size, Some((6, 6)));
    one.layers = None;
    assert!(matches!(
        read(&stray).draw(&one),
        Err(Error::Refused(Refused::Far(..)))
    ));
}

#[test]
fn a_curve_of_lines_much_shorter_than_a_pixel_is_one_curve() {
    let place = |n: i32| {
        let (y, x) = (f64::from(n) * std::f64::consts::TAU / 2_000.0).sin_cos();
        (5.0 * x, 5.0 * y)
    };
    let line = |n: i32| {
        let ((ax, ay), (bx, by)) = (place(n), place((n + 1) % 2_000));
        format!("0 LINE | 8 0 | 10 {ax} | 20 {ay} | 11 {bx} | 21 {by} |")
    };
    // In any order, each 1/64 px long.
    let lines: String = (0..2_000).map(|n| line(n * 777 % 2_000)).collect();
    let layout = drawn(&file("", &lines), &options(1_000));
    assert_eq!(layout.warnings, []);
    let area = area(&layout);
    assert!((area - 78.54).abs() < 0.2, "{area}");
}

#[test]
fn equal_curves_are_drawn_once_and_told() {
    let circle = "0 CIRCLE | 8 0 | 10 5 | 20 5 | 40 5 |";
    let twice = drawn(&file("", &circle.repeat(2)), &options(1_000));
    let one = drawn(&file("", circle), &options(1_000));
    assert_eq!(twice.drawing, one.drawing);
    assert_eq!(twice.warnings.len(), 1);
    assert_eq!(twice.warnings[0].what, "a curve upon one that is equal");
    // Lines upon lines, also from the other end, would close upon each other.
    let line = |ax: i32, ay: i32, bx: i32, by: i32| {
        format!("0 LINE | 8 0 | 10 {ax} | 20 {ay} | 11 {bx} | 21 {by} |")
    };
    let sides = [
        line(0, 0, 4, 0),
        line(4, 0, 0, 0),
        line(4, 0, 4, 4),
        line(4, 0, 4, 4),
        line(4, 4, 0, 4),
        line(0, 4, 0, 0),
    ];
    let layout = drawn(&file("", &sides.concat()), &options(1_000));
    assert_eq!((area(&layout), layout.warnings.len()), (16.0, 2));
    let mut stroked = options(1_000);
    stroked.stroke = Some(Stroke::solid(1.0));
    assert_eq!(drawn(&file("", &sides.concat()), &stroked).warnings, []);
}

#[test]
fn sides_that_hardly_bulge_are_straight() {
    let straight = drawn(&file("", &square(0, 0, "0")), &options(1)).drawing;
    for bulge in ["1e-17", "-3e-14", "1e-10", "1e-300", "-5e-324"] {
        let bulged = format!("| 42 {bulge} | 10");
        let text = file("", &square(0, 0, "0").replace("| 10", &bulged));
        assert_eq!(drawn(&text, &options(1)).drawing, straight, "{bulge}");
    }
    // A circle segment of a thousandth of its chord: 2/3 of chord times height.
    let segment = "0 LWPOLYLINE | 8 0 | 70 1 | 10 0 | 20 0 | 42 0.0009 | 10 2000 | 20 0";
    let layout = drawn(&file("", segment), &options(1_000));
    assert_eq!(layout.size, Some((2_000, 1)));
    // Its chords lie within 1/16 px.
    assert!((area(&layout) - 2_000.0 * 0.9 * 2.0 / 3.0).abs() < 2_000.0 / 16.0);
}

#[test]
fn curves_of_any_numbers_are_drawn_or_refused() {
    let numbers = ["0", "1e-300", "-1e-9", "0.5", "3", "1e9", "-1e15", "1e300"];
    for one in numbers {
        for other in numbers {
            for entity in [
                format!("0 CIRCLE | 8 0 | 10 {other} | 40 {one}"),
                format!("0 ARC | 8 0 | 40 {one} | 50 0 | 51 {other}"),
                format!("0 ELLIPSE | 8 0 | 11 {one} | 21 1 | 40 {other} | 41 0 | 42 6.3"),
                format!("0 ELLIPSE | 8 0 | 11 1 | 21 0 | 40 1 | 41 {one} | 42 {other}"),
                format!("0 LWPOLYLINE | 8 0 | 70 1 | 43 {other} | 10 0 | 20 0 | 42 {one} | 10 9 | 20 9"),
                format!("0 LWPOLYLINE | 8 0 | 70 1 | 10 0 | 20 0 | 42 {one} | 10 {other} | 20 9"),
            ] {
                let limits = Limits {
                    points: 20_000,
                    ..Limits::default()
                };
                let document = Document::read(file("", &entity).as_bytes(), limits).unwrap();
                for unit in [None, Some(1e-200), Some(1e200)] {
                    let mut options = options(1_000);
                    options.unit = unit;
                    if let Ok(layout) = document.draw(&options) {
                        assert!(layout.drawing.points() <= 20_000, "{entity}");
                    }
                }
            }
        }
    }
}

#[test]
fn drawing_a_block_in_many_ways_is_bounded_by_its_entities() {
    let lines: String = (0..500)
        .map(|n| format!("0 LINE | 8 0 | 20 {n} | 11 9 | 21 {n} |"))
        .collect();
    let block = format!("0 BLOCK | 2 A | {lines} 0 ENDBLK");
    let inserts: String = (0..500)
        .map(|n| format!("0 INSERT | 2 A | 8 0 | 50 0.{n} |"))
        .collect();
    let limits = Limits {
        items: 10_000,
        ..Limits::default()
    };
    let document = Document::read(file(&block, &inserts).as_bytes(), limits).unwrap();
    assert!(matches!(
        document.draw(&options(1_000)),
        Err(Error::Refused(Refused::Items(10_000)))
    ));
    // A line that is not drawn is told once, however often its block is.
    let document = read(&file(&block, &inserts));
    let layout = document.draw(&options(1_000)).unwrap();
    assert_eq!(layout.warnings.len() as u64 + layout.more, 500);
}

#[test]
fn a_mark_of_utf_8_and_ends_of_lines_of_windows_are_read() {
    let text = file("", &square(0, 0, "0"));
    let other = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(
        drawn(&other, &options(1_000)).drawing,
        drawn(&text, &options(1_000)).drawing
    );
}

#[test]
fn a_stroke_draws_open_curves_and_without_one_they_are_told() {
    let lines = "0 LINE | 8 0 | 10 0 | 20 0 | 11 20 | 21 0 | 0 LINE | 8 0 | 10 20 | 20 0 | 11 20 | 21 10";
    let text = file("", lines);
    let layout = drawn(&text, &options(1_000));
    let told: Vec<String> = layout.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["58: an open curve without a stroke is not drawn"]);
    assert!(layout.drawing.bounds().is_none());
    let mut stroked = options(1_000);
    stroked.stroke = Some(Stroke::solid(2.0));
    let layout = drawn(&text, &stroked);
    // Two bars that meet in a pointed corner, in the box of the stroke.
    assert_eq!(
        (layout.size, area(&layout)),
        (Some((21, 11)), 2.0 * 21.0 + 2.0 * 9.0)
    );
    // A width of its own, all around.
    let wide = square(0, 0, "0").replace("| 70 1 |", "| 70 1 | 43 1.0 |");
    assert_eq!(area(&drawn(&file("", &wide), &options(1_000))), 25.0 - 9.0);
    for (entity, what) in [
        ("0 SPLINE | 8 0", "a SPLINE"),
        ("0 MTEXT | 8 0 | 1 words", "a text"),
        ("0 CIRCLE | 8 0 | 40 3 | 210 1 | 230 0", "not seen from above"),
        ("0 PROXY | 8 0", "of a kind that is not read"),
    ] {
        let layout = drawn(&file("", entity), &options(1_000));
        assert!(layout.warnings[0].what.contains(what), "{entity}");
    }
    let paper = square(0, 0, "0").replace("| 70 1", "| 67 1 | 70 1");
    assert!(drawn(&file("", &paper), &options(1_000)).size.is_none());
}

#[test]
fn an_array_of_a_million_inserts_stays_an_array() {
    let block = format!("0 BLOCK | 2 A | 10 0 | 20 0 | {} 0 ENDBLK", square(0, 0, "0"));
    let text = file(&block, "0 INSERT | 2 A | 8 0 | 70 1000 | 71 1000 | 44 10 | 45 5");
    let mut united = options(1_000);
    united.rule = Rule::NonZero;
    let layout = drawn(&text, &united);
    assert_eq!(
        (layout.size, layout.drawing.copies()),
        (Some((9_994, 4_999)), 1_000_000)
    );
    assert!(layout.drawing.bytes() < 4_096);
    let (period, _) = layout.drawing.period(&Limits::default()).unwrap().unwrap();
    assert_eq!(period, relief_raster::Period::grid(10, 5).unwrap());
}

#[test]
fn a_block_within_a_curve_is_a_hole_unless_blocks_are_united() {
    let block = format!("0 BLOCK | 2 A | 10 0 | 20 0 | {} 0 ENDBLK", square(0, 0, "0"));
    let plate = "0 LWPOLYLINE | 8 0 | 70 1 | 10 -2 | 20 -2 | 10 30 | 20 -2 | 10 30 | 20 12 | 10 -2 | 20 12";
    let text = file(&block, &format!("{plate} | 0 INSERT | 2 A | 8 0 | 70 3 | 44 9"));
    let mut options = options(1_000);
    let layout = drawn(&text, &options);
    assert_eq!(
        (layout.size, area(&layout)),
        (Some((32, 14)), 32.0 * 14.0 - 3.0 * 16.0)
    );
    options.rule = Rule::NonZero;
    assert_eq!(area(&drawn(&text, &options)), 32.0 * 14.0);
}

#[test]
fn the_unit_is_that_of_the_file_unless_it_is_given() {
    let text = file("", &square(0, 0, "0"));
    let unknown = text.replace("70\n4\n", "70\n0\n");
    assert!(matches!(read(&unknown).draw(&options(1_000)), Err(Error::NoUnit)));
    let mut given = options(1_000);
    given.unit = Some(0.01);
    assert_eq!(drawn(&unknown, &given).size, Some((40, 40)));
    assert_eq!(drawn(&text, &given).size, Some((40, 40)));
    given.origin = Origin::Datum { height: 50 };
    let layout = drawn(&text, &given);
    assert_eq!(
        (layout.reach, layout.drawing.pixels()),
        (Some((40, 40)), Some((0, 10, 40, 50)))
    );
}

#[test]
fn files_that_are_none_or_loop_are_refused_by_their_line() {
    let limits = Limits {
        bytes: 1 << 14,
        points: 40,
        items: 40,
        depth: 8,
        memory: u64::MAX,
    };
    let refused = |text: &str| {
        let document = Document::read(text.as_bytes(), limits);
        let error = document.and_then(|document| document.draw(&options(1_000)).map(|_| ()));
        error.unwrap_err().to_string()
    };
    let whole = file("", &square(0, 0, "0"));
    for (text, part) in [
        (String::new(), "line 1: the file ends before"),
        (
            "no drawing\nat all\n".to_owned(),
            "line 1: expected the code of a group",
        ),
        ("AutoCAD Binary DXF\r\n\u{1a}\0".to_owned(), "a binary DXF"),
        (whole[..whole.len() - 9].to_owned(), "cut short"),
        (
            whole.replace("10\n4\n", "10\nnan\n"),
            "expected a number for the group 10, found \"nan\"",
        ),
        (whole.replace("10\n4\n", "10\n1e300\n"), "farther than"),
        (file("", "0 INSERT | 2 B | 8 0"), "the file has no block \"B\""),
        (
            file(
                "0 BLOCK | 2 A | 0 INSERT | 2 B | 0 ENDBLK | 0 BLOCK | 2 B | 0 INSERT | 2 A | 0 ENDBLK",
                "0 INSERT | 2 A | 8 0",
            ),
            "contains itself",
        ),
        (
            file("0 BLOCK | 2 A | 0 ENDBLK | 0 BLOCK | 2 a | 0 ENDBLK", ""),
            "a second block is named \"A\"",
        ),
        (file("", "0 POLYLINE | 8 0 | 0 VERTEX | 10 1"), "has no SEQEND"),
        (
            file(
                "",
                "0 POLYLINE | 8 0 | 0 VERTEX | 10 1 | 0 LINE | 11 1 | 0 VERTEX | 10 2 | 0 SEQEND",
            ),
            "has no SEQEND",
        ),
        (
            file(
                "",
                "0 POLYLINE | 8 0 | 0 VERTEX | 10 1 | 0 POLYLINE | 8 0 | 0 VERTEX | 10 2 | 0 SEQEND",
            ),
            "has no SEQEND",
        ),
        (
            file("", &"0 POINT | 8 0 |0 CIRCLE | 8 0 | 40 1|".repeat(41)),
            "more than 40 elements",
        ),
        (file("", &square(0, 0, "0").repeat(11)), "more than 40 points"),
        (
            format!("0\nSECTION\n2\n{}\n0\nEOF\n", "x".repeat(1 << 15)),
            "more bytes than are read",
        ),
    ] {
        let message = refused(&text);
        assert!(message.contains(part), "{message} does not say {part}");
    }
    // 2^64 copies of copies of copies, written out or not.
    let nested = (0..6).fold(String::new(), |blocks, n| {
        let inner = if n == 0 {
            square(0, 0, "0")
        } else {
            format!("0 INSERT | 2 B{} | 70 60000 | 71 60000 | 44 9 | 45 9 |", n - 1)
        };
        format!("{blocks} 0 BLOCK | 2 B{n} | {inner} 0 ENDBLK |")
    });
    let document = read(&file(&nested, "0 INSERT | 2 B5 | 8 0"));
    for rule in [Rule::EvenOdd, Rule::NonZero] {
        let mut options = options(1_000);
        options.rule = rule;
        match document.draw(&options) {
            Ok(layout) => {
                let period = layout.drawing.period(&limits);
                assert!(matches!(period, Err(Refused::Items(_))));
            }
            Err(error) => assert!(matches!(error, Error::Refused(_)), "{error}"),
        }
    }
}
