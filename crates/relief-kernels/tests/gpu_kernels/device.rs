//! What a started device promises: honest memory, honest errors, reads that come back whole.

use relief_kernels::device::{DeviceError, DeviceId, Gpu};
use relief_kernels::fused::{Expression, Policy, render_with};
use relief_raster::{Depth, Rect};

use crate::support::device;

#[test]
fn parts_of_a_buffer_are_the_same_only_where_all_their_words_are_and_overlap_where_any_is() {
    let Some(gpu) = device() else { return };
    let all = gpu.buffer(256).unwrap();
    let part = |start, words| all.part(start, words).unwrap();
    assert!(all.same(&all.clone()) && all.same(&part(0, 256)));
    assert!(part(64, 128).part(64, 64).unwrap().same(&part(128, 64)));
    for (a, b, overlap) in [
        ((0, 64), (64, 64), false),
        ((0, 65), (64, 64), true),
        ((0, 128), (128, 128), false),
        ((0, 256), (128, 1), true),
        ((64, 10), (64, 11), true),
        ((0, 64), (192, 64), false),
    ] {
        let (a, b) = (part(a.0, a.1), part(b.0, b.1));
        assert!(!a.same(&b) && !b.same(&a), "{a:?} {b:?}");
        assert_eq!(
            (a.overlaps(&b), b.overlaps(&a)),
            (overlap, overlap),
            "{a:?} {b:?}"
        );
    }
    let other = gpu.buffer(256).unwrap();
    assert!(!all.same(&other) && !all.overlaps(&other));
}

#[test]
fn what_is_uploaded_is_read_back() {
    let Some(gpu) = device() else { return };
    for words in [1_usize, 4, 5, 1_000, 70_001] {
        let sent: Vec<u32> = (0..words as u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
        let buffer = gpu.upload(&sent).unwrap();
        let bytes: Vec<u8> = sent.iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(&*gpu.read(&buffer, words).wait().unwrap(), &bytes[..]);
        assert_eq!(
            &*gpu.read(&buffer, words.div_ceil(2)).wait().unwrap(),
            &bytes[..words.div_ceil(2) * 4]
        );
    }
}

#[test]
fn reads_in_flight_keep_what_was_there_when_they_were_asked_for() {
    let Some(gpu) = device() else { return };
    let band = Rect::sized(4_096, 64);
    let policy = Policy::for_device(&gpu);
    let output = gpu.buffer(1_024 * 64).unwrap();
    let mut flight = Vec::new();
    for value in 1..=9 {
        render_with(
            &gpu,
            &policy,
            &Expression::Constant(value),
            Depth::Eight,
            band,
            band,
            &output,
            1_024,
        )
        .unwrap();
        flight.push((value, gpu.read(&output, output.words())));
    }
    for (value, reading) in flight {
        assert!(
            reading.wait().unwrap().iter().all(|v| u16::from(*v) == value),
            "{value}"
        );
    }
}

#[test]
fn memory_is_accounted_for_and_the_budget_is_held() {
    let Some(gpu) = device() else { return };
    assert_eq!(gpu.used(), 0);
    let one = gpu.buffer(1 << 18).unwrap();
    let same = one.clone();
    assert_eq!(gpu.used(), 1 << 20);
    gpu.set_budget(3 << 19);
    let error = gpu.buffer(1 << 18).unwrap_err();
    assert!(
        matches!(error, DeviceError::OutOfMemory { bytes: 1_048_576, .. }),
        "{error}"
    );
    drop(one);
    assert_eq!(gpu.used(), 1 << 20);
    drop(same);
    assert_eq!(gpu.used(), 0);
    gpu.buffer(1 << 18).unwrap();
}

#[test]
fn a_buffer_larger_than_the_device_takes_is_refused_and_the_device_lives_on() {
    let Some(gpu) = device() else { return };
    let largest = gpu.report().largest_buffer;
    for words in [(largest / 4 + 1) as usize, usize::MAX / 8, usize::MAX] {
        assert!(
            matches!(gpu.buffer(words), Err(DeviceError::OutOfMemory { .. })),
            "{words}"
        );
    }
    let buffer = gpu.upload(&[1, 2, 3, 4]).unwrap();
    assert_eq!(gpu.read(&buffer, 1).wait().unwrap()[0], 1);
}

#[test]
fn a_device_that_is_not_there_is_an_error_with_its_cause() {
    for id in [DeviceId::Cuda(999), DeviceId::Vulkan(999), DeviceId::Cpu] {
        let error = Gpu::open(id).unwrap_err();
        assert!(
            matches!(error, DeviceError::Unavailable { device, .. } if device == id),
            "{error}"
        );
    }
}

#[test]
fn two_threads_share_one_device() {
    let Some(gpu) = device() else { return };
    let band = Rect::sized(512, 16);
    std::thread::scope(|scope| {
        for value in [3_u16, 200] {
            let gpu = gpu.clone();
            scope.spawn(move || {
                let policy = Policy::for_device(&gpu);
                let output = gpu.buffer(128 * 16).unwrap();
                for _ in 0..20 {
                    let expression = Expression::Constant(value);
                    render_with(&gpu, &policy, &expression, Depth::Eight, band, band, &output, 128).unwrap();
                    let got = gpu.read(&output, output.words()).wait().unwrap();
                    assert!(got.iter().all(|v| u16::from(*v) == value));
                }
            });
        }
    });
}
