#!/usr/bin/env python3
"""Compares filters with those of SciPy, OpenCV, scikit-image and Pillow, sample by sample. Builds and installs nothing.

bench/filters/compare.py RELIEF [--record FILE]

A picture of 257 x 193 samples, smooth on one side and noise on the other, with blocks of 0 and M, at 8 and at 16 bits. A line a
comparison: how many samples differ, and by how much. What has to be equal and is not ends the program with 1; a program that
rounds or reads borders in another way is compared as well, and its line says how far it lies off.

The rivals: pip install numpy scipy opencv-python-headless scikit-image pillow
"""

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy
import PIL
import scipy
import skimage
from PIL import Image
from scipy import ndimage
from skimage.exposure import rescale_intensity
from skimage.filters import threshold_otsu, threshold_sauvola
from skimage.morphology import disk

WIDTH, HEIGHT = 257, 193
# The names of edges: here, in SciPy, in OpenCV.
EDGES = {
    "clamp": ("nearest", cv2.BORDER_REPLICATE),
    "mirror": ("mirror", cv2.BORDER_REFLECT_101),
    "wrap": ("wrap", None),
    "zero": ("constant", cv2.BORDER_CONSTANT),
}
CV2_FULL = ("clamp", "mirror")


def picture(bits):
    """Smooth on the left, noise on the right, blocks of 0 and M."""
    greatest = (1 << bits) - 1
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    waves = numpy.sin(x / 23) * numpy.cos(y / 17) + x / WIDTH
    smooth = (waves - waves.min()) / (waves.max() - waves.min()) * greatest
    noise = numpy.random.default_rng(7).integers(0, greatest + 1, (HEIGHT, WIDTH))
    samples = numpy.where(x < WIDTH // 2, numpy.rint(smooth), noise)
    samples[20:60, 30:90] = 0
    samples[90:140, 100:160] = greatest
    samples[150:170, 0:20] = greatest
    return samples.astype(numpy.uint8 if bits == 8 else numpy.uint16)


class Relief:
    """What a filter of ours gives."""

    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)

    def picture(self, samples):
        self.samples = samples
        self.bits = samples.dtype.itemsize * 8
        greatest = (1 << self.bits) - 1
        data = samples if self.bits == 8 else samples.astype(">u2")
        header = f"P5 {WIDTH} {HEIGHT} {greatest}\n".encode()
        (self.folder / "in.pgm").write_bytes(header + data.tobytes())

    def __call__(self, words, width=WIDTH, height=HEIGHT):
        (self.folder / "design.kdl").write_text(
            f"relief version=1\ncanvas width={width} height={height} bits={self.bits}\n"
            + (words if "{" in words else f'{words} {{ (source)image "in.pgm" }}')
            + "\n"
        )
        out = self.folder / "out.raw"
        command = [self.program, "render", "design.kdl", "-o", out.name, "--device", "cpu", "--quiet", "--force"]
        subprocess.run(command, cwd=self.folder, check=True)
        kind = numpy.uint8 if self.bits == 8 else numpy.dtype("<u2")
        return numpy.frombuffer(out.read_bytes(), kind).reshape(height, width)


def sobel_of(edge):
    def sobel(v):
        across = ndimage.sobel(v.astype(numpy.int64), axis=1, mode=EDGES[edge][0])
        down = ndimage.sobel(v.astype(numpy.int64), axis=0, mode=EDGES[edge][0])
        return numpy.rint(numpy.hypot(across, down))

    return sobel


def cv2_sobel_of(edge):
    def sobel(v):
        across = cv2.Sobel(v, cv2.CV_64F, 1, 0, borderType=EDGES[edge][1])
        down = cv2.Sobel(v, cv2.CV_64F, 0, 1, borderType=EDGES[edge][1])
        return numpy.rint(numpy.hypot(across, down))

    return sobel


KERNEL = numpy.array([[1, -2, 1], [3, 9, -1], [0, 0, 7]])
KERNEL_TEXT = "1 -2 1; 3 9 -1; 0 0 7"


def clipped(values, greatest):
    return numpy.clip(values, 0, greatest)


def cases(bits):
    """What is compared: its words here, the other program's name, that program, and whether all samples have to be equal."""
    greatest = (1 << bits) - 1
    for edge, (mode, border) in EDGES.items():
        options = {"mode": mode, "cval": 0}
        for radius in (1, 5, 40):
            side = 2 * radius + 1
            yield (
                f'box radius={radius} edge="{edge}"',
                "scipy uniform_filter in binary64, then rint",
                lambda v, side=side, o=options: numpy.rint(ndimage.uniform_filter(v.astype(float), side, **o)),
                True,
            )
        for name, other in (("erode", ndimage.grey_erosion), ("dilate", ndimage.grey_dilation)):
            yield (
                f'{name} radius=7 edge="{edge}"',
                f"scipy {other.__name__}, size=15",
                lambda v, other=other, o=options: other(v, size=15, **o),
                True,
            )
            if name == "erode" or edge in CV2_FULL:
                yield (
                    f'{name} radius=7 shape="disc" edge="{edge}"',
                    f"scipy {other.__name__} with skimage disk",
                    lambda v, other=other, o=options: other(v, footprint=disk(7), **o),
                    True,
                )
        for name, other in (("open", ndimage.grey_opening), ("close", ndimage.grey_closing)):
            shape, given = ("disc", {"footprint": disk(5)}) if name == "open" else ("square", {"size": 11})
            yield (
                f'{name} radius=5 shape="{shape}" edge="{edge}"',
                f"scipy {other.__name__}",
                lambda v, other=other, g=given, o=options: other(v, **g, **o),
                True,
            )
        if edge != "zero":
            for of, other in (("light", ndimage.white_tophat), ("dark", ndimage.black_tophat)):
                yield (
                    f'top-hat radius=4 of="{of}" edge="{edge}"',
                    f"scipy {other.__name__}",
                    lambda v, other=other, o=options: other(v.astype(numpy.int64), size=9, **o),
                    True,
                )
        yield f'sobel edge="{edge}"', "scipy sobel of int64, hypot, rint", sobel_of(edge), True
        for rank in (1, 11, 25):
            yield (
                f'rank radius=2 rank={rank} edge="{edge}"',
                "scipy rank_filter",
                lambda v, rank=rank, o=options: ndimage.rank_filter(v, rank - 1, size=5, **o),
                True,
            )
        yield (
            f'convolve "{KERNEL_TEXT}" divisor=9 offset=4 edge="{edge}"',
            "scipy correlate of int64, halves up",
            lambda v, o=options: (2 * (ndimage.correlate(v.astype(numpy.int64), KERNEL, **o) + 4 * 9) + 9) // 18,
            True,
        )
        yield (
            f'local-threshold radius=20 edge="{edge}"',
            "scipy uniform_filter in binary64, v >= mean",
            # The mean of integers, to less than one part of their number.
            lambda v, o=options: (
                v >= numpy.round(ndimage.uniform_filter(v.astype(float), 41, **o) * 41 * 41) / (41 * 41)
            )
            * greatest,
            True,
        )
        if edge in CV2_FULL:
            yield f'sobel edge="{edge}"', "cv2 Sobel in binary64, hypot, rint", cv2_sobel_of(edge), True
            yield (
                f'box radius=5 edge="{edge}"',
                "cv2 blur",
                lambda v, b=border: cv2.blur(v, (11, 11), borderType=b),
                bits == 8,
            )
            yield (
                f'erode radius=7 edge="{edge}"',
                "cv2 erode",
                lambda v, b=border: cv2.erode(v, numpy.ones((15, 15), numpy.uint8), borderType=b),
                True,
            )
            yield (
                f'dilate radius=7 shape="disc" edge="{edge}"',
                "cv2 dilate with skimage disk",
                lambda v, b=border: cv2.dilate(v, disk(7), borderType=b),
                True,
            )
            yield (
                f'convolve "{KERNEL_TEXT}" divisor=1 edge="{edge}"',
                "cv2 filter2D in binary64",
                lambda v, b=border: cv2.filter2D(v.astype(float), cv2.CV_64F, KERNEL.astype(float), borderType=b),
                True,
            )
    yield (
        "dilate radius=7 shape=\"disc\"",
        "cv2 dilate with MORPH_ELLIPSE, another shape",
        lambda v: cv2.dilate(
            v, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (15, 15)), borderType=cv2.BORDER_REPLICATE
        ),
        False,
    )
    yield (
        'local-threshold radius=20 method="sauvola" k=0.2 edge="mirror"',
        "skimage threshold_sauvola, v >= T",
        lambda v: (v >= threshold_sauvola(v, window_size=41, k=0.2, r=greatest / 2)) * greatest,
        True,
    )
    yield "otsu", "skimage threshold_otsu, v > t", lambda v: (v > threshold_otsu(v, nbins=None)) * greatest, True
    # The picture has all levels: only a part of them has anything to be stretched.
    low, high = greatest // 6, greatest // 4 * 3
    narrow = f'map {{ (source)image "in.pgm"; levels 0 {greatest} {low} {high} }}'
    yield (
        f"normalise {{ (source){narrow} }}",
        "skimage rescale_intensity in binary64, rint",
        lambda v: numpy.rint(
            rescale_intensity(numpy.rint(v * ((high - low) / greatest) + low), out_range=(0, greatest))
        ),
        True,
    )
    if bits == 8:
        yield "median radius=2", "cv2 medianBlur", lambda v: cv2.medianBlur(v, 5), True
        yield "otsu", "cv2 threshold", lambda v: cv2.threshold(v, 0, 255, cv2.THRESH_OTSU)[1], True
        yield (
            "local-threshold radius=20",
            "cv2 adaptiveThreshold, which rounds the mean and asks for v > mean",
            lambda v: cv2.adaptiveThreshold(v, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY, 41, 0),
            False,
        )
        yield "equalise", "cv2 equalizeHist, in binary32", cv2.equalizeHist, False
        yield (
            'bilateral sigma=2 range=20 edge="clamp"',
            "cv2 bilateralFilter, which looks at a disc",
            lambda v: cv2.bilateralFilter(v, 9, 20, 2, borderType=cv2.BORDER_REPLICATE),
            False,
        )
        filters = {
            "box": Image.Resampling.BOX,
            "linear": Image.Resampling.BILINEAR,
            "cubic": Image.Resampling.BICUBIC,
            "lanczos": Image.Resampling.LANCZOS,
        }
        for by, method in filters.items():
            for width, height in ((400, 300), (100, 77)):
                yield (
                    f'resize by="{by}"',
                    f"Pillow Image.resize to {width} x {height}, rounded after each axis",
                    lambda v, m=method, s=(width, height): numpy.asarray(Image.fromarray(v).resize(s, m)),
                    False,
                )

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("relief", type=Path)
    parser.add_argument("--record", type=Path)
    arguments = parser.parse_args()
    record = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": "bench/filters/compare.py RELIEF --record FILE",
        "versions": {
            "relief": subprocess.run([arguments.relief, "--version"], capture_output=True, text=True).stdout.strip(),
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
            "opencv": cv2.__version__,
            "scikit-image": skimage.__version__,
            "pillow": PIL.__version__,
        },
        "picture": f"{WIDTH} x {HEIGHT}, generated",
        "comparisons": [],
    }
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        relief = Relief(arguments.relief.resolve(), folder)
        for bits in (8, 16):
            relief.picture(picture(bits))
            for words, other, function, exact in cases(bits):
                theirs = numpy.asarray(function(relief.samples))
                height, width = theirs.shape
                ours = relief(words, width, height)
                theirs = clipped(theirs.astype(numpy.int64), (1 << bits) - 1)
                off = numpy.abs(theirs - ours)
                differ = int(numpy.count_nonzero(off))
                bad = exact and differ > 0
                wrong += bad
                record["comparisons"].append(
                    {
                        "bits": bits,
                        "here": words,
                        "there": other,
                        "has_to_be_equal": exact,
                        "samples": off.size,
                        "differ": differ,
                        "greatest": int(off.max()),
                    }
                )
                verdict = "equal" if differ == 0 else f"{differ} of {off.size} differ, by up to {off.max()}"
                print(f"{'WRONG ' if bad else ''}{bits:2} bits  {words}  |  {other}: {verdict}", flush=True)
    if arguments.record:
        arguments.record.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    count = len(record["comparisons"])
    equal = sum(one["differ"] == 0 for one in record["comparisons"])
    print(f"{equal} of {count} comparisons are equal; {wrong} that have to be are not")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
