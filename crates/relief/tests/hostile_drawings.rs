//! Drawings that loop, claim more than they hold, unpack or copy without end, or are no numbers: each is refused with its sentence, and
//! no process that reads one takes more memory than its job may. A program of its own, since the memory is that of all its children.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use nix::sys::resource::{UsageWho, getrusage};

/// What a job with a hostile drawing may take.
const MEMORY: u64 = 32 << 20;

/// What a process takes beside its plan: the stacks of its threads, the allocator, code that a design of one sample does not run.
const BESIDE: u64 = 16 << 20;

/// A file, the node that draws it, and a part of the sentence by which it is refused.
struct Case {
    file: &'static str,
    bytes: Vec<u8>,
    node: &'static str,
    sentence: &'static str,
}

fn case(file: &'static str, bytes: impl Into<Vec<u8>>, node: &'static str, sentence: &'static str) -> Case {
    Case {
        file,
        bytes: bytes.into(),
        node,
        sentence,
    }
}

/// What became of `relief plan`: its exit code, what it said and the most memory that it held.
struct Outcome {
    code: i32,
    told: String,
    held: u64,
}

/// Runs `relief plan` in the folder that the environment names, as the only child of this process. By itself, as a test, it does
/// nothing.
#[test]
fn planned_alone() {
    let Some(folder) = std::env::var_os("RELIEF_TEST_FOLDER") else {
        return;
    };
    let memory = std::env::var("RELIEF_TEST_MEMORY").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_relief"))
        .args(["plan", "design.kdl", "--threads", "1", "--memory", &memory])
        // Warnings are told in full where they are to fail.
        .args(std::env::var_os("RELIEF_TEST_DENY").map_or(&[][..], |_| &["--deny", "warnings"]))
        .current_dir(&folder)
        .output()
        .unwrap();
    let kibibytes = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    let code = output.status.code().unwrap();
    std::fs::write(Path::new(&folder).join("told"), output.stderr).unwrap();
    std::fs::write(Path::new(&folder).join("held"), format!("{code} {kibibytes}")).unwrap();
}

/// What `relief plan` makes of a node, in a process whose only child it is: what else this process holds would count as well.
fn plan(folder: &Path, node: &str, memory: u64, denies: bool) -> Outcome {
    let text = format!("relief version=1\ncanvas width=100 height=100 pixel=\"1um\"\n{node}\n");
    std::fs::write(folder.join("design.kdl"), text).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "planned_alone"])
        .env("RELIEF_TEST_FOLDER", folder)
        .env("RELIEF_TEST_MEMORY", memory.to_string())
        .envs(denies.then_some(("RELIEF_TEST_DENY", "1")))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {output:?}", folder.display());
    let told = std::fs::read_to_string(folder.join("told")).unwrap();
    let held = std::fs::read_to_string(folder.join("held")).unwrap();
    let (code, kibibytes) = held.split_once(' ').unwrap();
    Outcome {
        code: code.parse().unwrap(),
        // Lines of a message are broken where they are wide.
        told: told.replace("\n  │ ", " "),
        held: kibibytes.parse::<u64>().unwrap() * 1_024,
    }
}

#[test]
fn hostile_drawings_are_refused_with_their_sentence_in_the_memory_of_the_job() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let before = plan(folder, "fill value=1", MEMORY, false);
    assert_eq!(before.code, 0, "{}", before.told);
    let most = before.held + MEMORY + BESIDE;
    let cases = [svg, gds, oasis, gerber, dxf, stl, fonts].map(|cases| cases());
    let mut wrong = String::new();
    for (number, one) in cases.into_iter().flatten().enumerate() {
        let folder = folder.join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(one.file), one.bytes).unwrap();
        let Outcome { code, told, held } = plan(&folder, one.node, MEMORY, one.sentence == FAULT);
        let (file, sentence) = (one.file, one.sentence);
        // A path with a fault is drawn up to there, as SVG has it, and that is told. The design is refused, or the job.
        let is_refused = match sentence {
            LARGE => code == 4,
            FAULT => code == 3,
            _ => [1, 3].contains(&code),
        };
        if !is_refused || !told.contains(sentence) {
            let _ = writeln!(
                wrong,
                "{number}: {file}: {sentence:?} was expected, but with {code} came\n{told}"
            );
        }
        if held > most {
            let _ = writeln!(
                wrong,
                "{number}: {file}: {held} bytes were held, {most} allowed: {sentence:?}"
            );
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Files with as much in them as people have, and the nodes that draw them.
fn large() -> Vec<Case> {
    let squares = 60_000_usize;
    let places = || (0..squares).map(|n| ((n % 300) * 3, (n / 300) * 3));
    let svg: String = places()
        .map(|(x, y)| format!("<path d='M{x} {y}h2v2h-2z'/>"))
        .collect();
    let svg = format!("<svg xmlns='http://www.w3.org/2000/svg' width='900' height='600'>{svg}</svg>");
    let gds = stream(&[("AA".into(), square().repeat(squares))]);
    let oasis: Vec<u8> = places()
        .flat_map(|(x, y)| {
            [
                vec![20, 0x7B, 1, 0],
                number(4),
                number(4),
                number(4 * x as u64),
                number(4 * y as u64),
            ]
            .concat()
        })
        .collect();
    let oasis = file(&[cell("TOP"), oasis].concat());
    let gerber: String = places()
        .map(|(x, y)| format!("X{}Y{}D03*\n", x * 100_000, y * 100_000))
        .collect();
    let gerber = format!("%FSLAX46Y46*%%MOMM*%%ADD10R,0.1X0.1*%D10*{gerber}M02*");
    let dxf: String = places()
        .map(|(x, y)| format!("0|CIRCLE|10|{x}|20|{y}|40|1|").replace('|', "\n"))
        .collect();
    let dxf = format!("0\nSECTION\n2\nENTITIES\n{dxf}0\nENDSEC\n0\nEOF\n");
    let facets: Vec<u8> = places()
        .flat_map(|(x, y)| {
            let (x, y) = (x as f32, y as f32);
            let corners = [x, y, 0.0, x + 2.0, y, 0.0, x, y + 2.0, 1.0];
            [
                vec![0; 12],
                corners.iter().flat_map(|v| v.to_le_bytes()).collect(),
                vec![0; 2],
            ]
            .concat()
        })
        .collect();
    let stl = [vec![b' '; 80], (squares as u32).to_le_bytes().to_vec(), facets].concat();
    vec![
        case("a.svg", svg, "svg \"a.svg\"", LARGE),
        case("a.gds", gds, "gds \"a.gds\" origin=\"box\" value=255", LARGE),
        case("a.oas", oasis, "oasis \"a.oas\" origin=\"box\" value=255", LARGE),
        case("a.gbr", gerber, "gerber \"a.gbr\" value=255", LARGE),
        case("a.dxf", dxf, "dxf \"a.dxf\" value=255 unit=\"um\"", LARGE),
        case("a.stl", stl, "mesh \"a.stl\" low=0 high=1", LARGE),
    ]
}

#[test]
fn a_drawing_is_read_in_just_enough_memory_and_refused_with_the_code_of_memory_below() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let before = plan(folder, "fill value=1", MEMORY, false);
    for one in large() {
        let folder = folder.join(one.file);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(one.file), one.bytes).unwrap();
        let (mut refused, mut works) = (1_u64 << 20, 1_u64 << 30);
        let mut held = 0;
        // To an eighth of what it takes.
        while works - refused > works / 8 {
            let memory = refused.midpoint(works);
            let outcome = plan(&folder, one.node, memory, false);
            match outcome.code {
                0 => (works, held) = (memory, outcome.held),
                4 => refused = memory,
                code => panic!("{}: {memory} bytes: {code}: {}", one.file, outcome.told),
            }
        }
        let most = before.held + works + BESIDE;
        assert!(
            held > 0 && held <= most,
            "{}: {held} bytes were held of {most}",
            one.file
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// As many tall cells as an index takes far more memory for than reading them does.
#[test]
fn placements_that_do_not_fit_are_refused_before_they_are_held_with_the_memory_that_does() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let before = plan(folder, "fill value=1", MEMORY, false);
    let layer = [record(0x0D, &[0, 1]), record(0x0E, &[0, 0])].concat();
    let corners = points(&[0, 0, 800, 0, 800, 300_000, 0, 300_000]);
    let tall = [record(8, &[]), layer, corners, record(0x11, &[])].concat();
    let all: Vec<u8> = (0..400_000_i64)
        .flat_map(|n| {
            let at = [n * 7_919 % 40_000, n * 104_729 % 40_000].map(|at| at as i32 * 1_000);
            let place = [record(0x12, b"TALL"), points(&at), record(0x11, &[])].concat();
            [record(0x0A, &[]), place].concat()
        })
        .collect();
    let file = stream(&[("TALL".into(), tall), ("TOPS".into(), all)]);
    std::fs::write(folder.join("a.gds"), file).unwrap();
    let node = "gds \"a.gds\" cell=\"TOPS\" origin=\"box\" value=255";
    let run = |memory: u64| {
        let outcome = plan(folder, node, memory, false);
        let most = before.held + memory + BESIDE;
        assert!(outcome.held <= most, "{} bytes were held of {most}", outcome.held);
        outcome
    };
    let mut needed = Vec::new();
    for mebibytes in (48..112).step_by(16) {
        let outcome = run(mebibytes << 20);
        assert_eq!(outcome.code, 4, "{mebibytes} MiB: {}", outcome.told);
        if let Some((_, told)) = outcome.told.split_once("the job needs ") {
            let (count, _) = told.split_once(" MiB").unwrap();
            needed.push(count.parse::<u64>().unwrap());
        }
    }
    assert!(!needed.is_empty(), "none was refused for its index");
    for needed in needed {
        let outcome = run(needed << 20);
        assert_eq!(outcome.code, 0, "{needed} MiB: {}", outcome.told);
    }
}

const CLOSE: &str = "copies of the cell \"C000\" meet in 1024 × 64 pixels";
const FAULT: &str = "the path has a fault at its byte 5";
const ITEMS: &str = "more than 4194304 elements and placements";
const TABLE: &str = "a.ttf: the font is damaged: its table `";
const LARGE: &str = "takes more memory than the";

fn svg() -> Vec<Case> {
    let of =
        |body: &str| format!("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'>{body}</svg>");
    let mut doubled = "<g id='a0'><rect width='1' height='1'/></g>".to_owned();
    for level in 1..60 {
        let before = level - 1;
        let _ = write!(
            doubled,
            "<g id='a{level}'><use href='#a{before}'/><use href='#a{before}'/></g>"
        );
    }
    let mut entities = "<!DOCTYPE svg [<!ENTITY e0 'aaaaaaaaaa'>".to_owned();
    for level in 1..30 {
        let _ = write!(
            entities,
            "<!ENTITY e{level} '{}'>",
            format!("&e{};", level - 1).repeat(10)
        );
    }
    let entities = format!("{entities}]>{}", of("<path d='&e29;'/>"));
    let node = "svg \"a.svg\"";
    vec![
        case("a.svg", of("<g id='a'><use href='#a'/></g>"), node, "a.svg:1:"),
        case("a.svg", of(&doubled), node, LARGE),
        case("a.svg", entities, node, "a.svg: "),
        case(
            "a.svg",
            of(&format!("{}{}", "<g>".repeat(9_000), "</g>".repeat(9_000))),
            node,
            "a.svg",
        ),
        case(
            "a.svg",
            of("<path d='M0 0L1e300 0 1 1'/>"),
            node,
            "farther than 2^40 px",
        ),
        case(
            "a.svg",
            of("<rect width='NaN' height='1'/><path d='M0 0LNaN 0'/>"),
            node,
            FAULT,
        ),
        case(
            "a.svg",
            of("<path d='M0 0H1000000000' stroke='red' stroke-dasharray='0.000001'/>"),
            node,
            "points",
        ),
        case("a.svg", of(&"<g a=''/>".repeat(400_000)), node, LARGE),
        case("a.svg", of(&"<path d='M0 0z'/>".repeat(200_000)), node, LARGE),
    ]
}

fn record(kind: u8, data: &[u8]) -> Vec<u8> {
    [&(data.len() as u16 + 4).to_be_bytes()[..], &[kind, 0], data].concat()
}

fn points(points: &[i32]) -> Vec<u8> {
    record(
        0x10,
        &points.iter().flat_map(|v| v.to_be_bytes()).collect::<Vec<_>>(),
    )
}

/// A GDSII of cells, each with what it holds; a database unit is 1 nm.
fn stream(cells: &[(String, Vec<u8>)]) -> Vec<u8> {
    let units = [
        0x3E41_8937_4BC6_A7EF_u64.to_be_bytes(),
        0x3944_B82F_A09B_5A54_u64.to_be_bytes(),
    ]
    .concat();
    let mut out = [record(0, &[2, 88]), record(3, &units)].concat();
    for (name, body) in cells {
        out.extend(record(5, &[0; 24]));
        out.extend(record(6, name.as_bytes()));
        out.extend(body);
        out.extend(record(7, &[]));
    }
    [out, record(4, &[])].concat()
}

fn square() -> Vec<u8> {
    let layer = [record(0x0D, &[0, 1]), record(0x0E, &[0, 0])].concat();
    let corners = points(&[0, 0, 100, 0, 100, 100, 0, 100]);
    [record(8, &[]), layer, corners, record(0x11, &[])].concat()
}

/// 32 767 × 32 767 copies of a cell, so far from each other.
fn array(name: &str, step: i32) -> Vec<u8> {
    let counts = record(0x13, &[0x7F, 0xFF, 0x7F, 0xFF]);
    let far = step * 32_767;
    let corners = points(&[0, 0, far, 0, 0, far]);
    [
        record(0x0B, &[]),
        record(0x12, name.as_bytes()),
        counts,
        corners,
        record(0x11, &[]),
    ]
    .concat()
}

fn placed(name: &str) -> Vec<u8> {
    [
        record(0x0A, &[]),
        record(0x12, name.as_bytes()),
        points(&[0, 0]),
        record(0x11, &[]),
    ]
    .concat()
}

fn gds() -> Vec<Case> {
    let node = "gds \"a.gds\" origin=\"box\" value=255";
    let name = |level: usize| format!("C{level:03}");
    let chain = |count: usize, each: &dyn Fn(&str) -> Vec<u8>| {
        let mut cells = vec![(name(0), square())];
        cells.extend((1..count).map(|level| (name(level), each(&name(level - 1)))));
        stream(&cells)
    };
    let header = stream(&[]);
    vec![
        case(
            "a.gds",
            stream(&[("AA".into(), placed("BB")), ("BB".into(), placed("AA"))]),
            node,
            "contains itself",
        ),
        case(
            "a.gds",
            chain(40, &|inner| [placed(inner), placed(inner)].concat()),
            node,
            ITEMS,
        ),
        case("a.gds", chain(5, &|inner| array(inner, 200)), node, ITEMS),
        case("a.gds", chain(2, &|inner| array(inner, 1)), node, CLOSE),
        case(
            "a.gds",
            chain(200, &placed),
            node,
            "cells are nested more than 128 deep",
        ),
        case(
            "a.gds",
            [&header[..header.len() - 4], &[0xFF, 0xFE, 8, 0]].concat(),
            node,
            "the layout ends here",
        ),
        case(
            "a.gds",
            stream(&[("AA".into(), square().repeat(700_000))]),
            node,
            LARGE,
        ),
        case(
            "a.gds",
            stream(&[(
                "AA".into(),
                [
                    square(),
                    record(0x0A, &[]),
                    record(0x12, b"BB"),
                    record(0x1B, &[0x7F; 8]),
                ]
                .concat(),
            )]),
            node,
            "a magnification of",
        ),
    ]
}

fn number(mut n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let more = if n > 0x7F { 0x80 } else { 0 };
        out.push((n & 0x7F) as u8 | more);
        n >>= 7;
        if n == 0 {
            return out;
        }
    }
}

fn cell(name: &str) -> Vec<u8> {
    [&[14, name.len() as u8][..], name.as_bytes()].concat()
}

fn file(records: &[u8]) -> Vec<u8> {
    let start = [&b"%SEMI-OASIS\r\n\x01\x031.0\x00"[..], &number(1_000), &[0; 13]].concat();
    [start, records.to_vec(), vec![2, 252, 1], vec![0; 253]].concat()
}

/// A Deflate stream of so many times 258 bytes, a pair of bytes over and over: 13 bits for 258 of them.
fn repeated(pair: [u8; 2], count: usize) -> Vec<u8> {
    let (mut out, mut bits, mut filled) = (Vec::new(), 0_u32, 0);
    let mut put = |value: u32, length: u32, is_code: bool| {
        let value = if is_code {
            value.reverse_bits() >> (32 - length)
        } else {
            value
        };
        bits |= value << filled;
        filled += length;
        while filled >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            filled -= 8;
        }
    };
    // The last block, of fixed codes.
    put(0b011, 3, false);
    for byte in pair {
        // Bytes below 144.
        put(0x30 + u32::from(byte), 8, true);
    }
    for _ in 0..count {
        put(0xC5, 8, true);
        put(1, 5, true);
    }
    put(0, 7, true);
    put(0, 7, false);
    out
}

fn block(plain: u64, packed: &[u8]) -> Vec<u8> {
    [
        vec![34, 0],
        number(plain),
        number(packed.len() as u64),
        packed.to_vec(),
    ]
    .concat()
}

fn oasis() -> Vec<Case> {
    let node = "oasis \"a.oas\" origin=\"box\" value=255";
    let square = [vec![20, 0x7B, 1, 0], number(100), number(100), vec![0, 0]].concat();
    let place = |name: &str| {
        [
            vec![17, 0xB0, name.len() as u8],
            name.as_bytes().to_vec(),
            vec![0, 0],
        ]
        .concat()
    };
    let array_by = |name: &str, step: u64| {
        let grid = [1, (1 << 30) - 2, (1 << 30) - 2, step, step].map(number).concat();
        [
            vec![17, 0xB8, name.len() as u8],
            name.as_bytes().to_vec(),
            vec![0, 0],
            grid,
        ]
        .concat()
    };
    let array = |name: &str| array_by(name, 200);
    let name = |level: usize| format!("C{level:03}");
    let chain = |count: usize, each: &dyn Fn(&str) -> Vec<u8>| {
        let mut out = [cell(&name(0)), square.clone()].concat();
        for level in 1..count {
            out.extend(cell(&name(level)));
            out.extend(each(&name(level - 1)));
        }
        file(&out)
    };
    let top = [cell("TOP"), square.clone()].concat();
    let turned = |bytes: [u8; 8]| [&top[..], &[18, 0xB4, 3], b"TOP", &[7], &bytes].concat();
    let claimed = |kind: u8| [&top[..], &[21, 0x3B, 1, 0, kind], &number(1_000_000_000)].concat();
    let pads = 4_000_000;
    // Placements of the last cell at the last place, two bytes each.
    let copies = 40_000;
    let many = [
        cell("LEAF"),
        square.clone(),
        cell("TOP"),
        place("LEAF"),
        block(2 + 258 * copies as u64, &repeated([17, 0], copies)),
    ]
    .concat();
    vec![
        case(
            "a.oas",
            file(&[cell("AA"), place("BB"), cell("BB"), place("AA")].concat()),
            node,
            "contains itself",
        ),
        case(
            "a.oas",
            chain(60, &|inner| [place(inner), place(inner)].concat()),
            node,
            ITEMS,
        ),
        case("a.oas", chain(3, &array), node, ITEMS),
        case("a.oas", chain(2, &|inner| array_by(inner, 1)), node, CLOSE),
        // A shape that is repeated in a cell, over and over.
        case(
            "a.oas",
            file(
                &[
                    cell("C000"),
                    [vec![20, 0x7F, 1, 0], number(100), number(100), vec![0, 0]].concat(),
                    [1, 100_000, 100_000, 1, 1].map(number).concat(),
                ]
                .concat(),
            ),
            node,
            CLOSE,
        ),
        case(
            "a.oas",
            chain(200, &place),
            node,
            "cells are nested more than 128 deep",
        ),
        case(
            "a.oas",
            file(&turned(f64::NAN.to_le_bytes())),
            node,
            "in the cell \"TOP\": a magnification of NaN",
        ),
        case(
            "a.oas",
            file(&turned(1e300_f64.to_le_bytes())),
            node,
            "a magnification of 1000",
        ),
        case("a.oas", file(&claimed(4)), node, "more than 67108864 points"),
        case(
            "a.oas",
            file(&[&top[..], &[20, 4, 4], &number(1_000_000_000)].concat()),
            node,
            ITEMS,
        ),
        case(
            "a.oas",
            file(&block(1 << 40, &[3, 0])),
            node,
            "more than Deflate can hold",
        ),
        case(
            "a.oas",
            file(&block(2 + 258 * pads as u64, &repeated([0, 0], pads)).repeat(2)),
            node,
            "unpack to more than",
        ),
        case("a.oas", file(&many), node, LARGE),
        case(
            "a.oas",
            file(&[&top[..], &[20, 0x7B, 1, 0], &[0xFF; 10]].concat()),
            node,
            "a number of more than 64 bits",
        ),
    ]
}

fn gerber() -> Vec<Case> {
    let node = "gerber \"a.gbr\" value=255";
    let of = |body: &str| format!("%FSLAX46Y46*%%MOMM*%%ADD10C,0.1*%D10*{body}M02*");
    let nested = |count: usize| {
        let opened: String = (11..11 + count).map(|code| format!("%ABD{code}*%")).collect();
        of(&format!("{opened}X0Y0D03*{}", "%AB*%".repeat(count)))
    };
    let mut doubled = "%ABD11*%X0Y0D03*%AB*%".to_owned();
    for code in 12..72 {
        let _ = write!(doubled, "%ABD{code}*%D{}*X0Y0D03*X5Y5D03*%AB*%", code - 1);
    }
    doubled += "D71*X0Y0D03*";
    vec![
        case("a.gbr", of(&doubled), node, ITEMS),
        case(
            "a.gbr",
            of("%SRX4000000000Y4000000000I0.00001J0.00001*%X0Y0D03*%SR*%"),
            node,
            "too close together",
        ),
        case("a.gbr", nested(300), node, "blocks are nested more than 128 deep"),
        case("a.gbr", of("%SRX9Y9I1e300J1*%X0Y0D03*%SR*%"), node, "line 1: "),
        case(
            "a.gbr",
            of(&format!("%ADD11C,{}*%D11*X0Y0D03*", "9".repeat(300))),
            node,
            "farther than 2^40 px",
        ),
        case("a.gbr", of("%ADD11C,NaN*%"), node, "expected a number"),
        case(
            "a.gbr",
            of("X99999999999999999999Y0D03*"),
            node,
            "has more digits",
        ),
        case("a.gbr", of(&"X0Y0D03*".repeat(900_000)), node, LARGE),
        case(
            "a.gbr",
            of(&format!("G01*{}", "X0Y0D01*X5Y5D01*".repeat(900_000))),
            node,
            LARGE,
        ),
        case("a.gbr", "%FSLAX46Y46*%%MOMM*%%ADD10C,0.1", node, "the file ends"),
    ]
}

fn dxf() -> Vec<Case> {
    let node = "dxf \"a.dxf\" value=255 unit=\"mm\"";
    let of = |blocks: &str, entities: &str| {
        format!("0|SECTION|2|BLOCKS{blocks}|0|ENDSEC|0|SECTION|2|ENTITIES{entities}|0|ENDSEC|0|EOF|")
            .replace('|', "\n")
    };
    let block = |name: &str, body: &str| format!("|0|BLOCK|2|{name}{body}|0|ENDBLK");
    let circle = "|0|CIRCLE|10|0|20|0|40|3";
    let insert = |name: &str| format!("|0|INSERT|2|{name}|10|0|20|0");
    let mut doubled = block("A0", circle);
    for level in 1..60 {
        let inner = insert(&format!("A{}", level - 1));
        doubled += &block(&format!("A{level}"), &format!("{inner}{inner}"));
    }
    let mut deep = block("A0", circle);
    for level in 1..200 {
        deep += &block(&format!("A{level}"), &insert(&format!("A{}", level - 1)));
    }
    vec![
        case(
            "a.dxf",
            of(&block("A", &insert("A")), &insert("A")),
            node,
            "contains itself",
        ),
        case("a.dxf", of(&doubled, &insert("A59")), node, "points"),
        case(
            "a.dxf",
            of(&deep, &insert("A199")),
            node,
            "nested more than 128 deep",
        ),
        case(
            "a.dxf",
            of(
                &block("A", circle),
                &format!("{}|70|2000000000|71|2000000000|44|1|45|1", insert("A")),
            ),
            node,
            "farther than 2^40 px",
        ),
        case(
            "a.dxf",
            of("", "|0|CIRCLE|10|1e300|20|0|40|3"),
            node,
            "farther than 2^40 px",
        ),
        case("a.dxf", of("", "|0|CIRCLE|10|nan|20|0|40|3"), node, "line "),
        case("a.dxf", of("", "|0|CIRCLE|10|0|20|0|40|inf"), node, "line "),
        case(
            "a.dxf",
            of("", &"|0|LINE|10|0|20|0|11|1|21|1".repeat(300_000)),
            node,
            LARGE,
        ),
        case(
            "a.dxf",
            of(
                "",
                &format!("|0|LWPOLYLINE|70|1{}", "|10|0|20|0|10|5|20|3".repeat(700_000)),
            ),
            node,
            LARGE,
        ),
        case("a.dxf", "0\nSECTION\n2\nENTITIES\n0\nCIRCLE", node, "line "),
    ]
}

fn stl() -> Vec<Case> {
    let node = "mesh \"a.stl\" low=0 high=1";
    let binary = |said: u32, corners: &[[f32; 9]]| {
        let mut out = [vec![b' '; 80], said.to_le_bytes().to_vec()].concat();
        for corner in corners {
            out.extend([0; 12]);
            out.extend(corner.iter().flat_map(|v| v.to_le_bytes()));
            out.extend([0; 2]);
        }
        out
    };
    let many: Vec<[f32; 9]> = (0..500_000)
        .map(|n| {
            let x = n as f32;
            [x, 0.0, 0.0, x, 1.0, 0.0, x, 0.0, 1.0]
        })
        .collect();
    vec![
        case("a.stl", binary(u32::MAX, &[]), node, "more than"),
        case("a.stl", binary(9_000_000, &[[0.0; 9]]), node, "9000000"),
        case("a.stl", binary(1, &[[f32::NAN; 9]]), node, "1"),
        case("a.stl", binary(1, &[[f32::INFINITY; 9]]), node, "1"),
        case("a.stl", binary(many.len() as u32, &many), node, LARGE),
        case(
            "a.stl",
            "solid a\nfacet normal 0 0 1\nouter loop\nvertex 1e400 0",
            node,
            "a.stl",
        ),
    ]
}

fn fonts() -> Vec<Case> {
    let node = "text \"A\" font=\"a.ttf\" size=9 value=255";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plate/FredokaOne-Regular.ttf");
    let font = std::fs::read(path).unwrap();
    // Tables that are said to lie and reach anywhere.
    let mut claimed = font.clone();
    claimed[12..200].fill(0xFF);
    vec![
        case("a.ttf", &font[..100], node, "its list of tables is cut short"),
        case("a.ttf", &font[..font.len() / 2], node, TABLE),
        case(
            "a.ttf",
            &font[..font.len() / 2],
            "svg \"a.svg\" font=\"a.ttf\"",
            TABLE,
        ),
        case(
            "a.ttf",
            &font[..font.len() / 2],
            "svg \"a.svg\" { font \"a.ttf\" }",
            TABLE,
        ),
        case("a.ttf", claimed, node, "a.ttf"),
        case("a.ttf", vec![0; 40 << 20], node, LARGE),
    ]
}
