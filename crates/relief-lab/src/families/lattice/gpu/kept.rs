//! Cells and patterns as production has them: folded on the host and stored before the raster is computed.

use std::sync::{Mutex, PoisonError};

use relief_kernels::device::{Buffer, Gpu};
use relief_kernels::fused::{Cell, CellLayout, Plane};
use relief_raster::Depth;

use super::super::Copies;
use super::super::cpu::{cell_words, fold};
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

/// The cell of a pattern, folded on the host.
pub(super) fn cell(gpu: &Gpu, copies: &Copies, bytes: &[u8]) -> Outcome<Cell> {
    let (period, (width, height)) = (copies.period(), copies.size);
    let count = period.cell() as usize;
    let mut cell = vec![0; count];
    fold(
        copies,
        &bytes[..width * height],
        &mut cell,
        &mut vec![0; cell_words(copies)],
    );
    let layout = CellLayout::fitting(count as u64, 8);
    Ok(Cell::upload::<u8>(gpu, &cell, period, layout)?)
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
