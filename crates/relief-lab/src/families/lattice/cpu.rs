//! The variants on the CPU.

use rayon::prelude::*;
use relief_kernels::lattice::cpu::{self as production, Accumulator};
use relief_kernels::lattice::{Blend, copies, overlap};
use relief_kernels::repeat::cpu::expand_part;
use relief_raster::{Rect, View, ViewMut};

use super::{Copies, Mean, mean, quotient};
use crate::array::{Array, Layout};
use crate::family::{OnCpu, Outcome, Variant};

pub(super) fn variants() -> Vec<Variant<Mean>> {
    let scratch = |problem: &Mean| {
        let cell = Layout::of::<u8>(problem.0.period().cell() as usize);
        vec![cell, Layout::of::<u32>(2 * cell_words(&problem.0))]
    };
    vec![
        Variant::cpu(
            "target",
            "for each pixel, the copies in a window of cells around its coordinates",
            target,
        ),
        Variant::cpu(
            "copies",
            "each copy added to sums and counts, then divided",
            added,
        )
        .scratch(|problem| vec![Layout::of::<u32>(problem.0.stored()); 2]),
        Variant::cpu(
            "threads accumulator",
            "copies added to tiles that stay in a cache, vectorised, tiles for each thread",
            accumulated,
        )
        .scratch(|problem| {
            let words = scratch_words(&problem.0, TILE, TILE);
            vec![Layout::of::<u32>(2 * words * tiles(&problem.0).len())]
        }),
        Variant::cpu("cell", "one cell, folded and repeated", |p, call| {
            repeated(p, call, 1)
        })
        .scratch(scratch),
        Variant::cpu(
            "threads cell",
            "one cell, folded; repeated in a part for each thread",
            |p, call| repeated(p, call, 2 * rayon::current_num_threads()),
        )
        .scratch(scratch)
        .production(),
    ]
}

fn target(problem: &Mean, call: OnCpu<'_>) -> Outcome {
    let pattern = call.inputs[0].slice::<u8>();
    each_pixel(&problem.0, call.outputs[0].slice_mut::<u8>(), |places| {
        mean(places.map(|place| pattern[place]))
    });
    Ok(())
}

/// Writes what `sample` gives for each pixel, which is told the places in the pattern that lie over it: those of the copies in a window of cells
/// around its coordinates.
pub(super) fn each_pixel<T>(
    copies: &Copies,
    out: &mut [T],
    sample: impl Fn(&mut dyn Iterator<Item = usize>) -> T,
) {
    let (w, h) = (copies.size.0 as i64, copies.size.1 as i64);
    let [(i0, i1), (j0, j1)] = copies.window(0.0);
    let (sign, size) = (copies.determinant().signum(), copies.determinant().abs());
    for (y, row) in out.chunks_mut(copies.pitch().max(1)).enumerate() {
        let y = y as i64 - copies.offset.1;
        for (x, out) in row[..copies.width].iter_mut().enumerate() {
            let x = x as i64 - copies.offset.0;
            let (i, j) = copies.coordinates((x, y));
            let (i, j) = ((i * sign).div_euclid(size), (j * sign).div_euclid(size));
            let window = (j + j0..=j + j1).flat_map(|j| (i + i0..=i + i1).map(move |i| (i, j)));
            *out = sample(&mut window.filter_map(|(i, j)| {
                let (left, top) = copies.point(i, j);
                let (qx, qy) = (x - left, y - top);
                let inside = (0..w).contains(&qx) && (0..h).contains(&qy);
                inside.then_some((qy * w + qx) as usize)
            }));
        }
    }
}

/// Where a copy's row or column lies inside 0..`whole`, and its first sample there.
pub(super) fn clipped(start: i64, len: usize, whole: usize) -> (usize, std::ops::Range<usize>) {
    let from = start.clamp(0, whole as i64);
    let to = (start + len as i64).clamp(from, whole as i64);
    (from as usize, (from - start) as usize..(to - start) as usize)
}

/// Calls `row` with the place in the raster and the run of the pattern, for every row of every copy.
pub(super) fn each_run(copies: &Copies, mut row: impl FnMut(usize, std::ops::Range<usize>)) {
    let [(i0, i1), (j0, j1)] = copies.all();
    for (i, j) in (j0..=j1).flat_map(|j| (i0..=i1).map(move |i| (i, j))) {
        let (left, top) = copies.point(i, j);
        let (x, columns) = clipped(left + copies.offset.0, copies.size.0, copies.width);
        let (y, rows) = clipped(top + copies.offset.1, copies.size.1, copies.height);
        if columns.is_empty() {
            continue;
        }
        for (k, py) in rows.enumerate() {
            let start = py * copies.size.0;
            let run = start + columns.start..start + columns.end;
            row((y + k) * copies.pitch() + x, run);
        }
    }
}

fn added(problem: &Mean, call: OnCpu<'_>) -> Outcome {
    let pattern = call.inputs[0].slice::<u8>();
    let [sums, counts] = call.scratch else {
        return Ok(());
    };
    let (sums, counts) = (sums.slice_mut::<u32>(), counts.slice_mut::<u32>());
    sums.fill(0);
    counts.fill(0);
    each_run(&problem.0, |start, run| {
        for (k, sample) in pattern[run].iter().enumerate() {
            if *sample != 0 {
                sums[start + k] += u32::from(*sample);
                counts[start + k] += 1;
            }
        }
    });
    let out = call.outputs[0].slice_mut::<u8>();
    for ((sum, n), out) in sums.iter().zip(counts).zip(out) {
        *out = quotient(*sum, *n);
    }
    Ok(())
}

/// Words that folding a cell takes.
pub(super) fn cell_words(copies: &Copies) -> usize {
    let period = copies.period();
    scratch_words(copies, period.a() as usize, period.c() as usize)
}

/// One cell, by production.
pub(super) fn fold(copies: &Copies, pattern: &[u8], cell: &mut [u8], words: &mut [u64]) {
    let (size, period) = (copies.size, copies.period());
    production::cell(
        View::packed(pattern, size.0, size.1),
        copies.offset,
        Blend::Mean,
        copies.u,
        copies.v,
        ViewMut::packed(cell, period.a() as usize, period.c() as usize),
        words,
    );
}

/// A cell that is folded, and repeated in so many parts.
fn repeated(problem: &Mean, call: OnCpu<'_>, parts: usize) -> Outcome {
    let copies = &problem.0;
    let [cell, words] = call.scratch else {
        return Ok(());
    };
    let words = bytemuck::cast_slice_mut(words.bytes_mut());
    fold(copies, call.inputs[0].slice(), cell.slice_mut(), words);
    repeat(copies, cell, &mut call.outputs[0], parts);
    Ok(())
}

fn repeat(copies: &Copies, cell: &Array, out: &mut Array, parts: usize) {
    let (width, pitch, period) = (copies.width, copies.pitch(), copies.period());
    if width == 0 || copies.height == 0 {
        return;
    }
    let cell = View::packed(cell.bytes(), period.a() as usize, period.c() as usize);
    let rows = copies.height.div_ceil(parts).max(1);
    let parts = out.bytes_mut().par_chunks_mut(rows * pitch).enumerate();
    parts.for_each(|(k, out)| {
        let height = out.len() / pitch;
        let (out, whole) = (ViewMut::new(out, width, height, pitch), width * copies.height);
        expand_part(cell, period, 0, (k * rows) as i64, out, whole);
    });
}

/// The side of a tile.
const TILE: usize = 512;

/// The rows of tiles, dealt to the threads: each is swept tile by tile.
fn tiles(copies: &Copies) -> Vec<std::ops::Range<usize>> {
    let tops = (0..copies.height).step_by(TILE);
    tops.map(|top| top..copies.height.min(top + TILE)).collect()
}

fn scratch_words(lattice: &Copies, width: usize, height: usize) -> usize {
    let size = (lattice.size.0 as u64, lattice.size.1 as u64);
    let overlap = overlap(size, lattice.u, lattice.v);
    production::scratch_words::<u8>(Blend::Mean, overlap, width, height)
}

fn accumulated(problem: &Mean, call: OnCpu<'_>) -> Outcome {
    let lattice = &problem.0;
    let (width, pitch) = (lattice.width, lattice.pitch());
    let size = (lattice.size.0 as u64, lattice.size.1 as u64);
    if width == 0 || lattice.height == 0 {
        return Ok(());
    }
    let pattern = View::packed(call.inputs[0].slice::<u8>(), lattice.size.0, lattice.size.1);
    let overlap = overlap(size, lattice.u, lattice.v);
    let words = scratch_words(lattice, TILE, TILE);
    let scratch: &mut [u64] = bytemuck::cast_slice_mut(call.scratch[0].bytes_mut());
    let out = call.outputs[0].slice_mut::<u8>().par_chunks_mut(TILE * pitch);
    let rows = tiles(lattice).into_par_iter().zip(out);
    let rows = rows.zip(scratch.par_chunks_mut(words));
    rows.for_each(|((rows, out), scratch)| {
        let mut out = ViewMut::new(out, width, rows.len(), pitch);
        for left in (0..width).step_by(TILE) {
            let columns = TILE.min(width - left);
            let Some(tile) = Rect::new(left as i64, rows.start as i64, columns as u64, rows.len() as u64)
            else {
                continue;
            };
            let mut sum = Accumulator::new(Blend::Mean, overlap, columns, rows.len(), scratch);
            for copy in copies(tile, size, lattice.offset, lattice.u, lattice.v) {
                sum.add(copy.x - tile.x(), copy.y - tile.y(), pattern);
            }
            sum.finish(out.part(left, 0, columns, rows.len()));
        }
    });
    Ok(())
}
