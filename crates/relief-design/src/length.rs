//! Lengths: exact decimal numbers with a unit, in pixels.
//!
//! All arithmetic is on integers of picometres, so that `"0.1mm"` at 10 µm per pixel is 10 pixels and not
//! 10.000000000000002. One inch is 25.4 mm.

/// The units and their length in picometres.
pub(crate) const UNITS: [(&str, i128); 6] = [
    ("nm", 1_000),
    ("um", 1_000_000),
    ("mm", 1_000_000_000),
    ("cm", 10_000_000_000),
    ("m", 1_000_000_000_000),
    ("in", 25_400_000_000),
];

/// The most digits before and after the decimal point of a number that must be exact.
pub(crate) const MAX_DIGITS: usize = 18;

/// An exact decimal number: `digits` / 10^`fraction`, both bounded by [`MAX_DIGITS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: i128,
    fraction: u32,
}

impl Decimal {
    /// The number as KDL writes it, or `None` where it has too many digits.
    ///
    /// The text has been checked to be a number.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let plain: String = unsigned.chars().filter(|&c| c != '_').collect();
        let signed = |digits: i128| if negative { -digits } else { digits };
        for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
            if let Some(digits) = plain.strip_prefix(prefix) {
                let digits = i128::from(u64::from_str_radix(digits, radix).ok()?);
                return Some(Self {
                    digits: signed(digits),
                    fraction: 0,
                });
            }
        }
        let (mantissa, exponent) = plain.split_once(['e', 'E']).unwrap_or((&plain, "0"));
        let exponent: i64 = exponent.parse().ok()?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let digits = digits.trim_start_matches('0');
        let kept = digits.trim_end_matches('0');
        if kept.is_empty() {
            return Some(Self {
                digits: 0,
                fraction: 0,
            });
        }
        let scale = exponent
            .checked_sub(i64::try_from(fraction.len()).ok()?)?
            .checked_add(i64::try_from(digits.len() - kept.len()).ok()?)?;
        let limit = MAX_DIGITS as i64;
        if kept.len() > 2 * MAX_DIGITS || scale < -limit || scale.checked_add(kept.len() as i64)? > limit + 2
        {
            return None;
        }
        let digits: i128 = kept.parse().ok()?;
        let raised = 10_i128.checked_pow(u32::try_from(scale.max(0)).ok()?)?;
        Some(Self {
            digits: signed(digits.checked_mul(raised)?),
            fraction: u32::try_from(-scale.min(0)).ok()?,
        })
    }

    /// The number, where it is whole.
    pub(crate) fn integer(self) -> Option<i128> {
        (self.fraction == 0).then_some(self.digits)
    }

    fn denominator(self) -> i128 {
        10_i128.pow(self.fraction)
    }
}

/// A length in pixels that need not be whole: `numerator` / `denominator`, the latter positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pixels {
    numerator: i128,
    denominator: i128,
}

impl Pixels {
    pub(crate) fn of(number: Decimal) -> Self {
        Self {
            numerator: number.digits,
            denominator: number.denominator(),
        }
    }

    /// The pixels of `number` units of `unit` picometres where a pixel has `pixel` picometres. `None` on overflow.
    pub(crate) fn scaled(number: Decimal, unit: i128, pixel: u64) -> Option<Self> {
        Some(Self {
            numerator: number.digits.checked_mul(unit)?,
            denominator: number.denominator().checked_mul(i128::from(pixel))?,
        })
    }

    /// The number of pixels, where it is whole.
    pub(crate) fn whole(self) -> Option<i128> {
        (self.numerator % self.denominator == 0).then(|| self.numerator / self.denominator)
    }

    /// The two nearest whole numbers of pixels: the one below and the one above.
    pub(crate) fn nearest(self) -> (i128, i128) {
        let below = self.numerator.div_euclid(self.denominator);
        (below, below + 1)
    }

    /// The nearest `f64` but for two roundings.
    pub(crate) fn real(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

/// What a text means as a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written<'t> {
    /// A number of pixels.
    Pixels(Decimal),
    /// A number of units of so many picometres.
    Metric(Decimal, &'static str, i128),
    /// A number with something that is no unit.
    UnknownUnit(&'t str),
    /// A number with too many digits.
    TooLong,
    /// No number.
    Nonsense,
}

/// Reads `20mm`, `-1.5 um`, `37px` or `12`.
pub(crate) fn written(text: &str) -> Written<'_> {
    let text = text.trim();
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '+' | '-');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let end = end + exponent(&text[end..]);
    let (number, unit) = (&text[..end], text[end..].trim_start());
    if !is_decimal(number) {
        return Written::Nonsense;
    }
    let Some(number) = Decimal::parse(number) else {
        return Written::TooLong;
    };
    match unit {
        "" | "px" => Written::Pixels(number),
        // The micro sign and the Greek letter look the same.
        "µm" | "μm" => Written::Metric(number, "um", 1_000_000),
        _ => match UNITS.iter().find(|(name, _)| *name == unit) {
            Some(&(name, factor)) => Written::Metric(number, name, factor),
            None => Written::UnknownUnit(unit),
        },
    }
}

/// The bytes of the exponent at the start of the text: `e3`, `E-6`. No unit begins with this letter.
fn exponent(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else {
        return 0;
    };
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    match digits.bytes().take_while(u8::is_ascii_digit).count() {
        0 => 0,
        count => text.len() - digits.len() + count,
    }
}

/// Whether the text is a sign, digits, a fraction and an exponent; `.5` is allowed.
fn is_decimal(text: &str) -> bool {
    let text = text.find(['e', 'E']).map_or(text, |end| &text[..end]);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let are_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let has_digit = |t: &str| t.bytes().any(|b| b.is_ascii_digit());
    are_digits(whole) && are_digits(fraction) && has_digit(unsigned) && has_digit(fraction)
}

/// So many pixels in a unit, written out; in millimetres where the unit would need endless digits.
pub(crate) fn in_unit(pixels: i128, pixel: u64, unit: &str) -> Option<String> {
    let factor = UNITS.iter().find(|(name, _)| *name == unit)?.1;
    let length = pixels.checked_mul(i128::from(pixel))?;
    match decimal_quotient(length, factor) {
        Some(number) => Some(format!("{number}{unit}")),
        None => decimal_quotient(length, 1_000_000_000).map(|number| format!("{number}mm")),
    }
}

/// numerator / denominator in decimal, where that ends within 15 digits after the point.
fn decimal_quotient(numerator: i128, denominator: i128) -> Option<String> {
    let (whole, mut rest) = ((numerator / denominator).abs(), (numerator % denominator).abs());
    let sign = if numerator < 0 { "-" } else { "" };
    let mut fraction = String::new();
    while rest != 0 {
        if fraction.len() == 15 {
            return None;
        }
        rest *= 10;
        fraction.push_str(&(rest / denominator).to_string());
        rest %= denominator;
    }
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(text: &str, pixel: u64) -> Option<i128> {
        match written(text) {
            Written::Pixels(number) => Pixels::of(number).whole(),
            Written::Metric(number, _, unit) => Pixels::scaled(number, unit, pixel)?.whole(),
            _ => None,
        }
    }

    #[test]
    fn every_unit_is_exact() {
        let micrometre = 1_000_000;
        for (text, expected) in [
            ("1in", 25_400),
            ("2.54cm", 25_400),
            ("25.4mm", 25_400),
            ("25400um", 25_400),
            ("25400µm", 25_400),
            ("25400000nm", 25_400),
            ("0.0254m", 25_400),
            ("25400px", 25_400),
            ("25400", 25_400),
            ("-0.001mm", -1),
            (" 7 um ", 7),
            (".5cm", 5_000),
            ("0.1mm", 100),
            ("0.30000mm", 300),
            ("1000000m", 1_000_000_000_000),
            ("4e1um", 40),
            ("1.5E+2 um", 150),
            ("2500e-2", 25),
        ] {
            assert_eq!(pixels(text, micrometre), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_length_is_told_apart() {
        assert_eq!(written("12 miles"), Written::UnknownUnit("miles"));
        for text in ["", "mm", "-", ".", "1.", "1.2.3", "--1", "1-2", "+-3", "_", "one"] {
            assert_eq!(written(text), Written::Nonsense, "{text}");
        }
        assert_eq!(written("0.0000000000000000000000001m"), Written::TooLong);
        assert_eq!(written(&"9".repeat(60)), Written::TooLong);
    }

    #[test]
    fn the_nearest_lengths_lie_below_and_above() {
        let Written::Metric(number, unit, factor) = written("-2.5um") else {
            unreachable!("a metric length")
        };
        let length = Pixels::scaled(number, factor, 1_000_000).unwrap();
        assert_eq!((length.whole(), length.nearest()), (None, (-3, -2)));
        assert_eq!(in_unit(-3, 1_000_000, unit).as_deref(), Some("-3um"));
        assert_eq!(in_unit(1_001, 10_000_000, "mm").as_deref(), Some("10.01mm"));
        assert_eq!(in_unit(1, 10_000_000, "in").as_deref(), Some("0.01mm"));
    }

    #[test]
    fn numbers_are_read_in_every_form_of_kdl() {
        for (text, value) in [
            ("0x1F", 31),
            ("-0b101", -5),
            ("0o17", 15),
            ("1_000", 1_000),
            ("1.5e3", 1_500),
            ("2E+2", 200),
            ("1200e-2", 12),
        ] {
            assert_eq!(
                Decimal::parse(text).and_then(Decimal::integer),
                Some(value),
                "{text}"
            );
        }
        assert_eq!(Decimal::parse("1e-1").and_then(Decimal::integer), None);
        for text in ["1e400", "1e-400", "1e99999999999999999999", "0x1FFFFFFFFFFFFFFFF"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert_eq!(Decimal::parse("0e-400").and_then(Decimal::integer), Some(0));
        assert_eq!(
            Decimal::parse("18446744073709551615").and_then(Decimal::integer),
            Some(u64::MAX.into())
        );
    }
}
