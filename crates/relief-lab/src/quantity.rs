//! Counts, times and rates as people write them.

/// A count: as a power of two where it is one of some size, else with its thousands apart.
pub(crate) fn count(n: u64) -> String {
    if n.is_power_of_two() && n >= 1 << 10 {
        return format!("2^{}", n.ilog2());
    }
    let digits = n.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Seconds with the unit that suits them, to four digits.
pub(crate) fn seconds(seconds: f64) -> String {
    scaled(seconds, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
}

/// A rate a second, of a unit such as "B" or "op".
pub(crate) fn rate(rate: f64, unit: &str) -> String {
    let text = scaled(rate, &[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1.0, "")]);
    format!("{text}{unit}/s")
}

/// Bytes with a binary unit.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.iter().find(|(shift, _)| bytes >= 1 << shift);
    unit.map_or(format!("{bytes} B"), |(shift, name)| {
        let value = bytes as f64 / (1_u64 << shift) as f64;
        format!("{} {name}", digits(value, 3))
    })
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fits = |(scale, _): &&(f64, &str)| value.abs() >= *scale;
    let unit = units.iter().find(fits).or(units.last());
    let (scale, name) = unit.copied().unwrap_or((1.0, ""));
    format!("{} {name}", digits(value / scale, 4))
}

/// A number with so many digits, at least those before the point.
pub(crate) fn digits(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let before = value.abs().max(1.0).log10().floor() as usize + 1;
    format!("{value:.*}", digits.saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_has_no_digits() {
        for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert_eq!(digits(value, 3), "–");
        }
        assert_eq!(digits(f64::MAX, 3).len(), 309);
        assert_eq!(seconds(0.0), "0.000 ns");
    }

    #[test]
    fn quantities_are_short_and_have_units() {
        assert_eq!(
            (
                count(1 << 24).as_str(),
                count(600_000).as_str(),
                count(7).as_str()
            ),
            ("2^24", "600 000", "7")
        );
        assert_eq!(
            (seconds(0.000_012_345), seconds(2.5)),
            ("12.35 µs".to_owned(), "2.500 s".to_owned())
        );
        assert_eq!(rate(4.23e12, "B"), "4.230 TB/s");
        assert_eq!(
            (bytes(100), bytes(3 << 19), bytes(1 << 30)),
            ("100 B".to_owned(), "1.50 MiB".to_owned(), "1.00 GiB".to_owned())
        );
    }
}
