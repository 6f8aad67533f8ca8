//! STL: solids that are closed, of the volume that the samples have.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;
use std::fs;

use crate::raster::{Cut, Whole, names};
use proptest::prelude::*;
use relief_engine::sink::{Raster, Sink};
use relief_io::{FileSink, Heights, Target};
use relief_raster::Depth;
use tempfile::TempDir;

const HEIGHTS: Heights = Heights {
    amplitude: 3_000_000_000,
    base: 1_000_000_000,
};

/// Millimetres as bits, so that points are compared exactly.
type Point = [u32; 3];

/// The triangles of a file, and the normals it gives them.
fn triangles(file: &[u8]) -> Vec<([f32; 3], [Point; 3])> {
    assert!(!file.starts_with(b"solid"));
    let count = u32::from_le_bytes(file[80..84].try_into().unwrap());
    assert_eq!(file.len(), 84 + 50 * count as usize);
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    file[84..]
        .chunks(50)
        .map(|bytes| {
            let numbers: Vec<u32> = bytes[..48].chunks(4).map(number).collect();
            assert_eq!(bytes[48..], [0, 0]);
            let point = |at: usize| [numbers[at], numbers[at + 1], numbers[at + 2]];
            (point(0).map(f32::from_bits), [point(3), point(6), point(9)])
        })
        .collect()
}

fn millimetres(point: Point) -> [f64; 3] {
    point.map(|side| f64::from(f32::from_bits(side)))
}

fn solid(whole: &Whole, cut: Cut) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.stl");
    whole
        .stream(&mut FileSink::solid(Target::Path(path.clone()), HEIGHTS), cut)
        .unwrap();
    assert_eq!(names(folder.path()), ["out.stl"]);
    fs::read(path).unwrap()
}

fn checked(whole: &Whole, cut: Cut) {
    let triangles = triangles(&solid(whole, cut));
    // Closed and of one side: whatever runs along an edge, another triangle runs back, and only one.
    let mut edges: HashMap<(Point, Point), u32> = HashMap::new();
    for (_, [a, b, c]) in &triangles {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            assert_ne!(from, to);
            *edges.entry((*from, *to)).or_insert(0) += 1;
        }
    }
    for ((from, to), count) in &edges {
        assert_eq!(
            (*count, edges.get(&(*to, *from))),
            (1, Some(&1)),
            "{from:?} to {to:?}"
        );
    }
    // Its volume, by the divergence theorem, is that of the prisms below the triangles of its surface.
    let mut volume = 0.0;
    for (normal, corners) in &triangles {
        let [a, b, c] = corners.map(millimetres);
        let cross = |u: [f64; 3], v: [f64; 3]| {
            [
                u[1] * v[2] - u[2] * v[1],
                u[2] * v[0] - u[0] * v[2],
                u[0] * v[1] - u[1] * v[0],
            ]
        };
        let dot = |u: [f64; 3], v: [f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
        volume += dot(a, cross(b, c)) / 6.0;
        let less = |u: [f64; 3], v: [f64; 3]| [u[0] - v[0], u[1] - v[1], u[2] - v[2]];
        let across = cross(less(b, a), less(c, a));
        let length = dot(across, across).sqrt();
        assert!(dot(across.map(|side| side / length), normal.map(f64::from)) > 0.999);
    }
    let (width, height) = (whole.raster.width as usize, whole.raster.height as usize);
    let z = |x: usize, y: usize| {
        1.0 + 3.0 * f64::from(whole.samples[y * width + x]) / f64::from(whole.raster.depth.max())
    };
    let mut expected = 0.0;
    for y in 0..height - 1 {
        for x in 0..width - 1 {
            let (a, b, c, d) = (z(x, y), z(x + 1, y), z(x, y + 1), z(x + 1, y + 1));
            expected += (a + c + d) / 6.0 + (a + d + b) / 6.0;
        }
    }
    // Pixels of 0.5 mm.
    let expected = expected * 0.25;
    assert!(
        (volume - expected).abs() < 1e-4 * expected,
        "{volume} mm³, {expected} expected"
    );
}

fn raster(width: u64, height: u64, depth: Depth) -> Whole {
    let mut whole = Whole::new(width, height, depth);
    whole.raster.pixel = relief_raster::Length::picometres(500_000_000);
    whole
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn solids_are_closed_and_have_the_volume_of_their_samples(
        (width, height) in (2_u64..24, 2_u64..24),
        deep in any::<bool>(),
        cut in prop_oneof![(1_u64..9).prop_map(Cut::Rows), (1_u64..50).prop_map(Cut::Columns), (1_u64..50).prop_map(Cut::Mixed)],
    ) {
        checked(&raster(width, height, if deep { Depth::Sixteen } else { Depth::Eight }), cut);
    }
}

#[test]
fn the_first_sample_is_at_the_back_on_the_left() {
    let mut whole = raster(3, 2, Depth::Eight);
    whole.samples = vec![255, 0, 0, 0, 0, 0];
    let highest = triangles(&solid(&whole, Cut::Rows(2)))
        .into_iter()
        .flat_map(|(_, corners)| corners)
        .map(millimetres)
        .max_by(|a, b| a[2].total_cmp(&b[2]))
        .unwrap();
    assert_eq!(highest, [0.0, 0.5, 4.0]);
}

#[test]
fn what_is_no_solid_is_refused() {
    let refusal = |raster: &Raster, heights: Heights| {
        let mut sink = FileSink::solid(Target::Writer(Box::new(std::io::sink())), heights);
        sink.begin(raster).unwrap_err().to_string()
    };
    let right = raster(9, 9, Depth::Eight).raster;
    for (raster, heights, said) in [
        (right.with_pixel(None), HEIGHTS, "give the canvas `pixel`"),
        (
            Raster::new(1, right.height, right.depth).with_pixel(right.pixel),
            HEIGHTS,
            "2 columns and 2 rows",
        ),
        (right, Heights { base: 0, ..HEIGHTS }, "thicker than 0"),
        (
            Raster::new(50_000, 50_000, right.depth).with_pixel(right.pixel),
            HEIGHTS,
            "write tiff or zarr",
        ),
    ] {
        let found = refusal(&raster, heights);
        assert!(found.contains(said), "{found}");
    }
}
