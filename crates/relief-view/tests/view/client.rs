//! A client of HTTP that shares no code with the server.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let body = String::from_utf8_lossy(&self.body);
        let start: String = body.chars().take(200).collect();
        write!(
            f,
            "{} {:?} {} bytes: {start:?}",
            self.status,
            self.headers,
            self.body.len()
        )
    }
}

impl Reply {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of a refusal.
    pub(crate) fn refusal(&self) -> (u16, String) {
        let code = self.json()["error"]["code"].as_str().unwrap().to_owned();
        assert!(!self.json()["error"]["text"].as_str().unwrap().is_empty());
        (self.status, code)
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Samples of either depth.
    pub(crate) fn samples(&self) -> Vec<u16> {
        assert_eq!(self.status, 200, "{self:?}");
        if self.header("relief-samples").ends_with("x8") {
            return self.body.iter().copied().map(u16::from).collect();
        }
        let pairs = self.body.chunks_exact(2);
        pairs.map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    // A server that says nothing fails the test instead of keeping it.
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    stream
}

/// Reads the head of an answer.
pub(crate) fn head(reader: &mut impl BufRead) -> Option<(u16, HashMap<String, String>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    Some((status, headers))
}

/// Sends these bytes and reads the answer, if there is one.
pub(crate) fn send(address: SocketAddr, bytes: &[u8]) -> Option<Reply> {
    let mut stream = connect(address);
    // A server may refuse before it has read everything.
    let _ = stream.write_all(bytes);
    let mut reader = BufReader::new(stream);
    let (status, headers) = head(&mut reader)?;
    let length = headers.get("content-length").and_then(|text| text.parse().ok());
    let mut body = Vec::new();
    let chunked = headers
        .get("transfer-encoding")
        .is_some_and(|how| how == "chunked");
    match length {
        _ if bytes.starts_with(b"HEAD") => {}
        Some(length) => {
            body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
        }
        None if chunked => loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let size = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            body.extend(&chunk[..size]);
            if size == 0 {
                break;
            }
        },
        None => {
            let _ = reader.read_to_end(&mut body);
        }
    }
    Some(Reply {
        status,
        headers,
        body,
    })
}

pub(crate) fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        text += &format!("host: {address}\r\n");
    }
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    if !body.is_empty() {
        text += &format!(
            "content-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        );
    }
    text += "\r\n";
    text += body;
    send(address, text.as_bytes()).expect("an answer")
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Reply {
    request(address, "GET", path, &[], "")
}
