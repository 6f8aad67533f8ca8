//! Scan: out(i) = Σ in(k) over k ≤ i (inclusive) or k < i (exclusive); sums of integers modulo 2^32.
//!
//! Least work: every number is read once and every sum written once, so that a copy of as many bytes is the
//! bound; what is added is less. What costs is that the last sum depends on the first number.
//!
//! On devices:
//! - `Hillis–Steele`: every number is added to the one 1, 2, 4, … places on: log₂ n passes over all (1986).
//! - `Hillis–Steele in blocks`: the same within blocks of 256 in shared memory; blocks' sums are scanned in
//!   the same way, and added.
//! - `Blelloch`: up the tree of a block and down again: fewer additions, twice the steps (1990); 512 numbers
//!   a block. Strides of powers of two meet the same banks.
//! - `Blelloch, padded`: a word left out after each 32.
//! - `planes`: blocks of 256, where lanes exchange registers.
//! - `reduce, then scan`: shares are added up; each cube adds up the shares before its own, and scans its own
//!   from there: numbers are read twice. What production uses where cubes cannot wait for each other.
//! - `production`: one pass, where cubes can wait: tiles tell each other their sums (Merrill and Garland,
//!   2016). A cube takes the tile of its own number, as CUB's does, and states are read as other memory is before
//!   an atomic operation asks again.
//!
//! On the CPU:
//! - `serial`: one addition after the other.
//! - `vectors`: sixteen at a time, by additions of the vector to itself, shifted; one thread, non-temporal
//!   stores.
//! - `threads, two passes`: all parts are added up, then all are scanned: numbers are read twice.
//! - `threads, one pass`: production: threads take pieces that the second cache holds, and pass on the sum of
//!   all before in their order, so that none waits for the slowest of all after each piece. What is small is
//!   left to one thread.
//!
//! The source names scan as the pattern behind integral images, and has no figures. The only rival is CUB's
//! DeviceScan.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;

use relief_numeric::element::Element;
use relief_numeric::scan::Kind;

use crate::array::{self, Array, Fill, Layout};
use crate::family::{Family, LENGTHS, Ladder, Lesson, Problem, Scale, Tolerance, Variant, Work};

/// The ladder of a kind of scan and of numbers.
macro_rules! ladder {
    ($name:literal, $about:literal, $kind:ident, $element:ident) => {
        Box::new(Ladder {
            name: $name,
            about: $about,
            axis: None,
            checks: || {
                let of = |len| Scan::new(Kind::$kind, Element::$element, len);
                LENGTHS.into_iter().chain([500_009]).map(of).collect()
            },
            cases: |scale: Scale| {
                let of = |len| Scan::new(Kind::$kind, Element::$element, len as usize);
                scale.sizes().into_iter().map(of).collect()
            },
            huge: || vec![Scan::new(Kind::$kind, Element::$element, (1 << 30) + 77)],
            variants: variants(&Scan::new(Kind::$kind, Element::$element, 1)),
        })
    };
}

/// The family.
#[must_use]
pub fn family() -> Family {
    Family {
        name: "scan",
        about: "the sum of all numbers up to each: many results that depend on everything before",
        source: "none: scan is named as a pattern",
        source_size: "",
        lesson: Lesson {
            wins: "One pass over memory: tiles tell each other their sums by look-back (Merrill and \
                    Garland), so numbers are read and written once. A tile takes the number of its block, \
                    and a plain glance comes before the atomic read.",
            loses: "Every further pass over memory costs its full time: log₂ n of them (Hillis and Steele) \
                    most. Blelloch's tree needs fewer additions, and twice the steps with bank conflicts. \
                    Reading twice (reduce, then scan) is the best without forward progress. Loading the \
                    next tile ahead hides nothing that other blocks do not hide already.",
        },
        ladders: vec![
            ladder!("scan/u32", "out(i) = Σ in(k), k ≤ i, u32", Inclusive, U32),
            ladder!(
                "scan/exclusive-u32",
                "out(i) = Σ in(k), k < i, u32",
                Exclusive,
                U32
            ),
            ladder!("scan/u8", "out(i) = Σ in(k), k ≤ i, u8 → u32", Inclusive, U8),
            ladder!(
                "scan/exclusive-u8",
                "out(i) = Σ in(k), k < i, u8 → u32",
                Exclusive,
                U8
            ),
            ladder!("scan/u16", "out(i) = Σ in(k), k ≤ i, u16 → u32", Inclusive, U16),
            ladder!("scan/i32", "out(i) = Σ in(k), k ≤ i, i32", Inclusive, I32),
            ladder!("scan/f32", "out(i) = Σ in(k), k ≤ i, f32", Inclusive, F32),
            ladder!(
                "scan/exclusive-f32",
                "out(i) = Σ in(k), k < i, f32",
                Exclusive,
                F32
            ),
        ],
    }
}

/// The variants for problems like this one.
fn variants(like: &Scan) -> Vec<Variant<Scan>> {
    #[allow(unused_mut)]
    let mut variants = cpu::variants();
    #[cfg(feature = "gpu")]
    variants.extend(gpu::variants(like));
    #[cfg(not(feature = "gpu"))]
    let _ = like;
    variants
}

/// A scan of so many numbers.
#[derive(Clone, Copy)]
struct Scan {
    kind: Kind,
    element: Element,
    len: usize,
}

impl Scan {
    const fn new(kind: Kind, element: Element, len: usize) -> Self {
        Self { kind, element, len }
    }

    /// One after the other.
    fn sums<T: array::Element, S: array::Element>(
        &self,
        from: &Array,
        to: &mut Array,
        next: impl Fn(&mut f64, T) -> S,
    ) {
        // What is kept is an integer below 2^53, or a float of 64 bits.
        let mut sum = 0.0;
        let mut before = S::zeroed();
        for (value, to) in from.slice::<T>().iter().zip(to.slice_mut::<S>()) {
            let after = next(&mut sum, *value);
            *to = if self.kind == Kind::Inclusive {
                after
            } else {
                before
            };
            before = after;
        }
    }
}

impl Problem for Scan {
    fn label(&self) -> String {
        let element = format!("{:?}", self.element).to_lowercase();
        format!("{} {element}", crate::quantity::count(self.len as u64))
    }

    fn elements(&self) -> u64 {
        self.len as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let layout = match self.element {
            Element::U8 => Layout::of::<u8>(self.len),
            Element::U16 => Layout::of::<u16>(self.len),
            Element::U32 | Element::I32 => Layout::of::<u32>(self.len),
            Element::F32 => Layout::of::<f32>(self.len),
        };
        vec![Array::filled(layout, fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![match self.element {
            Element::F32 => Layout::of::<f32>(self.len),
            _ => Layout::of::<u32>(self.len),
        }]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        const WORD: f64 = 4_294_967_296.0;
        let modulo = |sum: &mut f64, value: f64| {
            *sum += value;
            if *sum >= WORD {
                *sum -= WORD;
            }
            *sum as u32
        };
        let (from, to) = (&inputs[0], &mut outputs[0]);
        match self.element {
            Element::U8 => self.sums(from, to, |sum, value: u8| modulo(sum, value.into())),
            Element::U16 => self.sums(from, to, |sum, value: u16| modulo(sum, value.into())),
            // The bits of sums are the same with a sign.
            Element::U32 | Element::I32 => self.sums(from, to, |sum, value: u32| modulo(sum, value.into())),
            Element::F32 => self.sums(from, to, |sum, value: f32| {
                *sum += f64::from(value);
                *sum as f32
            }),
        }
    }

    fn work(&self) -> Work {
        Work::bytes(
            self.elements() * u64::from(self.element.bits()) / 8,
            4 * self.elements(),
        )
    }

    fn tolerance(&self) -> Tolerance {
        match self.element {
            Element::F32 => Tolerance::Relative(1e-4),
            _ => Tolerance::Exact,
        }
    }
}
