//! Surfaces into files.

use std::io;
use std::path::Path;

use pyo3::prelude::*;
use relief_atomic::Identity;
use relief_engine::{Cancel, Error, Plan, Raster, Rect, Renderer, Sink, TileSink};
use relief_io::{
    Completion, Compression, DziSink, FileCut, FileSink, Format, SharedTiff, Sharing, SinkError, Target,
    TileOptions, TiledTiff, ZarrOptions, ZarrSink,
};

use crate::design::{Means, Opened};
use crate::errors::Failure;
use crate::watch::Meter;

/// How a file is written: a dictionary of these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Export {
    /// Its format; by the extension of its name where it is not said.
    format: Option<String>,
    /// Which part of how many.
    part: Option<(u64, u64)>,
    /// Columns and rows of a tile or a chunk.
    tile: Option<(u64, u64)>,
    /// Columns and rows of a shard.
    shard: Option<(u64, u64)>,
    compress: Option<String>,
    /// One bit a pixel.
    one_bit: bool,
    /// Equal tiles are stored once.
    share: bool,
}

/// One file to be written.
pub(crate) struct Job<'a> {
    pub(crate) opened: &'a Opened,
    pub(crate) means: &'a Means,
    pub(crate) region: Option<Rect>,
    pub(crate) raster: Raster,
    pub(crate) path: &'a Path,
    pub(crate) export: &'a Export,
}

impl Job<'_> {
    /// Writes the file, and says how many tiles of other parts are missing; `None` where the file is complete.
    pub(crate) fn run(&self, cancel: &Cancel, meter: &Meter) -> Result<Option<u64>, Failure> {
        let format = self.format()?;
        self.check(format)?;
        self.spare_inputs()?;
        let export = self.export;
        let tiled = export.tile.is_some()
            || export.compress.is_some()
            || export.share
            || export.part.is_some()
            || export.one_bit;
        match format {
            Format::Zarr => self.zarr(cancel, meter),
            Format::Tiff if tiled => self.tiff(cancel, meter),
            Format::Dzi => self.bands(&mut DziSink::new(self.path.to_owned()), cancel, meter),
            _ => {
                format.check(&self.raster)?;
                let target = Target::Path(self.path.to_owned());
                let mut sink = FileSink::with_bits(target, format, export.one_bit);
                self.bands(&mut sink, cancel, meter)
            }
        }
    }

    fn format(&self) -> Result<Format, Failure> {
        let named = self.export.format.as_deref();
        let format = match named {
            Some(name) => name
                .parse()
                .map_err(|error: relief_io::UnknownFormat| Failure::Option("format", error.to_string()))?,
            None => Format::from_extension(self.path).ok_or_else(|| {
                Failure::Option(
                    "out",
                    format!(
                        "no format has the extension of {}; name the file .raw, .pgm, .png, .tiff, .bmp, .dzi or .zarr, or say \
                         format=",
                        relief_design::visible(&self.path.display().to_string())
                    ),
                )
            })?,
        };
        match format {
            Format::Null => Err(Failure::Option("format", "null writes nothing".to_owned())),
            Format::Stl => Err(Failure::Option(
                "format",
                "a solid is written by the command line: relief render FILE -o X.stl --amplitude 80um --base 1mm"
                    .to_owned(),
            )),
            format => Ok(format),
        }
    }

    /// Whether what is asked for goes together.
    fn check(&self, format: Format) -> Result<(), Failure> {
        let export = self.export;
        let refuse = |option, problem: String| Err(Failure::Option(option, problem));
        let zarr = format == Format::Zarr;
        let of_tiles =
            export.tile.is_some() || export.compress.is_some() || export.share || export.part.is_some();
        if of_tiles && !zarr && format != Format::Tiff {
            return refuse(
                "format",
                format!(
                    "tile=, compress=, share= and part= are for TIFF and Zarr, and {format} was asked for"
                ),
            );
        }
        if export.shard.is_some() && !zarr {
            return refuse("shard", "shards are for Zarr".to_owned());
        }
        if zarr && export.share && export.shard.is_none() {
            return refuse(
                "share",
                "equal chunks of a Zarr store share their bytes within a shard: give shard=(4096, 4096)"
                    .to_owned(),
            );
        }
        if export.share && export.part.is_some() && !zarr {
            return refuse(
                "share",
                "a TIFF with shared tiles cannot be written in parts: which tiles are equal is known to one process"
                    .to_owned(),
            );
        }
        if export.one_bit && !matches!(format, Format::Tiff | Format::Png | Format::Bmp) {
            return refuse(
                "one_bit",
                format!("{format} does not hold 1 bit a pixel: write png, bmp or tiff"),
            );
        }
        let compress = export.compress.as_deref();
        if zarr && !matches!(compress, None | Some("none" | "gzip")) {
            return refuse(
                "compress",
                "Zarr is compressed by \"gzip\" or not at all".to_owned(),
            );
        }
        if !zarr && compress == Some("gzip") {
            return refuse(
                "compress",
                "gzip is for Zarr; a TIFF is compressed by deflate, packbits, lzw or g4".to_owned(),
            );
        }
        for (option, size) in [("tile", export.tile), ("shard", export.shard)] {
            if let Some((width, height)) = size
                && (width == 0 || height == 0)
            {
                return refuse(option, format!("{width} × {height} pixels are none"));
            }
        }
        match export.part {
            Some((part, parts)) if part >= parts => refuse(
                "part",
                format!("there is no part {part} of {parts}: parts are counted from 0"),
            ),
            _ => Ok(()),
        }
    }

    /// Refuses to write to a file that the design is read from.
    fn spare_inputs(&self) -> Result<(), Failure> {
        if !std::fs::metadata(self.path).is_ok_and(|metadata| metadata.is_file()) {
            return Ok(());
        }
        let Ok(identity) = Identity::of(self.path) else {
            return Ok(());
        };
        let inputs = self.opened.inputs();
        let input = inputs
            .iter()
            .find(|(_, path)| Identity::of(path).is_ok_and(|input| input == identity));
        input.map_or(Ok(()), |(what, _)| {
            Err(Failure::Option(
                "out",
                format!(
                    "{} is {what}; write to another file",
                    relief_design::visible(&self.path.display().to_string())
                ),
            ))
        })
    }

    fn plan(&self, sink: u64, rows: Option<u64>, tiles: Option<(u64, u64)>) -> Result<Plan, Failure> {
        let options = self
            .means
            .options()
            .with(|with| with.region = self.region)
            .with(|with| with.rows = rows)
            .with(|with| with.tiles = tiles)
            .sink(sink);
        Ok(Plan::new(&self.opened.design, &self.opened.source, &options)?)
    }

    fn renderer(&self, plan: Plan, cancel: &Cancel) -> Result<Renderer, Failure> {
        let renderer = Renderer::new(plan, &self.opened.source, cancel)?;
        for name in self.opened.pictures() {
            if !self.opened.source.is_unchanged(name)? {
                return Err(Failure::Option(
                    "out",
                    format!(
                        "the picture {} changed while it was read; open the design again",
                        relief_design::visible(name)
                    ),
                ));
            }
        }
        Ok(renderer)
    }

    fn bands(&self, sink: &mut dyn Sink, cancel: &Cancel, meter: &Meter) -> Result<Option<u64>, Failure> {
        let (memory, rows) = (sink.memory(&self.raster), sink.wants(&self.raster));
        let plan = self.plan(memory, Some(rows), None)?;
        let renderer = self.renderer(plan, cancel)?;
        renderer.render(sink, &mut |progress| meter.tell(progress), cancel)?;
        Ok(None)
    }

    fn tiles(&self, sink: &mut dyn TileSink, cancel: &Cancel, meter: &Meter) -> Result<(), Failure> {
        let tile = sink.grid(&self.raster).map_err(of_sink)?.tile();
        let memory = sink.memory(&self.raster, self.means.threads());
        let renderer = self.renderer(self.plan(memory, None, Some(tile))?, cancel)?;
        let mut tell = |progress| meter.tell(progress);
        Ok(renderer.render_tiles(sink, self.export.part, &mut tell, cancel)?)
    }

    fn zarr(&self, cancel: &Cancel, meter: &Meter) -> Result<Option<u64>, Failure> {
        let export = self.export;
        let options = ZarrOptions {
            chunk: export.tile,
            shard: export.shard,
            gzip: export.compress.as_deref() == Some("gzip"),
            share: export.share,
            job: self.opened.job(self.region)?,
        };
        let mut sink = ZarrSink::new(self.path.to_owned(), options);
        if export.part.is_some() {
            sink = sink.in_parts();
            if sink.is_complete(&self.raster)? {
                return Ok(None);
            }
        }
        self.tiles(&mut sink, cancel, meter)?;
        Ok(missing(sink.completion()))
    }

    fn tiff(&self, cancel: &Cancel, meter: &Meter) -> Result<Option<u64>, Failure> {
        let export = self.export;
        let compression: Compression = match export.compress.as_deref() {
            None => Compression::None,
            Some(name) => name.parse().map_err(|error: relief_io::UnknownCompression| {
                Failure::Option("compress", error.to_string())
            })?,
        };
        let options = TileOptions {
            cut: match export.tile {
                Some((width, height)) => FileCut::TilesOf(width, height),
                // What many processes write is large.
                None if export.part.is_some() => FileCut::Tiles,
                None => FileCut::Strips,
            },
            compression,
            one_bit: export.one_bit,
            job: self.opened.job(self.region)?,
            threads: self.means.threads(),
        };
        if export.share {
            let period = self.plan(0, None, None)?.period();
            let sharing = Sharing::new(&self.raster, period, export.tile);
            let tile = sharing.tile();
            let file = SharedTiff::new(self.path.to_owned(), sharing, &options)?;
            let plan = self.plan(file.memory(options.threads), None, Some(tile))?;
            let renderer = self.renderer(plan, cancel)?;
            file.render(&renderer, &mut |progress| meter.tell(progress), cancel)?;
            return Ok(None);
        }
        let mut sink = TiledTiff::new(self.path.to_owned(), options);
        if export.part.is_some() {
            sink = sink.in_parts()?;
            if sink.is_complete(&self.raster)? {
                return Ok(None);
            }
        }
        self.tiles(&mut sink, cancel, meter)?;
        Ok(missing(sink.completion()))
    }
}

/// The tiles of other parts that are missing; 0 where others write still.
fn missing(completion: Option<Completion>) -> Option<u64> {
    match completion {
        Some(Completion::Missing { tiles }) => Some(tiles),
        Some(Completion::OthersWrite) => Some(0),
        Some(Completion::Complete) | None => None,
    }
}

/// What a sink says before the start.
fn of_sink(error: io::Error) -> Failure {
    match error.downcast::<SinkError>() {
        Ok(error) => Failure::Sink(error),
        Err(error) => Failure::Engine(Error::Sink(error)),
    }
}
