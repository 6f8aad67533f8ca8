//! Map: every element computed from the elements at its own place, or at a fixed distance from it.

use crate::family::Family;

mod access;
mod add;
mod gray;
mod scale;
mod table;

pub(super) fn family() -> Family {
    Family {
        name: "map",
        about: "an element from the elements at its place: sums, multiples, grays, tables, and reading with a distance",
        source: "course slides; GPUs of about 2010",
        source_size: "",
        wins: "Memory binds, so a vector a thread wins, as in a copy. A table of bytes in shared memory, \
               packed four entries a word, is as good as the caches. On processors byte permutes look up a \
               whole vector at once.",
        loses: "Blocks of 16 × 16 threads touch half a line a row. A stride costs a line for each word until \
                every word has a line of its own, and no more after that; an offset costs at most one line a \
                warp.",
        ladders: vec![
            Box::new(access::offset()),
            Box::new(access::stride()),
            Box::new(add::ladder()),
            Box::new(scale::ladder()),
            Box::new(gray::ladder()),
            Box::new(table::eight()),
            Box::new(table::sixteen()),
        ],
    }
}
