//! What waits to be computed: newest viewport first, equal requests once, nothing that nobody waits for.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use relief_engine::Cancel;
use tokio::sync::watch;

use crate::answer::{Answer, Held, Reservation};
use crate::fault::Fault;

/// The most requests that wait. Those of the oldest viewports are refused when there are more.
const MAX_WAITING: usize = 512;

/// Windows of levels that are read of a raster at the same time. Each is computed by all threads: more of them would take memory and end no
/// sooner. One is left for what is quick.
pub(crate) const READERS: usize = 4;

/// How long a thread waits for answers to be sent that hold the memory it needs, before it looks again.
const RETRY: Duration = Duration::from_millis(20);

pub(crate) type Outcome = Result<Answer, Fault>;
type Work = Box<dyn FnOnce(&Cancel, Reservation) -> Outcome + Send>;

/// What is asked for.
pub(crate) struct Request {
    /// Equal for requests with equal answers.
    pub(crate) key: String,
    /// The viewport that it is for; greater is newer.
    pub(crate) stamp: u64,
    /// Whether it may take long: one thread is left for others.
    pub(crate) slow: bool,
    /// The bytes of the answer, and those held while it is made.
    pub(crate) bytes: u64,
    pub(crate) work: Work,
}

struct Job {
    key: String,
    order: Order,
    bytes: u64,
    waiters: usize,
    cancel: Cancel,
    work: Option<Work>,
    done: watch::Sender<Option<Outcome>>,
}

/// Those with the least come first: quick ones, then newer ones, then in the order in which they came.
type Order = (bool, Reverse<u64>, u64);

#[derive(Default)]
struct State {
    jobs: HashMap<u64, Job>,
    by_key: HashMap<String, u64>,
    waiting: BTreeSet<Order>,
    next: u64,
    slow: usize,
    stopped: bool,
}

/// The requests of all clients.
pub(crate) struct Queue {
    state: Mutex<State>,
    ready: Condvar,
    held: Held,
    /// Threads that compute.
    threads: usize,
}

impl Queue {
    pub(crate) fn new(threads: usize, memory: u64) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            ready: Condvar::new(),
            held: Held::new(memory),
            threads,
        })
    }

    /// The most bytes of an answer.
    pub(crate) const fn largest(&self) -> u64 {
        self.held.limit()
    }

    /// Puts a request where it belongs. An equal one that is not done is joined.
    pub(crate) fn submit(self: &Arc<Self>, request: Request) -> Ticket {
        let mut state = self.lock();
        let same = state.by_key.get(&request.key).copied();
        if let Some(id) = same {
            let order = (request.slow, Reverse(request.stamp), id);
            if let Some(receiver) = state.join(id, order) {
                return Ticket {
                    queue: Arc::clone(self),
                    id,
                    receiver,
                };
            }
        }
        let id = state.next;
        state.next += 1;
        let (done, receiver) = watch::channel(None);
        let order = (request.slow, Reverse(request.stamp), id);
        let job = Job {
            key: request.key.clone(),
            order,
            bytes: request.bytes,
            waiters: 1,
            cancel: Cancel::new(),
            work: Some(request.work),
            done,
        };
        state.jobs.insert(id, job);
        state.by_key.insert(request.key, id);
        state.waiting.insert(order);
        if state.waiting.len() > MAX_WAITING
            && let Some((_, _, oldest)) = state.waiting.pop_last()
        {
            state.finish(oldest, Err(Fault::busy()));
        }
        drop(state);
        self.ready.notify_one();
        Ticket {
            queue: Arc::clone(self),
            id,
            receiver,
        }
    }

    /// Computes what waits until the queue is stopped. For as many threads as [`new`](Self::new) was told.
    pub(crate) fn work(&self) {
        while let Some((id, work, cancel, reservation)) = self.next() {
            let slow = self.lock().jobs.get(&id).is_some_and(|job| job.order.0);
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&cancel, reservation)))
                .unwrap_or_else(|_| Err(Fault::failed("a defect of Relief: computing the answer failed")));
            let mut state = self.lock();
            state.slow -= usize::from(slow);
            state.finish(id, outcome);
            drop(state);
            self.ready.notify_all();
        }
    }

    /// The request to be computed next, with the memory of its answer.
    fn next(&self) -> Option<(u64, Work, Cancel, Reservation)> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            let crowded = state.slow > 0 && state.slow + 1 >= self.threads.min(READERS);
            let first = state.waiting.iter().find(|order| !(order.0 && crowded)).copied();
            let Some(order) = first else {
                state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let bytes = state.jobs.get(&order.2).map_or(0, |job| job.bytes);
            let Some(reservation) = self.held.take(bytes) else {
                let waited = self.ready.wait_timeout(state, RETRY);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            };
            state.waiting.remove(&order);
            let Some(job) = state.jobs.get_mut(&order.2) else {
                continue;
            };
            let cancel = job.cancel.clone();
            let Some(work) = job.work.take() else { continue };
            state.slow += usize::from(order.0);
            return Some((order.2, work, cancel, reservation));
        }
    }

    /// Cancels what is asked for under keys that begin so.
    pub(crate) fn cancel(&self, prefix: &str) {
        let mut state = self.lock();
        let of_it = |job: &&Job| job.key.starts_with(prefix);
        for job in state.jobs.values().filter(of_it) {
            job.cancel.cancel();
        }
        state.by_key.retain(|key, _| !key.starts_with(prefix));
    }

    /// Ends all threads; nobody gets an answer any more.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        for job in state.jobs.values() {
            job.cancel.cancel();
        }
        drop(state);
        self.ready.notify_all();
    }

    /// One that waited for an answer waits no longer.
    fn leave(&self, id: u64) {
        let mut state = self.lock();
        let Some(job) = state.jobs.get_mut(&id) else {
            return;
        };
        job.waiters -= 1;
        if job.waiters > 0 {
            return;
        }
        job.cancel.cancel();
        let (order, key) = (job.order, job.key.clone());
        if state.by_key.get(&key) == Some(&id) {
            state.by_key.remove(&key);
        }
        if state.waiting.remove(&order) {
            state.jobs.remove(&id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// One more waits for a job, which comes sooner where `order` says so.
    fn join(&mut self, id: u64, order: Order) -> Option<watch::Receiver<Option<Outcome>>> {
        let job = self.jobs.get_mut(&id).filter(|job| !job.cancel.is_cancelled())?;
        job.waiters += 1;
        let receiver = job.done.subscribe();
        let before = job.order;
        if order < before && self.waiting.remove(&before) {
            job.order = order;
            self.waiting.insert(order);
        }
        Some(receiver)
    }

    fn finish(&mut self, id: u64, outcome: Outcome) {
        let Some(job) = self.jobs.remove(&id) else { return };
        if self.by_key.get(&job.key) == Some(&id) {
            self.by_key.remove(&job.key);
        }
        job.done.send_replace(Some(outcome));
    }
}

/// The wait for an answer. When all that wait for it are dropped, it is not computed further.
pub(crate) struct Ticket {
    queue: Arc<Queue>,
    id: u64,
    receiver: watch::Receiver<Option<Outcome>>,
}

impl Ticket {
    pub(crate) async fn answer(mut self) -> Outcome {
        match self.receiver.wait_for(Option::is_some).await {
            Ok(outcome) => (*outcome).clone().unwrap_or_else(|| Err(Fault::busy())),
            Err(_) => Err(Fault::busy()),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.queue.leave(self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use bytes::Bytes;
    use relief_engine::Exactness;

    use super::*;

    fn answer() -> Answer {
        Answer {
            bytes: Bytes::new(),
            media: "",
            exactness: Exactness::Exact,
            samples: None,
        }
    }

    fn request(key: &str, stamp: u64, slow: bool, work: impl FnOnce(&Cancel) + Send + 'static) -> Request {
        Request {
            key: key.to_owned(),
            stamp,
            slow,
            bytes: 1,
            work: Box::new(move |cancel, _| {
                work(cancel);
                Ok(answer())
            }),
        }
    }

    fn wait(ticket: Ticket) -> Outcome {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
            .block_on(ticket.answer())
    }

    #[test]
    fn newest_viewports_come_first_in_their_order_and_slow_ones_last() {
        let queue = Queue::new(1, 100);
        let (told, order) = mpsc::channel();
        let tickets: Vec<_> = [("a", 1, false), ("b", 2, true), ("c", 3, false), ("d", 3, false)]
            .into_iter()
            .map(|(key, stamp, slow)| {
                let told = told.clone();
                queue.submit(request(key, stamp, slow, move |_| {
                    told.send(key).expect("it is heard")
                }))
            })
            .collect();
        thread::scope(|scope| {
            scope.spawn(|| queue.work());
            for ticket in tickets {
                wait(ticket).expect("an answer");
            }
            queue.stop();
        });
        assert_eq!(order.try_iter().collect::<String>(), "cdab");
    }

    #[test]
    fn equal_requests_are_computed_once_and_what_nobody_waits_for_not_at_all() {
        let queue = Queue::new(1, 100);
        let (told, runs) = mpsc::channel();
        let submit = |key: &'static str| {
            let told = told.clone();
            queue.submit(request(key, 0, false, move |_| {
                told.send(key).expect("it is heard")
            }))
        };
        let (first, second, left) = (submit("a"), submit("a"), submit("b"));
        drop(left);
        drop(first);
        thread::scope(|scope| {
            scope.spawn(|| queue.work());
            wait(second).expect("an answer");
            queue.stop();
        });
        assert_eq!(runs.try_iter().collect::<Vec<_>>(), ["a"]);
        assert!(queue.lock().jobs.is_empty());
    }

    #[test]
    fn what_is_computed_is_cancelled_when_the_last_leaves() {
        let queue = Queue::new(1, 100);
        let (started, start) = mpsc::channel();
        let (ended, end) = mpsc::channel();
        let ticket = queue.submit(request("a", 0, false, move |cancel| {
            started.send(()).expect("it is heard");
            while !cancel.is_cancelled() {
                thread::yield_now();
            }
            ended.send(()).expect("it is heard");
        }));
        thread::scope(|scope| {
            scope.spawn(|| queue.work());
            start.recv().expect("it starts");
            drop(ticket);
            end.recv().expect("it ends");
            queue.stop();
        });
    }

    #[test]
    fn the_oldest_is_refused_when_too_many_wait() {
        let queue = Queue::new(1, 100);
        let oldest = queue.submit(request("oldest", 0, false, |_| ()));
        let rest: Vec<_> = (1..=MAX_WAITING as u64)
            .map(|stamp| queue.submit(request(&stamp.to_string(), stamp, false, |_| ())))
            .collect();
        assert_eq!(wait(oldest).expect_err("it is refused").code, "busy");
        assert_eq!(queue.lock().waiting.len(), rest.len());
    }

    #[test]
    fn a_panic_is_told_and_the_thread_goes_on() {
        let queue = Queue::new(1, 100);
        let bad = queue.submit(request("a", 1, false, |_| panic!("on purpose")));
        let good = queue.submit(request("b", 0, false, |_| ()));
        thread::scope(|scope| {
            scope.spawn(|| queue.work());
            assert_eq!(wait(bad).expect_err("it fails").code, "failed");
            wait(good).expect("an answer");
            queue.stop();
        });
    }
}
