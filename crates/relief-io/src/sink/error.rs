//! Why a raster could not be written.

use std::io;
use std::path::{Path, PathBuf};

use relief_raster::{Depth, Rect};

use super::{Compression, Format};

/// Why a raster could not be written. Sinks return it inside an [`io::Error`], whose kind is that of the cause.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The format cannot hold a raster of this size.
    #[error(
        "a {format} file has at most {limit} columns and rows; the raster has {width} × {height}: \
         write {}",
        either(others)
    )]
    TooLarge {
        /// The format.
        format: Format,
        /// The longest side that the format can hold.
        limit: u64,
        /// Columns of the raster.
        width: u64,
        /// Rows of the raster.
        height: u64,
        /// The formats that can hold the raster, at least one.
        others: Vec<Format>,
    },
    /// The file would be longer than its format can say.
    #[error(
        "a {format} file has at most {limit} bytes; this one would have {bytes}: write {}",
        either(others)
    )]
    TooLong {
        /// The format.
        format: Format,
        /// The bytes that the file would have.
        bytes: u128,
        /// The most that it may have.
        limit: u64,
        /// The formats that can hold the raster, at least one.
        others: Vec<Format>,
    },
    /// The format does not hold samples of this depth.
    #[error("a {format} file does not hold samples of {depth}: write {}", either(others))]
    Depth {
        /// The format.
        format: Format,
        /// The depth of the raster.
        depth: Depth,
        /// Formats that do.
        others: Vec<Format>,
    },
    /// The format does not hold one bit a pixel.
    #[error("a {format} file does not hold 1 bit a pixel: write png, bmp or tiff")]
    NoBits {
        /// The format.
        format: Format,
    },
    /// The format is written at many places.
    #[error("a {format} file is not written in order, which is all that this output takes: name a file")]
    NeedsFile {
        /// The format.
        format: Format,
    },
    /// The format is a folder of files, which are written at many places.
    #[error("{format} is a folder of files, and this output is one file: name a path")]
    Folder {
        /// The format.
        format: Format,
    },
    /// The format holds the lines of a machine, and no raster.
    #[error("{format} holds the lines of a machine, which a raster does not say")]
    Lines {
        /// The format.
        format: Format,
    },
    /// The raster cannot be written as a solid.
    #[error("a solid cannot be written: {problem}")]
    Solid {
        /// Why not.
        problem: String,
    },
    /// The raster has no pixel.
    #[error("a raster of {width} × {height} has no pixel to write")]
    Empty {
        /// Columns of the raster.
        width: u64,
        /// Rows of the raster.
        height: u64,
    },
    /// Nothing can be written at the place asked for.
    #[error("cannot write {}: {reason}", path.display())]
    Destination {
        /// The place asked for.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
        /// What the system said.
        #[source]
        source: Option<io::Error>,
    },
    /// Writing failed.
    #[error("cannot write {name}: it failed after {written} bytes")]
    Write {
        /// What was written: a path or "the standard output".
        name: String,
        /// The bytes that had been taken before.
        written: u64,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A band is not the one that comes next.
    #[error(
        "a band of {} × {} pixels at ({}, {}) came where pixel ({column}, {row}) was next",
        rect.width(), rect.height(), rect.x(), rect.y()
    )]
    OutOfOrder {
        /// The pixels of the band.
        rect: Rect,
        /// The column of the pixel that comes next.
        column: u64,
        /// The row of the pixel that comes next.
        row: u64,
    },
    /// A band does not have the samples that its pixels need.
    #[error("a band of {pixels} pixels of {depth} came with {samples} samples of {found}")]
    Samples {
        /// The pixels of the band.
        pixels: u128,
        /// The depth of the raster.
        depth: Depth,
        /// The number of samples that came.
        samples: usize,
        /// Their depth.
        found: Depth,
    },
    /// The raster ended too early.
    #[error("the raster ended at pixel ({column}, {row}) of {width} × {height}")]
    Incomplete {
        /// The column of the pixel that came next.
        column: u64,
        /// The row of the pixel that came next.
        row: u64,
        /// Columns of the raster.
        width: u64,
        /// Rows of the raster.
        height: u64,
    },
    /// A call came before `begin`, after `finish` or after an error.
    #[error("{call} was called on a sink that {state}")]
    State {
        /// The call.
        call: &'static str,
        /// The state of the sink.
        state: &'static str,
    },
    /// A file cannot have such tiles.
    #[error("tiles of {width} × {height} pixels cannot be written: {problem}")]
    TileShape {
        /// Columns of a tile.
        width: u64,
        /// Rows of a tile.
        height: u64,
        /// What is wrong, and what would do.
        problem: String,
    },
    /// A compression is for rasters of one bit.
    #[error("{compression} compresses rasters of one bit a pixel: give --bits 1, or compress by deflate")]
    OneBitOnly {
        /// The compression.
        compression: Compression,
    },
    /// A raster of one bit a pixel has a sample that is neither 0 nor M.
    #[error(
        "pixel ({column}, {row}) is {value}, and one bit holds 0 and {max} alone: `--halftone blue-noise` makes grays of dots, \
         `--halftone threshold:{}` cuts them at a level, and without --bits all levels are written",
        max / 2 + 1
    )]
    NotTwoValued {
        /// The column of the pixel.
        column: u64,
        /// Its row.
        row: u64,
        /// Its sample.
        value: u16,
        /// The greatest sample.
        max: u16,
    },
    /// Compressed tiles lie behind one another, so that no process can write a part of them.
    #[error(
        "a file whose tiles are compressed by {compression} cannot be written in parts: write them uncompressed, or \
         write zarr"
    )]
    PartsInOrder {
        /// The compression.
        compression: Compression,
    },
    /// A file cannot have levels.
    #[error("a file with levels cannot be written: {problem}")]
    Levels {
        /// What is wrong, and what would do.
        problem: String,
    },
    /// What lies on the disk cannot be told.
    #[error("cannot tell which tiles {} has: {problem}", path.display())]
    NotInspected {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The samples of what lies on the disk cannot be compared with others.
    #[error("cannot compare the samples of {}: {problem}", path.display())]
    NotCompared {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Another process writes the same file.
    #[error("another process writes {}: wait until it ends, or write to another file", partial.display())]
    Busy {
        /// The unfinished file.
        partial: PathBuf,
    },
    /// The unfinished file at this place is that of another job.
    #[error(
        "{} is the unfinished file of another job: of another design, part, halftone, size or compression of tiles; `{}` removes it, or \
         write to another file",
        partial.display(),
        removal(partial)
    )]
    OtherJob {
        /// The unfinished file.
        partial: PathBuf,
    },
    /// The partial file was removed by its [`Cleanup`](crate::Cleanup).
    #[error("writing {} was cancelled", path.display())]
    Cancelled {
        /// The place asked for.
        path: PathBuf,
    },
}

/// The command of a shell that removes a file or folder.
fn removal(path: &Path) -> String {
    let text = path.display().to_string();
    let (file, folder, text) = if cfg!(windows) {
        ("del", "rmdir /s", format!("\"{text}\""))
    } else {
        let plain = |c: char| c.is_alphanumeric() || "/._-+@%,:=".contains(c);
        // What begins with a dash would be an option.
        let text = if text.starts_with('-') {
            format!("./{text}")
        } else {
            text
        };
        let text = if text.chars().all(plain) {
            text
        } else {
            format!("'{}'", text.replace('\'', "'\\''"))
        };
        ("rm", "rm -r", text)
    };
    format!("{} {text}", if path.is_dir() { folder } else { file })
}

/// The names of formats: "tiff, pgm or raw".
fn either(formats: &[Format]) -> String {
    let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

impl SinkError {
    fn kind(&self) -> io::ErrorKind {
        match self {
            Self::Write { source, .. } => source.kind(),
            Self::Destination {
                source: Some(source), ..
            } => source.kind(),
            Self::Cancelled { .. } => io::ErrorKind::Interrupted,
            Self::TooLarge { .. }
            | Self::TooLong { .. }
            | Self::Depth { .. }
            | Self::NoBits { .. }
            | Self::NeedsFile { .. }
            | Self::Folder { .. }
            | Self::Lines { .. }
            | Self::Solid { .. }
            | Self::Empty { .. }
            | Self::Destination { .. }
            | Self::TileShape { .. }
            | Self::Levels { .. }
            | Self::OneBitOnly { .. }
            | Self::NotTwoValued { .. }
            | Self::PartsInOrder { .. }
            | Self::OtherJob { .. } => io::ErrorKind::InvalidInput,
            Self::NotInspected { .. } | Self::NotCompared { .. } => io::ErrorKind::InvalidData,
            Self::Busy { .. } => io::ErrorKind::ResourceBusy,
            Self::OutOfOrder { .. } | Self::Samples { .. } | Self::Incomplete { .. } | Self::State { .. } => {
                io::ErrorKind::InvalidData
            }
        }
    }
}

impl From<SinkError> for io::Error {
    fn from(error: SinkError) -> Self {
        Self::new(error.kind(), error)
    }
}
