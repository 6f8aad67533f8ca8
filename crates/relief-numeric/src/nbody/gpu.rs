//! N bodies on a device: units (threads) pull several bodies each, by bodies that their cube (block) shares.
//!
//! A cube loads as many sources as it has units into shared memory, and every unit takes all of them into
//! account before the next are loaded (Nyland, Harris and Prins, "Fast N-body simulation with CUDA", GPU Gems
//! 3, 2007). A vector of 16 bytes is loaded once for all bodies of a unit: with one body each, a load takes a
//! slot of the scheduler beside every 13 of computing, with four beside every 52.
//!
//! Bodies alone make too few cubes: 16 128 of them, four for each of 128 units, are 32, and a large device
//! has 132 multiprocessors that want eight each. So the sources are cut into [`parts`], a cube for each, and
//! a second kernel adds what the parts came to, in their order. How many there are depends on nothing but the
//! numbers of bodies, and so do the bits.

use cubecl::prelude::*;

use super::{Body, Interaction, Motion, Space};
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, cubes, launch, line, on_client, start};
use relief_kernels::policy::{self, Space as Layouts, Tuning};

mod kernels;
mod simulation;

pub use simulation::Simulation;

use kernels::{Metric, Shape, add_parts, drift_bodies, kick_velocities, pull};

/// The layouts of [`accelerations_with`]: units of a cube, and bodies of a unit.
pub const SPACE: Layouts = Layouts {
    units: &[64, 128, 256, 512],
    items: &[1, 2, 4, 8],
    vectors: &[4],
};

/// The layout where no other was found.
pub const DEFAULT: Tuning = Tuning {
    units: 128,
    items: 4,
    vector: 4,
};

/// What the kernel is called in policy files.
pub const NAME: &str = "nbody";

/// The most bodies that pull or are pulled.
pub const MOST: usize = 1 << 28;

/// Multiprocessors of the device that the parts are cut for, bodies that a cube of it pulls, and cubes that each takes at once.
const PROCESSORS: usize = 132;
const GROUP: usize = 512;
const CUBES: usize = 8;

/// What a part costs beside its sources, in sources: its start, and the addition of what it came to.
const PART: usize = 32;

/// Into how many parts the sources are cut: so many that a large device is full, and that its multiprocessors get equal
/// shares.
#[must_use]
pub const fn parts(targets: usize, sources: usize) -> usize {
    let groups = if targets < GROUP {
        1
    } else {
        targets.div_ceil(GROUP)
    };
    let most = match sources / (4 * PART) {
        0 => 1,
        1..128 => sources / (4 * PART),
        _ => 128,
    };
    // Sums of all parts are counted like bodies.
    let room = match MOST / (groups * GROUP) {
        0 => 1,
        room => room,
    };
    let most = if most < room { most } else { room };
    let full = (PROCESSORS * CUBES).div_ceil(groups);
    let mut parts = if full < most { full } else { most };
    let mut best = parts;
    while parts < most && parts < 4 * full {
        parts += 1;
        if cost(groups, parts, sources) < cost(groups, best, sources) {
            best = parts;
        }
    }
    best
}

/// The sources that the busiest multiprocessor takes into account.
const fn cost(groups: usize, parts: usize, sources: usize) -> usize {
    (groups * parts).div_ceil(PROCESSORS) * (sources.div_ceil(parts) + PART)
}

/// Words of scratch memory that so many parts take for so many targets.
#[must_use]
pub const fn scratch_words(targets: usize, parts: usize) -> usize {
    if parts > 1 {
        targets.saturating_mul(parts).saturating_mul(4)
    } else {
        0
    }
}

/// Bodies on a device: the first of a buffer, four floats each, as [`Body`] has them.
#[derive(Clone, Copy, Debug)]
pub struct Bodies<'a> {
    /// Where they lie, from the first word on.
    pub buffer: &'a Buffer,
    /// How many.
    pub count: usize,
}

/// The accelerations of `targets` by `sources`, as [`Motion`]s.
///
/// `scratch` holds [`scratch_words`] of [`parts`]; without any it may be any buffer.
///
/// # Errors
/// Where the device fails, where a buffer is too short, for more than [`MOST`] bodies, and where `to` or the scratch memory that is
/// needed is one of the other buffers.
pub fn accelerations(
    gpu: &Gpu,
    interaction: &Interaction,
    targets: Bodies<'_>,
    sources: Bodies<'_>,
    to: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let tuning = policy::tuning(gpu.report(), NAME, &SPACE, DEFAULT);
    let parts = parts(targets.count, sources.count);
    accelerations_with(gpu, tuning, parts, interaction, targets, sources, to, scratch)
}

/// [`accelerations`] with another layout and so many parts.
///
/// # Errors
/// As [`accelerations`], where the layout is not of [`SPACE`], and without parts.
#[allow(clippy::too_many_arguments)]
pub fn accelerations_with(
    gpu: &Gpu,
    tuning: Tuning,
    parts: usize,
    interaction: &Interaction,
    targets: Bodies<'_>,
    sources: Bodies<'_>,
    to: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    gpu.check_layout(&SPACE, tuning)?;
    if parts == 0 {
        return Err(gpu.no_kind("accelerations", "1 part or more", "none"));
    }
    gpu.at_most("parts of an acceleration", 1_u64 << 16, parts as u64)?;
    holds(gpu, "the bodies that are pulled", targets.buffer, targets.count)?;
    holds(gpu, "the bodies that pull", sources.buffer, sources.count)?;
    gpu.at_most(
        "parts of accelerations",
        MOST as u64,
        (targets.count * parts) as u64,
    )?;
    holds(gpu, "accelerations", to, targets.count)?;
    gpu.holds(
        "scratch memory",
        scratch,
        scratch_words(targets.count, parts) as u64,
    )?;
    if targets.count == 0 {
        return Ok(());
    }
    let bodies = [
        Operand::read("the bodies that are pulled", targets.buffer),
        Operand::read("the bodies that pull", sources.buffer),
    ];
    if parts > 1 {
        let scratch = Operand::update("scratch memory", scratch);
        gpu.check_memory(&[bodies[0], bodies[1], scratch, Operand::write("accelerations", to)])?;
    }
    let shape = Shape {
        metric: Metric::of(interaction),
        units: tuning.units,
        items: tuning.items,
    };
    let (made, count) = (if parts == 1 { to } else { scratch }, parts as u32);
    let (of, by) = (targets.count as u32, sources.count as u32);
    let groups = of.div_ceil(shape.units * shape.items);
    // SAFETY: bodies are compared with their numbers, which the buffers hold; a result is written for existing targets of existing
    // parts, and the target has as many vectors. Shared memory has a vector for each unit, and rounds end within it.
    launch!(
        gpu, "nbody", &shape, &[bodies[0], bodies[1], Operand::write("accelerations", made)],
        (cubes(gpu, groups * count), CubeDim::new_1d(shape.units)),
        unsafe pull(
            4, targets.buffer.array(4), sources.buffer.array(4), made.array(4), of, by, by.div_ceil(count), count, groups,
            interaction.softening_squared(), 1.0 / interaction.period(),
            if parts == 1 { interaction.factor() } else { 1.0 }, shape))?;
    if parts == 1 {
        return Ok(());
    }
    // SAFETY: targets are compared with their number; the scratch memory has a vector for each in every part, the result one.
    launch!(
        gpu, "nbody parts", &(),
        &[Operand::read("scratch memory", scratch), Operand::write("accelerations", to)],
        line(gpu, of, UNITS),
        unsafe add_parts(4, scratch.array(4), to.array(4), of, count, interaction.factor()))
}

/// Whether a buffer has four words for each body, and these can be counted.
fn holds(gpu: &Gpu, what: &'static str, buffer: &Buffer, count: usize) -> Result<(), DeviceError> {
    gpu.at_most("bodies", MOST as u64, count as u64)?;
    gpu.holds(what, buffer, 4 * count as u64)
}

/// Units of a cube of the kernels that take one body each.
const UNITS: u32 = 256;

/// Velocities after accelerations for so long: `to` becomes velocity + acceleration × `time`.
///
/// # Errors
/// Where the device fails, a buffer is too short, or `to` is one of the others.
pub fn kick(
    gpu: &Gpu,
    velocities: &Buffer,
    accelerations: &Buffer,
    count: usize,
    time: f32,
    to: &Buffer,
) -> Result<(), DeviceError> {
    check(gpu, count, [velocities, accelerations], to)?;
    if count == 0 {
        return Ok(());
    }
    gpu.launch(
        "nbody kick",
        &(),
        &[
            Operand::read("velocities", velocities),
            Operand::read("accelerations", accelerations),
            Operand::write("the next velocities", to),
        ],
        || on_client!(gpu, client => kick_on(gpu, client, [velocities, accelerations, to], count, time)),
    )
}

fn kick_on<R: Runtime>(
    gpu: &Gpu,
    client: &ComputeClient<R>,
    [velocities, accelerations, to]: [&Buffer; 3],
    count: usize,
    time: f32,
) {
    // SAFETY: places are compared with the number of bodies, and every buffer has a vector for each.
    start!(
        client, line(gpu, count as u32, UNITS),
        unsafe kick_velocities(
            4, velocities.array(4), accelerations.array(4), to.array(4), count as u32, time));
}

/// Bodies after velocities for so long: `to` becomes place + velocity × `time`, on a torus brought back into its square.
///
/// # Errors
/// As [`kick`].
pub fn drift(
    gpu: &Gpu,
    interaction: &Interaction,
    bodies: Bodies<'_>,
    velocities: &Buffer,
    time: f32,
    to: &Buffer,
) -> Result<(), DeviceError> {
    check(gpu, bodies.count, [bodies.buffer, velocities], to)?;
    if bodies.count == 0 {
        return Ok(());
    }
    let torus = matches!(interaction.space(), Space::Torus(_));
    let drift =
        || on_client!(gpu, client => drift_on(gpu, client, interaction, bodies, velocities, time, to));
    let memory = [
        Operand::read("bodies", bodies.buffer),
        Operand::read("velocities", velocities),
        Operand::write("the next bodies", to),
    ];
    gpu.launch("nbody drift", &torus, &memory, drift)
}

fn drift_on<R: Runtime>(
    gpu: &Gpu,
    client: &ComputeClient<R>,
    interaction: &Interaction,
    bodies: Bodies<'_>,
    velocities: &Buffer,
    time: f32,
    to: &Buffer,
) {
    // SAFETY: as for kicks.
    start!(
        client, line(gpu, bodies.count as u32, UNITS),
        unsafe drift_bodies(
            4, bodies.buffer.array(4), velocities.array(4), to.array(4), bodies.count as u32, time,
            interaction.period(), matches!(interaction.space(), Space::Torus(_))));
}

fn check(gpu: &Gpu, count: usize, from: [&Buffer; 2], to: &Buffer) -> Result<(), DeviceError> {
    for buffer in from {
        holds(gpu, "bodies, or what moves them", buffer, count)?;
    }
    holds(gpu, "the result", to, count)
}

/// The words of bodies.
fn words(bodies: &[Body]) -> &[u32] {
    bytemuck::cast_slice(bodies)
}

/// The words of velocities.
fn motion_words(motions: &[Motion]) -> &[u32] {
    bytemuck::cast_slice(motions)
}
