//! How long a job takes: by how the machine moves, by what it takes in, by how fast lines are made.
//!
//! A head runs over the n positions of a line that hold the picture at its full speed v. It speeds up and slows down in
//! the blank positions before and after them (overscan), and needs a ramp of v² / (2·a) for each. Where the overscan is
//! shorter than the ramp the head begins further out; where it is longer the head runs the rest of it at full speed. From
//! rest to rest that is a trapezoid of speed over max(before, ramp) + n + max(after, ramp) positions. Then comes the
//! turn-around, and where every line runs the same way the way back, of the same length, before the next line.

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

impl Motion {
    /// Seconds from rest to rest over a distance: d / v + v / a where the full speed is reached, else 2·√(d / a).
    #[must_use]
    pub fn seconds(&self, distance: f64) -> f64 {
        let ramps = self.speed * self.speed / self.acceleration;
        if distance >= ramps {
            distance / self.speed + self.speed / self.acceleration
        } else {
            2.0 * (distance / self.acceleration).sqrt()
        }
    }

    /// Seconds of a line from rest to rest, its picture at full speed.
    #[must_use]
    pub fn line(&self, program: &Program) -> f64 {
        let ramp = self.speed * self.speed / (2.0 * self.acceleration);
        let (before, after) = program.scan().overscan;
        let blank = u64::from(before) + u64::from(after);
        let picture = program.positions().saturating_sub(blank) as f64;
        self.seconds(f64::from(before).max(ramp) + picture + f64::from(after).max(ramp))
    }

    /// Seconds from the end of a line to the beginning of the next one.
    #[must_use]
    pub fn between(&self, program: &Program) -> f64 {
        let back = match program.scan().direction {
            Direction::Unidirectional => self.line(program),
            Direction::Serpentine => 0.0,
        };
        self.turn_around + back
    }

    /// Seconds from the beginning of a line to that of the next one.
    #[must_use]
    pub fn period(&self, program: &Program) -> f64 {
        self.line(program) + self.between(program)
    }
}

/// What decides how long a job takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The motion of the machine.
    Motion,
    /// The bytes that the machine takes a second.
    Rate,
    /// Making lines.
    Computing,
}

/// How long a job takes by each of what may decide it; `None` where that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Seconds by the motion of the machine.
    pub motion: Option<f64>,
    /// Seconds by the bytes that the machine takes a second.
    pub rate: Option<f64>,
    /// Seconds of making lines.
    pub computing: Option<f64>,
}

impl Estimate {
    /// For the lines of a program from `from` on; the machine takes `rate` bytes a second, and a line takes `making`
    /// seconds to be made and has `bytes`.
    #[must_use]
    pub fn new(
        program: &Program,
        from: u64,
        motion: Option<&Motion>,
        rate: Option<f64>,
        making: Option<f64>,
        bytes: f64,
    ) -> Self {
        let left = program.lines().saturating_sub(from);
        let lines = left as f64;
        // After the last line there is no other to go to.
        let between = left.saturating_sub(1) as f64;
        Self {
            motion: motion.map(|motion| lines * motion.line(program) + between * motion.between(program)),
            rate: rate.map(|rate| lines * bytes / rate),
            computing: making.map(|making| lines * making),
        }
    }

    /// The longest of them, and which it is.
    #[must_use]
    pub fn binding(&self) -> Option<(Binding, f64)> {
        [
            (Binding::Motion, self.motion),
            (Binding::Rate, self.rate),
            (Binding::Computing, self.computing),
        ]
        .into_iter()
        .filter_map(|(binding, seconds)| Some((binding, seconds?)))
        .max_by(|one, other| one.1.total_cmp(&other.1))
    }
}
