//! Lengths, sizes and view boxes.

use std::rc::Rc;

use kurbo::Affine;
use svgtypes::{Align, AspectRatio, ViewBox};

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

/// The size of a font in user units.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Em {
    Known(f64),
    /// It follows from this absolute length, and the side of a pixel is not known.
    Needs(Rc<str>),
}

/// CSS Fonts, `medium`: what browsers take, too.
pub(super) const MEDIUM: Em = Em::Known(16.0);

impl Em {
    pub(super) fn times(&self, number: f64) -> Self {
        match self {
            Self::Known(size) => Self::Known(size * number),
            Self::Needs(length) => Self::Needs(Rc::clone(length)),
        }
    }
}

/// What lengths of a document are measured by, wherever they stand.
#[derive(Clone, Debug)]
pub(super) struct Units {
    pub(super) pixel: Option<Pixel>,
    /// The sides of the document.
    pub(super) page: Viewport,
    /// The size of the font of its root.
    pub(super) rem: Em,
}

impl Units {
    /// Those of a document that is not read yet.
    pub(super) const fn unknown(pixel: Option<Pixel>) -> Self {
        Self {
            pixel,
            page: Viewport {
                width: 100.0,
                height: 100.0,
            },
            rem: MEDIUM,
        }
    }
}

/// The units of CSS Values 4, 6, that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    User,
    Percent,
    Em,
    Rem,
    /// Half an em, as CSS has it where a font does not say.
    HalfEm,
    /// `vw`, `vh`, `vmin` and `vmax`.
    PageWidth,
    PageHeight,
    PageLess,
    PageGreater,
    /// So many metres, as a fraction.
    Metres(u64, u64),
}

/// A length as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Length {
    number: f64,
    unit: Unit,
}

/// The bytes of the number at the beginning of a text, as CSS Syntax 3, 4.3.12, has it: none where there is none.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from.min(bytes.len())..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(at);
    at += whole;
    let mut part = 0;
    if bytes.get(at) == Some(&b'.') {
        part = digits(at + 1);
        // SVG allows a point without digits behind it.
        at += 1 + part;
    }
    if whole + part == 0 {
        return 0;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let power = digits(at + 1 + sign);
        if power > 0 {
            at += 1 + sign + power;
        }
    }
    at
}

/// A number without a unit.
pub(super) fn plain(text: &str) -> Option<f64> {
    let text = text.trim();
    let value: f64 = text
        .get(..number(text))
        .filter(|number| *number == text)?
        .parse()
        .ok()?;
    value.is_finite().then_some(value)
}

impl Length {
    pub(super) const fn user(number: f64) -> Self {
        Self {
            number,
            unit: Unit::User,
        }
    }

    /// Nothing where it is none that is read.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (number, unit) = text.split_at(number(text));
        let number: f64 = number.parse().ok().filter(|number: &f64| number.is_finite())?;
        let unit = match unit.to_ascii_lowercase().as_str() {
            "" | "px" => Unit::User,
            "%" => Unit::Percent,
            "em" => Unit::Em,
            "rem" => Unit::Rem,
            "ex" | "ch" => Unit::HalfEm,
            "vw" => Unit::PageWidth,
            "vh" => Unit::PageHeight,
            "vmin" => Unit::PageLess,
            "vmax" => Unit::PageGreater,
            "in" => Unit::Metres(254, 10_000),
            "cm" => Unit::Metres(1, 100),
            "mm" => Unit::Metres(1, 1_000),
            "q" => Unit::Metres(1, 4_000),
            "pt" => Unit::Metres(254, 720_000),
            "pc" => Unit::Metres(254, 60_000),
            _ => return None,
        };
        Some(Self { number, unit })
    }

    pub(super) const fn is_negative(&self) -> bool {
        self.number < 0.0
    }

    pub(super) const fn is_percentage(&self) -> bool {
        matches!(self.unit, Unit::Percent)
    }

    /// How many hundredths, of a percentage.
    pub(super) const fn percentage(&self) -> Option<f64> {
        match self.unit {
            Unit::Percent => Some(self.number),
            _ => None,
        }
    }

    pub(super) const fn is_of_font(&self) -> bool {
        matches!(self.unit, Unit::Em | Unit::Rem | Unit::HalfEm)
    }

    /// As elements within inherit it: in user units where it is one in units of a font, whose sizes are other there.
    pub(super) fn settled(self, em: &Em, units: &Units) -> Self {
        if !self.is_of_font() {
            return self;
        }
        let nowhere = Viewport {
            width: 0.0,
            height: 0.0,
        };
        self.resolved(Of::Diagonal, &nowhere, em, units)
            .map_or(self, Self::user)
    }

    /// In user units; the absolute length where the side of a pixel is not known.
    pub(super) fn resolved(
        self,
        of: Of,
        viewport: &Viewport,
        em: &Em,
        units: &Units,
    ) -> Result<f64, Rc<str>> {
        let font = |em: &Em, times: f64| match em {
            Em::Known(size) => Ok(size * times),
            Em::Needs(length) => Err(Rc::clone(length)),
        };
        let page = &units.page;
        let unit = match self.unit {
            Unit::User => 1.0,
            Unit::Percent => return Ok(self.number / 100.0 * viewport.side(of)),
            Unit::Em => font(em, 1.0)?,
            Unit::Rem => font(&units.rem, 1.0)?,
            Unit::HalfEm => font(em, 0.5)?,
            Unit::PageWidth => page.width / 100.0,
            Unit::PageHeight => page.height / 100.0,
            Unit::PageLess => page.width.min(page.height) / 100.0,
            Unit::PageGreater => page.width.max(page.height) / 100.0,
            Unit::Metres(above, below) => {
                let pixel = units.pixel.ok_or_else(|| Rc::from(self.to_string()))?;
                pixel.pixels_in(above, below).map_or_else(
                    || above as f64 / below as f64 * pixel.per_metre(),
                    |(above, below)| above as f64 / below as f64,
                )
            }
        };
        Ok(self.number * unit)
    }
}

impl std::fmt::Display for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unit = match self.unit {
            Unit::User => "",
            Unit::Percent => "%",
            Unit::Em => "em",
            Unit::Rem => "rem",
            Unit::HalfEm => "ex",
            Unit::PageWidth => "vw",
            Unit::PageHeight => "vh",
            Unit::PageLess => "vmin",
            Unit::PageGreater => "vmax",
            Unit::Metres(_, 10_000) => "in",
            Unit::Metres(_, 100) => "cm",
            Unit::Metres(_, 1_000) => "mm",
            Unit::Metres(_, 4_000) => "Q",
            Unit::Metres(_, 720_000) => "pt",
            Unit::Metres(..) => "pc",
        };
        write!(f, "{}{unit}", self.number)
    }
}

pub(super) fn view_box(node: Node<'_, '_>) -> Option<ViewBox> {
    let view: ViewBox = node.attribute("viewBox")?.parse().ok()?;
    let finite = [view.x, view.y, view.w, view.h].iter().all(|v| v.is_finite());
    (finite && view.w > 0.0 && view.h > 0.0).then_some(view)
}

/// The size of the root in pixels; `em` is the size of its font.
pub(super) fn size(
    document: &Document<'_>,
    root: Node<'_, '_>,
    pixel: Option<Pixel>,
    em: impl Fn() -> Em,
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
    let side = |name: &str, of: Of| -> Result<Option<f64>, Error> {
        let length = root.attribute(name).and_then(Length::parse);
        let Some(length) = length.filter(|length| !length.is_percentage() || view.is_some()) else {
            return Ok(None);
        };
        let em = if length.is_of_font() { em() } else { MEDIUM };
        let units = Units {
            pixel,
            page: whole,
            rem: em.clone(),
        };
        let side = length.resolved(of, &whole, &em, &units);
        let side = side.map_err(|length| no_pixel(document, root, &length))?;
        Ok(Some(side).filter(|side| side.is_finite() && *side > 0.0))
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

pub(super) fn no_pixel(document: &Document<'_>, node: Node<'_, '_>, length: &str) -> Error {
    Error::NoPixel {
        place: document.place(node),
        length: length.to_owned(),
    }
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
