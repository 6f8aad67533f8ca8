"""NumPy: one thread, but for products of matrices, which its BLAS deals to all: `with_numpy.py RECORD`."""

import os
import sys

import numpy

import reference
from record import Record, power, processor, rotation, wall

generator = numpy.random.default_rng(1)


def equal(found, expected):
    return None if numpy.array_equal(found, expected) else "it differs"


def words_of(n):
    return generator.integers(0, 2**32, n, dtype=numpy.uint32)


def stitches(record):
    for kind, width, height in (("f32", 2048, 2048), ("u8", 2048, 2048), ("f32", 10240, 10240), ("u8", 11584, 11586)):
        for side in (16, 100, 128, 1000):
            pattern = generator.integers(0, 256, (side, side)).astype(numpy.float32 if kind == "f32" else numpy.uint8)
            down, across = -(-height // side), -(-width // side)
            # As many results as the lab has in turn, so that a new one does not find its memory in a cache.
            kept = [None] * rotation(1.8 * pattern.itemsize * width * height, 64)

            def run(i):
                kept[i % len(kept)] = numpy.tile(pattern, (down, across))[:height, :width]

            record.rival(
                f"repeat/{kind}", f"{side}² over {width} × {height} {kind}", "numpy.tile, a new array", "the last 50 rows by index",
                run, lambda: equal(kept[0][-50:], reference.repeated(pattern, height, width, 50)),
            )


def sums(record):
    for n in (1 << 20, 1 << 22, 1 << 24, 1 << 27):
        x = generator.random(n, dtype=numpy.float32)
        copies = [x] + [x.copy() for _ in range(rotation(4 * n, 32) - 1)]
        kept = {}

        def near():
            expected = x.sum(dtype=numpy.float64)
            return None if abs(float(kept["y"]) / expected - 1) < 1e-5 else f"it is {kept['y']} instead of {expected}"

        record.rival("reduce/sum-f32", f"{power(n)} f32", "numpy.sum", "the sum in f64, by a part in 10^5", lambda i: kept.update(y=copies[i % len(copies)].sum()), near)
        del copies
        words = words_of(n)
        out = numpy.zeros_like(words)

        def steps():
            return equal(numpy.diff(out, prepend=numpy.uint32(0)), words)

        record.rival(
            "scan/u32", f"{power(n)} u32", "numpy.cumsum", "every sum less the one before, which is the input",
            lambda i: numpy.cumsum(words, dtype=numpy.uint32, out=out), steps, 0.3,
        )


def compactions(record):
    all_of = (0, 1, 10, 50, 90, 99, 100)
    densities = {1 << 20: all_of, 1 << 22: (50,), 1 << 24: all_of, 1 << 27: (1, 50, 99)}
    for kind in ("u32", "u8"):
        for n in (1 << 20, 1 << 22, 1 << 24, 1 << 27):
            for percent in densities[n] if kind == "u32" or n == 1 << 27 else (50,):
                words = (words_of(n) if kind == "u32" else words_of(n // 4).view(numpy.uint8)) | 1
                words[generator.random(n, dtype=numpy.float32) * 100 >= percent] = 0
                copies = [words] + [words.copy() for _ in range(rotation(8 * n, 16) - 1)]
                kept = {}
                count = int((words != 0).sum())

                def check():
                    found = kept["y"]
                    return equal(found, numpy.extract(words, words)) if len(found) == count else f"{len(found)} instead of {count}"

                def run(i):
                    v = copies[i % len(copies)]
                    kept["y"] = v[v != 0]

                case = f"{power(n)} {kind}, {percent} %"
                also = ["select/densities", "select/sizes"] if kind == "u32" else []
                also = [(ladder, case) for ladder in also]
                record.rival(f"select/{kind}", case, "numpy v[v != 0]", "every sample by numpy.extract", run, check, 0.2, also)


def near(found, expected, part=1e-3):
    most = float((abs(found - expected) / numpy.maximum(1, abs(expected))).max())
    return None if most < part else f"it differs by a part of {most:.2g}"


def matvecs(record):
    """Its BLAS, on all threads."""
    for rows, columns in ((2048, 2048), (12288, 12288), (1 << 20, 64), (64, 1 << 20)):
        matrices = [generator.random((rows, columns), dtype=numpy.float32) for _ in range(rotation(4 * rows * columns, 16))]
        case = f"{power(rows)} × {power(columns)} f32"
        for side, inner, outer in (("rows", columns, rows), ("columns", rows, columns)):
            x, y = generator.random(inner, dtype=numpy.float32), numpy.empty(outer, numpy.float32)
            turned = matrices if side == "rows" else [m.T for m in matrices]

            def right():
                numpy.dot(turned[0], x, out=y)
                return near(y, turned[0].astype(numpy.float64) @ x)

            record.rival(
                f"matvec/{side}", case, "numpy.dot (BLAS, all threads)", "every sum in f64, by a part in 10^3",
                lambda i: numpy.dot(turned[i % len(turned)], x, out=y), right, 0.3,
            )


def matmuls(record):
    for n in (512, 1024, 4096):
        k = rotation(12 * n * n)
        a, b = ([generator.random((n, n), dtype=numpy.float32) for _ in range(k)] for _ in range(2))
        out = [numpy.empty_like(a[0]) for _ in range(k)]
        case = " × ".join([power(n)] * 3) + " f32"
        record.rival(
            "matmul/f32", case, "numpy.matmul (BLAS, all threads)", "64 rows in f64, by a part in 10^3",
            lambda i: numpy.matmul(a[i % k], b[i % k], out=out[i % k]),
            lambda: near(out[0][:64], a[0][:64].astype(numpy.float64) @ b[0]), 0.5,
        )


def threads():
    """As many as its BLAS uses."""
    asked = [os.environ.get(name) for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")]
    count = next((int(number) for number in asked if number and number.isdigit()), len(os.sched_getaffinity(0)))
    return "1 thread" if count == 1 else f"BLAS, {count} threads"


def main():
    for driver, families in (("1 thread", (stitches, sums, compactions)), (threads(), (matvecs, matmuls))):
        # A line of its own for each: rows belong to the tool above them.
        record = Record(sys.argv[1], "NumPy", numpy.__version__, processor(), driver, "bench/rivals/run OUT cpu", wall)
        for family in families:
            try:
                family(record)
            except Exception as error:  # A family that fails, for memory say, must not keep the others from being measured.
                print(f"{family.__name__}: {type(error).__name__}: {error}"[:300], flush=True)


if __name__ == "__main__":
    main()
