//! Meshes against a test of every pixel with every triangle, in fractions.

use proptest::prelude::*;
use relief_raster::{Rect, Sample, ViewMut};

use super::{Index, MAX_HEIGHT, MAX_PLACE, Point, cpu};

/// Which side of the line from `a` to `b` a place lies on, as Cramer's rule has it.
fn side(a: Point, b: Point, place: (i128, i128)) -> i128 {
    let [ax, ay, _] = a.map(i128::from);
    let [bx, by, _] = b.map(i128::from);
    (ax - place.0) * (by - place.1) - (bx - place.0) * (ay - place.1)
}

/// The sample of a pixel: of all triangles with the centre in their barycentric coordinates, the greatest.
///
/// A centre on an edge belongs to the triangle that also holds the place an infinitesimal step to the right of it and, less than that, below
/// it.
fn oracle(points: &[Point], triangles: &[[u32; 3]], x: i64, y: i64, max: u16) -> u16 {
    let centre = (i128::from(x) * 256 + 128, i128::from(y) * 256 + 128);
    let mut best = 0;
    for triangle in triangles {
        let [a, b, c] = triangle.map(|point| points[point as usize]);
        let signs = [(b, c), (c, a), (a, b)].map(|(from, to)| {
            let at = side(from, to, centre);
            if at != 0 {
                return at.signum();
            }
            // To the right by ε, then down by ε².
            let (dx, dy) = (i128::from(to[0] - from[0]), i128::from(to[1] - from[1]));
            if dy == 0 { dx.signum() } else { -dy.signum() }
        });
        let whole = side(a, b, (c[0].into(), c[1].into()));
        if whole == 0 || signs.iter().any(|&sign| sign != whole.signum()) {
            continue;
        }
        let sum: i128 = [(b, c, a), (c, a, b), (a, b, c)]
            .iter()
            .map(|&(from, to, apex)| side(from, to, centre) * i128::from(apex[2]))
            .sum();
        let (mut above, mut below) = (sum, whole << 16);
        if below < 0 {
            (above, below) = (-above, -below);
        }
        let sample = (2 * above + below).div_euclid(2 * below);
        best = best.max(sample.clamp(0, max.into()) as u16);
    }
    best
}

fn computed<S: Sample>(index: &Index, rect: Rect) -> Vec<u16> {
    let (width, height) = (rect.width() as usize, rect.height() as usize);
    // What was there before does not matter.
    let mut out = vec![S::MAX; width * height];
    match cpu::compute(
        index,
        (rect.x(), rect.y()),
        ViewMut::packed(&mut out, width, height),
    ) {
        Some(value) => vec![value.to_u16(); width * height],
        None => out.into_iter().map(S::to_u16).collect(),
    }
}

fn expected(points: &[Point], triangles: &[[u32; 3]], rect: Rect, max: u16) -> Vec<u16> {
    let places = (rect.y()..rect.bottom()).flat_map(|y| (rect.x()..rect.right()).map(move |x| (x, y)));
    places
        .map(|(x, y)| oracle(points, triangles, x, y, max))
        .collect()
}

fn index(points: &[Point], triangles: &[[u32; 3]]) -> Index {
    Index::new(points.into(), triangles).unwrap()
}

/// Places of which many are centres of pixels, or in line with others.
fn place() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => (-3_i64..20).prop_map(|pixel| pixel * 256 + 128),
        2 => (-3_i64..20).prop_map(|pixel| pixel * 256),
        3 => -700_i64..5_000,
    ]
}

fn height() -> impl Strategy<Value = i64> {
    prop_oneof![
        (-9_i64..300).prop_map(|sample| sample << 16),
        -(1_i64 << 24)..(1 << 25),
        Just((77 << 16) + (1 << 15)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_mesh_is_what_every_pixel_sees_of_every_triangle(
        points in proptest::collection::vec((place(), place(), height()).prop_map(|(x, y, z)| [x, y, z]), 3..9),
        corners in proptest::collection::vec([0_u32..9, 0..9, 0..9], 1..30),
        cut in 1_i64..18,
    ) {
        let count = points.len() as u32;
        let triangles: Vec<[u32; 3]> = corners.iter().map(|corner| corner.map(|point| point % count)).collect();
        let index = index(&points, &triangles);
        let whole = Rect::between(-4, -4, 21, 21);
        prop_assert_eq!(computed::<u8>(&index, whole), expected(&points, &triangles, whole, 255));
        let part = Rect::between(cut - 4, cut / 2, 21, 20);
        prop_assert_eq!(computed::<u16>(&index, part), expected(&points, &triangles, part, 65_535));
        // What is told without computing holds, and is exact for one pixel under one triangle alone.
        for rect in [whole, part, Rect::between(cut, cut, cut + 1, cut + 1), Rect::between(90, 90, 95, 91)] {
            let (least, greatest) = cpu::within::<u8>(&index, rect);
            for sample in expected(&points, &triangles, rect, 255) {
                prop_assert!((least..=greatest).contains(&sample), "{} in {}…{}", sample, least, greatest);
            }
        }
    }
}

#[test]
fn two_triangles_that_share_an_edge_cover_each_pixel_once() {
    // A square of 8 × 8 pixels whose corners and diagonal go through centres.
    let points =
        [[128, 128, 0], [2_176, 128, 0], [2_176, 2_176, 0], [128, 2_176, 0]].map(|[x, y, _]| [x, y, 9 << 16]);
    let whole = Rect::between(-1, -1, 11, 11);
    let one = computed::<u8>(&index(&points, &[[0, 1, 2]]), whole);
    let other = computed::<u8>(&index(&points, &[[2, 0, 3]]), whole);
    let both = computed::<u8>(&index(&points, &[[0, 1, 2], [2, 0, 3]]), whole);
    assert!(one.iter().zip(&other).all(|(a, b)| *a == 0 || *b == 0));
    assert_eq!(both.iter().filter(|&&sample| sample == 9).count(), 64);
}

#[test]
fn a_plane_is_known_without_computing_it() {
    let flat = [
        [-9_000, -9_000, 40 << 16],
        [90_000, -9_000, 40 << 16],
        [-9_000, 90_000, 40 << 16],
    ];
    let slope = [
        [-9_000, -9_000, 0],
        [90_000, -9_000, 99 << 16],
        [-9_000, 90_000, 0],
    ];
    let points = [flat, slope].concat();
    let index = index(&points, &[[0, 1, 2], [3, 4, 5]]);
    let left = Rect::sized(20, 20);
    assert_eq!(cpu::within::<u8>(&index, left), (40, 40));
    assert_eq!(computed::<u8>(&index, left), vec![40; 400]);
    let right = Rect::between(250, 0, 260, 10);
    let samples = expected(&points, &[[0, 1, 2], [3, 4, 5]], right, 255);
    let ends = (*samples.iter().min().unwrap(), *samples.iter().max().unwrap());
    assert_eq!(cpu::within::<u8>(&index, right), ends);
}

#[test]
fn points_at_the_limits_are_computed_and_those_beyond_refused() {
    let far = MAX_PLACE;
    let points = [
        [-far, -far, MAX_HEIGHT],
        [far, -far, MAX_HEIGHT],
        [far, far, -MAX_HEIGHT],
        [-far, far, -MAX_HEIGHT],
    ];
    let triangles = [[0, 1, 2], [0, 2, 3]];
    let index = index(&points, &triangles);
    for rect in [
        Rect::between(-3, -3, 3, 3),
        Rect::between(far / 256 - 2, -2, far / 256 + 2, 2),
    ] {
        assert_eq!(
            computed::<u16>(&index, rect),
            expected(&points, &triangles, rect, 65_535)
        );
    }
    let mut beyond = points;
    beyond[2][1] += 1;
    assert!(Index::new(beyond.as_slice().into(), &triangles).is_none());
    beyond[2] = [0, 0, MAX_HEIGHT + 1];
    assert!(Index::new(beyond.as_slice().into(), &triangles).is_none());
    assert!(Index::new(points.as_slice().into(), &[[0, 1, 4]]).is_none());
    let nothing = Index::new(points.as_slice().into(), &[[0, 1, 1]]).unwrap();
    assert_eq!(computed::<u8>(&nothing, Rect::sized(9, 9)), vec![0; 81]);
}

#[test]
fn many_triangles_are_found_in_a_tree_of_several_levels() {
    let mut points = Vec::new();
    let mut triangles = Vec::new();
    for number in 0..700_u32 {
        let (x, y) = (i64::from(number % 28) * 700, i64::from(number / 28) * 500);
        let z = i64::from(number % 200) << 16;
        points.extend([[x, y, z], [x + 900, y + 30, z + 5], [x + 100, y + 700, z]]);
        triangles.push([3 * number, 3 * number + 1, 3 * number + 2]);
    }
    let index = index(&points, &triangles);
    assert!(index.levels.len() >= 4);
    for rect in [Rect::between(10, 5, 40, 25), Rect::between(70, 45, 90, 55)] {
        assert_eq!(
            computed::<u8>(&index, rect),
            expected(&points, &triangles, rect, 255)
        );
    }
}

#[test]
fn what_building_takes_is_known_before() {
    // Triangles side by side, none without an area.
    for count in [0_u32, 1, 7, 8, 9, 64, 65, 513, 5_000] {
        let mut points: Vec<Point> = Vec::new();
        let mut triangles = Vec::new();
        for number in 0..count {
            let left = i64::from(number) * 512;
            points.extend([[left, 0, 0], [left + 256, 0, 0], [left, 256, 0]]);
            triangles.push([0, 1, 2].map(|corner| 3 * number + corner));
        }
        let index = Index::new(points.into(), &triangles).unwrap();
        let (held, most) = (index.bytes(), Index::bytes_to_build(count.into()));
        // What it holds is a part of that, and all but the order of the triangles.
        assert!(held <= most, "{count}: {held} of {most}");
        assert!(most <= held + 8 * u64::from(count), "{count}: {held} of {most}");
    }
    assert_eq!(Index::bytes_to_build(u64::MAX), u64::MAX);
}
