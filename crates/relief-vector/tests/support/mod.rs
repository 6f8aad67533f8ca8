//! Drawings to samples, by the kernel.
#![allow(dead_code)]

use relief_kernels::coverage::{Builder, Error, Index, Lattice, Limits, Part, Rule, Sampling, cpu};
use relief_raster::{Depth, Sample, ViewMut};
use relief_vector::{Drawing, Target};

/// Takes a drawing into an index, with values of this depth.
struct Indexed {
    builder: Builder,
    parts: Vec<Part>,
    depth: Depth,
}

const fn rule(rule: relief_vector::Rule) -> Rule {
    match rule {
        relief_vector::Rule::NonZero => Rule::NonZero,
        relief_vector::Rule::EvenOdd => Rule::EvenOdd,
    }
}

impl Target for Indexed {
    type Error = Error;

    fn part(&mut self) {
        let part = self.builder.part();
        self.parts.push(part);
    }

    fn element(&mut self, value: u16, fill: relief_vector::Rule) {
        let value = match self.depth {
            Depth::Eight => ((u32::from(value) + 128) / 257) as u16,
            Depth::Sixteen => value,
        };
        self.builder.element(value, rule(fill));
    }

    fn clip(&mut self, fill: relief_vector::Rule) {
        self.builder.clip(rule(fill));
    }

    fn outline(&mut self, points: &[(i64, i64)]) -> Result<(), Error> {
        self.builder.outline(points)
    }

    fn place(&mut self, part: u32, lattice: relief_vector::Lattice) -> Result<(), Error> {
        let lattice = Lattice {
            origin: lattice.origin,
            u: lattice.u,
            v: lattice.v,
            columns: lattice.columns,
            rows: lattice.rows,
        };
        self.builder.place(self.parts[part as usize], lattice)
    }
}

/// The index of a drawing; nothing where it exceeds the limits or copies lie too close together.
pub(crate) fn try_index<S: Sample>(
    drawing: &Drawing,
    limits: &relief_vector::Limits,
    work: u64,
) -> Option<Index> {
    let builder = Builder::new(
        drawing.denominator(),
        Limits {
            work,
            ..Limits::default()
        },
    )?;
    let mut target = Indexed {
        builder,
        parts: Vec::new(),
        depth: S::DEPTH,
    };
    drawing.lower(limits, &mut target).ok()?.ok()?;
    target.builder.finish().ok()
}

pub(crate) fn index<S: Sample>(drawing: &Drawing) -> Index {
    try_index::<S>(drawing, &relief_vector::Limits::default(), Limits::default().work).unwrap()
}

pub(crate) fn samples<S: Sample>(index: &Index, at: (i64, i64), size: (usize, usize)) -> Vec<S> {
    let mut scratch = vec![0; cpu::scratch_words::<S>(index, Sampling::Area)];
    let mut out = vec![S::ZERO; size.0 * size.1];
    let view = ViewMut::packed(&mut out, size.0, size.1);
    if let Some(value) = cpu::compute(index, Sampling::Area, at, view, &mut scratch) {
        out.fill(value);
    }
    out
}

pub(crate) fn render<S: Sample>(drawing: &Drawing, size: (usize, usize)) -> Vec<S> {
    samples(&index::<S>(drawing), (0, 0), size)
}
