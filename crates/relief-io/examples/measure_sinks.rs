//! How fast sinks take a raster: median of five passes per format, depth and target.
//!
//! ```text
//! cargo run --release -p relief-io --example measure_sinks -- FOLDER
//! ```

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use relief_engine::sink::{Band, Raster, Samples, Sink};
use relief_io::{DigestSink, FileSink, Format, NullSink, Target};
use relief_raster::{Depth, Rect};

/// 8 192 × 8 192, in bands of 128 rows: 1 or 2 MiB.
const SIDE: u64 = 8_192;
const ROWS: u64 = 128;

fn main() -> io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| ".".into()));
    let (path, pipe) = (folder.join("measured"), folder.join("measured.fifo"));
    for depth in [Depth::Eight, Depth::Sixteen] {
        let raster = Raster::new(SIDE, SIDE, depth);
        report("null", &raster, || Ok(NullSink::new()))?;
        report("digest", &raster, || Ok(DigestSink::new()))?;
        for format in [Format::Raw, Format::Pgm, Format::Tiff, Format::Png] {
            report(&format!("{format} to nowhere"), &raster, || {
                Ok(FileSink::new(Target::Writer(Box::new(io::sink())), format))
            })?;
            report(&format!("{format} to a file"), &raster, || {
                Ok(FileSink::new(Target::Path(path.clone()), format))
            })?;
            report(&format!("{format} to a pipe"), &raster, || {
                Ok(FileSink::new(fifo(&pipe)?, format))
            })?;
            std::fs::remove_file(&path)?;
        }
    }
    std::fs::remove_file(&pipe)
}

/// A FIFO whose other end is read and thrown away.
fn fifo(path: &Path) -> io::Result<Target> {
    if !path.exists() && !Command::new("mkfifo").arg(path).status()?.success() {
        return Err(io::Error::other("mkfifo failed"));
    }
    let name = path.to_owned();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 20];
        let mut fifo = File::open(name)?;
        while fifo.read(&mut buffer)? > 0 {}
        io::Result::Ok(())
    });
    Ok(Target::Path(path.to_owned()))
}

#[expect(clippy::print_stdout, reason = "the report of a program")]
fn report<S: Sink>(name: &str, raster: &Raster, sink: impl Fn() -> io::Result<S>) -> io::Result<()> {
    let mut times = Vec::new();
    for _ in 0..5 {
        times.push(pass(raster, &mut sink()?)?);
    }
    times.sort();
    let rate = raster.bytes() as f64 / times[2].as_secs_f64() / 1e9;
    println!("{name:16} {:8} {rate:7.2} GB/s", raster.depth.to_string());
    Ok(())
}

/// A texture: a plane with a pattern of 100 × 100 in it.
fn pass(raster: &Raster, sink: &mut impl Sink) -> io::Result<Duration> {
    let texture = |i: u64| ((i % SIDE % 100) * (i / SIDE % 100) / 40) as u8;
    let eight: Vec<u8> = (0..SIDE * ROWS).map(texture).collect();
    let sixteen: Vec<u16> = eight.iter().map(|&v| u16::from(v) * 257).collect();
    let start = Instant::now();
    sink.begin(raster)?;
    for y in (0..SIDE).step_by(ROWS as usize) {
        let samples = match raster.depth {
            Depth::Eight => Samples::Eight(&eight),
            Depth::Sixteen => Samples::Sixteen(&sixteen),
        };
        let rect = Rect::new(0, y as i64, SIDE, ROWS).ok_or_else(|| io::Error::other("outside"))?;
        sink.write(&Band::new(rect, samples))?;
    }
    sink.finish()?;
    Ok(start.elapsed())
}
