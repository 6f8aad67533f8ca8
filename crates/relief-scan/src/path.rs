//! The order of travels.

use std::ops::Range;

use crate::Error;
use relief_design::scan::{Direction, Scan};

/// The greatest interleave, as for designs.
const MAX_INTERLEAVE: u32 = 1 << 31;

/// What one machine line covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Travel {
    /// The pass.
    pub pass: u32,
    /// The pixels along the line.
    pub pixels: Range<u64>,
    /// The lines.
    pub lines: Range<u64>,
    /// Whether the last pixel comes first.
    pub backwards: bool,
}

/// The order of the travels of a pass over `length` × `lines` pixels. The number of a travel gives its place in
/// constant time, so that a job may begin anywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) length: u64,
    pub(crate) rows: u64,
    /// Pixels of a stripe and the way to the next one.
    pub(crate) stripe: (u64, u64),
    /// Lines of a swath and the way to the next one.
    pub(crate) swath: (u64, u64),
    /// Travels of a stripe.
    pub(crate) travels: u64,
    interleave: u64,
    serpentine: bool,
    /// Travels of a pass.
    pub(crate) total: u64,
}

impl Path {
    /// Over lines of this length; they are as wide as `whole` where there are no stripes.
    pub(crate) fn new(
        scan: &Scan,
        (length, lines): (u64, u64),
        whole: u64,
        passes: u32,
    ) -> Result<Self, Error> {
        let wrong = |setting, problem: String| Err(Error::Setting { setting, problem });
        let (width, overlap) = scan
            .stripe
            .map_or((whole, 0), |stripe| (stripe.width, stripe.overlap));
        if width == 0 || overlap >= width {
            return wrong(
                "stripe",
                format!("{width} pixels with an overlap of {overlap} never reach the end"),
            );
        }
        let (high, shared) = scan.swath.map_or((1, 0), |swath| (swath.lines, swath.overlap));
        if high == 0 || shared >= high {
            return wrong(
                "swath",
                format!("{high} lines with an overlap of {shared} never reach the end"),
            );
        }
        if !(1..=MAX_INTERLEAVE).contains(&scan.interleave.0) {
            return wrong(
                "interleave",
                format!(
                    "it is {}; 1 is the plain order, {MAX_INTERLEAVE} the most",
                    scan.interleave.0
                ),
            );
        }
        let stripe = (width, width - overlap);
        let swath = (u64::from(high), u64::from(high - shared));
        let (stripes, travels) = (count(length, stripe), count(lines, swath));
        let total = stripes.checked_mul(travels);
        let fits = |&total: &u64| {
            total
                .checked_mul(u64::from(passes))
                .is_some_and(|all| all <= 1 << 62)
        };
        let Some(total) = total.filter(fits) else {
            return wrong(
                "passes",
                format!("{passes} passes of {stripes} × {travels} lines are more than 2^62 lines"),
            );
        };
        Ok(Self {
            length,
            rows: lines,
            stripe,
            swath,
            travels,
            interleave: u64::from(scan.interleave.0),
            serpentine: scan.direction == Direction::Serpentine,
            total,
        })
    }

    /// Whether travels that follow each other lie beside each other.
    pub(crate) const fn is_plain(&self) -> bool {
        self.interleave == 1
    }

    /// Lines that two swaths share.
    pub(crate) const fn shared_lines(&self) -> u64 {
        self.swath.0 - self.swath.1
    }

    /// Travel `number` of a pass.
    pub(crate) fn travel(&self, pass: u32, number: u64) -> Travel {
        let (order, stripe) = (number % self.travels, number / self.travels);
        let swath = interleaved(order, self.travels, self.interleave);
        let (left, top) = (stripe * self.stripe.1, swath * self.swath.1);
        Travel {
            pass,
            pixels: left..(left + self.stripe.0).min(self.length),
            lines: top..(top + self.swath.0).min(self.rows),
            backwards: self.serpentine && order % 2 == 1,
        }
    }
}

/// How many parts of a size, each `step` further than the last, cover `whole`.
const fn count(whole: u64, (size, step): (u64, u64)) -> u64 {
    if whole <= size {
        1
    } else {
        (whole - size).div_ceil(step) + 1
    }
}

/// The `order`-th of the numbers below `count` in the order 0, n, 2n, …, 1, n + 1, ….
const fn interleaved(order: u64, count: u64, n: u64) -> u64 {
    let (each, longer) = (count / n, count % n);
    // The first `longer` classes have one number more than the others.
    let before = longer * (each + 1);
    if order < before {
        order / (each + 1) + order % (each + 1) * n
    } else {
        let order = order - before;
        longer + order / each + order % each * n
    }
}
