//! Lengths, sizes and view boxes.

use kurbo::Affine;
use svgtypes::{Align, AspectRatio, Length, LengthUnit, ViewBox};

use super::{Document, Error};
use crate::Pixel;

type Node<'a, 'i> = roxmltree::Node<'a, 'i>;

/// The rectangle that percentages refer to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Viewport {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// What a percentage is of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    Width,
    Height,
    Diagonal,
}

impl Viewport {
    fn side(&self, of: Of) -> f64 {
        match of {
            Of::Width => self.width,
            Of::Height => self.height,
            Of::Diagonal => libm::hypot(self.width, self.height) / std::f64::consts::SQRT_2,
        }
    }
}

/// A length in user units; `None` where it is none, or in units of a font.
pub(super) fn length(
    document: &Document<'_>,
    node: Node<'_, '_>,
    text: &str,
    of: Of,
    viewport: &Viewport,
    pixel: Option<Pixel>,
) -> Result<Option<f64>, Error> {
    let Ok(length) = text.trim().parse::<Length>() else {
        return Ok(None);
    };
    let metres = match length.unit {
        LengthUnit::None | LengthUnit::Px => return Ok(Some(length.number)),
        LengthUnit::Percent => return Ok(Some(length.number / 100.0 * viewport.side(of))),
        LengthUnit::Em | LengthUnit::Ex => return Ok(None),
        LengthUnit::In => (254, 10_000),
        LengthUnit::Cm => (1, 100),
        LengthUnit::Mm => (1, 1_000),
        LengthUnit::Pt => (254, 720_000),
        LengthUnit::Pc => (254, 60_000),
    };
    let Some(pixel) = pixel else {
        return Err(Error::NoPixel {
            place: document.place(node),
            length: text.trim().to_owned(),
        });
    };
    let exact = pixel.pixels_in(metres.0, metres.1);
    let unit = exact.map_or_else(
        || metres.0 as f64 / metres.1 as f64 * pixel.per_metre(),
        |(above, below)| above as f64 / below as f64,
    );
    Ok(Some(length.number * unit))
}

pub(super) fn view_box(node: Node<'_, '_>) -> Option<ViewBox> {
    let view: ViewBox = node.attribute("viewBox")?.parse().ok()?;
    let finite = [view.x, view.y, view.w, view.h].iter().all(|v| v.is_finite());
    (finite && view.w > 0.0 && view.h > 0.0).then_some(view)
}

/// The size of the root in pixels.
pub(super) fn size(
    document: &Document<'_>,
    root: Node<'_, '_>,
    pixel: Option<Pixel>,
) -> Result<Option<(f64, f64)>, Error> {
    let view = view_box(root);
    let whole = view.map_or(
        Viewport {
            width: 100.0,
            height: 100.0,
        },
        |view| Viewport {
            width: view.w,
            height: view.h,
        },
    );
    let side = |name: &str, of: Of| match root.attribute(name) {
        Some(text) if !text.trim_end().ends_with('%') || view.is_some() => {
            let side = length(document, root, text, of, &whole, pixel)?;
            Ok(side.filter(|side| side.is_finite() && *side > 0.0))
        }
        _ => Ok(None),
    };
    let (width, height) = (side("width", Of::Width)?, side("height", Of::Height)?);
    Ok(match (width, height, view) {
        (Some(width), Some(height), _) => Some((width, height)),
        (Some(width), None, Some(view)) => Some((width, width * view.h / view.w)),
        (None, Some(height), Some(view)) => Some((height * view.w / view.h, height)),
        (None, None, Some(view)) => Some((view.w, view.h)),
        _ => None,
    })
}

/// From the coordinates of a view box to a rectangle of this size at the origin.
pub(super) fn fit(view: &ViewBox, aspect: AspectRatio, (width, height): (f64, f64)) -> Affine {
    let (sx, sy) = (width / view.w, height / view.h);
    let (sx, sy) = match (aspect.align, aspect.slice) {
        (Align::None, _) => (sx, sy),
        (_, true) => (sx.max(sy), sx.max(sy)),
        (_, false) => (sx.min(sy), sx.min(sy)),
    };
    let (free_x, free_y) = (width - view.w * sx, height - view.h * sy);
    let x = match aspect.align {
        Align::None | Align::XMinYMin | Align::XMinYMid | Align::XMinYMax => 0.0,
        Align::XMidYMin | Align::XMidYMid | Align::XMidYMax => free_x / 2.0,
        Align::XMaxYMin | Align::XMaxYMid | Align::XMaxYMax => free_x,
    };
    let y = match aspect.align {
        Align::None | Align::XMinYMin | Align::XMidYMin | Align::XMaxYMin => 0.0,
        Align::XMinYMid | Align::XMidYMid | Align::XMaxYMid => free_y / 2.0,
        Align::XMinYMax | Align::XMidYMax | Align::XMaxYMax => free_y,
    };
    Affine::new([sx, 0.0, 0.0, sy, x - view.x * sx, y - view.y * sy])
}
