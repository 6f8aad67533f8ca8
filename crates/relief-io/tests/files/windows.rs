//! Windows of pictures: a part is what the whole shows there, whatever the file is cut into.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::ops::ControlFlow;

use proptest::prelude::*;
use relief_design::{Conversion, ImageSource, Picture};
use relief_engine::source::ImageError;
use relief_io::{Files, Limits};
use relief_raster::{Depth, Rect};
use tempfile::TempDir;

use crate::builders::tiff;
use crate::sources::{Rows, samples_of_every_kind, scattered, tiff_picture};
#[cfg(unix)]
use crate::sparse::sparse_tiff;

fn read(picture: &dyn Picture, window: Rect, depth: Depth) -> Result<Rows, ImageError> {
    let mut rows: Vec<Option<Vec<u16>>> = vec![None; window.height() as usize];
    picture.read(window, depth, &mut |number, row| {
        assert_eq!(row.len() as u64, window.width());
        let place = number as usize - window.y() as usize;
        assert!(
            rows[place].replace(row.to_vec()).is_none(),
            "row {number} came twice"
        );
        ControlFlow::Continue(())
    })?;
    Ok(rows.into_iter().map(Option::unwrap).collect())
}

/// Opens bytes as a picture, with a cache of so many bytes.
fn open(bytes: &[u8], cache: u64) -> (TempDir, Box<dyn Picture>) {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("picture"), bytes).unwrap();
    let limits = Limits::default().with(|with| with.cache = cache);
    let files = Files::new(folder.path()).with_limits(limits);
    let picture = files.open("picture", &Conversion::default()).unwrap();
    (folder, picture)
}

/// Compares windows of a picture with what the whole shows there.
fn assert_windows(bytes: &[u8], cache: u64) -> bool {
    let (_folder, picture) = open(bytes, cache);
    let (width, height) = picture.size();
    let whole = read(&*picture, Rect::sized(width, height), Depth::Sixteen).unwrap();
    let (right, bottom) = (width as i64, height as i64);
    for (x, y, to, end) in [
        (0, 0, 1, 1),
        (right - 1, bottom - 1, right, bottom),
        (1, 0, right, bottom),
        (right / 2, bottom / 3, right - right / 5, bottom - bottom / 4),
        (right / 3, 0, right / 3 + 1, bottom),
    ] {
        let window = Rect::between(x, y, to, end);
        if window.is_empty() {
            continue;
        }
        let part = read(&*picture, window, Depth::Sixteen).unwrap();
        let expected: Rows = whole[y as usize..end as usize]
            .iter()
            .map(|row| row[x as usize..to as usize].to_vec())
            .collect();
        assert_eq!(part, expected, "{window:?}");
    }
    picture.windowed()
}

/// A compressed TIFF in strips of a few rows.
fn compressed(how: ::tiff::encoder::Compression) -> Vec<u8> {
    use ::tiff::encoder::{TiffEncoder, colortype};
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut bytes).unwrap().with_compression(how);
    let mut image = encoder.new_image::<colortype::Gray16>(37, 29).unwrap();
    image.rows_per_strip(4).unwrap();
    image.write_data(&scattered(37 * 29, 65_535)).unwrap();
    bytes.into_inner()
}

#[test]
fn a_window_of_any_kind_of_file_shows_what_the_whole_shows_there() {
    let windowed = samples_of_every_kind()
        .iter()
        .filter(|bytes| assert_windows(bytes, 64 << 20))
        .count();
    assert!(windowed >= 7, "{windowed} are read in windows");
}

#[test]
fn windows_of_a_tiff_do_not_depend_on_how_it_is_cut_compressed_or_turned() {
    use ::tiff::encoder::{Compression, DeflateLevel};
    let large = |bits, channels, photometric| {
        let mut picture = tiff_picture(bits, channels, photometric);
        (picture.width, picture.height) = (45, 38);
        let max = (1_u32 << bits) - 1;
        picture.samples = scattered(45 * 38 * channels, max as u16);
        picture
    };
    for (bits, channels, photometric) in [(1, 1, 0), (4, 1, 1), (8, 3, 2), (16, 1, 1), (16, 3, 2)] {
        for tiles in [None, Some((16, 32))] {
            for (planar, big_endian, orientation) in [
                (false, false, 1),
                (true, true, 3),
                (false, true, 2),
                (true, false, 4),
            ] {
                let picture = tiff::Picture {
                    tiles,
                    planar: planar && channels > 1,
                    big_endian,
                    tags: vec![(274, orientation)],
                    ..large(bits, channels, photometric)
                };
                assert!(assert_windows(&picture.bytes(), 1 << 20));
            }
        }
    }
    for how in [
        Compression::Lzw,
        Compression::Packbits,
        Compression::Deflate(DeflateLevel::Fast),
    ] {
        let bytes = compressed(how);
        // A cache of one strip, of all of them, and one that is smaller than a strip: that file is read row by row.
        assert!(assert_windows(&bytes, 37 * 4 * 2));
        assert!(assert_windows(&bytes, 1 << 20));
        assert!(!assert_windows(&bytes, 37 * 4 * 2 - 1));
    }
    // Rows and columns are exchanged: it is read row by row.
    let turned = tiff::Picture {
        tags: vec![(274, 6)],
        ..large(8, 1, 1)
    };
    assert!(!assert_windows(&turned.bytes(), 1 << 20));
}

#[test]
fn the_size_of_a_picture_of_which_windows_are_read_has_a_limit_of_its_own() {
    let folder = TempDir::new().unwrap();
    let file = std::fs::File::create(folder.path().join("large.pgm")).unwrap();
    std::io::Write::write_all(&mut &file, b"P5 400000 400000 255\n").unwrap();
    file.set_len(21 + 400_000 * 400_000).unwrap();
    let files = Files::new(folder.path());
    let picture = files.open("large.pgm", &Conversion::default()).unwrap();
    let window = Rect::between(399_000, 399_998, 400_000, 400_000);
    assert_eq!(
        read(&*picture, window, Depth::Eight).unwrap(),
        vec![vec![0; 1_000]; 2]
    );
    assert!(picture.memory() + picture.held() < 8 << 20);
    let fewer = files.with_limits(Limits::default().with(|with| with.windowed_pixels = 1 << 37));
    let refusal = fewer.open("large.pgm", &Conversion::default()).err().unwrap();
    assert!(refusal.to_string().contains("137438953472 in all"), "{refusal}");
}

#[test]
fn a_window_that_leaves_the_picture_is_an_error() {
    let (_folder, picture) = open(&tiff_picture(8, 1, 1).bytes(), 1 << 20);
    let (width, height) = picture.size();
    for window in [Rect::sized(width + 1, height), Rect::between(-1, 0, 1, 1)] {
        let refusal = picture.read(window, Depth::Eight, &mut |_, _| ControlFlow::Continue(()));
        assert!(refusal.unwrap_err().to_string().contains("leaves the picture"));
    }
}

#[test]
fn a_strip_that_is_damaged_is_an_error_of_every_window_that_shows_it_and_of_no_other() {
    use ::tiff::encoder::Compression;
    let whole = compressed(Compression::Lzw);
    let (_folder, picture) = open(&whole, 1 << 20);
    let rows = read(&*picture, Rect::sized(37, 29), Depth::Sixteen).unwrap();
    // The first strip follows the header: a code that no table has.
    let mut damaged = whole;
    damaged[12..30].fill(0xFF);
    let (_folder, picture) = open(&damaged, 1 << 20);
    let first = Rect::between(0, 0, 37, 4);
    for _ in 0..2 {
        let error = read(&*picture, first, Depth::Sixteen).unwrap_err().to_string();
        assert!(error.contains("at row 0"), "{error}");
    }
    let below = Rect::between(3, 4, 30, 29);
    let expected: Rows = rows[4..].iter().map(|row| row[3..30].to_vec()).collect();
    assert_eq!(read(&*picture, below, Depth::Sixteen).unwrap(), expected);
}

#[test]
fn a_zarr_store_reads_as_the_raster_that_it_holds() {
    let folder = TempDir::new().unwrap();
    let files = Files::confined(folder.path());
    for (number, (chunk, shard, gzip, depth)) in [
        ((64, 32), None, false, 8),
        ((32, 64), None, true, 16),
        ((16, 16), Some((64, 32)), true, 8),
        ((16, 8), Some((48, 64)), false, 16),
    ]
    .into_iter()
    .enumerate()
    {
        let renderer = crate::zarr::renderer(211, 133, depth, 2);
        let name = format!("{number}.zarr");
        let options = crate::zarr::options(chunk, shard, gzip);
        crate::zarr::write(&renderer, &folder.path().join(&name), &options);
        let samples = crate::jobs::whole(&renderer);
        // A group stands for its array 0.
        for path in [name.clone(), format!("{name}/0")] {
            let picture = files.open(&path, &Conversion::default()).unwrap();
            assert_eq!((picture.size(), picture.bits()), ((211, 133), depth as u32));
            for window in [
                Rect::sized(211, 133),
                Rect::between(33, 5, 100, 131),
                Rect::between(210, 132, 211, 133),
            ] {
                let rows = read(&*picture, window, renderer.plan().depth()).unwrap();
                let expected: Rows = (window.y()..window.bottom())
                    .map(|y| {
                        let start = (y * 211) as usize;
                        samples[start + window.x() as usize..start + window.right() as usize].to_vec()
                    })
                    .collect();
                assert_eq!(rows, expected, "{path}");
            }
        }
        // The digest is that of all files.
        let before = files.digest(&name).unwrap();
        assert_eq!(before, files.digest(&name).unwrap());
        let text = folder.path().join(&name).join("0/zarr.json");
        std::fs::write(&text, [&std::fs::read(&text).unwrap()[..], b" "].concat()).unwrap();
        assert_ne!(before, files.digest(&name).unwrap());
    }
}

#[cfg(unix)]
#[test]
fn a_picture_of_200_gigapixels_is_filtered_within_256_mebibytes() {
    use relief_engine::{Cancel, Options, Plan, Renderer};
    let folder = TempDir::new().unwrap();
    let side = 447_232_u64;
    // Where four tiles meet, and in the last corner.
    let meeting = 4_096 * 90;
    let set = [(meeting - 1, meeting), (side - 1, side - 1)];
    sparse_tiff(&folder.path().join("scan.tif"), side, &set);
    let files = Files::new(folder.path());
    let text = "relief version=1\ncanvas from=\"scan.tif\"\nbox radius=1 { (source)image \"scan.tif\" }";
    let design = relief_design::parse("scan.kdl", text, &files).unwrap();
    // All of it is planned, so that it is read window by window, and parts are computed.
    let options = Options::default()
        .threads(2)
        .with(|with| with.memory = Some(256 << 20));
    let plan = Plan::new(&design, &files, &options).unwrap();
    assert_eq!((plan.raster().width, plan.raster().height), (side, side));
    assert!(plan.peak().total() <= 256 << 20);
    let renderer = Renderer::new(plan, &files, &Cancel::new()).unwrap();
    let (meeting, side) = (meeting as i64, side as i64);
    // The mean of nine pixels, of which one is 255.
    let square = Rect::between(meeting - 3, meeting - 2, meeting + 2, meeting + 3);
    let rows = [
        [0; 5],
        [0, 28, 28, 28, 0],
        [0, 28, 28, 28, 0],
        [0, 28, 28, 28, 0],
        [0; 5],
    ];
    assert_eq!(crate::jobs::window(&renderer, square), rows.concat());
    // Beyond the border the last pixel is read again.
    let corner = Rect::between(side - 3, side - 2, side, side);
    assert_eq!(crate::jobs::window(&renderer, corner), [0, 28, 57, 0, 57, 113]);
    let rest = crate::jobs::window(
        &renderer,
        Rect::between(meeting - 700, meeting + 4, meeting + 500, meeting + 300),
    );
    assert!(rest.iter().all(|&sample| sample == 0));
}

/// The metadata of an array of 5 × 3 samples in chunks of 4 × 2.
fn metadata() -> serde_json::Value {
    serde_json::json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": [1, 3, 5],
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 2, 4]}},
        "chunk_key_encoding": {"name": "v2"},
        "fill_value": "NaN",
        "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "crc32c"}],
    })
}

fn numbers(values: [f32; 8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

#[test]
fn floating_point_numbers_of_a_zarr_array_need_a_range_and_what_has_no_file_is_the_fill_value() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("heights");
    std::fs::create_dir(&store).unwrap();
    std::fs::write(store.join("zarr.json"), metadata().to_string()).unwrap();
    std::fs::write(
        store.join("0.0.0"),
        numbers([0.0, 0.5, 1.0, 2.0, -1.0, 0.1, f32::NAN, 0.25]),
    )
    .unwrap();
    std::fs::write(
        store.join("0.1.1"),
        numbers([1.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0]),
    )
    .unwrap();
    let files = Files::confined(folder.path());
    let refusal = files
        .open("heights", &Conversion::default())
        .err()
        .unwrap()
        .to_string();
    assert!(refusal.contains("floating point numbers of 32 bits"), "{refusal}");
    let ranged = Conversion {
        range: Some((0.0, 1.0)),
        ..Conversion::default()
    };
    let picture = files.open("heights", &ranged).unwrap();
    let rows = read(&*picture, Rect::sized(5, 3), Depth::Eight).unwrap();
    assert_eq!(
        rows,
        [[0, 128, 255, 255, 0], [0, 26, 0, 64, 0], [0, 0, 0, 0, 255]]
    );
    // A chunk that was changed is told by its check sum.
    std::fs::write(
        store.join("0.1.1"),
        [numbers([1.0; 8])[..32].to_vec(), vec![0; 4]].concat(),
    )
    .unwrap();
    let picture = files.open("heights", &ranged).unwrap();
    let error = read(&*picture, Rect::sized(5, 3), Depth::Eight)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("check sum") && error.contains("at row 2"),
        "{error}"
    );
}

#[test]
fn a_file_without_a_header_is_read_as_the_design_says() {
    use relief_design::{Raw, RawSample};
    let folder = TempDir::new().unwrap();
    let files = Files::confined(folder.path());
    let numbers = [-3.5_f64, 0.0, 7.0, 200.0, 255.0, 65_535.0];
    for (sample, little) in [
        (RawSample::Uint8, numbers.map(|v| vec![v as u8])),
        (
            RawSample::Uint16,
            numbers.map(|v| (v as u16).to_le_bytes().to_vec()),
        ),
        (
            RawSample::Uint32,
            numbers.map(|v| (v as u32).to_le_bytes().to_vec()),
        ),
        (RawSample::Int8, numbers.map(|v| (v as i8).to_le_bytes().to_vec())),
        (
            RawSample::Int16,
            numbers.map(|v| (v as i16).to_le_bytes().to_vec()),
        ),
        (
            RawSample::Int32,
            numbers.map(|v| (v as i32).to_le_bytes().to_vec()),
        ),
        (
            RawSample::Float32,
            numbers.map(|v| (v as f32).to_le_bytes().to_vec()),
        ),
        (RawSample::Float64, numbers.map(|v| v.to_le_bytes().to_vec())),
    ] {
        for (big_endian, offset) in [(false, 0), (true, 5)] {
            let mut file = vec![9; offset as usize];
            for mut bytes in little.clone() {
                if big_endian {
                    bytes.reverse();
                }
                file.extend(bytes);
            }
            std::fs::write(folder.path().join("a"), &file).unwrap();
            let conversion = Conversion {
                raw: Some(Raw {
                    width: 3,
                    height: 2,
                    sample,
                    big_endian,
                    offset,
                }),
                range: Some((-5.0, 250.0)),
                ..Conversion::default()
            };
            let picture = files.open("a", &conversion).unwrap();
            assert!(picture.windowed());
            let rows = read(&*picture, Rect::sized(3, 2), Depth::Eight).unwrap();
            let expected = |v: f64| {
                let stored = match sample {
                    RawSample::Uint8 => f64::from(v as u8),
                    RawSample::Uint16 | RawSample::Uint32 => f64::from(v as u16),
                    RawSample::Int8 => f64::from(v as i8),
                    RawSample::Int16 => f64::from(v as i16),
                    RawSample::Int32 => f64::from(v as i32),
                    _ => v,
                };
                // One level a number.
                (stored + 5.5).floor().clamp(0.0, 255.0) as u16
            };
            assert_eq!(rows.concat(), numbers.map(expected), "{sample:?}, {big_endian}");
            let part = read(&*picture, Rect::between(1, 1, 3, 2), Depth::Eight).unwrap();
            assert_eq!(part, [rows[1][1..].to_vec()]);
            std::fs::write(folder.path().join("a"), &file[1..]).unwrap();
            let short = files.open("a", &conversion).err().unwrap().to_string();
            assert!(short.contains("there are"), "{short}");
        }
    }
    let plain = Conversion {
        raw: Some(Raw {
            width: 3,
            height: 2,
            sample: RawSample::Float32,
            big_endian: false,
            offset: 0,
        }),
        ..Conversion::default()
    };
    std::fs::write(folder.path().join("a"), [0; 24]).unwrap();
    let refusal = files.open("a", &plain).err().unwrap().to_string();
    assert!(refusal.contains("floating point numbers of 32 bits"), "{refusal}");
    assert!(
        files
            .open(".", &plain)
            .err()
            .unwrap()
            .to_string()
            .contains("folder")
    );
}

/// Writes an array of 2 × 3 × 4 × 5 samples, each its number, in chunks of `chunk`, and in shards of `shard`.
fn layers(path: &std::path::Path, chunk: [usize; 4], shard: Option<[usize; 4]>) {
    let shape = [2, 3, 4, 5];
    let bytes = serde_json::json!({"name": "bytes"});
    let codecs = match shard {
        None => serde_json::json!([bytes]),
        Some(_) => serde_json::json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": chunk,
            "codecs": [bytes],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        }}]),
    };
    let outer = shard.unwrap_or(chunk);
    let metadata = serde_json::json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": outer}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": codecs,
    });
    std::fs::create_dir_all(path).unwrap();
    std::fs::write(path.join("zarr.json"), metadata.to_string()).unwrap();
    // All places of a box of these sides, in the order of their numbers.
    let places = |sides: [usize; 4]| {
        (0..sides.iter().product::<usize>()).map(move |number| {
            let mut rest = number;
            let mut place = [0; 4];
            for axis in (0..4).rev() {
                (place[axis], rest) = (rest % sides[axis], rest / sides[axis]);
            }
            place
        })
    };
    let samples = |begin: [usize; 4]| -> Vec<u8> {
        let sample = |within: [usize; 4]| {
            let at: [usize; 4] = std::array::from_fn(|axis| begin[axis] + within[axis]);
            if at.iter().zip(shape).any(|(at, side)| *at >= side) {
                return 0;
            }
            (((at[0] * 3 + at[1]) * 4 + at[2]) * 5 + at[3]) as u8
        };
        places(chunk).map(sample).collect()
    };
    for place in places(std::array::from_fn(|axis| shape[axis].div_ceil(outer[axis]))) {
        let begin: [usize; 4] = std::array::from_fn(|axis| place[axis] * outer[axis]);
        let mut file = Vec::new();
        if shard.is_some() {
            let mut index = Vec::new();
            for inner in places(std::array::from_fn(|axis| outer[axis] / chunk[axis])) {
                let bytes = samples(std::array::from_fn(|axis| {
                    begin[axis] + inner[axis] * chunk[axis]
                }));
                index.extend(
                    [file.len() as u64, bytes.len() as u64]
                        .map(u64::to_le_bytes)
                        .concat(),
                );
                file.extend(bytes);
            }
            file.extend(index);
        } else {
            file = samples(begin);
        }
        let name = path.join(format!("c/{}/{}/{}/{}", place[0], place[1], place[2], place[3]));
        std::fs::create_dir_all(name.parent().unwrap()).unwrap();
        std::fs::write(name, file).unwrap();
    }
}

#[test]
fn one_layer_of_a_zarr_array_of_four_dimensions_is_read_by_its_index() {
    let folder = TempDir::new().unwrap();
    let files = Files::confined(folder.path());
    for (number, (chunk, shard)) in [
        ([1, 1, 3, 4], None),
        ([2, 2, 3, 2], None),
        ([1, 1, 2, 2], Some([2, 2, 4, 4])),
        ([2, 1, 2, 3], Some([2, 3, 2, 6])),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{number}");
        layers(&folder.path().join(&name).join("deep/images"), chunk, shard);
        let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
        std::fs::write(folder.path().join(&name).join("zarr.json"), group).unwrap();
        for (first, second) in [(0, 0), (1, 2), (0, 1)] {
            let conversion = Conversion {
                array: Some("deep/images".into()),
                index: [first, second].into(),
                ..Conversion::default()
            };
            let picture = files.open(&name, &conversion).unwrap();
            let rows = read(&*picture, Rect::sized(5, 4), Depth::Eight).unwrap();
            let start = (first * 3 + second) as u16 * 20;
            let expected: Vec<Vec<u16>> = (0..4)
                .map(|y| (0..5).map(|x| start + y * 5 + x).collect())
                .collect();
            assert_eq!(rows, expected, "{chunk:?} {shard:?}");
        }
    }
    let refusal = |array: Option<&str>, index: &[u64]| {
        let conversion = Conversion {
            array: array.map(Into::into),
            index: index.into(),
            ..Conversion::default()
        };
        files.open("0", &conversion).err().unwrap().to_string()
    };
    for (array, index, expected) in [
        (
            Some("deep/images"),
            &[][..],
            "2 × 3 elements; `index` says which of them, as index=\"0,0\"",
        ),
        (Some("deep/images"), &[1], "has 1 numbers"),
        (
            Some("deep/images"),
            &[1, 3],
            "is 1,3, and from 0 on it has 2 × 3 elements",
        ),
        (Some("deep/other"), &[0, 0], "without an array `deep/other`"),
        (None, &[0, 0], "without an array `0`"),
    ] {
        let message = refusal(array, index);
        assert!(message.contains(expected), "{message}");
    }
    // The names of those that are there.
    layers(&folder.path().join("0/images"), [1, 1, 4, 5], None);
    assert!(refusal(None, &[]).contains("`array` may be `images`"));
    // A file has no arrays.
    std::fs::write(folder.path().join("a.pgm"), b"P5 1 1 255 x").unwrap();
    let conversion = Conversion {
        array: Some("0".into()),
        ..Conversion::default()
    };
    let message = files.open("a.pgm", &conversion).err().unwrap().to_string();
    assert!(message.contains("not a folder"), "{message}");
}

#[test]
fn the_scale_of_ome_zarr_is_the_pitch() {
    let folder = TempDir::new().unwrap();
    let renderer = crate::zarr::renderer(40, 30, 8, 1);
    let options = crate::zarr::options((16, 16), None, false);
    crate::zarr::write(&renderer, &folder.path().join("a.zarr"), &options);
    let files = Files::confined(folder.path());
    let pixel = relief_raster::Length::picometres(2_500_000).unwrap();
    let picture = files.open("a.zarr", &Conversion::default()).unwrap();
    assert_eq!(picture.pitch(), Some([pixel; 2]));
    let conversion = Conversion {
        array: Some("0".into()),
        ..Conversion::default()
    };
    assert_eq!(
        files.open("a.zarr", &conversion).unwrap().pitch(),
        Some([pixel; 2])
    );
    // An array alone says nothing.
    assert_eq!(
        files.open("a.zarr/0", &Conversion::default()).unwrap().pitch(),
        None
    );
}

#[test]
fn a_zarr_array_that_would_be_misread_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("array");
    std::fs::create_dir(&store).unwrap();
    let files = Files::confined(folder.path());
    let missing = files
        .open("array", &Conversion::default())
        .err()
        .unwrap()
        .to_string();
    assert!(missing.contains("without a zarr.json"), "{missing}");
    let ranged = Conversion {
        range: Some((0.0, 1.0)),
        ..Conversion::default()
    };
    for (key, value, part) in [
        ("zarr_format", serde_json::json!(2), "zarr_format is 2"),
        ("node_type", serde_json::json!("table"), "table"),
        ("node_type", serde_json::json!("group"), "without an array `0`"),
        ("shape", serde_json::json!([2, 3, 5]), "`index` says which"),
        ("shape", serde_json::json!([5]), "two dimensions"),
        ("shape", serde_json::json!([1, 3, -5]), "whole numbers"),
        ("shape", serde_json::json!([1, 0, 5]), "[1,0,5]"),
        ("shape", serde_json::json!([1, 3, u64::MAX]), "on a side"),
        ("data_type", serde_json::json!("complex64"), "complex64"),
        (
            "chunk_grid",
            serde_json::json!({"name": "rectilinear"}),
            "rectilinear",
        ),
        (
            "chunk_grid",
            serde_json::json!({"name": "regular", "configuration": {"chunk_shape": [1, 1_u64 << 40, 1_u64 << 40]}}),
            "chunks have",
        ),
        (
            "chunk_grid",
            serde_json::json!({"name": "regular", "configuration": {"chunk_shape": [2, 4]}}),
            "[2,4]",
        ),
        ("fill_value", serde_json::json!("nothing"), "fill_value"),
        ("codecs", serde_json::json!([]), "no codecs"),
        ("codecs", serde_json::json!([{"name": "transpose"}]), "transpose"),
        (
            "codecs",
            serde_json::json!([{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "blosc"}]),
            "blosc",
        ),
        ("codecs", serde_json::json!([{"name": "bytes"}]), "order of bytes"),
        (
            "storage_transformers",
            serde_json::json!([{"name": "x"}]),
            "storage transformers",
        ),
        ("chunk_key_encoding", serde_json::json!({"name": "own"}), "own"),
    ] {
        let mut changed = metadata();
        changed[key] = value;
        std::fs::write(store.join("zarr.json"), changed.to_string()).unwrap();
        let refusal = files.open("array", &ranged).err();
        let refusal = refusal.unwrap_or_else(|| panic!("{key} {part}")).to_string();
        assert!(refusal.contains(part), "{refusal} does not say {part}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Threads that read windows of one picture at the same time each get theirs.
    #[test]
    fn windows_are_read_by_several_threads(
        places in prop::collection::vec((0..30_i64, 0..25_i64, 1..7_i64, 1..5_i64), 2..8),
        strips in 1..4_u64,
    ) {
        use ::tiff::encoder::Compression;
        let (_folder, picture) = open(&compressed(Compression::Packbits), strips * 37 * 4 * 2);
        let whole = read(&*picture, Rect::sized(37, 29), Depth::Sixteen).unwrap();
        let picture = &*picture;
        std::thread::scope(|scope| {
            let readers: Vec<_> = places
                .iter()
                .map(|&(x, y, width, height)| {
                    let window = Rect::between(x, y, x + width, y + height);
                    (window, scope.spawn(move || read(picture, window, Depth::Sixteen).unwrap()))
                })
                .collect();
            for (window, reader) in readers {
                let expected: Rows = whole[window.y() as usize..window.bottom() as usize]
                    .iter()
                    .map(|row| row[window.x() as usize..window.right() as usize].to_vec())
                    .collect();
                assert_eq!(reader.join().unwrap(), expected);
            }
        });
    }
}

/// A file that was digested is not digested again, and nothing else is read of it.
#[test]
fn what_a_file_has_become_since_it_was_digested_is_not_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.pgm");
    std::fs::write(&path, b"P5 4 2 255\nabcdefgh").unwrap();
    let files = Files::new(folder.path()).digesting();
    let digest = files.digest("a.pgm").unwrap();
    assert!(files.digests("a.pgm").is_empty());
    let read = |files: &Files| {
        let picture = files.open("a.pgm", &Conversion::default()).unwrap();
        read(&*picture, Rect::sized(4, 2), Depth::Eight)
    };
    assert_eq!(read(&files).unwrap()[1], b"efgh".map(u16::from));
    assert_eq!(files.digests("a.pgm"), [digest]);
    std::fs::write(&path, b"P5 4 2 255\nabcdefgX").unwrap();
    assert_eq!(files.digest("a.pgm").unwrap(), digest);
    let refused = read(&files).unwrap_err().to_string();
    assert!(refused.contains("it changed while it was read"), "{refused}");
    // Whoever notes nothing reads what is there.
    let plain = Files::new(folder.path());
    assert_ne!(plain.digest("a.pgm").unwrap(), digest);
    assert_eq!(read(&plain).unwrap()[1], b"efgX".map(u16::from));
}

#[test]
fn stamps_tell_whether_any_file_of_a_folder_is_another_one() {
    let folder = TempDir::new().unwrap();
    let inner = folder.path().join("store/0/c");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(inner.join("0"), [1; 10]).unwrap();
    std::fs::write(inner.join("1"), [2; 7]).unwrap();
    let files = Files::new(folder.path());
    let (bytes, before) = files.stamps("store").unwrap();
    assert_eq!((bytes, before), (17, files.stamps("store").unwrap().1));
    assert_eq!(files.stamps("store/0/c/0").unwrap().0, 10);
    std::fs::write(inner.join("1"), [2; 8]).unwrap();
    let (bytes, after) = files.stamps("store").unwrap();
    assert!(bytes == 18 && after != before);
    std::fs::rename(inner.join("1"), inner.join("2")).unwrap();
    assert_ne!(files.stamps("store").unwrap().1, after);
    assert!(files.stamps("none").is_err());
}
