//! From laid lines to the bytes of travels.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use relief_engine::Workers;
use relief_raster::Sample;

use crate::halftone::Screen;
use crate::packing::Pack;
use crate::path::Travel;
use crate::program::{Encoding, Program};
use crate::runs;

use super::{Block, look_up};

/// Lines as they are laid, and what makes travels of them.
pub(super) struct Format<'a, S> {
    pub(super) program: &'a Program,
    /// The table of the pass, where the lines have not gone through it yet.
    pub(super) table: Option<&'a [S]>,
    pub(super) laid: &'a [S],
}

/// What one thread packs in; kept from block to block.
#[derive(Default)]
pub(super) struct Room<S> {
    samples: Vec<S>,
    channel: Vec<S>,
    runs: runs::Room,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// Does every job, on the threads given where there are several jobs and threads.
fn each<T: Send>(workers: Option<&Workers>, jobs: impl Iterator<Item = T>, work: impl Fn(T) + Send + Sync) {
    let jobs: Vec<T> = jobs.collect();
    match workers {
        Some(workers) if jobs.len() > 1 && workers.threads() > 1 => {
            workers.run(|| jobs.into_par_iter().for_each(work));
        }
        _ => jobs.into_iter().for_each(work),
    }
}

impl<S: Sample> Format<'_, S> {
    /// Appends travels to a block; `rows` says where each begins in what is laid.
    pub(super) fn travels(
        &self,
        travels: &[Travel],
        rows: &[usize],
        rooms: &mut Vec<Room<S>>,
        (threads, workers): (usize, Option<&Workers>),
        block: &mut Block,
    ) {
        rooms.resize_with(threads, Room::default);
        let share = travels.len().div_ceil(threads).max(1);
        let jobs = travels
            .chunks(share)
            .zip(rows.chunks(share))
            .zip(rooms.iter_mut());
        block.ends.reserve_exact(travels.len());
        match self.program.encoding() {
            Encoding::Fixed(bytes) => {
                let (start, bytes) = (block.bytes.len(), bytes as usize);
                block.bytes.reserve_exact(bytes * travels.len());
                block.bytes.resize(start + bytes * travels.len(), 0);
                let outs = block.bytes[start..].chunks_mut(bytes * share);
                each(workers, jobs.zip(outs), |(((travels, rows), room), out)| {
                    for ((travel, &row), out) in travels.iter().zip(rows).zip(out.chunks_exact_mut(bytes)) {
                        self.packed(travel, row, room, out);
                    }
                });
                block
                    .ends
                    .extend((1..=travels.len()).map(|line| start + line * bytes));
            }
            Encoding::Runs(most) => {
                each(workers, jobs, |((travels, rows), room)| {
                    self.as_runs(travels, rows, room, most as usize);
                });
                let used = travels.len().div_ceil(share);
                let total = rooms[..used].iter().map(|room| room.bytes.len()).sum();
                block.bytes.reserve_exact(total);
                for room in &rooms[..used] {
                    let start = block.bytes.len();
                    block.bytes.extend_from_slice(&room.bytes);
                    block.ends.extend(room.ends.iter().map(|end| start + end));
                }
            }
        }
    }

    fn packed(&self, travel: &Travel, row: usize, room: &mut Room<S>, out: &mut [u8]) {
        let packing = self.program.scan.packing;
        if let Some(line) = self.as_laid(travel, row) {
            packing.pack(line, out);
        } else {
            self.gather(travel, row, room);
            packing.pack(&room.samples, out);
        }
    }

    fn as_runs(&self, travels: &[Travel], rows: &[usize], room: &mut Room<S>, most: usize) {
        room.bytes.clear();
        room.ends.clear();
        room.bytes.reserve_exact(most * travels.len());
        for (travel, &row) in travels.iter().zip(rows) {
            self.gather(travel, row, room);
            runs::encode(
                self.program.scan.packing,
                &room.samples,
                &mut room.runs,
                &mut room.bytes,
            );
            room.ends.push(room.bytes.len());
        }
    }

    /// The samples of a travel where they are a line as it is laid.
    fn as_laid(&self, travel: &Travel, row: usize) -> Option<&[S]> {
        let program = self.program;
        let length = program.wide();
        let whole = travel.pixels.end - travel.pixels.start == length;
        let plain = program.high() == 1 && program.scan.overscan == (0, 0) && program.screen.is_none();
        (whole && plain && self.table.is_none() && !travel.backwards)
            .then(|| &self.laid[row * length as usize..][..length as usize])
    }

    /// The samples of a travel in the order in which it runs.
    fn gather(&self, travel: &Travel, row: usize, room: &mut Room<S>) {
        let program = self.program;
        let channels = program.high() as usize;
        let (before, after) = (program.scan.overscan.0 as usize, program.scan.overscan.1 as usize);
        let width = program.wide() as usize;
        let Room {
            samples,
            channel: line,
            ..
        } = room;
        samples.clear();
        samples.reserve_exact((before + width + after) * channels);
        samples.resize((before + width + after) * channels, S::ZERO);
        let inner = &mut samples[before * channels..][..width * channels];
        let pixels = (travel.pixels.end - travel.pixels.start) as usize;
        // Diffusion has laid whole lines, everything else the pixels of the stripe.
        let (length, from) = match program.screen {
            Some(Screen::Diffusion(_)) => {
                let length = program.layout(travel.pass).path.length;
                (length as usize, travel.pixels.start as usize)
            }
            _ => (pixels, 0),
        };
        for (number, j) in (travel.lines.start..travel.lines.end).enumerate() {
            let laid = &self.laid[(row + number) * length + from..][..pixels];
            let into: &mut [S] = if channels == 1 {
                &mut inner[..pixels]
            } else {
                line.resize(pixels, S::ZERO);
                line
            };
            into.copy_from_slice(laid);
            look_up(self.table, into);
            if let Some(screen) = &program.screen {
                screen.apply(into, travel.pixels.start, j);
            }
            if channels > 1 {
                let places = inner.iter_mut().skip(number).step_by(channels);
                places.zip(&*line).for_each(|(out, sample)| *out = *sample);
            }
        }
        if travel.backwards {
            inner.reverse();
            if channels > 1 {
                // Positions change places, the channels of a position do not.
                inner.chunks_exact_mut(channels).for_each(<[S]>::reverse);
            }
            shift(samples, channels, program.return_offset());
        }
    }
}

/// Moves positions by so many 256ths further. Between two positions lies their mean, weighted, rounded half up; what is beyond the
/// line is blank.
fn shift<S: Sample>(samples: &mut [S], channels: usize, offset: i64) {
    if offset == 0 {
        return;
    }
    let (whole, part) = (offset.div_euclid(256), offset.rem_euclid(256) as u32);
    let count = (samples.len() / channels) as i64;
    let position = |samples: &mut [S], to: i64| {
        for channel in 0..channels {
            let at = |from: i64| {
                if (0..count).contains(&from) {
                    u32::from(samples[from as usize * channels + channel].to_u16())
                } else {
                    0
                }
            };
            let (here, before) = (at(to - whole), at(to - whole - 1));
            let mean = ((256 - part) * here + part * before + 128) >> 8;
            // Between two samples.
            samples[to as usize * channels + channel] = S::from_u16(mean as u16);
        }
    };
    // What is read must not be written yet.
    if whole >= 0 {
        (0..count).rev().for_each(|to| position(samples, to));
    } else {
        (0..count).for_each(|to| position(samples, to));
    }
}
