//! Blue-noise matrices by void and cluster (R. Ulichney, "The void-and-cluster method for dither array generation",
//! 1993).
//!
//! Every pixel that is set spreads a Gaussian over the torus; the tightest cluster is the set pixel with the most of
//! it, the largest void the unset one with the least. The Gaussian is rounded once to integers, so that sums do not
//! depend on their order and the matrix is the same on every machine; ties go to the lower index. The last third,
//! which Ulichney ranks by clusters of unset pixels, follows the same voids here: with a fixed sum of the Gaussian
//! over the torus the two are the same choice.
//!
//! The rounded Gaussian is 0 beyond ten pixels, so that a pixel changes 21 rows. Of each row the cluster and the void are kept: a
//! matrix of 256 × 256 is made in less than a second.

use std::sync::OnceLock;

/// σ of Ulichney's paper.
const SIGMA: f64 = 1.5;

/// The rounded Gaussian is 0 beyond so many pixels: e^(−d² / 2σ²) < 2⁻³⁰ there.
const REACH: usize = 10;

/// The ranks 0…4 095 of a 64 × 64 matrix, row by row; made once.
#[must_use]
pub fn blue_noise() -> &'static [u32] {
    static RANKS: OnceLock<Vec<u32>> = OnceLock::new();
    RANKS.get_or_init(|| make(64))
}

/// The ranks 0…65 535 of a 256 × 256 matrix, row by row; made once. No pattern shows where the one of 64 repeats.
#[must_use]
pub fn blue_noise_of_256() -> &'static [u32] {
    static RANKS: OnceLock<Vec<u32>> = OnceLock::new();
    RANKS.get_or_init(|| make(256))
}

/// A pixel and its energy.
type Extreme = Option<(i64, usize)>;

struct Torus {
    side: usize,
    set: Vec<bool>,
    energy: Vec<i64>,
    /// The Gaussian over the square within reach.
    gauss: Vec<i64>,
    /// Of each row the set pixel of most energy, and the unset one of least, with their energies.
    clusters: Vec<Extreme>,
    voids: Vec<Extreme>,
}

impl Torus {
    fn new(side: usize) -> Self {
        let distance = |d: usize| d as f64 - REACH as f64;
        let square = 2 * REACH + 1;
        let gauss = (0..square * square).map(|cell| {
            let (x, y) = (distance(cell % square), distance(cell / square));
            (libm::exp(-(x * x + y * y) / (2.0 * SIGMA * SIGMA)) * f64::from(1 << 30)) as i64
        });
        let mut torus = Self {
            side,
            set: vec![false; side * side],
            energy: vec![0; side * side],
            gauss: gauss.collect(),
            clusters: vec![None; side],
            voids: vec![None; side],
        };
        (0..side).for_each(|row| torus.look(row));
        torus
    }

    fn put(&mut self, cell: usize, set: bool) {
        let side = self.side;
        self.set[cell] = set;
        let (column, row) = (cell % side, cell / side);
        let sign = if set { 1 } else { -1 };
        let square = 2 * REACH + 1;
        for down in 0..square {
            let y = (row + side + down - REACH) % side;
            let line = &mut self.energy[y * side..][..side];
            for (ahead, gauss) in self.gauss[down * square..][..square].iter().enumerate() {
                line[(column + side + ahead - REACH) % side] += sign * gauss;
            }
            self.look(y);
        }
    }

    /// Finds the cluster and the void of a row anew.
    fn look(&mut self, row: usize) {
        let cells = row * self.side..(row + 1) * self.side;
        let (mut cluster, mut void): (Extreme, Extreme) = (None, None);
        for cell in cells {
            let energy = self.energy[cell];
            if self.set[cell] {
                if cluster.is_none_or(|(most, _)| energy > most) {
                    cluster = Some((energy, cell));
                }
            } else if void.is_none_or(|(least, _)| energy < least) {
                void = Some((energy, cell));
            }
        }
        self.clusters[row] = cluster;
        self.voids[row] = void;
    }

    fn cluster(&self) -> usize {
        let mut best = (i64::MIN, 0);
        for &(energy, cell) in self.clusters.iter().flatten() {
            if energy > best.0 {
                best = (energy, cell);
            }
        }
        best.1
    }

    fn void(&self) -> usize {
        let mut best = (i64::MAX, 0);
        for &(energy, cell) in self.voids.iter().flatten() {
            if energy < best.0 {
                best = (energy, cell);
            }
        }
        best.1
    }
}

fn make(side: usize) -> Vec<u32> {
    let cells = side * side;
    // A tenth of the pixels are set at first.
    let initial = cells / 10;
    let mut torus = Torus::new(side);
    scatter(&mut torus, initial);
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
    let mut ranks = vec![0; cells];
    let even = torus.set.clone();
    for rank in (0..initial).rev() {
        let cluster = torus.cluster();
        torus.put(cluster, false);
        ranks[cluster] = rank as u32;
    }
    (0..cells)
        .filter(|&cell| even[cell])
        .for_each(|cell| torus.put(cell, true));
    for rank in initial..cells {
        let void = torus.void();
        torus.put(void, true);
        ranks[void] = rank as u32;
    }
    ranks
}

/// Sets the first pixels at places drawn by SplitMix64.
fn scatter(torus: &mut Torus, mut left: usize) {
    let cells = torus.set.len();
    let mut state = 0_u64;
    while left > 0 {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        let cell = (mixed ^ mixed >> 31) as usize % cells;
        if !torus.set[cell] {
            torus.put(cell, true);
            left -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Void and cluster as the paper has it, everything over the whole torus each time.
    fn by_the_paper(side: usize) -> Vec<u32> {
        let cells = side * side;
        let gauss = |one: usize, other: usize| {
            let along = |a: usize, b: usize| {
                let d = a.abs_diff(b);
                d.min(side - d) as f64
            };
            let (x, y) = (along(one % side, other % side), along(one / side, other / side));
            (libm::exp(-(x * x + y * y) / 4.5) * f64::from(1 << 30)) as i64
        };
        let mut torus = Torus::new(side);
        scatter(&mut torus, cells / 10);
        let mut set = torus.set;
        let table: Vec<i64> = (0..cells).map(|cell| gauss(0, cell)).collect();
        let energy = |set: &[bool], at: usize| -> i64 {
            let others = (0..cells).filter(|&cell| set[cell]);
            let apart = |cell: usize| {
                let (x, y) = (
                    (cell % side + side - at % side) % side,
                    (cell / side + side - at / side) % side,
                );
                table[y * side + x]
            };
            others.map(apart).sum()
        };
        let extreme = |set: &[bool], of: bool, sign: i64| {
            let places = (0..cells).filter(|&cell| set[cell] == of);
            places
                .min_by_key(|&cell| (sign * energy(set, cell), cell))
                .unwrap_or(0)
        };
        loop {
            let cluster = extreme(&set, true, -1);
            set[cluster] = false;
            let void = extreme(&set, false, 1);
            set[void] = true;
            if void == cluster {
                break;
            }
        }
        let mut ranks = vec![0; cells];
        let even = set.clone();
        for rank in (0..cells / 10).rev() {
            let cluster = extreme(&set, true, -1);
            set[cluster] = false;
            ranks[cluster] = rank as u32;
        }
        set = even;
        for rank in cells / 10..cells {
            let void = extreme(&set, false, 1);
            set[void] = true;
            ranks[void] = rank as u32;
        }
        ranks
    }

    #[test]
    fn rows_that_are_remembered_change_no_rank() {
        // The least side of which the reach is not more than half.
        for side in [21, 24] {
            assert_eq!(make(side), by_the_paper(side), "{side}");
        }
    }
}
