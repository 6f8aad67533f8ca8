//! Lattices on a device against every copy laid down one by one.

use relief_kernels::fused::Plane;
use relief_kernels::lattice::{
    Blend,
    gpu::{Lattice, render},
};
use relief_raster::{Rect, Sample};

use crate::support::{Random, device, pack, unpack};

struct Case {
    size: (i64, i64),
    offset: (i64, i64),
    u: (i64, i64),
    v: (i64, i64),
    band: Rect,
}

fn case(
    size: (i64, i64),
    offset: (i64, i64),
    u: (i64, i64),
    v: (i64, i64),
    band: (i64, i64, u64, u64),
) -> Case {
    let (x, y, w, h) = band;
    Case {
        size,
        offset,
        u,
        v,
        band: Rect::new(x, y, w, h).unwrap(),
    }
}

fn cases() -> Vec<Case> {
    vec![
        case((10, 10), (0, 0), (9, 2), (-2, 8), (0, 0, 67, 40)),
        case((100, 100), (3, -4), (90, 20), (-15, 85), (-50, -70, 211, 50)),
        case((1, 1), (0, 0), (1, 0), (0, 1), (0, 0, 20, 3)),
        case((7, 5), (1, 1), (2, 1), (-1, 2), (5, 5, 33, 17)),
        case((3, 3), (-2, 9), (13, 5), (4, -11), (0, 0, 70, 31)),
        case((33, 2), (0, 0), (17, 0), (5, 3), (0, 0, 50, 9)),
        case((5, 40), (0, 0), (0, 7), (6, 1), (-9, -9, 30, 60)),
        case((4, 4), (0, 0), (1_000_003, 1), (7, 9), (-20, 0, 45, 30)),
        case((20, 20), (1, 2), (-3, -7), (5, -6), (0, 0, 40, 20)),
    ]
}

/// (j, i, sample) of every copy on (x, y), in ascending order.
fn covering(case: &Case, pattern: &[u16], x: i64, y: i64) -> Vec<u16> {
    let (w, h) = case.size;
    let ((ux, uy), (vx, vy)) = (case.u, case.v);
    let det = (ux * vy - uy * vx) as f64;
    let mut found = Vec::new();
    // The copies near (x, y): the real coordinates of the pattern's corners, rounded outwards.
    let (mut i0, mut i1, mut j0, mut j1) = (i64::MAX, i64::MIN, i64::MAX, i64::MIN);
    for (cx, cy) in [(0, 0), (w, 0), (0, h), (w, h)] {
        let (px, py) = ((x - case.offset.0 - cx) as f64, (y - case.offset.1 - cy) as f64);
        let i = (px * vy as f64 - py * vx as f64) / det;
        let j = (ux as f64 * py - uy as f64 * px) / det;
        i0 = i0.min(i.floor() as i64 - 1);
        i1 = i1.max(i.ceil() as i64 + 1);
        j0 = j0.min(j.floor() as i64 - 1);
        j1 = j1.max(j.ceil() as i64 + 1);
    }
    for j in j0..=j1 {
        for i in i0..=i1 {
            let (cx, cy) = (
                x - case.offset.0 - i * ux - j * vx,
                y - case.offset.1 - i * uy - j * vy,
            );
            if (0..w).contains(&cx) && (0..h).contains(&cy) {
                found.push(pattern[(cy * w + cx) as usize]);
            }
        }
    }
    found
}

fn blended(samples: &[u16], blend: Blend, max: u64) -> u64 {
    let some: Vec<u64> = samples
        .iter()
        .map(|v| u64::from(*v))
        .filter(|v| *v != 0)
        .collect();
    let (sum, n) = (some.iter().sum::<u64>(), some.len() as u64);
    match blend {
        Blend::Mean => (2 * sum + n).checked_div(2 * n).unwrap_or(0),
        Blend::Max => some.iter().copied().max().unwrap_or(0),
        Blend::Min => some.iter().copied().min().unwrap_or(0),
        Blend::Sum => sum.min(max),
        Blend::Last => some.last().copied().unwrap_or(0),
    }
}

fn agrees<S: Sample>(blend: Blend) {
    let Some(gpu) = device() else { return };
    let bits = size_of::<S>() as u32 * 8;
    let max = (1_u64 << bits) - 1;
    let mut random = Random::new(u64::from(bits));
    for case in cases() {
        let (w, h) = case.size;
        // A third of the samples are 0, and the greatest is among the others.
        let pattern: Vec<u16> = (0..w * h)
            .map(|_| match random.below(6) {
                0 | 1 => 0,
                2 => max as u16,
                _ => random.sample() & max as u16,
            })
            .collect();
        let typed: Vec<S> = pattern.iter().map(|v| S::from_u16(*v)).collect();
        let (words, pitch) = pack(&typed, w as usize);
        let lattice = Lattice {
            pattern: Plane::new(
                gpu.upload(&words).unwrap(),
                0,
                pitch,
                w as u32,
                h as u32,
                S::DEPTH,
            )
            .unwrap(),
            blend,
            offset: case.offset,
            u: case.u,
            v: case.v,
        };
        let pitch = (case.band.width() as u32).div_ceil(128 / bits) * 4;
        let output = gpu.buffer(pitch as usize * case.band.height() as usize).unwrap();
        render(&gpu, &lattice, case.band, &output, pitch).unwrap();
        let got: Vec<S> = unpack(
            &gpu.read(&output, output.words()).wait().unwrap(),
            pitch as usize,
            case.band.width() as usize,
        );
        for y in 0..case.band.height() as i64 {
            for x in 0..case.band.width() as i64 {
                let covering = covering(&case, &pattern, case.band.x() + x, case.band.y() + y);
                let got = got[(y * case.band.width() as i64 + x) as usize].to_u16();
                let want = blended(&covering, blend, max);
                assert_eq!(
                    u64::from(got),
                    want,
                    "{blend:?} at {x},{y}: u {:?} v {:?} {covering:?}",
                    case.u,
                    case.v
                );
            }
        }
    }
}

#[test]
fn the_mean_of_copies_leaves_out_zeros() {
    agrees::<u8>(Blend::Mean);
    agrees::<u16>(Blend::Mean);
}

#[test]
fn the_greatest_of_copies_wins() {
    agrees::<u8>(Blend::Max);
    agrees::<u16>(Blend::Max);
}

#[test]
fn the_least_of_copies_that_is_not_zero_wins() {
    agrees::<u8>(Blend::Min);
    agrees::<u16>(Blend::Min);
}

#[test]
fn the_sum_of_copies_saturates() {
    agrees::<u8>(Blend::Sum);
    agrees::<u16>(Blend::Sum);
}

#[test]
fn the_last_copy_is_the_greatest_in_order() {
    agrees::<u8>(Blend::Last);
    agrees::<u16>(Blend::Last);
}
