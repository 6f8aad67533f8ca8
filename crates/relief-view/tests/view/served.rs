//! Servers of designs in files.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use relief_engine::{Cancel, Depth, Options, Plan, Rect, Renderer, SamplesMut};
use relief_io::Files;
use relief_view::{DesignSource, Error, OpenError, Opened, Server, ServerOptions, Stopper};
use serde_json::Value;
use tempfile::TempDir;

use crate::client::{connect, get, head};

/// A design file, named by its text and the sizes of its pictures.
pub(crate) struct Source {
    name: String,
    path: PathBuf,
}

impl Source {
    pub(crate) fn at(path: &Path) -> Box<dyn DesignSource> {
        Box::new(Self {
            name: called(path),
            path: path.to_owned(),
        })
    }
}

/// The last two parts of a path: the folder of an example names it. One that is made for a test does not.
fn called(path: &Path) -> String {
    let parts = path.iter().rev().take(2).map(|part| part.to_string_lossy());
    let named: Vec<_> = parts.filter(|part| !part.starts_with('.')).collect();
    named.into_iter().rev().collect::<Vec<_>>().join("/")
}

impl DesignSource for Source {
    fn name(&self) -> &str {
        &self.name
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn open(&self) -> Result<Opened, OpenError> {
        let text =
            fs::read_to_string(&self.path).map_err(|error| OpenError::Unreadable(error.to_string()))?;
        let folder = self.path.parent().unwrap();
        let files = Files::new(folder);
        let reading =
            relief_design::read(&self.name, &text, &files, &[]).map_err(|report| OpenError::Design {
                report: Box::new(report),
                text: text.clone(),
            })?;
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let pictures = reading.design.files().map(|file| folder.join(file));
        let inputs: Vec<PathBuf> = pictures.chain([self.path.clone()]).collect();
        for byte in inputs.iter().flat_map(|file| fs::read(file).unwrap()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        Ok(Opened {
            key: format!("{hash:016x}{:016x}", text.len()),
            pictures: (reading.design.files())
                .map(|file| {
                    (
                        file.to_owned(),
                        format!("{:?}", fs::read(folder.join(file)).unwrap()),
                    )
                })
                .collect(),
            design: reading.design,
            images: Arc::new(files),
            text,
            warnings: reading.warnings,
            known: None,
            files: inputs,
        })
    }
}

/// A server that runs until this is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<Result<(), Error>>>,
    pub(crate) paths: Vec<PathBuf>,
    _folder: Option<TempDir>,
}

impl Served {
    /// Serves these designs.
    pub(crate) fn texts(texts: &[&str], options: ServerOptions) -> Self {
        let folder = TempDir::new().unwrap();
        let write = |(number, text): (usize, &&str)| {
            let path = folder.path().join(format!("design-{number}.kdl"));
            fs::write(&path, text).unwrap();
            path
        };
        let paths = texts.iter().enumerate().map(write).collect();
        Self::files(paths, options, Some(folder))
    }

    pub(crate) fn files(paths: Vec<PathBuf>, options: ServerOptions, folder: Option<TempDir>) -> Self {
        let sources = paths.iter().map(|path| Source::at(path)).collect();
        let server = Server::bind(sources, options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        assert!(address.ip().is_loopback());
        let thread = thread::spawn(move || server.run());
        Self {
            address,
            stopper,
            thread: Some(thread),
            paths,
            _folder: folder,
        }
    }

    /// An example of the tree.
    pub(crate) fn example(name: &str, options: ServerOptions) -> Self {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        Self::files(vec![examples.join(name).join("design.kdl")], options, None)
    }

    /// The key of a design, once it is ready.
    pub(crate) fn key(&self, which: usize) -> String {
        let state = self.state(|state| {
            let design = &state["designs"][which];
            design["ready"] == true || !design["trouble"].is_null()
        });
        let key = state["designs"][which]["scene"]["key"].as_str();
        key.unwrap_or_else(|| panic!("it is not ready: {state}"))
            .to_owned()
    }

    /// The first state that is as it should be.
    pub(crate) fn state(&self, right: impl Fn(&Value) -> bool) -> Value {
        let mut events = Events::listen(self.address);
        loop {
            let (name, state) = events.next();
            if name == "state" && right(&state) {
                return state;
            }
        }
    }

    /// The renderer of a design, made apart from the server.
    pub(crate) fn renderer(&self, which: usize) -> Renderer {
        let opened = Source::at(&self.paths[which]).open().unwrap();
        let plan = Plan::new(&opened.design, &*opened.images, &Options::default()).unwrap();
        Renderer::new(plan, &*opened.images, &Cancel::new()).unwrap()
    }

    pub(crate) fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.end();
        }
    }
}

/// What the server tells without being asked.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    pub(crate) fn listen(address: SocketAddr) -> Self {
        let mut stream = connect(address);
        write!(stream, "GET /api/events HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader).unwrap();
        assert_eq!(
            (status, headers["content-type"].as_str()),
            (200, "text/event-stream")
        );
        Self(reader)
    }

    pub(crate) fn next(&mut self) -> (String, Value) {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the server ended");
            if let Some(text) = line.strip_prefix("event: ") {
                name = text.trim().to_owned();
            } else if let Some(json) = line.strip_prefix("data: ") {
                return (name, serde_json::from_str(json).unwrap());
            }
        }
    }
}

/// Samples of a window, by the engine alone.
pub(crate) fn read(renderer: &Renderer, rect: Rect) -> Vec<u16> {
    let count = rect.area() as usize;
    match renderer.plan().depth() {
        Depth::Eight => {
            let mut samples = vec![0; count];
            renderer
                .read(rect, SamplesMut::Eight(&mut samples), &Cancel::new())
                .unwrap();
            samples.into_iter().map(u16::from).collect()
        }
        Depth::Sixteen => {
            let mut samples = vec![0; count];
            renderer
                .read(rect, SamplesMut::Sixteen(&mut samples), &Cancel::new())
                .unwrap();
            samples
        }
    }
}

/// A design that is wrong in its third line.
pub(crate) const WRONG: &str = "relief version=1\ncanvas width=600 height=500\nfill valu=7";

#[test]
fn the_page_and_all_its_files_are_served_with_a_policy_that_lets_nothing_else_in() {
    let served = Served::texts(
        &["relief version=1\ncanvas width=4 height=3\nfill value=7"],
        ServerOptions::default(),
    );
    let page = get(served.address, "/");
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, "text/html; charset=utf-8")
    );
    let policy = page.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self';"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    let text = String::from_utf8(page.body).unwrap();
    // Nothing is written into the page that a policy would have to allow, and nothing comes from elsewhere.
    assert!(
        !text.contains("<script>")
            && !text.contains("style=")
            && !text.contains("onclick")
            && !text.contains("//")
    );
    let mut files: Vec<String> = text
        .split(['"', '\''])
        .filter(|word| word.ends_with(".js") || word.ends_with(".css") || word.ends_with(".svg"))
        .map(str::to_owned)
        .collect();
    assert!(files.len() >= 3);
    let mut seen = 0;
    while let Some(file) = files.get(seen).cloned() {
        seen += 1;
        let reply = get(served.address, &format!("/{file}"));
        assert_eq!(reply.status, 200, "{file}");
        let text = String::from_utf8(reply.body).unwrap();
        for import in text.lines().filter(|line| line.starts_with("import ")) {
            let from = import
                .split('"')
                .nth(1)
                .unwrap()
                .strip_prefix("./")
                .unwrap()
                .to_owned();
            if !files.contains(&from) {
                files.push(from);
            }
        }
    }
    assert!(files.len() >= 12, "{files:?}");
    let head = crate::client::request(served.address, "HEAD", "/style.css", &[], "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(head.header("content-length").parse::<u32>().unwrap() > 1_000);
}

#[test]
fn options_that_cannot_be_are_refused_with_what_would_do() {
    let text = "relief version=1\ncanvas width=4 height=3\nfill value=7";
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.kdl");
    fs::write(&path, text).unwrap();
    let bind = |options| {
        Server::bind(vec![Source::at(&path)], options)
            .unwrap_err()
            .to_string()
    };
    for origin in [
        "*",
        "example.org",
        "https://a.example/path",
        "https://a.example,https://b.example",
        "null",
    ] {
        let error = bind(ServerOptions::default().cors(origin));
        assert!(
            error.starts_with("cors: ") && error.contains("such as https://example.org"),
            "{error}"
        );
    }
    assert!(bind(ServerOptions::default().memory(1)).contains("16 MiB at least"));
    assert!(bind(ServerOptions::default().threads(0)).contains("one at least"));
    let taken = Server::bind(vec![Source::at(&path)], ServerOptions::default()).unwrap();
    let error = bind(ServerOptions::default().listen(taken.address()));
    assert_eq!(error, format!("cannot listen on {}", taken.address()));
    let sources = (0..3).map(|_| Source::at(&path)).collect();
    let error = Server::bind(sources, ServerOptions::default()).unwrap_err();
    assert!(error.to_string().contains("there are 3"), "{error}");
}
