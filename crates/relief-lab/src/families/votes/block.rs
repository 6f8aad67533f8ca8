//! Votes of cubes and planes about words that are not zero.

use crate::array::{Array, Fill, Layout};
use crate::family::{LENGTHS, Ladder, OnCpu, Problem, Scale, Variant, Work};

/// Words of a block: as many as a cube has units.
pub(super) const BLOCK: usize = 256;

/// What is asked about the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// For each block: how many are not zero, whether all are, whether any is.
    Blocks,
    /// For each word a bit.
    Bits,
    /// How many there are in all.
    Total,
}

/// So many words.
pub(super) struct Votes {
    pub(super) question: Question,
    pub(super) words: usize,
}

impl Problem for Votes {
    fn label(&self) -> String {
        format!("{} u32", crate::quantity::count(self.words as u64))
    }

    fn elements(&self) -> u64 {
        self.words as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        if fill == Fill::Structured {
            return vec![Array::filled(Layout::of::<u32>(self.words), fill, 1)];
        }
        // Blocks of zeros, of words that are all set, and of both.
        let at = |i: usize| match i / BLOCK % 3 {
            0 => 0,
            1 => 7,
            _ => crate::array::mix(5, i as u64) & 1,
        };
        vec![Array::from_fn(self.words, at)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u32>(match self.question {
            Question::Blocks => self.words.div_ceil(BLOCK) * 3,
            Question::Bits => self.words.div_ceil(32),
            Question::Total => 1,
        })]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let words = inputs[0].slice::<u32>();
        let out = outputs[0].slice_mut::<u32>();
        match self.question {
            Question::Blocks => {
                for (block, words) in words.chunks(BLOCK).enumerate() {
                    let set = words.iter().filter(|word| **word != 0).count();
                    out[3 * block] = set as u32;
                    out[3 * block + 1] = u32::from(set == words.len());
                    out[3 * block + 2] = u32::from(set > 0);
                }
            }
            Question::Bits => {
                for (i, word) in words.iter().enumerate() {
                    if *word != 0 {
                        out[i / 32] |= 1 << (i % 32);
                    }
                }
            }
            Question::Total => out[0] = words.iter().filter(|word| **word != 0).count() as u32,
        }
    }

    fn work(&self) -> Work {
        let written = self.outputs()[0].bytes() as u64;
        Work::bytes(4 * self.elements(), written)
    }
}

fn ladder(name: &'static str, about: &'static str, problems: Problems) -> Ladder<Votes> {
    #[allow(unused_mut)]
    let mut variants = vec![Variant::cpu(
        "loop",
        "a word at a time",
        |p: &Votes, call: OnCpu<'_>| {
            let out = call.outputs[0].slice_mut::<u32>();
            out.fill(0);
            for (i, word) in call.inputs[0].slice::<u32>().iter().enumerate() {
                let set = u32::from(*word != 0);
                match p.question {
                    Question::Blocks => {
                        let place = i / BLOCK * 3;
                        out[place] += set;
                        let whole = out[place] as usize == i % BLOCK + 1;
                        out[place + 1] = u32::from(whole);
                        out[place + 2] |= set;
                    }
                    Question::Bits => out[i / 32] |= set << (i % 32),
                    Question::Total => out[0] += set,
                }
            }
            Ok(())
        },
    )];
    #[cfg(feature = "gpu")]
    variants.extend(gpu::variants(name));
    Ladder {
        name,
        about,
        axis: None,
        checks: problems.0,
        cases: problems.1,
        huge: problems.2,
        variants,
    }
}

/// Those to check, those to time, and those of more than 2^32 bytes.
struct Problems(fn() -> Vec<Votes>, fn(Scale) -> Vec<Votes>, fn() -> Vec<Votes>);

fn checks(question: Question) -> Vec<Votes> {
    LENGTHS.map(|words| Votes { question, words }).into()
}

fn huge(question: Question) -> Vec<Votes> {
    let words = (1 << 30) + 77;
    vec![Votes { question, words }]
}

fn cases(question: Question, scale: Scale) -> Vec<Votes> {
    let of = |n: u64| Votes {
        question,
        words: n as usize,
    };
    scale.sizes().into_iter().map(of).collect()
}

pub(super) fn counts() -> Ladder<Votes> {
    ladder(
        "votes/block",
        "for each 256 words: how many are not zero, whether all are, whether any is",
        Problems(
            || checks(Question::Blocks),
            |scale| cases(Question::Blocks, scale),
            || huge(Question::Blocks),
        ),
    )
}

pub(super) fn ballots() -> Ladder<Votes> {
    ladder(
        "votes/ballot",
        "a bit for each word: whether it is not zero",
        Problems(
            || checks(Question::Bits),
            |scale| cases(Question::Bits, scale),
            || huge(Question::Bits),
        ),
    )
}

pub(super) fn elections() -> Ladder<Votes> {
    ladder(
        "votes/elect",
        "one counter of all words that are not zero",
        Problems(
            || checks(Question::Total),
            |scale| cases(Question::Total, scale),
            || huge(Question::Total),
        ),
    )
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::device::{Backend, Operand, cubes, on_client, start};

    use super::Votes;
    use crate::family::{Failure, OnGpu, Outcome, Variant};

    const UNITS: u32 = super::BLOCK as u32;

    /// How units agree.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Way {
        /// Blocks: additions in shared memory.
        Atomics,
        /// Blocks: halves added to halves, a barrier each.
        Tree,
        /// Blocks: sums of planes.
        Sum,
        /// Blocks: bits of planes, counted.
        Ballot,
        /// Blocks: what all and any lanes say; counts by sums.
        AllAny,
        /// Bits: put together from shared memory.
        BitsShared,
        /// Bits: ballots.
        BitsBallot,
        /// Total: every unit adds.
        TotalUnits,
        /// Total: the first lane adds for its plane.
        TotalFirst,
        /// Total: an elected lane adds for its plane.
        TotalElected,
    }

    pub(super) fn variants(name: &str) -> Vec<Variant<Votes>> {
        let of =
            |name, idea, way| Variant::gpu(name, idea, move |p: &Votes, call: OnGpu<'_>| vote(p, &call, way));
        match name {
            "votes/block" => vec![
                of("shared atomics", "every unit adds in shared memory", Way::Atomics),
                of("tree", "halves added to halves, a barrier each", Way::Tree),
                of("plane sum", "sums of planes, then of their sums", Way::Sum),
                of(
                    "plane ballot",
                    "bits of planes, counted, then summed",
                    Way::Ballot,
                ),
                of(
                    "plane all and any",
                    "what all and any lanes say; counts by sums",
                    Way::AllAny,
                ),
            ],
            "votes/ballot" => vec![
                of(
                    "shared memory",
                    "a unit for each result puts bits together",
                    Way::BitsShared,
                ),
                of("ballot", "a ballot for each plane", Way::BitsBallot),
            ],
            _ => vec![
                of("every unit", "every unit adds to one counter", Way::TotalUnits),
                of("first lane", "the first lane adds for its plane", Way::TotalFirst),
                of("elected", "an elected lane adds for its plane", Way::TotalElected),
            ],
        }
    }

    fn vote(problem: &Votes, call: &OnGpu<'_>, way: Way) -> Outcome {
        let (least, lanes) = call.gpu.report().plane;
        let planes = !matches!(way, Way::Atomics | Way::Tree | Way::BitsShared | Way::TotalUnits);
        if planes && (least != lanes || lanes > 32) {
            let reason = format!("planes of {least} to {lanes} units");
            return Err(Failure::Unsupported(reason));
        }
        if way == Way::TotalElected && call.gpu.report().backend() != Some(Backend::Cuda) {
            let reason = "WGSL has no election of a lane";
            return Err(Failure::Unsupported(reason.to_owned()));
        }
        let words = problem.words as u32;
        if words == 0 && !matches!(way, Way::TotalUnits | Way::TotalFirst | Way::TotalElected) {
            return Ok(());
        }
        let blocks = words.div_ceil(UNITS);
        let grid = cubes(call.gpu, blocks);
        let launch = || on_client!(call.gpu, client => launch_on(client, call, (words, blocks), (way, lanes), grid.clone()));
        call.gpu.launch(
            "votes",
            &(way, lanes),
            &[Operand::write("the output", &call.outputs[0])],
            launch,
        )?;
        Ok(())
    }

    fn launch_on<R: Runtime>(
        client: &ComputeClient<R>,
        call: &OnGpu<'_>,
        (words, blocks): (u32, u32),
        (way, lanes): (Way, u32),
        grid: CubeCount,
    ) {
        let (from, out) = (&call.inputs[0], &call.outputs[0]);
        // SAFETY: words are compared with their number, and blocks with theirs; the result has three words for each block, or one
        // for each 32 words, or one.
        let from = from.array(1);
        let result = || out.array(1);
        let dim = CubeDim::new_1d(UNITS);
        match way {
            Way::BitsShared | Way::BitsBallot => {
                start!(client, (grid, dim), unsafe bits(from, result(), words, way, lanes));
            }
            Way::TotalUnits | Way::TotalFirst | Way::TotalElected => {
                let (one, unit) = (CubeCount::Static(1, 1, 1), CubeDim::new_1d(1));
                start!(client, (one, unit), unsafe clear(result()));
                let result = out.array(1);
                start!(client, (grid, dim), unsafe total(from, result, words, way, lanes));
            }
            _ => start!(client, (grid, dim), unsafe blocks_of(from, result(), words, blocks, way, lanes)),
        }
    }

    /// Whether the unit's word is there and not zero.
    #[cube]
    fn is_set(from: &Array<u32>, words: u32) -> bool {
        let unit = CUBE_POS as u32 * UNITS + UNIT_POS;
        let mut set = false;
        if unit < words {
            set = from[unit as usize] != 0;
        }
        set
    }

    #[cube(launch_unchecked)]
    fn blocks_of(
        from: &Array<u32>,
        out: &mut Array<u32>,
        words: u32,
        blocks: u32,
        #[comptime] way: Way,
        #[comptime] lanes: u32,
    ) {
        let set = is_set(from, words);
        let block = CUBE_POS as u32;
        let here = min(max(words, block * UNITS) - block * UNITS, UNITS);
        let mut count = u32::new(0);
        let mut all = u32::new(0);
        let mut any = u32::new(0);
        if comptime!(way == Way::Atomics) {
            let counter = SharedMemory::<Atomic<u32>>::new(1usize);
            if UNIT_POS == 0 {
                counter[0].store(0u32);
            }
            sync_cube();
            if set {
                counter[0].fetch_add(1u32);
            }
            sync_cube();
            count += counter[0].load();
            all |= u32::cast_from(count == here);
            any |= u32::cast_from(count > 0);
        } else if comptime!(way == Way::Tree) {
            let mut sums = SharedMemory::<u32>::new(comptime!(UNITS as usize));
            sums[UNIT_POS as usize] = u32::cast_from(set);
            sync_cube();
            #[unroll]
            for k in 0..8u32 {
                let half = comptime!(UNITS >> (k + 1));
                if UNIT_POS < half {
                    let other = sums[(UNIT_POS + half) as usize];
                    sums[UNIT_POS as usize] += other;
                }
                sync_cube();
            }
            count += sums[0];
            all |= u32::cast_from(count == here);
            any |= u32::cast_from(count > 0);
        } else {
            // A sum, whether all, and whether any, for each plane.
            let mut of_planes = SharedMemory::<u32>::new(comptime!((3 * UNITS / lanes) as usize));
            let mut own = u32::new(0);
            let mut own_all = u32::new(0);
            let mut own_any = u32::new(0);
            if comptime!(way == Way::Ballot) {
                let ballot = plane_ballot(set);
                own += ballot[0].count_ones();
            } else {
                own += plane_sum(u32::cast_from(set));
            }
            if comptime!(way == Way::AllAny) {
                let mut agrees = set;
                if UNIT_POS >= here {
                    agrees = true;
                }
                own_all = u32::cast_from(plane_all(agrees));
                own_any = u32::cast_from(plane_any(set));
            }
            if UNIT_POS % lanes == 0 {
                let plane = (UNIT_POS / lanes * 3u32) as usize;
                of_planes[plane] = own;
                of_planes[plane + 1] = own_all;
                of_planes[plane + 2] = own_any;
            }
            sync_cube();
            let mut every = u32::new(1);
            for plane in 0..comptime!(UNITS / lanes) {
                let at = (plane * 3u32) as usize;
                count += of_planes[at];
                every &= of_planes[at + 1];
                any |= of_planes[at + 2];
            }
            if comptime!(way == Way::AllAny) {
                all |= every;
            } else {
                all |= u32::cast_from(count == here);
                any |= u32::cast_from(count > 0);
            }
        }
        if UNIT_POS == 0 {
            if block < blocks {
                let at = (block * 3u32) as usize;
                out[at] = count;
                out[at + 1] = all;
                out[at + 2] = any;
            }
        }
    }

    #[cube(launch_unchecked)]
    fn bits(
        from: &Array<u32>,
        out: &mut Array<u32>,
        words: u32,
        #[comptime] way: Way,
        #[comptime] lanes: u32,
    ) {
        let set = is_set(from, words);
        // Parts of the eight results of a cube.
        let of = comptime!(if way == Way::BitsBallot { lanes } else { 1 });
        let mut parts = SharedMemory::<u32>::new(comptime!((UNITS / of) as usize));
        if comptime!(way == Way::BitsBallot) {
            let ballot = plane_ballot(set);
            if UNIT_POS % lanes == 0 {
                parts[(UNIT_POS / lanes) as usize] = ballot[0];
            }
        } else {
            parts[UNIT_POS as usize] = u32::cast_from(set);
        }
        sync_cube();
        let place = CUBE_POS as u32 * comptime!(UNITS / 32) + UNIT_POS;
        if UNIT_POS < comptime!(UNITS / 32) {
            if place * 32u32 < words {
                let mut word = u32::new(0);
                for k in 0..comptime!(32 / of) {
                    word |= parts[(UNIT_POS * comptime!(32 / of) + k) as usize] << (k * of);
                }
                out[place as usize] = word;
            }
        }
    }

    #[cube(launch_unchecked)]
    fn clear(out: &mut Array<u32>) {
        out[0] = 0u32;
    }

    #[cube(launch_unchecked)]
    fn total(
        from: &Array<u32>,
        out: &mut Array<Atomic<u32>>,
        words: u32,
        #[comptime] way: Way,
        #[comptime] lanes: u32,
    ) {
        let set = is_set(from, words);
        if comptime!(way == Way::TotalElected) {
            // rung: votes on gpu: elected
            let sum = plane_sum(u32::cast_from(set));
            if plane_elect() {
                out[0].fetch_add(sum);
            }
            // end
        } else if comptime!(way == Way::TotalFirst) {
            // rung: votes on gpu: first lane
            let sum = plane_sum(u32::cast_from(set));
            if UNIT_POS % lanes == 0 {
                out[0].fetch_add(sum);
            }
            // end
        } else {
            // rung: votes on gpu: every unit
            if set {
                out[0].fetch_add(1u32);
            }
            // end
        }
    }
}
