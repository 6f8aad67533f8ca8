//! Memory that benchmarks read and write, one per thread and kept between runs, so that neither page faults nor
//! another thread's lines are measured.
#![allow(dead_code, reason = "each benchmark uses a part")]

use std::cell::RefCell;

use relief_kernels::generate;
use relief_raster::{Sample, ViewMut};

thread_local! {
    static WORDS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f` on `len` samples of this thread.
pub(crate) fn with_samples<S: Sample, R>(len: usize, f: impl FnOnce(&mut [S]) -> R) -> R {
    WORDS.with_borrow_mut(|words| {
        let needed = len * size_of::<S>() / 8 + 1;
        if words.len() < needed {
            *words = vec![1; needed];
        }
        f(&mut bytemuck::cast_slice_mut(words)[..len])
    })
}

/// White noise.
pub(crate) fn noise<S: Sample>(width: usize, height: usize) -> Vec<S> {
    let mut samples = vec![S::ZERO; width * height];
    generate::cpu::noise(1, 0, 0, ViewMut::packed(&mut samples, width, height));
    samples
}
