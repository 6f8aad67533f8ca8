//! Meshes: triangles seen from above as heights, exact in integers.
//!
//! # What is computed
//! A point is (x, y, z): x and y in 1/256 px, z in 2^-16 of a sample. A triangle covers the centres of pixels that lie within it; a
//! centre on an edge belongs to the triangle whose left or upper edge it is, so that of two triangles that share an edge one
//! covers it. With the doubled areas `w` of the three triangles that the centre spans with the edges, and A their sum, the sample of a
//! triangle is ⌊Σ w·z / (2^16·A) + 1/2⌋, taken to 0…M. The sample of a pixel is the greatest of all triangles that cover it, else 0.
//!
//! # Why this way
//! Rounding and clamping keep the order of heights, so that the greatest of the rounded samples is the rounded greatest height: triangles may
//! come in any order. Along a row the height of a triangle is walked as a quotient and a remainder, which grow by those of a
//! step; one division a row gives the first.
//!
//! Triangles are sorted along a Z-curve and lie in a tree of boxes of eight, whose size does not depend on where they lie. A grid would hold
//! a large triangle once for each of its cells.
//!
//! ```
//! use relief_kernels::mesh::{Index, cpu};
//! use relief_raster::ViewMut;
//!
//! // A triangle that rises from 0 at its left to 80 eight pixels further. Heights are those of the middles of pixels.
//! let points = [[0, 0, 0], [8 << 8, 0, 80 << 16], [0, 8 << 8, 0]];
//! let index = Index::new(points.into(), &[[0, 1, 2]]).unwrap();
//! let mut out = [0_u8; 2];
//! assert_eq!(cpu::compute(&index, (0, 0), ViewMut::packed(&mut out, 2, 1)), None);
//! assert_eq!(out, [5, 15]);
//! ```

pub mod cpu;

use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The greatest x and y: 2^26 px.
pub const MAX_PLACE: i64 = 1 << 34;

/// The greatest z: 2^35 samples. Sums of products of an area and a height then fit 128 bits.
pub const MAX_HEIGHT: i64 = 1 << 51;

/// Triangles of a leaf, and boxes of a node.
const FAN: usize = 8;

/// A point: x and y in 1/256 px, z in 2^-16 of a sample.
pub type Point = [i64; 3];

/// What triangles reach over.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    left: i64,
    top: i64,
    right: i64,
    bottom: i64,
    /// Their greatest z.
    greatest: i64,
}

impl Bounds {
    fn of(points: [Point; 3]) -> Self {
        let [a, b, c] = points;
        Self {
            left: a[0].min(b[0]).min(c[0]),
            top: a[1].min(b[1]).min(c[1]),
            right: a[0].max(b[0]).max(c[0]),
            bottom: a[1].max(b[1]).max(c[1]),
            greatest: a[2].max(b[2]).max(c[2]),
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
            greatest: self.greatest.max(other.greatest),
        }
    }
}

/// Triangles that are ready to be looked at.
#[derive(Debug)]
pub struct Index {
    points: Arc<[Point]>,
    triangles: Vec<[u32; 3]>,
    /// The boxes of eight triangles each, then those of eight such boxes, to one.
    boxes: Vec<Bounds>,
    /// Where the boxes of each level begin, and where they end.
    levels: Vec<usize>,
}

impl Index {
    /// An index of triangles between points; those that cover no area are left out. Nothing where a point lies beyond
    /// [`MAX_PLACE`] or [`MAX_HEIGHT`], a triangle names a point that is not there, or there are 2^32 triangles or more.
    #[must_use]
    pub fn new(points: Arc<[Point]>, triangles: &[[u32; 3]]) -> Option<Self> {
        let inside = |[x, y, z]: &Point| {
            let place = -MAX_PLACE..=MAX_PLACE;
            place.contains(x) && place.contains(y) && (-MAX_HEIGHT..=MAX_HEIGHT).contains(z)
        };
        let count = points.len();
        let named = |triangle: &[u32; 3]| triangle.iter().all(|&point| (point as usize) < count);
        if !points.iter().all(inside)
            || !triangles.iter().all(named)
            || u32::try_from(triangles.len()).is_err()
        {
            return None;
        }
        let corners = |number: u32| triangles[number as usize].map(|point| points[point as usize]);
        // The key of a triangle in the upper half, its number in the lower.
        let mut order: Vec<u64> = Vec::with_capacity(triangles.len());
        for number in 0..triangles.len() as u32 {
            let [a, b, c] = corners(number);
            if area(a, b, c) != 0 {
                order.push(u64::from(number));
            }
        }
        let whole = order
            .iter()
            .map(|&number| Bounds::of(corners(number as u32)))
            .reduce(Bounds::or);
        if let Some(whole) = whole {
            for entry in &mut order {
                let own = Bounds::of(corners(*entry as u32));
                let along = |low: i64, high: i64, from: i64, to: i64| {
                    // Within 0…2^37, then within 16 bits.
                    let (at, side) = ((low - from) + (high - from), 2 * (to - from).max(1));
                    (at * 65_535 / side) as u64
                };
                let x = along(own.left, own.right, whole.left, whole.right);
                let y = along(own.top, own.bottom, whole.top, whole.bottom);
                *entry |= (spread(x) | spread(y) << 1) << 32;
            }
        }
        order.sort_unstable();
        let sorted: Vec<[u32; 3]> = order
            .iter()
            .map(|&entry| triangles[entry as u32 as usize])
            .collect();
        drop(order);
        let own = |triangle: &[u32; 3]| Bounds::of(triangle.map(|point| points[point as usize]));
        let (mut boxes, mut levels) = (Vec::with_capacity(boxes(sorted.len() as u64) as usize), vec![0]);
        boxes.extend(
            sorted
                .chunks(FAN)
                .filter_map(|leaf| leaf.iter().map(own).reduce(Bounds::or)),
        );
        let mut start = 0;
        while boxes.len() - start > 1 {
            let end = boxes.len();
            levels.push(end);
            for at in (start..end).step_by(FAN) {
                let some = boxes[at..end.min(at + FAN)].iter().copied().reduce(Bounds::or);
                boxes.extend(some);
            }
            start = end;
        }
        levels.push(boxes.len());
        Some(Self {
            points,
            triangles: sorted,
            boxes,
            levels,
        })
    }

    /// The most bytes that an index of so many triangles takes at once while it is built, without those of its points and of the triangles
    /// that it is made of.
    #[must_use]
    pub const fn bytes_to_build(triangles: u64) -> u64 {
        let own = triangles.saturating_mul(size_of::<[u32; 3]>() as u64);
        let order = triangles.saturating_mul(size_of::<u64>() as u64);
        let boxes = boxes(triangles).saturating_mul(size_of::<Bounds>() as u64);
        // The order is gone before there are boxes.
        own.saturating_add(if order > boxes { order } else { boxes })
    }

    /// The bytes that it holds, without those of its points.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes =
            self.triangles.capacity() * size_of::<[u32; 3]>() + self.boxes.capacity() * size_of::<Bounds>();
        bytes as u64
    }

    fn corners(&self, triangle: usize) -> [Point; 3] {
        self.triangles[triangle].map(|point| self.points[point as usize])
    }
}

/// The boxes of all levels above so many triangles.
const fn boxes(triangles: u64) -> u64 {
    let mut level = triangles.div_ceil(FAN as u64);
    let mut boxes = level;
    while level > 1 {
        level = level.div_ceil(FAN as u64);
        boxes += level;
    }
    boxes
}

/// The doubled area of a triangle, above 0 where its corners go round clockwise as a raster is seen.
fn area(a: Point, b: Point, c: Point) -> i128 {
    let ([ax, ay, _], [bx, by, _], [cx, cy, _]) = (a, b, c);
    i128::from(bx - ax) * i128::from(cy - ay) - i128::from(by - ay) * i128::from(cx - ax)
}

/// The 16 bits of a number, each in every other place.
const fn spread(number: u64) -> u64 {
    let mut bits = number & 0xFFFF;
    bits = (bits | bits << 8) & 0x00FF_00FF;
    bits = (bits | bits << 4) & 0x0F0F_0F0F;
    bits = (bits | bits << 2) & 0x3333_3333;
    (bits | bits << 1) & 0x5555_5555
}
