//! The variants on the CPU.

use super::{Numbers, Product};
use crate::family::Variant;

pub(super) fn variants(_: Numbers) -> Vec<Variant<Product>> {
    Vec::new()
}
