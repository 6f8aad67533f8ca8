//! What the tags say of samples and chunks, and whether it is read.

use std::borrow::Cow;
use std::io::{Read, Seek};

use half::f16;

use super::super::bits::{greatest, unpack};
use super::super::failure::Failure;
use super::super::gray::{Alpha, Colors, Pixels, Scale};
use super::super::jpeg::Header;
use super::super::limits::Limits;
use super::Band;
use super::codec::Codec;
use super::directory::{Directory, tag};
use super::predictor::Predictor;

/// What a sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Number {
    /// Unsigned.
    Whole,
    /// In two's complement.
    Signed,
    Float,
}

impl Number {
    /// Appends numbers from big-endian samples of `bits` bits.
    pub(in super::super) fn read(self, bytes: &[u8], bits: u32, count: usize, into: &mut Vec<f64>) {
        if bits == 64 {
            let each = bytes.chunks_exact(8).take(count);
            into.extend(each.map(|v| f64::from_be_bytes([v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]])));
            return;
        }
        let mut raw = Vec::with_capacity(count);
        unpack(bytes, bits, count, &mut raw);
        into.extend(raw.into_iter().map(|raw| match self {
            Self::Whole => f64::from(raw),
            Self::Signed => f64::from((raw << (32 - bits)).cast_signed() >> (32 - bits)),
            Self::Float if bits == 16 => f64::from(f16::from_bits(raw as u16)),
            Self::Float => f64::from(f32::from_bits(raw)),
        }));
    }
}

/// How the picture is cut and what its samples mean.
pub(super) struct Layout {
    pub(super) width: u64,
    pub(super) height: u64,
    pub(super) codec: Codec,
    pub(super) predictor: Predictor,
    /// Bits per sample.
    pub(super) bits: u32,
    pub(super) number: Number,
    /// Samples per pixel in the file.
    samples: usize,
    colors: Colors,
    alpha: Alpha,
    /// Which sample is α.
    alpha_sample: Option<usize>,
    pub(super) white_is_zero: bool,
    /// Whether chunks of JPEG hold luma and chroma.
    pub(super) luma_and_chroma: bool,
    /// The colours of a palette, and the greatest of them.
    pub(super) palette: Option<Vec<[u32; 3]>>,
    palette_max: u32,
    planar: bool,
    pub(super) tiled: bool,
    /// Columns of a chunk.
    pub(super) chunk_width: u64,
    /// Rows of a chunk.
    pub(super) chunk_height: u64,
    /// How many chunks stand side by side.
    pub(super) across: u64,
    /// Samples per pixel of a chunk.
    pub(super) chunk_samples: usize,
    pub(super) chunk_row_bytes: u64,
    pub(super) orientation: u16,
    /// Whether the bits of each coded byte stand the other way round.
    pub(super) reversed: bool,
    /// The number that stands for "nothing here", by GDAL_NODATA.
    pub(super) nodata: Option<f64>,
}

/// The samples of a row that lie in one chunk.
pub(super) struct Part<'a> {
    /// The bytes of the row; none where the chunk was never written.
    pub(super) bytes: Option<&'a [u8]>,
    /// How many samples of them count.
    pub(super) samples: usize,
    /// Samples per pixel.
    pub(super) stride: usize,
    /// The first pixel.
    pub(super) first: usize,
    /// Which samples of a pixel become which.
    pub(super) kept: Cow<'a, [(usize, usize)]>,
}

impl Part<'_> {
    /// Whether its samples are those of pixels of `count` samples, in their order.
    pub(super) fn is_as_handed_on(&self, count: usize) -> bool {
        self.stride == count && self.kept.iter().copied().eq((0..count).map(|at| (at, at)))
    }

    /// Puts the samples that are kept, each as `told` of it and of its place in the pixel, into pixels of `count` samples.
    pub(super) fn keep<T: Copy>(
        &self,
        pixels: &mut [T],
        samples: &[T],
        count: usize,
        told: impl Fn(T, usize) -> T,
    ) {
        for &(at, into) in &*self.kept {
            let from = samples.chunks_exact(self.stride);
            for (to, from) in pixels.chunks_exact_mut(count).zip(from) {
                to[into] = told(from[at], into);
            }
        }
    }
}

impl Layout {
    pub(super) fn read<R: Read + Seek>(file: &mut Directory<R>, limits: &Limits) -> Result<Self, Failure> {
        let missing = |what: &str| Failure::damaged(format!("it does not say {what}"));
        let width = file.one(tag::IMAGE_WIDTH)?.ok_or_else(|| missing("its width"))?;
        let height = file
            .one(tag::IMAGE_LENGTH)?
            .ok_or_else(|| missing("its height"))?;
        limits.check_sides(width, height)?;
        let t4 = file.one(tag::T4_OPTIONS)?.unwrap_or(0);
        let t6 = file.one(tag::T6_OPTIONS)?.unwrap_or(0);
        let codec = Codec::new(file.one(tag::COMPRESSION)?.unwrap_or(1), t4, t6)?;
        let samples = file.one(tag::SAMPLES_PER_PIXEL)?.unwrap_or(1);
        let samples = usize::from(
            u16::try_from(samples)
                .ok()
                .filter(|&samples| samples > 0)
                .ok_or_else(|| Failure::damaged(format!("it has {samples} samples per pixel")))?,
        );
        let planar = file.one(tag::PLANAR_CONFIGURATION)?.unwrap_or(1) == 2 && samples > 1;
        let chunk_samples = if planar { 1 } else { samples };
        let (bits, number) = read_number(file, samples)?;
        let photometric = file.one(tag::PHOTOMETRIC)?;
        let photometric = photometric.ok_or_else(|| missing("what its samples mean (tag 262)"))?;
        let colors = read_colors(file, photometric, codec, planar)?;
        let palette = if photometric == 3 {
            Some(read_palette(file, bits)?)
        } else {
            None
        };
        let file_colors = if palette.is_some() { 1 } else { colors.count() };
        if samples < file_colors {
            return Err(Failure::damaged(format!(
                "it has {samples} samples per pixel, and its colours take {file_colors}"
            )));
        }
        let extra = file.list(tag::EXTRA_SAMPLES, (samples - file_colors) as u64)?;
        let (alpha, alpha_sample) = read_alpha(&extra.unwrap_or_default(), file_colors);
        let cut = Cut::read(file, width, height)?;
        let row_bits = cut
            .width
            .saturating_mul(chunk_samples as u64)
            .saturating_mul(u64::from(bits));
        let palette_max = palette.as_ref().map_or(0, |colors| {
            if colors.iter().flatten().all(|&v| v <= 255) {
                255
            } else {
                65_535
            }
        });
        let layout = Self {
            width,
            height,
            codec,
            predictor: read_predictor(file, codec, bits, number)?,
            bits,
            number,
            samples,
            colors,
            alpha,
            alpha_sample,
            white_is_zero: photometric == 0,
            luma_and_chroma: photometric == 6,
            palette,
            palette_max,
            planar,
            tiled: cut.tiled,
            chunk_width: cut.width,
            chunk_height: cut.height.min(height),
            across: width.div_ceil(cut.width),
            chunk_samples,
            chunk_row_bytes: row_bits.div_ceil(8),
            orientation: u16::try_from(file.one(tag::ORIENTATION)?.unwrap_or(1)).unwrap_or(1),
            // JPEG knows no order of bits.
            reversed: file.one(tag::FILL_ORDER)?.unwrap_or(1) == 2 && codec != Codec::Jpeg,
            nodata: read_nodata(file).map(|v| match (number, bits) {
                // A sample that stands for it has been rounded as all samples are.
                (Number::Float, 16) => f16::from_f64(v).to_f64(),
                (Number::Float, 32) => f64::from(v as f32),
                _ => v,
            }),
        };
        layout.check()?;
        Ok(layout)
    }

    /// What is read of each alone, but not together.
    fn check(&self) -> Result<(), Failure> {
        if self.codec.is_fax() && (self.bits, self.chunk_samples) != (1, 1) {
            return Err(Failure::damaged(format!(
                "its compression is CCITT, and it has {} samples of {} bits per pixel",
                self.samples, self.bits
            )));
        }
        if self.codec == Codec::Jpeg && (self.bits, self.number) != (8, Number::Whole) {
            return Err(Failure::unsupported(format!(
                "its compression is JPEG of {} bits; 8 are read",
                self.bits
            )));
        }
        if self.palette.is_some() && self.planar {
            return Err(Failure::unsupported(
                "its palette stands beside other samples in planes of their own",
            ));
        }
        if self.number == Number::Signed && self.alpha_sample.is_some() {
            return Err(Failure::unsupported("its transparency is of signed numbers"));
        }
        Ok(())
    }

    /// Whether a chunk of JPEG has the size and the samples that the tags say.
    pub(super) fn check_jpeg(&self, header: Header) -> Result<(), Failure> {
        let size = (header.width, header.components) == (self.chunk_width, self.chunk_samples);
        if size && header.height <= self.chunk_height {
            return Ok(());
        }
        Err(Failure::damaged(format!(
            "a JPEG in it has {} × {} pixels of {} samples, where {} × {} of {} are expected",
            header.width,
            header.height,
            header.components,
            self.chunk_width,
            self.chunk_height,
            self.chunk_samples
        )))
    }

    pub(super) fn pixels(&self) -> Pixels {
        Pixels {
            colors: self.colors,
            alpha: self.alpha,
            scale: match self.number {
                Number::Whole if self.palette.is_some() => Scale::Whole {
                    max: self.palette_max,
                },
                Number::Whole => Scale::Whole {
                    max: greatest(self.bits),
                },
                Number::Signed | Number::Float => Scale::Numbers,
            },
        }
    }

    /// What the samples are, where they mean nothing without a range.
    pub(super) fn numbers(&self) -> Option<String> {
        match self.number {
            Number::Whole => None,
            Number::Signed => Some(format!("signed integers of {} bits", self.bits)),
            Number::Float => Some(format!("floating point numbers of {} bits", self.bits)),
        }
    }

    /// Rows of chunks.
    fn down(&self) -> u64 {
        self.height.div_ceil(self.chunk_height)
    }

    /// All chunks that the picture has.
    pub(super) fn chunk_count(&self) -> u64 {
        let planes = if self.planar { self.samples as u64 } else { 1 };
        self.across.saturating_mul(self.down()).saturating_mul(planes)
    }

    /// The chunk of a plane at a row and column of chunks.
    pub(super) fn index(&self, plane: usize, row: u64, column: u64) -> usize {
        let index = (plane as u64 * self.down() + row) * self.across + column;
        usize::try_from(index).unwrap_or(usize::MAX)
    }

    /// The first row of the picture in a chunk.
    pub(super) fn first_row_of(&self, index: usize) -> u64 {
        index as u64 / self.across % self.down() * self.chunk_height
    }

    /// The rows of the picture in a chunk.
    pub(super) fn rows_of(&self, index: usize) -> u64 {
        self.chunk_height.min(self.height - self.first_row_of(index))
    }

    /// The planes that are read: those of the colours and that of α.
    pub(super) fn planes(&self) -> Vec<usize> {
        if !self.planar {
            return vec![0];
        }
        let colors = if self.palette.is_some() {
            1
        } else {
            self.colors.count()
        };
        (0..colors).chain(self.alpha_sample).collect()
    }

    /// The bytes held of a row of chunks and of one row in it.
    pub(super) fn band_memory(&self) -> u64 {
        let chunks = self.across.saturating_mul(self.planes().len() as u64);
        let bytes = self.chunk_row_bytes.saturating_mul(self.chunk_height);
        let samples = self.chunk_width.saturating_mul(self.chunk_samples as u64);
        let palette = self.palette.as_ref().map_or(0, |colors| colors.len() as u64 * 12);
        chunks
            .saturating_mul(bytes)
            .saturating_add(samples.saturating_mul(12))
            .saturating_add(self.chunk_row_bytes)
            .saturating_add(palette)
    }

    /// Whether the bytes of samples have to be turned to be big-endian.
    pub(super) fn swaps(&self, big_endian: bool) -> bool {
        !big_endian && matches!(self.bits, 16 | 24 | 32 | 64) && self.predictor != Predictor::FloatingPoint
    }

    /// Which samples of a pixel in the file become which, its planes taken together.
    fn kept(&self) -> Vec<(usize, usize)> {
        let colors = if self.palette.is_some() {
            1
        } else {
            self.colors.count()
        };
        let alpha = self.alpha_sample.map(|at| (at, self.colors.count()));
        (0..colors).map(|i| (i, i)).chain(alpha).collect()
    }

    /// The same of each chunk that holds a pixel: one, or one for each plane that is read.
    pub(super) fn kept_of_planes(&self) -> Vec<Vec<(usize, usize)>> {
        let all = self.kept();
        if self.planar {
            all.iter().map(|&(_, into)| vec![(0, into)]).collect()
        } else {
            vec![all]
        }
    }

    /// The bytes of a chunk as they are decompressed.
    pub(super) fn chunk_bytes(&self) -> u64 {
        self.chunk_row_bytes.saturating_mul(self.chunk_height)
    }

    /// The parts of a row of a band.
    pub(super) fn parts<'a>(&self, band: &'a Band, row: u64) -> impl Iterator<Item = Part<'a>> {
        let start = (row * self.chunk_row_bytes) as usize;
        let end = start + self.chunk_row_bytes as usize;
        let all = self.kept();
        let (across, stride, planar) = (self.across as usize, self.chunk_samples, self.planar);
        let (width, chunk_width) = (self.width as usize, self.chunk_width as usize);
        band.iter().enumerate().map(move |(slot, bytes)| {
            let first = slot % across * chunk_width;
            Part {
                bytes: bytes.as_ref().and_then(|bytes| bytes.get(start..end)),
                samples: chunk_width.min(width - first) * stride,
                stride,
                first,
                kept: if planar {
                    vec![(0, all[slot / across].1)].into()
                } else {
                    all.clone().into()
                },
            }
        })
    }

    /// Which sample of a pixel of a palette is α.
    pub(super) fn alpha_at(&self) -> Option<usize> {
        self.alpha_sample
    }

    /// α beside an index, on the scale of the palette.
    pub(super) fn palette_alpha(&self, sample: u32) -> u32 {
        let (max, to) = (u64::from(greatest(self.bits)), u64::from(self.palette_max));
        ((2 * u64::from(sample) * to + max) / (2 * max)) as u32
    }

    /// The sample of chunks that were never written: GDAL_NODATA where it is one, else 0.
    pub(super) fn missing_whole(&self) -> u32 {
        self.nodata
            .filter(|&v| v >= 0.0 && v <= f64::from(greatest(self.bits)) && v.fract() == 0.0)
            .map_or(0, |v| v as u32)
    }
}

/// How a picture is cut into strips or tiles.
struct Cut {
    tiled: bool,
    width: u64,
    height: u64,
}

impl Cut {
    fn read<R: Read + Seek>(file: &mut Directory<R>, width: u64, height: u64) -> Result<Self, Failure> {
        let cut = match file.one(tag::TILE_WIDTH)? {
            Some(tile) => Self {
                tiled: true,
                width: tile,
                height: file.one(tag::TILE_LENGTH)?.unwrap_or(0),
            },
            None => Self {
                tiled: false,
                width,
                height: file.one(tag::ROWS_PER_STRIP)?.unwrap_or(height),
            },
        };
        if cut.width == 0 || cut.height == 0 {
            return Err(Failure::damaged("its strips or tiles are empty"));
        }
        Ok(cut)
    }
}

fn read_number<R: Read + Seek>(file: &mut Directory<R>, samples: usize) -> Result<(u32, Number), Failure> {
    let same = |list: Option<Vec<u64>>, default: u64, what: &str| {
        let list = list.unwrap_or_default();
        let first = list.first().copied().unwrap_or(default);
        if list.iter().all(|&value| value == first) {
            return Ok(first);
        }
        Err(Failure::unsupported(format!(
            "its samples differ in {what}; pixels whose samples are alike are read"
        )))
    };
    let bits = same(file.list(tag::BITS_PER_SAMPLE, samples as u64)?, 1, "their bits")?;
    let format = same(file.list(tag::SAMPLE_FORMAT, samples as u64)?, 1, "their kind")?;
    let number = match (format, bits) {
        // 4 means "not said": TIFF 6.0 asks to read such samples as unsigned.
        (1 | 4, 1..=32) => Number::Whole,
        (2, 2..=32) => Number::Signed,
        (3, 16 | 32 | 64) => Number::Float,
        (1 | 4, _) => {
            return Err(Failure::unsupported(format!(
                "its samples are unsigned integers of {bits} bits; 1 to 32 are read"
            )));
        }
        (2, _) => {
            return Err(Failure::unsupported(format!(
                "its samples are signed integers of {bits} bits; 2 to 32 are read"
            )));
        }
        (3, _) => {
            return Err(Failure::unsupported(format!(
                "its samples are floating point numbers of {bits} bits; 16, 32 and 64 are read"
            )));
        }
        (5 | 6, _) => return Err(Failure::unsupported("its samples are complex numbers")),
        (kind, _) => {
            return Err(Failure::damaged(format!(
                "its samples are of kind {kind}, which TIFF does not know"
            )));
        }
    };
    Ok((bits as u32, number))
}

fn read_colors<R: Read + Seek>(
    file: &mut Directory<R>,
    photometric: u64,
    codec: Codec,
    planar: bool,
) -> Result<Colors, Failure> {
    let refused = |what: &str| {
        Err(Failure::unsupported(format!(
            "its colours are {what} ({photometric}); gray, RGB, palettes and CMYK are read, and luma with chroma in JPEG"
        )))
    };
    match photometric {
        0 | 1 => Ok(Colors::Gray),
        2 | 3 => Ok(Colors::Rgb),
        4 => refused("a mask of transparency"),
        5 => match file.one(tag::INK_SET)?.unwrap_or(1) {
            1 => Ok(Colors::Cmyk),
            _ => refused("inks other than cyan, magenta, yellow and black"),
        },
        6 if codec == Codec::Jpeg && !planar => Ok(Colors::Rgb),
        6 => refused("luma and chroma"),
        8..=10 => refused("CIE L*a*b*"),
        32_803 => refused("a camera's mosaic"),
        32_844 | 32_845 => refused("LogLuv"),
        34_892 => refused("a camera's raw colours"),
        _ => refused("unknown"),
    }
}

fn read_palette<R: Read + Seek>(file: &mut Directory<R>, bits: u32) -> Result<Vec<[u32; 3]>, Failure> {
    if bits > 16 {
        return Err(Failure::unsupported(format!(
            "its palette is chosen from by {bits} bits; 1 to 16 are read"
        )));
    }
    let entries = 1 << bits;
    let map = file.list(tag::COLOR_MAP, 3 << bits)?.unwrap_or_default();
    if map.len() != 3 * entries {
        return Err(Failure::damaged(format!(
            "its palette has {} numbers, and {bits} bits need {}",
            map.len(),
            3 * entries
        )));
    }
    // Some writers put colours of 8 bits into the low or the high halves.
    let shift = if map.iter().any(|v| *v > 255) && map.iter().all(|v| v % 256 == 0) {
        8
    } else {
        0
    };
    let color =
        |i: usize| [map[i], map[entries + i], map[2 * entries + i]].map(|v| v.min(65_535) as u32 >> shift);
    Ok((0..entries).map(color).collect())
}

/// The first of the extra samples that is transparency.
fn read_alpha(extra: &[u64], colors: usize) -> (Alpha, Option<usize>) {
    let found = extra.iter().position(|&kind| matches!(kind, 1 | 2));
    match found {
        Some(at) if extra[at] == 2 => (Alpha::Straight, Some(colors + at)),
        Some(at) => (Alpha::Associated, Some(colors + at)),
        None => (Alpha::None, None),
    }
}

fn read_predictor<R: Read + Seek>(
    file: &mut Directory<R>,
    codec: Codec,
    bits: u32,
    number: Number,
) -> Result<Predictor, Failure> {
    let predictor = match file.one(tag::PREDICTOR)?.unwrap_or(1) {
        1 => return Ok(Predictor::None),
        2 => Predictor::Horizontal,
        3 => Predictor::FloatingPoint,
        other => {
            return Err(Failure::unsupported(format!(
                "its predictor is {other}; 1, 2 and 3 are read"
            )));
        }
    };
    if !codec.predicts() {
        return Err(Failure::unsupported(
            "it names a predictor for a compression that has none, which readers take in two ways",
        ));
    }
    match predictor {
        Predictor::Horizontal if !matches!(bits, 8 | 16 | 24 | 32 | 64) => {
            Err(Failure::unsupported(format!(
                "its predictor takes differences of samples of {bits} bits; 8, 16, 24, 32 and 64 are read"
            )))
        }
        Predictor::FloatingPoint if number != Number::Float => Err(Failure::damaged(
            "its predictor is that of floating point numbers, and its samples are integers",
        )),
        predictor => Ok(predictor),
    }
}

/// GDAL writes the number as text.
fn read_nodata<R: Read + Seek>(file: &mut Directory<R>) -> Option<f64> {
    let text = file.bytes(tag::GDAL_NODATA, 256).ok()??;
    let text = std::str::from_utf8(&text).ok()?;
    text.trim_matches(['\0', ' ']).parse().ok()
}
