//! A filter over a source that lies somewhere, as tests of filters have it: which samples count, and the source on a device.

use std::cell::OnceCell;
use std::sync::OnceLock;

use relief_kernels::device::{DeviceError, Gpu};
use relief_kernels::edge::Edge;
use relief_kernels::fused::Plane;
use relief_raster::{Rect, Sample};

use crate::support::{Random, device, pack};

thread_local! {
    /// One for each test, so that a kernel that several cases share is compiled once.
    static DEVICE: OnceCell<Option<Gpu>> = const { OnceCell::new() };
}

pub(crate) fn device_of_test() -> Option<Gpu> {
    DEVICE.with(|cell| cell.get_or_init(device).clone())
}

/// One for all tests that do not look at its memory: a kernel is compiled once for all of them.
pub(crate) fn shared_device() -> Option<Gpu> {
    static SHARED: OnceLock<Option<Gpu>> = OnceLock::new();
    SHARED.get_or_init(device).clone()
}

pub(crate) const EDGES: [Edge; 4] = [Edge::Clamp, Edge::Mirror, Edge::Wrap, Edge::Zero];

/// A filter of `size` over a source at `place`, of which `band` is asked for.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) source: Vec<u16>,
    pub(crate) width: i64,
    pub(crate) place: (i64, i64),
    pub(crate) size: (u64, u64),
    pub(crate) edge: Edge,
    pub(crate) band: Rect,
}

/// A source of random samples, some of which are the greatest and the least.
pub(crate) fn source(seed: u64, (width, height): (i64, i64), max: u16) -> Vec<u16> {
    let mut random = Random::new(seed);
    (0..width * height)
        .map(|_| match random.below(8) {
            0 => 0,
            1 => max,
            _ => random.sample() & max,
        })
        .collect()
}

pub(crate) fn rect(x: i64, y: i64, width: u64, height: u64) -> Rect {
    Rect::new(x, y, width, height).unwrap()
}

impl Case {
    /// The place of 0…`len` − 1 that counts for `at`, step by step.
    fn counts(&self, mut at: i64, len: i64) -> Option<i64> {
        loop {
            if (0..len).contains(&at) {
                return Some(at);
            }
            at = match self.edge {
                Edge::Zero => return None,
                Edge::Clamp => at.clamp(0, len - 1),
                Edge::Wrap if at < 0 => at + len,
                Edge::Wrap => at - len,
                Edge::Mirror if len == 1 => 0,
                Edge::Mirror if at < 0 => -at,
                Edge::Mirror => 2 * (len - 1) - at,
            };
        }
    }

    /// What the filter reads at (x, y) of its own coordinates.
    pub(crate) fn read(&self, x: i64, y: i64) -> u16 {
        let (Some(x), Some(y)) = (
            self.counts(x, self.size.0 as i64),
            self.counts(y, self.size.1 as i64),
        ) else {
            return 0;
        };
        let (x, y) = (x - self.place.0, y - self.place.1);
        let height = self.source.len() as i64 / self.width;
        if (0..self.width).contains(&x) && (0..height).contains(&y) {
            self.source[(y * self.width + x) as usize]
        } else {
            0
        }
    }

    /// The samples that count for the band, with a margin of `reach` on every side.
    pub(crate) fn block<S: Sample>(&self, reach: usize) -> Vec<S> {
        let (across, down) = (
            self.band.width() as usize + 2 * reach,
            self.band.height() as usize + 2 * reach,
        );
        (0..across * down)
            .map(|i| {
                let (x, y) = (
                    (i % across) as i64 - reach as i64,
                    (i / across) as i64 - reach as i64,
                );
                S::from_u16(self.read(self.band.x() + x, self.band.y() + y))
            })
            .collect()
    }

    /// The source on a device, behind words that must not be taken for it, in rows with such words at their ends.
    pub(crate) fn plane<S: Sample>(&self, gpu: &Gpu) -> Result<Plane, DeviceError> {
        let typed: Vec<S> = self.source.iter().map(|v| S::from_u16(*v)).collect();
        let (words, row) = pack(&typed, self.width as usize);
        let (before, after) = (3, 2);
        let mut padded = vec![u32::MAX; before];
        for words in words.chunks(row as usize) {
            padded.extend_from_slice(words);
            padded.resize(padded.len() + after, u32::MAX);
        }
        let plane = Plane::new(
            gpu.upload(&padded)?,
            before as u32,
            row + after as u32,
            self.width as u32,
            (self.source.len() as i64 / self.width) as u32,
            S::DEPTH,
        );
        Ok(plane.unwrap())
    }

    /// Where sample `i` of the band is, in words.
    pub(crate) fn at(&self, i: usize) -> String {
        let width = self.band.width() as usize;
        format!(
            "at {},{} of {:?}, {:?}, source of {} columns at {:?}, filter of {:?}",
            i % width,
            i / width,
            self.band,
            self.edge,
            self.width,
            self.place,
            self.size
        )
    }
}

pub(crate) fn case(
    seed: u64,
    source_size: (i64, i64),
    place: (i64, i64),
    size: (u64, u64),
    band: Rect,
) -> Case {
    Case {
        source: source(seed, source_size, u16::MAX),
        width: source_size.0,
        place,
        size,
        edge: Edge::Clamp,
        band,
    }
}
