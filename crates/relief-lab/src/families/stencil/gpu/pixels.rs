//! Pixels of a picture as f32, and f32 as words of a result.

use cubecl::prelude::*;
use relief_numeric::stencil::gpu::Samples;

/// Pixel (x, y), which lies inside.
#[cube]
pub(super) fn pixel<W: Numeric>(
    source: &Array<W>,
    x: u32,
    y: u32,
    pitch: u32,
    #[comptime] samples: Samples,
) -> f32 {
    match samples {
        Samples::Floats => f32::cast_from(source[(y * pitch + x) as usize]),
        Samples::Bytes => {
            let word = u32::cast_from(source[(y * pitch + x / 4u32) as usize]);
            f32::cast_from((word >> (x % 4u32 * 8u32)) & 255u32)
        }
    }
}

/// `place`, or the nearest of 0 … `count` − 1.
#[cube]
pub(super) fn nearest(place: i32, count: u32) -> u32 {
    max(min(place, count as i32 - 1i32), 0i32) as u32
}

/// The word of one f32, or of four: rounded down, within 0…255.
#[cube]
pub(super) fn word<W: Numeric>(values: &Array<f32>, #[comptime] samples: Samples) -> W {
    match samples {
        Samples::Floats => W::cast_from(values[0usize]),
        Samples::Bytes => {
            let mut bytes = u32::new(0);
            #[unroll]
            for b in 0..4u32 {
                let value = max(min(values[comptime!(b as usize)], f32::new(255.0)), f32::new(0.0));
                bytes |= u32::cast_from(value) << comptime!(8 * b);
            }
            W::cast_from(bytes)
        }
    }
}
