//! Trees: fused, shared, deep and wide.

use relief_engine::Options;

use crate::compare::{both, with};

const SHARED: &str = r#"
define "dots" { distance radius=9 { (mask)image "p3"; profile "$M - $M * d / 10" beyond=0 } }
define "field" { compose { (base)noise seed=8; (multiply)map { gamma 0.5; (source)noise seed=9 }; (mean)threshold level=$H { (source)noise seed=10 } } }
"#;

#[test]
fn one_kernel_computes_a_tree_of_everything_pointwise() {
    both(
        131,
        37,
        "compose {
            (base)repeat step-x=23 { (pattern)image \"p0\" x=4 }
            (multiply)map { gamma 1.5; (source)ramp axis=\"x\" from=$Q to=$M }
            (over)disc diameter=21 value=$H x=40 y=5
            (subtract)threshold level=$H x=60 width=50 { (source)noise seed=3 }
            (mean)lattice { u 9 2; v -3 7; (pattern)image \"p1\" }
            (mask)map { invert; (source)image \"p3\" x=70 y=2 }
        }",
    );
}

#[test]
fn a_node_that_is_used_twice_is_computed_once_for_a_band() {
    let root = |uses: &str| format!("{SHARED} compose {{ {uses} }}");
    for tile in [None, Some((64, 4)), Some((64, 1))] {
        let options = Options::default().with(|with| with.tile = tile);
        with(83, 61, &root("(base)use \"dots\"; (max)use \"dots\""), &options);
        with(
            83,
            61,
            &root("(base)use \"dots\" x=3 y=-5; (max)use \"dots\" x=-11 y=30; (mean)use \"dots\" x=40"),
            &options,
        );
        with(
            83,
            61,
            &root("(base)use \"field\" x=3 y=-5; (max)use \"field\" x=-11 y=30"),
            &options,
        );
        with(
            83,
            61,
            &root(
                "(base)use \"field\"; (mask)distance radius=5 { (mask)use \"dots\"; profile \"d\" beyond=0 }; (add)use \"dots\" y=20; (add)use \"field\" x=9 y=-20",
            ),
            &options,
        );
    }
}

#[test]
fn a_repeat_that_is_used_twice() {
    let text = "define \"r\" { repeat width=50 height=40 { (pattern)compose width=24 height=30 { (base)noise seed=1; (multiply)noise seed=2; (mean)noise seed=3 } } }
        compose { (base)use \"r\"; (max)use \"r\" x=7 y=11 }";
    for kept in [None, Some(0)] {
        with(60, 50, text, &Options::default().with(|with| with.kept = kept));
        let region = relief_engine::Rect::new(3, 5, 9, 9);
        with(
            60,
            50,
            text,
            &Options::default()
                .with(|with| with.kept = kept)
                .with(|with| with.region = region),
        );
    }
}

#[test]
fn pictures_that_the_region_does_not_touch() {
    let region = relief_engine::Rect::new(31, 17, 21, 19);
    let options = Options::default().with(|with| with.region = region);
    with(83, 61, "image \"p0\"", &options);
    with(
        83,
        61,
        "compose { (base)fill value=9; (add)image \"p0\" width=60 height=60; (max)image \"p1\" x=40 y=20 }",
        &options,
    );
    with(
        83,
        61,
        "distance radius=4 { (mask)image \"p0\" width=60 height=60; profile \"9 + d\" beyond=2 }",
        &options,
    );
    with(83, 61, "map { invert; (source)image \"p0\" }", &options);
}

/// Trees that would name more pictures and tables than a kernel can: in one fold, in folds of folds, and through tables.
#[test]
fn trees_of_more_pictures_than_a_kernel_can_name_are_divided() {
    let roles = ["add", "max", "mean", "subtract", "over", "min"];
    let layer = |i: usize, source: &str| {
        format!(
            "({}){source} x={} y={} width={} height=9\n",
            roles[i % 6],
            (i * 7 % 60) as i64 - 9,
            i % 23,
            9 + i % 40
        )
    };
    let picture = |i: usize| format!("image \"p{}\"", i % 4);
    let flat: String = (0..140).map(|i| layer(i, &picture(i))).collect();
    both(83, 31, &format!("compose {{ {flat} }}"));
    let mapped = |i: usize| {
        let role = roles[i % 6];
        format!(
            "({role})map {{ invert; (source){} x={} y=2 }}\n",
            picture(i),
            i % 50
        )
    };
    let folds: String = (0..10)
        .map(|i| {
            let inner: String = (0..15).map(|j| mapped(i * 15 + j)).collect();
            format!("({})compose {{ {inner} }}\n", roles[i % 6])
        })
        .collect();
    both(83, 31, &format!("compose {{ {folds} }}"));
}

#[test]
fn nesting_as_deep_as_the_language_allows() {
    let mut tree = "noise seed=1".to_owned();
    for level in 0..60 {
        let layer = if level % 2 == 0 {
            "(base)fill value=$Q; (mean)"
        } else {
            "(add)"
        };
        tree = format!("compose {{ {layer}{tree} }}");
    }
    both(19, 5, &tree);
}
