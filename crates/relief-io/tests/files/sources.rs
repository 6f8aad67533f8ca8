//! What pictures read as.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use crate::builders::{png, tiff};
use proptest::prelude::*;
use relief_design::{Conversion, Picture};
use relief_engine::source::{ImageError, ImageSource};
use relief_io::{ArrayPicture, ArraySamples, Files, Limits};
use relief_raster::{Depth, Length, Rect};
use tempfile::TempDir;

/// Rows as they came, by number.
pub(crate) type Rows = Vec<Vec<u16>>;

fn read(files: &Files, path: &str, depth: Depth) -> Result<Rows, ImageError> {
    let picture = files.open(path, &Conversion::default())?;
    let (width, height) = picture.size();
    let mut rows: Vec<Option<Vec<u16>>> = vec![None; height as usize];
    picture.read(Rect::sized(width, height), depth, &mut |number, row| {
        assert_eq!(row.len() as u64, width);
        assert!(
            rows[number as usize].replace(row.to_vec()).is_none(),
            "row {number} came twice"
        );
        ControlFlow::Continue(())
    })?;
    Ok(rows.into_iter().map(|row| row.unwrap()).collect())
}

fn read_bytes(bytes: &[u8], depth: Depth) -> Result<Rows, ImageError> {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("picture"), bytes).unwrap();
    read(&Files::new(folder.path()), "picture", depth)
}

fn message(result: Result<Rows, ImageError>) -> String {
    result.unwrap_err().to_string()
}

/// The sample that a pixel has to read as, by rational arithmetic on its colour, rounded half up once.
fn expected(pixel: [u16; 3], alpha: u16, max: u16, depth: Depth) -> u16 {
    let half_up = |n: u128, d: u128| (2 * n + d) / (2 * d);
    let [r, g, b] = pixel.map(u128::from);
    let max = u128::from(max);
    let gray = 2_126 * r + 7_152 * g + 722 * b;
    half_up(
        gray * u128::from(alpha) * u128::from(depth.max()),
        10_000 * max * max,
    ) as u16
}

/// Samples without a pattern that a mistake could follow.
pub(crate) fn scattered(count: usize, max: u16) -> Vec<u16> {
    (0..count as u64)
        .map(|i| ((i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % (u64::from(max) + 1)) as u16)
        .collect()
}

const DEPTHS: [Depth; 2] = [Depth::Eight, Depth::Sixteen];

fn png_picture(color: u8, depth: u8, interlaced: bool) -> png::Picture {
    let (width, height) = (13, 11);
    let max = ((1_u32 << depth) - 1) as u16;
    let entries = (1_usize << depth).min(256);
    let palette = if color == 3 {
        scattered(3 * entries, 255)
    } else {
        Vec::new()
    };
    png::Picture {
        width,
        height,
        color,
        depth,
        interlaced,
        palette: palette
            .chunks(3)
            .map(|c| [c[0] as u8, c[1] as u8, c[2] as u8])
            .collect(),
        transparency: None,
        samples: scattered((width * height) as usize * png::channels(color), max),
    }
}

/// What each pixel of a PNG means: its colour and α of its own maximum, fewer bits than 8 scaled to 8.
fn png_meaning(picture: &png::Picture, x: u32, y: u32) -> ([u16; 3], u16, u16) {
    let bits = picture.depth;
    let max = if bits == 16 { 65_535 } else { 255 };
    let scale = |v: u16| {
        if bits < 8 {
            v * (255 / ((1 << bits) - 1))
        } else {
            v
        }
    };
    let pixel = picture.pixel(x, y);
    let transparency = picture.transparency.as_deref();
    let keyed = |pixel: &[u16]| {
        let key: Option<Vec<u16>> = transparency.map(|t| {
            t.chunks(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .collect()
        });
        if key.as_deref() == Some(pixel) { 0 } else { max }
    };
    match picture.color {
        0 => ([scale(pixel[0]); 3], keyed(pixel), max),
        2 => ([pixel[0], pixel[1], pixel[2]], keyed(pixel), max),
        3 => {
            let index = usize::from(pixel[0]);
            let alpha = transparency.and_then(|t| t.get(index).copied()).unwrap_or(255);
            (picture.palette[index].map(u16::from), u16::from(alpha), 255)
        }
        4 => ([pixel[0]; 3], pixel[1], max),
        _ => ([pixel[0], pixel[1], pixel[2]], pixel[3], max),
    }
}

fn assert_png(picture: &png::Picture) {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("picture"), picture.bytes()).unwrap();
    for depth in DEPTHS {
        let rows = read(&Files::new(folder.path()), "picture", depth).unwrap();
        assert_eq!(rows.len(), picture.height as usize);
        for (y, row) in (0..).zip(&rows) {
            let meant: Vec<u16> = (0..picture.width)
                .map(|x| png_meaning(picture, x, y))
                .map(|(pixel, alpha, max)| expected(pixel, alpha, max, depth))
                .collect();
            let (color, bits, interlaced) = (picture.color, picture.depth, picture.interlaced);
            assert_eq!(
                row, &meant,
                "row {y} of colour type {color}, {bits} bits, interlaced {interlaced}, to {depth}"
            );
        }
    }
}

const PNG_KINDS: [(u8, &[u8]); 5] = [
    (0, &[1, 2, 4, 8, 16]),
    (2, &[8, 16]),
    (3, &[1, 2, 4, 8]),
    (4, &[8, 16]),
    (6, &[8, 16]),
];

#[test]
fn a_png_of_every_colour_type_depth_and_interlacing_reads_as_its_gray() {
    for (color, depths) in PNG_KINDS {
        for &depth in depths {
            assert_png(&png_picture(color, depth, false));
            assert_png(&png_picture(color, depth, true));
        }
    }
}

#[test]
fn the_transparent_colour_of_a_png_reads_as_0() {
    for (color, depth) in [(0, 1), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16)] {
        let mut picture = png_picture(color, depth, false);
        picture.transparency = Some(picture.pixel(5, 5).iter().flat_map(|v| v.to_be_bytes()).collect());
        assert_png(&picture);
    }
}

#[test]
fn the_transparent_entries_of_a_palette_dim_their_colours() {
    let mut picture = png_picture(3, 4, true);
    picture.transparency = Some(vec![0, 128, 255, 1, 77]);
    assert_png(&picture);
}

pub(crate) fn tiff_picture(bits: u8, channels: usize, photometric: u32) -> tiff::Picture {
    let (width, height) = (37, 29);
    let max = ((1_u32 << bits) - 1) as u16;
    tiff::Picture {
        width,
        height,
        bits,
        channels,
        photometric,
        extra: Vec::new(),
        big_endian: false,
        tiles: None,
        planar: false,
        tags: Vec::new(),
        samples: scattered((width * height) as usize * channels, max),
    }
}

fn assert_tiff(picture: &tiff::Picture) {
    let bytes = picture.bytes();
    for depth in DEPTHS {
        let rows = read_bytes(&bytes, depth).unwrap();
        for (y, row) in (0..).zip(&rows) {
            let meant: Vec<u16> = (0..picture.width)
                .map(|x| tiff_meaning(picture, x, y, depth))
                .collect();
            assert_eq!(
                row, &meant,
                "row {y} of {} × {} bits",
                picture.channels, picture.bits
            );
        }
    }
}

fn tiff_meaning(picture: &tiff::Picture, x: u32, y: u32, depth: Depth) -> u16 {
    let max = if picture.bits == 16 { 65_535 } else { 255 };
    let scale = |v: u16| {
        if picture.bits < 8 {
            v * (255 / ((1 << picture.bits) - 1))
        } else {
            v
        }
    };
    let pixel = picture.pixel(x, y);
    let colors = if picture.photometric == 2 { 3 } else { 1 };
    let invert = |v: u16| if picture.photometric == 0 { max - v } else { v };
    let color = if colors == 3 {
        [pixel[0], pixel[1], pixel[2]]
    } else {
        [invert(scale(pixel[0])); 3]
    };
    let alpha = if picture.extra.first() == Some(&2) {
        pixel[colors]
    } else {
        max
    };
    expected(color, alpha, max, depth)
}

#[test]
fn a_gray_tiff_of_every_depth_polarity_and_byte_order_reads_as_its_gray() {
    for bits in [1, 2, 4, 8, 16] {
        for (photometric, big_endian) in [(0, false), (1, false), (0, true), (1, true)] {
            assert_tiff(&tiff::Picture {
                big_endian,
                ..tiff_picture(bits, 1, photometric)
            });
        }
    }
}

#[test]
fn a_tiff_in_tiles_reads_without_their_padding() {
    for (bits, channels, photometric) in [(1, 1, 1), (4, 1, 1), (8, 1, 0), (16, 1, 1), (8, 3, 2), (16, 3, 2)]
    {
        assert_tiff(&tiff::Picture {
            tiles: Some((16, 16)),
            ..tiff_picture(bits, channels, photometric)
        });
        assert_tiff(&tiff::Picture {
            tiles: Some((48, 32)),
            ..tiff_picture(bits, channels, photometric)
        });
    }
}

#[test]
fn a_tiff_in_planes_reads_as_one_that_is_interleaved() {
    for (bits, channels, extra) in [(8, 3, vec![]), (16, 4, vec![2]), (8, 5, vec![0, 0])] {
        for tiles in [None, Some((16, 16))] {
            assert_tiff(&tiff::Picture {
                planar: true,
                tiles,
                extra: extra.clone(),
                ..tiff_picture(bits, channels, 2)
            });
        }
    }
}

#[test]
fn limits_without_a_bound_overflow_nothing() {
    let folder = TempDir::new().unwrap();
    let limits = Limits::default().with(|with| {
        with.side = u64::MAX;
        with.pixels = u64::MAX;
        with.memory = u64::MAX;
    });
    let files = Files::new(folder.path()).with_limits(limits);
    let path = folder.path().join("picture");
    let claims = [
        "P5 18446744073709551615 18446744073709551615 65535\n",
        "P2 1099511627776 1099511627776 65535\n",
        "P6 1 18446744073709551615 1\n",
    ];
    for claim in claims {
        std::fs::write(&path, claim).unwrap();
        let refusal = files.open("picture", &Conversion::default()).err().unwrap();
        assert!(refusal.to_string().contains("picture"), "{refusal}");
    }
    // A BigTIFF of sides that overflow their product.
    let mut bytes = b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0".to_vec();
    for tag in [256_u16, 257] {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(16_u16.to_le_bytes());
        bytes.extend(1_u64.to_le_bytes());
        bytes.extend(u64::MAX.to_le_bytes());
    }
    bytes.extend([0; 8]);
    std::fs::write(&path, bytes).unwrap();
    let refusal = files
        .open("picture", &Conversion::default())
        .err()
        .unwrap()
        .to_string();
    assert!(refusal.contains("1099511627776 on a side"), "{refusal}");
}

#[test]
fn unassociated_alpha_of_a_tiff_counts_and_associated_alpha_is_in_the_colour_already() {
    for extra in [vec![1], vec![2]] {
        for (bits, channels, photometric) in [(8, 2, 1), (16, 2, 1), (8, 4, 2), (16, 4, 2)] {
            assert_tiff(&tiff::Picture {
                extra: extra.clone(),
                ..tiff_picture(bits, channels, photometric)
            });
        }
    }
}

#[test]
fn a_compressed_tiff_reads_as_an_uncompressed_one() {
    use ::tiff::encoder::{Compression, DeflateLevel, TiffEncoder, colortype};
    let samples: Vec<u16> = scattered(40 * 30, 65_535)
        .into_iter()
        .map(|v| v / 9_000 * 9_000)
        .collect();
    let rows: Rows = samples.chunks(40).map(<[u16]>::to_vec).collect();
    for compression in [
        Compression::Lzw,
        Compression::Deflate(DeflateLevel::Best),
        Compression::Packbits,
    ] {
        let mut file = std::io::Cursor::new(Vec::new());
        let mut encoder = TiffEncoder::new(&mut file).unwrap().with_compression(compression);
        encoder
            .write_image::<colortype::Gray16>(40, 30, &samples)
            .unwrap();
        assert_eq!(read_bytes(file.get_ref(), Depth::Sixteen).unwrap(), rows);
    }
}

#[test]
fn tiff_features_that_would_be_misread_are_refused() {
    let cases = [
        (
            tiff::Picture {
                tags: vec![(259, 6)],
                ..tiff_picture(8, 1, 1)
            },
            "compression is JPEG in the manner of TIFF 6.0",
        ),
        (
            tiff::Picture {
                tags: vec![(339, 3)],
                ..tiff_picture(16, 1, 1)
            },
            "floating point numbers of 16 bits",
        ),
        (tiff_picture(8, 1, 3), "its palette has 0 numbers"),
    ];
    for (picture, part) in cases {
        let message = message(read_bytes(&picture.bytes(), Depth::Eight));
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

#[test]
fn a_tiff_whose_numbers_overflow_its_decoder_is_refused() {
    let picture = tiff::Picture {
        planar: true,
        ..tiff_picture(8, 4, 2)
    };
    let mut bytes = picture.bytes();
    let entry = [1, 1, 4, 0, 1, 0, 0, 0]; // ImageLength, one LONG
    let place = bytes.windows(8).position(|field| field == entry).unwrap();
    bytes[place + 8..place + 12].fill(0xFF);
    assert!(message(read_bytes(&bytes, Depth::Eight)).contains("picture"));
}

#[test]
fn a_design_learns_the_size_of_a_picture() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a.png"), png_picture(2, 8, false).bytes()).unwrap();
    let files = Files::new(folder.path());
    let open = |path| files.open(path, &Conversion::default());
    assert_eq!(open("a.png").unwrap().size(), (13, 11));
    assert!(open("b.png").err().unwrap().to_string().contains("b.png"));
}

fn netpbm(kind: u8, max: u16, width: usize, samples: &[u16]) -> Vec<u8> {
    let channels = if kind == 3 || kind == 6 { 3 } else { 1 };
    let height = samples.len() / width / channels;
    let mut file = format!("P{kind} # a comment\n#another\n {width}\t{height}\r\n{max}\n").into_bytes();
    match (kind, max) {
        (2 | 3, _) => samples.iter().for_each(|v| file.extend(format!("{v}\n").bytes())),
        (_, ..=255) => file.extend(samples.iter().map(|&v| v as u8)),
        _ => file.extend(samples.iter().flat_map(|v| v.to_be_bytes())),
    }
    file
}

#[test]
fn a_pgm_or_ppm_of_any_maximum_is_scaled_to_its_depth() {
    for max in [1, 3, 100, 254, 255, 256, 1_000, 4_095, 65_534, 65_535] {
        for kind in [2, 3, 5, 6] {
            let samples = scattered(7 * 5 * 3, max);
            let channels = if kind == 3 || kind == 6 { 3 } else { 1 };
            for depth in DEPTHS {
                let rows = read_bytes(&netpbm(kind, max, 7, &samples), depth).unwrap();
                let meant: Vec<u16> = samples
                    .chunks(channels)
                    .map(|p| [p[0], p[channels / 2], p[channels - 1]])
                    .map(|pixel| expected(pixel, max, max, depth))
                    .collect();
                assert_eq!(rows.concat(), meant, "P{kind} of maximum {max} to {depth}");
            }
        }
    }
}

#[test]
fn a_sample_above_the_maximum_of_a_pgm_is_an_error_that_names_its_row() {
    for kind in [2, 5] {
        let message = message(read_bytes(&netpbm(kind, 100, 2, &[1, 2, 3, 101]), Depth::Eight));
        assert!(
            message.contains("at row 1") && message.contains("101"),
            "{message}"
        );
    }
}

#[test]
fn a_set_bit_of_a_pbm_is_black() {
    let expected = |bits: [&str; 2]| -> Rows {
        let row = |bits: &str| {
            bits.bytes()
                .map(|bit| if bit == b'1' { 0 } else { 255 })
                .collect()
        };
        bits.map(row).into()
    };
    let bits = expected(["01101100101", "10010011011"]);
    let plain = b"P1 11 2\n01101 100101\n1 # five\n0 0 1 0 0 1 1 0 1 1\n";
    assert_eq!(read_bytes(plain, Depth::Eight).unwrap(), bits);
    // The bits beyond the eleventh of a row do not count.
    assert_eq!(
        read_bytes(b"P4 11 2\n\x6c\xbf\x93\x60", Depth::Eight).unwrap(),
        bits
    );
    assert!(message(read_bytes(b"P1 2 1\n02", Depth::Eight)).contains("a bit should be"));
}

#[test]
fn a_bmp_reads_as_its_gray() {
    let colors = scattered(9 * 6 * 3, 255);
    let bytes: Vec<u8> = colors.iter().map(|&v| v as u8).collect();
    let mut file = Vec::new();
    image::codecs::bmp::BmpEncoder::new(&mut file)
        .encode(&bytes, 9, 6, image::ExtendedColorType::Rgb8)
        .unwrap();
    let meant: Vec<u16> = colors
        .chunks(3)
        .map(|p| expected([p[0], p[1], p[2]], 255, 255, Depth::Sixteen))
        .collect();
    assert_eq!(read_bytes(&file, Depth::Sixteen).unwrap().concat(), meant);
}

#[test]
fn reading_stops_where_the_reader_breaks() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a.png"), png_picture(0, 8, false).bytes()).unwrap();
    std::fs::write(folder.path().join("b.pgm"), netpbm(5, 255, 4, &[7; 40])).unwrap();
    std::fs::write(folder.path().join("c.tif"), tiff_picture(8, 1, 1).bytes()).unwrap();
    for path in ["a.png", "b.pgm", "c.tif"] {
        let mut rows = 0;
        let stop = &mut |_, _: &[u16]| {
            rows += 1;
            if rows == 3 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let picture = Files::new(folder.path())
            .open(path, &Conversion::default())
            .unwrap();
        let (width, height) = picture.size();
        picture
            .read(Rect::sized(width, height), Depth::Eight, stop)
            .unwrap();
        assert_eq!(rows, 3, "{path}");
    }
}

#[test]
fn the_content_tells_the_format_and_not_the_extension() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("picture.png"), netpbm(5, 255, 2, &[1, 2])).unwrap();
    let rows = read(&Files::new(folder.path()), "picture.png", Depth::Eight).unwrap();
    assert_eq!(rows, [[1, 2]]);
}

#[test]
fn what_is_no_picture_is_refused_by_a_sentence_that_names_the_file() {
    for (bytes, part) in [
        (&b""[..], "empty"),
        (b"hello, world", "none of PNG"),
        (b"\xFF\xD8\xFF\xE0", "JPEG"),
        (b"P7\nWIDTH 8\n", "P7"),
        (b"P5 0 3 255\n", "0 × 3"),
        (b"P5 2 2 70000\n", "1…65535"),
        (b"P5 2 x 255\n", "\"x\""),
        (b"P5 99999999999999999999 1 255\n", "too many digits"),
    ] {
        let message = message(read_bytes(bytes, Depth::Eight));
        assert!(
            message.contains(part) && message.contains("/picture"),
            "{message:?} does not say {part:?}"
        );
    }
}

#[test]
fn a_file_that_claims_more_than_the_limits_is_refused_by_its_header() {
    let mut huge = png_picture(0, 8, false).bytes();
    huge[16..24].copy_from_slice(&[0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF]);
    assert!(message(read_bytes(&huge, Depth::Eight)).contains("picture"));
    let claim = b"P5 3000000000 1 255\n";
    assert!(message(read_bytes(claim, Depth::Eight)).contains("2147483647 on a side"));
}

#[test]
fn a_picture_that_must_be_held_whole_is_refused_where_it_exceeds_the_memory() {
    let folder = TempDir::new().unwrap();
    let mut picture = png_picture(0, 8, true);
    (picture.width, picture.height) = (2_000, 2_000);
    picture.samples = vec![5; 4_000_000];
    std::fs::write(folder.path().join("interlaced.png"), picture.bytes()).unwrap();
    picture.interlaced = false;
    std::fs::write(folder.path().join("rows.png"), picture.bytes()).unwrap();
    let files = Files::new(folder.path()).with_limits(Limits::default().with(|with| with.memory = 2_000_000));
    let refusal = files
        .open("interlaced.png", &Conversion::default())
        .err()
        .unwrap()
        .to_string();
    assert!(
        refusal.contains("2000000") && refusal.contains("without interlacing"),
        "{refusal}"
    );
    assert_eq!(read(&files, "rows.png", Depth::Eight).unwrap().len(), 2_000);
}

#[test]
fn folders_are_refused_and_so_are_fifos_without_waiting_for_a_writer() {
    let folder = TempDir::new().unwrap();
    let files = Files::new(folder.path());
    assert!(
        files
            .open(".", &Conversion::default())
            .err()
            .unwrap()
            .to_string()
            .contains("folder")
    );
    assert!(
        files
            .open("", &Conversion::default())
            .err()
            .unwrap()
            .to_string()
            .contains("empty")
    );
    if cfg!(unix) {
        let made = std::process::Command::new("mkfifo")
            .arg(folder.path().join("fifo"))
            .status()
            .unwrap();
        assert!(made.success());
        assert!(
            files
                .open("fifo", &Conversion::default())
                .err()
                .unwrap()
                .to_string()
                .contains("not a regular file")
        );
    }
}

fn place(path: &Path) {
    std::fs::write(path, netpbm(5, 255, 1, &[9])).unwrap();
}

#[test]
fn a_path_may_leave_the_folder_of_the_users_own_design() {
    let folder = TempDir::new().unwrap();
    let base = folder.path().join("designs");
    std::fs::create_dir(&base).unwrap();
    place(&folder.path().join("outside.pgm"));
    let absolute = folder.path().join("outside.pgm");
    for path in ["../outside.pgm", absolute.to_str().unwrap()] {
        assert_eq!(read(&Files::new(&base), path, Depth::Eight).unwrap(), [[9]]);
    }
}

#[test]
fn a_confined_design_cannot_leave_its_folder() {
    let folder = TempDir::new().unwrap();
    let base = folder.path().join("designs");
    std::fs::create_dir_all(base.join("images")).unwrap();
    place(&folder.path().join("outside.pgm"));
    place(&base.join("images/inside.pgm"));
    let files = Files::confined(&base);
    assert_eq!(read(&files, "./images/inside.pgm", Depth::Eight).unwrap(), [[9]]);
    let absolute = base.join("images/inside.pgm");
    for path in [
        "../outside.pgm",
        "images/../../outside.pgm",
        absolute.to_str().unwrap(),
    ] {
        assert!(
            message(read(&files, path, Depth::Eight)).contains("may not leave"),
            "{path}"
        );
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../outside.pgm", base.join("link.pgm")).unwrap();
        assert!(message(read(&files, "link.pgm", Depth::Eight)).contains("may not leave"));
    }
}

/// One small file of every kind that is read.
pub(crate) fn samples_of_every_kind() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for (color, depths) in PNG_KINDS {
        files.extend(
            depths
                .iter()
                .map(|&depth| png_picture(color, depth, depth != 4).bytes()),
        );
    }
    let tiled = tiff::Picture {
        tiles: Some((16, 16)),
        ..tiff_picture(4, 1, 1)
    };
    let alpha = tiff::Picture {
        extra: vec![2],
        big_endian: true,
        ..tiff_picture(16, 4, 2)
    };
    files.extend(
        [tiff_picture(8, 1, 0), tiff_picture(1, 1, 1), tiled, alpha]
            .iter()
            .map(tiff::Picture::bytes),
    );
    files.extend([2, 3, 5, 6].map(|kind| netpbm(kind, 300, 3, &scattered(18, 300))));
    files.push(b"P1 11 2\n01100 110101\n1 # five\n0 0 1 1 0 1 1 1 0 1\n".to_vec());
    files.push(b"P4 11 2\n\x6c\xa0\x93\x60".to_vec());
    let mut bmp = Vec::new();
    image::codecs::bmp::BmpEncoder::new(&mut bmp)
        .encode(&[99; 36], 4, 3, image::ExtendedColorType::Rgb8)
        .unwrap();
    files.push(bmp);
    files
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    for file in samples_of_every_kind() {
        read_bytes(&file, Depth::Eight).unwrap();
        // The separator after the last plain sample may be missing.
        let needed = file.len() - usize::from(file.ends_with(b"\n") && file.starts_with(b"P"));
        let step = (needed / 60).max(1);
        for length in (0..needed).step_by(step).chain([needed - 1]) {
            if file[..length].ends_with(b"\n") || !file.starts_with(b"P2") && !file.starts_with(b"P3") {
                assert!(
                    read_bytes(&file[..length], Depth::Eight).is_err(),
                    "{length} of {} bytes",
                    file.len()
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn a_file_with_any_bytes_changed_is_read_or_refused_but_never_panics(
        kind in 0..64_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        near_the_start in any::<bool>(),
    ) {
        let files = samples_of_every_kind();
        let mut file = files[kind % files.len()].clone();
        let reach = if near_the_start { file.len().min(64) } else { file.len() };
        for (place, byte) in changes {
            let place = place.index(reach);
            file[place] = byte;
        }
        // A header may now claim a picture larger than a test should hold.
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("picture"), &file).unwrap();
        let limits = Limits::default().with(|with| { with.pixels = 1 << 20; with.windowed_pixels = 1 << 20; with.memory = 1 << 26; });
        let _ = read(&Files::new(folder.path()).with_limits(limits), "picture", Depth::Eight);
    }

    #[test]
    fn bytes_of_no_format_are_refused_but_never_panic(
        start in prop::sample::select(vec![&b"\x89PNG\r\n\x1a\n"[..], b"II*\0", b"MM\0+", b"P5", b"P3 ", b"BM"]),
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = read_bytes(&[start, &rest].concat(), Depth::Sixteen);
    }
}

/// The samples of a window of an array, by rows.
fn read_array(picture: &ArrayPicture, window: Rect, depth: Depth) -> Rows {
    let mut rows = Vec::new();
    picture
        .read(window, depth, &mut |number, row| {
            assert_eq!(number, window.y() as u64 + rows.len() as u64);
            rows.push(row.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

#[test]
fn an_array_reads_as_the_colour_that_its_samples_are() {
    let (width, height) = (5_usize, 4_usize);
    for channels in 1..=4_usize {
        let samples = scattered(width * height * channels, 65_535);
        let array = ArraySamples::Sixteen(samples.clone().into());
        let picture = ArrayPicture::new(array, width as u64, height as u64, channels as u64).unwrap();
        for depth in [Depth::Eight, Depth::Sixteen] {
            let window = Rect::new(1, 2, 3, 2).unwrap();
            let rows: Rows = (2..4)
                .map(|y| {
                    (1..4)
                        .map(|x| {
                            let pixel = &samples[(y * width + x) * channels..][..channels];
                            let alpha = if channels % 2 == 0 {
                                pixel[channels - 1]
                            } else {
                                65_535
                            };
                            let colour = if channels < 3 {
                                [pixel[0]; 3]
                            } else {
                                [pixel[0], pixel[1], pixel[2]]
                            };
                            expected(colour, alpha, 65_535, depth)
                        })
                        .collect()
                })
                .collect();
            assert_eq!(
                read_array(&picture, window, depth),
                rows,
                "{channels} samples a pixel"
            );
        }
    }
}

#[test]
fn numbers_of_an_array_need_a_range_and_samples_that_are_missing_are_told() {
    let numbers = ArraySamples::Numbers([-1.0, 0.0, f64::NAN, 3.0].into());
    let picture = ArrayPicture::new(numbers.clone(), 4, 1, 1).unwrap();
    let error = picture.converted(&Conversion::default()).unwrap_err().to_string();
    assert!(error.contains("`low` and `high`"), "{error}");
    let conversion = Conversion {
        range: Some((-1.0, 1.0)),
        ..Conversion::default()
    };
    let picture = picture.converted(&conversion).unwrap();
    assert!(picture.windowed());
    assert_eq!(
        read_array(&picture, Rect::sized(4, 1), Depth::Eight),
        [[0, 128, 0, 255]]
    );
    for (width, height, channels) in [(3, 1, 1), (4, 1, 5), (0, 4, 1), (1 << 40, 1 << 40, 1)] {
        assert!(ArrayPicture::new(numbers.clone(), width, height, channels).is_err());
    }
    let outside = Rect::new(2, 0, 3, 1).unwrap();
    let stop = &mut |_: u64, _: &[u16]| ControlFlow::Break(());
    assert!(picture.read(outside, Depth::Eight, stop).is_err());
}

/// The sides of a pixel as the header of this file says them.
fn pitch(bytes: &[u8]) -> Option<[Length; 2]> {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("picture"), bytes).unwrap();
    let picture = Files::new(folder.path()).open("picture", &Conversion::default());
    picture.unwrap().pitch()
}

#[test]
fn a_file_says_the_sides_of_its_pixels() {
    let metres = |numerator, denominator| Length::metres(numerator, denominator).unwrap();
    for (unit, expected) in [
        (::png::Unit::Meter, Some([metres(1, 100_000), metres(1, 50_000)])),
        (::png::Unit::Unspecified, None),
    ] {
        let mut png = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut png, 2, 1);
        encoder.set_color(::png::ColorType::Grayscale);
        encoder.set_pixel_dims(Some(::png::PixelDimensions {
            xppu: 100_000,
            yppu: 50_000,
            unit,
        }));
        encoder.write_header().unwrap().write_image_data(&[1, 2]).unwrap();
        assert_eq!(pitch(&png), expected, "PNG, {unit:?}");
    }
    for (unit, expected) in [
        (
            Some(2),
            Some([metres(254 * 2, 10_000 * 7), metres(254, 10_000 * 300)]),
        ),
        (
            None,
            Some([metres(254 * 2, 10_000 * 7), metres(254, 10_000 * 300)]),
        ),
        (Some(3), Some([metres(2, 100 * 7), metres(1, 100 * 300)])),
        (Some(1), None),
    ] {
        assert_eq!(
            pitch(&tiff_of_resolution((7, 2), (300, 1), unit, 1)),
            expected,
            "TIFF, {unit:?}"
        );
    }
    // A picture that is turned has its sides turned.
    let turned = pitch(&tiff_of_resolution((100, 1), (300, 1), Some(3), 6));
    assert_eq!(turned, Some([metres(1, 30_000), metres(1, 10_000)]));
    // A resolution of nothing, and one beyond the file, say nothing.
    assert_eq!(pitch(&tiff_of_resolution((0, 1), (300, 1), Some(2), 1)), None);
    let mut bmp = vec![b'B', b'M', 0, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0];
    bmp.extend([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bmp.extend(11_811_i32.to_le_bytes());
    bmp.extend(2_835_i32.to_le_bytes());
    bmp.extend([0; 8]);
    bmp.extend([9; 4]);
    assert_eq!(pitch(&bmp), Some([metres(1, 11_811), metres(1, 2_835)]));
    assert_eq!(pitch(b"P5 1 1 255 x"), None);
    // The density of a JFIF stands in its first block.
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/files");
    let mut jpeg = fs::read(corpus.join("pillow-gray.jpg")).unwrap();
    assert_eq!(&jpeg[6..11], b"JFIF\0");
    for (unit, expected) in [
        (0, None),
        (1, Some([metres(254, 3_000_000), metres(254, 1_500_000)])),
        (2, Some([metres(1, 30_000), metres(1, 15_000)])),
    ] {
        jpeg[13..18].copy_from_slice(&[unit, 1, 44, 0, 150]);
        assert_eq!(pitch(&jpeg), expected, "JPEG, {unit}");
    }
}

/// A gray TIFF of one pixel with a resolution.
fn tiff_of_resolution(across: (u32, u32), down: (u32, u32), unit: Option<u16>, orientation: u16) -> Vec<u8> {
    let mut entries: Vec<(u16, u16, u32)> = vec![
        (256, 3, 1),
        (257, 3, 1),
        (258, 3, 8),
        (259, 3, 1),
        (262, 3, 1),
        (273, 4, 8),
        (274, 3, orientation.into()),
        (278, 3, 1),
        (279, 4, 1),
        (282, 5, 12),
        (283, 5, 20),
    ];
    entries.extend(unit.map(|unit| (296, 3, u32::from(unit))));
    // The sample stands at byte 8, the fractions after it.
    let mut file = b"II*\0\x1c\0\0\0\x80\0\0\0".to_vec();
    for number in [across.0, across.1, down.0, down.1] {
        file.extend(number.to_le_bytes());
    }
    file.extend((entries.len() as u16).to_le_bytes());
    for (tag, kind, value) in entries {
        file.extend(tag.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file.extend([0; 4]);
    file
}
