//! The threads of a job: one pool, for tiles and for whoever works on what was computed.

use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::Error;

/// Stack of a worker: evaluation recurses once for every level of nesting.
pub(crate) const STACK: usize = 8 << 20;

/// The pool of threads of a job, as many as its plan says. A clone is the same pool.
///
/// A sink or a reader of windows that works in parallel does so here: then a job has the threads that were asked for,
/// and no other.
#[derive(Clone, Debug)]
pub struct Workers {
    pool: Arc<ThreadPool>,
}

impl Workers {
    /// A pool of so many threads.
    ///
    /// # Errors
    /// Where the system gives no more threads.
    pub fn new(threads: usize) -> Result<Self, Error> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads.max(1))
            .stack_size(STACK)
            .thread_name(|index| format!("relief-{index}"))
            .build()
            .map_err(|error| Error::Threads(Box::new(error)))?;
        Ok(Self { pool: Arc::new(pool) })
    }

    /// The number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Runs `work` on one of the threads and waits for it. What it does with `rayon` is done by all of them.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }
}
