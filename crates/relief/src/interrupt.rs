//! Ctrl-C and the signals that ask a process to end.

use std::sync::mpsc;
use std::time::Duration;

use relief_engine::Cancel;
use relief_io::Cleanup;

/// How long a job may take to stop by itself before the process is ended for it.
const PATIENCE: Duration = Duration::from_millis(80);

/// Stops the job on the first signal. Where it does not end soon after, because its output blocks, the partial files
/// are removed and the process ends.
///
/// The value returned must be kept until the job is over.
pub(crate) fn watch(cancel: &Cancel, cleanups: impl IntoIterator<Item = Cleanup>) -> Guard {
    let cleanups: Vec<Cleanup> = cleanups.into_iter().collect();
    let (over, wait) = mpsc::channel::<()>();
    let cancel = cancel.clone();
    let wait = std::sync::Mutex::new(wait);
    // Without a handler a signal ends the process at once; then only the temporary file would stay.
    if let Err(error) = ctrlc::set_handler(move || {
        cancel.cancel();
        let ended = wait
            .lock()
            .is_ok_and(|wait| !matches!(wait.recv_timeout(PATIENCE), Err(mpsc::RecvTimeoutError::Timeout)));
        if !ended {
            cleanups.iter().for_each(Cleanup::remove);
            std::process::exit(130);
        }
    }) {
        tracing::warn!("signals are not handled: {error}");
    }
    Guard { _over: over }
}

/// Tells the handler that the job is over when it is dropped.
pub(crate) struct Guard {
    _over: mpsc::Sender<()>,
}
