//! Grey dilation and erosion on a device against the definition, and against the CPU.

use crate::support::{Random, device};
use relief_kernels::device::{Buffer, Gpu};
use relief_kernels::policy::Tuning;
use relief_numeric::element::Element;
use relief_numeric::matrix::{Matrix, MatrixMut};
use relief_numeric::morphology::cpu::{self, Sample};
use relief_numeric::morphology::gpu::{DeviceHeight, Morphology, SPACE, Size, default, row_words};
use relief_numeric::morphology::{Height, MAX_RADIUS, Operator, StructuringFunction};

const OPERATORS: [Operator; 2] = [Operator::Dilation, Operator::Erosion];

/// Sizes that end fours, tiles, strips and steps in every way.
const SIZES: [(u32, u32); 7] = [
    (1, 1),
    (3, 40),
    (300, 1),
    (64, 16),
    (129, 17),
    (131, 70),
    (260, 33),
];

/// What the words of a result hold before.
const UNTOUCHED: u32 = 0x5EED_CAFE;

/// Samples as device words hold them.
trait Packed: Sample {
    const ELEMENT: Element;
    fn bits(self) -> u32;
    fn of_bits(bits: u32) -> Self;
}

macro_rules! packed {
    ($sample:ty, $element:ident) => {
        impl Packed for $sample {
            const ELEMENT: Element = Element::$element;

            fn bits(self) -> u32 {
                u32::from(self)
            }

            fn of_bits(bits: u32) -> Self {
                bits as Self
            }
        }
    };
}

packed!(u8, U8);
packed!(u16, U16);

impl Packed for f32 {
    const ELEMENT: Element = Element::F32;

    fn bits(self) -> u32 {
        self.to_bits()
    }

    fn of_bits(bits: u32) -> Self {
        Self::from_bits(bits)
    }
}

fn pack<S: Packed>(samples: &[S], width: usize) -> Vec<u32> {
    let bits = S::ELEMENT.bits();
    let pitch = row_words(S::ELEMENT, width as u32) as usize;
    let mut words = vec![0; samples.len() / width * pitch];
    for (row, samples) in words.chunks_mut(pitch).zip(samples.chunks(width)) {
        for (x, sample) in samples.iter().enumerate() {
            row[x * bits as usize / 32] |= sample.bits() << (x as u32 * bits % 32);
        }
        // What follows a row is not looked at.
        for x in width..pitch * 32 / bits as usize {
            let noise = (u32::MAX >> (32 - bits)) & 0x7f7f_1234;
            row[x * bits as usize / 32] |= noise << (x as u32 * bits % 32);
        }
    }
    words
}

/// The result of a device; what follows its rows is 0, and what follows the picture untouched.
fn on_device<S: Packed>(
    gpu: &Gpu,
    tuning: Option<Tuning>,
    operator: Operator,
    function: &StructuringFunction<S::Height>,
    samples: &[S],
    width: usize,
) -> Vec<S>
where
    S::Height: DeviceHeight,
{
    let height = samples.len() / width;
    let words = pack(samples, width);
    let from = gpu.upload(&words).unwrap();
    let to = gpu.upload(&vec![UNTOUCHED; words.len() + 64]).unwrap();
    let morphology = Morphology::new(gpu, operator, function, S::ELEMENT).unwrap();
    let size = Size {
        width: width as u32,
        height: height as u32,
    };
    match tuning {
        None => morphology.apply(gpu, size, &from, &to),
        Some(tuning) => morphology.apply_with(gpu, tuning, size, &from, &to),
    }
    .unwrap();
    let bytes = gpu.read(&to, words.len() + 64).wait().unwrap();
    let found: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect();
    assert!(
        found[words.len()..].iter().all(|word| *word == UNTOUCHED),
        "after the last row"
    );
    let bits = S::ELEMENT.bits();
    let sample = |row: &[u32], x: usize| {
        row[x * bits as usize / 32] >> (x as u32 * bits % 32) & (u32::MAX >> (32 - bits))
    };
    let mut result = Vec::new();
    for row in found[..words.len()].chunks(words.len() / height) {
        result.extend((0..width).map(|x| S::of_bits(sample(row, x))));
        let beyond = width..row.len() * 32 / bits as usize;
        assert!(
            beyond.into_iter().all(|x| sample(row, x) == 0),
            "what follows a row"
        );
    }
    result
}

/// The result of the CPU, which its own tests hold against the definition.
fn on_cpu<S: Packed>(
    operator: Operator,
    function: &StructuringFunction<S::Height>,
    samples: &[S],
    width: usize,
) -> Vec<S> {
    let height = samples.len() / width;
    let morphology = cpu::Morphology::<S>::new(operator, function);
    let mut out = samples.to_vec();
    let mut scratch = vec![0; morphology.scratch_words(width)];
    morphology
        .apply(
            Matrix::new(samples, height, width, width).unwrap(),
            0..height,
            MatrixMut::new(&mut out, height, width, width).unwrap(),
            &mut scratch,
        )
        .unwrap();
    out
}

/// Functions of every radius, with holes and without, and separable ones, of heights that `pick` gives.
fn functions<H: Height>(radii: &[u32], pick: impl Fn(&mut Random) -> H) -> Vec<StructuringFunction<H>> {
    let mut functions = Vec::new();
    for radius in radii {
        let mut random = Random::new(u64::from(*radius) + 7);
        let side = 2 * *radius as usize + 1;
        let mut heights = |count: usize, holes: u32| -> Vec<Option<H>> {
            let mut heights: Vec<_> = (0..count)
                .map(|_| (random.below(holes) > 0).then(|| pick(&mut random)))
                .collect();
            heights[count / 3] = Some(pick(&mut random));
            heights
        };
        functions.push(StructuringFunction::new(*radius, &heights(side * side, 3)).unwrap());
        let (across, down) = (heights(side, 5), heights(side, 5));
        functions.push(StructuringFunction::separable(*radius, &across, &down).unwrap());
    }
    functions
}

const RADII: [u32; 7] = [0, 1, 2, 3, 4, 8, 12];

fn follows_the_cpu<S: Packed>(
    gpu: &Gpu,
    functions: &[StructuringFunction<S::Height>],
    pick: impl Fn(&mut Random) -> S,
) where
    S::Height: DeviceHeight,
{
    for (turn, function) in functions.iter().enumerate() {
        // Every size with some function, every function with some sizes.
        for (width, height) in SIZES.iter().cycle().skip(turn).step_by(3).take(3) {
            let mut random = Random::new(u64::from(width * height));
            let samples: Vec<S> = (0..width * height).map(|_| pick(&mut random)).collect();
            // Each of them is another kernel to compile.
            let operator = OPERATORS[turn / 2 % 2];
            let found = on_device(gpu, None, operator, function, &samples, *width as usize);
            let expected = on_cpu(operator, function, &samples, *width as usize);
            assert!(
                found == expected,
                "{operator:?} of {width} × {height}, {:?}, radius {}, separable: {}",
                S::ELEMENT,
                function.radius(),
                function.is_separable()
            );
        }
    }
}

#[test]
fn integers_are_those_of_the_cpu() {
    let Some(gpu) = device() else { return };
    let height = |random: &mut Random| match random.below(16) {
        0 => random.below(131_071).cast_signed() - 65_535,
        _ => random.below(300).cast_signed() - 200,
    };
    let functions = functions(&RADII, height);
    follows_the_cpu::<u8>(&gpu, &functions, |random| random.below(256) as u8);
    follows_the_cpu::<u16>(&gpu, &functions[2..8], |random| match random.below(3) {
        0 => 65_535 - random.below(99) as u16,
        1 => random.below(99) as u16,
        _ => random.below(65_536) as u16,
    });
}

#[test]
fn floats_are_those_of_the_cpu() {
    let Some(gpu) = device() else { return };
    // Sums of these are not exact.
    let number = |random: &mut Random| (f64::from(random.next()) / 1e6 - 1_000.0) as f32;
    follows_the_cpu::<f32>(&gpu, &functions(&RADII, number), number);
}

#[test]
fn the_greatest_radius_follows_the_definition_in_every_layout() {
    let Some(gpu) = device() else { return };
    let (width, height) = (70, 41);
    let mut random = Random::new(3);
    let samples: Vec<u8> = (0..width * height).map(|_| random.below(256) as u8).collect();
    let both = functions(&[MAX_RADIUS], |random| random.below(99).cast_signed() - 98);
    for function in &both {
        let reach = MAX_RADIUS as i32;
        let expected: Vec<u8> = (0..samples.len() as i32)
            .map(|place| {
                let (x, y) = (place % width as i32, place / width as i32);
                let mut most = 0;
                for (s, t) in (-reach..=reach).flat_map(|t| (-reach..=reach).map(move |s| (s, t))) {
                    let inside =
                        (0..width as i32).contains(&(x - s)) && (0..height as i32).contains(&(y - t));
                    if let (true, Some(b)) = (inside, function.height(s, t)) {
                        let f = samples[((y - t) * width as i32 + x - s) as usize];
                        most = most.max(i32::from(f) + b);
                    }
                }
                most.min(255) as u8
            })
            .collect();
        let mut computed = 0;
        for tuning in SPACE.all() {
            let size = Size { width: 4, height: 4 };
            let few = gpu.upload(&[0; 64]).unwrap();
            let morphology = Morphology::new(&gpu, Operator::Dilation, function, Element::U8).unwrap();
            // Those that take more shared memory than the device has.
            if morphology
                .apply_with(&gpu, tuning, size, &few, &few_more(&gpu))
                .is_err()
            {
                continue;
            }
            computed += 1;
            let found = on_device(&gpu, Some(tuning), Operator::Dilation, function, &samples, width);
            assert!(
                found == expected,
                "{tuning}, separable: {}",
                function.is_separable()
            );
        }
        assert!(computed > 2, "{computed} layouts");
        let found = on_device(&gpu, None, Operator::Dilation, function, &samples, width);
        assert!(
            found == expected,
            "production, separable: {}",
            function.is_separable()
        );
    }
}

fn few_more(gpu: &Gpu) -> Buffer {
    gpu.buffer(64).unwrap()
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = device() else { return };
    let whole = StructuringFunction::<i32>::flat(2).unwrap();
    let real = StructuringFunction::<f32>::flat(2).unwrap();
    for element in [Element::U32, Element::I32, Element::F32] {
        assert!(Morphology::new(&gpu, Operator::Erosion, &whole, element).is_err());
    }
    assert!(Morphology::new(&gpu, Operator::Erosion, &real, Element::U8).is_err());
    let morphology = Morphology::new(&gpu, Operator::Erosion, &real, Element::F32).unwrap();
    let (enough, less) = (gpu.buffer(64).unwrap(), gpu.buffer(56).unwrap());
    let other = gpu.buffer(64).unwrap();
    let size = |width, height| Size { width, height };
    assert!(morphology.apply(&gpu, size(8, 8), &enough, &other).is_ok());
    assert!(morphology.apply(&gpu, size(0, 8), &enough, &other).is_ok());
    assert!(morphology.apply(&gpu, size(8, 8), &less, &other).is_err());
    assert!(morphology.apply(&gpu, size(8, 8), &enough, &less).is_err());
    assert!(
        morphology
            .apply(&gpu, size(u32::MAX, u32::MAX), &enough, &other)
            .is_err()
    );
    let wrong = Tuning {
        units: 96,
        ..default(true, 2)
    };
    assert!(
        morphology
            .apply_with(&gpu, wrong, size(8, 8), &enough, &other)
            .is_err()
    );
}
