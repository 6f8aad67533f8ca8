//! Kernels in which a unit (thread) keeps a long sequence to itself: one counts, one moves. Between them the
//! counts are added up.
//!
//! A unit goes through its sequence vector by vector and writes what it keeps as it goes, so that nothing is
//! staged and no unit waits for another. Its neighbours load and store far from it, which a processor does
//! not mind, and which costs hardware the most.
// In kernels a sum with 0 is a variable of its own.
#![allow(clippy::identity_op)]

use cubecl::prelude::*;

use super::kernel::{count_item, element, inside, kept_element, load_marks};
use super::{Shape, What};

/// Counts what each of `sequences` sequences of `each` vectors keeps.
#[allow(clippy::too_many_arguments)]
#[cube(launch_unchecked)]
pub(super) fn count_sequences<N: Size>(
    from: &Array<Vector<u32, N>>,
    flags: &Array<u32>,
    counts: &mut Array<u32>,
    len: u32,
    sequences: u32,
    each: u32,
    begin: u32,
    first: u32,
    span: u32,
    #[comptime] shape: Shape,
) {
    let sequence = ABSOLUTE_POS as u32;
    if sequence < sequences {
        let rule = (begin, first, span);
        let mut marks = Array::<u32>::new(comptime!(shape.marks() as usize));
        let mut at = sequence * each;
        let (whole, end) = ends(at + each, len, shape);
        let mut kept = u32::new(0);
        while at < whole {
            let item = vector_at::<N>(from, flags, &mut marks, at, len, rule, true, shape);
            kept += count_item::<N>(item, &marks, 0u32, shape);
            at += 1u32;
        }
        if at < end {
            let item = vector_at::<N>(from, flags, &mut marks, at, len, rule, false, shape);
            kept += count_item::<N>(item, &marks, 0u32, shape);
        }
        counts[sequence as usize] = kept;
    }
}

/// Moves what is kept of `len` elements, sequence by sequence, after what the parts before have kept. `prefixes` are how many elements
/// the sequences before keep; for the rest see [`compact`](super::kernel::compact).
#[allow(clippy::too_many_arguments)]
#[cube(launch_unchecked)]
pub(super) fn move_sequences<N: Size>(
    from: &Array<Vector<u32, N>>,
    flags: &Array<u32>,
    out: &mut Array<u32>,
    edges: &mut Array<Atomic<u32>>,
    rest: &mut Array<u32>,
    rest_edges: &mut Array<Atomic<u32>>,
    prefixes: &Array<u32>,
    bases: &mut Array<u32>,
    count: &mut Array<u32>,
    len: u32,
    sequences: u32,
    each: u32,
    part: u32,
    begin: u32,
    begin_high: u32,
    first: u32,
    span: u32,
    #[comptime] shape: Shape,
) {
    let sequence = ABSOLUTE_POS as u32;
    if sequence < sequences {
        let (low, high) = (
            bases[(part * 2u32) as usize],
            bases[(part * 2u32 + 1u32) as usize],
        );
        let prefix = prefixes[sequence as usize];
        let rule = (begin, first, span);
        let mut marks = Array::<u32>::new(comptime!(shape.marks() as usize));
        let mut at = sequence * each;
        let (whole, end) = ends(at + each, len, shape);

        let (per, per_rest) = comptime!((shape.per_out(), shape.per()));
        let mut kept = Writer::begin(low, high, prefix, per);
        // What is left of those before this part is what `low` and `high` do not count.
        let borrow = u32::cast_from(begin < low);
        let mut other = match shape.what {
            What::Halves => Writer::begin(
                begin - low,
                begin_high - high - borrow,
                at * comptime!(shape.elements()) - prefix,
                per_rest,
            ),
            _ => Writer::begin(low, high, prefix, per_rest),
        };
        let mut number = u32::new(0);
        while at < whole {
            let item = vector_at::<N>(from, flags, &mut marks, at, len, rule, true, shape);
            number += move_vector::<N>(
                item, &marks, at, len, begin, &mut kept, &mut other, out, rest, true, shape,
            );
            at += 1u32;
        }
        if at < end {
            let item = vector_at::<N>(from, flags, &mut marks, at, len, rule, false, shape);
            number += move_vector::<N>(
                item, &marks, at, len, begin, &mut kept, &mut other, out, rest, false, shape,
            );
        }
        kept.end(edges, per);
        if comptime!(shape.what == What::Halves) {
            other.end(rest_edges, per_rest);
        }
        if comptime!(shape.what == What::Runs) {
            other.end(rest_edges, per_rest);
        }
        if sequence + 1u32 == sequences {
            let sum = low + prefix + number;
            let sum_high = high + u32::cast_from(sum < low);
            bases[(part * 2u32 + 2u32) as usize] = sum;
            bases[(part * 2u32 + 3u32) as usize] = sum_high;
            count[0] = sum;
            count[1] = sum_high;
        }
    }
}

/// The vector after the last whole one before `end`, and the one after the last.
#[cube]
fn ends(end: u32, len: u32, #[comptime] shape: Shape) -> (u32, u32) {
    let elements = comptime!(shape.elements());
    let whole = len / elements;
    let all = (len + comptime!(shape.elements() - 1)) / elements;
    (min(end, whole), min(end, all))
}

/// Vector `at` and the flags of its elements; of one that is not `whole`, those past the input are zeros without flags.
#[allow(clippy::too_many_arguments)]
#[cube]
fn vector_at<N: Size>(
    from: &Array<Vector<u32, N>>,
    flags: &Array<u32>,
    marks: &mut Array<u32>,
    at: u32,
    len: u32,
    rule: (u32, u32, u32),
    #[comptime] whole: bool,
    #[comptime] shape: Shape,
) -> Vector<u32, N> {
    let elements = comptime!(shape.elements());
    let first = at * elements;
    let mut item = from[at as usize];
    if comptime!(whole) {
        load_marks::<N>(flags, item, marks, 0u32, first, elements, rule, shape);
    } else {
        let have = len - first;
        item = inside::<N>(item, have, shape);
        load_marks::<N>(flags, item, marks, 0u32, first, have, rule, shape);
    }
    item
}

/// Writes what is kept of vector `at`, and what else is wanted of it; returns how many elements are kept.
#[allow(clippy::too_many_arguments)]
#[cube]
fn move_vector<N: Size>(
    item: Vector<u32, N>,
    marks: &Array<u32>,
    at: u32,
    len: u32,
    begin: u32,
    kept: &mut Writer,
    other: &mut Writer,
    out: &mut Array<u32>,
    rest: &mut Array<u32>,
    #[comptime] whole: bool,
    #[comptime] shape: Shape,
) -> u32 {
    let place = at * comptime!(shape.elements());
    let mut have = u32::new(comptime!(shape.elements() as i64));
    if comptime!(!whole) {
        have = len - place;
    }
    let (per, per_rest) = comptime!((shape.per_out(), shape.per()));
    let mut number = u32::new(0);
    #[unroll]
    for n in 0..comptime!(shape.width) {
        let e = comptime!(n * shape.per());
        let (word, count) = packed::<N>(item, marks, e, true, have, shape);
        number += count;
        match shape.what {
            What::Values => kept.write(word, count, out, per),
            What::Halves => {
                kept.write(word, count, out, per);
                let (word, count) = packed::<N>(item, marks, e, false, have, shape);
                other.write(word, count, rest, per_rest);
            }
            What::Indices | What::Runs => {
                #[unroll]
                for k in 0..comptime!(shape.per()) {
                    let e = comptime!(e + k);
                    let count = u32::cast_from(kept_element::<N>(item, marks, 0u32, e, shape));
                    kept.write(begin + place + e, count, out, per);
                }
                if comptime!(shape.what == What::Runs) {
                    other.write(word, count, rest, per_rest);
                }
            }
        }
    }
    number
}

/// The elements of the word from element `e` of a vector on that are kept, or those that are not, without gaps; and how many they are.
/// Of the vector's elements, `have` are of the input.
#[cube]
fn packed<N: Size>(
    item: Vector<u32, N>,
    marks: &Array<u32>,
    #[comptime] e: u32,
    #[comptime] wanted: bool,
    have: u32,
    #[comptime] shape: Shape,
) -> (u32, u32) {
    let mut word = u32::new(0);
    let mut count = u32::new(0);
    #[unroll]
    for k in 0..comptime!(shape.per()) {
        let e = comptime!(e + k);
        let mut taken = kept_element::<N>(item, marks, 0u32, e, shape);
        if comptime!(!wanted) {
            taken = !taken;
            if e >= have {
                taken = false;
            }
        }
        let value = element::<N>(item, e, shape.bits);
        word |= select(taken, value, 0u32) << (count * comptime!(shape.bits % 32));
        count += u32::cast_from(taken);
    }
    (word, count)
}

/// Where a unit writes elements one after the other, `per` to a word. The words at both ends may be shared with other sequences: they
/// are written last, by atomic operations.
#[derive(CubeType)]
struct Writer {
    /// The word that is being filled.
    place: u32,
    word: u32,
    /// Elements of it that are there, those of others among them.
    filled: u32,
    /// Elements of it that are of others.
    others: u32,
    /// The first word, where others have a part of it and this unit has the rest.
    head: u32,
    head_place: u32,
    head_others: u32,
}

#[cube]
impl Writer {
    /// From element low + high · 2^32 + prefix on.
    fn begin(low: u32, high: u32, prefix: u32, #[comptime] per: u32) -> Writer {
        let mut place = low + prefix;
        // Two variables, because they go on as two.
        let mut filled = u32::new(0);
        let mut others = u32::new(0);
        if comptime!(per > 1) {
            let log = comptime!(per.ilog2());
            let element = low % per + prefix;
            place = (low >> log) + (high << comptime!(32 - log)) + element / per;
            filled += element % per;
            others += element % per;
        }
        Writer {
            place,
            word: u32::new(0),
            filled,
            others,
            head: u32::new(0),
            head_place: u32::new(0),
            head_others: u32::new(0),
        }
    }

    /// Appends `count` elements, at most `per`, packed from the lowest bits on.
    fn write(&mut self, elements: u32, count: u32, out: &mut Array<u32>, #[comptime] per: u32) {
        if comptime!(per == 1) {
            if count > 0 {
                out[self.place as usize] = elements;
            }
            self.place += count;
        } else {
            let bits = comptime!(32 / per);
            let shift = self.filled * bits;
            let word = self.word | (elements << shift);
            self.filled += count;
            self.word = word;
            if self.filled >= per {
                if self.others > 0 {
                    self.head = word;
                    self.head_place = self.place + 0u32;
                    self.head_others = self.others + 0u32;
                } else {
                    out[self.place as usize] = word;
                }
                self.filled -= per;
                self.place += 1u32;
                self.others = 0u32;
                // By 32 bits there is nothing left, and no shift.
                self.word = select(shift == 0, 0u32, elements >> ((32u32 - shift) % 32u32));
            }
        }
    }

    /// Writes the words at both ends.
    fn end(&self, edges: &mut Array<Atomic<u32>>, #[comptime] per: u32) {
        if comptime!(per > 1) {
            let bits = comptime!(32 / per);
            let all = u32::new(comptime!(u32::MAX as i64));
            if self.head_others > 0 {
                let own = all << (self.head_others * bits);
                share(edges, self.head_place, self.head, own);
            }
            if self.filled > self.others {
                let own = (all << (self.others * bits)) & ((u32::new(1) << (self.filled * bits)) - 1u32);
                share(edges, self.place, self.word, own);
            }
        }
    }
}

/// Writes the bits `own` of a word.
#[cube]
fn share(edges: &mut Array<Atomic<u32>>, place: u32, word: u32, own: u32) {
    edges[place as usize].fetch_and(!own);
    edges[place as usize].fetch_or(word);
}
