//! The variants on the CPU.

use rayon::prelude::*;
use relief_numeric::transpose::cpu::{self, Matrix, Stores};

use super::Transpose;
use crate::array::{self, Kind};
use crate::family::{OnCpu, Outcome, Variant};

/// What is transposed, by the lab and by production.
trait Element: array::Element + cpu::Element {}

impl Element for u8 {}
impl Element for u16 {}
impl Element for u32 {}

/// How columns become rows.
#[derive(Clone, Copy)]
enum Turn {
    Naive,
    Blocked,
    /// Production's tiles, with these stores or those that it chooses.
    Tiles(Option<Stores>),
}

pub(super) fn variants() -> Vec<Variant<Transpose>> {
    let of = |name, idea, turn| {
        Variant::cpu(name, idea, move |p: &Transpose, call| match p.kind {
            Kind::U8 => run::<u8>(p, call, turn),
            Kind::U16 => run::<u16>(p, call, turn),
            _ => run::<u32>(p, call, turn),
        })
    };
    vec![
        of(
            "naive",
            "rows are read in order, stores lie a row apart",
            Turn::Naive,
        ),
        of("blocked", "blocks of 64 × 64 elements", Turn::Blocked),
        of(
            "tiles",
            "tiles of whole lines, turned by interleaving; cached stores",
            Turn::Tiles(Some(Stores::Cached)),
        ),
        of(
            "tiles streamed",
            "non-temporal stores",
            Turn::Tiles(Some(Stores::Streamed)),
        ),
        of(
            "threads production",
            "tiles, stores that suit the size, a part for each thread",
            Turn::Tiles(None),
        )
        .production(),
    ]
}

fn run<T: Element>(problem: &Transpose, call: OnCpu<'_>, turn: Turn) -> Outcome {
    let pitch = problem.pitch_out();
    let from = call.inputs[0].slice::<T>();
    let from = Matrix::new(from, problem.width, problem.height, problem.pitch_in());
    let to = call.outputs[0].slice_mut::<T>();
    if to.is_empty() {
        return Ok(());
    }
    let threads = matches!(turn, Turn::Tiles(None));
    let parts = if threads {
        2 * rayon::current_num_threads()
    } else {
        1
    };
    // Whole tiles, whatever their side.
    let rows = problem.width.div_ceil(parts).next_multiple_of(64);
    // rung: transpose on cpu: threads production
    let part = |(k, to): (usize, &mut [T])| {
        turn.turn(from, k * rows, to, pitch);
        for row in to.chunks_exact_mut(pitch) {
            row[problem.height..].fill(T::default());
        }
    };
    if threads {
        to.par_chunks_mut(rows * pitch).enumerate().for_each(part);
    } else {
        part((0, to));
    }
    // end
    Ok(())
}

impl Turn {
    /// Of the whole matrix, from the first column on, so many rows as are to be written.
    fn turn<T: Element>(self, from: Matrix<'_, T>, first: usize, to: &mut [T], pitch: usize) {
        match self {
            Self::Naive => naive(from, first, to, pitch),
            Self::Blocked => blocked(from, first, to, pitch),
            Self::Tiles(Some(stores)) => cpu::transpose_with(stores, from, first, to, pitch),
            Self::Tiles(None) => cpu::transpose(from, first, to, pitch),
        }
    }
}

fn naive<T: Element>(from: Matrix<'_, T>, first: usize, to: &mut [T], pitch: usize) {
    // rung: transpose on cpu: naive
    let columns = first..first + to.len() / pitch;
    for y in 0..from.height() {
        let row = &from.row(y)[columns.clone()];
        for (x, element) in row.iter().enumerate() {
            to[x * pitch + y] = *element;
        }
    }
    // end
}

fn blocked<T: Element>(from: Matrix<'_, T>, first: usize, to: &mut [T], pitch: usize) {
    const SIDE: usize = 64;
    let rows = to.len() / pitch;
    // rung: transpose on cpu: blocked
    for top in (0..from.height()).step_by(SIDE) {
        for left in (0..rows).step_by(SIDE) {
            let across = left..rows.min(left + SIDE);
            let down = top..from.height().min(top + SIDE);
            block(from, first, to, pitch, across, down);
        }
    }
    // end
}

type Range = std::ops::Range<usize>;

/// Element by element, rows of the result in order.
fn block<T: Element>(
    from: Matrix<'_, T>,
    first: usize,
    to: &mut [T],
    pitch: usize,
    across: Range,
    down: Range,
) {
    for x in across {
        let row = &mut to[x * pitch..][down.clone()];
        for (to, y) in row.iter_mut().zip(down.clone()) {
            *to = from.row(y)[first + x];
        }
    }
}
