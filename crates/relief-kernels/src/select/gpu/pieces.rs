//! Selections from arrays that are longer than a buffer, and to such.
//!
//! Pieces are selected from one after the other. Where a piece's result begins is known once the one before is done, so the host
//! waits for that number each time, which is short beside the piece. What would go beyond the end of a buffer is left out, and
//! the piece is selected from once more for the next buffer: that happens once for each of them.

use super::{Elements, Launch, Output, PART, Route, Selection, Shape, Wanted, default, name, space};
use crate::device::{Buffer, DeviceError, Gpu, on_client};
use crate::element::Element;
use crate::pieces::Pieces;
use crate::policy;

/// The most words of a buffer that takes a part of the result: what lies before it must not look like its end.
const MOST: u64 = (1 << 32) - PART as u64;

/// A selection of values in pieces.
#[derive(Clone, Copy, Debug)]
pub struct PiecesSelection<'a> {
    /// What is selected from.
    pub from: Pieces<'a>,
    /// What it is.
    pub kind: Element,
    /// How many there are.
    pub len: u64,
    /// Flags, a byte each, in as many buffers of as many each; without any, what is not 0 is kept.
    pub flags: Option<&'a [Buffer]>,
    /// Where the elements go that are kept: room for all of them.
    pub to: Pieces<'a>,
    /// At least [`scratch_words`](super::scratch_words) of the longest piece.
    pub scratch: &'a Buffer,
}

/// Selects, and returns how many elements are kept.
///
/// # Errors
/// Where the device fails, and where buffers are too short; where pieces of the result are no multiples of 4 elements, or of nearly 2^32
/// words or more.
pub fn select(gpu: &Gpu, selection: &PiecesSelection<'_>) -> Result<u64, DeviceError> {
    let bits = selection.kind.bits();
    select_with(
        gpu,
        Route::fitting(gpu.report(), bits),
        u64::from(PART),
        selection,
    )
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
) -> Result<u64, DeviceError> {
    let PiecesSelection { kind, len, to, .. } = *selection;
    if most == 0 || !most.is_multiple_of(8_192) || most > u64::from(PART) {
        return Err(gpu.unsupported(format!("launches of {most} elements")));
    }
    if matches!(route, Route::LookBack { .. }) && gpu.report().software {
        return Err(gpu.unsupported("loops that wait end there after 65 535 rounds"));
    }
    to.check(gpu, kind, len)?;
    let words = kind.words(to.each.min(len));
    if to.each == 0 || !to.each.is_multiple_of(4) || words > MOST {
        return Err(gpu.unsupported(format!("results in pieces of {} elements", to.each)));
    }
    if let Some(buffers) = selection.flags {
        let flags = Pieces {
            buffers,
            ..selection.from
        };
        flags.check(gpu, Element::U8, len)?;
    }
    let count = gpu.buffer(4)?;
    let mut kept = 0;
    for (number, piece) in selection.from.of(gpu, kind, len)?.enumerate() {
        for first in (0..piece.len).step_by(most as usize) {
            let after = |buffer: &Buffer, bits: u32| {
                let words = (first * u64::from(bits) / 32) as usize;
                let part = buffer.part(words, buffer.words() - words);
                part.ok_or_else(|| gpu.unsupported("a part of a buffer"))
            };
            let part = Part {
                from: after(piece.buffer, kind.bits())?,
                flags: selection
                    .flags
                    .map(|flags| after(&flags[number], 8))
                    .transpose()?,
                len: (piece.len - first).min(most),
                count: &count,
            };
            kept = part.select(gpu, route, selection, kept)?;
        }
    }
    Ok(kept)
}

/// What one launch selects from.
struct Part<'a> {
    from: Buffer,
    flags: Option<Buffer>,
    len: u64,
    count: &'a Buffer,
}

impl Part<'_> {
    /// Selects after `before` elements that are kept already; returns how many are kept then.
    fn select(
        &self,
        gpu: &Gpu,
        route: Route,
        selection: &PiecesSelection<'_>,
        before: u64,
    ) -> Result<u64, DeviceError> {
        let each = selection.to.each;
        let mut window = before / each;
        let kept = window * each + self.select_to(gpu, route, selection, window, before)?;
        while kept > (window + 1) * each {
            window += 1;
            self.select_to(gpu, route, selection, window, before)?;
        }
        Ok(kept)
    }

    /// Selects what goes to one buffer of the result; returns the place after the last element that is kept, counted from the buffer's
    /// first on.
    fn select_to(
        &self,
        gpu: &Gpu,
        route: Route,
        selection: &PiecesSelection<'_>,
        window: u64,
        before: u64,
    ) -> Result<u64, DeviceError> {
        let PiecesSelection {
            kind, to, scratch, ..
        } = *selection;
        let Some(out) = to.buffers.get(window as usize) else {
            return Ok(before.wrapping_sub(window * to.each));
        };
        let whole = Selection {
            from: Elements {
                buffer: &self.from,
                kind,
                len: self.len,
            },
            wanted: self.flags.as_ref().map_or(Wanted::NonZero, Wanted::Flagged),
            output: Output::Values(out),
            count: self.count,
            scratch,
        };
        let bits = kind.bits();
        let tuning = policy::tuning(gpu.report(), name(bits), &space(bits), default(bits));
        let mut shape = Shape::of(gpu, tuning, route, &whole)?;
        shape.windowed = true;
        let mut launch = Launch::of(gpu, shape, &whole, 0)?;
        let origin = before.wrapping_sub(window * to.each);
        launch.origin = (origin as u32, (origin >> 32) as u32);
        // Whole words: pieces of the result are multiples of four elements.
        launch.limit = (to.each * u64::from(bits) / 32).min(out.words() as u64) as u32;
        gpu.launch(
            "select",
            &shape,
            self.count,
            || on_client!(gpu, client => launch.on(client)),
        )?;
        let bytes = gpu.read(self.count, 2).wait()?;
        let mut count = [0; 8];
        count.copy_from_slice(&bytes[..8]);
        Ok(u64::from_le_bytes(count))
    }
}
