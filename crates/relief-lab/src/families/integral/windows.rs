//! What an integral image is for: the mean of a window of any size.
//!
//! out(x, y) = the mean of the samples at most r away along both axes that the picture has, rounded to the nearest, halves up.
//!
//! Least work: every sample is read once and every result written once; the integral image between them is 4 bytes a sample, written
//! and read once more. Sliding windows (`stencil`) do without it, and cost more the larger the window is.

use rayon::prelude::*;
use relief_numeric::integral::Window;
use relief_numeric::integral::cpu::{self, BAND, Picture};
use relief_numeric::integral::windows;

use super::super::share;
use crate::array::{Array, Fill, Layout};
use crate::family::{Class, Ladder, OnCpu, Outcome, Problem, Scale, Variant, Work};

pub(super) fn ladder() -> Ladder<Windows> {
    let about = "the mean of a window, u8, by an integral image";
    Ladder::new("integral/box", about, variants())
        .axis("radius")
        .checks(checks)
        .cases(cases)
        .huge(|| vec![Windows::new(36_003, 36_001, 100)])
}

fn checks() -> Vec<Windows> {
    let sizes = [
        (0, 0, 3),
        (1, 1, 0),
        (1, 1, 9),
        (5, 3, 1),
        (70, 1, 5),
        (1, 70, 5),
        (64, 64, 0),
        (129, 65, 7),
        (300, 33, 40),
        (257, 517, 100),
    ];
    let of = |(width, height, radius)| Windows::new(width, height, radius);
    sizes.into_iter().map(of).collect()
}

fn cases(scale: Scale) -> Vec<Windows> {
    let size = scale.or(match (scale.class, scale.quick) {
        (Class::Gpu, false) => 1 << 28,
        (Class::Software, _) => 1 << 18,
        _ => 1 << 24,
    });
    let width = 1_u64 << size.max(1).ilog2().div_ceil(2);
    let radii: &[u32] = if scale.quick {
        &[1, 15, 200]
    } else {
        &[1, 5, 15, 50, 200, 1_000]
    };
    let of = |radius: &u32| Windows::new(width as usize, (size / width) as usize, *radius);
    radii.iter().map(of).collect()
}

/// Windows of one radius around all samples.
pub(super) struct Windows {
    width: usize,
    height: usize,
    radius: u32,
}

impl Windows {
    const fn new(width: usize, height: usize, radius: u32) -> Self {
        Self {
            width,
            height,
            radius,
        }
    }

    fn pitch_in(&self) -> usize {
        self.width.next_multiple_of(16)
    }

    fn pitch_out(&self) -> usize {
        self.width.next_multiple_of(4)
    }
}

impl Problem for Windows {
    fn label(&self) -> String {
        format!("{} × {} u8, r = {}", self.width, self.height, self.radius)
    }

    fn elements(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![Array::filled(
            Layout::of::<u8>(self.pitch_in() * self.height),
            fill,
            1,
        )]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u8>(self.pitch_out() * self.height)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let (from, to) = (inputs[0].slice::<u8>(), outputs[0].slice_mut::<u8>());
        let (width, height, radius) = (self.width, self.height, self.radius as usize);
        // The sums of all samples before a column, and above a row.
        let pitch = width + 1;
        let mut sums = vec![0_u64; pitch * (height + 1)];
        for y in 0..height {
            for x in 0..width {
                let sample = u64::from(from[y * self.pitch_in() + x]);
                let before = sums[y * pitch + x + 1] + sums[(y + 1) * pitch + x] - sums[y * pitch + x];
                sums[(y + 1) * pitch + x + 1] = sample + before;
            }
        }
        for y in 0..height {
            let (top, bottom) = (y.saturating_sub(radius), (y + radius + 1).min(height));
            for x in 0..width {
                let (left, right) = (x.saturating_sub(radius), (x + radius + 1).min(width));
                let sum = sums[bottom * pitch + right] + sums[top * pitch + left]
                    - sums[top * pitch + right]
                    - sums[bottom * pitch + left];
                let mean = Window::mean(sum, ((bottom - top) * (right - left)) as u64);
                to[y * self.pitch_out() + x] = mean as u8;
            }
        }
    }

    fn work(&self) -> Work {
        Work::bytes(self.elements(), self.elements())
    }

    fn place(&self) -> Option<f64> {
        Some(self.radius.into())
    }
}

fn variants() -> Vec<Variant<Windows>> {
    let variants = vec![
        Variant::cpu(
            "by integral image, one thread",
            "the integral image, then four sums for each sample",
            |p, call| on_cpu(p, call, false),
        )
        .scratch(scratch),
        Variant::cpu("by integral image", "the same on all threads", |p, call| {
            on_cpu(p, call, true)
        })
        .scratch(scratch)
        .production(),
    ];
    on_both!(variants, gpu::variants())
}

/// A row for each band, and the integral image.
fn scratch(problem: &Windows) -> Vec<Layout> {
    let bands = problem.height.div_ceil(BAND) * problem.width;
    vec![
        Layout::of::<u32>(bands),
        Layout::of::<u32>(problem.width * problem.height),
    ]
}

fn on_cpu(problem: &Windows, call: OnCpu<'_>, threads: bool) -> Outcome {
    let Windows {
        width,
        height,
        radius,
        ..
    } = *problem;
    let from = call.inputs[0].slice::<u8>();
    let [bands, sums] = call.scratch else {
        return Ok(());
    };
    let (bands, sums) = (bands.slice_mut::<u32>(), sums.slice_mut::<u32>());
    if width == 0 || height == 0 {
        return Ok(());
    }
    let picture = Picture {
        samples: from,
        width,
        height,
        pitch: problem.pitch_in(),
    };
    if threads {
        super::cpu::by_threads(picture, bands, sums, width);
    } else {
        cpu::integral(picture, bands, sums, width);
    }
    let table = Picture {
        samples: &*sums,
        width,
        height,
        pitch: width,
    };
    let pitch = problem.pitch_out();
    let row = |(y, out): (usize, &mut [u8])| {
        let (out, rest) = out.split_at_mut(width);
        windows::means(table, Window { radius }, y, out);
        rest.fill(0);
    };
    let out = call.outputs[0].slice_mut::<u8>();
    if threads {
        let rows = out.par_chunks_mut(pitch).enumerate();
        rows.with_min_len(share(height).min(64)).for_each(row);
    } else {
        out.chunks_mut(pitch).enumerate().for_each(row);
    }
    Ok(())
}

#[cfg(feature = "gpu")]
mod gpu {
    use relief_numeric::integral::gpu::windows;
    use relief_numeric::integral::gpu::{integral, scratch_words};
    use relief_numeric::integral::{Sums, Window};
    use relief_numeric::transpose::gpu::Matrix;

    use super::Windows;
    use crate::array::Layout;
    use crate::family::{OnGpu, Outcome, Variant};

    pub(super) fn variants() -> [Variant<Windows>; 1] {
        let idea = "the integral image, then four sums for each sample";
        let scratch = |p: &Windows| {
            let words = scratch_words(Sums::Short, p.width as u32, p.height as u32);
            [words, p.pitch_out() * p.height].map(Layout::of::<u32>).into()
        };
        [Variant::gpu("by integral image", idea, run)
            .scratch(scratch)
            .production()]
    }

    fn run(problem: &Windows, call: &OnGpu<'_>) -> Outcome {
        let size = (problem.width as u32, problem.height as u32);
        let matrix = |buffer, samples: usize, bytes: usize| Matrix {
            buffer,
            pitch: (samples * bytes / 4) as u32,
        };
        let picture = matrix(&call.inputs[0], problem.pitch_in(), 1);
        let sums = matrix(&call.scratch[1], problem.pitch_out(), 4);
        let table = windows::Integral {
            sums: Sums::Short,
            matrix: sums,
        };
        let to = matrix(&call.outputs[0], problem.pitch_out(), 1);
        let window = Window {
            radius: problem.radius,
        };
        integral(call.gpu, Sums::Short, size, picture, sums, &call.scratch[0])?;
        windows::means(call.gpu, window, size, table, to)?;
        Ok(())
    }
}
