//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Buffer, Operand, cubes, line, on_client, start};
use relief_kernels::policy::Tuning;
use relief_numeric::element::Element;
use relief_numeric::scan::Kind;
use relief_numeric::scan::gpu::{self as production, Route};

use super::Scan;
use crate::array::Layout;
use crate::family::{Failure, OnGpu, Outcome, Variant};

/// Units of a cube of the ladder.
const UNITS: u32 = 256;

/// How a block is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    HillisSteele,
    Blelloch { padded: bool },
}

impl Way {
    /// Numbers of a block.
    const fn block(self) -> u32 {
        match self {
            Self::Blelloch { .. } => 2 * UNITS,
            _ => UNITS,
        }
    }
}

pub(super) fn variants(kind: Kind, element: Element) -> Vec<Variant<Scan>> {
    let mut variants = Vec::new();
    if (kind, element) == (Kind::Inclusive, Element::U32) {
        let of = |name, idea, way| {
            Variant::gpu(name, idea, move |p: &Scan, call| blocks(p, call, way)).scratch(levels)
        };
        let idea = "every number to the one 1, 2, 4, … places on: a pass for each";
        variants.extend([
            Variant::gpu("Hillis–Steele", idea, everywhere).scratch(|p| vec![Layout::of::<u32>(p.len)]),
            of(
                "Hillis–Steele in blocks",
                "the same in shared memory; blocks' sums are scanned and added",
                Way::HillisSteele,
            ),
            of(
                "Blelloch",
                "up the tree of a block and down again",
                Way::Blelloch { padded: false },
            ),
            of(
                "Blelloch, padded",
                "a word left out after each 32, so that banks do not collide",
                Way::Blelloch { padded: true },
            ),
        ]);
    }
    variants.extend([
        Variant::gpu(
            "reduce, then scan",
            "shares are added up, then scanned from there: numbers are read twice",
            |p: &Scan, call| {
                let default = production::default(p.element);
                by_route(p, call, default, Route::ReduceThenScan)
            },
        )
        .scratch(states),
        Variant::gpu(
            "production",
            "one pass; tiles tell each other their sums by look-back, where a device lets them wait",
            |p: &Scan, call| {
                let route = Route::fitting(call.gpu.report());
                by_route(p, call, call.tuning, route)
            },
        )
        .tuned(
            production::name(element),
            production::SPACE,
            production::default(element),
        )
        .scratch(states)
        .production(),
    ]);
    variants
}

fn states(problem: &Scan) -> Vec<Layout> {
    vec![Layout::of::<u32>(production::scratch_words(problem.len as u64))]
}

fn by_route(problem: &Scan, call: &OnGpu<'_>, tuning: Tuning, route: Route) -> Outcome {
    let Scan { kind, element, len } = *problem;
    let (from, to, scratch) = (&call.inputs[0], &call.outputs[0], &call.scratch[0]);
    let len = len as u64;
    production::scan_with(call.gpu, tuning, route, kind, element, len, from, to, scratch)?;
    Ok(())
}

/// Numbers that a launch of the ladder counts.
fn count(problem: &Scan) -> Outcome<u32> {
    match u32::try_from(problem.len) {
        Ok(count) if count < 1 << 31 => Ok(count),
        _ => Err(Failure::Unsupported("more than 2^31 numbers".to_owned())),
    }
}

/// Passes over all numbers.
fn everywhere(problem: &Scan, call: &OnGpu<'_>) -> Outcome {
    let count = count(problem)?;
    if count == 0 {
        return Ok(());
    }
    // One pass more for one number, which has to get there.
    let passes = count.next_power_of_two().ilog2().max(1);
    call.gpu.launch(
        "scan everywhere",
        &0,
        &[Operand::write("the output", &call.outputs[0])],
        || {
            let mut from = &call.inputs[0];
            for pass in 0..passes {
                let last = (passes - pass) % 2 == 1;
                let to = if last { &call.outputs[0] } else { &call.scratch[0] };
                on_client!(call.gpu, client => {
                    let shift = 1 << pass;
                    // SAFETY: places are compared with the count, of which both buffers hold as many.
                        start!(
                            client, line(call.gpu, count, UNITS),
                            unsafe add_shifted(from.array(1), to.array(1), count, shift));
                });
                from = to;
            }
        },
    )?;
    Ok(())
}

#[cube(launch_unchecked)]
fn add_shifted(from: &Array<u32>, to: &mut Array<u32>, count: u32, shift: u32) {
    // rung: scan on gpu: Hillis–Steele
    let at = CUBE_POS as u32 * UNITS + UNIT_POS;
    if at < count {
        let mut sum = from[at as usize];
        if at >= shift {
            sum += from[(at - shift) as usize];
        }
        to[at as usize] = sum;
    }
    // end
}

/// Blocks' sums and what lies before blocks, for each level.
fn levels(problem: &Scan) -> Vec<Layout> {
    let mut layouts = Vec::new();
    let mut count = problem.len;
    while count > 1 || layouts.is_empty() {
        count = count.div_ceil(UNITS as usize);
        layouts.extend([Layout::of::<u32>(count); 2]);
    }
    layouts
}

/// By blocks, whose sums are scanned in the same way.
fn blocks(problem: &Scan, call: &OnGpu<'_>, way: Way) -> Outcome {
    let count = count(problem)?;
    if count == 0 {
        return Ok(());
    }
    let level = Level {
        way,
        kind: Kind::Inclusive,
    };
    call.gpu.launch(
        "scan blocks",
        &level,
        &[Operand::write("the output", &call.outputs[0])],
        || {
            on_client!(call.gpu, client => {
                level.scan(client, call, (&call.inputs[0], &call.outputs[0]), count, 0);
            });
        },
    )?;
    Ok(())
}

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Level {
    way: Way,
    kind: Kind,
}

impl Level {
    /// Scans `count` words from one buffer to another, with the scratch memory from `depth` on.
    fn scan<R: Runtime>(
        self,
        client: &ComputeClient<R>,
        call: &OnGpu<'_>,
        (from, to): (&Buffer, &Buffer),
        count: u32,
        depth: usize,
    ) {
        let blocks = count.div_ceil(self.way.block());
        let (sums, before) = (&call.scratch[depth], &call.scratch[depth + 1]);
        let grid = cubes(call.gpu, blocks);
        // SAFETY: places are compared with the count, of which both buffers hold as many; a sum is written for each block, and
        // there is room for as many.
        start!(client, (grid.clone(), CubeDim::new_1d(UNITS)), unsafe scan_level(
            from.array(1), to.array(1), sums.array(1), count, blocks, self));
        if blocks == 1 {
            return;
        }
        let above = Self {
            kind: Kind::Exclusive,
            ..self
        };
        above.scan(client, call, (sums, before), blocks, depth + 2);
        // SAFETY: as above.
        start!(client, (grid, CubeDim::new_1d(UNITS)), unsafe add_before(
            to.array(1), before.array(1), count, blocks, self.way.block()));
    }
}

/// Adds to the numbers of each block what lies before it.
#[cube(launch_unchecked)]
fn add_before(to: &mut Array<u32>, before: &Array<u32>, count: u32, blocks: u32, #[comptime] block: u32) {
    let cube = CUBE_POS as u32;
    if cube < blocks {
        let more = before[cube as usize];
        #[unroll]
        for k in 0..comptime!(block / UNITS) {
            let at = cube * block + comptime!(k * UNITS) + UNIT_POS;
            if at < count {
                to[at as usize] += more;
            }
        }
    }
}

/// Scans block CUBE_POS, and leaves its sum.
#[cube(launch_unchecked)]
fn scan_level(
    from: &Array<u32>,
    to: &mut Array<u32>,
    sums: &mut Array<u32>,
    count: u32,
    blocks: u32,
    #[comptime] level: Level,
) {
    let cube = CUBE_POS as u32;
    let per = comptime!(level.way.block() / UNITS);
    // Neighbours for Blelloch's tree.
    let first = cube * comptime!(level.way.block()) + UNIT_POS * per;
    let mut values = Array::<u32>::new(comptime!(per as usize));
    #[unroll]
    for k in 0..per {
        values[comptime!(k as usize)] = 0u32;
        if cube < blocks {
            if first + k < count {
                values[comptime!(k as usize)] = from[(first + k) as usize];
            }
        }
    }
    // What lies before the unit's numbers in the block.
    let before = match level.way {
        Way::HillisSteele => hillis_steele(values[0usize]),
        Way::Blelloch { padded } => blelloch(&values, padded),
    };
    let mut sum = before;
    #[unroll]
    for k in 0..per {
        let with = sum + values[comptime!(k as usize)];
        if cube < blocks {
            if first + k < count {
                if comptime!(level.kind == Kind::Inclusive) {
                    to[(first + k) as usize] = with;
                } else {
                    to[(first + k) as usize] = sum;
                }
            }
        }
        sum = with;
    }
    if UNIT_POS == comptime!(UNITS - 1) {
        if cube < blocks {
            sums[cube as usize] = sum;
        }
    }
}

/// The sum of the values of all units before.
#[cube]
fn hillis_steele(value: u32) -> u32 {
    // Two rows in turn, so that nobody writes what others still read.
    let mut rows = SharedMemory::<u32>::new(comptime!(2 * UNITS as usize));
    let mut sum = value;
    rows[UNIT_POS as usize] = sum;
    sync_cube();
    // rung: scan on gpu: Hillis–Steele in blocks
    #[unroll]
    for step in 0..comptime!(UNITS.ilog2()) {
        let shift = comptime!(1 << step);
        let (here, next) = comptime!(((step % 2) * UNITS, ((step + 1) % 2) * UNITS));
        if UNIT_POS >= shift {
            sum += rows[(here + UNIT_POS - shift) as usize];
        }
        rows[(next + UNIT_POS) as usize] = sum;
        sync_cube();
    }
    // end
    sum - value
}

/// The sum of the values of all units before, of two numbers each.
#[cube]
fn blelloch(values: &Array<u32>, #[comptime] padded: bool) -> u32 {
    let count = comptime!(2 * UNITS);
    let mut tree = SharedMemory::<u32>::new(comptime!((count + count / 32) as usize));
    tree[leaf(2 * UNIT_POS, padded) as usize] = values[0usize];
    tree[leaf(2 * UNIT_POS + 1, padded) as usize] = values[1usize];
    // rung: scan on gpu: Blelloch
    #[unroll]
    for step in 0..comptime!(count.ilog2()) {
        sync_cube();
        let stride = comptime!(1u32 << step);
        if UNIT_POS < comptime!(count >> (step + 1)) {
            let left = leaf((2 * UNIT_POS + 1) * stride - 1, padded);
            let right = leaf((2 * UNIT_POS + 2) * stride - 1, padded);
            tree[right as usize] = tree[right as usize] + tree[left as usize];
        }
    }
    sync_cube();
    if UNIT_POS == 0 {
        tree[leaf(u32::new(comptime!(i64::from(count - 1))), padded) as usize] = 0u32;
    }
    #[unroll]
    for step in 0..comptime!(count.ilog2()) {
        sync_cube();
        let stride = comptime!(count >> (step + 1));
        if UNIT_POS < comptime!(1u32 << step) {
            let left = leaf((2 * UNIT_POS + 1) * stride - 1, padded);
            let right = leaf((2 * UNIT_POS + 2) * stride - 1, padded);
            let sum = tree[left as usize];
            tree[left as usize] = tree[right as usize];
            tree[right as usize] = tree[right as usize] + sum;
        }
    }
    // end
    sync_cube();
    tree[leaf(2 * UNIT_POS, padded) as usize]
}

/// Where number `at` of a tree lies.
#[cube]
fn leaf(at: u32, #[comptime] padded: bool) -> u32 {
    // rung: scan on gpu: Blelloch, padded
    let mut place = at;
    if padded {
        place += at / 32;
    }
    // end
    place
}
