//! Selections on a device against the definition, element by element.

use relief_kernels::device::{Buffer, Gpu};
use relief_kernels::policy::Tuning;
use relief_numeric::element::{Element, Keys, Number};
use relief_numeric::select::gpu::{
    Elements, Output, Route, Selection, Wanted, default, scratch_words, select, select_with, space,
};

use crate::support::{Random, device};

const UNTOUCHED: u32 = 0xA5A5_A5A5;

/// What is kept.
#[derive(Clone, Copy, Debug)]
enum By {
    NonZero,
    Float,
    Flags,
    /// Keys from a third of all to two thirds, or the others.
    Within,
    Outside,
}

/// Words as numbers of this kind.
fn key(kind: Element, word: u32) -> u32 {
    match kind {
        Element::U8 | Element::U16 | Element::U32 => word,
        Element::I32 => word.cast_signed().key(),
        Element::F32 => f32::from_bits(word).key(),
    }
}

/// The keys from one to another, or all others, of this kind.
fn keys(kind: Element, least: u32, greatest: u32, inside: bool) -> Keys {
    fn of<T: Number>(least: u32, greatest: u32, inside: bool) -> Keys {
        let (least, greatest) = (T::from_key(least), T::from_key(greatest));
        let keys = if inside {
            Keys::within(least, greatest)
        } else {
            Keys::outside(least, greatest)
        };
        keys.unwrap()
    }
    match kind {
        Element::U8 => of::<u8>(least, greatest, inside),
        Element::U16 => of::<u16>(least, greatest, inside),
        Element::U32 => of::<u32>(least, greatest, inside),
        Element::I32 => of::<i32>(least, greatest, inside),
        Element::F32 => of::<f32>(least, greatest, inside),
    }
}

/// What is written.
#[derive(Clone, Copy, Debug)]
enum Into {
    Values,
    Indices,
    Halves,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Element,
    len: usize,
    /// Of a hundred elements, so many are not zero, and as many are flagged.
    percent: u32,
    by: By,
    into: Into,
}

fn pack(elements: &[u32], bits: u32) -> Vec<u32> {
    let mut words = vec![0; (elements.len() * bits as usize).div_ceil(128) * 4 + 4];
    for (i, element) in elements.iter().enumerate() {
        let bit = i * bits as usize;
        words[bit / 32] |= element << (bit % 32);
    }
    words
}

fn words_of(gpu: &Gpu, buffer: &Buffer) -> Vec<u32> {
    let bytes = gpu.read(buffer, buffer.words()).wait().unwrap();
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

fn element(words: &[u32], i: usize, bits: u32) -> u32 {
    let bit = i * bits as usize;
    words[bit / 32] >> (bit % 32) & (u32::MAX >> (32 - bits))
}

impl Case {
    fn is_right(self, gpu: &Gpu, tuning: Tuning, route: Option<Route>) {
        let Self {
            kind, len, percent, ..
        } = self;
        let bits = kind.bits();
        let mut random = Random::new(len as u64 * 7 + u64::from(bits + percent));
        let mask = u32::MAX >> (32 - bits);
        let elements: Vec<u32> = (0..len)
            .map(|_| match random.below(100) < percent {
                true => (random.next().wrapping_mul(5) & mask).max(1),
                false if matches!(self.by, By::Float) && random.below(2) == 0 => 1 << 31,
                false => 0,
            })
            .collect();
        let flags: Vec<u32> = (0..len)
            .map(|_| u32::from(random.below(100) < percent) * (1 + random.below(255)))
            .collect();
        let between = mask / 3..=mask / 3 * 2;
        let keys = |inside| Wanted::Within(keys(kind, *between.start(), *between.end(), inside));
        let kept = |i: &usize| match self.by {
            By::NonZero => elements[*i] != 0,
            By::Float => f32::from_bits(elements[*i]) != 0.0,
            By::Flags => flags[*i] != 0,
            By::Within => between.contains(&key(kind, elements[*i])),
            By::Outside => !between.contains(&key(kind, elements[*i])),
        };
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..len).partition(kept);
        // What follows the input is not zero and flagged.
        let padded = |values: &[u32], bits| {
            let mut words = pack(values, bits);
            let used = values.len() * bits as usize;
            for (k, word) in words.iter_mut().enumerate() {
                let valid = used.saturating_sub(k * 32).min(32) as u32;
                *word |= u32::MAX.checked_shl(valid).unwrap_or(0);
            }
            gpu.upload(&words).unwrap()
        };
        let (from, flagged) = (padded(&elements, bits), padded(&flags, 8));
        let poisoned = || {
            gpu.upload(&vec![UNTOUCHED; pack(&elements, 32).len() + 64])
                .unwrap()
        };
        let (out, rest, count) = (poisoned(), poisoned(), poisoned());
        let words = scratch_words(bits, len as u64) as usize;
        let scratch = gpu.upload(&vec![UNTOUCHED; words]).unwrap();
        let selection = Selection {
            from: Elements {
                buffer: &from,
                kind,
                len: len as u64,
            },
            wanted: match self.by {
                By::NonZero | By::Float => Wanted::NonZero,
                By::Flags => Wanted::Flagged(&flagged),
                By::Within => keys(true),
                By::Outside => keys(false),
            },
            output: match self.into {
                Into::Values => Output::Values(&out),
                Into::Indices => Output::Indices(&out),
                Into::Halves => Output::Halves(&out, &rest),
            },
            count: &count,
            scratch: &scratch,
        };
        match route {
            Some(route) => select_with(gpu, tuning, route, &selection).unwrap(),
            None => select(gpu, &selection).unwrap(),
        }
        let label = format!("{self:?}, {tuning}, {route:?}");
        let counted = words_of(gpu, &count);
        assert_eq!(counted[..2], [inside.len() as u32, 0], "the count of {label}");
        assert_eq!(
            counted[2..],
            poison(counted.len() - 2),
            "past the count of {label}"
        );
        let holds = |buffer, places: &[usize]| {
            let found = words_of(gpu, buffer);
            let bits = if matches!(self.into, Into::Indices) {
                32
            } else {
                bits
            };
            for (k, place) in places.iter().enumerate() {
                let expected = match self.into {
                    Into::Indices => *place as u32,
                    _ => elements[*place],
                };
                assert_eq!(element(&found, k, bits), expected, "element {k} of {label}");
            }
            let after = places.len()..found.len() * 32 / bits as usize;
            for k in after {
                let untouched = element(&[UNTOUCHED], k % (32 / bits as usize), bits);
                assert_eq!(element(&found, k, bits), untouched, "element {k} past {label}");
            }
        };
        holds(&out, &inside);
        match self.into {
            Into::Halves => holds(&rest, &outside),
            _ => holds(&rest, &[]),
        }
    }
}

fn poison(words: usize) -> Vec<u32> {
    vec![UNTOUCHED; words]
}

/// Those that the device offers.
fn routes(gpu: &Gpu) -> &'static [Route] {
    match Route::fitting(gpu.report()) {
        Route::LookBack => &[Route::Phases, Route::Sequences, Route::LookBack],
        _ => &[Route::Phases, Route::Sequences],
    }
}

#[test]
fn every_route_keeps_what_is_wanted_in_order_and_writes_nothing_else() {
    let Some(gpu) = device() else { return };
    let all = [By::NonZero, By::Flags, By::Within, By::Outside];
    for (kind, by) in [
        (Element::U8, &all[..]),
        (Element::U16, &all),
        (Element::U32, &all),
        (Element::I32, &all[2..]),
        (Element::F32, &[By::Float, By::Within, By::Outside]),
    ] {
        for by in by.iter().copied() {
            for into in [Into::Values, Into::Indices, Into::Halves] {
                for (len, percent) in [
                    (0, 50),
                    (1, 100),
                    (5, 50),
                    (70_001, 1),
                    (70_001, 50),
                    (40_000, 100),
                ] {
                    let case = Case {
                        kind,
                        len,
                        percent,
                        by,
                        into,
                    };
                    for route in routes(&gpu) {
                        case.is_right(&gpu, default(kind.bits()), Some(*route));
                    }
                }
            }
        }
    }
}

#[test]
fn every_layout_computes_the_same() {
    let Some(gpu) = device() else { return };
    for kind in [Element::U8, Element::U16, Element::U32] {
        for tuning in space(kind.bits()).all() {
            for by in [By::NonZero, By::Within] {
                let case = Case {
                    kind,
                    len: 50_003,
                    percent: 40,
                    by,
                    into: Into::Values,
                };
                for route in routes(&gpu) {
                    case.is_right(&gpu, tuning, Some(*route));
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = device() else { return };
    let buffer = gpu.buffer(1_024).unwrap();
    let refused = |len, words: usize| {
        let scratch = gpu.buffer(words).unwrap();
        let selection = Selection {
            from: Elements {
                buffer: &buffer,
                kind: Element::U32,
                len,
            },
            wanted: Wanted::NonZero,
            output: Output::Values(&buffer),
            count: &buffer,
            scratch: &scratch,
        };
        select(&gpu, &selection).is_err()
    };
    let enough = scratch_words(32, 1_025) as usize;
    assert!(refused(1_025, enough));
    assert!(refused(u64::MAX, enough));
    assert!(refused(1_000, 100));
}

#[test]
fn runs_of_rows_begin_where_bytes_change_and_with_each_row() {
    let Some(gpu) = device() else { return };
    let mut random = Random::new(3);
    for (width, len) in [(1, 0_u64), (1, 5), (7, 1), (100, 100), (64, 6_400), (333, 20_001)] {
        let bytes: Vec<u8> = (0..len).map(|_| u8::from(random.below(8) == 0)).collect();
        let mut padded = bytes.clone();
        padded.resize(bytes.len().next_multiple_of(16) + 16, 9);
        let words: Vec<u32> = padded
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        let from = gpu.upload(&words).unwrap();
        let starts = gpu.buffer(words.len() * 4).unwrap();
        let values = gpu.buffer(words.len()).unwrap();
        let count = gpu.buffer(4).unwrap();
        let scratch = gpu.buffer(scratch_words(8, len) as usize).unwrap();
        let selection = Selection {
            from: Elements {
                buffer: &from,
                kind: Element::U8,
                len,
            },
            wanted: Wanted::Heads(width),
            output: Output::Places(&starts, &values),
            count: &count,
            scratch: &scratch,
        };
        select(&gpu, &selection).unwrap();
        let heads = |i: &usize| i % width as usize == 0 || bytes[*i] != bytes[*i - 1];
        let right: Vec<usize> = (0..bytes.len()).filter(heads).collect();
        assert_eq!(
            words_of(&gpu, &count)[..2],
            [right.len() as u32, 0],
            "{width}, {len}"
        );
        let (starts, values) = (words_of(&gpu, &starts), words_of(&gpu, &values));
        for (k, start) in right.iter().enumerate() {
            assert_eq!(starts[k], *start as u32, "run {k} of rows of {width}");
            assert_eq!(
                element(&values, k, 8),
                u32::from(bytes[*start]),
                "run {k} of rows of {width}"
            );
        }
    }
}
