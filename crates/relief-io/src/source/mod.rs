//! Where image samples come from: one file per format, and how colour becomes gray.

mod bmp;
mod checked;
mod failure;
mod files;
mod gray;
mod limits;
mod netpbm;
mod png;
mod tiff;

pub use files::Files;
pub use limits::Limits;
