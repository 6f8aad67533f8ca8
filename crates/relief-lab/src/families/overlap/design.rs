//! The design that is streamed: the lesser of a ramp along the rows and noise, 8 bits a sample.

/// Pixels of a row.
pub(super) const WIDTH: usize = 8_192;

/// Words of a row.
pub(super) const ROW: usize = WIDTH / 4;

const SEED: u64 = 7;

/// Four samples of the raster, in row order, the first in the lowest byte. By the formulas that the language's reference gives for a ramp
/// and for noise.
pub(super) fn word(place: usize) -> u32 {
    let (y, left) = ((place / ROW) as u64, (place % ROW * 4) as u64);
    u32::from_le_bytes(std::array::from_fn(|k| sample(left + k as u64, y)))
}

fn sample(x: u64, y: u64) -> u8 {
    let steps = WIDTH as u64 - 1;
    let ramp = (2 * 255 * x + steps) / (2 * steps);
    let mut noise = SEED
        .wrapping_add(x.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .wrapping_add(y.wrapping_mul(0xC2B2_AE3D_27D4_EB4F));
    noise = (noise ^ (noise >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    noise = (noise ^ (noise >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    noise ^= noise >> 31;
    ramp.min(noise >> 56) as u8
}

/// Renders `words` words of it from word `start` on, both whole rows, by the kernel that designs run with.
#[cfg(feature = "gpu")]
pub(super) fn render(
    gpu: &relief_kernels::device::Gpu,
    start: usize,
    words: usize,
    all: usize,
    to: &relief_kernels::device::Buffer,
) -> crate::family::Outcome {
    use relief_kernels::fold::Fold;
    use relief_kernels::fused::{self, Axis, Expression};
    use relief_raster::{Depth, Rect};

    let ramp = Expression::Ramp {
        axis: Axis::X,
        from: 0,
        to: 255,
        length: WIDTH as u64,
    };
    let design = Expression::Fold(vec![
        (Fold::Base, ramp),
        (Fold::Min, Expression::Noise { seed: SEED }),
    ]);
    let raster = Rect::sized(WIDTH as u64, (all / ROW) as u64);
    let rows = (start / ROW) as i64;
    let band = Rect::between(0, rows, WIDTH as i64, rows + (words / ROW) as i64);
    fused::render(gpu, &design, Depth::Eight, raster, band, to, ROW as u32)?;
    Ok(())
}
