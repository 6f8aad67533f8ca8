//! Votes: what the units of a cube or a plane agree on; and divergence, what it costs where they do not.
//!
//! - *votes/elect*: the words that are not zero are counted in one counter: by every unit, or by the first lane of each plane.
//! - *votes/divergence*: units of a run of g take one branch, those of the next run the other; both take equally long. Where g is less
//!   than a plane, planes take both. Work: 64 additions and as many multiplications for each word.
//!
//! [`divergence`] predicts how many planes diverge, as `relief lab divergence` tells. The source's counts are its tests: 1 of 32, 336 of
//! 2 352, 14 of 392.

pub mod divergence;

mod branch;
mod elect;

use crate::family::Family;

pub(super) fn family() -> Family {
    Family {
        name: "votes",
        about: "what units agree on, and what it costs where they do not",
        source: "counts of planes that diverge",
        source_size: "",
        wins: "Every thread's own addition to one counter beats one addition for each warp: adding up the \
               lanes costs more than it saves. No counter that would show why has been recorded. Where runs \
               of lanes fill a warp, a branch costs nothing.",
        loses: "A warp that diverges runs both sides, which doubles the time of two equal branches.",
        ladders: vec![Box::new(elect::ladder()), Box::new(branch::ladder())],
    }
}
