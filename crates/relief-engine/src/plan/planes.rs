//! Which nodes become planes on a device, and how large they are.
//!
//! A node becomes a plane where a kernel of its own computes it, where such a kernel reads it, and where several nodes
//! read it. Everything else is fused into its readers.

use std::collections::BTreeSet;

use relief_kernels::fused::CellLayout;
use relief_raster::{Period, Rect, Sample};

use super::keep::LARGEST_CELL;
use crate::Error;
use crate::node::Footprint;
use crate::node::device::Lowering;
use crate::program::{Keep, Program, Step};

/// Words of a row of packed samples.
pub(crate) const fn row_words(width: u64, bytes: u64) -> u64 {
    width.saturating_mul(bytes).div_ceil(4)
}

/// Words from one row of a plane to the next: a multiple of 16 bytes.
pub(crate) fn pitch(width: u64, bytes: u64) -> u32 {
    let words = row_words(width, bytes).next_multiple_of(4);
    // Bands and planes are sized for buffers of fewer than 2^31 words.
    u32::try_from(words).unwrap_or(u32::MAX - 3)
}

/// The layout of a cell that is fastest on a device.
pub(crate) fn layout<S: Sample>(period: Period) -> CellLayout {
    let samples = u64::try_from(period.cell()).unwrap_or(u64::MAX);
    CellLayout::fitting(samples, S::DEPTH.bits())
}

/// Whether a kernel of the node's own computes it.
fn has_kernel(step: &Step) -> bool {
    step.lowering() == Lowering::Kernel
}

/// Whether the CPU computes it and all below it.
fn is_host(step: &Step) -> bool {
    step.lowering() == Lowering::Host
}

/// Leaves nodes to the host that read elsewhere than where they lie: first those that read near opposite borders at the same time, then those
/// that read another place. Whether there were any.
pub(super) fn leave_to_host(program: &mut Program) -> bool {
    let around = |footprint| matches!(footprint, Footprint::Around(_));
    let elsewhere = |footprint| matches!(footprint, Footprint::Map { .. });
    let reached = reached(program);
    for reads in [&around as &dyn Fn(Footprint) -> bool, &elsewhere] {
        let left: Vec<usize> = (0..program.steps.len())
            .filter(|index| {
                let step = &program.steps[*index];
                let mut links = step.links.iter().enumerate();
                let computed = reached[*index] && !is_host(step) && !lies_there(program, *index);
                computed && links.any(|(number, link)| reads(step.kind.footprint(link, number)))
            })
            .collect();
        for index in &left {
            let step = &mut program.steps[*index];
            tracing::debug!(
                "the {} of line {} is left to the host",
                step.name,
                step.place.line
            );
            step.on_host = true;
        }
        if !left.is_empty() {
            return true;
        }
    }
    false
}

/// Which nodes are computed into planes for every band.
pub(crate) fn materialised(program: &Program) -> Vec<bool> {
    let mut planes = vec![false; program.steps.len()];
    let reached = reached(program);
    for (index, step) in program.steps.iter().enumerate() {
        if !reached[index] {
            continue;
        }
        let own_kernel = has_kernel(step);
        let kept = lies_there(program, index);
        planes[index] |= !kept && (own_kernel || is_host(step) || step.keep.is_cached());
        if own_kernel && !kept {
            for link in step.links.iter().filter(|link| reached[link.node]) {
                // It lies in a plane, unless it is kept as one.
                let child = &program.steps[link.node];
                planes[link.node] |= !matches!(child.keep, Keep::Image | Keep::Whole);
            }
        }
    }
    divide(program, &mut planes);
    planes
}

/// Turns nodes into planes where a fused kernel would else name more buffers than it may: of the children of a node those
/// that name most of them.
fn divide(program: &Program, planes: &mut [bool]) {
    // What readers of a node name for it. A plane may be named twice: by words and by vectors of them.
    let mut named: Vec<BTreeSet<(usize, Named)>> = Vec::with_capacity(program.steps.len());
    let plane = |node: usize| BTreeSet::from([(node, Named::Plane), (node, Named::Again)]);
    for (index, step) in program.steps.iter().enumerate() {
        if step.need.is_empty() {
            named.push(BTreeSet::new());
            continue;
        }
        if is_host(step) {
            named.push(plane(index));
            continue;
        }
        let all = |named: &[BTreeSet<(usize, Named)>]| -> BTreeSet<(usize, Named)> {
            let mut all: BTreeSet<_> = step
                .links
                .iter()
                .flat_map(|link| named[link.node].iter().copied())
                .collect();
            if step.kind.table().is_some() || step.kind.preparation().is_some() {
                all.insert((index, Named::Table));
            }
            if matches!(step.keep, Keep::Cell { .. }) {
                all.insert((index, Named::Plane));
            }
            all
        };
        let mut own = if lies_there(program, index) {
            plane(index)
        } else {
            all(&named)
        };
        while own.len() > program.buffers && !lies_there(program, index) {
            let most = step.links.iter().max_by_key(|link| named[link.node].len());
            let Some(child) = most.map(|link| link.node).filter(|child| named[*child].len() > 2) else {
                break;
            };
            planes[child] = true;
            named[child] = plane(child);
            own = all(&named);
        }
        named.push(if planes[index] { plane(index) } else { own });
    }
}

/// Why a node takes a buffer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    Plane,
    Again,
    Table,
}

/// Whether all samples that are ever read of a node lie on the device from the start.
fn lies_there(program: &Program, index: usize) -> bool {
    let step = &program.steps[index];
    match step.keep {
        Keep::Image | Keep::Whole => true,
        Keep::Cell { .. } => !step.has_border(),
        Keep::No | Keep::Cached | Keep::Windows => cell_of_child(program, index).is_some(),
    }
}

/// Which nodes a device ever reads: of what lies there from the start, nothing below is.
pub(crate) fn reached(program: &Program) -> Vec<bool> {
    let mut reached = vec![false; program.steps.len()];
    reached[program.root()] = true;
    for (index, step) in program.steps.iter().enumerate().rev() {
        if step.need.is_empty() {
            reached[index] = false;
        }
        if reached[index] && !lies_there(program, index) && !is_host(step) {
            for link in &step.links {
                reached[link.node] = true;
            }
        }
    }
    reached
}

/// The cell of a node that is made of its kept first child, with 0 beyond it. `None` for nodes that have none, and for a
/// cell that is mostly gap and too large: copies are then looked for.
pub(crate) fn cell_of_child(program: &Program, index: usize) -> Option<Period> {
    let step = &program.steps[index];
    let period = step.kind.device_cell()?;
    let pattern = step.links.first()?.node;
    let largest = LARGEST_CELL.max(2 * program.steps[pattern].stored().area());
    let made = matches!(step.keep, Keep::No | Keep::Cached) && program.keeps_pattern(pattern);
    (made && period.cell() <= largest).then_some(period)
}

/// Refuses nodes that exceed the numbers of a device.
pub(super) fn check(program: &Program) -> Result<(), Error> {
    for (index, step) in program.steps.iter().enumerate() {
        if step.need.is_empty() || !has_kernel(step) || lies_there(program, index) {
            continue;
        }
        let pattern = step.links.first().map(|link| program.steps[link.node].stored());
        let size = pattern.map_or((0, 0), |pattern| (pattern.width(), pattern.height()));
        if let Err(reason) = step.kind.check_device(size) {
            return Err(Error::Unsupported {
                what: format!("the {} of line {}: {reason}", step.name, step.place.line),
                advice: "allow the job more memory, so that its cell may be cached, or compute on the cpu"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// The most columns of a plane that a fused kernel writes, and of one that a kernel of a node's own does: so many are launched at once.
const WIDEST: u64 = (1 << 27) - (1 << 13);
const WIDEST_OF_OWN: u64 = (1 << 24) - (1 << 13);

/// The most rows of a plane: kernels tell places of both signs apart in 32 bits.
const HIGHEST: u64 = (1 << 29) - 1;

/// The most words of a plane that a kernel writes.
const MOST_WORDS: u64 = 1 << 31;

/// Refuses planes that no kernel writes at once, for bands of so many columns and strips of so many rows.
pub(super) fn check_sides(program: &Program, width: u64, rows: u64) -> Result<(), Error> {
    let bytes = program.canvas.depth.bytes();
    let materialised = materialised(program);
    for ((index, step), (width, height)) in program.steps.iter().enumerate().zip(most(program, width, rows)) {
        let words = u64::from(pitch(width, bytes)).saturating_mul(height);
        let widest = if has_kernel(step) { WIDEST_OF_OWN } else { WIDEST };
        if materialised[index] && (width > widest || height > HIGHEST || words > MOST_WORDS) {
            return Err(Error::Unsupported {
                what: format!(
                    "the {} of line {}: {width} × {height} of its samples at once on a device",
                    step.name, step.place.line
                ),
                advice: "compute on the cpu".to_owned(),
            });
        }
    }
    Ok(())
}

/// The samples of every node that a band reads, in the node's own coordinates.
pub(crate) fn needs(program: &Program, band: Rect) -> Vec<Rect> {
    let mut needs = vec![Rect::EMPTY; program.steps.len()];
    needs[program.root()] = band;
    for (index, step) in program.steps.iter().enumerate().rev() {
        let need = needs[index];
        let kept = match step.keep {
            Keep::Cell { valid, .. } => valid.contains(&need),
            Keep::Image | Keep::Whole => true,
            Keep::No | Keep::Cached | Keep::Windows => cell_of_child(program, index).is_some(),
        };
        if need.is_empty() || kept || is_host(step) {
            continue;
        }
        for (number, link) in step.links.iter().enumerate() {
            let reads = step.kind.reads(link, number, need);
            needs[link.node] = needs[link.node].union(&reads);
        }
    }
    needs
}

/// Where a node is read for a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Where the band lies, in the node's own coordinates.
    Band,
    /// Somewhere else, by one reader.
    Elsewhere,
    /// Anywhere.
    Everywhere,
}

/// How far beyond the band, in its own coordinates, a node is read along one axis.
#[derive(Clone, Copy, Debug)]
struct Reach {
    /// The side of the band along which it is read: its columns, or its rows.
    columns: bool,
    /// From the first pixel of the band to the first that is read, at most.
    from: i64,
    /// From the last pixel of the band to the last that is read, at least.
    to: i64,
    place: Place,
}

impl Reach {
    const fn of_band(columns: bool) -> Self {
        Self {
            columns,
            from: 0,
            to: 0,
            place: Place::Band,
        }
    }

    /// What a child at `offset` is asked for.
    fn below(self, offset: i64, footprint: Footprint) -> Self {
        let halo = i64::from(footprint.halo());
        Self {
            columns: self.columns,
            from: self.from.saturating_sub(offset).saturating_sub(halo),
            to: self.to.saturating_sub(offset).saturating_add(halo),
            place: match (footprint, self.place) {
                (Footprint::Anywhere | Footprint::Around(_), _) | (_, Place::Everywhere) => Place::Everywhere,
                (Footprint::Map { .. }, _) | (_, Place::Elsewhere) => Place::Elsewhere,
                (Footprint::Point | Footprint::Margins(_), Place::Band) => Place::Band,
            },
        }
    }

    /// The least that holds both.
    fn union(self, other: Self) -> Self {
        let place = if (self.place, other.place) == (Place::Band, Place::Band) {
            Place::Band
        } else {
            Place::Everywhere
        };
        Self {
            columns: self.columns,
            from: self.from.min(other.from),
            to: self.to.max(other.to),
            place,
        }
    }

    /// The most pixels read for a band of so many columns and rows, of `all` that are ever read.
    fn side(self, (width, height): (u64, u64), all: u64) -> u64 {
        if self.place == Place::Everywhere {
            return all;
        }
        let side = if self.columns { width } else { height };
        side.saturating_add(self.to.abs_diff(self.from)).min(all)
    }
}

/// The most columns and rows of every node that a band of this size reads. Readers at different offsets are served by
/// one plane that holds what all of them read, and what lies between.
pub(crate) fn most(program: &Program, width: u64, height: u64) -> Vec<(u64, u64)> {
    let mut reaches: Vec<Option<(Reach, Reach)>> = vec![None; program.steps.len()];
    reaches[program.root()] = Some((Reach::of_band(true), Reach::of_band(false)));
    for (index, step) in program.steps.iter().enumerate().rev() {
        let Some((across, down)) = reaches[index] else {
            continue;
        };
        if step.need.is_empty() || lies_there(program, index) || is_host(step) {
            continue;
        }
        for (number, link) in step.links.iter().enumerate() {
            let footprint = step.kind.footprint(link, number);
            let (across, down) = match footprint {
                Footprint::Map { turned: true } => (down, across),
                _ => (across, down),
            };
            let read = (
                across.below(link.extent.x(), footprint),
                down.below(link.extent.y(), footprint),
            );
            let both = |so_far: (Reach, Reach)| (so_far.0.union(read.0), so_far.1.union(read.1));
            reaches[link.node] = Some(reaches[link.node].map_or(read, both));
        }
    }
    let size = |(reach, step): (&Option<(Reach, Reach)>, &Step)| {
        reach.map_or((0, 0), |(across, down)| {
            (
                across.side((width, height), step.need.width()),
                down.side((width, height), step.need.height()),
            )
        })
    };
    reaches.iter().zip(&program.steps).map(size).collect()
}

/// How often the expression of every node that is computed into a plane, and of the root, takes the spans of a curve.
pub(crate) fn spans(program: &Program, materialised: &[bool]) -> Vec<u64> {
    let mut spans = vec![0_u64; program.steps.len()];
    for (index, step) in program.steps.iter().enumerate() {
        let fused = |node: usize| !materialised[node] && !lies_there(program, node);
        if lies_there(program, index) || is_host(step) {
            continue;
        }
        spans[index] = step
            .links
            .iter()
            .filter(|link| fused(link.node))
            .fold(step.kind.spans(), |sum, link| {
                sum.saturating_add(spans[link.node])
            });
    }
    spans
}

/// Which samples a node may be said to be without having a plane, by what reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spared {
    /// Any.
    Any,
    /// 0: its reader says what it is then.
    Zero,
    /// None: a kernel reads its plane.
    Never,
}

/// For every node, whether it needs a plane if all its samples are the same.
pub(crate) fn spared(program: &Program) -> Vec<Spared> {
    let mut spared = vec![Spared::Any; program.steps.len()];
    for step in &program.steps {
        for link in &step.links {
            let by_this = match (has_kernel(step), step.kind.of_nothing()) {
                (false, _) => Spared::Any,
                (true, Some(_)) => Spared::Zero,
                (true, None) => Spared::Never,
            };
            let so_far = &mut spared[link.node];
            *so_far = match (*so_far, by_this) {
                (Spared::Never, _) | (_, Spared::Never) => Spared::Never,
                (Spared::Zero, _) | (_, Spared::Zero) => Spared::Zero,
                (Spared::Any, Spared::Any) => Spared::Any,
            };
        }
    }
    spared
}

/// Whether the host computes planes for every band.
pub(super) fn host_works(program: &Program) -> bool {
    let reached = reached(program);
    (0..program.steps.len()).any(|index| is_host_plane(program, &reached, index))
}

/// Whether the host computes the plane of a node for a device.
fn is_host_plane(program: &Program, reached: &[bool], index: usize) -> bool {
    reached[index] && is_host(&program.steps[index]) && !lies_there(program, index)
}

/// Of every node that the host computes for each band: the words that it copies to a device, at most, for strips of so many columns and rows. 0
/// where only the host reads the node, `None` where it does not compute it.
pub(super) fn by_host(program: &Program, width: u64, rows: u64) -> Vec<Option<u64>> {
    let mut words = host_planes(program, width, rows);
    for index in (0..program.steps.len()).rev() {
        if words[index].is_none() {
            continue;
        }
        for link in &program.steps[index].links {
            let child = &program.steps[link.node];
            let made_once = matches!(child.keep, Keep::Image | Keep::Whole | Keep::Cell { .. });
            if !child.need.is_empty() && !made_once {
                words[link.node].get_or_insert(0);
            }
        }
    }
    words
}

/// The words of every plane that the host computes, for strips of so many columns and rows.
fn host_planes(program: &Program, width: u64, rows: u64) -> Vec<Option<u64>> {
    let bytes = program.canvas.depth.bytes();
    let reached = reached(program);
    most(program, width, rows)
        .into_iter()
        .enumerate()
        .map(|(index, (width, height))| {
            is_host_plane(program, &reached, index)
                .then(|| u64::from(pitch(width, bytes)).saturating_mul(height))
        })
        .collect()
}

/// What a sample of every band costs on the CPU: of the nodes that the host computes for devices, and of all.
pub(super) fn work(program: &Program) -> (u64, u64) {
    let mut read = vec![false; program.steps.len()];
    let mut by_host = read.clone();
    read[program.root()] = true;
    let (mut host, mut all) = (0_u64, 0_u64);
    for (index, step) in program.steps.iter().enumerate().rev() {
        if !read[index] || step.need.is_empty() || lies_there(program, index) {
            continue;
        }
        by_host[index] |= is_host(step);
        let cost = step.kind.cost();
        all = all.saturating_add(cost);
        if by_host[index] {
            host = host.saturating_add(cost);
        }
        for link in &step.links {
            read[link.node] = true;
            by_host[link.node] |= by_host[index];
        }
    }
    (host, all)
}

/// The most words of a plane that the host computes, for strips of so many columns and rows.
pub(crate) fn host_words(program: &Program, width: u64, rows: u64) -> u64 {
    host_planes(program, width, rows)
        .into_iter()
        .flatten()
        .max()
        .unwrap_or(0)
}
