//! The ladders, one file each; `copy` is the pattern to follow.

use crate::array::{Array, Fill, Layout, mix};
use crate::family::Family;
use crate::machine::Machine;
use crate::record::Timeline;

pub mod banks;
pub mod bilateral;
pub mod compaction;
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
pub mod scan;
pub mod stencil;
pub mod stitch;
pub mod transpose;
pub mod votes;

/// All families, in the order of the sources.
#[must_use]
pub fn all() -> Vec<Family> {
    vec![
        copy::family(),
        map::family(),
        stitch::family(),
        lattice::family(),
        distance::family(),
        transpose::family(),
        banks::family(),
        stencil::family(),
        reduce::family(),
        scan::family(),
        integral::family(),
        compaction::family(),
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

/// The length of the parts that a variant on all threads deals out: two for each thread, whole lines of the caches.
fn part(len: usize) -> usize {
    len.div_ceil(2 * rayon::current_num_threads())
        .next_multiple_of(64)
        .max(64)
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
