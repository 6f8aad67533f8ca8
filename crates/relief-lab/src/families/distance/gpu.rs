//! The variants on devices.
// In kernels `&&` computes both sides: what guards a read stands around it.
#![allow(unsafe_code, clippy::collapsible_if)]

mod black;
mod separable;
mod white;

use std::sync::{Mutex, PoisonError};

use cubecl::prelude::*;
use relief_kernels::device::{Buffer, DeviceError, Gpu};
use relief_kernels::distance::gpu::{Profile, bits, render, rows, scratch_bytes, tiles};
use relief_kernels::fused::Plane;
use relief_raster::{Depth, Rect};

use self::white::Way;
use super::{Distance, Reach, profile};
use crate::array::Layout;
use crate::family::{Failure, Outcome, Variant};

// rung: distance on gpu: production = it takes `bits`, `tiles` or `rows` by the radius

pub(super) fn variants(reach: Reach) -> Vec<Variant<Distance>> {
    let white = |name, idea, way, source| {
        Variant::gpu(name, idea, move |p: &Distance, call| white::run(p, call, way))
            .scratch(|p| vec![Layout::of::<u32>(p.stored())])
            .source(source)
    };
    let mut variants = vec![
        white(
            "white",
            "each white pixel lowers the minima of its circle by atomics",
            Way::Plain,
            "251 ms",
        ),
        white(
            "white, spread",
            "the units of a cube share the square of each of its white pixels",
            Way::Spread,
            "246 ms",
        ),
        white(
            "white, check",
            "a plain read first, no atomic where the minimum is lower already",
            Way::Check,
            "125 ms",
        ),
        white(
            "white, halves",
            "a white neighbour spares that half of the square",
            Way::Halves,
            "9.8 ms",
        ),
        Variant::gpu(
            "black",
            "each pixel looks outwards for the nearest white one",
            black::run,
        )
        .source("90 ms"),
        Variant::gpu(
            "separable",
            "distances along columns, then outwards along rows, four pixels for each unit",
            separable::run,
        )
        .scratch(|problem| vec![Layout::of::<u8>(problem.stored())]),
    ];
    // The source's radius is 15.
    if matches!(reach, Reach::Far) {
        variants = variants.into_iter().map(Variant::without_source).collect();
    }
    if matches!(reach, Reach::Near) {
        variants.push(production(
            "bits",
            "32 pixels of a column in a word, offset by offset",
            |_, (width, height), _| bits::scratch_bytes(width, height),
            |gpu, scratch, mask, place, profile, band, out, pitch| {
                let policy = bits::Policy::default();
                bits::render(gpu, &policy, scratch, mask, place, profile, band, out, pitch)
            },
        ));
    }
    variants.extend([
        production(
            "tiles",
            "along columns, then rows, in shared memory",
            |gpu, (width, height), radius| {
                tiles::scratch_bytes(gpu, &tiles::Policy::default(), width, height, radius)
            },
            |gpu, scratch, mask, place, profile, band, out, pitch| {
                let policy = tiles::Policy::default();
                tiles::render(gpu, &policy, scratch, mask, place, profile, band, out, pitch)
            },
        ),
        production(
            "rows",
            "along rows by bits, then columns, row by row",
            |_, (width, height), radius| rows::scratch_bytes(width, height, radius),
            rows::render,
        ),
        production(
            "production",
            "whichever of the three suits the radius",
            |gpu, (width, height), radius| scratch_bytes(gpu.report(), width, height, radius),
            render,
        )
        .production(),
    ]);
    variants
}

/// One of production's ways: of a device, memory between its steps, a mask and a place in it, a profile, a band, and where it goes.
type Render =
    fn(&Gpu, Option<&Buffer>, &Plane, (i64, i64), &Profile, Rect, &Buffer, u32) -> Result<(), DeviceError>;

fn production(
    name: &'static str,
    idea: &'static str,
    bytes: impl Fn(&Gpu, (u32, u32), u32) -> Option<u64> + Send + Sync + 'static,
    render: Render,
) -> Variant<Distance> {
    // Profiles are uploaded, and memory between the steps is taken, once for a raster, not for each of its bands: what was
    // uploaded last is kept, and as much memory as the last picture needed.
    let kept: Mutex<Vec<(u32, Profile)>> = Mutex::default();
    let between: Mutex<Option<Buffer>> = Mutex::default();
    Variant::gpu(name, idea, move |problem: &Distance, call| {
        if problem.pixels() == 0 {
            return Ok(());
        }
        let (width, height) = (problem.width as u32, problem.height as u32);
        let pitch = row_words(problem);
        let mask = Plane::new(call.inputs[0].clone(), 0, pitch, width, height, Depth::Eight);
        let mask = mask.ok_or_else(|| Failure::Failed("a mask that its buffer does not hold".to_owned()))?;
        let profile = uploaded(&kept, call.gpu, problem.radius)?;
        let words =
            bytes(call.gpu, (width, height), problem.radius).map_or(0, |bytes| bytes.div_ceil(4) as usize);
        let scratch = taken(&between, call.gpu, words)?;
        let band = Rect::sized(width.into(), height.into());
        let (scratch, out) = (Some(&scratch), &call.outputs[0]);
        render(call.gpu, scratch, &mask, (0, 0), &profile, band, out, pitch)?;
        Ok(())
    })
}

fn uploaded(kept: &Mutex<Vec<(u32, Profile)>>, gpu: &Gpu, radius: u32) -> Outcome<Profile> {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, profile)) = kept.iter().find(|(known, _)| *known == radius) {
        return Ok(profile.clone());
    }
    let values = profile(radius);
    let (beyond, entries) = values
        .split_last()
        .map_or((0, &values[..]), |(last, rest)| (*last, rest));
    let profile = Profile::upload(gpu, radius, entries, beyond)?;
    kept.truncate(8);
    kept.insert(0, (radius, profile.clone()));
    Ok(profile)
}

/// So many words, those of the last time where they were as many.
fn taken(kept: &Mutex<Option<Buffer>>, gpu: &Gpu, words: usize) -> Outcome<Buffer> {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(buffer) = kept.as_ref().filter(|buffer| buffer.words() == words.max(4)) {
        return Ok(buffer.clone());
    }
    *kept = None;
    Ok(kept.insert(gpu.buffer(words)?).clone())
}

/// Steps that a device takes in a second or so.
const PATIENCE: f64 = 2e10;

/// Words of a raster of bytes, with what lies between rows, where 31 bits count them; 0 for an empty one.
fn words(problem: &Distance) -> Outcome<u32> {
    match u32::try_from(problem.stored() / 4) {
        Ok(words) if words < 1 << 31 => Ok(words),
        _ => Err(Failure::Unsupported("rasters of 2^33 bytes or more".to_owned())),
    }
}

/// Words from the start of a row to that of the next.
const fn row_words(problem: &Distance) -> u32 {
    (problem.pitch() / 4) as u32
}

/// Byte `at` of packed ones.
#[cube]
fn byte(words: &Array<u32>, at: u32) -> u32 {
    (words[(at / 4u32) as usize] >> (at % 4u32 * 8u32)) & 255u32
}

/// Byte `x` of a row of packed ones that starts at word `row`: of bytes there may be more than 32 bits count.
#[cube]
fn sample(words: &Array<u32>, row: u32, x: u32) -> u32 {
    (words[(row + x / 4u32) as usize] >> (x % 4u32 * 8u32)) & 255u32
}

/// Whether pixel (x, y) is white; outside of the mask, whose rows are `pitch` words apart, none is.
#[cube]
fn is_white(mask: &Array<u32>, x: u32, y: u32, width: u32, height: u32, pitch: u32) -> bool {
    let mut white = false;
    // Coordinates less than 0 wrap to large ones.
    if x < width {
        if y < height {
            white = sample(mask, y * pitch, x) != 0u32;
        }
    }
    white
}
