//! What several definitions have in common.

/// p / q for q > 0, rounded half away from zero.
pub(super) fn half_away(p: i128, q: i128) -> i128 {
    p.signum() * ((2 * p.abs() + q) / (2 * q))
}

/// Rounded half away from zero and clamped to 0…M.
pub(super) fn to_sample(value: f64, max: u16) -> u16 {
    value.round().clamp(0.0, f64::from(max)) as u16
}

/// Linear between points at first, first + 2^k, … with these heights, in quarters; constant outside.
pub(super) fn through_points(first: f64, k: u32, quarters: &[i32], at: f64) -> f64 {
    let z = |index: usize| f64::from(quarters[index]) / 4.0;
    let place = (at - first) / f64::from(1 << k);
    if place <= 0.0 {
        return z(0);
    }
    let index = place.floor() as usize;
    if index + 1 >= quarters.len() {
        return z(quarters.len() - 1);
    }
    z(index) + (z(index + 1) - z(index)) * (place - place.floor())
}

/// The points of [`through_points`] as text.
pub(super) fn points(first: u64, k: u32, quarters: &[i32]) -> String {
    quarters
        .iter()
        .enumerate()
        .map(|(index, z)| {
            format!(
                "point {} {}; ",
                first + ((index as u64) << k),
                f64::from(*z) / 4.0
            )
        })
        .collect()
}
