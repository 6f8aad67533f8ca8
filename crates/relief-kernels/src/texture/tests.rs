use relief_raster::{Sample, ViewMut};

use super::cpu::{self, Feature};
use super::{Cells, bits};
use crate::isa::Isa;

fn smooth<S: Sample>(
    cells: &[Cells; 2],
    octaves: u32,
    at: (i64, i64),
    (width, height): (usize, usize),
) -> Vec<u16> {
    let mut all: Option<Vec<u16>> = None;
    Isa::each(|| {
        let mut out = vec![S::from_u16(9); width * height];
        let mut scratch = vec![u64::MAX; cpu::perlin_words(width as u64) as usize];
        cpu::perlin(
            5,
            cells,
            octaves,
            at,
            ViewMut::packed(&mut out, width, height),
            &mut scratch,
        );
        let found: Vec<u16> = out.iter().map(|sample| sample.to_u16()).collect();
        assert!(all.as_ref().is_none_or(|all| *all == found));
        all = Some(found);
    });
    all.unwrap()
}

#[test]
fn corners_of_the_lattice_are_in_the_middle_and_neighbours_are_near() {
    // Odd cells have no pixel on a corner; the first of a cell lies half a pixel from it.
    let cells = [Cells::new(1, 4_096, false).unwrap(); 2];
    let first = smooth::<u16>(&cells, 1, (0, 0), (1, 1))[0];
    assert!((32_768 - 16..32_768 + 16).contains(&first), "{first}");
    let row = smooth::<u16>(&cells, 1, (0, 1_000), (10_000, 1));
    assert!(row.windows(2).all(|pair| pair[0].abs_diff(pair[1]) < 64));
    let (least, greatest) = (row.iter().min().unwrap(), row.iter().max().unwrap());
    assert!(greatest - least > 5_000, "{least} to {greatest}");
}

#[test]
fn a_lattice_that_wraps_repeats_by_its_period() {
    // 7 cells in 31 columns, 3 in 20 rows.
    let cells = [Cells::new(7, 31, true).unwrap(), Cells::new(3, 20, true).unwrap()];
    let all = smooth::<u8>(&cells, 3, (0, 0), (31, 20));
    assert_eq!(smooth::<u8>(&cells, 3, (31 * 5, 20 * 3), (31, 20)), all);
    // And the sample behind the last follows it smoothly, by being the first.
    assert_eq!(
        smooth::<u8>(&cells, 3, (31, 0), (1, 20)),
        smooth::<u8>(&cells, 3, (0, 0), (1, 20))
    );
}

#[test]
fn distances_are_those_of_the_nearest_of_all_points() {
    let size = 10_i64;
    let cells = [Cells::new(1, size as u64, false).unwrap(); 2];
    // In squares, of all of a large area: no point beyond 5 × 5 squares is ever nearer.
    let points: Vec<(f64, f64)> = (-6..10)
        .flat_map(|j: i64| (-6..10).map(move |i: i64| (i, j)))
        .map(|(i, j)| {
            let bits = bits(5, i as u64, j as u64);
            let part = |shift: u32| ((bits >> shift) & 0xFFFF) as f64 / 65_536.0;
            (i as f64 + part(48), j as f64 + part(32))
        })
        .collect();
    for of in [Feature::Nearest, Feature::Second, Feature::Edge] {
        Isa::each(|| {
            let mut out = [0_u16; 40 * 40];
            let mut scratch = vec![u64::MAX; cpu::worley_words(40) as usize];
            cpu::worley(
                5,
                &cells,
                of,
                (0, 0),
                ViewMut::packed(&mut out, 40, 40),
                &mut scratch,
            );
            for (i, found) in out.iter().enumerate() {
                let (x, y) = ((i % 40) as f64 + 0.5, (i / 40) as f64 + 0.5);
                let mut distances: Vec<f64> = points
                    .iter()
                    .map(|(px, py)| (px - x / size as f64).hypot(py - y / size as f64))
                    .collect();
                distances.sort_by(f64::total_cmp);
                let distance = match of {
                    Feature::Nearest => distances[0],
                    Feature::Second => distances[1],
                    _ => distances[1] - distances[0],
                };
                let expected = (distance * 65_535.0).min(65_535.0);
                assert!(
                    (f64::from(*found) - expected).abs() < 4.0,
                    "{of:?} {i}: {found}, not {expected}"
                );
            }
        });
    }
}

#[test]
fn cells_out_of_range_are_refused() {
    assert!(Cells::new(0, 1, false).is_none());
    assert!(Cells::new(1, 0, false).is_none());
    assert!(Cells::new(1, (1 << 40) + 1, false).is_none());
    // The last pixel of the widest raster, in the finest lattice.
    let widest = Cells::new(1 << 40, 1 << 40, true).unwrap();
    assert_eq!(widest.place((1 << 40) - 1, 7), ((1 << 47) - 64, 0));
}
