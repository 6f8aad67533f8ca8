//! Pictures that are in memory already.

use std::ops::ControlFlow;
use std::sync::Arc;

use relief_design::{Conversion, ImageError, Picture};
use relief_raster::{Depth, Rect};

use super::gray::{Alpha, Colors, GrayRows, Pixels, Row, Scale};
use super::orientation::Orientation;

/// The samples of a picture in memory, pixel after pixel, row by row.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ArraySamples {
    /// 8 bits: 0 is none, 255 all.
    Eight(Arc<[u8]>),
    /// 16 bits: 0 is none, 65 535 all.
    Sixteen(Arc<[u16]>),
    /// Numbers, which mean nothing without `low` and `high` of the design.
    Numbers(Arc<[f64]>),
}

impl ArraySamples {
    fn len(&self) -> usize {
        match self {
            Self::Eight(samples) => samples.len(),
            Self::Sixteen(samples) => samples.len(),
            Self::Numbers(samples) => samples.len(),
        }
    }

    const fn bits(&self) -> u32 {
        match self {
            Self::Eight(_) => 8,
            Self::Sixteen(_) => 16,
            Self::Numbers(_) => 64,
        }
    }
}

/// A picture in memory. Its pixels become gray as those of a file of the same samples do.
///
/// ```
/// use relief_io::{ArrayPicture, ArraySamples};
/// use relief_design::Picture;
///
/// let samples = ArraySamples::Eight([0, 128, 255, 7, 8, 9].into());
/// let picture = ArrayPicture::new(samples, 3, 2, 1)?;
/// assert_eq!(picture.size(), (3, 2));
/// # Ok::<(), relief_design::ImageError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ArrayPicture {
    samples: ArraySamples,
    width: u64,
    height: u64,
    pixels: Pixels,
    conversion: Conversion,
}

impl ArrayPicture {
    /// `width` × `height` pixels of `channels` samples each: gray, gray with transparency, RGB, or RGB with transparency. The
    /// colour has not been multiplied by the transparency.
    ///
    /// # Errors
    /// Where the picture is empty, has other channels, or `samples` are not as many.
    pub fn new(samples: ArraySamples, width: u64, height: u64, channels: u64) -> Result<Self, ImageError> {
        let (colors, alpha) = match channels {
            1 => (Colors::Gray, Alpha::None),
            2 => (Colors::Gray, Alpha::Straight),
            3 => (Colors::Rgb, Alpha::None),
            4 => (Colors::Rgb, Alpha::Straight),
            _ => {
                return Err(ImageError::new(format!(
                    "a pixel has {channels} samples; 1 is gray, 2 gray with transparency, 3 RGB, 4 RGB with transparency"
                )));
            }
        };
        let count = u128::from(width) * u128::from(height) * u128::from(channels);
        if count == 0 || count != samples.len() as u128 {
            return Err(ImageError::new(format!(
                "{width} × {height} pixels of {channels} samples were announced, and {} samples given",
                samples.len()
            )));
        }
        let scale = match samples {
            ArraySamples::Eight(_) => Scale::Whole { max: 255 },
            ArraySamples::Sixteen(_) => Scale::Whole { max: 65_535 },
            ArraySamples::Numbers(_) => Scale::Numbers,
        };
        Ok(Self {
            samples,
            width,
            height,
            pixels: Pixels { colors, alpha, scale },
            conversion: Conversion::default(),
        })
    }

    /// The same picture, read by this conversion. The samples are shared.
    ///
    /// # Errors
    /// Where the samples are numbers and the conversion does not say which of them become 0 and M.
    pub fn converted(&self, conversion: &Conversion) -> Result<Self, ImageError> {
        if self.pixels.scale == Scale::Numbers && conversion.range.is_none() {
            return Err(ImageError::new(
                "its samples are numbers; `low` and `high` have to say which of them become 0 and M",
            ));
        }
        Ok(Self {
            conversion: conversion.clone(),
            ..self.clone()
        })
    }
}

impl Picture for ArrayPicture {
    fn size(&self) -> (u64, u64) {
        (self.width, self.height)
    }

    fn bits(&self) -> u32 {
        self.samples.bits()
    }

    fn memory(&self) -> u64 {
        self.pixels.row_memory(self.width)
    }

    fn windowed(&self) -> bool {
        true
    }

    fn read(
        &self,
        window: Rect,
        depth: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError> {
        let outside = || ImageError::new("a window leaves the picture");
        if !Rect::sized(self.width, self.height).contains(&window) {
            return Err(outside());
        }
        let upright = Orientation::new(1, window.width(), window.height());
        let mut rows = GrayRows::new(&self.conversion, depth, upright, row);
        let (count, stride) = (self.pixels.count(), self.width as usize);
        let (mut whole, mut numbers) = (Vec::new(), Vec::new());
        for y in window.y()..window.bottom() {
            let start = (y as usize * stride + window.x() as usize) * count;
            let range = start..start + window.width() as usize * count;
            let taken = match &self.samples {
                ArraySamples::Eight(samples) => {
                    whole.clear();
                    whole.extend(
                        samples
                            .get(range)
                            .ok_or_else(outside)?
                            .iter()
                            .map(|&v| u32::from(v)),
                    );
                    rows.take(y as u64, self.pixels, Row::Whole(&whole))
                }
                ArraySamples::Sixteen(samples) => {
                    whole.clear();
                    whole.extend(
                        samples
                            .get(range)
                            .ok_or_else(outside)?
                            .iter()
                            .map(|&v| u32::from(v)),
                    );
                    rows.take(y as u64, self.pixels, Row::Whole(&whole))
                }
                ArraySamples::Numbers(samples) => {
                    numbers.clear();
                    numbers.extend_from_slice(samples.get(range).ok_or_else(outside)?);
                    rows.take(y as u64, self.pixels, Row::Numbers(&numbers))
                }
            };
            if taken.is_break() {
                break;
            }
        }
        Ok(())
    }
}
