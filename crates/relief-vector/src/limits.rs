//! How large a drawing may be, and why one is refused.

/// What a drawing may hold. Each is checked before memory for it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes: u64,
    /// Points of all outlines; those of a cell count once, however often it is placed.
    pub points: u64,
    /// Elements, cells and placements together, an array being one placement. Of a DXF its entities count as well, once for each way in which their
    /// block lies.
    pub items: u64,
    /// How deep groups, uses or cells may be nested.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 1 << 32,
            points: 1 << 28,
            items: 1 << 24,
            depth: 128,
        }
    }
}

impl Limits {
    /// The bytes that a drawing within these limits takes at most, beside its file.
    #[must_use]
    pub const fn memory(&self) -> u64 {
        self.points
            .saturating_mul(16)
            .saturating_add(self.items.saturating_mul(96))
    }
}

/// Why outlines are refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// More points than the limits allow.
    #[error("the drawing has more than {0} points; draw a part of it, or raise the limit")]
    Points(u64),
    /// More elements, cells and placements than the limits allow.
    #[error("the drawing has more than {0} elements and placements; draw a part of it, or raise the limit")]
    Items(u64),
    /// A point that is no number or lies too far out.
    #[error("a point lies at ({0}, {1}) px, farther than 2^40 px from the origin")]
    Far(f64, f64),
    /// A width, radius or length of a dash that is no number or negative.
    #[error("{0} is {1}, but must be 0 or more")]
    Negative(&'static str, f64),
}
