//! Slices that a device copies to shared memory by itself, two ahead of those in use.
//!
//! Code between two branches is scheduled by itself, and all rows of a slice would be more of it than a device has at hand. So a piece of it begins with waiting for
//! its loads and ends with minima that wait for each other, unless each loads the first rows of the next one.

use cubecl::prelude::barrier::{Barrier, copy_async};
use cubecl::prelude::*;

use super::{ASKED, Arrival, Rows, Shape, Sizes, Slices, Step, Way, all_negative, shorten};

/// The least sums by way of all slices.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn go_straight<T: Numeric, C: Numeric, N: Size>(
    left: &Array<Vector<T, N>>,
    right: &Array<Vector<T, N>>,
    slices: &mut Slices<T, N>,
    least: &mut Array<C>,
    sizes: Sizes,
    at: (u32, u32),
    #[comptime] shape: Shape,
    #[comptime] way: Way,
) {
    let steps = sizes.steps;
    let units = comptime!(shape.all_units());
    // One is enough: units ask for a slice only when that before is there, so it counts one slice after the other.
    let barrier = Barrier::shared(units, UNIT_POS == 0);
    let (left_row, right_row) = comptime!((shape.tile().1 / 4, shape.tile().0 / 4));
    let share = comptime!(units / shape.depth);
    let (row, first) = (UNIT_POS / share, UNIT_POS % share);
    let mut asking = Asking {
        left: row * sizes.left_pitch + CUBE_POS_Y * left_row + first,
        right: row * sizes.right_pitch + CUBE_POS_X * right_row + first,
        left_stride: sizes.left_pitch * comptime!(shape.depth),
        right_stride: sizes.right_pitch * comptime!(shape.depth),
        row,
        first,
        next: u32::new(0),
    };
    asking.ask::<T, N>(left, right, slices, &barrier, shape);
    barrier.wait_parity(0u32);
    if steps > 1 {
        asking.ask::<T, N>(left, right, slices, &barrier, shape);
    }

    let settles = comptime!(matches!(shape.step, Step::Settling));
    let most = comptime!(if settles { Way::Negative } else { way });
    let mut ahead = Ahead::<T> {
        even: Rows::<T>::of(most, shape),
        odd: Rows::<T>::of(most, shape),
        piece: u32::new(0),
    };
    ahead.begin::<N>(slices, at, shape, way);
    let mut settled = false;
    for step in 0..steps {
        if step + 1 < steps {
            // All have asked for the next slice, so none reads that before the last, whose place is taken.
            barrier.wait_parity((step + 1) % 2);
            if step + 2 < steps {
                asking.ask::<T, N>(left, right, slices, &barrier, shape);
            }
        }
        if comptime!(settles) {
            if settled {
                ahead.slice::<C, N>(slices, least, at, shape, Way::Negative);
            } else {
                ahead.slice::<C, N>(slices, least, at, shape, way);
                if step % comptime!(ASKED / shape.depth) == 0 {
                    settled = all_negative::<C>(least, shape);
                    if settled {
                        ahead.begin::<N>(slices, at, shape, Way::Negative);
                    }
                }
            }
        } else {
            ahead.slice::<C, N>(slices, least, at, shape, way);
        }
    }
}

/// What a unit asks for: vectors of one row of both slices, as far apart as there are units to a row, so that one place in memory does for all of a row. Its next
/// places and from one slice to the next, in vectors; its row and the first vector of it; and which slice is next.
#[derive(CubeType)]
struct Asking {
    left: u32,
    right: u32,
    left_stride: u32,
    right_stride: u32,
    row: u32,
    first: u32,
    next: u32,
}

#[cube]
impl Asking {
    /// Asks for a slice of both operands, the next one.
    fn ask<T: Numeric, N: Size>(
        &mut self,
        left: &Array<Vector<T, N>>,
        right: &Array<Vector<T, N>>,
        slices: &mut Slices<T, N>,
        barrier: &Shared<Barrier>,
        #[comptime] shape: Shape,
    ) {
        let (left_row, right_row) = comptime!((shape.tile().1 / 4, shape.tile().0 / 4));
        let place = self.next % 4 * comptime!(shape.depth) + self.row;
        let to = (place * left_row + self.first) as usize;
        ask_row::<T, N>(left, &mut slices.left, self.left as usize, to, left_row, shape);
        let to = (place * right_row + self.first) as usize;
        ask_row::<T, N>(
            right,
            &mut slices.right,
            self.right as usize,
            to,
            right_row,
            shape,
        );
        self.left += self.left_stride;
        self.right += self.right_stride;
        self.next += 1;
        barrier.commit_copy_async();
        barrier.arrive();
    }
}

/// Asks for a unit's vectors of a row of a slice, from these vectors on.
#[cube]
fn ask_row<T: Numeric, N: Size>(
    operand: &Array<Vector<T, N>>,
    slices: &mut SharedMemory<Vector<T, N>>,
    from: usize,
    to: usize,
    #[comptime] row: u32,
    #[comptime] shape: Shape,
) {
    let share = comptime!(shape.all_units() / shape.depth);
    #[unroll]
    for q in 0..comptime!(row / share) {
        let apart = comptime!((q * share) as usize);
        let source = operand.slice(from + apart, from + comptime!(apart + 1));
        let mut target = slices.slice_mut(to + apart, to + comptime!(apart + 1));
        copy_async(&source, &mut target, 4u32);
    }
}

/// The piece of the slices in shared memory that comes next; and where rows come while those before are used, both, in turns: the first of a piece are even ones.
#[derive(CubeType)]
struct Ahead<T: Numeric> {
    even: Rows<T>,
    odd: Rows<T>,
    piece: u32,
}

#[cube]
impl<T: Numeric> Ahead<T> {
    /// Loads the first rows, where rows come ahead.
    fn begin<N: Size>(
        &mut self,
        slices: &Slices<T, N>,
        at: (u32, u32),
        #[comptime] shape: Shape,
        #[comptime] way: Way,
    ) {
        if comptime!(shape.arrival == Arrival::Ahead) {
            let (left_at, right_at) = places(self.piece, at, shape);
            self.even.load::<N>(slices, left_at, right_at, shape, way);
        }
    }

    /// The least sums by way of the next slice, too.
    fn slice<C: Numeric, N: Size>(
        &mut self,
        slices: &Slices<T, N>,
        least: &mut Array<C>,
        at: (u32, u32),
        #[comptime] shape: Shape,
        #[comptime] way: Way,
    ) {
        let (left_row, right_row) = comptime!((shape.tile().1 / 4, shape.tile().0 / 4));
        // Pieces are of eight rows or more, so an even number of turns.
        let turns = comptime!(shape.piece() / way.at_once());
        let ahead = comptime!(shape.arrival == Arrival::Ahead);
        for _ in 0..comptime!(shape.pieces()) {
            let (left_at, right_at) = places(self.piece, at, shape);
            self.piece = (self.piece + 1) % comptime!(4 * shape.pieces());
            let (left_next, right_next) = places(self.piece, at, shape);
            #[unroll]
            for k in 0..turns {
                // Rows of this turn, or of the next one, which may be the first of the next piece.
                let turn = comptime!(if ahead { k + 1 } else { k });
                let rows = comptime!((turn % turns * way.at_once()) as usize);
                let (left_row, right_row) = comptime!((rows * left_row as usize, rows * right_row as usize));
                let (left_at, right_at) = if comptime!(turn == turns) {
                    (left_next, right_next)
                } else {
                    (left_at + left_row, right_at + right_row)
                };
                if comptime!(!ahead) {
                    self.even.load::<N>(slices, left_at, right_at, shape, way);
                    shorten::<T, C>(&self.even, least, shape, way);
                } else if comptime!(k % 2 == 0) {
                    self.odd.load::<N>(slices, left_at, right_at, shape, way);
                    shorten::<T, C>(&self.even, least, shape, way);
                } else {
                    self.even.load::<N>(slices, left_at, right_at, shape, way);
                    shorten::<T, C>(&self.odd, least, shape, way);
                }
            }
        }
    }
}

/// The first vectors of a unit in a piece, of the left and of the right slices.
#[cube]
fn places(piece: u32, at: (u32, u32), #[comptime] shape: Shape) -> (usize, usize) {
    let (left, right) = comptime!(shape.slice());
    let pieces = comptime!(shape.pieces());
    (
        (piece * comptime!(left / pieces) + at.1) as usize,
        (piece * comptime!(right / pieces) + at.0) as usize,
    )
}
