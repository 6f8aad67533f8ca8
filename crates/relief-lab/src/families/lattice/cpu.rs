//! The variants on the CPU.

use rayon::prelude::*;
use relief_kernels::lattice::cpu::{self as production, Accumulator};
use relief_kernels::lattice::{Blend, copies, overlap};
use relief_kernels::repeat::cpu::expand_part;
use relief_raster::{Period, Rect, View, ViewMut};

use super::{Blended, Copies, Mean};
use crate::array::{Array, Layout};
use crate::family::{OnCpu, Outcome, Variant};

pub(super) fn floats() -> Vec<Variant<Mean<f32>>> {
    let cell = |problem: &Mean<f32>, call: OnCpu<'_>, parts: usize| -> Outcome {
        let [cell, counts] = call.scratch else {
            return Ok(());
        };
        let copies = &problem.copies;
        let (sums, counts) = (cell.slice_mut::<f32>(), counts.slice_mut());
        fold::<f32>(copies, call.inputs[0].slice(), sums, counts);
        for (sum, n) in sums.iter_mut().zip(counts) {
            *sum = f32::mean(*sum, *n);
        }
        repeat(copies, 4, cell, &mut call.outputs[0], parts);
        Ok(())
    };
    let scratch = |problem: &Mean<f32>| {
        let samples = problem.copies.period().cell() as usize;
        vec![Layout::of::<f32>(samples), Layout::of::<u32>(samples)]
    };
    let mut variants = both();
    variants.extend(cells(cell, scratch));
    variants
}

pub(super) fn bytes() -> Vec<Variant<Mean<u8>>> {
    let cell = |problem: &Mean<u8>, call: OnCpu<'_>, parts: usize| -> Outcome {
        let copies = &problem.copies;
        let (size, period) = (copies.size, copies.period());
        let [cell, words] = call.scratch else {
            return Ok(());
        };
        let (width, height) = (period.a() as usize, period.c() as usize);
        production::cell(
            View::packed(call.inputs[0].slice::<u8>(), size.0, size.1),
            copies.offset,
            Blend::Mean,
            copies.u,
            copies.v,
            ViewMut::packed(cell.slice_mut(), width, height),
            bytemuck::cast_slice_mut(words.bytes_mut()),
        );
        repeat(copies, 1, cell, &mut call.outputs[0], parts);
        Ok(())
    };
    let scratch = |problem: &Mean<u8>| {
        let period = problem.copies.period();
        let words = scratch_words(&problem.copies, period.a() as usize, period.c() as usize);
        vec![
            Layout::of::<u8>(period.cell() as usize),
            Layout::of::<u32>(2 * words),
        ]
    };
    let mut variants = both();
    variants.push(
        Variant::cpu(
            "threads accumulator",
            "copies added to tiles that stay in a cache, vectorised, tiles for each thread",
            accumulated,
        )
        .scratch(|problem| {
            let words = scratch_words(&problem.copies, TILE, TILE);
            vec![Layout::of::<u32>(2 * words * tiles(&problem.copies).len())]
        }),
    );
    variants.extend(cells(cell, scratch));
    variants
}

/// One cell that is folded and repeated, by one thread and by all.
fn cells<T: Blended>(
    cell: fn(&Mean<T>, OnCpu<'_>, usize) -> Outcome,
    scratch: fn(&Mean<T>) -> Vec<Layout>,
) -> [Variant<Mean<T>>; 2] {
    let one = Variant::cpu("cell", "one cell, folded and repeated", move |p, call| {
        cell(p, call, 1)
    });
    let idea = "one cell, folded; repeated in a part for each thread";
    let all = Variant::cpu("threads cell", idea, move |p, call| cell(p, call, parts()));
    [one.scratch(scratch), all.scratch(scratch).production()]
}

fn both<T: Blended>() -> Vec<Variant<Mean<T>>> {
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
        .scratch(|problem| {
            let len = problem.copies.stored();
            vec![Layout::of::<T::Sum>(len), Layout::of::<u32>(len)]
        }),
    ]
}

fn target<T: Blended>(problem: &Mean<T>, call: OnCpu<'_>) -> Outcome {
    let pattern = call.inputs[0].slice::<T>();
    each_pixel(&problem.copies, call.outputs[0].slice_mut::<T>(), |places| {
        let (mut sum, mut n) = (T::Sum::default(), 0);
        for sample in places.map(|place| pattern[place]) {
            if sample != T::default() {
                sum += sample.sum();
                n += 1;
            }
        }
        T::mean(sum, n)
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
    (
        from as usize,
        (from - start) as usize..(from - start) as usize + (to - from) as usize,
    )
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
            row(
                (y + k) * copies.pitch() + x,
                start + columns.start..start + columns.end,
            );
        }
    }
}

fn added<T: Blended>(problem: &Mean<T>, call: OnCpu<'_>) -> Outcome {
    let pattern = call.inputs[0].slice::<T>();
    let [sums, counts] = call.scratch else {
        return Ok(());
    };
    let (sums, counts) = (sums.slice_mut::<T::Sum>(), counts.slice_mut::<u32>());
    sums.fill(T::Sum::default());
    counts.fill(0);
    each_run(&problem.copies, |start, run| {
        for (k, sample) in pattern[run].iter().enumerate() {
            if *sample != T::default() {
                sums[start + k] += sample.sum();
                counts[start + k] += 1;
            }
        }
    });
    let out = call.outputs[0].slice_mut::<T>();
    for ((sum, n), out) in sums.iter().zip(counts).zip(out) {
        *out = T::mean(*sum, *n);
    }
    Ok(())
}

/// The sums and counts of a cell of the lattice: every sample of the pattern lies in it once.
pub(super) fn fold<T: Blended>(copies: &Copies, pattern: &[T], sums: &mut [T::Sum], counts: &mut [u32]) {
    let period = copies.period();
    sums.fill(T::Sum::default());
    counts.fill(0);
    let width = period.a() as usize;
    for (y, samples) in pattern.chunks(copies.size.0.max(1)).enumerate() {
        let (column, row) = period.reduce(copies.offset.0, copies.offset.1 + y as i64);
        let (start, mut column, mut rest) = (row as usize * width, column as usize, samples);
        // A row of the cell goes on at its beginning.
        while !rest.is_empty() {
            let (run, after) = rest.split_at(rest.len().min(width - column));
            let place = start + column..start + column + run.len();
            for ((sum, n), sample) in sums[place.clone()].iter_mut().zip(&mut counts[place]).zip(run) {
                *sum += sample.sum();
                *n += u32::from(*sample != T::default());
            }
            (column, rest) = (0, after);
        }
    }
}

/// Parts for all threads.
fn parts() -> usize {
    2 * rayon::current_num_threads()
}

/// Repeats a cell of samples of so many bytes, as bytes.
fn repeat(copies: &Copies, bytes: usize, cell: &Array, out: &mut Array, parts: usize) {
    let period = copies.period();
    let along = |columns: u64| columns as i64 * bytes as i64;
    let Some(wide) = Period::spanned((along(period.a()), 0), (along(period.b()), period.c() as i64)) else {
        return;
    };
    let cell = View::packed(cell.bytes(), wide.a() as usize, wide.c() as usize);
    let (width, pitch) = (copies.width * bytes, copies.pitch() * bytes);
    let rows = copies.height.div_ceil(parts).max(1);
    let repeat = |(k, out): (usize, &mut [u8])| {
        let height = out.len() / pitch;
        expand_part(
            cell,
            wide,
            0,
            (k * rows) as i64,
            ViewMut::new(out, width, height, pitch),
            width * copies.height,
        );
    };
    if width == 0 || copies.height == 0 {
        return;
    }
    out.bytes_mut()
        .par_chunks_mut(rows * pitch)
        .enumerate()
        .for_each(repeat);
}

/// The side of a tile.
const TILE: usize = 512;

/// The rows of tiles, dealt to the threads: each is swept tile by tile.
fn tiles(copies: &Copies) -> Vec<std::ops::Range<usize>> {
    (0..copies.height)
        .step_by(TILE)
        .map(|top| top..copies.height.min(top + TILE))
        .collect()
}

fn scratch_words(lattice: &Copies, width: usize, height: usize) -> usize {
    let size = (lattice.size.0 as u64, lattice.size.1 as u64);
    let overlap = overlap(size, lattice.u, lattice.v);
    production::scratch_words::<u8>(Blend::Mean, overlap, width, height)
}

fn accumulated(problem: &Mean<u8>, call: OnCpu<'_>) -> Outcome {
    let lattice = &problem.copies;
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
    let rows = tiles(lattice)
        .into_par_iter()
        .zip(out)
        .zip(scratch.par_chunks_mut(words));
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
