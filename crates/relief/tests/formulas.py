"""Computes surfaces of lithography with NumPy and compares them with those that a formula gives. `--check` only imports NumPy.

    formulas.py RELIEF

A formula of + - * / sqrt, floor, min and max has the same binary64 in NumPy: all samples are equal. One with sin or atan2 comes from
another library there, whose last bit may differ: samples are equal or neighbours.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy

# Windows are of so many samples: columns and rows.
WIDTH, HEIGHT = 160, 90


def modulo(a, b):
    return a - b * numpy.floor(a / b)


def places(x, y, pixel):
    """The middles of the pixels of a window that begins at column x and row y: in pixels, and in metres."""
    columns = numpy.arange(x, x + WIDTH, dtype=numpy.float64) + 0.5
    rows = numpy.arange(y, y + HEIGHT, dtype=numpy.float64)[:, None] + 0.5
    columns, rows = numpy.broadcast_arrays(columns, rows)
    return columns, rows, columns * pixel, rows * pixel


def sample(values, greatest):
    """Rounded half away from zero and clamped."""
    values = numpy.clip(values, 0, greatest)
    whole = numpy.floor(values)
    return (whole + (values - whole >= 0.5)).astype(numpy.int64)


def height(values, greatest, amplitude):
    return sample(greatest * values / amplitude, greatest)


class Microlenses:
    """Plano-convex lenses side by side on a hexagonal lattice, as far as the eye can see."""

    size, bits, within = (40_000, 30_000), 16, 0
    windows = [(0, 0), (12_345, 6_789), (39_840, 29_910)]
    design = """relief version=1
parameter "pitch" "50um"
parameter "radius" "100um"
canvas width=40000 height=30000 pixel="0.5um" bits=16 amplitude="3.5um"
formula "max(0, sqrt(radius * radius - s) - sqrt(radius * radius - a * a))" of="height" {
    let "a" "24um"
    let "row" "pitch * sqrt(3)"
    let "u" "X - pitch * floor(X / pitch + 0.5)"
    let "v" "Y - row * floor(Y / row + 0.5)"
    let "s1" "u * u + v * v"
    let "U" "X - pitch / 2"
    let "V" "Y - row / 2"
    let "p" "U - pitch * floor(U / pitch + 0.5)"
    let "q" "V - row * floor(V / row + 0.5)"
    let "s2" "p * p + q * q"
    let "s" "min(s1, s2)"
}
"""

    @staticmethod
    def samples(x, y):
        _, _, X, Y = places(x, y, 0.5e-6)
        pitch, radius, a = 50e-6, 100e-6, 24e-6
        row = pitch * numpy.sqrt(3.0)
        u = X - pitch * numpy.floor(X / pitch + 0.5)
        v = Y - row * numpy.floor(Y / row + 0.5)
        U, V = X - pitch / 2, Y - row / 2
        p = U - pitch * numpy.floor(U / pitch + 0.5)
        q = V - row * numpy.floor(V / row + 0.5)
        s = numpy.minimum(u * u + v * v, p * p + q * q)
        return height(numpy.maximum(0, numpy.sqrt(radius * radius - s) - numpy.sqrt(radius * radius - a * a)), 65_535, 3.5e-6)


class Fresnel:
    """A Fresnel lens of 100 mm, exact beyond the paraxial: 200 000 pixels a side, of which windows are computed."""

    size, bits, within = (200_000, 200_000), 16, 0
    windows = [(99_920, 99_955), (0, 99_955), (150_000, 30_000), (170_500, 170_700)]
    design = """relief version=1
parameter "focus" "250mm"
parameter "wave" "633nm"
canvas width="100mm" height="100mm" pixel="0.5um" bits=16 amplitude="1.38um"
formula "aperture * depth * (1 - mod(phase, 1))" of="height" {
    let "depth" "wave / 0.46"
    let "d" "r * px"
    let "phase" "(sqrt(d * d + focus * focus) - focus) / wave"
    let "aperture" "max(0, sign(50mm - d))"
}
"""

    @staticmethod
    def samples(x, y):
        columns, rows, _, _ = places(x, y, 0.5e-6)
        wave, focus = 633e-9, 250e-3
        dx, dy = columns - 200_000 / 2, rows - 200_000 / 2
        d = numpy.sqrt(dx * dx + dy * dy) * 0.5e-6
        phase = (numpy.sqrt(d * d + focus * focus) - focus) / wave
        aperture = numpy.maximum(0, numpy.sign(50e-3 - d))
        return height(aperture * (wave / 0.46) * (1 - modulo(phase, 1.0)), 65_535, 1.38e-6)


class Chirp:
    """A grating whose period falls from 20 um to 2 um over 100 mm."""

    size, bits, within = (100_000, 2_000), 16, 1
    windows = [(0, 0), (50_000, 1_000), (99_840, 1_910)]
    design = """relief version=1
parameter "first" "20um"
parameter "last" "2um"
canvas width="100mm" height="2mm" pixel="1um" bits=16 amplitude="500nm"
formula "deep * (0.5 + 0.5 * sin(2 * pi * phase))" of="height" {
    let "deep" "480nm"
    let "slope" "(1 / last - 1 / first) / 100mm"
    let "phase" "X / first + slope * X * X / 2"
}
"""

    @staticmethod
    def samples(x, y):
        _, _, X, _ = places(x, y, 1e-6)
        first, last = 20e-6, 2e-6
        slope = (1 / last - 1 / first) / 100e-3
        phase = X / first + slope * X * X / 2
        return height(480e-9 * (0.5 + 0.5 * numpy.sin(2 * numpy.pi * phase)), 65_535, 500e-9)


class PhasePlate:
    """A spiral phase plate of charge 3: the phase goes thrice around the middle."""

    size, bits, within = (20_000, 20_000), 8, 1
    windows = [(9_920, 9_955), (0, 0), (17_000, 4_000)]
    design = """relief version=1
parameter "charge" 3
canvas width=20000 height=20000 pixel="1um" amplitude="1.4um"
formula "1.376um * mod(charge * theta / (2 * pi), 1)" of="height"
"""

    @staticmethod
    def samples(x, y):
        columns, rows, _, _ = places(x, y, 1e-6)
        theta = numpy.arctan2(rows - 20_000 / 2, columns - 20_000 / 2)
        return height(1.376e-6 * modulo(3 * theta / (2 * numpy.pi), 1.0), 255, 1.4e-6)


def compared(relief, folder, surface):
    """How many samples of all windows differ, and by how much; and how many there are that are neither 0 nor M."""
    (folder / "design.kdl").write_text(surface.design)
    differ = greatest = grays = 0
    for x, y in surface.windows:
        command = [relief, "render", "design.kdl", "-o", "out.raw", "--force", "--quiet", "--device", "cpu"]
        subprocess.run([*command, "--region", f"{x},{y},{WIDTH}x{HEIGHT}"], cwd=folder, check=True)
        kind = numpy.dtype("<u2") if surface.bits == 16 else numpy.uint8
        ours = numpy.fromfile(folder / "out.raw", kind).reshape(HEIGHT, WIDTH).astype(numpy.int64)
        off = numpy.abs(ours - surface.samples(x, y))
        differ += int(numpy.count_nonzero(off))
        greatest = max(greatest, int(off.max()))
        grays += int(numpy.count_nonzero((ours > 0) & (ours < (1 << surface.bits) - 1)))
    return differ, greatest, grays


def main():
    relief = pathlib.Path(sys.argv[1]).resolve()
    wrong = False
    with tempfile.TemporaryDirectory() as folder:
        for surface in (Microlenses, Fresnel, Chirp, PhasePlate):
            differ, greatest, grays = compared(relief, pathlib.Path(folder), surface)
            total = len(surface.windows) * WIDTH * HEIGHT
            bad = greatest > surface.within or grays < total // 4
            wrong |= bad
            verdict = "WRONG" if bad else "as it has to be"
            print(f"{surface.__name__}: {differ} of {total} differ, by at most {greatest}; {grays} grays: {verdict}")
    sys.exit(wrong)


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        main()
