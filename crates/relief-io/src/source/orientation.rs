//! How the rows and columns of a file are to be seen: the values 1 to 8 of TIFF and EXIF.

use std::ops::ControlFlow;

use relief_raster::Rect;

use super::failure::Failure;

/// How a picture is turned and mirrored, and what has been read of one that exchanges rows and columns.
#[derive(Clone, Debug)]
pub(super) struct Orientation {
    value: u16,
    width: u64,
    height: u64,
    /// All samples as seen, where rows and columns are exchanged.
    turned: Vec<u16>,
    rows: u64,
}

impl Orientation {
    /// The orientation `value` of a file of this size. Values that TIFF does not know mean 1.
    pub(super) fn new(value: u16, width: u64, height: u64) -> Self {
        Self {
            value: if (1..=8).contains(&value) { value } else { 1 },
            width,
            height,
            turned: Vec::new(),
            rows: 0,
        }
    }

    pub(super) fn exchanges(&self) -> bool {
        self.value >= 5
    }

    /// Columns and rows as seen.
    pub(super) fn size(&self) -> (u64, u64) {
        if self.exchanges() {
            (self.height, self.width)
        } else {
            (self.width, self.height)
        }
    }

    /// The window of the file that is seen as `window`; none where rows and columns are exchanged.
    pub(super) fn of_file(&self, window: Rect) -> Option<Rect> {
        let (width, height) = (self.width.cast_signed(), self.height.cast_signed());
        let x = match self.value {
            2 | 3 => width - window.right(),
            _ => window.x(),
        };
        let y = match self.value {
            3 | 4 => height - window.bottom(),
            _ => window.y(),
        };
        (!self.exchanges()).then(|| window.translated(x - window.x(), y - window.y()))
    }

    /// The bytes that [`take`](Self::take) holds.
    pub(super) fn memory(&self) -> u64 {
        if self.exchanges() {
            self.width.saturating_mul(self.height).saturating_mul(2)
        } else {
            0
        }
    }

    /// Takes the memory that [`memory`](Self::memory) says.
    pub(super) fn prepare(&mut self) -> Result<(), Failure> {
        if !self.exchanges() {
            return Ok(());
        }
        let too_large = || Failure::TooLarge("turning it would exceed the memory of this machine".to_owned());
        let samples = usize::try_from(self.width.saturating_mul(self.height)).map_err(|_| too_large())?;
        self.turned.try_reserve_exact(samples).map_err(|_| too_large())?;
        self.turned.resize(samples, 0);
        Ok(())
    }

    /// Takes row `number` of the file and hands on the rows that are known by it.
    pub(super) fn take(
        &mut self,
        number: u64,
        line: &mut [u16],
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let last = self.height - 1;
        match self.value {
            1 => row(number, line),
            2 => {
                line.reverse();
                row(number, line)
            }
            3 => {
                line.reverse();
                row(last - number, line)
            }
            4 => row(last - number, line),
            value => {
                // Row `number` of the file becomes a column: 5 and 6 begin at the top, 5 and 8 at the left.
                let columns = self.height as usize;
                let column = if matches!(value, 5 | 8) {
                    number
                } else {
                    last - number
                } as usize;
                let bottom_up = matches!(value, 7 | 8);
                let count = self.width as usize;
                for (i, &sample) in line.iter().enumerate() {
                    let y = if bottom_up { count - 1 - i } else { i };
                    if let Some(place) = self.turned.get_mut(y * columns + column) {
                        *place = sample;
                    }
                }
                self.rows += 1;
                if self.rows < self.height {
                    return ControlFlow::Continue(());
                }
                for (number, line) in self.turned.chunks_exact(columns).enumerate() {
                    row(number as u64, line)?;
                }
                ControlFlow::Continue(())
            }
        }
    }
}
