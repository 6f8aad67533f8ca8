//! Jobs on a device that are stopped or fail: what is handed on, what is not, and what is said.

use std::error::Error as _;
use std::io;

use relief_engine::{
    Band, Cancel, DeviceId, Error, NoImages, Options, Plan, Raster, Rect, Renderer, SamplesMut, Sink,
};

use crate::compare::{canvas, on_device};
use crate::device::device;
use crate::run::rendered;

/// Many bands of few rows.
fn many_bands(device: DeviceId) -> Renderer {
    let (design, images) = canvas(64, 640, 8, "noise seed=1");
    let options = Options::default().tile((64, 2));
    let renderer = on_device(device, &design, &images, &options).unwrap();
    assert_eq!(renderer.plan().bands(), 320);
    renderer
}

/// Counts bands and fails in the one of this number: 0 is the beginning, `usize::MAX` the end.
#[derive(Default)]
struct Counting {
    bands: usize,
    finished: bool,
    fails: Option<usize>,
}

impl Counting {
    fn step(&self, step: usize) -> io::Result<()> {
        match self.fails {
            Some(fails) if fails == step => Err(io::Error::other(format!("step {step}"))),
            _ => Ok(()),
        }
    }
}

impl Sink for Counting {
    fn memory(&self, _: &Raster) -> u64 {
        0
    }

    fn begin(&mut self, _: &Raster) -> io::Result<()> {
        self.step(0)
    }

    fn write(&mut self, _: &Band<'_>) -> io::Result<()> {
        self.bands += 1;
        self.step(self.bands)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.finished = true;
        self.step(usize::MAX)
    }
}

#[test]
fn a_job_cancelled_before_it_begins_hands_on_nothing() {
    let Some(device) = device() else { return };
    let renderer = many_bands(device);
    let cancel = Cancel::new();
    cancel.cancel();
    let mut sink = Counting::default();
    let outcome = renderer.render(&mut sink, &mut |_| (), &cancel);
    assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
    assert_eq!((sink.bands, sink.finished), (0, false));
    assert!(matches!(
        renderer.bands(&cancel).next(),
        Some(Err(Error::Cancelled))
    ));
    let mut window = [0; 4];
    let square = Rect::new(0, 0, 2, 2).unwrap();
    let read = renderer.read(square, SamplesMut::Eight(&mut window), &cancel);
    assert!(matches!(read, Err(Error::Cancelled)), "{read:?}");
}

#[test]
fn no_band_follows_the_cancelling_of_a_job() {
    let Some(device) = device() else { return };
    let renderer = many_bands(device);
    for after in [1, 2, 5, 320] {
        let (cancel, mut told) = (Cancel::new(), 0);
        let mut sink = Counting::default();
        let mut stop = |_| {
            told += 1;
            if told == after {
                cancel.cancel();
            }
        };
        let outcome = renderer.render(&mut sink, &mut stop, &cancel);
        assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
        assert_eq!((sink.bands, sink.finished), (after, false));
    }
}

#[test]
fn the_error_of_a_sink_ends_the_job_at_once_and_the_renderer_works_on() {
    let Some(device) = device() else { return };
    let renderer = many_bands(device);
    let expected = rendered(&renderer).unwrap();
    for fails in [0, 1, 4, 320] {
        let mut sink = Counting {
            fails: Some(fails),
            ..Counting::default()
        };
        let outcome = renderer.render(&mut sink, &mut |_| (), &Cancel::new());
        let Err(Error::Sink(error)) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(error.to_string(), format!("step {fails}"));
        assert_eq!((sink.bands, sink.finished), (fails, false));
    }
    let mut sink = Counting {
        fails: Some(usize::MAX),
        ..Counting::default()
    };
    let outcome = renderer.render(&mut sink, &mut |_| (), &Cancel::new());
    assert!(matches!(outcome, Err(Error::Sink(_))), "{outcome:?}");
    assert!(rendered(&renderer).unwrap() == expected);
}

#[test]
fn a_sink_that_panics_does_not_leave_the_device_waiting() {
    struct Panicking;
    impl Sink for Panicking {
        fn memory(&self, _: &Raster) -> u64 {
            0
        }
        fn begin(&mut self, _: &Raster) -> io::Result<()> {
            Ok(())
        }
        fn write(&mut self, _: &Band<'_>) -> io::Result<()> {
            panic!("on purpose")
        }
        fn finish(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let Some(device) = device() else { return };
    let renderer = many_bands(device);
    let run = || renderer.render(&mut Panicking, &mut |_| (), &Cancel::new());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    assert!(rendered(&renderer).is_ok());
}

#[test]
fn several_threads_read_from_one_renderer() {
    let Some(device) = device() else { return };
    let renderer = many_bands(device);
    let expected = rendered(&renderer).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (renderer, expected) = (&renderer, &expected);
            scope.spawn(move || {
                for step in 0..4 {
                    let y = thread * 90 + step * 31;
                    let place = Rect::new(0, y as i64, 64, 30).unwrap();
                    let found = crate::run::window(renderer, place).unwrap();
                    assert!(found[..] == expected[y * 64..][..64 * 30], "{place:?}");
                }
            });
        }
    });
}

#[test]
fn a_device_that_is_not_there_is_refused_by_name() {
    let (design, images) = canvas(8, 8, 8, "noise seed=1");
    for missing in [DeviceId::Vulkan(999), DeviceId::Cuda(999)] {
        let error = on_device(missing, &design, &images, &Options::default()).unwrap_err();
        assert!(
            matches!(error, Error::Option { option: "device", .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(&missing.to_string()), "{error}");
    }
}

#[test]
fn the_cpu_beside_a_device_is_left_to_make_what_is_kept() {
    let Some(device) = device() else { return };
    let (design, images) = canvas(8, 8, 8, "noise seed=1");
    let options = Options::default().devices(vec![DeviceId::Cpu, device]);
    let plan = Plan::new(&design, &images, &options).unwrap();
    assert_eq!(plan.device().unwrap().ids, [device]);
    let alone = Options::default().devices(vec![DeviceId::Cpu]);
    assert!(Plan::new(&design, &NoImages, &alone).unwrap().device().is_none());
}

#[test]
fn one_device_named_twice_computes_every_other_band() {
    let Some(device) = device() else { return };
    let (design, images) = canvas(
        40,
        61,
        16,
        "compose { (base)noise seed=1; (mean)image \"p0\" x=3 y=20 }",
    );
    let once = Options::default().tile((64, 4));
    let twice = once.clone().devices(vec![device, device]);
    let expected = rendered(&on_device(device, &design, &images, &once).unwrap()).unwrap();
    let plan = Plan::new(&design, &images, &twice).unwrap();
    let renderer = Renderer::new(plan, &images, &Cancel::new()).unwrap();
    assert!(rendered(&renderer).unwrap() == expected);
}

#[test]
fn the_cause_of_a_failing_picture_is_kept() {
    let Some(device) = device() else { return };
    let (design, _) = canvas(8, 8, 8, "image \"p0\"");
    let error = on_device(device, &design, &NoImages, &Options::default()).unwrap_err();
    assert!(matches!(error, Error::Image { .. }), "{error:?}");
    assert!(error.source().is_some());
}
