//! Distances: of everything, of masks that are empty, full or partly outside, at every radius.

use relief_engine::Options;

use crate::compare::{both, with};

const RADII: [u32; 11] = [0, 1, 2, 15, 16, 31, 32, 33, 100, 254, 300];

fn distance(radius: u32, mask: &str) -> String {
    format!(
        "distance radius={radius} {{ (mask){mask}; profile \"$M - $M * d / {}\" beyond=3 }}",
        radius + 1
    )
}

#[test]
fn radii_from_none_to_larger_than_the_raster() {
    for radius in RADII {
        both(71, 43, &distance(radius, "image \"p3\" x=9 y=5"));
    }
    both(5, 3, &distance(4_096, "image \"p3\" x=-600 y=900"));
}

#[test]
fn masks_that_are_empty_full_partly_outside_or_beyond() {
    for radius in [0, 1, 16, 100] {
        for mask in [
            "fill value=0",
            "fill value=1",
            "image \"p3\" x=-25 y=-20",
            "image \"p3\" x=60 y=40",
            "image \"p3\" x=90 y=5",
            "image \"p3\" x=5000 y=5",
            "image \"p3\" x=5 y=-5000",
            "image \"p2\" x=30 y=20 width=40 height=20",
        ] {
            both(71, 43, &distance(radius, mask));
        }
    }
}

#[test]
fn odd_widths_and_single_pixels() {
    for width in [1, 2, 3, 5, 17, 31, 33, 63, 65] {
        for radius in [1, 20] {
            both(
                width,
                3,
                &distance(radius, "threshold level=$M { (source)noise seed=9 }"),
            );
            both(3, width, &distance(radius, "image \"p3\" x=-30 y=-3"));
        }
    }
    both(1, 1, &distance(0, "image \"p2\""));
}

#[test]
fn masks_of_every_kind() {
    for mask in [
        "disc diameter=9 value=4 x=20 y=9",
        "ramp axis=\"x\" from=0 to=2",
        "repeat step-x=31 step-y=27 { (pattern)image \"p1\" }",
        "lattice { u 33 5; v -9 29; (pattern)image \"p1\" }",
        "map { levels 0 $M 0 1; (source)noise seed=2 }",
        "compose { (base)disc diameter=30 value=1 x=2 y=3; (mask)image \"p3\"; (add)disc diameter=3 value=2 x=50 y=30 }",
    ] {
        for radius in [7, 40] {
            both(71, 43, &distance(radius, mask));
        }
    }
}

#[test]
fn distances_of_distances() {
    let inner = distance(9, "image \"p3\" x=9 y=5");
    let cut = format!("threshold level=$H {{ (source){inner} }}");
    both(71, 43, &distance(5, &inner));
    both(71, 43, &distance(40, &cut));
    both(
        71,
        43,
        &distance(
            3,
            &format!("compose {{ (base){cut}; (subtract)disc diameter=20 value=$M x=10 y=10 }}"),
        ),
    );
    both(
        50,
        40,
        &distance(
            6,
            &format!("threshold level=$H {{ (source){} }}", distance(12, &cut)),
        ),
    );
}

#[test]
fn distances_inside_other_nodes() {
    let dots = distance(12, "image \"p3\"");
    both(
        71,
        43,
        &format!(
            "repeat {{ (pattern){} }}",
            dots.replacen("distance", "distance width=30 height=20", 1)
        ),
    );
    both(
        71,
        43,
        &format!("compose {{ (base)noise seed=1; (mask){dots}; (add)ramp axis=\"y\" from=0 to=$Q }}"),
    );
    both(
        71,
        43,
        &format!(
            "map {{ invert; (source){} }}",
            dots.replacen("distance", "distance x=5 y=-7", 1)
        ),
    );
    both(
        71,
        43,
        &format!(
            "lattice {{ u 20 3; v -5 17; (pattern){} }}",
            dots.replacen("distance", "distance width=30 height=20", 1)
        ),
    );
}

#[test]
fn bands_smaller_than_the_radius() {
    for rows in [1, 3, 16] {
        let options = Options::default().tile((64, rows));
        with(71, 43, &distance(30, "image \"p3\" x=9 y=5"), &options);
        with(
            71,
            43,
            &distance(9, &distance(20, "image \"p3\" x=9 y=-8")),
            &options,
        );
    }
}

#[test]
fn a_profile_of_points_without_beyond() {
    both(
        71,
        43,
        "distance radius=25 { (mask)image \"p3\" x=9 y=5; profile { point 2 $M; point 9 $Q; point 30 0 } }",
    );
}
