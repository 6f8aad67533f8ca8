//! Files written byte by byte from their formats' specifications, by nothing that the crate reads them with.

pub(crate) mod png;
pub(crate) mod tiff;
