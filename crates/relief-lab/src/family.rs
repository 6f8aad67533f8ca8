//! The form of a ladder: problems, what is right, and the variants that compete.
//!
//! A [`Family`] is a folder or a file of `families`. It holds [`Ladder`]s; a ladder is one thing to compute, defined by a
//! [`Problem`], and the [`Variant`]s that compute it, from naive to best. To add a variant, write one function
//! and one row; to add a ladder, implement `Problem` for a small struct that says the size and the parameters.
//!
//! The reference of a problem is written to be right: plain loops, one element at a time. It shares no code with what it judges in production; what defines a problem, such as
//! weights and the places of a lattice, may be the same for both (`docs/lab.md` says where). It is never timed.

#[cfg(feature = "gpu")]
use std::ops::RangeBounds;

use relief_kernels::device::DeviceReport;
#[cfg(feature = "gpu")]
use relief_kernels::device::{Buffer, DeviceError, Gpu};
use relief_kernels::policy::{Space, Tuning};

use crate::array::{Array, Fill, Layout};

/// Ladders that belong together.
pub struct Family {
    /// What the command line calls it.
    pub name: &'static str,
    /// What it is about, in a line.
    pub about: &'static str,
    /// The machine that the figures of the source are from.
    pub source: &'static str,
    /// The problem that the figures of the source are of, as a case of a ladder is called; empty where it does not tell.
    pub source_size: &'static str,
    /// Why the winner wins, as sentences in Markdown.
    pub wins: &'static str,
    /// What loses, and why.
    pub loses: &'static str,
    /// Its ladders.
    pub ladders: Vec<Box<dyn AnyLadder>>,
}

/// One thing to compute, of one size and with its parameters.
pub trait Problem: Send + Sync {
    /// Which of the ladder's problems it is: "2^24 u32", "k = 51".
    fn label(&self) -> String;

    /// Elements that it computes: those of the first output, unless these are something else.
    fn elements(&self) -> u64 {
        self.outputs().first().map_or(0, |output| output.len as u64)
    }

    /// What goes in.
    fn inputs(&self, fill: Fill) -> Vec<Array>;

    /// What comes out: kinds and lengths.
    fn outputs(&self) -> Vec<Layout>;

    /// Computes it, one element after the other. The outputs are zeros before.
    fn reference(&self, inputs: &[Array], outputs: &mut [Array]);

    /// The least that any way of computing it has to do.
    fn work(&self) -> Work;

    /// Bytes of inputs and outputs, about: more for those that hold what is not needed.
    fn memory(&self) -> u64 {
        let work = self.work();
        work.read.saturating_add(work.written)
    }

    /// How far from the reference a result may lie, by the kind of its inputs: sums of whole numbers are exact in any order.
    fn tolerance(&self, _: Fill) -> Tolerance {
        Tolerance::Exact
    }

    /// How many elements of each output mean something, given the reference's outputs; all of them unless the length
    /// depends on the input.
    fn defined(&self, expected: &[Array]) -> Vec<usize> {
        expected.iter().map(|output| output.layout().len).collect()
    }

    /// How the outputs lie in memory, where rows are further apart than they are long: what is between them means nothing.
    fn rows(&self) -> Option<Rows> {
        None
    }

    /// Where it stands on the axis of a sweep.
    fn place(&self) -> Option<f64> {
        None
    }
}

/// Rows that are stored one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Elements of a row.
    pub len: usize,
    /// Elements from the start of a row to that of the next, no fewer.
    pub pitch: usize,
}

impl Rows {
    /// Whether an element is one of a row, and not between two of them.
    #[must_use]
    pub const fn hold(&self, index: usize) -> bool {
        match index.checked_rem(self.pitch) {
            Some(column) => column < self.len,
            None => false,
        }
    }
}

/// How far from the reference a result may lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// The same bits.
    Exact,
    /// At most so far.
    Absolute(f64),
    /// At most this part of the greater of the reference's size and 1.
    Relative(f64),
}

/// What limits a kernel beside memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Additions of f32.
    F32Add,
    /// Fused multiply-adds of f32, one operation each.
    F32MultiplyAdd,
    /// Multiply-adds of f16 into sums of f32; by matrix instructions, where there are any.
    F16MultiplyAdd,
    /// Multiply-adds of bf16 into sums of f32; by matrix instructions, where there are any.
    Bf16MultiplyAdd,
    /// An addition and a minimum of f32, one operation together.
    F32AddMin,
    /// Additions of integers of 32 bits.
    IntegerAdd,
    /// An addition and a minimum of integers of 32 bits, one operation together.
    IntegerAddMin,
    /// One over the square root of an f32.
    F32InverseRoot,
    /// The pull of a body on another: 12 operations of f32 and an inverse root, as many slots of a scheduler.
    F32Pull,
    /// A byte to a device and another one back at the same time.
    BusByte,
    /// A byte from a device to the host.
    DownByte,
}

impl Operation {
    /// What reports call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32Add => "f32 add",
            Self::F32MultiplyAdd => "f32 multiply-add",
            Self::F16MultiplyAdd => "f16 multiply-add, f32 sum",
            Self::Bf16MultiplyAdd => "bf16 multiply-add, f32 sum",
            Self::F32AddMin => "f32 add, min",
            Self::IntegerAdd => "u32 add",
            Self::IntegerAddMin => "u32 add, min",
            Self::F32InverseRoot => "f32 1/√",
            Self::F32Pull => "f32 pull of a body",
            Self::BusByte => "byte each way over the bus",
            Self::DownByte => "byte from device to host",
        }
    }
}

/// The least bytes and operations of a problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Bytes of inputs that are needed, each once.
    pub read: u64,
    /// Bytes of outputs.
    pub written: u64,
    /// How many operations, and which.
    pub operations: Option<(Operation, u64)>,
}

impl Work {
    /// Bytes alone: what is left is as good as free.
    #[must_use]
    pub const fn bytes(read: u64, written: u64) -> Self {
        Self {
            read,
            written,
            operations: None,
        }
    }

    /// With so many operations.
    #[must_use]
    pub const fn operations(self, which: Operation, count: u64) -> Self {
        Self {
            operations: Some((which, count)),
            ..self
        }
    }

    /// Bytes read and written.
    #[must_use]
    pub const fn moved(&self) -> u64 {
        self.read + self.written
    }
}

/// Why a variant gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The device cannot run it, or not at this size.
    #[error("{0}")]
    Unsupported(String),
    /// It should have run.
    #[error("{0}")]
    Failed(String),
}

#[cfg(feature = "gpu")]
impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Unsupported { reason, .. } | DeviceError::OutOfMemory { reason, .. } => {
                Self::Unsupported(reason)
            }
            DeviceError::Limit { .. } | DeviceError::Kind { .. } | DeviceError::Layout { .. } => {
                Self::Unsupported(error.to_string())
            }
            // A kernel that does not compile is a defect: a variant knows beforehand what a device lacks, and says so.
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// What a variant comes to.
pub type Outcome<T = ()> = Result<T, Failure>;

/// A call on the CPU. Variants run inside a pool of rayon with the lab's threads; who wants one thread uses none of it.
pub struct OnCpu<'a> {
    /// As [`Problem::inputs`] made them.
    pub inputs: &'a [Array],
    /// As [`Problem::outputs`] asked for them; what they hold is undefined.
    pub outputs: &'a mut [Array],
    /// As [`Variant::scratch`] asked for it; what it holds is undefined.
    pub scratch: &'a mut [Array],
}

/// A call on a device, which only has to be asked for: the lab waits.
///
/// Buffers hold whole vectors of four words. What a variant writes after the last element, up to that, means nothing.
#[cfg(feature = "gpu")]
pub struct OnGpu<'a> {
    /// The device.
    pub gpu: &'a Gpu,
    /// As [`Problem::inputs`] made them.
    pub inputs: &'a [Buffer],
    /// As [`Problem::outputs`] asked for them; what they hold is undefined.
    pub outputs: &'a [Buffer],
    /// As [`Variant::scratch`] asked for it; what it holds is undefined.
    pub scratch: &'a [Buffer],
    /// The layout asked for, of the variant's space.
    pub tuning: Tuning,
}

/// Units of a plane of a device, where there is one number and the variant has a use for it.
///
/// # Errors
///
/// [`Failure::Unsupported`] where planes differ or have another number of units.
#[cfg(feature = "gpu")]
pub fn lanes(gpu: &Gpu, wanted: impl RangeBounds<u32>) -> Outcome<u32> {
    match gpu.report().plane {
        (least, most) if least == most && wanted.contains(&most) => Ok(most),
        (least, most) => Err(Failure::Unsupported(format!("planes of {least} to {most} units"))),
    }
}

/// What a variant does on the CPU.
type CpuRun<P> = Box<dyn Fn(&P, OnCpu<'_>) -> Outcome + Send + Sync>;

/// What a variant does on a device.
#[cfg(feature = "gpu")]
type GpuRun<P> = Box<dyn Fn(&P, &OnGpu<'_>) -> Outcome + Send + Sync>;

enum Run<P> {
    Cpu(CpuRun<P>),
    #[cfg(feature = "gpu")]
    Gpu(GpuRun<P>),
}

/// One way of computing a ladder's problems.
pub struct Variant<P> {
    about: About,
    run: Run<P>,
    /// What can be tuned of it, where that depends on the problem.
    layouts: Option<fn(&P, &DeviceReport) -> Layouts>,
    scratch: fn(&P) -> Vec<Layout>,
}

/// How a kernel is called in policy files, the layouts that can be tuned, and the default.
pub type Layouts = (&'static str, Space, Tuning);

/// So many units of a cube, vectors of a unit and words of a vector.
pub(crate) const fn tuning(units: u32, items: u32, vector: u32) -> Tuning {
    Tuning { units, items, vector }
}

/// What is told of a variant.
#[derive(Clone, Debug)]
pub struct About {
    /// What the command line calls it.
    pub name: String,
    /// The idea, in a line.
    pub idea: &'static str,
    /// Whether it runs on devices.
    pub gpu: bool,
    /// What the source measured for it.
    pub source: Option<&'static str>,
    /// Whether it is what production uses.
    pub production: bool,
    /// Whether it keeps what it makes of inputs.
    pub keeps: bool,
    /// What can be tuned of it; where that depends on the problem, what most problems have.
    pub tuning: Option<Layouts>,
    /// Whether production computes by something else on software Vulkan: a layout found there would be of no
    /// use.
    pub untuned_on_software: bool,
}

/// Whatever production uses, in every ladder.
pub const PRODUCTION: &str = "production";

impl About {
    /// Whether a name means this variant: its own, or [`PRODUCTION`] where it is what production uses.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.name == name || (self.production && name == PRODUCTION)
    }
}

impl<P> Variant<P> {
    /// A variant on the CPU.
    pub fn cpu(
        name: impl Into<String>,
        idea: &'static str,
        run: impl Fn(&P, OnCpu<'_>) -> Outcome + Send + Sync + 'static,
    ) -> Self {
        Self::new(name.into(), idea, false, Run::Cpu(Box::new(run)))
    }

    /// A variant on devices.
    #[cfg(feature = "gpu")]
    pub fn gpu(
        name: impl Into<String>,
        idea: &'static str,
        run: impl Fn(&P, &OnGpu<'_>) -> Outcome + Send + Sync + 'static,
    ) -> Self {
        Self::new(name.into(), idea, true, Run::Gpu(Box::new(run)))
    }

    fn new(name: String, idea: &'static str, gpu: bool, run: Run<P>) -> Self {
        let about = About {
            name,
            idea,
            gpu,
            source: None,
            production: false,
            keeps: false,
            tuning: None,
            untuned_on_software: false,
        };
        Self {
            about,
            run,
            layouts: None,
            scratch: |_| Vec::new(),
        }
    }

    /// With what the source measured for it.
    #[must_use]
    pub const fn source(mut self, figure: &'static str) -> Self {
        self.about.source = Some(figure);
        self
    }

    /// Without what the source measured, in a ladder of another problem.
    #[must_use]
    pub const fn without_source(mut self) -> Self {
        self.about.source = None;
        self
    }

    /// As what production uses.
    #[must_use]
    pub const fn production(mut self) -> Self {
        self.about.production = true;
        self
    }

    /// As one that keeps what it makes of inputs, as production does before a render: it is called with all of them before the clock starts.
    #[must_use]
    pub const fn keeps(mut self) -> Self {
        self.about.keeps = true;
        self
    }

    /// With layouts to choose from, and what the kernel is called in policy files.
    #[must_use]
    pub const fn tuned(mut self, kernel: &'static str, space: Space, default: Tuning) -> Self {
        self.about.tuning = Some((kernel, space, default));
        self
    }

    /// With layouts that depend on the problem and on the device, as many of them for each.
    #[must_use]
    pub const fn tuned_by(mut self, layouts: fn(&P, &DeviceReport) -> Layouts) -> Self {
        self.layouts = Some(layouts);
        self
    }

    /// As one whose layout production asks for on hardware alone.
    #[must_use]
    pub const fn untuned_on_software(mut self) -> Self {
        self.about.untuned_on_software = true;
        self
    }

    /// With memory of its own, which is there before the clock starts.
    #[must_use]
    pub fn scratch(mut self, layouts: fn(&P) -> Vec<Layout>) -> Self {
        self.scratch = layouts;
        self
    }
}

/// What a machine can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Processors.
    Cpu,
    /// Software Vulkan: a device that processors emulate.
    Software,
    /// A device.
    Gpu,
}

/// How large the problems of a run are.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// What they run on.
    pub class: Class,
    /// Whether a minute has to do.
    pub quick: bool,
    /// The one size asked for, in elements.
    pub size: Option<u64>,
}

impl Scale {
    /// The usual sizes, in elements.
    #[must_use]
    pub fn sizes(&self) -> Vec<u64> {
        self.or_these(match (self.class, self.quick) {
            (Class::Cpu, true) => &[1 << 22],
            (Class::Cpu, false) => &[1 << 20, 1 << 24, 1 << 27],
            (Class::Software, true) => &[1 << 18],
            (Class::Software, false) => &[1 << 20, 1 << 22],
            (Class::Gpu, true) => &[1 << 24],
            (Class::Gpu, false) => &[1 << 20, 1 << 24, 1 << 28],
        })
    }

    /// The one size asked for, else these, in elements.
    pub(crate) fn or_these(&self, usual: &[u64]) -> Vec<u64> {
        self.size.map_or(usual.to_vec(), |size| vec![size])
    }

    /// The side of a square of the one size asked for, else these sides.
    pub(crate) fn sides_or(&self, usual: &[usize]) -> Vec<usize> {
        let asked = |size: u64| vec![size.isqrt().max(1) as usize];
        self.size.map_or(usual.to_vec(), asked)
    }

    /// The size asked for, else this one, in elements.
    #[must_use]
    pub fn or(&self, size: u64) -> u64 {
        self.size.unwrap_or(size)
    }
}

/// Width and height of a raster of about so many pixels. Powers of two, the worst of sizes, have sides that are powers of two.
#[must_use]
pub const fn sides(pixels: u64) -> (usize, usize) {
    let width = match pixels.is_power_of_two() {
        true => 1 << pixels.ilog2().div_ceil(2),
        false if pixels == 0 => 1,
        false => pixels.isqrt(),
    };
    (width as usize, (pixels / width) as usize)
}

/// Lengths at which loops, vectors, planes and cubes end in every way; 0 and 1 among them.
pub const LENGTHS: [usize; 14] = [0, 1, 2, 3, 4, 5, 31, 33, 64, 255, 1_000, 4_097, 65_536, 70_001];

/// A problem's variants, from naive to best.
pub struct Ladder<P> {
    name: &'static str,
    about: &'static str,
    axis: Option<&'static str>,
    checks: Box<dyn Fn() -> Vec<P> + Send + Sync>,
    cases: Box<dyn Fn(Scale) -> Vec<P> + Send + Sync>,
    huge: Box<dyn Fn() -> Vec<P> + Send + Sync>,
    variants: Vec<Variant<P>>,
}

impl<P: 'static> Ladder<P> {
    /// The variants of `name`, which is the family's or "family/name", with the definition of the result in a line.
    #[must_use]
    pub fn new(name: &'static str, about: &'static str, variants: Vec<Variant<P>>) -> Self {
        Self {
            name,
            about,
            axis: None,
            checks: Box::new(Vec::new),
            cases: Box::new(|_| Vec::new()),
            huge: Box::new(Vec::new),
            variants,
        }
    }

    /// With what is swept, where [`Problem::place`] says so.
    #[must_use]
    pub const fn axis(mut self, axis: &'static str) -> Self {
        self.axis = Some(axis);
        self
    }

    /// With small problems that a variant has to get right before it is timed: empty, one element, odd sizes.
    #[must_use]
    pub fn checks(mut self, checks: impl Fn() -> Vec<P> + Send + Sync + 'static) -> Self {
        self.checks = Box::new(checks);
        self
    }

    /// With the problems that are timed.
    #[must_use]
    pub fn cases(mut self, cases: impl Fn(Scale) -> Vec<P> + Send + Sync + 'static) -> Self {
        self.cases = Box::new(cases);
        self
    }

    /// With problems of more than 2^32 bytes, checked on devices where asked for.
    #[must_use]
    pub fn huge(mut self, huge: impl Fn() -> Vec<P> + Send + Sync + 'static) -> Self {
        self.huge = Box::new(huge);
        self
    }

    /// With problems that differ by their length alone: [`LENGTHS`] are checked, the usual sizes timed, and `huge` is too long for words of 32 bits.
    #[must_use]
    pub fn of_lengths(self, huge: usize, of: impl Fn(usize) -> P + Clone + Send + Sync + 'static) -> Self {
        let (timed, far) = (of.clone(), of.clone());
        self.checks(move || LENGTHS.into_iter().map(&of).collect())
            .cases(move |scale| scale.sizes().into_iter().map(|len| timed(len as usize)).collect())
            .huge(move || vec![far(huge)])
    }
}

/// A ladder of whatever problems.
pub trait AnyLadder: Send + Sync {
    /// What the command line calls it.
    fn name(&self) -> &'static str;
    /// The definition of the result.
    fn about(&self) -> &'static str;
    /// What is swept.
    fn axis(&self) -> Option<&'static str>;
    /// What is told of the variants, in order.
    fn variants(&self) -> Vec<&About>;
    /// Small problems to check.
    fn checks(&self) -> Vec<Box<dyn Case + '_>>;
    /// Problems to time.
    fn cases(&self, scale: Scale) -> Vec<Box<dyn Case + '_>>;
    /// Problems of more than 2^32 bytes.
    fn huge(&self) -> Vec<Box<dyn Case + '_>>;
}

/// A problem of a ladder, together with the ladder's variants, which are named by their numbers.
pub trait Case: Send + Sync {
    /// The problem.
    fn problem(&self) -> &dyn Problem;
    /// Memory that a variant wants.
    fn scratch(&self, variant: usize) -> Vec<Layout>;
    /// What can be tuned of a variant for this problem.
    fn layouts(&self, variant: usize, device: Option<&DeviceReport>) -> Option<Layouts>;
    /// Calls a variant on the CPU.
    ///
    /// # Errors
    /// Where it cannot run, or fails.
    fn on_cpu(&self, variant: usize, call: OnCpu<'_>) -> Outcome;
    /// Calls a variant on a device.
    ///
    /// # Errors
    /// Where it cannot run, or fails.
    #[cfg(feature = "gpu")]
    fn on_gpu(&self, variant: usize, call: &OnGpu<'_>) -> Outcome;
}

struct Bound<'a, P> {
    ladder: &'a Ladder<P>,
    problem: P,
}

impl<P: Problem + 'static> AnyLadder for Ladder<P> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn axis(&self) -> Option<&'static str> {
        self.axis
    }

    fn variants(&self) -> Vec<&About> {
        self.variants.iter().map(|variant| &variant.about).collect()
    }

    fn checks(&self) -> Vec<Box<dyn Case + '_>> {
        self.bind((self.checks)())
    }

    fn cases(&self, scale: Scale) -> Vec<Box<dyn Case + '_>> {
        self.bind((self.cases)(scale))
    }

    fn huge(&self) -> Vec<Box<dyn Case + '_>> {
        self.bind((self.huge)())
    }
}

impl<P: Problem + 'static> Ladder<P> {
    /// The problems, with the variants of this ladder.
    pub(crate) fn bind(&self, problems: Vec<P>) -> Vec<Box<dyn Case + '_>> {
        let bind = |problem| -> Box<dyn Case + '_> {
            Box::new(Bound {
                ladder: self,
                problem,
            })
        };
        problems.into_iter().map(bind).collect()
    }
}

impl<P: Problem> Case for Bound<'_, P> {
    fn problem(&self) -> &dyn Problem {
        &self.problem
    }

    fn scratch(&self, variant: usize) -> Vec<Layout> {
        (self.ladder.variants[variant].scratch)(&self.problem)
    }

    fn layouts(&self, variant: usize, device: Option<&DeviceReport>) -> Option<Layouts> {
        let variant = &self.ladder.variants[variant];
        let layouts = variant.layouts.zip(device);
        let layouts = layouts.map(|(layouts, device)| layouts(&self.problem, device));
        layouts.or(variant.about.tuning)
    }

    fn on_cpu(&self, variant: usize, call: OnCpu<'_>) -> Outcome {
        match &self.ladder.variants[variant].run {
            Run::Cpu(run) => run(&self.problem, call),
            #[cfg(feature = "gpu")]
            Run::Gpu(_) => Err(Failure::Unsupported("it runs on devices".to_owned())),
        }
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(&self, variant: usize, call: &OnGpu<'_>) -> Outcome {
        match &self.ladder.variants[variant].run {
            Run::Gpu(run) => run(&self.problem, call),
            Run::Cpu(_) => Err(Failure::Unsupported("it runs on the CPU".to_owned())),
        }
    }
}
