//! `dxf`, `gds`, `gerber`, `oasis` and `svg` of files that hold closed outlines: of every sub-scanline, between all places at which an outline crosses it,
//! whether the last that covers it is dark, an odd number of them covers it, or any.

use proptest::prelude::*;

use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Model, NaturalSize};
use crate::oracle::strategy::samples;

/// Which outlines make a place dark.
#[derive(Clone, Copy)]
pub(super) enum Law {
    Odd,
    /// The windings of all of them do not add up to 0.
    Winding,
    Last,
    Any,
}

/// Outlines in 1/64 px, y down; the canvas has pixels of 1 mm.
#[derive(Clone, Debug)]
pub(crate) struct Outlines {
    pub(crate) value: u16,
    /// Pixels are taken by their centres.
    pub(crate) centres: bool,
    /// Each with whether it erases, where the file is a board.
    pub(crate) contours: Vec<(bool, Vec<(i64, i64)>)>,
}

impl Outlines {
    /// Left, top, right and bottom.
    fn bounds(&self) -> [i64; 4] {
        let points = || self.contours.iter().flat_map(|(_, points)| points);
        let (xs, ys) = (|| points().map(|p| p.0), || points().map(|p| p.1));
        [xs().min(), ys().min(), xs().max(), ys().max()].map(|side| side.unwrap_or(0))
    }

    fn natural_size(&self) -> NaturalSize {
        let [left, top, right, bottom] = self.bounds();
        let pixels = |side: i64| Some((side as u64).div_ceil(64).max(1));
        (pixels(right - left), pixels(bottom - top))
    }

    fn properties(&self) -> String {
        let antialias = if self.centres { " antialias=\"none\"" } else { "" };
        format!(" value={}{antialias}", self.value)
    }

    /// From the top-left of its box, in 1/256 px.
    fn placed(&self) -> Placed {
        let [left, top, ..] = self.bounds();
        let place = |&(x, y): &(i64, i64)| (4 * (x - left), 4 * (y - top));
        let contours = self.contours.iter();
        let contours = contours.map(|(clear, points)| (*clear, points.iter().map(place).collect()));
        Placed {
            value: self.value,
            centres: self.centres,
            contours: contours.collect(),
        }
    }

    fn sample(&self, law: Law, at: &At<'_, '_>) -> u16 {
        self.placed().sample(law, at)
    }

    /// Rectangles and triangles.
    fn any(max: u16) -> impl Strategy<Value = Self> {
        let place = || (-300_i64..900, -300_i64..900);
        let side = || prop_oneof![2 => (1_i64..16).prop_map(|side| 64 * side), 3 => 1_i64..700];
        let contour = (any::<bool>(), place(), side(), side(), 0_i64..700, any::<bool>()).prop_map(
            |(clear, (x, y), width, height, slant, triangle)| {
                let points = if triangle {
                    vec![
                        (x, y),
                        (x + width, y + slant),
                        (x + slant - 350, y + slant + height),
                    ]
                } else {
                    vec![(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
                };
                (clear, points)
            },
        );
        let contours = proptest::collection::vec(contour, 1..5);
        (samples(max), proptest::bool::weighted(0.2), contours).prop_map(|(value, centres, contours)| Self {
            value,
            centres,
            contours,
        })
    }
}

/// Outlines in 1/256 px of their node.
pub(super) struct Placed {
    pub(super) value: u16,
    pub(super) centres: bool,
    pub(super) contours: Vec<(bool, Vec<(i64, i64)>)>,
}

impl Placed {
    /// How many of the places [x, x + 1) / 256 with x in `left..right` it covers at this height, in 1/256 px.
    fn covered(&self, law: Law, left: i64, right: i64, height: i64) -> i64 {
        let crossings: Vec<Vec<(i64, i64)>> = self
            .contours
            .iter()
            .map(|(_, points)| {
                let next = points.iter().cycle().skip(1);
                let sides = points.iter().zip(next);
                sides
                    .filter_map(|(&from, &to)| {
                        let (upper, lower) = if from.1 < to.1 { (from, to) } else { (to, from) };
                        let along = (height - upper.1) * (lower.0 - upper.0);
                        let winding = if from.1 < to.1 { 1 } else { -1 };
                        (upper.1 <= height && height < lower.1)
                            .then(|| (upper.0 + along.div_euclid(lower.1 - upper.1), winding))
                    })
                    .collect()
            })
            .collect();
        let mut ends: Vec<i64> = crossings
            .iter()
            .flatten()
            .map(|(x, _)| (*x).clamp(left, right))
            .collect();
        ends.extend([left, right]);
        ends.sort_unstable();
        let winding = |contour: usize, x: i64| -> i64 {
            let before = crossings[contour].iter().filter(|(at, _)| *at <= x);
            before.map(|(_, winding)| winding).sum()
        };
        let dark = |x: i64| {
            let all = || (0..self.contours.len()).map(|contour| winding(contour, x));
            match law {
                Law::Winding => all().sum::<i64>() != 0,
                Law::Odd => all().sum::<i64>() % 2 != 0,
                Law::Any => all().any(|winding| winding != 0),
                Law::Last => {
                    let last = all().zip(&self.contours).rfind(|(winding, _)| *winding != 0);
                    last.is_some_and(|(_, (clear, _))| !clear)
                }
            }
        };
        let spans = ends.windows(2).filter(|pair| pair[0] < pair[1]);
        spans
            .filter(|pair| dark(pair[0]))
            .map(|pair| pair[1] - pair[0])
            .sum()
    }

    pub(super) fn sample(&self, law: Law, at: &At<'_, '_>) -> u16 {
        let (left, top) = (256 * at.x, 256 * at.y);
        if self.centres {
            let covered = self.covered(law, left + 128, left + 129, top + 128);
            return if covered > 0 { self.value } else { 0 };
        }
        let lines = if at.max() == 255 { 16 } else { 64 };
        let heights = (0..lines).map(|k| top + (2 * k + 1) * 256 / (2 * lines));
        let covered: i64 = heights
            .map(|height| self.covered(law, left, left + 256, height))
            .sum();
        let total = 256 * lines;
        ((i64::from(self.value) * covered + total / 2) / total) as u16
    }
}

/// A file of paths in a box of whole pixels that is scaled to its node, in its middle, by one of these words.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    fit: &'static str,
    sides: (u64, u64),
    outlines: Outlines,
}

impl Node for Fitted {
    const NAME: &'static str = "svg";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let (width, height) = self.sides;
        let mut file = format!("<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}'>");
        for (_, points) in &self.outlines.contours {
            let corners = points.iter().map(|(x, y)| {
                // 1/64 has six decimals.
                format!("{} {}", *x as f64 / 64.0, *y as f64 / 64.0)
            });
            file += &format!("<path d='M{}z'/>", corners.collect::<Vec<_>>().join("L"));
        }
        let antialias = if self.outlines.centres {
            " antialias=\"none\""
        } else {
            ""
        };
        format!(
            " \"{file}</svg>\" gray=\"opacity\" fit=\"{}\"{antialias}",
            self.fit
        )
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        (Some(self.sides.0), Some(self.sides.1))
    }

    fn other_side(&self, _: &Model, axis: usize, given: u64) -> Option<u64> {
        let sides = [self.sides.0 as f64, self.sides.1 as f64];
        let other = given as f64 * (sides[1 - axis] / sides[axis]);
        (self.fit != "none").then_some(((other + 0.5).floor() as u64).max(1))
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let own = (self.sides.0 as f64, self.sides.1 as f64);
        let size = at.size();
        let node = (size.0 as f64, size.1 as f64);
        let (x, y) = (node.0 / own.0, node.1 / own.1);
        let (x, y) = match self.fit {
            "contain" => (x.min(y), x.min(y)),
            "cover" => (x.max(y), x.max(y)),
            "stretch" => (x, y),
            _ => (1.0, 1.0),
        };
        let free = match self.fit {
            "none" => (0.0, 0.0),
            _ => ((node.0 - own.0 * x) / 2.0, (node.1 - own.1 * y) / 2.0),
        };
        let along = |place: i64, scale: f64, free: f64| {
            let place = (scale * (place as f64 / 64.0) + free) * 256.0;
            (place + 0.5).floor() as i64
        };
        let contours = self.outlines.contours.iter().map(|(clear, points)| {
            let points = points.iter();
            let points = points.map(|point| (along(point.0, x, free.0), along(point.1, y, free.1)));
            (*clear, points.collect())
        });
        let placed = Placed {
            value: at.max(),
            centres: self.outlines.centres,
            contours: contours.collect(),
        };
        placed.sample(Law::Any, at)
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        let fit = prop_oneof![Just("contain"), Just("cover"), Just("stretch"), Just("none")];
        let fitted =
            (fit, (1_u64..30, 1_u64..30), Outlines::any(max)).prop_map(|(fit, sides, mut outlines)| {
                // All of it lies in its box.
                for (x, y) in outlines.contours.iter_mut().flat_map(|(_, points)| points) {
                    *x = x.rem_euclid(64 * sides.0 as i64 + 1);
                    *y = y.rem_euclid(64 * sides.1 as i64 + 1);
                }
                Self { fit, sides, outlines }
            });
        Some((1, fitted.boxed()))
    }
}

/// A board: each outline is a region, dark or clear.
#[derive(Clone, Debug)]
pub(crate) struct Gerber(pub(crate) Outlines);

impl Node for Gerber {
    const NAME: &'static str = "gerber";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let mut file = "%FSLAX46Y46*%%MOMM*%".to_owned();
        for (clear, points) in &self.0.contours {
            file += if *clear { "%LPC*%G36*" } else { "%LPD*%G36*" };
            for (number, (x, y)) in points.iter().chain(points.first()).enumerate() {
                let code = if number == 0 { "D02" } else { "D01" };
                file += &format!("X{}Y{}{code}*", x * 15_625, -y * 15_625);
            }
            file += "G37*";
        }
        format!(" \"{file}M02*\"{}", self.0.properties())
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        self.0.natural_size()
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        self.0.sample(Law::Last, at)
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        Some((1, Outlines::any(max).prop_map(Self).boxed()))
    }
}

/// A drawing: all outlines are one shape under the even-odd rule.
#[derive(Clone, Debug)]
pub(crate) struct Dxf(pub(crate) Outlines);

impl Node for Dxf {
    const NAME: &'static str = "dxf";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let mut file = "0|SECTION|2|ENTITIES".to_owned();
        for (_, points) in &self.0.contours {
            file += "|0|LWPOLYLINE|70|1";
            for (x, y) in points {
                // 1/64 has six decimals.
                file += &format!("|10|{}|20|{}", *x as f64 / 64.0, -*y as f64 / 64.0);
            }
        }
        format!(" \"{file}|0|ENDSEC|0|EOF|\" unit=\"mm\"{}", self.0.properties())
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        self.0.natural_size()
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        self.0.sample(Law::Odd, at)
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        Some((1, Outlines::any(max).prop_map(Self).boxed()))
    }
}

/// A layout: every outline is a polygon of its own, its file in hexadecimal digits.
#[derive(Clone, Debug)]
pub(crate) struct Oasis(pub(crate) Outlines);

/// A whole number as the format has it.
fn number(mut n: u64) -> String {
    let mut digits = String::new();
    loop {
        let more = if n > 0x7F { 0x80 } else { 0 };
        digits += &format!("{:02x}", (n & 0x7F) | more);
        n >>= 7;
        if n == 0 {
            return digits;
        }
    }
}

fn signed(n: i64) -> String {
    number(n.unsigned_abs() << 1 | u64::from(n < 0))
}

impl Node for Oasis {
    const NAME: &'static str = "oasis";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        // A database unit is 1/64 mm: 8/125 of them are a micrometre. One cell, named A.
        let mut file = format!(
            "255345 4d492d4f41534953 0d0a 0103312e30 04087d 00{} 0e0141",
            "00".repeat(12)
        );
        for (number_of, (_, points)) in self.0.contours.iter().enumerate() {
            let (x, y) = points[0];
            // Places are absolute, or, of every other outline, from the one before.
            let before = match number_of % 2 {
                0 => (0, 0),
                _ => self.0.contours[number_of - 1].1[0],
            };
            file += if number_of % 2 == 0 { "0f" } else { "10" };
            file += &format!("153b0100 04{}", number(points.len() as u64 - 1));
            for pair in points.windows(2) {
                let (dx, dy) = (pair[1].0 - pair[0].0, pair[0].1 - pair[1].1);
                file += &number(dx.unsigned_abs() << 2 | u64::from(dx < 0) << 1 | 1);
                file += &signed(dy);
            }
            file += &(signed(x - before.0) + &signed(before.1 - y));
        }
        file += &format!("02fc01{}", "00".repeat(253));
        let file = file.replace(' ', "");
        format!(" \"hex:{file}\" origin=\"box\"{}", self.0.properties())
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        self.0.natural_size()
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        self.0.sample(Law::Any, at)
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        Some((1, Outlines::any(max).prop_map(Self).boxed()))
    }
}

/// A layout as GDSII: every outline is a boundary, its file in hexadecimal digits.
#[derive(Clone, Debug)]
pub(crate) struct Gds(pub(crate) Outlines);

/// A record: its length, its kind and what it holds.
fn record(kind: u16, holds: &str) -> String {
    format!("{:04x}{kind:04x}{holds}", 4 + holds.len() / 2)
}

/// A number as the format has it: seven bits of a power of 16, 56 of a fraction.
fn real(value: f64) -> String {
    let (mut power, mut fraction) = (64_u64, value);
    while fraction < 1.0 / 16.0 {
        (power, fraction) = (power - 1, fraction * 16.0);
    }
    while fraction >= 1.0 {
        (power, fraction) = (power + 1, fraction / 16.0);
    }
    format!("{power:02x}{:014x}", (fraction * (1_u64 << 56) as f64) as u64)
}

impl Node for Gds {
    const NAME: &'static str = "gds";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        // A database unit is 1/64 mm.
        let mut file = record(0x0002, "0258") + &record(0x0102, &"0001".repeat(12)) + &record(0x0206, "4c42");
        file += &record(0x0305, &(real(1.0 / 64.0) + &real(1e-3 / 64.0)));
        file += &(record(0x0502, &"0001".repeat(12)) + &record(0x0606, "4100"));
        for (_, points) in &self.0.contours {
            let closed = points.iter().chain(points.first());
            let places: String = closed
                .map(|(x, y)| format!("{:08x}{:08x}", *x as i32, -*y as i32))
                .collect();
            file += &(record(0x0800, "") + &record(0x0D02, "0001") + &record(0x0E02, "0000"));
            file += &(record(0x1003, &places) + &record(0x1100, ""));
        }
        file += &(record(0x0700, "") + &record(0x0400, ""));
        format!(" \"hex:{file}\" origin=\"box\"{}", self.0.properties())
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        self.0.natural_size()
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        self.0.sample(Law::Any, at)
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        Some((1, Outlines::any(max).prop_map(Self).boxed()))
    }
}
