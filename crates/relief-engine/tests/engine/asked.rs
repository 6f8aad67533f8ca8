//! What is asked of a design: why a sample is what it is, how often each stands there, and where two designs differ.

use std::sync::Arc;

use proptest::prelude::*;
use relief_design::{Design, NoImages};
use relief_engine::{
    Cancel, Compared, Counts, Error, Exactness, KnownLevels, Options, Rect, Renderer, SamplesMut, Statistic,
    Summary, compare, differing, explain,
};

use crate::oracle::strategy::models;
use crate::parts::{fraction, within};
use crate::pictures::Pictures;
use crate::run::{design, parse, rendered, renderer, window};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// How often each of the samples stands there.
fn counted(samples: &[u16], max: u16) -> Vec<u128> {
    let mut counts = vec![0; usize::from(max) + 1];
    for sample in samples {
        counts[usize::from(*sample)] += 1;
    }
    counts
}

fn is_within(counts: &Counts, exact: &[u128]) -> bool {
    let most = counts.most();
    counts.pixels() == exact.iter().sum::<u128>()
        && counts.least().len() == exact.len()
        && most.len() == exact.len()
        && (0..exact.len()).all(|v| (counts.least()[v]..=most[v]).contains(&exact[v]))
}

/// The text with 1 added to one of its whole numbers, if there is one with this number.
fn altered(text: &str, number: usize) -> Option<String> {
    let start = text.find("depth=")? + 8;
    let is_number = |(at, c): (usize, char)| {
        let before = text[..at].chars().next_back();
        c.is_ascii_digit() && before.is_some_and(|c| matches!(c, '=' | ' ' | ':'))
    };
    let places: Vec<usize> = text
        .char_indices()
        .filter(|one| is_number(*one))
        .map(|(at, _)| at)
        .filter(|at| *at >= start)
        .collect();
    let at = *places.get(number.checked_rem(places.len())?)?;
    let end = text[at..]
        .find(|c: char| !c.is_ascii_digit())
        .map_or(text.len(), |length| at + length);
    let next = text[at..end].parse::<u64>().ok()? + 1;
    Some(format!("{}{next}{}", &text[..at], &text[end..]))
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn each_sample_is_counted_as_often_as_it_is_there_or_within_what_is_said(
        model in models(),
        place in fraction(),
        effort in prop_oneof![Just(0_u64), 1..9_000_u64, Just(u64::MAX)],
        kept in proptest::option::of(0_u64..3_000),
        threads in 1..3_usize,
    ) {
        let (design, images) = (design(&model), Pictures(model.pictures.clone()));
        let options = Options::default().threads(threads).levels().with(|with| with.kept = kept);
        let renderer = renderer(&design, &images, &options);
        let raster = renderer.plan().raster();
        let place = within(Rect::sized(raster.width, raster.height), place);
        let exact = counted(&window(&renderer, place).unwrap(), model.max);
        let counts = renderer.counts(place, effort, &Cancel::new()).unwrap();
        prop_assert!(is_within(&counts, &exact), "{counts:?} of {exact:?}");
        prop_assert!(effort < u64::MAX || counts.is_exact());
        let sum: u128 = exact.iter().enumerate().map(|(sample, times)| sample as u128 * times).sum();
        let summary = counts.summary();
        prop_assert!((summary.sum.0..=summary.sum.1).contains(&sum), "{summary:?} of the sum {sum}");
        prop_assert!((summary.zeros.0..=summary.zeros.1).contains(&exact[0]));
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn a_sample_is_made_of_the_samples_of_its_nodes(
        model in models(),
        [x, y, ..] in fraction(),
        kept in proptest::option::of(0_u64..3_000),
    ) {
        let (design, images) = (design(&model), Pictures(model.pictures.clone()));
        let options = Options::default().threads(1).with(|with| with.kept = kept);
        let pixel = ((x * model.width as f64) as i64, (y * model.height as f64) as i64);
        let why = explain(&design, &images, &options, pixel, &Cancel::new()).unwrap();
        let sample = |design: &Design, (x, y): (i64, i64)| {
            let options = Options::default().threads(1).region(Rect::new(x, y, 1, 1).unwrap());
            rendered(&renderer(design, &images, &options)).unwrap()[0]
        };
        prop_assert_eq!(why.value, sample(&design, pixel));
        prop_assert_eq!(why.nodes[0].value, why.value);
        for node in why.nodes.iter().take(40) {
            let own = design.subtree(node.node);
            let place = (node.x, node.y);
            let there = Rect::sized(own.canvas().width, own.canvas().height).contains(&Rect::new(node.x, node.y, 1, 1).unwrap());
            prop_assert!(there || !node.inside, "{node:?}");
            prop_assert_eq!(node.value, if there { sample(&own, place) } else { 0 }, "{:?}", node);
        }
        for (number, node) in why.nodes.iter().enumerate() {
            let children: Vec<_> = why.nodes.iter().filter(|child| child.parent == Some(number)).collect();
            let mut folds = children.iter().filter_map(|child| child.folded);
            if let (Some(first), false) = (folds.next(), why.cut) {
                let last = folds.fold(first, |before, after| {
                    assert_eq!(before.1, after.0, "what is folded goes on where it was");
                    after
                });
                prop_assert_eq!(last.1, node.value);
            }
        }
        prop_assert!(why.decides < why.nodes.len());
    }

    #[test]
    fn designs_differ_nowhere_but_where_it_is_said(
        model in models(),
        number in any::<usize>(),
        picture in proptest::option::of((0..3_usize, any::<usize>())),
    ) {
        let text = model.text();
        let mut pictures = model.pictures.clone();
        let mut changed = None;
        if let Some((picture, place)) = picture {
            let (count, samples) = (pictures[picture].samples.len(), &mut pictures[picture].samples);
            samples[place % count] ^= 1;
            changed = Some(picture);
        }
        let (images, others) = (Pictures(model.pictures.clone()), Pictures(pictures));
        let first = relief_design::parse("a.kdl", &text, &images).unwrap();
        let other_text = if changed.is_some() { Some(text.clone()) } else { altered(&text, number) };
        let Some(Ok(second)) = other_text.map(|text| relief_design::parse("b.kdl", &text, &others)) else { return Ok(()) };
        let same = |name: &str| changed.is_none_or(|picture| format!("p{picture}") != name);
        let size = |design: &Design| (design.canvas().width, design.canvas().height);
        prop_assume!(size(&first) == size(&second));
        let found = differing(&first, &second, &same).unwrap();
        let renderers = (
            renderer(&first, &images, &Options::default().threads(1)),
            renderer(&second, &others, &Options::default().threads(1)),
        );
        let (a, b) = (rendered(&renderers.0).unwrap(), rendered(&renderers.1).unwrap());
        let place = |at: usize| Rect::new((at as u64 % model.width) as i64, (at as u64 / model.width) as i64, 1, 1).unwrap();
        let different: Vec<usize> = (0..a.len()).filter(|at| a[*at] != b[*at]).collect();
        for at in &different {
            let holds = found.iter().filter(|rect| rect.contains(&place(*at))).count();
            prop_assert_eq!(holds, 1, "{:?} in {:?}\n{}", place(*at), found, text);
        }
        let compared = found.iter().fold(Compared::default(), |all, rect| {
            all.and(compare(&renderers.0, &renderers.1, *rect, u128::MAX, &Cancel::new()).unwrap())
        });
        prop_assert_eq!(compared.different, different.len() as u128);
        prop_assert_eq!(compared.compared, found.iter().map(Rect::area).sum::<u128>());
        prop_assert_eq!(compared.largest, different.iter().map(|at| a[*at].abs_diff(b[*at])).max().unwrap_or(0));
        prop_assert_eq!(compared.within, different.iter().map(|at| place(*at)).reduce(|all, one| all.union(&one)));
    }
}

fn planned(text: &str) -> Renderer {
    renderer(&parse(text), &NoImages, &Options::default().levels())
}

#[test]
fn what_repeats_is_counted_by_its_cell_however_large_the_raster() {
    let side = 1_u64 << 40;
    let all = u128::from(side) * u128::from(side);
    let bodies = [
        "repeat step-x=64 step-y=128 { (pattern)fill value=9 width=32 height=32 }",
        // A cell that is sheared against the axes.
        "lattice blend=\"max\" { u 64 0; v 32 128; (pattern)fill value=9 width=32 height=32 }",
        "map { (source)repeat step-x=64 step-y=128 { (pattern)fill value=246 width=32 height=32 }; invert }",
    ];
    for body in bodies {
        let renderer = planned(&format!(
            "relief version=1\ncanvas width={side} height={side}\n{body}"
        ));
        let counts = renderer
            .counts(Rect::sized(side, side), 1 << 20, &Cancel::new())
            .unwrap();
        assert!(counts.is_exact(), "{body}");
        assert_eq!(counts.least()[9], all / 8, "{body}");
        assert_eq!(counts.known(), all, "{body}");
    }
}

#[test]
fn what_is_not_known_is_bounded() {
    let renderer = planned(
        "relief version=1\ncanvas width=1000000 height=1000000\n\
         compose { (base)fill value=5; (max)noise seed=1 width=500000 height=1000000 }",
    );
    let counts = renderer
        .counts(Rect::sized(1_000_000, 1_000_000), 0, &Cancel::new())
        .unwrap();
    let half = 500_000_000_000;
    assert_eq!((counts.least()[5], counts.most()[5]), (half, 2 * half));
    assert_eq!((counts.least()[255], counts.most()[255]), (0, half));
    assert_eq!((counts.most()[4], counts.is_exact()), (0, false));
    assert_eq!(counts.summary().sum, (10 * half, 260 * half));
}

#[test]
fn the_child_that_changes_the_sample_last_decides() {
    let text = "relief version=1\ncanvas width=100 height=100\ncompose {\n    (base)fill value=7\n    \
                (max)repeat step-x=10 step-y=10 {\n        (pattern)disc diameter=4 value=200\n    }\n    \
                (min)fill value=250\n    (add)fill value=1 x=90\n}";
    let design = parse(text);
    let at = |pixel| explain(&design, &NoImages, &Options::default(), pixel, &Cancel::new()).unwrap();
    let decides = |pixel| {
        let why = at(pixel);
        let node = &why.nodes[why.decides];
        (why.value, node.kind, node.place.line, (node.x, node.y))
    };
    assert_eq!(decides((32, 51)), (200, "disc", 6, (2, 1)));
    assert_eq!(decides((36, 51)), (7, "fill", 4, (36, 51)));
    assert_eq!(decides((95, 51)), (8, "fill", 9, (5, 51)));
    // What a later child replaces is not told.
    let text =
        "relief version=1\ncanvas width=9 height=9\ncompose { (base)fill value=7; (base)fill value=3 }";
    let why = explain(
        &parse(text),
        &NoImages,
        &Options::default(),
        (0, 0),
        &Cancel::new(),
    )
    .unwrap();
    assert_eq!((why.nodes.len(), why.nodes[0].replaced, why.value), (2, 1, 3));
    for beyond in [(-1, 0), (9, 0), (0, 9), (i64::MAX, i64::MIN)] {
        let refused = explain(
            &parse(text),
            &NoImages,
            &Options::default(),
            beyond,
            &Cancel::new(),
        );
        assert!(matches!(refused, Err(Error::Region { .. })), "{refused:?}");
    }
}

#[test]
fn the_copy_that_is_seen_decides_and_a_filter_decides_itself() {
    let lattice = "relief version=1\ncanvas width=100 height=100\nlattice blend=\"max\" { u 10 0; v 0 10; (pattern)ramp axis=\"x\" from=10 to=200 width=15 height=15 }";
    let why = explain(
        &parse(lattice),
        &NoImages,
        &Options::default(),
        (37, 43),
        &Cancel::new(),
    )
    .unwrap();
    let copies: Vec<u16> = why.nodes[1..].iter().map(|node| node.value).collect();
    assert!(copies.len() > 1, "{why:?}");
    assert_eq!(Some(why.value), copies.iter().copied().max());
    assert_eq!(
        (why.nodes[why.decides].value, why.nodes[why.decides].kind),
        (why.value, "ramp")
    );
    let gauss = "relief version=1\ncanvas width=100 height=100\ngauss sigma=2 { (source)noise seed=1 }";
    let why = explain(
        &parse(gauss),
        &NoImages,
        &Options::default(),
        (50, 50),
        &Cancel::new(),
    )
    .unwrap();
    assert_eq!((why.decides, why.nodes.len()), (0, 2));
    assert_eq!(why.nodes[1].window, Rect::new(42, 42, 17, 17));
    assert_eq!((why.nodes[1].x, why.nodes[1].y), (50, 50));
}

#[test]
fn one_node_along_very_many_ways_is_told_up_to_a_limit() {
    let mut text =
        "relief version=1\ncanvas width=8 height=8\ndefine \"d0\" { fill value=1 width=8 height=8 }\n"
            .to_owned();
    for level in 1..14 {
        let below = level - 1;
        text += &format!(
            "define \"d{level}\" {{ compose width=8 height=8 {{ (add)use \"d{below}\"; (max)use \"d{below}\" }} }}\n"
        );
    }
    text += "compose { (base)use \"d13\" }";
    let why = explain(
        &parse(&text),
        &NoImages,
        &Options::default(),
        (3, 3),
        &Cancel::new(),
    )
    .unwrap();
    assert!(why.cut && why.nodes.len() == 1_024, "{} nodes", why.nodes.len());
    assert_eq!(why.value, 1);
}

#[test]
fn what_is_written_alike_is_equal_without_computing_it() {
    let side = 1_u64 << 40;
    let of = |body: &str| {
        parse(&format!(
            "relief version=1\ncanvas width={side} height={side}\n{body}"
        ))
    };
    let none: [Rect; 0] = [];
    let differ = |a: &str, b: &str| differing(&of(a), &of(b), &|_| true).unwrap();
    let rect = |x, y, width, height| Rect::new(x, y, width, height).unwrap();
    assert_eq!(differ("noise seed=1", "noise seed=1"), none);
    // The same tree by a definition, and with a child that is nowhere seen.
    let marks = "compose { (base)noise seed=1; (max)disc diameter=10 value=9 x=5 y=5 }";
    assert_eq!(
        differ(
            marks,
            "define \"d\" { disc diameter=10 value=9 }\ncompose { (base)noise seed=1; (max)use \"d\" x=5 y=5 }"
        ),
        none
    );
    let more = "compose { (base)noise seed=1; (over)fill value=3 x=100 y=100 width=20 height=10; (max)disc diameter=10 value=9 x=5 y=5 }";
    assert_eq!(differ(marks, more), [rect(100, 100, 20, 10)]);
    assert_eq!(differ(more, marks), [rect(100, 100, 20, 10)]);
    // A child by which is multiplied clears what it does not cover.
    let masked = more.replace("(over)", "(multiply)");
    assert_eq!(differ(marks, &masked), [Rect::sized(side, side)]);
    // A blur reaches as far as its weights.
    let blurred = |body: &str| format!("gauss sigma=2 {{ (source){body} }}");
    assert_eq!(differ(&blurred(marks), &blurred(more)), [rect(92, 92, 36, 26)]);
    // What follows from the whole of its source differs everywhere.
    let small = |body: &str| {
        parse(&format!(
            "relief version=1\ncanvas width=200 height=200\nequalise {{ (source){body} }}"
        ))
    };
    assert_eq!(
        differing(&small(marks), &small(more), &|_| true).unwrap(),
        [Rect::sized(200, 200)]
    );
}

#[test]
fn comparing_ends_where_it_was_to_end() {
    let of = |seed: u8| {
        planned(&format!(
            "relief version=1\ncanvas width=3000 height=1000\nnoise seed={seed}"
        ))
    };
    let (a, b) = (of(1), of(2));
    let all = Rect::sized(3_000, 1_000);
    let whole = compare(&a, &b, all, u128::MAX, &Cancel::new()).unwrap();
    assert_eq!(
        (whole.compared, whole.computed, whole.within),
        (3_000_000, 3_000_000, Some(all))
    );
    // What is one sample in both costs nothing.
    let one = || planned("relief version=1\ncanvas width=1000000 height=1000000\nfill value=3");
    let large = compare(
        &one(),
        &one(),
        Rect::sized(1_000_000, 1_000_000),
        0,
        &Cancel::new(),
    )
    .unwrap();
    assert_eq!(
        (large.compared, large.computed, large.different),
        (1_000_000_000_000, 0, 0)
    );
    // Nor does what is one sample in nearly all of both, whatever computes it.
    let side = 1_000_000_000_000;
    let marked = |level: u32| {
        planned(&format!(
            "relief version=1\ncanvas width={side} height={side}\nthreshold level={level} {{ (source)disc diameter=100 value=200 }}"
        ))
    };
    let far = compare(
        &marked(10),
        &marked(201),
        Rect::sized(side, side),
        10_000_000,
        &Cancel::new(),
    )
    .unwrap();
    assert_eq!((far.compared, far.largest), (u128::from(side).pow(2), 255));
    assert!(
        far.within
            .is_some_and(|within| Rect::sized(100, 100).contains(&within)),
        "{far:?}"
    );
    let part = compare(&a, &b, all, 2_000_000, &Cancel::new()).unwrap();
    assert!(
        (1..=2_000_000).contains(&part.compared) && part.different > 0,
        "{part:?}"
    );
    let deep = renderer(
        &parse("relief version=1\ncanvas width=9 height=9 bits=16\nfill value=1"),
        &NoImages,
        &Options::default(),
    );
    assert!(matches!(
        compare(&a, &deep, Rect::sized(9, 9), 99, &Cancel::new()),
        Err(Error::Option { option: "depth", .. })
    ));
    assert!(matches!(
        compare(&a, &b, Rect::sized(3_001, 9), 99, &Cancel::new()),
        Err(Error::Region { .. })
    ));
}

/// Figures of level 8 that are written down, which nothing could compute to be these.
struct Written(usize);

impl KnownLevels for Written {
    fn read(&self, level: u32, window: Rect) -> Option<Vec<Summary>> {
        let one = Summary::of_figures(10, 30, 1, 9);
        (level == 8).then(|| vec![one.unwrap(); window.area() as usize - self.0])
    }
}

#[test]
fn levels_that_are_written_down_are_not_computed() {
    let read = |renderer: &Renderer, level, statistic| {
        let mut out = vec![0_u8; 4];
        let exactness = renderer.read_level(
            level,
            Rect::sized(2, 2),
            statistic,
            0,
            SamplesMut::Eight(&mut out),
            &Cancel::new(),
        );
        (out, exactness.unwrap())
    };
    let of = |missing| {
        planned("relief version=1\ncanvas width=2000 height=2000\nfill value=200")
            .with_known(Some(Arc::new(Written(missing))))
    };
    let renderer = of(0);
    assert_eq!(
        read(&renderer, 8, Statistic::Mean),
        (vec![3; 4], Exactness::Exact)
    );
    assert_eq!(
        read(&renderer, 8, Statistic::Greatest),
        (vec![9; 4], Exactness::Exact)
    );
    assert_eq!(
        read(&renderer, 9, Statistic::Mean),
        (vec![200; 4], Exactness::Exact)
    );
    // Of another window, or of a part: computed.
    assert_eq!(read(&of(1), 8, Statistic::Mean).0, [200; 4]);
    let part = renderer.part(Rect::sized(1_000, 1_000)).unwrap();
    assert_eq!(read(&part, 8, Statistic::Mean).0, [200; 4]);
    // There are no samples with such figures.
    assert_eq!(Summary::of_figures(10, 91, 1, 9), None);
    assert_eq!(Summary::of_figures(10, 9, 1, 9), None);
    assert_eq!(Summary::of_figures(0, 0, 0, 0), None);
}
