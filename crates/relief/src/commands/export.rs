//! `relief render` into files of tiles: they are written by all threads and go on where they were left.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use relief_engine::{Cancel, Plan, Raster, Renderer, TileSink};
use relief_io::{
    Cleanup, Completion, Compression, FileCut, Format, Level, OverviewTiles, Pyramid, SharedTiff, Sharing,
    SinkError, TileOptions, TiledTiff, ZarrOptions, ZarrSink,
};
use relief_scan::{Halftone, Layers, Screened};

use crate::arguments::{Compress, Job, Render};
use crate::design::Opened;
use crate::failure::Failure;
use crate::quantity::{counted, show_bytes};
use crate::show::Meter;
use crate::{interrupt, job};

use super::layers;
use super::room::{self, Ledger};

/// A job whose output goes on where it was left.
struct Export<'a> {
    render: &'a Render,
    opened: &'a Opened,
    path: &'a Path,
    /// Of the level, where one is asked for.
    raster: Raster,
    /// With the most samples that are computed for it.
    level: Option<(Level, u64)>,
    layers: &'a Layers,
    cancel: Cancel,
    /// Of the overview; what is written of the file stays.
    cleanup: Cleanup,
}

/// Where the tiles of an export go.
enum Written {
    Tiff(TiledTiff),
    Shared(SharedTiff, Sharing),
    Zarr(ZarrSink),
    Pyramid(Pyramid),
}

/// What is known of a file before it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct FilePlan {
    /// Of the file, as far as they are known.
    pub(super) bytes: Option<u128>,
    /// Whether the file has just so many bytes; else so many before it is compressed, or at most.
    pub(super) exact: bool,
    /// Whether what is in it is compressed.
    pub(super) compressed: bool,
    /// The fewest bytes that it can have, whatever its samples are.
    pub(super) least: u128,
    /// Whether it is written a second time, in order, before the first one goes away.
    pub(super) twice: bool,
    /// Columns and rows of a tile, strip, chunk or shard, and their number.
    pub(super) tiles: Option<((u64, u64), u128)>,
    /// How many of them are different, at most.
    pub(super) distinct: Option<u128>,
    /// Why no more of them are equal.
    pub(super) reason: Option<String>,
    /// Levels above the raster, whose tiles are among them.
    pub(super) levels: Option<u32>,
    /// Whether an unfinished file is gone on with.
    pub(super) resumable: bool,
    /// Whether all threads write it.
    pub(super) parallel: bool,
    /// Whether several processes may write it.
    pub(super) parts: bool,
    /// How many such files there are, one for each pass, where they are named by a pattern.
    pub(super) files: Option<u32>,
}

impl FilePlan {
    /// What holds of all files of tiles.
    pub(super) fn of_tiles(render: &Render, level: Option<Level>) -> Self {
        let exact = matches!(render.export.compress, None | Some(Compress::None));
        Self {
            exact,
            compressed: !exact,
            resumable: true,
            parallel: level.is_none(),
            ..Self::default()
        }
    }

    /// Of a TIFF, beside what holds of all files of tiles.
    pub(super) fn of_tiff(
        render: &Render,
        sink: &TiledTiff,
        raster: &Raster,
        common: Self,
    ) -> Result<Self, Failure> {
        let (bytes, tiles) = (sink.bytes(raster)?.into(), tiles_of(sink, raster)?);
        Ok(Self {
            bytes: Some(bytes),
            least: compression(render).least(bytes, tiles.0.0),
            tiles: Some(tiles),
            parts: common.exact,
            ..common
        })
    }

    /// Of a TIFF whose equal tiles are stored once, beside what holds of all files of tiles.
    fn of_shared(sharing: &Sharing, common: Self) -> Self {
        Self {
            bytes: Some(sharing.bytes()),
            exact: false,
            // An offset of 8 bytes and a length of 4 for each, wherever it lies.
            least: sharing.tiles() * 12,
            tiles: Some((sharing.tile(), sharing.tiles())),
            distinct: Some(sharing.distinct()),
            reason: sharing.reason().map(str::to_owned),
            ..common
        }
    }

    /// Of a Zarr store, beside what holds of all files of tiles.
    pub(super) fn of_zarr(sink: &ZarrSink, raster: &Raster, common: Self) -> Result<Self, Failure> {
        Ok(Self {
            bytes: Some(sink.bytes(raster)?),
            // Chunks of the fill value alone have no bytes.
            exact: false,
            tiles: Some(tiles_of(sink, raster)?),
            parts: true,
            ..common
        })
    }
}

/// Columns and rows of a tile, and the number of tiles.
fn tiles_of(sink: &dyn TileSink, raster: &Raster) -> Result<((u64, u64), u128), Failure> {
    let grid = sink.grid(raster).map_err(sink_error)?;
    Ok((grid.tile(), grid.count()))
}

/// How the tiles of a TIFF are compressed.
const fn compression(render: &Render) -> Compression {
    match render.export.compress {
        Some(Compress::Tiff(compression)) => compression,
        _ => Compression::None,
    }
}

/// How a TIFF is cut, for a job of this digest.
fn tile_options(render: &Render, job: blake3::Hash) -> TileOptions {
    let asked = &render.export;
    TileOptions {
        cut: match asked.file_tile {
            Some((width, height)) => FileCut::TilesOf(width, height),
            // What many processes write is large.
            None if asked.part.is_some() => FileCut::Tiles,
            None => FileCut::Strips,
        },
        compression: compression(render),
        one_bit: asked.bits == Some(1),
        job,
        threads: job::threads(&render.job),
    }
}

/// How a Zarr store is cut, for a job of this digest.
fn zarr_options(render: &Render, job: blake3::Hash) -> ZarrOptions {
    let asked = &render.export;
    ZarrOptions {
        chunk: asked.file_tile,
        shard: asked.shard,
        gzip: asked.compress == Some(Compress::Gzip),
        share: asked.share,
        job,
    }
}

/// A TIFF in tiles or strips, for a job of this digest.
pub(super) fn tiff_sink(render: &Render, path: &Path, job: blake3::Hash) -> TiledTiff {
    TiledTiff::new(path.to_owned(), tile_options(render, job))
}

/// A Zarr store, for a job of this digest.
pub(super) fn zarr_sink(render: &Render, path: &Path, job: blake3::Hash) -> ZarrSink {
    ZarrSink::new(path.to_owned(), zarr_options(render, job))
}

/// Renders into a TIFF in tiles or strips, or into a Zarr store.
pub(crate) fn run(
    render: &Render,
    opened: Opened,
    path: &Path,
    format: Format,
    (layers, level): (&Layers, Option<Level>),
    overview: Option<(PathBuf, [u8; 32])>,
) -> Result<(), Failure> {
    let opened = Opened {
        files: opened.files.digesting(),
        ..opened
    };
    let digest = digest(job::digest(&opened, &render.job)?, layers, 0, level);
    let export = Export::new(render, &opened, path, (layers, level))?;
    let guard = interrupt::watch(&export.cancel, Some(export.cleanup.clone()));
    let outcome = export.run(format, digest, overview);
    drop(guard);
    if let Err(failure) = &outcome {
        export.left(failure);
    }
    outcome
}

/// What decides the samples of a pass of a job with this digest: an unfinished export is gone on with where it has the same.
pub(super) fn digest(job: blake3::Hash, layers: &Layers, pass: u32, level: Option<Level>) -> blake3::Hash {
    let mut digest = job;
    if !layers.change_nothing() {
        digest = blake3::hash(&[*digest.as_bytes(), *layers.digest(pass).as_bytes()].concat());
    }
    if let Some(level) = level {
        let name = format!("level {} {:?}", level.number(), level.statistic());
        digest = blake3::hash(&[digest.as_bytes(), name.as_bytes()].concat());
    }
    digest
}

/// How an export would be computed, and what its file would be.
pub(super) fn plan(
    render: &Render,
    opened: &Opened,
    path: &Path,
    format: Format,
    (layers, level): (&Layers, Option<Level>),
) -> Result<(Plan, FilePlan), Failure> {
    let export = Export::new(render, opened, path, (layers, level))?;
    // The digest decides no size.
    let written = export.written(format, blake3::Hash::from_bytes([0; 32]))?;
    let file = export.file(&written)?;
    let threads = job::threads(&render.job);
    let plan = match written {
        Written::Tiff(sink) => export.planned(sink)?,
        Written::Zarr(sink) => export.planned(sink)?,
        Written::Pyramid(sink) => job::plan_tiles(opened, &render.job, sink.memory(threads), sink.tile())?,
        Written::Shared(sink, sharing) => {
            job::plan_tiles(opened, &render.job, sink.memory(threads), sharing.tile())?
        }
    };
    Ok((plan, file))
}

/// What the file of an export would be; `None` where only a plan could tell.
pub(super) fn file(
    render: &Render,
    opened: &Opened,
    path: &Path,
    format: Format,
    (layers, level): (&Layers, Option<Level>),
) -> Result<Option<FilePlan>, Failure> {
    if render.export.share && format == Format::Tiff {
        return Ok(None);
    }
    let export = Export::new(render, opened, path, (layers, level))?;
    let written = export.written(format, blake3::Hash::from_bytes([0; 32]))?;
    export.file(&written).map(Some)
}

impl<'a> Export<'a> {
    fn new(
        render: &'a Render,
        opened: &'a Opened,
        path: &'a Path,
        (layers, level): (&'a Layers, Option<Level>),
    ) -> Result<Self, Failure> {
        let raster = job::raster(&opened.design, &render.job)?;
        Ok(Self {
            render,
            opened,
            path,
            raster: level.map_or(raster, |level| level.raster(&raster)),
            level: level.map(|level| (level, render.level.cost)),
            layers,
            cancel: Cancel::new(),
            cleanup: Cleanup::default(),
        })
    }

    /// What the file would be.
    fn file(&self, written: &Written) -> Result<FilePlan, Failure> {
        let (render, raster) = (self.render, &self.raster);
        let common = FilePlan::of_tiles(render, self.level.map(|(level, _)| level));
        match written {
            Written::Tiff(sink) => FilePlan::of_tiff(render, sink, raster, common),
            Written::Zarr(sink) => FilePlan::of_zarr(sink, raster, common),
            Written::Pyramid(sink) => {
                let is_tiff = sink.is_tiff();
                let least = if is_tiff {
                    compression(render).least(sink.bytes(), sink.tile().0)
                } else {
                    0
                };
                Ok(FilePlan {
                    bytes: Some(sink.bytes()),
                    exact: common.exact && is_tiff,
                    least,
                    // Where tiles lie is known when the last of them is compressed.
                    twice: is_tiff && !common.exact,
                    tiles: Some((sink.tile(), sink.tiles().into())),
                    levels: Some(sink.levels()),
                    ..common
                })
            }
            Written::Shared(_, sharing) => Ok(FilePlan::of_shared(sharing, common)),
        }
    }

    /// The sink that is asked for; it has opened nothing yet.
    fn written(&self, format: Format, digest: blake3::Hash) -> Result<Written, Failure> {
        let (render, path) = (self.render, self.path);
        let asked = &render.export;
        if format == Format::Zarr {
            if asked.levels {
                let options = zarr_options(render, digest);
                return Ok(Written::Pyramid(Pyramid::zarr(
                    path.to_owned(),
                    &self.raster,
                    &options,
                )?));
            }
            let sink = zarr_sink(render, path, digest);
            return Ok(Written::Zarr(if asked.part.is_some() {
                sink.in_parts()
            } else {
                sink
            }));
        }
        let options = tile_options(render, digest);
        if asked.levels {
            return Ok(Written::Pyramid(Pyramid::tiff(
                path.to_owned(),
                &self.raster,
                &options,
            )?));
        }
        if !asked.share {
            let sink = tiff_sink(render, path, digest);
            return Ok(Written::Tiff(if asked.part.is_some() {
                sink.in_parts()?
            } else {
                sink
            }));
        }
        if asked.part.is_some() {
            return Err(Failure::Usage(
                "--share cannot write parts: which tiles are equal is known to one process; leave --part out"
                    .to_owned(),
            ));
        }
        // The period is known to a plan; what the file takes of the memory, to its tiles.
        let period = job::plan(self.opened, &self.render.job, 0)?.period();
        let sharing = Sharing::new(&self.raster, period, asked.file_tile);
        Ok(Written::Shared(
            SharedTiff::new(path.to_owned(), sharing.clone(), &options)?,
            sharing,
        ))
    }

    fn run(
        &self,
        format: Format,
        digest: blake3::Hash,
        overview: Option<(PathBuf, [u8; 32])>,
    ) -> Result<(), Failure> {
        let in_parts = self.render.export.part.is_some();
        match self.written(format, digest)? {
            Written::Tiff(sink) if in_parts && sink.is_complete(&self.raster)? => self.all_there(),
            Written::Tiff(sink) => self.ended(self.tiles_seen(sink, overview)?.completion()),
            Written::Zarr(sink) if in_parts && sink.is_complete(&self.raster)? => self.all_there(),
            Written::Zarr(sink) => self.ended(self.tiles_seen(sink, overview)?.completion()),
            Written::Shared(file, sharing) => self.shared(&file, &sharing),
            Written::Pyramid(file) => self.pyramid(&file),
        }
    }

    /// Says that what was written is not lost.
    fn left(&self, failure: &Failure) {
        let partial = relief_io::partial_path(self.path);
        let goes_on = !failure.comes_again() && !failure.is_of_another();
        if !self.render.watch.quiet && goes_on && partial.exists() {
            // A job ends as it does when nobody listens any more.
            let _ = writeln!(
                io::stderr(),
                "relief: what was written is in {}; the same command goes on with it",
                relief_design::visible(&partial.display().to_string())
            );
        }
    }

    /// Computes tiles into a sink, and leaves an overview of them where it is to be.
    fn tiles_seen<T: TileSink>(&self, sink: T, overview: Option<(PathBuf, [u8; 32])>) -> Result<T, Failure> {
        let Some((path, digest)) = overview else {
            return self.tiles(sink);
        };
        let sink = OverviewTiles::new(sink, path, digest).with_cleanup(self.cleanup.clone());
        let seen = self.tiles(sink)?;
        if let (Some(problem), true) = (seen.problem(), self.render.overview.overview) {
            // The raster is whole, whoever listens.
            let text = format!("relief: there is no overview: {problem}");
            let _ = writeln!(io::stderr(), "{}", relief_design::visible(&text));
        }
        Ok(seen.into_inner())
    }

    /// Computes tiles into a sink, in a pass or in halftones where they are asked for: those of a part, or all.
    fn tiles<T: TileSink>(&self, mut sink: T) -> Result<T, Failure> {
        if self.layers.change_nothing() {
            self.tiles_into(&mut sink)?;
            return Ok(sink);
        }
        let mut screened = self.screened(sink)?;
        self.tiles_into(&mut screened)?;
        Ok(screened.into_inner())
    }

    fn screened<T>(&self, sink: T) -> Result<Screened<T>, Failure> {
        let level = self.level.map(|(level, _)| level);
        layers::screened(sink, (self.layers, 0), level, (self.opened, &self.render.job))
    }

    /// How tiles would be computed into a sink.
    fn planned<T: TileSink>(&self, sink: T) -> Result<Plan, Failure> {
        if self.layers.change_nothing() {
            self.plan_of(&sink)
        } else {
            self.plan_of(&self.screened(sink)?)
        }
    }

    fn plan_of(&self, sink: &dyn TileSink) -> Result<Plan, Failure> {
        let level = self.level.map(|(level, _)| level);
        plan_of_tiles(self.opened, &self.render.job, &self.raster, level, sink)
    }

    fn tiles_into(&self, sink: &mut dyn TileSink) -> Result<(), Failure> {
        let render = self.render;
        let plan = self.plan_of(sink)?;
        let renderer = job::renderer(self.opened, plan, None, &render.watch, &self.cancel)?;
        job::unchanged(self.opened)?;
        job::run_tiles(
            &renderer,
            sink,
            render.export.part,
            self.level,
            &render.watch,
            &self.cancel,
        )
    }

    fn all_there(&self) -> Result<(), Failure> {
        self.said(&format!("{}: all parts are there", self.path.display()))
    }

    /// Says what has become of the output.
    fn ended(&self, completion: Option<Completion>) -> Result<(), Failure> {
        let name = self.path.display();
        let (part, parts) = self.render.export.part.unwrap_or((0, 1));
        match completion {
            Some(Completion::Missing { tiles }) => self.said(&format!(
                "{name}: part {part}/{parts} is written, of other parts {} missing",
                if tiles == 1 {
                    "1 tile is".to_owned()
                } else {
                    format!("{tiles} tiles are")
                }
            )),
            Some(Completion::OthersWrite) => self.said(&format!(
                "{name}: part {part}/{parts} is written, others write theirs still"
            )),
            Some(Completion::Complete) | None => self.announced(""),
        }
    }

    /// Renders into a TIFF whose equal tiles are stored once.
    fn shared(&self, file: &SharedTiff, sharing: &Sharing) -> Result<(), Failure> {
        let render = self.render;
        let (tile, tiles, distinct) = (sharing.tile(), sharing.tiles(), sharing.distinct());
        let reason = sharing
            .reason()
            .map(|reason| format!(": {reason}"))
            .unwrap_or_default();
        let bytes = show_bytes(sharing.bytes());
        if !render.watch.quiet && !render.watch.json_progress {
            // A job goes on when nobody listens any more.
            let _ = writeln!(
                io::stderr(),
                "relief: {} of {} × {} pixels, at most {distinct} of them different, {bytes} before they \
                 are compressed{reason}",
                counted(tiles, "tile"),
                tile.0,
                tile.1
            );
        }
        let planned = FilePlan::of_shared(sharing, FilePlan::of_tiles(render, None));
        room::check(render, Format::Tiff, None, &planned, &mut Ledger::default())?;
        let memory = file.memory(job::threads(&render.job));
        let plan = job::plan_tiles(self.opened, &render.job, memory, tile)?;
        let renderer: Renderer = job::renderer(self.opened, plan, None, &render.watch, &self.cancel)?;
        job::unchanged(self.opened)?;
        let mut meter = Meter::new(&render.watch);
        let outcome = file.render(&renderer, &mut |progress| meter.tell(progress), &self.cancel);
        meter.end(outcome.is_ok());
        outcome?;
        self.announced(&format!(
            ", at most {distinct} of {} stored",
            counted(tiles, "tile")
        ))
    }

    /// Renders into a file with levels.
    fn pyramid(&self, file: &Pyramid) -> Result<(), Failure> {
        let watch = &self.render.watch;
        let memory = file.memory(job::threads(&self.render.job));
        let plan = job::plan_tiles(self.opened, &self.render.job, memory, file.tile())?;
        let renderer = job::renderer(self.opened, plan, None, watch, &self.cancel)?;
        job::unchanged(self.opened)?;
        let mut meter = Meter::new(watch);
        let outcome = file.render(&renderer, &mut |progress| meter.tell(progress), &self.cancel);
        meter.end(outcome.is_ok());
        outcome?;
        self.announced(&format!(", with {}", counted(u64::from(file.levels()), "level")))
    }

    fn announced(&self, more: &str) -> Result<(), Failure> {
        let Raster {
            width, height, depth, ..
        } = self.raster;
        let depth = match self.render.export.bits {
            Some(1) => "1 bit".to_owned(),
            _ => depth.to_string(),
        };
        let name = self.path.display();
        self.said(&format!("{name}: {width} × {height} pixels, {depth}{more}"))
    }

    fn said(&self, text: &str) -> Result<(), Failure> {
        if !self.render.watch.quiet {
            writeln!(io::stdout(), "{}", relief_design::visible(text))?;
        }
        Ok(())
    }
}

/// How the tiles of a raster, or of its level, would be computed into a sink.
pub(super) fn plan_of_tiles(
    opened: &Opened,
    job: &Job,
    raster: &Raster,
    level: Option<Level>,
    sink: &dyn TileSink,
) -> Result<Plan, Failure> {
    let tile = sink.grid(raster).map_err(sink_error)?.tile();
    let Some(level) = level else {
        let memory = sink.memory(raster, job::threads(job));
        return job::plan_tiles(opened, job, memory, tile);
    };
    // Its tiles come one after the other.
    let memory = sink.memory(raster, 1);
    job::plan_level(opened, job, level, memory, Some(tile))
}

/// What a sink says before the start.
fn sink_error(error: io::Error) -> Failure {
    match error.downcast::<SinkError>() {
        Ok(error) => error.into(),
        Err(error) => Failure::Engine(relief_engine::Error::Sink(error)),
    }
}

/// Whether the arguments can be used together, for this format.
pub(crate) fn check(render: &Render, format: Format, layers: &Layers) -> Result<(), Failure> {
    let export = &render.export;
    let leveled = render.level.is_given();
    let usage = |problem: String| Err(Failure::Usage(problem));
    let zarr = format == Format::Zarr;
    if export.is_tiled() && !zarr && format != Format::Tiff {
        return usage(format!(
            "--file-tile, --compress, --share, --levels and --part are for TIFF and Zarr, and {format} was asked for; name the \
             file .tif or .zarr"
        ));
    }
    if (export.is_tiled() || zarr) && render.digest {
        return usage(
            "--digest needs the rows in order, and such a file is written in any; run 'relief digest'"
                .to_owned(),
        );
    }
    if export.bits == Some(1) && !matches!(format, Format::Tiff | Format::Png | Format::Bmp) {
        return usage(format!(
            "{format} does not hold 1 bit a pixel: write png, bmp or tiff"
        ));
    }
    match export.compress {
        Some(Compress::Gzip) if !zarr => {
            return usage(
                "--compress gzip is for Zarr; a TIFF is compressed by deflate, packbits, lzw or g4"
                    .to_owned(),
            );
        }
        Some(Compress::Tiff(compression)) if zarr => {
            return usage(format!(
                "Zarr is compressed by gzip, and {compression} was asked for"
            ));
        }
        Some(Compress::Tiff(Compression::Group4)) if export.bits != Some(1) => {
            return usage(
                "--compress g4 compresses rasters of one bit a pixel: give --bits 1, or --compress deflate"
                    .to_owned(),
            );
        }
        _ => {}
    }
    let by_tiles = export.is_tiled() || zarr || (format == Format::Tiff && export.bits == Some(1));
    match layers.halftone() {
        Some(halftone) if by_tiles && diffuses(halftone) => {
            return usage(
                "error diffusion needs the rows in order, and such a file is written in any: take blue-noise or bayer:16 as \
                 --halftone, or write png or bmp"
                    .to_owned(),
            );
        }
        Some(_) if export.share => {
            return usage(
                "--share goes by the period of the design, which --halftone changes; leave one out"
                    .to_owned(),
            );
        }
        _ => {}
    }
    match (format, export.amplitude, export.base) {
        (Format::Stl, Some(_), Some(1..)) => {}
        (Format::Stl, ..) => {
            return usage(
                "a solid needs --amplitude, the height of the greatest sample, which the canvas may say as well, and --base, what lies \
                 below samples of 0: such as --amplitude 80um --base 1mm"
                    .to_owned(),
            );
        }
        (_, None, None) => {}
        _ => return usage("--amplitude and --base are for STL; name the file .stl".to_owned()),
    }
    if export.levels && export.share && !zarr {
        return usage(
            "--share stores equal tiles of a TIFF without levels once; leave one out, or write Zarr with --shard".to_owned(),
        );
    }
    if leveled && export.share && !zarr {
        return usage(
            "--share goes by the period of the design, which a level has not; leave --share, or --level and --preview, out"
                .to_owned(),
        );
    }
    if export.shard.is_some() && !zarr {
        return usage("--shard is for Zarr; name the folder .zarr".to_owned());
    }
    if zarr && export.share && export.shard.is_none() {
        return usage(
            "equal chunks of a Zarr store share their bytes within a shard: give --shard WxH, such as 4096x4096".to_owned(),
        );
    }
    Ok(())
}

/// Whether a halftone hands errors from row to row.
const fn diffuses(halftone: Halftone) -> bool {
    matches!(
        halftone,
        Halftone::FloydSteinberg { .. }
            | Halftone::Jarvis { .. }
            | Halftone::Stucki { .. }
            | Halftone::Atkinson { .. }
    )
}
