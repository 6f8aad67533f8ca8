//! `dither`: a sample against the level of its place, of Bayer's matrices as their recursion has them, of blue noise as the paper on void and
//! cluster makes it, and of screens as their dots grow.

use std::sync::{Arc, OnceLock};

use proptest::prelude::*;
use proptest::sample::select;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Dither {
    pub(crate) by: Matrix,
    pub(crate) source: Box<Item>,
}

#[derive(Clone, Debug)]
pub(crate) enum Matrix {
    Threshold(u16),
    Bayer { size: u64, spot: u64 },
    BlueNoise { spot: u64 },
    Screen(Arc<Screen>),
}

/// Sides of the matrix of blue noise.
const SIDE: usize = 64;

/// The ranks of blue noise by R. Ulichney's void and cluster (1993): a tenth of the places are set at random and evened out; then clusters leave one
/// by one, and voids are filled. σ is his 1.5, in steps of 2⁻³⁰, and of equals the first in reading order is taken.
fn blue_noise() -> &'static [u64] {
    static RANKS: OnceLock<Vec<u64>> = OnceLock::new();
    RANKS.get_or_init(|| {
        const CELLS: usize = SIDE * SIDE;
        let apart = |d: usize| d.min(SIDE - d) as f64;
        let spread: Vec<i64> = (0..CELLS)
            .map(|cell| {
                let squared = apart(cell % SIDE).powi(2) + apart(cell / SIDE).powi(2);
                (2_f64.powi(30) * (-squared / (2.0 * 1.5 * 1.5)).exp()) as i64
            })
            .collect();
        let (mut set, mut felt) = (vec![false; CELLS], vec![0_i64; CELLS]);
        let turn = |set: &mut Vec<bool>, felt: &mut Vec<i64>, at: usize| {
            set[at] = !set[at];
            let sign = if set[at] { 1 } else { -1 };
            for (cell, felt) in felt.iter_mut().enumerate() {
                let (x, y) = (cell % SIDE + SIDE - at % SIDE, cell / SIDE + SIDE - at / SIDE);
                *felt += sign * spread[y % SIDE * SIDE + x % SIDE];
            }
        };
        let cluster = |set: &[bool], felt: &[i64]| {
            let there = (0..CELLS).filter(|at| set[*at]);
            there.min_by_key(|at| (-felt[*at], *at)).unwrap()
        };
        let void = |set: &[bool], felt: &[i64]| {
            let free = (0..CELLS).filter(|at| !set[*at]);
            free.min_by_key(|at| (felt[*at], *at)).unwrap()
        };
        // Places by SplitMix64 from 0.
        let mut state = 0_u64;
        while set.iter().filter(|set| **set).count() < CELLS / 10 {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let at = ((z ^ (z >> 31)) % CELLS as u64) as usize;
            if !set[at] {
                turn(&mut set, &mut felt, at);
            }
        }
        loop {
            let from = cluster(&set, &felt);
            turn(&mut set, &mut felt, from);
            let to = void(&set, &felt);
            turn(&mut set, &mut felt, to);
            if from == to {
                break;
            }
        }
        let mut ranks = vec![0; CELLS];
        let (mut left, mut felt_left) = (set.clone(), felt.clone());
        for rank in (0..CELLS / 10).rev() {
            let at = cluster(&left, &felt_left);
            turn(&mut left, &mut felt_left, at);
            ranks[at] = rank as u64;
        }
        for rank in CELLS / 10..CELLS {
            let at = void(&set, &felt);
            turn(&mut set, &mut felt, at);
            ranks[at] = rank as u64;
        }
        ranks
    })
}

/// Dots on a grid that is turned. Pixels are told apart by where they lie along both vectors.
#[derive(Debug)]
pub(crate) struct Screen {
    text: String,
    vector: (i64, i64),
    /// The rank of each of the a² + b² pixels, by its place among [`Screen::class`].
    ranks: Vec<(i64, u64)>,
}

impl Screen {
    /// Dots so far apart in thousandths of a pixel, turned by hundredths of a degree, if they repeat soon. A pixel is a millimetre.
    fn new(apart: u32, degrees: i32, dot: &'static str) -> Option<Self> {
        let frequency = format!("{:.5}", 1_000.0 / f64::from(apart));
        let pitch = 1.0 / frequency.parse::<f64>().unwrap();
        let angle = (f64::from(degrees) / 100.0).to_radians();
        let wanted = (pitch * angle.cos(), pitch * angle.sin());
        let vectors = (1_i64..).map(|n| {
            let whole = |along: f64| (n as f64 * along).round();
            let (a, b) = (whole(wanted.0), whole(wanted.1));
            let off = (a / n as f64 - wanted.0).hypot(b / n as f64 - wanted.1) / pitch;
            ((a as i64, b as i64), n, off)
        });
        let area = |(a, b): (i64, i64)| a * a + b * b;
        let good = |(vector, _, off): &((i64, i64), i64, f64)| *off <= 1e-3 && area(*vector) >= 256;
        let soon = |(vector, _, _): &((i64, i64), i64, f64)| area(*vector) <= 1 << 14;
        let (vector, n, _) = vectors.take_while(soon).find(good)?;
        let (a, b) = vector;
        let all = area(vector);
        // The pixels of the rows that a period has, each once.
        let rows = gcd(a.abs(), b.abs());
        let mut pixels: Vec<(i64, i64, i64, i64)> = Vec::new();
        for y in 0..rows {
            for x in 0..all / rows {
                // From the middle of a dot to the next is from −1 to 1.
                let along = |middle: i64| (n * middle).rem_euclid(2 * all) - all;
                let s = along((2 * x + 1) * a - (2 * y + 1) * b);
                let t = along((2 * x + 1) * b + (2 * y + 1) * a);
                let value = match dot {
                    "round" => s * s + t * t,
                    "ellipse" => 4 * s * s + 9 * t * t,
                    "line" => t.abs(),
                    _ => s.abs() + t.abs(),
                };
                pixels.push((value, y, x, Self::class(vector, x, y)));
            }
        }
        pixels.sort_unstable();
        let mut ranks: Vec<(i64, u64)> = pixels
            .iter()
            .zip(0..)
            .map(|(pixel, rank)| (pixel.3, rank))
            .collect();
        ranks.sort_unstable();
        Some(Self {
            text: format!(
                " \"screen\" frequency=\"{frequency}lpmm\" angle={:.2} dot=\"{dot}\"",
                f64::from(degrees) / 100.0
            ),
            vector,
            ranks,
        })
    }

    /// What pixels have in common that lie a period apart, and no others.
    fn class((a, b): (i64, i64), x: i64, y: i64) -> i64 {
        let all = a * a + b * b;
        (x * a - y * b).rem_euclid(all) * all + (x * b + y * a).rem_euclid(all)
    }

    fn rank(&self, x: i64, y: i64) -> u64 {
        let class = Self::class(self.vector, x, y);
        let found = self.ranks.binary_search_by_key(&class, |rank| rank.0);
        self.ranks[found.expect("every pixel has a rank")].1
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// B₂ₙ = [4·Bₙ, 4·Bₙ + 2; 4·Bₙ + 3, 4·Bₙ + 1].
fn rank(size: u64, x: u64, y: u64) -> u64 {
    if size == 1 {
        return 0;
    }
    let half = size / 2;
    let quarter = match (x >= half, y >= half) {
        (false, false) => 0,
        (true, false) => 2,
        (false, true) => 3,
        (true, true) => 1,
    };
    4 * rank(half, x % half, y % half) + quarter
}

impl Node for Dither {
    const NAME: &'static str = "dither";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        match &self.by {
            Matrix::BlueNoise { spot } => format!(" \"blue-noise\" spot={spot}"),
            Matrix::Screen(screen) => screen.text.clone(),
            Matrix::Threshold(level) => format!(" \"threshold\" level={level}"),
            Matrix::Bayer { size, spot } => format!(" \"bayer\" size={size} spot={spot}"),
        }
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let (x, y) = (at.x as u64, at.y as u64);
        let (value, max) = (u64::from(at.child(0, at.x, at.y)), u64::from(at.max()));
        // Of so many places the one with this rank.
        let of = |rank: u64, places: u64| 2 * value * places > (2 * rank + 1) * max;
        let fires = match &self.by {
            Matrix::Threshold(level) => value >= u64::from(*level),
            Matrix::Bayer { size, spot } => of(rank(*size, x / spot % size, y / spot % size), size * size),
            Matrix::BlueNoise { spot } => {
                let (x, y) = (x / spot % SIDE as u64, y / spot % SIDE as u64);
                of(blue_noise()[y as usize * SIDE + x as usize], (SIDE * SIDE) as u64)
            }
            Matrix::Screen(screen) => of(screen.rank(at.x, at.y), screen.ranks.len() as u64),
        };
        if fires { at.max() } else { 0 }
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let matrix = prop_oneof![
            (0..=max).prop_map(Matrix::Threshold),
            (select(&[2_u64, 4, 8, 16][..]), 1_u64..4).prop_map(|(size, spot)| Matrix::Bayer { size, spot }),
            (1_u64..4).prop_map(|spot| Matrix::BlueNoise { spot }),
            (
                2_500_u32..14_000,
                prop_oneof![1 => select(&[0, 4_500, 9_000, -4_500][..]), 3 => -18_000..18_000],
                select(&["round", "ellipse", "line", "diamond"][..])
            )
                .prop_filter_map("repeats late", |(apart, degrees, dot)| {
                    Some(Matrix::Screen(Arc::new(Screen::new(apart, degrees, dot)?)))
                }),
        ];
        let any = (matrix, inner.item.clone()).prop_map(|(by, source)| Self {
            by,
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}
