//! `relief view`: a design in the browser.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use relief_machine::Manifest;
use relief_view::{DesignSource, OpenError, Opened, Server, ServerOptions};

use crate::arguments::Reading;
use crate::design::Warnings;
use crate::failure::{Failure, chain};
use crate::quantity::{bytes, cost_in_samples, slip};
use crate::{design, job};

/// An address to listen at.
fn socket(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "an address and a port are expected, such as 127.0.0.1:8080".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct View {
    /// The design file; a second one is compared with it
    #[arg(required = true, num_args = 1..=2, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Where to listen: who reaches the address sees the design. Port 0 is any free port
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0", value_parser = socket)]
    listen: SocketAddr,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Let pages of this origin, a scheme and a host, read tiles [default: none]
    #[arg(long, value_name = "ORIGIN")]
    cors: Option<String>,
    /// The most memory that renderers and answers may take, such as 512MiB [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,
    /// Threads that compute [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The most pixels computed for one exact answer to Zarr, Deep Zoom and /raw; what takes more is refused [default: 2^30]
    #[arg(long, value_name = "PIXELS", value_parser = cost_in_samples)]
    cost: Option<u64>,
    /// Take levels from the overview that rendering the whole raster left behind, where it is of the same design [default: one that lies beside
    /// the design or in the working folder, if there is one]
    #[arg(long, value_name = "OUTPUT.overview")]
    overview: Option<PathBuf>,
    /// Show which lines of a job are executed, by its manifest
    #[arg(long, value_name = "MANIFEST")]
    job: Option<PathBuf>,
}

pub(crate) fn run(view: &View) -> Result<(), Failure> {
    if view.files.iter().any(|file| file == Path::new("-")) {
        return Err(Failure::Usage(
            "the standard input cannot be read again when it changes; view shows files".to_owned(),
        ));
    }
    if let Some(missing) = view.files.iter().find(|file| !file.is_file()) {
        // What is wrong in a file shows in the page. A name that leads nowhere is most likely a slip.
        design::read(missing)?;
    }
    if let Some(path) = &view.overview {
        relief_io::Overview::open(path).map_err(|source| Failure::File {
            action: "cannot read the overview",
            path: path.display().to_string(),
            source,
        })?;
    }
    let sources = view.files.iter().map(|file| {
        let source = Source {
            name: file.display().to_string(),
            path: file.clone(),
            reading: view.reading.within(view.memory),
            overview: view.overview.clone(),
        };
        Box::new(source) as Box<dyn DesignSource>
    });
    let mut options = ServerOptions::default()
        .listen(view.listen)
        .with(|options| options.cors.clone_from(&view.cors))
        .with(|options| options.threads = view.threads)
        .with(|options| options.memory = view.memory.unwrap_or(options.memory))
        .with(|options| options.cost = view.cost.unwrap_or(options.cost));
    if let Some(path) = &view.job {
        let manifest = Manifest::read(path)?;
        let program = super::stream::program_of(&manifest, path, &view.reading.within(view.memory))?;
        let region = manifest.region;
        let origin = region.map_or((0, 0), |region| {
            (region.x.unsigned_abs(), region.y.unsigned_abs())
        });
        options = options.job(path, program, origin);
    }
    let server = Server::bind(sources.collect(), options).map_err(|error| {
        let failure = Failure::View(error);
        match view.memory.and_then(slip) {
            Some(slip) => Failure::Usage(format!("{}; --memory is {slip}", chain(&failure))),
            None => failure,
        }
    })?;
    let url = server.url();
    let mut out = io::stdout();
    writeln!(out, "{url}")?;
    out.flush()?;
    if !server.address().ip().is_loopback() {
        // The server goes on when nobody listens any more.
        let _ = writeln!(
            io::stderr(),
            "relief: everyone who reaches {} sees the design",
            server.address()
        );
    }
    let stopper = server.stopper();
    let stopped = AtomicBool::new(false);
    let handled = ctrlc::set_handler(move || {
        // A second one does not wait for what is being computed.
        if stopped.swap(true, Ordering::AcqRel) {
            std::process::exit(130);
        }
        stopper.stop();
    });
    if let Err(error) = handled {
        tracing::warn!("signals are not handled: {error}");
    }
    if view.open
        && let Err(error) = open(&url)
    {
        let _ = writeln!(io::stderr(), "relief: cannot open a browser: {error}; open {url}");
    }
    Ok(server.run()?)
}

/// Has the system open a page.
fn open(url: &str) -> io::Result<()> {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new("xdg-open")
    };
    let null = Stdio::null;
    command
        .arg(url)
        .stdin(null())
        .stdout(null())
        .stderr(null())
        .spawn()
        .map(|_| ())
}

/// A design file.
struct Source {
    name: String,
    path: PathBuf,
    reading: Reading,
    overview: Option<PathBuf>,
}

impl DesignSource for Source {
    fn name(&self) -> &str {
        &self.name
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn open(&self) -> Result<Opened, OpenError> {
        let unreadable = |failure: Failure| OpenError::Unreadable(chain(&failure));
        let opened = match design::open(&self.path, &self.reading, Warnings::Silent) {
            Ok(opened) => opened,
            Err(Failure::Design(report)) => {
                let (_, text) = design::read(&self.path).map_err(unreadable)?;
                return Err(OpenError::Design { report, text });
            }
            Err(failure) => return Err(unreadable(failure)),
        };
        let (key, pictures) = job::key(&opened).map_err(unreadable)?;
        // While the design is edited, it is another one than was rendered.
        let known = match &self.overview {
            Some(path) => job::overview(&opened, path).ok(),
            None => job::nearby_overview(&opened, &self.path).map(|(_, found)| found),
        };
        let files = opened.inputs().into_iter().map(|(_, path)| path).collect();
        Ok(Opened {
            // Half of it tells designs apart, and is easier to read.
            key: key.to_hex()[..32].to_owned(),
            pictures: pictures.into_iter().collect(),
            design: opened.design,
            images: Arc::new(opened.files),
            text: opened.text,
            warnings: opened.warnings,
            known: known.map(|known| Arc::new(known) as Arc<dyn relief_engine::KnownLevels>),
            files,
        })
    }
}
