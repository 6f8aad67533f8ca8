//! How a raster is cut does not matter: regions, bands, parts of rows, places far out.

use relief_engine::{Error, Options, Rect};

use crate::compare::{agree, canvas, on_device, same, with};
use crate::device::device;
use crate::run::{banded, rendered, renderer, window};

/// Nodes of every kind in one design.
const MIXED: &str = r#"
define "dots" { distance radius=9 { (mask)image "p3"; profile "$M - $M * d / 10" beyond=0 } }
compose {
    (base)repeat step-x=23 { (pattern)image "p0" x=4 }
    (mean)noise seed=77
    (add)lattice blend="max" { u 19 2; v -3 17; (pattern)image "p1" }
    (max)use "dots" x=7 y=3
    (subtract)ramp axis="y" from=0 to=$Q
    (over)disc diameter=11 value=9 x=50 y=20
    (max)use "dots" x=-9 y=21
}
"#;

#[test]
fn bands_of_any_height_and_widths_around_words_and_vectors() {
    for (width, rows) in [
        (1, 1),
        (2, 5),
        (3, 1),
        (5, 7),
        (17, 2),
        (31, 64),
        (63, 3),
        (97, 10),
    ] {
        with(width, 41, MIXED, &Options::default().tile((64, rows)));
    }
}

#[test]
fn regions_with_odd_offsets() {
    for (x, y, width, height) in [
        (0, 0, 1, 1),
        (1, 3, 17, 5),
        (37, 21, 59, 19),
        (96, 40, 1, 1),
        (3, 0, 94, 41),
    ] {
        let region = Rect::new(x, y, width, height);
        with(
            97,
            41,
            MIXED,
            &Options::default().with(|with| with.region = region),
        );
        with(
            97,
            41,
            MIXED,
            &Options::default().with(|with| with.region = region).tile((64, 4)),
        );
    }
}

#[test]
fn rows_wider_than_the_memory_come_in_parts_in_order() {
    let Some(device) = device() else { return };
    for depth in [8, 16] {
        let (design, images) = canvas(300_001, 3, depth, MIXED);
        let needed = match on_device(device, &design, &images, &Options::default().memory(1)) {
            Err(relief_engine::Error::Memory { needed, .. }) => needed,
            other => panic!("planned without memory: {other:?}"),
        };
        let options = Options::default().memory(needed);
        let there = on_device(device, &design, &images, &options).unwrap();
        let shape = there.plan().shape();
        assert!(
            shape.band_width < 300_001 && shape.band_height == 1,
            "{shape:?} is a part of a row"
        );
        agree(device, &design, &images, &options).unwrap();
    }
}

/// What a halo reads is computed for several bands at once: whatever their height, and whatever memory is there for it.
#[test]
fn bands_that_share_the_planes_of_a_strip_have_the_same_samples() {
    let Some(device) = device() else { return };
    let nested = r#"
        define "inner" { distance radius=5 { (mask)threshold level=250 { (source)noise seed=4 }; profile "$M - 40 * d" beyond=3 } }
        compose {
            (base)distance radius=7 { (mask)threshold level=200 { (source)use "inner" }; profile "$M - 30 * d" beyond=9 }
            (max)use "inner" x=3 y=-11
            (mean)repeat step-x=23 { (pattern)image "p0" x=4 }
        }"#;
    for depth in [8, 16] {
        for rows in [1, 2, 3, 7] {
            let (design, images) = canvas(61, 143, depth, nested);
            let options = Options::default().tile((64, rows));
            let there = on_device(device, &design, &images, &options).unwrap();
            let plan = there.plan().device().unwrap().clone();
            assert!(plan.strip > 1, "{plan:?} with bands of {rows} rows");
            agree(device, &design, &images, &options).unwrap();
            // With less memory fewer bands share them; with less than one band needs the job is refused.
            let less = options.clone().device_memory(plan.bytes - 1);
            let fewer = on_device(device, &design, &images, &less).unwrap();
            assert!(fewer.plan().device().unwrap().strip < plan.strip);
            agree(device, &design, &images, &less).unwrap();
            let none = options.device_memory(1_000);
            let refused = on_device(device, &design, &images, &none).unwrap_err();
            assert!(
                matches!(refused, Error::DeviceMemory { limit: 1_000, .. }),
                "{refused:?}"
            );
        }
    }
}

/// Marks far apart leave bands in which masks are empty, folds of constants constant, and planes not needed.
#[test]
fn bands_without_a_mark_are_what_lies_beyond() {
    let mark = |x: i64, y: i64| format!("image \"p3\" x={x} y={y}");
    let marks = format!(
        "define \"marks\" {{ compose {{ (base){}; (max){}; (over){} }} }}",
        mark(3, 5),
        mark(40, 300),
        mark(-9, 420)
    );
    let distance = |radius: u32, beyond: u32| {
        format!("distance radius={radius} {{ (mask)use \"marks\"; profile \"$M - 3 * d\" beyond={beyond} }}")
    };
    let roots = [
        distance(9, 77),
        format!(
            "compose {{ (base)noise seed=3; (multiply){}; (max){} }}",
            distance(30, 200),
            distance(6, 0)
        ),
        format!(
            "distance radius=4 {{ (mask)threshold level=99 {{ (source){} }}; profile \"9 * d\" beyond=5 }}",
            distance(8, 3)
        ),
        "map { invert; (source)compose { (base)use \"marks\"; (add)fill value=7; (mean)use \"marks\" y=9 } }"
            .to_owned(),
        format!("lattice {{ u 40 0; v 0 150; (pattern){} }}", mark(0, 90)),
    ];
    for root in roots {
        for rows in [1, 8, 32] {
            let options = Options::default().tile((64, rows));
            with(61, 500, &format!("{marks}\n{root}"), &options);
        }
    }
}

const FAR: u64 = 1 << 40;

/// Windows at the corners, around 2^31, 2^32 and beyond, of a canvas of 2^40 × 2^40 pixels.
fn far(root: &str) {
    const PLACES: [i64; 6] = [
        0,
        (1 << 31) - 9,
        (1 << 32) - 9,
        (1 << 39) - 9,
        999_999_999_989,
        (1 << 40) - 19,
    ];
    let Some(device) = device() else { return };
    for depth in [8, 16] {
        let (design, images) = canvas(FAR, FAR, depth, root);
        let here = renderer(&design, &images, &Options::default().threads(2));
        let whole = on_device(device, &design, &images, &Options::default())
            .unwrap_or_else(|error| panic!("{root}: {error:?}"));
        for (index, x) in PLACES.into_iter().enumerate() {
            let y = PLACES[(index * 3 + 1) % PLACES.len()];
            let place = Rect::new(x, y, 19, 19).unwrap();
            let expected = window(&here, place).unwrap();
            let found = window(&whole, place).unwrap_or_else(|error| panic!("{root}: {error:?}"));
            same("read", &found, &expected, place).unwrap_or_else(|error| panic!("{root}: {error}"));
            let options = Options::default().region(place).tile((19, 7));
            let part = on_device(device, &design, &images, &options)
                .unwrap_or_else(|error| panic!("{root}: {error:?}"));
            same("render", &rendered(&part).unwrap(), &expected, place)
                .unwrap_or_else(|error| panic!("{root}: {error}"));
            same("bands", &banded(&part).unwrap(), &expected, place)
                .unwrap_or_else(|error| panic!("{root}: {error}"));
        }
    }
}

#[test]
fn generated_nodes_are_exact_over_2_to_the_40_pixels() {
    far("ramp axis=\"x\" from=0 to=$M");
    far("ramp axis=\"y\" from=$M to=7");
    far("noise seed=18446744073709551615");
    far("compose { (base)noise seed=3 x=-8796093022208 y=549755813888 }");
    far("disc diameter=1099511627776 value=9");
}

#[test]
fn repetitions_stay_in_step_far_out() {
    far("repeat step-x=14 { (pattern)image \"p0\" x=-5 y=3 }");
    far("lattice { u 7 2; v -3 5; (pattern)image \"p0\" x=-5 y=3 }");
    far("lattice blend=\"last\" { u 7001 2; v -3 5021; (pattern)image \"p0\" x=-5 y=3 }");
    far("repeat step-x=100003 step-y=100019 { (pattern)image \"p0\" x=-5 y=3 }");
    far("repeat step-x=4294967296 step-y=2147483648 { (pattern)image \"p0\" x=-5 y=3 }");
}

#[test]
fn mirrors_turns_and_means_far_out() {
    let middle = "compose { (base)noise seed=9; (max)image \"p0\" x=549755813880 y=1099511627760; (add)ramp axis=\"x\" from=0 to=$Q }";
    for step in [
        "flip axis=\"x\"",
        "flip axis=\"y\"",
        "turn quarters=1",
        "turn quarters=2",
        "turn quarters=3",
        "gauss sigma=1.3",
        "gauss sigma=1.3 edge=\"mirror\"",
        "gauss sigma=1.3 edge=\"zero\"",
        "gauss sigma=1.3 edge=\"wrap\"",
        "box radius=4 edge=\"wrap\"",
        "erode radius=3 edge=\"mirror\"",
        "sobel of=\"x\"",
    ] {
        far(&format!("{step} {{ (source){middle} }}"));
    }
    far("flip axis=\"x\" { (source)lattice { u 7 2; v -3 5; (pattern)image \"p0\" x=-5 y=3 } }");
}

#[test]
fn pictures_and_distances_far_out() {
    far(
        "compose { (base)image \"p0\" x=2147483640 y=1099511627760; (max)image \"p0\" x=1099511627770 y=549755813880; (add)image \"p1\" }",
    );
    far(
        "distance radius=14 { (mask)compose { (base)image \"p3\" x=4294967290 y=1099511627760; (max)image \"p3\" y=2147483640 }; profile \"200 - 9 * d\" beyond=1 }",
    );
    far(
        "map { invert; (source)ramp axis=\"x\" from=0 to=$M x=-549755813895 width=1099511627776 height=1099511627776 }",
    );
}

#[test]
fn the_greatest_canvas_is_planned_and_begins() {
    let Some(device) = device() else { return };
    let (design, images) = canvas(FAR, FAR, 8, "noise seed=1");
    let there = on_device(device, &design, &images, &Options::default().memory(16 << 20)).unwrap();
    assert!(there.plan().bands() > 1 << 40);
    let first = there
        .bands(&relief_engine::Cancel::new())
        .next()
        .unwrap()
        .unwrap();
    assert_eq!((first.rect.x(), first.rect.y(), first.rect.height()), (0, 0, 1));
    let here = renderer(&design, &images, &Options::default());
    let corner = Rect::sized(999, 1);
    let relief_engine::OwnedSamples::Eight(samples) = first.samples else {
        panic!("8 bits")
    };
    let found: Vec<u16> = samples[..999].iter().map(|v| u16::from(*v)).collect();
    same("bands", &found, &window(&here, corner).unwrap(), corner).unwrap();
}
