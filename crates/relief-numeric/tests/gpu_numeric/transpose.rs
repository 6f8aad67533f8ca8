//! Transposes on a device against the definition, element by element.

use relief_kernels::device::{DeviceError, Gpu};
use relief_kernels::policy::Tuning;
use relief_numeric::transpose::gpu::{Matrix, Route, default, space, transpose, transpose_with};

use crate::support::{Random, device};

const UNTOUCHED: u32 = 0xA5A5_A5A5;

/// A matrix of random samples in words, rows at the given pitch; what lies between rows is random too.
struct Case {
    bits: u32,
    size: (u32, u32),
    pitches: (u32, u32),
    words: Vec<u32>,
}

impl Case {
    /// Rows `gap` vectors longer than they need be.
    fn new(bits: u32, size: (u32, u32), gap: (u32, u32)) -> Self {
        let vectors = |samples: u32| samples.div_ceil(128 / bits);
        let pitches = ((vectors(size.0) + gap.0) * 4, (vectors(size.1) + gap.1) * 4);
        let mut random = Random::new(u64::from(size.0 * 7 + size.1 + bits));
        let words = (0..pitches.0 * size.1)
            .map(|_| random.next().wrapping_mul(5))
            .collect();
        Self {
            bits,
            size,
            pitches,
            words,
        }
    }

    fn sample(&self, x: u32, y: u32) -> u32 {
        let per = 32 / self.bits;
        let word = self.words[(y * self.pitches.0 + x / per) as usize];
        word >> (x % per * self.bits) & (u32::MAX >> (32 - self.bits))
    }

    /// Word `k` of row `x` of the result, or nothing where it is left as it is.
    fn expected(&self, x: u32, k: u32) -> Option<u32> {
        let per = 32 / self.bits;
        if k >= self.size.1.div_ceil(128 / self.bits) * 4 {
            return None;
        }
        let rows = (0..per)
            .map(|i| (i, k * per + i))
            .filter(|(_, y)| *y < self.size.1);
        Some(rows.fold(0, |word, (i, y)| word | self.sample(x, y) << (i * self.bits)))
    }

    fn is_right(&self, gpu: &Gpu, tuning: Tuning, route: Route) {
        let from = gpu.upload(&self.words).unwrap();
        let words = (self.pitches.1 * self.size.0) as usize;
        let to = gpu.upload(&vec![UNTOUCHED; words + 64]).unwrap();
        let matrix = |buffer, pitch| Matrix { buffer, pitch };
        let (from, matrix_to) = (matrix(&from, self.pitches.0), matrix(&to, self.pitches.1));
        transpose_with(gpu, tuning, route, self.bits, self.size, from, matrix_to).unwrap();
        let bytes = gpu.read(&to, words + 64).wait().unwrap();
        let found = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        for (place, found) in found.enumerate() {
            let (x, k) = (place as u32 / self.pitches.1, place as u32 % self.pitches.1);
            let expected = if place < words { self.expected(x, k) } else { None };
            assert_eq!(
                found,
                expected.unwrap_or(UNTOUCHED),
                "word {k} of row {x}, {:?} samples of {} bits, {tuning}, {route:?}",
                self.size,
                self.bits
            );
        }
    }
}

#[test]
fn matrices_of_all_shapes_are_transposed_and_nothing_else_is_written() {
    let Some(gpu) = device() else { return };
    for bits in [8, 16, 32] {
        for (size, gap) in [
            ((1, 1), (0, 0)),
            ((1, 300), (0, 1)),
            ((300, 1), (2, 0)),
            ((17, 15), (1, 3)),
            ((128, 128), (0, 0)),
            ((130, 257), (0, 0)),
            ((512, 33), (5, 1)),
            ((150, 1_200), (0, 0)),
        ] {
            let case = Case::new(bits, size, gap);
            case.is_right(&gpu, default(bits), Route::Shared);
            case.is_right(&gpu, default(bits), Route::Registers);
        }
    }
}

#[test]
fn every_layout_that_the_device_takes_computes_the_same() {
    let Some(gpu) = device() else { return };
    for bits in [8, 16, 32] {
        let case = Case::new(bits, (199, 333), (0, 1));
        let from = gpu.buffer(4).unwrap();
        let mut ran = 0;
        for tuning in space(bits).all() {
            // Whether it runs here is asked of a matrix of nothing.
            let nothing = Matrix {
                buffer: &from,
                pitch: 0,
            };
            if transpose_with(&gpu, tuning, Route::Shared, bits, (0, 0), nothing, nothing).is_ok() {
                case.is_right(&gpu, tuning, Route::Shared);
                ran += 1;
            }
        }
        assert!(ran >= 3, "{ran} layouts for {bits} bits");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = device() else { return };
    let buffer = gpu.buffer(1_024).unwrap();
    let matrix = |pitch| Matrix {
        buffer: &buffer,
        pitch,
    };
    let is_refused = |bits, size, from, to| {
        let refused = transpose(&gpu, bits, size, matrix(from), matrix(to)).is_err();
        assert!(refused, "{bits} bits, {size:?}, {from}, {to}");
    };
    is_refused(8, (64, 65), 16, 20);
    is_refused(8, (65, 64), 16, 16);
    is_refused(8, (64, 64), 18, 16);
    is_refused(8, (64, 64), 16, 12);
    is_refused(12, (4, 4), 4, 4);
    is_refused(32, (u32::MAX, u32::MAX), u32::MAX - 3, u32::MAX - 3);
    let foreign = transpose_with(&gpu, default(32), Route::Shared, 8, (4, 4), matrix(4), matrix(4));
    assert!(foreign.is_err());
    let in_place = transpose(&gpu, 8, (64, 64), matrix(16), matrix(16));
    assert!(
        matches!(in_place, Err(DeviceError::Overlap { .. })),
        "{in_place:?}"
    );
    let other = gpu.buffer(1_024).unwrap();
    let other = Matrix {
        buffer: &other,
        pitch: 16,
    };
    transpose(&gpu, 8, (64, 64), matrix(16), other).unwrap();
}
