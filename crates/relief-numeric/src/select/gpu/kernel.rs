//! The kernels: one that counts and moves, one that counts alone, and one that adds counts up.

use cubecl::prelude::*;

use super::{Keep, Route, Shape, What};
use crate::look_back::{look_back, tell};
use crate::scan::gpu::tiles::sum_up_to;

/// Moves what is kept of `len` elements, after what the parts before have kept.
///
/// `edges` is the same memory as `out`, and `rest_edges` as `rest`: words that two tiles share are written by atomic
/// operations, a mask and a value, each tile its own bits. `seen` is the same memory as `state`.
///
/// `begin` and `begin_high` are the place of the part's first element. What is kept may depend on `first` and `span`: the elements of a row, or keys.
#[allow(clippy::too_many_arguments)]
#[cube(launch_unchecked)]
pub(super) fn compact<S: Int, N: Size>(
    from: &Array<Vector<u32, N>>,
    flags: &Array<u32>,
    out: &mut Array<u32>,
    edges: &mut Array<Atomic<u32>>,
    rest: &mut Array<u32>,
    rest_edges: &mut Array<Atomic<u32>>,
    state: &mut Array<Atomic<u32>>,
    seen: &mut Array<u32>,
    prefixes: &Array<u32>,
    bases: &mut Array<u32>,
    count: &mut Array<u32>,
    len: u32,
    tiles: u32,
    part: u32,
    begin: u32,
    begin_high: u32,
    first: u32,
    span: u32,
    #[comptime] shape: Shape,
) {
    let mut stage = SharedMemory::<S>::new(comptime!(shape.tile() as usize));
    let mut totals = SharedMemory::<u32>::new(comptime!((shape.units / shape.lanes) as usize));
    let mut chain = SharedMemory::<u32>::new(comptime!(shape.look().chain() as usize));
    let mut found = SharedMemory::<u32>::new(1usize);
    let lane = UNIT_POS % comptime!(shape.lanes);
    let plane = UNIT_POS / comptime!(shape.lanes);
    let looks_back = comptime!(shape.route == Route::LookBack);
    let (low, high) = (
        bases[(part * 2u32) as usize],
        bases[(part * 2u32 + 1u32) as usize],
    );

    let tile = CUBE_POS as u32;
    // A grid may have more cubes than there are tiles.
    if tile < tiles {
        let mut items = Array::<Vector<u32, N>>::new(comptime!(shape.items as usize));
        let mut marks = Array::<u32>::new(comptime!((shape.items * shape.marks()) as usize));
        let rule = (begin, first, span);
        load::<N>(
            from, flags, &mut items, &mut marks, tile, len, rule, plane, lane, shape,
        );
        let start = tile * comptime!(shape.tile());
        let valid = min(max(len, start) - start, comptime!(shape.tile()));
        let mut packed = Array::<u32>::new(comptime!((2 * shape.groups()) as usize));
        let kept = scan::<N>(&items, &marks, &mut packed, shape);
        if lane == 0 {
            totals[plane as usize] = kept;
        }
        sync_cube();
        let mut at = u32::new(0);
        let mut total = u32::new(0);
        #[unroll(comptime!(shape.units / shape.lanes <= 32))]
        for p in 0..comptime!(shape.units / shape.lanes) {
            let of = totals[p as usize];
            if p < plane {
                at += of;
            }
            total += of;
        }
        if comptime!(looks_back) {
            if UNIT_POS == 0 {
                tell::<u32>(state, tile, total, comptime!(shape.look()));
            }
        }
        put::<S, N>(
            &mut stage,
            &items,
            &marks,
            &packed,
            at,
            total,
            valid,
            begin + start,
            plane,
            lane,
            shape,
        );
        // rung: select on gpu: production
        sync_cube();

        let mut prefix = u32::new(0);
        if comptime!(looks_back) {
            if UNIT_POS < comptime!(shape.lanes) {
                let before = look_back::<u32>(state, seen, &mut chain, tile, total, comptime!(shape.look()));
                if UNIT_POS == 0 {
                    found[0usize] = before;
                }
            }
            sync_cube();
            prefix += found[0usize];
        } else {
            prefix += prefixes[tile as usize];
        }
        // end

        let per = comptime!(shape.per_out());
        flush::<S>(
            &stage,
            0u32,
            total,
            out,
            edges,
            low,
            high,
            prefix,
            per,
            shape,
            comptime!(if shape.what == What::Runs {
                Field::Place
            } else {
                Field::All
            }),
            begin + start,
        );
        if comptime!(shape.what == What::Runs) {
            flush::<S>(
                &stage,
                0u32,
                total,
                rest,
                rest_edges,
                low,
                high,
                prefix,
                4u32,
                shape,
                Field::Value,
                0u32,
            );
        }
        if comptime!(shape.what == What::Halves) {
            // Of those before this part, `low` and `high` elements are kept.
            let borrow = u32::cast_from(begin < low);
            flush::<S>(
                &stage,
                total,
                valid - total,
                rest,
                rest_edges,
                begin - low,
                begin_high - high - borrow,
                start - prefix,
                per,
                shape,
                Field::All,
                0u32,
            );
        }
        if UNIT_POS == 0 {
            if tile + 1u32 == tiles {
                let sum = low + prefix + total;
                let sum_high = high + u32::cast_from(sum < low);
                bases[(part * 2u32 + 2u32) as usize] = sum;
                bases[(part * 2u32 + 3u32) as usize] = sum_high;
                count[0] = sum;
                count[1] = sum_high;
            }
        }
    }
}

/// Stages what is kept of a unit's items from `at` on, and what is left of the tile after its `total` kept elements.
#[allow(clippy::too_many_arguments)]
#[cube]
fn put<S: Int, N: Size>(
    stage: &mut SharedMemory<S>,
    items: &Array<Vector<u32, N>>,
    marks: &Array<u32>,
    packed: &Array<u32>,
    at: u32,
    total: u32,
    valid: u32,
    first: u32,
    plane: u32,
    lane: u32,
    #[comptime] shape: Shape,
) {
    let fields = comptime!(32 / shape.field());
    let mask = comptime!((1 << shape.field()) - 1);
    let mut run = at;
    #[unroll]
    for j in 0..comptime!(shape.items) {
        let group = comptime!((j / fields * 2) as usize);
        let shift = comptime!(j % fields * shape.field());
        let mut at = run + ((packed[group] >> shift) & mask);
        run += (packed[comptime!(group + 1)] >> shift) & mask;
        let item = items[j as usize];
        let place = ((plane * comptime!(shape.items) + j) * comptime!(shape.lanes) + lane)
            * comptime!(shape.elements());
        #[unroll]
        for e in 0..comptime!(shape.elements()) {
            let local = place + e;
            let value = match shape.what {
                What::Indices => first + local,
                What::Runs => (local << 8u32) | element::<N>(item, e, shape.bits),
                _ => element::<N>(item, e, shape.bits),
            };
            if kept_element::<N>(item, marks, j, e, shape) {
                stage[at as usize] = S::cast_from(value);
                at += 1u32;
            } else {
                if comptime!(shape.what == What::Halves) {
                    if local < valid {
                        stage[(total + local - at) as usize] = S::cast_from(value);
                    }
                }
            }
        }
    }
}

/// Counts what each tile keeps.
#[cube(launch_unchecked)]
pub(super) fn count_tiles<N: Size>(
    from: &Array<Vector<u32, N>>,
    flags: &Array<u32>,
    counts: &mut Array<u32>,
    len: u32,
    tiles: u32,
    begin: u32,
    first: u32,
    span: u32,
    #[comptime] shape: Shape,
) {
    let mut totals = SharedMemory::<u32>::new(comptime!((shape.units / shape.lanes) as usize));
    let lane = UNIT_POS % comptime!(shape.lanes);
    let plane = UNIT_POS / comptime!(shape.lanes);
    let tile = CUBE_POS as u32;
    let mut items = Array::<Vector<u32, N>>::new(comptime!(shape.items as usize));
    let mut marks = Array::<u32>::new(comptime!((shape.items * shape.marks()) as usize));
    let rule = (begin, first, span);
    load::<N>(
        from, flags, &mut items, &mut marks, tile, len, rule, plane, lane, shape,
    );
    let mut kept = u32::new(0);
    #[unroll]
    for j in 0..comptime!(shape.items) {
        kept += count_item::<N>(items[j as usize], &marks, j, shape);
    }
    if comptime!(shape.lanes > 1) {
        kept = plane_sum(kept);
    }
    if lane == 0 {
        totals[plane as usize] = kept;
    }
    sync_cube();
    if UNIT_POS == 0 {
        let mut total = u32::new(0);
        for p in 0..comptime!(shape.units / shape.lanes) {
            total += totals[p as usize];
        }
        if tile < tiles {
            counts[tile as usize] = total;
        }
    }
}

/// Counts that one unit of [`add_up`] adds at a time.
const RUN: u32 = 16;

/// Replaces each of `tiles` counts by the sum of those before; one cube.
#[cube(launch_unchecked)]
pub(super) fn add_up(counts: &mut Array<u32>, tiles: u32, #[comptime] units: u32) {
    let mut sums = SharedMemory::<u32>::new(comptime!((2 * units) as usize));
    let mut carry = u32::new(0);
    let mut chunk = u32::new(0);
    while chunk < tiles {
        let first = chunk + UNIT_POS * comptime!(RUN);
        let mut held = Array::<u32>::new(comptime!(RUN as usize));
        let mut own = u32::new(0);
        #[unroll]
        for k in 0..RUN {
            held[k as usize] = own;
            if first + k < tiles {
                own += counts[(first + k) as usize];
            }
        }
        // Hillis and Steele, from one half of the memory to the other in turn.
        sums[UNIT_POS as usize] = own;
        sync_cube();
        let mut now = u32::new(0);
        let mut step = u32::new(1);
        while step < comptime!(units) {
            let mut sum = sums[(now + UNIT_POS) as usize];
            if UNIT_POS >= step {
                sum += sums[(now + UNIT_POS - step) as usize];
            }
            now = comptime!(units) - now;
            sums[(now + UNIT_POS) as usize] = sum;
            sync_cube();
            step *= 2u32;
        }
        let before = carry + sums[(now + UNIT_POS) as usize] - own;
        carry += sums[(now + comptime!(units - 1)) as usize];
        #[unroll]
        for k in 0..RUN {
            if first + k < tiles {
                counts[(first + k) as usize] = before + held[k as usize];
            }
        }
        sync_cube();
        chunk += comptime!(units * RUN);
    }
}

/// Makes states those of tiles of which nothing is known, and the first base, where `first` is 2 and not 0, 0.
#[cube(launch_unchecked)]
pub(super) fn reset(state: &mut Array<u32>, bases: &mut Array<u32>, words: u32, first: u32) {
    let place = ABSOLUTE_POS as u32;
    if place < words {
        state[place as usize] = 0u32;
    }
    if place < first {
        bases[place as usize] = 0u32;
    }
}

/// Loads the items of a unit of a tile, and the flags of their elements. Elements outside of the input are zeros without flags. `rule`
/// is where the part begins, and what is kept: the elements of a row, or the first key and how many follow.
#[allow(clippy::too_many_arguments)]
#[cube]
fn load<N: Size>(
    from: &Array<Vector<u32, N>>,
    flags: &Array<u32>,
    items: &mut Array<Vector<u32, N>>,
    marks: &mut Array<u32>,
    tile: u32,
    len: u32,
    rule: (u32, u32, u32),
    plane: u32,
    lane: u32,
    #[comptime] shape: Shape,
) {
    let start = tile * comptime!(shape.tile());
    let valid = min(max(len, start) - start, comptime!(shape.tile()));
    let elements = comptime!(shape.elements());
    let first = (plane * comptime!(shape.items)) * comptime!(shape.lanes) + lane;
    let vectors = start / elements;
    if valid == comptime!(shape.tile()) {
        #[unroll]
        for j in 0..comptime!(shape.items) {
            let place = first + comptime!(j * shape.lanes);
            let item = from[(vectors + place) as usize];
            items[j as usize] = item;
            load_marks::<N>(
                flags,
                item,
                marks,
                j,
                start + place * elements,
                elements,
                rule,
                shape,
            );
        }
    } else {
        #[unroll]
        for j in 0..comptime!(shape.items) {
            let place = first + comptime!(j * shape.lanes);
            items[j as usize] = Vector::new(0u32);
            #[unroll]
            for m in 0..comptime!(shape.marks()) {
                marks[comptime!(j * shape.marks() + m) as usize] = 0u32;
            }
            let here = place * elements;
            if here < valid {
                let have = valid - here;
                let item = inside::<N>(from[(vectors + place) as usize], have, shape);
                items[j as usize] = item;
                load_marks::<N>(flags, item, marks, j, start + here, have, rule, shape);
            }
        }
    }
}

/// The first `have` elements of a vector, and zeros.
#[cube]
pub(super) fn inside<N: Size>(vector: Vector<u32, N>, have: u32, #[comptime] shape: Shape) -> Vector<u32, N> {
    let mut result = Vector::<u32, N>::empty();
    #[unroll]
    for n in 0..comptime!(shape.width) {
        let first = comptime!(n * shape.per());
        let left = max(have, first) - first;
        let mut word = vector[n as usize];
        if left < comptime!(shape.per()) {
            word &= (u32::new(1) << (left * comptime!(shape.bits % 32))) - 1u32;
        }
        result[n as usize] = word;
    }
    result
}

/// The flags of the elements of item `j`, a byte each, from element `first` on; those from `have` on are zeros. Where heads of runs
/// are wanted, `flags` are the elements of all parts.
#[allow(clippy::too_many_arguments)]
#[cube]
pub(super) fn load_marks<N: Size>(
    flags: &Array<u32>,
    item: Vector<u32, N>,
    marks: &mut Array<u32>,
    #[comptime] j: u32,
    first: u32,
    have: u32,
    rule: (u32, u32, u32),
    #[comptime] shape: Shape,
) {
    if comptime!(shape.keep.has_marks()) {
        #[unroll]
        for m in 0..comptime!(shape.marks()) {
            let at = comptime!(4 * m);
            let left = max(have, at) - at;
            let mut word = u32::new(0);
            if left > 0 {
                if comptime!(shape.keep == Keep::Heads) {
                    word = heads(flags, rule.0 + first + at, rule.1);
                } else if comptime!(matches!(shape.keep, Keep::Within | Keep::WithinFloat)) {
                    word = within::<N>(item, m, rule.1, rule.2, shape);
                } else {
                    word = flags[(first / 4u32 + m) as usize] >> ((first % 4u32) * 8u32);
                }
                if left < 4u32 {
                    word &= (u32::new(1) << (left * 8u32)) - 1u32;
                }
            }
            marks[comptime!(j * shape.marks() + m) as usize] = word;
        }
    }
}

/// Four flags: bytes other than those before, and the first of each row. `first` is a multiple of 4.
#[cube]
fn heads(bytes: &Array<u32>, first: u32, width: u32) -> u32 {
    let place = first / 4u32;
    let word = bytes[place as usize];
    let before = bytes[(max(place, 1u32) - 1u32) as usize];
    let mut marks = word ^ ((word << 8u32) | (before >> 24u32));
    let mut column = first % width;
    #[unroll]
    for k in 0..4u32 {
        if column == 0 {
            marks |= comptime!(255u32 << (8 * k));
        }
        column += 1u32;
        if column == width {
            column = 0u32;
        }
    }
    marks
}

/// Up to four flags: elements from 4 `m` on whose keys are from `first` on, and at most `span` further.
#[cube]
fn within<N: Size>(
    item: Vector<u32, N>,
    #[comptime] m: u32,
    first: u32,
    span: u32,
    #[comptime] shape: Shape,
) -> u32 {
    let mut marks = u32::new(0);
    #[unroll]
    for k in 0..comptime!(shape.elements().min(4)) {
        let mut key = element::<N>(item, comptime!(4 * m + k), shape.bits);
        if comptime!(shape.keep == Keep::WithinFloat) {
            // Negative numbers in reverse, and below the others.
            key ^= (u32::new(0) - (key >> 31u32)) | (u32::new(1) << 31u32);
        }
        if key - first <= span {
            marks |= comptime!(255u32 << (8 * k));
        }
    }
    marks
}

/// Element `e` of a vector.
#[cube]
pub(super) fn element<N: Size>(vector: Vector<u32, N>, #[comptime] e: u32, #[comptime] bits: u32) -> u32 {
    let word = vector[comptime!((e * bits / 32) as usize)];
    (word >> comptime!(e * bits % 32)) & comptime!(u32::MAX >> (32 - bits))
}

/// Whether element `e` of item `j` is kept.
#[cube]
pub(super) fn kept_element<N: Size>(
    item: Vector<u32, N>,
    marks: &Array<u32>,
    #[comptime] j: u32,
    #[comptime] e: u32,
    #[comptime] shape: Shape,
) -> bool {
    match shape.keep {
        Keep::NonZero => element::<N>(item, e, shape.bits) != 0u32,
        // Both zeros of a float: the sign does not count.
        Keep::NonZeroFloat => (element::<N>(item, e, shape.bits) << 1u32) != 0u32,
        Keep::Flags | Keep::Heads | Keep::Within | Keep::WithinFloat => {
            let word = marks[comptime!((j * shape.marks() + e / 4) as usize)];
            ((word >> comptime!(e % 4 * 8)) & 255u32) != 0u32
        }
    }
}

/// How many elements of item `j` are kept.
#[cube]
pub(super) fn count_item<N: Size>(
    item: Vector<u32, N>,
    marks: &Array<u32>,
    #[comptime] j: u32,
    #[comptime] shape: Shape,
) -> u32 {
    let mut count = u32::new(0);
    if comptime!(shape.bits == 8 && shape.keep == Keep::NonZero) {
        #[unroll]
        for n in 0..comptime!(shape.width) {
            count += bytes_set(item[n as usize]);
        }
    } else if comptime!(shape.keep.has_marks() && shape.elements() >= 4) {
        #[unroll]
        for m in 0..comptime!(shape.marks()) {
            count += bytes_set(marks[comptime!((j * shape.marks() + m) as usize)]);
        }
    } else {
        #[unroll]
        for e in 0..comptime!(shape.elements()) {
            count += u32::cast_from(kept_element::<N>(item, marks, j, e, shape));
        }
    }
    count
}

/// How many bytes of a word are not zero. The sum carries into the top bit of a byte where one of the lower seven is set.
#[cube]
fn bytes_set(word: u32) -> u32 {
    let low = (word & 0x7f7f_7f7fu32) + 0x7f7f_7f7fu32;
    ((low | word) & 0x8080_8080u32).count_ones()
}

/// Writes how many elements of the plane are kept before those of each item of this unit, counted from the item's first lane on, and
/// how many all lanes keep of the item; returns how many the plane keeps in all.
///
/// Counts of several items are added up at once, side by side in a word: words 2g and 2g + 1 are those of group g.
#[cube]
fn scan<N: Size>(
    items: &Array<Vector<u32, N>>,
    marks: &Array<u32>,
    packed: &mut Array<u32>,
    #[comptime] shape: Shape,
) -> u32 {
    let fields = comptime!(32 / shape.field());
    let mask = comptime!((1 << shape.field()) - 1);
    let mut sum = u32::new(0);
    #[unroll]
    for g in 0..comptime!(shape.groups()) {
        let mut own = u32::new(0);
        #[unroll]
        for f in 0..fields {
            let j = comptime!(g * fields + f);
            if comptime!(j < shape.items) {
                own |= count_item::<N>(items[j as usize], marks, j, shape) << comptime!(f * shape.field());
            }
        }
        let mut inclusive = own;
        let mut all = own;
        if comptime!(shape.lanes > 1) {
            inclusive = sum_up_to(own, comptime!(shape.lanes), false);
            all = plane_broadcast(inclusive, comptime!(shape.lanes - 1));
        }
        packed[comptime!((2 * g) as usize)] = inclusive - own;
        packed[comptime!((2 * g + 1) as usize)] = all;
        #[unroll]
        for f in 0..fields {
            sum += (all >> comptime!(f * shape.field())) & mask;
        }
    }
    sum
}

/// What of a staged word is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Field {
    All,
    /// Its upper 24 bits, a place from a given one on.
    Place,
    /// Its lowest byte.
    Value,
}

/// What is written of staged word `i`.
#[cube]
fn staged<S: Int>(stage: &SharedMemory<S>, i: u32, #[comptime] field: Field, first: u32) -> u32 {
    let word = u32::cast_from(stage[i as usize]);
    match field {
        Field::All => word,
        Field::Place => first + (word >> 8u32),
        Field::Value => word & 255u32,
    }
}

/// Writes `kept` staged elements, from `stage[at]` on, as elements base + prefix … of `out`.
///
/// Units take words in turn, from the first word of a line of 128 bytes on, so that a plane stores whole lines.
#[allow(clippy::too_many_arguments)]
#[cube]
fn flush<S: Int>(
    stage: &SharedMemory<S>,
    at: u32,
    kept: u32,
    out: &mut Array<u32>,
    edges: &mut Array<Atomic<u32>>,
    low: u32,
    high: u32,
    prefix: u32,
    #[comptime] per: u32,
    #[comptime] shape: Shape,
    #[comptime] field: Field,
    origin: u32,
) {
    let units = comptime!(shape.units);
    if comptime!(per == 1) {
        let first = low + prefix;
        let lead = first % 32u32;
        let mut place = UNIT_POS;
        while place < kept + lead {
            if place >= lead {
                let i = place - lead;
                out[(first + i) as usize] = staged::<S>(stage, at + i, field, origin);
            }
            place += units;
        }
    } else {
        let log = comptime!(per.ilog2());
        let bits = comptime!(32 / per);
        let element = low % per + prefix;
        let first = (low >> log) + (high << comptime!(32 - log)) + element / per;
        // Elements of the first word that belong to whoever comes before.
        let skip = element % per;
        let words = (skip + kept + comptime!(per - 1)) / per;
        let lead = first % 32u32;
        let mut place = UNIT_POS;
        while place < words + lead {
            if place >= lead {
                let i = place - lead;
                let mut word = u32::new(0);
                let mut mine = u32::new(0);
                #[unroll]
                for k in 0..per {
                    let from = i * per + k;
                    if from >= skip {
                        if from < skip + kept {
                            word |=
                                staged::<S>(stage, at + from - skip, field, origin) << comptime!(k * bits);
                            mine |= comptime!((u32::MAX >> (32 - bits)) << (k * bits));
                        }
                    }
                }
                if mine == u32::new(comptime!(u32::MAX as i64)) {
                    out[(first + i) as usize] = word;
                } else {
                    if mine != 0u32 {
                        edges[(first + i) as usize].fetch_and(!mine);
                        edges[(first + i) as usize].fetch_or(word);
                    }
                }
            }
            place += units;
        }
    }
}
