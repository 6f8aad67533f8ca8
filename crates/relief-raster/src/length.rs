//! Exact lengths.

use std::fmt;

/// The picometres in a metre.
const PICOMETRES: u64 = 1_000_000_000_000;

/// A length above 0: an exact fraction of a metre, in lowest terms.
///
/// The side of a pixel is one. At 1 200 pixels an inch it is 127 / 6 000 000 m, which no number of picometres says.
///
/// ```
/// use relief_raster::Length;
///
/// let side = Length::dpi(1_200).unwrap();
/// assert_eq!(side.terms(), (127, 6_000_000));
/// assert_eq!(side.nearest_picometres(), 21_166_667);
/// assert_eq!(side.to_string(), "21.167 µm");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Length {
    numerator: u64,
    denominator: u64,
}

impl Length {
    /// `numerator` / `denominator` metres; `None` where one of them is 0.
    #[must_use]
    pub const fn metres(numerator: u64, denominator: u64) -> Option<Self> {
        if numerator == 0 || denominator == 0 {
            return None;
        }
        let (mut a, mut b) = (numerator, denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Some(Self {
            numerator: numerator / a,
            denominator: denominator / a,
        })
    }

    /// So many picometres; `None` for 0.
    #[must_use]
    pub const fn picometres(count: u64) -> Option<Self> {
        Self::metres(count, PICOMETRES)
    }

    /// The side of a pixel where an inch has so many; `None` for 0 and for more than a fraction of 64 bits can say.
    #[must_use]
    pub const fn dpi(dpi: u64) -> Option<Self> {
        match dpi.checked_mul(10_000) {
            Some(denominator) => Self::metres(254, denominator),
            None => None,
        }
    }

    /// Numerator and denominator of the fraction of a metre, in lowest terms. Neither is 0.
    #[must_use]
    pub const fn terms(self) -> (u64, u64) {
        (self.numerator, self.denominator)
    }

    /// In metres, as near as binary64 comes where both terms are below 2^53.
    #[must_use]
    pub fn to_metres(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The nearest number of picometres, halves up, at most 2^64 − 1.
    #[must_use]
    pub const fn nearest_picometres(self) -> u64 {
        let (above, below) = (
            self.numerator as u128 * PICOMETRES as u128,
            self.denominator as u128,
        );
        let nearest = (2 * above + below) / (2 * below);
        if nearest > u64::MAX as u128 {
            u64::MAX
        } else {
            nearest as u64
        }
    }

    /// The number of picometres, where it is whole and has 64 bits.
    #[must_use]
    pub const fn whole_picometres(self) -> Option<u64> {
        if !PICOMETRES.is_multiple_of(self.denominator) {
            return None;
        }
        self.numerator.checked_mul(PICOMETRES / self.denominator)
    }
}

/// As people read it: three digits after the point and a metric unit.
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metres = self.to_metres();
        let (factor, unit) = match metres {
            metres if metres < 1e-9 => (1e12, "pm"),
            metres if metres < 1e-6 => (1e9, "nm"),
            metres if metres < 1e-3 => (1e6, "µm"),
            metres if metres < 1.0 => (1e3, "mm"),
            _ => (1.0, "m"),
        };
        let value = format!("{:.3}", metres * factor);
        write!(f, "{} {unit}", value.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_in_lowest_terms_and_above_zero() {
        assert_eq!(Length::metres(6, 4), Length::metres(3, 2));
        assert_eq!(Length::metres(0, 4), None);
        assert_eq!(Length::metres(4, 0), None);
        assert_eq!(Length::dpi(u64::MAX), None);
        assert_eq!(Length::dpi(254), Length::picometres(100_000_000));
    }

    #[test]
    fn picometres_are_rounded_halves_up() {
        let of = |n, d| Length::metres(n, d).unwrap();
        assert_eq!(of(1, 1_000_000_000_000).nearest_picometres(), 1);
        assert_eq!(of(1, 2_000_000_000_000).nearest_picometres(), 1);
        assert_eq!(of(1, 3_000_000_000_000).nearest_picometres(), 0);
        assert_eq!(of(u64::MAX, 1).nearest_picometres(), u64::MAX);
        assert_eq!(of(1, 3).whole_picometres(), None);
        assert_eq!(of(1, 8).whole_picometres(), Some(125_000_000_000));
        assert_eq!(of(u64::MAX, 1).whole_picometres(), None);
    }

    #[test]
    fn lengths_are_shown_with_a_unit_that_fits() {
        for (picometres, shown) in [
            (7, "7 pm"),
            (500_000, "500 nm"),
            (10_000_000, "10 µm"),
            (1_234_567_890, "1.235 mm"),
            (1_800_000_000_000, "1.8 m"),
        ] {
            assert_eq!(Length::picometres(picometres).unwrap().to_string(), shown);
        }
    }
}
