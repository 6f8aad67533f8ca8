//! Designs as the oracle knows them: what a person would write, nothing resolved.

/// A design: its canvas, pictures by number, definitions by number, and its root.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) width: u64,
    pub(crate) height: u64,
    /// M, 255 or 65 535.
    pub(crate) max: u16,
    pub(crate) pictures: Vec<Picture>,
    /// A definition uses only those before it.
    pub(crate) definitions: Vec<Item>,
    pub(crate) root: Kind,
}

/// A picture in memory.
#[derive(Clone)]
pub(crate) struct Picture {
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) samples: Vec<u16>,
}

/// A node with its place in its parent.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) x: i64,
    pub(crate) y: i64,
    pub(crate) width: Option<u64>,
    pub(crate) height: Option<u64>,
    pub(crate) kind: Kind,
}

impl Item {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            x: 0,
            y: 0,
            width: None,
            height: None,
            kind,
        }
    }

    pub(crate) fn at(mut self, x: i64, y: i64) -> Self {
        (self.x, self.y) = (x, y);
        self
    }

    pub(crate) fn sized(mut self, width: u64, height: u64) -> Self {
        (self.width, self.height) = (Some(width), Some(height));
        self
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Fill(u16),
    /// The number of a picture.
    Image(usize),
    Ramp {
        horizontal: bool,
        from: u16,
        to: u16,
    },
    Disc {
        diameter: u64,
        value: u16,
    },
    Noise {
        seed: u64,
    },
    /// The steps are those of the pattern and so many pixels more; `None` leaves them out of the text.
    Repeat {
        gaps: (Option<u64>, Option<u64>),
        pattern: Box<Item>,
    },
    Lattice {
        blend: Blend,
        u: (i64, i64),
        v: (i64, i64),
        pattern: Box<Item>,
    },
    Distance {
        radius: u64,
        profile: Profile,
        beyond: Option<u16>,
        mask: Box<Item>,
    },
    Map {
        tone: Tone,
        source: Box<Item>,
    },
    Threshold {
        level: u16,
        source: Box<Item>,
    },
    Compose(Vec<(Fold, Item)>),
    /// The number of a definition; its size is its own.
    Use(usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Blend {
    Mean,
    Max,
    Min,
    Sum,
    Last,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Fold {
    Base,
    Add,
    Subtract,
    Multiply,
    Mean,
    Max,
    Min,
    Over,
    Mask,
}

/// Profiles that the oracle can compute without the expressions of the language. Divisors are powers of two, so
/// that the order of operations makes no difference where a value lies on a half.
#[derive(Clone, Debug)]
pub(crate) enum Profile {
    /// a + b·d
    Line { a: i32, b: i32 },
    /// a·(1 − (d / 2^k)²)
    Bowl { a: i32, k: u32 },
    /// |d − a|·b / 4
    Fold { a: u32, b: i32 },
    /// Points at d = first, first + 2^k, … with these heights, in quarters.
    Points { first: u32, k: u32, quarters: Vec<i32> },
}

/// Tone curves that the oracle can compute exactly.
#[derive(Clone, Debug)]
pub(crate) enum Tone {
    Invert,
    /// M·(v / M)^(n / 2) for n = 1, 2, 4
    Gamma(u32),
    Levels {
        low: u16,
        high: u16,
        out_low: u16,
        out_high: u16,
    },
    /// Points at v = first, first + 2^k, … with these heights, in quarters.
    Curve {
        first: u16,
        k: u32,
        quarters: Vec<i32>,
    },
    /// v·a / 8 + b
    Line {
        a: i32,
        b: i32,
    },
}
