//! The ladders, one file each; `copy` is the pattern to follow.

use crate::family::Family;

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
        matvec::family(),
        matmul::family(),
        nbody::family(),
        overlap::family(),
        occupancy::family(),
        composition::family(),
    ]
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
