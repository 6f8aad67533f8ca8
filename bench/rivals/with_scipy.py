"""SciPy: one thread: `with_scipy.py RECORD`."""

import sys

import numpy
import scipy
from scipy import ndimage

import reference
from record import Record, processor, rotation, wall

generator = numpy.random.default_rng(1)


def dilations(record):
    """By heights of no order. Bytes are left out: sums below 0 wrap around there."""
    for side, widths in ((1024, (7, 15)), (4096, (3, 7))):
        k = rotation(8 * side * side, 32)
        pictures = [generator.random((side, side), dtype=numpy.float32) for _ in range(k)]
        out = [numpy.zeros_like(picture) for picture in pictures]
        for width in widths:
            heights = -generator.random((width, width), dtype=numpy.float32)
            expected = reference.dilation(pictures[0], heights)
            record.rival(
                "morphology/dilation-f32", f"{side} × {side} f32, k = {width}", "scipy grey_dilation",
                f"{reference.CORNER}² pixels of the corner with NumPy in f64, by 10^-6",
                lambda i: ndimage.grey_dilation(pictures[i % k], structure=heights, output=out[i % k], mode="constant", cval=-1e4),
                lambda: reference.differ(out[0], expected, 1e-6), 0.3,
            )


def main():
    dilations(Record(sys.argv[1], "SciPy", scipy.__version__, processor(), "1 thread", "bench/rivals/run OUT cpu", wall))


if __name__ == "__main__":
    main()
