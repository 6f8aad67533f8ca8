use proptest::prelude::*;
use relief_raster::{Sample, View};

use super::cpu::{MAX_RADIUS, Transform, bounded, scratch_words};
use crate::canvas::Canvas;
use crate::isa::Isa;

/// The least squared distance from (x, y) to a white pixel, by looking at all of them.
fn nearest(white: &[(i64, i64)], x: usize, y: usize, radius: u32) -> Option<usize> {
    let (x, y) = (x as i64, y as i64);
    let least = white
        .iter()
        .map(|(wx, wy)| (wx - x).pow(2) + (wy - y).pow(2))
        .min()?;
    (least <= i64::from(radius).pow(2)).then_some(least as usize)
}

/// A profile whose neighbouring entries differ.
fn profile<S: Sample>(radius: u32) -> Vec<S> {
    (0..=(radius as usize).pow(2))
        .map(|a| S::from_u16((a * 7919 % 251 + 3) as u16))
        .collect()
}

/// How the mask is handed over.
#[derive(Clone, Copy, Debug)]
enum Feeding {
    Whole,
    Rows,
    /// In chunks of two rows, black rows by their number.
    Chunks,
    /// Rows without the black columns at their sides.
    Parts,
}

fn feed<S: Sample>(transform: &mut Transform<'_>, mask: View<'_, S>, feeding: Feeding) {
    match feeding {
        Feeding::Whole => transform.push(mask),
        Feeding::Rows => (0..mask.height()).for_each(|y| transform.push(mask.part(0, y, mask.width(), 1))),
        Feeding::Parts => (0..mask.height()).for_each(|y| {
            let white = |sample: &S| *sample != S::ZERO;
            let left = mask.row(y).iter().position(white).unwrap_or(0);
            let right = mask.row(y).iter().rposition(white).map_or(left, |last| last + 1);
            transform.push_part(mask.part(left, y, right - left, 1), left);
        }),
        Feeding::Chunks => {
            for y in (0..mask.height()).step_by(2) {
                let rows = mask.part(0, y, mask.width(), 2.min(mask.height() - y));
                if rows.rows().all(|row| row.iter().all(|sample| *sample == S::ZERO)) {
                    transform.push_black(rows.height());
                } else {
                    transform.push(rows);
                }
            }
        }
    }
}

/// White pixels in the coordinates of the tile; those outside of the mask are left out.
fn transforms<S: Sample>(size: (usize, usize), radius: u32, white: &[(i64, i64)], feeding: Feeding) {
    let r = i64::from(radius);
    let columns = (size.0 + 2 * radius as usize, size.1 + 2 * radius as usize);
    let white: Vec<(i64, i64)> = white
        .iter()
        .copied()
        .filter(|(x, y)| (-r..size.0 as i64 + r).contains(x) && (-r..size.1 as i64 + r).contains(y))
        .collect();
    let mut samples = vec![S::ZERO; columns.0 * columns.1];
    for (k, (x, y)) in white.iter().enumerate() {
        let value = [S::MAX, S::from_u16(1)][k % 2];
        samples[(y + r) as usize * columns.0 + (x + r) as usize] = value;
    }
    let mask = View::packed(&samples, columns.0, columns.1);
    let profile = profile::<S>(radius);
    let beyond = S::from_u16(1);
    Isa::each(|| {
        let mut scratch = vec![0x0102_0304_0506_0708; scratch_words(size.0, size.1, radius)];
        let mut transform = Transform::new(size.0, size.1, radius, &mut scratch);
        feed(&mut transform, mask, feeding);
        let mut out = Canvas::<S>::poisoned(size);
        transform.finish(&profile, beyond, out.view());
        out.assert_is(|x, y| nearest(&white, x, y, radius).map_or(beyond, |a| profile[a]));
    });
}

fn feeding() -> impl Strategy<Value = Feeding> {
    prop_oneof![
        Just(Feeding::Whole),
        Just(Feeding::Rows),
        Just(Feeding::Chunks),
        Just(Feeding::Parts)
    ]
}

/// White pixels around the tile, few or many.
fn white(reach: i64) -> impl Strategy<Value = Vec<(i64, i64)>> {
    let some = move |count| prop::collection::vec((-reach..reach + 150, -reach..reach + 30), count);
    prop_oneof![some(0..4), some(0..40), some(100..300)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn small_radii_find_the_nearest_white_pixel(
        size in (0..150_usize, 0..30_usize), radius in 0_u32..=17, white in white(20), feeding in feeding(),
    ) {
        transforms::<u8>(size, radius, &white, feeding);
        transforms::<u16>(size, radius, &white, feeding);
    }

    #[test]
    fn middle_radii_find_the_nearest_white_pixel(
        size in (1..150_usize, 1..20_usize),
        radius in prop_oneof![18_u32..120, 63_u32..=66, 252_u32..=257], white in white(260), feeding in feeding(),
    ) {
        transforms::<u8>(size, radius, &white, feeding);
        transforms::<u16>(size, radius, &white, feeding);
    }

    #[test]
    fn radii_larger_than_the_tile_find_the_nearest_white_pixel(
        size in (1..150_usize, 1..20_usize), radius in 255_u32..700, white in white(700), feeding in feeding(),
    ) {
        transforms::<u8>(size, radius, &white, feeding);
        transforms::<u16>(size, radius, &white, feeding);
    }
}

#[test]
fn the_greatest_radius_finds_single_pixels() {
    let r = i64::from(MAX_RADIUS);
    for white in [
        vec![(-r, 0)],
        vec![(2, -r), (60, r + 2)],
        vec![(r + 69, 1), (-r, 2)],
        vec![(-2500, -3200), (4000, 900), (-2400, 3200)],
        vec![],
    ] {
        transforms::<u8>((70, 3), MAX_RADIUS, &white, Feeding::Chunks);
    }
}

#[test]
fn the_circle_of_the_radius_is_inside_and_its_outside_is_beyond() {
    for radius in [0, 1, 5, 15, 16, 25, 65, 254, 255, 325] {
        transforms::<u8>(
            (2 * radius + 5, 1),
            radius as u32,
            &[(radius as i64 + 2, 0)],
            Feeding::Whole,
        );
    }
}

#[test]
fn a_mask_all_white_is_nowhere_away_from_white() {
    for radius in [0, 3, 40, 300] {
        let mask = Canvas::<u16>::of((70 + 2 * radius, 9 + 2 * radius), |_, _| 5);
        let mut scratch = vec![0; scratch_words(70, 9, radius as u32)];
        let mut out = Canvas::<u16>::poisoned((70, 9));
        bounded(
            mask.read(),
            radius as u32,
            &profile(radius as u32),
            1,
            out.view(),
            &mut scratch,
        );
        out.assert_is(|_, _| profile(0)[0]);
    }
}

#[test]
fn rows_that_are_not_handed_over_are_black() {
    let mut scratch = vec![0; scratch_words(4, 4, 2)];
    let mut transform = Transform::new(4, 4, 2, &mut scratch);
    let mut row = [0_u8; 8];
    row[2] = 1;
    transform.push_black(2);
    transform.push(View::packed(&row, 8, 1));
    let mut out = Canvas::<u8>::poisoned((4, 4));
    transform.finish(&[10, 11, 12, 13, 14], 99, out.view());
    out.assert_is(|x, y| [10, 11, 12, 13, 14].get(x * x + y * y).copied().unwrap_or(99));
}

#[test]
#[should_panic(expected = "rows of a mask")]
fn more_rows_than_the_mask_has_are_refused() {
    let mut scratch = vec![0; scratch_words(4, 4, 2)];
    Transform::new(4, 4, 2, &mut scratch).push_black(9);
}

#[test]
#[should_panic(expected = "of a mask of 8 columns")]
fn columns_beside_the_mask_are_refused() {
    let mut scratch = vec![0; scratch_words(4, 4, 2)];
    Transform::new(4, 4, 2, &mut scratch).push_part(View::packed(&[0_u8; 5], 5, 1), 4);
}

#[test]
#[should_panic(expected = "entries of a profile")]
fn a_profile_of_another_radius_is_refused() {
    let mut scratch = vec![0; scratch_words(4, 4, 2)];
    Transform::new(4, 4, 2, &mut scratch).finish(&[0_u8; 4], 0, Canvas::<u8>::poisoned((4, 4)).view());
}

#[test]
fn no_memory_would_do_for_a_tile_without_bounds() {
    assert_eq!(scratch_words(usize::MAX, 1, 1), usize::MAX);
    assert_eq!(scratch_words(1 << 29, usize::MAX, 1), usize::MAX);
    assert_eq!(scratch_words(1, 1, MAX_RADIUS + 1), usize::MAX);
}
