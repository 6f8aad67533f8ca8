//! Pictures in memory, served to the engine.

use std::ops::ControlFlow;

use relief_design::{Conversion, ImageSizes};
use relief_engine::{Depth, ImageError, ImageInfo, ImageSource};

use crate::oracle::model::Picture;

/// Pictures named p0, p1, …; their rows come from the bottom up, as a source may.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pictures(pub(crate) Vec<Picture>);

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}×{}", self.width, self.height)
    }
}

impl Pictures {
    fn find(&self, path: &str) -> Option<&Picture> {
        self.0.get(path.strip_prefix('p')?.parse::<usize>().ok()?)
    }
}

impl ImageSizes for Pictures {
    fn size(&self, path: &str, _: &Conversion) -> Result<(u64, u64), String> {
        self.find(path)
            .map(|picture| (picture.width, picture.height))
            .ok_or_else(|| format!("there is no {path}"))
    }
}

impl ImageSource for Pictures {
    fn info(&self, path: &str, conversion: &Conversion) -> Result<ImageInfo, ImageError> {
        let (width, height) = self.size(path, conversion).map_err(ImageError::new)?;
        Ok(ImageInfo {
            width,
            height,
            memory: 0,
        })
    }

    fn read(
        &self,
        path: &str,
        _: &Conversion,
        _: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError> {
        let picture = self.find(path).ok_or_else(|| ImageError::new("no picture"))?;
        let rows = picture.samples.chunks(picture.width as usize).enumerate();
        for (y, samples) in rows.rev() {
            if row(y as u64, samples).is_break() {
                break;
            }
        }
        Ok(())
    }
}
