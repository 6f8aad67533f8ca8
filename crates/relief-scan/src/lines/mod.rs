//! Making lines: windows of the raster are laid out as lines, go through tables and screens, and are packed.
//!
//! Travels that lie beside each other share one window; interleaved ones are read one by one, because the lines
//! between them would be computed for nothing. A window of columns is read and transposed in parts, so that no more
//! of the raster is in memory than the lines being made.

mod format;
mod lay;
mod memory;

use std::time::{Duration, Instant};

use relief_engine::{Cancel, Raster, SamplesMut, Workers};
use relief_raster::{Depth, Sample};

use crate::Error;
use crate::diffusion_state::DiffusionState;
use crate::halftone::Screen;
use crate::passes::Slice;
use crate::path::Travel;
use crate::program::Program;
use crate::windows::Windows;
use format::{Format, Room};
use lay::{Job, Laid, Wrap};

/// A run of finished lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The number of the first line.
    pub first: u64,
    /// Where each line ends in `bytes`.
    pub ends: Vec<usize>,
    /// The lines, one after the other.
    pub bytes: Vec<u8>,
}

impl Block {
    /// The number of lines.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.ends.len() as u64
    }

    /// The number of the line after the last.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first + self.lines()
    }

    /// Where line `index` of the block begins in its bytes; where all end for one past the last.
    #[must_use]
    pub fn start(&self, index: usize) -> usize {
        match index.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or(self.bytes.len()),
            None => 0,
        }
    }

    /// The bytes of line `index` of the block; empty where there is none.
    #[must_use]
    pub fn line(&self, index: usize) -> &[u8] {
        self.bytes
            .get(self.start(index)..self.start(index + 1))
            .unwrap_or_default()
    }

    /// The bytes of memory that it holds, used or not.
    #[must_use]
    pub fn held(&self) -> u64 {
        (self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()) as u64
    }
}

/// Makes any run of lines of a job.
pub struct Lines<'a> {
    program: &'a Program,
    source: &'a dyn Windows,
    most: u64,
    threads: usize,
    work: Work,
    reading: Duration,
}

enum Work {
    Eight(State<u8>),
    Sixteen(State<u16>),
}

impl<'a> Lines<'a> {
    /// Lines of a job from this raster, in at most `memory` bytes, the block handed out included.
    ///
    /// # Errors
    /// Where one line does not fit, or the raster is not the one of the program.
    pub fn new(program: &'a Program, source: &'a dyn Windows, memory: u64) -> Result<Self, Error> {
        let raster = source.raster();
        let size = |raster: &Raster| (raster.width, raster.height, raster.depth);
        if size(&raster) != size(program.raster()) {
            let problem = format!(
                "the program was made for {} × {} pixels, the raster has {} × {}",
                program.raster.width, program.raster.height, raster.width, raster.height
            );
            return Err(Error::Setting {
                setting: "raster",
                problem,
            });
        }
        let (most, threads) = program.block_lines(memory, source.workers().map_or(1, Workers::threads))?;
        let work = match raster.depth {
            Depth::Eight => Work::Eight(State::default()),
            Depth::Sixteen => Work::Sixteen(State::default()),
        };
        Ok(Self {
            program,
            source,
            most,
            threads,
            work,
            reading: Duration::ZERO,
        })
    }

    /// The most lines of a block.
    #[must_use]
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// The time so far in which the raster was read; the rest of the time of [`read`](Self::read) went into tables,
    /// screens and packing.
    #[must_use]
    pub const fn reading(&self) -> Duration {
        self.reading
    }

    /// Makes `count` lines from `first` on into `block`, whose memory is used again.
    ///
    /// # Errors
    /// Where there are no such lines or more than [`most`](Self::most), or the raster cannot be computed.
    pub fn read(&mut self, first: u64, count: u64, block: &mut Block, cancel: &Cancel) -> Result<(), Error> {
        let lines = self.program.lines();
        let end = first.saturating_add(count);
        if end > lines || count > self.most {
            return Err(Error::Range { first, end, lines });
        }
        block.first = first;
        block.ends.clear();
        block.bytes.clear();
        let mut job = Job {
            program: self.program,
            source: self.source,
            cancel,
            reading: Duration::ZERO,
        };
        let mut next = first;
        let mut outcome = Ok(());
        while next < end && outcome.is_ok() {
            // A group lies in one stripe of one pass.
            let group = self.program.group_end(next).min(end);
            outcome = match &mut self.work {
                Work::Eight(state) => state.group(&mut job, next..group, block, self.threads, |out| {
                    SamplesMut::Eight(out)
                }),
                Work::Sixteen(state) => state.group(&mut job, next..group, block, self.threads, |out| {
                    SamplesMut::Sixteen(out)
                }),
            };
            next = group;
        }
        self.reading += job.reading;
        outcome
    }

    /// Where error diffusion has come to; `None` where the lines made last depend on no lines before them.
    #[must_use]
    pub fn diffusion(&self) -> Option<DiffusionState> {
        match &self.work {
            Work::Eight(state) => state.laid.diffusion(self.program),
            Work::Sixteen(state) => state.laid.diffusion(self.program),
        }
    }

    /// Takes up error diffusion where it was. Lines before are then made from the first one on again, those from there
    /// on are not.
    ///
    /// # Errors
    /// Where the state is not one of such a program.
    pub fn take_up(&mut self, diffusion: &DiffusionState) -> Result<(), Error> {
        let Some(Screen::Diffusion(kernel)) = self
            .program
            .screen
            .as_ref()
            .filter(|_| diffusion.fits(self.program))
        else {
            let problem = "the state of error diffusion belongs to another job".to_owned();
            return Err(Error::Setting {
                setting: "halftone",
                problem,
            });
        };
        match &mut self.work {
            Work::Eight(state) => state.laid.take_up(*kernel, diffusion),
            Work::Sixteen(state) => state.laid.take_up(*kernel, diffusion),
        }
        Ok(())
    }
}

impl std::fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("program", self.program)
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

/// Memory that is used again from block to block.
#[derive(Default)]
struct State<S> {
    laid: Laid<S>,
    /// The table of a pass.
    table: Option<(u32, Option<Vec<S>>)>,
    rooms: Vec<Room<S>>,
}

impl<S: Sample> State<S> {
    /// Makes travels of one stripe of one pass.
    fn group(
        &mut self,
        job: &mut Job<'_>,
        numbers: std::ops::Range<u64>,
        block: &mut Block,
        threads: usize,
        wrap: Wrap<S>,
    ) -> Result<(), Error> {
        let program = job.program;
        let travels: Vec<Travel> = numbers.map(|number| program.travel_of(number)).collect();
        let (Some(first), Some(last)) = (travels.first(), travels.last()) else {
            return Ok(());
        };
        self.make_table(program, first.pass);
        let table = self.table.as_ref().and_then(|table| table.1.as_deref());
        // The row at which each travel begins in what is laid.
        let mut rows = Vec::with_capacity(travels.len());
        if program.layout(first.pass).path.is_plain() {
            let top = first.lines.start;
            rows.extend(travels.iter().map(|travel| (travel.lines.start - top) as usize));
            let all = Travel {
                lines: top..last.lines.end,
                ..first.clone()
            };
            self.laid.begin(program, last.lines.end - top);
            self.laid.lay(job, &all, table, wrap)?;
        } else {
            let height = |travel: &Travel| travel.lines.end - travel.lines.start;
            self.laid.begin(program, travels.iter().map(height).sum());
            let mut row = 0;
            for travel in &travels {
                rows.push(row);
                row += height(travel) as usize;
                self.laid.lay(job, travel, table, wrap)?;
            }
        }
        let format = Format {
            program,
            table: if matches!(program.screen, Some(Screen::Diffusion(_))) {
                None
            } else {
                table
            },
            laid: self.laid.samples(),
        };
        let workers = job.source.workers();
        format.travels(&travels, &rows, &mut self.rooms, (threads, workers), block);
        Ok(())
    }

    fn make_table(&mut self, program: &Program, pass: u32) {
        if self.table.as_ref().is_none_or(|table| table.0 != pass) {
            let table = program
                .scan
                .passes
                .table(pass, program.raster.depth, &program.tables);
            let table = table.map(|table| table.into_iter().map(S::from_u16).collect());
            self.table = Some((pass, table));
        }
    }
}

fn look_up<S: Sample>(table: Option<&[S]>, samples: &mut [S]) {
    if let Some(table) = table {
        samples
            .iter_mut()
            .for_each(|sample| *sample = table[usize::from(sample.to_u16())]);
    }
}

/// The time that `work` takes, added to `total`.
fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    *total += start.elapsed();
    done
}
