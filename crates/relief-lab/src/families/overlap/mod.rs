//! Overlap: words go from the host to a device, are multiplied there, out(i) = 2 654 435 761 · in(i) + 1, and
//! come back.
//!
//! Least time: that of both ways over the bus at once, because they and the kernel can go on beside each
//! other; one after another they take twice as long. So what is measured is bytes each way, under half of
//! what both ways carry at once from and to page-locked memory (it stands among the ceilings). The first
//! chunk's way there and the last one's back have nothing beside them, which is why there is a case of 1 GiB.
//! What both ways carry changes from second to second, so copies of at most 256 MiB each way are timed in
//! turn with the variants.
//!
//! `overlap` is by NVIDIA's driver alone, from page-locked memory, in chunks of 4 MiB, of 16 MiB where that is less than a
//! thirty-second part. Its variants `runtime` send ordinary memory, as a program has it that does not own what it sends. The runtime
//! copies to a device while the caller waits: only other threads' work goes on meanwhile.
//!
//! `overlap/chunk` sweeps the chunks: small ones pay for their launches and copies, large ones for the first,
//! which nothing overlaps, and the last.
//!
//! `overlap/bands` is how a design streams: bands of up to 64 MiB that are computed on the device and only
//! come back, under the way to the host alone.
//!
//! What a launch costs, and what waiting for one does, stands among the ceilings. The source names the
//! technique: two streams that overlap copies and kernels.

#[cfg(feature = "gpu")]
mod gpu;

use crate::array::{Array, Fill, Layout, mix};
use crate::family::{Class, Family, Ladder, Operation, Problem, Scale, Variant, Work};
use crate::machine::Machine;
#[cfg(feature = "cuda")]
use crate::record::Span;
use crate::record::Timeline;

/// When each chunk of 64 MiB was where, in one queue and in several; of devices that NVIDIA's driver drives.
pub(super) fn timelines(machine: &Machine) -> Vec<Timeline> {
    #[cfg(feature = "cuda")]
    if let Machine::Gpu(gpu) = machine {
        // What has no timeline, because it fails or is no such device, has none; the ladder says why.
        let of = |queues| {
            let spans = gpu::timeline(gpu, 1 << 24, 1 << 20, queues).ok()?;
            let spans = spans.into_iter().map(|span| Span {
                queue: span.queue,
                times: span.times,
            });
            Some(Timeline {
                ladder: "overlap".to_owned(),
                name: gpu::named(queues),
                spans: spans.collect(),
            })
        };
        return [1, 2, 4].into_iter().filter_map(of).collect();
    }
    let _ = machine;
    Vec::new()
}

pub(super) fn family() -> Family {
    let about = "out(i) = 2 654 435 761 · in(i) + 1, from the host and back to it";
    let streams = Ladder::new("overlap", about, variants(Ways::Streams));
    let about = "the same in chunks of many sizes";
    let chunked = Ladder::new("overlap/chunk", about, variants(Ways::Chunks));
    let about = "out(i) = 2 654 435 761 · i + 1, computed on the device and brought to the host";
    let banded = Ladder::new("overlap/bands", about, variants(Ways::Bands));
    Family {
        name: "overlap",
        about: "transfers both ways and a kernel at once: what the bus allows",
        source: "two streams that overlap copies and kernels; no figures",
        source_size: "",
        wins: "A queue for each step with events between: both ways of the bus and the kernel are busy at \
               once, as the bound says.",
        loses: "One queue does one thing after another, however it is cut into chunks. Small chunks pay for \
                their launches and copies; large ones for the first and the last, which overlap nothing. \
                Ordinary memory is copied by the host first.",
        ladders: vec![
            Box::new(streams.checks(checks).cases(|scale| {
                let of = |words| there(words, if words > 32 * LARGE { LARGE } else { CHUNK });
                sizes(scale).into_iter().map(of).collect()
            })),
            Box::new(chunked.axis("KiB of a chunk").checks(checks).cases(chunks)),
            Box::new(banded.cases(bands).checks(|| {
                let of = |words| Overlap {
                    words,
                    chunk: CHUNK,
                    made: Made::Numbers,
                };
                [0, 1, 1_000, CHUNK + 77].map(of).into()
            })),
        ],
    }
}

/// Words of a chunk: 4 MiB.
const CHUNK: usize = 1 << 20;

/// Words of a chunk of many: 16 MiB. Each costs the device a few µs beside its copies.
const LARGE: usize = 1 << 22;

/// The most words of a band: 64 MiB.
const BAND: usize = 1 << 24;

fn checks() -> Vec<Overlap> {
    [(0, 64), (1, 64), (1_000, 128), (70_001, 4_096), (4_096, 1 << 20)]
        .map(|(words, chunk)| there(words, chunk))
        .into()
}

const fn there(words: usize, chunk: usize) -> Overlap {
    Overlap {
        words,
        chunk,
        made: Made::Sent,
    }
}

/// Problems of the usual sizes, rounded up to 64 words, in four bands at least.
fn bands(scale: Scale) -> Vec<Overlap> {
    let of = |words: usize| Overlap {
        words: words.next_multiple_of(64),
        chunk: BAND.min((words / 4).next_multiple_of(64).max(64)),
        made: Made::Numbers,
    };
    sizes(scale).into_iter().map(of).collect()
}

fn sizes(scale: Scale) -> Vec<usize> {
    let usual: &[u64] = match (scale.class, scale.quick) {
        (Class::Gpu, true) => &[1 << 25],
        (Class::Gpu, false) => &[1 << 25, 1 << 28],
        (Class::Cpu | Class::Software, _) => &[1 << 18],
    };
    scale
        .or_these(usual)
        .into_iter()
        .map(|words| words as usize)
        .collect()
}

fn chunks(scale: Scale) -> Vec<Overlap> {
    let (words, kibibytes): (u64, &[usize]) = match scale.class {
        Class::Gpu => (1 << 25, &[64, 256, 1_024, 4_096, 16_384, 65_536]),
        _ => (1 << 18, &[64, 1_024]),
    };
    let words = scale.or(words) as usize;
    kibibytes.iter().map(|size| there(words, size * 256)).collect()
}

/// Which ladder.
#[derive(Clone, Copy, PartialEq)]
enum Ways {
    Streams,
    Chunks,
    Bands,
}

fn variants(ways: Ways) -> Vec<Variant<Overlap>> {
    on_both!(Vec::new(), gpu::variants(ways))
}

/// Words that go to a device and come back in chunks, or are made there.
#[derive(Clone, Copy)]
struct Overlap {
    words: usize,
    chunk: usize,
    made: Made,
}

/// Where words come from.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    /// The host sends them.
    Sent,
    /// The device makes the numbers of their places.
    Numbers,
}

const FACTOR: u32 = 2_654_435_761;

impl Overlap {
    /// What goes to the device: nothing that it could make itself.
    fn word(&self, place: usize) -> u32 {
        match self.made {
            Made::Sent => mix(1, place as u64),
            Made::Numbers => place as u32,
        }
    }

    /// What comes back.
    fn result(&self, place: usize) -> u32 {
        self.word(place).wrapping_mul(FACTOR).wrapping_add(1)
    }
}

impl Problem for Overlap {
    fn label(&self) -> String {
        let words = crate::quantity::count(self.words as u64);
        let part = crate::quantity::bytes(4 * self.chunk as u64);
        match self.made {
            Made::Sent => format!("{words} u32, chunks of {part}"),
            Made::Numbers => format!("{words} u32, bands of {part}"),
        }
    }

    /// None: variants send what they have in memory of their own, always the same.
    fn inputs(&self, _: Fill) -> Vec<Array> {
        Vec::new()
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u32>(self.words)]
    }

    fn reference(&self, _: &[Array], outputs: &mut [Array]) {
        for (place, to) in outputs[0].slice_mut::<u32>().iter_mut().enumerate() {
            *to = self.result(place);
        }
    }

    fn work(&self) -> Work {
        // Memory on both sides is faster than the bus.
        let (operation, read) = match self.made {
            Made::Sent => (Operation::BusByte, 4 * self.elements()),
            Made::Numbers => (Operation::DownByte, 0),
        };
        Work::bytes(read, 4 * self.elements()).operations(operation, 4 * self.elements())
    }

    fn place(&self) -> Option<f64> {
        (self.made == Made::Sent).then_some(self.chunk as f64 / 256.0)
    }
}
