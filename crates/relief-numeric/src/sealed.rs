//! The types of numbers that this crate computes with.
//!
//! Unsafe code relies on what the traits over them say: that a type which calls itself 32 bits long has 32 bits, that a
//! vector loop made for it fits it. So these traits are sealed: no other crate implements them. What follows does not
//! compile.
//!
//! [`Number`](crate::element::Number), and with it [`Reducible`](crate::reduce::cpu::Reducible) and
//! [`Scannable`](crate::scan::cpu::Scannable): vectors would read and write four bytes for each byte of this one.
//!
//! ```compile_fail,E0277
//! use relief_numeric::element::{Element, Number};
//!
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! #[repr(transparent)]
//! struct Byte(u8);
//! unsafe impl bytemuck::Zeroable for Byte {}
//! unsafe impl bytemuck::Pod for Byte {}
//!
//! impl Number for Byte {
//!     const ELEMENT: Element = Element::U32;
//!     fn key(self) -> u32 {
//!         self.0.into()
//!     }
//!     fn from_key(key: u32) -> Self {
//!         Self(key as u8)
//!     }
//! }
//! ```
//!
//! [`Operand`](crate::matmul::cpu::Operand):
//!
//! ```compile_fail,E0277
//! #[derive(Clone, Copy)]
//! struct Half(u16);
//!
//! impl relief_numeric::matmul::cpu::Operand for Half {
//!     fn widen(self) -> f32 {
//!         self.0.into()
//!     }
//! }
//! ```
//!
//! [`Level`](crate::bilateral::Level): a level above the greatest would be counted outside of the grid.
//!
//! ```compile_fail,E0277
//! #[derive(Clone, Copy)]
//! struct Gray(u8);
//!
//! impl relief_numeric::bilateral::Level for Gray {
//!     const GREATEST: u32 = 1;
//!     fn level(self) -> u32 {
//!         self.0.into()
//!     }
//!     fn from_level(level: f32) -> Self {
//!         Self(level as u8)
//!     }
//! }
//! ```
//!
//! [`Length`](crate::min_plus::cpu::Length): its tiles are functions that write panels of so many numbers.
//!
//! ```compile_fail,E0277
//! use relief_kernels::isa::Isa;
//! use relief_numeric::min_plus::cpu::{Length, Tile};
//!
//! #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
//! #[repr(transparent)]
//! struct Metres(f32);
//! unsafe impl bytemuck::Zeroable for Metres {}
//! unsafe impl bytemuck::Pod for Metres {}
//!
//! unsafe fn nothing(
//!     _: usize,
//!     _: *const Metres,
//!     _: *const Metres,
//!     _: *mut Metres,
//!     _: usize,
//!     _: bool,
//!     _: *const Metres,
//! ) {
//! }
//!
//! impl Length for Metres {
//!     const INFINITY: Self = Self(f32::INFINITY);
//!     const ZERO: Self = Self(0.0);
//!     const FARTHEST: Self = Self(f32::INFINITY);
//!     fn operand(self) -> Self {
//!         self
//!     }
//!     fn result(self) -> Self {
//!         self
//!     }
//!     fn plus(self, other: Self) -> Self {
//!         Self(self.0 + other.0)
//!     }
//!     fn tile(_: Isa) -> Tile<Self> {
//!         nothing
//!     }
//! }
//! ```
//!
//! [`Sum`](crate::integral::cpu::Sum), and with it [`Differences`](crate::integral::windows::Differences):
//!
//! ```compile_fail,E0277
//! use relief_numeric::integral::cpu::{Picture, Sum};
//! use relief_kernels::isa::Isa;
//!
//! #[derive(Clone, Copy, Debug, Default, PartialEq)]
//! #[repr(transparent)]
//! struct Total(u32);
//! unsafe impl bytemuck::Zeroable for Total {}
//! unsafe impl bytemuck::Pod for Total {}
//!
//! impl Sum for Total {
//!     type Sample = u8;
//!     fn one(sample: u8) -> Self {
//!         Self(sample.into())
//!     }
//!     fn plus(a: Self, b: Self) -> Self {
//!         Self(a.0.wrapping_add(b.0))
//!     }
//!     fn add_row(_: Isa, _: &[u8], before: Self, _: &mut [Self]) -> Self {
//!         before
//!     }
//!     fn sum_columns(_: Isa, _: Picture<'_, u8>, _: &mut [Self]) {}
//! }
//! ```
//!
//! [`Ordered`](crate::stencil::cpu::Ordered):
//!
//! ```compile_fail,E0277
//! #[derive(Clone, Copy)]
//! #[repr(transparent)]
//! struct Gray(u8);
//! unsafe impl bytemuck::Zeroable for Gray {}
//! unsafe impl bytemuck::Pod for Gray {}
//!
//! impl relief_numeric::stencil::cpu::Ordered for Gray {
//!     fn least(self, other: Self) -> Self {
//!         Self(self.0.min(other.0))
//!     }
//!     fn greatest(self, other: Self) -> Self {
//!         Self(self.0.max(other.0))
//!     }
//! }
//! ```
//!
//! [`Height`](crate::morphology::Height):
//!
//! ```compile_fail,E0277
//! #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
//! struct Step(i32);
//!
//! impl relief_numeric::morphology::Height for Step {
//!     const ABSENT: Self = Self(i32::MIN);
//!     const ZERO: Self = Self(0);
//!     fn is_allowed(self) -> bool {
//!         true
//!     }
//!     fn plus(self, other: Self) -> Self {
//!         Self(self.0 + other.0)
//!     }
//!     fn minus(self, other: Self) -> Self {
//!         Self(self.0 - other.0)
//!     }
//!     fn parabola(steepness: Self, s: i32) -> Self {
//!         Self(-steepness.0 * s * s)
//!     }
//! }
//! ```

/// Implemented for the numbers below and for no others.
pub trait Sealed {}

macro_rules! sealed {
    ($($type:ty),+) => { $(impl Sealed for $type {})+ };
}

sealed!(u8, u16, u32, u64, i32, f32, half::f16, half::bf16);
