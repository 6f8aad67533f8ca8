//! Blocks turned in registers: V vectors of V samples each, V as many as 16 bytes hold.
//!
//! Samples of 16 and 8 bits are put together by masks and shifts from two rows at once; compilers make permutes of bytes of
//! these, and compute but once what two columns share.
// What the macro makes beside a function has no documentation.
#![allow(missing_docs)]

use cubecl::prelude::*;

/// Column `at` of a block whose rows are vectors, as a vector.
#[cube]
pub fn column<N: Size>(
    rows: &Array<Vector<u32, N>>,
    #[comptime] at: u32,
    #[comptime] bits: u32,
) -> Vector<u32, N> {
    let per = comptime!(32 / bits);
    let word = comptime!((at / per) as usize);
    let mut result = Vector::<u32, N>::empty();
    #[unroll]
    for k in 0..4usize {
        let first = comptime!(k * per as usize);
        if comptime!(bits == 32) {
            result[k] = rows[first][word];
        } else if comptime!(bits == 16) {
            let (a, b) = (rows[first][word], rows[comptime!(first + 1)][word]);
            result[k] = halves(a, b, comptime!(at % 2));
        } else {
            let a = bytes(
                rows[first][word],
                rows[comptime!(first + 1)][word],
                comptime!(at % 2),
            );
            let b = bytes(
                rows[comptime!(first + 2)][word],
                rows[comptime!(first + 3)][word],
                comptime!(at % 2),
            );
            result[k] = halves(a, b, comptime!(at % 4 / 2));
        }
    }
    result
}

/// Half `which` of a, then that of b.
#[cube]
fn halves(a: u32, b: u32, #[comptime] which: u32) -> u32 {
    if comptime!(which == 0) {
        (a & 0xffffu32) | (b << 16u32)
    } else {
        (a >> 16u32) | (b & 0xffff_0000u32)
    }
}

/// Bytes `which` and `which` + 2, of a and of b in turn.
#[cube]
fn bytes(a: u32, b: u32, #[comptime] which: u32) -> u32 {
    if comptime!(which == 0) {
        (a & 0x00ff_00ffu32) | ((b & 0x00ff_00ffu32) << 8u32)
    } else {
        ((a >> 8u32) & 0x00ff_00ffu32) | (b & 0xff00_ff00u32)
    }
}
