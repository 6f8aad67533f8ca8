//! `relief render`: a design becomes pixels.

use std::io::{self, Write};
use std::path::Path;

use relief_engine::{Cancel, Raster, Sink, Workers};
use relief_io::{Cleanup, DigestSink, FileSink, Format, NullSink, Target, Tee};

use crate::arguments::Render;
use crate::failure::Failure;
use crate::{design, interrupt, job};

pub(crate) fn run(render: &Render) -> Result<(), Failure> {
    let (mut sink, cleanup) = open(render)?;
    let opened = design::open(&render.job.file)?;
    let raster = job::raster(&opened.design, &render.job);
    let cancel = Cancel::new();
    if !render.digest {
        let plan = job::plan(&opened, &render.job, sink.memory(&raster))?;
        let guard = interrupt::watch(&cancel, cleanup);
        job::run(&opened, plan, sink.as_mut(), &render.watch, &cancel)?;
        drop(guard);
        return announce(render, &raster);
    }
    // The file last: it appears only when the digest is complete.
    let mut both = Tee::new(DigestSink::new(), Boxed(sink));
    let plan = job::plan(&opened, &render.job, both.memory(&raster))?;
    let guard = interrupt::watch(&cancel, cleanup);
    job::run(&opened, plan, &mut both, &render.watch, &cancel)?;
    drop(guard);
    if let Some(hash) = both.first().digest() {
        writeln!(io::stdout(), "{hash}")?;
    }
    Ok(())
}

/// Says where the raster is, unless the standard output is where.
fn announce(render: &Render, raster: &Raster) -> Result<(), Failure> {
    let file = render.output.as_deref().filter(|path| *path != Path::new("-"));
    if let (Some(path), false, false) = (file, render.watch.quiet, render.format == Some(Format::Null)) {
        let Raster {
            width, height, depth, ..
        } = raster;
        writeln!(
            io::stdout(),
            "{}: {width} × {height} pixels, {depth}",
            path.display()
        )?;
    }
    Ok(())
}

/// The sink that the arguments ask for, and how to remove its partial file.
fn open(render: &Render) -> Result<(Box<dyn Sink>, Option<Cleanup>), Failure> {
    let Some(path) = &render.output else {
        return match render.format {
            Some(Format::Null) => Ok((Box::new(NullSink::new()), None)),
            _ => Err(Failure::Usage(
                "--output says where to write; '-' is the standard output".to_owned(),
            )),
        };
    };
    let stdout = path == Path::new("-");
    if stdout && render.digest {
        let problem =
            "--digest prints to the standard output, which takes the raster already; write to a file";
        return Err(Failure::Usage(problem.to_owned()));
    }
    let format = match render.format {
        Some(format) => format,
        None if stdout => Format::Raw,
        None => Format::from_extension(path).ok_or_else(|| {
            Failure::Usage(format!(
                "{}: no format has this extension; name the file .raw, .pgm, .png or .tiff, or give --format",
                path.display()
            ))
        })?,
    };
    if format == Format::Null {
        return Ok((Box::new(NullSink::new()), None));
    }
    let target = if stdout {
        Target::Stdout
    } else {
        Target::Path(path.clone())
    };
    let sink = FileSink::new(target, format);
    let cleanup = sink.cleanup();
    Ok((Box::new(sink), Some(cleanup)))
}

/// A boxed sink as a sink, for [`Tee`].
struct Boxed(Box<dyn Sink>);

impl Sink for Boxed {
    fn use_workers(&mut self, workers: &Workers) {
        self.0.use_workers(workers);
    }

    fn memory(&self, raster: &Raster) -> u64 {
        self.0.memory(raster)
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        self.0.begin(raster)
    }

    fn write(&mut self, band: &relief_engine::Band<'_>) -> io::Result<()> {
        self.0.write(band)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}
