//! The exact distance within a radius on the CPU.
//!
//! Down the rows of the mask, then up again, each column counts the rows since the last white pixel
//! (`columns`). Of each row, on the way up, the least dx² + g² is then taken in one of three ways:
//!
//! - `window` looks at dx = 0, 1, 2, … for a block of pixels at once and stops as soon as dx² alone reaches
//!   the greatest minimum of the block: in 8 bits as far as distance 15, then in 16;
//! - `near` takes the least over all columns that have a white pixel within the radius, where these are few;
//! - `envelope` finds the lower envelope of the parabolas, at a cost that does not grow with the radius.
//!
//! The window wins wherever a white pixel is near. For radii above 64 it is tried first and gives a row up
//! when it has gone far; one of the others then takes it. `profile` turns the squares into samples, which
//! takes as long as finding them.

mod columns;
mod envelope;
mod near;
mod profile;
mod window;

use relief_raster::{Sample, View, ViewMut};

use self::columns::{Columns, Gap};
use self::envelope::{Envelope, Least};
use self::profile::Profile;
use self::window::{Bytes, Words};
use crate::ahead::{LINE, ask_to_write};
use crate::isa::Isa;

/// The greatest radius, in pixels.
pub const MAX_RADIUS: u32 = 4_096;

/// The most columns of a mask.
const MAX_COLUMNS: usize = 1 << 30;

/// The greatest radius whose squares, and one more value, fit in 8 bits.
const BYTE_RADIUS: usize = 15;

/// The greatest radius whose distances, and one more value, fit in 8 bits, and their squares in 16.
const NARROW_RADIUS: usize = 254;

/// The greatest radius for which the window alone is used.
const WINDOW_RADIUS: usize = 64;

/// How far the window goes for larger radii before it leaves a row to the envelope.
const PATIENCE: usize = 40;

/// Rows that go straight to the envelope after one that the window gave up.
const PAUSE: usize = 15;

/// The words of scratch memory that a [`Transform`] of a tile of `width` × `height` pixels needs; `usize::MAX` where no
/// memory would do.
#[must_use]
pub fn scratch_words(width: usize, height: usize, radius: u32) -> usize {
    Layout::new(width, height, radius)
        .and_then(|layout| layout.words())
        .unwrap_or(usize::MAX)
}

/// How the scratch memory is used.
#[derive(Clone, Copy, Debug)]
struct Layout {
    width: usize,
    height: usize,
    radius: usize,
    columns: usize,
}

impl Layout {
    fn new(width: usize, height: usize, radius: u32) -> Option<Self> {
        if radius > MAX_RADIUS {
            return None;
        }
        let radius = radius as usize;
        let columns = width
            .checked_add(2 * radius)
            .filter(|columns| *columns <= MAX_COLUMNS)?;
        height.checked_add(2 * radius)?;
        Some(Self {
            width,
            height,
            radius,
            columns,
        })
    }

    const fn narrow(&self) -> bool {
        self.radius <= NARROW_RADIUS
    }

    fn words(&self) -> Option<usize> {
        let gap = if self.narrow() { 1 } else { 2 };
        let words = |count: usize, bytes: usize| Some(count.checked_mul(bytes)?.div_ceil(8));
        let plane = words(self.columns.checked_mul(self.height)?, gap)?;
        let rows = 2 * words(self.columns, gap)?;
        let squares = words(self.columns + window::LANES, 1)? + words(self.columns + window::LANES, 2)?;
        let least = words(self.width + window::LANES, 2)?;
        let envelope = if self.radius <= WINDOW_RADIUS {
            0
        } else {
            3 * words(self.columns, 4)?
                + near::flag_words(self)
                + words(near::room(self), 4)?
                + words(self.width + window::LANES, 4)?
        };
        plane.checked_add(rows + squares + least + envelope)
    }
}

/// Typed slices, one after the other, of scratch memory.
struct Carver<'s>(&'s mut [u64]);

impl<'s> Carver<'s> {
    fn take<T: bytemuck::Pod>(&mut self, count: usize) -> &'s mut [T] {
        let words = std::mem::take(&mut self.0);
        let (taken, rest) = words.split_at_mut((count * size_of::<T>()).div_ceil(8));
        self.0 = rest;
        &mut bytemuck::cast_slice_mut(taken)[..count]
    }
}

/// The distance transform of one tile, fed with the rows of its mask from the top.
///
/// For a tile of w × h pixels and radius R the mask is w + 2R columns wide and h + 2R rows high: R rows above the
/// tile, h rows of it, R rows below. Rows are handed over in chunks of any height; rows that are not handed over
/// before [`finish`](Self::finish) are black.
#[derive(Debug)]
pub struct Transform<'s> {
    layout: Layout,
    isa: Isa,
    gaps: Gaps<'s>,
    scratch: &'s mut [u64],
}

/// Distances along columns, in as many bits as the radius needs.
#[derive(Debug)]
enum Gaps<'s> {
    Narrow(Columns<'s, u8>),
    Wide(Columns<'s, u16>),
}

impl<'s> Transform<'s> {
    /// A transform that has seen no row yet.
    ///
    /// # Panics
    /// Where the radius is more than [`MAX_RADIUS`], the mask has more than 2^30 columns, or the scratch memory is
    /// shorter than [`scratch_words`].
    #[must_use]
    pub fn new(width: usize, height: usize, radius: u32, scratch: &'s mut [u64]) -> Self {
        let layout = Layout::new(width, height, radius);
        let needed = layout.and_then(|layout| layout.words());
        let (Some(layout), Some(needed)) = (layout, needed) else {
            panic!("a distance transform of {width}×{height} pixels with radius {radius}");
        };
        assert!(
            scratch.len() >= needed,
            "{} words of scratch memory instead of {needed}",
            scratch.len()
        );
        let mut carver = Carver(scratch);
        let isa = Isa::best();
        let gaps = if layout.narrow() {
            Gaps::Narrow(Columns::new(isa, layout, &mut carver))
        } else {
            Gaps::Wide(Columns::new(isa, layout, &mut carver))
        };
        Self {
            layout,
            isa,
            gaps,
            scratch: carver.0,
        }
    }

    /// The next rows of the mask: samples other than 0 are white.
    ///
    /// # Panics
    /// Where they are not w + 2R columns wide or more than the rows still missing.
    pub fn push<S: Sample>(&mut self, rows: View<'_, S>) {
        assert_eq!(rows.width(), self.layout.columns, "columns of a mask");
        self.push_part(rows, 0);
    }

    /// The next rows of the mask, of which the columns from `left` on are given and the others are black.
    ///
    /// # Panics
    /// Where they reach beyond w + 2R columns or are more than the rows still missing.
    pub fn push_part<S: Sample>(&mut self, rows: View<'_, S>, left: usize) {
        match &mut self.gaps {
            Gaps::Narrow(columns) => columns.push(rows, left),
            Gaps::Wide(columns) => columns.push(rows, left),
        }
    }

    /// The next `count` rows of the mask are black.
    ///
    /// # Panics
    /// Where they are more than the rows still missing.
    pub fn push_black(&mut self, count: usize) {
        match &mut self.gaps {
            Gaps::Narrow(columns) => columns.push_black(count),
            Gaps::Wide(columns) => columns.push_black(count),
        }
    }

    /// Writes `profile[a]` for every pixel of the tile, where a is the least dx² + dy² over white pixels with
    /// a ≤ R², or `beyond` where there is none.
    ///
    /// # Panics
    /// Where `out` has not the size of the tile or the profile has not R² + 1 entries.
    pub fn finish<S: Sample>(self, profile: &[S], beyond: S, mut out: ViewMut<'_, S>) {
        let Self {
            layout,
            isa,
            gaps,
            scratch,
        } = self;
        assert_eq!(
            (out.width(), out.height()),
            (layout.width, layout.height),
            "a tile of another size"
        );
        assert_eq!(
            profile.len(),
            layout.radius * layout.radius + 1,
            "entries of a profile"
        );
        if layout.width == 0 {
            return;
        }
        let profile = Profile::new(isa, profile, beyond);
        let mut carver = Carver(scratch);
        match gaps {
            Gaps::Narrow(columns) if layout.radius <= BYTE_RADIUS => {
                let mut window = Bytes::new(isa, layout, &mut carver);
                columns.finish(|y, gaps, nearest| {
                    ask_for_row_above(&mut out, y);
                    if usize::from(nearest) > layout.radius {
                        return out.row_mut(y).fill(beyond);
                    }
                    profile.look_up_bytes(window.least(gaps), out.row_mut(y));
                });
            }
            Gaps::Narrow(columns) if layout.radius <= WINDOW_RADIUS => {
                let mut window = Words::new(isa, layout, &mut carver);
                columns.finish(|y, gaps, nearest| {
                    ask_for_row_above(&mut out, y);
                    if usize::from(nearest) > layout.radius {
                        return out.row_mut(y).fill(beyond);
                    }
                    // None needs a column farther away than the radius.
                    if let Some(least) = window.least(gaps, layout.radius) {
                        profile.look_up(least, out.row_mut(y));
                    }
                });
            }
            Gaps::Narrow(columns) => finish_far::<_, u16, _>(isa, layout, carver, columns, &profile, out),
            Gaps::Wide(columns) => finish_far::<_, u32, _>(isa, layout, carver, columns, &profile, out),
        }
    }
}

/// [`Transform::finish`] for radii above [`WINDOW_RADIUS`].
fn finish_far<G: Gap, L: Least, S: Sample>(
    isa: Isa,
    layout: Layout,
    mut carver: Carver<'_>,
    columns: Columns<'_, G>,
    profile: &Profile<'_, S>,
    mut out: ViewMut<'_, S>,
) {
    let mut window = Words::new(isa, layout, &mut carver);
    let mut envelope = Envelope::<L>::new(isa, layout, &mut carver);
    let mut pause = 0;
    columns.finish(|y, gaps, nearest| {
        ask_for_row_above(&mut out, y);
        let out = out.row_mut(y);
        if nearest.into() > layout.radius {
            return out.fill(profile.beyond);
        }
        if pause == 0 {
            if let Some(least) = window.least(gaps, PATIENCE) {
                return profile.look_up(least, out);
            }
            pause = PAUSE + 1;
        }
        pause -= 1;
        L::look_up(profile, envelope.least(gaps), out);
    });
}

/// Rows are written from the last to the first, which processors do not see coming.
fn ask_for_row_above<S: Sample>(out: &mut ViewMut<'_, S>, y: usize) {
    if let Some(above) = y.checked_sub(1) {
        let row: &[u8] = bytemuck::cast_slice(out.row_mut(above));
        for line in row.chunks(LINE) {
            ask_to_write(line.as_ptr());
        }
    }
}

/// The whole transform of a mask that is R pixels larger than `out` on every side; see [`Transform`].
///
/// # Panics
/// As the functions of [`Transform`].
pub fn bounded<S: Sample>(
    mask: View<'_, S>,
    radius: u32,
    profile: &[S],
    beyond: S,
    out: ViewMut<'_, S>,
    scratch: &mut [u64],
) {
    let mut transform = Transform::new(out.width(), out.height(), radius, scratch);
    transform.push(mask);
    transform.finish(profile, beyond, out);
}
