"""Filters by OpenCV of a whole image in memory. A line `run FILTER` answers seconds, `compare FILTER ROWS FILE` how far samples lie off."""

import sys
import time

import cv2
import numpy

source, side, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
cv2.setNumThreads(threads)
image = numpy.fromfile(source, numpy.uint8).reshape(side, side)
out = numpy.empty_like(image)
EDGE = cv2.BORDER_REPLICATE
# Rows of a strip of Sobel's, whose gradients are four bytes and whose roots eight.
STRIP = 256


def sobel(image, out):
    for top in range(0, len(image), STRIP):
        bottom = min(top + STRIP, len(image))
        first, last = max(top - 1, 0), min(bottom + 1, len(image))
        part = image[first:last]
        across = cv2.Sobel(part, cv2.CV_32F, 1, 0, borderType=EDGE)
        down = cv2.Sobel(part, cv2.CV_32F, 0, 1, borderType=EDGE)
        magnitude = cv2.magnitude(across, down)[top - first : bottom - first]
        cv2.convertScaleAbs(magnitude, dst=out[top:bottom])
    return out


FILTERS = {
    "gauss": lambda image, out: cv2.GaussianBlur(image, (17, 17), 2, dst=out, borderType=EDGE),
    "box": lambda image, out: cv2.blur(image, (11, 11), dst=out, borderType=EDGE),
    "erode": lambda image, out: cv2.erode(image, numpy.ones((15, 15), numpy.uint8), dst=out, borderType=EDGE),
    "sobel": sobel,
    "median": lambda image, out: cv2.medianBlur(image, 5, dst=out),
}

print(cv2.__version__, flush=True)
for line in sys.stdin:
    question, name, *rest = line.split(maxsplit=3)
    if question == "run":
        start = time.perf_counter()
        FILTERS[name](image, out)
        print(time.perf_counter() - start, flush=True)
        continue
    # Rows above and below count, but those of the lower border are not compared.
    rows, path = int(rest[0]), rest[1].strip()
    part = numpy.ascontiguousarray(image[: min(rows + 16, side)])
    found = FILTERS[name](part, numpy.empty_like(part))[:rows]
    ours = numpy.fromfile(path, numpy.uint8).reshape(rows, side)
    off = numpy.abs(found.astype(int) - ours)
    print(off.max(), 1000 * numpy.count_nonzero(off) / off.size, flush=True)
