//! Means of squares of bytes.
//!
//! *Down.* A lane has the sums of its columns' windows as pairs of 16 bits, even and odd pixels of a word apart; what enters is added, what
//! leaves taken away. Where they are few enough the rows between lie in shared memory, each lane's vectors for itself, and so do those on their
//! way: what is read again from a cache takes about as long as what is read from afar, because it goes the same way from there to a multiprocessor.
//!
//! *Across.* A lane's first window is whole lanes, whose totals are exchanged in as many steps as their number has bits, and the beginning of
//! one more. The next windows follow one from the other: what leaves are the lane's own pairs, what enters another's, from
//! shared memory. Sums are f32 then: see [`super::super::sums`].

use cubecl::prelude::barrier::{Barrier, copy_async};
use cubecl::prelude::*;

use super::{COLUMNS, Place, Planes, load, place, store, wait};
use crate::stencil::gpu::columns::raster;
use crate::stencil::gpu::matrix::groups::{edge, mended};
use crate::stencil::gpu::pairs::{evens, odds};

/// Pairs of a lane in a row.
const PAIRS: u32 = COLUMNS / 2;

impl Planes {
    /// Whole lanes across a window, and the pixels that are left.
    const fn across(&self) -> (u32, u32) {
        let window = 2 * self.radius + 1;
        (window / COLUMNS, window % COLUMNS)
    }

    /// Vectors of pairs of a step in shared memory.
    const fn step(&self) -> u32 {
        PAIRS / 4 * self.lanes * self.rows
    }

    /// Parts of a step, each of K rows; of rows that are copied as many are on their way.
    pub(in crate::stencil::gpu) const fn parts(&self) -> u32 {
        if self.kept { 2 } else { 1 }
    }

    /// Rows in shared memory: those of a window, whole parts of a step, and those on their way; 0 where it keeps none.
    const fn ring(&self) -> u32 {
        if self.kept {
            (2 * self.radius + 1).next_multiple_of(self.rows) + self.parts() * self.rows
        } else {
            0
        }
    }

    /// Parts of steps whose sums shared memory holds: room for rows is worth more than one wait less.
    const fn buffers(&self) -> u32 {
        if self.kept { 1 } else { 2 }
    }

    /// Vectors of the rows of windows in shared memory.
    const fn kept_vectors(&self) -> u32 {
        self.ring() * self.units
    }

    /// Bytes of shared memory of sums, with a little for barriers and gaps.
    pub(in crate::stencil::gpu) const fn shared_bytes_of_sums(&self) -> u32 {
        128 + 16 * (self.buffers() * self.step() * self.planes() + self.kept_vectors())
    }
}

/// Sums of the squares of a strip of `steps` steps, each times `inverse` and rounded; CUBE_POS_X counts cubes across, CUBE_POS_Y
/// strips down. `beside` are the bits of 2²³.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(in crate::stencil::gpu) fn sums_by_planes<N: Size>(
    source: &Array<Vector<u32, N>>,
    out: &mut Array<Vector<u32, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    inverse: f32,
    beside: u32,
    #[comptime] planes: Planes,
) {
    let (rows, lanes) = comptime!((planes.rows, planes.lanes));
    let mut shared = SharedMemory::<Vector<u32, N>>::new(comptime!(
        (planes.buffers() * planes.step() * planes.planes()) as usize
    ));
    let plane = UNIT_POS / lanes;
    let place = place(
        CUBE_POS_X * comptime!(planes.planes()) + plane,
        width,
        height,
        pitch,
        planes,
    );
    let raster = raster(width, height, pitch);
    let first = CUBE_POS_Y * steps * comptime!(planes.parts() * rows);
    let reach = comptime!(planes.radius as i32);

    let mut ring = SharedMemory::<Vector<u32, N>>::new(comptime!(planes.kept_vectors().max(1) as usize));
    let mut barriers = Sequence::<Shared<Barrier>>::new();
    if comptime!(planes.kept) {
        #[unroll]
        for _ in 0..comptime!(planes.parts()) {
            barriers.push(Barrier::shared(comptime!(planes.units), UNIT_POS == 0));
        }
    }

    // The sums of the window before the first.
    let mut pairs = Array::<u32>::new(comptime!(PAIRS as usize));
    #[unroll]
    for p in 0..comptime!(PAIRS as usize) {
        pairs[p] = u32::new(0);
    }
    let on_way = comptime!(if planes.kept { rows } else { planes.ahead * rows });
    let mut below = Array::<u32>::new(comptime!((4 * on_way) as usize));
    let mut above = Array::<u32>::new(comptime!((4 * rows) as usize));
    let top = first as i32 - reach - 1i32;
    let window = comptime!(2 * planes.radius + 1);
    if comptime!(planes.kept) {
        for row in 0..comptime!(planes.ring()) {
            copy::<N>(source, &mut ring, top + row as i32, row, &place, planes);
        }
        arrive(barriers.index(0usize));
        barriers.index(0usize).wait_parity(0u32);
        for row in 0..window {
            let mut read = Array::<u32>::new(4usize);
            take::<N>(&ring, &mut read, row, &place, 0u32, planes);
            add(&mut pairs, &read, 1u32);
        }
    } else {
        // As many at a time as hide that they are far.
        let many = comptime!(16 / rows * rows);
        let rest = comptime!(window % many);
        let mut read = Array::<u32>::new(comptime!((4 * many) as usize));
        for b in 0..comptime!(window / many) {
            load::<N>(source, &mut read, top + (b * many) as i32, &place, 0u32, many);
            add(&mut pairs, &read, many);
        }
        if comptime!(rest > 0) {
            let row = top + comptime!((window - rest) as i32);
            load::<N>(source, &mut read, row, &place, 0u32, rest);
            add(&mut pairs, &read, rest);
        }
        load::<N>(source, &mut below, first as i32 + reach, &place, 0u32, on_way);
        load::<N>(source, &mut above, top, &place, 0u32, rows);
    }
    // Where in the ring the rows lie that leave, and the part of a step in which the first of those lies that enter.
    let mut leaves = u32::new(0);
    let mut enters = comptime!(window / rows * rows).runtime();
    let mut kept = Array::<u32>::new(comptime!((PAIRS * rows) as usize));
    for s in 0..steps {
        #[unroll]
        for part in 0..comptime!(planes.parts()) {
            let row = first + (s * comptime!(planes.parts()) + part) * rows;
            let buffer = plane * comptime!(planes.buffers()) + s % comptime!(planes.buffers());
            let step = buffer * comptime!(planes.step());
            let mut after = enters + rows;
            if after == comptime!(planes.ring()) {
                after = 0u32;
            }
            if comptime!(planes.kept) {
                // What was asked for two parts ago, first all that is there at the beginning.
                barriers
                    .index(comptime!(part as usize))
                    .wait_parity((s + part) % 2u32);
                #[unroll]
                for k in 0..rows {
                    take::<N>(&ring, &mut above, leaves + k, &place, k, planes);
                    let place_of = comptime!(window % rows + k);
                    let mut slot = enters + place_of;
                    if comptime!(place_of >= rows) {
                        slot = after + comptime!(place_of - rows);
                    }
                    take::<N>(&ring, &mut below, slot, &place, k, planes);
                }
            }
            #[unroll]
            for k in 0..rows {
                #[unroll]
                for w in 0..4u32 {
                    let (word, pair) = comptime!(((4 * k + w) as usize, (2 * w) as usize));
                    pairs[pair] = pairs[pair] + evens(below[word]) - evens(above[word]);
                    pairs[comptime!(pair + 1)] =
                        pairs[comptime!(pair + 1)] + odds(below[word]) - odds(above[word]);
                }
                #[unroll]
                for v in 0..comptime!(PAIRS / 4) {
                    let mut vector = Vector::<u32, N>::empty();
                    #[unroll]
                    for p in 0..4u32 {
                        let pair = pairs[comptime!((4 * v + p) as usize)];
                        vector[comptime!(p as usize)] = pair;
                        kept[comptime!((PAIRS * k + 4 * v + p) as usize)] = pair;
                    }
                    let at = comptime!((k * PAIRS / 4 + v) * lanes);
                    shared[(step + at + UNIT_POS_PLANE) as usize] = vector;
                }
            }
            let next = row as i32 + comptime!(rows as i32);
            if comptime!(planes.kept) {
                // In the place of those that left, which have been taken; behind the strip as well, where nobody takes them.
                let further = next - comptime!(rows as i32) - reach - 1i32 + comptime!(planes.ring() as i32);
                #[unroll]
                for k in 0..rows {
                    copy::<N>(source, &mut ring, further + k as i32, leaves + k, &place, planes);
                }
                arrive(barriers.index(comptime!(part as usize)));
                enters = after;
                leaves += rows;
                if leaves == comptime!(planes.ring()) {
                    leaves = 0u32;
                }
            } else {
                let used = comptime!(on_way - rows);
                #[unroll]
                for w in 0..comptime!((4 * used) as usize) {
                    below[w] = below[comptime!(w + (4 * rows) as usize)];
                }
                let after = next + reach + comptime!(used as i32);
                load::<N>(source, &mut below, after, &place, used, rows);
                load::<N>(source, &mut above, next - reach - 1i32, &place, 0u32, rows);
            }
            wait(planes);
            #[unroll]
            for k in 0..rows {
                let mut sums = Array::<u32>::new(comptime!(PAIRS as usize));
                #[unroll]
                for p in 0..comptime!(PAIRS as usize) {
                    sums[p] = kept[comptime!((PAIRS * k) as usize + p)];
                }
                let mut means = Array::<u32>::new(4usize);
                let at = step + comptime!(k * PAIRS / 4 * lanes);
                across::<N>(&shared, at, &sums, &mut means, inverse, beside, planes);
                store::<N>(out, &means, row + k, &place, &raster, planes);
            }
            // Of two buffers, the next step writes the other, and the one after only after the next one's wait.
            if comptime!(planes.buffers() == 1) {
                wait(planes);
            }
        }
    }
    // Copies have to be there before this cube's memory is another's.
    if comptime!(planes.kept) {
        #[unroll]
        for part in 0..comptime!(planes.parts()) {
            barriers
                .index(comptime!(part as usize))
                .wait_parity((steps + part) % 2u32);
        }
    }
}

/// Copies a lane's vector of picture row `row`, or of the nearest inside, to row `slot` of the ring.
#[cube]
fn copy<N: Size>(
    source: &Array<Vector<u32, N>>,
    ring: &mut SharedMemory<Vector<u32, N>>,
    row: i32,
    slot: u32,
    place: &Place,
    #[comptime] planes: Planes,
) {
    // 0 ≤ row < height, and the vector is one of its row.
    let row = max(min(row, place.height as i32 - 1i32), 0i32) as u32;
    let from = (row * (place.pitch / 4u32) + place.nearest) as usize;
    let to = (slot * comptime!(planes.units) + UNIT_POS) as usize;
    let mut target = ring.slice_mut(to, to + 1usize);
    copy_async(&source.slice(from, from + 1usize), &mut target, 4u32);
}

/// What was copied until now is what the barrier waits for.
#[cube]
fn arrive(barrier: &Shared<Barrier>) {
    barrier.commit_copy_async();
    barrier.arrive();
}

/// A lane's words in row `slot` of the ring, to row `at` of `words`; pixels outside of the picture are the nearest inside.
#[cube]
fn take<N: Size>(
    ring: &SharedMemory<Vector<u32, N>>,
    words: &mut Array<u32>,
    slot: u32,
    place: &Place,
    #[comptime] at: u32,
    #[comptime] planes: Planes,
) {
    let vector = ring[(slot * comptime!(planes.units) + UNIT_POS) as usize];
    #[unroll]
    for w in 0..4u32 {
        words[comptime!((4 * at + w) as usize)] = vector[comptime!(w as usize)];
    }
    if !place.inside {
        let edge = edge::<N>(vector, place.column, place.width, 4u32);
        #[unroll]
        for w in 0..4u32 {
            let column = place.column + comptime!(4 * w as i32);
            words[comptime!((4 * at + w) as usize)] =
                mended(vector[comptime!(w as usize)], edge, column, place.width);
        }
    }
}

/// Adds the pixels of `count` rows to the sums of their columns.
#[cube]
fn add(pairs: &mut Array<u32>, words: &Array<u32>, #[comptime] count: u32) {
    #[unroll]
    for k in 0..count {
        #[unroll]
        for w in 0..4u32 {
            let (word, pair) = comptime!(((4 * k + w) as usize, (2 * w) as usize));
            pairs[pair] += evens(words[word]);
            pairs[comptime!(pair + 1)] += odds(words[word]);
        }
    }
}

/// Pixel `pixel` of pairs, beside 2²³.
#[cube]
fn pixel(pairs: &Array<u32>, #[comptime] pixel: u32, beside: u32) -> f32 {
    let pair = pairs[comptime!((pixel / 4 * 2 + pixel % 2) as usize)];
    // Of two constants a compiler makes two instructions.
    let mut bits = (pair & 0xffffu32) | beside;
    if comptime!(pixel % 4 >= 2) {
        bits = (pair >> 16u32) | 0x4b00_0000u32;
    }
    f32::reinterpret(bits)
}

/// The sum of a lane's first window in a row.
#[cube]
fn first_window(sums: &Array<u32>, #[comptime] planes: Planes) -> u32 {
    let (whole, rest) = comptime!(planes.across());
    // Two pairs added are at most 2 · 127 · 255 in each half. What is left of all that was added without the upper halves are the lower ones.
    let mut all = u32::new(0);
    let mut upper = u32::new(0);
    let mut begun = u32::new(0);
    #[unroll]
    for w in 0..4u32 {
        if comptime!(w == rest / 4) {
            begun = all - upper * 65_535u32;
            #[unroll]
            for b in 0..comptime!(rest % 4) {
                let pair = sums[comptime!((2 * w + b % 2) as usize)];
                if comptime!(b >= 2) {
                    begun += pair >> 16u32;
                } else {
                    begun += pair & 0xffffu32;
                }
            }
        }
        let two = sums[comptime!((2 * w) as usize)] + sums[comptime!((2 * w + 1) as usize)];
        all += two;
        upper += two >> 16u32;
    }
    let mut sum = plane_shuffle_down(begun, whole);
    // Totals of 1, 2, 4 lanes.
    let mut total = all - upper * 65_535u32;
    #[unroll]
    for b in 0..3u32 {
        if comptime!((whole >> b) % 2 == 1) {
            let before = comptime!(whole % (1 << b));
            if comptime!(before > 0) {
                sum += plane_shuffle_down(total, before);
            } else {
                sum += total;
            }
        }
        if comptime!(whole >> (b + 1) > 0) {
            total += plane_shuffle_down(total, comptime!(1u32 << b));
        }
    }
    sum
}

/// The means of the windows that begin in a lane's columns.
#[cube]
fn across<N: Size>(
    shared: &SharedMemory<Vector<u32, N>>,
    at: u32,
    sums: &Array<u32>,
    means: &mut Array<u32>,
    inverse: f32,
    beside: u32,
    #[comptime] planes: Planes,
) {
    let (whole, rest) = comptime!(planes.across());
    let lanes = comptime!(planes.lanes);
    // From the beginning of the lane on in which windows end; lanes past the last have none that are asked for.
    let mut further = Array::<u32>::new(comptime!((2 * PAIRS) as usize));
    #[unroll]
    for v in 0..4u32 {
        // Pixels `rest` to `rest` + 14 enter.
        if comptime!(8 * v + 7 >= rest && 8 * v <= rest + 14) {
            let lane = min(UNIT_POS_PLANE + comptime!(whole + v / 2), comptime!(lanes - 1));
            let vector = shared[(at + comptime!(v % 2 * lanes) + lane) as usize];
            #[unroll]
            for p in 0..4u32 {
                further[comptime!((4 * v + p) as usize)] = vector[comptime!(p as usize)];
            }
        }
    }
    let mut window = f32::cast_from(first_window(sums, planes));
    #[unroll]
    for w in 0..4u32 {
        // Rounded as in `super::super::sums`.
        let mut bytes = u32::new(0);
        #[unroll]
        for b in 0..4u32 {
            let p = comptime!(4 * w + b);
            if comptime!(p > 0) {
                let enters = pixel(&further, comptime!(rest + p - 1), beside);
                window += enters - pixel(sums, comptime!(p - 1), beside);
            }
            let mean = u32::reinterpret(window * inverse + f32::new(8_388_608.0));
            bytes += mean << comptime!(8 * b);
        }
        means[comptime!(w as usize)] = bytes - 0x4b00_0000u32;
    }
}
