//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use relief_design::Setting;
use relief_engine::{DeviceChoice, Raster, Statistic};
use relief_io::{Compression, Format, Heights, Level};
use relief_scan::Passes;

use crate::commands::halftone::HalftoneArgument;
use crate::failure::Failure;
use crate::quantity::{
    Region, buffer, bytes, compress, cost_in_samples, count, count_from_1, length, part, region, tile,
};

const EXIT_CODES: &str = "\
Exit codes:
  0    done; also where the reader of a pipe closed it early
  1    the job failed: an image, the output, a device, or a defect of Relief
  2    the arguments are wrong
  3    the design is wrong, or doubtful with --deny warnings
  4    the job does not fit in the memory allowed
  5    'relief lab' found something wrong, slower or broken
       'relief diff' exits with 0 for the same, 1 for different, 2 for trouble
  130  interrupted

Environment:
  RELIEF_LOG            what to trace on the standard error, such as 'debug' or 'relief_engine=trace'
  RELIEF_POLICIES       the file of layouts that 'relief lab tune' found [default: policies in the folder below]
  RELIEF_KERNEL_CACHE   the folder where compiled kernels of devices are cached [default: relief in the user's cache
                        folder]; empty caches none";

/// Computes surfaces too large to store: a design file becomes a stream of pixels, in memory known before the start.
#[derive(Debug, Parser)]
#[command(name = "relief", version, about, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a design and say what it makes
    Check(Check),
    /// Show how a design would be computed and the memory it takes
    Plan(PlanArguments),
    /// Compute a design into a file, a pipe or nowhere; its `scan` is for 'relief stream' alone
    Render(Render),
    /// Print the BLAKE3 of the raster: row by row, samples as 16 bits little-endian
    Digest(Digest),
    /// List what there is to compute on, and what is missing for the rest
    Devices(Devices),
    /// Tell why a sample is what it is: the nodes that it is made of, and which one decides
    Why(crate::commands::why::Why),
    /// Tell the histogram, sum, mean and runs of a raster, exactly or within bounds, without computing all of it
    Stats(crate::commands::stats::Stats),
    /// Compare two designs: where they may differ, how many samples do, and by how much; exits as 'diff' does
    Diff(crate::commands::diff::Diff),
    /// Drive a machine with a design: ordered, acknowledged, resumable
    Stream(Box<crate::commands::stream::Stream>),
    /// Receive a job as a machine would, and emulate one
    Receive(crate::commands::receive::Receive),
    /// Compare what was executed with the manifest of its job
    Verify(crate::commands::verify::Verify),
    /// Show a design in the browser, at any zoom, as it is edited; serve it as Zarr and Deep Zoom
    #[cfg(feature = "view")]
    View(crate::commands::view::View),
    /// Measure every way of writing a kernel against the others and the hardware, by the program relief-lab
    Lab(crate::commands::lab::Lab),
    /// Print the JSON Schema of designs
    Schema,
    /// Print the reference of all words of the language, or of one
    Nodes(Nodes),
    /// Explain the code of an error or a warning
    Explain(Explain),
    /// Compute what must be known of whole sources, such as a histogram, into a file that other commands take by --prepared
    Prepare(crate::commands::prepare::Prepare),
    /// Write a design with its pictures, tables and values into one file, which every command reads
    Pack(crate::commands::pack::Pack),
    /// Lay out a design file anew, comments stay; or print it as JSON
    Fmt(Fmt),
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page of relief or of one of its commands
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The design file; '-' for the standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) each: Each,
}

/// How a design is read.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Reading {
    /// Give a parameter of the design a value in place of its default; of several values the last counts
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<Setting>,
    /// Fail where there are warnings, with exit code 3
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,
    /// For a design of others: refuse pictures and tables that lie outside this folder, also by a link [default: the
    /// design may name any file]
    #[arg(long = "confined", value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Take what must be known of whole sources from this file of 'relief prepare', in place of computing it anew
    #[arg(long, value_name = "FILE")]
    pub(crate) prepared: Option<PathBuf>,
    /// What drawings may take while they are read, where the job says it.
    #[arg(skip)]
    pub(crate) memory: Option<u64>,
}

impl Reading {
    /// The same for a job that may take so much memory.
    pub(crate) fn within(&self, memory: Option<u64>) -> Self {
        Self {
            memory,
            ..self.clone()
        }
    }
}

impl Job {
    /// How its design is read.
    pub(crate) fn reading(&self) -> Reading {
        self.reading.within(self.memory)
    }
}

/// Many jobs of one design.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Each {
    /// A job for each row of a CSV file below its header, which names parameters of the design; '-' reads the rows from
    /// the standard input. All rows are checked
    /// before the first job. In the names of outputs {serial} is the cell in the column serial
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) each: Option<PathBuf>,
}

/// NAME=VALUE.
fn setting(text: &str) -> Result<Setting, String> {
    let (name, value) = text.split_once('=').ok_or_else(|| {
        format!("'{text}' is not a value for a parameter; NAME=VALUE is expected, such as serial=7")
    })?;
    Ok(Setting {
        name: name.trim().to_owned(),
        value: value.to_owned(),
        origin: "--set".to_owned(),
    })
}

/// What makes a job fail that would else only be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Deny {
    /// All warnings
    Warnings,
}

/// What is computed and with which means; none of it but the region changes a byte of the result.
#[derive(Clone, Debug, Args)]
pub(crate) struct Job {
    /// The design file; '-' for the standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Compute this part of the canvas only: in pixels, or in lengths such as 5mm,5mm,20mmx10mm
    #[arg(long, value_name = "X,Y,WxH", value_parser = region, allow_hyphen_values = true)]
    pub(crate) region: Option<Region>,
    /// Worker threads [default: one for each processor]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// The most memory the job may take, such as 64MiB or 2GB [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    /// The most memory the job may take on every GPU [default: nine tenths of what it has]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) device_memory: Option<u64>,
    /// Columns and rows of a tile [default: chosen by the plan]
    #[arg(long, value_name = "WxH", value_parser = tile)]
    pub(crate) tile: Option<(u64, u64)>,
    /// What computes: auto, cpu, cuda, cuda:N, cuda:0,1, cuda:all, vulkan or vulkan:N; 'relief devices' lists them
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub(crate) device: DeviceChoice,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) job: Job,
    #[command(flatten)]
    pub(crate) each: Each,
    /// Count what 'relief stream' holds with so much look-ahead, by the scan of the design
    #[arg(long, value_name = "SIZE", value_parser = buffer)]
    pub(crate) look_ahead: Option<u64>,
    /// Tell what 'relief render' would write to this file with the same options: bytes, tiles, and what it holds
    #[arg(long, short, value_name = "PATH", conflicts_with = "look_ahead")]
    pub(crate) output: Option<PathBuf>,
    /// The format of --output [default: by the extension]
    #[arg(long, short, conflicts_with = "look_ahead")]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) export: Export,
    #[command(flatten)]
    pub(crate) level: LevelArguments,
    #[command(flatten)]
    pub(crate) motion: crate::commands::stream::MotionArguments,
    /// What an hour of the machine costs: says what the job costs, where its time is known by --speed or the feed of G-code
    #[arg(long, value_name = "COST", value_parser = crate::quantity::cost)]
    pub(crate) per_hour: Option<f64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl PlanArguments {
    /// What would be rendered, where an output is named.
    pub(crate) fn render(&self) -> Option<Render> {
        if self.output.is_none() && self.format.is_none() {
            return None;
        }
        Some(Render {
            job: self.job.clone(),
            each: Each::default(),
            output: self.output.clone(),
            format: self.format,
            export: self.export.clone(),
            level: self.level.clone(),
            from_line: None,
            digest: false,
            overview: OverviewArguments {
                no_overview: true,
                overview: false,
            },
            force: true,
            watch: Watch {
                quiet: true,
                json_progress: false,
            },
        })
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Watch {
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Write progress to the standard error as lines of JSON
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json_progress: bool,
}

impl Watch {
    /// Whether nothing is to be written to the standard error but what failed, and lines of JSON.
    pub(crate) const fn is_silent(&self) -> bool {
        self.quiet || self.json_progress
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Render {
    #[command(flatten)]
    pub(crate) job: Job,
    #[command(flatten)]
    pub(crate) each: Each,
    /// Where to write; '-' for the standard output. Not for --format null, which prints how fast it was
    #[arg(long, short, value_name = "PATH", required_unless_present = "format")]
    pub(crate) output: Option<PathBuf>,
    /// raw, pgm, png, tiff, bmp, stl, dzi, zarr, gcode or null [default: by the extension; raw on the standard output]
    #[arg(long, short)]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) export: Export,
    #[command(flatten)]
    pub(crate) level: LevelArguments,
    /// G-code: begin with this line of the job, counted from 0; the file is whole
    #[arg(long, value_name = "LINE", value_parser = count)]
    pub(crate) from_line: Option<u64>,
    /// Print the digest of the raster, or of its halftones, to the standard output as well
    #[arg(long)]
    pub(crate) digest: bool,
    #[command(flatten)]
    pub(crate) overview: OverviewArguments,
    /// Write samples even to a terminal, and begin a file that does not fit on its file system
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) watch: Watch,
}

/// Whether the sums, the least and the greatest samples of blocks are left behind.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct OverviewArguments {
    /// Leave an overview of exact sums, least and greatest samples beside the file, as OUTPUT.overview, for 'relief view' and 'relief stats' [default: of
    /// a whole raster of more than 10^9 pixels]
    #[arg(long, conflicts_with = "no_overview")]
    pub(crate) overview: bool,
    /// Leave none
    #[arg(long)]
    pub(crate) no_overview: bool,
}

/// What of a raster is written where not all of its pixels are.
#[derive(Clone, Debug, Args)]
pub(crate) struct LevelArguments {
    /// Write level L: every sample is exact and stands for 2^L × 2^L pixels
    #[arg(long = "level", value_name = "L", value_parser = clap::value_parser!(u32).range(0..=i64::from(relief_engine::MAX_LEVEL)))]
    pub(crate) number: Option<u32>,
    /// Write the finest level of which no side has more than N pixels
    #[arg(long, value_name = "N", conflicts_with = "number", value_parser = count_from_1)]
    pub(crate) preview: Option<u64>,
    /// What a sample of a level stands for: mean, min or max
    #[arg(long, value_name = "WHAT", default_value = "mean")]
    pub(crate) statistic: StatisticArgument,
    /// The most samples of the raster that are computed for a level; more are refused before the start
    #[arg(long, value_name = "SAMPLES", default_value_t = 100_000_000_000, value_parser = cost_in_samples)]
    pub(crate) cost: u64,
}

/// The words of statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StatisticArgument {
    /// The mean, halves up
    Mean,
    /// The least sample
    Min,
    /// The greatest sample
    Max,
}

impl LevelArguments {
    /// Whether a level is asked for.
    pub(crate) const fn is_given(&self) -> bool {
        self.number.is_some() || self.preview.is_some()
    }

    /// The level of this raster that is asked for; `None` for the raster itself.
    pub(crate) fn of(&self, raster: &Raster) -> Result<Option<Level>, Failure> {
        let statistic = match self.statistic {
            StatisticArgument::Mean => Statistic::Mean,
            StatisticArgument::Min => Statistic::Least,
            StatisticArgument::Max => Statistic::Greatest,
        };
        let level = match (self.number, self.preview) {
            (Some(number), _) => Level::new(number, statistic)?,
            (None, Some(side)) => Level::preview(raster, side, statistic),
            (None, None) if self.statistic != StatisticArgument::Mean => {
                return Err(Failure::Usage(
                    "--statistic says what a sample of a level stands for: give --level or --preview"
                        .to_owned(),
                ));
            }
            (None, None) => return Ok(None),
        };
        Ok(Some(level).filter(|level| level.number() > 0))
    }
}

/// How tiles or chunks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compress {
    /// Not at all.
    None,
    /// As those of a TIFF.
    Tiff(Compression),
    /// As those of Zarr.
    Gzip,
}

/// How a file is cut and stored. A TIFF in tiles is written by all threads and goes on where it was left.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Export {
    /// TIFF in tiles of this size, multiples of 16 [default: strips; tiles with --share and --part, and for long rows];
    /// Zarr in chunks of this size
    #[arg(long, value_name = "WxH", value_parser = tile)]
    pub(crate) file_tile: Option<(u64, u64)>,
    /// Compress a TIFF by deflate, packbits, lzw, or g4 for one bit, Zarr by gzip [default: none]
    #[arg(long, value_name = "METHOD", value_parser = compress)]
    pub(crate) compress: Option<Compress>,
    /// Zarr in shards of this size, multiples of the chunks (--file-tile): files of many chunks each
    #[arg(long, value_name = "WxH", value_parser = tile)]
    pub(crate) shard: Option<(u64, u64)>,
    /// TIFF in tiles of which equal ones are stored once; says first how many are different. Zarr: chunks of a shard
    #[arg(long)]
    pub(crate) share: bool,
    /// TIFF or Zarr with all its levels, each half as large as the one before, exact means of pixels: a Cloud Optimized GeoTIFF, or
    /// OME-Zarr of several scales
    #[arg(long, conflicts_with_all = ["part", "bits", "halftone", "passes", "as_scanned", "number", "preview"])]
    pub(crate) levels: bool,
    /// Write part I of N, counted from 0, of what several processes write: an uncompressed TIFF in tiles, or Zarr
    #[arg(long, value_name = "I/N", value_parser = part)]
    pub(crate) part: Option<(u64, u64)>,
    /// Write 1 bit a pixel: the raster, or its --halftone, may have no sample but 0 and the greatest [default: those of the
    /// design]
    #[arg(long, value_name = "N", value_parser = crate::quantity::one_bit)]
    pub(crate) bits: Option<u8>,
    /// Write halftones, every sample 0 or the greatest: threshold:LEVEL, bayer:N or bayer:N,SPOT, blue-noise or blue-noise:N,SPOT,
    /// screen:FREQUENCY,ANGLE,DOT such as screen:150lpi,45,round, or error diffusion by floyd-steinberg, jarvis, stucki or atkinson, each with or without :serpentine
    #[arg(long, value_name = "METHOD", value_parser = crate::commands::halftone::halftone)]
    pub(crate) halftone: Option<HalftoneArgument>,
    /// Write a file for each pass: even:N, curve:N,EXPONENT, share:N, or listed:T,T,… with a threshold for each. --output is
    /// a pattern, such as layer-{pass:03}.tif, or a folder
    #[arg(long, value_name = "PASSES", value_parser = crate::commands::stream::passes)]
    pub(crate) passes: Option<Passes>,
    /// Take the tables, the passes and the halftone of the design's `scan`; says what of it is ignored
    #[arg(long)]
    pub(crate) as_scanned: bool,
    /// STL: the height of the greatest sample over that of 0, such as 80um [default: the amplitude of the canvas]
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    pub(crate) amplitude: Option<u64>,
    /// STL: how thick the solid is below samples of 0, such as 1mm
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    pub(crate) base: Option<u64>,
}

impl Export {
    /// How high a solid is; `None` where not both are given.
    pub(crate) fn heights(&self) -> Option<Heights> {
        let (amplitude, base) = self.amplitude.zip(self.base)?;
        Some(Heights { amplitude, base })
    }

    /// Whether anything is asked for.
    pub(crate) const fn is_given(&self) -> bool {
        self.is_tiled()
            || self.has_passes()
            || self.shard.is_some()
            || self.bits.is_some()
            || self.halftone.is_some()
            || self.amplitude.is_some()
            || self.base.is_some()
    }

    /// Whether passes are asked for, so that --output may be a pattern for their files.
    pub(crate) const fn has_passes(&self) -> bool {
        self.passes.is_some() || self.as_scanned
    }

    /// Whether a TIFF is asked for that all threads write.
    pub(crate) const fn is_tiled(&self) -> bool {
        self.file_tile.is_some()
            || self.compress.is_some()
            || self.share
            || self.levels
            || self.part.is_some()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Digest {
    #[command(flatten)]
    pub(crate) job: Job,
    #[command(flatten)]
    pub(crate) watch: Watch,
}

#[derive(Debug, Args)]
pub(crate) struct Devices {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Nodes {
    /// The word, such as repeat
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The code, such as E101; without one, all codes are listed
    pub(crate) code: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Fmt {
    /// The design files; '-' reads the standard input and writes to the standard output
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write nothing; exit with 1 where a file would change
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the JSON form of one design, which 'relief schema' describes; every command reads it back from a file whose
    /// name ends in .json
    #[arg(long, conflicts_with = "check")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The command; without one, the page of relief
    pub(crate) command: Option<String>,
}
