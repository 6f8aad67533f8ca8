//! Digests of designs, committed: a design has the same samples today, next year and on every device.
//!
//! A design is a file in `tests/golden/` or an example. One whose canvas names no depth is computed at both. A line of
//! `tests/golden/digests.txt` holds the design, the bits of a sample, the window and the digest that `relief digest`
//! prints: BLAKE3 of the samples row by row, each as u16 little-endian.
//!
//! - `RELIEF_BLESS=1 cargo test -p relief-engine --test golden` writes the digests of new designs. A digest that is
//!   there already stays: to change what a design means, its line has to be taken out by hand.
//! - `RELIEF_TEST_DEVICE` names the device that is compared as well ("vulkan:0", "cuda").
//! - `RELIEF_ROOT` is the folder of the repository where the test runs on another machine than it was built on.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use relief_design::Design;
use relief_engine::{Cancel, Depth, Options, Plan, Rect, Renderer, SamplesMut};
use relief_io::Files;

#[path = "engine/collect.rs"]
mod collect;
#[cfg(feature = "gpu")]
#[path = "gpu/device.rs"]
mod device;

use collect::Collect;

/// Windows of designs that are too large to compute whole: X, Y, columns, rows.
const WINDOWS: [(&str, [i64; 4]); 9] = [
    // Pads of the chip with tracks from them, and a hole that is tied to the plane.
    ("examples/board", [1_310, 1_010, 260, 240]),
    ("examples/board", [170, 190, 251, 223]),
    // A cross beside lenses, and the last lenses.
    ("examples/mask", [90, 1_690, 331, 180]),
    ("examples/mask", [2_101, 190, 150, 119]),
    ("examples/sheet", [0, 0, 1_531, 409]),
    // Across the first mark.
    ("examples/sheet", [1_850, 1_850, 1_101, 701]),
    // Where marks meet.
    ("examples/sheet", [999_000, 899_300, 1_999, 1_001]),
    ("examples/sheet", [1_234_567, 7, 63, 1_500]),
    ("examples/sheet", [1_998_977, 1_799_501, 1_023, 499]),
];

/// Which samples a digest is of. Ordered by name, bits and place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Golden {
    name: String,
    bits: u32,
    /// Column and row of the first sample, columns and rows.
    window: [i64; 4],
}

impl Golden {
    fn rect(&self) -> Rect {
        let [x, y, width, height] = self.window;
        Rect::new(x, y, width.cast_unsigned(), height.cast_unsigned()).unwrap()
    }
}

impl std::fmt::Display for Golden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [x, y, width, height] = self.window;
        write!(f, "{} {} {x},{y},{width}x{height}", self.name, self.bits)
    }
}

impl std::str::FromStr for Golden {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let [name, bits, window] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
            let numbers = window.split([',', 'x']).map(|number| number.parse().ok());
            Some(Self {
                name: name.to_owned(),
                bits: bits.parse().ok()?,
                window: numbers.collect::<Option<Vec<_>>>()?.try_into().ok()?,
            })
        };
        parse().ok_or_else(|| format!("\"{text}\" is not a design, bits and a window"))
    }
}

/// A design with the windows of it that have digests.
struct Case {
    design: Design,
    files: Files,
    windows: Vec<Golden>,
}

/// The folder of the repository.
fn root() -> PathBuf {
    std::env::var_os("RELIEF_ROOT").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."),
        PathBuf::from,
    )
}

fn folder() -> PathBuf {
    root().join("crates/relief-engine/tests/golden")
}

/// Names and files of all designs, in the order of their names.
fn designs() -> BTreeMap<String, PathBuf> {
    let entries = |folder: PathBuf| {
        let read = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        read.map(|entry| entry.unwrap().path())
    };
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let small = entries(folder())
        .filter(|path| path.extension().is_some_and(|extension| extension == "kdl"))
        .map(|path| (stem(&path), path));
    let examples = entries(root().join("examples"))
        .filter(|path| path.join("design.kdl").is_file())
        .map(|path| (format!("examples/{}", stem(&path)), path.join("design.kdl")));
    small.chain(examples).collect()
}

/// A design at one depth: that of its canvas, or `bits` where the canvas names none.
fn case(name: &str, path: &Path, text: &str) -> Case {
    let files = Files::new(path.parent().unwrap());
    let design = relief_design::parse(name, text, &files)
        .unwrap_or_else(|report| panic!("{}: {:#?}", path.display(), report.problems()));
    let canvas = design.canvas();
    let whole = [0, 0, canvas.width.cast_signed(), canvas.height.cast_signed()];
    let chosen: Vec<[i64; 4]> = WINDOWS
        .iter()
        .filter(|(of, _)| *of == name)
        .map(|(_, window)| *window)
        .collect();
    let windows = if chosen.is_empty() { vec![whole] } else { chosen };
    let golden = |window| Golden {
        name: name.to_owned(),
        bits: canvas.depth.bits(),
        window,
    };
    Case {
        windows: windows.into_iter().map(golden).collect(),
        design,
        files,
    }
}

/// All designs, each at the depths it is computed at.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, path) in designs() {
        let text = fs::read_to_string(&path).unwrap();
        cases.push(case(&name, &path, &text));
        let canvas = text.lines().find(|line| line.starts_with("canvas ")).unwrap();
        if !["depth=", "bits="].iter().any(|word| canvas.contains(word)) {
            let deeper = text.replacen(canvas, &format!("{canvas} depth=16"), 1);
            cases.push(case(&name, &path, &deeper));
        }
    }
    cases
}

/// What is committed.
fn committed() -> BTreeMap<Golden, String> {
    let text = fs::read_to_string(folder().join("digests.txt")).unwrap_or_default();
    text.lines()
        .map(|line| {
            let (golden, digest) = line.rsplit_once(' ').unwrap();
            (golden.parse().unwrap(), digest.to_owned())
        })
        .collect()
}

fn blessing() -> bool {
    std::env::var_os("RELIEF_BLESS").is_some()
}

fn digest(samples: impl IntoIterator<Item = u16>) -> String {
    let bytes: Vec<u8> = samples.into_iter().flat_map(u16::to_le_bytes).collect();
    blake3::hash(&bytes).to_string()
}

/// The window computed as a region of its own, streamed.
fn streamed(case: &Case, window: Rect, options: &Options) -> String {
    let options = options.clone().region(window);
    let plan = Plan::new(&case.design, &case.files, &options).unwrap();
    let renderer = Renderer::new(plan, &case.files, &Cancel::new()).unwrap();
    let mut sink = Collect::default();
    renderer.render(&mut sink, &mut |_| (), &Cancel::new()).unwrap();
    digest(sink.samples)
}

/// The window read from a renderer of the whole canvas.
fn read(renderer: &Renderer, window: Rect) -> String {
    let (area, cancel) = (usize::try_from(window.area()).unwrap(), Cancel::new());
    match renderer.plan().depth() {
        Depth::Eight => {
            let mut samples = vec![0xA5_u8; area];
            renderer
                .read(window, SamplesMut::Eight(&mut samples), &cancel)
                .unwrap();
            digest(samples.into_iter().map(u16::from))
        }
        Depth::Sixteen => {
            let mut samples = vec![0xA5A5_u16; area];
            renderer
                .read(window, SamplesMut::Sixteen(&mut samples), &cancel)
                .unwrap();
            digest(samples)
        }
    }
}

/// What must not matter, on the CPU.
fn cuttings() -> [(&'static str, Options); 3] {
    let with = |threads, tile, kept| {
        Options::default()
            .threads(threads)
            .with(|with| with.tile = tile)
            .with(|with| with.kept = kept)
    };
    [
        ("as planned", with(2, None, None)),
        ("tiles of 64 × 64", with(3, Some((64, 64)), None)),
        (
            "one thread, tiles of 701 × 9, nothing kept",
            with(1, Some((701, 9)), Some(0)),
        ),
    ]
}

/// Compares every window of every design; returns what differs, a line each.
fn differences(how: &str, options: &Options) -> String {
    let (committed, mut different) = (committed(), String::new());
    for case in cases() {
        let whole = Plan::new(&case.design, &case.files, options).unwrap();
        let whole = Renderer::new(whole, &case.files, &Cancel::new()).unwrap();
        for golden in &case.windows {
            let Some(expected) = committed.get(golden) else {
                writeln!(
                    different,
                    "{golden}: no digest is committed; RELIEF_BLESS=1 adds it"
                )
                .unwrap();
                continue;
            };
            for (by, found) in [
                ("streamed", streamed(&case, golden.rect(), options)),
                ("read", read(&whole, golden.rect())),
            ] {
                if found != *expected {
                    writeln!(
                        different,
                        "{golden}, {how}, {by}: {found}, committed is {expected}"
                    )
                    .unwrap();
                }
            }
        }
    }
    different
}

/// Adds the digests of designs that have none.
fn bless() {
    let mut digests = committed();
    for case in cases() {
        for golden in &case.windows {
            digests
                .entry(golden.clone())
                .or_insert_with(|| streamed(&case, golden.rect(), &Options::default()));
        }
    }
    let lines: String = digests
        .iter()
        .map(|(golden, digest)| format!("{golden} {digest}\n"))
        .collect();
    fs::write(folder().join("digests.txt"), lines).unwrap();
}

#[test]
fn every_design_has_its_committed_samples_however_it_is_computed() {
    if blessing() {
        bless();
    }
    for (how, options) in cuttings() {
        let different = differences(how, &options);
        assert!(
            different.is_empty(),
            "samples differ from what is committed:\n{different}"
        );
    }
}

#[test]
fn every_committed_digest_belongs_to_a_design() {
    if blessing() {
        return;
    }
    let mut left = committed();
    for golden in cases().iter().flat_map(|case| &case.windows) {
        left.remove(golden);
    }
    assert!(left.is_empty(), "nothing has these digests: {left:#?}");
}

/// Names of all node kinds, folds and blends stand in some design of the folder.
#[test]
fn every_node_fold_and_blend_has_a_design() {
    let texts: String = designs()
        .values()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let cases = cases();
    let kinds: Vec<&str> = cases
        .iter()
        .flat_map(|case| case.design.nodes().iter().map(|node| node.kind.name()))
        .collect();
    for signature in &relief_design::SIGNATURES {
        if signature.group != relief_design::Group::Node {
            continue;
        }
        // These stand for other nodes.
        let found = if ["use", "array", "chain", "rank", "open", "close", "top-hat"].contains(&signature.name)
        {
            texts.contains(&format!("{} ", signature.name))
        } else {
            kinds.contains(&signature.name)
        };
        assert!(found, "{}", signature.name);
    }
    for role in relief_design::tree::Role::ALL {
        assert!(texts.contains(&format!("({})", role.name())), "{role:?}");
    }
    for blend in ["mean", "max", "min", "sum", "last"] {
        assert!(texts.contains(&format!("blend=\"{blend}\"")), "{blend}");
    }
}

#[cfg(feature = "gpu")]
#[test]
fn every_design_has_its_committed_samples_on_a_device() {
    let Some(id) = device::device() else {
        return;
    };
    if blessing() {
        return;
    }
    let options = Options::default().devices(vec![id]);
    let different = differences(&id.to_string(), &options);
    assert!(
        different.is_empty(),
        "samples differ from what is committed:\n{different}"
    );
}
