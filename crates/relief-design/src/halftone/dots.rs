//! Dots on a grid that is turned by an angle of rational tangent: amplitude-modulated screens.
//!
//! The screen repeats by (a, −b) and (b, a), y down: a lattice of a² + b² pixels. With g the greatest common divisor of a and b it
//! has a cell of (a² + b²) / g columns and g rows, moved by a shift every g rows. In it pixels are ranked by the spot value of
//! their middle, then by row and column, so that every count of pixels has its gray. All of it is in integers.

use crate::scan::{Dot, Screen};

/// The ranks of a cell, row by row.
#[derive(Debug)]
pub(super) struct Dots {
    pub(super) width: usize,
    /// What each cell below lies further to the right.
    pub(super) shift: u64,
    pub(super) ranks: Vec<u32>,
}

impl Dots {
    pub(super) fn new(screen: Screen) -> Result<Self, String> {
        is_screen(screen)?;
        let area = screen.area();
        let (a, b) = (i64::from(screen.vector.0), i64::from(screen.vector.1));
        let n = i64::from(screen.cells);
        // At most 2^18.
        let area = area.cast_signed();
        // p·(−b) + q·a = g moves down by g rows: by p·a + q·b columns.
        let (g, p, q) = bezout(-b, a);
        let (width, height) = (area / g, g);
        let shift = (p * a + q * b).rem_euclid(width);
        let value = |x: i64, y: i64| {
            // Twice the middle of the pixel, in the directions of the vectors: 2·area is a dot further.
            let (x, y) = (2 * x + 1, 2 * y + 1);
            let along = |to: i64| (n * to).rem_euclid(2 * area) - area;
            // From the middle of a dot, −area to area.
            let (s, t) = (along(a * x - b * y), along(b * x + a * y));
            match screen.dot {
                Dot::Round => s * s + t * t,
                Dot::Ellipse => 4 * s * s + 9 * t * t,
                Dot::Line => t.abs(),
                Dot::Diamond => s.abs() + t.abs(),
            }
        };
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (y, x)));
        let mut order: Vec<(i64, i64, i64)> = pixels.map(|(y, x)| (value(x, y), y, x)).collect();
        order.sort_unstable();
        let mut ranks = vec![0; order.len()];
        for (rank, (_, y, x)) in order.into_iter().enumerate() {
            ranks[(y * width + x) as usize] = rank as u32;
        }
        Ok(Self {
            width: width as usize,
            shift: shift.unsigned_abs(),
            ranks,
        })
    }
}

/// Whether the numbers of a screen are in range.
pub(super) fn is_screen(screen: Screen) -> Result<(), String> {
    let area = screen.area();
    if area == 0 || area > Screen::MAX_AREA || screen.cells == 0 || u64::from(screen.cells) > area {
        return Err(format!(
            "a screen repeats after 1 to {} pixels with a pixel at least for each dot, and this one after {area} with {} × {} \
             dots",
            Screen::MAX_AREA,
            screen.cells,
            screen.cells
        ));
    }
    Ok(())
}

/// The greatest common divisor g > 0 of two numbers, not both 0, and p, q with p·a + q·b = g.
fn bezout(a: i64, b: i64) -> (i64, i64, i64) {
    let (mut old, mut new) = ((a, 1, 0), (b, 0, 1));
    while new.0 != 0 {
        let times = old.0.div_euclid(new.0);
        let next = (
            old.0 - times * new.0,
            old.1 - times * new.1,
            old.2 - times * new.2,
        );
        (old, new) = (new, next);
    }
    if old.0 < 0 { (-old.0, -old.1, -old.2) } else { old }
}
