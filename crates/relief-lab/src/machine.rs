//! Where variants run: the threads of this process, or a device; and their memory there.

use std::panic::{AssertUnwindSafe, catch_unwind};
#[cfg(feature = "gpu")]
use std::sync::OnceLock;
use std::time::Duration;

#[cfg(feature = "gpu")]
use relief_kernels::copy::gpu::{copy, fill};
#[cfg(feature = "gpu")]
use relief_kernels::device::{Buffer, DeviceError, Gpu};
use relief_kernels::device::{DeviceId, DeviceReport};
#[cfg(feature = "gpu")]
use relief_kernels::policy;
use relief_kernels::policy::Tuning;

use crate::Error;
#[cfg(feature = "gpu")]
use crate::agreement::agree;
#[cfg(feature = "gpu")]
use crate::array::trespass;
use crate::array::{Array, Fill, Layout};
use crate::check::{Difference, compare};
use crate::clock::at_once;
#[cfg(feature = "gpu")]
use crate::clock::steadily;
#[cfg(feature = "gpu")]
use crate::family::OnGpu;
use crate::family::{Case, Class, Failure, Layouts, OnCpu, Outcome, Problem, Rows, Tolerance, tuning};

/// Where variants run.
pub enum Machine {
    /// The processors, by this pool of threads.
    Cpu(rayon::ThreadPool),
    /// A device.
    #[cfg(feature = "gpu")]
    Gpu(Gpu),
}

/// The inputs and outputs of a case on a machine.
pub(crate) enum Staged {
    Cpu {
        inputs: Vec<Array>,
        outputs: Vec<Array>,
    },
    #[cfg(feature = "gpu")]
    Gpu {
        gpu: Gpu,
        inputs: Vec<Buffer>,
        outputs: Vec<Guarded>,
    },
}

/// Memory that one variant wants for itself.
pub(crate) enum Scratch {
    Cpu(Vec<Array>),
    #[cfg(feature = "gpu")]
    Gpu(Gpu, Vec<Buffer>),
}

/// A buffer between guards.
#[cfg(feature = "gpu")]
pub(crate) struct Guarded {
    whole: Buffer,
    inside: Buffer,
    /// What it should hold, on the device; nothing where there is no memory for it.
    expected: OnceLock<Option<Buffer>>,
}

/// Bytes from which results are compared on the device first.
#[cfg(feature = "gpu")]
const LARGE: usize = 1 << 16;

#[cfg(feature = "gpu")]
impl Guarded {
    /// Whether guards are untouched and the first `defined` bytes are bit by bit what they should be; no where it cannot be told
    /// without reading everything.
    fn is_exact(&self, gpu: &Gpu, array: &Array, defined: usize, poison: u8) -> Result<bool, DeviceError> {
        if array.layout().bytes() < LARGE {
            return Ok(false);
        }
        let upload = || gpu.upload(&array.to_words()).ok();
        let Some(expected) = self.expected.get_or_init(upload) else {
            return Ok(false);
        };
        // Parts of buffers begin at multiples of 64 words: the rest is read.
        let rest = defined / 4 / 64 * 64;
        let Ok(vectors) = u32::try_from(rest / 4) else {
            return Ok(false);
        };
        if !agree(gpu, &self.inside, expected, vectors)? {
            return Ok(false);
        }
        // From there to the end of the guard: what is defined, what may be anything, and the guard.
        let end = GUARD + self.inside.words();
        let part = |start, most: usize| self.whole.part(start, most.min(self.whole.words() - start));
        let (before, after) = (part(0, GUARD), part(end / 64 * 64, usize::MAX));
        let (Some(before), Some(after), Some(tail)) = (before, after, part(GUARD + rest, 64)) else {
            return Ok(false);
        };
        let untouched = |part: &Buffer, skip: usize| -> Result<bool, DeviceError> {
            let bytes = gpu.read(part, part.words()).wait()?;
            Ok(bytes[4 * skip..].iter().all(|byte| *byte == poison))
        };
        let tail = gpu.read(&tail, tail.words()).wait()?;
        let same = tail[..defined - 4 * rest] == array.bytes()[4 * rest..defined];
        Ok(same && untouched(&before, 0)? && untouched(&after, end % 64)?)
    }
}

/// Words of a guard on a device.
#[cfg(feature = "gpu")]
const GUARD: usize = 1024;

/// What a case should come to.
pub(crate) struct Expected {
    pub(crate) inputs: Vec<Array>,
    outputs: Vec<Array>,
    defined: Vec<usize>,
    rows: Option<Rows>,
    tolerance: Tolerance,
}

impl Expected {
    /// By the reference of the problem, on inputs of a kind.
    pub(crate) fn of(problem: &dyn Problem, fill: Fill) -> Self {
        let inputs = problem.inputs(fill);
        let mut outputs: Vec<Array> = problem.outputs().into_iter().map(Array::new).collect();
        problem.reference(&inputs, &mut outputs);
        let defined = problem.defined(&outputs);
        Self {
            inputs,
            outputs,
            defined,
            rows: problem.rows(),
            tolerance: problem.tolerance(fill),
        }
    }
}

/// The most threads of the processors.
pub const MAX_THREADS: usize = 1_024;

impl Machine {
    /// The processors, with so many threads.
    ///
    /// # Errors
    /// Where the threads cannot be started, or are more than [`MAX_THREADS`].
    pub fn cpu(threads: usize) -> Result<Self, Error> {
        if threads > MAX_THREADS {
            return Err(Error::Threads(format!(
                "{threads} are asked for, and at most {MAX_THREADS} are possible"
            )));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map(Self::Cpu).map_err(|e| Error::Threads(e.to_string()))
    }

    /// A device.
    ///
    /// # Errors
    /// Where it cannot be started, and in a build without devices.
    pub fn device(id: DeviceId) -> Result<Self, Error> {
        #[cfg(feature = "gpu")]
        return Ok(Self::Gpu(Gpu::open(id)?));
        #[cfg(not(feature = "gpu"))]
        Err(Error::NoDevices(id))
    }

    /// What it can be asked for.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Cpu(_) => Class::Cpu,
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) if gpu.report().software => Class::Software,
            #[cfg(feature = "gpu")]
            Self::Gpu(_) => Class::Gpu,
        }
    }

    /// What the driver tells of the device; nothing of processors.
    pub(crate) fn report(&self) -> Option<&DeviceReport> {
        match self {
            Self::Cpu(_) => None,
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => Some(gpu.report()),
        }
    }

    /// What the device is called in policy files.
    pub(crate) fn policy_key(&self) -> Option<String> {
        match self {
            Self::Cpu(_) => None,
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => Some(policy::device_key(gpu.report())),
        }
    }

    /// Runs something where variants run: in the pool, where there is one.
    pub(crate) fn within<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match self {
            Self::Cpu(pool) => pool.install(work),
            #[cfg(feature = "gpu")]
            Self::Gpu(_) => work(),
        }
    }

    /// Inputs and outputs in the memory of this machine.
    pub(crate) fn stage(&self, inputs: &[Array], outputs: &[Layout]) -> Outcome<Staged> {
        Ok(match self {
            Self::Cpu(_) => Staged::Cpu {
                inputs: inputs.to_vec(),
                outputs: outputs.iter().copied().map(Array::new).collect(),
            },
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => {
                let upload = |input: &Array| gpu.upload(&input.to_words());
                let outputs = outputs.iter().map(|layout| guarded(gpu, layout.words().max(4)));
                Staged::Gpu {
                    gpu: gpu.clone(),
                    inputs: inputs.iter().map(upload).collect::<Result<_, DeviceError>>()?,
                    outputs: outputs.collect::<Result<_, DeviceError>>()?,
                }
            }
        })
    }

    /// Memory that a variant wants for itself.
    pub(crate) fn scratch(&self, layouts: &[Layout]) -> Outcome<Scratch> {
        Ok(match self {
            Self::Cpu(_) => Scratch::Cpu(layouts.iter().copied().map(Array::new).collect()),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => {
                let buffers = layouts.iter().map(|layout| gpu.buffer(layout.words()));
                Scratch::Gpu(gpu.clone(), buffers.collect::<Result<_, _>>()?)
            }
        })
    }

    /// The layout that a kernel with such layouts runs with unless another is asked for.
    pub(crate) fn tuning(&self, layouts: Option<Layouts>) -> Tuning {
        match (self, layouts) {
            #[cfg(feature = "gpu")]
            (Self::Gpu(gpu), Some((kernel, space, default))) => {
                policy::tuning(gpu.report(), kernel, &space, default)
            }
            (_, Some((_, _, default))) => default,
            _ => tuning(256, 1, 1),
        }
    }

    /// Waits for what was asked for.
    pub(crate) fn wait(&self) -> Outcome {
        match self {
            Self::Cpu(_) => Ok(()),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => Ok(gpu.sync()?),
        }
    }

    /// Whether a variant computes a case: poisons, runs, compares.
    pub(crate) fn check(
        &self,
        case: &dyn Case,
        variant: usize,
        tuning: Tuning,
        staged: &mut Staged,
        expected: &Expected,
    ) -> Outcome<Option<Difference>> {
        let mut scratch = self.scratch(&case.scratch(variant))?;
        scratch.poison(variant as u8)?;
        self.check_in(case, variant, tuning, staged, &mut scratch, expected)
    }

    /// The same in memory that is there.
    pub(crate) fn check_in(
        &self,
        case: &dyn Case,
        variant: usize,
        tuning: Tuning,
        staged: &mut Staged,
        scratch: &mut Scratch,
        expected: &Expected,
    ) -> Outcome<Option<Difference>> {
        staged.poison(variant as u8)?;
        let call = || staged.call(case, variant, tuning, scratch);
        let panicked = |panic: Box<dyn std::any::Any + Send>| {
            Err(Failure::Failed(format!("it panicked: {}", message(&*panic))))
        };
        catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(panicked)?;
        self.wait()?;
        staged.compare(expected, variant as u8)
    }

    /// How long `calls` calls take, over the sets in turn from `turn` on.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn time(
        &self,
        case: &dyn Case,
        variant: usize,
        tuning: Tuning,
        sets: &mut [Staged],
        scratch: &mut Scratch,
        turn: &mut usize,
        calls: u64,
    ) -> Outcome<Duration> {
        let mut call = || {
            *turn = (*turn + 1) % sets.len();
            sets[*turn].call(case, variant, tuning, scratch)
        };
        match self {
            Self::Cpu(_) => at_once(calls, &mut call),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => steadily(gpu, calls, &mut call),
        }
    }
}

impl Staged {
    /// The same inputs in other memory, and outputs whose pages are there: a device copies its inputs itself.
    pub(crate) fn again(&self) -> Outcome<Self> {
        Ok(match self {
            Self::Cpu { inputs, outputs } => {
                let another = |output: &Array| {
                    let mut array = Array::new(output.layout());
                    array.bytes_mut().fill(0);
                    array
                };
                Self::Cpu {
                    inputs: inputs.clone(),
                    outputs: outputs.iter().map(another).collect(),
                }
            }
            #[cfg(feature = "gpu")]
            Self::Gpu { gpu, inputs, outputs } => {
                let same = |input: &Buffer| {
                    let another = gpu.buffer(input.words())?;
                    // Buffers hold whole vectors of four words.
                    copy(gpu, input, &another, input.words())?;
                    Ok(another)
                };
                let outputs = outputs.iter().map(|output| guarded(gpu, output.inside.words()));
                Self::Gpu {
                    gpu: gpu.clone(),
                    inputs: inputs.iter().map(same).collect::<Result<_, DeviceError>>()?,
                    outputs: outputs.collect::<Result<_, DeviceError>>()?,
                }
            }
        })
    }

    /// Calls a variant once. On a device, it may still run on the return.
    pub(crate) fn call(
        &mut self,
        case: &dyn Case,
        variant: usize,
        #[allow(unused_variables)] tuning: Tuning,
        scratch: &mut Scratch,
    ) -> Outcome {
        match (self, scratch) {
            (Self::Cpu { inputs, outputs }, Scratch::Cpu(scratch)) => {
                let call = OnCpu {
                    inputs,
                    outputs,
                    scratch,
                };
                case.on_cpu(variant, call)
            }
            #[cfg(feature = "gpu")]
            (Self::Gpu { gpu, inputs, outputs }, Scratch::Gpu(_, scratch)) => {
                let outputs: Vec<Buffer> = outputs.iter().map(|output| output.inside.clone()).collect();
                let call = OnGpu {
                    gpu,
                    inputs,
                    outputs: &outputs,
                    scratch,
                    tuning,
                };
                case.on_gpu(variant, &call)
            }
            #[cfg(feature = "gpu")]
            _ => Err(Failure::Failed("memory of another machine".to_owned())),
        }
    }

    /// Overwrites the outputs with what nobody computes: another byte for each `salt`.
    fn poison(&mut self, salt: u8) -> Outcome {
        match self {
            Self::Cpu { outputs, .. } => poison_arrays(outputs, salt),
            #[cfg(feature = "gpu")]
            Self::Gpu { gpu, outputs, .. } => {
                let wholes = outputs.iter().map(|output| &output.whole);
                poison_buffers(gpu, wholes, salt)?;
            }
        }
        Ok(())
    }

    /// Where the outputs are not what they should be, of those that had the poison of `salt` before.
    fn compare(
        &self,
        expected: &Expected,
        #[allow(unused_variables)] salt: u8,
    ) -> Outcome<Option<Difference>> {
        let judge = |output: usize, trespass: Option<i64>, bytes: &[u8]| {
            let (array, defined) = (&expected.outputs[output], expected.defined[output]);
            let guard = trespass.map(|distance| Difference::Guard { output, distance });
            guard.or_else(|| compare(output, array, bytes, defined, expected.rows, expected.tolerance))
        };
        match self {
            Self::Cpu { outputs, .. } => {
                let mut outputs = outputs.iter().enumerate();
                Ok(outputs.find_map(|(k, output)| judge(k, output.trespass(), output.bytes())))
            }
            #[cfg(feature = "gpu")]
            Self::Gpu { gpu, inputs, outputs } => {
                for (k, output) in outputs.iter().enumerate() {
                    let (array, width) = (&expected.outputs[k], expected.outputs[k].layout().kind.bytes());
                    if output.is_exact(gpu, array, expected.defined[k] * width, poison(salt))? {
                        continue;
                    }
                    let bytes = gpu.read(&output.whole, output.whole.words()).wait()?;
                    let inside = GUARD * 4..GUARD * 4 + output.inside.words() * 4;
                    let trespass = trespass(&bytes, &inside, poison(salt));
                    if let Some(difference) = judge(k, trespass, &bytes[inside]) {
                        return Ok(Some(difference));
                    }
                }
                Ok(overwritten(gpu, inputs, &expected.inputs)?)
            }
        }
    }
}

impl Scratch {
    /// Overwrites it as outputs are: what variants find there is undefined.
    fn poison(&mut self, salt: u8) -> Outcome {
        match self {
            Self::Cpu(arrays) => poison_arrays(arrays, salt),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu, buffers) => poison_buffers(gpu, &*buffers, salt)?,
        }
        Ok(())
    }
}

fn poison_arrays(arrays: &mut [Array], salt: u8) {
    for array in arrays {
        array.bytes_mut().fill(poison(salt));
    }
}

#[cfg(feature = "gpu")]
fn poison_buffers<'a>(gpu: &Gpu, buffers: impl IntoIterator<Item = &'a Buffer>, salt: u8) -> Outcome {
    for buffer in buffers {
        fill(gpu, buffer, buffer.words(), u32::from_ne_bytes([poison(salt); 4]))?;
    }
    Ok(())
}

/// So many words between guards.
#[cfg(feature = "gpu")]
fn guarded(gpu: &Gpu, words: usize) -> Result<Guarded, DeviceError> {
    let whole = gpu.buffer(words + 2 * GUARD)?;
    let inside = gpu.part("memory between guards", &whole, GUARD as u64, words as u64)?;
    Ok(Guarded {
        whole,
        inside,
        expected: OnceLock::new(),
    })
}

const fn poison(salt: u8) -> u8 {
    // Never what guards on the CPU hold, and rarely a sample.
    0xA1 ^ (salt.wrapping_mul(29) & 0x3f)
}

/// The first input that is not what it was; large ones are not asked.
#[cfg(feature = "gpu")]
fn overwritten(gpu: &Gpu, inputs: &[Buffer], expected: &[Array]) -> Result<Option<Difference>, DeviceError> {
    for (input, (buffer, array)) in inputs.iter().zip(expected).enumerate() {
        let bytes = array.layout().bytes();
        if bytes <= 1 << 20 && gpu.read(buffer, buffer.words()).wait()?[..bytes] != *array.bytes() {
            return Ok(Some(Difference::Input { input }));
        }
    }
    Ok(None)
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_threads_than_any_machine_takes_are_refused_before_one_is_started() {
        for threads in [MAX_THREADS + 1, 20_000, usize::MAX] {
            let error = Machine::cpu(threads).err().map(|error| error.to_string());
            let told = |error: String| error.contains(&threads.to_string()) && error.contains("1024");
            assert!(error.is_some_and(told), "{threads}");
        }
        assert!(Machine::cpu(3).is_ok());
    }
}
