//! Reading with an offset or a stride, swept over k: out(i) = in(i + k), and out(i) = in(k·i), words of 32 bits.
//!
//! Least work: every word that is needed is read once, every result is written once. What a machine really reads are
//! whole lines: an offset costs at most one line more for all of a plane's words, a stride k times as many until each
//! word has a line of its own (128 bytes: k = 32), and no more after that.

use rayon::prelude::*;

use super::super::part;
use crate::array::{Array, Fill, Layout};
use crate::family::{Class, LENGTHS, Ladder, OnCpu, Outcome, Problem, Scale, Variant, Work};

/// How places of the input follow from places of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Access {
    Offset,
    Stride,
}

pub(super) struct Read {
    access: Access,
    k: usize,
    len: usize,
}

impl Read {
    const fn place(&self, i: usize) -> usize {
        match self.access {
            Access::Offset => i + self.k,
            Access::Stride => i * self.k,
        }
    }
}

impl Problem for Read {
    fn label(&self) -> String {
        format!("k = {}, {} u32", self.k, crate::quantity::count(self.len as u64))
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let last = self.len.checked_sub(1).map_or(0, |last| self.place(last) + 1);
        vec![Array::filled(Layout::of::<u32>(last), fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u32>(self.len)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        for (i, out) in outputs[0].slice_mut::<u32>().iter_mut().enumerate() {
            *out = inputs[0].slice::<u32>()[self.place(i)];
        }
    }

    fn work(&self) -> Work {
        Work::bytes(4 * self.elements(), 4 * self.elements())
    }

    fn memory(&self) -> u64 {
        let (len, k) = (self.elements(), self.k as u64);
        let read = match self.access {
            Access::Offset => len.saturating_add(k),
            Access::Stride => len.saturating_mul(k),
        };
        read.saturating_add(len).saturating_mul(4)
    }

    fn place(&self) -> Option<f64> {
        Some(self.k as f64)
    }
}

/// Distances up to and past a line, next to powers of two and on them.
const DISTANCES: [usize; 12] = [1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 51, 64];

/// The source's number of values; large devices need more to be busy.
fn length(scale: Scale) -> usize {
    let usual = if scale.class == Class::Gpu {
        1 << 22
    } else {
        600_000
    };
    scale.or(usual) as usize
}

fn sweep(scale: Scale, access: Access) -> Vec<Read> {
    let short = [1, 4, 32, 51];
    let distances: &[usize] = if scale.quick { &short } else { &DISTANCES };
    let len = length(scale);
    distances.iter().map(|k| Read { access, k: *k, len }).collect()
}

fn checks(access: Access) -> Vec<Read> {
    let with = |k| LENGTHS[..11].iter().map(move |len| Read { access, k, len: *len });
    [1, 4, 51].into_iter().flat_map(with).collect()
}

pub(super) fn offset() -> Ladder<Read> {
    let about = "out(i) = in(i + k), words of 32 bits";
    let ladder = Ladder::new("map/offset", about, variants("6.4 ms at k = 1"));
    swept(ladder, Access::Offset, 5, (1 << 30) + 77)
}

pub(super) fn stride() -> Ladder<Read> {
    let variants = variants("6.4 ms at k = 1, 28.7 ms at k = 51; 600 K values");
    let ladder = Ladder::new("map/stride", "out(i) = in(k·i), words of 32 bits", variants);
    swept(ladder, Access::Stride, 2, (1 << 29) + 77)
}

/// A ladder over k; `k` and `len` are those of the problem that is too large for 32 bits.
fn swept(ladder: Ladder<Read>, access: Access, k: usize, len: usize) -> Ladder<Read> {
    ladder
        .axis("k")
        .checks(move || checks(access))
        .cases(move |scale| sweep(scale, access))
        .huge(move || vec![Read { access, k, len }])
}

fn variants(source: &'static str) -> Vec<Variant<Read>> {
    let variants = vec![
        Variant::cpu("plain", "one after the other", |read: &Read, call| {
            gather(read, call.inputs[0].slice(), 0, call.outputs[0].slice_mut());
            Ok(())
        }),
        Variant::cpu("threads", "a part for each thread", threads),
    ];
    on_both!(variants, gpu::variants(source))
}

fn threads(read: &Read, call: OnCpu<'_>) -> Outcome {
    let (from, part) = (call.inputs[0].slice(), part(read.len));
    let outputs = call.outputs[0].slice_mut().par_chunks_mut(part).enumerate();
    outputs.for_each(|(k, out)| gather(read, from, k * part, out));
    Ok(())
}

/// The words from place `start` on.
fn gather(read: &Read, from: &[u32], start: usize, out: &mut [u32]) {
    match read.access {
        // An empty input does not even begin at k.
        Access::Offset => {
            let from = from.get(start + read.k..).unwrap_or_default();
            out.copy_from_slice(&from[..out.len()]);
        }
        Access::Stride => {
            let from = from.get(start * read.k..).unwrap_or_default();
            for (out, from) in out.iter_mut().zip(from.iter().step_by(read.k)) {
                *out = *from;
            }
        }
    }
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::device::{Operand, launch, line};

    use super::{Access, Read};
    use crate::family::{OnGpu, Outcome, Variant};

    const UNITS: u32 = 256;

    pub(super) fn variants(source: &'static str) -> Vec<Variant<Read>> {
        vec![
            Variant::gpu("plain", "a word for each unit", |read, call| run(read, call, 1)).source(source),
            Variant::gpu(
                "quad",
                "a unit makes four words and stores them at once",
                |read, call| run(read, call, 4),
            ),
        ]
    }

    fn run(read: &Read, call: &OnGpu<'_>, width: u32) -> Outcome {
        let vectors = (read.len as u32).div_ceil(width);
        if vectors == 0 {
            return Ok(());
        }
        let (from, to) = (&call.inputs[0], &call.outputs[0]);
        // SAFETY: places of the input are clamped to its last word, and outputs hold whole vectors.
        launch!(
            call.gpu, "map access", &(read.access, width), &[Operand::write("the output", to)],
            line(call.gpu, vectors, UNITS),
            unsafe gather(
                width as usize, from.array(1), to.array(width as usize), read.k as u32, read.len as u32,
                from.words() as u32 - 1, width, read.access))?;
        Ok(())
    }

    #[cube(launch_unchecked)]
    fn gather<N: Size>(
        from: &Array<u32>,
        to: &mut Array<Vector<u32, N>>,
        k: u32,
        count: u32,
        last: u32,
        #[comptime] width: u32,
        #[comptime] access: Access,
    ) {
        let place = ABSOLUTE_POS as u32;
        if place * width < count {
            // rung: map on gpu: plain | quad
            let mut words = Vector::<u32, N>::empty();
            #[unroll]
            for j in 0..comptime!(width as usize) {
                let i = place * width + comptime!(j as u32);
                let mut at = i + k;
                if comptime!(access == Access::Stride) {
                    at = i * k;
                }
                words[j] = from[min(at, last) as usize];
            }
            to[place as usize] = words;
            // end
        }
    }
}
