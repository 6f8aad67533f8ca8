//! Compactions in three phases, as those of the article: an owner counts its words, a scan makes places of the counts, and the
//! owner moves its words there. Owners are planes with a contiguous sequence each, or cubes.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Buffer, Gpu, Operand, cubes, launch};
use relief_numeric::element::Element;
use relief_numeric::scan::Kind;
use relief_numeric::scan::gpu::{scan, scratch_words};

use crate::family::{Outcome, lanes};

/// Who owns which words, and how an owner learns its units' places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Owners {
    /// So many planes, by vectors of so many words; places by a scan of the plane (Billeter, Olsson, Assarsson).
    Planes(u32, u32),
    /// Cubes, a word for each unit; the planes' counts are added up by one unit (Orange Owls).
    CubesOneUnit,
    /// Cubes; every unit adds up the counts of the planes before its own (Spataro).
    CubesEveryUnit,
    /// Cubes; every unit counts the bits before its own (InK-Compact; Hughes, Lim, Jones, Knoll, Spencer).
    CubesBits,
}

/// Units of a cube.
const UNITS: u32 = 256;

impl Owners {
    /// How many there are for so many words.
    pub(crate) const fn count(self, words: u32) -> u32 {
        match self {
            Self::Planes(planes, _) => planes,
            _ => {
                let cubes = words.div_ceil(UNITS);
                if cubes == 0 { 1 } else { cubes }
            }
        }
    }

    const fn width(self) -> u32 {
        match self {
            Self::Planes(_, width) => width,
            _ => 1,
        }
    }

    /// Words of one sequence: whole chunks as wide as a plane.
    pub(super) const fn each(self, words: u32, lanes: u32) -> u32 {
        match self {
            Self::Planes(planes, width) => words.div_ceil(lanes * width).div_ceil(planes) * lanes * width,
            _ => UNITS,
        }
    }
}

/// Words of scratch: counts, places, and those of the scan.
pub(super) fn scratch(owners: Owners, words: usize) -> [usize; 3] {
    let owners = owners.count(words as u32) as usize;
    [owners + 4, owners + 4, scratch_words(owners as u64)]
}

/// All three phases.
pub(super) fn compact(
    gpu: &Gpu,
    owners: Owners,
    from: &Buffer,
    words: u32,
    [out, count]: [&Buffer; 2],
    [counts, places, scanned]: [&Buffer; 3],
) -> Outcome {
    let lanes = lanes(gpu, ..=32)?;
    let (width, own) = (owners.width() as usize, owners.count(words));
    let (each, shape) = (
        owners.each(words, lanes),
        Shape {
            owners,
            width: owners.width(),
            lanes,
        },
    );
    let number = match owners {
        Owners::Planes(planes, _) => planes.div_ceil(UNITS / lanes),
        _ => own,
    };
    let grid = (cubes(gpu, number), CubeDim::new_1d(UNITS));
    // SAFETY: words are compared with their number and owners with theirs, which the buffers hold.
    launch!(
        gpu, "select count", &shape, &[Operand::write("the output", counts)], grid.clone(),
        unsafe count_owned(width, from.array(width), counts.array(1), words, each, own, shape))?;
    let (kind, element) = (Kind::Exclusive, Element::U32);
    scan(gpu, kind, element, own.into(), counts, places, scanned)?;
    // SAFETY: as above; a word is written after those that are kept before it, so none past their number.
    launch!(
        gpu, "select move", &shape, &[Operand::write("the output", count)], grid,
        unsafe move_owned(
            width, from.array(width), counts.array(1), places.array(1), out.array(1), count.array(1), words,
            each, own, shape))?;
    Ok(())
}

/// What is compiled into the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    owners: Owners,
    width: u32,
    lanes: u32,
}

/// The vector at `place`, 0 from word `words` on.
#[cube]
fn load<N: Size>(
    from: &Array<Vector<u32, N>>,
    place: u32,
    words: u32,
    #[comptime] width: u32,
) -> Vector<u32, N> {
    let mut vector = Vector::new(0u32);
    let first = place * width;
    if first < words {
        let held = from[place as usize];
        #[unroll]
        for k in 0..width {
            vector[k as usize] = select(first + k < words, held[k as usize], 0u32);
        }
    }
    vector
}

#[cube]
fn set_words<N: Size>(vector: Vector<u32, N>, #[comptime] width: u32) -> u32 {
    let mut count = u32::new(0);
    #[unroll]
    for k in 0..width {
        count += u32::cast_from(vector[k as usize] != 0);
    }
    count
}

#[cube(launch_unchecked)]
fn count_owned<N: Size>(
    from: &Array<Vector<u32, N>>,
    counts: &mut Array<u32>,
    words: u32,
    each: u32,
    owners: u32,
    #[comptime] shape: Shape,
) {
    let (width, lanes) = comptime!((shape.width, shape.lanes));
    let lane = UNIT_POS % lanes;
    if comptime!(matches!(shape.owners, Owners::Planes(..))) {
        let plane = CUBE_POS as u32 * comptime!(UNITS / shape.lanes) + UNIT_POS / lanes;
        let mut chunk = plane * each;
        let mut end = min(chunk + each, words);
        if plane >= owners {
            end = 0u32;
        }
        let mut own = u32::new(0);
        while chunk < end {
            own += set_words::<N>(load::<N>(from, chunk / width + lane, end, width), width);
            chunk += comptime!(shape.lanes * shape.width);
        }
        let sum = plane_sum(own);
        if lane == 0 {
            if plane < owners {
                counts[plane as usize] = sum;
            }
        }
    } else {
        let mut sums = SharedMemory::<u32>::new(comptime!((UNITS / shape.lanes) as usize));
        let cube = CUBE_POS as u32;
        let vector = load::<N>(from, cube * UNITS + UNIT_POS, words, width);
        let sum = plane_sum(set_words::<N>(vector, width));
        if lane == 0 {
            sums[(UNIT_POS / lanes) as usize] = sum;
        }
        sync_cube();
        if UNIT_POS == 0 {
            if cube < owners {
                let mut total = u32::new(0);
                for k in 0..comptime!(UNITS / shape.lanes) {
                    total += sums[k as usize];
                }
                counts[cube as usize] = total;
            }
        }
    }
}

#[cube(launch_unchecked)]
fn move_owned<N: Size>(
    from: &Array<Vector<u32, N>>,
    counts: &Array<u32>,
    places: &Array<u32>,
    out: &mut Array<u32>,
    count: &mut Array<u32>,
    words: u32,
    each: u32,
    owners: u32,
    #[comptime] shape: Shape,
) {
    let (width, lanes) = comptime!((shape.width, shape.lanes));
    let lane = UNIT_POS % lanes;
    if comptime!(matches!(shape.owners, Owners::Planes(..))) {
        let plane = CUBE_POS as u32 * comptime!(UNITS / shape.lanes) + UNIT_POS / lanes;
        let mut chunk = plane * each;
        let mut end = min(chunk + each, words);
        let mut at = u32::new(0);
        if plane < owners {
            at = places[plane as usize];
        } else {
            end = 0u32;
        }
        while chunk < end {
            let vector = load::<N>(from, chunk / width + lane, end, width);
            let own = set_words::<N>(vector, width);
            let inclusive = plane_inclusive_sum(own);
            let mut to = at + inclusive - own;
            #[unroll]
            for k in 0..width {
                if vector[k as usize] != 0 {
                    out[to as usize] = vector[k as usize];
                    to += 1u32;
                }
            }
            at += plane_broadcast(inclusive, comptime!(shape.lanes - 1));
            chunk += comptime!(shape.lanes * shape.width);
        }
    } else {
        let mut held = SharedMemory::<u32>::new(comptime!((UNITS / shape.lanes) as usize));
        let cube = CUBE_POS as u32;
        let plane = UNIT_POS / lanes;
        let vector = load::<N>(from, cube * UNITS + UNIT_POS, words, width);
        let set = vector[0] != 0;
        let ballot = plane_ballot(set);
        let below = (ballot[0] & ((u32::new(1) << lane) - 1u32)).count_ones();
        if lane == 0 {
            held[plane as usize] = match shape.owners {
                Owners::CubesBits => ballot[0],
                _ => ballot[0].count_ones(),
            };
        }
        sync_cube();
        let mut before = u32::new(0);
        if comptime!(shape.owners == Owners::CubesOneUnit) {
            if UNIT_POS == 0 {
                let mut sum = u32::new(0);
                for k in 0..comptime!(UNITS / shape.lanes) {
                    let of = held[k as usize];
                    held[k as usize] = sum;
                    sum += of;
                }
            }
            sync_cube();
            before += held[plane as usize];
        } else {
            for k in 0..plane {
                let of = held[k as usize];
                if comptime!(shape.owners == Owners::CubesBits) {
                    before += of.count_ones();
                } else {
                    before += of;
                }
            }
        }
        if set {
            let to = places[cube as usize] + before + below;
            out[to as usize] = vector[0];
        }
    }
    if CUBE_POS == 0 {
        if UNIT_POS == 0 {
            count[0] = places[(owners - 1u32) as usize] + counts[(owners - 1u32) as usize];
            count[1] = 0u32;
        }
    }
}
