//! An atomic operation against a store: every copy of a pattern is written, and whoever writes last wins.
//!
//! The source wrote copies along (u, v) with plain stores (9.8 ms) and with atomics (6.3 ms), and left open why the atomics
//! were faster. Plain stores of copies that overlap race, so that their result is nothing to check. Here the pattern is
//! cut out of a raster with the lattice's period: all copies over a pixel agree, whoever wins, and the work is the same.
//!
//! out(x, y) is the sample of any copy over (x, y), 0 where there is none, in words of 32 bits. Rows lie as in the other ladders of the
//! family, a multiple of 16 words apart, and what lies between them means nothing.
//!
//! Least work: the raster is written once. Scattered stores write it once for each copy, and all of it with 0 before.
//!
//! Where neighbouring units write pixels a vector apart, every store is a transaction of its own. That is the order in which stores can lose
//! to atomics: lines are fetched to the cache near the units or not, and partial writes are merged there or in the last cache. Of an
//! atomic whose result nobody reads the caches need not answer.

use rayon::prelude::*;

use super::cpu::{each_pixel, each_run};
use super::{Copies, Point, VECTORS, checks, rasters};
use crate::array::{Array, Fill, Layout, mix};
use crate::family::{Class, Ladder, OnCpu, Outcome, Problem, Rows, Scale, Variant, Work};

/// Copies that agree where they overlap.
pub(super) struct Agreeing {
    pub(super) copies: Copies,
}

impl Problem for Agreeing {
    fn label(&self) -> String {
        let (label, overlap) = (self.copies.label(), self.copies.overlap());
        format!("{label}, {overlap:.2} over a pixel")
    }

    fn elements(&self) -> u64 {
        self.copies.width as u64 * self.copies.height as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let (w, h) = self.copies.size;
        let period = self.copies.period();
        vec![Array::from_fn(w * h, |at| {
            let (column, row) = period.reduce((at % w) as i64, (at / w) as i64);
            let place = row * period.a() + column;
            match fill {
                Fill::Random => mix(1, place),
                Fill::Structured => place as u32 * (1 - place as u32 % 2),
            }
        })]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u32>(self.copies.stored())]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let pattern = inputs[0].slice::<u32>();
        let pitch = self.copies.pitch().max(1);
        let rows = outputs[0].slice_mut::<u32>().par_chunks_mut(pitch);
        rows.enumerate().for_each(|(y, row)| {
            for (x, out) in row[..self.copies.width].iter_mut().enumerate() {
                *out = self.copies.over(x, y).next().map_or(0, |place| pattern[place]);
            }
        });
    }

    fn work(&self) -> Work {
        let (w, h) = self.copies.size;
        Work::bytes(4 * (w * h) as u64, 4 * self.elements())
    }

    fn rows(&self) -> Option<Rows> {
        Some(self.copies.rows())
    }

    fn place(&self) -> Option<f64> {
        Some(self.copies.overlap())
    }
}

/// Vectors from copies that touch to 13 copies over a pixel.
const STEPS: [(Point, Point); 4] = [
    ((100, 0), (0, 100)),
    VECTORS,
    ((50, 10), (-10, 50)),
    ((30, 5), (-5, 25)),
];

pub(super) fn ladder() -> Ladder<Agreeing> {
    let variants = vec![
        Variant::cpu(
            "target",
            "for each pixel, the first copy in a window of cells",
            target,
        ),
        Variant::cpu("copies", "each copy is written, the last wins", written),
    ];
    let variants = on_both!(variants, super::gpu::stores());
    let about = "out(x, y) = the sample of any copy over (x, y); copies agree";
    Ladder::new("lattice/stores", about, variants)
        .axis("copies over a pixel")
        .checks(|| checks().into_iter().map(|copies| Agreeing { copies }).collect())
        .cases(cases)
        .huge(|| {
            let copies = Copies::new((16_400, 4 * 16_411), super::PATTERN, (3, 5), VECTORS);
            vec![Agreeing { copies }]
        })
}

/// One raster, the source's where there is a device for it, and every number of copies over a pixel.
fn cases(scale: Scale) -> Vec<Agreeing> {
    let wanted = if scale.class == Class::Cpu {
        1 << 24
    } else {
        1 << 22
    };
    let rasters = rasters(match (scale.class, scale.quick) {
        (Class::Gpu, _) | (_, true) => scale,
        (_, false) => Scale {
            size: Some(scale.or(wanted)),
            ..scale
        },
    });
    let Some(raster) = rasters.last() else {
        return Vec::new();
    };
    let of = |vectors| Agreeing {
        copies: Copies::new(*raster, super::PATTERN, (0, 0), vectors),
    };
    STEPS.map(of).into()
}

fn target(problem: &Agreeing, call: OnCpu<'_>) -> Outcome {
    let pattern = call.inputs[0].slice::<u32>();
    each_pixel(&problem.copies, call.outputs[0].slice_mut::<u32>(), |places| {
        places.next().map_or(0, |place| pattern[place])
    });
    Ok(())
}

fn written(problem: &Agreeing, call: OnCpu<'_>) -> Outcome {
    let pattern = call.inputs[0].slice::<u32>();
    let out = call.outputs[0].slice_mut::<u32>();
    out.fill(0);
    each_run(&problem.copies, |start, run| {
        out[start..start + run.len()].copy_from_slice(&pattern[run]);
    });
    Ok(())
}
