//! The exact transform of the whole image: distances along columns, then for each row the lower envelope of the parabolas
//! that stand on its pixels.

use rayon::prelude::*;

use super::super::Distance;
use crate::family::{OnCpu, Outcome};

/// What is farther than any pixel.
const NONE: u32 = u32::MAX;

pub(super) fn transform(problem: &Distance, call: OnCpu<'_>, threads: bool) -> Outcome {
    let OnCpu {
        inputs,
        outputs,
        scratch,
    } = call;
    let (mask, profile) = (inputs[0].slice::<u8>(), inputs[1].slice::<u8>());
    let width = problem.width;
    // A width of 0 has no rows, but chunks want a length.
    let pitch = problem.pitch().max(1);
    let gaps = scratch[0].slice_mut::<u32>();
    columns(mask, pitch, gaps);
    let out = outputs[0].slice_mut::<u8>();
    let rows = |(gaps, out): (&[u32], &mut [u8])| {
        let mut envelope = Envelope::new(width);
        for (gaps, out) in gaps.chunks(pitch).zip(out.chunks_mut(pitch)) {
            envelope.row(problem, &gaps[..width], profile, &mut out[..width]);
        }
    };
    if threads {
        let part = problem.height.div_ceil(4 * rayon::current_num_threads()).max(1) * pitch;
        gaps.par_chunks(part).zip(out.par_chunks_mut(part)).for_each(rows);
    } else {
        rows((gaps, out));
    }
    Ok(())
}

/// How far the nearest white pixel of the column is, [`NONE`] where it has none; the same of what lies between rows, which
/// are `pitch` apart.
fn columns(mask: &[u8], pitch: usize, gaps: &mut [u32]) {
    for (at, white) in mask.iter().enumerate() {
        let above = if at < pitch { NONE } else { gaps[at - pitch] };
        gaps[at] = if *white == 0 { above.saturating_add(1) } else { 0 };
    }
    for at in (0..gaps.len().saturating_sub(pitch)).rev() {
        gaps[at] = gaps[at].min(gaps[at + pitch].saturating_add(1));
    }
}

/// How far the nearest white pixel of the column is, at most `far`; the same of what lies between rows, which are `pitch`
/// apart.
pub(super) fn gaps(mask: &[u8], pitch: usize, far: u16, gaps: &mut [u16]) {
    for (at, white) in mask.iter().enumerate() {
        let above = if at < pitch { far } else { gaps[at - pitch] };
        gaps[at] = if *white == 0 { far.min(above + 1) } else { 0 };
    }
    for at in (0..gaps.len().saturating_sub(pitch)).rev() {
        gaps[at] = gaps[at].min(gaps[at + pitch] + 1);
    }
}

/// The parabolas of a row that are lowest somewhere, from left to right.
struct Envelope {
    /// Their columns, and how far up they stand.
    feet: Vec<(usize, u64)>,
    /// From where on each is the lowest.
    from: Vec<f64>,
}

impl Envelope {
    fn new(width: usize) -> Self {
        Self {
            feet: Vec::with_capacity(width),
            from: Vec::with_capacity(width),
        }
    }

    fn row(&mut self, problem: &Distance, gaps: &[u32], profile: &[u8], out: &mut [u8]) {
        self.feet.clear();
        self.from.clear();
        for (x, gap) in gaps.iter().enumerate().filter(|(_, gap)| **gap != NONE) {
            self.add(x, u64::from(*gap).pow(2));
        }
        if self.feet.is_empty() {
            out.fill(profile[problem.squared() as usize + 1]);
            return;
        }
        let mut k = 0;
        for (x, out) in out.iter_mut().enumerate() {
            while self.from.get(k + 1).is_some_and(|from| *from < x as f64) {
                k += 1;
            }
            let (foot, height) = self.feet[k];
            let squared = (foot.abs_diff(x) as u64).pow(2) + height;
            *out = profile[squared.min(u64::from(problem.squared()) + 1) as usize];
        }
    }

    fn add(&mut self, x: usize, height: u64) {
        // Where this parabola crosses another: ((h + x²) − (h' + x'²)) / (2x − 2x').
        let lifted = |(x, height): (usize, u64)| (height + (x as u64).pow(2)) as f64;
        while let (Some(last), Some(from)) = (self.feet.last(), self.from.last()) {
            let crossing = (lifted((x, height)) - lifted(*last)) / (2 * (x - last.0)) as f64;
            if crossing > *from {
                self.feet.push((x, height));
                self.from.push(crossing);
                return;
            }
            self.feet.pop();
            self.from.pop();
        }
        self.feet.push((x, height));
        self.from.push(f64::NEG_INFINITY);
    }
}
