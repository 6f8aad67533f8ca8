//! Copies, fills and tables on a device, in every layout, against loops on the host.

use relief_kernels::copy::gpu as copy;
use relief_kernels::device::{Buffer, DeviceError};
use relief_kernels::table::gpu as table;
use relief_raster::Depth;

use crate::support::device;
use crate::support::words::{COUNTS, holds, padded, read, target, words};

#[test]
fn copies_are_what_is_copied() {
    let Some(gpu) = device() else { return };
    for count in COUNTS {
        let right = words(count as u64, count);
        let from = padded(&gpu, &right);
        let copied = |what: &str, copy: &dyn Fn(&Buffer) -> Result<(), DeviceError>| {
            let to = target(&gpu, count);
            copy(&to).unwrap();
            holds(&gpu, &to, &right, what);
        };
        copied("copy", &|to| copy::copy(&gpu, &from, to, count));
        for tuning in copy::SPACE.all() {
            copied(&format!("{tuning}"), &|to| {
                copy::copy_with(&gpu, tuning, &from, to, count)
            });
        }
        for (planes, vector) in [(1, 1), (7, 2), (512, 4)] {
            copied("sequences", &|to| {
                copy::copy_sequences(&gpu, planes, vector, &from, to, count)
            });
        }
    }
}

#[test]
fn fills_are_one_word_over_and_over() {
    let Some(gpu) = device() else { return };
    for count in COUNTS {
        for tuning in copy::SPACE.all() {
            let to = target(&gpu, count);
            copy::fill_with(&gpu, tuning, &to, count, 0x0BAD_CAFE).unwrap();
            holds(&gpu, &to, &vec![0x0BAD_CAFE; count], &format!("{tuning}"));
        }
    }
}

#[test]
fn tables_are_looked_up_sample_by_sample() {
    let Some(gpu) = device() else { return };
    for depth in [Depth::Eight, Depth::Sixteen] {
        let bits = depth.bits();
        let per = (32 / bits) as usize;
        let sample = |words: &[u32], at: usize| {
            words[at / per] >> (at % per * bits as usize) & (u32::MAX >> (32 - bits))
        };
        let entries = words(7, (1 << bits) / per);
        let on_device = gpu.upload(&entries).unwrap();
        for count in COUNTS {
            let source = words(count as u64, count);
            let looked_up = |word: usize| {
                let entry = |k: usize| sample(&entries, sample(&source, word * per + k) as usize);
                (0..per)
                    .rev()
                    .fold(0, |word, k| (u64::from(word) << bits) as u32 | entry(k))
            };
            let right: Vec<u32> = (0..count).map(looked_up).collect();
            let from = padded(&gpu, &source);
            for tuning in table::SPACE.all() {
                let to = target(&gpu, count);
                table::map_with(&gpu, tuning, depth, &on_device, &from, &to, count).unwrap();
                holds(&gpu, &to, &right, &format!("{depth:?}, {tuning}"));
            }
            // In place.
            table::map(&gpu, depth, &on_device, &from, &from, count).unwrap();
            assert!(
                read(&gpu, &from)[..count] == right,
                "{depth:?}, {count} words in place"
            );
        }
    }
}

#[test]
fn buffers_that_are_too_short_are_refused_whatever_the_count() {
    let Some(gpu) = device() else { return };
    let (short, long) = (gpu.buffer(8).unwrap(), gpu.buffer(1 << 15).unwrap());
    let is_short = |result: Result<(), DeviceError>| {
        assert!(matches!(result, Err(DeviceError::Short { .. })), "{result:?}");
    };
    // Rounding the last of these up overflows.
    for count in [9, usize::MAX - 8, usize::MAX] {
        is_short(copy::copy(&gpu, &short, &long, count));
        is_short(copy::copy(&gpu, &long, &short, count));
        is_short(copy::fill(&gpu, &short, count, 1));
        is_short(table::map(&gpu, Depth::Eight, &long, &short, &long, count));
        is_short(table::map(&gpu, Depth::Sixteen, &short, &long, &long, 4));
    }
}
