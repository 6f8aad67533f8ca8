//! Fills outlines by the crate `tiny-skia`: `relief-drawings-by-tiny-skia OUTLINES SIDE OUT` prints the seconds that filling took, and those of the processor.
//!
//! OUTLINES holds closed outlines, one after the other: a count of points as u32, then x and y of each as f64, all little-endian.
//! OUT gets the mask, a byte for each pixel. The mask is filled twice and the second time is told, as the other programs do it.

use std::error::Error;
use std::time::Instant;

use tiny_skia::{FillRule, Mask, Path, PathBuilder, Transform};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [outlines, side, out] = arguments.as_slice() else {
        return Err("expected: OUTLINES SIDE OUT".into());
    };
    let side: u32 = side.parse()?;
    let path = path(&std::fs::read(outlines)?)?;
    let mut mask = Mask::new(side, side).ok_or("the mask has a side of 0, or is too large")?;
    let (mut seconds, mut used) = (0.0, 0.0);
    for _ in 0..2 {
        mask.data_mut().fill(0);
        let (start, before) = (Instant::now(), processor()?);
        mask.fill_path(&path, FillRule::Winding, true, Transform::identity());
        (seconds, used) = (start.elapsed().as_secs_f64(), processor()? - before);
    }
    std::fs::write(out, mask.data())?;
    println!("{seconds} {used}");
    Ok(())
}

/// Seconds that this process, which has one thread, has had a processor, as Linux tells them.
fn processor() -> Result<f64, Box<dyn Error>> {
    let told = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds: f64 = told.split(' ').next().ok_or("no time is told")?.parse()?;
    Ok(nanoseconds / 1e9)
}

fn path(mut bytes: &[u8]) -> Result<Path, Box<dyn Error>> {
    let mut builder = PathBuilder::new();
    while let Some((count, rest)) = bytes.split_first_chunk() {
        let length = 16 * u32::from_le_bytes(*count) as usize;
        let points = rest.get(..length).ok_or("the last outline is cut short")?;
        for (number, point) in points.chunks_exact(16).enumerate() {
            let (x, y) = point.split_at(8);
            let (x, y) = (f64::from_le_bytes(x.try_into()?) as f32, f64::from_le_bytes(y.try_into()?) as f32);
            if number == 0 {
                builder.move_to(x, y);
            } else {
                builder.line_to(x, y);
            }
        }
        builder.close();
        bytes = &rest[length..];
    }
    builder.finish().ok_or_else(|| "there is no outline with an area".into())
}
