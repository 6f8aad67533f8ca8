//! The commands of `relief-lab`: every way of writing a kernel against the others and against the hardware.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use relief_kernels::device::{DeviceChoice, DeviceId, select_prepared};
use relief_lab::families::banks::Pattern;
use relief_lab::family::{Class, Family, Scale};
use relief_lab::report::Rungs;
use relief_lab::sampling::Sampling;
use relief_lab::{Ceilings, Machine, Plan, Record, Verdict, Watch, ceiling, compare, families, host, report};
use relief_lab::{MAX_THREADS, measure, rivals, selection, steps};

use failure::Failure;
use replace::{is_file, replace};

mod divergence;
mod failure;
mod replace;
mod tune;

const NOTES: &str = "\
Exit codes:
  0    done
  1    a file, a device or a measurement failed
  2    the arguments are wrong
  5    something is wrong, slower or broken

Environment:
  RELIEF_REVISION       the revision of the sources, for records
  RELIEF_POLICIES       the file of layouts that 'tune' found [default: policies in the folder below]
  RELIEF_KERNEL_CACHE   the folder where compiled device kernels are kept [default: relief in the user's cache
                        folder]; empty keeps none
  RELIEF_LAB_PICTURE    a photograph (PGM of 8 bits) that histograms are measured on";

/// Measures every way of writing a kernel against the others and against the hardware.
#[derive(Debug, Parser)]
#[command(name = "relief-lab", version, about, after_help = NOTES)]
struct Lab {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List families, ladders and variants, with the idea of each
    List(List),
    /// Check and time variants
    Run(Box<Run>),
    /// Measure what the hardware allows, alone
    Ceilings(Box<Ceiling>),
    /// Search the layouts of a device's kernels; the best becomes what production uses
    Tune(Box<tune::Tune>),
    /// Count the planes of a launch that diverge: that have units inside of a picture and outside of it
    Divergence(divergence::Counted),
    /// Show records again, as tables and as a page, beside other programs
    Show(Show),
    /// Compare two records: SAME, FASTER, SLOWER or UNSURE. Exits with 5 where something is slower or broken
    Compare(Compare),
}

#[derive(Debug, Args)]
struct List {
    /// Families or ladders [default: all]
    families: Vec<String>,
}

/// Where to measure, and for how long.
#[derive(Debug, Args)]
struct Means {
    /// What is measured: cpu, cuda, cuda:N, vulkan or vulkan:N [default: what 'auto' finds]
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
    /// Threads of the CPU variants, at most 1024 [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Small problems and few samples: a minute for all families
    #[arg(long)]
    quick: bool,
    /// The revision of the sources, for the record [default: RELIEF_REVISION, else the commit that was built]
    #[arg(long, value_name = "TEXT")]
    revision: Option<String>,
    /// Show no progress
    #[arg(long)]
    quiet: bool,
}

/// Where the record goes beside the standard output.
#[derive(Debug, Args)]
struct Outputs {
    /// Write the record as lines of JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the record as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the record as one HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Run {
    /// Families or ladders [default: all]
    families: Vec<String>,
    #[command(flatten)]
    means: Means,
    /// Only this variant, beside the first of its ladder, or, given several times, only these; 'production' is what production uses of each
    #[arg(long = "variant", value_name = "NAME")]
    variants: Vec<String>,
    /// Problems of this many elements, such as 2^24
    #[arg(long, value_name = "N", value_parser = size)]
    size: Option<u64>,
    /// Check problems of more than 2^32 bytes too, where a device holds them
    #[arg(long)]
    huge: bool,
    /// Check only
    #[arg(long)]
    check: bool,
    /// Take so many seconds for each device: fewer samples where they do not suffice [default: 40 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seconds: Option<u32>,
    /// For the family 'banks', instead of its own: an access pattern such as 'u8: 8 * t' or 'u32/16: 17 * x + y', the
    /// type (u8 to u128) and width of a cube's rows, then what a unit at (x, y), the t-th, reads
    #[arg(long = "pattern", value_name = "PATTERN")]
    patterns: Vec<Pattern>,
    /// Records of other programs on the same problems, of bench/rivals/run, to stand beside our own
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    rivals: Vec<PathBuf>,
    #[command(flatten)]
    outputs: Outputs,
}

#[derive(Debug, Args)]
struct Ceiling {
    #[command(flatten)]
    means: Means,
    #[command(flatten)]
    outputs: Outputs,
}

#[derive(Debug, Args)]
struct Show {
    /// What 'run' wrote with --json
    #[arg(required = true)]
    records: Vec<PathBuf>,
    /// Records of other programs on the same problems, of bench/rivals/run
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    rivals: Vec<PathBuf>,
    /// Write a page in Markdown for each family of the records into this folder
    #[arg(long, value_name = "FOLDER")]
    markdown: Option<PathBuf>,
    /// Show each variant's lines of code on these pages, from the folder 'crates' of a checkout
    #[arg(long, value_name = "FOLDER", requires = "markdown")]
    sources: Option<PathBuf>,
    #[command(flatten)]
    outputs: Outputs,
}

#[derive(Debug, Args)]
struct Compare {
    /// The earlier record
    old: PathBuf,
    /// The later record
    new: PathBuf,
    /// Ratios within this part of 1 are the same
    #[arg(long, value_name = "PART", default_value_t = compare::MARGIN)]
    margin: f64,
}

/// Runs the command that the arguments of this process say.
pub(crate) fn run() -> ExitCode {
    let outcome = match &Lab::parse().command {
        Command::List(list) => show_list(list),
        Command::Run(run) => run_ladders(run),
        Command::Ceilings(ceiling) => run_ceilings(ceiling),
        Command::Tune(tune) => tune::run(tune),
        Command::Divergence(counted) => divergence::run(counted),
        Command::Show(show) => run_show(show),
        Command::Compare(compare) => run_compare(compare),
    };
    outcome.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}

fn size(text: &str) -> Result<u64, String> {
    let expected = || format!("'{text}' is no size; a count is expected, such as 16777216 or 2^24");
    let count = match text.split_once('^') {
        Some(("2", exponent)) => {
            let exponent: u32 = exponent.parse().map_err(|_| expected())?;
            1_u64.checked_shl(exponent).unwrap_or(0)
        }
        Some(_) => return Err(expected()),
        None => text.parse().map_err(|_| expected())?,
    };
    match count {
        1..=0x1_0000_0000 => Ok(count),
        _ => Err(format!("{text} elements; a problem has 1 to 2^32 elements")),
    }
}

fn show_list(list: &List) -> Result<(), Failure> {
    let families = families::all();
    let chosen = selection::ladders(&families, &list.families)?;
    let chosen: Vec<&str> = chosen.iter().map(|ladder| ladder.name()).collect();
    let mut out = io::stdout();
    for family in &families {
        let own = family
            .ladders
            .iter()
            .filter(|ladder| chosen.contains(&ladder.name()));
        let mut own = own.peekable();
        if own.peek().is_some() {
            let Family {
                name, about, source, ..
            } = family;
            writeln!(out, "{name}: {about}\n  source: {source}")?;
        }
        for ladder in own {
            writeln!(out, "  {}: {}", ladder.name(), ladder.about())?;
            for about in ladder.variants() {
                let device = if about.gpu { "device" } else { "cpu" };
                let mark = if about.production { " *" } else { "" };
                writeln!(out, "    {device:<6}  {}{mark}: {}", about.name, about.idea)?;
            }
        }
    }
    writeln!(out, "* what production uses")?;
    Ok(())
}

/// The machines that a choice means.
fn machines(means: &Means) -> Result<Vec<Machine>, Failure> {
    let threads = match means.threads {
        Some(0) => return Err(Failure::Usage("--threads must be at least 1".to_owned())),
        Some(threads) => threads,
        None => std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS)),
    };
    let open = |id: DeviceId| match id {
        DeviceId::Cpu => Ok(Machine::cpu(threads)?),
        id => Ok(Machine::device(id)?),
    };
    select_prepared(&means.device)?.into_iter().map(open).collect()
}

const fn sampling(quick: bool) -> Sampling {
    if quick { Sampling::QUICK } else { Sampling::FULL }
}

/// Seconds of a quick run: less than a minute, with what comes before and after.
const QUICK: u32 = 40;

/// Bytes that inputs and outputs take in turn: more than the caches hold, as far as time and memory allow.
fn working_set(machine: &Machine, quick: bool) -> u64 {
    match (machine.class(), quick) {
        (Class::Software, _) => 16 << 20,
        (Class::Gpu, true) | (Class::Cpu, true) => 256 << 20,
        (Class::Gpu, false) => 1 << 30,
        // Half of it are outputs. Where these take non-temporal stores, the inputs alone must be more than
        // the caches hold.
        (Class::Cpu, false) => (4 * host::largest_cache().unwrap_or(32 << 20)).min(1 << 30),
    }
}

/// Those of them that are taken whatever time they take: a cache that answers would tell variants apart by what it holds.
fn least_set(machine: &Machine, quick: bool) -> u64 {
    match (machine.class(), quick) {
        // More than four times the caches of today's devices, which copy it within a millisecond.
        (Class::Gpu, _) => 256 << 20,
        (Class::Cpu, false) => working_set(machine, quick),
        (Class::Cpu, true) | (Class::Software, _) => 0,
    }
}

/// Every variant on the usual problems of a machine, or on those of one size.
fn plan(machine: &Machine, quick: bool, size: Option<u64>) -> Plan {
    Plan {
        scale: Scale {
            class: machine.class(),
            quick,
            size,
        },
        sampling: Some(sampling(quick)),
        variants: Vec::new(),
        huge: false,
        working_set: working_set(machine, quick),
        least_set: least_set(machine, quick),
        end: None,
    }
}

fn run_ladders(run: &Run) -> Result<(), Failure> {
    let families: Vec<Family> = match run.patterns.is_empty() {
        true => families::all(),
        false => families::with_patterns(run.patterns.clone()),
    };
    let ladders = selection::ladders(&families, &run.families)?;
    // Before anything is measured: a run takes minutes, and a bad file is known at once.
    let others = read_rivals(&run.rivals)?;
    let mut records = Vec::new();
    for machine in machines(&run.means)? {
        let gpu = machine.class() != Class::Cpu;
        for name in &run.variants {
            selection::variant(&ladders, gpu, name)?;
        }
        let seconds = run.seconds.or(run.means.quick.then_some(QUICK));
        let plan = Plan {
            sampling: (!run.check).then_some(sampling(run.means.quick)),
            variants: run.variants.clone(),
            huge: run.huge,
            end: seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into())),
            ..plan(&machine, run.means.quick, run.size)
        };
        let mut watch = Progress::new(run.means.quiet);
        let ahead: usize = ladders.iter().map(|ladder| steps(*ladder, &plan)).sum();
        watch.begin(ahead + if run.check { 0 } else { ceiling::STEPS });
        let mut record = begin(&machine, &run.means);
        record.header.tell_sources(&families, &ladders);
        if !run.check {
            let sampling = sampling(run.means.quick);
            // About a hundred ceilings take an eighth of the time.
            let sampling = seconds.map_or(sampling, |seconds| {
                sampling.within(Duration::from_secs(seconds.into()) / 800)
            });
            record.ceilings = allowed(&machine, &sampling, run.means.quick, &mut watch)?;
        }
        watch.print(&(report::header(&record) + &report::ceilings(&record)))?;
        let mut header = record.header.clone();
        for (done, ladder) in ladders.iter().enumerate() {
            let plan = plan.share(ladders.len() - done);
            // Shown at once: a run takes minutes, and who ends it early keeps what was measured.
            let mut part = Record {
                rows: measure(&machine, *ladder, &plan, &record.ceilings, &mut watch),
                header: header.clone(),
                ceilings: record.ceilings.clone(),
                ..Record::default()
            };
            rivals::join(&mut part, &others);
            watch.print(&report::table(&part))?;
            header.forget_sources(&part.rows);
            record.rows.extend(part.rows);
            if !run.check {
                let timelines = families::timelines(&machine, ladder.name());
                record.timelines.extend(timelines);
            }
            run.outputs.keep(records.iter().chain([&record]))?;
        }
        record.header.after = host::conditions(&machine);
        watch.end();
        rivals::join(&mut record, &others);
        let conditions = report::conditions(&record);
        let end = format!("\n{conditions}{}", report::summary(&record));
        io::stdout().write_all(end.as_bytes())?;
        records.push(record);
    }
    run.outputs.write(&records)?;
    let rows = records.iter().flat_map(|record| &record.rows);
    let bad = rows.filter(|row| matches!(row.verdict, Verdict::Wrong(_) | Verdict::Failed(_)));
    none(bad.count(), "variants are wrong or failed")
}

fn begin(machine: &Machine, means: &Means) -> Record {
    let environment = std::env::var("RELIEF_REVISION").ok();
    let revision = means.revision.as_deref().or(environment.as_deref());
    let revision = revision.or(option_env!("RELIEF_BUILT_REVISION"));
    Record {
        header: host::header(machine, revision, means.quick),
        ..Record::default()
    }
}

fn allowed(
    machine: &Machine,
    sampling: &Sampling,
    quick: bool,
    watch: &mut Progress,
) -> Result<Ceilings, Failure> {
    let working_set = working_set(machine, quick);
    Ok(ceiling::measure(machine, sampling, quick, working_set, watch)?)
}

fn run_ceilings(ceiling: &Ceiling) -> Result<(), Failure> {
    let mut records = Vec::new();
    for machine in machines(&ceiling.means)? {
        let mut watch = Progress::new(ceiling.means.quiet);
        watch.begin(ceiling::STEPS);
        let mut record = begin(&machine, &ceiling.means);
        let quick = ceiling.means.quick;
        record.ceilings = allowed(&machine, &sampling(quick), quick, &mut watch)?;
        record.header.after = host::conditions(&machine);
        watch.end();
        let text = report::header(&record) + &report::ceilings(&record);
        io::stdout().write_all(text.as_bytes())?;
        records.push(record);
    }
    ceiling.outputs.write(&records)
}

/// A record as text.
fn shown(record: &Record) -> String {
    let text = report::header(record) + &report::conditions(record) + &report::ceilings(record);
    text + &report::table(record) + "\n" + &report::summary(record)
}

fn run_show(show: &Show) -> Result<(), Failure> {
    let others = read_rivals(&show.rivals)?;
    let mut records = Vec::new();
    for path in &show.records {
        records.extend(read(path)?);
    }
    for record in &mut records {
        rivals::join(record, &others);
        io::stdout().write_all(shown(record).as_bytes())?;
    }
    if let Some(folder) = &show.markdown {
        let rungs = match &show.sources {
            Some(crates) => Rungs::read(crates).map_err(|error| Failure::Usage(error.to_string()))?,
            None => Rungs::default(),
        };
        write_pages(folder, &records, &rungs)?;
    }
    show.outputs.write(&records)
}

/// Writes a page for each family of the records, and makes the folder where there is none.
fn write_pages(folder: &Path, records: &[Record], rungs: &Rungs) -> Result<(), Failure> {
    let pages = report::markdown(records, &families::all(), rungs);
    if pages.is_empty() {
        let problem =
            "the records have no timed row of a family that this lab knows, so there is no page to write";
        return Err(Failure::Usage(problem.to_owned()));
    }
    std::fs::create_dir_all(folder).map_err(Failure::file("cannot make the folder", folder))?;
    for (name, text) in pages {
        write(&folder.join(name), &text)?;
    }
    Ok(())
}

fn run_compare(arguments: &Compare) -> Result<(), Failure> {
    if !(0.0..1.0).contains(&arguments.margin) {
        let problem = "--margin must be at least 0 and less than 1";
        return Err(Failure::Usage(problem.to_owned()));
    }
    let (old, new) = (read(&arguments.old)?, read(&arguments.new)?);
    let comparisons = compare::compare(&old, &new, arguments.margin);
    for line in compare::differences(&old, &new) {
        writeln!(io::stdout(), "{line}")?;
    }
    io::stdout().write_all(compare::table(&comparisons).as_bytes())?;
    let worse = |verdict| matches!(verdict, compare::Verdict::Slower | compare::Verdict::Broken);
    let worse = comparisons.iter().filter(|comparison| worse(comparison.verdict));
    none(worse.count(), "rows are slower or broken")
}

/// A failure where there are any.
fn none(count: usize, what: &str) -> Result<(), Failure> {
    match count {
        0 => Ok(()),
        _ => Err(Failure::Worse(format!("{count} {what}"))),
    }
}

fn read(path: &Path) -> Result<Vec<Record>, Failure> {
    Ok(Record::from_json(&text_of(path)?)?)
}

fn read_rivals(paths: &[PathBuf]) -> Result<Vec<rivals::Measured>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        all.extend(rivals::read(&path.display().to_string(), &text_of(path)?)?);
    }
    Ok(all)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    relief_lab::read_text(path).map_err(Failure::file("cannot read", path))
}

impl Outputs {
    fn write(&self, records: &[Record]) -> Result<(), Failure> {
        if let Some(path) = &self.json {
            write(path, &json(records)?)?;
        }
        if let Some(path) = &self.csv {
            write(path, &report::csv(records))?;
        }
        if let Some(path) = &self.html {
            write(path, &report::page(records))?;
        }
        Ok(())
    }

    /// Writes the record of what was measured so far, from which the rest can be made (`lab show`), for those who end a run early. What is no file, such as a pipe,
    /// has to wait for the end.
    fn keep<'a>(&self, records: impl IntoIterator<Item = &'a Record>) -> Result<(), Failure> {
        match &self.json {
            Some(path) if is_file(path) => write(path, &json(records)?),
            _ => Ok(()),
        }
    }
}

fn json<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<String, Failure> {
    let texts: Result<Vec<String>, _> = records.into_iter().map(Record::to_json).collect();
    Ok(texts?.concat())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    replace(path, text).map_err(Failure::file("cannot write", path))
}

/// A bar on the standard error, where that is a terminal.
struct Progress(ProgressBar);

impl Progress {
    fn new(quiet: bool) -> Self {
        let hidden = quiet || !io::stderr().is_terminal();
        let bar = if hidden {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(0)
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {elapsed}  {msg}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Writes results without the bar in between.
    fn print(&self, text: &str) -> io::Result<()> {
        self.0.suspend(|| {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()
        })
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Watch for Progress {
    fn begin(&mut self, steps: usize) {
        self.0.set_length(steps as u64);
    }

    fn step(&mut self, what: &str) {
        self.0.inc(1);
        self.0.set_message(what.to_owned());
    }
}
