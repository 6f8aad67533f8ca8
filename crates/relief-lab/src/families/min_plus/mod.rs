//! Min-plus product of square matrices: out(i, j) = min over k of a(i, k) + b(k, j); the source's shortcut problem.
//!
//! Rows begin at multiples of 16 bytes; what follows a row of the result, up to there, is `INFINITY`. An eighth of the numbers are `INFINITY`, no path.
//! From row 257 on, rows of a repeat those before, and so do those of the result: a reference of large products is found in n²
//! steps for each of 257 rows, and every element is compared.
//!
//! Least work: n³ operations, each an addition with its minimum (the source, and the figures of others, count two), and every number once. An
//! operand is used n times, so operations bind where it is kept near.
//!
//! `min-plus/paths` is what it is for: shortest paths between all pairs.
//!
//! The source's figures are of n = 6 300 f32: version 1 8 s, version 2 1.2 s (58 % of its device), its best CPU version 2 s.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
mod paths;

use relief_numeric::element::Element;
use relief_numeric::min_plus::LIMIT;

use crate::array::{Array, Fill, Kind, Layout, mix};
use crate::family::{Class, Family, Ladder, Operation, Problem, Scale, Work};

fn ladder(name: &'static str, about: &'static str, numbers: Numbers) -> Box<Ladder<Product>> {
    let variants = on_both!(cpu::variants(), gpu::variants(numbers));
    let of = move |n| Product { numbers, n };
    let ladder =
        Ladder::new(name, about, variants).checks(move || [0, 1, 2, 5, 33, 64, 65, 130, 259].map(of).into());
    Box::new(ladder.cases(move |scale| cases(scale).into_iter().map(of).collect()))
}

pub(super) fn family() -> Family {
    Family {
        name: "min-plus",
        about: "matrix products of shortest paths: an addition and a minimum a step",
        source: "Quadro K2000 and a 4-core Xeon, n = 6 300 f32",
        source_size: "6 300 f32",
        wins: "Registers and fewer instructions: 8 × 8 or 8 × 16 results a thread, slices through shared \
               memory, and for numbers that are not negative an order of bits that makes two steps three \
               instructions.",
        loses: "Reading memory for every operation binds by loads (versions 0 and 1), and the bad access \
                pattern of version 0 by sectors too. Version 2, the source's best, keeps operands in \
                registers but loads them from memory for each thread.",
        ladders: vec![
            ladder(
                "min-plus/f32",
                "min over k of a(i, k) + b(k, j), f32 of both signs",
                Numbers::Signed,
            ),
            ladder(
                "min-plus/f32-non-negative",
                "min over k of a(i, k) + b(k, j), f32 of 0 and more",
                Numbers::NonNegative,
            ),
            ladder(
                "min-plus/i32",
                "min over k of a(i, k) + b(k, j), i32, saturating",
                Numbers::Integers,
            ),
            Box::new(paths::ladder()),
        ],
    }
}

fn cases(scale: Scale) -> Vec<usize> {
    let sides: &[usize] = match (scale.class, scale.quick) {
        (Class::Software, _) => &[256],
        (Class::Cpu, true) => &[512],
        (Class::Gpu, true) => &[2_048],
        (Class::Cpu, false) => &[100, 1_000, 4_096],
        (Class::Gpu, false) => &[100, 1_000, 4_096, 6_300, 16_384],
    };
    scale.sides_or(sides)
}

/// What matrices hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    Signed,
    NonNegative,
    Integers,
}

impl Numbers {
    const fn element(self) -> Element {
        match self {
            Self::Signed | Self::NonNegative => Element::F32,
            Self::Integers => Element::I32,
        }
    }

    const fn kind(self) -> Kind {
        Kind::of(self.element())
    }
}

/// A product of n × n numbers.
#[derive(Clone, Copy)]
struct Product {
    numbers: Numbers,
    n: usize,
}

/// Rows of a that differ; no multiple of any tile's side.
const ROWS: usize = 257;

impl Product {
    /// Numbers from one row to the next.
    const fn pitch(&self) -> usize {
        self.n
            .next_multiple_of(self.numbers.element().per_vector() as usize)
    }

    const fn layout(&self) -> Layout {
        Layout::new(self.numbers.kind(), self.pitch() * self.n)
    }

    /// A matrix whose row y, column x are those of (x, y mod `rows`).
    fn matrix(&self, fill: Fill, seed: u64, rows: usize) -> Array {
        let pitch = self.pitch();
        let bits = move |place: usize| {
            let place = place / pitch % rows * pitch + place % pitch;
            match fill {
                Fill::Random => mix(seed, place as u64),
                Fill::Structured => (place as u32).wrapping_mul(0x2545_F491) & 0xff0f_ffff,
            }
        };
        let none = |bits: u32| bits.is_multiple_of(8);
        let len = self.layout().len;
        match self.numbers {
            Numbers::Signed | Numbers::NonNegative => {
                // 24 bits less a half of them, so that 0 has one sign.
                let least = if self.numbers == Numbers::Signed { 0.5 } else { 0.0 };
                Array::from_fn(len, |place| match bits(place) {
                    bits if none(bits) => f32::INFINITY,
                    bits => (bits >> 8) as f32 / 16_777_216.0 - least,
                })
            }
            Numbers::Integers => Array::from_fn(len, |place| match bits(place) {
                bits if none(bits) => i32::MAX.cast_unsigned(),
                bits => ((bits >> 4).cast_signed() - (1 << 27)).cast_unsigned(),
            }),
        }
    }

    /// The definition, for [`ROWS`] rows; the others are copies.
    fn product<T: crate::array::Element>(
        &self,
        a: &[T],
        b: &[T],
        out: &mut [T],
        none: T,
        take: impl Fn(T, T, T) -> T + Sync,
    ) {
        use rayon::prelude::*;

        let pitch = self.pitch();
        if self.n == 0 {
            return;
        }
        let (own, copies) = out.split_at_mut(self.n.min(ROWS) * pitch);
        own.par_chunks_mut(pitch).enumerate().for_each(|(i, out)| {
            out.fill(none);
            for k in 0..self.n {
                let (a, b) = (a[i * pitch + k], &b[k * pitch..][..self.n]);
                for (out, b) in out.iter_mut().zip(b) {
                    *out = take(*out, a, *b);
                }
            }
        });
        for (i, copy) in copies.chunks_mut(pitch).enumerate() {
            copy.copy_from_slice(&own[i % ROWS * pitch..][..pitch]);
        }
    }
}

impl Problem for Product {
    fn label(&self) -> String {
        let kind = match self.numbers {
            Numbers::Signed | Numbers::NonNegative => "f32",
            Numbers::Integers => "i32",
        };
        format!("{} × {0} {kind}", crate::quantity::count(self.n as u64))
    }

    fn elements(&self) -> u64 {
        self.n as u64 * self.n as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![self.matrix(fill, 1, ROWS), self.matrix(fill, 2, usize::MAX)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![self.layout()]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        match self.numbers {
            Numbers::Signed | Numbers::NonNegative => {
                let take = |least: f32, a: f32, b: f32| if a + b < least { a + b } else { least };
                let (a, b) = (inputs[0].slice(), inputs[1].slice());
                self.product(a, b, outputs[0].slice_mut(), f32::INFINITY, take);
            }
            Numbers::Integers => {
                // Lengths are within the limits; only the sum may leave them.
                let take = |least: u32, a: u32, b: u32| {
                    let (a, b) = (a.cast_signed(), b.cast_signed());
                    let far = a > LIMIT || b > LIMIT || a + b > LIMIT;
                    let sum = if far { i32::MAX } else { (a + b).max(-LIMIT) };
                    sum.min(least.cast_signed()).cast_unsigned()
                };
                let (a, b) = (inputs[0].slice(), inputs[1].slice());
                self.product(a, b, outputs[0].slice_mut(), i32::MAX.cast_unsigned(), take);
            }
        }
    }

    fn work(&self) -> Work {
        let bytes = self.numbers.kind().bytes() as u64 * self.elements();
        let operation = match self.numbers {
            Numbers::Signed | Numbers::NonNegative => Operation::F32AddMin,
            Numbers::Integers => Operation::IntegerAddMin,
        };
        Work::bytes(2 * bytes, bytes).operations(operation, self.elements() * self.n as u64)
    }
}
