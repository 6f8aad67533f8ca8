//! A blue-noise matrix by void and cluster (R. Ulichney, "The void-and-cluster method for dither array generation",
//! 1993).
//!
//! Every pixel that is set spreads a Gaussian over the torus; the tightest cluster is the set pixel with the most of
//! it, the largest void the unset one with the least. The Gaussian is rounded once to integers, so that sums do not
//! depend on their order and the matrix is the same on every machine; ties go to the lower index. The last third,
//! which Ulichney ranks by clusters of unset pixels, follows the same voids here: with a fixed sum of the Gaussian
//! over the torus the two are the same choice.

use std::sync::OnceLock;

/// Rows and columns of the matrix.
pub(crate) const SIDE: usize = 64;
const CELLS: usize = SIDE * SIDE;
/// σ of Ulichney's paper.
const SIGMA: f64 = 1.5;
/// A tenth of the pixels are set at first.
const INITIAL: usize = CELLS / 10;

/// The ranks 0…4 095 of a 64 × 64 matrix, row by row; made once.
#[must_use]
pub fn blue_noise() -> &'static [u32] {
    static RANKS: OnceLock<Vec<u32>> = OnceLock::new();
    RANKS.get_or_init(make)
}

struct Torus {
    set: Vec<bool>,
    energy: Vec<i64>,
    gauss: Vec<i64>,
}

impl Torus {
    fn new() -> Self {
        let distance = |d: usize| d.min(SIDE - d) as f64;
        let gauss = (0..CELLS).map(|cell| {
            let (x, y) = (distance(cell % SIDE), distance(cell / SIDE));
            (libm::exp(-(x * x + y * y) / (2.0 * SIGMA * SIGMA)) * f64::from(1 << 30)) as i64
        });
        Self {
            set: vec![false; CELLS],
            energy: vec![0; CELLS],
            gauss: gauss.collect(),
        }
    }

    fn put(&mut self, cell: usize, set: bool) {
        self.set[cell] = set;
        let (column, row) = (cell % SIDE, cell / SIDE);
        let sign = if set { 1 } else { -1 };
        for (y, energies) in self.energy.chunks_exact_mut(SIDE).enumerate() {
            let gauss = &self.gauss[(y + SIDE - row) % SIDE * SIDE..][..SIDE];
            for (x, energy) in energies.iter_mut().enumerate() {
                *energy += sign * gauss[(x + SIDE - column) % SIDE];
            }
        }
    }

    fn cluster(&self) -> usize {
        self.extreme(true, |energy| -energy)
    }

    fn void(&self) -> usize {
        self.extreme(false, |energy| energy)
    }

    /// The first pixel, set or not, of the least value.
    fn extreme(&self, set: bool, value: impl Fn(i64) -> i64) -> usize {
        let mut best = (i64::MAX, 0);
        for (cell, &energy) in self.energy.iter().enumerate() {
            if self.set[cell] == set && value(energy) < best.0 {
                best = (value(energy), cell);
            }
        }
        best.1
    }
}

fn make() -> Vec<u32> {
    let mut torus = Torus::new();
    scatter(&mut torus);
    // Even out: move the tightest cluster to the largest void until it would go back.
    loop {
        let cluster = torus.cluster();
        torus.put(cluster, false);
        let void = torus.void();
        torus.put(void, true);
        if void == cluster {
            break;
        }
    }
    let mut ranks = vec![0; CELLS];
    let even = torus.set.clone();
    for rank in (0..INITIAL).rev() {
        let cluster = torus.cluster();
        torus.put(cluster, false);
        ranks[cluster] = rank as u32;
    }
    (0..CELLS)
        .filter(|&cell| even[cell])
        .for_each(|cell| torus.put(cell, true));
    for rank in INITIAL..CELLS {
        let void = torus.void();
        torus.put(void, true);
        ranks[void] = rank as u32;
    }
    ranks
}

/// Sets the first pixels at places drawn by SplitMix64.
fn scatter(torus: &mut Torus) {
    let (mut state, mut left) = (0_u64, INITIAL);
    while left > 0 {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        let cell = (mixed ^ mixed >> 31) as usize % CELLS;
        if !torus.set[cell] {
            torus.put(cell, true);
            left -= 1;
        }
    }
}
