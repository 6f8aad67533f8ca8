//! The variants on devices. All but production compute in f32, in which sums of 8-bit samples are exact, and have a unit for
//! each word of the result.
#![allow(unsafe_code)]

mod passes;
mod pixels;
mod squares;

use relief_numeric::stencil::Filter;
use relief_numeric::stencil::gpu::{self as production, Samples, Size, Way};

use super::{Stencil, Subject, filter, too_many_loads};
use crate::array::{Kind, Layout};
use crate::family::{Layouts, Outcome, Problem, Variant};

/// How samples become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Combine {
    /// Σ weight · sample, divided.
    Weighted,
    Least,
    /// |gx| + |gy|.
    Edges,
}

impl Combine {
    const fn of(filter: &Filter) -> Self {
        match filter {
            Filter::Erosion(_) => Self::Least,
            Filter::Sobel => Self::Edges,
            _ => Self::Weighted,
        }
    }
}

const fn samples(kind: Kind) -> Samples {
    match kind {
        Kind::U8 => Samples::Bytes,
        _ => Samples::Floats,
    }
}

impl Stencil {
    fn size(&self) -> Size {
        Size {
            samples: samples(self.kind),
            width: self.width as u32,
            height: self.height as u32,
        }
    }

    /// Words from one row to the next.
    fn row_words(&self) -> u32 {
        production::row_words(samples(self.kind), self.width as u32)
    }

    /// What is added to a weighted sum, and what it is then multiplied by.
    fn rounding(&self) -> (f32, f32) {
        let divisor = self.divisor();
        let half = match (&self.filter, self.kind) {
            // A whole number of halves: see `relief_numeric::stencil::mean`.
            (Filter::Box(_), Kind::U8) => 0.5 * divisor,
            (_, Kind::U8) => (0.5 * divisor).floor(),
            _ => 0.0,
        };
        (half as f32, 1.0 / divisor as f32)
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }
}

pub(super) fn variants(subject: Subject, kind: Kind) -> Vec<Variant<Stencil>> {
    let mut variants = vec![
        Variant::gpu(
            "naive",
            "every unit loads the squares of its pixels",
            |p: &Stencil, call| squares::squares(p, call, false),
        ),
        Variant::gpu(
            "tiled",
            "tiles with their border in shared memory; units load several pixels",
            |p: &Stencil, call| squares::squares(p, call, true),
        ),
    ];
    if subject == Subject::Box {
        let figures = variants.into_iter().zip(["163 ms", "116 ms"]);
        variants = figures.map(|(variant, figure)| variant.source(figure)).collect();
    }
    let between = |p: &Stencil| {
        let columns = p.row_words() * samples(p.kind).per_word();
        vec![Layout::of::<f32>(columns as usize * p.height)]
    };
    if matches!(subject, Subject::Box | Subject::Gauss | Subject::Extreme) {
        variants.push(
            Variant::gpu(
                "separable",
                "columns, then rows, with a picture between",
                |p: &Stencil, call| passes::both(p, call, false),
            )
            .scratch(between),
        );
    }
    if subject == Subject::Box {
        variants.push(
            Variant::gpu(
                "running sum",
                "the same, each sum from the last by what enters and what leaves",
                |p: &Stencil, call| passes::both(p, call, true),
            )
            .scratch(between),
        );
    }
    let (name, space, default) = layouts_of(&filter(subject, 1), samples(kind));
    variants.push(
        Variant::gpu(
            "one pass",
            "columns and rows at once, in strips",
            |p: &Stencil, call| {
                let (from, to) = (&call.inputs[0], &call.outputs[0]);
                production::apply_with(call.gpu, call.tuning, &p.filter, p.size(), from, to)?;
                Ok(())
            },
        )
        .tuned(name, space, default)
        .tuned_by(|p, _| layouts_of(&p.filter, samples(p.kind)))
        .production(),
    );
    variants.extend(others(subject, kind).iter().map(other));
    variants
}

/// What production may choose for a problem.
fn layouts_of(filter: &Filter, samples: Samples) -> Layouts {
    (
        production::kernel_name(filter, samples),
        production::space(filter, samples),
        production::default(filter, samples),
    )
}

/// Another way than production's, and the idea of it.
type Other = (&'static str, &'static str, Way);

const fn strips(kept: bool) -> Way {
    Way::Strips { kept, exchange: true }
}

const AGAIN: Other = (
    "one pass, rows again",
    "the same, but rows that leave windows are read again",
    strips(false),
);
const KEPT: Other = (
    "one pass, rows kept",
    "the same, but shared memory keeps the rows of windows, where it is large enough",
    strips(true),
);
const NO_MATRIX: Other = (
    "one pass, no matrix instructions",
    "the same without the instructions that multiply matrices of bytes",
    strips(false),
);

/// Ways of production, in its layout, of which one is its own for some radius or size.
const fn others(subject: Subject, kind: Kind) -> &'static [Other] {
    match (subject, kind) {
        (Subject::Box | Subject::Extreme, Kind::F32) => &[AGAIN, KEPT],
        (Subject::Extreme, _) => &[AGAIN],
        (Subject::Gauss | Subject::Convolution, Kind::U8) => &[NO_MATRIX],
        _ => &[],
    }
}

fn other(&(name, idea, way): &Other) -> Variant<Stencil> {
    Variant::gpu(name, idea, move |p: &Stencil, call| {
        let (from, to, size) = (&call.inputs[0], &call.outputs[0], p.size());
        let tuning = production::default(&p.filter, size.samples);
        production::apply_by(call.gpu, way, tuning, &p.filter, size, from, to)?;
        Ok(())
    })
}

/// The most pixels that are looked at of a picture: a device does that in a tenth of a second.
const MOST: u64 = 1 << 35;

/// The same for pictures of more than 2^32 bytes, which are checked and seldom timed: some seconds.
const MOST_OF_HUGE: u64 = 1 << 41;

fn near_enough(problem: &Stencil) -> Outcome {
    let side = 2 * problem.radius() as u64 + 1;
    let bytes = problem.outputs().into_iter().map(Layout::bytes).sum::<usize>();
    let most = match u32::try_from(bytes) {
        Ok(_) => MOST,
        Err(_) => MOST_OF_HUGE,
    };
    if problem.elements().saturating_mul(side * side) <= most {
        return Ok(());
    }
    Err(too_many_loads(side))
}
