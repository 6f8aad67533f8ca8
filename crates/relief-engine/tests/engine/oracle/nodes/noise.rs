//! `noise`: the coordinates mixed by SplitMix64.

use proptest::prelude::*;

use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::Model;

#[derive(Clone, Debug)]
pub(crate) struct Noise {
    pub(crate) seed: u64,
}

impl Node for Noise {
    const NAME: &'static str = "noise";

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" seed={}", self.seed)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let mut z = self
            .seed
            .wrapping_add((at.x as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .wrapping_add((at.y as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> if at.max() == 255 { 56 } else { 48 }) as u16
    }

    fn leaves(_: u16) -> Option<Weighted<Self>> {
        Some((1, any::<u64>().prop_map(|seed| Self { seed }).boxed()))
    }
}
