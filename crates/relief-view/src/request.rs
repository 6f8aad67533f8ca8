//! What requests say, and which of them may ask.

use std::collections::HashMap;
use std::net::SocketAddr;

use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use lru::LruCache;

use crate::fault::Fault;

/// The longest path with its query.
pub(crate) const MAX_TARGET: usize = 2_048;

/// The viewports that are remembered, one for each client.
const MAX_CLIENTS: usize = 256;

/// The values of a query. What is not a name with a value is left out.
pub(crate) struct Query<'a>(HashMap<&'a str, &'a str>);

impl<'a> Query<'a> {
    pub(crate) fn new(text: Option<&'a str>) -> Self {
        let pairs = text.unwrap_or_default().split('&');
        Self(pairs.filter_map(|pair| pair.split_once('=')).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).copied()
    }

    /// A whole number; `default` where it is not given.
    pub(crate) fn number(&self, name: &str, default: Option<u64>) -> Result<u64, Fault> {
        match (self.get(name), default) {
            (Some(text), _) => number(text).ok_or_else(|| {
                Fault::request(format!(
                    "{name}={} is not a whole number from 0 on, in digits",
                    relief_design::visible(&text.chars().take(40).collect::<String>())
                ))
            }),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(Fault::request(format!("{name}= is missing"))),
        }
    }
}

/// A whole number in digits alone.
pub(crate) fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Who may ask.
#[derive(Debug)]
pub(crate) struct Guard {
    address: SocketAddr,
    cors: Option<HeaderValue>,
}

impl Guard {
    pub(crate) fn new(address: SocketAddr, cors: Option<&str>) -> Self {
        Self {
            address,
            cors: cors.and_then(|origin| HeaderValue::from_str(origin).ok()),
        }
    }

    /// The page of another that may read answers, where it is the one that asks.
    pub(crate) fn allowed(&self, headers: &HeaderMap) -> Option<&HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        self.cors.as_ref().filter(|cors| *cors == origin)
    }

    /// Refuses what a page of another site asks, by a name of its own that leads here or across sites.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or("");
        if hosts.next().is_some() || !self.is_own(host) {
            return Err(Fault::forbidden(format!(
                "the host {:?} is not this server's; ask for http://{}",
                relief_design::visible(&host.chars().take(80).collect::<String>()),
                self.address
            )));
        }
        if self.allowed(headers).is_some() {
            return Ok(());
        }
        let own = |origin: &str| {
            let host = origin.strip_prefix("http://");
            host.is_some_and(|host| self.is_own(host))
        };
        if let Some(origin) = headers.get(ORIGIN)
            && !origin.to_str().is_ok_and(own)
        {
            return Err(Fault::forbidden(
                "pages of others may not ask; --cors ORIGIN allows those of one origin",
            ));
        }
        let says = |name: &'static str| {
            headers
                .get(HeaderName::from_static(name))
                .map(HeaderValue::as_bytes)
        };
        let across = matches!(says("sec-fetch-site"), Some(b"cross-site" | b"same-site"));
        if across && says("sec-fetch-mode") != Some(b"navigate") {
            return Err(Fault::forbidden(
                "pages of others may not ask; --cors ORIGIN allows those of one origin",
            ));
        }
        Ok(())
    }

    /// Whether a host names this server. A name that others give addresses to does not, whatever it leads to.
    fn is_own(&self, host: &str) -> bool {
        let port = self.address.port();
        if host == format!("localhost:{port}") || (port == 80 && host == "localhost") {
            return true;
        }
        let address: Option<SocketAddr> = match host.parse() {
            Ok(address) => Some(address),
            Err(_) if port == 80 => host
                .trim_matches(['[', ']'])
                .parse()
                .ok()
                .map(|ip| SocketAddr::new(ip, 80)),
            Err(_) => None,
        };
        // Where all addresses of this machine are listened on, each of them is its own.
        address.is_some_and(|address| {
            let ip = address.ip();
            let local = self.address.ip();
            address.port() == port
                && (ip == local || local.is_unspecified() || (ip.is_loopback() && local.is_loopback()))
        })
    }
}

/// The order of viewports, of all clients together.
pub(crate) struct Viewports {
    last: LruCache<String, (u64, u64)>,
    next: u64,
}

impl Default for Viewports {
    fn default() -> Self {
        let most = std::num::NonZeroUsize::new(MAX_CLIENTS).unwrap_or(std::num::NonZeroUsize::MIN);
        Self {
            last: LruCache::new(most),
            next: 0,
        }
    }
}

impl Viewports {
    /// The stamp of a request for the viewport `client.number`, or of one for none: greater is newer.
    pub(crate) fn stamp(&mut self, viewport: Option<&str>) -> u64 {
        let parsed = viewport
            .filter(|text| text.len() <= 64)
            .and_then(|text| text.rsplit_once('.'))
            .and_then(|(client, view)| Some((client, number(view)?)));
        let Some((client, view)) = parsed else {
            self.next += 1;
            return self.next;
        };
        match self.last.get_mut(client) {
            Some((last, stamp)) if view <= *last => *stamp,
            known => {
                self.next += 1;
                let entry = (view, self.next);
                match known {
                    Some(known) => *known = entry,
                    None => {
                        self.last.put(client.to_owned(), entry);
                    }
                }
                self.next
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("a value")))
            .collect()
    }

    #[test]
    fn hosts_that_others_name_and_pages_of_others_are_refused() {
        let guard = Guard::new(
            "127.0.0.1:8080".parse().expect("an address"),
            Some("https://viewer.example"),
        );
        let own = [
            &[("host", "127.0.0.1:8080")][..],
            &[("host", "localhost:8080")],
            &[("host", "[::1]:8080")],
            &[("host", "localhost:8080"), ("origin", "http://localhost:8080")],
            &[("host", "127.0.0.1:8080"), ("origin", "https://viewer.example")],
            &[("host", "127.0.0.1:8080"), ("sec-fetch-site", "same-origin")],
            &[
                ("host", "127.0.0.1:8080"),
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate"),
            ],
        ];
        for pairs in own {
            assert!(guard.check(&headers(pairs)).is_ok(), "{pairs:?}");
        }
        let others = [
            &[][..],
            &[("host", "evil.example:8080")],
            &[("host", "127.0.0.1:8081")],
            &[("host", "127.0.0.1")],
            &[("host", "10.0.0.1:8080")],
            &[("host", "127.0.0.1:8080"), ("host", "evil.example")],
            &[("host", "127.0.0.1:8080"), ("origin", "https://evil.example")],
            &[("host", "127.0.0.1:8080"), ("origin", "null")],
            &[
                ("host", "127.0.0.1:8080"),
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "no-cors"),
            ],
        ];
        for pairs in others {
            let mut map = HeaderMap::new();
            for (name, value) in pairs {
                map.append(HeaderName::from_static(name), value.parse().expect("a value"));
            }
            assert_eq!(
                guard.check(&map).expect_err("it is refused").code,
                "forbidden",
                "{pairs:?}"
            );
        }
    }

    #[test]
    fn requests_of_one_viewport_have_one_stamp_and_newer_ones_a_greater() {
        let mut viewports = Viewports::default();
        let first = viewports.stamp(Some("a.1"));
        assert_eq!(viewports.stamp(Some("a.1")), first);
        let other = viewports.stamp(Some("b.1"));
        assert!(other > first);
        let second = viewports.stamp(Some("a.2"));
        assert!(second > other);
        // What comes late is of the newest.
        assert_eq!(viewports.stamp(Some("a.1")), second);
        assert!(viewports.stamp(None) > second);
        assert!(viewports.stamp(Some("nonsense")) > second);
    }

    #[test]
    fn numbers_are_digits_alone() {
        assert_eq!(number("12"), Some(12));
        for wrong in ["", "+1", "-1", "1.0", "0x1", "99999999999999999999", "１"] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }
}
