//! `relief render` into files of tiles: they are written by all threads and go on where they were left.

use std::io::{self, Write};
use std::path::Path;

use relief_engine::{Cancel, Raster, Renderer, TileSink};
use relief_io::{
    Completion, Compression, FileCut, Format, SharedTiff, Sharing, SinkError, TileOptions, TiledTiff,
};

use crate::arguments::Render;
use crate::design::Opened;
use crate::failure::Failure;
use crate::quantity::show_bytes;
use crate::show::Meter;
use crate::{interrupt, job};

/// Renders into a TIFF in tiles.
pub(crate) fn tiff(render: &Render, opened: Opened, path: &Path, raster: &Raster) -> Result<(), Failure> {
    let opened = Opened {
        files: opened.files.digesting(),
        ..opened
    };
    let export = &render.export;
    let options = TileOptions {
        cut: match export.file_tile {
            Some((width, height)) => FileCut::TilesOf(width, height),
            // Parts are many processes' files: large.
            None if export.part.is_some() => FileCut::Tiles,
            None => FileCut::Strips,
        },
        compression: export.compress.unwrap_or_default(),
        one_bit: export.bits == Some(1),
        job: job::digest(&opened, &render.job)?,
        threads: job::threads(&render.job),
    };
    let cancel = Cancel::new();
    let guard = interrupt::watch(&cancel, None);
    let outcome = if export.share {
        shared(render, &opened, path, &options, &cancel)
    } else {
        tiled(render, &opened, path, raster, options, &cancel)
    };
    drop(guard);
    if outcome.is_err() {
        left(render, path);
    }
    outcome
}

/// Says that what was written is not lost.
fn left(render: &Render, path: &Path) {
    let partial = relief_io::partial_path(path);
    if !render.watch.quiet && partial.exists() {
        let _ = writeln!(
            io::stderr(),
            "relief: what was written is in {}; the same command goes on with it",
            relief_design::visible(&partial.display().to_string())
        );
    }
}

fn tiled(
    render: &Render,
    opened: &Opened,
    path: &Path,
    raster: &Raster,
    options: TileOptions,
    cancel: &Cancel,
) -> Result<(), Failure> {
    let part = render.export.part;
    let threads = options.threads;
    let mut sink = TiledTiff::new(path.to_owned(), options);
    if part.is_some() {
        sink = sink.in_parts()?;
        if sink.is_complete(raster)? {
            return said(render, &format!("{}: all parts are there", path.display()));
        }
    }
    let grid = sink.grid(raster).map_err(sink_error)?;
    let plan = job::plan_tiles(opened, &render.job, sink.memory(raster, threads), grid.tile())?;
    let renderer = job::renderer(opened, plan, None, &render.watch, cancel)?;
    job::unchanged(opened)?;
    job::run_tiles(&renderer, &mut sink, part, &render.watch, cancel)?;
    let name = path.display();
    match (part, sink.completion()) {
        (Some((part, parts)), Some(Completion::Missing { tiles })) => said(
            render,
            &format!("{name}: part {part}/{parts} is written, {tiles} tiles of other parts are missing"),
        ),
        (Some((part, parts)), Some(Completion::OthersWrite)) => said(
            render,
            &format!("{name}: part {part}/{parts} is written, others write theirs still"),
        ),
        (_, Some(Completion::Missing { tiles })) => {
            Err(Failure::Usage(format!("{name}: {tiles} tiles are missing")))
        }
        _ => announced(render, path, &renderer, ""),
    }
}

fn shared(
    render: &Render,
    opened: &Opened,
    path: &Path,
    options: &TileOptions,
    cancel: &Cancel,
) -> Result<(), Failure> {
    if render.export.part.is_some() {
        return Err(Failure::Usage(
            "--share cannot write parts: which tiles are equal is known to one process; leave --part out"
                .to_owned(),
        ));
    }
    // The period is known to a plan; what the file takes of the memory, to its tiles.
    let period = job::plan(opened, &render.job, 0)?.period();
    let raster = job::raster(&opened.design, &render.job);
    let sharing = Sharing::new(&raster, period, render.export.file_tile);
    let (tile, tiles, distinct) = (sharing.tile(), sharing.tiles(), sharing.distinct());
    let reason = sharing
        .reason()
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    let bytes = show_bytes(sharing.bytes());
    let file = SharedTiff::new(path.to_owned(), sharing, options)?;
    if !render.watch.quiet && !render.watch.json_progress {
        // A job goes on when nobody listens any more.
        let _ = writeln!(
            io::stderr(),
            "relief: {tiles} tiles of {} × {} pixels, at most {distinct} of them different, {bytes} before they are \
             compressed{reason}",
            tile.0,
            tile.1
        );
    }
    let plan = job::plan_tiles(opened, &render.job, file.memory(options.threads), tile)?;
    let renderer = job::renderer(opened, plan, None, &render.watch, cancel)?;
    job::unchanged(opened)?;
    let mut meter = Meter::new(&render.watch);
    let outcome = file.render(&renderer, &mut |progress| meter.tell(progress), cancel);
    meter.end(outcome.is_ok());
    outcome?;
    announced(
        render,
        path,
        &renderer,
        &format!(", at most {distinct} of {tiles} tiles stored"),
    )
}

fn announced(render: &Render, path: &Path, renderer: &Renderer, more: &str) -> Result<(), Failure> {
    let Raster {
        width, height, depth, ..
    } = renderer.plan().raster();
    let depth = if render.export.bits == Some(1) {
        "1 bit".to_owned()
    } else {
        depth.to_string()
    };
    said(
        render,
        &format!("{}: {width} × {height} pixels, {depth}{more}", path.display()),
    )
}

fn said(render: &Render, text: &str) -> Result<(), Failure> {
    if !render.watch.quiet {
        writeln!(io::stdout(), "{}", relief_design::visible(text))?;
    }
    Ok(())
}

/// What a sink says before the start.
fn sink_error(error: io::Error) -> Failure {
    match error.downcast::<SinkError>() {
        Ok(error) => error.into(),
        Err(error) => Failure::Engine(relief_engine::Error::Sink(error)),
    }
}

/// Whether the arguments can be used together, for this format.
pub(crate) fn check(render: &Render, format: Format) -> Result<(), Failure> {
    let export = &render.export;
    let usage = |problem: String| Err(Failure::Usage(problem));
    if export.is_tiled() && format != Format::Tiff {
        return usage(format!(
            "--file-tile, --compress, --share and --part are for TIFF, and {format} was asked for; name the file .tif"
        ));
    }
    if export.is_tiled() && render.digest {
        return usage(
            "--digest needs the rows in order, and a TIFF in tiles is written in any; run 'relief digest'"
                .to_owned(),
        );
    }
    if export.bits == Some(1) && !matches!(format, Format::Tiff | Format::Png | Format::Bmp) {
        return usage(format!(
            "{format} does not hold 1 bit a pixel: write png, bmp or tiff"
        ));
    }
    if export.compress == Some(Compression::Group4) && export.bits != Some(1) {
        return usage(
            "--compress g4 compresses rasters of one bit a pixel: give --bits 1, or --compress deflate"
                .to_owned(),
        );
    }
    Ok(())
}
