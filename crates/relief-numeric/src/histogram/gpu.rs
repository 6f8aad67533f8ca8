//! Histograms on a device.
//!
//! Bytes: a cube (block) keeps a counter for each value and each lane in shared memory, counter v of lane l
//! at 32·v + l. So the lanes of a plane (warp) always add in different banks, whatever the samples are, and
//! planes share their counters by atomic additions. A vector of 16 equal bytes is one addition. Cubes stay
//! for the whole input, then add up their lanes' counters and write them out; a second launch adds up the
//! cubes'.
//!
//! Words of 16 bits: 65 536 counters of 32 bits exceed shared memory. Of 16 bits they do not where a cube may
//! have 128 KiB of it, as on CUDA: two counters share a word, and who sees his counter wrap around notes that
//! in memory, which happens once in 65 536 additions to it. Where there is less shared memory a cube counts
//! only some of the values, and cubes that run side by side read the same samples, all but one of them from
//! the cache.
//!
//! On software Vulkan shared memory is memory as any other, and additions in the counts themselves cost no
//! more: words of 16 bits are counted there, in one launch, and bytes with one counter for each value and
//! cube.

use std::fmt;

use cubecl::prelude::*;

use crate::look_back::zero;
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, cubes, launch, on_client, start};
use relief_kernels::policy::{self, Space, Tuning};

pub mod even;
mod kernel;

/// Samples on a device.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// Where they lie, packed from the first word on.
    pub buffer: &'a Buffer,
    /// Bits of a sample: 8 or 16.
    pub bits: u32,
    /// How many there are.
    pub len: u64,
}

/// The layouts of [`histogram_with`]: items are vectors that a unit loads before it counts.
pub const SPACE: Space = Space {
    units: &[256, 512, 1024],
    items: &[1, 2, 4, 8],
    vectors: &[4],
};

/// The layout for bytes where no other was found.
pub const DEFAULT: Tuning = Tuning {
    units: 512,
    items: 4,
    vector: 4,
};

/// The layout for words of 16 bits where no other was found: their counters leave room for one cube on a multiprocessor, or
/// for two.
pub const DEFAULT_OF_WORDS: Tuning = Tuning {
    units: 1_024,
    items: 2,
    vector: 4,
};

/// The layout for samples of so many bits where no other was found.
#[must_use]
pub const fn default(bits: u32) -> Tuning {
    match bits {
        8 => DEFAULT,
        _ => DEFAULT_OF_WORDS,
    }
}

/// What the kernel for samples of so many bits is called in policy files.
#[must_use]
pub const fn name(bits: u32) -> &'static str {
    match bits {
        8 => "histogram 8",
        _ => "histogram 16",
    }
}

/// Words of the counts of samples of so many bits: two for each value, the lower first.
///
/// # Panics
/// For samples of more than 16 bits, of which nothing here counts the values.
#[must_use]
pub const fn count_words(bits: u32) -> usize {
    assert!(bits <= 16, "samples have 16 bits at most");
    2 << bits
}

/// What a cube counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// A counter of 32 bits for each value and each lane; for bytes.
    Lanes,
    /// A counter of 8, 16 or 32 bits for each of as many values as fit so many bytes of shared memory. Cubes share the values among
    /// them where these are not all.
    Values {
        /// Bits of a counter.
        bits: u32,
        /// Bytes of shared memory, a power of two.
        bytes: u32,
    },
    /// The counts themselves, in memory.
    Memory,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lanes => write!(f, "a counter for each value and lane"),
            Self::Values { bits, bytes } => write!(f, "counters of {bits} bits in {bytes} bytes"),
            Self::Memory => write!(f, "counters in memory"),
        }
    }
}

impl Route {
    /// Counters of 32 bits for an eighth of the values of words of 16 bits, which every device has room for.
    pub const EIGHTHS: Self = Self::Values {
        bits: 32,
        bytes: 32 << 10,
    };

    /// Counters of 32 bits for each byte, shared by a cube.
    const SHARED: Self = Self::Values {
        bits: 32,
        bytes: 4 << 8,
    };

    /// Counters of 32 bits for half of the values of words of 16 bits.
    const HALVES: Self = Self::Values {
        bits: 32,
        bytes: 128 << 10,
    };

    /// The route for so many samples of so many bits.
    #[must_use]
    pub fn fitting(gpu: &Gpu, bits: u32, len: u64) -> Self {
        let whole = 2 << 16;
        match bits {
            8 if gpu.report().software => Self::SHARED,
            _ if gpu.report().software => Self::Memory,
            8 => Self::Lanes,
            // Reading few samples twice takes less time than noting which counters wrap around.
            _ if gpu.most_shared_memory() >= whole && len < 1 << 25 => Self::HALVES,
            _ if gpu.most_shared_memory() >= whole => Self::Values {
                bits: 16,
                bytes: whole,
            },
            _ => Self::EIGHTHS,
        }
    }
}

/// The most cubes that count the same values.
const CUBES: u64 = 1_024;

/// Words of scratch for so many samples.
#[must_use]
pub const fn scratch_words(bits: u32, len: u64) -> u64 {
    // A row more for what counters of fewer bits could not hold.
    ((rows(bits, len) + 1) << bits).next_multiple_of(4)
}

/// How many cubes may count the same values of so many samples.
const fn rows(bits: u32, len: u64) -> u64 {
    // More than this many samples for each row of counters that is written and read again.
    let rows = len.div_ceil(if bits == 8 { 1 << 12 } else { 1 << 17 });
    let most = if bits == 8 { CUBES } else { CUBES / 4 };
    if rows == 0 {
        1
    } else if rows < most {
        rows
    } else {
        most
    }
}

/// Bytes of samples of one launch.
const PART: u64 = 1 << 31;

/// Counts how often each value occurs.
///
/// # Errors
/// Where the device fails; where samples have other than 8 or 16 bits, or the buffers do not hold them, [`count_words`] or
/// [`scratch_words`]; and where the samples are of nearly 2^32 words or more.
pub fn histogram(
    gpu: &Gpu,
    samples: Samples<'_>,
    counts: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let tuning = policy::tuning(gpu.report(), name(samples.bits), &SPACE, default(samples.bits));
    let by = |route| histogram_with(gpu, tuning, route, samples, counts, scratch);
    match by(Route::fitting(gpu, samples.bits, samples.len)) {
        // What a device says it has in shared memory, its compiler or driver may still refuse.
        Err(DeviceError::Compilation { .. } | DeviceError::NotRun { .. }) if samples.bits == 16 => {
            by(Route::EIGHTHS)
        }
        result => result,
    }
}

/// [`histogram`] by this route and with another layout.
///
/// # Errors
/// As [`histogram`], where the layout is not of [`SPACE`], and where a cube has not as much shared memory as the route takes.
pub fn histogram_with(
    gpu: &Gpu,
    tuning: Tuning,
    route: Route,
    samples: Samples<'_>,
    counts: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let Samples { buffer, bits, len } = samples;
    gpu.check_layout(&SPACE, tuning)?;
    if !matches!(bits, 8 | 16) {
        return Err(gpu.no_kind("a histogram", "samples of 8 or 16 bits", format!("{bits} bits")));
    }
    let words = len.saturating_mul(u64::from(bits)).div_ceil(128) * 4;
    gpu.count_words(words, &[("the samples", buffer)])?;
    gpu.holds("the counts", counts, count_words(bits) as u64)?;
    gpu.holds("scratch memory", scratch, scratch_words(bits, len))?;
    let part_samples = PART * 8 / u64::from(bits);
    for part in 0..len.div_ceil(part_samples).max(1) {
        let launch = Launch {
            route,
            shape: Shape::of(gpu, tuning, route, bits)?,
            from: gpu.rest("the samples", buffer, part * PART / 4)?,
            len: (len - part * part_samples).min(part_samples),
            first: part == 0,
            counts,
            scratch,
        };
        launch.run(gpu)?;
    }
    Ok(())
}

/// What is compiled into the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    bits: u32,
    units: u32,
    items: u32,
    /// Values that a cube counts; a power of two.
    values: u32,
    /// Counters for each of them; a power of two.
    copies: u32,
    /// Counters of a word.
    fields: u32,
    /// Units of a plane; 1 where planes differ.
    lanes: u32,
}

impl Shape {
    fn of(gpu: &Gpu, tuning: Tuning, route: Route, bits: u32) -> Result<Self, DeviceError> {
        let shared = gpu.most_shared_memory();
        let (values, copies, fields) = match route {
            Route::Lanes if bits == 8 => {
                let words = gpu.report().shared_memory / 4;
                let fitting = [32, 16, 8, 4, 2, 1].into_iter().find(|n| 256 * n <= words);
                (256, fitting.unwrap_or(0), 1)
            }
            Route::Values {
                bits: of @ (8 | 16 | 32),
                bytes,
            } if bytes.is_power_of_two() && (256..=shared).contains(&bytes) => {
                ((8 * bytes / of).min(1 << bits), 1, 32 / of)
            }
            Route::Memory => (1 << bits, 1, 1),
            _ => (0, 0, 1),
        };
        if copies == 0 {
            return Err(gpu.unsupported(format!(
                "a histogram of {bits} bits with {route} where a cube has {shared} bytes of shared memory"
            )));
        }
        let (least, most) = gpu.report().plane;
        Ok(Self {
            bits,
            units: tuning.units,
            items: tuning.items,
            values,
            copies,
            fields,
            lanes: if least == most && tuning.units.is_multiple_of(most) {
                most
            } else {
                1
            },
        })
    }

    /// Bits of a counter.
    const fn width(&self) -> u32 {
        32 / self.fields
    }

    /// Words of counters.
    const fn words(&self) -> u32 {
        self.values / self.fields * self.copies
    }

    /// Whether one lane adds for a plane of equal samples: where lanes share counters, and these hold as much.
    const fn together(&self) -> bool {
        self.copies == 1 && self.lanes > 1 && 128 / self.bits * self.lanes < 1 << (self.width() - 1)
    }

    /// Cubes that share the values among them.
    const fn slices(&self) -> u32 {
        (1 << self.bits) / self.values
    }
}

struct Launch<'a> {
    route: Route,
    shape: Shape,
    from: Buffer,
    len: u64,
    first: bool,
    counts: &'a Buffer,
    scratch: &'a Buffer,
}

/// Units of a cube that adds up, and bins that it adds up at a time.
const UNITS: u32 = 256;
const BINS: u32 = 8;

impl Launch<'_> {
    /// What adds to the counts is launched by itself: it has not run where counting does not, and another route may be tried.
    fn run(&self, gpu: &Gpu) -> Result<(), DeviceError> {
        let samples = Operand::read("the samples", &self.from);
        // Whichever route is taken.
        gpu.check_memory(&[
            samples,
            Operand::update("the counts", self.counts),
            Operand::update("scratch memory", self.scratch),
        ])?;
        if self.route == Route::Memory {
            if self.first {
                relief_kernels::copy::gpu::fill(gpu, self.counts, 2 << self.shape.bits, 0)?;
            }
            let counts = Operand::update("the counts", self.counts);
            let Shape {
                bits, units, items, ..
            } = self.shape;
            let vectors = self.vectors();
            // One vector more, which may be a part.
            let grid = cubes(gpu, (vectors as u32 + 1).div_ceil(units * items));
            // SAFETY: places of vectors are compared with `vectors`, which are whole; the one after them is read where samples
            // are left, which it holds. The counts were checked to hold two words for each value.
            return launch!(
                gpu, "histogram in memory", &self.shape, &[samples, counts], (grid, CubeDim::new_1d(units)),
                unsafe kernel::count_in_memory(
                    4, self.from.array(4), self.counts.array(1), vectors as u32,
                    (self.len % u64::from(128 / bits)) as u32, self.shape));
        }
        let rows = self.rows(gpu, self.vectors());
        let counts = match self.first {
            true => Operand::write("the counts", self.counts),
            false => Operand::update("the counts", self.counts),
        };
        let Shape { bits, units, .. } = self.shape;
        let vectors = self.vectors();
        let wraps = (self.shape.fields > 1)
            .then(|| self.scratch.part((rows as usize) << bits, 1 << bits))
            .flatten();
        let grid = cubes(gpu, rows * self.shape.slices());
        // SAFETY: places of vectors are compared with `vectors`, which are whole; the one after them is read where samples
        // are left, which it holds. A row has a counter for each value, and scratch was checked to hold one more than `rows`.
        let memory = [samples, Operand::write("scratch memory", self.scratch)];
        gpu.launch("histogram", &self.shape, &memory, || {
            on_client!(gpu, client => {
                if let Some(row) = &wraps {
                    zero(gpu, client, row, 1 << bits);
                }
                start!(client, (grid.clone(), CubeDim::new_1d(units)), unsafe kernel::count(
                    4, self.from.array(4), self.scratch.array(1), self.scratch.array(1), vectors as u32,
                    (self.len % u64::from(128 / bits)) as u32, rows, self.shape));
            });
        })?;
        // SAFETY: scratch was checked to hold one row more than `rows` of a counter for each value, and the counts two words.
        launch!(
            gpu, "histogram sums", &bits, &[Operand::read("scratch memory", self.scratch), counts],
            (CubeCount::Static((1 << bits) / BINS, 1, 1), CubeDim::new_1d(UNITS)),
            unsafe kernel::add_up(
                self.scratch.array(1), self.counts.array(1), rows + u32::from(self.shape.fields > 1),
                u32::from(self.first), 1 << bits, UNITS, BINS))
    }

    /// Whole vectors of the samples.
    fn vectors(&self) -> u64 {
        self.len * u64::from(self.shape.bits) / 128
    }

    /// Cubes that count the same values: as many as the device runs at once, but no more than pay.
    fn rows(&self, gpu: &Gpu, vectors: u64) -> u32 {
        /// Shared memory that the cubes of a multiprocessor have together, at most.
        const SHARED: u32 = 220 << 10;
        let bytes = self.shape.words() * 4 + (1 << 10);
        let together = (2_048 / self.shape.units).min(SHARED / bytes).max(1);
        let wanted = u64::from(gpu.multiprocessors() * together / self.shape.slices()).max(1);
        let chunks = vectors.div_ceil(u64::from(self.shape.units * self.shape.items));
        wanted.min(chunks).min(rows(self.shape.bits, self.len)).max(1) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_of_tests;

    /// As those of a later part of samples that one launch does not take.
    #[test]
    fn counts_go_on_beyond_32_bits_by_every_route() {
        let Some(gpu) = device_of_tests() else { return };
        let samples = gpu.upload(&[0x0007_0007; 48]).unwrap();
        let scratch = gpu.buffer(scratch_words(16, 95) as usize).unwrap();
        let mut before = vec![0; count_words(16)];
        before[14] = u32::MAX - 4;
        before[15] = 2;
        before[16] = 5;
        for route in [Route::Memory, Route::EIGHTHS] {
            let counts = gpu.upload(&before).unwrap();
            let launch = Launch {
                route,
                shape: Shape::of(&gpu, DEFAULT_OF_WORDS, route, 16).unwrap(),
                from: samples.clone(),
                len: 95,
                first: false,
                counts: &counts,
                scratch: &scratch,
            };
            launch.run(&gpu).unwrap();
            let found = gpu.read(&counts, 20).wait().unwrap();
            assert_eq!(found[56..60], 90_u32.to_le_bytes(), "{route}");
            assert_eq!(found[60..64], 3_u32.to_le_bytes(), "{route}");
            assert_eq!(found[64..68], 5_u32.to_le_bytes(), "{route}");
        }
    }
}
