//! Sums over neighbours: the definition.

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cover, launch};

use super::super::Picture;
use super::words_of_row;
use crate::array::Kind;
use crate::family::{Failure, OnGpu, Outcome};

/// Units of a cube; each computes the pixels of a word.
const SIDE: (u32, u32) = (32, 8);

/// How weights and neighbours are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Way {
    /// An exponential for each neighbour, which is loaded from memory.
    Naive,
    /// Neighbours, and a table of the weights of places, in shared memory.
    Tiled,
    /// A table of the weights of differences as well; of bytes.
    Tables,
}

/// What is compiled into a kernel of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    bits: u32,
    way: Way,
    radius: u32,
}

impl Plan {
    /// Pixels of a unit.
    const fn per(&self) -> u32 {
        32 / self.bits
    }

    /// Columns and rows of a tile: those of a cube and its neighbours, in whole words.
    const fn tile(&self) -> (u32, u32) {
        let width = SIDE.0 * self.per() + 2 * self.radius;
        (width.next_multiple_of(self.per()), SIDE.1 + 2 * self.radius)
    }

    /// Words of the table of places, of that of differences, and of the tile; one where there is none.
    const fn words(&self) -> (u32, u32, u32) {
        let (width, height) = self.tile();
        match self.way {
            Way::Naive => (1, 1, 1),
            Way::Tiled => (2 * self.radius * self.radius + 1, 1, width * height),
            Way::Tables => (2 * self.radius * self.radius + 1, 256, width * height),
        }
    }
}

/// The definition.
pub(super) fn disc(picture: &Picture, call: &OnGpu<'_>, way: Way) -> Outcome {
    if picture.width == 0 || picture.height == 0 {
        return Ok(());
    }
    let plan = Plan {
        bits: 8 * picture.kind.bytes() as u32,
        way,
        radius: picture.radius() as u32,
    };
    let gpu = call.gpu;
    let (places, differences, tile) = plan.words();
    let bytes = 4 * (places + differences + tile);
    if bytes > gpu.report().shared_memory.min(48 << 10) {
        let reason = format!("{bytes} bytes of shared memory, more than a cube has");
        return Err(Failure::Unsupported(reason));
    }
    let pitch = words_of_row(picture);
    let greatest = match picture.kind {
        Kind::U8 => 255.0,
        Kind::U16 => 65_535.0,
        _ => 1.0,
    };
    let (from, to) = (&call.inputs[0], &call.outputs[0]);
    let range = f64::from(picture.range()) / f64::from(picture.greatest()) * greatest;
    // SAFETY: places of neighbours are brought into the picture, a tile holds those of all of its cube's pixels, and words stored are
    // compared with the picture's size.
    launch!(
        gpu, "bilateral sums", &plan, &[Operand::write("the output", to)],
        cover((pitch, picture.height as u32), SIDE),
        unsafe sums_kernel(
            from.array(1), to.array(1), picture.width as u32, picture.height as u32, pitch,
            (-0.5 / f64::from(picture.sigma).powi(2)) as f32, (-0.5 / range.powi(2)) as f32, plan))?;
    Ok(())
}

/// A sample as a float: bytes and words by their values.
#[cube]
fn sample(image: &Array<u32>, x: u32, y: u32, pitch: u32, #[comptime] bits: u32) -> f32 {
    if comptime!(bits == 32) {
        f32::reinterpret(image[(y * pitch + x) as usize])
    } else {
        let word = image[(y * pitch + x / comptime!(32 / bits)) as usize];
        let shift = (x % comptime!(32 / bits)) * bits;
        f32::cast_from((word >> shift) & comptime!((1u32 << (bits % 32)) - 1))
    }
}

/// A place brought into the picture.
#[cube]
fn inside(place: i32, size: u32) -> u32 {
    u32::cast_from(clamp(place, 0, i32::cast_from(size) - 1))
}

/// The place of a tile's column in its row: columns lie by their number in a unit's word, so that neighbouring units read neighbouring
/// words, in banks of their own.
#[cube]
fn column_of_tile(column: u32, #[comptime] plan: Plan) -> u32 {
    (column % comptime!(plan.per())) * comptime!(plan.tile().0 / plan.per()) + column / comptime!(plan.per())
}

/// Fills the tables and the tile that a plan has, of a cube's pixels from (`left`, `top`) on.
#[allow(clippy::too_many_arguments)]
#[cube]
fn stage(
    from: &Array<u32>,
    places: &mut SharedMemory<f32>,
    differences: &mut SharedMemory<f32>,
    tile: &mut SharedMemory<f32>,
    size: (u32, u32),
    pitch: u32,
    space: f32,
    range: f32,
    #[comptime] plan: Plan,
) {
    let units = comptime!(SIDE.0 * SIDE.1);
    let (tile_width, tile_height) = comptime!(plan.tile());
    if comptime!(plan.way >= Way::Tiled) {
        let mut square = UNIT_POS;
        while square < comptime!(plan.words().0) {
            places[square as usize] = Exp::exp(f32::cast_from(square) * space);
            square += units;
        }
    }
    if comptime!(plan.way == Way::Tables) {
        let mut difference = UNIT_POS;
        while difference < 256u32 {
            differences[difference as usize] = Exp::exp(f32::cast_from(difference * difference) * range);
            difference += units;
        }
    }
    if comptime!(plan.way >= Way::Tiled) {
        let left =
            i32::cast_from(CUBE_POS_X * comptime!(SIDE.0 * plan.per())) - comptime!(plan.radius as i32);
        let top = i32::cast_from(CUBE_POS_Y * comptime!(SIDE.1)) - comptime!(plan.radius as i32);
        let mut place = UNIT_POS;
        while place < comptime!(tile_width * tile_height) {
            let (column, row) = (place % tile_width, place / tile_width);
            let x = inside(left + i32::cast_from(column), size.0);
            let y = inside(top + i32::cast_from(row), size.1);
            let at = row * tile_width + column_of_tile(column, plan);
            tile[at as usize] = sample(from, x, y, pitch, plan.bits);
            place += units;
        }
    }
    sync_cube();
}

#[cube(launch_unchecked)]
fn sums_kernel(
    from: &Array<u32>,
    to: &mut Array<u32>,
    width: u32,
    height: u32,
    pitch: u32,
    space: f32,
    range: f32,
    #[comptime] plan: Plan,
) {
    let mut places = SharedMemory::<f32>::new(comptime!(plan.words().0 as usize));
    let mut differences = SharedMemory::<f32>::new(comptime!(plan.words().1 as usize));
    let mut tile = SharedMemory::<f32>::new(comptime!(plan.words().2 as usize));
    let size = (width, height);
    stage(
        from,
        &mut places,
        &mut differences,
        &mut tile,
        size,
        pitch,
        space,
        range,
        plan,
    );
    let (word, y) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
    let reach = comptime!(plan.radius as i32);
    if word < pitch {
        if y < height {
            let mut packed = u32::new(0);
            #[unroll]
            for s in 0..comptime!(plan.per()) {
                let x = word * comptime!(plan.per()) + s;
                if x < width {
                    let middle = sample(from, x, y, pitch, plan.bits);
                    let mut sum = 0.0f32;
                    let mut weights = 0.0f32;
                    let mut dy = i32::cast_from(u32::new(0)) - reach;
                    while dy <= reach {
                        let row = inside(i32::cast_from(y) + dy, height);
                        let tile_row = u32::cast_from(i32::cast_from(UNIT_POS_Y) + reach + dy)
                            * comptime!(plan.tile().0);
                        let mut dx = i32::cast_from(u32::new(0)) - reach;
                        while dx <= reach {
                            let square = dx * dx + dy * dy;
                            if square <= comptime!((plan.radius * plan.radius) as i32) {
                                let value = if comptime!(plan.way >= Way::Tiled) {
                                    // rung: bilateral on gpu: tiled
                                    let column = UNIT_POS_X * comptime!(plan.per()) + s;
                                    let column = u32::cast_from(i32::cast_from(column) + reach + dx);
                                    tile[(tile_row + column_of_tile(column, plan)) as usize]
                                    // end
                                } else {
                                    let column = inside(i32::cast_from(x) + dx, width);
                                    sample(from, column, row, pitch, plan.bits)
                                };
                                let difference = value - middle;
                                let weight = if comptime!(plan.way == Way::Tables) {
                                    // rung: bilateral on gpu: tiled, range table
                                    // A whole number below 2^23 as the lowest bits of a float of 2^23 and more.
                                    let place =
                                        u32::reinterpret(Abs::abs(difference) + 8_388_608.0f32) & 255u32;
                                    places[square as usize] * differences[place as usize]
                                    // end
                                } else if comptime!(plan.way == Way::Tiled) {
                                    places[square as usize] * Exp::exp(difference * difference * range)
                                } else {
                                    // rung: bilateral on gpu: naive
                                    Exp::exp(f32::cast_from(square) * space + difference * difference * range)
                                    // end
                                };
                                sum += weight * value;
                                weights += weight;
                            }
                            dx += 1;
                        }
                        dy += 1;
                    }
                    let mean = sum / weights;
                    if comptime!(plan.bits == 32) {
                        packed = u32::reinterpret(mean);
                    } else {
                        packed |= u32::cast_from(mean + 0.5f32) << comptime!(s * plan.bits);
                    }
                }
            }
            to[(y * pitch + word) as usize] = packed;
        }
    }
}
