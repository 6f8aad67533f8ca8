//! Reduction: the sum, the least, the greatest number, and where the least is, of all numbers or of each row.
//!
//! Least work: every number is read once and taken into account once. So the bound is how fast memory is read, on the CPU as
//! on a device, and what the ladder shows is how many ways there are to read more slowly.
//!
//! On devices, the ladder of Mark Harris ("Optimizing parallel reduction in CUDA", 2007), which the source announces, step by step, a launch
//! for each level of the tree. (His last plane had no barrier at all; today lanes exchange registers.)
//!
//! Sums of integers are exact, in two words; so are places. The source has no figures.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;

use relief_numeric::element::{Element, Number};
use relief_numeric::reduce::Operation;

use crate::array::{Array, Fill, Kind, Layout};
use crate::family::{Class, Family, LENGTHS, Ladder, Problem, Tolerance, Variant, Work};

/// The ladders of one row of numbers, by their operations.
fn of_one_row() -> impl Iterator<Item = Box<Ladder<Reduce>>> {
    let sums = [
        ("reduce/sum-f32", "Σ in(i), f32", Element::F32),
        ("reduce/sum-u32", "Σ in(i), u32, exact", Element::U32),
        ("reduce/sum-i32", "Σ in(i), i32, exact", Element::I32),
        ("reduce/sum-u16", "Σ in(i), u16, exact", Element::U16),
        ("reduce/sum-u8", "Σ in(i), u8, exact", Element::U8),
    ];
    let least = [
        ("reduce/least-f32", "min in(i), f32", Element::F32),
        ("reduce/least-u8", "min in(i), u8", Element::U8),
    ];
    let greatest = [
        ("reduce/greatest-u16", "max in(i), u16", Element::U16),
        ("reduce/greatest-i32", "max in(i), i32", Element::I32),
    ];
    let places = [
        ("reduce/place-f32", "the first i of min in(i), f32", Element::F32),
        ("reduce/place-u8", "the first i of min in(i), u8", Element::U8),
    ];
    let of = |operation| move |(name, about, element)| ladder(name, about, operation, element);
    let sums = sums.into_iter().map(of(Operation::Sum));
    sums.chain(least.into_iter().map(of(Operation::Least)))
        .chain(greatest.into_iter().map(of(Operation::Greatest)))
        .chain(places.into_iter().map(of(Operation::PlaceOfLeast)))
}

/// The ladder of an operation on one row of numbers.
fn ladder(
    name: &'static str,
    about: &'static str,
    operation: Operation,
    element: Element,
) -> Box<Ladder<Reduce>> {
    let one = move |len| Reduce::new(operation, element, len, 1);
    let huge = (1 << 32) / (element.bits() as usize / 8) + 77;
    let ladder = Ladder::new(name, about, variants(one(1))).of_lengths(huge, one);
    Box::new(ladder.checks(move || LENGTHS.into_iter().chain([200_003]).map(one).collect()))
}

pub(super) fn family() -> Family {
    Family {
        name: "reduce",
        about: "many numbers become one: how fast memory can be read",
        source: "none: the ladder is announced",
        source_size: "",
        wins: "Vectors and many loads in flight: a team loads rows of vectors, each of which makes room for \
               the next, and only the rest is halved in shared memory and within a warp.",
        loses: "Harris's steps in order: interleaved addressing diverges, strided addressing meets bank \
                conflicts, one number a thread leaves memory idle.",
        ladders: of_one_row()
            .chain([Box::new(rows())])
            .map(|ladder| ladder as _)
            .collect(),
    }
}

/// Sums of rows, from many short ones to a few long ones.
fn rows() -> Ladder<Reduce> {
    let of = |(width, height)| Reduce::new(Operation::Sum, Element::F32, width, height);
    Ladder::new(
        "reduce/rows-f32",
        "out(y) = Σ in(y, x), f32",
        variants(of((1, 2))),
    )
    .axis("numbers of a row")
    .checks(move || {
        let short = [(0, 3), (5, 0), (1, 1), (1, 100), (3, 7), (31, 5), (100, 9)];
        let long = [(255, 33), (1_025, 3), (20_000, 3), (50_001, 2)];
        short.into_iter().chain(long).map(of).collect()
    })
    .cases(move |scale| {
        let size = scale.or(match (scale.class, scale.quick) {
            (Class::Gpu, false) => 1 << 28,
            (Class::Software, _) => 1 << 18,
            _ => 1 << 24,
        }) as usize;
        let cut = |width: usize| of((width, (size / width).max(1)));
        [16, 64, 256, 1_024, 4_096, 65_536].map(cut).into()
    })
    .huge(move || vec![of((32_777, 32_800))])
}

/// The variants for problems like this one.
fn variants(like: Reduce) -> Vec<Variant<Reduce>> {
    on_both!(cpu::variants(like.operation), gpu::variants(like))
}

/// Rows of numbers, each of which becomes one.
#[derive(Clone, Copy)]
struct Reduce {
    operation: Operation,
    element: Element,
    width: usize,
    height: usize,
}

impl Reduce {
    const fn new(operation: Operation, element: Element, width: usize, height: usize) -> Self {
        Self {
            operation,
            element,
            width,
            height,
        }
    }

    /// Numbers from one row to the next.
    fn pitch(&self) -> usize {
        self.width.next_multiple_of(self.element.per_vector() as usize)
    }

    /// Words of a row's result.
    fn result_words(&self) -> usize {
        match (self.operation, self.element) {
            (Operation::Sum, Element::F32) | (Operation::Least | Operation::Greatest, _) => 1,
            _ => 2,
        }
    }

    /// The first `width` numbers of each row, from one on.
    fn rows_from<'a, T: Number>(
        &self,
        array: &'a Array,
        first: usize,
    ) -> impl Iterator<Item = &'a [T]> + use<'a, T> {
        let all: &[T] = bytemuck::cast_slice(array.bytes());
        let (width, height, pitch) = (self.width, self.height, self.pitch());
        (first..height).map(move |y| &all[y * pitch..][..width])
    }

    /// What a row becomes: plainly.
    fn result<T: Number>(&self, row: &[T], value: impl Fn(T) -> i128) -> [u32; 2] {
        let least = row.iter().map(|number| number.key()).min().unwrap_or(u32::MAX);
        let greatest = row.iter().map(|number| number.key()).max().unwrap_or(0);
        let bits = |key| {
            let number = T::from_key(key);
            let mut word = [0; 4];
            word[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&number));
            [u32::from_le_bytes(word), 0]
        };
        let halves = |long: u64| [long as u32, (long >> 32) as u32];
        match self.operation {
            Operation::Sum if self.element == Element::F32 => {
                let sum: f64 = row.iter().map(|n| f64::from(f32::from_key(n.key()))).sum();
                [(sum as f32).to_bits(), 0]
            }
            Operation::Sum => halves(row.iter().map(|number| value(*number)).sum::<i128>() as u64),
            Operation::Least => bits(least),
            Operation::Greatest => bits(greatest),
            Operation::PlaceOfLeast => {
                let place = row.iter().position(|number| number.key() == least);
                halves(place.map_or(u64::MAX, |place| place as u64))
            }
        }
    }

    fn results<T: Number>(&self, input: &Array, output: &mut Array, value: impl Fn(T) -> i128 + Copy) {
        let words: &mut [u32] = bytemuck::cast_slice_mut(output.bytes_mut());
        let results = words.chunks_mut(self.result_words());
        for (row, result) in self.rows_from::<T>(input, 0).zip(results) {
            result.copy_from_slice(&self.result(row, value)[..result.len()]);
        }
    }
}

impl Problem for Reduce {
    fn label(&self) -> String {
        let element = format!("{:?}", self.element).to_lowercase();
        let count = |n: usize| crate::quantity::count(n as u64);
        match self.height {
            1 => format!("{} {element}", count(self.width)),
            _ => format!("{} rows of {} {element}", count(self.height), count(self.width)),
        }
    }

    fn elements(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let (kind, len) = (Kind::of(self.element), self.pitch() * self.height);
        vec![Array::filled(Layout::new(kind, len), fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        let len = self.result_words() * self.height;
        vec![match (self.operation, self.element) {
            (Operation::Sum | Operation::Least | Operation::Greatest, Element::F32) => Layout::of::<f32>(len),
            _ => Layout::of::<u32>(len),
        }]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let (from, to) = (&inputs[0], &mut outputs[0]);
        match self.element {
            Element::U8 => self.results::<u8>(from, to, i128::from),
            Element::U16 => self.results::<u16>(from, to, i128::from),
            Element::U32 => self.results::<u32>(from, to, i128::from),
            Element::I32 => self.results::<i32>(from, to, i128::from),
            Element::F32 => self.results::<f32>(from, to, |_| 0),
        }
    }

    fn work(&self) -> Work {
        let bytes = u64::from(self.element.bits()) / 8;
        let written = 4 * (self.result_words() * self.height) as u64;
        Work::bytes(self.elements() * bytes, written)
    }

    fn tolerance(&self, _: Fill) -> Tolerance {
        match (self.operation, self.element) {
            // Sums of as many floats differ by their order; a tree's by a few of the last bits.
            (Operation::Sum, Element::F32) => Tolerance::Relative(1e-5),
            _ => Tolerance::Exact,
        }
    }

    fn place(&self) -> Option<f64> {
        (self.height > 1).then_some(self.width as f64)
    }
}
