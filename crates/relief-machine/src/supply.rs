//! Supply and demand on a virtual clock: whether a look-ahead outlasts the stalls of what fills it.
//!
//! Lines are made at one rate with stalls, and executed at another. The model follows the sender's rules: making
//! stops where the look-ahead is full, executing starts at the high-water mark.

/// A supply and the machine that it feeds. Bytes and seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Supply {
    /// Bytes a second that are made.
    pub made: f64,
    /// Bytes a second that the machine executes.
    pub executed: f64,
    /// Bytes of the look-ahead.
    pub look_ahead: f64,
    /// Bytes made before the start.
    pub high_water: f64,
    /// Every so many seconds nothing is made for so many.
    pub stall: Option<(f64, f64)>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// How often the machine had nothing to execute.
    pub underruns: u64,
    /// The fewest bytes that were ahead after the start.
    pub least: f64,
    /// Bytes executed.
    pub executed: f64,
}

impl Supply {
    /// Runs for so many seconds from the start of the machine, in steps of a thousandth.
    #[must_use]
    pub fn run(&self, seconds: f64) -> Outcome {
        const STEP: f64 = 1e-3;
        let mut ahead = self.high_water.min(self.look_ahead);
        let mut outcome = Outcome {
            underruns: 0,
            least: ahead,
            executed: 0.0,
        };
        let mut starved = false;
        for step in 0..(seconds / STEP) as u64 {
            let time = step as f64 * STEP;
            // A stall ends each period, so that the first comes after a period of work.
            let stalled = self
                .stall
                .is_some_and(|(every, long)| time % every >= every - long);
            if !stalled {
                ahead = (ahead + self.made * STEP).min(self.look_ahead);
            }
            let wanted = self.executed * STEP;
            let empty = ahead < wanted;
            outcome.underruns += u64::from(empty && !starved);
            starved = empty;
            let taken = wanted.min(ahead);
            ahead -= taken;
            outcome.executed += taken;
            outcome.least = outcome.least.min(ahead);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: f64 = 3_600.0;

    #[test]
    fn sixty_megabytes_outlast_five_seconds_in_every_minute_for_an_hour() {
        let supply = Supply {
            made: 12e6,
            executed: 10e6,
            look_ahead: 60e6,
            high_water: 55e6,
            stall: Some((60.0, 5.0)),
        };
        let outcome = supply.run(HOUR);
        assert_eq!(outcome.underruns, 0);
        assert!(outcome.least > 5e6 && outcome.executed > 35.99e9, "{outcome:?}");
    }

    #[test]
    fn a_look_ahead_shorter_than_the_stall_runs_dry_once_in_each() {
        let supply = Supply {
            made: 12e6,
            executed: 10e6,
            look_ahead: 40e6,
            high_water: 40e6,
            stall: Some((60.0, 5.0)),
        };
        assert_eq!(supply.run(HOUR).underruns, 60);
    }
}
