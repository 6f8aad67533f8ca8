//! The variants on the CPU.

use rayon::prelude::*;
use relief_kernels::isa::{Isa, versions};
use relief_numeric::nbody::{Body, Interaction, Motion, cpu};

use super::{Pull, SOFTENING, bodies, interaction};
use crate::family::{OnCpu, Outcome, Variant};

pub(super) fn variants() -> Vec<Variant<Pull>> {
    vec![
        Variant::cpu(
            "naive",
            "a body after the other, with a root and a division",
            |_: &Pull, call| each(call, pull_all),
        )
        .source("229–329 GFLOPS"),
        Variant::cpu(
            "lanes, exact roots",
            "32 bodies are pulled at once, with a root and a division",
            |_: &Pull, call| each(call, |bodies, to| lanes(Isa::best(), bodies, to)),
        ),
        Variant::cpu(
            "lanes",
            "the production kernel on one thread",
            |_: &Pull, call| {
                let interaction = interaction()?;
                each(call, |bodies, to| {
                    cpu::accelerations(&interaction, bodies, bodies, to)
                })
            },
        ),
        Variant::cpu(
            "threads",
            "parts of the bodies dealt to all threads",
            |_: &Pull, call| {
                let interaction = interaction()?;
                each(call, |bodies, to| dealt(&interaction, bodies, to))
            },
        )
        .production(),
    ]
}

fn each(call: OnCpu<'_>, pull: impl FnOnce(&[Body], &mut [Motion])) -> Outcome {
    let to = bytemuck::cast_slice_mut(call.outputs[0].bytes_mut());
    pull(bodies(&call.inputs[0]), to);
    Ok(())
}

/// Parts of 128 bodies, which every thread takes when it has done its last.
fn dealt(interaction: &Interaction, bodies: &[Body], to: &mut [Motion]) {
    let parts = bodies.par_chunks(128).zip(to.par_chunks_mut(128));
    parts.for_each(|(targets, to)| cpu::accelerations(interaction, targets, bodies, to));
}

fn pull_all(bodies: &[Body], to: &mut [Motion]) {
    for (target, to) in bodies.iter().zip(to) {
        let mut sum = [0.0; 4];
        for source in bodies {
            let [dx, dy, dz] = [0, 1, 2].map(|axis: usize| source.place[axis] - target.place[axis]);
            let inverse = 1.0 / (dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING).sqrt();
            let weight = source.mass * inverse * (inverse * inverse);
            sum[0] += weight * dx;
            sum[1] += weight * dy;
            sum[2] += weight * dz;
        }
        *to = sum;
    }
}

versions! {
    fn lanes(bodies: &[Body], to: &mut [Motion]) {
        const LANES: usize = 32;
        for (targets, to) in bodies.chunks(LANES).zip(to.chunks_mut(LANES)) {
            let mut places = [[0.0_f32; LANES]; 3];
            for (k, target) in targets.iter().enumerate() {
                places.iter_mut().zip(target.place).for_each(|(axis, place)| axis[k] = place);
            }
            let [x, y, z] = places;
            let mut sums = [[0.0_f32; LANES]; 3];
            for source in bodies {
                for k in 0..LANES {
                    let dx = source.place[0] - x[k];
                    let dy = source.place[1] - y[k];
                    let dz = source.place[2] - z[k];
                    let inverse = 1.0 / (dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING).sqrt();
                    let weight = (source.mass * inverse) * (inverse * inverse);
                    sums[0][k] += weight * dx;
                    sums[1][k] += weight * dy;
                    sums[2][k] += weight * dz;
                }
            }
            for (k, to) in to.iter_mut().enumerate() {
                *to = [sums[0][k], sums[1][k], sums[2][k], 0.0];
            }
        }
    }
}
