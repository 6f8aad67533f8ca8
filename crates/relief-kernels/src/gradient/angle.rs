//! Angles in integers.

/// Parts of an eighth of a turn, by the tangent.
const PARTS: usize = 4_096;

/// What stands for 1 in tangents.
pub(super) const TANGENT_BITS: u32 = 26;

/// Bits of a tangent within a part.
const WITHIN: u32 = TANGENT_BITS - PARTS.trailing_zeros();

/// An eighth of a turn.
const EIGHTH: u32 = 1 << 29;

/// 2^32·atan(k / 4096) / 2π, rounded to the nearest; the last one twice.
static ANGLES: [u32; PARTS + 2] = angles();

/// Sums of differences: atan((k + 1) / n) − atan(k / n) = atan(n / (n² + k² + k)), by its series in 2^−60. The last sum is an eighth of a turn, so that no
/// π is needed. All sums are right within 2^−50, which moves what is rounded by less than 2^−20: no entry lies nearer to a half than 2^−13.
const fn angles() -> [u32; PARTS + 2] {
    let n = PARTS as i128;
    let mut sums = [0_i128; PARTS + 1];
    let mut k = 0;
    while k < PARTS {
        let at = k as i128;
        // z − z³/3 + z⁵/5, with z at most 2^−12: the next term is below 2^−86.
        let z = (n << 60) / (n * n + at * at + at);
        let square = (z * z) >> 60;
        let cube = (square * z) >> 60;
        let fifth = (cube * square) >> 60;
        sums[k + 1] = sums[k] + z - cube / 3 + fifth / 5;
        k += 1;
    }
    let mut angles = [EIGHTH; PARTS + 2];
    let mut k = 0;
    while k <= PARTS {
        let scaled = 2 * sums[k] * EIGHTH as i128;
        angles[k] = ((scaled + sums[PARTS]) / (2 * sums[PARTS])) as u32;
        k += 1;
    }
    angles
}

/// The angle of a direction to the nearer axis, by its tangent in 2^−26, at most 1.
#[inline(always)]
pub(super) fn within_eighth(tangent: u32) -> u32 {
    let part = ((tangent >> WITHIN) as usize).min(PARTS);
    let (from, to) = (ANGLES[part], ANGLES[part + 1]);
    // At most 2^18 times 2^14.
    from + (((to - from) * (tangent & ((1 << WITHIN) - 1))) >> WITHIN)
}

/// The angle of a direction by that to the nearer axis.
#[inline(always)]
pub(super) fn around(right: i64, below: i64, angle: u32) -> u32 {
    let steep = below.unsigned_abs() > right.unsigned_abs();
    let angle = if steep { 2 * EIGHTH - angle } else { angle };
    let angle = if right < 0 { 4 * EIGHTH - angle } else { angle };
    if below < 0 { angle.wrapping_neg() } else { angle }
}

/// The angle of the direction (right, below), clockwise from the right, in 2^−32 of a turn, both at most 2^50; 0 where both are 0.
///
/// Within the nearest eighth it is linear between the angles whose tangents are multiples of 1/4096. It is off by less than 2^−28 of a turn, and never decreases
/// as a direction turns.
#[must_use]
pub fn turns(right: i64, below: i64) -> u32 {
    let (across, down) = (right.unsigned_abs(), below.unsigned_abs());
    let (short, long) = (across.min(down), across.max(down));
    let tangent = (u128::from(short) << TANGENT_BITS) / u128::from(long.max(1));
    around(right, below, within_eighth(tangent as u32))
}
