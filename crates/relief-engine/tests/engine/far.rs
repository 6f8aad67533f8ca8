//! Rasters beyond 2^32 and up to 2^40 pixels a side: small windows far out, against the oracle.

use relief_engine::{Cancel, Options, Plan, Rect, Renderer};

use crate::oracle::evaluate::Oracle;
use crate::oracle::model::{Item, Model, Picture};
use crate::oracle::nodes::{
    Blend, Cells, Compose, Course, Disc, Distance, Dither, Edge, Flip, Fold, Gauss, Gradient, Image, Kind,
    Lattice, Map, Matrix, Noise, Perlin, Profile, Ramp, Repeat, Resize, Tone, Turn, Worley,
};
use crate::pictures::Pictures;
use crate::run::{banded, design, rendered, renderer, window};

const FAR: u64 = 1 << 40;

/// Corners, middles and places around 2^31, 2^32 and 2^33 of a side of 2^40.
const PLACES: [i64; 8] = [
    0,
    (1 << 31) - 9,
    (1 << 32) - 9,
    (1 << 33) - 9,
    (1 << 39) - 9,
    999_999_999_989,
    (1 << 40) - 40,
    (1 << 40) - 19,
];

fn far(root: impl Into<Kind>) -> Model {
    let samples = (0..9 * 7).map(|i| (i * 53 % 256) as u16).collect();
    Model {
        width: FAR,
        height: FAR,
        max: 255,
        pictures: vec![Picture {
            width: 9,
            height: 7,
            samples,
        }],
        definitions: Vec::new(),
        root: root.into(),
    }
}

/// Windows of 19 × 19 pixels as regions of their own and as parts of a larger region.
fn check(model: &Model) {
    let (design, images) = (design(model), Pictures(model.pictures.clone()));
    let mut oracle = Oracle::new(model);
    let whole = renderer(&design, &images, &Options::default().threads(2));
    for (index, x) in PLACES.into_iter().enumerate() {
        let y = PLACES[(index * 3 + 1) % PLACES.len()];
        let expected = oracle.window(x, y, 19, 19);
        let place = Rect::new(x, y, 19, 19).unwrap();
        assert_eq!(
            window(&whole, place).unwrap(),
            expected,
            "{place:?} read\n{model:?}"
        );
        let options = Options::default().region(place).threads(2).tile((7, 5));
        let part = renderer(&design, &images, &options);
        assert_eq!(
            rendered(&part).unwrap(),
            expected,
            "{place:?} rendered\n{model:?}"
        );
        assert_eq!(banded(&part).unwrap(), expected, "{place:?} by bands\n{model:?}");
    }
}

fn picture() -> Box<Item> {
    Box::new(Item::new(Image(0)).at(-5, 3))
}

#[test]
fn ramps_are_exact_over_2_to_the_40_pixels() {
    for horizontal in [true, false] {
        check(&far(Ramp {
            horizontal,
            from: 0,
            to: 255,
        }));
        check(&far(Ramp {
            horizontal,
            from: 201,
            to: 7,
        }));
    }
}

#[test]
fn gradients_are_exact_over_2_to_the_40_pixels() {
    let far_off = Some((1_099_511_627_001, 1));
    let courses = [
        Course::Linear {
            from: [None; 2],
            to: [None; 2],
        },
        // A period of no whole number of pixels, across both axes.
        Course::Linear {
            from: [None, far_off],
            to: [Some((97, 3)), Some((1_099_511_627_301, 7))],
        },
        Course::Linear {
            from: [far_off, None],
            to: [Some((1_099_511_626_902, 1)), Some((51, 2))],
        },
        Course::Radial {
            centre: [None; 2],
            inner: Some((1 << 39, 1)),
            radius: None,
        },
        // Rings of some pixels, far from their centre.
        Course::Radial {
            centre: [Some((-7, 3)), None],
            inner: None,
            radius: Some((58, 3)),
        },
        Course::Conical {
            centre: [None; 2],
            angle: -77,
        },
        Course::Conical {
            centre: [Some((1_099_511_627_760, 1)), Some((1_099_511_627_750, 1))],
            angle: 0,
        },
    ];
    for course in courses {
        let spread = match course {
            Course::Conical { .. } => "pad",
            _ => "mirror",
        };
        let model = far(Gradient {
            course,
            spread,
            stops: vec![(0, 3), (300, 200), (300, 90), (1_000, 255)],
        });
        check(&Model {
            max: 65_535,
            ..model.clone()
        });
        check(&model);
    }
}

#[test]
fn noise_depends_on_all_bits_of_its_coordinates() {
    check(&far(Noise { seed: u64::MAX }));
    let moved = Item::new(Noise { seed: 3 }).at(-(1 << 43), 1 << 39);
    check(&far(Compose(vec![(Fold::Base, moved)])));
}

#[test]
fn repetitions_stay_in_step_far_out() {
    check(&far(Repeat {
        gaps: (Some(2), None),
        pattern: picture(),
    }));
    // A step of more than 2^32 pixels: copies stand at both sides of the seam only.
    check(&far(Repeat {
        gaps: (Some((1 << 32) - 9), Some((1 << 31) - 7)),
        pattern: picture(),
    }));
}

#[test]
fn lattices_stay_in_step_far_out() {
    for blend in [Blend::Mean, Blend::Last, Blend::Sum] {
        check(&far(Lattice {
            blend,
            u: (7, 2),
            v: (-3, 5),
            pattern: picture(),
        }));
        // A cell of 2^62 pixels, of which none is kept.
        check(&far(Lattice {
            blend,
            u: (1_073_741_827, 2),
            v: (-3, 1_073_741_831),
            pattern: picture(),
        }));
    }
}

#[test]
fn discs_are_exact_at_the_greatest_diameter() {
    check(&far(Disc {
        diameter: FAR,
        value: 9,
    }));
    // The rim, where it passes: at 45°, and at the left, top and bottom.
    let model = far(Disc {
        diameter: FAR,
        value: 9,
    });
    let mut oracle = Oracle::new(&model);
    let renderer = renderer(
        &design(&model),
        &Pictures(model.pictures.clone()),
        &Options::default(),
    );
    let diagonal = ((FAR as f64) / 2.0 * (1.0 - 0.5_f64.sqrt())) as i64;
    let middle = (FAR / 2) as i64;
    let shallow = 1 << 20;
    // How deep the rim lies so far from where it touches the edge.
    let depth = shallow * shallow / FAR as i64;
    for (x, y) in [
        (diagonal - 20, diagonal - 20),
        (middle + shallow, depth),
        (depth, middle - shallow),
        (middle + shallow, FAR as i64 - depth - 40),
    ] {
        let place = Rect::new(x, y, 40, 40).unwrap();
        let expected = oracle.window(x, y, 40, 40);
        assert!(
            window(&renderer, place).unwrap() == expected,
            "the rim at {place:?}"
        );
        assert!(expected.contains(&0) || x != diagonal - 20, "no rim at {place:?}");
    }
}

#[test]
fn distances_reach_over_every_power_of_two() {
    let marks = PLACES.map(|place| {
        let y = PLACES[(PLACES.iter().position(|p| *p == place).unwrap() * 3 + 1) % PLACES.len()];
        let disc = Disc {
            diameter: 5,
            value: 1,
        };
        (Fold::Max, Item::new(disc).at(place - 8, y + 12))
    });
    check(&far(Distance {
        radius: 14,
        profile: Profile::Line { a: 255, b: -9 },
        beyond: Some(1),
        mask: Box::new(Item::new(Compose(marks.to_vec()))),
    }));
}

#[test]
fn nodes_far_outside_the_canvas_and_far_larger_still_meet_it() {
    let source = Item::new(Ramp {
        horizontal: true,
        from: 0,
        to: 255,
    });
    check(&far(Map {
        tone: Tone::Invert,
        source: Box::new(source.at(-(1 << 39) - 7, 5).sized(FAR, FAR)),
    }));
}

#[test]
fn rows_wider_than_the_memory_come_in_parts_in_order() {
    let model = Model {
        width: 300_000,
        height: 3,
        ..far(Compose(vec![
            (
                Fold::Base,
                Item::new(Ramp {
                    horizontal: true,
                    from: 0,
                    to: 255,
                }),
            ),
            (
                Fold::Max,
                Item::new(Distance {
                    radius: 40,
                    profile: Profile::Line { a: 255, b: -6 },
                    beyond: Some(0),
                    mask: Box::new(
                        Item::new(Disc {
                            diameter: 9,
                            value: 1,
                        })
                        .at(150_000, -20),
                    ),
                }),
            ),
        ]))
    };
    let (design, images) = (design(&model), Pictures::default());
    let options = Options::default().threads(2).memory(200_000);
    let renderer = renderer(&design, &images, &options);
    let shape = renderer.plan().shape();
    assert!(
        shape.band_width < model.width && shape.band_height == 1,
        "{shape:?} is a part of a row"
    );
    let expected = Oracle::new(&model).raster();
    assert!(rendered(&renderer).unwrap() == expected);
    assert!(banded(&renderer).unwrap() == expected);
}

#[test]
fn the_greatest_canvas_is_planned_and_begins() {
    let model = far(Noise { seed: 1 });
    let options = Options::default().threads(1).memory(16 << 20);
    let plan = Plan::new(&design(&model), &Pictures::default(), &options).unwrap();
    assert!(plan.peak().total() <= 16 << 20);
    assert!(plan.bands() > 1 << 40);
    let renderer = Renderer::new(plan, &Pictures::default(), &Cancel::new()).unwrap();
    let first = renderer.bands(&Cancel::new()).next().unwrap().unwrap();
    assert_eq!((first.rect.x(), first.rect.y(), first.rect.height()), (0, 0, 1));
}

#[test]
fn the_far_end_is_the_beginning_of_what_is_flipped_turned_or_wrapped() {
    let sources = [
        Item::new(Noise { seed: 9 }).at(-7, 3),
        Item::new(Ramp {
            horizontal: true,
            from: 3,
            to: 250,
        }),
        Item::new(Repeat {
            gaps: (Some(2), None),
            pattern: picture(),
        }),
        Item::new(Lattice {
            blend: Blend::Mean,
            u: (7, 2),
            v: (-3, 5),
            pattern: picture(),
        }),
    ];
    for source in sources {
        for horizontal in [true, false] {
            check(&far(Flip {
                horizontal,
                source: Box::new(source.clone()),
            }));
        }
        for quarters in 1..=3 {
            check(&far(Turn {
                quarters,
                source: Box::new(source.clone()),
            }));
        }
        for edge in Edge::ALL {
            check(&far(Gauss {
                sigma: 1.0,
                edge,
                source: Box::new(source.clone()),
            }));
        }
    }
}

#[test]
fn textures_keep_their_cells_far_out() {
    for periods in [
        [None, None],
        [Some(FAR - 87), None],
        [Some(1_000_003), Some((1 << 39) + 1)],
    ] {
        for size in [2, 7, 1 << 24] {
            let lattice = Cells { size, periods };
            check(&far(Perlin {
                seed: u64::MAX,
                lattice: lattice.clone(),
                octaves: 8,
            }));
            for of in ["edge", "cell"] {
                check(&far(Worley {
                    seed: 5,
                    lattice: lattice.clone(),
                    of,
                }));
            }
        }
    }
}

#[test]
fn matrices_keep_their_places_far_out() {
    for spot in [1, 7] {
        check(&far(Dither {
            by: Matrix::Bayer { size: 16, spot },
            source: Box::new(Item::new(Noise { seed: 4 })),
        }));
    }
}

#[test]
fn what_is_made_larger_or_smaller_keeps_its_places_far_out() {
    for edge in Edge::ALL {
        for (by, width, height) in [
            ("cubic", FAR - 3, FAR / 2 + 1),
            ("lanczos", FAR, 9),
            ("linear", 1 << 31, FAR),
            ("box", 3, 1),
        ] {
            check(&far(Resize {
                by,
                edge,
                source: Box::new(Item::new(Noise { seed: 8 }).sized(width, height)),
            }));
        }
    }
}
