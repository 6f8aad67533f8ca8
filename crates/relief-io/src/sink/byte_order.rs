//! 16-bit samples in a byte order of the format's choice.

use std::io::{self, Write};

use relief_engine::sink::Samples;

/// The bytes turned at once.
pub(super) const BUFFER: usize = 64 * 1024;

/// The byte order of samples in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    const NATIVE: Self = if cfg!(target_endian = "little") {
        Self::Little
    } else {
        Self::Big
    };

    /// The bytes held while samples are written.
    pub(super) const fn memory(self) -> u64 {
        if self as u8 == Self::NATIVE as u8 {
            0
        } else {
            BUFFER as u64
        }
    }
}

/// Writes samples in a byte order. Samples that already lie so are handed on as they are.
#[derive(Debug)]
pub(super) struct SampleWriter {
    order: ByteOrder,
    /// Samples with their bytes swapped; empty until needed.
    swapped: Vec<u16>,
}

impl SampleWriter {
    pub(super) const fn new(order: ByteOrder) -> Self {
        Self {
            order,
            swapped: Vec::new(),
        }
    }

    pub(super) fn write(&mut self, samples: Samples<'_>, output: &mut impl Write) -> io::Result<()> {
        match samples {
            Samples::Sixteen(samples) if self.order != ByteOrder::NATIVE => {
                for part in samples.chunks(BUFFER / 2) {
                    self.swapped.clear();
                    self.swapped.extend(part.iter().map(|sample| sample.swap_bytes()));
                    output.write_all(bytemuck::cast_slice(&self.swapped))?;
                }
                Ok(())
            }
            _ => output.write_all(samples.native_bytes()),
        }
    }
}
