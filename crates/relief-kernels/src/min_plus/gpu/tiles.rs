//! The product itself, on operands that are padded to whole tiles.

use cubecl::prelude::*;

/// How a step of a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// An addition and a minimum of floats, whatever their signs.
    Signed,
    /// Two additions of floats and one minimum of three integers: floats that are not negative are in the order of their bits.
    NonNegative,
    /// The second where no number of either operand is negative, else the first; the operands' padding has found out.
    Found,
    /// An addition and a minimum of integers.
    Integer,
}

/// What becomes of the least sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// They are stored as they are.
    Float,
    /// Saturated ([`i32`](crate::min_plus::Length)).
    Signed,
    /// Saturated, two to a word.
    Short,
}

/// The layout of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) step: Step,
    pub(super) form: Form,
    /// Units of a cube, across and down; powers of two, of which a plane takes 8 × 4.
    pub(super) units: (u32, u32),
    /// Sums of a unit, across and down; multiples of 4.
    pub(super) block: (u32, u32),
    /// Rows of both operands that a cube holds at once; even.
    pub(super) depth: u32,
    /// Whether the next slices wait in registers for the end of those in use, or go to shared memory as soon as they come.
    pub(super) held: bool,
    /// Whether the result is the lesser of the product and of a matrix that there is.
    pub(super) lessens: bool,
}

impl Shape {
    pub(super) const fn all_units(&self) -> u32 {
        self.units.0 * self.units.1
    }

    /// Sums of a cube, across and down.
    pub(super) const fn tile(&self) -> (u32, u32) {
        (self.units.0 * self.block.0, self.units.1 * self.block.1)
    }

    /// Vectors of a slice of the left operand, and of the right one.
    const fn slice(&self) -> (u32, u32) {
        let (width, height) = self.tile();
        (height / 4 * self.depth, width / 4 * self.depth)
    }

    /// Whether units share out vectors of both slices without remainder.
    pub(super) const fn is_dealt(&self) -> bool {
        let (left, right) = self.slice();
        left.is_multiple_of(self.all_units()) && right.is_multiple_of(self.all_units())
    }

    /// Bytes of shared memory: two slices of both.
    pub(super) const fn shared(&self) -> u32 {
        let (left, right) = self.slice();
        (left + right) * 2 * 16
    }
}

/// Units next to each other that a plane of 32 has, across and down: each of its loads is then one line of shared memory.
const GROUP: (u32, u32) = (8, 4);

/// out(i, j) = min over k of left(k, i) + right(k, j), a tile of it for each cube.
///
/// `left` lies transposed, both have `steps` · depth rows of whole tiles. `rows` × `vectors` of the result are stored.
#[cube(launch_unchecked)]
pub(super) fn min_plus_tiles<T: Numeric, N: Size, W: Size>(
    left: &Array<Vector<T, N>>,
    right: &Array<Vector<T, N>>,
    found: &Array<u32>,
    old: &Array<Vector<u32, W>>,
    out: &mut Array<Vector<u32, W>>,
    left_pitch: u32,
    right_pitch: u32,
    steps: u32,
    rows: u32,
    vectors: u32,
    out_pitch: u32,
    infinity: u32,
    #[comptime] shape: Shape,
) {
    let mut left_slices = SharedMemory::<Vector<T, N>>::new(comptime!((2 * shape.slice().0) as usize));
    let mut right_slices = SharedMemory::<Vector<T, N>>::new(comptime!((2 * shape.slice().1) as usize));
    match shape.step {
        Step::Integer => take::<T, i32, N, W>(
            left,
            right,
            &mut left_slices,
            &mut right_slices,
            old,
            out,
            left_pitch,
            right_pitch,
            steps,
            rows,
            vectors,
            out_pitch,
            infinity,
            shape,
            false,
        ),
        Step::Signed => take::<T, f32, N, W>(
            left,
            right,
            &mut left_slices,
            &mut right_slices,
            old,
            out,
            left_pitch,
            right_pitch,
            steps,
            rows,
            vectors,
            out_pitch,
            infinity,
            shape,
            false,
        ),
        Step::NonNegative => take::<T, i32, N, W>(
            left,
            right,
            &mut left_slices,
            &mut right_slices,
            old,
            out,
            left_pitch,
            right_pitch,
            steps,
            rows,
            vectors,
            out_pitch,
            infinity,
            shape,
            true,
        ),
        Step::Found => {
            if found[0] == 0u32 {
                take::<T, i32, N, W>(
                    left,
                    right,
                    &mut left_slices,
                    &mut right_slices,
                    old,
                    out,
                    left_pitch,
                    right_pitch,
                    steps,
                    rows,
                    vectors,
                    out_pitch,
                    infinity,
                    shape,
                    true,
                );
            } else {
                take::<T, f32, N, W>(
                    left,
                    right,
                    &mut left_slices,
                    &mut right_slices,
                    old,
                    out,
                    left_pitch,
                    right_pitch,
                    steps,
                    rows,
                    vectors,
                    out_pitch,
                    infinity,
                    shape,
                    false,
                );
            }
        }
    }
}

/// The tile of a cube, with minima of kind `C`.
#[cube]
fn take<T: Numeric, C: Numeric, N: Size, W: Size>(
    left: &Array<Vector<T, N>>,
    right: &Array<Vector<T, N>>,
    left_slices: &mut SharedMemory<Vector<T, N>>,
    right_slices: &mut SharedMemory<Vector<T, N>>,
    old: &Array<Vector<u32, W>>,
    out: &mut Array<Vector<u32, W>>,
    left_pitch: u32,
    right_pitch: u32,
    steps: u32,
    rows: u32,
    vectors: u32,
    out_pitch: u32,
    infinity: u32,
    #[comptime] shape: Shape,
    #[comptime] pairs: bool,
) {
    let (tile_width, tile_height) = comptime!(shape.tile());
    let (left_size, right_size) = comptime!(shape.slice());
    let units = comptime!(shape.all_units());
    let (columns, lines) = comptime!(shape.block);
    let (left_loads, right_loads) = comptime!((left_size / units, right_size / units));

    // Where a unit's sums are: group by group across, 8 × 4 units in each.
    let groups = comptime!(shape.units.0 / GROUP.0);
    let (group, lane) = (UNIT_POS / 32u32, UNIT_POS % 32u32);
    let x = (group % groups) * comptime!(GROUP.0) + lane % comptime!(GROUP.0);
    let y = (group / groups) * comptime!(GROUP.1) + lane / comptime!(GROUP.0);

    let mut least = Array::<C>::new(comptime!((columns * lines) as usize));
    #[unroll]
    for q in 0..comptime!(columns * lines) {
        least[q as usize] = C::reinterpret(infinity);
    }

    // What a unit brings: vectors as far apart as the cube has units.
    let (left_row, right_row) = comptime!((tile_height / 4, tile_width / 4));
    let left_first = (UNIT_POS / left_row) * left_pitch + CUBE_POS_Y * left_row + UNIT_POS % left_row;
    let right_first = (UNIT_POS / right_row) * right_pitch + CUBE_POS_X * right_row + UNIT_POS % right_row;
    let (left_stride, right_stride) = (
        comptime!(units / left_row) * left_pitch,
        comptime!(units / right_row) * right_pitch,
    );
    let mut left_place = left_first;
    let mut right_place = right_first;

    let mut left_held = Array::<Vector<T, N>>::new(comptime!(left_loads as usize));
    let mut right_held = Array::<Vector<T, N>>::new(comptime!(right_loads as usize));
    #[unroll]
    for q in 0..left_loads {
        left_slices[(q * units + UNIT_POS) as usize] = left[(left_place + q * left_stride) as usize];
    }
    #[unroll]
    for q in 0..right_loads {
        right_slices[(q * units + UNIT_POS) as usize] = right[(right_place + q * right_stride) as usize];
    }
    sync_cube();

    let mut left_base = u32::new(0);
    let mut right_base = u32::new(0);
    for step in 0..steps {
        let more = step + 1 < steps;
        if more {
            left_place += shape.depth * left_pitch;
            right_place += shape.depth * right_pitch;
            if comptime!(shape.held) {
                #[unroll]
                for q in 0..left_loads {
                    left_held[q as usize] = left[(left_place + q * left_stride) as usize];
                }
                #[unroll]
                for q in 0..right_loads {
                    right_held[q as usize] = right[(right_place + q * right_stride) as usize];
                }
            } else {
                #[unroll]
                for q in 0..left_loads {
                    left_slices[(left_size - left_base + q * units + UNIT_POS) as usize] =
                        left[(left_place + q * left_stride) as usize];
                }
                #[unroll]
                for q in 0..right_loads {
                    right_slices[(right_size - right_base + q * units + UNIT_POS) as usize] =
                        right[(right_place + q * right_stride) as usize];
                }
            }
        }
        if comptime!(pairs) {
            #[unroll]
            for k in 0..comptime!(shape.depth / 2) {
                let a0 = row::<T, N>(
                    left_slices,
                    left_base + y,
                    comptime!(2 * k * left_row),
                    comptime!(shape.units.1),
                    lines,
                );
                let b0 = row::<T, N>(
                    right_slices,
                    right_base + x,
                    comptime!(2 * k * right_row),
                    comptime!(shape.units.0),
                    columns,
                );
                let a1 = row::<T, N>(
                    left_slices,
                    left_base + y,
                    comptime!((2 * k + 1) * left_row),
                    comptime!(shape.units.1),
                    lines,
                );
                let b1 = row::<T, N>(
                    right_slices,
                    right_base + x,
                    comptime!((2 * k + 1) * right_row),
                    comptime!(shape.units.0),
                    columns,
                );
                #[unroll]
                for i in 0..lines {
                    #[unroll]
                    for j in 0..columns {
                        let first = C::reinterpret(a0[i as usize] + b0[j as usize]);
                        let second = C::reinterpret(a1[i as usize] + b1[j as usize]);
                        let q = comptime!((i * columns + j) as usize);
                        least[q] = min(min(first, second), least[q]);
                    }
                }
            }
        } else {
            #[unroll]
            for k in 0..comptime!(shape.depth) {
                let a = row::<T, N>(
                    left_slices,
                    left_base + y,
                    comptime!(k * left_row),
                    comptime!(shape.units.1),
                    lines,
                );
                let b = row::<T, N>(
                    right_slices,
                    right_base + x,
                    comptime!(k * right_row),
                    comptime!(shape.units.0),
                    columns,
                );
                #[unroll]
                for i in 0..lines {
                    #[unroll]
                    for j in 0..columns {
                        let sum = C::reinterpret(a[i as usize] + b[j as usize]);
                        let q = comptime!((i * columns + j) as usize);
                        least[q] = min(sum, least[q]);
                    }
                }
            }
        }
        if more {
            left_base = left_size - left_base;
            right_base = right_size - right_base;
            if comptime!(shape.held) {
                #[unroll]
                for q in 0..left_loads {
                    left_slices[(left_base + q * units + UNIT_POS) as usize] = left_held[q as usize];
                }
                #[unroll]
                for q in 0..right_loads {
                    right_slices[(right_base + q * units + UNIT_POS) as usize] = right_held[q as usize];
                }
            }
            sync_cube();
        }
    }

    // Sums of four columns, which lie together, of one line.
    #[unroll]
    for i in 0..lines {
        let line = CUBE_POS_Y * tile_height + comptime!(i / 4 * 4 * shape.units.1) + y * 4 + comptime!(i % 4);
        #[unroll]
        for part in 0..comptime!(columns / 4) {
            let place = CUBE_POS_X * right_row + comptime!(part * shape.units.0) + x;
            if line < rows {
                if place < vectors {
                    let at = (line * out_pitch + place) as usize;
                    let result = finished::<C, W>(&least, comptime!(i * columns + part * 4), shape);
                    if comptime!(shape.lessens) {
                        out[at] = lesser::<W>(old[at], result, comptime!(shape.form));
                    } else {
                        out[at] = result;
                    }
                }
            }
        }
    }
}

/// Numbers of a row of a slice: vectors of four, `apart` vectors from one to the next.
#[cube]
fn row<T: Numeric, N: Size>(
    slices: &SharedMemory<Vector<T, N>>,
    at: u32,
    #[comptime] row: u32,
    #[comptime] apart: u32,
    #[comptime] count: u32,
) -> Array<T> {
    let mut numbers = Array::<T>::new(comptime!(count as usize));
    #[unroll]
    for part in 0..comptime!(count / 4) {
        let vector = slices[(at + comptime!(row + part * apart)) as usize];
        #[unroll]
        for q in 0..4u32 {
            numbers[comptime!((part * 4 + q) as usize)] = vector[comptime!(q as usize)];
        }
    }
    numbers
}

/// Four of the least sums, as they are stored.
#[cube]
fn finished<C: Numeric, W: Size>(
    least: &Array<C>,
    #[comptime] first: u32,
    #[comptime] shape: Shape,
) -> Vector<u32, W> {
    let mut vector = Vector::<u32, W>::empty();
    match shape.form {
        Form::Float =>
        {
            #[unroll]
            for q in 0..4u32 {
                vector[comptime!(q as usize)] = u32::reinterpret(least[comptime!((first + q) as usize)]);
            }
        }
        Form::Signed =>
        {
            #[unroll]
            for q in 0..4u32 {
                vector[comptime!(q as usize)] = u32::reinterpret(saturated(i32::reinterpret(
                    least[comptime!((first + q) as usize)],
                )));
            }
        }
        Form::Short =>
        {
            #[unroll]
            for q in 0..2u32 {
                let low = u32::reinterpret(least[comptime!((first + 2 * q) as usize)]);
                let high = u32::reinterpret(least[comptime!((first + 2 * q + 1) as usize)]);
                vector[comptime!(q as usize)] = min(low, 0xffffu32) | (min(high, 0xffffu32) << 16u32);
            }
        }
    }
    vector
}

/// The lesser numbers of two vectors.
#[cube]
fn lesser<W: Size>(one: Vector<u32, W>, other: Vector<u32, W>, #[comptime] form: Form) -> Vector<u32, W> {
    let mut vector = Vector::<u32, W>::empty();
    match form {
        Form::Float =>
        {
            #[unroll]
            for q in 0..4usize {
                vector[q] = u32::reinterpret(min(f32::reinterpret(one[q]), f32::reinterpret(other[q])));
            }
        }
        Form::Signed =>
        {
            #[unroll]
            for q in 0..4usize {
                vector[q] = u32::reinterpret(saturated(min(
                    i32::reinterpret(one[q]),
                    i32::reinterpret(other[q]),
                )));
            }
        }
        Form::Short =>
        {
            #[unroll]
            for q in 0..2usize {
                let low = min(one[q] & 0xffffu32, other[q] & 0xffffu32);
                vector[q] = low | (min(one[q] >> 16u32, other[q] >> 16u32) << 16u32);
            }
        }
    }
    vector
}

/// A length within the limits, or none.
#[cube]
pub(super) fn saturated(length: i32) -> i32 {
    let limit = comptime!(crate::min_plus::LIMIT);
    let within = max(length, comptime!(-crate::min_plus::LIMIT));
    select(within > limit, i32::new(comptime!(i32::MAX as i64)), within)
}
