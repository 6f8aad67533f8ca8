//! How many planes (warps) diverge: have lanes of which some take a branch and some do not.
//!
//! Lanes of a cube are numbered row by row, and so many in a row make a plane. A plane whose lanes all agree, even to do
//! nothing, does not diverge.

/// Planes, or phases of planes, and how many of them diverge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Divergence {
    /// How many there are.
    pub planes: u64,
    /// How many diverge.
    pub divergent: u64,
}

impl Divergence {
    /// The part of the planes that diverges; 0 where there are none.
    #[must_use]
    pub fn part(self) -> f64 {
        self.divergent as f64 / self.planes.max(1) as f64
    }

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            planes: self.planes + other.planes,
            divergent: self.divergent + other.divergent,
        }
    }

    const fn times(self, times: u64) -> Self {
        Self {
            planes: self.planes * times,
            divergent: self.divergent * times,
        }
    }
}

/// How lanes are dealt: units of a cube across and down, and lanes of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Units across.
    pub width: u32,
    /// Units down.
    pub height: u32,
    /// Lanes of a plane.
    pub lanes: u32,
}

impl Blocks {
    /// The planes of one cube of which the units below `columns` and `rows` take a branch.
    fn one(self, columns: u32, rows: u32) -> Divergence {
        let units = self.width * self.height;
        let within = |unit: u32| unit % self.width < columns && unit / self.width < rows;
        let mut sum = Divergence::default();
        for first in (0..units).step_by(self.lanes as usize) {
            let last = units.min(first + self.lanes);
            let inside = (first..last).filter(|unit| within(*unit)).count() as u32;
            sum.planes += 1;
            sum.divergent += u64::from(inside > 0 && inside < last - first);
        }
        sum
    }

    /// The planes of all cubes that cover a picture, where the units inside of it take a branch: cubes that are whole, those cut
    /// on the right, those cut below, and the one cut twice.
    ///
    /// # Panics
    /// Where a cube or a plane has no units.
    #[must_use]
    pub fn picture(self, width: u64, height: u64) -> Divergence {
        assert!(
            self.width > 0 && self.height > 0 && self.lanes > 0,
            "cubes and planes have units"
        );
        let (across, down) = (u64::from(self.width), u64::from(self.height));
        let (right, below) = ((width % across) as u32, (height % down) as u32);
        let whole = self.one(self.width, self.height);
        let mut sum = whole.times(width / across * (height / down));
        if right > 0 {
            sum = sum.plus(self.one(right, self.height).times(height / down));
        }
        if below > 0 {
            sum = sum.plus(self.one(self.width, below).times(width / across));
        }
        if right > 0 && below > 0 {
            sum = sum.plus(self.one(right, below));
        }
        sum
    }

    /// The product of two matrices of `side` × `side` by square tiles as large as a cube: in each phase a unit loads one element of
    /// the left matrix where its row and the tile's column lie inside. Counted are planes of each phase: first of cubes
    /// whose rows all lie inside, then of those that lie across the lower edge.
    ///
    /// # Panics
    /// Where cubes are not square or have no units.
    #[must_use]
    pub fn product(self, side: u64) -> [Divergence; 2] {
        assert!(
            self.width == self.height && self.width > 0 && self.lanes > 0,
            "tiles are square"
        );
        let tile = u64::from(self.width);
        let cubes_across = side.div_ceil(tile);
        // The phases of a cube are the tiles of its row of the left matrix, the last of which may be cut.
        let row = |rows: u32| {
            let mut phases = self.one(self.width, rows).times(side / tile);
            if side % tile > 0 {
                phases = phases.plus(self.one((side % tile) as u32, rows));
            }
            phases
        };
        let inside = row(self.height).times(cubes_across * (side / tile));
        let edge = match (side % tile) as u32 {
            0 => Divergence::default(),
            rows => row(rows).times(cubes_across),
        };
        [inside, edge]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: Blocks = Blocks {
        width: 16,
        height: 16,
        lanes: 32,
    };

    const fn of(divergent: u64, planes: u64) -> Divergence {
        Divergence { planes, divergent }
    }

    #[test]
    fn one_of_32_planes_diverges_where_1000_elements_are_added_in_blocks_of_256() {
        let line = Blocks {
            width: 256,
            height: 1,
            lanes: 32,
        };
        assert_eq!(line.picture(1_000, 1), of(1, 32));
        assert!(line.picture(1_000, 1).part() < 0.04);
    }

    #[test]
    fn a_picture_of_62_by_76_in_blocks_of_16_by_16_diverges_along_its_right_edge() {
        // 76 across: five cubes, the last with 12 of 16 columns, in four rows, the last with 14 of 16: a plane of two
        // rows lies below and does nothing.
        assert_eq!(SQUARE.picture(76, 62), of(31, 160));
        // 62 across: four cubes, the last with 14 of 16 columns, in five rows, the last with 12 of 16: two planes lie below.
        assert_eq!(SQUARE.picture(62, 76), of(38, 160));
    }

    #[test]
    fn the_tiled_product_of_100_by_100_diverges_in_336_of_2352_and_14_of_392_phases_of_planes() {
        assert_eq!(SQUARE.product(100), [of(336, 2_352), of(14, 392)]);
        let [inside, edge] = SQUARE.product(100);
        // 12.8 % of all; the source expects that to cost less than 12 %.
        assert_eq!(inside.plus(edge), of(350, 2_744));
    }

    #[test]
    fn what_fits_exactly_does_not_diverge() {
        assert_eq!(SQUARE.picture(64, 48).divergent, 0);
        assert_eq!(SQUARE.product(64)[0], of(0, 4 * 4 * 4 * 8));
        assert_eq!(SQUARE.product(64)[1], of(0, 0));
    }

    #[test]
    fn counting_kinds_of_cubes_equals_asking_every_plane() {
        for lanes in [8, 32, 64] {
            for (width, height) in [(1, 1), (5, 40), (33, 17), (100, 3), (64, 64), (47, 95)] {
                let blocks = Blocks {
                    width: 32,
                    height: 8,
                    lanes,
                };
                let mut sum = of(0, 0);
                for top in (0..height).step_by(8) {
                    for left in (0..width).step_by(32) {
                        for first in (0..256).step_by(lanes as usize) {
                            let inside = |unit: u64| left + unit % 32 < width && top + unit / 32 < height;
                            let mut answers = (first..first + u64::from(lanes)).map(inside);
                            let one = answers.next().unwrap();
                            sum.planes += 1;
                            sum.divergent += u64::from(answers.any(|other| other != one));
                        }
                    }
                }
                assert_eq!(
                    blocks.picture(width, height),
                    sum,
                    "{width} × {height} by {lanes}"
                );
            }
        }
    }
}
