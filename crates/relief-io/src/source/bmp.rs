//! BMP, by the crate `image`, which decodes the whole picture at once: its rows lie bottom up.

use image::codecs::bmp::BmpDecoder;
use image::{ColorType, ImageDecoder, ImageError};
use relief_engine::source::ImageInfo;
use relief_raster::Depth;

use super::failure::Failure;
use super::files::{Input, Picture};
use super::gray::{Channels, GrayRows, Pixels, widened};
use super::limits::Limits;

pub(super) struct Bmp {
    decoder: BmpDecoder<Input>,
    pixels: Pixels,
    info: ImageInfo,
}

impl Bmp {
    pub(super) fn open(input: Input, limits: &Limits) -> Result<Self, Failure> {
        let decoder = BmpDecoder::new(input)?;
        let (width, height) = decoder.dimensions();
        let (width, height) = (u64::from(width), u64::from(height));
        let channels = match decoder.color_type() {
            ColorType::L8 => Channels::Gray,
            ColorType::Rgb8 => Channels::Rgb,
            ColorType::Rgba8 => Channels::RgbAlpha,
            other => return Err(Failure::unsupported(format!("its pixels are {other:?}"))),
        };
        let pixels = Pixels {
            channels,
            depth: Depth::Eight,
        };
        let memory = decoder.total_bytes().saturating_add(pixels.row_memory(width));
        limits.check(width, height, memory)?;
        Ok(Self {
            decoder,
            pixels,
            info: ImageInfo {
                width,
                height,
                memory,
            },
        })
    }
}

impl Picture for Bmp {
    fn info(&self) -> ImageInfo {
        self.info
    }

    fn read(self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let too_large = |_| Failure::TooLarge("its pixels exceed the memory of this machine".to_owned());
        let bytes = usize::try_from(self.decoder.total_bytes()).unwrap_or(usize::MAX);
        let mut frame = Vec::new();
        frame.try_reserve_exact(bytes).map_err(too_large)?;
        frame.resize(bytes, 0);
        self.decoder.read_image(&mut frame)?;
        let row_bytes = bytes / usize::try_from(self.info.height).unwrap_or(usize::MAX).max(1);
        let mut samples = Vec::new();
        for (number, bytes) in (0..self.info.height).zip(frame.chunks_exact(row_bytes.max(1))) {
            widened(bytes, &mut samples);
            if rows.take(number, self.pixels, &samples).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl From<ImageError> for Failure {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::IoError(error) => error.into(),
            ImageError::Unsupported(error) => Self::unsupported(error),
            ImageError::Limits(error) => Self::TooLarge(error.to_string()),
            other => Self::damaged(other),
        }
    }
}
