//! Means of squares of bytes by units (threads) of 16 columns: cubes (blocks) go down strips, a few rows at a
//! step.
//!
//! *Down.* A unit has the sums of its columns' windows as pairs of 16 bits, even and odd pixels of a word
//! apart; what enters is added, what leaves taken away. Where they are few enough the rows between lie in
//! shared memory, each unit's vectors for itself, and so do those on their way: what is read again from a
//! cache takes about as long as what is read from afar, because it goes the same way from there to a
//! multiprocessor. The rows of wide windows would leave room for too few units; they are read again.
//!
//! *Across.* The pairs of a step lie in shared memory, and so do the totals of each unit's columns. The
//! window of a unit's first pixel is the end of one unit's columns, whole units, and the beginning of
//! another's; the next windows follow one from the other, and what leaves and what enters are other units'
//! pairs. So results are where they belong, in whole vectors, and only a cube's ends are read for other
//! cubes. Sums are f32 then: see [`super::sums`].

use cubecl::prelude::barrier::{Barrier, copy_async};
use cubecl::prelude::*;

use super::Samples;
use super::columns::within;
use super::matrix::groups::{edge, mended, nearest};
use super::pairs::{evens, odds};
use super::sums::{BESIDE, rounded};

/// Columns of a unit: a vector of memory.
const COLUMNS: u32 = 16;

/// Pairs of a unit in a row.
const PAIRS: u32 = COLUMNS / 2;

/// Units of which the first that computes is a multiple, and those that compute: whole sectors of memory.
const SECTOR: u32 = 2;

/// How cubes take their strips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wide {
    pub(super) radius: u32,
    /// K: rows of a step, or of each part of one; at most four, whose totals are a vector.
    pub(super) rows: u32,
    /// Units of a cube.
    pub(super) units: u32,
    /// Whether rows are copied to shared memory, which keeps those of windows, by copies that take no registers. Else those that leave are
    /// read again.
    pub(super) kept: bool,
}

/// A pixel some columns from a unit's first: units further (or before), and its number there.
#[derive(Clone, Copy)]
struct Far {
    units: i32,
    pixel: u32,
}

impl Wide {
    /// Units at either end of a cube that only read.
    const fn reach(&self) -> u32 {
        self.radius.div_ceil(COLUMNS)
    }

    /// The first unit that computes.
    const fn first(&self) -> u32 {
        self.reach().next_multiple_of(SECTOR)
    }

    /// The first one after that does not.
    const fn end(&self) -> u32 {
        let most = self.units.saturating_sub(self.first() + self.reach());
        self.first() + most / SECTOR * SECTOR
    }

    /// Columns of words that a cube computes; 0 where it is too narrow.
    pub(super) const fn columns(&self) -> u32 {
        (self.end() - self.first()) * (COLUMNS / 4)
    }

    /// The first pixel of a unit's first window, which leaves it first.
    const fn leaves(&self) -> Far {
        Far {
            units: -(self.reach() as i32),
            pixel: self.reach() * COLUMNS - self.radius,
        }
    }

    /// The first pixel behind a unit's first window, which enters it first.
    const fn enters(&self) -> Far {
        Far {
            units: ((self.radius + 1) / COLUMNS) as i32,
            pixel: (self.radius + 1) % COLUMNS,
        }
    }

    /// Vectors from the first that a window reaches to vector `vector` of a step, of the unit that is so many further.
    const fn further(&self, units: i32, vector: u32) -> usize {
        (self.reach() as i32 + units) as usize + vector as usize
    }

    /// Vectors of pairs of a row in shared memory.
    const fn row(&self) -> u32 {
        PAIRS / 4 * self.units
    }

    /// Vectors of a step in shared memory: pairs and totals.
    const fn step(&self) -> u32 {
        self.row() * self.rows + self.units
    }

    /// Parts of a step, each of K rows; of rows that are copied as many are on their way.
    pub(super) const fn parts(&self) -> u32 {
        if self.kept { 2 } else { 1 }
    }

    /// Rows in shared memory: those of a window, whole parts of a step, and those on their way; 0 where units load them.
    const fn ring(&self) -> u32 {
        match self.kept {
            true => (2 * self.radius + 1).next_multiple_of(self.rows) + self.parts() * self.rows,
            false => 0,
        }
    }

    /// Parts of steps whose sums shared memory holds: room for rows is worth more than one wait less.
    const fn buffers(&self) -> u32 {
        if self.kept { 1 } else { 2 }
    }

    /// Bytes of shared memory, with a little for barriers and gaps.
    pub(super) const fn shared_bytes(&self) -> u32 {
        128 + 16 * (self.buffers() * self.step() + self.ring() * self.units)
    }
}

/// Where a unit's vectors lie, and how the picture lies in memory.
#[derive(CubeType, Clone)]
struct Place {
    /// The first column of the unit: a multiple of a vector's; it may lie outside.
    column: i32,
    /// The nearest vector of a row.
    nearest: u32,
    /// Whether all that the cube reads of a row is inside.
    inside: bool,
    width: u32,
    height: u32,
    /// Words from one row to the next.
    pitch: u32,
}

/// That of this unit, in the cube that is `cube`th across.
#[cube]
fn place(cube: u32, width: u32, height: u32, pitch: u32, #[comptime] wide: Wide) -> Place {
    let begin = (cube * comptime!(4 * wide.columns())) as i32 - comptime!((wide.first() * COLUMNS) as i32);
    let mut inside = begin >= 0i32;
    inside = inside && begin + comptime!((COLUMNS * wide.units) as i32) <= width as i32;
    let column = begin + (UNIT_POS * COLUMNS) as i32;
    let nearest = nearest(column, width, 4u32);
    Place {
        column,
        nearest,
        inside,
        width,
        height,
        pitch,
    }
}

/// Sums of the squares of a strip of `steps` steps, each times `inverse` and rounded; CUBE_POS_X counts cubes across, CUBE_POS_Y
/// strips down. `beside` are the bits of 2²³.
#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
pub(super) fn wide_sums<N: Size>(
    source: &Array<Vector<u32, N>>,
    out: &mut Array<Vector<u32, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    inverse: f32,
    beside: u32,
    #[comptime] wide: Wide,
) {
    let rows = comptime!(wide.rows);
    let mut shared = SharedMemory::<Vector<u32, N>>::new(comptime!((wide.buffers() * wide.step()) as usize));
    let place = place(CUBE_POS_X, width, height, pitch, wide);
    let first = CUBE_POS_Y * steps * comptime!(wide.parts() * rows);
    let reach = comptime!(wide.radius as i32);

    let kept_vectors = comptime!((wide.ring() * wide.units).max(1) as usize);
    let mut ring = SharedMemory::<Vector<u32, N>>::new(kept_vectors);
    let mut barriers = Sequence::<Shared<Barrier>>::new();
    if comptime!(wide.kept) {
        #[unroll]
        for _ in 0..comptime!(wide.parts()) {
            barriers.push(Barrier::shared(comptime!(wide.units), UNIT_POS == 0));
        }
    }

    // The sums of the window before the first.
    let mut pairs = Array::<u32>::new(comptime!(PAIRS as usize));
    #[unroll]
    for p in 0..comptime!(PAIRS as usize) {
        pairs[p] = u32::new(0);
    }
    let mut below = Array::<u32>::new(comptime!((4 * rows) as usize));
    let mut above = Array::<u32>::new(comptime!((4 * rows) as usize));
    let top = first as i32 - reach - 1i32;
    let window = comptime!(2 * wide.radius + 1);
    if comptime!(wide.kept) {
        for row in 0..comptime!(wide.ring()) {
            copy::<N>(source, &mut ring, top + row as i32, row, &place, wide);
        }
        arrive(barriers.index(0usize));
        barriers.index(0usize).wait_parity(0u32);
        for row in 0..window {
            let mut read = Array::<u32>::new(4usize);
            take::<N>(&ring, &mut read, row, 0u32, 0u32, wide);
            if !place.inside {
                mend::<N>(&mut read, &place, 1u32);
            }
            add(&mut pairs, &read, 1u32);
        }
    } else {
        read_window::<N>(source, &mut pairs, top, &place, wide);
        load::<N>(source, &mut below, first as i32 + reach, &place, 0u32, rows);
        load::<N>(source, &mut above, top, &place, 0u32, rows);
    }
    // Where in the ring the rows lie that leave, and the part of a step in which the first of those lies that enter.
    let mut leaves = u32::new(0);
    let mut enters = comptime!(window / rows * rows).runtime();
    for s in 0..steps {
        #[unroll]
        for part in 0..comptime!(wide.parts()) {
            let row = first + (s * comptime!(wide.parts()) + part) * rows;
            let step = s % comptime!(wide.buffers()) * comptime!(wide.step());
            let here = (step + UNIT_POS) as usize;
            let mut after = enters + rows;
            if after == comptime!(wide.ring()) {
                after = 0u32;
            }
            if comptime!(wide.kept) {
                // What was asked for two parts ago, first all that is there at the beginning.
                barriers
                    .index(comptime!(part as usize))
                    .wait_parity((s + part) % 2u32);
                #[unroll]
                for k in 0..rows {
                    take::<N>(&ring, &mut above, leaves, k, k, wide);
                    let place_of = comptime!(window % rows + k);
                    if comptime!(place_of >= rows) {
                        take::<N>(&ring, &mut below, after, comptime!(place_of - rows), k, wide);
                    } else {
                        take::<N>(&ring, &mut below, enters, place_of, k, wide);
                    }
                }
                // Once for all, because a compiler moves nothing past a branch.
                if !place.inside {
                    mend::<N>(&mut above, &place, rows);
                    mend::<N>(&mut below, &place, rows);
                }
            }
            down::<N>(&mut pairs, &above, &below, &mut shared, here, wide);
            let next = row as i32 + comptime!(rows as i32);
            if comptime!(wide.kept) {
                // In the place of those that left, which have been taken; behind the strip as well, where nobody takes them.
                let further = next - comptime!(rows as i32) - reach - 1i32 + comptime!(wide.ring() as i32);
                #[unroll]
                for k in 0..rows {
                    copy::<N>(source, &mut ring, further + k as i32, leaves + k, &place, wide);
                }
                arrive(barriers.index(comptime!(part as usize)));
                enters = after;
                leaves += rows;
                if leaves == comptime!(wide.ring()) {
                    leaves = 0u32;
                }
            } else {
                load::<N>(source, &mut below, next + reach, &place, 0u32, rows);
                load::<N>(source, &mut above, next - reach - 1i32, &place, 0u32, rows);
            }
            sync_cube();
            across::<N>(&shared, out, step, row, inverse, beside, &place, wide);
            // Of two buffers, the next step writes the other, and the one after only after the next one's wait.
            if comptime!(wide.buffers() == 1) {
                sync_cube();
            }
        }
    }
    // Copies have to be there before this cube's memory is another's.
    if comptime!(wide.kept) {
        #[unroll]
        for part in 0..comptime!(wide.parts()) {
            barriers
                .index(comptime!(part as usize))
                .wait_parity((steps + part) % 2u32);
        }
    }
}

/// Adds the rows of the window whose first is `top` to the sums of their columns.
#[cube]
fn read_window<N: Size>(
    source: &Array<Vector<u32, N>>,
    pairs: &mut Array<u32>,
    top: i32,
    place: &Place,
    #[comptime] wide: Wide,
) {
    let (rows, window) = comptime!((wide.rows, 2 * wide.radius + 1));
    // As many at a time as hide that they are far.
    let many = comptime!(16 / rows * rows);
    let rest = comptime!(window % many);
    let mut read = Array::<u32>::new(comptime!((4 * many) as usize));
    for b in 0..comptime!(window / many) {
        load::<N>(source, &mut read, top + (b * many) as i32, place, 0u32, many);
        add(pairs, &read, many);
    }
    if comptime!(rest > 0) {
        let row = top + comptime!((window - rest) as i32);
        load::<N>(source, &mut read, row, place, 0u32, rest);
        add(pairs, &read, rest);
    }
}

/// The sums of a step's windows, from those before and the rows that leave and enter, to shared memory, from `here` on: pairs, and totals of a
/// unit's columns.
#[cube]
fn down<N: Size>(
    pairs: &mut Array<u32>,
    above: &Array<u32>,
    below: &Array<u32>,
    shared: &mut SharedMemory<Vector<u32, N>>,
    here: usize,
    #[comptime] wide: Wide,
) {
    let rows = comptime!(wide.rows);
    let mut totals = Vector::<u32, N>::new(0u32);
    #[unroll]
    for k in 0..rows {
        #[unroll]
        for w in 0..4u32 {
            let (word, pair) = comptime!(((4 * k + w) as usize, (2 * w) as usize));
            pairs[pair] = pairs[pair] + evens(below[word]) - evens(above[word]);
            pairs[comptime!(pair + 1)] = pairs[comptime!(pair + 1)] + odds(below[word]) - odds(above[word]);
        }
        totals[comptime!(k as usize)] = from_pixel(pairs, 0u32);
        #[unroll]
        for v in 0..comptime!(PAIRS / 4) {
            let mut vector = Vector::<u32, N>::empty();
            #[unroll]
            for p in 0..4u32 {
                vector[comptime!(p as usize)] = pairs[comptime!((4 * v + p) as usize)];
            }
            shared[here + comptime!((k * wide.row() + v * wide.units) as usize)] = vector;
        }
    }
    shared[here + comptime!((wide.row() * rows) as usize)] = totals;
}

/// The words of a unit in `count` rows from `first` on, to `words` from row `at` on; what lies outside is the nearest inside.
#[cube]
fn load<N: Size>(
    source: &Array<Vector<u32, N>>,
    words: &mut Array<u32>,
    first: i32,
    place: &Place,
    #[comptime] at: u32,
    #[comptime] count: u32,
) {
    let of_row = place.pitch / 4u32;
    let last = place.height as i32 - 1i32;
    let mut far = max(first, 0i32) == min(first, last - comptime!(count as i32 - 1i32));
    far = far && place.inside;
    // 0 ≤ row < height; columns are inside, or kept there.
    if far {
        let from = first as u32 * of_row + place.column as u32 / COLUMNS;
        #[unroll]
        for k in 0..count {
            let loaded = source[(from + k * of_row) as usize];
            #[unroll]
            for w in 0..4u32 {
                words[comptime!((4 * (at + k) + w) as usize)] = loaded[comptime!(w as usize)];
            }
        }
    } else {
        #[unroll]
        for k in 0..count {
            let row = max(min(first + comptime!(k as i32), last), 0i32) as u32;
            let loaded = source[(row * of_row + place.nearest) as usize];
            let edge = edge::<N>(loaded, place.column, place.width, 4u32);
            #[unroll]
            for w in 0..4u32 {
                let column = place.column + comptime!(4 * w as i32);
                words[comptime!((4 * (at + k) + w) as usize)] =
                    mended(loaded[comptime!(w as usize)], edge, column, place.width);
            }
        }
    }
}

/// Copies a unit's vector of picture row `row`, or of the nearest inside, to row `slot` of the ring.
#[cube]
fn copy<N: Size>(
    source: &Array<Vector<u32, N>>,
    ring: &mut SharedMemory<Vector<u32, N>>,
    row: i32,
    slot: u32,
    place: &Place,
    #[comptime] wide: Wide,
) {
    // 0 ≤ row < height, and the vector is one of its row.
    let row = max(min(row, place.height as i32 - 1i32), 0i32) as u32;
    let from = (row * (place.pitch / 4u32) + place.nearest) as usize;
    let to = (slot * comptime!(wide.units) + UNIT_POS) as usize;
    let mut target = ring.slice_mut(to, to + 1usize);
    copy_async(&source.slice(from, from + 1usize), &mut target, 4u32);
}

/// What was copied until now is what the barrier waits for.
#[cube]
fn arrive(barrier: &Shared<Barrier>) {
    barrier.commit_copy_async();
    barrier.arrive();
}

/// The words of a unit in the row so many `after` row `slot` of the ring, to row `at` of `words`.
#[cube]
fn take<N: Size>(
    ring: &SharedMemory<Vector<u32, N>>,
    words: &mut Array<u32>,
    slot: u32,
    #[comptime] after: u32,
    #[comptime] at: u32,
    #[comptime] wide: Wide,
) {
    let place = (slot * comptime!(wide.units) + UNIT_POS) as usize;
    let vector = ring[place + comptime!((after * wide.units) as usize)];
    #[unroll]
    for w in 0..4u32 {
        words[comptime!((4 * at + w) as usize)] = vector[comptime!(w as usize)];
    }
}

/// Makes the pixels of `count` rows that lie outside of the picture the nearest inside.
#[cube]
fn mend<N: Size>(words: &mut Array<u32>, place: &Place, #[comptime] count: u32) {
    #[unroll]
    for k in 0..count {
        let mut vector = Vector::<u32, N>::empty();
        #[unroll]
        for w in 0..4u32 {
            vector[comptime!(w as usize)] = words[comptime!((4 * k + w) as usize)];
        }
        let edge = edge::<N>(vector, place.column, place.width, 4u32);
        #[unroll]
        for w in 0..4u32 {
            let column = place.column + comptime!(4 * w as i32);
            let word = comptime!((4 * k + w) as usize);
            words[word] = mended(words[word], edge, column, place.width);
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
        bits = (pair >> 16u32) | BESIDE;
    }
    f32::reinterpret(bits)
}

/// The sum of a unit's pixels from `first` on.
#[cube]
fn from_pixel(pairs: &Array<u32>, #[comptime] first: u32) -> u32 {
    // Two pairs added are at most 2 · 127 · 255 in each half. What is left of all that was added without the upper halves are the lower ones.
    let mut all = u32::new(0);
    let mut upper = u32::new(0);
    let mut begun = u32::new(0);
    #[unroll]
    for w in 0..4u32 {
        let (pair, begin) = comptime!(((2 * w) as usize, 4 * w));
        if comptime!(begin >= first) {
            let two = pairs[pair] + pairs[comptime!(pair + 1)];
            all += two;
            upper += two >> 16u32;
        } else {
            #[unroll]
            for b in 0..4u32 {
                if comptime!(begin + b >= first) {
                    let pair = pairs[comptime!((2 * w + b % 2) as usize)];
                    if comptime!(b >= 2) {
                        begun += pair >> 16u32;
                    } else {
                        begun += pair & 0xffffu32;
                    }
                }
            }
        }
    }
    begun + (all - upper * 65_535u32)
}

/// The pairs of 15 pixels from `far` on and those around them, of row `row` in shared memory; the first is that of pixel 0 of
/// their unit. At `at` lies the first vector of a step of the first unit that a window reaches.
#[cube]
fn pairs_from<N: Size>(
    shared: &SharedMemory<Vector<u32, N>>,
    pairs: &mut Array<u32>,
    at: usize,
    #[comptime] row: u32,
    #[comptime] far: Far,
    #[comptime] wide: Wide,
) {
    #[unroll]
    for v in 0..4u32 {
        if comptime!(8 * v + 7 >= far.pixel && 8 * v <= far.pixel + COLUMNS - 2) {
            let further =
                comptime!(wide.further(far.units + (v / 2) as i32, row * wide.row() + v % 2 * wide.units));
            let vector = shared[at + further];
            #[unroll]
            for p in 0..4u32 {
                pairs[comptime!((4 * v + p) as usize)] = vector[comptime!(p as usize)];
            }
        }
    }
}

/// The means of a unit's columns in the rows of a step, from `row` on, to memory.
#[cube]
#[allow(clippy::too_many_arguments)]
fn across<N: Size>(
    shared: &SharedMemory<Vector<u32, N>>,
    out: &mut Array<Vector<u32, N>>,
    step: u32,
    row: u32,
    inverse: f32,
    beside: u32,
    place: &Place,
    #[comptime] wide: Wide,
) {
    let (leaves, enters) = comptime!((wide.leaves(), wide.enters()));
    let mut computes = UNIT_POS >= comptime!(wide.first());
    computes = computes && UNIT_POS < comptime!(wide.end());
    computes = computes && place.column < place.width as i32;
    if computes {
        // The units of which a window has all columns, or their beginnings, of which the ends are taken away again.
        let whole = comptime!(leaves.units + i32::from(leaves.pixel > 0));
        let end = comptime!(enters.units + i32::from(enters.pixel > 0));
        // Who computes has so many units before it.
        let at = (step + UNIT_POS - comptime!(wide.reach())) as usize;
        let mut totals = Vector::<u32, N>::new(0u32);
        #[unroll]
        for u in 0..comptime!((end - whole) as u32) {
            totals += shared[at + comptime!(wide.further(whole + u as i32, wide.row() * wide.rows))];
        }
        let mut means = Array::<u32>::new(comptime!((4 * wide.rows) as usize));
        #[unroll]
        for k in 0..comptime!(wide.rows) {
            let mut gone = Array::<u32>::new(comptime!((2 * PAIRS) as usize));
            let mut come = Array::<u32>::new(comptime!((2 * PAIRS) as usize));
            pairs_from::<N>(shared, &mut gone, at, k, leaves, wide);
            pairs_from::<N>(shared, &mut come, at, k, enters, wide);
            let mut sum = totals[comptime!(k as usize)];
            if comptime!(leaves.pixel > 0) {
                sum += from_pixel(&gone, comptime!(leaves.pixel));
            }
            if comptime!(enters.pixel > 0) {
                sum -= from_pixel(&come, comptime!(enters.pixel));
            }
            let mut window = f32::cast_from(sum);
            #[unroll]
            for w in 0..4u32 {
                let mut bytes = u32::new(0);
                #[unroll]
                for b in 0..4u32 {
                    let p = comptime!(4 * w + b);
                    if comptime!(p > 0) {
                        let enters = pixel(&come, comptime!(enters.pixel + p - 1), beside);
                        window += enters - pixel(&gone, comptime!(leaves.pixel + p - 1), beside);
                    }
                    bytes += rounded(window, inverse) << comptime!(8 * b);
                }
                means[comptime!((4 * k + w) as usize)] = bytes - BESIDE;
            }
        }
        store::<N>(out, &mut means, row, place, wide);
    }
}

/// Stores the means of `wide.rows` rows from `row` on; rows past the picture are not its memory, and a row has 0 past its width.
#[cube]
fn store<N: Size>(
    out: &mut Array<Vector<u32, N>>,
    means: &mut Array<u32>,
    row: u32,
    place: &Place,
    #[comptime] wide: Wide,
) {
    let word = place.column as u32 / 4u32;
    // Once for all rows, because a compiler moves nothing past a branch.
    if place.column as u32 + COLUMNS > place.width {
        #[unroll]
        for k in 0..comptime!(4 * wide.rows) {
            let bytes = comptime!(Samples::Bytes);
            let mean = means[comptime!(k as usize)];
            means[comptime!(k as usize)] = within::<u32>(mean, word + comptime!(k % 4), place.width, bytes);
        }
    }
    #[unroll]
    for k in 0..comptime!(wide.rows) {
        if row + k < place.height {
            let mut vector = Vector::<u32, N>::empty();
            #[unroll]
            for w in 0..4u32 {
                vector[comptime!(w as usize)] = means[comptime!((4 * k + w) as usize)];
            }
            out[(((row + k) * place.pitch + word) / 4u32) as usize] = vector;
        }
    }
}
