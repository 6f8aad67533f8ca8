//! Strips of columns that cubes (blocks) stream down, a few rows at a step: what is compiled into all kernels
//! that do.

/// How a cube takes its strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Strip {
    /// Units of a cube, and columns of words that it reads.
    pub(super) units: u32,
    /// K: rows of a step.
    pub(super) rows: u32,
    /// Whether shared memory holds the rows of two steps, so that one wait less is needed.
    pub(super) double: bool,
    /// Whether shared memory keeps the rows of windows.
    pub(super) kept: bool,
    /// Whether neighbours exchange vectors that they store.
    pub(super) exchange: bool,
}

impl Strip {
    /// Steps whose rows shared memory holds.
    pub(super) const fn steps(&self) -> u32 {
        if self.double { 2 } else { 1 }
    }

    /// Columns of words that a cube computes, where a window takes `beside` more on each side: whole runs of `run`; 0 where the
    /// cube is too narrow.
    pub(super) const fn columns(&self, beside: u32, run: u32) -> u32 {
        self.units.saturating_sub(2 * beside) / run * run
    }

    /// Places from one row of shared memory to the next, where one is left out after each run, so that units read different banks.
    pub(super) const fn pitch(&self, run: u32) -> u32 {
        self.units + self.units / run
    }
}
