//! Products of matrices, C = A·B: m × n sums of k products each.
//!
//! Least work: m·n·k multiply-adds, and each operand read once. One operation is a multiply-add: rates are half of what is
//! usually given as flop/s. So the bound is arithmetic, as soon as each number is used often enough where it is at hand; the
//! ladder shows how often it is fetched instead.
//!
//! `matmul/bf16` and `matmul/f16`: operands of 16 bits, sums of 32 (`halves`).
//!
//! Inputs hold numbers of 0…1, so that nothing cancels and a sum of k products is right up to k · 2⁻²⁴ in any order; or whole numbers so small
//! that sums are exact in any order, so that a product too few or too many shows. Rows of the
//! left operand repeat after 61, so that a reference in f64 of all sums takes no longer than that of 61 rows. The source's
//! figures, 8.3 to 36.9 GFLOPS, include transfers, and name no sizes.

#[cfg(feature = "gpu")]
mod cooperative;
mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
mod halves;

use rayon::prelude::*;

use self::halves::Half;
use crate::array::{Array, Fill, Layout};
use crate::families::factors;
use crate::family::{Class, Family, Ladder, Operation, Problem, Scale, Tolerance, Work};
use crate::quantity::count;

pub(super) fn family() -> Family {
    let variants = on_both!(cpu::variants(), gpu::variants());
    let f32 = Ladder::new("matmul/f32", "C(i, j) = Σ A(i, k)·B(k, j), f32", variants);
    Family {
        name: "matmul",
        about: "matrix × matrix: how often a number is used where it is at hand",
        source: "AMD Radeon HD 5750: 8.3–36.9 GFLOPS with transfers",
        source_size: "",
        wins: "Each number that is fetched is used more often: 64 to 128 sums a thread in registers, vectors \
               from shared memory, and slices that the device copies itself while others are multiplied.",
        loses: "Uncoalesced loads cost the most, then loads for every product: shared memory is slower than \
                registers too, so one sum a thread waits for it. Where cuBLAS is ahead on 16 bits, it uses \
                instructions for groups of warps that the runtime does not offer.",
        ladders: vec![
            Box::new(f32.checks(checks).cases(cases)),
            halves::ladder(
                "matmul/bf16",
                "C(i, j) = Σ A(i, k)·B(k, j), bf16 → f32",
                Half::Bf16,
            ),
            halves::ladder("matmul/f16", "C(i, j) = Σ A(i, k)·B(k, j), f16 → f32", Half::F16),
        ],
    }
}

fn checks() -> Vec<Product> {
    let sizes = [
        (0, 4, 4),
        (4, 0, 4),
        (4, 4, 0),
        (1, 1, 4),
        (3, 5, 8),
        (33, 17, 36),
        (64, 64, 64),
        (130, 70, 132),
        (70, 260, 300),
    ];
    let of = |(rows, inner, columns)| Product::new(rows, inner, columns);
    sizes.into_iter().map(of).collect()
}

fn cases(scale: Scale) -> Vec<Product> {
    let square = |side: usize| Product::new(side, side, side);
    if let Some(size) = scale.size {
        return vec![square((size.isqrt() as usize).next_multiple_of(4))];
    }
    let sides: &[usize] = match (scale.class, scale.quick) {
        (Class::Cpu, true) => &[512],
        (Class::Cpu, false) => &[512, 1_024, 4_096],
        (Class::Software, _) => &[256],
        (Class::Gpu, true) => &[4_096],
        (Class::Gpu, false) => &[1_024, 4_096, 8_192],
    };
    sides.iter().map(|side| square(*side)).collect()
}

/// Rows of the left operand before they repeat.
const PERIOD: usize = 61;

/// Two matrices; all rows are multiples of four numbers long, and numbers behind the last of a row are 0.
#[derive(Clone, Copy)]
struct Product {
    rows: usize,
    inner: usize,
    columns: usize,
}

impl Product {
    const fn new(rows: usize, inner: usize, columns: usize) -> Self {
        Self { rows, inner, columns }
    }

    /// Numbers from one row of the left operand to the next.
    const fn pitch(&self) -> usize {
        self.inner.next_multiple_of(4)
    }

    /// Multiply-adds.
    const fn steps(&self) -> u64 {
        self.rows as u64 * self.inner as u64 * self.columns as u64
    }

    /// The left operand, each number by its place in the rows before they repeat.
    fn left(&self, fill: Fill) -> Array {
        let (inner, pitch) = (self.inner, self.pitch());
        let once = factors(PERIOD * pitch, fill, 1, inner);
        let once = once.slice::<f32>();
        Array::from_fn(self.rows * pitch, |at| {
            let (row, column) = (at / pitch, at % pitch);
            if column < inner {
                once[row % PERIOD * pitch + column]
            } else {
                0.0
            }
        })
    }
}

impl Problem for Product {
    fn label(&self) -> String {
        let Self { rows, inner, columns } = *self;
        let [rows, inner, columns] = [rows, inner, columns].map(|side| count(side as u64));
        format!("{rows} × {inner} × {columns} f32")
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![
            self.left(fill),
            factors(self.inner * self.columns, fill, 2, self.inner),
        ]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<f32>(self.rows * self.columns)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        product(self, inputs[0].slice(), inputs[1].slice(), outputs[0].slice_mut());
    }

    fn work(&self) -> Work {
        let read = 4 * (self.rows * self.inner + self.inner * self.columns) as u64;
        Work::bytes(read, 4 * self.elements()).operations(Operation::F32MultiplyAdd, self.steps())
    }

    fn tolerance(&self, fill: Fill) -> Tolerance {
        match fill {
            Fill::Random => Tolerance::Relative(self.inner.max(16) as f64 / 16_777_216.0),
            Fill::Structured => Tolerance::Exact,
        }
    }
}

/// All sums in f64: of the rows before they repeat, and then their copies.
fn product(p: &Product, left: &[f32], right: &[f32], result: &mut [f32]) {
    if result.is_empty() {
        return;
    }
    let whole = (PERIOD * p.columns).min(result.len());
    let (first, copies) = result.split_at_mut(whole);
    first.par_chunks_mut(p.columns).enumerate().for_each(|(i, sums)| {
        let mut wide = vec![0.0_f64; p.columns];
        for (k, number) in left[i * p.pitch()..][..p.inner].iter().enumerate() {
            let row = &right[k * p.columns..][..p.columns];
            for (sum, other) in wide.iter_mut().zip(row) {
                *sum += f64::from(*number) * f64::from(*other);
            }
        }
        for (sum, wide) in sums.iter_mut().zip(wide) {
            *sum = wide as f32;
        }
    });
    for copy in copies.chunks_mut(whole) {
        copy.copy_from_slice(&first[..copy.len()]);
    }
}
