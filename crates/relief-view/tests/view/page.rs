//! The page in a browser: headless Chromium, driven through chromedriver.
//!
//! Without chromedriver and Chromium (Debian's `chromium-driver`) these tests say that they were skipped, unless
//! `RELIEF_REQUIRE_BROWSER=1` asks for them. `RELIEF_BLESS=1` writes the pictures of `docs/viewer.md`.

#![expect(clippy::print_stderr, reason = "a test says that it was skipped")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use relief_engine::Rect;
use relief_view::ServerOptions;
use serde_json::{Value, json};

use crate::client::request;
use crate::served::{Served, WRONG, read};

/// A browser with one window of 1200 × 760 pixels.
pub(crate) struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
}

/// Columns and rows of the window.
pub(crate) const WINDOW: (usize, usize) = (1_200, 760);

impl Browser {
    pub(crate) fn start(dark: bool) -> Option<Self> {
        let program = std::env::var_os("RELIEF_CHROMEDRIVER").unwrap_or_else(|| "chromedriver".into());
        let started = Command::new(&program)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut driver = match started {
            Ok(driver) => driver,
            Err(error) => {
                let required = std::env::var_os("RELIEF_REQUIRE_BROWSER").is_some_and(|value| value == "1");
                assert!(!required, "{}: {error}", program.display());
                eprintln!("skipped: {}: {error}", program.display());
                return None;
            }
        };
        let mut out = BufReader::new(driver.stdout.take().unwrap());
        let port = loop {
            let mut line = String::new();
            assert!(out.read_line(&mut line).unwrap() > 0, "chromedriver ended");
            if let Some((_, port)) = line.split_once("started successfully on port ") {
                break port.trim().trim_end_matches('.').parse::<u16>().unwrap();
            }
        };
        // What it says further is taken, so that it never waits for a reader.
        std::thread::spawn(move || out.read_to_end(&mut Vec::new()));
        let mut browser = Self {
            driver,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            session: String::new(),
        };
        let mut arguments = vec![
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--use-angle=swiftshader".to_owned(),
            "--enable-unsafe-swiftshader".to_owned(),
            "--hide-scrollbars".to_owned(),
            "--force-device-scale-factor=1".to_owned(),
        ];
        if dark {
            arguments.push("--force-dark-mode".to_owned());
        }
        let made = browser.call(
            "POST",
            "/session",
            &json!({"capabilities": {"alwaysMatch": {
                "browserName": "chrome",
                "goog:chromeOptions": {"args": arguments},
                "goog:loggingPrefs": {"browser": "ALL"},
                // Less than the client waits for an answer, so that what was waited for is told.
                "timeouts": {"script": 100_000},
            }}}),
        );
        browser.session = made["sessionId"].as_str().unwrap().to_owned();
        // The window's frame is not the page's: it grows until the page has the size.
        let inner = browser.run("return [outerWidth - innerWidth, outerHeight - innerHeight]");
        let frame = |axis: usize| inner[axis].as_u64().unwrap();
        browser.command(
            "POST",
            "window/rect",
            &json!({"width": WINDOW.0 as u64 + frame(0), "height": WINDOW.1 as u64 + frame(1)}),
        );
        Some(browser)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "POST" {
            body.to_string()
        } else {
            String::new()
        };
        let reply = request(self.address, method, path, &[], &body);
        let value = reply.json()["value"].clone();
        assert_eq!(reply.status, 200, "{method} {path} {body}: {value}");
        value
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.call(method, &format!("/session/{}/{path}", self.session), body)
    }

    pub(crate) fn open(&self, url: &str) {
        self.command("POST", "url", &json!({"url": "about:blank"}));
        self.command("POST", "url", &json!({"url": url}));
    }

    pub(crate) fn run(&self, script: &str) -> Value {
        self.command("POST", "execute/sync", &json!({"script": script, "args": []}))
    }

    /// Waits until an expression of the page is true, in the page itself.
    pub(crate) fn wait(&self, condition: &str) {
        let script = format!(
            "const done = arguments[0]; (function look() {{ if ({condition}) done(); else setTimeout(look, 20); }})();"
        );
        self.command("POST", "execute/async", &json!({"script": script, "args": []}));
    }

    /// Waits until all that is seen is exact and drawn.
    pub(crate) fn exact(&self) {
        self.wait("document.getElementById('picture').dataset.exact === 'true'");
        self.frames();
    }

    /// What was drawn is on the screen two frames later.
    pub(crate) fn frames(&self) {
        self.command("POST", "execute/async", &json!({
            "script": "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));", "args": [],
        }));
    }

    pub(crate) fn text(&self, id: &str) -> String {
        let text = self.run(&format!("return document.getElementById('{id}').textContent"));
        text.as_str().unwrap().replace('\u{202f}', "")
    }

    pub(crate) fn keys(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                [
                    json!({"type": "keyDown", "value": key.to_string()}),
                    json!({"type": "keyUp", "value": key.to_string()}),
                ]
            })
            .collect();
        self.command(
            "POST",
            "actions",
            &json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}),
        );
    }

    /// Moves the mouse to these places, and presses at each where asked for.
    pub(crate) fn mouse(&self, places: &[(i32, i32)], click: bool) {
        let mut actions = Vec::new();
        for (x, y) in places {
            actions.push(json!({"type": "pointerMove", "duration": 0, "x": x, "y": y}));
            if click {
                actions.push(json!({"type": "pointerDown", "button": 0}));
                actions.push(json!({"type": "pointerUp", "button": 0}));
            }
        }
        self.command("POST", "actions", &json!({"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions},
        ]}));
    }

    /// Sources of input that act at the same time.
    pub(crate) fn perform(&self, sources: &[Value]) {
        self.command("POST", "actions", &json!({"actions": sources}));
    }

    fn drag(&self, from: (i32, i32), to: (i32, i32)) {
        let step = |x: i32, y: i32| json!({"type": "pointerMove", "duration": 0, "x": x, "y": y});
        self.command(
            "POST",
            "actions",
            &json!({"actions": [
                {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
                    step(from.0, from.1), {"type": "pointerDown", "button": 0},
                    step(i32::midpoint(from.0, to.0), i32::midpoint(from.1, to.1)), step(to.0, to.1),
                    {"type": "pointerUp", "button": 0},
                ]},
            ]}),
        );
    }

    /// What the window shows: columns, rows, red, green and blue.
    pub(crate) fn picture(&self) -> Picture {
        Picture::decode(unbase64(
            self.command("GET", "screenshot", &Value::Null).as_str().unwrap(),
        ))
    }

    /// Nothing went wrong that the browser noticed.
    pub(crate) fn is_quiet(&self) {
        let log = self.command("POST", "se/log", &json!({"type": "browser"}));
        let told: Vec<&Value> = (log.as_array().unwrap().iter())
            // A driver of this browser says that reading pixels back is slow.
            .filter(|entry| {
                !entry["message"]
                    .as_str()
                    .unwrap()
                    .contains("GPU stall due to ReadPixels")
            })
            .collect();
        assert!(told.is_empty(), "{told:?}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.call("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

pub(crate) struct Picture {
    pixels: Vec<[u8; 3]>,
    file: Vec<u8>,
}

impl Picture {
    fn decode(file: Vec<u8>) -> Self {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(&file));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        let channels = info.color_type.samples();
        let pixels = bytes
            .chunks_exact(channels)
            .map(|pixel| [pixel[0], pixel[1], pixel[2]])
            .collect();
        assert_eq!((info.width as usize, info.height as usize), WINDOW);
        Self { pixels, file }
    }

    pub(crate) fn at(&self, x: usize, y: usize) -> [u8; 3] {
        self.pixels[y * WINDOW.0 + x]
    }

    /// How many colours there are within the picture, away from panels.
    fn colours(&self) -> usize {
        let inside = (200..700).flat_map(|y| (300..800).map(move |x| self.at(x, y)));
        inside.collect::<std::collections::HashSet<_>>().len()
    }

    /// Keeps it as a picture of the documentation, where asked for.
    fn bless(&self, name: &str) -> bool {
        let asked = std::env::var_os("RELIEF_BLESS").is_some_and(|value| value == "1");
        if asked {
            fs::write(docs().join(name), &self.file).unwrap();
        }
        asked
    }

    /// The picture of the documentation shows what this one shows, away from panels and their fonts; `bless` makes it so.
    fn is_documented(&self, name: &str) {
        if self.bless(name) {
            return;
        }
        let path = docs().join(name);
        let kept = Self::decode(fs::read(path).unwrap());
        let inside = || (150..720).flat_map(|y| (30..860).map(move |x| (x, y)));
        let off = |(x, y): (usize, usize)| {
            let (now, then) = (self.at(x, y), kept.at(x, y));
            (0..3)
                .map(|part| now[part].abs_diff(then[part]))
                .max()
                .unwrap_or(0)
        };
        let all = inside().count();
        let different = inside().filter(|place| off(*place) > 8).count();
        // Edges of lines are smoothed otherwise by other releases of the browser.
        assert!(
            different * 200 < all,
            "{name}: {different} of {all} pixels are others"
        );
    }
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images")
}

fn unbase64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("{byte} is not a digit"),
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group.iter().fold(0, |bits, digit| bits << 6 | value(*digit)) << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

/// The pixels of the raster are those on the screen: four columns and rows each, about the place in the window's middle.
fn shows(picture: &Picture, samples: &[u16], max: u16) {
    // The middle of pixel (i, j) of 40 × 40 about the middle, below the bar and beside panels.
    for (at, sample) in samples.iter().enumerate() {
        let (i, j) = (at % 40, at / 40);
        let (x, y) = (WINDOW.0 / 2 - 80 + 4 * i + 2, WINDOW.1 / 2 - 80 + 4 * j + 2);
        let gray = (f64::from(*sample) * 255.0 / f64::from(max)).round() as i32;
        let [red, green, blue] = picture.at(x, y).map(i32::from);
        assert!(
            red == green && green == blue && (red - gray).abs() <= 1,
            "{red},{green},{blue} for {gray} at {i},{j}"
        );
    }
}

#[test]
fn the_picture_is_the_raster_however_it_is_drawn_and_the_address_brings_it_back() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let served = Served::example("logo", ServerOptions::default());
    served.key(0);
    let samples = read(&served.renderer(0), Rect::new(480, 580, 40, 40).unwrap());
    // By WebGL2, and without it.
    for query in ["", "?flat"] {
        let url = format!("http://{}/{query}#x=500&y=600&z=4&mode=gray", served.address);
        browser.open(&url);
        browser.exact();
        shows(&browser.picture(), &samples, 255);
        let solid = browser.run("return document.querySelector('[data-mode=solid]').disabled");
        assert_eq!(solid, json!(query == "?flat"));
        browser.is_quiet();
    }
    // Far out: the last pixels of a raster of 2^40 × 2^40.
    let text = "relief version=1\ncanvas width=1099511627776 height=1099511627776 bits=16\nnoise seed=3";
    let served = Served::texts(&[text], ServerOptions::default());
    served.key(0);
    let side = 1_i64 << 40;
    let samples = read(
        &served.renderer(0),
        Rect::new(side - 140, side - 140, 40, 40).unwrap(),
    );
    browser.open(&format!(
        "http://{}/#x={}&y={}&z=4&mode=gray",
        served.address,
        side - 120,
        side - 120
    ));
    browser.exact();
    shows(&browser.picture(), &samples, 65_535);
    assert_eq!(browser.text("zoom"), "4 : 1");
    browser.is_quiet();
}

#[test]
fn hands_move_zoom_probe_and_measure() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let served = Served::example("logo", ServerOptions::default());
    served.key(0);
    browser.open(&format!("http://{}/#x=500&y=600&z=4&mode=gray", served.address));
    browser.exact();
    // The pixel under the pointer, its place in millimetres and its sample.
    let sample = read(&served.renderer(0), Rect::new(510, 605, 1, 1).unwrap())[0];
    browser.mouse(&[(642, 402)], false);
    browser.wait("document.getElementById('place').textContent.startsWith('510')");
    assert_eq!(browser.text("place"), "510, 605 px · 5.1 mm, 6.05 mm");
    assert_eq!(browser.text("value"), format!("sample {sample}"));
    // A distance: 40 pixels across and 30 down are 50, half a millimetre.
    browser.run("document.getElementById('ruler').click()");
    browser.mouse(&[(600, 300), (760, 420)], true);
    browser.wait("document.getElementById('measure').textContent.includes('px')");
    let told = browser.text("measure");
    assert!(told.starts_with("ruler 500 µm · 50 px (40, 30)"), "{told}");
    browser.keys("\u{E00C}");
    browser.wait("document.getElementById('measure').textContent === ''");
    // A drag moves the raster with the hand, keys zoom about the middle, and the address follows.
    browser.drag((500, 400), (600, 360));
    browser.keys("++");
    browser.wait("location.hash.includes('z=8') && location.hash.includes('x=475')");
    let address = browser.run("return location.hash");
    assert!(address.as_str().unwrap().contains("y=610"), "{address}");
    browser.keys("0");
    browser.wait("!location.hash.includes('z=8')");
    browser.keys("1");
    browser.wait("document.getElementById('zoom').textContent === '1 : 1'");
    // The cross in the middle is what keys point at; a reader of screens is told.
    browser.run("document.getElementById('picture').focus()");
    browser.keys("\u{E014}p");
    browser.wait("document.getElementById('spoken').textContent.includes('px')");
    for (key, mode) in [
        ("c", "colour"),
        ("t", "threshold"),
        ("s", "relief"),
        ("3", "solid"),
        ("g", "gray"),
    ] {
        browser.keys(key);
        browser.wait(&format!(
            "document.querySelector('[data-mode={mode}]').getAttribute('aria-checked') === 'true'"
        ));
    }
    // The nodes that a sample is made of, and which one decides.
    browser.mouse(&[(642, 402)], false);
    browser.keys("w");
    browser.wait("document.querySelectorAll('#why [aria-current]').length === 1");
    let story = browser.text("why");
    assert!(story.contains("decides") && story.starts_with("Why "), "{story}");
    browser.keys("\u{E00C}");
    browser.wait("document.getElementById('why').hidden");
    browser.keys("?");
    browser.wait("document.getElementById('help').open");
    browser.keys("\u{E00C}");
    browser.wait("!document.getElementById('help').open");
    browser.is_quiet();
}

#[test]
fn a_node_is_chosen_and_an_edit_shows_over_the_last_picture() {
    let Some(browser) = Browser::start(true) else {
        return;
    };
    let text = "relief version=1\ncanvas width=\"6mm\" height=\"5mm\" pixel=\"10um\"\ncompose {\n    \
        (base)fill value=50\n    (max)repeat step-x=90 step-y=70 { (pattern)disc diameter=60 value=200 }\n}";
    let served = Served::texts(&[text], ServerOptions::default());
    served.key(0);
    browser.open(&format!("http://{}/", served.address));
    browser.exact();
    let nodes =
        browser.run("return [...document.querySelectorAll('[data-node]')].map((node) => node.textContent)");
    assert_eq!(
        nodes,
        json!([
            "compose line 3",
            "base fill line 4",
            "max repeat line 5",
            "pattern disc line 5"
        ])
    );
    browser.run("[...document.querySelectorAll('[data-node]')].at(-1).click()");
    browser.wait("document.getElementById('name').textContent.includes('60 × 60 px')");
    browser.exact();
    let middle = browser.picture();
    assert_eq!(middle.at(450, 390), [200; 3]);
    browser.run("document.querySelector('[data-node]').click()");
    browser.wait("document.getElementById('name').textContent.includes('600 × 500 px')");
    browser.exact();
    let before = browser.run("return document.getElementById('picture').dataset.drawn");
    assert!(before.as_str().unwrap().parse::<u32>().unwrap() > 1);

    fs::write(&served.paths[0], text.replace("diameter=60", "diametre=60")).unwrap();
    browser.wait("!document.getElementById('problems').hidden");
    let problems = browser.text("problems");
    for word in [
        "design-0.kdl",
        "diametre",
        "5 │",
        "The picture is the last that was right.",
    ] {
        assert!(problems.contains(word), "{word} is not in {problems}");
    }
    assert_eq!(
        browser.run("return document.body.classList.contains('stale')"),
        json!(true)
    );
    browser.picture().bless("viewer-problem.png");
    fs::write(&served.paths[0], text.replace("value=200", "value=255")).unwrap();
    browser.wait("document.getElementById('problems').hidden && !document.body.classList.contains('stale')");
    browser.exact();
    let of_disc = browser.run("return document.title");
    assert!(
        of_disc.as_str().unwrap().ends_with("design-0.kdl – Relief"),
        "{of_disc}"
    );
    fs::write(&served.paths[0], WRONG).unwrap();
    browser.wait("!document.getElementById('problems').hidden");
    browser.is_quiet();
}

/// Every word that is seen with a contrast of less than 4.5 to 1, or 3 to 1 where it is large, against what lies under it, and every control without a name:
/// contrast as the Web Content Accessibility Guidelines 2.2 define it. What lies under a panel that lets light through may be black or white.
const UNREADABLE: &str = r"
    const parts = (color) => { const found = color.match(/[\d.]+/g).map(Number); return found.length > 3 ? found : [...found, 1]; };
    const over = (top, under) => [0, 1, 2].map((part) => top[3] * top[part] + (1 - top[3]) * under[part]);
    const linear = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const luminance = ([red, green, blue]) => 0.2126 * linear(red / 255) + 0.7152 * linear(green / 255) + 0.0722 * linear(blue / 255);
    const ratio = (one, other) => {
        const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const found = [];
    let looked = 0;
    for (const element of document.querySelectorAll('body *')) {
        const own = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent.trim()).join(' ').trim();
        const box = element.getBoundingClientRect();
        const seen = element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && box.width > 1 && box.height > 1;
        if (!seen || element.closest(':disabled')) continue;
        if (element.matches('button, select, input, a')) {
            const name = element.getAttribute('aria-label') || element.textContent.trim() || [...(element.labels || [])].map((label) => label.textContent.trim()).join('')
                || document.getElementById(element.getAttribute('aria-labelledby'))?.textContent;
            if (!name) found.push(`a control without a name: ${element.outerHTML.slice(0, 120)}`);
        }
        if (!own || element.tagName === 'OPTION') continue;
        looked += 1;
        const style = getComputedStyle(element);
        const grounds = [];
        for (let at = element; at; at = at.parentElement) grounds.push(parts(getComputedStyle(at).backgroundColor));
        const size = parseFloat(style.fontSize);
        const wanted = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
        for (const under of [[0, 0, 0], [255, 255, 255]]) {
            // The page's own ground lies under the picture, which may be anything.
            const ground = grounds.slice(0, -2).reduceRight((below, top) => over(top, below), under);
            const got = ratio(over(parts(style.color), ground), ground);
            if (got < wanted) found.push(`${got.toFixed(2)} of ${wanted}: ${element.tagName} ${element.id} ${element.className}: ${own.slice(0, 60)}`);
        }
    }
    return [looked, [...new Set(found)]];
";

#[test]
fn words_stand_out_and_controls_have_names_in_light_and_dark() {
    let text = "relief version=1\ncanvas width=\"6mm\" height=\"5mm\" pixel=\"10um\"\ncompose {\n    \
        (base)fill value=50\n    (max)repeat step-x=90 step-y=70 { (pattern)disc diameter=60 value=200 }\n}";
    let even = "relief version=1\ncanvas width=100 height=100\ncompose { (base)fill value=3; (max)disc diameter=4 value=9 x=500 y=500 }";
    for dark in [false, true] {
        let Some(browser) = Browser::start(dark) else {
            return;
        };
        assert_eq!(
            browser.run("return matchMedia('(prefers-color-scheme: dark)').matches"),
            json!(dark)
        );
        let served = Served::texts(&[text, text], ServerOptions::default());
        served.key(1);
        let is_readable = |state: &str, least: u64| {
            let told = browser.run(UNREADABLE);
            assert_eq!(told[1], json!([]), "{state}, dark {dark}");
            assert!(told[0].as_u64().unwrap() >= least, "{state}: {told}");
        };
        for mode in ["gray", "colour", "threshold", "relief", "solid"] {
            browser.open(&format!("http://{}/#mode={mode}", served.address));
            browser.exact();
            is_readable(mode, 20);
        }
        browser.open(&format!(
            "http://{}/#difference=true&compare=true",
            served.address
        ));
        browser.exact();
        is_readable("compared", 20);
        let warned = Served::texts(&[even], ServerOptions::default());
        warned.key(0);
        browser.open(&format!("http://{}/", warned.address));
        browser.exact();
        browser.keys("d");
        browser.wait("!document.getElementById('problems').hidden");
        is_readable("warnings", 20);
        let served = Served::texts(&[text], ServerOptions::default());
        served.key(0);
        browser.open(&format!("http://{}/", served.address));
        browser.exact();
        browser.run("[...document.querySelectorAll('[data-node]')].at(-1).click()");
        browser.exact();
        browser.mouse(&[(450, 390)], true);
        browser.frames();
        is_readable("a node and a place", 20);
        fs::write(&served.paths[0], text.replace("diameter=60", "diametre=60")).unwrap();
        browser.wait("document.body.classList.contains('stale')");
        is_readable("a mistake", 20);
        browser.is_quiet();
    }
}

#[test]
fn an_edit_asks_only_for_the_tiles_that_it_can_touch() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let text = |value: u8| {
        format!(
            "relief version=1\ncanvas width=600 height=500\ncompose {{ (base)noise seed=1; \
             (max)disc diameter=20 value={value} x=540 y=300 }}"
        )
    };
    let served = Served::texts(&[&text(250)], ServerOptions::default());
    let before = served.key(0);
    browser.open(&format!("http://{}/#x=300&y=250&z=1", served.address));
    browser.exact();
    browser.wait("document.getElementById('map').dataset.exact === 'true'");
    // Grains shine through the disc where they are higher.
    fs::write(&served.paths[0], text(255)).unwrap();
    let state = served.state(|state| state["designs"][0]["scene"]["key"] != before.as_str());
    let key = state["designs"][0]["scene"]["key"].as_str().unwrap().to_owned();
    let asked = format!(
        "[...new Set(performance.getEntriesByType('resource').map(({{ name }}) => name)\
         .filter((name) => name.includes('tile/{key}/')).map((name) => name.split('?')[0].split('/').slice(-3).join(' ')))].sort()"
    );
    browser.wait(&format!("{asked}.length > 0"));
    browser.exact();
    browser.wait("document.getElementById('map').dataset.exact === 'true'");
    // Level, column and row: the disc lies in one tile of each level.
    assert_eq!(browser.run(&format!("return {asked}")), json!(["0 2 1", "2 0 0"]));
    browser.is_quiet();
}

#[test]
fn warnings_are_counted_and_listed_when_they_are_asked_for() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let text = "relief version=1\ncanvas width=100 height=100\ncompose { (base)fill value=3; (max)disc diameter=4 value=9 x=500 y=500 }";
    let served = Served::texts(&[text], ServerOptions::default());
    served.key(0);
    browser.open(&format!("http://{}/", served.address));
    browser.exact();
    assert_eq!(browser.text("doubts"), "1 warning");
    let hidden = "document.getElementById('problems').hidden";
    assert_eq!(browser.run(&format!("return {hidden}")), json!(true));
    browser.keys("d");
    browser.wait(&format!("!{hidden}"));
    let listed = browser.text("problems");
    assert!(listed.contains("W204") && listed.contains("3 │"), "{listed}");
    browser.run("document.getElementById('doubts').click()");
    browser.wait(hidden);
    browser.is_quiet();
}

#[test]
fn pictures_of_the_examples_have_many_colours_and_two_designs_are_compared() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let served = Served::example("logo", ServerOptions::default());
    served.key(0);
    for (mode, name) in [
        ("gray", "viewer-gray.png"),
        ("relief", "viewer-relief.png"),
        ("solid", "viewer-solid.png"),
    ] {
        browser.open(&format!("http://{}/#mode={mode}", served.address));
        browser.exact();
        let picture = browser.picture();
        picture.is_documented(name);
        assert!(
            picture.colours() > 50,
            "{mode} shows {} colours",
            picture.colours()
        );
    }
    browser.is_quiet();
    let lens = |value: u32| {
        format!(
            "relief version=1\ncanvas width=\"8mm\" height=\"5mm\" pixel=\"10um\" bits=16 amplitude=\"60um\"\n\
             repeat step-x=160 step-y=160 {{ (pattern)disc diameter={value} value=40000 }}"
        )
    };
    let served = Served::texts(&[&lens(120), &lens(128)], ServerOptions::default());
    served.key(1);
    browser.open(&format!(
        "http://{}/#difference=true&compare=true",
        served.address
    ));
    browser.exact();
    browser.picture().is_documented("viewer-compare.png");
    browser.run("document.getElementById('split').focus()");
    browser.keys("\u{E012}\u{E012}");
    browser.wait("document.getElementById('split').getAttribute('aria-valuenow') === '46'");
    let coloured = |picture: &Picture| {
        let orange = |pixel: &[u8; 3]| pixel[0] > pixel[2].saturating_add(60);
        picture.pixels.iter().filter(|pixel| orange(pixel)).count()
    };
    // Rings where the second has more.
    assert!(coloured(&browser.picture()) > 500);
    browser.keys("\u{E011}");
    browser.is_quiet();
}
