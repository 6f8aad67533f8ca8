use proptest::prelude::*;

use super::cpu::{
    BLOCK, SCRATCH_WORDS, Shared, Wanted, count, indices, partition, runs, runs_of_rows, select,
};
use crate::element::{Keys, Number};
use relief_kernels::isa::Isa;

/// Elements of which about so many of 100 are not 0.
fn elements<T: Number>(len: usize, percent: u64, of: impl Fn(u64) -> T, zero: T) -> Vec<T> {
    let mut state = len as u64 + percent;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    (0..len)
        .map(|_| if next() % 100 < percent { of(next()) } else { zero })
        .collect()
}

/// Everything that is selected from these elements is what the definition says.
fn selections_hold<T: Number + Default>(from: &[T], is_set: impl Fn(&T) -> bool) {
    let flags: Vec<u8> = (0..from.len())
        .map(|i| if i * 7 % 5 < 2 { (i | 1) as u8 } else { 0 })
        .collect();
    // Between two of them, both of them too, in the order of all.
    let ends = || (from.get(from.len() / 3), from.last());
    let ordered = |a: &T, b: &T| if a.key() <= b.key() { (*a, *b) } else { (*b, *a) };
    let (least, greatest) = match ends() {
        (Some(a), Some(b)) => ordered(a, b),
        _ => (T::default(), T::default()),
    };
    let within = Keys::within(least, greatest).unwrap();
    let outside = Keys::outside(least, greatest);
    let ranges = [Some(within), outside].into_iter().flatten().map(Wanted::Within);
    for wanted in [Wanted::NonZero, Wanted::Flagged(&flags)]
        .into_iter()
        .chain(ranges)
    {
        let between = |value: &T| (least.key()..=greatest.key()).contains(&value.key());
        let keep = |i: &usize| match wanted {
            Wanted::NonZero => is_set(&from[*i]),
            Wanted::Flagged(flags) => flags[*i] != 0,
            Wanted::Within(keys) => between(&from[*i]) == (keys == within),
        };
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..from.len()).partition(keep);
        let at = |places: &[usize]| places.iter().map(|i| from[*i]).collect::<Vec<T>>();
        let same = |found: &[T], right: &[T]| {
            bytemuck::cast_slice::<T, u8>(found) == bytemuck::cast_slice::<T, u8>(right)
        };
        Isa::each(|| {
            let mut to = vec![T::default(); from.len() + 3];
            let kept = select(from, wanted, &mut to);
            assert!(same(&to[..kept], &at(&inside)), "{wanted:?} of {}", from.len());
            assert_eq!(count(from, wanted), inside.len() as u64);

            let mut places = vec![0; from.len()];
            let kept = indices(from, wanted, &mut places);
            assert!(
                places[..kept]
                    .iter()
                    .map(|i| *i as usize)
                    .eq(inside.iter().copied())
            );

            let mut left = vec![T::default(); from.len()];
            let kept = partition(from, wanted, &mut to, &mut left);
            assert!(same(&to[..kept], &at(&inside)) && same(&left[..from.len() - kept], &at(&outside)));
        });
        let len = from.len();
        let mut to = vec![T::default(); len];
        let kept = by_threads(&Shared::select(from, wanted, &mut to));
        assert!(same(&to[..kept], &at(&inside)), "{wanted:?} of {len} shared");

        let mut places = vec![0; len];
        let kept = by_threads(&Shared::indices(from, wanted, &mut places));
        let right = inside.iter().map(|i| *i as u32);
        assert!(right.eq(places[..kept].iter().copied()), "places of {len} shared");

        let mut left = vec![T::default(); len];
        let kept = by_threads(&Shared::partition(from, wanted, &mut to, &mut left));
        assert!(same(&to[..kept], &at(&inside)) && same(&left[..len - kept], &at(&outside)));
    }
}

/// What is kept by three threads.
fn by_threads<T: Number>(shared: &Shared<'_, T>) -> usize {
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| shared.work(&mut [0; SCRATCH_WORDS]));
        }
    });
    shared.kept()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_wanted_is_kept_in_order(len in 0..400_usize, percent in 0..=100_u64) {
        selections_hold(&elements(len, percent, |v| v as u8 | 1, 0), |v| *v != 0);
        selections_hold(&elements(len, percent, |v| (v as u16).max(1), 0), |v| *v != 0);
        selections_hold(&elements(len, percent, |v| v as u32 | 1, 0), |v| *v != 0);
        selections_hold(&elements(len, percent, |v| v as i32 | 1, 0), |v| *v != 0);
        selections_hold(&elements(len, percent, |v| v as f32 - 4.5, 0.0), |v| *v != 0.0);
    }

    #[test]
    fn rows_have_runs_of_their_own(bytes in prop::collection::vec(0..2_u8, 0..700), width in 1..300_usize) {
        let right: Vec<(u32, u8)> = (0..bytes.len())
            .filter(|i| i % width == 0 || bytes[*i] != bytes[i - 1])
            .map(|i| (i as u32, bytes[i]))
            .collect();
        Isa::each(|| {
            let (mut starts, mut values) = (vec![0; bytes.len()], vec![0; bytes.len()]);
            let count = runs_of_rows(&bytes, width, &mut starts, &mut values);
            let found = starts[..count].iter().copied().zip(values[..count].iter().copied());
            assert_eq!(found.collect::<Vec<_>>(), right);
        });
    }

    #[test]
    fn threads_find_the_same_runs(len in 0..5 * BLOCK, width in 1..30_000_usize, every in 1..400_usize) {
        let bytes: Vec<u8> = (0..len).map(|i| (i / every % 3) as u8).collect();
        let (mut starts, mut values) = (vec![0; len], vec![0; len]);
        let count = runs_of_rows(&bytes, width, &mut starts, &mut values);
        let (mut shared_starts, mut shared_values) = (vec![0; len], vec![0; len]);
        let shared = Shared::runs_of_rows(&bytes, width, &mut shared_starts, &mut shared_values);
        prop_assert_eq!(by_threads(&shared), count);
        prop_assert_eq!(&shared_starts[..count], &starts[..count]);
        prop_assert_eq!(&shared_values[..count], &values[..count]);
    }


    #[test]
    fn runs_begin_where_bytes_change(bytes in prop::collection::vec(0..3_u8, 0..200)) {
        let (mut starts, mut values) = (vec![0; bytes.len()], vec![0; bytes.len()]);
        let count = runs(&bytes, &mut starts, &mut values);
        let mut again = Vec::new();
        for k in 0..count {
            let end = if k + 1 < count { starts[k + 1] as usize } else { bytes.len() };
            assert!(k == 0 || values[k] != values[k - 1]);
            again.extend(std::iter::repeat_n(values[k], end - starts[k] as usize));
        }
        prop_assert_eq!(again, bytes);
    }
}

#[test]
fn many_blocks_are_kept_in_order_by_threads() {
    for percent in [1, 50, 100] {
        selections_hold(&elements(20 * BLOCK + 77, percent, |v| v as u32 | 1, 0), |v| {
            *v != 0
        });
    }
    // Enough that results take non-temporal stores.
    let from = elements((4 << 20) + 3, 60, |v| v as u8 | 1, 0);
    selections_hold(&from, |v| *v != 0);
}

#[test]
fn negative_zero_is_zero_and_what_is_no_number_is_not() {
    let from = [0.0, -0.0, f32::NAN, 1.0, f32::MIN_POSITIVE / 2.0];
    let mut to = [0.0; 5];
    assert_eq!(select(&from, Wanted::NonZero, &mut to), 3);
    assert!(to[0].is_nan() && to[1] == 1.0 && to[2] > 0.0);
}

#[test]
#[should_panic(expected = "all of the elements may be kept")]
fn a_result_shorter_than_the_input_is_refused() {
    select(&[1_u8, 2], Wanted::NonZero, &mut [0]);
}
