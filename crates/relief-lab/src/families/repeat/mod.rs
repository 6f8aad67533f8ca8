//! Repeat (the source: stitching): out(x, y) = pattern(x mod side, y mod side), of f32 and of u8.
//!
//! Least work: every sample is written once, and the pattern is read once; nothing is computed. Stores alone are the
//! bound; what the ladder shows is what it costs to find the sample.
//!
//! The source's eight are of a pattern of 100 × 100 f32 over 10 240²; the swept side shows its second table.
//!
//! A pattern lies row after row, without gaps; rows of a raster begin at multiples of 16 bytes, and what lies between them
//! means nothing.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;

use crate::array::{Array, Element, Fill, Kind, Layout};
use crate::family::{Class, Family, Ladder, Problem, Rows, Scale, Variant, Work};

pub(super) fn family() -> Family {
    Family {
        name: "repeat",
        about: "a pattern over and over: what it costs to find a sample",
        source: "i9-9900K, one thread; RTX 2070; 100 × 100 f32 over 10 240²",
        source_size: "100² over 10240 × 10240 f32",
        wins: "Copying beats computing: a thread stores one vector down many copies, so a sample's place is \
               found once. On processors whole rows are copied by non-temporal stores.",
        loses: "A modulo for each pixel costs more than the store. The repeater grid, a thread a sample of \
                the pattern, scatters its stores. One thread that loads the pattern into shared memory for \
                all is the instructive mistake: 10 000 loads for at most 1 024 uses. With transfers the bus \
                decides, and no kernel matters.",
        ladders: vec![
            ladder(
                Kind::F32,
                "repeat/f32",
                "out(x, y) = pattern(x mod side, y mod side), f32",
            ),
            ladder(
                Kind::U8,
                "repeat/u8",
                "out(x, y) = pattern(x mod side, y mod side), 8 bits",
            ),
        ],
    }
}

fn ladder(kind: Kind, name: &'static str, about: &'static str) -> Box<Ladder<Repeat>> {
    let mut variants = on_both!(cpu::variants(), gpu::variants(kind));
    // The source's samples are f32.
    if kind != Kind::F32 {
        variants = variants.into_iter().map(Variant::without_source).collect();
    }
    let ladder = Ladder::new(name, about, variants)
        .axis("side of the pattern")
        .checks(move || checks(kind))
        .cases(move |scale| cases(kind, scale));
    Box::new(ladder.huge(move || huge(kind)))
}

fn checks(kind: Kind) -> Vec<Repeat> {
    // No larger than shared memory is everywhere, so that what takes the whole pattern is not ruled out here.
    let sizes = [
        (0, 0, 3),
        (0, 5, 3),
        (16, 0, 3),
        (1, 1, 1),
        (1, 1, 2),
        (1, 70, 5),
        (33, 1, 2),
        (67, 70, 9),
        (515, 41, 32),
        (271, 131, 90),
        (16, 1, 1),
        (16, 1, 2),
        (48, 33, 3),
        (64, 64, 16),
        (160, 70, 90),
        (112, 301, 25),
        (1_040, 65, 31),
        (256, 256, 64),
        (48, 20, 77),
    ];
    let of = |(width, height, side)| Repeat::new(kind, (width, height), side);
    sizes.into_iter().map(of).collect()
}

fn cases(kind: Kind, scale: Scale) -> Vec<Repeat> {
    let full: u64 = match (scale.class, kind) {
        (Class::Software, _) => 1 << 18,
        (Class::Cpu, _) if scale.quick => 1 << 22,
        (Class::Cpu, Kind::F32) => 10_240 * 10_240,
        (Class::Cpu, _) => 1 << 27,
        (Class::Gpu, Kind::F32) => 10_240 * 10_240,
        (Class::Gpu, _) => 32_768 * 32_768,
    };
    // On software a few suffice, unless a size is asked for.
    let few = scale.quick || scale.size.is_none();
    let sides: &[usize] = match (scale.class, scale.quick) {
        (Class::Gpu, false) => &[16, 32, 64, 100, 128, 250, 256, 500, 512, 1_000],
        (Class::Gpu, true) => &[16, 100, 128],
        (Class::Cpu, false) => &[16, 100, 128, 1_000],
        (Class::Cpu, true) => &[100],
        (Class::Software, _) if few => &[16, 100],
        (Class::Software, _) => &[16, 100, 128, 1_000],
    };
    let size = scale.or(full);
    let width = ((size.isqrt() / 16) as usize * 16).max(16);
    let height = (size as usize / width).max(1);
    let of = |side: &usize| Repeat::new(kind, (width, height), *side);
    sides.iter().map(of).collect()
}

fn huge(kind: Kind) -> Vec<Repeat> {
    // A pattern that caches hold, and one that some devices write many copies of at a time.
    let size = (65_552 / kind.bytes(), 65_551);
    [100, 1_000].map(|side| Repeat::new(kind, size, side)).into()
}

/// A square pattern over a raster.
#[derive(Clone, Copy)]
struct Repeat {
    kind: Kind,
    width: usize,
    height: usize,
    side: usize,
}

impl Repeat {
    const fn new(kind: Kind, (width, height): (usize, usize), side: usize) -> Self {
        Self {
            kind,
            width,
            height,
            side,
        }
    }

    /// Samples from one row to the next.
    const fn pitch(&self) -> usize {
        self.width.next_multiple_of(16 / self.kind.bytes())
    }

    fn repeat<T: Element>(&self, pattern: &[T], out: &mut [T]) {
        for y in 0..self.height {
            for x in 0..self.width {
                out[y * self.pitch() + x] = pattern[y % self.side * self.side + x % self.side];
            }
        }
    }
}

impl Problem for Repeat {
    fn label(&self) -> String {
        let kind = self.kind.name();
        format!("{}² over {} × {} {kind}", self.side, self.width, self.height)
    }

    fn elements(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let layout = Layout::new(self.kind, self.side * self.side);
        vec![Array::filled(layout, fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::new(self.kind, self.pitch() * self.height)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        match self.kind {
            Kind::F32 => self.repeat(inputs[0].slice::<f32>(), outputs[0].slice_mut()),
            _ => self.repeat(inputs[0].slice::<u8>(), outputs[0].slice_mut()),
        }
    }

    fn work(&self) -> Work {
        let bytes = self.kind.bytes() as u64;
        Work::bytes((self.side * self.side) as u64 * bytes, self.elements() * bytes)
    }

    fn rows(&self) -> Option<Rows> {
        let (len, pitch) = (self.width, self.pitch());
        Some(Rows { len, pitch })
    }

    fn place(&self) -> Option<f64> {
        Some(self.side as f64)
    }
}
