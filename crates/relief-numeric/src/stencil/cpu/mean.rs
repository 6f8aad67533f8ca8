//! The mean of squares of 8-bit samples.
//!
//! Sums of columns follow the rows: one row enters, one leaves; in 16 bits they are exact up to radius 128. Across, sums of
//! 2, 4, 8, … columns stay in 16 bits as long as they fit, because these have twice the lanes; from there on in 32. A square
//! of radius 7 or less fits in 16 bits as a whole, and its mean is a product's upper half. Wider ones are prefix sums where the machine
//! has AVX-512 (`prefix`).

#[cfg(target_arch = "x86_64")]
mod prefix;

use super::{CHUNK, Carver, Picture, Target, Tile};
use relief_kernels::isa::{Isa, versions};

/// The greatest radius whose squares have sums of 16 bits.
const NARROW: usize = 7;

pub(super) fn filter(source: Picture<'_, u8>, reach: usize, mut target: Target<'_, u8>, scratch: &mut [u64]) {
    let isa = target.isa;
    for tile in target.tiles(reach) {
        let mut carver = Carver::new(&mut *scratch);
        let rows = target.rows.clone();
        let sums = carver.take::<u16>(tile.span());
        let mut windows = Windows::new(&tile, isa, &mut carver);
        let held = carver.take(tile.columns);
        for y in rows.clone() {
            let inside = &mut sums[tile.within()];
            let (above, below) = (y as isize - reach as isize, y as isize + reach as isize);
            if y == rows.start {
                inside.fill(0);
                (above..=below).for_each(|row| enter(isa, tile.of(&source, row), inside));
            } else {
                exchange(isa, tile.of(&source, below), tile.of(&source, above - 1), inside);
            }
            tile.replicate(sums);
            target.write(y, &tile, held, |out| {
                for (start, columns) in tile.chunks() {
                    windows.means(
                        &sums[start..start + columns + 2 * reach],
                        &mut out[start..start + columns],
                    );
                }
            });
        }
    }
}

versions! {
    fn enter(row: &[u8], sums: &mut [u16]) {
        for (sample, sum) in row.iter().zip(sums) {
            *sum += u16::from(*sample);
        }
    }
}

versions! {
    fn exchange(enters: &[u8], leaves: &[u8], sums: &mut [u16]) {
        for ((enters, leaves), sum) in enters.iter().zip(leaves).zip(sums) {
            *sum = sum.wrapping_add(u16::from(*enters)).wrapping_sub(u16::from(*leaves));
        }
    }
}

/// Windows across the sums of columns, and memory for them.
struct Windows<'s> {
    isa: Isa,
    window: usize,
    narrow: [&'s mut [u16]; 2],
    rest: &'s mut [u16],
    wide: [&'s mut [u32]; 2],
    total: &'s mut [u32],
}

impl<'s> Windows<'s> {
    fn new(tile: &Tile, isa: Isa, carver: &mut Carver<'s>) -> Self {
        let span = CHUNK + 2 * tile.reach;
        Self {
            isa,
            window: 2 * tile.reach + 1,
            narrow: [carver.take(span), carver.take(span)],
            rest: carver.take(CHUNK),
            wide: [carver.take(span), carver.take(span)],
            total: carver.take(CHUNK),
        }
    }

    fn means(&mut self, sums: &[u16], out: &mut [u8]) {
        match self.window {
            1 => shorten(self.isa, sums, out),
            3 => means_of_three(self.isa, sums, &sums[1..], &sums[2..], Reciprocal::new(9), out),
            window if window <= 2 * NARROW + 1 => self.narrow_means(sums, out),
            _ => self.wide_means(sums, out),
        }
    }

    /// Doubles the width of windows while that stays in `most` columns: their width, which buffer has them (`sums` where it is
    /// 1), and how many columns from the left end of the window are in `rest`.
    fn narrow(&mut self, sums: &[u16], columns: usize, most: usize) -> (usize, usize) {
        let window = self.window;
        let (mut width, mut summed) = (1, 0);
        while 2 * width <= most {
            let [from, to] = &mut self.narrow;
            let row: &[u16] = if width == 1 { sums } else { from };
            if window & width != 0 {
                let part = &row[summed..summed + columns];
                if summed == 0 {
                    self.rest[..columns].copy_from_slice(part);
                } else {
                    add_into(self.isa, part, &mut self.rest[..columns]);
                }
                summed += width;
            }
            let count = columns + window - 2 * width;
            add(
                self.isa,
                &row[..count],
                &row[width..width + count],
                &mut to[..count],
            );
            self.narrow.swap(0, 1);
            width *= 2;
        }
        (width, summed)
    }

    fn narrow_means(&mut self, sums: &[u16], out: &mut [u8]) {
        let (width, _) = self.narrow(sums, out.len(), self.window);
        let last = &self.narrow[0][self.window - width..];
        let divisor = (self.window * self.window) as u16;
        means_of_two(self.isa, last, self.rest, Reciprocal::new(divisor), out);
    }

    fn wide_means(&mut self, sums: &[u16], out: &mut [u8]) {
        #[cfg(target_arch = "x86_64")]
        if prefix::means(self.isa, sums, self.window, out).is_some() {
            return;
        }
        let (columns, window) = (out.len(), self.window);
        // The widest windows that fit in 16 bits; 255 · 127 · 2 does, so there are some.
        let most = (65_535 / (255 * window)).min(window);
        let (mut width, mut summed) = self.narrow(sums, columns, most);
        let [row, _] = &mut self.narrow;
        if summed == 0 {
            self.rest[..columns].fill(0);
        }
        let divisor = (window * window) as u32;
        if window / width == 3 {
            let part = |k: usize| &row[summed + k * width..][..columns];
            return means_of_parts(self.isa, part(0), part(1), part(2), self.rest, divisor, out);
        }
        self.total[..columns].fill(0);
        if window & width != 0 {
            widen_into(self.isa, &row[summed..][..columns], self.total);
            summed += width;
        }
        let [from, to] = &mut self.wide;
        let count = columns + window - 2 * width;
        widen_add(
            self.isa,
            &row[..count],
            &row[width..width + count],
            &mut from[..count],
        );
        width *= 2;
        while 2 * width <= window && window / width != 3 {
            if window & width != 0 {
                add_wide_into(self.isa, &from[summed..][..columns], self.total);
                summed += width;
            }
            let count = columns + window - 2 * width;
            add_wide(
                self.isa,
                &from[..count],
                &from[width..width + count],
                &mut to[..count],
            );
            std::mem::swap(from, to);
            width *= 2;
        }
        let (total, rest) = (&*self.total, &*self.rest);
        if window / width == 3 {
            let part = |k: usize| &from[summed + k * width..][..columns];
            means_of_wide_parts(self.isa, part(0), part(1), part(2), total, rest, divisor, out);
        } else {
            means_of_wide(self.isa, &from[summed..], total, rest, divisor, out);
        }
    }
}

/// Division of 16-bit numbers by a multiplication (Granlund and Montgomery 1994).
///
/// With 2^b the power of two below the divisor d, the multiplier m is 2^(16 + b) / d rounded up, too large by less than
/// 1 / d of a unit times d; n · m / 2^(16 + b) is rounded down to n / d as long as n · (m · d − 2^(16 + b)) < 2^(16 + b), which
/// holds for the squares 9, 25, … 225 and n ≤ 255.5 · d: a test looks at each.
#[derive(Clone, Copy)]
struct Reciprocal {
    multiplier: u16,
    shift: u32,
    half: u16,
}

impl Reciprocal {
    fn new(divisor: u16) -> Self {
        let shift = divisor.ilog2();
        let multiplier = (1_u32 << (16 + shift)).div_ceil(u32::from(divisor));
        Self {
            multiplier: multiplier as u16,
            shift,
            half: divisor / 2,
        }
    }

    /// sum / divisor, to the nearest.
    #[inline(always)]
    fn mean(self, sum: u16) -> u8 {
        let product = u32::from(sum + self.half) * u32::from(self.multiplier);
        ((product >> 16) as u16 >> self.shift) as u8
    }
}

versions! {
    fn shorten(sums: &[u16], out: &mut [u8]) {
        for (sum, out) in sums.iter().zip(out) {
            *out = *sum as u8;
        }
    }
}

versions! {
    fn means_of_three(a: &[u16], b: &[u16], c: &[u16], by: Reciprocal, out: &mut [u8]) {
        for (((a, b), c), out) in a.iter().zip(b).zip(c).zip(out) {
            *out = by.mean(a + b + c);
        }
    }
}

versions! {
    fn means_of_two(a: &[u16], b: &[u16], by: Reciprocal, out: &mut [u8]) {
        for ((a, b), out) in a.iter().zip(b).zip(out) {
            *out = by.mean(a + b);
        }
    }
}

versions! {
    fn means_of_parts(a: &[u16], b: &[u16], c: &[u16], rest: &[u16], divisor: u32, out: &mut [u8]) {
        let inverse = 1.0 / divisor as f32;
        for ((((a, b), c), rest), out) in a.iter().zip(b).zip(c).zip(rest).zip(out) {
            let sum = u32::from(*a) + u32::from(*b) + u32::from(*c) + u32::from(*rest);
            *out = mean(sum, divisor, inverse);
        }
    }
}

versions! {
    fn means_of_wide(a: &[u32], b: &[u32], rest: &[u16], divisor: u32, out: &mut [u8]) {
        let inverse = 1.0 / divisor as f32;
        for (((a, b), rest), out) in a.iter().zip(b).zip(rest).zip(out) {
            *out = mean(a + b + u32::from(*rest), divisor, inverse);
        }
    }
}

versions! {
    fn means_of_wide_parts(
        a: &[u32], b: &[u32], c: &[u32], total: &[u32], rest: &[u16], divisor: u32, out: &mut [u8],
    ) {
        let inverse = 1.0 / divisor as f32;
        for (((((a, b), c), total), rest), out) in a.iter().zip(b).zip(c).zip(total).zip(rest).zip(out) {
            *out = mean(a + b + c + total + u32::from(*rest), divisor, inverse);
        }
    }
}

/// [`super::super::mean`] by conversions that vector instructions have: of signed numbers, without a look at the range.
#[inline(always)]
#[allow(unsafe_code)]
fn mean(sum: u32, divisor: u32, inverse: f32) -> u8 {
    let real = (sum as i32 as f32 + 0.5 * divisor as f32) * inverse;
    // SAFETY: at most 255.5, and not negative: sums of 8-bit samples are at most 255 · divisor.
    unsafe { real.to_int_unchecked::<i32>() as u8 }
}

versions! {
    fn add(a: &[u16], b: &[u16], out: &mut [u16]) {
        for ((a, b), out) in a.iter().zip(b).zip(out) {
            *out = a + b;
        }
    }
}

versions! {
    fn add_into(row: &[u16], onto: &mut [u16]) {
        for (row, onto) in row.iter().zip(onto) {
            *onto += row;
        }
    }
}

versions! {
    fn widen_add(a: &[u16], b: &[u16], out: &mut [u32]) {
        for ((a, b), out) in a.iter().zip(b).zip(out) {
            *out = u32::from(*a) + u32::from(*b);
        }
    }
}

versions! {
    fn widen_into(row: &[u16], onto: &mut [u32]) {
        for (row, onto) in row.iter().zip(onto) {
            *onto += u32::from(*row);
        }
    }
}

versions! {
    fn add_wide(a: &[u32], b: &[u32], out: &mut [u32]) {
        for ((a, b), out) in a.iter().zip(b).zip(out) {
            *out = a + b;
        }
    }
}

versions! {
    fn add_wide_into(row: &[u32], onto: &mut [u32]) {
        for (row, onto) in row.iter().zip(onto) {
            *onto += row;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_divide_every_sum_of_a_square_to_the_nearest() {
        for radius in 1..=NARROW as u16 {
            let divisor = (2 * radius + 1) * (2 * radius + 1);
            let by = Reciprocal::new(divisor);
            for sum in 0..=255 * divisor {
                let nearest = (f64::from(sum) / f64::from(divisor)).round();
                assert_eq!(f64::from(by.mean(sum)), nearest, "{sum} / {divisor}");
            }
        }
    }

    #[test]
    fn a_product_of_floats_divides_every_sum_of_a_square_to_the_nearest() {
        for radius in [8, 15, 50, 62, 63_u32] {
            let divisor = (2 * radius + 1) * (2 * radius + 1);
            for sum in 0..=255 * divisor {
                let nearest = ((2 * sum + divisor) / (2 * divisor)) as u8;
                assert_eq!(
                    mean(sum, divisor, 1.0 / divisor as f32),
                    nearest,
                    "{sum} / {divisor}"
                );
                assert_eq!(
                    super::super::super::mean(sum, divisor, 1.0 / divisor as f32),
                    nearest
                );
            }
        }
    }
}
