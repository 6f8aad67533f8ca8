//! What nodes share that draw a file by the measure of the canvas: a pixel to measure by, where the file lies in the node, and how large
//! it is.

use std::sync::Arc;

use relief_raster::Length;
use relief_vector::{Drawing, Pixel};

use super::drawing::{Antialias, Drawn};
use super::visibility::{Measured, Visibility};
use super::{Doubts, IntoKind, NaturalSize, NodeKind, NodeSource, Sizing, words};
use crate::draft::{Budget, Checker, Loaded, Unusable, Values};
use crate::report::Problem;
use crate::syntax::Span;

/// What lies where in the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The top-left of the box of what the file draws is that of the node.
    Box,
    /// The origin of the file is the bottom-left of the node.
    Datum,
}

words!(Origin {
    Box = "box",
    Datum = "datum",
});

impl Origin {
    /// That of a node; the signature has a default.
    pub(crate) fn of(values: &Values) -> Self {
        values.word("origin").and_then(Self::of_word).unwrap_or(Self::Box)
    }

    /// The rows by which what is drawn from the origin of its file moves down in a node of this height.
    pub(crate) const fn down(self, height: u64) -> u64 {
        match self {
            Self::Datum => height,
            Self::Box => 0,
        }
    }
}

/// The units that numbers of a file can have.
pub(crate) const UNITS: &[&str] = &["mm", "um", "nm", "cm", "m", "in", "mil"];

/// The metres of a unit.
pub(crate) fn metres(unit: &str) -> f64 {
    let (_, (above, below)) = crate::length::UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .copied()
        .unwrap_or(("m", (1_000_000_000_000, 1)));
    above as f64 / (below as f64 * 1e12)
}

/// The side of a pixel; where the canvas says none, that is noted, with one that suits such a file.
pub(crate) fn pixel(checker: &mut Checker<'_>, at: Span, what: &str, suits: &str) -> Option<Length> {
    let pixel = checker.pixel();
    if pixel.is_none() {
        let message = format!("{what} needs the side of a pixel, which the canvas does not say");
        let problem = Problem::new("E406", message).label(at, "measured in metres");
        checker.note(problem.help(format!("add {suits} (or what it is) to the canvas")));
    }
    pixel
}

/// Whether a node by its datum has the width and the height that it needs; where one is missing, that is noted, with those that show all
/// that lies right of and above the origin of the file.
pub(crate) fn has_sides<K: NodeKind>(
    source: &NodeSource<'_, '_>,
    checker: &mut Checker<'_>,
    origin: Origin,
    what: &str,
    (right, top): (u64, u64),
) -> bool {
    let given = |side: &str| source.values.span(side).is_some();
    if origin == Origin::Box || (given("width") && given("height")) {
        return true;
    }
    let message = format!(
        "`{}` with origin=\"datum\" needs the properties `width` and `height`",
        K::SIGNATURE.name
    );
    let problem = Problem::new("E303", message).label(source.span, "here");
    checker.note(problem.help(format!(
        "width={} height={} shows all of the {what} that lies right of and above the origin of the file; origin=\"box\" begins at \
         the {what}'s own box",
        right.max(1),
        top.max(1)
    )));
    false
}

/// A kind that draws a file by the measure of the canvas.
pub(crate) trait Layout: NodeKind<Draft = LayoutDraft> {
    /// What to do where it has too many points.
    const FEWER: &'static str;
    /// What of it is drawn.
    const DRAWN: &'static str;
    /// What to do where it covers nothing.
    const EMPTY: &'static str;

    /// The node, once its drawing lies in it.
    fn new(path: Arc<str>, drawn: Drawn) -> Self;
}

/// A file that is drawn; how far down it lies follows from the height of the node.
#[derive(Debug)]
pub(crate) struct LayoutDraft {
    path: Arc<str>,
    at: Span,
    loaded: Loaded,
    origin: Origin,
    antialias: Antialias,
    budget: Budget,
    /// What of it is drawn, and what to do where it covers nothing.
    words: (&'static str, &'static str),
    /// Whether a warning says already why it covers nothing.
    is_told: bool,
}

/// How much finer pixels get, again and again, until a drawing that lies within one of them has so many that it is measured.
const FINER: u64 = 1 << 6;
const MEASURED: u64 = 1 << 12;

/// Width and height of a drawing in pixels: those of its box of so many columns and rows, or, where that may be a pixel alone, those that `draw` finds
/// with finer pixels. Lines along its curves are at most `stroke` pixels wide in the box, and as good as none where they are drawn finer.
pub(crate) fn sides(
    size: Option<(u64, u64)>,
    stroke: f64,
    pixel: Pixel,
    mut draw: impl FnMut(Pixel) -> Option<(u64, u64)>,
) -> Option<(f64, f64)> {
    let side =
        |(width, height): (u64, u64), parts: u64| (width as f64 / parts as f64, height as f64 / parts as f64);
    let mut found = size.map(|size| side(size, 1));
    // A point of a line has 4 widths on each side of it.
    if found.is_some_and(|(width, height)| width.max(height) > 1.0 + 8.0 * stroke) {
        return found;
    }
    // What is small enough is rounded away.
    let mut parts = 1;
    for _ in 0..6 {
        parts *= FINER;
        let finer = pixel.divided(parts).and_then(&mut draw);
        found = finer.map(|finer| side(finer, parts)).or(found);
        if finer.is_some_and(|(width, height)| width.max(height) >= MEASURED) {
            break;
        }
    }
    found
}

impl LayoutDraft {
    /// Nothing where the node needs sides that it does not have, which is noted.
    pub(crate) fn new<K: Layout>(
        source: &NodeSource<'_, '_>,
        checker: &mut Checker<'_>,
        loaded: Loaded,
    ) -> Option<Self> {
        let (path, at) = source.values.text("file")?;
        let origin = Origin::of(source.values);
        let (right, top) = loaded.size.unwrap_or((1.0, 1.0));
        has_sides::<K>(source, checker, origin, K::DRAWN, (right as u64, top as u64)).then(|| Self {
            path: path.into(),
            at,
            loaded,
            origin,
            antialias: super::drawing::antialias(source.values),
            budget: checker.drawing_budget(),
            words: (K::DRAWN, K::EMPTY),
            is_told: false,
        })
    }

    /// Where a warning has said why nothing is drawn.
    pub(crate) fn told(mut self, is_told: bool) -> Self {
        self.is_told = is_told;
        self
    }

    pub(crate) fn natural_size(&self) -> NaturalSize {
        let side = |side: f64| (side as u64).clamp(1, relief_raster::MAX_SIDE);
        match self.loaded.size {
            Some((width, height)) => NaturalSize::of(side(width), side(height)),
            None => NaturalSize::NONE,
        }
    }

    pub(crate) fn doubt(&self, doubts: &mut Doubts<'_>) {
        let down = self.origin.down(doubts.size.1).cast_signed();
        let pixels = self.loaded.drawing.pixels();
        let moved = |(left, top, right, bottom): (i64, i64, i64, i64)| {
            (left, top.saturating_add(down), right, bottom.saturating_add(down))
        };
        if pixels.is_none() && self.is_told {
            return;
        }
        let (noun, empty) = self.words;
        let visibility = Visibility {
            noun,
            pixels: pixels.map(moved),
            sides: self.loaded.sides,
            measured: self.loaded.unit.map_or(Measured::Pixel, Measured::Unit),
            empty,
        };
        visibility.doubt(doubts);
    }

    /// The outlines in a node of so many rows; nothing where they cannot lie there, which is noted.
    fn placed<K: Layout>(&self, sizing: &mut Sizing<'_>) -> Option<Arc<Drawing>> {
        let drawing = &self.loaded.drawing;
        if self.origin == Origin::Box {
            return Some(Arc::clone(drawing));
        }
        let refused = |message: String| Problem::new("E510", message).label(self.at, "this file");
        let unit = 256 * i64::from(drawing.denominator());
        let down = i64::try_from(sizing.size.height).ok();
        let Some(down) = down.and_then(|rows| rows.checked_mul(unit)) else {
            let message = format!(
                "a node of so many rows is too high for a {} by its datum",
                K::DRAWN
            );
            let help = format!(
                "write origin=\"box\", or a height of at most {} pixels",
                i64::MAX / unit
            );
            sizing.note(refused(message).help(help));
            return None;
        };
        if drawing.points() as u64 > self.budget.limits().points {
            let message = "the drawings of the design have more points than the 2^26 allowed".to_owned();
            sizing.note(refused(message).help(K::FEWER));
            return None;
        }
        if !self.budget.has_memory(drawing.bytes()) {
            let unusable = Unusable::memory(&self.path, self.budget.limits().memory);
            sizing.note(unusable.problem("drawing", self.at, K::FEWER));
            return None;
        }
        self.budget.take(drawing);
        Some(Arc::new(Drawing::clone(drawing).moved((0, down))))
    }
}

impl<K: Layout> IntoKind<K> for LayoutDraft {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<K> {
        let drawn = Drawn {
            drawing: self.placed::<K>(sizing)?,
            antialias: self.antialias,
        };
        Some(K::new(Arc::clone(&self.path), drawn))
    }
}

/// The side of a pixel for what draws.
pub(crate) fn drawing_pixel(checker: &mut Checker<'_>, at: Span, what: &str, suits: &str) -> Option<Pixel> {
    pixel(checker, at, what, suits)?;
    checker.drawing_pixel()
}

/// The methods of a [`Layout`] whose struct holds its path and a [`Drawn`].
macro_rules! layout {
    () => {
        fn natural_size(draft: &super::layout::LayoutDraft, _: &[super::NaturalChild]) -> super::NaturalSize {
            draft.natural_size()
        }

        fn bounds(&self, seen: &super::Seen<'_>) -> super::Bounds {
            self.drawn.bounds(seen.max)
        }

        fn is_smooth(&self, _: bool) -> bool {
            self.drawn.is_smooth()
        }

        fn doubt(draft: &super::layout::LayoutDraft, doubts: &mut super::Doubts<'_>) {
            draft.doubt(doubts);
        }

        fn validate(&self, rules: &crate::validate::Rules<'_>) -> Result<(), String> {
            self.drawn.validate(rules)
        }
    };
}
pub(crate) use layout;
