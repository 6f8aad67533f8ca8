//! Transpose: out(y, x) = in(x, y), of elements of 8, 16 and 32 bits; those of 32 may be floats.
//!
//! Rows begin at multiples of 16 bytes; what follows a row of the result, up to there, is 0.
//!
//! Least work: every element is read once and written once; nothing is computed. So a copy of as many bytes
//! is the bound, and what the ladder shows is the price of walking memory across its lines.
//!
//! On devices:
//! - `naive`: a unit for each word of the result; loads follow rows, stores lie a row apart.
//! - `tiled`: tiles of 32 × 32 words by way of shared memory; loads and stores follow rows. Columns of the
//!   tile lie in one bank.
//! - `padded`: a column more for each row of words, so that columns lie in all banks.
//! - `blocks`: blocks of 16 × 16 bytes (8 × 8, 4 × 4 elements) turned in registers, without shared memory;
//!   stores of a plane are runs of 64 bytes.
//! - `vectors`: the same blocks by way of shared memory, so that loads and stores are runs of 128 bytes and
//!   more; place y of column x lies at y xor x. Its layout is tuned.
//! - `production`: the one of both that suits the size.
//!
//! On the CPU:
//! - `naive`: rows are read in order, and stores lie a row apart.
//! - `blocked`: blocks of 64 × 64 elements, so that lines are used whole before they leave the cache.
//! - `tiles`: tiles of whole lines turned by interleaving, in vectors; cached stores.
//! - `tiles streamed`: non-temporal stores.
//! - `threads production`: the same on all threads, in parts; the stores by size.
//!
//! The source's figures are of a K40, in GB/s: copy 177.15, naive 68.98, tiled 116.82, padded 121.83.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;

use crate::array::{Array, Element, Fill, Kind, Layout};
use crate::family::{Class, Family, Ladder, Lesson, Problem, Scale, Work};

/// The family.
#[must_use]
pub fn family() -> Family {
    Family {
        name: "transpose",
        about: "rows become columns: the price of walking across the lines of memory",
        source: "K40, whose copy makes 177.15 GB/s",
        source_size: "",
        lesson: Lesson {
            wins: "Both sides move whole sectors: blocks of vectors are turned in registers, or go \
                    through shared memory with place y xor x, which needs no padding and keeps vectors \
                    aligned. On processors tiles of whole lines are turned by interleaving and stored \
                    non-temporally.",
            loses: "The naive kernel stores one word a sector. A square tile in shared memory has its \
                    columns in one bank; a padded column mends that. \
                    Words instead of vectors leave a third of memory's speed.",
        },
        ladders: vec![
            Box::new(ladder(
                "transpose/u8",
                "out(y, x) = in(x, y), 8 bits",
                Sizes {
                    checks: || checks(Kind::U8),
                    cases: |scale| cases(Kind::U8, scale),
                    huge: || huge(Kind::U8, 65_600, 65_551),
                },
            )),
            Box::new(ladder(
                "transpose/u16",
                "out(y, x) = in(x, y), 16 bits",
                Sizes {
                    checks: || checks(Kind::U16),
                    cases: |scale| cases(Kind::U16, scale),
                    huge: || huge(Kind::U16, 46_400, 46_411),
                },
            )),
            Box::new(ladder(
                "transpose/u32",
                "out(y, x) = in(x, y), 32 bits",
                Sizes {
                    checks: || checks(Kind::U32),
                    cases: |scale| cases(Kind::U32, scale),
                    huge: || huge(Kind::U32, 32_780, 32_777),
                },
            )),
        ],
    }
}

/// The problems of one kind of elements.
struct Sizes {
    checks: fn() -> Vec<Transpose>,
    cases: fn(Scale) -> Vec<Transpose>,
    huge: fn() -> Vec<Transpose>,
}

fn ladder(name: &'static str, about: &'static str, sizes: Sizes) -> Ladder<Transpose> {
    #[allow(unused_mut)]
    let mut variants = cpu::variants();
    #[cfg(feature = "gpu")]
    variants.extend(gpu::variants(name));
    Ladder {
        name,
        about,
        axis: None,
        checks: sizes.checks,
        cases: sizes.cases,
        huge: sizes.huge,
        variants,
    }
}

fn checks(kind: Kind) -> Vec<Transpose> {
    let sizes = [
        (0, 0),
        (0, 5),
        (5, 0),
        (1, 1),
        (1, 33),
        (33, 1),
        (2, 3),
        (4, 4),
        (5, 16),
        (16, 5),
        (31, 33),
        (64, 64),
        (63, 65),
        (100, 127),
        (256, 256),
        (300, 70),
        (129, 515),
    ];
    let of = |(width, height)| Transpose { kind, width, height };
    sizes.into_iter().map(of).collect()
}

fn cases(kind: Kind, scale: Scale) -> Vec<Transpose> {
    let of = |size: u64| {
        // Powers of two, the worst of sizes, have sides that are powers of two.
        let width = match size.is_power_of_two() {
            true => 1 << size.ilog2().div_ceil(2),
            false => size.isqrt().max(1),
        };
        let (width, height) = (width as usize, (size / width) as usize);
        Transpose { kind, width, height }
    };
    let mut cases: Vec<Transpose> = scale.sizes().into_iter().map(of).collect();
    if scale.class != Class::Software && !scale.quick && scale.size.is_none() {
        cases.push(Transpose {
            kind,
            width: 4_219,
            height: 4_111,
        });
    }
    cases
}

fn huge(kind: Kind, width: usize, height: usize) -> Vec<Transpose> {
    vec![Transpose { kind, width, height }]
}

/// A matrix of so many elements.
#[derive(Clone, Copy)]
struct Transpose {
    kind: Kind,
    width: usize,
    height: usize,
}

impl Transpose {
    /// Elements from one row of `width` elements to the next.
    fn pitch(&self, width: usize) -> usize {
        width.next_multiple_of(16 / self.kind.bytes())
    }

    fn pitch_in(&self) -> usize {
        self.pitch(self.width)
    }

    fn pitch_out(&self) -> usize {
        self.pitch(self.height)
    }

    fn turn<T: Element>(&self, from: &[T], to: &mut [T]) {
        let (from_pitch, to_pitch) = (self.pitch_in(), self.pitch_out());
        for y in 0..self.height {
            for x in 0..self.width {
                to[x * to_pitch + y] = from[y * from_pitch + x];
            }
        }
    }
}

impl Problem for Transpose {
    fn label(&self) -> String {
        let (width, height) = (self.width, self.height);
        format!("{width} × {height} u{}", 8 * self.kind.bytes())
    }

    fn elements(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let layout = Layout {
            kind: self.kind,
            len: self.pitch_in() * self.height,
        };
        vec![Array::filled(layout, fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout {
            kind: self.kind,
            len: self.pitch_out() * self.width,
        }]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        match self.kind {
            Kind::U8 => self.turn(inputs[0].slice::<u8>(), outputs[0].slice_mut()),
            Kind::U16 => self.turn(inputs[0].slice::<u16>(), outputs[0].slice_mut()),
            _ => self.turn(inputs[0].slice::<u32>(), outputs[0].slice_mut()),
        }
    }

    fn work(&self) -> Work {
        let bytes = self.elements() * self.kind.bytes() as u64;
        Work::bytes(bytes, bytes)
    }
}
