//! TLS with a pinned certificate: the sender trusts exactly one certificate, by the SHA-256 of its DER bytes, and no
//! authority. Names and dates in it do not count.

use std::io::{self, Read, Write};
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::digest::{SHA256, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring as provider, verify_tls12_signature,
    verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, ServerConfig, ServerConnection,
    SignatureScheme,
};
use rustls_pki_types::pem::PemObject;

use crate::Error;
use crate::bounded::read_bounded;
use crate::transport::{Half, Socket};

/// The most bytes of a file of certificates or keys.
const MAX_PEM: u64 = 1 << 20;

/// The SHA-256 of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin([u8; 32]);

impl FromStr for Pin {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digits: String = text.chars().filter(|c| *c != ':').collect();
        let mut bytes = [0; 32];
        let wrong = || Error::Tls {
            problem: format!("'{text}' is not a SHA-256: 64 hexadecimal digits are expected"),
        };
        if digits.len() != 64 || !digits.is_ascii() {
            return Err(wrong());
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

impl std::fmt::Display for Pin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Pin {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        Self(bytes)
    }
}

#[derive(Debug)]
struct Pinned {
    pin: Pin,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if Pin::of(certificate) == self.pin {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::ApplicationVerificationFailure,
            ))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn crypto() -> Arc<CryptoProvider> {
    Arc::new(provider::default_provider())
}

/// The listening side: a certificate and its key.
#[derive(Clone)]
pub struct Acceptor {
    config: Arc<ServerConfig>,
    pin: Pin,
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acceptor")
            .field("pin", &self.pin)
            .finish_non_exhaustive()
    }
}

impl Acceptor {
    /// Reads a certificate chain and a private key, both PEM.
    ///
    /// # Errors
    /// Where they cannot be read or do not belong together.
    pub fn open(certificate: &Path, key: &Path) -> Result<Self, Error> {
        let wrong = |path: &Path, error: &dyn std::fmt::Display| Error::Tls {
            problem: format!("{}: {error}", path.display()),
        };
        let read = |path: &Path| read_bounded(path, MAX_PEM);
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(certificate)?).collect();
        let chain = chain.map_err(|error| wrong(certificate, &error))?;
        let Some(first) = chain.first() else {
            return Err(wrong(certificate, &"it holds no certificate"));
        };
        let pin = Pin::of(first);
        let private = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| wrong(key, &error))?;
        let config = ServerConfig::builder_with_provider(crypto())
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
            .map_err(|error| wrong(key, &error))?;
        Ok(Self {
            config: Arc::new(config),
            pin,
        })
    }

    /// What senders pin.
    #[must_use]
    pub const fn pin(&self) -> Pin {
        self.pin
    }

    pub(crate) fn accept(&self, socket: &Arc<Socket>) -> io::Result<(TlsHalf, TlsHalf)> {
        let connection = ServerConnection::new(self.config.clone()).map_err(io::Error::other)?;
        shake(rustls::Connection::Server(connection), socket)
    }
}

pub(crate) fn connect(socket: &Arc<Socket>, pin: &Pin) -> io::Result<(TlsHalf, TlsHalf)> {
    let provider = crypto();
    let algorithms = provider.signature_verification_algorithms;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned {
            pin: *pin,
            algorithms,
        }))
        .with_no_client_auth();
    // No name is looked at; one that nobody has stands in its place.
    let name = ServerName::try_from("machine.invalid").map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    shake(rustls::Connection::Client(connection), socket)
}

fn shake(mut connection: rustls::Connection, socket: &Arc<Socket>) -> io::Result<(TlsHalf, TlsHalf)> {
    let mut half = Half(socket.clone());
    while connection.is_handshaking() {
        connection.complete_io(&mut half)?;
    }
    let connection = Arc::new(Mutex::new(connection));
    let new = || TlsHalf {
        connection: connection.clone(),
        socket: half.clone(),
        raw: Vec::new(),
        fed: 0,
    };
    Ok((new(), new()))
}

/// One end of a TLS connection: one thread has the one that reads, one the one that writes. Nobody waits for the socket
/// with the connection locked.
pub(crate) struct TlsHalf {
    connection: Arc<Mutex<rustls::Connection>>,
    socket: Half,
    /// Bytes as they are on the wire. Of those read `fed` have been given to the connection.
    raw: Vec<u8>,
    fed: usize,
}

impl TlsHalf {
    fn lock(&self) -> MutexGuard<'_, rustls::Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for TlsHalf {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.lock().reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            if self.fed == self.raw.len() {
                self.raw.resize(1 << 16, 0);
                let count = self.socket.read(&mut self.raw);
                self.raw.truncate(*count.as_ref().unwrap_or(&0));
                self.fed = 0;
                count?;
            }
            // No more goes in than the connection takes; the rest waits until what was decrypted is out.
            let mut fresh = &self.raw[self.fed..];
            let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
            self.fed += connection.read_tls(&mut fresh)?;
            let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
            connection.process_new_packets().map_err(invalid)?;
        }
    }
}

impl Write for TlsHalf {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let mut out = std::mem::take(&mut self.raw);
        out.clear();
        let mut connection = self.lock();
        let count = connection.writer().write(buffer)?;
        while connection.wants_write() {
            connection.write_tls(&mut out)?;
        }
        // Nobody waits for the peer to read with the connection locked, or neither side might ever read again.
        drop(connection);
        self.socket.write_all(&out)?;
        self.raw = out;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
