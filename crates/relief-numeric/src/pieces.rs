//! Arrays longer than one buffer.
//!
//! A buffer has at most 2^32 words, because kernels count words in 32 bits; bindings of Vulkan devices are mostly shorter, and the
//! CUDA runtime's memory pools hand out no more than a quarter of the device's memory at once. So what is longer lies in several
//! buffers. Kernels take them one after the other and carry on what they came to, with offsets of 64 bits on the host: memory is
//! all that limits the length.

use crate::element::Element;
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand};

/// An array in several buffers, each packed from its first word on.
#[derive(Clone, Copy, Debug)]
pub struct Pieces<'a> {
    /// The buffers, in order.
    pub buffers: &'a [Buffer],
    /// Numbers that each of them holds; the last may hold fewer.
    pub each: u64,
}

/// One of the buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) buffer: &'a Buffer,
    /// Numbers before it, and its own.
    pub(crate) first: u64,
    pub(crate) len: u64,
}

impl<'a> Pieces<'a> {
    /// What a function that takes one buffer after the other is told to read; and the same of what it writes.
    pub(crate) fn read(self, what: &'static str) -> impl Iterator<Item = Operand<'a>> {
        self.buffers.iter().map(move |buffer| Operand::read(what, buffer))
    }

    pub(crate) fn updated(self, what: &'static str) -> impl Iterator<Item = Operand<'a>> {
        self.buffers
            .iter()
            .map(move |buffer| Operand::update(what, buffer))
    }

    /// Whether they hold `len` numbers.
    pub(crate) fn check(self, gpu: &Gpu, element: Element, len: u64) -> Result<(), DeviceError> {
        self.of(gpu, element, len).map(drop)
    }

    /// The pieces of the first `len` numbers.
    pub(crate) fn of(
        self,
        gpu: &Gpu,
        element: Element,
        len: u64,
    ) -> Result<impl Iterator<Item = Piece<'a>> + use<'a>, DeviceError> {
        let each = self.each.max(1);
        let count = len.div_ceil(each);
        let Some(held) = usize::try_from(count)
            .ok()
            .and_then(|count| self.buffers.get(..count))
        else {
            let held = self.buffers.len();
            return Err(gpu.unsupported(format!("{len} numbers in {held} buffers of {each} each")));
        };
        let pieces = held.iter().zip(0..).map(move |(buffer, k)| Piece {
            buffer,
            first: k * each,
            len: (len - k * each).min(each),
        });
        if let Some(short) = pieces
            .clone()
            .find(|piece| element.words(piece.len) > piece.buffer.words() as u64)
        {
            let (len, bits, words) = (short.len, element.bits(), short.buffer.words());
            return Err(gpu.unsupported(format!("{len} numbers of {bits} bits in {words} words")));
        }
        Ok(pieces)
    }
}
