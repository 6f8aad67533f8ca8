//! What processors allow: all threads together, by the best of several ways.

use std::hint::black_box;

use rayon::prelude::*;
use relief_kernels::ahead::ask;
use relief_kernels::copy::cpu::stream;
use relief_kernels::isa::{Isa, Level};
use relief_kernels::versions;

use super::best;
use crate::array::Array;
use crate::clock::at_once;
use crate::family::{Operation, Work};
use crate::record::{Ceilings, Point};
use crate::sampling::{Sampling, Times};
use crate::statistics::Summary;

/// Bandwidths at some sizes, operation rates, and what handing work to the threads costs.
pub(super) fn measure(sampling: &Sampling, sizes: &[u64], working_set: u64) -> Ceilings {
    let mut ceilings = bandwidths(sampling, sizes, working_set);
    for operation in super::MEASURED {
        let threads = rayon::current_num_threads();
        let call = |_| {
            rayon::broadcast(|_| run(operation));
            Ok(())
        };
        let operations = (ROUNDS * LANES * threads) as f64;
        let rate = best(1, sampling, call, at_once).map(|rate| rate * operations);
        ceilings.rates.extend(rate.map(|rate| (operation, rate)));
    }
    let empty = |_| {
        rayon::broadcast(|_| black_box(0));
        Ok(())
    };
    ceilings.launch_waited = best(1, sampling, empty, at_once).map(|rate| 1.0 / rate);
    ceilings
}

/// Bandwidths alone.
pub(super) fn bandwidths(sampling: &Sampling, sizes: &[u64], working_set: u64) -> Ceilings {
    let mut memory = Memory::new(working_set.max(sizes.iter().copied().max().unwrap_or(0)));
    let mut ceilings = Ceilings::default();
    for bytes in sizes {
        let mut point = |ways: &[Way]| {
            let call = |way: usize| {
                memory.call(ways[way], *bytes);
                Ok(())
            };
            let rate = best(ways.len(), sampling, call, at_once);
            rate.map(|rate| Point::of(*bytes, rate))
        };
        ceilings.copy.extend(point(&COPIES));
        ceilings.read.extend(point(&READS));
        ceilings.write.extend(point(&WRITES));
    }
    ceilings
}

const COPIES: [Way; 3] = [Way::Copy, Way::CopyAlone, Way::Stream];
const READS: [Way; 2] = [Way::Read, Way::ReadInTurn];
const WRITES: [Way; 2] = [Way::Fill, Way::StreamFill];

/// Bandwidths that are measured in turn with variants.
pub(super) struct Beside {
    memory: Memory,
    bytes: u64,
    ways: Vec<Way>,
}

impl Beside {
    /// Those that bind such work, of calls that move so many bytes.
    pub(super) fn of(work: &Work, bytes: u64, working_set: u64) -> Self {
        let mut ways = Vec::new();
        if work.read > 0 && work.written > 0 {
            ways.extend(COPIES);
        }
        if work.read > work.written {
            ways.extend(READS);
        }
        if work.written > work.read {
            ways.extend(WRITES);
        }
        Self {
            memory: Memory::new(working_set.max(bytes)),
            bytes,
            ways,
        }
    }

    pub(super) const fn ways(&self) -> usize {
        self.ways.len()
    }

    pub(super) fn call(&mut self, way: usize) {
        self.memory.call(self.ways[way], self.bytes);
    }

    pub(super) fn into(self, ceilings: &Ceilings, times: &[Times]) -> Ceilings {
        let best = |kind: &[Way], run: &[Point]| {
            let of_kind = self.ways.iter().zip(times).filter(|(way, _)| kind.contains(way));
            let medians = of_kind.filter_map(|(_, times)| Some(Summary::of(&times.seconds)?.median));
            match medians.min_by(f64::total_cmp) {
                Some(seconds) => vec![Point::of(self.bytes, 1.0 / seconds)],
                None => run.to_vec(),
            }
        };
        Ceilings {
            copy: best(&COPIES, &ceilings.copy),
            read: best(&READS, &ceilings.read),
            write: best(&WRITES, &ceilings.write),
            ..ceilings.clone()
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `memcpy` by all threads.
    Copy,
    /// `memcpy` by one.
    CopyAlone,
    /// Non-temporal copies by all threads.
    Stream,
    /// Sums of words by all threads, from the first on.
    Read,
    /// The same from four places in turn, prefetched.
    ReadInTurn,
    Fill,
    /// Non-temporal copies of a few bytes that stay in the nearest cache.
    StreamFill,
}

/// Memory that calls use in turn, as much as sets of a ladder have: what stays in caches there stays in them here.
struct Memory {
    from: Array,
    to: Array,
    place: usize,
    run: Vec<u8>,
}

impl Memory {
    fn new(bytes: u64) -> Self {
        // Pages that were never written share one page of zeros.
        let written = |byte: u8| Array::from_fn((bytes / 2) as usize, |_| byte);
        Self {
            from: written(1),
            to: written(2),
            place: 0,
            run: vec![7; 16 << 10],
        }
    }

    /// Moves `bytes` bytes: a copy reads half of them and writes half.
    fn call(&mut self, way: Way, bytes: u64) {
        let half = bytes as usize / 2;
        let end = self.from.layout().len.min(64 * half);
        if self.place + half > end {
            self.place = 0;
        }
        let range = self.place..self.place + half;
        self.place += half;
        let from = &mut self.from.bytes_mut()[range.clone()];
        let to = &mut self.to.bytes_mut()[range];
        let part = half.div_ceil(2 * rayon::current_num_threads());
        let part = part.next_multiple_of(64);
        let run = &self.run[..];
        match way {
            Way::CopyAlone => to.copy_from_slice(from),
            Way::Copy | Way::Stream => {
                let pairs = from.par_chunks(part).zip(to.par_chunks_mut(part));
                pairs.for_each(|(from, to)| match way {
                    Way::Copy => to.copy_from_slice(from),
                    _ => stream(from, to),
                });
            }
            Way::Read | Way::ReadInTurn => {
                let parts = from.par_chunks(part).chain(to.par_chunks(part));
                let sums = parts.map(|bytes| match way {
                    Way::Read => sum(Isa::best(), bytemuck::cast_slice(bytes)),
                    _ => sum_in_turn(Isa::best(), bytemuck::cast_slice(bytes)),
                });
                black_box(sums.max());
            }
            Way::Fill | Way::StreamFill => {
                let parts = from.par_chunks_mut(part).chain(to.par_chunks_mut(part));
                parts.for_each(|bytes| match way {
                    Way::Fill => bytes.fill(3),
                    _ => bytes
                        .chunks_mut(run.len())
                        .for_each(|bytes| stream(&run[..bytes.len()], bytes)),
                });
            }
        }
    }
}

versions! {
    fn sum(words: &[u32]) -> u32 {
        words.iter().fold(0, |sum: u32, word| sum.wrapping_add(*word))
    }
}

/// Words of a line of the caches.
const LINE: usize = 16;

/// How many words ahead memory is asked for: a quarter of a page.
const AHEAD: usize = 256;

versions! {
    /// Words of four quarters, a line of each in turn: more of memory is on its way than a processor asks for when it reads one page after the other.
    fn sum_in_turn(words: &[u32]) -> u32 {
        let (lines, rest) = words.as_chunks::<LINE>();
        let each = lines.len() / 4;
        let (quarters, left) = lines.split_at(4 * each);
        let quarters: [&[[u32; LINE]]; 4] = std::array::from_fn(|k| &quarters[k * each..][..each]);
        let mut sums = [[0_u32; LINE]; 4];
        for at in 0..each {
            for (sums, quarter) in sums.iter_mut().zip(quarters) {
                let line = &quarter[at];
                ask(line.as_ptr().wrapping_add(AHEAD));
                for (sum, word) in sums.iter_mut().zip(line) {
                    *sum = sum.wrapping_add(*word);
                }
            }
        }
        let others = left.as_flattened().iter().chain(rest);
        let all = sums.as_flattened().iter().chain(others);
        all.fold(0, |sum: u32, word| sum.wrapping_add(*word))
    }
}

/// Independent chains of operations: enough for the latency of any unit, few enough for the registers.
const LANES: usize = 128;
const ROUNDS: usize = 4_096;

fn run(operation: Operation) {
    let isa = Isa::best();
    match operation {
        Operation::F32Add => f32_add(isa),
        Operation::F32MultiplyAdd if fused(isa) => f32_fused(isa),
        Operation::F32MultiplyAdd => f32_multiply_and_add(isa),
        Operation::F32AddMin => f32_add_min(isa),
        Operation::IntegerAdd => u32_add(isa),
        Operation::IntegerAddMin => u32_add_min(isa),
        Operation::F32InverseRoot => f32_inverse_root(isa),
        // Not measured, but computed from the others.
        _ => {}
    }
}

/// Whether there is an instruction for both; else two take its place.
fn fused(isa: Isa) -> bool {
    cfg!(target_arch = "aarch64") || isa.level() > Level::Portable
}

/// Applies an operation to all lanes again and again, with an operand that the compiler does not know.
#[inline(always)]
fn chains<T: Copy>(start: T, operand: T, apply: impl Fn(T, T) -> T) {
    let mut lanes = [start; LANES];
    for _ in 0..ROUNDS {
        let operand = black_box(operand);
        for lane in &mut lanes {
            *lane = apply(*lane, operand);
        }
    }
    black_box(lanes);
}

versions! {
    fn f32_add() {
        chains(0.0_f32, 1e-3, |a, b| a + b);
    }
}

versions! {
    fn f32_fused() {
        chains(0.0_f32, 0.5, |a, b| a.mul_add(b, b));
    }
}

versions! {
    fn f32_multiply_and_add() {
        chains(0.0_f32, 0.5, |a, b| a * b + b);
    }
}

versions! {
    fn f32_add_min() {
        chains(0.0_f32, 1e-3, |a, b| if a + b < 0.9 { a + b } else { 0.9 });
    }
}

versions! {
    fn f32_inverse_root() {
        chains(2.0_f32, 1.0, |a, b| b / a.sqrt());
    }
}

versions! {
    fn u32_add() {
        chains(0_u32, 3, |a, b| a.wrapping_add(b));
    }
}

versions! {
    fn u32_add_min() {
        chains(0_u32, 3, |a, b| a.wrapping_add(b).min(1 << 20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_places_in_turn_leave_no_word_out() {
        for len in [0, 1, 15, 16, 63, 64, 65, 1_000, 4_097] {
            let words: Vec<u32> = (1..=len).collect();
            let isa = Isa::best();
            assert_eq!(sum_in_turn(isa, &words), sum(isa, &words), "{len} words");
        }
    }
}
