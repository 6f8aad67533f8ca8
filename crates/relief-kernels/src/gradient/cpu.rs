//! Gradients on the CPU.

use relief_raster::{Sample, ViewMut};

use super::angle::{self, TANGENT_BITS};
use super::{Course, Gradient, Line, ONE, PIXEL, Ring, Spread, Stop, away};
use crate::isa::{Isa, versions};

/// Pixels of a row that are computed at once.
const PART: usize = 512;

/// Bits behind the point of the steps along a linear gradient.
const BITS: u32 = 48;

/// What lies behind the point.
const BEHIND: u64 = (1 << BITS) - 1;

/// 2^52: a number of 0 to 2^32 and this has its nearest whole number in the low bits of its fraction.
const TO_WHOLE: f64 = 4_503_599_627_370_496.0;

/// More pieces between stops than this in a part of a row are looked up pixel by pixel.
const MAX_PIECES: usize = 8;

/// Samples from the pixel (x, y) on, which is at least 0, up to 2^40 pixels from there.
pub fn gradient<S: Sample>(gradient: &Gradient, (x, y): (i64, i64), mut out: ViewMut<'_, S>) {
    if out.width() == 0 || out.height() == 0 {
        return;
    }
    let isa = Isa::best();
    match gradient.course {
        // All rows are the same.
        Course::Linear(line) if line.b == 0 => {
            row(isa, gradient, (x, y), out.row_mut(0));
            for j in 1..out.height() {
                let (first, row) = out.row_pair(0, j);
                row.copy_from_slice(first);
            }
        }
        // And so are all columns.
        Course::Linear(line) if line.a == 0 => {
            for j in 0..out.height() {
                let place = gradient.spread.of(gradient.place(x, y + j as i64));
                out.row_mut(j).fill(S::from_u16(gradient.sample(place)));
            }
        }
        _ => {
            for j in 0..out.height() {
                row(isa, gradient, (x, y + j as i64), out.row_mut(j));
            }
        }
    }
}

/// A part of a row from a pixel on.
fn row<S: Sample>(isa: Isa, gradient: &Gradient, (x, y): (i64, i64), out: &mut [S]) {
    let mut places = [0; PART];
    for (number, out) in out.chunks_mut(PART).enumerate() {
        let (x, places) = (x + (number * PART) as i64, &mut places[..out.len()]);
        match gradient.course {
            Course::Linear(line) => linear(isa, gradient.spread, &line, (x, y), places),
            Course::Radial(ring) => radial(isa, gradient.spread, &ring, away(ring.centre, x, y), places),
            Course::Conical { centre, start } => conical(isa, start, away(centre, x, y), places),
        }
        samples(isa, gradient, places, out);
    }
}

/// T of pixels along a linear gradient.
///
/// T = ⌊(N + i·s) / D⌋ for pixel i. With N = Q·D + R and s = q·D + r that is Q + i·q + ⌊(R + i·r) / D⌋. The last term is taken from R·2^48 / D and
/// r·2^48 / D, both rounded up. So it is too great by less than (i + 1)·2^−48, and only where what is behind the point is less than that can it have crossed a whole
/// number. Where 1 / D is more than that it never does.
fn linear(isa: Isa, spread: Spread, line: &Line, (x, y): (i64, i64), places: &mut [u32]) {
    let (numerator, divisor) = (line.numerator(x, y), line.divisor);
    let (whole, part, is_exact) = split(numerator, divisor);
    let (step, part_step, is_step_exact) = split(line.step(), divisor);
    let off = u64::from(!is_exact) + places.len() as u64 * u64::from(!is_step_exact);
    let near = if i128::from(off) * divisor <= 1 << BITS {
        0
    } else {
        off
    };
    // What lies far beyond an end stays there, and what repeats is the same without whole times.
    let two = 2 * i128::from(ONE);
    let (whole, step) = match spread {
        Spread::Pad => (whole.clamp(-(1 << 60), 1 << 60), step),
        Spread::Repeat | Spread::Mirror => (whole.rem_euclid(two), step.rem_euclid(two)),
    };
    // Steps are at most 2^34.
    if steps(
        isa,
        spread,
        (whole as i64, step as i64),
        (part, part_step),
        near,
        places,
    ) {
        for (i, place) in places.iter_mut().enumerate() {
            if part.wrapping_add(part_step * i as u64) & BEHIND < near {
                let exact = (numerator + line.step() * i as i128).div_euclid(divisor);
                *place = spread.of(exact);
            }
        }
    }
}

/// The whole part of a fraction of at most 123 and 100 bits, what is behind the point in 2^−48, rounded up, and whether that is exact.
fn split(numerator: i128, divisor: i128) -> (i128, u64, bool) {
    let (whole, rest) = (numerator.div_euclid(divisor), numerator.rem_euclid(divisor));
    if rest == 0 {
        return (whole, 0, true);
    }
    let (divisor, rest) = (divisor.cast_unsigned(), rest.cast_unsigned());
    // In two steps, of which no number has more than 128 bits.
    let (high, rest) = ((rest << 24) / divisor, (rest << 24) % divisor);
    let (low, rest) = ((rest << 24) / divisor, (rest << 24) % divisor);
    (
        whole,
        ((high << 24) + low) as u64 + u64::from(rest > 0),
        rest == 0,
    )
}

versions! {
    /// T from the first pixel on, and whether one of them has less than `near` behind the point.
    fn steps(spread: Spread, whole: (i64, i64), part: (u64, u64), near: u64, places: &mut [u32]) -> bool {
        let one = i64::from(ONE);
        match spread {
            Spread::Pad => stepped(whole, part, near, places, |place| place.clamp(0, one) as u32),
            Spread::Repeat => stepped(whole, part, near, places, |place| place as u32 & (ONE - 1)),
            Spread::Mirror => stepped(whole, part, near, places, |place| {
                let place = place as u32 & (2 * ONE - 1);
                place.min(2 * ONE - place)
            }),
        }
    }
}

#[inline(always)]
fn stepped(
    (whole, step): (i64, i64),
    (part, part_step): (u64, u64),
    near: u64,
    places: &mut [u32],
    spread: impl Fn(i64) -> u32,
) -> bool {
    let mut is_near = 0;
    let (mut whole, mut part) = (whole, part);
    for place in places {
        *place = spread(whole + (part >> BITS) as i64);
        is_near |= u64::from(part & BEHIND < near);
        whole += step;
        part = part.wrapping_add(part_step);
    }
    is_near != 0
}

/// T of pixels from a centre outwards, the first of which lies here.
///
/// In binary64 the square of a distance is off by less than 2^−51 of it, its root by 2^−51, the product by 2^−50 of the greater of both terms. Only T that
/// lie nearer to a whole number can be wrong.
fn radial(isa: Isa, spread: Spread, ring: &Ring, (right, below): (i64, i64), places: &mut [u32]) {
    let inner = ring.inner as f64;
    let scale = f64::from(ONE) / (ring.radius - ring.inner) as f64;
    let last = right + PIXEL * (places.len() as i64 - 1);
    let farthest = (right.unsigned_abs().max(last.unsigned_abs()) + below.unsigned_abs()) as f64;
    let near = scale * (farthest + inner) * f64::EPSILON * 16.0;
    let exact = |i: usize| spread.of(ring.place(right + PIXEL * i as i64, below));
    if near > 0.25 {
        for (i, place) in places.iter_mut().enumerate() {
            *place = exact(i);
        }
        return;
    }
    let down = below as f64 * below as f64;
    let mut parts = [0.0; PART];
    let parts = &mut parts[..places.len()];
    if rings(
        isa,
        spread,
        right as f64,
        down,
        (inner, scale),
        near,
        places,
        parts,
    ) {
        for (i, (place, part)) in places.iter_mut().zip(parts).enumerate() {
            if is_near(*part, near) {
                *place = exact(i);
            }
        }
    }
}

/// Whether what is behind the point lies so near a whole number.
#[inline(always)]
fn is_near(part: f64, near: f64) -> bool {
    part < near || part > 1.0 - near
}

versions! {
    /// T from the first pixel on, with what is behind the point, and whether one of them lies nearer than that to a whole number.
    fn rings(
        spread: Spread,
        right: f64,
        down: f64,
        of: (f64, f64),
        near: f64,
        places: &mut [u32],
        parts: &mut [f64],
    ) -> bool {
        let one = f64::from(ONE);
        // All are whole numbers below 2^53, and so are whole times of a power of two.
        match spread {
            Spread::Pad => ringed((right, down), of, near, places, parts, |place| {
                let place = if place < 0.0 { 0.0 } else { place };
                if place > one { one } else { place }
            }),
            Spread::Repeat => ringed((right, down), of, near, places, parts, |place| {
                place - one * (place / one).floor()
            }),
            Spread::Mirror => ringed((right, down), of, near, places, parts, |place| {
                let place = place - 2.0 * one * (place / (2.0 * one)).floor();
                if place > one { 2.0 * one - place } else { place }
            }),
        }
    }
}

#[inline(always)]
fn ringed(
    (right, down): (f64, f64),
    (inner, scale): (f64, f64),
    near: f64,
    places: &mut [u32],
    parts: &mut [f64],
    spread: impl Fn(f64) -> f64,
) -> bool {
    let mut found = 0_u64;
    for (i, (place, part)) in places.iter_mut().zip(parts).enumerate() {
        let across = right + PIXEL as f64 * f64::from(i as i32);
        let exact = ((across * across + down).sqrt() - inner) * scale;
        let whole = exact.floor();
        *part = exact - whole;
        found |= u64::from(is_near(*part, near));
        *place = nearest(spread(whole));
    }
    found != 0
}

/// The nearest whole number of one of 0 to 2^32.
#[inline(always)]
fn nearest(number: f64) -> u32 {
    (number + TO_WHOLE).to_bits() as u32
}

/// T of pixels around a centre, the first of which lies here.
fn conical(isa: Isa, start: u32, (right, below): (i64, i64), places: &mut [u32]) {
    if tangents(isa, right as f64, below as f64, places) {
        // A quotient that is rounded to a whole number may be less.
        for (i, place) in places.iter_mut().enumerate() {
            let (across, down) = ((right + PIXEL * i as i64).unsigned_abs(), below.unsigned_abs());
            let (short, long) = (across.min(down), across.max(down));
            let exact = u128::from(short) << TANGENT_BITS;
            *place -= u32::from(u128::from(*place) * u128::from(long) > exact);
        }
    }
    directions(isa, start, (right, below), places);
}

versions! {
    /// ⌊2^26·s / l⌋ of the lesser and the greater of the distances of pixels along the axes, as binary64 has it, and whether one of them was rounded
    /// to a whole number.
    ///
    /// Both are exact, and the quotient is rounded once: its whole part is right unless it became whole by that. Where 2^26·s is below 2^53 it
    /// did not: no quotient by a number below 2^27 lies so near one.
    fn tangents(right: f64, below: f64, places: &mut [u32]) -> bool {
        let mut found = 0_u64;
        let down = below.abs();
        for (i, place) in places.iter_mut().enumerate() {
            let across = (right + PIXEL as f64 * f64::from(i as i32)).abs();
            let (short, long) = if across < down { (across, down) } else { (down, across) };
            let long = if long < 1.0 { 1.0 } else { long };
            let exact = short * f64::from(1_u32 << TANGENT_BITS) / long;
            let whole = exact.floor();
            found |= u64::from(whole == exact && long >= 134_217_728.0);
            *place = nearest(whole);
        }
        found != 0
    }
}

versions! {
    /// Tangents become T.
    fn directions(start: u32, from: (i64, i64), places: &mut [u32]) {
        let (mut right, below) = from;
        for place in places {
            let angle = angle::around(right, below, angle::within_eighth(*place));
            *place = angle.wrapping_sub(start) >> 8;
            right += PIXEL;
        }
    }
}

/// Samples of T.
fn samples<S: Sample>(isa: Isa, gradient: &Gradient, places: &[u32], out: &mut [S]) {
    let (least, greatest) = extremes(isa, places);
    let piece = |place: u32| gradient.stops.partition_point(|stop| stop.at <= place);
    let (first, last) = (piece(least), piece(greatest));
    if last - first > MAX_PIECES {
        for (out, place) in out.iter_mut().zip(places) {
            *out = S::from_u16(gradient.sample(*place));
        }
        return;
    }
    // Each piece writes over what those before it wrote from where it begins.
    for next in first..=last {
        let (from, to) = gradient.between(next);
        if next == first {
            between(isa, from, to, places, out);
        } else {
            from_there(isa, from, to, places, out);
        }
    }
}

versions! {
    fn extremes(places: &[u32]) -> (u32, u32) {
        let (mut least, mut greatest) = (u32::MAX, 0);
        for &place in places {
            least = least.min(place);
            greatest = greatest.max(place);
        }
        (least, greatest)
    }
}

/// The sample between two stops is the nearest whole number to v + (w − v)·u / d + 1 / 4d, u of d steps from the first.
///
/// (w − v)·u / d is a multiple of 1 / d. So nothing lies nearer to a half than 1 / 4d, which is at least 2^−26, and halves are rounded up. Binary64 is off by less
/// than 2^−34.
#[derive(Clone, Copy)]
struct Piece {
    begin: u32,
    whole: u32,
    value: f64,
    slope: f64,
}

impl Piece {
    fn of(from: Stop, to: Stop) -> Self {
        let whole = to.at.saturating_sub(from.at);
        let (value, steps) = (f64::from(from.value), f64::from(whole));
        if whole == 0 {
            return Self {
                begin: from.at,
                whole,
                value,
                slope: 0.0,
            };
        }
        Self {
            begin: from.at,
            whole,
            value: value + 0.25 / steps,
            slope: (f64::from(to.value) - value) / steps,
        }
    }

    /// The sample at a T; that of its beginning or its end beyond those.
    #[inline(always)]
    fn at<S: Sample>(self, place: u32) -> S {
        let steps = place.saturating_sub(self.begin).min(self.whole);
        // Below 2^31: the conversion of signed numbers is one instruction.
        S::from_u16(nearest(self.value + self.slope * f64::from(steps as i32)) as u16)
    }
}

versions! {
    /// Samples between two stops.
    fn between<S: Sample>(from: Stop, to: Stop, places: &[u32], out: &mut [S]) {
        let piece = Piece::of(from, to);
        for (out, place) in out.iter_mut().zip(places) {
            *out = piece.at(*place);
        }
    }
}

versions! {
    /// The same for all T from the first stop on.
    fn from_there<S: Sample>(from: Stop, to: Stop, places: &[u32], out: &mut [S]) {
        let piece = Piece::of(from, to);
        for (out, place) in out.iter_mut().zip(places) {
            let sample = piece.at(*place);
            *out = if *place >= from.at { sample } else { *out };
        }
    }
}
