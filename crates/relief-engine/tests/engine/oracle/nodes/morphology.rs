//! `erode`, `dilate`, and `open`, `close` and `top-hat`, which read one of them of a pixel by the other: least and greatest samples.

use proptest::prelude::*;
use proptest::sample::select;

use super::gauss::Edge;
use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

/// A shape and what counts beyond the border.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    pub(crate) radius: i64,
    pub(crate) disc: bool,
    pub(crate) edge: Edge,
}

impl Element {
    fn properties(self) -> String {
        let shape = if self.disc { "disc" } else { "square" };
        format!(
            " radius={} shape={shape} edge=\"{}\"",
            self.radius,
            self.edge.name()
        )
    }

    /// The least or the greatest around (x, y) of what `sample` gives of pixels within the node.
    fn extreme(
        self,
        at: &mut At<'_, '_>,
        (x, y): (i64, i64),
        greatest: bool,
        sample: &mut dyn FnMut(&mut At<'_, '_>, i64, i64) -> u16,
    ) -> u16 {
        let (width, height) = at.size();
        let mut found = Vec::new();
        for dy in -self.radius..=self.radius {
            for dx in -self.radius..=self.radius {
                if self.disc && dx * dx + dy * dy > self.radius * self.radius {
                    continue;
                }
                found.push(
                    match (self.edge.of(x + dx, width), self.edge.of(y + dy, height)) {
                        (Some(x), Some(y)) => sample(at, x, y),
                        _ => 0,
                    },
                );
            }
        }
        found.sort_unstable();
        if greatest {
            found[found.len() - 1]
        } else {
            found[0]
        }
    }

    fn of_source(self, at: &mut At<'_, '_>, place: (i64, i64), greatest: bool) -> u16 {
        self.extreme(at, place, greatest, &mut |at, x, y| at.child(0, x, y))
    }

    /// The one, then the other.
    fn twice(self, at: &mut At<'_, '_>, greatest_last: bool) -> u16 {
        self.extreme(at, (at.x, at.y), greatest_last, &mut |at, x, y| {
            self.of_source(at, (x, y), !greatest_last)
        })
    }

    fn any(greatest: i64) -> impl Strategy<Value = Self> + Clone {
        let radius = prop_oneof![8 => 1_i64..=2, 1 => 3..=greatest];
        (radius, any::<bool>(), select(&Edge::ALL[..])).prop_map(|(radius, disc, edge)| Self {
            radius,
            disc,
            edge,
        })
    }
}

macro_rules! words {
    ($($name:ident = $word:literal, at most $most:literal, $sample:expr;)*) => {
        $(#[derive(Clone, Debug)]
        pub(crate) struct $name {
            pub(crate) element: Element,
            pub(crate) source: Box<Item>,
        }

        impl Node for $name {
            const NAME: &'static str = $word;

            one_child!(source);

            fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
                self.element.properties()
            }

            fn sample(&self, at: &mut At<'_, '_>) -> u16 {
                let sample: fn(Element, &mut At<'_, '_>) -> u16 = $sample;
                sample(self.element, at)
            }

            fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
                let any = (Element::any($most), inner.item.clone()).prop_map(|(element, source)| Self {
                    element,
                    source: Box::new(source),
                });
                Some((1, any.boxed()))
            }
        })*
    };
}

words! {
    Erode = "erode", at most 20, |element, at| element.of_source(at, (at.x, at.y), false);
    Dilate = "dilate", at most 20, |element, at| element.of_source(at, (at.x, at.y), true);
    Open = "open", at most 4, |element, at| element.twice(at, true);
    Close = "close", at most 4, |element, at| element.twice(at, false);
}

#[derive(Clone, Debug)]
pub(crate) struct TopHat {
    pub(crate) element: Element,
    pub(crate) dark: bool,
    pub(crate) source: Box<Item>,
}

impl Node for TopHat {
    const NAME: &'static str = "top-hat";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let of = if self.dark { "dark" } else { "light" };
        format!("{} of={of}", self.element.properties())
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let sample = at.child(0, at.x, at.y);
        let smoothed = self.element.twice(at, !self.dark);
        // What is opened is nowhere greater, what is closed nowhere less, but for a zero edge, where no difference is below 0.
        if self.dark {
            smoothed.saturating_sub(sample)
        } else {
            sample.saturating_sub(smoothed)
        }
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let any =
            (Element::any(3), any::<bool>(), inner.item.clone()).prop_map(|(element, dark, source)| Self {
                element,
                dark,
                source: Box::new(source),
            });
        Some((1, any.boxed()))
    }
}
