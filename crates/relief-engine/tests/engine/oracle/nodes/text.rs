//! `text` in a font of straight sides that is written here, table by table: letters one after the other, lines below each other, every point
//! rounded once.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::sample::select;

use super::outlines::{Law, Placed};
use super::polygon::rounded;
use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Model, NaturalSize};
use crate::oracle::strategy::samples;

/// Units of an em, above and below the baseline.
const EM: i64 = 64;
const ASCENT: i64 = 48;
const DESCENT: i64 = 14;
const GAP: i64 = 6;

/// A letter: its character, how far the next one lies, and its contours, y up.
type Letter = (char, i64, &'static [&'static [(i64, i64)]]);

const LETTERS: [Letter; 4] = [
    (' ', 20, &[]),
    ('A', 40, &[&[(3, 0), (19, 52), (36, 0)]]),
    // A frame: the hole turns the other way.
    (
        'B',
        52,
        &[
            &[(4, -11), (4, 45), (47, 45), (47, -11)],
            &[(14, 3), (37, 3), (37, 31), (14, 31)],
        ],
    ),
    (
        'C',
        18,
        &[
            &[(-3, 5), (5, 40), (9, 40), (13, 5)],
            &[(1, -9), (1, 1), (8, 1), (8, -9)],
        ],
    ),
];

fn letter(character: char) -> &'static Letter {
    let found = LETTERS.iter().find(|letter| letter.0 == character);
    found.expect("a letter of the font")
}

/// The font as a TrueType file: the tables of the OpenType specification that outlines and advances need.
fn font() -> Vec<u8> {
    let word = |value: i64| (value as i16).to_be_bytes();
    let words = |values: &[i64]| values.iter().flat_map(|value| word(*value)).collect::<Vec<u8>>();
    let long = |value: u32| value.to_be_bytes();
    let (mut outlines, mut places, mut metrics) = (Vec::new(), vec![0_u32, 0], words(&[30, 0]));
    for (_, advance, contours) in &LETTERS {
        let points: Vec<(i64, i64)> = contours
            .iter()
            .flat_map(|contour| contour.iter().copied())
            .collect();
        let least = |of: fn(&(i64, i64)) -> i64| points.iter().map(of).min().unwrap_or(0);
        let most = |of: fn(&(i64, i64)) -> i64| points.iter().map(of).max().unwrap_or(0);
        metrics.extend(words(&[*advance, least(|point| point.0)]));
        if !points.is_empty() {
            let mut ends = Vec::new();
            let mut end = -1;
            for contour in *contours {
                end += contour.len() as i64;
                ends.push(end);
            }
            outlines.extend(words(&[
                contours.len() as i64,
                least(|point| point.0),
                least(|point| point.1),
                most(|point| point.0),
                most(|point| point.1),
            ]));
            outlines.extend(words(&ends));
            // No instructions; every point lies on its contour, and both its steps have 16 bits.
            outlines.extend(words(&[0]));
            outlines.extend(vec![1_u8; points.len()]);
            for along in [0, 1] {
                let place = |point: &(i64, i64)| if along == 0 { point.0 } else { point.1 };
                let mut before = 0;
                for point in &points {
                    outlines.extend(words(&[place(point) - before]));
                    before = place(point);
                }
            }
            outlines.resize(outlines.len().next_multiple_of(4), 0);
        }
        places.push(outlines.len() as u32);
    }
    let count = LETTERS.len() as i64 + 1;
    let head = [
        &long(0x0001_0000)[..],
        &long(0x0001_0000),
        &long(0),
        &long(0x5F0F_3CF5),
        &words(&[0, EM]),
        &[0; 16],
        &words(&[-3, -11, 47, 52, 0, 6, 2, 1, 0]),
    ]
    .concat();
    let hhea = [
        &long(0x0001_0000)[..],
        &words(&[
            ASCENT, -DESCENT, GAP, 52, -3, 0, 47, 1, 0, 0, 0, 0, 0, 0, 0, count,
        ]),
    ]
    .concat();
    let maxp = [
        &long(0x0001_0000)[..],
        &words(&[count, 8, 2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]),
    ]
    .concat();
    // One table of 32 bits, of a group for each character.
    let groups = LETTERS.iter().zip(1_u32..);
    let groups: Vec<u8> = groups
        .flat_map(|(letter, glyph)| [letter.0 as u32, letter.0 as u32, glyph])
        .flat_map(u32::to_be_bytes)
        .collect();
    let cmap = [
        &words(&[0, 1, 3, 10])[..],
        &long(12),
        &words(&[12, 0]),
        &long(16 + groups.len() as u32),
        &long(0),
        &long(LETTERS.len() as u32),
        &groups,
    ]
    .concat();
    let loca: Vec<u8> = places.iter().flat_map(|place| long(*place)).collect();
    let tables: [(&[u8; 4], Vec<u8>); 7] = [
        (b"cmap", cmap),
        (b"glyf", outlines),
        (b"head", head),
        (b"hhea", hhea),
        (b"hmtx", metrics),
        (b"loca", loca),
        (b"maxp", maxp),
    ];
    let mut file = [&long(0x0001_0000)[..], &words(&[7, 64, 2, 48])].concat();
    let mut place = file.len() + 16 * tables.len();
    for (name, table) in &tables {
        file.extend(*name);
        file.extend(long(0));
        file.extend(long(place as u32));
        file.extend(long(table.len() as u32));
        place += table.len().next_multiple_of(4);
    }
    for (_, table) in tables {
        file.extend(table);
        file.resize(file.len().next_multiple_of(4), 0);
    }
    file
}

#[derive(Clone, Debug)]
pub(crate) struct Text {
    value: u16,
    centres: bool,
    /// The size of an em and, where it is given, from line to line, in 1/64 px.
    size: i64,
    line: Option<i64>,
    align: &'static str,
    lines: Vec<String>,
}

impl Text {
    fn placed(&self) -> Placed {
        let width = |line: &String| line.chars().map(|character| letter(character).1).sum::<i64>();
        let widest = self.lines.iter().map(width).max().unwrap_or(0);
        let mut contours = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            let free = widest - width(line);
            // In half units.
            let mut left = match self.align {
                "left" => 0,
                "right" => 2 * free,
                _ => free,
            };
            // Units times 1/64 px are em · 64 parts of a pixel.
            let down = number as i64
                * self
                    .line
                    .map_or((ASCENT + DESCENT + GAP) * self.size, |line| line * EM);
            for character in line.chars() {
                let (_, advance, outlines) = letter(character);
                for contour in *outlines {
                    let place = |&(x, y): &(i64, i64)| {
                        (
                            rounded(((left + 2 * x) * self.size, 2 * EM * 64)),
                            rounded(((ASCENT - y) * self.size + down, EM * 64)),
                        )
                    };
                    contours.push((false, contour.iter().map(place).collect()));
                }
                left += 2 * advance;
            }
        }
        Placed {
            value: self.value,
            centres: self.centres,
            contours,
        }
    }
}

impl Node for Text {
    const NAME: &'static str = "text";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let mut hex = String::new();
        for byte in font() {
            let _ = write!(hex, "{byte:02x}");
        }
        let line = self
            .line
            .map_or(String::new(), |line| format!(" line-height=\"{line}/64\""));
        let antialias = if self.centres { " antialias=\"none\"" } else { "" };
        format!(
            " \"{}\" font=\"hex:{hex}\" size=\"{}/64\" value={} align=\"{}\"{line}{antialias}",
            self.lines.join("\\n"),
            self.size,
            self.value,
            self.align
        )
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        super::shapes::reach(&self.placed())
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        // Outer contours turn one way and holes the other, so that their sum is how many letters cover a place.
        self.placed().sample(Law::Winding, at)
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        let line = proptest::collection::vec(select(&['A', 'B', 'C', ' '][..]), 0..4);
        let any = (
            samples(max),
            proptest::bool::weighted(0.2),
            100..1_300_i64,
            proptest::option::of(60..1_300_i64),
            select(&["left", "centre", "right"][..]),
            proptest::collection::vec(line.prop_map(String::from_iter), 1..4),
        )
            .prop_map(|(value, centres, size, line, align, mut lines)| {
                // There is something to draw, right of where the text begins and below.
                lines[0].insert(0, 'B');
                Self {
                    value,
                    centres,
                    size,
                    line,
                    align,
                    lines,
                }
            });
        Some((1, any.boxed()))
    }
}
