//! The kernels: splat, blur, slice.

use cubecl::prelude::*;

use super::super::{STEPS, WEIGHTS};
use super::{Shape, UNITS};

/// A sample's value: that of a packed integer, or steps of a float.
#[cube]
fn level_of(word: u32, column: u32, #[comptime] shape: Shape) -> u32 {
    if comptime!(shape.float) {
        let clamped = clamp(f32::reinterpret(word), 0.0f32, 1.0f32);
        // What is no number may become anything: cells beyond the grid must not be named.
        min(
            u32::cast_from(clamped * comptime!(STEPS as f32) + 0.5f32),
            comptime!(STEPS),
        )
    } else {
        let shift = (column % comptime!(32 / shape.bits)) * comptime!(shape.bits);
        (word >> shift) & comptime!((1u32 << (shape.bits % 32)) - 1)
    }
}

/// The sample of a value, in the lowest bits.
#[cube]
fn sample_of(level: f32, #[comptime] shape: Shape) -> u32 {
    if comptime!(shape.float) {
        u32::reinterpret(level * comptime!(1.0 / STEPS as f32))
    } else {
        min(
            u32::cast_from(level + 0.5f32),
            comptime!((1u32 << (shape.bits % 32)) - 1),
        )
    }
}

/// Counts and adds the pixels nearest to some columns of cells, and blurs the columns along the values.
#[cube(launch_unchecked)]
pub(super) fn splat<N: Size>(
    image: &Array<u32>,
    grid: &mut Array<Vector<f32, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    spatial: u32,
    range: u32,
    across: u32,
    #[comptime] shape: Shape,
) {
    let cells = comptime!(shape.group * shape.deep);
    let sums = SharedMemory::<Atomic<u32>>::new(comptime!((shape.group * shape.deep) as usize));
    let counts = SharedMemory::<Atomic<u32>>::new(comptime!((shape.group * shape.deep) as usize));
    let mut place = UNIT_POS;
    while place < cells {
        sums[place as usize].store(0u32);
        counts[place as usize].store(0u32);
        place += comptime!(UNITS);
    }
    sync_cube();

    // Pixel p is nearest to cell (p + half) / spatial; the half is kept in all places here.
    let half = spatial / 2u32;
    let first = CUBE_POS_X * comptime!(shape.group);
    let row = comptime!(shape.group) * spatial;
    let left = first * spatial;
    let above = CUBE_POS_Y * spatial;
    // rung: bilateral on gpu: production
    let mut pixel = UNIT_POS;
    while pixel < row * spatial {
        let dy = pixel / row;
        let dx = pixel - dy * row;
        let x = left + dx;
        let y = above + dy;
        if x >= half && x < width + half {
            if y >= half && y < height + half {
                let column = x - half;
                let word = image[((y - half) * pitch + column / comptime!(32 / shape.bits)) as usize];
                let level = level_of(word, column, shape);
                let cell = (dx / spatial) * comptime!(shape.deep) + (level + range / 2u32) / range;
                sums[cell as usize].fetch_add(level);
                counts[cell as usize].fetch_add(1u32);
            }
        }
        pixel += comptime!(UNITS);
    }
    // end
    sync_cube();

    let mut cell = UNIT_POS;
    while cell < cells {
        let column = cell / comptime!(shape.deep);
        let k = cell - column * comptime!(shape.deep);
        if first + column < across {
            let mut sum = 0.0f32;
            let mut count = 0.0f32;
            #[unroll]
            for tap in 0..5u32 {
                let weight = comptime!(WEIGHTS[tap as usize]);
                let at = k + tap;
                if at >= 2u32 && at < comptime!(shape.deep + 2) {
                    let near = (cell + tap - 2u32) as usize;
                    sum += f32::cast_from(sums[near].load()) * weight;
                    count += f32::cast_from(counts[near].load()) * weight;
                }
            }
            let mut blurred = Vector::<f32, N>::empty();
            blurred[0usize] = sum;
            blurred[1usize] = count;
            grid[((CUBE_POS_Y * across + first) * comptime!(shape.deep) + cell) as usize] = blurred;
        }
        cell += comptime!(UNITS);
    }
}

/// Blurs along rows and columns of the grid: from the first half of `grid` to the second.
#[cube(launch_unchecked)]
pub(super) fn blur<N: Size>(
    grid: &mut Array<Vector<f32, N>>,
    across: u32,
    down: u32,
    count: u32,
    #[comptime] shape: Shape,
) {
    let place = CUBE_POS as u32 * comptime!(UNITS) + UNIT_POS;
    if place < count {
        let column = place / comptime!(shape.deep);
        let j = column / across;
        let i = column - j * across;
        let mut sum = Vector::<f32, N>::new(0.0f32);
        #[unroll]
        for below in 0..5u32 {
            let weight = comptime!(WEIGHTS[below as usize]);
            if j + below >= 2u32 && j + below < down + 2u32 {
                let from = place + below * across * comptime!(shape.deep);
                let mut row = Vector::<f32, N>::new(0.0f32);
                // rung: bilateral on gpu: production
                #[unroll]
                for right in 0..5u32 {
                    let weight = comptime!(WEIGHTS[right as usize]);
                    if i + right >= 2u32 && i + right < across + 2u32 {
                        let near = from + comptime!(right * shape.deep)
                            - (2u32 * across + 2u32) * comptime!(shape.deep);
                        row += grid[near as usize] * Vector::<f32, N>::new(weight);
                    }
                }
                // end
                sum += row * Vector::<f32, N>::new(weight);
            }
        }
        grid[(count + place) as usize] = sum;
    }
}

/// Reads each pixel's result between its cells, of the second half of `grid`.
#[cube(launch_unchecked)]
pub(super) fn slice<N: Size>(
    image: &Array<u32>,
    grid: &Array<Vector<f32, N>>,
    output: &mut Array<u32>,
    width: u32,
    height: u32,
    pitch: u32,
    to_pitch: u32,
    spatial: u32,
    range: u32,
    across: u32,
    count: u32,
    #[comptime] shape: Shape,
) {
    let word = ABSOLUTE_POS_X;
    let y = ABSOLUTE_POS_Y;
    let first = word * comptime!(32 / shape.bits);
    if word < to_pitch {
        if y < height {
            // A word of the result may lie beyond the picture's row, and the picture's rows may be closer.
            let samples = image[(y * pitch + min(word, pitch - 1u32)) as usize];
            let j = y / spatial;
            let down = f32::cast_from(y - j * spatial) / f32::cast_from(spatial);
            let mut packed = u32::new(0);
            #[unroll]
            for s in 0..comptime!(32 / shape.bits) {
                let x = first + s;
                if x < width {
                    let level = level_of(samples, s, shape);
                    let k = level / range;
                    let up = f32::cast_from(level - k * range) / f32::cast_from(range);
                    let i = x / spatial;
                    let right = f32::cast_from(x - i * spatial) / f32::cast_from(spatial);
                    let near = count + (j * across + i) * comptime!(shape.deep) + k;
                    let below = near + across * comptime!(shape.deep);
                    let above = between::<N>(grid, near, up, right, shape);
                    let below = between::<N>(grid, below, up, right, shape);
                    let mixed = above + (below - above) * Vector::<f32, N>::new(down);
                    let sample = sample_of(mixed[0usize] / mixed[1usize], shape);
                    packed |= sample << comptime!(s * shape.bits);
                }
            }
            output[(y * to_pitch + word) as usize] = packed;
        }
    }
}

/// Between four cells: one, the next along the values, and both of the next column.
#[cube]
fn between<N: Size>(
    grid: &Array<Vector<f32, N>>,
    place: u32,
    up: f32,
    right: f32,
    #[comptime] shape: Shape,
) -> Vector<f32, N> {
    let up = Vector::<f32, N>::new(up);
    let near = grid[place as usize];
    let near = near + (grid[(place + 1u32) as usize] - near) * up;
    let next = place + comptime!(shape.deep);
    let far = grid[next as usize];
    let far = far + (grid[(next + 1u32) as usize] - far) * up;
    near + (far - near) * Vector::<f32, N>::new(right)
}
