//! Affine maps on the CPU.

use relief_raster::{Sample, View, ViewMut};

use super::{BITS, Line};
use crate::isa::{Isa, versions};
use crate::resample::Axis;

/// The samples of a source that a tile reads.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a, S> {
    /// Samples, of which [`columns`](Self::columns) and [`rows`](Self::rows) say where they lie.
    pub samples: View<'a, S>,
    /// The first column and row of the source that are read; they may lie beyond it.
    pub at: (i64, i64),
    /// For each column that is read the one of `samples` that counts.
    pub columns: &'a [u32],
    /// For each row that is read the one of `samples` that counts.
    pub rows: &'a [u32],
}

/// Computes the samples from column `x` and row `y` of the result on. `block` holds what [`Line::reads`] says of both axes; `taps` are the weights of an
/// axis that keeps its size.
///
/// # Panics
/// Where it holds less.
pub fn transform<S: Sample>(
    block: Block<'_, S>,
    (across, down): (&Line, &Line),
    taps: &Axis,
    (x, y): (i64, i64),
    mut out: ViewMut<'_, S>,
) {
    let isa = Isa::best();
    // Away from the borders what counts for columns and rows lies side by side.
    let follow = |places: &[u32]| places.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let is_plain = follow(block.columns) && follow(block.rows);
    for row in 0..out.height() {
        let y = y + row as i64;
        for (part, out) in out.row_mut(row).chunks_mut(COLUMNS).enumerate() {
            let x = x + (part * COLUMNS) as i64;
            let start = |line: &Line, at: i64| Start {
                whole: (line.at(x, y) >> BITS) as i64 + taps.first() - at,
                part: (line.at(x, y) & ((1 << BITS) - 1)) as i64,
                step: line.right,
            };
            let starts = (start(across, block.at.0), start(down, block.at.1));
            match (is_plain, taps.taps()) {
                (true, 2) => plain_line::<S, Two>(isa, block, taps, starts, out),
                (true, 4) => plain_line::<S, Four>(isa, block, taps, starts, out),
                (true, 6) => plain_line::<S, Six>(isa, block, taps, starts, out),
                (false, 2) => line::<S, Two>(isa, block, taps, starts, out),
                (false, 4) => line::<S, Four>(isa, block, taps, starts, out),
                (false, 6) => line::<S, Six>(isa, block, taps, starts, out),
                _ => line::<S, Any>(isa, block, taps, starts, out),
            }
        }
    }
}

/// Columns that are computed before places are taken from the map again: with steps of at most 64 samples 64 bits hold them.
const COLUMNS: usize = 1 << 12;

/// Where a row of the result begins, along one axis of a block.
#[derive(Clone, Copy)]
struct Start {
    /// The first sample that counts, from the first of the block.
    whole: i64,
    /// How far behind it the place lies, in 2^−41.
    part: i64,
    /// How far the place moves with each column.
    step: i64,
}

impl Start {
    /// The first sample that counts for a column, and its phase.
    #[inline(always)]
    fn at(self, column: usize) -> (usize, usize) {
        let place = self.part + self.step * column as i64;
        let phases = (place + (1 << (BITS - 9))) >> (BITS - 8);
        ((self.whole + (phases >> 8)) as usize, (phases & 0xFF) as usize)
    }
}

/// How many weights a place has, known where loops are compiled.
trait Count {
    /// The weights, as many as are known.
    fn of(weights: &[i32]) -> &[i32];
}

/// So many weights.
struct Exactly<const N: usize>;

type Two = Exactly<2>;
type Four = Exactly<4>;
type Six = Exactly<6>;

/// Any number of weights.
struct Any;

impl<const N: usize> Count for Exactly<N> {
    #[inline(always)]
    fn of(weights: &[i32]) -> &[i32] {
        &weights[..N]
    }
}

impl Count for Any {
    #[inline(always)]
    fn of(weights: &[i32]) -> &[i32] {
        weights
    }
}

versions! {
    fn line<S: Sample, C: Count>(
        block: Block<'_, S>,
        taps: &Axis,
        starts: (Start, Start),
        out: &mut [S],
    ) {
        for (x, out) in out.iter_mut().enumerate() {
            let ((column, right), (row, below)) = (starts.0.at(x), starts.1.at(x));
            let (factors, weights) = (C::of(taps.weights(right)), C::of(taps.weights(below)));
            let columns = &block.columns[column..column + factors.len()];
            let rows = &block.rows[row..row + weights.len()];
            let mut sum = 0_i64;
            for (row, weight) in rows.iter().zip(weights) {
                if *weight == 0 {
                    continue;
                }
                let samples = block.samples.row(*row as usize);
                let along: i64 = columns
                    .iter()
                    .zip(factors)
                    .map(|(column, factor)| i64::from(samples[*column as usize].to_u16()) * i64::from(*factor))
                    .sum();
                sum += along * i64::from(*weight);
            }
            *out = rounded(sum);
        }
    }
}

/// The sample of a sum, at most 2^36 times M.
#[inline(always)]
fn rounded<S: Sample>(sum: i64) -> S {
    let rounded = (sum + (1 << 31)) >> 32;
    S::from_u16(rounded.clamp(0, i64::from(S::MAX.to_u16())) as u16)
}

versions! {
    /// [`line`], of columns and rows that lie side by side.
    fn plain_line<S: Sample, C: Count>(
        block: Block<'_, S>,
        taps: &Axis,
        starts: (Start, Start),
        out: &mut [S],
    ) {
        let (Some(left), Some(top)) = (block.columns.first(), block.rows.first()) else {
            return;
        };
        let (left, top) = (*left as usize, *top as usize);
        for (x, out) in out.iter_mut().enumerate() {
            let ((column, right), (row, below)) = (starts.0.at(x), starts.1.at(x));
            let (factors, weights) = (C::of(taps.weights(right)), C::of(taps.weights(below)));
            let mut sum = 0_i64;
            for (k, weight) in weights.iter().enumerate() {
                let samples = &block.samples.row(top + row + k)[left + column..][..factors.len()];
                let mut along = 0_i64;
                for (sample, factor) in samples.iter().zip(factors) {
                    along += i64::from(sample.to_u16()) * i64::from(*factor);
                }
                sum += along * i64::from(*weight);
            }
            *out = rounded(sum);
        }
    }
}
