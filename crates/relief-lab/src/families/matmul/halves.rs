//! Products of numbers of 16 bits into floats of 32.
//!
//! Where a device lacks matrix instructions, as software Vulkan does, the variants say so.
//!
//! The bound is that of the device's matrix instructions fed from registers, and of multiply-adds of f32 where there are none. Libraries that
//! use the instructions of Hopper for whole groups of planes, which the runtime does not offer, may pass it.

use relief_numeric::matmul::cpu::Operand;
#[cfg(feature = "gpu")]
use relief_numeric::matmul::gpu;
use relief_numeric::matmul::{bf16, f16};
use relief_numeric::matrix::Matrix;

use super::cpu::scratch_of_deal;
use super::{PERIOD, Product, product};
use crate::array::{Array, Fill, Layout};
use crate::families::whole_factor;
use crate::family::{Failure, Ladder, OnCpu, Operation, Outcome, Problem, Tolerance, Variant, Work};

/// The ladder of a kind of number.
pub(super) fn ladder(name: &'static str, about: &'static str, half: Half) -> Box<Ladder<Halves>> {
    let all = move |shapes: Vec<Product>| -> Vec<Halves> {
        shapes.into_iter().map(|shape| Halves { half, shape }).collect()
    };
    let ladder = Ladder::new(name, about, variants()).checks(move || all(super::checks()));
    Box::new(ladder.cases(move |scale| all(super::cases(scale))))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Half {
    F16,
    Bf16,
}

impl Half {
    fn bits(self, number: f32) -> u16 {
        match self {
            Self::F16 => f16::from_f32(number).to_bits(),
            Self::Bf16 => bf16::from_f32(number).to_bits(),
        }
    }

    fn number(self, bits: u16) -> f32 {
        match self {
            Self::F16 => f16::from_bits(bits).to_f32(),
            Self::Bf16 => bf16::from_bits(bits).to_f32(),
        }
    }
}

/// Two matrices of numbers of 16 bits, whose rows begin at multiples of eight numbers.
#[derive(Clone, Copy)]
pub(super) struct Halves {
    pub(super) half: Half,
    pub(super) shape: Product,
}

impl Halves {
    /// Numbers from one row of each operand to the next.
    pub(super) const fn pitches(&self) -> [usize; 2] {
        let Product { inner, columns, .. } = self.shape;
        [inner.next_multiple_of(8), columns.next_multiple_of(8)]
    }

    /// Random numbers of 0…1, or every second 0 and others whole numbers whose sums are exact, that repeat after some rows.
    fn operand(&self, fill: Fill, rows: usize, which: usize) -> Array {
        let width = [self.shape.inner, self.shape.columns][which];
        let pitch = self.pitches()[which];
        let period = [PERIOD, rows.max(1)][which];
        let half = self.half;
        Array::from_fn(rows * pitch, |at| {
            let (row, column) = (at / pitch % period, at % pitch);
            let place = (row * width + column) as u64;
            let number = match fill {
                _ if column >= width => 0.0,
                Fill::Random => (crate::array::mix(which as u64, place) >> 8) as f32 / 16_777_216.0,
                // Four times the terms leave two bits to what devices keep of a sum less.
                Fill::Structured => whole_factor(which as u64, place as usize, 4 * self.shape.inner.max(256)),
            };
            half.bits(number)
        })
    }
}

impl Problem for Halves {
    fn label(&self) -> String {
        let name = match self.half {
            Half::F16 => "f16",
            Half::Bf16 => "bf16",
        };
        self.shape.label().replace("f32", name)
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![
            self.operand(fill, self.shape.rows, 0),
            self.operand(fill, self.shape.inner, 1),
        ]
    }

    fn outputs(&self) -> Vec<Layout> {
        self.shape.outputs()
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let wide = |which: usize, width: usize, pitch: usize| -> Vec<f32> {
            let rows = inputs[which].slice::<u16>().chunks(self.pitches()[which].max(1));
            let number = |at: usize, row: &[u16]| {
                if at < width {
                    self.half.number(row[at])
                } else {
                    0.0
                }
            };
            rows.flat_map(|row| (0..pitch).map(move |at| number(at, row)))
                .collect()
        };
        let left = wide(0, self.shape.inner, self.shape.pitch());
        let right = wide(1, self.shape.columns, self.shape.columns);
        product(&self.shape, &left, &right, outputs[0].slice_mut());
    }

    fn work(&self) -> Work {
        let Work { read, written, .. } = self.shape.work();
        let operation = match self.half {
            Half::F16 => Operation::F16MultiplyAdd,
            Half::Bf16 => Operation::Bf16MultiplyAdd,
        };
        Work::bytes(read / 2, written).operations(operation, self.shape.steps())
    }

    fn tolerance(&self, fill: Fill) -> Tolerance {
        match fill {
            // Matrix instructions may cut where others round, and add in steps of their own.
            Fill::Random => Tolerance::Relative(self.shape.inner.max(16) as f64 / 4_194_304.0),
            Fill::Structured => Tolerance::Exact,
        }
    }
}

type Run = fn(&Halves, OnCpu<'_>) -> Outcome;

fn variants() -> Vec<Variant<Halves>> {
    let of = |name, idea, f16: Run, bf16: Run| {
        Variant::cpu(name, idea, move |p: &Halves, call| match p.half {
            Half::F16 => f16(p, call),
            Half::Bf16 => bf16(p, call),
        })
    };
    let idea = "all threads pack the right operand, then take rows each";
    vec![
        of("rows", "the inner loop widens a row", rows::<f16>, rows::<bf16>),
        of("threads", idea, threads::<f16>, threads::<bf16>)
        .scratch(|p| scratch_of_deal(p.shape.inner, p.shape.columns))
        .production(),
        #[cfg(feature = "gpu")]
        Variant::gpu(
            "cooperative matrices",
            "the runtime's matrices of 16 × 16: planes of 32 × 32 sums, slices through registers",
            super::cooperative::run,
        ),
        #[cfg(feature = "gpu")]
        Variant::gpu(
            "matrix instructions",
            "planes of 64 × 64 sums, slices in boxes that the device copies, operands of the next products loaded meanwhile",
            |p: &Halves, call| {
                let shape = gpu::Shape {
                    rows: p.shape.rows as u32,
                    inner: p.shape.inner as u32,
                    columns: p.shape.columns as u32,
                };
                let half = match p.half {
                    Half::F16 => gpu::Half::F16,
                    Half::Bf16 => gpu::Half::Bf16,
                };
                let of = |buffer, pitch: usize| gpu::Rows {
                    buffer,
                    pitch: pitch as u32,
                };
                let [left, right] = p.pitches().map(|pitch| pitch / 2);
                let (left, right) = (of(&call.inputs[0], left), of(&call.inputs[1], right));
                let result = of(&call.outputs[0], p.shape.columns);
                Ok(gpu::multiply_halves(call.gpu, half, shape, left, right, result)?)
            },
        )
        .production(),
    ]
}

type Operands<'a, T> = (Matrix<'a, T>, Matrix<'a, T>);

fn operands<'a, T: Operand + bytemuck::Pod>(p: &Halves, call: &OnCpu<'a>) -> Outcome<Operands<'a, T>> {
    let [left, right] = p.pitches();
    let numbers = |which: usize| bytemuck::cast_slice(call.inputs[which].bytes());
    Ok((
        Matrix::new(numbers(0), p.shape.rows, p.shape.inner, left)?,
        Matrix::new(numbers(1), p.shape.inner, p.shape.columns, right)?,
    ))
}

fn rows<T: Operand + bytemuck::Pod>(p: &Halves, call: OnCpu<'_>) -> Outcome {
    super::cpu::patient(&p.shape)?;
    let (left, right) = operands::<T>(p, &call)?;
    let result = call.outputs[0].slice_mut::<f32>();
    for (i, sums) in result.chunks_mut(p.shape.columns.max(1)).enumerate() {
        sums.fill(0.0);
        for (k, number) in left.row(i).iter().enumerate() {
            for (sum, other) in sums.iter_mut().zip(right.row(k)) {
                *sum += number.widen() * other.widen();
            }
        }
    }
    Ok(())
}

fn threads<T: Operand + bytemuck::Pod>(p: &Halves, call: OnCpu<'_>) -> Outcome {
    let (left, right) = operands::<T>(p, &call)?;
    let [packed, scratch] = call.scratch else {
        return Err(Failure::Failed("no scratch memory".to_owned()));
    };
    let result = call.outputs[0].slice_mut();
    super::cpu::deal(left, right, result, packed.slice_mut(), scratch.slice_mut())
}
