//! Decoupled look-back: tiles tell each other their sums.
//!
//! A tile's state is its status and a value: nothing yet, the sum of the tile, or the sum up to its end. Atomics are relaxed, so
//! what is read together has to be one word, or to carry its own status: see the head of the parent.

use cubecl::prelude::*;

use relief_kernels::device::{Buffer, Client, Gpu, cubes};

/// Statuses: 0 before anything was published.
const SUM: u32 = 1;
const UP_TO_END: u32 = 2;

/// The most tiles whose sums of floats are held to be added in order. More are never on the way on one device.
const CHAIN: u32 = 1_024;

/// The most tiles that are looked at together: a ballot has as many bits.
const WINDOW: u32 = 32;

/// Windows whose states are asked for at once.
const WINDOWS: u32 = 4;

/// Whether atomics have 64 bits.
pub(crate) const fn wide(gpu: &Gpu) -> bool {
    match gpu.client() {
        #[cfg(feature = "cuda")]
        Client::Cuda(_) => true,
        #[cfg(feature = "vulkan")]
        Client::Vulkan(_) => false,
    }
}

/// Words of the states of `tiles` tiles and of the counter.
pub(crate) const fn words(tiles: u32) -> u32 {
    (tiles + 1) * 2
}

/// How look-back is compiled into a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Look {
    /// Units of a plane.
    pub(crate) lanes: u32,
    /// Whether values are floats.
    pub(crate) float: bool,
    /// Whether a state is one word of 64 bits, else two of 32.
    pub(crate) wide: bool,
    /// Whether states are read as other memory is first.
    pub(crate) glance: bool,
}

impl Look {
    fn window(&self) -> u32 {
        self.lanes.min(WINDOW)
    }

    /// Words of shared memory that [`look_back`] takes.
    pub(crate) const fn chain(&self) -> u32 {
        if self.float { CHAIN } else { 1 }
    }
}

/// Clears the first `words` words of a buffer.
#[allow(unsafe_code)]
pub(crate) fn zero<R: Runtime>(gpu: &Gpu, client: &ComputeClient<R>, buffer: &Buffer, words: u32) {
    // SAFETY: places are compared with `words`, and callers have made sure of as many.
    unsafe {
        zero_words::launch_unchecked::<R>(
            client,
            cubes(gpu, words.div_ceil(256)),
            CubeDim::new_1d(256),
            ArrayArg::from_raw_parts(buffer.handle(), buffer.words()),
            words,
        );
    }
}

#[cube(launch_unchecked)]
fn zero_words(buffer: &mut Array<u32>, words: u32) {
    let place = CUBE_POS as u32 * 256 + UNIT_POS;
    if place < words {
        buffer[place as usize] = 0u32;
    }
}

/// Takes the next tile: earlier ones were taken by cubes that run or have run.
#[cube]
pub(crate) fn next_tile<S: Int>(state: &mut Array<Atomic<S>>) -> u32 {
    u32::cast_from(state[0usize].fetch_add(S::cast_from(1u32)))
}

/// Publishes a tile's status and value.
#[cube]
fn publish<S: Int>(
    state: &mut Array<Atomic<S>>,
    tile: u32,
    #[comptime] status: u32,
    value: u32,
    #[comptime] look: Look,
) {
    if comptime!(look.wide) {
        let word = u64::new(comptime!(i64::from(status) << 32)) | u64::cast_from(value);
        state[(tile + 1) as usize].store(S::cast_from(word));
    } else {
        let head = comptime!(status << 30);
        state[(2 * tile + 2) as usize].store(S::cast_from((value & 0xffffu32) | head));
        state[(2 * tile + 3) as usize].store(S::cast_from((value >> 16u32) | head));
    }
}

/// A tile's status and value.
#[derive(CubeType, Clone, Copy)]
struct State {
    status: u32,
    value: u32,
}

/// Reads a tile's state.
#[cube]
fn read<S: Int>(state: &Array<Atomic<S>>, tile: u32, #[comptime] look: Look) -> State {
    if comptime!(look.wide) {
        let word = u64::cast_from(state[(tile + 1) as usize].load());
        State {
            status: u32::cast_from(word >> 32u64),
            value: u32::cast_from(word),
        }
    } else {
        let low = u32::cast_from(state[(2 * tile + 2) as usize].load());
        let high = u32::cast_from(state[(2 * tile + 3) as usize].load());
        State {
            // Halves of different statuses are of different sums.
            status: select(low >> 30u32 == high >> 30u32, low >> 30u32, 0u32),
            value: (low & 0xffffu32) | (high << 16u32),
        }
    }
}

/// Reads a tile's state as other memory is, from the nearest cache: it may be what was some time ago, which is true as well. What
/// is not there yet is read again by [`read`].
#[cube]
fn glance<S: Int>(state: &Array<Atomic<S>>, seen: &Array<S>, tile: u32, #[comptime] look: Look) -> State {
    if comptime!(look.glance && look.wide) {
        let word = u64::cast_from(seen[(tile + 1) as usize]);
        State {
            status: u32::cast_from(word >> 32u64),
            value: u32::cast_from(word),
        }
    } else {
        read::<S>(state, tile, look)
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

/// Publishes the sum of a tile, and returns that of all tiles before it, to the first unit of the plane; before the first tile,
/// that is `origin`. One plane of a cube has to do this, all of it; `seen` is the same memory as `state`, and `chain`
/// [`Look::chain`] words of its own.
///
/// Every look takes as long as memory takes to answer, so how many tiles it reaches bounds how many tiles there can be in that
/// time: a unit asks for [`WINDOWS`] at once.
#[cube]
pub(crate) fn look_back<S: Int>(
    state: &mut Array<Atomic<S>>,
    seen: &Array<S>,
    chain: &mut SharedMemory<u32>,
    tile: u32,
    sum: u32,
    origin: u32,
    #[comptime] look: Look,
) -> u32 {
    let window = comptime!(look.window());
    let lane = UNIT_POS_PLANE;
    let mut before = select(tile == 0, origin, 0u32);
    if tile > 0 {
        if lane == 0 {
            publish::<S>(state, tile, SUM, sum, look);
        }
        // Sums of the tiles from `end` on are known.
        let mut end = tile;
        let mut held = u32::new(0);
        let mut going = true;
        while going {
            let mut statuses = Array::<u32>::new(comptime!(WINDOWS as usize));
            let mut values = Array::<u32>::new(comptime!(WINDOWS as usize));
            #[unroll]
            for k in 0..WINDOWS {
                let back = comptime!(k * window) + lane;
                // Before the first tile there is nothing, which is known; units past the window add nothing.
                statuses[comptime!(k as usize)] = select(lane < window, comptime!(UP_TO_END), comptime!(SUM));
                values[comptime!(k as usize)] = u32::new(0);
                if lane < window && back < end {
                    let found = glance::<S>(state, seen, end - 1 - back, look);
                    statuses[comptime!(k as usize)] = found.status;
                    values[comptime!(k as usize)] = found.value;
                }
            }
            #[unroll]
            for k in 0..WINDOWS {
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
                        if comptime!(look.float) {
                            waiting = waiting || (full && known == 0u32);
                            again = again || (full && status == comptime!(SUM));
                        }
                        if waiting && there && again {
                            let found = read::<S>(state, end - 1 - back, look);
                            status = found.status;
                            value = found.value;
                        }
                    }
                    let last = nearer.count_ones();
                    if comptime!(look.float) {
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
            end -= min(end, comptime!(WINDOWS * window));
        }
        if comptime!(look.float) {
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
    }
    if lane == 0 {
        publish::<S>(
            state,
            tile,
            UP_TO_END,
            add(before, sum, comptime!(look.float)),
            look,
        );
    }
    before
}
