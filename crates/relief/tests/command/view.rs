//! `relief view`: its address comes first, it answers, it shows how far a job is, and Ctrl-C ends it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::process::{relief, run, written};

/// A viewer and where it listens.
struct Viewer {
    child: Child,
    address: String,
}

impl Viewer {
    fn start(arguments: &[&str]) -> Self {
        Self::started(&mut relief(&[&["view"], arguments].concat()))
    }

    /// With the programs of one folder alone.
    #[cfg(target_os = "linux")]
    fn start_in(arguments: &[&str], programs: &std::path::Path) -> Self {
        Self::started(relief(&[&["view"], arguments].concat()).env("PATH", programs))
    }

    fn started(command: &mut std::process::Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .strip_prefix("http://127.0.0.1:")
            .unwrap_or_else(|| panic!("{line}"));
        Self {
            address: format!("127.0.0.1:{}", address.trim_end_matches("/\n")),
            child,
        }
    }

    /// The body of an answer.
    fn get(&self, path: &str) -> Vec<u8> {
        let answer = self.whole(path);
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        answer[end + 4..].to_vec()
    }

    /// An answer with its head.
    fn whole(&self, path: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
            self.address
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&self.get(path)).unwrap()
    }

    /// Events, until there is one that is right.
    fn event(&self, name: &str, right: impl Fn(&Value) -> bool) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        write!(
            stream,
            "GET /api/events HTTP/1.1\r\nhost: {}\r\n\r\n",
            self.address
        )
        .unwrap();
        let mut lines = BufReader::new(stream).lines();
        let mut of = String::new();
        loop {
            let line = lines.next().unwrap().unwrap();
            if let Some(event) = line.strip_prefix("event: ") {
                of = event.to_owned();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let value: Value = serde_json::from_str(data).unwrap();
                if of == name && right(&value) {
                    return value;
                }
            }
        }
    }

    fn interrupt(mut self) {
        kill(
            Pid::from_raw(i32::try_from(self.child.id()).unwrap()),
            Signal::SIGINT,
        )
        .unwrap();
        let mut told = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut told)
            .unwrap();
        assert_eq!((self.child.wait().unwrap().code(), told.as_str()), (Some(0), ""));
    }
}

#[test]
fn the_address_comes_first_samples_are_those_of_render_and_ctrl_c_ends_it() {
    let viewer = Viewer::start(&["logo/design.kdl"]);
    viewer.event("state", |state| state["designs"][0]["ready"] == true);
    let rendered = run(&[
        "render",
        "logo/design.kdl",
        "--region",
        "700,500,64x32",
        "-f",
        "raw",
        "-o",
        "-",
        "-q",
    ])
    .done();
    assert_eq!(viewer.get("/raw?x=700&y=500&w=64&h=32"), rendered);
    // A client that only listens does not hold it.
    let listening = TcpStream::connect(&viewer.address).unwrap();
    write!(
        &listening,
        "GET /api/events HTTP/1.1\r\nhost: {}\r\n\r\n",
        viewer.address
    )
    .unwrap();
    (&listening).read_exact(&mut [0]).unwrap();
    viewer.interrupt();
}

#[test]
fn parameters_have_the_values_given_and_warnings_are_told_to_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        &folder,
        "relief version=1\nparameter \"gray\" 7\ncanvas width=4 height=3 depth=8\nfill value=$gray",
    );
    let viewer = Viewer::start(&[&design, "--set", "gray=99"]);
    let state = viewer.event("state", |state| state["designs"][0]["ready"] == true);
    assert_eq!(state["designs"][0]["scene"]["warnings"][0]["code"], "W101");
    assert_eq!(viewer.get("/raw?x=0&y=0&w=2&h=1"), [99, 99]);
    viewer.interrupt();
}

#[test]
fn executed_lines_of_a_job_lie_where_they_were_executed() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        &folder,
        "relief version=1\ncanvas width=50 height=40\nnoise seed=7",
    );
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let output = format!("file:{}", at("out.raw"));
    let streamed = run(&[
        "stream",
        &design,
        &output,
        "--region",
        "10,5,30x20",
        "--manifest",
        &at("job.json"),
        "--raw",
        "--quiet",
    ]);
    assert_eq!(streamed.code, Some(0), "{streamed:?}");
    let viewer = Viewer::start(&[&design, "--job", &at("job.json")]);
    let job = viewer.event("job", |job| job["executed"] == 20);
    assert_eq!(
        (&job["complete"], &job["lines"]),
        (&Value::Bool(true), &Value::from(20))
    );
    let area = &job["areas"][0];
    let place = ["x", "y", "width", "height"].map(|name| area[name].as_u64().unwrap());
    assert_eq!((place, area["share"].as_f64()), ([10, 5, 30, 20], Some(1.0)));
    assert_eq!(viewer.json("/api/job"), job);
    std::fs::write(at("job.json"), "{").unwrap();
    viewer.event("job", |job| !job["trouble"].is_null());
    viewer.interrupt();
}

/// The opener of a desktop is a program of the system: here a script that tells where it was sent.
#[cfg(target_os = "linux")]
#[test]
fn the_page_is_opened_by_the_system_where_that_is_asked_for() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, "relief version=1\ncanvas width=4 height=3\nfill value=7");
    let (told, opener) = (folder.path().join("told"), folder.path().join("xdg-open"));
    nix::unistd::mkfifo(&told, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let script = format!("#!/bin/sh\nprintf '%s' \"$1\" > '{}'\n", told.display());
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let viewer = Viewer::start_in(&[&design, "--open"], folder.path());
    // A FIFO that is read waits for who writes it.
    let opened = std::fs::read_to_string(&told).unwrap();
    assert_eq!(opened, format!("http://{}/", viewer.address));
    viewer.interrupt();
    // Where there is no opener the page is served all the same, and the address is told.
    std::fs::remove_file(&opener).unwrap();
    let mut viewer = Viewer::start_in(&[&design, "--open"], folder.path());
    let mut line = String::new();
    BufReader::new(viewer.child.stderr.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(
        line.starts_with("relief: cannot open a browser: ")
            && line
                .trim_end()
                .ends_with(&format!("; open http://{}/", viewer.address)),
        "{line}"
    );
    viewer.interrupt();
}

#[test]
fn what_cannot_be_shown_is_refused_at_once() {
    run(&["view", "-"]).failed(2, "view shows files");
    run(&["view", "none.kdl"]).failed(1, "cannot read none.kdl");
    run(&["view", "logo/design.kdl", "--cors", "*"]).failed(2, "not an origin");
    run(&["view", "logo/design.kdl", "--memory", "1MiB"]).failed(2, "16 MiB at least");
    run(&["view", "logo/design.kdl", "--job", "none.json"]).failed(1, "none.json");
}

#[test]
fn coarse_levels_come_from_the_overview_that_rendering_left() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        &folder,
        "relief version=1\ncanvas width=65536 height=1024 bits=8\nnoise seed=5",
    );
    let raster = folder.path().join("noise.raw");
    let raster = raster.to_str().unwrap();
    run(&["render", &design, "-o", raster, "--overview", "-q"]).done();
    let exactness = |viewer: &Viewer| {
        viewer.event("state", |state| state["designs"][0]["ready"] == true);
        let answer = viewer.whole("/tile/0/root/mean/8/0/0?effort=0");
        let text = String::from_utf8_lossy(&answer).into_owned();
        let said = text
            .lines()
            .find_map(|line| line.strip_prefix("relief-exactness: "));
        said.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    // Elsewhere, so that it is found by its name alone.
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("of.overview");
    std::fs::rename(format!("{raster}.overview"), &moved).unwrap();
    let viewer = Viewer::start(&[&design]);
    assert!(exactness(&viewer).starts_with("within"));
    viewer.interrupt();
    let viewer = Viewer::start(&[&design, "--overview", moved.to_str().unwrap()]);
    assert_eq!(exactness(&viewer), "exact");
    // They are the means of the blocks.
    let samples = std::fs::read(raster).unwrap();
    let block = |x: usize, y: usize| {
        let sum: u64 = (0..256)
            .flat_map(|row| samples[(256 * y + row) * 65_536 + 256 * x..][..256].iter())
            .map(|sample| u64::from(*sample))
            .sum();
        u8::try_from((2 * sum + 65_536) / (2 * 65_536)).unwrap()
    };
    let expected: Vec<u8> = (0..4)
        .flat_map(|y| (0..256).map(move |x| (x, y)))
        .map(|(x, y)| block(x, y))
        .collect();
    assert_eq!(viewer.get("/tile/0/root/mean/8/0/0?effort=0"), expected);
    viewer.interrupt();
}
