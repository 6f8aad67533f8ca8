//! Random designs against the oracle, and the same bytes by every way to compute them.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use relief_engine::{Error, Options, Plan, Rect};

use crate::oracle::evaluate::Oracle;
use crate::oracle::model::{Fold, Item, Kind, Model, Picture, Tone};
use crate::oracle::strategy::models;
use crate::pictures::Pictures;
use crate::run::{banded, design, part, rendered, renderer, window};

/// What must not matter.
#[derive(Clone)]
struct Way {
    tile: Option<(u64, u64)>,
    threads: usize,
    /// `None`: as much as wanted; else so much more than the least.
    memory: Option<u64>,
    kept: Option<u64>,
    /// The region in thousandths of the canvas: left, top, right, bottom.
    region: Option<[u64; 4]>,
    /// The window of the region, likewise.
    window: [u64; 4],
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

const TILES: [Option<(u64, u64)>; 6] = [
    None,
    Some((1, 1)),
    Some((7, 13)),
    Some((64, 64)),
    Some((512, 512)),
    Some((100_000, 3)),
];
const KEPT: [Option<u64>; 3] = [None, Some(0), Some(200)];

fn ways() -> impl Strategy<Value = Way> {
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
fn cut(width: u64, height: u64, [a, b, c, d]: [u64; 4]) -> Rect {
    let side = |a: u64, b: u64, length: u64| {
        let (low, high) = (a.min(b) * length / 1_000, a.max(b) * length / 1_000);
        (low as i64, high - low + 1)
    };
    let ((x, width), (y, height)) = (side(a, c, width), side(b, d, height));
    Rect::new(x, y, width, height).unwrap()
}

/// Computes a model in one way and compares every sample with `expected`, the raster of the canvas.
fn check(model: &Model, expected: &[u16], way: &Way) -> Result<(), TestCaseError> {
    let (design, images) = (design(model), Pictures(model.pictures.clone()));
    let region = way.region.map(|part| cut(model.width, model.height, part));
    let mut options = Options {
        region,
        threads: Some(way.threads),
        memory: None,
        tile: way.tile,
        kept: way.kept,
        sink: 0,
    };
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

fn compare(way: &str, found: &[u16], expected: &[u16], rect: Rect) -> Result<(), TestCaseError> {
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

const PLAIN: Way = Way {
    tile: None,
    threads: 2,
    memory: None,
    kept: None,
    region: None,
    window: [0, 0, 999, 999],
};

fn plain(model: &Model) {
    every(model, &[PLAIN]);
}

fn every(model: &Model, ways: &[Way]) {
    let expected = Oracle::new(model).raster();
    for way in ways {
        if let Err(error) = check(model, &expected, way) {
            panic!("{error}\n{way:?}{model:?}");
        }
    }
}

/// So many cases, unless PROPTEST_CASES says how many. A failure is kept as a test with a name, not as a seed.
fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() {
            default.cases
        } else {
            cases
        },
        failure_persistence: None,
        max_shrink_iters: 4_000,
        ..default
    }
}

proptest! {
    #![proptest_config(config(800))]

    #[test]
    fn random_designs_have_the_samples_of_their_definitions(
        model in models(),
        ways in proptest::collection::vec(ways(), 2),
    ) {
        let expected = Oracle::new(&model).raster();
        check(&model, &expected, &PLAIN)?;
        for way in &ways {
            check(&model, &expected, way)?;
        }
    }
}
