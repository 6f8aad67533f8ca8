//! What histograms are for: tables that spread the values, and the value that parts them.

use relief_raster::Sample;

/// Fills the table that spreads the values of an image evenly (histogram equalisation): v becomes
/// (C(v) − C₀) · M / (n − C₀), rounded, halves up, where C(v) is how many samples are at most v, C₀ how many have the least value that
/// there is, n how many there are, and M the greatest value (Gonzalez and Woods, *Digital Image Processing*, 3.3; with C₀, as
/// OpenCV has it, so that the least value becomes 0). Where all samples are equal, or there are none, values stay.
///
/// # Panics
/// Where there are not as many counts and entries as values, and where counts add up to 2^64 or more.
pub fn equalisation<S: Sample>(counts: &[u64], table: &mut [S]) {
    let greatest = S::MAX.to_u16();
    let values = usize::from(greatest) + 1;
    assert_eq!(
        (counts.len(), table.len()),
        (values, values),
        "one for each value"
    );
    let all = total(counts);
    let least = counts.iter().copied().find(|count| *count > 0).unwrap_or(0);
    let spread = u128::from(all - least);
    let mut below = 0;
    for (v, entry) in table.iter_mut().enumerate() {
        below += counts[v];
        let part = u128::from(below.saturating_sub(least)) * u128::from(greatest);
        let spaced = (2 * part + spread).checked_div(2 * spread);
        *entry = S::from_u16(spaced.map_or(v as u16, |level| level as u16));
    }
}

/// The threshold that parts an image into two classes most unlike each other (Otsu, *A Threshold Selection Method from Gray-Level
/// Histograms*, 1979): the value t for which the variance between the samples at most t and those above is greatest,
/// w₀ · w₁ · (μ₀ − μ₁)²; the least such t, and 0 where all samples are equal or there are none. In f64, added up from the least value.
///
/// # Panics
/// Where counts add up to 2^64 or more.
#[must_use]
pub fn otsu(counts: &[u64]) -> usize {
    let all = total(counts);
    let sum: u128 = counts
        .iter()
        .enumerate()
        .map(|(v, n)| v as u128 * u128::from(*n))
        .sum();
    let (mut below, mut sum_below) = (0_u64, 0_u128);
    let (mut best, mut greatest) = (0, 0.0);
    for (v, count) in counts.iter().enumerate() {
        below += count;
        sum_below += v as u128 * u128::from(*count);
        let above = all - below;
        if below == 0 || above == 0 {
            continue;
        }
        let apart = sum_below as f64 / below as f64 - (sum - sum_below) as f64 / above as f64;
        let variance = below as f64 * above as f64 * apart * apart;
        if variance > greatest {
            (best, greatest) = (v, variance);
        }
    }
    best
}

fn total(counts: &[u64]) -> u64 {
    let all: u128 = counts.iter().map(|count| u128::from(*count)).sum();
    match u64::try_from(all) {
        Ok(all) => all,
        Err(_) => panic!("{all} samples"),
    }
}
