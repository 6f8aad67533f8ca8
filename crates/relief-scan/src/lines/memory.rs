//! How many lines fit in how much memory.

use crate::Error;
use crate::halftone::Screen;
use crate::path::Travel;
use crate::program::Program;

use super::lay::PART;

/// What stands beside the samples and bytes of a line: its travel, its row, its end, the end in a thread's room.
const BESIDE: u64 = (size_of::<Travel>() + 3 * size_of::<usize>()) as u64;

impl Program {
    /// Bytes that making so many lines at once takes, their block included: what [`Lines::new`](crate::Lines::new) needs
    /// to make them on as many threads as this machine has processors, or on as many as are worth it.
    #[must_use]
    pub fn making_bytes(&self, lines: u64) -> u64 {
        let block = self.line_memory().saturating_mul(lines);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.thread_bytes().saturating_mul(processors as u64);
        let threads = threads.min((block / 2).max(self.thread_bytes()));
        self.fixed_memory().saturating_add(block).saturating_add(threads)
    }

    /// The lines of a block in so many bytes, and the threads that pack them: at most `threads`.
    pub(super) fn block_lines(&self, memory: u64, threads: usize) -> Result<(u64, usize), Error> {
        let (fixed, each, thread) = (self.fixed_memory(), self.line_memory(), self.thread_bytes());
        let needed = fixed.saturating_add(thread).saturating_add(each);
        if needed > memory {
            return Err(Error::Memory {
                needed,
                limit: memory,
                advice: "give the job more memory, or choose narrower stripes or fewer channels",
            });
        }
        // A machine with many threads and long lines packs with some of them.
        let most = usize::try_from((memory - fixed) / 4 / thread).unwrap_or(usize::MAX);
        let threads = most.clamp(1, threads.max(1));
        let left = (memory - fixed).saturating_sub(thread * threads as u64);
        Ok(((left / each).clamp(1, self.lines()), threads))
    }

    /// What making holds whatever it makes: diffusion, a part of a window, a table.
    fn fixed_memory(&self) -> u64 {
        let depth = self.raster.depth;
        // Windows that are not lines as they come are laid out from parts of this size; see `Laid::read`.
        let part = if self.layouts().iter().all(|layout| layout.symmetry.is_plain()) {
            0
        } else {
            PART.max(self.row_pixels().saturating_mul(depth.bytes()))
        };
        let table = 4 * (u64::from(depth.max()) + 1);
        let screen = self.screen.as_ref().map_or(0, Screen::memory);
        self.diffusion_bytes()
            .saturating_add(part)
            .saturating_add(table)
            .saturating_add(screen)
    }

    /// What making holds for each line.
    fn line_memory(&self) -> u64 {
        let (bytes, high) = (self.raster.depth.bytes(), self.high());
        // Runs are made in a thread's room before they are put in a row. A column of a part is as long as the block.
        let copies = if self.scan.run_length { 2 } else { 1 };
        let swaps = self.layouts().iter().any(|layout| layout.symmetry.swap);
        let column = if swaps { high * bytes } else { 0 };
        self.row_pixels()
            .saturating_mul(bytes * high)
            .saturating_add(self.encoding().most().saturating_mul(copies))
            .saturating_add(column + BESIDE)
    }

    /// What a thread that packs holds: a travel as samples, one channel of it, and the values and heads of runs.
    fn thread_bytes(&self) -> u64 {
        let bytes = self.raster.depth.bytes();
        let channel = if self.high() > 1 { self.wide() } else { 0 };
        let runs = if self.scan.run_length { 6 } else { 0 };
        (self.samples() * (bytes + runs) + channel * bytes).max(1)
    }

    /// Pixels of a line that are read at once, in any pass: diffusion needs the whole line.
    pub(super) fn row_pixels(&self) -> u64 {
        let diffusion = matches!(self.screen, Some(Screen::Diffusion(_)));
        let pixels = self.layouts().iter().map(|layout| {
            let path = layout.path;
            // A stripe may be wider than the raster; what is beyond is not read.
            if diffusion || path.stripe.0 > path.length {
                path.length
            } else {
                path.stripe.0
            }
        });
        pixels.max().unwrap_or(0)
    }
}
