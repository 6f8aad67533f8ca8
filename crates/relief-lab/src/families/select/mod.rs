//! Select (the source: stream compaction): the elements that are not zero, in their order, without gaps; and how many they are.
//!
//! Least work: every element is read once, and each that is kept is written once. Where it goes depends on
//! all before, and that is what the variants differ in.
//!
//! The article's best give each of some planes a contiguous sequence. Counts become places by this crate's scan, which reads as many numbers as
//! there are planes.
//!
//! `selections`: by flags, by bounds, of indices, of both halves, and of runs.
//!
//! The source's times are of a GTX 690, 2^24 words of which half are kept; on the CPU 7.4 ms structured (1,
//! 0, 3, 0, …) and 55.1 ms random.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
mod selections;

use rayon::prelude::*;

use self::selections::What;
use crate::array::{Array, Element, Fill, Kind, Layout, mix};
use crate::family::{Class, Family, Ladder, Problem, Scale, Variant, Work};

pub(super) fn family() -> Family {
    let of = |name, kind| Box::new(ladder(name, kind, variants(kind)).cases(move |scale| all(kind, scale)));
    let densities = everyone("select/densities");
    Family {
        name: "select",
        about: "what is not zero, without gaps: a place that depends on all before",
        source: "GTX 690, 2^24 u32, half of them kept",
        source_size: "2^24 u32, 50 %",
        wins: "One pass with look-back: a tile counts what it keeps, learns its place from its predecessors, \
               and writes whole lines staged in shared memory.",
        loses: "Three phases read the input twice. Few long sequences, the source's winner, starve a large \
                device. A look-back window of four states a lane loses: the nearer states are the ones that \
                are ready. On processors a branch for each element is mispredicted half the time at half \
                density.",
        ladders: vec![
            of("select/u32", Kind::U32),
            of("select/u8", Kind::U8),
            Box::new(densities.axis("per cent kept").cases(by_density)),
            Box::new(everyone("select/sizes").axis("log2 n").cases(by_size)),
            Box::new(selections::ladder(What::Flagged)),
            Box::new(selections::ladder(What::Within)),
            Box::new(selections::ladder(What::Indices)),
            Box::new(selections::ladder(What::Halves)),
            Box::new(selections::ladder(What::Runs)),
        ],
    }
}

fn ladder(name: &'static str, kind: Kind, variants: Vec<Variant<Select>>) -> Ladder<Select> {
    Ladder::new(name, "the elements that are not zero, in their order", variants)
        .checks(move || checks(kind))
        .huge(move || vec![Select::new(kind, (1 << 32) / kind.bytes() + 77, 50)])
}

fn variants(kind: Kind) -> Vec<Variant<Select>> {
    on_both!(cpu::variants(), gpu::variants(kind))
}

/// The article's implementations, and this crate's.
fn everyone(name: &'static str) -> Ladder<Select> {
    let variants = on_both!(cpu::variants(), gpu::classics());
    ladder(name, Kind::U32, on_both!(variants, gpu::variants(Kind::U32)))
}

fn checks(kind: Kind) -> Vec<Select> {
    let of = |len| Select::new(kind, len, 50);
    let mut checks: Vec<Select> = crate::family::LENGTHS.map(of).into();
    checks.extend([0, 1, 99, 100].map(|percent| Select::new(kind, 30_011, percent)));
    checks
}

/// The usual sizes with half kept, and all densities of the largest.
fn all(kind: Kind, scale: Scale) -> Vec<Select> {
    let sizes = scale.sizes();
    let of = |len: &u64| Select::new(kind, *len as usize, 50);
    let mut all: Vec<Select> = sizes.iter().map(of).collect();
    if let (Some(largest), false) = (sizes.last(), scale.quick) {
        let of = |percent| Select::new(kind, *largest as usize, percent);
        let percents: &[u32] = match kind {
            Kind::U8 => &[1, 99],
            _ => &[0, 1, 10, 90, 99, 100],
        };
        all.extend(percents.iter().copied().map(of));
    }
    all
}

/// The size of a problem of a sweep.
fn swept(scale: Scale) -> u64 {
    scale.or(match (scale.class, scale.quick) {
        (Class::Gpu, _) | (Class::Cpu, false) => 1 << 24,
        (Class::Cpu, true) => 1 << 20,
        (Class::Software, _) => 1 << 18,
    })
}

fn by_density(scale: Scale) -> Vec<Select> {
    let of = |percent| Select {
        place: Some(f64::from(percent)),
        ..Select::new(Kind::U32, swept(scale) as usize, percent)
    };
    [0, 1, 10, 50, 90, 99, 100].map(of).into()
}

fn by_size(scale: Scale) -> Vec<Select> {
    let of = |log: u32| Select {
        place: Some(f64::from(log)),
        ..Select::new(Kind::U32, 1 << log, 50)
    };
    let most = match (scale.class, scale.quick) {
        (Class::Gpu, false) => 28,
        _ => swept(scale).max(1).ilog2(),
    };
    (10..=most.max(10)).step_by(2).map(of).collect()
}

/// So many elements, of which about so many of a hundred are not zero.
#[derive(Clone, Copy)]
struct Select {
    kind: Kind,
    len: usize,
    percent: u32,
    place: Option<f64>,
}

impl Select {
    const fn new(kind: Kind, len: usize, percent: u32) -> Self {
        Self {
            kind,
            len,
            percent,
            place: None,
        }
    }

    fn bytes(&self) -> u64 {
        self.len as u64 * self.kind.bytes() as u64
    }
}

/// Whether chance keeps element `i` where it keeps so many of a hundred.
fn kept(percent: u32, i: usize) -> bool {
    percent == 100 || mix(9, i as u64) < threshold(percent)
}

/// Below this lie so many of a hundred numbers.
fn threshold(percent: u32) -> u32 {
    (u64::from(percent) * u64::from(u32::MAX) / 100) as u32
}

/// What is written: the elements, and how many. By chunks, because there may be many.
fn keep<T: Element + PartialEq>(from: &[T], outputs: &mut [Array]) {
    let chunks = from.par_chunks(1 << 20);
    let kept = chunks.map(|chunk| {
        chunk
            .iter()
            .copied()
            .filter(|value| *value != T::zeroed())
            .collect()
    });
    let kept: Vec<Vec<T>> = kept.collect();
    let (values, rest) = outputs.split_at_mut(1);
    let values = values[0].slice_mut::<T>();
    let mut count = 0;
    for kept in kept {
        values[count..count + kept.len()].copy_from_slice(&kept);
        count += kept.len();
    }
    cpu::tell(rest[0].slice_mut(), count);
}

impl Problem for Select {
    fn label(&self) -> String {
        let (bits, percent) = (8 * self.kind.bytes(), self.percent);
        format!("{} u{bits}, {percent} %", crate::quantity::count(self.len as u64))
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let layout = Layout::new(self.kind, self.len);
        if fill == Fill::Structured {
            return vec![Array::filled(layout, Fill::Structured, 1)];
        }
        let at = |i| (mix(1, i as u64) | 1) * u32::from(kept(self.percent, i));
        vec![match self.kind {
            Kind::U8 => Array::from_fn(self.len, |i| at(i) as u8),
            _ => Array::from_fn(self.len, at),
        }]
    }

    fn outputs(&self) -> Vec<Layout> {
        let values = Layout::new(self.kind, self.len);
        vec![values, Layout::of::<u32>(2)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        match self.kind {
            Kind::U8 => keep(inputs[0].slice::<u8>(), outputs),
            _ => keep(inputs[0].slice::<u32>(), outputs),
        }
    }

    fn work(&self) -> Work {
        let kept = (self.bytes() as f64 * f64::from(self.percent) / 100.0) as u64;
        Work::bytes(self.bytes(), kept)
    }

    fn defined(&self, expected: &[Array]) -> Vec<usize> {
        let counts = expected[1].slice::<u32>();
        let count = u64::from(counts[0]) | u64::from(counts[1]) << 32;
        vec![count as usize, 2]
    }

    fn place(&self) -> Option<f64> {
        self.place
    }
}
