//! G-code against a small machine that follows it word by word and burns a plate.

use std::collections::BTreeMap;

use proptest::prelude::*;
use relief_engine::{Cancel, Raster};
use relief_raster::{Depth, Length};
use relief_scan::{
    Axis, Bits, Corner, Dialect, Gcode, GcodeProgram, Halftone, Laser, Mirror, Origin, Polarity, Scan, Swath,
    Sweep, Tables, Windows, Zone,
};

use super::{Whole, grays, laid, mirrored, of_pass, raster, scan, screened, tables, turned};

/// A move with the laser allowed: from, to, S and F.
#[derive(Clone, Debug, PartialEq)]
struct Burn {
    from: (f64, f64),
    to: (f64, f64),
    power: f64,
    feed: f64,
}

/// What a file has a machine do.
#[derive(Debug, Default)]
struct Done {
    burns: Vec<Burn>,
    /// The numbers of the lines, as they end, and how many moves there were by then.
    ends: Vec<(u64, usize)>,
    /// Passes that were announced.
    passes: usize,
    is_ended: bool,
}

/// The machine: G0, G1, S, F and M words, by Grbl's rules.
fn executed(text: &str) -> Done {
    let mut done = Done::default();
    let (mut at, mut power, mut feed) = ((0.0, 0.0), 0.0, 0.0);
    let (mut motion, mut is_on) = (None, false);
    for line in text.lines() {
        assert!(line.len() < 80, "{line:?}");
        assert!(line.bytes().all(|byte| (b' '..=b'z').contains(&byte)), "{line:?}");
        assert!(!line.contains(['!', '?', '%', '$', '(']), "{line:?}");
        assert!(!done.is_ended, "{line:?} comes after the end");
        let (words, remark) = line.split_once(';').unwrap_or((line, ""));
        let mut to = at;
        let mut moves = false;
        let mut rest = words.trim();
        while let Some(letter) = rest.chars().next() {
            let end = rest[1..]
                .find(|c: char| c.is_ascii_uppercase())
                .map_or(rest.len(), |end| end + 1);
            let number: f64 = rest[1..end].parse().expect(line);
            rest = &rest[end..];
            match letter {
                'G' if number == 0.0 || number == 1.0 => motion = Some(number == 1.0),
                'G' => assert!([21.0, 90.0, 94.0].contains(&number), "{line:?}"),
                'M' if number == 3.0 || number == 4.0 => is_on = true,
                'M' if number == 5.0 => is_on = false,
                'M' => {
                    assert!(number == 2.0 || number == 30.0, "{line:?}");
                    assert!(!is_on, "the laser is on at the end");
                    done.is_ended = true;
                }
                'X' => (to.0, moves) = (number, true),
                'Y' => (to.1, moves) = (number, true),
                'S' => power = number,
                'F' => feed = number,
                _ => panic!("{line:?}"),
            }
        }
        if moves {
            if motion == Some(true) {
                assert!(is_on && feed > 0.0, "{line:?}");
                assert!(to != at && (to.0 == at.0 || to.1 == at.1), "{line:?}");
                done.burns.push(Burn {
                    from: at,
                    to,
                    power,
                    feed,
                });
            } else {
                assert_eq!((motion, power), (Some(false), 0.0), "{line:?}");
            }
            at = to;
        }
        if let Some(number) = remark.strip_prefix(" L") {
            done.ends.push((number.parse().expect(line), done.burns.len()));
        }
        done.passes += usize::from(remark.starts_with(" pass "));
    }
    done
}

/// A whole file from a line on.
fn file(program: &GcodeProgram, source: &Whole, from: u64) -> String {
    let lines = from..program.program().lines();
    let mut text = program.header(&["a plate".to_owned()], &lines);
    let (mut told, mut bytes) = (Vec::new(), 0);
    let mut body = Vec::new();
    program
        .write(
            &Sized(source),
            lines.clone(),
            &mut body,
            &mut |line| {
                told.push(line.number);
                bytes += line.bytes;
            },
            &Cancel::new(),
        )
        .unwrap();
    assert!(told.iter().copied().eq(lines), "every line is told");
    assert_eq!(bytes, body.len() as u64);
    text.extend(body);
    text.extend_from_slice(program.trailer());
    String::from_utf8(text).unwrap()
}

/// A raster whose pixels have a side.
struct Sized<'a>(&'a Whole);

impl Windows for Sized<'_> {
    fn raster(&self) -> Raster {
        self.0.raster().with_pixel(Some(pixel()))
    }

    fn read(
        &self,
        window: relief_engine::Rect,
        out: relief_engine::SamplesMut<'_>,
        cancel: &Cancel,
    ) -> Result<(), relief_engine::Error> {
        self.0.read(window, out, cancel)
    }
}

/// A 100th of an inch: 0.254 mm.
fn pixel() -> Length {
    Length::dpi(100).unwrap()
}

const SIDE: f64 = 0.254;

/// For each place of the turned raster, in order of the lines: its power and its feed.
struct Expected {
    power: f64,
    feed: f64,
}

fn expected(
    source: &Whole,
    scan: &Scan,
    tables: &Tables,
    gcode: &Gcode,
    top: u64,
    pass: u64,
) -> (Vec<Vec<Expected>>, usize) {
    let scan = &of_pass(scan, pass);
    let numbers = Whole {
        samples: (0..source.samples.len()).map(|number| number as u16).collect(),
        ..source.clone()
    };
    // The value of every pixel, which is screened in the order of the lines.
    let mut values = laid(source, scan);
    values
        .iter_mut()
        .flatten()
        .for_each(|v| *v = grays(source, scan, tables, pass, *v));
    screened(source, scan, &mut values);
    let of: BTreeMap<u16, u16> = laid(&numbers, scan)
        .concat()
        .into_iter()
        .zip(values.concat())
        .collect();
    // Where it lies: the raster mirrored and turned.
    let mut plate: Vec<Vec<u16>> = numbers
        .samples
        .chunks(source.width)
        .map(<[u16]>::to_vec)
        .collect();
    plate = mirrored(&plate, scan.mirror);
    let turns = serde_json::to_value(scan.rotate)
        .unwrap()
        .as_str()
        .unwrap()
        .parse::<usize>()
        .unwrap()
        / 90;
    for _ in 0..turns {
        plate = turned(&plate);
    }
    let max = f64::from(source.depth.max());
    let place = |number: u16| {
        let row = top + u64::from(number) / source.width as u64;
        let zone = gcode.zones.iter().find(|zone| zone.rows.contains(&row));
        Expected {
            power: (f64::from(of[&number]) * f64::from(gcode.s_max) / max + 0.5).floor(),
            feed: zone.map_or(gcode.feed, |zone| zone.feed).to_metres() * 1_000.0,
        }
    };
    let plate = plate
        .into_iter()
        .map(|row| row.into_iter().map(place).collect())
        .collect();
    (plate, turns)
}

fn origin() -> impl Strategy<Value = Origin> {
    prop::sample::select(vec![
        Origin::BottomLeft,
        Origin::BottomRight,
        Origin::TopLeft,
        Origin::TopRight,
        Origin::Centre,
    ])
}

fn gcode() -> impl Strategy<Value = Gcode> {
    (
        origin(),
        any::<bool>(),
        prop::option::of(1_u64..8),
        1_u32..2_000,
        prop::collection::vec((0_u64..12, 1_u64..9, 1_u64..5_000), 0..3),
        any::<bool>(),
    )
        .prop_map(|(origin, segments, gap, s_max, zones, constant)| {
            let mut gcode = Gcode::new(Length::metres(3, 1).unwrap());
            gcode.origin = origin;
            gcode.s_max = s_max;
            if segments {
                gcode.sweep = Sweep::Segments;
                gcode.gap = gap;
            }
            if constant {
                gcode.laser = Laser::Constant;
                gcode.dialect = Dialect::FluidNc;
            }
            let mut from = 0;
            for (skip, rows, feed) in zones {
                gcode.zones.push(Zone {
                    rows: from + skip..from + skip + rows,
                    feed: Length::metres(feed, 1_000).unwrap(),
                });
                from += skip + rows;
            }
            gcode
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn a_machine_burns_the_raster(
        source in raster(),
        scan in scan(),
        gcode in gcode(),
        table in any::<u16>(),
        (left, top, right, bottom) in (0_u64..9, 0_u64..9, 0_u64..9, 0_u64..9),
        from in any::<prop::sample::Index>(),
    ) {
        let scan = Scan { swath: None, return_offset: 0, packing: relief_scan::Packing { polarity: Polarity::Normal, ..scan.packing }, ..scan };
        let tables = tables(source.depth, table);
        let canvas = (source.width as u64 + left + right, source.height as u64 + top + bottom);
        let extent = Sized(&source).raster();
        let program = GcodeProgram::new(&gcode, &scan, &tables, &extent, canvas, (left, top)).unwrap();
        let text = file(&program, &source, 0);
        let done = executed(&text);
        prop_assert!(done.is_ended);

        // Any line may be the first: the rest of the file is that of the whole.
        let lines = program.program().lines();
        let first = from.index(lines as usize) as u64;
        let rest = file(&program, &source, first);
        let tail: Vec<&str> = rest.lines().skip_while(|line| !line.starts_with("G0") && !line.starts_with("; pass")).collect();
        let whole: Vec<&str> = text.lines().collect();
        prop_assert!(whole.ends_with(&tail));
        let ends = executed(&rest).ends;
        prop_assert!(ends.first().is_none_or(|end| end.0 >= first));
        prop_assert_eq!(ends.len(), done.ends.iter().filter(|end| end.0 >= first).count());

        // The moves of each pass.
        let passes = u64::from(program.program().passes());
        prop_assert_eq!(done.passes as u64, if passes > 1 { passes } else { 0 });
        prop_assert!(done.ends.is_sorted());
        if gcode.sweep == Sweep::Full {
            prop_assert!(done.ends.iter().map(|end| end.0).eq(0..lines));
        }
        let mut begin = 0;
        for pass in 0..passes {
            let end = done.ends.iter().filter(|end| u64::from(program.program().travel(end.0).unwrap().pass) <= pass).map(|end| end.1).max().unwrap_or(begin);
            let burns = &done.burns[begin..end];
            begin = end;
            let (plate, turns) = expected(&source, &scan, &tables, &gcode, top, pass);
            let (columns, rows) = (plate[0].len(), plate.len());
            // The corner of the raster in the turned canvas.
            let (mut at, mut size) = ((left, top), canvas);
            let mut part = (source.width as u64, source.height as u64);
            match scan.mirror {
                Mirror::None => {}
                Mirror::Horizontal => at.0 = right,
                Mirror::Vertical => at.1 = bottom,
            }
            for _ in 0..turns {
                at = (size.1 - at.1 - part.1, at.0);
                (size, part) = ((size.1, size.0), (part.1, part.0));
            }
            let x0 = match gcode.origin {
                Origin::BottomLeft | Origin::TopLeft => 0.0,
                Origin::Centre => size.0 as f64 / 2.0,
                _ => size.0 as f64,
            };
            let y0 = match gcode.origin {
                Origin::TopLeft | Origin::TopRight => 0.0,
                Origin::Centre => size.1 as f64 / 2.0,
                _ => size.1 as f64,
            };
            let mut burnt = vec![vec![None; columns]; rows];
            for burn in burns {
                // In pixels of the turned raster, y down.
                let place = |(x, y): (f64, f64)| (x / SIDE + x0 - at.0 as f64, y0 - y / SIDE - at.1 as f64);
                let (one, other) = (place(burn.from), place(burn.to));
                let (low, high) = ((one.0.min(other.0), one.1.min(other.1)), (one.0.max(other.0), one.1.max(other.1)));
                let mut covered = 0;
                for (v, row) in burnt.iter_mut().enumerate() {
                    for (u, pixel) in row.iter_mut().enumerate() {
                        let (x, y) = (u as f64 + 0.5, v as f64 + 0.5);
                        let slack = 0.01;
                        if low.0 - slack < x && x < high.0 + slack && low.1 - slack < y && y < high.1 + slack {
                            // Where stripes follow each other the blank way to one runs over the one before.
                            if burn.power > 0.0 || pixel.is_none() {
                                *pixel = Some((burn.power, burn.feed));
                            }
                            covered += 1;
                        }
                    }
                }
                let length = (high.0 - low.0).max(high.1 - low.1);
                // What has power covers whole pixels of the raster and nothing else.
                if burn.power > 0.0 {
                    prop_assert!((length - f64::from(covered)).abs() < 0.02, "{burn:?} covers {covered} pixels");
                }
            }
            for (row, wanted) in burnt.iter().zip(&plate) {
                for (found, wanted) in row.iter().zip(wanted) {
                    let power = found.map_or(0.0, |found| found.0);
                    prop_assert_eq!(power, wanted.power);
                    prop_assert!(gcode.sweep == Sweep::Segments || found.is_some());
                    if power > 0.0 {
                        let feed = found.map_or(0.0, |found| found.1);
                        prop_assert!((feed - wanted.feed).abs() < 0.001, "{feed} {}", wanted.feed);
                    }
                }
            }
        }
    }
}

/// A plate of four pixels by two, whose rows are known by heart.
fn plate() -> Whole {
    Whole {
        width: 4,
        height: 2,
        depth: Depth::Eight,
        samples: vec![0, 255, 255, 128, 0, 0, 0, 0],
    }
}

fn of(scan: &Scan, gcode: &Gcode) -> Result<GcodeProgram, relief_scan::Error> {
    let plate = plate();
    GcodeProgram::new(
        gcode,
        scan,
        &Tables::default(),
        &Sized(&plate).raster(),
        (4, 2),
        (0, 0),
    )
}

#[test]
fn a_small_plate_is_this_text() {
    let mut gcode = Gcode::new(Length::metres(3, 1).unwrap());
    let scan = Scan {
        overscan: (2, 1),
        direction: relief_scan::Direction::Serpentine,
        ..Scan::default()
    };
    let full = file(&of(&scan, &gcode).unwrap(), &plate(), 0);
    assert_eq!(
        full,
        "; a plate\n; lines 0 to 1 of 2, 1 pass\nG21G90G94\nM4S0\n\
         G0X-0.508Y0.381S0\nG1X0.254F3000\nX0.762S1000\nX1.016S502\nX1.27S0; L0\n\
         G0X1.524Y0.127S0\nG1X-0.254F3000; L1\nM5\nM2\n"
    );
    gcode.sweep = Sweep::Segments;
    gcode.laser = Laser::Constant;
    gcode.dialect = Dialect::FluidNc;
    let segments = file(&of(&scan, &gcode).unwrap(), &plate(), 0);
    assert_eq!(
        segments,
        "; a plate\n; lines 0 to 1 of 2, 1 pass\nG21G90G94\nM3S0\n\
         G0X-0.254Y0.381S0\nG1X0.254F3000\nX0.762S1000\nX1.016S502\nX1.27S0; L0\nM5\nM30\n"
    );
}

/// A part of a pixel is a place of its own, where samples would need a mean: to a micrometre here.
#[test]
fn lines_that_run_back_are_moved_along_their_way() {
    let gcode = Gcode::new(Length::metres(3, 1).unwrap());
    let mut plate = plate();
    plate.samples[4..].copy_from_slice(&[0, 0, 255, 0]);
    let scan = Scan {
        direction: relief_scan::Direction::Serpentine,
        return_offset: 64,
        ..Scan::default()
    };
    let text = file(&of(&scan, &gcode).unwrap(), &plate, 0);
    assert!(text.contains("G0X0Y0.381S0\nG1X0.254F3000\n"), "{text}");
    assert!(
        text.contains("G0X0.953Y0.127S0\nG1X0.699F3000\nX0.445S1000\nX-0.063S0; L1\n"),
        "{text}"
    );
}

#[test]
fn what_one_beam_cannot_do_is_refused() {
    let gcode = Gcode::new(Length::metres(3, 1).unwrap());
    let refused = |scan: Scan, said: &str| {
        let error = of(&scan, &gcode).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    };
    refused(
        Scan {
            swath: Some(Swath { lines: 2, overlap: 0 }),
            ..Scan::default()
        },
        "one beam",
    );
    let mut inverted = Scan::default();
    inverted.packing.polarity = Polarity::Inverted;
    refused(inverted, "map { invert }");
    let bare = GcodeProgram::new(
        &gcode,
        &Scan::default(),
        &Tables::default(),
        &plate().raster(),
        (4, 2),
        (0, 0),
    );
    assert!(bare.unwrap_err().to_string().contains("`pixel`"));
    let program = of(&Scan::default(), &gcode).unwrap();
    let plate = plate();
    let write = |lines| {
        let nobody = &mut std::io::sink();
        program.write(&Sized(&plate), lines, nobody, &mut |_| {}, &Cancel::new())
    };
    assert!(write(1..2).is_ok());
    assert!(write(2..2).is_err() && write(1..3).is_err());
}

#[test]
fn names_in_remarks_cannot_command_a_controller() {
    let gcode = Gcode::new(Length::metres(3, 1).unwrap());
    let program = of(&Scan::default(), &gcode).unwrap();
    let header = program.header(&["!?~%\n $H (ö) \u{84} M3".to_owned()], &(0..2));
    let header = String::from_utf8(header).unwrap();
    assert!(header.starts_with("; _____ "), "{header}");
    executed(&format!("{header}M5\nM2\n"));
}

/// Halftones and columns together, once by name.
#[test]
fn columns_from_below_and_bits_are_burnt() {
    let gcode = Gcode::new(Length::metres(3, 1).unwrap());
    let mut scan = Scan {
        axis: Axis::Column,
        start: Corner::BottomLeft,
        halftone: Some(Halftone::Threshold { level: 200 }),
        ..Scan::default()
    };
    scan.packing.bits = Bits::One;
    let text = file(&of(&scan, &gcode).unwrap(), &plate(), 1);
    assert!(
        text.contains("G0Y0X0.381S0\nG1Y0.254F3000\nY0.508S1000; L1\n"),
        "{text}"
    );
}

/// The memory of a text is that of a few lines, however many there are, and any of them is found at once.
#[test]
fn lines_of_a_sheet_that_fits_nowhere_are_written_in_a_few_megabytes() {
    struct Sheet;
    impl Windows for Sheet {
        fn raster(&self) -> Raster {
            Raster::new(4_000, 1 << 40, Depth::Eight).with_pixel(Some(pixel()))
        }

        fn read(
            &self,
            window: relief_engine::Rect,
            out: relief_engine::SamplesMut<'_>,
            _: &Cancel,
        ) -> Result<(), relief_engine::Error> {
            assert!(window.height() <= 64, "{window:?}");
            if let relief_engine::SamplesMut::Eight(out) = out {
                out.fill(255);
            }
            Ok(())
        }
    }
    let gcode = Gcode::new(Length::metres(3, 1).unwrap());
    let scan = Scan::default();
    let raster = Sheet.raster();
    let size = (raster.width, raster.height);
    let program = GcodeProgram::new(&gcode, &scan, &Tables::default(), &raster, size, (0, 0)).unwrap();
    assert!(program.memory() < 16 << 20, "{}", program.memory());
    let mut text = Vec::new();
    let first = (1 << 39) - 1;
    program
        .write(&Sheet, first..first + 2, &mut text, &mut |_| {}, &Cancel::new())
        .unwrap();
    let text = String::from_utf8(text).unwrap();
    // The middles of the rows above and below the middle of the sheet: 2³⁹ · 0.254 mm, and half a pixel.
    assert_eq!(
        text,
        "G0X0Y139637976727.679S0\nG1X1016S1000F3000; L549755813887\nG0X0Y139637976727.425S0\nG1X1016S1000F3000; L549755813888\n"
    );
}
