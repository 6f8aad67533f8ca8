//! Why a sample is what it is.

use relief_view::ServerOptions;
use serde_json::json;

use crate::client::get;
use crate::served::Served;

const MARKS: &str = "relief version=1\ncanvas width=40 height=30\ncompose {\n    (base)fill value=7\n    \
    (max)repeat step-x=10 step-y=10 {\n        (pattern)disc diameter=4 value=200\n    }\n}";

#[test]
fn a_sample_is_told_with_its_nodes_and_places_that_are_none_are_refused() {
    let served = Served::texts(&[MARKS], ServerOptions::default());
    served.key(0);
    let reply = get(served.address, "/why?x=22&y=11");
    assert_eq!(reply.status, 200);
    let told = reply.json();
    assert_eq!(
        (&told["value"], &told["decides"], &told["cut"]),
        (&json!(200), &json!(3), &json!(false))
    );
    assert_eq!(
        told["nodes"][3],
        json!({
            "kind": "disc", "role": "pattern", "parent": 2, "line": 6, "column": 18, "x": 2, "y": 1, "inside": true,
            "value": 200, "folded": null, "reads": null, "replaced": 0,
        })
    );
    // Of a node alone.
    let told = get(served.address, "/why?node=1&x=0&y=0").json();
    assert_eq!(
        (&told["value"], told["nodes"].as_array().unwrap().len()),
        (&json!(0), 1)
    );
    // By lengths, where the canvas says how large a pixel is.
    let sized = MARKS.replace("height=30", "height=30 pixel=\"2um\"");
    let sized = Served::texts(&[&sized], ServerOptions::default());
    sized.key(0);
    let told = get(sized.address, "/why?x=44um&y=0.022mm").json();
    assert_eq!(
        (&told["x"], &told["y"], &told["value"]),
        (&json!(22), &json!(11), &json!(200))
    );
    for (path, status) in [
        ("/why?x=40&y=0", 400),
        ("/why?x=0&y=30", 400),
        ("/why?x=18446744073709551615&y=0", 400),
        ("/why?x=1", 400),
        ("/why?x=1mm&y=1", 400),
        ("/why?x=1&y=1e", 400),
        ("/why?x=-1&y=0", 400),
        ("/why?x=1&y=1&node=9", 404),
    ] {
        assert_eq!(get(served.address, path).status, status, "{path}");
    }
}
