//! Integral image: out(x, y) = Σ in(i, j) over i ≤ x, j ≤ y; of bytes in 32 bits (modulo 2^32) or in 64, of floats in floats.
//!
//! Rows begin at multiples of 16 bytes. What follows a row of the picture, up to there, is 0, and the result goes on over it.
//!
//! Least work: every sample is read once and every sum written once: 5, 9 or 8 bytes a sample. An addition or two for each
//! is less. So a copy of as many bytes is the bound.
//!
//! `integral/box` is what it is for: means over windows of any size.
//!
//! The source names it as what scans are for, and has no figures.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
mod windows;

use relief_numeric::integral::Sums;

use crate::array::{Array, Fill, Layout};
use crate::family::{Class, Family, Ladder, Problem, Tolerance, Work, sides};

fn ladder(
    name: &'static str,
    about: &'static str,
    sums: Sums,
    huge: (usize, usize),
) -> Box<Ladder<Integral>> {
    let variants = on_both!(cpu::variants(), gpu::variants(sums));
    let of = move |(width, height)| Integral { sums, width, height };
    let ladder = Ladder::new(name, about, variants)
        .checks(move || CHECKS.map(of).into())
        .cases(move |scale| {
            let mut sizes: Vec<_> = scale.sizes().into_iter().map(sides).collect();
            if scale.class != Class::Software && !scale.quick && scale.size.is_none() {
                sizes.push((6_001, 4_001));
            }
            sizes.into_iter().map(of).collect()
        });
    Box::new(ladder.huge(move || vec![of(huge)]))
}

pub(super) fn family() -> Family {
    Family {
        name: "integral",
        about: "the sum of all samples left of and above each: scans along both axes",
        source: "none: named as what scans are for",
        source_size: "",
        wins: "What enters each tile is computed first, by sums of tiles alone, and then everything in one \
               pass: the picture is read about once more, and no tile waits for another.",
        loses: "Two scans with transposes move the picture four times.",
        ladders: vec![
            ladder(
                "integral/u8",
                "out(x, y) = Σ in, u8 → u32",
                Sums::Short,
                (36_003, 36_001),
            ),
            ladder(
                "integral/u8-u64",
                "out(x, y) = Σ in, u8 → u64",
                Sums::Long,
                (25_003, 25_001),
            ),
            ladder(
                "integral/f32",
                "out(x, y) = Σ in, f32",
                Sums::Floats,
                (36_003, 36_001),
            ),
            Box::new(windows::ladder()),
        ],
    }
}

const CHECKS: [(usize, usize); 15] = [
    (0, 0),
    (0, 3),
    (5, 0),
    (1, 1),
    (1, 70),
    (70, 1),
    (2, 3),
    (4, 4),
    (127, 5),
    (128, 64),
    (129, 65),
    (300, 33),
    (33, 300),
    (1_030, 130),
    (257, 517),
];

/// An integral image of so many columns and rows.
#[derive(Clone, Copy)]
struct Integral {
    sums: Sums,
    width: usize,
    height: usize,
}

impl Integral {
    /// Samples from one row to the next.
    fn pitch_in(&self) -> usize {
        self.width.next_multiple_of(128 / self.sums.bits() as usize)
    }

    /// Sums from one row to the next.
    fn pitch_out(&self) -> usize {
        self.width.next_multiple_of(4)
    }
}

impl Problem for Integral {
    fn label(&self) -> String {
        let element = if self.sums == Sums::Floats { "f32" } else { "u8" };
        format!("{} × {} {element}", self.width, self.height)
    }

    fn elements(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let len = self.pitch_in() * self.height;
        let layout = match self.sums {
            Sums::Floats => Layout::of::<f32>(len),
            _ => Layout::of::<u8>(len),
        };
        let mut array = Array::filled(layout, fill, 1);
        let width = self.width * self.sums.bits() as usize / 8;
        let pitch = self.pitch_in() * self.sums.bits() as usize / 8;
        for row in array.bytes_mut().chunks_mut(pitch.max(1)) {
            row[width..].fill(0);
        }
        vec![array]
    }

    fn outputs(&self) -> Vec<Layout> {
        let len = self.pitch_out() * self.height * self.sums.words() as usize;
        vec![match self.sums {
            Sums::Floats => Layout::of::<f32>(len),
            _ => Layout::of::<u32>(len),
        }]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let (pitch, from) = (self.pitch_out(), &inputs[0]);
        // Columns so far: integers and floats are exact enough in these.
        let mut columns = vec![0.0_f64; pitch];
        let mut whole = vec![0_u64; pitch];
        for y in 0..self.height {
            let (mut sum, mut exact) = (0.0, 0);
            for x in 0..pitch {
                let at = y * self.pitch_in() + x;
                let place = y * pitch + x;
                match self.sums {
                    Sums::Floats => {
                        sum += f64::from(from.slice::<f32>()[at]);
                        columns[x] += sum;
                        outputs[0].slice_mut::<f32>()[place] = columns[x] as f32;
                    }
                    Sums::Short | Sums::Long => {
                        exact += u64::from(from.slice::<u8>()[at]);
                        whole[x] += exact;
                        let to = outputs[0].slice_mut::<u32>();
                        if self.sums == Sums::Short {
                            to[place] = whole[x] as u32;
                        } else {
                            to[2 * place] = whole[x] as u32;
                            to[2 * place + 1] = (whole[x] >> 32) as u32;
                        }
                    }
                }
            }
        }
    }

    fn work(&self) -> Work {
        let (samples, bits) = (self.elements(), u64::from(self.sums.bits()));
        Work::bytes(samples * bits / 8, 4 * samples * u64::from(self.sums.words()))
    }

    fn tolerance(&self, _: Fill) -> Tolerance {
        match self.sums {
            Sums::Floats => Tolerance::Relative(1e-4),
            _ => Tolerance::Exact,
        }
    }
}
