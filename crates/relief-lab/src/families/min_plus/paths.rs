//! Shortest paths between all pairs of vertices: what min-plus products are for.
//!
//! An eighth of the edges are missing; lengths are whole numbers of f32, so that sums do not depend on their order.
//!
//! Least work: n³ operations, each an addition with its minimum: those of Floyd and Warshall. By squaring there are as many times ⌈log₂ n⌉,
//! fewer on the CPU, which ends when nothing changes.
//!
//! `vertices` is Floyd and Warshall's; in blocks most of the work is products.

use rayon::prelude::*;
use relief_numeric::min_plus::paths::{
    self, BLOCK, PathsError, begin_round, negative_cycle, round_len, rows_len, shortest_paths,
    shortest_paths_by_squaring, squaring_len,
};

use super::cpu::height;
use crate::array::{Array, Fill, Layout, mix};
use crate::family::{Class, Failure, Ladder, OnCpu, Operation, Outcome, Problem, Variant, Work};

/// Paths between so many vertices.
pub(super) struct Paths {
    vertices: usize,
}

impl Paths {
    const fn pitch(&self) -> usize {
        self.vertices.next_multiple_of(4)
    }

    const fn len(&self) -> usize {
        self.vertices * self.pitch()
    }
}

pub(super) fn ladder() -> Ladder<Paths> {
    let variants = on_both!(on_cpu(), gpu::variants());
    let about = "the lengths of shortest paths between all pairs of vertices, f32";
    let of = |vertices| Paths { vertices };
    Ladder::new("min-plus/paths", about, variants)
        .checks(move || [0, 1, 2, 33, 130, 200].map(of).into())
        .cases(move |scale| {
            let sides: &[usize] = match (scale.class, scale.quick) {
                (Class::Software, _) => &[256],
                (Class::Cpu, true) => &[512],
                (Class::Cpu, false) | (Class::Gpu, true) => &[1_000],
                (Class::Gpu, false) => &[1_000, 3_000],
            };
            scale.sides_or(sides).into_iter().map(of).collect()
        })
}

impl Problem for Paths {
    fn label(&self) -> String {
        format!("{} vertices", crate::quantity::count(self.vertices as u64))
    }

    fn elements(&self) -> u64 {
        self.vertices as u64 * self.vertices as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let pitch = self.pitch();
        let seed = u64::from(fill == Fill::Random);
        let edge = |place: usize| {
            let bits = mix(seed, place as u64);
            // What follows a row is as no edge.
            if bits.is_multiple_of(8) || place % pitch >= self.vertices {
                f32::INFINITY
            } else {
                ((bits >> 8) % 10_000 + 1) as f32
            }
        };
        vec![Array::from_fn(self.len(), edge)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<f32>(self.len())]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let paths = outputs[0].slice_mut::<f32>();
        paths.copy_from_slice(inputs[0].slice());
        for vertex in 0..self.vertices {
            paths[vertex * self.pitch() + vertex] = 0.0;
        }
        for vertex in 0..self.vertices {
            let from = paths[vertex * self.pitch()..][..self.pitch()].to_vec();
            paths.par_chunks_mut(self.pitch()).for_each(|row| {
                let to = row[vertex];
                for (path, from) in row.iter_mut().zip(&from) {
                    *path = if to + from < *path { to + from } else { *path };
                }
            });
        }
    }

    fn work(&self) -> Work {
        let bytes = 4 * self.elements();
        Work::bytes(bytes, bytes).operations(Operation::F32AddMin, self.elements() * self.vertices as u64)
    }
}

type Find = fn(&mut [f32], usize, usize, &mut [f32]) -> Result<(), PathsError>;

fn on_cpu() -> Vec<Variant<Paths>> {
    let of = |name, idea, find: Find| {
        Variant::cpu(name, idea, move |p: &Paths, call| {
            let paths = begin(&call.inputs[0], &mut call.outputs[0]);
            of_paths(find(paths, p.vertices, p.pitch(), call.scratch[0].slice_mut()))
        })
    };
    vec![
        Variant::cpu("vertices", "one vertex after the other", vertices),
        of(
            "squares",
            "products of paths with themselves",
            shortest_paths_by_squaring,
        )
        .scratch(|p| vec![Layout::of::<f32>(squaring_len::<f32>(p.vertices))]),
        of("blocks", "vertices in blocks, on one thread", shortest_paths)
            .scratch(|p| vec![Layout::of::<f32>(paths::scratch_len::<f32>(p.vertices))]),
        Variant::cpu("threads", "vertices in blocks, rows for each thread", threads)
            .scratch(|p| {
                let parts = p.vertices.div_ceil(height(p.vertices)).max(1);
                let rows = parts * rows_len(height(p.vertices));
                vec![
                    Layout::of::<f32>(round_len::<f32>(p.vertices)),
                    Layout::of::<f32>(rows),
                ]
            })
            .production(),
    ]
}

/// The edges, where the paths will be.
fn begin<'a>(edges: &Array, paths: &'a mut Array) -> &'a mut [f32] {
    let paths = paths.slice_mut::<f32>();
    paths.copy_from_slice(edges.slice());
    paths
}

fn of_paths(found: Result<(), PathsError>) -> Outcome {
    found.map_err(|error| Failure::Failed(error.to_string()))
}

fn vertices(p: &Paths, call: OnCpu<'_>) -> Outcome {
    let pitch = p.pitch();
    let paths = begin(&call.inputs[0], &mut call.outputs[0]);
    for vertex in 0..p.vertices {
        paths[vertex * pitch + vertex] = 0.0;
    }
    for vertex in 0..p.vertices {
        let (before, rest) = paths.split_at_mut(vertex * pitch);
        let (own, after) = rest.split_at_mut(pitch);
        let others = before
            .chunks_exact_mut(pitch)
            .chain(after.chunks_exact_mut(pitch));
        for row in others {
            let to = row[vertex];
            for (path, from) in row.iter_mut().zip(&*own) {
                *path = if to + from < *path { to + from } else { *path };
            }
        }
    }
    Ok(())
}

fn threads(p: &Paths, call: OnCpu<'_>) -> Outcome {
    let (vertices, pitch) = (p.vertices, p.pitch());
    let paths = begin(&call.inputs[0], &mut call.outputs[0]);
    let [of_round, of_rows] = call.scratch else {
        return Err(Failure::Failed("no scratch memory".to_owned()));
    };
    let (of_round, of_rows) = (of_round.slice_mut::<f32>(), of_rows.slice_mut::<f32>());
    let height = height(vertices);
    for round in 0..vertices.div_ceil(BLOCK) {
        let round = begin_round(paths, vertices, pitch, round, of_round)?;
        let parts = paths.par_chunks_mut(height * pitch);
        let scratch = of_rows.par_chunks_mut(rows_len(height));
        parts
            .zip(scratch)
            .try_for_each(|(paths, scratch)| round.take(paths, paths.len() / pitch, pitch, scratch))?;
    }
    of_paths(negative_cycle(paths, vertices, pitch))
}

#[cfg(feature = "gpu")]
mod gpu {
    use relief_kernels::copy::gpu::copy;
    use relief_numeric::element::Element;
    use relief_numeric::min_plus::gpu::Matrix;
    use relief_numeric::min_plus::gpu::paths::{Way, scratch_words, shortest_paths};

    use super::Paths;
    use crate::array::Layout;
    use crate::family::{OnGpu, Outcome, Variant};

    pub(super) fn variants() -> Vec<Variant<Paths>> {
        let of = |name, idea, way| {
            Variant::gpu(name, idea, move |p: &Paths, call| run(p, call, way)).scratch(|p| {
                vec![
                    Layout::of::<u32>(scratch_words(p.vertices as u32) as usize),
                    Layout::of::<u32>(4),
                ]
            })
        };
        vec![
            of(
                "squares",
                "products of paths with themselves, as many as there may have to be",
                Way::Squares,
            ),
            of(
                "blocks",
                "vertices in blocks: a small kernel and three products each",
                Way::Blocks,
            )
            .production(),
        ]
    }

    fn run(p: &Paths, call: &OnGpu<'_>, way: Way) -> Outcome {
        copy(call.gpu, &call.inputs[0], &call.outputs[0], p.len())?;
        let paths = Matrix {
            buffer: &call.outputs[0],
            pitch: p.pitch() as u32,
        };
        let (n, scratch, found) = (p.vertices as u32, &call.scratch[0], &call.scratch[1]);
        shortest_paths(call.gpu, way, Element::F32, n, paths, found, scratch)?;
        Ok(())
    }
}
