//! Periodic planes: one cell, stored so that no read of a row ever wraps.

use relief_raster::{Depth, Period, Sample, View};

use crate::device::{Buffer, DeviceError, Gpu};

/// How a cell is stored. The more copies, the fewer instructions and the more cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CellLayout {
    /// Once; words that begin inside a stored word are put together from two.
    Single,
    /// As often as samples fit in a word, each copy shifted by one sample more.
    Words,
    /// As often as samples fit in 16 bytes, each copy shifted by one sample more.
    Vectors,
}

impl CellLayout {
    /// The layout that was fastest for cells of this many samples of `bits` bits.
    #[must_use]
    pub const fn fitting(samples: u64, bits: u32) -> Self {
        // All copies have to stay in the caches near the units to pay.
        let bytes = samples * bits as u64 / 8;
        if bytes * (128 / bits as u64) <= 1 << 20 {
            Self::Vectors
        } else if bytes * (32 / bits as u64) <= 16 << 20 {
            Self::Words
        } else {
            Self::Single
        }
    }

    /// How often a device holds the cell, each copy a sample further on.
    #[must_use]
    pub const fn copies(self, bits: u32) -> u32 {
        match self {
            Self::Single => 1,
            Self::Words => 32 / bits,
            Self::Vectors => 128 / bits,
        }
    }
}

/// One cell of a periodic raster on a device.
#[derive(Clone, Debug)]
pub struct Cell {
    pub(super) buffer: Buffer,
    pub(super) period: Period,
    pub(super) layout: CellLayout,
    /// Of its samples.
    pub(super) depth: Depth,
    /// Columns of a stored row: a multiple of the period's a, at least 16.
    pub(super) width: u32,
    /// Words from one row to the next.
    pub(super) pitch: u32,
    /// Words from one copy to the next.
    pub(super) copy: u32,
}

/// The fewest columns of a stored row: what a unit reads at once.
const MIN_WIDTH: u64 = 16;

impl Cell {
    /// The words that [`upload`](Self::upload) takes for a cell of this period, or `None` where they are too many for
    /// 32 bits.
    #[must_use]
    pub fn words(period: Period, layout: CellLayout, bits: u32) -> Option<u32> {
        let (_, pitch) = row(period.a(), layout, bits)?;
        let words = u64::from(pitch)
            .checked_mul(period.c())?
            .checked_mul(u64::from(layout.copies(bits)))?;
        u32::try_from(words).ok()
    }

    /// Stores the cell whose row y is `samples[y·a..][..a]`, with a and c those of the period.
    ///
    /// # Errors
    /// Where it does not fit the device.
    ///
    /// # Panics
    /// Where `samples` is not one cell.
    pub fn upload<S: Sample>(
        gpu: &Gpu,
        samples: &[S],
        period: Period,
        layout: CellLayout,
    ) -> Result<Self, DeviceError> {
        assert_eq!(samples.len() as u128, period.cell(), "samples of one cell");
        gpu.at_most("columns of a cell", 1_u64 << 29, period.a())?;
        let bits = S::DEPTH.bits();
        let words = period.cell() * u128::from(layout.copies(bits) * bits) / 32;
        let too_large = || DeviceError::Limit {
            device: gpu.id(),
            what: "words of a cell",
            limit: u32::MAX.into(),
            asked: u64::try_from(words).unwrap_or(u64::MAX),
        };
        // A cell whose samples are there has sides that fit.
        let pattern = View::packed(samples, period.a() as usize, period.c() as usize);
        PackedCell::new(pattern, period, layout)
            .ok_or_else(too_large)?
            .upload(gpu)
    }

    /// How it is stored.
    #[must_use]
    pub const fn layout(&self) -> CellLayout {
        self.layout
    }

    /// The bits of a sample.
    #[must_use]
    pub const fn depth(&self) -> Depth {
        self.depth
    }
}

/// The words of a cell as a device stores them, still on the host.
#[derive(Debug)]
pub struct PackedCell {
    packed: Vec<u32>,
    period: Period,
    layout: CellLayout,
    depth: Depth,
    width: u32,
    pitch: u32,
    copy: u32,
}

impl PackedCell {
    /// Packs the cell that has `pattern` at its top-left and 0 elsewhere. `None` where it has too many words for 32 bits.
    ///
    /// # Panics
    /// Where the pattern is larger than a cell.
    #[must_use]
    pub fn new<S: Sample>(pattern: View<'_, S>, period: Period, layout: CellLayout) -> Option<Self> {
        let fits = pattern.width() as u64 <= period.a() && pattern.height() as u64 <= period.c();
        assert!(fits, "a pattern of at most one cell");
        let bits = size_of::<S>() as u32 * 8;
        let (width, pitch) = row(period.a(), layout, bits)?;
        let words = Cell::words(period, layout, bits)?;
        let copies = layout.copies(bits);
        let copy = words / copies;
        let mut packed = vec![0_u32; words as usize];
        let stored: &mut [S] = bytemuck::cast_slice_mut(&mut packed);
        let columns = pitch as usize * 32 / bits as usize;
        // `row` has bounded a.
        let a = period.a() as usize;
        for (line, stored) in stored.chunks_exact_mut(columns).enumerate() {
            let (shift, y) = (line as u64 / period.c(), line as u64 % period.c());
            if y < pattern.height() as u64 {
                repeat(pattern.row(y as usize), a, shift as usize, stored);
            }
        }
        // Samples were stored as they follow each other; words have the first of them in their lowest bits.
        if cfg!(target_endian = "big") {
            packed.iter_mut().for_each(|word| *word = reversed::<S>(*word));
        }
        Some(Self {
            packed,
            period,
            layout,
            depth: S::DEPTH,
            width,
            pitch,
            copy,
        })
    }

    /// Copies it to a device.
    ///
    /// # Errors
    /// Where it does not fit the device.
    pub fn upload(&self, gpu: &Gpu) -> Result<Cell, DeviceError> {
        Ok(Cell {
            buffer: gpu.upload(&self.packed)?,
            period: self.period,
            layout: self.layout,
            depth: self.depth,
            width: self.width,
            pitch: self.pitch,
            copy: self.copy,
        })
    }
}

/// Stores the row that repeats `pattern` every `a` samples, with 0 up to the next, from sample `shift` of it on. `stored` is all 0.
fn repeat<S: Sample>(pattern: &[S], a: usize, shift: usize, stored: &mut [S]) {
    let mut from = shift % a;
    let mut rest = stored;
    while !rest.is_empty() {
        let (turn, after) = rest.split_at_mut((a - from).min(rest.len()));
        let part = pattern.get(from..).unwrap_or_default();
        let known = part.len().min(turn.len());
        turn[..known].copy_from_slice(&part[..known]);
        (from, rest) = (0, after);
    }
}

/// The columns of a stored row, and its words.
fn row(a: u64, layout: CellLayout, bits: u32) -> Option<(u32, u32)> {
    let width = a.checked_mul(MIN_WIDTH.div_ceil(a))?;
    // Columns and a step are added before they wrap, in 32 bits.
    if width > 1 << 29 {
        return None;
    }
    let width = width as u32;
    let pitch = match layout {
        CellLayout::Single => width.div_ceil(32 / bits) + 1,
        CellLayout::Words => width.div_ceil(32 / bits),
        CellLayout::Vectors => width.div_ceil(128 / bits) * 4,
    };
    Some((width, pitch))
}

/// The word whose samples stand in the other order.
fn reversed<S: Sample>(word: u32) -> u32 {
    if size_of::<S>() == 1 {
        word.swap_bytes()
    } else {
        word.rotate_left(16)
    }
}
