//! How the machine moves, and how long the job takes.

use clap::Args;
use relief_design::{GivenLength, given_length};
use relief_machine::{Binding, Estimate, Motion};
use relief_scan::Program;

use super::seconds;
use crate::failure::Failure;

/// How the machine moves.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Motion, for the estimate of time")]
pub(crate) struct MotionArguments {
    /// The speed along a line: pixels a second, or a length in any unit of designs, such as 500mm or 20in/s
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    speed: Option<GivenLength>,
    /// The acceleration before and after a line, each second; without it the speed is there at once
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    acceleration: Option<GivenLength>,
    /// Seconds from one line to the next, beside the way back of lines that all run the same way
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "speed", default_value_t = 0.0)]
    turn_around: f64,
}

/// A length above 0, as designs write it; what is done in a second may say so: 500mm/s.
fn length(text: &str) -> Result<GivenLength, String> {
    let each_second = text.trim().trim_end_matches("/s2").trim_end_matches("/s");
    let length = given_length(each_second)?;
    let (GivenLength::Pixels(number) | GivenLength::Metres(number)) = length;
    if number > 0.0 {
        Ok(length)
    } else {
        Err(format!("'{text}' is not above 0; write such as 20000 or 500mm"))
    }
}

impl MotionArguments {
    /// The motion in positions of a program.
    pub(crate) fn motion(&self, program: &Program) -> Result<Option<Motion>, Failure> {
        let pixels = |length: GivenLength| {
            match (length, program.raster().pixel) {
            (GivenLength::Pixels(pixels), _) => Ok(pixels),
            (GivenLength::Metres(metres), Some(pixel)) => Ok(metres / pixel.to_metres()),
            (GivenLength::Metres(_), None) => Err(Failure::Usage(
                "a speed with a unit needs the side of a pixel, which the canvas does not say; give it in pixels"
                    .to_owned(),
            )),
        }
        };
        let Some(speed) = self.speed else {
            if self.acceleration.is_some() {
                return Err(Failure::Usage(
                    "--acceleration is that to and from a speed: give --speed as well".to_owned(),
                ));
            }
            return Ok(None);
        };
        Ok(Some(Motion {
            speed: pixels(speed)?,
            acceleration: self.acceleration.map_or(Ok(f64::INFINITY), pixels)?,
            turn_around: self.turn_around,
        }))
    }

    /// Whether anything is said.
    pub(crate) const fn is_given(&self) -> bool {
        self.speed.is_some() || self.acceleration.is_some()
    }

    /// The acceleration of a machine that has its speed from elsewhere: millimetres a second, each second.
    pub(crate) fn acceleration(&self, pixel: Option<relief_raster::Length>) -> Result<Option<f64>, Failure> {
        if self.speed.is_some() {
            return Err(Failure::Usage(
                "--speed is said by the feed of G-code; leave it out".to_owned(),
            ));
        }
        let metres = |length| match length {
            GivenLength::Metres(metres) => metres,
            GivenLength::Pixels(pixels) => pixels * pixel.map_or(0.0, relief_raster::Length::to_metres),
        };
        Ok(self.acceleration.map(|length| 1_000.0 * metres(length)))
    }
}

/// A sentence on how long the job takes and what decides that; `None` where nothing is known that is worth saying.
/// `machine` says whether there is a machine that takes its own time.
pub(super) fn sentence(estimate: &Estimate, machine: bool) -> Option<String> {
    let (binding, total) = estimate.binding()?;
    if estimate.motion.is_none() && estimate.rate.is_none() {
        let computing = (total >= 1.0).then(|| format!("the lines are computed in {}", time(total)));
        return if machine {
            let computing =
                computing.unwrap_or_else(|| "the lines are computed in less than a second".to_owned());
            Some(format!(
                "{computing}; --speed or --rate would say how long the machine takes"
            ))
        } else {
            computing
        };
    }
    let parts = [
        (estimate.motion, "by the motion of the machine"),
        (estimate.rate, "by the rate of the machine"),
        (estimate.computing, "by computing"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter_map(|(seconds, by)| Some(format!("{} {by}", time(seconds?))))
        .collect();
    let binds = match binding {
        Binding::Motion => "the motion binds",
        Binding::Rate => "the rate of the machine binds",
        Binding::Computing => "computing binds",
    };
    Some(format!(
        "the job takes {}: {}; {binds}",
        time(total),
        parts.join(", ")
    ))
}

/// Seconds as people read them.
pub(crate) fn time(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    let (days, hours, minutes) = (whole / 86_400, whole / 3_600 % 24, whole / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) if seconds < 10.0 => format!("{seconds:.1} s"),
        (0, 0, 0) => format!("{whole} s"),
        (0, 0, _) => format!("{minutes} min {} s", whole % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units_or_are_pixels() {
        assert_eq!(length("20000"), Ok(GivenLength::Pixels(20_000.0)));
        assert_eq!(length("1e3px"), Ok(GivenLength::Pixels(1_000.0)));
        assert_eq!(length("500mm"), Ok(GivenLength::Metres(0.5)));
        assert_eq!(length("2 m/s"), Ok(GivenLength::Metres(2.0)));
        assert_eq!(length("1/2in"), Ok(GivenLength::Metres(0.0127)));
        assert!(length("2,5mm").unwrap_err().contains("write a point"));
        for wrong in ["", "0", "-1", "fast", "1 parsec", "inf", "NaN"] {
            assert!(length(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_rounded_to_what_matters() {
        for (seconds, text) in [
            (0.04, "0.0 s"),
            (59.4, "59 s"),
            (61.0, "1 min 1 s"),
            (7_384.0, "2 h 3 min"),
            (200_000.0, "2 d 7 h"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }

    #[test]
    fn the_sentence_says_what_binds() {
        let estimate = Estimate {
            motion: Some(7_384.0),
            rate: None,
            computing: Some(61.0),
        };
        assert_eq!(
            sentence(&estimate, true).unwrap(),
            "the job takes 2 h 3 min: 2 h 3 min by the motion of the machine, 1 min 1 s by computing; the motion binds"
        );
        assert_eq!(sentence(&Estimate::default(), true), None);
    }

    #[test]
    fn where_only_computing_is_known_nothing_is_said_of_the_machine() {
        let computing = |seconds| Estimate {
            computing: Some(seconds),
            ..Estimate::default()
        };
        assert_eq!(sentence(&computing(0.02), false), None);
        assert_eq!(
            sentence(&computing(61.0), false).unwrap(),
            "the lines are computed in 1 min 1 s"
        );
        let said = sentence(&computing(61.0), true).unwrap();
        assert!(
            said.starts_with("the lines are computed in 1 min 1 s; --speed or --rate"),
            "{said}"
        );
        assert!(!sentence(&computing(0.02), true).unwrap().contains("0.0 s"));
    }
}
