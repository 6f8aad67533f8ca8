"""OpenCV on one thread and on two: `with_opencv.py RECORD`. OPENCV_THREADS=1,2,8 measures with others."""

import os
import sys

import cv2
import numpy

import reference
from record import Record, power, processor, rotation, wall

THREADS = [int(count) for count in os.environ.get("OPENCV_THREADS", "1,2").split(",")]
generator = numpy.random.default_rng(1)
REPLICATE = cv2.BORDER_REPLICATE


class Drivers:
    """Measures every function with each number of threads; inputs and outputs in turn, as the lab does."""

    def __init__(self, record):
        self.record = record

    def rival(self, ladder, case, name, how, run, check, **options):
        for threads in THREADS:
            cv2.setNumThreads(threads)
            count = "1 thread" if threads == 1 else f"{threads} threads"
            self.record.rival(ladder, case, f"{name}, {count}", how, run, check, **options)


def bytes_of(*shape):
    return generator.integers(0, 256, shape, dtype=numpy.uint8)


def floats_of(*shape):
    return generator.random(shape, dtype=numpy.float32)


def copies(array, moved):
    """As many of an array as keep caches from answering, as far as that is worth it: 256 MiB as the lab's quick runs."""
    return [array] + [array.copy() for _ in range(min(63, rotation(moved * 1.8, 64) - 1))]


def poisoned(like, count):
    return [numpy.full_like(like, 77) for _ in range(count)]


def sides(n):
    width = 1 << -(-(n.bit_length() - 1) // 2)
    return width, n // width


def equal(found, expected):
    return None if numpy.array_equal(found, expected) else "it differs"


def maps(drivers):
    for n in (1 << 20, 1 << 22, 1 << 24, 1 << 27):
        width, height = sides(n)
        x, table = copies(bytes_of(height, width), 2 * n), bytes_of(256)
        out, k = poisoned(x[0], len(x)), len(x)
        drivers.rival("map/table-u8", f"{power(n)} u8", "cv2.LUT", "every sample with NumPy", lambda i: cv2.LUT(x[i % k], table, out[i % k]), lambda: equal(out[0], table[x[0]]))
        turned = poisoned(x[0].T.copy(), k)
        drivers.rival(
            "transpose/u8", f"{width} × {height} u8", "cv2.transpose", "every element with NumPy",
            lambda i: cv2.transpose(x[i % k], turned[i % k]), lambda: equal(turned[0], x[0].T),
        )
        del x, out, turned
        rgb = copies(bytes_of(height, width, 3), 4 * n)
        gray, k = poisoned(rgb[0][..., 0].copy(), len(rgb)), len(rgb)

        def near():
            exact = (rgb[0][:200].astype(numpy.int64) @ [2126, 7152, 722] + 5000) // 10000
            most = abs(gray[0][:200] - exact).max()
            # OpenCV's weights are 0.299, 0.587, 0.114: the same work, another result.
            other = (rgb[0][:200].astype(numpy.int64) @ [299, 587, 114] + 500) // 1000
            return None if min(most, abs(gray[0][:200] - other).max()) <= 1 else f"it differs by {most}"

        drivers.rival(
            "map/gray", f"{power(n)} px", "cv2.cvtColor", "200 rows with NumPy, by 1, with OpenCV's own weights",
            lambda i: cv2.cvtColor(rgb[i % k], cv2.COLOR_RGB2GRAY, gray[i % k]), near,
        )
        del rgb, gray


def stencils(drivers):
    for kind, make in (("u8", bytes_of), ("f32", floats_of)):
        bits, size = (cv2.CV_16S, 1) if kind == "u8" else (cv2.CV_32F, 4)
        for n in (1 << 20, 1 << 24, 1 << 27) if kind == "u8" else (1 << 20, 1 << 24):
            width, height = sides(n)
            x = copies(make(height, width), 2 * size * n)
            out, k = poisoned(x[0], len(x)), len(x)
            label = f"{width} × {height} {kind}"
            # OpenCV rounds weights of bytes to 8 bits, and halves to even.
            near, exactly = (2, 0) if kind == "u8" else (1e-4, 0)

            def rival(ladder, parameter, name, run, expected, tolerance):
                for each in out:
                    each.fill(77)
                how = f"{reference.CORNER}² pixels of the corner with NumPy in f64, by {tolerance:g}"
                check = lambda: reference.differ(out[0], expected, tolerance)
                drivers.rival(f"stencil/{ladder}-{kind}", f"{label}, {parameter}", name, how, lambda i: run(x[i % k], out[i % k]), check, budget=0.3)

            # The radii that the lab has at these sizes.
            for r in {20: (1, 2), 24: (1, 5, 15, 50), 27: (1,)}[n.bit_length() - 1]:
                rival("box", f"r = {r}", "cv2.blur", lambda a, b: cv2.blur(a, (2 * r + 1, 2 * r + 1), b, borderType=REPLICATE), reference.box(x[0], r), near)
            for r in {20: (1, 2), 24: (1, 15, 50), 27: (1,)}[n.bit_length() - 1]:
                square = numpy.ones((2 * r + 1, 2 * r + 1), numpy.uint8)
                rival("erosion", f"least, r = {r}", "cv2.erode", lambda a, b: cv2.erode(a, square, b, borderType=REPLICATE), reference.erosion(x[0], r), exactly)
            rival("gauss", "sigma 2, r = 8", "cv2.GaussianBlur", lambda a, b: cv2.GaussianBlur(a, (17, 17), 2, b, borderType=REPLICATE), reference.gauss(x[0], 2.0), near)
            across, down = numpy.zeros((height, width), numpy.int16 if kind == "u8" else numpy.float32), None
            down = across.copy()

            def edges(a, b):
                """|gx| + |gy|; bytes end at 255."""
                cv2.Sobel(a, bits, 1, 0, across, ksize=3, borderType=REPLICATE)
                cv2.Sobel(a, bits, 0, 1, down, ksize=3, borderType=REPLICATE)
                if kind == "u8":
                    cv2.convertScaleAbs(across, b)
                    cv2.add(b, cv2.convertScaleAbs(down), b)
                else:
                    cv2.absdiff(across, 0, across)
                    cv2.absdiff(down, 0, down)
                    cv2.add(across, down, b)

            expected = reference.sobel(x[0])
            rival("sobel", "r = 1", "cv2.Sobel, both directions", edges, reference.clamped(expected) if kind == "u8" else expected, exactly if kind == "u8" else near)
            del x, out, across, down


def distances(drivers):
    for side in (1024, 4096):
        across, down = numpy.arange(side)[None, :], numpy.arange(side)[:, None]
        for name, part in (("0.01 % white", 1e-4), ("1 % white", 0.01), ("50 % white", 0.5), ("lines", None)):
            white = (across % 40 == 3) | (down % 40 == 3) if part is None else floats_of(side, side) < part
            black = numpy.where(white, numpy.uint8(0), numpy.uint8(1))
            x = copies(black, 5 * side * side)
            out, k = poisoned(numpy.zeros((side, side), numpy.float32), len(x)), len(x)

            def check():
                """A square that reaches farther than the distance that was found holds the nearest white pixel."""
                for y0, x0 in generator.integers(0, side, (200, 2)):
                    reach = int(out[0][y0, x0]) + 2
                    top, left = max(0, y0 - reach), max(0, x0 - reach)
                    ys, xs = numpy.nonzero(white[top : y0 + reach + 1, left : x0 + reach + 1])
                    nearest = numpy.sqrt(((ys + top - y0) ** 2 + (xs + left - x0) ** 2).min()) if len(ys) else numpy.inf
                    if abs(out[0][y0, x0] - nearest) > 1e-3 * max(1, nearest):
                        return f"it differs at ({x0}, {y0})"
                return None

            case = lambda radius: (f"distance/{radius}", f"{side} × {side}, R = {radius}, {name}")
            drivers.rival(
                *case(15), "cv2.distanceTransform, exact, no limit", "200 pixels with all white ones near",
                lambda i: cv2.distanceTransform(x[i % k], cv2.DIST_L2, cv2.DIST_MASK_PRECISE, out[i % k]), check, budget=0.5, also=[case(100)],
            )


def sums(drivers):
    for n in (1 << 20, 1 << 22, 1 << 24, 1 << 27):
        width, height = sides(n)
        for kind, make, depth, dtype in (("u8", bytes_of, cv2.CV_32S, numpy.int32), ("f32", floats_of, cv2.CV_32F, numpy.float32)):
            x = copies(make(height, width), 8 * n)
            out, k = poisoned(numpy.zeros((height + 1, width + 1), dtype), len(x)), len(x)

            def check():
                if kind == "u8":  # Sums of 2^24 pixels and more wrap.
                    expected = x[0].astype(numpy.int64).cumsum(0).cumsum(1)
                    return equal(out[0][1:, 1:].view(numpy.uint32), expected.astype(numpy.uint32))
                expected = x[0].astype(numpy.float64).cumsum(0).cumsum(1)
                most = (abs(out[0][1:, 1:] - expected) / numpy.maximum(1, expected)).max()
                return None if most <= 1e-3 else f"it differs by a part of {most:.2g}"

            drivers.rival(
                f"integral/{kind}", f"{width} × {height} {kind}", "cv2.integral", "every sum with NumPy, modulo 2^32; of f32 by a part in 10^3",
                lambda i: cv2.integral(x[i % k], out[i % k], depth), check,
            )
        uniform = bytes_of(height, width)
        for name, values in (
            ("uniform", uniform),
            ("gaussian", (sum(bytes_of(height, width).astype(numpy.uint16) for _ in range(4)) >> 2).astype(numpy.uint8)),
            ("constant", numpy.full((height, width), 77, numpy.uint8)),
            ("1/f picture", picture(width, height)),
        ):
            kept = {}
            x = copies(values, n)
            drivers.rival(
                "histogram/u8", f"{power(n)} u8, {name}", "cv2.calcHist", "every bin with NumPy",
                lambda i: kept.update(y=cv2.calcHist([x[i % len(x)]], [0], None, [256], [0, 256])),
                lambda: equal(kept["y"].ravel().astype(numpy.int64), numpy.bincount(values.ravel(), minlength=256)),
            )


def picture(width, height):
    """Noise whose amplitude halves with each octave."""
    total = numpy.zeros((height, width), numpy.float32)
    for octave in range(10):
        coarse = floats_of((height >> octave) + 2, (width >> octave) + 2)
        fine = cv2.resize(coarse, None, fx=1 << octave, fy=1 << octave, interpolation=cv2.INTER_LINEAR)
        total += (1 << octave) * fine[:height, :width]
    return (256 * total / (1 << 10)).astype(numpy.uint8)


def bilaterals(drivers):
    width, height = 640, 480
    for kind, x, sigma in (("f32", floats_of(height, width), 0.1), ("u8", bytes_of(height, width), 25.5)):
        out = numpy.full_like(x, 77)

        def check():
            """Some pixels inside, by the definition: the disc of radius 24."""
            dy, dx = numpy.mgrid[-24:25, -24:25]
            disc = dx**2 + dy**2 <= 24**2
            for y0, x0 in zip(generator.integers(24, height - 24, 50), generator.integers(24, width - 24, 50)):
                square = x[y0 - 24 : y0 + 25, x0 - 24 : x0 + 25].astype(numpy.float64)
                weights = disc * numpy.exp(-(dx**2 + dy**2) / 512 - (square - float(x[y0, x0])) ** 2 / (2 * sigma**2))
                expected = (weights * square).sum() / weights.sum()
                if abs(float(out[y0, x0]) - expected) > (2e-3 if kind == "f32" else 1):
                    return f"it is {out[y0, x0]} instead of {expected:.5g}"
            return None

        drivers.rival(
            f"bilateral/{kind}", f"{width} × {height} {kind}, sigma 16", "cv2.bilateralFilter", "50 pixels in f64, by 0.002 or a level",
            lambda i: cv2.bilateralFilter(x, -1, sigma, 16, out), check, budget=1.0,
        )


def main():
    device, threads = processor(), max(THREADS)
    drivers = Drivers(Record(sys.argv[1], "OpenCV", cv2.__version__, device, f"up to {threads} threads", "bench/rivals/run OUT cpu", wall))
    for family in (maps, stencils, distances, sums, bilaterals):
        try:
            family(drivers)
        except Exception as error:  # A family that fails, for memory say, must not keep the others from being measured.
            print(f"{family.__name__}: {type(error).__name__}: {error}"[:300], flush=True)


if __name__ == "__main__":
    main()
