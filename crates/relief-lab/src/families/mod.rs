//! The ladders, one file each; `copy` is the pattern to follow. The idea of a variant stands in its row, why one wins in the lesson of its family.

/// The variants of processors and, in a build with devices, those of devices behind them.
macro_rules! on_both {
    ($cpu:expr, $($gpu:ident)::+($($argument:expr),*)) => {{
        #[allow(unused_mut)]
        let mut variants = $cpu;
        #[cfg(feature = "gpu")]
        variants.extend($($gpu)::+($($argument),*));
        $(let _ = &$argument;)*
        variants
    }};
}

use crate::array::{Array, Fill, Layout, mix};
use crate::family::Family;
use crate::machine::Machine;
use crate::record::Timeline;

pub mod banks;
pub mod bilateral;
pub mod composition;
pub mod copy;
pub mod count;
pub mod distance;
pub mod histogram;
pub mod integral;
pub mod lattice;
pub mod map;
pub mod matmul;
pub mod matvec;
pub mod min_plus;
pub mod morphology;
pub mod nbody;
pub mod occupancy;
pub mod overlap;
pub mod reduce;
pub mod repeat;
pub mod scan;
pub mod select;
pub mod stencil;
pub mod transpose;
pub mod votes;

/// All families, in the order of the sources.
#[must_use]
pub fn all() -> Vec<Family> {
    vec![
        copy::family(),
        map::family(),
        repeat::family(),
        lattice::family(),
        distance::family(),
        transpose::family(),
        banks::family(),
        stencil::family(),
        reduce::family(),
        scan::family(),
        integral::family(),
        select::family(),
        count::family(),
        histogram::family(),
        votes::family(),
        bilateral::family(),
        min_plus::family(),
        morphology::family(),
        matvec::family(),
        matmul::family(),
        nbody::family(),
        overlap::family(),
        occupancy::family(),
        composition::family(),
    ]
}

/// When the parts of a ladder's problem are where, for those that tell it.
#[must_use]
pub fn timelines(machine: &Machine, ladder: &str) -> Vec<Timeline> {
    match ladder {
        "overlap" => overlap::timelines(machine),
        _ => Vec::new(),
    }
}

/// All families, with these access patterns instead of those that `banks` has.
#[must_use]
pub fn with_patterns(patterns: Vec<banks::Pattern>) -> Vec<Family> {
    let mut families = all();
    families.retain(|family| family.name != "banks");
    families.push(banks::family_of(patterns));
    families
}

/// Parts that each thread gets of what is dealt out to all of them. A sleeping thread takes a while to wake
/// up; meanwhile its caller does parts that would be its own.
const PARTS: usize = 8;

/// The fewest elements of a part: of fewer, dealing them out is much of the work, and of so few in all no thread has woken up before
/// they are done.
const LEAST: usize = 1 << 14;

/// The length of the parts that a variant on all threads deals out: whole lines of the caches.
fn part(len: usize) -> usize {
    share(len).next_multiple_of(64).max(LEAST)
}

/// [`part`] of elements of so many bytes each, no less than what kernels store non-temporally where the whole
/// is twice as much: they see no more than a part.
fn stored_part(len: usize, bytes: usize) -> usize {
    let least = STORED / bytes;
    if len < 2 * least {
        part(len)
    } else {
        part(len).max(least)
    }
}

/// Bytes of a result from which kernels take non-temporal stores.
const STORED: usize = 4 << 20;

/// How many of `count` things, each worth a thread's while, are a part.
fn share(count: usize) -> usize {
    count.div_ceil(PARTS * rayon::current_num_threads()).max(1)
}

/// Strips that a picture of so many rows is dealt out in: two for each thread, and more as long as what a filter reads above and below a strip,
/// so many rows each, is little beside it.
fn strips(height: usize, reach: usize) -> usize {
    let threads = rayon::current_num_threads();
    let little = height / (16 * reach.max(1));
    little.clamp(2 * threads, PARTS * threads)
}

/// Calls `work` on all threads, each of which takes what is left. Who called does not wait for threads that wake up when nothing is left.
fn together(work: impl Fn() + Sync) {
    rayon::scope(|scope| {
        for _ in 1..rayon::current_num_threads() {
            scope.spawn(|_| work());
        }
        work();
    });
}

/// Factors of sums of `terms` products: 0…1, or every second 0 and the others whole numbers so small that such a sum is exact in any
/// order.
fn factors(len: usize, fill: Fill, seed: u64, terms: usize) -> Array {
    match fill {
        Fill::Random => Array::filled(Layout::of::<f32>(len), fill, seed),
        Fill::Structured => Array::from_fn(len, |at| whole_factor(seed, at, terms)),
    }
}

/// A whole number, or 0; the squares of `terms` such numbers are no more than 2²⁴ together.
fn whole_factor(seed: u64, at: usize, terms: usize) -> f32 {
    let most = ((1_usize << 24) / terms.max(1)).isqrt().max(1) as u32;
    if at.is_multiple_of(2) {
        (mix(seed, at as u64) % most + 1) as f32
    } else {
        0.0
    }
}
