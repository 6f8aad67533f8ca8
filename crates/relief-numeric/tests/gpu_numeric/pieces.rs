//! What lies in several buffers comes to what it would in one.

use relief_kernels::copy::gpu::fill;
use relief_kernels::device::{Buffer, DeviceError, Gpu};
use relief_numeric::element::{Element, Keys};
use relief_numeric::histogram::gpu as histogram;
use relief_numeric::integral::Sums;
use relief_numeric::integral::gpu as integral;
use relief_numeric::pieces::Pieces;
use relief_numeric::reduce::gpu as reduce;
use relief_numeric::reduce::{Operation, cpu};
use relief_numeric::scan::Kind;
use relief_numeric::scan::gpu as scan;
use relief_numeric::select::gpu as select;
use relief_numeric::select::gpu::pieces::{PiecesOutput, PiecesSelection, PiecesWanted, select_with};
use relief_numeric::transpose::gpu::Matrix;
use relief_raster::Depth;

/// Words of numbers in which nothing is regular.
fn words(count: usize) -> Vec<u32> {
    let mix = |i: u32| i.wrapping_mul(2_654_435_761) ^ (i.wrapping_mul(40_503) << 9);
    (0..count as u32).map(mix).collect()
}

/// The words in buffers of so many each.
fn buffers(gpu: &Gpu, words: &[u32], each: usize) -> Vec<Buffer> {
    words
        .chunks(each)
        .map(|piece| gpu.upload(piece).unwrap())
        .collect()
}

fn read(gpu: &Gpu, buffer: &Buffer, words: usize) -> Vec<u32> {
    let bytes = gpu.read(buffer, words).wait().unwrap();
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect()
}

fn is_unsupported(result: Result<(), DeviceError>) {
    assert!(
        matches!(result, Err(DeviceError::Unsupported { .. })),
        "{result:?}"
    );
}

#[test]
fn a_reduction_of_pieces_has_the_bits_of_that_of_the_whole() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let each = reduce::piece_step(Element::F32) as usize;
    for (element, numbers) in [
        (Element::F32, 2 * each + 70_001),
        (Element::I32, 3 * each),
        (Element::U8, 9 * each + 5),
    ] {
        let mut words = words(element.words(numbers as u64) as usize);
        if element == Element::F32 {
            words
                .iter_mut()
                .for_each(|word| *word = ((*word >> 9) as f32 - 3e6).to_bits());
        }
        let step = reduce::piece_step(element);
        let held = buffers(&gpu, &words, element.words(step) as usize);
        let whole = gpu.upload(&words).unwrap();
        let pieces = Pieces {
            buffers: &held,
            each: step,
        };
        let len = numbers as u64;
        let scratch = gpu.buffer(reduce::scratch_words(element, len, 1)).unwrap();
        for operation in Operation::ALL {
            let (one, several) = (gpu.buffer(4).unwrap(), gpu.buffer(4).unwrap());
            reduce::reduce(
                &gpu,
                operation,
                reduce::Rows::one(&whole, element, len),
                &one,
                &scratch,
            )
            .unwrap();
            reduce::reduce_pieces(&gpu, operation, element, pieces, len, &several, &scratch).unwrap();
            let count = reduce::result_words(operation, element);
            let found = read(&gpu, &several, count);
            assert_eq!(
                found,
                read(&gpu, &one, count),
                "{operation:?} of {numbers} {element:?}"
            );
            if (operation, element) == (Operation::Sum, Element::F32) {
                let sum = cpu::sum(&bytemuck::cast_slice::<u32, f32>(&words)[..numbers]);
                assert_eq!(found[0], sum.to_bits());
            }
        }
    }
}

#[test]
fn pieces_that_no_results_of_blocks_begin_with_are_refused() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let held = [gpu.buffer(64).unwrap(), gpu.buffer(64).unwrap()];
    let scratch = gpu.buffer(64).unwrap();
    let sum = |each, len| {
        let pieces = Pieces { buffers: &held, each };
        reduce::reduce_pieces(
            &gpu,
            Operation::Sum,
            Element::U32,
            pieces,
            len,
            &scratch,
            &scratch,
        )
    };
    is_unsupported(sum(64, 100_000));
    is_unsupported(sum(1 << 30, 3 << 30));
    is_unsupported(sum(
        reduce::piece_step(Element::U32),
        2 * reduce::piece_step(Element::U32),
    ));
    sum(64, 64).unwrap();
}

#[test]
fn a_histogram_of_pieces_counts_all_of_them() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    for element in [Element::U8, Element::U16] {
        let bits = element.bits();
        let per = (32 / bits) as usize;
        let words = words(10_000);
        let numbers = numbers(&words, bits);
        let held = buffers(&gpu, &words, 3_000);
        let pieces = Pieces {
            buffers: &held,
            each: (3_000 * per) as u64,
        };
        let counts = gpu.buffer(histogram::count_words(bits)).unwrap();
        let words = histogram::scratch_words(bits, pieces.each) as usize;
        let scratch = gpu.buffer(words).unwrap();
        for len in [numbers.len(), numbers.len() - 3, 3_000 * per, 1, 0] {
            histogram::histogram_pieces(&gpu, element, pieces, len as u64, &counts, &scratch).unwrap();
            let mut right = vec![0_u32; histogram::count_words(bits)];
            numbers[..len]
                .iter()
                .for_each(|number| right[2 * *number as usize] += 1);
            assert!(read(&gpu, &counts, right.len()) == right, "{len} of {bits} bits");
        }
        is_unsupported(histogram::histogram_pieces(
            &gpu,
            element,
            pieces,
            1 << 40,
            &counts,
            &scratch,
        ));
    }
}

/// The numbers that words hold.
fn numbers(words: &[u32], bits: u32) -> Vec<u32> {
    let of = |word: u32| (0..32 / bits).map(move |k| (word >> (k * bits)) & (u32::MAX >> (32 - bits)));
    words.iter().copied().flat_map(of).collect()
}

#[test]
fn a_scan_of_pieces_goes_on_where_the_one_before_has_ended() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    for (element, each, len) in [
        (Element::U32, 40_000, 100_003),
        (Element::U32, 16, 47),
        (Element::U8, 32_000, 64_001),
        (Element::U16, 8_008, 16_016),
        (Element::I32, 4_096, 10_000),
    ] {
        let bits = element.bits();
        let words = words(element.words(len) as usize);
        let from = buffers(&gpu, &words, (each * u64::from(bits) / 32) as usize);
        let to: Vec<Buffer> = (0..len.div_ceil(each))
            .map(|_| gpu.buffer(each as usize).unwrap())
            .collect();
        let of = |buffers| Pieces { buffers, each };
        let scratch = gpu.buffer(scan::pieces_scratch_words(&of(&from))).unwrap();
        for kind in [Kind::Inclusive, Kind::Exclusive] {
            scan::scan_pieces(&gpu, kind, element, len, of(&from), of(&to), &scratch).unwrap();
            let found: Vec<u32> = to
                .iter()
                .flat_map(|sums| read(&gpu, sums, each as usize))
                .collect();
            let mut sum = 0_u32;
            let sums = numbers(&words, bits).into_iter().map(|number| {
                let before = sum;
                sum = sum.wrapping_add(number);
                if kind == Kind::Inclusive { sum } else { before }
            });
            let right: Vec<u32> = sums.take(len as usize).collect();
            assert!(
                found[..len as usize] == right,
                "{kind:?}, {len} {element:?} by {each}"
            );
        }
        let longer = Pieces {
            each: each + 4,
            ..of(&to)
        };
        is_unsupported(scan::scan_pieces(
            &gpu,
            Kind::Inclusive,
            element,
            len,
            of(&from),
            longer,
            &scratch,
        ));
    }
}

#[test]
fn a_scan_of_pieces_of_floats_goes_on_too() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    // Whole numbers, whose sums are exact in any order.
    let words: Vec<u32> = (0..9_000).map(|i| ((i % 7) as f32).to_bits()).collect();
    let from = buffers(&gpu, &words, 4_000);
    let to = [(); 3].map(|()| gpu.buffer(4_000).unwrap());
    let (from, sums) = (
        Pieces {
            buffers: &from,
            each: 4_000,
        },
        Pieces {
            buffers: &to,
            each: 4_000,
        },
    );
    let scratch = gpu.buffer(scan::pieces_scratch_words(&from)).unwrap();
    scan::scan_pieces(&gpu, Kind::Exclusive, Element::F32, 9_000, from, sums, &scratch).unwrap();
    let found: Vec<u32> = to.iter().flat_map(|sums| read(&gpu, sums, 4_000)).collect();
    let mut sum = 0.0;
    for (i, found) in found[..9_000].iter().enumerate() {
        assert_eq!(f32::from_bits(*found), sum, "at {i}");
        sum += (i % 7) as f32;
    }
}

#[test]
fn a_selection_of_pieces_fills_buffer_after_buffer() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    for (kind, each, to_each, len, modulo) in [
        (Element::U32, 20_480, 7_000, 50_001, 2),
        (Element::U32, 8_192, 100_000, 33_000, 3),
        (Element::U8, 40_960, 9_004, 100_003, 2),
        (Element::U16, 16_384, 4_004, 40_000, 5),
        (Element::U8, 8_192, 2_048, 8_193, 1),
    ] {
        let bits = kind.bits();
        // Every `modulo`-th number is kept, more or less regularly.
        let mut held = words(kind.words(len) as usize);
        let wanted: Vec<u8> = (0..len.next_multiple_of(16))
            .map(|i| u8::from((i * 7 + i / 1_000) % modulo == 0))
            .collect();
        for (w, word) in held.iter_mut().enumerate() {
            for k in 0..32 / bits {
                let mask = (u32::MAX >> (32 - bits)) << (k * bits);
                match wanted[w * (32 / bits) as usize + k as usize] {
                    0 => *word &= !mask,
                    _ => *word |= 1 << (k * bits),
                }
            }
        }
        let all = numbers(&held, bits);
        let right: Vec<u32> = (0..len as usize)
            .filter(|i| all[*i] != 0)
            .map(|i| all[i])
            .collect();
        let from = buffers(&gpu, &held, (each * u64::from(bits) / 32) as usize);
        let to: Vec<Buffer> = (0..len.div_ceil(to_each))
            .map(|_| {
                gpu.upload(&vec![0xDDDD_DDDD; kind.words(to_each) as usize])
                    .unwrap()
            })
            .collect();
        let scratch = gpu.buffer(select::scratch_words(bits, each) as usize).unwrap();
        let flags: Vec<Buffer> = wanted
            .chunks(each as usize)
            .map(|flags| {
                gpu.upload(
                    &flags
                        .as_chunks::<4>()
                        .0
                        .iter()
                        .map(|f| u32::from_le_bytes(*f))
                        .collect::<Vec<_>>(),
                )
                .unwrap()
            })
            .collect();
        for wanted in [PiecesWanted::NonZero, PiecesWanted::Flagged(&flags)] {
            let selection = PiecesSelection {
                from: Pieces { buffers: &from, each },
                kind,
                len,
                wanted,
                output: PiecesOutput::Values(Pieces {
                    buffers: &to,
                    each: to_each,
                }),
                scratch: &scratch,
            };
            let route = match wanted {
                PiecesWanted::NonZero => select::Route::Phases,
                _ => select::Route::fitting(gpu.report()),
            };
            let kept = select_with(&gpu, route, 8_192, &selection).unwrap();
            let of_piece = |numbers: &[u32]| numbers.iter().filter(|n| **n != 0).count() as u64;
            let counts: Vec<u64> = all[..len as usize].chunks(each as usize).map(of_piece).collect();
            assert_eq!(kept, counts, "{len} {kind:?}");
            let words = to_each * u64::from(bits) / 32;
            let found: Vec<u32> = to
                .iter()
                .flat_map(|sums| numbers(&read(&gpu, sums, words as usize), bits))
                .collect();
            assert!(
                found[..right.len()] == right,
                "{len} {kind:?} by {each} to {to_each}"
            );
            assert!(
                found[right.len()..]
                    .iter()
                    .all(|v| *v == 0xDDDD_DDDD >> (32 - bits)),
                "{len} {kind:?}"
            );
        }
    }
}

#[test]
fn selections_to_pieces_that_do_not_hold_all_are_refused() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let held = [(); 3].map(|()| gpu.buffer(1_024).unwrap());
    let scratch = gpu.buffer(select::scratch_words(32, 1_024) as usize).unwrap();
    let run = |to_each, len| {
        let of = |each| Pieces { buffers: &held, each };
        let selection = PiecesSelection {
            from: of(1_024),
            kind: Element::U32,
            len,
            wanted: PiecesWanted::NonZero,
            output: PiecesOutput::Values(of(to_each)),
            scratch: &scratch,
        };
        select::pieces::select(&gpu, &selection).map(drop)
    };
    is_unsupported(run(1_000, 3_001));
    is_unsupported(run(1_023, 3_000));
    is_unsupported(run(0, 1));
    is_unsupported(run(1_024, 3_073));
    run(1_024, 0).unwrap();
}

/// Poisoned buffers of `each` numbers of these bits, enough for `len`.
fn poisoned(gpu: &Gpu, len: u64, each: u64, kind: Element) -> Vec<Buffer> {
    let one = || gpu.upload(&vec![0xDDDD_DDDD; kind.words(each) as usize]).unwrap();
    (0..len.div_ceil(each)).map(|_| one()).collect()
}

/// Whether buffers of `each` hold these numbers, one after the other, and nothing else.
fn hold(gpu: &Gpu, to: &[Buffer], each: u64, bits: u32, right: &[u32], label: &str) {
    let words = (each * u64::from(bits) / 32) as usize;
    let found: Vec<u32> = to
        .iter()
        .flat_map(|b| numbers(&read(gpu, b, words), bits))
        .collect();
    if let Some(at) = found.iter().zip(right).position(|(a, b)| a != b) {
        panic!("{label}: {} at {at} instead of {}", found[at], right[at]);
    }
    let untouched = 0xDDDD_DDDD >> (32 - bits);
    assert!(
        found[right.len()..].iter().all(|v| *v == untouched),
        "past {label}"
    );
}

#[test]
fn halves_and_places_of_pieces_fill_buffers_of_their_own() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    for (kind, each, kept_each, left_each, len) in [
        (Element::U32, 20_480, 7_000, 3_004, 50_001),
        (Element::U32, 8_192, 100_000, 4_000, 33_000),
        (Element::U16, 16_384, 4_004, 9_000, 40_000),
        (Element::U8, 40_960, 9_004, 20_000, 100_003),
    ] {
        let bits = kind.bits();
        let held = words(kind.words(len) as usize);
        let all = &numbers(&held, bits)[..len as usize];
        let from = buffers(&gpu, &held, (each * u64::from(bits) / 32) as usize);
        let scratch = gpu.buffer(select::scratch_words(bits, each) as usize).unwrap();
        let third = u32::MAX >> (32 - bits);
        let keys = match kind {
            Element::U8 => Keys::within((third / 3) as u8, (third / 3 * 2) as u8),
            Element::U16 => Keys::within((third / 3) as u16, (third / 3 * 2) as u16),
            _ => Keys::within(third / 3, third / 3 * 2),
        };
        let inside = |value: &u32| (third / 3..=third / 3 * 2).contains(value);
        let (kept, left): (Vec<u32>, Vec<u32>) = all.iter().partition(|value| inside(value));
        let counts: Vec<u64> = all
            .chunks(each as usize)
            .map(|piece| piece.iter().filter(|value| inside(value)).count() as u64)
            .collect();
        let selects = |output| {
            let selection = PiecesSelection {
                from: Pieces { buffers: &from, each },
                kind,
                len,
                wanted: PiecesWanted::Within(keys.unwrap()),
                output,
                scratch: &scratch,
            };
            let route = select::Route::fitting(gpu.report());
            let found = select_with(&gpu, route, 8_192, &selection).unwrap();
            assert_eq!(found, counts, "{len} {kind:?}");
        };
        let label = format!("{len} {kind:?} by {each}");

        let (to, rest) = (
            poisoned(&gpu, len, kept_each, kind),
            poisoned(&gpu, len, left_each, kind),
        );
        let of = |buffers, each| Pieces { buffers, each };
        selects(PiecesOutput::Halves(of(&to, kept_each), of(&rest, left_each)));
        hold(&gpu, &to, kept_each, bits, &kept, &label);
        hold(&gpu, &rest, left_each, bits, &left, &label);

        let places = poisoned(&gpu, len, kept_each, Element::U32);
        selects(PiecesOutput::Indices(of(&places, kept_each)));
        let right: Vec<u32> = (0..len as usize)
            .filter(|i| inside(&all[*i]))
            .map(|i| (i % each as usize) as u32)
            .collect();
        hold(&gpu, &places, kept_each, 32, &right, &label);
    }
}

#[test]
fn runs_of_rows_in_pieces_begin_where_bytes_change_and_with_each_row() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    for (width, each, to_each, len) in [
        (100_u32, 20_800_u64, 3_000, 50_003_u64),
        (9_600, 38_400, 8_000, 100_000),
        (1, 8_192, 4_096, 9_000),
    ] {
        // Runs of one to seven bytes.
        let byte = |i: u64| (i / (1 + i / 1_000 % 7)) as u8;
        let bytes: Vec<u8> = (0..len.next_multiple_of(16)).map(byte).collect();
        let held: Vec<u32> = bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|b| u32::from_le_bytes(*b))
            .collect();
        let from = buffers(&gpu, &held, each as usize / 4);
        let (places, values) = (
            poisoned(&gpu, len, to_each, Element::U32),
            poisoned(&gpu, len, to_each, Element::U8),
        );
        let scratch = gpu.buffer(select::scratch_words(8, each) as usize).unwrap();
        let of = |buffers| Pieces {
            buffers,
            each: to_each,
        };
        let selection = PiecesSelection {
            from: Pieces { buffers: &from, each },
            kind: Element::U8,
            len,
            wanted: PiecesWanted::Heads(width),
            output: PiecesOutput::Places(of(&places), of(&values)),
            scratch: &scratch,
        };
        let route = select::Route::fitting(gpu.report());
        let kept = select_with(&gpu, route, 8_192, &selection).unwrap();
        let heads = (0..len as usize).filter(|i| i % width as usize == 0 || bytes[*i] != bytes[i - 1]);
        let heads: Vec<usize> = heads.collect();
        let label = format!("rows of {width} in {len}");
        assert_eq!(kept.iter().sum::<u64>(), heads.len() as u64, "{label}");
        let right: Vec<u32> = heads.iter().map(|i| (*i % each as usize) as u32).collect();
        hold(&gpu, &places, to_each, 32, &right, &label);
        let right: Vec<u32> = heads.iter().map(|i| bytes[*i].into()).collect();
        hold(&gpu, &values, to_each, 8, &right, &label);

        let cut = Pieces {
            buffers: &from,
            each: each + 1,
        };
        for (from, kind) in [(cut, Element::U8), (selection.from, Element::U32)] {
            let selection = PiecesSelection {
                from,
                kind,
                ..selection
            };
            is_unsupported(select::pieces::select(&gpu, &selection).map(drop));
        }
    }
}

const fn matrix(buffer: &Buffer, pitch: u32) -> Matrix<'_> {
    Matrix { buffer, pitch }
}

#[test]
fn an_integral_image_goes_on_below_another() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let (width, height) = (141_u32, 330_usize);
    for sums in Sums::ALL {
        // Rows of 144 samples; whole numbers, whose sums are exact in any order.
        let pitch = 144 * sums.bits() / 32;
        let mut samples = words(pitch as usize * height);
        if sums == Sums::Floats {
            samples
                .iter_mut()
                .for_each(|word| *word = ((*word % 9) as f32).to_bits());
        }
        let (target, scratch) = (
            144 * sums.words(),
            integral::scratch_words(sums, width, height as u32),
        );
        let scratch = gpu.buffer(scratch).unwrap();
        let whole = gpu.buffer(target as usize * height).unwrap();
        let from = gpu.upload(&samples).unwrap();
        let size = (width, height as u32);
        integral::integral(
            &gpu,
            sums,
            size,
            matrix(&from, pitch),
            matrix(&whole, target),
            &scratch,
        )
        .unwrap();
        let right = read(&gpu, &whole, target as usize * height);
        let mut first = 0;
        let mut above: Option<(Buffer, usize)> = None;
        for rows in [100, 1, 3, 226] {
            let from = gpu
                .upload(&samples[first * pitch as usize..][..rows * pitch as usize])
                .unwrap();
            let to = gpu.buffer(target as usize * rows).unwrap();
            let row = above.as_ref().map(|(buffer, start)| integral::Above {
                buffer,
                start: *start,
            });
            let (size, picture) = ((width, rows as u32), matrix(&from, pitch));
            integral::integral_below(&gpu, sums, size, row, picture, matrix(&to, target), &scratch).unwrap();
            let found = read(&gpu, &to, target as usize * rows);
            for (y, (found, right)) in found
                .chunks(target as usize)
                .zip(right[first * target as usize..].chunks(target as usize))
                .enumerate()
            {
                let row = (width * sums.words()) as usize;
                assert!(
                    found[..row] == right[..row],
                    "{sums:?}, row {y} of {rows} from {first} on"
                );
            }
            first += rows;
            above = Some((to, target as usize * (rows - 1)));
        }
        let short = integral::Above {
            buffer: &whole,
            start: whole.words() - 9,
        };
        let (picture, to) = (matrix(&from, pitch), matrix(&whole, target));
        is_unsupported(integral::integral_below(
            &gpu,
            sums,
            (width, 1),
            Some(short),
            picture,
            to,
            &scratch,
        ));
    }
}

#[test]
#[ignore = "takes 57 GiB of a device's memory"]
fn more_than_2_32_words_are_reduced_scanned_counted_and_selected_from() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let (each, to_each) = (1_u64 << 31, (1_u64 << 31) - (1 << 20));
    let len = 3 * each;
    let from = [3, 0, 4].map(|value| {
        let buffer = gpu.buffer(each as usize).unwrap();
        fill(&gpu, &buffer, each as usize, value).unwrap();
        buffer
    });
    let numbers = Pieces { buffers: &from, each };
    let scratch = gpu.buffer(64 << 20).unwrap();
    let result = gpu.buffer(4).unwrap();

    let sum =
        |to: &Buffer| reduce::reduce_pieces(&gpu, Operation::Sum, Element::U32, numbers, len, to, &scratch);
    sum(&result).unwrap();
    assert_eq!(read(&gpu, &result, 2), [1 << 31, 3]);
    let least = Operation::PlaceOfLeast;
    reduce::reduce_pieces(&gpu, least, Element::U32, numbers, len, &result, &scratch).unwrap();
    assert_eq!(read(&gpu, &result, 2), [1 << 31, 0]);

    let counts = gpu.buffer(histogram::count_words(8)).unwrap();
    histogram::histogram_pieces(
        &gpu,
        Element::U8,
        Pieces {
            each: 4 * each,
            ..numbers
        },
        4 * len,
        &counts,
        &scratch,
    )
    .unwrap();
    let counted = read(&gpu, &counts, 10);
    // Of 12 GiB of each word, three quarters of the bytes are 0, and all of those of the words that are 0.
    assert_eq!(counted[..2], [0, 5]);
    assert_eq!(
        (&counted[6..8], &counted[8..10]),
        (&[1 << 31, 0][..], &[1 << 31, 0][..])
    );

    let to = [(); 4].map(|()| gpu.buffer(each as usize).unwrap());
    let sums = Pieces {
        buffers: &to[..3],
        each,
    };
    scan::scan_pieces(&gpu, Kind::Inclusive, Element::U32, len, numbers, sums, &scratch).unwrap();
    let end = |buffer: &Buffer, at: u64| read(&gpu, &buffer.part(at as usize, 64).unwrap(), 64);
    let three = (each as u32).wrapping_mul(3);
    assert_eq!(end(&to[0], each - 64)[63], three);
    assert_eq!(end(&to[1], each - 64), [three; 64]);
    assert_eq!(
        end(&to[2], each - 64)[63],
        three.wrapping_add((each as u32).wrapping_mul(4))
    );

    let selection = PiecesSelection {
        from: numbers,
        kind: Element::U32,
        len,
        wanted: PiecesWanted::NonZero,
        output: PiecesOutput::Values(Pieces {
            buffers: &to,
            each: to_each,
        }),
        scratch: &scratch,
    };
    assert_eq!(select::pieces::select(&gpu, &selection).unwrap(), [each, 0, each]);
    assert_eq!(end(&to[0], to_each - 64), [3; 64]);
    assert_eq!(end(&to[1], 0), [3; 64]);
    assert_eq!(end(&to[1], (1 << 20) - 64), [3; 64]);
    assert_eq!(end(&to[1], 1 << 20), [4; 64]);
    assert_eq!(end(&to[2], (2 << 20) - 64), [4; 64]);
}

#[test]
fn sizes_that_no_memory_holds_are_refused() {
    use relief_kernels::{copy, table};
    use relief_numeric::{map, min_plus};
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let buffer = || gpu.buffer(64).unwrap();
    let (a, b, c) = (buffer(), buffer(), buffer());
    for count in [usize::MAX, usize::MAX - 2, usize::MAX / 4 + 1] {
        assert!(copy::gpu::copy(&gpu, &a, &b, count).is_err(), "{count} words");
        assert!(map::gpu::add(&gpu, &a, &b, &c, count).is_err(), "{count} floats");
        let entries = table::gpu::map(&gpu, Depth::Eight, &a, &b, &c, count);
        assert!(entries.is_err(), "{count} words by a table");
    }
    assert!(min_plus::gpu::paths::scratch_words(u32::MAX) > u64::from(u32::MAX).pow(2));
    let short = |buffer| Matrix { buffer, pitch: 4 };
    let size = (u32::MAX, 1);
    assert!(integral::integral(&gpu, Sums::Short, size, short(&a), short(&b), &c).is_err());
}
