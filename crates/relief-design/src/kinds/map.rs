//! `map`: a tone curve.

use std::sync::Arc;

use super::{Bounds, NodeKind, NodeSource, Seen};
use crate::draft::{Checker, TableKey, Values, not_a_number};
use crate::report::Problem;
use crate::seam::{Interval, Seam, Support};
use crate::signature::{Count, Signature, parameter, role};
use crate::syntax::{Element, Span};
use crate::table::{self, Tone};
use crate::tree::Role;
use crate::validate::Rules;

/// The operations that a value of a tone curve by a power counts for.
const GAMMA_WORK: u64 = 112;

/// As above, for the search among points.
const POINTS_WORK: u64 = 64;

/// As above, for a few sums and products.
const TONE_WORK: u64 = 16;

/// The most words of one `map`.
const MAX_TONES: usize = 64;

/// One `Source` child through a table of M + 1 samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The table.
    pub table: Arc<[u16]>,
}

impl NodeKind for Map {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "map",
        meaning: "The source through a table of M + 1 samples. Several words are applied in the order written, each to the result of the one before: in binary64, clamped to 0…M after each, rounded half away from zero at the end \
                  alone.",
        children: &[
            role(Role::Source, Count::One),
            parameter("gamma", Count::SomeOf),
            parameter("invert", Count::SomeOf),
            parameter("brightness", Count::SomeOf),
            parameter("contrast", Count::SomeOf),
            parameter("levels", Count::SomeOf),
            parameter("curve", Count::SomeOf),
            parameter("expression", Count::SomeOf),
        ],
        example: "map {\n    (source)image \"photo.png\"\n    brightness 10\n    gamma 2.2\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        if source.parameters.len() > MAX_TONES {
            let message = format!(
                "`map` takes at most {MAX_TONES} words, found {}",
                source.parameters.len()
            );
            let at = source
                .parameters
                .get(MAX_TONES)
                .map(|element| element.name.span)?;
            let problem = Problem::new("E105", message).label(at, "one too many");
            checker.note(
                problem.help("fold them into one `curve` or `expression`, or put one `map` into another"),
            );
            return None;
        }
        // What is wrong with each is told.
        let words: Vec<Option<Word>> = source
            .parameters
            .iter()
            .map(|element| word(element, checker))
            .collect();
        let words: Vec<Word> = words.into_iter().collect::<Option<_>>()?;
        let element = source.parameters.first()?;
        let table = match words.as_slice() {
            [word] => single(word, element.name.span, checker),
            words => several(words, element.name.span, checker),
        };
        Some(Self { table: table? })
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        let Bounds { least, greatest } = seen.first();
        seen.table(self.table.get(usize::from(least)..=usize::from(greatest)))
    }

    fn is_smooth(&self, children: bool) -> bool {
        children
    }

    fn support(&self, size: (u64, u64), children: &[(Role, Support)]) -> Support {
        match (self.table.first(), children) {
            (Some(0), [(_, support)]) => *support,
            _ => [Interval::side(size.0), Interval::side(size.1)],
        }
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.same_place();
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        rules.table(&self.table, usize::from(rules.max()) + 1)
    }
}

/// A word with where it stands, and its text where it is an expression.
struct Word {
    tone: Tone,
    text: Option<(String, Span)>,
}

fn entries(checker: &Checker<'_>) -> usize {
    usize::from(checker.depth().max()) + 1
}

/// What a word says.
fn word(element: &Element<'_>, checker: &mut Checker<'_>) -> Option<Word> {
    let values = checker.parameter_values(element)?;
    let mut expression = None;
    let tone = match &*element.name.text {
        "curve" => Tone::Curve(checker.points(element)?),
        "gamma" => Tone::Gamma(values.real("G")?.0),
        "invert" => Tone::Invert,
        "brightness" => Tone::Brightness(values.real("B")?.0),
        "contrast" => Tone::Contrast(values.real("C")?.0),
        "levels" => Tone::Levels(levels(&values, element, checker)?),
        _ => {
            let (text, span) = values.text("f")?;
            expression = Some((text.to_owned(), span));
            Tone::Expression(checker.function(text, span, "v")?)
        }
    };
    Some(Word {
        tone,
        text: expression,
    })
}

/// The table of one word, which is exact where its formula is.
fn single(word: &Word, span: Span, checker: &mut Checker<'_>) -> Option<Arc<[u16]>> {
    let (depth, entries) = (checker.depth(), entries(checker));
    let key = |maker, numbers| TableKey::of_numbers(maker, numbers);
    match (&word.tone, &word.text) {
        (Tone::Expression(function), Some((text, span))) => {
            let key = TableKey::of_text("map", text, Vec::new());
            let made = checker.table(key, function.operations(), entries, *span, |allowed| {
                table::map_of(function, depth, allowed)
            });
            made.map_err(|at| {
                if let Some(v) = at {
                    let message = format!("the expression is not a number at v = {v}");
                    checker.note(not_a_number(message, *span));
                }
            })
            .ok()
        }
        (Tone::Curve(points), _) => checker
            .table(key("curve", points.bits().collect()), 1, entries, span, |_| {
                Ok((points.map(depth)?, 0))
            })
            .ok(),
        (Tone::Gamma(exponent), _) => checker
            .table(
                key("gamma", vec![exponent.to_bits()]),
                GAMMA_WORK,
                entries,
                span,
                |_| Ok((table::gamma(*exponent, depth)?, 0)),
            )
            .ok(),
        (Tone::Invert, _) => checker
            .table(key("invert", Vec::new()), 1, entries, span, |_| {
                Ok((table::invert(depth)?, 0))
            })
            .ok(),
        (Tone::Levels(levels), _) => checker
            .table(
                key("levels", levels.map(u64::from).to_vec()),
                1,
                entries,
                span,
                |_| Ok((table::levels(*levels, depth)?, 0)),
            )
            .ok(),
        _ => several(std::slice::from_ref(word), span, checker),
    }
}

/// The table of words one after the other.
fn several(words: &[Word], span: Span, checker: &mut Checker<'_>) -> Option<Arc<[u16]>> {
    let (depth, entries) = (checker.depth(), entries(checker));
    let (mut numbers, mut text, mut work) = (Vec::new(), String::new(), 0_u64);
    for word in words {
        let operations = match &word.tone {
            Tone::Curve(points) => {
                numbers.extend([0, points.0.len() as u64]);
                numbers.extend(points.bits());
                POINTS_WORK
            }
            Tone::Gamma(exponent) => {
                numbers.extend([1, exponent.to_bits()]);
                GAMMA_WORK
            }
            Tone::Invert => {
                numbers.push(2);
                TONE_WORK
            }
            Tone::Levels(levels) => {
                numbers.push(3);
                numbers.extend(levels.map(u64::from));
                TONE_WORK
            }
            Tone::Brightness(number) => {
                numbers.extend([4, number.to_bits()]);
                TONE_WORK
            }
            Tone::Contrast(number) => {
                numbers.extend([5, number.to_bits()]);
                TONE_WORK
            }
            Tone::Expression(function) => {
                numbers.push(6);
                // A text of a design holds no such character.
                text.push('\0');
                text.push_str(word.text.as_ref().map_or("", |(text, _)| text));
                function.operations()
            }
        };
        work = work.saturating_add(operations);
    }
    let tones: Vec<Tone> = words.iter().map(|word| word.tone.clone()).collect();
    let key = TableKey::of_text("tones", &text, numbers);
    let made = checker.table(key, work, entries, span, |allowed| {
        table::tones_of(&tones, depth, allowed)
    });
    made.map_err(|at| {
        if let Some(v) = at {
            let expression = words.iter().find_map(|word| word.text.as_ref());
            let span = expression.map_or(span, |(_, span)| *span);
            checker.note(not_a_number(
                format!("an expression of this map is not a number where the source is {v}"),
                span,
            ));
        }
    })
    .ok()
}

/// The numbers of `levels`, of which the first two ascend.
fn levels(values: &Values, element: &Element<'_>, checker: &mut Checker<'_>) -> Option<[u16; 4]> {
    let mut levels = [0; 4];
    for (level, name) in levels
        .iter_mut()
        .zip(["in-low", "in-high", "out-low", "out-high"])
    {
        *level = values.sample(name)?;
    }
    if levels[0] >= levels[1] {
        let message = format!("in-low, {}, is not less than in-high, {}", levels[0], levels[1]);
        let spans = [0, 1].map(|i| {
            element
                .arguments
                .get(i)
                .map_or(element.name.span, |value| value.span)
        });
        let problem = Problem::new("E704", message)
            .label(spans[0], "in-low")
            .label(spans[1], "in-high");
        checker.note(problem.help("to turn light into dark, exchange out-low and out-high"));
        return None;
    }
    Some(levels)
}
