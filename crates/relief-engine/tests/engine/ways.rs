//! One design by every way to compute it, against the oracle.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use relief_engine::{Error, Options, Plan, Rect};

use crate::oracle::evaluate::Oracle;
use crate::oracle::model::{Model, Picture};
use crate::oracle::nodes::Kind;
use crate::pictures::Pictures;
use crate::run::{banded, design, part, rendered, renderer, window};

/// What must not matter.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) tile: Option<(u64, u64)>,
    pub(crate) threads: usize,
    /// `None`: as much as wanted; else so much more than the least.
    pub(crate) memory: Option<u64>,
    pub(crate) kept: Option<u64>,
    /// The region in thousandths of the canvas: left, top, right, bottom.
    pub(crate) region: Option<[u64; 4]>,
    /// The window of the region, likewise.
    pub(crate) window: [u64; 4],
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            tile,
            threads,
            memory,
            kept,
            region,
            window,
        } = self;
        write!(
            f,
            "tile: {tile:?}, threads: {threads}, memory: {memory:?}, kept: {kept:?}, region: {region:?}, window: {window:?}"
        )
    }
}

pub(crate) const TILES: [Option<(u64, u64)>; 6] = [
    None,
    Some((1, 1)),
    Some((7, 13)),
    Some((64, 64)),
    Some((512, 512)),
    Some((100_000, 3)),
];
pub(crate) const KEPT: [Option<u64>; 3] = [None, Some(0), Some(200)];

pub(crate) fn ways() -> impl Strategy<Value = Way> {
    let part = || [0_u64..1_000, 0_u64..1_000, 0_u64..1_000, 0_u64..1_000];
    (
        proptest::sample::select(&TILES[..]),
        proptest::sample::select(&[1_usize, 2, 5][..]),
        proptest::option::of(0_u64..5_000),
        proptest::sample::select(&KEPT[..]),
        proptest::option::of(part()),
        part(),
    )
        .prop_map(|(tile, threads, memory, kept, region, window)| Way {
            tile,
            threads,
            memory,
            kept,
            region,
            window,
        })
}

/// The part of a raster that these thousandths say; at least a pixel.
pub(crate) fn cut(width: u64, height: u64, [a, b, c, d]: [u64; 4]) -> Rect {
    let side = |a: u64, b: u64, length: u64| {
        let (low, high) = (a.min(b) * length / 1_000, a.max(b) * length / 1_000);
        (low as i64, high - low + 1)
    };
    let ((x, width), (y, height)) = (side(a, c, width), side(b, d, height));
    Rect::new(x, y, width, height).unwrap()
}

/// Computes a model in one way and compares every sample with `expected`, the raster of the canvas.
pub(crate) fn check(model: &Model, expected: &[u16], way: &Way) -> Result<(), TestCaseError> {
    let (design, images) = (design(model), Pictures(model.pictures.clone()));
    let region = way.region.map(|part| cut(model.width, model.height, part));
    let mut options = Options::default()
        .with(|with| with.region = region)
        .threads(way.threads)
        .with(|with| with.tile = way.tile)
        .with(|with| with.kept = way.kept);
    if let Some(more) = way.memory {
        options.memory = Some(0);
        let Err(Error::Memory { needed, .. }) = Plan::new(&design, &images, &options) else {
            return Err(TestCaseError::fail("a plan without memory"));
        };
        options.memory = Some(needed + more);
    }
    let plan =
        Plan::new(&design, &images, &options).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert!(plan.peak().total() <= options.memory.unwrap_or(relief_engine::DEFAULT_MEMORY));
    let renderer = renderer(&design, &images, &options);
    let region = region.unwrap_or(Rect::sized(model.width, model.height));
    let expected = part(expected, model.width, region);
    let failed = |error: Error| TestCaseError::fail(error.to_string());
    compare("render", &rendered(&renderer).map_err(failed)?, &expected, region)?;
    compare("bands", &banded(&renderer).map_err(failed)?, &expected, region)?;
    let asked = cut(region.width(), region.height(), way.window);
    let found = window(&renderer, asked).map_err(failed)?;
    compare("read", &found, &part(&expected, region.width(), asked), asked)
}

pub(crate) fn compare(way: &str, found: &[u16], expected: &[u16], rect: Rect) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), expected.len(), "{}", way);
    if let Some(at) = (0..found.len()).find(|at| found[*at] != expected[*at]) {
        let (x, y) = (at as u64 % rect.width(), at as u64 / rect.width());
        return Err(TestCaseError::fail(format!(
            "{way}: sample {x},{y} of {rect:?} is {}, {} is right",
            found[at], expected[at]
        )));
    }
    Ok(())
}

pub(crate) const PLAIN: Way = Way {
    tile: None,
    threads: 2,
    memory: None,
    kept: None,
    region: None,
    window: [0, 0, 999, 999],
};

pub(crate) fn plain(model: &Model) {
    every(model, &[PLAIN]);
}

pub(crate) fn every(model: &Model, ways: &[Way]) {
    let expected = Oracle::new(model).raster();
    for way in ways {
        if let Err(error) = check(model, &expected, way) {
            panic!("{error}\n{way:?}{model:?}");
        }
    }
}

/// All ways that the cross of tiles, threads, memory and kept bytes gives.
pub(crate) fn cross() -> Vec<Way> {
    let mut ways = Vec::new();
    for tile in TILES {
        for threads in [1, 5] {
            for kept in KEPT {
                for memory in [Some(500), None] {
                    ways.push(Way {
                        tile,
                        threads,
                        memory,
                        kept,
                        region: None,
                        window: [100, 200, 700, 900],
                    });
                }
            }
        }
    }
    ways
}

pub(crate) fn model(width: u64, height: u64, root: impl Into<Kind>) -> Model {
    let pixel = Picture {
        width: 1,
        height: 1,
        samples: vec![200],
    };
    Model {
        width,
        height,
        max: 255,
        pictures: vec![pixel],
        definitions: Vec::new(),
        root: root.into(),
    }
}
