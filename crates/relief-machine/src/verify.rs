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
    /// Lines that have been compared with a digest.
    pub compared: u64,
    /// Bands compared.
    pub bands: u64,
}

/// Compares files, one after the other, with the digests of a manifest. Lines beyond the last digest are counted, not
/// compared: a job that has not ended has at most one group of them.
///
/// # Errors
/// Where a file cannot be read, a band differs ([`Error::Differs`]), or the files hold fewer lines than were executed.
pub fn verify(manifest: &Manifest, program: &Program, files: &[PathBuf]) -> Result<Verified, Error> {
    let wrong = |problem: String| Error::Manifest {
        path: files.first().cloned().unwrap_or_default(),
        problem,
    };
    let expected = manifest
        .digests()
        .ok_or_else(|| wrong("a digest is none".to_owned()))?;
    let mut input: Box<dyn Read> = Box::new(io::empty());
    for path in files {
        let opened = open(path, &manifest.job).map_err(|source| Error::File {
            action: "cannot read",
            path: path.clone(),
            source,
        })?;
        input = Box::new(input.chain(opened));
    }
    let mut found = Digests::default();
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
            found.push(manifest.cut, manifest.lines, end, digest);
        }
        let last = found.bands.len().checked_sub(1);
        if let Some(index) = last
            && let (Some(band), Some(other)) = (expected.bands.get(index), found.bands.get(index))
            && band != other
        {
            let (first, end) = (band.first, band.first + band.lines);
            return Err(Error::Differs {
                first,
                end,
                found: other.digest.clone(),
                expected: band.digest.clone(),
            });
        }
    }
    if line < manifest.executed {
        return Err(wrong(format!(
            "it holds {line} lines, {} were executed",
            manifest.executed
        )));
    }
    let open = if found.bands.len() == expected.bands.len() {
        found.open.as_slice()
    } else {
        &[]
    };
    let band = expected.bands.last().map_or(0, |band| band.first + band.lines);
    for (index, (digest, other)) in expected.open.iter().zip(open).enumerate() {
        if digest != other {
            let first = band + index as u64 * manifest.cut.group;
            let end = first + manifest.cut.group;
            return Err(Error::Differs {
                first,
                end,
                found: other.to_string(),
                expected: digest.to_string(),
            });
        }
    }
    let compared = expected.next(manifest.cut, manifest.lines);
    Ok(Verified {
        lines: line,
        compared,
        bands: expected.bands.len() as u64,
    })
}

/// The lines of a file, which may come in frames.
fn open(path: &Path, job: &str) -> io::Result<Box<dyn Read>> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let head: Option<&[u8; HEADER]> = file.fill_buf()?.first_chunk();
    if head.is_some_and(|head| Header::decode(head).is_ok()) {
        Ok(Box::new(Frames::new(file, job)?))
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
}

impl Frames {
    fn new(mut file: BufReader<File>, name: &str) -> io::Result<Self> {
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
        })
    }

    /// Reads frames up to the next with lines; `false` at the end.
    fn advance(&mut self) -> io::Result<bool> {
        let Some(header) = frame::read(&mut self.file, &mut self.payload)? else {
            return Ok(false);
        };
        if header.kind == Kind::End {
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
