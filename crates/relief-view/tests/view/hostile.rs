//! Requests that nobody should send.

use relief_view::ServerOptions;

use crate::client::{get, request, send};
use crate::served::Served;

const TEXT: &str = "relief version=1\ncanvas width=600 height=500\nnoise seed=1";

#[test]
fn hosts_and_pages_of_others_get_nothing() {
    let served = Served::texts(&[TEXT], ServerOptions::default().cors("https://viewer.example"));
    let key = served.key(0);
    let path = format!("/tile/{key}/root/mean/0/0/0");
    let port = served.address.port();
    let own = format!("localhost:{port}");
    for headers in [
        &[("host", "evil.example")][..],
        &[("host", "127.0.0.1")],
        &[("host", "")],
        &[("host", &own), ("origin", "https://evil.example")],
        &[("host", &own), ("origin", "null")],
        &[
            ("host", &own),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "no-cors"),
        ],
    ] {
        for path in [&path[..], "/", "/api/state", "/api/events", "/zarr/zarr.json"] {
            let reply = request(served.address, "GET", path, headers, "");
            assert_eq!(reply.refusal(), (403, "forbidden".to_owned()), "{headers:?}");
            assert_eq!(reply.header("access-control-allow-origin"), "");
        }
    }
    let reply = request(
        served.address,
        "GET",
        &path,
        &[("host", &own), ("origin", "https://viewer.example")],
        "",
    );
    assert_eq!(
        (reply.status, reply.header("access-control-allow-origin")),
        (200, "https://viewer.example")
    );
    let asked = request(
        served.address,
        "OPTIONS",
        &path,
        &[
            ("origin", "https://viewer.example"),
            ("access-control-request-method", "GET"),
        ],
        "",
    );
    assert_eq!(
        (asked.status, asked.header("access-control-allow-methods")),
        (204, "GET, HEAD")
    );
    let reply = request(served.address, "GET", &path, &[], "");
    assert_eq!(
        (reply.status, reply.header("access-control-allow-origin")),
        (200, "")
    );
}

#[test]
fn requests_that_make_no_sense_are_refused_and_the_server_goes_on() {
    let served = Served::texts(&[TEXT], ServerOptions::default());
    let key = served.key(0);
    let host = served.address;
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"] {
        assert_eq!(
            request(host, method, "/", &[], "").refusal(),
            (405, "method".to_owned())
        );
    }
    let long = "9".repeat(3_000);
    for (path, refusal) in [
        ("/nothing".to_owned(), (404, "not-found")),
        ("/../Cargo.toml".to_owned(), (404, "not-found")),
        ("/%2e%2e/Cargo.toml".to_owned(), (404, "not-found")),
        ("/style.css/".to_owned(), (404, "not-found")),
        (format!("/{long}"), (414, "too-long")),
        (
            format!("/tile/{key}/root/mean/0/0/0?effort={}", &long[..400]),
            (400, "request"),
        ),
        (format!("/tile/{key}/root/mean/0/0/0?effort=-1"), (400, "request")),
        (format!("/tile/{key}/root/mode/0/0/0"), (400, "request")),
        (format!("/tile/{key}/root/mean/x/0/0"), (400, "request")),
        (format!("/tile/{key}/root/mean/0/-1/0"), (400, "request")),
        (
            format!("/tile/{key}/root/mean/0/18446744073709551615/18446744073709551615"),
            (404, "not-found"),
        ),
        (format!("/tile/{key}/root/mean/99/0/0"), (404, "not-found")),
        (format!("/tile/{key}/root/mean/3/0/0"), (404, "not-found")),
        (format!("/tile/{key}/root/mean/0/3/0"), (404, "not-found")),
        (format!("/tile/{key}/99/mean/0/0/0"), (404, "not-found")),
        (format!("/tile/{key}/root/mean/0/0"), (404, "not-found")),
        (
            format!("/tile/{}/root/mean/0/0/0", "0".repeat(32)),
            (410, "stale"),
        ),
        ("/zarr/c/0/0".to_owned(), (404, "not-found")),
        ("/zarr/0/c/9/9".to_owned(), (404, "not-found")),
        ("/zarr/window/0,0,0x0/zarr.json".to_owned(), (404, "not-found")),
        ("/zarr/window/0,0,601x1/zarr.json".to_owned(), (404, "not-found")),
        ("/zarr/.zgroup".to_owned(), (404, "not-found")),
        ("/dzi/image_files/10/0_9.png".to_owned(), (404, "not-found")),
        ("/dzi/image_files/99/0_0.png".to_owned(), (404, "not-found")),
        ("/dzi/image_files/0/0-0.png".to_owned(), (404, "not-found")),
    ] {
        let reply = get(host, &path);
        assert_eq!(reply.refusal(), (refusal.0, refusal.1.to_owned()), "{path}");
        assert_eq!(reply.header("cache-control"), "no-store");
    }
    let many: String = (0..200).map(|number| format!("x-{number}: a\r\n")).collect();
    for bytes in [
        &b"\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
        b"GET /\0 HTTP/1.1\r\n\r\n",
        format!("GET / HTTP/1.1\r\nhost: {host}\r\n{many}\r\n").as_bytes(),
        format!(
            "GET / HTTP/1.1\r\nhost: {host}\r\nx: {}\r\n\r\n",
            "a".repeat(40_000)
        )
        .as_bytes(),
    ] {
        let reply = send(host, bytes);
        let status = reply.map(|reply| reply.status);
        assert!(
            status.is_none_or(|status| (400..500).contains(&status)),
            "{status:?}"
        );
    }
    // Requests that are never finished, and answers that are never read.
    let idle: Vec<_> = (0..40)
        .map(|number| {
            let mut stream = crate::client::connect(host);
            let text = if number % 2 == 0 {
                "GET / HTTP/1.1\r\nho".to_owned()
            } else {
                format!("GET /tile/{key}/root/mean/0/0/0 HTTP/1.1\r\nhost: {host}\r\n\r\n")
            };
            std::io::Write::write_all(&mut stream, text.as_bytes()).unwrap();
            stream
        })
        .collect();
    assert_eq!(
        get(host, &format!("/tile/{key}/root/mean/0/1/1")).samples().len(),
        244 * 256
    );
    drop(idle);
}
