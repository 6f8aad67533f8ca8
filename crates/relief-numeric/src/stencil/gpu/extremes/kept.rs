//! Least and greatest, and sums, of wide squares of bytes by cubes (blocks) that keep the rows of their
//! windows in shared memory, so that each row comes once.
//!
//! *Down*, each unit (thread) has a word of every row. With blocks of whole steps, as many as fit into 2r
//! rows, a window is the end of the block in which it begins, and the beginning of all that follows. Of a
//! step that has entered its total takes the place of its first row, and once a block is there, the block's
//! end from each step on takes that of the totals, from the last on. Ends within a step are folded as it
//! leaves, of every other row alone, because a device folds three pairs at once ([`super::super::down`]).
//!
//! *Across*, each unit takes 16 columns of two rows, as pairs of both. A window is the end of the run in
//! which it begins, whole runs, and the beginning of those that follow. Each unit folds the end of one run
//! and the beginning of another by itself; the totals between are those of the units after it in its plane
//! (warp), so the last units of a plane have none and only tell theirs.
//!
//! Rows go across while the next ones go down: shared memory holds the pairs of two steps, and one wait is
//! enough for each.

use cubecl::prelude::*;

use super::super::Samples;
use super::super::columns::{Column, column, load_rows, mended, raster, within};
use super::super::down::{Down, Fold, fold, fold_three};
use super::super::pairs::{Pairs, evens, firsts, odds, seconds};
use super::super::strip::Strip;
use super::of_two_rows;

mod copied;
mod sums;

pub(in super::super) use copied::extremes_copied;

/// Rows of a step.
pub(in super::super) const ROWS: u32 = 8;

/// Pairs of rows of a step.
const PAIRS: u32 = ROWS / 2;

/// Columns of a unit across.
const COLUMNS: u32 = 16;

/// Words of such.
const WORDS: u32 = COLUMNS / 4;

/// Words that lie side by side in shared memory, with those of a step's next rows behind them: the device copies such a square at once, to multiples of 128
/// bytes.
pub(in super::super) const ALIGNED: u32 = 32;
const GROUP: usize = ALIGNED as usize;

/// Steps whose rows are on their way where the device copies them, beside those of windows.
const AHEAD: u32 = 2;

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Kept {
    /// Least or greatest.
    pub(in super::super) fold: Fold,
    pub(in super::super) pairs: Pairs,
    pub(in super::super) radius: u32,
    /// Units of a plane.
    pub(in super::super) plane: u32,
    /// Planes beside each other across; as many more for each two rows of a step.
    pub(in super::super) segments: u32,
    /// Words of a row that a cube reads.
    pub(in super::super) words: u32,
    /// Whether the device copies rows by itself. Else units load them.
    pub(in super::super) copied: bool,
}

impl Kept {
    /// The layout for a picture of `pitch` words a row and `height` rows that takes least time, as far as
    /// that is the rows that a cube goes down times its units: of cubes of at most `units` units and `most`
    /// bytes of shared memory, one on each of so many multiprocessors. With few planes (warps) nothing hides
    /// their waiting, so that a cube of eight counts as an eighth slower than one of twelve.
    pub(in super::super) fn best(
        of: Self,
        pitch: u32,
        height: u32,
        units: u32,
        most: u32,
        multiprocessors: u32,
    ) -> Option<Self> {
        let segments = (1..=units / (of.plane * PAIRS)).map(|segments| Self { segments, ..of });
        let layouts = segments.flat_map(|of| {
            let rows = (1..=of.plane * of.segments * PAIRS / ALIGNED).map(move |words| words * ALIGNED);
            rows.map(move |words| Self { words, ..of })
        });
        let fitting = layouts.filter(|of| of.shared_bytes() <= most && of.columns() > 0);
        fitting.min_by_key(|of| {
            let across = pitch.div_ceil(of.columns());
            let waves = across.div_ceil(multiprocessors).max(1);
            let strips = (waves * multiprocessors / across).max(1);
            let rows = height.div_ceil(strips) + 2 * of.radius;
            u64::from(waves) * u64::from((of.segments + 1) * PAIRS * of.plane) * u64::from(rows)
        })
    }

    /// Units of a cube: those that compute, and where the device copies rows another plane, which asks for them.
    pub(in super::super) const fn units(&self) -> u32 {
        self.plane * self.segments * PAIRS + if self.copied { self.plane } else { 0 }
    }

    /// Steps of a block, and the rows that are left of 2r.
    const fn block(&self) -> (u32, u32) {
        (2 * self.radius / ROWS, 2 * self.radius % ROWS)
    }

    /// Steps whose rows the windows of a step reach.
    const fn live(&self) -> u32 {
        (2 * self.radius).div_ceil(ROWS) + 1
    }

    /// Steps whose rows shared memory holds.
    const fn ring(&self) -> u32 {
        self.live() + if self.copied { AHEAD } else { 0 }
    }

    /// Words from one step's rows in shared memory to the next.
    const fn step(&self) -> u32 {
        ROWS * self.words
    }

    /// Runs from that in which a window begins to that where the last beginning begins, and the columns that are left of 2r.
    const fn runs(&self) -> (u32, u32) {
        (2 * self.radius / COLUMNS, 2 * self.radius % COLUMNS)
    }

    /// Words to the left of those that are computed: whole vectors of memory.
    const fn left(&self) -> u32 {
        self.radius.next_multiple_of(COLUMNS) / 4
    }

    /// Columns from the first that is read to the first window.
    const fn skip(&self) -> u32 {
        4 * self.left() - self.radius
    }

    /// Units of a plane whose windows are computed: those that have enough others behind them.
    const fn computing(&self) -> u32 {
        match self.runs().0 {
            0 => 0,
            runs => (self.plane + 1).saturating_sub(runs),
        }
    }

    /// Runs that a cube computes.
    const fn computed(&self) -> u32 {
        let reach = (self.skip() + COLUMNS * self.runs().0 + self.runs().1).div_ceil(4);
        let room = self.words.saturating_sub(reach) / WORDS;
        let most = self.segments * self.computing();
        if room < most { room } else { most }
    }

    /// Columns of words that a cube computes; 0 where it is too narrow.
    pub(in super::super) const fn columns(&self) -> u32 {
        WORDS * self.computed()
    }

    /// Vectors of pairs from one of a run's words to the next in shared memory: those of a word of all runs lie side by side, and neighbouring units
    /// that write neighbouring words use different banks.
    const fn apart(&self) -> u32 {
        let read = self.segments * self.plane + self.skip().div_ceil(COLUMNS) + 1;
        let written = self.words / WORDS;
        let least = if read > written { read } else { written };
        (least + 5) / 8 * 8 + 2
    }

    /// Vectors of a step's pairs in shared memory.
    const fn exchange(&self) -> u32 {
        PAIRS * WORDS * self.apart()
    }

    /// Bytes of shared memory, with a little for barriers and gaps.
    pub(in super::super) const fn shared_bytes(&self) -> u32 {
        256 + 2 * 16 * self.exchange() + 4 * self.ring() * self.step()
    }

    const fn down(&self) -> Down {
        Down {
            samples: Samples::Bytes,
            fold: self.fold,
            pairs: self.pairs,
            radius: self.radius,
            strip: Strip {
                units: 0,
                rows: ROWS,
                double: true,
                kept: true,
                exchange: false,
            },
        }
    }

    /// Bytes that change nothing.
    const fn neutral(&self) -> u32 {
        match self.fold {
            Fold::Least => 0xffff_ffff,
            Fold::Greatest | Fold::Sum => 0,
        }
    }
}

/// A word of every row on its way down.
#[derive(CubeType)]
struct Descent {
    /// The place of the unit's word in the first row of the step that leaves, and in that which enters.
    leaves: u32,
    enters: u32,
    /// Steps of the block that have left.
    left: u32,
    /// Pairs of even pixels and of odd ones: the beginning of what follows the block, the end of the block from the step on that leaves, and the
    /// rows that have entered of a step that has not wholly.
    begun: Array<u32>,
    end: Array<u32>,
    entered: Array<u32>,
    /// The column of words, of which some may lie outside of the picture.
    column: Column,
}

/// At the first step, of the words that unit `unit` of the cube has in shared memory.
#[cube]
fn descent(column: &Column, unit: u32, #[comptime] plan: Kept) -> Descent {
    let (block, _) = comptime!(plan.block());
    let mut begun = Array::<u32>::new(2usize);
    let mut end = Array::<u32>::new(2usize);
    let mut entered = Array::<u32>::new(2usize);
    #[unroll]
    for l in 0..2usize {
        begun[l] = u32::new(0);
        end[l] = u32::new(0);
        entered[l] = lane(comptime!(plan.neutral()).runtime(), l);
    }
    Descent {
        leaves: place(unit),
        enters: place(unit) + comptime!(block * plan.step()),
        left: u32::new(0),
        begun,
        end,
        entered,
        column: column.clone(),
    }
}

/// Takes in the rows of steps `begin` to `end` of those that the first windows reach.
#[cube]
fn enter(
    descent: &mut Descent,
    ring: &mut SharedMemory<u32>,
    #[comptime] begin: u32,
    #[comptime] end: u32,
    #[comptime] plan: Kept,
) {
    if comptime!(plan.fold == Fold::Sum) {
        sums::enter(descent, ring, begin, end, plan);
    } else {
        enter_extremes(descent, ring, begin, end, plan);
    }
}

/// Puts the totals of steps into the places of their first rows; of that behind the first block, which has not entered wholly, it keeps the beginning.
#[cube]
fn enter_extremes(
    descent: &mut Descent,
    ring: &mut SharedMemory<u32>,
    #[comptime] begin: u32,
    #[comptime] end: u32,
    #[comptime] plan: Kept,
) {
    let (block, rest) = comptime!(plan.block());
    for step in begin..comptime!(if end < block { end } else { block }) {
        let at = (place(UNIT_POS) + step * comptime!(plan.step())) as usize;
        let mut total = Array::<u32>::new(2usize);
        #[unroll]
        for l in 0..2usize {
            total[l] = lane(ring[at], l);
            #[unroll]
            for k in 1..comptime!(ROWS as usize) {
                let word = ring[at + comptime!(k * GROUP)];
                total[l] = fold::<u32>(total[l], lane(word, l), comptime!(plan.down()));
            }
        }
        ring[at] = together(&total);
    }
    if comptime!(end > block) {
        #[unroll]
        for k in 0..comptime!(rest as usize) {
            let word = ring[descent.enters as usize + comptime!(k * GROUP)];
            #[unroll]
            for l in 0..2usize {
                descent.entered[l] = fold::<u32>(descent.entered[l], lane(word, l), comptime!(plan.down()));
            }
        }
    }
}

/// The place of a unit's word in the first row of a step.
#[cube]
fn place(unit: u32) -> u32 {
    unit / ALIGNED * comptime!(ROWS * ALIGNED) + unit % ALIGNED
}

/// The place of a unit's word one step further.
#[cube]
fn further(place: u32, #[comptime] plan: Kept) -> u32 {
    let mut next = place + comptime!(plan.step());
    if next >= comptime!(plan.ring() * plan.step()) {
        next -= comptime!(plan.ring() * plan.step());
    }
    next
}

/// The even pixels of a word, or the odd ones.
#[cube]
fn lane(word: u32, #[comptime] lane: usize) -> u32 {
    if comptime!(lane == 0) {
        evens(word)
    } else {
        odds(word)
    }
}

/// A word of its even pixels and its odd ones.
#[cube]
fn together(lanes: &Array<u32>) -> u32 {
    lanes[0usize] + lanes[1usize] * 256u32
}

/// Whether a block begins for which [`begin`] has something to do.
#[cube]
fn begins(descent: &Descent, #[comptime] plan: Kept) -> bool {
    comptime!(plan.fold != Fold::Sum) && descent.left == 0u32
}

/// At the beginning of a block: puts its ends into the places of its steps' totals.
#[cube]
fn begin(descent: &mut Descent, ring: &mut SharedMemory<u32>, #[comptime] plan: Kept) {
    let (block, _) = comptime!(plan.block());
    #[unroll]
    for l in 0..2usize {
        descent.end[l] = lane(comptime!(plan.neutral()).runtime(), l);
        descent.begun[l] = descent.entered[l];
    }
    let mut place = descent.enters;
    for _ in 0..block {
        if place < comptime!(plan.step()) {
            place += comptime!(plan.ring() * plan.step());
        }
        place -= comptime!(plan.step());
        let total = ring[place as usize];
        #[unroll]
        for l in 0..2usize {
            descent.end[l] = fold::<u32>(descent.end[l], lane(total, l), comptime!(plan.down()));
        }
        ring[place as usize] = together(&descent.end);
    }
}

/// The windows of the next step, to shared memory from `to` on. All rows that they reach are in the ring.
#[cube]
fn descend<N: Size>(
    descent: &mut Descent,
    ring: &mut SharedMemory<u32>,
    exchange: &mut SharedMemory<Vector<u32, N>>,
    to: usize,
    #[comptime] plan: Kept,
) {
    if comptime!(plan.fold == Fold::Sum) {
        sums::descend::<N>(descent, ring, exchange, to, plan);
    } else {
        descend_extremes::<N>(descent, ring, exchange, to, plan);
    }
}

/// The same of least and greatest.
#[cube]
fn descend_extremes<N: Size>(
    descent: &mut Descent,
    ring: &mut SharedMemory<u32>,
    exchange: &mut SharedMemory<Vector<u32, N>>,
    to: usize,
    #[comptime] plan: Kept,
) {
    let (block, rest) = comptime!(plan.block());
    let (leaves, enters) = (descent.leaves as usize, descent.enters as usize);
    let below = further(descent.leaves, plan);
    let after = further(descent.enters, plan);
    let last = descent.left == comptime!(block - 1);

    // All at once, because a compiler moves few of them.
    let mut entering = Array::<u32>::new(comptime!(ROWS as usize));
    #[unroll]
    for k in 0..comptime!(ROWS as usize) {
        let row = comptime!(k + rest as usize);
        if comptime!(row < ROWS as usize) {
            entering[k] = ring[enters + comptime!(row * GROUP)];
        } else {
            entering[k] = ring[after as usize + comptime!((row - ROWS as usize) * GROUP)];
        }
    }
    // Those after the first, and the end from the next step on.
    let mut leaving = Array::<u32>::new(comptime!(ROWS as usize));
    #[unroll]
    for k in 1..comptime!(ROWS as usize) {
        leaving[comptime!(k - 1)] = ring[leaves + comptime!(k * GROUP)];
    }
    let mut next = ring[below as usize];
    if last {
        next = comptime!(plan.neutral()).runtime();
    }
    leaving[comptime!(ROWS as usize - 1)] = next;

    // Two lanes for each row; and the total of the rows of the step that has then entered wholly.
    let mut windows = Array::<u32>::new(comptime!(2 * ROWS as usize));
    let mut total = Array::<u32>::new(2usize);
    #[unroll]
    for l in 0..2usize {
        // From each other row on.
        let mut ends = Array::<u32>::new(comptime!(PAIRS as usize + 1));
        ends[0usize] = descent.end[l];
        ends[comptime!(PAIRS as usize)] = lane(leaving[comptime!(ROWS as usize - 1)], l);
        #[unroll]
        for j in 1..comptime!(PAIRS as usize) {
            let p = comptime!(PAIRS as usize - j);
            ends[p] = fold_three::<u32>(
                ends[comptime!(p + 1)],
                lane(leaving[comptime!(2 * p - 1)], l),
                lane(leaving[comptime!(2 * p)], l),
                comptime!(plan.down()),
            );
        }
        total[l] = descent.entered[l];
        #[unroll]
        for p in 0..comptime!(PAIRS as usize) {
            let first = lane(entering[comptime!(2 * p)], l);
            let second = lane(entering[comptime!(2 * p + 1)], l);
            windows[comptime!(4 * p + l)] =
                fold_three::<u32>(ends[p], descent.begun[l], first, comptime!(plan.down()));
            descent.begun[l] = fold_three::<u32>(descent.begun[l], first, second, comptime!(plan.down()));
            windows[comptime!(4 * p + 2 + l)] = fold_three::<u32>(
                ends[comptime!(p + 1)],
                lane(leaving[comptime!(2 * p)], l),
                descent.begun[l],
                comptime!(plan.down()),
            );
            if comptime!(p == if rest == 0 { 0 } else { (ROWS - rest) as usize / 2 }) {
                descent.entered[l] = fold::<u32>(first, second, comptime!(plan.down()));
            } else if comptime!(2 * p < (ROWS - rest) as usize && rest > 0) {
                total[l] = fold_three::<u32>(total[l], first, second, comptime!(plan.down()));
            } else {
                descent.entered[l] =
                    fold_three::<u32>(descent.entered[l], first, second, comptime!(plan.down()));
            }
        }
        if comptime!(rest == 0) {
            total[l] = descent.entered[l];
            descent.entered[l] = lane(comptime!(plan.neutral()).runtime(), l);
        }
        descent.end[l] = ends[comptime!(PAIRS as usize)];
    }
    // In the place of a row that is nowhere read again by itself.
    ring[enters] = together(&total);
    if descent.column.outside != 0u32 {
        #[unroll]
        for k in 0..comptime!(2 * ROWS as usize) {
            let outside = lane(descent.column.outside, comptime!(k % 2));
            if comptime!(plan.neutral() == 0) {
                windows[k] = windows[k] & !outside;
            } else {
                windows[k] = windows[k] | outside;
            }
        }
    }
    #[unroll]
    for p in 0..comptime!(PAIRS as usize) {
        exchange[to + comptime!(p * (WORDS * plan.apart()) as usize)] =
            of_two_rows::<N>(&windows, p, comptime!(plan.pairs));
    }
    descent.leaves = below;
    descent.enters = after;
    descent.left += 1u32;
    if last {
        descent.left = 0u32;
    }
}

/// Where a unit finds what it folds across, and where the result goes.
#[derive(CubeType)]
struct Across {
    /// The place in shared memory of the run in which its windows begin, and of that of the last beginning, in a step's pairs.
    begins: usize,
    ends: usize,
    /// Whether it has anything to store, whether the last columns of its run are not the picture's, and whether all are.
    stores: bool,
    cut: bool,
    whole: bool,
    /// The first column of words of its run in the picture, and the width of that.
    word: u32,
    width: u32,
    /// The first of its two rows in the next step, the picture's height, the place of the run in that row, and vectors from one row to the next.
    row: u32,
    height: u32,
    place: u32,
    pitch: u32,
}

/// That of this unit, from row `first` of the picture on.
#[cube]
fn across(first: u32, width: u32, height: u32, pitch: u32, #[comptime] plan: Kept) -> Across {
    let (runs, _) = comptime!(plan.runs());
    let plane = UNIT_POS / comptime!(plan.plane);
    let lane = UNIT_POS % comptime!(plan.plane);
    let pair = plane / comptime!(plan.segments);
    let run = plane % comptime!(plan.segments) * comptime!(plan.computing()) + lane;
    // Those that do not compute read what is there.
    let last = min(run, comptime!(plan.computed() - 1));
    let base = pair * comptime!(WORDS * plan.apart());
    let word = CUBE_POS_X * comptime!(plan.columns()) + run * comptime!(WORDS);
    let mut stores = lane < comptime!(plan.computing()) && run < comptime!(plan.computed());
    stores = stores && word < pitch;
    let cut = (word + WORDS) * 4u32 > width;
    let row = first + 2u32 * pair;
    Across {
        begins: (base + run) as usize,
        ends: (base + last + runs) as usize,
        stores,
        cut,
        whole: stores && !cut,
        word,
        width,
        row,
        height,
        place: (row * pitch + word) / 4u32,
        pitch: pitch / 4u32,
    }
}

/// `count` pairs from where the windows of the run at `place` begin.
#[cube]
fn pixels<N: Size>(
    exchange: &SharedMemory<Vector<u32, N>>,
    place: usize,
    #[comptime] count: u32,
    #[comptime] plan: Kept,
) -> Array<u32> {
    let mut pixels = Array::<u32>::new(comptime!(count as usize));
    let (word, skip) = comptime!((plan.skip() / 4, plan.skip() % 4));
    #[unroll]
    for v in 0..comptime!((skip + count).div_ceil(4)) {
        let of = comptime!(word + v);
        let read = exchange[place + comptime!((of % WORDS * plan.apart() + of / WORDS) as usize)];
        #[unroll]
        for b in 0..4u32 {
            // The pixel's number, beyond `count` where it is not asked for.
            let p = comptime!((v * 4 + b).wrapping_sub(skip));
            if comptime!(p < count) {
                pixels[comptime!(p as usize)] = read[comptime!(b as usize)];
            }
        }
    }
    pixels
}

/// What a unit folds across: the pairs of the run in which its windows begin, and those of the last beginning.
#[derive(CubeType)]
struct Taken {
    first: Array<u32>,
    last: Array<u32>,
}

/// Those of the step whose pairs begin at `there`.
#[cube]
fn taken<N: Size>(
    exchange: &SharedMemory<Vector<u32, N>>,
    there: u32,
    across: &Across,
    #[comptime] plan: Kept,
) -> Taken {
    let (count, rest) = comptime!((COLUMNS, plan.runs().1));
    let first = pixels::<N>(exchange, there as usize + across.begins, count, plan);
    let last = pixels::<N>(
        exchange,
        there as usize + across.ends,
        comptime!(count + rest),
        plan,
    );
    Taken { first, last }
}

/// The end of a run from each other pixel on, the last first.
#[cube]
fn ends(first: &Array<u32>, #[comptime] plan: Kept) -> Array<u32> {
    let half = comptime!((COLUMNS / 2) as usize);
    let mut ends = Array::<u32>::new(half);
    ends[comptime!(half - 1)] = fold::<u32>(
        first[comptime!(2 * half - 2)],
        first[comptime!(2 * half - 1)],
        comptime!(plan.down()),
    );
    #[unroll]
    for j in 1..half {
        let p = comptime!(half - 1 - j);
        ends[p] = fold_three::<u32>(
            ends[comptime!(p + 1)],
            first[comptime!(2 * p)],
            first[comptime!(2 * p + 1)],
            comptime!(plan.down()),
        );
    }
    ends
}

/// The totals of the runs of the units after this one, as many as lie between the ends of its windows: at least one.
#[cube]
fn between(total: u32, #[comptime] plan: Kept) -> u32 {
    let count = comptime!(plan.runs().0 - 1);
    let of = comptime!(1 << count.ilog2());
    // Of as many units from this one on as a power of two is at most.
    let mut many = total;
    #[unroll]
    for k in 0..comptime!(count.ilog2()) {
        let next = plane_shuffle_down(many, comptime!(1u32 << k).runtime());
        many = fold::<u32>(many, next, comptime!(plan.down()));
    }
    let mut between = plane_shuffle_down(many, 1u32);
    if comptime!(of < count) {
        let next = plane_shuffle_down(many, comptime!(count - of + 1).runtime());
        between = fold::<u32>(between, next, comptime!(plan.down()));
    }
    between
}

/// The windows of a run, from its pixels, and those of the run that the last of them begins, and stores them.
#[cube]
fn fold_across<N: Size>(
    taken: &Taken,
    out: &mut Array<Vector<u32, N>>,
    across: &mut Across,
    inverse: f32,
    beside: u32,
    #[comptime] plan: Kept,
) {
    if comptime!(plan.fold == Fold::Sum) {
        sums::add_across::<N>(taken, out, across, inverse, beside, plan);
    } else {
        extremes_across::<N>(taken, out, across, plan);
    }
}

/// The same of least and greatest.
#[cube]
fn extremes_across<N: Size>(
    taken: &Taken,
    out: &mut Array<Vector<u32, N>>,
    across: &mut Across,
    #[comptime] plan: Kept,
) {
    let (runs, rest) = comptime!((plan.runs().0, plan.runs().1 as usize));
    let half = comptime!((COLUMNS / 2) as usize);
    let (first, last) = (&taken.first, &taken.last);
    let ends = ends(first, plan);
    let mut begun = lane(comptime!(plan.neutral()).runtime(), 0usize);
    if comptime!(runs > 1) {
        begun = between(ends[0usize], plan);
    }
    let mut windows = Array::<u32>::new(comptime!(COLUMNS as usize));
    #[unroll]
    for q in 0..comptime!(half + rest / 2) {
        let (even, odd) = (last[comptime!(2 * q)], last[comptime!(2 * q + 1)]);
        if comptime!(2 * q >= rest) {
            let p = comptime!(q - rest / 2);
            windows[comptime!(2 * p)] = fold_three::<u32>(ends[p], begun, even, comptime!(plan.down()));
        }
        begun = fold_three::<u32>(begun, even, odd, comptime!(plan.down()));
        if comptime!(2 * q >= rest) {
            let p = comptime!(q - rest / 2);
            let single = first[comptime!(2 * p + 1)];
            if comptime!(p + 1 == half) {
                windows[comptime!(2 * p + 1)] = fold::<u32>(single, begun, comptime!(plan.down()));
            } else {
                windows[comptime!(2 * p + 1)] =
                    fold_three::<u32>(ends[comptime!(p + 1)], single, begun, comptime!(plan.down()));
            }
        }
    }
    let mut words = Array::<u32>::new(comptime!(2 * WORDS as usize));
    #[unroll]
    for w in 0..comptime!(WORDS as usize) {
        // Two neighbours' bytes in each half.
        let two = windows[comptime!(4 * w)] + windows[comptime!(4 * w + 1)] * 256u32;
        let more = windows[comptime!(4 * w + 2)] + windows[comptime!(4 * w + 3)] * 256u32;
        words[w] = firsts(two, more, comptime!(plan.pairs));
        words[comptime!(w + WORDS as usize)] = seconds(two, more, comptime!(plan.pairs));
    }
    store_two_rows::<N>(out, &words, across);
}

/// Stores a run's words of both rows, as far as it and they are the picture's; then on to the next step.
#[cube]
fn store_two_rows<N: Size>(out: &mut Array<Vector<u32, N>>, words: &Array<u32>, across: &mut Across) {
    let mut upper = Vector::<u32, N>::empty();
    let mut lower = Vector::<u32, N>::empty();
    #[unroll]
    for w in 0..comptime!(WORDS as usize) {
        upper[w] = words[w];
        lower[w] = words[comptime!(w + WORDS as usize)];
    }
    if across.whole && across.row + 1u32 < across.height {
        out[across.place as usize] = upper;
        out[(across.place + across.pitch) as usize] = lower;
    } else if across.stores {
        if across.cut {
            #[unroll]
            for w in 0..comptime!(WORDS as usize) {
                let (place, bytes) = (across.word + w as u32, comptime!(Samples::Bytes));
                upper[w] = within::<u32>(upper[w], place, across.width, bytes);
                lower[w] = within::<u32>(lower[w], place, across.width, bytes);
            }
        }
        if across.row < across.height {
            out[across.place as usize] = upper;
        }
        if across.row + 1u32 < across.height {
            out[(across.place + across.pitch) as usize] = lower;
        }
    }
    across.row += ROWS;
    across.place += ROWS * across.pitch;
}

/// Folds the squares of a strip of `steps` · 8 rows, which units load; CUBE_POS_X counts cubes across, CUBE_POS_Y down. Sums become sum · `inverse`, rounded; `beside` are the bits
/// of 2²³.
#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
pub(in super::super) fn extremes_kept<N: Size>(
    source: &Array<u32>,
    out: &mut Array<Vector<u32, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    inverse: f32,
    beside: u32,
    #[comptime] plan: Kept,
) {
    let mut ring = SharedMemory::<u32>::new(comptime!((plan.ring() * plan.step()) as usize));
    let mut exchange = SharedMemory::<Vector<u32, N>>::new(comptime!(2 * plan.exchange() as usize));
    let raster = raster(width, height, pitch);
    let word = (CUBE_POS_X * comptime!(plan.columns()) + UNIT_POS) as i32 - comptime!(plan.left() as i32);
    let column = column(word, &raster, comptime!(Samples::Bytes));
    let first = CUBE_POS_Y * steps * ROWS;
    let mut descent = descent(&column, UNIT_POS, plan);
    let mut across = across(first, width, height, pitch, plan);
    let reads = UNIT_POS < comptime!(plan.words);
    let to = UNIT_POS % WORDS * comptime!(plan.apart()) + UNIT_POS / WORDS;

    // The rows of the step that is loaded last.
    let mut below = Array::<u32>::new(comptime!(ROWS as usize));
    let mut place = place(UNIT_POS);
    let mut row = first as i32 - comptime!(plan.radius as i32);
    if reads {
        for _ in 0..comptime!(plan.live()) {
            load(source, &mut below, row, &column);
            keep(&mut ring, &below, place);
            place = further(place, plan);
            row += comptime!(ROWS as i32);
        }
        load(source, &mut below, row, &column);
        enter(&mut descent, &mut ring, 0u32, comptime!(plan.live()), plan);
        if comptime!(plan.fold != Fold::Sum) {
            begin(&mut descent, &mut ring, plan);
        }
        descend::<N>(&mut descent, &mut ring, &mut exchange, to as usize, plan);
    }
    // Where the pairs of a step are, of which the others are those of the next.
    let mut there = u32::new(0);
    for s in 0..steps {
        sync_cube();
        let taken = taken::<N>(&exchange, there, &across, plan);
        there = comptime!(plan.exchange()) - there;
        if reads && s + 1u32 < steps {
            keep(&mut ring, &below, place);
            place = further(place, plan);
            row += comptime!(ROWS as i32);
            load(source, &mut below, row, &column);
            if begins(&descent, plan) {
                begin(&mut descent, &mut ring, plan);
            }
            descend::<N>(
                &mut descent,
                &mut ring,
                &mut exchange,
                (there + to) as usize,
                plan,
            );
        }
        fold_across::<N>(&taken, out, &mut across, inverse, beside, plan);
    }
}

/// Loads the rows of a step, whose first is `row`.
#[cube]
fn load(source: &Array<u32>, rows: &mut Array<u32>, row: i32, column: &Column) {
    load_rows::<u32>(source, rows, row, column, 0u32, ROWS, comptime!(Samples::Bytes));
}

/// Puts the rows of a step into the ring.
#[cube]
fn keep(ring: &mut SharedMemory<u32>, rows: &Array<u32>, place: u32) {
    #[unroll]
    for k in 0..comptime!(ROWS as usize) {
        ring[place as usize + comptime!(k * GROUP)] = rows[k];
    }
}
