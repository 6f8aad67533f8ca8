//! Tiles of a product of floats: registers, and two slices of both matrices in shared memory.
//!
//! A slice of the left matrix lies transposed in shared memory, so that the rows of a unit (thread) of one k
//! are vectors. Eight units that are served at once read one vector of it and eight neighbours of the right
//! one; rows and columns of a unit's block are groups of four, far apart, which is what keeps its vectors
//! next to those of its neighbours. Units transpose squares of 4 × 4 in their registers on the way to shared
//! memory, and eight that are served at once store neighbours.
//!
//! Two things count beside multiply-adds, read off the machine code that CUDA makes for sm_90:
//! - Words of a vector that is stored are neighbours, as are those of one that is loaded, so that a sum and
//!   its factor are both in even registers or both in odd ones, which are said to be read one a clock each.
//!   The compiler moved sums away and back in each slice. Stored by way of an exclusive or with 0, which it
//!   does not know to be 0, they lie where it likes.
//! - Places in shared memory need no arithmetic where the compiler sees that they are small.

use cubecl::prelude::*;

use super::Shape;
use relief_kernels::policy::Tuning;

/// Rows of a unit's block, in groups of four.
const BLOCK: u32 = 8;

/// The most numbers of k that one piece of code takes: of 32 in one piece the compiler delays loads until
/// just before their use.
const PIECE: u32 = 16;

/// Rows of tiles that are computed side by side, so that the cubes that run at a time use the same rows and columns.
const BAND: u32 = 8;

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tile {
    pub(super) units: u32,
    /// Units below each other and side by side.
    high: u32,
    wide: u32,
    /// Groups of four columns of a unit's block.
    groups: u32,
    /// Numbers of k of a slice.
    pub(super) depth: u32,
}

impl Tile {
    pub(super) const fn of(tuning: Tuning) -> Option<Self> {
        let (high, wide) = match (tuning.units, tuning.items) {
            (64, _) => (8, 8),
            (128, 128) => (16, 8),
            (128, _) => (8, 16),
            (256, _) => (16, 16),
            _ => return None,
        };
        let tile = Self {
            units: tuning.units,
            high,
            wide,
            groups: tuning.items / (4 * BLOCK),
            depth: tuning.vector,
        };
        // Units share out vectors of the right matrix without remainder.
        if (tile.depth * tile.right()).is_multiple_of(tile.units) {
            Some(tile)
        } else {
            None
        }
    }

    /// Rows and columns.
    pub(super) const fn rows(&self) -> u32 {
        self.high * BLOCK
    }

    const fn columns(&self) -> u32 {
        self.wide * self.groups * 4
    }

    /// Vectors of a row of a slice of the left matrix, transposed, and of the right one.
    const fn left(&self) -> u32 {
        self.rows() / 4
    }

    pub(super) const fn right(&self) -> u32 {
        self.columns() / 4
    }

    /// Squares of 4 × 4 of the left matrix that a unit transposes, and vectors of the right matrix that it loads.
    const fn squares(&self) -> u32 {
        self.all_squares().div_ceil(self.units)
    }

    const fn all_squares(&self) -> u32 {
        self.left() * (self.depth / 4)
    }

    pub(super) const fn loads(&self) -> u32 {
        self.depth * self.right() / self.units
    }

    pub(super) const fn shared_bytes(&self) -> u32 {
        2 * self.depth * 16 * (self.left() + self.right())
    }

    /// [`left`](Self::left) where copies turn the left matrix, and bytes of shared memory then, with a little for a barrier.
    pub(super) const fn left_straight(&self) -> u32 {
        self.left() + 1
    }

    pub(super) const fn shared_bytes_straight(&self) -> u32 {
        super::straight::STAGES * self.depth * 16 * (self.left_straight() + self.right()) + 32
    }

    /// Vectors of sums of a unit.
    pub(super) const fn vectors(&self) -> u32 {
        BLOCK * self.groups
    }

    /// Cubes that a product takes, where they can be counted.
    pub(super) fn count(&self, shape: Shape) -> Option<u32> {
        let tall = shape.rows.div_ceil(self.rows());
        let count = tall.checked_mul(shape.columns.div_ceil(self.columns()));
        count.filter(|count| *count < 1 << 31)
    }
}

/// Sizes and pitches: widths and pitches in vectors of four, but a left pitch in numbers where those are copied one by one; `zero` is 0.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) rows: u32,
    pub(super) inner: u32,
    pub(super) width: u32,
    pub(super) left_pitch: u32,
    pub(super) right_pitch: u32,
    pub(super) result_pitch: u32,
    pub(super) zero: u32,
}

/// C = A·B, with the sizes of [`Sizes`].
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn multiply_tiles<N: Size>(
    left: &Array<Vector<f32, N>>,
    right: &Array<Vector<f32, N>>,
    result: &mut Array<Vector<f32, N>>,
    rows: u32,
    inner: u32,
    width: u32,
    left_pitch: u32,
    right_pitch: u32,
    result_pitch: u32,
    zero: u32,
    #[comptime] tile: Tile,
) {
    let sizes = Sizes {
        rows,
        inner,
        width,
        left_pitch,
        right_pitch,
        result_pitch,
        zero,
    };
    let depth = comptime!(tile.depth);
    let place = Place::of(sizes, tile);
    let mut slices = Slices::<N> {
        left: SharedMemory::new(comptime!((2 * depth * tile.left()) as usize)),
        right: SharedMemory::new(comptime!((2 * depth * tile.right()) as usize)),
    };
    let mut held = Held::<N> {
        left: Array::new(comptime!((4 * tile.squares()) as usize)),
        right: Array::new(comptime!(tile.loads() as usize)),
    };
    let mut sums = no_sums::<N>(tile);

    // Slices that are there in full; what is left comes after the loop, which it would slow down.
    let whole = inner / depth * depth;
    if whole > 0 {
        held.load(left, right, sizes, place, 0u32, false, tile);
        held.put(&mut slices, 0u32, depth, false, tile);
        sync_cube();
    }
    let mut begin = u32::new(0);
    let mut half = u32::new(0);
    while begin < whole {
        let next = begin + depth;
        if next < whole {
            held.load(left, right, sizes, place, next, false, tile);
        }
        slices.multiply(&mut sums, half, place, tile);
        // rung: matmul on gpu: double-buffered
        if next < whole {
            held.put(&mut slices, 1 - half, depth, false, tile);
        }
        sync_cube();
        half = 1 - half;
        begin = next;
        // end
    }
    if whole < inner {
        held.load(left, right, sizes, place, whole, true, tile);
        held.put(&mut slices, half, inner - whole, true, tile);
        sync_cube();
        slices.multiply(&mut sums, half, place, tile);
    }
    place.store::<N>(&sums, result, sizes, tile);
}

/// The sums of a unit before the first product.
#[cube]
pub(super) fn no_sums<N: Size>(#[comptime] tile: Tile) -> Array<Vector<f32, N>> {
    let mut sums = Array::<Vector<f32, N>>::new(comptime!(tile.vectors() as usize));
    #[unroll]
    for k in 0..comptime!(tile.vectors()) {
        sums[comptime!(k as usize)] = Vector::empty().fill(0.0f32);
    }
    sums
}

/// Where a unit's sums are: the first row and the first vector of its cube's tile, the row of units that it is in, and the vector of a
/// row of the right matrix that it begins with.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Place {
    pub(super) top: u32,
    pub(super) start: u32,
    pub(super) row: u32,
    pub(super) column: u32,
}

#[cube]
impl Place {
    /// Cubes go down a band of tiles before they go on to the right.
    pub(super) fn of(sizes: Sizes, #[comptime] tile: Tile) -> Place {
        let high = (sizes.rows + comptime!(tile.rows() - 1)) / comptime!(tile.rows());
        let wide = (sizes.width + comptime!(tile.right() - 1)) / comptime!(tile.right());
        let cube = CUBE_POS as u32;
        let band = cube / (BAND * wide);
        let within = cube - band * (BAND * wide);
        // A last band may have fewer rows; cubes that are too many compute tiles below the result, and write zero.
        let tall = max(min(high - min(band * BAND, high), comptime!(BAND)), 1u32);
        let top = (band * BAND + within % tall) * comptime!(tile.rows());
        let start = (within / tall) * comptime!(tile.right());
        // 4 × 8 units of 32 are neighbours: they share four vectors of the left matrix and eight of the right.
        let (lane, team) = (UNIT_POS % 32, UNIT_POS / 32);
        let teams_high = comptime!(tile.high / 4);
        Place {
            top,
            start,
            row: (team % teams_high) * 4 + lane / 8,
            column: (team / teams_high) * 8 + lane % 8,
        }
    }

    /// Writes the sums of the unit, by way of `zero`, which is 0.
    pub(super) fn store<N: Size>(
        &self,
        sums: &Array<Vector<f32, N>>,
        result: &mut Array<Vector<f32, N>>,
        sizes: Sizes,
        #[comptime] tile: Tile,
    ) {
        #[unroll]
        for i in 0..BLOCK {
            let y = self.top + comptime!((i / 4) * tile.rows() / 2 + i % 4) + 4 * self.row;
            if y < sizes.rows {
                #[unroll]
                for h in 0..comptime!(tile.groups) {
                    let x = self.start + comptime!(h * tile.wide) + self.column;
                    if x < sizes.width {
                        let four = sums[comptime!((i * tile.groups + h) as usize)];
                        let mut stored = Vector::<f32, N>::empty();
                        #[unroll]
                        for e in 0..4u32 {
                            let bits = u32::reinterpret(four[comptime!(e as usize)]) ^ sizes.zero;
                            stored[comptime!(e as usize)] = f32::reinterpret(bits);
                        }
                        result[(y * sizes.result_pitch + x) as usize] = stored;
                    }
                }
            }
        }
    }
}

/// What a unit brings of a slice, in registers.
#[derive(CubeType)]
struct Held<N: Size> {
    left: Array<Vector<f32, N>>,
    right: Array<Vector<f32, N>>,
}

#[cube]
impl<N: Size> Held<N> {
    /// Loads a slice. Rows and vectors outside stand for the last ones inside, as do numbers of k of a slice that is there partly.
    #[allow(clippy::too_many_arguments)]
    fn load(
        &mut self,
        left: &Array<Vector<f32, N>>,
        right: &Array<Vector<f32, N>>,
        sizes: Sizes,
        place: Place,
        begin: u32,
        #[comptime] partly: bool,
        #[comptime] tile: Tile,
    ) {
        if UNIT_POS < comptime!(tile.all_squares()) {
            #[unroll]
            for i in 0..comptime!(tile.squares()) {
                let at = UNIT_POS + comptime!(i * tile.units);
                let mut x = begin / 4 + at / 8 % comptime!(tile.depth / 4);
                if comptime!(partly) {
                    x = min(x, (sizes.inner + comptime!(4 - 1)) / 4 - 1);
                }
                #[unroll]
                for e in 0..4u32 {
                    let y = min(
                        place.top + 4 * (at % 8 + 8 * (at / comptime!(2 * tile.depth))) + e,
                        sizes.rows - 1,
                    );
                    self.left[comptime!((4 * i + e) as usize)] = left[(y * sizes.left_pitch + x) as usize];
                }
            }
        }
        #[unroll]
        for i in 0..comptime!(tile.loads()) {
            let at = UNIT_POS + comptime!(i * tile.units);
            let mut y = begin + at / comptime!(tile.right());
            if comptime!(partly) {
                y = min(y, sizes.inner - 1);
            }
            let x = min(place.start + at % comptime!(tile.right()), sizes.width - 1);
            self.right[comptime!(i as usize)] = right[(y * sizes.right_pitch + x) as usize];
        }
    }

    /// Puts a slice into a half of shared memory. Of one that is there partly, `present` numbers of k are, and others are 0.
    fn put(
        &self,
        slices: &mut Slices<N>,
        half: u32,
        present: u32,
        #[comptime] partly: bool,
        #[comptime] tile: Tile,
    ) {
        if UNIT_POS < comptime!(tile.all_squares()) {
            #[unroll]
            for i in 0..comptime!(tile.squares()) {
                let at = UNIT_POS + comptime!(i * tile.units);
                let y = at % 8 + 8 * (at / comptime!(2 * tile.depth));
                let first = 4 * (at / 8 % comptime!(tile.depth / 4));
                #[unroll]
                for e in 0..4u32 {
                    let mut numbers = Vector::<f32, N>::empty();
                    #[unroll]
                    for r in 0..4u32 {
                        let row = self.left[comptime!((4 * i + r) as usize)];
                        numbers[comptime!(r as usize)] = row[comptime!(e as usize)];
                    }
                    if comptime!(partly) {
                        if first + e >= present {
                            numbers = Vector::empty().fill(0.0f32);
                        }
                    }
                    let to =
                        half * comptime!(tile.depth * tile.left()) + (first + e) * comptime!(tile.left()) + y;
                    slices.left[to as usize] = numbers;
                }
            }
        }
        #[unroll]
        for i in 0..comptime!(tile.loads()) {
            let at = UNIT_POS + comptime!(i * tile.units);
            let mut numbers = self.right[comptime!(i as usize)];
            if comptime!(partly) {
                if at / comptime!(tile.right()) >= present {
                    numbers = Vector::empty().fill(0.0f32);
                }
            }
            slices.right[(half * comptime!(tile.depth * tile.right()) + at) as usize] = numbers;
        }
    }
}

/// Slices of both matrices in shared memory.
#[derive(CubeType)]
struct Slices<N: Size> {
    left: SharedMemory<Vector<f32, N>>,
    right: SharedMemory<Vector<f32, N>>,
}

#[cube]
impl<N: Size> Slices<N> {
    /// Takes the products of the slice in a half.
    fn multiply(&self, sums: &mut Array<Vector<f32, N>>, half: u32, place: Place, #[comptime] tile: Tile) {
        multiply_slice::<N>(
            &self.left.to_slice(),
            &self.right.to_slice(),
            sums,
            half % 2,
            place,
            comptime!(tile.left()),
            tile,
        );
    }
}

/// Takes the products of slice `stage`, a remainder, which cannot be large: then places need no arithmetic of their own, which took a tenth of all instructions. Columns of the left
/// matrix are `left` vectors apart.
#[cube]
pub(super) fn multiply_slice<N: Size>(
    lefts: &Slice<Vector<f32, N>>,
    rights: &Slice<Vector<f32, N>>,
    sums: &mut Array<Vector<f32, N>>,
    stage: u32,
    place: Place,
    #[comptime] left: u32,
    #[comptime] tile: Tile,
) {
    let groups = comptime!(tile.groups);
    let piece = comptime!(tile.depth.min(PIECE));
    for part in 0..comptime!(tile.depth / piece) {
        let left_at = stage * comptime!(tile.depth * left) + part % 4 * comptime!(piece * left) + place.row;
        let right_at = stage * comptime!(tile.depth * tile.right())
            + part % 4 * comptime!(piece * tile.right())
            + place.column;
        #[unroll]
        for k in 0..piece {
            let mut numbers = Array::<Vector<f32, N>>::new(2usize);
            let mut factors = Array::<Vector<f32, N>>::new(comptime!(groups as usize));
            #[unroll]
            for g in 0..2u32 {
                numbers[comptime!(g as usize)] =
                    lefts[(left_at + comptime!(k * left + g * tile.left() / 2)) as usize];
            }
            #[unroll]
            for h in 0..groups {
                factors[comptime!(h as usize)] =
                    rights[(right_at + comptime!(k * tile.right() + h * tile.wide)) as usize];
            }
            // rung: matmul on gpu: blocks
            #[unroll]
            for i in 0..BLOCK {
                let four = numbers[comptime!((i / 4) as usize)];
                let number = Vector::<f32, N>::empty().fill(four[comptime!((i % 4) as usize)]);
                #[unroll]
                for h in 0..groups {
                    let at = comptime!((i * groups + h) as usize);
                    sums[at] = fma(number, factors[comptime!(h as usize)], sums[at]);
                }
            }
            // end
        }
    }
}
