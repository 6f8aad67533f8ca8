//! The variants on the CPU.

use rayon::prelude::*;
use relief_numeric::stencil::cpu::{self, Picture, Pixel, scratch_words};
use relief_numeric::stencil::{Filter, mean};

use super::{Stencil, Subject};
use crate::array::{Element, Kind, Layout};
use crate::families;
use crate::family::{Failure, OnCpu, Outcome, Problem, Variant};

/// A sample, as f32: sums of squares of 8-bit samples are exact there.
trait Sample: Element + Pixel + PartialOrd + Default {
    fn number(self) -> f32;
    /// The sample for a result of a filter before it is divided.
    fn finished(sum: f32, problem: &Stencil) -> Self;
}

impl Sample for u8 {
    fn number(self) -> f32 {
        f32::from(self)
    }

    fn finished(sum: f32, problem: &Stencil) -> Self {
        let divisor = problem.divisor() as f32;
        match problem.filter {
            Filter::Box(_) => mean(sum as u32, divisor as u32, 1.0 / divisor),
            _ => ((sum + (0.5 * divisor).floor()) / divisor)
                .floor()
                .clamp(0.0, 255.0) as Self,
        }
    }
}

impl Sample for f32 {
    fn number(self) -> f32 {
        self
    }

    fn finished(sum: f32, problem: &Stencil) -> Self {
        sum * (1.0 / problem.divisor()) as Self
    }
}

type Run = fn(&Stencil, OnCpu<'_>) -> Outcome;

pub(super) fn variants(subject: Subject) -> Vec<Variant<Stencil>> {
    let of = |name, idea, bytes: Run, floats: Run| {
        Variant::cpu(name, idea, move |p: &Stencil, call| match p.kind {
            Kind::U8 => bytes(p, call),
            _ => floats(p, call),
        })
    };
    let mut variants = vec![of(
        "definition",
        "the square of each pixel",
        definition::<u8>,
        definition::<f32>,
    )];
    if matches!(subject, Subject::Box | Subject::Gauss | Subject::Extreme) {
        let idea = "columns, then rows";
        variants.push(of("separable", idea, separable::<u8>, separable::<f32>));
    }
    if subject == Subject::Box {
        let idea = "what enters is added, what leaves is taken away";
        variants.push(of("running sum", idea, running_sum::<u8>, running_sum::<f32>));
    }
    if subject == Subject::Extreme {
        let idea = "runs of pixels, backwards and forwards";
        let runs = of("van Herk", idea, van_herk::<u8>, van_herk::<f32>);
        variants.push(runs.scratch(|p| vec![p.layout()]));
    }
    let idea = "vectors of columns and of rows";
    let vectors = of("vectors", idea, in_strips::<u8, false>, in_strips::<f32, false>);
    let idea = "the same, a strip for each thread";
    let threads = of(
        "threads production",
        idea,
        in_strips::<u8, true>,
        in_strips::<f32, true>,
    );
    variants.push(vectors.scratch(|p| vec![scratch(p, 1)]));
    variants.push(threads.scratch(|p| vec![scratch(p, strips(p))]).production());
    variants
}

/// Bytes of which one thread has made windows' sums, extremes or gradients before another has woken up.
const SMALL: usize = 1 << 20;

/// Strips that a picture is dealt out in; of little that is quickly done, one.
fn strips(problem: &Stencil) -> usize {
    let bytes = problem.kind == Kind::U8 && problem.pitch() * problem.height <= SMALL;
    match problem.filter {
        Filter::Box(_) | Filter::Erosion(_) | Filter::Sobel if bytes => 1,
        _ => families::strips(problem.height, problem.radius()),
    }
}

fn scratch(problem: &Stencil, strips: usize) -> Layout {
    Layout::of::<u32>(2 * strips * scratch_words(&problem.filter))
}

/// Production, in one strip or in one for each thread.
fn in_strips<T: Sample, const THREADS: bool>(problem: &Stencil, call: OnCpu<'_>) -> Outcome {
    let strips = if THREADS { strips(problem) } else { 1 };
    let (pitch, rows) = (problem.pitch(), problem.height.div_ceil(strips).max(1));
    if pitch == 0 {
        return Ok(());
    }
    let words: &mut [u64] = bytemuck::cast_slice_mut(call.scratch[0].bytes_mut());
    let scratch = words.par_chunks_mut(scratch_words(&problem.filter));
    let samples = call.inputs[0].slice::<T>();
    let parts = call.outputs[0].slice_mut::<T>().par_chunks_mut(pitch * rows);
    parts
        .zip(scratch)
        .enumerate()
        .try_for_each(|(part, (out, scratch))| {
            let picture = Picture::new(samples, problem.shape());
            let picture = picture.ok_or_else(|| Failure::Failed("too few samples".to_owned()))?;
            let first = part * rows;
            let here = first..problem.height.min(first + rows);
            cpu::apply(&problem.filter, picture, here, out, pitch, scratch);
            out.chunks_exact_mut(pitch)
                .for_each(|row| row[problem.width..].fill(T::default()));
            Ok(())
        })
}

/// The place of the sample nearest to (x + dx − r, y + dy − r).
fn nearest(problem: &Stencil, (x, y): (usize, usize), (dx, dy): (usize, usize)) -> usize {
    let radius = problem.radius();
    let row = (y + dy).saturating_sub(radius).min(problem.height - 1);
    row * problem.pitch() + (x + dx).saturating_sub(radius).min(problem.width - 1)
}

// rung: stencil on cpu: threads production = the strips of `vectors`, one for each thread

/// The most samples that are looked at one by one.
const MOST: u64 = 1 << 28;

fn definition<T: Sample>(problem: &Stencil, call: OnCpu<'_>) -> Outcome {
    let (side, weights) = (2 * problem.radius() + 1, call.inputs[1].slice::<f32>());
    if problem.elements() * (side * side) as u64 > MOST {
        return Err(super::too_many_loads(side as u64));
    }
    let samples = call.inputs[0].slice::<T>();
    let out = call.outputs[0].slice_mut::<T>();
    out.fill(T::default());
    let at = |x, y, dx, dy| samples[nearest(problem, (x, y), (dx, dy))].number();
    for (x, y) in (0..problem.height).flat_map(|y| (0..problem.width).map(move |x| (x, y))) {
        // rung: stencil on cpu: definition
        let square = || (0..side).flat_map(|dy| (0..side).map(move |dx| at(x, y, dx, dy)));
        // end
        let result = match &problem.filter {
            Filter::Erosion(_) => square().fold(f32::INFINITY, f32::min),
            Filter::Sobel => {
                let weigh = |weights: [f32; 9]| square().zip(weights).map(|(p, w)| p * w).sum::<f32>();
                weigh([-1.0, 0.0, 1.0, -2.0, 0.0, 2.0, -1.0, 0.0, 1.0]).abs()
                    + weigh([-1.0, -2.0, -1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 1.0]).abs()
            }
            // rung: stencil on cpu: definition
            _ => square()
                .zip(weights)
                .map(|(sample, weight)| sample * weight)
                .sum(),
            // end
        };
        out[y * problem.pitch() + x] = T::finished(result, problem);
    }
    Ok(())
}

fn separable<T: Sample>(problem: &Stencil, call: OnCpu<'_>) -> Outcome {
    let (side, weights) = (2 * problem.radius() + 1, call.inputs[2].slice::<f32>());
    let samples = call.inputs[0].slice::<T>();
    let out = call.outputs[0].slice_mut::<T>();
    out.fill(T::default());
    let fold = |a: f32, b: f32| match problem.filter {
        Filter::Erosion(_) => a.min(b),
        _ => a + b,
    };
    let mut columns = vec![0.0; problem.width];
    // rung: stencil on cpu: separable
    for y in 0..problem.height {
        for dy in 0..side {
            for (x, column) in columns.iter_mut().enumerate() {
                let sample = samples[nearest(problem, (x, y), (problem.radius(), dy))].number() * weights[dy];
                *column = if dy == 0 { sample } else { fold(*column, sample) };
            }
        }
        for x in 0..problem.width {
            let column =
                |dx: usize| columns[(x + dx).saturating_sub(problem.radius()).min(problem.width - 1)];
            let across = (0..side).map(|dx| column(dx) * weights[dx]);
            let result = across.reduce(fold).unwrap_or_default();
            out[y * problem.pitch() + x] = T::finished(result, problem);
        }
    }
    // end
    Ok(())
}

/// In f64, so that what was rounded does not stay.
fn running_sum<T: Sample>(problem: &Stencil, call: OnCpu<'_>) -> Outcome {
    if problem.width == 0 || problem.height == 0 {
        return Ok(());
    }
    let side = 2 * problem.radius() + 1;
    let samples = call.inputs[0].slice::<T>();
    let out = call.outputs[0].slice_mut::<T>();
    out.fill(T::default());
    let number = |x, y, dy| f64::from(samples[nearest(problem, (x, y), (problem.radius(), dy))].number());
    let mut columns = vec![0.0; problem.width];
    for y in 0..problem.height {
        for (x, column) in columns.iter_mut().enumerate() {
            if y == 0 {
                *column = (0..side).map(|dy| number(x, 0, dy)).sum::<f64>();
            } else {
                *column += number(x, y, side - 1) - number(x, y - 1, 0);
            }
        }
        // rung: stencil on cpu: running sum
        let column =
            |x: usize, dx: usize| columns[(x + dx).saturating_sub(problem.radius()).min(problem.width - 1)];
        let mut sum: f64 = (0..side).map(|dx| column(0, dx)).sum();
        for x in 0..problem.width {
            if x > 0 {
                sum += column(x, side - 1) - column(x - 1, 0);
            }
            out[y * problem.pitch() + x] = T::finished(sum as f32, problem);
        }
        // end
    }
    Ok(())
}

/// Windows of a row (a column), one sample after the other.
fn windows<T: Sample>(row: &[T], radius: usize, memory: &mut [Vec<T>; 2], mut put: impl FnMut(usize, T)) {
    let lesser = |a: T, b: T| if a < b { a } else { b };
    let side = 2 * radius + 1;
    let nearest = |place: usize| row[place.saturating_sub(radius).min(row.len() - 1)];
    let count = row.len() + 2 * radius;
    let [ends, begins] = memory;
    begins.clear();
    // rung: stencil on cpu: van Herk
    for place in 0..count {
        let begun = match place % side {
            0 => nearest(place),
            _ => lesser(begins[place - 1], nearest(place)),
        };
        begins.push(begun);
    }
    ends.clear();
    ends.resize(count, nearest(count - 1));
    for place in (0..count - 1).rev() {
        ends[place] = match place % side == side - 1 {
            true => nearest(place),
            false => lesser(nearest(place), ends[place + 1]),
        };
    }
    for place in 0..row.len() {
        put(place, lesser(ends[place], begins[place + 2 * radius]));
    }
    // end
}

fn van_herk<T: Sample>(problem: &Stencil, call: OnCpu<'_>) -> Outcome {
    let (pitch, radius) = (problem.pitch(), problem.radius());
    let samples = call.inputs[0].slice::<T>();
    let between = call.scratch[0].slice_mut::<T>();
    let out = call.outputs[0].slice_mut::<T>();
    out.fill(T::default());
    if problem.width == 0 || problem.height == 0 {
        return Ok(());
    }
    let mut memory = [Vec::new(), Vec::new()];
    for (row, between) in samples.chunks_exact(pitch).zip(between.chunks_exact_mut(pitch)) {
        let put = |x: usize, value| between[x] = value;
        windows(&row[..problem.width], radius, &mut memory, put);
    }
    let mut column = vec![T::default(); problem.height];
    for x in 0..problem.width {
        for (y, sample) in column.iter_mut().enumerate() {
            *sample = between[y * pitch + x];
        }
        let put = |y, value| out[y * pitch + x] = value;
        windows(&column, radius, &mut memory, put);
    }
    Ok(())
}
