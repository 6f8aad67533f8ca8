//! What a product is made of: both operands padded to whole tiles with what no sum of gets small, the left one transposed.

use cubecl::prelude::*;

use super::tiles::{Form, saturated};

/// The sides of a tile that is transposed, and the rows of a cube that does so.
pub(super) const SIDE: u32 = 32;
pub(super) const ROWS: u32 = 8;

/// Writes words, multiples of [`SIDE`] across and down, of which the first `rows` × `columns` numbers come from `from`, in rows of
/// `width` words, or transposed the columns of them in such rows; tells by the first word of `found` whether any of them has a sign.
#[cube(launch_unchecked)]
pub(super) fn pad(
    from: &Array<u32>,
    to: &mut Array<u32>,
    found: &mut Array<Atomic<u32>>,
    columns: u32,
    rows: u32,
    pitch: u32,
    width: u32,
    infinity: u32,
    #[comptime] transposed: bool,
    #[comptime] form: Form,
) {
    // A column more, so that columns lie in all banks.
    let words = comptime!(if transposed { SIDE * (SIDE + 1) } else { 1 });
    let mut tile = SharedMemory::<u32>::new(comptime!(words as usize));
    let x = CUBE_POS_X * SIDE + UNIT_POS_X;
    let mut any = SharedMemory::<u32>::new(1usize);
    if UNIT_POS == 0u32 {
        any[0] = u32::new(0);
    }
    let mut signs = u32::new(0);
    #[unroll]
    for k in 0..comptime!(SIDE / ROWS) {
        let line = k * ROWS + UNIT_POS_Y;
        let y = CUBE_POS_Y * SIDE + line;
        let mut word = infinity;
        if x < columns {
            if y < rows {
                word = number(from, x, y, pitch, infinity, form);
                signs |= word;
            }
        }
        if comptime!(transposed) {
            tile[(line * comptime!(SIDE + 1) + UNIT_POS_X) as usize] = word;
        } else {
            to[(y * width + x) as usize] = word;
        }
    }
    tell(signs, &mut any, found, form);
    if comptime!(transposed) {
        let y = CUBE_POS_Y * SIDE + UNIT_POS_X;
        #[unroll]
        for k in 0..comptime!(SIDE / ROWS) {
            let line = k * ROWS + UNIT_POS_Y;
            let x = CUBE_POS_X * SIDE + line;
            to[(x * width + y) as usize] = tile[(UNIT_POS_X * comptime!(SIDE + 1) + line) as usize];
        }
    }
}

/// Number x of row y, as tiles have it.
#[cube]
fn number(from: &Array<u32>, x: u32, y: u32, pitch: u32, infinity: u32, #[comptime] form: Form) -> u32 {
    if comptime!(matches!(form, Form::Float)) {
        from[(y * pitch + x) as usize]
    } else if comptime!(matches!(form, Form::Signed)) {
        let length = saturated(i32::reinterpret(from[(y * pitch + x) as usize]));
        u32::reinterpret(min(length, i32::reinterpret(infinity)))
    } else {
        let pair = from[(y * pitch + x / 2) as usize];
        (pair >> (x % 2 * 16)) & 0xffffu32
    }
}

/// Waits for all units of the cube; where one of them has seen a sign, one of them tells: a store of each unit that has would be as many to one
/// word as there are numbers.
#[cube]
fn tell(signs: u32, any: &mut SharedMemory<u32>, found: &mut Array<Atomic<u32>>, #[comptime] form: Form) {
    sync_cube();
    if comptime!(matches!(form, Form::Float)) {
        // Whoever stores last stores the same.
        if signs >= 0x8000_0000u32 {
            any[0] = u32::new(1);
        }
        sync_cube();
        if UNIT_POS == 0u32 {
            if any[0] != 0u32 {
                found[0].store(1u32);
            }
        }
    }
}
