//! What a job takes on its devices.

use std::collections::HashSet;

use relief_kernels::device::{Backend, DeviceId, DeviceReport, device};
use relief_kernels::fused::{self, Cell};
use relief_raster::{Depth, Period};

use super::Shape;
use super::planes::{self, layout, pitch, row_words};
use crate::Error;
use crate::node::device::Lowering;
use crate::program::{Keep, Program};

/// The devices of a job, as they report themselves.
#[derive(Clone)]
pub(crate) struct Target {
    reports: Vec<DeviceReport>,
    pace: Pace,
}

/// How bands leave a kind of device best: measured on one of each.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Bytes of a band.
    band: u64,
    /// Threads with queues of their own.
    lanes: usize,
    /// Bands on the way in a lane.
    depth: usize,
    /// The same of a design with kernels of its own, many small ones to a band.
    of_kernels: (usize, usize),
}

impl Target {
    /// Looks the devices up.
    pub(crate) fn new(ids: &[DeviceId]) -> Result<Self, Error> {
        let mut reports = Vec::new();
        for id in ids {
            reports.push(device(*id).map_err(|reason| Error::Option {
                option: "device",
                problem: format!("{id} cannot be used: {reason}; 'relief devices' lists what there is"),
            })?);
        }
        let software = reports.iter().any(|report| report.software);
        let cuda = reports
            .iter()
            .all(|report| report.backend() == Some(Backend::Cuda));
        let pace = match (software, cuda) {
            // Imitated by the processor: small bands, so that the first comes soon.
            (true, _) => Pace {
                band: 4 << 20,
                lanes: 1,
                depth: 2,
                of_kernels: (1, 2),
            },
            // Two queues overlap computing with copying; Vulkan has one queue for both.
            (false, true) => Pace {
                band: 32 << 20,
                lanes: 2,
                depth: 2,
                // As many bands on the way: while a kernel of one lane ends, those of others use the units that it leaves.
                of_kernels: (4, 1),
            },
            (false, false) => Pace {
                band: 64 << 20,
                lanes: 1,
                depth: 3,
                of_kernels: (1, 3),
            },
        };
        Ok(Self { reports, pace })
    }

    pub(crate) fn ids(&self) -> Vec<DeviceId> {
        self.reports.iter().map(|report| report.id).collect()
    }

    /// The most buffers of nodes that one kernel may name: it takes some of its own.
    pub(crate) fn buffers(&self) -> usize {
        let fewest = self.reports.iter().map(|report| report.bindings).min();
        (fewest.unwrap_or(0) as usize)
            .saturating_sub(fused::OWN_BUFFERS)
            .max(4)
    }

    /// The most children that a fold may have: each of them may be a plane, which may take two names, and still one
    /// kernel computes the fold.
    pub(crate) fn layers(&self) -> usize {
        (self.buffers() / 2).max(2)
    }

    pub(crate) const fn count(&self) -> usize {
        self.reports.len()
    }

    /// Columns and rows of a band, the most welcome first.
    pub(crate) fn bands(
        &self,
        width: u64,
        height: u64,
        bytes: u64,
        tile: Option<(u64, u64)>,
        wanted: Option<u64>,
    ) -> Vec<(u64, u64)> {
        let mut sizes = Vec::new();
        if let (Some((_, rows)), true) = (tile, width <= LONGEST_ROW) {
            return vec![(width, rows.min(height))];
        }
        let multiple = |rows: u64| match wanted {
            Some(wanted) if rows >= wanted => rows / wanted * wanted,
            _ => rows,
        };
        let mut rows = (self.pace.band / (width * bytes)).clamp(1, height);
        rows = multiple(rows.max(wanted.unwrap_or(1)));
        loop {
            if width <= LONGEST_ROW {
                sizes.push((width, rows));
            }
            if rows == 1 {
                break;
            }
            rows = multiple(rows / 2);
        }
        let mut columns = width;
        while columns > 1 << 16 {
            columns = columns.div_ceil(2).next_multiple_of(16);
            if columns <= LONGEST_ROW {
                sizes.push((columns, 1));
            }
        }
        sizes
    }

    /// Lanes of a device and bands on the way in each, the most welcome first.
    pub(crate) fn lanes(&self, program: &Program) -> Vec<(usize, usize)> {
        let Pace {
            lanes,
            depth,
            of_kernels,
            ..
        } = self.pace;
        let own = program
            .steps
            .iter()
            .any(|step| step.lowering() == Lowering::Kernel);
        let mut all = vec![(lanes, depth), (1, depth), (1, 1)];
        if own && of_kernels != (lanes, depth) {
            all.insert(0, of_kernels);
        }
        all
    }

    /// How many bands share their planes, and the bytes that the job takes of every device, of which at most `memory`
    /// may be used. `halo` is the sum of all on the longest way.
    ///
    /// # Errors
    /// Where a device does not have them even if no band shares a plane.
    pub(crate) fn fit(
        &self,
        program: &Program,
        shape: Shape,
        lanes: usize,
        halo: u64,
        memory: Option<u64>,
    ) -> Result<(u64, u64), Error> {
        planes::check(program)?;
        let mut strip = self.strip(program, shape, halo);
        loop {
            match self.fit_strip(program, shape, lanes, strip, memory) {
                Ok(bytes) => return Ok((strip, bytes)),
                Err(error) if strip == 1 => return Err(error),
                Err(_) => strip = strip.div_ceil(2),
            }
        }
    }

    /// Bands of one device that are worth computing planes for together. A band of a wide raster is a few rows high, and
    /// computing a halo of hundreds of rows around each would multiply the work. Devices compute the planes of a strip
    /// each for itself, so that every bus carries every strip.
    fn strip(&self, program: &Program, shape: Shape, halo: u64) -> u64 {
        if shape.band_width < program.steps[program.root()].need.width() {
            return 1;
        }
        let high = halo
            .saturating_mul(HALOS)
            .min(program.steps[program.root()].need.height());
        let rows = shape.band_height.saturating_mul(self.count() as u64);
        high.div_ceil(rows).clamp(1, MOST_STRIP)
    }

    fn fit_strip(
        &self,
        program: &Program,
        shape: Shape,
        lanes: usize,
        strip: u64,
        memory: Option<u64>,
    ) -> Result<u64, Error> {
        let rows = strip_rows(shape, strip, self.count() as u64);
        planes::check_sides(program, shape.band_width, rows)?;
        let (bytes, largest) = device_bytes(program, shape, rows, lanes, self.reports.iter());
        for report in &self.reports {
            // A driver and its runtime keep a part for themselves.
            let limit = report.memory.map_or(u64::MAX, |memory| memory / 10 * 9);
            let limit = memory.map_or(limit, |memory| limit.min(memory));
            if bytes > limit {
                return Err(Error::DeviceMemory {
                    device: report.id.to_string(),
                    needed: bytes,
                    limit,
                });
            }
            if largest > report.largest_buffer {
                let limit = report.largest_buffer;
                return Err(Error::DeviceBuffer {
                    device: report.id.to_string(),
                    needed: largest,
                    limit,
                });
            }
        }
        Ok(bytes)
    }
}

/// The samples of all planes that a band of some rows and of this width takes: which of two programs of the same design has
/// less to compute.
pub(crate) fn plane_area(program: &Program, width: u64) -> u128 {
    const ROWS: u64 = 64;
    let materialised = planes::materialised(program);
    planes::most(program, width, ROWS)
        .iter()
        .zip(materialised)
        .filter(|(_, materialised)| *materialised)
        .map(|((width, height), _)| u128::from(*width) * u128::from(*height))
        .sum()
}

/// The bytes on the host of planes that it computes for devices: in every lane one, and its way there.
pub(crate) fn host_bytes(program: &Program, shape: Shape, strip: u64, lanes: usize, devices: usize) -> u64 {
    let rows = strip_rows(shape, strip, devices as u64);
    let words = planes::host_words(program, shape.band_width, rows);
    words.saturating_mul(2 * 4 * (lanes * devices) as u64)
}

/// Of a plane that the host computes: no more than this part of it comes as tiles that are packed.
pub(crate) const SPARSE: u64 = 4;

/// The least words of such a tile.
pub(crate) const SPARSE_TILE: u64 = 256;

/// Words of the tiles, and of an entry for each: at most twice as many tiles a row and a column as would do for a plane without rests.
pub(crate) const fn sparse_words(plane: u64) -> u64 {
    plane / SPARSE + 4 * (plane / SPARSE_TILE) + 8
}

/// A strip is so many times as high as all halos on the longest way together.
const HALOS: u64 = 4;

/// The most bands of a strip.
const MOST_STRIP: u64 = 1 << 12;

/// Words of the buffer that kernels get for one that they do not read.
const NOTHING: u64 = 4;

/// The most columns of a band: kernels of all kinds launch so many at once, halos included.
const LONGEST_ROW: u64 = 1 << 23;

/// Rows of the raster for which the planes of a strip are computed, of so many bands of each device.
pub(crate) const fn strip_rows(shape: Shape, strip: u64, devices: u64) -> u64 {
    if strip == 1 {
        return shape.band_height;
    }
    shape.band_height.saturating_mul(strip).saturating_mul(devices)
}

/// Words of the buffers of one lane.
pub(crate) struct Buffers {
    pub(crate) output: u64,
    /// By the number of the node; 0 for nodes that are no plane.
    pub(crate) planes: Vec<u64>,
    pub(crate) scratch: u64,
    /// The rows of discs that one kernel is told.
    pub(crate) spans: u64,
}

impl Buffers {
    /// Whether buffers of these sizes do where others would be allocated.
    fn hold(&self, others: &Self) -> bool {
        let planes = self.planes.iter().zip(&others.planes);
        others.output <= self.output
            && others.scratch <= self.scratch
            && others.spans <= self.spans
            && planes.into_iter().all(|(own, other)| other <= own)
    }

    /// How many rows of a window these hold at once, which were allocated for bands of this shape: of a window that is not as wide as a band
    /// more than a band has.
    pub(crate) fn rows<'a>(
        &self,
        program: &Program,
        shape: Shape,
        window: (u64, u64),
        materialised: &[bool],
        reports: impl Iterator<Item = &'a DeviceReport> + Clone,
    ) -> u64 {
        let mut rows = shape.band_height;
        let (width, height) = window;
        if width > shape.band_width / 2 {
            return rows;
        }
        while rows < height {
            let more = rows.saturating_mul(2).min(height);
            let part = Shape {
                band_width: width,
                band_height: more,
                ..shape
            };
            let holds = || self.hold(&buffers(program, part, more, materialised, reports.clone()));
            if planes::check_sides(program, width, more).is_err() || !holds() {
                break;
            }
            rows = more;
        }
        rows
    }
}

/// The words of a buffer that all of some devices read well.
fn readable<'a>(reports: impl Iterator<Item = &'a DeviceReport>, words: u64) -> u64 {
    let bytes = words.saturating_mul(4);
    let most = reports.map(|report| report.readable_bytes(bytes)).max();
    most.map_or(words, |most| most.div_ceil(4).max(words))
}

/// What one lane allocates for bands of this shape, with planes for `rows` rows of the raster; the same on all of some devices.
pub(crate) fn buffers<'a>(
    program: &Program,
    shape: Shape,
    rows: u64,
    materialised: &[bool],
    reports: impl Iterator<Item = &'a DeviceReport> + Clone,
) -> Buffers {
    let depth = program.canvas.depth;
    let bytes = depth.bytes();
    let words = |(width, height): (u64, u64)| u64::from(pitch(width, bytes)).saturating_mul(height);
    let sizes = planes::most(program, shape.band_width, rows);
    let plane = |(index, size): (usize, (u64, u64))| match program.steps[index].lowering() {
        _ if !materialised[index] => 0,
        // What the host computes may come as tiles beside the plane.
        Lowering::Host => words(size).saturating_add(sparse_words(words(size))),
        _ => words(size),
    };
    let scratch = program
        .steps
        .iter()
        .enumerate()
        .filter(|(index, _)| materialised[*index])
        .map(|(index, step)| {
            let (width, height) = sizes[index];
            let scratch = |report| step.kind.device_scratch(report, depth, width, height);
            reports.clone().map(scratch).max().unwrap_or(0)
        })
        .max();
    let curves = planes::spans(program, materialised);
    let spans = (0..program.steps.len()).map(|index| {
        let rows = match index {
            _ if index == program.root() => shape.band_height.max(sizes[index].1),
            _ if materialised[index] => sizes[index].1,
            _ => 0,
        };
        rows.saturating_mul(2).saturating_mul(curves[index])
    });
    Buffers {
        spans: spans.max().unwrap_or(0),
        output: readable(reports, words((shape.band_width, shape.band_height))),
        scratch: scratch.unwrap_or(0),
        planes: sizes.iter().copied().enumerate().map(plane).collect(),
    }
}

/// The bytes that a job takes of a device, and the largest buffer among them.
fn device_bytes<'a>(
    program: &Program,
    shape: Shape,
    rows: u64,
    lanes: usize,
    reports: impl Iterator<Item = &'a DeviceReport> + Clone,
) -> (u64, u64) {
    let materialised = planes::materialised(program);
    let lane = buffers(program, shape, rows, &materialised, reports);
    let of_lane = lane
        .planes
        .iter()
        .chain([&lane.output, &lane.scratch, &lane.spans])
        .fold(0_u64, |sum, plane| sum.saturating_add(*plane));
    let mut largest = lane
        .planes
        .iter()
        .copied()
        .chain([lane.output, lane.scratch, lane.spans])
        .max()
        .unwrap_or(0);
    let mut words = of_lane.saturating_mul(lanes as u64).saturating_add(NOTHING);
    let reached = planes::reached(program);
    let (mut tables, mut pictures) = (HashSet::new(), HashSet::new());
    for index in (0..program.steps.len()).filter(|index| reached[*index]) {
        let step = &program.steps[index];
        let [table, kept] = residents(program, index);
        // What a kernel reads is each node's own; a table and a picture are there once.
        let fused = step.lowering() == Lowering::Fused;
        let again = step.kind.table().is_some_and(|number| !tables.insert(number));
        let table = if again && fused { 0 } else { table };
        let shown = step.image.filter(|_| !step.plane().is_empty());
        let kept = match shown {
            Some(shown) if !pictures.insert((shown.picture, step.plane())) => 0,
            _ => kept,
        };
        for resident in [table, kept] {
            words = words.saturating_add(resident);
            largest = largest.max(resident);
        }
    }
    (words.saturating_mul(4), largest.saturating_mul(4))
}

/// The words of the table and of what is kept of a node that is read.
fn residents(program: &Program, index: usize) -> [u64; 2] {
    let step = &program.steps[index];
    let depth = program.canvas.depth;
    let bytes = depth.bytes();
    let table = match (step.lowering(), step.kind.table()) {
        (Lowering::Kernel, _) => step.kind.upload_words(depth),
        (Lowering::Host, _) => 0,
        (Lowering::Fused, _) if step.kind.preparation().is_some() => {
            row_words(u64::from(depth.max()) + 1, bytes)
        }
        (Lowering::Fused, Some(table)) => row_words(program.tables[table].len() as u64, bytes),
        (Lowering::Fused, None) => 0,
    };
    let cell = |period: Period| match depth {
        Depth::Eight => Cell::words(period, layout::<u8>(period), 8),
        Depth::Sixteen => Cell::words(period, layout::<u16>(period), 16),
    };
    let kept = match step.keep {
        Keep::Cell { period, .. } => cell(period).map_or(u64::MAX, u64::from),
        Keep::Image | Keep::Whole => {
            row_words(step.plane().width(), bytes).saturating_mul(step.plane().height())
        }
        Keep::No | Keep::Cached | Keep::Windows => {
            planes::cell_of_child(program, index).map_or(0, |period| cell(period).map_or(u64::MAX, u64::from))
        }
    };
    [table, kept]
}
