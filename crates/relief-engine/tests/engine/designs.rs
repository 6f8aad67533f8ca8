//! Random designs against the oracle, and the same bytes by every way to compute them.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use relief_design::{Group, SIGNATURES};

use crate::oracle::evaluate::Oracle;
use crate::oracle::model::{Item, Model, Picture};
use crate::oracle::nodes::{
    Blend, Compose, Course, Disc, Distance, Edge, Equalise, Fill, Flip, Fold, Gauss, Gradient, Image, Kind,
    Lattice, Map, Median, Noise, Polygon, Profile, Ramp, Repeat, Tone, Turn, Use,
};
use crate::oracle::strategy::models;
use crate::ways::{PLAIN, TILES, Way, check, cross, every, model, plain, ways};

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
    #![proptest_config(config(300))]

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

/// A node of the language that no random design has would be held by no oracle.
#[test]
fn random_designs_have_every_node() {
    let mut runner = TestRunner::new_with_rng(
        ProptestConfig::default(),
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let models = models();
    let mut texts = String::new();
    for _ in 0..3_000 {
        texts += &format!("{:?}\n", models.new_tree(&mut runner).unwrap().current());
    }
    let nodes = SIGNATURES
        .iter()
        .filter(|signature| signature.group == Group::Node);
    let words = nodes.map(|signature| signature.name.to_owned());
    // What one node makes in ways of their own.
    let kinds = ["threshold", "bayer", "blue-noise", "screen"].map(|kind| format!("dither \"{kind}\""));
    let is_in = |line: &str, word: &str| {
        let line = line.trim_start();
        let after_role = line.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let rest = after_role.map_or(line, |(_, node)| node).strip_prefix(word);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let is_missing = |word: &String| !texts.lines().any(|line| is_in(line, word));
    let missing: Vec<String> = words.chain(kinds).filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
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
    let turned = Item::new(Turn {
        quarters: 3,
        source: Box::new(Item::new(Use(0)).at(-9, 4)),
    });
    let blurred = Item::new(Gauss {
        sigma: 1.3,
        edge: Edge::Wrap,
        source: Box::new(turned.at(2, 5).sized(25, 30)),
    });
    let flipped = Item::new(Flip {
        horizontal: true,
        source: Box::new(blurred.at(-2, 1).sized(30, 26)),
    });
    let smoothed = Item::new(Median {
        radius: 2,
        rank: None,
        edge: Edge::Mirror,
        source: Box::new(flipped),
    });
    let equalised = Item::new(Equalise {
        limit: Some(10),
        source: Box::new(smoothed),
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
            (Fold::Mean, equalised),
            (
                Fold::Max,
                Item::new(Polygon {
                    value: max,
                    even_odd: false,
                    centres: false,
                    vertices: vec![((-5, 3), (1, 7)), ((60, 7), (22, 3)), ((40, 9), (301, 13))],
                })
                .at(6, -2),
            ),
            (
                Fold::Add,
                Item::new(Gradient {
                    course: Course::Linear {
                        from: [None; 2],
                        to: [Some((9, 2)), Some((-7, 3))],
                    },
                    spread: "mirror",
                    stops: vec![(0, 0), (700, max / 9), (700, 3)],
                })
                .at(1, 3)
                .sized(27, 19),
            ),
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
