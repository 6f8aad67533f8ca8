//! Scan: out(i) = Σ in(k) over k ≤ i (inclusive) or k < i (exclusive); sums of integers modulo 2^32.
//!
//! Least work: every number is read once and every sum written once, so that a copy of as many bytes is the
//! bound; what is added is less. What costs is that the last sum depends on the first number.
//!
//! Hillis and Steele (1986) make log₂ n passes; Blelloch's tree (1990) has fewer additions and twice the steps, and strides of powers of two,
//! which meet the same banks. One pass is after Merrill and Garland (2016): a cube takes the tile of its own number, as CUB's does, and
//! states are read as other memory is before an atomic operation asks again.
//!
//! The source names scan as the pattern behind integral images, and has no figures. The only rival is CUB's
//! DeviceScan.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;

use relief_numeric::element::Element;
use relief_numeric::scan::Kind;

use crate::array::{self, Array, Fill, Layout};
use crate::family::{Family, LENGTHS, Ladder, Problem, Tolerance, Work};

/// The ladder of a kind of scan and of numbers.
fn ladder(name: &'static str, about: &'static str, kind: Kind, element: Element) -> Box<Ladder<Scan>> {
    let of = move |len| Scan { kind, element, len };
    let variants = on_both!(cpu::variants(), gpu::variants(kind, element));
    let ladder = Ladder::new(name, about, variants).of_lengths((1 << 30) + 77, of);
    Box::new(ladder.checks(move || LENGTHS.into_iter().chain([500_009]).map(of).collect()))
}

pub(super) fn family() -> Family {
    let inclusive = [
        ("scan/u32", "out(i) = Σ in(k), k ≤ i, u32", Element::U32),
        ("scan/u8", "out(i) = Σ in(k), k ≤ i, u8 → u32", Element::U8),
        ("scan/u16", "out(i) = Σ in(k), k ≤ i, u16 → u32", Element::U16),
        ("scan/i32", "out(i) = Σ in(k), k ≤ i, i32", Element::I32),
        ("scan/f32", "out(i) = Σ in(k), k ≤ i, f32", Element::F32),
    ];
    let exclusive = [
        ("scan/exclusive-u32", "out(i) = Σ in(k), k < i, u32", Element::U32),
        (
            "scan/exclusive-u8",
            "out(i) = Σ in(k), k < i, u8 → u32",
            Element::U8,
        ),
        ("scan/exclusive-f32", "out(i) = Σ in(k), k < i, f32", Element::F32),
    ];
    let of = |kind| move |(name, about, element)| ladder(name, about, kind, element) as _;
    let inclusive = inclusive.into_iter().map(of(Kind::Inclusive));
    let exclusive = exclusive.into_iter().map(of(Kind::Exclusive));
    Family {
        name: "scan",
        about: "the sum of all numbers up to each: many results that depend on everything before",
        source: "none: scan is named as a pattern",
        source_size: "",
        wins: "One pass over memory: tiles tell each other their sums by look-back (Merrill and Garland), so \
               numbers are read and written once. A tile takes the number of its block, and a plain glance \
               comes before the atomic read.",
        loses: "Every further pass over memory costs its full time: log₂ n of them (Hillis and Steele) most. \
                Blelloch's tree needs fewer additions, and twice the steps with bank conflicts. Reading \
                twice (reduce, then scan) is the best without forward progress.",
        ladders: inclusive.chain(exclusive).collect(),
    }
}

/// A scan of so many numbers.
#[derive(Clone, Copy)]
struct Scan {
    kind: Kind,
    element: Element,
    len: usize,
}

impl Scan {
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
            *to = match self.kind {
                Kind::Inclusive => after,
                Kind::Exclusive => before,
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

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let (kind, len) = (array::Kind::of(self.element), self.len);
        vec![Array::filled(Layout::new(kind, len), fill, 1)]
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
        let read = self.elements() * u64::from(self.element.bits()) / 8;
        Work::bytes(read, 4 * self.elements())
    }

    fn tolerance(&self, _: Fill) -> Tolerance {
        match self.element {
            Element::F32 => Tolerance::Relative(1e-4),
            _ => Tolerance::Exact,
        }
    }
}
