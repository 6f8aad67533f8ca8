use proptest::prelude::*;

use super::cpu::{Morphology, Sample};
use super::{FunctionError, MAX_HEIGHT, MAX_RADIUS, Operator, StructuringFunction};
use crate::matrix::{Matrix, MatrixMut};
use crate::stencil;
use relief_kernels::isa::Isa;

const OPERATORS: [Operator; 2] = [Operator::Dilation, Operator::Erosion];

/// Sizes that end groups, tiles and windows in every way.
const SIZES: [(usize, usize); 9] = [
    (1, 1),
    (2, 40),
    (300, 1),
    (33, 7),
    (64, 64),
    (65, 5),
    (259, 33),
    (513, 6),
    (4_103, 3),
];

/// What lies between rows of results.
const GAP: usize = 3;

fn numbers<T>(len: usize, seed: u64, pick: impl Fn(u32) -> T) -> Vec<T> {
    let mix = |i: u64| {
        (i ^ seed)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(23)
            .wrapping_mul(0xBF58_476D_1CE4_E5B9)
    };
    (0..len as u64).map(|i| pick((mix(i) >> 32) as u32)).collect()
}

/// The result of some rows, in memory whose rows are further apart than they are long.
fn rows_of<S: Sample>(
    operator: Operator,
    function: &StructuringFunction<S::Height>,
    samples: &[S],
    width: usize,
    rows: std::ops::Range<usize>,
) -> Vec<S> {
    let morphology = Morphology::<S>::new(operator, function);
    let picture = Matrix::new(samples, samples.len() / width, width, width).unwrap();
    let pitch = width + GAP;
    let mut out = vec![samples[0]; rows.len() * pitch];
    let mut scratch = vec![0x5EED_CAFE_5EED_CAFE; morphology.scratch_words(width)];
    let result = MatrixMut::new(&mut out, rows.len(), width, pitch).unwrap();
    morphology.apply(picture, rows, result, &mut scratch).unwrap();
    let gaps = out.chunks(pitch).flat_map(|row| &row[width..]);
    assert!(gaps.copied().all(|sample| sample == samples[0]), "between rows");
    out.chunks(pitch).flat_map(|row| &row[..width]).copied().collect()
}

fn all_of<S: Sample>(
    operator: Operator,
    function: &StructuringFunction<S::Height>,
    samples: &[S],
    width: usize,
) -> Vec<S> {
    rows_of(operator, function, samples, width, 0..samples.len() / width)
}

/// By the definition: the sums that count at (x, y), of a picture as numbers of `N`.
fn sums<N: Copy, H: super::Height>(
    operator: Operator,
    function: &StructuringFunction<H>,
    picture: &[N],
    width: usize,
    (x, y): (usize, usize),
    sum: impl Fn(N, H) -> N,
) -> Vec<N> {
    let reach = function.radius() as i32;
    let height = (picture.len() / width) as i32;
    let mut sums = Vec::new();
    for t in -reach..=reach {
        for s in -reach..=reach {
            let sign = if operator == Operator::Dilation { -1 } else { 1 };
            let (column, row) = (x as i32 + sign * s, y as i32 + sign * t);
            let inside = (0..width as i32).contains(&column) && (0..height).contains(&row);
            if let (true, Some(b)) = (inside, function.height(s, t)) {
                sums.push(sum(picture[row as usize * width + column as usize], b));
            }
        }
    }
    sums
}

/// The definition for whole numbers from 0 to `most`.
fn whole(
    operator: Operator,
    function: &StructuringFunction<i32>,
    picture: &[i64],
    width: usize,
    most: i64,
) -> Vec<i64> {
    let places = (0..picture.len()).map(|place| (place % width, place / width));
    let of = |place| {
        let sign = if operator == Operator::Dilation { 1 } else { -1 };
        let sums = sums(operator, function, picture, width, place, |f, b: i32| {
            f + sign * i64::from(b)
        });
        let (least, greatest) = (sums.iter().min(), sums.iter().max());
        match operator {
            Operator::Dilation => greatest.copied().unwrap_or(0),
            Operator::Erosion => least.copied().unwrap_or(most),
        }
        .clamp(0, most)
    };
    places.map(of).collect()
}

/// Functions with the highest at the origin and elsewhere, above 0 and below, with and without holes, separable and not.
fn functions() -> Vec<StructuringFunction<i32>> {
    let square = |radius: u32, pick: fn(u32) -> Option<i32>| {
        let side = 2 * radius as usize + 1;
        StructuringFunction::new(radius, &numbers(side * side, u64::from(radius), pick)).unwrap()
    };
    let mut dome = vec![None; 49];
    for (place, height) in dome.iter_mut().enumerate() {
        let (s, t) = (place as i32 % 7 - 3, place as i32 / 7 - 3);
        *height = (s * s + t * t < 12).then_some(40 - 3 * s * s - 5 * t * t);
    }
    let mut corner = vec![None; 25];
    corner[3] = Some(7);
    let holes = |heights: [i32; 5]| heights.map(|height| (height != 9_999).then_some(height));
    vec![
        square(0, |_| Some(-3)),
        square(1, |bits| Some((bits % 21).cast_signed() - 20)),
        square(2, |bits| (bits % 3 > 0).then_some((bits % 99).cast_signed() - 40)),
        square(3, |bits| {
            (bits % 9 == 0).then_some((bits % 999).cast_signed() - 1_040)
        }),
        square(2, |bits| match bits % 4 {
            0 => Some(MAX_HEIGHT),
            1 => Some(-MAX_HEIGHT),
            _ => Some((bits % 512).cast_signed() - 256),
        }),
        StructuringFunction::new(3, &dome).unwrap(),
        StructuringFunction::new(2, &corner).unwrap(),
        StructuringFunction::flat(4).unwrap(),
        StructuringFunction::paraboloid(5, 2).unwrap(),
        StructuringFunction::separable(
            2,
            &holes([1, 9_999, 300, -70, 9_999]),
            &holes([-9, 40, 9_999, 2, 60]),
        )
        .unwrap(),
        StructuringFunction::separable(2, &holes([-5, -1, 0, -2, -8]), &holes([-300, 9_999, 0, -1, -1]))
            .unwrap(),
    ]
}

fn follows_the_definition<S: Sample<Height = i32> + Into<i64>>(pick: impl Fn(u32) -> S, most: i64) {
    for function in functions() {
        for (width, height) in SIZES {
            let samples = numbers(width * height, 5, &pick);
            let picture: Vec<i64> = samples.iter().map(|sample| (*sample).into()).collect();
            for operator in OPERATORS {
                let expected = whole(operator, &function, &picture, width, most);
                Isa::each(|| {
                    let found = all_of(operator, &function, &samples, width);
                    let found: Vec<i64> = found.into_iter().map(Into::into).collect();
                    assert!(
                        found == expected,
                        "{operator:?} of {width} × {height} by {function:?} with {:?}",
                        Isa::best()
                    );
                });
            }
        }
    }
}

#[test]
fn bytes_follow_the_definition() {
    follows_the_definition(|bits| [0, 255, bits as u8, bits as u8][bits as usize >> 30], 255);
}

#[test]
fn short_integers_follow_the_definition() {
    follows_the_definition(
        |bits| [0, 65_535, bits as u16, bits as u16 >> 6][bits as usize >> 30],
        65_535,
    );
}

/// Of numbers whose sums are not exact.
#[test]
fn floats_are_sums_rounded_once_and_twice_where_the_function_is_separable() {
    let of = |bits: u32| (f64::from(bits) / 1e6 - 2_000.0) as f32;
    let given = |bits: u32| (bits % 5 > 0).then_some(of(bits));
    for radius in [0, 1, 4, MAX_RADIUS] {
        let side = 2 * radius as usize + 1;
        let (across, down) = (numbers(side, 1, of), numbers(side, 2, of));
        let some = |heights: &[f32]| -> Vec<Option<f32>> { heights.iter().copied().map(Some).collect() };
        let square = StructuringFunction::new(radius, &numbers(side * side, 3, given)).unwrap();
        let sum = StructuringFunction::separable(radius, &some(&across), &some(&down)).unwrap();
        // The places of a separable function, by their numbers.
        let places: Vec<_> = (0..side * side).map(|place| Some(place as f32)).collect();
        let places = StructuringFunction::new(radius, &places).unwrap();
        for (width, height) in [(1, 1), (70, 9), (131, 40)] {
            let samples = numbers(width * height, 4, of);
            for operator in OPERATORS {
                let twice = |f: f32, place: f32| {
                    let (s, t) = (across[place as usize % side], down[place as usize / side]);
                    if operator == Operator::Dilation {
                        f + s + t
                    } else {
                        f - s - t
                    }
                };
                let once = |f: f32, b: f32| {
                    if operator == Operator::Dilation {
                        f + b
                    } else {
                        f - b
                    }
                };
                let fold = |sums: Vec<f32>| match operator {
                    Operator::Dilation => sums.into_iter().fold(f32::NEG_INFINITY, f32::max),
                    Operator::Erosion => sums.into_iter().fold(f32::INFINITY, f32::min),
                };
                let places_of = |place: usize| (place % width, place / width);
                let all = 0..samples.len();
                let of_square: Vec<f32> = all
                    .clone()
                    .map(|place| fold(sums(operator, &square, &samples, width, places_of(place), once)))
                    .collect();
                let of_sum: Vec<f32> = all
                    .map(|place| fold(sums(operator, &places, &samples, width, places_of(place), twice)))
                    .collect();
                Isa::each(|| {
                    assert_eq!(all_of(operator, &square, &samples, width), of_square);
                    assert_eq!(all_of(operator, &sum, &samples, width), of_sum);
                });
            }
        }
    }
}

#[test]
fn infinite_samples_count_and_what_counts_nowhere_is_infinite() {
    let mut heights = [None; 9];
    heights[0] = Some(2.0);
    let corner = StructuringFunction::new(1, &heights).unwrap();
    let samples = [f32::INFINITY, 1.0, f32::NEG_INFINITY, 3.0];
    // f(x + 1, y + 1) + 2 and f(x − 1, y − 1) − 2.
    let none = f32::NEG_INFINITY;
    assert_eq!(
        all_of(Operator::Dilation, &corner, &samples, 2),
        [5.0, none, none, none]
    );
    let none = f32::INFINITY;
    assert_eq!(all_of(Operator::Erosion, &corner, &samples, 2), [none; 4]);
    let flat = StructuringFunction::flat(1).unwrap();
    assert_eq!(all_of(Operator::Dilation, &flat, &samples, 2), [f32::INFINITY; 4]);
    assert_eq!(
        all_of(Operator::Erosion, &flat, &samples, 2),
        [f32::NEG_INFINITY; 4]
    );
}

#[test]
fn flat_functions_are_the_stencils() {
    let (width, height) = (301, 37);
    let samples = numbers(width * height, 8, |bits| bits as u8);
    let shape = stencil::Shape {
        width,
        height,
        pitch: width,
    };
    for radius in [0, 1, 7, MAX_RADIUS] {
        let function = StructuringFunction::flat(radius).unwrap();
        for operator in OPERATORS {
            let filter = match operator {
                Operator::Dilation => stencil::Filter::Dilation(radius),
                Operator::Erosion => stencil::Filter::Erosion(radius),
            };
            let mut expected = vec![0; samples.len()];
            let mut scratch = vec![0; stencil::cpu::scratch_words(&filter)];
            let picture = stencil::cpu::Picture::new(&samples, shape).unwrap();
            stencil::cpu::apply(&filter, picture, 0..height, &mut expected, width, &mut scratch);
            assert!(
                all_of(operator, &function, &samples, width) == expected,
                "{filter:?}"
            );
        }
    }
}

#[test]
fn a_square_of_sums_is_found_to_be_separable_and_another_is_not() {
    for function in functions() {
        let side = 2 * function.radius() as i32 + 1;
        let at = |place: i32| function.height(place % side - side / 2, place / side - side / 2);
        let heights: Vec<_> = (0..side * side).map(at).collect();
        // Of heights beyond those of a square.
        let Ok(square) = StructuringFunction::new(function.radius(), &heights) else {
            continue;
        };
        assert!(!square.is_separable());
        let Some(separated) = square.separated() else {
            assert!(!function.is_separable() && function.radius() > 0);
            continue;
        };
        assert!(separated.is_separable());
        let reach = side / 2;
        for (s, t) in (-reach..=reach).flat_map(|t| (-reach..=reach).map(move |s| (s, t))) {
            assert_eq!(separated.height(s, t), function.height(s, t));
        }
    }
}

#[test]
fn functions_that_there_are_not_are_refused() {
    type Function = StructuringFunction<f32>;
    let some = [Some(1.0); 9];
    assert!(Function::new(1, &some).is_ok());
    assert_eq!(
        Function::flat(MAX_RADIUS + 1),
        Err(FunctionError::Radius {
            radius: MAX_RADIUS + 1
        })
    );
    assert!(matches!(
        Function::flat(u32::MAX),
        Err(FunctionError::Radius { .. })
    ));
    assert!(matches!(
        Function::new(2, &some),
        Err(FunctionError::Count {
            expected: 25,
            found: 9,
            ..
        })
    ));
    assert!(matches!(
        Function::separable(1, &some[..3], &some[..2]),
        Err(FunctionError::Count { .. })
    ));
    assert_eq!(Function::new(1, &[None; 9]), Err(FunctionError::Empty));
    for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(
            Function::new(0, &[Some(wrong)]),
            Err(FunctionError::Height { place: 0 })
        );
        assert!(Function::paraboloid(1, wrong).is_err());
    }
    for wrong in [MAX_HEIGHT + 1, -MAX_HEIGHT - 1, i32::MIN, i32::MAX] {
        let found = StructuringFunction::separable(0, &[Some(0)], &[Some(wrong)]);
        assert_eq!(found, Err(FunctionError::Height { place: 0 }));
        assert!(StructuringFunction::paraboloid(2, wrong).is_err());
    }
    assert_eq!(
        StructuringFunction::paraboloid(2, 3).unwrap().height(-2, 1),
        Some(-15)
    );
    assert_eq!(StructuringFunction::paraboloid(2, 3).unwrap().height(3, 0), None);
}

#[test]
fn what_does_not_fit_is_refused() {
    let function = StructuringFunction::flat(2).unwrap();
    let morphology = Morphology::<u8>::new(Operator::Dilation, &function);
    let samples = [0_u8; 60];
    let (mut out, mut scratch) = ([0_u8; 60], vec![0; morphology.scratch_words(10)]);
    let mut call = |rows, (out_rows, columns), words: usize| {
        let picture = Matrix::new(&samples, 6, 10, 10).unwrap();
        let out = MatrixMut::new(&mut out, out_rows, columns, columns).unwrap();
        morphology.apply(picture, rows, out, &mut scratch[..words])
    };
    let enough = morphology.scratch_words(10);
    assert!(call(0..6, (6, 10), enough).is_ok());
    assert!(call(3..3, (0, 10), enough).is_ok());
    assert!(call(0..6, (6, 10), enough - 1).is_err());
    assert!(call(0..6, (5, 10), enough).is_err());
    assert!(call(0..6, (6, 9), enough).is_err());
    assert!(call(1..7, (6, 10), enough).is_err());
    let empty = Matrix::new(&samples, 6, 0, 0).unwrap();
    let mut none = [];
    let out = MatrixMut::new(&mut none, 6, 0, 0).unwrap();
    assert!(morphology.apply(empty, 0..6, out, &mut scratch).is_ok());
}

/// Any function of radius 2, of whole numbers as `f32`, so that sums are exact.
fn any_function(seed: u64) -> StructuringFunction<f32> {
    let mut heights = numbers(25, seed, |bits| {
        (bits % 3 > 0).then_some((bits >> 8) as f32 % 64.0 - 40.0)
    });
    heights[seed as usize % 25] = Some(3.0);
    StructuringFunction::new(2, &heights).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// f ⊕ b ≤ g just where f ≤ g ⊖ b: so an opening lies below the picture, a closing above it, and both change nothing twice.
    #[test]
    fn dilation_and_erosion_are_adjoint(width in 1..40_usize, height in 1..12_usize, seed in any::<u64>()) {
        let function = any_function(seed);
        let f = numbers(width * height, seed, |bits| (bits >> 20) as f32 - 2_048.0);
        let dilate = |f: &[f32]| all_of(Operator::Dilation, &function, f, width);
        let erode = |f: &[f32]| all_of(Operator::Erosion, &function, f, width);
        let (opened, closed) = (dilate(&erode(&f)), erode(&dilate(&f)));
        prop_assert!(opened.iter().zip(&f).all(|(opened, f)| opened <= f));
        prop_assert!(closed.iter().zip(&f).all(|(closed, f)| closed >= f));
        prop_assert_eq!(&dilate(&erode(&opened)), &opened);
        prop_assert_eq!(&erode(&dilate(&closed)), &closed);
    }

    /// An erosion is the dilation upside down by the function about its origin.
    #[test]
    fn the_two_are_dual(width in 1..70_usize, height in 1..9_usize, seed in any::<u64>()) {
        let heights = numbers(49, seed, |bits| (bits % 4 > 0).then_some((bits >> 8 & 127).cast_signed() - 90));
        prop_assume!(heights.iter().any(Option::is_some));
        let about: Vec<_> = heights.iter().rev().copied().collect();
        let (function, about) = (StructuringFunction::new(3, &heights).unwrap(), StructuringFunction::new(3, &about).unwrap());
        let f = numbers(width * height, seed ^ 1, |bits| bits as u8);
        let upside_down: Vec<u8> = f.iter().map(|sample| 255 - sample).collect();
        let dilated = all_of(Operator::Dilation, &about, &upside_down, width);
        let expected: Vec<u8> = dilated.iter().map(|sample| 255 - sample).collect();
        prop_assert_eq!(all_of(Operator::Erosion, &function, &f, width), expected);
    }

    /// Rows that are computed apart are those that are computed together.
    #[test]
    fn rows_do_not_depend_on_others(seed in any::<u64>(), cut in 0..30_usize) {
        let function = StructuringFunction::paraboloid(3, 4).unwrap();
        let width = 300;
        let f = numbers(width * 29, seed, |bits| bits as u16);
        let cut = cut.min(29);
        let mut parts = rows_of(Operator::Dilation, &function, &f, width, 0..cut);
        parts.extend(rows_of(Operator::Dilation, &function, &f, width, cut..29));
        prop_assert!(parts == all_of(Operator::Dilation, &function, &f, width));
    }
}
