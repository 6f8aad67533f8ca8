//! Whether the file system has room for a file, asked before its first byte is written.
//!
//! How long a file is follows from the raster, unless it is compressed. Then two bounds are known: its bytes before they are compressed, and what
//! no samples can go below. Between the two nobody knows before it is written.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use relief_io::{Format, Inspection, partial_path};

use crate::arguments::Render;
use crate::failure::Failure;
use crate::quantity::show_bytes;

use super::export::FilePlan;
use super::layers;

/// What a job writes, and what there is room for.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// The bytes of all its files; where they are not known, at most.
    most: u128,
    /// No fewer than these.
    least: u128,
    /// What an unfinished file of the job takes already.
    held: u128,
    /// What is left of the file system.
    free: u128,
    system: u64,
    /// Whether it is not known how much shorter the files get.
    compressed: bool,
}

/// Whether the files of a job fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Fits,
    /// That depends on the samples.
    Unknown,
    Not,
}

impl Space {
    /// That of the files of a job; `None` where nothing can be said, as of what takes bytes as they come.
    pub(super) fn of(
        render: &Render,
        format: Format,
        names: Option<&[PathBuf]>,
        file: &FilePlan,
    ) -> Option<Self> {
        let path = match names {
            Some(names) => names.first()?,
            None => render.output.as_deref()?,
        };
        let bytes = file.bytes?;
        // A store is not replaced, and a file that is there may be all that the parts of it come to.
        if (format == Format::Zarr || render.export.part.is_some()) && path.exists() {
            return None;
        }
        // Asked first: what others write of the same file meanwhile is counted as free and as held.
        let room = relief_atomic::room(path)?;
        let partial = match names {
            Some(names) => layers::staging(render, names),
            None => partial_path(path),
        };
        let held = if file.resumable {
            held(&partial, path, bytes)?
        } else {
            0
        };
        let files = u128::from(file.files.unwrap_or(1)) * if file.twice { 2 } else { 1 };
        Some(Self {
            most: bytes.saturating_mul(files),
            least: file.least.saturating_mul(files),
            held,
            free: room.free.into(),
            system: room.system,
            // Which tiles are equal is known for some of them only.
            compressed: file.compressed || render.export.share,
        })
    }

    /// Whether the files fit where `taken` more bytes are taken before them; those of others may free some.
    fn fit(&self, taken: i128) -> Fit {
        let free = self.free.cast_signed() - taken;
        let needed = |bytes: u128| bytes.saturating_sub(self.held).cast_signed();
        // A store that is not compressed is taken for full: that its chunks are 0 would be seen only when they are computed.
        let least = if self.compressed { self.least } else { self.most };
        if needed(least) > free {
            Fit::Not
        } else if needed(self.most) > free {
            Fit::Unknown
        } else {
            Fit::Fits
        }
    }

    /// The bytes that are sure to be written.
    fn sure(&self) -> u128 {
        let bytes = if self.compressed { self.least } else { self.most };
        bytes.saturating_sub(self.held)
    }

    /// In a line of a plan.
    pub(super) fn text(&self) -> String {
        let fits = match self.fit(0) {
            Fit::Fits => "it fits",
            Fit::Unknown => "whether it fits depends on the samples",
            Fit::Not => "it does not fit",
        };
        let held = if self.held > 0 {
            format!(", {} are written already", show_bytes(self.held))
        } else {
            String::new()
        };
        format!("{} free on its file system{held}: {fits}", show_bytes(self.free))
    }

    pub(super) fn as_json(&self) -> serde_json::Value {
        serde_json::json!({
            "free_bytes": self.free.to_string(),
            "held_bytes": self.held.to_string(),
            "fits": match self.fit(0) {
                Fit::Fits => Some(true),
                Fit::Unknown => None,
                Fit::Not => Some(false),
            },
        })
    }

    /// The sizes in a sentence.
    fn sizes(&self, format: Format, name: &str, taken: i128) -> String {
        let size = match (self.compressed, format) {
            (true, _) if self.least > 0 && self.fit(taken) == Fit::Not => format!(
                "{name} would have {} before it is compressed and {} after it at least, whatever its samples are",
                show_bytes(self.most),
                show_bytes(self.least)
            ),
            (true, _) => format!("{name} has {} before it is compressed", show_bytes(self.most)),
            (false, Format::Zarr) => format!(
                "{name} would have {}, less what its chunks of 0 alone would take",
                show_bytes(self.most)
            ),
            (false, _) => format!("{name} would have {}", show_bytes(self.most)),
        };
        let held = if self.held > 0 {
            format!(", of which {} are written", show_bytes(self.held))
        } else {
            String::new()
        };
        let free = (self.free.cast_signed() - taken).max(0).unsigned_abs();
        let before = if taken > 0 {
            " after the files before it"
        } else {
            ""
        };
        format!(
            "{size}{held}, and {} are free on its file system{before}",
            show_bytes(free)
        )
    }
}

/// What the unfinished file of a job takes already; `None` where that cannot be told.
fn held(partial: &Path, path: &Path, bytes: u128) -> Option<u128> {
    /// A store of more chunks has a list of what is done that takes long to read.
    const COUNTED: u128 = 1 << 30;
    if !partial.exists() {
        return Some(0);
    }
    // Chunks of 0 alone take nothing and are done all the same.
    if partial.is_dir()
        && let Ok(found) = Inspection::open(path)
        && !found.is_complete()
        && found.grid().count() <= COUNTED
    {
        let mut missing = 0_u128;
        found
            .missing(&mut |run| missing += u128::from(run.end - run.start))
            .ok()?;
        let tiles = found.grid().count();
        return Some(bytes / tiles * (tiles - missing.min(tiles)));
    }
    relief_atomic::held(partial).map(u128::from)
}

/// What jobs that follow one another write to the file systems.
#[derive(Debug, Default)]
pub(super) struct Ledger(BTreeMap<u64, i128>);

impl Ledger {
    /// Refuses a file of so many bytes of lines, and of what frames them, that does not fit.
    pub(super) fn count_lines(&mut self, path: &Path, bytes: u128) -> Result<(), Failure> {
        if relief_atomic::is_stream(path) {
            return Ok(());
        }
        // What a killed job left of it goes away when it is opened.
        relief_atomic::remove_leftovers(path);
        let Some(room) = relief_atomic::room(path) else {
            return Ok(());
        };
        let space = Space {
            most: bytes,
            least: bytes,
            held: 0,
            free: room.free.into(),
            system: room.system,
            compressed: false,
        };
        self.count(&space, Format::Raw, &[path.to_owned()], "--region")
            .map(|_| ())
    }

    /// Counts the files of a job, and refuses those that do not fit. Gives what is to be told where that is not known. `less` names the options that write less.
    pub(super) fn count(
        &mut self,
        space: &Space,
        format: Format,
        names: &[PathBuf],
        less: &str,
    ) -> Result<Option<String>, Failure> {
        let taken = self.0.entry(space.system).or_default();
        let name = match names {
            [name] => name.display().to_string(),
            [first, .., last] => format!("the files {} to {}", first.display(), last.display()),
            [] => String::new(),
        };
        let fit = space.fit(*taken);
        let sizes = || space.sizes(format, &name, *taken);
        let told = match fit {
            Fit::Fits => None,
            Fit::Unknown => Some(format!("{}: whether it fits depends on the samples", sizes())),
            Fit::Not => {
                return Err(Failure::Room(format!(
                    "{}: write to another one, or less ({less}); --force begins all the same",
                    sizes()
                )));
            }
        };
        // What is replaced is free when the next job begins.
        let files = names.iter().filter(|name| name.is_file());
        let replaced = files.filter_map(|name| relief_atomic::held(name));
        *taken += space.sure().cast_signed() - replaced.map(i128::from).sum::<i128>();
        Ok(told)
    }
}

/// Refuses files for which there is no room, unless they are to be begun all the same, and says where it is not known. The files are those of
/// the passes, where these have names of their own.
pub(super) fn check(
    render: &Render,
    format: Format,
    passes: Option<&[PathBuf]>,
    file: &FilePlan,
    ledger: &mut Ledger,
) -> Result<(), Failure> {
    if render.force {
        return Ok(());
    }
    let Some(space) = Space::of(render, format, passes, file) else {
        return Ok(());
    };
    let output = render.output.as_slice();
    let told = ledger.count(&space, format, passes.unwrap_or(output), "--region, --level")?;
    if let Some(told) = told.filter(|_| !render.watch.is_silent()) {
        // A job goes on when nobody listens any more.
        let _ = writeln!(io::stderr(), "relief: {}", relief_design::visible(&told));
    }
    Ok(())
}
