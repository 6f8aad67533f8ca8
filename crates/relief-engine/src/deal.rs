//! Computing tiles on several threads, each handed on by the thread that computed it.

use std::ops::Range;
use std::sync::{Mutex, PoisonError, mpsc};

use relief_raster::{Rect, Sample};

use crate::Error;
use crate::cancel::Cancel;
use crate::cpu::zeroed;
use crate::error::caught;
use crate::tiles::{Grid, TileSink};
use crate::workers::STACK;

/// A tile of one depth, on its way to the sink.
pub(crate) type Write<'a, S> = dyn Fn(u128, Rect, &[S]) -> Result<(), Error> + Sync + 'a;

/// Computes a rectangle of the streamed raster; the first argument is the number of the thread.
pub(crate) type Fill<'a, S> = dyn Fn(usize, Rect, &mut [S], &Cancel) -> Result<(), Error> + Sync + 'a;

/// Whether a rectangle of the streamed raster is known to be 0 without computing it.
pub(crate) type IsZero<'a> = dyn Fn(Rect) -> bool + Sync + 'a;

/// Computes the tiles of `range` that `sink` has not, on so many threads, and tells the caller how many pixels are done:
/// of tiles that are there already as well.
#[allow(clippy::too_many_arguments)]
pub(crate) fn deal<S: Sample>(
    threads: usize,
    grid: &Grid,
    range: Range<u128>,
    sink: &dyn TileSink,
    fill: &Fill<'_, S>,
    write: &Write<'_, S>,
    is_zero: &IsZero<'_>,
    done: &mut dyn FnMut(u128),
    cancel: &Cancel,
) -> Result<(), Error> {
    let next = Mutex::new(range.start);
    let take = || {
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        let number = *next;
        (number < range.end).then(|| {
            *next += 1;
            number
        })
    };
    let stop = cancel.below();
    // No tile is larger than the first.
    let capacity = u64::try_from(grid.rect(0).area()).unwrap_or(u64::MAX);
    let takes_zeros = sink.takes_zeros();
    let work = |worker: usize, told: &mpsc::Sender<Result<u128, Error>>| {
        let one = |memory: &mut Vec<S>| -> Result<bool, Error> {
            let Some(number) = take() else { return Ok(false) };
            stop.check()?;
            let rect = grid.rect(number);
            if sink.has(number).map_err(Error::Sink)? {
                // It is counted below.
            } else if takes_zeros && is_zero(rect) {
                sink.write_zeros(number).map_err(Error::Sink)?;
            } else {
                if memory.is_empty() {
                    *memory = zeroed(capacity, "a tile")?;
                }
                let out = &mut memory[..rect.area() as usize];
                fill(worker, rect, out, &stop)?;
                stop.check()?;
                write(number, rect, out)?;
            }
            // Nobody listens once something else has gone wrong.
            let _ = told.send(Ok(rect.area()));
            Ok(true)
        };
        let mut memory = Vec::new();
        loop {
            match caught(Rect::EMPTY, || one(&mut memory)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    let _ = told.send(Err(error));
                    break;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        let started = (0..threads.max(1)).try_for_each(|worker| {
            let (tell, work) = (tell.clone(), &work);
            std::thread::Builder::new()
                .name(format!("relief-tile-{worker}"))
                .stack_size(STACK)
                .spawn_scoped(scope, move || work(worker, &tell))
                .map(drop)
                .map_err(|error| Error::Threads(Box::new(error)))
        });
        drop(tell);
        // However this ends, by a panic of who is told too, tiles in work are stopped.
        let _stopping = Stopping(&stop, sink);
        let mut outcome = started;
        for tile in told {
            match tile {
                Ok(pixels) if outcome.is_ok() => done(pixels),
                Ok(_) => {}
                // What goes wrong after the first is mostly that it was stopped.
                Err(error) => outcome = outcome.and(Err(error)),
            }
            if outcome.is_err() {
                stop.cancel();
                sink.stop();
            }
        }
        outcome
    })?;
    cancel.check()
}

/// Throws a switch when it is dropped; where a panic drops it, nobody waits in the sink any more.
struct Stopping<'a>(&'a Cancel, &'a dyn TileSink);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.cancel();
        if std::thread::panicking() {
            self.1.stop();
        }
    }
}
