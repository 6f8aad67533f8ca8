//! Symmetric weights of bytes: four tiles of 16 × 16 pixels for each plane (warp) at a time, down a strip,
//! with nothing between planes.
//!
//! A weighted sum along an axis is a product with a band of weights.
//!
//! *Across.* Band (16 columns of the result × 32 columns read) times rows (32 columns × 8 rows): what a lane
//! needs of the right matrix are words of the picture as they are, whichever, as long as the band has them in
//! the same order. So a lane loads a vector of the columns of the result, and one word beside them. Sums have
//! 16 bits.
//!
//! *Down.* Band (16 rows of the result × 32 rows) times those sums (32 rows × 8 columns), their high bytes,
//! then 256 times that and their low bytes. What a lane has of sums is what it needs of the right matrix: the
//! order in which an instruction counts the 32 is ours to choose, as long as both matrices have the same. Of
//! 32 rows 16 are those of the step before.
//!
//! The columns of the result are dealt to the rows of the first product so that a lane ends with 16
//! neighbours: a vector of the result.

use cubecl::prelude::barrier::{Barrier, copy_async};
use cubecl::prelude::*;

use super::groups::{edge, mended, nearest};
use crate::stencil::gpu::Samples;
use crate::stencil::gpu::columns::within;
use crate::stencil::gpu::pairs::{Pairs, seconds};

/// Rows and columns of the result that a plane computes at a time, and rows of a step.
pub(in crate::stencil::gpu) const TILE: u32 = 16;

/// The greatest radius: two words are read left and right of tiles, and 32 rows for 16.
pub(in crate::stencil::gpu) const REACH: u32 = 8;

/// Matrices of 16 × 32 and 32 × 8 bytes, whose products are added in 32 bits.
type Product = cmma::MmaDefinition<u8, u8, i32>;

/// What a lane has of a matrix, side by side: four of those that are multiplied, two of those that are added.
type Four = Vector<u8, Const<4>>;
type Two = Vector<i32, Const<2>>;

/// Tiles of a plane: as many as a lane's vector has words, each of which is one tile's.
const TILES: u32 = 4;

/// Words that a lane reads of a row: a vector, and one of those beside the tiles.
const WORDS: u32 = 5;

/// Products across a tile: of the first half of lanes' vectors, of the second, and of the words beside, which are half of what it takes.
const PRODUCTS: u32 = 3;

/// Tiles whose rows are on their way, each to a stage of shared memory of its own: copies that take no registers.
const STAGES: u32 = 2;

/// Places of weights in shared memory: from this much left of the result to as much right of it.
const AWAY: u32 = 80;

/// What is compiled into the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::stencil::gpu) struct Plan {
    /// By distance from the middle, 256ths; below 256, and of at most [`REACH`] + 1.
    pub(in crate::stencil::gpu) weights: Vec<u32>,
    /// Units of a cube: planes of 32 side by side.
    pub(in crate::stencil::gpu) units: u32,
}

impl Plan {
    /// Columns of words that a cube computes.
    pub(in crate::stencil::gpu) const fn columns(&self) -> u32 {
        self.units / 32 * TILES * (TILE / 4)
    }

    /// Rows of a step.
    pub(in crate::stencil::gpu) const fn rows() -> u32 {
        STAGES * TILE
    }
}

/// Weights the squares of a strip of `steps` · 32 rows; CUBE_POS_X counts cubes across, CUBE_POS_Y strips down. `words` are those of
/// `source`.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(in crate::stencil::gpu) fn weigh_by_matrix<N: Size>(
    source: &Array<Vector<u32, N>>,
    out: &mut Array<Vector<u32, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    words: &Array<u32>,
    steps: u32,
    #[comptime] plan: Plan,
) {
    let definition = Product::new(16usize, 8usize, 32usize);
    let (group, lane) = (UNIT_POS_PLANE / 4u32, UNIT_POS_PLANE % 4u32);
    let plane = CUBE_POS_X * comptime!(plan.units / 32) + UNIT_POS / 32u32;
    let first = CUBE_POS_Y * steps * comptime!(Plan::rows());
    let mut across = Array::<u32>::new(comptime!((4 * PRODUCTS * TILES) as usize));
    let mut down = Array::<Four>::new(4usize);
    bands(&mut across, &mut down, group, lane, comptime!(plan.clone()));

    let place = place(plane, lane, width, height, pitch);
    let units = comptime!(plan.units);
    // Of each stage rows g and g + 8 of all units, vectors and words beside.
    let mut vectors = SharedMemory::<Vector<u32, N>>::new(comptime!((2 * STAGES * units) as usize));
    let mut asides = SharedMemory::<u32>::new(comptime!((2 * STAGES * units) as usize));
    let mut barriers = Sequence::<Shared<Barrier>>::new();
    #[unroll]
    for _ in 0..STAGES {
        barriers.push(Barrier::shared(units, UNIT_POS == 0));
    }
    // Of each tile: high and low bytes of sums, of columns g and of those two further, of sixteen rows and of the next sixteen.
    let mut above = Array::<u32>::new(comptime!((4 * TILES) as usize));
    let mut below = Array::<u32>::new(comptime!((4 * TILES) as usize));
    // Rows g and g + 8.
    let mut read = Array::<u32>::new(comptime!((2 * WORDS) as usize));
    let top = first as i32 - comptime!(REACH as i32) + group as i32;
    #[unroll]
    for stage in 0..STAGES {
        let row = top + comptime!((stage * TILE) as i32);
        let barrier = barriers.index(comptime!(stage as usize));
        ask::<N>(
            source,
            words,
            &mut vectors,
            &mut asides,
            barrier,
            row,
            &place,
            stage,
            units,
        );
    }
    barriers.index(0usize).wait_parity(0u32);
    take::<N>(&vectors, &asides, &mut read, &place, 0u32, units);
    sums(&definition, &across, &read, &mut above);
    let after = top + comptime!(Plan::rows() as i32);
    ask::<N>(
        source,
        words,
        &mut vectors,
        &mut asides,
        barriers.index(0usize),
        after,
        &place,
        0u32,
        units,
    );

    let result = place.column / 4u32 + lane * 4u32;
    for s in 0..steps {
        #[unroll]
        for tile in 0..STAGES {
            let row = first + s * comptime!(Plan::rows()) + comptime!(tile * TILE);
            let stage = comptime!((tile + 1) % STAGES);
            let parity = (s + comptime!((tile + 1) / STAGES)) % 2u32;
            let barrier = barriers.index(comptime!(stage as usize));
            barrier.wait_parity(parity);
            take::<N>(&vectors, &asides, &mut read, &place, stage, units);
            sums(&definition, &across, &read, &mut below);
            // Behind the strip as well, where nobody takes them.
            let after = row as i32 + comptime!(((STAGES + 1) * TILE) as i32 - REACH as i32) + group as i32;
            ask::<N>(
                source,
                words,
                &mut vectors,
                &mut asides,
                barrier,
                after,
                &place,
                stage,
                units,
            );
            results::<N>(
                &definition,
                &down,
                &above,
                &below,
                out,
                row + group,
                result,
                &place,
            );
            #[unroll]
            for k in 0..comptime!((4 * TILES) as usize) {
                above[k] = below[k];
            }
        }
    }
    // Copies have to be there before this cube's memory is another's.
    #[unroll]
    for tile in 0..STAGES {
        let stage = comptime!((tile + 1) % STAGES);
        let parity = (steps + comptime!((tile + 1) / STAGES)) % 2u32;
        barriers.index(comptime!(stage as usize)).wait_parity(parity);
    }
}

/// The results of a tile's rows `row` and `row` + 8 of this lane, to memory from word `result` of a row on.
#[cube]
#[allow(clippy::too_many_arguments)]
fn results<N: Size>(
    definition: &Product,
    down: &Array<Four>,
    above: &Array<u32>,
    below: &Array<u32>,
    out: &mut Array<Vector<u32, N>>,
    row: u32,
    result: u32,
    place: &Place,
) {
    // A word of each tile in row g, then in row g + 8.
    let mut results = Array::<u32>::new(comptime!((2 * TILES) as usize));
    #[unroll]
    for t in 0..TILES {
        let at = comptime!((4 * t) as usize);
        let near = weighted(
            definition,
            down,
            above[at],
            below[at],
            above[comptime!(at + 1)],
            below[comptime!(at + 1)],
        );
        let far = weighted(
            definition,
            down,
            above[comptime!(at + 2)],
            below[comptime!(at + 2)],
            above[comptime!(at + 3)],
            below[comptime!(at + 3)],
        );
        #[unroll]
        for e in 0..2usize {
            // The third byte of each sum.
            let (l, r) = comptime!((2 * e, 2 * e + 1));
            let even = seconds(near[l], far[l], comptime!(Pairs::Halves));
            let odd = seconds(near[r], far[r], comptime!(Pairs::Halves));
            results[comptime!(e * TILES as usize + t as usize)] = even + (odd << 8u32);
        }
    }
    #[unroll]
    for e in 0..2u32 {
        let here = row + comptime!(8 * e);
        // Rows and words past the picture are not its memory.
        if here < place.height {
            if result < place.pitch {
                let mut vector = Vector::<u32, N>::empty();
                #[unroll]
                for t in 0..TILES {
                    vector[comptime!(t as usize)] = results[comptime!((e * TILES + t) as usize)];
                }
                if (result + 4u32) * 4u32 > place.width {
                    #[unroll]
                    for t in 0..TILES {
                        let word = vector[comptime!(t as usize)];
                        let bytes = comptime!(Samples::Bytes);
                        vector[comptime!(t as usize)] = within::<u32>(word, result + t, place.width, bytes);
                    }
                }
                out[((here * place.pitch + result) / 4u32) as usize] = vector;
            }
        }
    }
}

/// What this lane has of both bands. Across, of each tile t and product: columns of the result 16 · (g / 2) + 4 t + g mod 2, and two more,
/// by two words. Down: rows of the result g, and eight more, by rows read 2 t and 2 t + 8, 2 t + 1 and 2 t + 9, and sixteen more.
#[cube]
fn bands(across: &mut Array<u32>, down: &mut Array<Four>, group: u32, lane: u32, #[comptime] plan: Plan) {
    // From shared memory, or a compiler finds the weights again in each step.
    let mut weights = SharedMemory::<u32>::new(comptime!((2 * AWAY) as usize));
    for place in range_stepped(UNIT_POS, comptime!(2 * AWAY), comptime!(plan.units)) {
        weights[place as usize] = weight(place as i32 - comptime!(AWAY as i32), comptime!(plan.clone()));
    }
    sync_cube();
    #[unroll]
    for t in 0..TILES {
        #[unroll]
        for p in 0..PRODUCTS {
            #[unroll]
            for r in 0..4u32 {
                let made = 16u32 * (group / 2u32) + group % 2u32 + comptime!(4 * t + 2 * (r % 2));
                let mut word = u32::new(0);
                // The words beside are but half of a matrix.
                if comptime!(p < 2 || r < 2) {
                    let mut read = 16u32 * lane + comptime!(8 * p + 4 * (r / 2) + AWAY);
                    if comptime!(p == 2) {
                        read = beside(lane) + comptime!(AWAY - REACH);
                    }
                    #[unroll]
                    for b in 0..4u32 {
                        word |= weights[(read + b - made) as usize] << comptime!(8 * b);
                    }
                }
                across[comptime!((4 * (PRODUCTS * t + p) + r) as usize)] = word;
            }
        }
    }
    #[unroll]
    for r in 0..4u32 {
        let mut rows = u32::new(0);
        #[unroll]
        for b in 0..4u32 {
            let read = 2u32 * lane + comptime!(16 * (r / 2) + 8 * (b % 2) + b / 2 + AWAY - REACH);
            let made = group + comptime!(8 * (r % 2));
            rows |= weights[(read - made) as usize] << comptime!(8 * b);
        }
        down[comptime!(r as usize)] = Four::reinterpret(rows);
    }
}

/// Where the word of a lane lies that is beside the tiles, from [`REACH`] columns left of them on: two words left, two right.
#[cube]
fn beside(lane: u32) -> u32 {
    lane * 4u32 + select(lane < 2u32, 0u32, comptime!(TILES * TILE))
}

/// The weight of what is read so much further than the result.
#[cube]
fn weight(further: i32, #[comptime] plan: Plan) -> u32 {
    let away = max(further, -further);
    let mut weight = u32::new(0);
    #[unroll]
    for k in 0..comptime!(plan.weights.len()) {
        if away == comptime!(k as i32) {
            weight = u32::new(comptime!(plan.weights[k] as i64));
        }
    }
    weight
}

/// Where the tiles of a plane lie, and what this lane reads of them.
#[derive(CubeType, Clone)]
struct Place {
    /// Their first column.
    column: u32,
    /// The columns of this lane's vector and of its word beside the tiles; they may lie outside.
    vector: i32,
    aside: i32,
    /// The nearest vector and word of a row.
    nearest_vector: u32,
    nearest_aside: u32,
    /// Whether all that the plane reads of a row is inside.
    inside: bool,
    width: u32,
    height: u32,
    /// Words from one row to the next.
    pitch: u32,
}

#[cube]
fn place(plane: u32, lane: u32, width: u32, height: u32, pitch: u32) -> Place {
    let column = plane * comptime!(TILES * TILE);
    let vector = (column + lane * 16u32) as i32;
    let aside = column as i32 + beside(lane) as i32 - comptime!(REACH as i32);
    let mut inside = column >= REACH;
    inside = inside && column + comptime!(TILES * TILE + REACH) <= width;
    Place {
        column,
        vector,
        aside,
        nearest_vector: nearest(vector, width, 4u32),
        nearest_aside: nearest(aside, width, 1u32),
        inside,
        width,
        height,
        pitch,
    }
}

/// Asks for what a lane reads of rows `row` and `row` + 8, or of the nearest inside; what the stage had has been taken.
#[cube]
#[allow(clippy::too_many_arguments)]
fn ask<N: Size>(
    source: &Array<Vector<u32, N>>,
    words: &Array<u32>,
    vectors: &mut SharedMemory<Vector<u32, N>>,
    asides: &mut SharedMemory<u32>,
    barrier: &Shared<Barrier>,
    row: i32,
    place: &Place,
    #[comptime] stage: u32,
    #[comptime] units: u32,
) {
    #[unroll]
    for e in 0..2u32 {
        let last = place.height as i32 - 1i32;
        let here = max(min(row + comptime!(8 * e as i32), last), 0i32) as u32 * place.pitch;
        let to = (UNIT_POS + comptime!((2 * stage + e) * units)) as usize;
        // 0 ≤ row < height; vectors and words are kept within the row.
        let from = (here / 4u32 + place.nearest_vector) as usize;
        let mut target = vectors.slice_mut(to, to + 1usize);
        copy_async(&source.slice(from, from + 1usize), &mut target, 4u32);
        let from = (here + place.nearest_aside) as usize;
        let mut target = asides.slice_mut(to, to + 1usize);
        copy_async(&words.slice(from, from + 1usize), &mut target, 1u32);
    }
    barrier.commit_copy_async();
    barrier.arrive();
}

/// What was asked for; pixels outside are the nearest inside.
#[cube]
fn take<N: Size>(
    vectors: &SharedMemory<Vector<u32, N>>,
    asides: &SharedMemory<u32>,
    read: &mut Array<u32>,
    place: &Place,
    #[comptime] stage: u32,
    #[comptime] units: u32,
) {
    #[unroll]
    for e in 0..2u32 {
        let at = comptime!((WORDS * e) as usize);
        let from = (UNIT_POS + comptime!((2 * stage + e) * units)) as usize;
        let loaded = vectors[from];
        #[unroll]
        for k in 0..4usize {
            read[comptime!(at + k)] = loaded[k];
        }
        read[comptime!(at + 4)] = asides[from];
        if !place.inside {
            let width = place.width;
            let last = edge::<N>(loaded, place.vector, width, 4u32);
            #[unroll]
            for k in 0..4usize {
                read[comptime!(at + k)] =
                    mended(loaded[k], last, place.vector + comptime!(4 * k as i32), width);
            }
            let mut one = Vector::<u32, Const<1>>::empty();
            one[0usize] = asides[from];
            let last = edge::<Const<1>>(one, place.aside, width, 1u32);
            read[comptime!(at + 4)] = mended(one[0usize], last, place.aside, width);
        }
    }
}

/// High and low bytes of the sums across sixteen rows of each tile: those of columns g, then of those two further.
#[cube]
fn sums(definition: &Product, across: &Array<u32>, read: &Array<u32>, bytes: &mut Array<u32>) {
    #[unroll]
    for t in 0..TILES {
        let at = comptime!((4 * t) as usize);
        let mut two = Array::<u32>::new(4usize);
        #[unroll]
        for e in 0..2usize {
            let mut sum = Array::<Two>::new(2usize);
            sum[0usize] = Two::new(0i32);
            sum[1usize] = Two::new(0i32);
            #[unroll]
            for p in 0..PRODUCTS {
                let mut band = Array::<Four>::new(4usize);
                #[unroll]
                for r in 0..4usize {
                    band[r] = Four::reinterpret(across[comptime!((4 * (PRODUCTS * t + p)) as usize + r)]);
                }
                let word = comptime!(WORDS as usize * e + 2 * p as usize);
                let mut rows = Array::<Four>::new(2usize);
                rows[0usize] = Four::reinterpret(read[word]);
                // Of the words beside, the band has nothing for the second half.
                rows[1usize] = Four::reinterpret(read[comptime!(if p < 2 { word + 1 } else { word })]);
                definition.execute_inplace::<Const<4>, Const<4>, Const<2>>(&band, &rows, &mut sum);
            }
            #[unroll]
            for c in 0..2usize {
                let pair = sum[c];
                // At most 65 280 each.
                two[comptime!(2 * c + e)] = pair[0usize] as u32 + ((pair[1usize] as u32) << 16u32);
            }
        }
        #[unroll]
        for c in 0..2usize {
            let (upper, lower) = (two[comptime!(2 * c)], two[comptime!(2 * c + 1)]);
            let place = comptime!(at + 2 * c);
            bytes[place] = ((upper >> 8u32) & 0x00ff_00ffu32) | (lower & 0xff00_ff00u32);
            bytes[comptime!(place + 1)] = (upper & 0x00ff_00ffu32) + ((lower & 0x00ff_00ffu32) << 8u32);
        }
    }
}

/// Sums down of sums across, and a half, in 65 536ths: two columns of row g, then of row g + 8.
#[cube]
fn weighted(
    definition: &Product,
    down: &Array<Four>,
    high_above: u32,
    high_below: u32,
    low_above: u32,
    low_below: u32,
) -> Array<u32> {
    let mut rows = Array::<Four>::new(2usize);
    rows[0usize] = Four::reinterpret(high_above);
    rows[1usize] = Four::reinterpret(high_below);
    let mut sum = Array::<Two>::new(2usize);
    sum[0usize] = Two::new(128i32);
    sum[1usize] = Two::new(128i32);
    definition.execute_inplace::<Const<4>, Const<4>, Const<2>>(down, &rows, &mut sum);
    sum[0usize] = sum[0usize] * Two::new(256i32);
    sum[1usize] = sum[1usize] * Two::new(256i32);
    rows[0usize] = Four::reinterpret(low_above);
    rows[1usize] = Four::reinterpret(low_below);
    definition.execute_inplace::<Const<4>, Const<4>, Const<2>>(down, &rows, &mut sum);
    let mut sums = Array::<u32>::new(4usize);
    #[unroll]
    for e in 0..2usize {
        let pair = sum[e];
        sums[comptime!(2 * e)] = pair[0usize] as u32;
        sums[comptime!(2 * e + 1)] = pair[1usize] as u32;
    }
    sums
}
