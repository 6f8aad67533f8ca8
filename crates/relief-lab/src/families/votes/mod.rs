//! Votes: what the units of a cube or a plane agree on; and divergence, what it costs where they do not.
//!
//! - *votes/block*: for each 256 words, how many are not zero, whether all are, whether any is. By atomic additions in shared
//!   memory, by a tree of barriers, by planes: a sum, a ballot, and what all and any lanes say.
//! - *votes/ballot*: a bit for each word: whether it is not zero. By units that put them together from shared memory, and by
//!   ballots.
//! - *votes/elect*: the words that are not zero are counted in one counter: by every unit, by the first lane of each plane, or by
//!   one that is elected.
//! - *votes/divergence*: units of a run of g take one branch, those of the next run the other; both take equally long. Where g is less
//!   than a plane, planes take both. Work: 64 additions and as many multiplications for each word.
//! - *votes/border*: a sum of 3 × 3 neighbours, clamped at the edges: every unit asks where its neighbours lie, or only
//!   those of cubes at the border do.
//! - *votes/product*: a product by tiles whose last are cut: every unit asks at every load whether it lies inside, or only those at the
//!   border do. The source expects the asking to cost less than 12 % for 100 × 100.
//!
//! [`divergence`] predicts how many planes diverge, as `relief lab divergence` tells. The source's counts are its tests: 1 of 32, 336 of
//! 2 352, 14 of 392.

pub mod divergence;

mod block;
mod border;
mod branch;
mod product;

use crate::family::{Family, Lesson};

/// The family.
#[must_use]
pub fn family() -> Family {
    Family {
        name: "votes",
        about: "what units agree on, and what it costs where they do not",
        source: "counts of planes that diverge; their cost is expected to be less than 12 %",
        lesson: Lesson {
            wins: "Ballots and one atomic a warp: what lanes agree on costs one instruction. Where runs \
                    of lanes fill a warp, a branch costs nothing.",
            loses: "A warp that diverges runs both sides, which doubles the time of two equal branches. \
                    Atomics by every thread wait in one queue. Checks at each load of a tiled product cost \
                    little: they hide behind the loads.",
        },
        ladders: vec![
            Box::new(block::counts()),
            Box::new(block::ballots()),
            Box::new(block::elections()),
            Box::new(branch::ladder()),
            Box::new(border::ladder()),
            Box::new(product::ladder()),
        ],
    }
}
