//! Map: every element computed from the elements at its own place, or at a fixed distance from it.

use crate::family::Family;

mod access;
mod add;
mod gray;
mod scale;
mod table;

/// The family.
#[must_use]
pub fn family() -> Family {
    Family {
        name: "map",
        about: "an element from the elements at its place: sums, multiples, grays, tables, and reading with a distance",
        source: "course slides; GPUs of about 2010",
        ladders: vec![
            Box::new(access::offset()),
            Box::new(access::stride()),
            Box::new(add::ladder()),
            Box::new(scale::ladder()),
            Box::new(gray::integer()),
            Box::new(gray::float()),
            Box::new(table::eight()),
            Box::new(table::sixteen()),
        ],
    }
}
