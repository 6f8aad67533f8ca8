//! What a device holds for the whole job: pictures, cells, tables.

use std::collections::HashMap;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use relief_kernels::device::{DeviceError, Gpu};
use relief_kernels::fused::{Cell, PackedCell, Plane, Table};
use relief_raster::{Period, Rect, Sample, View};

use crate::cpu::{Store, samples_of};
use crate::node::device::{Lowering, Upload};
use crate::plan::planes::{cell_of_child, layout, reached, row_words};
use crate::program::{Keep, Program};

/// Words of a picture or a cell that kernels can count.
const MOST_WORDS: u64 = 1 << 32;

/// Columns of a cell that kernels can add a step to.
const MOST_COLUMNS: u64 = 1 << 29;

/// Samples of one node on a device.
pub(super) enum Resident {
    /// The same sample everywhere in the rectangle.
    Uniform(u16),
    /// Packed rows of the rectangle.
    Plane(Plane, Rect),
    /// A cell whose top-left lies at (x, y).
    Cell(Cell, i64, i64),
}

/// Everything that stays on one device.
pub(super) struct Residents {
    /// By the number of the node.
    pub(super) planes: Vec<Option<Resident>>,
    /// By the number of the table.
    pub(super) tables: Vec<Option<Table>>,
    /// What preparations gave, by the number of the node.
    pub(super) prepared: Vec<Option<Table>>,
    /// What kernels of nodes read, by the number of the node.
    pub(super) uploads: Vec<Option<Upload>>,
}

/// What a cell on a device is made of.
struct Source<'a, S> {
    /// From the cell's top-left on; it is 0 elsewhere.
    pattern: View<'a, S>,
    period: Period,
    /// Where the cell's top-left lies.
    place: (i64, i64),
}

impl<'a, S: Sample> Source<'a, S> {
    /// That of a node which lies on devices as a cell.
    fn of(program: &Program, store: &'a Store<S>, index: usize) -> Option<Self> {
        let step = &program.steps[index];
        if let (Keep::Cell { period, valid }, Some(plane)) = (step.keep, store.planes[index].get()) {
            return plane.uniform.is_none().then(|| Self {
                pattern: plane.view(),
                period,
                place: (valid.x(), valid.y()),
            });
        }
        let period = cell_of_child(program, index)?;
        let link = step.links.first()?;
        Some(Self {
            pattern: store.pattern(program, link.node)?,
            period,
            place: (link.extent.x(), link.extent.y()),
        })
    }

    fn pack(&self) -> Option<PackedCell> {
        PackedCell::new(self.pattern, self.period, layout::<S>(self.period))
    }
}

/// Cells, packed while devices start: for tens of megabytes that takes longer than to copy them. They take the memory of the bands,
/// of which there is none yet; cells beyond it are packed one by one on their way.
#[derive(Default)]
pub(super) struct Ahead {
    /// By the number of the node.
    cells: Vec<Option<PackedCell>>,
}

impl Ahead {
    /// Packs at most `bytes`.
    pub(super) fn pack<S: Sample>(program: &Program, store: &Store<S>, bytes: u64) -> Self {
        let mut left = bytes;
        let mut fitting = |source: &Source<'_, S>| {
            let words = Cell::words(source.period, layout::<S>(source.period), S::DEPTH.bits());
            let size = words.map_or(u64::MAX, |words| u64::from(words) * 4);
            let fits = size <= left;
            left -= if fits { size } else { 0 };
            fits
        };
        let cells = sources(program, store)
            .into_iter()
            .map(|source| source.filter(|source| fitting(source)))
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|source| source.and_then(|source| source.pack()))
            .collect();
        Self { cells }
    }
}

/// What the cells that devices read are made of, by the number of the node.
fn sources<'a, S: Sample>(program: &Program, store: &'a Store<S>) -> Vec<Option<Source<'a, S>>> {
    let source = |(index, reached)| {
        if reached {
            Source::of(program, store, index)
        } else {
            None
        }
    };
    reached(program).into_iter().enumerate().map(source).collect()
}

impl Residents {
    /// Copies what the host keeps and devices read.
    pub(super) fn upload<S: Sample>(
        gpu: &Gpu,
        program: &Program,
        store: &Store<S>,
        ahead: &Ahead,
    ) -> Result<Self, DeviceError> {
        let mut residents = Self {
            planes: Vec::new(),
            tables: vec![None; program.tables.len()],
            prepared: Vec::new(),
            uploads: Vec::new(),
        };
        // A part of a picture is copied for the first node that shows it.
        let mut pictures: HashMap<(usize, Rect), Plane> = HashMap::new();
        let (reached, sources) = (reached(program), sources(program, store));
        for (index, step) in program.steps.iter().enumerate() {
            let table = step.kind.table();
            let upload = match step.lowering() {
                Lowering::Kernel if reached[index] => {
                    let table = table.map_or(&[][..], |number| &store.tables[number]);
                    step.kind.upload(gpu, samples_of(table)).transpose()?
                }
                Lowering::Fused if reached[index] => {
                    if let Some(number) = table.filter(|number| residents.tables[*number].is_none()) {
                        residents.tables[number] = Some(upload_table(gpu, &store.tables[number])?);
                    }
                    None
                }
                _ => None,
            };
            residents.uploads.push(upload);
            // What the host computes, it computes with what was prepared there.
            let is_read = reached[index] && !matches!(step.lowering(), Lowering::Host);
            let prepared = store.prepared[index].get().filter(|_| is_read);
            residents
                .prepared
                .push(prepared.map(|table| upload_table(gpu, table)).transpose()?);
            let plane = match (&sources[index], store.planes[index].get(), step.image) {
                _ if !reached[index] => None,
                (Some(source), ..) => {
                    let packed = ahead.cells.get(index).and_then(Option::as_ref);
                    Some(upload_cell(gpu, source, packed)?)
                }
                (None, _, Some(shown)) => {
                    let rect = step.plane();
                    let part = store.pictures[shown.picture]
                        .get()
                        .and_then(|plane| plane.part(rect));
                    match (pictures.get(&(shown.picture, rect)), part) {
                        (Some(plane), _) => Some(Resident::Plane(plane.clone(), rect)),
                        (None, Some(part)) if !rect.is_empty() => {
                            let plane = upload_plane(gpu, part)?;
                            pictures.insert((shown.picture, rect), plane.clone());
                            Some(Resident::Plane(plane, rect))
                        }
                        _ => None,
                    }
                }
                (None, Some(plane), None) => Some(match (step.keep, plane.uniform) {
                    (Keep::Cell { .. }, Some(value)) => Resident::Uniform(value.to_u16()),
                    _ => Resident::Plane(upload_plane(gpu, plane.view())?, plane.rect),
                }),
                (None, None, None) => None,
            };
            residents.planes.push(plane);
        }
        Ok(residents)
    }
}

fn upload_cell<S: Sample>(
    gpu: &Gpu,
    source: &Source<'_, S>,
    packed: Option<&PackedCell>,
) -> Result<Resident, DeviceError> {
    let cell = match packed {
        Some(packed) => packed.upload(gpu)?,
        None => {
            let (a, c) = (source.period.a(), source.period.c());
            let copies = layout::<S>(source.period).copies(S::DEPTH.bits()).into();
            let words = row_words(a, S::DEPTH.bytes())
                .saturating_mul(c)
                .saturating_mul(copies);
            let (what, limit, asked) = match a > MOST_COLUMNS {
                true => ("columns of a cell", MOST_COLUMNS, a),
                false => ("words of a cell", MOST_WORDS, words),
            };
            let too_large = || DeviceError::Limit {
                device: gpu.id(),
                what,
                limit,
                asked,
            };
            source.pack().ok_or_else(too_large)?.upload(gpu)?
        }
    };
    let (x, y) = source.place;
    Ok(Resident::Cell(cell, x, y))
}

fn upload_table<S: Sample>(gpu: &Gpu, entries: &[S]) -> Result<Table, DeviceError> {
    let buffer = gpu.upload(&packed(entries))?;
    let (held, needed) = (buffer.words() as u64, Table::words(S::DEPTH) as u64);
    Table::new(buffer, S::DEPTH).ok_or_else(|| DeviceError::Short {
        device: gpu.id(),
        what: "a table of samples",
        needed,
        held,
    })
}

fn upload_plane<S: Sample>(gpu: &Gpu, samples: View<'_, S>) -> Result<Plane, DeviceError> {
    let (width, height) = (samples.width() as u64, samples.height() as u64);
    let pitch = row_words(width, S::DEPTH.bytes());
    let too_large = || DeviceError::Limit {
        device: gpu.id(),
        what: "words of a picture",
        limit: MOST_WORDS,
        asked: pitch.saturating_mul(height),
    };
    let (columns, rows) = (u32::try_from(width), u32::try_from(height));
    let (Ok(columns), Ok(rows), Ok(pitch)) = (columns, rows, u32::try_from(pitch)) else {
        return Err(too_large());
    };
    let per_row = pitch as usize * 4 / size_of::<S>();
    let buffer = gpu.upload(&packed_rows(samples.rows(), samples.height(), per_row))?;
    Plane::new(buffer, 0, pitch, columns, rows, S::DEPTH).ok_or_else(too_large)
}

/// Samples as words.
fn packed<S: Sample>(samples: &[S]) -> Vec<u32> {
    packed_rows(std::iter::once(samples), 1, samples.len())
}

/// `count` rows of samples as words, each row filled up with 0 to `padded` samples.
fn packed_rows<'a, S: Sample>(rows: impl Iterator<Item = &'a [S]>, count: usize, padded: usize) -> Vec<u32> {
    let per_word = 4 / size_of::<S>();
    let words = padded.div_ceil(per_word);
    let mut packed = vec![0_u32; count * words];
    let stored: &mut [S] = bytemuck::cast_slice_mut(&mut packed);
    for (to, from) in stored.chunks_exact_mut(words * per_word).zip(rows) {
        to[..from.len()].copy_from_slice(from);
    }
    to_device::<S>(&mut packed);
    packed
}

/// Samples that were stored as they follow each other, as devices hold them: words have the first of them in their lowest
/// bits.
pub(super) fn to_device<S>(words: &mut [u32]) {
    if cfg!(target_endian = "big") {
        let reversed = |word: u32| match size_of::<S>() {
            1 => word.swap_bytes(),
            _ => word.rotate_left(16),
        };
        words.iter_mut().for_each(|word| *word = reversed(*word));
    }
}
