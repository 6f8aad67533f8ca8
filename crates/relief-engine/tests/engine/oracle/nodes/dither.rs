//! `dither`: a sample against the level of its place, of Bayer's matrices as their recursion has them.

use proptest::prelude::*;
use proptest::sample::select;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Dither {
    pub(crate) by: Matrix,
    pub(crate) source: Box<Item>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Matrix {
    Threshold(u16),
    Bayer { size: u64, spot: u64 },
}

/// B₂ₙ = [4·Bₙ, 4·Bₙ + 2; 4·Bₙ + 3, 4·Bₙ + 1].
fn rank(size: u64, x: u64, y: u64) -> u64 {
    if size == 1 {
        return 0;
    }
    let half = size / 2;
    let quarter = match (x >= half, y >= half) {
        (false, false) => 0,
        (true, false) => 2,
        (false, true) => 3,
        (true, true) => 1,
    };
    4 * rank(half, x % half, y % half) + quarter
}

impl Node for Dither {
    const NAME: &'static str = "dither";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        match self.by {
            Matrix::Threshold(level) => format!(" \"threshold\" level={level}"),
            Matrix::Bayer { size, spot } => format!(" \"bayer\" size={size} spot={spot}"),
        }
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let (x, y) = (at.x as u64, at.y as u64);
        let (value, max) = (u64::from(at.child(0, at.x, at.y)), u64::from(at.max()));
        let fires = match self.by {
            Matrix::Threshold(level) => value >= u64::from(level),
            Matrix::Bayer { size, spot } => {
                2 * value * size * size > (2 * rank(size, x / spot % size, y / spot % size) + 1) * max
            }
        };
        if fires { at.max() } else { 0 }
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let matrix = prop_oneof![
            (0..=max).prop_map(Matrix::Threshold),
            (select(&[2_u64, 4, 8, 16][..]), 1_u64..4).prop_map(|(size, spot)| Matrix::Bayer { size, spot }),
        ];
        let any = (matrix, inner.item.clone()).prop_map(|(by, source)| Self {
            by,
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}
