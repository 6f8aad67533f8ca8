//! The renderers of what is shown, within the memory of the server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use relief_design::NodeId;
use relief_engine::{Cancel, Error, Options, Plan, Progress, Renderer};

use crate::fault::Fault;
use crate::queue::Queue;
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
    renderer: Mutex<Option<Result<Arc<Renderer>, Fault>>>,
    dropped: AtomicBool,
}

/// One renderer for each design that is shown, and some for other nodes.
pub(crate) struct Renderers {
    /// The one used last stands last.
    entries: Mutex<Vec<Arc<Entry>>>,
    queue: Arc<Queue>,
    /// Bytes of each.
    memory: u64,
    threads: usize,
}

impl Renderers {
    pub(crate) const fn new(queue: Arc<Queue>, memory: u64, threads: usize) -> Self {
        Self {
            entries: Mutex::new(Vec::new()),
            queue,
            memory,
            threads,
        }
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
        let (entry, dropped) = self.entry(scene, node);
        if let Some(dropped) = dropped {
            self.end(&dropped);
        }
        let mut renderer = entry.renderer.lock().unwrap_or_else(PoisonError::into_inner);
        if entry.dropped.load(Ordering::Acquire) {
            return Err(Fault::busy());
        }
        if let Some(made) = &*renderer {
            return made.clone();
        }
        let made = self.make(scene, node, progress, cancel);
        // What was cancelled is made for the next who asks.
        if !cancel.is_cancelled() {
            *renderer = Some(made.clone());
        }
        made
    }

    /// The entry of a node, and one that gives way to it.
    fn entry(&self, scene: &Scene, node: NodeId) -> (Arc<Entry>, Option<Arc<Entry>>) {
        let mut entries = self.lock();
        let same = |entry: &Arc<Entry>| entry.key == scene.key && entry.node == node;
        if let Some(at) = entries.iter().position(same) {
            let entry = entries.remove(at);
            entries.push(Arc::clone(&entry));
            return (entry, None);
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
        (entry, dropped)
    }

    /// Lets go of all renderers of a design; they are gone when this returns.
    pub(crate) fn forget(&self, key: &str) {
        let mut entries = self.lock();
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
        if let Some(Ok(renderer)) = made {
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
        let options = Options::default()
            .memory(self.memory)
            .threads(self.threads)
            .levels();
        let made = Plan::new(&scene.design_of(node), &*scene.images, &options)
            .and_then(|plan| Renderer::prepare(plan, &*scene.images, None, progress, cancel));
        let known = scene.known.clone().filter(|_| node == scene.design.root());
        made.map(|renderer| Arc::new(renderer.with_known(known)))
            .map_err(|error| Fault::engine(&error))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How keys of requests of a node begin.
pub(crate) fn prefix(key: &str, node: NodeId) -> String {
    format!("{key}/{}/", node.0)
}
