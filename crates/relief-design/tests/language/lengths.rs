//! Lengths at any resolution: rounding, percentages, anchors, heights.

use proptest::prelude::*;
use relief_design::{Design, Kind, NoImages, Report, kinds, parse, read};
use relief_raster::{Depth, Length};

fn design(text: &str) -> Design {
    parse("test.kdl", text, &NoImages).unwrap_or_else(|report| panic!("{text}\n{:#?}", report.problems()))
}

fn refused(text: &str) -> Report {
    parse("test.kdl", text, &NoImages).expect_err(text)
}

fn code(text: &str) -> &'static str {
    refused(text).problems()[0].code()
}

/// The extents of the children of the root, as (x, y, width, height).
fn extents(design: &Design) -> Vec<(i64, i64, u64, u64)> {
    let children = &design.node(design.root()).children;
    let extent = |child: &relief_design::Child| {
        let extent = child.extent;
        (extent.x(), extent.y(), extent.width(), extent.height())
    };
    children.iter().map(extent).collect()
}

/// The pixel nearest to so many hundredths of a millimetre, halves up, in whole numbers.
fn nearest(hundredths: i64, dpi: i64) -> i64 {
    (2 * hundredths * dpi + 2_540).div_euclid(5_080)
}

/// So many hundredths of a millimetre as a design writes it.
fn millimetres(hundredths: i64) -> String {
    let sign = if hundredths < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}mm", hundredths.abs() / 100, hundredths.abs() % 100)
}

#[test]
fn a_canvas_of_1200_dpi_is_exact() {
    let design = design("relief version=1\ncanvas width=\"1000mm\" height=\"40in\" dpi=1200\nfill value=1");
    assert_eq!(design.canvas().pixel, Length::metres(254, 12_000_000));
    assert_eq!((design.canvas().width, design.canvas().height), (47_244, 48_000));
    // 47 244.094…
    let rounding = design.rounding().unwrap();
    assert!((rounding.pixels - 12.0 / 127.0).abs() < 1e-12, "{rounding:?}");
    assert_eq!((rounding.place.line, rounding.place.column), (2, 14));
}

#[test]
fn a_pixel_may_be_a_fraction_of_any_unit() {
    for (pixel, metres) in [
        ("pixel=\"1/1200in\"", (127, 6_000_000)),
        ("pixel=\"2 / 3 um\"", (1, 1_500_000)),
        ("pixel=\"0.5mil\"", (127, 10_000_000)),
        ("pixel=\"1pt\"", (127, 360_000)),
        ("pixel=\"7pm\"", (7, 1_000_000_000_000)),
        ("dpi=2540.5", (254, 25_405_000)),
    ] {
        let design = design(&format!(
            "relief version=1\ncanvas width=9 height=9 {pixel}\nfill value=1"
        ));
        assert_eq!(
            design.canvas().pixel,
            Length::metres(metres.0, metres.1),
            "{pixel}"
        );
    }
    for wrong in [
        "pixel=\"1/0in\"",
        "pixel=\"0in\"",
        "pixel=\"-1/3mm\"",
        "pixel=\"0.9pm\"",
        "pixel=\"2m\"",
        "pixel=\"50%\"",
        "pixel=\"3px\"",
        "dpi=0",
        "dpi=-1200",
        "dpi=\"1200\"",
        "dpi=1e12",
        "dpi=0.001",
        "dpi=123456789.012345678901",
    ] {
        let found = code(&format!(
            "relief version=1\ncanvas width=9 height=9 {wrong}\nfill value=1"
        ));
        assert!(
            ["E401", "E402", "E404", "E407"].contains(&found),
            "{wrong}: {found}"
        );
    }
}

#[test]
fn without_rounding_a_length_is_whole_or_refused() {
    let head = "relief version=1\ncanvas width=400 height=300 pixel=\"1/1200in\"";
    assert_eq!(
        code(&format!("{head}\ncompose {{ (base)fill value=1 width=\"5mm\" }}")),
        "E405"
    );
    assert_eq!(
        code(&format!("{head}\ncompose {{ (base)fill value=1 x=0.5 }}")),
        "E405"
    );
    let rounded = design(&format!(
        "{head} rounding=\"nearest\"\ncompose {{ (base)fill value=1 width=\"5mm\" x=0.5 }}"
    ));
    // From 0.5 to 236.72.
    assert_eq!(extents(&rounded), [(1, 0, 236, 300)]);
    let exact =
        "relief version=1\ncanvas width=\"1in\" height=\"1/2in\" dpi=1200 rounding=\"exact\"\nfill value=1";
    assert_eq!(design(exact).rounding(), None);
    assert_eq!(code(&exact.replace("1/2in", "5mm")), "E405");
}

#[test]
fn vectors_are_never_rounded() {
    let node = "lattice { u \"5mm\" 0; v \"1/12in\" \"1/3in\"; (pattern)fill value=1 width=4 height=4 }";
    let head = "relief version=1\ncanvas width=400 height=300 dpi=1200";
    let exact = refused(&format!("{head} rounding=\"exact\"\n{node}"));
    let problem = &exact.problems()[0];
    assert_eq!(problem.code(), "E405");
    assert!(problem.help_text().unwrap().contains("stay exact"), "{problem:?}");
    // 5 mm are 30 000 / 127 pixels: each copy has its own place, and only that is rounded.
    let design = design(&format!("{head}\n{node}"));
    let Kind::Lattice(lattice) = &design.node(design.root()).kind else {
        panic!("{design:?}")
    };
    assert_eq!(lattice.denominators, (127, 1));
    assert_eq!((lattice.u, lattice.v), ((30_000, 0), (12_700, 400)));
    assert_eq!(design.rounding(), None);
    assert!(lattice.period.has(30_000, 0) && lattice.period.has(100, 400));
    assert!(!lattice.period.has(236, 0));
}

/// Fractions that no 128 bits hold, or that would meet the pixels again too far away, are refused.
#[test]
fn vectors_of_too_fine_fractions_are_refused() {
    let head = "relief version=1\ncanvas width=400 height=300 rounding=\"nearest\"";
    let lattice = |u: &str, v: &str| {
        format!("{head}\nlattice {{ u {u}; v {v}; (pattern)fill value=1 width=4 height=4 }}")
    };
    for (u, v, expected) in [
        ("\"1/65537px\" 0", "0 9", "E506"),
        ("\"1/65521px\" 9", "\"9/2px\" 9", "E506"),
        ("\"5/3px\" \"10/3px\"", "-2.5 -5", "E502"),
        ("\"1/65536px\" 0", "0 \"1/65536px\"", "E503"),
        ("\"1099511627776.5px\" 0", "0 9", "E402"),
        ("\"-1099511627776.5px\" 0", "0 9", "E402"),
    ] {
        assert_eq!(code(&lattice(u, v)), expected, "{u} {v}");
    }
    design(&lattice("\"1/65536px\" 9", "9 0"));
}

#[test]
fn diameters_and_radii_are_rounded_by_themselves_and_do_not_vanish() {
    let head = "relief version=1\ncanvas width=\"20mm\" height=\"20mm\" dpi=1200\ncompose {";
    let design = design(&format!("{head} (base)disc diameter=\"0.2mm\" value=9 }}"));
    assert_eq!(
        design.nodes()[0].kind,
        Kind::Disc(kinds::Disc {
            diameter: 9,
            value: 9
        })
    );
    for vanishing in [
        "disc diameter=\"1um\" value=9",
        "fill value=9 width=\"10um\"",
        "fill value=9 width=\"0.001%\"",
        "distance radius=\"1um\" { (mask)fill value=1; profile \"d\" }",
    ] {
        assert_eq!(
            code(&format!("{head} (base){vanishing} }}")),
            "E409",
            "{vanishing}"
        );
    }
    // A third of a pixel may reach over the middle of one.
    let thin = self::design(&format!("{head} (base)fill value=9 x=0.3 width=0.3 }}"));
    assert_eq!(extents(&thin)[0].2, 1);
}

#[test]
fn a_percentage_of_the_parent_places_a_node_of_its_natural_size() {
    let text = "relief version=1\ncanvas width=200 height=100\n\
                compose { (base)disc diameter=20 value=1 x=\"50%\" y=\"50%\" anchor=\"centre\" }";
    let design = relief_design::parse("test.kdl", text, &relief_design::NoImages).unwrap();
    assert_eq!(extents(&design), [(90, 40, 20, 20)]);
}

#[test]
fn an_anchor_is_the_point_that_an_offset_places() {
    for (anchor, x, y) in [
        ("top-left", 100, 50),
        ("top", 90, 50),
        ("top-right", 80, 50),
        ("left", 100, 45),
        ("centre", 90, 45),
        ("right", 80, 45),
        ("bottom-left", 100, 40),
        ("bottom", 90, 40),
        ("bottom-right", 80, 40),
    ] {
        let head = "relief version=1\ncanvas width=400 height=300\n";
        let node = "fill value=1 width=20 height=10";
        let placed = design(&format!(
            "{head}compose {{ (base){node} x=100 y=50 anchor=\"{anchor}\" }}"
        ));
        assert_eq!(extents(&placed), [(x, y, 20, 10)], "{anchor}");
        // A use places a point of the defined node in the same way.
        let used = design(&format!(
            "{head}define \"a\" {{ {node} }}\ncompose {{ (base)use \"a\" x=100 y=50 anchor=\"{anchor}\" }}"
        ));
        assert_eq!(extents(&used), [(x, y, 20, 10)], "{anchor}");
    }
}

#[test]
fn percentages_are_parts_of_the_parent_whatever_the_rounding() {
    let head = "relief version=1\ncanvas width=401 height=300\n";
    let centred = design(&format!(
        "{head}compose {{ (base)fill value=1 x=\"50%\" y=\"50%\" width=\"25%\" height=10 anchor=\"centre\" }}"
    ));
    // 200.5 − 50.125 = 150.375, and 100.25 further 250.625.
    assert_eq!(extents(&centred), [(150, 145, 101, 10)]);
    assert!(centred.rounding().is_some());
    // In a frame of its own size, and once for each parent of a definition.
    let nested = design(&format!(
        "{head}define \"half\" {{ fill value=1 width=\"50%\" x=\"10%\" }}\ncompose {{
            (base)compose width=100 {{ (base)use \"half\" }}
            (base)use \"half\" x=\"-10%\"
        }}"
    ));
    let sizes: Vec<u64> = nested.nodes().iter().map(|node| node.width).collect();
    assert_eq!(sizes, [50, 100, 201, 401]);
    assert_eq!(extents(&nested)[1], (0, 0, 201, 300));
    for wrong in [
        "width=\"0%\"",
        "width=\"-5%\"",
        "width=\"100001%\"",
        "x=\"1e6%\"",
        "x=\"%\"",
    ] {
        let found = code(&format!("{head}compose {{ (base)fill value=1 {wrong} }}"));
        assert!(["E402", "E404"].contains(&found), "{wrong}: {found}");
    }
    // A part of a side has no meaning for a diameter.
    assert_eq!(
        code(&format!(
            "{head}compose {{ (base)disc value=1 diameter=\"50%\" }}"
        )),
        "E404"
    );
    // The offsets of the root, which fills the canvas, are none.
    assert!(
        parse(
            "a.kdl",
            &format!("{head}fill value=1 width=\"100%\" x=\"0%\""),
            &NoImages
        )
        .is_ok()
    );
    assert_eq!(code(&format!("{head}fill value=1 width=\"99%\"")), "E207");
    let far = format!(
        "{head}compose {{ (base)compose width=1000000000000 {{ (base)fill value=1 x=\"100000%\" }} }}"
    );
    assert_eq!(code(&far), "E504");
}

#[test]
fn a_side_of_an_image_that_is_a_percentage_is_not_its_own() {
    let head = "relief version=1\ncanvas width=400 height=300\n";
    let turned = parse(
        "a.kdl",
        &format!("{head}compose {{ (base)turn {{ (source)image \"a\" width=\"50%\" }} }}"),
        &|_: &str| Ok((60, 40)),
    )
    .unwrap();
    // The height of the turned node depends on its parent, its width on the picture alone.
    assert_eq!(extents(&turned), [(0, 0, 40, 300)]);
    assert_eq!(turned.nodes()[0].width, 150);
}

#[test]
fn samples_may_be_heights() {
    for (bits, max) in [(8, 255_i64), (16, 65_535)] {
        for micrometres in 0..=80 {
            let text = format!(
                "relief version=1\ncanvas width=9 height=9 bits={bits} amplitude=\"80um\"\nfill value=\"{micrometres}um\""
            );
            let exact = (2 * max * micrometres + 80).div_euclid(160);
            let sample = u16::try_from(exact).unwrap();
            assert_eq!(
                design(&text).nodes()[0].kind,
                Kind::Fill(kinds::Fill { value: sample }),
                "{text}"
            );
        }
    }
    let design = design(
        "relief version=1\ncanvas width=9 height=9 amplitude=\"0.1mm\"
        compose {
            (base)ramp axis=\"x\" from=\"0um\" to=\"1/10 mm\"
            (max)threshold level=\"50um\" { (source)fill value=1 }
            (max)map { (source)fill value=1; levels \"0mm\" \"10um\" 0 \"2mil\" }
            (max)map { (source)fill value=1; curve { point 0 \"20um\"; point \"60um\" 7.5 } }
            (max)distance radius=2 { (mask)fill value=1; profile { point 0 \"100um\"; point 2 0 }; profile-none }
        }"
        .replace("; profile-none", "")
        .as_str(),
    );
    let kinds: Vec<&Kind> = design.nodes().iter().map(|node| &node.kind).collect();
    assert!(
        matches!(kinds[0], Kind::Ramp(kinds::Ramp { from: 0, to: 255, .. })),
        "{:?}",
        kinds[0]
    );
    assert!(
        matches!(kinds[2], Kind::Threshold(kinds::Threshold { level: 128 })),
        "{:?}",
        kinds[2]
    );
    let Kind::Map(levels) = kinds[4] else {
        panic!("{:?}", kinds[4])
    };
    // 2 mil are 50.8 µm: 129.54.
    assert_eq!((levels.table[0], levels.table[26]), (0, 130));
    let Kind::Map(curve) = kinds[6] else {
        panic!("{:?}", kinds[6])
    };
    // From 51 at 0 to 7.5 at 153.
    assert_eq!((curve.table[0], curve.table[153]), (51, 8));
    let Kind::Distance(distance) = kinds[8] else {
        panic!("{:?}", kinds[8])
    };
    assert_eq!(distance.profile[..], [255, 128, 75, 34, 0]);
}

#[test]
fn heights_need_an_amplitude_and_lie_within_it() {
    let with = |amplitude: &str, value: &str| {
        format!("relief version=1\ncanvas width=9 height=9 pixel=\"1um\" {amplitude}\nfill value={value}")
    };
    let amplitude = "amplitude=\"80um\"";
    assert_eq!(code(&with("", "\"20um\"")), "E408");
    for (value, expected) in [
        ("\"80.001um\"", "E402"),
        ("\"-1nm\"", "E402"),
        ("\"20\"", "E401"),
        ("\"20px\"", "E401"),
        ("\"20%\"", "E404"),
        ("\"20 miles\"", "E404"),
        ("\"0,5um\"", "E404"),
    ] {
        assert_eq!(code(&with(amplitude, value)), expected, "{value}");
    }
    // What is wrong is the amplitude alone.
    let report = refused(&with("amplitude=\"80\"", "\"20um\""));
    assert_eq!(report.problems().len(), 1, "{:#?}", report.problems());
    let slices = "relief version=1\ncanvas width=9 height=9 amplitude=\"80um\"
        scan { passes \"listed\" { slice \"40um\"; slice \"20um\" }; halftone \"threshold\" level=\"10um\" }
        fill value=1";
    let scan = design(slices).scan().unwrap().scan.clone();
    assert_eq!(
        scan.passes,
        relief_design::scan::Passes::Listed {
            thresholds: vec![128, 64]
        }
    );
}

#[test]
fn the_former_word_for_bits_is_read_with_a_warning() {
    let text = "relief version=1\ncanvas width=9 height=9 depth=16\nfill value=60000";
    let reading = read("a.kdl", text, &NoImages, &[]).unwrap();
    assert_eq!(reading.design.canvas().depth, Depth::Sixteen);
    assert_eq!(reading.warnings.unwrap().headline(), "a.kdl: 1 warning");
    let now = read("a.kdl", &text.replace("depth", "bits"), &NoImages, &[]).unwrap();
    assert!(now.warnings.is_none());
    assert_eq!(now.design.nodes()[0].kind, reading.design.nodes()[0].kind);
}

proptest! {
    /// What touches in the design touches in the raster, by nodes and by uses of one definition, at any resolution.
    #[test]
    fn rounding_never_separates_abutting_shapes(
        dpi in 30_i64..5_000,
        start in -2_000_i64..2_000,
        widths in prop::collection::vec(90_i64..3_000, 1..12),
        same in 90_i64..3_000,
    ) {
        let mut text = format!(
            "relief version=1\ncanvas width=\"200mm\" height=9 dpi={dpi}\n\
             define \"same\" {{ fill value=1 width=\"{}\" }}\ncompose {{\n",
            millimetres(same)
        );
        let mut expected = Vec::new();
        let mut put = |node: &str, width: i64, at: &mut i64| {
            text += &format!("(base){node} x=\"{}\"\n", millimetres(*at));
            let (from, to) = (nearest(*at, dpi), nearest(*at + width, dpi));
            expected.push((from, u64::try_from(to - from).unwrap()));
            *at += width;
        };
        let mut at = start;
        for &width in &widths {
            put(&format!("fill value=1 width=\"{}\"", millimetres(width)), width, &mut at);
        }
        for _ in 0..8 {
            put("use \"same\"", same, &mut at);
        }
        text += "}";
        let design = design(&text);
        let found: Vec<(i64, u64)> = extents(&design).into_iter().map(|(x, _, width, _)| (x, width)).collect();
        prop_assert_eq!(&found, &expected);
        let ends = found.iter().map(|&(x, width)| x + width.cast_signed());
        prop_assert!(ends.zip(&found[1..]).all(|(end, next)| end == next.0));
        prop_assert!(design.rounding().is_none_or(|rounding| rounding.pixels <= 0.5));
    }

    /// Columns of a third, or any other part, cover their parent without a gap.
    #[test]
    fn percentages_share_their_parent(parent in 40_u64..1 << 40, parts in 1_u64..30) {
        let mut text = format!("relief version=1\ncanvas width={parent} height=9\ncompose {{\n");
        for i in 0..parts {
            // As a fraction, since a third has endless digits.
            text += &format!("(base)fill value=1 x=\"{}/{parts}%\" width=\"100/{parts}%\"\n", 100 * i);
        }
        text += "}";
        let design = design(&text);
        let mut at = 0;
        for (i, (x, _, width, _)) in extents(&design).into_iter().enumerate() {
            prop_assert_eq!(x, at);
            at += width.cast_signed();
            let exact = u128::from(parent) * (i as u128 + 1);
            let nearest = (2 * exact + u128::from(parts)) / (2 * u128::from(parts));
            prop_assert_eq!(u128::try_from(at).unwrap(), nearest);
        }
        prop_assert_eq!(at.cast_unsigned(), parent);
    }
}
