"""CuPy, its image filters and cuBLAS on the first CUDA device: `with_cupy.py RECORD`. RIVALS_DRY=1 runs the same with NumPy and SciPy in
their place and small sizes, to try it out."""

import os
import sys

import numpy

import reference
from record import Record, events, power, rotation

DRY = os.environ.get("RIVALS_DRY") == "1"
COMMAND = "bench/rivals/run OUT gpu"
SLICE = 1 << 20

if DRY:
    import scipy.ndimage as ndimage

    cupy = numpy
else:
    import cupy
    import cupyx.scipy.ndimage as ndimage

    # Words that look random, whatever generators a version has.
    MIX = cupy.ElementwiseKernel(
        "uint32 seed", "uint32 y",
        "unsigned int x = (unsigned int)i * 0x9E3779B9u + seed * 0x85EBCA6Bu + 0x1234567u;"
        "x ^= x >> 16; x *= 0x7FEB352Du; x ^= x >> 15; x *= 0x846CA68Bu; y = x ^ (x >> 16);",
        "rival_random",
    )


def open_record(path):
    """The record, timed by device events."""
    if DRY:
        from record import wall

        return Record(path, "CuPy", numpy.__version__, "a dry run", "", COMMAND, lambda run, _: wall(run, 0.01))
    sample = events(cupy.cuda.Event, cupy.cuda.get_elapsed_time, cupy.cuda.Device().synchronize)
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    version = cupy.cuda.runtime.driverGetVersion()
    driver = f"CUDA {version // 1000}.{version % 1000 // 10}"
    return Record(path, "CuPy", cupy.__version__, name, driver, COMMAND, sample)


def sized(full, dry):
    return dry if DRY else full


def host(array):
    return array if DRY else cupy.asnumpy(array)


def words_of(n, seed):
    if DRY:
        return numpy.random.default_rng(seed).integers(0, 2**32, n, dtype=numpy.uint32)
    out = cupy.empty(n, cupy.uint32)
    MIX(cupy.uint32(seed), out)
    return out


def bytes_of(shape, seed):
    n = int(numpy.prod(shape))
    return words_of(-(-n // 4), seed).view(cupy.uint8)[:n].reshape(shape)


def floats_of(shape, seed):
    words = words_of(int(numpy.prod(shape)), seed) >> cupy.uint32(8)
    return (words.astype(cupy.float32) * cupy.float32(2**-24)).reshape(shape)


def ends(array):
    """The first and the last elements on the host."""
    flat = array.reshape(-1)
    return numpy.concatenate([host(flat[:SLICE]), host(flat[-SLICE:])])


def same(found, expected):
    return None if numpy.array_equal(found, expected) else "it differs"


def free():
    if not DRY:
        cupy.get_default_memory_pool().free_all_blocks()


ENDS = "the first and last 2^20 elements with NumPy"


def maps(record):
    for n in sized([1 << 24, 1 << 28], [1 << 12]):
        k = rotation(8 * n)
        a, out = [words_of(n, i) for i in range(k)], [cupy.full(n, 7, cupy.uint32) for _ in range(k)]
        record.rival("copy", f"{power(n)} u32", "cupy.copyto", ENDS, lambda i: cupy.copyto(out[i % k], a[i % k]), lambda: same(ends(out[0]), ends(a[0])))
        del a, out
        free()
        k = rotation(12 * n)
        a, b = [floats_of(n, i) for i in range(k)], [floats_of(n, 50 + i) for i in range(k)]
        out = [cupy.full(n, -7, cupy.float32) for _ in range(k)]
        record.rival(
            "map/add", f"{power(n)} f32", "cupy.add", ENDS,
            lambda i: cupy.add(a[i % k], b[i % k], out=out[i % k]), lambda: same(ends(out[0]), ends(a[0]) + ends(b[0])),
        )
        del a, b, out
        free()
        k = rotation(2 * n)
        x, table = [bytes_of(n, i) for i in range(k)], bytes_of(256, 4)
        out = [cupy.zeros(n, cupy.uint8) for _ in range(k)]
        if not DRY:
            kernel = cupy.ElementwiseKernel("uint8 x, raw uint8 table", "uint8 y", "y = table[x]", "rival_table")
            record.rival(
                "map/table-u8", f"{power(n)} u8", "cupy.ElementwiseKernel", ENDS,
                lambda i: kernel(x[i % k], table, out[i % k]), lambda: same(ends(out[0]), host(table)[ends(x[0])]),
            )
        kept = {}
        record.rival(
            "map/table-u8", f"{power(n)} u8", "cupy.take", ENDS,
            lambda i: kept.update(y=cupy.take(table, x[i % k])), lambda: same(ends(kept["y"]), host(table)[ends(x[0])]),
        )
        del x, out, kept
        free()
    for n in sized([1 << 24, 1 << 26, 1 << 28], []):
        k = rotation(4 * n)
        rgb, out = [bytes_of(3 * n, i) for i in range(k)], [cupy.zeros(n, cupy.uint8) for _ in range(k)]
        code = "y = (2126 * p[3 * i] + 7152 * p[3 * i + 1] + 722 * p[3 * i + 2] + 5000) / 10000"
        kernel = cupy.ElementwiseKernel("raw uint8 p", "uint8 y", code, "rival_gray")

        def gray():
            colours = host(rgb[0][: 3 * SLICE]).reshape(-1, 3).astype(numpy.int64)
            return same(host(out[0][:SLICE]), (colours @ [2126, 7152, 722] + 5000) // 10000)

        record.rival("map/gray", f"{power(n)} px", "cupy.ElementwiseKernel", "the first 2^20 pixels with NumPy", lambda i: kernel(rgb[i % k], out[i % k]), gray)
        del rgb, out
        free()


def transposes(record):
    for side in sized([4096, 16384], [64]):
        for kind in ("u32", "u8"):
            k = rotation(2 * side * side * (4 if kind == "u32" else 1))
            make = words_of if kind == "u32" else bytes_of
            a = [make(side * side, i).reshape(side, side) for i in range(k)]
            out = [cupy.zeros_like(a[0]) for _ in range(k)]
            check = lambda: same(host(out[0][:512]), host(a[0][:, :512]).T)
            record.rival(f"transpose/{kind}", f"{side} × {side} {kind}", "cupy.copyto of .T", "512 rows with NumPy", lambda i: cupy.copyto(out[i % k], a[i % k].T), check)
            del a, out
            free()
        if DRY:
            continue
        from cupy import cublas

        k = rotation(8 * side * side)
        a = [floats_of((side, side), i) for i in range(k)]
        out = [cupy.full_like(a[0], -7) for _ in range(k)]
        check = lambda: same(host(out[0][:512]), host(a[0][:, :512]).T)
        # With beta = 0 the second matrix is not read.
        run = lambda i: cublas.geam("T", "T", 1.0, a[i % k], 0.0, a[i % k], out=out[i % k])
        record.rival("transpose/u32", f"{side} × {side} u32", "cuBLAS geam, f32", "512 rows with NumPy", run, check)
        del a, out
        free()


def stitches(record):
    for kind, width in (("f32", sized(10240, 640)), ("u8", sized(32768, 640))):
        for side in (16, 100, 128, 1000):
            pattern = floats_of((side, side), side) if kind == "f32" else bytes_of((side, side), side)
            count = -(-width // side)
            kept = {}

            def check():
                return same(host(kept["y"][-300:]), reference.repeated(host(pattern), width, width, 300))

            record.rival(
                f"repeat/{kind}", f"{side}² over {width} × {width} {kind}", "cupy.tile", "the last 300 rows with NumPy",
                lambda i: kept.update(y=cupy.tile(pattern, (count, count))[:width, :width]), check, 0.2,
            )
            kept.clear()
            free()


def stencils(record):
    side = sized(16384, 300)
    for kind in ("f32", "u8"):
        picture = floats_of((side, side), 1) if kind == "f32" else bytes_of((side, side), 1)
        corner = host(picture[:400, :400])
        out = cupy.zeros_like(picture)
        # Two passes of bytes are rounded twice.
        near, exactly = (1e-4, 0) if kind == "f32" else (2, 0)
        how = f"{reference.CORNER}² pixels of the corner with NumPy in f64, by {near:g}"

        def rival(ladder, parameter, name, run, expected, tolerance):
            out.fill(77)
            check = lambda: reference.differ(host(out[: reference.CORNER, : reference.CORNER]), expected, tolerance)
            record.rival(f"stencil/{ladder}-{kind}", f"{side} × {side} {kind}, {parameter}", name, how, lambda i: run(), check, 0.3)
            free()

        for r in (1, 5, 15, 50):
            rival("box", f"r = {r}", "cupyx uniform_filter", lambda: ndimage.uniform_filter(picture, 2 * r + 1, output=out, mode="nearest"), reference.box(corner, r), near)
        for r in (1, 15, 50):
            rival("erosion", f"least, r = {r}", "cupyx grey_erosion", lambda: ndimage.grey_erosion(picture, size=(2 * r + 1, 2 * r + 1), output=out, mode="nearest"), reference.erosion(corner, r), exactly)
        rival("gauss", "sigma 2, r = 8", "cupyx gaussian_filter", lambda: ndimage.gaussian_filter(picture, 2.0, output=out, mode="nearest"), reference.gauss(corner, 2.0), near)
        middle = cupy.zeros(picture.shape, cupy.float32 if kind == "f32" else cupy.int16)
        across, down = middle, cupy.zeros_like(middle)

        def both():
            ndimage.sobel(picture, axis=1, output=across, mode="nearest")
            ndimage.sobel(picture, axis=0, output=down, mode="nearest")
            cupy.abs(across, out=across)
            cupy.abs(down, out=down)
            cupy.add(across, down, out=across)
            if kind == "f32":
                cupy.copyto(out, across)
            else:
                cupy.clip(across, 0, 255, out=across)
                cupy.copyto(out, across, casting="unsafe")

        expected = reference.sobel(corner)
        rival("sobel", "r = 1", "cupyx sobel, both directions", both, expected if kind == "f32" else reference.clamped(expected), near if kind == "f32" else 0)
        del picture, out, middle, across, down
        free()


def dilations(record):
    for side, widths in ((sized(1024, 300), (15,)), (sized(4096, 301), (3, 5, 7, 15, 31))):
        k = rotation(8 * side * side)
        pictures, out = [floats_of((side, side), i) for i in range(k)], [cupy.zeros((side, side), cupy.float32) for _ in range(k)]
        for width in widths:
            heights = -floats_of((width, width), 70 + width)
            # CuPy 14 wants one beside the heights.
            footprint = cupy.ones(heights.shape, bool)
            corner, expected = slice(0, reference.CORNER), reference.dilation(host(pictures[0][:400, :400]), host(heights))
            record.rival(
                "morphology/dilation-f32", f"{side} × {side} f32, k = {width}", "cupyx grey_dilation", f"{reference.CORNER}² pixels of the corner with NumPy in f64, by 10^-6",
                lambda i: ndimage.grey_dilation(pictures[i % k], footprint=footprint, structure=heights, output=out[i % k], mode="constant", cval=-1e30),
                lambda: reference.differ(host(out[0][corner, corner]), expected, 1e-6), 0.3,
            )
        del pictures, out
        free()


def distances(record):
    side = sized(10240, 256)
    x, y = cupy.arange(side)[None, :], cupy.arange(side)[:, None]
    for name, part in (("0.01 % white", 1e-4), ("1 % white", 0.01), ("50 % white", 0.5), ("lines", None)):
        white = (x % 40 == 3) | (y % 40 == 3) if part is None else floats_of((side, side), 17) < part
        black = ~white
        kept = {}
        options = {} if DRY else {"float64_distances": False}

        def check():
            """A square that reaches farther than the distance that was found holds the nearest white pixel."""
            for y0, x0 in numpy.random.default_rng(1).integers(0, side, (200, 2)):
                found = float(kept["y"][y0, x0])
                reach = int(found) + 2
                top, left = max(0, y0 - reach), max(0, x0 - reach)
                ys, xs = numpy.nonzero(host(white[top : y0 + reach + 1, left : x0 + reach + 1]))
                nearest = numpy.sqrt(((ys + top - y0) ** 2 + (xs + left - x0) ** 2).min()) if len(ys) else numpy.inf
                if abs(found - nearest) > 1e-3 * max(1, nearest):
                    return f"it differs at ({x0}, {y0})"
            return None

        case = lambda radius: (f"distance/{radius}", f"{side} × {side}, R = {radius}, {name}")
        record.rival(
            *case(15), "cupyx distance_transform_edt, no limit", "200 pixels with all white ones near",
            lambda i: kept.update(y=ndimage.distance_transform_edt(black, **options)), check, 0.3, [case(100)],
        )
        del white, black, kept
        free()


def sums(record):
    for n in sized([1 << 24, 1 << 28], [1 << 12]):
        k = rotation(4 * n)
        a = [floats_of(n, i) for i in range(k)]
        kept = {}

        def near():
            expected = float(a[0].sum(dtype=cupy.float64))
            return None if abs(float(kept["y"]) / expected - 1) < 1e-5 else f"it is {float(kept['y'])} instead of {expected}"

        record.rival("reduce/sum-f32", f"{power(n)} f32", "cupy.sum", "the sum in f64, by a part in 10^5", lambda i: kept.update(y=a[i % k].sum()), near)
        del a
        free()
        for kind in ("u32", "u8"):
            k = rotation(8 * n)
            a = [(words_of if kind == "u32" else bytes_of)(n, i) for i in range(k)]

            def steps():
                y = kept["y"]
                right = bool((y[1:] - y[:-1] == a[0][1:]).all()) and int(y[0]) == int(a[0][0])
                return None if right else "sums differ"

            record.rival(
                f"scan/{kind}", f"{power(n)} {kind}", "cupy.cumsum", "every sum less the one before, which is the input",
                lambda i: kept.update(y=cupy.cumsum(a[i % k], dtype=cupy.uint32)), steps,
            )
            kept.clear()
            del a
            free()


def histograms(record):
    n = sized(1 << 30, 1 << 12)
    for kind in ("uniform", "constant"):
        x = bytes_of(n, 1) if kind == "uniform" else cupy.full(n, 77, cupy.uint8)
        kept = {}
        counted = lambda: numpy.array([int((x == v).sum()) for v in range(256)])
        record.rival(
            "histogram/u8", f"{power(n)} u8, {kind}", "cupy.bincount", "every bin, counted alone",
            lambda i: kept.update(y=cupy.bincount(x, minlength=256)), lambda: same(host(kept["y"]), counted()), 0.3,
        )
        del x, kept
        free()


def compactions(record):
    n = sized(1 << 28, 1 << 12)
    for percent in (1, 50, 99):
        random = words_of(n, 2) | cupy.uint32(1)
        random[floats_of(n, 1) * 100 >= percent] = 0
        kept = {}

        def check():
            values = host(random)
            return same(host(kept["y"]), values[values != 0])

        case = f"{power(n)} u32, {percent} %"
        also = [("select/sizes", case)] if percent == 50 else []
        record.rival(
            "select/u32", case, "cupy a[a != 0]", "every sample with NumPy; the count goes to the host",
            lambda i: kept.update(y=random[random != 0]), check, 0.2, also,
        )
        del random, kept
        free()


def main():
    record = open_record(sys.argv[1])
    if not DRY:  # Brings the clocks up.
        a = floats_of((8192, 8192), 1)
        for _ in range(20):
            a @ a
        cupy.cuda.Device().synchronize()
        del a
        free()
    for family in (maps, transposes, stitches, stencils, dilations, distances, sums, histograms, compactions):
        try:
            family(record)
        except Exception as error:  # A family that fails, for memory say, must not keep the others from being measured.
            print(f"{family.__name__}: {type(error).__name__}: {error}"[:300], flush=True)
            free()


if __name__ == "__main__":
    main()
