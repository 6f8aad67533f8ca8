//! What counts beyond a border, on a device: how kernels of filters read a plane.
//!
//! A kernel counts the places that it reads from 0 on, along either axis, margins included. [`Places`] says on the host which of them lie
//! within the filter and where these are in the plane; the kernel maps the rest. Outside of the plane a source is 0.

use cubecl::prelude::*;
use relief_raster::Rect;

use super::Edge;
use crate::device::{DeviceError, Gpu};
use crate::fused::Plane;
use crate::fused::packed::{coverage, funnel, ones};
use crate::fused::shape::per_word;

/// Sides of planes and bands are less: places of both, with a margin, are told apart in 32 bits.
pub(crate) const MOST_SIDE: u64 = 1 << 29;

/// How far from a plane a place is at most said to lie.
const FAR: i128 = 1 << 30;

/// Along one axis: which places of the source's plane count for those that are read. Places are counted modulo 2^32, and one that is not
/// in the plane is none of its numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// That of the first place which is read, if it lies within the filter.
    from: u32,
    /// Those of the filter's first and last place.
    first: u32,
    last: u32,
    /// The places that lie within the filter, of those that are read.
    begin: u32,
    end: u32,
    /// Places of the filter, or 2^30 where they are more: no farther than R beyond it is read.
    len: u32,
}

impl Places {
    pub(crate) fn new(place: i64, side: u32, len: u64, from: i64, count: u64, radius: u32) -> Self {
        debug_assert!(u64::from(side) < MOST_SIDE);
        let (place, len) = (i128::from(place), i128::from(len));
        let from = i128::from(from) - i128::from(radius);
        let reads = i128::from(count) + 2 * i128::from(radius);
        // Negative places are huge ones.
        let in_plane = |at: i128| (at - place).clamp(-FAR, FAR) as i32 as u32;
        Self {
            from: in_plane(from),
            first: in_plane(0),
            last: in_plane(len - 1),
            // Both lie between 0 and `reads`, which is less than 2^30, for the band lies within the filter.
            begin: (-from).clamp(0, reads) as u32,
            end: (len - from).clamp(0, reads) as u32,
            len: len.min(FAR) as u32,
        }
    }

    const fn of_launch(self) -> [u32; 6] {
        [self.from, self.first, self.last, self.begin, self.end, self.len]
    }
}

/// Where the numbers of either axis and of the plane begin among those of a launch; see [`numbers`].
pub(crate) const COLUMNS: usize = 0;
pub(crate) const LINES: usize = 6;
pub(crate) const PLANE: usize = 12;

/// The place in the plane that counts for place `at` of those that are read.
#[cube]
pub(crate) fn place(
    numbers: &Sequence<u32>,
    at: u32,
    #[comptime] axis: usize,
    #[comptime] edge: Edge,
) -> u32 {
    let begin = *numbers.index(comptime!(axis + 3));
    let end = *numbers.index(comptime!(axis + 4));
    let mut found = *numbers.index(axis) + at;
    if at < begin {
        found = beyond(numbers, begin - at, true, axis, edge);
    } else if at >= end {
        found = beyond(numbers, at - end + 1u32, false, axis, edge);
    }
    found
}

/// The place in the plane that counts for the one `distance` ≥ 1 before the filter's first place, or after its last.
#[cube]
fn beyond(
    numbers: &Sequence<u32>,
    distance: u32,
    #[comptime] before: bool,
    #[comptime] axis: usize,
    #[comptime] edge: Edge,
) -> u32 {
    let first = *numbers.index(comptime!(axis + 1));
    let last = *numbers.index(comptime!(axis + 2));
    let len = *numbers.index(comptime!(axis + 5));
    match edge {
        Edge::Clamp => {
            if comptime!(before) {
                first
            } else {
                last
            }
        }
        Edge::Mirror => {
            let steps = len - 1u32;
            let turned = distance % max(2u32 * steps, 1u32);
            let steps_in = min(turned, 2u32 * steps - turned);
            if comptime!(before) {
                first + steps_in
            } else {
                last - steps_in
            }
        }
        Edge::Wrap => {
            let steps_in = (distance - 1u32) % len;
            if comptime!(before) {
                last - steps_in
            } else {
                first + steps_in
            }
        }
        Edge::Zero => u32::new(0xffff_ffffi64),
    }
}

/// What a launch tells a kernel about where it reads.
pub(crate) fn numbers(source: &Plane, columns: Places, lines: Places) -> Vec<u32> {
    let plane = [
        source.offset(),
        source.pitch(),
        source.width(),
        source.height(),
        source.row_words() - 1,
    ];
    [&columns.of_launch()[..], &lines.of_launch(), &plane].concat()
}

/// Refuses a band that does not lie in a filter of `size` columns and rows.
pub(crate) fn check_band(gpu: &Gpu, band: Rect, size: (u64, u64)) -> Result<(), DeviceError> {
    let inside = |from: i64, count: u64, all: u64| {
        u64::try_from(from)
            .ok()
            .and_then(|from| from.checked_add(count))
            .is_some_and(|end| end <= all)
    };
    if inside(band.x(), band.width(), size.0) && inside(band.y(), band.height(), size.1) {
        return Ok(());
    }
    Err(DeviceError::Outside {
        device: gpu.id(),
        what: "a filter",
        at: (band.x(), band.y()),
        size: (band.width(), band.height()),
        whole: size,
    })
}

/// The word of samples that begins at `column` of the row that begins at word `start`, 0 outside of the plane.
#[cube]
pub(crate) fn word_at(
    source: &Array<u32>,
    numbers: &Sequence<u32>,
    start: u32,
    column: u32,
    #[comptime] bits: u32,
) -> u32 {
    let lanes = comptime!(per_word(bits));
    let right = *numbers.index(comptime!(PLANE + 2)) + lanes;
    let last = *numbers.index(comptime!(PLANE + 4));
    // A word's samples farther, so that one which the plane's edge cuts is not left of the row's start.
    let ahead = column + lanes;
    let word = ahead / lanes;
    let low = source[(start + min(max(word, 1u32) - 1u32, last)) as usize];
    let high = source[(start + min(word, last)) as usize];
    funnel(low, high, (ahead % lanes) * bits) & coverage(ahead, lanes, right, bits)
}

/// The sample at `column` of the row that begins at word `start`, 0 outside of the plane.
#[cube]
pub(crate) fn sample_at(
    source: &Array<u32>,
    numbers: &Sequence<u32>,
    start: u32,
    column: u32,
    #[comptime] bits: u32,
) -> u32 {
    let lanes = comptime!(per_word(bits));
    let width = *numbers.index(comptime!(PLANE + 2));
    let inside = min(column, width - 1u32);
    let word = source[(start + inside / lanes) as usize];
    let sample = (word >> ((inside % lanes) * bits)) & comptime!(ones(bits));
    select(column < width, sample, 0u32)
}
