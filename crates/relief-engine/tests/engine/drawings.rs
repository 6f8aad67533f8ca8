//! Drawings: shapes larger than tiles, areas, arrays of very many copies, and what the plan says of them.

use proptest::prelude::*;
use relief_design::{Conversion, Design, ImageError, ImageSource, Picture as Served};
use relief_engine::{Error, Kept, NoImages, Options, Period, Plan, Rect};

use crate::oracle::model::{Item, Picture};
use crate::oracle::nodes::{
    Compose, Dxf, Fold, Framed, Gerber, Mesh, Oasis, Outlines, Pitched, Polygon, Repeat, Stretched,
};
use crate::pictures::Pictures;
use crate::run::{design, parse, rendered, renderer, window};
use crate::ways::{PLAIN, TILES, Way, every, model};

/// A layout in the place of every file.
struct Layout(Vec<u8>);

impl ImageSource for Layout {
    fn open(&self, path: &str, _: &Conversion) -> Result<Box<dyn Served>, ImageError> {
        Err(ImageError::new(format!("{path} is no picture")))
    }

    fn data(&self, _: &str, _: u64) -> Result<Vec<u8>, String> {
        Ok(self.0.clone())
    }
}

/// A layout in which one array places a square of 6 µm `columns` × `rows` times, in steps of `pitch` nm.
fn squares(columns: i16, rows: i16, pitch: i32) -> Layout {
    fn record(out: &mut Vec<u8>, kind: u8, data_type: u8, data: &[u8]) {
        out.extend((data.len() as u16 + 4).to_be_bytes());
        out.extend([kind, data_type]);
        out.extend(data);
    }
    let points = |points: &[(i32, i32)]| -> Vec<u8> {
        let sides = points.iter().flat_map(|(x, y)| [*x, *y]);
        sides.flat_map(i32::to_be_bytes).collect()
    };
    let mut out = Vec::new();
    record(&mut out, 0x00, 2, &600_i16.to_be_bytes());
    record(&mut out, 0x01, 2, &[0; 24]);
    record(&mut out, 0x02, 6, b"LIB\0");
    // 10^-3 and 10^-9 in base 16.
    let units = [
        0x3E_41_89_37_4B_C6_A7_F0_u64.to_be_bytes(),
        0x39_44_B8_2F_A0_9B_5A_54_u64.to_be_bytes(),
    ];
    record(&mut out, 0x03, 5, &units.concat());
    record(&mut out, 0x05, 2, &[0; 24]);
    record(&mut out, 0x06, 6, b"SQ");
    record(&mut out, 0x08, 0, &[]);
    record(&mut out, 0x0D, 2, &[0, 1]);
    record(&mut out, 0x0E, 2, &[0, 0]);
    let side = 6_000;
    let square = [(0, 0), (side, 0), (side, side), (0, side), (0, 0)];
    record(&mut out, 0x10, 3, &points(&square));
    record(&mut out, 0x11, 0, &[]);
    record(&mut out, 0x07, 0, &[]);
    record(&mut out, 0x05, 2, &[0; 24]);
    record(&mut out, 0x06, 6, b"TOP\0");
    record(&mut out, 0x0B, 0, &[]);
    record(&mut out, 0x12, 6, b"SQ");
    record(
        &mut out,
        0x13,
        2,
        &[columns.to_be_bytes(), rows.to_be_bytes()].concat(),
    );
    let ends = [
        (0, 0),
        (i32::from(columns) * pitch, 0),
        (0, i32::from(rows) * pitch),
    ];
    record(&mut out, 0x10, 3, &points(&ends));
    record(&mut out, 0x11, 0, &[]);
    record(&mut out, 0x07, 0, &[]);
    record(&mut out, 0x04, 0, &[]);
    Layout(out)
}

fn layout(layout: &Layout, canvas: &str, node: &str) -> Design {
    let text = format!("relief version=1\ncanvas {canvas}\n{node}");
    relief_design::parse("test.kdl", &text, layout).unwrap_or_else(|report| panic!("{report:?}\n{text}"))
}

fn polygon(vertices: &[(i64, i64)], below: i64) -> Polygon {
    Polygon {
        value: 201,
        even_odd: true,
        centres: false,
        vertices: vertices.iter().map(|(x, y)| ((*x, below), (*y, below))).collect(),
    }
}

#[test]
fn outlines_across_many_tiles_have_the_samples_of_their_definitions() {
    let star = polygon(&[(200, 10), (325, 400), (2, 151), (396, 151), (75, 400)], 7);
    let ways: Vec<Way> = TILES
        .into_iter()
        .chain([Some((5, 4)), Some((1, 64)), Some((64, 1))])
        .map(|tile| Way {
            tile,
            kept: Some(0),
            ..PLAIN
        })
        .chain([PLAIN])
        .collect();
    every(&model(61, 60, star.clone()), &ways);
    let copies = Repeat {
        gaps: (Some(2), Some(3)),
        pattern: Box::new(Item::new(star).at(-3, 2).sized(24, 19)),
    };
    every(&model(130, 90, copies.clone()), &ways);
    let above = Compose(vec![
        (Fold::Base, Item::new(copies)),
        (
            Fold::Subtract,
            Item::new(polygon(&[(-9, -9), (120, 40), (30, 260)], 3)).at(11, 5),
        ),
    ]);
    every(&model(90, 70, above), &ways);
}

#[test]
fn files_across_many_tiles_have_the_samples_of_what_they_hold() {
    let outlines = |centres: bool| Outlines {
        value: 201,
        centres,
        contours: vec![
            (false, vec![(-31, 17), (1_700, 17), (1_700, 1_201), (-31, 1_201)]),
            (true, vec![(100, 150), (1_003, 90), (611, 1_150)]),
            (false, vec![(400, 333), (1_900, 333), (1_900, 800), (400, 800)]),
            (true, vec![(640, 384), (704, 384), (704, 448), (640, 448)]),
        ],
    };
    let plates = vec![
        (0, 0, 1_500, 1_100, 7),
        (-33, 200, 700, 65, 250),
        (640, 640, 64, 64, 255),
        (20, 7, 999, 640, 90),
    ];
    let ways: Vec<Way> = TILES
        .into_iter()
        .map(|tile| Way {
            tile,
            kept: Some(0),
            ..PLAIN
        })
        .collect();
    for centres in [false, true] {
        every(&model(40, 25, Gerber(outlines(centres))), &ways);
        every(&model(40, 25, Dxf(outlines(centres))), &ways);
        every(&model(40, 25, Oasis(outlines(centres))), &ways);
    }
    every(&model(40, 25, Mesh(plates)), &ways);
    // What is clear took away from what was drawn before it, and from nothing after it.
    let board = rendered(&renderer(
        &design(&model(40, 25, Gerber(outlines(true)))),
        &Pictures::default(),
        &Options::default(),
    ));
    let board = board.unwrap();
    let at = |x: usize, y: usize| board[40 * y + x];
    assert_eq!((at(0, 0), at(8, 14), at(9, 8), at(10, 6)), (201, 0, 201, 0));
}

#[test]
fn pictures_of_other_sides_have_the_samples_of_their_definitions() {
    let mut fitted = model(
        50,
        40,
        Compose(vec![
            (Fold::Base, Item::new(Stretched(0)).sized(31, 9)),
            (Fold::Max, {
                let mut wide = Item::new(Stretched(0)).at(3, 11);
                wide.width = Some(23);
                wide
            }),
            (
                Fold::Max,
                Item::new(Framed {
                    number: 0,
                    cover: false,
                })
                .at(0, 20)
                .sized(20, 11),
            ),
            (
                Fold::Max,
                Item::new(Framed {
                    number: 0,
                    cover: true,
                })
                .at(33, 0)
                .sized(4, 13),
            ),
            (
                Fold::Max,
                Item::new(Framed {
                    number: 0,
                    cover: true,
                })
                .at(40, 0)
                .sized(10, 5),
            ),
            (
                Fold::Max,
                Item::new(Framed {
                    number: 0,
                    cover: false,
                })
                .at(20, 34)
                .sized(3, 6),
            ),
            (Fold::Max, Item::new(Pitched(0, 17)).at(30, 20)),
            (Fold::Max, Item::new(Pitched(0, 4)).at(1, 30).sized(3, 9)),
        ]),
    );
    fitted.pictures[0] = Picture {
        width: 7,
        height: 5,
        samples: (0..35).map(|at| at * 83 % 256).collect(),
    };
    every(&fitted, &[PLAIN]);
}

/// The triangles of a mesh above the raster of a node 9 high: x, y and z in pixels and samples, as numbers in mm.
fn stl(triangles: &[[[i32; 3]; 3]]) -> Layout {
    let mut file = vec![b's'; 80];
    file.extend((triangles.len() as u32).to_le_bytes());
    for triangle in triangles {
        file.extend([0; 12]);
        for number in triangle.as_flattened() {
            file.extend((*number as f32 / 4.0).to_le_bytes());
        }
        file.extend([7, 7]);
    }
    Layout(file)
}

#[test]
fn a_mesh_has_the_same_samples_however_it_is_cut_and_is_counted_once() {
    // Two slopes, a plate and the ground, in quarters of a pixel. No centre of a pixel lies on an edge.
    let triangles = [
        [[0, 0, 0], [400, 0, 0], [201, 121, 800]],
        [[0, 240, 0], [400, 240, 0], [201, 121, 800]],
        [[91, 31, 300], [250, 60, 300], [171, 200, 300]],
        [[-40, -40, 90], [900, -40, 90], [-40, 900, 90]],
    ];
    let file = stl(&triangles);
    let node = "mesh \"a\" low=0 high=255 origin=\"datum\" width=110 height=70";
    let twice = format!("compose {{ (base){node}; (max){node} x=3 y=-2 }}");
    let design = layout(&file, "width=110 height=70 pixel=\"1mm\"", &twice);
    let expected = |x: i64, y: i64| {
        // By planes in fractions: y points up, and a quarter of a pixel is one.
        let (px, py) = (i128::from(4 * x + 2), i128::from(4 * (70 - y) - 2));
        let mut best = 0;
        for triangle in &triangles {
            let [a, b, c] = triangle.map(|corner| corner.map(i128::from));
            let side = |a: [i128; 3], b: [i128; 3]| (a[0] - px) * (b[1] - py) - (b[0] - px) * (a[1] - py);
            let (mut u, mut v, mut w) = (side(b, c), side(c, a), side(a, b));
            if u + v + w < 0 {
                (u, v, w) = (-u, -v, -w);
            }
            if u >= 0 && v >= 0 && w >= 0 {
                let (sum, whole) = (u * a[2] + v * b[2] + w * c[2], 4 * (u + v + w));
                best = best.max(((2 * sum + whole) / (2 * whole)).clamp(0, 255));
            }
        }
        best as u16
    };
    let whole: Vec<u16> = (0..70_i64)
        .flat_map(|y| (0..110_i64).map(move |x| (x, y)))
        .map(|(x, y)| {
            let moved = if x >= 3 && y < 68 {
                expected(x - 3, y + 2)
            } else {
                0
            };
            expected(x, y).max(moved)
        })
        .collect();
    for options in [
        Options::default(),
        Options::default().tile((16, 8)).threads(2),
        Options::default().tile((110, 1)),
    ] {
        assert!(rendered(&renderer(&design, &file, &options)).unwrap() == whole);
    }
    // One index for both.
    let bytes = |design: &Design| {
        Plan::new(design, &file, &Options::default())
            .unwrap()
            .peak()
            .design
    };
    let once = layout(
        &file,
        "width=110 height=70 pixel=\"1mm\"",
        &format!("compose {{ (base){node} }}"),
    );
    let other = twice.replacen("high=255", "high=254", 1);
    let other = layout(&file, "width=110 height=70 pixel=\"1mm\"", &other);
    assert!(bytes(&design) - bytes(&once) < bytes(&other) - bytes(&once) - 100);
}

#[test]
fn a_mesh_that_does_not_fit_is_refused_with_the_memory_that_does() {
    // 300 000 triangles are 5 MiB of an index, more than is built whatever is allowed.
    let triangles: Vec<[[i32; 3]; 3]> = (0..300_000)
        .map(|number| {
            let (x, y) = (4 * (number % 100), 4 * (number / 100));
            [[x, y, 8], [x + 4, y, 8], [x, y + 4, 8]]
        })
        .collect();
    let file = stl(&triangles);
    let node = "mesh \"a\" low=0 high=255 origin=\"box\" x=0 y=0";
    let design = layout(&file, "width=100 height=100 pixel=\"1mm\"", node);
    let plan = |memory| {
        let options = Options::default().threads(1).memory(memory);
        Plan::new(&design, &file, &options)
    };
    let Err(Error::Memory { needed, limit, .. }) = plan(16 << 20) else {
        panic!("a mesh of 18 MiB was planned in 16");
    };
    assert!(limit == 16 << 20 && needed > limit, "{needed}");
    let planned = plan(needed).unwrap();
    assert!(planned.peak().total() <= needed);
    // What was named is what building the index takes, which is 2 bytes a triangle more than the index: it was not built to be refused.
    let above = needed - planned.peak().total();
    assert!((1 << 19..2 << 20).contains(&above), "{above}");
}

/// The sum of all samples, in parts of M.
fn covered(text: &str) -> f64 {
    let design = parse(&format!(
        "relief version=1\ncanvas width=220 height=160 bits=16\n{text}"
    ));
    let renderer = renderer(&design, &NoImages, &Options::default());
    let samples = rendered(&renderer).unwrap();
    samples.iter().map(|sample| f64::from(*sample)).sum::<f64>() / 65_535.0
}

#[test]
fn shapes_cover_as_much_as_geometry_says() {
    let pi = std::f64::consts::PI;
    // Chords lie within 1/16 px of curves, on their inner side.
    for (node, area, outline) in [
        (
            "rectangle size-x=100.3 size-y=40.25 shift-x=3.7 value=65535",
            100.3 * 40.25,
            0.0,
        ),
        (
            "rectangle size-x=100 size-y=60 radius=20 shift-x=0.5 value=65535",
            6_000.0 - (4.0 - pi) * 400.0,
            2.0 * pi * 20.0,
        ),
        (
            "ellipse size-x=150.5 size-y=90.25 shift-x=2.3 value=65535",
            pi * 150.5 * 90.25 / 4.0,
            400.0,
        ),
        (
            "line stroke=7.5 value=65535 { vertex 20 20; vertex 120.5 20; vertex 120.5 100.25 }",
            7.5 * (100.5 + 80.25),
            0.0,
        ),
        (
            "line stroke=10 cap=\"round\" value=65535 { vertex 20 20; vertex 150 120 }",
            10.0 * f64::hypot(130.0, 100.0) + pi * 25.0,
            10.0 * pi,
        ),
        (
            "line stroke=10 cap=\"square\" value=65535 { vertex 20 20; vertex 150 120 }",
            10.0 * (f64::hypot(130.0, 100.0) + 10.0),
            0.0,
        ),
        // Two arms, of which the middle is one.
        (
            "marks \"cross\" size-x=100.5 size-y=60 stroke=4 shift-x=7.3 value=65535",
            4.0 * (100.5 + 60.0 - 4.0),
            0.0,
        ),
        // The arms hide four squares of the ring, as long as it is much wider than they are.
        (
            "marks \"register\" size-x=160 size-y=160 stroke=2 value=65535",
            2.0 * (160.0 + 160.0 - 2.0) + 2.0 * pi * 40.0 * 2.0 - 4.0 * 4.0,
            4.0 * pi * 40.0,
        ),
        (
            "marks \"crop\" size-x=100 size-y=60.25 length=20.5 gap=3 stroke=2 value=65535",
            8.0 * 20.5 * 2.0,
            0.0,
        ),
        (
            "path \"M0 0 H4 V2 H0 Z M1 .5 V1.5 H3 V.5 Z\" unit=20 value=65535",
            6.0 * 400.0,
            0.0,
        ),
        (
            "path \"M0 0 H4 V2 H0 Z M1 .5 H3 V1.5 H1 Z\" unit=20 fill=\"evenodd\" value=65535",
            6.0 * 400.0,
            0.0,
        ),
        (
            "path \"M20 60 A40 40 0 0 1 100 60\" fill=\"none\" stroke=6 value=65535",
            pi * 40.0 * 6.0,
            2.0 * pi * 40.0,
        ),
    ] {
        let found = covered(&format!("compose {{ (base){node} }}"));
        // Points are rounded by at most 1/512 px, and so are the crossings of sub-scanlines.
        let allowed = 1.5 + outline / 16.0;
        assert!((found - area).abs() <= allowed, "{node}: {found} for {area}");
    }
}

/// How much of a pixel an ellipse with this centre and these half axes covers: its chords along 1 024 lines.
fn share_of_pixel((x, y): (usize, usize), centre: (f64, f64), half: (f64, f64)) -> f64 {
    let lines = 1_024;
    let left = x as f64;
    let chords = (0..lines).map(|line| {
        let down = (y as f64 + (f64::from(line) + 0.5) / f64::from(lines) - centre.1) / half.1;
        let reach = half.0 * (1.0 - down * down).max(0.0).sqrt();
        ((centre.0 + reach).min(left + 1.0) - (centre.0 - reach).max(left)).max(0.0)
    });
    chords.sum::<f64>() / f64::from(lines)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_pixel_of_an_ellipse_is_covered_as_its_chords_say(
        size in (40_i32..1_600, 40_i32..1_600),
        shift in (-400_i32..1_200, -400_i32..1_200),
    ) {
        let pixels = |parts: i32| f64::from(parts) / 40.0;
        let (size, shift) = ((pixels(size.0), pixels(size.1)), (pixels(shift.0), pixels(shift.1)));
        let design = parse(&format!(
            "relief version=1\ncanvas width=48 height=44 bits=16\ncompose {{ (base)ellipse size-x={:?} size-y={:?} shift-x={:?} shift-y={:?} value=65535 }}",
            size.0, size.1, shift.0, shift.1
        ));
        let renderer = renderer(&design, &NoImages, &Options::default());
        let samples = rendered(&renderer).unwrap();
        let half = (size.0 / 2.0, size.1 / 2.0);
        let centre = (shift.0 + half.0, shift.1 + half.1);
        let least = half.0.min(half.1);
        // The outline lies within 1/16 px and 2⁻¹⁰ px on the inner side, 2⁻¹⁰ px on the outer, and its points within 0.003 px.
        // An ellipse by so much of its smaller half axis less or more has at least this distance everywhere.
        let scaled = |by: f64| (half.0 * (1.0 + by / least), half.1 * (1.0 + by / least));
        let (inner, outer) = (scaled(-0.0665), scaled(0.004));
        // A chord within a pixel grows and then shrinks: 16 lines miss its mean by 1/16 at most, 1 024 by 1/1024. Both ends are in 1/256 px.
        let allowed = 1.0 / 16.0 + 1.0 / 1_024.0 + 2.0 / 256.0;
        for (index, sample) in samples.iter().enumerate() {
            let pixel = (index % 48, index / 48);
            let found = f64::from(*sample) / 65_535.0;
            let (low, high) = (share_of_pixel(pixel, centre, inner), share_of_pixel(pixel, centre, outer));
            prop_assert!(low - allowed <= found && found <= high + allowed, "{pixel:?}: {found}, not {low} to {high}");
        }
    }
}

#[test]
fn shapes_that_abut_at_any_place_leave_no_seam() {
    for place in ["1/3", "61.999", "17.5", "100.0001"] {
        let rest = format!("rectangle shift-x=\"{place}\" size-x=200 size-y=160 value=65535");
        let text = format!(
            "compose {{ (base)rectangle size-x=\"{place}\" size-y=160 value=65535; (add){rest}; (min)rectangle size-x=190 size-y=160 value=65535 }}"
        );
        // A pixel in which both end may be one level too great, and is cut at M.
        assert_eq!(covered(&text), 190.0 * 160.0, "{place}");
    }
}

#[test]
fn a_hundred_million_polygons_are_planned_from_one_and_computed_from_a_cell() {
    let file = squares(10_000, 10_000, 10_000);
    let design = layout(
        &file,
        "width=\"0.1m\" height=\"0.1m\" pixel=\"1um\"",
        "gds \"a\" origin=\"box\" value=255",
    );
    let plan = Plan::new(&design, &file, &Options::default().memory(64 << 20)).unwrap();
    let (period, rect) = plan.period().unwrap();
    assert_eq!(period, Period::grid(10, 10).unwrap());
    assert!(rect.area() > 99_900 * 99_900, "{rect:?}");
    assert!(plan.peak().design < 1 << 20, "{:?}", plan.peak());
    assert!(
        plan.nodes()
            .iter()
            .any(|node| matches!(node.kept, Kept::Cell { .. }))
    );
    let renderer = renderer(&design, &file, &Options::default());
    for (x, y) in [(0, 0), (50_003, 77_777), (99_950, 99_950)] {
        let found = window(&renderer, Rect::new(x, y, 50, 40).unwrap()).unwrap();
        for (number, sample) in found.into_iter().enumerate() {
            let (x, y) = (x + number as i64 % 50, y + number as i64 / 50);
            // y points up: the lowest row of squares ends at the lower edge of the box, which has no gap below it.
            let up = 99_996 - 1 - y;
            let inside = x < 99_996 && up >= 0 && x % 10 < 6 && up % 10 < 6;
            assert_eq!(sample, if inside { 255 } else { 0 }, "{x}, {y}");
        }
    }
}

#[test]
fn layouts_that_no_tile_could_visit_are_refused_by_their_line() {
    let file = squares(30_000, 30_000, 1);
    let design = layout(
        &file,
        "width=100 height=100 pixel=\"1um\"",
        "gds \"a\" origin=\"box\" value=255",
    );
    let refused = Plan::new(&design, &file, &Options::default()).unwrap_err();
    assert!(matches!(refused, Error::Drawing { line: 3, .. }), "{refused}");
    assert!(refused.to_string().contains("too close together"), "{refused}");
}

#[test]
fn the_plan_counts_outlines_and_their_index() {
    let with = |vertices: usize| {
        let vertices: String = (0..vertices)
            .map(|n| format!("vertex {} {}\n", n % 97, n % 89))
            .collect();
        let design = parse(&format!(
            "relief version=1\ncanvas width=100 height=100\npolygon value=9 {{\n{vertices}}}"
        ));
        Plan::new(&design, &NoImages, &Options::default())
            .unwrap()
            .peak()
            .design
    };
    let (few, many) = (with(3), with(20_003));
    // A point is two numbers of 64 bits, in the outline and in the index.
    assert!(many - few >= 20_000 * 32, "{few}, {many}");
}

#[test]
fn drawings_of_which_a_tile_takes_seconds_are_told_with_their_line() {
    // Every point is the end of a chain of one or two edges, of the height of a tile.
    let seconds = |vertices: usize, bits: u32, step: usize| {
        let vertices: String = (0..vertices)
            .map(|n| {
                format!(
                    "vertex {} {}\n",
                    n * step + n % 7,
                    if n % 2 == 0 { 0 } else { 64 }
                )
            })
            .collect();
        let design = parse(&format!(
            "relief version=1\ncanvas width=100 height=64 bits={bits}\ncompose {{\n(base)fill value=0\n(max)polygon value=9 {{\n{vertices}}}\n}}"
        ));
        let plan = Plan::new(&design, &NoImages, &Options::default()).unwrap();
        let told: Vec<(u32, f64)> = plan
            .slow_drawings()
            .iter()
            .map(|slow| (slow.line, slow.seconds))
            .collect();
        told
    };
    // 20 000 edges in 65 rows, with both their ends: 1.3 million, which is below a second.
    assert_eq!(seconds(20_000, 8, 0), []);
    for (bits, times) in [(8, 1.0), (16, 2.0)] {
        let told = seconds(200_000, bits, 0);
        assert_eq!(told.len(), 1);
        let (line, found) = told[0];
        let edges = 200_000.0 * (65.0 + 2.0);
        let expected = times * edges / relief_kernels::coverage::WORK_OF_A_SECOND as f64;
        assert!(
            line == 5 && (found / expected - 1.0).abs() < 0.05,
            "{line}: {found} for {expected}"
        );
    }
    // Where they lie apart, a tile meets few of them.
    assert_eq!(seconds(200_000, 8, 50), []);
}

#[test]
fn equal_drawings_have_one_index() {
    let with = |second: &str| {
        let star = |value: &str| {
            let vertices: String = (0..3_000)
                .map(|n| format!("vertex {} {}\n", n % 97, n % 89))
                .collect();
            format!("polygon value={value} {{\n{vertices}}}")
        };
        let design = parse(&format!(
            "relief version=1\ncanvas width=100 height=100\ncompose {{\n(base){}\n(max){}\n}}",
            star("9"),
            star(second)
        ));
        Plan::new(&design, &NoImages, &Options::default())
            .unwrap()
            .peak()
            .design
    };
    assert!(with("9") + 3_000 * 16 <= with("8"));
}

#[test]
fn a_design_of_the_oracle_keeps_the_cell_of_a_drawing() {
    let copies = Repeat {
        gaps: (Some(0), Some(1)),
        pattern: Box::new(Item::new(polygon(&[(0, 0), (20, 3), (9, 17)], 2)).sized(11, 9)),
    };
    let copies = model(200, 150, copies);
    let renderer = renderer(&design(&copies), &NoImages, &Options::default());
    let nodes = renderer.plan().nodes();
    assert!(nodes.iter().any(|node| matches!(node.kept, Kept::Cell { .. })));
}

/// A design of one node whose file holds this text.
fn of_file(node: &str, text: &str) -> (Design, Layout) {
    let file = Layout(text.as_bytes().to_vec());
    (layout(&file, "width=64 height=64 pixel=\"1mm\"", node), file)
}

#[test]
fn copies_of_copies_without_end_are_refused_before_memory_is_taken() {
    // Each block holds the one before twice: 2^60 squares of 60 cells.
    let mut board = "%FSLAX46Y46*%%MOMM*%%ADD10R,1X1*%%ABD11*%D10*X0Y0D03*%AB*%".to_owned();
    for code in 12..72 {
        let before = code - 1;
        board += &format!("%ABD{code}*%D{before}*X0Y0D03*X{code}000Y0D03*%AB*%");
    }
    let (one, other) = (
        board.clone() + "D71*X0Y0D03*M02*",
        board + "%SRX9Y9I1J1*%D71*X0Y0D03*%SR*%M02*",
    );
    // Each block of a drawing holds an array of the one before, so that none of the arrays stays one.
    let mut nested = "0\nSECTION\n2\nBLOCKS\n0\nBLOCK\n2\nB0\n10\n0\n20\n0\n0\nSOLID\n10\n0\n20\n0\n11\n1\n21\n0\n12\n0\n22\n1\n0\nENDBLK\n".to_owned();
    for number in 1..40 {
        let before = number - 1;
        nested += &format!(
            "0\nBLOCK\n2\nB{number}\n10\n0\n20\n0\n0\nINSERT\n2\nB{before}\n10\n0\n20\n0\n70\n2\n71\n2\n44\n{number}\n45\n3\n0\nENDBLK\n"
        );
    }
    nested += "0\nENDSEC\n0\nSECTION\n2\nENTITIES\n0\nINSERT\n2\nB39\n10\n0\n20\n0\n0\nENDSEC\n0\nEOF\n";
    for (node, text) in [
        ("gerber \"a.gbr\" value=1", &one),
        ("gerber \"a.gbr\" value=1", &other),
        ("dxf \"a.dxf\" value=1 unit=\"mm\" rule=\"nonzero\"", &nested),
    ] {
        let (design, file) = of_file(node, text);
        let refused = Plan::new(&design, &file, &Options::default()).err();
        let told = refused.map(|error| error.to_string()).unwrap_or_default();
        assert!(told.contains("elements and placements"), "{node}: {told}");
    }
}
