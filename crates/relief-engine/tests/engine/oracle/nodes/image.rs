//! `image`: a picture by its number, with 0 where it is not, as it is or with other sides.

use proptest::prelude::*;

use super::resize::taps;
use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Model, NaturalSize};
use crate::oracle::strategy::PICTURES;

#[derive(Clone, Debug)]
pub(crate) struct Image(pub(crate) usize);

impl Node for Image {
    const NAME: &'static str = "image";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" \"p{}\"", self.0)
    }

    fn natural_size(&self, model: &Model) -> NaturalSize {
        let picture = &model.pictures[self.0];
        (Some(picture.width), Some(picture.height))
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let picture = at.picture(self.0);
        let (x, y) = (at.x as u64, at.y as u64);
        if x >= picture.width || y >= picture.height {
            return 0;
        }
        picture.samples[(y * picture.width + x) as usize]
    }

    fn leaves(_: u16) -> Option<Weighted<Self>> {
        Some((3, (0..PICTURES).prop_map(Self).boxed()))
    }
}

/// The sample at a place of a picture of other sides, by cubics; beyond its edge the last sample goes on.
fn resampled(at: &At<'_, '_>, number: usize, sides: (i64, i64), place: (i64, i64)) -> u16 {
    let picture = at.picture(number);
    let (width, height) = (picture.width as i64, picture.height as i64);
    if !(0..sides.0).contains(&place.0) || !(0..sides.1).contains(&place.1) {
        return 0;
    }
    let own = |x: i64, y: i64| {
        let (x, y) = (x.clamp(0, width - 1), y.clamp(0, height - 1));
        picture.samples[(y * width + x) as usize]
    };
    if (width, height) == sides {
        return own(place.0, place.1);
    }
    let across = taps("cubic", place.0, width, sides.0);
    let mut sum = 0_i128;
    for (y, weight) in taps("cubic", place.1, height, sides.1) {
        for (x, factor) in &across {
            sum += i128::from(weight * factor) * i128::from(own(*x, y));
        }
    }
    let rounded = (sum + (1 << 31)) >> 32;
    u16::try_from(rounded.clamp(0, i128::from(at.max()))).unwrap()
}

/// `above` / `below`, halves up, and at least 1.
fn side(above: u64, below: u64) -> u64 {
    ((2 * above + below) / (2 * below)).max(1)
}

/// A picture that fills its node; where one side of the node is given, the other follows.
#[derive(Clone, Debug)]
pub(crate) struct Stretched(pub(crate) usize);

impl Node for Stretched {
    const NAME: &'static str = "image";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" \"p{}\" fit=\"stretch\"", self.0)
    }

    fn natural_size(&self, model: &Model) -> NaturalSize {
        Image(self.0).natural_size(model)
    }

    fn other_side(&self, model: &Model, axis: usize, given: u64) -> Option<u64> {
        let picture = &model.pictures[self.0];
        let sides = [picture.width, picture.height];
        Some(side(given * sides[1 - axis], sides[axis]))
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let size = at.size();
        resampled(at, self.0, size, (at.x, at.y))
    }

    fn leaves(_: u16) -> Option<Weighted<Self>> {
        Some((1, (0..PICTURES).prop_map(Self).boxed()))
    }
}

/// A picture of which all shows in its node, or that leaves nothing of it empty.
#[derive(Clone, Debug)]
pub(crate) struct Framed {
    pub(crate) number: usize,
    pub(crate) cover: bool,
}

impl Node for Framed {
    const NAME: &'static str = "image";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let fit = if self.cover { "cover" } else { "contain" };
        format!(" \"p{}\" fit=\"{fit}\"", self.number)
    }

    fn natural_size(&self, model: &Model) -> NaturalSize {
        Image(self.number).natural_size(model)
    }

    fn other_side(&self, model: &Model, axis: usize, given: u64) -> Option<u64> {
        Stretched(self.number).other_side(model, axis, given)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let node = at.size();
        let picture = at.picture(self.number);
        let (w, h) = (picture.width, picture.height);
        let (columns, rows) = (node.0 as u64, node.1 as u64);
        let as_wide = (node.0, side(columns * h, w) as i64);
        let as_high = (side(rows * w, h) as i64, node.1);
        let is_wide = w * rows >= columns * h;
        let sides = if as_wide == node || as_high == node {
            node
        } else if is_wide == self.cover {
            as_high
        } else {
            as_wide
        };
        let left = (node.0 - sides.0).div_euclid(2);
        let top = (node.1 - sides.1).div_euclid(2);
        resampled(at, self.number, sides, (at.x - left, at.y - top))
    }

    fn leaves(_: u16) -> Option<Weighted<Self>> {
        let framed = (0..PICTURES, any::<bool>()).prop_map(|(number, cover)| Self { number, cover });
        Some((2, framed.boxed()))
    }
}

/// A picture whose pixels have a side of their own, in tenths of those of the canvas.
#[derive(Clone, Debug)]
pub(crate) struct Pitched(pub(crate) usize, pub(crate) u64);

impl Pitched {
    fn sides(&self, (width, height): (u64, u64)) -> (u64, u64) {
        (side(width * self.1, 10), side(height * self.1, 10))
    }
}

impl Node for Pitched {
    const NAME: &'static str = "image";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(
            " \"p{}\" pitch=\"{}.{}mm\" fit=\"none\"",
            self.0,
            self.1 / 10,
            self.1 % 10
        )
    }

    fn natural_size(&self, model: &Model) -> NaturalSize {
        let picture = &model.pictures[self.0];
        let (width, height) = self.sides((picture.width, picture.height));
        (Some(width), Some(height))
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let picture = at.picture(self.0);
        let (width, height) = self.sides((picture.width, picture.height));
        resampled(at, self.0, (width as i64, height as i64), (at.x, at.y))
    }

    fn leaves(_: u16) -> Option<Weighted<Self>> {
        // A picture of one pixel keeps it from 5 tenths on.
        let tenths = prop_oneof![3 => 6_u64..30, 1 => Just(10)];
        Some((
            1,
            (0..PICTURES, tenths)
                .prop_map(|(number, tenths)| Self(number, tenths))
                .boxed(),
        ))
    }
}
