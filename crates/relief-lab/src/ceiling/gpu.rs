//! What a device allows.
#![allow(unsafe_code)]

#[cfg(feature = "cuda")]
use std::time::Duration;

use cubecl::prelude::*;
use relief_kernels::copy::gpu::{copy, fill, fill_with};
#[cfg(feature = "cuda")]
use relief_kernels::device::DeviceId;
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, cubes, launch};
use relief_kernels::policy::Tuning;

use super::best;
use crate::clock::{LONGEST_BATCH, PROBE, at_once, at_pace, queued, steadily, until_done};
use crate::family::{Operation, Outcome, tuning};
use crate::record::{Ceilings, Point, Transfer};
use crate::sampling::Sampling;
#[cfg(feature = "cuda")]
use crate::{driver, family::Failure, sampling::Times, statistics::Summary};

/// Bandwidths at some sizes, operation rates, and what a launch costs.
pub(super) fn measure(gpu: &Gpu, sampling: &Sampling, sizes: &[u64], working_set: u64) -> Outcome<Ceilings> {
    let mut ceilings = Ceilings::default();
    let sampling = &Sampling {
        longest: LONGEST_BATCH,
        ..*sampling
    };
    for bytes in sizes {
        // A size that the device does not hold is left out.
        if let Ok(memory) = Memory::new(gpu, *bytes / 2, working_set) {
            ceilings.copy.extend(memory.point(sampling, *bytes, Way::Copy)?);
        }
        if let Ok(memory) = Memory::new(gpu, *bytes, working_set) {
            ceilings.read.extend(memory.point(sampling, *bytes, Way::Read)?);
            ceilings.write.extend(memory.point(sampling, *bytes, Way::Fill)?);
        }
    }
    let output = gpu.buffer(1 << 10)?;
    for operation in super::MEASURED {
        let rate = rate(gpu, sampling, operation, &output)?;
        ceilings.rates.extend(rate.map(|rate| (operation, rate)));
    }
    let products = super::matrix::rates(gpu, sampling, &output)?;
    ceilings.rates.extend(products);
    let launch = |_| Ok(fill(gpu, &output, 4, 1)?);
    launch(0)?;
    let asked = |calls, call: &mut dyn FnMut() -> Outcome| at_pace(gpu, calls, call);
    ceilings.launch = best(1, sampling, launch, asked).map(|rate| 1.0 / rate);
    let waiting = |calls, call: &mut dyn FnMut() -> Outcome| {
        // Too few calls to tell are no reason to go on without.
        match queued(gpu, calls, call)? {
            Some(time) => Ok(time),
            None if calls < PROBE => at_pace(gpu, calls, call),
            None => Err(gpu.unsupported("marks that are reached in time").into()),
        }
    };
    ceilings.launch_queued = best(1, sampling, launch, waiting).map(|rate| 1.0 / rate);
    let waited = |way| launch(way).and_then(|()| Ok(gpu.sync()?));
    ceilings.launch_waited = best(1, sampling, waited, at_once).map(|rate| 1.0 / rate);
    Ok(ceilings)
}

#[derive(Clone, Copy)]
enum Way {
    Copy,
    Read,
    Fill,
}

/// Layouts that a ceiling of stores tries: few stores a unit start sooner, many need fewer cubes.
const FILLS: [Tuning; 4] = [
    tuning(128, 1, 4),
    tuning(256, 4, 4),
    tuning(256, 8, 4),
    tuning(1_024, 8, 4),
];

/// Buffers that calls use in turn.
struct Memory<'a> {
    gpu: &'a Gpu,
    buffers: Vec<Buffer>,
    words: usize,
}

impl<'a> Memory<'a> {
    /// Buffers of `bytes` each, two at least.
    fn new(gpu: &'a Gpu, bytes: u64, working_set: u64) -> Result<Self, DeviceError> {
        let words = (bytes / 4) as usize;
        let mut buffers = vec![gpu.buffer(words)?, gpu.buffer(words)?];
        while buffers.len() < 128 && (buffers.len() as u64 + 2) * bytes <= working_set {
            let (Ok(one), Ok(other)) = (gpu.buffer(words), gpu.buffer(words)) else {
                break;
            };
            buffers.extend([one, other]);
        }
        for buffer in &buffers {
            fill(gpu, buffer, words, 1)?;
        }
        gpu.sync()?;
        Ok(Self { gpu, buffers, words })
    }

    /// The rate at `bytes` a call: two buffers of a copy, one of a read or a write.
    fn point(&self, sampling: &Sampling, bytes: u64, way: Way) -> Outcome<Option<Point>> {
        let mut turn = 0;
        let call = |layout: usize| {
            turn = (turn + 2) % self.buffers.len();
            let (from, to) = (&self.buffers[turn], &self.buffers[turn + 1]);
            match way {
                Way::Copy => copy(self.gpu, from, to, self.words)?,
                Way::Fill => fill_with(self.gpu, FILLS[layout], to, self.words, 5)?,
                Way::Read => read(self.gpu, from, to)?,
            }
            Ok(())
        };
        let ways = if matches!(way, Way::Fill) { FILLS.len() } else { 1 };
        let rate = best(ways, sampling, call, |calls, call| {
            steadily(self.gpu, calls, call)
        });
        Ok(rate.map(|rate| Point::of(bytes, rate)))
    }
}

const UNITS: u32 = 256;
const ITEMS: u32 = 8;

/// Reads all of a buffer; writes one word into another.
fn read(gpu: &Gpu, from: &Buffer, to: &Buffer) -> Result<(), DeviceError> {
    let count = from.words() as u32 / 4;
    let grid = cubes(gpu, count.div_ceil(UNITS * ITEMS));
    // SAFETY: places are compared with `count`; the target has a word.
    launch!(gpu, "read", &(), &[Operand::write("the output", to)], (grid, CubeDim::new_1d(UNITS)),
        unsafe read_vectors(4, from.array(4), to.array(1), count))
}

#[cube(launch_unchecked)]
fn read_vectors<N: Size>(from: &Array<Vector<u32, N>>, to: &mut Array<u32>, count: u32) {
    let first = CUBE_POS as u32 * comptime!(UNITS * ITEMS) + UNIT_POS;
    let mut sum = 0u32;
    #[unroll]
    for k in 0..ITEMS {
        let place = first + comptime!(k * UNITS);
        if place < count {
            let vector = from[place as usize];
            sum ^= vector[0usize] + vector[1usize] * 3u32 + vector[2usize] * 5u32 + vector[3usize] * 7u32;
        }
    }
    // Depends on all that was read; hardly ever but in the first unit does it hold.
    if first == 0u32 || sum == 0x7313_5bc7u32 {
        to[0] = sum;
    }
}

/// Independent chains of a unit.
const CHAINS: u32 = 8;

fn rate(gpu: &Gpu, sampling: &Sampling, operation: Operation, output: &Buffer) -> Outcome<Option<f64>> {
    let (rounds, count) = if gpu.report().software {
        (16, 16)
    } else {
        (2_048, 8_192)
    };
    let grid = cubes(gpu, count);
    let call = |_| {
        // SAFETY: one word is written; every loop ends.
        launch!(
            gpu, "operations", &operation, &[Operand::write("the output", output)],
            (grid.clone(), CubeDim::new_1d(UNITS)),
            unsafe operate(output.array(1), rounds, 3, operation))?;
        Ok(())
    };
    call(0)?;
    let operations = f64::from(count) * f64::from(UNITS) * f64::from(CHAINS) * f64::from(rounds) * 4.0;
    let rate = best(1, sampling, call, |calls, call| steadily(gpu, calls, call));
    Ok(rate.map(|rate| rate * operations))
}

#[cube(launch_unchecked)]
fn operate(output: &mut Array<u32>, rounds: u32, operand: u32, #[comptime] operation: Operation) {
    // Operands differ by unit, or the work would be done once for a whole plane.
    let own = operand + UNIT_POS;
    let mut result = 0u32;
    if comptime!(matches!(
        operation,
        Operation::IntegerAdd | Operation::IntegerAddMin
    )) {
        let mut chains = Array::<u32>::new(comptime!(CHAINS as usize));
        #[unroll]
        for k in 0..comptime!(CHAINS as usize) {
            chains[k] = own + comptime!(k as u32);
        }
        let mut round = 0u32;
        while round < rounds {
            #[unroll]
            for _ in 0..4u32 {
                #[unroll]
                for k in 0..comptime!(CHAINS as usize) {
                    // The next chain is the operand: sums of sums, which no compiler knows in closed form.
                    let sum = chains[k] + chains[comptime!((k + 1) % CHAINS as usize)];
                    if comptime!(operation == Operation::IntegerAdd) {
                        chains[k] = sum;
                    } else {
                        chains[k] = min(sum, own);
                    }
                }
            }
            round += 1u32;
        }
        #[unroll]
        for k in 0..comptime!(CHAINS as usize) {
            result ^= chains[k];
        }
    } else {
        let own = f32::cast_from(own) * 0.001f32;
        let mut chains = Array::<f32>::new(comptime!(CHAINS as usize));
        #[unroll]
        for k in 0..comptime!(CHAINS as usize) {
            chains[k] = own + comptime!(k as f32);
        }
        let mut round = 0u32;
        while round < rounds {
            #[unroll]
            for _ in 0..4u32 {
                #[unroll]
                for k in 0..comptime!(CHAINS as usize) {
                    let other = chains[comptime!((k + 1) % CHAINS as usize)];
                    if comptime!(operation == Operation::F32Add) {
                        chains[k] = chains[k] + other;
                    } else if comptime!(operation == Operation::F32InverseRoot) {
                        chains[k] = chains[k].inverse_sqrt();
                    } else if comptime!(operation == Operation::F32AddMin) {
                        chains[k] = min(chains[k] + other, own);
                    } else {
                        chains[k] = fma(chains[k], own, other);
                    }
                }
            }
            round += 1u32;
        }
        let mut sum = 0.0f32;
        #[unroll]
        for k in 0..comptime!(CHAINS as usize) {
            sum += chains[k];
        }
        result = u32::reinterpret(sum);
    }
    if ABSOLUTE_POS == 0 || result == 0x7313_5bc7u32 {
        output[0] = result;
    }
}

/// Between host and device.
pub(super) fn transfers(gpu: &Gpu, sampling: &Sampling, quick: bool) -> Outcome<Vec<Transfer>> {
    let bytes: usize = match quick {
        _ if gpu.report().software => 4 << 20,
        true => 64 << 20,
        false => 256 << 20,
    };
    let mut all = by_driver(gpu, sampling, bytes);
    let words = vec![1_u32; bytes / 4];
    let up = |_| Ok(gpu.upload(&words).map(drop)?);
    let up = best(1, sampling, up, |calls, call| {
        until_done(calls, call, || Ok(gpu.sync()?))
    });
    all.push(transfer("host → device, by the runtime", up, bytes));
    let buffer = gpu.upload(&words)?;
    // Three reads on the way, as production has them.
    let down = |_| {
        let readings = [(); 3].map(|()| gpu.read(&buffer, buffer.words()));
        for reading in readings {
            drop(reading.wait()?);
        }
        Ok(())
    };
    let down = best(1, sampling, down, at_once);
    all.push(transfer("device → host, by the runtime", down, 3 * bytes));
    Ok(all)
}

fn transfer(name: &str, rate: Option<f64>, bytes: usize) -> Transfer {
    Transfer {
        name: name.to_owned(),
        rate: rate.map(|rate| rate * bytes as f64),
        reason: None,
    }
}

/// By the driver, without the runtime.
#[cfg(feature = "cuda")]
fn by_driver(gpu: &Gpu, sampling: &Sampling, bytes: usize) -> Vec<Transfer> {
    let DeviceId::Cuda(ordinal) = gpu.id() else {
        return unknown("the Vulkan runtime does not let a caller choose the memory");
    };
    let copies = match driver::Copies::open(ordinal, bytes) {
        Ok(copies) => copies,
        Err(reason) => return unknown(&reason),
    };
    let measure = |(way, name): (driver::Way, &str)| {
        let call = |_| copies.start(way).map_err(Failure::Failed);
        let rate = best(1, sampling, call, |calls, call| {
            until_done(calls, call, || copies.wait().map_err(Failure::Failed))
        });
        transfer(name, rate, way.bytes(bytes))
    };
    driver::Way::ALL.map(measure).into()
}

/// What a bus carries, measured in turn with variants: this changes from second to second where both ways are
/// used at once.
#[cfg(feature = "cuda")]
pub(super) struct Beside {
    copies: driver::Copies,
    way: driver::Way,
    operation: Operation,
    /// Each way.
    bytes: usize,
}

#[cfg(feature = "cuda")]
impl Beside {
    /// Of a way that such operations take, by copies of so many bytes. Nothing where they take none, and where the driver has not the memory.
    pub(super) fn of(gpu: &Gpu, operation: Operation, bytes: usize) -> Option<Self> {
        let way = match operation {
            Operation::BusByte => driver::Way::PinnedBoth,
            Operation::DownByte => driver::Way::PinnedDown,
            _ => return None,
        };
        let DeviceId::Cuda(ordinal) = gpu.id() else {
            return None;
        };
        let copies = driver::Copies::open(ordinal, bytes.max(1)).ok()?;
        Some(Self {
            copies,
            way,
            operation,
            bytes,
        })
    }

    pub(super) fn time(&self, calls: u64) -> Outcome<Duration> {
        let mut call = || self.copies.start(self.way).map_err(Failure::Failed);
        until_done(calls, &mut call, || self.copies.wait().map_err(Failure::Failed))
    }

    pub(super) fn into(self, ceilings: &Ceilings, times: &[Times]) -> Ceilings {
        let mut ceilings = ceilings.clone();
        let summary = times.first().and_then(|times| Summary::of(&times.seconds));
        let rate = summary.map(|summary| (self.operation, self.bytes as f64 / summary.median));
        ceilings.rates.extend(rate);
        ceilings
    }
}

#[cfg(not(feature = "cuda"))]
fn by_driver(_: &Gpu, _: &Sampling, _: usize) -> Vec<Transfer> {
    unknown("this program was built without the feature cuda")
}

fn unknown(reason: &str) -> Vec<Transfer> {
    vec![Transfer {
        reason: Some(reason.to_owned()),
        ..transfer("by the driver, pinned and pageable, each way and both", None, 0)
    }]
}
