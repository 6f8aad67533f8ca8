//! Products of a matrix and a vector: y = M·x, a sum along each row, and y = x·M, a sum down each column.
//!
//! Least work: every number of the matrix is read once and takes part in one multiply-add. So the bound is how fast memory is
//! read. What a matrix product does with its operands, keep them in shared memory to use them again, serves the vector
//! alone here: a number of the matrix is used once.
//!
//! `matvec/columns` is x·M, the source's problem; `matvec/rows` is M·x.
//!
//! Sums are floats in an order that differs by variant; production's is fixed. They are compared with sums in f64, up to k · 2⁻²⁴
//! of the sum of k products: a bound for every order where nothing cancels; and on whole numbers, whose sums are exact in any order, they
//! have to be equal. The source measured 12 288² on an HD 5750.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;

use rayon::prelude::*;

use crate::array::{Array, Fill, Layout};
use crate::families::factors;
use crate::family::{Class, Family, Ladder, Operation, Problem, Scale, Tolerance, Work};
use crate::quantity::count;

pub(super) fn family() -> Family {
    Family {
        name: "matvec",
        about: "a matrix and a vector: each number is used once",
        source: "AMD Radeon HD 5750; 12 288² took 2 452 ms on its CPU",
        source_size: "12 288 × 12 288 f32",
        wins: "Straight from memory: a number of the matrix is used once, so nothing is worth staging. \
               Several rows at once let a load of x serve all of them.",
        loses: "Tiles of both in shared memory pay barriers for data that is not used again. A thread a row \
                reads numbers a row apart. The kernel of matrix products wastes 127 of 128 of its sums.",
        ladders: vec![
            ladder("matvec/rows", "y(r) = Σ M(r, c)·x(c), f32", Side::Rows),
            ladder("matvec/columns", "y(c) = Σ x(r)·M(r, c), f32", Side::Columns),
        ],
    }
}

fn ladder(name: &'static str, about: &'static str, side: Side) -> Box<Ladder<Product>> {
    let variants = on_both!(cpu::variants(side), gpu::variants(side));
    let ladder = Ladder::new(name, about, variants).checks(move || checks(side));
    let ladder = ladder.cases(move |scale| cases(scale, side));
    Box::new(ladder.huge(move || vec![Product::new(side, 32_771, 32_900)]))
}

fn checks(side: Side) -> Vec<Product> {
    let sizes = [
        (0, 4),
        (4, 0),
        (1, 4),
        (3, 8),
        (33, 60),
        (64, 256),
        (130, 1_028),
        (700, 36),
        (1_030, 132),
        (3, 33_000),
    ];
    let of = |(rows, columns)| Product::new(side, rows, columns);
    sizes.into_iter().map(of).collect()
}

fn cases(scale: Scale, side: Side) -> Vec<Product> {
    let of = |(rows, columns)| Product::new(side, rows, columns);
    if let Some(size) = scale.size {
        let whole = (size.isqrt() as usize).next_multiple_of(4);
        return vec![of((whole, whole))];
    }
    let sizes: &[(usize, usize)] = match (scale.class, scale.quick) {
        (Class::Cpu, true) => &[(2_048, 2_048)],
        (Class::Cpu, false) => &[(2_048, 2_048), (12_288, 12_288), (1 << 20, 64), (64, 1 << 20)],
        (Class::Software, _) => &[(512, 512)],
        (Class::Gpu, true) => &[(12_288, 12_288)],
        (Class::Gpu, false) => &[(4_096, 4_096), (12_288, 12_288), (1 << 20, 128), (128, 1 << 20)],
    };
    sizes.iter().copied().map(of).collect()
}

/// What the vector is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Rows: M·x.
    Rows,
    /// Columns: x·M.
    Columns,
}

/// A matrix, whose rows are a multiple of four numbers long, and a vector.
#[derive(Clone, Copy)]
struct Product {
    side: Side,
    rows: usize,
    columns: usize,
}

impl Product {
    const fn new(side: Side, rows: usize, columns: usize) -> Self {
        Self { side, rows, columns }
    }

    /// Numbers of a sum, and sums.
    const fn inner(&self) -> usize {
        match self.side {
            Side::Rows => self.columns,
            Side::Columns => self.rows,
        }
    }

    const fn outer(&self) -> usize {
        match self.side {
            Side::Rows => self.rows,
            Side::Columns => self.columns,
        }
    }
}

impl Problem for Product {
    fn label(&self) -> String {
        format!("{} × {} f32", count(self.rows as u64), count(self.columns as u64))
    }

    fn elements(&self) -> u64 {
        self.rows as u64 * self.columns as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![
            factors(self.rows * self.columns, fill, 1, self.inner()),
            factors(self.inner(), fill, 2, self.inner()),
        ]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<f32>(self.outer())]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let (matrix, x) = (inputs[0].slice::<f32>(), inputs[1].slice::<f32>());
        let columns = self.columns;
        let y = outputs[0].slice_mut::<f32>();
        match self.side {
            Side::Rows => y.par_iter_mut().enumerate().for_each(|(r, y)| {
                let products = matrix[r * columns..][..columns].iter().zip(x);
                // From +0 on: the sum of no floats is −0.
                *y = products.fold(0.0_f64, |sum, (a, b)| sum + f64::from(*a) * f64::from(*b)) as f32;
            }),
            // Columns side by side, for memory's sake.
            Side::Columns => y.par_chunks_mut(64).enumerate().for_each(|(part, y)| {
                let mut sums = [0.0_f64; 64];
                for (r, x) in x.iter().enumerate() {
                    let row = &matrix[r * columns + 64 * part..][..y.len()];
                    for (sum, number) in sums.iter_mut().zip(row) {
                        *sum += f64::from(*number) * f64::from(*x);
                    }
                }
                for (y, sum) in y.iter_mut().zip(sums) {
                    *y = sum as f32;
                }
            }),
        }
    }

    fn work(&self) -> Work {
        let read = 4 * (self.elements() + self.inner() as u64);
        Work::bytes(read, 4 * self.outer() as u64).operations(Operation::F32MultiplyAdd, self.elements())
    }

    fn tolerance(&self, fill: Fill) -> Tolerance {
        match fill {
            Fill::Random => Tolerance::Relative(self.inner().max(16) as f64 / 16_777_216.0),
            Fill::Structured => Tolerance::Exact,
        }
    }
}
