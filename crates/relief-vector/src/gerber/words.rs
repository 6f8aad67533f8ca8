//! Words: what ends in `*`, alone or between `%`.

use std::io::Read;

use super::{Error, Warning};

/// The most warnings that are kept.
const MAX_WARNINGS: usize = 64;

/// The longest word that is read.
const MAX_WORD: usize = 1 << 20;

/// What a file goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A word: [`Words::text`].
    Word,
    /// The `%` that ends an extended command.
    End,
    /// Nothing more.
    Nothing,
}

/// The words of a file, one by one.
pub(super) struct Words<R> {
    file: R,
    buffer: Vec<u8>,
    place: usize,
    filled: usize,
    /// Bytes that may yet be read.
    left: u64,
    at: u64,
    /// The line in which the word at hand begins, counted from 1.
    pub(super) line: u64,
    /// Whether it stands between `%`.
    pub(super) extended: bool,
    word: Vec<u8>,
    /// The first commands that have no `*`.
    pub(super) warnings: Vec<Warning>,
    /// How many more there are.
    pub(super) more: u64,
}

impl<R: Read> Words<R> {
    pub(super) fn new(file: R, bytes: u64) -> Self {
        Self {
            file,
            buffer: vec![0; 1 << 16],
            place: 0,
            filled: 0,
            left: bytes,
            at: 1,
            line: 1,
            extended: false,
            word: Vec::new(),
            warnings: Vec::new(),
            more: 0,
        }
    }

    pub(super) fn fault(&self, what: impl Into<String>) -> Error {
        Error::Command {
            line: self.line,
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

    /// The next word.
    pub(super) fn next(&mut self) -> Result<Next, Error> {
        self.word.clear();
        self.line = self.at;
        while let Some(byte) = self.byte()? {
            match byte {
                b'\n' => self.at += 1,
                b'\r' => {}
                b'*' if self.word.is_empty() => {}
                b'*' => return Ok(Next::Word),
                b'%' if self.word.is_empty() => {
                    self.extended = !self.extended;
                    if !self.extended {
                        return Ok(Next::End);
                    }
                    self.line = self.at;
                }
                b'%' if self.is_code_on_a_line() => {
                    // It begins the command after this one.
                    self.place -= 1;
                    self.tell();
                    return Ok(Next::Word);
                }
                b'%' if !self.is_comment() => {
                    return Err(self.fault(format!("expected * before %, after {:?}", shown(&self.text()))));
                }
                byte if self.word.is_empty() && byte.is_ascii_whitespace() => {}
                byte => {
                    if self.word.is_empty() {
                        self.line = self.at;
                    }
                    if self.word.len() == MAX_WORD {
                        return Err(self.fault(format!("a command has more than {MAX_WORD} bytes")));
                    }
                    self.word.push(byte);
                }
            }
        }
        if self.word.is_empty() {
            Ok(Next::Nothing)
        } else {
            Err(self.fault(format!(
                "the file ends within a command: {:?} has no *",
                shown(&self.text())
            )))
        }
    }

    /// Whether the word at hand says nothing of shapes.
    pub(super) fn is_comment(&self) -> bool {
        let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        !self.extended
            && (self.word.starts_with(b"G04") || (self.word.starts_with(b"G4") && !digit(self.word.get(2))))
    }

    /// Whether the word at hand is a G code alone, and its line has ended. gerbonara 1.5.0 writes `G75` so, and readers that go letter by letter
    /// need no `*` there. What has coordinates may be cut short, and what stands between `%` may lack more than its `*`.
    fn is_code_on_a_line(&self) -> bool {
        let digits = self.word.trim_ascii().strip_prefix(b"G").unwrap_or_default();
        !self.extended
            && self.at > self.line
            && (1..=3).contains(&digits.len())
            && digits.iter().all(u8::is_ascii_digit)
    }

    /// Notes that the word at hand has no `*`.
    fn tell(&mut self) {
        if self.warnings.len() == MAX_WARNINGS {
            self.more += 1;
            return;
        }
        let text = self.text();
        self.warnings.push(Warning {
            line: self.line,
            what: format!("{text} has no * behind it; it is read as {text}*"),
        });
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(self.word.trim_ascii()).into_owned()
    }
}

/// The begin of a text, for messages.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
