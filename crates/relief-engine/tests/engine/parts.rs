//! Parts of a raster, bands by number and windows of arrays: the samples of the whole, wherever they are asked for.

use std::sync::Barrier;

use proptest::prelude::*;
use relief_engine::{
    Cancel, Error, NoImages, Options, OwnedSamples, Plan, Rect, Renderer, SamplesMut, ViewMut,
};

use crate::oracle::strategy::models;
use crate::pictures::Pictures;
use crate::run::{design, parse, rendered, renderer};

/// The samples of `part` among those of a raster of `width` columns.
fn cut(samples: &[u16], width: u64, part: Rect) -> Vec<u16> {
    let rows = part.y()..part.bottom();
    rows.flat_map(|y| {
        let start = y as usize * width as usize + part.x() as usize;
        samples[start..start + part.width() as usize].iter().copied()
    })
    .collect()
}

/// A rectangle within one of so many columns and rows, of four fractions.
pub(crate) fn within(region: Rect, at: [f64; 4]) -> Rect {
    let pick = |from: i64, length: u64, start: f64, share: f64| {
        let begin = ((length - 1) as f64 * start) as i64;
        let rest = length as i64 - begin;
        let count = 1 + ((rest - 1) as f64 * share) as i64;
        (from + begin, from + begin + count)
    };
    let (left, right) = pick(region.x(), region.width(), at[0], at[1]);
    let (top, bottom) = pick(region.y(), region.height(), at[2], at[3]);
    Rect::between(left, top, right, bottom)
}

pub(crate) fn fraction() -> impl Strategy<Value = [f64; 4]> {
    [0.0..1.0, 0.0..1.0, 0.0..1.0, 0.0..1.0]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_part_of_a_part_has_the_samples_of_the_whole(
        model in models(),
        first in fraction(),
        second in fraction(),
        threads in 1_usize..4,
        kept in proptest::option::of(0_u64..3_000),
    ) {
        let (design, images) = (design(&model), Pictures(model.pictures.clone()));
        let options = Options::default().threads(threads).with(|with| with.kept = kept);
        let whole = renderer(&design, &images, &options);
        let region = whole.plan().region();
        let samples = rendered(&whole).unwrap();
        let place = within(region, first);
        let part = whole.part(place).unwrap();
        prop_assert_eq!(rendered(&part).unwrap(), cut(&samples, region.width(), place));
        let place = within(place, second);
        let part = part.part(place).unwrap();
        let expected = cut(&samples, region.width(), place);
        prop_assert_eq!(rendered(&part).unwrap(), &expected[..]);
        // Bands by number, from the last to the first.
        let mut bands = Vec::new();
        for index in (0..part.plan().bands()).rev() {
            let band = part.band(index, &Cancel::new()).unwrap();
            prop_assert_eq!(band.rect, part.plan().band(index));
            bands.push(match band.samples {
                OwnedSamples::Eight(samples) => samples.into_iter().map(u16::from).collect(),
                OwnedSamples::Sixteen(samples) => samples,
            });
        }
        let bands: Vec<u16> = bands.into_iter().rev().flatten().collect();
        prop_assert_eq!(bands, expected);
        // A part holds no larger bands.
        let samples = |plan: &Plan| plan.shape().band_width * plan.shape().band_height * plan.shape().bands as u64;
        prop_assert!(samples(part.plan()) <= samples(whole.plan()));
    }
}

#[test]
fn parts_that_are_empty_or_leave_the_region_are_refused() {
    let design = parse("relief version=1\ncanvas width=100 height=80\nnoise seed=1");
    let options = Options::default().region(Rect::new(10, 10, 50, 40).unwrap());
    let whole = renderer(&design, &NoImages, &options);
    for place in [
        (9, 10, 5, 5),
        (10, 9, 5, 5),
        (55, 20, 6, 1),
        (10, 45, 1, 6),
        (20, 20, 0, 3),
        (20, 20, 3, 0),
    ] {
        let place = Rect::new(place.0, place.1, place.2, place.3).unwrap();
        let refused = whole.part(place).unwrap_err();
        assert!(matches!(refused, Error::Part { .. }), "{refused}");
        assert!(refused.to_string().contains("50×40 pixels at 10,10"), "{refused}");
    }
    let last = whole.plan().bands() - 1;
    assert!(whole.band(last, &Cancel::new()).is_ok());
    for index in [last + 1, u128::MAX] {
        let refused = whole.band(index, &Cancel::new()).unwrap_err().to_string();
        assert!(refused.contains(&format!("the last is {last}")), "{refused}");
        assert_eq!(whole.plan().band(index), Rect::EMPTY);
    }
}

#[test]
fn windows_of_arrays_leave_what_is_around_them() {
    let design = parse("relief version=1\ncanvas width=100 height=80 depth=16\nnoise seed=1");
    let renderer = renderer(&design, &NoImages, &Options::default().tile((7, 5)));
    let window = Rect::new(13, 21, 30, 20).unwrap();
    let mut packed = vec![0; 600];
    renderer
        .read(window, SamplesMut::Sixteen(&mut packed), &Cancel::new())
        .unwrap();
    for stride in [30, 31, 64] {
        let mut array = vec![60_001; 19 * stride + 30 + 5];
        let view = ViewMut::new(&mut array[5..], 30, 20, stride);
        renderer.read_view(window, view, &Cancel::new()).unwrap();
        for (at, sample) in array.iter().enumerate() {
            let place = at.checked_sub(5).map(|at| (at % stride, at / stride));
            let expected = match place {
                Some((x, y)) if x < 30 && y < 20 => packed[y * 30 + x],
                _ => 60_001,
            };
            assert_eq!(*sample, expected, "{at} of rows {stride} apart");
        }
    }
    // Of another depth, and of another size.
    let mut eight = [0_u8; 600];
    let wrong = renderer.read_view(window, ViewMut::packed(&mut eight, 30, 20), &Cancel::new());
    assert!(
        matches!(wrong, Err(Error::Option { option: "out", .. })),
        "{wrong:?}"
    );
    let mut sixteen = [0_u16; 600];
    let wrong = renderer.read_view(window, ViewMut::packed(&mut sixteen, 20, 30), &Cancel::new());
    assert!(
        matches!(wrong, Err(Error::Option { option: "out", .. })),
        "{wrong:?}"
    );
}

#[test]
fn several_parts_stream_at_the_same_time_in_the_memory_of_so_many_readers() {
    let text = "relief version=1\ncanvas width=3000 height=2000\n\
        distance radius=9 { (mask)threshold level=250 { (source)noise seed=3 }; profile \"25 * d\" beyond=255 }";
    let design = parse(text);
    let peak = |options: Options| Plan::new(&design, &NoImages, &options).unwrap().peak();
    let options = Options::default().threads(2);
    let (one, four) = (peak(options.clone()), peak(options.clone().readers(4)));
    assert_eq!(four.bands, 4 * one.bands);
    let refused = Plan::new(&design, &NoImages, &options.clone().readers(0)).unwrap_err();
    assert!(matches!(
        refused,
        Error::Option {
            option: "readers",
            ..
        }
    ));

    let whole = renderer(&design, &NoImages, &options.readers(4));
    let samples = rendered(&whole).unwrap();
    // All are in the middle of their stream at once.
    let together = Barrier::new(4);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (whole, samples, together) = (&whole, &samples, &together);
            scope.spawn(move || {
                let place = Rect::new(100 * number, 50 * number, 2000, 1500).unwrap();
                let part = whole.part(place).unwrap();
                let mut found = Vec::new();
                for (index, band) in part.bands(&Cancel::new()).enumerate() {
                    if index == 1 {
                        together.wait();
                    }
                    match band.unwrap().samples {
                        OwnedSamples::Eight(samples) => found.extend(samples.into_iter().map(u16::from)),
                        OwnedSamples::Sixteen(_) => panic!("samples of 8 bits"),
                    }
                }
                assert!(found == cut(samples, 3000, place), "part {number}");
            });
        }
    });
}

#[test]
fn a_part_of_the_largest_raster_is_there_at_once() {
    let design = parse(
        "relief version=1\ncanvas width=1099511627776 height=1099511627776\n\
         repeat step-x=7 step-y=5 { (pattern)disc diameter=5 value=9 }",
    );
    let whole: Renderer = renderer(&design, &NoImages, &Options::default());
    // Far more than anybody could plan anew while a test runs.
    for number in 0..100_000 {
        let place = Rect::new(number << 20, number << 21, 256, 256).unwrap();
        let part = whole.part(place).unwrap();
        assert_eq!(
            (part.plan().raster().width, part.plan().raster().height),
            (256, 256)
        );
    }
}
