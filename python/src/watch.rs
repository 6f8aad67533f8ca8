//! Work that takes long: without the lock of the interpreter, with progress, and ended by Ctrl-C.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use relief_engine::{Cancel, Progress};

/// How often signals are looked for and progress is told.
const INTERVAL: Duration = Duration::from_millis(50);

/// How far a job is, for whoever watches it.
#[derive(Default)]
pub(crate) struct Meter {
    last: Mutex<Option<(u128, u128)>>,
}

impl Meter {
    /// So many samples of all are done.
    pub(crate) fn tell(&self, progress: Progress) {
        self.set(progress.done, progress.total);
    }

    pub(crate) fn set(&self, done: u128, total: u128) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((done, total));
    }

    fn take(&self) -> Option<(u128, u128)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Whether this is the thread in which Python handles signals.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import(intern!(py, "threading"))?;
    let main = threading
        .call_method0(intern!(py, "main_thread"))?
        .getattr(intern!(py, "ident"))?;
    main.eq(threading.call_method0(intern!(py, "get_ident"))?)
}

/// A thread that works while the main thread looks for signals. Starting one for every window would take a twentieth of what a window of
/// 4 096 × 4 096 takes.
static BESIDE: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// A thread for what is done beside this one: that of the main thread, which does one thing at a time, or a new one.
fn beside(is_main: bool) -> PyResult<Arc<ThreadPool>> {
    let new = || {
        let built = ThreadPoolBuilder::new().num_threads(1).build();
        let told = |error| PyRuntimeError::new_err(format!("no thread can be started: {error}"));
        built.map(Arc::new).map_err(told)
    };
    if !is_main {
        return new();
    }
    let mut held = BESIDE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match &*held {
        Some((of, pool)) if *of == process => return Ok(Arc::clone(pool)),
        // The thread is not in a process that was forked, and nothing waits for it.
        Some((_, pool)) => std::mem::forget(Arc::clone(pool)),
        None => {}
    }
    let pool = new()?;
    *held = Some((process, Arc::clone(&pool)));
    Ok(pool)
}

/// Does `work` without the lock of the interpreter. In the main thread a signal whose handler raises, such as that of Ctrl-C, cancels
/// it and is raised; `progress` is called with the samples done and those of all, and what it raises cancels the work, too.
///
/// # Errors
/// What a handler of a signal or `progress` raised.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Cancel, &Meter) -> T + Send,
) -> PyResult<T> {
    let (cancel, meter) = (Cancel::new(), Meter::default());
    // Signals are handled in the main thread alone: elsewhere there is nothing to wait for.
    let is_main = is_main_thread(py)?;
    if progress.is_none() && !is_main {
        return Ok(py.detach(|| work(&cancel, &meter)));
    }
    let look = |py: Python<'_>| -> PyResult<()> {
        py.check_signals()?;
        match (progress, meter.take()) {
            (Some(progress), Some(told)) => progress.call1(py, told).map(|_| ()),
            _ => Ok(()),
        }
    };
    let (mut raised, mut outcome) = (None, None);
    let pool = beside(is_main)?;
    py.detach(|| {
        let (over, wait) = mpsc::channel::<()>();
        let (cancel, meter, outcome) = (&cancel, &meter, &mut outcome);
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                // What panics ends here: the thread is used again.
                *outcome = catch_unwind(AssertUnwindSafe(|| work(cancel, meter))).ok();
                drop(over);
            });
            while wait.recv_timeout(INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
                // What is raised while the work ends would hide what ended it.
                if raised.is_none()
                    && let Err(error) = Python::attach(look)
                {
                    cancel.cancel();
                    raised = Some(error);
                }
            }
        });
    });
    if let Some(error) = raised {
        return Err(error);
    }
    look(py)?;
    outcome.ok_or_else(|| PyRuntimeError::new_err("a thread failed: this is a defect of Relief"))
}
