//! The squared distances within a radius in ascending order, and the Gray code of their numbers.
//!
//! Level l, from 1 on, is the l-th least sum d² + k² ≤ radius². A pixel's *code* is the Gray code of how many levels do
//! not reach it: 0 where it is white itself, that of the number of levels where white is beyond the radius. From l − 1 to
//! l the code changes in one bit, that of the lowest bit set in l, so counting costs one exclusive or for each level.

use std::sync::LazyLock;

use super::MAX_RADIUS;

/// The sums d² + k² ≤ radius², ascending and each once.
pub(super) fn squares(radius: u32) -> Vec<u32> {
    let side = 0..=radius;
    let mut sums: Vec<u32> = side
        .clone()
        .flat_map(|d| side.clone().map(move |k| d * d + k * k))
        .filter(|sum| *sum <= radius * radius)
        .collect();
    sums.sort_unstable();
    sums.dedup();
    sums
}

/// The (d, k), neither negative, whose squares sum up to `square`.
pub(super) fn offsets(square: u32) -> Vec<(u32, u32)> {
    let side = 0..=square.isqrt();
    side.clone()
        .flat_map(|d| side.clone().map(move |k| (d, k)))
        .filter(|(d, k)| d * d + k * k == square)
        .collect()
}

/// The bits of a code, for a radius of at most [`MAX_RADIUS`].
pub(super) fn planes(radius: u32) -> u32 {
    // Asked for at every launch, where sorting the levels would take longer than the launch.
    static PLANES: LazyLock<Vec<u32>> = LazyLock::new(|| (0..=MAX_RADIUS).map(bits_of_codes).collect());
    PLANES[radius as usize]
}

fn bits_of_codes(radius: u32) -> u32 {
    squares(radius).len().ilog2() + 1
}

/// The index into a profile for each code: the square, radius² + 1 for beyond, which unused codes have too.
pub(super) fn squares_of_codes(radius: u32) -> Vec<u32> {
    let beyond = radius * radius + 1;
    let mut of_codes = vec![beyond; 1 << planes(radius)];
    for (number, square) in squares(radius).into_iter().enumerate() {
        of_codes[number ^ (number >> 1)] = square;
    }
    of_codes
}

/// All bits, or none, of the plane of bit `bit` where every pixel is beyond the radius.
pub(super) fn plane_of_beyond(radius: u32, bit: u32) -> i64 {
    let levels = squares(radius).len();
    if (levels ^ (levels >> 1)) >> bit & 1 == 1 {
        u32::MAX.into()
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_fit_a_byte_up_to_the_greatest_radius_and_no_farther() {
        assert_eq!(planes(MAX_RADIUS), 8);
        assert_eq!(bits_of_codes(MAX_RADIUS + 1), 9);
    }

    #[test]
    fn every_offset_within_the_radius_belongs_to_one_level() {
        for radius in 0..=MAX_RADIUS {
            let mut found: Vec<(u32, u32)> = squares(radius).into_iter().flat_map(offsets).collect();
            found.sort_unstable();
            let mut want = Vec::new();
            for d in 0..=radius {
                want.extend(
                    (0..=radius)
                        .filter(|k| d * d + k * k <= radius * radius)
                        .map(|k| (d, k)),
                );
            }
            assert_eq!(found, want, "radius {radius}");
        }
    }

    #[test]
    fn counting_by_single_bits_ends_at_the_code_of_the_square() {
        for radius in 0..=MAX_RADIUS {
            let (squares, of_codes) = (squares(radius), squares_of_codes(radius));
            let mut code = 0_usize;
            for (square, level) in squares.iter().zip(1_usize..) {
                assert_eq!(of_codes[code], *square, "radius {radius}");
                code ^= 1 << level.trailing_zeros();
            }
            assert_eq!(of_codes[code], radius * radius + 1, "radius {radius}");
        }
    }
}
