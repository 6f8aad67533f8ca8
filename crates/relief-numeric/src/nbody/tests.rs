use proptest::prelude::*;

use super::cpu::{accelerations, drift, energy, kick, step};
use super::relax::{follow, power};
use super::{Body, Interaction, InteractionError, Motion, Space};
use relief_kernels::isa::Isa;

/// Bodies of a fixed sequence, places in 0…1, masses that add up to about 1.
fn bodies(count: usize) -> Vec<Body> {
    let mut state = 12_345_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0
    };
    (0..count)
        .map(|_| Body {
            place: [next(), next(), next()],
            mass: 2.0 * next() / count as f32,
        })
        .collect()
}

/// By the definition, in floats of 64 bits.
fn expected(interaction: &Interaction, target: &Body, sources: &[Body]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for source in sources {
        let mut way =
            [0, 1, 2].map(|axis: usize| f64::from(source.place[axis]) - f64::from(target.place[axis]));
        if interaction.space() != Space::Free {
            way[2] = 0.0;
        }
        let mut parts = way.map(|way| way * way);
        if let Space::Torus(period) = interaction.space() {
            let period = f64::from(period);
            for (way, part) in way.iter_mut().zip(&mut parts) {
                *way -= period * (*way / period).round();
                *part = way.powi(2) - 2.0 * way.powi(4) / period.powi(2);
                *way -= 4.0 * way.powi(3) / period.powi(2);
            }
        }
        let square = parts.iter().sum::<f64>() + f64::from(interaction.softening()).powi(2);
        let power = if interaction.space() == Space::Free {
            1.5
        } else {
            1.0
        };
        for (sum, way) in sum.iter_mut().zip(way) {
            *sum += f64::from(interaction.strength()) * f64::from(source.mass) * way / square.powf(power);
        }
    }
    sum
}

fn is_right(interaction: &Interaction, targets: &[Body], sources: &[Body], found: &[Motion]) {
    for (target, found) in targets.iter().zip(found) {
        let expected = expected(interaction, target, sources);
        let size = expected.iter().map(|a| a * a).sum::<f64>().sqrt();
        for (expected, found) in expected.iter().zip(found) {
            let error = (expected - f64::from(*found)).abs();
            assert!(error <= 2e-5 * (1.0 + size), "{found} for {expected}");
        }
        assert_eq!(found[3], 0.0);
    }
}

const SPACES: [Space; 4] = [Space::Free, Space::Plane, Space::Torus(1.0), Space::Torus(0.3)];

#[test]
fn accelerations_are_those_of_the_definition_with_all_instructions() {
    Isa::each(|| {
        for space in SPACES {
            let interaction = Interaction::new(space, -1.5, 0.05).unwrap();
            for count in [0, 1, 2, 31, 32, 33, 100, 1_100] {
                let all = bodies(count);
                let mut found = vec![[f32::NAN; 4]; count];
                accelerations(&interaction, &all, &all, &mut found);
                is_right(&interaction, &all, &all, &found);
            }
        }
    });
}

#[test]
fn parts_of_the_bodies_have_the_bits_of_all() {
    let all = bodies(777);
    let interaction = Interaction::new(Space::Free, 1.0, 0.01).unwrap();
    let mut whole = vec![[0.0; 4]; all.len()];
    accelerations(&interaction, &all, &all, &mut whole);
    for part in [1, 5, 32, 100] {
        let mut found = vec![[0.0; 4]; all.len()];
        for (targets, to) in all.chunks(part).zip(found.chunks_mut(part)) {
            accelerations(&interaction, targets, &all, to);
        }
        assert_eq!(found, whole, "parts of {part}");
    }
}

#[test]
fn a_body_does_not_pull_itself_nor_one_at_its_place() {
    let body = Body {
        place: [3.0, -4.0, 5.0],
        mass: 1e10,
    };
    for space in SPACES {
        let interaction = Interaction::new(space, 1.0, 1e-9).unwrap();
        let mut found = [[1.0; 4]; 2];
        accelerations(&interaction, &[body; 2], &[body; 2], &mut found);
        assert_eq!(found, [[0.0; 4]; 2], "{space:?}");
    }
}

#[test]
fn on_a_torus_the_nearest_copy_pulls() {
    let at = |x: f32| Body {
        place: [x, 0.5, 0.0],
        mass: 1.0,
    };
    let interaction = Interaction::new(Space::Torus(1.0), 1.0, 1e-3).unwrap();
    let mut found = [[0.0; 4]];
    accelerations(&interaction, &[at(0.1)], &[at(0.9)], &mut found);
    let expected = -0.2 * (1.0 - 0.16) / (0.04 * (1.0 - 0.08) + 1e-6);
    assert!((found[0][0] - expected).abs() < 1e-4, "{found:?}");
}

#[test]
fn on_a_torus_nothing_jumps_half_a_period_away() {
    let at = |x: f32| Body {
        place: [x, 0.25, 0.0],
        mass: 1.0,
    };
    let torus = Interaction::new(Space::Torus(1.0), 1.0, 1e-3).unwrap();
    let mut found = [[0.0; 4]; 3];
    let targets = [at(0.2499), at(0.25), at(0.2501)];
    accelerations(&torus, &targets, &[at(0.75)], &mut found);
    for [across, ..] in found {
        assert!(across.abs() < 5e-3, "{found:?}");
    }
}

/// The relative drift of the energy over 1 000 steps.
fn drift_of_energy(interaction: &Interaction, count: usize, time: f32) -> f64 {
    let mut all = bodies(count);
    let mut velocities = vec![[0.0; 4]; count];
    let mut pulls = vec![[0.0; 4]; count];
    accelerations(interaction, &all, &all, &mut pulls);
    let before = energy(interaction, &all, &velocities);
    let mut worst = 0.0_f64;
    for number in 1..=1_000 {
        step(interaction, &mut all, &mut velocities, &mut pulls, time);
        if number % 100 == 0 {
            let now = energy(interaction, &all, &velocities);
            worst = worst.max((now / before - 1.0).abs());
        }
    }
    worst
}

#[test]
fn energy_is_kept_over_a_thousand_steps() {
    // A time in which the bodies fall together and fly apart again.
    let gravity = Interaction::new(Space::Free, 1.0, 0.1).unwrap();
    let drift = drift_of_energy(&gravity, 64, 2e-3);
    assert!(drift < 1e-4, "gravity: {drift}");
    let charges = Interaction::new(Space::Plane, -1.0, 0.1).unwrap();
    let drift = drift_of_energy(&charges, 64, 2e-3);
    assert!(drift < 1e-4, "charges: {drift}");
    let torus = Interaction::new(Space::Torus(1.0), -1.0, 0.1).unwrap();
    let drift = drift_of_energy(&torus, 64, 2e-3);
    assert!(drift < 1e-4, "torus: {drift}");
}

#[test]
fn longer_steps_keep_energy_less_by_their_square() {
    let gravity = Interaction::new(Space::Free, 1.0, 0.1).unwrap();
    let (short, long) = (
        drift_of_energy(&gravity, 32, 4e-3),
        drift_of_energy(&gravity, 32, 16e-3),
    );
    assert!(long > 4.0 * short, "{short} and {long}");
}

#[test]
fn two_bodies_go_round_each_other() {
    // Masses of 1/2 at a distance of 1: a turn takes 2π.
    let at = |x: f32| Body {
        place: [x, 0.0, 0.0],
        mass: 0.5,
    };
    let gravity = Interaction::new(Space::Free, 1.0, 1e-4).unwrap();
    let mut pair = [at(-0.5), at(0.5)];
    let mut velocities = [[0.0, -0.5, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0]];
    let mut pulls = [[0.0; 4]; 2];
    accelerations(&gravity, &pair.clone(), &pair, &mut pulls);
    let steps = 2_000;
    for _ in 0..steps {
        step(
            &gravity,
            &mut pair,
            &mut velocities,
            &mut pulls,
            std::f32::consts::TAU / steps as f32,
        );
    }
    for (place, expected) in pair[1].place.iter().zip([0.5, 0.0, 0.0]) {
        assert!((place - expected).abs() < 2e-3, "{:?}", pair[1].place);
    }
}

#[test]
fn kicks_and_drifts_add() {
    let interaction = Interaction::new(Space::Torus(2.0), 1.0, 1.0).unwrap();
    let mut velocities = [[1.0, 2.0, 3.0, 0.0]];
    kick(&mut velocities, &[[2.0, -4.0, 0.0, 0.0]], 0.5);
    assert_eq!(velocities, [[2.0, 0.0, 3.0, 0.0]]);
    let mut all = [Body {
        place: [1.5, -0.5, 1.0],
        mass: 1.0,
    }];
    drift(&interaction, &mut all, &velocities, 0.5);
    assert_eq!(all[0].place, [0.5, 1.5, 2.5]);
}

#[test]
fn numbers_that_no_interaction_has_are_refused() {
    use InteractionError::{Period, Softening, Strength};
    assert!(matches!(
        Interaction::new(Space::Free, f32::NAN, 1.0),
        Err(Strength(_))
    ));
    for softening in [0.0, 1e-10, f32::INFINITY, f32::NAN] {
        assert!(matches!(
            Interaction::new(Space::Free, 1.0, softening),
            Err(Softening(_))
        ));
    }
    for period in [0.0, -1.0, 1e-10, f32::INFINITY, f32::NAN] {
        assert!(matches!(
            Interaction::new(Space::Torus(period), 1.0, 1.0),
            Err(Period(_))
        ));
    }
}

/// The distance of each dot on a torus of period 1 to the nearest other one.
fn distances(dots: &[Body]) -> Vec<f32> {
    let way = |from: f32, to: f32| (to - from) - (to - from).round();
    let nearest = |(i, dot): (usize, &Body)| {
        let others = dots.iter().enumerate().filter(|(j, _)| *j != i);
        let squares = others.map(|(_, other)| {
            let [dx, dy] = [0, 1].map(|axis: usize| way(dot.place[axis], other.place[axis]));
            dx * dx + dy * dy
        });
        squares.fold(f32::MAX, f32::min).sqrt()
    };
    dots.iter().enumerate().map(nearest).collect()
}

/// The mean power of dots at frequencies from 1 up to half of that of their grid.
fn low_power(dots: &[Body]) -> f64 {
    let most = (dots.len() as f64).sqrt() / 2.0;
    let range = -(most as i32)..=most as i32;
    let pairs = range
        .clone()
        .flat_map(|across| range.clone().map(move |down| (across, down)));
    let low = pairs.filter(|(across, down)| {
        let frequency = f64::from(across * across + down * down).sqrt();
        frequency > 0.0 && frequency <= most
    });
    let powers: Vec<f64> = low.map(|(across, down)| power(dots, across, down)).collect();
    powers.iter().sum::<f64>() / powers.len() as f64
}

#[test]
fn dots_that_repel_each_other_become_blue_noise() {
    let count = 400;
    let mut dots = bodies(count);
    dots.iter_mut().for_each(|dot| dot.mass = 1.0 / count as f32);
    let grid = 1.0 / (count as f32).sqrt();
    let random = (
        low_power(&dots),
        distances(&dots).into_iter().fold(f32::MAX, f32::min),
    );
    let torus = Interaction::new(Space::Torus(1.0), -1.0, grid / 8.0).unwrap();
    let mut pulls = vec![[0.0; 4]; count];
    for _ in 0..150 {
        accelerations(&torus, &dots, &dots, &mut pulls);
        follow(&torus, &mut dots, &pulls, grid / 2.0);
    }
    let relaxed = (
        low_power(&dots),
        distances(&dots).into_iter().fold(f32::MAX, f32::min),
    );
    // Of random dots the power is 1; in the densest packing dots are 1.07 grids apart.
    assert!(random.0 > 0.7 && random.1 < 0.2 * grid, "{random:?}");
    assert!(
        relaxed.0 < 0.02 && relaxed.1 > 0.7 * grid,
        "{relaxed:?}, a grid is {grid}"
    );
}

#[test]
fn dots_gather_where_a_background_attracts_them() {
    // All charge of the background lies in the left half.
    let (count, side) = (200, 16);
    let mut dots = bodies(count);
    dots.iter_mut().for_each(|dot| dot.mass = 1.0 / count as f32);
    let pixel = |k: usize| Body {
        place: [
            (k % side) as f32 / 32.0 + 1.0 / 64.0,
            (k / side) as f32 / 16.0 + 1.0 / 32.0,
            0.0,
        ],
        mass: -1.0 / (side * side) as f32,
    };
    let background: Vec<Body> = (0..side * side).map(pixel).collect();
    let plane = Interaction::new(Space::Plane, -1.0, 0.01).unwrap();
    let mut all: Vec<Body> = dots.iter().chain(&background).copied().collect();
    let mut pulls = vec![[0.0; 4]; count];
    for _ in 0..200 {
        all[..count].copy_from_slice(&dots);
        accelerations(&plane, &dots, &all, &mut pulls);
        follow(&plane, &mut dots, &pulls, 0.03);
    }
    let left = dots.iter().filter(|dot| dot.place[0] < 0.53).count();
    assert!(left > 195, "{left} of {count} are left");
    // And evenly so, down the half.
    for quarter in 0..4 {
        let rows = quarter as f32 / 4.0..(quarter + 1) as f32 / 4.0;
        let within = dots.iter().filter(|dot| rows.contains(&dot.place[1])).count();
        assert!((42..=58).contains(&within), "{within} in rows {rows:?}");
    }
}

proptest! {
    #[test]
    fn what_attracts_in_one_direction_repels_in_the_other(count in 1_usize..70, strength in -10.0_f32..10.0) {
        let all = bodies(count);
        let pulls = |strength: f32| {
            let interaction = Interaction::new(Space::Free, strength, 0.01).unwrap();
            let mut found = vec![[0.0; 4]; count];
            accelerations(&interaction, &all, &all, &mut found);
            found
        };
        for (one, other) in pulls(strength).iter().zip(pulls(-strength)) {
            prop_assert_eq!(one.map(|a| -a), other);
        }
    }
}
