//! The search for the layout that suits a kernel on a device: all of its space, checked and timed.

use std::collections::BTreeSet;

use relief_kernels::policy::{Policies, Tuning};

use crate::family::{AnyLadder, Class, tuning};
use crate::machine::Machine;
use crate::measure::{Plan, Trial, Watch, search};
use crate::quantity::{digits, seconds};

/// What a search found for one kernel.
#[derive(Clone, Debug)]
pub struct Search {
    /// What it is called in policy files.
    pub kernel: &'static str,
    /// The layout where no other is found.
    pub default: Tuning,
    /// For each ladder, variant and case that runs it, what each layout came to.
    pub cases: Vec<(String, Vec<Trial>)>,
}

/// Searches the space of every kernel of some ladders that has one and runs on this machine. A kernel of several ladders
/// is one search: it has one layout for all of them.
pub fn tune(
    machine: &Machine,
    ladders: &[&dyn AnyLadder],
    plan: &Plan,
    watch: &mut dyn Watch,
) -> Vec<Search> {
    let gpu = machine.class() != Class::Cpu;
    let mut searches: Vec<Search> = Vec::new();
    for ladder in ladders {
        for (number, about) in ladder.variants().into_iter().enumerate() {
            if about.gpu != gpu || (about.untuned_on_software && machine.class() == Class::Software) {
                continue;
            }
            for ((kernel, _, default), case, trials) in search(machine, *ladder, number, plan, watch) {
                let case = (format!("{} {}, {case}", ladder.name(), about.name), trials);
                match searches.iter_mut().find(|search| search.kernel == kernel) {
                    Some(search) => search.cases.push(case),
                    None => searches.push(Search {
                        kernel,
                        default,
                        cases: vec![case],
                    }),
                }
            }
        }
    }
    searches
}

impl Search {
    /// The layout whose worst case, beside the best layout of that case, is best: a kernel has one layout for all.
    #[must_use]
    pub fn winner(&self) -> Option<(Tuning, f64)> {
        let trials = self.cases.first()?.1.iter().map(|trial| trial.tuning);
        let worst = trials.filter_map(|tuning| Some((tuning, self.worst(tuning)?)));
        worst.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// By how much the default is slower than the best layout, in its worst case.
    #[must_use]
    pub fn default_loss(&self) -> Option<f64> {
        self.worst(self.default)
    }

    fn worst(&self, tuning: Tuning) -> Option<f64> {
        let losses = self.cases.iter().map(|(_, trials)| loss(trials, tuning));
        losses
            .collect::<Option<Vec<f64>>>()?
            .into_iter()
            .max_by(f64::total_cmp)
    }

    /// The times of each case as a map: a row for each width and number of items, a column for each cube; shaded from
    /// those within 3 % of the fastest, █, over 10, 30 and 100 % to slower ones.
    #[must_use]
    pub fn heat_map(&self) -> String {
        let mut text = String::new();
        for (case, trials) in &self.cases {
            let best = best(trials);
            text.push_str(&format!("{case}\n"));
            let layouts = trials.iter().map(|trial| trial.tuning);
            let columns: BTreeSet<u32> = layouts.clone().map(|layout| layout.units).collect();
            let rows: BTreeSet<(u32, u32)> = layouts.map(|layout| (layout.vector, layout.items)).collect();
            text.push_str("vector items");
            for units in &columns {
                text.push_str(&format!(" {:>13}", format!("{units} units")));
            }
            text.push('\n');
            for (vector, items) in rows {
                text.push_str(&format!("{vector:>6} {items:>5}"));
                for units in &columns {
                    let cell = cell(trials, tuning(*units, items, vector), best);
                    text.push_str(&format!(" {cell:>13}"));
                }
                text.push('\n');
            }
        }
        text
    }

    /// What was found, in a line.
    #[must_use]
    pub fn summary(&self) -> String {
        let per_cent = |loss: f64| digits((loss - 1.0) * 100.0, 2);
        let Some((winner, worst)) = self.winner() else {
            return format!("{}: no layout runs on this device", self.kernel);
        };
        let default = self.default_loss().map_or("does not run".to_owned(), |loss| {
            format!("loses {} %", per_cent(loss))
        });
        format!(
            "{}: {winner}, at most {} % behind the best of each case; the default, {}, {default}",
            self.kernel,
            per_cent(worst),
            self.default
        )
    }

    /// Notes the winner for a device; the CPU has no layouts.
    pub fn note(&self, machine: &Machine, policies: &mut Policies) {
        if let (Some(device), Some((tuning, _))) = (machine.policy_key(), self.winner()) {
            policies.set(&device, self.kernel, tuning);
        }
    }
}

fn best(trials: &[Trial]) -> Option<f64> {
    let medians = trials.iter().filter_map(|trial| Some(trial.summary?.median));
    medians.min_by(f64::total_cmp)
}

/// How much longer a layout takes than the best.
fn loss(trials: &[Trial], tuning: Tuning) -> Option<f64> {
    let trial = trials.iter().find(|trial| trial.tuning == tuning)?;
    Some(trial.summary?.median / best(trials)?)
}

/// How much longer than the best a layout of each shade takes at most.
const SHADES: [(f64, &str); 5] = [
    (0.03, "█"),
    (0.1, "▓"),
    (0.3, "▒"),
    (1.0, "░"),
    (f64::INFINITY, " "),
];

fn cell(trials: &[Trial], tuning: Tuning, best: Option<f64>) -> String {
    let Some(trial) = trials.iter().find(|trial| trial.tuning == tuning) else {
        return String::new();
    };
    match (trial.summary, best) {
        (Some(summary), Some(best)) => {
            let loss = summary.median / best - 1.0;
            let shade = SHADES.iter().find(|(most, _)| loss < *most);
            let shade = shade.map_or("", |(_, shade)| shade);
            format!("{} {shade}", seconds(summary.median))
        }
        _ => trial.verdict.word().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Verdict;
    use crate::statistics::Summary;

    fn trial(units: u32, seconds: Option<f64>) -> Trial {
        let tuning = Tuning {
            units,
            items: 1,
            vector: 4,
        };
        let summary = seconds.and_then(|seconds| Summary::of(&[seconds]));
        let verdict = match summary {
            Some(_) => Verdict::Right,
            None => Verdict::Unsupported("too many units".to_owned()),
        };
        Trial {
            tuning,
            verdict,
            summary,
        }
    }

    fn search() -> Search {
        Search {
            kernel: "copy",
            default: trial(64, None).tuning,
            cases: vec![
                (
                    "small".to_owned(),
                    vec![trial(64, Some(1e-3)), trial(128, Some(1.1e-3)), trial(1024, None)],
                ),
                (
                    "large".to_owned(),
                    vec![
                        trial(64, Some(3.0)),
                        trial(128, Some(2.0)),
                        trial(1024, Some(1.9)),
                    ],
                ),
            ],
        }
    }

    #[test]
    fn the_winner_is_good_in_every_case() {
        let (winner, worst) = search().winner().unwrap();
        assert_eq!(winner.units, 128);
        assert!((worst - 1.1).abs() < 1e-12);
        assert!((search().default_loss().unwrap() - 3.0 / 1.9).abs() < 1e-12);
    }

    #[test]
    fn the_map_shows_times_shades_and_what_cannot_run() {
        let map = search().heat_map();
        let rows: Vec<&str> = map.lines().collect();
        assert_eq!(rows.len(), 6);
        assert!(
            rows[2].contains("1.000 ms █") && rows[2].ends_with("unsupported"),
            "{map}"
        );
        assert!(
            rows[5].contains("3.000 s ░") && rows[5].contains("2.000 s ▓") && rows[5].contains("1.900 s █"),
            "{map}"
        );
    }
}
