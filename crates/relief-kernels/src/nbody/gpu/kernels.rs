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
    period: f32,
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
    let mut across = Array::<f32>::new(items);
    let mut down = Array::<f32>::new(items);
    let mut deep = Array::<f32>::new(items);
    #[unroll]
    for k in 0..items {
        let place = first + comptime!(k as u32 * shape.units);
        let mut body = Vector::<f32, N>::new(0.0f32);
        if place < target_count {
            body = targets[place as usize];
        }
        x[k] = body[0usize];
        y[k] = body[1usize];
        z[k] = body[2usize];
        across[k] = 0.0f32;
        down[k] = 0.0f32;
        deep[k] = 0.0f32;
    }
    // A cube past the last part has nothing to do.
    let mut start = min(number * part, source_count);
    let end = min(start + part, source_count);
    while start < end {
        // What is missing weighs nothing.
        let mut body = Vector::<f32, N>::new(0.0f32);
        let place = start + UNIT_POS;
        if place < end {
            body = sources[place as usize];
        }
        sync_cube();
        tile[UNIT_POS as usize] = body;
        sync_cube();
        let many = min(end - start, comptime!(shape.units));
        let mut round = 0u32;
        while round < many {
            #[unroll]
            for step in 0..ROUND {
                let source = tile[(round + step) as usize];
                #[unroll]
                for k in 0..items {
                    let dx = way(source[0usize] - x[k], period, inverse, comptime!(shape.metric));
                    let dy = way(source[1usize] - y[k], period, inverse, comptime!(shape.metric));
                    let flat = fma(dx, dx, fma(dy, dy, softening));
                    if comptime!(shape.metric == Metric::Free) {
                        let dz = source[2usize] - z[k];
                        let root = inverse_root(fma(dz, dz, flat));
                        let weight = (source[3usize] * root) * (root * root);
                        across[k] = fma(weight, dx, across[k]);
                        down[k] = fma(weight, dy, down[k]);
                        deep[k] = fma(weight, dz, deep[k]);
                    } else {
                        let root = inverse_root(flat);
                        let weight = source[3usize] * (root * root);
                        across[k] = fma(weight, dx, across[k]);
                        down[k] = fma(weight, dy, down[k]);
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

/// 1 / √x. The compiler of CUDA C++ guards a root against numbers below 2⁻¹²⁶ by three operations, unless it sees that there are
/// none: a size and a number that is not one of them show it, and cost one. No square is so small that it changes.
#[cube]
fn inverse_root(square: f32) -> f32 {
    (square.abs() + 2e-38f32).inverse_sqrt()
}

/// A way along an axis.
#[cube]
fn way(difference: f32, period: f32, inverse: f32, #[comptime] metric: Metric) -> f32 {
    if comptime!(metric == Metric::Torus) {
        difference - period * (difference * inverse).round()
    } else {
        difference
    }
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
