//! Where production stands, in sentences and as a short table.

use crate::quantity::digits;
use crate::record::Record;
use crate::standing::{MARGIN, Standing, standings};

use super::Section;
use super::table::columns;

/// Production of one case against the best variant of its table.
pub(super) fn sentence(standing: &Standing) -> String {
    let rounds = standing.rounds.map_or(String::new(), |(low, high)| {
        format!(" ({} to {})", digits(low, 3), digits(high, 3))
    });
    let again = standing
        .before
        .as_ref()
        .map_or(String::new(), |(variant, ratio)| {
            let ratio = digits(*ratio, 3);
            format!(", timed again in turn{rounds}; {ratio} × {variant} before")
        });
    let (ratio, best) = (digits(standing.ratio, 3), &standing.best);
    format!("production = {ratio} × the best, {best}{again}")
}

/// Production of a sweep against the best variant, where it is farthest from it.
pub(super) fn worst(section: &Section<'_>) -> Option<String> {
    let standings = section.cases.iter().filter_map(|case| case.standing.as_ref());
    let worst = standings.min_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    Some(format!("{}; at its worst, {}", sentence(worst), worst.case))
}

/// A line for each case with production: against the best of its own table, and against other programs; then what is
/// to be said of those. Nothing where no case has production.
#[must_use]
pub fn summary(record: &Record) -> String {
    let standings = standings(record);
    let mut text = String::new();
    if !standings.is_empty() {
        let good = standings.iter().filter(|standing| standing.within).count();
        let unsure = standings.iter().filter(|standing| standing.is_unsure()).count();
        let untold = match unsure {
            0 => String::new(),
            _ => format!("; in {unsure} of the others rounds differ too much to tell"),
        };
        let (margin, all) = (digits(MARGIN * 100.0, 1), standings.len());
        text += &format!(
            "Production is within {margin} % of the best of its table in {good} of {all} cases{untold}\n"
        );
        let rivals = standings.iter().any(|standing| !standing.rivals.is_empty());
        let titles = ["ladder", "case", "× best", "", "best"].map(str::to_owned);
        let mut table = vec![titles.to_vec()];
        table[0].extend(rivals.then(|| "× rivals".to_owned()));
        table.extend(standings.iter().map(|standing| line(standing, rivals)));
        text.push_str(&columns(&table, &[0, 1, 4, 5]));
    }
    for note in &record.notes {
        text.push_str(&format!("rivals: {note}\n"));
    }
    text
}

fn line(standing: &Standing, rivals: bool) -> Vec<String> {
    let mut line = vec![
        standing.ladder.clone(),
        standing.case.clone(),
        digits(standing.ratio, 3),
        match standing.within {
            true => "within",
            false if standing.is_unsure() => "unsure",
            false => "BEHIND",
        }
        .to_owned(),
        standing.best.clone(),
    ];
    if rivals {
        let rivals = standing.rivals.iter();
        let all = rivals.map(|against| format!("{} {}", digits(against.ratio, 3), against.name));
        line.push(all.collect::<Vec<_>>().join(", "));
    }
    line
}
