//! What right designs mean: every node, every default, sizes and offsets.

use std::collections::HashMap;

use relief_design::scan::{
    self, BitOrder, Bits, ByteOrder, Corner, Dialect, Direction, Dot, Gcode, Halftone, Interleave, Laser,
    Mirror, Origin, Packing, PassAxes, Passes, Polarity, Quarters, Scan, ScanNode, Screen, Stripe, Swath,
    Sweep, Zone,
};
use relief_design::{
    Axis, Blend, Conversion, Design, Gray, ImageError, ImageSource, InvalidDesign, Kind, Node, Picture, Role,
    SIGNATURES, ValueType, kinds, parse, read,
};
use relief_raster::{Depth, Length, Period};

use crate::files;

fn design_of(text: &str) -> Design {
    let images: HashMap<String, (u64, u64)> = [
        ("logo.png".to_owned(), (60, 40)),
        ("cell.png".to_owned(), (100, 80)),
    ]
    .into();
    parse("test.kdl", text, &images).unwrap_or_else(|report| panic!("{:#?}", report.problems()))
}

/// A design of 400 × 300 pixels of 10 µm.
fn design(nodes: &str) -> Design {
    design_of(&format!(
        "relief version=1\ncanvas width=400 height=300 pixel=\"10um\"\n{nodes}"
    ))
}

fn root(nodes: &str) -> Node {
    let design = design(nodes);
    design.node(design.root()).clone()
}

/// The one child of a root that composes it, and its extent as (x, y, width, height).
fn child(node: &str) -> (Node, (i64, i64, u64, u64)) {
    let design = design(&format!("compose {{\n(base){node}\n}}"));
    let child = design.node(design.root()).children[0];
    let extent = child.extent;
    (
        design.node(child.node).clone(),
        (extent.x(), extent.y(), extent.width(), extent.height()),
    )
}

#[test]
fn the_example_of_the_design_page_is_read() {
    let design = design_of(
        r#"
relief version=1
canvas width="20mm" height="12mm" pixel="10um" depth=8

compose {
    (base)lattice blend="mean" {
        u 90 20
        v -15 85
        (pattern)image "cell.png"
    }
    (mask)distance radius=40 {
        (mask)image "logo.png" x="2mm" y="1mm"
        profile "255 * (1 - (d / 40) ^ 2)" beyond=0
    }
}
"#,
    );
    assert_eq!(
        (
            design.canvas().width,
            design.canvas().height,
            design.canvas().pixel
        ),
        (2_000, 1_200, Length::picometres(10_000_000))
    );
    let root = design.node(design.root());
    let roles: Vec<Role> = root.children.iter().map(|child| child.role).collect();
    assert_eq!(roles, [Role::Base, Role::Mask]);
    let lattice = design.node(root.children[0].node);
    let period = Period::spanned((90, 20), (-15, 85)).unwrap();
    assert_eq!(
        lattice.kind,
        Kind::Lattice(kinds::Lattice {
            blend: Blend::Mean,
            u: (90, 20),
            v: (-15, 85),
            denominators: (1, 1),
            period
        })
    );
    assert_eq!((lattice.width, lattice.height), (2_000, 1_200));
    let distance = design.node(root.children[1].node);
    let Kind::Distance(kinds::Distance {
        radius,
        profile,
        beyond,
    }) = &distance.kind
    else {
        panic!("{distance:?}")
    };
    assert_eq!((*radius, *beyond, profile.len()), (40, 0, 1_601));
    let mask = distance.children[0].extent;
    assert_eq!(
        (mask.x(), mask.y(), mask.width(), mask.height()),
        (200, 100, 60, 40)
    );
}

#[test]
fn the_canvas_has_a_depth_of_8_and_no_pixel_by_default() {
    let design = design_of("relief version=1\ncanvas width=7 height=5\nfill value=255");
    assert_eq!(
        (design.canvas().depth, design.canvas().pixel),
        (Depth::Eight, None)
    );
    let design =
        design_of("relief version=1\ncanvas depth=16 pixel=\"0.5nm\" width=7 height=5\nfill value=65535");
    assert_eq!(
        (design.canvas().depth, design.canvas().pixel),
        (Depth::Sixteen, Length::picometres(500))
    );
    assert_eq!(
        design.node(design.root()).kind,
        Kind::Fill(kinds::Fill { value: 65_535 })
    );
}

#[test]
fn nodes_without_a_size_have_that_of_their_parent() {
    for node in [
        "fill value=1",
        "ramp axis=\"y\" from=3 to=1",
        "noise seed=1",
        "compose",
        "threshold level=1 { (source)fill value=2 }",
    ] {
        assert_eq!(child(node).1, (0, 0, 400, 300), "{node}");
    }
    let (_, extent) = child("fill value=1 x=-5 y=\"0.1mm\" width=\"1mm\"");
    assert_eq!(extent, (-5, 10, 100, 300));
}

#[test]
fn an_image_says_its_gray_and_the_numbers_that_become_0_and_m() {
    let words = [
        ("luma", Gray::Luma),
        ("average", Gray::Average),
        ("red", Gray::Red),
        ("green", Gray::Green),
        ("blue", Gray::Blue),
        ("cyan", Gray::Cyan),
        ("magenta", Gray::Magenta),
        ("yellow", Gray::Yellow),
        ("black", Gray::Black),
    ];
    for (word, gray) in words {
        let (image, _) = child(&format!("image \"logo.png\" gray=\"{word}\" low=2.5e3 high=-1"));
        let Kind::Image(kinds::Image { conversion, .. }) = image.kind else {
            panic!("{image:?} is not an image");
        };
        let range = Some((2500.0, -1.0));
        let expected = Conversion {
            gray,
            range,
            ..Conversion::default()
        };
        assert_eq!(conversion, expected);
    }
}

/// What a design computes, without where it is written.
fn computed(node: &str) -> Vec<Node> {
    let mut nodes = design(&format!("compose {{\n(base){node}\n}}")).nodes().to_vec();
    for node in &mut nodes {
        node.place = relief_design::Place { line: 0, column: 0 };
    }
    nodes
}

#[test]
fn an_image_that_fits_is_the_resized_picture_in_its_place() {
    let logo = "(source)image \"logo.png\"";
    let resized = |size: &str| format!("resize {size} {{ {logo} }}");
    let placed = |node: &str, size: &str, at: &str| {
        format!("compose {node} {{ (base)resize {size} {at} {{ {logo} }} }}")
    };
    // The picture has 60 × 40 pixels.
    for (fitted, plain) in [
        (
            "fit=\"stretch\" width=90 height=10",
            resized("width=90 height=10"),
        ),
        ("fit=\"stretch\"", "image \"logo.png\"".to_owned()),
        (
            "fit=\"contain\" width=60 height=40 x=3",
            "image \"logo.png\" x=3".to_owned(),
        ),
        (
            "fit=\"contain\" width=90 height=90",
            placed("width=90 height=90", "width=90 height=60", "y=15"),
        ),
        (
            "fit=\"contain\" width=91 height=20",
            placed("width=91 height=20", "width=30 height=20", "x=30"),
        ),
        (
            "fit=\"cover\" width=90 height=90",
            placed("width=90 height=90", "width=135 height=90", "x=-23"),
        ),
        (
            "fit=\"cover\" width=90 height=10",
            placed("width=90 height=10", "width=90 height=60", "y=-25"),
        ),
        // What is not scaled need not be resized.
        (
            "fit=\"contain\" width=60 height=50",
            "compose width=60 height=50 { (base)image \"logo.png\" y=5 }".to_owned(),
        ),
        // The missing side follows from the other, halves up.
        ("fit=\"contain\" width=90", resized("width=90 height=60")),
        ("fit=\"cover\" height=7", resized("width=11 height=7")),
        ("fit=\"stretch\" width=1", resized("width=1 height=1")),
        // 100 pixels are 66.7 rows.
        ("fit=\"contain\" width=100", resized("width=100 height=67")),
        // A pixel of the canvas has 10 µm.
        ("pitch=\"10um\"", "image \"logo.png\"".to_owned()),
        ("pitch=\"5um\"", resized("width=30 height=20")),
        // 43.8 × 29.2 pixels.
        ("pitch=\"7.3um\"", resized("width=44 height=29")),
        (
            "pitch=\"5um\" width=20 height=25",
            placed("width=20 height=25", "width=30 height=20", ""),
        ),
        (
            "pitch=\"5um\" fit=\"contain\" width=90 height=90",
            placed("width=90 height=90", "width=90 height=60", "y=15"),
        ),
        ("pitch=\"1/3um\"", resized("width=2 height=1")),
    ] {
        assert_eq!(
            computed(&format!("image \"logo.png\" {fitted}")),
            computed(&plain),
            "{fitted}"
        );
    }
    // Of a long picture the sides follow from the width alone, though the height is rounded by much.
    let long = |node: &str| {
        let images = |_: &str| Ok((1_000, 10));
        let text = format!("relief version=1\ncanvas width=400 height=300\ncompose {{ (base){node} }}");
        let design = parse("test.kdl", &text, &images).unwrap();
        design.node(design.node(design.root()).children[0].node).clone()
    };
    let node = long("image \"a\" fit=\"contain\" width=344");
    assert_eq!((node.width, node.height), (344, 3));
    assert!(matches!(node.kind, Kind::Resize(_)), "{node:?}");
}

#[test]
fn a_picture_that_shrinks_by_more_than_64_is_resized_twice() {
    let images = |_: &str| Ok((100_000, 50));
    let text = "relief version=1\ncanvas width=10 height=10\nimage \"a\" fit=\"stretch\"";
    let design = parse("test.kdl", text, &images).unwrap();
    let sides: Vec<(u64, u64)> = design
        .nodes()
        .iter()
        .map(|node| (node.width, node.height))
        .collect();
    assert_eq!(sides, [(100_000, 50), (1_563, 10), (25, 10), (10, 10)]);
}

#[test]
fn an_image_says_which_part_of_a_zarr_store_it_shows() {
    for (node, array, index) in [
        ("array=\"labels/cells\" index=3", Some("labels/cells"), &[3][..]),
        ("index=\"3, 0,12\"", None, &[3, 0, 12]),
        ("array=\"1\"", Some("1"), &[]),
    ] {
        let (image, _) = child(&format!("image \"logo.png\" {node}"));
        let Kind::Image(kinds::Image { conversion, .. }) = image.kind else {
            panic!("{image:?} is not an image");
        };
        assert_eq!(
            (conversion.array.as_deref(), &*conversion.index),
            (array, index),
            "{node}"
        );
    }
}

#[test]
fn an_image_says_what_a_file_without_a_header_holds() {
    use relief_design::{Raw, RawSample};
    for (text, sample, big_endian, offset) in [
        ("60x40 uint16", RawSample::Uint16, false, 0),
        ("60×40 float32 big", RawSample::Float32, true, 0),
        ("60x40  int8 +512 little", RawSample::Int8, false, 512),
    ] {
        let (image, _) = child(&format!("image \"logo.png\" raw=\"{text}\""));
        let Kind::Image(kinds::Image { conversion, .. }) = image.kind else {
            panic!("{image:?} is not an image");
        };
        let raw = Raw {
            width: 60,
            height: 40,
            sample,
            big_endian,
            offset,
        };
        assert_eq!(conversion.raw, Some(raw), "{text}");
    }
}

#[test]
fn heights_of_an_image_are_numbers_in_the_unit_of_its_file() {
    for (node, low, high) in [
        ("low=\"0um\" high=\"80um\" unit=\"um\"", 0.0, 80.0),
        ("low=\"-20nm\" high=\"0.08mm\" unit=\"nm\"", -20.0, 80_000.0),
        ("low=\"1mil\" high=3.5 unit=\"mm\"", 0.0254, 3.5),
        ("low=-1 high=1 unit=\"m\"", -1.0, 1.0),
    ] {
        let (image, _) = child(&format!("image \"logo.png\" {node}"));
        let Kind::Image(kinds::Image { conversion, .. }) = image.kind else {
            panic!("{image:?} is not an image");
        };
        assert_eq!(conversion.range, Some((low, high)), "{node}");
    }
}

#[test]
fn an_image_and_a_disc_have_their_own_size_until_one_is_given() {
    let (image, extent) = child("image \"logo.png\" x=3");
    assert_eq!(
        image.kind,
        Kind::Image(kinds::Image {
            path: "logo.png".into(),
            conversion: Conversion::default(),
            width: 60,
            height: 40
        })
    );
    assert_eq!(extent, (3, 0, 60, 40));
    let (disc, extent) = child("disc diameter=\"0.21mm\" value=7 width=30");
    assert_eq!(
        disc.kind,
        Kind::Disc(kinds::Disc {
            diameter: 21,
            value: 7
        })
    );
    assert_eq!(extent, (0, 0, 30, 21));
}

#[test]
fn a_flip_and_a_turn_have_the_size_of_their_source_until_one_is_given() {
    let logo = "(source)image \"logo.png\"";
    for (node, extent) in [
        ("flip axis=\"x\" { (source)image \"logo.png\" }", (0, 0, 60, 40)),
        ("turn { (source)image \"logo.png\" }", (0, 0, 40, 60)),
        ("turn quarters=2 { (source)image \"logo.png\" }", (0, 0, 60, 40)),
        (
            "turn quarters=3 x=9 { (source)image \"logo.png\" }",
            (9, 0, 40, 60),
        ),
        // To the far edges of the source, from where the node begins.
        (
            "turn { (source)image \"logo.png\" x=5 y=\"0.02mm\" }",
            (0, 0, 42, 65),
        ),
        (
            "flip axis=\"y\" { (source)image \"logo.png\" x=-7 y=-40 }",
            (0, 0, 53, 300),
        ),
        // One side that is given is the source's, not yet turned, or the node's own.
        ("turn { (source)image \"logo.png\" width=7 }", (0, 0, 40, 7)),
        ("turn width=7 { (source)image \"logo.png\" }", (0, 0, 7, 60)),
        // A source without a size of its own.
        ("turn { (source)noise seed=1 }", (0, 0, 400, 300)),
        ("turn { (source)noise seed=1 width=3 }", (0, 0, 400, 3)),
        (
            "turn { (source)repeat { (pattern)image \"logo.png\" } }",
            (0, 0, 400, 300),
        ),
        // Through nodes that have the size of what they show.
        (
            "turn { (source)flip axis=\"x\" { (source)image \"logo.png\" } }",
            (0, 0, 40, 60),
        ),
        (
            "turn { (source)map { (source)image \"logo.png\" x=1; invert } }",
            (0, 0, 40, 61),
        ),
        (
            "turn { (source)gauss sigma=2 { (source)image \"logo.png\" } }",
            (0, 0, 40, 60),
        ),
        (
            "turn { (source)compose { (base)image \"logo.png\"; (max)image \"cell.png\" x=-50 y=3 } }",
            (0, 0, 83, 60),
        ),
    ] {
        assert_eq!(child(node).1, extent, "{node}");
    }
    // Through a definition, with the offset of its node.
    let used = design(&format!(
        "define \"a\" {{ turn x=2 y=3 {{ {logo} }} }}\ncompose {{ (base)turn x=1 {{ (source)use \"a\" y=4 }} }}"
    ));
    let extent = used.node(used.root()).children[0].extent;
    assert_eq!((extent.x(), extent.width(), extent.height()), (1, 67, 42));
    // The frame of a source without a size is turned with it.
    let turned = design("turn { (source)noise seed=1 }");
    let source = turned.node(turned.root()).children[0].extent;
    assert_eq!((source.width(), source.height()), (300, 400));
    // Copies follow each other by the turned size.
    let repeat = root("repeat { (pattern)turn { (source)image \"logo.png\" } }");
    assert_eq!(
        repeat.kind,
        Kind::Repeat(kinds::Repeat {
            step_x: 40,
            step_y: 60
        })
    );
}

#[test]
fn a_gauss_takes_its_sigma_in_pixels_or_with_a_unit() {
    let gauss = |node: &str| match child(node).0.kind {
        Kind::Gauss(gauss) => gauss,
        kind => panic!("{kind:?}"),
    };
    let plain = gauss("gauss sigma=2.5 { (source)noise seed=1 }");
    assert_eq!(
        plain,
        gauss("gauss sigma=\"25um\" edge=\"clamp\" { (source)noise seed=1 }")
    );
    assert_eq!(plain.edge, kinds::Edge::Clamp);
    assert_eq!(plain.weights.len(), 11);
    // Of 2^16·e^(−k² / 2σ²) / Σ with σ = ½, by hand: Σ = 1 + 2·(e^−2 + e^−8).
    let narrow = gauss("gauss sigma=0.5 edge=\"wrap\" { (source)noise seed=1 }");
    assert_eq!(*narrow.weights, [51_550, 6_976, 17]);
    assert_eq!(
        gauss("gauss sigma=64 { (source)noise seed=1 }").weights.len(),
        257
    );
}

#[test]
fn a_median_takes_its_radius_in_pixels_or_with_a_unit_and_the_middle_by_default() {
    let median = |radius, rank, edge| Kind::Median(kinds::Median { radius, rank, edge });
    let clamp = kinds::Edge::Clamp;
    for (node, kind) in [
        ("median radius=1 { (source)noise seed=1 }", median(1, 5, clamp)),
        (
            "median radius=\"0.02mm\" { (source)noise seed=1 }",
            median(2, 13, clamp),
        ),
        (
            "median radius=16 { (source)noise seed=1 }",
            median(16, 545, clamp),
        ),
        (
            "median radius=16 rank=1089 edge=\"wrap\" { (source)noise seed=1 }",
            median(16, 1_089, kinds::Edge::Wrap),
        ),
        (
            "median radius=1 rank=1 edge=\"zero\" { (source)noise seed=1 }",
            median(1, 1, kinds::Edge::Zero),
        ),
    ] {
        assert_eq!(child(node).0.kind, kind, "{node}");
    }
}

#[test]
fn a_median_that_was_built_by_hand_keeps_the_rules_of_its_depth() {
    for (depth, radius, rank, rule) in [
        (8, 16, 1_089, None),
        (16, 8, 289, None),
        (8, 0, 1, Some("its radius, 0, is not 1 to 16")),
        (8, 17, 1, Some("its radius, 17, is not 1 to 16")),
        (16, 9, 1, Some("its radius, 9, is not 1 to 8")),
        (8, u32::MAX, 1, Some("its radius, 4294967295, is not 1 to 16")),
        (8, 2, 0, Some("its rank, 0, is not 1 to 25")),
        (8, 2, 26, Some("its rank, 26, is not 1 to 25")),
    ] {
        let text = format!(
            "relief version=1\ncanvas width=9 height=9 depth={depth}\nmedian radius=1 {{ (source)noise seed=1 }}"
        );
        let design = design_of(&text);
        let edge = kinds::Edge::Clamp;
        let median = kinds::Median { radius, rank, edge };
        let found = with_kind(&design, median.into())
            .err()
            .map(|error| error.to_string());
        let expected = rule.map(|rule| format!("node 1 of the design: {rule}"));
        assert_eq!(found, expected, "{depth} bits, radius {radius}, rank {rank}");
    }
}

#[test]
fn filters_take_their_values_and_what_holds_without_them() {
    let source = "{ (source)noise seed=1 }";
    let kind = |node: &str| child(&format!("{node} {source}")).0.kind;
    let (clamp, mirror) = (kinds::Edge::Clamp, kinds::Edge::Mirror);
    let radius = 3;
    assert_eq!(
        kind("box radius=3"),
        Kind::BoxMean(kinds::BoxMean { radius, edge: clamp })
    );
    assert_eq!(
        kind("box radius=\"0.03mm\" edge=\"mirror\""),
        Kind::BoxMean(kinds::BoxMean { radius, edge: mirror })
    );
    let (square, disc) = (kinds::Shape::Square, kinds::Shape::Disc);
    let erode = |shape, edge| Kind::Erode(kinds::Erode { radius, shape, edge });
    assert_eq!(kind("erode radius=3"), erode(square, clamp));
    assert_eq!(
        kind("erode radius=3 shape=\"disc\" edge=\"mirror\""),
        erode(disc, mirror)
    );
    assert_eq!(
        kind("sobel"),
        Kind::Sobel(kinds::Sobel {
            of: kinds::Component::Magnitude,
            edge: clamp
        })
    );
    let threshold = |law| {
        Kind::LocalThreshold(kinds::LocalThreshold {
            radius,
            law,
            edge: clamp,
        })
    };
    assert_eq!(
        kind("local-threshold radius=3"),
        threshold(kinds::LocalLaw::Mean { offset: 0 })
    );
    assert_eq!(
        kind("local-threshold radius=3 method=\"sauvola\""),
        threshold(kinds::LocalLaw::Sauvola { k: 0.2 })
    );
    assert_eq!(kind("rank radius=2 rank=3"), kind("median radius=2 rank=3"));
    assert_eq!(
        kind("normalise"),
        Kind::Normalise(kinds::Normalise {
            low: 0,
            high: 100_000
        })
    );
    assert_eq!(
        kind("normalise low=0.5 high=99.25"),
        Kind::Normalise(kinds::Normalise {
            low: 500,
            high: 99_250
        })
    );
    assert_eq!(
        kind("equalise limit=1.5"),
        Kind::Equalise(kinds::Equalise { limit: Some(98_304) })
    );
}

#[test]
fn a_kernel_is_divided_by_its_sum_where_that_is_above_0() {
    let convolve = |node: &str| match child(&format!("convolve {node} {{ (source)noise seed=1 }}"))
        .0
        .kind
    {
        Kind::Convolve(convolve) => (
            convolve.weights,
            convolve.columns,
            convolve.divisor,
            convolve.offset,
        ),
        kind => panic!("{kind:?}"),
    };
    assert_eq!(convolve("\"1 2 1\""), (vec![1, 2, 1], 3, 4, 0));
    assert_eq!(convolve("\"1;-2;1\" offset=-5"), (vec![1, -2, 1], 1, 1, -5));
    assert_eq!(convolve("\"-1\""), (vec![-1], 1, 1, 0));
    assert_eq!(convolve("\"1 2 1\" divisor=7"), (vec![1, 2, 1], 3, 7, 0));
}

#[test]
fn weights_of_a_bilateral_fall_from_the_middle() {
    let bilateral = |values: &str| match child(&format!("bilateral {values} {{ (source)noise seed=1 }}"))
        .0
        .kind
    {
        Kind::Bilateral(bilateral) => bilateral,
        kind => panic!("{kind:?}"),
    };
    // 4 096·e^(−1/2) = 2 484.4, ·e^(−1) = 1 506.8, ·e^(−2) = 554.3, ·e^(−5/2) = 336.2, ·e^(−4) = 75.02, and those over them.
    let found = bilateral("sigma=1 range=1");
    assert_eq!(found.radius, 2);
    let row = |at: usize| found.space[5 * at..5 * at + 5].to_vec();
    assert_eq!(row(2), [554, 2_484, 4_096, 2_484, 554]);
    assert_eq!(
        (row(0), row(1)),
        (vec![75, 336, 554, 336, 75], vec![336, 1_507, 2_484, 1_507, 336])
    );
    assert_eq!((row(3), row(4)), (row(1), row(0)));
    assert_eq!(*found.range, [4_096, 2_484, 554, 46, 1]);
    // However small or great they are.
    assert_eq!(*bilateral("sigma=0.001 range=0.001").range, [4_096]);
    assert_eq!(*bilateral("sigma=8 range=1000000").range, [4_096; 256]);
}

#[test]
fn a_resized_source_reaches_from_the_corner_to_its_end() {
    let resize = |node: &str| {
        let (node, extent) = child(node);
        match node.kind {
            Kind::Resize(resize) => (resize, (extent.2, extent.3)),
            kind => panic!("{kind:?}"),
        }
    };
    let (plain, size) = resize("resize width=200 height=100 { (source)image \"logo.png\" }");
    assert_eq!((plain.source, size), ((60, 40), (200, 100)));
    assert_eq!(
        (plain.by, plain.edge),
        (kinds::Resampling::Cubic, kinds::Edge::Clamp)
    );
    let (moved, size) = resize("resize by=\"box\" { (source)image \"logo.png\" x=5 y=-8 }");
    assert_eq!((moved.source, size), ((65, 32), (65, 32)));
    // A source without a size of its own has that of the node.
    assert_eq!(
        resize("resize width=30 { (source)noise seed=1 }").0.source,
        (30, 300)
    );
}

#[test]
fn an_affine_is_a_matrix_around_the_middle() {
    let affine = |text: &str| {
        let (node, extent) = child(text);
        match &node.kind {
            Kind::Affine(affine) => (affine.clone(), (extent.2, extent.3)),
            other => panic!("{other:?}"),
        }
    };
    let one = 1_i64 << 40;
    // It has the size of its source.
    let (plain, size) = affine("affine { (source)image \"logo.png\" }");
    assert_eq!((plain.inverse, size), ([[one, 0], [0, one]], (60, 40)));
    assert_eq!((plain.source, plain.shift), ((60, 40), [0, 0]));
    assert_eq!(
        (plain.by, plain.edge),
        (kinds::Resampling::Cubic, kinds::Edge::Zero)
    );
    let (turned, _) =
        affine("affine angle=90 scale=2 scale-y=-4 by=\"nearest\" { (source)image \"logo.png\" }");
    assert_eq!(turned.inverse, [[0, one / 2], [one / 4, 0]]);
    assert_eq!(turned.by, kinds::Resampling::Box);
    let (moved, _) = affine("affine shift-x=\"1/4px\" shift-y=-2 shear=0.5 { (source)image \"logo.png\" }");
    assert_eq!(
        (moved.shift, moved.inverse),
        ([16_384, -131_072], [[one, -one / 2], [0, one]])
    );
}

#[test]
fn a_dither_is_a_halftone_of_a_matrix() {
    let dither = |text: &str| match child(&format!("{text} {{ (source)noise seed=1 }}")).0.kind {
        Kind::Dither(dither) => dither.halftone,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        dither("dither \"bayer\" size=4 spot=\"0.03mm\""),
        Halftone::Bayer { size: 4, spot: 3 }
    );
    assert_eq!(dither("dither \"blue-noise\""), Halftone::BLUE_NOISE);
    assert_eq!(
        dither("dither \"threshold\" level=9"),
        Halftone::Threshold { level: 9 }
    );
    let Halftone::Screen(screen) = dither("dither \"screen\" frequency=\"254lpi\" angle=0 dot=\"line\"")
    else {
        panic!("no screen");
    };
    // 10 pixels of 10 µm apart, and as many dots as make 256 pixels.
    assert_eq!((screen.vector, screen.cells), ((20, 0), 2));
}

#[test]
fn cells_of_a_texture_close_after_its_period() {
    let cells = |text: &str| match child(text).0.kind {
        Kind::Perlin(perlin) => perlin.cells,
        Kind::Worley(worley) => worley.cells,
        other => panic!("{other:?}"),
    };
    let of = |count, pixels, wraps| kinds::Cells { count, pixels, wraps };
    assert_eq!(cells("perlin seed=1 size=40"), [of(1, 40, false); 2]);
    // 8.5 cells are 9, and there is one at least.
    assert_eq!(
        cells("worley seed=1 size=40 period-x=340 period-y=\"0.1mm\""),
        [of(9, 340, true), of(1, 10, true)]
    );
}

#[test]
fn a_gradient_reaches_over_its_node_where_nothing_is_said() {
    let of = |text: &str| match child(text).0.kind {
        Kind::Gradient(gradient) => gradient,
        other => panic!("{other:?}"),
    };
    let stop = |at, value| kinds::Stop { at, value };
    let one = kinds::GRADIENT_ONE;
    let (width, height) = (400 * 256, 300 * 256);
    let across = of("gradient \"linear\"");
    assert_eq!(*across.stops, [stop(0, 0), stop(one, 255)]);
    assert_eq!(across.spread, kinds::Spread::Pad);
    let linear = |from, to| kinds::GradientKind::Linear { from, to };
    assert_eq!(across.kind, linear((0, 0), (width, 0)));
    for (text, from, to) in [
        ("from-x=20 from-y=10", (5_120, 2_560), (width, 2_560)),
        ("to-y=7", (0, 0), (0, 1_792)),
        ("from-x=9 to-y=7", (2_304, 0), (2_304, 1_792)),
        ("to-x=\"0.1mm\" from-y=3", (0, 768), (2_560, 768)),
        // To the nearest 1/256 px, halves up.
        (
            "from-x=\"1/3px\" to-x=\"3/512px\" to-y=\"-3/512px\"",
            (85, 0),
            (2, -1),
        ),
    ] {
        assert_eq!(
            of(&format!("gradient \"linear\" {text}")).kind,
            linear(from, to),
            "{text}"
        );
    }
    let middle = (width / 2, height / 2);
    let radial = |centre, inner, radius| kinds::GradientKind::Radial {
        centre,
        inner,
        radius,
    };
    // The diagonal of 400 × 300 is 500.
    assert_eq!(of("gradient \"radial\"").kind, radial(middle, 0, 250 * 256));
    assert_eq!(
        of("gradient \"radial\" centre-x=0 centre-y=0 inner=\"0.01mm\"").kind,
        radial((0, 0), 256, 500 * 256)
    );
    assert_eq!(
        of("gradient \"radial\" width=20 height=30 radius=4").kind,
        radial((2_560, 3_840), 0, 1_024)
    );
    let conical = |centre, start| kinds::GradientKind::Conical { centre, start };
    assert_eq!(of("gradient \"conical\"").kind, conical(middle, 0));
    assert_eq!(
        of("gradient \"conical\" angle=-45 centre-y=2").kind,
        conical((middle.0, 512), 7 << 29)
    );
    let stops = of(
        "gradient \"radial\" spread=\"mirror\" { stop at=0.25 value=\"50%\"; stop at=\"200/3%\" value=0; stop at=\"200/3%\" value=\"100%\" }",
    );
    assert_eq!(
        *stops.stops,
        [stop(one / 4, 128), stop(11_184_811, 0), stop(11_184_811, 255)]
    );
    assert_eq!(stops.spread, kinds::Spread::Mirror);
    let deep = design_of(
        "relief version=1\ncanvas width=9 height=9 bits=16 amplitude=\"1mm\"\ngradient \"linear\" { stop at=0 value=\"0.5mm\"; stop at=1 value=\"10%\" }",
    );
    match &deep.node(deep.root()).kind {
        Kind::Gradient(gradient) => assert_eq!(*gradient.stops, [stop(0, 32_768), stop(one, 6_554)]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn gradients_that_were_built_by_hand_keep_their_rules() {
    let stop = |at, value| kinds::Stop { at, value };
    let one = kinds::GRADIENT_ONE;
    let stops = [stop(0, 0), stop(one, 255)];
    let is_valid = |kind, spread, stops: &[kinds::Stop]| {
        let gradient = kinds::Gradient {
            kind,
            spread,
            stops: stops.into(),
        };
        let node = Node {
            kind: gradient.into(),
            ..root("fill value=0")
        };
        Design::new(design("fill value=0").canvas(), vec![node], None).is_ok()
    };
    let pad = kinds::Spread::Pad;
    let line = |to| kinds::GradientKind::Linear { from: (0, 0), to };
    let ring = |inner, radius| kinds::GradientKind::Radial {
        centre: (0, 0),
        inner,
        radius,
    };
    let cone = |x| kinds::GradientKind::Conical {
        centre: (x, 0),
        start: 7,
    };
    for kind in [
        line((0, -1)),
        line((1 << 48, 0)),
        ring(0, 1),
        ring(5, 1 << 50),
        cone(-(1 << 48)),
    ] {
        assert!(is_valid(kind, pad, &stops), "{kind:?}");
    }
    for kind in [
        line((0, 0)),
        line((i64::MIN, 0)),
        ring(-1, 1),
        ring(1, 1),
        ring(0, i64::MAX),
        cone(1 << 49),
    ] {
        assert!(!is_valid(kind, pad, &stops), "{kind:?}");
    }
    assert!(!is_valid(cone(0), kinds::Spread::Repeat, &stops));
    let many = vec![stop(0, 0); kinds::MAX_STOPS + 1];
    for stops in [
        &[][..],
        &stops[..1],
        &[stop(1, 0), stop(0, 0)],
        &[stop(0, 0), stop(one + 1, 0)],
        &[stop(0, 256); 2],
        &many,
    ] {
        assert!(!is_valid(line((1, 1)), pad, stops), "{stops:?}");
    }
}

#[test]
fn a_seamless_source_is_wider_and_higher_by_the_overlap() {
    let (node, extent) = child("seamless overlap=10 { (source)image \"logo.png\" }");
    assert_eq!(node.kind, Kind::Seamless(kinds::Seamless { overlap: 10 }));
    assert_eq!((extent.2, extent.3), (50, 30));
    let (node, _) = child("seamless overlap=\"0.1mm\" width=200 { (source)noise seed=1 }");
    let source = node.children[0].extent;
    assert_eq!((source.width(), source.height()), (210, 310));
}

#[test]
fn words_that_stand_for_other_filters_become_those() {
    let kinds_of = |node: &str| {
        let text = format!("relief version=1\ncanvas width=9 height=9\n{node} {{ (source)noise seed=1 }}");
        let design = design_of(&text);
        assert!(valid(&design).is_ok());
        design
            .nodes()
            .iter()
            .map(|node| node.kind.name())
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds_of("open radius=2"), ["noise", "erode", "dilate"]);
    assert_eq!(kinds_of("close radius=2"), ["noise", "dilate", "erode"]);
    assert_eq!(
        kinds_of("top-hat radius=2"),
        ["noise", "erode", "dilate", "compose"]
    );
    assert_eq!(
        kinds_of("top-hat radius=2 of=\"dark\""),
        ["noise", "dilate", "erode", "compose"]
    );
    assert_eq!(kinds_of("rank radius=2 rank=4"), ["noise", "median"]);
}

#[test]
fn filters_that_were_built_by_hand_keep_their_rules() {
    let edge = kinds::Edge::Clamp;
    let shape = kinds::Shape::Disc;
    let convolve = |weights: &[i32], columns, divisor, offset| kinds::Convolve {
        weights: weights.to_vec(),
        columns,
        divisor,
        offset,
        edge,
    };
    let local = |radius, law| kinds::LocalThreshold { radius, law, edge };
    let sharpen = |weights: &[u32], amount, threshold| kinds::Sharpen {
        weights: weights.into(),
        amount,
        threshold,
        edge,
    };
    let bilateral = |radius, space: &[u16], range: &[u16]| kinds::Bilateral {
        radius,
        space: space.into(),
        range: range.into(),
        edge,
    };
    let flat = [4_096; 9];
    let (bell, mean, sauvola) = (
        [65_536],
        |offset| kinds::LocalLaw::Mean { offset },
        |k| kinds::LocalLaw::Sauvola { k },
    );
    let affine = |a, s, side| kinds::Affine {
        by: kinds::Resampling::Linear,
        inverse: [[a, 0], [0, 1]],
        shift: [0, s],
        source: (side, 1),
        edge,
    };
    let perlin = |octaves, count, pixels| kinds::Perlin {
        seed: 0,
        cells: [kinds::Cells {
            count,
            pixels,
            wraps: true,
        }; 2],
        octaves,
    };
    let dither = |halftone| kinds::Dither {
        halftone,
        asked_screen: None,
    };
    let right: [Kind; 11] = [
        perlin(8, 1 << 40, 1 << 40).into(),
        dither(Halftone::bayer(16)).into(),
        affine(-64 << 40, 1 << 40, 1 << 24).into(),
        kinds::BoxMean { radius: 256, edge }.into(),
        kinds::Dilate {
            radius: 1,
            shape,
            edge,
        }
        .into(),
        convolve(&[1; 225], 15, 1, 0).into(),
        local(127, mean(-65_535)).into(),
        sharpen(&bell, 100.0, 255).into(),
        bilateral(1, &flat, &[4_096, 7]).into(),
        kinds::Normalise { low: 0, high: 1 }.into(),
        kinds::Equalise { limit: Some(1 << 16) }.into(),
    ];
    let wrong: [Kind; 30] = [
        perlin(0, 1, 1).into(),
        perlin(1, 3, 2).into(),
        perlin(9, 1, 1).into(),
        perlin(1, 0, 1).into(),
        perlin(1, 1, (1 << 40) + 1).into(),
        dither(Halftone::bayer(3)).into(),
        dither(Halftone::FLOYD_STEINBERG).into(),
        dither(Halftone::Threshold { level: 256 }).into(),
        affine((64 << 40) + 1, 0, 1).into(),
        affine(0, i64::MIN, 1).into(),
        affine(0, 0, (1 << 24) + 1).into(),
        kinds::BoxMean { radius: 0, edge }.into(),
        kinds::BoxMean { radius: 257, edge }.into(),
        kinds::Erode {
            radius: 257,
            shape,
            edge,
        }
        .into(),
        convolve(&[], 1, 1, 0).into(),
        convolve(&[1; 9], 0, 1, 0).into(),
        convolve(&[1; 6], 3, 1, 0).into(),
        convolve(&[32_768], 1, 1, 0).into(),
        convolve(&[1], 1, 0, 0).into(),
        convolve(&[1], 1, 1, 65_536).into(),
        local(128, mean(0)).into(),
        local(1, mean(i32::MIN)).into(),
        local(1, sauvola(f64::NAN)).into(),
        sharpen(&[65_535], 1.0, 0).into(),
        sharpen(&bell, f64::NAN, 0).into(),
        sharpen(&bell, 1.0, 256).into(),
        bilateral(1, &[4_095; 9], &[4_096]).into(),
        bilateral(1, &flat, &[]).into(),
        kinds::Normalise { low: 5, high: 5 }.into(),
        kinds::Equalise { limit: Some(3) }.into(),
    ];
    let text = "relief version=1\ncanvas width=9 height=9 depth=8\nbox radius=1 { (source)noise seed=1 }";
    let is_valid = |kind: &Kind| {
        // A kind without children in the place of the noise.
        let place = usize::from(!kind.signature().children.is_empty());
        let design = design_of(text);
        let mut nodes = design.nodes().to_vec();
        nodes[place].kind = kind.clone();
        Design::new(design.canvas(), nodes, None).is_ok()
    };
    for kind in &right {
        assert!(is_valid(kind), "{kind:?}");
    }
    for kind in &wrong {
        assert!(!is_valid(kind), "{kind:?}");
    }
}

#[test]
fn the_root_has_the_size_of_the_canvas_whatever_it_is() {
    for node in [
        "image \"logo.png\"",
        "disc diameter=5 value=1 x=0 width=400 height=\"3mm\"",
        "define \"a\" { disc diameter=5 value=1 }; use \"a\"",
    ] {
        let root = root(node);
        assert_eq!((root.width, root.height), (400, 300), "{node}");
    }
}

#[test]
fn simple_kinds_keep_their_values() {
    assert_eq!(
        child("ramp axis=\"x\" from=200 to=10").0.kind,
        Kind::Ramp(kinds::Ramp {
            axis: Axis::X,
            from: 200,
            to: 10
        })
    );
    assert_eq!(
        child("noise seed=18446744073709551615").0.kind,
        Kind::Noise(kinds::Noise { seed: u64::MAX })
    );
    assert_eq!(
        child("noise seed=-1").0.kind,
        Kind::Noise(kinds::Noise { seed: u64::MAX })
    );
    assert_eq!(
        child("noise seed=0xFF").0.kind,
        Kind::Noise(kinds::Noise { seed: 255 })
    );
    assert_eq!(
        child("threshold level=128 { (source)fill value=2 }").0.kind,
        Kind::Threshold(kinds::Threshold { level: 128 })
    );
}

#[test]
fn the_step_of_a_repeat_is_the_extent_of_its_pattern_by_default() {
    let repeat = child("repeat step-y=200 { (pattern)image \"cell.png\" x=-7 }").0;
    assert_eq!(
        repeat.kind,
        Kind::Repeat(kinds::Repeat {
            step_x: 100,
            step_y: 200
        })
    );
    assert_eq!(
        (repeat.children[0].role, repeat.children[0].extent.x()),
        (Role::Pattern, -7)
    );
    assert_eq!(
        child("repeat { (pattern)fill value=1 }").0.kind,
        Kind::Repeat(kinds::Repeat {
            step_x: 400,
            step_y: 300
        })
    );
}

#[test]
fn a_lattice_takes_lengths_and_every_blend() {
    for (word, blend) in [
        ("mean", Blend::Mean),
        ("max", Blend::Max),
        ("min", Blend::Min),
        ("sum", Blend::Sum),
        ("last", Blend::Last),
    ] {
        let lattice = child(&format!(
            "lattice blend={word} {{ u \"0.9mm\" 20; v -15 \"0.85mm\"; (pattern)image \"cell.png\" }}"
        ))
        .0;
        let period = Period::spanned((90, 20), (-15, 85)).unwrap();
        assert_eq!(
            lattice.kind,
            Kind::Lattice(kinds::Lattice {
                blend,
                u: (90, 20),
                v: (-15, 85),
                denominators: (1, 1),
                period
            })
        );
    }
    let lattice = child("lattice { v 0 50; (pattern)disc diameter=60 value=1; u 50 0 }").0;
    assert!(matches!(
        lattice.kind,
        Kind::Lattice(kinds::Lattice {
            blend: Blend::Mean,
            u: (50, 0),
            v: (0, 50),
            ..
        })
    ));
}

#[test]
fn a_profile_of_points_is_linear_and_its_beyond_is_its_value_at_the_radius() {
    let distance = child(
        "distance radius=\"40um\" { (mask)image \"logo.png\"; profile { point 1 200; point \"35um\" 100 } }",
    )
    .0;
    let Kind::Distance(kinds::Distance {
        radius,
        profile,
        beyond,
    }) = distance.kind
    else {
        panic!("a distance")
    };
    assert_eq!((radius, beyond, profile.len()), (4, 100, 17));
    assert_eq!(
        (profile[0], profile[1], profile[4], profile[9], profile[16]),
        (200, 200, 160, 120, 100)
    );
    let distance = child("distance radius=0 { (mask)image \"logo.png\"; profile \"7\" beyond=9 }").0;
    let Kind::Distance(kinds::Distance {
        radius,
        profile,
        beyond,
    }) = distance.kind
    else {
        panic!("a distance")
    };
    assert_eq!((radius, profile.to_vec(), beyond), (0, vec![7], 9));
}

#[test]
fn every_map_has_a_table_of_all_samples() {
    for (function, at_0, at_100, at_255) in [
        ("gamma 2", 0, 39, 255),
        ("invert", 255, 155, 0),
        ("levels 100 200 255 5", 255, 255, 5),
        ("curve { point 0 10; point 200 110 }", 10, 60, 110),
        ("expression \"v / 2 + 1\"", 1, 51, 129),
    ] {
        let map = child(&format!("map {{ (source)image \"logo.png\"; {function} }}")).0;
        let Kind::Map(kinds::Map { table }) = map.kind else {
            panic!("a map")
        };
        assert_eq!(
            (table.len(), table[0], table[100], table[255]),
            (256, at_0, at_100, at_255),
            "{function}"
        );
    }
}

#[test]
fn a_curve_that_meets_a_half_exactly_rounds_away_from_zero() {
    let map = child("map { (source)image \"logo.png\"; curve { point 0 0; point 100 50 } }").0;
    let Kind::Map(kinds::Map { table }) = map.kind else {
        panic!("a map")
    };
    for v in 0..=100_u16 {
        assert_eq!(table[usize::from(v)], v.div_ceil(2), "{v}");
    }
}

#[test]
fn compose_keeps_the_order_and_the_roles() {
    let text: String = Role::ALL[3..]
        .iter()
        .map(|role| format!("({})fill value=1\n", role.name()))
        .collect();
    let root = root(&format!("compose {{\n{text}(mask)fill value=1\n}}"));
    let roles: Vec<Role> = root.children.iter().map(|child| child.role).collect();
    let mut expected = Role::ALL[3..].to_vec();
    expected.push(Role::Mask);
    assert_eq!(roles, expected);
}

#[test]
fn a_definition_used_twice_at_one_size_is_one_node_with_two_offsets() {
    let design = design(
        "compose {\n(add)use \"dot\" x=10\n(add)use \"dot\" y=20\n(add)use \"late\"\n(add)compose width=9 height=9 { (add)use \"late\" }\n}\n\
         define \"dot\" { disc diameter=5 value=9 x=1 y=2 }\ndefine \"late\" { fill value=1 }",
    );
    let children = &design.node(design.root()).children;
    assert_eq!(children[0].node, children[1].node);
    let offsets: Vec<(i64, i64)> = children.iter().map(|c| (c.extent.x(), c.extent.y())).collect();
    assert_eq!(offsets, [(11, 2), (1, 22), (0, 0), (0, 0)]);
    // In a smaller parent the same definition is another node.
    let inner = design.node(children[3].node).children[0];
    assert_ne!(inner.node, children[2].node);
    assert_eq!((inner.extent.width(), children[2].extent.width()), (9, 400));
    assert_eq!(design.nodes().len(), 5);
}

#[test]
fn children_stand_before_their_parents_and_agree_on_their_size() {
    let design = design(
        "define \"a\" { repeat { (pattern)image \"cell.png\" } }\ndefine \"b\" { map { (source)use \"a\" x=3; invert } }\n\
         compose {\n(base)use \"b\"\n(add)use \"a\"\n(mask)threshold level=3 { (source)use \"b\" x=-4 y=-4 }\n}",
    );
    for (i, node) in design.nodes().iter().enumerate() {
        for child in &node.children {
            assert!(child.node.0 < i);
            let inner = design.node(child.node);
            assert_eq!(
                (child.extent.width(), child.extent.height()),
                (inner.width, inner.height)
            );
        }
    }
}

/// The outlines of a drawing, in 1/256 px, and its grays.
fn outlines(kind: &Kind) -> (Vec<Vec<(i64, i64)>>, Vec<u16>) {
    let drawn = match kind {
        Kind::Rectangle(kind) => &kind.drawn,
        Kind::Polygon(kind) => &kind.drawn,
        Kind::Line(kind) => &kind.drawn,
        Kind::Path(kind) => &kind.drawn,
        Kind::Marks(kind) => &kind.drawn,
        other => panic!("{} draws nothing", other.name()),
    };
    let elements = drawn.drawing.cells().iter().flat_map(|cell| &cell.elements);
    let numbers = elements.clone().flat_map(|element| element.outlines.clone());
    (
        numbers
            .map(|number| drawn.drawing.outline(number).to_vec())
            .collect(),
        elements.map(|element| element.value).collect(),
    )
}

#[test]
fn shapes_have_exact_places_whatever_the_rounding_of_lengths() {
    // 1/3 px is 85 of 256, 12.5 µm are 1.25 px.
    let (node, extent) = child("rectangle size-x=\"37/3\" size-y=\"12.5um\" shift-x=\"1/3\" value=7 x=5");
    let (outlines_of, values) = outlines(&node.kind);
    assert_eq!(outlines_of, [[(85, 0), (3_243, 0), (3_243, 320), (85, 320)]]);
    assert_eq!((values, extent), (vec![7 * 257], (5, 0, 13, 2)));

    let (node, extent) = child("polygon value=255 { vertex 1 2; vertex \"0.1mm\" 2.5; vertex -4 \"3px\" }");
    assert_eq!(
        outlines(&node.kind).0,
        [[(256, 512), (2_560, 640), (-1_024, 768)]]
    );
    assert_eq!(extent, (0, 0, 10, 3));
    let boxed = "polygon value=255 origin=\"box\" { vertex 1 2; vertex 10 2.5; vertex -4 3 }";
    assert_eq!(child(boxed).1, (0, 0, 14, 1));

    let (node, _) = child("line stroke=3 value=1 { vertex 2 5; vertex 9 5 }");
    let (mut corners, _) = outlines(&node.kind);
    corners[0].sort_unstable();
    assert_eq!(
        corners,
        [[(512, 896), (512, 1_664), (2_304, 896), (2_304, 1_664)]]
    );

    let both = "path \"M0 0H4V2Z\" unit=\"20um\" fill=\"evenodd\" stroke=1 stroke-value=9 value=3";
    let (node, extent) = child(both);
    let (outlines_of, values) = outlines(&node.kind);
    assert_eq!(outlines_of[0], [(0, 0), (2_048, 0), (2_048, 1_024)]);
    assert_eq!((values, extent.2), (vec![3 * 257, 9 * 257], 9));
}

#[test]
fn marks_lie_at_exact_places() {
    // The rectangle that is cut out begins 13 px within the node; half of a line lies on either side of its sides.
    let (node, extent) = child("marks \"crop\" size-x=40 size-y=20 length=12 gap=1 stroke=1 value=9 x=2 y=3");
    let (mut found, values) = outlines(&node.kind);
    let bar = |left: i64, top: i64, right: i64, bottom: i64| {
        [(left, top), (right, top), (right, bottom), (left, bottom)]
            .map(|(x, y)| (x * 128, y * 128))
            .to_vec()
    };
    let mut expected = vec![
        bar(0, 25, 24, 27),
        bar(108, 25, 132, 27),
        bar(0, 65, 24, 67),
        bar(108, 65, 132, 67),
        bar(25, 0, 27, 24),
        bar(25, 68, 27, 92),
        bar(105, 0, 107, 24),
        bar(105, 68, 107, 92),
    ];
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!((values, extent), (vec![9 * 257], (2, 3, 66, 46)));

    let (node, extent) = child("marks \"cross\" size-x=10 size-y=7 stroke=1 value=9");
    assert_eq!(outlines(&node.kind).0, [bar(0, 6, 20, 8), bar(9, 0, 11, 14)]);
    assert_eq!(extent, (0, 0, 10, 7));
}

#[test]
fn a_canvas_takes_the_size_of_a_picture_that_the_design_shows() {
    let shown = design_of(
        "relief version=1\ncanvas from=\"logo.png\" pixel=\"10um\"\ngauss sigma=2 { (source)image \"logo.png\" }",
    );
    let root = shown.node(shown.root());
    assert_eq!((root.width, root.height), (60, 40));
}

/// Pictures of which only what is said of them tells the size.
struct Headless;

impl ImageSource for Headless {
    fn open(&self, path: &str, conversion: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        let size = match (
            &conversion.raw,
            conversion.array.as_deref(),
            &conversion.index[..],
        ) {
            (Some(raw), ..) => (raw.width, raw.height),
            (None, Some("labels"), [number]) => (40, 30 + number),
            _ => return Err(ImageError::new(format!("{path} does not say its size"))),
        };
        (move |_: &str| Ok(size)).open(path, conversion)
    }
}

#[test]
fn a_canvas_takes_the_size_of_a_picture_without_a_header_and_of_a_chosen_array() {
    let size = |canvas: &str, image: &str| {
        let text = format!("relief version=1\ncanvas from=\"a\" {canvas}\nimage \"a\" {image}");
        let design = parse("test.kdl", &text, &Headless).map_err(|report| report.problems()[0].code())?;
        let root = design.node(design.root());
        Ok((root.width, root.height))
    };
    let raw = "raw=\"300x200 uint16\"";
    assert_eq!(size(raw, raw), Ok((300, 200)));
    let array = "array=\"labels\" index=3";
    assert_eq!(size(array, array), Ok((40, 33)));
    assert_eq!(size("", raw), Err("E505"));
    assert_eq!(size("raw=\"300 by 200\"", raw), Err("E402"));
    // They are of the picture that `from` names.
    let text = format!("relief version=1\ncanvas width=9 height=9 {raw}\nimage \"a\" {raw}");
    let report = parse("test.kdl", &text, &Headless).unwrap_err();
    assert_eq!(report.problems()[0].code(), "E505");
}

#[test]
fn rectangles_of_a_definition_are_drawn_once() {
    let text = "define \"r\" { rectangle size-x=3.5 size-y=2 value=9 }\n\
                compose {\n(base)use \"r\"\n(add)use \"r\" x=9\n}";
    let design = design(text);
    assert_eq!(design.nodes().len(), 2);
    assert_eq!(valid(&design), Ok(()));
}

/// X, y, columns and rows.
type Placed = (i64, i64, u64, u64);

/// Left, top, right and bottom.
type Pixels = (i64, i64, i64, i64);

/// The one child of a root that composes it, with drawings: its extent, and the pixels that it is drawn in.
fn drawn_child(node: &str) -> (Placed, Option<Pixels>) {
    let drawings = files::Drawings(&[(
        "half.svg",
        "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'><rect width='40' height='10' fill='#fff'/></svg>",
    )]);
    let text = format!(
        "relief version=1\ncanvas width=4000 height=3000 pixel=\"1um\"\ncompose {{\n(base){node}\n}}"
    );
    let design = parse("test.kdl", &text, &drawings).unwrap_or_else(|report| panic!("{report:?}"));
    assert_eq!(valid(&design), Ok(()));
    let child = design.node(design.root()).children[0];
    let drawn = match &design.node(child.node).kind {
        Kind::Svg(kind) => kind.drawn.clone(),
        Kind::Gds(kind) => kind.drawn.clone(),
        Kind::Oasis(kind) => kind.drawn.clone(),
        Kind::Dxf(kind) => kind.drawn.clone(),
        Kind::Gerber(kind) => kind.drawn.clone(),
        Kind::Text(kind) => kind.drawn.clone(),
        other => panic!("{} is of no file", other.name()),
    };
    let extent = child.extent;
    (
        (extent.x(), extent.y(), extent.width(), extent.height()),
        drawn.drawing.pixels(),
    )
}

#[test]
fn drawings_fill_their_nodes_as_fit_says() {
    for (node, size, pixels) in [
        // Its own size, and one side that follows from the other, halves up.
        ("svg \"half.svg\"", (40, 20), (0, 0, 40, 10)),
        ("svg \"half.svg\" width=100", (100, 50), (0, 0, 100, 25)),
        ("svg \"half.svg\" height=\"0.01mm\"", (20, 10), (0, 0, 20, 5)),
        (
            "svg \"half.svg\" width=\"50%\"",
            (2_000, 1_000),
            (0, 0, 2_000, 500),
        ),
        ("svg \"half.svg\" width=25", (25, 13), (0, 0, 25, 7)),
        // Both sides: the rest is 0 on both sides alike, or what is too much is cut off there.
        ("svg \"half.svg\" width=80 height=80", (80, 80), (0, 20, 80, 40)),
        (
            "svg \"half.svg\" width=80 height=80 fit=\"cover\"",
            (80, 80),
            (-40, 0, 120, 40),
        ),
        (
            "svg \"half.svg\" width=80 height=80 fit=\"stretch\"",
            (80, 80),
            (0, 0, 80, 40),
        ),
        ("svg \"half.svg\" width=80 fit=\"none\"", (80, 20), (0, 0, 40, 10)),
    ] {
        let (extent, found) = drawn_child(node);
        assert_eq!((extent.2, extent.3), size, "{node}");
        assert_eq!(found, Some(pixels), "{node}");
    }
}

#[test]
fn a_drawing_that_fills_the_canvas_is_scaled_where_its_fit_is_written() {
    const PAGE: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'><rect y='10' width='40' height='10' fill='#fff'/></svg>";
    let drawings = files::Drawings(&[("page.svg", PAGE)]);
    for (node, canvas, pixels, warnings) in [
        // As its file has it, as a picture is.
        ("svg \"page.svg\"", (80, 80), (0, 10, 40, 20), 0),
        ("svg \"page.svg\"", (8, 8), (0, 10, 40, 20), 1),
        ("svg \"page.svg\" fit=\"none\"", (40, 15), (0, 10, 40, 20), 0),
        ("svg \"page.svg\" fit=\"contain\"", (80, 80), (0, 40, 80, 60), 0),
        ("svg \"page.svg\" fit=\"contain\"", (8, 8), (0, 4, 8, 6), 0),
        ("svg \"page.svg\" fit=\"cover\"", (80, 80), (-40, 40, 120, 80), 0),
        ("svg \"page.svg\" fit=\"stretch\"", (80, 80), (0, 40, 80, 80), 0),
        ("svg \"page.svg\" fit=\"stretch\"", (40, 20), (0, 10, 40, 20), 0),
    ] {
        for text in [
            node.to_owned(),
            format!("define \"page\" {{ {node} }}\nuse \"page\""),
        ] {
            let (width, height) = canvas;
            let text = format!("relief version=1\ncanvas width={width} height={height}\n{text}");
            let (design, told) = read_with_warnings(&text, &drawings);
            let Kind::Svg(kind) = &design.node(design.root()).kind else {
                panic!("{text} is no drawing")
            };
            assert_eq!(kind.drawn.drawing.pixels(), Some(pixels), "{text}");
            assert_eq!(told.len(), warnings, "{text}: {told:?}");
            assert!(
                told.iter().all(|told| told.starts_with("W202")),
                "{text}: {told:?}"
            );
        }
    }
}

/// A design with the codes and messages of its warnings.
fn read_with_warnings(text: &str, files: &files::Drawings) -> (Design, Vec<String>) {
    let reading = read("test.kdl", text, files, &[])
        .unwrap_or_else(|report| panic!("{text}\n{:#?}", report.problems()));
    let told = reading.warnings.iter().flat_map(|report| report.problems());
    let told = told.map(|told| format!("{} {}", told.code(), told.message()));
    (reading.design, told.collect())
}

#[test]
fn texts_of_an_svg_are_those_of_a_text_node() {
    // The ascent of the font is 974 of 1 000, so a text node of this size has its baseline there.
    const LABEL: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='4000' height='2000'><text y='974' font-size='1000'>AVATAR fi</text></svg>";
    let drawn = |node: &str| {
        let text = format!("relief version=1\ncanvas width=8000 height=3000\ncompose {{\n(base){node}\n}}");
        let (design, warnings) = read_with_warnings(&text, &files::Drawings(&[("label.svg", LABEL)]));
        let child = design.node(design.root()).children[0];
        let drawn = match &design.node(child.node).kind {
            Kind::Svg(kind) => kind.drawn.clone(),
            Kind::Text(kind) => kind.drawn.clone(),
            other => panic!("{} is of no file", other.name()),
        };
        (drawn.drawing, warnings)
    };
    let text = drawn("text \"AVATAR fi\" font=\"plate.ttf\" size=1000 value=255");
    let svg = drawn("svg \"label.svg\" gray=\"ink\" font=\"plate.ttf\"");
    assert_eq!(svg.1, Vec::<String>::new());
    assert_eq!(svg.0.bounds(), text.0.bounds());
    assert_eq!(svg.0.points(), text.0.points());
    // Twice as large by its node, and by the only font that stands between braces.
    let text = drawn("text \"AVATAR fi\" font=\"plate.ttf\" size=2000 value=255");
    let svg = drawn("svg \"label.svg\" gray=\"ink\" width=8000 { font \"plate.ttf\" }");
    assert_eq!(svg.0.bounds(), text.0.bounds());
    // Without a font, which is told.
    let (drawing, warnings) = drawn("svg \"label.svg\" gray=\"ink\"");
    assert_eq!(drawing.bounds(), None);
    assert!(
        warnings
            .iter()
            .any(|told| told.contains("label.svg:1:68: <text> is not drawn")),
        "{warnings:?}"
    );
}

#[test]
fn layouts_lie_by_their_datum_or_their_box() {
    // The lenses begin 204 µm from the left and end 1 696 µm above the bottom; the crosses reach from 125 to 2 275 and from 50 to 1 850.
    for file in ["gds \"mask.gds\"", "oasis \"mask.oas\""] {
        let datum = drawn_child(&format!("{file} layer=\"1/0\" value=255 width=2400 height=1900"));
        assert_eq!(datum, ((0, 0, 2_400, 1_900), Some((204, 204, 2_196, 1_696))));
        let boxed = drawn_child(&format!("{file} layer=\"1\" value=255 origin=\"box\""));
        assert_eq!(boxed, ((0, 0, 2_150, 1_800), Some((79, 154, 2_071, 1_646))));
        let crosses = drawn_child(&format!("{file} layer=\"2/*\" value=255 origin=\"box\""));
        assert_eq!(crosses.1, Some((0, 0, 2_150, 1_800)));
        let lens = drawn_child(&format!("{file} cell=\"LENS\" value=255 origin=\"box\""));
        assert_eq!(lens, ((0, 0, 42, 42), Some((0, 0, 42, 42))));
    }
}

#[test]
fn dxf_drawings_lie_by_their_box_or_their_datum_in_their_unit() {
    // The outline begins 200 µm right of and above the origin, and has 4 400 × 3 200 µm.
    let boxed = drawn_child("dxf \"sheet.dxf\" value=255");
    assert_eq!(boxed, ((0, 0, 4_400, 3_200), Some((0, 0, 4_400, 3_200))));
    let stroked = drawn_child("dxf \"sheet.dxf\" value=255 stroke=100 layer=\"cut\"");
    assert_eq!(stroked, ((0, 0, 4_500, 3_300), Some((0, 0, 4_500, 3_300))));
    let datum = "dxf \"sheet.dxf\" value=255 origin=\"datum\" width=4800 height=3600";
    assert_eq!(
        drawn_child(datum),
        ((0, 0, 4_800, 3_600), Some((200, 200, 4_600, 3_400)))
    );
    let metric = drawn_child("dxf \"sheet.dxf\" value=255 unit=\"cm\"");
    assert_eq!(metric.0, (0, 0, 44_000, 32_000));
}

#[test]
fn boards_lie_by_their_box_or_their_datum() {
    // The plane of copper begins half a millimetre right of and above the origin, and has 23 × 23 mm.
    let boxed = drawn_child("gerber \"copper.gbr\" value=255");
    assert_eq!(boxed, ((0, 0, 23_000, 23_000), Some((0, 0, 23_000, 23_000))));
    let datum = "gerber \"copper.gbr\" value=255 origin=\"datum\" width=24000 height=24000";
    assert_eq!(
        drawn_child(datum),
        ((0, 0, 24_000, 24_000), Some((500, 500, 23_500, 23_500)))
    );
}

#[test]
fn drawings_in_nodes_too_high_for_them_are_refused() {
    for node in [
        "gds \"mask.gds\"",
        "oasis \"mask.oas\"",
        "dxf \"sheet.dxf\"",
        "gerber \"copper.gbr\"",
    ] {
        let text = format!(
            "relief version=1\ncanvas width=9 height=9 pixel=\"1.000003um\"\n\
             compose {{ (base){node} value=1 origin=\"datum\" width=9 height=1099511627776 }}"
        );
        let report = parse("test.kdl", &text, &files::Drawings(&[])).unwrap_err();
        let told = format!("{report:?}");
        assert!(told.contains("is too high for a"), "{node}: {told}");
    }
}

#[test]
fn meshes_lie_by_their_box_or_their_datum_in_their_unit() {
    let design = |node: &str| {
        let text = format!(
            "relief version=1\ncanvas width=900 height=900 pixel=\"10um\" bits=16\ncompose {{ (base){node} }}"
        );
        let design =
            parse("test.kdl", &text, &files::Drawings(&[])).unwrap_or_else(|report| panic!("{report:?}"));
        let child = design.node(design.root()).children[0];
        let Kind::Mesh(mesh) = design.node(child.node).kind.clone() else {
            panic!("{node} is not a mesh");
        };
        ((child.extent.width(), child.extent.height()), mesh)
    };
    // The coin is a regular polygon of twelve sides, 3.4 mm wide and high.
    let (size, mesh) = design("mesh \"coin.stl\" low=0 high=0.3");
    assert_eq!((size, mesh.down), ((340, 340), 0));
    assert_eq!(mesh.solid.pixels(), Some((0, 0, 340, 340)));
    let heights = || mesh.solid.points().iter().map(|point| point[2]);
    // 0.3 of 32 bits is a little more than 0.3.
    assert_eq!(heights().min(), Some(0));
    assert!((heights().max().unwrap() - (65_535 << 16)).abs() < 256);
    assert_eq!(mesh.solid.greatest(), 65_535);
    let (size, same) = design("mesh \"coin.stl\" low=\"0um\" high=\"300um\" unit=\"mm\"");
    assert_eq!((size, &same.solid), ((340, 340), &mesh.solid));
    let (size, _) = design("mesh \"coin.stl\" low=\"0um\" high=\"300um\" unit=\"um\"");
    assert_eq!(size, (1, 1));
    let (size, datum) = design("mesh \"coin.stl\" low=0 high=1 origin=\"datum\" width=200 height=100");
    assert_eq!((size, datum.down), ((200, 100), 100));
    assert_eq!(datum.solid.pixels(), Some((-170, -170, 170, 170)));
}

#[test]
fn texts_have_the_size_of_what_is_measured_and_begin_where_their_origin_says() {
    // Capital letters of this font are 733 of 1000 high, their stems 40 from the left.
    let capital = "text \"H\" font=\"plate.ttf\" size=733 measure=\"cap\" value=255";
    let (extent, pixels) = drawn_child(capital);
    let (left, top, right, bottom) = pixels.unwrap();
    assert!(
        (-20..20).contains(&top) && (720..760).contains(&bottom),
        "{pixels:?}"
    );
    assert_eq!((extent.2, extent.3), (right as u64, bottom as u64));
    let boxed = format!("{capital} origin=\"box\"");
    let (extent, pixels) = drawn_child(&boxed);
    assert_eq!(pixels.unwrap(), (0, 0, right - left, bottom - top));
    assert_eq!(
        (extent.2, extent.3),
        ((right - left) as u64, (bottom - top) as u64)
    );
    let lines = format!("{capital} line-height=\"1mm\"").replace("\"H\"", "\"H\\nH\"");
    assert_eq!(drawn_child(&lines).1.unwrap().3, bottom + 1_000);
}

#[test]
fn places_count_lines_and_characters() {
    let design =
        design_of("relief version=1\ncanvas width=9 height=9\n/* äöü */ compose {\n\t(base)fill value=1\n}");
    let places: Vec<(u32, u32)> = design
        .nodes()
        .iter()
        .map(|node| (node.place.line, node.place.column))
        .collect();
    assert_eq!(places, [(4, 8), (3, 11)]);
}

#[test]
fn comments_and_every_form_of_a_string_are_read() {
    let text = "// a design\nrelief /* of */ version=1; canvas width=9 height=9 \\\n  depth=8\n/- fill value=3 { what ever }\n\
                compose { // here\n  (base)image #\"logo.png\"# /- x=5\n  (add)image \"\"\"\n    logo.png\n    \"\"\"\n  ( add ) fill value = 1\n\
                  (add)image \"\\u{6c}ogo.png\" /-{ x }\n}";
    let design = design_of(text);
    assert_eq!(design.node(design.root()).children.len(), 4);
    assert!(
        design
            .node(design.root())
            .children
            .iter()
            .all(|child| child.extent.x() == 0)
    );
}

/// The `scan` of a design of 400 × 300 pixels of 10 µm.
fn scan(text: &str) -> ScanNode {
    design(&format!("{text}\nfill value=1")).scan().unwrap().clone()
}

#[test]
fn a_design_without_a_scan_has_none_and_an_empty_one_has_the_defaults() {
    assert_eq!(design("fill value=1").scan(), None);
    assert_eq!(scan("scan"), ScanNode::default());
}

#[test]
fn every_setting_of_a_scan_is_read() {
    let read = scan(
        r#"
scan mirror="horizontal" rotate=270 axis="column" start="bottom-right" direction="serpentine" return-offset="-0.0234375mm" interleave=3 \
    encoding="runs" bits=16 bit-order="least-first" byte-order="big" polarity="inverted" {
    stripe width="0.4mm" overlap=8
    swath lines=5 overlap=2
    overscan before="0.1mm" after=7
    passes "curve" count=12 exponent=1.5
    halftone "bayer" size=4
    material "steel.json"
    machine "laser.json"
}"#,
    );
    assert_eq!(
        (read.material.as_deref(), read.machine.as_deref()),
        (Some("steel.json"), Some("laser.json"))
    );
    let expected = Scan {
        mirror: Mirror::Horizontal,
        rotate: Quarters::Three,
        axis: scan::Axis::Column,
        start: Corner::BottomRight,
        direction: Direction::Serpentine,
        return_offset: -600,
        interleave: Interleave(3),
        stripe: Some(Stripe {
            width: 40,
            overlap: 8,
        }),
        swath: Some(Swath { lines: 5, overlap: 2 }),
        overscan: (10, 7),
        passes: Passes::Curve {
            count: 12,
            exponent: 1.5,
        },
        pass_axes: PassAxes::Same,
        halftone: Some(Halftone::bayer(4)),
        packing: Packing {
            bits: Bits::Sixteen,
            bit_order: BitOrder::LeastFirst,
            byte_order: ByteOrder::Big,
            polarity: Polarity::Inverted,
        },
        run_length: true,
    };
    assert_eq!(read.scan, expected);
}

#[test]
fn every_kind_of_passes_and_halftones_is_read() {
    let passes = |text: &str| scan(&format!("scan {{ passes {text} }}")).scan.passes;
    assert_eq!(passes("\"one\""), Passes::One);
    assert_eq!(passes("\"even\" count=4"), Passes::Even { count: 4 });
    assert_eq!(passes("\"share\" count=4"), Passes::Share { count: 4 });
    let axes = |text: &str| {
        scan(&format!("scan {{ passes \"even\" count=2 {text} }}"))
            .scan
            .pass_axes
    };
    assert_eq!(
        (axes(""), axes("axes=\"alternate\"")),
        (PassAxes::Same, PassAxes::Alternate)
    );
    let stepped = |step: &str, amplitude: &str| {
        let text = format!(
            "relief version=1\ncanvas width=4 height=4 amplitude={amplitude:?}\nscan {{ passes \"even\" step={step:?} }}\nfill value=1"
        );
        parse("a.kdl", &text, &HashMap::<String, (u64, u64)>::new())
            .map(|design| design.scan().unwrap().scan.passes.clone())
    };
    for (step, amplitude, count) in [
        ("10um", "80um", 8),
        ("10um", "81um", 9),
        ("1/3mm", "1mm", 3),
        ("2mm", "1mm", 1),
    ] {
        assert_eq!(
            stepped(step, amplitude).unwrap(),
            Passes::Even { count },
            "{step} of {amplitude}"
        );
    }
    assert!(stepped("1pm", "1mm").is_err());
    let thresholds = vec![9, 200, 3];
    assert_eq!(
        passes("\"listed\" { slice 9; slice 200; slice 3 }"),
        Passes::Listed { thresholds }
    );
    let halftone = |text: &str| scan(&format!("scan {{ halftone {text} }}")).scan.halftone;
    assert_eq!(
        halftone("\"threshold\" level=7"),
        Some(Halftone::Threshold { level: 7 })
    );
    assert_eq!(halftone("\"blue-noise\""), Some(Halftone::BLUE_NOISE));
    assert_eq!(
        halftone("\"blue-noise\" size=256 spot=\"0.03mm\""),
        Some(Halftone::BlueNoise { size: 256, spot: 3 })
    );
    assert_eq!(
        halftone("\"bayer\" size=2 spot=5"),
        Some(Halftone::Bayer { size: 2, spot: 5 })
    );
    for (word, one_way, serpentine) in [
        (
            "floyd-steinberg",
            Halftone::FLOYD_STEINBERG,
            Halftone::FloydSteinberg { serpentine: true },
        ),
        (
            "jarvis",
            Halftone::Jarvis { serpentine: false },
            Halftone::Jarvis { serpentine: true },
        ),
        (
            "stucki",
            Halftone::Stucki { serpentine: false },
            Halftone::Stucki { serpentine: true },
        ),
        (
            "atkinson",
            Halftone::Atkinson { serpentine: false },
            Halftone::Atkinson { serpentine: true },
        ),
    ] {
        assert_eq!(halftone(&format!("\"{word}\"")), Some(one_way));
        let back = halftone(&format!("\"{word}\" direction=\"serpentine\""));
        assert_eq!(back, Some(serpentine));
    }
}

/// A screen is right where its vectors can be, and near where they cannot.
#[test]
fn screens_come_near_to_what_is_asked() {
    let read = |text: &str| scan(&format!("scan {{ halftone \"screen\" {text} }}"));
    let found = |node: &ScanNode| match node.scan.halftone {
        Some(Halftone::Screen(screen)) => screen,
        other => panic!("{other:?}"),
    };
    // Pixels of 10 µm: 10 dots a millimetre are 10 pixels apart; 16 × 16 pixels are the least that has 256 grays.
    let node = read("frequency=\"10lpmm\" angle=0 dot=\"line\"");
    let screen = found(&node);
    assert_eq!((screen.vector, screen.cells, screen.dot), ((20, 0), 2, Dot::Line));
    assert_eq!(found(&read("frequency=\"100lpcm\" angle=90")).vector, (0, 20));
    assert_eq!(found(&read("frequency=\"254lpi\" angle=-90")).vector, (0, -20));
    let asked = node.asked_screen.unwrap();
    assert!((asked.frequency - 10_000.0).abs() < 1e-6 && asked.degrees == 0.0);
    let pixel = Length::picometres(10_000_000).unwrap();
    for frequency in [34.0, 85.0, 133.0, 150.0, 175.0, 200.0, 333.3] {
        for degrees in [0.0, 7.5, 15.0, 22.5, 45.0, 75.0, 90.0, 105.0, 165.0, -15.0] {
            let screen = found(&read(&format!("frequency=\"{frequency}lpi\" angle={degrees}")));
            let reached = screen.frequency(pixel) * 0.0254;
            assert!(
                (reached / frequency - 1.0).abs() < 2e-3,
                "{frequency} {degrees}: {reached}"
            );
            assert!(
                (screen.angle() - degrees).abs() < 0.1,
                "{frequency} {degrees}: {}",
                screen.angle()
            );
            assert!((256..=Screen::MAX_AREA).contains(&screen.area()));
        }
    }
}

#[test]
fn every_setting_of_gcode_is_read() {
    let metres = |above, below| Length::metres(above, below).unwrap();
    let read = |text: &str| scan(&format!("scan {{ gcode {text} }}")).gcode.unwrap();
    assert_eq!(read("feed=\"3000mm/min\""), Gcode::new(metres(3, 1)));
    let mut expected = Gcode::new(metres(3, 1));
    expected.dialect = Dialect::FluidNc;
    expected.s_max = 255;
    expected.laser = Laser::Constant;
    expected.origin = Origin::Centre;
    expected.sweep = Sweep::Segments;
    expected.gap = Some(50);
    expected.baud = 9_600;
    expected.zones = vec![
        Zone {
            rows: 0..10,
            feed: metres(254, 1_000),
        },
        Zone {
            rows: 100..300,
            feed: metres(1, 10),
        },
    ];
    let text =
        "dialect=\"fluidnc\" feed=\"50mm / s\" s-max=255 laser=\"M3\" origin=\"centre\" sweep=\"segments\" \
                gap=\"0.5mm\" baud=9600 {
        zone from=\"1mm\" to=300 feed=\"100mm/min\"
        zone from=0 to=10 feed=\"1/6in/s\"
    }";
    assert_eq!(read(text), expected);
    assert_eq!(expected.feed_of(9), metres(254, 1_000));
    assert_eq!(expected.feed_of(10), metres(3, 1));
}

#[test]
fn every_word_of_the_scan_is_a_setting_of_its_own() {
    let signature = SIGNATURES
        .iter()
        .find(|signature| signature.name == "scan")
        .unwrap();
    for property in signature.properties {
        let values: Vec<String> = match property.value {
            ValueType::Word(words) => words.iter().map(|word| format!("\"{word}\"")).collect(),
            ValueType::Choice(numbers) => numbers.iter().map(ToString::to_string).collect(),
            _ => continue,
        };
        let read: Vec<ScanNode> = values
            .iter()
            .map(|value| scan(&format!("scan {}={value}", property.name)))
            .collect();
        for (index, one) in read.iter().enumerate() {
            assert!(
                !read[index + 1..].contains(one),
                "{}: {:?}",
                property.name,
                values[index]
            );
        }
        assert!(
            read.contains(&ScanNode::default()),
            "{} has no default",
            property.name
        );
    }
}

/// What [`Design::new`] says of the nodes of a design.
fn valid(design: &Design) -> Result<(), InvalidDesign> {
    Design::new(design.canvas(), design.nodes().to_vec(), None).map(|_| ())
}

/// The design with another kind of its second node.
fn with_kind(design: &Design, kind: Kind) -> Result<Design, InvalidDesign> {
    let mut nodes = design.nodes().to_vec();
    nodes[1].kind = kind;
    Design::new(design.canvas(), nodes, None)
}
