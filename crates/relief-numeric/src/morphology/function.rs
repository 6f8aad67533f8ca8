//! Structuring functions.

use super::{MAX_HEIGHT, MAX_RADIUS, Operator};

/// Why there is no such structuring function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FunctionError {
    /// It reaches too far.
    #[error("a structuring function of radius {radius}; at most {MAX_RADIUS} is possible")]
    Radius {
        /// The radius asked for.
        radius: u32,
    },
    /// There are not as many heights as its square, or its axis, has places.
    #[error("a structuring function of radius {radius} has {expected} heights here, not {found}")]
    Count {
        /// Its radius.
        radius: u32,
        /// Places.
        expected: usize,
        /// Heights given.
        found: usize,
    },
    /// A height is none, infinite, or that of an integer more than [`MAX_HEIGHT`] from 0.
    #[error("height {place} of a structuring function is beyond what heights may be")]
    Height {
        /// Which of those given.
        place: usize,
    },
    /// It has no height anywhere.
    #[error("a structuring function without a height")]
    Empty,
}

/// Heights of structuring functions: `i32` for samples of integers, at most [`MAX_HEIGHT`] from 0; `f32` for `f32`, finite. It is sealed.
pub trait Height:
    crate::sealed::Sealed + Copy + PartialEq + PartialOrd + std::fmt::Debug + Send + Sync + 'static
{
    /// What stands for none: lower than any sample and sum.
    #[doc(hidden)]
    const ABSENT: Self;
    /// The height of what is flat.
    #[doc(hidden)]
    const ZERO: Self;
    /// Whether it may be one.
    #[doc(hidden)]
    fn is_allowed(self) -> bool;
    /// The sum of two; with none it is none.
    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;
    /// Their difference, of two that there are.
    #[doc(hidden)]
    fn minus(self, other: Self) -> Self;
    /// −steepness · s².
    #[doc(hidden)]
    fn parabola(steepness: Self, s: i32) -> Self;
}

impl Height for i32 {
    // With three heights and a sample still less than 0, and far from any overflow.
    const ABSENT: Self = -(1 << 20);
    const ZERO: Self = 0;

    fn is_allowed(self) -> bool {
        (-MAX_HEIGHT..=MAX_HEIGHT).contains(&self)
    }

    fn plus(self, other: Self) -> Self {
        if self == Self::ABSENT || other == Self::ABSENT {
            Self::ABSENT
        } else {
            self + other
        }
    }

    fn minus(self, other: Self) -> Self {
        self - other
    }

    fn parabola(steepness: Self, s: i32) -> Self {
        steepness.saturating_mul(-(s * s)).max(-MAX_HEIGHT - 1)
    }
}

impl Height for f32 {
    const ABSENT: Self = Self::NEG_INFINITY;
    const ZERO: Self = 0.0;

    fn is_allowed(self) -> bool {
        self.is_finite()
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn minus(self, other: Self) -> Self {
        self - other
    }

    fn parabola(steepness: Self, s: i32) -> Self {
        -steepness * (s * s) as Self
    }
}

/// A structuring function: heights on a square around the origin, at some places of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StructuringFunction<H> {
    radius: u32,
    form: Form<H>,
}

#[derive(Clone, Debug, PartialEq)]
enum Form<H> {
    /// Row after row from the top left.
    Square(Vec<H>),
    /// b(s, t) = across(s) + down(t).
    Sum { across: Vec<H>, down: Vec<H> },
}

impl<H: Height> StructuringFunction<H> {
    /// The function of (2 `radius` + 1)² heights, row after row from the top left, `None` where there is none.
    ///
    /// # Errors
    /// Where the radius exceeds [`MAX_RADIUS`], the number of heights is another, one of them is not allowed, or there is none.
    pub fn new(radius: u32, heights: &[Option<H>]) -> Result<Self, FunctionError> {
        let side = side(radius)?;
        let heights = allowed(radius, side * side, heights)?;
        Ok(Self {
            radius,
            form: Form::Square(heights),
        })
    }

    /// The function b(s, t) = `across`(s) + `down`(t) of column s and row t, which takes far fewer operations; each of 2 `radius` + 1
    /// heights.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn separable(radius: u32, across: &[Option<H>], down: &[Option<H>]) -> Result<Self, FunctionError> {
        let side = side(radius)?;
        let across = allowed(radius, side, across)?;
        let down = allowed(radius, side, down)?;
        Ok(Self {
            radius,
            form: Form::Sum { across, down },
        })
    }

    /// 0 on the whole square: the dilation and the erosion of [`stencil`](crate::stencil), which are faster.
    ///
    /// # Errors
    /// Where the radius exceeds [`MAX_RADIUS`].
    pub fn flat(radius: u32) -> Result<Self, FunctionError> {
        let heights = vec![Some(H::ZERO); side(radius)?];
        Self::separable(radius, &heights, &heights)
    }

    /// b(s, t) = −`steepness` · (s² + t²): the structuring function of quadratic envelopes and of distances, separable.
    ///
    /// # Errors
    /// Where the radius exceeds [`MAX_RADIUS`] or heights are not allowed.
    pub fn paraboloid(radius: u32, steepness: H) -> Result<Self, FunctionError> {
        let reach = side(radius)? as i32 / 2;
        let heights: Vec<_> = (-reach..=reach)
            .map(|s| Some(H::parabola(steepness, s)))
            .collect();
        Self::separable(radius, &heights, &heights)
    }

    /// The same function as the sum of one of the column and one of the row, where it is that exactly.
    #[must_use]
    pub fn separated(&self) -> Option<Self> {
        let Form::Square(heights) = &self.form else {
            return Some(self.clone());
        };
        let side = 2 * self.radius as usize + 1;
        let place = heights.iter().position(|height| *height != H::ABSENT)?;
        let (column, row) = (place % side, place / side);
        let across = heights[row * side..][..side].to_vec();
        let down: Vec<H> = heights[column..]
            .iter()
            .step_by(side)
            .map(|height| match *height == H::ABSENT {
                true => H::ABSENT,
                false => height.minus(heights[place]),
            })
            .collect();
        let given = |height: H| height == H::ABSENT || height.is_allowed();
        let is_sum = heights.iter().enumerate().all(|(place, height)| {
            let (across, down) = (across[place % side], down[place / side]);
            across.plus(down) == *height && given(down)
        });
        is_sum.then_some(Self {
            radius: self.radius,
            form: Form::Sum { across, down },
        })
    }

    /// How far it reaches, in pixels.
    #[must_use]
    pub const fn radius(&self) -> u32 {
        self.radius
    }

    /// Whether it was made as a sum of one function of the column and one of the row.
    #[must_use]
    pub const fn is_separable(&self) -> bool {
        matches!(self.form, Form::Sum { .. })
    }

    /// The height `s` columns right of the origin and `t` rows below it.
    #[must_use]
    pub fn height(&self, s: i32, t: i32) -> Option<H> {
        let reach = self.radius as i32;
        if s.unsigned_abs() > self.radius || t.unsigned_abs() > self.radius {
            return None;
        }
        let (column, row) = ((s + reach) as usize, (t + reach) as usize);
        let height = match &self.form {
            Form::Square(heights) => heights[row * (2 * reach as usize + 1) + column],
            Form::Sum { across, down } => across[column].plus(down[row]),
        };
        (height != H::ABSENT).then_some(height)
    }

    /// What an operator adds to the samples around a pixel, as a dilation does of the picture that it sees.
    pub(crate) fn taps(&self, operator: Operator) -> Taps<H> {
        // f(x − t) is the sample at −t; an erosion's are at t.
        let order = |heights: &[H]| match operator {
            Operator::Dilation => heights.iter().rev().copied().collect(),
            Operator::Erosion => heights.to_vec(),
        };
        match &self.form {
            Form::Square(heights) => Taps::Square(order(heights)),
            Form::Sum { across, down } => Taps::Sum {
                across: order(across),
                down: order(down),
            },
        }
    }
}

/// Heights by the place of the sample, from the top left of the square.
pub(crate) enum Taps<H> {
    Square(Vec<H>),
    Sum { across: Vec<H>, down: Vec<H> },
}

fn side(radius: u32) -> Result<usize, FunctionError> {
    if radius > MAX_RADIUS {
        return Err(FunctionError::Radius { radius });
    }
    Ok(2 * radius as usize + 1)
}

fn allowed<H: Height>(radius: u32, expected: usize, heights: &[Option<H>]) -> Result<Vec<H>, FunctionError> {
    let found = heights.len();
    if found != expected {
        return Err(FunctionError::Count {
            radius,
            expected,
            found,
        });
    }
    if heights.iter().all(Option::is_none) {
        return Err(FunctionError::Empty);
    }
    let check = |(place, height): (usize, &Option<H>)| match height {
        None => Ok(H::ABSENT),
        Some(height) if height.is_allowed() => Ok(*height),
        Some(_) => Err(FunctionError::Height { place }),
    };
    heights.iter().enumerate().map(check).collect()
}
