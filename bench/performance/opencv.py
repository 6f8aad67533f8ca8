"""Exact distance transforms by OpenCV, one whenever a line `MASK.pgm THREADS` asks for it; answers seconds and pixels."""

import sys
import time

import cv2
import numpy

masks = {}


def blacks(path):
    """0 where the mask is white: OpenCV measures the distance to the nearest 0."""
    mask = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
    return numpy.where(mask == 0, numpy.uint8(1), numpy.uint8(0))


print(cv2.__version__, flush=True)
for line in sys.stdin:
    path, threads = line.rsplit(" ", 1)
    cv2.setNumThreads(int(threads))
    if path not in masks:
        masks = {path: (blacks(path), None)}
    black, out = masks[path]
    start = time.perf_counter()
    # The same output is used again, so that its page faults are not measured.
    out = cv2.distanceTransform(black, cv2.DIST_L2, cv2.DIST_MASK_PRECISE, dst=out)
    seconds = time.perf_counter() - start
    masks[path] = (black, out)
    print(seconds, black.size, flush=True)
