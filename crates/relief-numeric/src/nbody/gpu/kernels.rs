//! The kernels of N bodies.

use cubecl::prelude::*;

use crate::nbody::{Interaction, Space};

/// What of the space is compiled into a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Metric {
    Free,
    Plane,
    Torus,
}

impl Metric {
    pub(super) const fn of(interaction: &Interaction) -> Self {
        match interaction.space() {
            Space::Free => Self::Free,
            Space::Plane => Self::Plane,
            Space::Torus(_) => Self::Torus,
        }
    }
}

/// What is compiled into [`pull`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) metric: Metric,
    /// Units of a cube, and sources that it shares.
    pub(super) units: u32,
    /// Bodies of a unit.
    pub(super) items: u32,
}

/// Sources that a unit takes into account without a loop.
const ROUND: u32 = 8;

/// What the sources of each part do to the targets: the cube of group g and part p has bodies from g · units · items on, and sources
/// from p · `part` on.
#[cube(launch_unchecked)]
pub(super) fn pull<N: Size>(
    targets: &Array<Vector<f32, N>>,
    sources: &Array<Vector<f32, N>>,
    to: &mut Array<Vector<f32, N>>,
    target_count: u32,
    source_count: u32,
    part: u32,
    parts: u32,
    groups: u32,
    softening: f32,
    inverse: f32,
    strength: f32,
    #[comptime] shape: Shape,
) {
    let items = comptime!(shape.items as usize);
    let mut tile = SharedMemory::<Vector<f32, N>>::new(comptime!(shape.units as usize));
    let number = CUBE_POS as u32 / groups;
    let first = (CUBE_POS as u32 % groups) * comptime!(shape.units * shape.items) + UNIT_POS;
    let mut x = Array::<f32>::new(items);
    let mut y = Array::<f32>::new(items);
    let mut z = Array::<f32>::new(items);
    // Seen not to be below 2⁻¹²⁶; see `inverse_root`.
    let softening = softening.abs() + 2e-38f32;
    let mut across = Array::<f32>::new(items);
    let mut down = Array::<f32>::new(items);
    let mut deep = Array::<f32>::new(items);
    #[unroll]
    for k in 0..items {
        let place = first + comptime!(k as u32 * shape.units);
        let mut body = Vector::<f32, N>::new(0.0f32);
        if place < target_count {
            body = scaled::<N>(targets[place as usize], inverse, comptime!(shape.metric));
        }
        x[k] = body[0usize];
        y[k] = body[1usize];
        z[k] = body[2usize];
        across[k] = 0.0f32;
        down[k] = 0.0f32;
        deep[k] = 0.0f32;
    }
    // rung: nbody on gpu: split
    // A cube past the last part has nothing to do.
    let mut start = min(number * part, source_count);
    let end = min(start + part, source_count);
    // end
    while start < end {
        // rung: nbody on gpu: shared tiles
        // What is missing weighs nothing.
        let mut body = Vector::<f32, N>::new(0.0f32);
        let place = start + UNIT_POS;
        if place < end {
            body = scaled::<N>(sources[place as usize], inverse, comptime!(shape.metric));
        }
        sync_cube();
        tile[UNIT_POS as usize] = body;
        sync_cube();
        // end
        let many = min(end - start, comptime!(shape.units));
        let mut round = 0u32;
        while round < many {
            #[unroll]
            for step in 0..ROUND {
                let source = tile[(round + step) as usize];
                #[unroll]
                for k in 0..items {
                    let dx = source[0usize] - x[k];
                    let dy = source[1usize] - y[k];
                    if comptime!(shape.metric == Metric::Free) {
                        // rung: nbody on gpu: mixed
                        let dz = source[2usize] - z[k];
                        let root = inverse_root(dx, dy, (dz * dz).abs() + softening);
                        let weight = (source[3usize] * root) * (root * root);
                        across[k] = fma(weight, dx, across[k]);
                        down[k] = fma(weight, dy, down[k]);
                        deep[k] = fma(weight, dz, deep[k]);
                        // end
                    } else if comptime!(shape.metric == Metric::Plane) {
                        let root = inverse_root(dx, dy, softening);
                        let weight = source[3usize] * (root * root);
                        across[k] = fma(weight, dx, across[k]);
                        down[k] = fma(weight, dy, down[k]);
                    } else {
                        // In periods.
                        let dx = dx - dx.round();
                        let dy = dy - dy.round();
                        let (tx, ty) = (dx * dx, dy * dy);
                        let flat = (ty * fma(ty, -2.0f32, 1.0f32)).abs() + softening;
                        let square = (tx * fma(tx, -2.0f32, 1.0f32)).abs() + flat;
                        let root = square.inverse_sqrt();
                        let weight = source[3usize] * (root * root);
                        across[k] = fma(weight, dx * fma(tx, -4.0f32, 1.0f32), across[k]);
                        down[k] = fma(weight, dy * fma(ty, -4.0f32, 1.0f32), down[k]);
                    }
                }
            }
            round += comptime!(ROUND);
        }
        start += comptime!(shape.units);
    }
    #[unroll]
    for k in 0..items {
        let place = first + comptime!(k as u32 * shape.units);
        let mut sum = Vector::<f32, N>::new(0.0f32);
        sum[0usize] = across[k] * strength;
        sum[1usize] = down[k] * strength;
        sum[2usize] = deep[k] * strength;
        if place < target_count {
            if number < parts {
                to[(number * target_count + place) as usize] = sum;
            }
        }
    }
}

/// 1 / √(x² + y² + rest), where `rest` is a sum of sizes and a number that is not below 2⁻¹²⁶.
///
/// The compiler of CUDA C++ guards a root by three operations against numbers below that, unless it sees that there are none. It does in
/// sums of sizes and such a constant, and joins products and sums all the same; of multiply-adds that are written as such it sees nothing.
#[cube]
fn inverse_root(x: f32, y: f32, rest: f32) -> f32 {
    ((x * x).abs() + ((y * y).abs() + rest)).inverse_sqrt()
}

/// A body on a torus in periods; as it is elsewhere.
#[cube]
fn scaled<N: Size>(body: Vector<f32, N>, inverse: f32, #[comptime] metric: Metric) -> Vector<f32, N> {
    let mut scaled = body;
    if comptime!(metric == Metric::Torus) {
        scaled[0usize] = body[0usize] * inverse;
        scaled[1usize] = body[1usize] * inverse;
    }
    scaled
}

/// What all parts together do to each target, in their order.
#[cube(launch_unchecked)]
pub(super) fn add_parts<N: Size>(
    parts: &Array<Vector<f32, N>>,
    to: &mut Array<Vector<f32, N>>,
    count: u32,
    many: u32,
    strength: f32,
) {
    let place = CUBE_POS as u32 * CUBE_DIM + UNIT_POS;
    if place < count {
        let mut sum = Vector::<f32, N>::new(0.0f32);
        let mut part = 0u32;
        while part < many {
            sum += parts[(part * count + place) as usize];
            part += 1u32;
        }
        to[place as usize] = sum * Vector::new(strength);
    }
}

#[cube(launch_unchecked)]
pub(super) fn kick_velocities<N: Size>(
    velocities: &Array<Vector<f32, N>>,
    accelerations: &Array<Vector<f32, N>>,
    to: &mut Array<Vector<f32, N>>,
    count: u32,
    time: f32,
) {
    let place = CUBE_POS as u32 * CUBE_DIM + UNIT_POS;
    if place < count {
        let place = place as usize;
        to[place] = velocities[place] + accelerations[place] * Vector::new(time);
    }
}

#[cube(launch_unchecked)]
pub(super) fn drift_bodies<N: Size>(
    bodies: &Array<Vector<f32, N>>,
    velocities: &Array<Vector<f32, N>>,
    to: &mut Array<Vector<f32, N>>,
    count: u32,
    time: f32,
    period: f32,
    #[comptime] torus: bool,
) {
    let place = CUBE_POS as u32 * CUBE_DIM + UNIT_POS;
    if place < count {
        let place = place as usize;
        // The fourth number of a velocity is 0, so the mass stays.
        let mut body = bodies[place] + velocities[place] * Vector::new(time);
        if comptime!(torus) {
            #[unroll]
            for axis in 0..2usize {
                body[axis] = body[axis] - period * (body[axis] / period).floor();
            }
        }
        to[place] = body;
    }
}
