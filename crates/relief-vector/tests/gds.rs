//! Layouts written by gdstk, against what KLayout says of them (`gds/make.py`), and files that are none.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod dxf;
mod gerber;
mod oasis;
mod paths;
mod stl;
mod support;

use relief_raster::Rect;
use relief_vector::gds;
use relief_vector::layout::{Error, Layers, Library, Options, Origin};
use relief_vector::{Limits, Pixel, Refused};

fn bytes(name: &str) -> Vec<u8> {
    bytes_of(&format!("gds/{name}"))
}

/// The file that stands as text in a file beside these tests.
fn bytes_of(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/{name}.hex", env!("CARGO_MANIFEST_DIR"));
    let text: String = std::fs::read_to_string(path)
        .unwrap()
        .split_whitespace()
        .collect();
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn read(bytes: &[u8], layers: &str) -> Library {
    gds::read(
        bytes,
        &Layers::parse(layers, &Layers::GDS).unwrap(),
        Limits::default(),
    )
    .unwrap()
}

/// A pixel of so many units of 10^-`digits` m.
fn options(pixel: u64, per_metre: u64) -> Options {
    Options {
        pixel: Pixel::metres(pixel, per_metre).unwrap(),
        origin: Origin::Box,
        cell: None,
        value: 65_535,
    }
}

struct Expected {
    count: u128,
    area: f64,
    extent: (i64, i64, i64, i64),
    side: u64,
    size: (usize, usize),
    shares: Vec<f64>,
}

fn expected(name: &str) -> Expected {
    let path = format!("{}/tests/{name}.expected", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let count = lines.next().unwrap().parse().unwrap();
    let area = lines.next().unwrap().parse().unwrap();
    let mut numbers = || -> Vec<i64> {
        lines
            .next()
            .unwrap()
            .split(' ')
            .map(|n| n.parse().unwrap())
            .collect()
    };
    let (b, grid) = (numbers(), numbers());
    let shares = lines
        .flat_map(|line| line.split(' '))
        .map(|n| n.parse().unwrap())
        .collect();
    Expected {
        count,
        area,
        extent: (b[0], b[1], b[2], b[3]),
        side: grid[0] as u64,
        size: (grid[1] as usize, grid[2] as usize),
        shares,
    }
}

fn check(name: &str, layers: &str, units_per_metre: u64, slack: i64) {
    let library = read(&bytes(name), layers);
    check_drawn(
        &library,
        &format!("gds/{name}"),
        (1, units_per_metre),
        slack,
        0.02,
    );
}

/// Draws a layout of this unit in metres, and compares polygons, box, area and every pixel with what is expected.
fn check_drawn(library: &Library, name: &str, unit: (u64, u64), slack: i64, tolerance: f64) {
    let expected = expected(name);
    let layout = library.draw(&options(expected.side * unit.0, unit.1)).unwrap();
    assert_eq!(layout.drawing.copies(), expected.count, "{name}: polygons");
    let (is, should) = (layout.extent.unwrap(), expected.extent);
    for (is, should) in [
        (is.0, should.0),
        (is.1, should.1),
        (is.2, should.2),
        (is.3, should.3),
    ] {
        assert!(
            (is - should).abs() <= slack,
            "{name}: the box {:?} is not {:?}",
            layout.extent,
            expected.extent
        );
    }
    let samples = support::render::<u16>(&layout.drawing, expected.size);
    for (at, (sample, share)) in samples.iter().zip(&expected.shares).enumerate() {
        let is = f64::from(*sample) / 65_535.0;
        // A pixel has 64 sub-scanlines, so a level edge may lie 1/128 px beside its place.
        assert!(
            (is - share).abs() < tolerance,
            "{name}: pixel {at} is {is}, not {share}"
        );
    }
    // The area, from pixels so small that this counts for little.
    let side = expected.side / 20;
    let layout = library.draw(&options(side * unit.0, unit.1)).unwrap();
    let (columns, rows) = layout.size.unwrap();
    let fine = (columns as usize, rows as usize);
    let sum: u64 = support::render::<u16>(&layout.drawing, fine)
        .iter()
        .map(|s| u64::from(*s))
        .sum();
    let area = sum as f64 / 65_535.0 * (side * side) as f64;
    assert!(
        (area / expected.area - 1.0).abs() < tolerance / 20.0,
        "{name}: an area of {area}, not {}",
        expected.area
    );
}

#[test]
fn cells_arrays_and_quarter_turns_lie_where_klayout_has_them() {
    check("cells", "*", 1_000_000_000, 0);
}

#[test]
fn any_angle_and_magnification_lie_where_klayout_has_them() {
    // KLayout rounds the corners of turned cells to whole database units.
    check("turned", "*", 1_000_000_000, 2);
}

#[test]
fn paths_have_the_ends_and_corners_of_klayout() {
    check("paths", "*", 1_000_000_000, 1);
}

#[test]
fn only_the_chosen_layers_are_drawn_and_all_of_them_make_the_box() {
    check("layers", "1/0,3", 200_000_000, 0);
}

#[test]
fn the_datum_is_the_bottom_left_corner_of_the_raster() {
    let library = read(&bytes("layers"), "*");
    let mut options = options(1, 1_000_000);
    options.origin = Origin::Datum { height: 40 };
    let layout = library.draw(&options).unwrap();
    // The first triangle: (0, 0), (13, 2), (5, 17) µm, y up.
    let samples = support::render::<u8>(&layout.drawing, (60, 40));
    assert!(samples[..18 * 60].iter().all(|s| *s == 0), "nothing above 21 µm");
    assert_eq!(samples[(39 - 8) * 60 + 5], 255, "inside, at (5.5, 8.5)");
    assert_eq!(samples[(39 - 15) * 60 + 12], 0, "outside, at (12.5, 15.5)");
}

#[test]
fn copies_lie_as_if_they_were_written_out() {
    // A pixel that has no whole number of database units: 1200 dpi.
    let mut options = options(1, 1);
    options.pixel = Pixel::dpi(120_000).unwrap();
    let drawing = read(&bytes("cells"), "*").draw(&options).unwrap().drawing;
    let flat = flattened(&drawing);
    let size = (420, 400);
    let one = support::render::<u8>(&drawing, size);
    assert!(one.contains(&255) && one.contains(&0));
    assert_eq!(one, support::render::<u8>(&flat, size));
}

/// All copies as elements of one cell, their points rounded one by one.
fn flattened(drawing: &relief_vector::Drawing) -> relief_vector::Drawing {
    fn walk(d: &relief_vector::Drawing, cell: usize, by: (i64, i64), out: &mut Vec<Vec<(f64, f64)>>) {
        let q = i64::from(d.denominator());
        let round = |n: i64| (2 * n + q).div_euclid(2 * q) as f64 / 256.0;
        let cell = &d.cells()[cell];
        for outline in cell.elements.iter().flat_map(|element| element.outlines.clone()) {
            out.push(
                d.outline(outline)
                    .iter()
                    .map(|(x, y)| (round(x + by.0), round(y + by.1)))
                    .collect(),
            );
        }
        for placement in &cell.placements {
            let l = placement.lattice;
            for i in 0..i64::from(l.columns) {
                for j in 0..i64::from(l.rows) {
                    let x = by.0 + l.origin.0 + i * l.u.0 + j * l.v.0;
                    let y = by.1 + l.origin.1 + i * l.u.1 + j * l.v.1;
                    walk(d, placement.cell as usize, (x, y), out);
                }
            }
        }
    }
    let mut outlines = Vec::new();
    walk(drawing, drawing.cells().len() - 1, (0, 0), &mut outlines);
    let mut sketch = relief_vector::Sketch::new(Limits::default());
    for outline in outlines {
        let path = relief_vector::shapes::polygon(&outline);
        sketch
            .fill(
                &path,
                relief_vector::Affine::IDENTITY,
                65_535,
                relief_vector::Rule::NonZero,
            )
            .unwrap();
    }
    sketch.finish()
}

/// A layout of one square in arrays of arrays, 100 × 10 000 × 100 copies.
fn vast() -> Vec<u8> {
    let mut out = Vec::new();
    let mut record = |kind: u8, data: &[u8]| {
        out.extend((data.len() as u16 + 4).to_be_bytes());
        out.extend([kind, 0]);
        out.extend(data);
    };
    let xy = |points: &[(i32, i32)]| -> Vec<u8> {
        points
            .iter()
            .flat_map(|(x, y)| [x.to_be_bytes(), y.to_be_bytes()].concat())
            .collect()
    };
    record(0, &[2, 88]);
    // 10^-3 and 10^-9, as every program writes them.
    let units = 0x3E41_8937_4BC6_A7EF_u64.to_be_bytes();
    record(3, &[units, 0x3944_B82F_A09B_5A54_u64.to_be_bytes()].concat());
    record(5, &[0; 24]);
    record(6, b"DOT\0");
    record(8, &[]);
    record(0x0D, &[0, 1]);
    record(0x0E, &[0, 0]);
    record(
        0x10,
        &xy(&[(0, 0), (1_000, 0), (1_000, 1_000), (0, 1_000), (0, 0)]),
    );
    record(0x11, &[]);
    record(7, &[]);
    record(5, &[0; 24]);
    record(6, b"TOP\0");
    record(0x0B, &[]);
    record(0x12, b"DOT\0");
    record(0x13, &[0x27, 0x10, 0x27, 0x10]);
    record(0x10, &xy(&[(0, 0), (20_000_000, 0), (0, 30_000_000)]));
    record(0x11, &[]);
    record(7, &[]);
    record(4, &[]);
    out
}

#[test]
fn an_array_of_a_hundred_million_squares_is_one_placement_and_a_proved_period() {
    let layout = read(&vast(), "*").draw(&options(1, 1_000_000)).unwrap();
    assert_eq!(layout.drawing.copies(), 100_000_000);
    assert!(layout.drawing.bytes() < 10_000);
    let (period, region) = layout.drawing.period(&Limits::default()).unwrap().unwrap();
    assert_eq!((period.a(), period.c()), (2, 3));
    assert!(
        region.contains(&Rect::new(4, 4, 19_990, 29_990).unwrap()),
        "{region:?}"
    );
    // What was proved holds of the samples, at the corners of the region and within it.
    let index = support::index::<u8>(&layout.drawing);
    for (x, y) in [
        (region.x(), region.y()),
        (region.right() - 12, region.bottom() - 12),
        (9_001, 13_000),
    ] {
        let here = support::samples::<u8>(&index, (x, y), (12, 12));
        for (at, sample) in here.iter().enumerate() {
            let (column, row) = (at % 12, at / 12);
            if column >= 2 {
                assert_eq!(
                    *sample,
                    here[at - 2],
                    "({column}, {row}) of the part at ({x}, {y})"
                );
            }
            if row >= 3 {
                assert_eq!(
                    *sample,
                    here[at - 36],
                    "({column}, {row}) of the part at ({x}, {y})"
                );
            }
        }
        assert!(here.contains(&255) && here.contains(&0));
    }
}

#[test]
fn what_is_no_layout_is_refused_with_the_byte() {
    let limits = Limits::default();
    let whole = bytes("cells");
    for cut in [0, 3, 4, 17, whole.len() / 2, whole.len() - 1] {
        let error = gds::read(&whole[..cut], &Layers::all(), limits).unwrap_err();
        assert!(matches!(error, Error::Record { .. }), "cut at {cut}: {error}");
    }
    let text = gds::read(
        &b"<svg xmlns='http://www.w3.org/2000/svg'/>"[..],
        &Layers::all(),
        limits,
    );
    assert!(text.unwrap_err().to_string().contains("byte 0"));
    let few = Limits { points: 3, ..limits };
    let error = gds::read(&whole[..], &Layers::all(), few).unwrap_err();
    assert!(matches!(error, Error::Refused(Refused::Points(3))), "{error}");
}

#[test]
fn cells_that_are_missing_or_contain_themselves_are_named() {
    let library = read(&bytes("cells"), "*");
    let mut wanted = options(1, 1_000_000);
    wanted.cell = Some("ROWS".into());
    let message = library.draw(&wanted).unwrap_err().to_string();
    assert!(
        message.contains("\"ROWS\"") && message.contains("\"ROW\""),
        "{message}"
    );
    // The cell TOP placed in LEAF's place: the name of a reference is changed.
    let mut looped = vast();
    let at = looped.windows(4).rposition(|name| name == b"DOT\0").unwrap();
    looped[at..at + 4].copy_from_slice(b"TOP\0");
    wanted.cell = Some("TOP".into());
    assert!(matches!(read(&looped, "*").draw(&wanted).unwrap_err(), Error::Loop(name) if name == "TOP"));
    wanted.cell = None;
    looped[at..at + 4].copy_from_slice(b"XXX\0");
    assert!(
        read(&looped, "*")
            .draw(&Options {
                cell: Some("TOP".into()),
                ..wanted
            })
            .is_err()
    );
}

/// A drawing that is cut anywhere is refused, or drawn as far as it goes; nothing else comes of it.
#[test]
fn drawings_that_are_cut_anywhere_are_refused_or_drawn() {
    let limits = Limits {
        bytes: 1 << 20,
        points: 1 << 16,
        items: 1 << 12,
        depth: 16,
        memory: 1 << 22,
    };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let pixel = Pixel::metres(1, 10_000).unwrap();
    let text = |name: &str| std::fs::read(format!("{folder}/{name}")).unwrap();
    let mut refused = [0; 5];
    for (name, which) in [
        ("gerber/blocks.gbr", 0),
        ("gerber/macros.gbr", 0),
        ("dxf/blocks.dxf", 1),
    ] {
        let whole = text(name);
        for cut in 0..whole.len() {
            let cut = &whole[..cut];
            let is_refused = if which == 0 {
                let board = relief_vector::gerber::Board::read(cut, limits);
                board
                    .map(|board| board.draw(&relief_vector::gerber::Options::new(pixel)).map(drop))
                    .is_err()
            } else {
                relief_vector::dxf::Document::read(cut, limits).is_err()
            };
            refused[which] += usize::from(is_refused);
            // What may follow the last command or group is the end of its line.
            assert!(
                is_refused || whole.len() - cut.len() <= 2,
                "{name} cut at {} of {}",
                cut.len(),
                whole.len()
            );
        }
    }
    let stream = bytes("turned");
    for cut in 0..stream.len() {
        refused[2] += usize::from(gds::read(&stream[..cut], &Layers::all(), limits).is_err());
    }
    assert_eq!(refused[2], stream.len());
    let svg = "<svg xmlns='http://www.w3.org/2000/svg'><g><path d='M0 0L9 9z' style='fill:#fff'/></g></svg>";
    for cut in 0..svg.len() {
        refused[3] += usize::from(relief_vector::svg::Document::parse(&svg[..cut], &limits).is_err());
    }
    assert_eq!(refused[3], svg.len());
    let mesh = [&[b' '; 80][..], &1_u32.to_le_bytes(), &[0; 50]].concat();
    for cut in 0..mesh.len() {
        refused[4] += usize::from(relief_vector::mesh::Mesh::read(&mesh[..cut], limits).is_err());
    }
    assert_eq!(refused[4], mesh.len());
}
