//! The variants on the CPU.

use rayon::prelude::*;
use relief_kernels::isa::{Isa, versions};
use relief_numeric::matrix::{Matrix, MatrixMut};
use relief_numeric::morphology::cpu::{Morphology, Sample};
use relief_numeric::morphology::{Height, Operator, StructuringFunction};

use super::Dilation;
use crate::array::{Element, Kind, Layout};
use crate::families::strips;
use crate::family::{Failure, OnCpu, Outcome, Problem as _, Variant};

/// How a picture is dilated.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Definition,
    Heights,
    Production { threads: bool },
}

/// A sample and what its sums are.
trait Lane: Sample + Element {
    /// 32 bits.
    type Sum: bytemuck::Pod + PartialOrd;
    const LOWEST: Self::Sum;
    fn widened(self) -> Self::Sum;
    fn raised(sum: Self::Sum, height: Self::Height) -> Self::Sum;
    fn finished(sum: Self::Sum) -> Self;
    fn heights(p: &Dilation) -> (Vec<Self::Height>, Vec<Self::Height>);
}

macro_rules! integers {
    ($sample:ident) => {
        impl Lane for $sample {
            type Sum = i32;
            const LOWEST: i32 = -(1 << 20);

            #[inline(always)]
            fn widened(self) -> i32 {
                i32::from(self)
            }

            #[inline(always)]
            fn raised(sum: i32, height: i32) -> i32 {
                sum + height
            }

            #[inline(always)]
            fn finished(sum: i32) -> Self {
                sum.clamp(0, i32::from(Self::MAX)) as Self
            }

            fn heights(p: &Dilation) -> (Vec<i32>, Vec<i32>) {
                p.whole_heights()
            }
        }
    };
}

integers!(u8);
integers!(u16);

impl Lane for f32 {
    type Sum = Self;
    const LOWEST: Self = Self::NEG_INFINITY;

    #[inline(always)]
    fn widened(self) -> Self {
        self
    }

    #[inline(always)]
    fn raised(sum: Self, height: Self) -> Self {
        sum + height
    }

    #[inline(always)]
    fn finished(sum: Self) -> Self {
        sum
    }

    fn heights(p: &Dilation) -> (Vec<Self>, Vec<Self>) {
        p.heights()
    }
}

fn function<S: Lane>(p: &Dilation) -> Option<StructuringFunction<S::Height>> {
    let (one, other) = S::heights(p);
    super::function(p.radius, &one, &other)
}

pub(super) fn variants() -> Vec<Variant<Dilation>> {
    vec![
        variant("definition", "pixel by pixel", Way::Definition),
        variant(
            "heights",
            "a row of results at a time, height by height",
            Way::Heights,
        )
        .scratch(|p| vec![Layout::of::<u32>(p.width)]),
        variant(
            "vectors",
            "two rows of results in registers",
            Way::Production { threads: false },
        )
        .scratch(|p| vec![scratch(p, 1)]),
        variant(
            "threads production",
            "the same, a strip for each thread",
            Way::Production { threads: true },
        )
        .scratch(|p| vec![scratch(p, strips(p.height, p.radius as usize))])
        .production(),
    ]
}

fn variant(name: &'static str, idea: &'static str, way: Way) -> Variant<Dilation> {
    Variant::cpu(name, idea, move |p: &Dilation, call| {
        let slow = matches!(way, Way::Definition | Way::Heights);
        if slow && p.elements() << (p.radius / 2) > 1 << 25 {
            return Err(Failure::Unsupported("it would take seconds".to_owned()));
        }
        match (p.is_empty(), p.kind) {
            (true, _) => Ok(()),
            (false, Kind::U8) => take::<u8>(way, p, call),
            (false, Kind::U16) => take::<u16>(way, p, call),
            (false, _) => take::<f32>(way, p, call),
        }
    })
}

/// What follows rows becomes 0, after the rows.
fn take<S: Lane>(way: Way, p: &Dilation, mut call: OnCpu<'_>) -> Outcome {
    match way {
        Way::Definition => definition::<S>(p, &mut call),
        Way::Heights => heights::<S>(p, &mut call),
        Way::Production { threads } => production::<S>(p, &mut call, threads)?,
    }
    for row in call.outputs[0].slice_mut::<S>().chunks_exact_mut(p.pitch()) {
        row[p.width..].fill(S::zeroed());
    }
    Ok(())
}

/// Heights in the order of the samples that they are added to: of a square, or of columns and rows.
struct Reversed<H> {
    one: Vec<H>,
    other: Vec<H>,
}

impl<H: Height> Reversed<H> {
    fn of<S: Lane<Height = H>>(p: &Dilation) -> Self {
        let (one, other) = S::heights(p);
        Self {
            one: one.into_iter().rev().collect(),
            other: other.into_iter().rev().collect(),
        }
    }

    #[inline(always)]
    fn add<S: Lane<Height = H>>(&self, sample: S, side: usize, s: usize, t: usize) -> S::Sum {
        match self.other.get(t) {
            Some(down) => S::raised(S::raised(sample.widened(), self.one[s]), *down),
            None => S::raised(sample.widened(), self.one[t * side + s]),
        }
    }
}

fn definition<S: Lane>(p: &Dilation, call: &mut OnCpu<'_>) {
    let heights = Reversed::of::<S>(p);
    let picture = call.inputs[0].slice::<S>();
    let (side, pitch, reach) = (p.side(), p.pitch(), p.radius as usize);
    let rows = call.outputs[0].slice_mut::<S>().chunks_exact_mut(pitch);
    for (y, out) in rows.enumerate() {
        for (x, out) in out[..p.width].iter_mut().enumerate() {
            let mut most = S::LOWEST;
            // rung: morphology on cpu: definition
            for t in 0..side {
                for s in 0..side {
                    let (column, row) = ((x + s).wrapping_sub(reach), (y + t).wrapping_sub(reach));
                    if column < p.width && row < p.height {
                        let sum = heights.add(picture[row * pitch + column], side, s, t);
                        most = if sum > most { sum } else { most };
                    }
                }
            }
            *out = S::finished(most);
            // end
        }
    }
}

fn heights<S: Lane>(p: &Dilation, call: &mut OnCpu<'_>) {
    let heights = Reversed::of::<S>(p);
    let picture = call.inputs[0].slice::<S>();
    let (side, pitch, reach) = (p.side(), p.pitch(), p.radius as usize);
    let isa = Isa::best();
    let most: &mut [S::Sum] = bytemuck::cast_slice_mut(call.scratch[0].slice_mut::<u32>());
    let rows = call.outputs[0].slice_mut::<S>().chunks_exact_mut(pitch);
    for (y, out) in rows.enumerate() {
        most.fill(S::LOWEST);
        for t in 0..side {
            let row = (y + t).wrapping_sub(reach);
            if row >= p.height {
                continue;
            }
            let row = &picture[row * pitch..][..p.width];
            for s in 0..side {
                // Column x of the result sees column x + s − reach.
                let (from, to) = (s.saturating_sub(reach), reach.saturating_sub(s));
                let count = p.width.saturating_sub(from.max(to));
                if count > 0 {
                    let (across, down) = match heights.other.get(t) {
                        Some(down) => (heights.one[s], Some(*down)),
                        None => (heights.one[t * side + s], None),
                    };
                    let (row, most) = (&row[from..from + count], &mut most[to..to + count]);
                    take_height::<S>(isa, row, across, down, most);
                }
            }
        }
        for (out, most) in out.iter_mut().zip(&*most) {
            *out = S::finished(*most);
        }
    }
}

fn scratch(p: &Dilation, strips: usize) -> Layout {
    let words = match p.kind {
        Kind::U8 => words::<u8>(p),
        Kind::U16 => words::<u16>(p),
        _ => words::<f32>(p),
    };
    Layout::of::<u32>(2 * strips * words)
}

fn words<S: Lane>(p: &Dilation) -> usize {
    function::<S>(p).map_or(0, |function| {
        Morphology::<S>::new(Operator::Dilation, &function).scratch_words(p.width)
    })
}

versions! {
    /// A row's sums with a height, where they are greater than those so far.
    fn take_height<S: Lane>(row: &[S], across: S::Height, down: Option<S::Height>, most: &mut [S::Sum]) {
        // rung: morphology on cpu: heights
        for (sample, most) in row.iter().zip(most) {
            let sum = S::raised(sample.widened(), across);
            let sum = down.map_or(sum, |down| S::raised(sum, down));
            *most = if sum > *most { sum } else { *most };
        }
        // end
    }
}

/// Production; on one thread or on all.
fn production<S: Lane>(p: &Dilation, call: &mut OnCpu<'_>, threads: bool) -> Outcome {
    let function = function::<S>(p);
    let function = function.ok_or_else(|| Failure::Failed("no such function".to_owned()))?;
    let morphology = Morphology::<S>::new(Operator::Dilation, &function);
    let picture = Matrix::new(call.inputs[0].slice::<S>(), p.height, p.width, p.pitch())?;
    let strips = match threads {
        true => strips(p.height, p.radius as usize),
        false => 1,
    };
    let rows = p.height.div_ceil(strips);
    let out = call.outputs[0].slice_mut::<S>().par_chunks_mut(rows * p.pitch());
    let scratch: &mut [u64] = bytemuck::cast_slice_mut(call.scratch[0].slice_mut::<u32>());
    let scratch = scratch.par_chunks_mut(morphology.scratch_words(p.width));
    // rung: morphology on cpu: threads production
    out.zip(scratch)
        .enumerate()
        .try_for_each(|(strip, (out, scratch))| {
            let first = strip * rows;
            let end = p.height.min(first + rows);
            let out = MatrixMut::new(out, end - first, p.width, p.pitch())?;
            Ok(morphology.apply(picture, first..end, out, scratch)?)
        })
    // end
}
