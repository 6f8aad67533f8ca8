//! What is told of designs that are right and most likely not meant, and what is not.

use std::ops::ControlFlow;

use relief_design::{Conversion, ImageError, ImageSource, NoImages, Picture, read};
use relief_raster::{Depth, Rect};

/// The codes of all warnings of a design.
fn codes(text: &str) -> Vec<&'static str> {
    let images = |_: &str| Ok((60, 40));
    let text = format!("relief version=1\ncanvas width=400 height=300\n{text}");
    let reading = read("test.kdl", &text, &images, &[])
        .unwrap_or_else(|report| panic!("{text}\n{:#?}", report.problems()));
    let warnings = reading
        .warnings
        .map(|report| report.problems().iter().map(|problem| problem.code()).collect());
    warnings.unwrap_or_default()
}

#[test]
fn designs_that_are_meant_so_are_left_alone() {
    for text in [
        "fill value=0",
        "noise seed=1",
        "compose",
        "image \"a\"",
        "repeat { (pattern)image \"a\" }",
        "repeat { (pattern)map { (source)image \"a\"; invert } }",
        "lattice { u 9 2; v 1 9; (pattern)noise seed=1 width=30 height=30 }",
        "lattice { u 390 2; v 1 290; (pattern)noise seed=1 }",
        "compose { (base)noise seed=1; (multiply)ramp axis=\"x\" from=0 to=255 }",
        "compose { (base)noise seed=1; (mask)noise seed=2 x=-5 width=405 }",
        "compose { (mask)disc diameter=5 value=1; (add)noise seed=1 }",
        "compose { (base)noise seed=1; (mask)compose { (base)image \"a\" } }",
        "compose { (base)noise seed=1; (min)noise seed=2; (base)noise seed=3 }",
        // Nothing lies outside of what could clear it.
        "compose { (add)disc diameter=9 value=7 x=4; (add)fill value=0; (min)disc diameter=20 value=9 }",
        "compose { (base)noise seed=1; (mask)compose { (base)image \"a\" }; (base)fill value=0; (add)image \"a\"; (min)image \"a\" }",
        "resize { (source)image \"a\" }",
        "resize { (source)normalise width=60 height=40 { (source)image \"a\" } }",
        "resize { (source)normalise width=\"10%\" height=4 { (source)image \"a\" } }",
        "resize { (source)gauss sigma=2 { (source)compose { (base)fill value=7; (max)noise seed=1 } } }",
        "affine angle=3 { (source)compose { (base)fill value=7; (over)image \"a\" } }",
        "compose { (base)affine angle=3 { (source)gauss sigma=1 { (source)image \"a\" } } }",
        "flip axis=\"x\" { (source)gauss sigma=1 { (source)image \"a\" } }",
        "distance radius=5 { (mask)disc diameter=5 value=1; profile \"d\" }",
        // What is set outside of a node counts.
        "distance radius=50 { (mask)disc diameter=5 value=1 x=-20; profile \"9 * d\" }",
        "distance radius=5 level=1 { (mask)gauss sigma=1 { (source)noise seed=1 }; profile \"d\" }",
        "distance radius=5 { (mask)threshold level=9 { (source)gauss sigma=1 { (source)noise seed=1 } }; profile \"d\" }",
        "scan { passes \"even\" count=8 }\nnoise seed=1",
        "scan { passes \"listed\" { slice 255; slice 3 } }\nnoise seed=1",
        "scan { passes \"even\" count=8; material \"m.json\" }\nfill value=9",
        "compose { (base)image \"a\" width=30 fit=\"none\"; (add)image \"a\" width=30 fit=\"cover\" height=9 }",
        "compose { (base)image \"a\" width=60 height=40; (add)image \"a\" x=100 width=100 }",
        "compose { (base)rectangle size-x=9.5 size-y=2 value=7 }",
        "compose { (base)line stroke=4 value=7 width=20 height=20 { vertex 0 0; vertex 20 20 } }",
        "line stroke=4 value=7 { vertex 0 0; vertex 400 300 }",
        "distance radius=5 { (mask)rectangle size-x=9 size-y=2 value=7; profile \"d\" }",
        "distance radius=5 { (mask)ellipse size-x=9 size-y=2 value=7 antialias=\"none\"; profile \"d\" }",
    ] {
        let found: Vec<&str> = codes(text).into_iter().filter(|code| *code != "W204").collect();
        assert!(
            found.is_empty() && (text == "compose" || codes(text).is_empty()),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn what_is_doubtful_is_told() {
    for (text, expected) in [
        ("repeat { (pattern)noise seed=1 }", vec!["W201"]),
        (
            "repeat step-x=500 step-y=300 { (pattern)fill value=3 width=400 height=300 }",
            vec!["W201"],
        ),
        (
            "lattice { u 400 0; v 0 300; (pattern)noise seed=1 }",
            vec!["W201"],
        ),
        (
            "define \"a\" { noise seed=1 }\nrepeat { (pattern)use \"a\" }",
            vec!["W201"],
        ),
        ("compose { (base)image \"a\" height=39 }", vec!["W202"]),
        (
            "compose { (base)rectangle size-x=9 size-y=9 shift-x=-2 value=7 }",
            vec!["W211"],
        ),
        (
            "compose { (base)rectangle size-x=9 size-y=9 shift-y=-9 value=7 width=20 }",
            vec!["W211"],
        ),
        (
            "compose { (base)line stroke=4 value=7 origin=\"box\" { vertex 3 3; vertex 3 3 } }",
            vec!["W211"],
        ),
        (
            "distance radius=5 { (mask)rectangle size-x=9.5 size-y=2 value=7; profile \"d\" }",
            vec!["W205"],
        ),
        ("compose { (base)image \"a\" width=\"1%\" }", vec!["W202"]),
        (
            "compose { (base)noise seed=1; (mask)fill value=0 }",
            vec!["W204", "W203"],
        ),
        (
            "compose { (base)noise seed=1; (mask)image \"a\" x=400 }",
            vec!["W204", "W203"],
        ),
        (
            "distance radius=5 { (mask)fill value=0; profile \"d\" }",
            vec!["W203"],
        ),
        (
            "distance radius=5 level=10 { (mask)map { (source)noise seed=1; levels 0 255 0 9 }; profile \"d\" }",
            vec!["W203"],
        ),
        ("threshold level=9 { (source)fill value=8 }", vec!["W204"]),
        (
            "compose { (base)noise seed=1; (subtract)fill value=255 }",
            vec!["W204"],
        ),
        ("compose { (base)noise seed=1; (min)fill value=0 }", vec!["W204"]),
        ("map { (source)fill value=8; invert }", vec!["W204"]),
        (
            "distance radius=5 { (mask)gauss sigma=1 { (source)noise seed=1 }; profile \"d\" }",
            vec!["W205"],
        ),
        (
            "distance radius=5 { (mask)turn { (source)gauss sigma=1 { (source)image \"a\" } }; profile \"d\" }",
            vec!["W205"],
        ),
        (
            "compose { (base)noise seed=1; (mask)gradient \"linear\" }",
            vec!["W205"],
        ),
        (
            "compose { (base)noise seed=1; (mask)box radius=2 { (source)disc diameter=90 value=1 } }",
            vec!["W205"],
        ),
        (
            "compose { (base)noise seed=1; (mask)disc diameter=9 value=1 }",
            vec!["W206"],
        ),
        (
            "compose { (base)noise seed=1; (multiply)noise seed=1 x=1 }",
            vec!["W206"],
        ),
        (
            "compose { (base)noise seed=1; (min)disc diameter=9 value=200 }",
            vec!["W206"],
        ),
        (
            "compose { (base)noise seed=1; (base)disc diameter=9 value=200 }",
            vec!["W206"],
        ),
        (
            "compose { (add)disc diameter=9 value=7 x=9; (min)disc diameter=9 value=9 x=8 }",
            vec!["W206"],
        ),
        (
            "resize { (source)normalise { (source)image \"a\" } }",
            vec!["W212"],
        ),
        (
            "resize { (source)map { (source)detrend { (source)disc diameter=9 value=7 x=3 } ; invert } }",
            vec!["W212"],
        ),
        (
            "define \"a\" { gauss sigma=1 { (source)image \"a\" } }\naffine angle=3 { (source)use \"a\" }",
            vec!["W212"],
        ),
        (
            "compose { (base)resize width=600 height=400 { (source)open radius=2 width=60 { (source)image \"a\" } } }",
            vec!["W212"],
        ),
        (
            "scan { passes \"even\" count=10 }\nramp axis=\"x\" from=0 to=229",
            vec!["W207"],
        ),
        (
            "scan { passes \"listed\" { slice 9; slice 10 } }\nramp axis=\"x\" from=0 to=9",
            vec!["W207"],
        ),
    ] {
        assert_eq!(codes(text), expected, "{text}");
    }
    // The last of ten even passes fires above 229.5.
    assert!(codes("scan { passes \"even\" count=10 }\nramp axis=\"x\" from=0 to=230").is_empty());
}

/// Nodes with many doubts are told within bounds, and each once.
#[test]
fn warnings_are_bounded_and_told_once() {
    let many = format!(
        "compose {{ (base)noise seed=1\n{} }}",
        "(base)noise seed=1\n(multiply)disc diameter=9 value=1\n".repeat(10_000)
    );
    let text = format!("relief version=1\ncanvas width=400 height=300\n{many}");
    let warnings = read("many.kdl", &text, &NoImages, &[]).unwrap().warnings.unwrap();
    assert!(warnings.problems().len() <= relief_design::MAX_PROBLEMS);
    let twice = "define \"a\" { repeat { (pattern)noise seed=1 } }\ncompose { (add)use \"a\"; (add)compose { (add)use \"a\" } }";
    assert_eq!(codes(twice), ["W201"]);
}

/// Nothing is known of pictures and formulas that go all around; halves of one picture meet.
#[test]
fn what_cannot_be_proven_to_close_is_told() {
    let codes = |node: &str| {
        let text = format!("relief version=1\ncanvas width=60 height=40 wrap=\"x\"\n{node}");
        let reading = read("test.kdl", &text, &|_: &str| Ok((60, 40)), &[]).unwrap();
        let warnings = reading.warnings;
        let problems = warnings.iter().flat_map(|report| report.problems());
        problems.map(|problem| problem.code()).collect::<Vec<_>>()
    };
    for node in [
        "image \"a\"",
        "formula \"9 * x\"",
        "formula \"9 * r\"",
        "map { invert; (source)image \"a\" }",
        "gauss sigma=1 edge=\"wrap\" { (source)image \"a\" }",
        "rectangle size-x=90 size-y=9 value=7",
        "convolve \"1 2 1\" edge=\"wrap\" { (source)image \"a\" }",
        "flip axis=\"x\" { (source)compose { (base)seamless overlap=4 width=70 { (source)noise seed=1 } } }",
    ] {
        assert_eq!(codes(node), ["W209"], "{node}");
    }
    for node in [
        "formula \"9 * y\"",
        "compose { (add)image \"a\" x=30; (add)image \"a\" x=-30 }",
        "compose { (over)image \"a\" x=3 width=50 }",
        "chain { image \"a\"; turn; turn; threshold level=9; repeat count-x=1 }",
        "rectangle size-x=20 size-y=9 shift-x=9 value=7",
        "ellipse size-x=20 size-y=9 shift-x=9 value=7",
        "convolve \"1 2 1\" edge=\"wrap\" { (source)repeat step-x=6 { (pattern)disc diameter=5 value=9 } }",
        "convolve \"1 2 1\" { (source)rectangle size-x=20 size-y=9 shift-x=9 value=7 }",
        "seamless overlap=4 { (source)noise seed=1 }",
    ] {
        assert!(!codes(node).contains(&"W209"), "{node}");
    }
    for node in [
        "rectangle size-x=20 size-y=9 shift-x=50 value=7",
        "gradient \"linear\" to-x=60",
        "gradient \"linear\" to-x=20 spread=\"mirror\"",
        "gradient \"linear\" to-x=20 to-y=\"1/256px\" spread=\"repeat\"",
        "gradient \"radial\"",
        "gradient \"conical\"",
        "convolve \"1 2 1\" { (source)repeat step-x=6 { (pattern)disc diameter=5 value=9 } }",
    ] {
        let text = format!("relief version=1\ncanvas width=60 height=40 wrap=\"x\"\n{node}");
        let report = read("test.kdl", &text, &NoImages, &[]).expect_err(node);
        assert_eq!(report.problems()[0].code(), "E508", "{node}");
    }
}

/// A picture of 9 × 9 samples of which one, in the last row, is what its path says.
struct Dot(u16);

impl Picture for Dot {
    fn size(&self) -> (u64, u64) {
        (9, 9)
    }

    fn read(
        &self,
        _: Rect,
        depth: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError> {
        for y in 0..9 {
            let mut samples = [if y % 2 == 0 { 0 } else { depth.max() }; 9];
            if y == 8 {
                samples[4] = self.0.min(depth.max());
            }
            if row(y, &samples).is_break() {
                return Ok(());
            }
        }
        Ok(())
    }
}

struct Dots;

impl ImageSource for Dots {
    fn open(&self, path: &str, _: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        Ok(Box::new(Dot(path.parse().unwrap())))
    }
}

/// A mask whose picture has grays is asked for a level; one of 0 and M alone is not, and no picture is looked at for another
/// node.
#[test]
fn grays_of_pictures_are_seen_in_masks() {
    let codes = |node: &str| {
        let text = format!("relief version=1\ncanvas width=60 height=40\n{node}");
        let reading = read("test.kdl", &text, &Dots, &[]).unwrap();
        let warnings = reading.warnings;
        let problems = warnings.iter().flat_map(|report| report.problems());
        problems.map(|problem| problem.code()).collect::<Vec<_>>()
    };
    let mask = |mask: &str| format!("distance radius=5 {{ (mask){mask}; profile \"d\" }}");
    for gray in ["1", "128", "254"] {
        let image = format!("image \"{gray}\"");
        assert_eq!(codes(&mask(&image)), ["W205"], "{gray}");
        let within = format!("repeat {{ (pattern)flip axis=\"x\" {{ (source){image} }} }}");
        assert_eq!(codes(&mask(&within)), ["W205"], "{gray}");
        assert!(codes(&mask(&format!("threshold level=9 {{ (source){image} }}"))).is_empty());
        assert!(codes(&mask(&image).replace("radius=5", "radius=5 level=128")).is_empty());
        assert!(codes(&format!("repeat {{ (pattern){image} }}")).is_empty());
    }
    for full in ["0", "255", "999"] {
        assert!(codes(&mask(&format!("image \"{full}\""))).is_empty(), "{full}");
    }
}
