//! Random designs against the oracle, and the same bytes by every way to compute them.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use relief_engine::{Error, Options, Plan, Rect};

use crate::oracle::evaluate::Oracle;
use crate::oracle::model::{Item, Model, Picture};
use crate::oracle::nodes::{
    Blend, Compose, Disc, Distance, Fill, Fold, Image, Kind, Lattice, Map, Noise, Profile, Ramp, Repeat,
    Tone, Use,
};
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
        ..Options::default()
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

/// All ways that the cross of tiles, threads, memory and kept bytes gives.
fn cross() -> Vec<Way> {
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

/// A design in which every way to keep a node occurs: pictures, cells with and without a border, whole patterns,
/// cached tiles below cached tiles, nodes used twice.
fn everything(max: u16) -> Model {
    let picture = |width: u64, height: u64, step: u64| Picture {
        width,
        height,
        samples: (0..width * height)
            .map(|i| (i * step % (u64::from(max) + 1)) as u16)
            .collect(),
    };
    let lattice = Item::new(Lattice {
        blend: Blend::Mean,
        u: (9, 2),
        v: (-3, 7),
        pattern: Box::new(Item::new(Image(0)).at(2, -3)),
    });
    let distance = |radius, mask| {
        Item::new(Distance {
            radius,
            profile: Profile::Line {
                a: i32::from(max),
                b: -i32::from(max) / 16,
            },
            beyond: None,
            mask: Box::new(mask),
        })
    };
    let marks = Item::new(Repeat {
        gaps: (Some(3), Some(0)),
        pattern: Box::new(distance(6, Item::new(Image(1)).at(4, 5)).sized(29, 23)),
    });
    Model {
        width: 31,
        height: 27,
        max,
        pictures: vec![picture(12, 11, 37), picture(7, 5, 1_003), picture(1, 1, 1)],
        definitions: vec![
            distance(
                3,
                Item::new(Disc {
                    diameter: 19,
                    value: 1,
                })
                .at(20, 20),
            ),
            distance(9, Item::new(Use(0)).at(-4, 3)),
        ],
        root: Kind::from(Compose(vec![
            (Fold::Base, lattice.at(-5, 2).sized(40, 34)),
            (Fold::Multiply, marks),
            (Fold::Mean, Item::new(Use(1)).at(3, 1)),
            (Fold::Max, Item::new(Use(1)).at(-7, 8)),
            (
                Fold::Subtract,
                Item::new(Noise { seed: 5 }).at(10, 10).sized(20, 20),
            ),
        ])),
    }
}

#[test]
fn no_way_of_cutting_running_or_keeping_changes_a_sample_of_8_bits() {
    every(&everything(255), &cross());
}

#[test]
fn no_way_of_cutting_running_or_keeping_changes_a_sample_of_16_bits() {
    every(&everything(65_535), &cross());
}

fn model(width: u64, height: u64, root: impl Into<Kind>) -> Model {
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

#[test]
fn a_radius_larger_than_the_tile_reads_masks_in_chunks_that_fit() {
    let mask = Item::new(Repeat {
        gaps: (Some(3), Some(5)),
        pattern: Box::new(Item::new(Fill(162)).sized(8, 1)),
    });
    let distance = Distance {
        radius: 242,
        profile: Profile::Line { a: 170, b: 52 },
        beyond: None,
        mask: Box::new(mask.sized(26, 40)),
    };
    let ways = TILES.map(|tile| Way {
        tile,
        kept: Some(0),
        ..PLAIN
    });
    every(&model(8, 1, distance.clone()), &ways);
    every(&model(61, 40, distance), &ways);
}

#[test]
fn distances_of_distances_have_scratch_for_narrow_tiles_at_the_edge() {
    let inner = Item::new(Distance {
        radius: 31,
        profile: Profile::Fold { a: 11, b: 40 },
        beyond: Some(0),
        mask: Box::new(Item::new(Compose(vec![
            (
                Fold::Add,
                Item::new(Disc {
                    diameter: 5,
                    value: 9,
                })
                .at(3, 60),
            ),
            (
                Fold::Mean,
                Item::new(Disc {
                    diameter: 3,
                    value: 9,
                })
                .at(260, 17),
            ),
        ]))),
    });
    let outer = Distance {
        radius: 120,
        profile: Profile::Line { a: 255, b: -2 },
        beyond: Some(1),
        mask: Box::new(inner),
    };
    // The last tile of a row is one pixel wide.
    let ways = [(256, 16), (16, 256), (1, 1_024), (257, 80)].map(|tile| Way {
        tile: Some(tile),
        kept: Some(0),
        ..PLAIN
    });
    every(&model(257, 80, outer), &ways);
}

#[test]
fn a_uniform_node_that_the_region_does_not_touch_needs_no_picture() {
    let lattice = Lattice {
        blend: Blend::Min,
        u: (9, -5),
        v: (-7, 4),
        pattern: Box::new(Item::new(Image(0)).sized(8, 8)),
    };
    let root = Compose(vec![(Fold::Over, Item::new(lattice).at(0, -3).sized(1, 9))]);
    let below = Way {
        region: Some([0, 500, 999, 999]),
        ..PLAIN
    };
    every(&model(1, 19, root), &[PLAIN, below]);
}

#[test]
fn one_pixel_is_a_raster() {
    let kinds: [Kind; 9] = [
        Fill(9).into(),
        Image(0).into(),
        Ramp {
            horizontal: true,
            from: 3,
            to: 250,
        }
        .into(),
        Disc {
            diameter: 1,
            value: 8,
        }
        .into(),
        Disc {
            diameter: 2,
            value: 8,
        }
        .into(),
        Noise { seed: 77 }.into(),
        Compose(Vec::new()).into(),
        Map {
            tone: Tone::Invert,
            source: Box::new(Item::new(Image(0)).at(1, 0)),
        }
        .into(),
        Distance {
            radius: 4_096,
            profile: Profile::Line { a: 7, b: 1 },
            beyond: Some(3),
            mask: Box::new(Item::new(Image(0)).at(-100, 0)),
        }
        .into(),
    ];
    for kind in kinds {
        plain(&model(1, 1, kind));
    }
}
