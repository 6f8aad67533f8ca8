//! The variants on devices.

use relief_numeric::element::Element;
use relief_numeric::integral::Sums;
use relief_numeric::integral::gpu as production;
use relief_numeric::scan::Kind;
use relief_numeric::scan::gpu::scan_each_row;
use relief_numeric::transpose::gpu::{Matrix, transpose};

use super::Integral;
use crate::array::Layout;
use crate::family::{Failure, OnGpu, Outcome, Variant};

pub(super) fn variants(sums: Sums) -> Vec<Variant<Integral>> {
    let mut variants = Vec::new();
    if sums != Sums::Long {
        variants.push(
            Variant::gpu(
                "two scans, transposes",
                "rows are scanned, transposed, scanned, transposed back",
                by_transposes,
            )
            .scratch(|p| {
                let turned = p.height.next_multiple_of(4) * p.pitch_out();
                vec![Layout::of::<u32>(turned), Layout::of::<u32>(turned)]
            }),
        );
    }
    variants.push(
        Variant::gpu(
            "carries first",
            "what enters each tile first, then everything in one pass",
            |p: &Integral, call| {
                let (from, to) = operands(p, call)?;
                let size = (p.width as u32, p.height as u32);
                production::integral_with(call.gpu, call.tuning, p.sums, size, from, to, &call.scratch[0])?;
                Ok(())
            },
        )
        .tuned(production::name(sums), production::SPACE, production::DEFAULT)
        .scratch(|p| {
            let words = production::scratch_words(p.sums, p.width as u32, p.height as u32);
            vec![Layout::of::<u32>(words)]
        })
        .production(),
    );
    variants
}

/// The picture and its integral image.
fn operands<'a>(problem: &Integral, call: &'a OnGpu<'_>) -> Outcome<(Matrix<'a>, Matrix<'a>)> {
    let pitch = |words: usize| u32::try_from(words).map_err(|_| Failure::Unsupported("its width".to_owned()));
    let from = Matrix {
        buffer: &call.inputs[0],
        pitch: pitch(problem.pitch_in() * problem.sums.bits() as usize / 32)?,
    };
    let to = Matrix {
        buffer: &call.outputs[0],
        pitch: pitch(problem.pitch_out() * problem.sums.words() as usize)?,
    };
    Ok((from, to))
}

const fn elements(problem: &Integral) -> (Element, Element) {
    match problem.sums {
        Sums::Floats => (Element::F32, Element::F32),
        _ => (Element::U8, Element::U32),
    }
}

fn by_transposes(problem: &Integral, call: &OnGpu<'_>) -> Outcome {
    let (from, to) = operands(problem, call)?;
    let (element, sum) = elements(problem);
    // Columns after the last are scanned too, and stay sums of what is there.
    let (width, height) = (problem.width as u32, problem.height as u32);
    let pitch = height.next_multiple_of(4);
    let turned = |buffer| Matrix { buffer, pitch };
    let (first, second) = (turned(&call.scratch[0]), turned(&call.scratch[1]));
    let all = to.pitch;
    // rung: integral on gpu: two scans, transposes
    scan_each_row(call.gpu, Kind::Inclusive, element, (width, height), from, to)?;
    if height == 0 || width == 0 {
        return Ok(());
    }
    transpose(call.gpu, 32, (all, height), to, first)?;
    scan_each_row(call.gpu, Kind::Inclusive, sum, (height, all), first, second)?;
    transpose(call.gpu, 32, (height, all), second, to)?;
    // end
    Ok(())
}
