//! A tile without instructions of its own: 4 × 8 sums at a time, which the compiler keeps in registers.

use super::PANEL;

/// Columns of a part of the panel.
const WIDTH: usize = 8;

/// A tile of 4 rows.
///
/// # Safety
/// As for every `Tile`.
#[allow(unsafe_code)]
pub(super) unsafe fn tile(
    inner: usize,
    left: *const f32,
    right: *const f32,
    result: *mut f32,
    pitch: usize,
    first: bool,
    _: *const f32,
) {
    // SAFETY: the caller vouches for as many numbers.
    let (left, right) = unsafe {
        (
            std::slice::from_raw_parts(left, inner * 4),
            std::slice::from_raw_parts(right, inner * PANEL),
        )
    };
    for x in (0..PANEL).step_by(WIDTH) {
        let mut sums = [[0.0_f32; WIDTH]; 4];
        if !first {
            for (k, sums) in sums.iter_mut().enumerate() {
                // SAFETY: row k of the tile has a panel's width.
                *sums = unsafe { result.add(k * pitch + x).cast::<[f32; WIDTH]>().read() };
            }
        }
        // rung: matmul on cpu: packed
        for (left, right) in left.as_chunks::<4>().0.iter().zip(right.as_chunks::<PANEL>().0) {
            for (sums, left) in sums.iter_mut().zip(left) {
                for (sum, right) in sums.iter_mut().zip(&right[x..x + WIDTH]) {
                    *sum = left.mul_add(*right, *sum);
                }
            }
        }
        // end
        for (k, sums) in sums.iter().enumerate() {
            // SAFETY: as above.
            unsafe { result.add(k * pitch + x).cast::<[f32; WIDTH]>().write(*sums) };
        }
    }
}
