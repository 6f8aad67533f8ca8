//! Where a machine is.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::Error;

/// Where a machine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// HOST:PORT.
    Tcp(String),
    /// HOST:PORT, inside TLS.
    Tls(String),
    /// A Unix socket.
    Unix(PathBuf),
    /// A file, for controllers that read one.
    File(PathBuf),
}

impl Address {
    /// The path of a file.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::File(path) | Self::Unix(path) => path.clone(),
            Self::Tcp(host) | Self::Tls(host) => PathBuf::from(host),
        }
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Address {
            address: text.to_owned(),
        };
        let (scheme, rest) = text.split_once(':').ok_or_else(wrong)?;
        let host = || {
            let host = rest.strip_prefix("//").ok_or_else(wrong)?.trim_end_matches('/');
            let (name, port) = host.rsplit_once(':').ok_or_else(wrong)?;
            let port: u16 = port.parse().map_err(|_| wrong())?;
            // Without a host, this machine and nobody else.
            let name = if name.is_empty() { "127.0.0.1" } else { name };
            Ok::<_, Error>(format!("{name}:{port}"))
        };
        let path = || match rest.strip_prefix("//").unwrap_or(rest) {
            "" => Err(wrong()),
            path => Ok(PathBuf::from(path)),
        };
        match scheme {
            "tcp" => Ok(Self::Tcp(host()?)),
            "tls" => Ok(Self::Tls(host()?)),
            "unix" => Ok(Self::Unix(path()?)),
            "file" => Ok(Self::File(path()?)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host) => write!(f, "tcp://{host}"),
            Self::Tls(host) => write!(f, "tls://{host}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_back_as_they_are_shown() {
        for text in [
            "tcp://127.0.0.1:7117",
            "tls://machine.local:1",
            "unix:/run/laser",
            "file:/tmp/job.rlf",
            "tcp://[::1]:9",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!(
            "tcp://:7117".parse::<Address>().unwrap(),
            Address::Tcp("127.0.0.1:7117".to_owned())
        );
        for wrong in [
            "",
            "tcp",
            "tcp:1",
            "tcp://host",
            "tcp://host:70000",
            "http://host:1",
            "unix:",
            "file://",
        ] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }
}
