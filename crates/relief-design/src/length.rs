//! Lengths: exact decimal numbers and fractions with a unit, in pixels.
//!
//! All arithmetic is on fractions of integers, so that `"0.1mm"` at 10 µm per pixel is 10 pixels and not
//! 10.000000000000002, and `"1in"` at 1 200 pixels an inch is 1 200. One inch is 25.4 mm, one point a 72nd of it.

use std::fmt;

use relief_raster::{Length, Rect};

/// The units and their length in picometres, a fraction.
pub(crate) const UNITS: [(&str, (i128, i128)); 9] = [
    ("pm", (1, 1)),
    ("nm", (1_000, 1)),
    ("um", (1_000_000, 1)),
    ("mm", (1_000_000_000, 1)),
    ("cm", (10_000_000_000, 1)),
    ("m", (1_000_000_000_000, 1)),
    ("in", (25_400_000_000, 1)),
    ("mil", (25_400_000, 1)),
    ("pt", (25_400_000_000, 72)),
];

/// What to write for a unit that no length of a design has; a part of a sentence.
pub(crate) fn foreign_unit(unit: &str) -> Option<&'static str> {
    // A capital is another prefix, and Å no a.
    let hint = match unit {
        "km" => "a kilometre is 1000m",
        "hm" => "a hectometre is 100m",
        "dm" => "a decimetre is 10cm",
        "Mm" | "MM" => "a millimetre is mm",
        "fm" => "the smallest unit is pm",
        "Å" | "A" | "angstrom" => "an angstrom is 0.1nm",
        "µ" | "μ" | "u" | "mu" | "mc" | "mic" | "micron" | "microns" | "micrometre" | "micrometer"
        | "micrometres" | "micrometers" | "mkm" | "mcm" => "a micrometre is um",
        "nanometre" | "nanometer" | "nanometres" | "nanometers" => "a nanometre is nm",
        "millimetre" | "millimeter" | "millimetres" | "millimeters" => "a millimetre is mm",
        "centimetre" | "centimeter" | "centimetres" | "centimeters" => "a centimetre is cm",
        "metre" | "meter" | "metres" | "meters" => "a metre is m",
        "inch" | "inches" | "\"" | "''" | "″" => "an inch is in",
        "ft" | "foot" | "feet" | "'" => "a foot is 12in",
        "yd" | "yard" | "yards" => "a yard is 36in",
        "thou" | "th" | "mils" => "a thousandth of an inch is mil",
        "point" | "points" | "pts" => "a point is pt, 1/72 inch",
        "pica" | "picas" | "pc" => "a pica is 12pt",
        "pixel" | "pixels" | "dot" | "dots" => "a pixel is px",
        _ => return None,
    };
    Some(hint)
}

/// The picometres in a metre.
const PICOMETRES: i128 = 1_000_000_000_000;

/// The most digits before and after the decimal point of a number that must be exact.
pub(crate) const MAX_DIGITS: usize = 18;

/// An exact decimal number: `digits` / 10^`fraction`, both bounded by [`MAX_DIGITS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: i128,
    fraction: u32,
}

impl Decimal {
    const ZERO: Self = Self {
        digits: 0,
        fraction: 0,
    };
    const ONE: Self = Self {
        digits: 1,
        fraction: 0,
    };

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

    fn ratio(self) -> Ratio {
        Ratio {
            numerator: self.digits,
            denominator: 10_i128.pow(self.fraction),
        }
    }
}

/// An exact number, which need not be whole: `numerator` / `denominator`, the latter positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ratio {
    numerator: i128,
    denominator: i128,
}

impl Ratio {
    pub(crate) const ZERO: Self = Self::integer(0);

    pub(crate) const fn integer(number: i128) -> Self {
        Self {
            numerator: number,
            denominator: 1,
        }
    }

    /// `numerator` / `denominator`, the latter above 0.
    pub(crate) const fn fraction(numerator: i128, denominator: i128) -> Self {
        Self {
            numerator,
            denominator,
        }
    }

    pub(crate) fn of(number: Decimal) -> Self {
        number.ratio()
    }

    /// Numerator and denominator in lowest terms.
    pub(crate) fn terms(self) -> (i128, i128) {
        let reduced = self.reduced();
        (reduced.numerator, reduced.denominator)
    }

    /// In lowest terms.
    fn reduced(self) -> Self {
        let common = common(self.numerator, self.denominator);
        Self {
            numerator: self.numerator / common,
            denominator: self.denominator / common,
        }
    }

    /// The product, in lowest terms. `None` where a term of it does not fit.
    pub(crate) fn times(self, other: Self) -> Option<Self> {
        let (a, b) = (self.reduced(), other.reduced());
        let (first, second) = (
            common(a.numerator, b.denominator),
            common(b.numerator, a.denominator),
        );
        Some(Self {
            numerator: (a.numerator / first).checked_mul(b.numerator / second)?,
            denominator: (a.denominator / second).checked_mul(b.denominator / first)?,
        })
    }

    /// The quotient, in lowest terms. `None` where a term of it does not fit, and for a divisor of 0.
    pub(crate) fn over(self, other: Self) -> Option<Self> {
        if other.numerator == 0 {
            return None;
        }
        let sign = other.numerator.signum();
        self.times(Self {
            numerator: other.denominator.checked_mul(sign)?,
            denominator: other.numerator.checked_mul(sign)?,
        })
    }

    /// The sum, in lowest terms. `None` where a term of it does not fit.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        if self.denominator == 1 && other.denominator == 1 {
            return Some(Self::integer(self.numerator.checked_add(other.numerator)?));
        }
        let (a, b) = (self.reduced(), other.reduced());
        let common = common(a.denominator, b.denominator);
        let (left, right) = (b.denominator / common, a.denominator / common);
        let numerator = a
            .numerator
            .checked_mul(left)?
            .checked_add(b.numerator.checked_mul(right)?)?;
        let denominator = a.denominator.checked_mul(left)?;
        Some(
            Self {
                numerator,
                denominator,
            }
            .reduced(),
        )
    }

    /// The difference, as [`plus`](Self::plus).
    pub(crate) fn minus(self, other: Self) -> Option<Self> {
        self.plus(Self {
            numerator: other.numerator.checked_neg()?,
            ..other
        })
    }

    /// The pixels of `number` units of `unit` picometres where a pixel has this side. `None` on overflow.
    pub(crate) fn scaled(number: Self, unit: (i128, i128), pixel: Length) -> Option<Self> {
        // In these terms, which are not the lowest, where they fit: `real` rounds the same as it ever did.
        if let (Some(pixel), 1) = (pixel.whole_picometres(), unit.1)
            && let (Some(numerator), Some(denominator)) = (
                number.numerator.checked_mul(unit.0),
                number.denominator.checked_mul(i128::from(pixel)),
            )
        {
            return Some(Self {
                numerator,
                denominator,
            });
        }
        let (above, below) = pixel.terms();
        number
            .times(Self::fraction(unit.0, unit.1 * PICOMETRES))?
            .times(Self::fraction(i128::from(below), i128::from(above)))
    }

    /// The metres of this number of units. `None` where they are not above 0 or a term of theirs has more than 64 bits.
    pub(crate) fn metres(self, unit: (i128, i128)) -> Option<Length> {
        let metres = self.times(Self::fraction(unit.0, unit.1 * PICOMETRES))?;
        Length::metres(
            u64::try_from(metres.numerator).ok()?,
            u64::try_from(metres.denominator).ok()?,
        )
    }

    /// The number, where it is whole.
    pub(crate) fn whole(self) -> Option<i128> {
        (self.numerator % self.denominator == 0).then(|| self.numerator / self.denominator)
    }

    /// The two nearest whole numbers: the one below and the one above.
    pub(crate) fn nearest(self) -> (i128, i128) {
        let below = self.numerator.div_euclid(self.denominator);
        (below, below + 1)
    }

    /// The nearest whole number, halves up.
    pub(crate) fn rounded(self) -> i128 {
        let below = self.numerator.div_euclid(self.denominator);
        let rest = self.numerator.rem_euclid(self.denominator);
        // Twice the rest may not fit.
        if rest >= self.denominator - rest {
            below + 1
        } else {
            below
        }
    }

    /// How far the nearest whole number lies from it.
    pub(crate) fn distance_to_whole(self) -> f64 {
        let rest = self.numerator.rem_euclid(self.denominator);
        rest.min(self.denominator - rest) as f64 / self.denominator as f64
    }

    /// Whether it is above 0.
    pub(crate) fn is_positive(self) -> bool {
        self.numerator > 0
    }

    /// Whether it is below 0.
    pub(crate) fn is_negative(self) -> bool {
        self.numerator < 0
    }

    /// The nearest `f64`, the even one of two as near.
    pub(crate) fn nearest_real(self) -> f64 {
        let divisor = self.denominator.unsigned_abs();
        let magnitude = self.numerator.unsigned_abs();
        let (mut quotient, mut rest) = (magnitude / divisor, magnitude % divisor);
        let mut shift = 0;
        // More bits than an `f64` has. The divisor is below 2^127, so that twice the rest fits.
        while quotient >> 64 == 0 && rest != 0 {
            rest *= 2;
            let bit = rest >= divisor;
            quotient = quotient * 2 + u128::from(bit);
            rest -= if bit { divisor } else { 0 };
            shift += 1;
        }
        // All bits that are left out together are less than half of the last one that counts, or more: one bit says that there are some.
        let bits = quotient | u128::from(rest != 0);
        let value = libm::ldexp(bits as f64, -shift);
        if self.numerator < 0 { -value } else { value }
    }

    /// The nearest `f64` but for two roundings.
    pub(crate) fn real(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The number for people: three digits after the point, of a number below 1 three that say something, and more where what is no whole number
    /// would look like one.
    pub(crate) fn told(self) -> String {
        if self.denominator == 1 {
            return self.numerator.to_string();
        }
        let real = self.real();
        let looks_whole = |text: &str| !text.contains('.');
        // A number below 1 has zeros before its first digit.
        let zeros = (-libm::log10(real.abs())).clamp(0.0, 300.0) as usize;
        (3 + zeros..20 + zeros)
            .map(|digits| {
                let text = format!("{real:.digits$}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            })
            .find(|text| !looks_whole(text))
            .unwrap_or_else(|| real.to_string())
    }
}

/// The greatest common divisor, at least 1; the second number is positive.
fn common(a: i128, b: i128) -> i128 {
    if a == 0 || a == i128::MIN || b == 1 {
        return if a == 0 { b } else { 1 };
    }
    let (mut a, mut b) = (a.abs(), b);
    // Most are small, and division of 64 bits is several times quicker.
    while b != 0 {
        if let (Ok(small), Ok(other)) = (u64::try_from(a), u64::try_from(b)) {
            return i128::from(common_of_words(small, other));
        }
        (a, b) = (b, a % b);
    }
    a
}

fn common_of_words(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// What a text means as a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written<'t> {
    /// A number of pixels.
    Pixels(Ratio),
    /// A number of units of so many picometres.
    Metric(Ratio, &'static str, (i128, i128)),
    /// A number of hundredths of something else.
    Percent(Ratio),
    /// A number with something that is no unit.
    UnknownUnit(&'t str),
    /// A number with too many digits.
    TooLong,
    /// A fraction that divides by 0.
    ByZero,
    /// No number.
    Nonsense,
}

/// Reads `20mm`, `-1.5 um`, `1/1200in`, `37px`, `50%` or `12`.
pub(crate) fn written(text: &str) -> Written<'_> {
    let text = text.trim();
    let (above, rest) = number_at_start(text);
    if !is_decimal(above) {
        return Written::Nonsense;
    }
    let (below, unit) = match rest.trim_start().strip_prefix('/') {
        None => ("1", rest),
        Some(rest) => number_at_start(rest.trim_start()),
    };
    if !is_decimal(below) {
        return Written::Nonsense;
    }
    let (Some(above), Some(below)) = (Decimal::parse(above), Decimal::parse(below)) else {
        return Written::TooLong;
    };
    let number = if below == Decimal::ONE {
        above.ratio()
    } else if below == Decimal::ZERO {
        return Written::ByZero;
    } else {
        let Some(number) = above.ratio().over(below.ratio()) else {
            return Written::TooLong;
        };
        number
    };
    match unit.trim_start() {
        "" | "px" => Written::Pixels(number),
        "%" => match number.times(Ratio::fraction(1, 100)) {
            Some(number) => Written::Percent(number),
            None => Written::TooLong,
        },
        unit => match metric(unit) {
            Some((name, factor)) => Written::Metric(number, name, factor),
            None => Written::UnknownUnit(unit),
        },
    }
}

/// The unit of this name, with its picometres. The micro sign and the Greek letter look the same.
fn metric(unit: &str) -> Option<(&'static str, (i128, i128))> {
    let unit = match unit {
        "µm" | "μm" => "um",
        unit => unit,
    };
    UNITS.into_iter().find(|(name, _)| *name == unit)
}

/// What a unit after a number makes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Metres {
    /// There is no unit of length.
    NoUnit,
    /// The number has too many digits.
    TooLong,
    /// So many metres, correctly rounded; the unit takes so many bytes.
    Length(f64, usize),
}

/// The metres of `number`, a decimal number without a sign, where `rest` begins with a unit.
pub(crate) fn metres(number: &str, rest: &str) -> Metres {
    let unit = rest.trim_start();
    let end = unit.find(|c: char| !c.is_alphanumeric()).unwrap_or(unit.len());
    let bytes = rest.len() - unit.len() + end;
    let Some((_, factor)) = metric(&unit[..end]) else {
        return Metres::NoUnit;
    };
    // `5.` is a number in expressions only.
    let number = number.strip_suffix('.').unwrap_or(number);
    let metres = Decimal::parse(number).and_then(|number| in_metres(number.ratio(), factor));
    metres.map_or(Metres::TooLong, |metres| Metres::Length(metres, bytes))
}

/// The metres of so many units.
pub(crate) fn in_metres(number: Ratio, (above, below): (i128, i128)) -> Option<f64> {
    let unit = Ratio::fraction(above, below.checked_mul(PICOMETRES)?);
    number.times(unit).map(Ratio::nearest_real)
}

/// A length as a person gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GivenLength {
    /// So many pixels.
    Pixels(f64),
    /// So many metres.
    Metres(f64),
}

/// A length as designs write it, with or without a unit: `20000`, `500mm`, `1/3in`, `2.5 pt`.
///
/// ```
/// use relief_design::{GivenLength, given_length};
///
/// assert_eq!(given_length("1/4in"), Ok(GivenLength::Metres(0.00635)));
/// assert_eq!(given_length("2.5"), Ok(GivenLength::Pixels(2.5)));
/// assert!(given_length("2,5mm").is_err());
/// ```
///
/// # Errors
/// A sentence that says why it is none.
pub fn given_length(text: &str) -> Result<GivenLength, String> {
    match written(text) {
        Written::Pixels(number) => Ok(GivenLength::Pixels(number.real())),
        Written::Metric(number, _, (above, below)) => {
            let metres = number
                .times(Ratio::fraction(above, below))
                .and_then(|picometres| picometres.over(Ratio::integer(PICOMETRES)));
            metres
                .map(|metres| GivenLength::Metres(metres.real()))
                .ok_or_else(|| no_length(text, Written::TooLong))
        }
        other => Err(no_length(text, other)),
    }
}

/// Units of dots along a way, and how many a metre has of one of them.
const DOTS: [(&str, (i128, i128)); 3] = [("lpcm", (100, 1)), ("lpmm", (1_000, 1)), ("lpi", (10_000, 254))];

/// Why a text says no number of dots along a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoFrequency {
    /// It is no number, or has none of the units.
    Nonsense,
    /// It has too many digits.
    TooLong,
    /// It is not above 0.
    OutOfRange,
}

/// Dots a metre, as designs write them: `150lpi`, `60lpcm`.
pub(crate) fn dots_a_metre(text: &str) -> Result<f64, NoFrequency> {
    let text = text.trim();
    let found = DOTS
        .into_iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, (above, below)) = found.ok_or(NoFrequency::Nonsense)?;
    match written(number) {
        Written::Pixels(number) if number.is_positive() => number
            .times(Ratio::fraction(above, below))
            .map(Ratio::real)
            .ok_or(NoFrequency::TooLong),
        Written::Pixels(_) => Err(NoFrequency::OutOfRange),
        Written::TooLong => Err(NoFrequency::TooLong),
        _ => Err(NoFrequency::Nonsense),
    }
}

/// Dots along a way as designs write them, `150lpi`, `60lpcm` or `6lpmm`: how many there are in a metre.
///
/// ```
/// assert_eq!(relief_design::given_frequency("60lpcm"), Ok(6_000.0));
/// assert!(relief_design::given_frequency("150").is_err());
/// ```
///
/// # Errors
/// A sentence that says why it is none.
pub fn given_frequency(text: &str) -> Result<f64, String> {
    dots_a_metre(text).map_err(|why| match why {
        NoFrequency::Nonsense => {
            format!("'{text}' is not a number of dots; such as 150lpi, 60lpcm or 6lpmm is expected")
        }
        NoFrequency::TooLong => format!("'{text}' has too many digits"),
        NoFrequency::OutOfRange => format!("'{text}' is not above 0"),
    })
}

/// Why a text is no length.
fn no_length(text: &str, written: Written<'_>) -> String {
    match written {
        Written::UnknownUnit(unit) if unit.starts_with(',') => {
            format!("'{text}' has a comma; write a point, as in 1.5mm")
        }
        Written::UnknownUnit(unit) => {
            let units: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
            let hint = foreign_unit(unit).map_or(String::new(), |hint| format!("{hint}; "));
            format!(
                "'{unit}' in '{text}' is not a unit; {hint}units are {} px",
                units.join(" ")
            )
        }
        Written::TooLong => format!("'{text}' has too many digits"),
        _ => format!("'{text}' is not a length; a number of pixels or a length such as 20mm is expected"),
    }
}

/// The rectangle of these lengths, each as a design writes it: a number of pixels, or one with a unit where the side of a
/// pixel is known. Its edges are rounded to the nearest pixel, halves up.
///
/// ```
/// use relief_raster::{Length, Rect};
///
/// let found = relief_design::rectangle(["1in", "-5", "10mm", "0.5in"], Length::dpi(1_200));
/// assert_eq!(found, Ok(Rect::new(1_200, -5, 472, 600).unwrap()));
/// assert!(relief_design::rectangle(["1in", "0", "1", "1"], None).is_err());
/// ```
///
/// # Errors
/// Where a text is no length, a length needs a pixel, or there is no such rectangle.
pub fn rectangle(lengths: [&str; 4], pixel: Option<Length>) -> Result<Rect, RectangleError> {
    let exact = |text: &str| match written(text) {
        Written::Pixels(number) => Ok(number),
        Written::Metric(number, unit, factor) => {
            let pixel = pixel.ok_or_else(|| {
                RectangleError::Pixels(format!(
                    "'{text}' is in {unit}, and the canvas does not say how large a pixel is; write it in pixels"
                ))
            })?;
            let digits = || RectangleError::Text(format!("'{text}' has too many digits"));
            Ratio::scaled(number, factor, pixel).ok_or_else(digits)
        }
        other => Err(RectangleError::Text(no_length(text, other))),
    };
    let beyond = || RectangleError::Pixels("it leaves the coordinates that a canvas can have".to_owned());
    let edges = |from: &str, side: &str| {
        let from = exact(from)?;
        let end = from.plus(exact(side)?).ok_or_else(beyond)?;
        let (first, end) = (from.rounded(), end.rounded());
        if end <= first {
            let none = format!("'{side}' leaves no pixel; both sides must be at least 1");
            return Err(RectangleError::Pixels(none));
        }
        let first = i64::try_from(first).map_err(|_| beyond())?;
        let count = u64::try_from(end - i128::from(first)).map_err(|_| beyond())?;
        Ok((first, count))
    };
    let [x, y, width, height] = lengths;
    let ((x, width), (y, height)) = (edges(x, width)?, edges(y, height)?);
    Rect::new(x, y, width, height).ok_or_else(beyond)
}

/// Why lengths are no rectangle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RectangleError {
    /// A text is no length, whatever a pixel is.
    Text(String),
    /// There is no such rectangle with this pixel, or without one.
    Pixels(String),
}

impl fmt::Display for RectangleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Text(why) | Self::Pixels(why)) = self;
        f.write_str(why)
    }
}

impl std::error::Error for RectangleError {}

/// What may be a number, and what follows it.
fn number_at_start(text: &str) -> (&str, &str) {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '+' | '-');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text.split_at(end + exponent(&text[end..]))
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
pub(crate) fn is_decimal(text: &str) -> bool {
    let text = text.find(['e', 'E']).map_or(text, |end| &text[..end]);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let are_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let has_digit = |t: &str| t.bytes().any(|b| b.is_ascii_digit());
    are_digits(whole) && are_digits(fraction) && has_digit(unsigned) && has_digit(fraction)
}

/// So many pixels in a unit, written out; in millimetres where the unit would need endless digits. Nothing where both do.
pub(crate) fn in_unit(pixels: i128, pixel: Length, unit: &str) -> Option<String> {
    let factor = UNITS.iter().find(|(name, _)| *name == unit)?.1;
    let (above, below) = pixel.terms();
    let metres = Ratio::integer(pixels).times(Ratio::fraction(i128::from(above), i128::from(below)))?;
    let picometres = metres.times(Ratio::integer(PICOMETRES))?;
    let of_unit = |(above, below)| decimal(picometres.times(Ratio::fraction(below, above))?);
    match of_unit(factor) {
        Some(number) => Some(format!("{number}{unit}")),
        None => of_unit((1_000_000_000, 1)).map(|number| format!("{number}mm")),
    }
}

/// The number in decimal, where that ends within 15 digits after the point.
pub(crate) fn decimal(number: Ratio) -> Option<String> {
    let Ratio {
        numerator,
        denominator,
    } = number;
    let (whole, mut rest) = ((numerator / denominator).abs(), (numerator % denominator).abs());
    let sign = if numerator < 0 { "-" } else { "" };
    let mut fraction = String::new();
    while rest != 0 {
        if fraction.len() == 15 {
            return None;
        }
        rest = rest.checked_mul(10)?;
        fraction.push_str(&(rest / denominator).to_string());
        rest %= denominator;
    }
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the reader of numbers of the standard library, which rounds correctly.
    #[test]
    fn metres_are_rounded_once() {
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let digits = state >> (state % 60);
            let point = (state >> 7) % 16;
            let number = format!("{digits}e-{point}");
            for (unit, exponent) in [
                ("pm", 12),
                ("nm", 9),
                ("um", 6),
                ("µm", 6),
                ("mm", 3),
                ("cm", 2),
                ("m", 0),
            ] {
                let expected: f64 = format!("{digits}e-{}", point + exponent).parse().unwrap();
                match metres(&number, &format!("{unit} + 1")) {
                    Metres::Length(found, bytes) => {
                        assert_eq!((found, bytes), (expected, unit.len()), "{number}{unit}");
                    }
                    // 18 digits before the point and 18 after.
                    other => assert!(
                        other == Metres::TooLong && digits > 999_999_999_999_999_999,
                        "{number}{unit}"
                    ),
                }
            }
            let inches: f64 = format!("{}e-{}", u128::from(digits) * 254, point + 4)
                .parse()
                .unwrap();
            if let Metres::Length(found, _) = metres(&number, "in") {
                assert_eq!(found, inches, "{number}in");
            }
        }
        for (number, rest) in [
            ("1", ""),
            ("1", " mn"),
            ("2", "px"),
            ("3", "mm2"),
            ("3", "%"),
            ("0", "x10"),
        ] {
            assert_eq!(metres(number, rest), Metres::NoUnit, "{number}{rest}");
        }
        assert_eq!(metres("2.", " pt/3"), Metres::Length(0.0254 / 36.0, 3));
    }

    fn side(picometres: u64) -> Length {
        Length::picometres(picometres).unwrap()
    }

    fn exact(text: &str, pixel: Length) -> Option<Ratio> {
        match written(text) {
            Written::Pixels(number) => Some(number),
            Written::Metric(number, _, unit) => Ratio::scaled(number, unit, pixel),
            _ => None,
        }
    }

    fn pixels(text: &str, pixel: u64) -> Option<i128> {
        exact(text, side(pixel))?.whole()
    }

    #[test]
    fn fractions_and_fine_units_are_exact_at_any_resolution() {
        let pixel = Length::dpi(1_200).unwrap();
        for (text, expected) in [
            ("1in", 1_200),
            ("5mm", 236),
            ("1/1200in", 1),
            ("7 / 600 in", 14),
            ("72pt", 1_200),
            ("6pt", 100),
            ("1000mil", 1_200),
            ("-25400000000pm", -1_200),
            ("1.5/0.5", 3),
            ("0.5/1e-2in", 60_000),
        ] {
            assert_eq!(exact(text, pixel).unwrap().rounded(), expected, "{text}");
        }
        // 5 mm are 60 000 / 254 pixels.
        let five = exact("5mm", pixel).unwrap();
        assert_eq!(
            (five.whole(), five.reduced()),
            (None, Ratio::fraction(30_000, 127))
        );
        assert_eq!(written("1/0mm"), Written::ByZero);
        for text in ["1/", "/2", "1/2/3", "1//2", "1/-"] {
            assert!(!matches!(written(text), Written::Pixels(_)), "{text}");
        }
        assert_eq!(written("12.5%"), Written::Percent(Ratio::fraction(1, 8)));
    }

    #[test]
    fn halves_are_rounded_up() {
        for (n, d, rounded) in [
            (5, 2, 3),
            (-5, 2, -2),
            (7, 3, 2),
            (8, 3, 3),
            (-7, 3, -2),
            (-8, 3, -3),
            (6, 3, 2),
        ] {
            assert_eq!(Ratio::fraction(n, d).rounded(), rounded, "{n}/{d}");
        }
        let large = Ratio::fraction(i128::MAX - 1, i128::MAX);
        assert_eq!((large.rounded(), large.nearest()), (1, (0, 1)));
    }

    /// Sums and products against fractions that are not reduced.
    #[test]
    fn ratios_are_a_field() {
        let numbers = [
            (0, 1),
            (1, 1),
            (-3, 4),
            (22, 6),
            (-127, 6_000),
            (10_i128.pow(18), 7),
        ];
        for (a, b) in numbers {
            for (c, d) in numbers {
                let (first, second) = (Ratio::fraction(a, b), Ratio::fraction(c, d));
                let same = |found: Ratio, n: i128, d: i128| {
                    assert_eq!(found.numerator * d, n * found.denominator, "{a}/{b} {c}/{d}");
                };
                same(first.plus(second).unwrap(), a * d + c * b, b * d);
                same(first.minus(second).unwrap(), a * d - c * b, b * d);
                same(first.times(second).unwrap(), a * c, b * d);
                match first.over(second) {
                    None => assert_eq!(c, 0),
                    Some(quotient) => same(quotient.times(second).unwrap(), a, b),
                }
            }
        }
        assert_eq!(Ratio::integer(i128::MAX).plus(Ratio::integer(1)), None);
        assert_eq!(Ratio::integer(i128::MAX).times(Ratio::integer(2)), None);
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
        let length = Ratio::scaled(number, factor, side(1_000_000)).unwrap();
        assert_eq!((length.whole(), length.nearest()), (None, (-3, -2)));
        assert_eq!(in_unit(-3, side(1_000_000), unit).as_deref(), Some("-3um"));
        assert_eq!(in_unit(1_001, side(10_000_000), "mm").as_deref(), Some("10.01mm"));
        assert_eq!(in_unit(1, side(10_000_000), "in").as_deref(), Some("0.01mm"));
    }

    #[test]
    fn fractions_are_told_by_as_many_digits_as_say_something() {
        for ((above, below), told) in [
            ((50_000, 3), "16666.667"),
            ((-1, 3), "-0.333"),
            ((1, 8_000), "0.000125"),
            ((3, 2), "1.5"),
            ((12, 4), "3"),
            ((0, 7), "0"),
            ((1_000_001, 1_000_000), "1.000001"),
            ((1_999_999_999, 1_000), "1999999.999"),
            ((1, i128::MAX), "0.00000000000000000000000000000000000000588"),
        ] {
            assert_eq!(Ratio::fraction(above, below).told(), told);
        }
    }

    #[test]
    fn units_of_others_are_known_by_what_they_are() {
        for (text, says) in [
            ("3km", "a kilometre is 1000m"),
            ("5 microns", "a micrometre is um"),
            ("2ft", "a foot is 12in"),
            ("7 pixels", "a pixel is px"),
        ] {
            let Err(why) = given_length(text) else {
                panic!("{text}")
            };
            assert!(why.contains(says), "{why}");
        }
        for (name, _) in UNITS {
            assert_eq!(foreign_unit(name), None, "{name}");
        }
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
