//! Maps on a device, in every layout, against loops on the host.

use relief_kernels::device::DeviceError;
use relief_numeric::map::gpu as map;

use crate::support::words::{COUNTS, holds, padded, read, target, words};
use crate::support::{Random, device};

fn floats(seed: u64, count: usize) -> Vec<f32> {
    let mut random = Random::new(seed);
    let float = |random: &mut Random| random.below(1 << 24) as f32 / 1_024.0 - 8_000.0;
    (0..count).map(|_| float(&mut random)).collect()
}

#[test]
fn sums_and_multiples_are_those_of_floats() {
    let Some(gpu) = device() else { return };
    for count in COUNTS {
        let (a, b) = (floats(1, count), floats(2, count));
        let bits = |floats: &[f32]| floats.iter().map(|v| v.to_bits()).collect::<Vec<u32>>();
        let sums: Vec<u32> = a.iter().zip(&b).map(|(a, b)| (a + b).to_bits()).collect();
        let multiples: Vec<u32> = a.iter().map(|a| (a * -2.5).to_bits()).collect();
        let (a, b) = (padded(&gpu, &bits(&a)), padded(&gpu, &bits(&b)));
        for tuning in map::SPACE.all() {
            let to = target(&gpu, count);
            map::add_with(&gpu, tuning, &a, &b, &to, count).unwrap();
            holds(&gpu, &to, &sums, &format!("sums, {tuning}"));
            let to = target(&gpu, count);
            map::scale_with(&gpu, tuning, &a, -2.5, &to, count).unwrap();
            holds(&gpu, &to, &multiples, &format!("multiples, {tuning}"));
        }
        // In place.
        map::add(&gpu, &a, &b, &a, count).unwrap();
        let found = read(&gpu, &a);
        assert!(found[..count] == sums, "{count} sums in place");
    }
}

#[test]
fn grays_are_weighted_sums_to_the_nearest() {
    let Some(gpu) = device() else { return };
    for colours in [4_usize, 12, 63 * 4, 4_100, 70_000] {
        let rgb = words(colours as u64, 3 * colours / 4);
        let bytes: Vec<u8> = rgb.iter().flat_map(|word| word.to_le_bytes()).collect();
        let gray = |c: &[u8; 3]| {
            let [r, g, b] = c.map(u32::from);
            ((2_126 * r + 7_152 * g + 722 * b + 5_000) / 10_000) as u8
        };
        let grays: Vec<u8> = bytes.as_chunks::<3>().0.iter().map(gray).collect();
        let right: Vec<u32> = grays
            .as_chunks::<4>()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word))
            .collect();
        let rgb = padded(&gpu, &rgb);
        for tuning in map::GRAY_SPACE.all() {
            let to = target(&gpu, right.len());
            map::gray_with(&gpu, tuning, &rgb, &to, colours).unwrap();
            holds(&gpu, &to, &right, &format!("{colours} colours, {tuning}"));
        }
    }
}

#[test]
fn buffers_that_are_too_short_are_refused_whatever_the_count() {
    let Some(gpu) = device() else { return };
    let (short, long) = (gpu.buffer(8).unwrap(), gpu.buffer(1 << 15).unwrap());
    let is_short = |result: Result<(), DeviceError>| {
        assert!(matches!(result, Err(DeviceError::Short { .. })), "{result:?}");
    };
    // Rounding the last of these up overflows.
    for count in [9, usize::MAX - 8, usize::MAX] {
        is_short(map::add(&gpu, &short, &long, &long, count));
        is_short(map::scale(&gpu, &long, 2.0, &short, count));
        is_short(map::gray(&gpu, &long, &short, 4 * count.min(usize::MAX / 4)));
    }
}
