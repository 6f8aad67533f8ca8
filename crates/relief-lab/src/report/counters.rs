//! What counters of devices show of kernels: why the winner of a ladder wins. The tools that count are NVIDIA's own and
//! need rights that the lab does not ask for, so their figures come from records that were made by hand.

/// What was counted of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The family whose page shows it.
    pub family: &'static str,
    /// The problem and the kernel.
    pub kernel: &'static str,
    /// What a call took.
    pub time: &'static str,
    /// What was counted.
    pub counters: &'static str,
    /// What follows from it.
    pub shows: &'static str,
    /// The record that holds it, in `bench/record`.
    pub record: &'static str,
    /// Its figures as the record has them.
    pub figures: &'static [&'static str],
}

/// All of them, on an NVIDIA H200 with CUDA 13.0.
pub const COUNTED: &[Counted] = &[
    Counted {
        family: "stencil",
        kernel: "erosion of bytes, r = 50: rows in shared memory, one barrier a step",
        time: "340 µs",
        counters: "101.8 M instructions of warps, 1.50 a cycle; 33 % of memory's bandwidth, 43 % of the second cache's",
        shows: "no row is read twice, and yet warps wait for barriers, results and shared memory",
        record: "2026-11-22-h200-places-and-copies.txt",
        figures: &[
            "340 us",
            "101,784,539 instructions",
            "1.50 a cycle",
            "33 % of DRAM",
            "43 % of L2",
        ],
    },
    Counted {
        family: "stencil",
        kernel: "a plan of fewer instructions, and the total of a step in the place of its first row",
        time: "242.4 µs",
        counters: "99.2 M instructions, 1.67 a cycle",
        shows: "a block of rows is not read a third time",
        record: "2026-11-23-h200-erosions-planes-apart.txt",
        figures: &["242.4", "99.2 M", "(1.67 a cycle)"],
    },
    Counted {
        family: "stencil",
        kernel: "the same, warps that do not meet at one barrier",
        time: "215.3 µs",
        counters: "101.7 M instructions, 1.92 a cycle",
        shows: "more instructions in less time: one warp reads shared memory while others compute",
        record: "2026-11-23-h200-erosions-planes-apart.txt",
        figures: &["215.3", "101.7 M", "(1.92)"],
    },
    Counted {
        family: "stencil",
        kernel: "the same, eight rows of 32 words by one request: production",
        time: "212.0 µs",
        counters: "98.9 M instructions, 1.92 a cycle",
        shows: "strips at the picture's ends no longer wait for single rows",
        record: "2026-11-23-h200-erosions-planes-apart.txt",
        figures: &["212.0", "98.9 M", "(1.92)"],
    },
    Counted {
        family: "stencil",
        kernel: "Gauss of f32, sigma 2",
        time: "694 µs",
        counters: "70.3 instructions a pixel, 34.9 of them additions and multiply-adds; 83 % of issue slots",
        shows: "instructions bind, not memory; those that compute places became fewer since",
        record: "2026-11-22-h200-places-and-copies.txt",
        figures: &[
            "694 us",
            "70.3 instructions a pixel",
            "34.9 additions",
            "83 % of issue slots",
        ],
    },
    Counted {
        family: "matmul",
        kernel: "bf16, 8 192³, slices copied by the device",
        time: "2 338 µs",
        counters: "62.1 % of the matrix pipe; 596.6 M instructions, 221 registers, 12.5 GB from the second cache",
        shows: "the pipe waits for slices: a trial that loaded neither operand took 2 172 µs of 2 431",
        record: "2026-11-22-h200-places-and-copies.txt",
        figures: &[
            "2 338 us",
            "62.1 % of the matrix pipe",
            "596,570,112 instructions",
            "221 registers",
            "12.5 GB from the L2 cache",
            "step 0 2431",
            "without both 2172",
        ],
    },
];
