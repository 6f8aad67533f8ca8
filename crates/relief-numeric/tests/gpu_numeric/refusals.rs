//! Each mistake of a caller has an error of its own, the same from every family, and writes nothing.

use relief_kernels::device::{Buffer, DeviceError, Gpu};
use relief_kernels::policy::Tuning;
use relief_numeric::element::Element;
use relief_numeric::integral::Sums;
use relief_numeric::nbody::gpu::{Bodies, accelerations_with};
use relief_numeric::nbody::{Interaction, Space};
use relief_numeric::reduce::Operation;
use relief_numeric::scan::Kind;
use relief_numeric::select::gpu::{Elements, Output, Selection, Wanted, select};
use relief_numeric::stencil::Filter;
use relief_numeric::stencil::gpu::Size;
use relief_numeric::{
    bilateral, histogram, integral, matmul, matvec, min_plus, morphology, reduce, scan, stencil, transpose,
};

use crate::support::device;

/// What is wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// Its input, output or scratch memory is too short.
    Short,
    /// Rows overlap.
    Pitch,
    /// Rows do not begin at whole vectors.
    Unaligned,
    /// No kernel computes such numbers.
    Kind,
    /// No kernel has such a layout.
    Layout,
    /// Counts that belong together differ.
    Mismatch,
    /// More than kernels count.
    Limit,
}

impl Wrong {
    fn of(error: &DeviceError) -> Option<Self> {
        match error {
            DeviceError::Short { .. } => Some(Self::Short),
            DeviceError::Pitch { .. } => Some(Self::Pitch),
            DeviceError::Unaligned { .. } => Some(Self::Unaligned),
            DeviceError::Kind { .. } => Some(Self::Kind),
            DeviceError::Layout { .. } => Some(Self::Layout),
            DeviceError::Mismatch { .. } => Some(Self::Mismatch),
            DeviceError::Limit { .. } => Some(Self::Limit),
            _ => None,
        }
    }
}

/// Buffers that hold 16 rows of 16 words.
struct Held {
    from: Buffer,
    more: Buffer,
    to: Buffer,
    scratch: Buffer,
    short: Buffer,
}

const SIDE: u32 = 16;

/// A layout that no kernel has.
const ODD: Tuning = Tuning {
    units: 33,
    items: 7,
    vector: 3,
};

type Call = fn(&Gpu, &Held) -> Result<(), DeviceError>;

macro_rules! rows {
    ($kind:ident, $buffer:expr, $pitch:expr) => {
        $kind {
            buffer: $buffer,
            pitch: $pitch,
        }
    };
}

fn reduced(gpu: &Gpu, held: &Held, from: &Buffer, (height, pitch): (u32, u64)) -> Result<(), DeviceError> {
    let rows = reduce::gpu::Rows {
        buffer: from,
        element: Element::U32,
        width: SIDE.into(),
        height,
        pitch,
    };
    reduce::gpu::reduce(gpu, Operation::Sum, rows, &held.to, &held.scratch)
}

fn multiplied(gpu: &Gpu, held: &Held, from: &Buffer, pitch: u32) -> Result<(), DeviceError> {
    use matmul::gpu::{Rows, Shape, multiply};
    let shape = Shape {
        rows: SIDE,
        inner: SIDE,
        columns: SIDE,
    };
    let right = rows!(Rows, &held.more, SIDE);
    multiply(
        gpu,
        shape,
        rows!(Rows, from, pitch),
        right,
        rows!(Rows, &held.to, SIDE),
    )
}

fn lengths(gpu: &Gpu, held: &Held, element: Element, from: &Buffer, pitch: u32) -> Result<(), DeviceError> {
    use min_plus::gpu::{Matrix, Size, min_plus};
    let size = Size {
        rows: SIDE,
        inner: SIDE,
        columns: SIDE,
    };
    let (a, b) = (rows!(Matrix, from, pitch), rows!(Matrix, &held.more, SIDE));
    min_plus(
        gpu,
        element,
        size,
        a,
        b,
        rows!(Matrix, &held.to, SIDE),
        &held.scratch,
    )
}

fn vector(gpu: &Gpu, held: &Held, from: &Buffer, pitch: u32) -> Result<(), DeviceError> {
    let matrix = matvec::gpu::Matrix {
        buffer: from,
        rows: SIDE,
        columns: SIDE,
        pitch,
    };
    matvec::gpu::matrix_vector(gpu, matrix, &held.more, &held.to, &held.scratch)
}

fn transposed(gpu: &Gpu, held: &Held, bits: u32, from: &Buffer, pitch: u32) -> Result<(), DeviceError> {
    use transpose::gpu::{Matrix, transpose};
    let (from, to) = (rows!(Matrix, from, pitch), rows!(Matrix, &held.to, SIDE));
    transpose(gpu, bits, (SIDE, SIDE), from, to)
}

fn summed(gpu: &Gpu, held: &Held, from: &Buffer, pitch: u32) -> Result<(), DeviceError> {
    use integral::gpu::integral;
    use transpose::gpu::Matrix;
    let (from, to) = (rows!(Matrix, from, pitch), rows!(Matrix, &held.to, SIDE));
    integral(gpu, Sums::Floats, (SIDE, SIDE), from, to, &held.scratch)
}

fn smoothed(gpu: &Gpu, held: &Held, element: Element, from: &Buffer, pitch: u32) -> Result<(), DeviceError> {
    use bilateral::gpu::bilateral;
    use transpose::gpu::Matrix;
    let job = bilateral::Bilateral {
        width: SIDE,
        height: SIDE,
        spatial: 4,
        range: 1 << 17,
    };
    let (from, to) = (rows!(Matrix, from, pitch), rows!(Matrix, &held.to, SIDE));
    bilateral(gpu, element, job, from, to, &held.scratch)
}

fn filtered(gpu: &Gpu, filter: &Filter, from: &Buffer, to: &Buffer) -> Result<(), DeviceError> {
    let size = Size {
        samples: stencil::gpu::Samples::Floats,
        width: SIDE,
        height: SIDE,
    };
    stencil::gpu::apply(gpu, filter, size, from, to)
}

fn counted(gpu: &Gpu, held: &Held, bits: u32, counts: &Buffer) -> Result<(), DeviceError> {
    let samples = histogram::gpu::Samples {
        buffer: &held.from,
        bits,
        len: 64,
    };
    histogram::gpu::histogram(gpu, samples, counts, &held.scratch)
}

fn selected(gpu: &Gpu, held: &Held, kind: Element, wanted: Wanted<'_>, len: u64) -> Result<(), DeviceError> {
    let selection = Selection {
        from: Elements {
            buffer: &held.from,
            kind,
            len,
        },
        wanted,
        output: Output::Values(&held.to),
        count: &held.more,
        scratch: &held.scratch,
    };
    select(gpu, &selection)
}

fn pulled(gpu: &Gpu, held: &Held, parts: usize, from: &Buffer) -> Result<(), DeviceError> {
    let of = |buffer| Bodies { buffer, count: 16 };
    let gravity = Interaction::new(Space::Free, 1.0, 1.0).unwrap();
    let tuning = relief_numeric::nbody::gpu::DEFAULT;
    let (bodies, to) = (of(from), &held.to);
    accelerations_with(
        gpu,
        tuning,
        parts,
        &gravity,
        bodies,
        of(&held.more),
        to,
        &held.scratch,
    )
}

fn scanned(gpu: &Gpu, held: &Held, from: &Buffer, len: u64) -> Result<(), DeviceError> {
    scan::gpu::scan(
        gpu,
        Kind::Inclusive,
        Element::U32,
        len,
        from,
        &held.to,
        &held.scratch,
    )
}

fn dilated(gpu: &Gpu, held: &Held, element: Element, from: &Buffer) -> Result<(), DeviceError> {
    use morphology::gpu::{Morphology, Size};
    let function = morphology::StructuringFunction::new(0, &[Some(1_i32)]).unwrap();
    let size = Size {
        width: SIDE,
        height: SIDE,
    };
    Morphology::new(gpu, morphology::Operator::Dilation, &function, element)?.apply(gpu, size, from, &held.to)
}

/// What is called, what is wrong with it, and the call.
const CALLS: &[(&str, Wrong, Call)] = &[
    ("reduce", Wrong::Short, |gpu, held| {
        reduced(gpu, held, &held.short, (16, 16))
    }),
    ("reduce", Wrong::Pitch, |gpu, held| {
        reduced(gpu, held, &held.from, (16, 12))
    }),
    ("reduce", Wrong::Unaligned, |gpu, held| {
        reduced(gpu, held, &held.from, (4, 18))
    }),
    ("reduce", Wrong::Short, |gpu, held| {
        reduced(gpu, held, &held.from, (1 << 20, 16))
    }),
    ("matmul", Wrong::Short, |gpu, held| {
        multiplied(gpu, held, &held.short, 16)
    }),
    ("matmul", Wrong::Pitch, |gpu, held| {
        multiplied(gpu, held, &held.from, 12)
    }),
    ("matmul", Wrong::Unaligned, |gpu, held| {
        multiplied(gpu, held, &held.from, 17)
    }),
    ("min-plus", Wrong::Short, |gpu, held| {
        lengths(gpu, held, Element::F32, &held.short, 16)
    }),
    ("min-plus", Wrong::Pitch, |gpu, held| {
        lengths(gpu, held, Element::F32, &held.from, 12)
    }),
    ("min-plus", Wrong::Unaligned, |gpu, held| {
        lengths(gpu, held, Element::F32, &held.from, 18)
    }),
    ("min-plus", Wrong::Kind, |gpu, held| {
        lengths(gpu, held, Element::U8, &held.from, 16)
    }),
    ("matvec", Wrong::Short, |gpu, held| {
        vector(gpu, held, &held.short, 16)
    }),
    ("matvec", Wrong::Pitch, |gpu, held| {
        vector(gpu, held, &held.from, 12)
    }),
    ("matvec", Wrong::Unaligned, |gpu, held| {
        vector(gpu, held, &held.from, 18)
    }),
    ("transpose", Wrong::Short, |gpu, held| {
        transposed(gpu, held, 32, &held.short, 16)
    }),
    ("transpose", Wrong::Pitch, |gpu, held| {
        transposed(gpu, held, 32, &held.from, 12)
    }),
    ("transpose", Wrong::Unaligned, |gpu, held| {
        transposed(gpu, held, 32, &held.from, 18)
    }),
    ("transpose", Wrong::Kind, |gpu, held| {
        transposed(gpu, held, 12, &held.from, 16)
    }),
    ("integral", Wrong::Short, |gpu, held| {
        summed(gpu, held, &held.short, 16)
    }),
    ("integral", Wrong::Pitch, |gpu, held| {
        summed(gpu, held, &held.from, 12)
    }),
    ("integral", Wrong::Unaligned, |gpu, held| {
        summed(gpu, held, &held.from, 18)
    }),
    ("bilateral", Wrong::Short, |gpu, held| {
        smoothed(gpu, held, Element::F32, &held.short, 16)
    }),
    ("bilateral", Wrong::Pitch, |gpu, held| {
        smoothed(gpu, held, Element::F32, &held.from, 12)
    }),
    ("bilateral", Wrong::Kind, |gpu, held| {
        smoothed(gpu, held, Element::U32, &held.from, 16)
    }),
    ("stencil", Wrong::Short, |gpu, held| {
        filtered(gpu, &Filter::Box(1), &held.short, &held.to)
    }),
    ("stencil", Wrong::Short, |gpu, held| {
        filtered(gpu, &Filter::Sobel, &held.from, &held.short)
    }),
    ("stencil", Wrong::Limit, |gpu, held| {
        filtered(gpu, &Filter::Erosion(64), &held.from, &held.to)
    }),
    ("histogram", Wrong::Short, |gpu, held| {
        counted(gpu, held, 8, &held.short)
    }),
    ("histogram", Wrong::Kind, |gpu, held| {
        counted(gpu, held, 12, &held.to)
    }),
    ("select", Wrong::Short, |gpu, held| {
        selected(gpu, held, Element::U32, Wanted::NonZero, 257)
    }),
    ("select", Wrong::Kind, |gpu, held| {
        selected(gpu, held, Element::U32, Wanted::Heads(4), 16)
    }),
    ("select", Wrong::Kind, |gpu, held| {
        selected(gpu, held, Element::U8, Wanted::Heads(0), 16)
    }),
    ("nbody", Wrong::Short, |gpu, held| {
        pulled(gpu, held, 1, &held.short)
    }),
    ("nbody", Wrong::Kind, |gpu, held| pulled(gpu, held, 0, &held.from)),
    ("nbody", Wrong::Limit, |gpu, held| {
        pulled(gpu, held, (1 << 16) + 1, &held.from)
    }),
    ("scan", Wrong::Short, |gpu, held| {
        scanned(gpu, held, &held.short, 256)
    }),
    ("scan", Wrong::Short, |gpu, held| {
        scanned(gpu, held, &held.from, u64::MAX)
    }),
    ("morphology", Wrong::Short, |gpu, held| {
        dilated(gpu, held, Element::U8, &held.short)
    }),
    ("morphology", Wrong::Kind, |gpu, held| {
        dilated(gpu, held, Element::F32, &held.from)
    }),
    ("simulation", Wrong::Mismatch, |gpu, _| {
        let gravity = Interaction::new(Space::Free, 1.0, 1.0).unwrap();
        relief_numeric::nbody::gpu::Simulation::new(gpu, gravity, &[], &[Default::default()]).map(|_| ())
    }),
    ("scan layout", Wrong::Layout, |gpu, held| {
        let route = scan::gpu::Route::ReduceThenScan;
        let (kind, element) = (Kind::Inclusive, Element::U32);
        scan::gpu::scan_with(
            gpu,
            ODD,
            route,
            kind,
            element,
            16,
            &held.from,
            &held.to,
            &held.scratch,
        )
    }),
    ("stencil layout", Wrong::Layout, |gpu, held| {
        let size = Size {
            samples: stencil::gpu::Samples::Floats,
            width: SIDE,
            height: SIDE,
        };
        stencil::gpu::apply_with(gpu, ODD, &Filter::Box(1), size, &held.from, &held.to)
    }),
];

#[test]
fn each_mistake_of_a_caller_has_an_error_of_its_own_and_writes_nothing() {
    let Some(gpu) = device() else { return };
    let words = [7_u32; 256];
    let held = Held {
        from: gpu.upload(&words).unwrap(),
        more: gpu.upload(&words).unwrap(),
        to: gpu.upload(&words).unwrap(),
        scratch: gpu.buffer(1 << 18).unwrap(),
        short: gpu.buffer(4).unwrap(),
    };
    for (family, wrong, call) in CALLS {
        let error = call(&gpu, &held).expect_err(family);
        assert_eq!(Wrong::of(&error), Some(*wrong), "{family}: {error}");
        assert_eq!(error.is_of_caller(), *wrong != Wrong::Limit, "{family}: {error}");
    }
    for buffer in [&held.from, &held.more, &held.to] {
        let bytes = gpu.read(buffer, 256).wait().unwrap();
        assert!(bytes.chunks(4).all(|word| word == [7, 0, 0, 0]));
    }
}
