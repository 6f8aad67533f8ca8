//! `image`: a picture by its number, with 0 where it is not.

use proptest::prelude::*;

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
