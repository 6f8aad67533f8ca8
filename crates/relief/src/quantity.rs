//! Sizes, tiles and regions as arguments, and sizes as people read them.

use relief_design::{Canvas, RectangleError};
use relief_io::Compression;
use relief_raster::Rect;

use crate::arguments::Compress;
use crate::failure::Failure;

/// A part of a canvas.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Region {
    /// In pixels.
    Pixels(Rect),
    /// X, Y, width and height, of which some have a unit.
    Lengths([String; 4]),
}

impl Region {
    /// The pixels of a canvas that it covers.
    pub(crate) fn of(&self, canvas: &Canvas) -> Result<Rect, Failure> {
        match self {
            Self::Pixels(rect) => Ok(*rect),
            Self::Lengths(lengths) => {
                let lengths = lengths.each_ref().map(String::as_str);
                relief_design::rectangle(lengths, canvas.pixel)
                    .map_err(|why| Failure::Usage(format!("--region {}: {why}", lengths.join(","))))
            }
        }
    }
}

/// What is asked of a size that most likely lacks its unit: so many MiB are usual, and so many bytes are nothing.
pub(crate) fn slip(size: u64) -> Option<String> {
    const USUAL: u64 = 8_192;
    (1..=USUAL)
        .contains(&size)
        .then(|| format!("{}: did you mean {size}MiB?", counted(size, "byte")))
}

/// [`bytes`] of a buffer, where a number without a unit most likely lacks it.
pub(crate) fn buffer(text: &str) -> Result<u64, String> {
    let bytes = bytes(text)?;
    let bare = text.bytes().all(|byte| byte.is_ascii_digit());
    match slip(bytes).filter(|_| bare && bytes < 1_024) {
        Some(slip) => Err(format!(
            "{slip} A number without a unit is bytes; {text}B says that it is meant"
        )),
        None => Ok(bytes),
    }
}

/// A number of samples or the like: `1000000000`, `1_000_000_000`, `1e9` or `2^30`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("'{text}' is not a whole number; write it as 1000000000, 1_000_000_000, 1e9 or 2^30");
    let large = || format!("{text} is more than {}", u64::MAX);
    let digits = |text: &str| {
        let text = text.replace('_', "");
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        text.parse::<u64>().map_err(|_| large())
    };
    let power = |base: u64, exponent: u64| {
        let exponent = u32::try_from(exponent).ok();
        exponent
            .and_then(|exponent| base.checked_pow(exponent))
            .ok_or_else(large)
    };
    if let Some((base, exponent)) = text.split_once('^') {
        return power(digits(base)?, digits(exponent)?);
    }
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else {
        return digits(text);
    };
    // 2.5e9 is a whole number, and 2.5e0 is none.
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let number = digits(&format!("{whole}{fraction}"))?;
    if number == 0 {
        return Ok(0);
    }
    let shift = digits(exponent.strip_prefix('+').unwrap_or(exponent))?
        .checked_sub(fraction.len() as u64)
        .ok_or_else(wrong)?;
    number.checked_mul(power(10, shift)?).ok_or_else(large)
}

/// [`count`] of at least 1.
pub(crate) fn count_from_1(text: &str) -> Result<u64, String> {
    match count(text)? {
        0 => Err("at least 1 is expected".to_owned()),
        count => Ok(count),
    }
}

/// [`count`] of 1 to 2^48 samples.
pub(crate) fn cost_in_samples(text: &str) -> Result<u64, String> {
    match count(text)? {
        count @ 1..=0x1_0000_0000_0000 => Ok(count),
        _ => Err("1 to 2^48 samples are possible".to_owned()),
    }
}

/// [`count`] of at most 2^48 samples.
pub(crate) fn effort_in_samples(text: &str) -> Result<u64, String> {
    match count(text)? {
        count @ 0..=0x1_0000_0000_0000 => Ok(count),
        _ => Err("0 to 2^48 samples are possible".to_owned()),
    }
}

/// Bytes with a unit: B, kB, MB, GB, TB or KiB, MiB, GiB, TiB; none means bytes.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        _ => {
            return Err(format!(
                "'{unit}' is not a unit of memory; write 64MiB, 2GiB or 500MB"
            ));
        }
    };
    let count: u64 = digits
        .parse()
        .map_err(|_| "a whole number with a unit is expected, such as 64MiB".to_owned())?;
    count
        .checked_mul(factor)
        .ok_or_else(|| format!("{text} is more than 2^64 bytes"))
}

/// W×H in pixels.
pub(crate) fn tile(text: &str) -> Result<(u64, u64), String> {
    let expected = || format!("'{text}' is not a size; columns and rows are expected, such as 512x64");
    let (width, height) = text.split_once(['x', 'X', '×']).ok_or_else(expected)?;
    let side = |text: &str| text.trim().parse::<u64>().map_err(|_| expected());
    match (side(width)?, side(height)?) {
        (0, _) | (_, 0) => Err(format!("{text} is empty; both sides must be at least 1")),
        sides => Ok(sides),
    }
}

/// The name of a compression.
pub(crate) fn compress(text: &str) -> Result<Compress, String> {
    match (text, text.parse()) {
        ("gzip", _) => Ok(Compress::Gzip),
        (_, Ok(Compression::None)) => Ok(Compress::None),
        (_, Ok(compression)) => Ok(Compress::Tiff(compression)),
        (_, Err(_)) => Err(format!(
            "\"{text}\" is not a compression; there are none, for TIFF deflate, packbits, lzw and g4, for Zarr gzip"
        )),
    }
}

/// A length with a unit, in picometres: nm, um or µm, mm, cm, m or in.
pub(crate) fn length(text: &str) -> Result<u64, String> {
    let expected =
        || format!("'{text}' is not a length; a number and a unit are expected, such as 80um or 1.5mm");
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .ok_or_else(expected)?;
    let (digits, unit) = text.split_at(split);
    let unit: u128 = match unit.trim() {
        "nm" => 1_000,
        "um" | "µm" | "μm" => 1_000_000,
        "mm" => 1_000_000_000,
        "cm" => 10_000_000_000,
        "m" => 1_000_000_000_000,
        "in" => 25_400_000_000,
        _ => return Err(expected()),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if fraction.len() > 12 || (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(expected());
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let number: u128 = format!("{whole}{fraction}").parse().map_err(|_| expected())?;
    // Halves up, to whole picometres.
    let picometres = number
        .checked_mul(unit)
        .map(|product| (2 * product / scale).div_ceil(2));
    picometres
        .and_then(|length| u64::try_from(length).ok())
        .ok_or_else(|| format!("{text} is longer than a length can be"))
}

/// What something costs: a number from 0 on.
pub(crate) fn cost(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(cost) if (0.0..=1e9).contains(&cost) => Ok(cost),
        _ => Err(format!(
            "'{text}' is not a cost; a number from 0 to 10^9 is expected, such as 80"
        )),
    }
}

/// I/N: one of N parts, counted from 0.
pub(crate) fn part(text: &str) -> Result<(u64, u64), String> {
    let expected = || format!("'{text}' is not a part; a part and their number are expected, such as 0/64");
    let (part, parts) = text.split_once('/').ok_or_else(expected)?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| expected());
    match (number(part)?, number(parts)?) {
        (_, 0) => Err("there are no parts of 0; write such as 0/64".to_owned()),
        (part, parts) if part >= parts => Err(format!(
            "there is no part {part} of {parts}: parts are counted from 0, so that the last one is {}/{parts}",
            parts - 1
        )),
        part => Ok(part),
    }
}

/// X,Y,W×H in pixels or in lengths with a unit.
pub(crate) fn region(text: &str) -> Result<Region, String> {
    let expected =
        || format!("'{text}' is not a region; X,Y,WxH is expected, such as 0,0,640x480 or 5mm,5mm,20mmx10mm");
    // The unit of pixels holds an x itself.
    const PIXELS: char = '\u{1}';
    let marked = text.replace("px", "\u{1}");
    let mut parts = marked.splitn(3, ',');
    let mut next = || parts.next().ok_or_else(expected);
    let (x, y, size) = (next()?, next()?, next()?);
    let has_length = |text: &str| text.contains(|c: char| c.is_alphabetic() && !matches!(c, 'x' | 'X'));
    let plain = |text: &str| text.trim().trim_end_matches(PIXELS).to_owned();
    if [x, y, size].into_iter().any(has_length) {
        let (width, height) = size.split_once(['x', 'X', '×']).ok_or_else(expected)?;
        let given = [x, y, width, height];
        let lengths = given.map(plain);
        // What is wrong whatever a pixel is, is told at once.
        let any = relief_raster::Length::picometres(1_000_000);
        let probe = relief_design::rectangle(lengths.each_ref().map(String::as_str), any);
        if let Err(why @ RectangleError::Text(_)) = probe {
            return Err(why.to_string());
        }
        let bare = given.into_iter().map(str::trim).find(|text| {
            let has_unit = has_length(text) || text.ends_with(PIXELS);
            !has_unit && text.parse::<f64>().is_ok_and(|number| number != 0.0)
        });
        if let Some(bare) = bare {
            return Err(format!(
                "'{text}' has units, and {bare} has none; write {bare}px where pixels are meant"
            ));
        }
        return Ok(Region::Lengths(lengths));
    }
    let coordinate = |text: &str| plain(text).parse::<i64>().map_err(|_| expected());
    let (width, height) = tile(&size.replace(PIXELS, ""))?;
    Rect::new(coordinate(x)?, coordinate(y)?, width, height)
        .map(Region::Pixels)
        .ok_or_else(|| format!("{text} leaves the coordinates that a canvas can have"))
}

/// Bytes as people read them: three digits and a binary unit.
pub(crate) fn show_bytes(bytes: u128) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"] {
        if value < 1_024.0 {
            break;
        }
        value /= 1_024.0;
        unit = next;
    }
    if unit == "B" {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {unit}")
    }
}

/// The bits of a pixel that files have other than those of the canvas.
pub(crate) fn one_bit(text: &str) -> Result<u8, String> {
    match text {
        "1" => Ok(1),
        _ => Err(
            "1 is possible, for samples of 0 and the greatest alone; 8 or 16 are the `bits` of the canvas"
                .to_owned(),
        ),
    }
}

/// A number of things, as "1 node" and "2 nodes": for nouns that only take an s.
pub(crate) fn counted(count: impl Into<u128>, noun: &str) -> String {
    match count.into() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        assert_eq!(bytes("64MiB"), Ok(64 << 20));
        assert_eq!(bytes("2GB"), Ok(2_000_000_000));
        assert_eq!(bytes("17"), Ok(17));
        assert!(bytes("1.5GB").is_err());
        assert!(bytes("MiB").is_err());
        assert!(bytes("99999999999TiB").is_err());
        assert!(bytes("-1").is_err());
    }

    #[test]
    fn a_buffer_without_a_unit_is_bytes_where_it_may_be() {
        let slip = buffer("20").unwrap_err();
        assert!(slip.starts_with("20 bytes: did you mean 20MiB?"), "{slip}");
        assert!(buffer("1").unwrap_err().starts_with("1 byte: "));
        assert_eq!(buffer("0"), Ok(0));
        assert_eq!(buffer("20B"), Ok(20));
        assert_eq!(buffer("65536"), Ok(65_536));
        assert_eq!(buffer("20MiB"), Ok(20 << 20));
    }

    #[test]
    fn counts_are_whole_numbers_in_several_forms() {
        for (text, number) in [
            ("0", 0),
            ("1_000_000", 1_000_000),
            ("1e9", 1_000_000_000),
            ("2.5E3", 2_500),
            ("2.50e1", 25),
            ("1e+2", 100),
            ("2^30", 1 << 30),
            ("10^18", 1_000_000_000_000_000_000),
            ("18446744073709551615", u64::MAX),
            ("0e99", 0),
        ] {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        for wrong in [
            "", "-1", "1.5", "2.55e1", "1e", "e9", "2^", "^2", "1e-3", "many", "1k",
        ] {
            assert!(count(wrong).unwrap_err().contains("2^30"), "{wrong}");
        }
        for large in ["1e20", "2^64", "18446744073709551616", "3^99999999999"] {
            assert!(count(large).unwrap_err().contains("is more than"), "{large}");
        }
    }

    #[test]
    fn regions_are_a_place_and_a_size() {
        let pixels = Region::Pixels(Rect::new(10, -20, 30, 40).unwrap());
        assert_eq!(region("10,-20,30x40"), Ok(pixels.clone()));
        assert_eq!(region("10px,-20px,30pxx40px"), Ok(pixels));
        let lengths = ["1mm", "-2", "1.5in", "3"].map(str::to_owned);
        assert_eq!(region("1mm,-2px,1.5inx3px"), Ok(Region::Lengths(lengths)));
        let from_0 = ["0", "0", "20mm", "10mm"].map(str::to_owned);
        assert_eq!(region("0,0,20mmx10mm"), Ok(Region::Lengths(from_0)));
        let bare = region("0,0,20mmx10").unwrap_err();
        assert!(bare.contains("10 has none; write 10px"), "{bare}");
        for wrong in ["1mm,2", "1mm,2,3", "1miles,2,3x4", "1mm,2,3xq", "1mm,%,3x4"] {
            assert!(region(wrong).is_err(), "{wrong}");
        }
        for wrong in [
            "",
            "1,2",
            "1,2,3",
            "1,2,0x4",
            "a,2,3x4",
            "1,2,3x4x5",
            "99999999999999999,0,1x1",
        ] {
            assert!(region(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lengths_are_whole_picometres() {
        assert_eq!(length("80um"), Ok(80_000_000));
        assert_eq!(length("1.5mm"), Ok(1_500_000_000));
        assert_eq!(length(".25 in"), Ok(6_350_000_000));
        assert_eq!(length("0.0015nm"), Ok(2));
        for wrong in [
            "",
            "80",
            "mm",
            "1.2.3mm",
            "-1mm",
            "1 mile",
            "1e3mm",
            "99999999999m",
        ] {
            assert!(length(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parts_are_counted_from_0() {
        assert_eq!(part("0/1"), Ok((0, 1)));
        assert_eq!(part("3/64"), Ok((3, 64)));
        assert!(part("64/64").unwrap_err().contains("63/64"));
        for wrong in ["", "3", "/", "-1/4", "1/0", "a/b", "1/2/3"] {
            assert!(part(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_thing_is_not_several() {
        assert_eq!(counted(0_u64, "band"), "0 bands");
        assert_eq!(counted(1_u64, "band"), "1 band");
        assert_eq!(counted(2_u128, "band"), "2 bands");
    }

    #[test]
    fn bytes_are_shown_with_a_binary_unit() {
        assert_eq!(show_bytes(1_000), "1000 B");
        assert_eq!(show_bytes(3_600_000_000_000), "3.3 TiB");
    }
}
