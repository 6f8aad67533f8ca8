//! Random models: all node kinds, small enough to be evaluated pixel by pixel.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::Union;

use super::model::{Item, Model, Picture};
use super::nodes::{Compose, Fill, Fold, Kind, Use};

/// Definitions of a model, of which some may be used.
pub(super) const DEFINITIONS: usize = 3;

/// Pictures of a model.
pub(super) const PICTURES: usize = 3;

/// What random nodes are made of.
pub(super) struct Inner {
    /// Any child.
    pub(super) item: BoxedStrategy<Item>,
    /// Small, with a size that does not follow from its parent's, on which steps can be based.
    pub(super) pattern: BoxedStrategy<Item>,
}

impl Inner {
    fn new(kinds: &BoxedStrategy<Kind>) -> Self {
        let pattern = (kinds.clone(), places(), 1_u64..10, 1_u64..10, any::<bool>());
        Self {
            item: (kinds.clone(), places(), sizes()).prop_map(placed).boxed(),
            pattern: pattern
                .prop_map(|(kind, (x, y), width, height, own)| {
                    let item = composed(Item::new(kind).at(x, y));
                    if own {
                        of_natural_size(item, width, height)
                    } else {
                        item.sized(width, height)
                    }
                })
                .boxed(),
        }
    }
}

/// Any model of up to 80 × 80 pixels.
pub(crate) fn models() -> impl Strategy<Value = Model> {
    prop_oneof![3 => Just(255_u16), 2 => Just(65_535)].prop_flat_map(|max| {
        (
            side(),
            side(),
            vec(pictures(max), PICTURES),
            vec(items(max), DEFINITIONS),
            items(max),
        )
            .prop_map(move |(width, height, pictures, mut definitions, root)| {
                for (number, item) in definitions.iter_mut().enumerate() {
                    used_before(item, number);
                }
                Model {
                    width,
                    height,
                    max,
                    pictures,
                    definitions,
                    root: match root.kind {
                        // A root that is a definition would need the canvas's size; a drawing without a side keeps its own size, and does
                        // not fill the canvas.
                        Kind::Use(_) | Kind::Fitted(_) => Compose(vec![(Fold::Base, root)]).into(),
                        kind => kind,
                    },
                }
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
pub(super) fn samples(max: u16) -> impl Strategy<Value = u16> {
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
    Union::new_weighted(Kind::leaves(max))
        .prop_recursive(5, 24, 3, move |inner| {
            Union::new_weighted(Kind::branches(max, &Inner::new(&inner.boxed())))
        })
        .boxed()
}

/// The item, or a fold of it where it is a use, whose size is that of its definition.
fn composed(item: Item) -> Item {
    match item.kind {
        Kind::Use(_) => {
            let used = Item::new(item.kind);
            Item::new(Compose(vec![(Fold::Base, used)])).at(item.x, item.y)
        }
        _ => item,
    }
}

/// A model of which only the pictures are asked for: whatever their size, they have one.
fn any_picture() -> Model {
    let picture = Picture {
        width: 1,
        height: 1,
        samples: vec![0],
    };
    Model {
        width: 1,
        height: 1,
        max: 255,
        pictures: vec![picture; PICTURES],
        definitions: Vec::new(),
        root: Fill(0).into(),
    }
}

/// A pattern without a size where it has a natural one, which that of its children then is; else of this size.
fn of_natural_size(mut item: Item, width: u64, height: u64) -> Item {
    let endless = matches!(
        item.kind,
        Kind::Formula(_)
            | Kind::Repeat(_)
            | Kind::Lattice(_)
            | Kind::FractionalRepeat(_)
            | Kind::FractionalLattice(_)
    );
    // One may also lie wholly left of where it begins, or above.
    let is_sized = |item: &Item| {
        item.kind.has_own_size() && matches!(any_picture().natural_size(item), (Some(_), Some(_)))
    };
    if endless || item.kind.children().is_empty() && !is_sized(&item) {
        return item.sized(width, height);
    }
    (item.width, item.height) = (None, None);
    for child in item.kind.children_mut() {
        let at = (child.x.abs() % 6, child.y.abs() % 6);
        *child = if matches!(child.kind, Kind::Use(_)) {
            composed(child.clone()).sized(width, height)
        } else {
            of_natural_size(child.clone(), width, height)
        }
        .at(at.0, at.1);
    }
    if let Kind::Array(array) = &mut item.kind {
        array.copy_the_first();
    }
    item
}

/// Leaves only definitions before `number` in use.
fn used_before(item: &mut Item, number: usize) {
    if let Kind::Use(Use(used)) = item.kind {
        item.kind = match used.checked_rem(number) {
            Some(used) => Use(used).into(),
            None => Fill(7).into(),
        };
    }
    for child in item.kind.children_mut() {
        used_before(child, number);
    }
}
