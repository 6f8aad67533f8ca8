//! The kernels: one that counts in shared memory, and one that adds up what cubes (blocks) have counted.

use cubecl::prelude::*;

use super::Shape;

/// Counts the samples of `vectors` vectors and `rest` more; a row of counts for each of `rows` cubes, or for as many as share
/// the values among them. `spilt` is the same memory as `scratch`: a row after the others has what counters of less than 32 bits
/// could not hold.
#[cube(launch_unchecked)]
pub(super) fn count<N: Size>(
    from: &Array<Vector<u32, N>>,
    scratch: &mut Array<u32>,
    spilt: &mut Array<Atomic<u32>>,
    vectors: u32,
    rest: u32,
    rows: u32,
    #[comptime] shape: Shape,
) {
    let words = comptime!(shape.words());
    let counters = SharedMemory::<Atomic<u32>>::new(comptime!(shape.words() as usize));
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
    let over = rows << comptime!(shape.bits);
    // The same for all units of a cube, so that planes stay whole. Cubes that fill the last row of the grid have nothing to do.
    let mut first = row * chunk;
    if row >= rows {
        first = vectors;
    }
    while first + chunk <= vectors {
        let mut held = Array::<Vector<u32, N>>::new(comptime!(shape.items as usize));
        #[unroll]
        for k in 0..comptime!(shape.items) {
            held[k as usize] = from[(first + UNIT_POS + comptime!(k * shape.units)) as usize];
        }
        #[unroll]
        for k in 0..comptime!(shape.items) {
            count_vector::<N>(
                &counters,
                spilt,
                over,
                held[k as usize],
                slice,
                lane,
                comptime!(shape.together()),
                shape,
            );
        }
        first += rows * chunk;
    }
    // What is left is less than a chunk.
    #[unroll]
    for k in 0..comptime!(shape.items) {
        let place = first + UNIT_POS + comptime!(k * shape.units);
        if place < vectors {
            if row < rows {
                count_vector::<N>(
                    &counters,
                    spilt,
                    over,
                    from[place as usize],
                    slice,
                    lane,
                    false,
                    shape,
                );
            }
        }
    }
    if row == 0 {
        if UNIT_POS == 0 {
            if rest > 0 {
                count_rest::<N>(&counters, spilt, over, from[vectors as usize], rest, slice, shape);
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
                let place = place_of(value, shape) * comptime!(shape.copies) + copy;
                sum += (counters[place as usize].load() >> shift_of(value, shape))
                    & comptime!(u32::MAX >> (32 - shape.width()));
            }
            let bin = slice * comptime!(shape.values) + value;
            scratch[(row * comptime!(1 << shape.bits) + bin) as usize] = sum;
            value += comptime!(shape.units);
        }
    }
}

/// Counts the samples of a vector: all at once where they are the same; those of a plane where all of them are.
#[cube]
#[allow(clippy::too_many_arguments)]
fn count_vector<N: Size>(
    counters: &SharedMemory<Atomic<u32>>,
    spilt: &mut Array<Atomic<u32>>,
    over: u32,
    vector: Vector<u32, N>,
    slice: u32,
    lane: u32,
    #[comptime] together: bool,
    #[comptime] shape: Shape,
) {
    let bits = comptime!(shape.bits);
    let word = vector[0];
    let turned = (word << bits) | (word >> comptime!(32 - bits));
    let differ = (word ^ vector[1]) | (word ^ vector[2]) | (word ^ vector[3]) | (word ^ turned);
    let sample = word & comptime!((1u32 << bits) - 1);
    let mut counted = false;
    if comptime!(together) {
        let first = plane_broadcast(word, 0u32);
        if plane_all((differ | (word ^ first)) == 0u32) {
            counted = true;
            if UNIT_POS % comptime!(shape.lanes) == 0 {
                let amount = comptime!(128 / bits * shape.lanes);
                add(counters, spilt, over, sample, amount, slice, lane, shape);
            }
        }
    }
    if !counted {
        if differ == 0 {
            add(
                counters,
                spilt,
                over,
                sample,
                comptime!(128 / bits),
                slice,
                lane,
                shape,
            );
        } else {
            #[unroll]
            for n in 0..4u32 {
                let word = vector[n as usize];
                #[unroll]
                for k in 0..comptime!(32 / bits) {
                    let sample = (word >> comptime!(k * bits)) & comptime!((1u32 << bits) - 1);
                    add(counters, spilt, over, sample, 1u32, slice, lane, shape);
                }
            }
        }
    }
}

/// Counts the first `rest` samples of a vector.
#[cube]
fn count_rest<N: Size>(
    counters: &SharedMemory<Atomic<u32>>,
    spilt: &mut Array<Atomic<u32>>,
    over: u32,
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
            add(counters, spilt, over, sample, 1u32, slice, 0u32, shape);
        }
    }
}

/// Adds to the counter of a lane where this cube counts the sample's value.
#[cube]
#[allow(clippy::too_many_arguments)]
fn add(
    counters: &SharedMemory<Atomic<u32>>,
    spilt: &mut Array<Atomic<u32>>,
    over: u32,
    sample: u32,
    #[comptime] amount: u32,
    slice: u32,
    lane: u32,
    #[comptime] shape: Shape,
) {
    if comptime!(shape.slices() == 1) {
        add_to(counters, spilt, over, sample, amount, lane, shape);
    } else {
        // rung: histogram on gpu: eighths | quarters | halves
        let first = slice * comptime!(shape.values);
        let value = sample - first;
        // A sample below the slice wraps around, far above it.
        if value < comptime!(shape.values) {
            add_to(counters, spilt, over + first, value, amount, lane, shape);
        }
        // end
    }
}

/// Adds to the counter of a lane of the slice's value `value`, whose first counts as `over` where counters overflow.
#[cube]
fn add_to(
    counters: &SharedMemory<Atomic<u32>>,
    spilt: &mut Array<Atomic<u32>>,
    over: u32,
    value: u32,
    #[comptime] amount: u32,
    lane: u32,
    #[comptime] shape: Shape,
) {
    let place = place_of(value, shape);
    let one = u32::new(comptime!(amount as i64));
    if comptime!(shape.fields == 1) {
        // rung: histogram on gpu: production
        counters[(place * comptime!(shape.copies) + lane) as usize].fetch_add(one);
        // end
    } else {
        let shift = shift_of(value, shape);
        let before = counters[place as usize].fetch_add(one << shift);
        let most = comptime!(u32::MAX >> (32 - shape.width()));
        if ((before >> shift) & most) + one > most {
            spill(spilt, over + place, before, shift, shape);
        }
    }
}

/// Counts the samples of `vectors` vectors and `rest` more in the counts themselves, of two words each.
#[cube(launch_unchecked)]
pub(super) fn count_in_memory<N: Size>(
    from: &Array<Vector<u32, N>>,
    counts: &mut Array<Atomic<u32>>,
    vectors: u32,
    rest: u32,
    #[comptime] shape: Shape,
) {
    let bits = comptime!(shape.bits);
    let first = CUBE_POS as u32 * comptime!(shape.units * shape.items) + UNIT_POS;
    for k in 0..comptime!(shape.items) {
        let place = first + k * comptime!(shape.units);
        if place <= vectors {
            let mut samples = u32::new(comptime!((128 / bits) as i64));
            if place == vectors {
                samples = rest;
            }
            if samples > 0 {
                let vector = from[place as usize];
                #[unroll]
                for e in 0..comptime!(128 / shape.bits) {
                    let word = vector[comptime!((e * bits / 32) as usize)];
                    let sample = (word >> comptime!(e * bits % 32)) & comptime!((1u32 << bits) - 1);
                    if e < samples {
                        let count = (sample * 2u32) as usize;
                        let before = counts[count].fetch_add(1u32);
                        if before == u32::new(comptime!(u32::MAX as i64)) {
                            counts[count + 1].fetch_add(1u32);
                        }
                    }
                }
            }
        }
    }
}

/// The word of a value's counter: neighbours lie in different banks.
#[cube]
fn place_of(value: u32, #[comptime] shape: Shape) -> u32 {
    value % comptime!(shape.values / shape.fields)
}

/// Where in its word a value's counter begins.
#[cube]
fn shift_of(value: u32, #[comptime] shape: Shape) -> u32 {
    value / comptime!(shape.values / shape.fields) * comptime!(shape.width())
}

/// Notes that the counter at `shift` of a word has wrapped around, which was `before`. That added 1 to the counter above, which is
/// taken off again, and that may have wrapped around too: each wrap is seen by the one addition that made it, so sums in memory
/// come out right, whoever adds what in between.
#[cube]
fn spill(spilt: &mut Array<Atomic<u32>>, place: u32, before: u32, shift: u32, #[comptime] shape: Shape) {
    // rung: histogram on gpu: counters of 16 bits | counters of 8 bits
    let width = comptime!(shape.width());
    let most = comptime!(u32::MAX >> (32 - shape.width()));
    let step = comptime!(shape.values / shape.fields);
    let mut at = shift;
    let mut wraps = true;
    while wraps {
        spilt[(place + at / width * step) as usize].fetch_add(comptime!(1u32 << shape.width()));
        at += width;
        wraps = false;
        if at < 32 {
            spilt[(place + at / width * step) as usize].fetch_sub(1u32);
            wraps = ((before >> at) & most) == most;
        }
    }
    // end
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
