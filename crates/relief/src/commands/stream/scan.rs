//! The options of the scan program. Their words and meanings are those of the `scan` of a design, from the one table of
//! signatures; what is given here overrides what the design says.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use relief_design::{Signature, ValueType};
use relief_raster::Length;
use relief_scan::{
    Axis, BitOrder, Bits, ByteOrder, Corner, Direction, Interleave, Mirror, Packing, Passes, Polarity,
    Quarters, Scan, Stripe, Swath,
};
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::commands::halftone::{HalftoneArgument, halftone};
use crate::failure::Failure;

/// How the machine wants the raster.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Scan program, over that of the design")]
pub(crate) struct ScanArguments {
    /// All settings as JSON, in place of those of the design
    #[arg(long, value_name = "SCAN.json")]
    scan: Option<PathBuf>,
    #[arg(long, value_parser = words::<Mirror>("mirror"), help = meaning("mirror"))]
    mirror: Option<Mirror>,
    #[arg(long, value_parser = words::<Quarters>("rotate"), help = meaning("rotate"))]
    rotate: Option<Quarters>,
    #[arg(long, value_parser = words::<Axis>("axis"), help = meaning("axis"))]
    axis: Option<Axis>,
    #[arg(long, value_parser = words::<Corner>("start"), help = meaning("start"))]
    start: Option<Corner>,
    #[arg(long, value_parser = words::<Direction>("direction"), help = meaning("direction"))]
    direction: Option<Direction>,
    #[arg(long, value_name = "PIXELS", value_parser = offset, allow_hyphen_values = true, help = meaning("return-offset"))]
    return_offset: Option<i32>,
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 31), help = meaning("interleave"))]
    interleave: Option<u32>,
    #[arg(long, value_parser = words::<Encoding>("encoding"), help = meaning("encoding"))]
    encoding: Option<Encoding>,
    #[arg(long, value_parser = words::<Bits>("bits"), help = meaning("bits"))]
    bits: Option<Bits>,
    #[arg(long, value_parser = words::<BitOrder>("bit-order"), help = meaning("bit-order"))]
    bit_order: Option<BitOrder>,
    #[arg(long, value_parser = words::<ByteOrder>("byte-order"), help = meaning("byte-order"))]
    byte_order: Option<ByteOrder>,
    #[arg(long, value_parser = words::<Polarity>("polarity"), help = meaning("polarity"))]
    polarity: Option<Polarity>,
    /// Blank positions before and after each line
    #[arg(long, value_name = "BEFORE[,AFTER]", value_parser = pair::<u32>)]
    overscan: Option<Pair<u32>>,
    /// Cover the lines in stripes of so many pixels that share so many, or none
    #[arg(long, value_name = "WIDTH[,OVERLAP]", value_parser = or_none(pair::<u64>))]
    stripe: Option<OrNone<Pair<u64>>>,
    /// Take several lines in one travel; travels share so many; or none
    #[arg(long, value_name = "LINES[,OVERLAP]", value_parser = or_none(pair::<u32>))]
    swath: Option<OrNone<Pair<u32>>>,
    /// Passes: one, even:N, curve:N,EXPONENT, share:N, or listed:T,T,… with a threshold for each
    #[arg(long, value_parser = passes)]
    passes: Option<Passes>,
    /// Grays to on and off: threshold:LEVEL, bayer:N or bayer:N,SPOT, blue-noise or blue-noise:N,SPOT, screen:FREQUENCY,ANGLE,DOT such as
    /// screen:150lpi,45,round, none, or error diffusion by floyd-steinberg, jarvis, stucki or atkinson, each with or without :serpentine
    #[arg(long, value_parser = or_none(halftone))]
    halftone: Option<OrNone<HalftoneArgument>>,
    /// The table of the material: a JSON file with name and points; or none
    #[arg(long, value_name = "TABLE.json", value_parser = or_none(path))]
    pub(super) material: Option<OrNone<PathBuf>>,
    /// The table of the machine, after the passes: gray to power; or none
    #[arg(long, value_name = "TABLE.json", value_parser = or_none(path))]
    pub(super) machine: Option<OrNone<PathBuf>>,
}

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Encoding {
    Packed,
    Runs,
}

/// Two numbers; the second is 0 where it is not given.
type Pair<T> = (T, T);

/// A setting that can be taken away.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OrNone<T> {
    None,
    Some(T),
}

impl<T: Clone> OrNone<T> {
    /// What is given here, else what was before.
    pub(super) fn over(given: Option<&Self>, before: Option<T>) -> Option<T> {
        match given {
            None => before,
            Some(Self::None) => None,
            Some(Self::Some(value)) => Some(value.clone()),
        }
    }
}

fn property(name: &str) -> Option<&'static relief_design::Parameter> {
    let signature = Signature::of("scan")?;
    signature.properties.iter().find(|property| property.name == name)
}

/// What a setting of the scan means.
fn meaning(name: &str) -> &'static str {
    property(name).map_or("", |property| property.meaning)
}

/// The words of a setting of the scan, and what each stands for.
fn words<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    name: &str,
) -> impl TypedValueParser<Value = T> + use<T> {
    let values: Vec<&'static str> = match property(name).map(|property| property.value) {
        Some(ValueType::Word(words)) => words.to_vec(),
        // The arguments live as long as the program, and so do these few bytes.
        Some(ValueType::Choice(numbers)) => {
            numbers.iter().map(|number| &*number.to_string().leak()).collect()
        }
        _ => Vec::new(),
    };
    let words = values.into_iter().map(PossibleValue::new);
    PossibleValuesParser::new(words).try_map(|word| {
        let word: StrDeserializer<'_, Error> = word.as_str().into_deserializer();
        T::deserialize(word)
    })
}

fn or_none<T>(
    parse: impl Fn(&str) -> Result<T, String> + Clone,
) -> impl Fn(&str) -> Result<OrNone<T>, String> + Clone {
    move |text| match text {
        "none" => Ok(OrNone::None),
        _ => parse(text).map(OrNone::Some),
    }
}

fn path(text: &str) -> Result<PathBuf, String> {
    Ok(PathBuf::from(text))
}

pub(crate) fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("'{text}' is not a number that fits here"))
}

/// Pixels, in 256ths.
fn offset(text: &str) -> Result<i32, String> {
    match text.trim().parse::<f64>() {
        Ok(pixels) if pixels.abs() <= 65_536.0 => Ok((pixels * 256.0).round() as i32),
        _ => Err(format!("'{text}' is not a number of pixels from -65536 to 65536")),
    }
}

fn pair<T: FromStr + Default>(text: &str) -> Result<Pair<T>, String> {
    match text.split_once(',') {
        Some((first, second)) => Ok((number(first)?, number(second)?)),
        None => Ok((number(text)?, T::default())),
    }
}

/// Passes by their name.
pub(crate) fn passes(text: &str) -> Result<Passes, String> {
    match text.split_once(':') {
        Some(("even", count)) => Ok(Passes::Even {
            count: number(count)?,
        }),
        Some(("share", count)) => Ok(Passes::Share {
            count: number(count)?,
        }),
        Some(("curve", rest)) => {
            let (count, exponent) = rest.split_once(',').ok_or("curve:N,EXPONENT is expected")?;
            Ok(Passes::Curve {
                count: number(count)?,
                exponent: number(exponent)?,
            })
        }
        Some(("listed", thresholds)) => listed(thresholds),
        None if text == "one" => Ok(Passes::One),
        None if text.starts_with(|first: char| first.is_ascii_digit()) => listed(text),
        _ => Err(format!(
            "'{text}' is not a way to slice; one, even:N, curve:N,EXPONENT, share:N, or thresholds as listed:T,T,… \
             or T,T,… are expected"
        )),
    }
}

fn listed(thresholds: &str) -> Result<Passes, String> {
    let thresholds = thresholds.split(',').map(number::<u16>);
    Ok(Passes::Listed {
        thresholds: thresholds.collect::<Result<_, _>>()?,
    })
}

impl ScanArguments {
    /// What a screen that is given here comes to on pixels of this side.
    pub(super) fn screen(&self, pixel: Option<Length>) -> Option<String> {
        match &self.halftone {
            Some(OrNone::Some(halftone)) => halftone.told(pixel),
            _ => None,
        }
    }

    /// The settings of a design whose pixels have this side, with those given here in their place.
    pub(super) fn over(&self, design: &Scan, pixel: Option<Length>) -> Result<Scan, Failure> {
        let scan = match &self.scan {
            None => design.clone(),
            Some(path) => {
                let wrong = |error| Failure::Usage(format!("{}: {error}", path.display()));
                serde_json::from_str(&super::inputs::read(path)?).map_err(wrong)?
            }
        };
        let stripe = scan.stripe.map(|stripe| (stripe.width, stripe.overlap));
        let stripe = OrNone::over(self.stripe.as_ref(), stripe);
        let swath = scan.swath.map(|swath| (swath.lines, swath.overlap));
        let swath = OrNone::over(self.swath.as_ref(), swath);
        let packing = scan.packing;
        let halftone = match &self.halftone {
            None => None,
            Some(OrNone::None) => Some(OrNone::None),
            Some(OrNone::Some(asked)) => Some(OrNone::Some(asked.on(pixel)?)),
        };
        Ok(Scan {
            mirror: self.mirror.unwrap_or(scan.mirror),
            rotate: self.rotate.unwrap_or(scan.rotate),
            axis: self.axis.unwrap_or(scan.axis),
            start: self.start.unwrap_or(scan.start),
            direction: self.direction.unwrap_or(scan.direction),
            return_offset: self.return_offset.unwrap_or(scan.return_offset),
            interleave: self.interleave.map_or(scan.interleave, Interleave),
            stripe: stripe.map(|(width, overlap)| Stripe { width, overlap }),
            swath: swath.map(|(lines, overlap)| Swath { lines, overlap }),
            overscan: self.overscan.unwrap_or(scan.overscan),
            passes: self.passes.clone().unwrap_or(scan.passes),
            pass_axes: scan.pass_axes,
            halftone: OrNone::over(halftone.as_ref(), scan.halftone),
            packing: Packing {
                bits: self.bits.unwrap_or(packing.bits),
                bit_order: self.bit_order.unwrap_or(packing.bit_order),
                byte_order: self.byte_order.unwrap_or(packing.byte_order),
                polarity: self.polarity.unwrap_or(packing.polarity),
            },
            run_length: self
                .encoding
                .map_or(scan.run_length, |encoding| encoding == Encoding::Runs),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use relief_design::Signature;
    use relief_scan::Halftone;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        scan: ScanArguments,
    }

    fn over(arguments: &[&str], design: &Scan) -> Scan {
        let line = [&["relief"], arguments].concat();
        Line::try_parse_from(line)
            .unwrap()
            .scan
            .over(design, None)
            .unwrap()
    }

    #[test]
    fn every_setting_of_the_design_has_an_option_of_its_name_and_words() {
        let command = <Line as clap::CommandFactory>::command();
        let signature = Signature::of("scan").unwrap();
        let names = signature
            .properties
            .iter()
            .map(|property| property.name)
            .chain(signature.parameters())
            // G-code is a text, and streamed to nobody.
            .filter(|name| *name != "gcode");
        for name in names {
            let option = command
                .get_arguments()
                .find(|option| option.get_long() == Some(name));
            let option = option.unwrap_or_else(|| panic!("there is no --{name}"));
            let Some(property) = property(name) else { continue };
            assert_eq!(option.get_help().unwrap().to_string(), property.meaning);
            let words: Vec<String> = match property.value {
                ValueType::Word(words) => words.iter().map(ToString::to_string).collect(),
                ValueType::Choice(numbers) => numbers.iter().map(ToString::to_string).collect(),
                _ => continue,
            };
            let known: Vec<String> = option
                .get_possible_values()
                .iter()
                .map(|value| value.get_name().to_owned())
                .collect();
            assert_eq!(known, words, "--{name}");
            for word in words {
                over(&[&format!("--{name}"), &word], &Scan::default());
            }
        }
    }

    #[test]
    fn options_override_the_design_and_leave_the_rest() {
        let design = Scan {
            mirror: Mirror::Vertical,
            swath: Some(Swath { lines: 4, overlap: 1 }),
            halftone: Some(Halftone::BLUE_NOISE),
            run_length: true,
            ..Scan::default()
        };
        assert_eq!(over(&[], &design), design);
        let expected = Scan {
            rotate: Quarters::One,
            swath: None,
            halftone: Some(Halftone::bayer(8)),
            run_length: false,
            overscan: (3, 0),
            ..design.clone()
        };
        let arguments = [
            "--rotate=90",
            "--swath=none",
            "--halftone=bayer:8",
            "--encoding=packed",
            "--overscan=3",
        ];
        assert_eq!(over(&arguments, &design), expected);
    }
}
