//! What the hardware allows, measured in the same run as the variants.

use std::time::Duration;

use crate::clock::at_once;
use crate::family::{Class, Failure, Operation, Outcome, Work};
use crate::machine::Machine;
use crate::measure::Watch;
use crate::record::{Bound, Ceilings, Point};
use crate::sampling::{Sampling, Times, sample};
use crate::statistics::Summary;

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(feature = "gpu")]
#[allow(unsafe_code)]
mod matrix;

/// The ceiling that binds some work, where one was measured: the one that allows it the most seconds.
#[must_use]
pub fn bound(ceilings: &Ceilings, work: &Work) -> Option<Bound> {
    let memory = memory(ceilings, work);
    let operations = work.operations.and_then(|(operation, count)| {
        let rate = ceilings.rates.get(&operation)?;
        Some(Bound {
            ceiling: operation.name().to_owned(),
            seconds: count as f64 / rate,
        })
    });
    let bounds = memory.into_iter().chain(operations);
    bounds.max_by(|a, b| a.seconds.total_cmp(&b.seconds))
}

/// The seconds that memory allows: of a copy where as much is read as written, else between those of a copy and of a
/// read or a write alone.
fn memory(ceilings: &Ceilings, work: &Work) -> Option<Bound> {
    let bytes = work.moved();
    if bytes == 0 {
        return None;
    }
    let written = work.written as f64 / bytes as f64;
    let copy = at(&ceilings.copy, bytes);
    let (name, pure, share) = if written < 0.5 {
        ("read", at(&ceilings.read, bytes), 1.0 - 2.0 * written)
    } else {
        ("write", at(&ceilings.write, bytes), 2.0 * written - 1.0)
    };
    // Seconds of a byte add up, not rates.
    let pure = pure.or(copy)?;
    let copy = copy.unwrap_or(pure);
    let second = share / pure + (1.0 - share) / copy;
    Some(Bound {
        ceiling: if share > 0.5 { name } else { "copy" }.to_owned(),
        seconds: bytes as f64 * second,
    })
}

/// The bandwidth at so many bytes, between the points measured, over the logarithm of the bytes.
fn at(points: &[Point], bytes: u64) -> Option<f64> {
    let next = points.iter().position(|point| point.bytes >= bytes);
    match next {
        None => points.last().map(|point| point.rate),
        Some(0) => points.first().map(|point| point.rate),
        Some(next) => {
            let (low, high) = (points[next - 1], points[next]);
            let log = |bytes: u64| (bytes as f64).ln();
            let part = (log(bytes) - log(low.bytes)) / (log(high.bytes) - log(low.bytes));
            Some(low.rate + (high.rate - low.rate) * part)
        }
    }
}

/// Measures what a machine allows. `working_set` bytes are used in turn, so that caches do not answer.
///
/// # Errors
/// Where a device fails.
pub fn measure(
    machine: &Machine,
    sampling: &Sampling,
    quick: bool,
    working_set: u64,
    watch: &mut dyn Watch,
) -> Result<Ceilings, Failure> {
    let sizes = sizes(machine.class(), quick);
    let mut ceilings = match machine {
        Machine::Cpu(_) => machine.within(|| cpu::measure(sampling, &sizes, working_set)),
        #[cfg(feature = "gpu")]
        Machine::Gpu(gpu) => {
            watch.step("ceilings: memory and operations");
            gpu::measure(gpu, sampling, &sizes, working_set)?
        }
    };
    let pull = pull(&ceilings).map(|rate| (Operation::F32Pull, rate));
    ceilings.rates.extend(pull);
    // Without matrix instructions, numbers of 16 bits are widened.
    if let Some(rate) = ceilings.rates.get(&Operation::F32MultiplyAdd).copied() {
        for operation in [Operation::F16MultiplyAdd, Operation::Bf16MultiplyAdd] {
            ceilings.rates.entry(operation).or_insert(rate);
        }
    }
    watch.step("ceilings: transfers");
    #[cfg(feature = "gpu")]
    if let Machine::Gpu(gpu) = machine {
        ceilings.transfers = gpu::transfers(gpu, sampling, quick)?;
        let both = bus(&ceilings).map(|rate| (Operation::BusByte, rate));
        let down = transferred(&ceilings, DOWN).map(|rate| (Operation::DownByte, rate));
        ceilings.rates.extend(both.into_iter().chain(down));
    }
    for points in [&mut ceilings.copy, &mut ceilings.read, &mut ceilings.write] {
        points.sort_by_key(|point| point.bytes);
    }
    Ok(ceilings)
}

/// Bandwidths beside a case: processors of a host that others use as well get what these leave, and so do copies over a bus, which changes within
/// seconds, so that only what is measured in turn with the variants tells what they could have reached.
pub struct Beside(Medium);

/// Of what.
enum Medium {
    Memory(cpu::Beside),
    #[cfg(feature = "cuda")]
    Bus(gpu::Beside),
}

impl Beside {
    /// What binds such work. Nothing of a device's memory, which is its own.
    #[must_use]
    pub fn of(machine: &Machine, work: &Work, working_set: u64) -> Option<Self> {
        match machine {
            Machine::Cpu(_) if work.moved() > 1 => {
                let bytes = work.moved().min(MOST_BESIDE);
                // Calls take no more than so many times their bytes in turn.
                let working_set = working_set.min(64 * bytes);
                let memory = machine.within(|| cpu::Beside::of(work, bytes, working_set));
                Some(Self(Medium::Memory(memory)))
            }
            #[cfg(feature = "cuda")]
            Machine::Gpu(gpu) => {
                let (operation, bytes) = work.operations?;
                let bytes = bytes.min(MOST_BESIDE) as usize;
                gpu::Beside::of(gpu, operation, bytes).map(|bus| Self(Medium::Bus(bus)))
            }
            _ => None,
        }
    }

    /// Ways to move memory, of which the best counts.
    #[must_use]
    pub fn ways(&self) -> usize {
        match &self.0 {
            Medium::Memory(memory) => memory.ways(),
            #[cfg(feature = "cuda")]
            Medium::Bus(_) => 1,
        }
    }

    /// Calls one of them so many times, on the machine's threads.
    ///
    /// # Errors
    /// Where a device fails.
    pub fn time(&mut self, way: usize, calls: u64) -> Outcome<Duration> {
        match &mut self.0 {
            Medium::Memory(memory) => at_once(calls, &mut || {
                memory.call(way);
                Ok(())
            }),
            #[cfg(feature = "cuda")]
            Medium::Bus(bus) => bus.time(calls),
        }
    }

    /// Ceilings with these bandwidths in the place of the run's, by the times of the ways. Their medians count, as those of variants do: what hindered either has
    /// hindered both.
    #[must_use]
    pub fn into(self, ceilings: &Ceilings, times: &[Times]) -> Ceilings {
        match self.0 {
            Medium::Memory(memory) => memory.into(ceilings, times),
            #[cfg(feature = "cuda")]
            Medium::Bus(bus) => bus.into(ceilings, times),
        }
    }
}

/// Bytes that a call moves at most where bandwidths are measured beside a case: far more than caches hold.
const MOST_BESIDE: u64 = 1 << 28;

/// Operations that are measured one by one.
const MEASURED: [Operation; 6] = [
    Operation::F32Add,
    Operation::F32MultiplyAdd,
    Operation::F32AddMin,
    Operation::IntegerAdd,
    Operation::IntegerAddMin,
    Operation::F32InverseRoot,
];

/// How many pulls of bodies are allowed: each takes as many slots of a scheduler as 13 multiply-adds. On devices the unit for
/// roots has to keep up; processors have better ways to a root than the exact one that is measured.
fn pull(ceilings: &Ceilings) -> Option<f64> {
    let slots = ceilings.rates.get(&Operation::F32MultiplyAdd)? / 13.0;
    let roots = match ceilings.launch {
        Some(_) => *ceilings.rates.get(&Operation::F32InverseRoot)?,
        None => slots,
    };
    Some(slots.min(roots))
}

/// Bytes each way a second while both ways over the bus carry as many, from and to page-locked memory: half of what both carry at
/// once, or the slower way alone where that is less.
#[cfg(feature = "gpu")]
fn bus(ceilings: &Ceilings) -> Option<f64> {
    let up = transferred(ceilings, "host → device, pinned")?;
    let down = transferred(ceilings, DOWN)?;
    let both = transferred(ceilings, "host ↔ device, pinned, both at once");
    Some(up.min(down).min(both.map_or(f64::MAX, |both| both / 2.0)))
}

/// From the device to page-locked memory.
#[cfg(feature = "gpu")]
const DOWN: &str = "device → host, pinned";

/// Bytes a second that go this way.
#[cfg(feature = "gpu")]
fn transferred(ceilings: &Ceilings, name: &str) -> Option<f64> {
    let mut transfers = ceilings.transfers.iter();
    transfers.find(|transfer| transfer.name == name)?.rate
}

/// Steps that [`measure`] takes.
pub const STEPS: usize = 2;

/// Bytes that a call moves.
fn sizes(class: Class, quick: bool) -> Vec<u64> {
    let exponents: &[u32] = match (class, quick) {
        (Class::Cpu, true) => &[15, 20, 23, 25, 28],
        (Class::Cpu, false) => &[13, 15, 18, 20, 22, 24, 26, 28, 30],
        (Class::Software, _) => &[20, 23],
        (Class::Gpu, true) => &[23, 27, 31],
        (Class::Gpu, false) => &[16, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32],
    };
    exponents.iter().map(|exponent| 1 << exponent).collect()
}

/// Calls a second of the fastest of some ways to do the same; nothing where none runs. `time` takes the time of so many calls.
fn best(
    count: usize,
    sampling: &Sampling,
    mut call: impl FnMut(usize) -> Outcome,
    mut time: impl FnMut(u64, &mut dyn FnMut() -> Outcome) -> Outcome<Duration>,
) -> Option<f64> {
    let times = sample(count, 0, sampling, |way, calls| time(calls, &mut || call(way)));
    // What hinders now and then is no limit of the hardware: the tenth that nothing hindered counts.
    let fastest = times
        .iter()
        .filter_map(|times| Some(Summary::of(&times.seconds)?.p10));
    fastest.min_by(f64::total_cmp).map(|seconds| 1.0 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceilings(rate: f64) -> Ceilings {
        let points = vec![Point { bytes: 1 << 20, rate }];
        Ceilings {
            copy: points.clone(),
            read: points.clone(),
            write: points,
            ..Ceilings::default()
        }
    }

    #[test]
    fn bandwidths_measured_beside_a_case_bind_it() {
        let machine = Machine::cpu(2).unwrap();
        let work = |read, written| Work {
            read,
            written,
            operations: None,
        };
        let run = ceilings(1e9);
        let bytes = 1 << 16;
        let times = |seconds: &[f64]| -> Vec<Times> {
            let times = |seconds: &f64| Times {
                // What happens now and then is not what counts.
                seconds: vec![*seconds, seconds / 100.0, *seconds],
                ..Times::default()
            };
            seconds.iter().map(times).collect()
        };
        let reads = work(bytes, 0);
        let beside = Beside::of(&machine, &reads, 1 << 20).unwrap();
        assert_eq!(beside.ways(), 2);
        let found = beside.into(&run, &times(&[2e-5, 1e-5]));
        let seconds = bound(&found, &reads).unwrap().seconds;
        assert!((seconds - 1e-5).abs() < 1e-12, "{found:?}");
        assert_eq!(found.copy, run.copy);
        let copies = work(bytes, bytes);
        let beside = Beside::of(&machine, &copies, 1 << 20).unwrap();
        let found = beside.into(&run, &times(&[9e-5, 7e-5, 8e-5]));
        let seconds = bound(&found, &copies).unwrap().seconds;
        assert!((seconds - 7e-5).abs() < 1e-12, "{found:?}");
        assert_eq!(found.read, run.read);
        assert!(Beside::of(&machine, &work(0, 0), 1 << 20).is_none());
    }
}
