//! The least dx² + g² of eight neighbours in a row, chunk by chunk.
//!
//! Eight inputs against eight outputs need the squares of 15 differences. In units of additions fused with a minimum a
//! chunk costs 64, plus about 12 to unpack and square g.

use cubecl::prelude::*;

use super::Shape;

/// g² of the eight columns of a chunk.
#[cube]
fn squares<B: Size>(chunk: Vector<u32, B>) -> Array<i32> {
    let mut squares = Array::<i32>::new(8usize);
    #[unroll]
    for i in 0..8usize {
        let word = chunk[comptime!(i / 4)];
        let g = i32::cast_from((word >> comptime!((i % 4 * 8) as u32)) & 255u32);
        squares[i] = g * g;
    }
    squares
}

#[cube]
fn greatest(best: &Array<i32>) -> i32 {
    max(
        max(max(best[0], best[1]), max(best[2], best[3])),
        max(max(best[4], best[5]), max(best[6], best[7])),
    )
}

/// radius² + 1 for eight columns, and what the chunk at `own` itself makes of it.
#[cube]
fn from_own<B: Size>(near: &SharedMemory<Vector<u32, B>>, own: u32, #[comptime] radius: u32) -> Array<i32> {
    let mut best = Array::<i32>::new(8usize);
    #[unroll]
    for k in 0..8usize {
        best[k] = i32::new(comptime!(i64::from(radius * radius + 1)));
    }
    let found = squares::<B>(near[own as usize]);
    #[unroll]
    for i in 0..8usize {
        #[unroll]
        for k in 0..8usize {
            best[k] = min(best[k], found[i] + comptime!((i as i32 - k as i32).pow(2)));
        }
    }
    best
}

/// The squares of the 15 distances between columns of two chunks whose first are `far` apart.
#[cube]
fn squares_of_steps(far: i32) -> Array<i32> {
    let mut steps = Array::<i32>::new(15usize);
    #[unroll]
    for m in 0..15usize {
        let dx = far + comptime!(m as i32 - 7);
        steps[m] = dx * dx;
    }
    steps
}

/// The least sums for the chunk at `own`, radius² + 1 where none is less, from all chunks within reach.
///
/// It is unrolled for every chunk, with its distances as constants: faster by a quarter, at the cost of a
/// longer compilation.
#[cube]
pub(super) fn nearby<B: Size>(
    near: &SharedMemory<Vector<u32, B>>,
    own: u32,
    #[comptime] shape: Shape,
) -> Array<i32> {
    let mut best = from_own::<B>(near, own, comptime!(shape.radius));
    let mut d = u32::new(1);
    // rung: distance on gpu: tiles
    while d <= comptime!(shape.reach) {
        let far = i32::cast_from(d) * 8i32;
        if greatest(&best) > (far - 7i32) * (far - 7i32) {
            let steps = squares_of_steps(far);
            let right = near[(own + d) as usize];
            if any_within::<B>(right, comptime!(shape.radius)) {
                visit::<B>(right, &mut best, &steps, false);
            }
            let left = near[(own - d) as usize];
            if any_within::<B>(left, comptime!(shape.radius)) {
                visit::<B>(left, &mut best, &steps, true);
            }
        }
        d += 1u32;
    }
    // end
    best
}

/// Whether any of eight bytes, all below 128, is at most `radius`.
#[cube]
fn any_within<B: Size>(chunk: Vector<u32, B>, #[comptime] radius: u32) -> bool {
    let beyond = (chunk[0] + comptime!((127 - radius) * 0x0101_0101))
        & (chunk[1] + comptime!((127 - radius) * 0x0101_0101));
    (beyond & 0x8080_8080u32) != 0x8080_8080u32
}

/// As [`nearby`] for large radii, whose chunks are many and mostly too far: `least` holds the least g of each chunk for four rows a
/// word, that of the chunk `own` in byte `row` % 4 of the word `own_least`; `there` says how far those chunks are that have any,
/// see [`super::tile`].
#[cube]
pub(super) fn looped<B: Size>(
    near: &SharedMemory<Vector<u32, B>>,
    least: &SharedMemory<u32>,
    own: u32,
    own_least: u32,
    row: u32,
    there: u32,
    #[comptime] shape: Shape,
) -> Array<i32> {
    let mut best = from_own::<B>(near, own, comptime!(shape.radius));
    let shift = (row % 4u32) * 8u32;
    let mut left_over = there;
    while left_over != 0u32 {
        let d = left_over.trailing_zeros() + 1u32;
        let far = i32::cast_from(d) * 8i32;
        let nearest = (far - 7i32) * (far - 7i32);
        let limit = greatest(&best);
        left_over &= left_over - 1u32;
        if nearest < limit {
            let g_right = i32::cast_from((least[(own_least + d) as usize] >> shift) & 255u32);
            let g_left = i32::cast_from((least[(own_least - d) as usize] >> shift) & 255u32);
            let right = g_right * g_right + nearest < limit;
            let left = g_left * g_left + nearest < limit;
            if right || left {
                let steps = squares_of_steps(far);
                if right {
                    visit::<B>(near[(own + d) as usize], &mut best, &steps, false);
                }
                if left {
                    visit::<B>(near[(own - d) as usize], &mut best, &steps, true);
                }
            }
        } else {
            left_over = 0u32.runtime();
        }
    }
    best
}

/// Takes a chunk into the least sums; `steps[m]` is the square of its distance plus m − 7.
#[cube]
fn visit<B: Size>(chunk: Vector<u32, B>, best: &mut Array<i32>, steps: &Array<i32>, #[comptime] left: bool) {
    let found = squares::<B>(chunk);
    #[unroll]
    for i in 0..8usize {
        #[unroll]
        for k in 0..8usize {
            let m = comptime!(if left { 7 + k - i } else { 7 + i - k });
            best[k] = min(best[k], found[i] + steps[m]);
        }
    }
}
