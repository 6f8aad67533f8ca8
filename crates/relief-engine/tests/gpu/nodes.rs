//! Every node kind alone, on rasters of odd widths.

use relief_engine::Options;

use crate::compare::{both, with};

/// Widths around words, vectors and more.
const WIDTHS: [u64; 13] = [1, 2, 3, 4, 5, 7, 15, 16, 17, 31, 32, 63, 131];

#[test]
fn a_fill_is_its_value() {
    for width in WIDTHS {
        both(width, 3, "fill value=$H");
    }
    both(1, 1, "fill value=0");
}

#[test]
fn an_image_is_its_samples_cropped_or_padded() {
    for width in WIDTHS {
        both(width, 9, "image \"p0\"");
    }
    both(12, 11, "image \"p0\"");
    both(1, 1, "image \"p2\"");
    both(
        30,
        30,
        "compose { (base)image \"p0\" x=-5 y=-4; (add)image \"p0\" x=21 y=23; (max)image \"p1\" x=4 y=17 }",
    );
}

#[test]
fn a_ramp_rises_and_falls_along_either_axis() {
    for width in WIDTHS {
        both(width, 5, "ramp axis=\"x\" from=0 to=$M");
        both(5, width, "ramp axis=\"y\" from=$M to=7");
    }
    both(1_037, 2, "ramp axis=\"x\" from=$Q to=$H");
    for start in 1..5 {
        both(
            37,
            5,
            &format!(
                "compose {{ (base)noise seed=1; (max)ramp axis=\"x\" from=0 to=$M x={start} width=20 }}"
            ),
        );
    }
}

#[test]
fn a_disc_has_the_pixels_within_half_its_diameter() {
    for diameter in [1, 2, 3, 4, 5, 16, 17, 31, 64, 101] {
        both(diameter, diameter, &format!("disc diameter={diameter} value=$M"));
        both(
            41,
            37,
            &format!("compose {{ (base)disc diameter={diameter} value=9 x=-7 y=3 }}"),
        );
    }
}

#[test]
fn noise_is_the_mix_of_its_coordinates() {
    for width in WIDTHS {
        both(width, 7, "noise seed=1");
    }
    both(33, 9, "noise seed=18446744073709551615");
    both(33, 9, "compose { (base)noise seed=5 x=-100 y=-77 }");
}

#[test]
fn a_repeat_is_its_pattern_with_gaps() {
    for width in WIDTHS {
        both(width, 29, "repeat { (pattern)image \"p0\" x=3 y=-2 }");
    }
    both(
        131,
        61,
        "repeat step-x=19 step-y=13 { (pattern)image \"p1\" x=-40 y=2 }",
    );
    both(131, 61, "repeat step-x=1 step-y=1 { (pattern)image \"p2\" }");
    both(
        131,
        61,
        "repeat step-x=33 { (pattern)noise seed=3 width=21 height=9 }",
    );
    both(
        131,
        61,
        "repeat step-x=10 step-y=7 { (pattern)disc diameter=7 value=$M x=3 }",
    );
}

#[test]
fn a_map_looks_every_sample_up() {
    for tone in [
        "invert",
        "gamma 2.2",
        "levels 10 200 $M 3",
        "curve { point 0 7; point $H $M; point $M 0 }",
        "expression \"v * v / 300\"",
    ] {
        both(37, 5, &format!("map {{ {tone}; (source)noise seed=4 }}"));
        both(16, 9, &format!("map {{ {tone}; (source)image \"p0\" x=2 y=-3 }}"));
    }
}

#[test]
fn a_threshold_is_black_or_white() {
    for level in ["0", "1", "$H", "$M"] {
        both(
            37,
            5,
            &format!("threshold level={level} {{ (source)noise seed=4 }}"),
        );
        both(
            17,
            16,
            &format!("threshold level={level} {{ (source)image \"p0\" x=2 y=2 }}"),
        );
    }
}

#[test]
fn every_role_folds_with_black_white_and_gray() {
    for role in [
        "base", "add", "subtract", "multiply", "mean", "max", "min", "over", "mask",
    ] {
        both(
            37,
            13,
            &format!("compose {{ (base)noise seed=1; ({role})noise seed=2 }}"),
        );
        both(
            37,
            13,
            &format!("compose {{ (base)noise seed=1; ({role})image \"p1\" x=5 y=2; (mean)fill value=$M }}"),
        );
        both(
            21,
            13,
            &format!("compose {{ ({role})ramp axis=\"x\" from=0 to=$M }}"),
        );
    }
    both(5, 5, "compose");
}

#[test]
fn a_gauss_stands_among_nodes_of_the_device() {
    for edge in ["clamp", "mirror", "wrap", "zero"] {
        both(
            37,
            13,
            &format!("gauss sigma=2.5 edge=\"{edge}\" {{ (source)noise seed=4 }}"),
        );
        both(
            31,
            17,
            &format!(
                "map {{ invert; (source)compose {{ (base)noise seed=1; (mean)gauss sigma=6 edge=\"{edge}\" x=3 y=-2 width=21 height=9 {{ (source)distance radius=5 {{ (mask)image \"p3\"; profile \"$M - d * $Q\" }} }} }} }}"
            ),
        );
    }
    both(
        131,
        61,
        "gauss sigma=1 { (source)repeat { (pattern)noise seed=3 width=7 height=5 } }",
    );
    both(5, 5, "gauss sigma=64 { (source)fill value=$H }");
}

#[test]
fn a_median_stands_among_nodes_of_the_device() {
    for edge in ["clamp", "mirror", "wrap", "zero"] {
        for width in WIDTHS {
            both(
                width,
                9,
                &format!("median radius=2 rank=20 edge=\"{edge}\" {{ (source)noise seed=4 }}"),
            );
        }
        both(
            31,
            17,
            &format!(
                "map {{ invert; (source)compose {{ (base)noise seed=1; (mean)median radius=8 edge=\"{edge}\" x=3 y=-2 width=21 height=9 {{ (source)distance radius=5 {{ (mask)image \"p3\"; profile \"$M - d * $Q\" }} }} }} }}"
            ),
        );
    }
    both(
        131,
        61,
        "median radius=1 { (source)repeat { (pattern)noise seed=3 width=7 height=5 } }",
    );
    both(5, 5, "median radius=8 rank=289 { (source)fill value=$H }");
}

#[test]
fn lattices_of_fractional_vectors_stand_among_nodes_of_the_device() {
    for blend in ["mean", "max", "min", "sum", "last"] {
        // A cell of 41 × 35 pixels that repeats, and one that is larger than the canvas.
        for vectors in [
            "u \"41/3\" 0; v 0 \"35/2\"",
            "u \"29/4\" \"1/3\"; v \"-5/2\" \"31/5\"",
        ] {
            both(
                61,
                47,
                &format!(
                    "map {{ invert; (source)compose {{ (base)noise seed=1; (max)lattice blend=\"{blend}\" {{ {vectors}; (pattern)image \"p1\" }} }} }}"
                ),
            );
        }
    }
}

#[test]
fn filters_stand_among_nodes_of_the_device() {
    for edge in ["clamp", "mirror", "wrap", "zero"] {
        for filter in [
            "box radius=3",
            "erode radius=2",
            "dilate radius=4 shape=\"disc\"",
            "sobel",
            "sobel of=\"y\"",
            "convolve \"1 -2 1\" divisor=2 offset=9",
            "sharpen sigma=0.7 amount=1.5",
            "local-threshold radius=2",
        ] {
            both(
                31,
                17,
                &format!(
                    "map {{ invert; (source)compose {{ (base)noise seed=1; (mean){filter} edge=\"{edge}\" x=3 y=-2 width=21 height=9 {{ (source)distance radius=5 width=24 height=11 {{ (mask)image \"p3\"; profile \"$M - d * $Q\" }} }} }} }}"
                ),
            );
        }
        // A chain of halos, in bands lower than any of them and with radii larger than the node.
        let chain = format!(
            "sobel edge=\"{edge}\" {{ (source)erode radius=2 edge=\"{edge}\" {{ (source)gauss sigma=1 edge=\"{edge}\" {{ (source)box radius=5 edge=\"{edge}\" {{ (source)noise seed=4 }} }} }} }}"
        );
        with(67, 41, &chain, &Options::default().tile((64, 3)));
        with(
            9,
            7,
            &format!(
                "dilate radius=20 edge=\"{edge}\" {{ (source)box radius=30 edge=\"{edge}\" {{ (source)noise seed=4 }} }}"
            ),
            &Options::default(),
        );
    }
    for width in WIDTHS {
        both(
            width,
            5,
            "sobel { (source)box radius=1 { (source)noise seed=4 } }",
        );
    }
    for words in [
        "open radius=1 shape=\"disc\"",
        "close radius=2",
        "top-hat radius=2 of=\"dark\"",
    ] {
        both(37, 13, &format!("{words} {{ (source)noise seed=4 }}"));
    }
    both(
        131,
        61,
        "box radius=2 { (source)repeat { (pattern)noise seed=3 width=7 height=5 } }",
    );
    // Of nothing, a slope is in the middle.
    for of in ["x", "y", "magnitude"] {
        both(
            37,
            19,
            &format!("sobel of=\"{of}\" {{ (source)image \"p3\" x=50 y=2 }}"),
        );
    }
    both(5, 5, "box radius=256 { (source)fill value=$M }");
}

#[test]
fn filters_of_the_host_stand_among_nodes_of_the_device() {
    for edge in ["clamp", "mirror", "wrap", "zero"] {
        for filter in [
            "convolve \"32767 -2 32767\" divisor=20000 offset=9",
            "bilateral sigma=1 range=40",
            "local-threshold radius=4 method=\"sauvola\"",
            "resize by=\"cubic\"",
            "affine angle=20 scale=1.5",
        ] {
            both(
                31,
                17,
                &format!(
                    "map {{ invert; (source)compose {{ (base)noise seed=1; (mean){filter} edge=\"{edge}\" x=3 y=-2 width=21 height=9 {{ (source)distance radius=5 width=24 height=11 {{ (mask)image \"p3\"; profile \"$M - d * $Q\" }} }} }} }}"
                ),
            );
        }
    }
    for gradient in [
        "\"linear\" to-x=9 to-y=\"7/3\" spread=\"mirror\"",
        "\"radial\" inner=3 spread=\"repeat\"",
        "\"conical\" angle=30",
    ] {
        both(
            31,
            17,
            &format!(
                "map {{ invert; (source)compose {{ (base)noise seed=1; (mean)gradient {gradient} x=3 y=-2 }} }}"
            ),
        );
    }
    for node in [
        "normalise low=5 high=90",
        "otsu",
        "equalise limit=2",
        "seamless overlap=3",
        "dither \"bayer\" size=4",
        "detrend degree=2",
        "dither \"threshold\" level=0",
    ] {
        both(
            31,
            17,
            &format!("{node} {{ (source)gauss sigma=1 {{ (source)noise seed=2 }} }}"),
        );
    }
}

#[test]
fn an_equalise_has_the_table_of_the_whole_source() {
    for width in WIDTHS {
        both(width, 9, "equalise { (source)image \"p0\" x=1 y=2 }");
    }
    both(131, 61, "equalise { (source)repeat { (pattern)image \"p0\" } }");
    both(
        131,
        61,
        "equalise { (source)map x=-3 y=9 { invert; (source)lattice { u 9 2; v -3 8; (pattern)noise seed=3 width=4 height=5 } } }",
    );
    both(
        37,
        13,
        "compose { (base)equalise { (source)noise seed=4 }; (mean)equalise { (source)equalise x=5 { (source)ramp axis=\"x\" from=3 to=$H } } }",
    );
    both(5, 5, "equalise { (source)fill value=$H }");
}

#[test]
fn flips_and_turns_stand_among_nodes_of_the_device() {
    for step in [
        "flip axis=\"x\"",
        "flip axis=\"y\"",
        "turn quarters=1",
        "turn quarters=2",
        "turn quarters=3",
    ] {
        for width in WIDTHS {
            both(width, 9, &format!("{step} {{ (source)noise seed=4 x=1 y=-2 }}"));
        }
        both(
            131,
            61,
            &format!("repeat {{ (pattern){step} x=3 {{ (source)image \"p1\" x=1 }} }}"),
        );
        both(
            41,
            37,
            &format!(
                "distance radius=7 {{ (mask){step} {{ (source)threshold level=$H {{ (source)image \"p3\" }} }}; profile \"$M - d * $Q\" }}"
            ),
        );
        both(
            131,
            61,
            &format!(
                "map {{ invert; (source){step} {{ (source)lattice {{ u 9 2; v -3 8; (pattern)noise seed=3 width=4 height=5 }} }} }}"
            ),
        );
    }
}

/// The host computes formulas for a device, also of children that the device computes: of both coordinates, below and above what a device computes, of a
/// child that is a formula, of children in cells, and of none.
#[test]
fn formulas_of_places_and_children_have_the_samples_of_the_cpu() {
    let noise = "(source)gauss sigma=1.5 name=\"a\" { (source)noise seed=3 }";
    let cells = "(source)repeat step-x=7 step-y=5 name=\"b\" { (pattern)image \"p1\" x=1 }";
    let picture = "(source)image \"p3\" x=4 y=9 name=\"c\"";
    let placed = format!(
        "formula \"$Q * sin(r / 5) + u * a / 2 + sqrt(b * x) - c * theta\" {{ {noise}; {cells}; {picture}; let \"u\" \"x / w + y / h\" }}"
    );
    let placeless = format!("formula \"a / 2 + b - c\" {{ {noise}; {cells}; {picture} }}");
    let only_cells = format!("formula \"$M - b * 2\" {{ {cells} }}");
    for root in [
        placed.clone(),
        placeless.clone(),
        only_cells.clone(),
        "formula \"x * y\"".to_owned(),
        format!("gauss sigma=2 edge=\"wrap\" {{ (source){placed} }}"),
        format!("erode radius=3 {{ (source){placeless} }}"),
        format!(
            "formula \"f + y\" {{ (source){} name=\"f\" {} }}",
            "formula \"a * x / w\"", "{ (source)noise seed=9 name=\"a\" }"
        ),
        format!(
            "compose {{ (base)noise seed=1; (mean){only_cells}; (max)disc diameter=30 value=$H x=9 y=-3 }}"
        ),
        format!("equalise {{ (source){placeless} }}"),
    ] {
        both(71, 53, &root);
        with(131, 37, &root, &Options::default().tile((64, 3)));
    }
}

#[test]
fn drawings_have_the_samples_of_the_cpu_whether_few_or_all_of_their_tiles_hold_edges() {
    for (width, height) in [(31, 7), (131, 70), (1_037, 200), (2_501, 300)] {
        let marks = format!(
            "rectangle size-x=3 size-y=3 value=$M x=1 y=1; (max)rectangle size-x=9 size-y=5 value=$H x={} y={}; \
             (max)ellipse size-x=30 size-y=20 value=$Q x={} y={}",
            width - 10,
            height - 6,
            width / 2,
            height / 3
        );
        // All over, so that at the right edge lie tiles of one sample that is not 0.
        let ground = "rectangle size-x=4000 size-y=4000 value=$Q x=-100 y=-100; \
                      (max)ellipse size-x=40 size-y=40 value=$M x=3 y=3";
        for root in [
            format!("compose {{ (base){marks} }}"),
            format!("compose {{ (base){ground} }}"),
            format!("box radius=2 edge=\"clamp\" {{ (source)compose {{ (base){ground} }} }}"),
            "repeat step-x=4 step-y=3 { (pattern)ellipse size-x=2.5 size-y=2.5 value=$M }".to_owned(),
            format!(
                "distance radius=5 side=\"outside\" {{ (mask)compose {{ (base){marks} }}; profile \"9 * d\" beyond=200 }}"
            ),
        ] {
            both(width, height, &root);
        }
    }
}
