//! Distance: out(x, y) = f(a), where a is the least dx² + dy² to a white pixel with a ≤ R², and f a table that is known
//! only at run time; f(R² + 1) where there is none. Outside the mask everything is black. Bytes to bytes, radius 15 and 100.
//!
//! Rows of the mask and of the result begin at multiples of 16 bytes. What lies between them is white in the mask, so that
//! who takes it for pixels is found out, and means nothing in the result.
//!
//! Masks of four kinds: one pixel in 10 000 is white, one in 100, half of them, and lines every 40 pixels.
//!
//! Least work: a byte is read and a byte is written for each pixel. What an exact method has to compute beside depends on
//! the method, so that no operations are counted here.
//!
//! On devices, the first five are the source's (RTX 2070, R = 15).
//!
//! A variant that would write or read more than the ladder has patience for says so and is not timed.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;

use rayon::prelude::*;

use crate::array::{Array, Fill, Layout, mix};
use crate::family::{Class, Failure, Family, Ladder, Outcome, Problem, Rows, Scale, Work};

pub(super) fn family() -> Family {
    Family {
        name: "distance",
        about: "a function of the distance to the nearest white pixel within a radius",
        source: "RTX 2070, CUDA 10.2, R = 15",
        source_size: "",
        wins: "The winner does not look at pixels one by one: 32 pixels of a column share a word, offset by \
               offset (small radii), or distances along columns are kept in shared memory and searched \
               outwards along rows (`tiles`).",
        loses: "The source's atomics do R² work for each white pixel, and to leave out what lies beyond a \
                white neighbour helps only on masks with long lines. A plain read before the atomic costs \
                more than it saves on a device with fast atomics.",
        ladders: vec![ladder(Reach::Near), ladder(Reach::Far)],
    }
}

/// What is white.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mask {
    /// One pixel in so many, at random.
    OneIn(u32),
    /// Rows and columns 40 pixels apart.
    Lines,
    /// Nothing.
    Empty,
    /// Everything.
    Full,
}

impl Mask {
    const KINDS: [Self; 4] = [Self::OneIn(10_000), Self::OneIn(100), Self::OneIn(2), Self::Lines];

    fn is_white(self, seed: u64, x: usize, y: usize, place: usize) -> bool {
        match self {
            Self::OneIn(one_in) => mix(seed, place as u64) < u32::MAX / one_in,
            Self::Lines => x % 40 == seed as usize % 40 || y % 40 == seed as usize % 40,
            Self::Empty => false,
            Self::Full => true,
        }
    }

    /// How many of all pixels are white.
    fn part(self) -> f64 {
        match self {
            Self::OneIn(one_in) => 1.0 / f64::from(one_in),
            Self::Lines => 79.0 / 1_600.0,
            Self::Empty => 0.0,
            Self::Full => 1.0,
        }
    }

    fn name(self) -> String {
        match self {
            Self::OneIn(one_in) => format!("{} % white", 100.0 / f64::from(one_in)),
            Self::Lines => "lines".to_owned(),
            Self::Empty => "empty".to_owned(),
            Self::Full => "all white".to_owned(),
        }
    }
}

/// A mask, and how far to look.
#[derive(Clone, Copy, Debug)]
struct Distance {
    /// Pixels of a row; rows lie [`Distance::pitch`] bytes apart.
    width: usize,
    height: usize,
    /// At most 254.
    radius: u32,
    mask: Mask,
}

/// The function of the squared distance: neither smooth nor monotonic.
fn profile(radius: u32) -> Vec<u8> {
    let squares = 0..=u64::from(radius * radius) + 1;
    squares.map(|a| mix(5, a) as u8).collect()
}

impl Distance {
    const fn new((width, height): (usize, usize), (radius, mask): (u32, Mask)) -> Self {
        Self {
            width,
            height,
            radius,
            mask,
        }
    }

    const fn squared(&self) -> u32 {
        self.radius * self.radius
    }

    /// Pixels that mean something.
    const fn pixels(&self) -> usize {
        self.width * self.height
    }

    /// Bytes from the start of a row to that of the next: rows are whole vectors.
    const fn pitch(&self) -> usize {
        self.width.next_multiple_of(16)
    }

    /// Bytes of the mask and of the result, with what lies between rows.
    const fn stored(&self) -> usize {
        self.pitch() * self.height
    }

    /// Refuses what would take more than so many steps.
    fn patience(&self, steps: f64, most: f64) -> Outcome {
        if steps <= most {
            return Ok(());
        }
        Err(Failure::Unsupported(format!(
            "about {steps:.0e} steps, more than this ladder waits for"
        )))
    }

    /// Minima that white pixels lower, all of them or those that are left where neighbours spare halves.
    fn lowered(&self, halves: bool) -> f64 {
        let reach = f64::from(2 * self.radius + 1);
        let white = self.pixels() as f64 * self.mask.part();
        match self.mask {
            Mask::Lines | Mask::Full if halves => white * reach,
            _ => white * reach * reach,
        }
    }

    /// Pixels that are looked at from black pixels.
    fn looked_at(&self) -> f64 {
        let reach = f64::from(2 * self.radius + 1);
        let near = match self.mask {
            Mask::Lines => 400.0,
            Mask::Empty => f64::INFINITY,
            mask => 2.0 / mask.part(),
        };
        self.pixels() as f64 * near.min(reach * reach)
    }
}

impl Problem for Distance {
    fn label(&self) -> String {
        let Self { width, height, .. } = self;
        format!("{width} × {height}, R = {}, {}", self.radius, self.mask.name())
    }

    fn elements(&self) -> u64 {
        self.pixels() as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let (seed, white) = match fill {
            Fill::Random => (1, 255),
            Fill::Structured => (2, 1),
        };
        let (width, pitch) = (self.width, self.pitch());
        let mask = Array::from_fn(self.stored(), |at| {
            let (x, y) = (at % pitch, at / pitch);
            if x >= width {
                return 255;
            }
            match self.mask.is_white(seed, x, y, y * width + x) {
                true => white,
                false => 0_u8,
            }
        });
        let profile = profile(self.radius);
        vec![mask, Array::from_fn(profile.len(), |a| profile[a])]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u8>(self.stored())]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let (mask, profile) = (inputs[0].slice::<u8>(), inputs[1].slice::<u8>());
        let (width, pitch, far) = (self.width, self.pitch().max(1), self.radius as usize + 1);
        // How far the nearest white pixel of the column is, at most `far`; columns between rows are left out below.
        let mut gaps = vec![far as u8; self.stored()];
        for at in 0..gaps.len() {
            let above = at.checked_sub(pitch).map_or(far, |above| gaps[above].into());
            gaps[at] = if mask[at] != 0 {
                0
            } else {
                far.min(above + 1) as u8
            };
        }
        for at in (0..gaps.len().saturating_sub(pitch)).rev() {
            gaps[at] = gaps[at].min(gaps[at + pitch].saturating_add(1));
        }
        let rows = outputs[0].slice_mut::<u8>().par_chunks_mut(pitch);
        rows.zip(gaps.par_chunks(pitch)).for_each(|(out, gaps)| {
            let (out, gaps) = (&mut out[..width], &gaps[..width]);
            for (x, out) in out.iter_mut().enumerate() {
                let mut least = self.squared() as usize + 1;
                for dx in 0..far {
                    if dx * dx >= least {
                        break;
                    }
                    let (before, after) = (x.checked_sub(dx), Some(x + dx).filter(|x| *x < gaps.len()));
                    for x in before.into_iter().chain(after) {
                        least = least.min(dx * dx + usize::from(gaps[x]).pow(2));
                    }
                }
                *out = profile[least];
            }
        });
    }

    fn work(&self) -> Work {
        Work::bytes(self.elements(), self.elements())
    }

    fn rows(&self) -> Option<Rows> {
        let (len, pitch) = (self.width, self.pitch());
        (len > 0).then_some(Rows { len, pitch })
    }
}

/// How far a ladder looks.
#[derive(Clone, Copy)]
enum Reach {
    Near,
    Far,
}

fn ladder(reach: Reach) -> Box<Ladder<Distance>> {
    let variants = on_both!(cpu::variants(), gpu::variants(reach));
    let (radius, one_in, name, about, kinds) = match reach {
        Reach::Near => (
            15,
            500,
            "distance/15",
            "out = f(least dx² + dy² ≤ R² to a white pixel), bytes, R = 15",
            &[
                (0, Mask::OneIn(3)),
                (3, Mask::Full),
                (15, Mask::OneIn(2)),
                (15, Mask::OneIn(500)),
            ][..],
        ),
        Reach::Far => (
            100,
            9_000,
            "distance/100",
            "out = f(least dx² + dy² ≤ R² to a white pixel), bytes, R = 100",
            &[
                (40, Mask::Full),
                (40, Mask::OneIn(3_000)),
                (100, Mask::OneIn(9_000)),
            ][..],
        ),
    };
    let ladder = Ladder::new(name, about, variants).checks(move || checks(kinds));
    let ladder = ladder.cases(move |scale| cases(scale, radius));
    Box::new(ladder.huge(move || huge(radius, one_in)))
}

/// These on rasters of several tiles and bands, as wide as whole vectors and one or a few pixels wider, on a single column and a
/// single row, and with them masks without a white pixel and of lines; the first of them also where there is nothing to compute
/// and where all is less than the radius. A single pixel is white and black.
fn checks(kinds: &[(u32, Mask)]) -> Vec<Distance> {
    let of = Distance::new;
    let first = kinds[0];
    let (radius, _) = kinds[kinds.len() - 1];
    let mut checks = [(0, 0), (0, 5), (16, 0), (16, 1)]
        .map(|raster| of(raster, first))
        .to_vec();
    let (white, black, lines) = ((radius, Mask::Full), (radius, Mask::Empty), (radius, Mask::Lines));
    checks.extend([white, black].map(|kind| of((1, 1), kind)));
    for raster in [(1, 70), (33, 1), (48, 70)] {
        checks.extend(kinds.iter().map(|kind| of(raster, *kind)));
    }
    checks.push(of((1, 70), lines));
    let all = kinds.iter().chain([&black, &lines]);
    checks.extend(all.map(|kind| of((67, 70), *kind)));
    // Where all is white or nothing is, larger ones take long.
    let apart = kinds.iter().filter(|(_, mask)| *mask != Mask::Full);
    for raster in [(320, 67), (321, 67), (161, 203)] {
        checks.extend(apart.clone().map(|kind| of(raster, *kind)));
    }
    checks
}

/// Masks of which a word for each pixel takes more than 2^32 bytes, and of which a byte does: few white pixels, so that those
/// that start at white ones see the end, and many, for those that start at black ones.
fn huge(radius: u32, one_in: u32) -> Vec<Distance> {
    let of = |size, one_in| Distance::new(size, (radius, Mask::OneIn(one_in)));
    let (words, bytes) = ((32_784, 32_777), (65_600, 65_551));
    vec![of(words, one_in), of(bytes, one_in), of(bytes, 2)]
}

/// One radius on masks of all kinds.
fn cases(scale: Scale, radius: u32) -> Vec<Distance> {
    let sizes: &[u64] = match (scale.class, scale.quick) {
        (Class::Cpu, true) => &[1 << 18],
        (Class::Cpu, false) => &[1 << 20, 1 << 24],
        (Class::Software, true) => &[1 << 16],
        (Class::Software, false) => &[1 << 20],
        (Class::Gpu, true) => &[1 << 24],
        (Class::Gpu, false) => &[1 << 20, 10_240 * 10_240],
    };
    let mut cases = Vec::new();
    for size in scale.or_these(sizes) {
        let width = (size.isqrt() as usize).next_multiple_of(16).max(16);
        let height = (size as usize).div_ceil(width);
        cases.extend(Mask::KINDS.map(|mask| Distance::new((width, height), (radius, mask))));
    }
    cases
}
