//! `mesh` of level rectangles: of those above the centre of a pixel the highest.

use proptest::prelude::*;

use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Model, NaturalSize};
use crate::oracle::strategy::samples;

/// Left, top, width and height in 1/64 px, y down, and how high it lies, in samples; the canvas has pixels of 1 mm.
type Plate = (i64, i64, i64, i64, u16);

#[derive(Clone, Debug)]
pub(crate) struct Mesh(pub(crate) Vec<Plate>);

impl Mesh {
    /// Left, top, right and bottom.
    fn bounds(&self) -> [i64; 4] {
        let plates = || self.0.iter();
        [
            plates().map(|p| p.0).min(),
            plates().map(|p| p.1).min(),
            plates().map(|p| p.0 + p.2).max(),
            plates().map(|p| p.1 + p.3).max(),
        ]
        .map(|side| side.unwrap_or(0))
    }
}

impl Node for Mesh {
    const NAME: &'static str = "mesh";

    const OWN_SIZE: bool = true;

    fn properties(&self, model: &Model, _: Option<(u64, u64)>) -> String {
        let mut file = "solid plates|".to_owned();
        for &(x, y, width, height, z) in &self.0 {
            let place = |x: i64, y: i64| format!("vertex {} {} {z}|", x as f64 / 64.0, -y as f64 / 64.0);
            let corners = [
                place(x, y),
                place(x + width, y),
                place(x + width, y + height),
                place(x, y + height),
            ];
            for three in [[0, 1, 2], [0, 2, 3]] {
                file += "facet normal 0 0 1|outer loop|";
                three.iter().for_each(|corner| file += &corners[*corner]);
                file += "endloop|endfacet|";
            }
        }
        format!(" \"{file}endsolid plates|\" low=0 high={}", model.max)
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        let [left, top, right, bottom] = self.bounds();
        let pixels = |side: i64| Some((side as u64).div_ceil(64).max(1));
        (pixels(right - left), pixels(bottom - top))
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let [left, top, ..] = self.bounds();
        let (x, y) = (64 * at.x + 32 + left, 64 * at.y + 32 + top);
        let above = self.0.iter().filter(|plate| {
            (plate.0..plate.0 + plate.2).contains(&x) && (plate.1..plate.1 + plate.3).contains(&y)
        });
        above.map(|plate| plate.4).max().unwrap_or(0)
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        let side = || prop_oneof![2 => (1_i64..16).prop_map(|side| 32 * side), 3 => 1_i64..700];
        let plate = (-300_i64..700, -300_i64..700, side(), side(), samples(max));
        Some((1, proptest::collection::vec(plate, 1..4).prop_map(Self).boxed()))
    }
}
