//! Where the tiles of a raster and its levels go: a Cloud Optimized GeoTIFF or a Zarr store.
//!
//! Without compression every tile of a TIFF has its place before the start: those of the coarsest level come first, those of the raster
//! last. Compressed tiles are appended to the unfinished file as they come, and copied in that order at the end, because how long
//! the levels are is known only then.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use relief_atomic::{Cleanup, Opened};
use relief_engine::sink::Samples;

use super::shape::Shape;
use crate::sink::SinkError;
use crate::sink::compression::{Compression, Compressor};
use crate::sink::journal::Completion;
use crate::sink::positioned::write_all_at;
use crate::sink::tiles::{AT_ONCE, Head, Layout, Store, Stored, list_into, pack, partial_path};
use crate::sink::zarr::{Encoder, Folder, Metadata};

/// The name of the file of sums in the folder of a store.
const SUMS: &str = ".relief-sums";

/// What is copied at once.
const COPIED: usize = 1 << 20;

/// Memory of one thread.
#[derive(Default)]
pub(super) struct Memory {
    packed: Vec<u8>,
    stored: Vec<u8>,
    compressor: Compressor,
    chunk: crate::sink::zarr::Memory,
}

/// An unfinished export that is open.
pub(super) enum Output {
    Tiff {
        path: PathBuf,
        store: Store,
        layouts: Vec<Layout>,
        /// Where the first tile of each level lies, without compression.
        starts: Vec<u64>,
        /// Where the next compressed tile lies, in the unfinished file.
        end: AtomicU64,
        sums: PathBuf,
    },
    Zarr {
        folder: Folder,
        encoder: Encoder,
    },
}

/// The places of tiles of each level, the coarsest first, and where the last of them ends.
pub(super) fn places(layouts: &[Layout]) -> (Vec<u64>, u64) {
    let mut end = Head::of(layouts).tiles;
    let mut starts = vec![0; layouts.len()];
    for (start, layout) in starts.iter_mut().zip(layouts).rev() {
        *start = end;
        end += layout.all_bytes();
    }
    (starts, end)
}

impl Output {
    pub(super) fn tiff(path: &Path, layouts: &[Layout]) -> Result<(Self, File), SinkError> {
        let mut store = Store::open_levels(path, layouts, false)?;
        let mut end = store.head().tiles;
        if !store.is_new {
            store.each_listed(&mut |_, tile| {
                if tile.length > 0 {
                    end = end.max(tile.offset.saturating_add(tile.length.into()));
                }
                true
            })?;
        }
        let mut name = partial_path(path).into_os_string();
        name.push(".sums");
        let sums = PathBuf::from(name);
        let open = || {
            let file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&sums)?;
            Ok((file.try_clone()?, file))
        };
        let (file, beside) = open().map_err(|error| store.failed(error))?;
        store.store_beside(beside);
        let output = Self::Tiff {
            path: path.to_owned(),
            store,
            layouts: layouts.to_vec(),
            starts: places(layouts).0,
            end: AtomicU64::new(end),
            sums,
        };
        Ok((output, file))
    }

    pub(super) fn zarr(
        path: &Path,
        metadata: &Metadata,
        encoder: Encoder,
        shape: &Shape,
    ) -> Result<(Self, File), SinkError> {
        let mut folder = Folder::open(path, metadata, shape.tiles(), false)?;
        let file = folder.store_beside(SUMS)?;
        Ok((Self::Zarr { folder, encoder }, file))
    }

    pub(super) fn failed(&self, error: std::io::Error) -> SinkError {
        match self {
            Self::Tiff { store, .. } => store.failed(error),
            Self::Zarr { folder, .. } => folder.failed(error),
        }
    }

    /// Whether a tile is there.
    pub(super) fn has(&self, number: u64) -> Result<bool, SinkError> {
        match self {
            Self::Tiff { store, .. } if store.is_new => Ok(false),
            Self::Tiff { store, .. } => {
                let mut tile = [Stored { offset: 0, length: 0 }];
                store.listed(number, &mut tile)?;
                Ok(tile[0].length > 0)
            }
            Self::Zarr { folder, .. } => folder.has(number),
        }
    }

    /// Writes a tile of a level: rows of `columns` samples.
    pub(super) fn write(
        &self,
        shape: &Shape,
        level: u32,
        place: (u64, u64),
        (samples, columns): (Samples<'_>, usize),
        memory: &mut Memory,
    ) -> Result<(), SinkError> {
        let number = shape.number(level, place);
        let level = level as usize;
        match self {
            Self::Tiff {
                store,
                layouts,
                starts,
                end,
                ..
            } => {
                let layout = &layouts[level];
                pack(layout, samples, columns, (0, 0), &mut memory.packed)?;
                let (bytes, offset) = if layout.compression == Compression::None {
                    let first = number - shape.number(level as u32, (0, 0));
                    (&memory.packed, starts[level] + first * layout.tile_bytes())
                } else {
                    memory.stored.clear();
                    layout
                        .compression
                        .encode(
                            &mut memory.packed,
                            layout.tile.0,
                            layout.bits,
                            &mut memory.stored,
                            &mut memory.compressor,
                        )
                        .map_err(|error| store.failed(error))?;
                    let offset = end.fetch_add(memory.stored.len() as u64, Ordering::Relaxed);
                    (&memory.stored, offset)
                };
                store.write(bytes, offset)?;
                // At most 2^31 − 1 before they are compressed, by the layout.
                let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                store.note(number, Stored { offset, length })
            }
            Self::Zarr { folder, encoder } => {
                let is_there = encoder
                    .encode(samples, columns, &mut memory.chunk)
                    .map_err(|error| folder.failed(error))?;
                folder.write(number, level, place, is_there.then_some(&memory.chunk.out))
            }
        }
    }

    /// Has everything noted that was written.
    pub(super) fn flush(&self) -> Result<(), SinkError> {
        match self {
            Self::Tiff { store, .. } => store.flush(),
            Self::Zarr { folder, .. } => folder.flush(),
        }
    }

    /// Leaves an export to who goes on with it. Where nothing is in it, all of it goes away.
    pub(super) fn leave(self) {
        if let Self::Tiff {
            path, store, sums, ..
        } = self
        {
            drop(store);
            if !partial_path(&path).exists() {
                let _ = std::fs::remove_file(sums);
            }
        }
    }

    /// Gives the export its name; all tiles must be there.
    pub(super) fn complete(self) -> Result<(), SinkError> {
        let completion = match self {
            Self::Zarr { folder, .. } => {
                folder.flush()?;
                folder.remove_beside(SUMS)?;
                folder.complete()?
            }
            Self::Tiff {
                path,
                store,
                layouts,
                sums,
                ..
            } => {
                let completion = if layouts[0].compression == Compression::None {
                    store.complete(places(&layouts).1)?
                } else {
                    store.flush()?;
                    ordered(&path, &store, &layouts)?
                };
                // Nobody reads it any more; where it stays it harms nobody.
                let _ = std::fs::remove_file(sums);
                completion
            }
        };
        if completion == Completion::Complete {
            return Ok(());
        }
        Err(SinkError::State {
            call: "finish",
            state: "misses tiles",
        })
    }
}

/// Copies the tiles of an unfinished file into the file that is asked for, the coarsest level first, and removes the unfinished one.
fn ordered(path: &Path, store: &Store, layouts: &[Layout]) -> Result<Completion, SinkError> {
    let refused = |error| crate::sink::target::refused(path.to_owned(), error);
    let Opened::Whole(out) = relief_atomic::open(path, &Cleanup::default()).map_err(refused)? else {
        return Err(SinkError::NeedsFile {
            format: crate::sink::Format::Tiff,
        });
    };
    let write = |bytes: &[u8], offset: u64| {
        write_all_at(out.file(), bytes, offset).map_err(|error| store.failed(error))
    };
    let head = store.head();
    write(&head.bytes, 0)?;
    let (mut end, mut bytes) = (head.tiles, Vec::with_capacity(COPIED));
    let mut tiles = Vec::new();
    for lists in head.lists.iter().rev() {
        for first in lists.tiles.clone().step_by(AT_ONCE) {
            let count = (lists.tiles.end - first).min(AT_ONCE as u64);
            tiles.resize(count as usize, Stored { offset: 0, length: 0 });
            store.listed(first, &mut tiles)?;
            for tile in &mut tiles {
                if tile.length == 0 || u64::from(tile.length) > layouts[0].most_stored() {
                    return Ok(Completion::Missing { tiles: 1 });
                }
                let at = bytes.len();
                bytes.resize(at + tile.length as usize, 0);
                store.read(&mut bytes[at..], tile.offset)?;
                tile.offset = end + at as u64;
                if bytes.len() >= COPIED {
                    write(&bytes, end)?;
                    end += bytes.len() as u64;
                    bytes.clear();
                }
            }
            list_into(head, first, &tiles, &mut |bytes, offset| write(bytes, offset))?;
        }
    }
    write(&bytes, end)?;
    out.complete().map_err(refused)?;
    store.remove();
    Ok(Completion::Complete)
}
