//! Designs that are edited while they are looked at.

use std::fs;

use relief_view::ServerOptions;

use crate::client::get;
use crate::served::{Events, Served, WRONG};

const FIRST: &str = "relief version=1\ncanvas width=600 height=500\nfill value=7";

#[test]
fn an_edit_shows_and_a_wrong_one_says_where_and_what_would_work_over_the_last_picture() {
    let served = Served::texts(&[FIRST], ServerOptions::default());
    let first = served.key(0);
    let mut events = Events::listen(served.address);
    let path = &served.paths[0];
    let mut next = |right: &dyn Fn(&serde_json::Value) -> bool| loop {
        let (name, state) = events.next();
        if name == "state" && right(&state["designs"][0]) {
            return state["designs"][0].clone();
        }
    };

    fs::write(path, WRONG).unwrap();
    let wrong = next(&|design| !design["trouble"].is_null());
    let problem = &wrong["trouble"]["problems"][0];
    assert_eq!(problem["places"][0]["line"], 3);
    assert_eq!(problem["places"][0]["text"], "fill valu=7");
    assert!(
        problem["help"]
            .as_str()
            .is_some_and(|help| help.contains("value")),
        "{problem}"
    );
    // The last picture is still there.
    assert_eq!(wrong["scene"]["key"], first.as_str());
    assert_eq!(
        get(served.address, &format!("/tile/{first}/root/mean/0/0/0")).samples()[0],
        7
    );

    fs::write(path, FIRST.replace("value=7", "value=201")).unwrap();
    let right = next(&|design| {
        design["ready"] == true && design["trouble"].is_null() && design["scene"]["key"] != first.as_str()
    });
    let second = right["scene"]["key"].as_str().unwrap();
    assert_eq!(
        get(served.address, &format!("/tile/{second}/root/mean/0/0/0")).samples()[0],
        201
    );
    let stale = get(served.address, &format!("/tile/{first}/root/mean/0/0/0"));
    assert_eq!(stale.refusal(), (410, "stale".to_owned()));

    fs::remove_file(path).unwrap();
    let gone = next(&|design| !design["trouble"].is_null());
    assert_eq!(gone["trouble"]["problems"].as_array().unwrap().len(), 0);
    assert!(!gone["trouble"]["text"].as_str().unwrap().is_empty());
    assert_eq!(
        get(served.address, &format!("/tile/{second}/root/mean/0/0/0")).samples()[0],
        201
    );
}

#[test]
fn a_picture_that_changes_is_read_again() {
    let folder = tempfile::TempDir::new().unwrap();
    let pgm = |gray: u8| [b"P5 2 2 255\n".as_slice(), &[gray; 4]].concat();
    fs::write(folder.path().join("a.pgm"), pgm(30)).unwrap();
    let path = folder.path().join("design.kdl");
    fs::write(
        &path,
        "relief version=1\ncanvas width=2 height=2\nimage \"a.pgm\"",
    )
    .unwrap();
    let picture = folder.path().join("a.pgm");
    let served = Served::files(vec![path], ServerOptions::default(), Some(folder));
    let first = served.key(0);
    assert_eq!(get(served.address, "/raw?x=0&y=0&w=2&h=2").samples(), [30; 4]);
    fs::write(picture, [pgm(90), vec![0]].concat()).unwrap();
    served.state(|state| {
        let design = &state["designs"][0];
        design["ready"] == true && design["scene"]["key"] != first.as_str()
    });
    assert_eq!(get(served.address, "/raw?x=0&y=0&w=2&h=2").samples(), [90; 4]);
}

#[test]
fn a_design_that_is_wrong_at_first_shows_when_it_is_right() {
    let served = Served::texts(&[WRONG], ServerOptions::default());
    let state = served.state(|state| !state["designs"][0]["trouble"].is_null());
    assert_eq!(state["designs"][0]["scene"], serde_json::Value::Null);
    assert_eq!(
        get(served.address, "/raw?x=0&y=0&w=1&h=1").refusal(),
        (410, "stale".to_owned())
    );
    fs::write(&served.paths[0], FIRST).unwrap();
    served.state(|state| state["designs"][0]["ready"] == true);
    assert_eq!(get(served.address, "/raw?x=0&y=0&w=1&h=1").samples(), [7]);
}

#[test]
fn a_picture_that_was_missing_is_seen_when_it_comes() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("design.kdl");
    let text = "relief version=1\ncanvas width=2 height=2\nimage \"late.pgm\"";
    fs::write(&path, text).unwrap();
    let picture = folder.path().join("late.pgm");
    let served = Served::files(vec![path], ServerOptions::default(), Some(folder));
    served.state(|state| !state["designs"][0]["trouble"].is_null());
    fs::write(picture, [b"P5 2 2 255\n".as_slice(), &[40; 4]].concat()).unwrap();
    served.state(|state| state["designs"][0]["ready"] == true);
    assert_eq!(get(served.address, "/raw?x=0&y=0&w=2&h=2").samples(), [40; 4]);
}

#[test]
fn an_edit_says_in_which_rectangles_the_raster_may_be_another() {
    let text = |value: u8, seed: u64| {
        format!(
            "relief version=1\ncanvas width=5000 height=4000\ncompose {{ (base)noise seed={seed}; \
             (max)disc diameter=10 value={value} x=20 y=30 }}"
        )
    };
    let served = Served::texts(&[&text(200, 1)], ServerOptions::default());
    let first = served.key(0);
    let edited = |value, seed, before: &str| {
        fs::write(&served.paths[0], text(value, seed)).unwrap();
        served.state(|state| {
            let design = &state["designs"][0];
            design["ready"] == true && design["scene"]["key"] != before
        })["designs"][0]["scene"]
            .clone()
    };
    let scene = edited(210, 1, &first);
    assert_eq!(
        scene["since"],
        serde_json::json!({ "key": first, "rects": [[20, 30, 10, 10]] })
    );
    // All of it is another one: there is nothing to carry over.
    let second = scene["key"].as_str().unwrap().to_owned();
    assert_eq!(edited(210, 2, &second)["since"], serde_json::Value::Null);
}

/// A preparation that takes for hours.
const ENDLESS: &str =
    "relief version=1\ncanvas width=1000000 height=1000000\nequalise {\n(source)noise seed=1\n}";

#[test]
fn an_edit_ends_a_preparation_and_one_design_does_not_wait_for_the_other() {
    let served = Served::texts(&[ENDLESS, FIRST], ServerOptions::default());
    let state = served.state(|state| state["designs"][1]["ready"] == true);
    assert_eq!(state["designs"][0]["ready"], false, "{state}");
    fs::write(&served.paths[0], FIRST.replace("value=7", "value=8")).unwrap();
    served.state(|state| state["designs"][0]["ready"] == true);
    assert_eq!(
        get(served.address, "/raw?design=0&x=0&y=0&w=1&h=1").samples(),
        [8]
    );
    // And back, twice.
    for text in [ENDLESS, FIRST] {
        fs::write(&served.paths[0], text).unwrap();
        let ready = text == FIRST;
        served.state(|state| state["designs"][0]["ready"] == ready);
    }
}

#[test]
fn an_edit_that_needs_too_much_memory_leaves_the_last_picture() {
    let served = Served::texts(&[FIRST], ServerOptions::default().memory(256 << 20));
    let first = served.key(0);
    let large = "relief version=1\ncanvas width=40000 height=40000 bits=16\ndistance radius=4000 {\n(mask)noise seed=1\n\
                 profile \"d\"\n}";
    fs::write(&served.paths[0], large).unwrap();
    let state = served.state(|state| !state["designs"][0]["trouble"].is_null());
    let design = &state["designs"][0];
    assert!(
        design["trouble"]["text"].as_str().unwrap().contains("--memory"),
        "{design}"
    );
    assert_eq!(
        (&design["ready"], &design["scene"]["key"]),
        (&true.into(), &first.as_str().into())
    );
    assert_eq!(get(served.address, "/raw?x=0&y=0&w=1&h=1").samples(), [7]);
}
