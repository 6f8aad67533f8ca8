"""Makes what is measured: layouts by gdstk, scenes as lists of shapes that every program draws in its own way."""

import math
import random
from pathlib import Path

import gdstk

MICROMETRE = 1.0
# The side of the flat layout and the distance of its polygons, in micrometres.
SIDE, PITCH = 50_000, 50


def flat(path, side=SIDE, pitch=PITCH, seed=7):
    """A polygon of 4 to 16 corners in every square of `pitch`, none in an array: 10^6 of them."""
    rng = random.Random(seed)
    library = gdstk.Library(unit=1e-6, precision=1e-9)
    cell = library.new_cell("TOP")
    for row in range(side // pitch):
        for column in range(side // pitch):
            x, y = (column + 0.5) * pitch, (row + 0.5) * pitch
            cell.add(gdstk.Polygon(corners(rng, x, y, 0.2 * pitch, 0.45 * pitch)))
    library.write_gds(path)


def corners(rng, x, y, least, most):
    """A star-shaped polygon on whole nanometres."""
    count = rng.randint(4, 16)
    turn = rng.uniform(0, 2 * math.pi)
    points = []
    for k in range(count):
        radius = rng.uniform(least, most)
        angle = turn + 2 * math.pi * k / count
        points.append((round(x + radius * math.cos(angle), 3), round(y + radius * math.sin(angle), 3)))
    return points


def arrays(path):
    """10^8 polygons by an array of an array."""
    library = gdstk.Library(unit=1e-6, precision=1e-9)
    one = library.new_cell("ONE")
    one.add(gdstk.regular_polygon((2, 2), 1.1, 6, layer=1))
    block = library.new_cell("BLOCK")
    block.add(gdstk.Reference(one, (0, 0), columns=100, rows=100, spacing=(5, 5)))
    top = library.new_cell("TOP")
    top.add(gdstk.Reference(block, (0, 0), columns=100, rows=100, spacing=(500, 500)))
    library.write_gds(path)


def ring(edges, side, seed=3):
    """A polygon of so many edges around the middle of a picture: its radius swings by rounds of many sizes."""
    rng = random.Random(seed)
    waves = [(rng.randint(2, 400), rng.uniform(0, 2 * math.pi)) for _ in range(12)]
    points = []
    for k in range(edges):
        angle = 2 * math.pi * k / edges
        swing = sum(math.sin(count * angle + phase) / 12 for count, phase in waves)
        radius = side * (0.36 + 0.1 * swing)
        points.append((side / 2 + radius * math.cos(angle), side / 2 + radius * math.sin(angle)))
    return points


def svg(path, side, body):
    Path(path).write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{side}" height="{side}">{body}</svg>\n')


def scene(name, side, seed=11):
    """Closed outlines of straight lines, (points), that the programs fill in white."""
    rng = random.Random(seed)
    if name == "polygons":
        cell = side / 64
        return [
            corners(rng, (i + 0.5) * cell, (j + 0.5) * cell, 0.2 * cell, 0.49 * cell) for j in range(64) for i in range(64)
        ]
    if name == "large":
        return [corners(rng, rng.uniform(0, side), rng.uniform(0, side), side * 0.05, side * 0.3) for _ in range(60)]
    if name == "ring":
        return [ring(100_000, side)]
    raise ValueError(name)


def path_of(outlines):
    return "".join("M" + "L".join(f"{x:.3f},{y:.3f}" for x, y in points) + "Z" for points in outlines)
