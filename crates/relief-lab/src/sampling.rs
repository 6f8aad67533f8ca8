//! Taking times: in batches, in turn, until they agree or the time is up.
//!
//! A batch is so many calls that reading the clock, and waiting for a device, cost little beside it. Competitors are
//! timed in turn, one batch each in every round, so that whatever changes meanwhile (clocks, neighbours, heat) meets all of
//! them alike. What the hardware allows is timed beside them in the same rounds where that changes as well.

use std::time::{Duration, Instant};

use crate::family::Outcome;
use crate::statistics::uncertainty;

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// How long a batch should take.
    pub batch: Duration,
    /// How long the batches of one competitor may take together.
    pub budget: Duration,
    /// The fewest batches, unless they take longer than the budget by far.
    pub least: usize,
    /// Batches end where the median is this sure, as a part of it.
    pub sure: f64,
    /// How long competitors are called before any is timed: a device that has idled takes its time to bring its clock up.
    pub wake: Duration,
    /// The most calls of a batch.
    pub longest: u64,
}

/// What nobody needs more calls than to dwarf the clock.
const LONGEST: u64 = 1 << 20;

impl Sampling {
    /// A minute for all families on two cores.
    pub const QUICK: Self = Self {
        batch: Duration::from_millis(1),
        budget: Duration::from_millis(30),
        least: 5,
        sure: 0.02,
        wake: Duration::from_millis(20),
        longest: LONGEST,
    };

    /// Figures to publish.
    pub const FULL: Self = Self {
        batch: Duration::from_millis(10),
        budget: Duration::from_secs(1),
        least: 21,
        sure: 0.005,
        wake: Duration::from_millis(300),
        longest: LONGEST,
    };

    /// The same where no competitor may take longer than this: fewer batches, and only then shorter ones, because each has its share of
    /// waiting for the device.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        const FEW: usize = 5;
        // Warming up and finding the batch take about as long as a few batches.
        let budget = self.budget.min(time / 2);
        let fitting = (budget.as_secs_f64() / self.batch.as_secs_f64()) as usize;
        let least = fitting.clamp(FEW.min(self.least), self.least);
        Self {
            batch: self.batch.min(budget / least as u32),
            budget,
            least,
            wake: self.wake.min(time),
            ..self
        }
    }
}

/// How many times longer than the budget the fewest batches may take.
const BY_FAR: f64 = 8.0;

/// Times of one competitor.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Seconds of a call, one for each batch.
    pub seconds: Vec<f64>,
    /// Calls of a batch.
    pub batch: u64,
    /// How long all batches took with all that goes with them: on devices, short calls wait in a queue before they are timed.
    pub spent: Duration,
    /// Why it could not go on.
    pub failure: Option<crate::family::Failure>,
}

impl Times {
    fn once(time: Duration) -> Self {
        Self {
            seconds: vec![time.as_secs_f64()],
            batch: 1,
            spent: time,
            failure: None,
        }
    }
}

/// Times `count` competitors, of which the last `beside` go on as long as any other does; `run(c, n)` calls competitor c n times and says how long that took.
pub fn sample(
    count: usize,
    beside: usize,
    sampling: &Sampling,
    mut run: impl FnMut(usize, u64) -> Outcome<Duration>,
) -> Vec<Times> {
    wake(count, sampling, &mut run);
    let mut all: Vec<Times> = Vec::new();
    for competitor in 0..count {
        let mut times = Times::default();
        let mut run = |n| run(competitor, n);
        match calibrate(sampling, &mut run) {
            Ok(Calibration::Batch(batch)) => times.batch = batch,
            Ok(Calibration::Slow(time)) => times = Times::once(time),
            Err(failure) => times.failure = Some(failure),
        }
        all.push(times);
    }
    loop {
        let mut running = false;
        let goes_on = |times: &Times| times.failure.is_none() && !done(sampling, times);
        let others = all[..count - beside].iter().any(goes_on);
        for (competitor, times) in all.iter_mut().enumerate() {
            let stays = others && competitor >= count - beside && times.failure.is_none();
            if !stays && !goes_on(times) {
                continue;
            }
            running = true;
            let start = Instant::now();
            match run(competitor, times.batch) {
                Ok(time) => {
                    times.seconds.push(time.as_secs_f64() / times.batch as f64);
                    times.spent += time.max(start.elapsed());
                }
                Err(failure) => times.failure = Some(failure),
            }
        }
        if !running {
            return all;
        }
    }
}

/// Times competitors in rounds of a batch each, each round in the order opposite to the last one's, so that everyone follows everyone as often: seconds of a call by
/// competitor, as many of each. `batches[c]` are the calls of a batch of competitor c. Ends when all medians of the ratios to the first are sure, or the time is up; nothing
/// where even three rounds would take far too long, and where one fails.
pub fn in_turn(
    batches: &[u64],
    sampling: &Sampling,
    mut run: impl FnMut(usize, u64) -> Outcome<Duration>,
) -> Option<Vec<Vec<f64>>> {
    let mut seconds = vec![Vec::new(); batches.len()];
    let budget = sampling.budget * batches.len() as u32;
    let mut taken = Duration::ZERO;
    let mut order: Vec<usize> = (0..batches.len()).collect();
    let least = sampling.least.max(LEAST_TURNS);
    loop {
        for &competitor in &order {
            let start = Instant::now();
            let time = run(competitor, batches[competitor]).ok()?;
            taken += time.max(start.elapsed());
            seconds[competitor].push(time.as_secs_f64() / batches[competitor] as f64);
        }
        order.reverse();
        let rounds = seconds[0].len();
        let late = taken > budget;
        if rounds == 1 && taken.as_secs_f64() * 3.0 > BY_FAR * budget.as_secs_f64() {
            return None;
        }
        // Of an even number of rounds everyone follows everyone.
        let even = rounds.is_multiple_of(2);
        let sure = || {
            let (first, others) = seconds.split_first()?;
            let mut ratios = others.iter().map(|times| ratios(times, first));
            Some(ratios.all(|ratios| uncertainty(&ratios) < sampling.sure))
        };
        let far_too_late = taken.as_secs_f64() > BY_FAR * budget.as_secs_f64();
        if even && (far_too_late || (rounds >= least && (late || sure() == Some(true)))) {
            return Some(seconds);
        }
    }
}

/// The fewest rounds in turn.
const LEAST_TURNS: usize = 12;

/// Times over those of the same rounds.
pub(crate) fn ratios(times: &[f64], first: &[f64]) -> Vec<f64> {
    let pairs = times.iter().zip(first);
    pairs.map(|(time, first)| time / first).collect()
}

/// Calls the last competitor, which is rarely a slow one, for so long.
fn wake(count: usize, sampling: &Sampling, run: &mut impl FnMut(usize, u64) -> Outcome<Duration>) {
    let Some(last) = count.checked_sub(1) else { return };
    let (mut taken, mut batch) = (Duration::ZERO, 1);
    while taken < sampling.wake {
        let start = Instant::now();
        // A failure shows again when it is timed.
        let Ok(more) = run(last, batch) else { return };
        taken += more.max(start.elapsed());
        batch = (2 * batch).min(sampling.longest);
    }
}

/// What warming up tells.
enum Calibration {
    /// So many calls take as long as a batch should.
    Batch(u64),
    /// One call takes longer than all batches may: what it took.
    Slow(Duration),
}

/// Warms up, and finds how many calls take as long as a batch should.
fn calibrate(sampling: &Sampling, run: &mut impl FnMut(u64) -> Outcome<Duration>) -> Outcome<Calibration> {
    let first = run(1)?;
    if first.as_secs_f64() > BY_FAR * sampling.budget.as_secs_f64() {
        return Ok(Calibration::Slow(first));
    }
    let mut batch = 1;
    loop {
        let mut time = run(batch)?;
        if batch > 1 && time >= sampling.batch / 2 {
            // What was interrupted once would make all batches too short.
            time = time.min(run(batch)?);
        }
        if time >= sampling.batch / 2 || batch >= sampling.longest {
            let ratio = sampling.batch.as_secs_f64() / time.as_secs_f64().max(1e-9);
            let batch = (batch as f64 * ratio).round() as u64;
            return Ok(Calibration::Batch(batch.clamp(1, sampling.longest)));
        }
        // A first, short batch says little about a long one: grow by steps.
        batch *= if time < sampling.batch / 64 { 16 } else { 2 };
    }
}

fn done(sampling: &Sampling, times: &Times) -> bool {
    let taken = times.spent.as_secs_f64();
    let budget = sampling.budget.as_secs_f64();
    if times.seconds.len() < sampling.least {
        return taken > BY_FAR * budget;
    }
    taken > budget || uncertainty(&times.seconds) < sampling.sure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Failure;

    /// A clock that only moves when something is called.
    fn settings() -> Sampling {
        Sampling {
            batch: Duration::from_millis(1),
            budget: Duration::from_millis(50),
            least: 5,
            sure: 0.01,
            wake: Duration::ZERO,
            longest: LONGEST,
        }
    }

    #[test]
    fn a_device_that_idled_is_awake_before_it_is_timed() {
        // Four times as slow until it has worked for 40 ms.
        let first_of = |wake: u64| {
            let sampling = Sampling {
                wake: Duration::from_millis(wake),
                ..settings()
            };
            let mut worked = Duration::ZERO;
            let times = sample(2, 0, &sampling, |_, n| {
                let slow = worked < Duration::from_millis(40);
                let time = Duration::from_micros(if slow { 400 } else { 100 }) * n as u32;
                worked += time;
                Ok(time)
            });
            (times[0].seconds[0] * 1e6).round() as u32
        };
        assert_eq!((first_of(0), first_of(40)), (400, 100));
    }

    #[test]
    fn what_is_timed_beside_goes_on_as_long_as_others_do() {
        // The first is never sure; the others always are.
        let mut call = 0_u32;
        let times = sample(3, 1, &settings(), |competitor, n| {
            call += 1;
            let noise = if competitor == 0 { call % 7 } else { 0 };
            Ok(Duration::from_micros(u64::from(4 + noise)) * n as u32)
        });
        let batches: Vec<usize> = times.iter().map(|times| times.seconds.len()).collect();
        assert!(batches[0] > batches[1], "{batches:?}");
        assert_eq!(batches[0], batches[2], "{batches:?}");
    }

    #[test]
    fn a_batch_is_as_long_as_asked_and_times_are_of_one_call() {
        let times = sample(1, 0, &settings(), |_, n| Ok(Duration::from_micros(4) * n as u32));
        assert_eq!(times[0].batch, 250);
        assert!(times[0].seconds.iter().all(|s| (s - 4e-6).abs() < 1e-12));
        assert!(times[0].seconds.len() >= 5);
    }

    #[test]
    fn equal_times_end_early_and_noisy_ones_at_the_budget() {
        let mut turn = 0;
        let times = sample(2, 0, &settings(), |competitor, n| {
            turn += 1;
            let micros = if competitor == 1 && turn % 4 < 2 { 300 } else { 100 };
            Ok(Duration::from_micros(micros) * n as u32)
        });
        assert!(times[0].seconds.len() < 12, "{:?}", times[0]);
        let taken = times[1].seconds.iter().sum::<f64>() * times[1].batch as f64;
        assert!(taken >= 0.05, "{taken}");
    }

    #[test]
    fn one_call_longer_than_the_budget_is_not_repeated_for_ever() {
        let times = sample(1, 0, &settings(), |_, n| Ok(Duration::from_secs(1) * n as u32));
        assert_eq!((times[0].batch, times[0].seconds.len()), (1, 1));
    }

    #[test]
    fn what_takes_longer_than_all_batches_may_is_called_once() {
        let mut calls = 0;
        let times = sample(1, 0, &settings().within(Duration::from_millis(4)), |_, n| {
            calls += n;
            Ok(Duration::from_millis(20) * n as u32)
        });
        assert_eq!((calls, times[0].seconds.as_slice()), (1, &[0.02][..]));
    }

    #[test]
    fn little_time_makes_batches_short_and_few() {
        let mut taken = Duration::ZERO;
        let times = sample(1, 0, &settings().within(Duration::from_millis(4)), |_, n| {
            let time = Duration::from_micros(1 + taken.as_micros() as u64 % 2) * n as u32;
            taken += time;
            Ok(time)
        });
        assert!(times[0].seconds.len() >= 5);
        assert!(taken < Duration::from_millis(4), "{taken:?}");
    }

    #[test]
    fn in_turn_everyone_follows_everyone_and_what_all_share_does_not_count() {
        let mut order = Vec::new();
        let mut slow = 0_u32;
        let times = in_turn(&[1, 2, 4], &settings(), |competitor, n| {
            order.push(competitor);
            // The machine is ten times as slow every other round; competitor c takes 100 + c µs.
            slow += 1;
            let micros = (100 + competitor as u32) * if slow.div_ceil(3) % 2 == 0 { 10 } else { 1 };
            Ok(Duration::from_micros(u64::from(micros)) * n as u32)
        });
        let times = times.unwrap_or_default();
        assert_eq!(order[..6], [0, 1, 2, 2, 1, 0]);
        assert!(times[0].len() >= 12 && times[0].len().is_multiple_of(2));
        for (competitor, times_of) in times.iter().enumerate() {
            for ratio in ratios(times_of, &times[0]) {
                assert!(
                    (ratio - (1.0 + competitor as f64 / 100.0)).abs() < 1e-9,
                    "{ratio}"
                );
            }
        }
    }

    #[test]
    fn in_turn_nothing_takes_for_ever_and_a_failure_is_no_time() {
        let mut calls = 0;
        let long = in_turn(&[1, 1], &settings(), |_, n| {
            calls += n;
            Ok(Duration::from_secs(1))
        });
        assert_eq!((long, calls), (None, 2));
        let failing = in_turn(&[1, 1], &settings(), |competitor, _| match competitor {
            0 => Ok(Duration::from_micros(1)),
            _ => Err(Failure::Failed("lost".to_owned())),
        });
        assert_eq!(failing, None);
    }

    #[test]
    fn who_fails_is_left_out_and_the_others_go_on() {
        let times = sample(2, 0, &settings(), |competitor, n| match competitor {
            0 => Err(Failure::Failed("lost".to_owned())),
            _ => Ok(Duration::from_micros(10) * n as u32),
        });
        assert!(times[0].failure.is_some() && times[0].seconds.is_empty());
        assert!(times[1].seconds.len() >= 5);
    }
}
