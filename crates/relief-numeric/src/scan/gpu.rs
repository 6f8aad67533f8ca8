//! Scans on a device, in one pass where cubes (blocks) can wait for each other, else in two.
//!
//! **One pass** ([`Route::LookBack`]): a cube takes the tile of its own number, scans it, tells its sum, and learns by look-back
//! what all before it come to. Numbers are read once.
//!
//! **Two passes** ([`Route::ReduceThenScan`]): cubes add up their shares; then each adds up the sums of the
//! shares before its own, and scans its share from there. Numbers are read twice, nobody waits.
//!
//! Within a tile a plane (warp) owns a run of vectors, an item after the other: units (threads) add up their
//! vectors, planes scan these sums, and the sums of planes are exchanged through shared memory.

use cubecl::prelude::*;

use super::Kind;
use crate::element::Element;
use crate::look_back::{lanes, looks_back, unless_it_looks_back, zero};
use crate::transpose::gpu::Matrix;
use relief_kernels::device::{
    Buffer, DeviceError, DeviceReport, Gpu, Operand, cubes, launch, on_client, start,
};
use relief_kernels::policy::{self, Space, Tuning};

pub(crate) mod tiles;

use tiles::{Plan, scan_rows, scan_shares, scan_tiles, sum_shares};

/// The layouts of [`scan_with`]: vectors have 4 sums, and are loaded before the first is used.
pub const SPACE: Space = Space {
    units: &[128, 256, 512, 1024],
    items: &[1, 2, 4, 6, 8, 12, 16],
    vectors: &[4],
};

/// The layout where no other was found.
#[must_use]
pub const fn default(element: Element) -> Tuning {
    Tuning {
        units: 256,
        items: match element {
            Element::U8 => 16,
            Element::U16 => 12,
            _ => 8,
        },
        vector: 4,
    }
}

/// What the kernel is called in policy files.
#[must_use]
pub const fn name(element: Element) -> &'static str {
    match element.bits() {
        8 => "scan 8",
        16 => "scan 16",
        _ => "scan 32",
    }
}

/// How the sums of tiles reach those after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// One pass with decoupled look-back.
    LookBack,
    /// A pass for sums and one for scans.
    ReduceThenScan,
}

impl Route {
    /// The one pass where the device promises [`forward_progress`](crate::progress::forward_progress) and all its planes have one
    /// size; else the two passes.
    #[must_use]
    pub const fn fitting(report: &DeviceReport) -> Self {
        if looks_back(report) {
            Self::LookBack
        } else {
            Self::ReduceThenScan
        }
    }
}

/// The most shares of the two passes.
const SHARES: u32 = 2_048;

/// Words of scratch memory that a scan of `len` numbers takes, whatever its layout and route.
#[must_use]
pub const fn scratch_words(len: u64) -> usize {
    // Two for each tile of the shortest; whole vectors.
    let tiles = len.div_ceil(128 * 4);
    let tiles = if tiles < SHARES as u64 {
        SHARES as u64
    } else {
        tiles
    };
    (tiles * 2).next_multiple_of(4) as usize
}

/// Scans the first `len` numbers of a buffer; sums are words of `to`, where up to three words more may be written.
///
/// # Errors
/// Where the device fails, where `to` is `from` or a buffer is too short (`to` holds whole vectors of 4, `scratch`
/// [`scratch_words`]), and for nearly 2³² numbers or more.
pub fn scan(
    gpu: &Gpu,
    kind: Kind,
    element: Element,
    len: u64,
    from: &Buffer,
    to: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let route = Route::fitting(gpu.report());
    let tuning = policy::tuning(gpu.report(), name(element), &SPACE, default(element));
    scan_with(gpu, tuning, route, kind, element, len, from, to, scratch)
}

/// [`scan`] by this route and with another layout.
///
/// # Errors
/// As [`scan`], and where the layout is not of [`SPACE`].
#[allow(clippy::too_many_arguments)]
pub fn scan_with(
    gpu: &Gpu,
    tuning: Tuning,
    route: Route,
    kind: Kind,
    element: Element,
    len: u64,
    from: &Buffer,
    to: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let numbers = Numbers {
        kind,
        element,
        len,
        from,
        to,
    };
    numbers.scan(gpu, tuning, route, scratch)
}

/// What is scanned, and where the sums go.
struct Numbers<'a> {
    kind: Kind,
    element: Element,
    len: u64,
    from: &'a Buffer,
    to: &'a Buffer,
}

impl Numbers<'_> {
    fn scan(&self, gpu: &Gpu, tuning: Tuning, route: Route, scratch: &Buffer) -> Result<(), DeviceError> {
        let Self {
            kind,
            element,
            len,
            from,
            to,
        } = *self;
        gpu.check_layout(&SPACE, tuning)?;
        gpu.holds("the numbers", from, element.words(len))?;
        gpu.holds("the sums", to, Element::U32.words(len))?;
        gpu.holds("scratch memory", scratch, scratch_words(len) as u64)?;
        // Vectors are counted in 32 bits, past the last one too.
        gpu.at_most("numbers at once", 0xF000_0000_u32, len)?;
        let plan = Plan::new(tuning, element, kind, lanes(gpu.report()));
        let vectors = len.div_ceil(4) as u32;
        let launch = Launch {
            plan,
            vectors,
            tiles: vectors.div_ceil(plan.vectors()),
            from,
            to,
            scratch,
        };
        // All launches together: numbers and sums before them are read until the last.
        gpu.check_memory(&launch.memory())?;
        match (vectors, route) {
            (0, _) => Ok(()),
            (_, Route::LookBack) => launch.look_back(gpu),
            (_, Route::ReduceThenScan) => launch.two_passes(gpu),
        }
    }
}

/// Scans each row of a matrix, the rows of both packed and from multiples of 4 words on. Words of the result up to a multiple of 4
/// may be written too.
///
/// A cube scans a row, so this is for matrices of many rows.
///
/// # Errors
/// Where the device fails, and where a buffer does not hold its rows or is the other one.
pub fn scan_each_row(
    gpu: &Gpu,
    kind: Kind,
    element: Element,
    (width, height): (u32, u32),
    from: Matrix<'_>,
    to: Matrix<'_>,
) -> Result<(), DeviceError> {
    for (what, matrix, element) in [("the numbers", from, element), ("the sums", to, Element::U32)] {
        let rows = (height.into(), element.words(u64::from(width)));
        gpu.holds_whole_rows(what, matrix.buffer, rows, matrix.pitch.into())?;
    }
    if width == 0 || height == 0 {
        return Ok(());
    }
    // A short row leaves units of a large cube idle.
    let tuning = Tuning {
        units: if width <= 2_048 { 128 } else { 256 },
        items: match width {
            0..=1_024 => 2,
            1_025..=4_096 => 4,
            _ => 8,
        },
        vector: 4,
    };
    let plan = Plan::new(tuning, element, kind, lanes(gpu.report()));
    let words = plan.words_in();
    // SAFETY: vectors are compared with those of a row, and rows with their number; both buffers hold as many.
    launch!(
        gpu, "scan rows", &plan,
        &[Operand::read("the numbers", from.buffer), Operand::write("the sums", to.buffer)],
        (cubes(gpu, height), CubeDim::new_1d(plan.units)),
        unsafe scan_rows(
            words, 4, from.buffer.array(words), to.buffer.array(4), width.div_ceil(4), height,
            from.pitch / words as u32, to.pitch / 4, plan))
}

struct Launch<'a> {
    plan: Plan,
    /// Vectors of four sums, and tiles of them.
    vectors: u32,
    tiles: u32,
    from: &'a Buffer,
    to: &'a Buffer,
    scratch: &'a Buffer,
}

impl Launch<'_> {
    fn memory(&self) -> [Operand<'_>; 3] {
        [
            Operand::read("the numbers", self.from),
            Operand::write("the sums", self.to),
            Operand::update("scratch memory", self.scratch),
        ]
    }

    fn look_back(&self, gpu: &Gpu) -> Result<(), DeviceError> {
        unless_it_looks_back(gpu)?;
        // The state is cleared for every launch, also for those that prove the kernel.
        let plan = self.plan;
        // SAFETY: vectors are compared with their number, of which both buffers hold as many; states are those of existing tiles,
        // for each of which scratch memory holds two words.
        gpu.launch("scan", &plan, &self.memory(), || {
            on_client!(gpu, client => {
                zero(gpu, client, self.scratch, 2 * self.tiles);
                start!(client, (cubes(gpu, self.tiles), CubeDim::new_1d(plan.units)), unsafe scan_tiles(
                    plan.words_in(), 4, self.from.array(plan.words_in()), self.to.array(4), self.scratch.array(2),
                    self.scratch.array(2), self.vectors, self.tiles, plan));
            });
        })
    }

    fn two_passes(&self, gpu: &Gpu) -> Result<(), DeviceError> {
        let most = if gpu.report().software { 16 } else { SHARES };
        // Tiles of a share, and shares.
        let each = self.tiles.div_ceil(most);
        let shares = self.tiles.div_ceil(each);
        let plan = self.plan;
        // SAFETY: vectors are compared with their number; a sum is written for each share, of which scratch memory holds as many.
        launch!(
            gpu, "scan sums", &self.plan,
            &[Operand::read("the numbers", self.from), Operand::write("scratch memory", self.scratch)],
            (cubes(gpu, shares), CubeDim::new_1d(plan.units)),
            unsafe sum_shares(
                plan.words_in(), self.from.array(plan.words_in()), self.scratch.array(1), self.vectors,
                each, shares, plan))?;
        let plan = self.plan;
        // SAFETY: as of `sums_on`; vectors of the result are compared with their number too.
        launch!(
            gpu, "scan shares", &self.plan, &self.memory(), (cubes(gpu, shares), CubeDim::new_1d(plan.units)),
            unsafe scan_shares(
                plan.words_in(), 4, self.from.array(plan.words_in()), self.to.array(4), self.scratch.array(1),
                self.vectors, each, shares, plan))
    }
}
