//! Grey dilation by a structuring function: out(x, y) = max over (s, t) of f(x − s, y − t) + b(s, t), a max-plus convolution.
//!
//! What lies outside of the picture does not count; integers saturate. Rows begin at multiples of 16 bytes. `dilation` has k × k
//! heights of no order, `paraboloid` those that are a sum of a function of the column and one of the row; samples of f32 are
//! then rounded after each of the two.
//!
//! Least work: an addition and a maximum for each height, k² or 2 k a pixel, counted as one operation; every sample read once and written
//! once. Samples of 8 and 16 bits count as operations of 32 bits do: a CPU, whose vectors then hold four or two times as many, goes past that
//! ceiling. (Envelopes of parabolas can be had in a number of operations that does not depend on k, but not side by
//! side: see `distance`.)

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;

use relief_numeric::morphology::StructuringFunction;

use crate::array::{Array, Fill, Kind, Layout, mix};
use crate::family::{Class, Family, Ladder, Operation, Problem, Scale, Work};

fn ladder(name: &'static str, about: &'static str, kind: Kind, separable: bool) -> Box<Ladder<Dilation>> {
    let variants = on_both!(cpu::variants(), gpu::variants(separable));
    let of = move |(width, height, radius)| Dilation {
        kind,
        separable,
        radius,
        width,
        height,
    };
    let ladder = Ladder::new(name, about, variants)
        .axis("k")
        .checks(move || CHECKS.map(of).into())
        .cases(move |scale| cases(scale).into_iter().map(of).collect())
        .huge(move || {
            vec![of(match kind {
                Kind::U8 => (65_600, 65_551, 1),
                Kind::U16 => (46_400, 46_351, 1),
                _ => (32_780, 32_777, 1),
            })]
        });
    Box::new(ladder)
}

pub(super) fn family() -> Family {
    let any = [
        ("morphology/dilation-u8", Kind::U8),
        ("morphology/dilation-u16", Kind::U16),
        ("morphology/dilation-f32", Kind::F32),
    ];
    let sum = [
        ("morphology/paraboloid-u8", Kind::U8),
        ("morphology/paraboloid-u16", Kind::U16),
        ("morphology/paraboloid-f32", Kind::F32),
    ];
    let of = |about, separable| move |(name, kind)| ladder(name, about, kind, separable) as _;
    let any = any.into_iter().map(of("dilation by k × k heights", false));
    let sum = sum
        .into_iter()
        .map(of("dilation by a sum of k and k heights", true));
    Family {
        name: "morphology",
        about: "max-plus convolutions: an addition and a maximum for each height of a structuring function",
        source: "none",
        source_size: "",
        wins: "More rows a thread: each sample and height that was loaded serves several sums. A separable \
               function goes by rows and then columns, with a ring of rows in shared memory.",
        loses: "The definition loads two numbers for each sum. A tile in shared memory cuts the latency and \
                not the number of loads. Two separable kernels write the picture between.",
        ladders: any.chain(sum).collect(),
    }
}

/// A picture to be dilated.
#[derive(Clone, Copy)]
struct Dilation {
    kind: Kind,
    separable: bool,
    radius: u32,
    width: usize,
    height: usize,
}

/// Widths, heights and radii.
const CHECKS: [(usize, usize, u32); 11] = [
    (0, 0, 1),
    (5, 0, 1),
    (0, 5, 1),
    (1, 1, 0),
    (1, 70, 1),
    (33, 2, 2),
    (67, 70, 3),
    (130, 19, 4),
    (261, 40, 1),
    (150, 47, 7),
    (70, 61, 15),
];

/// Squares, with their radii.
fn cases(scale: Scale) -> Vec<(usize, usize, u32)> {
    let (sides, radii): (&[usize], &[u32]) = match (scale.class, scale.quick) {
        (Class::Software, _) => (&[256], &[1]),
        (Class::Cpu, true) => (&[1_024], &[3]),
        (Class::Gpu, true) => (&[4_096], &[7]),
        (Class::Cpu, false) => (&[1_024, 4_096], &[1, 3, 7, 15]),
        (Class::Gpu, false) => (&[1_024, 4_096], &[1, 2, 3, 7, 15]),
    };
    let sides = scale.sides_or(sides);
    let mut cases = Vec::new();
    for side in &sides {
        // Of small pictures one function says enough.
        let radii = if Some(side) == sides.last() { radii } else { &[7] };
        cases.extend(radii.iter().map(|radius| (*side, *side, *radius)));
    }
    cases
}

impl Dilation {
    const fn side(&self) -> usize {
        2 * self.radius as usize + 1
    }

    /// Samples from one row to the next.
    const fn pitch(&self) -> usize {
        self.width.next_multiple_of(16 / self.kind.bytes())
    }

    const fn layout(&self) -> Layout {
        Layout::new(self.kind, self.pitch() * self.height)
    }

    const fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// What the greatest sample is about, and the depth of the lowest height.
    const fn depth(&self) -> i32 {
        match self.kind {
            Kind::U8 => 200,
            _ => 50_000,
        }
    }

    /// Heights of integers: those of a column and of a row, or of a square.
    fn whole_heights(&self) -> (Vec<i32>, Vec<i32>) {
        let (side, depth, reach) = (self.side(), self.depth(), self.radius as i32);
        if self.separable {
            let of = |slope: i32| {
                let height = |s: i32| -s * s * slope;
                (-reach..=reach).map(height).collect()
            };
            // Not the same along both, so that they are not taken for each other.
            return (of((depth / 400).max(1)), of((depth / 600).max(2)));
        }
        let height = |place: usize| match place == side * side / 2 {
            true => 0,
            false => -((mix(9, place as u64) % depth.cast_unsigned()).cast_signed()),
        };
        ((0..side * side).map(height).collect(), Vec::new())
    }

    /// Those of f32, which have all of their bits.
    fn heights(&self) -> (Vec<f32>, Vec<f32>) {
        let depth = self.depth() as f32;
        let (one, other) = self.whole_heights();
        let of = |heights: Vec<i32>| heights.into_iter().map(|height| height as f32 / depth).collect();
        (of(one), of(other))
    }

    #[cfg(feature = "gpu")]
    fn whole_function(&self) -> Option<StructuringFunction<i32>> {
        let (one, other) = self.whole_heights();
        function(self.radius, &one, &other)
    }

    #[cfg(feature = "gpu")]
    fn function(&self) -> Option<StructuringFunction<f32>> {
        let (one, other) = self.heights();
        function(self.radius, &one, &other)
    }

    /// The greatest sum at a pixel; `sum` takes a sample and the numbers of a column and of a row of heights.
    fn greatest<T: Copy, N: PartialOrd>(
        &self,
        picture: &[T],
        (x, y): (usize, usize),
        sum: impl Fn(T, usize, usize) -> N,
    ) -> Option<N> {
        let reach = self.radius as usize;
        let mut most = None;
        for t in 0..self.side() {
            for s in 0..self.side() {
                // f(x − s, y − t), counted from the corner of the function.
                let (column, row) = ((x + reach).wrapping_sub(s), (y + reach).wrapping_sub(t));
                if column < self.width && row < self.height {
                    let sum = sum(picture[row * self.pitch() + column], s, t);
                    most = match most {
                        Some(most) if most >= sum => Some(most),
                        _ => Some(sum),
                    };
                }
            }
        }
        most
    }

    /// Every pixel by its definition.
    fn define<T: crate::array::Element, N: PartialOrd>(
        &self,
        picture: &[T],
        out: &mut [T],
        sum: impl Fn(T, usize, usize) -> N + Sync,
        sample: impl Fn(Option<N>) -> T + Sync,
    ) {
        use rayon::prelude::*;

        if self.is_empty() {
            return;
        }
        out.par_chunks_mut(self.pitch()).enumerate().for_each(|(y, row)| {
            for (x, out) in row[..self.width].iter_mut().enumerate() {
                *out = sample(self.greatest(picture, (x, y), &sum));
            }
        });
    }

    /// Every pixel of integers.
    fn define_whole<T: crate::array::Element + Into<i32>>(
        &self,
        inputs: &[Array],
        outputs: &mut [Array],
        of: impl Fn(i32) -> T + Sync,
    ) {
        let (one, other) = self.whole_heights();
        let side = self.side();
        let height = |s: usize, t: usize| match self.separable {
            true => one[s] + other[t],
            false => one[t * side + s],
        };
        let sum = |sample: T, s, t| sample.into() + height(s, t);
        let (picture, out) = (inputs[0].slice(), outputs[0].slice_mut());
        self.define(picture, out, sum, |most| of(most.unwrap_or(0).max(0)));
    }
}

/// The function of a square of heights, or of two lines.
fn function<H: relief_numeric::morphology::Height>(
    radius: u32,
    one: &[H],
    other: &[H],
) -> Option<StructuringFunction<H>> {
    let some = |heights: &[H]| -> Vec<Option<H>> { heights.iter().copied().map(Some).collect() };
    match other {
        [] => StructuringFunction::new(radius, &some(one)).ok(),
        other => StructuringFunction::separable(radius, &some(one), &some(other)).ok(),
    }
}

impl Problem for Dilation {
    fn label(&self) -> String {
        let kind = self.kind.name();
        format!("{} × {} {kind}, k = {}", self.width, self.height, self.side())
    }

    fn elements(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// The picture; heights as production's kernels take them, and as the others do: by the place of the sample.
    fn inputs(&self, fill: Fill) -> Vec<Array> {
        fn reversed<H: Copy>((one, other): (Vec<H>, Vec<H>), bits: fn(H) -> u32) -> Vec<u32> {
            let heights = one.iter().rev().chain(other.iter().rev());
            heights.map(|height| bits(*height)).collect()
        }
        let bits = match self.kind {
            Kind::F32 => reversed(self.heights(), f32::to_bits),
            _ => reversed(self.whole_heights(), i32::cast_unsigned),
        };
        let words = self.production_words();
        vec![
            Array::filled(self.layout(), fill, 1),
            Array::from_fn(words.len(), |place| words[place]),
            Array::from_fn(bits.len(), |place| bits[place]),
        ]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![self.layout()]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        match self.kind {
            Kind::U8 => self.define_whole(inputs, outputs, |most| most.min(255) as u8),
            Kind::U16 => self.define_whole(inputs, outputs, |most| most.min(65_535) as u16),
            _ => {
                let (one, other) = self.heights();
                let side = self.side();
                let sum = |sample: f32, s: usize, t: usize| match self.separable {
                    true => sample + one[s] + other[t],
                    false => sample + one[t * side + s],
                };
                let (picture, out) = (inputs[0].slice(), outputs[0].slice_mut());
                self.define(picture, out, sum, |most| most.unwrap_or(f32::NEG_INFINITY));
            }
        }
    }

    fn work(&self) -> Work {
        let bytes = self.elements() * self.kind.bytes() as u64;
        let operation = match self.kind {
            Kind::F32 => Operation::F32AddMin,
            _ => Operation::IntegerAddMin,
        };
        let side = self.side() as u64;
        let count = if self.separable { 2 * side } else { side * side };
        Work::bytes(bytes, bytes).operations(operation, self.elements() * count)
    }

    fn place(&self) -> Option<f64> {
        Some(self.side() as f64)
    }
}

impl Dilation {
    /// Heights as production's kernels take them; those of a device that is not there are none.
    fn production_words(&self) -> Vec<u32> {
        #[cfg(feature = "gpu")]
        return gpu::words(self);
        #[cfg(not(feature = "gpu"))]
        Vec::new()
    }
}
