//! Seams on the CPU.

use relief_raster::{Sample, View, ViewMut};

/// Which samples are faded.
#[derive(Clone, Copy, Debug)]
pub struct Fade {
    /// Columns and rows that are faded, at most 2^16.
    pub overlap: u32,
    /// The column of the first sample.
    pub x: u64,
    /// The row of the first sample.
    pub y: u64,
}

impl Fade {
    /// How much the samples of a column or row weigh, of 2·overlap.
    fn weight(self, at: u64) -> u64 {
        let whole = 2 * u64::from(self.overlap);
        at.saturating_mul(2).saturating_add(1).min(whole)
    }
}

/// Fades `right`, `below` and `both`, which lie behind the last column, the last row and both of them, into `out`. Where nothing is faded along an
/// axis what lies behind it does not count.
///
/// # Panics
/// Where the sizes differ.
pub fn fade<S: Sample>(
    fade: Fade,
    right: View<'_, S>,
    below: View<'_, S>,
    both: View<'_, S>,
    mut out: ViewMut<'_, S>,
) {
    let size = (out.width(), out.height());
    for part in [&right, &below, &both] {
        assert_eq!((part.width(), part.height()), size, "parts of different sizes");
    }
    let whole = 2 * u64::from(fade.overlap);
    let (total, half) = (whole * whole, whole * whole / 2);
    for j in 0..size.1 {
        let down = fade.weight(fade.y + j as u64);
        let (right, below, both) = (right.row(j), below.row(j), both.row(j));
        // Only columns before the overlap's end are faded, unless the row is.
        let faded = if down == whole {
            u64::from(fade.overlap).saturating_sub(fade.x).min(size.0 as u64) as usize
        } else {
            size.0
        };
        let samples = out.row_mut(j)[..faded].iter_mut().zip(right).zip(below).zip(both);
        for (i, (((sample, right), below), both)) in samples.enumerate() {
            let across = fade.weight(fade.x + i as u64);
            let wide = |sample: &S| u64::from(sample.to_u16());
            // At most 2^34 times M.
            let sum = across * down * wide(sample)
                + (whole - across) * down * wide(right)
                + across * (whole - down) * wide(below)
                + (whole - across) * (whole - down) * wide(both);
            *sample = S::from_u16(((sum + half) / total) as u16);
        }
    }
}
