//! `detrend`: a source less the surface that lies nearest to it.

use relief_design::kinds;
use relief_design::tree;
use relief_raster::{Depth, Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{Filled, Inputs, Link, Node, Preparation, Resources, SamplesOf, Tile, read_padded};

/// Bits behind the point of coefficients.
const BITS: u32 = 64;

/// Sums: v·X, v·Y, v·X·Y, v·X², v·Y² and v.
const SUMS: usize = 6;

/// Coefficients: of X, Y, X·Y, P and Q.
const COEFFICIENTS: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Detrend {
    degree: u8,
    /// Columns of the node, at most 2^20.
    width: i128,
    /// Rows of the node, at most 2^20.
    height: i128,
}

/// W(W² − 1) / 3: the sum of X² of W pixels.
fn squares(side: i128) -> i128 {
    side * (side * side - 1) / 3
}

/// 4W(W² − 1)(W² − 4) / 5: the sum of P² of W pixels.
fn fourths(side: i128) -> i128 {
    4 * side * (side * side - 1) * (side * side - 4) / 5
}

/// ⌊sum·2^64 / all⌋ of numbers below 2^121; 0 of nothing.
fn coefficient(sum: i128, all: i128) -> i128 {
    if all <= 0 {
        return 0;
    }
    let (mut quotient, mut rest) = (sum.div_euclid(all), sum.rem_euclid(all));
    for _ in 0..BITS {
        rest <<= 1;
        let bit = rest >= all;
        quotient = (quotient << 1) | i128::from(bit);
        if bit {
            rest -= all;
        }
    }
    quotient
}

impl Detrend {
    /// X or Y of a column or a row.
    fn from_middle(at: i64, side: i128) -> i128 {
        2 * i128::from(at) + 1 - side
    }

    /// P or Q.
    fn bulge(from_middle: i128, side: i128) -> i128 {
        3 * from_middle * from_middle - (side * side - 1)
    }

    fn coefficients(&self, sums: &[u128]) -> [i128; COEFFICIENTS] {
        let (width, height) = (self.width, self.height);
        let Ok([x, y, xy, xx, yy, all]) = <[u128; SUMS]>::try_from(sums) else {
            return [0; COEFFICIENTS];
        };
        let [x, y, xy, xx, yy, all] = [x, y, xy, xx, yy, all].map(u128::cast_signed);
        let bulge = |squares: i128, side: i128| 3 * squares - (side * side - 1) * all;
        let second = |sum, of| if self.degree < 2 { 0 } else { coefficient(sum, of) };
        [
            coefficient(x, height * squares(width)),
            coefficient(y, width * squares(height)),
            second(xy, squares(width) * squares(height)),
            second(bulge(xx, width), height * fourths(width)),
            second(bulge(yy, height), width * fourths(height)),
        ]
    }

    /// Takes the surface away from a row of samples from (x, y) on.
    fn row<S: Sample>(&self, coefficients: &[i128; COEFFICIENTS], (x, y): (i64, i64), samples: &mut [S]) {
        // Those of a manifest of another program may be anything: then samples are wrong, and nothing panics.
        let [across, down, twist, bulge_x, bulge_y] = *coefficients;
        let from_middle = Self::from_middle(y, self.height);
        let slope = across.wrapping_add(twist.wrapping_mul(from_middle));
        let row = down
            .wrapping_mul(from_middle)
            .wrapping_add(bulge_y.wrapping_mul(Self::bulge(from_middle, self.height)));
        let half = 1_i128 << (BITS - 1);
        let max = i128::from(S::MAX.to_u16());
        for (i, sample) in samples.iter_mut().enumerate() {
            let from_middle = Self::from_middle(x + i as i64, self.width);
            let mut surface = row.wrapping_add(slope.wrapping_mul(from_middle));
            if bulge_x != 0 {
                surface = surface.wrapping_add(bulge_x.wrapping_mul(Self::bulge(from_middle, self.width)));
            }
            let level = i128::from(sample.to_u16()) << BITS;
            let rounded = level.wrapping_sub(surface).wrapping_add(half) >> BITS;
            *sample = S::from_u16(rounded.clamp(0, max) as u16);
        }
    }
}

impl Node for Detrend {
    fn cost(&self) -> u64 {
        12
    }

    fn preparation(&self) -> Option<&dyn Preparation> {
        Some(self)
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Host
    }
}

impl Preparation for Detrend {
    fn counters(&self, _: Depth) -> usize {
        SUMS
    }

    /// What lies outside is 0 and adds nothing.
    fn gather(&self, _: SamplesOf<'_>, _: u128, _: &mut [u128]) {}

    fn is_placed(&self) -> bool {
        true
    }

    fn gather_row(&self, samples: SamplesOf<'_>, (x, y): (i64, i64), counters: &mut [u128]) {
        // 2^20 samples of 16 bits times 2^21 fit 64 bits, their products with squares do not.
        let (mut all, mut first, mut second) = (0_i64, 0_i64, 0_i128);
        let left = Self::from_middle(x, self.width) as i64;
        let mut add = |i: usize, sample: i64| {
            let from_middle = left + 2 * i as i64;
            all += sample;
            first += sample * from_middle;
            second += i128::from(sample * from_middle * from_middle);
        };
        match samples {
            SamplesOf::Eight(samples) => {
                for (i, sample) in samples.iter().enumerate() {
                    add(i, i64::from(*sample));
                }
            }
            SamplesOf::Sixteen(samples) => {
                for (i, sample) in samples.iter().enumerate() {
                    add(i, i64::from(*sample));
                }
            }
        }
        let (all, first) = (i128::from(all), i128::from(first));
        let from_middle = Self::from_middle(y, self.height);
        let sums = [
            first,
            all * from_middle,
            first * from_middle,
            second,
            all * from_middle * from_middle,
            all,
        ];
        for (counter, sum) in counters.iter_mut().zip(sums) {
            *counter = counter.wrapping_add(sum.cast_unsigned());
        }
    }

    /// The bytes of the coefficients, and zeros.
    fn finish(&self, depth: Depth, counters: &[u128]) -> Vec<u16> {
        let bytes = self
            .coefficients(counters)
            .into_iter()
            .flat_map(i128::to_le_bytes);
        let mut table: Vec<u16> = bytes.map(u16::from).collect();
        table.resize(usize::from(depth.max()) + 1, 0);
        table
    }
}

impl Tile for Detrend {
    type Design = kinds::Detrend;

    fn new(kind: &kinds::Detrend, node: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        if node.width.max(node.height) > kinds::MAX_DETRENDED {
            return Err(Error::defect(Rect::EMPTY, "a `detrend` of more than 2^20 pixels"));
        }
        Ok(Self {
            degree: kind.degree,
            width: node.width.into(),
            height: node.height.into(),
        })
    }

    fn tile<S: Sample>(
        &self,
        inputs: &dyn Inputs<S>,
        links: &[Link],
        rect: Rect,
        mut out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let table = inputs.prepared()?;
        let mut coefficients = [0; COEFFICIENTS];
        for (coefficient, entries) in coefficients.iter_mut().zip(table.chunks_exact(16)) {
            let mut bytes = [0; 16];
            for (byte, entry) in bytes.iter_mut().zip(entries) {
                *byte = entry.to_u16() as u8;
            }
            *coefficient = i128::from_le_bytes(bytes);
        }
        read_padded(inputs, &links[0], rect, out.reborrow(), scratch)?.write(out.reborrow());
        for y in 0..out.height() {
            self.row(&coefficients, (rect.x(), rect.y() + y as i64), out.row_mut(y));
        }
        Ok(Filled::Written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_bases_are_those_of_their_pixels() {
        for side in 1..40_i64 {
            let places = || (0..side).map(|at| Detrend::from_middle(at, side.into()));
            assert_eq!(squares(side.into()), places().map(|x| x * x).sum());
            let bulges = places().map(|x| Detrend::bulge(x, side.into()));
            assert_eq!(fourths(side.into()), bulges.clone().map(|p| p * p).sum());
            assert_eq!(bulges.sum::<i128>(), 0);
        }
    }

    #[test]
    fn coefficients_are_rounded_down() {
        assert_eq!(coefficient(1, 3), (1_i128 << 64) / 3);
        assert_eq!(coefficient(-1, 3), -(1_i128 << 64) / 3 - 1);
        assert_eq!(coefficient(5, 0), 0);
        assert_eq!(coefficient(-7, 1 << 120), -1);
    }
}
