//! What is found out about whole sources before the first band: its samples, whatever must not matter, and how it is
//! handed on, told, stopped and counted.

use relief_design::Design;
use relief_engine::{Cancel, Error, Kept, NoImages, Options, Plan, Prepared, Progress, Rect, Renderer};

use crate::oracle::model::{Item, Model, Picture};
use crate::oracle::nodes::{
    Blend, Compose, Distance, Edge, Equalise, Fill, Fold, Gauss, Image, Kind, Lattice, Noise, Normalise,
    Otsu, Profile, Repeat, Turn,
};
use crate::pictures::Pictures;
use crate::run::{design, parse, part, rendered, renderer};
use crate::ways::{PLAIN, Way, cross, every, model};

fn equalise(source: Item) -> Equalise {
    Equalise {
        limit: None,
        source: Box::new(source),
    }
}

fn noise() -> Item {
    Item::new(Noise { seed: 3 })
}

/// A raster of 2 × 2 samples, equalised.
fn of_four(samples: [u16; 4], max: u16) -> Vec<u16> {
    let model = Model {
        max,
        pictures: vec![Picture {
            width: 2,
            height: 2,
            samples: samples.to_vec(),
        }],
        ..model(2, 2, equalise(Item::new(Image(0))))
    };
    let images = Pictures(model.pictures.clone());
    rendered(&renderer(&design(&model), &images, &Options::default())).unwrap()
}

#[test]
fn a_level_becomes_its_rank_among_the_samples_above_the_least() {
    // C(1) = 2, C(2) = 3, C(5) = 4, D = 2: 2 becomes ⌊(255 + 1) / 2⌋.
    assert_eq!(of_four([1, 5, 1, 2], 255), [0, 255, 0, 128]);
    assert_eq!(of_four([1, 5, 1, 2], 65_535), [0, 65_535, 0, 32_768]);
    // D = 3: ⌊(255 + 1) / 3⌋ and ⌊(510 + 1) / 3⌋.
    assert_eq!(of_four([40, 30, 20, 10], 255), [255, 170, 85, 0]);
}

#[test]
fn a_source_of_one_level_stays_as_it_is() {
    for max in [255, 65_535] {
        for level in [0, 1, max - 1, max] {
            assert_eq!(of_four([level; 4], max), [level; 4]);
        }
    }
    every(&model(40, 30, equalise(Item::new(Fill(9)))), &cross());
}

/// A raster of 2 × 2 samples through a node that follows from its histogram.
fn through(root: Kind, samples: [u16; 4], max: u16) -> Vec<u16> {
    let model = Model {
        max,
        pictures: vec![Picture {
            width: 2,
            height: 2,
            samples: samples.to_vec(),
        }],
        ..model(2, 2, root)
    };
    let images = Pictures(model.pictures.clone());
    rendered(&renderer(&design(&model), &images, &Options::default())).unwrap()
}

fn picture() -> Box<Item> {
    Box::new(Item::new(Image(0)))
}

#[test]
fn what_is_normalised_reaches_from_0_to_the_greatest_sample() {
    let of = |percentiles, samples, max| {
        through(
            Normalise {
                percentiles,
                source: picture(),
            }
            .into(),
            samples,
            max,
        )
    };
    assert_eq!(of((0, 100_000), [10, 20, 30, 11], 255), [0, 128, 255, 13]);
    assert_eq!(
        of((0, 100_000), [10, 20, 30, 11], 65_535),
        [0, 32_768, 65_535, 3_277]
    );
    // Of four samples more than a quarter are at most the second, and at least three quarters at most the third.
    assert_eq!(of((25_000, 75_000), [1, 4, 8, 200], 255), [0, 0, 255, 255]);
    assert_eq!(of((24_999, 75_001), [1, 4, 8, 200], 255), [0, 4, 9, 255]);
    for level in [0, 7, 255] {
        assert_eq!(of((0, 100_000), [level; 4], 255), [level; 4]);
    }
    assert_eq!(of((30_000, 60_000), [9, 50, 50, 201], 255), [9, 50, 50, 201]);
}

#[test]
fn samples_are_parted_at_the_least_level_that_parts_them_best() {
    let of = |samples, max| through(Otsu { source: picture() }.into(), samples, max);
    assert_eq!(of([10, 12, 200, 190], 255), [0, 0, 255, 255]);
    assert_eq!(
        of([0, 65_535, 65_534, 65_530], 65_535),
        [0, 65_535, 65_535, 65_535]
    );
    // Parted before or behind the middle one they are as far apart.
    assert_eq!(of([50, 100, 150, 100], 255), [0, 255, 255, 255]);
    for level in [0, 7, 255] {
        assert_eq!(of([level; 4], 255), [0; 4]);
    }
}

#[test]
fn common_levels_count_as_often_as_the_limit_lets_them() {
    let of = |limit, samples| {
        let source = picture();
        through(Equalise { limit, source }.into(), samples, 255)
    };
    // The mean count of 256 levels is below 1, so that each counts once.
    assert_eq!(of(Some(4), [7, 7, 7, 20]), [0, 0, 0, 255]);
    assert_eq!(of(Some(4), [7, 7, 30, 20]), [0, 0, 255, 128]);
    // Three of four at most: 4 · 192 / 256.
    assert_eq!(of(Some(768), [7, 20, 20, 30]), of(None, [7, 20, 20, 30]));
    assert_eq!(of(Some(4), [9; 4]), [9; 4]);
}

#[test]
fn what_the_source_does_not_cover_counts_as_0() {
    for source in [
        Item::new(Fill(9)).at(3, 4).sized(10, 8),
        noise().at(-5, 20).sized(30, 30),
        noise().at(-20, -20).sized(90, 90),
        noise().at(39, 29).sized(5, 5),
        noise().at(40, 0).sized(5, 5),
        noise().at(-9, 0).sized(9, 30),
    ] {
        let node = Item::new(equalise(source)).at(2, -3).sized(40, 30);
        for max in [255, 65_535] {
            let design = Model {
                max,
                ..model(45, 31, Compose(vec![(Fold::Max, node.clone())]))
            };
            let ways: Vec<Way> = cross().into_iter().step_by(5).collect();
            every(&design, &ways);
        }
    }
}

/// A source that repeats within a border where it does not.
fn with_a_border() -> Model {
    let lattice = Item::new(Lattice {
        blend: Blend::Mean,
        u: (7, 2),
        v: (-3, 8),
        pattern: Box::new(noise().sized(3, 2)),
    });
    let distance = Item::new(Distance {
        radius: 5,
        profile: Profile::Line { a: 250, b: -30 },
        beyond: Some(1),
        mask: Box::new(lattice.at(4, 7).sized(170, 120)),
    });
    model(183, 141, equalise(distance.at(-3, 2).sized(180, 150)))
}

#[test]
fn a_cell_counts_as_often_as_it_stands_in_the_source_and_its_border_once() {
    let model = with_a_border();
    let whole = renderer(&design(&model), &NoImages, &Options::default());
    let nodes = whole.plan().nodes();
    assert!(
        nodes.iter().any(|node| matches!(node.kept, Kept::Cell { .. })),
        "{nodes:?}"
    );
    let area = Rect::sized(183, 141).area();
    let work = whole.plan().preparation();
    assert!(work < area / 2, "{work} of {area} samples are looked at");
    // With a cell and without one.
    every(&model, &cross());
}

#[test]
fn a_part_of_the_raster_has_the_table_of_the_whole() {
    for (width, height) in [(64, 50), (1, 50), (64, 1)] {
        let blurred = Item::new(Gauss {
            sigma: 1.3,
            edge: Edge::Wrap,
            source: Box::new(noise()),
        });
        let inner = Item::new(equalise(blurred.at(3, 0).sized(40, 44)));
        let turned = Item::new(Turn {
            quarters: 1,
            source: Box::new(inner.at(1, 2).sized(45, 30)),
        });
        let model = model(width, height, equalise(turned));
        let regions = [
            [0, 0, 0, 0],
            [990, 990, 999, 999],
            [300, 200, 310, 900],
            [0, 500, 999, 510],
        ];
        let ways = regions.map(|region| Way {
            region: Some(region),
            tile: Some((7, 13)),
            ..PLAIN
        });
        every(&model, &ways);
    }
}

#[test]
fn a_raster_of_2_to_the_80_samples_is_counted_exactly() {
    let side = 1 << 40;
    let copies = Repeat {
        gaps: (None, None),
        pattern: Box::new(Item::new(Image(0))),
    };
    let model = Model {
        pictures: vec![Picture {
            width: 4,
            height: 1,
            samples: vec![10, 20, 20, 200],
        }],
        ..model(side, side, equalise(Item::new(copies)))
    };
    let far = Rect::new(side as i64 - 4, side as i64 - 1, 4, 1).unwrap();
    let options = Options::default().region(far);
    let (design, images) = (design(&model), Pictures(model.pictures.clone()));
    let work = Plan::new(&design, &images, &options).unwrap().preparation();
    assert!(work <= 4, "{work} samples are looked at");
    let found = rendered(&renderer(&design, &images, &options)).unwrap();
    // D = ¾·N: 20 becomes ⌊(255·½·N + ⅜·N) / ¾·N⌋.
    assert_eq!(found, [0, 170, 170, 255]);
}

#[test]
fn a_source_of_one_sample_is_counted_at_once_however_large() {
    for source in [
        "fill value=7",
        "compose { (base)fill value=7 }",
        "map { (source)fill value=248; invert }",
    ] {
        let text = format!(
            "relief version=1\ncanvas width={0} height={0}\nequalise {{\n(source){source}\n}}",
            1_u64 << 40
        );
        let options = Options::default().with(|with| with.region = Rect::new(1 << 39, 1 << 38, 3, 2));
        let work = Plan::new(&parse(&text), &NoImages, &options)
            .unwrap()
            .preparation();
        assert!(work <= 1, "{work} samples are looked at");
        let found = rendered(&renderer(&parse(&text), &NoImages, &options)).unwrap();
        assert_eq!(found, [7; 6], "{source}");
    }
}

const TWICE: &str = "relief version=1\ncanvas width=90 height=70\ncompose {\n(base)equalise { (source)noise seed=1 }\n\
                     (mean)equalise x=5 { (source)equalise { (source)ramp axis=\"x\" from=3 to=90 } }\n}";

/// A renderer that starts from what is known, and all that it told of its progress.
fn prepared(
    design: &Design,
    options: &Options,
    known: Option<&Prepared>,
) -> (Result<Renderer, Error>, Vec<Progress>) {
    let plan = Plan::new(design, &NoImages, options).unwrap();
    let mut told = Vec::new();
    let renderer = Renderer::prepare(
        plan,
        &NoImages,
        known,
        &mut |progress| told.push(progress),
        &Cancel::new(),
    );
    (renderer, told)
}

#[test]
fn a_preparation_tells_how_far_it_is_up_to_all_that_was_planned() {
    let (renderer, told) = prepared(&parse(TWICE), &Options::default(), None);
    let total = renderer.unwrap().plan().preparation();
    assert!(total > 0);
    assert!(told.iter().all(|progress| progress.total == total), "{told:?}");
    assert!(
        told.windows(2).all(|pair| pair[0].done < pair[1].done),
        "{told:?}"
    );
    assert_eq!(told.last().map(|last| last.done), Some(total));
    // What is not there is not told.
    let (_, told) = prepared(
        &parse("relief version=1\ncanvas width=9 height=9\nnoise seed=1"),
        &Options::default(),
        None,
    );
    assert_eq!(told, []);
}

#[test]
fn what_an_earlier_renderer_found_out_is_not_computed_again() {
    let design = parse(TWICE);
    let (first, _) = prepared(&design, &Options::default(), None);
    let first = first.unwrap();
    let (known, expected) = (first.prepared(), rendered(&first).unwrap());
    assert_eq!(known.iter().count(), 3);
    let region = Rect::new(31, 20, 40, 33).unwrap();
    for (region, threads, tile) in [
        (None, 1, None),
        (None, 3, Some((7, 5))),
        (Some(region), 2, Some((64, 1))),
    ] {
        let options = Options::default()
            .with(|with| with.region = region)
            .threads(threads)
            .with(|with| with.tile = tile);
        let (again, told) = prepared(&design, &options, Some(&known));
        let again = again.unwrap();
        assert_eq!(told, [], "it was computed again");
        assert_eq!(again.prepared(), known);
        let part = part(&expected, 90, region.unwrap_or(Rect::sized(90, 70)));
        assert!(rendered(&again).unwrap() == part, "{options:?}");
    }
    // With nothing known, and with one of three.
    let one: Prepared = known
        .iter()
        .take(1)
        .map(|(node, table)| (node, table.to_vec()))
        .collect();
    for some in [Prepared::default(), one] {
        let (again, told) = prepared(&design, &Options::default(), Some(&some));
        assert!(!told.is_empty());
        let again = again.unwrap();
        assert_eq!(again.prepared(), known);
        assert!(rendered(&again).unwrap() == expected);
    }
}

#[test]
fn tables_that_cannot_be_those_of_the_design_are_refused() {
    let design = parse(TWICE);
    let known = prepared(&design, &Options::default(), None).0.unwrap().prepared();
    let deep = parse(&TWICE.replace("height=70", "height=70 depth=16"));
    let (refused, _) = prepared(&deep, &Options::default(), Some(&known));
    assert!(
        matches!(refused, Err(Error::Prepared { line: 4 | 5 })),
        "{refused:?}"
    );
    for table in [Vec::new(), vec![0; 255], vec![0; 257], vec![256; 256]] {
        let wrong: Prepared = known.iter().map(|(node, _)| (node, table.clone())).collect();
        let (refused, _) = prepared(&design, &Options::default(), Some(&wrong));
        assert!(
            matches!(refused, Err(Error::Prepared { .. })),
            "{table:?}: {refused:?}"
        );
    }
}

/// More samples than anyone waits for.
const ENDLESS: &str =
    "relief version=1\ncanvas width=1048576 height=1048576\nequalise { (source)noise seed=1 }";

#[test]
fn a_preparation_that_is_cancelled_ends_soon() {
    let plan = || Plan::new(&parse(ENDLESS), &NoImages, &Options::default()).unwrap();
    let cancel = Cancel::new();
    let mut told = 0;
    let outcome = Renderer::prepare(
        plan(),
        &NoImages,
        None,
        &mut |_| {
            told += 1;
            cancel.cancel();
        },
        &cancel,
    );
    assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
    assert_eq!(told, 1);
    // From another thread, whenever that comes.
    let cancel = Cancel::new();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| cancel.cancel());
        Renderer::new(plan(), &NoImages, &cancel)
    });
    assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
}

#[test]
fn a_panic_of_the_progress_of_a_preparation_comes_back_to_the_caller() {
    let plan = Plan::new(&parse(TWICE), &NoImages, &Options::default()).unwrap();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Renderer::prepare(
            plan,
            &NoImages,
            None,
            &mut |_| panic!("of the progress"),
            &Cancel::new(),
        )
    }));
    assert_eq!(
        *outcome.unwrap_err().downcast::<&str>().unwrap(),
        "of the progress"
    );
}

#[test]
fn the_memory_of_a_preparation_is_planned() {
    let deep = parse(&TWICE.replace("height=70", "height=70 depth=16"));
    let plan = |design: &Design, threads, memory| {
        let options = Options::default()
            .threads(threads)
            .with(|with| with.memory = memory)
            .tile((50, 40));
        Plan::new(design, &NoImages, &options)
    };
    for threads in [1, 3, 8] {
        let peak = plan(&deep, threads, None).unwrap().peak();
        // A number of 16 bytes for each level, and a tile, for every thread.
        let least = threads as u64 * ((1 << 16) * 16 + 50 * 40 * 2);
        assert!(peak.preparing >= least, "{} of {least} bytes", peak.preparing);
        assert!(peak.total() >= peak.preparing + peak.scratch);
    }
    let enough = plan(&deep, 8, None).unwrap().peak().preparing;
    assert!(matches!(plan(&deep, 8, Some(enough)), Err(Error::Memory { .. })));
    let plain = parse("relief version=1\ncanvas width=90 height=70\nnoise seed=1");
    assert_eq!(plan(&plain, 8, None).unwrap().peak().preparing, 0);
}
