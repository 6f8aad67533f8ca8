//! How far a job is, on the raster that is shown.

use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime};

use relief_machine::Manifest;
use relief_scan::Program;
use serde_json::{Value, json};
use tokio::sync::watch;

/// How often the manifest is looked at.
const PACE: Duration = Duration::from_millis(500);

/// A job that is shown.
pub(crate) struct Job {
    manifest: PathBuf,
    program: Program,
    /// The pixel of the shown raster where that of the job begins.
    origin: (u64, u64),
}

impl Job {
    pub(crate) const fn new(manifest: PathBuf, program: Program, origin: (u64, u64)) -> Self {
        Self {
            manifest,
            program,
            origin,
        }
    }

    /// Tells how far it is whenever its manifest is another one, until nobody holds the other end of `stop`.
    pub(crate) fn run(&self, state: &watch::Sender<String>, stop: &Receiver<()>) {
        let mut last: Option<Option<(SystemTime, u64)>> = None;
        loop {
            let metadata = fs::metadata(&self.manifest).ok();
            let stamp = metadata.and_then(|file| Some((file.modified().ok()?, file.len())));
            if last != Some(stamp) {
                last = Some(stamp);
                state.send_replace(self.state().to_string());
            }
            if stop.recv_timeout(PACE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    fn state(&self) -> Value {
        let manifest = match Manifest::read(&self.manifest) {
            Ok(manifest) => manifest,
            Err(error) => {
                let text = crate::fault::chain(&error);
                return json!({"trouble": relief_design::visible(&text)});
            }
        };
        let covered = self.program.covered(manifest.executed);
        let areas: Vec<Value> = (covered.areas.iter())
            .map(|area| {
                json!({
                    "x": area.rect.x() as u64 + self.origin.0, "y": area.rect.y() as u64 + self.origin.1,
                    "width": area.rect.width(), "height": area.rect.height(),
                    "share": area.executed as f64 / area.lines.max(1) as f64,
                })
            })
            .collect();
        json!({
            "trouble": null,
            "executed": manifest.executed, "lines": manifest.lines, "complete": manifest.complete,
            "pass": covered.pass, "passes": self.program.passes(), "areas": areas,
        })
    }
}
