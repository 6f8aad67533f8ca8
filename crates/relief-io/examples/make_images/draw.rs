//! A simple rasteriser: discs, polygons and thick strokes on a mask, and gray by a function of the pixel.

use crate::font;

/// A gray picture, 0…1.
pub(crate) struct Gray {
    pub(crate) width: i32,
    pub(crate) height: i32,
    pub(crate) pixels: Vec<f64>,
}

impl Gray {
    /// The picture of a function of column and row.
    pub(crate) fn draw(width: i32, height: i32, sample: impl Fn(i32, i32) -> f64) -> Self {
        let pixels = (0..height)
            .flat_map(|y| (0..width).map(move |x| (x, y)))
            .map(|(x, y)| sample(x, y))
            .collect();
        Self {
            width,
            height,
            pixels,
        }
    }
}

/// A black and white picture, black at first.
pub(crate) struct Mask {
    pub(crate) width: i32,
    pub(crate) height: i32,
    pub(crate) pixels: Vec<bool>,
}

impl Mask {
    pub(crate) fn new(width: i32, height: i32) -> Self {
        Self {
            width,
            height,
            pixels: vec![false; (width * height) as usize],
        }
    }

    /// Paints the pixels where `inside` holds.
    fn paint(&mut self, white: bool, inside: impl Fn(i32, i32) -> bool) {
        for y in 0..self.height {
            for x in 0..self.width {
                if inside(x, y) {
                    self.pixels[(y * self.width + x) as usize] = white;
                }
            }
        }
    }

    pub(crate) fn disc(&mut self, (cx, cy): (i32, i32), radius: i32, white: bool) {
        self.paint(white, |x, y| (x - cx).pow(2) + (y - cy).pow(2) <= radius * radius);
    }

    /// Paints what lies inside by the even-odd rule.
    pub(crate) fn polygon(&mut self, corners: &[(i32, i32)]) {
        self.paint(true, |x, y| {
            let edges = corners.iter().zip(corners.iter().cycle().skip(1));
            let crossed = edges.filter(|&(&(x0, y0), &(x1, y1))| {
                let spans = (y0 > y) != (y1 > y);
                // x < x0 + (y − y0)·(x1 − x0) / (y1 − y0), without the division.
                let side = (x - x0) * (y1 - y0) - (y - y0) * (x1 - x0);
                spans && if y1 > y0 { side < 0 } else { side > 0 }
            });
            crossed.count() % 2 == 1
        });
    }

    /// Paints the pixels within half of `width` of a line, its ends rounded.
    fn stroke(&mut self, (x0, y0): (i32, i32), (x1, y1): (i32, i32), width: i32) {
        let (dx, dy) = (i64::from(x1 - x0), i64::from(y1 - y0));
        let (length, reach) = (dx * dx + dy * dy, i64::from(width * width));
        let r = width / 2 + 1;
        let columns = (x0.min(x1) - r).max(0)..(x0.max(x1) + r).min(self.width);
        for y in (y0.min(y1) - r).max(0)..(y0.max(y1) + r).min(self.height) {
            for x in columns.clone() {
                let (px, py) = (i64::from(x - x0), i64::from(y - y0));
                let along = px * dx + py * dy;
                let inside = if along <= 0 {
                    4 * (px * px + py * py) <= reach
                } else if along >= length {
                    4 * ((px - dx).pow(2) + (py - dy).pow(2)) <= reach
                } else {
                    4 * (px * dy - py * dx).pow(2) <= reach * length
                };
                if inside {
                    self.pixels[(y * self.width + x) as usize] = true;
                }
            }
        }
    }

    /// Writes a line of text: the top left of its first letter's lines at (x, y), its capitals `height` high.
    pub(crate) fn text(&mut self, text: &str, (x, y): (i32, i32), height: i32, width: i32) {
        let at = |origin: i32, (px, py): (i32, i32)| (origin + px * height / 6, y + py * height / 6);
        for (i, letter) in (0..).zip(text.chars()) {
            let origin = x + width / 2 + i * height;
            for line in font::lines(letter) {
                line.windows(2)
                    .for_each(|ends| self.stroke(at(origin, ends[0]), at(origin, ends[1]), width));
            }
        }
    }
}

/// Smooth noise, 0…1: hashed values at the corners of squares of `size` pixels, blended between them.
pub(crate) fn value_noise(x: i32, y: i32, size: i32, seed: u64) -> f64 {
    let corner = |i: i32, j: i32| {
        let mixed = hash(seed ^ u64::from(i.unsigned_abs()) << 32 ^ u64::from(j.unsigned_abs()));
        (mixed >> 40) as f64 / f64::from(1 << 24)
    };
    let (i, j) = (x / size, y / size);
    let smooth = |t: f64| t * t * (3.0 - 2.0 * t);
    let (s, t) = (
        smooth(f64::from(x % size) / f64::from(size)),
        smooth(f64::from(y % size) / f64::from(size)),
    );
    let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
    mix(
        mix(corner(i, j), corner(i + 1, j), s),
        mix(corner(i, j + 1), corner(i + 1, j + 1), s),
        t,
    )
}

/// The finaliser of SplitMix64.
fn hash(v: u64) -> u64 {
    let v = v.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let v = (v ^ v >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let v = (v ^ v >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    v ^ v >> 31
}
