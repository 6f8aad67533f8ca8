//! The server: sockets, connections, threads.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore, watch};

use crate::job::Job;
use crate::options::ServerOptions;
use crate::patient::Patient;
use crate::queue::Queue;
use crate::raster::TILE;
use crate::renderers::{Renderers, Share};
use crate::request::{Guard, Viewports};
use crate::routes::{App, respond};
use crate::source::DesignSource;
use crate::stage::Stage;
use crate::{Error, zarr};

/// The most connections at the same time.
const MAX_CONNECTIONS: usize = 128;

/// The longest head of a request.
const MAX_HEAD: usize = 16 << 10;

/// The most headers of a request.
const MAX_HEADERS: usize = 64;

/// How long a client may take to send a head, or to ask again.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Stack of a thread that computes: planning recurses once for every level of nesting.
const STACK: usize = 8 << 20;

/// Shows designs to programs that speak HTTP.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    job: Option<Job>,
    threads: usize,
    stop: Arc<Notify>,
}

/// Ends a server from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Notify>);

impl Stopper {
    /// Has [`Server::run`] return, at once or as soon as it is called.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

impl Server {
    /// Listens, and shows nothing yet. Of two designs the second is compared with the first.
    ///
    /// # Errors
    /// Where an option cannot be used, there is no design or more than two, or the address cannot be listened on.
    pub fn bind(sources: Vec<Box<dyn DesignSource>>, options: ServerOptions) -> Result<Self, Error> {
        options.check()?;
        if !(1..=2).contains(&sources.len()) {
            return Err(Error::Option {
                option: "designs",
                problem: format!(
                    "there are {}; one is shown, or two beside each other",
                    sources.len()
                ),
            });
        }
        let failed = |source| Error::Listen {
            address: options.listen,
            source,
        };
        let listener = TcpListener::bind(options.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let threads = options.computing();
        let queue = Queue::new(threads.max(2), Share::answers(options.memory));
        let share = Share::of(options.memory, sources.len());
        let renderers = Arc::new(Renderers::new(Arc::clone(&queue), share, threads));
        let app = App {
            guard: Guard::new(address, options.cors.as_deref()),
            stage: Stage::new(sources, Arc::clone(&renderers), TILE),
            queue,
            renderers,
            viewports: Mutex::new(Viewports::default()),
            job: watch::channel("null".to_owned()).0,
            zarr: zarr::Known::default(),
            cost: options.cost,
        };
        let job = options
            .job
            .map(|(manifest, program, origin)| Job::new(manifest, program, origin));
        Ok(Self {
            listener,
            address,
            app: Arc::new(app),
            job,
            threads: threads.max(2),
            stop: Arc::default(),
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the page.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// What ends it.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.stop))
    }

    /// Shows the designs until a [`Stopper`] ends it.
    ///
    /// # Errors
    /// Where threads or timers cannot be started.
    pub fn run(self) -> Result<(), Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(Error::Start)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(self.listener).map_err(Error::Start)?
        };
        let (app, job) = (&self.app, &self.job);
        thread::scope(|scope| {
            // What is sent nowhere: dropped, it ends those that wait for it.
            let (stage_ends, stage_end) = mpsc::channel();
            let (job_ends, job_end) = mpsc::channel();
            let mut openers = Vec::new();
            let mut started = Ok(());
            for slot in 0..app.stage.len() {
                let (open, asked) = mpsc::channel();
                openers.push(open);
                let name = format!("relief-view-design-{slot}");
                let opening = move || app.stage.open_when_asked(slot, &asked);
                started = started.and_then(|()| start(scope, &name, opening));
            }
            let watching = move || app.stage.watch(&openers, &stage_end);
            started = started.and_then(|()| start(scope, "relief-view-files", watching));
            for number in 0..self.threads {
                let name = format!("relief-view-{number}");
                started = started.and_then(|()| start(scope, &name, move || app.queue.work()));
            }
            if let Some(job) = job {
                let watching = move || job.run(&app.job, &job_end);
                started = started.and_then(|()| start(scope, "relief-view-job", watching));
            }
            if started.is_ok() {
                runtime.block_on(accept(&listener, app, &self.stop));
            }
            app.queue.stop();
            drop((stage_ends, job_ends));
            runtime.shutdown_background();
            started.map_err(Error::Start)
        })
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Starts a thread that ends with the server.
fn start<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() + Send + 'scope,
) -> io::Result<()> {
    let thread = thread::Builder::new().name(name.to_owned()).stack_size(STACK);
    thread.spawn_scoped(scope, work).map(|_| ())
}

/// Serves connections until it is told to stop.
async fn accept(listener: &tokio::net::TcpListener, app: &Arc<App>, stop: &Notify) {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = async {
            let permit = Arc::clone(&connections).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            () = stop.notified() => return,
            accepted = accepted => accepted,
        };
        let (Ok(permit), Ok((stream, _))) = (permit, accepted) else {
            // Too many files are open: those that are served end first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let app = Arc::clone(app);
        tokio::spawn(async move {
            if let Err(error) = serve(stream, app).await {
                tracing::debug!("a connection ended: {error}");
            }
            drop(permit);
        });
    }
}

async fn serve(stream: TcpStream, app: Arc<App>) -> Result<(), hyper::Error> {
    // Answers are written whole; waiting for more to send only delays them.
    let without_delay: io::Result<()> = stream.set_nodelay(true);
    if let Err(error) = without_delay {
        tracing::debug!("answers may be delayed: {error}");
    }
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .serve_connection(
            TokioIo::new(Patient::new(stream)),
            service_fn(move |request| respond(Arc::clone(&app), request)),
        )
        .await
}
