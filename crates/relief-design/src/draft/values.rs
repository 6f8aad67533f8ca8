//! Values of words against their signatures.

use relief_raster::{Depth, Length, MAX_SIDE};

use super::hints::word_elsewhere;
use super::{Checker, GivenSide, Measure};
use crate::length::{
    Decimal, NoFrequency, Ratio, UNITS, Written, dots_a_metre, foreign_unit, in_unit, is_decimal, written,
};
use crate::report::Problem;
use crate::signature::{
    DefaultValue, MAX_OFFSET, MAX_STRING, NAME, Parameter, Presence, Signature, ValueType,
};
use crate::syntax::{Element, Literal, Span, Value, shortened};

/// A value that is what its signature says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Checked {
    Length(i64),
    Measure(Measure),
    Fraction(Ratio),
    Real(f64),
    Sample(u16),
    Seed(u64),
    Choice(i64),
    Physical(Length),
    Word(&'static str),
    Text(String),
}

/// A value and where it is written; nowhere where it is the default of its signature.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    name: &'static str,
    value: Checked,
    span: Option<Span>,
}

/// What the canvas may say of lengths that are not whole.
const TAKES_NEAREST: &str = "rounding=\"nearest\" at the canvas takes the nearest pixels";

/// As above, of steps and vectors.
const KEEPS_STEPS: &str =
    "with rounding=\"nearest\" at the canvas steps stay exact, and each copy lies at the nearest pixels";

/// The values of an element by their names: those that are given and right, and the defaults of those that are not given.
#[derive(Debug, Default)]
pub(crate) struct Values {
    found: Vec<Found>,
    /// Whether one of them is wrong or missing.
    pub(crate) broken: bool,
    /// The name by which its parent knows it, where that asks for one.
    pub(super) name: Option<(String, Span)>,
}

impl Values {
    fn get(&self, name: &str) -> Option<&Found> {
        self.found.iter().find(|found| found.name == name)
    }

    /// A length in pixels.
    pub(crate) fn pixels(&self, name: &str) -> Option<i64> {
        match self.get(name)?.value {
            Checked::Length(pixels) => Some(pixels),
            _ => None,
        }
    }

    pub(crate) fn sample(&self, name: &str) -> Option<u16> {
        match self.get(name)?.value {
            Checked::Sample(value) => Some(value),
            _ => None,
        }
    }

    /// Where a value is given.
    pub(crate) fn span(&self, name: &str) -> Option<Span> {
        self.get(name)?.span
    }

    /// A number that is given.
    pub(crate) fn real(&self, name: &str) -> Option<(f64, Span)> {
        match self.get(name)?.value {
            Checked::Real(value) => Some((value, self.span(name)?)),
            _ => None,
        }
    }

    pub(crate) fn seed(&self, name: &str) -> Option<u64> {
        match self.get(name)?.value {
            Checked::Seed(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn choice(&self, name: &str) -> Option<i64> {
        match self.get(name)?.value {
            Checked::Choice(value) => Some(value),
            _ => None,
        }
    }

    /// The side of a pixel, or the height that M stands for.
    pub(crate) fn physical(&self, name: &str) -> Option<Length> {
        match self.get(name)?.value {
            Checked::Physical(value) => Some(value),
            _ => None,
        }
    }

    /// A place along a side of a parent, or a side of a node.
    pub(crate) fn measure(&self, name: &str) -> Option<Measure> {
        match self.get(name)?.value {
            Checked::Measure(measure) => Some(measure),
            _ => None,
        }
    }

    /// A step that need not be whole, where it is given.
    pub(crate) fn fraction(&self, name: &str) -> Option<(Ratio, Span)> {
        match self.get(name)?.value {
            Checked::Fraction(ratio) => Some((ratio, self.span(name)?)),
            _ => None,
        }
    }

    /// A length that need not be whole, given or not.
    pub(crate) fn ratio(&self, name: &str) -> Option<Ratio> {
        match self.get(name)?.value {
            Checked::Fraction(ratio) => Some(ratio),
            _ => None,
        }
    }

    /// A side of a node where it is given.
    pub(crate) fn given_side(&self, name: &str) -> Option<GivenSide> {
        Some(GivenSide {
            measure: self.measure(name)?,
            span: self.span(name)?,
        })
    }

    pub(crate) fn word(&self, name: &str) -> Option<&'static str> {
        match self.get(name)?.value {
            Checked::Word(value) => Some(value),
            _ => None,
        }
    }

    /// A text that is given.
    pub(crate) fn text(&self, name: &str) -> Option<(&str, Span)> {
        match &self.get(name)?.value {
            Checked::Text(text) => Some((text, self.span(name)?)),
            _ => None,
        }
    }
}

impl Checked {
    /// The default of a value of this type; nothing where it has none.
    fn of_default(value: ValueType, default: DefaultValue) -> Option<Self> {
        match (value, default) {
            (ValueType::Length { .. }, DefaultValue::Number(pixels)) => Some(Self::Length(pixels)),
            (ValueType::Offset, DefaultValue::Number(pixels)) => {
                Some(Self::Measure(Measure::pixels(Ratio::integer(pixels.into()))))
            }
            (ValueType::Coordinate | ValueType::Dimension, DefaultValue::Number(pixels)) => {
                Some(Self::Fraction(Ratio::integer(pixels.into())))
            }
            (ValueType::Choice(_) | ValueType::Count { .. }, DefaultValue::Number(number)) => {
                Some(Self::Choice(number))
            }
            (ValueType::Sample, DefaultValue::Number(sample)) => u16::try_from(sample).ok().map(Self::Sample),
            (ValueType::Word(_), DefaultValue::Word(word)) => Some(Self::Word(word)),
            _ => None,
        }
    }
}

impl Checker<'_> {
    /// The values of the element, checked against the signature. All that is wrong with them is noted.
    pub(super) fn values(&mut self, element: &Element<'_>, signature: &'static Signature) -> Values {
        self.values_and_name(element, signature, false)
    }

    /// As [`values`](Self::values), with the name of a node whose parent asks for one (`named`).
    pub(super) fn values_and_name(
        &mut self,
        element: &Element<'_>,
        signature: &'static Signature,
        named: bool,
    ) -> Values {
        let mut values = Values::default();
        self.arguments(element, signature, &mut values);
        self.properties(element, signature, named, &mut values);
        let missing: Vec<&Parameter> = name_if(named)
            .chain(signature.all_properties())
            .filter(|p| {
                p.presence == Presence::Required && !element.properties.iter().any(|(n, _)| n.text == p.name)
            })
            .collect();
        for parameter in missing {
            values.broken = true;
            self.missing_property(element, signature, parameter);
        }
        defaults(element, signature, &mut values);
        values
    }

    /// Notes that an element lacks what it needs.
    pub(super) fn missing_property(
        &mut self,
        element: &Element<'_>,
        signature: &Signature,
        parameter: &Parameter,
    ) {
        let message = format!("`{}` needs the property `{}`", signature.name, parameter.name);
        let help = format!(
            "add {}=…: {}, {}",
            parameter.name,
            parameter.meaning,
            self.describe(parameter.value)
        );
        self.note(
            Problem::new("E303", message)
                .label(element.name.span, "here")
                .help(help),
        );
    }

    fn arguments(&mut self, element: &Element<'_>, signature: &'static Signature, values: &mut Values) {
        for (i, value) in element.arguments.iter().enumerate() {
            let Some(parameter) = signature.arguments.get(i) else {
                values.broken = true;
                self.surplus_argument(element, signature, value, i);
                break;
            };
            self.keep(signature, parameter, value, values);
        }
        let needed = signature
            .arguments
            .iter()
            .filter(|p| p.presence == Presence::Required);
        for parameter in needed.skip(element.arguments.len()) {
            values.broken = true;
            let message = format!("`{}` needs a value: {}", signature.name, parameter.meaning);
            let help = format!(
                "write {}, for instance: {}",
                self.describe(parameter.value),
                first_line(signature.example)
            );
            self.note(
                Problem::new("E306", message)
                    .label(element.name.span, "here")
                    .help(help),
            );
        }
    }

    fn surplus_argument(
        &mut self,
        element: &Element<'_>,
        signature: &Signature,
        value: &Value<'_>,
        taken: usize,
    ) {
        let message = match taken {
            0 => format!(
                "`{}` takes no value without a name, found {}",
                signature.name,
                value.literal.describe()
            ),
            _ => format!(
                "`{}` takes {taken} {}, found one more: {}",
                signature.name,
                if taken == 1 { "value" } else { "values" },
                value.literal.describe()
            ),
        };
        let help = match signature.all_properties().next() {
            Some(_) => format!(
                "its properties are written name=value: {}",
                listed(signature.all_properties().map(|p| p.name))
            ),
            None => format!("for instance: {}", first_line(signature.example)),
        };
        let problem = Problem::new("E305", message)
            .label(value.span, "one too many")
            .label(element.name.span, "of this");
        self.note(problem.help(help));
    }

    fn properties(
        &mut self,
        element: &Element<'_>,
        signature: &'static Signature,
        named: bool,
        values: &mut Values,
    ) {
        for (i, (name, value)) in element.properties.iter().enumerate() {
            if !self.wants_more() {
                values.broken = true;
                return;
            }
            let mut known = name_if(named).chain(signature.all_properties());
            let Some(parameter) = known.find(|p| p.name == name.text) else {
                values.broken = true;
                if self.wants_more() {
                    self.unknown_property(&name.text, name.span, signature, named);
                }
                continue;
            };
            // A hostile element may hold many thousands of properties, all but the first few of them repeated.
            let earlier = element.properties[..i]
                .iter()
                .take(64)
                .find(|(n, _)| n.text == name.text);
            if let Some((first, _)) = earlier {
                values.broken = true;
                let message = format!("the property `{}` is given twice", shortened(&name.text));
                let problem = Problem::new("E304", message)
                    .label(name.span, "given again")
                    .label(first.span, "given first");
                self.note(problem.help("remove one of them"));
                continue;
            }
            if std::ptr::eq(parameter, &NAME) {
                // A `use` has a value of this name as well.
                let mut own = Values::default();
                self.keep(signature, parameter, value, &mut own);
                values.broken |= own.broken;
                values.name = own.text(NAME.name).map(|(name, span)| (name.to_owned(), span));
                continue;
            }
            self.keep(signature, parameter, value, values);
        }
    }

    fn unknown_property(&mut self, name: &str, span: Span, signature: &'static Signature, named: bool) {
        let known = name_if(named).chain(signature.all_properties());
        let known: Vec<&str> = known.map(|p| p.name).collect();
        let mut help = match self.suggestions.near(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? "),
            None => String::new(),
        };
        if known.is_empty() {
            help += &format!("`{}` takes no properties", signature.name);
        } else {
            help += &format!("`{}` takes {}", signature.name, listed(known));
        }
        let message = format!("`{}` has no property `{}`", signature.name, shortened(name));
        self.note(Problem::new("E302", message).label(span, "unknown").help(help));
    }

    fn keep(
        &mut self,
        signature: &Signature,
        parameter: &'static Parameter,
        value: &Value<'_>,
        values: &mut Values,
    ) {
        if value.literal == Literal::Broken {
            values.broken = true;
            return;
        }
        if let Some(annotation) = &value.annotation {
            let message = format!("the value of `{}` takes no type annotation", parameter.name);
            self.note(
                Problem::new("E312", message)
                    .label(annotation.span, "here")
                    .help("remove it with its parentheses"),
            );
            values.broken = true;
        }
        match self.checked(parameter.value, value) {
            Ok(checked) => values.found.push(Found {
                name: parameter.name,
                value: checked,
                span: Some(value.span),
            }),
            Err(problem) => {
                values.broken = true;
                // It would be right if the side of a pixel, or the amplitude, were.
                if (problem.code() == "E406" && self.pixel_is_wrong)
                    || (problem.code() == "E408" && self.amplitude_is_wrong)
                {
                    return;
                }
                let name = if signature.arguments.iter().any(|p| std::ptr::eq(p, parameter)) {
                    signature.name.to_owned()
                } else {
                    format!("{} {}", signature.name, parameter.name)
                };
                let problem = problem.about(&name);
                self.note(match &value.origin {
                    Some(origin) => problem.label(origin.span, origin.note.clone()),
                    None => problem,
                });
            }
        }
    }

    fn checked(&self, expected: ValueType, value: &Value<'_>) -> Result<Checked, Problem> {
        if let Literal::Cell(text) = &value.literal {
            let is_text = matches!(
                expected,
                ValueType::Any
                    | ValueType::Text
                    | ValueType::Path
                    | ValueType::Expression(_)
                    | ValueType::Word(_)
            );
            let cell = Value {
                literal: if !is_text && is_decimal(text) {
                    Literal::Number(text.into())
                } else {
                    Literal::Text(text.into())
                },
                ..value.clone()
            };
            return self.checked(expected, &cell);
        }
        match expected {
            ValueType::Any => match &value.literal {
                Literal::Number(text) if Decimal::parse(text).is_none() => Err(too_long(value)),
                Literal::Number(text) => Ok(Checked::Text(text.to_string())),
                Literal::Text(text) if text.is_empty() => Ok(Checked::Text(String::new())),
                Literal::Text(_) => self.text(expected, value),
                _ => Err(self.wrong_type(expected, value)),
            },
            ValueType::Length { least, greatest } => self.whole_length(expected, value, (least, greatest)),
            ValueType::Step { least, greatest } => {
                let length = self.exact_length(expected, value, (least, greatest))?;
                let within = |limit: i64| length.minus(Ratio::integer(limit.into()));
                let above = within(greatest).is_none_or(Ratio::is_positive);
                let below = within(least).and_then(|over| Ratio::ZERO.minus(over));
                if above || below.is_none_or(Ratio::is_positive) {
                    return Err(self.beyond(expected, value, length.rounded()));
                }
                Ok(Checked::Fraction(length))
            }
            ValueType::Pitch => self.pitch(expected, value),
            ValueType::Coordinate => self.exact(expected, value, -MAX_PLACE),
            ValueType::Dimension => self.exact(expected, value, 0),
            ValueType::Offset => self.measure(expected, value, (-MAX_OFFSET, MAX_OFFSET)),
            ValueType::Side => self.measure(expected, value, (1, MAX_SIDE as i64)),
            ValueType::Distance => self
                .length(expected, value)
                .map(|(pixels, _)| Checked::Real(pixels.real())),
            ValueType::Level => match &value.literal {
                Literal::Text(text) => Ok(Checked::Real(self.height(expected, value, text)?.into())),
                _ => self
                    .length(expected, value)
                    .map(|(number, _)| Checked::Real(number.real())),
            },
            ValueType::Height => match &value.literal {
                Literal::Text(text) => Ok(Checked::Real(self.height(expected, value, text)?.into())),
                _ => self.real(expected, value).map(Checked::Real),
            },
            ValueType::Quantity => match &value.literal {
                Literal::Text(text) => match written(text) {
                    Written::Metric(number, _, (above, below)) => number
                        .times(Ratio::fraction(above, below * 1_000_000_000_000))
                        .map(Checked::Fraction)
                        .ok_or_else(|| too_long(value)),
                    Written::Pixels(_) | Written::Nonsense => Err(self.wrong_type(expected, value)),
                    other => Err(self.no_length(value, other)),
                },
                _ => self.real(expected, value).map(Checked::Real),
            },
            ValueType::PicturePitch => match &value.literal {
                Literal::Text(text) if &**text == "file" => Ok(Checked::Word("file")),
                _ => self.physical(expected, value),
            },
            ValueType::PixelSize | ValueType::Amplitude => self.physical(expected, value),
            ValueType::Feed => self.feed(expected, value),
            ValueType::Frequency => self.frequency(expected, value).map(Checked::Real),
            ValueType::Dpi => self.dpi(expected, value),
            ValueType::Sample => self.sample(expected, value),
            ValueType::SampleOrPart => match self.part(expected, value) {
                Some(part) => {
                    let sample = part?.times(Ratio::integer(self.depth.max().into()));
                    let sample = sample.ok_or_else(|| too_long(value))?.rounded();
                    // At most M.
                    Ok(Checked::Sample(u16::try_from(sample).unwrap_or(self.depth.max())))
                }
                None => self.sample(expected, value),
            },
            ValueType::Part => {
                let part = match self.part(expected, value) {
                    Some(part) => part?,
                    None => {
                        let Literal::Number(number) = &value.literal else {
                            return Err(self.wrong_type(expected, value));
                        };
                        let number = Decimal::parse(number).ok_or_else(|| too_long(value))?;
                        self.within_one(expected, value, Ratio::of(number))?
                    }
                };
                Ok(Checked::Fraction(part))
            }
            ValueType::Seed => {
                let number = self.integer(expected, value)?;
                // Negative seeds are the two's complement of 64 bits.
                let wrapped = u64::try_from(number)
                    .ok()
                    .or_else(|| i64::try_from(number).ok().map(i64::cast_unsigned));
                wrapped
                    .map(Checked::Seed)
                    .ok_or_else(|| self.out_of_range(expected, value))
            }
            ValueType::Real => self.real(expected, value).map(Checked::Real),
            ValueType::PositiveReal => {
                let number = self.real(expected, value)?;
                if number > 0.0 {
                    Ok(Checked::Real(number))
                } else {
                    Err(self.out_of_range(expected, value))
                }
            }
            ValueType::Choice(numbers) => {
                let number = self.integer(expected, value)?;
                let chosen = numbers.iter().find(|&&n| i128::from(n) == number);
                chosen
                    .map(|&n| Checked::Choice(n))
                    .ok_or_else(|| self.out_of_range(expected, value))
            }
            ValueType::Count { least, greatest } => {
                let number = self.integer(expected, value)?;
                let counted = i64::try_from(number).ok();
                counted
                    .filter(|count| (least..=greatest).contains(count))
                    .map(Checked::Choice)
                    .ok_or_else(|| self.out_of_range(expected, value))
            }
            ValueType::Word(words) => self.word(words, value),
            ValueType::Text | ValueType::Path | ValueType::Expression(_) => self.text(expected, value),
        }
    }

    fn sample(&self, expected: ValueType, value: &Value<'_>) -> Result<Checked, Problem> {
        if let Literal::Text(text) = &value.literal {
            return self.height(expected, value, text).map(Checked::Sample);
        }
        let number = self.integer(expected, value)?;
        if let Some(sample) = u16::try_from(number).ok().filter(|&n| n <= self.depth.max()) {
            return Ok(Checked::Sample(sample));
        }
        let message = format!(
            "{number} is not a sample of {}: they are 0 to {}",
            self.depth,
            self.depth.max()
        );
        let mut problem = Problem::new("E402", message).label(value.span, "out of range");
        if let Some(span) = self.depth_span {
            problem = problem.label(span, "the depth of all samples");
        } else if let Some(span) = self.canvas_span.filter(|_| self.depth == Depth::Eight) {
            problem = problem.label(span, "the depth is 8 where the canvas does not say it");
        }
        let fits = self.depth == Depth::Eight && (0..=65_535).contains(&number);
        let range = format!("write a sample of 0 to {}", self.depth.max());
        Err(problem.help(if fits {
            format!("{range}, or bits=16 at the canvas")
        } else {
            range
        }))
    }

    /// A part of 0 to 1 that is written as a percentage; nothing where it is not.
    fn part(&self, expected: ValueType, value: &Value<'_>) -> Option<Result<Ratio, Problem>> {
        match &value.literal {
            Literal::Text(text) => match written(text) {
                Written::Percent(part) => Some(self.within_one(expected, value, part)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The number, where it is 0 to 1.
    fn within_one(&self, expected: ValueType, value: &Value<'_>, number: Ratio) -> Result<Ratio, Problem> {
        let beyond = number.minus(Ratio::integer(1));
        if number.is_negative() || beyond.is_none_or(Ratio::is_positive) {
            return Err(self.out_of_range(expected, value));
        }
        Ok(number)
    }

    /// A whole number of pixels; where lengths become the nearest ones, the nearest.
    fn whole_length(
        &self,
        expected: ValueType,
        value: &Value<'_>,
        (least, greatest): (i64, i64),
    ) -> Result<Checked, Problem> {
        let (length, unit) = self.length(expected, value)?;
        let pixels = match length.whole() {
            Some(pixels) => pixels,
            None if self.nearest => {
                let pixels = length.rounded();
                if pixels == 0 {
                    return Err(vanishing(value.span, length));
                }
                self.rounds(length, value.span);
                pixels
            }
            None => return Err(self.not_whole(value, length, unit, (least, greatest), TAKES_NEAREST)),
        };
        match i64::try_from(pixels) {
            Ok(pixels) if (least..=greatest).contains(&pixels) => Ok(Checked::Length(pixels)),
            _ => Err(self.beyond(expected, value, pixels)),
        }
    }

    fn beyond(&self, expected: ValueType, value: &Value<'_>, pixels: i128) -> Problem {
        let message = format!("expected {}, found {pixels} pixels", expected.describe());
        Problem::new("E402", message)
            .label(value.span, "out of range")
            .help(format!("write {}", expected.describe()))
    }

    /// A place along a side of a parent, or a side of a node.
    fn measure(
        &self,
        expected: ValueType,
        value: &Value<'_>,
        (least, greatest): (i64, i64),
    ) -> Result<Checked, Problem> {
        let side = least > 0;
        if let Literal::Text(text) = &value.literal
            && let Written::Percent(part) = written(text)
        {
            let greatest = Ratio::integer(MAX_PARTS.into());
            let over = |part: Option<Ratio>| part.is_none_or(Ratio::is_positive);
            let under = match side {
                true => !part.is_positive(),
                false => over(Ratio::ZERO.minus(part).and_then(|part| part.minus(greatest))),
            };
            if under || over(part.minus(greatest)) {
                let message = format!(
                    "a part of the parent is {} to {}, found {}",
                    if side { "above 0 %" } else { "−100 000 %" },
                    "100 000 %",
                    value.literal.describe()
                );
                return Err(Problem::new("E402", message)
                    .label(value.span, "out of range")
                    .help("\"50%\" is half of the parent's side"));
            }
            return Ok(Checked::Measure(Measure {
                of_parent: part,
                pixels: Ratio::ZERO,
            }));
        }
        let (length, unit) = self.length(expected, value)?;
        if length.whole().is_none() && !self.nearest {
            return Err(self.not_whole(value, length, unit, (least, greatest), TAKES_NEAREST));
        }
        // A side of a third of a pixel may yet reach over a boundary.
        let whole = if side && length.is_positive() && length.whole().is_none() {
            length.nearest().1
        } else {
            length.rounded()
        };
        if !(i128::from(least)..=i128::from(greatest)).contains(&whole) {
            return Err(self.beyond(expected, value, whole));
        }
        Ok(Checked::Measure(Measure::pixels(length)))
    }

    /// A step that is not rounded.
    fn pitch(&self, expected: ValueType, value: &Value<'_>) -> Result<Checked, Problem> {
        let limits = (1, MAX_SIDE as i64);
        let length = self.exact_length(expected, value, limits)?;
        if !length.is_positive() || length.nearest().0 < 1 || length.nearest().0 > limits.1.into() {
            return Err(self.beyond(expected, value, length.rounded()));
        }
        Ok(Checked::Fraction(length))
    }

    /// A length that is not rounded and need not be whole, from `least`, or above it where that is 0, to 2^40 pixels.
    fn exact(&self, expected: ValueType, value: &Value<'_>, least: i64) -> Result<Checked, Problem> {
        let (length, _) = self.length(expected, value)?;
        let above = length.minus(Ratio::integer(least.into()));
        let below = Ratio::integer(MAX_PLACE.into()).minus(length);
        let (Some(above), Some(below)) = (above, below) else {
            return Err(too_long(value));
        };
        let inside = above.is_positive() || (above == Ratio::ZERO && least < 0);
        if !inside || (!below.is_positive() && below != Ratio::ZERO) {
            let message = format!("expected {}, found {} pixels", expected.describe(), length.told());
            return Err(Problem::new("E402", message)
                .label(value.span, "out of range")
                .help(format!("write {}", expected.describe())));
        }
        Ok(Checked::Fraction(length))
    }

    /// A length as it is written, which is whole unless lengths become the nearest pixels.
    fn exact_length(
        &self,
        expected: ValueType,
        value: &Value<'_>,
        limits: (i64, i64),
    ) -> Result<Ratio, Problem> {
        let (length, unit) = self.length(expected, value)?;
        if length.whole().is_none() && !self.nearest {
            return Err(self.not_whole(value, length, unit, limits, KEEPS_STEPS));
        }
        Ok(length)
    }

    /// Notes that a length becomes the nearest whole number of pixels.
    fn rounds(&self, length: Ratio, span: Span) {
        let distance = length.distance_to_whole();
        if self.rounding.get().is_none_or(|(most, _)| distance > most) {
            self.rounding.set(Some((distance, span)));
        }
    }

    fn not_whole(
        &self,
        value: &Value<'_>,
        length: Ratio,
        unit: Option<&'static str>,
        (least, greatest): (i64, i64),
        of_rounding: &str,
    ) -> Problem {
        let describe = |pixels: i128| {
            let metric = unit
                .zip(self.pixel)
                .and_then(|(unit, pixel)| in_unit(pixels, pixel, unit));
            metric.map_or(format!("{pixels} px"), |text| format!("\"{text}\" ({pixels} px)"))
        };
        let message = format!(
            "this length is {} pixels, which is not a whole number",
            length.told()
        );
        let mut problem = Problem::new("E405", message).label(value.span, "not whole");
        if let (Some(_), Some(span)) = (unit, self.canvas_span) {
            problem = problem.label(span, "the side of a pixel is given here");
        }
        let (below, above) = length.nearest();
        let allowed = i128::from(least)..=i128::from(greatest);
        let nearest = match (allowed.contains(&below), allowed.contains(&above)) {
            (true, true) => format!(
                "the nearest lengths are {} and {}",
                describe(below),
                describe(above)
            ),
            (true, false) => format!("the nearest length allowed is {}", describe(below)),
            (false, true) => format!("the nearest length allowed is {}", describe(above)),
            (false, false) => format!("write a length of {least} to {greatest} pixels"),
        };
        problem.help(format!("{nearest}; {of_rounding}"))
    }

    /// A length in pixels, with the unit that it is written in.
    fn length(
        &self,
        expected: ValueType,
        value: &Value<'_>,
    ) -> Result<(Ratio, Option<&'static str>), Problem> {
        let text = match &value.literal {
            Literal::Number(number) => {
                return Decimal::parse(number)
                    .map(|n| (Ratio::of(n), None))
                    .ok_or_else(|| too_long(value));
            }
            Literal::Text(text) => text,
            _ => return Err(self.wrong_type(expected, value)),
        };
        match written(text) {
            Written::Pixels(number) => Ok((number, None)),
            Written::Metric(number, unit, factor) => {
                let pixel = self.pixel.ok_or_else(|| self.no_pixel(value, unit))?;
                Ratio::scaled(number, factor, pixel)
                    .map(|pixels| (pixels, Some(unit)))
                    .ok_or_else(|| too_long(value))
            }
            other => Err(self.no_length(value, other)),
        }
    }

    /// Why a text is neither a number of pixels nor one with a metric unit.
    fn no_length(&self, value: &Value<'_>, written: Written<'_>) -> Problem {
        let (message, help) = match written {
            Written::TooLong => return too_long(value),
            Written::UnknownUnit(unit) => return self.unknown_unit(value, unit),
            Written::ByZero => (
                format!("{} divides by 0", value.literal.describe()),
                "a fraction is written like \"1/1200in\"",
            ),
            Written::Percent(_) => (
                format!(
                    "{} is a part of a side, which this is not",
                    value.literal.describe()
                ),
                "x, y, width and height of nodes take parts of the parent's; write a length here, like \"20mm\"",
            ),
            _ => (
                format!("{} is not a length", value.literal.describe()),
                "a length is a number of pixels, or a text like \"20mm\" or \"-1.5um\"",
            ),
        };
        Problem::new("E404", message).label(value.span, "here").help(help)
    }

    /// A sample of a height: M·height / amplitude, rounded, halves up.
    fn height(&self, expected: ValueType, value: &Value<'_>, text: &str) -> Result<u16, Problem> {
        let (number, unit, factor) = match written(text) {
            Written::Metric(number, unit, factor) => (number, unit, factor),
            Written::Pixels(_) | Written::Nonsense => return Err(self.wrong_type(expected, value)),
            other => return Err(self.no_length(value, other)),
        };
        let Some(amplitude) = self.amplitude else {
            let message = format!(
                "a height in {unit} needs the height that M stands for, which the canvas does not say"
            );
            return Err(self.no_amplitude(
                message,
                value.span,
                &format!("in {unit}"),
                "add amplitude=\"80um\" (or what it is) to the canvas, or write the sample as a number",
            ));
        };
        let part = Ratio::scaled(number, factor, amplitude).ok_or_else(|| too_long(value))?;
        let max = i128::from(self.depth.max());
        if part.nearest().0 < 0 || part.minus(Ratio::integer(1)).is_none_or(Ratio::is_positive) {
            let message = format!(
                "{} is not a height within the amplitude, 0 to {amplitude}",
                value.literal.describe()
            );
            let mut problem = Problem::new("E402", message).label(value.span, "out of range");
            if let Some(span) = self.canvas_span {
                problem = problem.label(span, "the amplitude is given here");
            }
            return Err(problem.help("write a height within it, or give the canvas a greater amplitude"));
        }
        let sample = part.times(Ratio::integer(max)).ok_or_else(|| too_long(value))?;
        // At most M.
        Ok(u16::try_from(sample.rounded()).unwrap_or(self.depth.max()))
    }

    fn no_pixel(&self, value: &Value<'_>, unit: &str) -> Problem {
        let mut problem = Problem::new(
            "E406",
            format!("a length in {unit} needs the side of a pixel, which the canvas does not say"),
        )
        .label(value.span, format!("in {unit}"));
        if let Some(span) = self.canvas_span {
            problem = problem.label(span, "`pixel` is missing here");
        }
        problem.help(
            "add pixel=\"10um\" or dpi=1200 (or what it is) to the canvas, or write the length in pixels",
        )
    }

    /// What a value may be, for a sentence about this design.
    fn describe(&self, expected: ValueType) -> String {
        match expected {
            ValueType::Sample if self.amplitude.is_some() => {
                format!("a sample, 0 to {}, or a height", self.depth.max())
            }
            ValueType::Sample => format!("a sample, 0 to {}", self.depth.max()),
            ValueType::SampleOrPart => {
                let height = if self.amplitude.is_some() {
                    ", a height"
                } else {
                    ""
                };
                format!(
                    "a sample, 0 to {}{height}, or a part of M, as \"50%\"",
                    self.depth.max()
                )
            }
            ValueType::Level | ValueType::Height if self.amplitude.is_none() => "a number".to_owned(),
            _ => expected.describe(),
        }
    }

    fn unknown_unit(&self, value: &Value<'_>, unit: &str) -> Problem {
        let units = || UNITS.iter().map(|(name, _)| *name).chain(["px"]);
        let problem = if let (Some(_), Literal::Text(text)) = (unit.strip_prefix(','), &value.literal) {
            let text = crate::syntax::quoted(&text.replacen(',', ".", 1));
            Problem::new("E404", "a length has a decimal point, found a comma").help(format!("write {text}"))
        } else {
            // A letter of a short unit is no slip that tells which one was meant.
            let slip = || {
                self.suggestions
                    .near(unit, units())
                    .filter(|_| unit.chars().count() > 2)
            };
            let near = foreign_unit(unit)
                .map(|hint| format!("{hint}; "))
                .or_else(|| slip().map(|near| format!("did you mean {near}? ")))
                .unwrap_or_default();
            let message = format!("the unit {} is unknown", crate::syntax::quoted(unit));
            Problem::new("E404", message).help(format!("{near}units are {}", listed_plain(units())))
        };
        problem.label(value.span, "here")
    }

    /// The side of a pixel, or the height that M stands for.
    fn physical(&self, expected: ValueType, value: &Value<'_>) -> Result<Checked, Problem> {
        let (what, example) = if expected == ValueType::Amplitude {
            ("the amplitude", "for instance \"80um\"")
        } else {
            (
                "the side of a pixel",
                "for instance \"10um\", \"0.5nm\" or \"1/1200in\"",
            )
        };
        let Literal::Text(text) = &value.literal else {
            return Err(self.wrong_type(expected, value));
        };
        let (number, factor) = match written(text) {
            Written::Metric(number, _, factor) => (number, factor),
            Written::Pixels(_) | Written::Nonsense => return Err(self.wrong_type(expected, value)),
            other => return Err(self.no_length(value, other)),
        };
        self.allowed(number.metres(factor), number, factor, value, what, example)
    }

    /// The way in a minute: a length, a stroke and `min` or `s`.
    fn feed(&self, expected: ValueType, value: &Value<'_>) -> Result<Checked, Problem> {
        let Literal::Text(text) = &value.literal else {
            return Err(self.wrong_type(expected, value));
        };
        let (way, times) = match text.trim().rsplit_once('/') {
            Some((way, time)) if time.trim() == "min" => (way, 1),
            Some((way, time)) if time.trim() == "s" => (way, 60),
            _ => return Err(self.wrong_type(expected, value)),
        };
        let (number, factor) = match written(way) {
            Written::Metric(number, _, factor) => (number, factor),
            Written::Pixels(_) | Written::Nonsense => return Err(self.wrong_type(expected, value)),
            other => return Err(self.no_length(value, other)),
        };
        let minute = number
            .times(Ratio::integer(times))
            .ok_or_else(|| too_long(value))?;
        let metres = minute.times(Ratio::fraction(factor.0, factor.1 * 1_000_000_000_000));
        let metres = metres.ok_or_else(|| too_long(value))?;
        let above = |least: Ratio| metres.minus(least).is_some_and(|more| !more.is_negative());
        if !above(Ratio::fraction(1, 1_000_000)) || above(Ratio::fraction(1_000_001, 1_000)) {
            return Err(self.out_of_range(expected, value));
        }
        minute
            .metres(factor)
            .map(Checked::Physical)
            .ok_or_else(|| too_long(value))
    }

    /// Dots a metre.
    fn frequency(&self, expected: ValueType, value: &Value<'_>) -> Result<f64, Problem> {
        let Literal::Text(text) = &value.literal else {
            return Err(self.wrong_type(expected, value));
        };
        dots_a_metre(text).map_err(|why| match why {
            NoFrequency::Nonsense => self.wrong_type(expected, value),
            NoFrequency::TooLong => too_long(value),
            NoFrequency::OutOfRange => self.out_of_range(expected, value),
        })
    }

    /// The side of a pixel of so many an inch.
    fn dpi(&self, expected: ValueType, value: &Value<'_>) -> Result<Checked, Problem> {
        let Literal::Number(number) = &value.literal else {
            return Err(self.wrong_type(expected, value));
        };
        let number = Ratio::of(Decimal::parse(number).ok_or_else(|| too_long(value))?);
        if !number.is_positive() {
            return Err(self.out_of_range(expected, value));
        }
        let inch = (25_400_000_000, 1);
        let side = Ratio::integer(1).over(number).ok_or_else(|| too_long(value))?;
        self.allowed(
            side.metres(inch),
            side,
            inch,
            value,
            "the side of a pixel",
            "dpi=1200, for instance, is a pixel of 1/1200 in",
        )
    }

    /// A length from 1 pm to 1 m that a fraction of 64 bits says.
    fn allowed(
        &self,
        length: Option<Length>,
        number: Ratio,
        factor: (i128, i128),
        value: &Value<'_>,
        what: &str,
        example: &str,
    ) -> Result<Checked, Problem> {
        let picometres = number.times(Ratio::fraction(factor.0, factor.1));
        let picometres = picometres.ok_or_else(|| too_long(value))?;
        let inside = picometres.nearest().0 >= 1
            && picometres
                .minus(Ratio::integer(1_000_000_000_000))
                .is_some_and(|beyond| !beyond.is_positive());
        if !inside {
            return Err(Problem::new("E402", format!("{what} is 1 pm to 1 m"))
                .label(value.span, "out of range")
                .help(example));
        }
        length.map(Checked::Physical).ok_or_else(|| too_long(value))
    }

    fn integer(&self, expected: ValueType, value: &Value<'_>) -> Result<i128, Problem> {
        let Literal::Number(number) = &value.literal else {
            return Err(self.wrong_type(expected, value));
        };
        let number = Decimal::parse(number).ok_or_else(|| too_long(value))?;
        number.integer().ok_or_else(|| self.wrong_type(expected, value))
    }

    fn real(&self, expected: ValueType, value: &Value<'_>) -> Result<f64, Problem> {
        let Literal::Number(number) = &value.literal else {
            return Err(self.wrong_type(expected, value));
        };
        if let Some(whole) = Decimal::parse(number).and_then(Decimal::integer) {
            return Ok(whole as f64);
        }
        let plain: String = number.chars().filter(|&c| c != '_').collect();
        let parsed = plain.parse::<f64>().ok().filter(|number| number.is_finite());
        parsed.ok_or_else(|| self.out_of_range(expected, value))
    }

    fn word(&self, words: &'static [&'static str], value: &Value<'_>) -> Result<Checked, Problem> {
        let Literal::Text(text) = &value.literal else {
            return Err(self.wrong_type(ValueType::Word(words), value));
        };
        if let Some(word) = words.iter().find(|word| *word == text) {
            return Ok(Checked::Word(word));
        }
        let near = self
            .suggestions
            .near(text, words.iter().copied())
            .map(|near| format!("did you mean \"{near}\"? "))
            .unwrap_or_default();
        let message = format!(
            "expected {}, found {}",
            ValueType::Word(words).describe(),
            value.literal.describe()
        );
        let elsewhere = word_elsewhere(text, words)
            .map(|hint| format!("; {hint}"))
            .unwrap_or_default();
        Err(Problem::new("E403", message)
            .label(value.span, "unknown")
            .help(format!(
                "{near}the words are {}{elsewhere}",
                listed_plain(words.iter().copied())
            )))
    }

    fn text(&self, expected: ValueType, value: &Value<'_>) -> Result<Checked, Problem> {
        let Literal::Text(text) = &value.literal else {
            return Err(self.wrong_type(expected, value));
        };
        let (found, help) = if text.is_empty() {
            ("an empty text".to_owned(), "write it between the quotes")
        } else if text.len() > MAX_STRING {
            let found = format!("one of {} bytes, more than the {MAX_STRING} allowed", text.len());
            (found, "shorten it")
        } else if text.contains('\0') {
            (
                "one with the character U+0000 in it".to_owned(),
                "leave the character out",
            )
        } else {
            return Ok(Checked::Text(text.to_string()));
        };
        let message = format!("expected {}, found {found}", expected.describe());
        Err(Problem::new("E402", message)
            .label(value.span, "out of range")
            .help(help))
    }

    fn wrong_type(&self, expected: ValueType, value: &Value<'_>) -> Problem {
        let described = self.describe(expected);
        let takes_text = matches!(
            expected,
            ValueType::Text | ValueType::Path | ValueType::Expression(_) | ValueType::Word(_)
        );
        let help = match (expected, &value.literal) {
            (ValueType::PixelSize, _) => "for instance \"10um\"".to_owned(),
            (ValueType::Amplitude, _) => "for instance \"80um\"".to_owned(),
            (ValueType::PicturePitch, _) => "for instance \"7.3um\", or \"file\"".to_owned(),
            (ValueType::Quantity, Literal::Text(_)) => {
                "write a number without quotes, or a length with a unit: \"20um\"".to_owned()
            }
            (ValueType::Frequency, _) => "for instance \"150lpi\"".to_owned(),
            (ValueType::Feed, _) => "for instance \"3000mm/min\" or \"50mm/s\"".to_owned(),
            (ValueType::Sample | ValueType::Level | ValueType::Height, Literal::Text(_)) => {
                "write a number without quotes, or a height with a unit: \"20um\"".to_owned()
            }
            (ValueType::SampleOrPart, Literal::Text(_)) => {
                "write a number without quotes, a part of M as \"50%\", or a height with a unit: \"20um\""
                    .to_owned()
            }
            (ValueType::Part, Literal::Text(_)) => {
                "write a number without quotes, or a part as \"40%\"".to_owned()
            }
            (_, Literal::Text(_)) => "write a number without quotes".to_owned(),
            _ if takes_text => "write a text between quotes".to_owned(),
            _ => format!("write {described}"),
        };
        let message = format!("expected {described}, found {}", value.literal.describe());
        Problem::new("E401", message)
            .label(value.span, "not that")
            .help(help)
    }

    fn out_of_range(&self, expected: ValueType, value: &Value<'_>) -> Problem {
        let described = self.describe(expected);
        let message = format!("expected {described}, found {}", value.literal.describe());
        Problem::new("E402", message)
            .label(value.span, "out of range")
            .help(format!("write {described}"))
    }
}

/// [`NAME`] for a node whose parent asks for its name.
fn name_if(named: bool) -> impl Iterator<Item = &'static Parameter> {
    named.then_some(&NAME).into_iter()
}

/// Adds the defaults of what is not given. A value that is given and wrong gets none.
fn defaults(element: &Element<'_>, signature: &'static Signature, values: &mut Values) {
    let arguments = signature.arguments.iter().skip(element.arguments.len());
    let properties = signature.all_properties().filter(|parameter| {
        !element
            .properties
            .iter()
            .any(|(name, _)| name.text == parameter.name)
    });
    for parameter in arguments.chain(properties) {
        let Presence::Optional(default) = parameter.presence else {
            continue;
        };
        if let Some(value) = Checked::of_default(parameter.value, default) {
            values.found.push(Found {
                name: parameter.name,
                value,
                span: None,
            });
        }
    }
}

impl Problem {
    /// Says in its message which value it is about.
    fn about(self, name: &str) -> Self {
        let message = format!("`{name}`: {}", self.message());
        self.with_message(message)
    }
}

/// The greatest place within a node, in pixels.
const MAX_PLACE: i64 = MAX_SIDE as i64;

/// The greatest part of a parent's side, in times of it.
const MAX_PARTS: i64 = 1_000;

/// The problem of a length of which no pixel is left.
pub(crate) fn vanishing(span: Span, length: Ratio) -> Problem {
    Problem::new(
        "E409",
        format!("this length is {} pixels, and becomes 0 pixels", length.told()),
    )
    .label(span, "nothing is left of it")
    .help("write a longer one, or compute with smaller pixels")
}

fn too_long(value: &Value<'_>) -> Problem {
    Problem::new(
        "E407",
        format!(
            "{} has more digits than can be represented exactly",
            value.literal.describe()
        ),
    )
    .label(value.span, "too long")
    .help("write at most 18 digits before and 18 after the decimal point")
}

/// `a`, `b` and `c`.
pub(super) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

fn listed_plain<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn first_line(example: &str) -> &str {
    example.lines().next().unwrap_or(example)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoImages;
    use crate::signature::SIGNATURES;

    /// A default that its type does not take would be no value at all.
    #[test]
    fn every_default_is_what_its_text_in_the_reference_would_be_read_as() {
        let checker = Checker::new(&NoImages);
        for signature in SIGNATURES {
            let parameters = signature.arguments.iter().chain(signature.all_properties());
            for parameter in parameters {
                let Presence::Optional(default) = parameter.presence else {
                    continue;
                };
                let made = Checked::of_default(parameter.value, default);
                let name = format!("{} {}", signature.name, parameter.name);
                if matches!(default, DefaultValue::Absent(_)) {
                    assert_eq!(made, None, "{name}");
                    continue;
                }
                let text = format!("word {default}");
                let elements = crate::syntax::read(&text).unwrap();
                let read = checker.checked(parameter.value, &elements[0].arguments[0]);
                assert_eq!(made, Some(read.unwrap()), "{name}");
            }
        }
    }
}
