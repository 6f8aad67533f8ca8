//! Natural sizes of patterns, repetitions with fractional steps, chains.

use proptest::prelude::*;
use relief_design::{Design, InvalidDesign, Kind, Node, kinds, parse};

fn design(text: &str) -> Design {
    let images = |_: &str| Ok((60, 40));
    let text = format!("relief version=1\n{text}");
    parse("test.kdl", &text, &images).unwrap_or_else(|report| panic!("{text}\n{:#?}", report.problems()))
}

fn codes(text: &str) -> Vec<&'static str> {
    let images = |_: &str| Ok((60, 40));
    let text = format!("relief version=1\n{text}");
    let report = parse("test.kdl", &text, &images).expect_err(&text);
    report.problems().iter().map(|problem| problem.code()).collect()
}

/// The root and its one child.
fn pattern(text: &str) -> (Node, Node) {
    let design = design(&format!("canvas width=400 height=300\n{text}"));
    let root = design.node(design.root()).clone();
    let child = design.node(root.children[0].node).clone();
    (root, child)
}

#[test]
fn a_pattern_without_a_size_takes_its_natural_one() {
    for (node, size) in [
        ("image \"a\"", (60, 40)),
        ("map { (source)image \"a\"; invert }", (60, 40)),
        ("map { (source)image \"a\" x=5 y=-3; invert }", (65, 37)),
        ("threshold level=1 { (source)disc diameter=9 value=9 }", (9, 9)),
        (
            "gauss sigma=1 { (source)disc diameter=9 value=9 x=4 y=4 }",
            (13, 13),
        ),
        (
            "compose { (base)fill value=1; (add)image \"a\"; (add)disc diameter=9 value=9 x=70 }",
            (79, 40),
        ),
        ("distance radius=3 { (mask)image \"a\"; profile \"d\" }", (60, 40)),
        ("turn { (source)image \"a\" }", (40, 60)),
        // What is given, along its axis.
        ("map width=7 { (source)image \"a\"; invert }", (7, 40)),
        // What has none is as large as what it repeats over.
        ("noise seed=1", (400, 300)),
        ("map { (source)noise seed=1; invert }", (400, 300)),
        ("repeat { (pattern)image \"a\" }", (400, 300)),
        ("formula \"x\"", (400, 300)),
    ] {
        for (open, close) in [("repeat {", "}"), ("lattice { u 400 0; v 0 300;", "}")] {
            let (_, child) = pattern(&format!("{open} (pattern){node} {close}"));
            assert_eq!((child.width, child.height), size, "{open} {node}");
        }
        // Through a definition as well, and only as a pattern.
        let used = design(&format!(
            "canvas width=400 height=300\ndefine \"a\" {{ {node} }}\ncompose {{ (base)repeat {{ (pattern)use \"a\" }}; (base)use \"a\" }}"
        ));
        let root = used.node(used.root());
        let repeat = used.node(root.children[0].node);
        let extent = repeat.children[0].extent;
        assert_eq!((extent.width(), extent.height()), size, "{node}");
    }
    let elsewhere =
        design("canvas width=400 height=300\ncompose { (base)map { (source)image \"a\"; invert } }");
    assert_eq!(elsewhere.nodes()[1].width, 400);
    // Steps are at least as large as the natural size, no longer as the parent.
    let (root, _) = pattern("repeat step-x=100 step-y=50 { (pattern)map { (source)image \"a\"; invert } }");
    assert_eq!(
        root.kind,
        Kind::Repeat(kinds::Repeat {
            step_x: 100,
            step_y: 50
        })
    );
    assert_eq!(
        codes(
            "canvas width=400 height=300\nrepeat step-x=59 { (pattern)map { (source)image \"a\"; invert } }"
        ),
        ["E501"]
    );
}

#[test]
fn counts_divide_the_side() {
    let (root, _) = pattern("repeat count-x=4 count-y=3 { (pattern)fill value=1 width=9 height=9 }");
    assert_eq!(
        root.kind,
        Kind::Repeat(kinds::Repeat {
            step_x: 100,
            step_y: 100
        })
    );
    // 400 / 7: seven copies in 400 pixels, whatever the rounding of lengths.
    let (root, child) = pattern("repeat count-x=7 { (pattern)fill value=1 width=9 height=9 }");
    assert_eq!(
        root.kind,
        Kind::Repeat(kinds::Repeat {
            step_x: 400,
            step_y: 9
        })
    );
    let at: Vec<i64> = child.children.iter().map(|child| child.extent.x()).collect();
    assert_eq!(at, [0, 57, 114, 171, 229, 286, 343]);
    for (wrong, code) in [
        ("count-x=4 step-x=100", "E410"),
        ("count-x=0", "E402"),
        ("count-x=2.5", "E401"),
        // 9 pixels do not fit in 400 / 45.
        ("count-x=45", "E501"),
        ("step-x=0", "E402"),
        ("step-x=-3", "E402"),
        ("step-x=57.5", "E405"),
    ] {
        let text = format!(
            "canvas width=400 height=300\nrepeat {wrong} {{ (pattern)fill value=1 width=9 height=9 }}"
        );
        assert_eq!(codes(&text), [code], "{wrong}");
    }
    let far = "canvas width=1099511627776 height=9\nrepeat count-x=16411 { (pattern)fill value=1 width=1 height=1 }";
    assert_eq!(codes(far), ["E506"]);
}

#[test]
fn a_cell_of_many_nodes_is_repeated_with_fractional_steps() {
    let cell = "(add)fill value=1\n".repeat(600);
    let text = format!(
        "canvas width=\"60mm\" height=\"60mm\" dpi=1200\n\
         repeat step-x=\"5mm\" step-y=\"5mm\" {{ (pattern)compose width=100 height=100 {{\n{cell}}} }}"
    );
    let design = design(&text);
    assert_eq!(valid(&design), Ok(()));
    // 127 copies in each direction, each node once.
    assert_eq!(design.nodes().len(), 604);
}

#[test]
fn a_chain_is_nesting_from_the_inside_out() {
    let meaning = |text: &str| {
        let design = design(&format!("canvas width=400 height=300\n{text}"));
        let mut nodes = design.nodes().to_vec();
        for node in &mut nodes {
            (node.place.line, node.place.column) = (1, 1);
        }
        Design::new(design.canvas(), nodes, design.scan().cloned())
    };
    for (chained, nested) in [
        ("chain { noise seed=1 }", "noise seed=1"),
        (
            "chain { noise seed=1; gauss sigma=2; threshold level=99 }",
            "threshold level=99 { (source)gauss sigma=2 { (source)noise seed=1 } }",
        ),
        (
            "compose { (add)chain { image \"a\" x=3; map width=30 { invert; gamma 2 }; distance radius=3 x=7 { profile \"d\" } } }",
            "compose { (add)distance radius=3 x=7 { profile \"d\"; (mask)map width=30 { (source)image \"a\" x=3; invert; gamma 2 } } }",
        ),
        (
            "repeat { (pattern)chain { disc diameter=9 value=9; turn; flip axis=\"x\" } }",
            "repeat { (pattern)flip axis=\"x\" { (source)turn { (source)disc diameter=9 value=9 } } }",
        ),
        (
            "chain { chain { disc diameter=9 value=9; turn }; repeat step-x=20; lattice { u 400 0; v 0 300 } }",
            "lattice { u 400 0; v 0 300; (pattern)repeat step-x=20 { (pattern)turn { (source)disc diameter=9 value=9 } } }",
        ),
        (
            "define \"a\" { chain { noise seed=2; equalise } }\nchain { use \"a\"; threshold level=3 }",
            "define \"a\" { equalise { (source)noise seed=2 } }\nthreshold level=3 { (source)use \"a\" }",
        ),
        (
            "chain { compose { (base)fill value=1 }; map { invert } }",
            "map { (source)compose { (base)fill value=1 }; invert }",
        ),
    ] {
        assert_eq!(meaning(chained), meaning(nested), "{chained}");
    }
}

#[test]
fn wrong_chains_are_told() {
    for (chain, expected) in [
        ("chain", vec!["E310"]),
        ("chain x=5 { noise seed=1 }", vec!["E302"]),
        ("chain 5 { noise seed=1 }", vec!["E305"]),
        ("chain { (source)noise seed=1; map { invert } }", vec!["E312"]),
        ("chain { noise seed=1; fill value=1 }", vec!["E311"]),
        ("chain { noise seed=1; compose }", vec!["E311"]),
        (
            "chain { noise seed=1; map { (source)noise seed=1; invert } }",
            vec!["E311"],
        ),
        ("chain { noise seed=1; blur }", vec!["E301"]),
        ("compose { chain { noise seed=1; turn } }", vec!["E308"]),
    ] {
        assert_eq!(
            codes(&format!("canvas width=4 height=3\n{chain}")),
            expected,
            "{chain}"
        );
    }
    let long = format!(
        "canvas width=4 height=3\nchain {{ noise seed=1; {} }}",
        "turn; ".repeat(100_000)
    );
    assert!(codes(&long).contains(&"E103"));
    let allowed = format!(
        "canvas width=4 height=3\nchain {{ noise seed=1; {} }}",
        "turn; ".repeat(60)
    );
    assert_eq!(design(&allowed).nodes().len(), 61);
}

proptest! {
    /// Copies lie where the exact steps say, halves up, within any cycle and at any resolution.
    #[test]
    fn copies_never_drift(dpi in 100_i128..2_400, hundredths in 60_i128..2_000, count in 2_u64..300) {
        // hundredths / 100 / 25.4 · dpi
        let (n, d) = (hundredths * dpi, 2_540);
        prop_assume!(n / d >= 2);
        let text = format!(
            "canvas width=4000 height=4000 dpi={dpi}\n\
             repeat step-x=\"{}.{:02}mm\" count-y={count} {{ (pattern)fill value=1 width=2 height=2 x=3 }}",
            hundredths / 100, hundredths % 100
        );
        let design = design(&text);
        prop_assert_eq!(valid(&design), Ok(()));
        let root = design.node(design.root());
        let Kind::Repeat(kinds::Repeat { step_x, step_y }) = root.kind else { panic!("{root:?}") };
        let offset = root.children[0].extent;
        prop_assert_eq!((offset.x(), offset.y()), (3, 0));
        // The places of copies of two by two pixels along an axis within one cycle.
        fn places(design: &Design, node: &Node, is_x: bool) -> Vec<i64> {
            if node.children.is_empty() {
                return vec![0];
            }
            node.children.iter().flat_map(|child| {
                let at = if is_x { child.extent.x() } else { child.extent.y() };
                places(design, design.node(child.node), is_x).into_iter().map(move |inner| at + inner)
            }).collect()
        }
        let inner = design.node(root.children[0].node);
        for (is_x, cycle, n, d) in [(true, step_x, n, d), (false, step_y, 4_000, i128::from(count))] {
            let mut found = places(&design, inner, is_x);
            found.sort_unstable();
            found.dedup();
            let cycle = i128::from(cycle);
            prop_assert_eq!(cycle * d % n, 0, "{} is not a whole number of steps of {} / {}", cycle, n, d);
            let copies = cycle * d / n;
            let expected: Vec<i64> = (0..copies).map(|i| {
                i64::try_from((2 * i * n + d).div_euclid(2 * d)).unwrap()
            }).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

/// What [`Design::new`] says of the nodes of a design.
fn valid(design: &Design) -> Result<(), InvalidDesign> {
    Design::new(design.canvas(), design.nodes().to_vec(), None).map(|_| ())
}
