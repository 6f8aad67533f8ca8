//! Stencils of bytes by the matrix instructions of a device, which multiply 16 × 32 bytes by 32 × 8 and add in 32 bits: a sum of
//! pixels in a row, weighted or not, is a product with a band.

pub(super) mod convolve;
pub(super) mod groups;
pub(super) mod weigh;
