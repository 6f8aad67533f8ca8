//! Between which samples a window lies, without computing it: always sound, and narrow where that matters.

use proptest::prelude::*;
use relief_engine::{Error, NoImages, Options, Rect};

use crate::oracle::strategy::models;
use crate::parts::{fraction, within};
use crate::pictures::Pictures;
use crate::run::{design, parse, renderer, window};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_sample_lies_outside_its_bounds(
        model in models(),
        places in prop::collection::vec(fraction(), 1..8),
        kept in proptest::option::of(0_u64..3_000),
    ) {
        let (design, images) = (design(&model), Pictures(model.pictures.clone()));
        let renderer = renderer(&design, &images, &Options::default().with(|with| with.kept = kept));
        let raster = renderer.plan().raster();
        for place in places {
            let place = within(Rect::sized(raster.width, raster.height), place);
            let (least, greatest) = renderer.bounds(place).unwrap();
            for sample in window(&renderer, place).unwrap() {
                prop_assert!((least..=greatest).contains(&sample), "{sample} in {place:?}, not {least} to {greatest}");
            }
        }
    }
}

fn of(text: &str, place: (i64, i64, u64, u64)) -> (u16, u16) {
    let design = parse(&format!(
        "relief version=1\ncanvas width=1000000 height=1000000\n{text}"
    ));
    let renderer = renderer(&design, &NoImages, &Options::default());
    renderer
        .bounds(Rect::new(place.0, place.1, place.2, place.3).unwrap())
        .unwrap()
}

#[test]
fn bounds_are_narrow_where_little_is_there() {
    let marks = "compose { (base)fill value=9; (over)disc diameter=1000 value=200 x=500000 y=500000 }";
    assert_eq!(of(marks, (0, 0, 400_000, 1_000_000)), (9, 9));
    assert_eq!(of(marks, (500_400, 500_400, 200, 200)), (200, 200));
    assert_eq!(of(marks, (499_000, 499_000, 5_000, 5_000)), (1, 200));
    let ramp = "ramp axis=\"y\" from=200 to=100";
    assert_eq!(of(ramp, (0, 0, 1, 1_000_000)), (100, 200));
    assert_eq!(of(ramp, (7, 500_000, 1_000, 2)), (150, 150));
    let line = "gradient \"linear\" from-x=400000 to-x=600000";
    assert_eq!(of(line, (0, 0, 400_000, 1_000_000)), (0, 0));
    assert_eq!(of(line, (600_000, 7, 400_000, 9)), (255, 255));
    assert_eq!(of(line, (499_900, 0, 200, 1_000_000)), (127, 128));
    let ring = "gradient \"radial\" inner=1000 radius=2000";
    assert_eq!(of(ring, (499_500, 499_500, 1_000, 1_000)), (0, 0));
    assert_eq!(of(ring, (0, 0, 498_000, 1_000_000)), (255, 255));
    let cone = "gradient \"conical\" { stop at=0.25 value=9; stop at=0.75 value=7; stop at=0.75 value=200; stop at=1 value=220 }";
    assert_eq!(of(cone, (0, 499_990, 400_000, 20)), (8, 8));
    assert_eq!(of(cone, (500_000, 0, 400_000, 500_000)), (200, 220));
    assert_eq!(of(cone, (500_000, 500_000, 400_000, 500_000)), (9, 9));
    let noise = "compose { (base)noise seed=1; (min)fill value=40; (add)fill value=3 }";
    assert_eq!(of(noise, (0, 0, 1_000_000, 1_000_000)), (3, 43));
    let repeat = "repeat step-x=10 step-y=10 { (pattern)fill value=7 width=6 height=10 }";
    assert_eq!(of(repeat, (0, 0, 100, 100)), (0, 7));
    assert_eq!(of(repeat, (1_000, 0, 6, 5)), (7, 7));
    assert_eq!(of(repeat, (1_006, 0, 4, 5)), (0, 0));
    let inverted = format!("map {{ (source){marks}; invert }}");
    assert_eq!(of(&inverted, (0, 0, 100, 100)), (246, 246));
    let shapes = "compose { (base)fill value=9; (over)rectangle size-x=1000.5 size-y=1000.5 value=200 x=500000 y=500000 }";
    assert_eq!(of(shapes, (0, 0, 400_000, 1_000_000)), (9, 9));
    assert_eq!(of(shapes, (500_000, 500_000, 1_000, 1_000)), (200, 200));
    assert_eq!(of(shapes, (499_000, 499_000, 5_000, 5_000)).1, 200);
    let triangle = "polygon value=7 { vertex 0 0; vertex 1000000 0; vertex 0 1000000 }";
    assert_eq!(of(triangle, (0, 0, 499_000, 499_000)), (7, 7));
    assert_eq!(of(triangle, (600_000, 500_000, 400_000, 499_000)), (0, 0));
    let far = "distance radius=50 { (mask)disc diameter=10 value=255; profile \"d\" beyond=60 }";
    assert_eq!(of(far, (61, 0, 100_000, 100_000)), (60, 60));
    let gauss = format!("gauss sigma=20 {{ (source){marks} }}");
    assert_eq!(of(&gauss, (0, 0, 400_000, 400_000)), (9, 9));
    let median = format!("median radius=16 rank=1089 {{ (source){marks} }}");
    assert_eq!(of(&median, (0, 0, 400_000, 400_000)), (9, 9));
    for (filter, sample) in [
        ("box radius=100", 9),
        ("erode radius=100", 9),
        ("top-hat radius=20", 0),
        ("sobel", 0),
        ("sobel of=\"x\"", 128),
        ("convolve \"1 2 1\" offset=5", 14),
        ("sharpen sigma=9 amount=3", 9),
        ("bilateral sigma=2 range=9", 9),
        ("local-threshold radius=9", 255),
        ("resize by=\"linear\"", 9),
        ("affine angle=3 by=\"linear\" edge=\"clamp\"", 9),
    ] {
        let filtered = format!("{filter} {{ (source){marks} }}");
        assert_eq!(
            of(&filtered, (0, 0, 400_000, 400_000)),
            (sample, sample),
            "{filter}"
        );
    }
    let seamless = format!("seamless overlap=100 {{ (source){marks} }}");
    assert_eq!(of(&seamless, (100, 100, 400_000, 400_000)), (9, 9));
}

#[test]
fn a_node_that_is_used_along_very_many_ways_is_asked_a_bounded_number_of_times() {
    // 2^14 ways lead to the noise.
    let mut text = String::from("define \"a0\" { noise seed=1 }\n");
    for level in 1..=14 {
        let below = level - 1;
        text += &format!(
            "define \"a{level}\" {{ compose {{ (base)use \"a{below}\"; (max)use \"a{below}\" x=1 }} }}\n"
        );
    }
    text += "use \"a14\"";
    assert_eq!(of(&text, (0, 0, 1_000, 1_000)), (0, 255));
}

#[test]
fn bounds_of_nothing_and_of_what_is_not_there_are_refused() {
    let design = parse("relief version=1\ncanvas width=10 height=10\nnoise seed=1");
    let renderer = renderer(&design, &NoImages, &Options::default());
    for place in [(0, 0, 0, 5), (0, 0, 11, 5), (-1, 0, 3, 3)] {
        let place = Rect::new(place.0, place.1, place.2, place.3).unwrap();
        assert!(matches!(renderer.bounds(place), Err(Error::Region { .. })));
    }
}
