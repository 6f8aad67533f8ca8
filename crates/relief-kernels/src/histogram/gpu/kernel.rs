//! The kernels: one that counts in shared memory, and one that adds up what cubes have counted.

use cubecl::prelude::*;

use super::Shape;

/// Counts the samples of `vectors` vectors and `rest` more; a row of counts for each of `rows` cubes, or for as many as share
/// the values among them.
#[cube(launch_unchecked)]
pub(super) fn count<N: Size>(
    from: &Array<Vector<u32, N>>,
    scratch: &mut Array<u32>,
    vectors: u32,
    rest: u32,
    rows: u32,
    #[comptime] shape: Shape,
) {
    let words = comptime!(shape.values * shape.copies);
    let counters = SharedMemory::<Atomic<u32>>::new(comptime!((shape.values * shape.copies) as usize));
    let mut place = UNIT_POS;
    while place < words {
        counters[place as usize].store(0u32);
        place += comptime!(shape.units);
    }
    sync_cube();

    let slice = CUBE_POS as u32 % comptime!(shape.slices());
    let row = CUBE_POS as u32 / comptime!(shape.slices());
    let lane = UNIT_POS % comptime!(shape.copies);
    let chunk = comptime!(shape.units * shape.items);
    // Cubes that fill the last row of the grid have nothing to do.
    let mut first = row * chunk + UNIT_POS;
    if row >= rows {
        first = vectors;
    }
    while first + comptime!(shape.units * (shape.items - 1)) < vectors {
        let mut held = Array::<Vector<u32, N>>::new(comptime!(shape.items as usize));
        #[unroll]
        for k in 0..comptime!(shape.items) {
            held[k as usize] = from[(first + comptime!(k * shape.units)) as usize];
        }
        #[unroll]
        for k in 0..comptime!(shape.items) {
            count_vector::<N>(&counters, held[k as usize], slice, lane, shape);
        }
        first += rows * chunk;
    }
    // What is left is less than a chunk: its units' last vectors are missing.
    #[unroll]
    for k in 0..comptime!(shape.items - 1) {
        let place = first + comptime!(k * shape.units);
        if place < vectors {
            if row < rows {
                count_vector::<N>(&counters, from[place as usize], slice, lane, shape);
            }
        }
    }
    if row == 0 {
        if UNIT_POS == 0 {
            if rest > 0 {
                count_rest::<N>(&counters, from[vectors as usize], rest, slice, shape);
            }
        }
    }
    sync_cube();

    if row < rows {
        let mut value = UNIT_POS;
        while value < comptime!(shape.values) {
            let mut sum = u32::new(0);
            #[unroll]
            for i in 0..comptime!(shape.copies) {
                // Units begin with different lanes, which lie in different banks.
                let copy = (i + value) % comptime!(shape.copies);
                sum += counters[(value * comptime!(shape.copies) + copy) as usize].load();
            }
            let bin = slice * comptime!(shape.values) + value;
            scratch[(row * comptime!(1 << shape.bits) + bin) as usize] = sum;
            value += comptime!(shape.units);
        }
    }
}

/// Counts the samples of a vector: all at once where they are the same.
#[cube]
fn count_vector<N: Size>(
    counters: &SharedMemory<Atomic<u32>>,
    vector: Vector<u32, N>,
    slice: u32,
    lane: u32,
    #[comptime] shape: Shape,
) {
    let bits = comptime!(shape.bits);
    let word = vector[0];
    let turned = (word << bits) | (word >> comptime!(32 - bits));
    let differ = (word ^ vector[1]) | (word ^ vector[2]) | (word ^ vector[3]) | (word ^ turned);
    if differ == 0 {
        let sample = word & comptime!((1u32 << bits) - 1);
        add(counters, sample, comptime!(128 / bits), slice, lane, shape);
    } else {
        #[unroll]
        for n in 0..4u32 {
            let word = vector[n as usize];
            #[unroll]
            for k in 0..comptime!(32 / bits) {
                let sample = (word >> comptime!(k * bits)) & comptime!((1u32 << bits) - 1);
                add(counters, sample, 1u32, slice, lane, shape);
            }
        }
    }
}

/// Counts the first `rest` samples of a vector.
#[cube]
fn count_rest<N: Size>(
    counters: &SharedMemory<Atomic<u32>>,
    vector: Vector<u32, N>,
    rest: u32,
    slice: u32,
    #[comptime] shape: Shape,
) {
    let bits = comptime!(shape.bits);
    #[unroll]
    for e in 0..comptime!(128 / shape.bits) {
        if e < rest {
            let word = vector[comptime!((e * shape.bits / 32) as usize)];
            let sample = (word >> comptime!(e * shape.bits % 32)) & comptime!((1u32 << bits) - 1);
            add(counters, sample, 1u32, slice, 0u32, shape);
        }
    }
}

/// Adds to the counter of a lane where this cube counts the sample's value.
#[cube]
fn add(
    counters: &SharedMemory<Atomic<u32>>,
    sample: u32,
    #[comptime] amount: u32,
    slice: u32,
    lane: u32,
    #[comptime] shape: Shape,
) {
    if comptime!(shape.slices() == 1) {
        counters[(sample * comptime!(shape.copies) + lane) as usize]
            .fetch_add(u32::new(comptime!(amount as i64)));
    } else {
        let value = sample - slice * comptime!(shape.values);
        // A sample below the slice wraps around, far above it.
        if value < comptime!(shape.values) {
            counters[(value * comptime!(shape.copies) + lane) as usize]
                .fetch_add(u32::new(comptime!(amount as i64)));
        }
    }
}

/// Adds up the rows of counts of each bin, and adds the sum to the bin's count, or makes it that.
#[cube(launch_unchecked)]
pub(super) fn add_up(
    scratch: &Array<u32>,
    counts: &mut Array<u32>,
    rows: u32,
    first: u32,
    #[comptime] bins: u32,
    #[comptime] units: u32,
    #[comptime] together: u32,
) {
    let mut sums = SharedMemory::<u32>::new(comptime!(units as usize));
    let bin = CUBE_POS as u32 * comptime!(together) + UNIT_POS % comptime!(together);
    let mut row = UNIT_POS / comptime!(together);
    let mut sum = u32::new(0);
    while row < rows {
        sum += scratch[(row * bins + bin) as usize];
        row += comptime!(units / together);
    }
    sums[UNIT_POS as usize] = sum;
    sync_cube();
    if UNIT_POS < comptime!(together) {
        let mut total = u32::new(0);
        for k in 0..comptime!(units / together) {
            total += sums[(k * together + UNIT_POS) as usize];
        }
        let mut low = u32::new(0);
        let mut high = u32::new(0);
        if first == 0 {
            low = counts[(bin * 2u32) as usize];
            high = counts[(bin * 2u32 + 1u32) as usize];
        }
        let sum = low + total;
        counts[(bin * 2u32) as usize] = sum;
        counts[(bin * 2u32 + 1u32) as usize] = high + u32::cast_from(sum < low);
    }
}
