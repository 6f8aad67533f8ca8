//! The sides of a pixel, as files say them.

use relief_raster::Length;

/// The sides of a pixel, across and down.
pub(super) type Pitch = [Length; 2];

/// An inch, a centimetre and a metre, as fractions of a metre.
pub(super) const INCH: (u64, u64) = (254, 10_000);
pub(super) const CENTIMETRE: (u64, u64) = (1, 100);
pub(super) const METRE: (u64, u64) = (1, 1);

/// Of pixels of which so many, each number a fraction, make up a length; nothing where a side is none, or of more digits than
/// a [`Length`] has.
pub(super) fn of_density(across: (u64, u64), down: (u64, u64), length: (u64, u64)) -> Option<Pitch> {
    let side = |(above, below): (u64, u64)| {
        Length::metres(length.0.checked_mul(below)?, length.1.checked_mul(above)?)
    };
    Some([side(across)?, side(down)?])
}

/// A side of so many units, each a fraction of a metre: the number as it is written in decimal.
pub(super) fn of_number(number: f64, unit: (u64, u64)) -> Option<Length> {
    if !(1e-15..=1e15).contains(&number) {
        return None;
    }
    // The fewest digits that give the number back.
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let digits: u64 = format!("{whole}{fraction}").parse().ok()?;
    let exponent = exponent.parse::<i32>().ok()? - i32::try_from(fraction.len()).ok()?;
    let power = 10_u64.checked_pow(exponent.unsigned_abs())?;
    let (above, below) = if exponent < 0 {
        (digits, power)
    } else {
        (digits.checked_mul(power)?, 1)
    };
    let number = Length::metres(above, below)?.terms();
    Length::metres(number.0.checked_mul(unit.0)?, number.1.checked_mul(unit.1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_the_length_over_the_pixels_in_it() {
        let pitch = of_density((1_200, 1), (600, 1), INCH);
        assert_eq!(
            pitch,
            Some([Length::dpi(1_200).unwrap(), Length::dpi(600).unwrap()])
        );
        let fraction = of_density((2_540, 3), (2_540, 3), CENTIMETRE).unwrap();
        assert_eq!(fraction[0], Length::metres(3, 254_000).unwrap());
        assert_eq!(of_density((0, 1), (1, 1), METRE), None);
        assert_eq!(of_density((1, 0), (1, 1), METRE), None);
        assert_eq!(of_number(2.5, (1, 1_000_000)), Length::picometres(2_500_000));
        assert_eq!(of_number(1e-3, METRE), Length::picometres(1_000_000_000));
        assert_eq!(of_number(40.0, INCH), Length::metres(40 * 254, 10_000));
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(of_number(wrong, METRE), None, "{wrong}");
        }
        assert_eq!(of_density((u64::MAX, 1), (1, 1), INCH), None);
    }
}
