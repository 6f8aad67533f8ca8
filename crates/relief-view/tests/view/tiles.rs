//! Tiles: what they say of the raster, and how exact they are said to be.

use std::io::Write;

use relief_engine::Rect;
use relief_view::ServerOptions;

use crate::client::{Reply, connect, get};
use crate::served::{Served, read};

/// With as much effort as it takes.
const ALL: &str = "effort=18446744073709551615";

fn figure(pixels: &[u16], name: &str) -> u16 {
    let (n, sum) = (
        pixels.len() as u64,
        pixels.iter().map(|&v| u64::from(v)).sum::<u64>(),
    );
    match name {
        "mean" => ((2 * sum + n) / (2 * n)) as u16,
        "least" => *pixels.iter().min().unwrap(),
        _ => *pixels.iter().max().unwrap(),
    }
}

/// A block of the raster, pixel by pixel.
fn block(samples: &[u16], (width, height): (u64, u64), level: u32, (x, y): (u64, u64)) -> Vec<u16> {
    let side = 1 << level;
    let rows = y * side..((y + 1) * side).min(height);
    rows.flat_map(|row| {
        let columns = x * side..((x + 1) * side).min(width);
        columns.map(move |column| samples[(row * width + column) as usize])
    })
    .collect()
}

/// Within how much samples are said to be.
fn within(reply: &Reply) -> u16 {
    match reply.header("relief-exactness") {
        "exact" => 0,
        said => said.strip_prefix("within ").unwrap().parse().unwrap(),
    }
}

const DEEP: &str = r#"relief version=1
canvas width=700 height=530 bits=16
compose {
    (base)noise seed=5
    (max)repeat step-x=90 step-y=70 { (pattern)disc diameter=60 value=50000 }
    (multiply)ramp axis="x" from=20000 to=65535
}"#;

const SHALLOW: &str = r#"relief version=1
canvas width=530 height=700
compose {
    (base)noise seed=7
    (over)disc diameter=300 value=200 x=100 y=120
}"#;

#[test]
fn tiles_of_every_level_are_the_raster_averaged_pixel_by_pixel() {
    for text in [DEEP, SHALLOW] {
        let served = Served::texts(&[text], ServerOptions::default());
        let key = served.key(0);
        let renderer = served.renderer(0);
        let raster = renderer.plan().raster();
        let size = (raster.width, raster.height);
        let samples = read(&renderer, Rect::sized(size.0, size.1));
        for level in 0..3_u32 {
            let of = (size.0.div_ceil(1 << level), size.1.div_ceil(1 << level));
            for name in ["mean", "least", "greatest"] {
                for (x, y) in
                    (0..of.1.div_ceil(256)).flat_map(|y| (0..of.0.div_ceil(256)).map(move |x| (x, y)))
                {
                    let reply = get(
                        served.address,
                        &format!("/tile/{key}/root/{name}/{level}/{x}/{y}?{ALL}"),
                    );
                    let tile = reply.samples();
                    let (width, height) = ((of.0 - x * 256).min(256), (of.1 - y * 256).min(256));
                    assert_eq!(
                        reply.header("relief-samples"),
                        format!("{width}x{height}x{}", raster.depth.bits())
                    );
                    assert_eq!(reply.header("relief-exactness"), "exact");
                    assert_eq!(
                        reply.header("cache-control"),
                        "public, max-age=31536000, immutable"
                    );
                    for (at, found) in tile.into_iter().enumerate() {
                        let place = (x * 256 + at as u64 % width, y * 256 + at as u64 / width);
                        let right = figure(&block(&samples, size, level, place), name);
                        assert_eq!(found, right, "{name} of level {level} at {place:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_not_exact_says_within_how_much_and_is_not_kept() {
    let served = Served::texts(&[DEEP], ServerOptions::default());
    let key = served.key(0);
    let renderer = served.renderer(0);
    let samples = read(&renderer, Rect::sized(700, 530));
    let path = format!("/tile/{key}/root/mean/2/0/0");
    let rough = get(served.address, &format!("{path}?effort=0"));
    let off = within(&rough);
    assert!(off > 0, "the mean of noise is not known without looking at it");
    assert_eq!(rough.header("cache-control"), "no-store");
    for (at, found) in rough.samples().into_iter().enumerate() {
        let place = (at as u64 % 175, at as u64 / 175);
        let right = figure(&block(&samples, (700, 530), 2, place), "mean");
        assert!(
            found.abs_diff(right) <= off,
            "{found} for {right}, said to be within {off}"
        );
    }
    // Everything is known within M: nothing is computed for that where it cannot be exact, and all where it can.
    let near = get(served.address, &format!("{path}?effort=60000&near=1"));
    assert_eq!((within(&near), &near.body), (off, &rough.body));
    let some = get(served.address, &format!("{path}?effort=60000"));
    assert!(some.body != rough.body, "some of it was computed");
    let exact = get(served.address, &format!("{path}?{ALL}"));
    assert_eq!(
        (within(&exact), exact.header("cache-control")),
        (0, "public, max-age=31536000, immutable")
    );
    let all = get(served.address, &format!("{path}?{ALL}&near=1"));
    assert_eq!((within(&all), &all.body), (0, &exact.body));
}

#[test]
fn any_node_is_a_raster_of_its_own() {
    let served = Served::texts(&[DEEP], ServerOptions::default());
    let key = served.key(0);
    let state = served.state(|state| state["designs"][0]["ready"] == true);
    let nodes = state["designs"][0]["scene"]["nodes"].as_array().unwrap().clone();
    let disc = nodes.iter().find(|node| node["kind"] == "disc").unwrap();
    assert_eq!(
        (
            disc["width"].as_u64(),
            disc["height"].as_u64(),
            disc["line"].as_u64()
        ),
        (Some(60), Some(60), Some(5))
    );
    let tile = get(served.address, &format!("/tile/{key}/{}/mean/0/0/0", disc["id"])).samples();
    assert_eq!(tile.len(), 3_600);
    // A disc of 60 pixels: a pixel belongs to it where its centre lies within.
    for (at, sample) in tile.into_iter().enumerate() {
        let (x, y) = (2 * (at as i64 % 60) + 1 - 60, 2 * (at as i64 / 60) + 1 - 60);
        assert_eq!(sample == 50_000, x * x + y * y <= 3_600, "{at}");
    }
    // More nodes than are held at the same time, back and forth.
    for node in nodes.iter().chain(nodes.iter().rev()) {
        let reply = get(served.address, &format!("/tile/{key}/{}/mean/0/0/0", node["id"]));
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    let none = get(served.address, &format!("/tile/{key}/{}/mean/0/0/0", nodes.len()));
    assert_eq!(none.refusal(), (404, "not-found".to_owned()));
}

#[test]
fn two_designs_are_served_beside_each_other() {
    let served = Served::texts(&[DEEP, SHALLOW], ServerOptions::default());
    for (which, bits) in [(0, 16), (1, 8)] {
        let key = served.key(which);
        let samples = read(&served.renderer(which), Rect::new(256, 256, 256, 256).unwrap());
        let tile = get(served.address, &format!("/tile/{key}/root/mean/0/1/1"));
        assert_eq!(tile.header("relief-samples"), format!("256x256x{bits}"));
        assert_eq!(tile.samples(), samples);
        let raw = get(
            served.address,
            &format!("/raw?design={which}&x=256&y=256&w=256&h=256"),
        );
        assert_eq!(
            (raw.samples(), raw.header("cache-control")),
            (samples, "no-store")
        );
    }
}

#[test]
fn places_far_out_are_reached_and_a_request_that_nobody_waits_for_ends() {
    let text = "relief version=1\ncanvas width=1099511627776 height=1099511627776\nnoise seed=3";
    let served = Served::texts(&[text], ServerOptions::default().threads(2));
    let key = served.key(0);
    let corner = (1_u64 << 40) - 256;
    let rect = Rect::new(corner as i64, corner as i64, 256, 256).unwrap();
    let last = (1_u64 << 32) - 1;
    let tile = get(served.address, &format!("/tile/{key}/root/mean/0/{last}/{last}"));
    assert_eq!(tile.samples(), read(&served.renderer(0), rect));
    // All of the raster, pixel by pixel: nobody lives to see it. The client leaves; the server would not end if it went on.
    for _ in 0..4 {
        let mut stream = crate::client::connect(served.address);
        let target = format!("/tile/{key}/root/mean/32/0/0?{ALL}");
        std::io::Write::write_all(
            &mut stream,
            format!("GET {target} HTTP/1.1\r\nhost: {}\r\n\r\n", served.address).as_bytes(),
        )
        .unwrap();
        let tile = get(served.address, &format!("/tile/{key}/root/mean/0/7/9"));
        assert_eq!(tile.status, 200);
    }
    served.stop();
}

#[test]
fn raw_windows_are_exact_or_refused() {
    let served = Served::texts(&[DEEP], ServerOptions::default().cost(1_000));
    let key = served.key(0);
    let rect = Rect::new(333, 17, 101, 3).unwrap();
    let window = get(served.address, &format!("/raw?design={key}&x=333&y=17&w=101&h=3"));
    assert_eq!(window.samples(), read(&served.renderer(0), rect));
    let refused = get(
        served.address,
        &format!("/raw?design={key}&x=0&y=0&w=100&h=100&level=2"),
    );
    assert_eq!(refused.refusal(), (422, "inexact".to_owned()));
    for wrong in [
        "x=700&y=0&w=1&h=1",
        "x=0&y=0&w=0&h=1",
        "x=0&y=0&w=701&h=1",
        "x=-1&y=0&w=1&h=1",
        "x=0&y=0&w=1",
        "x=0&y=0&w=1&h=1&statistic=mode",
        "x=18446744073709551615&y=0&w=18446744073709551615&h=1",
    ] {
        let reply = get(served.address, &format!("/raw?design={key}&{wrong}"));
        assert_eq!(reply.refusal(), (400, "request".to_owned()), "{wrong}");
    }
    for (wrong, refusal) in [
        (
            "design=00000000000000000000000000000000&x=0&y=0&w=1&h=1",
            (410, "stale"),
        ),
        ("x=0&y=0&w=1&h=1&level=41", (404, "not-found")),
        ("x=0&y=0&w=1&h=1&node=99", (404, "not-found")),
    ] {
        let reply = get(served.address, &format!("/raw?{wrong}"));
        assert_eq!(reply.refusal(), (refusal.0, refusal.1.to_owned()), "{wrong}");
    }
}

#[test]
fn a_design_that_does_not_fit_the_memory_is_shown_with_as_much_as_is_told() {
    let with = |memory: u64| {
        let served = Served::texts(&[DEEP], ServerOptions::default().memory(memory).threads(64));
        let state = served.state(|state| state["designs"][0]["loading"].is_null());
        (served, state["designs"][0].clone())
    };
    let (served, design) = with(16 << 20);
    assert_eq!(design["ready"], false, "{design}");
    let text = design["trouble"]["text"].as_str().unwrap();
    let enough = text
        .split("--memory ")
        .nth(1)
        .unwrap()
        .strip_suffix("MiB")
        .unwrap();
    let reply = get(served.address, "/raw?x=0&y=0&w=1&h=1");
    assert_eq!(reply.refusal(), (410, "stale".to_owned()));

    let (served, design) = with(enough.parse::<u64>().unwrap() << 20);
    assert_eq!(design["ready"], true, "{design}");
    assert_eq!(get(served.address, "/raw?x=0&y=0&w=1&h=1").status, 200);
}

#[test]
fn deeply_nested_designs_show_however_many_threads_there_are() {
    let nested = (0..20).fold("noise seed=1".to_owned(), |inner, _| {
        format!("turn quarters=1 {{ (source)flip axis=\"x\" {{ (source){inner}\n }}\n }}")
    });
    let text = format!("relief version=1\ncanvas width=64 height=64\n{nested}");
    for threads in [1, 16, 200] {
        let served = Served::texts(&[&text], ServerOptions::default().threads(threads));
        let state = served.state(|state| state["designs"][0]["loading"].is_null());
        assert_eq!(state["designs"][0]["ready"], true, "{threads}: {state}");
    }
}

#[test]
fn a_node_that_takes_for_ever_to_prepare_holds_up_no_other() {
    // What lies beyond the canvas is not prepared for the whole; seen alone, it is.
    let text = "relief version=1\ncanvas width=1000000 height=1000000\ncompose {\n(base)fill value=3\n\
                (max)equalise x=1000000 {\n(source)noise seed=1\n}\n}";
    let served = Served::texts(&[text], ServerOptions::default().threads(2));
    let key = served.key(0);
    let state = served.state(|_| true);
    let nodes = state["designs"][0]["scene"]["nodes"].as_array().unwrap();
    let slow = nodes
        .iter()
        .find(|node| node["kind"] == "equalise")
        .unwrap_or_else(|| panic!("{nodes:?}"));
    let waiting: Vec<_> = (0..6)
        .map(|column| {
            let mut stream = connect(served.address);
            let path = format!("/tile/{key}/{}/mean/0/{column}/0", slow["id"]);
            write!(stream, "GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", served.address).unwrap();
            stream
        })
        .collect();
    for column in 0..100 {
        let tile = get(served.address, &format!("/tile/{key}/root/mean/0/{column}/0"));
        assert_eq!(tile.samples()[0], 3);
    }
    drop(waiting);
}
