//! Levels: every sample is the figure of its pixels, whatever way it was computed.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use relief_engine::{Cancel, Error, Options, Renderer, Statistic};
use relief_io::{
    Compression, FileCut, FileSink, Format, Level, LevelRenderer, Target, TileOptions, TiledTiff,
    ZarrOptions, ZarrSink,
};
use relief_raster::{Depth, Length, Rect};
use tempfile::TempDir;

use crate::jobs::{self, nothing, whole};

fn renderer(text: &str, region: Option<Rect>) -> Renderer {
    let options = Options::default().threads(2).with(|with| with.region = region);
    jobs::renderer(text, &options.levels())
}

/// A design of which much is known without computing it, and a corner is not.
fn sheet(width: u64, height: u64, depth: u64) -> String {
    format!(
        "canvas width={width} height={height} depth={depth} pixel=\"2.5um\"
compose {{
    (base)fill value=3
    (max)noise seed=7 width=61 height=47 x=20 y=9
    (max)disc diameter=40 value=200 x=300 y=100
}}"
    )
}

/// One of which nothing is known.
fn grain(width: u64, height: u64, depth: u64) -> String {
    format!("canvas width={width} height={height} depth={depth}\nnoise seed=3")
}

/// The level, pixel by pixel.
fn expected(pixels: &[u16], (width, height): (u64, u64), level: u32, statistic: Statistic) -> Vec<u16> {
    let side = 1_u64 << level;
    let mut out = Vec::new();
    for y in 0..height.div_ceil(side) {
        for x in 0..width.div_ceil(side) {
            let rows = y * side..height.min((y + 1) * side);
            let block: Vec<u64> = rows
                .flat_map(|y| {
                    (x * side..width.min((x + 1) * side))
                        .map(move |x| u64::from(pixels[(y * width + x) as usize]))
                })
                .collect();
            let n = block.len() as u64;
            out.push(match statistic {
                Statistic::Mean => (2 * block.iter().sum::<u64>() + n) / (2 * n),
                Statistic::Least => *block.iter().min().unwrap(),
                Statistic::Greatest => *block.iter().max().unwrap(),
            } as u16);
        }
    }
    out
}

/// A writer whose bytes are read afterwards.
#[derive(Clone, Default)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn raw(renderer: &Renderer, level: Level, most: u64) -> Result<Vec<u16>, Error> {
    let bytes = Bytes::default();
    let mut sink = FileSink::new(Target::Writer(Box::new(bytes.clone())), Format::Raw);
    LevelRenderer::new(renderer, level).render(&mut sink, most, &mut nothing, &Cancel::new())?;
    let bytes = bytes.0.lock().unwrap();
    Ok(match renderer.plan().depth() {
        Depth::Eight => bytes.iter().map(|&sample| sample.into()).collect(),
        Depth::Sixteen => bytes
            .chunks(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .collect(),
    })
}

const STATISTICS: [Statistic; 3] = [Statistic::Mean, Statistic::Least, Statistic::Greatest];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_level_is_exact(
        (width, height) in (1_u64..700, 1_u64..400),
        deep in any::<bool>(),
        known in any::<bool>(),
        level in 0_u32..8,
        statistic in 0_usize..3,
        cut in any::<bool>(),
    ) {
        let depth = if deep { 16 } else { 8 };
        let text = if known { sheet(width, height, depth) } else { grain(width, height, depth) };
        let region = cut.then(|| Rect::between((width / 3) as i64, (height / 5) as i64, width as i64, height as i64));
        let renderer = renderer(&text, region);
        let raster = renderer.plan().raster();
        let statistic = STATISTICS[statistic];
        let found = raw(&renderer, Level::new(level, statistic).unwrap(), 1 << 40).unwrap();
        let expected = expected(&whole(&renderer), (raster.width, raster.height), level, statistic);
        prop_assert!(found == expected);
    }
}

/// A level of a raster that no computer goes through, but for a mark.
#[test]
fn only_what_is_not_known_is_computed() {
    let side = 1_u64 << 34;
    let text = format!(
        "canvas width={side} height={side}
compose {{
    (base)fill value=9
    (max)noise seed=1 width=900 height=700 x=5000000000 y=7000000000
}}"
    );
    let renderer = renderer(&text, None);
    let level = Level::new(24, Statistic::Greatest).unwrap();
    // Asking for 1024 × 1024 blocks is more work than that.
    let refused = raw(&renderer, level, 1 << 20).unwrap_err().to_string();
    assert!(
        refused.contains("at most 1048576 are allowed") && refused.contains("take a part of the raster"),
        "{refused}"
    );
    let narrow = Rect::new(4_999_999_000, 6_999_999_000, 4_000, 3_000).unwrap();
    let part = renderer.part(narrow).unwrap();
    let level = Level::new(5, Statistic::Greatest).unwrap();
    let found = raw(&part, level, 1 << 24).unwrap();
    assert!(found == expected(&whole(&part), (4_000, 3_000), 5, Statistic::Greatest));
}

/// Rows of a level that are too long to gather as they stream come in parts.
#[test]
fn a_row_of_any_length_has_a_level() {
    let renderer = renderer(
        "canvas width=1099511627776 height=3\nramp axis=\"x\" from=0 to=255",
        None,
    );
    let part = renderer.part(Rect::new(1 << 39, 0, 1 << 24, 3).unwrap()).unwrap();
    let found = raw(&part, Level::new(1, Statistic::Mean).unwrap(), 1 << 40).unwrap();
    assert_eq!(found.len(), 2 << 23);
    assert!(found.iter().all(|&sample| sample == 127 || sample == 128));
}

#[test]
fn tiles_of_a_level_are_its_samples_in_any_file() {
    let renderer = renderer(&sheet(700, 500, 8), None);
    let level = Level::new(2, Statistic::Mean).unwrap();
    let expected = expected(&whole(&renderer), (700, 500), 2, Statistic::Mean);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.tif");
    let options = TileOptions {
        cut: FileCut::TilesOf(48, 32),
        compression: Compression::Deflate,
        one_bit: false,
        job: blake3::hash(b"a job"),
        threads: 2,
    };
    let level = LevelRenderer::new(&renderer, level);
    let mut sink = TiledTiff::new(path.clone(), options);
    level
        .render_tiles(&mut sink, None, 1 << 30, &mut nothing, &Cancel::new())
        .unwrap();
    let mut decoder = tiff::decoder::Decoder::new(std::fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(decoder.dimensions().unwrap(), (175, 125));
    let tiff::decoder::DecodingResult::U8(found) = decoder.read_image().unwrap() else {
        panic!("8 bits")
    };
    assert!(found.into_iter().map(u16::from).eq(expected.iter().copied()));

    let path = folder.path().join("out.zarr");
    let options = ZarrOptions {
        chunk: Some((175, 125)),
        shard: None,
        gzip: false,
        share: false,
        job: blake3::hash(b"a job"),
    };
    let mut sink = ZarrSink::new(path.clone(), options);
    level
        .render_tiles(&mut sink, None, 1 << 30, &mut nothing, &Cancel::new())
        .unwrap();
    let found = std::fs::read(path.join("0/c/0/0")).unwrap();
    assert!(found.into_iter().map(u16::from).eq(expected));
    let group: serde_json::Value =
        serde_json::from_slice(&std::fs::read(path.join("zarr.json")).unwrap()).unwrap();
    let scale =
        &group["attributes"]["ome"]["multiscales"][0]["datasets"][0]["coordinateTransformations"][0]["scale"];
    assert_eq!(scale, &serde_json::json!([10.0, 10.0]), "a pixel of 2.5 µm");
}

#[test]
fn a_preview_is_the_finest_level_that_fits() {
    for (width, height, side, level) in [
        (1_000, 10, 1_000, 0),
        (1_001, 10, 1_000, 1),
        (10, 2_001, 1_000, 2),
        (1 << 40, 1, 1, 40),
    ] {
        let raster = relief_engine::Raster::new(width, height, Depth::Eight);
        let found = Level::preview(&raster, side, Statistic::Mean);
        assert_eq!(found.number(), level, "{width} × {height}");
        let raster = found.raster(&raster);
        assert!(raster.width.max(raster.height) <= side);
    }
    let pixel = Length::metres(127, 6_000_000);
    let raster = relief_engine::Raster::new(1 << 20, 1, Depth::Eight).with_pixel(pixel);
    let level = Level::new(9, Statistic::Mean).unwrap();
    assert_eq!(level.raster(&raster).pixel, Length::metres(127 * 512, 6_000_000));
    assert!(Level::new(41, Statistic::Mean).is_err());
}
