//! N bodies: each is pulled by all, out(i) = Σ m(j) d / (d² + ε²)^(3/2) with d from body i to body j, of f32.
//!
//! Least work: n² pulls. A pull takes 12 operations (3 subtractions, 3 multiply-adds for the square, 3 multiplications, 3
//! multiply-adds for the sums) and an inverse root: 13 slots of a scheduler, of which a multiprocessor of an H200 has 4 × 32 a
//! clock. Roots, 16 a clock, come second. Bytes do not count: 32 for each body. The source, as all literature, counts 20
//! floating-point operations a pull: rates are pulls a second, and 20 times as many FLOPS.
//!
//! The compiler of CUDA C++ guards a root by 3 slots more against numbers below 2⁻¹²⁶, which `naive` and `vectors` pay. Where it
//! sees that there are none it does not: production writes its squares so that it does, and takes 13 slots.
//!
//! The source: 16 128 particles, 229–329 GFLOPS.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;

use rayon::prelude::*;
use relief_numeric::nbody::{Body, Interaction, Space};

use crate::array::{Array, Fill, Layout, mix};
use crate::family::{Class, Failure, Family, Ladder, Operation, Outcome, Problem, Scale, Tolerance, Work};

pub(super) fn family() -> Family {
    Family {
        name: "nbody",
        about: "all pairs of bodies: operations, not bytes",
        source: "16 128 particles: 229–329 GFLOPS, 20 floating-point operations a pull",
        source_size: "16 128 bodies",
        wins: "Split the sources over blocks and share tiles: a small number of bodies then fills a large \
               device, and each loaded body serves several pulls. The inverse square root of the device is \
               the other half of the bound.",
        loses: "A thread a body that loads every source alone waits for loads. Shared tiles alone leave most \
                multiprocessors idle at a few thousand bodies. On processors exact roots and divisions take \
                longer than all the rest.",
        ladders: vec![Box::new(ladder())],
    }
}

fn ladder() -> Ladder<Pull> {
    let variants = on_both!(cpu::variants(), gpu::variants());
    let about = "out(i) = Σ m(j) d / (d² + ε²)^(3/2), three dimensions";
    Ladder::new("nbody", about, variants)
        .checks(|| [0, 1, 2, 31, 33, 255, 600, 1_025].map(Pull).into())
        .cases(|scale| cases(scale).into_iter().map(Pull).collect())
}

fn cases(scale: Scale) -> Vec<usize> {
    let sizes: &[u64] = match (scale.class, scale.quick) {
        (Class::Gpu, false) => &[4_096, 16_128, 65_536],
        (Class::Gpu, true) => &[16_128],
        (Class::Cpu, false) => &[4_096, 16_128],
        (Class::Cpu, true) => &[4_096],
        (Class::Software, _) => &[2_048],
    };
    // More pairs than this take hours.
    let sizes = scale
        .or_these(sizes)
        .into_iter()
        .map(|size| size.min(1 << 20) as usize);
    sizes.collect()
}

/// The pull of so many bodies on each other.
#[derive(Clone, Copy)]
struct Pull(usize);

/// ε, a hundredth of the side of the cube that the bodies are in.
const SOFTENING: f32 = 0.01;

/// What holds between the bodies.
fn interaction() -> Outcome<Interaction> {
    Interaction::new(Space::Free, 1.0, SOFTENING).map_err(|e| Failure::Failed(e.to_string()))
}

/// What pulls a body, by the definition, in floats of 64 bits.
fn pulled(places: &[[f64; 4]], body: &[f64; 4]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for other in places {
        let [dx, dy, dz] = [0, 1, 2].map(|axis: usize| other[axis] - body[axis]);
        let square = dx * dx + dy * dy + dz * dz + f64::from(SOFTENING) * f64::from(SOFTENING);
        let weight = other[3] / (square * square.sqrt());
        sum[0] += weight * dx;
        sum[1] += weight * dy;
        sum[2] += weight * dz;
    }
    sum
}

/// The bodies of an array.
fn bodies(array: &Array) -> &[Body] {
    bytemuck::cast_slice(array.bytes())
}

impl Problem for Pull {
    fn label(&self) -> String {
        format!("{} bodies", crate::quantity::count(self.0 as u64))
    }

    fn elements(&self) -> u64 {
        self.0 as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let count = self.0;
        let random = |place: usize| (mix(1, place as u64) >> 8) as f32 / 16_777_216.0;
        vec![Array::from_fn(4 * count, |place| match (place % 4, fill) {
            // About 1 in all, so that accelerations are too.
            (3, Fill::Random) => 2.0 * random(place) / count as f32,
            (3, Fill::Structured) => 1.0 / count as f32,
            (_, Fill::Random) => random(place),
            // A grid, two bodies at each of its places.
            (axis, Fill::Structured) => (((place / 8) >> (3 * axis)) & 7) as f32 / 9.0,
        })]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<f32>(4 * self.0)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let wide = |body: &Body| {
            let [x, y, z] = body.place.map(f64::from);
            [x, y, z, f64::from(body.mass)]
        };
        let places: Vec<[f64; 4]> = bodies(&inputs[0]).iter().map(wide).collect();
        // So many pairs that one thread would take a minute.
        let to = outputs[0].slice_mut::<f32>().par_chunks_mut(4);
        to.zip(&places).for_each(|(to, body)| {
            let [x, y, z] = pulled(&places, body);
            to.copy_from_slice(&[x as f32, y as f32, z as f32, 0.0]);
        });
    }

    fn work(&self) -> Work {
        let bytes = 16 * self.elements();
        Work::bytes(bytes, bytes).operations(Operation::F32Pull, self.elements() * self.elements())
    }

    fn tolerance(&self, _: Fill) -> Tolerance {
        // Sums of n floats, one after the other in some variants.
        Tolerance::Relative(1e-4)
    }
}
