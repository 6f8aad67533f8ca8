//! Building an [`Index`] from outlines.

use super::density::{MAX_WORK, check};
use super::index::{Chain, Element, Index, Lattice, Part, Placed, placements, shapes};
use super::lookup::{Bounds, Lookup};
use super::room::Room;
use super::{MAX_COORDINATE, Rule};

/// How much an [`Index`] may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Points of all outlines, at most 2^30.
    pub points: u32,
    /// Placements of parts, an array being one, at most 2^31.
    pub placements: u32,
    /// Work that one tile may be, [`MAX_WORK`] where nothing else is said: edges, each counted for every row of pixels and every 64
    /// columns of the tile that it may reach into.
    pub work: u64,
    /// Bytes that the index and what it is built from may take at once.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            points: 1 << 28,
            placements: 1 << 22,
            work: MAX_WORK,
            memory: u64::MAX,
        }
    }
}

/// Why outlines were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// More points than the limits allow.
    #[error("the outlines have more than {0} points")]
    Points(u32),
    /// More placements than the limits allow.
    #[error("there are more than {0} placements")]
    Placements(u32),
    /// More memory than the limits allow.
    #[error("its index takes more than the {0} bytes that it may take")]
    Memory(u64),
    /// A point, or a copy of one, lies too far out.
    #[error(
        "a point lies too far from the origin: 2^44 pixels, or 2^52 divided by the denominator if that is less, is the farthest"
    )]
    Far,
    /// Outlines lie so close together that a tile would take too long.
    #[error(
        "a tile of 1024 × 64 pixels would meet up to {copies} copies of one part, and with them {work} rows of edges; {limit} are the most"
    )]
    Dense {
        /// The part that takes most of the work.
        part: Part,
        /// Copies of it that a tile may meet.
        copies: u64,
        /// Rows of edges that a tile may meet, as [`Limits::work`] counts them.
        work: u64,
        /// How many may be.
        limit: u64,
    },
}
/// Chains that a tile takes at once, at least.
const CAPACITY: usize = 4_096;

/// Takes outlines, part by part, and sorts them.
///
/// ```
/// use relief_kernels::coverage::{Builder, Lattice, Limits, Rule, Sampling, cpu};
/// use relief_raster::ViewMut;
///
/// let mut builder = Builder::new(1, Limits::default()).unwrap();
/// let part = builder.part();
/// builder.element(200, Rule::NonZero);
/// builder.outline(&[(128, 0), (512, 0), (512, 256), (128, 256)])?;
/// builder.place(part, Lattice::single((0, 0)))?;
/// let index = builder.finish()?;
///
/// let mut samples = [0_u8; 3];
/// let mut scratch = vec![0; cpu::scratch_words::<u8>(&index, Sampling::Area)];
/// cpu::compute(&index, Sampling::Area, (0, 0), ViewMut::packed(&mut samples, 3, 1), &mut scratch);
/// assert_eq!(samples, [100, 200, 0]);
/// # Ok::<(), relief_kernels::coverage::Error>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    index: Index,
    limits: Limits,
    room: Room,
    /// Why something was left out: it is said when it can be.
    failed: Option<Error>,
    first_chain: usize,
    first_element: usize,
    open: bool,
    points: u64,
    /// The greatest number of chains of one element that share a row.
    stack: usize,
    /// The first chain of the last element.
    own_chains: usize,
}

impl Builder {
    /// Nothing yet. Points are whole multiples of 1/(256·`denominator`) px; `None` where the denominator is 0 or exceeds 2^24.
    #[must_use]
    pub fn new(denominator: u32, limits: Limits) -> Option<Self> {
        if denominator == 0 || denominator > 1 << 24 {
            return None;
        }
        let limits = Limits {
            // Chains repeat the points at which they meet, and count in 32 bits.
            points: limits.points.min(1 << 30),
            placements: limits.placements.min(1 << 31),
            ..limits
        };
        let index = Index {
            denominator: i64::from(denominator),
            points: Vec::new(),
            chains: Vec::new(),
            elements: Vec::new(),
            parts: Vec::new(),
            placed: Vec::new(),
            lookup: Lookup::empty(),
            bounds: Bounds::NONE,
            work: 0,
            layered: false,
            clipped: false,
            capacity: CAPACITY,
        };
        Some(Self {
            index,
            limits,
            room: Room::of(limits.memory),
            failed: None,
            first_chain: 0,
            first_element: 0,
            open: false,
            points: 0,
            stack: 0,
            own_chains: 0,
        })
    }

    /// Begins a part: the elements that follow are its own.
    pub fn part(&mut self) -> Part {
        self.close();
        self.open = true;
        Part(self.index.parts.len() as u32)
    }

    /// Begins an element of the part: the outlines that follow are its own. Later elements lie above earlier ones.
    ///
    /// `value` is a sample, at most M of the depth that is computed.
    pub fn element(&mut self, value: u16, rule: Rule) {
        self.measure_stack();
        self.own_chains = self.index.chains.len();
        let index = &mut self.index;
        index.layered |= index.elements.last().is_some_and(|last| last.value != value);
        self.add(Element {
            value,
            rule,
            clip: false,
            bounds: Bounds::NONE,
        });
    }

    fn add(&mut self, element: Element) {
        let added = self.room.push(&mut self.index.elements, element);
        self.failed = self.failed.or(added.err());
    }

    /// Says that something was left out.
    const fn whole(&self) -> Result<(), Error> {
        match self.failed {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }

    /// Restricts the element to places that the outlines that follow cover as well. May be repeated: all must cover a place.
    ///
    /// # Panics
    /// Where no element was begun in this part.
    pub fn clip(&mut self, rule: Rule) {
        assert!(
            self.index.elements.len() > self.first_element || self.failed.is_some(),
            "there is no element to clip"
        );
        let Some(last) = self.index.elements.last() else {
            return;
        };
        let value = last.value;
        self.measure_stack();
        self.own_chains = self.index.chains.len();
        // Elements and their clips are found apart and brought together in order.
        self.index.layered = true;
        self.index.clipped = true;
        self.add(Element {
            value,
            rule,
            clip: true,
            bounds: Bounds::NONE,
        });
    }

    /// Adds a closed outline: the last point is joined to the first. The outline of fewer than three points covers nothing.
    ///
    /// # Errors
    /// Where there are too many points, or one lies too far out, or there is too little memory.
    ///
    /// # Panics
    /// Where no element was begun.
    pub fn outline(&mut self, points: &[(i64, i64)]) -> Result<(), Error> {
        self.whole()?;
        assert!(
            self.open && !self.index.elements.is_empty(),
            "no element was begun"
        );
        if points.len() < 3 {
            return Ok(());
        }
        let mut own = Bounds::NONE;
        for &(x, y) in points {
            own.include(x, y);
        }
        let limit = MAX_COORDINATE * 256 * self.index.denominator.min(1 << 8);
        let farthest = [own.left, own.top, own.right, own.bottom].map(i64::unsigned_abs);
        if farthest.into_iter().any(|far| far > limit as u64) {
            return Err(Error::Far);
        }
        self.points += points.len() as u64;
        if self.points > u64::from(self.limits.points) {
            return Err(Error::Points(self.limits.points));
        }
        let element = self.index.elements.len() - 1;
        let bounds = &mut self.index.elements[element].bounds;
        bounds.include(own.left, own.top);
        bounds.include(own.right, own.bottom);
        self.chains(points, element as u32)
    }

    /// Adds the chains of a closed outline.
    fn chains(&mut self, points: &[(i64, i64)], element: u32) -> Result<(), Error> {
        let count = points.len();
        let (index, room) = (&mut self.index, &mut self.room);
        let mut done = Ok(());
        cut(points, |first, steps, down| {
            if done.is_err() {
                return;
            }
            done = room.reserve(&mut index.points, steps + 1).and_then(|()| {
                let start = index.points.len();
                // From the last point on to the first.
                let (first, end) = (first % count, first % count + steps + 1);
                index.points.extend_from_slice(&points[first..end.min(count)]);
                index
                    .points
                    .extend_from_slice(&points[..end.saturating_sub(count)]);
                if down < 0 {
                    index.points[start..].reverse();
                }
                let chain = Chain {
                    first: start as u32,
                    count: steps as u32 + 1,
                    element,
                    winding: down,
                };
                room.push(&mut index.chains, chain)
            });
        });
        done
    }

    /// Notes how many chains of the last element share a row of pixels.
    fn measure_stack(&mut self) {
        let own = &self.index.chains[self.own_chains..];
        if own.len() <= self.stack.max(CAPACITY) {
            return;
        }
        let row = 256 * self.index.denominator;
        let mut turns: Vec<(i64, i32)> = Vec::new();
        if let Err(error) = self.room.reserve_exact(&mut turns, 2 * own.len()) {
            self.failed = self.failed.or(Some(error));
            return;
        }
        for chain in own {
            let last = chain.first as usize + chain.count as usize - 1;
            turns.push((self.index.points[chain.first as usize].1 - row, 1));
            turns.push((self.index.points[last].1 + row, -1));
        }
        turns.sort_unstable_by_key(|(at, change)| (*at, -change));
        let mut open = 0_i64;
        for (_, change) in &turns {
            open += i64::from(*change);
            self.stack = self.stack.max(open.unsigned_abs() as usize);
        }
        self.room.drop(turns);
    }

    fn close(&mut self) {
        if !self.open {
            return;
        }
        self.measure_stack();
        let index = &mut self.index;
        let height = 64 * 256 * index.denominator;
        let from = (self.first_chain, self.first_element);
        let room = &mut self.room;
        let part = shapes(&index.points, &index.chains, &index.elements, from, height, room);
        let added = part.and_then(|part| room.push(&mut index.parts, part));
        self.failed = self.failed.or(added.err());
        self.first_chain = index.chains.len();
        self.first_element = index.elements.len();
        self.open = false;
    }

    /// Places copies of a part. Later placements lie above earlier ones.
    ///
    /// # Errors
    /// Where there are too many placements, or a copy lies too far out, or there is too little memory.
    ///
    /// # Panics
    /// Where there is no such part.
    pub fn place(&mut self, part: Part, mut lattice: Lattice) -> Result<(), Error> {
        self.close();
        self.whole()?;
        let shapes = &self.index.parts[part.0 as usize];
        let own = shapes.bounds;
        if shapes.entries.is_empty() || lattice.columns == 0 || lattice.rows == 0 {
            return Ok(());
        }
        if self.index.placed.len() >= self.limits.placements as usize {
            return Err(Error::Placements(self.limits.placements));
        }
        // Copies in one place are one, and one copy takes no step.
        if lattice.u == (0, 0) || lattice.columns == 1 {
            (lattice.u, lattice.columns) = ((0, 0), 1);
        }
        if lattice.v == (0, 0) || lattice.rows == 1 {
            (lattice.v, lattice.rows) = ((0, 0), 1);
        }
        let bounds = extent(&own, &lattice, self.index.denominator).ok_or(Error::Far)?;
        self.index.bounds.include(bounds.left, bounds.top);
        self.index.bounds.include(bounds.right, bounds.bottom);
        let placed = Placed {
            part: part.0,
            lattice,
            bounds,
        };
        self.room.push(&mut self.index.placed, placed)
    }

    /// Makes room for so many placements, where they are known: while they come, none is held twice.
    ///
    /// # Errors
    /// Where there is too little memory.
    pub fn expect(&mut self, placements: u32) -> Result<(), Error> {
        let count = placements.min(self.limits.placements) as usize;
        self.room.reserve_exact(&mut self.index.placed, count)
    }

    /// Sets another limit of bytes, where what else there is has become more or less.
    pub const fn set_memory(&mut self, bytes: u64) {
        self.room.set_limit(bytes);
    }

    /// The index of all that was placed.
    ///
    /// # Errors
    /// Where outlines lie so close together that one tile would take too long, or there is too little memory.
    pub fn finish(mut self) -> Result<Index, Error> {
        self.close();
        self.whole()?;
        let (mut index, mut room) = (self.index, self.room);
        room.shrink(&mut index.points);
        room.shrink(&mut index.chains);
        room.shrink(&mut index.elements);
        room.shrink(&mut index.parts);
        room.shrink(&mut index.placed);
        index.lookup = placements(&index.placed, 64 * 256 * index.denominator, &mut room)?;
        index.capacity = CAPACITY.max(self.stack + 1);
        index.work = check(&index, self.limits.work, &mut room)?;
        Ok(index)
    }

    /// As [`finish`](Self::finish), with room for fewer chains at once.
    #[cfg(test)]
    pub(super) fn finish_with_capacity(self, capacity: usize) -> Index {
        let mut index = self.finish().unwrap();
        index.capacity = capacity;
        index
    }
}

/// The box of all copies, or `None` where one lies too far out.
fn extent(own: &Bounds, lattice: &Lattice, denominator: i64) -> Option<Bounds> {
    let limit = i128::from(MAX_COORDINATE) * 256 * i128::from(denominator.min(1 << 8));
    let last = |count: u32| i128::from(count - 1);
    let mut bounds = Bounds::NONE;
    for (i, j) in [
        (0, 0),
        (last(lattice.columns), 0),
        (0, last(lattice.rows)),
        (last(lattice.columns), last(lattice.rows)),
    ] {
        let x = i128::from(lattice.origin.0) + i * i128::from(lattice.u.0) + j * i128::from(lattice.v.0);
        let y = i128::from(lattice.origin.1) + i * i128::from(lattice.u.1) + j * i128::from(lattice.v.1);
        for (dx, dy) in [(own.left, own.top), (own.right, own.bottom)] {
            let (x, y) = (x + i128::from(dx), y + i128::from(dy));
            if x.abs() > limit || y.abs() > limit {
                return None;
            }
            bounds.include(x as i64, y as i64);
        }
    }
    Some(bounds)
}

/// Cuts a closed outline where it turns from down to up or back. `each` is told the first point of a part, how many edges it has, and 1 where they
/// go down, -1 where they go up; points are counted on from the last one to the first.
pub(super) fn cut(points: &[(i64, i64)], mut each: impl FnMut(usize, usize, i32)) {
    let count = points.len();
    // Places are counted on once around at most.
    let direction = |at: usize| {
        let at = if at < count { at } else { at - count };
        let next = if at + 1 < count { at + 1 } else { 0 };
        (points[next].1 - points[at].1).signum()
    };
    // A place where the outline turns, or all of it is level.
    let Some(first) = (0..count).find(|at| direction(*at) != 0) else {
        return;
    };
    let down = direction(first);
    let Some(turn) = (first..first + count).find(|at| direction(*at) == -down) else {
        return;
    };
    // Where the outline turns at its end, places go on around once more.
    let (turn, end) = (turn % count, turn % count + count);
    let (mut start, mut down) = (turn, -down);
    for at in turn..end {
        let here = direction(at);
        if here == -down {
            each(start, at - start, down as i32);
            (start, down) = (at, here);
        }
    }
    each(start, end - start, down as i32);
}
