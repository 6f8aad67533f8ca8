//! a · b + c, in one instruction where the machine has it.
//!
//! Fused, the product is not rounded, so sums of f32 have other bits on machines that have such an instruction than on those
//! without; sums of whole numbers below 2^24 have the same. Without it the exact function would be a call for each product.

use relief_kernels::isa::{Isa, Level};

/// Whether products are fused with their sums.
pub(super) trait Product {
    /// a · b + c.
    fn plus(a: f32, b: f32, c: f32) -> f32;
}

/// In one instruction.
pub(super) struct Fused;

/// In two.
pub(super) struct Apart;

impl Product for Fused {
    #[inline(always)]
    fn plus(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

impl Product for Apart {
    #[inline(always)]
    fn plus(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

/// Whether the machine has the instruction.
pub(super) fn is_fused(isa: Isa) -> bool {
    cfg!(target_arch = "aarch64") || isa.level() != Level::Portable
}

/// Calls a function compiled for each [`Isa`] and each [`Product`]: `with_products!(name(isa, arguments))`.
macro_rules! with_products {
    ($function:ident($isa:expr, $($argument:expr),* $(,)?)) => {
        if $crate::stencil::cpu::product::is_fused($isa) {
            $function::<$crate::stencil::cpu::product::Fused>($isa, $($argument),*)
        } else {
            $function::<$crate::stencil::cpu::product::Apart>($isa, $($argument),*)
        }
    };
}
pub(super) use with_products;
