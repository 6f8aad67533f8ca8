//! Cells and patterns as production has them: folded on the host and stored before the raster is computed.

use std::sync::{Mutex, PoisonError};

use relief_kernels::device::{Buffer, Gpu};
use relief_kernels::fused::{Cell, CellLayout, Plane};
use relief_raster::{Depth, Period};

use super::super::cpu::fold;
use super::super::{Blended, Copies};
use crate::family::{Failure, Outcome};
use crate::measure::MOST_SETS;

/// What was made of patterns last, as many as are used in turn, by the pattern's memory and the lattice.
pub(super) struct Kept<T>(Mutex<Vec<(Buffer, Lattice, T)>>);

type Lattice = ((i64, i64), (i64, i64), (i64, i64));

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Kept<T> {
    /// What `make` makes of the bytes of a pattern, now or before.
    pub(super) fn of(
        &self,
        gpu: &Gpu,
        copies: &Copies,
        pattern: &Buffer,
        make: impl FnOnce(&[u8]) -> Outcome<T>,
    ) -> Outcome<T> {
        let lattice = (copies.offset, copies.u, copies.v);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(buffer, known, _): &&(Buffer, Lattice, T)| buffer.same(pattern) && *known == lattice;
        if let Some((_, _, made)) = kept.iter().find(same) {
            return Ok(made.clone());
        }
        let made = make(&gpu.read(pattern, pattern.words()).wait()?)?;
        kept.truncate(MOST_SETS - 1);
        kept.insert(0, (pattern.clone(), lattice, made.clone()));
        Ok(made)
    }
}

/// The cell of a pattern of samples of so many bits, folded on the host.
pub(super) fn cell(gpu: &Gpu, copies: &Copies, bytes: &[u8], bits: u32) -> Outcome<Cell> {
    if bits == 8 {
        return stored(gpu, copies, bytes);
    }
    // What is read back has the alignment of bytes.
    stored::<f32>(gpu, copies, &bytemuck::pod_collect_to_vec(bytes))
}

/// A pattern of bytes whose rows begin with words.
pub(super) fn plane(gpu: &Gpu, copies: &Copies, bytes: &[u8]) -> Outcome<Plane> {
    let (width, height) = copies.size;
    let pitch = width.div_ceil(4);
    let mut words = vec![0_u32; pitch * height];
    for (row, to) in bytes.chunks_exact(width).zip(words.chunks_mut(pitch)) {
        bytemuck::cast_slice_mut::<u32, u8>(to)[..width].copy_from_slice(row);
    }
    let buffer = gpu.upload(&words)?;
    let (pitch, width, height) = (pitch as u32, width as u32, height as u32);
    let plane = Plane::new(buffer, 0, pitch, width, height, Depth::Eight);
    plane.ok_or_else(|| Failure::Failed("a pattern of nothing".to_owned()))
}

fn stored<T: Blended>(gpu: &Gpu, copies: &Copies, pattern: &[T]) -> Outcome<Cell> {
    let period = copies.period();
    let count = period.cell() as usize;
    let (mut sums, mut counts) = (vec![T::Sum::default(); count], vec![0; count]);
    let (width, height) = copies.size;
    fold(copies, &pattern[..width * height], &mut sums, &mut counts);
    let means = sums.iter().zip(&counts).map(|(sum, n)| T::mean(*sum, *n));
    let cell: Vec<T> = means.collect();
    if size_of::<T>() == 1 {
        let layout = CellLayout::fitting(count as u64, 8);
        let cell = bytemuck::cast_slice(&cell);
        return Ok(Cell::upload::<u8>(gpu, cell, period, layout)?);
    }
    let along = |columns: u64| 2 * columns as i64;
    let halves = Period::spanned((along(period.a()), 0), (along(period.b()), period.c() as i64));
    let halves = halves.ok_or_else(|| Failure::Unsupported("too large a cell".to_owned()))?;
    let layout = CellLayout::fitting(2 * count as u64, 16);
    let cell = bytemuck::cast_slice(&cell);
    Ok(Cell::upload::<u16>(gpu, cell, halves, layout)?)
}
