//! What a device holds for the whole job: pictures, cells, tables.

use relief_kernels::device::{Buffer, DeviceError, Gpu};
use relief_kernels::distance::gpu::Profile;
use relief_kernels::fused::{Cell, CellLayout, PackedCell, Plane};
use relief_raster::{Period, Rect, Sample};

use super::stages::cell_of_repeat;
use crate::evaluate::{Plane as HostPlane, Store};
use crate::nodes::Kind;
use crate::program::{Keep, Program};

/// Samples of one node on a device.
pub(super) enum Resident {
    /// The same sample everywhere in the rectangle.
    Uniform(u16),
    /// Packed rows of the rectangle.
    Plane(Plane, Rect),
    /// A cell whose top-left lies at (x, y).
    Cell(Cell, i64, i64),
}

/// Everything that stays on one device, by the number of its node.
pub(super) struct Residents {
    pub(super) planes: Vec<Option<Resident>>,
    pub(super) tables: Vec<Option<Buffer>>,
    pub(super) profiles: Vec<Option<Profile>>,
}

/// Words of a row of packed samples.
pub(super) const fn row_words(width: u64, bytes: u64) -> u64 {
    width.saturating_mul(bytes).div_ceil(4)
}

/// The largest cell that is kept, packed while devices start: for tens of megabytes that takes as long as to copy it. The others are
/// packed one by one on their way, so that no more lies on the host at a time.
pub(super) struct Ahead {
    node: usize,
    cell: PackedCell,
}

impl Ahead {
    pub(super) fn pack<S: Sample>(program: &Program, store: &Store<S>) -> Option<Self> {
        let cells = program.steps.iter().enumerate().filter_map(|(node, step)| {
            let plane = store.planes[node]
                .as_ref()
                .filter(|plane| plane.uniform.is_none())?;
            match step.keep {
                Keep::Cell { period, .. } if !step.need.is_empty() => Some((node, period, plane)),
                _ => None,
            }
        });
        let (node, period, plane) = cells.max_by_key(|(_, period, _)| period.cell())?;
        let cell = PackedCell::new(&plane.samples, period, layout::<S>(period))?;
        Some(Self { node, cell })
    }
}

impl Residents {
    /// Copies what the host keeps.
    pub(super) fn upload<S: Sample>(
        gpu: &Gpu,
        program: &Program,
        store: &Store<S>,
        ahead: Option<&Ahead>,
    ) -> Result<Self, DeviceError> {
        let mut residents = Self {
            planes: Vec::new(),
            tables: Vec::new(),
            profiles: Vec::new(),
        };
        for (index, step) in program.steps.iter().enumerate() {
            let table = &store.tables[index];
            let (mut lookup, mut profile) = (None, None);
            match &step.kind {
                _ if step.need.is_empty() => {}
                Kind::Distance(distance) => {
                    profile = Some(Profile::upload(
                        gpu,
                        distance.radius,
                        table,
                        S::from_u16(distance.beyond),
                    )?);
                }
                _ if table.is_empty() => {}
                _ => lookup = Some(gpu.upload(&packed(table, table.len(), table.len()))?),
            }
            residents.tables.push(lookup);
            residents.profiles.push(profile);
            let plane = match (&step.kind, &store.planes[index]) {
                _ if step.need.is_empty() => None,
                (_, None) => match (cell_of_repeat(program, index), step.links.first()) {
                    (Some(period), Some(link)) => match &store.planes[link.node] {
                        Some(pattern) => {
                            let cell = repeat_cell(gpu, pattern, period)?;
                            Some(Resident::Cell(cell, link.extent.x(), link.extent.y()))
                        }
                        None => None,
                    },
                    _ => None,
                },
                (_, Some(plane)) => {
                    let ahead = ahead.filter(|ahead| ahead.node == index);
                    Some(resident(gpu, plane, step.keep, ahead)?)
                }
            };
            residents.planes.push(plane);
        }
        Ok(residents)
    }
}

fn resident<S: Sample>(
    gpu: &Gpu,
    plane: &HostPlane<S>,
    keep: Keep,
    ahead: Option<&Ahead>,
) -> Result<Resident, DeviceError> {
    if let Keep::Cell { period, valid } = keep {
        if let Some(value) = plane.uniform {
            return Ok(Resident::Uniform(value.to_u16()));
        }
        let cell = match ahead {
            Some(ahead) => ahead.cell.upload(gpu)?,
            None => Cell::upload(gpu, &plane.samples, period, layout::<S>(period))?,
        };
        return Ok(Resident::Cell(cell, valid.x(), valid.y()));
    }
    let (width, height) = (plane.rect.width(), plane.rect.height());
    let pitch = row_words(width, S::DEPTH.bytes());
    let too_large = || DeviceError::Unsupported {
        device: gpu.id(),
        reason: format!("a plane of {width}×{height} samples has more than 2^32 words"),
    };
    let (columns, rows) = (u32::try_from(width), u32::try_from(height));
    let (Ok(columns), Ok(rows), Ok(pitch)) = (columns, rows, u32::try_from(pitch)) else {
        return Err(too_large());
    };
    let per_row = pitch as usize * 4 / size_of::<S>();
    let buffer = gpu.upload(&packed(&plane.samples, width as usize, per_row))?;
    let on_device = Plane {
        buffer,
        offset: 0,
        pitch,
        width: columns,
        height: rows,
    };
    Ok(Resident::Plane(on_device, plane.rect))
}

/// The layout of a cell that is fastest on a device.
pub(super) fn layout<S: Sample>(period: Period) -> CellLayout {
    let samples = u64::try_from(period.cell()).unwrap_or(u64::MAX);
    CellLayout::fitting(samples, S::DEPTH.bits())
}

/// One cell of a repeat: the pattern with 0 up to the step.
fn repeat_cell<S: Sample>(gpu: &Gpu, pattern: &HostPlane<S>, period: Period) -> Result<Cell, DeviceError> {
    let (step_x, step_y) = (period.a(), period.c());
    let view = pattern.view();
    if (view.width() as u64, view.height() as u64) == (step_x, step_y) {
        return Cell::upload(gpu, &pattern.samples, period, layout::<S>(period));
    }
    let mut samples = Vec::new();
    let refused = |_| DeviceError::OutOfMemory {
        device: gpu.id(),
        bytes: u64::try_from(period.cell())
            .unwrap_or(u64::MAX)
            .saturating_mul(S::DEPTH.bytes()),
        reason: "the host has no memory to make a cell".to_owned(),
    };
    samples
        .try_reserve_exact(usize::try_from(period.cell()).unwrap_or(usize::MAX))
        .map_err(refused)?;
    for row in view.rows() {
        let end = samples.len() + step_x as usize;
        samples.extend_from_slice(row);
        samples.resize(end, S::ZERO);
    }
    samples.resize(period.cell() as usize, S::ZERO);
    Cell::upload(gpu, &samples, period, layout::<S>(period))
}

/// Rows of `width` samples as words, each row filled up with 0 to `padded` samples.
fn packed<S: Sample>(samples: &[S], width: usize, padded: usize) -> Vec<u32> {
    let per_word = 4 / size_of::<S>();
    let words = padded.div_ceil(per_word);
    let mut packed = vec![0_u32; samples.len() / width * words];
    let stored: &mut [S] = bytemuck::cast_slice_mut(&mut packed);
    for (to, from) in stored
        .chunks_exact_mut(words * per_word)
        .zip(samples.chunks_exact(width))
    {
        to[..width].copy_from_slice(from);
    }
    // Samples were stored as they follow each other; words have the first of them in their lowest bits.
    if cfg!(target_endian = "big") {
        let reversed = |word: u32| {
            if per_word == 4 {
                word.swap_bytes()
            } else {
                word.rotate_left(16)
            }
        };
        packed.iter_mut().for_each(|word| *word = reversed(*word));
    }
    packed
}
