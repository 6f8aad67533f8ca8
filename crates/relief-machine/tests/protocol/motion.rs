//! Times of motion against profiles computed by hand, and against a head that is moved in small steps.

use proptest::prelude::*;
use relief_engine::Raster;
use relief_machine::{Binding, Estimate, Motion};
use relief_raster::Depth;
use relief_scan::{Direction, Program, Scan, Tables};

fn program(width: u64, height: u64, scan: Scan) -> Program {
    let raster = Raster::new(width, height, Depth::Eight);
    Program::new(&scan, &Tables::default(), &raster).unwrap()
}

fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-9 * expected.max(1.0),
        "{found} for {expected}"
    );
}

#[test]
fn a_long_way_is_a_trapezoid_and_a_short_one_a_triangle() {
    let motion = Motion {
        speed: 100.0,
        acceleration: 50.0,
        turn_around: 0.0,
    };
    // 2 s and 100 positions up, 2 s and 100 down, 800 at full speed in 8 s.
    close(motion.seconds(1_000.0), 12.0);
    // Only ramps: up over 100 and down over 100.
    close(motion.seconds(200.0), 4.0);
    // Half of 50 up: √(2·25 / 50) = 1 s, and as long down.
    close(motion.seconds(50.0), 2.0);
    close(motion.seconds(0.0), 0.0);
}

#[test]
fn a_line_is_run_at_full_speed_between_two_ramps() {
    let motion = Motion {
        speed: 100.0,
        acceleration: 50.0,
        turn_around: 0.5,
    };
    // 1 000 positions in 10 s, and 2 s on either side.
    close(motion.line(&program(1_000, 3, Scan::default())), 14.0);
}

#[test]
fn the_head_speeds_up_in_the_overscan() {
    let motion = Motion {
        speed: 100.0,
        acceleration: 50.0,
        turn_around: 0.0,
    };
    // A ramp takes 100 positions.
    for (overscan, seconds) in [
        // Shorter than the ramps, which begin further out: as without overscan.
        ((60, 40), 14.0),
        // Exactly the ramps.
        ((100, 100), 14.0),
        // 50 positions longer before and 150 after: these are run at full speed, in 2 s.
        ((150, 250), 16.0),
        ((0, 200), 15.0),
    ] {
        let scan = Scan {
            overscan,
            ..Scan::default()
        };
        close(motion.line(&program(1_000, 3, scan)), seconds);
    }
}

#[test]
fn a_job_of_two_thousand_lines_takes_what_a_head_that_speeds_up_in_the_overscan_takes() {
    // 25 mm of 10 µm at 500 mm/s and 5 m/s²: the ramps take 25 mm each, as long as the overscan. 0.25 s a line.
    let motion = Motion {
        speed: 50_000.0,
        acceleration: 500_000.0,
        turn_around: 0.0,
    };
    let scan = Scan {
        overscan: (2_500, 2_500),
        direction: Direction::Serpentine,
        ..Scan::default()
    };
    let program = program(2_500, 2_500, scan);
    let estimate = Estimate::new(&program, 0, Some(&motion), None, None, 1.0);
    close(estimate.motion.unwrap(), 625.0);
}

#[test]
fn one_way_lines_cost_the_way_back_and_the_last_line_none() {
    let motion = Motion {
        speed: 100.0,
        acceleration: 50.0,
        turn_around: 0.5,
    };
    let seconds = |direction| {
        let scan = Scan {
            direction,
            ..Scan::default()
        };
        Estimate::new(&program(1_000, 10, scan), 6, Some(&motion), None, None, 1_000.0)
            .motion
            .unwrap()
    };
    // Four lines are left: 4 · 14 s and three times between them 0.5 s, one way with 14 s back.
    close(seconds(Direction::Serpentine), 57.5);
    close(seconds(Direction::Unidirectional), 57.5 + 42.0);
}

#[test]
fn speed_that_is_there_at_once_costs_no_ramps() {
    let motion = Motion {
        speed: 100.0,
        acceleration: f64::INFINITY,
        turn_around: 0.25,
    };
    close(motion.line(&program(1_000, 4, Scan::default())), 10.0);
    let estimate = Estimate::new(
        &program(1_000, 4, Scan::default()),
        0,
        Some(&motion),
        None,
        None,
        1_000.0,
    );
    close(estimate.motion.unwrap(), 4.0 * 10.0 + 3.0 * 10.25);
}

#[test]
fn what_takes_longest_binds() {
    let program = program(1_000, 100, Scan::default());
    let motion = Motion {
        speed: 1_000.0,
        acceleration: f64::INFINITY,
        turn_around: 0.0,
    };
    // 199 s of motion.
    let bound = |rate, making| {
        Estimate::new(&program, 0, Some(&motion), Some(rate), Some(making), 1_000.0)
            .binding()
            .unwrap()
    };
    assert_eq!(bound(1_000.0, 1.0), (Binding::Motion, 199.0));
    assert_eq!(bound(500.0, 1.0), (Binding::Rate, 200.0));
    assert_eq!(bound(500.0, 2.5), (Binding::Computing, 250.0));
    assert_eq!(Estimate::default().binding(), None);
}

proptest! {
    #[test]
    fn the_time_of_a_way_is_that_of_a_head_moved_in_small_steps(
        speed in 1.0_f64..1e3,
        acceleration in 1.0_f64..1e3,
        distance in 0.1_f64..1e4,
    ) {
        let motion = Motion { speed, acceleration, turn_around: 0.0 };
        let expected = motion.seconds(distance);
        // As fast as it may while it can still brake: v² = 2·a·(way left).
        let step = expected / 20_000.0;
        let (mut at, mut now, mut time) = (0.0, 0.0_f64, 0.0);
        while at < distance * (1.0 - 1e-6) && time < 2.0 * expected {
            let most = (2.0 * acceleration * (distance - at)).sqrt();
            now = (now + acceleration * step).min(speed).min(most);
            at += now * step;
            time += step;
        }
        prop_assert!((time - expected).abs() < 0.01 * expected, "{time} for {expected}");
    }
}
