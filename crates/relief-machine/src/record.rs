//! A manifest that is kept up with a job.
//!
//! Where lines depend on those before them (error diffusion), the state from which they can be made is kept beside the
//! manifest, in `MANIFEST.diffusion`: the name of the job, the line that comes next, the state, and the BLAKE3 of all
//! that. A state is written only when the manifest needs no lines from before it.

use std::fs;
use std::path::{Path, PathBuf};

use relief_scan::{DiffusionState, Program};

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
    /// States of error diffusion that are not written yet, with the line that comes next.
    diffusion: Vec<(u64, DiffusionState)>,
    /// Whether it was taken up.
    resumed: bool,
    /// Lines that another machine is said to have executed, until a machine has taken the job there.
    claimed: Option<u64>,
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
        Self::new(path, manifest, lock, false)
    }

    /// Takes up a record.
    ///
    /// # Errors
    /// Where it cannot be read, or another sender works on it.
    pub fn resume(path: &Path) -> Result<Self, Error> {
        let lock = ManifestLock::take(path)?;
        Self::new(path, Manifest::read(path)?, lock, true)
    }

    fn new(path: &Path, manifest: Manifest, lock: ManifestLock, resumed: bool) -> Result<Self, Error> {
        let wrong = || Error::Manifest {
            path: path.to_owned(),
            problem: "a digest has not 64 hexadecimal digits".to_owned(),
        };
        let digests = manifest.digests().ok_or_else(wrong)?;
        // What a sender that was killed while it wrote them has left.
        relief_atomic::remove_leftovers(path);
        relief_atomic::remove_leftovers(&diffusion_path(path));
        Ok(Self {
            path: path.to_owned(),
            manifest,
            digests,
            pending: Vec::new(),
            diffusion: Vec::new(),
            resumed,
            claimed: None,
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

    /// Whether a machine has taken the job.
    #[must_use]
    pub const fn is_taken(&self) -> bool {
        self.manifest.taken
    }

    /// Has the job go on at another address; what a file here held says nothing there.
    pub fn move_to(&mut self, address: String) {
        self.manifest.address = address;
        self.manifest.file_bytes = None;
    }

    /// What a machine is said to have executed: all lines before this one, more or fewer than the record knows. It is
    /// believed when a machine takes the job there; until then the record stays as it is.
    ///
    /// # Errors
    /// Where the job has fewer lines, or goes into a file that holds another number of them.
    pub fn claim(&mut self, executed: u64) -> Result<(), Error> {
        let lines = self.manifest.lines;
        let problem = if executed > lines {
            format!("{executed} lines cannot be executed: the job has {lines}")
        } else if self.manifest.file_bytes.is_some() && executed != self.manifest.executed {
            format!(
                "{executed} lines cannot be executed: its file holds {}",
                self.manifest.executed
            )
        } else {
            self.claimed = Some(executed);
            self.digests.cut_back(self.manifest.cut, executed);
            return Ok(());
        };
        Err(Error::Manifest {
            path: self.path.clone(),
            problem,
        })
    }

    /// Lines that are known or said to be executed: all before this one.
    pub(crate) fn executed(&self) -> u64 {
        self.claimed.unwrap_or(self.manifest.executed)
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

    /// Writes the manifest with what is executed, as the machine that has taken the job says.
    pub(crate) fn write(&mut self, executed: u64) -> Result<(), Error> {
        let ripe = self.pending.partition_point(|(end, _)| *end <= executed);
        for (end, digest) in self.pending.drain(..ripe) {
            self.digests
                .push(self.manifest.cut, self.manifest.lines, end, digest);
        }
        self.manifest.executed = executed;
        self.manifest.taken = true;
        self.claimed = None;
        self.manifest.bands.clone_from(&self.digests.bands);
        self.manifest.open = self.digests.open.iter().map(ToString::to_string).collect();
        self.manifest.write(&self.path)
    }

    /// Writes that the job is done: all lines are executed and stored.
    pub(crate) fn complete(&mut self) -> Result<(), Error> {
        self.manifest.complete = true;
        self.manifest.write(&self.path)
    }

    /// Removes a record that was begun for a job that nobody has taken: there is nothing to take up, and the job can be
    /// begun again under the same name.
    pub(crate) fn end_without_machine(&self) -> Result<(), Error> {
        if self.resumed || self.manifest.taken {
            return Ok(());
        }
        fs::remove_file(&self.path).map_err(|source| Error::File {
            action: "cannot remove",
            path: self.path.clone(),
            source,
        })
    }

    /// The state of error diffusion that was kept, where there is one from which no line is missing.
    pub(crate) fn diffusion(&self, program: &Program) -> Option<DiffusionState> {
        if !self.resumed || program.diffusion_bytes() == 0 {
            return None;
        }
        let bytes = fs::read(diffusion_path(&self.path)).ok()?;
        let (sound, digest) = bytes.split_last_chunk::<32>()?;
        let (job, rest) = sound.split_at_checked(self.manifest.job.len())?;
        let (line, state) = rest.split_first_chunk::<8>()?;
        let usable = blake3::hash(sound) == *digest
            && job == self.manifest.job.as_bytes()
            && u64::from_le_bytes(*line) <= self.digested();
        usable.then(|| DiffusionState::decode(state, program)).flatten()
    }

    /// Keeps a state of error diffusion until the manifest needs no line from before it. Of several that wait, the
    /// oldest is ripe first and the newest is worth most: those between are dropped.
    pub(crate) fn keep_diffusion(&mut self, line: u64, state: DiffusionState) {
        self.diffusion.truncate(1);
        self.diffusion.push((line, state));
    }

    /// Writes the newest state of error diffusion that the manifest needs no line from before.
    pub(crate) fn write_diffusion(&mut self) -> Result<(), Error> {
        let digested = self.digested();
        let ripe = self.diffusion.partition_point(|(line, _)| *line <= digested);
        let Some((line, state)) = self.diffusion.drain(..ripe).next_back() else {
            return Ok(());
        };
        let head = [self.manifest.job.as_bytes(), &line.to_le_bytes()].concat();
        let mut bytes = [head, state.encode()].concat();
        let digest = blake3::hash(&bytes);
        bytes.extend_from_slice(digest.as_bytes());
        let path = diffusion_path(&self.path);
        relief_atomic::replace(&path, &bytes).map_err(|source| Error::File {
            action: "cannot write",
            path,
            source: source.into(),
        })
    }
}

/// Where the states of error diffusion of a manifest are.
fn diffusion_path(manifest: &Path) -> PathBuf {
    let mut name = manifest.as_os_str().to_owned();
    name.push(".diffusion");
    PathBuf::from(name)
}
