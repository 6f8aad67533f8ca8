//! What may be chosen for a server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use relief_scan::Program;

use crate::Error;

/// What may be chosen for a server.
///
/// ```
/// let options = relief_view::ServerOptions::default().memory(256 << 20).threads(2);
/// assert!(options.listen.ip().is_loopback());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Where to listen; a free port of 127.0.0.1 by default. Port 0 is any free port.
    pub listen: SocketAddr,
    /// The pages of others that may read answers, such as `https://neuroglancer-demo.appspot.com`: none by default.
    pub cors: Option<String>,
    /// The most bytes that renderers and answers hold: 1 GiB by default.
    pub memory: u64,
    /// Threads that compute; one for each processor where `None`.
    pub threads: Option<usize>,
    /// The most samples of the raster that are computed for one answer to programs that take nothing but exact samples.
    pub cost: u64,
    /// A job whose executed lines are shown: its manifest, its scan and where its raster begins in that of the first design.
    pub job: Option<(PathBuf, Program, (u64, u64))>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            cors: None,
            memory: 1 << 30,
            threads: None,
            cost: 1 << 30,
            job: None,
        }
    }
}

impl ServerOptions {
    /// With the address to listen on.
    #[must_use]
    pub const fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// With pages of others that may read answers.
    #[must_use]
    pub fn cors(mut self, origin: impl Into<String>) -> Self {
        self.cors = Some(origin.into());
        self
    }

    /// With so many bytes.
    #[must_use]
    pub const fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// With so many threads.
    #[must_use]
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// With so many samples for an exact answer.
    #[must_use]
    pub const fn cost(mut self, samples: u64) -> Self {
        self.cost = samples;
        self
    }

    /// With a job to be shown: the path of its manifest, its scan, and the pixel of the first design's raster where its own begins.
    #[must_use]
    pub fn job(mut self, manifest: impl Into<PathBuf>, program: Program, origin: (u64, u64)) -> Self {
        self.job = Some((manifest.into(), program, origin));
        self
    }

    /// Changed in place.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Whether it can be used.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let wrong = |option, problem: String| Err(Error::Option { option, problem });
        if let Some(origin) = &self.cors {
            let host = origin.split_once("://").map(|(_, host)| host);
            let right = host.is_some_and(|host| !host.is_empty() && !host.contains(['/', ' ', '*', ',']));
            if !right || !origin.bytes().all(|byte| byte.is_ascii_graphic()) {
                return wrong(
                    "cors",
                    format!(
                        "{origin:?} is not an origin; a scheme and a host are expected, such as https://example.org"
                    ),
                );
            }
        }
        if self.memory < MIN_MEMORY {
            return wrong(
                "memory",
                format!("{} bytes are too few; 16 MiB at least", self.memory),
            );
        }
        if self.threads == Some(0) {
            return wrong("threads", "there must be one at least".to_owned());
        }
        Ok(())
    }

    /// The threads that compute.
    pub(crate) fn computing(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads
            .unwrap_or_else(all)
            .clamp(1, relief_engine::MAX_THREADS)
    }
}

/// The least memory of a server.
const MIN_MEMORY: u64 = 16 << 20;
