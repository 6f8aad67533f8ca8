//! What the device tests share: the device under test, and packed samples.
#![allow(dead_code)]

pub(crate) mod distance;
mod turn;
pub(crate) mod words;

use relief_kernels::device::{DeviceChoice, DeviceError, DeviceId, Gpu, devices, select};
use relief_raster::Sample;

/// The device that `RELIEF_TEST_DEVICE` names, else one of the backend that `RELIEF_REQUIRE_GPU` names, else the first
/// Vulkan adapter of any kind. Without one, says so and returns nothing, unless `RELIEF_REQUIRE_GPU` is set: then that
/// is a failure.
pub(crate) fn device() -> Option<Gpu> {
    let required = std::env::var("RELIEF_REQUIRE_GPU").ok();
    let asked = match (std::env::var("RELIEF_TEST_DEVICE"), required.as_deref()) {
        (Ok(device), _) => device,
        (Err(_), Some("cuda")) => "cuda".to_owned(),
        (Err(_), _) => "vulkan:0".to_owned(),
    };
    let choice: DeviceChoice = asked.parse().expect("RELIEF_TEST_DEVICE names a device");
    let found = select(&choice, &devices()).map_err(|e| e.to_string());
    let opened = found.and_then(|ids| match ids[0] {
        DeviceId::Cpu => Err("the choice means the CPU".to_owned()),
        id => Gpu::open(id).map_err(|e| e.to_string()),
    });
    match opened {
        Ok(gpu) => {
            if gpu.report().software {
                turn::take();
            }
            Some(gpu)
        }
        Err(reason) => {
            assert!(required.is_none(), "RELIEF_REQUIRE_GPU is set, but {reason}");
            eprintln!("skipped: {reason}");
            None
        }
    }
}

/// Whether it is the call that is wrong, or more than a kernel takes, and not the device that failed.
pub(crate) fn is_refused(error: &DeviceError) -> bool {
    error.is_of_caller() || matches!(error, DeviceError::Limit { .. })
}

/// Rows of `width` samples as words, rows of whole words; and the words of a row.
pub(crate) fn pack<S: Sample>(samples: &[S], width: usize) -> (Vec<u32>, u32) {
    let per_word = 4 / size_of::<S>();
    let pitch = width.div_ceil(per_word);
    let mut words = Vec::new();
    for row in samples.chunks(width) {
        for k in 0..pitch {
            let part = row.iter().skip(k * per_word).take(per_word).rev();
            words.push(part.fold(0_u32, |word, v| {
                word << (size_of::<S>() * 8 % 32) | u32::from(v.to_u16())
            }));
        }
    }
    (words, pitch as u32)
}

/// The first `width` samples of each row of `pitch` words.
pub(crate) fn unpack<S: Sample>(bytes: &[u8], pitch: usize, width: usize) -> Vec<S> {
    let mut samples = Vec::new();
    for row in bytes.chunks_exact(pitch * 4) {
        for x in 0..width {
            let v = if size_of::<S>() == 1 {
                u16::from(row[x])
            } else {
                u16::from_le_bytes([row[2 * x], row[2 * x + 1]])
            };
            samples.push(S::from_u16(v));
        }
    }
    samples
}

/// A small generator (Numerical Recipes' linear congruential one), so that cases are the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1))
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.next() % bound
    }

    pub(crate) fn sample(&mut self) -> u16 {
        (self.next() >> 8) as u16
    }
}
