//! What every family of kernels promises about the memory that it is given, one row for each: it is right from the first launch
//! of a device on; it never computes wrong numbers where buffers share memory, and works in parts of one buffer that do not; and it refuses
//! buffers of another device. What each family computes is tested against oracles elsewhere.
//! The families of `relief-kernels` have their rows here too, because this crate sees both.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

#[path = "../../relief-kernels/tests/support/mod.rs"]
mod support;

use relief_kernels::device::{Buffer, DeviceError, Gpu};
use relief_kernels::distance::gpu::Profile;
use relief_kernels::edge::Edge;
use relief_kernels::fold::Fold;
use relief_kernels::fused::{Expression, Plane};
use relief_kernels::gauss::Bell;
use relief_kernels::gauss::gpu::Weights;
use relief_kernels::lattice::Blend;
use relief_kernels::{copy, distance, fused, gauss, lattice, repeat, table, tiles, turn};
use relief_numeric::bilateral::Bilateral;
use relief_numeric::element::Element;
use relief_numeric::histogram::even::Bins;
use relief_numeric::integral::{Sums, Window};
use relief_numeric::morphology::gpu::Morphology;
use relief_numeric::morphology::{Operator, StructuringFunction};
use relief_numeric::nbody::gpu::Bodies;
use relief_numeric::nbody::{Interaction, Space};
use relief_numeric::reduce::Operation;
use relief_numeric::scan::Kind;
use relief_numeric::select::gpu::{Elements, Output, Selection, Wanted};
use relief_numeric::stencil::{Filter, GaussWeights};
use relief_numeric::{
    bilateral, histogram, integral, map, matmul, matvec, min_plus, nbody, reduce, scan, select, stencil,
    transpose,
};
use relief_raster::{Depth, Rect};

use support::{Random, device};

/// What outputs and scratch memory hold before.
const UNTOUCHED: u32 = 0x5EED_CAFE;

/// What lies between parts of one buffer.
const BETWEEN: u32 = 0xB07D_E12A;

/// The buffers of a call: those that it reads, those that it writes, and scratch memory.
struct Memory<'a> {
    inputs: &'a [Buffer],
    outputs: &'a [Buffer],
    scratch: &'a [Buffer],
    /// Whether there is nothing to compute.
    empty: bool,
}

impl Memory<'_> {
    /// A size, or none where there is nothing to compute.
    const fn size(&self, size: u32) -> u32 {
        if self.empty { 0 } else { size }
    }
}

type Run = Box<dyn Fn(&Gpu, &Memory<'_>) -> Result<(), DeviceError>>;

/// A buffer that is written.
struct Written {
    /// What it holds before; what is added to, and else anything.
    before: Vec<u32>,
    /// The first words, all of which are results.
    checked: usize,
}

/// A function of a family.
struct Row {
    name: &'static str,
    inputs: Vec<Vec<u32>>,
    outputs: Vec<Written>,
    scratch: Vec<usize>,
    /// Inputs and outputs that may be one buffer.
    in_place: Vec<(usize, usize)>,
    run: Run,
}

fn row(
    name: &'static str,
    inputs: Vec<Vec<u32>>,
    outputs: &[usize],
    scratch: &[u64],
    run: impl Fn(&Gpu, &Memory<'_>) -> Result<(), DeviceError> + 'static,
) -> Row {
    let written = |words: &usize| Written {
        before: vec![UNTOUCHED; *words],
        checked: *words,
    };
    Row {
        name,
        inputs,
        outputs: outputs.iter().map(written).collect(),
        scratch: scratch.iter().map(|words| *words as usize).collect(),
        in_place: Vec::new(),
        run: Box::new(run),
    }
}

impl Row {
    fn in_place(mut self, pairs: &[(usize, usize)]) -> Self {
        self.in_place = pairs.to_vec();
        self
    }

    /// Only the first words of an output are results.
    fn checked(mut self, output: usize, words: usize) -> Self {
        self.outputs[output].checked = words;
        self
    }

    /// An output that holds what is worked on.
    fn before(mut self, output: usize, words: Vec<u32>) -> Self {
        self.outputs[output].before = words;
        self
    }

    /// The words of all buffers, in the order of [`Memory`].
    fn contents(&self) -> Vec<Vec<u32>> {
        let scratch = self.scratch.iter().map(|words| vec![UNTOUCHED; *words]);
        let written = self.outputs.iter().map(|output| output.before.clone());
        self.inputs
            .iter()
            .cloned()
            .chain(written)
            .chain(scratch)
            .collect()
    }

    fn call(&self, gpu: &Gpu, buffers: &[Buffer], empty: bool) -> Result<(), DeviceError> {
        let (inputs, rest) = buffers.split_at(self.inputs.len());
        let (outputs, scratch) = rest.split_at(self.outputs.len());
        let memory = Memory {
            inputs,
            outputs,
            scratch,
            empty,
        };
        (self.run)(gpu, &memory)
    }

    fn results(&self, gpu: &Gpu, buffers: &[Buffer]) -> Vec<Vec<u32>> {
        let outputs = self.outputs.iter().zip(&buffers[self.inputs.len()..]);
        outputs
            .map(|(output, buffer)| read(gpu, buffer, output.checked))
            .collect()
    }

    /// What it computes in buffers of its own.
    fn computed(&self, gpu: &Gpu) -> Vec<Vec<u32>> {
        let buffers = upload(gpu, &self.contents());
        self.call(gpu, &buffers, false)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        self.results(gpu, &buffers)
    }

    /// It computed what it should, or refused to because memory is shared.
    fn is_right_or_refused(&self, gpu: &Gpu, buffers: &[Buffer], right: &[Vec<u32>], what: &str) -> bool {
        let name = self.name;
        match self.call(gpu, buffers, false) {
            Ok(()) => {
                assert_eq!(self.results(gpu, buffers), right, "{name}: {what}");
                true
            }
            Err(DeviceError::Overlap { .. }) => false,
            Err(error) => panic!("{name}: {what}: {error}"),
        }
    }
}

fn upload(gpu: &Gpu, contents: &[Vec<u32>]) -> Vec<Buffer> {
    contents.iter().map(|words| gpu.upload(words).unwrap()).collect()
}

fn read(gpu: &Gpu, buffer: &Buffer, words: usize) -> Vec<u32> {
    let bytes = gpu.read(buffer, words).wait().unwrap();
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

fn words(seed: u64, count: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.next() ^ random.next() << 11).collect()
}

/// Floats between 1 and 17.
fn floats(seed: u64, count: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    let float = |random: &mut Random| (1.0 + random.below(1 << 20) as f32 / 65_536.0).to_bits();
    (0..count).map(|_| float(&mut random)).collect()
}

/// Words for every byte of which `f` says whether it is set.
fn flags(seed: u64, count: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut word = || (0..4).fold(0, |word, _| word << 8 | u32::from(random.below(3) == 0));
    (0..count).map(|_| word()).collect()
}

fn plane(buffer: &Buffer, (width, height): (u32, u32)) -> Plane {
    Plane::new(buffer.clone(), 0, width / 4, width, height, Depth::Eight).unwrap()
}

fn band(memory: &Memory<'_>, width: u64, height: u64) -> Rect {
    Rect::sized(width, if memory.empty { 0 } else { height })
}

/// Every function of every family, with buffers that are longer than the 64 words from which parts of a buffer begin.
fn rows() -> Vec<Row> {
    [pointwise(), moving(), counting(), pictures(), products()]
        .into_iter()
        .flatten()
        .collect()
}

fn pointwise() -> Vec<Row> {
    const N: usize = 512;
    vec![
        row("copy", vec![words(1, N)], &[N], &[], |gpu, m| {
            copy::gpu::copy(gpu, &m.inputs[0], &m.outputs[0], m.size(N as u32) as usize)
        })
        .in_place(&[(0, 0)]),
        row("fill", vec![], &[N], &[], |gpu, m| {
            copy::gpu::fill(gpu, &m.outputs[0], m.size(N as u32) as usize, 0x0102_0304)
        }),
        row("add", vec![floats(2, N), floats(3, N)], &[N], &[], |gpu, m| {
            let count = m.size(N as u32) as usize;
            map::gpu::add(gpu, &m.inputs[0], &m.inputs[1], &m.outputs[0], count)
        })
        .in_place(&[(0, 0), (1, 0)]),
        row("scale", vec![floats(4, N)], &[N], &[], |gpu, m| {
            map::gpu::scale(gpu, &m.inputs[0], 3.5, &m.outputs[0], m.size(N as u32) as usize)
        })
        .in_place(&[(0, 0)]),
        row("gray", vec![words(5, 3 * N / 4)], &[N / 4], &[], |gpu, m| {
            map::gpu::gray(gpu, &m.inputs[0], &m.outputs[0], m.size(N as u32) as usize)
        }),
        row("table", vec![words(6, 64), words(7, N)], &[N], &[], |gpu, m| {
            let count = m.size(N as u32) as usize;
            table::gpu::map(
                gpu,
                Depth::Eight,
                &m.inputs[0],
                &m.inputs[1],
                &m.outputs[0],
                count,
            )
        })
        .in_place(&[(1, 0)]),
        row(
            "table of 16 bits",
            vec![words(8, 1 << 15), words(9, N)],
            &[N],
            &[],
            |gpu, m| {
                let count = m.size(N as u32) as usize;
                table::gpu::map(
                    gpu,
                    Depth::Sixteen,
                    &m.inputs[0],
                    &m.inputs[1],
                    &m.outputs[0],
                    count,
                )
            },
        )
        .in_place(&[(1, 0)]),
    ]
}

fn moving() -> Vec<Row> {
    let transposed = |bits: u32, name| {
        let pitch = 64 * bits / 32;
        let words_of = (64 * pitch) as usize;
        row(
            name,
            vec![words(bits.into(), words_of)],
            &[words_of],
            &[],
            move |gpu, m| {
                let matrix = |buffer| transpose::gpu::Matrix { buffer, pitch };
                let (from, to) = (matrix(&m.inputs[0]), matrix(&m.outputs[0]));
                transpose::gpu::transpose(gpu, bits, (64, m.size(64)), from, to)
            },
        )
    };
    vec![
        transposed(8, "transpose of 8 bits"),
        transposed(32, "transpose of 32 bits"),
        row(
            "repeat",
            vec![words(20, 24 * 20 / 4)],
            &[64 * 64 / 4],
            &[],
            |gpu, m| {
                let cell = repeat::gpu::Cell {
                    buffer: &m.inputs[0],
                    width: 24,
                    height: 20,
                    pitch: 24,
                };
                let to = repeat::gpu::Raster {
                    buffer: &m.outputs[0],
                    width: 64,
                    height: m.size(64),
                    pitch: 16,
                };
                repeat::gpu::expand(gpu, 8, cell, (3, 5), to)
            },
        ),
        row(
            "lattice",
            vec![words(21, 16 * 32 / 4)],
            &[64 * 32 / 4],
            &[],
            |gpu, m| {
                let lattice = lattice::gpu::Lattice {
                    pattern: plane(&m.inputs[0], (16, 32)),
                    blend: Blend::Max,
                    offset: (0, 0),
                    u: (13, 2),
                    v: (-3, 17),
                };
                lattice::gpu::render(gpu, &lattice, band(m, 64, 32), &m.outputs[0], 16)
            },
        ),
        row(
            "turn",
            vec![words(24, 64 * 32 / 4)],
            &[32 * 64 / 4],
            &[],
            |gpu, m| {
                let source = plane(&m.inputs[0], (64, 32));
                let size = (32, m.size(64).into());
                turn::gpu::quarter(gpu, &source, (0, 31), true, size, &m.outputs[0], 8)
            },
        ),
        row("tiles", vec![], &[64 * 32 / 4], &[], |gpu, m| {
            let grid = tiles::gpu::Grid {
                pitch: 16,
                height: m.size(32),
                words: 16,
                rows: 16,
            };
            let entries = [tiles::gpu::packed(0), tiles::gpu::uniform(7)];
            let entries = &entries[..grid.count() as usize];
            tiles::gpu::expand(gpu, grid, entries, &words(25, 256), &m.outputs[0])
        }),
        row(
            "fused",
            vec![words(22, 64 * 32 / 4), words(23, 64 * 32 / 4)],
            &[64 * 32 / 4],
            &[],
            |gpu, m| {
                let layer = |buffer| Expression::Plane {
                    x: 0,
                    y: 0,
                    plane: plane(buffer, (64, 32)),
                };
                let tree = Expression::Fold(vec![
                    (Fold::Max, layer(&m.inputs[0])),
                    (Fold::Add, layer(&m.inputs[1])),
                ]);
                let raster = Rect::sized(64, 32);
                let band = band(m, 64, 32);
                fused::render(gpu, &tree, Depth::Eight, raster, band, &m.outputs[0], 16)
            },
        ),
    ]
}

const fn matrix(buffer: &Buffer, pitch: u32) -> transpose::gpu::Matrix<'_> {
    transpose::gpu::Matrix { buffer, pitch }
}

const fn bodies(buffer: &Buffer, count: u32) -> Bodies<'_> {
    Bodies {
        buffer,
        count: count as usize,
    }
}

fn counting() -> Vec<Row> {
    const N: usize = 1 << 11;
    const LEN: u64 = N as u64;
    let selected = |name, from: Vec<u32>, outputs: &[usize], output: fn(&[Buffer]) -> Output<'_>| {
        let scratch = [select::gpu::scratch_words(32, LEN)];
        row(
            name,
            vec![from, flags(31, N / 4)],
            outputs,
            &scratch,
            move |gpu, m| {
                let selection = Selection {
                    from: Elements {
                        buffer: &m.inputs[0],
                        kind: Element::U32,
                        len: m.size(N as u32).into(),
                    },
                    wanted: Wanted::Flagged(&m.inputs[1]),
                    output: output(m.outputs),
                    count: &m.outputs[0],
                    scratch: &m.scratch[0],
                };
                select::gpu::select(gpu, &selection)
            },
        )
    };
    let kept: usize = flags(31, N / 4)
        .iter()
        .map(|word| word.count_ones() as usize)
        .sum();
    let bins = Bins::f32(0.0, 20.0, 33).unwrap();
    let even = histogram::gpu::even::even_count_words(&bins);
    let counted = |name, bits: u32| {
        let counts = histogram::gpu::count_words(bits);
        let scratch = [histogram::gpu::scratch_words(bits, LEN)];
        row(name, vec![words(32, N)], &[counts], &scratch, move |gpu, m| {
            let samples = histogram::gpu::Samples {
                buffer: &m.inputs[0],
                bits,
                len: m.size(N as u32).into(),
            };
            histogram::gpu::histogram(gpu, samples, &m.outputs[0], &m.scratch[0])
        })
    };
    vec![
        row(
            "scan",
            vec![words(35, N)],
            &[N],
            &[scan::gpu::scratch_words(LEN) as u64],
            |gpu, m| {
                let (from, to, scratch) = (&m.inputs[0], &m.outputs[0], &m.scratch[0]);
                let len = m.size(N as u32).into();
                scan::gpu::scan(gpu, Kind::Inclusive, Element::U32, len, from, to, scratch)
            },
        ),
        row("scan of rows", vec![words(38, N)], &[N], &[], |gpu, m| {
            let (from, to) = (matrix(&m.inputs[0], 128), matrix(&m.outputs[0], 128));
            scan::gpu::scan_each_row(gpu, Kind::Inclusive, Element::U32, (128, m.size(16)), from, to)
        }),
        row("reduction", vec![words(39, N)], &[128], &[], |gpu, m| {
            let rows = reduce::gpu::Rows {
                buffer: &m.inputs[0],
                element: Element::U32,
                width: 32,
                height: m.size(64),
                pitch: 32,
            };
            reduce::gpu::reduce(gpu, Operation::Sum, rows, &m.outputs[0], &m.outputs[0])
        }),
        row(
            "reduction of blocks",
            vec![words(40, 1 << 16)],
            &[64],
            &[reduce::gpu::scratch_words(Element::U32, 1 << 16, 1) as u64],
            |gpu, m| {
                let rows = reduce::gpu::Rows::one(&m.inputs[0], Element::U32, m.size(1 << 16).into());
                reduce::gpu::reduce(gpu, Operation::Sum, rows, &m.outputs[0], &m.scratch[0])
            },
        )
        .checked(0, 2),
        counted("histogram of bytes", 8),
        counted("histogram of 16 bits", 16),
        row(
            "even histogram",
            vec![floats(41, N)],
            &[even],
            &[histogram::gpu::even::even_scratch_words(&bins, LEN)],
            move |gpu, m| {
                let len = m.size(N as u32).into();
                histogram::gpu::even::even(gpu, &bins, &m.inputs[0], len, &m.outputs[0], &m.scratch[0])
            },
        ),
        selected("selected values", words(42, N), &[64, N], |out| {
            Output::Values(&out[1])
        })
        .checked(0, 2)
        .checked(1, kept),
        selected("selected places", words(43, N), &[64, N], |out| {
            Output::Indices(&out[1])
        })
        .checked(0, 2)
        .checked(1, kept),
        selected("selected halves", words(44, N), &[64, N, N], |out| {
            Output::Halves(&out[1], &out[2])
        })
        .checked(0, 2)
        .checked(1, kept)
        .checked(2, N - kept),
    ]
}

fn pictures() -> Vec<Row> {
    const SIDE: u32 = 64;
    const BYTES: usize = (SIDE * SIDE / 4) as usize;
    const WORDS: usize = (SIDE * SIDE) as usize;
    let filtered = |name, filter: Filter, samples, input: Vec<u32>| {
        let count = input.len();
        row(name, vec![input], &[count], &[], move |gpu, m| {
            let size = stencil::gpu::Size {
                samples,
                width: SIDE,
                height: m.size(SIDE),
            };
            stencil::gpu::apply(gpu, &filter, size, &m.inputs[0], &m.outputs[0])
        })
    };
    use stencil::gpu::Samples::{Bytes, Floats};
    let gauss = Filter::Gauss(GaussWeights::new(1.5).unwrap());
    let job = |height| Bilateral {
        width: SIDE,
        height,
        spatial: 8,
        range: 32,
    };
    let dilated = |name, separable: bool| {
        row(name, vec![words(50, BYTES)], &[BYTES], &[], move |gpu, m| {
            let function = match separable {
                true => StructuringFunction::paraboloid(3, 2).unwrap(),
                false => StructuringFunction::new(1, &[9, 1, 8, 2, 7, 3, 6, 4, 5].map(Some)).unwrap(),
            };
            let morphology = Morphology::new::<i32>(gpu, Operator::Dilation, &function, Element::U8)?;
            let size = relief_numeric::morphology::gpu::Size {
                width: SIDE,
                height: m.size(SIDE),
            };
            morphology.apply(gpu, size, &m.inputs[0], &m.outputs[0])
        })
    };
    let bell = Bell::new(&[28_672, 16_384, 2_048]).unwrap();
    let needed = gauss::gpu::scratch_words(SIDE.into(), SIDE.into(), 2).unwrap();
    let mean = row(
        "exact mean by a bell",
        vec![words(52, BYTES)],
        &[BYTES],
        &[needed],
        move |gpu, m| {
            let weights = Weights::upload(gpu, &bell)?;
            let source = plane(&m.inputs[0], (SIDE, SIDE));
            let size = (SIDE.into(), SIDE.into());
            let band = band(m, SIDE.into(), SIDE.into());
            let (scratch, to) = (Some(&m.scratch[0]), &m.outputs[0]);
            gauss::gpu::render(
                gpu,
                scratch,
                &source,
                (0, 0),
                size,
                Edge::Mirror,
                &weights,
                band,
                to,
                SIDE / 4,
            )
        },
    );
    let far = |name, radius: u32| {
        row(
            name,
            vec![flags(51, BYTES)],
            &[BYTES],
            &[1 << 16],
            move |gpu, m| {
                let values: Vec<u8> = (0..=radius * radius).map(|a| (a % 251) as u8).collect();
                let profile = Profile::upload(gpu, radius, &values, 255)?;
                let mask = plane(&m.inputs[0], (SIDE, SIDE));
                let band = band(m, SIDE.into(), SIDE.into());
                let scratch = Some(&m.scratch[0]);
                distance::gpu::render(
                    gpu,
                    scratch,
                    &mask,
                    (0, 0),
                    &profile,
                    band,
                    &m.outputs[0],
                    SIDE / 4,
                )
            },
        )
        // The mask is read before anything is written but scratch memory.
        .in_place(&[(0, 0)])
    };
    vec![
        filtered("box of bytes", Filter::Box(2), Bytes, words(52, BYTES)),
        filtered("wide box of bytes", Filter::Box(12), Bytes, words(53, BYTES)),
        filtered("box of floats", Filter::Box(3), Floats, floats(54, WORDS)),
        filtered("wide box of floats", Filter::Box(12), Floats, floats(55, WORDS)),
        filtered("erosion", Filter::Erosion(3), Bytes, words(56, BYTES)),
        filtered("Gauss", gauss, Bytes, words(57, BYTES)),
        filtered("Sobel", Filter::Sobel, Bytes, words(58, BYTES)),
        dilated("dilation by a square", false),
        dilated("dilation by a paraboloid", true),
        mean,
        far("distance", 5),
        far("far distance", 40),
        row(
            "bilateral filter",
            vec![words(59, BYTES)],
            &[BYTES],
            &[bilateral::gpu::scratch_words(job(SIDE), Element::U8).unwrap()],
            move |gpu, m| {
                let (from, to) = (matrix(&m.inputs[0], SIDE / 4), matrix(&m.outputs[0], SIDE / 4));
                bilateral::gpu::bilateral(gpu, Element::U8, job(m.size(SIDE)), from, to, &m.scratch[0])
            },
        ),
        row(
            "integral image",
            vec![words(60, BYTES)],
            &[WORDS],
            &[integral::gpu::scratch_words(Sums::Short, SIDE, SIDE) as u64],
            move |gpu, m| {
                let (from, to) = (matrix(&m.inputs[0], SIDE / 4), matrix(&m.outputs[0], SIDE));
                let size = (SIDE, m.size(SIDE));
                integral::gpu::integral(gpu, Sums::Short, size, from, to, &m.scratch[0])
            },
        ),
        row(
            "threshold of windows",
            vec![words(63, WORDS), words(64, BYTES)],
            &[BYTES],
            &[],
            move |gpu, m| {
                let table = integral::gpu::windows::Integral {
                    sums: Sums::Short,
                    matrix: matrix(&m.inputs[0], SIDE),
                };
                let picture = matrix(&m.inputs[1], SIDE / 4);
                let (window, size) = (Window { radius: 3 }, (SIDE, m.size(SIDE)));
                let to = matrix(&m.outputs[0], SIDE / 4);
                integral::gpu::windows::threshold(gpu, window, 2, size, picture, table, to)
            },
        ),
    ]
}

fn products() -> Vec<Row> {
    const SIDE: u32 = 32;
    const N: usize = (SIDE * SIDE) as usize;
    let size = |rows| min_plus::gpu::Size {
        rows,
        inner: SIDE,
        columns: SIDE,
    };
    const fn of(buffer: &Buffer) -> min_plus::gpu::Matrix<'_> {
        min_plus::gpu::Matrix { buffer, pitch: SIDE }
    }
    let least = min_plus::gpu::scratch_words(size(SIDE));
    let paths = |name, way| {
        let scratch = [min_plus::gpu::paths::scratch_words(SIDE)];
        row(name, vec![], &[N, 64], &scratch, move |gpu, m| {
            let (edges, found) = (of(&m.outputs[0]), &m.outputs[1]);
            let vertices = m.size(SIDE);
            let edges = min_plus::gpu::Matrix {
                pitch: vertices,
                ..edges
            };
            min_plus::gpu::paths::shortest_paths(
                gpu,
                way,
                Element::F32,
                vertices,
                edges,
                found,
                &m.scratch[0],
            )
        })
        .before(0, floats(70, N))
        .checked(1, 1)
    };
    let gravity = Interaction::new(Space::Free, 1.0, 0.5).unwrap();
    const BLOCK: u32 = matvec::BLOCK as u32;
    vec![
        row(
            "matrix product",
            vec![floats(71, N), floats(72, N)],
            &[N],
            &[],
            |gpu, m| {
                let rows = |buffer| matmul::gpu::Rows { buffer, pitch: SIDE };
                let shape = matmul::gpu::Shape {
                    rows: m.size(SIDE),
                    inner: SIDE,
                    columns: SIDE,
                };
                let (left, right) = (rows(&m.inputs[0]), rows(&m.inputs[1]));
                matmul::gpu::multiply(gpu, shape, left, right, rows(&m.outputs[0]))
            },
        ),
        row(
            "matrix times vector",
            vec![floats(73, 2 * BLOCK as usize), floats(74, 2 * BLOCK as usize)],
            &[64],
            &[matvec::gpu::rows_scratch_words(1, 2 * BLOCK) as u64],
            |gpu, m| {
                let matrix = matvec::gpu::Matrix {
                    buffer: &m.inputs[0],
                    rows: m.size(1),
                    columns: 2 * BLOCK,
                    pitch: 2 * BLOCK,
                };
                matvec::gpu::matrix_vector(gpu, matrix, &m.inputs[1], &m.outputs[0], &m.scratch[0])
            },
        )
        .checked(0, 1),
        row(
            "vector times matrix",
            vec![floats(75, 1_024), floats(76, 1_024 * 64)],
            &[64],
            &[matvec::gpu::columns_scratch_words(1_024, 64) as u64],
            |gpu, m| {
                let matrix = matvec::gpu::Matrix {
                    buffer: &m.inputs[1],
                    rows: 1_024,
                    columns: m.size(64),
                    pitch: 64,
                };
                matvec::gpu::vector_matrix(gpu, &m.inputs[0], matrix, &m.outputs[0], &m.scratch[0])
            },
        ),
        row(
            "min-plus product",
            vec![floats(77, N), floats(78, N)],
            &[N],
            &[least],
            move |gpu, m| {
                let (a, b, c) = (of(&m.inputs[0]), of(&m.inputs[1]), of(&m.outputs[0]));
                min_plus::gpu::min_plus(gpu, Element::F32, size(m.size(SIDE)), a, b, c, &m.scratch[0])
            },
        )
        // Both are copied first.
        .in_place(&[(0, 0), (1, 0)]),
        row(
            "min-plus product that lessens",
            vec![floats(79, N), floats(80, N), floats(81, N)],
            &[N],
            &[least],
            move |gpu, m| {
                let (a, b, old) = (of(&m.inputs[0]), of(&m.inputs[1]), of(&m.inputs[2]));
                let c = of(&m.outputs[0]);
                min_plus::gpu::lessen(gpu, Element::I32, size(m.size(SIDE)), a, b, old, c, &m.scratch[0])
            },
        )
        .in_place(&[(0, 0), (1, 0)]),
        paths("shortest paths by blocks", min_plus::gpu::paths::Way::Blocks),
        paths("shortest paths by squaring", min_plus::gpu::paths::Way::Squares),
        row(
            "accelerations",
            vec![floats(82, 256), floats(83, 256)],
            &[256],
            &[nbody::gpu::scratch_words(64, 2) as u64],
            move |gpu, m| {
                let (targets, sources) = (bodies(&m.inputs[0], m.size(64)), bodies(&m.inputs[1], 64));
                let (to, scratch) = (&m.outputs[0], &m.scratch[0]);
                nbody::gpu::accelerations_with(
                    gpu,
                    nbody::gpu::DEFAULT,
                    2,
                    &gravity,
                    targets,
                    sources,
                    to,
                    scratch,
                )
            },
        ),
        row(
            "kick",
            vec![floats(84, 256), floats(85, 256)],
            &[256],
            &[],
            |gpu, m| {
                let count = m.size(64) as usize;
                nbody::gpu::kick(gpu, &m.inputs[0], &m.inputs[1], count, 0.5, &m.outputs[0])
            },
        ),
        row(
            "drift",
            vec![floats(86, 256), floats(87, 256)],
            &[256],
            &[],
            move |gpu, m| {
                let of = bodies(&m.inputs[0], m.size(64));
                nbody::gpu::drift(gpu, &gravity, of, &m.inputs[1], 0.5, &m.outputs[0])
            },
        ),
    ]
}

/// Another start of a device: nothing has been launched on it, and its memory is its own.
fn fresh(gpu: &Gpu) -> Gpu {
    Gpu::open(gpu.id()).unwrap()
}

#[test]
fn the_first_launch_computes_what_later_ones_do() {
    let Some(known) = device() else { return };
    for row in rows() {
        let gpu = fresh(&known);
        let first = row.computed(&gpu);
        let later = row.computed(&gpu);
        assert!(first == later, "{}", row.name);
        let untouched = |words: &Vec<u32>| words.iter().all(|word| *word == UNTOUCHED);
        assert!(!later.iter().any(untouched), "{}: nothing is computed", row.name);
    }
}

#[test]
fn in_place_an_output_is_right_or_refused_from_the_first_launch_on() {
    let Some(known) = device() else { return };
    for row in rows() {
        let right = row.computed(&known);
        for input in 0..row.inputs.len() {
            for output in 0..row.outputs.len() {
                let gpu = fresh(&known);
                for launch in ["first", "later"] {
                    let mut contents = row.contents();
                    let place = row.inputs.len() + output;
                    let longest = contents[input].len().max(contents[place].len());
                    contents[input].resize(longest, UNTOUCHED);
                    let mut buffers = upload(&gpu, &contents);
                    buffers[place] = buffers[input].clone();
                    let what = format!("output {output} is input {input}, {launch} launch");
                    let computed = row.is_right_or_refused(&gpu, &buffers, &right, &what);
                    let allowed = row.in_place.contains(&(input, output));
                    assert_eq!(computed, allowed, "{}: {what}", row.name);
                }
            }
        }
    }
}

#[test]
fn an_output_that_begins_within_an_input_is_right_or_refused() {
    let Some(known) = device() else { return };
    for row in rows() {
        let right = row.computed(&known);
        let contents = row.contents();
        for input in 0..row.inputs.len() {
            for output in 0..row.outputs.len() {
                let place = row.inputs.len() + output;
                // The output begins 64 words later than the input, or before it.
                for (from, to) in [(0, 64), (64, 0)] {
                    let (read, written) = (contents[input].len(), contents[place].len());
                    if from + read <= to || to + written <= from {
                        continue;
                    }
                    let gpu = fresh(&known);
                    let mut buffers = upload(&gpu, &contents);
                    let mut both = vec![UNTOUCHED; 64 + read.max(written)];
                    both[from..from + read].copy_from_slice(&contents[input]);
                    let both = gpu.upload(&both).unwrap();
                    buffers[input] = both.part(from, read).unwrap();
                    buffers[place] = both.part(to, written).unwrap();
                    let what = format!("input {input} at {from}, output {output} at {to}");
                    row.is_right_or_refused(&gpu, &buffers, &right, &what);
                }
            }
        }
    }
}

#[test]
fn scratch_memory_that_is_an_input_or_an_output_is_refused() {
    let Some(known) = device() else { return };
    for row in rows() {
        let right = row.computed(&known);
        let others = row.inputs.len() + row.outputs.len();
        for scratch in (0..row.scratch.len()).map(|scratch| others + scratch) {
            for other in 0..others {
                let gpu = fresh(&known);
                let mut contents = row.contents();
                let longest = contents[scratch].len().max(contents[other].len());
                contents[other].resize(longest, UNTOUCHED);
                let mut buffers = upload(&gpu, &contents);
                buffers[scratch] = buffers[other].clone();
                let what = format!("scratch memory is buffer {other}");
                let computed = row.is_right_or_refused(&gpu, &buffers, &right, &what);
                assert!(!computed, "{}: {what}", row.name);
            }
        }
    }
}

#[test]
fn parts_of_one_buffer_that_lie_apart_do_as_buffers_of_their_own() {
    let Some(known) = device() else { return };
    for row in rows() {
        let right = row.computed(&known);
        let gpu = fresh(&known);
        let contents = row.contents();
        let mut arena = vec![BETWEEN; 64];
        let mut places = Vec::new();
        for words in &contents {
            places.push((arena.len(), words.len()));
            arena.extend_from_slice(words);
            arena.resize(arena.len().next_multiple_of(64) + 64, BETWEEN);
        }
        let whole = gpu.upload(&arena).unwrap();
        let part = |(start, words): &(usize, usize)| whole.part(*start, *words).unwrap();
        let buffers: Vec<Buffer> = places.iter().map(part).collect();
        let computed = row.is_right_or_refused(&gpu, &buffers, &right, "parts of one buffer");
        assert!(computed, "{}: parts that lie apart are refused", row.name);
        let after = read(&gpu, &whole, arena.len());
        let inside = |at: usize| {
            places
                .iter()
                .any(|(start, words)| (*start..start + words).contains(&at))
        };
        let touched = (0..arena.len()).find(|at| !inside(*at) && after[*at] != BETWEEN);
        assert_eq!(
            touched, None,
            "{}: a word between the parts is overwritten",
            row.name
        );
        for (words, (start, len)) in contents.iter().zip(&places).take(row.inputs.len()) {
            assert!(
                after[*start..start + len] == words[..],
                "{}: an input is overwritten",
                row.name
            );
        }
    }
}

#[test]
fn buffers_of_another_device_are_refused_and_both_devices_live_on() {
    let Some(gpu) = device() else { return };
    let other = fresh(&gpu);
    for row in rows() {
        let right = row.computed(&gpu);
        let contents = row.contents();
        for foreign in 0..contents.len() {
            let mut buffers = upload(&gpu, &contents);
            buffers[foreign] = other.upload(&contents[foreign]).unwrap();
            let result = row.call(&gpu, &buffers, false);
            assert!(
                matches!(result, Err(DeviceError::OtherDevice { .. })),
                "{}: buffer {foreign}: {result:?}",
                row.name
            );
        }
        assert!(row.computed(&gpu) == right, "{}", row.name);
    }
    let foreign = other.upload(&[7; 4]).unwrap();
    let read = gpu.read(&foreign, 4).wait().err();
    assert!(matches!(read, Some(DeviceError::OtherDevice { .. })), "{read:?}");
    assert_eq!(other.read(&foreign, 1).wait().unwrap()[..], [7, 0, 0, 0]);
}

#[test]
fn nothing_to_compute_is_no_error_and_the_device_lives_on() {
    let Some(known) = device() else { return };
    for row in rows() {
        let gpu = fresh(&known);
        let buffers = upload(&gpu, &row.contents());
        if let Err(error) = row.call(&gpu, &buffers, true) {
            panic!("{}: {error}", row.name);
        }
        gpu.sync().unwrap_or_else(|error| panic!("{}: {error}", row.name));
    }
}

#[test]
fn reading_nothing_yields_nothing_and_reading_beyond_a_buffer_is_an_error() {
    let Some(gpu) = device() else { return };
    let buffer = gpu.upload(&[7; 8]).unwrap();
    assert!(gpu.read(&buffer, 0).wait().unwrap().is_empty());
    let beyond = gpu.read(&buffer, 9).wait().err();
    let Some(DeviceError::Short { needed, held, .. }) = beyond else {
        panic!("{beyond:?}");
    };
    assert_eq!((needed, held), (9, 8));
    assert_eq!(gpu.read(&buffer, 8).wait().unwrap().len(), 32);
}

#[test]
fn two_planes_in_parts_of_one_buffer_are_two() {
    let Some(gpu) = device() else { return };
    let all = gpu
        .upload(&[[0x0101_0101; 64], [0x0202_0202; 64]].concat())
        .unwrap();
    let layer = |start| Expression::Plane {
        x: 0,
        y: 0,
        plane: plane(&all.part(start, 64).unwrap(), (16, 16)),
    };
    let sum = Expression::Fold(vec![(Fold::Max, layer(0)), (Fold::Add, layer(64))]);
    let raster = Rect::sized(16, 16);
    let output = gpu.buffer(64).unwrap();
    fused::render(&gpu, &sum, Depth::Eight, raster, raster, &output, 4).unwrap();
    assert_eq!(read(&gpu, &output, 64), [0x0303_0303; 64]);
}

#[test]
#[ignore = "takes 12 GiB of a device's memory"]
fn parts_beyond_2_32_bytes_are_told_apart() {
    let Some(gpu) = device() else { return };
    let half = (3 << 29) + 64;
    let all = gpu.buffer(2 * half).unwrap();
    let (low, high) = (all.part(0, half).unwrap(), all.part(half, half).unwrap());
    copy::gpu::fill(&gpu, &low, half, 3).unwrap();
    copy::gpu::fill(&gpu, &high, half, 5).unwrap();
    let ends = |part: &Buffer| {
        let last = part.part(half - 64, 64).unwrap();
        [read(&gpu, part, 1)[0], read(&gpu, &last, 64)[63]]
    };
    assert_eq!((ends(&low), ends(&high)), ([3, 3], [5, 5]));
    copy::gpu::copy(&gpu, &low, &high, half).unwrap();
    assert_eq!((ends(&low), ends(&high)), ([3, 3], [3, 3]));
    let shifted = all.part(half - 64, half).unwrap();
    for result in [
        copy::gpu::copy(&gpu, &low, &shifted, half),
        copy::gpu::copy(&gpu, &high, &shifted, half),
    ] {
        assert!(matches!(result, Err(DeviceError::Overlap { .. })), "{result:?}");
    }
}
