//! Windows of the raster laid out as lines: packed rows that begin with the first pixel of a line.

use std::ops::Range;
use std::time::Duration;

use relief_engine::{Cancel, SamplesMut};
use relief_raster::Sample;

use crate::Error;
use crate::diffusion_state::DiffusionState;
use crate::halftone::{Diffusion, Kernel, Screen};
use crate::path::Travel;
use crate::program::Program;
use crate::symmetry::Symmetry;
use crate::windows::Windows;

use super::{look_up, timed};

/// The bytes of a part of a window that is turned or mirrored.
pub(super) const PART: u64 = 1 << 22;

/// What lines are made of.
pub(super) struct Job<'a> {
    pub(super) program: &'a Program,
    pub(super) source: &'a dyn Windows,
    pub(super) cancel: &'a Cancel,
    /// The time that reading the raster has taken.
    pub(super) reading: Duration,
}

/// Samples of one depth as the source takes them.
pub(super) type Wrap<S> = for<'b> fn(&'b mut [S]) -> SamplesMut<'b>;

/// Lines of the raster, and where error diffusion has come to.
#[derive(Default)]
pub(super) struct Laid<S> {
    /// Packed lines; what lies beyond `filled` is left from the run before.
    lines: Vec<S>,
    filled: usize,
    /// A part of a window before it is laid out.
    part: Vec<S>,
    diffused: Option<Diffused<S>>,
}

/// Where error diffusion has come to.
struct Diffused<S> {
    pass: u32,
    /// The next line.
    next: u64,
    state: Diffusion,
    /// The last lines done, which the next swath may share.
    tail: Vec<S>,
}

impl<S: Sample> Diffused<S> {
    fn new(kernel: Kernel, pass: u32, length: usize) -> Self {
        Self {
            pass,
            next: 0,
            state: Diffusion::new(kernel, length),
            tail: Vec::new(),
        }
    }

    /// The first line that is still known.
    fn known(&self, length: u64) -> u64 {
        self.next - self.tail.len() as u64 / length
    }

    /// Keeps the last of some finished lines, as many as two swaths share.
    fn keep(&mut self, lines: &[S], shared: u64, length: u64) {
        let keep = (shared * length).min(lines.len() as u64) as usize;
        self.tail.clear();
        self.tail.extend_from_slice(&lines[lines.len() - keep..]);
    }
}

impl<S: Sample> Laid<S> {
    /// What has been laid since [`begin`](Self::begin).
    pub(super) fn samples(&self) -> &[S] {
        &self.lines[..self.filled]
    }

    /// Forgets what was laid and makes room for so many lines.
    pub(super) fn begin(&mut self, program: &Program, lines: u64) {
        self.filled = 0;
        let samples = (lines * program.row_pixels()) as usize;
        // Exactly: growing by doubling would hold twice the memory that the plan says.
        self.lines.reserve_exact(samples.saturating_sub(self.lines.len()));
    }

    /// Appends the lines of a travel: pixels of its stripe, or for diffusion whole lines that have been screened.
    pub(super) fn lay(
        &mut self,
        job: &mut Job<'_>,
        travel: &Travel,
        table: Option<&[S]>,
        wrap: Wrap<S>,
    ) -> Result<(), Error> {
        if let Some(Screen::Diffusion(kernel)) = job.program.screen {
            self.diffuse(job, kernel, (travel.pass, travel.lines.clone()), table, wrap)
        } else {
            let symmetry = job.program.layout(travel.pass).symmetry;
            self.read(job, symmetry, travel.pixels.clone(), travel.lines.clone(), wrap)
        }
    }

    /// Appends whole lines that have gone through the table and error diffusion. Lines before them that have not been
    /// done are done and dropped, a few at a time.
    fn diffuse(
        &mut self,
        job: &mut Job<'_>,
        kernel: Kernel,
        (pass, lines): (u32, Range<u64>),
        table: Option<&[S]>,
        wrap: Wrap<S>,
    ) -> Result<(), Error> {
        let path = job.program.layout(pass).path;
        let (length, shared) = (path.length, path.shared_lines());
        let fits = |done: &Diffused<S>| done.pass == pass && done.known(length) <= lines.start;
        let mut done = match self.diffused.take().filter(fits) {
            Some(done) => done,
            None => Diffused::new(kernel, pass, length as usize),
        };
        let base = self.filled;
        if lines.start < done.next {
            // Lines that a swath shares with the one before.
            let known = done.known(length);
            let from = ((lines.start - known) * length) as usize;
            let to = ((lines.end.min(done.next) - known) * length) as usize;
            self.append(&done.tail[from..to]);
        }
        let step = lines.end - lines.start;
        while done.next < lines.end {
            let dropped = done.next < lines.start;
            let end = if dropped {
                (done.next + step).min(lines.start)
            } else {
                lines.end
            };
            let at = self.filled;
            self.read(
                job,
                job.program.layout(pass).symmetry,
                0..length,
                done.next..end,
                wrap,
            )?;
            for line in self.lines[at..self.filled].chunks_exact_mut(length as usize) {
                look_up(table, line);
                done.state.line(line);
            }
            done.next = end;
            if dropped {
                done.keep(&self.lines[at..self.filled], shared, length);
                self.filled = at;
            }
        }
        if done.next == lines.end {
            done.keep(&self.lines[base..self.filled], shared, length);
        }
        self.diffused = Some(done);
        Ok(())
    }

    fn append(&mut self, samples: &[S]) {
        self.grow(samples.len()).copy_from_slice(samples);
    }

    /// Room for so many more samples.
    fn grow(&mut self, count: usize) -> &mut [S] {
        let start = self.filled;
        self.filled = start + count;
        if self.lines.len() < self.filled {
            self.lines.resize(self.filled, S::ZERO);
        }
        &mut self.lines[start..self.filled]
    }

    /// Appends pixels `i` of lines `j`.
    fn read(
        &mut self,
        job: &mut Job<'_>,
        symmetry: Symmetry,
        i: Range<u64>,
        j: Range<u64>,
        wrap: Wrap<S>,
    ) -> Result<(), Error> {
        let raster = (job.program.raster.width, job.program.raster.height);
        let (i, j) = ((i.start, i.end), (j.start, j.end));
        let (length, count) = ((i.1 - i.0) as usize, (j.1 - j.0) as usize);
        let mut part = std::mem::take(&mut self.part);
        let out = self.grow(length * count);
        if symmetry.is_plain() {
            let window = symmetry.window(raster, i, j);
            timed(&mut job.reading, || {
                job.source.read(window, wrap(out), job.cancel)
            })?;
            return Ok(());
        }
        // Parts of whole lines where rows stay rows, parts along the lines where columns become lines.
        let bytes = S::DEPTH.bytes();
        let along = symmetry.swap;
        let across = if along { count } else { length } as u64;
        let step = (PART / (across * bytes)).max(1);
        let (mut at, end) = if along { i } else { j };
        while at < end {
            let to = (at + step).min(end);
            let window = if along {
                symmetry.window(raster, (at, to), j)
            } else {
                symmetry.window(raster, i, (at, to))
            };
            let size = (window.width() as usize, window.height() as usize);
            part.resize(size.0 * size.1, S::ZERO);
            timed(&mut job.reading, || {
                job.source.read(window, wrap(&mut part), job.cancel)
            })?;
            if along {
                symmetry.lay(&part, size, out, length, (at - i.0) as usize);
            } else {
                let rows = &mut out[(at - j.0) as usize * length..(to - j.0) as usize * length];
                symmetry.lay(&part, size, rows, length, 0);
            }
            at = to;
        }
        self.part = part;
        Ok(())
    }

    /// Where error diffusion has come to.
    pub(super) fn diffusion(&self, program: &Program) -> Option<DiffusionState> {
        let done = self.diffused.as_ref()?;
        Some(DiffusionState {
            pass: done.pass,
            line: done.next,
            errors: done.state.errors(),
            tail: done.tail.iter().map(|sample| *sample != S::ZERO).collect(),
            length: program.layout(done.pass).path.length,
        })
    }

    /// Takes up error diffusion.
    pub(super) fn take_up(&mut self, kernel: Kernel, diffusion: &DiffusionState) {
        let sample = |&on: &bool| if on { S::MAX } else { S::ZERO };
        self.diffused = Some(Diffused {
            pass: diffusion.pass,
            next: diffusion.line,
            state: Diffusion::after(
                kernel,
                diffusion.length as usize,
                diffusion.line,
                &diffusion.errors,
            ),
            tail: diffusion.tail.iter().map(sample).collect(),
        });
    }
}
