//! Error diffusion (R. W. Floyd, L. Steinberg, "An adaptive algorithm for spatial grayscale", 1976), in integers.
//!
//! With a(i, j) the sum of weight · error that pixel (i, j) has been given, in sixteenths: w = v + ⌊(a + 8) / 16⌋, the
//! output is M where 2·w > M, else 0, and the error w − output goes 7 to the right, 3, 5, 1 to the left, the middle
//! and the right of the next line. What would leave the raster is lost. All lines run from the first pixel to the
//! last: a line depends on the one before, so diffusion is the one screen that cannot begin anywhere.

use relief_raster::Sample;

/// What the lines done so far hand on to the next.
#[derive(Debug)]
pub(crate) struct Diffusion {
    /// a of the next line, with a place more at both ends.
    next: Vec<i32>,
    below: Vec<i32>,
}

impl Diffusion {
    /// Before the first line of `length` pixels.
    pub(crate) fn new(length: usize) -> Self {
        Self {
            next: vec![0; length + 2],
            below: vec![0; length + 2],
        }
    }

    /// After lines that left these errors, one for each pixel and a place more at both ends.
    pub(crate) fn after(errors: &[i32]) -> Self {
        Self {
            next: errors.to_vec(),
            below: vec![0; errors.len()],
        }
    }

    /// What the next line is given.
    pub(crate) fn errors(&self) -> &[i32] {
        &self.next
    }

    /// The bytes it holds.
    pub(crate) const fn memory(length: u64) -> u64 {
        length.saturating_add(2).saturating_mul(8)
    }

    /// Screens the next line in place.
    pub(crate) fn line<S: Sample>(&mut self, samples: &mut [S]) {
        let max = i32::from(S::DEPTH.max());
        let (count, mut before, mut last) = (samples.len(), 0, 0);
        // The pixel below and to the left has all that it will be given once this one is done: errors stay in
        // registers and every sum is stored once.
        for ((sample, given), below) in samples.iter_mut().zip(&self.next[1..]).zip(&mut self.below) {
            let wanted = i32::from(sample.to_u16()) + ((given + 7 * last + 8) >> 4);
            let on = 2 * wanted > max;
            let error = wanted - if on { max } else { 0 };
            *sample = if on { S::MAX } else { S::ZERO };
            *below = 3 * error + 5 * last + before;
            (before, last) = (last, error);
        }
        self.below[count] = 5 * last + before;
        self.below[count + 1] = last;
        std::mem::swap(&mut self.next, &mut self.below);
    }
}
