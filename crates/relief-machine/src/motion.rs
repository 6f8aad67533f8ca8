//! How long a machine takes, from how it moves.
//!
//! A head accelerates at a up to its speed v, runs over a line of length s at v, and brakes: s / v + 2·v / a. Between
//! two travels comes the turn-around, and for one-way travels the way back: s / v + 2·v / a again at the same speed.

use relief_scan::{Direction, Program};

/// How a machine moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// Positions a second along a line.
    pub speed: f64,
    /// Positions a second, each second; infinite where speed is there at once.
    pub acceleration: f64,
    /// Seconds between two travels.
    pub turn_around: f64,
}

/// Which of the two takes longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The machine.
    Machine,
    /// Making lines.
    Computing,
}

/// How long a job takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Seconds of motion, where the motion is known.
    pub machine: Option<f64>,
    /// Seconds of computing, where its rate is known.
    pub computing: Option<f64>,
}

impl Estimate {
    /// For the lines of a program from `from` on, made at `rate` bytes a second.
    #[must_use]
    pub fn new(program: &Program, from: u64, motion: Option<&Motion>, rate: Option<f64>) -> Self {
        let lines = program.lines().saturating_sub(from) as f64;
        let travel = |motion: &Motion| {
            let run = program.positions() as f64 / motion.speed + 2.0 * motion.speed / motion.acceleration;
            let back = if program.scan().direction == Direction::Unidirectional {
                run
            } else {
                0.0
            };
            run + back + motion.turn_around
        };
        let bytes = lines * program.encoding().most() as f64;
        Self {
            machine: motion.map(|motion| lines * travel(motion)),
            computing: rate.map(|rate| bytes / rate),
        }
    }

    /// The longer of the two, and which it is.
    #[must_use]
    pub fn binding(&self) -> Option<(Binding, f64)> {
        match (self.machine, self.computing) {
            (Some(machine), Some(computing)) if computing > machine => Some((Binding::Computing, computing)),
            (Some(machine), _) => Some((Binding::Machine, machine)),
            (None, Some(computing)) => Some((Binding::Computing, computing)),
            (None, None) => None,
        }
    }
}
