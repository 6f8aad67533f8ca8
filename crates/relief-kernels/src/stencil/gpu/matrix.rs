//! Symmetric weights of bytes by the matrix instructions of a device: two tiles of 16 × 16 pixels for each plane at a time, down a strip, with
//! nothing between planes.
//!
//! A weighted sum along an axis is a product with a band of weights. An instruction multiplies 16 × 32 bytes by 32 × 8 and adds in
//! 32 bits.
//!
//! *Across.* Band (16 columns of the result × 32 columns read) times rows (32 columns × 8 rows): what a lane needs of the right matrix are
//! four neighbours in a row, so words of the picture as they are. Sums have 16 bits.
//!
//! *Down.* Band (16 rows of the result × 32 rows) times those sums (32 rows × 8 columns), their high bytes, then 256 times that
//! and their low bytes. What a lane has of sums is what it needs of the right matrix: the order in which an instruction counts the 32 is
//! ours to choose, as long as both matrices have the same. Of 32 rows 16 are those of the step before.
//!
//! The columns of the result are dealt to the rows of the first product so that a lane ends with four neighbours: a word of the result.

use cubecl::prelude::*;

use super::Samples;
use super::columns::{column, mended, raster, within};
use super::pairs::{Pairs, seconds};

/// Rows and columns of the result that a plane computes at a time, and rows of a step.
pub(super) const TILE: u32 = 16;

/// The greatest radius: 32 columns are read for 16.
pub(super) const REACH: u32 = 8;

/// Matrices of 16 × 32 and 32 × 8 bytes, whose products are added in 32 bits.
type Product = cmma::MmaDefinition<u8, u8, i32>;

/// What a lane has of a matrix, side by side: four of those that are multiplied, two of those that are added.
type Four = Vector<u8, Const<4>>;
type Two = Vector<i32, Const<2>>;

/// Tiles of a plane, side by side: rows of the result of 32 bytes, a sector of memory.
const TILES: u32 = 2;

/// Words that a lane reads for a step.
const WORDS: u32 = 4 * TILES;

/// Steps whose rows are on their way: a plane asks for few bytes at a time.
const AHEAD: u32 = 2;

/// What is compiled into the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    /// By distance from the middle, 256ths; below 256, and of at most [`REACH`] + 1.
    pub(super) weights: Vec<u32>,
    /// Units of a cube: planes of 32 side by side.
    pub(super) units: u32,
}

impl Plan {
    /// Columns of words that a cube computes.
    pub(super) const fn columns(&self) -> u32 {
        self.units / 32 * TILES * (TILE / 4)
    }
}

/// Weights the squares of a strip of `steps` · 16 rows; CUBE_POS_X counts cubes across, CUBE_POS_Y strips down.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn weigh_by_matrix<N: Size>(
    source: &Array<Vector<u32, N>>,
    out: &mut Array<Vector<u32, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    #[comptime] plan: Plan,
) {
    let definition = Product::new(16usize, 8usize, 32usize);
    let (group, lane) = (UNIT_POS_PLANE / 4u32, UNIT_POS_PLANE % 4u32);
    let tile = (CUBE_POS_X * comptime!(plan.units / 32) + UNIT_POS / 32u32) * TILES;
    let first = CUBE_POS_Y * steps * comptime!(TILE);
    let mut across = Array::<Four>::new(4usize);
    let mut down = Array::<Four>::new(4usize);
    bands(&mut across, &mut down, group, lane, comptime!(plan.clone()));

    // Two words of each row and tile that this lane reads, and those of the result that it stores.
    let word = (tile * 4u32 + lane * 2u32) as i32 - 2i32;
    let mut inside = word >= 0i32;
    inside = inside && (word + comptime!((4 * TILES - 2) as i32)) * 4i32 <= width as i32;
    let odd = lane % 2u32;
    let result = tile * 4u32 + (lane - odd) + odd * 4u32;

    // Of each tile: high and low bytes of sums, of columns g and of those two further, of sixteen rows and of the next sixteen.
    let mut above = Array::<u32>::new(comptime!((4 * TILES) as usize));
    let mut below = Array::<u32>::new(comptime!((4 * TILES) as usize));
    // Of each tile: two words of rows g and g + 8, of this step and those that follow.
    let mut read = Array::<u32>::new(comptime!((WORDS * AHEAD) as usize));
    let top = first as i32 - comptime!(REACH as i32) + group as i32;
    load::<N>(source, &mut read, top, inside, word, width, height, pitch, 0u32);
    sums(&definition, &across, &read, &mut above);
    #[unroll]
    for ahead in 0..AHEAD {
        let row = top + comptime!(((ahead + 1) * TILE) as i32);
        load::<N>(source, &mut read, row, inside, word, width, height, pitch, ahead);
    }

    for s in 0..steps {
        let row = first + s * comptime!(TILE);
        sums(&definition, &across, &read, &mut below);
        #[unroll]
        for k in 0..comptime!((WORDS * (AHEAD - 1)) as usize) {
            read[k] = read[comptime!(k + WORDS as usize)];
        }
        let after = row as i32 + comptime!(((AHEAD + 1) * TILE) as i32 - REACH as i32) + group as i32;
        let ahead = comptime!(AHEAD - 1);
        load::<N>(
            source, &mut read, after, inside, word, width, height, pitch, ahead,
        );

        // A word of each tile in row g, then in row g + 8.
        let mut words = Array::<u32>::new(comptime!((2 * TILES) as usize));
        #[unroll]
        for t in 0..TILES {
            let at = comptime!((4 * t) as usize);
            let near = weighted(
                &definition,
                &down,
                above[at],
                below[at],
                above[comptime!(at + 1)],
                below[comptime!(at + 1)],
            );
            let far = weighted(
                &definition,
                &down,
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
                words[comptime!(e * TILES as usize + t as usize)] = even + (odd << 8u32);
            }
        }
        #[unroll]
        for e in 0..2usize {
            // An even lane gives its word of the right tile for one of the left: two neighbours, and rows of whole sectors.
            let (left, right) = (words[comptime!(2 * e)], words[comptime!(2 * e + 1)]);
            let mut sent = right;
            if odd == 1u32 {
                sent = left;
            }
            let got = plane_shuffle_xor(sent, 1u32);
            let mut two = Vector::<u32, N>::empty();
            two[0usize] = left;
            two[1usize] = got;
            if odd == 1u32 {
                two[0usize] = got;
                two[1usize] = right;
            }
            let here = row + group + comptime!(8 * e as u32);
            // Rows and words past the picture are not its memory.
            if here < height {
                if result < pitch {
                    if (result + 2u32) * 4u32 > width {
                        let bytes = comptime!(Samples::Bytes);
                        two[0usize] = within::<u32>(two[0usize], result, width, bytes);
                        two[1usize] = within::<u32>(two[1usize], result + 1u32, width, bytes);
                    }
                    out[((here * pitch + result) / 2u32) as usize] = two;
                }
            }
        }
        #[unroll]
        for k in 0..comptime!((4 * TILES) as usize) {
            above[k] = below[k];
        }
    }
}

/// What this lane has of both bands: columns of the result 4 · (g / 2) + g mod 2, and two more, by columns read 8 t … 8 t + 7; rows of
/// the result g, and eight more, by rows read 2 t and 2 t + 8, 2 t + 1 and 2 t + 9, and sixteen more.
#[cube]
fn bands(across: &mut Array<Four>, down: &mut Array<Four>, group: u32, lane: u32, #[comptime] plan: Plan) {
    // By how much further what is read lies than what is made from it: 31 at most. From shared memory, or a compiler finds the weights
    // again in each step.
    let mut weights = SharedMemory::<u32>::new(64usize);
    for place in range_stepped(UNIT_POS, 64u32, comptime!(plan.units)) {
        weights[place as usize] = weight(place as i32 - 16i32, comptime!(plan.clone()));
    }
    sync_cube();
    #[unroll]
    for r in 0..4u32 {
        let mut columns = u32::new(0);
        let mut rows = u32::new(0);
        #[unroll]
        for b in 0..4u32 {
            let read = 8u32 * lane + comptime!(4 * (r / 2) + b);
            let made = 4u32 * (group / 2u32) + group % 2u32 + comptime!(2 * (r % 2));
            columns |= weights[(16u32 + read - made) as usize] << comptime!(8 * b);
            let read = 2u32 * lane + comptime!(16 * (r / 2) + 8 * (b % 2) + b / 2);
            let made = group + comptime!(8 * (r % 2));
            rows |= weights[(16u32 + read - made) as usize] << comptime!(8 * b);
        }
        across[comptime!(r as usize)] = Four::reinterpret(columns);
        down[comptime!(r as usize)] = Four::reinterpret(rows);
    }
}

/// The weight of what is read so much further than the result, whose middle is [`REACH`] further.
#[cube]
fn weight(further: i32, #[comptime] plan: Plan) -> u32 {
    let away = further - comptime!(REACH as i32);
    let away = max(away, -away);
    let mut weight = u32::new(0);
    #[unroll]
    for k in 0..comptime!(plan.weights.len()) {
        if away == comptime!(k as i32) {
            weight = u32::new(comptime!(plan.weights[k] as i64));
        }
    }
    weight
}

/// Two words of each tile in rows `row` and `row` + 8, to those of step `ahead`; rows and pixels outside are the nearest inside.
#[cube]
#[allow(clippy::too_many_arguments)]
fn load<N: Size>(
    source: &Array<Vector<u32, N>>,
    read: &mut Array<u32>,
    row: i32,
    inside: bool,
    word: i32,
    width: u32,
    height: u32,
    pitch: u32,
    #[comptime] ahead: u32,
) {
    #[unroll]
    for e in 0..2u32 {
        let here = max(min(row + comptime!(8 * e as i32), height as i32 - 1i32), 0i32) as u32 * pitch;
        #[unroll]
        for t in 0..TILES {
            let at = comptime!((WORDS * ahead + 4 * t + 2 * e) as usize);
            // 0 ≤ row < height; both words are of the row, whose words are even in number, as is `word`.
            if inside {
                let two = source[((here + word as u32) / 2u32 + comptime!(2 * t)) as usize];
                read[at] = two[0usize];
                read[comptime!(at + 1)] = two[1usize];
            } else {
                #[unroll]
                for k in 0..2u32 {
                    let place = word + comptime!((4 * t + k) as i32);
                    let column = column(place, &raster(width, height, pitch), comptime!(Samples::Bytes));
                    let loaded = one_word::<N>(source, here + column.word());
                    read[comptime!(at + k as usize)] = mended(loaded, &column);
                }
            }
        }
    }
}

/// Word `place` of memory.
#[cube]
fn one_word<N: Size>(source: &Array<Vector<u32, N>>, place: u32) -> u32 {
    let two = source[(place / 2u32) as usize];
    let mut word = two[0usize];
    if place % 2u32 == 1u32 {
        word = two[1usize];
    }
    word
}

/// High and low bytes of the sums across sixteen rows of each tile: those of columns g, then of those two further.
#[cube]
fn sums(definition: &Product, across: &Array<Four>, read: &Array<u32>, bytes: &mut Array<u32>) {
    #[unroll]
    for t in 0..TILES {
        let at = comptime!((4 * t) as usize);
        let mut two = Array::<u32>::new(4usize);
        #[unroll]
        for e in 0..2usize {
            let mut rows = Array::<Four>::new(2usize);
            rows[0usize] = Four::reinterpret(read[comptime!(at + 2 * e)]);
            rows[1usize] = Four::reinterpret(read[comptime!(at + 2 * e + 1)]);
            let mut sum = Array::<Two>::new(2usize);
            sum[0usize] = Two::new(0i32);
            sum[1usize] = Two::new(0i32);
            definition.execute_inplace::<Const<4>, Const<4>, Const<2>>(across, &rows, &mut sum);
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
