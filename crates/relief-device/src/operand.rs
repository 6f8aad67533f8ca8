//! What a launch is told about the memory of its kernel, and which memory it refuses.

use super::buffer::Account;
use super::{Buffer, DeviceError, DeviceId};

/// A buffer that a kernel reads or writes, as [`Gpu::launch`](super::Gpu::launch) is told.
///
/// It stands for all words of the buffer, whichever of them the kernel touches, unless [`within`](Self::within) says less: to
/// read one half of a buffer and write the other, give a [`part`](Buffer::part) for each.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    what: &'static str,
    buffer: &'a Buffer,
    /// The first of its words, and how many there are.
    words: (usize, usize),
    access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    ReadElementwise,
    Write,
    Update,
}

impl<'a> Operand<'a> {
    /// Memory that the kernel reads. No output may share a word with it.
    #[must_use]
    pub const fn read(what: &'static str, buffer: &'a Buffer) -> Self {
        Self::new(what, buffer, Access::Read)
    }

    /// Memory that the kernel reads element by element: only the thread (CubeCL's unit) that writes an element of an output
    /// reads the element at the same place here, and reads it first. An output may begin at the same word.
    #[must_use]
    pub const fn read_elementwise(what: &'static str, buffer: &'a Buffer) -> Self {
        Self::new(what, buffer, Access::ReadElementwise)
    }

    /// Memory whose first word the kernel overwrites, whatever was there. The kernel reads nothing here but what it wrote
    /// itself. Other words may be left as they are.
    #[must_use]
    pub const fn write(what: &'static str, buffer: &'a Buffer) -> Self {
        Self::new(what, buffer, Access::Write)
    }

    /// Memory that the kernel writes, and whose first word it may also read or leave as it is: where it adds to what is
    /// there, keeps its state, or writes only rows further down.
    #[must_use]
    pub const fn update(what: &'static str, buffer: &'a Buffer) -> Self {
        Self::new(what, buffer, Access::Update)
    }

    const fn new(what: &'static str, buffer: &'a Buffer, access: Access) -> Self {
        Self {
            what,
            buffer,
            words: (0, buffer.words()),
            access,
        }
    }

    /// The same, of which the kernel touches but `words` words from `start` on.
    #[must_use]
    pub fn within(self, start: usize, words: usize) -> Self {
        let start = start.min(self.buffer.words());
        let words = words.min(self.buffer.words() - start);
        Self {
            words: (start, words),
            ..self
        }
    }

    /// Whether it is this buffer.
    #[must_use]
    pub fn is_of(&self, buffer: &Buffer) -> bool {
        self.buffer.same(buffer)
    }

    pub(super) const fn buffer(&self) -> &'a Buffer {
        self.buffer
    }

    const fn is_written(&self) -> bool {
        matches!(self.access, Access::Write | Access::Update)
    }

    /// Whether one of both is an output, and computing it where the other lies gives wrong numbers.
    fn disturbs(&self, other: &Self) -> bool {
        let elementwise = self.access == Access::ReadElementwise || other.access == Access::ReadElementwise;
        (self.is_written() || other.is_written())
            && self.overlaps(other)
            && !(elementwise && self.buffer.begins_with(other.buffer) && self.words.0 == other.words.0)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.buffer.words_overlap(self.words, other.buffer, other.words)
    }
}

/// Refuses memory of another device, and outputs that share words with an input or with each other.
pub(super) fn check(
    device: DeviceId,
    account: &std::sync::Arc<Account>,
    operands: &[Operand<'_>],
) -> Result<(), DeviceError> {
    for (i, one) in operands.iter().enumerate() {
        if !one.buffer.is_of(account) {
            let what = one.what;
            return Err(DeviceError::OtherDevice { device, what });
        }
        if let Some(other) = operands[..i].iter().find(|other| one.disturbs(other)) {
            let (written, other) = match one.is_written() {
                true => (one, other),
                false => (other, one),
            };
            return Err(DeviceError::Overlap {
                device,
                what: written.what,
                with: other.what,
            });
        }
    }
    Ok(())
}

/// The output whose first word tells whether the kernel ran: one that shares no word with any other memory of the kernel.
pub(super) fn witness<'a>(operands: &[Operand<'a>]) -> Option<&'a Buffer> {
    let apart = |one: &Operand<'_>| {
        one.access == Access::Write
            && operands
                .iter()
                .all(|other| other.is_written() || !other.overlaps(one))
    };
    operands.iter().find(|one| apart(one)).map(Operand::buffer)
}
