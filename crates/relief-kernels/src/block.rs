//! What filters share that read a block of samples with a margin around the result.
//!
//! What counts beyond the border is the caller's choice ([`crate::edge`]): the block holds it already. So a filter is a loop over
//! rows, and within a row over blocks of columns whose sums stay in registers.

use relief_raster::View;

/// Checks that a block has `across` columns and `down` rows more on every side than the result.
///
/// # Panics
/// Where it has not.
pub(crate) fn check<S>(source: &View<'_, S>, (width, height): (usize, usize), across: usize, down: usize) {
    assert!(
        source.width() == width + 2 * across && source.height() == height + 2 * down,
        "a block of {} × {} samples for a result of {width} × {height} and margins of {across} and {down}",
        source.width(),
        source.height()
    );
}

/// Evaluates an expression for all columns of a row, `N` of them at a time from column `at` on: `blocks!(width, at, N, f::<N>(at))`.
///
/// The last block reaches back over the one before it, so that columns may be computed twice.
macro_rules! blocks {
    ($width:expr, $at:ident, $n:ident, $each:expr) => {{
        let width: usize = $width;
        if width >= 32 {
            const $n: usize = 32;
            for at in (0..width).step_by($n) {
                let $at = at.min(width - $n);
                $each;
            }
        } else if width >= 8 {
            const $n: usize = 8;
            for at in (0..width).step_by($n) {
                let $at = at.min(width - $n);
                $each;
            }
        } else {
            const $n: usize = 1;
            for $at in 0..width {
                $each;
            }
        }
    }};
}
pub(crate) use blocks;

/// What tests of filters share.
#[cfg(test)]
pub(crate) mod testing {
    use relief_raster::{Sample, View, ViewMut};

    use crate::isa::Isa;

    /// Samples that differ from each other as noise does, of so many levels.
    pub(crate) fn noise<S: Sample>(count: usize, seed: u64, levels: u32) -> Vec<S> {
        let mut state = seed;
        let step = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let sample = (state >> 40) as u32 % levels.min(u32::from(S::MAX.to_u16()) + 1);
            // Spread over all samples, 0 and M among them.
            S::from_u16((sample * u32::from(S::MAX.to_u16()) / levels.max(2).saturating_sub(1).max(1)) as u16)
        };
        (0..count).map(step).collect()
    }

    /// A source of a test with margins around the result.
    pub(crate) struct Case<S> {
        pub(crate) samples: Vec<S>,
        pub(crate) width: usize,
        pub(crate) height: usize,
        /// Columns beside the result on either side.
        pub(crate) across: usize,
        /// Rows above and below it.
        pub(crate) down: usize,
    }

    impl<S: Sample> Case<S> {
        pub(crate) fn noise(width: usize, height: usize, (across, down): (usize, usize), seed: u64) -> Self {
            // Few levels in some, so that many samples are equal.
            let levels = [2, 5, 256, 65_536][seed as usize % 4];
            let samples = noise((width + 2 * across) * (height + 2 * down), seed, levels);
            Self {
                samples,
                width,
                height,
                across,
                down,
            }
        }

        /// The sample (dx, dy) away from a pixel of the result.
        pub(crate) fn at(&self, x: usize, y: usize, dx: i64, dy: i64) -> i64 {
            let column = (x + self.across) as i64 + dx;
            let row = (y + self.down) as i64 + dy;
            let stride = self.width + 2 * self.across;
            i64::from(self.samples[row as usize * stride + column as usize].to_u16())
        }

        /// Compares what `filter` gives by every set of instructions with `expected` of every pixel.
        pub(crate) fn check(
            &self,
            what: &str,
            filter: impl Fn(ViewMut<'_, S>, ViewMut<'_, S>),
            expected: impl Fn(usize, usize) -> i64,
        ) {
            let expected: Vec<i64> = (0..self.width * self.height)
                .map(|i| expected(i % self.width, i / self.width))
                .collect();
            let (across, down) = (self.width + 2 * self.across, self.height + 2 * self.down);
            Isa::each(|| {
                let mut block = self.samples.clone();
                let mut out = vec![S::from_u16(77); self.width * self.height];
                filter(
                    ViewMut::packed(&mut block, across, down),
                    ViewMut::packed(&mut out, self.width, self.height),
                );
                let found: Vec<i64> = out.iter().map(|sample| i64::from(sample.to_u16())).collect();
                let (width, height, isa) = (self.width, self.height, Isa::best());
                assert!(found == expected, "{what}, {width} × {height}, {isa:?}");
            });
        }

        /// The block as a view.
        pub(crate) fn view(&self) -> View<'_, S> {
            View::packed(
                &self.samples,
                self.width + 2 * self.across,
                self.height + 2 * self.down,
            )
        }
    }

    /// Widths around the numbers of columns that go together.
    pub(crate) const WIDTHS: [usize; 9] = [1, 7, 8, 9, 31, 32, 33, 65, 100];
}
