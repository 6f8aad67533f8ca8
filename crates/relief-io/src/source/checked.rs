//! Reading a file so that the digest of what is read is known.
//!
//! A file is digested whole when it is opened, and every block that a decoder gets afterwards is compared with what was
//! digested: whoever replaces the file, or writes to it meanwhile, cannot have one content named and another one read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::part::{Bytes, sought};
use super::windows::{Decoded, Parts, SLOT};
use crate::sink::positioned::read_some;

/// Bytes that are digested, and compared, at once.
const BLOCK: usize = 1 << 18;

/// A file that is read as it is, or compared with its digests.
pub(super) enum Reading {
    Plain(Bytes),
    Checked(Checked),
}

/// What a file was when it was read from its begin to its end.
#[derive(Clone, Debug)]
pub(super) struct Digested {
    /// The BLAKE3 of all of it.
    pub(super) digest: blake3::Hash,
    blocks: Arc<[blake3::Hash]>,
    bytes: u64,
}

impl Digested {
    /// Digests a file from where it stands to its end.
    pub(super) fn of(mut file: impl Read) -> io::Result<Self> {
        let (mut whole, mut blocks, mut bytes) = (blake3::Hasher::new(), Vec::new(), 0);
        let mut block = Vec::with_capacity(BLOCK);
        loop {
            block.clear();
            let count = (&mut file).take(BLOCK as u64).read_to_end(&mut block)?;
            if count == 0 {
                break;
            }
            whole.update(&block);
            blocks.push(blake3::hash(&block));
            bytes += count as u64;
        }
        Ok(Self {
            digest: whole.finalize(),
            blocks: blocks.into(),
            bytes,
        })
    }

    /// The bytes of the digests of a file of `bytes` bytes.
    const fn memory(bytes: u64) -> u64 {
        bytes
            .div_ceil(BLOCK as u64)
            .saturating_mul(size_of::<blake3::Hash>() as u64)
    }

    /// Whether a block is what it was.
    fn compare(&self, index: usize, block: &[u8]) -> io::Result<()> {
        if self.blocks.get(index) == Some(&blake3::hash(block)) {
            Ok(())
        } else {
            Err(io::Error::other("it changed while it was read"))
        }
    }
}

/// A file as [`Checked`], read by several threads at once. What they compared last is kept: windows of pictures whose rows
/// are long show a little of every block, and of the same blocks again right of it.
pub(super) struct Blocks {
    file: File,
    start: u64,
    digested: Digested,
    kept: Parts,
}

impl Blocks {
    /// The most bytes of blocks that are kept.
    const KEPT: u64 = 32 << 20;

    /// How many blocks of a file of `bytes` bytes are kept.
    fn kept(bytes: u64) -> u64 {
        Parts::count(BLOCK as u64, bytes.div_ceil(BLOCK as u64), Self::KEPT)
    }

    /// The bytes that a file of `bytes` bytes holds as long as it is open, and those that a reader of it holds.
    pub(super) fn memory(bytes: u64) -> (u64, u64) {
        let kept = Self::kept(bytes).saturating_mul(BLOCK as u64 + SLOT);
        (kept.saturating_add(Digested::memory(bytes)), BLOCK as u64)
    }

    /// Reads some of what lies at `place`; 0 beyond the end.
    pub(super) fn read_at(&self, into: &mut [u8], place: u64) -> io::Result<usize> {
        if place >= self.digested.bytes || into.is_empty() {
            return Ok(0);
        }
        let index = (place / BLOCK as u64) as usize;
        let block = self.kept.get(index, |block| self.load(index, block))?;
        let bytes = block.as_deref().unwrap_or_default();
        let rest = bytes.get((place % BLOCK as u64) as usize..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn load(&self, index: usize, mut block: Vec<u8>) -> io::Result<Decoded> {
        let place = index as u64 * BLOCK as u64;
        let left = usize::try_from(self.digested.bytes - place).unwrap_or(usize::MAX);
        block.resize(left.min(BLOCK), 0);
        let mut count = 0;
        while count < block.len() {
            match read_some(&self.file, &mut block[count..], self.start + place + count as u64) {
                Ok(0) => break,
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.digested.compare(index, &block[..count])?;
        Ok(Some(block))
    }
}

/// A file of which every block is compared with its digest before it is given on.
pub(super) struct Checked {
    file: Bytes,
    digested: Digested,
    /// The block at hand, and its bytes.
    current: Option<usize>,
    block: Vec<u8>,
    position: u64,
}

impl Checked {
    /// A file that was digested, now or before: whatever has become of it, no other bytes of it are given on.
    pub(super) fn new(file: impl Into<Bytes>, digested: Digested) -> Self {
        Self {
            file: file.into(),
            digested,
            current: None,
            block: Vec::with_capacity(BLOCK),
            position: 0,
        }
    }

    /// The bytes that reading a file of `bytes` bytes so holds.
    pub(super) const fn memory(bytes: u64) -> u64 {
        BLOCK as u64 + Digested::memory(bytes)
    }

    /// The same file, for several threads at places of their own.
    pub(super) fn into_blocks(self) -> Blocks {
        let (file, start) = self.file.into_file();
        Blocks {
            file,
            start,
            kept: Parts::new(Blocks::kept(self.digested.bytes)),
            digested: self.digested,
        }
    }

    fn load(&mut self, index: usize) -> io::Result<()> {
        if self.current == Some(index) {
            return Ok(());
        }
        self.current = None;
        self.block.clear();
        self.file.seek(SeekFrom::Start((index * BLOCK) as u64))?;
        (&mut self.file).take(BLOCK as u64).read_to_end(&mut self.block)?;
        self.digested.compare(index, &self.block)?;
        self.current = Some(index);
        Ok(())
    }
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.digested.bytes || buffer.is_empty() {
            return Ok(0);
        }
        let index = (self.position / BLOCK as u64) as usize;
        self.load(index)?;
        let rest = self.block.get((self.position % BLOCK as u64) as usize..);
        let rest = rest.unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for Checked {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = sought(to, self.position, self.digested.bytes)?;
        Ok(self.position)
    }
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Checked(file) => file.read(buffer),
        }
    }
}

impl Seek for Reading {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Plain(file) => file.seek(to),
            Self::Checked(file) => file.seek(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn checked(mut file: std::fs::File) -> Checked {
        file.rewind().unwrap();
        let digested = Digested::of(&mut file).unwrap();
        Checked::new(file, digested)
    }

    fn bytes() -> Vec<u8> {
        (0..3 * BLOCK + 77)
            .map(|index| (index * 31 % 251) as u8)
            .collect()
    }

    #[test]
    fn it_reads_and_seeks_as_the_file_does() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes()).unwrap();
        let mut plain = file.try_clone().unwrap();
        let mut checked = checked(file);
        assert_eq!(checked.digested.digest, blake3::hash(&bytes()));
        let mut all = Vec::new();
        checked.read_to_end(&mut all).unwrap();
        assert!(all == bytes());
        for to in [
            SeekFrom::Start(BLOCK as u64 - 3),
            SeekFrom::Current(BLOCK as i64),
            SeekFrom::End(-50),
            SeekFrom::Current(-(BLOCK as i64)),
            SeekFrom::Start(10 * BLOCK as u64),
        ] {
            let at = checked.seek(to).unwrap();
            let (mut found, mut expected) = (vec![0; 9], vec![0; 9]);
            let count = io::Read::by_ref(&mut checked)
                .take(9)
                .read(&mut found[..])
                .unwrap();
            plain.seek(SeekFrom::Start(at)).unwrap();
            let least = plain.read(&mut expected).unwrap();
            assert!(count <= least && found[..count] == expected[..count], "{to:?}");
            assert_eq!(count == 0, least == 0, "{to:?}");
        }
        assert!(checked.seek(SeekFrom::End(-(10 * BLOCK as i64))).is_err());
    }

    #[test]
    fn several_threads_read_what_the_file_has() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes()).unwrap();
        let (all, mut blocks) = (bytes(), checked(file).into_blocks());
        // Less than they read.
        blocks.kept = Parts::new(2);
        std::thread::scope(|s| {
            for thread in 0..4_usize {
                let (all, blocks) = (&all, &blocks);
                s.spawn(move || {
                    let mut into = vec![0; 1_000];
                    for round in 0..2_000 {
                        let place = (round * 7_919 + thread * 104_729) % (all.len() + 50);
                        let count = blocks.read_at(&mut into, place as u64).unwrap();
                        let there = all.get(place..).unwrap_or_default();
                        assert!(count <= there.len() && into[..count] == there[..count]);
                        assert_eq!(count == 0, there.is_empty());
                    }
                });
            }
        });
    }

    #[test]
    fn threads_are_not_given_what_is_written_meanwhile() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes()).unwrap();
        let mut writer = file.try_clone().unwrap();
        let blocks = checked(file).into_blocks();
        let mut into = [0; 9];
        assert_eq!(blocks.read_at(&mut into, 4).unwrap(), 9);
        writer.seek(SeekFrom::Start(5)).unwrap();
        writer.write_all(&[255]).unwrap();
        assert_eq!(blocks.read_at(&mut into, 4).unwrap(), 9);
        assert!(into == bytes()[4..13], "kept as it was");
        writer.seek(SeekFrom::Start(2 * BLOCK as u64 + 5)).unwrap();
        writer.write_all(&[255]).unwrap();
        let failed = blocks.read_at(&mut into, 2 * BLOCK as u64).unwrap_err();
        assert_eq!(failed.to_string(), "it changed while it was read");
        writer.set_len(BLOCK as u64 + 7).unwrap();
        assert!(blocks.read_at(&mut into, BLOCK as u64).is_err());
        assert!(blocks.read_at(&mut into, 3 * BLOCK as u64).is_err());
    }

    #[test]
    fn what_is_written_to_it_meanwhile_is_not_read() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes()).unwrap();
        let mut writer = file.try_clone().unwrap();
        let mut checked = checked(file);
        writer.seek(SeekFrom::Start(2 * BLOCK as u64 + 5)).unwrap();
        writer.write_all(&[255]).unwrap();
        let mut block = vec![0; BLOCK];
        checked.read_exact(&mut block).unwrap();
        let rest = checked.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(rest.to_string(), "it changed while it was read");
        // One that has become shorter, too.
        writer.set_len(BLOCK as u64 / 2).unwrap();
        checked.rewind().unwrap();
        assert!(checked.read_to_end(&mut Vec::new()).is_err());
    }
}
