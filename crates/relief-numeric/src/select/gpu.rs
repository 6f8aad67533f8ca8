//! Selection on a device.
//!
//! A cube (block) takes a tile: it loads all of it at once, counts what it keeps, stages that without gaps in
//! shared memory, and writes it as whole lines once it knows where. Counts of several vectors are added up
//! across a plane (warp) at once, side by side in a word. One of two routes ([`Route`]) says where to write:
//!
//! - look-back: a tile tells its own count and learns what those before it keep. One pass.
//! - phases: one launch counts, one adds up, one moves. That reads the input twice, and waits for nobody.
//!
//! On software Vulkan planes are loops, and units (threads) that wait for each other cost more than all else.
//! There a third route replaces tiles: each unit keeps a long sequence of its own.
//!
use cubecl::prelude::*;

use crate::element::{Element, Keys};
use crate::look_back::{Look, Tells, lanes, looks_back, unless_it_looks_back};
use relief_kernels::device::{
    Backend, Buffer, DeviceError, DeviceReport, Gpu, Operand, cubes, on_client, start,
};
use relief_kernels::policy::{self, Space, Tuning};

mod kernel;
mod sequences;

/// What is selected from.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    /// Where they lie, packed from the first word on.
    pub buffer: &'a Buffer,
    /// What they are.
    pub kind: Element,
    /// How many there are.
    pub len: u64,
}

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// Elements that are not 0; of floating-point numbers, −0 is 0, and what is not a number is kept.
    NonZero,
    /// Elements whose flag, a byte each, is not 0.
    Flagged(&'a Buffer),
    /// Elements whose keys are some.
    Within(Keys),
    /// The first element of each row of so many, and those other than that before; of bytes.
    Heads(u32),
}

/// What is written, without gaps and in the order of the input.
#[derive(Clone, Copy, Debug)]
pub enum Output<'a> {
    /// The elements that are kept.
    Values(&'a Buffer),
    /// Where they lay, as numbers of 32 bits.
    Indices(&'a Buffer),
    /// The elements that are kept, and those that are left.
    Halves(&'a Buffer, &'a Buffer),
    /// Where those that are kept lay, as numbers of 32 bits, and what they are; of bytes.
    Places(&'a Buffer, &'a Buffer),
}

/// One selection.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// What is selected from.
    pub from: Elements<'a>,
    /// What is kept.
    pub wanted: Wanted<'a>,
    /// What is written; what a buffer holds beyond that is left as it is.
    pub output: Output<'a>,
    /// Where the number of elements that are kept is written: two words, the lower first.
    pub count: &'a Buffer,
    /// At least [`scratch_words`] words.
    pub scratch: &'a Buffer,
}

/// How a tile learns where to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// From its predecessors, in one pass over memory.
    LookBack,
    /// From launches before.
    Phases,
    /// From launches before as well, which count a sequence of many elements for each unit: a unit moves what it keeps of its own.
    Sequences,
}

impl Route {
    /// The route that a device takes: look-back where it [promises](crate::progress) that cubes which have begun go on; else phases,
    /// of sequences on software Vulkan.
    #[must_use]
    pub const fn fitting(report: &DeviceReport) -> Self {
        match report.software {
            _ if looks_back(report) => Self::LookBack,
            true => Self::Sequences,
            false => Self::Phases,
        }
    }

    /// Whether the device takes it.
    fn check(self, gpu: &Gpu) -> Result<(), DeviceError> {
        match self {
            Self::LookBack => unless_it_looks_back(gpu),
            Self::Phases | Self::Sequences => Ok(()),
        }
    }
}

/// The layouts of [`select_with`] for elements of so many bits: items are vectors of a unit. Where a tile would not fit into shared
/// memory or registers, it has fewer items, then fewer units.
#[must_use]
pub const fn space(bits: u32) -> Space {
    match bits {
        8 | 16 => Space {
            units: &[256, 512],
            items: &[8, 32],
            vectors: &[1, 4],
        },
        _ => Space {
            units: &[256, 512],
            items: &[4, 8, 16],
            vectors: &[4],
        },
    }
}

/// The fewest words of a tile among all layouts.
const LEAST: u64 = 512;

/// The layout where no other was found.
#[must_use]
pub const fn default(bits: u32) -> Tuning {
    match bits {
        8 | 16 => Tuning {
            units: 256,
            items: 32,
            vector: 1,
        },
        _ => Tuning {
            units: 256,
            items: 8,
            vector: 4,
        },
    }
}

/// What the kernel for elements of so many bits is called in policy files.
#[must_use]
pub const fn name(bits: u32) -> &'static str {
    match bits {
        8 => "select 8",
        16 => "select 16",
        _ => "select 32",
    }
}

/// Elements of one launch, whose counts fit a state; longer inputs take several.
const PART: u32 = 1 << 29;

/// Words of [`Selection::scratch`] for so many elements.
#[must_use]
pub const fn scratch_words(bits: u32, len: u64) -> u64 {
    let part = if len < PART as u64 { len } else { PART as u64 };
    base_words(len) + 1 + (part * bits as u64).div_ceil(32 * LEAST)
}

/// Words for how many elements are kept before each part, a number of two words each.
const fn base_words(len: u64) -> u64 {
    (2 * (parts(len) + 1)).next_multiple_of(64)
}

const fn parts(len: u64) -> u64 {
    if len == 0 { 1 } else { len.div_ceil(PART as u64) }
}

/// Selects.
///
/// # Errors
/// Where the device fails; where the buffers do not hold the elements, the result where all of them are kept, or the scratch;
/// where any of these are of nearly 2^32 words or more.
pub fn select(gpu: &Gpu, selection: &Selection<'_>) -> Result<(), DeviceError> {
    let bits = selection.from.kind.bits();
    let tuning = policy::tuning(gpu.report(), name(bits), &space(bits), default(bits));
    select_with(gpu, tuning, Route::fitting(gpu.report()), selection)
}

/// [`select()`] by this route and with another layout.
///
/// # Errors
/// As [`select()`], where the layout is not of [`space`], and where a device is to look back that does not promise forward progress.
pub fn select_with(
    gpu: &Gpu,
    tuning: Tuning,
    route: Route,
    selection: &Selection<'_>,
) -> Result<(), DeviceError> {
    check(gpu, selection)?;
    route.check(gpu)?;
    let shape = Shape::of(gpu, tuning, route, selection)?;
    for part in 0..parts(selection.from.len) {
        let launch = Launch::of(gpu, shape, selection, part)?;
        gpu.launch(
            "select",
            &shape,
            &launch.memory(),
            || on_client!(gpu, client => launch.on(gpu, client)),
        )?;
    }
    Ok(())
}

fn check(gpu: &Gpu, selection: &Selection<'_>) -> Result<(), DeviceError> {
    let Elements { buffer, kind, len } = selection.from;
    let bits = kind.bits();
    let words = |bits: u32| len.saturating_mul(u64::from(bits)).div_ceil(128) * 4;
    let holds = |buffer: &Buffer, bits, what: &'static str| {
        gpu.count_words(words(bits), &[(what, buffer)]).map(|_| ())
    };
    holds(buffer, bits, "elements")?;
    if let Wanted::Flagged(flags) = selection.wanted {
        holds(flags, 8, "flags")?;
    }
    let of_bytes =
        matches!(selection.wanted, Wanted::Heads(_)) || matches!(selection.output, Output::Places(..));
    if of_bytes && kind != Element::U8 {
        return Err(gpu.no_kind("heads and places", "bytes", kind.name()));
    }
    if of_bytes {
        gpu.at_most("bytes of heads and places", u32::MAX, len)?;
    }
    if let Wanted::Heads(0) = selection.wanted {
        return Err(gpu.no_kind("heads", "rows of a byte or more", "rows of no bytes"));
    }
    match selection.output {
        Output::Values(out) => holds(out, bits, "results")?,
        Output::Indices(out) => holds(out, 32, "indices")?,
        Output::Places(out, values) => {
            holds(out, 32, "places")?;
            holds(values, bits, "results")?;
        }
        Output::Halves(kept, left) => {
            holds(kept, bits, "results")?;
            holds(left, bits, "results")?;
        }
    }
    gpu.holds("the count", selection.count, 2)?;
    gpu.holds("scratch memory", selection.scratch, scratch_words(bits, len))
}

/// [`Wanted`], as kernels know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Keep {
    NonZero,
    NonZeroFloat,
    Flags,
    Heads,
    /// Elements less a number are at most another; their signs have been seen to.
    Within,
    WithinFloat,
}

impl Keep {
    /// Whether kernels make flags of it before they count.
    const fn has_marks(self) -> bool {
        !matches!(self, Self::NonZero | Self::NonZeroFloat)
    }

    const fn of(wanted: Wanted<'_>, kind: Element) -> Self {
        match (wanted, kind) {
            (Wanted::NonZero, Element::F32) => Self::NonZeroFloat,
            (Wanted::NonZero, _) => Self::NonZero,
            (Wanted::Flagged(_), _) => Self::Flags,
            (Wanted::Heads(_), _) => Self::Heads,
            (Wanted::Within(_), Element::F32) => Self::WithinFloat,
            (Wanted::Within(_), _) => Self::Within,
        }
    }
}

impl Wanted<'_> {
    /// What kernels take for it: the elements of a row, or the first element and how many follow.
    const fn numbers(self, kind: Element) -> (u32, u32) {
        match (self, kind) {
            (Wanted::Heads(width), _) => (width, 0),
            // Keys of integers with a sign are half of all numbers above them.
            (Wanted::Within(keys), Element::I32) => (keys.first.wrapping_add(1 << 31), keys.span),
            (Wanted::Within(keys), _) => (keys.first, keys.span),
            (Wanted::NonZero | Wanted::Flagged(_), _) => (1, 0),
        }
    }
}

/// [`Output`], as kernels know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Values,
    Indices,
    Halves,
    Runs,
}

/// What is compiled into the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    bits: u32,
    units: u32,
    /// Units of a plane; 1 where a device has planes of several sizes, and planes are not used.
    lanes: u32,
    /// Vectors of a unit, a plane's width from one to the next.
    items: u32,
    /// Words of a vector.
    width: u32,
    keep: Keep,
    what: What,
    /// Where a kernel finds what the tiles before keep.
    route: Route,
    /// Whether elements are staged in memory of their own size, not in words: CUDA has bytes, WGSL has not.
    narrow: bool,
}

impl Shape {
    fn of(gpu: &Gpu, tuning: Tuning, route: Route, selection: &Selection<'_>) -> Result<Self, DeviceError> {
        gpu.check_layout(&space(selection.from.kind.bits()), tuning)?;
        let mut shape = Self {
            bits: selection.from.kind.bits(),
            units: tuning.units,
            lanes: lanes(gpu.report()),
            items: tuning.items,
            width: tuning.vector,
            keep: Keep::of(selection.wanted, selection.from.kind),
            what: match selection.output {
                Output::Values(_) => What::Values,
                Output::Indices(_) => What::Indices,
                Output::Halves(..) => What::Halves,
                Output::Places(..) => What::Runs,
            },
            route,
            narrow: gpu.report().backend() == Some(Backend::Cuda),
        };
        if shape.route == Route::Sequences {
            // A vector at a time; nothing is staged.
            return Ok(Self {
                units: 1,
                lanes: 1,
                items: 1,
                width: 4,
                narrow: false,
                ..shape
            });
        }
        // More than a kernel has by default: two such cubes fit a multiprocessor.
        let shared = gpu.most_shared_memory().min(100 << 10);
        // What a unit holds are registers.
        while shape.shared_bytes() > shared || shape.items * shape.width > 64 {
            match shape.items {
                1 => shape.units /= 2,
                _ => shape.items /= 2,
            }
            if shape.units < shape.lanes || shape.tile() * shape.bits < 32 * LEAST as u32 {
                return Err(gpu.unsupported("tiles of so little shared memory"));
            }
        }
        Ok(shape)
    }

    /// Elements of a word of the input.
    const fn per(&self) -> u32 {
        32 / self.bits
    }

    /// Elements of a vector of the input.
    const fn elements(&self) -> u32 {
        self.width * self.per()
    }

    /// Elements of a tile.
    const fn tile(&self) -> u32 {
        self.units * self.items * self.elements()
    }

    /// Words of flags for a vector.
    const fn marks(&self) -> u32 {
        self.elements().div_ceil(4)
    }

    /// Bits in which what a plane keeps of a vector for each unit can be counted.
    const fn field(&self) -> u32 {
        if self.lanes * self.elements() < 256 { 8 } else { 16 }
    }

    /// Groups of items that are counted together.
    const fn groups(&self) -> u32 {
        self.items.div_ceil(32 / self.field())
    }

    /// How tiles look back.
    const fn look(&self) -> Look {
        Look {
            lanes: self.lanes,
            tells: Tells::Counts,
        }
    }

    /// Bits of an element of the result.
    const fn bits_out(&self) -> u32 {
        match self.what {
            What::Indices | What::Runs => 32,
            What::Values | What::Halves => self.bits,
        }
    }

    /// Elements of a word of the result.
    const fn per_out(&self) -> u32 {
        32 / self.bits_out()
    }

    const fn shared_bytes(&self) -> u32 {
        let staged = if self.narrow { self.bits_out() / 8 } else { 4 };
        self.tile() * staged + (self.units / self.lanes + 2) * 4
    }
}

/// The launches for one part of a selection.
struct Launch {
    shape: Shape,
    part: u32,
    /// Elements of this part.
    len: u32,
    /// Tiles or sequences.
    tiles: u32,
    /// Vectors of a sequence.
    each: u32,
    grid: CubeCount,
    from: Buffer,
    flags: Buffer,
    out: Buffer,
    rest: Buffer,
    /// The place of the part's first element.
    begin: u64,
    /// What the rule takes.
    numbers: (u32, u32),
    count: Buffer,
    bases: Buffer,
    state: Buffer,
    nothing: Buffer,
}

/// Units of a cube of the kernels that reset and add up.
const UNITS: u32 = 256;

/// The most sequences: many for each processor, and so many that one has fewer vectors of a part than the 65 535 rounds after which
/// software ends a loop.
const SEQUENCES: u32 = 4_096;

/// Units of a cube with a sequence each.
const SEQUENCES_OF_CUBE: u32 = 32;

impl Launch {
    fn of(gpu: &Gpu, shape: Shape, selection: &Selection<'_>, part: u64) -> Result<Self, DeviceError> {
        let nothing = gpu.nothing()?;
        let first = part * u64::from(PART);
        let len = (selection.from.len - first).min(u64::from(PART)) as u32;
        let after = |buffer: &Buffer, bits: u64| gpu.rest("the elements", buffer, first * bits / 32);
        let flags = match selection.wanted {
            Wanted::Flagged(flags) => after(flags, 8)?,
            // Of all parts: the first of one is compared with the last of that before.
            Wanted::Heads(_) => selection.from.buffer.clone(),
            Wanted::NonZero | Wanted::Within(_) => nothing.clone(),
        };
        let (out, rest) = match selection.output {
            Output::Values(out) | Output::Indices(out) => (out.clone(), nothing.clone()),
            Output::Halves(kept, left) => (kept.clone(), left.clone()),
            Output::Places(places, values) => (places.clone(), values.clone()),
        };
        let (bases, scratch) = (base_words(selection.from.len), selection.scratch);
        let vectors = len.div_ceil(shape.elements()).max(1);
        // As long as the shortest tile, so that there are words for their counts.
        let each = vectors.div_ceil(SEQUENCES).max(LEAST as u32 / shape.width);
        let tiles = match shape.route {
            Route::Sequences => vectors.div_ceil(each),
            Route::LookBack | Route::Phases => len.div_ceil(shape.tile()).max(1),
        };
        let grid = cubes(
            gpu,
            match shape.route {
                Route::Sequences => tiles.div_ceil(SEQUENCES_OF_CUBE),
                Route::LookBack | Route::Phases => tiles,
            },
        );
        let state = gpu.rest("scratch memory", scratch, bases)?;
        gpu.holds("scratch memory for states of tiles", &state, tiles.into())?;
        Ok(Self {
            shape,
            part: part as u32,
            len,
            tiles,
            each,
            grid,
            from: after(selection.from.buffer, u64::from(shape.bits))?,
            flags,
            out,
            rest,
            begin: first,
            numbers: selection.wanted.numbers(selection.from.kind),
            count: selection.count.clone(),
            bases: gpu.part("scratch memory", scratch, 0, bases)?,
            state,
            nothing,
        })
    }

    /// What its kernels read and write; of buffers that they have no use for, nothing.
    fn memory(&self) -> Vec<Operand<'_>> {
        let all = [
            Operand::write("the count", &self.count),
            Operand::read("the elements", &self.from),
            Operand::read("the flags", &self.flags),
            // Nothing may be kept.
            Operand::update("what is kept", &self.out),
            Operand::update("what is left, or the values", &self.rest),
            Operand::update("scratch memory", &self.bases),
            Operand::update("scratch memory", &self.state),
        ];
        let used = |operand: &Operand<'_>| !operand.is_of(&self.nothing);
        all.into_iter().filter(used).collect()
    }

    fn on<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>) {
        match self.shape.route {
            Route::LookBack => self.reset(gpu, client, self.tiles),
            Route::Phases | Route::Sequences if self.part == 0 => self.reset(gpu, client, 0),
            Route::Phases | Route::Sequences => {}
        }
        match self.shape.route {
            Route::LookBack => self.compact(client),
            Route::Phases => {
                self.count_tiles(client);
                self.add_up(client);
                self.compact(client);
            }
            Route::Sequences => {
                self.count_sequences(client);
                self.add_up(client);
                self.move_sequences(client);
            }
        }
    }

    fn count_tiles<R: Runtime>(&self, client: &ComputeClient<R>) {
        let width = self.shape.width as usize;
        // SAFETY: as in `compact_staged`; tiles are compared with their number, of which `state` was checked to hold as many words.
        start!(client, (self.grid.clone(), CubeDim::new_1d(self.shape.units)), unsafe kernel::count_tiles(
            width, self.from.array(width), self.flags.array(1), self.state.array(1), self.len, self.tiles,
            self.begin as u32, self.numbers.0, self.numbers.1, self.shape));
    }

    /// Makes each count the sum of those before.
    fn add_up<R: Runtime>(&self, client: &ComputeClient<R>) {
        // SAFETY: counts are compared with their number, of which `state` was checked to hold as many.
        start!(client, (CubeCount::Static(1, 1, 1), CubeDim::new_1d(UNITS)), unsafe kernel::add_up(
            self.state.array(1), self.tiles, UNITS));
    }

    fn count_sequences<R: Runtime>(&self, client: &ComputeClient<R>) {
        let width = self.shape.width as usize;
        // SAFETY: as in `move_sequences`; counts are as many as sequences, which `state` was checked to hold.
        start!(
            client, (self.grid.clone(), CubeDim::new_1d(SEQUENCES_OF_CUBE)),
            unsafe sequences::count_sequences(
                width, self.from.array(width), self.flags.array(1), self.state.array(1), self.len,
                self.tiles, self.each, self.begin as u32, self.numbers.0, self.numbers.1, self.shape));
    }

    fn move_sequences<R: Runtime>(&self, client: &ComputeClient<R>) {
        let width = self.shape.width as usize;
        // SAFETY: as in `compact_staged`; a unit writes what it keeps after what those before it keep, and what it leaves after what
        // they leave, and both together are no more than its sequence has.
        start!(
            client, (self.grid.clone(), CubeDim::new_1d(SEQUENCES_OF_CUBE)),
            unsafe sequences::move_sequences(
                width, self.from.array(width), self.flags.array(1), self.out.array(1), self.out.array(1),
                self.rest.array(1), self.rest.array(1), self.state.array(1), self.bases.array(1),
                self.count.array(1), self.len, self.tiles, self.each, self.part,
                self.begin as u32, (self.begin >> 32) as u32, self.numbers.0, self.numbers.1, self.shape));
    }

    /// Makes so many states those of tiles of which nothing is known, and, of the first part, the first base 0: later parts begin where
    /// the one before has ended, which its last tile has noted.
    fn reset<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>, states: u32) {
        // SAFETY: `state` was checked to hold a word for each tile; bases are at least two words.
        start!(
            client, (cubes(gpu, states.div_ceil(UNITS).max(1)), CubeDim::new_1d(UNITS)),
            unsafe kernel::reset(
                self.state.array(1), self.bases.array(1), states, if self.part == 0 { 2 } else { 0 }));
    }

    fn compact<R: Runtime>(&self, client: &ComputeClient<R>) {
        match (self.shape.narrow, self.shape.bits_out()) {
            (true, 8) => self.compact_staged::<u8, R>(client),
            (true, 16) => self.compact_staged::<u16, R>(client),
            _ => self.compact_staged::<u32, R>(client),
        }
    }

    fn compact_staged<S: Int, R: Runtime>(&self, client: &ComputeClient<R>) {
        let width = self.shape.width as usize;
        let (state, prefixes) = match self.shape.route {
            Route::LookBack => (&self.state, &self.nothing),
            Route::Phases | Route::Sequences => (&self.nothing, &self.state),
        };
        // SAFETY: `check` has made sure that all buffers hold `len` elements, rounded up to whole vectors of four words, and
        // the scratch its states. Vectors are loaded only where their first element is below `len`. A tile stages at most its
        // own elements. It writes `kept` or `valid - kept` elements after those of the tiles before, so none past `len`.
        start!(
            client, (self.grid.clone(), CubeDim::new_1d(self.shape.units)),
            unsafe kernel::compact<S, _>(
                width, self.from.array(width), self.flags.array(1), self.out.array(1), self.out.array(1),
                self.rest.array(1), self.rest.array(1), state.array(1), state.array(1), prefixes.array(1),
                self.bases.array(1), self.count.array(1), self.len, self.tiles, self.part,
                self.begin as u32, (self.begin >> 32) as u32, self.numbers.0, self.numbers.1, self.shape));
    }
}
