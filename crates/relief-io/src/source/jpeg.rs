//! JPEG, baseline and progressive, of 8 bits: gray and colour; as files, and as chunks of a TIFF.
//!
//! The crate `zune-jpeg` decodes. Its routines for certain processors are left out, so that every machine gives the same
//! samples.

use std::io::{Cursor, Read};

use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;

use super::bits::unpack;
use super::failure::Failure;
use super::files::{Decoder, Info, Input};
use super::gray::{Alpha, Colors, GrayRows, Pixels, Row, Scale};
use super::limits::Limits;
use super::pitch::{CENTIMETRE, INCH, Pitch, of_density};
use super::tiff::{exif_orientation, exif_pitch};

/// What the decoder holds beside samples and coefficients: tables, and a few rows of blocks.
const DECODER: u64 = 1 << 20;

/// A file that is held whole, as coded.
pub(super) struct Jpeg {
    coded: Vec<u8>,
    header: Header,
    memory: u64,
}

/// What the header of a JPEG says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) width: u64,
    pub(super) height: u64,
    /// Samples per pixel.
    pub(super) components: usize,
    /// As EXIF numbers it.
    pub(super) orientation: u16,
    /// The sides of a pixel.
    pub(super) pitch: Option<Pitch>,
}

impl Header {
    /// The bytes that decoding holds: samples, and the coefficients of all blocks, as progressive files need.
    pub(super) fn memory(self) -> u64 {
        let blocks =
            self.width.next_multiple_of(32) * self.height.next_multiple_of(32) * self.components as u64;
        blocks * 2 + self.width * self.height * self.components as u64 + DECODER + 64 * self.width
    }
}

impl Jpeg {
    /// Reads the header of a file of `bytes` bytes.
    pub(super) fn open(mut input: Input, bytes: u64, limits: &Limits) -> Result<Self, Failure> {
        if bytes > limits.memory {
            return Err(Failure::TooLarge(format!(
                "it has {bytes} bytes, and a JPEG is held whole; {} are allowed",
                limits.memory
            )));
        }
        let mut coded = Vec::new();
        let too_large = |_| Failure::TooLarge("its bytes exceed the memory of this machine".to_owned());
        coded
            .try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX))
            .map_err(too_large)?;
        input.by_ref().take(bytes).read_to_end(&mut coded)?;
        let header = header(&coded)?;
        let (width, height) = (header.width, header.height);
        limits.check(width, height, 0)?;
        if header.components == 4 {
            return Err(Failure::unsupported(
                "it is a JPEG of four inks, which writers store in two ways; save it with three colours or as TIFF",
            ));
        }
        let memory = bytes
            .saturating_add(header.memory())
            .saturating_add(pixels(header).row_memory(width));
        limits.check(width, height, memory)?;
        Ok(Self {
            coded,
            header,
            memory,
        })
    }
}

fn pixels(header: Header) -> Pixels {
    Pixels {
        colors: if header.components == 1 {
            Colors::Gray
        } else {
            Colors::Rgb
        },
        alpha: Alpha::None,
        scale: Scale::Whole { max: 255 },
    }
}

impl Decoder for Jpeg {
    fn info(&self) -> Info {
        Info {
            width: self.header.width,
            height: self.header.height,
            bits: 8,
            memory: self.memory,
        }
    }

    fn orientation(&self) -> u16 {
        self.header.orientation
    }

    fn pitch(&self) -> Option<Pitch> {
        self.header.pitch
    }

    fn read(self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let pixels = pixels(self.header);
        let frame = decode(&self.coded, false)?;
        let row_bytes = self.header.width as usize * pixels.count();
        let mut samples = Vec::new();
        for (number, bytes) in (0..self.header.height).zip(frame.chunks_exact(row_bytes)) {
            samples.clear();
            unpack(bytes, 8, row_bytes, &mut samples);
            if rows.take(number, pixels, Row::Whole(&samples)).is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn decoder(coded: &[u8]) -> JpegDecoder<Cursor<&[u8]>> {
    let options = DecoderOptions::default()
        .set_use_unsafe(false)
        .set_strict_mode(true)
        .set_max_width(65_535)
        .set_max_height(65_535);
    JpegDecoder::new_with_options(Cursor::new(coded), options)
}

/// Reads the header of a JPEG, and so whether its coding is one that is read.
pub(super) fn header(coded: &[u8]) -> Result<Header, Failure> {
    let mut decoder = decoder(coded);
    decoder.decode_headers()?;
    let info = decoder
        .info()
        .ok_or_else(|| Failure::damaged("its JPEG has no header"))?;
    let components = usize::from(info.components);
    if !matches!(components, 1 | 3 | 4) {
        return Err(Failure::unsupported(format!(
            "its JPEG has {components} samples per pixel; 1, 3 and 4 are read"
        )));
    }
    Ok(Header {
        width: u64::from(info.width),
        height: u64::from(info.height),
        components,
        orientation: decoder.exif().map_or(1, |block| exif_orientation(block)),
        pitch: jfif_pitch(coded).or_else(|| exif_pitch(decoder.exif()?)),
    })
}

/// The sides of a pixel by the block JFIF, which stands first.
fn jfif_pitch(coded: &[u8]) -> Option<Pitch> {
    let block = coded.strip_prefix(&[0xFF, 0xD8, 0xFF, 0xE0])?.get(2..)?;
    let [_, _, unit, a, b, c, d] = *block.strip_prefix(b"JFIF\0")?.first_chunk()?;
    let length = match unit {
        1 => INCH,
        2 => CENTIMETRE,
        _ => return None,
    };
    let density = |bytes| (u16::from_be_bytes(bytes).into(), 1);
    of_density(density([a, b]), density([c, d]), length)
}

/// The samples of a JPEG, row after row. Where it is not `raw`, luma and chroma become red, green and blue.
pub(super) fn decode(coded: &[u8], raw: bool) -> Result<Vec<u8>, Failure> {
    let mut decoder = decoder(coded);
    decoder.decode_headers()?;
    let from = decoder.input_colorspace().unwrap_or(ColorSpace::RGB);
    let to = match from {
        ColorSpace::YCbCr if !raw => ColorSpace::RGB,
        ColorSpace::YCCK => return Err(Failure::unsupported("its inks are stored as luma and chroma")),
        other => other,
    };
    let options = *decoder.options();
    decoder.set_options(options.jpeg_set_out_colorspace(to));
    Ok(decoder.decode()?)
}

impl From<DecodeErrors> for Failure {
    fn from(error: DecodeErrors) -> Self {
        match error {
            DecodeErrors::Unsupported(_) => Self::unsupported(
                "its JPEG is arithmetic, lossless or hierarchical; baseline and progressive JPEG of 8 bits is read",
            ),
            DecodeErrors::ExhaustedData | DecodeErrors::IoErrors(_) => {
                Self::damaged("its JPEG ends too early")
            }
            DecodeErrors::Format(what)
            | DecodeErrors::HuffmanDecode(what)
            | DecodeErrors::DqtError(what)
            | DecodeErrors::SosError(what)
            | DecodeErrors::SofError(what)
            | DecodeErrors::MCUError(what) => Self::damaged(format!("its JPEG: {}", what.trim())),
            DecodeErrors::FormatStatic(what) => Self::damaged(format!("its JPEG: {what}")),
            _ => Self::damaged("its JPEG cannot be read"),
        }
    }
}
