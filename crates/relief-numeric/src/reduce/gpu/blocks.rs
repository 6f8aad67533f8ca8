//! The kernels: teams that reduce blocks, and cubes (thread blocks) that reduce what blocks came to.
//!
//! A team has fewer units (threads) than a row of a block has vectors: it plays 256 of them, each unit
//! several. What a unit keeps is one or more words; what it is left with after its block is a pair: a sum of
//! 64 bits, a key and a place, or one word.

use cubecl::prelude::*;

use super::{Operation, RESULTS, ROUNDS, SPAN};
use crate::element::Element;
use relief_kernels::policy::Tuning;

/// Rounds of results whose loads are asked for together.
const AHEAD: u32 = 16;

/// What is compiled into the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    pub(super) operation: Operation,
    pub(super) element: Element,
    /// Units that reduce a block together, and blocks of a cube.
    pub(super) team: u32,
    pub(super) teams: u32,
    /// Vectors (or results) that a team takes at once, and how often.
    span: u32,
    rounds: u32,
    /// Rounds whose loads are asked for together.
    items: u32,
    /// Units of a plane; 1 where planes differ.
    lanes: u32,
    /// Whether pairs have a second word that matters.
    pair: bool,
    /// Whether the results are those of rows.
    pub(super) last: bool,
}

impl Plan {
    /// For the first launch, for rows of so many vectors.
    pub(super) fn blocks(
        operation: Operation,
        element: Element,
        tuning: Tuning,
        lanes: u32,
        vectors: u32,
    ) -> Self {
        let short = lanes > 1 && vectors <= SPAN;
        let span = if short { vectors.next_power_of_two() } else { SPAN };
        // A part of a plane is team enough for rows of fewer vectors than a plane has units.
        let team = if short { span.min(lanes) } else { tuning.units };
        let pair = match operation {
            Operation::Sum => matches!(element, Element::U32 | Element::I32),
            Operation::PlaceOfLeast => true,
            _ => false,
        };
        Self {
            operation,
            element,
            team,
            teams: if short { SPAN / team } else { 1 },
            span,
            rounds: if short { 1 } else { ROUNDS },
            items: if short { 1 } else { tuning.items },
            lanes,
            pair,
            last: true,
        }
    }

    /// For the second launch.
    pub(super) fn results(operation: Operation, element: Element, lanes: u32, software: bool) -> Self {
        Self {
            operation,
            element,
            team: if software { SPAN } else { RESULTS },
            teams: 1,
            span: RESULTS,
            rounds: 0,
            items: 1,
            lanes,
            pair: match operation {
                Operation::Sum => element != Element::F32,
                Operation::PlaceOfLeast => true,
                _ => false,
            },
            last: true,
        }
    }

    /// Vectors of a row of a block that a unit plays.
    const fn plays(&self) -> u32 {
        self.span / self.team
    }

    /// Words that a unit keeps for each.
    const fn kept(&self) -> u32 {
        match (self.operation, self.element) {
            (Operation::Sum, Element::F32) => 4,
            (Operation::Sum, Element::U16) | (Operation::Least | Operation::Greatest, _) => 1,
            (Operation::PlaceOfLeast, Element::U8 | Element::U16) => 1,
            (Operation::Sum | Operation::PlaceOfLeast, _) => 2,
        }
    }

    /// Numbers of a word and of a vector.
    const fn per_word(&self) -> u32 {
        32 / self.element.bits()
    }

    const fn per_vector(&self) -> u32 {
        4 * self.per_word()
    }

    /// log₂ of the numbers of a block.
    const fn block(&self) -> u32 {
        (SPAN * ROUNDS * self.per_vector()).ilog2()
    }

    /// What a word of a pair, or one that is kept, is before anything was taken.
    const fn neutral(&self) -> u32 {
        match self.operation {
            Operation::Sum => 0,
            _ => u32::MAX,
        }
    }
}

/// Reduces block `block` of row `row` by each team; results are pairs, or those of rows.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn reduce_blocks<N: Size>(
    from: &Array<Vector<u32, N>>,
    to: &mut Array<u32>,
    vectors: u32,
    whole: u32,
    rest: u32,
    pitch: u32,
    rows: u32,
    blocks: u32,
    #[comptime] plan: Plan,
) {
    let (team, span) = comptime!((plan.team, plan.span));
    let plays = comptime!(plan.plays());
    let member = UNIT_POS % team;
    let place = CUBE_POS as u32 * comptime!(plan.teams) + UNIT_POS / team;
    let row = place / blocks;
    let block = place % blocks;
    let first = block * comptime!(span * plan.rounds) + member;
    let base = row * pitch + first;
    let mut kept = Array::<u32>::new(comptime!((plays * plan.kept()) as usize));
    begin(&mut kept, first, vectors, plan);

    let mut held = Array::<Vector<u32, N>>::new(comptime!((plan.items * plays) as usize));
    if row < rows && (block + 1) * comptime!(span * plan.rounds) <= whole {
        // rung: reduce on gpu: blocks
        // As many rounds are on the way as a unit has registers for: each that is taken makes room for the next.
        #[unroll]
        for round in 0..comptime!(plan.items) {
            load_round::<N>(from, &mut held, base, round, plan);
        }
        #[unroll]
        for round in 0..comptime!(plan.rounds) {
            take_round::<N>(&mut kept, &held, round, plan);
            if comptime!(round + plan.items < plan.rounds) {
                load_round::<N>(from, &mut held, base, comptime!(round + plan.items), plan);
            }
        }
        // end
    } else {
        let end = select(row < rows, vectors, 0u32);
        take_end::<N>(
            from,
            &mut kept,
            &mut held,
            row * pitch,
            block,
            member,
            end,
            whole,
            rest,
            plan,
        );
    }

    let mut a = Array::<u32>::new(comptime!(plays as usize));
    let mut b = Array::<u32>::new(comptime!(plays as usize));
    #[unroll]
    for m in 0..plays {
        a[comptime!(m as usize)] = left(&kept, m, plan);
        b[comptime!(m as usize)] = left_place(&kept, m, member, plan);
    }
    fold(&mut a, &mut b, plan);
    if member == 0 {
        if row < rows {
            if comptime!(plan.last) {
                store(to, row, a[0usize], b[0usize], plan);
            } else {
                to[(2 * place) as usize] = a[0usize];
                to[(2 * place + 1) as usize] = b[0usize];
            }
        }
    }
}

/// Loads a unit's vectors of a round of a block that is whole, the first of which is `base`.
#[cube]
fn load_round<N: Size>(
    from: &Array<Vector<u32, N>>,
    held: &mut Array<Vector<u32, N>>,
    base: u32,
    #[comptime] round: u32,
    #[comptime] plan: Plan,
) {
    let plays = comptime!(plan.plays());
    #[unroll]
    for m in 0..plays {
        let at = base + comptime!(round * plan.span + m * plan.team);
        held[comptime!((round % plan.items * plays + m) as usize)] = from[at as usize];
    }
}

/// Takes what was loaded of a round.
#[cube]
fn take_round<N: Size>(
    kept: &mut Array<u32>,
    held: &Array<Vector<u32, N>>,
    #[comptime] round: u32,
    #[comptime] plan: Plan,
) {
    let plays = comptime!(plan.plays());
    #[unroll]
    for m in 0..plays {
        let vector = held[comptime!((round % plan.items * plays + m) as usize)];
        let numbers = comptime!(plan.per_vector());
        take::<N>(kept, vector, m, round.runtime(), numbers, true, plan);
    }
}

/// The same as loading and taking all rounds, as far as the row goes.
#[cube]
#[allow(clippy::too_many_arguments)]
fn take_end<N: Size>(
    from: &Array<Vector<u32, N>>,
    kept: &mut Array<u32>,
    held: &mut Array<Vector<u32, N>>,
    base: u32,
    block: u32,
    member: u32,
    end: u32,
    whole: u32,
    rest: u32,
    #[comptime] plan: Plan,
) {
    let (team, span) = comptime!((plan.team, plan.span));
    let plays = comptime!(plan.plays());
    let start = block * comptime!(plan.span * plan.rounds);
    let first = start + member;
    let mut round = u32::new(0);
    while round < comptime!(plan.rounds) && start + round * span < end {
        #[unroll]
        for k in 0..comptime!(plan.items) {
            #[unroll]
            for m in 0..plays {
                let at = first + (round + k) * span + comptime!(m * team);
                if at < end {
                    held[comptime!((k * plays + m) as usize)] = from[(base + at) as usize];
                }
            }
        }
        #[unroll]
        for k in 0..comptime!(plan.items) {
            #[unroll]
            for m in 0..plays {
                let at = first + (round + k) * span + comptime!(m * team);
                if at < end {
                    let vector = held[comptime!((k * plays + m) as usize)];
                    let numbers = select(at < whole, comptime!(plan.per_vector()), rest);
                    take::<N>(kept, vector, m, round + k, numbers, false, plan);
                }
            }
        }
        round += comptime!(plan.items);
    }
}

/// Reduces the `blocks` pairs of row CUBE_POS.
#[cube(launch_unchecked)]
pub(super) fn reduce_results<N: Size>(
    from: &Array<Vector<u32, N>>,
    to: &mut Array<u32>,
    blocks: u32,
    rows: u32,
    #[comptime] plan: Plan,
) {
    let plays = comptime!(plan.plays());
    let row = CUBE_POS as u32;
    let base = row * blocks;
    let mut a = Array::<u32>::new(comptime!(plays as usize));
    let mut b = Array::<u32>::new(comptime!(plays as usize));
    #[unroll]
    for m in 0..plays {
        a[comptime!(m as usize)] = u32::new(comptime!(i64::from(plan.neutral())));
        b[comptime!(m as usize)] = u32::new(comptime!(i64::from(plan.neutral())));
    }
    if row < rows {
        // As few waits for memory as can be: nothing else is on the way.
        let count = comptime!(AHEAD * plays);
        let mut held = Array::<Vector<u32, N>>::new(comptime!(count as usize));
        let mut round = u32::new(0);
        while round < blocks {
            #[unroll]
            for k in 0..count {
                let at = round + UNIT_POS + comptime!(k * plan.team);
                if at < blocks {
                    held[comptime!(k as usize)] = from[(base + at) as usize];
                }
            }
            #[unroll]
            for k in 0..count {
                let at = round + UNIT_POS + comptime!(k * plan.team);
                if at < blocks {
                    let pair = held[comptime!(k as usize)];
                    let mut second = pair[1usize];
                    if comptime!(plan.operation == Operation::PlaceOfLeast) {
                        second = at;
                    }
                    fold_pair(&mut a, &mut b, comptime!(k % plays), pair[0usize], second, plan);
                }
            }
            round += comptime!(AHEAD * plan.span);
        }
    }
    fold(&mut a, &mut b, plan);
    if UNIT_POS == 0 {
        if row < rows {
            if comptime!(plan.operation == Operation::PlaceOfLeast) {
                // The block of the least; where in the block is left in its pair.
                let block = b[0usize];
                let pair = from[(base + min(block, blocks - 1)) as usize];
                let shift = comptime!(plan.block());
                to[(2 * row) as usize] = (block << shift) | pair[1usize];
                to[(2 * row + 1) as usize] = block >> comptime!(32 - shift);
            } else {
                store(to, row, a[0usize], b[0usize], plan);
            }
        }
    }
}

/// Sets what units keep to what it is before the first number.
#[cube]
fn begin(kept: &mut Array<u32>, first: u32, vectors: u32, #[comptime] plan: Plan) {
    #[unroll]
    for k in 0..comptime!(plan.plays() * plan.kept()) {
        kept[comptime!(k as usize)] = u32::new(comptime!(i64::from(plan.neutral())));
    }
    // The first number is the least so far, even if it is the greatest that there is: nothing is less than that.
    if comptime!(plan.operation == Operation::PlaceOfLeast && plan.kept() == 2) {
        #[unroll]
        for m in 0..comptime!(plan.plays()) {
            if first + comptime!(m * plan.team) < vectors {
                kept[comptime!((2 * m + 1) as usize)] = u32::new(0);
            }
        }
    }
}

/// Takes the first `numbers` numbers of a vector, the one of round `round` that the unit plays as its `m`-th.
#[cube]
fn take<N: Size>(
    kept: &mut Array<u32>,
    vector: Vector<u32, N>,
    #[comptime] m: u32,
    round: u32,
    numbers: u32,
    #[comptime] full: bool,
    #[comptime] plan: Plan,
) {
    let at = comptime!((m * plan.kept()) as usize);
    #[unroll]
    for k in 0..4u32 {
        let mut word = prepared(vector[comptime!(k as usize)], plan);
        if comptime!(!full) {
            let absent = !present(numbers, k, plan);
            if comptime!(plan.operation == Operation::Sum) {
                word &= !absent;
            } else {
                word |= absent;
            }
        }
        take_word(kept, word, at, k, round * comptime!(plan.per_vector()), plan);
    }
}

/// The bits of word `k` of a vector that belong to its first `numbers` numbers.
#[cube]
fn present(numbers: u32, #[comptime] k: u32, #[comptime] plan: Plan) -> u32 {
    let bits = comptime!(plan.element.bits());
    let before = comptime!(k * plan.per_word());
    let count = min(max(numbers, before) - before, comptime!(plan.per_word()));
    // A shift by 32 bits would be none.
    let some =
        u32::new(comptime!(i64::from(u32::MAX))) >> ((comptime!(plan.per_word()) - max(count, 1u32)) * bits);
    select(count == 0, 0u32, some)
}

/// A word whose numbers are in the order in which the least is looked for, as integers without a sign.
#[cube]
fn prepared(word: u32, #[comptime] plan: Plan) -> u32 {
    match plan.operation {
        Operation::Sum => word,
        Operation::Greatest => !key(word, comptime!(plan.element)),
        _ => key(word, comptime!(plan.element)),
    }
}

/// A word whose numbers are in order as integers without a sign.
#[cube]
fn key(word: u32, #[comptime] element: Element) -> u32 {
    match element {
        Element::I32 => word ^ 0x8000_0000u32,
        // Negative floats in reverse, and below the others.
        Element::F32 => word ^ ((0u32 - (word >> 31u32)) | 0x8000_0000u32),
        _ => word,
    }
}

/// The number of a key, as a word.
#[cube]
fn number(key: u32, #[comptime] element: Element) -> u32 {
    match element {
        Element::I32 => key ^ 0x8000_0000u32,
        Element::F32 => key ^ ((0u32 - (!key >> 31u32)) | 0x8000_0000u32),
        _ => key,
    }
}

/// Takes word `k` of a vector whose first number is the unit's number `before`.
#[cube]
fn take_word(
    kept: &mut Array<u32>,
    word: u32,
    #[comptime] at: usize,
    #[comptime] k: u32,
    before: u32,
    #[comptime] plan: Plan,
) {
    match (plan.operation, plan.element) {
        (Operation::Sum, Element::F32) => {
            let place = comptime!(at + k as usize);
            kept[place] = u32::reinterpret(f32::reinterpret(kept[place]) + f32::reinterpret(word));
        }
        // Pairs of 16 bits: each takes 4 bytes in each of 16 rounds.
        (Operation::Sum, Element::U8) => {
            kept[at] += word & 0x00ff_00ffu32;
            kept[comptime!(at + 1)] += (word >> 8u32) & 0x00ff_00ffu32;
        }
        (Operation::Sum, Element::U16) => {
            kept[at] += (word & 0xffffu32) + (word >> 16u32);
        }
        (Operation::Sum, _) => {
            let sum = kept[at] + word;
            kept[comptime!(at + 1)] += u32::cast_from(sum < word);
            if comptime!(plan.element == Element::I32) {
                kept[comptime!(at + 1)] -= word >> 31u32;
            }
            kept[at] = sum;
        }
        // The least of shorter numbers is that of whole words whose highest bits they are, whatever is below.
        (Operation::Least | Operation::Greatest, _) =>
        {
            #[unroll]
            for e in 0..comptime!(plan.per_word()) {
                let top = word << comptime!(32 - plan.element.bits() * (e + 1));
                kept[at] = min(kept[at], top);
            }
        }
        // Which number of the unit it is lies below.
        (Operation::PlaceOfLeast, Element::U8 | Element::U16) =>
        {
            #[unroll]
            for e in 0..comptime!(plan.per_word()) {
                let top = word << comptime!(32 - plan.element.bits() * (e + 1));
                let mask = comptime!(u32::MAX << (32 - plan.element.bits()));
                let place = before + comptime!(k * plan.per_word() + e);
                kept[at] = min(kept[at], (top & mask) | place);
            }
        }
        (Operation::PlaceOfLeast, _) => {
            let less = word < kept[at];
            kept[comptime!(at + 1)] = select(less, before + k, kept[comptime!(at + 1)]);
            kept[at] = min(kept[at], word);
        }
    }
}

/// The first word of what a unit is left with as its `m`-th.
#[cube]
fn left(kept: &Array<u32>, #[comptime] m: u32, #[comptime] plan: Plan) -> u32 {
    let at = comptime!((m * plan.kept()) as usize);
    match (plan.operation, plan.element) {
        (Operation::Sum, Element::F32) => {
            let low = f32::reinterpret(kept[at]) + f32::reinterpret(kept[comptime!(at + 1)]);
            let high = f32::reinterpret(kept[comptime!(at + 2)]) + f32::reinterpret(kept[comptime!(at + 3)]);
            u32::reinterpret(low + high)
        }
        (Operation::Sum, Element::U8) => {
            let (even, odd) = (kept[at], kept[comptime!(at + 1)]);
            (even & 0xffffu32) + (even >> 16u32) + (odd & 0xffffu32) + (odd >> 16u32)
        }
        (Operation::Sum, _) => kept[at],
        _ => kept[at] >> comptime!(32 - plan.element.bits()),
    }
}

/// The second word: the upper half of a sum, or the least number's place in the block.
#[cube]
fn left_place(kept: &Array<u32>, #[comptime] m: u32, member: u32, #[comptime] plan: Plan) -> u32 {
    let at = comptime!((m * plan.kept()) as usize);
    match (plan.operation, plan.element) {
        (Operation::Sum, Element::U32 | Element::I32) => kept[comptime!(at + 1)],
        (Operation::PlaceOfLeast, _) => {
            let per = comptime!(plan.per_vector());
            let mut place = kept[comptime!(at + plan.kept() as usize - 1)];
            let none = place == 0xffff_ffffu32;
            if comptime!(plan.kept() == 1) {
                place &= comptime!(u32::MAX >> plan.element.bits());
            }
            let round = place / per;
            let vector = round * comptime!(plan.span) + comptime!(m * plan.team) + member;
            select(none, 0xffff_ffffu32, vector * per + place % per)
        }
        _ => u32::new(0),
    }
}

/// Takes the pair (c, d) into pair `m`, which comes before it.
#[cube]
fn fold_pair(
    a: &mut Array<u32>,
    b: &mut Array<u32>,
    #[comptime] m: u32,
    c: u32,
    d: u32,
    #[comptime] plan: Plan,
) {
    let m = comptime!(m as usize);
    match (plan.operation, plan.element) {
        (Operation::Sum, Element::F32) => {
            a[m] = u32::reinterpret(f32::reinterpret(a[m]) + f32::reinterpret(c));
        }
        (Operation::Sum, _) => {
            let sum = a[m] + c;
            if comptime!(plan.pair) {
                b[m] = b[m] + d + u32::cast_from(sum < c);
            }
            a[m] = sum;
        }
        (Operation::Least | Operation::Greatest, _) => {
            a[m] = min(a[m], c);
        }
        (Operation::PlaceOfLeast, _) => {
            let same = c == a[m];
            let first = select(same, min(b[m], d), select(c < a[m], d, b[m]));
            b[m] = first;
            a[m] = min(a[m], c);
        }
    }
}

/// Halves the pairs of a team until the first is left: those of a unit, those of the planes of a cube, those of a plane.
#[cube]
fn fold(a: &mut Array<u32>, b: &mut Array<u32>, #[comptime] plan: Plan) {
    halve(a, b, comptime!(plan.plays()), plan);
    if comptime!(plan.team > plan.lanes) {
        let mut first = SharedMemory::<u32>::new(comptime!(plan.team as usize));
        let mut second = SharedMemory::<u32>::new(comptime!(if plan.pair { plan.team as usize } else { 1 }));
        first[UNIT_POS as usize] = a[0usize];
        if comptime!(plan.pair) {
            second[UNIT_POS as usize] = b[0usize];
        }
        sync_cube();
        if comptime!(plan.lanes == 1) {
            halve_shared(&mut first, &mut second, a, b, plan);
        } else {
            if UNIT_POS < comptime!(plan.lanes) {
                let count = comptime!(plan.team / plan.lanes);
                let mut c = Array::<u32>::new(comptime!(count as usize));
                let mut d = Array::<u32>::new(comptime!(count as usize));
                #[unroll]
                for k in 0..count {
                    let at = UNIT_POS + comptime!(k * plan.lanes);
                    c[comptime!(k as usize)] = first[at as usize];
                    d[comptime!(k as usize)] = u32::new(0);
                    if comptime!(plan.pair) {
                        d[comptime!(k as usize)] = second[at as usize];
                    }
                }
                halve(&mut c, &mut d, count, plan);
                exchange(&mut c, &mut d, plan);
                a[0usize] = c[0usize];
                b[0usize] = d[0usize];
            }
        }
    } else {
        exchange(a, b, plan);
    }
}

/// Halves `count` pairs of a unit.
#[cube]
fn halve(a: &mut Array<u32>, b: &mut Array<u32>, #[comptime] count: u32, #[comptime] plan: Plan) {
    #[unroll]
    for step in 0..comptime!(count.ilog2()) {
        let half = comptime!(count >> (step + 1));
        #[unroll]
        for k in 0..half {
            let (c, d) = (
                a[comptime!((k + half) as usize)],
                b[comptime!((k + half) as usize)],
            );
            fold_pair(a, b, k, c, d, plan);
        }
    }
}

/// Halves the first pairs of the units of a plane.
#[cube]
fn exchange(a: &mut Array<u32>, b: &mut Array<u32>, #[comptime] plan: Plan) {
    #[unroll]
    for step in 0..comptime!(plan.lanes.min(plan.team).ilog2()) {
        let half = comptime!(plan.lanes.min(plan.team) >> (step + 1));
        let c = plane_shuffle_xor(a[0usize], half);
        let mut d = u32::new(0);
        if comptime!(plan.pair) {
            d = plane_shuffle_xor(b[0usize], half);
        }
        fold_pair(a, b, 0u32, c, d, plan);
    }
}

/// Halves the pairs of a cube by way of shared memory alone.
#[cube]
fn halve_shared(
    first: &mut SharedMemory<u32>,
    second: &mut SharedMemory<u32>,
    a: &mut Array<u32>,
    b: &mut Array<u32>,
    #[comptime] plan: Plan,
) {
    #[unroll]
    for step in 0..comptime!(plan.team.ilog2()) {
        let half = comptime!(plan.team >> (step + 1));
        if UNIT_POS < half {
            let mut d = u32::new(0);
            if comptime!(plan.pair) {
                d = second[(UNIT_POS + half) as usize];
            }
            fold_pair(a, b, 0u32, first[(UNIT_POS + half) as usize], d, plan);
            first[UNIT_POS as usize] = a[0usize];
            if comptime!(plan.pair) {
                second[UNIT_POS as usize] = b[0usize];
            }
        }
        sync_cube();
    }
}

/// Stores the result of a row.
#[cube]
fn store(to: &mut Array<u32>, row: u32, a: u32, b: u32, #[comptime] plan: Plan) {
    match (plan.operation, plan.element) {
        (Operation::Sum, Element::F32) => {
            to[row as usize] = a;
        }
        (Operation::Sum, _) => {
            to[(2 * row) as usize] = a;
            to[(2 * row + 1) as usize] = b;
        }
        (Operation::Least, _) => {
            to[row as usize] = number(a, comptime!(plan.element));
        }
        (Operation::Greatest, _) => {
            let mask = comptime!(u32::MAX >> (32 - plan.element.bits()));
            to[row as usize] = number(!a & mask, comptime!(plan.element));
        }
        (Operation::PlaceOfLeast, _) => {
            to[(2 * row) as usize] = b;
            to[(2 * row + 1) as usize] = select(b == 0xffff_ffffu32, 0xffff_ffffu32, 0u32);
        }
    }
}
