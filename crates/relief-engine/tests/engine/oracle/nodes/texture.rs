//! `perlin` and `worley`, pixel by pixel.

use proptest::prelude::*;
use proptest::sample::select;

use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::Model;

/// The lattice of a texture.
#[derive(Clone, Debug)]
pub(crate) struct Lattice {
    pub(crate) size: u64,
    pub(crate) periods: [Option<u64>; 2],
}

impl Lattice {
    fn write(&self) -> String {
        let period = |axis: &str, period: Option<u64>| {
            period.map_or(String::new(), |period| format!(" period-{axis}={period}"))
        };
        let [x, y] = self.periods;
        format!(" size={}{}{}", self.size, period("x", x), period("y", y))
    }

    /// Cells, the pixels that they take, and whether they begin anew.
    fn cells(&self, axis: usize) -> (i128, i128, bool) {
        match self.periods[axis] {
            Some(period) => {
                let nearest = (period as f64 / self.size as f64 + 0.5).floor();
                ((nearest as i128).max(1), period.into(), true)
            }
            None => (1, self.size.into(), false),
        }
    }

    /// The place of a pixel in 2^−16 of a cell.
    fn place(&self, axis: usize, at: i64, octave: u32) -> i128 {
        let (cells, pixels, _) = self.cells(axis);
        ((2 * i128::from(at) + 1) * cells * 2_i128.pow(octave) * 65_536).div_euclid(2 * pixels)
    }

    /// What the random bits of a cell depend on.
    fn bits(&self, seed: u64, cell: [i128; 2], octave: u32) -> u64 {
        let number = |axis: usize| {
            let (cells, _, wraps) = self.cells(axis);
            let cell = if wraps {
                cell[axis].rem_euclid(cells * 2_i128.pow(octave))
            } else {
                cell[axis]
            };
            cell as u64
        };
        let mut z = seed
            .wrapping_add(number(0).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .wrapping_add(number(1).wrapping_mul(0xC2B2_AE3D_27D4_EB4F));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn any() -> BoxedStrategy<Self> {
        let period = || proptest::option::of(1_u64..40);
        (2_u64..20, [period(), period()])
            .prop_map(|(size, periods)| Self { size, periods })
            .boxed()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Perlin {
    pub(crate) seed: u64,
    pub(crate) lattice: Lattice,
    pub(crate) octaves: u32,
}

impl Node for Perlin {
    const NAME: &'static str = "perlin";

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(
            " seed={}{} octaves={}",
            self.seed,
            self.lattice.write(),
            self.octaves
        )
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let one = 65_536_i128;
        let floor = |product: i128| product.div_euclid(one);
        let fade = |f: i128| {
            let a = floor(f * f);
            floor(floor(a * f) * (6 * a - 15 * f + 10 * one))
        };
        let mut sum = 0;
        for octave in 0..self.octaves {
            let place = [0, 1].map(|axis| self.lattice.place(axis, [at.x, at.y][axis], octave));
            let (cell, f) = (place.map(floor), place.map(|place| place.rem_euclid(one)));
            let corner = |i: i128, j: i128| {
                let seed = self.seed.wrapping_add(octave.into());
                let bits = self.lattice.bits(seed, [cell[0] + i, cell[1] + j], octave);
                let (x, y) = (f[0] - i * one, f[1] - j * one);
                match bits >> 61 {
                    0 => x,
                    1 => -x,
                    2 => y,
                    3 => -y,
                    4 => x + y,
                    5 => y - x,
                    6 => x - y,
                    _ => -x - y,
                }
            };
            let between = |p: i128, q: i128, fade: i128| p + floor((q - p) * fade);
            let across = fade(f[0]);
            let above = between(corner(0, 0), corner(1, 0), across);
            let below = between(corner(0, 1), corner(1, 1), across);
            sum += between(above, below, fade(f[1])) * 2_i128.pow(self.octaves - 1 - octave);
        }
        let (all, max) = (one * (2_i128.pow(self.octaves) - 1), i128::from(at.max()));
        // (S + D)·M / 2D, halves up.
        let rounded = (2 * (sum + all) * max + 2 * all).div_euclid(4 * all);
        u16::try_from(rounded.clamp(0, max)).unwrap()
    }

    fn leaves(_: u16) -> Option<Weighted<Self>> {
        let any = (any::<u64>(), Lattice::any(), 1_u32..=8).prop_map(|(seed, lattice, octaves)| Self {
            seed,
            lattice,
            octaves,
        });
        Some((1, any.boxed()))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Worley {
    pub(crate) seed: u64,
    pub(crate) lattice: Lattice,
    /// "nearest", "second", "edge" or "cell".
    pub(crate) of: &'static str,
}

/// ⌊√n⌋, bit by bit.
fn root(n: i128) -> i128 {
    (0..40).rev().fold(0, |root, bit| {
        let more = root + (1 << bit);
        if more * more <= n { more } else { root }
    })
}

impl Node for Worley {
    const NAME: &'static str = "worley";

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" seed={}{} of={}", self.seed, self.lattice.write(), self.of)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let place = [0, 1].map(|axis| self.lattice.place(axis, [at.x, at.y][axis], 0));
        let cell = place.map(|place| place.div_euclid(65_536));
        let mut points = Vec::new();
        for j in -2..=2 {
            for i in -2..=2 {
                let square = [cell[0] + i, cell[1] + j];
                let bits = self.lattice.bits(self.seed, square, 0);
                let away = [
                    square[0] * 65_536 + i128::from(bits >> 48) - place[0],
                    square[1] * 65_536 + i128::from((bits >> 32) & 0xFFFF) - place[1],
                ];
                points.push((away[0] * away[0] + away[1] * away[1], bits & 0xFFFF));
            }
        }
        // Stable: of equally near ones the first.
        points.sort_by_key(|(square, _)| *square);
        let (nearest, second) = (root(points[0].0), root(points[1].0));
        let max = i128::from(at.max());
        let sample = |distance: i128| ((2 * distance * max + 65_536).div_euclid(131_072)).min(max) as u16;
        match self.of {
            "nearest" => sample(nearest),
            "second" => sample(second),
            "edge" => sample(second - nearest),
            _ if max == 255 => (points[0].1 >> 8) as u16,
            _ => points[0].1 as u16,
        }
    }

    fn leaves(_: u16) -> Option<Weighted<Self>> {
        let of = select(&["nearest", "second", "edge", "cell"][..]);
        let any =
            (any::<u64>(), Lattice::any(), of).prop_map(|(seed, lattice, of)| Self { seed, lattice, of });
        Some((1, any.boxed()))
    }
}
