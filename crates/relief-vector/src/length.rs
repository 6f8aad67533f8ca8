//! The side of a pixel.

/// The side of a pixel, an exact fraction of a metre.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixel {
    numerator: u64,
    denominator: u64,
}

impl Pixel {
    /// `numerator` / `denominator` metres; `None` where one of them is 0.
    #[must_use]
    pub const fn metres(numerator: u64, denominator: u64) -> Option<Self> {
        if numerator == 0 || denominator == 0 {
            return None;
        }
        let common = gcd(numerator as u128, denominator as u128) as u64;
        Some(Self {
            numerator: numerator / common,
            denominator: denominator / common,
        })
    }

    /// The pixel of `dpi` pixels an inch.
    #[must_use]
    pub const fn dpi(dpi: u32) -> Option<Self> {
        Self::metres(254, dpi as u64 * 10_000)
    }

    /// One of so many equal parts of the side; `None` where there are none, or the numbers are too large.
    #[must_use]
    pub const fn divided(&self, parts: u64) -> Option<Self> {
        match self.denominator.checked_mul(parts) {
            Some(denominator) => Self::metres(self.numerator, denominator),
            None => None,
        }
    }

    /// The pixels in `numerator` / `denominator` metres, in lowest terms; `None` where the numbers are too large.
    #[must_use]
    pub const fn pixels_in(&self, numerator: u64, denominator: u64) -> Option<(u128, u128)> {
        let Some(above) = (numerator as u128).checked_mul(self.denominator as u128) else {
            return None;
        };
        let Some(below) = (denominator as u128).checked_mul(self.numerator as u128) else {
            return None;
        };
        if below == 0 {
            return None;
        }
        let common = gcd(above, below);
        Some((above / common, below / common))
    }

    /// The pixels in a metre, rounded to binary64.
    #[must_use]
    pub fn per_metre(&self) -> f64 {
        self.denominator as f64 / self.numerator as f64
    }
}

pub(crate) const fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    if a == 0 { 1 } else { a }
}
