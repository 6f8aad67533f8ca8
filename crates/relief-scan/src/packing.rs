//! Samples to bytes.

use relief_raster::{Depth, Sample};

use relief_design::scan::{BitOrder, Bits, ByteOrder, Packing, Polarity};

/// What a packing does.
pub(crate) trait Pack: Copy {
    /// The bytes of so many samples.
    fn bytes(self, samples: u64) -> u64;

    /// The value that a sample is packed as: one of 1, 8 or 16 bits.
    fn value<S: Sample>(self, sample: S) -> u16;

    /// Packs samples into exactly their bytes; bits left over in the last byte are blank.
    fn pack<S: Sample>(self, samples: &[S], out: &mut [u8]);

    /// A value of 16 bits in its byte order.
    fn word(self, value: u16) -> [u8; 2];
}

impl Pack for Packing {
    fn bytes(self, samples: u64) -> u64 {
        match self.bits {
            Bits::One => samples.div_ceil(8),
            Bits::Eight => samples,
            Bits::Sixteen => samples.saturating_mul(2),
        }
    }

    fn value<S: Sample>(self, sample: S) -> u16 {
        let v = sample.to_u16();
        let (value, max) = match (self.bits, S::DEPTH) {
            (Bits::One, _) => (u16::from(v != 0), 1),
            (Bits::Eight, Depth::Eight) => (v, 255),
            (Bits::Eight, Depth::Sixteen) => (((u32::from(v) + 128) / 257) as u16, 255),
            (Bits::Sixteen, Depth::Eight) => (v * 257, 65_535),
            (Bits::Sixteen, Depth::Sixteen) => (v, 65_535),
        };
        if is_inverted(self) { max - value } else { value }
    }

    fn pack<S: Sample>(self, samples: &[S], out: &mut [u8]) {
        match self.bits {
            Bits::Eight if S::DEPTH == Depth::Eight && !is_inverted(self) => {
                out.copy_from_slice(bytemuck::cast_slice(samples));
            }
            Bits::Eight => {
                for (out, &sample) in out.iter_mut().zip(samples) {
                    *out = self.value(sample) as u8;
                }
            }
            Bits::Sixteen => {
                for (out, &sample) in out.chunks_exact_mut(2).zip(samples) {
                    out.copy_from_slice(&self.word(self.value(sample)));
                }
            }
            Bits::One => pack_bits(self, samples, out),
        }
    }

    fn word(self, value: u16) -> [u8; 2] {
        match self.byte_order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }
}

const fn is_inverted(packing: Packing) -> bool {
    matches!(packing.polarity, Polarity::Inverted)
}

fn pack_bits<S: Sample>(packing: Packing, samples: &[S], out: &mut [u8]) {
    let flip = if is_inverted(packing) { 0xFF } else { 0 };
    for (out, eight) in out.iter_mut().zip(samples.chunks(8)) {
        let mut byte = 0;
        for (place, &sample) in eight.iter().enumerate() {
            byte |= u8::from(sample != S::ZERO) << place;
        }
        let byte = match packing.bit_order {
            BitOrder::LeastFirst => byte,
            BitOrder::MostFirst => byte.reverse_bits(),
        };
        *out = byte ^ flip;
    }
}

/// The values of a packed line, before polarity: what a controller does with its bytes.
#[must_use]
pub fn unpack(packing: Packing, bytes: &[u8], samples: usize) -> Vec<u16> {
    let raw = |index: usize| match packing.bits {
        Bits::One => {
            let byte = bytes.get(index / 8).copied().unwrap_or(0);
            let place = match packing.bit_order {
                BitOrder::LeastFirst => index % 8,
                BitOrder::MostFirst => 7 - index % 8,
            };
            (u16::from(byte >> place & 1), 1)
        }
        Bits::Eight => (u16::from(bytes.get(index).copied().unwrap_or(0)), 255),
        Bits::Sixteen => {
            let pair = [2 * index, 2 * index + 1].map(|at| bytes.get(at).copied().unwrap_or(0));
            let value = match packing.byte_order {
                ByteOrder::Little => u16::from_le_bytes(pair),
                ByteOrder::Big => u16::from_be_bytes(pair),
            };
            (value, 65_535)
        }
    };
    let invert = matches!(packing.polarity, Polarity::Inverted);
    (0..samples)
        .map(raw)
        .map(|(value, max)| if invert { max - value } else { value })
        .collect()
}
