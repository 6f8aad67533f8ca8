//! Why a server cannot run.

use std::io;
use std::net::SocketAddr;

/// Why a server could not be started or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// An option has a value that cannot be used.
    #[error("{option}: {problem}")]
    Option {
        /// Which option.
        option: &'static str,
        /// What is wrong and what would work.
        problem: String,
    },
    /// Threads or timers could not be started.
    #[error("the server could not be started")]
    Start(#[source] io::Error),
}
