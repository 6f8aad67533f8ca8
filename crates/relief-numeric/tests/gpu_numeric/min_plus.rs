//! Min-plus products on a device against the definition.

use crate::support::{Random, device};
use relief_kernels::device::{Backend, DeviceError, Gpu};
use relief_numeric::element::Element;
use relief_numeric::min_plus::gpu::paths::{Way, scratch_words as paths_scratch, shortest_paths};
use relief_numeric::min_plus::gpu::{
    Arrival, Layout, Matrix, Size, Step, min_plus, min_plus_with, scratch_words,
};
use relief_numeric::min_plus::{LIMIT, paths as cpu_paths};

/// What the words of a result hold before.
const UNTOUCHED: u32 = 0x5EED_CAFE;

const SIZES: [(u32, u32, u32); 9] = [
    (1, 1, 1),
    (3, 0, 5),
    (1, 40, 7),
    (64, 64, 64),
    (65, 33, 63),
    (128, 16, 130),
    (5, 300, 66),
    (200, 31, 1),
    (129, 70, 257),
];

fn size((rows, inner, columns): (u32, u32, u32)) -> Size {
    Size { rows, inner, columns }
}

/// A product of numbers that `pick` gives, as [`Element`] says, rows some words longer than they need be.
struct Case {
    element: Element,
    size: Size,
    a: Vec<u32>,
    b: Vec<u32>,
}

impl Case {
    fn new(element: Element, size: Size, pick: impl Fn(&mut Random) -> u32) -> Self {
        let mut random = Random::new(u64::from(size.rows * 31 + size.inner * 7 + size.columns));
        let mut numbers = |count: u32| (0..count).map(|_| pick(&mut random)).collect();
        Self {
            element,
            size,
            a: numbers(size.rows * size.inner),
            b: numbers(size.inner * size.columns),
        }
    }

    /// Words of a row of so many numbers.
    fn pitch(&self, columns: u32) -> u32 {
        self.element.words(u64::from(columns)) as u32 + 4
    }

    /// Rows of words of numbers.
    fn pack(&self, numbers: &[u32], columns: u32) -> Vec<u32> {
        let per = 32 / self.element.bits();
        let pitch = self.pitch(columns) as usize;
        let mut words = Vec::new();
        for row in numbers.chunks(columns.max(1) as usize) {
            let first = words.len();
            words.extend(row.chunks(per as usize).map(|group| {
                let bits = group.iter().rev();
                bits.fold(
                    0_u32,
                    |word, number| if per == 1 { *number } else { word << 16 | number },
                )
            }));
            words.resize(first + pitch, UNTOUCHED);
        }
        words
    }

    /// The word of c(i, j), by the definition.
    fn expected(&self, i: u32, j: u32) -> u32 {
        let Size { inner, columns, .. } = self.size;
        let pairs = (0..inner).map(|k| {
            (
                self.a[(i * inner + k) as usize],
                self.b[(k * columns + j) as usize],
            )
        });
        match self.element {
            Element::F32 => {
                let sums = pairs.map(|(a, b)| f32::from_bits(a) + f32::from_bits(b));
                sums.fold(f32::INFINITY, f32::min).to_bits()
            }
            Element::I32 => {
                let length = |word: u32| {
                    let length = i64::from(word.cast_signed()).max(i64::from(-LIMIT));
                    (length <= i64::from(LIMIT)).then_some(length)
                };
                let sums = pairs.filter_map(|(a, b)| Some(length(a)? + length(b)?));
                let least = sums.min().filter(|least| *least <= i64::from(LIMIT));
                let least = least.map_or(i32::MAX, |least| least.max(i64::from(-LIMIT)) as i32);
                least.cast_unsigned()
            }
            _ => {
                let sums = pairs.map(|(a, b)| (a as u16).saturating_add(b as u16));
                u32::from(sums.min().unwrap_or(u16::MAX))
            }
        }
    }

    /// The words of the result, and 64 behind them.
    fn result(&self, gpu: &Gpu, layout: Option<Layout>, step: Step) -> Result<Vec<u32>, DeviceError> {
        let Size { rows, inner, columns } = self.size;
        let a = gpu.upload(&self.pack(&self.a, inner)).unwrap();
        let b = gpu.upload(&self.pack(&self.b, columns)).unwrap();
        let pitch = self.pitch(columns);
        let words = (rows * pitch) as usize;
        let c = gpu.upload(&vec![UNTOUCHED; words + 64]).unwrap();
        let scratch = gpu.buffer(scratch_words(self.size) as usize).unwrap();
        let of = |buffer, pitch| Matrix { buffer, pitch };
        let operands = (of(&a, self.pitch(inner)), of(&b, pitch), of(&c, pitch));
        match layout {
            None => min_plus(
                gpu,
                self.element,
                self.size,
                operands.0,
                operands.1,
                operands.2,
                &scratch,
            ),
            Some(layout) => min_plus_with(
                gpu,
                layout,
                step,
                self.element,
                self.size,
                operands.0,
                operands.1,
                operands.2,
                &scratch,
            ),
        }?;
        let bytes = gpu.read(&c, words + 64).wait()?;
        let words = bytes.chunks_exact(4);
        Ok(words
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect())
    }

    fn holds(&self, gpu: &Gpu, layout: Option<Layout>, step: Step) {
        let found = self.result(gpu, layout, step).unwrap();
        let Size { rows, columns, .. } = self.size;
        let pitch = self.pitch(columns);
        let per = 32 / self.element.bits();
        for i in 0..rows {
            for j in 0..columns {
                let word = found[(i * pitch + j / per) as usize];
                let number = if per == 1 {
                    word
                } else {
                    word >> (16 * (j % 2)) & 0xffff
                };
                let expected = self.expected(i, j);
                assert_eq!(
                    number, expected,
                    "{i}, {j} of {:?} {:?} by {layout:?} {step:?}",
                    self.element, self.size
                );
            }
            let end = self.element.words(u64::from(columns)) as u32;
            let between = &found[(i * pitch + end) as usize..((i + 1) * pitch) as usize];
            assert!(
                between.iter().all(|word| *word == UNTOUCHED),
                "between rows, {:?}",
                self.size
            );
        }
        assert!(
            found[(rows * pitch) as usize..]
                .iter()
                .all(|word| *word == UNTOUCHED),
            "after the last row"
        );
    }
}

/// Multiples of a quarter, so that 0 has one sign, or no path.
fn float(random: &mut Random, least: i32) -> u32 {
    match random.below(8) {
        0 => f32::INFINITY.to_bits(),
        _ => ((random.below(4_001) as i32 + 4 * least) as f32 * 0.25).to_bits(),
    }
}

fn integer(random: &mut Random) -> u32 {
    let pick = random.below(10);
    let small = random.below(2_001) as i32 - 1_000;
    match pick {
        0 => i32::MAX,
        1 => i32::MIN + small.abs(),
        2 => LIMIT + small,
        3 => -LIMIT + small,
        4 => LIMIT / 2 + small,
        5 => (1 << 30) + small,
        _ => small,
    }
    .cast_unsigned()
}

fn short(random: &mut Random) -> u32 {
    match random.below(4) {
        0 => 65_535 - random.below(3),
        1 => 32_000 + random.below(2_000),
        _ => random.below(65_536),
    }
}

#[test]
fn products_of_all_shapes_follow_the_definition() {
    let Some(gpu) = device() else { return };
    for of in SIZES {
        let size = size(of);
        Case::new(Element::F32, size, |random| float(random, -500)).holds(&gpu, None, Step::Found);
        Case::new(Element::F32, size, |random| float(random, 0)).holds(&gpu, None, Step::Found);
        Case::new(Element::I32, size, integer).holds(&gpu, None, Step::Integer);
        Case::new(Element::U16, size, short).holds(&gpu, None, Step::Integer);
    }
}

#[test]
fn every_layout_and_step_computes_the_same() {
    let Some(gpu) = device() else { return };
    let signed = Case::new(Element::F32, size((70, 20, 140)), |random| float(random, -500));
    let unsigned = Case::new(Element::F32, size((70, 20, 140)), |random| float(random, 0));
    for (units, rows, depth, arrival) in [
        (64, 16, 8, Arrival::Held),
        (128, 8, 8, Arrival::Held),
        (256, 8, 8, Arrival::Held),
        (128, 16, 8, Arrival::Held),
        (64, 8, 16, Arrival::Held),
    ] {
        let layout = Layout {
            units,
            rows,
            depth,
            arrival,
        };
        signed.holds(&gpu, Some(layout), Step::Found);
        unsigned.holds(&gpu, Some(layout), Step::Found);
    }
    let layout = Layout {
        units: 128,
        rows: 8,
        depth: 16,
        arrival: Arrival::Held,
    };
    for step in [Step::Signed, Step::Settling] {
        signed.holds(&gpu, Some(layout), step);
    }
    unsigned.holds(&gpu, Some(layout), Step::NonNegative);
}

/// Of numbers of rows that end within slices and pieces of them. A kernel takes CUDA a second or more to compile, so not each layout takes each step.
#[test]
fn slices_that_a_device_copies_by_itself_are_the_least_or_refused() {
    let Some(gpu) = device() else { return };
    let layouts = [
        (
            128,
            16,
            16,
            Arrival::Ahead,
            &[Step::NonNegative, Step::Integer][..],
        ),
        (128, 16, 8, Arrival::Ahead, &[Step::NonNegative]),
        (256, 8, 16, Arrival::Ahead, &[Step::Settling]),
        (128, 16, 16, Arrival::Straight, &[Step::NonNegative]),
        (256, 8, 16, Arrival::Straight, &[Step::Settling]),
    ];
    for inner in [1, 8, 17, 33, 100] {
        let unsigned = Case::new(Element::F32, size((70, inner, 300)), |random| float(random, 0));
        let integers = Case::new(Element::I32, size((130, inner, 70)), |random| {
            random.below(1 << 20)
        });
        let signed = Case::new(Element::F32, size((140, inner, 70)), |random| float(random, -500));
        // All sums become negative after some rows.
        let mut settling = Case::new(Element::F32, size((70, inner, 70)), |random| float(random, -20));
        for (place, number) in settling.a.iter_mut().enumerate() {
            if place as u32 % inner >= 5 {
                *number = (f32::from_bits(*number).min(900.0) - 1_000.0).to_bits();
            }
        }
        for (units, rows, depth, arrival, steps) in layouts {
            let layout = Layout {
                units,
                rows,
                depth,
                arrival,
            };
            for step in steps {
                let cases = match step {
                    Step::NonNegative => &[&unsigned][..],
                    Step::Integer => &[&integers],
                    _ => &[&signed, &settling],
                };
                for case in cases {
                    if gpu.report().backend() == Some(Backend::Cuda) {
                        case.holds(&gpu, Some(layout), *step);
                    } else {
                        let refused = case.result(&gpu, Some(layout), *step).unwrap_err();
                        assert!(matches!(refused, DeviceError::Unsupported { .. }), "{refused}");
                    }
                }
            }
        }
    }
}

/// Edges one in `sparse` pairs of vertices, of lengths from `least` on.
#[test]
fn sums_that_become_negative_at_any_time_are_the_least() {
    let Some(gpu) = device() else { return };
    // Columns of the left operand by which all sums become negative: in the first rows that are asked about, later, and never for some rows.
    for (first, rows) in [(0, 70), (3, 70), (40, 70), (95, 70), (40, 31), (200, 70)] {
        let size = size((70, 120, 70));
        let mut case = Case::new(Element::F32, size, |random| float(random, -20));
        for i in 0..rows {
            for k in first..size.inner {
                let number = &mut case.a[(i * size.inner + k) as usize];
                *number = (f32::from_bits(*number).min(900.0) - 1_000.0).to_bits();
            }
        }
        let layout = Layout {
            units: 128,
            rows: 16,
            depth: 8,
            arrival: Arrival::Held,
        };
        case.holds(&gpu, Some(layout), Step::Settling);
        case.holds(&gpu, Some(layout), Step::Found);
    }
}

fn edges(vertices: u32, sparse: u32, least: i32) -> Vec<i32> {
    let mut random = Random::new(u64::from(vertices * sparse));
    (0..vertices * vertices)
        .map(|_| match random.below(sparse) {
            0 => random.below(1_000) as i32 + least,
            _ => i32::MAX,
        })
        .collect()
}

/// The paths that a device finds, and the vertex on a negative cycle.
fn paths(gpu: &Gpu, way: Way, element: Element, edges: &[i32], vertices: u32) -> (Vec<i32>, u32) {
    let pitch = vertices.next_multiple_of(4);
    let mut words = vec![0; (vertices * pitch).max(1) as usize];
    for (place, length) in edges.iter().enumerate() {
        let (y, x) = (place as u32 / vertices, place as u32 % vertices);
        words[(y * pitch + x) as usize] = match (element, *length) {
            (Element::F32, i32::MAX) => f32::INFINITY.to_bits(),
            (Element::F32, length) => (length as f32).to_bits(),
            (_, length) => length.cast_unsigned(),
        };
    }
    let buffer = gpu.upload(&words).unwrap();
    let found = gpu.upload(&[7; 4]).unwrap();
    let scratch = gpu.buffer(paths_scratch(vertices) as usize).unwrap();
    let matrix = Matrix {
        buffer: &buffer,
        pitch,
    };
    shortest_paths(gpu, way, element, vertices, matrix, &found, &scratch).unwrap();
    let read = |buffer, words| {
        let bytes = gpu.read(buffer, words).wait().unwrap();
        let words = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        words.collect::<Vec<u32>>()
    };
    let words = match vertices {
        0 => Vec::new(),
        _ => read(&buffer, (vertices * pitch) as usize),
    };
    let length = |word: u32| match element {
        Element::F32 if f32::from_bits(word) == f32::INFINITY => i32::MAX,
        Element::F32 => f32::from_bits(word) as i32,
        _ => word.cast_signed(),
    };
    let rows = words
        .chunks(pitch.max(1) as usize)
        .flat_map(|row| &row[..vertices as usize]);
    (rows.map(|word| length(*word)).collect(), read(&found, 1)[0])
}

#[test]
fn paths_are_those_of_the_cpu_which_knows_them_by_relaxed_edges() {
    let Some(gpu) = device() else { return };
    for (vertices, sparse, least) in [
        (0, 1, 0),
        (1, 1, 5),
        (3, 2, 0),
        (128, 9, 3),
        (150, 40, -1),
        (290, 30, 1),
    ] {
        // With negative edges, but downhill only.
        let mut edges = edges(vertices, sparse, least.max(0));
        for (place, length) in edges
            .iter_mut()
            .enumerate()
            .filter(|(_, length)| **length != i32::MAX)
        {
            let (from, to) = (place as i32 / vertices as i32, place as i32 % vertices as i32);
            *length += least * 50 * (from - to).abs() + (from - to) * 60 * i32::from(least < 0);
        }
        let mut expected = edges.clone();
        let side = vertices as usize;
        let mut scratch = vec![0; cpu_paths::scratch_len::<i32>(side)];
        let right = cpu_paths::shortest_paths(&mut expected, side, side, &mut scratch);
        for way in [Way::Blocks, Way::Squares] {
            for element in [Element::I32, Element::F32] {
                let (paths, cycle) = paths(&gpu, way, element, &edges, vertices);
                match right {
                    Ok(()) => {
                        assert_eq!(cycle, u32::MAX, "{vertices} {way:?} {element:?}");
                        assert!(paths == expected, "{vertices} vertices, {way:?} {element:?}");
                    }
                    Err(_) => assert!(cycle < vertices, "{vertices} {way:?} {element:?}"),
                }
            }
        }
    }
}

#[test]
fn a_negative_cycle_is_told() {
    let Some(gpu) = device() else { return };
    // Around 0, 1, …, 139 in steps of −1, and back for what that comes to, or less.
    let vertices = 140_u32;
    for (back, negative) in [(139, false), (138, true)] {
        let mut ring = vec![i32::MAX; (vertices * vertices) as usize];
        for vertex in 0..vertices - 1 {
            ring[(vertex * vertices + vertex + 1) as usize] = -1;
        }
        ring[((vertices - 1) * vertices) as usize] = back;
        for way in [Way::Blocks, Way::Squares] {
            let (paths, cycle) = paths(&gpu, way, Element::I32, &ring, vertices);
            assert_eq!(cycle < vertices, negative, "{back} {way:?}");
            assert!(negative || paths[139] == -139, "{way:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = device() else { return };
    let buffer = gpu.buffer(1 << 16).unwrap();
    let small = gpu.buffer(64).unwrap();
    let scratch = gpu.buffer(1 << 16).unwrap();
    let matrix = |pitch| Matrix {
        buffer: &buffer,
        pitch,
    };
    let call = |element, of, a, b, c, scratch| {
        min_plus(&gpu, element, size(of), matrix(a), matrix(b), matrix(c), scratch)
    };
    assert!(call(Element::F32, (8, 8, 8), 8, 8, 8, &scratch).is_ok());
    assert!(call(Element::F32, (0, 8, 8), 8, 8, 8, &scratch).is_ok());
    let shared = call(Element::F32, (8, 8, 8), 8, 8, 8, &buffer);
    assert!(matches!(shared, Err(DeviceError::Overlap { .. })), "{shared:?}");
    assert!(call(Element::U8, (8, 8, 8), 8, 8, 8, &scratch).is_err());
    assert!(call(Element::U32, (8, 8, 8), 8, 8, 8, &scratch).is_err());
    assert!(call(Element::F32, (8, 9, 8), 8, 8, 8, &scratch).is_err());
    assert!(call(Element::F32, (8, 8, 8), 8, 10, 8, &scratch).is_err());
    assert!(call(Element::F32, (8, 8, 9), 8, 12, 8, &scratch).is_err());
    assert!(call(Element::F32, (70_000, 8, 8), 8, 8, 8, &scratch).is_err());
    assert!(call(Element::F32, (8, 8, 8), 8, 8, 8, &small).is_err());
    assert!(
        call(
            Element::F32,
            (u32::MAX, u32::MAX, u32::MAX),
            u32::MAX - 3,
            u32::MAX - 3,
            u32::MAX - 3,
            &scratch
        )
        .is_err()
    );
    let (a, layout) = (matrix(8), Layout::SMALL);
    let with = |layout, step, element| {
        min_plus_with(&gpu, layout, step, element, size((8, 8, 8)), a, a, a, &scratch)
    };
    assert!(with(layout, Step::Integer, Element::F32).is_err());
    assert!(with(layout, Step::Signed, Element::I32).is_err());
    assert!(with(Layout { units: 96, ..layout }, Step::Signed, Element::F32).is_err());
    assert!(with(Layout { depth: 9, ..layout }, Step::Signed, Element::F32).is_err());
    assert!(with(Layout { units: 512, ..layout }, Step::Signed, Element::F32).is_err());
}
