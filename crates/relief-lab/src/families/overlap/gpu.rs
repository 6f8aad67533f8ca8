//! The variants on devices.
#![allow(unsafe_code)]

#[cfg(feature = "cuda")]
use std::collections::HashSet;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use cubecl::prelude::*;
#[cfg(feature = "cuda")]
use rayon::prelude::*;
use relief_kernels::device::{Buffer, Gpu, Operand, Reading, launch, line};

use super::{FACTOR, Overlap, Ways};
use crate::family::{Failure, Outcome, Variant};

/// Reads on the way at once, as many as the engine has.
const READS: usize = 3;

/// What so many queues are called.
pub(super) fn named(count: usize) -> String {
    match count {
        1 => "1 queue".to_owned(),
        _ => format!("{count} queues"),
    }
}

pub(super) fn variants(ways: Ways) -> Vec<Variant<Overlap>> {
    let queues = |queues| match queues {
        1 => "chunks in one queue",
        2 => "chunks in two queues in turn",
        _ => "chunks in as many queues in turn",
    };
    match ways {
        Ways::Streams => {
            let idea = "there, computed, back: once";
            let mut variants = vec![driven("one after another", idea, By::Whole)];
            variants.extend([1, 2, 3].map(|count| driven(&named(count), queues(count), By::Queues(count))));
            variants.push(driven(
                "a queue a step",
                "one queue copies there, one computes, one copies back, and events hand chunks over",
                By::Steps,
            ));
            variants.extend([
                through("runtime", "one thread and its queue", 1),
                through(
                    "runtime, 4 threads",
                    "threads with a queue each take chunks in turn",
                    4,
                ),
            ]);
            variants
        }
        Ways::Chunks => [1, 2, 8]
            .map(|count| driven(&named(count), queues(count), By::Queues(count)))
            .into_iter()
            .chain([driven("a queue a step", "events hand chunks over", By::Steps)])
            .collect(),
        Ways::Bands => vec![
            streamed(
                "one after another",
                "a band is computed, then read, then the next",
                1,
                1,
            ),
            streamed("three on the way", "reads wait for three bands back", 1, READS),
            streamed(
                "three on the way, 2 threads",
                "as the engine does on CUDA",
                2,
                READS,
            ),
        ],
    }
}

/// Threads that stay, because each has a queue and memory of its own in the runtime.
struct Threads(Mutex<Option<rayon::ThreadPool>>);

impl Threads {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Runs `work` in each of `count` threads, in the calling one if it is one, with its number.
    fn each(&self, count: usize, work: impl Fn(usize) -> Outcome + Sync) -> Outcome {
        if count == 1 {
            return work(0);
        }
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.is_none() {
            let started = rayon::ThreadPoolBuilder::new().num_threads(count).build();
            *pool = Some(started.map_err(|e| Failure::Failed(e.to_string()))?);
        }
        let Some(pool) = pool.as_ref() else {
            return Err(Failure::Failed("no threads".to_owned()));
        };
        let outcomes = pool.broadcast(|context| work(context.index()));
        outcomes.into_iter().collect()
    }
}

/// The part of the output where a chunk goes, which begins at a multiple of 64 words.
fn target(output: &Buffer, start: usize, len: usize) -> Outcome<Buffer> {
    let part = output.part(start, len.next_multiple_of(4));
    part.ok_or_else(|| Failure::Failed("a chunk outside of the output".to_owned()))
}

/// Waits for a chunk, and makes sure that what came back is right where it is looked at.
fn arrived(problem: &Overlap, start: usize, len: usize, reading: Reading) -> Outcome {
    let bytes = reading.wait()?;
    for place in (0..len).step_by(4_099).chain(len.checked_sub(1)) {
        let (word, whole) = (bytes.get(4 * place..4 * place + 4), start + place);
        let word = word.and_then(|word| word.try_into().ok());
        if word.map(u32::from_le_bytes) != Some(problem.result(whole)) {
            return Err(Failure::Failed(format!("word {whole} did not come back")));
        }
    }
    Ok(())
}

/// From ordinary memory by the runtime: `count` threads that take chunks in turn.
fn through(name: &str, idea: &'static str, count: usize) -> Variant<Overlap> {
    let (threads, memory) = (Threads::new(), Mutex::new(Vec::<u32>::new()));
    Variant::gpu(name, idea, move |problem: &Overlap, call| {
        let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() != problem.words {
            *memory = (0..problem.words).map(|place| problem.word(place)).collect();
        }
        let words: &[u32] = &memory;
        let (gpu, output) = (call.gpu, &call.outputs[0]);
        // Threads have queues of their own: what this one asked for is over first.
        gpu.sync()?;
        threads.each(count, |thread| {
            // rung: overlap on gpu: runtime | runtime, 4 threads
            let mut readings = VecDeque::new();
            for start in (0..problem.words)
                .step_by(problem.chunk)
                .skip(thread)
                .step_by(count)
            {
                let chunk = &words[start..problem.words.min(start + problem.chunk)];
                let to = target(output, start, chunk.len())?;
                let from = gpu.upload(chunk)?;
                multiply(gpu, &from, &to, chunk.len(), 0, true)?;
                readings.push_back((start, chunk.len(), gpu.read(&to, chunk.len())));
                if readings.len() == READS {
                    next(problem, &mut readings)?;
                }
            }
            rest(problem, readings)
            // end
        })
    })
}

/// Made on the device: `count` threads that take bands in turn, with so many reads on the way.
fn streamed(name: &str, idea: &'static str, count: usize, reads: usize) -> Variant<Overlap> {
    let threads = Threads::new();
    Variant::gpu(name, idea, move |problem: &Overlap, call| {
        let (gpu, output) = (call.gpu, &call.outputs[0]);
        gpu.sync()?;
        threads.each(count, |thread| {
            let mut readings = VecDeque::new();
            let starts = (0..problem.words).step_by(problem.chunk).skip(thread);
            for start in starts.step_by(count) {
                // rung: overlap on gpu: three on the way | three on the way, 2 threads
                let len = problem.chunk.min(problem.words - start);
                let to = target(output, start, len)?;
                multiply(gpu, &to, &to, len, start as u32, false)?;
                readings.push_back((start, len, gpu.read(&to, len)));
                if readings.len() == reads {
                    next(problem, &mut readings)?;
                }
                // end
            }
            rest(problem, readings)
        })
    })
}

type Readings = VecDeque<(usize, usize, Reading)>;

fn next(problem: &Overlap, readings: &mut Readings) -> Outcome {
    match readings.pop_front() {
        Some((start, len, reading)) => arrived(problem, start, len, reading),
        None => Ok(()),
    }
}

fn rest(problem: &Overlap, mut readings: Readings) -> Outcome {
    while !readings.is_empty() {
        next(problem, &mut readings)?;
    }
    Ok(())
}

const UNITS: u32 = 256;

/// Multiplies `count` words of `from`, or, where they are not sent, the numbers from `first` on.
fn multiply(gpu: &Gpu, from: &Buffer, to: &Buffer, count: usize, first: u32, sent: bool) -> Outcome {
    let count = count as u32;
    // What is made on the device reads nothing: another name of the target may not be bound beside it.
    let input = if sent { from } else { &gpu.nothing()? };
    // SAFETY: places are compared with `count`, and both buffers have as many words, of which `from` is only read where it was sent.
    launch!(gpu, "overlap", &sent, &[Operand::write("the output", to)], line(gpu, count, UNITS),
        unsafe multiply_words(input.array(1), to.array(1), count, first, sent))?;
    Ok(())
}

#[cube(launch_unchecked)]
fn multiply_words(from: &Array<u32>, to: &mut Array<u32>, count: u32, first: u32, #[comptime] sent: bool) {
    let place = CUBE_POS as u32 * comptime!(UNITS) + UNIT_POS;
    if place < count {
        let mut word = first + place;
        if comptime!(sent) {
            word = from[place as usize];
        }
        to[place as usize] = word * comptime!(FACTOR) + 1u32;
    }
}

/// Page-locked memory of the last size, for all variants: to lock it takes longer than to copy it a dozen times.
#[cfg(feature = "cuda")]
static LOCKED: Mutex<Option<crate::driver::streams::Streams>> = Mutex::new(None);

/// What queues get.
#[derive(Clone, Copy)]
enum By {
    /// One queue everything at once.
    Whole,
    /// So many queues chunks in turn.
    Queues(usize),
    /// Three queues a step each of all chunks.
    Steps,
}

/// From page-locked memory by the driver.
#[cfg(feature = "cuda")]
fn driven(name: &str, idea: &'static str, by: By) -> Variant<Overlap> {
    use crate::driver::streams::Streams;

    // What has come back right: words, and words of a chunk.
    let right: Mutex<HashSet<(usize, usize)>> = Mutex::new(HashSet::new());
    Variant::gpu(name, idea, move |problem: &Overlap, call| {
        let failed = |reason: String| Failure::Failed(reason);
        let ordinal = ordinal(call.gpu)?;
        let mut locked = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
        if locked
            .as_ref()
            .is_none_or(|streams| streams.words() != problem.words)
        {
            // Page-locked memory is scarce: the last is given back first.
            *locked = None;
            let mut streams = Streams::open(ordinal, problem.words).map_err(failed)?;
            let words = streams.source().map_err(failed)?.par_iter_mut().enumerate();
            words.for_each(|(place, word)| *word = problem.word(place));
            *locked = Some(streams);
        }
        let Some(streams) = locked.as_mut() else {
            return Err(failed("no memory".to_owned()));
        };
        call.gpu.sync()?;
        let to = address(call.gpu, &call.outputs[0])?;
        // rung: overlap on gpu: one after another
        let chunk = match by {
            By::Whole => problem.words.max(1),
            By::Queues(_) | By::Steps => problem.chunk,
        };
        // end
        let mut right = right.lock().unwrap_or_else(PoisonError::into_inner);
        let unseen = !right.contains(&(problem.words, chunk));
        if unseen {
            // What another variant brought there must not stand for this one's.
            streams.clear().map_err(failed)?;
        }
        // SAFETY: the output has as many words, and nobody uses it: what was asked of the device is over.
        // rung: overlap on gpu: 1 queue | 2 queues | 3 queues | 8 queues
        let run = unsafe {
            match by {
                By::Whole => streams.run(1, chunk, to),
                By::Queues(queues) => streams.run(queues, chunk, to),
                By::Steps => streams.run_by_steps(chunk, to),
            }
        };
        // end
        if let Err(reason) = run {
            // Its memory may be lost for good: others begin with new one.
            *locked = None;
            return Err(failed(reason));
        }
        if unseen {
            let words = streams.result().map_err(failed)?.par_iter().enumerate();
            if let Some((place, _)) = words.find_any(|(place, word)| **word != problem.result(*place)) {
                return Err(failed(format!("word {place} did not come back")));
            }
            right.insert((problem.words, chunk));
        }
        Ok(())
    })
}

#[cfg(not(feature = "cuda"))]
fn driven(name: &str, idea: &'static str, _: By) -> Variant<Overlap> {
    Variant::gpu(name, idea, |_: &Overlap, _| {
        Err(Failure::Unsupported(
            "this program was built without the feature cuda".to_owned(),
        ))
    })
}

/// The number that NVIDIA's driver knows a device by.
#[cfg(feature = "cuda")]
fn ordinal(gpu: &Gpu) -> Outcome<u16> {
    match gpu.id() {
        relief_kernels::device::DeviceId::Cuda(ordinal) => Ok(ordinal),
        _ => Err(Failure::Unsupported(
            "only NVIDIA's driver has such queues".to_owned(),
        )),
    }
}

/// Where a buffer lies.
#[cfg(feature = "cuda")]
fn address(gpu: &Gpu, buffer: &Buffer) -> Outcome<u64> {
    match gpu.client() {
        relief_kernels::device::Client::Cuda(client) => {
            let resource = client.get_resource(buffer.handle());
            let resource = resource.map_err(|e| Failure::Failed(format!("{e:?}")))?;
            Ok(resource.resource().ptr)
        }
        #[allow(unreachable_patterns)]
        _ => Err(Failure::Unsupported(
            "only NVIDIA's driver has addresses".to_owned(),
        )),
    }
}

/// When each chunk was where, of `words` words in chunks of `chunk` in so many queues; the second time, because the first one warms up.
///
/// # Errors
/// Where the device fails or is not driven by CUDA.
#[cfg(feature = "cuda")]
pub(crate) fn timeline(
    gpu: &Gpu,
    words: usize,
    chunk: usize,
    queues: usize,
) -> Outcome<Vec<crate::driver::streams::Span>> {
    use crate::driver::streams::Streams;

    let failed = |reason: String| Failure::Failed(reason);
    let mut streams = Streams::open(ordinal(gpu)?, words).map_err(failed)?;
    let output = gpu.buffer(words)?;
    gpu.sync()?;
    let to = address(gpu, &output)?;
    // SAFETY: the buffer has as many words, and nobody else knows it.
    unsafe {
        streams.run(queues, chunk, to).map_err(failed)?;
        streams.timeline(queues, chunk, to).map_err(failed)
    }
}
