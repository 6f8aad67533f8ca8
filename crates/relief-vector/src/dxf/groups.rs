//! Groups: a line with a code, a line with a value.

use std::io::Read;

use super::Error;

/// The longest line that is read.
const MAX_LINE: usize = 1 << 16;

/// The groups of a file, one by one.
pub(super) struct Groups<R> {
    file: R,
    buffer: Vec<u8>,
    place: usize,
    filled: usize,
    /// Bytes that may yet be read.
    left: u64,
    /// The line of the value at hand, counted from 1.
    pub(super) line: u64,
    pub(super) code: i32,
    value: Vec<u8>,
}

impl<R: Read> Groups<R> {
    pub(super) fn new(file: R, bytes: u64) -> Self {
        Self {
            file,
            buffer: vec![0; 1 << 16],
            place: 0,
            filled: 0,
            left: bytes,
            line: 0,
            code: 0,
            value: Vec::new(),
        }
    }

    pub(super) fn fault(&self, what: impl Into<String>) -> Error {
        Error::Group {
            line: self.line.max(1),
            what: what.into(),
        }
    }

    fn byte(&mut self) -> Result<Option<u8>, Error> {
        if self.place == self.filled {
            (self.place, self.filled) = (0, 0);
            while self.filled == 0 {
                match self.file.read(&mut self.buffer) {
                    Ok(0) => return Ok(None),
                    Ok(count) => self.filled = count,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error.into()),
                }
            }
            let count = self.filled as u64;
            if count > self.left {
                return Err(self.fault("the file has more bytes than are read"));
            }
            self.left -= count;
        }
        self.place += 1;
        Ok(Some(self.buffer[self.place - 1]))
    }

    /// The next line into `value`, without what ends it; false at the end of the file.
    fn next_line(&mut self) -> Result<bool, Error> {
        self.value.clear();
        self.line += 1;
        let mut any = false;
        while let Some(byte) = self.byte()? {
            any = true;
            if byte == b'\n' {
                break;
            }
            if self.value.len() == MAX_LINE {
                return Err(self.fault(format!("a line has more than {MAX_LINE} bytes")));
            }
            self.value.push(byte);
        }
        while self.value.last() == Some(&b'\r') {
            self.value.pop();
        }
        // Some editors mark the begin of a text in UTF-8.
        if self.line == 1 && self.value.starts_with(&[0xEF, 0xBB, 0xBF]) {
            self.value.drain(..3);
        }
        Ok(any)
    }

    /// Reads the next group.
    pub(super) fn next(&mut self) -> Result<(), Error> {
        let short = |groups: &Self| groups.fault("the file ends before its group 0 EOF: it is cut short");
        if !self.next_line()? {
            return Err(short(self));
        }
        let code = std::str::from_utf8(&self.value)
            .ok()
            .and_then(|text| text.trim().parse::<i32>().ok());
        let Some(code) = code else {
            if self.value.starts_with(b"AutoCAD Binary DXF") {
                return Err(self.fault("a binary DXF; save it as ASCII"));
            }
            let found = String::from_utf8_lossy(&self.value[..self.value.len().min(40)]).into_owned();
            return Err(self.fault(format!("expected the code of a group, found {found:?}")));
        };
        self.code = code;
        if !self.next_line()? {
            return Err(short(self));
        }
        Ok(())
    }

    /// The value as a text, in UTF-8 as far as it is that.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(self.value.trim_ascii()).into_owned()
    }

    /// Whether the value is this word.
    pub(super) fn is(&self, word: &str) -> bool {
        self.value.trim_ascii() == word.as_bytes()
    }

    pub(super) fn number(&self) -> Result<f64, Error> {
        let text = std::str::from_utf8(&self.value).ok().map(str::trim);
        let number = text.and_then(|text| text.parse::<f64>().ok());
        number.filter(|number| number.is_finite()).ok_or_else(|| {
            let found = String::from_utf8_lossy(&self.value[..self.value.len().min(40)]).into_owned();
            self.fault(format!(
                "expected a number for the group {}, found {found:?}",
                self.code
            ))
        })
    }

    pub(super) fn integer(&self) -> Result<i64, Error> {
        let number = self.number()?;
        if libm::floor(number) == number && number.abs() <= 9e15 {
            Ok(number as i64)
        } else {
            Err(self.fault(format!("expected a whole number for the group {}", self.code)))
        }
    }
}
