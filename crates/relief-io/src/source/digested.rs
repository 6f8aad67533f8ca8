//! A file that is hashed while it is read.

use std::io::{self, BufReader, Read};

/// A reader that tells the BLAKE3 digest of all that it reads from, whoever stops reading before the end.
pub struct Digested<'r> {
    /// What is read a few bytes at a time is hashed in blocks all the same: many chunks at once take a fraction of the time.
    reader: BufReader<Hashed<'r>>,
    tell: Option<Box<dyn FnOnce(blake3::Hash) + 'r>>,
}

impl<'r> Digested<'r> {
    /// Reads from `reader`, and calls `tell` with the digest when it is dropped. What cannot be read to its end has none: nothing is told.
    pub fn new(reader: impl Read + 'r, tell: impl FnOnce(blake3::Hash) + 'r) -> Self {
        let hashed = Hashed {
            reader: Box::new(reader),
            hasher: blake3::Hasher::new(),
        };
        Self {
            reader: BufReader::with_capacity(BLOCK, hashed),
            tell: Some(Box::new(tell)),
        }
    }
}

/// The bytes that are hashed at once.
const BLOCK: usize = 64 * 1024;

struct Hashed<'r> {
    reader: Box<dyn Read + 'r>,
    hasher: blake3::Hasher,
}

impl Read for Hashed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

impl std::fmt::Debug for Digested<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Digested").finish_non_exhaustive()
    }
}

impl Read for Digested<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

impl Drop for Digested<'_> {
    fn drop(&mut self) {
        let Hashed { reader, hasher } = self.reader.get_mut();
        if hasher.update_reader(reader).is_ok()
            && let Some(tell) = self.tell.take()
        {
            tell(hasher.finalize());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three bytes, then an error.
    struct Broken(u8);

    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::Other)?;
            buffer[0] = self.0;
            Ok(1)
        }
    }

    #[test]
    fn all_of_a_file_is_hashed_however_much_of_it_is_read() {
        for read in [0, 2, 7] {
            let mut told = None;
            let mut digested = Digested::new(&b"relief!"[..], |digest| told = Some(digest));
            digested.read_exact(&mut vec![0; read]).unwrap();
            drop(digested);
            assert_eq!(told, Some(blake3::hash(b"relief!")));
        }
    }

    #[test]
    fn what_cannot_be_read_has_no_digest() {
        let mut told = None;
        drop(Digested::new(Broken(3), |digest| told = Some(digest)));
        assert_eq!(told, None);
    }
}
