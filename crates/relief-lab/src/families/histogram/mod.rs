//! Histogram: how often each value occurs, as numbers of 64 bits; of bytes and of words of 16 bits.
//!
//! Least work: a sample read, an addition. What makes it hard is that units add to the same counters: where all samples are
//! equal, all of them want one.
//!
//! Of words of 16 bits the ladder differs by how much of shared memory a cube takes. Where counters are of a part of the values, cubes side by
//! side read the same samples, all but one of them from a cache. Who sees a narrow counter wrap around notes it in memory.
//!
//! Distributions: uniform, Gaussian (nearly: the sum of four uniform numbers), constant, and a picture whose frequencies fall as 1/f, as
//! those of photographs do: neighbours are alike, and some values are common. Of bytes also a photograph, where one is given.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
mod photograph;

use self::photograph::photograph;
use crate::array::{Array, Fill, Kind, Layout, mix};
use crate::family::{Class, Failure, Family, Ladder, Outcome, Problem, Scale, Work};

pub(super) fn family() -> Family {
    Family {
        name: "histogram",
        about: "how often each value occurs: additions that meet",
        source: "no figures",
        source_size: "",
        wins: "A counter for each value and lane in shared memory: no lane waits for another whatever the \
               distribution, and a vector of equal bytes is one addition.",
        loses: "Atomics in memory serialise on common values, most of all where all samples are equal. \
                Counters shared by a block do the same within it. Words of 16 bits need 65 536 counters, \
                which fit shared memory only as halves, with wraps noted in memory.",
        ladders: vec![
            Box::new(ladder("histogram/u8", Kind::U8)),
            Box::new(ladder("histogram/u16", Kind::U16)),
        ],
    }
}

fn ladder(name: &'static str, kind: Kind) -> Ladder<Histogram> {
    let variants = on_both!(cpu::variants(), gpu::variants(kind));
    Ladder::new(name, "out(v) = how many samples are v", variants)
        .checks(move || checks(kind))
        .cases(move |scale| all(kind, scale))
        .huge(move || {
            let len = (1 << 32) / kind.bytes() + 77;
            vec![Histogram::new(kind, len, Values::Uniform)]
        })
}

fn checks(kind: Kind) -> Vec<Histogram> {
    let of = |len| Histogram::new(kind, len, Values::Uniform);
    let mut checks: Vec<Histogram> = crate::family::LENGTHS.map(of).into();
    checks.extend(Values::ALL.map(|values| Histogram::new(kind, 30_011, values)));
    checks
}

/// The usual sizes with any values, and all distributions of the largest.
fn all(kind: Kind, scale: Scale) -> Vec<Histogram> {
    let mut sizes = scale.sizes();
    if let (Class::Gpu, false, None, Some(largest)) = (scale.class, scale.quick, scale.size, sizes.last_mut())
    {
        // 1 GiB.
        *largest = (1 << 30) / kind.bytes() as u64;
    }
    let of = |len: &u64| Histogram::new(kind, *len as usize, Values::Uniform);
    let mut all: Vec<Histogram> = sizes.iter().map(of).collect();
    let largest = sizes.last().copied().unwrap_or(0) as usize;
    let others = Values::ALL[1..].iter();
    all.extend(others.map(|values| Histogram::new(kind, largest, *values)));
    if kind == Kind::U8 {
        all.extend(photograph().map(|picture| match picture {
            Ok(_) => Histogram::new(kind, largest, Values::Photograph),
            // A row that fails, and says why.
            Err(_) => Histogram::new(kind, 0, Values::Photograph),
        }));
    }
    all
}

/// Which values samples have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    Uniform,
    Gaussian,
    Constant,
    Picture,
    /// Of the user's; repeated as often as it takes.
    Photograph,
}

impl Values {
    const ALL: [Self; 4] = [Self::Uniform, Self::Gaussian, Self::Constant, Self::Picture];

    const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Gaussian => "gaussian",
            Self::Constant => "constant",
            Self::Picture => "1/f picture",
            Self::Photograph => "photograph",
        }
    }

    /// Sample `i`, from 0 to just below 1.
    fn at(self, i: usize) -> f64 {
        let uniform = |seed: u64, i: usize| f64::from(mix(seed, i as u64)) / 4_294_967_296.0;
        match self {
            Self::Uniform => uniform(1, i),
            Self::Gaussian => (1..5).map(|seed| uniform(seed, i)).sum::<f64>() / 4.0,
            Self::Constant => 0.5,
            Self::Picture => picture(i % SIDE, i / SIDE),
            Self::Photograph => match photograph() {
                Some(Ok(samples)) => f64::from(samples[i % samples.len()]) / 256.0,
                _ => 0.0,
            },
        }
    }
}

/// The side of the picture, in samples.
const SIDE: usize = 4_096;

/// A sample of noise whose amplitude halves with each octave (value noise, interpolated linearly): its spectrum falls as
/// 1/f. From 0 to just below 1.
fn picture(x: usize, y: usize) -> f64 {
    let lattice = |octave: u32, x: usize, y: usize| {
        f64::from(mix(u64::from(octave) + 100, (x as u64) << 32 | y as u64)) / 4_294_967_296.0
    };
    let (mut sum, mut most) = (0.0, 0.0);
    for octave in 0..10_u32 {
        let step = 1_usize << octave;
        let (left, top) = (x / step, y / step);
        let (across, down) = ((x % step) as f64 / step as f64, (y % step) as f64 / step as f64);
        let row = |y| lattice(octave, left, y) * (1.0 - across) + lattice(octave, left + 1, y) * across;
        let weight = f64::from(1_u32 << octave);
        sum += weight * (row(top) * (1.0 - down) + row(top + 1) * down);
        most += weight;
    }
    sum / most
}

/// So many samples.
#[derive(Clone, Copy)]
struct Histogram {
    kind: Kind,
    len: usize,
    values: Values,
}

impl Histogram {
    const fn new(kind: Kind, len: usize, values: Values) -> Self {
        Self { kind, len, values }
    }

    const fn bits(&self) -> u32 {
        8 * self.kind.bytes() as u32
    }

    /// A failure where a photograph was asked for that cannot be read: no variant is right about that.
    fn readable(&self) -> Outcome {
        match photograph() {
            Some(Err(reason)) if self.values == Values::Photograph => Err(Failure::Failed(reason.clone())),
            _ => Ok(()),
        }
    }
}

impl Problem for Histogram {
    fn label(&self) -> String {
        let (bits, values) = (self.bits(), self.values.name());
        format!("{} u{bits}, {values}", crate::quantity::count(self.len as u64))
    }

    fn elements(&self) -> u64 {
        self.len as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let layout = Layout::new(self.kind, self.len);
        if fill == Fill::Structured || self.values == Values::Uniform {
            return vec![Array::filled(layout, fill, 1)];
        }
        // Values that take time to make repeat after a while.
        const PERIOD: usize = 1 << 22;
        let values = self.values;
        let once = Array::from_fn(self.len.min(PERIOD), |i| (values.at(i) * 65_536.0) as u16);
        let at = |i: usize| once.slice::<u16>()[i % PERIOD];
        vec![match self.kind {
            Kind::U8 => Array::from_fn(self.len, |i| (at(i) >> 8) as u8),
            _ => Array::from_fn(self.len, at),
        }]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u32>(2 << self.bits())]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let counts = outputs[0].slice_mut::<u32>();
        let mut count = |value: usize| {
            counts[2 * value] = counts[2 * value].wrapping_add(1);
            counts[2 * value + 1] += u32::from(counts[2 * value] == 0);
        };
        match self.kind {
            Kind::U8 => inputs[0].slice::<u8>().iter().for_each(|v| count((*v).into())),
            _ => inputs[0].slice::<u16>().iter().for_each(|v| count((*v).into())),
        }
    }

    fn work(&self) -> Work {
        Work::bytes((self.len * self.kind.bytes()) as u64, 8 << self.bits())
    }
}
