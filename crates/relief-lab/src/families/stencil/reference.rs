//! The reference: in f64, columns before rows where the filter allows it, because a whole square for each pixel would take
//! hours; by plain loops compiled for the vectors of the machine.

use rayon::prelude::*;
use relief_kernels::isa::Isa;
use relief_kernels::versions;
use relief_numeric::stencil::Filter;

use super::Stencil;
use crate::array::{Array, Element, Kind};

/// A sample that a number becomes.
trait Sample: Element + Into<f64> {
    fn of(value: f64) -> Self;
}

impl Sample for u8 {
    fn of(value: f64) -> Self {
        (value + 0.5).floor().clamp(0.0, 255.0) as Self
    }
}

impl Sample for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }
}

pub(super) fn compute(problem: &Stencil, inputs: &[Array], output: &mut Array) {
    match problem.kind {
        Kind::U8 => rows::<u8>(problem, inputs, output.slice_mut()),
        _ => rows::<f32>(problem, inputs, output.slice_mut()),
    }
}

fn rows<T: Sample>(problem: &Stencil, inputs: &[Array], out: &mut [T]) {
    if out.is_empty() {
        return;
    }
    let picture = Picture {
        samples: inputs[0].slice::<T>(),
        problem,
    };
    let (square, axis) = (inputs[1].slice::<f32>(), inputs[2].slice::<f32>());
    let rows = out.par_chunks_mut(problem.pitch()).enumerate();
    rows.for_each(|(y, out)| {
        let out = &mut out[..problem.width];
        match &problem.filter {
            Filter::Erosion(_) => picture.least(y, out),
            // No ladder has any.
            Filter::Dilation(_) => {}
            Filter::Box(_) | Filter::Gauss(_) => picture.weighted(y, axis, out),
            Filter::Sobel => picture.edges(y, out),
            Filter::Convolution(_) => picture.convolved(y, square, out),
        }
    });
}

versions! {
    fn least(row: &[f64], onto: &mut [f64]) {
        for (onto, sample) in onto.iter_mut().zip(row) {
            *onto = if *sample < *onto { *sample } else { *onto };
        }
    }
}

fn add(weight: f64, row: &[f64], onto: &mut [f64]) {
    add_weighted(Isa::best(), weight, row, onto);
}

versions! {
    fn add_weighted(weight: f64, row: &[f64], onto: &mut [f64]) {
        for (onto, sample) in onto.iter_mut().zip(row) {
            *onto += weight * sample;
        }
    }
}

struct Picture<'a, T> {
    samples: &'a [T],
    problem: &'a Stencil,
}

impl<T: Sample> Picture<'_, T> {
    /// The row `dy` − radius below row `y`, as numbers; rows outside are the nearest inside.
    fn row(&self, y: usize, dy: usize) -> impl Iterator<Item = f64> + '_ {
        let row = (y + dy)
            .saturating_sub(self.problem.radius())
            .min(self.problem.height - 1);
        let start = row * self.problem.pitch();
        self.samples[start..start + self.problem.width]
            .iter()
            .map(|sample| (*sample).into())
    }

    fn side(&self) -> usize {
        2 * self.problem.radius() + 1
    }

    /// Columns with the nearest of them `radius` times before the first and after the last.
    fn replicated(&self, columns: &[f64]) -> Vec<f64> {
        let radius = self.problem.radius();
        let all = 0..columns.len() + 2 * radius;
        let nearest = |place: usize| place.saturating_sub(radius).min(columns.len() - 1);
        all.map(|place| columns[nearest(place)]).collect()
    }

    fn least(&self, y: usize, out: &mut [T]) {
        let mut columns: Vec<f64> = self.row(y, 0).collect();
        for dy in 1..self.side() {
            let row: Vec<f64> = self.row(y, dy).collect();
            least(Isa::best(), &row, &mut columns);
        }
        let row = self.replicated(&columns);
        for dx in 0..self.side() {
            least(Isa::best(), &row[dx..], &mut columns);
        }
        for (out, window) in out.iter_mut().zip(columns) {
            *out = T::of(window);
        }
    }

    fn weighted(&self, y: usize, weights: &[f32], out: &mut [T]) {
        let mut columns = vec![0.0; out.len()];
        for (dy, weight) in weights.iter().enumerate() {
            let row: Vec<f64> = self.row(y, dy).collect();
            add(f64::from(*weight), &row, &mut columns);
        }
        let row = self.replicated(&columns);
        let mut sums = vec![0.0; out.len()];
        for (dx, weight) in weights.iter().enumerate() {
            add(f64::from(*weight), &row[dx..], &mut sums);
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = T::of(sum / self.problem.divisor());
        }
    }

    /// The sum of a square with any weights.
    fn sums(&self, y: usize, weights: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.problem.width];
        for dy in 0..self.side() {
            let row = self.replicated(&self.row(y, dy).collect::<Vec<f64>>());
            for dx in 0..self.side() {
                add(weights(dy, dx), &row[dx..], &mut sums);
            }
        }
        sums
    }

    fn edges(&self, y: usize, out: &mut [T]) {
        let (smooth, slope) = ([1.0, 2.0, 1.0], [-1.0, 0.0, 1.0]);
        let across = self.sums(y, |dy, dx| smooth[dy] * slope[dx]);
        let down = self.sums(y, |dy, dx| slope[dy] * smooth[dx]);
        for ((across, down), out) in across.iter().zip(&down).zip(out) {
            *out = T::of(across.abs() + down.abs());
        }
    }

    fn convolved(&self, y: usize, weights: &[f32], out: &mut [T]) {
        let side = self.side();
        let sums = self.sums(y, |dy, dx| weights[dy * side + dx].into());
        for (sum, out) in sums.iter().zip(out) {
            *out = T::of(sum / self.problem.divisor());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Fill;
    use crate::families::stencil::{Subject, checks};
    use crate::family::Problem;

    /// The square of pixels around a pixel, by its definition.
    fn square(samples: &[u8], problem: &Stencil, x: usize, y: usize) -> Vec<f64> {
        let reach = problem.radius() as isize;
        let nearest = |place: isize, count: usize| place.clamp(0, count as isize - 1) as usize;
        let places = (-reach..=reach).flat_map(|dy| (-reach..=reach).map(move |dx| (dx, dy)));
        places
            .map(|(dx, dy)| {
                let row = nearest(y as isize + dy, problem.height);
                let column = nearest(x as isize + dx, problem.width);
                samples[row * problem.pitch() + column].into()
            })
            .collect()
    }

    #[test]
    fn columns_before_rows_are_the_same_as_whole_squares() {
        for subject in [
            Subject::Box,
            Subject::Gauss,
            Subject::Sobel,
            Subject::Convolution,
            Subject::Extreme,
        ] {
            let small = |problem: &Stencil| problem.elements() < 6_000 && problem.radius() <= 15;
            for problem in checks(subject, Kind::U8).into_iter().filter(small) {
                let inputs = problem.inputs(Fill::Random);
                let mut output = Array::new(problem.layout());
                compute(&problem, &inputs, &mut output);
                let (samples, weights) = (inputs[0].slice::<u8>(), problem.square_weights());
                for (x, y) in (0..problem.height).flat_map(|y| (0..problem.width).map(move |x| (x, y))) {
                    let square = square(samples, &problem, x, y);
                    let sum = |weights: &[f32]| -> f64 {
                        square
                            .iter()
                            .zip(weights)
                            .map(|(sample, weight)| sample * f64::from(*weight))
                            .sum()
                    };
                    let right = match problem.filter {
                        Filter::Erosion(_) => square.iter().copied().fold(255.0, f64::min),
                        Filter::Sobel => {
                            sum(&[-1.0, 0.0, 1.0, -2.0, 0.0, 2.0, -1.0, 0.0, 1.0]).abs()
                                + sum(&[-1.0, -2.0, -1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 1.0]).abs()
                        }
                        _ => sum(&weights) / problem.divisor(),
                    };
                    let found = output.slice::<u8>()[y * problem.pitch() + x];
                    assert_eq!(found, u8::of(right), "{} at ({x}, {y})", problem.label());
                }
            }
        }
    }
}
