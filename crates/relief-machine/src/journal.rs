//! What a receiver has executed, in a form that outlives it.
//!
//! The lines go to the end of the output file; only then is their number written to one of two slots of
//! `OUTPUT.journal`, in turns. Whatever stops the process between or within the two, the newest sound slot tells how
//! many lines, in how many bytes, count as executed, and what lies beyond them in the output is cut off. The system
//! stores both when it likes: against a loss of power a machine needs a better place than this one.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::Error;

const MAGIC: &[u8; 8] = b"RLFJRN\x00\x01";
const HEAD: u64 = 48;
const SLOT: usize = 32;

/// Records executed lines.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    output: Output,
    lines: u64,
    bytes: u64,
    turn: u64,
}

#[derive(Debug)]
enum Output {
    File(File),
    /// Nothing is kept: for measuring.
    Nowhere,
}

/// The name of the journal of an output.
pub(crate) fn path_of(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

/// The job that an output holds, if it holds one.
pub(crate) fn holds(output: &Path) -> Result<Option<[u8; 32]>, Error> {
    let path = path_of(output);
    let mut head = [0; HEAD as usize];
    match File::open(&path).and_then(|mut file| file.read_exact(&mut head)) {
        Ok(()) if head[..8] == *MAGIC => {
            let mut id = [0; 32];
            id.copy_from_slice(&head[8..40]);
            Ok(Some(id))
        }
        Ok(()) => {
            let problem = format!("{} is no journal; move it away", path.display());
            Err(Error::Option {
                option: "output",
                problem,
            })
        }
        // A journal that ends within its head was never begun.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof
            ) =>
        {
            Ok(None)
        }
        Err(source) => Err(Error::File {
            action: "cannot read",
            path,
            source,
        }),
    }
}

impl Journal {
    /// Opens the record of a job, or begins one at line `from`.
    pub(crate) fn open(output: Option<&Path>, id: &[u8; 32], from: u64) -> Result<Self, Error> {
        let Some(output) = output else {
            let file = tempfile::tempfile().map_err(|source| Error::File {
                action: "cannot write",
                path: std::env::temp_dir(),
                source,
            })?;
            return Ok(Self {
                file,
                output: Output::Nowhere,
                lines: from,
                bytes: 0,
                turn: 0,
            });
        };
        let known = holds(output)? == Some(*id);
        let path = path_of(output);
        let failed = |path: &Path, source| Error::File {
            action: "cannot write",
            path: path.to_owned(),
            source,
        };
        let open = |path: &Path| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(|error| failed(path, error))
        };
        let stands = std::fs::metadata(output).is_ok_and(|metadata| metadata.len() > 0);
        if stands && !known {
            let problem = format!(
                "{} holds something that no journal knows; move it away",
                output.display()
            );
            return Err(Error::Option {
                option: "output",
                problem,
            });
        }
        let (file, out) = (open(&path)?, open(output)?);
        let mut journal = Self {
            file,
            output: Output::File(out),
            lines: from,
            bytes: 0,
            turn: 0,
        };
        if known {
            journal.newest().map_err(|source| failed(&path, source))?;
        } else {
            journal.begin(id).map_err(|source| failed(&path, source))?;
        }
        journal.cut().map_err(|source| failed(output, source))?;
        Ok(journal)
    }

    /// Lines executed: all before this one.
    pub(crate) const fn lines(&self) -> u64 {
        self.lines
    }

    /// Records lines as executed.
    pub(crate) fn execute(&mut self, lines: u64, bytes: &[u8]) -> io::Result<()> {
        if let Output::File(output) = &mut self.output
            && let Err(error) = output.write_all(bytes)
        {
            // What was written of a line that did not fit is taken back; should that fail too, the slot still says
            // what counts.
            let _ = self.cut();
            return Err(error);
        }
        self.lines += lines;
        self.bytes += bytes.len() as u64;
        if matches!(self.output, Output::Nowhere) {
            Ok(())
        } else {
            self.note()
        }
    }

    /// Has the system store everything.
    pub(crate) fn store(&self) -> io::Result<()> {
        if let Output::File(output) = &self.output {
            output.sync_data()?;
        }
        self.file.sync_data()
    }

    fn begin(&mut self, id: &[u8; 32]) -> io::Result<()> {
        // The slots come first, so that a head is never there without one.
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(HEAD))?;
        self.file.write_all(&[0; 2 * SLOT])?;
        self.note()?;
        self.note()?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&[MAGIC.as_slice(), id, &[0; 8]].concat())
    }

    fn note(&mut self) -> io::Result<()> {
        self.turn += 1;
        let mut slot = [0; SLOT];
        slot[..8].copy_from_slice(&self.turn.to_le_bytes());
        slot[8..16].copy_from_slice(&self.lines.to_le_bytes());
        slot[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        let checksum = crc32c::crc32c(&slot[..28]);
        slot[28..].copy_from_slice(&checksum.to_le_bytes());
        self.file
            .seek(SeekFrom::Start(HEAD + self.turn % 2 * SLOT as u64))?;
        self.file.write_all(&slot)
    }

    fn newest(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(HEAD))?;
        for _ in 0..2 {
            let mut slot = [0; SLOT];
            self.file.read_exact(&mut slot)?;
            let word = |at: usize| {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&slot[at..at + 8]);
                u64::from_le_bytes(bytes)
            };
            let sound = slot[28..] == crc32c::crc32c(&slot[..28]).to_le_bytes();
            if sound && word(0) > self.turn {
                (self.turn, self.lines, self.bytes) = (word(0), word(8), word(16));
            }
        }
        if self.turn == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "neither slot of the journal is sound",
            ));
        }
        Ok(())
    }

    fn cut(&mut self) -> io::Result<()> {
        if let Output::File(output) = &mut self.output {
            if output.metadata()?.len() < self.bytes {
                let problem = "the output is shorter than its journal says";
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            output.set_len(self.bytes)?;
            output.seek(SeekFrom::End(0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_newest_slot_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let mut journal = Journal::open(Some(&output), &[7; 32], 5).unwrap();
        journal.execute(2, b"abcd").unwrap();
        journal.execute(1, b"ef").unwrap();
        drop(journal);
        OpenOptions::new()
            .append(true)
            .open(&output)
            .unwrap()
            .write_all(b"half a li")
            .unwrap();
        let journal = Journal::open(Some(&output), &[7; 32], 0).unwrap();
        assert_eq!(journal.lines(), 8);
        assert_eq!(std::fs::read(&output).unwrap(), b"abcdef");
    }

    #[test]
    fn a_torn_slot_falls_back_to_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let mut journal = Journal::open(Some(&output), &[7; 32], 0).unwrap();
        journal.execute(1, b"ab").unwrap();
        journal.execute(1, b"cd").unwrap();
        let newest = HEAD + journal.turn % 2 * SLOT as u64;
        drop(journal);
        let mut file = OpenOptions::new().write(true).open(path_of(&output)).unwrap();
        file.seek(SeekFrom::Start(newest + 9)).unwrap();
        file.write_all(&[0xFF]).unwrap();
        assert_eq!(Journal::open(Some(&output), &[7; 32], 0).unwrap().lines(), 1);
        assert_eq!(std::fs::read(&output).unwrap(), b"ab");
    }
}
