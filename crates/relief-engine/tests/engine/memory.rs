//! The peak that a plan says: its figure, its parts, and that it is held under stress.

use proptest::prelude::*;
use relief_engine::{Cancel, Error, NoImages, Options, Plan, Rect, Renderer};

use crate::oracle::strategy::models;
use crate::pictures::Pictures;
use crate::run::{design, parse, rendered, renderer, window};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_memory_that_a_refusal_names_is_the_least_that_does(
        model in models(),
        threads in 1_usize..6,
        tile in proptest::option::of((1_u64..100, 1_u64..100)),
        kept in proptest::option::of(0_u64..3_000),
        sink in prop_oneof![Just(0_u64), 1_u64..1_000_000],
    ) {
        let (design, images) = (design(&model), Pictures(model.pictures.clone()));
        let plan = |memory| {
            let options = Options { threads: Some(threads), memory: Some(memory), tile, kept, sink, ..Options::default() };
            Plan::new(&design, &images, &options)
        };
        let Err(Error::Memory { needed, limit: 0, .. }) = plan(0) else {
            return Err(TestCaseError::fail("planned without memory"));
        };
        let least = plan(needed);
        prop_assert!(least.is_ok(), "{} bytes were named: {:?}", needed, least.err());
        let peak = least.unwrap().peak();
        prop_assert!(peak.total() <= needed);
        let streaming = peak.bands + peak.cache + peak.sink;
        let sum = streaming.max(peak.decoding) + peak.scratch + peak.images + peak.tables + peak.kept;
        prop_assert_eq!(peak.total(), sum);
        // Without a figure for `kept` it follows the memory, so that less may do where more is kept.
        let fewer = plan(needed - 1);
        prop_assert!(
            kept.is_none() || matches!(fewer, Err(Error::Memory { .. })),
            "{} bytes do, {} were named", needed - 1, needed
        );
    }
}

/// Distances in distances in distances: cached tiles wait for cached tiles.
const NESTED: &str = r#"
relief version=1
canvas width=90 height=40
define "a" { distance radius=9 { (mask)threshold level=253 { (source)noise seed=4 }; profile "255 - 28 * d" beyond=0 } }
define "b" { distance radius=7 { (mask)threshold level=250 { (source)use "a" }; profile "255 - 36 * d" beyond=0 } }
define "c" { distance radius=5 { (mask)threshold level=250 { (source)use "b" }; profile "255 - 50 * d" beyond=0 } }
compose {
    (base)use "c"
    (max)use "b" x=3 y=5
    (mean)use "a" x=-7 y=2
    (subtract)use "c" x=11 y=-13
}
"#;

fn nested(threads: usize, memory: u64, tile: Option<(u64, u64)>) -> Options {
    Options {
        threads: Some(threads),
        memory: Some(memory),
        tile,
        ..Options::default()
    }
}

#[test]
fn nested_cached_nodes_neither_lock_up_nor_differ_with_the_smallest_cache() {
    let design = parse(NESTED);
    let expected = rendered(&renderer(&design, &NoImages, &nested(1, 1 << 30, None))).unwrap();
    for threads in [1, 8] {
        for tile in [None, Some((17, 11)), Some((90, 7))] {
            let Err(Error::Memory { needed, .. }) = Plan::new(&design, &NoImages, &nested(threads, 0, tile))
            else {
                panic!("planned without memory")
            };
            for memory in [needed, needed + 20_000] {
                let small = renderer(&design, &NoImages, &nested(threads, memory, tile));
                assert!(small.plan().peak().cache > 0, "nothing is cached");
                assert!(
                    rendered(&small).unwrap() == expected,
                    "{threads} threads, {tile:?}, {memory}"
                );
            }
        }
    }
}

#[test]
fn several_readers_of_one_renderer_see_the_same_samples() {
    let design = parse(NESTED);
    let plan = Plan::new(&design, &NoImages, &nested(3, 3 << 20, None)).unwrap();
    let renderer = Renderer::new(plan, &NoImages, &Cancel::new()).unwrap();
    let place = Rect::new(17, 5, 60, 30).unwrap();
    let expected = window(&renderer, place).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    assert!(window(&renderer, place).unwrap() == expected);
                }
            });
        }
    });
}

#[test]
fn tiles_wider_than_the_raster_take_no_more_memory_than_the_raster() {
    let design = parse(NESTED);
    let plan = |tile| Plan::new(&design, &NoImages, &nested(2, 64 << 20, Some(tile)));
    let fitting = plan((90, 20)).unwrap().peak().total();
    let wider = plan((1 << 30, 20)).map(|plan| plan.peak().total());
    assert!(
        matches!(wider, Ok(peak) if peak <= fitting),
        "{wider:?} for {fitting}"
    );
}
