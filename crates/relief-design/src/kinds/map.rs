//! `map`: a tone curve.

use std::sync::Arc;

use super::{NodeKind, NodeSource};
use crate::draft::{Checker, TableKey, Values, not_a_number};
use crate::report::Problem;
use crate::signature::{Count, Signature, parameter, role};
use crate::syntax::Element;
use crate::table;
use crate::tree::Role;
use crate::validate::Rules;

/// The operations that a value of a tone curve by a power counts for.
const GAMMA_WORK: u64 = 112;

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
        meaning: "The source through a table of M + 1 samples.",
        children: &[
            role(Role::Source, Count::One),
            parameter("gamma", Count::OneOf),
            parameter("invert", Count::OneOf),
            parameter("levels", Count::OneOf),
            parameter("curve", Count::OneOf),
            parameter("expression", Count::OneOf),
        ],
        example: "map {\n    (source)image \"photo.png\"\n    gamma 2.2\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let mut words = Self::SIGNATURE.one_of();
        let element = words.find_map(|name| source.parameter(name))?;
        let values = checker.parameter_values(element)?;
        let table = match &*element.name.text {
            "curve" => curve(element, checker),
            "gamma" => gamma(&values, element, checker),
            "invert" => invert(element, checker),
            "levels" => levels(&values, element, checker),
            _ => expression(&values, checker),
        };
        Some(Self { table: table? })
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        rules.table(&self.table, usize::from(rules.max()) + 1)
    }
}

fn entries(checker: &Checker<'_>) -> usize {
    usize::from(checker.depth().max()) + 1
}

fn curve(element: &Element<'_>, checker: &mut Checker<'_>) -> Option<Arc<[u16]>> {
    let points = checker.points(element)?;
    let key = TableKey::of_numbers("curve", points.bits().collect());
    let (depth, entries) = (checker.depth(), entries(checker));
    checker
        .table(key, 1, entries, element.name.span, |_| {
            Ok((points.map(depth)?, 0))
        })
        .ok()
}

fn gamma(values: &Values, element: &Element<'_>, checker: &mut Checker<'_>) -> Option<Arc<[u16]>> {
    let (exponent, _) = values.real("G")?;
    let key = TableKey::of_numbers("gamma", vec![exponent.to_bits()]);
    let (depth, entries) = (checker.depth(), entries(checker));
    checker
        .table(key, GAMMA_WORK, entries, element.name.span, |_| {
            Ok((table::gamma(exponent, depth)?, 0))
        })
        .ok()
}

fn invert(element: &Element<'_>, checker: &mut Checker<'_>) -> Option<Arc<[u16]>> {
    let key = TableKey::of_numbers("invert", Vec::new());
    let (depth, entries) = (checker.depth(), entries(checker));
    checker
        .table(key, 1, entries, element.name.span, |_| {
            Ok((table::invert(depth)?, 0))
        })
        .ok()
}

fn levels(values: &Values, element: &Element<'_>, checker: &mut Checker<'_>) -> Option<Arc<[u16]>> {
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
    let key = TableKey::of_numbers("levels", levels.map(u64::from).to_vec());
    let (depth, entries) = (checker.depth(), entries(checker));
    checker
        .table(key, 1, entries, element.name.span, |_| {
            Ok((table::levels(levels, depth)?, 0))
        })
        .ok()
}

fn expression(values: &Values, checker: &mut Checker<'_>) -> Option<Arc<[u16]>> {
    let (text, span) = values.text("f")?;
    let function = checker.function(text, span, "v")?;
    let key = TableKey::of_text("map", text, Vec::new());
    let (depth, entries) = (checker.depth(), entries(checker));
    let made = checker.table(key, function.operations(), entries, span, |allowed| {
        table::map_of(&function, depth, allowed)
    });
    made.map_err(|at| {
        if let Some(v) = at {
            checker.note(not_a_number(
                format!("the expression is not a number at v = {v}"),
                span,
            ));
        }
    })
    .ok()
}
