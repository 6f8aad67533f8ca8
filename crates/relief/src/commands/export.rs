//! `relief render` into files of tiles: they are written by all threads and go on where they were left.

use std::io::{self, Write};
use std::path::Path;

use relief_engine::{Cancel, Raster, Renderer, TileSink};
use relief_io::{
    Completion, Compression, FileCut, Format, SharedTiff, Sharing, SinkError, TileOptions, TiledTiff,
    ZarrOptions, ZarrSink,
};
use relief_scan::{Halftone, Layers};

use crate::arguments::{Compress, Render};
use crate::design::Opened;
use crate::failure::Failure;
use crate::quantity::show_bytes;
use crate::show::Meter;
use crate::{interrupt, job};

/// A job whose output goes on where it was left.
struct Export<'a> {
    render: &'a Render,
    opened: &'a Opened,
    path: &'a Path,
    raster: Raster,
    layers: &'a Layers,
    cancel: Cancel,
}

/// Renders into a TIFF in tiles or strips.
pub(crate) fn tiff(
    render: &Render,
    opened: Opened,
    path: &Path,
    raster: &Raster,
    layers: &Layers,
) -> Result<(), Failure> {
    run(render, opened, (path, layers), raster, &|export, digest| {
        let asked = &render.export;
        if asked.share {
            return export.shared(&tile_options(render, digest));
        }
        let mut sink = tiff_sink(render, path, digest);
        if asked.part.is_some() {
            sink = sink.in_parts()?;
            if sink.is_complete(raster)? {
                return export.all_there();
            }
        }
        export.ended(export.tiles(sink)?.completion())
    })
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
        compression: match asked.compress {
            Some(Compress::Tiff(compression)) => compression,
            _ => Compression::None,
        },
        one_bit: asked.bits == Some(1),
        job,
        threads: job::threads(&render.job),
    }
}

/// A TIFF in tiles or strips, for a job of this digest.
pub(crate) fn tiff_sink(render: &Render, path: &Path, job: blake3::Hash) -> TiledTiff {
    TiledTiff::new(path.to_owned(), tile_options(render, job))
}

/// A Zarr store, for a job of this digest.
pub(crate) fn zarr_sink(render: &Render, path: &Path, job: blake3::Hash) -> ZarrSink {
    let asked = &render.export;
    let options = ZarrOptions {
        chunk: asked.file_tile,
        shard: asked.shard,
        gzip: asked.compress == Some(Compress::Gzip),
        share: asked.share,
        job,
    };
    ZarrSink::new(path.to_owned(), options)
}

/// Renders into a Zarr store.
pub(crate) fn zarr(
    render: &Render,
    opened: Opened,
    path: &Path,
    raster: &Raster,
    layers: &Layers,
) -> Result<(), Failure> {
    run(render, opened, (path, layers), raster, &|export, digest| {
        let mut sink = zarr_sink(render, path, digest);
        if render.export.part.is_some() {
            sink = sink.in_parts();
            if sink.is_complete(raster)? {
                return export.all_there();
            }
        }
        export.ended(export.tiles(sink)?.completion())
    })
}

fn run(
    render: &Render,
    opened: Opened,
    (path, layers): (&Path, &Layers),
    raster: &Raster,
    work: &dyn Fn(&Export<'_>, blake3::Hash) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let opened = Opened {
        files: opened.files.digesting(),
        ..opened
    };
    let mut digest = job::digest(&opened, &render.job)?;
    if !layers.change_nothing() {
        // What becomes of the samples decides the file as well.
        digest = blake3::hash(&[*digest.as_bytes(), *layers.digest(0).as_bytes()].concat());
    }
    let export = Export {
        render,
        opened: &opened,
        path,
        raster: *raster,
        layers,
        cancel: Cancel::new(),
    };
    let guard = interrupt::watch(&export.cancel, None);
    let outcome = work(&export, digest);
    drop(guard);
    if outcome.is_err() {
        export.left();
    }
    outcome
}

impl Export<'_> {
    /// Says that what was written is not lost.
    fn left(&self) {
        let partial = relief_io::partial_path(self.path);
        if !self.render.watch.quiet && partial.exists() {
            // A job ends as it does when nobody listens any more.
            let _ = writeln!(
                io::stderr(),
                "relief: what was written is in {}; the same command goes on with it",
                relief_design::visible(&partial.display().to_string())
            );
        }
    }

    /// Computes tiles into a sink, in halftones where they are asked for: those of a part, or all.
    fn tiles<T: TileSink>(&self, mut sink: T) -> Result<T, Failure> {
        if self.layers.change_nothing() {
            self.tiles_into(&mut sink)?;
            return Ok(sink);
        }
        let origin = job::origin(&self.opened.design, &self.render.job)?;
        let screened = self.layers.pass(sink, 0, origin);
        let mut screened = screened.map_err(relief_machine::Error::from)?;
        self.tiles_into(&mut screened)?;
        Ok(screened.into_inner())
    }

    fn tiles_into(&self, sink: &mut dyn TileSink) -> Result<(), Failure> {
        let render = self.render;
        let tile = sink.grid(&self.raster).map_err(sink_error)?.tile();
        let memory = sink.memory(&self.raster, job::threads(&render.job));
        let plan = job::plan_tiles(self.opened, &render.job, memory, tile)?;
        let renderer = job::renderer(self.opened, plan, None, &render.watch, &self.cancel)?;
        job::unchanged(self.opened)?;
        job::run_tiles(&renderer, sink, render.export.part, &render.watch, &self.cancel)
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
                "{name}: part {part}/{parts} is written, {tiles} tiles of other parts are missing"
            )),
            Some(Completion::OthersWrite) => self.said(&format!(
                "{name}: part {part}/{parts} is written, others write theirs still"
            )),
            Some(Completion::Complete) | None => self.announced(""),
        }
    }

    /// Renders into a TIFF whose equal tiles are stored once.
    fn shared(&self, options: &TileOptions) -> Result<(), Failure> {
        let render = self.render;
        if render.export.part.is_some() {
            return Err(Failure::Usage(
                "--share cannot write parts: which tiles are equal is known to one process; leave --part out"
                    .to_owned(),
            ));
        }
        // The period is known to a plan; what the file takes of the memory, to its tiles.
        let period = job::plan(self.opened, &render.job, 0)?.period();
        let sharing = Sharing::new(&self.raster, period, render.export.file_tile);
        let (tile, tiles, distinct) = (sharing.tile(), sharing.tiles(), sharing.distinct());
        let reason = sharing
            .reason()
            .map(|reason| format!(": {reason}"))
            .unwrap_or_default();
        let bytes = show_bytes(sharing.bytes());
        let file = SharedTiff::new(self.path.to_owned(), sharing, options)?;
        if !render.watch.quiet && !render.watch.json_progress {
            // A job goes on when nobody listens any more.
            let _ = writeln!(
                io::stderr(),
                "relief: {tiles} tiles of {} × {} pixels, at most {distinct} of them different, {bytes} before they \
                 are compressed{reason}",
                tile.0,
                tile.1
            );
        }
        let plan = job::plan_tiles(self.opened, &render.job, file.memory(options.threads), tile)?;
        let renderer: Renderer = job::renderer(self.opened, plan, None, &render.watch, &self.cancel)?;
        job::unchanged(self.opened)?;
        let mut meter = Meter::new(&render.watch);
        let outcome = file.render(&renderer, &mut |progress| meter.tell(progress), &self.cancel);
        meter.end(outcome.is_ok());
        outcome?;
        self.announced(&format!(", at most {distinct} of {tiles} tiles stored"))
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

/// What a sink says before the start.
pub(crate) fn sink_error(error: io::Error) -> Failure {
    match error.downcast::<SinkError>() {
        Ok(error) => error.into(),
        Err(error) => Failure::Engine(relief_engine::Error::Sink(error)),
    }
}

/// Whether the arguments can be used together, for this format.
pub(crate) fn check(render: &Render, format: Format, layers: &Layers) -> Result<(), Failure> {
    let export = &render.export;
    let usage = |problem: String| Err(Failure::Usage(problem));
    let zarr = format == Format::Zarr;
    if export.is_tiled() && !zarr && format != Format::Tiff {
        return usage(format!(
            "--file-tile, --compress, --share and --part are for TIFF and Zarr, and {format} was asked for; name the \
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
