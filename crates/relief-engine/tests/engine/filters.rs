//! Filters and turned sources where random designs rarely reach: bells wider than tiles and nodes, borders that meet,
//! cells, and properties that hold of any source.

use proptest::prelude::*;
use relief_engine::{Kept, NoImages, Options};

use crate::oracle::model::{Item, Model, Picture};
use crate::oracle::nodes::{
    Affine, Bilateral, Blend, BoxMean, Close, Compose, Convolve, Course, Detrend, Dilate, Disc, Dither, Edge,
    Element, Erode, Fill, Flip, Fold, Gauss, Gradient, Image, Kind, Lattice, Law, LocalThreshold, Matrix,
    Median, Noise, Open, Repeat, Resize, Seamless, Sharpen, Sobel, Threshold, TopHat, Turn, Use,
};
use crate::oracle::strategy::models;
use crate::pictures::Pictures;
use crate::run::{design, parse, rendered, renderer};
use crate::ways::{PLAIN, TILES, Way, every, model};

/// Tiles of every size, nothing kept, and once as planned.
fn tiles() -> Vec<Way> {
    let odd = [Some((5, 4)), Some((3, 1)), Some((1, 9))];
    let small = TILES.into_iter().chain(odd).map(|tile| Way {
        tile,
        kept: Some(0),
        ..PLAIN
    });
    small.chain([PLAIN]).collect()
}

fn gauss(sigma: f64, edge: Edge, source: Item) -> Gauss {
    Gauss {
        sigma,
        edge,
        source: Box::new(source),
    }
}

fn median(radius: i64, rank: Option<usize>, edge: Edge, source: Item) -> Median {
    Median {
        radius,
        rank,
        edge,
        source: Box::new(source),
    }
}

fn element(radius: i64, disc: bool, edge: Edge) -> Element {
    Element { radius, disc, edge }
}

/// Every other filter that reads a block around a tile, over this source.
fn filters(edge: Edge, source: &Item) -> Vec<Kind> {
    let source = || Box::new(source.clone());
    let threshold = |radius, law| LocalThreshold {
        radius,
        law,
        edge,
        source: source(),
    };
    let sobel = |of| Sobel {
        of,
        edge,
        source: source(),
    };
    vec![
        BoxMean {
            radius: 9,
            edge,
            source: source(),
        }
        .into(),
        Erode {
            element: element(9, true, edge),
            source: source(),
        }
        .into(),
        Dilate {
            element: element(7, false, edge),
            source: source(),
        }
        .into(),
        Open {
            element: element(2, true, edge),
            source: source(),
        }
        .into(),
        Close {
            element: element(3, false, edge),
            source: source(),
        }
        .into(),
        TopHat {
            element: element(1, false, edge),
            dark: false,
            source: source(),
        }
        .into(),
        TopHat {
            element: element(2, true, edge),
            dark: true,
            source: source(),
        }
        .into(),
        sobel("magnitude").into(),
        sobel("x").into(),
        Convolve {
            kernel: vec![vec![-1, 0, 2, 0, 3, -4, 1], vec![1; 7], vec![0, 5, 0, 0, 0, 0, 7]],
            divisor: None,
            offset: 3,
            edge,
            source: source(),
        }
        .into(),
        Sharpen {
            sigma: 1.3,
            quarters: 5,
            threshold: 2,
            edge,
            source: source(),
        }
        .into(),
        Bilateral {
            sigma: 1.5,
            range: 70.7,
            edge,
            source: source(),
        }
        .into(),
        threshold(8, Law::Mean(-3)).into(),
        threshold(5, Law::Sauvola(0.34)).into(),
    ]
}

fn turn(quarters: u8, source: Item) -> Turn {
    Turn {
        quarters,
        source: Box::new(source),
    }
}

fn flip(horizontal: bool, source: Item) -> Flip {
    Flip {
        horizontal,
        source: Box::new(source),
    }
}

fn noise() -> Item {
    Item::new(Noise { seed: 11 })
}

/// The model with samples of 16 bits.
fn deep(model: Model) -> Model {
    Model { max: 65_535, ..model }
}

#[test]
fn a_bell_wider_than_its_node_bounces_between_the_borders() {
    for (width, height) in [(1, 1), (1, 7), (5, 1), (2, 3), (3, 2), (7, 4)] {
        for edge in Edge::ALL {
            for sigma in [1.3, 6.0] {
                let blurred = model(width, height, gauss(sigma, edge, noise()));
                every(&blurred, &tiles());
                every(&deep(blurred), &[PLAIN]);
            }
        }
    }
}

#[test]
fn a_bell_wider_than_the_tile_reads_tiles_beyond_its_neighbours() {
    for edge in Edge::ALL {
        every(&model(61, 37, gauss(6.0, edge, noise())), &tiles());
    }
}

#[test]
fn a_source_that_is_not_the_node_is_0_within_the_node_and_not_beyond_it() {
    let sources = [
        noise().at(3, 5).sized(9, 7),
        noise().at(-4, -6).sized(60, 50),
        noise().at(-5, 12).sized(12, 40),
        noise().at(18, -3).sized(4, 9),
        noise().at(400, 0).sized(3, 3),
        Item::new(Fill(200)).at(1, 1).sized(20, 15),
    ];
    for edge in Edge::ALL {
        for source in &sources {
            let node = Item::new(gauss(2.0, edge, source.clone()))
                .at(-2, 3)
                .sized(23, 17);
            every(&model(30, 24, Compose(vec![(Fold::Max, node)])), &tiles());
        }
    }
}

#[test]
fn wrapped_parts_of_one_sample_stand_beside_others() {
    let fill =
        |value, x, y, width, height| (Fold::Over, Item::new(Fill(value)).at(x, y).sized(width, height));
    let mark = |x, y| {
        let disc = Disc {
            diameter: 3,
            value: 250,
        };
        Compose(vec![
            (Fold::Base, Item::new(Fill(90))),
            (Fold::Over, Item::new(disc).at(x, y)),
        ])
    };
    let mut sources: Vec<Compose> = Vec::new();
    // One mark at every border and corner, and in the middle.
    for x in [0, 13, 26] {
        for y in [0, 9, 18] {
            sources.push(mark(x, y));
        }
    }
    // Halves and quarters, each of one sample.
    let base = (Fold::Base, Item::new(Fill(90)));
    for part in [
        fill(7, 0, 0, 14, 21),
        fill(7, 14, 0, 15, 21),
        fill(7, 0, 0, 29, 10),
        fill(7, 0, 10, 29, 11),
        fill(7, 14, 10, 15, 11),
        fill(7, 0, 0, 14, 10),
    ] {
        sources.push(Compose(vec![base.clone(), part.clone()]));
        sources.push(Compose(vec![base.clone(), part, fill(30, 14, 0, 15, 10)]));
    }
    for source in sources {
        every(
            &model(29, 21, gauss(1.0, Edge::Wrap, Item::new(source))),
            &tiles(),
        );
    }
}

#[test]
fn a_square_wider_than_its_node_bounces_between_the_borders() {
    for (width, height) in [(1, 1), (1, 7), (5, 1), (2, 3), (3, 2), (7, 4)] {
        for edge in Edge::ALL {
            for (radius, rank) in [(1, None), (2, Some(1)), (8, Some(289)), (8, None)] {
                let filtered = model(width, height, median(radius, rank, edge, noise()));
                every(&filtered, &tiles());
                every(&deep(filtered), &[PLAIN]);
            }
            let widest = model(width, height, median(16, Some(700), edge, noise()));
            every(&widest, &tiles());
        }
    }
}

#[test]
fn a_square_wider_than_the_tile_reads_tiles_beyond_its_neighbours() {
    for edge in Edge::ALL {
        every(&model(41, 37, median(16, None, edge, noise())), &tiles());
        every(&deep(model(41, 37, median(8, Some(70), edge, noise()))), &tiles());
    }
}

#[test]
fn a_source_that_is_not_the_node_counts_as_zeros_within_the_node_and_not_beyond_it() {
    let sources = [
        noise().at(3, 5).sized(9, 7),
        noise().at(-4, -6).sized(60, 50),
        noise().at(-5, 12).sized(12, 40),
        noise().at(400, 0).sized(3, 3),
        Item::new(Fill(200)).at(1, 1).sized(20, 15),
    ];
    for edge in Edge::ALL {
        for source in &sources {
            for rank in [None, Some(49)] {
                let node = Item::new(median(3, rank, edge, source.clone()))
                    .at(-2, 3)
                    .sized(23, 17);
                every(&model(30, 24, Compose(vec![(Fold::Max, node)])), &tiles());
            }
        }
    }
}

#[test]
fn a_square_over_copies_is_computed_from_a_cell() {
    let lattice = Item::new(Lattice {
        blend: Blend::Max,
        u: (9, 2),
        v: (-3, 7),
        pattern: Box::new(noise().sized(4, 5)),
    });
    for edge in Edge::ALL {
        let filtered = model(160, 140, median(2, Some(20), edge, lattice.clone()));
        assert!(keeps_a_cell(&filtered), "{filtered:?}");
        every(&filtered, &tiles());
    }
}

#[test]
fn filters_wider_than_their_node_bounce_between_the_borders() {
    for (width, height) in [(1, 1), (1, 7), (3, 2)] {
        for edge in Edge::ALL {
            for filter in filters(edge, &noise()) {
                let filtered = model(width, height, filter);
                every(
                    &filtered,
                    &[
                        PLAIN,
                        Way {
                            tile: Some((2, 1)),
                            kept: Some(0),
                            ..PLAIN
                        },
                    ],
                );
                every(&deep(filtered), &[PLAIN]);
            }
        }
    }
}

#[test]
fn filters_wider_than_the_tile_read_tiles_beyond_their_neighbours() {
    let small = [(5, 4), (3, 1)].map(|tile| Way {
        tile: Some(tile),
        kept: Some(0),
        ..PLAIN
    });
    for edge in Edge::ALL {
        for filter in filters(edge, &noise()) {
            let filtered = model(33, 21, filter);
            every(&filtered, &small);
            every(&deep(filtered), &[PLAIN]);
        }
    }
}

#[test]
fn filters_of_a_source_that_is_not_the_node_read_zeros_within_the_node_and_not_beyond_it() {
    for edge in Edge::ALL {
        for source in [noise().at(3, 5).sized(9, 7), noise().at(-4, -6).sized(60, 50)] {
            for filter in filters(edge, &source) {
                let node = Item::new(filter).at(-2, 3).sized(23, 17);
                let model = model(30, 24, Compose(vec![(Fold::Max, node)]));
                every(
                    &model,
                    &[
                        PLAIN,
                        Way {
                            tile: Some((7, 13)),
                            kept: Some(0),
                            ..PLAIN
                        },
                    ],
                );
            }
        }
    }
}

#[test]
fn filters_over_copies_are_computed_from_a_cell() {
    let lattice = Item::new(Lattice {
        blend: Blend::Max,
        u: (9, 2),
        v: (-3, 7),
        pattern: Box::new(noise().sized(4, 5)),
    });
    for (i, filter) in filters(Edge::Mirror, &lattice).into_iter().enumerate() {
        let filtered = model(160, 140, filter);
        assert!(keeps_a_cell(&filtered), "filter {i}");
        every(
            &filtered,
            &[
                PLAIN,
                Way {
                    tile: Some((64, 64)),
                    ..PLAIN
                },
            ],
        );
    }
}

#[test]
fn a_bell_over_copies_is_computed_from_a_cell() {
    let lattice = Item::new(Lattice {
        blend: Blend::Max,
        u: (9, 2),
        v: (-3, 7),
        pattern: Box::new(noise().sized(4, 5)),
    });
    for edge in Edge::ALL {
        let blurred = model(160, 140, gauss(1.0, edge, lattice.clone()));
        assert!(keeps_a_cell(&blurred), "{blurred:?}");
        every(&blurred, &tiles());
    }
}

fn resize(by: &'static str, edge: Edge, source: Item) -> Resize {
    Resize {
        by,
        edge,
        source: Box::new(source),
    }
}

#[test]
fn a_source_is_resized_from_any_size_to_any() {
    let small = [(5, 4), (1, 9)].map(|tile| Way {
        tile: Some(tile),
        kept: Some(0),
        ..PLAIN
    });
    for by in ["box", "linear", "cubic", "lanczos"] {
        for (from, to) in [
            ((9, 7), (31, 25)),
            ((31, 25), (9, 7)),
            ((40, 3), (3, 40)),
            ((1, 1), (8, 5)),
            ((60, 50), (1, 1)),
        ] {
            for edge in [Edge::Clamp, Edge::Wrap] {
                let resized = model(to.0, to.1, resize(by, edge, noise().sized(from.0, from.1)));
                every(&resized, &small);
                every(&deep(resized), &[PLAIN]);
            }
        }
        // A source that begins before or behind the corner, and another node around it.
        for (x, y) in [(-3, 2), (4, -5)] {
            for edge in Edge::ALL {
                let node = Item::new(resize(by, edge, noise().at(x, y).sized(12, 11)))
                    .at(-2, 3)
                    .sized(23, 17);
                every(&model(30, 24, Compose(vec![(Fold::Max, node)])), &small);
            }
        }
    }
}

#[test]
fn a_source_that_keeps_its_size_keeps_its_samples() {
    for by in ["box", "linear", "cubic", "lanczos"] {
        let resized = model(33, 21, resize(by, Edge::Clamp, noise()));
        assert_eq!(
            samples(&resized),
            samples(&model(33, 21, Compose(vec![(Fold::Base, noise())])))
        );
    }
}

fn affine(angle: f64, scale: f64, by: &'static str, edge: Edge, source: Item) -> Affine {
    Affine {
        angle,
        scale: (scale, scale),
        shear: 0.0,
        shift: (0, 0),
        by,
        edge,
        source: Box::new(source),
    }
}

#[test]
fn a_source_is_mapped_by_any_matrix() {
    let small = [(5, 4), (1, 9)].map(|tile| Way {
        tile: Some(tile),
        kept: Some(0),
        ..PLAIN
    });
    for (i, by) in ["nearest", "linear", "cubic", "lanczos"].into_iter().enumerate() {
        for edge in Edge::ALL {
            let any = Affine {
                scale: (1.5, -0.7),
                shear: 0.5,
                shift: (7, -3),
                ..affine(35.0, 1.0, by, edge, noise().at(3, -2).sized(20, 11))
            };
            every(&model(23, 17, any), &small);
            // Far smaller and far larger than the node, and one sample.
            for (scale, size) in [(0.1, (30, 20)), (9.0, (9, 8)), (3.0, (1, 1))] {
                let angle = 200.25 + 10.0 * i as f64;
                let mapped = affine(angle, scale, by, edge, noise().sized(size.0, size.1));
                every(&deep(model(14, 11, mapped)), &small[..1]);
            }
        }
    }
}

#[test]
fn a_source_turned_by_quarters_is_that_of_turn() {
    for by in ["nearest", "linear", "cubic", "lanczos"] {
        for quarters in 0..4_u8 {
            // Sides of one parity, or the middles lie half a pixel apart.
            let source = || noise().sized(20, 14);
            let angle = 90.0 * f64::from(quarters) - 360.0;
            let mapped = affine(angle, 1.0, by, Edge::Zero, source());
            let (width, height) = if quarters % 2 == 1 { (14, 20) } else { (20, 14) };
            let expected = match quarters {
                0 => model(width, height, Compose(vec![(Fold::Base, source())])),
                _ => model(width, height, turn(quarters, source())),
            };
            assert_eq!(samples(&model(width, height, mapped)), samples(&expected));
        }
    }
}

#[test]
fn doubled_and_halved_a_picture_is_itself() {
    // By boxes each sample becomes four, and four equal ones become one.
    let doubled = Item::new(resize("box", Edge::Clamp, noise().sized(20, 15))).sized(40, 30);
    let halved = model(20, 15, resize("box", Edge::Clamp, doubled));
    assert_eq!(
        samples(&halved),
        samples(&model(20, 15, Compose(vec![(Fold::Base, noise())])))
    );
}

#[test]
fn the_first_columns_and_rows_of_a_seamless_source_come_from_behind_its_last() {
    let seamless = |overlap, source: Item| Seamless {
        overlap,
        source: Box::new(source),
    };
    let small = [(5, 4), (1, 9)].map(|tile| Way {
        tile: Some(tile),
        kept: Some(0),
        ..PLAIN
    });
    // An overlap of all of the node, and a source that is not everywhere.
    for (overlap, width, height) in [(1, 1, 1), (5, 5, 12), (7, 30, 20), (12, 13, 12)] {
        for source in [noise(), noise().at(3, -2).sized(20, 11)] {
            let model = model(width, height, seamless(overlap, source));
            every(&model, &small);
            every(&deep(model), &[PLAIN]);
        }
    }
    // Copies follow each other by the size that is left.
    let pattern = Item::new(seamless(4, noise().sized(15, 13)));
    let copies = Repeat {
        gaps: (None, None),
        pattern: Box::new(pattern),
    };
    every(&model(50, 40, copies), &tiles());
    // A source without any seam is what it was.
    let ground = model(9, 9, seamless(3, Item::new(Fill(77))));
    assert_eq!(samples(&ground), [77; 81]);
}

#[test]
fn matrices_over_copies_are_computed_from_a_cell() {
    let copies = Repeat {
        gaps: (Some(2), Some(1)),
        pattern: Box::new(noise().at(3, 1).sized(5, 3)),
    };
    let dither = |source| Dither {
        by: Matrix::Bayer { size: 4, spot: 3 },
        source: Box::new(Item::new(source)),
    };
    let dots = model(150, 110, dither(Kind::from(copies)));
    assert!(keeps_a_cell(&dots));
    every(&dots, &tiles());
    // One gray is a pattern of the matrix, or nothing at all.
    for gray in [0, 1, 128, 255] {
        every(&model(70, 50, dither(Fill(gray).into())), &tiles());
    }
}

/// The samples of a gray under a dither, and what stands in its braces.
fn dots(dither: &str, (width, height): (u64, u64), gray: u16) -> Vec<u16> {
    let design = parse(&format!(
        "relief version=1\ncanvas width={width} height={height} pixel=\"0.1mm\"\n{dither} {{ (source)fill value={gray} }}"
    ));
    rendered(&renderer(&design, &NoImages, &Options::default())).unwrap()
}

#[test]
fn a_gray_has_as_many_dots_as_its_share_of_a_matrix() {
    for (dither, places) in [
        ("dither \"blue-noise\"", 64 * 64),
        ("dither \"blue-noise\" size=256", 256 * 256),
        // (16, 12): 400 places in 4 rows of 100, each moved.
        (
            "dither \"screen\" frequency=\"12.7lpi\" angle=36.8698976458 dot=\"line\"",
            400,
        ),
    ] {
        let side = if places == 400 {
            400
        } else {
            f64::from(places).sqrt() as u64
        };
        for gray in [0_u16, 1, 77, 128, 254, 255] {
            let found = dots(dither, (side, side), gray);
            // 2·v·n > (2·r + 1)·M.
            let fire = (0..places)
                .filter(|rank| 2 * i64::from(gray) * i64::from(places) > (2 * i64::from(*rank) + 1) * 255);
            let expected = fire.count() * found.len() / places as usize;
            assert_eq!(
                found.iter().filter(|sample| **sample == 255).count(),
                expected,
                "{dither} {gray}"
            );
            assert!(found.iter().all(|sample| [0, 255].contains(sample)));
        }
    }
}

#[test]
fn a_source_loses_its_slope_and_keeps_its_mean() {
    let samples = |node: &str| {
        let design = parse(&format!(
            "relief version=1\ncanvas width=90 height=50 bits=16\n{node}"
        ));
        rendered(&renderer(&design, &NoImages, &Options::default())).unwrap()
    };
    let flat = samples("detrend { (source)ramp axis=\"x\" from=1000 to=40000 }");
    assert!(flat.iter().all(|sample| sample.abs_diff(20_500) <= 1), "{flat:?}");
    let bulge = "(source)formula \"(x - 45) ^ 2 * 9 + (x - 45) * (y - 20) * 7 + 20000\"";
    let flat = samples(&format!("detrend degree=2 {{ {bulge} }}"));
    assert!(
        flat.iter().all(|sample| sample.abs_diff(flat[0]) <= 1),
        "{flat:?}"
    );
    assert!(flat[0] > 20_000);
}

#[test]
fn a_slope_is_that_of_the_whole_source_where_it_repeats_and_where_it_is_not() {
    let copies = || {
        Item::new(Repeat {
            gaps: (Some(2), Some(1)),
            pattern: Box::new(noise().at(3, 1).sized(5, 3)),
        })
    };
    for degree in [1, 2] {
        for (source, width, height) in [
            (copies(), 60, 41),
            (noise().at(10, -4).sized(25, 30), 50, 40),
            (Item::new(Fill(200)).at(3, 3).sized(9, 9), 30, 30),
            (noise(), 1, 1),
            (noise(), 2, 31),
        ] {
            let detrended = model(
                width,
                height,
                Detrend {
                    degree,
                    source: Box::new(source),
                },
            );
            every(&detrended, &tiles()[..3]);
            every(&deep(detrended), &[PLAIN]);
        }
    }
}

#[test]
fn textures_repeat_after_their_periods() {
    for texture in [
        "perlin seed=7 size=10 octaves=3",
        "worley seed=7 size=10 of=\"edge\"",
    ] {
        let text =
            format!("relief version=1\ncanvas width=300 height=200\n{texture} period-x=33 period-y=27");
        let design = parse(&text);
        let renderer = renderer(&design, &NoImages, &Options::default());
        let cell = renderer
            .plan()
            .nodes()
            .iter()
            .any(|node| matches!(node.kept, Kept::Cell { .. }));
        assert!(cell, "{texture}");
        let samples = rendered(&renderer).unwrap();
        let at = |x: usize, y: usize| samples[y * 300 + x];
        for (x, y) in (0..200).flat_map(|x| (0..150).map(move |y| (x, y))) {
            assert_eq!(at(x, y), at(x + 33, y + 27));
        }
        assert!(samples.iter().any(|sample| *sample != samples[0]));
    }
}

#[test]
fn gradients_that_repeat_are_computed_from_a_cell() {
    for (to, stops) in [
        ([Some((7, 1)), None], Vec::new()),
        ([Some((3, 2)), None], vec![(0, 9), (500, 200), (1_000, 0)]),
        ([None, Some((-5, 1))], Vec::new()),
        ([Some((4, 1)), Some((-6, 1))], vec![(250, 9), (250, 200)]),
        ([Some((15, 4)), Some((5, 2))], Vec::new()),
    ] {
        for spread in ["repeat", "mirror"] {
            let gradient = Gradient {
                course: Course::Linear {
                    from: [Some((1, 3)), None],
                    to: match to {
                        [Some((x, below)), y] => [Some((3 * x + below, 3 * below)), y],
                        // Straight down: where it begins counts from the left as well.
                        [None, y] => [None, y],
                    },
                },
                spread,
                stops: stops.clone(),
            };
            let model = model(130, 141, gradient);
            assert!(keeps_a_cell(&model), "{model:?}");
            every(&model, &tiles()[..4]);
            every(&deep(model), &[PLAIN]);
        }
    }
}

fn keeps_a_cell(model: &Model) -> bool {
    let images = Pictures(model.pictures.clone());
    let renderer = renderer(&design(model), &images, &Options::default());
    let nodes = renderer.plan().nodes();
    nodes.iter().any(|node| matches!(node.kept, Kept::Cell { .. }))
}

#[test]
fn turned_and_flipped_copies_are_computed_from_a_cell() {
    let lattice = Item::new(Lattice {
        blend: Blend::Last,
        u: (8, 3),
        v: (-1, 6),
        pattern: Box::new(noise().sized(5, 4)),
    });
    let repeat = Item::new(Repeat {
        gaps: (Some(2), Some(1)),
        pattern: Box::new(noise().at(3, 1).sized(5, 3)),
    });
    for source in [lattice, repeat] {
        // Whole, and with a border on every side where there are no copies.
        for source in [source.clone(), source.at(6, 9).sized(111, 122)] {
            let turned = (1..=3).map(|quarters| Kind::from(turn(quarters, source.clone())));
            let flipped = [true, false].map(|horizontal| Kind::from(flip(horizontal, source.clone())));
            for root in turned.chain(flipped) {
                let copies = model(130, 141, root);
                assert!(keeps_a_cell(&copies), "{copies:?}");
                every(&copies, &tiles());
            }
        }
    }
}

/// 1 2 3 above 4 5 6.
fn six() -> Picture {
    Picture {
        width: 3,
        height: 2,
        samples: vec![1, 2, 3, 4, 5, 6],
    }
}

fn samples(model: &Model) -> Vec<u16> {
    let images = Pictures(model.pictures.clone());
    rendered(&renderer(&design(model), &images, &Options::default())).unwrap()
}

#[test]
fn a_turn_is_clockwise_and_a_flip_swaps_the_ends_of_its_axis() {
    let of = |width, height, root: Kind| {
        samples(&Model {
            pictures: vec![six()],
            ..model(width, height, root)
        })
    };
    let picture = || Item::new(Image(0));
    assert_eq!(of(2, 3, turn(1, picture()).into()), [4, 1, 5, 2, 6, 3]);
    assert_eq!(of(3, 2, turn(2, picture()).into()), [6, 5, 4, 3, 2, 1]);
    assert_eq!(of(2, 3, turn(3, picture()).into()), [3, 6, 2, 5, 1, 4]);
    assert_eq!(of(3, 2, flip(true, picture()).into()), [3, 2, 1, 6, 5, 4]);
    assert_eq!(of(3, 2, flip(false, picture()).into()), [4, 5, 6, 1, 2, 3]);
}

#[test]
fn copies_of_a_turned_picture_follow_each_other_by_its_turned_size() {
    let copies = |pattern: Item| Repeat {
        gaps: (None, None),
        pattern: Box::new(pattern),
    };
    let with = |definitions, root| Model {
        pictures: vec![six()],
        definitions,
        ..model(11, 9, root)
    };
    let turned = |x, y| Item::new(turn(1, Item::new(Image(0)).at(x, y)));
    let row: Vec<u16> = samples(&with(Vec::new(), copies(turned(0, 0))))[..11].to_vec();
    assert_eq!(row, [4, 1, 4, 1, 4, 1, 4, 1, 4, 1, 4]);
    for (x, y) in [(0, 0), (2, 0), (0, 3), (-1, 1), (1, -1)] {
        for at in [(0, 0), (-3, 5)] {
            every(&with(Vec::new(), copies(turned(x, y).at(at.0, at.1))), &tiles());
            // By its definition, which has an offset as well.
            let used = Item::new(Use(0)).at(at.0, at.1);
            every(&with(vec![turned(x, y).at(1, 2)], copies(used.clone())), &tiles());
            every(
                &with(
                    vec![Item::new(Image(0)).at(x, y)],
                    copies(Item::new(turn(3, used))),
                ),
                &tiles(),
            );
        }
    }
}

/// The kind in so many frames, one in the other, the outermost of this size. After each of these turns (by quarters) and
/// flips (0 along x, 4 along y) it lies in the frame of the next.
fn through(kind: Kind, steps: &[u8], (width, height): (u64, u64)) -> Kind {
    let Some((step, rest)) = steps.split_first() else {
        return kind;
    };
    let frame = if step % 2 == 1 {
        (height, width)
    } else {
        (width, height)
    };
    let source = Item::new(through(kind, rest, frame)).sized(frame.0, frame.1);
    match step {
        0 => flip(true, source).into(),
        4 => flip(false, source).into(),
        quarters => turn(*quarters, source).into(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn turned_all_the_way_or_flipped_twice_a_source_is_itself(
        model in models(),
        steps in prop_oneof![
            Just(&[1_u8, 1, 1, 1][..]),
            Just(&[3, 3, 3, 3][..]),
            Just(&[2, 2][..]),
            Just(&[1, 3][..]),
            Just(&[0, 0][..]),
            Just(&[4, 4][..]),
            // A half turn is a flip along each axis.
            Just(&[2, 0, 4][..]),
        ],
    ) {
        let root = through(model.root.clone(), steps, (model.width, model.height));
        prop_assert_eq!(samples(&Model { root, ..model.clone() }), samples(&model));
    }

    #[test]
    fn a_median_comes_before_or_after_a_threshold(
        model in models(),
        radius in 1_i64..=8,
        place in prop::option::of(any::<prop::sample::Index>()),
        edge in prop::sample::select(&Edge::ALL[..]),
        level in 1_u16..,
    ) {
        // k samples reach a level, or they do not: ranks do not ask by how much.
        let rank = place.map(|place| 1 + place.index((2 * radius as usize + 1).pow(2)));
        let level = 1 + (level - 1) % model.max;
        let source = || Item::new(model.root.clone());
        let threshold = |source: Item| Threshold { level, source: Box::new(source) };
        let after = threshold(Item::new(median(radius, rank, edge, source())));
        let before = median(radius, rank, edge, Item::new(threshold(source())));
        prop_assert_eq!(
            samples(&Model { root: after.into(), ..model.clone() }),
            samples(&Model { root: before.into(), ..model.clone() })
        );
    }

    #[test]
    fn what_is_opened_lies_below_its_source_and_what_is_closed_above(
        model in models(),
        radius in 1_i64..=6,
        disc in any::<bool>(),
        edge in prop::sample::select(&[Edge::Clamp, Edge::Mirror, Edge::Wrap][..]),
    ) {
        let of = |root: Kind| samples(&Model { root, ..model.clone() });
        let element = element(radius, disc, edge);
        let source = || Box::new(Item::new(model.root.clone()));
        let opened = of(Open { element, source: source() }.into());
        let closed = of(Close { element, source: source() }.into());
        // As a child it may have a size of its own.
        let plain = of(Compose(vec![(Fold::Base, *source())]).into());
        for ((open, sample), close) in opened.iter().zip(&plain).zip(&closed) {
            prop_assert!(open <= sample && sample <= close, "{open} {sample} {close}");
        }
        // What they change is what a top-hat shows.
        let hat = |dark| of(TopHat { element, dark, source: source() }.into());
        let taken: Vec<u16> = plain.iter().zip(&opened).map(|(sample, open)| sample - open).collect();
        let added: Vec<u16> = closed.iter().zip(&plain).map(|(close, sample)| close - sample).collect();
        prop_assert_eq!((hat(false), hat(true)), (taken, added));
    }

    #[test]
    fn the_least_and_the_greatest_of_a_square_are_its_first_and_last_rank(
        model in models(),
        radius in 1_i64..=8,
        edge in prop::sample::select(&Edge::ALL[..]),
    ) {
        let of = |root: Kind| samples(&Model { root, ..model.clone() });
        let element = element(radius, false, edge);
        let source = || Item::new(model.root.clone());
        let last = (2 * radius as usize + 1).pow(2);
        for (rank, root) in [
            (1, Kind::from(Erode { element, source: Box::new(source()) })),
            (last, Kind::from(Dilate { element, source: Box::new(source()) })),
        ] {
            prop_assert_eq!(of(root), of(median(radius, Some(rank), edge, source()).into()));
        }
    }

    #[test]
    fn a_bell_over_one_sample_gives_that_sample(
        (bits, value) in prop_oneof![(Just(8), 0_u16..=255), (Just(16), 0_u16..=65_535)],
        sigma in 1_u32..=6_400,
        edge in prop::sample::select(&["clamp", "mirror", "wrap"][..]),
        (width, height) in (1_u64..90, 1_u64..90),
        tile in prop::option::of((1_u64..50, 1_u64..50)),
    ) {
        // A source that is one sample everywhere, and one of which that is found out pixel by pixel.
        for source in [
            format!("(source)fill value={value}"),
            format!("(source)ramp axis=\"x\" from={value} to={value}"),
        ] {
            let text = format!(
                "relief version=1\ncanvas width={width} height={height} depth={bits}\ngauss sigma={} edge=\"{edge}\" {{\n{source}\n}}",
                f64::from(sigma) / 100.0
            );
            let options = Options::default().with(|with| with.tile = tile).threads(2);
            let found = rendered(&renderer(&parse(&text), &NoImages, &options)).unwrap();
            prop_assert!(found.iter().all(|sample| *sample == value), "{}", text);
        }
    }
}
