//! Making lines: windows of the raster are laid out as lines, go through tables and screens, and are packed.
//!
//! Travels that lie beside each other share one window; interleaved ones are read one by one, because the lines
//! between them would be computed for nothing. A window of columns is read and transposed in parts, so that no more
//! of the raster is in memory than the lines being made.

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use relief_engine::{Cancel, Raster, SamplesMut};
use relief_raster::{Depth, Sample};

use crate::halftone::{Diffusion, Screen};
use crate::path::Travel;
use crate::program::{Encoding, Program};
use crate::windows::Windows;
use crate::{Error, runs};

/// The bytes of a part of a window that is read to be transposed.
const PART: u64 = 1 << 22;

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

    /// The bytes of line `index` of the block; empty where there is none.
    #[must_use]
    pub fn line(&self, index: usize) -> &[u8] {
        let start = if index == 0 {
            Some(0)
        } else {
            self.ends.get(index - 1).copied()
        };
        match (start, self.ends.get(index)) {
            (Some(start), Some(&end)) => self.bytes.get(start..end).unwrap_or_default(),
            _ => &[],
        }
    }
}

/// Makes any run of lines of a job.
pub struct Lines<'a> {
    program: &'a Program,
    source: &'a dyn Windows,
    most: u64,
    depth: Work,
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
        let most = program.block_lines(memory)?;
        let depth = match raster.depth {
            Depth::Eight => Work::Eight(State::default()),
            Depth::Sixteen => Work::Sixteen(State::default()),
        };
        Ok(Self {
            program,
            source,
            most,
            depth,
        })
    }

    /// The most lines of a block.
    #[must_use]
    pub const fn most(&self) -> u64 {
        self.most
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
        let mut next = first;
        while next < end {
            // A group lies in one stripe of one pass.
            let group = (next / self.program.path.travels + 1)
                .saturating_mul(self.program.path.travels)
                .min(end);
            let job = Job {
                program: self.program,
                source: self.source,
                cancel,
            };
            match &mut self.depth {
                Work::Eight(state) => state.group(&job, next..group, block, |out| SamplesMut::Eight(out))?,
                Work::Sixteen(state) => {
                    state.group(&job, next..group, block, |out| SamplesMut::Sixteen(out))?
                }
            }
            next = group;
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

impl Program {
    /// The lines of a block in so many bytes.
    fn block_lines(&self, memory: u64) -> Result<u64, Error> {
        let bytes = self.raster.depth.bytes();
        let (width, high) = (self.row_pixels(), self.path.swath.0);
        // A thread holds a travel as samples, and runs hold values and heads as well.
        let thread = self.samples() * (bytes + if self.scan.run_length { 6 } else { 0 });
        let threads = rayon::current_num_threads() as u64;
        let diffusion = match self.screen {
            // The lines that two swaths share are kept.
            Some(Screen::Diffusion) => Diffusion::memory(width) + width * high * bytes,
            _ => 0,
        };
        let part = if self.symmetry.swap {
            PART.max(self.path.stripe.0)
        } else {
            0
        };
        let fixed = thread * threads + diffusion + part + 2 * (u64::from(self.raster.depth.max()) + 1);
        // Runs of a line are made apart before they are put in a row.
        let copies = if self.scan.run_length { 2 } else { 1 };
        let each = width * high * bytes + self.encoding().most().saturating_mul(copies) + 8;
        let needed = fixed.saturating_add(each);
        if needed > memory {
            let advice = "give the job more memory, or choose narrower stripes or fewer channels";
            return Err(Error::Memory {
                needed,
                limit: memory,
                advice,
            });
        }
        Ok(((memory - fixed) / each).min(self.lines()))
    }

    /// Pixels of a line that are read at once: diffusion needs the whole line.
    const fn row_pixels(&self) -> u64 {
        match self.screen {
            Some(Screen::Diffusion) => self.path.length,
            _ => self.path.stripe.0,
        }
    }
}

struct Job<'a> {
    program: &'a Program,
    source: &'a dyn Windows,
    cancel: &'a Cancel,
}

type Wrap<S> = for<'b> fn(&'b mut [S]) -> SamplesMut<'b>;

/// Memory that is used again from block to block.
#[derive(Default)]
struct State<S> {
    /// Lines of the raster as laid, packed.
    laid: Vec<S>,
    /// Samples of `laid` that belong to the run being made; what lies beyond is left from the one before.
    filled: usize,
    /// A part of a window before it is transposed.
    part: Vec<S>,
    /// The table of a pass.
    table: Option<(u32, Option<Vec<S>>)>,
    diffusion: Option<Diffused<S>>,
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

impl<S: Sample> State<S> {
    /// Makes travels of one stripe of one pass.
    fn group(
        &mut self,
        job: &Job<'_>,
        numbers: std::ops::Range<u64>,
        block: &mut Block,
        wrap: Wrap<S>,
    ) -> Result<(), Error> {
        let program = job.program;
        let travels: Vec<Travel> = numbers.map(|number| program.path.travel(number)).collect();
        let (Some(first), Some(last)) = (travels.first(), travels.last()) else {
            return Ok(());
        };
        if self.table.as_ref().is_none_or(|table| table.0 != first.pass) {
            let table = program
                .scan
                .passes
                .table(first.pass, program.raster.depth, &program.tables);
            let table = table.map(|table| table.into_iter().map(S::from_u16).collect());
            self.table = Some((first.pass, table));
        }
        // The row of `laid` at which each travel begins.
        let mut rows = Vec::with_capacity(travels.len());
        self.filled = 0;
        if program.path.is_plain() {
            rows.extend(
                travels
                    .iter()
                    .map(|travel| (travel.lines.start - first.lines.start) as usize),
            );
            self.lay(
                job,
                first.pass,
                first.pixels.clone(),
                first.lines.start..last.lines.end,
                wrap,
            )?;
        } else {
            let mut row = 0;
            for travel in &travels {
                rows.push(row);
                row += (travel.lines.end - travel.lines.start) as usize;
                self.lay(
                    job,
                    travel.pass,
                    travel.pixels.clone(),
                    travel.lines.clone(),
                    wrap,
                )?;
            }
        }
        let table = self.table.as_ref().and_then(|table| table.1.as_deref());
        let format = Format {
            program,
            table,
            laid: &self.laid,
        };
        format.travels(&travels, &rows, block);
        Ok(())
    }

    /// Appends lines to `laid`: pixels of a stripe, or for diffusion whole lines that have been screened.
    fn lay(
        &mut self,
        job: &Job<'_>,
        pass: u32,
        pixels: std::ops::Range<u64>,
        lines: std::ops::Range<u64>,
        wrap: Wrap<S>,
    ) -> Result<(), Error> {
        if !matches!(job.program.screen, Some(Screen::Diffusion)) {
            return self.read(job, (pixels.start, pixels.end), (lines.start, lines.end), wrap);
        }
        let length = job.program.path.length;
        let kept = job.program.path.swath.0;
        let fits = |done: &Diffused<S>| {
            let tail = done.tail.len() as u64 / length;
            done.pass == pass && done.next - tail <= lines.start
        };
        let mut done = match self.diffusion.take() {
            Some(done) if fits(&done) => done,
            _ => Diffused {
                pass,
                next: 0,
                state: Diffusion::new(length as usize),
                tail: Vec::new(),
            },
        };
        self.laid.truncate(self.filled);
        let base = self.filled;
        // Lines that a swath shares with the one before.
        let tail = done.tail.len() as u64 / length;
        if lines.start < done.next {
            let from = (tail - (done.next - lines.start)) * length;
            let to = (tail - (done.next - lines.end.min(done.next))) * length;
            self.laid
                .extend_from_slice(&done.tail[from as usize..to as usize]);
        }
        // Lines before the first one wanted are made and dropped, a few at a time.
        let step = lines.end - lines.start;
        while done.next < lines.end {
            let end = if done.next < lines.start {
                (done.next + step).min(lines.start)
            } else {
                lines.end
            };
            let at = self.laid.len();
            self.filled = at;
            self.read(job, (0, length), (done.next, end), wrap)?;
            let table = self.table.as_ref().and_then(|table| table.1.as_deref());
            for line in self.laid[at..].chunks_exact_mut(length as usize) {
                look_up(table, line);
                done.state.line(line);
            }
            let rows = end - done.next;
            done.next = end;
            if end <= lines.start {
                let keep = rows.min(kept) * length;
                done.tail.clear();
                done.tail
                    .extend_from_slice(&self.laid[self.laid.len() - keep as usize..]);
                self.laid.truncate(at);
                self.filled = at;
            }
        }
        self.filled = self.laid.len();
        let rows = (self.filled - base) as u64 / length;
        let keep = (rows.min(kept) * length) as usize;
        if done.next == lines.end && keep > 0 {
            done.tail.clear();
            done.tail.extend_from_slice(&self.laid[self.laid.len() - keep..]);
        }
        self.diffusion = Some(done);
        Ok(())
    }

    /// Appends pixels `i` of lines `j` to `laid`.
    fn read(&mut self, job: &Job<'_>, i: (u64, u64), j: (u64, u64), wrap: Wrap<S>) -> Result<(), Error> {
        let symmetry = job.program.symmetry;
        let raster = (job.program.raster.width, job.program.raster.height);
        let (length, count) = ((i.1 - i.0) as usize, (j.1 - j.0) as usize);
        let start = self.filled;
        self.filled = start + length * count;
        if self.laid.len() < self.filled {
            self.laid.resize(self.filled, S::ZERO);
        }
        let out = &mut self.laid[start..self.filled];
        if !symmetry.swap && !symmetry.flip_x && !symmetry.flip_y {
            job.source
                .read(symmetry.window(raster, i, j), wrap(out), job.cancel)?;
            return Ok(());
        }
        // Parts of whole lines where rows stay rows, parts along the lines where columns become lines.
        let bytes = S::DEPTH.bytes();
        let (step, along) = if symmetry.swap {
            ((PART / (count as u64 * bytes)).max(1), true)
        } else {
            ((PART / (length as u64 * bytes)).max(1), false)
        };
        let (mut at, end) = if along { i } else { j };
        while at < end {
            let to = (at + step).min(end);
            let window = if along {
                symmetry.window(raster, (at, to), j)
            } else {
                symmetry.window(raster, i, (at, to))
            };
            let size = (window.width() as usize, window.height() as usize);
            self.part.resize(size.0 * size.1, S::ZERO);
            job.source.read(window, wrap(&mut self.part), job.cancel)?;
            if along {
                symmetry.lay(&self.part, size, out, length, (at - i.0) as usize);
            } else {
                let rows = &mut out[(at - j.0) as usize * length..(to - j.0) as usize * length];
                symmetry.lay(&self.part, size, rows, length, 0);
            }
            at = to;
        }
        Ok(())
    }
}

fn look_up<S: Sample>(table: Option<&[S]>, samples: &mut [S]) {
    if let Some(table) = table {
        samples
            .iter_mut()
            .for_each(|sample| *sample = table[usize::from(sample.to_u16())]);
    }
}

/// From laid lines to the bytes of travels.
struct Format<'a, S> {
    program: &'a Program,
    table: Option<&'a [S]>,
    laid: &'a [S],
}

impl<S: Sample> Format<'_, S> {
    fn travels(&self, travels: &[Travel], rows: &[usize], block: &mut Block) {
        let packing = self.program.scan.packing;
        match self.program.encoding() {
            Encoding::Fixed(bytes) => {
                let (start, bytes) = (block.bytes.len(), bytes as usize);
                block.bytes.resize(start + bytes * travels.len(), 0);
                let outs = block.bytes[start..].par_chunks_exact_mut(bytes);
                outs.zip(travels)
                    .zip(rows)
                    .for_each_init(Vec::new, |samples, ((out, travel), &row)| {
                        if let Some(line) = self.as_laid(travel, row) {
                            packing.pack(line, out);
                        } else {
                            self.gather(travel, row, samples);
                            packing.pack(samples, out);
                        }
                    });
                block
                    .ends
                    .extend((1..=travels.len()).map(|line| start + line * bytes));
            }
            Encoding::Runs(_) => {
                let room = || (Vec::new(), runs::Room::default());
                let made: Vec<Vec<u8>> = (0..travels.len())
                    .into_par_iter()
                    .map_init(room, |(samples, room), index| {
                        self.gather(&travels[index], rows[index], samples);
                        let mut out = Vec::new();
                        runs::encode(packing, samples, room, &mut out);
                        out
                    })
                    .collect();
                for line in made {
                    block.bytes.extend_from_slice(&line);
                    block.ends.push(block.bytes.len());
                }
            }
        }
    }

    /// The samples of a travel where they are a line as it is laid.
    fn as_laid(&self, travel: &Travel, row: usize) -> Option<&[S]> {
        let program = self.program;
        let length = program.path.stripe.0;
        let whole = travel.pixels.end - travel.pixels.start == length;
        let plain = program.path.swath.0 == 1 && program.scan.overscan == (0, 0) && program.screen.is_none();
        (whole && plain && self.table.is_none() && !travel.backwards)
            .then(|| &self.laid[row * length as usize..][..length as usize])
    }

    /// The samples of a travel in the order in which it runs.
    fn gather(&self, travel: &Travel, row: usize, samples: &mut Vec<S>) {
        let program = self.program;
        let channels = program.path.swath.0 as usize;
        let (before, after) = (program.scan.overscan.0 as usize, program.scan.overscan.1 as usize);
        let width = program.path.stripe.0 as usize;
        samples.clear();
        samples.resize((before + width + after) * channels, S::ZERO);
        let inner = &mut samples[before * channels..][..width * channels];
        let diffused = matches!(program.screen, Some(Screen::Diffusion));
        let (length, from) = if diffused {
            (program.path.length as usize, travel.pixels.start as usize)
        } else {
            ((travel.pixels.end - travel.pixels.start) as usize, 0)
        };
        let pixels = (travel.pixels.end - travel.pixels.start) as usize;
        let mut screened = Vec::new();
        for (channel, line) in (travel.lines.start..travel.lines.end).enumerate() {
            let laid = &self.laid[(row + channel) * length + from..][..pixels];
            let into: &mut [S] = if channels == 1 {
                &mut inner[..pixels]
            } else {
                screened.resize(pixels, S::ZERO);
                &mut screened
            };
            into.copy_from_slice(laid);
            if !diffused {
                look_up(self.table, into);
            }
            if let Some(screen) = &program.screen {
                screen.apply(into, travel.pixels.start, line);
            }
            if channels > 1 {
                inner
                    .iter_mut()
                    .skip(channel)
                    .step_by(channels)
                    .zip(&screened)
                    .for_each(|(out, sample)| *out = *sample);
            }
        }
        if travel.backwards {
            inner.reverse();
            if channels > 1 {
                // Positions change places, the channels of a position do not.
                inner.chunks_exact_mut(channels).for_each(<[S]>::reverse);
            }
        }
    }
}
