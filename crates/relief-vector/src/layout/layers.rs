//! Which layers are drawn.

use std::ops::RangeInclusive;

use super::Layer;

/// Layers and datatypes, as `1/0,2/*`: layer 1 of datatype 0, and layer 2 of all datatypes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers(Vec<(Option<i64>, Option<i64>)>);

/// A text that selects no layers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no layer; write LAYER/DATATYPE, LAYER/* or LAYER, with commas between, as in \"1/0,2/*\""
)]
pub struct BadLayers(String);

impl Layers {
    /// The numbers that layers and datatypes of a GDSII have.
    pub const GDS: RangeInclusive<i64> = -32_768..=32_767;
    /// Those of an OASIS that can be chosen.
    pub const OASIS: RangeInclusive<i64> = 0..=4_294_967_295;

    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        Self(vec![(None, None)])
    }

    /// Reads a selection of layers and datatypes with numbers of this range.
    ///
    /// # Errors
    /// Where a part of it is no layer.
    pub fn parse(text: &str, range: &RangeInclusive<i64>) -> Result<Self, BadLayers> {
        let part = |part: &str| {
            let part = part.trim();
            let (layer, datatype) = part.split_once('/').unwrap_or((part, "*"));
            let number = |text: &str| match text {
                "*" => Ok(None),
                _ => {
                    let number = text.parse().ok().filter(|number| range.contains(number));
                    number.map(Some).ok_or_else(|| BadLayers(part.to_owned()))
                }
            };
            Ok((number(layer)?, number(datatype)?))
        };
        text.split(',').map(part).collect::<Result<_, _>>().map(Self)
    }

    /// Whether elements of this layer and datatype are drawn.
    #[must_use]
    pub fn has(&self, layer: i64, datatype: i64) -> bool {
        let fits = |wanted: Option<i64>, is: i64| wanted.is_none_or(|wanted| wanted == is);
        self.0.iter().any(|(l, d)| fits(*l, layer) && fits(*d, datatype))
    }

    /// The parts of the selection that name none of these layers, as `9/9` and `2/*`.
    #[must_use]
    pub fn absent(&self, there: &[Layer]) -> Vec<String> {
        let part = |&(layer, datatype): &(Option<i64>, Option<i64>)| Self(vec![(layer, datatype)]);
        let number = |number: Option<i64>| number.map_or_else(|| "*".to_owned(), |number| number.to_string());
        let is_absent = |&part_of: &&(Option<i64>, Option<i64>)| {
            let part = part(part_of);
            !there.iter().any(|layer| part.has(layer.layer, layer.datatype))
        };
        let absent = self.0.iter().filter(is_absent);
        absent
            .map(|(layer, datatype)| format!("{}/{}", number(*layer), number(*datatype)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_hold_what_they_name() {
        let parse = |text: &str| Layers::parse(text, &Layers::GDS);
        let layers = parse("1/0, 2/*,-3").unwrap();
        assert!(layers.has(1, 0) && layers.has(2, 77) && layers.has(-3, 5));
        assert!(!layers.has(1, 1) && !layers.has(3, 0));
        assert!(Layers::all().has(0, 0) && parse("*/4").unwrap().has(9, 4));
        for bad in ["", "1/0,", "a", "1/x", "1/2/3", "70000", "1:0"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
        let there = [(1, 0), (2, 5)].map(|(layer, datatype)| Layer {
            layer,
            datatype,
            shapes: 1,
        });
        assert_eq!(parse("1/0,2/*,9/9,-3").unwrap().absent(&there), ["9/9", "-3/*"]);
        assert!(Layers::all().absent(&there).is_empty());
        assert_eq!(Layers::all().absent(&[]), ["*/*"]);
        assert!(Layers::parse("70000/1", &Layers::OASIS).unwrap().has(70_000, 1));
        for bad in ["-3", "4294967296"] {
            assert!(Layers::parse(bad, &Layers::OASIS).is_err(), "{bad:?}");
        }
    }
}
