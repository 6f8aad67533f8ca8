//! Samples of any number of bits from bytes.

/// Appends `count` samples of `bits` bits, 1 to 32, that stand one after the other, the first in the high bits of a byte.
pub(super) fn unpack(bytes: &[u8], bits: u32, count: usize, into: &mut Vec<u32>) {
    match bits {
        8 => into.extend(bytes.iter().take(count).map(|&v| u32::from(v))),
        16 => into.extend(
            bytes
                .chunks_exact(2)
                .take(count)
                .map(|v| u32::from(u16::from_be_bytes([v[0], v[1]]))),
        ),
        _ => {
            let (mut held, mut have) = (0_u64, 0);
            let mut bytes = bytes.iter();
            for _ in 0..count {
                while have < bits {
                    held = held << 8 | u64::from(bytes.next().copied().unwrap_or(0));
                    have += 8;
                }
                have -= bits;
                into.push((held >> have & ((1_u64 << bits) - 1)) as u32);
            }
        }
    }
}

/// The greatest sample of so many bits, 1 to 32.
pub(super) const fn greatest(bits: u32) -> u32 {
    ((1_u64 << bits) - 1) as u32
}
