//! Jobs that are stopped or fail: what is handed on, what is not, and what is said.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use relief_design::{Design, Kind, NodeId};
use relief_engine::{
    Band, Cancel, Error, MAX_NESTING, NoImages, Options, Plan, Raster, Rect, Renderer, SamplesMut, Sink,
};

use crate::run::{parse, rendered, renderer};

const NOISE: &str = "relief version=1\ncanvas width=64 height=640\nnoise seed=1";

/// Many bands of few rows.
fn noise() -> Renderer {
    let options = Options::default().threads(2).memory(5_000).tile((64, 2));
    let renderer = renderer(&parse(NOISE), &NoImages, &options);
    assert!(renderer.plan().bands() >= 10, "{:?}", renderer.plan().shape());
    renderer
}

/// What a job did to its sink.
#[derive(Default)]
struct Watched {
    bands: Arc<AtomicUsize>,
    finished: bool,
    /// The call that fails: 0 the beginning, n the n-th band, `usize::MAX` the end.
    fails: Option<usize>,
}

impl Watched {
    fn step(&self, step: usize) -> io::Result<()> {
        match self.fails {
            Some(fails) if fails == step => Err(io::Error::other(format!("step {step}"))),
            _ => Ok(()),
        }
    }
}

impl Sink for Watched {
    fn memory(&self, _: &Raster) -> u64 {
        0
    }

    fn begin(&mut self, _: &Raster) -> io::Result<()> {
        self.step(0)
    }

    fn write(&mut self, _: &Band<'_>) -> io::Result<()> {
        let number = self.bands.fetch_add(1, Ordering::SeqCst) + 1;
        self.step(number)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.finished = true;
        self.step(usize::MAX)
    }
}

#[test]
fn a_job_cancelled_before_it_begins_hands_on_nothing() {
    let cancel = Cancel::new();
    cancel.cancel();
    let mut sink = Watched::default();
    let outcome = noise().render(&mut sink, &mut |_| (), &cancel);
    assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
    assert_eq!((sink.bands.load(Ordering::SeqCst), sink.finished), (0, false));
    assert!(matches!(
        noise().bands(&cancel).next(),
        Some(Err(Error::Cancelled))
    ));
    let mut window = [0; 4];
    let read = noise().read(
        Rect::new(0, 0, 2, 2).unwrap(),
        SamplesMut::Eight(&mut window),
        &cancel,
    );
    assert!(matches!(read, Err(Error::Cancelled)));
    // What a renderer makes before the first band stops as well.
    let cells =
        "relief version=1\ncanvas width=64 height=64\nrepeat { (pattern)noise seed=1 width=4 height=4 }";
    let with_cells = Plan::new(&parse(cells), &NoImages, &Options::default()).unwrap();
    assert!(matches!(
        Renderer::new(with_cells, &NoImages, &cancel),
        Err(Error::Cancelled)
    ));
}

#[test]
fn no_band_follows_the_cancelling_of_a_job() {
    for after in [1, 2, 5] {
        let (cancel, mut told) = (Cancel::new(), 0);
        let mut sink = Watched::default();
        let outcome = noise().render(
            &mut sink,
            &mut |_| {
                told += 1;
                if told == after {
                    cancel.cancel();
                }
            },
            &cancel,
        );
        assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
        assert_eq!((sink.bands.load(Ordering::SeqCst), sink.finished), (after, false));
    }
}

#[test]
fn cancelling_in_the_last_band_leaves_the_sink_unfinished() {
    let cancel = Cancel::new();
    let mut sink = Watched::default();
    let outcome = noise().render(
        &mut sink,
        &mut |progress| {
            if progress.done == progress.total {
                cancel.cancel();
            }
        },
        &cancel,
    );
    assert!(matches!(outcome, Err(Error::Cancelled)));
    assert!(!sink.finished);
}

#[test]
fn another_thread_stops_a_job_within_one_band() {
    // A job of 2^40 rows would never end: that this test does is what it tests.
    let endless = "relief version=1\ncanvas width=64 height=1099511627776\nnoise seed=1";
    let options = Options::default().threads(2).memory(100_000);
    let renderer = renderer(&parse(endless), &NoImages, &options);
    let cancel = Cancel::new();
    let mut sink = Watched::default();
    let bands = Arc::clone(&sink.bands);
    let after = std::thread::scope(|scope| {
        let stopper = cancel.clone();
        let thread = scope.spawn(move || {
            while bands.load(Ordering::SeqCst) < 3 {
                std::thread::yield_now();
            }
            stopper.cancel();
            bands.load(Ordering::SeqCst)
        });
        let outcome = renderer.render(&mut sink, &mut |_| (), &cancel);
        assert!(matches!(outcome, Err(Error::Cancelled)));
        thread.join().unwrap()
    });
    // One band may be on its way to the sink while the switch is thrown.
    assert!(sink.bands.load(Ordering::SeqCst) <= after + 1);
}

#[test]
fn the_error_of_a_sink_ends_the_job_at_once() {
    for fails in [0, 1, 4] {
        let mut sink = Watched {
            fails: Some(fails),
            ..Watched::default()
        };
        let outcome = noise().render(&mut sink, &mut |_| (), &Cancel::new());
        let Err(Error::Sink(error)) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(error.to_string(), format!("step {fails}"));
        assert_eq!((sink.bands.load(Ordering::SeqCst), sink.finished), (fails, false));
    }
    let mut sink = Watched {
        fails: Some(usize::MAX),
        ..Watched::default()
    };
    let outcome = noise().render(&mut sink, &mut |_| (), &Cancel::new());
    assert!(matches!(outcome, Err(Error::Sink(_))), "{outcome:?}");
}

#[test]
fn a_renderer_works_on_after_a_job_that_failed_or_was_cancelled() {
    let renderer = noise();
    let expected = rendered(&renderer).unwrap();
    let mut failing = Watched {
        fails: Some(2),
        ..Watched::default()
    };
    assert!(
        renderer
            .render(&mut failing, &mut |_| (), &Cancel::new())
            .is_err()
    );
    let cancel = Cancel::new();
    let mut stopped = Watched::default();
    assert!(
        renderer
            .render(&mut stopped, &mut |_| cancel.cancel(), &cancel)
            .is_err()
    );
    assert_eq!(rendered(&renderer).unwrap(), expected);
}

#[test]
fn a_panic_of_the_caller_comes_back_to_the_caller_and_leaves_a_renderer_that_works() {
    struct Panics;

    impl Sink for Panics {
        fn memory(&self, _: &relief_engine::Raster) -> u64 {
            0
        }

        fn begin(&mut self, _: &relief_engine::Raster) -> io::Result<()> {
            Ok(())
        }

        fn write(&mut self, _: &Band<'_>) -> io::Result<()> {
            panic!("of the sink")
        }

        fn finish(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let said = |panic: Box<dyn std::any::Any + Send>| *panic.downcast::<&str>().unwrap();
    let renderer = noise();
    let expected = rendered(&renderer).unwrap();
    let of_sink = catch_unwind(AssertUnwindSafe(|| {
        renderer.render(&mut Panics, &mut |_| (), &Cancel::new())
    }));
    assert_eq!(said(of_sink.unwrap_err()), "of the sink");
    let of_progress = catch_unwind(AssertUnwindSafe(|| {
        renderer.render(
            &mut Watched::default(),
            &mut |_| panic!("of the progress"),
            &Cancel::new(),
        )
    }));
    assert_eq!(said(of_progress.unwrap_err()), "of the progress");
    assert_eq!(rendered(&renderer).unwrap(), expected);
}

#[test]
fn every_node_that_computes_is_timed_and_no_other() {
    let design = parse(
        "relief version=1\ncanvas width=64 height=64\ncompose {\n(base)fill value=9\n(base)noise seed=1\n(max)noise seed=2 width=64\n}",
    );
    let options = Options::default().tile((8, 8));
    let renderer = renderer(&design, &NoImages, &options);
    assert!(renderer.node_times().iter().all(|time| time.is_zero()));
    rendered(&renderer).unwrap();
    let times = renderer.node_times();
    let nodes = renderer.plan().nodes();
    assert_eq!(times.len(), nodes.len());
    for (node, time) in nodes.iter().zip(times) {
        // The first child is replaced by the second everywhere.
        assert_eq!(time.is_zero(), node.kind == "fill", "{node:?}: {time:?}");
    }
}

#[test]
fn windows_and_memory_that_do_not_fit_are_refused() {
    let renderer = noise();
    let cancel = Cancel::new();
    let mut eight = [0_u8; 4];
    let mut sixteen = [0_u16; 4];
    let square = Rect::new(0, 0, 2, 2).unwrap();
    let outside = Rect::new(63, 0, 2, 2).unwrap();
    let wide = Rect::new(0, 0, 3, 2).unwrap();
    assert!(matches!(
        renderer.read(outside, SamplesMut::Eight(&mut eight), &cancel),
        Err(Error::Region { .. })
    ));
    assert!(matches!(
        renderer.read(wide, SamplesMut::Eight(&mut eight), &cancel),
        Err(Error::Option { .. })
    ));
    assert!(matches!(
        renderer.read(square, SamplesMut::Sixteen(&mut sixteen), &cancel),
        Err(Error::Option { .. })
    ));
    renderer
        .read(square, SamplesMut::Eight(&mut eight), &cancel)
        .unwrap();
}

/// `levels` nodes, each in the one before: made by hand, for the language allows fewer.
fn chain(levels: usize) -> Design {
    let design = parse("relief version=1\ncanvas width=3 height=3\ncompose { (add)fill value=7 }");
    let mut nodes = design.nodes().to_vec();
    let parent = nodes.pop().unwrap();
    assert!(matches!(parent.kind, Kind::Compose(_)));
    for level in 1..levels {
        let mut node = parent.clone();
        node.children[0].node = NodeId(level - 1);
        nodes.push(node);
    }
    Design::new(design.canvas(), nodes, None).unwrap()
}

#[test]
fn nesting_is_computed_to_its_limit_and_refused_beyond() {
    let options = Options::default().threads(1);
    let deepest = renderer(&chain(MAX_NESTING), &NoImages, &options);
    assert_eq!(rendered(&deepest).unwrap(), [7; 9]);
    let refused = Plan::new(&chain(MAX_NESTING + 1), &NoImages, &options);
    assert!(matches!(refused, Err(Error::TooDeep { depth, limit }) if depth == limit + 1));
}

#[test]
fn options_out_of_range_are_refused() {
    let design = parse(NOISE);
    let plan = |options: Options| Plan::new(&design, &NoImages, &options);
    for threads in [0, 1_025, usize::MAX] {
        let options = Options::default().threads(threads);
        assert!(matches!(
            plan(options),
            Err(Error::Option {
                option: "threads",
                ..
            })
        ));
    }
    for tile in [(0, 1), (1, 0)] {
        let options = Options::default().tile(tile);
        assert!(matches!(plan(options), Err(Error::Option { option: "tile", .. })));
    }
    for region in [(60, 0, 5, 1), (-1, 0, 2, 2), (0, 640, 1, 1), (0, 0, 0, 5)] {
        let (x, y, width, height) = region;
        let options = Options::default().with(|with| with.region = Rect::new(x, y, width, height));
        assert!(matches!(plan(options), Err(Error::Region { .. })), "{region:?}");
    }
}
