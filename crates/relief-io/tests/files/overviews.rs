//! Overviews: figures of blocks that a raster leaves behind, against every sample of it.

use std::io;
use std::path::Path;

use proptest::prelude::*;
use relief_engine::sink::{Band, Raster, Samples, Sink};
use relief_engine::{Grid, Tile, TileSink};
use relief_io::{Cleanup, NullSink, Overview, OverviewSink, OverviewTiles};
use relief_raster::{Depth, Rect};
use tempfile::TempDir;

const NAME: [u8; 32] = [7; 32];

fn sample(x: u64, y: u64, seed: u64, max: u16) -> u16 {
    let mixed = (x.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ y.wrapping_mul(0xC2B2_AE3D_27D4_EB4F) ^ seed)
        .wrapping_mul(0xD6E8_FEB8_6659_FD93);
    // Some blocks have a narrow range.
    (mixed >> 40) as u16 & max >> (x / 256 % 3 + y / 256 % 2)
}

/// Streams a raster in bands of so many rows, or of a row in parts of so many columns.
fn streamed(
    sink: &mut dyn Sink,
    raster: &Raster,
    seed: u64,
    rows: u64,
    columns: Option<u64>,
) -> io::Result<()> {
    sink.begin(raster)?;
    let (wide, high) = columns.map_or((raster.width, rows), |columns| (columns, 1));
    for y in (0..raster.height).step_by(high as usize) {
        for x in (0..raster.width).step_by(wide as usize) {
            let rect = Rect::sized(wide, high)
                .translated(x as i64, y as i64)
                .intersection(&Rect::sized(raster.width, raster.height));
            let samples: Vec<u16> = (rect.y()..rect.bottom())
                .flat_map(|y| (rect.x()..rect.right()).map(move |x| (x, y)))
                .map(|(x, y)| sample(x as u64, y as u64, seed, raster.depth.max()))
                .collect();
            let eight: Vec<u8> = samples.iter().map(|sample| *sample as u8).collect();
            let samples = match raster.depth {
                Depth::Eight => Samples::Eight(&eight),
                Depth::Sixteen => Samples::Sixteen(&samples),
            };
            sink.write(&Band::new(rect, samples))?;
        }
    }
    sink.finish()
}

fn written(path: &Path, raster: &Raster, seed: u64, rows: u64, columns: Option<u64>) -> Overview {
    let mut sink = OverviewSink::new(NullSink::new(), path.to_owned(), NAME);
    streamed(&mut sink, raster, seed, rows, columns).unwrap();
    assert!(sink.problem().is_none(), "{:?}", sink.problem());
    Overview::open(path).unwrap()
}

/// Takes tiles and keeps none.
struct Tiles {
    tile: (u64, u64),
    /// A tile that it has.
    has: Option<u128>,
}

impl TileSink for Tiles {
    fn grid(&self, raster: &Raster) -> io::Result<Grid> {
        Ok(Grid::new(raster, self.tile.0, self.tile.1).unwrap())
    }

    fn memory(&self, _: &Raster, _: usize) -> u64 {
        0
    }

    fn begin(&mut self, _: &Raster, _: &Grid, _: &std::ops::Range<u128>) -> io::Result<()> {
        Ok(())
    }

    fn has(&self, number: u128) -> io::Result<bool> {
        Ok(self.has == Some(number))
    }

    fn write(&self, _: &Tile<'_>) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn in_tiles(sink: &mut dyn TileSink, raster: &Raster, seed: u64) -> io::Result<()> {
    let grid = sink.grid(raster)?;
    sink.begin(raster, &grid, &(0..grid.count()))?;
    for number in (0..grid.count()).rev() {
        if sink.has(number)? {
            continue;
        }
        let rect = grid.rect(number);
        let samples: Vec<u16> = (rect.y()..rect.bottom())
            .flat_map(|y| (rect.x()..rect.right()).map(move |x| (x, y)))
            .map(|(x, y)| sample(x as u64, y as u64, seed, raster.depth.max()))
            .collect();
        let eight: Vec<u8> = samples.iter().map(|sample| *sample as u8).collect();
        let samples = match raster.depth {
            Depth::Eight => Samples::Eight(&eight),
            Depth::Sixteen => Samples::Sixteen(&samples),
        };
        sink.write(&Tile::new(number, rect, samples))?;
    }
    sink.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_block_has_the_figures_of_its_samples(
        width in prop_oneof![1..10_u64, 250..260_u64, 500..1_300_u64],
        height in prop_oneof![1..10_u64, 250..260_u64, 500..800_u64],
        deep in any::<bool>(),
        rows in 1..300_u64,
        parts in proptest::option::of(100..700_u64),
        seed in any::<u64>(),
    ) {
        let folder = TempDir::new().unwrap();
        let raster = Raster::new(width, height, if deep { Depth::Sixteen } else { Depth::Eight });
        let overview = written(&folder.path().join("a.overview"), &raster, seed, rows, parts);
        prop_assert_eq!((overview.digest(), overview.size(), overview.depth()), (&NAME, (width, height), raster.depth));
        let (first, last) = overview.levels();
        prop_assert_eq!((width.div_ceil(1 << last), height.div_ceil(1 << last)), (1, 1));
        for level in first..=last {
            let side = 1_u64 << level;
            let (columns, rows) = (width.div_ceil(side), height.div_ceil(side));
            let blocks = overview.read(level, Rect::sized(columns, rows)).unwrap();
            prop_assert_eq!(blocks.len() as u64, columns * rows);
            for (at, block) in blocks.iter().enumerate() {
                let (x, y) = (at as u64 % columns * side, at as u64 / columns * side);
                let samples = (y..height.min(y + side)).flat_map(|y| (x..width.min(x + side)).map(move |x| (x, y)));
                let samples = samples.map(|(x, y)| sample(x, y, seed, raster.depth.max()));
                let (mut n, mut sum, mut least, mut greatest) = (0, 0, u16::MAX, 0);
                for sample in samples {
                    (n, sum) = (n + 1, sum + u128::from(sample));
                    (least, greatest) = (sample.min(least), sample.max(greatest));
                }
                prop_assert_eq!((block.pixels, block.sum), (n, (sum, sum)));
                prop_assert_eq!((block.least, block.greatest), ((least, least), (greatest, greatest)));
            }
        }
        // In tiles, the last first.
        let tiled = folder.path().join("b.overview");
        let mut sink = OverviewTiles::new(Tiles { tile: (512, 256), has: None }, tiled.clone(), NAME);
        in_tiles(&mut sink, &raster, seed).unwrap();
        prop_assert_eq!(sink.problem(), None);
        prop_assert!(std::fs::read(&tiled).unwrap() == std::fs::read(folder.path().join("a.overview")).unwrap());
        let bytes = std::fs::metadata(folder.path().join("a.overview")).unwrap().len();
        prop_assert!(u128::from(bytes) <= raster.bytes() / 2_000 + 64 + 12 * 24, "{bytes} bytes");
    }
}

#[test]
fn an_overview_that_is_none_or_damaged_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.overview");
    let raster = Raster::new(700, 300, Depth::Eight);
    drop(written(&path, &raster, 1, 300, None));
    let good = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8], says: &str| {
        std::fs::write(&path, bytes).unwrap();
        let error = Overview::open(&path).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    refused(b"", "not an overview");
    refused(b"P5 1 1 255\n0", "not an overview");
    #[cfg(unix)]
    {
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        for (path, says) in [
            (fifo.as_path(), "not a regular file"),
            (folder.path(), "a folder"),
        ] {
            let error = Overview::open(path).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
    refused(&good[..good.len() - 1], "not whole");
    refused(&[&good[..], &[0]].concat(), "not whole");
    for place in 8..64 {
        let mut bytes = good.clone();
        bytes[place] ^= 0x80;
        refused(&bytes, "head is damaged");
    }
    // A sum that samples between the least and the greatest cannot have.
    let mut bytes = good.clone();
    bytes[64 + 5] = 1;
    std::fs::write(&path, &bytes).unwrap();
    let error = Overview::open(&path)
        .unwrap()
        .read(8, Rect::sized(3, 2))
        .unwrap_err()
        .to_string();
    assert!(error.contains("damaged at 0, 0 of level 8"), "{error}");
    std::fs::write(&path, &good).unwrap();
    let overview = Overview::open(&path).unwrap();
    for (level, window) in [
        (7, Rect::sized(1, 1)),
        (8, Rect::sized(4, 1)),
        (8, Rect::EMPTY),
        (11, Rect::sized(1, 1)),
    ] {
        assert_eq!(
            overview.read(level, window).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }
}

#[test]
fn an_overview_appears_with_the_whole_raster_or_not_at_all() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.overview");
    let raster = Raster::new(300, 300, Depth::Eight);
    // A raster that breaks off.
    let mut sink = OverviewSink::new(NullSink::new(), path.clone(), NAME);
    sink.begin(&raster).unwrap();
    sink.write(&Band::new(Rect::sized(300, 1), Samples::Eight(&[0; 300])))
        .unwrap();
    assert!(sink.finish().is_err());
    drop(sink);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // The handler of an interrupt removes it while it is written.
    let cleanup = Cleanup::default();
    let mut sink = OverviewSink::new(NullSink::new(), path.clone(), NAME).with_cleanup(cleanup.clone());
    sink.begin(&raster).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    cleanup.remove();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // A place where no file can be: the raster is complete all the same.
    let mut sink = OverviewSink::new(NullSink::new(), folder.path().join("nowhere/a.overview"), NAME);
    streamed(&mut sink, &raster, 1, 300, None).unwrap();
    assert!(sink.problem().is_some());
    assert_eq!(sink.inner().samples(), 90_000);
    assert!(!OverviewSink::<NullSink>::fits(&Raster::new(
        1 << 40,
        1,
        Depth::Eight
    )));
    assert!(!OverviewSink::<NullSink>::fits(&Raster::new(
        1 << 24,
        1 << 24,
        Depth::Eight
    )));
}

#[test]
fn tiles_that_do_not_make_a_whole_overview_leave_none() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.overview");
    let raster = Raster::new(700, 300, Depth::Eight);
    for (tile, has, says) in [
        ((48, 256), None, "no multiples of 256"),
        ((256, 48), None, "no multiples of 256"),
        ((256, 256), Some(2), "an earlier run"),
    ] {
        let mut sink = OverviewTiles::new(Tiles { tile, has }, path.clone(), NAME);
        in_tiles(&mut sink, &raster, 1).unwrap();
        let problem = sink.problem().unwrap();
        assert!(problem.contains(says), "{problem}");
        assert_eq!(sink.into_inner().tile, tile);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
