//! What a plan says of a device's memory: refused where it does not fit, held where it does.

use relief_engine::{Cancel, Error, Options, Plan, Rect, Renderer};

use crate::compare::{agree, canvas, on, on_device};
use crate::device::device;
use crate::run::{part, rendered, window};

/// A picture of which the samples are never asked for.
struct Vast(u64);

impl relief_engine::ImageSource for Vast {
    fn open(
        &self,
        path: &str,
        conversion: &relief_design::Conversion,
    ) -> Result<Box<dyn relief_engine::Picture>, relief_engine::ImageError> {
        let side = self.0;
        (move |_: &str| Ok((side, side))).open(path, conversion)
    }
}

#[test]
fn windows_read_at_once_and_after_each_other_hold_no_more_than_planned() {
    let Some(device) = device() else { return };
    let (design, images) = canvas(
        600,
        500,
        8,
        "distance radius=9 { (mask)threshold level=252 { (source)noise seed=3 }; profile \"25 * d\" beyond=255 }",
    );
    let plan = Plan::new(&design, &images, &on(device, &Options::default())).unwrap();
    let planned = plan.device().unwrap().bytes;
    let renderer = Renderer::new(plan, &images, &Cancel::new()).unwrap();
    let whole = Rect::sized(600, 500);
    let first = window(&renderer, whole).unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (renderer, first) = (&renderer, &first);
            scope.spawn(move || {
                let place = Rect::new(13 * number, 7 * number, 300, 200).unwrap();
                assert!(window(renderer, place).unwrap() == part(first, 600, place));
            });
        }
    });
    assert!(rendered(&renderer).unwrap() == first);
    for (id, bytes) in renderer.device_memory() {
        assert!(bytes <= planned, "{id}: {bytes} bytes, {planned} planned");
    }
}

/// Windows that are much narrower than the raster are read in parts higher than its bands, in the same memory.
#[test]
fn narrow_windows_are_read_in_the_memory_of_bands() {
    let Some(device) = device() else { return };
    let roots = [
        "repeat step-x=97 step-y=41 { (pattern)image \"p0\" }",
        "gauss sigma=2.5 { (source)noise seed=3 }",
        "median radius=2 { (source)box radius=9 edge=\"mirror\" { (source)noise seed=3 } }",
        "turn quarters=1 { (source)noise seed=4 width=400 height=3000 }",
        "compose { (base)noise seed=5; (max)distance radius=12 { (mask)threshold level=252 { (source)noise seed=3 }; profile \"20 * d\" beyond=0 }; \
         (over)disc diameter=380 x=77 y=9 value=40 }",
        "dither \"bayer\" size=8 { (source)equalise { (source)noise seed=3 } }",
    ];
    for root in roots {
        for rows in [1, 7] {
            let (design, images) = canvas(3_000, 400, 8, root);
            let options = Options::default().with(|with| with.tile = Some((3_000, rows)));
            let here = crate::run::renderer(&design, &images, &Options::default().threads(2));
            let there = on_device(device, &design, &images, &options).unwrap();
            let expected = rendered(&here).unwrap();
            let windows = [
                (900, 13, 200, 380),
                (2_937, 0, 63, 400),
                (0, 399, 1, 1),
                (1, 1, 1_499, 311),
            ];
            for (x, y, width, height) in windows {
                let place = Rect::new(x, y, width, height).unwrap();
                assert!(
                    window(&there, place).unwrap() == part(&expected, 3_000, place),
                    "{root} in bands of {rows} rows, {place:?}"
                );
            }
            // Their bands are higher than those of the whole.
            let place = Rect::new(700, 17, 300, 383).unwrap();
            let narrow = there.part(place).unwrap();
            assert!(narrow.plan().bands() <= 383 / u128::from(rows) / 2, "{root}");
            assert!(
                rendered(&narrow).unwrap() == part(&expected, 3_000, place),
                "{root}"
            );
            let planned = there.plan().device().unwrap().bytes;
            for (id, bytes) in there.device_memory() {
                assert!(bytes <= planned, "{id}: {bytes} bytes, {planned} planned: {root}");
            }
        }
    }
}

#[test]
fn what_no_device_holds_is_refused_with_figures() {
    let Some(device) = device() else { return };
    let vast = Vast(1 << 24);
    let text = "relief version=1\ncanvas width=16777216 height=16777216\nimage \"vast\"";
    let design = relief_design::parse("test.kdl", text, &vast).unwrap();
    // The host is given enough, so that the device is what refuses.
    let options = on(device, &Options::default().memory(1 << 50));
    match Plan::new(&design, &vast, &options).unwrap_err() {
        Error::DeviceMemory {
            device: named,
            needed,
            limit,
        }
        | Error::DeviceBuffer {
            device: named,
            needed,
            limit,
        } => {
            assert_eq!(named, device.to_string());
            assert!(needed >= 1 << 48 && needed > limit, "{needed} of {limit}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pattern_that_no_device_holds_is_refused_and_never_computed_wrong() {
    let Some(device) = device() else { return };
    for root in [
        "lattice { u 1000003 7; v -5 1000033; (pattern)noise seed=1 width=1000000 height=1000000 }",
        "repeat step-x=1000003 { (pattern)noise seed=1 width=1000000 height=1000000 }",
    ] {
        let (design, images) = canvas(2_000_000, 2_000_000, 8, root);
        let refused = on_device(device, &design, &images, &Options::default()).unwrap_err();
        assert!(
            matches!(
                refused,
                Error::DeviceMemory { .. } | Error::DeviceBuffer { .. } | Error::Unsupported { .. }
            ),
            "{root}: {refused:?}"
        );
    }
}

#[test]
fn the_memory_that_a_refusal_names_does() {
    let Some(device) = device() else { return };
    for root in [
        "noise seed=1",
        "distance radius=20 { (mask)image \"p3\"; profile \"d\" beyond=1 }",
        "compose { (base)repeat { (pattern)image \"p0\" }; (add)disc diameter=30 value=9 }",
        "gauss sigma=3 { (source)turn quarters=1 { (source)image \"p3\" } }",
    ] {
        for tile in [None, Some((64, 3))] {
            let (design, images) = canvas(90, 70, 16, root);
            let with = |memory| {
                Options::default()
                    .memory(memory)
                    .kept(4_000)
                    .with(|with| with.tile = tile)
            };
            let refused = on_device(device, &design, &images, &with(0)).unwrap_err();
            let Error::Memory { needed, limit: 0, .. } = refused else {
                panic!("{refused:?}")
            };
            agree(device, &design, &images, &with(needed)).unwrap_or_else(|error| panic!("{root}: {error}"));
            let less = on_device(device, &design, &images, &with(needed - 1));
            assert!(
                matches!(less, Err(Error::Memory { .. })),
                "{needed} bytes were named, 1 less does"
            );
        }
    }
}

#[test]
fn a_plan_counts_what_a_device_takes_and_little_more() {
    let Some(device) = device() else { return };
    for root in [
        "noise seed=1",
        "image \"p0\"",
        "distance radius=20 { (mask)image \"p3\"; profile \"d\" beyond=1 }",
        "compose { (base)repeat { (pattern)noise seed=1 width=9 height=7 }; (add)disc diameter=90 value=9 }",
        "lattice { u 300 1; v -7 201; (pattern)noise seed=1 width=90 height=90 }",
        "gauss sigma=3 { (source)image \"p3\" }",
        "gauss sigma=3 edge=\"wrap\" { (source)noise seed=1 }",
        "flip axis=\"x\" { (source)noise seed=1 }",
        "turn quarters=3 { (source)noise seed=1 }",
    ] {
        let (design, images) = canvas(1_000, 300, 8, root);
        let renderer = on_device(device, &design, &images, &Options::default()).unwrap();
        crate::run::rendered(&renderer).unwrap();
        let planned = renderer.plan().device().unwrap().bytes;
        for (_, taken) in renderer.device_memory() {
            assert!(
                taken <= planned && planned <= 2 * taken,
                "{root}: {taken} of {planned} bytes"
            );
        }
    }
}
