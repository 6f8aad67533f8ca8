//! Occupancy: how many warps a multiprocessor has to hold for its units not to wait.
//!
//! A kernel's registers, its shared memory and the size of its cubes decide how many warps are resident
//! ([`Limits`]). Here shared memory that nobody needs is taken until exactly as many are resident as the axis
//! says, for cubes of several sizes: where only the number of warps counts, the lines lie on each other.
//!
//! By Little's law a multiprocessor has to have as much on the way as a step takes times what it completes
//! meanwhile:
//! - `occupancy/arithmetic`: 512 multiply-adds of f32, each on the result of the last. A step takes 4 clocks,
//!   a scheduler begins one a clock: 4 warps for each of 4 schedulers, 16 in all, are enough.
//! - `occupancy/words`: a copy in which the place of the next word depends on the last: 128 bytes a warp on
//!   the way. A device with fast memory needs some tens of KiB for each multiprocessor: 64 warps have a
//!   quarter of it.
//! - `occupancy/quads`: the same in vectors of 16 bytes: 512 bytes a warp, so that 64 warps are just enough.
//!
//! The source: more shared memory, fewer resident warps; 64 warps of a multiprocessor on Maxwell, Pascal and
//! Volta, 32 on Turing.

#[cfg(feature = "gpu")]
mod gpu;
mod limits;

pub use limits::Limits;

use crate::array::{Array, Fill, Layout};
use crate::family::{AnyLadder, Class, Family, Ladder, Operation, Problem, Scale, Variant, Work};

pub(super) fn family() -> Family {
    let ladder = |name, about, kernel| {
        let ladder = Ladder::new(name, about, variants()).axis("resident warps");
        let ladder = ladder.checks(move || checks(kernel));
        Box::new(ladder.cases(move |scale| cases(kernel, scale))) as Box<dyn AnyLadder>
    };
    Family {
        name: "occupancy",
        about: "resident warps of a multiprocessor, and what they hide",
        source: "64 warps on Maxwell, Pascal and Volta, 32 on Turing",
        source_size: "",
        wins: "Bytes and operations in flight count, not warps (Little's law): vectors of 16 bytes need a \
               quarter of the warps that words need.",
        loses: "Few resident warps with one word each leave memory waiting. More warps than the latency \
                needs bring nothing.",
        ladders: vec![
            ladder(
                "occupancy/arithmetic",
                "out(i) = in(i) + 512, by multiply-adds one after another",
                Kernel::Arithmetic,
            ),
            ladder(
                "occupancy/words",
                "out(i) = in(i), one word after another",
                Kernel::Words,
            ),
            ladder(
                "occupancy/quads",
                "out(i) = in(i), 16 bytes after another",
                Kernel::Quads,
            ),
        ],
    }
}

/// What the units do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kernel {
    Arithmetic,
    Words,
    Quads,
}

/// Multiply-adds one after another.
const STEPS: u32 = 512;

/// Words through a kernel of which so many warps should be resident.
struct Resident {
    kernel: Kernel,
    words: usize,
    /// Nothing where it does not matter.
    warps: Option<u32>,
}

fn checks(kernel: Kernel) -> Vec<Resident> {
    let of = |words| Resident {
        kernel,
        words,
        warps: None,
    };
    [0, 1, 5, 1_000, 70_001].map(of).into()
}

fn cases(kernel: Kernel, scale: Scale) -> Vec<Resident> {
    let words = scale.or(match (scale.class, kernel) {
        (Class::Gpu, Kernel::Arithmetic) => 1 << 24,
        (Class::Gpu, _) => 1 << 26,
        _ => 1 << 16,
    });
    let warps: &[u32] = match scale.class {
        Class::Gpu => &[8, 12, 16, 24, 32, 40, 48, 64],
        _ => &[16, 64],
    };
    let of = |warps: &u32| Resident {
        kernel,
        words: words as usize,
        warps: Some(*warps),
    };
    warps.iter().map(of).collect()
}

fn variants() -> Vec<Variant<Resident>> {
    on_both!(Vec::new(), gpu::variants())
}

impl Resident {
    fn added(&self) -> f32 {
        match self.kernel {
            Kernel::Arithmetic => STEPS as f32,
            Kernel::Words | Kernel::Quads => 0.0,
        }
    }
}

impl Problem for Resident {
    fn label(&self) -> String {
        let words = crate::quantity::count(self.words as u64);
        match self.warps {
            Some(warps) => format!("{warps} warps, {words} f32"),
            None => format!("{words} f32"),
        }
    }

    /// Whole numbers below 2¹⁶, so that sums are exact.
    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let scrambled = |place: usize| (crate::array::mix(1, place as u64) & 0xffff) as f32;
        vec![Array::from_fn(self.words, |place| match fill {
            Fill::Random => scrambled(place),
            Fill::Structured => (place % 7) as f32,
        })]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<f32>(self.words)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let from = inputs[0].slice::<f32>();
        let to = outputs[0].slice_mut::<f32>();
        for (to, from) in to.iter_mut().zip(from) {
            *to = from + self.added();
        }
    }

    fn work(&self) -> Work {
        let words = self.elements();
        let work = Work::bytes(4 * words, 4 * words);
        match self.kernel {
            Kernel::Arithmetic => work.operations(Operation::F32MultiplyAdd, u64::from(STEPS) * words),
            Kernel::Words | Kernel::Quads => work,
        }
    }

    fn place(&self) -> Option<f64> {
        self.warps.map(f64::from)
    }
}
