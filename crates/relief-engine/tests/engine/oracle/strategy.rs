//! Random models: all node kinds, small enough to be evaluated pixel by pixel.

use proptest::collection::vec;
use proptest::prelude::*;

use super::model::{Blend, Fold, Item, Kind, Model, Picture, Profile, Tone};

/// Any model of up to 80 × 80 pixels.
pub(crate) fn models() -> impl Strategy<Value = Model> {
    prop_oneof![3 => Just(255_u16), 2 => Just(65_535)].prop_flat_map(|max| {
        (
            side(),
            side(),
            vec(pictures(max), 3),
            vec(items(max), 3),
            items(max),
        )
            .prop_map(move |(width, height, pictures, definitions, root)| Model {
                width,
                height,
                max,
                pictures,
                definitions: definitions
                    .into_iter()
                    .enumerate()
                    .map(|(number, item)| used_before(item, number))
                    .collect(),
                root: match root.kind {
                    // A root that is a definition would need the canvas's size.
                    Kind::Use(_) => Kind::Compose(vec![(Fold::Base, root)]),
                    kind => kind,
                },
            })
    })
}

fn side() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 1_u64..30, 1 => 30_u64..=80]
}

fn pictures(max: u16) -> impl Strategy<Value = Picture> {
    (1_u64..14, 1_u64..14).prop_flat_map(move |(width, height)| {
        vec(samples(max), (width * height) as usize).prop_map(move |samples| Picture {
            width,
            height,
            samples,
        })
    })
}

/// Samples of which 0 and M are not rare.
fn samples(max: u16) -> impl Strategy<Value = u16> {
    prop_oneof![2 => Just(0), 1 => Just(max), 4 => 0..=max]
}

fn items(max: u16) -> impl Strategy<Value = Item> {
    (kinds(max), places(), sizes()).prop_map(placed)
}

/// A kind with its offset and its size.
type Parts = (Kind, (i64, i64), (Option<u64>, Option<u64>));

fn placed((kind, (x, y), (width, height)): Parts) -> Item {
    Item {
        x,
        y,
        width,
        height,
        kind,
    }
}

fn places() -> impl Strategy<Value = (i64, i64)> {
    let offset = || prop_oneof![3 => Just(0_i64), 4 => -12_i64..20, 1 => -60_i64..60];
    (offset(), offset())
}

fn sizes() -> impl Strategy<Value = (Option<u64>, Option<u64>)> {
    let side = || proptest::option::weighted(0.4, prop_oneof![4 => 1_u64..30, 1 => 30_u64..60]);
    (side(), side())
}

fn kinds(max: u16) -> BoxedStrategy<Kind> {
    leaves(max)
        .prop_recursive(5, 24, 3, move |inner| {
            let item = (inner.clone(), places(), sizes()).prop_map(placed).boxed();
            // Patterns are small, and have a size of their own, on which steps can be based.
            let pattern = (inner, places(), 1_u64..10, 1_u64..10)
                .prop_map(|(kind, place, width, height)| {
                    let kind = match kind {
                        used @ Kind::Use(_) => Kind::Compose(vec![(Fold::Base, Item::new(used))]),
                        kind => kind,
                    };
                    placed((kind, place, (Some(width), Some(height))))
                })
                .boxed();
            prop_oneof![
                2 => (gaps(), gaps(), pattern.clone()).prop_map(|(x, y, pattern)| Kind::Repeat {
                    gaps: (x, y),
                    pattern: Box::new(pattern)
                }),
                2 => (blends(), vectors(), pattern).prop_map(|(blend, (u, v), pattern)| Kind::Lattice {
                    blend,
                    u,
                    v,
                    pattern: Box::new(pattern)
                }),
                3 => (radii(), profiles(max), proptest::option::of(samples(max)), item.clone()).prop_map(
                    |(radius, profile, beyond, mask)| Kind::Distance {
                        radius,
                        profile,
                        beyond,
                        mask: Box::new(mask)
                    }
                ),
                1 => (tones(max), item.clone()).prop_map(|(tone, source)| Kind::Map {
                    tone,
                    source: Box::new(source)
                }),
                1 => (samples(max), item.clone()).prop_map(|(level, source)| Kind::Threshold {
                    level,
                    source: Box::new(source)
                }),
                5 => vec((folds(), item), 0..5).prop_map(Kind::Compose),
            ]
        })
        .boxed()
}

fn leaves(max: u16) -> impl Strategy<Value = Kind> {
    prop_oneof![
        2 => samples(max).prop_map(Kind::Fill),
        3 => (0_usize..3).prop_map(Kind::Image),
        2 => (any::<bool>(), samples(max), samples(max)).prop_map(|(horizontal, from, to)| Kind::Ramp {
            horizontal,
            from,
            to
        }),
        2 => (1_u64..20, samples(max)).prop_map(|(diameter, value)| Kind::Disc { diameter, value }),
        1 => any::<u64>().prop_map(|seed| Kind::Noise { seed }),
        2 => (0_usize..3).prop_map(Kind::Use),
    ]
}

fn gaps() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of(0_u64..8)
}

fn blends() -> impl Strategy<Value = Blend> {
    prop_oneof![
        Just(Blend::Mean),
        Just(Blend::Max),
        Just(Blend::Min),
        Just(Blend::Sum),
        Just(Blend::Last)
    ]
}

fn folds() -> impl Strategy<Value = Fold> {
    prop_oneof![
        Just(Fold::Base),
        Just(Fold::Add),
        Just(Fold::Subtract),
        Just(Fold::Multiply),
        Just(Fold::Mean),
        Just(Fold::Max),
        Just(Fold::Min),
        Just(Fold::Over),
        Just(Fold::Mask)
    ]
}

fn vectors() -> impl Strategy<Value = ((i64, i64), (i64, i64))> {
    let component = || -9_i64..=9;
    ((component(), component()), (component(), component()))
        .prop_filter("parallel", |(u, v)| u.0 * v.1 != u.1 * v.0)
}

fn radii() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0_u64..8, 3 => 8_u64..40, 1 => 40_u64..300]
}

fn profiles(max: u16) -> impl Strategy<Value = Profile> {
    let top = i32::from(max);
    prop_oneof![
        (0..=top, -top / 4..=top / 4).prop_map(|(a, b)| Profile::Line { a, b }),
        (0..=2 * top, 0_u32..6).prop_map(|(a, k)| Profile::Bowl { a, k }),
        (0_u32..12, -top / 4..=top).prop_map(|(a, b)| Profile::Fold { a, b }),
        (0_u32..6, 0_u32..4, vec(-top..=5 * top, 1..5)).prop_map(|(first, k, quarters)| Profile::Points {
            first,
            k,
            quarters
        }),
    ]
}

fn tones(max: u16) -> impl Strategy<Value = Tone> {
    let top = i32::from(max);
    prop_oneof![
        Just(Tone::Invert),
        prop_oneof![Just(1), Just(2), Just(4)].prop_map(Tone::Gamma),
        (0..max, 0..=max, samples(max), samples(max)).prop_map(move |(low, more, out_low, out_high)| {
            let high = low + 1 + more % (max - low);
            Tone::Levels {
                low,
                high,
                out_low,
                out_high,
            }
        }),
        (0_u16..100, 0_u32..6, vec(-top..=5 * top, 1..5)).prop_map(|(first, k, quarters)| Tone::Curve {
            first,
            k,
            quarters
        }),
        (-20_i32..20, -top..=top).prop_map(|(a, b)| Tone::Line { a, b }),
    ]
}

/// The item with only definitions before `number` in use.
fn used_before(mut item: Item, number: usize) -> Item {
    item.kind = used_before_kind(item.kind, number);
    item
}

fn used_before_kind(kind: Kind, number: usize) -> Kind {
    let boxed = |item: Box<Item>| Box::new(used_before(*item, number));
    match kind {
        Kind::Use(_) if number == 0 => Kind::Fill(7),
        Kind::Use(used) => Kind::Use(used % number),
        Kind::Repeat { gaps, pattern } => Kind::Repeat {
            gaps,
            pattern: boxed(pattern),
        },
        Kind::Lattice { blend, u, v, pattern } => Kind::Lattice {
            blend,
            u,
            v,
            pattern: boxed(pattern),
        },
        Kind::Distance {
            radius,
            profile,
            beyond,
            mask,
        } => Kind::Distance {
            radius,
            profile,
            beyond,
            mask: boxed(mask),
        },
        Kind::Map { tone, source } => Kind::Map {
            tone,
            source: boxed(source),
        },
        Kind::Threshold { level, source } => Kind::Threshold {
            level,
            source: boxed(source),
        },
        Kind::Compose(children) => Kind::Compose(
            children
                .into_iter()
                .map(|(fold, item)| (fold, used_before(item, number)))
                .collect(),
        ),
        leaf => leaf,
    }
}
