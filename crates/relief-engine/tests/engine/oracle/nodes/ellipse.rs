//! `ellipse` by the centres of its pixels: its equation in exact integers, of ellipses that no centre comes near. The chords that the engine draws
//! lie within [`NEAR`] of the ellipse, so that they decide as it does.

use std::sync::OnceLock;

use proptest::prelude::*;
use proptest::sample::select;

use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Model, NaturalSize};
use crate::oracle::strategy::samples;

/// In pixels: chords within 1/16, curves within 2⁻¹⁰, points within half of 1/256 along both axes.
const NEAR: f64 = 0.0625 + 0.001 + 0.003;

/// Parts of a pixel.
const PARTS: i64 = 8;

/// Sides and where they begin, in parts.
type Lies = ((i64, i64), (i64, i64));

#[derive(Clone, Debug)]
pub(crate) struct Ellipse {
    value: u16,
    /// Its sides, in parts.
    size: (i64, i64),
    /// Where it lies, in parts.
    shift: (i64, i64),
}

impl Ellipse {
    /// (X / width)² + (Y / height)² of a centre with 1 at the ellipse, both times (width · height)².
    fn equation(&self, x: i64, y: i64) -> (i64, i64) {
        let from = |pixel: i64, shift: i64, side: i64| PARTS * (2 * pixel + 1) - 2 * shift - side;
        let (across, down) = (
            from(x, self.shift.0, self.size.0) * self.size.1,
            from(y, self.shift.1, self.size.1) * self.size.0,
        );
        (across * across + down * down, (self.size.0 * self.size.1).pow(2))
    }

    /// Whether the centre of a pixel lies so near that chords may decide otherwise.
    fn is_near(&self, x: i64, y: i64) -> bool {
        let (at, one) = self.equation(x, y);
        // The root is a norm of which the ball holds the disc of the smaller half axis: it changes no faster.
        let half = self.size.0.min(self.size.1) as f64 / (2 * PARTS) as f64;
        ((at as f64 / one as f64).sqrt() - 1.0).abs() * half <= NEAR
    }

    fn is_clear(&self) -> bool {
        let pixels = |side: i64| -1..=(side + 2 * PARTS) / PARTS;
        pixels(self.size.1).all(|y| pixels(self.size.0).all(|x| !self.is_near(x, y)))
    }

    /// Sides, and where it lies within a pixel, of which no centre comes near.
    fn clear() -> &'static [Lies] {
        static CLEAR: OnceLock<Vec<Lies>> = OnceLock::new();
        CLEAR.get_or_init(|| {
            let sides = || (3..=12 * PARTS).step_by(3);
            let all = sides().flat_map(|width| sides().map(move |height| (width, height)));
            let within = (0..PARTS).flat_map(|x| (0..PARTS).map(move |y| (x, y)));
            all.flat_map(|size| within.clone().map(move |shift| (size, shift)))
                .filter(|(size, shift)| {
                    let (value, size, shift) = (0, *size, *shift);
                    Self { value, size, shift }.is_clear()
                })
                .collect()
        })
    }
}

impl Node for Ellipse {
    const NAME: &'static str = "ellipse";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(
            " size-x=\"{}/{PARTS}\" size-y=\"{}/{PARTS}\" shift-x=\"{}/{PARTS}\" shift-y=\"{}/{PARTS}\" value={} antialias=\"none\"",
            self.size.0, self.size.1, self.shift.0, self.shift.1, self.value
        )
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        let pixels = |end: i64| {
            let pixels = -(-end).div_euclid(PARTS);
            (pixels > 0).then_some(pixels as u64)
        };
        (
            pixels(self.shift.0 + self.size.0),
            pixels(self.shift.1 + self.size.1),
        )
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let (found, one) = self.equation(at.x, at.y);
        if found < one { self.value } else { 0 }
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        let any = (samples(max), select(Self::clear()), (-4_i64..9, -4_i64..9)).prop_map(
            |(value, (size, (x, y)), (right, down))| Self {
                value,
                size,
                shift: (PARTS * right + x, PARTS * down + y),
            },
        );
        Some((1, any.boxed()))
    }
}
