//! Odd but valid pictures by independent writers, and files that are to be refused: `corpus/make.py` makes them, and
//! has an independent reader and exact fractions say what each reads as.
//!
//! `RELIEF_BLESS=1` writes the table of `docs/reliability/pictures.md` anew.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use relief_design::{Conversion, Gray};
use relief_engine::source::{ImageError, ImageSource};
use relief_io::Files;
use relief_raster::{Depth, Rect};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn cases() -> Vec<Value> {
    let text = fs::read_to_string(folder().join("index.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn conversion(case: &Value) -> Conversion {
    let gray = match case["gray"].as_str().unwrap_or("luma") {
        "luma" => Gray::Luma,
        "average" => Gray::Average,
        "red" => Gray::Red,
        "green" => Gray::Green,
        "blue" => Gray::Blue,
        "cyan" => Gray::Cyan,
        "magenta" => Gray::Magenta,
        "yellow" => Gray::Yellow,
        "black" => Gray::Black,
        other => panic!("{other} is not a gray"),
    };
    let range = case["low"].as_f64().zip(case["high"].as_f64());
    Conversion {
        gray,
        range,
        ..Conversion::default()
    }
}

/// All samples, row by row, in the order of their numbers.
fn samples(files: &Files, path: &str, conversion: &Conversion, depth: Depth) -> Result<Vec<u16>, ImageError> {
    let picture = files.open(path, conversion)?;
    let (width, height) = picture.size();
    let mut rows: Vec<Option<Vec<u16>>> = vec![None; usize::try_from(height).unwrap()];
    picture.read(Rect::sized(width, height), depth, &mut |number, row| {
        assert_eq!(row.len() as u64, width, "{path}");
        let place = &mut rows[usize::try_from(number).unwrap()];
        assert!(
            place.replace(row.to_vec()).is_none(),
            "{path}: row {number} came twice"
        );
        ControlFlow::Continue(())
    })?;
    Ok(rows
        .into_iter()
        .flat_map(|row| row.unwrap_or_else(|| panic!("{path}: a row is missing")))
        .collect())
}

fn expected(case: &Value, depth: Depth) -> Vec<u16> {
    let (key, digits) = match depth {
        Depth::Eight => ("eight", 2),
        Depth::Sixteen => ("sixteen", 4),
    };
    let text = case[key].as_str().unwrap();
    text.as_bytes()
        .chunks(digits)
        .map(|hex| u16::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap())
        .collect()
}

/// What is wrong with what a file that is to be read reads as.
fn check_read(files: &Files, path: &str, case: &Value) -> Result<(), String> {
    let conversion = conversion(case);
    let opened = files.open(path, &conversion).map_err(|error| error.to_string())?;
    let size = opened.size();
    let expected_size = (case["width"].as_u64().unwrap(), case["height"].as_u64().unwrap());
    if size != expected_size {
        return Err(format!("{path}: {size:?} pixels, not {expected_size:?}"));
    }
    for depth in [Depth::Eight, Depth::Sixteen] {
        let found = samples(files, path, &conversion, depth).map_err(|error| error.to_string())?;
        let expected = expected(case, depth);
        // Decoders of JPEG may differ by a little, told in steps of 255.
        let within = case["within"].as_u64().unwrap() * u64::from(depth.max() / 255);
        let differ = |(a, b): &(&u16, &u16)| u64::from(a.abs_diff(**b)) > within;
        let wrong = found.iter().zip(&expected).filter(differ).count();
        if wrong > 0 || found.len() != expected.len() {
            let first = found
                .iter()
                .zip(&expected)
                .position(|pair| differ(&pair))
                .unwrap_or(0);
            return Err(format!(
                "{path} to {depth}: {wrong} of {} samples differ; sample {first} is {}, not {}",
                expected.len(),
                found[first],
                expected[first]
            ));
        }
    }
    Ok(())
}

/// What is wrong with how a file that is to be refused is refused.
fn check_refused(files: &Files, path: &str, case: &Value) -> Result<(), String> {
    let conversion = conversion(case);
    let opened = files
        .open(path, &conversion)
        .map(drop)
        .map_err(|error| error.to_string());
    let late = case["late"].as_bool().unwrap();
    let message = match (opened, late) {
        (Err(message), _) => message,
        (Ok(_), false) => return Err(format!("{path}: opens, and must not")),
        (Ok(_), true) => match samples(files, path, &conversion, Depth::Eight) {
            Err(error) => error.to_string(),
            Ok(_) => return Err(format!("{path}: is read, and must not be")),
        },
    };
    for part in case["refused"].as_array().unwrap() {
        let part = part.as_str().unwrap();
        if !message.contains(part) {
            return Err(format!("{path}: {message:?} does not say {part:?}"));
        }
    }
    if message.contains('{') || message.contains("Some(") || message.contains("Error") {
        return Err(format!("{path}: {message:?} is not a sentence"));
    }
    Ok(())
}

#[test]
fn every_odd_picture_reads_as_an_independent_reader_says_or_is_refused_by_name() {
    let files = Files::confined(folder().join("files"));
    let (mut wrong, mut counts) = (Vec::new(), BTreeMap::new());
    let cases = cases();
    for case in &cases {
        let path = case["file"].as_str().unwrap();
        let refused = case["refused"].is_array();
        let outcome = if refused {
            check_refused(&files, path, case)
        } else {
            check_read(&files, path, case)
        };
        if let Err(what) = outcome {
            wrong.push(what);
        }
        let format = path.rsplit('.').next().unwrap().to_uppercase();
        let count: &mut (usize, usize) = counts.entry(format).or_default();
        if refused {
            count.1 += 1;
        } else {
            count.0 += 1;
        }
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
    let mut listed: Vec<String> = fs::read_dir(folder().join("files"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    listed.sort();
    let named: Vec<&str> = cases.iter().map(|case| case["file"].as_str().unwrap()).collect();
    assert_eq!(listed, named, "the index does not name the files that are there");
    let page = page(&counts);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reliability/pictures.md");
    if std::env::var_os("RELIEF_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, page).unwrap();
    } else {
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            there,
            page,
            "{} differs; RELIEF_BLESS=1 writes it anew",
            path.display()
        );
    }
    let (read, refused) = counts.values().fold((0, 0), |(a, b), &(c, d)| (a + c, b + d));
    println!("{read} pictures read sample by sample, {refused} refused by name");
}

fn page(counts: &BTreeMap<String, (usize, usize)>) -> String {
    let mut page = "# Pictures\n\nThis page is written by `RELIEF_BLESS=1 cargo test -p relief-io --test files pictures`. \
                    The files lie in `crates/relief-io/tests/corpus`,\nmade by independent writers; an independent reader \
                    says what each reads as.\n\n| format | read, all samples equal | refused by name |\n|---|--:|--:|\n"
        .to_owned();
    for (format, (read, refused)) in counts {
        let _ = writeln!(page, "| {format} | {read} | {refused} |");
    }
    let (read, refused) = counts.values().fold((0, 0), |(a, b), &(c, d)| (a + c, b + d));
    let _ = writeln!(page, "| all | {read} | {refused} |");
    page
}
