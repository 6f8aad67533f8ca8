//! N bodies on a device move as on the CPU.

use relief_kernels::device::{DeviceError, Gpu};
use relief_kernels::policy::Tuning;
use relief_numeric::nbody::gpu::{
    Bodies, DEFAULT, MOST, SPACE, Simulation, accelerations, accelerations_with, kick, parts, scratch_words,
};
use relief_numeric::nbody::{Body, Interaction, Motion, Space, cpu};

use crate::support::Random;

fn bodies(count: usize) -> Vec<Body> {
    let mut random = Random::new(7);
    let mut next = || random.below(1 << 20) as f32 / (1 << 20) as f32;
    (0..count)
        .map(|_| Body {
            place: [next(), next(), next()],
            mass: 2.0 * next() / count as f32,
        })
        .collect()
}

const SPACES: [Space; 3] = [Space::Free, Space::Plane, Space::Torus(1.0)];

fn pulls(
    gpu: &Gpu,
    tuning: Tuning,
    parts: usize,
    interaction: &Interaction,
    targets: &[Body],
    sources: &[Body],
) -> Vec<Motion> {
    let upload = |bodies: &[Body]| gpu.upload(bytemuck::cast_slice(bodies)).unwrap();
    let (from, by) = (upload(targets), upload(sources));
    let to = gpu.buffer(4 * targets.len()).unwrap();
    let scratch = gpu.buffer(scratch_words(targets.len(), parts)).unwrap();
    let of = |buffer, count| Bodies { buffer, count };
    let (from, by) = (of(&from, targets.len()), of(&by, sources.len()));
    accelerations_with(gpu, tuning, parts, interaction, from, by, &to, &scratch).unwrap();
    let bytes = gpu.read(&to, 4 * targets.len()).wait().unwrap();
    bytemuck::pod_collect_to_vec(&bytes[..16 * targets.len()])
}

#[test]
fn accelerations_are_those_of_the_cpu_in_every_layout() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let tunings = [(64, 1), (128, 4), (256, 2), (64, 8)];
    for ((units, items), space) in tunings.into_iter().zip(SPACES.into_iter().cycle()) {
        let tuning = Tuning {
            units,
            items,
            ..DEFAULT
        };
        assert!(SPACE.contains(tuning));
        let interaction = Interaction::new(space, -2.0, 0.05).unwrap();
        for (targets, sources, parts) in [(1, 1, 1), (5, 0, 1), (130, 77, 3), (700, 1_001, 7), (33, 600, 64)]
        {
            let (targets, sources) = (bodies(targets), bodies(sources));
            let mut expected = vec![[0.0; 4]; targets.len()];
            cpu::accelerations(&interaction, &targets, &sources, &mut expected);
            let found = pulls(&gpu, tuning, parts, &interaction, &targets, &sources);
            for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
                let near = (found - expected).abs() <= 2e-5 * (1.0 + expected.abs());
                assert!(near, "{found} for {expected}, {tuning}, {parts} parts, {space:?}");
            }
        }
    }
}

#[test]
fn the_bits_do_not_depend_on_the_layout() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let all = bodies(1_000);
    let interaction = Interaction::new(Space::Free, 1.0, 0.01).unwrap();
    let of = |units, items| {
        let tuning = Tuning {
            units,
            items,
            ..DEFAULT
        };
        pulls(&gpu, tuning, parts(1_000, 1_000), &interaction, &all, &all)
    };
    let first = of(64, 1);
    assert_eq!(first, of(256, 4));
    assert_eq!(first, of(128, 2));
}

#[test]
fn energy_is_kept_over_a_thousand_steps() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let count = 64;
    let start = bodies(count);
    let still = vec![[0.0; 4]; count];
    let gravity = Interaction::new(Space::Free, 1.0, 0.1).unwrap();
    let before = cpu::energy(&gravity, &start, &still);
    let mut simulation = Simulation::new(&gpu, gravity, &start, &still).unwrap();
    for round in 0..4 {
        for _ in 0..250 {
            simulation.step(2e-3).unwrap();
        }
        let (all, velocities) = simulation.read().unwrap();
        assert_ne!(all, start);
        let drift = (cpu::energy(&gravity, &all, &velocities) / before - 1.0).abs();
        assert!(drift < 1e-4, "after {} steps: {drift}", 250 * (round + 1));
        for (body, first) in all.iter().zip(&start) {
            assert_eq!(body.mass, first.mass);
        }
    }
}

#[test]
fn dots_stay_on_their_torus() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let start = bodies(40);
    let moving = vec![[3.0, -2.0, 0.0, 0.0]; 40];
    let torus = Interaction::new(Space::Torus(1.0), -1e-3, 0.1).unwrap();
    let mut simulation = Simulation::new(&gpu, torus, &start, &moving).unwrap();
    for _ in 0..5 {
        simulation.step(0.3).unwrap();
    }
    let (all, _) = simulation.read().unwrap();
    for body in all {
        assert!(
            body.place[..2].iter().all(|place| (0.0..=1.0).contains(place)),
            "{body:?}"
        );
    }
}

#[test]
fn a_large_device_is_full_and_evenly_so() {
    for count in [1_000, 4_096, 16_128, 65_536, 200_000] {
        let parts = parts(count, count);
        assert!((1..=128).contains(&parts));
        if count >= 16_128 {
            let cubes = count.div_ceil(512) * parts;
            assert!(cubes >= 132 * 8, "{count}: {cubes} cubes");
            let busiest = cubes.div_ceil(132) * 132;
            assert!(busiest * 100 <= cubes * 104, "{count}: {cubes} cubes");
        }
    }
    assert_eq!(parts(0, 0), 1);
    assert!(parts(MOST, MOST) >= 1);
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let (small, large) = (gpu.buffer(4).unwrap(), gpu.buffer(64).unwrap());
    let [to, scratch] = [(); 2].map(|()| gpu.buffer(64).unwrap());
    let gravity = Interaction::new(Space::Free, 1.0, 1.0).unwrap();
    let of = |buffer, count| Bodies { buffer, count };
    let refused = |result: Result<(), DeviceError>| {
        assert!(
            result.as_ref().is_err_and(crate::support::is_refused),
            "{result:?}"
        );
    };
    let two = of(&large, 2);
    refused(accelerations(&gpu, &gravity, of(&small, 2), two, &to, &scratch));
    refused(accelerations(&gpu, &gravity, two, of(&small, 2), &to, &scratch));
    refused(accelerations(&gpu, &gravity, two, two, &small, &scratch));
    refused(accelerations(
        &gpu,
        &gravity,
        two,
        of(&large, usize::MAX),
        &to,
        &scratch,
    ));
    refused(accelerations_with(
        &gpu, DEFAULT, 2, &gravity, two, two, &to, &small,
    ));
    refused(accelerations_with(
        &gpu, DEFAULT, 0, &gravity, two, two, &to, &scratch,
    ));
    refused(kick(&gpu, &small, &large, 2, 1.0, &to));
    // Results in the memory of the bodies, or of their parts.
    let overlaps = |result: Result<(), DeviceError>| {
        assert!(matches!(result, Err(DeviceError::Overlap { .. })), "{result:?}");
    };
    overlaps(accelerations(&gpu, &gravity, two, two, &large, &scratch));
    overlaps(accelerations_with(&gpu, DEFAULT, 2, &gravity, two, two, &to, &to));
    overlaps(kick(&gpu, &large, &large, 1, 1.0, &large));
}
