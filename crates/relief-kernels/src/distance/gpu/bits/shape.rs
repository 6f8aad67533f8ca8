//! How wide a tile is and where its words lie in shared memory.

use relief_raster::Depth;

use super::levels;

/// Columns of bits before the output's first and after its last; no less than the margin of any [`Shape`].
pub(super) const HALO: u32 = 32;

/// How a tile is computed; what can be measured against alternatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// Neighbouring columns of a unit, 1 to 4: the more, the fewer words each reads, and the more it holds.
    pub columns: u32,
    /// Units of a cube, a multiple of 8, halved until the tile fits shared memory.
    pub units: u32,
    /// Whether a unit looks if anything is white around it and, after levels far apart, if any of its pixels is still
    /// black.
    pub exits: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            columns: 2,
            units: 128,
            exits: true,
        }
    }
}

/// Everything that shapes the kernel of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) radius: u32,
    pub(super) columns: u32,
    pub(super) units: u32,
    pub(super) exits: bool,
    /// Bits of a sample.
    pub(super) depth: u32,
}

impl Shape {
    /// The tile of a policy, as wide as fits `shared` bytes; one of 8 units and 4 columns fits 12 KiB.
    pub(super) fn new(policy: &Policy, radius: u32, depth: Depth, shared: u32) -> Self {
        let mut shape = Self {
            radius,
            columns: policy.columns.clamp(1, 4),
            units: policy.units.clamp(8, 1_024).next_multiple_of(8),
            exits: policy.exits,
            depth: depth.bits(),
        };
        while shape.units > 8 && shape.shared_bytes() > shared {
            shape.units = (shape.units / 2).next_multiple_of(8);
        }
        shape
    }

    /// Columns of a tile.
    pub(super) const fn width(self) -> u32 {
        self.units * self.columns
    }

    /// Columns left and right of a tile, whole units.
    pub(super) const fn margin(self) -> u32 {
        self.radius.next_multiple_of(self.columns)
    }

    /// Groups of a unit's columns in a tile with its margins.
    pub(super) const fn across(self) -> u32 {
        self.units + 2 * self.margin() / self.columns
    }

    /// Columns of a tile with its margins.
    pub(super) const fn span(self) -> u32 {
        self.across() * self.columns
    }

    /// Where Vₖ of the column `ahead` of the first of unit 0 lies; that of unit t lies t words on.
    pub(super) const fn place(self, ahead: i32, k: u32) -> u32 {
        let column = self.margin().strict_add_signed(ahead);
        k * self.span() + column % self.columns * self.across() + column / self.columns
    }

    /// Columns left and right of a tile, whole groups of four.
    pub(super) const fn margin_of_fours(self) -> u32 {
        self.radius.next_multiple_of(4)
    }

    /// Groups of four columns of which shared memory holds whether they have white; one more than the tile and its
    /// margins have, which the last unit may read.
    pub(super) const fn white_words(self) -> u32 {
        if self.exits {
            (self.width() + 2 * self.margin_of_fours()) / 4 + 1
        } else {
            1
        }
    }

    /// Groups of four columns that hold those of a unit and the radius left and right, wherever in a group they begin.
    pub(super) const fn whites_of_unit(self) -> u32 {
        (3 + self.columns - 1 + 2 * self.radius) / 4 + 1
    }

    /// The rows of the words above and below that lie within the radius.
    pub(super) fn rows_within(self) -> (u32, u32) {
        let first = (1 << self.radius) - 1;
        (u32::reverse_bits(first), first)
    }

    pub(super) const fn dilated_words(self) -> u32 {
        (self.radius + 1) * self.span()
    }

    /// Words from codes to those of the next row: nine for eight columns, so that units that read eight columns each
    /// read different banks.
    pub(super) const fn code_pitch(self) -> u32 {
        self.width() / 8 * 9
    }

    pub(super) const fn code_words(self) -> u32 {
        8 * self.code_pitch()
    }

    pub(super) fn table_words(self) -> u32 {
        1 << levels::planes(self.radius)
    }

    pub(super) fn shared_bytes(self) -> u32 {
        4 * (self.dilated_words() + self.white_words() + self.code_words() + self.table_words())
    }

    /// Levels counted between two looks at what is black: the first and the one after the last.
    pub(super) fn stages(self) -> Vec<(usize, usize)> {
        let squares = levels::squares(self.radius);
        let looks = EXITS.iter().filter(|_| self.exits);
        let mut ends: Vec<usize> = looks.map(|e| squares.partition_point(|a| a <= e)).collect();
        ends.push(squares.len());
        ends.dedup();
        let starts = [0].into_iter().chain(ends.clone());
        starts.zip(ends).collect()
    }
}

/// Squares after which a unit looks whether any pixel is still black: where every second, every tenth and every thirtieth
/// pixel is white, hardly one of a plane's pixels is.
const EXITS: [u32; 3] = [5, 26, 100];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distance::gpu::bits::MAX_RADIUS;

    fn shapes() -> impl Iterator<Item = (Shape, u32)> {
        let policies = [(8, true), (24, false), (64, true), (128, true), (1_024, false)];
        (0..=MAX_RADIUS).flat_map(move |radius| {
            (1..=4).flat_map(move |columns| {
                policies.into_iter().flat_map(move |(units, exits)| {
                    let policy = Policy {
                        columns,
                        units,
                        exits,
                    };
                    [12 << 10, 16 << 10, 32 << 10, 48 << 10, 227 << 10]
                        .map(|shared| (Shape::new(&policy, radius, Depth::Eight, shared), shared))
                })
            })
        })
    }

    #[test]
    fn every_tile_fits_shared_memory_and_whole_groups_of_eight_columns() {
        for (shape, shared) in shapes() {
            assert!(shape.shared_bytes() <= shared, "{shape:?} in {shared} bytes");
            assert_eq!(shape.width() % 8, 0, "{shape:?}");
            assert!(
                shape.margin() <= HALO && shape.margin_of_fours() <= HALO,
                "{shape:?}"
            );
        }
    }

    /// Software Vulkan hides reads outside of shared memory, which CUDA does not.
    #[test]
    fn every_word_of_shared_memory_that_a_unit_touches_is_there() {
        for (shape, _) in shapes() {
            let (radius, last) = (shape.radius as i32, shape.units - 1);
            for k in 0..=shape.radius {
                let right = shape.columns as i32 - 1 + radius;
                for ahead in -radius..=right {
                    let place = shape.place(ahead, k) + last;
                    assert!(place < shape.dilated_words(), "{ahead}, {k} of {shape:?}");
                }
            }
            let column = last * shape.columns + shape.columns - 1;
            let code = column + column / 8 + 7 * shape.code_pitch();
            assert!(code < shape.code_words(), "{shape:?}");
            if shape.exits {
                let first = (last * shape.columns + shape.margin_of_fours() - shape.radius) / 4;
                assert!(first + shape.whites_of_unit() <= shape.white_words(), "{shape:?}");
            }
        }
    }

    #[test]
    fn places_are_of_the_columns_that_shared_memory_was_filled_with() {
        for (shape, _) in shapes() {
            for unit in [0, 1, shape.units - 1] {
                for ahead in [-(shape.radius as i32), 0, shape.radius as i32] {
                    let place = shape.place(ahead, 0) + unit;
                    // As `dilate` computes it, counted from the first column of the tile.
                    let column = place % shape.across() * shape.columns + place / shape.across();
                    let want = (unit * shape.columns + shape.margin()).strict_add_signed(ahead);
                    assert_eq!(column, want, "{shape:?}");
                }
            }
        }
    }

    #[test]
    fn groups_of_whites_hold_all_columns_within_the_radius_of_a_unit() {
        for (shape, _) in shapes().filter(|(shape, _)| shape.exits) {
            for unit in 0..shape.units {
                let first = unit * shape.columns + shape.margin_of_fours() - shape.radius;
                let last = first + shape.columns - 1 + 2 * shape.radius;
                assert!(
                    last / 4 < first / 4 + shape.whites_of_unit(),
                    "{unit} of {shape:?}"
                );
            }
        }
    }

    #[test]
    fn stages_hold_every_level_once() {
        for (shape, _) in shapes() {
            let numbers: Vec<usize> = shape.stages().into_iter().flat_map(|(a, b)| a..b).collect();
            let levels = levels::squares(shape.radius).len();
            assert!(numbers.into_iter().eq(0..levels), "{shape:?}");
        }
    }
}
