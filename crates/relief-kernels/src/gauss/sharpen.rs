//! Sharpening by a mask of what a mean takes away: v + amount·(v − g) where |v − g| exceeds a threshold, g being the mean of v.

#[cfg(feature = "gpu")]
pub(crate) mod gpu;

use relief_raster::{Sample, View, ViewMut};

use crate::isa::{Isa, versions};

/// Sharpens `source`, of which `out` holds the mean and is to hold the result: v + sign(d)·⌊amount·|d| + ½⌋ with d = v − g, computed in
/// binary64, taken to 0…M; v where |d| is at most the threshold.
///
/// # Panics
/// Where the sizes differ.
pub fn sharpen<S: Sample>(source: View<'_, S>, amount: f64, threshold: u16, mut out: ViewMut<'_, S>) {
    assert_eq!(
        (source.width(), source.height()),
        (out.width(), out.height()),
        "a source and its mean of different sizes"
    );
    let isa = Isa::best();
    for y in 0..out.height() {
        row::<S>(isa, source.row(y), amount, i32::from(threshold), out.row_mut(y));
    }
}

versions! {
    fn row<S: Sample>(source: &[S], amount: f64, threshold: i32, out: &mut [S]) {
        let max = i32::from(S::MAX.to_u16());
        for (out, sample) in out.iter_mut().zip(source) {
            let value = i32::from(sample.to_u16());
            let apart = value - i32::from(out.to_u16());
            let size = apart.abs();
            // More than M is as good as M, which any conversion holds.
            let more = amount * f64::from(size) + 0.5;
            let more = if more < f64::from(max) { more } else { f64::from(max) } as i32;
            let more = if size > threshold { more } else { 0 };
            let sharpened = if apart < 0 { value - more } else { value + more };
            *out = S::from_u16(sharpened.clamp(0, max) as u16);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_out_stands_out_further() {
        let sharpened = |value: u8, mean: u8, amount, threshold| {
            let mut found = 0;
            Isa::each(|| {
                let mut out = [mean; 40];
                sharpen(
                    View::packed(&[value; 40], 40, 1),
                    amount,
                    threshold,
                    ViewMut::packed(&mut out, 40, 1),
                );
                assert!(out.iter().all(|sample| *sample == out[0]));
                found = out[0];
            });
            found
        };
        assert_eq!(sharpened(100, 90, 1.0, 0), 110);
        assert_eq!(sharpened(90, 100, 1.0, 0), 80);
        // Halves go away from 0.
        assert_eq!(sharpened(100, 95, 0.5, 4), 103);
        assert_eq!(sharpened(95, 100, 0.5, 4), 92);
        assert_eq!(sharpened(100, 95, 0.5, 5), 100);
        assert_eq!((sharpened(250, 90, 3.0, 0), sharpened(5, 90, 3.0, 0)), (255, 0));
        assert_eq!(
            (sharpened(255, 0, 1e300, 0), sharpened(0, 255, 1e300, 0)),
            (255, 0)
        );
    }

    #[test]
    fn every_pair_of_samples_is_as_by_definition() {
        for (amount, hundredths) in [(0.5, 50), (1.25, 125), (7.0, 700)] {
            for mean in 0..=255_u8 {
                let source: Vec<u8> = (0..=255).collect();
                let mut out = [mean; 256];
                sharpen(
                    View::packed(&source, 256, 1),
                    amount,
                    3,
                    ViewMut::packed(&mut out, 256, 1),
                );
                for (value, found) in (0_i32..).zip(out) {
                    let apart = value - i32::from(mean);
                    let more = apart.signum() * ((hundredths * apart.abs() + 50) / 100);
                    let expected = if apart.abs() > 3 { value + more } else { value };
                    assert_eq!(
                        i32::from(found),
                        expected.clamp(0, 255),
                        "{value} of mean {mean} by {amount}"
                    );
                }
            }
        }
    }
}
