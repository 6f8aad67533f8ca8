//! The operations of expressions, on blocks of numbers.

use super::Block;

/// The numbers of a block, on which an operation is done at once.
pub const LANES: usize = 32;

/// The operations that one on a slow argument counts for beyond its own.
pub(super) const SLOW: u64 = 360;

/// The operations that a power of an exponent that is not quick counts for beyond its own.
const GENERAL_POWER: u64 = 72;

/// Above this, `libm` reduces the argument of a sine with hundreds of bits of π.
const GREAT_ANGLE: f64 = 1_048_576.0;

/// Operations on one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unary {
    Negate,
    Sine,
    Cosine,
    Tangent,
    ArcSine,
    ArcCosine,
    ArcTangent,
    Root,
    Exponential,
    Logarithm,
    BinaryLogarithm,
    DecimalLogarithm,
    Absolute,
    Sign,
    Floor,
    Ceiling,
    Round,
}

impl Unary {
    /// Those that have a name in an expression.
    pub(crate) const ALL: [Self; 16] = [
        Self::Sine,
        Self::Cosine,
        Self::Tangent,
        Self::ArcSine,
        Self::ArcCosine,
        Self::ArcTangent,
        Self::Root,
        Self::Exponential,
        Self::Logarithm,
        Self::BinaryLogarithm,
        Self::DecimalLogarithm,
        Self::Absolute,
        Self::Sign,
        Self::Floor,
        Self::Ceiling,
        Self::Round,
    ];

    /// Its name, or its sign.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Negate => "-",
            Self::Sine => "sin",
            Self::Cosine => "cos",
            Self::Tangent => "tan",
            Self::ArcSine => "asin",
            Self::ArcCosine => "acos",
            Self::ArcTangent => "atan",
            Self::Root => "sqrt",
            Self::Exponential => "exp",
            Self::Logarithm => "ln",
            Self::BinaryLogarithm => "log2",
            Self::DecimalLogarithm => "log10",
            Self::Absolute => "abs",
            Self::Sign => "sign",
            Self::Floor => "floor",
            Self::Ceiling => "ceil",
            Self::Round => "round",
        }
    }

    /// What it computes, for the reference.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Negate => "−a",
            Self::Sine => "the sine of a radians",
            Self::Cosine => "the cosine of a radians",
            Self::Tangent => "the tangent of a radians",
            Self::ArcSine => "the angle in radians whose sine is a, −π/2 to π/2; none beyond −1 and 1",
            Self::ArcCosine => "the angle in radians whose cosine is a, 0 to π; none beyond −1 and 1",
            Self::ArcTangent => "the angle in radians whose tangent is a, −π/2 to π/2",
            Self::Root => "√a; none below 0",
            Self::Exponential => "e^a",
            Self::Logarithm => "the natural logarithm; none below 0",
            Self::BinaryLogarithm => "the logarithm to base 2; none below 0",
            Self::DecimalLogarithm => "the logarithm to base 10; none below 0",
            Self::Absolute => "a without its sign",
            Self::Sign => "−1, 0 or 1, as a is below, at or above 0",
            Self::Floor => "the greatest whole number that is at most a",
            Self::Ceiling => "the least whole number that is at least a",
            Self::Round => "the nearest whole number, halves away from 0",
        }
    }

    /// What it counts for: about the quarters of a nanosecond that it takes.
    pub(super) const fn operations(self) -> u64 {
        match self {
            Self::Negate | Self::Absolute => 3,
            Self::Root | Self::Sign => 6,
            Self::Floor | Self::Ceiling | Self::Round => 10,
            Self::Tangent => 36,
            _ => 24,
        }
    }

    /// What it counts for beyond that with these arguments.
    pub(super) fn extra(self, arguments: &Block) -> u64 {
        let periodic = matches!(self, Self::Sine | Self::Cosine | Self::Tangent);
        if periodic && arguments.iter().any(|angle| angle.abs() > GREAT_ANGLE) {
            return SLOW * LANES as u64;
        }
        0
    }

    pub(super) fn apply(self, values: &mut Block) {
        match self {
            Self::Negate => each(values, |a| -a),
            Self::Sine => each(values, libm::sin),
            Self::Cosine => each(values, libm::cos),
            Self::Tangent => each(values, libm::tan),
            Self::ArcSine => each(values, libm::asin),
            Self::ArcCosine => each(values, libm::acos),
            Self::ArcTangent => each(values, libm::atan),
            Self::Root => each(values, f64::sqrt),
            Self::Exponential => each(values, libm::exp),
            Self::Logarithm => each(values, libm::log),
            Self::BinaryLogarithm => each(values, libm::log2),
            Self::DecimalLogarithm => each(values, libm::log10),
            Self::Absolute => each(values, f64::abs),
            Self::Sign => each(values, sign),
            Self::Floor => each(values, f64::floor),
            Self::Ceiling => each(values, f64::ceil),
            Self::Round => each(values, f64::round),
        }
    }
}

/// Operations on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Min,
    Max,
    Modulo,
    Angle,
}

impl Binary {
    /// Those that have a name in an expression.
    pub(crate) const NAMED: [Self; 4] = [Self::Min, Self::Max, Self::Modulo, Self::Angle];

    /// Its name, or its sign.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Power => "^",
            Self::Min => "min",
            Self::Max => "max",
            Self::Modulo => "mod",
            Self::Angle => "atan2",
        }
    }

    /// What it computes, for the reference.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Add => "a + b",
            Self::Subtract => "a − b",
            Self::Multiply => "a · b",
            Self::Divide => "a / b",
            Self::Power => "a to the power of b",
            Self::Min => "the lesser of the two; a where they are equal, as −0 and 0 are",
            Self::Max => "the greater of the two; a where they are equal",
            Self::Modulo => "a − b·⌊a / b⌋: what is left of a beyond whole multiples of b",
            Self::Angle => {
                "the angle in radians of the point with the abscissa b and the ordinate a, −π to π"
            }
        }
    }

    /// What it counts for: about the quarters of a nanosecond that it takes.
    pub(super) const fn operations(self) -> u64 {
        match self {
            Self::Power => 20,
            Self::Modulo => 19,
            Self::Angle => 48,
            Self::Min | Self::Max => 6,
            _ => 3,
        }
    }

    /// What it counts for beyond that with these second operands.
    pub(super) fn extra(self, right: &Block) -> u64 {
        // `libm` has its own, quick routes for these exponents.
        let quick = |exponent: &f64| [1.0, 2.0, -1.0, 0.5].contains(exponent);
        if self == Self::Power && !right.iter().all(quick) {
            return GENERAL_POWER * LANES as u64;
        }
        0
    }

    pub(super) fn apply(self, left: &mut Block, right: &Block) {
        match self {
            Self::Add => both(left, right, |a, b| a + b),
            Self::Subtract => both(left, right, |a, b| a - b),
            Self::Multiply => both(left, right, |a, b| a * b),
            Self::Divide => both(left, right, |a, b| a / b),
            Self::Power => both(left, right, libm::pow),
            Self::Min => both(left, right, lesser),
            Self::Max => both(left, right, greater),
            Self::Modulo => both(left, right, |a, b| a - b * (a / b).floor()),
            Self::Angle => both(left, right, libm::atan2),
        }
    }
}

fn each(values: &mut Block, operation: impl Fn(f64) -> f64) {
    for value in values {
        *value = operation(*value);
    }
}

fn both(left: &mut Block, right: &Block, operation: impl Fn(f64, f64) -> f64) {
    for (a, b) in left.iter_mut().zip(right) {
        *a = operation(*a, *b);
    }
}

/// The lesser, the first where they are equal, as −0 and 0 are; not a number where one of them is none. `f64::min` leaves
/// the sign of such a zero to the processor.
fn lesser(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if b < a {
        b
    } else {
        a
    }
}

fn greater(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if b > a {
        b
    } else {
        a
    }
}

fn sign(a: f64) -> f64 {
    if a > 0.0 {
        1.0
    } else if a < 0.0 {
        -1.0
    } else {
        a
    }
}

/// Whether one of the values is so small that it has fewer digits than others.
pub(super) fn has_subnormal(values: &Block) -> bool {
    // A count instead of a search, because the compiler turns it into vector instructions.
    let count: u64 = values
        .iter()
        .map(|value| u64::from((value.abs() < f64::MIN_POSITIVE) & (*value != 0.0)))
        .sum();
    count > 0
}
