use proptest::prelude::*;
use relief_raster::Sample;

use super::Fold;
use super::cpu::{fold, fold_uniform};
use crate::canvas::Canvas;
use crate::isa::Isa;

/// The folds as the design language defines them, in integers that cannot overflow.
fn meaning(op: Fold, acc: i64, v: i64, max: i64) -> i64 {
    match op {
        Fold::Base => v,
        Fold::Add => (acc + v).clamp(0, max),
        Fold::Subtract => (acc - v).clamp(0, max),
        Fold::Multiply => (acc * v + max / 2) / max,
        Fold::Mean => (acc + v + 1) / 2,
        Fold::Max => std::cmp::max(acc, v),
        Fold::Min => std::cmp::min(acc, v),
        Fold::Over => [v, acc][usize::from(v == 0)],
        Fold::Mask => [acc, 0][usize::from(v == 0)],
    }
}

fn expected<S: Sample>(op: Fold, acc: S, v: S) -> S {
    let wide = |s: S| i64::from(s.to_u16());
    S::from_u16(u16::try_from(meaning(op, wide(acc), wide(v), wide(S::MAX))).unwrap())
}

fn rows_fold_as_samples_do<S: Sample>(size: (usize, usize), acc: &[S], v: &[S]) {
    let pick = |from: &[S], x: usize, y: usize| from[(y * size.0 + x) % from.len()];
    Isa::each(|| {
        for op in Fold::ALL {
            let source = Canvas::of(size, |x, y| pick(v, x, y));
            let mut out = Canvas::of(size, |x, y| pick(acc, x, y));
            fold(op, out.view(), source.read());
            out.assert_is(|x, y| expected(op, pick(acc, x, y), pick(v, x, y)));

            let mut out = Canvas::of(size, |x, y| pick(acc, x, y));
            fold_uniform(op, out.view(), v[0]);
            out.assert_is(|x, y| expected(op, pick(acc, x, y), v[0]));
        }
    });
}

#[test]
fn all_pairs_of_bytes_fold_as_defined() {
    let size = (256, 256);
    Isa::each(|| {
        for op in Fold::ALL {
            let v = Canvas::<u8>::of(size, |x, _| x as u8);
            let mut acc = Canvas::<u8>::of(size, |_, y| y as u8);
            fold(op, acc.view(), v.read());
            acc.assert_is(|x, y| expected(op, y as u8, x as u8));
        }
        for op in Fold::ALL {
            for v in [0, 1, 127, 128, 254, 255] {
                let mut acc = Canvas::<u8>::of((256, 1), |x, _| x as u8);
                fold_uniform(op, acc.view(), v);
                acc.assert_is(|x, _| expected(op, x as u8, v));
            }
        }
    });
    for (a, b) in (0..=255_u8).flat_map(|a| (0..=255_u8).map(move |b| (a, b))) {
        for op in Fold::ALL {
            assert_eq!(op.apply(a, b), expected(op, a, b));
        }
    }
}

/// A product changes its quotient by M only where it crosses a multiple of M: every factor is tried where the rounded
/// product is about to change, at both ends and in the middle.
#[test]
fn products_of_words_round_where_they_should() {
    let mut acc = Vec::new();
    let mut v = Vec::new();
    for a in 1..=65_535_u32 {
        for quotient in [1, a / 2, a] {
            // The least v with a·v + 32 767 ≥ quotient·65 535.
            let threshold = (u64::from(quotient) * 65_535)
                .saturating_sub(32_767)
                .div_ceil(u64::from(a));
            for b in [threshold.saturating_sub(1), threshold] {
                acc.push(a as u16);
                v.push(b.min(65_535) as u16);
            }
        }
    }
    let size = (acc.len(), 1);
    Isa::each(|| {
        let source = Canvas::of(size, |x, _| v[x]);
        let mut out = Canvas::of(size, |x, _| acc[x]);
        fold(Fold::Multiply, out.view(), source.read());
        out.assert_is(|x, _| expected(Fold::Multiply, acc[x], v[x]));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rows_of_any_length_fold_as_samples_do(
        width in 0..150_usize, height in 0..4_usize,
        acc in prop::collection::vec(any::<u16>(), 97), v in prop::collection::vec(any::<u16>(), 89),
    ) {
        let v: Vec<u16> = v.iter().map(|v| if v % 3 == 0 { 0 } else { *v }).collect();
        rows_fold_as_samples_do::<u16>((width, height), &acc, &v);
        let bytes = |words: &[u16]| words.iter().map(|w| *w as u8).collect::<Vec<_>>();
        rows_fold_as_samples_do::<u8>((width, height), &bytes(&acc), &bytes(&v));
    }

    #[test]
    fn words_fold_alone_as_defined(acc: u16, v: u16) {
        for op in Fold::ALL {
            prop_assert_eq!(op.apply(acc, v), expected(op, acc, v));
        }
    }
}

#[test]
#[should_panic(expected = "different sizes")]
fn views_of_different_sizes_are_refused() {
    let mut acc = Canvas::<u8>::poisoned((3, 3));
    fold(Fold::Add, acc.view(), Canvas::<u8>::poisoned((3, 4)).read());
}
