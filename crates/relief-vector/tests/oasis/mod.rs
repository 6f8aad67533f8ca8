//! OASIS layouts written by gdstk and KLayout, and byte by byte, against what KLayout says of them (`make.py`), and files that are none.

use relief_vector::layout::{Error, Format, Layers, Library, Options, Origin, Place};
use relief_vector::{Limits, Pixel, Refused, gds, oasis};

use crate::{bytes_of, check_drawn, support};

fn read(bytes: &[u8], layers: &str) -> Library {
    let layers = Layers::parse(layers, &Layers::OASIS).unwrap();
    oasis::read(bytes, &layers, Limits::default()).unwrap()
}

fn file(name: &str) -> Vec<u8> {
    bytes_of(&format!("oasis/{name}"))
}

fn options(pixel: u64, per_metre: u64) -> Options {
    Options {
        pixel: Pixel::metres(pixel, per_metre).unwrap(),
        origin: Origin::Box,
        cell: None,
        value: 65_535,
    }
}

#[test]
fn layouts_of_other_programs_have_the_samples_of_their_gdsii() {
    for (name, layers, pixel) in [
        ("cells", "*", (997, 1_000_000_000)),
        ("layers", "1/0,3", (61, 1_000_000_000)),
    ] {
        let layers = Layers::parse(layers, &Layers::OASIS).unwrap();
        let stream = bytes_of(&format!("gds/{name}"));
        let stream = gds::read(&stream[..], &layers, Limits::default()).unwrap();
        let layout = stream.draw(&options(pixel.0, pixel.1)).unwrap();
        let (width, height) = layout.size.unwrap();
        let size = (width as usize, height as usize);
        let expected = support::render::<u16>(&layout.drawing, size);
        assert!(expected.iter().any(|sample| (1..65_535).contains(sample)));
        for program in ["gdstk", "klayout"] {
            let library = oasis::read(
                &file(&format!("{name}_{program}"))[..],
                &layers,
                Limits::default(),
            )
            .unwrap();
            let mut cells = [stream.cells().collect::<Vec<_>>(), library.cells().collect()];
            cells.iter_mut().for_each(|cells| cells.sort_unstable());
            assert_eq!(cells[0], cells[1]);
            let drawn = library.draw(&options(pixel.0, pixel.1)).unwrap();
            assert_eq!(drawn.extent, layout.extent, "{name} by {program}");
            assert_eq!(
                drawn.drawing.copies(),
                layout.drawing.copies(),
                "{name} by {program}"
            );
            let samples = support::render::<u16>(&drawn.drawing, size);
            assert!(samples == expected, "{name} by {program} has other samples");
        }
    }
}

#[test]
fn turned_cells_and_paths_of_other_programs_lie_where_klayout_has_them() {
    // OASIS has no round ends, so that each program has its own in their place.
    for (name, expected, slack) in [
        ("turned_gdstk", "gds/turned", 2),
        ("turned_klayout", "gds/turned", 2),
        ("paths_gdstk", "oasis/paths_gdstk", 1),
        ("paths_klayout", "oasis/paths_klayout", 1),
    ] {
        check_drawn(&read(&file(name), "*"), expected, (1, 1_000_000_000), slack, 0.02);
    }
}

#[test]
fn every_kind_of_trapezoid_is_that_of_klayout() {
    check_drawn(
        &read(&file("trapezoids"), "*"),
        "oasis/trapezoids",
        (1, 1_000_000_000),
        0,
        0.02,
    );
}

#[test]
fn every_list_of_points_is_that_of_klayout() {
    // Chords lie within 1/16 px of a circle.
    check_drawn(
        &read(&file("points"), "*"),
        "oasis/points",
        (1, 1_000_000_000),
        1,
        0.07,
    );
}

#[test]
fn corners_of_paths_are_cut_off_where_klayout_cuts_them() {
    check_drawn(
        &read(&file("corners"), "*"),
        "oasis/corners",
        (1, 1_000_000_000),
        1,
        0.02,
    );
}

#[test]
fn every_repetition_lies_where_klayout_has_it() {
    check_drawn(
        &read(&file("repetitions"), "*"),
        "oasis/repetitions",
        (1, 1_000_000_000),
        2,
        0.02,
    );
}

#[test]
fn what_covers_nothing_is_passed_over() {
    // 2 000 database units are 3 µm.
    let library = read(&file("passed"), "*");
    assert_eq!(library.cells().collect::<Vec<_>>(), ["ONE", "TOP"]);
    check_drawn(&library, "oasis/passed", (3, 2_000_000_000), 0, 0.02);
    let layout = read(&file("passed"), "70000/3")
        .draw(&options(150, 1_000_000_000))
        .unwrap();
    assert_eq!(layout.drawing.copies(), 5);
    assert_eq!(layout.size, Some((34, 1)), "the box is that of all layers");
}

/// Numbers and strings as the format has them.
pub(crate) mod write {
    pub(crate) fn unsigned(mut n: u64) -> Vec<u8> {
        let mut out = Vec::new();
        loop {
            let low = (n & 0x7F) as u8;
            n >>= 7;
            if n == 0 {
                out.push(low);
                return out;
            }
            out.push(low | 0x80);
        }
    }

    pub(crate) fn signed(n: i64) -> Vec<u8> {
        unsigned(n.unsigned_abs() << 1 | u64::from(n < 0))
    }

    pub(crate) fn text(text: &str) -> Vec<u8> {
        [unsigned(text.len() as u64), text.as_bytes().to_vec()].concat()
    }

    pub(crate) fn cell(name: &str) -> Vec<u8> {
        [vec![14], text(name)].concat()
    }

    /// A rectangle of this repetition at (0, 0).
    pub(crate) fn rectangle(w: u64, h: u64, repetition: &[u8]) -> Vec<u8> {
        let repeated = if repetition.is_empty() { 0 } else { 4 };
        let head = vec![20, 0x60 | 0x10 | 8 | repeated | 3, 1, 0];
        [head, unsigned(w), unsigned(h), vec![0, 0], repetition.to_vec()].concat()
    }

    /// A cell by its name, with this repetition, at (x, y).
    pub(crate) fn placement(name: &str, (x, y): (i64, i64), repetition: &[u8]) -> Vec<u8> {
        let repeated = if repetition.is_empty() { 0 } else { 8 };
        let head = vec![17, 0x80 | 0x30 | repeated];
        [head, text(name), signed(x), signed(y), repetition.to_vec()].concat()
    }

    /// Columns and rows, at least two of each, and the steps between them.
    pub(crate) fn grid(columns: u64, rows: u64, across: u64, down: u64) -> Vec<u8> {
        let numbers = [1, columns - 2, rows - 2, across, down].map(unsigned);
        numbers.concat()
    }

    /// A block that says that it unpacks to so many bytes.
    pub(crate) fn block(plain: u64, packed: &[u8]) -> Vec<u8> {
        let head = [vec![34, 0], unsigned(plain), unsigned(packed.len() as u64)].concat();
        [head, packed.to_vec()].concat()
    }

    /// A whole file of these records, a database unit being 1 nm, without a check sum.
    pub(crate) fn file(records: &[u8]) -> Vec<u8> {
        file_of(&[vec![0], unsigned(1_000)].concat(), records)
    }

    /// A file of so many database units in a micrometre, a real number.
    pub(crate) fn file_of(units: &[u8], records: &[u8]) -> Vec<u8> {
        let start = [&b"%SEMI-OASIS\r\n\x01\x031.0"[..], units, &[0; 13]].concat();
        let end = [vec![2, 252, 1], vec![0; 253]].concat();
        [start, records.to_vec(), end].concat()
    }
}

#[test]
fn a_repetition_of_many_is_one_placement_and_a_proved_period() {
    use write::{cell, file, grid, rectangle};
    let records = [
        cell("TOP"),
        rectangle(1_000, 1_000, &grid(10_000, 10_000, 2_000, 3_000)),
    ]
    .concat();
    let layout = read(&file(&records), "*").draw(&options(1, 1_000_000)).unwrap();
    assert_eq!(layout.drawing.copies(), 100_000_000);
    assert_eq!(layout.size, Some((19_999, 29_998)));
    assert!(layout.drawing.bytes() < 10_000);
    let (period, _) = layout.drawing.period(&Limits::default()).unwrap().unwrap();
    assert_eq!((period.a(), period.c()), (2, 3));
}

#[test]
fn shapes_and_cells_lie_farther_out_than_32_bits_reach() {
    use write::{cell, file, placement, rectangle, signed};
    // A square of 1 µm at 5 m, and a cell at −5 m.
    let far = [vec![20, 0x18], signed(5_000_000_000), signed(0)].concat();
    let records = [
        cell("TOP"),
        rectangle(1_000, 1_000, &[]),
        far,
        placement("DOT", (-5_000_000_000, 0), &[]),
        cell("DOT"),
        rectangle(1_000, 1_000, &[]),
    ]
    .concat();
    let layout = read(&file(&records), "*").draw(&options(1, 1_000_000)).unwrap();
    assert_eq!(layout.drawing.copies(), 3);
    assert_eq!(layout.extent, Some((-5_000_000_000, 0, 5_000_001_000, 1_000)));
    let index = support::index::<u8>(&layout.drawing);
    for x in [0, 5_000_000, 10_000_000] {
        assert_eq!(support::samples::<u8>(&index, (x - 1, 0), (3, 1)), [0, 255, 0]);
    }
}

#[test]
fn layers_are_counted_with_all_copies_of_their_cells() {
    use relief_vector::layout::Layer;
    use write::{cell, file, grid, placement, rectangle};
    let on = |layer: u8, mut shape: Vec<u8>| {
        shape[2] = layer;
        shape
    };
    let records = [
        cell("TOP"),
        on(7, rectangle(10, 10, &grid(100, 100, 20, 20))),
        on(2, rectangle(10, 10, &[])),
        placement("ROW", (0, 0), &grid(3, 2, 1_000, 1_000)),
        placement("ROW", (9_000, 0), &[]),
        cell("ROW"),
        on(2, rectangle(5, 5, &[])),
        placement("DOT", (0, 0), &grid(4, 5, 50, 50)),
        cell("DOT"),
        on(3, rectangle(1, 1, &[])),
        cell("LONE"),
        on(9, rectangle(1, 1, &[])),
    ]
    .concat();
    let library = read(&file(&records), "2");
    let layer = |layer: i64, shapes: u128| Layer {
        layer,
        datatype: 0,
        shapes,
    };
    let of = |cell: &str| library.layers(Some(cell)).unwrap();
    assert_eq!(of("TOP"), [layer(2, 1 + 7), layer(3, 7 * 20), layer(7, 10_000)]);
    assert_eq!(of("ROW"), [layer(2, 1), layer(3, 20)]);
    assert_eq!(of("LONE"), [layer(9, 1)]);
    assert!(library.layers(Some("NONE")).is_err() && library.layers(None).is_err());
    // 2^80 copies, and cells that contain each other.
    let mut doubled = [cell("C0"), rectangle(1, 1, &[])].concat();
    for number in 1..81 {
        doubled.extend(
            [
                cell(&format!("C{number}")),
                placement(&format!("C{}", number - 1), (0, 0), &grid(2, 2, 9, 9)),
            ]
            .concat(),
        );
    }
    let library = read(&file(&doubled), "*");
    assert_eq!(library.layers(Some("C60")).unwrap()[0].shapes, 1 << 120);
    assert_eq!(library.layers(Some("C80")).unwrap()[0].shapes, u128::MAX);
    let loops = [
        cell("A"),
        rectangle(1, 1, &[]),
        placement("B", (0, 0), &[]),
        cell("B"),
        placement("A", (0, 0), &[]),
    ];
    let library = read(&file(&loops.concat()), "*");
    assert!(library.layers(Some("A")).is_ok());
}

fn refused(bytes: &[u8]) -> Error {
    oasis::read(bytes, &Layers::all(), Limits::default()).unwrap_err()
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused_with_the_byte() {
    for name in ["cells_klayout", "repetitions", "points", "passed"] {
        let whole = file(name);
        for cut in 0..whole.len() {
            let error = refused(&whole[..cut]);
            assert!(
                matches!(error, Error::Record { .. }),
                "{name} cut at {cut}: {error}"
            );
        }
    }
}

#[test]
fn a_byte_that_changed_is_found_out_by_the_check_sums() {
    for name in ["repetitions", "points", "trapezoids", "cells_gdstk"] {
        let whole = file(name);
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x20;
            let read = oasis::read(&changed[..], &Layers::all(), Limits::default());
            assert!(read.is_err(), "{name} changed at {at}");
        }
    }
    let mut changed = file("cells_gdstk");
    let last = changed.len() - 30;
    changed[last] = 1;
    let message = refused(&changed).to_string();
    assert!(
        message.contains("the layout is damaged: its checksum is"),
        "{message}"
    );
}

#[test]
fn faults_name_the_cell_and_the_byte_also_within_a_block() {
    use write::{block, cell, file, rectangle};
    let stored = |plain: &[u8]| {
        let length = plain.len() as u16;
        let head = [
            vec![1],
            length.to_le_bytes().to_vec(),
            (!length).to_le_bytes().to_vec(),
        ]
        .concat();
        block(u64::from(length), &[head, plain.to_vec()].concat())
    };
    let records = [cell("TOP"), rectangle(1, 1, &[]), vec![99]].concat();
    let Error::Record { place, what } = refused(&file(&records)) else {
        panic!("it is a record");
    };
    let begin = 34;
    assert_eq!(
        *place,
        Place {
            at: begin + 5 + 8,
            block: None,
            cell: Some("\"TOP\"".into())
        }
    );
    assert_eq!(what, "there is no record 99; 0 to 34 are known");
    let message = refused(&file(&stored(&records))).to_string();
    assert_eq!(
        message,
        "byte 13 of the compressed block at byte 34 of the layout, in the cell \"TOP\": there is no record 99; 0 to 34 are known"
    );
}

#[test]
fn other_formats_are_told() {
    let of = |bytes: &[u8]| oasis::read(bytes, &Layers::all(), Limits::default()).unwrap_err();
    let stream = bytes_of("gds/cells");
    assert!(matches!(of(&stream), Error::Format(Format::Gds)));
    assert!(matches!(
        of(b"\x1f\x8b\x08\x00\x00\x00"),
        Error::Format(Format::Gzip)
    ));
    let as_gds = gds::read(&file("cells_klayout")[..], &Layers::all(), Limits::default()).unwrap_err();
    assert!(matches!(as_gds, Error::Format(Format::Oasis)));
    let message = of(b"%SEMI-OTHER file").to_string();
    assert!(
        message.starts_with("byte 0 of the layout: an OASIS layout begins with"),
        "{message}"
    );
}

#[test]
fn wrong_records_say_what_would_be_right() {
    use write::{block, cell, file, grid, placement, rectangle, signed, text, unsigned};
    let top = cell("TOP");
    let square = rectangle(5, 5, &[]);
    let huge = unsigned(1 << 41);
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (square.clone(), "an element outside of a cell"),
        (
            [top.clone(), vec![20, 0x18, 0, 0]].concat(),
            "a shape without a layer or a datatype",
        ),
        (
            [top.clone(), vec![20, 0x1B, 1, 0, 0, 0]].concat(),
            "a width as before, but the cell has none yet",
        ),
        (
            [top.clone(), vec![21, 0x1B, 1, 0, 0, 0]].concat(),
            "a polygon as the last one",
        ),
        (
            [top.clone(), square.clone(), vec![20, 0x04, 0]].concat(),
            "a repetition as the last one",
        ),
        (
            [top.clone(), square.clone(), vec![20, 0x04, 12]].concat(),
            "a repetition of the type 12; 0 to 11 are known",
        ),
        (
            [top.clone(), vec![17, 0x30, 0, 0]].concat(),
            "a placement of the last cell",
        ),
        (
            [top.clone(), vec![21, 0x3B, 1, 0, 6, 1]].concat(),
            "a list of points of the type 6; 0 to 5 are known",
        ),
        (
            [top.clone(), vec![21, 0x3B, 1, 0, 0, 3, 2, 2, 2, 0, 0]].concat(),
            "has an even number of them, but 3 points",
        ),
        (
            [top.clone(), vec![26, 0xFB, 1, 0, 26, 9, 9, 0, 0]].concat(),
            "a trapezoid of the kind 26; 0 to 25 are known",
        ),
        (
            [top.clone(), vec![26, 0xFB, 1, 0, 4, 9, 9, 0, 0]].concat(),
            "at least twice the width of its height",
        ),
        (
            [top.clone(), vec![20, 0x63, 1, 0], huge.clone()].concat(),
            "up to 2^40 are read",
        ),
        (
            [
                top.clone(),
                vec![20, 0x7B, 1, 0],
                unsigned(1 << 33),
                vec![5, 0, 0],
            ]
            .concat(),
            "a shape is larger than 2^31",
        ),
        (
            [top.clone(), vec![0x80; 30], vec![1]].concat(),
            "there is no record 128",
        ),
        (
            [top.clone(), vec![20, 0x7B], vec![0x80; 10], vec![1]].concat(),
            "a number of more than 64 bits",
        ),
        ([top.clone(), top.clone()].concat(), "a second cell is \"TOP\""),
        (
            [vec![13, 5], square.clone()].concat(),
            "the cell number 5 has no name (CELLNAME)",
        ),
        (
            [vec![4], text("A"), vec![5], vec![4], text("B"), vec![5]].concat(),
            "the cell 5 has a second name; its first is \"A\"",
        ),
        (
            [vec![4], text("A"), vec![5], vec![3], text("B")].concat(),
            "names of cells with numbers of their own beside",
        ),
        (
            [vec![4], text("TOP"), vec![5], top.clone(), vec![13, 5]].concat(),
            "a second cell is named \"TOP\"",
        ),
        (
            vec![34, 1, 5, 5],
            "compressed by the method 1; only 0, which is Deflate",
        ),
        (block(1 << 40, &[3, 0]), "more than Deflate can hold"),
        (block(5, &[3, 0]), "unpacks to fewer bytes than it says"),
        (block(5, &[0xFF; 9]), "the data of a compressed block are damaged"),
        (
            block(1, &[1, 2, 0, 0xFD, 0xFF, 0, 0]),
            "unpacks to more than the 1 bytes that it says",
        ),
        (
            block(1, &[1, 1, 0, 0xFE, 0xFF, 14]),
            "a record goes on behind the end of its compressed block",
        ),
        (
            [top.clone(), rectangle(5, 5, &grid(1 << 40, 2, 9, 9))].concat(),
            "a repetition of 1099511627774 copies and 2; up to 4294967295 are read",
        ),
        (
            [
                top.clone(),
                vec![18, 0xB4],
                text("A"),
                vec![7],
                f64::NAN.to_le_bytes().to_vec(),
            ]
            .concat(),
            "a magnification of NaN",
        ),
        (
            [
                top.clone(),
                vec![18, 0xB2],
                text("A"),
                vec![7],
                f64::INFINITY.to_le_bytes().to_vec(),
            ]
            .concat(),
            "an angle of inf°",
        ),
        (
            [top.clone(), vec![17, 0xB0], text("A"), signed(1 << 41)].concat(),
            "up to 2^40 are read",
        ),
        (vec![1], "a second record START"),
    ];
    for (records, expected) in cases {
        let message = refused(&file(&records)).to_string();
        assert!(message.contains(expected), "{expected:?}, but {message}");
    }
    let no_cell = read(&file(&[top, placement("GONE", (0, 0), &[])].concat()), "*");
    let message = no_cell.draw(&options(1, 1_000_000)).unwrap_err().to_string();
    assert_eq!(message, "the layout has no cell \"GONE\"; it has \"TOP\"");
}

#[test]
fn cells_of_one_name_are_refused_with_both_places() {
    use write::{cell, file, placement, rectangle, text};
    let name = |number: u8| [vec![4], text("X"), vec![number]].concat();
    let numbered = |number: u8| [vec![13, number], rectangle(100, 200, &[])].concat();
    let named = [cell("X"), rectangle(100, 200, &[])].concat();
    let top = [cell("TOP"), placement("X", (0, 0), &[])].concat();
    let head = [name(5), name(7), top].concat();
    let begin = 34 + head.len();
    let size = numbered(5).len();
    for (cells, second) in [
        ([numbered(5), numbered(7)], begin + size),
        ([numbered(7), numbered(5)], begin + size),
        ([named.clone(), numbered(5)], begin + named.len()),
        ([numbered(7), named.clone()], begin + size),
    ] {
        let message = refused(&file(&[head.clone(), cells.concat()].concat())).to_string();
        let expected = format!(
            "a second cell is named \"X\"; one is at byte {begin} of the layout, another at byte {second} of the layout"
        );
        assert!(message.contains(&expected), "{expected:?}, but {message}");
    }
    for cells in [[named.clone(), named], [numbered(5), numbered(5)]] {
        let message = refused(&file(&[head.clone(), cells.concat()].concat())).to_string();
        let expected = format!("a second cell is \"X\"; the first is at byte {begin} of the layout");
        assert!(message.ends_with(&expected), "{expected:?}, but {message}");
    }
    // Two numbers and a name of one cell are no second cell.
    let one = read(&file(&[head, numbered(7)].concat()), "*");
    assert_eq!(
        one.draw(&options(1, 1_000_000)).unwrap().extent,
        Some((0, 0, 100, 200))
    );
}

#[test]
fn units_of_every_kind_of_number_are_exact() {
    use write::{cell, file_of, rectangle, unsigned};
    let layout = |units: &[Vec<u8>]| {
        let records = [cell("TOP"), rectangle(3_000, 6_000, &[])].concat();
        read(&file_of(&units.concat(), &records), "*").draw(&options(1, 1_000_000))
    };
    let size = |units: &[Vec<u8>]| layout(units).unwrap().size;
    let single = |value: f32| [vec![6], value.to_le_bytes().to_vec()];
    let double = |value: f64| [vec![7], value.to_le_bytes().to_vec()];
    assert_eq!(size(&[vec![0], unsigned(3_000)]), Some((1, 2)));
    assert_eq!(size(&double(3_000.0)), Some((1, 2)));
    assert_eq!(size(&single(3_000.0)), Some((1, 2)));
    assert_eq!(size(&[vec![4], unsigned(375), unsigned(2)]), Some((16, 32)));
    assert_eq!(size(&double(187.5)), Some((16, 32)));
    // The number nearest to a third of 1 000 is meant as that.
    assert_eq!(size(&double(1_000.0 / 3.0)), Some((9, 18)));
}

#[test]
fn places_and_points_beyond_the_limits_are_refused_before_they_are_read() {
    use write::{cell, file, rectangle, unsigned};
    let limits = Limits::default();
    let claimed = [vec![4], unsigned(1 << 50), vec![1]].concat();
    let many = file(&[cell("TOP"), rectangle(1, 1, &claimed)].concat());
    assert!(matches!(refused(&many), Error::Refused(Refused::Items(_))));
    let points = file(&[cell("TOP"), vec![21, 0x3B, 1, 0, 4], unsigned(1 << 50)].concat());
    assert!(matches!(refused(&points), Error::Refused(Refused::Points(_))));
    let whole = bytes_of("oasis/repetitions");
    let few = Limits {
        memory: 3_000,
        ..limits
    };
    let error = oasis::read(&whole[..], &Layers::all(), few).unwrap_err();
    assert!(matches!(error, Error::Refused(Refused::Memory(3_000))), "{error}");
}
