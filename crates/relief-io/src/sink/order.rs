//! Whether bands are those of their raster: complete, in order, each with its samples.

use relief_engine::sink::{Band, Raster, Samples};
use relief_raster::Depth;

use super::SinkError;

/// How far a raster has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    raster: Raster,
    /// The pixel that comes next; (0, height) at the end.
    column: u64,
    row: u64,
}

impl Order {
    /// At the first pixel of a raster.
    pub(super) fn new(raster: &Raster) -> Result<Self, SinkError> {
        let Raster { width, height, .. } = *raster;
        if width == 0 || height == 0 {
            return Err(SinkError::Empty { width, height });
        }
        Ok(Self {
            raster: *raster,
            column: 0,
            row: 0,
        })
    }

    /// Moves past a band: whole rows, or a part of one row, that start at the next pixel.
    pub(super) fn accept(&mut self, band: &Band<'_>) -> Result<(), SinkError> {
        let Self { raster, column, row } = *self;
        let (rect, width) = (band.rect, band.rect.width());
        let here = u64::try_from(rect.x()) == Ok(column) && u64::try_from(rect.y()) == Ok(row);
        let whole_rows = column == 0 && width == raster.width && rect.height() <= raster.height - row;
        let part_of_row = rect.height() == 1 && row < raster.height && width <= raster.width - column;
        if !here || rect.is_empty() || !(whole_rows || part_of_row) {
            return Err(SinkError::OutOfOrder { rect, column, row });
        }
        let found = match band.samples {
            Samples::Eight(_) => Depth::Eight,
            Samples::Sixteen(_) => Depth::Sixteen,
        };
        if found != raster.depth || band.samples.len() as u128 != rect.area() {
            return Err(SinkError::Samples {
                pixels: rect.area(),
                depth: raster.depth,
                samples: band.samples.len(),
                found,
            });
        }
        if column + width == raster.width {
            self.column = 0;
            self.row += rect.height();
        } else {
            self.column += width;
        }
        Ok(())
    }

    /// Whether every pixel has come.
    pub(super) fn complete(&self) -> Result<(), SinkError> {
        let Self { raster, column, row } = *self;
        if row == raster.height {
            return Ok(());
        }
        Err(SinkError::Incomplete {
            column,
            row,
            width: raster.width,
            height: raster.height,
        })
    }
}
