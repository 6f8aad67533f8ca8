//! `perlin` and `worley`: textures of a seed, that close after a period.

use super::{NodeKind, NodeSource, words};
use crate::draft::Checker;
use crate::seam::{Gap, Seam};
use crate::signature::{DefaultValue, Parameter, Signature, ValueType, optional, required};
use crate::tree::Axis;
use crate::validate::Rules;

/// The largest cell, in pixels.
const MAX_SIZE: i64 = 1 << 24;

/// The most octaves.
pub const MAX_OCTAVES: u32 = 8;

/// Cells of a lattice along one axis: so many in so many pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cells {
    /// Cells, at least 1 and no more than there are pixels.
    pub count: u64,
    /// Pixels that they take, 1 to 2^40.
    pub pixels: u64,
    /// Whether the lattice begins anew after them.
    pub wraps: bool,
}

/// Smooth noise of gradients on a lattice.
#[derive(Clone, Debug, PartialEq)]
pub struct Perlin {
    /// The seed.
    pub seed: u64,
    /// Cells along x and y.
    pub cells: [Cells; 2],
    /// How many noises are added, each of half the cells and half the height of the one before: 1 to 8.
    pub octaves: u32,
}

/// Cells around random points, one in each square of a lattice.
#[derive(Clone, Debug, PartialEq)]
pub struct Worley {
    /// The seed.
    pub seed: u64,
    /// Squares along x and y.
    pub cells: [Cells; 2],
    /// What a sample is.
    pub of: Feature,
}

/// What a sample of [`Worley`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Feature {
    /// The distance of the nearest point.
    #[default]
    Nearest,
    /// That of the second nearest.
    Second,
    /// The difference of both: 0 where cells meet.
    Edge,
    /// A sample of the nearest point: each cell has one gray.
    Cell,
}

words!(Feature {
    Nearest = "nearest",
    Second = "second",
    Edge = "edge",
    Cell = "cell",
});

const SEED: Parameter = required("seed", ValueType::Seed, "tells one texture from another");

const SIZE: Parameter = required(
    "size",
    ValueType::Length {
        least: 2,
        greatest: MAX_SIZE,
    },
    "the side of a cell; with a period the nearest of which a whole number closes",
);

const PERIOD: ValueType = ValueType::Length {
    least: 1,
    greatest: relief_raster::MAX_SIDE as i64,
};

const PERIOD_X: Parameter = optional(
    "period-x",
    PERIOD,
    DefaultValue::Absent("none: it never repeats"),
    "the columns after which it begins anew, as the circumference of a roller",
);

const PERIOD_Y: Parameter = optional(
    "period-y",
    PERIOD,
    DefaultValue::Absent("none: it never repeats"),
    "the rows after which it begins anew",
);

/// The cells of a node along both axes.
fn cells(source: &NodeSource<'_, '_>) -> Option<[Cells; 2]> {
    let size = u64::try_from(source.values.pixels("size")?).ok()?;
    let along = |name| {
        let period = source
            .values
            .pixels(name)
            .and_then(|period| u64::try_from(period).ok());
        match period {
            // Rounded, halves up.
            Some(pixels) => Cells {
                count: ((2 * pixels + size) / (2 * size)).max(1),
                pixels,
                wraps: true,
            },
            None => Cells {
                count: 1,
                pixels: size,
                wraps: false,
            },
        }
    };
    Some([along("period-x"), along("period-y")])
}

/// Whether these are cells that a design can have.
fn are_cells(cells: [Cells; 2]) -> Result<(), String> {
    let sides = 1..=relief_raster::MAX_SIDE;
    for Cells { count, pixels, .. } in cells {
        if !sides.contains(&pixels) || !(1..=pixels).contains(&count) {
            return Err(format!(
                "{count} cells in {pixels} pixels, of which there are 1 to 2^40; a cell has a pixel at least"
            ));
        }
    }
    Ok(())
}

/// Whether cells close after a turn.
fn closes(cells: [Cells; 2], name: &str, seam: &mut Seam<'_, '_>) {
    let along = match seam.axis {
        Axis::X => cells[0],
        Axis::Y => cells[1],
    };
    if seam.side() > 1 && !(along.wraps && seam.turn % i128::from(along.pixels) == 0) {
        seam.gap(Gap::Changes(match along.wraps {
            true => format!("this `{name}` repeats after {} pixels", along.pixels),
            false => format!("this `{name}` never repeats; a period closes it"),
        }));
    }
}

impl NodeKind for Perlin {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "perlin",
        meaning: "Smooth noise: at the corners of a lattice of cells stand random gradients, and between them samples change smoothly around M / 2. \
                  Each further octave adds noise of half the cells and half the height.",
        details: "All of it is in integers, ⌊ ⌋ rounding down. With n cells in p pixels (without a period 1 in `size`) pixel x of octave o lies at \
                  ⌊(2x + 1)·n·2^o·2^16 / 2p⌋: i whole cells and f / 2^16 of one; a period takes i modulo n·2^o. Corner (i, j) has the gradient (1, 0), (−1, 0), (0, 1), \
                  (0, −1), (1, 1), (−1, 1), (1, −1) or (−1, −1), by the top three bits of the SplitMix64 finaliser of \
                  seed + o + i·0x9E3779B97F4A7C15 + j·0xC2B2AE3D27D4EB4F, wrapping. It gives g·(f − corner·2^16). With a = ⌊f² / 2^16⌋ the fade is \
                  ⌊⌊a·f / 2^16⌋·(6a − 15f + 10·2^16) / 2^16⌋, and between p and q lies p + ⌊(q − p)·fade / 2^16⌋, along x first. S sums the O octaves, each times 2^(O − 1 − o); with D = 2^16·(2^O − 1) the sample is ⌊(2(S + D)·M + 2D) / 4D⌋, taken to 0…M.",
        properties: &[
            SEED,
            SIZE,
            optional(
                "octaves",
                ValueType::Count {
                    least: 1,
                    greatest: MAX_OCTAVES as i64,
                },
                DefaultValue::Number(1),
                "how many noises are added: more are rougher",
            ),
            PERIOD_X,
            PERIOD_Y,
        ],
        example: "perlin seed=7 size=60 octaves=4",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self {
            seed: source.values.seed("seed")?,
            cells: cells(source)?,
            octaves: u32::try_from(source.values.choice("octaves")?).ok()?,
        })
    }

    fn is_smooth(&self, _: bool) -> bool {
        true
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        closes(self.cells, Self::SIGNATURE.name, seam);
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        if !(1..=MAX_OCTAVES).contains(&self.octaves) {
            return Err(format!("has {} octaves, not 1 to {MAX_OCTAVES}", self.octaves));
        }
        are_cells(self.cells)
    }
}

impl NodeKind for Worley {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "worley",
        meaning: "Cells around random points, of which one lies in each square of a lattice (Voronoi cells): the distance of the nearest point, of the second nearest, \
                  what both differ by, which is 0 where cells meet, or one gray for each cell. The side of a square is M.",
        details: "All of it is in integers, ⌊ ⌋ rounding down. With n squares in p pixels (without a period 1 in `size`) pixel x lies at \
                  u = ⌊(2x + 1)·n·2^16 / 2p⌋, and in square ⌊u / 2^16⌋. With h the SplitMix64 finaliser of seed + i·0x9E3779B97F4A7C15 + j·0xC2B2AE3D27D4EB4F, wrapping, i and j modulo n where there is a period, square (i, j) has its \
                  point at 2^16·i + ⌊h / 2^48⌋, 2^16·j + (⌊h / 2^32⌋ mod 2^16). The points of the 5 × 5 squares around are taken row by row; the first nearest and the least of the others count; d is the root of the squared distance, rounded down. Samples are min(M, ⌊(d·M + 2^15) / 2^16⌋); those of `edge` \
                  have the difference of both roots for d, and those of `cell` are the top 8 or 16 bits of h mod 2^16.",
        properties: &[
            SEED,
            SIZE,
            optional(
                "of",
                ValueType::Word(Feature::WORDS),
                DefaultValue::Word(Feature::Nearest.word()),
                "what a sample is: the distance of the nearest point, of the second, their difference, or the gray of the cell",
            ),
            PERIOD_X,
            PERIOD_Y,
        ],
        example: "worley seed=3 size=60 of=\"edge\"",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self {
            seed: source.values.seed("seed")?,
            cells: cells(source)?,
            of: source.values.word("of").and_then(Feature::of_word)?,
        })
    }

    fn is_smooth(&self, _: bool) -> bool {
        self.of != Feature::Cell
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        closes(self.cells, Self::SIGNATURE.name, seam);
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        are_cells(self.cells)
    }
}
