//! Pictures in memory, served to the engine.

use std::ops::ControlFlow;
use std::sync::Arc;

use relief_design::Conversion;
use relief_engine::{Depth, ImageError, ImageSource, Picture as Served, Rect};

use crate::oracle::model::Picture;

/// Pictures named p0, p1, …; their rows come from the bottom up, as a source may. Every other can be read window by window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pictures(pub(crate) Vec<Picture>);

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}×{}", self.width, self.height)
    }
}

/// A picture of so many columns and rows whose samples a function gives, as served to the engine.
pub(crate) struct Computed<F> {
    pub(crate) size: (u64, u64),
    pub(crate) windowed: bool,
    pub(crate) memory: u64,
    pub(crate) sample: F,
}

impl<F: Fn(u64, u64) -> u16 + Send + Sync> Served for Computed<F> {
    fn size(&self) -> (u64, u64) {
        self.size
    }

    fn memory(&self) -> u64 {
        self.memory
    }

    fn windowed(&self) -> bool {
        self.windowed
    }

    fn read(
        &self,
        window: Rect,
        _: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError> {
        assert!(Rect::sized(self.size.0, self.size.1).contains(&window));
        for y in (window.y() as u64..window.bottom() as u64).rev() {
            let samples: Vec<u16> = (window.x() as u64..window.right() as u64)
                .map(|x| (self.sample)(x, y))
                .collect();
            if row(y, &samples).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl ImageSource for Pictures {
    fn open(&self, path: &str, _: &Conversion) -> Result<Box<dyn Served>, ImageError> {
        let number = path
            .strip_prefix('p')
            .and_then(|number| number.parse::<usize>().ok());
        let found = number.and_then(|number| Some((number, self.0.get(number)?)));
        let (number, picture) = found.ok_or_else(|| ImageError::new(format!("there is no {path}")))?;
        let (width, samples) = (picture.width, Arc::new(picture.samples.clone()));
        Ok(Box::new(Computed {
            size: (width, picture.height),
            windowed: number % 2 == 1,
            memory: 0,
            sample: move |x, y| samples[(y * width + x) as usize],
        }))
    }

    /// Drawings and meshes stand in their names: in hexadecimal digits, or with a stroke for each end of a line.
    fn data(&self, path: &str, _: u64) -> Result<Vec<u8>, String> {
        if let Some(digits) = path.strip_prefix("hex:") {
            // A test that alters a design may have left half a byte.
            let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2).unwrap_or("half a byte"), 16);
            let bytes = (0..digits.len()).step_by(2).map(byte).collect::<Result<_, _>>();
            return bytes.map_err(|error| error.to_string());
        }
        Ok(path.replace('|', "\n").into_bytes())
    }
}
