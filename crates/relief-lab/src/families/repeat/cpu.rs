//! The variants on the CPU.

use rayon::prelude::*;
use relief_kernels::repeat::cpu::expand_bands;
use relief_raster::{Period, Sample, View, ViewMut};

use super::Repeat;
use crate::array::{Element, Kind};
use crate::family::{Failure, OnCpu, Outcome, Variant};

pub(super) fn variants() -> Vec<Variant<Repeat>> {
    let own = |name, idea, threads| Variant::cpu(name, idea, move |p, call| production(p, call, threads));
    vec![
        variant("basic", "an index from x and y, with two modulos", basic, basic).source("870 000 µs"),
        variant("indexed", "a running index; the modulos stay", indexed, indexed).source("114 000 µs"),
        variant(
            "repeater loop",
            "each sample of the pattern wherever it belongs",
            repeater_loop,
            repeater_loop,
        )
        .source("912 000 µs"),
        variant(
            "rows",
            "a row of the pattern after the other, by memcpy",
            by_rows,
            by_rows,
        ),
        own("production", "production's rows, on one thread", false),
        own("threads production", "the same, a part for each thread", true).production(),
    ]
}

/// A way of writing a raster, for both kinds of samples.
fn variant(
    name: &'static str,
    idea: &'static str,
    floats: fn([usize; 4], &[f32], &mut [f32]),
    bytes: fn([usize; 4], &[u8], &mut [u8]),
) -> Variant<Repeat> {
    Variant::cpu(name, idea, move |p: &Repeat, call| {
        let sizes = [p.width, p.height, p.pitch(), p.side];
        let (pattern, out) = (&call.inputs[0], &mut call.outputs[0]);
        match p.kind {
            Kind::F32 => floats(sizes, pattern.slice(), out.slice_mut()),
            _ => bytes(sizes, pattern.slice(), out.slice_mut()),
        }
        Ok(())
    })
}

fn basic<T: Element>([width, height, pitch, side]: [usize; 4], pattern: &[T], out: &mut [T]) {
    // Down the columns: along the rows a compiler makes the next rung of it, and the source's times are far apart.
    for x in 0..width {
        for y in 0..height {
            out[y * pitch + x] = pattern[y % side * side + x % side];
        }
    }
}

fn indexed<T: Element>([width, height, pitch, side]: [usize; 4], pattern: &[T], out: &mut [T]) {
    let mut index = 0;
    for y in 0..height {
        for x in 0..width {
            out[index] = pattern[y % side * side + x % side];
            index += 1;
        }
        index += pitch - width;
    }
}

fn repeater_loop<T: Element>([width, height, pitch, side]: [usize; 4], pattern: &[T], out: &mut [T]) {
    for (place, sample) in pattern.iter().enumerate() {
        for y in (place / side..height).step_by(side) {
            for x in (place % side..width).step_by(side) {
                out[y * pitch + x] = *sample;
            }
        }
    }
}

fn by_rows<T: Element>([width, _, pitch, side]: [usize; 4], pattern: &[T], out: &mut [T]) {
    let rows = out.chunks_exact_mut(pitch.max(1));
    for (row, pattern) in rows.zip(pattern.chunks_exact(side).cycle()) {
        for part in row[..width].chunks_mut(side) {
            part.copy_from_slice(&pattern[..part.len()]);
        }
    }
}

/// Bytes that one thread has written before another has woken up.
const SMALL: usize = 1 << 20;

/// Floats go as pairs of 16 bits: a repeat moves samples and does not look at them.
fn production(problem: &Repeat, call: OnCpu<'_>, threads: bool) -> Outcome {
    let (pattern, out) = (call.inputs[0].bytes(), call.outputs[0].bytes_mut());
    match problem.kind {
        Kind::F32 => {
            let (pattern, out) = (bytemuck::cast_slice(pattern), bytemuck::cast_slice_mut(out));
            rows::<u16>(problem, 2, pattern, out, threads)
        }
        _ => rows::<u8>(problem, 1, pattern, out, threads),
    }
}

fn rows<S: Sample>(problem: &Repeat, times: usize, pattern: &[S], out: &mut [S], threads: bool) -> Outcome {
    let [side, width, pitch] = [problem.side, problem.width, problem.pitch()].map(|count| count * times);
    if width == 0 || problem.height == 0 {
        return Ok(());
    }
    let period = Period::grid(side as u64, problem.side as u64);
    let period = period.ok_or_else(|| Failure::Failed("a pattern of nothing".to_owned()))?;
    let cell = View::packed(pattern, side, problem.side);
    let parts = match threads && size_of_val(out) > SMALL {
        true => 2 * rayon::current_num_threads(),
        false => 1,
    };
    let (rows, whole) = (problem.height.div_ceil(parts).max(1), width * problem.height);
    let expand = |y: usize, bands: &mut [ViewMut<'_, S>]| {
        expand_bands(cell, period, 0, y as i64, bands, whole);
    };
    if parts == 1 {
        expand(0, &mut [band(out, width, pitch)]);
    } else if rows >= problem.side {
        let parts = out.par_chunks_mut(rows * pitch).enumerate();
        parts.for_each(|(k, part)| expand(k * rows, &mut [band(part, width, pitch)]));
    } else {
        // Rows that are equal go to the same thread, which takes them from memory once.
        let rows = problem.side.div_ceil(parts).max(1);
        let mut dealt: Vec<Vec<ViewMut<'_, S>>> = Vec::new();
        dealt.resize_with(problem.side.div_ceil(rows), Vec::new);
        for copy in out.chunks_mut(problem.side * pitch) {
            for (part, dealt) in copy.chunks_mut(rows * pitch).zip(&mut dealt) {
                dealt.push(band(part, width, pitch));
            }
        }
        let parts = dealt.par_iter_mut().enumerate();
        parts.for_each(|(k, bands)| expand(k * rows, bands));
    }
    Ok(())
}

fn band<S: Sample>(rows: &mut [S], width: usize, pitch: usize) -> ViewMut<'_, S> {
    let height = rows.len() / pitch;
    ViewMut::new(rows, width, height, pitch)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Large enough for threads, and a pattern that is higher than what each writes.
    #[test]
    fn threads_that_share_a_high_pattern_write_the_raster() {
        let (width, height, side) = (1_100, 1_003, 701);
        let problem = Repeat {
            kind: Kind::U8,
            width,
            height,
            side,
        };
        let pattern: Vec<u8> = (0..side * side).map(|i| (i * 7 + i / 251) as u8).collect();
        let pitch = problem.pitch();
        let mut out = vec![0xA5; pitch * height];
        assert!(out.len() > SMALL && height / 2 < side);
        rows(&problem, 1, &pattern, &mut out, true).unwrap();
        for (place, found) in out.into_iter().enumerate() {
            let (x, y) = (place % pitch, place / pitch);
            if x < width {
                assert_eq!(found, pattern[y % side * side + x % side], "{x}, {y}");
            }
        }
    }
}
