use super::cpu::{copy, copy_part, stream};
use crate::isa::Isa;

#[test]
fn a_stream_copies_every_byte_and_no_other_wherever_it_begins() {
    Isa::each(|| {
        for length in [0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 300, 4_099] {
            for (start, target) in [(0, 0), (1, 0), (0, 1), (7, 63)] {
                let from: Vec<u8> = (0..length + 100).map(|i| (i * 7 + 1) as u8).collect();
                let mut to = vec![0xAA; length + 200];
                stream(&from[start..start + length], &mut to[target..target + length]);
                let same = to[target..target + length] == from[start..start + length];
                assert!(same, "{length} bytes from {start} to {target}");
                let around = to[..target].iter().chain(&to[target + length..]);
                assert!(
                    around.copied().all(|byte| byte == 0xAA),
                    "{length} bytes to {target}"
                );
            }
        }
    });
}

#[test]
fn a_copy_in_parts_is_the_copy_whatever_its_size() {
    Isa::each(|| {
        for length in [0, 1, 1_000, 4 << 20, 5 << 20 | 3] {
            let from: Vec<u8> = (0..length).map(|i| (i * 7 % 251) as u8).collect();
            let (mut whole, mut parts) = (vec![0xAA; length + 1], vec![0xAA; length + 1]);
            copy(&from, &mut whole[..length]);
            for (from, to) in from.chunks(100_003).zip(parts[..length].chunks_mut(100_003)) {
                copy_part(from, to, length);
            }
            assert!(whole[..length] == from[..] && whole[length] == 0xAA, "{length}");
            assert!(parts == whole, "{length}");
        }
    });
}
