//! Decoupled look-back after Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back"
//! (2016): tiles tell each other what they come to, and each learns what all before it come to.
//!
//! A tile's *state* is a status and a value: nothing yet, what the tile comes to, or what all up to its end come
//! to. Atomics are relaxed, so status and value share a word: of 32 bits where values are counts below 2^30, of 64 for
//! sums. A tile is that of the cube (block) of its number: CUDA begins cubes in this order, as CUB counts on too, so
//! the cubes that are waited for have begun, and they go on ([`looks_back`]).
//!
//! An atomic load is compiled to an addition of 0 on CUDA, which takes its turn in the L2 cache, and all cubes that
//! wait ask for the same few lines. So states are read at a glance first, as other memory is: what a nearer cache
//! holds may be what was some time ago, but what was published stays true. Only what is missing is read by atomics.
//!
//! Sums of floats are added from the last known sum of all before on, tile by tile, so that the result does not
//! depend on how far a cube had to look back.

use cubecl::prelude::*;

use crate::progress::{forward_progress, unless_promised};
use relief_kernels::device::{Buffer, DeviceError, DeviceReport, Gpu, line, start};

/// Statuses: 0 before anything was published.
const OWN: u32 = 1;
const UP_TO_END: u32 = 2;

/// Bits of a state of 32 bits that hold a count; the two above are its status.
const COUNT: u32 = 0x3fff_ffff;

/// The most tiles whose sums of floats are held to be added in order. More are never on the way on one device.
const CHAIN: u32 = 1_024;

/// The most tiles that are looked at together: a ballot has as many bits.
const WINDOW: u32 = 32;

/// Units of a plane (warp) where all planes have as many, else 1.
pub(crate) const fn lanes(report: &DeviceReport) -> u32 {
    match report.plane {
        (least, most) if least == most && matches!(most, 4 | 8 | 16 | 32 | 64) => most,
        _ => 1,
    }
}

/// Whether tiles can look back: where cubes may wait for others that have begun, and planes all have one size.
pub(crate) const fn looks_back(report: &DeviceReport) -> bool {
    forward_progress(report) && lanes(report) > 1
}

/// Nothing where [`looks_back`].
pub(crate) fn unless_it_looks_back(gpu: &Gpu) -> Result<(), DeviceError> {
    unless_promised(gpu)?;
    match looks_back(gpu.report()) {
        true => Ok(()),
        false => Err(gpu.unsupported("a look-back with planes of several sizes")),
    }
}

/// What tiles tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tells {
    /// Numbers below 2^30; states have 32 bits.
    Counts,
    /// Sums modulo 2^32; states have 64 bits.
    Sums,
    /// The same of f32.
    Floats,
}

/// How look-back is compiled into a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Look {
    /// Units of a plane.
    pub(crate) lanes: u32,
    pub(crate) tells: Tells,
}

impl Look {
    const fn window(&self) -> u32 {
        if self.lanes < WINDOW { self.lanes } else { WINDOW }
    }

    /// Windows whose states are asked for at once. Every look takes as long as memory takes to answer, so how many tiles it reaches bounds
    /// how many tiles there can be in that time; kernels of counts have fewer tiles on their way.
    const fn windows(&self) -> u32 {
        match self.tells {
            Tells::Counts => 1,
            Tells::Sums | Tells::Floats => 4,
        }
    }

    const fn float(&self) -> bool {
        matches!(self.tells, Tells::Floats)
    }

    /// Words of shared memory that [`look_back`] takes.
    pub(crate) const fn chain(&self) -> u32 {
        if self.float() { CHAIN } else { 1 }
    }
}

/// Clears the first `words` words of a buffer.
pub(crate) fn zero<R: Runtime>(gpu: &Gpu, client: &ComputeClient<R>, buffer: &Buffer, words: u32) {
    // SAFETY: places are compared with `words`, and callers have made sure of as many.
    start!(client, line(gpu, words, 256), unsafe zero_words(buffer.array(1), words));
}

#[cube(launch_unchecked)]
fn zero_words(buffer: &mut Array<u32>, words: u32) {
    let place = CUBE_POS as u32 * 256 + UNIT_POS;
    if place < words {
        buffer[place as usize] = 0u32;
    }
}

/// The sum of two values.
#[cube]
pub(crate) fn add(a: u32, b: u32, #[comptime] float: bool) -> u32 {
    if comptime!(float) {
        u32::reinterpret(f32::reinterpret(a) + f32::reinterpret(b))
    } else {
        a + b
    }
}

/// A tile's status and value.
#[derive(CubeType, Clone, Copy)]
struct State {
    status: u32,
    value: u32,
}

/// A state from its word.
#[cube]
fn told<S: Int>(word: S, #[comptime] look: Look) -> State {
    if comptime!(look.tells == Tells::Counts) {
        let word = u32::cast_from(word);
        State {
            status: word >> 30u32,
            value: word & COUNT,
        }
    } else {
        let word = u64::cast_from(word);
        State {
            status: u32::cast_from(word >> 32u64),
            value: u32::cast_from(word),
        }
    }
}

#[cube]
fn publish<S: Int>(
    state: &mut Array<Atomic<S>>,
    tile: u32,
    #[comptime] status: u32,
    value: u32,
    #[comptime] look: Look,
) {
    if comptime!(look.tells == Tells::Counts) {
        let word = u32::new(comptime!(i64::from(status) << 30)) | value;
        state[tile as usize].store(S::cast_from(word));
    } else {
        let word = u64::new(comptime!(i64::from(status) << 32)) | u64::cast_from(value);
        state[tile as usize].store(S::cast_from(word));
    }
}

/// Publishes what a tile comes to. One unit, and as soon as it is known.
#[cube]
pub(crate) fn tell<S: Int>(state: &mut Array<Atomic<S>>, tile: u32, own: u32, #[comptime] look: Look) {
    if tile == 0 {
        // A variable, since CUDA cannot take the bits of a constant for those of a number.
        let mut all = u32::new(0);
        all = add(all, own, comptime!(look.float()));
        publish::<S>(state, tile, UP_TO_END, all, look);
    } else {
        publish::<S>(state, tile, OWN, own, look);
    }
}

/// What all tiles before one come to, to the first unit of the plane, and publishes what all up to its end do; its own was [told](tell).
/// One plane of a cube has to do this, all of it; `seen` is the same memory as `state`, and `chain` [`Look::chain`] words of
/// its own.
#[cube]
pub(crate) fn look_back<S: Int>(
    state: &mut Array<Atomic<S>>,
    seen: &Array<S>,
    chain: &mut SharedMemory<u32>,
    tile: u32,
    own: u32,
    #[comptime] look: Look,
) -> u32 {
    let (window, windows) = comptime!((look.window(), look.windows()));
    let lane = UNIT_POS_PLANE;
    let mut before = u32::new(0);
    if tile > 0 {
        // What the tiles from `end` on come to is known.
        let mut end = tile;
        let mut held = u32::new(0);
        let mut going = true;
        while going {
            let mut statuses = Array::<u32>::new(comptime!(windows as usize));
            let mut values = Array::<u32>::new(comptime!(windows as usize));
            #[unroll]
            for k in 0..windows {
                let back = comptime!(k * window) + lane;
                // Before the first tile there is nothing, which is known; units past the window add nothing.
                statuses[comptime!(k as usize)] = select(lane < window, comptime!(UP_TO_END), comptime!(OWN));
                values[comptime!(k as usize)] = u32::new(0);
                if lane < window && back < end {
                    let found = told::<S>(seen[(end - 1 - back) as usize], look);
                    statuses[comptime!(k as usize)] = found.status;
                    values[comptime!(k as usize)] = found.value;
                }
            }
            #[unroll]
            for k in 0..windows {
                if going {
                    let back = comptime!(k * window) + lane;
                    let there = lane < window && back < end;
                    let mut status = statuses[comptime!(k as usize)];
                    let mut value = values[comptime!(k as usize)];
                    // Where no more sums can be held, the last of them has to be that of all before.
                    let full = held + window >= comptime!(look.chain());
                    let mut known = u32::new(0);
                    let mut nearer = u32::new(0);
                    let mut waiting = true;
                    while waiting {
                        known = plane_ballot(status == comptime!(UP_TO_END))[0usize];
                        let unknown = plane_ballot(status == 0u32)[0usize];
                        // Tiles between this one and the nearest that knows all before it; all, if none does.
                        nearer = (known & (!known + 1u32)) - 1u32;
                        waiting = (unknown & nearer) != 0u32;
                        let mut again = status == 0u32;
                        if comptime!(look.float()) {
                            waiting = waiting || (full && known == 0u32);
                            again = again || (full && status == comptime!(OWN));
                        }
                        if waiting && there && again {
                            let found = told::<S>(state[(end - 1 - back) as usize].load(), look);
                            status = found.status;
                            value = found.value;
                        }
                    }
                    let last = nearer.count_ones();
                    if comptime!(look.float()) {
                        if lane < window {
                            chain[(held + lane) as usize] = value;
                        }
                        if known == 0u32 {
                            held += window;
                        } else {
                            held += last;
                        }
                    } else {
                        before += plane_sum(select(lane <= last, value, 0u32));
                    }
                    going = known == 0u32;
                }
            }
            end -= min(end, comptime!(windows * window));
        }
        if comptime!(look.float()) {
            // Only CUDA has a wait for one plane, and only there this is used for floats.
            sync_plane();
            if lane == 0 {
                let mut total = chain[held as usize];
                let mut left = held;
                while left > 0 {
                    left -= 1u32;
                    total = add(total, chain[left as usize], true);
                }
                before = total;
            }
        }
        if lane == 0 {
            let all = add(before, own, comptime!(look.float()));
            publish::<S>(state, tile, UP_TO_END, all, look);
        }
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_of_tests;
    use relief_kernels::device::on_client;

    #[cube(launch_unchecked)]
    fn look_back_alone(
        state: &mut Array<Atomic<u32>>,
        seen: &mut Array<u32>,
        out: &mut Array<u32>,
        tile: u32,
        #[comptime] look: Look,
    ) {
        let mut chain = SharedMemory::<u32>::new(comptime!(look.chain() as usize));
        let before = look_back::<u32>(state, seen, &mut chain, tile, 5u32, look);
        if UNIT_POS == 0 {
            out[0usize] = before;
        }
    }

    fn launch<R: Runtime>(client: &ComputeClient<R>, state: &Buffer, out: &Buffer, tile: u32, look: Look) {
        // SAFETY: the states have more words than the tile's number, and the result has one.
        start!(client, (CubeCount::Static(1, 1, 1), CubeDim::new_1d(look.lanes)), unsafe look_back_alone(
            state.array(1), state.array(1), out.array(1), tile, look));
    }

    #[test]
    fn counts_are_added_up_as_far_back_as_the_nearest_sum() {
        let Some(gpu) = device_of_tests() else { return };
        for back in [1, 2, 3, 7, 8, 9, 20, 39] {
            let look = Look {
                lanes: gpu.report().plane.1,
                tells: Tells::Counts,
            };
            // Tile 39 looks back; `back` before it, what all up to there come to is known.
            let states: Vec<u32> = (0..64)
                .map(|k| match 39 - k {
                    tile if tile == back => 1 << 31 | 1_000,
                    tile if tile < back => 1 << 30 | k as u32,
                    _ => 1 << 30 | 99,
                })
                .collect();
            let sum = 1_000 + (1..back).map(|b| 39 - b as u32).sum::<u32>();
            let (state, out) = (gpu.upload(&states).unwrap(), gpu.buffer(64).unwrap());
            on_client!(gpu, client => launch(client, &state, &out, 39, look));
            let found = gpu.read(&out, 1).wait().unwrap();
            assert_eq!(found[..4], sum.to_le_bytes(), "{back} back");
            let told = gpu.read(&state, 64).wait().unwrap();
            assert_eq!(told[4 * 39..4 * 40], (1 << 31 | (sum + 5)).to_le_bytes());
        }
    }
}
