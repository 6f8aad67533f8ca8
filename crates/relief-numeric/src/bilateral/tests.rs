//! The grid against its definition in f64, pixel by pixel.

use proptest::prelude::*;

use super::cpu::{Filter, bilateral, grid_len};
use super::{Bilateral, BilateralError, Level};

/// The definition: sums over all pixels, with the weights of splat, blur and slice multiplied out.
fn defined<T: Level>(job: Bilateral, image: &[T], pitch: usize) -> Vec<f64> {
    let (s, r) = (i64::from(job.spatial), i64::from(job.range));
    let binomial = |d: i64| {
        [6.0, 4.0, 1.0]
            .get(d.unsigned_abs() as usize)
            .copied()
            .unwrap_or(0.0)
    };
    // The weight of a cell for a place: of both cells around it, by the distance, blurred.
    let reach = |place: i64, step: i64, cell: i64| {
        let (low, part) = (place / step, (place % step) as f64 / step as f64);
        (1.0 - part) * binomial(low - cell) + part * binomial(low + 1 - cell)
    };
    let pixels = || (0..i64::from(job.height)).flat_map(|y| (0..i64::from(job.width)).map(move |x| (x, y)));
    let level = |(x, y): (i64, i64)| i64::from(image[y as usize * pitch + x as usize].level());
    let of = |at: (i64, i64)| {
        let (mut sum, mut count) = (0.0, 0.0);
        for other in pixels() {
            let weight = reach(at.0, s, (other.0 + s / 2) / s)
                * reach(at.1, s, (other.1 + s / 2) / s)
                * reach(level(at), r, (level(other) + r / 2) / r);
            sum += weight * level(other) as f64;
            count += weight;
        }
        sum / count
    };
    pixels().map(of).collect()
}

fn filtered<T: Level + Default>(job: Bilateral, image: &[T], pitch: usize) -> Vec<T> {
    let filter = Filter::new::<T>(job).unwrap();
    let mut output = vec![T::default(); image.len()];
    let mut scratch = vec![0.0; 2 * grid_len(filter.cells()) + filter.row_len()];
    let mut counts = vec![0; filter.row_len()];
    bilateral(job, image, &mut output, pitch, &mut scratch, &mut counts).unwrap();
    output
}

fn agrees<T: Level + Default + std::fmt::Debug>(job: Bilateral, image: &[T], pitch: usize, tolerance: f64) {
    let got = filtered(job, image, pitch);
    let rows = got.chunks(pitch).flat_map(|row| &row[..job.width as usize]);
    for (i, (got, want)) in rows.zip(defined(job, image, pitch)).enumerate() {
        let off = (f64::from(got.level()) - want).abs();
        assert!(off <= tolerance, "pixel {i} of {job:?}: {got:?}, not {want}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn bytes_agree_with_the_definition(
        (width, height) in (1_u32..24, 1_u32..24),
        spatial in 1_u32..20,
        range in 2_u32..200,
        values in prop::collection::vec(any::<u8>(), 24 * 24),
    ) {
        let job = Bilateral { width, height, spatial, range };
        agrees(job, &values, 24, 0.5001);
    }

    #[test]
    fn words_and_floats_agree_with_the_definition(
        (width, height) in (1_u32..16, 1_u32..16),
        spatial in 1_u32..20,
        part in 4_u32..40,
        values in prop::collection::vec(any::<u16>(), 16 * 16),
    ) {
        let job = Bilateral { width, height, spatial, range: 65_535 / part };
        agrees(job, &values, 16, 0.6);
        let floats: Vec<f32> = values.iter().map(|v| f32::from(*v) / 65_535.0).collect();
        agrees(Bilateral { range: (1 << 19) / part, ..job }, &floats, 16, 2.0);
    }
}

#[test]
fn a_constant_picture_stays_and_an_edge_higher_than_the_deviation_stays_sharp() {
    let job = Bilateral {
        width: 40,
        height: 30,
        spatial: 8,
        range: 10,
    };
    assert_eq!(filtered(job, &[77_u8; 1_200], 40), vec![77; 1_200]);
    let edge: Vec<u8> = (0..1_200).map(|i| if i % 40 < 20 { 20 } else { 220 }).collect();
    assert_eq!(filtered(job, &edge, 40), edge);
}

#[test]
fn floats_outside_their_range_and_what_is_no_number_are_taken_into_it() {
    let job = Bilateral {
        width: 3,
        height: 1,
        spatial: 1,
        range: 1 << 16,
    };
    let output = filtered(job, &[f32::NAN, f32::INFINITY, -3.0], 3);
    assert!(output.iter().all(|v| (0.0..=1.0).contains(v)), "{output:?}");
    assert!(
        output[0] < 0.01 && output[1] > 0.99 && output[2] < 0.01,
        "{output:?}"
    );
}

#[test]
fn deviations_out_of_range_are_refused() {
    let job = Bilateral {
        width: 10,
        height: 10,
        spatial: 0,
        range: 10,
    };
    assert_eq!(job.cells(255), Err(BilateralError::Spatial(0)));
    assert_eq!(
        Bilateral { spatial: 65, ..job }.cells(255),
        Err(BilateralError::Spatial(65))
    );
    let job = Bilateral { spatial: 1, ..job };
    assert!(job.cells(255).is_ok());
    let too_fine = Bilateral { range: 257, ..job };
    assert_eq!(
        too_fine.cells(65_535),
        Err(BilateralError::Range {
            range: 257,
            least: 258,
            greatest: 65_535
        })
    );
    let huge = Bilateral {
        width: u32::MAX,
        height: u32::MAX,
        ..job
    };
    assert!(matches!(huge.cells(255), Err(BilateralError::Cells(_))));
}
