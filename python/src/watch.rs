//! Work that takes long: without the lock of the interpreter, with progress, and ended by Ctrl-C.

use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
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
    if progress.is_none() && !is_main_thread(py)? {
        return Ok(py.detach(|| work(&cancel, &meter)));
    }
    let look = |py: Python<'_>| -> PyResult<()> {
        py.check_signals()?;
        match (progress, meter.take()) {
            (Some(progress), Some(told)) => progress.call1(py, told).map(|_| ()),
            _ => Ok(()),
        }
    };
    let mut raised = None;
    let outcome = py.detach(|| {
        thread::scope(|scope| {
            let (over, wait) = mpsc::channel::<()>();
            let (cancel, meter) = (&cancel, &meter);
            let worker = scope.spawn(move || {
                let outcome = work(cancel, meter);
                drop(over);
                outcome
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
            worker.join()
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    look(py)?;
    outcome.map_err(|_| PyRuntimeError::new_err("a thread failed: this is a defect of Relief"))
}
