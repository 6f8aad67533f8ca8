//! What is shown: the designs as they were last right, and what is wrong with them now.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant, SystemTime};

use relief_design::visible;
use relief_engine::{Cancel, Progress};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::events::State;
use crate::fault::Fault;
use crate::renderers::Renderers;
use crate::scene::{Scene, problems};
use crate::source::{DesignSource, OpenError};

/// How often files are looked at.
const PACE: Duration = Duration::from_millis(100);

/// The time between two reports of progress.
const PROGRESS: Duration = Duration::from_millis(200);

/// What tells that a file has changed.
type Stamp = Option<(SystemTime, u64)>;

/// A design that is shown.
struct Slot {
    source: Arc<dyn DesignSource>,
    /// As it was last right, ready to be computed.
    scene: Option<Arc<Scene>>,
    /// The bytes of it and of the indices of its drawings.
    bytes: u64,
    /// What is told of it.
    told: Value,
    /// What is wrong with it now.
    trouble: Value,
    /// What is being prepared: of 1.
    loading: Option<f64>,
    /// Ends the preparation.
    opening: Cancel,
    files: Vec<PathBuf>,
    stamps: BTreeMap<PathBuf, Stamp>,
    /// Stamps that were seen once and may still change.
    unsettled: Option<BTreeMap<PathBuf, Stamp>>,
}

/// The designs that are shown.
pub(crate) struct Stage {
    slots: Mutex<Vec<Slot>>,
    state: State,
    renderers: Arc<Renderers>,
    tile: u64,
    /// Whether the server ends.
    ended: AtomicBool,
}

impl Stage {
    pub(crate) fn new(sources: Vec<Box<dyn DesignSource>>, renderers: Arc<Renderers>, tile: u64) -> Self {
        let slots = sources.into_iter().map(|source| Slot {
            files: source.files(),
            source: Arc::from(source),
            scene: None,
            bytes: 0,
            told: Value::Null,
            trouble: Value::Null,
            loading: Some(0.0),
            opening: Cancel::new(),
            stamps: BTreeMap::new(),
            unsettled: None,
        });
        let stage = Self {
            slots: Mutex::new(slots.collect()),
            state: watch::channel(String::new()).0,
            renderers,
            tile,
            ended: AtomicBool::new(false),
        };
        stage.tell();
        stage
    }

    /// The state as JSON, as it is and as it changes.
    pub(crate) fn state(&self) -> watch::Receiver<String> {
        self.state.subscribe()
    }

    /// The design of this key, or of this number where the text is one.
    pub(crate) fn scene(&self, text: &str) -> Option<Arc<Scene>> {
        let slots = self.lock();
        let of_key = |slot: &&Slot| slot.scene.as_ref().is_some_and(|scene| scene.key == text);
        let slot = match text {
            "0" | "1" => slots.get(usize::from(text == "1")),
            _ => slots.iter().find(of_key),
        };
        slot.and_then(|slot| slot.scene.clone())
    }

    /// Whether any design was never ready.
    pub(crate) fn is_loading(&self) -> bool {
        self.lock()
            .iter()
            .any(|slot| slot.scene.is_none() && slot.loading.is_some())
    }

    /// How many designs are shown.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Asks for all designs, and again for those whose files change, until nobody can send to `stop`.
    pub(crate) fn watch(&self, open: &[mpsc::Sender<()>], stop: &mpsc::Receiver<()>) {
        for (slot, open) in open.iter().enumerate() {
            let files = self.lock()[slot].files.clone();
            self.lock()[slot].stamps = stamps(&files);
            let _ = open.send(());
        }
        // Nobody sends: the wait ends where the server does.
        while stop.recv_timeout(PACE) == Err(mpsc::RecvTimeoutError::Timeout) {
            for (slot, open) in open.iter().enumerate() {
                if self.has_changed(slot) {
                    // What is prepared of the one before is of no use.
                    self.lock()[slot].opening.cancel();
                    let _ = open.send(());
                }
            }
        }
        let mut slots = self.lock();
        self.ended.store(true, Ordering::Release);
        slots.iter_mut().for_each(|slot| slot.opening.cancel());
    }

    /// Opens a design whenever that is asked for, until nobody can ask.
    pub(crate) fn open_when_asked(&self, slot: usize, asked: &mpsc::Receiver<()>) {
        while asked.recv().is_ok() {
            // Once for all who asked meanwhile.
            while asked.try_recv().is_ok() {}
            let cancel = Cancel::new();
            {
                let slots = &mut self.lock();
                if self.ended.load(Ordering::Acquire) {
                    return;
                }
                slots[slot].opening = cancel.clone();
            }
            let opened = catch_unwind(AssertUnwindSafe(|| self.open(slot, &cancel)));
            if opened.is_err() {
                self.fail(
                    slot,
                    told(&Fault::failed("a defect of Relief: opening the design failed")),
                );
            }
        }
    }

    /// Whether files of a design are others than when it was opened, and were the same twice: an editor may write them in parts.
    fn has_changed(&self, slot: usize) -> bool {
        let files = self.lock()[slot].files.clone();
        let now = stamps(&files);
        let slot = &mut self.lock()[slot];
        if now == slot.stamps {
            slot.unsettled = None;
            return false;
        }
        if slot.unsettled.as_ref() != Some(&now) {
            slot.unsettled = Some(now);
            return false;
        }
        slot.unsettled = None;
        slot.stamps = now;
        true
    }

    /// Opens a design. Where it is wrong, the one before stays.
    fn open(&self, slot: usize, cancel: &Cancel) {
        let source = Arc::clone(&self.lock()[slot].source);
        let began = SystemTime::now();
        let opened = match source.open() {
            Ok(opened) => opened,
            Err(error) => {
                self.look_beside(slot, &source.files());
                return self.fail(slot, trouble(error));
            }
        };
        let mut files = source.files();
        files.extend(opened.files.iter().cloned());
        let mut stamps = stamps(&files);
        // What changed while it was read is read again. Clocks of other machines may be ahead.
        let ended = SystemTime::now();
        for stamp in stamps.values_mut() {
            if stamp.is_some_and(|(changed, _)| began <= changed && changed <= ended) {
                *stamp = None;
            }
        }
        let scene = Arc::new(Scene::new(opened));
        let same = {
            let slot = &mut self.lock()[slot];
            // What changed since it was read is seen by the next look.
            for (file, stamp) in stamps {
                slot.stamps.entry(file).or_insert(stamp);
            }
            slot.stamps.retain(|file, _| files.contains(file));
            slot.files = files;
            let same = slot.scene.as_ref().is_some_and(|before| before.key == scene.key);
            if same {
                // Comments, warnings and places may have changed.
                slot.told = scene.json(None);
                slot.scene = Some(Arc::clone(&scene));
                slot.trouble = Value::Null;
                slot.loading = None;
            }
            same
        };
        if same {
            return self.tell();
        }
        let bytes = match self.renderers.check(&scene) {
            Ok(bytes) => bytes,
            Err(fault) => return self.fail(slot, told(&fault)),
        };
        // There is memory for one of them.
        let (before, held) = {
            let slot = &mut self.lock()[slot];
            slot.loading = Some(0.0);
            slot.trouble = Value::Null;
            (slot.scene.take(), slot.bytes)
        };
        self.tell();
        if let Some(before) = &before {
            self.renderers.forget(&before.key);
        }
        // Nothing is prepared at this moment: there is memory for both.
        let since = (before.as_deref())
            .filter(|_| self.renderers.fit(bytes, held))
            .and_then(|before| scene.since(before));
        self.renderers.show(&scene.key);
        let mut last: Option<Instant> = None;
        let mut progress = |progress: Progress| {
            if last.is_none_or(|last| last.elapsed() >= PROGRESS) {
                last = Some(Instant::now());
                self.lock()[slot].loading = Some(progress.done as f64 / progress.total.max(1) as f64);
                self.tell();
            }
        };
        let made = self
            .renderers
            .get(&scene, scene.design.root(), &mut progress, cancel);
        match made {
            Ok(_) => {
                let slot = &mut self.lock()[slot];
                slot.told = scene.json(since.as_ref());
                slot.scene = Some(scene);
                slot.bytes = bytes;
                slot.loading = None;
            }
            Err(fault) => {
                self.renderers.forget(&scene.key);
                if let Some(before) = before {
                    // It is prepared again when it is asked for.
                    self.renderers.show(&before.key);
                    self.lock()[slot].scene = Some(before);
                }
                // Where its file has changed the next one is opened at once.
                if !cancel.is_cancelled() {
                    return self.fail(slot, told(&fault));
                }
            }
        }
        self.tell();
    }

    /// Has what is missing seen when it comes: where a design is wrong, the folders of its files are looked at as well.
    fn look_beside(&self, slot: usize, files: &[PathBuf]) {
        let slot = &mut self.lock()[slot];
        let folders = files.iter().filter_map(|file| file.parent());
        let folders = folders.map(|folder| match folder.as_os_str().is_empty() {
            true => PathBuf::from("."),
            false => folder.to_path_buf(),
        });
        let new: Vec<PathBuf> = folders.filter(|folder| !slot.files.contains(folder)).collect();
        slot.stamps.extend(stamps(&new));
        slot.files.extend(new);
    }

    fn fail(&self, slot: usize, trouble: Value) {
        {
            let slot = &mut self.lock()[slot];
            slot.trouble = trouble;
            slot.loading = None;
        }
        self.tell();
    }

    /// Tells all that listen how it stands.
    fn tell(&self) {
        // Whoever tells later tells what is later.
        let slots = self.lock();
        let designs: Vec<Value> = (slots.iter())
            .map(|slot| {
                json!({
                    "name": visible(slot.source.name()),
                    "ready": slot.scene.is_some(),
                    "loading": slot.loading,
                    "trouble": slot.trouble,
                    "scene": slot.told,
                })
            })
            .collect();
        let state = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "tile": self.tile,
            "threads": self.renderers.threads(),
            "designs": designs,
        });
        self.state.send_replace(state.to_string());
        drop(slots);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a design cannot be computed, for the page.
fn told(fault: &Fault) -> Value {
    json!({"text": visible(&fault.text), "problems": []})
}

/// What is wrong, for the page.
fn trouble(error: OpenError) -> Value {
    match error {
        OpenError::Design { report, text } => json!({
            "text": report.headline(),
            "problems": problems(&report, &text),
        }),
        OpenError::Unreadable(why) => json!({"text": visible(&why), "problems": []}),
    }
}

/// The time and the length of each file; none of one that is not there.
fn stamps(files: &[PathBuf]) -> BTreeMap<PathBuf, Stamp> {
    let stamp = |file: &PathBuf| {
        let metadata = fs::metadata(file).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    files.iter().map(|file| (file.clone(), stamp(file))).collect()
}
