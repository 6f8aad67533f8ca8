//! Whether large results on a device are bit by bit what they should be, found there: to read them all back takes seconds.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, on_client, start};

/// Units of a cube, and cubes that step over the vectors together.
const UNITS: u32 = 256;
const CUBES: u32 = 1_024;

/// Whether the first `vectors` vectors of four words of two buffers, which both hold as many, are the same.
pub(crate) fn agree(gpu: &Gpu, a: &Buffer, b: &Buffer, vectors: u32) -> Result<bool, DeviceError> {
    // Not 0, so that a kernel that did not run shows.
    let differing = gpu.upload(&[1, 0, 0, 0])?;
    gpu.launch(
        "agreement",
        &(),
        &[Operand::write("the output", &differing)],
        || on_client!(gpu, client => launch_on(client, a, b, vectors, &differing)),
    )?;
    let bytes = gpu.read(&differing, 4).wait()?;
    Ok(bytes[..8] == [0; 8])
}

fn launch_on<R: Runtime>(
    client: &ComputeClient<R>,
    a: &Buffer,
    b: &Buffer,
    vectors: u32,
    differing: &Buffer,
) {
    // SAFETY: places are compared with the number of vectors, which both buffers hold; two words are written.
    start!(client, (CubeCount::Static(1, 1, 1), CubeDim::new_1d(2)), unsafe clear(differing.array(1)));
    start!(
        client, (CubeCount::Static(CUBES.min(vectors.div_ceil(UNITS)).max(1), 1, 1), CubeDim::new_1d(UNITS)),
        unsafe find(4, a.array(4), b.array(4), differing.array(1), vectors));
}

#[cube(launch_unchecked)]
fn clear(differing: &mut Array<u32>) {
    differing[UNIT_POS as usize] = 0u32;
}

/// Counts, in the second word, the units that find a difference.
#[cube(launch_unchecked)]
fn find<N: Size>(
    a: &Array<Vector<u32, N>>,
    b: &Array<Vector<u32, N>>,
    differing: &mut Array<Atomic<u32>>,
    vectors: u32,
) {
    let mut different = u32::new(0);
    let step = CUBE_COUNT as u32 * UNITS;
    let mut at = CUBE_POS as u32 * UNITS + UNIT_POS;
    while at < vectors {
        let (x, y) = (a[at as usize], b[at as usize]);
        #[unroll]
        for k in 0..4usize {
            different |= x[k] ^ y[k];
        }
        at += step;
    }
    if different != 0 {
        differing[1usize].fetch_add(1u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relief_kernels::device::devices;

    #[test]
    fn one_differing_bit_is_found_wherever_it_is() {
        let any = devices().devices.iter().find_map(|d| Gpu::open(d.id).ok());
        let Some(gpu) = any else {
            assert!(std::env::var_os("RELIEF_REQUIRE_GPU").is_none(), "no device");
            return;
        };
        let words: Vec<u32> = (0..40_000_u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let a = gpu.upload(&words).unwrap();
        for place in [0, 1, 39_999, 20_003] {
            let mut other = words.clone();
            other[place] ^= 1 << 31;
            let b = gpu.upload(&other).unwrap();
            assert!(!agree(&gpu, &a, &b, 10_000).unwrap(), "{place}");
            // What lies after the vectors asked for does not count.
            assert!(agree(&gpu, &a, &b, place as u32 / 4).unwrap(), "{place}");
        }
        assert!(agree(&gpu, &a, &gpu.upload(&words).unwrap(), 10_000).unwrap());
    }
}
