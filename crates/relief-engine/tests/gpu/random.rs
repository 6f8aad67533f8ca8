//! Random designs of every node kind, shape and depth.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use relief_engine::Options;

use crate::compare::agree;
use crate::device::device;
use crate::oracle::strategy::models;
use crate::pictures::Pictures;
use crate::run::design;

/// The designs are the same every time, unless PROPTEST_CASES asks for more of them: kernels are compiled for each,
/// which takes most of the time. A failure is shrunk.
fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    match std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
    {
        Some(cases) => TestRunner::new(Config { cases, ..config }),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    }
}

#[test]
fn random_designs_have_the_samples_of_the_cpu() {
    let Some(device) = device() else { return };
    let rows = proptest::option::of(1_u64..20);
    let kept = prop_oneof![3 => Just(None), 1 => Just(Some(0)), 1 => Just(Some(200))];
    let outcome = runner(120).run(&(models(), rows, kept), |(model, rows, kept)| {
        let (design, images) = (design(&model), Pictures(model.pictures.clone()));
        let options = Options::default()
            .with(|with| with.tile = rows.map(|rows| (64, rows)))
            .with(|with| with.kept = kept);
        agree(device, &design, &images, &options).map_err(TestCaseError::fail)
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
