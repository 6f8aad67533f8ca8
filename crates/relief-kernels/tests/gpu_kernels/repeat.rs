//! Repeats on a device against the definition, sample by sample.

use relief_kernels::device::Gpu;
use relief_kernels::policy::Tuning;
use relief_kernels::repeat::gpu::{Cell, Raster, SPACE, default, expand, expand_with};

use crate::support::{Random, device};

const UNTOUCHED: u32 = 0x5A5A_5A5A;

struct Case {
    bits: u32,
    /// Width, height and pitch of the cell.
    cell: (u32, u32, u32),
    origin: (u64, u64),
    /// Width, height and vectors between rows of the raster.
    to: (u32, u32, u32),
}

impl Case {
    fn is_right(&self, gpu: &Gpu, tuning: Tuning) {
        let Self {
            bits,
            cell,
            origin,
            to,
        } = *self;
        let (per, side) = (32 / bits, 128 / bits);
        let mut random = Random::new(u64::from(cell.0 + 3 * cell.1));
        let words: Vec<u32> = (0..(cell.2 * cell.1).div_ceil(per))
            .map(|_| random.next().wrapping_mul(3))
            .collect();
        let sample = |x: u64, y: u64| {
            let place = (y % u64::from(cell.1)) as u32 * cell.2 + (x % u64::from(cell.0)) as u32;
            words[(place / per) as usize] >> (place % per * bits) & (u32::MAX >> (32 - bits))
        };
        let pitch = (to.0.div_ceil(side) + to.2) * 4;
        let count = (pitch * to.1) as usize;
        let buffers = (
            gpu.upload(&words).unwrap(),
            gpu.upload(&vec![UNTOUCHED; count + 64]).unwrap(),
        );
        let from = Cell {
            buffer: &buffers.0,
            width: cell.0,
            height: cell.1,
            pitch: cell.2,
        };
        let raster = Raster {
            buffer: &buffers.1,
            width: to.0,
            height: to.1,
            pitch,
        };
        expand_with(gpu, tuning, bits, from, origin, raster).unwrap();
        let bytes = gpu.read(&buffers.1, count + 64).wait().unwrap();
        let found = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        for (place, found) in found.enumerate() {
            let (j, k) = (place as u32 / pitch, place as u32 % pitch);
            let inside = place < count && k < to.0.div_ceil(side) * 4;
            let word =
                |b: u32| sample(origin.0 + u64::from(k * per + b), origin.1 + u64::from(j)) << (b * bits);
            let expected = if inside {
                (0..per).fold(0, |all, b| all | word(b))
            } else {
                UNTOUCHED
            };
            assert_eq!(
                found, expected,
                "word {k} of row {j}: {bits} bits, a cell of {cell:?} from {origin:?} over {to:?}, {tuning}"
            );
        }
    }
}

#[test]
fn cells_of_all_sizes_are_repeated_and_nothing_else_is_written() {
    let Some(gpu) = device() else { return };
    for bits in [8, 16, 32] {
        for (cell, origin, to) in [
            ((1, 1, 1), (0, 0), (1, 1, 0)),
            ((3, 5, 3), (2, 4), (100, 61, 1)),
            ((16, 16, 16), (0, 0), (64, 64, 0)),
            ((17, 2, 19), (1 << 40, 7), (1_100, 33, 0)),
            ((100, 100, 100), (99, 99), (257, 250, 2)),
            ((5, 300, 8), (0, 299), (40, 31, 0)),
            ((2_000, 3, 2_001), (1_999, 1), (70, 70, 0)),
            // Vectors of the cell are vectors of the raster.
            ((48, 5, 64), (32, 3), (150, 41, 1)),
            ((64, 32, 64), (1 << 40, 5), (1_024, 256, 0)),
            // Words of the cell are words of the raster, and pairs are pairs; or all but the origin, or the pitch.
            ((20, 6, 28), (4, 5), (150, 41, 1)),
            ((10, 7, 14), (1 << 33, 3), (200, 33, 0)),
            ((20, 6, 20), (5, 5), (150, 41, 1)),
            ((12, 6, 15), (8, 1), (150, 41, 1)),
            // Fewer than two copies down, and as many units as there are vectors.
            ((7, 40, 9), (3, 39), (200, 80, 0)),
            ((64, 32, 65), (1, 5), (1_024, 256, 0)),
            // More rows, and more copies, than an axis of a grid has cubes.
            ((3, 66_000, 3), (1, 65_999), (4, 66_001, 0)),
            ((2, 1, 2), (1, 0), (5, 600_000, 0)),
        ] {
            let case = Case {
                bits,
                cell,
                origin,
                to,
            };
            case.is_right(&gpu, default(bits, 1, 0, Some(gpu.report())));
        }
    }
}

#[test]
fn every_layout_computes_the_same() {
    let Some(gpu) = device() else { return };
    let case = Case {
        bits: 8,
        cell: (13, 7, 13),
        origin: (5, 6),
        to: (1_300, 205, 1),
    };
    for tuning in SPACE.all() {
        case.is_right(&gpu, tuning);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = device() else { return };
    let buffer = gpu.buffer(64).unwrap();
    let is_refused = |bits, cell: (u32, u32, u32), to: (u32, u32, u32)| {
        let cell = Cell {
            buffer: &buffer,
            width: cell.0,
            height: cell.1,
            pitch: cell.2,
        };
        let to = Raster {
            buffer: &buffer,
            width: to.0,
            height: to.1,
            pitch: to.2,
        };
        assert!(
            expand(&gpu, bits, cell, (0, 0), to).is_err(),
            "{bits} {cell:?} {to:?}"
        );
    };
    is_refused(8, (0, 1, 1), (16, 1, 4));
    is_refused(8, (1, 0, 1), (16, 1, 4));
    is_refused(8, (16, 17, 16), (16, 1, 4));
    is_refused(8, (16, 1, 16), (16, 17, 4));
    is_refused(8, (16, 1, 16), (17, 1, 4));
    is_refused(8, (16, 1, 16), (16, 1, 5));
    is_refused(4, (16, 1, 16), (16, 1, 4));
    is_refused(32, (u32::MAX, u32::MAX, u32::MAX), (16, 1, 64));
    is_refused(32, (1, 1, 1), (u32::MAX, u32::MAX, u32::MAX - 3));
    is_refused(32, (1, 1, 1), (0, (1 << 26) + 1, 0));
}
