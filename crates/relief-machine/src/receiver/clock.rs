//! When a machine has executed a line.

use std::time::{Duration, Instant};

use super::state::Shared;
use super::{Machine, Pace};

/// Gives each line its time: by pace, jitter and stalls.
pub(super) struct Clock {
    machine: Machine,
    due: Instant,
    lines: u64,
    /// Of a generator of numbers (xorshift, G. Marsaglia, "Xorshift RNGs", 2003).
    state: u64,
}

impl Clock {
    pub(super) fn new(machine: &Machine) -> Self {
        Self {
            machine: machine.clone(),
            due: Instant::now(),
            lines: 0,
            state: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// Whether nothing has to be waited for.
    pub(super) fn is_free(&self) -> bool {
        self.machine.pace == Pace::Free && self.machine.stall.is_none() && self.machine.jitter.is_zero()
    }

    /// The machine had to wait: time that was lost is not made up for.
    pub(super) fn restart(&mut self) {
        self.due = self.due.max(Instant::now());
    }

    /// Waits as long as a line takes, which nothing but the end of the receiver cuts short; `false` at that end.
    pub(super) fn line(&mut self, bytes: usize, shared: &Shared) -> bool {
        let time = self.time(bytes);
        self.due = self.due.checked_add(time).unwrap_or(self.due);
        let mut state = shared.lock();
        while !state.is_over() {
            let left = self.due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            state = shared.wait_for(state, left);
        }
        false
    }

    fn time(&mut self, bytes: usize) -> Duration {
        let seconds = match self.machine.pace {
            Pace::Free => 0.0,
            Pace::Bytes(rate) => bytes as f64 / rate.max(1e-3),
            Pace::Lines(rate) => 1.0 / rate.max(1e-3),
        };
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let drawn = (self.state >> 11) as f64 / (1_u64 << 53) as f64;
        self.lines += 1;
        let stall = match self.machine.stall {
            Some((every, stall)) if self.lines.is_multiple_of(every.max(1)) => stall,
            _ => Duration::ZERO,
        };
        Duration::try_from_secs_f64(seconds)
            .unwrap_or(Duration::MAX)
            .saturating_add(self.machine.jitter.mul_f64(drawn))
            .saturating_add(stall)
    }
}
