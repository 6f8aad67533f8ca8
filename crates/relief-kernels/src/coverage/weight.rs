//! How many bytes an index would take, told without building it.

use super::build::cut;
use super::index::{Chain, Element, Placed, Shapes};
use super::lookup::{Bands, Item};

/// Adds up outlines for an [`Index`](super::Index) that there may be no memory for. It holds none of them.
///
/// The bytes that it tells do as [`Limits::memory`](super::Limits::memory) of a [`Builder`](super::Builder) that is given the same outlines, in the same order,
/// and told how many placements come.
#[derive(Debug)]
pub struct Weight {
    denominator: i64,
    points: u64,
    chains: u64,
    elements: u64,
    parts: u64,
    placements: u64,
    /// Chains of the element so far, and the most of any.
    of_element: u64,
    of_any: u64,
    /// What parts hold beside them.
    shapes: u64,
    own: Spans,
}

impl Weight {
    /// Nothing yet. Points are whole multiples of 1/(256·`denominator`) px.
    #[must_use]
    pub fn new(denominator: u32) -> Self {
        Self {
            denominator: i64::from(denominator),
            points: 0,
            chains: 0,
            elements: 0,
            parts: 0,
            placements: 0,
            of_element: 0,
            of_any: 0,
            shapes: 0,
            own: Spans::NONE,
        }
    }

    /// Begins a part.
    pub fn part(&mut self) {
        self.close();
        self.parts += 1;
    }

    /// Begins an element of the part, or what clips one.
    pub const fn element(&mut self) {
        self.elements += 1;
        self.of_element = 0;
    }

    /// Adds a closed outline.
    pub fn outline(&mut self, points: &[(i64, i64)]) {
        let count = points.len();
        let own = &mut self.own;
        let (mut chains, mut held) = (0, 0);
        cut(points, |first, steps, _| {
            let ends = [points[first % count].1, points[(first + steps) % count].1];
            own.include(ends[0].min(ends[1]), ends[0].max(ends[1]));
            chains += 1;
            held += steps as u64 + 1;
        });
        self.chains += chains;
        self.of_element += chains;
        self.of_any = self.of_any.max(self.of_element);
        self.points += held;
    }

    /// Adds placements of parts, wherever they are.
    pub const fn placements(&mut self, count: u64) {
        self.placements = self.placements.saturating_add(count);
    }

    /// The bytes that do.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        // Places and bands together are no more than this, and a band takes less than a place.
        let lookup = size(Bands::most(self.placements), size_of::<Item>());
        // Where the chains of an element begin and end.
        let turns = size(self.of_any, 2 * size_of::<(i64, i32)>());
        // What is looked at to find where too much meets, of which no band has more than there is.
        let met = size(self.placements.max(self.elements), 2 * size_of::<(i64, u64)>())
            .saturating_add(size(self.parts, size_of::<(u64, u64, Option<u64>)>()));
        self.bytes_placed()
            .saturating_add(lookup)
            .saturating_add(met.max(turns))
    }

    /// The bytes of them that do until all is placed; the others are taken when the index is finished.
    #[must_use]
    pub fn bytes_placed(&self) -> u64 {
        // Lists that grow are there twice for a while, the longer one with room for as many again.
        let grown = [
            size(self.points, 3 * size_of::<(i64, i64)>()),
            size(self.chains, 3 * size_of::<Chain>()),
            size(self.elements, 3 * size_of::<Element>()),
            size(self.parts, 3 * size_of::<Shapes>()),
            size(self.placements, size_of::<Placed>()),
        ];
        let grown = grown.into_iter().fold(4_096, u64::saturating_add);
        grown.saturating_add(self.shapes).saturating_add(self.of_chains())
    }

    /// Adds what the part before holds of its chains.
    fn close(&mut self) {
        self.shapes = self.shapes.saturating_add(self.of_chains());
        self.own = Spans::NONE;
    }

    /// What the part holds of its chains.
    fn of_chains(&self) -> u64 {
        let (places, bands) = self.own.places(64 * 256 * self.denominator);
        // No element is in more places than its chains.
        let places = size(places, size_of::<Item>() + size_of::<u32>());
        places.saturating_add(size(bands + 1, 4 * size_of::<u32>()))
    }
}

/// The bytes of so many values.
const fn size(count: u64, bytes: usize) -> u64 {
    count.saturating_mul(bytes as u64)
}

/// In how many bands boxes lie, for every height that bands may have.
#[derive(Debug)]
struct Spans {
    count: u64,
    top: i64,
    bottom: i64,
    places: [u64; 63],
}

impl Spans {
    const NONE: Self = Self {
        count: 0,
        top: i64::MAX,
        bottom: i64::MIN,
        places: [0; 63],
    };

    fn include(&mut self, top: i64, bottom: i64) {
        self.count += 1;
        self.top = self.top.min(top);
        self.bottom = self.bottom.max(bottom);
        for (shift, places) in self.places.iter_mut().enumerate() {
            *places = places.saturating_add(Bands::touched(top, bottom, shift as u32));
        }
    }

    /// The places in the bands that a lookup of these boxes would have, and how many bands.
    fn places(&self, height: i64) -> (u64, u64) {
        if self.count == 0 {
            return (0, 0);
        }
        let mut shift = Bands::least(height);
        loop {
            let places = self.places[shift as usize];
            let bands = Bands::touched(self.top, self.bottom, shift);
            if Bands::are_few(places, bands, self.count) {
                return (places, bands);
            }
            shift += 1;
        }
    }
}
