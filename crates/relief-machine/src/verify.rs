//! Whether files hold what a manifest says was executed: lines as they are, or frames.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use relief_scan::{Encoding, Program, runs};

use crate::Error;
use crate::bands::{Digests, Groups};
use crate::frame::{self, HEADER, Header, Kind};
use crate::manifest::Manifest;
use crate::message::{Job, Message, lines};

/// What was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Lines in the files.
    pub lines: u64,
    /// Lines that have been compared with a digest and agree.
    pub compared: u64,
    /// Whole bands compared.
    pub bands: u64,
}

/// Compares files, one after the other, with the digests of a manifest. Lines beyond the last digest are counted, not
/// compared: a manifest that its sender could not keep up to the end has digests of fewer lines than the files hold.
///
/// # Errors
/// Where a file cannot be read, a band or group differs ([`Error::Differs`]), the files hold fewer lines than were
/// executed or more than the job has, or a complete job's frames have no END.
pub fn verify(manifest: &Manifest, program: &Program, files: &[PathBuf]) -> Result<Verified, Error> {
    let wrong = |problem: String| Error::Executed {
        path: files.first().cloned().unwrap_or_default(),
        problem,
    };
    let expected = manifest
        .digests()
        .ok_or_else(|| wrong("a digest of the manifest has not 64 hexadecimal digits".to_owned()))?;
    let mut input: Box<dyn Read> = Box::new(io::empty());
    for (index, path) in files.iter().enumerate() {
        let last = index + 1 == files.len();
        let opened = open(path, &manifest.job, manifest.complete && last);
        let opened = opened.map_err(|source| Error::File {
            action: "cannot read",
            path: path.clone(),
            source,
        })?;
        input = Box::new(input.chain(opened));
    }
    let mut compared = Compared::new(manifest, expected);
    let mut groups = Groups::new(manifest.cut, manifest.lines, 0);
    let (mut line, mut bytes, mut done) = (0, Vec::new(), Vec::new());
    let failed = |source| Error::File {
        action: "cannot read",
        path: files.first().cloned().unwrap_or_default(),
        source,
    };
    while next_line(&mut input, program, &mut bytes).map_err(failed)? {
        if line == manifest.lines {
            return Err(wrong(format!(
                "it holds more than the {} lines of the job",
                manifest.lines
            )));
        }
        groups.take(line, &[bytes.len()], &bytes, &mut done);
        line += 1;
        for (end, digest) in done.drain(..) {
            compared.group(end, digest)?;
        }
    }
    if line < manifest.executed {
        return Err(wrong(format!(
            "it holds {line} lines, {} were executed",
            manifest.executed
        )));
    }
    Ok(Verified {
        lines: line,
        compared: compared.lines,
        bands: compared.bands,
    })
}

/// Digests of files beside those of a manifest.
struct Compared<'a> {
    manifest: &'a Manifest,
    expected: Digests,
    found: Digests,
    /// The line after the bands of the manifest, where its open groups begin.
    open: u64,
    /// Lines that agree: all before this one.
    lines: u64,
    bands: u64,
}

impl<'a> Compared<'a> {
    fn new(manifest: &'a Manifest, expected: Digests) -> Self {
        Self {
            manifest,
            open: expected.bands.last().map_or(0, |band| band.first + band.lines),
            expected,
            found: Digests::default(),
            lines: 0,
            bands: 0,
        }
    }

    /// Takes the group that ends before line `end`: compares it where the manifest has its digest, and the band that it
    /// ends where the manifest has that.
    fn group(&mut self, end: u64, digest: blake3::Hash) -> Result<(), Error> {
        let cut = self.manifest.cut;
        if end > self.open {
            // What the files hold beyond the manifest's last band stays in groups, as the manifest has it.
            let first = (end - 1) / cut.group * cut.group;
            let index = usize::try_from((first - self.open) / cut.group).unwrap_or(usize::MAX);
            let Some(expected) = self.expected.open.get(index) else {
                return Ok(());
            };
            same((first, end), &digest.to_string(), &expected.to_string())?;
            self.lines = end;
            return Ok(());
        }
        self.found.push(cut, self.manifest.lines, end, digest);
        let index = self.found.bands.len();
        if self.found.open.is_empty()
            && let Some(index) = index.checked_sub(1)
            && let (Some(band), Some(other)) = (self.expected.bands.get(index), self.found.bands.get(index))
        {
            same((band.first, end), &other.digest, &band.digest)?;
            self.bands += 1;
            self.lines = end;
        }
        Ok(())
    }
}

fn same((first, end): (u64, u64), found: &str, expected: &str) -> Result<(), Error> {
    if found.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(Error::Differs {
        first,
        end,
        found: found.to_owned(),
        expected: expected.to_owned(),
    })
}

/// The lines of a file, which may come in frames; `whole` frames have an END.
fn open(path: &Path, job: &str, whole: bool) -> io::Result<Box<dyn Read>> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let head: Option<&[u8; HEADER]> = file.fill_buf()?.first_chunk();
    if head.is_some_and(|head| Header::decode(head).is_ok()) {
        Ok(Box::new(Frames::new(file, job, whole)?))
    } else {
        Ok(Box::new(file))
    }
}

/// The lines in a file of frames.
struct Frames {
    file: BufReader<File>,
    job: Job,
    next: u64,
    payload: Vec<u8>,
    /// Where the rest of the lines begins in the payload.
    at: usize,
    /// Whether the file must have an END, and whether it was read.
    whole: bool,
    ended: bool,
}

impl Frames {
    fn new(mut file: BufReader<File>, name: &str, whole: bool) -> io::Result<Self> {
        let mut payload = Vec::new();
        let header = frame::read(&mut file, &mut payload)?;
        let job = header
            .filter(|header| header.kind == Kind::Job)
            .and_then(|_| Job::decode(&payload));
        let job = job.ok_or_else(|| invalid("its frames do not begin with a job"))?;
        if !name.eq_ignore_ascii_case(&blake3::Hash::from_bytes(job.id).to_string()) {
            return Err(invalid("its frames are of another job"));
        }
        let next = job.from;
        payload.clear();
        Ok(Self {
            file,
            job,
            next,
            payload,
            at: 0,
            whole,
            ended: false,
        })
    }

    /// Reads frames up to the next with lines; `false` at the end.
    fn advance(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let Some(header) = frame::read(&mut self.file, &mut self.payload)? else {
            return if self.whole {
                Err(invalid("its frames have no END, so it is not complete"))
            } else {
                Ok(false)
            };
        };
        if header.kind == Kind::End {
            if header.sequence != self.next || header.sequence != self.job.lines {
                return Err(invalid("its END comes before the last line"));
            }
            if frame::read(&mut self.file, &mut self.payload)?.is_some() {
                return Err(invalid("its END is followed by another frame"));
            }
            self.ended = true;
            self.payload.clear();
            return Ok(false);
        }
        let count = self.payload.len();
        let lines = lines(&self.job, header.count, &self.payload).map(|(lines, _)| lines.len());
        match lines {
            Some(lines) if header.kind == Kind::Lines && header.sequence == self.next => {
                self.at = count - lines;
                self.next += u64::from(header.count);
                Ok(true)
            }
            _ => Err(invalid("a frame does not follow the one before")),
        }
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.payload.len() {
            if !self.advance()? {
                self.at = self.payload.len();
                return Ok(0);
            }
        }
        let rest = &self.payload[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Reads the next line; `false` at the end.
fn next_line(input: &mut dyn Read, program: &Program, bytes: &mut Vec<u8>) -> io::Result<bool> {
    bytes.clear();
    match program.encoding() {
        Encoding::Fixed(length) => {
            let count = input.take(length).read_to_end(bytes)?;
            whole(count as u64 == length, count)
        }
        Encoding::Runs(_) => {
            let size = runs::run_bytes(program.scan().packing);
            let mut samples = 0;
            while samples < program.samples() {
                let at = bytes.len();
                let mut run = Cursor::new([0; 4]);
                let count = io::copy(&mut input.take(size as u64), &mut run)? as usize;
                if count < size {
                    return whole(false, at + count);
                }
                let run = run.into_inner();
                samples += u64::from(u16::from_le_bytes([run[0], run[1]])).max(1);
                bytes.extend_from_slice(&run[..size]);
            }
            Ok(true)
        }
    }
}

fn whole(whole: bool, bytes: usize) -> io::Result<bool> {
    match (whole, bytes) {
        (true, _) => Ok(true),
        (false, 0) => Ok(false),
        (false, _) => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the file ends within a line",
        )),
    }
}
