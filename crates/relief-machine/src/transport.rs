//! Sockets: TCP, Unix and TLS over TCP, each as a half that reads, a half that writes and a way to cut both.

use std::io::{self, IoSlice, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::{
    fs::FileTypeExt,
    net::{UnixListener, UnixStream},
};
#[cfg(unix)]
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;
use crate::address::Address;
use crate::tls::{self, Acceptor, Pin};

/// A socket, and how long its peer may take.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Stream,
    /// When what is expected must have been read.
    deadline: Mutex<Option<Instant>>,
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Socket {
    /// Gives up on a peer that neither reads nor writes for so long.
    fn new(stream: Stream, idle_timeout: Duration) -> io::Result<Arc<Self>> {
        match &stream {
            Stream::Tcp(socket) => socket.set_nodelay(true)?,
            #[cfg(unix)]
            Stream::Unix(_) => {}
        }
        let socket = Self {
            stream,
            deadline: Mutex::default(),
        };
        socket.set_idle_timeout(idle_timeout)?;
        Ok(Arc::new(socket))
    }

    fn set_idle_timeout(&self, idle_timeout: Duration) -> io::Result<()> {
        match &self.stream {
            Stream::Tcp(socket) => {
                socket.set_read_timeout(Some(idle_timeout))?;
                socket.set_write_timeout(Some(idle_timeout))
            }
            #[cfg(unix)]
            Stream::Unix(socket) => {
                socket.set_read_timeout(Some(idle_timeout))?;
                socket.set_write_timeout(Some(idle_timeout))
            }
        }
    }

    fn deadline(&self) -> MutexGuard<'_, Option<Instant>> {
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shutdown(&self, how: Shutdown) {
        // The peer may have gone already.
        let _ = match &self.stream {
            Stream::Tcp(socket) => socket.shutdown(how),
            #[cfg(unix)]
            Stream::Unix(socket) => socket.shutdown(how),
        };
    }
}

/// For how long a peer that was told why its connection ends may go on sending.
const LINGER: Duration = Duration::from_secs(1);

/// One end of a socket that is shared by threads.
#[derive(Clone, Debug)]
pub(crate) struct Half(pub(crate) Arc<Socket>);

impl Read for Half {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &self.0.stream {
            Stream::Tcp(socket) => (&*socket).read(buffer),
            #[cfg(unix)]
            Stream::Unix(socket) => (&*socket).read(buffer),
        };
        // Each byte may come in time and all of them never.
        let late = self
            .0
            .deadline()
            .is_some_and(|deadline| Instant::now() > deadline);
        if late {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            count
        }
    }
}

impl Write for Half {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &self.0.stream {
            Stream::Tcp(socket) => (&*socket).write(buffer),
            #[cfg(unix)]
            Stream::Unix(socket) => (&*socket).write(buffer),
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &self.0.stream {
            Stream::Tcp(socket) => (&*socket).write_vectored(slices),
            #[cfg(unix)]
            Stream::Unix(socket) => (&*socket).write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Cuts a connection and sets its limits, from any thread.
#[derive(Clone, Debug)]
pub(crate) struct Closer(Arc<Socket>);

impl Closer {
    pub(crate) const fn new(socket: Arc<Socket>) -> Self {
        Self(socket)
    }

    pub(crate) fn close(&self) {
        self.0.shutdown(Shutdown::Both);
    }

    /// Nothing more will be written. What was written still arrives, for as long as the peer's own bytes are read: see
    /// [`drain`](Self::drain).
    pub(crate) fn finish(&self) {
        self.0.shutdown(Shutdown::Write);
    }

    /// Ends a connection whose last frame the peer is to read: a socket that is closed while bytes wait in it resets the
    /// connection, and what the peer has not read by then is lost to it (RFC 1122, 4.2.2.13). So the peer's bytes are read and
    /// forgotten until it closes its side, or for [`LINGER`].
    pub(crate) fn drain(&self) {
        self.finish();
        self.expect_within(Some(LINGER));
        if self.set_idle_timeout(LINGER).is_ok() {
            // The end of it all, whatever it is.
            let _ = io::copy(&mut Half(self.0.clone()), &mut io::sink());
        }
        self.close();
    }

    /// All that is read from now on must have come within this time; `None` lifts that.
    pub(crate) fn expect_within(&self, time: Option<Duration>) {
        *self.0.deadline() = time.and_then(|time| Instant::now().checked_add(time));
    }

    /// Gives up on a peer that neither reads nor writes for so long.
    pub(crate) fn set_idle_timeout(&self, idle_timeout: Duration) -> io::Result<()> {
        self.0.set_idle_timeout(idle_timeout)
    }
}

/// A connection whose halves may be used by two threads.
pub(crate) struct Connection {
    pub(crate) reader: Box<dyn Read + Send>,
    pub(crate) writer: Box<dyn Write + Send>,
    pub(crate) closer: Closer,
}

impl Connection {
    fn plain(socket: Arc<Socket>) -> Self {
        Self {
            reader: Box::new(Half(socket.clone())),
            writer: Box::new(Half(socket.clone())),
            closer: Closer(socket),
        }
    }
}

/// The time between two looks at whether a connection is still wanted.
const LOOK: Duration = Duration::from_millis(20);

/// Connects to a machine. `made` is given what cuts the connection as soon as there is a socket; until then `unwanted` is
/// asked whether to give up. A name is looked up and a socket connected by a thread of its own, because nothing ends
/// these calls of the system: where nobody waits for it any more, it goes on until the system gives up. The handshake of
/// TLS, all of it, must be over within the idle timeout.
pub(crate) fn connect(
    address: &Address,
    pin: Option<&Pin>,
    idle_timeout: Duration,
    unwanted: &dyn Fn() -> bool,
    made: &dyn Fn(Closer),
) -> Result<Connection, Error> {
    if pin.is_some() && !matches!(address, Address::Tls(_)) {
        return Err(Error::Tls {
            problem: format!(
                "a fingerprint was given, and {address} has no certificate to compare it with; \
                 use tls://HOST:PORT, or give no fingerprint"
            ),
        });
    }
    let failed = |source| Error::Connect {
        address: address.to_string(),
        source,
    };
    let (give, take) = mpsc::channel();
    let there = address.clone();
    std::thread::Builder::new()
        .name("relief-connect".to_owned())
        .spawn(move || {
            // Nobody may wait for it any more.
            let _ = give.send(open(&there, idle_timeout));
        })
        .map_err(|error| Error::Thread(error.to_string()))?;
    let stream = loop {
        match take.recv_timeout(LOOK) {
            Ok(stream) => break stream.map_err(failed)?,
            Err(RecvTimeoutError::Timeout) if !unwanted() => {}
            Err(_) => return Err(failed(io::ErrorKind::ConnectionAborted.into())),
        }
    };
    let socket = Socket::new(stream, idle_timeout).map_err(failed)?;
    let closer = Closer(socket.clone());
    // The handshakes too: each of their bytes may come in time and all of them never.
    closer.expect_within(Some(idle_timeout));
    made(closer.clone());
    if !matches!(address, Address::Tls(_)) {
        return Ok(Connection::plain(socket));
    }
    let Some(pin) = pin else {
        let problem = "the fingerprint of the machine's certificate is needed to know that it is the machine";
        return Err(Error::Tls {
            problem: problem.to_owned(),
        });
    };
    let (reader, writer) = tls::connect(&socket, pin).map_err(failed)?;
    Ok(Connection {
        reader: Box::new(reader),
        writer: Box::new(writer),
        closer,
    })
}

/// A socket connected to a machine.
fn open(address: &Address, idle_timeout: Duration) -> io::Result<Stream> {
    match address {
        Address::Tcp(host) | Address::Tls(host) => {
            let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
            for resolved in host.to_socket_addrs()? {
                match TcpStream::connect_timeout(&resolved, idle_timeout) {
                    Ok(socket) => return Ok(Stream::Tcp(socket)),
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
        #[cfg(unix)]
        Address::Unix(path) => UnixStream::connect(path).map(Stream::Unix),
        #[cfg(not(unix))]
        Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        Address::File(_) => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Waits for connections.
pub(crate) struct Listener {
    socket: Listening,
    address: Address,
    acceptor: Option<Acceptor>,
    idle_timeout: Duration,
}

enum Listening {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener, PathBuf),
}

impl Listener {
    pub(crate) fn bind(
        address: &Address,
        acceptor: Option<Acceptor>,
        idle_timeout: Duration,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Connect {
            address: address.to_string(),
            source,
        };
        check_scheme(address, acceptor.is_some())?;
        let (socket, bound) = match address {
            Address::Tcp(host) | Address::Tls(host) => {
                let socket = TcpListener::bind(host.as_str()).map_err(failed)?;
                let bound = socket.local_addr().map_err(failed)?.to_string();
                let bound = if acceptor.is_some() {
                    Address::Tls(bound)
                } else {
                    Address::Tcp(bound)
                };
                (Listening::Tcp(socket), bound)
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                // A socket that a killed receiver left behind, which nobody answers. A connection to a file that is
                // no socket is refused as well: it stays.
                let is_socket = |metadata: std::fs::Metadata| metadata.file_type().is_socket();
                if std::fs::symlink_metadata(path).is_ok_and(is_socket)
                    && UnixStream::connect(path)
                        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
                {
                    let _ = std::fs::remove_file(path);
                }
                let socket = UnixListener::bind(path).map_err(failed)?;
                (Listening::Unix(socket, path.clone()), address.clone())
            }
            _ => return Err(failed(io::ErrorKind::Unsupported.into())),
        };
        Ok(Self {
            socket,
            address: bound,
            acceptor,
            idle_timeout,
        })
    }

    /// Where it listens, with the port that the system chose where 0 was asked for.
    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// The next socket; TLS is left to [`secure`](Self::secure), because it waits for the peer.
    pub(crate) fn accept(&self) -> io::Result<Arc<Socket>> {
        let stream = match &self.socket {
            Listening::Tcp(socket) => Stream::Tcp(socket.accept()?.0),
            #[cfg(unix)]
            Listening::Unix(socket, _) => Stream::Unix(socket.accept()?.0),
        };
        Socket::new(stream, self.idle_timeout)
    }

    /// A connection on a socket; TLS is agreed on first. All that comes must come within the idle timeout, until the
    /// connection's closer lifts that.
    pub(crate) fn secure(&self, socket: Arc<Socket>) -> io::Result<Connection> {
        Closer(socket.clone()).expect_within(Some(self.idle_timeout));
        match &self.acceptor {
            None => Ok(Connection::plain(socket)),
            Some(acceptor) => {
                let (reader, writer) = acceptor.accept(&socket)?;
                Ok(Connection {
                    reader: Box::new(reader),
                    writer: Box::new(writer),
                    closer: Closer(socket),
                })
            }
        }
    }

    /// Wakes a thread that waits in [`accept`](Self::accept); whether it could be.
    pub(crate) fn wake(&self) -> bool {
        match &self.socket {
            Listening::Tcp(socket) => socket
                .local_addr()
                .and_then(|bound| TcpStream::connect_timeout(&reachable(bound), WAKE))
                .is_ok(),
            #[cfg(unix)]
            Listening::Unix(_, path) => UnixStream::connect(path).is_ok(),
        }
    }
}

/// How long a listener may take to answer its own process.
const WAKE: Duration = Duration::from_secs(1);

/// Where this process reaches a socket that it has bound: a socket bound to all addresses of the host is reached at
/// the loopback, because not every system connects to "all addresses".
fn reachable(mut bound: SocketAddr) -> SocketAddr {
    if bound.ip().is_unspecified() {
        bound.set_ip(match bound.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    bound
}

/// Whether the address says what is listened for: a certificate is neither forgotten nor left unused.
fn check_scheme(address: &Address, has_certificate: bool) -> Result<(), Error> {
    let problem = match (address, has_certificate) {
        (Address::Tls(_), false) => format!(
            "{address} needs a certificate and its key (--tls-certificate, --tls-key); \
             without encryption listen on tcp://HOST:PORT"
        ),
        (Address::Unix(_) | Address::File(_), true) => {
            format!("{address} has no TLS, so that a certificate is of no use; listen on tls://HOST:PORT")
        }
        _ => return Ok(()),
    };
    Err(Error::Tls { problem })
}

impl Drop for Listener {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Listening::Unix(_, path) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_bound_to_all_addresses_is_woken_at_the_loopback() {
        let reached = |bound: &str| reachable(bound.parse().unwrap()).to_string();
        assert_eq!(reached("0.0.0.0:7117"), "127.0.0.1:7117");
        assert_eq!(reached("[::]:7117"), "[::1]:7117");
        assert_eq!(reached("192.0.2.7:7117"), "192.0.2.7:7117");
    }
}
