//! Which of many boxes reach into a rectangle: by bands of rows, and within a band by their left sides.

/// A box with both ends included, in the units of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) left: i64,
    pub(super) top: i64,
    pub(super) right: i64,
    pub(super) bottom: i64,
}

impl Bounds {
    pub(super) const NONE: Self = Self {
        left: i64::MAX,
        top: i64::MAX,
        right: i64::MIN,
        bottom: i64::MIN,
    };

    pub(super) fn include(&mut self, x: i64, y: i64) {
        self.left = self.left.min(x);
        self.right = self.right.max(x);
        self.top = self.top.min(y);
        self.bottom = self.bottom.max(y);
    }

    pub(super) const fn is_none(&self) -> bool {
        self.left > self.right
    }

    pub(super) const fn meets(&self, other: &Self) -> bool {
        self.left <= other.right
            && other.left <= self.right
            && self.top <= other.bottom
            && other.top <= self.bottom
    }
}

/// The rows of the index in bands of 2^`shift` units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bands {
    shift: u32,
    first: i64,
    count: usize,
}

impl Bands {
    /// Bands of at least `height` units, so few that the boxes of `spans` (top, bottom) appear in at most twice as many places as
    /// there are boxes, and a few more.
    pub(super) fn over(spans: impl Iterator<Item = (i64, i64)> + Clone, height: i64) -> Self {
        let (mut top, mut bottom, mut count) = (i64::MAX, i64::MIN, 0_u64);
        for span in spans.clone() {
            top = top.min(span.0);
            bottom = bottom.max(span.1);
            count += 1;
        }
        if count == 0 {
            return Self {
                shift: 0,
                first: 0,
                count: 0,
            };
        }
        let mut shift = Self::least(height);
        loop {
            let places: u64 = spans
                .clone()
                .map(|(top, bottom)| Self::touched(top, bottom, shift))
                .fold(0, u64::saturating_add);
            let bands = Self::touched(top, bottom, shift);
            if Self::are_few(places, bands, count) {
                return Self {
                    shift,
                    first: top >> shift,
                    count: bands as usize,
                };
            }
            shift += 1;
        }
    }

    /// The least `shift` of bands of at least `height` units.
    pub(super) fn least(height: i64) -> u32 {
        63 - height.max(1).leading_zeros()
    }

    /// How many bands of 2^`shift` units a box from `top` to `bottom` lies in.
    pub(super) const fn touched(top: i64, bottom: i64, shift: u32) -> u64 {
        ((bottom >> shift) - (top >> shift)) as u64 + 1
    }

    /// Whether bands are so few, and so high, that `count` boxes lie in few places.
    pub(super) const fn are_few(places: u64, bands: u64, count: u64) -> bool {
        places.saturating_add(bands) <= Self::most(count)
    }

    /// The most places that `count` boxes lie in, and bands together.
    pub(super) const fn most(count: u64) -> u64 {
        count.saturating_mul(4).saturating_add(4_096)
    }

    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// The bands that the rows `top..=bottom` lie in, of those that exist.
    pub(super) fn of(&self, top: i64, bottom: i64) -> std::ops::Range<usize> {
        let end = self.count as i64;
        let from = ((top >> self.shift) - self.first).clamp(0, end);
        let to = ((bottom >> self.shift) - self.first + 1).clamp(from, end);
        from as usize..to as usize
    }
}

/// A box that begins at `left`; no box before it in its band reaches farther right than `reach`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) left: i64,
    pub(super) right: i64,
    reach: i64,
    /// What the caller knows it by.
    pub(super) id: u32,
    /// The first of its entries, for callers that have some.
    pub(super) entry: u32,
}

impl Item {
    pub(super) const fn new(bounds: &Bounds, id: u32, entry: u32) -> Self {
        Self {
            left: bounds.left,
            right: bounds.right,
            reach: bounds.right,
            id,
            entry,
        }
    }
}

/// The items of each band, sorted by their left sides.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) bands: Bands,
    starts: Vec<u32>,
    items: Vec<Item>,
}

impl Lookup {
    /// A lookup of items that come band by band: `starts[b]..starts[b + 1]` are those of band `b`.
    pub(super) fn new(bands: Bands, starts: Vec<u32>, mut items: Vec<Item>) -> Self {
        for pair in starts.windows(2) {
            let band = &mut items[pair[0] as usize..pair[1] as usize];
            band.sort_unstable_by_key(|item| (item.left, item.id));
            let mut reach = i64::MIN;
            for item in band {
                reach = reach.max(item.right);
                item.reach = reach;
            }
        }
        Self { bands, starts, items }
    }

    pub(super) fn bytes(&self) -> u64 {
        (size_of_val(&self.starts[..]) + size_of_val(&self.items[..])) as u64
    }

    /// A lookup of nothing.
    pub(super) fn empty() -> Self {
        Self::new(Bands::over(std::iter::empty(), 1), vec![0], Vec::new())
    }

    /// The items of the band that has most.
    pub(super) fn longest(&self) -> usize {
        let bands = self.starts.windows(2);
        bands.map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0)
    }

    /// The items of a band, by their left sides.
    pub(super) fn band(&self, band: usize) -> &[Item] {
        &self.items[self.starts[band] as usize..self.starts[band + 1] as usize]
    }

    /// The items of a band that share a column with `left..=right`.
    pub(super) fn in_band(&self, band: usize, left: i64, right: i64) -> impl Iterator<Item = &Item> {
        let band = self.band(band);
        let end = band.partition_point(|item| item.left <= right);
        band[..end]
            .iter()
            .rev()
            .take_while(move |item| item.reach >= left)
            .filter(move |item| item.right >= left)
    }
}
