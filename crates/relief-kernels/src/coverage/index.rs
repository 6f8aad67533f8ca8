//! What a tile is computed from: chains of points, parts of them, and where the parts are placed.

use super::Rule;
use super::build::Error;
use super::lookup::{Bands, Bounds, Item, Lookup};
use super::room::Room;

/// Names a part of the [`Index`] that is being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part(pub(super) u32);

impl Part {
    /// How many parts were begun before it.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// Copies of a part: copy (i, j) is moved by `origin` + i·`u` + j·`v`, in units of the index, for 0 ≤ i < `columns` and
/// 0 ≤ j < `rows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lattice {
    /// The offset of copy (0, 0).
    pub origin: (i64, i64),
    /// The step from column to column.
    pub u: (i64, i64),
    /// The step from row to row.
    pub v: (i64, i64),
    /// The number of columns.
    pub columns: u32,
    /// The number of rows.
    pub rows: u32,
}

impl Lattice {
    /// A single copy, at `origin`.
    #[must_use]
    pub const fn single(origin: (i64, i64)) -> Self {
        Self {
            origin,
            u: (0, 0),
            v: (0, 0),
            columns: 1,
            rows: 1,
        }
    }
}

/// Points that go down (or stay level), with the winding they add to all that lies to their right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) element: u32,
    pub(super) winding: i32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub(super) value: u16,
    pub(super) rule: Rule,
    /// The element before is covered only where this one is too.
    pub(super) clip: bool,
    pub(super) bounds: Bounds,
}

/// The elements of a part and their chains by bands.
#[derive(Debug)]
pub(super) struct Shapes {
    pub(super) bounds: Bounds,
    pub(super) lookup: Lookup,
    /// Chains by band; an item's are those from its entry on that belong to its element.
    pub(super) entries: Vec<u32>,
    /// Where the entries of each band end.
    pub(super) ends: Vec<u32>,
    /// The first of its elements, and the one behind the last.
    pub(super) elements: (u32, u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) part: u32,
    pub(super) lattice: Lattice,
    /// The box of all copies.
    pub(super) bounds: Bounds,
}

/// Outlines, cut into chains and sorted by rows, from which any rectangle is computed.
#[derive(Debug)]
pub struct Index {
    pub(super) denominator: i64,
    pub(super) points: Vec<(i64, i64)>,
    pub(super) chains: Vec<Chain>,
    pub(super) elements: Vec<Element>,
    pub(super) parts: Vec<Shapes>,
    pub(super) placed: Vec<Placed>,
    pub(super) lookup: Lookup,
    pub(super) bounds: Bounds,
    /// More than one value: which element lies on top counts.
    pub(super) layered: bool,
    /// Some element has clips.
    pub(super) clipped: bool,
    /// Chains of which a tile is sure to take so many at once.
    pub(super) capacity: usize,
    /// The most work of a tile.
    pub(super) work: u64,
}

impl Index {
    /// An element, given by its own number or by that of one of its clips, and its clips.
    pub(super) fn group(&self, element: u32) -> std::ops::Range<u32> {
        let mut first = element as usize;
        while self.elements[first].clip {
            first -= 1;
        }
        let rest = &self.elements[first + 1..];
        let clips = rest.iter().take_while(|element| element.clip).count();
        first as u32..(first + 1 + clips) as u32
    }

    /// The most work of a tile of 1 024 × 64 pixels, or more where that is less than [`WORK_OF_A_SECOND`](super::WORK_OF_A_SECOND), of which a second of a core
    /// goes through as many: for each chain of edges that goes up or down the rows that it reaches over and its points.
    #[must_use]
    pub const fn work(&self) -> u64 {
        self.work
    }

    /// The bytes it holds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let parts: u64 = self
            .parts
            .iter()
            .map(|part| {
                (size_of::<Shapes>() + size_of_val(&part.entries[..]) + size_of_val(&part.ends[..])) as u64
                    + part.lookup.bytes()
            })
            .sum();
        (size_of_val(&self.points[..])
            + size_of_val(&self.chains[..])
            + size_of_val(&self.elements[..])
            + size_of_val(&self.placed[..])) as u64
            + self.lookup.bytes()
            + parts
    }

    /// The pixels outside of which every sample is 0: columns `left..right` and rows `top..bottom`, as
    /// (left, top, right, bottom). `None` where nothing is covered.
    #[must_use]
    pub fn bounds(&self) -> Option<(i64, i64, i64, i64)> {
        if self.bounds.is_none() {
            return None;
        }
        let unit = 256 * self.denominator;
        let low = |n: i64| (n - self.denominator).div_euclid(unit);
        let high = |n: i64| (n + self.denominator).div_euclid(unit) + 1;
        Some((
            low(self.bounds.left),
            low(self.bounds.top),
            high(self.bounds.right),
            high(self.bounds.bottom),
        ))
    }

    /// The greatest value of its elements; 0 where there are none.
    #[must_use]
    pub fn greatest(&self) -> u16 {
        let elements = self.elements.iter().filter(|element| !element.clip);
        elements.map(|element| element.value).max().unwrap_or(0)
    }

    /// The number of points of all parts, each counted once however often it is placed.
    #[must_use]
    pub fn points(&self) -> usize {
        self.points.len()
    }
}

/// Sorts the chains of a part into bands.
pub(super) fn shapes(
    points: &[(i64, i64)],
    chains: &[Chain],
    elements: &[Element],
    (first_chain, first_element): (usize, usize),
    height: i64,
    room: &mut Room,
) -> Result<Shapes, Error> {
    let span = |chain: &Chain| {
        let last = chain.first as usize + chain.count as usize - 1;
        (points[chain.first as usize].1, points[last].1)
    };
    let own = &chains[first_chain..];
    let bands = Bands::over(own.iter().map(span), height);
    let mut ends = room.list(0_u32, bands.count() + 1)?;
    for chain in own {
        let (top, bottom) = span(chain);
        for band in bands.of(top, bottom) {
            ends[band + 1] += 1;
        }
    }
    for band in 0..bands.count() {
        ends[band + 1] += ends[band];
    }
    let mut entries = room.list(0_u32, ends.last().copied().unwrap_or(0) as usize)?;
    let mut next = Vec::new();
    room.reserve_exact(&mut next, ends.len())?;
    next.extend_from_slice(&ends);
    for (number, chain) in own.iter().enumerate() {
        let (top, bottom) = span(chain);
        for band in bands.of(top, bottom) {
            entries[next[band] as usize] = (first_chain + number) as u32;
            next[band] += 1;
        }
    }
    room.drop(next);
    // Chains of one element stand together, as they were added.
    let mut starts = Vec::new();
    room.reserve_exact(&mut starts, ends.len())?;
    starts.push(0_u32);
    let element = |at: u32| chains[entries[at as usize] as usize].element;
    let begins = |band: &[u32], at: u32| at == band[0] || element(at) != element(at - 1);
    let count = |band: &[u32]| (band[0]..band[1]).filter(|at| begins(band, *at)).count();
    let mut items = Vec::new();
    room.reserve_exact(&mut items, ends.windows(2).map(count).sum())?;
    for band in ends.windows(2) {
        for at in (band[0]..band[1]).filter(|at| begins(band, *at)) {
            let element = element(at);
            items.push(Item::new(&elements[element as usize].bounds, element, at));
        }
        starts.push(items.len() as u32);
    }
    let mut bounds = Bounds::NONE;
    for element in &elements[first_element..] {
        if !element.bounds.is_none() {
            bounds.include(element.bounds.left, element.bounds.top);
            bounds.include(element.bounds.right, element.bounds.bottom);
        }
    }
    Ok(Shapes {
        bounds,
        lookup: Lookup::new(bands, starts, items),
        entries,
        ends,
        elements: (first_element as u32, elements.len() as u32),
    })
}

/// Sorts the placements into bands.
pub(super) fn placements(placed: &[Placed], height: i64, room: &mut Room) -> Result<Lookup, Error> {
    let spans = placed.iter().map(|p| (p.bounds.top, p.bounds.bottom));
    let bands = Bands::over(spans, height);
    let mut starts = room.list(0_u32, bands.count() + 1)?;
    for place in placed {
        for band in bands.of(place.bounds.top, place.bounds.bottom) {
            starts[band + 1] += 1;
        }
    }
    for band in 0..bands.count() {
        starts[band + 1] += starts[band];
    }
    let nothing = Item::new(&Bounds::NONE, 0, 0);
    let mut items = room.list(nothing, starts.last().copied().unwrap_or(0) as usize)?;
    let mut next = Vec::new();
    room.reserve_exact(&mut next, starts.len())?;
    next.extend_from_slice(&starts);
    for (number, place) in placed.iter().enumerate() {
        let range = bands.of(place.bounds.top, place.bounds.bottom);
        let first = range.start as u32;
        for band in range {
            items[next[band] as usize] = Item::new(&place.bounds, number as u32, first);
            next[band] += 1;
        }
    }
    room.drop(next);
    Ok(Lookup::new(bands, starts, items))
}
