//! The product itself, on operands that are padded to whole tiles.

use cubecl::prelude::*;

mod straight;

use straight::go_straight;

/// How a step of a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// An addition and a minimum of floats, whatever their signs.
    Signed,
    /// The same until all that units of a plane have is negative, as it stays: negative floats are in the reverse order of their bits, so from then on two
    /// additions of floats and one maximum of three integers.
    Settling,
    /// Two additions of floats and one minimum of three integers: floats that are not negative are in the order of their bits.
    NonNegative,
    /// That where no number of either operand is negative, else the first; the operands' padding has found out.
    Found,
    /// An addition and a minimum of integers.
    Integer,
}

impl Step {
    /// How it adds, for messages.
    pub(super) const fn way(self) -> &'static str {
        match self {
            Self::Signed => "as floats of any sign",
            Self::Settling => "as floats until all are negative",
            Self::NonNegative => "as floats that are not negative",
            Self::Found => "as floats whose signs are looked at",
            Self::Integer => "as integers",
        }
    }
}

/// How the next slices come to shared memory while those that are there are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arrival {
    /// A unit's vectors wait in registers for the end of the slices in use.
    Held,
    /// From memory to shared memory, without registers (`cp.async`), where the device can.
    Straight,
    /// The same; and rows come from shared memory to registers while those before are used, across all ends of loops.
    Ahead,
}

impl Arrival {
    /// Whether the device copies slices by itself.
    pub(super) const fn is_straight(self) -> bool {
        matches!(self, Self::Straight | Self::Ahead)
    }

    /// Slices of each operand in shared memory.
    const fn stages(self) -> u32 {
        match self {
            Self::Held => 2,
            // That of a unit and those before and after it, of which others may still read or already load; and the next but one, which is asked for meanwhile: then
            // one barrier a slice does, that of its arrival.
            Self::Straight | Self::Ahead => 4,
        }
    }
}

/// What becomes of the least sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// They are stored as they are.
    Float,
    /// Saturated ([`i32`](crate::min_plus::Length)).
    Signed,
    /// Saturated, two to a word.
    Short,
}

impl Form {
    /// Words that hold four numbers.
    pub(super) const fn words(self) -> u32 {
        match self {
            Self::Float | Self::Signed => 4,
            Self::Short => 2,
        }
    }
}

/// The layout of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) step: Step,
    pub(super) form: Form,
    /// Units of a cube, across and down; powers of two, of which a plane takes 8 × 4.
    pub(super) units: (u32, u32),
    /// Sums of a unit, across and down; multiples of 4.
    pub(super) block: (u32, u32),
    /// Rows of both operands that a cube holds at once; even.
    pub(super) depth: u32,
    /// How the next rows come.
    pub(super) arrival: Arrival,
    /// Whether the result is the lesser of the product and of a matrix that there is.
    pub(super) lessens: bool,
    /// Whether all planes have as many units, which may vote.
    pub(super) votes: bool,
    /// Whether it computes only where the padding has found numbers of the step: some of them negative, or none.
    pub(super) guarded: bool,
}

impl Shape {
    pub(super) const fn all_units(&self) -> u32 {
        self.units.0 * self.units.1
    }

    /// Sums of a cube, across and down.
    pub(super) const fn tile(&self) -> (u32, u32) {
        (self.units.0 * self.block.0, self.units.1 * self.block.1)
    }

    /// Vectors of a slice of the left operand, and of the right one.
    const fn slice(&self) -> (u32, u32) {
        let (width, height) = self.tile();
        (height / 4 * self.depth, width / 4 * self.depth)
    }

    /// Whether units share out vectors of both slices without remainder.
    pub(super) const fn is_dealt(&self) -> bool {
        let (left, right) = self.slice();
        left.is_multiple_of(self.all_units()) && right.is_multiple_of(self.all_units())
    }

    /// Rows of slices that one piece of code takes.
    const fn piece(&self) -> u32 {
        let rows = PIECE / (self.block.0 * self.block.1);
        if rows < self.depth { rows } else { self.depth }
    }

    /// Pieces of a slice.
    const fn pieces(&self) -> u32 {
        self.depth / self.piece()
    }

    /// Bytes of shared memory: some slices of both.
    pub(super) const fn shared(&self) -> u32 {
        let (left, right) = self.slice();
        (left + right) * self.arrival.stages() * 16
    }
}

/// What minima are taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    /// A sum and the least so far.
    Singly,
    /// The bits of two sums and of the least so far.
    InPairs,
    /// The same where all are negative: the greatest bits.
    Negative,
}

impl Way {
    /// Rows of the operands that are taken at once.
    const fn at_once(self) -> u32 {
        match self {
            Self::Singly => 1,
            Self::InPairs | Self::Negative => 2,
        }
    }
}

/// Rows of operands after which it is asked whether all is negative: the question takes half an instruction for each sum.
const ASKED: u32 = 32;

/// Sums by way of a row that one piece of code takes, in all its rows: loops of more instructions than a device has at hand are slower.
const PIECE: u32 = 1_024;

/// Units next to each other that a plane of 32 has, across and down: each of its loads is then one line of shared memory.
const GROUP: (u32, u32) = (8, 4);

/// Sizes and pitches, in vectors but for rows and steps.
#[derive(CubeType, Clone, Copy)]
struct Sizes {
    left_pitch: u32,
    right_pitch: u32,
    steps: u32,
    rows: u32,
    vectors: u32,
    out_pitch: u32,
    infinity: u32,
}

/// out(i, j) = min over k of left(k, i) + right(k, j), a tile of it for each cube.
///
/// `left` lies transposed, both have `steps` · depth rows of whole tiles. `rows` × `vectors` of the result are stored.
// One condition is the compiler's, the other the device's.
#[allow(clippy::collapsible_if)]
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn min_plus_tiles<T: Numeric, N: Size, W: Size>(
    left: &Array<Vector<T, N>>,
    right: &Array<Vector<T, N>>,
    found: &Array<u32>,
    old: &Array<Vector<u32, W>>,
    out: &mut Array<Vector<u32, W>>,
    ran: &mut Array<u32>,
    left_pitch: u32,
    right_pitch: u32,
    steps: u32,
    rows: u32,
    vectors: u32,
    out_pitch: u32,
    infinity: u32,
    #[comptime] shape: Shape,
) {
    let stages = comptime!(shape.arrival.stages());
    let mut slices = Slices::<T, N> {
        left: SharedMemory::new(comptime!((stages * shape.slice().0) as usize)),
        right: SharedMemory::new(comptime!((stages * shape.slice().1) as usize)),
    };
    let sizes = Sizes {
        left_pitch,
        right_pitch,
        steps,
        rows,
        vectors,
        out_pitch,
        infinity,
    };
    if comptime!(shape.guarded) {
        // A sign that the kernel ran.
        if CUBE_POS_X + CUBE_POS_Y + UNIT_POS == 0u32 {
            ran[0] = u32::new(1);
        }
    }
    let pairs = comptime!(matches!(shape.step, Step::NonNegative | Step::Found));
    let singles = comptime!(shape.step != Step::NonNegative);
    if comptime!(shape.step == Step::Integer) {
        take::<T, i32, N, W>(left, right, &mut slices, old, out, sizes, shape, Way::Singly);
    } else if comptime!(shape.guarded || shape.step == Step::Found) {
        if found[0] == 0u32 {
            if comptime!(pairs) {
                take::<T, i32, N, W>(left, right, &mut slices, old, out, sizes, shape, Way::InPairs);
            }
        } else {
            if comptime!(singles) {
                take::<T, f32, N, W>(left, right, &mut slices, old, out, sizes, shape, Way::Singly);
            }
        }
    } else if comptime!(pairs) {
        take::<T, i32, N, W>(left, right, &mut slices, old, out, sizes, shape, Way::InPairs);
    } else {
        take::<T, f32, N, W>(left, right, &mut slices, old, out, sizes, shape, Way::Singly);
    }
}

/// Slices of both operands in shared memory.
#[derive(CubeType)]
struct Slices<T: Numeric, N: Size> {
    left: SharedMemory<Vector<T, N>>,
    right: SharedMemory<Vector<T, N>>,
}

/// The tile of a cube, with minima of kind `C`.
#[cube]
fn take<T: Numeric, C: Numeric, N: Size, W: Size>(
    left: &Array<Vector<T, N>>,
    right: &Array<Vector<T, N>>,
    slices: &mut Slices<T, N>,
    old: &Array<Vector<u32, W>>,
    out: &mut Array<Vector<u32, W>>,
    sizes: Sizes,
    #[comptime] shape: Shape,
    #[comptime] way: Way,
) {
    let (tile_width, tile_height) = comptime!(shape.tile());
    let (columns, lines) = comptime!(shape.block);

    // Where a unit's sums are: group by group across, 8 × 4 units in each.
    let groups = comptime!(shape.units.0 / GROUP.0);
    let (group, lane) = (UNIT_POS / 32u32, UNIT_POS % 32u32);
    let x = (group % groups) * comptime!(GROUP.0) + lane % comptime!(GROUP.0);
    let y = (group / groups) * comptime!(GROUP.1) + lane / comptime!(GROUP.0);

    let mut least = Array::<C>::new(comptime!((columns * lines) as usize));
    #[unroll]
    for q in 0..comptime!(columns * lines) {
        least[q as usize] = C::reinterpret(sizes.infinity);
    }

    if comptime!(shape.arrival.is_straight()) {
        go_straight::<T, C, N>(left, right, slices, &mut least, sizes, (x, y), shape, way);
    } else {
        go::<T, C, N>(left, right, slices, &mut least, sizes, (x, y), shape, way);
    }

    let right_row = comptime!(tile_width / 4);
    // Sums of four columns, which lie together, of one line.
    #[unroll]
    for i in 0..lines {
        let line = CUBE_POS_Y * tile_height + comptime!(i / 4 * 4 * shape.units.1) + y * 4 + comptime!(i % 4);
        #[unroll]
        for part in 0..comptime!(columns / 4) {
            let place = CUBE_POS_X * right_row + comptime!(part * shape.units.0) + x;
            if line < sizes.rows {
                if place < sizes.vectors {
                    let at = (line * sizes.out_pitch + place) as usize;
                    let result = finished::<C, W>(&least, comptime!(i * columns + part * 4), shape.form);
                    if comptime!(shape.lessens) {
                        out[at] = lesser::<W>(old[at], result, shape.form);
                    } else {
                        out[at] = result;
                    }
                }
            }
        }
    }
}

/// What a unit brings of the next slice of an operand: vectors as far apart as the cube has units, `count` of them, from `place` on,
/// `stride` from one to the next.
#[derive(CubeType)]
struct Share<T: Numeric, N: Size> {
    held: Array<Vector<T, N>>,
    place: u32,
    stride: u32,
    #[cube(comptime)]
    count: u32,
    #[cube(comptime)]
    units: u32,
}

#[cube]
impl<T: Numeric, N: Size> Share<T, N> {
    /// That of an operand whose slices have rows of `row` vectors, of which the cube's are the `cube`th ones.
    fn of(pitch: u32, cube: u32, #[comptime] row: u32, #[comptime] shape: Shape) -> Self {
        let units = comptime!(shape.all_units());
        let count = comptime!(row * shape.depth / units);
        Share::<T, N> {
            held: Array::new(comptime!(count as usize)),
            place: (UNIT_POS / row) * pitch + cube * row + UNIT_POS % row,
            stride: comptime!(units / row) * pitch,
            count,
            units,
        }
    }

    /// Loads the next slice's to registers.
    fn load(&mut self, operand: &Array<Vector<T, N>>) {
        // rung: min-plus on gpu: tuned
        #[unroll]
        for q in 0..self.count {
            self.held[comptime!(q as usize)] = operand[self.place as usize];
            self.place += self.stride;
        }
        // end
    }

    /// Puts what was loaded into a half of shared memory.
    fn put(&self, slices: &mut SharedMemory<Vector<T, N>>, half: u32) {
        #[unroll]
        for q in 0..self.count {
            let place = half * comptime!(self.count * self.units) + comptime!(q * self.units) + UNIT_POS;
            slices[place as usize] = self.held[comptime!(q as usize)];
        }
    }
}

/// What a unit brings of both operands.
#[derive(CubeType)]
struct Shares<T: Numeric, N: Size> {
    left: Share<T, N>,
    right: Share<T, N>,
}

/// The least sums by way of all slices, which come by way of registers.
#[cube]
#[allow(clippy::too_many_arguments)]
fn go<T: Numeric, C: Numeric, N: Size>(
    left: &Array<Vector<T, N>>,
    right: &Array<Vector<T, N>>,
    slices: &mut Slices<T, N>,
    least: &mut Array<C>,
    sizes: Sizes,
    at: (u32, u32),
    #[comptime] shape: Shape,
    #[comptime] way: Way,
) {
    let steps = sizes.steps;
    let (left_row, right_row) = comptime!((shape.tile().1 / 4, shape.tile().0 / 4));
    let mut shares = Shares::<T, N> {
        left: Share::<T, N>::of(sizes.left_pitch, CUBE_POS_Y, left_row, shape),
        right: Share::<T, N>::of(sizes.right_pitch, CUBE_POS_X, right_row, shape),
    };
    shares.left.load(left);
    shares.right.load(right);
    shares.left.put(&mut slices.left, 0u32);
    shares.right.put(&mut slices.right, 0u32);
    sync_cube();

    let settles = comptime!(matches!(shape.step, Step::Settling));
    let mut settled = false;
    let mut now = u32::new(0);
    for step in 0..steps {
        let more = step + 1 < steps;
        let turn = Turn {
            now,
            next: 1 - now,
            more,
            at,
        };
        if comptime!(settles) {
            if settled {
                slice::<T, C, N>(
                    left,
                    right,
                    slices,
                    &mut shares,
                    least,
                    turn,
                    shape,
                    Way::Negative,
                );
            } else {
                slice::<T, C, N>(left, right, slices, &mut shares, least, turn, shape, way);
                if step % comptime!(ASKED / shape.depth) == 0 {
                    settled = all_negative::<C>(least, shape);
                }
            }
        } else {
            slice::<T, C, N>(left, right, slices, &mut shares, least, turn, shape, way);
        }
        if more {
            sync_cube();
        }
        now = 1 - now;
    }
}

/// Whether all sums of a plane, or of a unit where planes are not alike, are negative.
#[cube]
fn all_negative<C: Numeric>(least: &Array<C>, #[comptime] shape: Shape) -> bool {
    let (columns, lines) = comptime!(shape.block);
    let mut all = u32::reinterpret(least[0usize]);
    #[unroll]
    for q in 1..comptime!(columns * lines) {
        all &= u32::reinterpret(least[q as usize]);
    }
    let mut settled = all >= 1u32 << 31u32;
    if comptime!(shape.votes) {
        // Else a plane would run both loops.
        settled = plane_all(settled);
    }
    settled
}

/// Which slices are there and where the next ones go, if there are `more`; the vectors of a unit in a row of the right and of the left one.
#[derive(CubeType, Clone, Copy)]
struct Turn {
    now: u32,
    next: u32,
    more: bool,
    at: (u32, u32),
}

/// The least sums by way of the slices that are there, while the next ones come.
#[cube]
#[allow(clippy::too_many_arguments)]
fn slice<T: Numeric, C: Numeric, N: Size>(
    left: &Array<Vector<T, N>>,
    right: &Array<Vector<T, N>>,
    slices: &mut Slices<T, N>,
    shares: &mut Shares<T, N>,
    least: &mut Array<C>,
    turn: Turn,
    #[comptime] shape: Shape,
    #[comptime] way: Way,
) {
    let (left_size, right_size) = comptime!(shape.slice());
    let turns = comptime!(shape.depth / way.at_once());
    let (left_row, right_row) = comptime!((shape.tile().1 / 4, shape.tile().0 / 4));
    // A remainder cannot be large: then places need no arithmetic of their own, which took one instruction of fourteen.
    let (left_at, right_at) = (
        (turn.now % 4 * left_size + turn.at.1) as usize,
        (turn.now % 4 * right_size + turn.at.0) as usize,
    );
    if turn.more {
        shares.left.load(left);
        shares.right.load(right);
    }
    #[unroll]
    for k in 0..turns {
        let first = comptime!(k * way.at_once());
        let mut rows = Rows::<T>::of(way, shape);
        rows.load::<N>(
            slices,
            left_at + comptime!((first * left_row) as usize),
            right_at + comptime!((first * right_row) as usize),
            shape,
            way,
        );
        shorten::<T, C>(&rows, least, shape, way);
    }
    if turn.more {
        shares.left.put(&mut slices.left, turn.next);
        shares.right.put(&mut slices.right, turn.next);
    }
}

/// One row of both slices, or two, of which a unit has its numbers.
#[derive(CubeType)]
struct Rows<T: Numeric> {
    left: Array<T>,
    right: Array<T>,
}

#[cube]
impl<T: Numeric> Rows<T> {
    /// Room for as many rows as are taken at once.
    fn of(#[comptime] way: Way, #[comptime] shape: Shape) -> Self {
        let (columns, lines) = comptime!(shape.block);
        Rows::<T> {
            left: Array::<T>::new(comptime!((lines * way.at_once()) as usize)),
            right: Array::<T>::new(comptime!((columns * way.at_once()) as usize)),
        }
    }

    /// Loads rows from these vectors of the slices on.
    fn load<N: Size>(
        &mut self,
        slices: &Slices<T, N>,
        left_at: usize,
        right_at: usize,
        #[comptime] shape: Shape,
        #[comptime] way: Way,
    ) {
        let (columns, lines) = comptime!(shape.block);
        let (left_row, right_row) = comptime!((shape.tile().1 / 4, shape.tile().0 / 4));
        let (across, down) = comptime!(shape.units);
        #[unroll]
        for k in 0..comptime!(way.at_once()) {
            load_row::<T, N>(
                &slices.left,
                left_at + comptime!((k * left_row) as usize),
                &mut self.left,
                comptime!(k * lines),
                down,
                lines,
            );
            load_row::<T, N>(
                &slices.right,
                right_at + comptime!((k * right_row) as usize),
                &mut self.right,
                comptime!(k * columns),
                across,
                columns,
            );
        }
    }
}

/// Loads numbers of a row of a slice: vectors of four, `apart` vectors from one to the next.
#[cube]
fn load_row<T: Numeric, N: Size>(
    slices: &SharedMemory<Vector<T, N>>,
    at: usize,
    numbers: &mut Array<T>,
    #[comptime] first: u32,
    #[comptime] apart: u32,
    #[comptime] count: u32,
) {
    #[unroll]
    for part in 0..comptime!(count / 4) {
        let vector = slices[at + comptime!((part * apart) as usize)];
        #[unroll]
        for q in 0..4u32 {
            numbers[comptime!((first + part * 4 + q) as usize)] = vector[comptime!(q as usize)];
        }
    }
}

/// The least sums by way of these rows, too.
#[cube]
fn shorten<T: Numeric, C: Numeric>(
    rows: &Rows<T>,
    least: &mut Array<C>,
    #[comptime] shape: Shape,
    #[comptime] way: Way,
) {
    let (columns, lines) = comptime!(shape.block);
    let (a, b) = (&rows.left, &rows.right);
    #[unroll]
    for i in 0..lines {
        #[unroll]
        for j in 0..columns {
            let q = comptime!((i * columns + j) as usize);
            let one = a[i as usize] + b[j as usize];
            if comptime!(way.at_once() == 2) {
                let other = a[comptime!((lines + i) as usize)] + b[comptime!((columns + j) as usize)];
                if comptime!(matches!(way, Way::Negative)) {
                    let greater = max(u32::reinterpret(one), u32::reinterpret(other));
                    least[q] = C::reinterpret(max(greater, u32::reinterpret(least[q])));
                } else {
                    least[q] = min(min(C::reinterpret(one), C::reinterpret(other)), least[q]);
                }
            } else {
                least[q] = min(C::reinterpret(one), least[q]);
            }
        }
    }
}

/// Four of the least sums, as they are stored.
#[cube]
fn finished<C: Numeric, W: Size>(
    least: &Array<C>,
    #[comptime] first: u32,
    #[comptime] form: Form,
) -> Vector<u32, W> {
    let mut vector = Vector::<u32, W>::empty();
    #[unroll]
    for q in 0..comptime!(form.words()) {
        if comptime!(form == Form::Short) {
            let low = u32::reinterpret(least[comptime!((first + 2 * q) as usize)]);
            let high = u32::reinterpret(least[comptime!((first + 2 * q + 1) as usize)]);
            vector[comptime!(q as usize)] = min(low, 0xffffu32) | (min(high, 0xffffu32) << 16u32);
        } else if comptime!(form == Form::Signed) {
            let length = i32::reinterpret(least[comptime!((first + q) as usize)]);
            vector[comptime!(q as usize)] = u32::reinterpret(saturated(length));
        } else {
            vector[comptime!(q as usize)] = u32::reinterpret(least[comptime!((first + q) as usize)]);
        }
    }
    vector
}

/// The lesser numbers of two vectors.
#[cube]
fn lesser<W: Size>(one: Vector<u32, W>, other: Vector<u32, W>, #[comptime] form: Form) -> Vector<u32, W> {
    let mut vector = Vector::<u32, W>::empty();
    #[unroll]
    for q in 0..comptime!(form.words() as usize) {
        let (one, other) = (one[q], other[q]);
        if comptime!(form == Form::Short) {
            let low = min(one & 0xffffu32, other & 0xffffu32);
            vector[q] = low | (min(one >> 16u32, other >> 16u32) << 16u32);
        } else if comptime!(form == Form::Signed) {
            let length = min(i32::reinterpret(one), i32::reinterpret(other));
            vector[q] = u32::reinterpret(saturated(length));
        } else {
            vector[q] = u32::reinterpret(min(f32::reinterpret(one), f32::reinterpret(other)));
        }
    }
    vector
}

/// A length within the limits, or none.
#[cube]
pub(super) fn saturated(length: i32) -> i32 {
    let limit = comptime!(crate::min_plus::LIMIT);
    let within = max(length, comptime!(-crate::min_plus::LIMIT));
    select(within > limit, i32::new(comptime!(i32::MAX as i64)), within)
}
