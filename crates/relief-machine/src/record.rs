//! A manifest that is kept up with a job.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::bands::{Cut, Digests};
use crate::manifest::{Manifest, ManifestLock};

/// A manifest on its path, locked against other senders.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    manifest: Manifest,
    digests: Digests,
    /// Digests of groups that are made and not yet executed, in order.
    pending: Vec<(u64, blake3::Hash)>,
    _lock: ManifestLock,
}

impl Record {
    /// Begins a record; the first manifest is on disk before a line is sent.
    ///
    /// # Errors
    /// Where there is one already, or it cannot be written.
    pub fn begin(path: &Path, manifest: Manifest) -> Result<Self, Error> {
        let lock = ManifestLock::take(path)?;
        if path.exists() {
            let problem = "it exists; --resume takes it up, or remove it to begin anew".to_owned();
            return Err(Error::Manifest {
                path: path.to_owned(),
                problem,
            });
        }
        manifest.write(path)?;
        Self::new(path, manifest, lock)
    }

    /// Takes up a record.
    ///
    /// # Errors
    /// Where it cannot be read, or another sender works on it.
    pub fn resume(path: &Path) -> Result<Self, Error> {
        let lock = ManifestLock::take(path)?;
        Self::new(path, Manifest::read(path)?, lock)
    }

    fn new(path: &Path, manifest: Manifest, lock: ManifestLock) -> Result<Self, Error> {
        let wrong = || Error::Manifest {
            path: path.to_owned(),
            problem: "a digest is none".to_owned(),
        };
        let digests = manifest.digests().ok_or_else(wrong)?;
        Ok(Self {
            path: path.to_owned(),
            manifest,
            digests,
            pending: Vec::new(),
            _lock: lock,
        })
    }

    /// What stands in it.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// What stands in it, to be changed before it is written next.
    pub const fn manifest_mut(&mut self) -> &mut Manifest {
        &mut self.manifest
    }

    pub(crate) const fn executed(&self) -> u64 {
        self.manifest.executed
    }

    pub(crate) const fn cut(&self) -> Cut {
        self.manifest.cut
    }

    /// The first line without a digest.
    pub(crate) fn digested(&self) -> u64 {
        self.digests.next(self.manifest.cut, self.manifest.lines)
    }

    /// Takes digests of groups in the order of their lines.
    pub(crate) fn groups(&mut self, groups: &[(u64, blake3::Hash)]) {
        self.pending.extend_from_slice(groups);
    }

    /// Writes the manifest with what is executed.
    pub(crate) fn write(&mut self, executed: u64) -> Result<(), Error> {
        let ripe = self.pending.partition_point(|(end, _)| *end <= executed);
        for (end, digest) in self.pending.drain(..ripe) {
            self.digests
                .push(self.manifest.cut, self.manifest.lines, end, digest);
        }
        self.manifest.executed = executed;
        self.manifest.complete = executed == self.manifest.lines;
        self.manifest.bands.clone_from(&self.digests.bands);
        self.manifest.open = self.digests.open.iter().map(ToString::to_string).collect();
        self.manifest.write(&self.path)
    }
}
