use super::{Figures, cpu};
use crate::block::testing::noise;
use crate::isa::Isa;

fn expected(samples: &[u16]) -> Figures {
    Figures {
        sum: samples.iter().map(|sample| u64::from(*sample)).sum(),
        least: samples.iter().copied().min().unwrap_or(u16::MAX),
        greatest: samples.iter().copied().max().unwrap_or(0),
    }
}

#[test]
fn any_number_of_samples_has_its_figures() {
    Isa::each(|| {
        for count in (0..70).chain([255, 256, 257, 511, 512, 1_000, 4_099]) {
            let bytes = noise::<u8>(count, count as u64, 200);
            let wide: Vec<u16> = bytes.iter().map(|sample| u16::from(*sample)).collect();
            assert_eq!(cpu::of_bytes(Isa::best(), &bytes), expected(&wide), "{count}");
            let words = noise::<u16>(count, count as u64, 60_000);
            assert_eq!(cpu::of_words(Isa::best(), &words), expected(&words), "{count}");
        }
    });
}

#[test]
fn sums_of_the_greatest_samples_do_not_overflow() {
    Isa::each(|| {
        let all = Figures {
            sum: 255 * 3_000,
            least: 255,
            greatest: 255,
        };
        assert_eq!(cpu::of_bytes(Isa::best(), &[255; 3_000]), all);
        let all = Figures {
            sum: 65_535 * 3_000,
            least: u16::MAX,
            greatest: u16::MAX,
        };
        assert_eq!(cpu::of_words(Isa::best(), &[u16::MAX; 3_000]), all);
    });
}

#[test]
fn blocks_of_rows_have_their_figures() {
    Isa::each(|| {
        for (columns, rows, side, gap) in [
            (1, 1, 256, 0),
            (300, 5, 256, 7),
            (4_096, 3, 256, 0),
            (9_001, 2, 64, 1),
            (70, 600, 32, 0),
        ] {
            let pitch = columns + gap;
            let words = noise::<u16>(pitch * rows, columns as u64, 60_000);
            let bytes: Vec<u8> = words.iter().map(|sample| (sample >> 8) as u8).collect();
            let of = |samples: &[u16], block: usize| {
                let rows = samples
                    .chunks(pitch)
                    .map(|row| &row[block * side..columns.min((block + 1) * side)]);
                expected(&rows.flatten().copied().collect::<Vec<_>>())
            };
            let mut found = vec![Figures::EMPTY; columns.div_ceil(side)];
            cpu::add_rows_of_words(Isa::best(), &words, pitch, columns, rows, side, &mut found);
            let wide: Vec<u16> = bytes.iter().map(|sample| u16::from(*sample)).collect();
            let mut of_bytes = vec![Figures::EMPTY; found.len()];
            cpu::add_rows_of_bytes(Isa::best(), &bytes, pitch, columns, rows, side, &mut of_bytes);
            for (block, (one, other)) in found.iter().zip(&of_bytes).enumerate() {
                assert_eq!(
                    (*one, *other),
                    (of(&words, block), of(&wide, block)),
                    "{columns} × {rows}, block {block}"
                );
            }
        }
    });
}

#[test]
fn columns_of_the_greatest_bytes_do_not_overflow() {
    let mut block = [Figures::EMPTY];
    cpu::add_rows_of_bytes(Isa::best(), &[255; 64 * 700], 64, 64, 700, 64, &mut block);
    assert_eq!(block[0].sum, 255 * 64 * 700);
}
