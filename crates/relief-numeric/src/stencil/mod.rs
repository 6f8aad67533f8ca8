//! Stencils: every pixel computed from the pixels around it: means, weighted means, edges, extremes.
//!
//! | filter | result at (x, y), over the square of 2r + 1 pixels around it | integers of 8 bits |
//! |---|---|---|
//! | box | mean | sum / (2r + 1)², to the nearest; never half-way, for the divisor is odd |
//! | Gauss | mean weighted by exp(−(dx² + dy²) / 2σ²) | see [`GaussWeights`] |
//! | Sobel | \|gx\| + \|gy\|, r = 1 | at most 255 |
//! | convolution | Σ w(dy, dx) · in(x + dx, y + dy) / 2^s | half-way upwards, within 0…255 |
//! | erosion, dilation | the least, the greatest | the same |
//!
//! gx is the difference of the columns right and left, weighted 1, 2, 1 down the rows; gy that of the rows below and above.
//! Pixels outside of the picture are the nearest ones inside (replicated), so a pixel lies outside by columns and rows
//! apart.
//!
//! **Exactness.** Results of 8 bits are exact. Those of f32 are sums in some order: on a CPU one that depends on the
//! place of a pixel alone, so not on threads and parts; on one without a fused multiply-add and on devices another, so that they agree to about 10⁻⁵ of the greatest
//! number summed. A sum never goes by adding what enters and taking away what leaves: what was rounded off would stay.
//! Erosion and dilation of f32 are exact but for NaN, for which nothing is promised.
//!
//! **How.** All of them read and write a pixel once from afar, whatever the radius; the bound is the bandwidth of memory.
//! Columns first, then rows. Least, greatest and sum over a window that slides are taken from two running results, one
//! backwards from a fixed place of the window and one forwards (van Herk 1992; Gil and Werman 1993): three operations for a
//! pixel and direction whatever the window.
//!
//! ```
//! use relief_numeric::stencil::{Filter, Shape, cpu};
//!
//! let shape = Shape { width: 3, height: 3, pitch: 3 };
//! let picture = cpu::Picture::new(&[0_u8, 0, 0, 0, 90, 0, 0, 0, 0], shape).unwrap();
//! let mean = Filter::Box(1);
//! let mut out = [0; 9];
//! let mut scratch = vec![0; cpu::scratch_words(&mean)];
//! cpu::apply(&mean, picture, 0..3, &mut out, 3, &mut scratch);
//! assert_eq!(out, [10; 9]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;

/// The greatest radius of a box, an erosion or a dilation, in pixels.
///
/// The sum of a square of 8-bit samples is then exact in f32, and so is its mean: see [`mean`].
pub const MAX_RADIUS: u32 = 63;

/// The greatest radius of a convolution, in pixels.
pub const MAX_MASK_RADIUS: u32 = 7;

/// The greatest σ of a Gauss filter, in pixels.
pub const MAX_SIGMA: f64 = 8.0;

/// What is computed from a pixel's surroundings.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// The mean of the square of this radius, at most [`MAX_RADIUS`].
    Box(u32),
    /// The mean weighted by a bell.
    Gauss(GaussWeights),
    /// |gx| + |gy|.
    Sobel,
    /// A weighted sum.
    Convolution(Mask),
    /// The least of the square of this radius, at most [`MAX_RADIUS`].
    Erosion(u32),
    /// The greatest of the square of this radius, at most [`MAX_RADIUS`].
    Dilation(u32),
}

impl Filter {
    /// How far it looks, in pixels.
    #[must_use]
    pub fn radius(&self) -> u32 {
        match self {
            Self::Box(radius) | Self::Erosion(radius) | Self::Dilation(radius) => *radius,
            Self::Gauss(weights) => weights.radius(),
            Self::Sobel => 1,
            Self::Convolution(mask) => mask.radius,
        }
    }

    /// Whether its radius is one that kernels have.
    #[must_use]
    pub fn is_supported(&self) -> bool {
        match self {
            Self::Box(radius) | Self::Erosion(radius) | Self::Dilation(radius) => *radius <= MAX_RADIUS,
            Self::Gauss(_) | Self::Sobel | Self::Convolution(_) => true,
        }
    }
}

/// The weights of a Gauss filter along one axis.
///
/// For f32 they are exp(−k² / 2σ²) for |k| ≤ 4σ (rounded to whole pixels), divided by their sum. For 8 bits they are whole
/// 256ths: from the outermost inwards each is rounded to the nearest, and what was rounded off is added to the next; the one in
/// the middle takes the rest, so that they sum to 256. Both directions are summed exactly and the result is rounded once, half-way
/// upwards. These are the weights and the result of OpenCV's `GaussianBlur` of 8-bit samples with a kernel of 8σ + 1.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussWeights {
    real: Vec<f32>,
    whole: Vec<u16>,
}

impl GaussWeights {
    /// The weights for this σ in pixels; nothing where it is not in 0.1…[`MAX_SIGMA`].
    #[must_use]
    pub fn new(sigma: f64) -> Option<Self> {
        if !(0.1..=MAX_SIGMA).contains(&sigma) {
            return None;
        }
        let radius = (4.0 * sigma).round() as usize;
        let bell = |k: usize| (-((k * k) as f64) / (2.0 * sigma * sigma)).exp();
        let sum = bell(0) + 2.0 * (1..=radius).map(bell).sum::<f64>();
        let real = (0..=radius).map(|k| (bell(k) / sum) as f32).collect();
        let mut whole = vec![0; radius + 1];
        let mut error = 0.0;
        for k in (1..=radius).rev() {
            let exact = 256.0 * bell(k) / sum + error;
            error = exact - exact.round();
            whole[k] = exact.round() as u16;
        }
        whole[0] = 256 - 2 * whole.iter().sum::<u16>();
        let used = whole.iter().rposition(|weight| *weight > 0).unwrap_or(0);
        whole.truncate(used + 1);
        Some(Self { real, whole })
    }

    /// How far the weights of f32 reach, in pixels.
    #[must_use]
    pub fn radius(&self) -> u32 {
        self.real.len() as u32 - 1
    }

    /// The weights of f32, by distance from the middle.
    #[must_use]
    pub fn real(&self) -> &[f32] {
        &self.real
    }

    /// The weights of 8-bit samples in 256ths, by distance from the middle; the last is not 0.
    #[must_use]
    pub fn whole(&self) -> &[u16] {
        &self.whole
    }
}

/// The weights of a convolution: rows of 2r + 1 whole numbers, all divided by a power of two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mask {
    radius: u32,
    shift: u32,
    weights: Vec<i16>,
}

impl Mask {
    /// (2r + 1)² weights, row after row from the top left, each of them over 2^`shift`. Nothing where the radius exceeds
    /// [`MAX_MASK_RADIUS`], the number of weights is another, `shift` exceeds 15, or their sizes sum to more than 65 535: then
    /// sums of 8-bit samples are exact in f32.
    #[must_use]
    pub fn new(radius: u32, weights: &[i16], shift: u32) -> Option<Self> {
        let side = 2 * radius.min(MAX_MASK_RADIUS) as usize + 1;
        if radius > MAX_MASK_RADIUS || weights.len() != side * side || shift > 15 {
            return None;
        }
        let sizes = weights.iter().map(|weight| u32::from(weight.unsigned_abs()));
        (sizes.sum::<u32>() <= 65_535).then(|| Self {
            radius,
            shift,
            weights: weights.to_vec(),
        })
    }

    /// How far it reaches, in pixels.
    #[must_use]
    pub const fn radius(&self) -> u32 {
        self.radius
    }

    /// The binary logarithm of what weights are divided by.
    #[must_use]
    pub const fn shift(&self) -> u32 {
        self.shift
    }

    /// The weights, row after row.
    #[must_use]
    pub fn weights(&self) -> &[i16] {
        &self.weights
    }
}

/// The size of a picture and how it lies in memory, in samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// From the start of a row to that of the next; at least `width`.
    pub pitch: usize,
}

impl Shape {
    /// The samples of memory that it takes; nothing where rows overlap or no memory would do.
    #[must_use]
    pub fn samples(&self) -> Option<usize> {
        if self.pitch < self.width {
            return None;
        }
        match self.height.checked_sub(1) {
            Some(rows) if self.width > 0 => rows.checked_mul(self.pitch)?.checked_add(self.width),
            _ => Some(0),
        }
    }
}

/// The mean of `divisor` 8-bit samples from their sum, to the nearest, by a multiplication in f32.
///
/// `divisor` is odd and at most 127², and `inverse` is its inverse. sum + divisor/2 is a whole number of halves below 2^22,
/// so exact. Its quotient lies at least 0.5/127² = 3.1·10⁻⁵ from any whole number. `inverse` and the product are each off by
/// at most 2⁻²⁴ of the quotient, which is below 256: together 3.06·10⁻⁵.
#[inline(always)]
#[must_use]
pub fn mean(sum: u32, divisor: u32, inverse: f32) -> u8 {
    ((sum as f32 + 0.5 * divisor as f32) * inverse) as u8
}
