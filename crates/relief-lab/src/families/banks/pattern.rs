//! Access patterns: an index for each unit of a cube, and the type of what it indexes.

use std::fmt;
use std::str::FromStr;

use super::expression::{Expression, SyntaxError};

/// Units of a cube.
pub const UNITS: u32 = 256;

/// Bytes that a pattern may reach: what is left of 16 KiB after the reads that follow.
pub const REACH: u32 = 16_000;

/// Which element each unit of a cube reads. Written `type/width: index`, such as `u8: 8 * t` or
/// `u32/16: 16 * x + y`: u8, u16, u32, u64 or u128, and how many units a row of the cube has, 32 unless said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    index: Expression,
    /// The index as it was written.
    text: String,
    bytes: u32,
    width: u32,
}

/// A text that is no access pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Its index is none.
    #[error(transparent)]
    Index(#[from] SyntaxError),
    /// Its type is none.
    #[error("\"{0}\" is no type: u8, u16, u32, u64 and u128 are, a width of 1 to 256 after a slash")]
    Type(String),
    /// A unit has no index.
    #[error("unit {unit} has no index: it divides by 0, falls below 0 or leaves 32 bits")]
    Undefined {
        /// The first such.
        unit: u32,
    },
    /// A unit's index is too large.
    #[error("unit {unit} reads past {REACH} bytes")]
    Reach {
        /// The first such.
        unit: u32,
    },
}

impl Pattern {
    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Units of a row of the cube.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// The index.
    #[must_use]
    pub const fn index(&self) -> &Expression {
        &self.index
    }

    /// The first byte that a unit of the cube reads.
    #[must_use]
    pub fn address(&self, unit: u32) -> u32 {
        // There is one for every unit, and it is small: that was made sure of.
        self.place(unit).unwrap_or(0) * self.bytes
    }

    fn place(&self, unit: u32) -> Option<u32> {
        self.index.value(unit, unit % self.width, unit / self.width)
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let (element, index) = text.split_once(':').unwrap_or(("u32", text));
        let element = element.trim();
        let wrong = || PatternError::Type(element.to_owned());
        let (kind, width) = element.split_once('/').unwrap_or((element, "32"));
        let bytes = match kind {
            "u8" => 1,
            "u16" => 2,
            "u32" => 4,
            "u64" => 8,
            "u128" => 16,
            _ => return Err(wrong()),
        };
        let width = width.parse().ok().filter(|width| (1..=UNITS).contains(width));
        let pattern = Self {
            index: Expression::parse(index)?,
            text: index.trim().to_owned(),
            bytes,
            width: width.ok_or_else(wrong)?,
        };
        for unit in 0..UNITS {
            let place = pattern.place(unit).ok_or(PatternError::Undefined { unit })?;
            if place >= REACH / bytes {
                return Err(PatternError::Reach { unit });
            }
        }
        Ok(pattern)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "u{}", 8 * self.bytes)?;
        if self.width != 32 {
            write!(f, "/{}", self.width)?;
        }
        write!(f, ": {}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read_and_shown_alike() {
        for text in ["u8: 8 * t", "u32: 33 * x + y", "u16/16: (x + y) % 16", "u128: t"] {
            let pattern: Pattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), text);
        }
        assert_eq!("t".parse::<Pattern>().unwrap().to_string(), "u32: t");
    }

    #[test]
    fn the_units_of_a_cube_stand_in_rows() {
        let pattern: Pattern = "u16/100: 1000 * y + x".parse().unwrap();
        assert_eq!(pattern.address(0), 0);
        assert_eq!(pattern.address(99), 198);
        assert_eq!(pattern.address(201), 2 * 2_001);
    }

    #[test]
    fn patterns_that_some_unit_cannot_follow_are_refused() {
        let error = |text: &str| text.parse::<Pattern>().unwrap_err();
        assert_eq!(error("t - 1"), PatternError::Undefined { unit: 0 });
        assert_eq!(error("8 / (t % 7)"), PatternError::Undefined { unit: 0 });
        assert_eq!(error("u32: 100 * t"), PatternError::Reach { unit: 40 });
        assert_eq!(error("u128: 5 * t"), PatternError::Reach { unit: 200 });
        for text in ["f32: t", "u32/0: t", "u32/257: t", "u32/: t", ": t", "u8 t"] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
        assert!(error("u24: t").to_string().contains("\"u24\" is no type"));
    }
}
