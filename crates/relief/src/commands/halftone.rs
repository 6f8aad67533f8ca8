//! Halftones as arguments. Their words are those of `halftone` in a design.

use relief_design::given_frequency;
use relief_design::scan::AskedScreen;
use relief_raster::Length;
use relief_scan::{Dot, Halftone, Screen};

use crate::failure::Failure;

use super::stream::number;

/// What is asked for; a screen is known only on pixels of a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum HalftoneArgument {
    /// A halftone that needs no more.
    Ready(Halftone),
    /// Dots of a frequency.
    Screen {
        /// The frequency and the angle.
        asked: AskedScreen,
        /// The shape of the dots.
        dot: Dot,
    },
}

impl HalftoneArgument {
    /// The halftone on pixels of this side.
    pub(crate) fn on(&self, pixel: Option<Length>) -> Result<Halftone, Failure> {
        let (asked, dot) = match *self {
            Self::Ready(halftone) => return Ok(halftone),
            Self::Screen { asked, dot } => (asked, dot),
        };
        let Some(pixel) = pixel else {
            return Err(Failure::Usage(
                "--halftone screen has dots in an inch, and the canvas does not say how large a pixel is; add pixel=\"0.1mm\" (or what \
                 it is) to the canvas"
                    .to_owned(),
            ));
        };
        Screen::near(asked.frequency, asked.degrees, dot, pixel)
            .map(Halftone::Screen)
            .ok_or_else(|| {
                let side = pixel.to_metres();
                Failure::Usage(format!(
                    "--halftone screen: the dots are {:.3} pixels apart; 2 to 512 are possible, with these pixels a frequency of \
                     {:.4} to {:.4} lpi",
                    1.0 / (asked.frequency * side),
                    0.0254 / side / 512.0,
                    0.0254 / side / 2.0
                ))
            })
    }

    /// What a screen comes to on pixels of this side, in a sentence.
    pub(crate) fn told(&self, pixel: Option<Length>) -> Option<String> {
        let Self::Screen { asked, .. } = self else {
            return None;
        };
        match (self.on(pixel), pixel) {
            (Ok(Halftone::Screen(screen)), Some(pixel)) => Some(super::told::screen(&screen, asked, pixel)),
            _ => None,
        }
    }
}

/// A halftone by its name.
pub(crate) fn halftone(text: &str) -> Result<HalftoneArgument, String> {
    let (name, rest) = match text.split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    if name == "screen" {
        return screen(rest.unwrap_or_default());
    }
    matrix_or_diffusion(name, rest).map(HalftoneArgument::Ready)
}

/// FREQUENCY, FREQUENCY,ANGLE or FREQUENCY,ANGLE,DOT.
fn screen(text: &str) -> Result<HalftoneArgument, String> {
    let mut parts = text.splitn(3, ',').map(str::trim);
    let frequency = match parts.next() {
        None | Some("") => {
            return Err("screen:FREQUENCY,ANGLE,DOT is expected, such as screen:150lpi,45,round".to_owned());
        }
        Some(text) => given_frequency(text)?,
    };
    let degrees = match parts.next() {
        None => 45.0,
        Some(text) => text
            .parse()
            .ok()
            .filter(|degrees: &f64| degrees.is_finite())
            .ok_or_else(|| format!("'{text}' is not a number of degrees"))?,
    };
    let dot = match parts.next() {
        None | Some("round") => Dot::Round,
        Some("ellipse") => Dot::Ellipse,
        Some("line") => Dot::Line,
        Some("diamond") => Dot::Diamond,
        Some(other) => {
            return Err(format!(
                "'{other}' is not a shape of a dot; round, ellipse, line and diamond are"
            ));
        }
    };
    Ok(HalftoneArgument::Screen {
        asked: AskedScreen { frequency, degrees },
        dot,
    })
}

fn matrix_or_diffusion(name: &str, rest: Option<&str>) -> Result<Halftone, String> {
    let matrix = |rest: Option<&str>, size: Option<u32>| {
        let (given, spot) = match rest.and_then(|rest| rest.split_once(',')) {
            Some((size, spot)) => (Some(size), number(spot)?),
            None => (rest, 1),
        };
        let size = given.map(number).transpose()?.or(size);
        Ok::<_, String>((size.ok_or("bayer:N is expected")?, spot))
    };
    let serpentine = || match rest {
        None => Ok(false),
        Some("serpentine") => Ok(true),
        Some(other) => Err(format!(
            "'{other}' is not a way to diffuse errors; 'serpentine' is one"
        )),
    };
    match name {
        "threshold" => Ok(Halftone::Threshold {
            level: number(rest.ok_or("threshold:LEVEL is expected")?)?,
        }),
        "bayer" => matrix(rest, None).map(|(size, spot)| Halftone::Bayer { size, spot }),
        "blue-noise" => matrix(rest, Some(64)).map(|(size, spot)| Halftone::BlueNoise { size, spot }),
        "floyd-steinberg" => Ok(Halftone::FloydSteinberg {
            serpentine: serpentine()?,
        }),
        "jarvis" => Ok(Halftone::Jarvis {
            serpentine: serpentine()?,
        }),
        "stucki" => Ok(Halftone::Stucki {
            serpentine: serpentine()?,
        }),
        "atkinson" => Ok(Halftone::Atkinson {
            serpentine: serpentine()?,
        }),
        _ => Err(
            "threshold:LEVEL, bayer:N, blue-noise, screen:FREQUENCY,ANGLE,DOT, floyd-steinberg, jarvis, stucki, atkinson or none is \
             expected".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_read_with_what_is_left_out() {
        let asked = |frequency, degrees| AskedScreen { frequency, degrees };
        for (text, wanted, shape) in [
            ("screen:60lpcm", asked(6_000.0, 45.0), Dot::Round),
            ("screen:6lpmm,-15.5", asked(6_000.0, -15.5), Dot::Round),
            ("screen:60lpcm, 0, diamond", asked(6_000.0, 0.0), Dot::Diamond),
        ] {
            let expected = HalftoneArgument::Screen {
                asked: wanted,
                dot: shape,
            };
            assert_eq!(halftone(text), Ok(expected), "{text}");
        }
        for wrong in [
            "screen",
            "screen:",
            "screen:150",
            "screen:0lpi",
            "screen:150lpi,",
            "screen:150lpi,nan",
            "screen:150lpi,45,square",
            "screen:150lpi,45,round,1",
        ] {
            assert!(halftone(wrong).is_err(), "{wrong}");
        }
    }
}
