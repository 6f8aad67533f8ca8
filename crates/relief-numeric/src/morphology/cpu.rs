//! Grey dilation and erosion on the CPU, by plain loops over rows that are compiled for each set of vector instructions.
//!
//! Rows of the picture go into a window of as many rows as the function is high and one more, with what lies outside; two rows of
//! results are computed at once, some registers of each, so that a sample that is loaded serves both: two additions and two maxima for a
//! load that seldom lies within a line of the cache. A separable function is taken along a row as it enters the window.
//!
//! **Lanes.** Samples of 8 and 16 bits stay what they are where that is exact: heights are then taken below the highest of them and
//! subtracted with saturation at 0, and what the highest is comes on top at the end. A difference cut off at 0 changes no maximum
//! that some sample reaches without a loss; where the highest height lies elsewhere than at the origin and is more than 0, no such
//! sample need be in the picture, and lanes are of 32 bits.

use std::ops::Range;

use super::function::Taps;
use super::{Height, Operator, StructuringFunction};
use crate::matrix::{Matrix, MatrixMut, ShapeError};
use relief_kernels::isa::{Isa, versions};

/// The most columns that are computed at once: their rows of samples stay in the second cache.
const TILE: usize = 4_096;

/// Bytes of a row of results that stay in registers.
const GROUP: usize = 256;

/// Samples that are dilated and eroded: `u8`, `u16`, `f32`.
pub trait Sample: sealed::Lane<Self> + PartialOrd + Send + Sync + std::fmt::Debug {
    /// Heights of structuring functions: `i32`, `f32`.
    type Height: Height;
    /// What it is computed in where its own kind does not do.
    #[doc(hidden)]
    type Wide: sealed::Lane<Self>;
    /// The height as the wide kind has it.
    #[doc(hidden)]
    fn of_wide(height: Self::Height) -> <Self::Wide as sealed::Lane<Self>>::Tap;
    /// The height as its own kind has it, below the highest.
    #[doc(hidden)]
    fn of_narrow(height: Self::Height, highest: Self::Height) -> <Self as sealed::Lane<Self>>::Tap;
    /// A height in whole numbers.
    #[doc(hidden)]
    fn whole(height: Self::Height) -> i32;
    /// Whether its own kind is exact, by the highest height and that at the origin.
    #[doc(hidden)]
    fn is_narrow(highest: Self::Height, origin: Self::Height) -> bool;
}

mod sealed {
    /// What samples of `S` are computed in.
    pub trait Lane<S>: bytemuck::Pod + std::fmt::Debug {
        /// What is added to them.
        type Tap: Copy + PartialEq + Send + Sync + std::fmt::Debug;
        /// Lower than everything, or as low.
        const LEAST: Self;
        /// What changes nothing.
        const NONE: Self::Tap;
        /// With a height.
        fn plus(self, tap: Self::Tap) -> Self;
        /// The greater one.
        fn greater(self, other: Self) -> Self;
        /// A sample, of a picture that is upside down for an erosion.
        fn of(sample: S, down: bool) -> Self;
        /// The sample of a result, with what all heights were lowered by.
        fn sample(self, highest: i32, down: bool) -> S;
    }
}
use sealed::Lane;

macro_rules! integers {
    ($sample:ident) => {
        impl Lane<Self> for $sample {
            type Tap = Self;
            const LEAST: Self = 0;
            const NONE: Self = Self::MAX;

            #[inline(always)]
            fn plus(self, tap: Self) -> Self {
                self.saturating_sub(tap)
            }

            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn of(sample: Self, down: bool) -> Self {
                sample ^ if down { Self::MAX } else { 0 }
            }

            #[inline(always)]
            fn sample(self, highest: i32, down: bool) -> Self {
                let size = highest.unsigned_abs().min(u32::from(Self::MAX)) as Self;
                let (up, off) = if highest > 0 { (size, 0) } else { (0, size) };
                self.saturating_add(up).saturating_sub(off) ^ if down { Self::MAX } else { 0 }
            }
        }

        impl Lane<$sample> for i32 {
            type Tap = Self;
            const LEAST: Self = Self::ABSENT;
            const NONE: Self = Self::ABSENT;

            #[inline(always)]
            fn plus(self, tap: Self) -> Self {
                self.wrapping_add(tap)
            }

            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn of(sample: $sample, down: bool) -> Self {
                Self::from(<$sample as Lane<$sample>>::of(sample, down))
            }

            #[inline(always)]
            fn sample(self, _: i32, down: bool) -> $sample {
                let sample = self.clamp(0, Self::from($sample::MAX)) as $sample;
                <$sample as Lane<$sample>>::of(sample, down)
            }
        }

        impl Sample for $sample {
            type Height = i32;
            type Wide = i32;

            fn of_wide(height: i32) -> i32 {
                height
            }

            fn of_narrow(height: i32, highest: i32) -> Self {
                (highest - height).min(i32::from(Self::MAX)) as Self
            }

            fn whole(height: i32) -> i32 {
                height
            }

            fn is_narrow(highest: i32, origin: i32) -> bool {
                highest <= 0 || highest == origin
            }
        }
    };
}

integers!(u8);
integers!(u16);

impl Lane<Self> for f32 {
    type Tap = Self;
    const LEAST: Self = Self::NEG_INFINITY;
    const NONE: Self = Self::NEG_INFINITY;

    #[inline(always)]
    fn plus(self, tap: Self) -> Self {
        self + tap
    }

    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        // One instruction, and what is no number is passed over as `self`.
        if self > other { self } else { other }
    }

    #[inline(always)]
    fn of(sample: Self, down: bool) -> Self {
        if down { -sample } else { sample }
    }

    #[inline(always)]
    fn sample(self, _: i32, down: bool) -> Self {
        // 0 − 0 is 0, where a change of the sign is −0.
        if down { 0.0 - self } else { self }
    }
}

impl Sample for f32 {
    type Height = Self;
    type Wide = Self;

    fn of_wide(height: Self) -> Self {
        height
    }

    fn of_narrow(height: Self, _: Self) -> Self {
        height
    }

    fn whole(_: Self) -> i32 {
        0
    }

    fn is_narrow(_: Self, _: Self) -> bool {
        false
    }
}

/// A dilation or an erosion by a structuring function, made ready for a kind of samples.
#[derive(Clone, Debug)]
pub struct Morphology<S: Sample> {
    down: bool,
    lanes: Lanes<S>,
}

/// What is computed, by the kind of lanes.
#[derive(Clone, Debug)]
enum Lanes<S: Sample> {
    Narrow(Plan<S::Tap>),
    Wide(Plan<<S::Wide as Lane<S>>::Tap>),
}

/// The additions and maxima of a pixel, or of two.
#[derive(Clone, Debug)]
struct Plan<T> {
    radius: usize,
    /// What all heights were lowered by.
    highest: i32,
    /// Along a row, before what follows.
    across: Option<Vec<Tap<T, 1>>>,
    /// Of the first row's results alone, of both, of the second's.
    first: Vec<Tap<T, 1>>,
    both: Vec<Tap<T, 2>>,
    second: Vec<Tap<T, 1>>,
}

/// Heights for the sample of a row of the window and so many columns after the first that is looked at.
#[derive(Clone, Copy, Debug)]
struct Tap<T, const ROWS: usize> {
    row: usize,
    column: usize,
    heights: [T; ROWS],
}

impl<S: Sample> Morphology<S> {
    /// An operator and its function.
    #[must_use]
    pub fn new(operator: Operator, function: &StructuringFunction<S::Height>) -> Self {
        let radius = function.radius() as usize;
        let highest = |heights: &[S::Height]| {
            heights.iter().fold(
                S::Height::ABSENT,
                |high, next| if *next > high { *next } else { high },
            )
        };
        let middle = |heights: &[S::Height]| heights[heights.len() / 2];
        let taps = function.taps(operator);
        let (high, origin) = match &taps {
            Taps::Square(heights) => (highest(heights), middle(heights)),
            Taps::Sum { across, down } => (
                highest(across).plus(highest(down)),
                middle(across).plus(middle(down)),
            ),
        };
        let lanes = if S::is_narrow(high, origin) {
            Lanes::Narrow(Plan::new(
                radius,
                S::whole(high),
                &taps,
                highest,
                S::of_narrow,
                <S as Lane<S>>::NONE,
            ))
        } else {
            let none = <S::Wide as Lane<S>>::NONE;
            Lanes::Wide(Plan::new(
                radius,
                0,
                &taps,
                highest,
                |height, _| S::of_wide(height),
                none,
            ))
        };
        Self {
            down: operator == Operator::Erosion,
            lanes,
        }
    }

    /// Words of scratch memory that [`apply`](Self::apply) takes for pictures of so many columns.
    #[must_use]
    pub fn scratch_words(&self, columns: usize) -> usize {
        match &self.lanes {
            Lanes::Narrow(plan) => Layout::of::<S>(plan.radius, columns).words::<S>(),
            Lanes::Wide(plan) => Layout::of::<S::Wide>(plan.radius, columns).words::<S::Wide>(),
        }
    }

    /// Computes some rows of a picture's dilation or erosion, by one thread; `out` has as many.
    ///
    /// # Errors
    /// Where `rows` are not rows of the picture, `out` has others or other columns, or there is less scratch memory than
    /// [`scratch_words`](Self::scratch_words).
    pub fn apply(
        &self,
        picture: Matrix<'_, S>,
        rows: Range<usize>,
        out: MatrixMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<(), ShapeError> {
        ShapeError::unless_equal(
            "columns of the picture and of the result",
            picture.columns(),
            out.columns(),
        )?;
        ShapeError::unless_equal("rows of the result", rows.len(), out.rows())?;
        if rows.end > picture.rows() {
            ShapeError::unless_equal("rows of the picture", rows.end, picture.rows())?;
        }
        ShapeError::unless_enough(self.scratch_words(picture.columns()), scratch.len())?;
        match &self.lanes {
            Lanes::Narrow(plan) => plan.apply::<S, S>(picture, rows, out, scratch, self.down),
            Lanes::Wide(plan) => plan.apply::<S, S::Wide>(picture, rows, out, scratch, self.down),
        }
        Ok(())
    }
}

impl<T: Copy + PartialEq> Plan<T> {
    fn new<H: Height>(
        radius: usize,
        highest: i32,
        taps: &Taps<H>,
        high: impl Fn(&[H]) -> H,
        of: impl Fn(H, H) -> T,
        none: T,
    ) -> Self {
        let side = 2 * radius + 1;
        let lowered = |heights: &[H]| -> Vec<T> {
            let high = high(heights);
            let of = |height: &H| {
                if *height == H::ABSENT {
                    none
                } else {
                    of(*height, high)
                }
            };
            heights.iter().map(of).collect()
        };
        let mut plan = Self {
            radius,
            highest,
            across: None,
            first: Vec::new(),
            both: Vec::new(),
            second: Vec::new(),
        };
        let (heights, width) = match taps {
            Taps::Square(heights) => (lowered(heights), side),
            Taps::Sum { across, down } => {
                let across = lowered(across).into_iter().enumerate();
                let of = |(column, height)| Tap {
                    row: 0,
                    column,
                    heights: [height],
                };
                plan.across = Some(across.filter(|(_, height)| *height != none).map(of).collect());
                (lowered(down), 1)
            }
        };
        // Row `row` of the window is that of the first result's heights, and one further down for the second.
        for row in 0..=side {
            for column in 0..width {
                let height = |row: Option<usize>| row.and_then(|row| heights.get(row * width + column));
                let one = height(Some(row)).copied().unwrap_or(none);
                let other = height(row.checked_sub(1)).copied().unwrap_or(none);
                let tap = |height| Tap {
                    row,
                    column,
                    heights: [height],
                };
                match (one == none, other == none) {
                    (true, true) => {}
                    (false, true) => plan.first.push(tap(one)),
                    (true, false) => plan.second.push(tap(other)),
                    (false, false) => plan.both.push(Tap {
                        row,
                        column,
                        heights: [one, other],
                    }),
                }
            }
        }
        plan
    }

    fn apply<S: Sample, L: Lane<S, Tap = T>>(
        &self,
        picture: Matrix<'_, S>,
        rows: Range<usize>,
        mut out: MatrixMut<'_, S>,
        scratch: &mut [u64],
        down: bool,
    ) {
        let isa = Isa::best();
        let layout = Layout::of::<L>(self.radius, picture.columns());
        let lanes: &mut [L] = bytemuck::cast_slice_mut(scratch);
        let (results, rest) = lanes.split_at_mut(2 * layout.columns);
        let (one, other) = results.split_at_mut(layout.columns);
        let (line, rest) = rest.split_at_mut(layout.pitch);
        let window = &mut rest[..layout.slots * layout.pitch];
        let side = 2 * self.radius + 1;
        for start in (0..picture.columns()).step_by(TILE) {
            let part = Part {
                picture,
                start,
                columns: TILE.min(picture.columns() - start),
                radius: self.radius,
                down,
            };
            let groups = part.columns.next_multiple_of(GROUP / size_of::<L>());
            let (one, other) = (&mut one[..groups], &mut other[..groups]);
            let mut next = rows.start;
            for y in rows.clone().step_by(2) {
                // Row y + k − radius of the picture is row (y + k) mod `slots` of the window.
                for place in next..y + side + 1 {
                    let slot = &mut window[place % layout.slots * layout.pitch..][..layout.pitch];
                    let row = place.checked_sub(self.radius).filter(|row| *row < picture.rows());
                    match (row, &self.across) {
                        (None, _) => slot.fill(L::LEAST),
                        (Some(row), None) => part.load(isa, row, slot),
                        (Some(row), Some(across)) => {
                            part.load(isa, row, line);
                            take_one::<S, L>(isa, line, across, &mut slot[..groups]);
                        }
                    }
                }
                next = y + side + 1;
                let mut seen: [&[L]; MOST] = [&[]; MOST];
                for (k, row) in seen[..=side].iter_mut().enumerate() {
                    *row = &window[(y + k) % layout.slots * layout.pitch..][..layout.pitch];
                }
                take_two::<S, L>(isa, &seen, &self.first, &self.both, &self.second, one, other);
                let place = y - rows.start;
                let columns = start..start + part.columns;
                finish::<S, L>(isa, one, self.highest, down, &mut out.row(place)[columns.clone()]);
                if y + 1 < rows.end {
                    finish::<S, L>(isa, other, self.highest, down, &mut out.row(place + 1)[columns]);
                }
            }
        }
    }
}

/// The most rows of a window.
const MOST: usize = 2 * super::MAX_RADIUS as usize + 2;

/// How scratch memory is used.
struct Layout {
    /// Lanes of a row of results: whole groups.
    columns: usize,
    /// Lanes from one row of the window to the next.
    pitch: usize,
    /// Rows of the window.
    slots: usize,
}

impl Layout {
    fn of<L>(radius: usize, columns: usize) -> Self {
        let columns = columns.min(TILE).next_multiple_of(GROUP / size_of::<L>());
        // A line more, so that rows do not share their places in the caches.
        let line = 64 / size_of::<L>();
        Self {
            columns,
            pitch: (columns + 2 * radius).next_multiple_of(line) + line,
            slots: 2 * radius + 2,
        }
    }

    fn words<L>(&self) -> usize {
        let lanes = 2 * self.columns + (1 + self.slots) * self.pitch;
        (lanes * size_of::<L>()).div_ceil(8)
    }
}

/// Some columns of a picture.
struct Part<'a, S> {
    picture: Matrix<'a, S>,
    start: usize,
    columns: usize,
    radius: usize,
    down: bool,
}

impl<S: Sample> Part<'_, S> {
    /// The samples of a row that are looked at, and what lies outside.
    fn load<L: Lane<S>>(&self, isa: Isa, row: usize, to: &mut [L]) {
        let row = self.picture.row(row);
        let first = self.start.saturating_sub(self.radius);
        let end = row.len().min(self.start + self.columns + self.radius);
        let before = first + self.radius - self.start;
        let (outside, rest) = to.split_at_mut(before);
        let (inside, beyond) = rest.split_at_mut(end - first);
        outside.fill(L::LEAST);
        convert::<S, L>(isa, &row[first..end], self.down, inside);
        beyond.fill(L::LEAST);
    }
}

versions! {
    fn convert<S: Sample, L: Lane<S>>(samples: &[S], down: bool, lanes: &mut [L]) {
        for (sample, lane) in samples.iter().zip(lanes) {
            *lane = L::of(*sample, down);
        }
    }
}

versions! {
    fn finish<S: Sample, L: Lane<S>>(lanes: &[L], highest: i32, down: bool, samples: &mut [S]) {
        for (sample, lane) in samples.iter_mut().zip(lanes) {
            *sample = lane.sample(highest, down);
        }
    }
}

versions! {
    /// The greatest sums of a row's samples; results are whole groups.
    fn take_one<S: Sample, L: Lane<S>>(row: &[L], taps: &[Tap<L::Tap, 1>], out: &mut [L]) {
        match size_of::<L>() {
            1 => one_of::<S, L, GROUP>(row, taps, out),
            2 => one_of::<S, L, { GROUP / 2 }>(row, taps, out),
            _ => one_of::<S, L, { GROUP / 4 }>(row, taps, out),
        }
    }
}

#[inline(always)]
fn one_of<S, L: Lane<S>, const N: usize>(row: &[L], taps: &[Tap<L::Tap, 1>], out: &mut [L]) {
    for (group, out) in out.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        let mut most = [L::LEAST; N];
        for tap in taps {
            add::<S, L, N>(&mut most, &row[group * N + tap.column..][..N], tap.heights[0]);
        }
        *out = most;
    }
}

versions! {
    /// The greatest sums of two rows of results, whole groups.
    fn take_two<S: Sample, L: Lane<S>>(
        rows: &[&[L]; MOST],
        first: &[Tap<L::Tap, 1>],
        both: &[Tap<L::Tap, 2>],
        second: &[Tap<L::Tap, 1>],
        one: &mut [L],
        other: &mut [L],
    ) {
        match size_of::<L>() {
            1 => two_of::<S, L, GROUP>(rows, first, both, second, one, other),
            2 => two_of::<S, L, { GROUP / 2 }>(rows, first, both, second, one, other),
            _ => two_of::<S, L, { GROUP / 4 }>(rows, first, both, second, one, other),
        }
    }
}

#[inline(always)]
fn two_of<S, L: Lane<S>, const N: usize>(
    rows: &[&[L]; MOST],
    first: &[Tap<L::Tap, 1>],
    both: &[Tap<L::Tap, 2>],
    second: &[Tap<L::Tap, 1>],
    one: &mut [L],
    other: &mut [L],
) {
    let groups = one.as_chunks_mut::<N>().0.iter_mut();
    for (group, (one, other)) in groups.zip(other.as_chunks_mut::<N>().0).enumerate() {
        let samples = |row: usize, column: usize| &rows[row][group * N + column..][..N];
        let (mut most, mut below) = ([L::LEAST; N], [L::LEAST; N]);
        for tap in first {
            add::<S, L, N>(&mut most, samples(tap.row, tap.column), tap.heights[0]);
        }
        // rung: morphology on cpu: vectors
        for tap in both {
            let samples = samples(tap.row, tap.column);
            add::<S, L, N>(&mut most, samples, tap.heights[0]);
            add::<S, L, N>(&mut below, samples, tap.heights[1]);
        }
        // end
        for tap in second {
            add::<S, L, N>(&mut below, samples(tap.row, tap.column), tap.heights[0]);
        }
        *one = most;
        *other = below;
    }
}

#[inline(always)]
fn add<S, L: Lane<S>, const N: usize>(most: &mut [L; N], samples: &[L], height: L::Tap) {
    for k in 0..N {
        most[k] = samples[k].plus(height).greater(most[k]);
    }
}
