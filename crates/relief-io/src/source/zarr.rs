//! Arrays of Zarr version 3: a folder of chunks, of which windows are read.
//!
//! The path of a group stands for its array `0`, as OME-Zarr names the finest level, or for the one that is asked for. Samples are integers
//! of 8, 16 and 32 bits and floating point numbers; of dimensions before the last two one element is read. A chunk without a
//! file is the fill value.
//!
//! Our own reader, because the crate `zarrs` builds C libraries. Format:
//! <https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html>, and that of its codecs.

use std::io::{self, Cursor, Read};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use relief_design::{Conversion, visible};
use relief_raster::Rect;
use ruzstd::decoding::StreamingDecoder;
use serde_json::Value;

use super::bits::{greatest, unpack};
use super::failure::Failure;
use super::files::{Decoder, Files, Info};
use super::gray::{Alpha, Colors, GrayRows, Pixels, Row, Scale};
use super::limits::Limits;
use super::pitch::{self, Pitch};
use super::tiff::{MAX_WINDOW, Number};
use super::windows::{BLOCK, Decoded, Needs, Parts, SLOT, Shared, Windows};

/// The longest metadata that is read.
const MAX_METADATA: u64 = 1 << 20;

/// The most chunks of a shard: its index is read whole.
const MAX_INNER: u64 = 1 << 16;

/// What reading a chunk holds beside its bytes: buffers and the tables of a decompressor.
const DECODER: u64 = 1 << 20;

/// A list of places and lengths names a chunk that is not there by this number twice.
const ABSENT: u64 = u64::MAX;

/// A codec from bytes to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Gzip,
    Zstandard,
    Crc32c,
}

/// How a chunk becomes samples.
#[derive(Clone, Debug)]
struct Coding {
    big_endian: bool,
    /// In the order in which they were applied.
    packings: Vec<Packing>,
}

/// How chunks lie in the files of shards.
#[derive(Clone, Debug)]
struct Shard {
    /// Chunks across and down a shard.
    across: u64,
    down: u64,
    /// Chunks along the dimensions before them, and which of them is read.
    layers: u64,
    layer: u64,
    /// Whether the index has a check sum.
    checked: bool,
    at_end: bool,
    big_endian: bool,
}

/// An array: its size, how it is cut, and how chunks become samples.
#[derive(Clone, Debug)]
struct Array {
    width: u64,
    height: u64,
    number: Number,
    bits: u32,
    fill: f64,
    /// Columns and rows of a chunk.
    chunk: (u64, u64),
    /// Elements of a chunk along the dimensions before them, and which of them is read.
    planes: u64,
    plane: u64,
    coding: Coding,
    shard: Option<Shard>,
    /// What the names of chunks begin with, and what stands between their numbers.
    prefix: String,
    separator: char,
}

pub(super) struct Zarr {
    files: Files,
    /// The path of the array.
    path: String,
    array: Array,
    pitch: Option<Pitch>,
    needs: Needs,
    limits: Limits,
}

impl Zarr {
    /// Reads the metadata of a store or of one of its arrays.
    pub(super) fn open(
        files: &Files,
        path: &str,
        conversion: &Conversion,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let read = |path: &str| {
            let text = files.read_whole(&format!("{path}/zarr.json"), MAX_METADATA)?;
            let metadata: Value = serde_json::from_slice(&text)
                .map_err(|error| Failure::damaged(format!("its zarr.json is not JSON: {error}")))?;
            if metadata["zarr_format"] != 3 {
                return Err(Failure::unsupported(format!(
                    "its zarr_format is {}; 3 is read",
                    shown(&metadata["zarr_format"])
                )));
            }
            Ok(metadata)
        };
        let mut path = path.trim_end_matches('/').to_owned();
        let mut metadata = read(&path).map_err(|failure| match failure {
            Failure::Read(error) if error.kind() == io::ErrorKind::NotFound => {
                Failure::unsupported("it is a folder without a zarr.json; of folders, Zarr 3 is read")
            }
            other => other,
        })?;
        let missing = |failure: Failure, path: &str, name: &str| match failure {
            Failure::Read(error) if error.kind() == io::ErrorKind::NotFound => {
                Failure::unsupported(no_array(files, path, name))
            }
            other => other,
        };
        let mut pitch = None;
        if let Some(name) = conversion.array.as_deref() {
            let array = format!("{path}/{name}");
            pitch = scale(&metadata, name);
            metadata = read(&array).map_err(|failure| missing(failure, &path, name))?;
            path = array;
        }
        if metadata["node_type"] == "group" {
            pitch = scale(&metadata, "0");
            metadata = read(&format!("{path}/0")).map_err(|failure| missing(failure, &path, "0"))?;
            path.push_str("/0");
        }
        let array = Array::read(&metadata, &conversion.index)?;
        limits.check_sides(array.width, array.height)?;
        let needs = array.needs(limits)?;
        Ok(Self {
            files: files.clone(),
            path,
            array,
            pitch,
            needs,
            limits: *limits,
        })
    }
}

/// The most arrays of a group that a message names.
const MAX_NAMED: usize = 8;

/// What is said of a group that lacks an array.
fn no_array(files: &Files, path: &str, name: &str) -> String {
    let mut names: Vec<String> = files
        .path(path)
        .and_then(std::fs::read_dir)
        .into_iter()
        .flatten()
        .flatten()
        .take(4_096)
        .filter(|entry| entry.path().join("zarr.json").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let more = if names.len() > MAX_NAMED { ", …" } else { "" };
    names.truncate(MAX_NAMED);
    let message = format!("it is a Zarr group without an array `{}`", visible(name));
    match names.as_slice() {
        [] => message,
        names => {
            let names: Vec<String> = names.iter().map(|name| format!("`{}`", visible(name))).collect();
            format!("{message}; `array` may be {}{more}", names.join(", "))
        }
    }
}

/// The sides of a pixel of an array of an OME-Zarr group: the scale of the last two axes, in their units.
///
/// Format: <https://ngff.openmicroscopy.org/0.5/>, `multiscales`.
fn scale(group: &Value, array: &str) -> Option<Pitch> {
    let scales = &group["attributes"]["ome"]["multiscales"][0];
    let axes = scales["axes"].as_array()?;
    let [.., down, across] = axes.as_slice() else {
        return None;
    };
    let mut sets = scales["datasets"].as_array()?.iter();
    let set = sets.find(|set| set["path"] == array)?;
    let factors = |of: &Value| {
        let transformations = of["coordinateTransformations"].as_array()?.iter();
        let mut found = transformations.filter(|one| one["type"] == "scale");
        let [.., down, across] = found.next()?["scale"].as_array()?.as_slice() else {
            return None;
        };
        Some([across.as_f64()?, down.as_f64()?])
    };
    let [across_by, down_by] = factors(set)?;
    // That of all levels comes after that of one.
    let [all_across, all_down] = factors(scales).unwrap_or([1.0, 1.0]);
    let side = |axis: &Value, by: f64| {
        let unit = match axis["unit"].as_str()? {
            "picometer" => (1, 1_000_000_000_000),
            "nanometer" => (1, 1_000_000_000),
            "micrometer" => (1, 1_000_000),
            "millimeter" => (1, 1_000),
            "centimeter" => pitch::CENTIMETRE,
            "meter" => pitch::METRE,
            "inch" => pitch::INCH,
            _ => return None,
        };
        pitch::of_number(by, unit)
    };
    Some([
        side(across, across_by * all_across)?,
        side(down, down_by * all_down)?,
    ])
}

/// A value of the metadata, short enough for a message.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A list of whole numbers.
fn numbers(value: &Value, what: &str) -> Result<Vec<u64>, Failure> {
    let list = value.as_array().map(|list| list.iter().map(Value::as_u64));
    list.and_then(Iterator::collect).ok_or_else(|| {
        Failure::damaged(format!(
            "its {what} is {}, no list of whole numbers",
            shown(value)
        ))
    })
}

/// A list of numbers of at least 1 as those before the last two, and columns and rows.
fn sides(value: &Value, what: &str, dimensions: Option<usize>) -> Result<(Vec<u64>, (u64, u64)), Failure> {
    let list = numbers(value, what)?;
    let [before @ .., height, width] = list.as_slice() else {
        return Err(Failure::unsupported(format!(
            "its {what} is {}; arrays of two dimensions or more are read",
            shown(value)
        )));
    };
    if dimensions.is_some_and(|count| count != list.len()) || list.contains(&0) {
        return Err(Failure::damaged(format!("its {what} is {}", shown(value))));
    }
    Ok((before.to_vec(), (*width, *height)))
}

/// Which element is read along each dimension before the last two, of which the array has so many.
fn places(shape: &[u64], index: &[u64]) -> Result<Vec<u64>, Failure> {
    let listed = |list: &[u64]| list.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    if index.is_empty() && shape.iter().all(|&side| side == 1) {
        return Ok(vec![0; shape.len()]);
    }
    if index.is_empty() {
        return Err(Failure::unsupported(format!(
            "before its rows and columns it has {} elements; `index` says which of them, as index=\"{}\"",
            shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" × "),
            listed(&vec![0; shape.len()])
        )));
    }
    if index.len() != shape.len() {
        return Err(Failure::unsupported(format!(
            "its `index` has {} numbers, and before its rows and columns it has {} dimensions",
            index.len(),
            shape.len()
        )));
    }
    if index.iter().zip(shape).any(|(place, side)| place >= side) {
        return Err(Failure::unsupported(format!(
            "its `index` is {}, and from 0 on it has {} elements",
            listed(index),
            shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ")
        )));
    }
    Ok(index.to_vec())
}

/// The number of an element among all of a box of so many along each dimension.
fn number_in(places: impl Iterator<Item = u64>, sides: &[u64]) -> u64 {
    places.zip(sides).fold(0, |number, (place, side)| {
        number.saturating_mul(*side).saturating_add(place)
    })
}

fn product(sides: &[u64]) -> u64 {
    sides
        .iter()
        .fold(1, |product, side| product.saturating_mul(*side))
}

impl Array {
    fn read(metadata: &Value, index: &[u64]) -> Result<Self, Failure> {
        if metadata["node_type"] != "array" {
            return Err(Failure::damaged(format!(
                "its node_type is {}, neither array nor group",
                shown(&metadata["node_type"])
            )));
        }
        let (layers, (width, height)) = sides(&metadata["shape"], "shape", None)?;
        let index = places(&layers, index)?;
        let dimensions = metadata["shape"].as_array().map_or(2, Vec::len);
        let (number, bits) = match metadata["data_type"].as_str() {
            Some("uint8") => (Number::Whole, 8),
            Some("uint16") => (Number::Whole, 16),
            Some("uint32") => (Number::Whole, 32),
            Some("int8") => (Number::Signed, 8),
            Some("int16") => (Number::Signed, 16),
            Some("int32") => (Number::Signed, 32),
            Some("float16") => (Number::Float, 16),
            Some("float32") => (Number::Float, 32),
            Some("float64") => (Number::Float, 64),
            _ => {
                return Err(Failure::unsupported(format!(
                    "its data_type is {}; integers of 8, 16 and 32 bits and floating point numbers are read",
                    shown(&metadata["data_type"])
                )));
            }
        };
        let grid = &metadata["chunk_grid"];
        if grid["name"] != "regular" {
            return Err(Failure::unsupported(format!(
                "its chunk_grid is {}; regular ones are read",
                shown(&grid["name"])
            )));
        }
        if metadata["storage_transformers"]
            .as_array()
            .is_some_and(|list| !list.is_empty())
        {
            return Err(Failure::unsupported(
                "it has storage transformers; none are known",
            ));
        }
        let outer = sides(
            &grid["configuration"]["chunk_shape"],
            "chunk_shape",
            Some(dimensions),
        )?;
        let numbers = index.iter().zip(&outer.0).map(|(place, side)| place / side);
        let (prefix, separator) = keys(&metadata["chunk_key_encoding"], numbers)?;
        let codecs = metadata["codecs"].as_array().map_or(&[][..], Vec::as_slice);
        let (chunk, coding, shard) = match codecs {
            [one] if one["name"] == "sharding_indexed" => {
                sharded(&one["configuration"], &outer, &index, bits)?
            }
            _ => (outer, Coding::read(codecs, bits)?, None),
        };
        let (before, chunk) = chunk;
        let within = index.iter().zip(&before).map(|(place, side)| place % side);
        Ok(Self {
            width,
            height,
            number,
            bits,
            fill: fill(&metadata["fill_value"], number, bits)?,
            chunk,
            planes: product(&before),
            plane: number_in(within, &before),
            coding,
            shard,
            prefix,
            separator,
        })
    }

    fn sample_bytes(&self) -> u64 {
        u64::from(self.bits / 8)
    }

    /// The bytes of what is read of a chunk.
    fn plane_bytes(&self) -> u64 {
        self.chunk
            .0
            .saturating_mul(self.chunk.1)
            .saturating_mul(self.sample_bytes())
    }

    /// The bytes of a chunk before it is packed.
    fn chunk_bytes(&self) -> u64 {
        self.plane_bytes().saturating_mul(self.planes)
    }

    /// The most bytes of a chunk as it is stored: what does not shrink grows by little.
    fn stored_bytes(&self) -> u64 {
        self.chunk_bytes()
            .saturating_add(self.chunk_bytes() / 64)
            .saturating_add(4_096)
    }

    /// Chunks across and down.
    fn cut(&self) -> (u64, u64) {
        (
            self.width.div_ceil(self.chunk.0),
            self.height.div_ceil(self.chunk.1),
        )
    }

    fn chunks(&self) -> u64 {
        let (across, down) = self.cut();
        across.saturating_mul(down)
    }

    fn pixels(&self) -> Pixels {
        Pixels {
            colors: Colors::Gray,
            alpha: Alpha::None,
            scale: match self.number {
                Number::Whole => Scale::Whole {
                    max: greatest(self.bits),
                },
                Number::Signed | Number::Float => Scale::Numbers,
            },
        }
    }

    fn needs(&self, limits: &Limits) -> Result<Needs, Failure> {
        let chunk = self.chunk_bytes();
        if chunk > limits.cache_bytes() {
            return Err(Failure::TooLarge(format!(
                "its chunks have {chunk} bytes; at most {} are held",
                limits.cache_bytes()
            )));
        }
        let plane = self.plane_bytes();
        let kept = Parts::count(plane, self.chunks(), limits.cache_bytes());
        let mut reading = BLOCK
            .max(self.width.saturating_mul(2))
            .saturating_add(self.pixels().row_memory(self.chunk.0.min(self.width)))
            .saturating_add(chunk)
            .saturating_add(self.stored_bytes().saturating_mul(2))
            .saturating_add(DECODER);
        if self.coding.packings.contains(&Packing::Zstandard) {
            reading = reading.saturating_add(zstandard_window(chunk).saturating_mul(2));
        }
        if let Some(shard) = &self.shard {
            reading = reading.saturating_add(shard.index_bytes());
        }
        Ok(Needs {
            parts: Some(self.chunk),
            open: kept
                .saturating_mul(plane.saturating_add(SLOT))
                .saturating_add(MAX_METADATA),
            reading,
        })
    }
}

/// The window that is held to read chunks of so many bytes.
fn zstandard_window(chunk: u64) -> u64 {
    chunk.next_power_of_two().clamp(1 << 20, MAX_WINDOW)
}

/// What the names of chunks begin with, and what stands between their numbers.
fn keys(encoding: &Value, numbers: impl Iterator<Item = u64>) -> Result<(String, char), Failure> {
    let (start, separator) = match encoding["name"].as_str() {
        Some("default") => ("c", '/'),
        Some("v2") => ("", '.'),
        _ => {
            return Err(Failure::unsupported(format!(
                "its chunk_key_encoding is {}; default and v2 are read",
                shown(&encoding["name"])
            )));
        }
    };
    let separator = match encoding["configuration"]["separator"].as_str() {
        Some("/") => '/',
        Some(".") => '.',
        _ if encoding["configuration"]["separator"].is_null() => separator,
        _ => {
            return Err(Failure::damaged(format!(
                "its separator is {}, neither / nor .",
                shown(&encoding["configuration"]["separator"])
            )));
        }
    };
    let mut prefix = start.to_owned();
    if !prefix.is_empty() {
        prefix.push(separator);
    }
    for number in numbers {
        prefix.push_str(&number.to_string());
        prefix.push(separator);
    }
    Ok((prefix, separator))
}

/// The fill value, as a sample.
fn fill(value: &Value, number: Number, bits: u32) -> Result<f64, Failure> {
    let wrong = || {
        Failure::unsupported(format!(
            "its fill_value is {}, no number of its data_type",
            shown(value)
        ))
    };
    let found = match value {
        Value::Number(number) => number.as_f64().ok_or_else(wrong)?,
        Value::String(text) if number == Number::Float => match text.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            _ => return Err(wrong()),
        },
        _ => return Err(wrong()),
    };
    let whole = found.fract() == 0.0;
    let half = 2_f64.powi(bits as i32 - 1);
    let fits = match number {
        Number::Whole => whole && found >= 0.0 && found < 2.0 * half,
        Number::Signed => whole && found >= -half && found < half,
        Number::Float => true,
    };
    if fits { Ok(found) } else { Err(wrong()) }
}

/// The sides of a chunk: along the dimensions before the last two, and columns and rows.
type Sides = (Vec<u64>, (u64, u64));

/// How an array is cut: the sides of a chunk, how it is coded, and the shards that chunks lie in.
type Cut = (Sides, Coding, Option<Shard>);

/// The codecs of an array whose chunks lie in shards.
fn sharded(configuration: &Value, outer: &Sides, index: &[u64], bits: u32) -> Result<Cut, Failure> {
    let (before, chunk) = sides(
        &configuration["chunk_shape"],
        "chunk_shape within shards",
        Some(index.len() + 2),
    )?;
    let (outer_before, outer) = outer;
    let mut sides = outer_before.iter().zip(&before);
    if outer.0 % chunk.0 != 0 || outer.1 % chunk.1 != 0 || sides.any(|(outer, side)| outer % side != 0) {
        return Err(Failure::damaged(
            "the sides of its shards are no multiples of those of its chunks",
        ));
    }
    let codecs = |name: &str| configuration[name].as_array().map_or(&[][..], Vec::as_slice);
    let coding = Coding::read(codecs("codecs"), bits)?;
    let list = Coding::read(codecs("index_codecs"), 64)?;
    let checked = match list.packings.as_slice() {
        [] => false,
        [Packing::Crc32c] => true,
        _ => {
            return Err(Failure::unsupported(
                "the index of its shards is compressed; one of known length is read",
            ));
        }
    };
    let at_end = match configuration["index_location"].as_str() {
        Some("end") => true,
        Some("start") => false,
        _ if configuration["index_location"].is_null() => true,
        _ => {
            return Err(Failure::damaged(format!(
                "its index_location is {}, neither start nor end",
                shown(&configuration["index_location"])
            )));
        }
    };
    let layers: Vec<u64> = outer_before
        .iter()
        .zip(&before)
        .map(|(outer, side)| outer / side)
        .collect();
    let within = index.iter().zip(outer_before).zip(&before);
    let shard = Shard {
        across: outer.0 / chunk.0,
        down: outer.1 / chunk.1,
        layers: product(&layers),
        layer: number_in(within.map(|((place, outer), side)| place % outer / side), &layers),
        checked,
        at_end,
        big_endian: list.big_endian,
    };
    if shard.chunks() > MAX_INNER {
        return Err(Failure::TooLarge(format!(
            "its shards have {} chunks; {MAX_INNER} are read",
            shard.chunks()
        )));
    }
    Ok(((before, chunk), coding, Some(shard)))
}

impl Coding {
    /// The codecs of samples of so many bits; of 8 bits the order of bytes may be left out.
    fn read(codecs: &[Value], bits: u32) -> Result<Self, Failure> {
        let refused = |codec: &Value| {
            Failure::unsupported(format!(
                "it has the codec {}; bytes, gzip, zstd, crc32c and sharding_indexed alone are read",
                shown(&codec["name"])
            ))
        };
        let [first, packings @ ..] = codecs else {
            return Err(Failure::damaged("it names no codecs"));
        };
        if first["name"] != "bytes" {
            return Err(refused(first));
        }
        let big_endian = match first["configuration"]["endian"].as_str() {
            Some("big") => true,
            Some("little") => false,
            _ if bits == 8 && first["configuration"]["endian"].is_null() => false,
            _ => {
                return Err(Failure::damaged(format!(
                    "its order of bytes is {}, neither little nor big",
                    shown(&first["configuration"]["endian"])
                )));
            }
        };
        let packings = packings
            .iter()
            .map(|codec| match codec["name"].as_str() {
                Some("gzip") => Ok(Packing::Gzip),
                Some("zstd") => Ok(Packing::Zstandard),
                Some("crc32c") => Ok(Packing::Crc32c),
                _ => Err(refused(codec)),
            })
            .collect::<Result<Vec<_>, _>>()?;
        // No writer has as many; each holds a chunk.
        if packings.len() > 4 {
            return Err(Failure::unsupported(format!(
                "it has {} codecs; up to 5 are read",
                packings.len() + 1
            )));
        }
        Ok(Self { big_endian, packings })
    }

    /// Undoes the codecs: exactly `bytes` bytes, before which no step holds more than `most`.
    fn unpack(&self, mut stored: Vec<u8>, bytes: u64, most: u64) -> Result<Vec<u8>, Failure> {
        for (number, packing) in self.packings.iter().enumerate().rev() {
            let limit = if number == 0 { bytes } else { most };
            stored = match packing {
                Packing::Crc32c => {
                    let body = stored.len().checked_sub(4);
                    let body =
                        body.ok_or_else(|| Failure::damaged("a chunk is shorter than its check sum"))?;
                    let sum = stored.split_off(body);
                    if sum != crc32c::crc32c(&stored).to_le_bytes() {
                        return Err(Failure::damaged(
                            "the check sum of a chunk is not that of its bytes",
                        ));
                    }
                    stored
                }
                Packing::Gzip => inflated(MultiGzDecoder::new(Cursor::new(stored)), limit)?,
                Packing::Zstandard => {
                    let window = zstandard_window(bytes);
                    let decoder = StreamingDecoder::new_with_max_window_size(Cursor::new(stored), window);
                    inflated(decoder.map_err(Failure::damaged)?, limit)?
                }
            };
        }
        if stored.len() as u64 != bytes {
            return Err(Failure::damaged(format!(
                "a chunk has {} bytes, and its samples take {bytes}",
                stored.len()
            )));
        }
        Ok(stored)
    }
}

/// All that a decoder gives, at most so many bytes.
fn inflated(decoder: impl Read, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::with_capacity(usize::try_from(most).map_err(Failure::damaged)?.min(1 << 26));
    decoder.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Failure::damaged(format!(
            "a chunk has more than the {most} bytes of its samples"
        )));
    }
    Ok(bytes)
}

impl Shard {
    fn chunks(&self) -> u64 {
        self.across.saturating_mul(self.down).saturating_mul(self.layers)
    }

    fn index_bytes(&self) -> u64 {
        self.chunks() * 16 + if self.checked { 4 } else { 0 }
    }

    /// Where a chunk lies in the file of a shard, of `length` bytes.
    fn place(&self, file: &Shared, length: u64, number: u64) -> Result<Option<(u64, u64)>, Failure> {
        let bytes = self.index_bytes();
        let short = || Failure::damaged("a shard is shorter than its index");
        let start = if self.at_end {
            length.checked_sub(bytes).ok_or_else(short)?
        } else {
            0
        };
        let mut index = vec![0; bytes as usize];
        file.read_exact_at(&mut index, start)?;
        if self.checked {
            let (body, sum) = index.split_at(index.len() - 4);
            if sum != crc32c::crc32c(body).to_le_bytes() {
                return Err(Failure::damaged(
                    "the check sum of the index of a shard is not that of its bytes",
                ));
            }
        }
        let entry = |at: u64| {
            let bytes = index.get(at as usize..).and_then(|rest| rest.first_chunk::<8>());
            let bytes = *bytes.ok_or_else(short)?;
            Ok::<_, Failure>(if self.big_endian {
                u64::from_be_bytes(bytes)
            } else {
                u64::from_le_bytes(bytes)
            })
        };
        let (place, count) = (entry(number * 16)?, entry(number * 16 + 8)?);
        Ok((place != ABSENT || count != ABSENT).then_some((place, count)))
    }
}

impl Decoder for Zarr {
    fn info(&self) -> Info {
        Info {
            width: self.array.width,
            height: self.array.height,
            bits: self.array.bits,
            memory: self.needs.reading,
        }
    }

    fn pitch(&self) -> Option<Pitch> {
        self.pitch
    }

    fn numbers(&self) -> Option<String> {
        match self.array.number {
            Number::Whole => None,
            Number::Signed => Some(format!("signed integers of {} bits", self.array.bits)),
            Number::Float => Some(format!("floating point numbers of {} bits", self.array.bits)),
        }
    }

    fn windows(&self) -> Option<Needs> {
        Some(self.needs)
    }

    fn into_windows(self: Box<Self>) -> Result<Box<dyn Windows>, Failure> {
        let count = Parts::count(
            self.array.plane_bytes(),
            self.array.chunks(),
            self.limits.cache_bytes(),
        );
        Ok(Box::new(Chunks {
            files: self.files,
            path: self.path,
            array: self.array,
            cache: Parts::new(count),
        }))
    }

    fn read(self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let whole = Rect::sized(self.array.width, self.array.height);
        self.into_windows()?.read(whole, rows)
    }
}

/// An array that is read from.
struct Chunks {
    files: Files,
    path: String,
    array: Array,
    cache: Parts,
}

impl Chunks {
    /// The samples of a chunk, big-endian; none of one that has no file.
    fn decode(&self, column: u64, row: u64) -> Result<Decoded, Failure> {
        let array = &self.array;
        let (outer, number) = match &array.shard {
            None => ((column, row), 0),
            Some(shard) => (
                (column / shard.across, row / shard.down),
                (shard.layer * shard.down + row % shard.down) * shard.across + column % shard.across,
            ),
        };
        let (prefix, separator) = (&array.prefix, array.separator);
        let name = format!("{}/{prefix}{}{separator}{}", self.path, outer.1, outer.0);
        let (bytes, length) = match self.files.content(&name) {
            Ok(found) => found,
            Err(Failure::Read(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let file = Shared::plain(bytes, length);
        let place = match &array.shard {
            None => Some((0, length)),
            Some(shard) => shard.place(&file, length, number)?,
        };
        let Some((place, count)) = place else {
            return Ok(None);
        };
        if place.checked_add(count).is_none_or(|end| end > length) {
            return Err(Failure::damaged("a chunk lies beyond the end of its shard"));
        }
        if count > array.stored_bytes() {
            return Err(Failure::damaged(format!(
                "a chunk is stored in {count} bytes, and its samples take {}",
                array.chunk_bytes()
            )));
        }
        let mut stored = vec![0; usize::try_from(count).map_err(Failure::damaged)?];
        file.read_exact_at(&mut stored, place)?;
        let mut samples = array
            .coding
            .unpack(stored, array.chunk_bytes(), array.stored_bytes())?;
        if array.planes > 1 {
            let bytes = usize::try_from(array.plane_bytes()).map_err(Failure::damaged)?;
            let start = usize::try_from(array.plane).map_err(Failure::damaged)? * bytes;
            samples.truncate(start + bytes);
            samples.drain(..start);
            samples.shrink_to_fit();
        }
        if !array.coding.big_endian && array.bits > 8 {
            samples
                .chunks_exact_mut(array.bits as usize / 8)
                .for_each(<[u8]>::reverse);
        }
        Ok(Some(samples))
    }

    fn chunk(&self, column: u64, row: u64) -> Result<Arc<Decoded>, Failure> {
        let number = row.saturating_mul(self.array.cut().0).saturating_add(column);
        let number = usize::try_from(number).map_err(Failure::damaged)?;
        self.cache
            .get(number, |_| self.decode(column, row))
            .map_err(|failure| failure.at_row(row * self.array.chunk.1))
    }
}

impl Windows for Chunks {
    fn read(&self, window: Rect, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let array = &self.array;
        let (across, down) = array.chunk;
        let (mut y, bottom) = (window.y().cast_unsigned(), window.bottom().cast_unsigned());
        let (left, right) = (window.x().cast_unsigned(), window.right().cast_unsigned());
        let width = usize::try_from(window.width()).map_err(Failure::damaged)?;
        let most = (BLOCK / window.width().saturating_mul(2).max(1)).max(1);
        let sample = array.sample_bytes();
        let (mut block, mut whole, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        while y < bottom {
            let chunk_row = y / down;
            let end = bottom.min((chunk_row + 1).saturating_mul(down)).min(y + most);
            block.clear();
            block.resize(width * (end - y) as usize, 0);
            for column in left / across..right.div_ceil(across) {
                let origin = column * across;
                let (from, to) = (left.max(origin), right.min(origin.saturating_add(across)));
                let decoded = self.chunk(column, chunk_row)?;
                let count = (to - from) as usize;
                for (row, line) in (y..end).zip(block.chunks_exact_mut(width)) {
                    let start = ((row - chunk_row * down) * across + from - origin) * sample;
                    let range = start as usize..start as usize + count * sample as usize;
                    let bytes = decoded.as_ref().as_ref().and_then(|bytes| bytes.get(range));
                    let samples = match (bytes, array.number) {
                        (Some(bytes), Number::Whole) => {
                            whole.clear();
                            unpack(bytes, array.bits, count, &mut whole);
                            Row::Whole(&whole)
                        }
                        (None, Number::Whole) => {
                            whole.clear();
                            whole.resize(count, array.fill as u32);
                            Row::Whole(&whole)
                        }
                        (Some(bytes), number) => {
                            numbers.clear();
                            number.read(bytes, array.bits, count, &mut numbers);
                            Row::Numbers(&numbers)
                        }
                        (None, _) => {
                            numbers.clear();
                            numbers.resize(count, array.fill);
                            Row::Numbers(&numbers)
                        }
                    };
                    let gray = rows.gray(array.pixels(), samples);
                    let start = (from - left) as usize;
                    if let Some(out) = line.get_mut(start..start + count) {
                        out.copy_from_slice(gray);
                    }
                }
            }
            for (row, line) in (y..end).zip(block.chunks_exact_mut(width)) {
                if rows.hand(row, line).is_break() {
                    return Ok(());
                }
            }
            y = end;
        }
        Ok(())
    }
}
