use std::collections::BTreeMap;

use proptest::prelude::*;
use relief_raster::{MAX_COORDINATE, Period, Rect, Sample};

use super::cpu::{Accumulator, cell, scratch_words};
use super::{Blend, MAX_DENOMINATOR, Placement, copies, fractional_copies, fractional_overlap, overlap};
use crate::canvas::Canvas;
use crate::isa::Isa;

const BLENDS: [Blend; 5] = [Blend::Mean, Blend::Max, Blend::Min, Blend::Sum, Blend::Last];

/// What the samples of the copies over one pixel become, in the order of the copies.
fn blended(blend: Blend, samples: &[u16], max: u16) -> u16 {
    let white: Vec<u64> = samples
        .iter()
        .filter(|s| **s != 0)
        .map(|s| u64::from(*s))
        .collect();
    let n = white.len() as u64;
    let blended = match blend {
        _ if n == 0 => 0,
        Blend::Mean => (2 * white.iter().sum::<u64>() + n) / (2 * n),
        Blend::Max => *white.iter().max().unwrap(),
        Blend::Min => *white.iter().min().unwrap(),
        Blend::Sum => white.iter().sum::<u64>().min(u64::from(max)),
        Blend::Last => *white.last().unwrap(),
    };
    u16::try_from(blended).unwrap()
}

/// The pixels of the pattern that lie over a pixel, in ascending order of the (j, i) of their copy.
fn covering(
    (x, y): (i64, i64),
    size: (usize, usize),
    offset: (i64, i64),
    u: (i64, i64),
    v: (i64, i64),
) -> Vec<(usize, usize)> {
    let mut over = BTreeMap::new();
    for (px, py) in (0..size.0).flat_map(|px| (0..size.1).map(move |py| (px, py))) {
        if let Some((i, j)) = coefficients(x - offset.0 - px as i64, y - offset.1 - py as i64, u, v) {
            over.insert((j, i), (px, py));
        }
    }
    over.into_values().collect()
}

/// Noise with many zeros.
fn pattern<S: Sample>(size: (usize, usize)) -> Canvas<S> {
    Canvas::of(size, |x, y| {
        let v = ((x * 97 + y * 61 + 13) % 251) as u16;
        if v.is_multiple_of(3) {
            S::ZERO
        } else {
            S::from_u16(S::MAX.to_u16() - v)
        }
    })
}

fn blends_hold<S: Sample>(
    size: (usize, usize),
    offset: (i64, i64),
    u: (i64, i64),
    v: (i64, i64),
    tile: Rect,
) {
    let pattern = pattern::<S>(size);
    let overlap = overlap((size.0 as u64, size.1 as u64), u, v);
    let (width, height) = (tile.width() as usize, tile.height() as usize);
    let samples: Vec<Vec<u16>> = (0..width * height)
        .map(|at| (tile.x() + (at % width) as i64, tile.y() + (at / width) as i64))
        .map(|pixel| covering(pixel, size, offset, u, v))
        .map(|over| {
            over.iter()
                .map(|(px, py)| pattern.at(*px, *py).to_u16())
                .collect()
        })
        .collect();
    Isa::each(|| {
        for blend in BLENDS {
            let mut scratch = vec![0xdead_beef_dead_beef; scratch_words::<S>(blend, overlap, width, height)];
            let mut sum = Accumulator::new(blend, overlap, width, height, &mut scratch);
            for copy in copies(tile, (size.0 as u64, size.1 as u64), offset, u, v) {
                sum.add(copy.x - tile.x(), copy.y - tile.y(), pattern.read());
            }
            let mut out = Canvas::<S>::poisoned((width, height));
            sum.finish(out.view());
            out.assert_is(|x, y| S::from_u16(blended(blend, &samples[y * width + x], S::MAX.to_u16())));
        }
    });
}

fn cells_hold<S: Sample>(size: (usize, usize), offset: (i64, i64), u: (i64, i64), v: (i64, i64)) {
    let Some(period) = Period::spanned(u, v) else {
        return;
    };
    let pattern = pattern::<S>(size);
    let (width, height) = (period.a() as usize, period.c() as usize);
    for blend in BLENDS {
        let overlap = overlap((size.0 as u64, size.1 as u64), u, v);
        let mut scratch = vec![7; scratch_words::<S>(blend, overlap, width, height)];
        let mut out = Canvas::<S>::poisoned((width, height));
        cell(pattern.read(), offset, blend, u, v, out.view(), &mut scratch);
        out.assert_is(|x, y| {
            let over = covering((x as i64, y as i64), size, offset, u, v);
            let samples: Vec<u16> = over
                .iter()
                .map(|(px, py)| pattern.at(*px, *py).to_u16())
                .collect();
            S::from_u16(blended(blend, &samples, S::MAX.to_u16()))
        });
    }
}

fn vector(reach: i64) -> impl Strategy<Value = (i64, i64)> {
    (-reach..=reach, -reach..=reach)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_tile_blends_all_copies_that_cover_it(
        size in (1..12_usize, 1..12_usize), offset in vector(9), u in vector(9), v in vector(9),
        at in vector(12), extent in (1_u64..24, 1_u64..9),
    ) {
        prop_assume!(u.0 * v.1 != u.1 * v.0);
        let tile = Rect::new(at.0, at.1, extent.0, extent.1).unwrap();
        blends_hold::<u8>(size, offset, u, v, tile);
        blends_hold::<u16>(size, offset, u, v, tile);
    }

    #[test]
    fn a_cell_holds_the_first_samples_of_the_raster(
        size in (1..14_usize, 1..14_usize), offset in vector(20), u in vector(6), v in vector(6),
    ) {
        cells_hold::<u8>(size, offset, u, v);
        cells_hold::<u16>(size, offset, u, v);
    }

    #[test]
    fn copies_are_those_that_meet_the_tile_in_order(
        size in (1_u64..9, 1_u64..9), offset in vector(30), u in vector(7), v in vector(7), shear in -40_i64..40,
        shear_first in -40_i64..40, at in vector(30), extent in (0_u64..20, 0_u64..20),
    ) {
        prop_assume!(u.0 * v.1 != u.1 * v.0);
        // Vectors that are long and close to parallel span the same lattice.
        let v = (v.0 + shear * u.0, v.1 + shear * u.1);
        let u = (u.0 + shear_first * v.0, u.1 + shear_first * v.1);
        let tile = Rect::new(at.0, at.1, extent.0, extent.1).unwrap();
        let mut expected = BTreeMap::new();
        for y in tile.y() - size.1 as i64 + 1..tile.bottom() {
            for x in tile.x() - size.0 as i64 + 1..tile.right() {
                if !tile.is_empty() && let Some((i, j)) = coefficients(x - offset.0, y - offset.1, u, v) {
                    expected.insert((j, i), Placement { i: i.into(), j: j.into(), x, y });
                }
            }
        }
        let found: Vec<Placement> = copies(tile, size, offset, u, v).collect();
        prop_assert_eq!(found, expected.into_values().collect::<Vec<_>>());
    }

    #[test]
    fn fractional_copies_lie_at_the_nearest_pixels_in_order(
        size in (1_u64..9, 1_u64..9), offset in vector(30), u in vector(40), v in vector(40), shear in -9_i64..9,
        over in (1_u32..9, 1_u32..9), at in vector(30), extent in (0_u64..20, 0_u64..20),
    ) {
        prop_assume!(u.0 * v.1 != u.1 * v.0);
        let v = (v.0 + shear * u.0, v.1 + shear * u.1);
        let tile = Rect::new(at.0, at.1, extent.0, extent.1).unwrap();
        let mut expected = Vec::new();
        // i and j are linear in the place, so that those of the corners bound them.
        let corner = |x: i64, y: i64| {
            let (x, y) = ((x - offset.0) * i64::from(over.0), (y - offset.1) * i64::from(over.1));
            let determinant = u.0 * v.1 - u.1 * v.0;
            ((x * v.1 - y * v.0) / determinant, (u.0 * y - u.1 * x) / determinant)
        };
        let (left, top) = (tile.x() - size.0 as i64 - 1, tile.y() - size.1 as i64 - 1);
        let (right, bottom) = (tile.right() + 1, tile.bottom() + 1);
        let corners = [corner(left, top), corner(right, top), corner(left, bottom), corner(right, bottom)];
        let least = corners.iter().fold((i64::MAX, i64::MAX), |l, c| (l.0.min(c.0), l.1.min(c.1)));
        let most = corners.iter().fold((i64::MIN, i64::MIN), |m, c| (m.0.max(c.0), m.1.max(c.1)));
        for j in least.1 - 1..=most.1 + 1 {
            for i in least.0 - 1..=most.0 + 1 {
                let nearest = |n: i64, over: u32| (f64::from(n as i32) / f64::from(over) + 0.5).floor() as i64;
                let x = offset.0 + nearest(i * u.0 + j * v.0, over.0);
                let y = offset.1 + nearest(i * u.1 + j * v.1, over.1);
                let copy = Rect::new(x, y, size.0, size.1).unwrap();
                if !copy.intersection(&tile).is_empty() {
                    expected.push(Placement { i: i.into(), j: j.into(), x, y });
                }
            }
        }
        let found: Vec<Placement> = fractional_copies(tile, size, offset, u, v, over).collect();
        prop_assert_eq!(&found, &expected);
        // No pixel of the tile is covered more often than is told.
        let bound = fractional_overlap(size, u, v, over);
        for y in tile.y()..tile.bottom() {
            for x in tile.x()..tile.right() {
                let covers = |copy: &&Placement| {
                    (copy.x..copy.x + size.0 as i64).contains(&x) && (copy.y..copy.y + size.1 as i64).contains(&y)
                };
                prop_assert!(found.iter().filter(covers).count() as u128 <= bound);
            }
        }
    }

    #[test]
    fn the_overlap_bounds_the_copies_over_a_pixel(
        size in (1_u64..30, 1_u64..30), u in vector(9), v in vector(9), shear in -30_i64..30, at in vector(30),
    ) {
        let determinant = (u.0 * v.1 - u.1 * v.0).unsigned_abs();
        prop_assume!(determinant != 0);
        let v = (v.0 + shear * u.0, v.1 + shear * u.1);
        let bound = overlap(size, u, v);
        let pixel = Rect::new(at.0, at.1, 1, 1).unwrap();
        prop_assert!(copies(pixel, size, (0, 0), u, v).count() as u128 <= bound);
        // Never far above the copies there must be: those of the mean, and one more along each side.
        let mean = size.0 * size.1 / determinant;
        prop_assert!(bound <= u128::from(3 * (mean + size.0 + size.1)), "{} for a mean of {}", bound, mean);
    }

    #[test]
    fn far_lattices_of_any_vectors_are_walked_in_time(
        x in -MAX_COORDINATE..MAX_COORDINATE, y in -MAX_COORDINATE..MAX_COORDINATE,
        u in vector(1 << 61), v in vector(1 << 61), offset in vector(MAX_COORDINATE), size in (1_u64..1 << 40, 1_u64..1 << 40),
    ) {
        let tile = Rect::new(x, y, 512, 512).unwrap();
        let found = copies(tile, size, offset, u, v).take(100);
        // As long as vectors of 2^40 pixels are with the greatest denominators.
        let (u, v) = ((u.0 >> 5, u.1 >> 5), (v.0 >> 5, v.1 >> 5));
        let over = (MAX_DENOMINATOR, MAX_DENOMINATOR - 1);
        for copy in found.chain(fractional_copies(tile, size, offset, u, v, over).take(100)) {
            let copy = Rect::between(copy.x, copy.y, copy.x + size.0 as i64, copy.y + size.1 as i64);
            prop_assert!(!copy.intersection(&tile).is_empty());
        }
    }
}

/// The integers i, j with i·u + j·v = (x, y), if there are any.
fn coefficients(x: i64, y: i64, u: (i64, i64), v: (i64, i64)) -> Option<(i64, i64)> {
    let determinant = u.0 * v.1 - u.1 * v.0;
    let (i, j) = (x * v.1 - y * v.0, u.0 * y - u.1 * x);
    (i % determinant == 0 && j % determinant == 0).then(|| (i / determinant, j / determinant))
}

#[test]
fn vectors_almost_parallel_are_sorted() {
    let (u, v) = ((1_000_000_007, 1), (1_000_000_000, 1));
    let tile = Rect::new(-3, 1 << 40, 40, 30).unwrap();
    let found: Vec<Placement> = copies(tile, (3, 2), (5, -7), u, v).collect();
    // Rows hold copies 7 apart; where a row begins depends on the row.
    let rows = (tile.y() - 1..tile.bottom()).map(|y| {
        let shift = (i128::from(y + 7) * i128::from(v.0) + 5).rem_euclid(7) as i64;
        (tile.x() - 2..tile.right())
            .filter(|x| x.rem_euclid(7) == shift)
            .count()
    });
    assert_eq!(found.len(), rows.sum::<usize>());
    assert!(found.is_sorted_by_key(|copy| (copy.j, copy.i)));
    for copy in found {
        assert_eq!(
            i128::from(copy.x),
            5 + copy.i * i128::from(u.0) + copy.j * i128::from(v.0)
        );
        assert_eq!(i128::from(copy.y), -7 + copy.i + copy.j);
    }
}

#[test]
fn every_mean_of_bytes_is_exact() {
    // Sums that lie just below, at and above where the rounded mean changes, for every number of copies.
    for n in 1..=255_u32 {
        let sums: Vec<u32> = (0..=255)
            .flat_map(|mean| {
                let change = (mean * 2 * n).saturating_sub(n).div_ceil(2);
                [change.saturating_sub(1), change, change + 1]
            })
            .filter(|sum| (n..=255 * n).contains(sum))
            .collect();
        Isa::each(|| means_hold::<u8>(n, &sums, 255));
    }
}

#[test]
fn means_of_many_words_are_exact() {
    for n in [1, 2, 3, 254, 256, 257, 1000, 16_383, 16_384] {
        let sums: Vec<u32> = (0..=64_u64)
            .flat_map(|k| {
                let change = (k * 1023 * 2 * u64::from(n)).saturating_sub(n.into()).div_ceil(2) as u32;
                [change.saturating_sub(1), change, change + 1]
            })
            .chain([65_535 * n, 65_535 * n - 1, n])
            .filter(|sum| (n..=65_535 * n).contains(sum))
            .collect();
        Isa::each(|| means_hold::<u16>(n, &sums, u128::from(n)));
    }
}

/// Adds n samples other than 0 of every sum, one copy after the other.
fn means_hold<S: Sample>(n: u32, sums: &[u32], overlap: u128) {
    let width = sums.len();
    let mut scratch = vec![0; scratch_words::<S>(Blend::Mean, overlap, width, 1)];
    let mut tile = Accumulator::<S>::new(Blend::Mean, overlap, width, 1, &mut scratch);
    for k in 0..n {
        let copy = Canvas::<S>::of((width, 1), |x, _| S::from_u16(((sums[x] + k) / n) as u16));
        tile.add(0, 0, copy.read());
    }
    let mut out = Canvas::<S>::poisoned((width, 1));
    tile.finish(out.view());
    out.assert_is(|x, _| S::from_u16(((2 * u64::from(sums[x]) + u64::from(n)) / (2 * u64::from(n))) as u16));
}

#[test]
fn parallel_vectors_have_no_copies() {
    assert_eq!(
        copies(Rect::sized(9, 9), (3, 3), (0, 0), (2, 4), (-1, -2)).count(),
        0
    );
}

#[test]
#[should_panic(expected = "copies over one pixel")]
fn too_many_copies_for_exact_sums_are_refused() {
    let _ = Accumulator::<u16>::new(Blend::Mean, 16_385, 1, 1, &mut [0; 4]);
}

#[test]
#[should_panic(expected = "words of scratch memory")]
fn too_little_scratch_memory_is_refused() {
    let _ = Accumulator::<u16>::new(Blend::Max, 1, 10, 10, &mut [0; 24]);
}
