//! `dither`: grays as dots of 0 and M, by a matrix of levels.

use super::edge::SOURCE;
use super::{Bounds, NodeKind, NodeSource, Seen};
use crate::draft::Checker;
use crate::halftone::is_ordered;
use crate::scan::{AskedScreen, Halftone, Screen};
use crate::signature::{LOCAL_HALFTONE, Signature, ValueType, required};
use crate::validate::Rules;

/// M where the one `Source` child is at least the level of its place in the matrix of the halftone, else 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Dither {
    /// The halftone: a threshold, a matrix or a screen.
    pub halftone: Halftone,
    /// What was asked for where it is a screen, which comes near to it. It changes no sample.
    pub asked_screen: Option<AskedScreen>,
}

impl NodeKind for Dither {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "dither",
        meaning: "Grays as dots of 0 and M, so that two screens may stand on one plate. As the `halftone` of a scan, in this node's own coordinates: `threshold` is M where \
                  v is at least the level, `bayer` and `blue-noise` where 2·v·n² > (2·r + 1)·M with r the rank at (⌊x / spot⌋ mod n, ⌊y / spot⌋ mod n), \
                  `screen` where dots grow on a grid that is turned.",
        details: "Error diffusion hands on what a whole line was given: it stays with the `halftone` of the scan, which [describes](#halftone) matrices and screens.",
        arguments: &[required(
            "kind",
            ValueType::Word(&["threshold", "bayer", "blue-noise", "screen"]),
            "how",
        )],
        properties: &LOCAL_HALFTONE,
        children: SOURCE,
        example: "dither \"bayer\" size=8 {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let word = (Self::SIGNATURE.name, source.span);
        let (halftone, asked_screen) = checker.halftone_of(word, source.values)?;
        Some(Self {
            halftone,
            asked_screen,
        })
    }

    fn screen(&self) -> Option<(Screen, AskedScreen)> {
        match self.halftone {
            Halftone::Screen(screen) => Some(screen).zip(self.asked_screen),
            _ => None,
        }
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        seen.any()
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        match self.halftone {
            Halftone::Threshold { .. }
            | Halftone::Bayer { .. }
            | Halftone::BlueNoise { .. }
            | Halftone::Screen(_) => is_ordered(self.halftone, rules.max()),
            _ => Err("error diffusion belongs to the scan".to_owned()),
        }
    }
}
