//! One ladder on one machine: every variant is checked on small problems, then on the case itself, and only those that
//! are right are timed, in turn.

use std::time::{Duration, Instant};

use crate::array::Fill;
use crate::ceiling::{Beside, bound};
#[cfg(feature = "gpu")]
use crate::clock::LONGEST_BATCH;
use crate::family::{About, AnyLadder, Case, Class, Failure, Layouts, Outcome, Problem, Scale};
use crate::host;
use crate::machine::{Expected, Machine, Scratch, Staged};
use crate::quantity::bytes;
use crate::record::{Again, Ceilings, Row, Verdict};
use crate::sampling::{Sampling, Times, in_turn, ratios, sample};
use crate::standing::MARGIN;
use crate::statistics::Summary;
use relief_kernels::policy::Tuning;

/// What to measure, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How large the problems are.
    pub scale: Scale,
    /// How long to measure; nothing only checks.
    pub sampling: Option<Sampling>,
    /// The variants asked for, as [`About::is`] knows them; nothing means all. With a single one the first of its ladder comes along, to compare with.
    pub variants: Vec<String>,
    /// Whether to check problems of more than 2^32 bytes first.
    pub huge: bool,
    /// Bytes that inputs and outputs may take in turn, so that caches do not answer.
    pub working_set: u64,
    /// Those of them that they take however little time there is.
    pub least_set: u64,
    /// When it should be over: the fewer samples are taken the less time is left.
    pub end: Option<Instant>,
}

impl Plan {
    /// The same with an equal part of the time that is left, for the first of `parts` that have to share it.
    #[must_use]
    pub fn share(&self, parts: usize) -> Self {
        let now = Instant::now();
        let part = |end: Instant| now + end.saturating_duration_since(now) / parts.max(1) as u32;
        Self {
            end: self.end.map(part),
            ..self.clone()
        }
    }

    /// How long to measure each of `count` competitors: as the time that is left allows, but at least a few batches, on
    /// devices longer ones, beside which waiting for them is short.
    fn sampling(&self, count: usize) -> Option<Sampling> {
        let sampling = self.sampling?;
        let (batch, least) = match self.scale.class {
            Class::Cpu => (sampling.batch, 4),
            Class::Software | Class::Gpu => (sampling.batch.max(Duration::from_millis(4)), 40),
        };
        let mut sampling = Sampling { batch, ..sampling };
        if self.scale.class != Class::Gpu {
            // Processors are awake: they have just computed what is right.
            sampling.wake = Duration::ZERO;
        }
        #[cfg(feature = "gpu")]
        if self.scale.class == Class::Gpu {
            sampling.longest = LONGEST_BATCH;
        }
        let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
        let each = left.map(|left| Duration::from_millis(least).max(left / count.max(1) as u32));
        Some(each.map_or(sampling, |each| sampling.within(each)))
    }
}

/// Who wants to know how far a run is.
pub trait Watch {
    /// So many steps lie ahead.
    fn begin(&mut self, steps: usize);
    /// The next step begins.
    fn step(&mut self, what: &str);
}

/// Nobody does.
impl Watch for () {
    fn begin(&mut self, _: usize) {}
    fn step(&mut self, _: &str) {}
}

/// A variant that takes part: its number in the ladder, what is told of it, its layout where it is not the one of each problem, and
/// what has become of it.
struct Competitor<'a> {
    number: usize,
    about: &'a About,
    tuning: Option<Tuning>,
    verdict: Verdict,
}

impl Competitor<'_> {
    /// Its layout for a problem.
    fn tuning(&self, machine: &Machine, case: &dyn Case) -> Tuning {
        self.tuning
            .unwrap_or_else(|| machine.tuning(case.layouts(self.number, machine.report())))
    }

    fn is_right(&self) -> bool {
        self.verdict == Verdict::Right
    }

    fn judge(&mut self, outcome: Outcome<Option<crate::check::Difference>>, case: &str) {
        self.verdict = match outcome {
            Ok(None) => return,
            Ok(Some(difference)) => Verdict::Wrong(format!("{case}: {difference}")),
            Err(failure) => of_failure(failure),
        };
    }
}

fn of_failure(failure: Failure) -> Verdict {
    match failure {
        Failure::Unsupported(reason) => Verdict::Unsupported(reason),
        Failure::Failed(reason) => Verdict::Failed(reason),
    }
}

/// How many steps [`measure`] takes.
#[must_use]
pub fn steps(ladder: &dyn AnyLadder, plan: &Plan) -> usize {
    1 + ladder.cases(plan.scale).len()
}

/// Checks and times the variants of a ladder.
pub fn measure(
    machine: &Machine,
    ladder: &dyn AnyLadder,
    plan: &Plan,
    ceilings: &Ceilings,
    watch: &mut dyn Watch,
) -> Vec<Row> {
    let mut competitors = competitors(machine, ladder, plan);
    if competitors.is_empty() {
        return Vec::new();
    }
    watch.step(&format!("{}: checks", ladder.name()));
    let fills = [Fill::Random, Fill::Structured];
    check_all(machine, &ladder.checks(), &fills, &mut competitors);
    let mut rows = Vec::new();
    if plan.huge && machine.class() != Class::Cpu {
        rows = check_huge(machine, ladder, plan, &mut competitors);
    }
    let cases = ladder.cases(plan.scale);
    for (done, case) in cases.iter().enumerate() {
        watch.step(&format!("{}: {}", ladder.name(), case.problem().label()));
        let plan = plan.share(cases.len() - done);
        let found = measure_case(machine, ladder, &**case, &plan, ceilings, &competitors);
        rows.extend(found);
    }
    rows
}

/// What one layout came to.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The layout.
    pub tuning: Tuning,
    /// Whether it is right.
    pub verdict: Verdict,
    /// How long it takes.
    pub summary: Option<Summary>,
}

/// Times every layout of a variant's space on each case, which is told with its kernel; a layout that is wrong or cannot run has no
/// time.
pub(crate) fn search(
    machine: &Machine,
    ladder: &dyn AnyLadder,
    variant: usize,
    plan: &Plan,
    watch: &mut dyn Watch,
) -> Vec<(Layouts, String, Vec<Trial>)> {
    let variants = ladder.variants();
    let about = variants[variant];
    let Some((_, space, default)) = about.tuning else {
        return Vec::new();
    };
    let of = |tuning| Competitor {
        number: variant,
        about,
        tuning: Some(tuning),
        verdict: Verdict::Right,
    };
    let mut competitors: Vec<Competitor<'_>> = space.all().map(of).collect();
    watch.step(&format!("{}: checks", ladder.name()));
    check_all(machine, &ladder.checks(), &[Fill::Random], &mut competitors);
    let mut found = Vec::new();
    for case in ladder.cases(plan.scale) {
        let label = case.problem().label();
        watch.step(&format!("{}: {label}", ladder.name()));
        let rows = measure_case(machine, ladder, &*case, plan, &Ceilings::default(), &competitors);
        let results = competitors.iter().zip(rows);
        let results = results.map(|(competitor, row)| Trial {
            tuning: competitor.tuning.unwrap_or(default),
            verdict: row.verdict,
            summary: row.summary,
        });
        let layouts = case.layouts(variant, machine.report()).or(about.tuning);
        found.extend(layouts.map(|layouts| (layouts, label, results.collect())));
    }
    found
}

fn competitors<'a>(machine: &Machine, ladder: &'a dyn AnyLadder, plan: &Plan) -> Vec<Competitor<'a>> {
    let gpu = machine.class() != Class::Cpu;
    let here = |(_, about): &(usize, &About)| about.gpu == gpu;
    let variants = ladder.variants().into_iter().enumerate().filter(here);
    let asked = |(place, (number, about)): (usize, (usize, &'a About))| {
        let asked = match plan.variants.as_slice() {
            [] => true,
            [name] => place == 0 || about.is(name),
            names => names.iter().any(|name| about.is(name)),
        };
        asked.then_some(Competitor {
            number,
            about,
            tuning: None,
            verdict: Verdict::Right,
        })
    };
    variants.enumerate().filter_map(asked).collect()
}

fn check_all(
    machine: &Machine,
    cases: &[Box<dyn Case + '_>],
    fills: &[Fill],
    competitors: &mut [Competitor<'_>],
) {
    for case in cases {
        for fill in fills {
            let problem = case.problem();
            let expected = Expected::of(problem, *fill);
            let label = format!("{}, {fill:?}", problem.label()).to_lowercase();
            check_case(machine, &**case, &expected, &label, competitors);
        }
    }
}

/// Checks problems of more than 2^32 bytes, and tells of each in a row without times. A competitor that is wrong there is not timed; one that does not run so much, or
/// for which there is not enough memory, is timed all the same.
fn check_huge(
    machine: &Machine,
    ladder: &dyn AnyLadder,
    plan: &Plan,
    competitors: &mut [Competitor<'_>],
) -> Vec<Row> {
    let checks = Plan {
        sampling: None,
        ..plan.clone()
    };
    let mut rows = Vec::new();
    for case in ladder.huge() {
        let found = measure_case(
            machine,
            ladder,
            &*case,
            &checks,
            &Ceilings::default(),
            competitors,
        );
        for (competitor, row) in competitors.iter_mut().zip(&found) {
            if matches!(row.verdict, Verdict::Wrong(_) | Verdict::Failed(_)) {
                competitor.verdict = row.verdict.clone();
            }
        }
        rows.extend(found);
    }
    rows
}

/// Checks on one case all competitors that are right so far; returns the memory it took.
fn check_case(
    machine: &Machine,
    case: &dyn Case,
    expected: &Expected,
    label: &str,
    competitors: &mut [Competitor<'_>],
) -> Option<Staged> {
    let mut staged = match machine.stage(&expected.inputs, &case.problem().outputs()) {
        Ok(staged) => staged,
        Err(failure) => {
            nobody_runs(competitors, &of_failure(failure));
            return None;
        }
    };
    for competitor in competitors.iter_mut().filter(|competitor| competitor.is_right()) {
        let (number, tuning) = (competitor.number, competitor.tuning(machine, case));
        let check = || machine.check(case, number, tuning, &mut staged, expected);
        let outcome = machine.within(check);
        competitor.judge(outcome, label);
    }
    Some(staged)
}

/// None of those that are right so far runs a case, for a reason that is not theirs.
fn nobody_runs(competitors: &mut [Competitor<'_>], verdict: &Verdict) {
    let right = competitors.iter_mut().filter(|competitor| competitor.is_right());
    right.for_each(|competitor| competitor.verdict = verdict.clone());
}

/// What a problem lacks: a device's buffers are no larger than it says; it lies in memory twice, and who takes more than there is is killed by some systems.
fn lacking(machine: &Machine, problem: &dyn Problem) -> Option<String> {
    let longest = problem.outputs().iter().map(|output| output.bytes() as u64).max();
    let most = machine.report().map(|report| report.largest_buffer);
    if let (Some(longest), Some(most)) = (longest, most)
        && longest > most
    {
        return Some(format!(
            "a buffer of {}, of at most {}",
            bytes(longest),
            bytes(most)
        ));
    }
    let (needed, available) = (problem.memory().saturating_mul(2), host::available_memory()?);
    let (least, there) = (bytes(needed), bytes(available));
    (needed > available).then(|| format!("{least} of memory, of which {there} are available"))
}

fn measure_case(
    machine: &Machine,
    ladder: &dyn AnyLadder,
    case: &dyn Case,
    plan: &Plan,
    ceilings: &Ceilings,
    competitors: &[Competitor<'_>],
) -> Vec<Row> {
    let problem = case.problem();
    // What fails on this case may still run on others.
    let here = competitors.iter().map(|competitor| Competitor {
        verdict: competitor.verdict.clone(),
        tuning: Some(competitor.tuning(machine, case)),
        ..*competitor
    });
    let mut here: Vec<Competitor<'_>> = here.collect();
    let checked = match lacking(machine, problem) {
        Some(lacking) => {
            nobody_runs(&mut here, &Verdict::Unsupported(lacking));
            None
        }
        None => {
            let expected = Expected::of(problem, Fill::Random);
            let staged = check_case(machine, case, &expected, &problem.label(), &mut here);
            staged.map(|staged| (staged, expected))
        }
    };
    let any_right = here.iter().any(Competitor::is_right);
    // A run that has to be over soon takes the bandwidths of its beginning.
    let mut beside = match plan.sampling {
        Some(_) if any_right && plan.end.is_none() => Beside::of(machine, &problem.work(), plan.working_set),
        _ => None,
    };
    let mut timed = match checked {
        Some((staged, expected)) if plan.sampling.is_some() => {
            time_case(machine, case, plan, staged, &expected, &mut here, beside.as_mut())
        }
        _ => Timed {
            times: vec![Times::default(); here.len()],
            ..Timed::default()
        },
    };
    let of_beside = timed.times.split_off(here.len());
    let ceilings = match beside {
        Some(beside) => beside.into(ceilings, &of_beside),
        None => ceilings.clone(),
    };
    let rows = here.iter().zip(timed.times).enumerate();
    rows.map(|(place, (competitor, times))| Row {
        again: match &timed.again {
            Some((production, again)) if *production == place => again.clone(),
            _ => Vec::new(),
        },
        ..row(ladder, case, &ceilings, competitor, times, timed.working_set)
    })
    .collect()
}

/// Times of all competitors, and of bandwidths beside them; which competitor is production and who was timed again with it; and the bytes of the sets
/// that were used in turn.
#[derive(Default)]
struct Timed {
    times: Vec<Times>,
    again: Option<(usize, Vec<Again>)>,
    working_set: u64,
}

/// Production, and who is ahead of it by more than the margin, of competitors with medians.
fn ahead(competitors: &[Competitor<'_>], medians: &[Option<f64>]) -> Option<(usize, Vec<usize>)> {
    let medians = medians.iter().enumerate();
    let all = || medians.clone().filter_map(|(k, median)| Some((k, (*median)?)));
    let least = |a: (usize, f64), b: (usize, f64)| if b.1 < a.1 { b } else { a };
    let production = all().filter(|(k, _)| competitors[*k].about.production);
    let (production, own) = production.reduce(least)?;
    let ahead = all().filter(|(_, median)| own > median * (1.0 + MARGIN));
    Some((production, ahead.map(|(k, _)| k).collect()))
}

/// Seconds of a call that a run which has to be over soon does not make once more only to check it.
const LONG: f64 = 5e-3;

/// The most inputs and outputs that are used in turn.
pub(crate) const MOST_SETS: usize = 256;

/// Times those that are right, and bandwidths beside them, whose times come last.
fn time_case(
    machine: &Machine,
    case: &dyn Case,
    plan: &Plan,
    first: Staged,
    expected: &Expected,
    competitors: &mut [Competitor<'_>],
    mut beside: Option<&mut Beside>,
) -> Timed {
    let mut sets = vec![first];
    let outputs = case.problem().outputs();
    let inputs = expected.inputs.iter().map(|input| input.layout().bytes());
    let bytes = (inputs.sum::<usize>() + outputs.iter().map(|output| output.bytes()).sum::<usize>()) as u64;
    let fits = |sets: usize| sets < MOST_SETS && (sets as u64 + 1) * bytes <= plan.working_set;
    // A third of the time that is left is for more than what caches ask for.
    let enough = plan.share(3).end;
    let too_few = |sets: usize| sets as u64 * bytes < plan.least_set;
    while fits(sets.len()) && (too_few(sets.len()) || enough.is_none_or(|end| Instant::now() < end)) {
        match sets[0].again() {
            Ok(another) => sets.push(another),
            Err(_) => break,
        }
    }
    let mut scratches: Vec<Option<Scratch>> = Vec::new();
    for competitor in competitors.iter_mut() {
        let (variant, tuning) = (competitor.number, competitor.tuning(machine, case));
        let mut prepare = || {
            let mut scratch = machine.scratch(&case.scratch(variant))?;
            if competitor.about.keeps {
                for set in &mut sets {
                    set.call(case, variant, tuning, &mut scratch)?;
                }
                machine.wait()?;
            }
            Ok(scratch)
        };
        let wanted = competitor.is_right().then(|| machine.within(&mut prepare));
        let found = wanted.transpose();
        scratches.push(found.unwrap_or_else(|failure| {
            competitor.verdict = of_failure(failure);
            None
        }));
    }
    let all = 0..competitors.len();
    let ready: Vec<usize> = all.filter(|k| scratches[*k].is_some()).collect();
    let (mut turn, shared) = (0, &*competitors);
    let ways = beside.as_ref().map_or(0, |beside| beside.ways());
    let mut run = |place: usize, calls: u64| -> Outcome<Duration> {
        if let (Some(way), Some(beside)) = (place.checked_sub(ready.len()), &mut beside) {
            return beside.time(way, calls);
        }
        let k = ready[place];
        let Some(scratch) = &mut scratches[k] else {
            return Err(Failure::Failed("memory is missing".to_owned()));
        };
        let (number, tuning) = (shared[k].number, shared[k].tuning(machine, case));
        machine.time(case, number, tuning, &mut sets, scratch, &mut turn, calls)
    };
    let sampling = plan.sampling(ready.len());
    let mut timed = match &sampling {
        Some(sampling) => machine.within(|| sample(ready.len() + ways, ways, sampling, &mut run)),
        None => Vec::new(),
    };
    let again = sampling.and_then(|sampling| {
        let mut medians = vec![None; shared.len()];
        for (k, times) in ready.iter().zip(&timed) {
            let whole = Summary::of(&times.seconds).filter(|_| times.failure.is_none());
            medians[*k] = whole.map(|summary| summary.median);
        }
        let (production, ahead) = ahead(shared, &medians)?;
        let places = std::iter::once(production).chain(ahead);
        let places = places.filter_map(|k| ready.iter().position(|r| *r == k));
        let places: Vec<usize> = places.collect();
        if places.len() < 2 {
            return None;
        }
        let batches: Vec<u64> = places.iter().map(|place| timed[*place].batch).collect();
        let times = machine.within(|| in_turn(&batches, &sampling, |n, calls| run(places[n], calls)))?;
        let (own, others) = times.split_first()?;
        let again = places[1..].iter().zip(others).filter_map(|(place, times)| {
            Some(Again {
                variant: shared[ready[*place]].about.name.clone(),
                ratio: Summary::of(&ratios(times, own))?,
            })
        });
        Some((production, again.collect()))
    });
    // What was right before may have been spoilt by what was called since: its own memory, or what it keeps. A run that has to be over soon does not wait for
    // those that take long.
    let mut spoilt = Vec::new();
    for (place, k) in ready.iter().enumerate() {
        let Some(times) = timed.get(place).filter(|times| times.failure.is_none()) else {
            continue;
        };
        let median = Summary::of(&times.seconds).map_or(0.0, |summary| summary.median);
        if plan.end.is_some() && median > LONG {
            continue;
        }
        if let Some(scratch) = &mut scratches[*k] {
            let (number, tuning) = (shared[*k].number, shared[*k].tuning(machine, case));
            let set = &mut sets[0];
            let check = || machine.check_in(case, number, tuning, set, scratch, expected);
            spoilt.push((*k, machine.within(check)));
        }
    }
    let of_beside = timed.split_off(ready.len().min(timed.len()));
    let label = format!("{}, after it was timed", case.problem().label());
    for (k, outcome) in spoilt {
        competitors[k].judge(outcome, &label);
    }
    let mut all = vec![Times::default(); competitors.len()];
    for (k, times) in ready.into_iter().zip(timed) {
        if let Some(failure) = &times.failure {
            competitors[k].verdict = of_failure(failure.clone());
        }
        all[k] = times;
    }
    all.extend(of_beside);
    Timed {
        times: all,
        again,
        working_set: bytes * sets.len() as u64,
    }
}

fn row(
    ladder: &dyn AnyLadder,
    case: &dyn Case,
    ceilings: &Ceilings,
    competitor: &Competitor<'_>,
    times: Times,
    working_set: u64,
) -> Row {
    let problem = case.problem();
    let work = problem.work();
    let about = competitor.about;
    // A variant that stopped half-way has no time.
    let samples = if competitor.is_right() {
        times.seconds
    } else {
        Vec::new()
    };
    Row {
        ladder: ladder.name().to_owned(),
        case: problem.label(),
        axis: ladder.axis().map(str::to_owned),
        place: problem.place(),
        variant: about.name.clone(),
        production: about.production,
        source: about.source.map(str::to_owned),
        tuning: about
            .tuning
            .and(competitor.tuning)
            .map(|tuning| tuning.to_string()),
        verdict: competitor.verdict.clone(),
        elements: problem.elements(),
        read: work.read,
        written: work.written,
        operations: work.operations,
        working_set,
        bound: bound(ceilings, &work),
        batch: times.batch,
        summary: Summary::of(&samples),
        samples,
        again: Vec::new(),
    }
}
