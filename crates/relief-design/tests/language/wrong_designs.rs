//! Every wrong design in `tests/wrong` and in the texts of the codes, and the message that it gets.
//!
//! `RELIEF_BLESS=1 cargo test -p relief-design` writes the messages anew; the difference is then to be read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use miette::{GraphicalReportHandler, GraphicalTheme};
use relief_design::{
    Conversion, ImageError, ImageSource, Picture, Reading, Report, Setting, codes, explain, parse, read,
};
use relief_raster::Depth;

use crate::files;

/// Drawings in which something is wrong.
const DRAWINGS: [(&str, &str); 18] = [
    (
        "text.svg",
        "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'>\n  <text>a</text>\n  <rect width='9' height='9' fill='#fff'/>\n</svg>",
    ),
    (
        "loop.svg",
        "<svg xmlns='http://www.w3.org/2000/svg'>\n  <g id='a'>\n    <use href='#a'/>\n  </g>\n</svg>",
    ),
    ("html.svg", "<html/>"),
    ("broken.svg", "<svg xmlns='http://www.w3.org/2000/svg'>\n<g>"),
    ("text.gds", "no layout"),
    ("oasis.gds", "%SEMI-OASIS\r\n\u{1}\u{3}1.0"),
    ("stream.oas", "\0\u{6}\0\u{2}\u{2}X\0"),
    (
        "cut.oas",
        "%SEMI-OASIS\r\n\u{1}\u{3}1.0\0\u{a}\u{1}\u{e}\u{3}TOP\u{14}",
    ),
    ("text.oas", "no layout"),
    ("text.dxf", "no drawing\nat all\n"),
    (
        "unitless.dxf",
        "0\nSECTION\n2\nENTITIES\n0\nCIRCLE\n40\n3\n0\nENDSEC\n0\nEOF\n",
    ),
    ("text.gbr", "no board"),
    (
        "arc.gbr",
        "%FSLAX26Y26*%\n%MOMM*%\n%ADD10C,1*%\nD10*\nG02X1Y1D01*\nM02*\n",
    ),
    (
        "without_star.gbr",
        "%FSLAX26Y26*%\n%MOMM*%\nG75\n%LPD*%\n%ADD10R,3X2*%\nD10*\nX0Y0D03*\nM02*\n",
    ),
    ("words.stl", "solid a\nfacet normal 0 0 1\nouter ring\n"),
    ("open.stl", "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0"),
    ("short.stl", "no mesh"),
    ("empty.stl", "solid a\nendsolid a\n"),
];

/// The files that designs may name.
struct Folder;

impl ImageSource for Folder {
    fn open(&self, path: &str, conversion: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        let size = |path: &str| match path {
            "logo.png" | "cell.png" => Ok((100, 100)),
            _ => Err(format!("{path} does not exist")),
        };
        size.open(path, conversion)
    }

    fn data(&self, path: &str, _: u64) -> Result<Vec<u8>, String> {
        match path {
            "sizes.csv" => Ok(b"size\n30\n40\n".to_vec()),
            "labels.csv" => Ok(b"picture\nlogo.png\n".to_vec()),
            "missing.svg" | "missing.stl" | "missing.dxf" => Err(format!("{path} does not exist")),
            "text.ttf" => Ok(b"no font".to_vec()),
            _ => {
                let drawn = DRAWINGS.iter().find(|(name, _)| *name == path);
                let drawn = drawn.map(|(_, text)| text.as_bytes().to_vec());
                drawn
                    .or_else(|| files::drawing(path))
                    .ok_or_else(|| format!("{path} does not exist"))
            }
        }
    }

    fn table(&self, path: &str, _: Depth) -> Result<(), String> {
        match path {
            "laser.json" | "steel.json" => Ok(()),
            _ => Err(format!("{path} does not exist")),
        }
    }
}

fn rendered(report: &Report) -> String {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(100);
    let mut out = String::new();
    handler.render_report(&mut out, &report.underlined()).unwrap();
    // The lines of the renderer end in spaces at places.
    out.lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

fn compare(path: &Path, text: &str) {
    if std::env::var_os("RELIEF_BLESS").is_some() {
        std::fs::write(path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        text,
        expected,
        "{} differs; RELIEF_BLESS=1 writes it anew",
        path.display()
    );
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong")
}

/// The design of this kind, `wrong` or `right`, in the text of a code.
fn example(code: &str, kind: &str) -> Option<String> {
    let text = explain(code)?.split_once(&format!("```kdl {kind}\n"))?.1;
    Some(text.split_once("```")?.0.to_owned())
}

/// Codes whose wrong designs are too large to be written down, or wrong by what is given from outside.
const GENERATED: [&str; 3] = ["E102", "E103", "E607"];

#[test]
fn every_code_has_a_text_with_a_wrong_design_that_gives_it_and_a_right_one() {
    for code in codes().filter(|code| code.starts_with('E') && !GENERATED.contains(code)) {
        let wrong = example(code, "wrong").unwrap_or_else(|| panic!("{code} has no wrong design"));
        let name = format!("{code}.kdl");
        let report = parse(&name, &wrong, &Folder).expect_err(code);
        let found: BTreeSet<&str> = report.problems().iter().map(|p| p.code()).collect();
        assert_eq!(found, BTreeSet::from([code]), "{}", rendered(&report));
        compare(&folder().join(format!("{code}.txt")), &rendered(&report));
        let right = example(code, "right").unwrap_or_else(|| panic!("{code} has no right design"));
        if let Err(report) = parse(&name, &right, &Folder) {
            panic!("{code}: {}", rendered(&report));
        }
    }
}

#[test]
fn every_warning_has_a_text_with_a_design_that_gives_it_and_one_that_does_not() {
    // W208 is of a command.
    for code in codes().filter(|code| code.starts_with('W') && *code != "W208") {
        let doubtful = example(code, "wrong").unwrap_or_else(|| panic!("{code} has no wrong design"));
        let name = format!("{code}.kdl");
        let reading =
            read(&name, &doubtful, &Folder, &[]).unwrap_or_else(|report| panic!("{}", rendered(&report)));
        let report = reading.warnings.expect(code);
        let found: BTreeSet<&str> = report.problems().iter().map(|p| p.code()).collect();
        assert_eq!(found, BTreeSet::from([code]), "{}", rendered(&report));
        for problem in report.problems() {
            assert!(
                problem.is_warning() && problem.help_text().is_some(),
                "{code}: {problem}"
            );
            assert!(problem.pointers().next().is_some(), "{code}: {problem}");
        }
        compare(&folder().join(format!("{code}.txt")), &rendered(&report));
        let right = example(code, "right").unwrap_or_else(|| panic!("{code} has no right design"));
        match read(&name, &right, &Folder, &[]) {
            Ok(Reading { warnings: None, .. }) => {}
            Ok(Reading {
                warnings: Some(report),
                ..
            })
            | Err(report) => panic!("{code}: {}", rendered(&report)),
        }
    }
}

#[test]
fn every_wrong_design_gets_its_message() {
    let mut designs: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "kdl"))
        .collect();
    designs.sort();
    assert!(!designs.is_empty());
    for path in designs {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let report = parse(&name, &text, &Folder).expect_err(&name);
        compare(&path.with_extension("txt"), &rendered(&report));
    }
}

#[test]
fn every_problem_says_where_it_is_and_what_would_work() {
    for code in codes() {
        assert!(explain(code).unwrap().starts_with(&format!("# {code}: ")));
        if code.starts_with('W') {
            continue;
        }
        let Some(wrong) = example(code, "wrong") else {
            continue;
        };
        for problem in parse("a.kdl", &wrong, &Folder).unwrap_err().problems() {
            assert!(problem.help_text().is_some(), "{code}: {problem}");
            assert!(problem.pointers().next().is_some(), "{code}: {problem}");
        }
    }
}

#[test]
fn values_from_outside_that_fit_no_parameter_get_their_message() {
    let text = example("E607", "right").unwrap();
    assert!(read("E607.kdl", &text, &Folder, &[]).is_ok());
    let setting = |name: &str, value: &str| Setting {
        name: name.to_owned(),
        value: value.to_owned(),
        origin: "--set".to_owned(),
    };
    let wrong = [setting("serial", "A7"), setting("seriel", "7")];
    let report = read("E607.kdl", &text, &Folder, &wrong).expect_err("E607");
    assert!(report.problems().iter().all(|problem| problem.code() == "E607"));
    assert_eq!(report.problems().len(), 2);
    compare(&folder().join("E607.txt"), &rendered(&report));
}

#[test]
fn designs_too_large_to_be_written_down_get_their_message() {
    let header = "relief version=1\ncanvas width=1 height=1\n";
    let deep = format!(
        "{header}{}fill value=1{}\n",
        "compose {\n(base)".repeat(relief_design::MAX_DEPTH + 1),
        "\n}".repeat(relief_design::MAX_DEPTH + 1)
    );
    let long = format!("{header}{}", "\n".repeat(relief_design::MAX_TEXT));
    for (code, text) in [("E102", long), ("E103", deep)] {
        let report = parse(&format!("{code}.kdl"), &text, &Folder).expect_err(code);
        assert_eq!(report.problems()[0].code(), code);
        compare(&folder().join(format!("{code}.txt")), &rendered(&report));
    }
}
