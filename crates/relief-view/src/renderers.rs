//! The renderers of what is shown, within the memory of the server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use relief_design::NodeId;
use relief_engine::{Cancel, Error, Options, Plan, Progress, Renderer};

use crate::fault::Fault;
use crate::queue::{Queue, READERS};
use crate::scene::Scene;

/// Nodes other than roots that can be looked at at the same time.
pub(crate) const VIEWS: usize = 2;

/// How long a thread waits before it looks again whether a renderer is still in use.
const RETRY: Duration = Duration::from_millis(1);

/// A renderer, or the place where it will be.
struct Entry {
    key: String,
    node: NodeId,
    root: bool,
    /// Locked while it is made.
    renderer: Mutex<Option<Arc<Renderer>>>,
    dropped: AtomicBool,
}

/// One renderer for each design that is shown, and some for other nodes.
pub(crate) struct Renderers {
    /// The one used last stands last.
    entries: Mutex<Vec<Arc<Entry>>>,
    /// Keys of the designs that are shown, once for each time that they are.
    shown: Mutex<Vec<String>>,
    queue: Arc<Queue>,
    share: Share,
    threads: usize,
}

/// The memory of a renderer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Its bytes.
    pub(crate) bytes: u64,
    /// Those of the server.
    pub(crate) server: u64,
}

impl Share {
    /// What a server of designs, as many as are shown, gives to each renderer; an eighth is for answers.
    pub(crate) const fn of(server: u64, designs: usize) -> Self {
        Self {
            bytes: (server - Self::answers(server)) / (designs + VIEWS) as u64,
            server,
        }
    }

    /// Bytes for answers.
    pub(crate) const fn answers(server: u64) -> u64 {
        server / 8
    }

    /// The bytes of a server that gives at least so many, in whole MiB.
    fn enough(self, needed: u64) -> u64 {
        let server = u128::from(needed) * u128::from(self.server) / u128::from(self.bytes.max(1));
        (u64::try_from(server).unwrap_or(u64::MAX) >> 20).saturating_add(1)
    }
}

impl Renderers {
    pub(crate) const fn new(queue: Arc<Queue>, share: Share, threads: usize) -> Self {
        Self {
            entries: Mutex::new(Vec::new()),
            shown: Mutex::new(Vec::new()),
            queue,
            share,
            threads,
        }
    }

    /// How many threads compute.
    pub(crate) const fn threads(&self) -> usize {
        self.threads
    }

    /// Says that a design is shown from now on: there are renderers of no others.
    pub(crate) fn show(&self, key: &str) {
        self.shown().push(key.to_owned());
    }

    /// Whether the renderer of a node is there: if not, a request for it waits until it is made.
    pub(crate) fn is_made(&self, scene: &Scene, node: NodeId) -> bool {
        let entries = self.lock();
        let same = |entry: &&Arc<Entry>| entry.key == scene.key && entry.node == node;
        let made = |entry: &Arc<Entry>| entry.renderer.try_lock().is_ok_and(|made| made.is_some());
        entries.iter().find(same).is_some_and(made)
    }

    /// The renderer of a node, made where there is none.
    pub(crate) fn get(
        &self,
        scene: &Scene,
        node: NodeId,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<Arc<Renderer>, Fault> {
        // It may be of a design that is gone.
        if cancel.is_cancelled() {
            return Err(Fault::engine(&Error::Cancelled));
        }
        let (entry, dropped) = self.entry(scene, node).ok_or_else(Fault::stale)?;
        if let Some(dropped) = dropped {
            self.end(&dropped);
        }
        let mut renderer = entry.renderer.lock().unwrap_or_else(PoisonError::into_inner);
        if entry.dropped.load(Ordering::Acquire) {
            return Err(Fault::busy());
        }
        if let Some(made) = &*renderer {
            return Ok(Arc::clone(made));
        }
        let made = self.make(scene, node, progress, cancel)?;
        // What was cancelled is made for the next who asks, as what failed is: a picture may be there again.
        if cancel.is_cancelled() {
            return Err(Fault::engine(&Error::Cancelled));
        }
        *renderer = Some(Arc::clone(&made));
        Ok(made)
    }

    /// The entry of a node, and one that gives way to it; `None` where the design is shown no longer.
    fn entry(&self, scene: &Scene, node: NodeId) -> Option<(Arc<Entry>, Option<Arc<Entry>>)> {
        let mut entries = self.lock();
        if !self.shown().contains(&scene.key) {
            return None;
        }
        let same = |entry: &Arc<Entry>| entry.key == scene.key && entry.node == node;
        if let Some(at) = entries.iter().position(same) {
            let entry = entries.remove(at);
            entries.push(Arc::clone(&entry));
            return Some((entry, None));
        }
        let root = node == scene.design.root();
        let views = entries.iter().filter(|entry| !entry.root).count();
        let oldest = entries.iter().position(|entry| !entry.root);
        let dropped = oldest
            .filter(|_| !root && views >= VIEWS)
            .map(|at| entries.remove(at));
        let entry = Arc::new(Entry {
            key: scene.key.clone(),
            node,
            root,
            renderer: Mutex::default(),
            dropped: AtomicBool::new(false),
        });
        entries.push(Arc::clone(&entry));
        Some((entry, dropped))
    }

    /// Lets go of all renderers of a design that is shown one time less, if it is shown no longer; they are gone when this returns.
    pub(crate) fn forget(&self, key: &str) {
        let mut entries = self.lock();
        {
            let mut shown = self.shown();
            if let Some(place) = shown.iter().position(|one| one == key) {
                shown.swap_remove(place);
            }
            if shown.iter().any(|one| one == key) {
                return;
            }
        }
        let (gone, stay) = entries.drain(..).partition(|entry| entry.key == key);
        *entries = stay;
        drop(entries);
        let gone: Vec<Arc<Entry>> = gone;
        for entry in gone {
            self.end(&entry);
        }
    }

    /// Waits until a renderer is gone.
    fn end(&self, entry: &Entry) {
        entry.dropped.store(true, Ordering::Release);
        self.queue.cancel(&prefix(&entry.key, entry.node));
        let made = entry
            .renderer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(renderer) = made {
            while Arc::strong_count(&renderer) > 1 {
                thread::sleep(RETRY);
            }
        }
    }

    fn make(
        &self,
        scene: &Scene,
        node: NodeId,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<Arc<Renderer>, Fault> {
        let made = self
            .plan(scene, node)
            .and_then(|plan| Renderer::prepare(plan, &*scene.images, None, progress, cancel));
        let known = scene.known.clone().filter(|_| node == scene.design.root());
        made.map(|renderer| Arc::new(renderer.with_known(known)))
            .map_err(|error| self.fault(&error))
    }

    /// The plan of a node, with fewer threads where memory for all of them is short.
    fn plan(&self, scene: &Scene, node: NodeId) -> Result<Plan, Error> {
        let design = scene.design_of(node);
        let with = |threads: usize| {
            let options = Options::default().memory(self.share.bytes).threads(threads);
            let readers = self.threads.min(READERS);
            let options = options.levels().with(|with| with.level_readers = Some(readers));
            Plan::new(&design, &*scene.images, &options)
        };
        let first = with(self.threads);
        let mut threads = self.threads;
        while threads > 1 && matches!(first, Err(Error::Memory { .. })) {
            threads /= 2;
            match with(threads) {
                Err(Error::Memory { .. }) => {}
                other => return other,
            }
        }
        first
    }

    /// The bytes of a design and of the indices of its drawings, if it can be planned at all.
    pub(crate) fn check(&self, scene: &Scene) -> Result<u64, Fault> {
        (self.plan(scene, scene.design.root()))
            .map(|plan| plan.peak().design)
            .map_err(|error| self.fault(&error))
    }

    /// Whether two designs of so many bytes fit into the memory of one.
    pub(crate) const fn fit(&self, one: u64, other: u64) -> bool {
        one.saturating_add(other) <= self.share.bytes
    }

    fn fault(&self, error: &Error) -> Fault {
        match error {
            Error::Memory { needed, .. } => {
                let mib = |bytes: u64| bytes.div_ceil(1 << 20);
                Fault::memory(format!(
                    "showing it needs {} MiB, of {} MiB it has a share of {}; start the server with --memory {}MiB",
                    mib(*needed),
                    mib(self.share.server),
                    self.share.bytes >> 20,
                    self.share.enough(*needed)
                ))
            }
            _ => Fault::engine(error),
        }
    }

    fn shown(&self) -> MutexGuard<'_, Vec<String>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How keys of requests of a node begin.
pub(crate) fn prefix(key: &str, node: NodeId) -> String {
    format!("{key}/{}/", node.0)
}
