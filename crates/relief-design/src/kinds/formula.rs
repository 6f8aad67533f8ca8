//! `formula`: a sample from the place of its pixel and from the samples of its children.

use std::collections::HashMap;
use std::sync::Arc;

use relief_raster::Depth;

use super::{NaturalChild, NaturalSize, NodeKind, NodeSource, words};
use crate::draft::Checker;
use crate::expression::{Builder, Parameter, is_name, is_taken};
pub use crate::expression::{Input, LANES, MAX_STEPS, Program, Separated};
use crate::length::{Decimal, Ratio, Written, in_metres, is_decimal, written};
use crate::report::Problem;
use crate::seam::{Gap, Seam};
use crate::signature::{Count, DefaultValue, Signature, ValueType, optional, parameter, required, role};
use crate::syntax::{Literal, Span, shortened};
use crate::table;
use crate::tree::{Axis, Role};
use crate::validate::Rules;

/// The variables of a formula, for sentences.
pub(crate) const NAMES: &str =
    "x, y, r, theta, w, h, M, px, X, Y, the names of each `let` before it, of children and of parameters";

/// What the result of an expression is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// The sample.
    #[default]
    Sample,
    /// The height in metres that the sample stands for.
    Height,
}

words!(Quantity {
    Sample = "sample",
    Height = "height",
});

/// The value of a program at every pixel, [`rounded`].
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// What is computed. [`Input::Child`] is the number of a child of the node, in the order written.
    pub program: Arc<Program>,
}

/// The sample of a value: rounded half away from zero and clamped to 0…M; 0 where it is not a number.
///
/// ```
/// use relief_design::kinds::rounded;
/// use relief_raster::Depth;
///
/// assert_eq!([2.5, -1.0, 1e9, f64::NAN].map(|value| rounded(value, Depth::Eight)), [3, 0, 255, 0]);
/// ```
#[must_use]
#[inline]
pub fn rounded(value: f64, depth: Depth) -> u16 {
    table::sample(value, depth)
}

impl NodeKind for Formula {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "formula",
        meaning: "The value of an expression at every pixel, rounded half away from zero and clamped to 0…M; 0 where it is \
                  not a number.",
        details: DETAILS,
        arguments: &[required("f", ValueType::Expression(NAMES), "the expression")],
        properties: &[optional(
            "of",
            ValueType::Word(Quantity::WORDS),
            DefaultValue::Word(Quantity::Sample.word()),
            "what the value is: the sample, or a height in metres. A height is rounded to the sample M·height / amplitude, which \
             needs the `amplitude` of the canvas",
        )],
        children: &[role(Role::Source, Count::Any), parameter("let", Count::Any)],
        named: true,
        example: "formula \"M * shade / 255 * max(0, 1 - u * u)\" {\n    let \"u\" \"2 * r / min(w, h)\"\n    \
                  (source)image \"photo.png\" name=\"shade\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let mut names = Names::default();
        let mut sound = true;
        for child in source.children {
            sound &= match &child.name {
                Some((name, span)) => names.take(name, *span, checker),
                None => false,
            };
        }
        let mut lets = Vec::with_capacity(source.parameters.len());
        for element in source.parameters {
            let values = checker.parameter_values(element);
            let text = |value: &str| {
                let (text, span) = values.as_ref()?.text(value)?;
                Some((text.to_owned(), span))
            };
            let (Some(name), Some(f)) = (text("name"), text("f")) else {
                sound = false;
                continue;
            };
            sound &= names.take(&name.0, name.1, checker);
            lets.push((name, f));
        }
        let (text, span) = source.values.text("f")?;
        let height = source.values.word("of").and_then(Quantity::of_word) == Some(Quantity::Height);
        let amplitude = checker.amplitude().filter(|_| height);
        if height && amplitude.is_none() {
            let message =
                "a formula of a height needs the height that M stands for, which the canvas does not say";
            let at = source.values.span("of").unwrap_or(source.span);
            let problem = checker.no_amplitude(
                message.to_owned(),
                at,
                "a height",
                "add amplitude=\"80um\" (or what it is) to the canvas, or leave `of` out and write a formula of the sample, \
                 0 to M",
            );
            checker.note(problem);
            sound = false;
        }
        // Without all names, those that are missing would be unknown to the expressions.
        if !sound {
            return None;
        }
        let children = source.children.iter().enumerate();
        let children = children.filter_map(|(number, child)| Some((number, &*child.name.as_ref()?.0)));
        let mut builder = Builder::new(checker.depth().max(), checker.pixel(), children).ok()?;
        for (name, literal) in source.bound {
            // What the formula names itself is not looked for among parameters.
            if !names.taken.contains_key(name) {
                builder.parameter(name, parameter_of(literal));
            }
        }
        for ((name, _), (text, span)) in &lets {
            if let Err(bad) = builder.bind(name, text) {
                checker.bad_expression(bad, text, *span);
                builder.bind_broken(name);
                sound = false;
            }
        }
        let program = match amplitude {
            Some(amplitude) => builder.finish_height(text, amplitude),
            None => builder.finish(text),
        };
        match program {
            Ok(program) => sound.then(|| Self {
                program: Arc::new(program),
            }),
            Err(bad) => {
                checker.bad_expression(bad, text, span);
                None
            }
        }
    }

    /// None: a formula has values wherever it is asked.
    fn natural_size(_: &Self, _: &[NaturalChild]) -> NaturalSize {
        NaturalSize::NONE
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        let along = match seam.axis {
            Axis::X => Input::X,
            Axis::Y => Input::Y,
        };
        if self.program.inputs().contains(&along) {
            seam.gap(Gap::Unproven(format!(
                "this `formula` reads the place along {}",
                seam.axis.word()
            )));
        } else {
            seam.same_place();
        }
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        let children = rules.children();
        let beyond = |input: &&Input| matches!(input, Input::Child(child) if *child >= children);
        match self.program.inputs().iter().find(beyond) {
            Some(Input::Child(child)) => Err(format!("its formula reads the child {child} of {children}")),
            _ => Ok(()),
        }
    }
}

/// What a parameter is in a formula: a number, or a length in metres.
fn parameter_of<'n>(literal: &'n Literal<'_>) -> Parameter<'n> {
    let number = |text: &str| {
        // The nearest binary64 of any number of digits; hexadecimal and the like are whole numbers.
        let plain: String = text.chars().filter(|&c| c != '_').collect();
        let whole = || Decimal::parse(text).map(|number| Ratio::of(number).nearest_real());
        plain.parse().ok().or_else(whole)
    };
    let (text, value) = match literal {
        Literal::Number(text) => (&**text, number(text)),
        Literal::Cell(text) if is_decimal(text) => (&**text, number(text)),
        Literal::Text(text) => (&**text, length(text)),
        Literal::Cell(text) => (&**text, length(text)),
        Literal::Keyword(_) | Literal::Broken => return Parameter::Broken,
    };
    value.map_or(Parameter::Text(text), Parameter::Number)
}

/// The metres of a length with a unit.
fn length(text: &str) -> Option<f64> {
    match written(text) {
        Written::Metric(number, _, factor) => in_metres(number, factor),
        _ => None,
    }
}

/// The names that the children and `let` of a formula have, with where each is given.
#[derive(Default)]
struct Names {
    taken: HashMap<String, Span>,
}

impl Names {
    /// Takes a name; whether it is a good one. What is wrong with it is noted.
    fn take(&mut self, name: &str, span: Span, checker: &mut Checker<'_>) -> bool {
        let short = shortened(name);
        let problem = if !is_name(name) {
            let message = format!("`{short}` cannot stand in an expression");
            Problem::new("E705", message)
                .label(span, "not a name")
                .help("a name has letters, digits and _, and does not begin with a digit")
        } else if is_taken(name) {
            let message = format!("`{short}` means something else in every formula");
            Problem::new("E705", message)
                .label(span, "not free")
                .help(format!("write another name, such as {name}_1"))
        } else if let Some(first) = self.taken.get(name) {
            let message = format!("the name `{short}` is given twice in this formula");
            Problem::new("E705", message)
                .label(span, "given again")
                .label(*first, "given first")
                .help("write another name for one of them")
        } else {
            self.taken.insert(name.to_owned(), span);
            return true;
        };
        checker.note(problem);
        false
    }
}

const DETAILS: &str = "\
| name | value |
|---|---|
| `x`, `y` | the place of the pixel: its column + ½ and its row + ½, in the node's own coordinates |
| `w`, `h` | columns and rows of the node |
| `r` | √((x − w/2)² + (y − h/2)²), the distance from the middle in pixels; the squares are products |
| `theta` | the angle around the middle, `atan2(y - h / 2, x - w / 2)`: 0 to the right, π/2 downwards |
| `M` | the greatest sample |
| `px` | the side of a pixel in metres, where the canvas says it |
| `X`, `Y` | `x * px` and `y * px`: the place in metres |

A parameter of the design is a name as well: a number as it is, a length such as `\"50mm\"` in metres, here 0.05, whatever
the side of a pixel. Within an `array` these are `i`, `j`, `n` and the columns of its rows too. A name that the formula gives
itself, or that stands in the table, is not looked for among parameters. A number may also have a unit, which makes it metres:
`50mm` is 0.05 and `633nm` 633e-9, rounded once. `${focus}` puts the text of a parameter into the expression, and `focus` its
value: the two differ where the text is a fraction such as `1/3in`.

```kdl
parameter \"focus\" \"50mm\"
parameter \"wave\" \"633nm\"
canvas width=\"4mm\" height=\"4mm\" pixel=\"2um\" bits=16 amplitude=\"1.38um\"
formula \"(1 - mod(phase, 1)) * 1.376um\" of=\"height\" {
    let \"phase\" \"(r * px) * (r * px) / (2 * wave * focus)\"
}
```

With `of=\"height\"` the value is a height in metres, and the sample is M·height / amplitude: the product and the quotient are rounded
once each, then the sample as any other. A height above the amplitude is M, one below 0 is 0.

A `let` gives a name to a value for all expressions that follow it. The name of a child stands for its sample at the pixel, 0
to M, and 0 outside its extent. Names are given once, and none is that of a constant or a function. Values may be infinite
on the way: 1/0 is +∞, and clamped to M at the end. A formula has at most 512 numbers, names and operations, with all its
`let`.

An array of lenses is a `repeat` of a formula, and a Fresnel lens a formula with `mod`:

```kdl
repeat step-x=80 step-y=80 {
    (pattern)formula \"M * sqrt(max(0, 1 - u * u))\" width=80 height=80 {
        let \"u\" \"r / 40\"
    }
}
```

```kdl
formula \"M * (1 - mod(phase, 1))\" {
    let \"phase\" \"(X - 2e-3) * (X - 2e-3) / (2 * 633e-9 * 50e-3)\"
}
```";
