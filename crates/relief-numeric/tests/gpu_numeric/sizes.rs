//! Sizes from outside.

use relief_numeric::integral::Sums;
use relief_numeric::integral::gpu as integral;
use relief_numeric::transpose::gpu::Matrix;
use relief_raster::Depth;

#[test]
fn sizes_that_no_memory_holds_are_refused() {
    use relief_kernels::{copy, table};
    use relief_numeric::{map, min_plus};
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let buffer = || gpu.buffer(64).unwrap();
    let (a, b, c) = (buffer(), buffer(), buffer());
    for count in [usize::MAX, usize::MAX - 2, usize::MAX / 4 + 1] {
        assert!(copy::gpu::copy(&gpu, &a, &b, count).is_err(), "{count} words");
        assert!(map::gpu::add(&gpu, &a, &b, &c, count).is_err(), "{count} floats");
        let entries = table::gpu::map(&gpu, Depth::Eight, &a, &b, &c, count);
        assert!(entries.is_err(), "{count} words by a table");
    }
    assert!(min_plus::gpu::paths::scratch_words(u32::MAX) > u64::from(u32::MAX).pow(2));
    let short = |buffer| Matrix { buffer, pitch: 4 };
    let size = (u32::MAX, 1);
    assert!(integral::integral(&gpu, Sums::Short, size, short(&a), short(&b), &c).is_err());
}
