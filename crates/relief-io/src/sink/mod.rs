//! Where bands go: one file per format, and what they share.

mod byte_order;
mod digest;
mod error;
mod file;
mod format;
mod null;
mod order;
mod output;
mod pgm;
mod png;
mod raw;
mod target;
mod tee;
mod tiff;

pub use digest::DigestSink;
pub use error::SinkError;
pub use file::FileSink;
pub use format::{Format, UnknownFormat};
pub use null::NullSink;
pub use target::Target;
pub use tee::Tee;
