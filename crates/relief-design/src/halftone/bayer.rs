//! Bayer's matrices: B₂ₙ = [4·Bₙ, 4·Bₙ + 2; 4·Bₙ + 3, 4·Bₙ + 1] from B₁ = [0] (B. E. Bayer, "An optimum method for
//! two-level rendition of continuous-tone pictures", 1973).

/// The ranks 0…n² − 1, row by row. A size that is no power of two is rounded up to one.
#[must_use]
pub fn bayer(size: u32) -> Vec<u32> {
    let bits = size.clamp(1, 256).next_power_of_two().trailing_zeros();
    let side = 1_u32 << bits;
    let rank = |x: u32, y: u32| {
        // The lowest bit of the place decides the highest digit of the rank.
        (0..bits).fold(0, |rank, bit| {
            let (x, y) = (x >> bit & 1, y >> bit & 1);
            rank * 4 + [[0, 2], [3, 1]][y as usize][x as usize]
        })
    };
    (0..side)
        .flat_map(|y| (0..side).map(move |x| rank(x, y)))
        .collect()
}
