//! Map: every element computed from the elements at its own place: a sum, a multiple, a gray.
//!
//! Each element is loaded once and stored once, and little is computed, so the bound is the bandwidth of memory: what
//! matters is how wide loads are, how many are on the way at once, and that stores need not read first. Tables are a
//! family of their own, [`table`](relief_kernels::table).
//!
//! **Gray** of red, green and blue is defined in integers, as images are read everywhere in Relief:
//! (2126 r + 7152 g + 722 b + 5000) / 10000, rounded down, the luma weights of ITU-R BT.709. The numerator n is at most
//! 2 555 000, so (n + ½)·10⁻⁴ in f32 rounds down to the same: n + ½ is exact, the product is off by less than 2.4·10⁻⁵,
//! and it lies at least 5·10⁻⁵ from any whole number.
//!
//! ```
//! use relief_numeric::map::cpu;
//!
//! let mut out = [0.0; 3];
//! cpu::add(&[1.0, 2.0, 3.0], &[0.5, 0.5, 0.5], &mut out);
//! assert_eq!(out, [1.5, 2.5, 3.5]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;

/// The gray of a colour, 0…255 each.
#[inline(always)]
#[must_use]
pub const fn gray(r: u8, g: u8, b: u8) -> u8 {
    ((2126 * r as u32 + 7152 * g as u32 + 722 * b as u32 + 5000) / 10_000) as u8
}
