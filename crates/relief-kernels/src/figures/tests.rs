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
