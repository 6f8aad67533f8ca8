use proptest::prelude::*;

use super::LIMIT;
use super::cpu::*;
use super::paths::{self, BLOCK, PathsError, shortest_paths, shortest_paths_by_squaring, squaring_len};
use crate::matrix::{Matrix, MatrixMut};
use relief_kernels::isa::Isa;

/// Sizes that end tiles, panels and blocks in every way.
const SIZES: [(usize, usize, usize); 10] = [
    (0, 3, 4),
    (1, 0, 3),
    (1, 1, 1),
    (8, 192, 48),
    (7, 193, 47),
    (9, 5, 49),
    (17, 400, 97),
    (3, 2, 200),
    (530, 3, 5),
    (64, 10, 1),
];

/// What lies between rows.
const GAP: usize = 3;

fn numbers<T: Length>(len: usize, seed: u64, pick: impl Fn(u32) -> T) -> Vec<T> {
    let mix = |i: u64| {
        (i ^ seed)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(23)
            .wrapping_mul(0xBF58_476D_1CE4_E5B9)
    };
    (0..len as u64).map(|i| pick((mix(i) >> 32) as u32)).collect()
}

/// The product of rows in memory that are further apart than they are long, and whether what is between them is as it was.
fn product<T: Length>((rows, inner, columns): (usize, usize, usize), a: &[T], b: &[T]) -> Vec<T> {
    let mut known = a.iter().chain(b).copied();
    #[allow(clippy::eq_op)]
    let untouched = known.find(|value| value == value).unwrap_or(T::INFINITY);
    let pitch = columns + GAP;
    let mut c = vec![untouched; rows * pitch];
    let mut scratch = vec![T::INFINITY; scratch_len::<T>(inner, columns)];
    let left = Matrix::new(a, rows, inner, inner).unwrap();
    let right = Matrix::new(b, inner, columns, columns).unwrap();
    let result = MatrixMut::new(&mut c, rows, columns, pitch).unwrap();
    min_plus(left, right, result, &mut scratch).unwrap();
    let gaps = c.chunks(pitch).flat_map(|row| &row[columns..]);
    assert!(gaps.copied().all(|value| value == untouched), "between rows");
    c.chunks(pitch).flat_map(|row| &row[..columns]).copied().collect()
}

fn holds<T: Length>(pick: impl Fn(u32) -> T, least: impl Fn(&mut dyn Iterator<Item = (T, T)>) -> T) {
    for size in SIZES {
        let (rows, inner, columns) = size;
        let a = numbers(rows * inner, 1, &pick);
        let b = numbers(inner * columns, 2, &pick);
        let expected: Vec<T> = (0..rows * columns)
            .map(|place| {
                let (i, j) = (place / columns, place % columns);
                least(&mut (0..inner).map(|k| (a[i * inner + k], b[k * columns + j])))
            })
            .collect();
        Isa::each(|| {
            assert!(
                product(size, &a, &b) == expected,
                "{size:?} with {:?}",
                Isa::best()
            )
        });
    }
}

#[test]
fn products_of_floats_follow_the_definition() {
    let pick = |bits: u32| match bits % 8 {
        0 => f32::INFINITY,
        _ => (bits >> 8) as f32 * 0.25 - 2e6,
    };
    holds(pick, |pairs| {
        pairs.map(|(a, b)| a + b).fold(f32::INFINITY, f32::min)
    });
}

#[test]
fn integers_saturate_and_no_path_stays_none() {
    let pick = |bits: u32| match bits % 8 {
        0 => i32::MAX,
        1 => i32::MIN + (bits >> 8).cast_signed(),
        2 => LIMIT - 1_000 + ((bits >> 8) % 2_000).cast_signed(),
        3 => -LIMIT - 1_000 + ((bits >> 8) % 2_000).cast_signed(),
        4 => (1 << 30) + ((bits >> 8) % 2_000).cast_signed(),
        _ => bits.cast_signed() >> 4,
    };
    let length = |value: i32| (value <= LIMIT).then_some(i64::from(value.max(-LIMIT)));
    let limit = i64::from(LIMIT);
    holds(pick, |pairs| {
        let sums = pairs.filter_map(|(a, b)| Some(length(a)? + length(b)?));
        let least = sums.min().filter(|least| *least <= limit);
        least.map_or(i32::MAX, |least| least.max(-limit) as i32)
    });
}

#[test]
fn short_integers_saturate() {
    let pick = |bits: u32| (bits >> 16) as u16 >> (bits % 3);
    holds(pick, |pairs| {
        pairs.map(|(a, b)| a.saturating_add(b)).min().unwrap_or(u16::MAX)
    });
}

#[test]
fn sums_that_are_no_numbers_are_passed_over() {
    let a = [f32::NAN, f32::NEG_INFINITY, 1.0, f32::NAN];
    let b = [1.0, f32::INFINITY, 2.0, f32::NAN];
    Isa::each(|| {
        assert_eq!(product((1, 4, 1), &a, &b), [3.0]);
        assert_eq!(product((1, 2, 1), &a[..2], &b[..2]), [f32::INFINITY]);
        assert_eq!(product((1, 1, 1), &a[1..2], &b[..1]), [f32::NEG_INFINITY]);
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    let numbers = vec![0.0_f32; 4 * LEFT_LEN];
    let (mut c, mut scratch) = (vec![0.0_f32; 12], vec![0.0_f32; 4 * LEFT_LEN]);
    let of = |rows, columns| Matrix::new(&numbers, rows, columns, columns).unwrap();
    let mut call = |left, right, (rows, columns), words: usize| {
        let result = MatrixMut::new(&mut c, rows, columns, columns).unwrap();
        min_plus(left, right, result, &mut scratch[..words])
    };
    let enough = scratch_len::<f32>(5, 4);
    assert!(call(of(3, 5), of(5, 4), (3, 4), enough).is_ok());
    assert!(call(of(3, 5), of(5, 4), (3, 4), enough - 1).is_err());
    assert!(call(of(3, 6), of(5, 4), (3, 4), enough).is_err());
    assert!(call(of(3, 5), of(5, 3), (3, 4), enough).is_err());
    assert!(call(of(2, 5), of(5, 4), (3, 4), enough).is_err());
    assert!(pack_block(of(INNER + 1, 1), &mut vec![0.0; packed_len::<f32>(INNER + 1, 1)]).is_err());
    assert!(pack_block(of(2, 1), &mut vec![0.0; packed_len::<f32>(2, 1) - 1]).is_err());
}

/// Shortest paths by relaxing every edge as often as there are vertices (Bellman and Ford), or nothing where that does not end.
fn relaxed(edges: &[i32], vertices: usize) -> Option<Vec<i32>> {
    let mut paths = Vec::new();
    for source in 0..vertices {
        let mut own: Vec<Option<i64>> = vec![None; vertices];
        own[source] = Some(0);
        let mut changed = true;
        for _ in 0..=vertices {
            changed = false;
            for (place, length) in edges
                .iter()
                .enumerate()
                .filter(|(_, length)| **length != i32::MAX)
            {
                let (from, to) = (place / vertices, place % vertices);
                let Some(sum) = own[from].map(|path| path + i64::from(*length)) else {
                    continue;
                };
                if own[to].is_none_or(|path| sum < path) {
                    own[to] = Some(sum);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        if changed {
            return None;
        }
        paths.extend(own.iter().map(|path| path.map_or(i32::MAX, |path| path as i32)));
    }
    Some(paths)
}

/// Edges of a graph: one in `sparse` there, of lengths from `least` on.
fn edges(vertices: usize, seed: u64, sparse: u32, least: i32) -> Vec<i32> {
    numbers(vertices * vertices, seed, |bits| match bits % sparse {
        0 => ((bits >> 8) % 1_000).cast_signed() + least,
        _ => i32::MAX,
    })
}

/// The paths by both ways, which agree.
fn paths_of<T: Length>(edges: &[T], vertices: usize) -> Result<Vec<T>, PathsError> {
    let pitch = vertices + GAP;
    let mut rows = vec![T::INFINITY; vertices * pitch];
    for (row, edges) in rows.chunks_mut(pitch).zip(edges.chunks(vertices.max(1))) {
        row[..vertices].copy_from_slice(edges);
    }
    let mut squared = rows.clone();
    let len = paths::scratch_len::<T>(vertices).max(squaring_len::<T>(vertices));
    let mut scratch = vec![T::INFINITY; len];
    let found = shortest_paths(&mut rows, vertices, pitch, &mut scratch);
    let by_squaring = shortest_paths_by_squaring(&mut squared, vertices, pitch, &mut scratch);
    assert_eq!(found.is_ok(), by_squaring.is_ok());
    found?;
    assert!(rows == squared, "blocks and squares differ");
    Ok(rows
        .chunks(pitch)
        .flat_map(|row| &row[..vertices])
        .copied()
        .collect())
}

#[test]
fn shortest_paths_are_those_of_relaxed_edges() {
    for (vertices, sparse, least) in [
        (0, 1, 0),
        (1, 1, 5),
        (2, 1, 3),
        (40, 3, 0),
        (BLOCK, 20, 10),
        (BLOCK + 1, 5, 0),
        (2 * BLOCK + 7, 60, 1),
    ] {
        let edges = edges(vertices, 7, sparse, least);
        let expected = relaxed(&edges, vertices).unwrap();
        Isa::each(|| {
            assert!(
                paths_of(&edges, vertices).unwrap() == expected,
                "{vertices} vertices"
            )
        });
        let floats: Vec<f32> = edges
            .iter()
            .map(|length| {
                if *length == i32::MAX {
                    f32::INFINITY
                } else {
                    *length as f32
                }
            })
            .collect();
        let expected: Vec<f32> = expected
            .iter()
            .map(|length| {
                if *length == i32::MAX {
                    f32::INFINITY
                } else {
                    *length as f32
                }
            })
            .collect();
        assert!(
            paths_of(&floats, vertices).unwrap() == expected,
            "{vertices} vertices, floats"
        );
    }
}

/// A path too long for 16 bits is none, and so is what goes on from it.
#[test]
fn short_paths_saturate() {
    for (vertices, sparse) in [(1, 1), (50, 20), (BLOCK + 9, 70)] {
        let edges: Vec<i32> = edges(vertices, 3, sparse, 0)
            .iter()
            .map(|length| length.checked_mul(60).unwrap_or(i32::MAX))
            .collect();
        let short = |length: &i32| u16::try_from(*length).unwrap_or(u16::MAX);
        let expected: Vec<u16> = relaxed(&edges, vertices).unwrap().iter().map(short).collect();
        let found = paths_of(&edges.iter().map(short).collect::<Vec<u16>>(), vertices).unwrap();
        assert!(found == expected, "{vertices} vertices");
    }
}

#[test]
fn a_negative_cycle_is_an_error_and_a_negative_edge_is_none() {
    // Around 0, 1, …, 299 in steps of −1, and back for what that comes to.
    let vertices = 300;
    for (back, negative) in [(299, false), (298, true), (1_000, false)] {
        let mut ring = vec![i32::MAX; vertices * vertices];
        for vertex in 0..vertices - 1 {
            ring[vertex * vertices + vertex + 1] = -1;
        }
        ring[(vertices - 1) * vertices] = back;
        let found = paths_of(&ring, vertices);
        assert_eq!(found.is_err(), negative, "{back}");
        if let Ok(paths) = found {
            assert_eq!(paths[vertices - 1], -299);
            assert_eq!(paths[5 * vertices], back - 294);
        }
    }
    let own = paths_of(&[-0.5_f32], 1);
    assert_eq!(own, Err(PathsError::NegativeCycle { vertex: 0 }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// (a ⊗ b) ⊗ c = a ⊗ (b ⊗ c), where no length saturates.
    #[test]
    fn products_are_associative(side in 1..40_usize, seed in any::<u64>()) {
        let pick = |bits: u32| if bits.is_multiple_of(4) { i32::MAX } else { bits.cast_signed() >> 8 };
        let of = |salt| numbers(side * side, seed ^ salt, pick);
        let (a, b, c) = (of(1), of(2), of(3));
        let multiply = |a: &[i32], b: &[i32]| product((side, side, side), a, b);
        prop_assert_eq!(multiply(&multiply(&a, &b), &c), multiply(&a, &multiply(&b, &c)));
    }

    /// With negative edges, where no cycle is negative: lengths of edges changed by the height that they climb.
    #[test]
    fn heights_change_paths_by_their_ends(vertices in 2..60_usize, seed in any::<u64>()) {
        let heights = numbers(vertices, seed ^ 9, |bits| (bits % 5_000).cast_signed());
        let flat = edges(vertices, seed, 4, 0);
        let climb = |place: usize| heights[place % vertices] - heights[place / vertices];
        let changed = |lengths: &[i32]| -> Vec<i32> {
            let lengths = lengths.iter().enumerate();
            lengths.map(|(place, length)| if *length == i32::MAX { i32::MAX } else { length + climb(place) }).collect()
        };
        let paths = paths_of(&flat, vertices).unwrap();
        prop_assert_eq!(paths_of(&changed(&flat), vertices).unwrap(), changed(&paths));
    }

    /// With 0 on the diagonal and no path elsewhere, nothing changes.
    #[test]
    fn there_is_an_identity(side in 1..60_usize, seed in any::<u64>()) {
        let a = numbers(side * side, seed, |bits| (bits >> 10) as f32 - 1e6);
        let mut one = vec![f32::INFINITY; side * side];
        one.iter_mut().step_by(side + 1).for_each(|value| *value = 0.0);
        prop_assert_eq!(&product((side, side, side), &a, &one), &a);
        prop_assert_eq!(&product((side, side, side), &one, &a), &a);
    }
}
