//! The pictures of the reference of nodes: what the example of each node makes, at a third of its size and in 16 grays.
//!
//! `RELIEF_BLESS=1 cargo test -p relief-io --test files reference_pictures` writes those that are missing or differ. Pictures
//! and rows that an example names are made here.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use relief_design::{Conversion, Group, ImageError, ImageSource, Picture, SIGNATURES, Signature, parse};
use relief_engine::{Cancel, Options, Plan, Renderer, SamplesMut};
use relief_raster::{Depth, Rect};

/// The canvas of an example, and how much smaller its picture is.
const WIDTH: u64 = 480;
const HEIGHT: u64 = 360;
const SMALLER: u64 = 3;

/// A picture that an example names.
struct Drawn {
    size: (u64, u64),
    /// The gray of a pixel, 0 to 255.
    gray: fn(i64, i64) -> i64,
}

/// A hill with a lake and a sun: grays of all kinds.
fn photo(x: i64, y: i64) -> i64 {
    let hill = 200 + (x - 240) * (x - 240) / 600;
    let sun = (x - 350) * (x - 350) + (y - 80) * (y - 80);
    match () {
        () if sun < 45 * 45 => 240,
        () if y > 300 => 60 + (x * 3 + y * 7) % 40,
        () if y > hill => 110 - (y - hill) / 3 + x / 16,
        () => 150 + (300 - y) / 4,
    }
}

/// A ring and a bar, black and white.
fn logo(x: i64, y: i64) -> i64 {
    let from_middle = (x - 90) * (x - 90) + (y - 90) * (y - 90);
    let ring = (40 * 40..80 * 80).contains(&from_middle);
    let bar = (190..250).contains(&x) && (15..165).contains(&y);
    if ring || bar { 255 } else { 0 }
}

/// A round bump that reaches the border of its square.
fn cell(x: i64, y: i64) -> i64 {
    let from_middle = (x - 50) * (x - 50) + (y - 50) * (y - 50);
    (230 - from_middle * 230 / 2_500).max(0)
}

struct Examples;

impl ImageSource for Examples {
    fn open(&self, path: &str, _: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        let drawn = match path {
            "logo.png" => Drawn {
                size: (260, 180),
                gray: logo,
            },
            "cell.png" => Drawn {
                size: (100, 100),
                gray: cell,
            },
            _ => Drawn {
                size: (WIDTH, HEIGHT),
                gray: photo,
            },
        };
        Ok(Box::new(drawn))
    }

    /// Drawings and fonts are those of the examples.
    fn data(&self, path: &str, _: u64) -> Result<Vec<u8>, String> {
        let bytes: &[u8] = match path.rsplit_once('.') {
            Some((_, "svg")) => include_bytes!("../../../../examples/plate/logo.svg"),
            Some((_, "gds")) => include_bytes!("../../../../examples/mask/mask.gds"),
            Some((_, "oas")) => include_bytes!("../../../../examples/mask/mask.oas"),
            Some((_, "dxf")) => include_bytes!("../../../relief-engine/tests/golden/sheet.dxf"),
            Some((_, "gbr")) => include_bytes!("../../../../examples/board/copper.gbr"),
            Some((_, "stl")) => include_bytes!("../../../relief-engine/tests/golden/coin.stl"),
            Some((_, "ttf")) => include_bytes!("../../../../examples/plate/FredokaOne-Regular.ttf"),
            _ => return Err(format!("{path} does not exist")),
        };
        Ok(bytes.to_vec())
    }
}

impl Picture for Drawn {
    fn size(&self) -> (u64, u64) {
        self.size
    }

    fn read(
        &self,
        window: Rect,
        depth: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError> {
        let scale = i64::from(depth.max()) / 255;
        for y in window.y()..window.bottom() {
            let samples: Vec<u16> = (window.x()..window.right())
                .map(|x| ((self.gray)(x, y).clamp(0, 255) * scale) as u16)
                .collect();
            if row(y as u64, &samples).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// A design of the example of a node, which fills the canvas or lies in it.
fn design(signature: &Signature) -> String {
    let example = signature.example;
    let node = match signature.name {
        "use" => format!(
            "define \"dot\" {{ disc diameter=90 value=255 }}\ncompose {{\n{example}\n(add)use \"dot\" x=150 y=120\n}}"
        ),
        _ if example.starts_with('(') => format!("compose {{\n{example}\n}}"),
        _ => format!("compose {{\n(add){example}\n}}"),
    };
    format!("relief version=1\ncanvas width={WIDTH} height={HEIGHT} pixel=\"10um\"\n{node}\n")
}

/// Sixteen grays of the means of squares.
fn grays(signature: &Signature) -> Vec<u8> {
    let text = design(signature);
    let design = parse(signature.name, &text, &Examples)
        .unwrap_or_else(|report| panic!("{text}\n{:?}", report.problems()));
    let plan = Plan::new(&design, &Examples, &Options::default()).unwrap();
    let renderer = Renderer::new(plan, &Examples, &Cancel::new()).unwrap();
    let mut samples = vec![0_u8; (WIDTH * HEIGHT) as usize];
    let all = Rect::sized(WIDTH, HEIGHT);
    renderer
        .read(all, SamplesMut::Eight(&mut samples), &Cancel::new())
        .unwrap();
    let mean = |x: u64, y: u64| {
        let square = (0..SMALLER * SMALLER).map(|i| (x * SMALLER + i % SMALLER, y * SMALLER + i / SMALLER));
        let sum: u64 = square
            .map(|(x, y)| u64::from(samples[(y * WIDTH + x) as usize]))
            .sum();
        // To the nearest of 0, 17, … 255.
        ((2 * sum / (SMALLER * SMALLER) + 17) / 34) as u8
    };
    let rows = (0..HEIGHT / SMALLER).flat_map(|y| (0..WIDTH / SMALLER).map(move |x| (x, y)));
    rows.map(|(x, y)| mean(x, y)).collect()
}

fn write(path: &Path, grays: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let out = BufWriter::new(File::create(path).unwrap());
    let mut encoder = png::Encoder::new(out, (WIDTH / SMALLER) as u32, (HEIGHT / SMALLER) as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Four);
    encoder.set_compression(png::Compression::High);
    let packed: Vec<u8> = grays.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    encoder.write_header().unwrap().write_image_data(&packed).unwrap();
}

/// The grays of a picture on disk; nothing where there is none of this form.
fn read(path: &Path) -> Option<Vec<u8>> {
    let decoder = png::Decoder::new(BufReader::new(File::open(path).ok()?));
    let mut reader = decoder.read_info().ok()?;
    let mut packed = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut packed).ok()?;
    let is_ours = (info.width, info.height) == ((WIDTH / SMALLER) as u32, (HEIGHT / SMALLER) as u32)
        && (info.color_type, info.bit_depth) == (png::ColorType::Grayscale, png::BitDepth::Four);
    is_ours.then(|| packed.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect())
}

#[test]
fn every_node_has_a_picture_of_its_example() {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images/nodes");
    let nodes = SIGNATURES
        .iter()
        .filter(|signature| signature.group == Group::Node);
    let mut names = Vec::new();
    for signature in nodes {
        let grays = grays(signature);
        assert!(
            grays.iter().any(|gray| *gray != grays[0]) || signature.name == "fill",
            "{}",
            signature.name
        );
        let name = format!("{}.png", signature.name);
        let path = folder.join(&name);
        names.push(name);
        if std::env::var_os("RELIEF_BLESS").is_some() && read(&path).as_ref() != Some(&grays) {
            write(&path, &grays);
        }
        assert!(
            read(&path) == Some(grays),
            "{} is stale; RELIEF_BLESS=1 writes it anew",
            path.display()
        );
    }
    names.sort();
    let mut found: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, names, "no picture of what is not a node");
}
