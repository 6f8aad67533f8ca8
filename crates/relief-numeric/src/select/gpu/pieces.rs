//! Selections from arrays that are longer than a buffer, and to such.
//!
//! Pieces are selected from one after the other. Where a piece's result begins is known once the one before is done, so the host
//! waits for that number each time, which is short beside the piece. What would go beyond the end of a buffer is left out, and
//! the piece is selected from once more for the next buffer: that happens once for each of them.

use super::{Elements, Launch, Output, PART, Route, Selection, Shape, Wanted, default, name, space};
use crate::element::{Element, Keys};
use crate::pieces::Pieces;
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, on_client};
use relief_kernels::policy;

/// The most words of a buffer that takes a part of the result: what lies before it must not look like its end.
const MOST: u64 = (1 << 32) - PART as u64;

/// What is kept, as [`Wanted`] says.
#[derive(Clone, Copy, Debug)]
pub enum PiecesWanted<'a> {
    /// Elements that are not 0.
    NonZero,
    /// Elements whose flag, a byte each, is not 0: in as many buffers of as many each as the elements.
    Flagged(&'a [Buffer]),
    /// Elements whose keys are some.
    Within(Keys),
    /// The first element of each row of so many, and those other than that before; of bytes in pieces of whole rows.
    Heads(u32),
}

/// What is written, as [`Output`] says; each has room for all elements.
#[derive(Clone, Copy, Debug)]
pub enum PiecesOutput<'a> {
    /// The elements that are kept.
    Values(Pieces<'a>),
    /// Where they lay in their piece, as numbers of 32 bits.
    Indices(Pieces<'a>),
    /// The elements that are kept, and those that are left.
    Halves(Pieces<'a>, Pieces<'a>),
    /// Where those that are kept lay in their piece, as numbers of 32 bits, and what they are; of bytes, in pieces of as many each.
    Places(Pieces<'a>, Pieces<'a>),
}

impl<'a> PiecesOutput<'a> {
    /// What goes where of `len` elements: what is kept, and what is beside it.
    fn targets(self, kind: Element, len: u64) -> (Target<'a>, Option<Target<'a>>) {
        let target = |to, kind| Target { to, kind, len };
        match self {
            Self::Values(to) => (target(to, kind), None),
            Self::Indices(to) => (target(to, Element::U32), None),
            Self::Halves(kept, left) => (target(kept, kind), Some(target(left, kind))),
            Self::Places(places, values) => (target(places, Element::U32), Some(target(values, kind))),
        }
    }
}

/// A selection in pieces.
#[derive(Clone, Copy, Debug)]
pub struct PiecesSelection<'a> {
    /// What is selected from.
    pub from: Pieces<'a>,
    /// What it is.
    pub kind: Element,
    /// How many there are.
    pub len: u64,
    /// What is kept.
    pub wanted: PiecesWanted<'a>,
    /// What is written.
    pub output: PiecesOutput<'a>,
    /// At least [`scratch_words`](super::scratch_words) of the longest piece.
    pub scratch: &'a Buffer,
}

/// Selects, and returns how many elements are kept of each piece.
///
/// # Errors
/// Where the device fails, and where buffers are too short; where pieces of the result are no multiples of 4 elements, or of nearly 2^32
/// words or more; where places in a piece have more than 32 bits; where pieces are no whole rows.
pub fn select(gpu: &Gpu, selection: &PiecesSelection<'_>) -> Result<Vec<u64>, DeviceError> {
    select_with(gpu, Route::fitting(gpu.report()), u64::from(PART), selection)
}

/// [`select`] by this route, with at most so many elements, a multiple of 8 192, for each launch.
///
/// # Errors
/// As [`select`], and where the route cannot be taken or launches are of other lengths.
pub fn select_with(
    gpu: &Gpu,
    route: Route,
    most: u64,
    selection: &PiecesSelection<'_>,
) -> Result<Vec<u64>, DeviceError> {
    if most == 0 || !most.is_multiple_of(8_192) || most > u64::from(PART) {
        return Err(gpu.unsupported(format!("launches of {most} elements")));
    }
    route.check(gpu)?;
    check(gpu, selection)?;
    if selection.len > 0 {
        gpu.check_memory(&memory(selection))?;
    }
    let count = gpu.buffer(4)?;
    let (mut done, mut kept, mut of_pieces) = (0, 0, Vec::new());
    for (number, piece) in selection.from.of(gpu, selection.kind, selection.len)?.enumerate() {
        let before = kept;
        for first in (0..piece.len).step_by(most as usize) {
            let part = Part {
                gpu,
                route,
                selection,
                piece: (number, piece.buffer),
                first,
                len: (piece.len - first).min(most),
                done,
                kept,
                count: &count,
            };
            kept += part.select()?;
            done += part.len;
        }
        of_pieces.push(kept - before);
    }
    Ok(of_pieces)
}

/// All pieces together: later ones are read after results of the first are written.
fn memory<'a>(selection: &PiecesSelection<'a>) -> Vec<Operand<'a>> {
    let (kept, rest) = selection.output.targets(selection.kind, selection.len);
    let mut memory: Vec<_> = selection.from.read("the elements").collect();
    if let PiecesWanted::Flagged(flags) = selection.wanted {
        memory.extend(flags.iter().map(|flags| Operand::read("the flags", flags)));
    }
    memory.extend(kept.to.updated("what is kept"));
    memory.extend(
        rest.into_iter()
            .flat_map(|rest| rest.to.updated("what is left, or the values")),
    );
    memory.push(Operand::update("scratch memory", selection.scratch));
    memory
}

fn check(gpu: &Gpu, selection: &PiecesSelection<'_>) -> Result<(), DeviceError> {
    let PiecesSelection { from, kind, len, .. } = *selection;
    let (kept, rest) = selection.output.targets(kind, len);
    for Target { to, kind, .. } in [Some(kept), rest].into_iter().flatten() {
        to.check(gpu, kind, len)?;
        let each = to.each;
        if each == 0 || !each.is_multiple_of(4) || kind.words(each.min(len)) > MOST {
            return Err(gpu.unsupported(format!("results in pieces of {each} elements")));
        }
    }
    let places = matches!(selection.wanted, PiecesWanted::Heads(_))
        || matches!(
            selection.output,
            PiecesOutput::Indices(_) | PiecesOutput::Places(..)
        );
    if places && from.each.min(len) > 1 << 32 {
        return Err(gpu.unsupported(format!("places in pieces of {} elements", from.each)));
    }
    let of_bytes = match (selection.wanted, selection.output) {
        (PiecesWanted::Heads(width), _) if width == 0 || !from.each.is_multiple_of(width.into()) => {
            return Err(gpu.unsupported(format!("rows of {width} bytes in pieces of {}", from.each)));
        }
        (_, PiecesOutput::Places(places, values)) if places.each != values.each => {
            return Err(gpu.unsupported(format!(
                "places in pieces of {} and values of {}",
                places.each, values.each
            )));
        }
        (PiecesWanted::Heads(_), _) | (_, PiecesOutput::Places(..)) => true,
        _ => false,
    };
    if of_bytes && kind != Element::U8 {
        return Err(gpu.unsupported(format!("heads or places of elements of {} bits", kind.bits())));
    }
    match selection.wanted {
        PiecesWanted::Flagged(buffers) => Pieces { buffers, ..from }.check(gpu, Element::U8, len),
        _ => Ok(()),
    }
}

/// Where a part of the result goes.
#[derive(Clone, Copy)]
struct Target<'a> {
    to: Pieces<'a>,
    kind: Element,
    /// Elements of the whole result at most.
    len: u64,
}

/// One of its buffers, which a launch fills; of 0 words where there is none to fill.
struct Window {
    buffer: Buffer,
    words: u32,
    /// The place in it of what comes next; below 0 where that belongs to a buffer before.
    origin: u64,
}

impl Target<'_> {
    /// The buffers that have a part of `count` elements after `before`.
    fn windows(self, before: u64, count: u64) -> std::ops::Range<u64> {
        let first = before / self.to.each;
        first..first.max((before + count).div_ceil(self.to.each))
    }

    fn window(self, gpu: &Gpu, number: Option<u64>, before: u64) -> Result<Window, DeviceError> {
        let of = |number: u64| Some((number, self.to.buffers.get(usize::try_from(number).ok()?)?));
        let Some((number, buffer)) = number.and_then(of) else {
            return Ok(Window {
                buffer: gpu.nothing()?,
                words: 0,
                origin: 0,
            });
        };
        Ok(Window {
            buffer: buffer.clone(),
            words: window_words(self.to.each, self.kind, self.len, buffer.words() as u64),
            origin: before.wrapping_sub(number * self.to.each),
        })
    }
}

/// The words that a launch may write of a buffer of `held` words, which takes `each` elements of a result of at most `len`. A buffer may
/// be longer than 32 bits count; what is used of it is not.
fn window_words(each: u64, kind: Element, len: u64, held: u64) -> u32 {
    // Pieces of the result are multiples of four elements, so whole words, unless the result ends within the first.
    let used = each.min(len).saturating_mul(kind.bits().into()).div_ceil(32);
    used.min(held).min(MOST) as u32
}

/// What one launch selects from.
struct Part<'a> {
    gpu: &'a Gpu,
    route: Route,
    selection: &'a PiecesSelection<'a>,
    /// Which piece it is of.
    piece: (usize, &'a Buffer),
    /// The place of its first element in that.
    first: u64,
    len: u64,
    /// Elements before it, and how many of them are kept.
    done: u64,
    kept: u64,
    count: &'a Buffer,
}

impl Part<'_> {
    /// Selects, and returns how many elements are kept.
    fn select(&self) -> Result<u64, DeviceError> {
        let (kept, rest) = self
            .selection
            .output
            .targets(self.selection.kind, self.selection.len);
        let halves = matches!(self.selection.output, PiecesOutput::Halves(..));
        let left = rest.filter(|_| halves);
        let first_of = |target: Target<'_>, before: u64| target.windows(before, 0).start;
        let before_left = self.done - self.kept;
        let count = self.select_to(
            Some(first_of(kept, self.kept)),
            left.map(|left| first_of(left, before_left)),
        )?;
        for window in kept.windows(self.kept, count).skip(1) {
            self.select_to(Some(window), None)?;
        }
        if let Some(left) = left {
            for window in left.windows(before_left, self.len - count).skip(1) {
                self.select_to(None, Some(window))?;
            }
        }
        Ok(count)
    }

    /// Selects what goes to these buffers of what is kept and of what is left; returns how many are kept.
    fn select_to(&self, kept: Option<u64>, left: Option<u64>) -> Result<u64, DeviceError> {
        let Self { gpu, selection, .. } = *self;
        let (target, rest) = selection.output.targets(selection.kind, selection.len);
        let window = target.window(gpu, kept, self.kept)?;
        let beside = match (selection.output, rest) {
            (PiecesOutput::Halves(..), Some(rest)) => rest.window(gpu, left, self.done - self.kept)?,
            (_, Some(rest)) => rest.window(gpu, kept, self.kept)?,
            (_, None) => target.window(gpu, None, 0)?,
        };
        let (from, flags) = (self.after(self.piece.1, selection.kind)?, self.flags()?);
        let whole = Selection {
            from: Elements {
                buffer: &from,
                kind: selection.kind,
                len: self.len,
            },
            wanted: match (selection.wanted, &flags) {
                (PiecesWanted::Flagged(_), Some(flags)) => Wanted::Flagged(flags),
                (PiecesWanted::Within(keys), _) => Wanted::Within(keys),
                (PiecesWanted::Heads(width), _) => Wanted::Heads(width),
                (PiecesWanted::NonZero | PiecesWanted::Flagged(_), _) => Wanted::NonZero,
            },
            output: match selection.output {
                PiecesOutput::Values(_) => Output::Values(&window.buffer),
                PiecesOutput::Indices(_) => Output::Indices(&window.buffer),
                PiecesOutput::Halves(..) => Output::Halves(&window.buffer, &beside.buffer),
                PiecesOutput::Places(..) => Output::Places(&window.buffer, &beside.buffer),
            },
            count: self.count,
            scratch: selection.scratch,
        };
        let bits = selection.kind.bits();
        let tuning = policy::tuning(gpu.report(), name(bits), &space(bits), default(bits));
        let mut shape = Shape::of(gpu, tuning, self.route, &whole)?;
        shape.windowed = true;
        let mut launch = Launch::of(gpu, shape, &whole, 0)?;
        launch.begin = self.first as u32;
        launch.before = window.origin.wrapping_add(beside.origin);
        launch.origin = (window.origin as u32, (window.origin >> 32) as u32);
        launch.limits = (window.words, beside.words);
        if matches!(selection.wanted, PiecesWanted::Heads(_)) {
            // The byte before the first is asked for.
            launch.flags = self.piece.1.clone();
        }
        gpu.launch(
            "select",
            &shape,
            &launch.memory(),
            || on_client!(gpu, client => launch.on(gpu, client)),
        )?;
        let bytes = gpu.read(self.count, 2).wait()?;
        let mut count = [0; 8];
        count.copy_from_slice(&bytes[..8]);
        Ok(u64::from_le_bytes(count).wrapping_sub(window.origin))
    }

    /// What a buffer has from the part's first element on.
    fn after(&self, buffer: &Buffer, kind: Element) -> Result<Buffer, DeviceError> {
        let words = (self.first * u64::from(kind.bits()) / 32) as usize;
        let part = buffer.part(words, buffer.words() - words);
        part.ok_or_else(|| self.gpu.unsupported("a part of a buffer"))
    }

    fn flags(&self) -> Result<Option<Buffer>, DeviceError> {
        match self.selection.wanted {
            PiecesWanted::Flagged(flags) => self.after(&flags[self.piece.0], Element::U8).map(Some),
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_more_words_than_32_bits_count_takes_what_goes_to_it() {
        const LONG: u64 = 1 << 32;
        // Longer pieces than the result, in a buffer of 16 GiB.
        assert_eq!(window_words(1 << 33, Element::U32, 100, LONG), 100);
        assert_eq!(window_words(!3, Element::U8, 101, LONG), 26);
        // Pieces that are full.
        assert_eq!(window_words(64, Element::U8, 1_000, LONG), 16);
        assert_eq!(u64::from(window_words(MOST, Element::U32, LONG, LONG + 4)), MOST);
        // What the buffer does not hold is never written.
        assert_eq!(window_words(64, Element::U32, 1_000, 60), 60);
    }
}
