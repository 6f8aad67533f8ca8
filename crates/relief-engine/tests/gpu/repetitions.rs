//! Repeats and lattices: with a cell, without one, with patterns that are kept and that are not.

use relief_engine::Options;

use crate::compare::{both, with};

const BLENDS: [&str; 5] = ["mean", "max", "min", "sum", "last"];

/// What may be kept: as much as wanted, a little, nothing.
fn kept() -> [Options; 3] {
    [None, Some(500), Some(0)].map(|kept| Options::default().with(|with| with.kept = kept))
}

#[test]
fn lattices_blend_alike_with_a_cell_and_without() {
    for blend in BLENDS {
        for options in kept() {
            let lattice = |vectors: &str, pattern: &str| {
                format!("lattice blend=\"{blend}\" {{ {vectors}; (pattern){pattern} }}")
            };
            with(
                67,
                53,
                &lattice("u 9 2; v -3 7", "image \"p0\" x=2 y=-3"),
                &options,
            );
            with(67, 53, &lattice("u 3 0; v 1 2", "image \"p0\""), &options);
            with(
                67,
                53,
                &lattice("u -40 13; v 17 -31", "noise seed=2 width=21 height=17 x=-90"),
                &options,
            );
            with(19, 3, &lattice("u 1 0; v 0 1", "image \"p1\""), &options);
        }
    }
}

#[test]
fn repeats_need_no_kept_pattern() {
    for options in kept() {
        for pattern in [
            "image \"p0\" x=3 y=2",
            "noise seed=1 width=15 height=11 x=-4",
            "fill value=$M width=5 height=5",
            "disc diameter=13 value=$H",
            "ramp axis=\"x\" from=1 to=$M width=17 height=3",
        ] {
            with(20, 18, &format!("repeat {{ (pattern){pattern} }}"), &options);
            with(
                73,
                31,
                &format!("repeat step-x=23 step-y=20 {{ (pattern){pattern} }}"),
                &options,
            );
        }
    }
}

#[test]
fn a_pattern_larger_than_its_repeat_shows_in_part() {
    for options in kept() {
        with(
            30,
            20,
            "repeat { (pattern)noise seed=3 width=100 height=90 x=-77 y=11 }",
            &options,
        );
        with(
            30,
            20,
            "lattice { u 101 3; v -7 95; (pattern)noise seed=3 width=100 height=90 x=-77 y=11 }",
            &options,
        );
    }
}

#[test]
fn steps_far_larger_than_the_pattern() {
    both(
        90,
        40,
        "repeat step-x=40000 step-y=30000 { (pattern)image \"p0\" x=80 y=-3 }",
    );
    both(
        90,
        40,
        "compose { (base)repeat step-x=40000 step-y=30000 { (pattern)image \"p0\" x=39990 y=29995 } }",
    );
}

#[test]
fn repetitions_of_repetitions() {
    for options in kept() {
        with(
            91,
            57,
            "repeat step-x=30 { (pattern)repeat step-x=9 step-y=6 width=25 height=20 { (pattern)image \"p1\" } }",
            &options,
        );
        with(
            91,
            57,
            "lattice { u 30 3; v 5 22; (pattern)lattice blend=\"sum\" width=27 height=20 { u 5 1; v 0 7; (pattern)image \"p1\" } }",
            &options,
        );
        with(
            91,
            57,
            "map { invert; (source)repeat step-x=31 { (pattern)map x=4 width=20 height=20 { gamma 0.5; (source)image \"p0\" } } }",
            &options,
        );
    }
}

#[test]
fn a_cell_that_borders_on_what_does_not_repeat() {
    let root = "compose { (base)repeat { (pattern)image \"p0\" }; (max)repeat x=20 y=15 width=60 height=30 { (pattern)image \"p1\" } }";
    for rows in [None, Some((64, 1)), Some((64, 7))] {
        with(91, 57, root, &Options::default().with(|with| with.tile = rows));
    }
    let distance = format!("distance radius=6 {{ (mask){root}; profile \"d * 9\" beyond=1 }}");
    both(91, 57, &distance);
}
