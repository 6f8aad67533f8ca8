//! What is told of drawings that cannot be seen, or whose size cannot be meant.

use relief_design::{Problem, read};

use crate::files::Drawings;

/// A square of 3 units at (5, 5), which says no unit, and one line of as many units that is open.
const SQUARE: &str = "0\nSECTION\n2\nENTITIES\n0\nLWPOLYLINE\n70\n1\n10\n5\n20\n5\n10\n8\n20\n5\n10\n8\n20\n8\n10\n5\n20\n8\n0\nENDSEC\n0\nEOF\n";
const OPEN: &str = "0\nSECTION\n2\nENTITIES\n0\nLINE\n10\n5\n20\n5\n11\n8\n21\n9\n0\nENDSEC\n0\nEOF\n";
/// A pad of 3 mm by 2 mm.
const PAD: &str = "%FSLAX26Y26*%\n%MOMM*%\n%ADD10R,3X2*%\nD10*\nX5000000Y5000000D03*\nM02*\n";
/// A square of 30 by 20 pixels in a picture of 40 by 30, and one in a picture of a millimetre.
const ICON: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'><rect x='5' y='5' width='30' height='20' fill='#fff'/></svg>";
const METRIC: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='1mm' height='1mm' viewBox='0 0 40 40'><rect width='30' height='20' fill='#fff'/></svg>";
const BESIDE: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'><rect x='-50' width='30' height='20' fill='#fff'/></svg>";

const OVER: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'><rect x='-10' width='30' height='20' fill='#fff'/></svg>";

const FILES: Drawings = Drawings(&[
    ("square.dxf", SQUARE),
    ("open.dxf", OPEN),
    ("pad.gbr", PAD),
    ("icon.svg", ICON),
    ("metric.svg", METRIC),
    ("beside.svg", BESIDE),
    ("over.svg", OVER),
]);

/// What is told of a node on a canvas of 400 × 300 pixels of this side.
fn told(pixel: &str, node: &str) -> Vec<Problem> {
    let text = format!("relief version=1\ncanvas width=400 height=300 pixel=\"{pixel}\"\n{node}");
    let reading = read("test.kdl", &text, &FILES, &[])
        .unwrap_or_else(|report| panic!("{text}\n{:#?}", report.problems()));
    reading
        .warnings
        .map_or_else(Vec::new, |report| report.problems().to_vec())
}

/// The message and the help of the only warning.
fn only(pixel: &str, node: &str) -> (String, String) {
    let told = told(pixel, node);
    let [problem] = &told[..] else {
        panic!("{node} at {pixel}: {told:#?}");
    };
    assert_eq!(problem.code(), "W211", "{node}");
    (
        problem.message().to_owned(),
        problem.help_text().unwrap().to_owned(),
    )
}

fn assert_told(pixel: &str, node: &str, message: &str, help: &str) {
    let (is, helps) = only(pixel, node);
    assert!(is.contains(message), "{node} at {pixel}: {is}");
    assert!(helps.contains(help), "{node} at {pixel}: {helps}");
}

#[test]
fn drawings_of_a_size_that_can_be_meant_are_left_alone() {
    for (pixel, node) in [
        ("10um", "mesh \"coin.stl\" low=0 high=0.3"),
        ("10um", "dxf \"square.dxf\" unit=\"mm\" value=9"),
        // A part of a large drawing, and a small one on a large canvas.
        ("1um", "dxf \"square.dxf\" unit=\"mm\" value=9"),
        ("200um", "dxf \"square.dxf\" unit=\"mm\" value=9"),
        ("10um", "gerber \"pad.gbr\" value=9"),
        ("1mm", "gerber \"pad.gbr\" value=9"),
        ("10um", "svg \"icon.svg\""),
        ("10um", "svg \"metric.svg\""),
        // What it draws beside its page is cut off, which is as meant.
        ("10um", "compose { (base)svg \"over.svg\" }"),
        ("10um", "compose { (base)svg \"metric.svg\" width=300 }"),
        ("10um", "gds \"mask.gds\" origin=\"box\" value=9"),
        ("10um", "rectangle size-x=0.5 size-y=40 value=9"),
        ("10um", "ellipse size-x=30000 size-y=30000 value=9"),
    ] {
        let told = told(pixel, node);
        assert!(told.is_empty(), "{node} at {pixel}: {told:#?}");
    }
}

#[test]
fn a_drawing_smaller_than_a_pixel_says_its_size_and_what_would_fit() {
    let small = "is smaller than a pixel: it has";
    for (pixel, node, message, help) in [
        (
            "10um",
            "mesh \"coin.stl\" low=0 high=300 unit=\"nm\"",
            "the whole mesh is smaller than a pixel: it has 3.4 nm × 3.4 nm, or 0.00034 × 0.00034 pixels",
            "a number of the file is taken as 1 nm; with unit=\"mm\" the mesh has 3.4 mm × 3.4 mm, or 340 × 340 pixels",
        ),
        (
            "10um",
            "dxf \"square.dxf\" unit=\"nm\" value=9",
            "the whole drawing is smaller than a pixel: it has 3 nm × 3 nm, or 0.0003 × 0.0003 pixels",
            "a number of the file is taken as 1 nm; with unit=\"mm\" the drawing has 3 mm × 3 mm, or 300 × 300 pixels",
        ),
        // A line along it is as wide as ever.
        (
            "10um",
            "dxf \"open.dxf\" unit=\"nm\" value=9 stroke=30 cap=\"square\"",
            "the whole drawing is smaller than a pixel: it has 3",
            "with unit=\"mm\"",
        ),
        (
            "10um",
            "dxf \"square.dxf\" unit=\"nm\" value=9 origin=\"datum\" width=400 height=300",
            small,
            "with unit=\"mm\"",
        ),
        (
            "1m",
            "gerber \"pad.gbr\" value=9",
            "the whole board is smaller than a pixel: it has 3 mm × 2 mm, or 0.003 × 0.002 pixels",
            "with pixel=\"10um\" on the canvas it has 300 × 200 pixels",
        ),
        (
            "1m",
            "gds \"mask.gds\" layer=\"1/0\" origin=\"box\" value=9",
            "the whole cell is smaller than a pixel: it has",
            "on the canvas it has",
        ),
        (
            "1m",
            "oasis \"mask.oas\" layer=\"1/0\" origin=\"datum\" width=400 height=300 value=9",
            "the whole cell is smaller than a pixel: it has",
            "on the canvas it has",
        ),
        (
            "100mm",
            "svg \"metric.svg\"",
            "the whole drawing is smaller than a pixel: it has 1 mm × 1 mm, or 0.01 × 0.01 pixels",
            "with a width or a height it is scaled to its node",
        ),
        (
            "10um",
            "text \"A\" font=\"plate.ttf\" size=0.5 value=9",
            small,
            "write its lengths with the units that are meant",
        ),
        (
            "1mm",
            "rectangle size-x=\"30um\" size-y=\"20um\" value=9",
            "the whole drawing is smaller than a pixel: it has 31.25 µm × 19.53 µm, or 0.03125 × 0.01953 pixels",
            "write its lengths with the units",
        ),
        (
            "1mm",
            "path \"M 0 0 L 0.4 0 0.4 0.5 Z\" value=9",
            small,
            "write its lengths",
        ),
    ] {
        assert_told(pixel, node, message, help);
    }
}

#[test]
fn a_drawing_far_larger_than_the_canvas_says_its_size_and_what_would_fit() {
    let large = "far larger than the canvas: it has";
    for (pixel, node, message, help) in [
        (
            "10um",
            "mesh \"coin.stl\" low=0 high=0.3 unit=\"m\"",
            "the mesh is far larger than the canvas: it has 3.4 m × 3.4 m, or 340000 × 340000 pixels, the canvas 400 × 300",
            "a number of the file is taken as 1 m; with unit=\"mm\" the mesh has 3.4 mm × 3.4 mm, or 340 × 340 pixels",
        ),
        (
            "10um",
            "dxf \"square.dxf\" unit=\"m\" value=9",
            "the drawing is far larger than the canvas: it has 3 m × 3 m, or 300000 × 300000 pixels",
            "with unit=\"mm\"",
        ),
        (
            "10um",
            "dxf \"open.dxf\" unit=\"m\" value=9 stroke=3",
            large,
            "with unit=\"mm\"",
        ),
        // As large as it is within another node as well.
        (
            "10um",
            "compose { (base)dxf \"square.dxf\" unit=\"m\" value=9 }",
            large,
            "with unit=\"mm\"",
        ),
        (
            "1nm",
            "gerber \"pad.gbr\" value=9",
            "the board is far larger than the canvas: it has 3 mm × 2 mm, or 3000000 × 2000000 pixels",
            "with pixel=\"10um\" on the canvas it has 300 × 200 pixels",
        ),
        (
            "1nm",
            "gds \"mask.gds\" origin=\"box\" value=9",
            large,
            "on the canvas it has",
        ),
        (
            "1nm",
            "oasis \"mask.oas\" origin=\"box\" value=9",
            large,
            "on the canvas it has",
        ),
        (
            "1nm",
            "svg \"metric.svg\"",
            large,
            "with a width or a height it is scaled",
        ),
        (
            "10um",
            "text \"A\" font=\"plate.ttf\" size=\"3000m\" value=9",
            large,
            "write its lengths with the units",
        ),
        (
            "1um",
            "rectangle size-x=\"1m\" size-y=\"1m\" value=9",
            large,
            "write its lengths with the units",
        ),
    ] {
        assert_told(pixel, node, message, help);
    }
}

#[test]
fn a_drawing_of_which_nothing_shows_says_where_it_lies() {
    let outside = "nothing of the";
    for (pixel, node, help) in [
        (
            "10um",
            "dxf \"square.dxf\" unit=\"mm\" value=9 origin=\"datum\" width=400 height=300",
            "origin=\"box\"",
        ),
        // With another unit it would.
        (
            "10um",
            "dxf \"square.dxf\" unit=\"in\" value=9 origin=\"datum\" width=400 height=300",
            "with unit=\"mm\"",
        ),
        (
            "10um",
            "gerber \"pad.gbr\" value=9 origin=\"datum\" width=400 height=300",
            "origin=\"box\"",
        ),
        ("10um", "svg \"beside.svg\"", "the file draws beside its own page"),
        (
            "10um",
            "compose { (base)svg \"beside.svg\" width=400 }",
            "the file draws beside its own page",
        ),
        (
            "10um",
            "rectangle size-x=9 size-y=9 shift-x=400 value=9",
            "places are those of the node",
        ),
        (
            "10um",
            "compose { (base)text \".\" font=\"plate.ttf\" size=200 value=9 height=9 }",
            "origin=\"box\"",
        ),
    ] {
        assert_told(pixel, node, outside, help);
    }
    let (message, _) = only(
        "10um",
        "dxf \"square.dxf\" unit=\"in\" value=9 origin=\"datum\" width=400 height=300",
    );
    assert!(
        message.ends_with("which has 400 × 300 pixels; it has 76.2 mm × 76.2 mm, or 7620 × 7620 pixels"),
        "{message}"
    );
}

#[test]
fn layers_that_are_not_there_are_told_with_those_that_are() {
    for word in ["gds \"mask.gds\"", "oasis \"mask.oas\""] {
        let node = |layer: &str| format!("{word} layer=\"{layer}\" origin=\"box\" value=9");
        let (message, help) = only("10um", &node("9/9"));
        let (before, there) = message.split_once("; it has ").unwrap();
        assert!(
            before.ends_with("the cell \"TOP\" has nothing on 9/9"),
            "{message}"
        );
        assert!(help.contains("LAYER/DATATYPE"), "{help}");
        // All that are there are not told, one by one and together.
        let layers: Vec<&str> = there
            .split(", ")
            .map(|layer| layer.split_once(" (").unwrap().0)
            .collect();
        assert!(layers.len() > 1, "{message}");
        for layers in layers.iter().copied().chain([layers.join(",").as_str(), "*"]) {
            assert!(told("10um", &node(layers)).is_empty(), "{layers}");
        }
        // What is missing beside others is told, and the others are drawn.
        let (message, _) = only("10um", &node(&format!("{},77,8/*", layers[0])));
        assert!(message.contains("has nothing on 77/*, 8/*; it has "), "{message}");
    }
}

#[test]
fn a_cell_or_a_layer_by_a_name_nearly_right_is_told() {
    let refused = |node: &str| {
        let text = format!("relief version=1\ncanvas width=400 height=300 pixel=\"10um\"\n{node}");
        let report = read("test.kdl", &text, &FILES, &[]).unwrap_err();
        report.problems()[0].message().to_owned()
    };
    for word in ["gds \"mask.gds\"", "oasis \"mask.oas\""] {
        let told = refused(&format!("{word} cell=\"TPO\" origin=\"box\" value=9"));
        assert!(
            told.contains("the layout has no cell \"TPO\"; it has \""),
            "{told}"
        );
        assert!(told.ends_with("; did you mean cell=\"TOP\"?"), "{told}");
        let told = refused(&format!("{word} cell=\"nothing\" origin=\"box\" value=9"));
        assert!(!told.contains("did you mean"), "{told}");
    }
    let told = refused("dxf \"sheet.dxf\" layer=\"CUTS\" value=9");
    assert!(
        told.contains("the file has no layer \"CUTS\"; did you mean layer=\"CUT\"? it has 0, CUT"),
        "{told}"
    );
}
