use super::Kind;
use super::cpu::*;
use relief_kernels::isa::Isa;

fn numbers(len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect()
}

/// One after the other.
fn plain<T: Scannable>(kind: Kind, values: &[T]) -> Vec<T::Sum> {
    let mut sum = T::Sum::default();
    let next = |value: &T| {
        let before = sum;
        sum = T::plus(sum, value.one());
        match kind {
            Kind::Inclusive => sum,
            Kind::Exclusive => before,
        }
    };
    values.iter().map(next).collect()
}

const LENGTHS: [usize; 10] = [0, 1, 2, 15, 16, 17, 2_047, 2_048, 5_000, 1_200_003];

fn scans<T: Scannable>(values: impl Fn(usize) -> Vec<T>) {
    for len in LENGTHS {
        let values = values(len);
        for kind in [Kind::Inclusive, Kind::Exclusive] {
            let expected = plain(kind, &values);
            Isa::each(|| {
                let mut out = vec![T::Sum::default(); len];
                scan(kind, &values, &mut out);
                assert_eq!(out, expected, "{len}");
            });
            assert_eq!(by_threads(kind, &values), expected, "{len} by threads");
        }
    }
}

/// What three threads find, both where sums begin with a line of the caches and where they do not.
fn by_threads<T: Scannable>(kind: Kind, values: &[T]) -> Vec<T::Sum> {
    let mut held = vec![T::Sum::default(); values.len() + 32];
    let line = held.as_ptr().align_offset(64);
    let mut found = [line, line + 1].map(|start| {
        let out = &mut held[start..start + values.len()];
        let shared = Shared::new(kind, values, out);
        std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(|| shared.work()))));
        out.to_vec()
    });
    assert_eq!(found[0], found[1]);
    std::mem::take(&mut found[0])
}

#[test]
fn sums_of_integers_wrap_around() {
    scans(numbers);
    scans(|len| numbers(len).into_iter().map(|n| n.cast_signed()).collect());
    scans(|len| numbers(len).into_iter().map(|n| (n >> 9) as u8).collect());
    scans(|len| numbers(len).into_iter().map(|n| (n >> 9) as u16).collect());
}

#[test]
fn sums_of_floats_are_near_and_have_the_same_bits_with_all_vectors_and_in_parts() {
    for len in LENGTHS {
        let values: Vec<f32> = numbers(len).into_iter().map(|n| (n >> 16) as f32).collect();
        for kind in [Kind::Inclusive, Kind::Exclusive] {
            let mut first: Option<Vec<f32>> = None;
            Isa::each(|| {
                let mut out = vec![0.0; len];
                scan(kind, &values, &mut out);
                let expected = first.get_or_insert(out.clone());
                assert_eq!(out, *expected, "{len}");
            });
            let first = first.unwrap();
            let mut sum = 0.0_f64;
            for (value, found) in values.iter().zip(&first) {
                let exact = if kind == Kind::Inclusive {
                    sum + f64::from(*value)
                } else {
                    sum
                };
                assert!(
                    (f64::from(*found) - exact).abs() <= 1e-5 * exact,
                    "{found} is not {exact}"
                );
                sum += f64::from(*value);
            }
            let mut before = vec![0.0; len.div_ceil(BLOCK)];
            block_sums(&values, &mut before);
            sums_before::<f32>(0.0, &mut before);
            let mut out = vec![0.0; len];
            let middle = before.len() / 2;
            let (a, b) = values.split_at((middle * BLOCK).min(len));
            let (out_a, out_b) = out.split_at_mut(a.len());
            scan_blocks(kind, a, &before[..middle], out_a);
            scan_blocks(kind, b, &before[middle..], out_b);
            assert_eq!(out, first, "{len} in parts");
            assert_eq!(by_threads(kind, &values), first, "{len} by threads");
        }
    }
}
