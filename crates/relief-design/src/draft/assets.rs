//! The files that a design names, each asked for once.

use relief_raster::Length;

use super::Checker;
use crate::pictures::{ImageError, ImageSource, Picture};
use crate::report::Problem;
use crate::syntax::Span;

/// The most files that a design may name as images, each counted once for every way in which its path is written.
pub const MAX_FILES: usize = 16_384;

/// A file that a design names and all on which its size depends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Asset {
    /// The kind of node that reads it.
    pub(crate) kind: &'static str,
    /// The path as the design writes it.
    pub(crate) path: String,
    /// What it is read with: numbers, or the bits of numbers.
    pub(crate) settings: Vec<u64>,
}

/// What a picture says of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known {
    /// Columns and rows.
    pub(crate) size: (u64, u64),
    /// The sides of one of its pixels.
    pub(crate) pitch: Option<[Length; 2]>,
}

impl Checker<'_> {
    /// The columns and rows of a file that is named at `span`, or a sentence that says why it cannot be used. Nothing
    /// where the design names too many; that is then noted.
    pub(crate) fn asset_size(
        &mut self,
        asset: Asset,
        span: Span,
        open: impl FnOnce(&dyn ImageSource) -> Result<Box<dyn Picture>, ImageError>,
    ) -> Option<Result<Known, String>> {
        if let Some(known) = self.assets.get(&asset) {
            return Some(known.clone());
        }
        if self.assets.len() == MAX_FILES {
            let problem = Problem::new("E104", format!("the design names more than {MAX_FILES} images"));
            self.note(
                problem.label(span, "one too many").help(
                    "put several of them into one file and take parts of it, with x, y, width and height",
                ),
            );
            return None;
        }
        let opened = open(self.images).map_err(|error| error.to_string());
        let size = opened.and_then(|picture| {
            let (width, height) = picture.size();
            let sides = 1..=relief_raster::MAX_SIDE;
            if sides.contains(&width) && sides.contains(&height) {
                Ok(Known {
                    size: (width, height),
                    pitch: picture.pitch(),
                })
            } else {
                Err(format!(
                    "it has {width} × {height} pixels, where each side is 1 to 2^40"
                ))
            }
        });
        self.assets.insert(asset, size.clone());
        Some(size)
    }
}
