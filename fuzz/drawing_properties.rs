//! What holds for any bytes as a drawing. Used by the fuzz targets.
#![allow(dead_code)]

#[path = "../crates/relief-vector/tests/support/mod.rs"]
mod support;

use relief_kernels::mesh::{Index, cpu};
use relief_raster::{Rect, ViewMut};
use relief_vector::{Drawing, Limits, Pixel, Rule, Stroke, dxf, gds, gerber, layout, mesh, oasis, svg, text};

const LIMITS: Limits = Limits {
    bytes: 1 << 20,
    points: 1 << 16,
    items: 1 << 12,
    depth: 64,
    memory: 1 << 24,
};

/// Work of a tile: a program that is watched takes many times as long for it.
const WORK: u64 = 1 << 25;

/// A document is drawn within its limits, and its samples do not depend on the tiles, or it is refused.
pub(crate) fn svg(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(document) = svg::Document::parse(text, &LIMITS) else {
        return;
    };
    let options = svg::Options::default().with(|with| { with.pixel = Pixel::dpi(96); with.limits = LIMITS; });
    if let Ok(picture) = document.draw(&options) {
        within(&picture.drawing);
    }
    if let Ok(picture) = document.draw_with(&options, &[letters()]) {
        within(&picture.drawing);
    }
}

/// The font that texts are laid out by.
fn letters() -> &'static text::Font {
    static FONT: std::sync::OnceLock<text::Font> = std::sync::OnceLock::new();
    FONT.get_or_init(|| {
        let bytes = include_bytes!("../examples/plate/FredokaOne-Regular.ttf");
        text::Font::parse(bytes.to_vec()).expect("the font of an example is one")
    })
}

/// A layout is drawn within its limits, or refused.
pub(crate) fn gds(bytes: &[u8]) {
    layout(gds::read(bytes, &layout::Layers::all(), LIMITS));
}

/// A layout is drawn within its limits, or refused, also where a check sum would say that it is damaged.
pub(crate) fn oasis(bytes: &[u8]) {
    layout(oasis::read(bytes, &layout::Layers::all(), LIMITS));
    // What stands before the end is tried as a whole file too.
    let whole = [bytes, &[2, 252, 1][..], &[0; 253]].concat();
    layout(oasis::read(&whole[..], &layout::Layers::all(), LIMITS));
}

fn layout(library: Result<layout::Library, layout::Error>) {
    let Ok(library) = library else {
        return;
    };
    let Some(pixel) = Pixel::metres(1, 1_000_000) else {
        return;
    };
    let options = layout::Options {
        pixel,
        origin: layout::Origin::Box,
        cell: None,
        value: 65_535,
    };
    if let Ok(layout) = library.draw(&options) {
        within(&layout.drawing);
        let _ = layout.drawing.period(&LIMITS);
    }
    let _ = library.layers(None);
}

/// A drawing is drawn within its limits, filled and as lines, or refused.
pub(crate) fn dxf(bytes: &[u8]) {
    let Ok(document) = dxf::Document::read(bytes, LIMITS) else {
        return;
    };
    let Some(pixel) = Pixel::metres(1, 1_000) else {
        return;
    };
    for stroke in [None, Some(Stroke::solid(1.5))] {
        let options = dxf::Options {
            pixel,
            unit: Some(0.001),
            origin: dxf::Origin::Box,
            layers: None,
            value: 65_535,
            stroke,
            rule: Rule::EvenOdd,
        };
        if let Ok(layout) = document.draw(&options) {
            within(&layout.drawing);
            let _ = layout.drawing.period(&LIMITS);
        }
    }
}

/// A board is drawn within its limits, or refused.
pub(crate) fn gerber(bytes: &[u8]) {
    let Ok(board) = gerber::Board::read(bytes, LIMITS) else {
        return;
    };
    let Some(pixel) = Pixel::metres(1, 10_000) else {
        return;
    };
    if let Ok(layout) = board.draw(&gerber::Options::new(pixel)) {
        within(&layout.drawing);
        let _ = layout.drawing.period(&LIMITS);
    }
}

/// A mesh is read within its limits and its samples do not depend on the tiles, or it is refused.
pub(crate) fn stl(bytes: &[u8]) {
    let Ok(mesh) = mesh::Mesh::read(bytes, LIMITS) else {
        return;
    };
    assert!(mesh.points() as u64 <= LIMITS.points && mesh.triangles() as u64 <= LIMITS.items);
    let Some([[left, right], [_, top], [low, high]]) = mesh.bounds() else {
        return;
    };
    let view = mesh::View {
        scale: 30.0 / (right - left).max(1e-30),
        left,
        top,
        low,
        high: high.max(low + 1e-3),
        max: 255,
    };
    let Ok(solid) = mesh.seen(&view) else { return };
    let Some(index) = Index::new(solid.points().clone(), solid.triangles()) else {
        panic!("what is seen is near enough to be computed");
    };
    let samples = |at: (i64, i64), width: usize| {
        let mut out = vec![0_u8; width * 24];
        match cpu::compute(&index, at, ViewMut::packed(&mut out, width, 24)) {
            Some(value) => vec![value; width * 24],
            None => out,
        }
    };
    let (whole, left, right) = (samples((-3, -2), 40), samples((-3, -2), 17), samples((14, -2), 23));
    for y in 0..24 {
        let row = &whole[40 * y..40 * (y + 1)];
        assert_eq!((&row[..17], &row[17..]), (&left[17 * y..][..17], &right[23 * y..][..23]));
    }
    let (least, greatest) = cpu::within::<u8>(&index, Rect::between(-3, -2, 37, 22));
    assert!(whole.iter().all(|sample| (least..=greatest).contains(&u16::from(*sample))));
}

/// A text is drawn by a font within its limits, or refused.
pub(crate) fn font(bytes: &[u8]) {
    let Ok(font) = text::Font::parse(bytes.to_vec()) else {
        return;
    };
    for measure in [text::Measure::Em, text::Measure::Cap] {
        let options = text::Options::sized(20.0).with(|with| {
            with.measure = measure;
            with.limits = LIMITS;
        });
        if let Ok(text) = font.draw("AVATAR, Waffle\n\u{5e9}\u{5dc} 42", &options) {
            within(&text.drawing);
        }
    }
}

fn within(drawing: &Drawing) {
    assert!(drawing.points() as u64 <= LIMITS.points);
    let Some(index) = support::try_index::<u8>(drawing, &LIMITS, WORK) else {
        return;
    };
    let whole = support::samples::<u8>(&index, (-3, -2), (40, 24));
    let left = support::samples::<u8>(&index, (-3, -2), (17, 24));
    let right = support::samples::<u8>(&index, (14, -2), (23, 24));
    for y in 0..24 {
        let row = &whole[40 * y..40 * (y + 1)];
        assert_eq!(
            (&row[..17], &row[17..]),
            (&left[17 * y..][..17], &right[23 * y..][..23])
        );
    }
}
