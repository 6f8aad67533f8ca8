//! A bounded distance on a device against a search of all white pixels.
#![allow(dead_code)]

use relief_kernels::device::{Buffer, DeviceError, Gpu};
use relief_kernels::distance::gpu::Profile;
use relief_kernels::fused::Plane;
use relief_raster::{Depth, Rect, Sample};

use super::{Random, device, pack, unpack};

thread_local! {
    /// One for each test, so that a kernel that several cases share is compiled once: software Vulkan takes seconds.
    static DEVICE: Option<Gpu> = device();
}

fn device_of_test() -> Option<Gpu> {
    DEVICE.with(Clone::clone)
}

/// What a renderer of distances is given.
pub(crate) struct Job<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) scratch: Option<&'a Buffer>,
    pub(crate) mask: &'a Plane,
    pub(crate) place: (i64, i64),
    pub(crate) profile: &'a Profile,
    pub(crate) band: Rect,
    pub(crate) output: &'a Buffer,
    pub(crate) pitch: u32,
}

/// Something that renders distances.
pub(crate) type Renderer<'a> = &'a dyn Fn(&Job<'_>) -> Result<(), DeviceError>;

/// A mask with its top-left at `place`, and the band that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) mask: Vec<u16>,
    pub(crate) width: i64,
    pub(crate) place: (i64, i64),
    pub(crate) radius: u32,
    pub(crate) band: Rect,
}

impl Case {
    /// The mask begins at (0, 0).
    pub(crate) fn new(mask: Vec<u16>, width: i64, radius: u32, band: Rect) -> Self {
        Self {
            mask,
            width,
            place: (0, 0),
            radius,
            band,
        }
    }

    pub(crate) fn at(mut self, place: (i64, i64)) -> Self {
        self.place = place;
        self
    }

    /// Both depths are exact, every sample of them.
    pub(crate) fn holds(&self, renderer: Renderer<'_>) {
        self.holds_for::<u8>(renderer);
        self.holds_for::<u16>(renderer);
    }

    pub(crate) fn holds_for<S: Sample>(&self, renderer: Renderer<'_>) {
        let Some(gpu) = device_of_test() else { return };
        let squares = i64::from(self.radius).pow(2);
        // Different squares mostly have different samples.
        let values: Vec<S> = (0..=squares as u64)
            .map(|a| S::from_u16((a * 40_503 % (u64::from(S::MAX.to_u16()) + 1)) as u16))
            .collect();
        let beyond = S::from_u16(77);
        let got = self.rendered(&gpu, &values, beyond, renderer).unwrap();
        let (width, height) = (self.band.width() as i64, self.band.height() as i64);
        for ((i, got), nearest) in (0..width * height).zip(got).zip(self.nearest()) {
            let want = nearest.map_or(beyond, |a| values[a as usize]);
            assert_eq!(
                got.to_u16(),
                want.to_u16(),
                "at {},{} with a = {nearest:?}, radius {}, mask at {:?}",
                i % width,
                i / width,
                self.radius,
                self.place,
            );
        }
    }

    /// For every pixel of the band the least dx² + dy² ≤ radius² to a white pixel, over all white pixels.
    fn nearest(&self) -> Vec<Option<i64>> {
        let whites: Vec<(i64, i64)> = (0..self.mask.len() as i64)
            .filter(|i| self.mask[*i as usize] != 0)
            .map(|i| (i % self.width + self.place.0, i / self.width + self.place.1))
            .collect();
        let (width, height) = (self.band.width() as i64, self.band.height() as i64);
        (0..width * height)
            .map(|i| (self.band.x() + i % width, self.band.y() + i / width))
            .map(|(x, y)| {
                let sums = whites.iter().map(|(u, v)| (u - x).pow(2) + (v - y).pow(2));
                sums.min().filter(|a| *a <= i64::from(self.radius).pow(2))
            })
            .collect()
    }

    /// The samples of the band; the mask lies behind words that must not be taken for it, in rows with such words at
    /// their ends.
    pub(crate) fn rendered<S: Sample>(
        &self,
        gpu: &Gpu,
        values: &[S],
        beyond: S,
        renderer: Renderer<'_>,
    ) -> Result<Vec<S>, DeviceError> {
        let typed: Vec<S> = self.mask.iter().map(|v| S::from_u16(*v)).collect();
        let (words, row) = pack(&typed, self.width as usize);
        let (before, after) = (3, 2);
        let mut padded = vec![u32::MAX; before];
        for words in words.chunks(row as usize) {
            padded.extend_from_slice(words);
            padded.resize(padded.len() + after, u32::MAX);
        }
        let mask = Plane::new(
            gpu.upload(&padded)?,
            before as u32,
            row + after as u32,
            self.width as u32,
            (self.mask.len() as i64 / self.width) as u32,
            S::DEPTH,
        )
        .unwrap();
        let profile = Profile::upload(gpu, self.radius, values, beyond)?;
        let (width, height) = (self.band.width() as usize, self.band.height() as usize);
        let pitch = width.div_ceil(16 / size_of::<S>()) * 4;
        // More than any way takes: a word for each column of the band and a bit for each that it may look at, in all rows that it
        // may look at, and what they round up to.
        let reach = 2 * self.radius as usize + 64;
        let row = width + 256 + (width + reach) / 8;
        let scratch = gpu.upload(&vec![0xDEAD_BEEF; row * (height + reach)])?;
        let render = |scratch: Option<&Buffer>| {
            let output = gpu.upload(&vec![0xABAB_CDCD; pitch * height])?;
            renderer(&Job {
                gpu,
                scratch,
                mask: &mask,
                place: self.place,
                profile: &profile,
                band: self.band,
                output: &output,
                pitch: pitch as u32,
            })?;
            gpu.read(&output, pitch * height).wait()
        };
        let (own, given) = (render(None)?, render(Some(&scratch))?);
        assert!(
            own[..] == given[..],
            "memory that was given changes what is rendered"
        );
        Ok(unpack(&own, pitch, width))
    }
}

/// One in `one_in` samples is white, any white.
pub(crate) fn speckled(seed: u64, count: i64, one_in: u32) -> Vec<u16> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| {
            if random.below(one_in) == 0 {
                1 + random.below(255) as u16
            } else {
                0
            }
        })
        .collect()
}

pub(crate) fn rect(x: i64, y: i64, width: u64, height: u64) -> Rect {
    Rect::new(x, y, width, height).unwrap()
}

/// `renderer` takes `said` bytes besides mask, profile and output: no less will do, no more are taken; and none where as many are
/// given.
pub(crate) fn takes_scratch(gpu: &Gpu, sides: (u32, u32), radius: u32, said: u64, renderer: Renderer<'_>) {
    within_budgets(gpu, sides, radius, said, renderer, true);
}

/// As [`takes_scratch`] where less may do.
pub(crate) fn takes_at_most(gpu: &Gpu, sides: (u32, u32), radius: u32, said: u64, renderer: Renderer<'_>) {
    within_budgets(gpu, sides, radius, said, renderer, false);
}

fn within_budgets(
    gpu: &Gpu,
    (width, height): (u32, u32),
    radius: u32,
    said: u64,
    renderer: Renderer<'_>,
    exact: bool,
) {
    let values = vec![1_u8; (radius * radius + 1) as usize];
    let profile = Profile::upload(gpu, radius, &values, 0).unwrap();
    let pitch = width.div_ceil(16) * 4;
    let output = gpu.buffer((pitch * height) as usize).unwrap();
    let mask = Plane::new(gpu.upload(&[1; 4]).unwrap(), 0, 1, 4, 4, Depth::Eight).unwrap();
    let mut job = Job {
        gpu,
        scratch: None,
        mask: &mask,
        place: (0, 0),
        profile: &profile,
        band: rect(0, 0, width.into(), height.into()),
        output: &output,
        pitch,
    };
    let used = gpu.used();
    // Some memory is taken in any case.
    gpu.set_budget(used + if exact { said - 1 } else { 0 });
    assert!(matches!(renderer(&job), Err(DeviceError::OutOfMemory { .. })));
    gpu.set_budget(used + said);
    renderer(&job).unwrap();
    gpu.set_budget(u64::MAX);
    let scratch = gpu.buffer(said.div_ceil(4) as usize).unwrap();
    job.scratch = Some(&scratch);
    gpu.set_budget(gpu.used());
    renderer(&job).unwrap();
    gpu.set_budget(u64::MAX);
}
