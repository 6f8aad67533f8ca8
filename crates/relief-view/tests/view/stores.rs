//! Zarr and Deep Zoom, read as their specifications say.

use relief_engine::Rect;
use relief_view::ServerOptions;
use serde_json::json;

use crate::client::{get, request};
use crate::served::{Served, read};

const TEXT: &str = r#"relief version=1
canvas width="6mm" height="5mm" pixel="10um" bits=16
compose { (base)disc diameter="2mm" value=40000 x="1mm" y="1mm"; }
"#;

#[test]
fn a_store_has_levels_whose_chunks_are_the_raster_or_missing_where_all_is_0() {
    let served = Served::texts(&[TEXT], ServerOptions::default());
    let key = served.key(0);
    let renderer = served.renderer(0);
    let samples = read(&renderer, Rect::sized(600, 500));
    for store in ["/zarr".to_owned(), format!("/zarr/{key}")] {
        let group = get(served.address, &format!("{store}/zarr.json")).json();
        let ome = &group["attributes"]["ome"];
        assert_eq!(ome["version"], "0.5");
        assert_eq!(
            ome["multiscales"][0]["axes"][1],
            json!({"name": "x", "type": "space", "unit": "micrometer"})
        );
        let datasets = ome["multiscales"][0]["datasets"].as_array().unwrap();
        assert_eq!(datasets.len(), 3);
        // A sample of level 2 stands for 4 × 4 pixels; its middle lies 1.5 pixels from that of the first.
        assert_eq!(
            datasets[2]["coordinateTransformations"][0]["scale"],
            json!([40.0, 40.0])
        );
        assert_eq!(
            datasets[2]["coordinateTransformations"][1]["translation"],
            json!([15.0, 15.0])
        );
        for level in 0..3_u32 {
            let array = get(served.address, &format!("{store}/{level}/zarr.json")).json();
            assert_eq!(
                array,
                group["consolidated_metadata"]["metadata"][level.to_string()]
            );
            let (height, width) = (500_u64.div_ceil(1 << level), 600_u64.div_ceil(1 << level));
            assert_eq!(array["shape"], json!([height, width]));
            assert_eq!(array["data_type"], "uint16");
            let side = array["chunk_grid"]["configuration"]["chunk_shape"][0]
                .as_u64()
                .unwrap();
            for (cx, cy) in
                (0..height.div_ceil(side)).flat_map(|y| (0..width.div_ceil(side)).map(move |x| (x, y)))
            {
                let reply = get(served.address, &format!("{store}/{level}/c/{cy}/{cx}"));
                let expected: Vec<u16> = (0..side * side)
                    .map(|at| {
                        let (x, y) = (cx * side + at % side, cy * side + at / side);
                        let block = 1_u64 << level;
                        if x >= width || y >= height {
                            return 0;
                        }
                        let rows = y * block..((y + 1) * block).min(500);
                        let pixels: Vec<u64> = rows
                            .flat_map(|row| {
                                let columns = x * block..((x + 1) * block).min(600);
                                columns.map(move |column| row * 600 + column)
                            })
                            .map(|at| samples[at as usize].into())
                            .collect();
                        let n = pixels.len() as u64;
                        ((2 * pixels.iter().sum::<u64>() + n) / (2 * n)) as u16
                    })
                    .collect();
                if expected.iter().all(|sample| *sample == 0) {
                    assert_eq!(reply.refusal(), (404, "not-found".to_owned()));
                } else {
                    assert_eq!(reply.samples(), expected, "chunk {cy}/{cx} of level {level}");
                }
            }
        }
    }
    let tagged = get(served.address, "/zarr/zarr.json");
    let again = request(
        served.address,
        "GET",
        "/zarr/zarr.json",
        &[("if-none-match", tagged.header("etag"))],
        "",
    );
    assert_eq!((again.status, tagged.header("cache-control")), (304, "no-cache"));
    let named = get(served.address, &format!("/zarr/{key}/zarr.json"));
    assert_eq!(
        named.header("cache-control"),
        "public, max-age=31536000, immutable"
    );
}

#[test]
fn a_window_is_a_store_of_its_own() {
    let served = Served::texts(&[TEXT], ServerOptions::default());
    served.key(0);
    let rect = Rect::new(150, 101, 75, 60).unwrap();
    let store = "/zarr/window/150,101,75x60";
    let array = get(served.address, &format!("{store}/0/zarr.json"));
    assert_eq!(array.json()["shape"], json!([60, 75]));
    let chunk = get(served.address, &format!("{store}/0/c/0/0")).samples();
    let right = read(&served.renderer(0), rect);
    for (y, row) in right.chunks(75).enumerate() {
        assert_eq!(&chunk[y * 256..][..75], row);
        assert_eq!(chunk[y * 256..][75..256], [0; 181]);
    }
}

#[test]
fn levels_are_listed_as_far_as_they_are_exact_within_the_cost() {
    // Nothing is known of noise but by looking at all of it: chunks of 256 samples of level 2 are 2^20 pixels.
    let text = "relief version=1\ncanvas width=1000000 height=1000000\nnoise seed=1";
    let served = Served::texts(&[text], ServerOptions::default().cost(1 << 20));
    served.key(0);
    let group = get(served.address, "/zarr/zarr.json").json();
    let told = &group["attributes"]["relief"];
    assert_eq!(
        (told["levels"].as_u64(), told["of"].as_u64()),
        (Some(3), Some(13))
    );
    assert_eq!(get(served.address, "/zarr/3/zarr.json").status, 404);
    let tile = get(served.address, "/dzi/image_files/14/0_0.png");
    assert_eq!(tile.refusal(), (422, "inexact".to_owned()));
    // All levels of a constant are known.
    let text = "relief version=1\ncanvas width=1099511627776 height=1000\nfill value=9";
    let served = Served::texts(&[text], ServerOptions::default().cost(1 << 20));
    served.key(0);
    let told = get(served.address, "/zarr/zarr.json").json()["attributes"]["relief"].clone();
    assert_eq!(
        (told["levels"].as_u64(), told["of"].as_u64()),
        (Some(33), Some(33))
    );
    assert_eq!(get(served.address, "/zarr/32/c/0/0").samples()[..2], [9, 9]);
    for level in ["0", "3"] {
        let array = get(served.address, &format!("/zarr/{level}/zarr.json")).json();
        let side = array["chunk_grid"]["configuration"]["chunk_shape"][0]
            .as_u64()
            .unwrap();
        assert!((256..=4_096).contains(&side) && side.is_power_of_two());
    }
}

#[test]
fn chunks_grow_so_that_a_level_has_fewer_than_2_to_the_20() {
    let served = Served::example("sheet", ServerOptions::default().cost(1 << 16));
    served.key(0);
    let array = get(served.address, "/zarr/0/zarr.json").json();
    let side = array["chunk_grid"]["configuration"]["chunk_shape"][0]
        .as_u64()
        .unwrap();
    assert_eq!(side, 2_048);
    assert!(2_000_000_u64.div_ceil(side) * 1_800_000_u64.div_ceil(side) < 1 << 20);
}

#[test]
fn deep_zoom_has_the_raster_at_its_finest_level_and_one_pixel_at_its_first() {
    let served = Served::texts(&[TEXT], ServerOptions::default());
    let key = served.key(0);
    let samples = read(&served.renderer(0), Rect::sized(600, 500));
    for name in ["image", "0", &key] {
        let reply = get(served.address, &format!("/dzi/{name}.dzi"));
        // What is shown may change; what a key names does not.
        let lasts = reply.header("cache-control").contains("immutable");
        assert_eq!(lasts, name == key, "{name}");
        let text = String::from_utf8(reply.body).unwrap();
        assert!(
            text.contains("TileSize=\"256\"") && text.contains("<Size Width=\"600\" Height=\"500\"/>"),
            "{text}"
        );
        // 600 pixels: levels 0 to 10.
        let tile = picture(&get(served.address, &format!("/dzi/{name}_files/10/2_1.png")).body);
        assert_eq!((tile.0, tile.1), (600 - 512, 500 - 256));
        for (at, sample) in tile.2.into_iter().enumerate() {
            let (x, y) = (512 + at % 88, 256 + at / 88);
            assert_eq!(sample, samples[y * 600 + x]);
        }
        let first = picture(&get(served.address, &format!("/dzi/{name}_files/0/0_0.png")).body);
        let sum: u64 = samples.iter().map(|&v| u64::from(v)).sum();
        assert_eq!(first, (1, 1, vec![((2 * sum + 300_000) / 600_000) as u16]));
    }
}

/// Columns, rows and samples of a PNG of 16 bits.
fn picture(bytes: &[u8]) -> (usize, usize, Vec<u16>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .unwrap();
    let mut samples = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut samples).unwrap();
    assert_eq!(
        (info.color_type, info.bit_depth),
        (png::ColorType::Grayscale, png::BitDepth::Sixteen)
    );
    let samples = samples
        .chunks_exact(2)
        .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
        .collect();
    (info.width as usize, info.height as usize, samples)
}
