//! Levels of a raster whose bands a device computes: those of the CPU, exact or not.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use relief_engine::{Cancel, Exactness, Options, Rect, Renderer, SamplesMut, Statistic, Summary};

use crate::compare::on_device;
use crate::device::device;
use crate::oracle::strategy::models;
use crate::pictures::Pictures;
use crate::run::{design, renderer};

/// Samples of a whole level after so much effort, and within how much they are known.
fn level(
    renderer: &Renderer,
    level: u32,
    statistic: Statistic,
    effort: u64,
) -> (Vec<u8>, Vec<u16>, Exactness) {
    let (columns, rows) = renderer.level_size(level);
    let count = (columns * rows) as usize;
    let (mut eight, mut sixteen) = (Vec::new(), Vec::new());
    let out = if renderer.plan().raster().depth.bytes() == 2 {
        sixteen.resize(count, 0);
        SamplesMut::Sixteen(&mut sixteen)
    } else {
        eight.resize(count, 0);
        SamplesMut::Eight(&mut eight)
    };
    let window = Rect::sized(columns, rows);
    let exactness = renderer
        .read_level(level, window, statistic, effort, out, &Cancel::new())
        .unwrap();
    (eight, sixteen, exactness)
}

fn summary(renderer: &Renderer, effort: u64) -> Summary {
    let raster = renderer.plan().raster();
    let whole = Rect::sized(raster.width, raster.height);
    renderer
        .summary(whole, Statistic::Mean, effort, &Cancel::new())
        .unwrap()
}

#[test]
fn levels_beside_a_device_are_those_of_the_cpu() {
    let Some(device) = device() else { return };
    let config = Config {
        cases: 80,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let effort = prop_oneof![Just(0), 1..3_000_u64, Just(u64::MAX)];
    let outcome = runner.run(&(models(), 0..7_u32, effort), |(model, number, effort)| {
        let (design, images) = (design(&model), Pictures(model.pictures.clone()));
        let options = Options::default().levels();
        let here = renderer(&design, &images, &options.clone().threads(2));
        let there = on_device(device, &design, &images, &options)
            .map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        prop_assert!(there.plan().device().is_some());
        for statistic in [Statistic::Mean, Statistic::Least, Statistic::Greatest] {
            let found = level(&there, number, statistic, effort);
            prop_assert!(effort < u64::MAX || found.2 == Exactness::Exact);
            prop_assert_eq!(&found, &level(&here, number, statistic, effort));
        }
        let (found, expected) = (summary(&there, effort), summary(&here, effort));
        prop_assert_eq!(
            (found.pixels, found.sum, found.least, found.greatest, found.zeros),
            (
                expected.pixels,
                expected.sum,
                expected.least,
                expected.greatest,
                expected.zeros
            )
        );
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
