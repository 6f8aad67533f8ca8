//! Transpose: out(y, x) = in(x, y), of elements of 8, 16 and 32 bits; those of 32 may be floats.
//!
//! Rows begin at multiples of 16 bytes; what follows a row of the result, up to there, is 0.
//!
//! Least work: every element is read once and written once; nothing is computed. So a copy of as many bytes
//! is the bound, and what the ladder shows is the price of walking memory across its lines.
//!
//! The source's figures are of a K40, in GB/s: copy 177.15, naive 68.98, tiled 116.82, padded 121.83.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;

use crate::array::{Array, Element, Fill, Kind, Layout};
use crate::family::{Class, Family, Ladder, Problem, Scale, Work, sides};

pub(super) fn family() -> Family {
    Family {
        name: "transpose",
        about: "rows become columns: the price of walking across the lines of memory",
        source: "K40, whose copy makes 177.15 GB/s",
        source_size: "",
        wins: "Both sides move whole sectors: blocks of vectors are turned in registers, or go through \
               shared memory with place y xor x, which needs no padding and keeps vectors aligned. On \
               processors tiles of whole lines are turned by interleaving and stored non-temporally.",
        loses: "The naive kernel stores one word a sector. A square tile in shared memory has its columns in \
                one bank; a padded column mends that. Words instead of vectors leave a third of memory's \
                speed.",
        ladders: vec![
            ladder(
                "transpose/u8",
                "out(y, x) = in(x, y), 8 bits",
                Kind::U8,
                (65_600, 65_551),
            ),
            ladder(
                "transpose/u16",
                "out(y, x) = in(x, y), 16 bits",
                Kind::U16,
                (46_400, 46_411),
            ),
            ladder(
                "transpose/u32",
                "out(y, x) = in(x, y), 32 bits",
                Kind::U32,
                (32_780, 32_777),
            ),
        ],
    }
}

/// The ladder of elements of a kind; `huge` is too large for 32 bits.
fn ladder(
    name: &'static str,
    about: &'static str,
    kind: Kind,
    huge: (usize, usize),
) -> Box<Ladder<Transpose>> {
    let variants = on_both!(cpu::variants(), gpu::variants(8 * kind.bytes() as u32));
    let of = move |(width, height)| Transpose { kind, width, height };
    let ladder = Ladder::new(name, about, variants)
        .checks(move || CHECKS.map(of).into())
        .cases(move |scale| cases(scale).into_iter().map(of).collect());
    Box::new(ladder.huge(move || vec![of(huge)]))
}

const CHECKS: [(usize, usize); 17] = [
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

fn cases(scale: Scale) -> Vec<(usize, usize)> {
    let mut cases: Vec<_> = scale.sizes().into_iter().map(sides).collect();
    if scale.class != Class::Software && !scale.quick && scale.size.is_none() {
        cases.push((4_219, 4_111));
    }
    cases
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
        let layout = Layout::new(self.kind, self.pitch_in() * self.height);
        vec![Array::filled(layout, fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::new(self.kind, self.pitch_out() * self.width)]
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
