//! Bands of the CPU, in order, with several in flight.
//!
//! Where no halo makes bands high, a band is small and one worker's alone: its memory comes back to the same worker and
//! stays in the caches of its core. Where halos do, workers share the tiles of a band.
//!
//! The caller's thread hands finished bands to the sink, in order, and gives their memory back. While the sink is quick,
//! that thread also computes the bands of the first worker: being woken for every band would take as long as making it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use relief_raster::{Rect, Sample, ViewMut};

use super::{Cpu, zeroed};
use crate::Error;
use crate::cancel::Cancel;
use crate::error::caught;
use crate::sink::HandOver;
use crate::workers::STACK;

/// Trees of at most so many levels are computed on the caller's stack, whose size is not known.
const SHALLOW: usize = 16;

/// A sink is quick where it takes less than this part of the time that a band takes.
const QUICK: u32 = 4;

/// A band to be computed, and memory for it.
struct Job<S> {
    band: u128,
    memory: Vec<S>,
}

/// A band that was computed, by whom, and how that ended.
struct Done<S> {
    band: u128,
    worker: usize,
    memory: Vec<S>,
    outcome: Result<(), Error>,
}

/// Computes all bands and hands them over in order.
pub(crate) fn stream<S: Sample>(
    cpu: &Cpu<S>,
    hand_over: &mut HandOver<'_, S>,
    cancel: &Cancel,
) -> Result<(), Error> {
    let plan = cpu.plan();
    let (bands, shape) = (plan.bands(), plan.shape());
    let capacity = shape.band_width.saturating_mul(shape.band_height);
    let memories = (shape.bands as u128).min(bands) as usize;
    let workers = if shape.alone {
        memories.min(plan.threads())
    } else {
        memories
    };
    // Stops the bands in work when the sink fails, without touching the caller's switch.
    let stop = cancel.below();
    let compute = |worker: usize, Job { band, mut memory }: Job<S>| {
        let rect = plan.band(band);
        // The caller waits for every band that it has dealt: a worker that panics must still say that it is done.
        let outcome = caught(rect, || {
            let out = &mut memory[..rect.area() as usize];
            if shape.alone {
                cpu.fill_alone(worker, rect, out, &stop)
            } else {
                let out = ViewMut::packed(out, rect.width() as usize, rect.height() as usize);
                cpu.fill(rect, out, &stop)
            }
        });
        Done {
            band,
            worker,
            memory,
            outcome,
        }
    };
    std::thread::scope(|scope| {
        // However this ends, by a panic of the sink too, bands in work are stopped.
        let _stopping = Stopping(&stop);
        let (finished, results) = mpsc::channel();
        let mut jobs = Vec::with_capacity(workers);
        for worker in 0..workers {
            let (deal, dealt) = mpsc::channel::<Job<S>>();
            let (finished, compute) = (finished.clone(), &compute);
            std::thread::Builder::new()
                .name(format!("relief-band-{worker}"))
                .stack_size(STACK)
                .spawn_scoped(scope, move || {
                    for job in dealt {
                        if finished.send(compute(worker, job)).is_err() {
                            break;
                        }
                    }
                })
                .map_err(|error| Error::Threads(Box::new(error)))?;
            jobs.push(deal);
        }
        drop(finished);
        let mut caller = Caller {
            jobs,
            results,
            waiting: BTreeMap::new(),
            own: VecDeque::new(),
            helps: shape.alone && plan.nesting() <= SHALLOW,
            pace: Pace::default(),
        };
        let mut dealt = 0;
        // Work is dealt in order, and only to memory that is free, so that the next band in order is always among
        // those being computed.
        for index in 0..memories {
            let memory = zeroed(capacity, "a band")?;
            caller.deal(index % workers, Job { band: dealt, memory })?;
            dealt += 1;
        }
        for next in 0..bands {
            let (worker, memory) = caller.await_band(next, &compute)?;
            let rect = plan.band(next);
            let start = Instant::now();
            hand_over(rect, &memory[..rect.area() as usize])?;
            caller.pace.sink(start.elapsed());
            if dealt < bands {
                caller.deal(worker, Job { band: dealt, memory })?;
                dealt += 1;
            }
        }
        Ok(())
    })
}

/// Throws a switch when it is dropped.
struct Stopping<'a>(&'a Cancel);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The caller's side: what is dealt, what came back early, and what is kept to be computed here.
struct Caller<S> {
    jobs: Vec<mpsc::Sender<Job<S>>>,
    results: mpsc::Receiver<Done<S>>,
    waiting: BTreeMap<u128, Done<S>>,
    /// Jobs of the first worker that this thread computes.
    own: VecDeque<Job<S>>,
    helps: bool,
    pace: Pace,
}

impl<S: Sample> Caller<S> {
    fn deal(&mut self, worker: usize, job: Job<S>) -> Result<(), Error> {
        if worker == 0 && self.helps && self.pace.sink_is_quick() {
            self.own.push_back(job);
            return Ok(());
        }
        self.jobs[worker].send(job).map_err(|_| lost())
    }

    /// The worker and the samples of a band.
    fn await_band(
        &mut self,
        next: u128,
        compute: &impl Fn(usize, Job<S>) -> Done<S>,
    ) -> Result<(usize, Vec<S>), Error> {
        loop {
            while let Ok(done) = self.results.try_recv() {
                self.waiting.insert(done.band, done);
            }
            if let Some(done) = self.waiting.remove(&next) {
                done.outcome?;
                return Ok((done.worker, done.memory));
            }
            let done = match self.own.pop_front() {
                Some(job) => {
                    let start = Instant::now();
                    let done = compute(0, job);
                    self.pace.band(start.elapsed());
                    done
                }
                None => self.results.recv().map_err(|_| lost())?,
            };
            self.waiting.insert(done.band, done);
        }
    }
}

/// What the last bands took here and at the sink.
#[derive(Default)]
struct Pace {
    band: Option<Duration>,
    sink: Duration,
}

impl Pace {
    fn band(&mut self, took: Duration) {
        self.band = Some(self.band.map_or(took, |before| (before * 7 + took) / 8));
    }

    fn sink(&mut self, took: Duration) {
        self.sink = (self.sink * 7 + took) / 8;
    }

    fn sink_is_quick(&self) -> bool {
        self.band.is_none_or(|band| self.sink < band / QUICK)
    }
}

/// A worker ended without a word: a defect.
fn lost() -> Error {
    Error::defect(Rect::EMPTY, "a thread that computes bands ended early")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Options, Plan};
    use crate::prepared::Start;
    use crate::source::NoImages;

    /// A worker that finds no scratch panics outside of every tile. Nobody may wait for it for ever.
    #[test]
    fn a_worker_that_panics_ends_the_job_with_an_error() {
        let text = "relief version=1\ncanvas width=64 height=64\nnoise seed=1";
        let design = relief_design::parse("test.kdl", text, &relief_design::NoImages).unwrap();
        for (threads, tile) in [(1, None), (3, None), (3, Some((16, 16)))] {
            let options = Options::default().threads(threads).with(|with| with.tile = tile);
            let plan = Plan::new(&design, &NoImages, &options).unwrap();
            let start = Start {
                prepared: None,
                progress: &mut |_| (),
            };
            let mut cpu = Cpu::<u8>::new(plan, &NoImages, start, &Cancel::new()).unwrap();
            cpu.lose_scratch();
            let outcome = stream(&cpu, &mut |_, _| Ok(()), &Cancel::new());
            assert!(matches!(outcome, Err(Error::Panic { .. })), "{outcome:?}");
        }
    }
}
