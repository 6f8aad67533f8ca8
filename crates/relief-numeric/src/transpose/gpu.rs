//! Transposes on a device: blocks turned in registers, tiles of blocks turned in shared memory, everything in
//! vectors of 16 bytes.
//!
//! A unit (thread) loads a block of V × V samples, V as many as 16 bytes hold, by V loads, and turns it in
//! registers: that makes V vectors of the transpose. A cube (block) keeps a tile of blocks in shared memory,
//! written along the rows of blocks of one side and read along those of the other, so that neighbouring units
//! load and store neighbouring vectors on both. Where the tile is plain, the units of a plane (warp) would
//! write one bank; instead the place of a vector in its row is exchanged by the number of its block: place y
//! of block column x lies at y xor x. That costs no memory, unlike a padded column, and keeps every vector
//! aligned.
//!
//! Blocks of bytes are so large that shared memory can be left out: neighbouring units then store whole
//! sectors, if not lines. For large matrices of bytes that is the faster [`Route`].

use cubecl::prelude::*;

use relief_kernels::device::{Buffer, DeviceError, DeviceReport, Gpu, Operand, on_client};
use relief_kernels::policy::{self, Space, Tuning};

pub mod block;

use block::column;

/// A matrix on a device: samples packed in words, the first of them in the lowest bits.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// Where it lies, from the first word on.
    pub buffer: &'a Buffer,
    /// Words from one row to the next, a multiple of 4.
    pub pitch: u32,
}

/// How blocks get from one side to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// In tiles by way of shared memory, laid out as a [`Tuning`] says.
    Shared,
    /// Straight from registers.
    Registers,
}

impl Route {
    /// Registers for large matrices of bytes, shared memory otherwise. Software Vulkan has no memory nearer
    /// than its caches: there registers win, except for many samples of 32 bits, of which a block is only 4
    /// wide.
    #[must_use]
    pub const fn fitting(report: &DeviceReport, bits: u32, (width, height): (u32, u32)) -> Self {
        let samples = width as u64 * height as u64;
        let registers = match (report.software, bits) {
            (true, 32) => samples < 1 << 20,
            (true, _) => true,
            (false, 8) => samples >= 1 << 26,
            (false, _) => false,
        };
        if registers { Self::Registers } else { Self::Shared }
    }
}

/// The layouts of [`transpose_with`] for samples of so many bits: [`Tuning::items`] is how many blocks a unit turns.
#[must_use]
pub const fn space(bits: u32) -> Space {
    let units: &[u32] = match bits {
        8 => &[32, 64, 128],
        16 => &[32, 64, 128, 256],
        _ => &[64, 128, 256, 512],
    };
    Space {
        units,
        items: &[1, 2, 4],
        vectors: &[4],
    }
}

/// The layout where no other was found: tiles of 16 KiB.
#[must_use]
pub const fn default(bits: u32) -> Tuning {
    Tuning {
        units: match bits {
            8 => 64,
            16 => 128,
            _ => 256,
        },
        items: 1,
        vector: 4,
    }
}

/// What the kernel for samples of so many bits is called in policy files.
#[must_use]
pub const fn name(bits: u32) -> &'static str {
    match bits {
        8 => "transpose 8",
        16 => "transpose 16",
        _ => "transpose 32",
    }
}

/// Writes the transpose of `width` × `height` samples of 8, 16 or 32 bits: `height` samples in each of `width` rows, and 0 from there
/// to the next multiple of 16 bytes. What follows in a row is left as it is.
///
/// # Errors
/// Where the device fails, where a buffer does not hold its matrix, and where the buffers overlap.
pub fn transpose(
    gpu: &Gpu,
    bits: u32,
    (width, height): (u32, u32),
    from: Matrix<'_>,
    to: Matrix<'_>,
) -> Result<(), DeviceError> {
    let tuning = policy::tuning(gpu.report(), name(bits), &space(bits), default(bits));
    let route = Route::fitting(gpu.report(), bits, (width, height));
    transpose_with(gpu, tuning, route, bits, (width, height), from, to)
}

/// [`transpose`] by this route and with another layout.
///
/// # Errors
/// As [`transpose`], and where the layout is not of [`space`] or takes more shared memory than the device has.
pub fn transpose_with(
    gpu: &Gpu,
    tuning: Tuning,
    route: Route,
    bits: u32,
    (width, height): (u32, u32),
    from: Matrix<'_>,
    to: Matrix<'_>,
) -> Result<(), DeviceError> {
    let shape = Shape::of(gpu, tuning, route, bits)?;
    check(gpu, bits, (width, height), from, "the matrix")?;
    check(gpu, bits, (height, width), to, "its transpose")?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let (across, down) = shape.tiles(width, height);
    gpu.at_most("tiles along a side", 65_535_u32, across.max(down).into())?;
    let launch = Launch {
        shape,
        size: (width, height),
        tiles: (across, down),
        from,
        to,
    };
    gpu.launch(
        "transpose",
        &shape,
        &[
            Operand::read("the matrix", from.buffer),
            Operand::write("its transpose", to.buffer),
        ],
        || on_client!(gpu, client => launch.on(client)),
    )
}

/// Makes sure that a buffer holds `height` rows of `width` samples.
fn check(
    gpu: &Gpu,
    bits: u32,
    (width, height): (u32, u32),
    matrix: Matrix<'_>,
    what: &'static str,
) -> Result<(), DeviceError> {
    let row = u64::from(width.div_ceil(128 / bits)) * 4;
    let words = gpu.holds_whole_rows(what, matrix.buffer, (height.into(), row), matrix.pitch.into())?;
    // Places are counted in vectors.
    gpu.at_most("vectors of a matrix", u32::MAX, words / 4)
}

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    route: Route,
    bits: u32,
    units: u32,
    items: u32,
    /// Blocks of a cube, across and down; powers of two.
    blocks: (u32, u32),
}

impl Shape {
    fn of(gpu: &Gpu, tuning: Tuning, route: Route, bits: u32) -> Result<Self, DeviceError> {
        if !matches!(bits, 8 | 16 | 32) {
            return Err(gpu.no_kind(
                "a transpose",
                "samples of 8, 16 or 32 bits",
                format!("{bits} bits"),
            ));
        }
        gpu.check_layout(&space(bits), tuning)?;
        if route == Route::Registers {
            // Eight blocks across, so that a plane of 32 loads whole lines and stores runs of four vectors.
            return Ok(Self {
                route,
                bits,
                units: 256,
                items: 1,
                blocks: (8, 32),
            });
        }
        let blocks = tuning.units * tuning.items;
        let down = 1 << (blocks.ilog2() / 2);
        let shape = Self {
            route,
            bits,
            units: tuning.units,
            items: tuning.items,
            blocks: (blocks / down, down),
        };
        let bytes = blocks * shape.side() * 16;
        let most = gpu.report().shared_memory.min(48 << 10);
        gpu.at_most("bytes of shared memory", most, bytes.into())?;
        Ok(shape)
    }

    /// Samples of the side of a block, which is as many as a vector holds.
    const fn side(&self) -> u32 {
        128 / self.bits
    }

    const fn tiles(&self, width: u32, height: u32) -> (u32, u32) {
        let side = self.side();
        (
            width.div_ceil(side * self.blocks.0),
            height.div_ceil(side * self.blocks.1),
        )
    }
}

struct Launch<'a> {
    shape: Shape,
    size: (u32, u32),
    tiles: (u32, u32),
    from: Matrix<'a>,
    to: Matrix<'a>,
}

impl Launch<'_> {
    #[allow(unsafe_code)]
    fn on<R: Runtime>(&self, client: &ComputeClient<R>) {
        let kernel = match self.shape.route {
            Route::Shared => transpose_tiles::launch_unchecked::<R>,
            Route::Registers => transpose_blocks::launch_unchecked::<R>,
        };
        // SAFETY: both buffers hold as many rows as are checked for below, each of whole vectors; places of shared memory are
        // below the tile's blocks × side, because an exclusive or with a smaller number stays below a power of two.
        unsafe {
            kernel(
                client,
                CubeCount::Static(self.tiles.0, self.tiles.1, 1),
                CubeDim::new_1d(self.shape.units),
                4,
                self.from.buffer.array(4),
                self.to.buffer.array(4),
                self.size.0,
                self.size.1,
                self.from.pitch / 4,
                self.to.pitch / 4,
                self.shape,
            );
        }
    }
}

#[cube(launch_unchecked)]
fn transpose_tiles<N: Size>(
    from: &Array<Vector<u32, N>>,
    to: &mut Array<Vector<u32, N>>,
    width: u32,
    height: u32,
    from_pitch: u32,
    to_pitch: u32,
    #[comptime] shape: Shape,
) {
    let side = comptime!(shape.side());
    let (across, down) = comptime!(shape.blocks);
    let mut tile = SharedMemory::<Vector<u32, N>>::new(comptime!((across * down * side) as usize));
    let (left, top) = (CUBE_POS_X * across, CUBE_POS_Y * down);

    // Items one after the other: unrolled, they would all hold their blocks in registers at once.
    // rung: transpose on gpu: vectors
    for item in 0..comptime!(shape.items) {
        let place = UNIT_POS + item * comptime!(shape.units);
        let (x, y) = (place % across, place / across);
        let block = load_block::<N>(from, left + x, top + y, width, height, from_pitch, side);
        let exchanged = y ^ (x % down);
        #[unroll]
        for row in 0..side {
            let turned = column::<N>(&block, row, comptime!(shape.bits));
            tile[((x * side + row) * down + exchanged) as usize] = turned;
        }
    }
    // end
    sync_cube();

    for item in 0..comptime!(shape.items) {
        let place = UNIT_POS + item * comptime!(shape.units);
        let (y, x) = (place % down, place / down);
        let exchanged = y ^ (x % down);
        let at = (left + x) * side * to_pitch + top + y;
        let rows = rows_within((top + y) * side, (left + x) * side, height, width);
        #[unroll]
        for row in 0..side {
            if row < rows {
                to[(at + row * to_pitch) as usize] = tile[((x * side + row) * down + exchanged) as usize];
            }
        }
    }
}

#[cube(launch_unchecked)]
fn transpose_blocks<N: Size>(
    from: &Array<Vector<u32, N>>,
    to: &mut Array<Vector<u32, N>>,
    width: u32,
    height: u32,
    from_pitch: u32,
    to_pitch: u32,
    #[comptime] shape: Shape,
) {
    let side = comptime!(shape.side());
    let (across, down) = comptime!(shape.blocks);
    let x = CUBE_POS_X * across + UNIT_POS % across;
    let y = CUBE_POS_Y * down + UNIT_POS / across;
    // rung: transpose on gpu: blocks
    let block = load_block::<N>(from, x, y, width, height, from_pitch, side);
    let at = x * side * to_pitch + y;
    let rows = rows_within(y * side, x * side, height, width);
    #[unroll]
    for row in 0..side {
        if row < rows {
            let turned = column::<N>(&block, row, comptime!(shape.bits));
            to[(at + row * to_pitch) as usize] = turned;
        }
    }
    // end
}

/// Block (x, y) of a matrix; 0 outside of it.
#[cube]
fn load_block<N: Size>(
    from: &Array<Vector<u32, N>>,
    x: u32,
    y: u32,
    width: u32,
    height: u32,
    pitch: u32,
    #[comptime] side: u32,
) -> Array<Vector<u32, N>> {
    let mut block = Array::<Vector<u32, N>>::new(comptime!(side as usize));
    let at = y * side * pitch + x;
    let rows = rows_within(x * side, y * side, width, height);
    #[unroll]
    for row in 0..side {
        block[row as usize] = Vector::new(0u32);
        if row < rows {
            block[row as usize] = from[(at + row * pitch) as usize];
        }
    }
    block
}

/// How many rows from `y` on a matrix has in the vector of column `x`: none right of it.
#[cube]
fn rows_within(x: u32, y: u32, width: u32, height: u32) -> u32 {
    select(x < width, max(height, y) - y, 0u32)
}
