//! Where production stands: against the best variant of its own table, and against other programs.

use serde::{Deserialize, Serialize};

use crate::record::{Record, Row};

/// Production is as good as the best where it takes at most this part more.
pub const MARGIN: f64 = 0.05;

/// Production on one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Of which ladder.
    pub ladder: String,
    /// Of which problem.
    pub case: String,
    /// The variant that production uses.
    pub production: String,
    /// The fastest variant: that with the least median, but of those that were timed again in turn with production ([`Row::again`]) what this came to.
    pub best: String,
    /// How fast production is: the time of the best over its own, at most 1.
    pub ratio: f64,
    /// The variant with the least median and how fast production was by medians, where it was timed again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<(String, f64)>,
    /// Whether it takes at most [`MARGIN`] more than the best.
    pub within: bool,
    /// Where it was timed again in turn with the best, the 10th and the 90th of a hundred rounds' [`ratio`](Self::ratio).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<(f64, f64)>,
    /// Other programs on the same case.
    pub rivals: Vec<Against>,
}

impl Standing {
    /// Whether it is behind by the median of its rounds but their spread reaches what would be within: they differ too much to tell.
    #[must_use]
    pub fn is_unsure(&self) -> bool {
        let reaches = |(_, high): (f64, f64)| is_within(high);
        !self.within && self.rounds.is_some_and(reaches)
    }
}

fn is_within(ratio: f64) -> bool {
    // A quotient may have lost its last bits.
    ratio * (1.0 + MARGIN) >= 1.0 - 1e-9
}

/// Production against another program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// Which.
    pub program: String,
    /// What was called.
    pub name: String,
    /// How many times as fast production is: the rival's median over its own.
    pub ratio: f64,
}

/// All cases with a production variant that was timed, in the order of the rows.
#[must_use]
pub fn standings(record: &Record) -> Vec<Standing> {
    let mut all: Vec<Standing> = Vec::new();
    for row in &record.rows {
        let is = |standing: &Standing| standing.ladder == row.ladder && standing.case == row.case;
        if !all.iter().any(is) {
            all.extend(standing(record, &row.ladder, &row.case));
        }
    }
    all
}

/// Of one case; nothing where production was not timed.
#[must_use]
pub fn standing(record: &Record, ladder: &str, case: &str) -> Option<Standing> {
    let rows = || {
        let rows = record.rows.iter();
        let of_case = rows.filter(|row| row.ladder == ladder && row.case == case);
        of_case.filter_map(|row| Some((row, row.summary?.median)))
    };
    let least = |(a, x): (_, f64), (b, y): (_, f64)| if y < x { (b, y) } else { (a, x) };
    let (production, own): (&Row, f64) = rows().filter(|(row, _)| row.production).reduce(least)?;
    // A table has many rows and each its noise: who comes first in it is fast, lucky, or both. What seemed to be ahead was timed again, and that counts.
    let again = |row: &Row| {
        let found = production.again.iter().find(|again| again.variant == row.variant);
        found.map(|again| again.ratio)
    };
    let others = rows().filter(|(row, _)| row.variant != production.variant);
    let ratios = others.map(|(row, median)| (row, again(row).map_or(median / own, |ratio| ratio.median)));
    let (best, ratio) = ratios.chain([(production, 1.0)]).reduce(least)?;
    let (first, shortest) = rows().reduce(least)?;
    let before = (!production.again.is_empty()).then(|| (first.variant.clone(), shortest / own));
    let rivals = record.rivals.iter();
    let of_case = rivals.filter(|rival| rival.ladder == ladder && rival.case == case);
    let rivals = of_case.filter_map(|rival| {
        Some(Against {
            program: rival.program.clone(),
            name: rival.name.clone(),
            ratio: rival.summary?.median / own,
        })
    });
    Some(Standing {
        ladder: ladder.to_owned(),
        case: case.to_owned(),
        production: production.variant.clone(),
        best: best.variant.clone(),
        ratio,
        before,
        within: is_within(ratio),
        rounds: again(best).map(|ratio| (ratio.p10, ratio.p90)),
        rivals: rivals.collect(),
    })
}
