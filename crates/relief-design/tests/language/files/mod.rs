//! Drawings and fonts that the designs of tests name.
#![allow(dead_code)]

use relief_design::{Conversion, ImageError, ImageSource, Picture};

/// The bytes of a file by the end of its name: those of an example.
pub(crate) fn drawing(path: &str) -> Option<Vec<u8>> {
    if path == "drawing.svg" {
        return Some(include_bytes!("../../../../relief-engine/tests/golden/drawing.svg").to_vec());
    }
    let bytes: &[u8] = match path.rsplit_once('.')?.1 {
        "svg" => include_bytes!("../../../../../examples/plate/logo.svg"),
        "gds" => include_bytes!("../../../../../examples/mask/mask.gds"),
        "oas" => include_bytes!("../../../../../examples/mask/mask.oas"),
        "dxf" => include_bytes!("../../../../relief-engine/tests/golden/sheet.dxf"),
        "gbr" => include_bytes!("../../../../../examples/board/copper.gbr"),
        "stl" => include_bytes!("../../../../relief-engine/tests/golden/coin.stl"),
        "ttf" => include_bytes!("../../../../../examples/plate/FredokaOne-Regular.ttf"),
        _ => return None,
    };
    Some(bytes.to_vec())
}

/// Pictures of 100 × 80 pixels, [`drawing`]s, and drawings that a test writes by their names.
pub(crate) struct Drawings(pub(crate) &'static [(&'static str, &'static str)]);

impl ImageSource for Drawings {
    fn open(&self, path: &str, conversion: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        (|_: &str| Ok((100, 80))).open(path, conversion)
    }

    fn data(&self, path: &str, _: u64) -> Result<Vec<u8>, String> {
        let written = self.0.iter().find(|(name, _)| *name == path);
        let written = written.map(|(_, text)| text.as_bytes().to_vec());
        written
            .or_else(|| drawing(path))
            .ok_or_else(|| format!("{path} does not exist"))
    }
}
