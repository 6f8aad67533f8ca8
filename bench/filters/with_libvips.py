"""Filters by libvips of a whole image in memory. A line `run FILTER` answers seconds, `compare FILTER ROWS FILE` how far samples lie off."""

import sys
import time

import numpy
import pyvips

source, side = sys.argv[1], int(sys.argv[2])
array = numpy.fromfile(source, numpy.uint8).reshape(side, side)


def held(array):
    rows, columns = array.shape
    return pyvips.Image.new_from_memory(array.data, columns, rows, 1, "uchar")


def row(*weights):
    return pyvips.Image.new_from_array([list(weights)], scale=sum(weights))


# Of the bell as far as e^(-64 / 8): 8 pixels, as ours.
FILTERS = {
    "gauss": lambda image: image.gaussblur(2, min_ampl=0.001, precision="integer"),
    "box": lambda image: image.convsep(row(*[1] * 11), precision="integer"),
    "erode": lambda image: image.rank(15, 15, 0),
    "sobel": lambda image: image.sobel(),
    "median": lambda image: image.rank(5, 5, 12),
}

# Every run computes anew.
pyvips.cache_set_max(0)
print(".".join(str(pyvips.version(part)) for part in range(3)), flush=True)
for line in sys.stdin:
    question, name, *rest = line.split(maxsplit=3)
    if question == "run":
        image = held(array)
        start = time.perf_counter()
        FILTERS[name](image).write_to_memory()
        print(time.perf_counter() - start, flush=True)
        continue
    rows, path = int(rest[0]), rest[1].strip()
    part = numpy.ascontiguousarray(array[: min(rows + 16, side)])
    samples = FILTERS[name](held(part)).cast("uchar").write_to_memory()
    found = numpy.frombuffer(samples, numpy.uint8).reshape(part.shape)[:rows]
    ours = numpy.fromfile(path, numpy.uint8).reshape(rows, side)
    off = numpy.abs(found.astype(int) - ours)
    print(off.max(), 1000 * numpy.count_nonzero(off) / off.size, flush=True)
