//! Tiles by plain loops.
#![allow(unsafe_code)]

use super::{Length, ROWS};

/// Bytes of a row of minima that are kept in registers at a time.
const STRIP: usize = 32;

/// A tile, a strip of its columns after the other.
///
/// # Safety
/// As for every `Tile`.
pub(super) unsafe fn tile<T: Length>(
    inner: usize,
    left: *const T,
    right: *const T,
    result: *mut T,
    pitch: usize,
    first: bool,
    _: *const T,
) {
    // SAFETY: as many numbers as the caller vouches for.
    let (left, right) = unsafe {
        (
            std::slice::from_raw_parts(left, inner * ROWS),
            std::slice::from_raw_parts(right, inner * T::PANEL),
        )
    };
    let lanes = STRIP / size_of::<T>();
    for row in 0..ROWS {
        // SAFETY: the tile's rows lie `pitch` apart, with as many numbers each.
        let values = unsafe { std::slice::from_raw_parts_mut(result.add(row * pitch), T::PANEL) };
        if first {
            values.fill(T::FARTHEST);
        }
        for (strip, values) in values.chunks_exact_mut(lanes).enumerate() {
            for (left, right) in left.chunks_exact(ROWS).zip(right.chunks_exact(T::PANEL)) {
                let right = &right[strip * lanes..][..lanes];
                for (value, right) in values.iter_mut().zip(right) {
                    let sum = left[row].plus(*right);
                    *value = if sum < *value { sum } else { *value };
                }
            }
        }
    }
}
