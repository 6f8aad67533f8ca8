//! Meshes on the CPU, triangle by triangle.

use std::ops::Range;

use relief_raster::{Rect, Sample, ViewMut};

use super::{Bounds, FAN, Index, Point, area};

/// The most triangles that are looked at to say bounds.
const MAX_LOOKS: u32 = 512;

/// Computes the pixels from (`x`, `y`) on. Where all are one sample it gives that and writes nothing.
pub fn compute<S: Sample>(index: &Index, (x, y): (i64, i64), mut out: ViewMut<'_, S>) -> Option<S> {
    let (width, height) = (out.width() as u64, out.height() as u64);
    let (least, greatest) = match Rect::new(x, y, width, height) {
        Some(rect) => within::<S>(index, rect),
        None => (0, 0),
    };
    if least == greatest {
        return Some(S::from_u16(least));
    }
    out.fill(S::ZERO);
    let window = Window {
        left: x,
        top: y,
        right: x + width as i64,
        bottom: y + height as i64,
    };
    let top = index.levels.len() - 2;
    let (_, open) = level(index, top);
    visit(index, top, open, &window, &mut |triangle| {
        Triangle::new(index.corners(triangle)).draw(&window, &mut out);
    });
    None
}

/// Samples between which all of these pixels lie: exact where one triangle covers them and no other is as high, and never
/// too few.
#[must_use]
pub fn within<S: Sample>(index: &Index, rect: Rect) -> (u16, u16) {
    let window = Window {
        left: rect.x(),
        top: rect.y(),
        right: rect.right(),
        bottom: rect.bottom(),
    };
    let mut look = Look {
        index,
        window,
        max: S::DEPTH.max(),
        left: MAX_LOOKS,
        least: 0,
        greatest: 0,
    };
    if !rect.is_empty() && !index.boxes.is_empty() {
        let top = index.levels.len() - 2;
        look.node(top, level(index, top).1);
    }
    (look.least, look.greatest)
}

/// Pixels.
struct Window {
    left: i64,
    top: i64,
    right: i64,
    bottom: i64,
}

impl Window {
    /// Whether a box may cover the centre of one of them.
    fn meets(&self, bounds: &Bounds) -> bool {
        let centre = |pixel: i64| pixel.saturating_mul(256).saturating_add(128);
        bounds.right >= centre(self.left)
            && bounds.left <= centre(self.right - 1)
            && bounds.bottom >= centre(self.top)
            && bounds.top <= centre(self.bottom - 1)
    }
}

/// Where the boxes of a level begin, and their numbers within it.
fn level(index: &Index, level: usize) -> (usize, Range<usize>) {
    let (start, end) = (index.levels[level], index.levels[level + 1]);
    (start, 0..end - start)
}

/// The boxes below a box, or the triangles of a leaf.
fn below(index: &Index, at: usize, number: usize) -> Range<usize> {
    let count = match at.checked_sub(1) {
        Some(lower) => level(index, lower).1.end,
        None => index.triangles.len(),
    };
    number * FAN..count.min((number + 1) * FAN)
}

/// Hands over all triangles that may reach into the window.
fn visit(index: &Index, at: usize, open: Range<usize>, window: &Window, each: &mut impl FnMut(usize)) {
    let (start, _) = level(index, at);
    for number in open {
        if !window.meets(&index.boxes[start + number]) {
            continue;
        }
        let inner = below(index, at, number);
        match at.checked_sub(1) {
            Some(lower) => visit(index, lower, inner, window, each),
            None => inner.for_each(&mut *each),
        }
    }
}

/// A look at what a window may hold.
struct Look<'a> {
    index: &'a Index,
    window: Window,
    max: u16,
    /// Triangles that may yet be looked at.
    left: u32,
    least: u16,
    greatest: u16,
}

impl Look<'_> {
    fn node(&mut self, at: usize, open: Range<usize>) {
        let (start, _) = level(self.index, at);
        for number in open {
            let bounds = &self.index.boxes[start + number];
            let above = rounded(bounds.greatest, self.max);
            if !self.window.meets(bounds) || above <= self.least {
                continue;
            }
            if self.left == 0 {
                self.greatest = self.greatest.max(above);
                continue;
            }
            let inner = below(self.index, at, number);
            match at.checked_sub(1) {
                Some(lower) => self.node(lower, inner),
                None => inner.for_each(|triangle| self.triangle(triangle)),
            }
        }
    }

    fn triangle(&mut self, number: usize) {
        self.left = self.left.saturating_sub(1);
        let corners = self.index.corners(number);
        let bounds = Bounds::of(corners);
        if !self.window.meets(&bounds) {
            return;
        }
        let triangle = Triangle::new(corners);
        let Window {
            left,
            top,
            right,
            bottom,
        } = self.window;
        // It is convex: it covers what its corners span, and its heights lie between theirs.
        let places = [
            (left, top),
            (right - 1, top),
            (left, bottom - 1),
            (right - 1, bottom - 1),
        ];
        let samples = places.map(|place| triangle.at(place, self.max));
        if let [Some(a), Some(b), Some(c), Some(d)] = samples {
            self.least = self.least.max(a.min(b).min(c).min(d));
            self.greatest = self.greatest.max(a.max(b).max(c).max(d));
        } else {
            self.greatest = self.greatest.max(rounded(bounds.greatest, self.max));
        }
    }
}

/// A height as a sample.
fn rounded(height: i64, max: u16) -> u16 {
    let sample = (height + (1 << 15)) >> 16;
    sample.clamp(0, max.into()) as u16
}

/// a·x + b·y + c, with x and y in 1/256 px.
#[derive(Clone, Copy)]
struct Linear {
    a: i128,
    b: i128,
    c: i128,
}

impl Linear {
    const fn at(self, x: i128, y: i128) -> i128 {
        self.a * x + self.b * y + self.c
    }
}

/// A triangle that covers an area.
struct Triangle {
    bounds: Bounds,
    /// Of each edge a number that is 0 or more where a place is covered.
    edges: [Linear; 3],
    /// 2·Σ w·z + 2^16·A: over the divisor, its floor is the sample.
    height: Linear,
    /// 2·2^16·A.
    divisor: i128,
}

impl Triangle {
    fn new(corners: [Point; 3]) -> Self {
        let [a, mut b, mut c] = corners;
        let bounds = Bounds::of(corners);
        let mut whole = area(a, b, c);
        if whole < 0 {
            (b, c, whole) = (c, b, -whole);
        }
        // The area that a place spans with the edge from `from` to `to`.
        let edge = |from: Point, to: Point| {
            let (dx, dy) = (i128::from(to[0] - from[0]), i128::from(to[1] - from[1]));
            Linear {
                a: -dy,
                b: dx,
                c: dy * i128::from(from[0]) - dx * i128::from(from[1]),
            }
        };
        let spans = [edge(b, c), edge(c, a), edge(a, b)];
        let sum = |part: fn(&Linear) -> i128| {
            let terms = spans.iter().zip([a, b, c]);
            terms
                .map(|(span, point)| part(span) * i128::from(point[2]))
                .sum::<i128>()
                * 2
        };
        let half = whole << 16;
        let height = Linear {
            a: sum(|span| span.a),
            b: sum(|span| span.b),
            c: sum(|span| span.c) + half,
        };
        // What lies on an edge counts where that is a left or an upper one: it goes up, or to the right.
        let edges = spans.map(|span| {
            let is_own = span.a > 0 || (span.a == 0 && span.b > 0);
            Linear {
                c: span.c - i128::from(!is_own),
                ..span
            }
        });
        Self {
            bounds,
            edges,
            height,
            divisor: half * 2,
        }
    }

    /// The sample at a pixel; nothing where it is not covered.
    fn at(&self, (x, y): (i64, i64), max: u16) -> Option<u16> {
        let (x, y) = (i128::from(x) * 256 + 128, i128::from(y) * 256 + 128);
        // Beyond, products need not fit.
        let Bounds {
            left,
            top,
            right,
            bottom,
            ..
        } = self.bounds;
        let near = (i128::from(left)..=i128::from(right)).contains(&x)
            && (i128::from(top)..=i128::from(bottom)).contains(&y);
        if !near || self.edges.iter().any(|edge| edge.at(x, y) < 0) {
            return None;
        }
        let sample = self.height.at(x, y).div_euclid(self.divisor);
        Some(sample.clamp(0, max.into()) as u16)
    }

    /// The columns of a row, within `columns`, that it covers.
    fn columns(&self, y: i128, columns: Range<i64>) -> Range<i64> {
        let Range { mut start, mut end } = columns;
        for edge in &self.edges {
            // a·(256·column + 128) + rest ≥ 0.
            let rest = edge.b * y + edge.c + 128 * edge.a;
            let step = 256 * edge.a;
            match step.signum() {
                1 => start = start.max(clamped(-(rest.div_euclid(step)))),
                -1 => end = end.min(clamped(rest.div_euclid(-step) + 1)),
                _ if rest < 0 => return 0..0,
                _ => {}
            }
        }
        start..end
    }

    /// Raises the pixels of a window that it covers to its height.
    fn draw<S: Sample>(&self, window: &Window, out: &mut ViewMut<'_, S>) {
        // The first pixel whose centre is not before a place, and the last whose centre is not after it.
        let first = |place: i64| (place + 127).div_euclid(256);
        let last = |place: i64| (place - 128).div_euclid(256);
        let (left, right) = (
            first(self.bounds.left).max(window.left),
            (last(self.bounds.right) + 1).min(window.right),
        );
        let (top, bottom) = (
            first(self.bounds.top).max(window.top),
            (last(self.bounds.bottom) + 1).min(window.bottom),
        );
        if left >= right {
            return;
        }
        let (step, more) = {
            let step = 256 * self.height.a;
            (step.div_euclid(self.divisor), step.rem_euclid(self.divisor))
        };
        let max = i128::from(S::DEPTH.max());
        for row in top..bottom {
            let y = i128::from(row) * 256 + 128;
            let columns = self.columns(y, left..right);
            if columns.is_empty() {
                continue;
            }
            let (from, to) = (
                (columns.start - window.left) as usize,
                (columns.end - window.left) as usize,
            );
            let samples = &mut out.row_mut((row - window.top) as usize)[from..to];
            let height = self.height.at(i128::from(columns.start) * 256 + 128, y);
            let (mut whole, mut rest) = (height.div_euclid(self.divisor), height.rem_euclid(self.divisor));
            for sample in samples {
                let own = S::from_u16(whole.clamp(0, max) as u16);
                *sample = (*sample).max(own);
                whole += step;
                rest += more;
                if rest >= self.divisor {
                    rest -= self.divisor;
                    whole += 1;
                }
            }
        }
    }
}

/// A number of a column, which lies within what a mesh reaches over or is as good as beyond it.
fn clamped(column: i128) -> i64 {
    let far = i128::from(i64::MAX / 4);
    column.clamp(-far, far) as i64
}
