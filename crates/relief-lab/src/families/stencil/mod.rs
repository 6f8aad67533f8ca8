//! Stencils: box, Gauss, Sobel, convolution and erosion, of 8 bits and of f32, as
//! `relief_numeric::stencil` defines them: pixels outside of the picture are the nearest inside, results of 8
//! bits are exact.
//!
//! Rows begin at multiples of 16 bytes; what follows a row of the result, up to there, is 0.
//!
//! Least work: a pixel is read once and written once, whatever the radius. Computing is free as long as a
//! device does it in the time that takes. What the ladders show is what it takes to get there: from (2r + 1)²
//! loads for a pixel to one.
//!
//! `one pass` folds least, greatest and sum by van Herk, Gil and Werman (or takes weights; or, for small squares, registers); bytes go two at a
//! time, as halves of words, and weighted by matrix instructions where a device has them. `one pass, …` are its other ways: which is best
//! depends on the radius.
//!
//! The source's figures are for a box on 24 Mpx: from global memory 163 ms, by tiles with a border in shared
//! memory 116 ms.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
mod reference;

use relief_numeric::stencil::{Filter, GaussWeights, Mask, Shape};

use crate::array::{Array, Fill, Kind, Layout};
use crate::family::{Class, Failure, Family, Ladder, Problem, Scale, Tolerance, Work, sides};

pub(super) fn family() -> Family {
    let both = [
        (
            Subject::Box,
            ["stencil/box-u8", "stencil/box-f32"],
            "the mean of the square of 2r + 1 pixels",
        ),
        (
            Subject::Gauss,
            ["stencil/gauss-u8", "stencil/gauss-f32"],
            "the mean weighted by a bell, sigma 2",
        ),
        (
            Subject::Sobel,
            ["stencil/sobel-u8", "stencil/sobel-f32"],
            "|gx| + |gy|",
        ),
        (
            Subject::Convolution,
            ["stencil/convolution-u8", "stencil/convolution-f32"],
            "a sum with weights, square by square",
        ),
        (
            Subject::Extreme,
            ["stencil/erosion-u8", "stencil/erosion-f32"],
            "the least of the square of 2r + 1 pixels",
        ),
    ];
    let both = both.into_iter().flat_map(|(subject, [bytes, floats], about)| {
        [(Kind::U8, bytes), (Kind::F32, floats)].map(|(kind, name)| ladder(subject, kind, name, about) as _)
    });
    Family {
        name: "stencil",
        about: "pixels from the pixels around them: each read once, whatever the radius",
        source: "a box of 24 Mpx; the device is not named",
        source_size: "24 Mpx",
        wins: "One pass, strip by strip: columns are folded down and then across rows while both are on the \
               chip, so each pixel is read once or twice whatever the radius. Sums slide by what enters and \
               leaves, extremes go by van Herk's blocks, weighted sums of bytes by matrix instructions.",
        loses: "The definition and tiles in shared memory load a pixel for each pixel of its window. \
                Separable passes and running sums write a picture in between and read it again.",
        ladders: both.collect(),
    }
}

/// What a ladder computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Box,
    Gauss,
    Sobel,
    Convolution,
    /// The least. The greatest is the same with the order turned round, and has no ladder.
    Extreme,
}

fn ladder(subject: Subject, kind: Kind, name: &'static str, about: &'static str) -> Box<Ladder<Stencil>> {
    let variants = on_both!(cpu::variants(subject), gpu::variants(subject, kind));
    let ladder = Ladder::new(name, about, variants)
        .checks(move || checks(subject, kind))
        .cases(move |scale| cases(subject, kind, scale))
        .huge(move || huge(subject, kind));
    Box::new(match subject {
        Subject::Box | Subject::Extreme | Subject::Convolution => ladder.axis("radius"),
        _ => ladder,
    })
}

/// A filter of this subject.
fn filter(subject: Subject, radius: u32) -> Filter {
    match subject {
        Subject::Box => Filter::Box(radius),
        Subject::Gauss => gauss(),
        Subject::Sobel => Filter::Sobel,
        Subject::Convolution => convolution(radius),
        Subject::Extreme => Filter::Erosion(radius),
    }
}

fn gauss() -> Filter {
    match GaussWeights::new(2.0) {
        Some(weights) => Filter::Gauss(weights),
        None => Filter::Box(0),
    }
}

/// Small whole weights of both signs, that sum to about 2^6.
fn convolution(radius: u32) -> Filter {
    let side = 2 * radius as usize + 1;
    let weight = |k: usize| match (64 / (side * side)) as i16 {
        0 => (k % 3) as i16 - 1,
        even => even + (k % 3) as i16 - 1,
    };
    let weights: Vec<i16> = (0..side * side).map(weight).collect();
    match Mask::new(radius, &weights, 6) {
        Some(mask) => Filter::Convolution(mask),
        None => Filter::Box(0),
    }
}

/// The radii of a run, the first of which every size is measured with.
fn radii(subject: Subject, quick: bool) -> &'static [u32] {
    match (subject, quick) {
        (Subject::Box | Subject::Extreme | Subject::Convolution, true) => &[1],
        (Subject::Box, false) => &[1, 5, 15, 50],
        (Subject::Extreme, false) => &[1, 15, 50],
        (Subject::Convolution, false) => &[1, 3],
        (Subject::Gauss | Subject::Sobel, _) => &[0],
    }
}

/// Of radii that every variant can have: a variant that cannot run a check takes no part. Larger ones are checked as cases.
fn checks(subject: Subject, kind: Kind) -> Vec<Stencil> {
    let shapes = [
        (0, 0, 1),
        (0, 5, 1),
        (5, 0, 1),
        (1, 1, 1),
        (1, 70, 1),
        (33, 2, 5),
        (64, 33, 1),
        (67, 70, 5),
        (130, 19, 5),
        (515, 40, 5),
        (150, 47, 15),
        (70, 120, 15),
    ];
    let of = |(width, height, radius): (usize, usize, u32)| {
        let radius = match subject {
            Subject::Convolution => 1.max(radius.min(2)),
            _ => radius,
        };
        Stencil::new(subject, kind, (width, height), radius)
    };
    shapes.into_iter().map(of).collect()
}

fn cases(subject: Subject, kind: Kind, scale: Scale) -> Vec<Stencil> {
    let sizes = match (scale.class, scale.quick, scale.size) {
        (Class::Cpu, true, None) => vec![1 << 20],
        _ => scale.sizes(),
    };
    // Of sizes that caches hold, and those that take long, one radius says enough.
    let whole = match (scale.class, sizes.len()) {
        (Class::Gpu, _) | (_, 1) => sizes.last(),
        _ => sizes.get(1),
    };
    // Nobody waits for all radii on software who did not ask for a size.
    let one = scale.quick || (scale.class == Class::Software && scale.size.is_none());
    let radii = radii(subject, one);
    let mut cases = Vec::new();
    for size in &sizes {
        let radii = if Some(size) == whole { radii } else { &radii[..1] };
        let of = |radius: &u32| Stencil::new(subject, kind, sides(*size), *radius);
        cases.extend(radii.iter().map(of));
    }
    cases
}

fn huge(subject: Subject, kind: Kind) -> Vec<Stencil> {
    // Of bytes that become words between two passes, those between them are too many for the buffers of most devices, and
    // as many as are wanted in a quarter of a picture. Wider windows of bytes are computed in another way.
    let (words, bytes) = ((32_780, 32_777), (65_600, 65_551));
    let pictures: &[_] = match (subject, kind) {
        (Subject::Box | Subject::Extreme, Kind::U8) => &[(words, 2), (bytes, 2), (bytes, 15)],
        (Subject::Gauss, Kind::U8) => &[(words, 2), (bytes, 2)],
        (_, Kind::U8) => &[(bytes, 2)],
        _ => &[(words, 2)],
    };
    let of = |(size, radius): &((usize, usize), u32)| Stencil::new(subject, kind, *size, *radius);
    pictures.iter().map(of).collect()
}

/// Why a square of so many pixels is not looked at for every pixel.
fn too_many_loads(side: u64) -> Failure {
    let loads = side * side;
    Failure::Unsupported(format!(
        "{loads} loads for a pixel take too long for so many pixels"
    ))
}

/// A picture to be filtered.
struct Stencil {
    filter: Filter,
    kind: Kind,
    width: usize,
    height: usize,
}

impl Stencil {
    fn new(subject: Subject, kind: Kind, (width, height): (usize, usize), radius: u32) -> Self {
        Self {
            filter: filter(subject, radius),
            kind,
            width,
            height,
        }
    }

    fn radius(&self) -> usize {
        self.filter.radius() as usize
    }

    /// Samples from one row to the next.
    fn pitch(&self) -> usize {
        self.width.next_multiple_of(16 / self.kind.bytes())
    }

    fn shape(&self) -> Shape {
        Shape {
            width: self.width,
            height: self.height,
            pitch: self.pitch(),
        }
    }

    fn layout(&self) -> Layout {
        Layout::new(self.kind, self.pitch() * self.height)
    }

    /// The weights along an axis of filters that are the same along both.
    fn axis_weights(&self) -> Vec<f32> {
        let side = 2 * self.radius() + 1;
        let middle = self.radius();
        match (&self.filter, self.kind) {
            (Filter::Gauss(weights), Kind::U8) => {
                let whole = |k: usize| weights.whole().get(k.abs_diff(middle)).copied().unwrap_or(0);
                (0..side).map(|k| f32::from(whole(k))).collect()
            }
            (Filter::Gauss(weights), _) => (0..side).map(|k| weights.real()[k.abs_diff(middle)]).collect(),
            _ => vec![1.0; side],
        }
    }

    /// The weights of the square, row after row.
    fn square_weights(&self) -> Vec<f32> {
        match &self.filter {
            Filter::Convolution(mask) => mask.weights().iter().map(|weight| f32::from(*weight)).collect(),
            _ => {
                let axis = self.axis_weights();
                axis.iter()
                    .flat_map(|down| axis.iter().map(move |across| down * across))
                    .collect()
            }
        }
    }

    /// What weighted sums are divided by.
    fn divisor(&self) -> f64 {
        match (&self.filter, self.kind) {
            (Filter::Box(radius), _) => f64::from(2 * radius + 1).powi(2),
            (Filter::Gauss(_), Kind::U8) => 65_536.0,
            (Filter::Convolution(mask), _) => f64::from(1 << mask.shift()),
            _ => 1.0,
        }
    }
}

impl Problem for Stencil {
    fn label(&self) -> String {
        let Self { width, height, .. } = self;
        let what = match &self.filter {
            Filter::Box(_) | Filter::Sobel | Filter::Convolution(_) => "r",
            Filter::Gauss(_) => "sigma 2, r",
            Filter::Erosion(_) => "least, r",
            Filter::Dilation(_) => "greatest, r",
        };
        let kind = self.kind.name();
        format!("{width} × {height} {kind}, {what} = {}", self.radius())
    }

    fn elements(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// The picture, the weights of the square, and those along an axis.
    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let (square, axis) = (self.square_weights(), self.axis_weights());
        vec![
            Array::filled(self.layout(), fill, 1),
            Array::from_fn(square.len(), |k| square[k]),
            Array::from_fn(axis.len(), |k| axis[k]),
        ]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![self.layout()]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        reference::compute(self, inputs, &mut outputs[0]);
    }

    fn work(&self) -> Work {
        let bytes = self.elements() * self.kind.bytes() as u64;
        Work::bytes(bytes, bytes)
    }

    fn tolerance(&self, _: Fill) -> Tolerance {
        match (&self.filter, self.kind) {
            (_, Kind::U8) | (Filter::Erosion(_), _) => Tolerance::Exact,
            // Sums of up to 961 numbers one after the other.
            _ => Tolerance::Relative(3e-5),
        }
    }

    fn place(&self) -> Option<f64> {
        let fixed = matches!(self.filter, Filter::Gauss(_) | Filter::Sobel);
        (!fixed).then_some(f64::from(self.filter.radius()))
    }
}
