"""What results are compared with: plain NumPy in f64, on the corner of a picture, where the border is, and on one inside."""

import numpy

CORNER = 200


def around(picture, radius):
    """The corner of a picture with what a result there depends on; outside are the nearest pixels inside."""
    reach = CORNER + radius
    corner = numpy.asarray(picture[:reach, :reach], dtype=numpy.float64)
    return numpy.pad(corner, ((radius, 0), (radius, 0)), mode="edge")


def shifted(picture, radius, axis):
    """The picture moved by every step from −radius to radius along an axis, as long as all of them are."""
    length = picture.shape[axis] - 2 * radius
    return [numpy.take(picture, range(step, step + length), axis=axis) for step in range(2 * radius + 1)]


def weighted(picture, weights):
    """A sum with the same weights along both axes."""
    radius = len(weights) // 2
    wide = around(picture, radius)
    down = sum(w * part for w, part in zip(weights, shifted(wide, radius, 0)))
    return sum(w * part for w, part in zip(weights, shifted(down, radius, 1)))


def box(picture, radius):
    return weighted(picture, [1 / (2 * radius + 1)] * (2 * radius + 1))


def bell(sigma):
    """The weights of a Gauss filter, four sigmas far."""
    radius = round(4 * sigma)
    weights = numpy.exp(-0.5 * (numpy.arange(-radius, radius + 1) / sigma) ** 2)
    return weights / weights.sum()


def gauss(picture, sigma):
    return weighted(picture, bell(sigma))


def erosion(picture, radius):
    wide = around(picture, radius)
    down = numpy.minimum.reduce(shifted(wide, radius, 0))
    return numpy.minimum.reduce(shifted(down, radius, 1))


def dilation(picture, heights):
    """The greatest f(x - s) + b(s) by a square of heights; what lies outside does not count."""
    radius = len(heights) // 2
    corner = numpy.asarray(picture[: CORNER + radius, : CORNER + radius], dtype=numpy.float64)
    wide = numpy.pad(corner, ((radius, 0), (radius, 0)), constant_values=-numpy.inf)
    most = numpy.full((wide.shape[0] - 2 * radius, wide.shape[1] - 2 * radius), -numpy.inf)
    for t, row in enumerate(heights[::-1]):
        for s, height in enumerate(row[::-1]):
            numpy.maximum(most, wide[t : t + most.shape[0], s : s + most.shape[1]] + height, out=most)
    return most


def sobel(picture):
    """|gx| + |gy|."""
    wide = around(picture, 1)
    a, _, b = shifted(wide, 1, 1)
    across = b - a
    a, m, b = shifted(across, 1, 0)
    gx = a + 2 * m + b
    a, m, b = shifted(wide, 1, 1)
    smooth = a + 2 * m + b
    a, _, b = shifted(smooth, 1, 0)
    return abs(gx) + abs(b - a)


def clamped(picture):
    """As bytes hold it."""
    return numpy.clip(picture, 0, 255)


def repeated(pattern, height, width, last):
    """The last rows of a square pattern repeated over a raster."""
    side = len(pattern)
    return pattern[numpy.ix_(numpy.arange(height - last, height) % side, numpy.arange(width) % side)]


def differ(found, expected, tolerance):
    """What differs, or nothing; the first `CORNER` rows and columns of both."""
    found = numpy.asarray(found, dtype=numpy.float64)[:CORNER, :CORNER]
    expected = expected[: found.shape[0], : found.shape[1]]
    most = float(abs(found - expected).max())
    return None if most <= tolerance else f"it differs by {most:.4g}, more than {tolerance:g}"
