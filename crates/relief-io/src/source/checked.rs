//! Reading a file so that the digest of what is read is known.
//!
//! A file is digested whole when it is opened, and every block that a decoder gets afterwards is compared with what was
//! digested: whoever replaces the file, or writes to it meanwhile, cannot have one content named and another one read.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::part::{Bytes, sought};

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
        BLOCK as u64
            + bytes
                .div_ceil(BLOCK as u64)
                .saturating_mul(size_of::<blake3::Hash>() as u64)
    }

    fn load(&mut self, index: usize) -> io::Result<()> {
        if self.current == Some(index) {
            return Ok(());
        }
        self.current = None;
        self.block.clear();
        self.file.seek(SeekFrom::Start((index * BLOCK) as u64))?;
        (&mut self.file).take(BLOCK as u64).read_to_end(&mut self.block)?;
        if self.digested.blocks.get(index) != Some(&blake3::hash(&self.block)) {
            return Err(io::Error::other("it changed while it was read"));
        }
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
