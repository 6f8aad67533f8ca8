//! What callers of kernels get wrong, each said by an error of its own: families ask here, and check nothing of this
//! themselves.

use std::fmt::Display;

use cubecl::prelude::*;

use super::operand::{self, Operand};
use super::policy::{Space, Tuning};
use super::{Buffer, DeviceError, Gpu};

/// The most words that a kernel counts in 32 bits: those past the end as well, up to a cube for each row of the grid.
const MOST_WORDS: u64 = 0xF000_0000 - 4;

/// What the words of a buffer may start at: devices bind memory from 256 bytes to 256 bytes.
const PART: u64 = 64;

impl Gpu {
    /// Refuses memory of another device, and outputs that share words with an input or with each other, as every
    /// [`launch`](Self::launch) does: for work of several launches, before the first of them.
    ///
    /// # Errors
    /// [`DeviceError::OtherDevice`] and [`DeviceError::Overlap`].
    pub fn check_memory(&self, memory: &[Operand<'_>]) -> Result<(), DeviceError> {
        operand::check(self.id(), self.account(), memory)
    }

    /// Whether a buffer holds as many words; `what` it is to the kernel stands in the error.
    ///
    /// # Errors
    /// [`DeviceError::Short`].
    pub fn holds(&self, what: &'static str, buffer: &Buffer, needed: u64) -> Result<(), DeviceError> {
        let held = buffer.words() as u64;
        if needed <= held {
            return Ok(());
        }
        Err(DeviceError::Short {
            device: self.id(),
            what,
            needed,
            held,
        })
    }

    /// Whether a buffer holds `rows` rows of `row` words, `pitch` words apart, which are whole vectors of four. What follows the
    /// last row need not be there, and rows of nothing take no memory. Returns the words from the first to the last.
    ///
    /// # Errors
    /// [`DeviceError::Unaligned`], [`DeviceError::Pitch`] and [`DeviceError::Short`].
    pub fn holds_rows(
        &self,
        what: &'static str,
        buffer: &Buffer,
        (rows, row): (u64, u64),
        pitch: u64,
    ) -> Result<u64, DeviceError> {
        self.multiple_of("words from row to row", 4, pitch)?;
        if rows > 1 {
            self.rows_apart(what, row, pitch)?;
        }
        if rows == 0 || row == 0 {
            return Ok(0);
        }
        let words = (rows - 1).saturating_mul(pitch).saturating_add(row);
        self.holds(what, buffer, words)?;
        Ok(words)
    }

    /// [`holds_rows`](Self::holds_rows) of rows that are all as long as their pitch: what follows the last one is written, too.
    ///
    /// # Errors
    /// As [`holds_rows`](Self::holds_rows), and where a single row is longer than its pitch.
    pub fn holds_whole_rows(
        &self,
        what: &'static str,
        buffer: &Buffer,
        (rows, row): (u64, u64),
        pitch: u64,
    ) -> Result<u64, DeviceError> {
        self.rows_apart(what, row, pitch)?;
        self.holds_rows(what, buffer, (rows, pitch), pitch)
    }

    /// Whether rows of `row` words do not overlap where they are `pitch` words apart.
    ///
    /// # Errors
    /// [`DeviceError::Pitch`].
    pub fn rows_apart(&self, what: &'static str, row: u64, pitch: u64) -> Result<(), DeviceError> {
        if row <= pitch {
            return Ok(());
        }
        Err(DeviceError::Pitch {
            device: self.id(),
            what,
            pitch,
            row,
        })
    }

    /// Whether a count is a multiple of what kernels take at once; `what` it is, with its unit, stands in the error.
    ///
    /// # Errors
    /// [`DeviceError::Unaligned`].
    pub fn multiple_of(&self, what: &'static str, multiple: u64, found: u64) -> Result<(), DeviceError> {
        if found.is_multiple_of(multiple) {
            return Ok(());
        }
        Err(DeviceError::Unaligned {
            device: self.id(),
            what,
            found,
            multiple,
        })
    }

    /// Whether no more is asked of something than there may be; `what` it is, with its unit, stands in the error.
    ///
    /// # Errors
    /// [`DeviceError::Limit`].
    pub fn at_most(&self, what: &'static str, limit: impl Into<u64>, asked: u64) -> Result<(), DeviceError> {
        let (device, limit) = (self.id(), limit.into());
        if asked <= limit {
            return Ok(());
        }
        Err(DeviceError::Limit {
            device,
            what,
            limit,
            asked,
        })
    }

    /// Whether two counts that belong together are the same.
    ///
    /// # Errors
    /// [`DeviceError::Mismatch`].
    pub fn matches(&self, what: &'static str, expected: u64, found: u64) -> Result<(), DeviceError> {
        if expected == found {
            return Ok(());
        }
        Err(DeviceError::Mismatch {
            device: self.id(),
            what,
            found,
            expected,
        })
    }

    /// So many words rounded up to whole vectors of four, where each of these buffers holds as many and kernels can count them.
    ///
    /// # Errors
    /// [`DeviceError::Short`] and [`DeviceError::Limit`].
    pub fn count_words(&self, words: u64, buffers: &[(&'static str, &Buffer)]) -> Result<u32, DeviceError> {
        let vectors = words.checked_next_multiple_of(4).unwrap_or(u64::MAX);
        for (what, buffer) in buffers {
            self.holds(what, buffer, vectors)?;
        }
        self.at_most("words at once", MOST_WORDS, words)?;
        // It fits, as the limit is a multiple of four.
        Ok(vectors as u32)
    }

    /// A grid of so many cubes across and down.
    ///
    /// # Errors
    /// [`DeviceError::Limit`].
    pub fn grid(&self, across: u32, down: u32) -> Result<CubeCount, DeviceError> {
        let most = self.report().cubes.min(65_535);
        self.at_most("cubes along a side of a grid", most, across.max(down).into())?;
        Ok(CubeCount::Static(across, down, 1))
    }

    /// `words` words of a buffer from `start` on, as [`Buffer::part`] gives them.
    ///
    /// # Errors
    /// [`DeviceError::Unaligned`] where `start` is not a multiple of 64, and [`DeviceError::Short`].
    pub fn part(
        &self,
        what: &'static str,
        buffer: &Buffer,
        start: u64,
        words: u64,
    ) -> Result<Buffer, DeviceError> {
        let needed = start.saturating_add(words.max(1));
        self.holds(what, buffer, needed)?;
        // Both fit, as the buffer has as many words.
        let part = buffer.part(start as usize, words.max(1) as usize);
        part.ok_or(DeviceError::Unaligned {
            device: self.id(),
            what,
            found: start,
            multiple: PART,
        })
    }

    /// The words of a buffer from `start` on.
    ///
    /// # Errors
    /// As [`part`](Self::part).
    pub fn rest(&self, what: &'static str, buffer: &Buffer, start: u64) -> Result<Buffer, DeviceError> {
        let words = (buffer.words() as u64).saturating_sub(start);
        self.part(what, buffer, start, words)
    }

    /// Refuses a layout that is none of a kernel's.
    ///
    /// # Errors
    /// [`DeviceError::Layout`].
    pub fn check_layout(&self, space: &Space, tuning: Tuning) -> Result<(), DeviceError> {
        match space.contains(tuning) {
            true => Ok(()),
            false => Err(self.no_layout(tuning, space)),
        }
    }

    /// The error of a layout that a kernel does not have.
    pub fn no_layout(&self, layout: impl Display, possible: impl Display) -> DeviceError {
        DeviceError::Layout {
            device: self.id(),
            layout: layout.to_string(),
            possible: possible.to_string(),
        }
    }

    /// The error of samples or numbers that a family has no kernel for.
    pub fn no_kind(&self, what: &'static str, possible: impl Display, found: impl Display) -> DeviceError {
        DeviceError::Kind {
            device: self.id(),
            what,
            found: found.to_string(),
            possible: possible.to_string(),
        }
    }

    /// The error of what kernels are made of and this device does not have.
    pub fn unsupported(&self, reason: impl Into<String>) -> DeviceError {
        DeviceError::Unsupported {
            device: self.id(),
            reason: reason.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_of_tests;

    #[test]
    fn rows_that_do_not_lie_in_a_buffer_are_refused_for_what_is_wrong_with_them() {
        let Some(gpu) = device_of_tests() else { return };
        let buffer = gpu.buffer(64).unwrap();
        let rows = |shape, pitch| gpu.holds_rows("the matrix", &buffer, shape, pitch);
        // Three rows of 12 words: the last one need not be followed by anything.
        assert_eq!(rows((3, 12), 24).unwrap(), 60);
        assert_eq!(rows((0, 12), 24).unwrap(), 0);
        assert_eq!(rows((1 << 40, 0), 24).unwrap(), 0);
        // The pitch of one row may be anything.
        assert_eq!(rows((1, 64), 0).unwrap(), 64);
        let unaligned = rows((2, 4), 6).unwrap_err();
        assert!(
            matches!(
                unaligned,
                DeviceError::Unaligned {
                    found: 6,
                    multiple: 4,
                    ..
                }
            ),
            "{unaligned}"
        );
        let overlapping = rows((2, 8), 4).unwrap_err();
        assert!(
            matches!(overlapping, DeviceError::Pitch { pitch: 4, row: 8, .. }),
            "{overlapping}"
        );
        let short = rows((3, 20), 24).unwrap_err();
        assert!(
            matches!(
                short,
                DeviceError::Short {
                    needed: 68,
                    held: 64,
                    ..
                }
            ),
            "{short}"
        );
        // No product of sizes wraps.
        let huge = rows((u64::MAX, u64::MAX - 3), u64::MAX - 3).unwrap_err();
        assert!(
            matches!(huge, DeviceError::Short { needed: u64::MAX, .. }),
            "{huge}"
        );
    }

    #[test]
    fn parts_are_refused_where_they_reach_out_of_a_buffer_or_begin_where_none_can() {
        let Some(gpu) = device_of_tests() else { return };
        let buffer = gpu.buffer(256).unwrap();
        assert_eq!(gpu.part("a half", &buffer, 128, 128).unwrap().words(), 128);
        assert_eq!(gpu.rest("a half", &buffer, 64).unwrap().words(), 192);
        let beyond = gpu.part("a half", &buffer, 128, 129).unwrap_err();
        assert!(
            matches!(
                beyond,
                DeviceError::Short {
                    needed: 257,
                    held: 256,
                    ..
                }
            ),
            "{beyond}"
        );
        let past = gpu.rest("a half", &buffer, 256).unwrap_err();
        assert!(matches!(past, DeviceError::Short { needed: 257, .. }), "{past}");
        let between = gpu.part("a half", &buffer, 32, 8).unwrap_err();
        assert!(
            matches!(
                between,
                DeviceError::Unaligned {
                    found: 32,
                    multiple: 64,
                    ..
                }
            ),
            "{between}"
        );
    }

    #[test]
    fn errors_say_what_was_found_and_what_would_do() {
        let Some(gpu) = device_of_tests() else { return };
        let id = gpu.id();
        let space = Space {
            units: &[32, 64],
            items: &[1],
            vectors: &[4],
        };
        let tuning = |units| Tuning {
            units,
            items: 1,
            vector: 4,
        };
        gpu.check_layout(&space, tuning(64)).unwrap();
        let outside = DeviceError::Outside {
            device: id,
            what: "a filter",
            at: (-1, 2),
            size: (3, 4),
            whole: (5, 6),
        };
        let texts = [
            (
                gpu.check_layout(&space, tuning(48)).unwrap_err(),
                format!(
                    "kernels of device {id} have no layout units=48 items=1 vector=4: possible are units of [32, 64], \
                     items of [1] and vectors of [4]"
                ),
            ),
            (
                gpu.no_kind("a histogram", "8 or 16 bits", "12 bits"),
                format!("kernels of device {id} compute a histogram of 8 or 16 bits, not of 12 bits"),
            ),
            (
                gpu.matches("velocities, one for each body", 7, 6).unwrap_err(),
                format!("velocities, one for each body on device {id}: 6 where 7 is right"),
            ),
            (
                gpu.at_most("pixels of a radius", 63_u32, 64).unwrap_err(),
                format!("device {id} takes at most 63 pixels of a radius, not 64"),
            ),
            (
                gpu.unsupported("matrix instructions"),
                format!("device {id} cannot compute this: matrix instructions"),
            ),
            (
                outside,
                format!("device {id} cannot compute 3 × 4 samples at -1, 2 of a filter, which has 5 × 6"),
            ),
        ];
        for (error, text) in texts {
            assert_eq!(error.to_string(), text);
        }
        gpu.matches("velocities, one for each body", 7, 7).unwrap();
        gpu.at_most("pixels of a radius", 63_u32, 63).unwrap();
    }
}
