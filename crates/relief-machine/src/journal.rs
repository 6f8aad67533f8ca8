//! What a receiver has executed, in a form that outlives it.
//!
//! The lines go to the end of the output file; only then is their number written to one of two slots of
//! `OUTPUT.journal`, in turns. Whatever stops the process between or within the two, the newest sound slot tells how
//! many lines, in how many bytes, count as executed, and what lies beyond them in the output is cut off.
//!
//! The system stores both when it likes, and when [`Storer::store`] asks for it. A loss of power may so take away what
//! was executed since; the journal then says fewer lines than the sender knows of, and the job is refused before
//! anything is cut. Against that a machine needs a better place than this one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::message::Job;

const MAGIC: &[u8; 8] = b"RLFJRN\x00\x02";
const HEAD: usize = 48;
const SLOT: usize = 32;
const LENGTH: usize = HEAD + 2 * SLOT;

/// The name of the journal of an output.
fn path_of(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

/// An output and its journal, both locked until this and every [`Journal`] of it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    output: File,
    journal: File,
}

impl Place {
    /// Takes hold of an output; `None` where nothing is kept of what goes there (`/dev/null`). Nothing that is no
    /// output of a receiver is changed.
    pub(crate) fn claim(path: &Path) -> Result<Option<Self>, Error> {
        if is_null(path) {
            return Ok(None);
        }
        let journal = path_of(path);
        let length = check_file(path)?;
        check_file(&journal)?;
        let are_new = length.is_none() || !journal.exists();
        if length.is_some_and(|length| length > 0) && !journal.exists() {
            return Err(unknown(path));
        }
        let place = Self {
            output: open(path)?,
            journal: open(&journal)?,
            path: path.to_owned(),
        };
        // The journal is the lock of its own name, the output that of all its names.
        lock(&place.journal, &journal, path)?;
        #[cfg(unix)]
        lock(&place.output, path, path)?;
        let holds_lines = place
            .output
            .metadata()
            .map_err(|source| failed("cannot read", path, source))?
            .len()
            > 0;
        if place.holds()?.is_none() && holds_lines {
            return Err(unknown(path));
        }
        if are_new {
            store_names(path).map_err(|source| failed("cannot write", path, source))?;
        }
        Ok(Some(place))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The job that the output holds, if it holds one.
    pub(crate) fn holds(&self) -> Result<Option<[u8; 32]>, Error> {
        let path = path_of(&self.path);
        let head = read_head(&self.journal).map_err(|source| failed("cannot read", &path, source))?;
        match head {
            Head::NeverBegun => Ok(None),
            Head::Job { id, .. } => Ok(Some(id)),
            Head::Foreign => Err(Error::Option {
                option: "output",
                problem: format!(
                    "{} would be the journal, and holds something else; move it away or choose another output",
                    path.display()
                ),
            }),
        }
    }
}

/// What stands at the beginning of a journal.
enum Head {
    /// Nothing, or what stands there before the head is written.
    NeverBegun,
    Job {
        id: [u8; 32],
        /// The first line of the output.
        first: u64,
    },
    Foreign,
}

fn read_head(mut journal: &File) -> io::Result<Head> {
    journal.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::with_capacity(LENGTH + 1);
    journal.take(LENGTH as u64 + 1).read_to_end(&mut bytes)?;
    let head: Option<&[u8; HEAD]> = bytes.first_chunk();
    Ok(match head {
        None if bytes.is_empty() => Head::NeverBegun,
        Some(head) if bytes.len() == LENGTH && *head == [0; HEAD] => Head::NeverBegun,
        Some(head) if bytes.len() == LENGTH && head[..8] == *MAGIC => {
            let (mut id, mut first) = ([0; 32], [0; 8]);
            id.copy_from_slice(&head[8..40]);
            first.copy_from_slice(&head[40..]);
            Head::Job {
                id,
                first: u64::from_le_bytes(first),
            }
        }
        _ => Head::Foreign,
    })
}

/// The length of a regular file; `None` where there is none.
fn check_file(path: &Path) -> Result<Option<u64>, Error> {
    let refuse = |what: &str| {
        let problem = format!("{} is {what}; name a file, or /dev/null", path.display());
        Err(Error::Option {
            option: "output",
            problem,
        })
    };
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata.len())),
        Ok(metadata) if metadata.is_dir() => refuse("a folder"),
        Ok(_) => refuse("not a regular file, so that a job in it could not be taken up"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed("cannot read", path, source)),
    }
}

/// Whether this is where everything vanishes.
fn is_null(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let device = |path: &Path| {
            let metadata = std::fs::metadata(path).ok()?;
            metadata.file_type().is_char_device().then(|| metadata.rdev())
        };
        device(path).is_some_and(|found| device(Path::new("/dev/null")) == Some(found))
    }
    #[cfg(not(unix))]
    path.as_os_str().eq_ignore_ascii_case("nul")
}

fn open(path: &Path) -> Result<File, Error> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|source| failed("cannot write", path, source))
}

fn lock(file: &File, path: &Path, output: &Path) -> Result<(), Error> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Error::Option {
            option: "output",
            problem: format!(
                "another receiver writes to {} and holds the lock of {}; end that one, or choose another output",
                output.display(),
                path.display()
            ),
        }),
        Err(TryLockError::Error(source)) => Err(failed("cannot lock", path, source)),
    }
}

/// Has the system store the names of new files.
fn store_names(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        File::open(folder)?.sync_all()?;
    }
    // Elsewhere a folder cannot be opened, and its names are stored with its files.
    let _ = path;
    Ok(())
}

fn unknown(path: &Path) -> Error {
    Error::Option {
        option: "output",
        problem: format!(
            "{} holds something that no journal knows; move it away or choose another output",
            path.display()
        ),
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    Error::File { action, path, source }
}

/// Records executed lines.
#[derive(Debug)]
pub(crate) struct Journal {
    /// `None` where nothing is kept.
    files: Option<Files>,
    /// The first line of the output.
    first: u64,
    lines: u64,
    bytes: u64,
    turn: u64,
}

#[derive(Debug)]
struct Files {
    output: File,
    journal: File,
}

impl Files {
    fn of(place: &Place) -> io::Result<Self> {
        Ok(Self {
            output: place.output.try_clone()?,
            journal: place.journal.try_clone()?,
        })
    }
}

/// Has the system store what was recorded, from any thread.
#[derive(Debug)]
pub(crate) struct Storer(Files);

impl Storer {
    /// The output comes first: a journal never tells of lines that were lost.
    pub(crate) fn store(&self) -> io::Result<()> {
        self.0.output.sync_data()?;
        self.0.journal.sync_data()
    }
}

impl Journal {
    /// Opens the record of a job, or begins one at the job's `from`. The output is changed only where record and job
    /// fit each other.
    pub(crate) fn open(place: Option<&Place>, job: &Job) -> Result<Self, Error> {
        let mut journal = Self {
            files: None,
            first: job.from,
            lines: job.from,
            bytes: 0,
            turn: 0,
        };
        let Some(place) = place else {
            return Ok(journal);
        };
        let path = path_of(&place.path);
        let files = Files::of(place).map_err(|source| failed("cannot write", &place.path, source))?;
        let files = journal.files.insert(files);
        let head = read_head(&files.journal).map_err(|source| failed("cannot read", &path, source))?;
        match head {
            Head::Job { id, first } if id == job.id => {
                journal.first = first;
                journal
                    .newest()
                    .map_err(|source| failed("cannot read", &path, source))?;
                journal.check(place, job)?;
            }
            Head::NeverBegun => journal
                .begin(&job.id)
                .map_err(|source| failed("cannot write", &path, source))?,
            Head::Job { .. } | Head::Foreign => {
                let problem = "it is of another job".to_owned();
                return Err(Error::Journal { path, problem });
            }
        }
        journal
            .cut()
            .map_err(|source| failed("cannot write", &place.path, source))?;
        Ok(journal)
    }

    /// Lines executed: all before this one.
    pub(crate) const fn lines(&self) -> u64 {
        self.lines
    }

    /// Records lines as executed.
    pub(crate) fn execute(&mut self, lines: u64, bytes: &[u8]) -> io::Result<()> {
        if let Some(files) = &mut self.files
            && let Err(error) = files.output.write_all(bytes)
        {
            // What was written of a line that did not fit is taken back; should that fail too, the slot still says
            // what counts.
            let _ = self.cut();
            return Err(error);
        }
        self.lines += lines;
        self.bytes += bytes.len() as u64;
        if self.files.is_some() { self.note() } else { Ok(()) }
    }

    /// Has the system store everything.
    pub(crate) fn store(&self) -> io::Result<()> {
        match &self.files {
            Some(files) => {
                files.output.sync_data()?;
                files.journal.sync_data()
            }
            None => Ok(()),
        }
    }

    /// What stores from another thread; `None` where nothing is kept.
    pub(crate) fn storer(&self) -> Result<Option<Storer>, Error> {
        let Some(files) = &self.files else {
            return Ok(None);
        };
        let clone = || {
            Ok(Files {
                output: files.output.try_clone()?,
                journal: files.journal.try_clone()?,
            })
        };
        let files = clone().map_err(|error: io::Error| Error::Thread(error.to_string()))?;
        Ok(Some(Storer(files)))
    }

    /// Whether what is recorded can be of this job, and goes as far as the sender says.
    fn check(&self, place: &Place, job: &Job) -> Result<(), Error> {
        let refuse = |problem: String| {
            Err(Error::Journal {
                path: path_of(&place.path),
                problem,
            })
        };
        let (output, from) = (place.path.display(), job.from);
        let again = format!(
            "nothing was changed. To go on with line {from} into a new output, end this machine, move {output} and \
             its journal away and start it again"
        );
        let or_behind = format!(
            "; to execute lines from {} on again, have the sender --resume with --executed {0}",
            self.lines
        );
        let count = self.lines.checked_sub(self.first);
        let fits = count.is_some_and(|count| {
            let least = count.saturating_mul(job.least_bytes());
            let most = count.saturating_mul(u64::from(job.line_bytes));
            (least..=most).contains(&self.bytes)
        });
        if !fits || self.lines > job.lines {
            return refuse(format!(
                "it records lines {} to {} of {} in {} bytes, which they cannot have: it is damaged; {again}",
                self.first, self.lines, job.lines, self.bytes
            ));
        }
        if self.lines < from {
            return refuse(format!(
                "it records {} executed lines, and the sender knows of {from}: it is older than the job, as after a \
                 loss of power; {again}{or_behind}",
                self.lines
            ));
        }
        let length = place
            .output
            .metadata()
            .map_err(|source| failed("cannot read", &place.path, source))?
            .len();
        if length < self.bytes {
            return refuse(format!(
                "it records {} executed lines in {} bytes, and {output} has {length}: its end was lost; {again}",
                self.lines, self.bytes
            ));
        }
        Ok(())
    }

    /// Begins a journal, whole or not at all for whoever reads it after a kill: one write.
    fn begin(&mut self, id: &[u8; 32]) -> io::Result<()> {
        self.turn = 1;
        let slot = self.slot();
        let bytes = [MAGIC.as_slice(), id, &self.first.to_le_bytes(), &slot, &slot].concat();
        let Some(files) = &mut self.files else {
            return Ok(());
        };
        files.journal.seek(SeekFrom::Start(0))?;
        files.journal.write_all(&bytes)?;
        files.journal.sync_data()
    }

    /// The slot of what is executed.
    fn slot(&self) -> [u8; SLOT] {
        let mut slot = [0; SLOT];
        slot[..8].copy_from_slice(&self.turn.to_le_bytes());
        slot[8..16].copy_from_slice(&self.lines.to_le_bytes());
        slot[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        let checksum = crc32c::crc32c(&slot[..28]);
        slot[28..].copy_from_slice(&checksum.to_le_bytes());
        slot
    }

    fn note(&mut self) -> io::Result<()> {
        self.turn += 1;
        let (slot, place) = (self.slot(), HEAD as u64 + self.turn % 2 * SLOT as u64);
        let Some(files) = &mut self.files else {
            return Ok(());
        };
        files.journal.seek(SeekFrom::Start(place))?;
        files.journal.write_all(&slot)
    }

    /// Reads the newest sound slot.
    fn newest(&mut self) -> io::Result<()> {
        let Some(files) = &mut self.files else {
            return Ok(());
        };
        files.journal.seek(SeekFrom::Start(HEAD as u64))?;
        for _ in 0..2 {
            let mut slot = [0; SLOT];
            files.journal.read_exact(&mut slot)?;
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
                "neither of its two slots is sound",
            ));
        }
        Ok(())
    }

    /// Cuts off what does not count.
    fn cut(&mut self) -> io::Result<()> {
        if let Some(files) = &mut self.files {
            files.output.set_len(self.bytes)?;
            files.output.seek(SeekFrom::End(0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relief_scan::Packing;

    /// Lines of two bytes.
    fn job(from: u64) -> Job {
        Job {
            id: [7; 32],
            token: [0; 16],
            from,
            lines: 100,
            samples: 2,
            channels: 1,
            passes: 1,
            line_bytes: 2,
            pixel: 0,
            width: 2,
            height: 100,
            packing: Packing::default(),
            run_length: false,
            design: [0; 32],
            scan: [0; 32],
            material: [0; 32],
            machine: [0; 32],
        }
    }

    struct Bench {
        folder: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Self { folder }
        }

        fn output(&self) -> PathBuf {
            self.folder.path().join("out")
        }

        fn journal(&self) -> PathBuf {
            self.folder.path().join("out.journal")
        }

        /// Opens the record as a receiver that starts does.
        fn open(&self, from: u64) -> Result<Journal, Error> {
            let place = Place::claim(&self.output())?;
            Journal::open(place.as_ref(), &job(from))
        }

        /// Writes `bytes` at a place of the journal.
        fn damage(&self, at: usize, bytes: &[u8]) {
            let mut file = OpenOptions::new().write(true).open(self.journal()).unwrap();
            file.seek(SeekFrom::Start(at as u64)).unwrap();
            file.write_all(bytes).unwrap();
        }
    }

    #[test]
    fn lines_beyond_the_newest_slot_do_not_count() {
        let bench = Bench::new();
        let mut journal = bench.open(5).unwrap();
        journal.execute(2, b"abcd").unwrap();
        journal.execute(1, b"ef").unwrap();
        drop(journal);
        OpenOptions::new()
            .append(true)
            .open(bench.output())
            .unwrap()
            .write_all(b"half a li")
            .unwrap();
        assert_eq!(bench.open(0).unwrap().lines(), 8);
        assert_eq!(std::fs::read(bench.output()).unwrap(), b"abcdef");
    }

    #[test]
    fn a_torn_slot_falls_back_to_the_one_before() {
        let bench = Bench::new();
        let mut journal = bench.open(0).unwrap();
        journal.execute(1, b"ab").unwrap();
        journal.execute(1, b"cd").unwrap();
        let newest = HEAD + (journal.turn % 2) as usize * SLOT;
        drop(journal);
        bench.damage(newest + 9, &[0xFF]);
        assert_eq!(bench.open(0).unwrap().lines(), 1);
        assert_eq!(std::fs::read(bench.output()).unwrap(), b"ab");
    }

    #[test]
    fn a_record_older_than_the_job_is_refused_and_nothing_is_cut() {
        let bench = Bench::new();
        let mut journal = bench.open(0).unwrap();
        journal.execute(1, b"ab").unwrap();
        let older = std::fs::read(bench.journal()).unwrap();
        journal.execute(2, b"cdef").unwrap();
        drop(journal);
        std::fs::write(bench.journal(), older).unwrap();
        let refused = bench.open(3).unwrap_err().to_string();
        assert!(
            refused.contains("1 executed lines") && refused.contains("knows of 3"),
            "{refused}"
        );
        assert_eq!(std::fs::read(bench.output()).unwrap(), b"abcdef");
        assert_eq!(bench.open(1).unwrap().lines(), 1);
    }

    #[test]
    fn a_journal_whose_head_was_never_written_is_begun() {
        let bench = Bench::new();
        for never_begun in [
            vec![],
            vec![0; LENGTH],
            [vec![0; HEAD], vec![9; 2 * SLOT]].concat(),
        ] {
            std::fs::write(bench.output(), b"").unwrap();
            std::fs::write(bench.journal(), never_begun).unwrap();
            let mut journal = bench.open(4).unwrap();
            journal.execute(1, b"ab").unwrap();
            drop(journal);
            assert_eq!(bench.open(4).unwrap().lines(), 5);
        }
    }

    #[test]
    fn a_file_that_is_no_journal_is_left_alone_however_short() {
        let bench = Bench::new();
        let journal = std::fs::read({
            drop(bench.open(0).unwrap());
            bench.journal()
        })
        .unwrap();
        let foreign = [
            b"dear diary".to_vec(),
            vec![0; HEAD - 1],
            vec![0; LENGTH + 1],
            journal[..LENGTH - 1].to_vec(),
            [journal, vec![1]].concat(),
        ];
        for bytes in foreign {
            std::fs::write(bench.journal(), &bytes).unwrap();
            let refused = bench.open(0).unwrap_err().to_string();
            assert!(refused.contains("would be the journal"), "{refused}");
            assert_eq!(std::fs::read(bench.journal()).unwrap(), bytes);
        }
    }

    #[test]
    fn a_sound_slot_that_cannot_be_true_is_refused() {
        let bench = Bench::new();
        let begin = |lines, bytes| {
            let slot = Journal {
                files: None,
                first: 0,
                lines,
                bytes,
                turn: 9,
            }
            .slot();
            let mut journal = bench.open(0).unwrap();
            if journal.lines() == 0 {
                journal.execute(3, b"abcdef").unwrap();
            }
            drop(journal);
            bench.damage(HEAD, &slot);
            let refused = bench.open(0).unwrap_err().to_string();
            assert_eq!(std::fs::read(bench.output()).unwrap(), b"abcdef");
            std::fs::remove_file(bench.output()).unwrap();
            std::fs::remove_file(bench.journal()).unwrap();
            refused
        };
        assert!(begin(103, 6).contains("damaged"), "more lines than bytes");
        assert!(begin(3, 5).contains("damaged"), "not whole lines");
        assert!(begin(101, 202).contains("damaged"), "more lines than the job");
        assert!(begin(4, 8).contains("its end was lost"), "more than the output");
    }

    #[test]
    fn an_output_has_one_owner_by_whatever_name() {
        let bench = Bench::new();
        let first = Place::claim(&bench.output()).unwrap();
        let taken = |path: &Path| Place::claim(path).unwrap_err().to_string();
        assert!(taken(&bench.output()).contains("another receiver writes to"));
        #[cfg(unix)]
        {
            let link = bench.folder.path().join("link");
            std::os::unix::fs::symlink(bench.output(), &link).unwrap();
            assert!(taken(&link).contains("another receiver writes to"));
        }
        drop(first);
        assert!(Place::claim(&bench.output()).is_ok());
    }
}
