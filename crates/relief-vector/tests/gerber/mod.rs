//! Boards against the geometry of other programs (`make.py`), areas that are known, and files that are none.

use std::f64::consts::PI;

use relief_vector::gerber::{Board, Error, Layout, Options, Origin};
use relief_vector::{Limits, Pixel, Refused};

use crate::support;

const HEAD: &str = "%FSLAX36Y36*%%MOMM*%G75*";

/// Pixels of so many 10^-8 m.
fn pixels(side: u64) -> Options {
    Options::new(Pixel::metres(side, 100_000_000).unwrap())
}

fn drawn(text: &str, options: &Options) -> Layout {
    let board = Board::read(text.as_bytes(), Limits::default()).unwrap_or_else(|error| panic!("{error}"));
    board.draw(options).unwrap_or_else(|error| panic!("{error}"))
}

/// The samples of a layout in its own box.
fn samples(layout: &Layout) -> Vec<u16> {
    let (width, height) = layout.size.unwrap();
    support::render::<u16>(&layout.drawing, (width as usize, height as usize))
}

/// The area in square millimetres of what follows a head, with pixels of 10 µm.
fn area(text: &str) -> f64 {
    let layout = drawn(&format!("{HEAD}{text}M02*"), &pixels(1_000));
    let sum: f64 = samples(&layout)
        .iter()
        .map(|&sample| f64::from(sample) / 65_535.0)
        .sum();
    sum / 10_000.0
}

fn assert_area(text: &str, expected: f64) {
    let area = area(text);
    // Chords lie within 1/16 px, here 0.6 µm, of their curves.
    assert!(
        (area - expected).abs() < 0.006 * expected.max(0.5),
        "{area} mm², not {expected} mm²: {text}"
    );
}

fn check(name: &str) {
    let folder = format!("{}/tests/gerber/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(folder.clone() + ".gbr").unwrap();
    let expected = std::fs::read_to_string(folder + ".expected").unwrap();
    let mut lines = expected.lines();
    let head: Vec<f64> = lines
        .next()
        .unwrap()
        .split(' ')
        .map(|n| n.parse().unwrap())
        .collect();
    let layout = drawn(&text, &pixels((head[0] * 100.0).round() as u64));
    assert_eq!(layout.size, Some((head[1] as u64, head[2] as u64)), "{name}");
    let shares = lines
        .flat_map(|line| line.split(' '))
        .map(|n| n.parse::<f64>().unwrap());
    for (at, (sample, share)) in samples(&layout).iter().zip(shares).enumerate() {
        let is = f64::from(*sample) / 65_535.0;
        // Curves lie within 1/16 px of their chords.
        assert!(
            (is - share).abs() < 0.07,
            "{name}: row {}, column {} is {is}, not {share}",
            at / head[1] as usize,
            at % head[1] as usize
        );
    }
}

#[test]
fn standard_apertures_lie_where_pygerber_has_them() {
    check("apertures");
}

#[test]
fn macros_lie_where_shapely_has_them() {
    check("macros");
}

#[test]
fn lines_and_arcs_lie_where_pygerber_has_them() {
    check("lines");
}

#[test]
fn regions_and_what_erases_lie_where_pygerber_has_them() {
    check("regions");
}

#[test]
fn copies_and_turned_apertures_lie_where_shapely_has_them() {
    check("copies");
}

#[test]
fn blocks_in_blocks_lie_where_shapely_has_them() {
    check("blocks");
}

#[test]
fn a_board_of_gerbonara_is_read_and_its_g75_told() {
    check("gerbonara");
    let text = include_str!("gerbonara.gbr");
    let board = Board::read(text.as_bytes(), Limits::default()).unwrap();
    let (warnings, more) = board.warnings();
    let told: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["line 5: G75 has no * behind it; it is read as G75*"]);
    assert_eq!(more, 0);
    let options = pixels(11_000);
    let mended = drawn(&text.replace("G75\n", "G75*\n"), &options);
    assert_eq!(samples(&drawn(text, &options)), samples(&mended));
}

#[test]
fn only_a_g_code_in_a_line_of_its_own_may_lack_its_star() {
    let with = |head: &str| format!("%FSLAX26Y26*%\n{head}%ADD10R,2X1*%\nD10*\nX0Y0D03*\nM02*\n");
    let warned = |head: &str| {
        let text = with(head);
        let board = Board::read(text.as_bytes(), Limits::default()).unwrap_or_else(|e| panic!("{e}: {text}"));
        let lines: Vec<u64> = board.warnings().0.iter().map(|warning| warning.line).collect();
        (lines, board.warnings().1)
    };
    assert_eq!(warned("%MOMM*%\nG75*\n"), (vec![], 0));
    assert_eq!(warned("%MOMM*%\r\n  G75 \r\n\r\n%LPD*%\n"), (vec![3], 0));
    // It does what it would with its star.
    assert_eq!(warned("G71\n%LPD*%\nG01\n"), (vec![2, 4], 0));
    assert_eq!(warned(&format!("%MOMM*%\n{}", "G75\n%LPD*%\n".repeat(100))).1, 36);
    for (head, what) in [
        (
            "%MOMM*%\nG75%LPD*%\n",
            "line 3: expected * before %, after \"G75\"",
        ),
        ("%MOMM*%\nD10\n%LPD*%\n", "line 3: expected * before %"),
        ("%MOMM*%\nX0Y0D02\n%LPD*%\n", "line 3: expected * before %"),
        ("%MOMM*%\nM02\n%LPD*%\n", "line 3: expected * before %"),
        ("%MOMM*%\nG01X1\n%LPD*%\n", "line 3: expected * before %"),
        ("%MOMM\n%", "line 2: expected * before %"),
    ] {
        let told = refused(&with(head));
        assert!(told.starts_with(what), "{head:?}: {told}");
    }
}

#[test]
fn apertures_have_the_area_of_their_forms() {
    assert_area("%ADD10C,2*%D10*X0Y0D03*", PI);
    assert_area("%ADD10C,2X1*%D10*X0Y0D03*", 0.75 * PI);
    assert_area("%ADD10R,2X1*%D10*X0Y0D03*", 2.0);
    assert_area("%ADD10R,2X1X1X0.5*%D10*X0Y0D03*", 1.5);
    assert_area("%ADD10O,3X1*%D10*X0Y0D03*", 2.0 + PI / 4.0);
    // A hexagon on a circle of radius 1.
    assert_area("%ADD10P,2X6*%D10*X0Y0D03*", 1.5 * 3.0_f64.sqrt());
    // A hole that reaches beyond takes away what there is.
    assert_area("%ADD10R,2X1X1.5*%D10*X0Y0D03*", 2.0 - overlap(0.75, 0.5));
    let thermal = "%AMT*7,0,0,2,1,0.2,45*%%ADD10T*%D10*X0Y0D03*";
    // A ring without a cross of four arms: their ends are arcs.
    let arm =
        |radius: f64| 0.1 * (radius * radius - 0.01_f64).sqrt() + radius * radius * (0.1 / radius).asin();
    assert_area(thermal, 0.75 * PI - 4.0 * (arm(1.0) - arm(0.5)));
    // Rings of 2, 1.4 and 0.8 with 0.2 of copper each, below a cross of 0.1 by 2.4.
    assert!(area("%AMM*6,0,0,2,0.2,0.1,5,0.1,2.4,0*%%ADD10M*%D10*X0Y0D03*") > 0.6 * PI);
}

/// The area of a disc that lies within so far of a line through its middle.
fn overlap(radius: f64, half: f64) -> f64 {
    2.0 * (half * (radius * radius - half * half).sqrt() + radius * radius * (half / radius).asin())
}

#[test]
fn lines_have_the_area_that_their_apertures_sweep() {
    assert_area("%ADD10C,1*%D10*X0Y0D02*X4000000D01*", 4.0 + PI / 4.0);
    // A rectangle along a diagonal: its own area, and its height and width along the other axis.
    assert_area(
        "%ADD10R,1X0.5*%D10*X0Y0D02*X4000000Y3000000D01*",
        0.5 + 4.0 * 0.5 + 3.0 * 1.0,
    );
    assert_area(
        "%ADD10R,1X0.5*%%LR90*%D10*X0Y0D02*X4000000Y3000000D01*",
        0.5 + 4.0 * 1.0 + 3.0 * 0.5,
    );
    // Around a middle that its inner side lies beyond: all of a disc.
    assert_area("%ADD10C,3*%D10*G02*X0Y0D02*X0Y0I1000000J0D01*", 2.5 * 2.5 * PI);
    assert_area(
        "%ADD10C,1*%D10*G03*X0Y0D02*X0Y0I2000000J0D01*",
        (2.5 * 2.5 - 1.5 * 1.5) * PI,
    );
    // A point.
    assert_area("%ADD10C,1*%D10*X0Y0D02*X0Y0D01*", PI / 4.0);
    assert!(
        drawn(
            &format!("{HEAD}%ADD10C,0*%D10*X0Y0D02*X1Y1D01*M02*"),
            &pixels(1_000)
        )
        .size
        .is_none()
    );
    // Ten disks of one line count once where they meet; a scale is one of the line as well.
    assert_area(
        "%ADD10C,0.5*%%LS2*%D10*X0Y0D02*X1000000D01*X2000000D01*X0D01*",
        2.0 + PI / 4.0,
    );
}

#[test]
fn a_quarter_by_g74_and_by_g75_is_one() {
    let quarter = |mode: &str, i: &str| {
        area(&format!(
            "{mode}*G36*X0Y0D02*G01X2000000D01*G03X0Y2000000{i}J0D01*G01X0Y0D01*G37*"
        ))
    };
    let (single, multi) = (quarter("G74", "I2000000"), quarter("G75", "I-2000000"));
    assert_eq!(single, multi);
    assert!((single - PI).abs() < 0.02, "{single}");
}

#[test]
fn the_order_of_dark_and_clear_counts() {
    let apertures = "%ADD10R,4X4*%%ADD11R,2X2*%%ADD12R,1X1*%";
    let at = |code: u32| format!("D{code}*X0Y0D03*");
    let text = format!("{apertures}{}%LPC*%{}%LPD*%{}", at(10), at(11), at(12));
    assert_area(&text, 16.0 - 4.0 + 1.0);
    let text = format!("{apertures}{}%LPC*%{}%LPD*%{}", at(12), at(11), at(10));
    assert_area(&text, 16.0);
    // A hole shows what lies below it.
    assert_area("%ADD10R,4X4*%%ADD11C,3X2*%D10*X0Y0D03*D11*X0Y0D03*", 16.0);
    assert_area(
        "%ADD10R,4X4*%%ADD11R,3X3X1*%D10*X0Y0D03*%LPC*%D11*X0Y0D03*",
        16.0 - 9.0 + PI / 4.0,
    );
}

#[test]
fn a_block_that_is_flashed_clear_is_turned_round() {
    // A square with a hole that erases, and one of the same on a plate.
    let block = "%ADD10R,4X4*%%ADD11R,2X2*%%ADD12R,8X8*%%ABD20*%D10*X0Y0D03*%LPC*%D11*X0Y0D03*%LPD*%%AB*%";
    assert_area(&format!("{block}D20*X0Y0D03*"), 12.0);
    assert_area(&format!("{block}D12*X0Y0D03*%LPC*%D20*X0Y0D03*"), 64.0 - 12.0);
}

#[test]
fn copies_that_meet_are_drawn_one_after_the_other() {
    // Dark with a clear square to its right, which erases a part of the copy before it, and is covered by the copy after it.
    let one = "D10*X0Y0D03*%LPC*%D11*X1500000Y0D03*%LPD*%";
    let apertures = "%ADD10R,2X2*%%ADD11R,1X2*%";
    assert_area(&format!("{apertures}%SRX3Y1I2J0*%{one}%SR*%"), 12.0);
    assert_area(&format!("{apertures}%SRX3Y1I-2J0*%{one}%SR*%"), 4.0 + 2.0 * 2.0);
    // An array of what is dark stays an array.
    let layout = drawn(
        &format!("{HEAD}%ADD10R,1X1*%%SRX30000Y30000I2J3*%D10*X0Y0D03*M02*"),
        &pixels(10_000),
    );
    assert_eq!(layout.drawing.copies(), 900_000_000);
    assert!(layout.drawing.points() < 16);
    assert!(layout.drawing.period(&Limits::default()).unwrap().is_some());
}

#[test]
fn the_origin_of_the_file_lies_at_the_bottom_left() {
    let text = format!("{HEAD}%ADD10R,2X2*%D10*X3000000Y2000000D03*M02*");
    let options = pixels(100_000).with(|with| with.origin = Origin::Datum { height: 5 });
    let layout = drawn(&text, &options);
    assert_eq!(layout.reach, Some((4, 3)));
    let samples = support::render::<u16>(&layout.drawing, (6, 5));
    let dark = |x: usize, y: usize| (2..4).contains(&x) && (2..4).contains(&y);
    for (at, sample) in samples.iter().enumerate() {
        assert_eq!(*sample == 65_535, dark(at % 6, at / 6), "{at}");
    }
}

#[test]
fn ways_to_write_one_board_are_one() {
    let board = |text: &str| samples(&drawn(text, &pixels(5_000)));
    let plain = board(
        "%FSLAX24Y24*%\n%MOMM*%\n%ADD10C,0.5*%\nD10*\nX0Y0D02*\nX10000Y5000D01*\nX20000Y5000D01*\nX30000Y10000D03*\nM02*\n",
    );
    for text in [
        // All in one line, codes without zeros, several commands between one pair of %, comments, D01 not said again.
        "G04 a comment%, with a percent*%FSLAX24Y24*MOMM*ADD10C,0.5*%D10*G1X0Y0D2*X10000Y5000D1*X20000*X30000Y10000D3*M2*",
        "%FSLAX24Y24*%\r\nG71*G90*\r\n%LNcopper*%%TF.Part,Single*%%TA.AperFunction,Conductor*%%ADD10C,.5*%\r\nG54D10*X0Y0D02*\r\nG01X1\r\n0000Y5000D01*X20000D01*%TD*%G55X30000Y10000D03*M02*",
        // Zeros left out at the end.
        "%FSTAX24Y24*%%MOMM*%%ADD10C,0.5*%D10*X0Y0D02*X01Y005D01*X02D01*X03Y01D03*M02*",
        "%FSLAX24Y24*%%MOMM*%%ADD10C,0.5*%N1D10*N2X0Y0D02*X10000Y5000D01*X+20000D01*X30000Y10000D03*M00*",
    ] {
        assert_eq!(board(text), plain, "{text}");
    }
}

fn refused(text: &str) -> String {
    let board = Board::read(text.as_bytes(), Limits::default());
    match board.and_then(|board| board.draw(&pixels(1_000))) {
        Ok(_) => panic!("{text} is drawn"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let cases = [
        ("", "line 1: the file ends before M02"),
        ("not a board", "line 1: the file ends within a command"),
        ("M02*", "line 1: the file does not say its unit"),
        ("%MOMM*%\nX1Y1D02*M02*", "line 2: a coordinate before its format"),
        (
            "%FSLAX26Y26*%\n%MOMM*%\nX1D01*M02*",
            "line 3: nothing says with which aperture",
        ),
        (
            "%FSLAX26Y26*%\n%MOMM*%\nD10*M02*",
            "line 3: the aperture D10 is not defined",
        ),
        (
            "%FSLAX26Y26*%\n%MOMM*%\n\nX1Y2*M02*",
            "line 4: coordinates without D01",
        ),
        (
            "%FSLAX26Y26*%\n%MOMM*%X123456789D02*M02*",
            "line 2: the coordinate \"123456789\" has more digits",
        ),
        (
            "%FSLAX26Y26*%\n%MOMM*%X1.5D02*M02*",
            "line 2: the coordinate \"1.5\" is no whole number",
        ),
        (
            "%FSLIX26Y26*%",
            "line 1: coordinates that count from the last one",
        ),
        (
            "%FSLAX26Y25*%",
            "line 1: coordinates of X and Y in different formats",
        ),
        ("%FSLAX26*%", "line 1: the format \"LAX26\""),
        ("%MOMM*%%MOIN*%", "line 1: the file changes its unit"),
        ("%MOCM*%", "line 1: the unit \"CM\""),
        ("%ADD10C*%", "line 1: the aperture C takes 1 to 3 numbers"),
        ("%ADD10C,-1*%", "line 1: a size of the aperture C is -1"),
        ("%ADD10C,1e9*%", "line 1: expected a number, found \"1e9\""),
        ("%ADD10P,1X2*%", "line 1: a polygon of 2 corners"),
        ("%ADD9C,1*%", "line 1: the aperture D9; apertures begin at D10"),
        ("%ADD10DONUT,1*%", "line 1: there is no macro \"DONUT\""),
        (
            "%AMM*1,1,1/0,0,0*%\n%ADD10M*%",
            "line 2: the aperture D10 of the macro \"M\": a division by 0",
        ),
        ("%AMM*9,1*%\n%ADD10M*%", "there is no primitive 9"),
        (
            "%AMM*4,1,3,0,0,1,1*%\n%ADD10M*%",
            "the primitive 4 takes 10 numbers and an angle",
        ),
        (
            "%AMM*6,0,0,1,0,0,1000000000,0,0,0*%\n%ADD10M*%",
            "a moiré of 1000000000 rings",
        ),
        ("%IPNEG*%", "line 1: a negative picture"),
        ("%XX*%", "line 1: there is no command %XX"),
        ("%KOC*%", "line 1: there is no command %KOC"),
        ("Q1*", "line 1: \"Q1\" is no command"),
        ("G91*", "line 1: coordinates that count from the last one (G91)"),
        ("G37*", "line 1: G37 ends a region"),
        ("G36*\nM02*", "line 2: the file ends within a region"),
        ("%AB*%", "line 1: %AB*% ends a block aperture"),
        (
            "%ABD10*%\n%MOMM*%M02*",
            "line 2: the file ends within the block aperture D10, which line 1 begins",
        ),
        ("%SR*%", "line 1: %SR*% ends what is repeated"),
        ("%SRX0Y1I1J1*%", "line 1: no number of copies"),
        ("%LS0*%", "line 1: a scale of 0"),
        ("%MO", "line 1: the file ends within a command"),
        ("%FSLAX26Y26*", "line 1: the file ends before M02"),
        ("G0%", "line 1: expected * before %"),
    ];
    for (text, what) in cases {
        let told = refused(text);
        assert!(told.contains(what), "{text:?}: {told}");
    }
    let with = |text: &str| refused(&format!("{HEAD}%ADD10C,1*%%ADD11O,1X2*%\n{text}M02*"));
    assert!(with("D10*G02*X5000000Y1D01*").contains("line 2: an arc whose ends lie"));
    assert!(
        with("G74*D10*G02*X0Y0D02*X2000000Y2000000I1000000J1000000D01*").contains("an arc whose ends lie")
    );
    assert!(with("D11*X1D01*").contains("only discs, and rectangles"));
    assert!(with("G36*X1Y1D03*").contains("a flash (D03) within a region"));
    let early = refused("%FSLAX26Y26*%%MOMM*%%ADD10C,1*%D10*G02*X1Y1D01*M02*");
    assert!(early.contains("an arc before G74 or G75"), "{early}");
}

#[test]
fn hostile_files_are_refused_within_the_limits() {
    let small = Limits {
        bytes: 1 << 20,
        points: 1 << 12,
        items: 1 << 10,
        depth: 16,
        memory: u64::MAX,
    };
    let read = |text: &str| Board::read(text.as_bytes(), small).and_then(|board| board.draw(&pixels(1_000)));
    let many = |one: &str, count: usize| format!("{HEAD}%ADD10C,1*%D10*{}M02*", one.repeat(count));
    assert!(matches!(
        read(&many("X1Y1D03*", 2_000)),
        Err(Error::Refused(Refused::Items(_)))
    ));
    assert!(matches!(
        read(&many("X100000Y1D01*X1Y100000D01*", 4_000)),
        Err(Error::Refused(Refused::Points(_)))
    ));
    // Each block holds two of the one before: 2^60 flashes, but few cells.
    let mut doubled = format!("{HEAD}%ADD10R,1X1*%%ABD11*%D10*X0Y0D03*%AB*%");
    for code in 12..72 {
        let before = code - 1;
        doubled += &format!("%ABD{code}*%D{before}*X0Y0D03*X{}Y0D03*%AB*%", code * 1_000);
    }
    doubled += "D71*X0Y0D03*M02*";
    assert!(matches!(read(&doubled), Err(Error::Depth(16))));
    let board = Board::read(doubled.as_bytes(), Limits::default()).unwrap();
    let layout = board.draw(&pixels(1_000)).unwrap();
    assert_eq!(layout.drawing.copies(), 1 << 60);
    assert!(support::try_index::<u8>(&layout.drawing, &small, relief_kernels::coverage::MAX_WORK).is_none());
    // Blocks in blocks without end.
    let deep = format!("{HEAD}{}", "%ABD10*%".repeat(100_000));
    assert!(matches!(read(&deep), Err(Error::Depth(16))));
    // Copies that erase each other are written out, as far as that goes.
    let erasing = "%ADD10R,2X2*%%SRX60000Y60000I1J1*%D10*X0Y0D03*%LPC*%X1000000Y0D03*%SR*%";
    let erasing = format!("{HEAD}{erasing}M02*");
    assert!(matches!(read(&erasing), Err(Error::Refused(Refused::Items(_)))));
    let far = format!("{HEAD}%ADD10C,1*%D10*X999000000Y1D03*%SRX2147483647Y1I999999J0*%X0Y0D03*M02*");
    assert!(matches!(read(&far), Err(Error::Refused(Refused::Far(..)))) || read(&far).is_ok());
    let long = "%AM".to_owned() + &"A".repeat(2 << 20);
    assert!(read(&long).is_err());
    // Statements of macros that draw nothing, evaluated by aperture after aperture.
    let still = |statement: &str| {
        let law = format!("%AMM*1,1,1,0,0*{}%", format!("{statement}*").repeat(100));
        let text = format!("{HEAD}\n{law}\n{}M02*", "%ADD10M*%\n".repeat(9));
        read(&text).unwrap_err().to_string()
    };
    for statement in ["$3=1", "0 nothing", "0"] {
        let told = still(statement);
        assert!(told.contains("macros come to more than 4096 points"), "{told}");
        assert!(
            told.starts_with("line ") && told.contains("fewer apertures"),
            "{told}"
        );
    }
    // Pairs of dark and clear parts, none of which meet, are looked at where they lie above each other.
    let parts = |step: usize| {
        let part = |n: usize| format!("1,1,1,{0},0*1,0,1,{0},9*", step * n);
        let law: String = (0..200).map(part).collect();
        let text = format!("{HEAD}%AMM*{law}%%ADD10M*%D10*X0Y0D03*M02*");
        let limits = Limits {
            points: 25_000,
            ..Limits::default()
        };
        let board = Board::read(text.as_bytes(), limits).unwrap();
        board.draw(&pixels(100_000_000)).map(|_| ())
    };
    assert!(matches!(parts(0), Err(Error::Refused(Refused::Points(25_000)))));
    parts(2).unwrap();
    // Names of macros are held, and so are their variables.
    let names: String = (0..64)
        .map(|number| format!("%AM{}{number}*%", "A".repeat(1 << 14)))
        .collect();
    let narrow = Limits {
        memory: 1 << 19,
        ..Limits::default()
    };
    let named = Board::read(format!("{HEAD}{names}M02*").as_bytes(), narrow);
    assert!(matches!(named, Err(Error::Refused(Refused::Memory(_)))));
    // 2^30 points of macros by few bytes.
    let outline = format!("4,1,500,{}0", "0,0,".repeat(501));
    let law = format!("{HEAD}%AMM*{outline}*%{}M02*", "%ADD10M*%".repeat(900));
    let told = read(&law).unwrap_err().to_string();
    assert!(told.contains("more than 4096 points"), "{told}");
}
