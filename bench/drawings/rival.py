"""A program beside Relief, as a process: `rival.py NAME ARGUMENTS` does its work once and prints seconds as JSON."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


class Clock:
    """Seconds and processor seconds from its making on."""

    def __init__(self):
        self.start, self.used = time.perf_counter(), self.processor()

    @staticmethod
    def processor():
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    def read(self):
        return {"seconds": time.perf_counter() - self.start, "processor": self.processor() - self.used}


def tiff(path, side, strips):
    """A 1-bit TIFF of strips of packed rows: BigTIFF is not needed below 4 GB."""
    import struct

    row = (side + 7) // 8
    with open(path, "wb") as file:
        file.write(b"\0" * 8)
        offsets, counts = [], []
        for strip in strips:
            offsets.append(file.tell())
            counts.append(len(strip))
            file.write(strip)
        rows = counts[0] // row
        where = {}
        for name, values in (("offsets", offsets), ("counts", counts)):
            # One value stands in the tag itself.
            where[name] = file.tell() if len(values) > 1 else values[0]
            file.write(struct.pack(f"<{len(values)}I", *values))
        tags = [(256, 4, 1, side), (257, 4, 1, side), (258, 3, 1, 1), (259, 3, 1, 1), (262, 3, 1, 1)]
        tags += [(273, 4, len(offsets), where["offsets"]), (277, 3, 1, 1), (278, 4, 1, rows), (279, 4, len(counts), where["counts"])]
        place = file.tell()
        file.write(struct.pack("<H", len(tags)))
        for tag, kind, count, value in tags:
            file.write(struct.pack("<HHII", tag, kind, count, value))
        file.write(struct.pack("<I", 0))
        file.seek(0)
        file.write(struct.pack("<2sHI", b"II", 42, place))


def klayout(layout, side, out):
    """Tiles as pictures of one bit of the viewer, as PNG, the only form in which it hands them on. One pixel is a micrometre.

    Unpacking the PNG and writing one TIFF of them is not counted.
    """
    import io

    import klayout.db as db
    import klayout.lay as lay
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    clock = Clock()
    view = lay.LayoutView(False, None, 0)
    view.load_layout(layout, True)
    view.max_hier()
    node = view.begin_layers()
    while not node.at_end():
        properties = node.current()
        properties.dither_pattern = 0
        properties.width = 0
        node.next()
    tile = 5_000
    total = clock.read()

    def strips():
        for top in range(0, side, tile):
            height = min(tile, side - top)
            strip = np.zeros((height, (side + 7) // 8), np.uint8)
            for left in range(0, side, tile):
                width = min(tile, side - left)
                box = db.DBox(left, side - top - height, left + width, side - top)
                clock = Clock()
                data = view.get_pixels_with_options_mono(width, height, 1, box).to_png_data()
                for name, value in clock.read().items():
                    total[name] += value
                bits = np.packbits(np.asarray(Image.open(io.BytesIO(data)).convert("1")), axis=1)
                strip[:, left // 8 : left // 8 + bits.shape[1]] = bits
            yield strip.tobytes()

    tiff(out, side, strips())
    return total


def gdal(layout, side, out):
    """`gdal_rasterize` band by band. Reading the layout and making GDAL's geometries of it are not counted."""
    import gdstk
    from rasterio import features
    from rasterio.transform import from_origin

    tall = 2_000
    bands = [[] for _ in range(0, side, tall)]
    for polygon in gdstk.read_gds(layout).top_level()[0].polygons:
        points = polygon.points
        ring = points.tolist()
        ring.append(ring[0])
        geometry = ({"type": "Polygon", "coordinates": [ring]}, 1)
        low, high = side - points[:, 1].max(), side - points[:, 1].min()
        for band in range(max(0, int(low // tall)), min(len(bands) - 1, int(high // tall)) + 1):
            bands[band].append(geometry)
    clock = Clock()

    def strips():
        for number, geometries in enumerate(bands):
            top = number * tall
            height = min(tall, side - top)
            samples = features.rasterize(
                geometries, out_shape=(height, side), transform=from_origin(0, side - top, 1, 1), dtype="uint8"
            )
            yield np.packbits(samples, axis=1).tobytes()

    tiff(out, side, strips())
    return clock.read()


def skia(scene, side, out):
    import inputs
    import skia as library

    path = library.Path()
    for points in inputs.scene(scene, side):
        path.addPoly([library.Point(x, y) for x, y in points], True)
    surface = library.Surface.MakeRaster(library.ImageInfo.MakeA8(side, side))
    paint = library.Paint(AntiAlias=True, Color=library.ColorWHITE)
    times = []
    for _ in range(2):
        surface.getCanvas().clear(0)
        clock = Clock()
        surface.getCanvas().drawPath(path, paint)
        times.append(clock.read())
    pixels = np.zeros((side, side), np.uint8)
    surface.readPixels(library.ImageInfo.MakeA8(side, side), pixels, side, 0, 0)
    np.save(out, pixels)
    return times[-1]


def cairo(scene, side, out):
    import cairocffi as library
    import inputs

    surface = library.ImageSurface(library.FORMAT_A8, side, side)
    context = library.Context(surface)
    for points in inputs.scene(scene, side):
        context.move_to(*points[0])
        for point in points[1:]:
            context.line_to(*point)
        context.close_path()
    context.set_source_rgba(1, 1, 1, 1)
    times = []
    for _ in range(2):
        context.save()
        context.set_operator(library.OPERATOR_CLEAR)
        context.paint()
        context.restore()
        surface.flush()
        clock = Clock()
        context.fill_preserve()
        surface.flush()
        times.append(clock.read())
    stride = surface.get_stride()
    pixels = np.frombuffer(surface.get_data(), np.uint8).reshape(side, stride)[:, :side]
    np.save(out, pixels)
    return times[-1]


def tiny_skia(scene, side, out):
    """By the program in `tiny-skia`, which `run` builds and names in RELIEF_TINY_SKIA."""
    import struct

    import inputs

    outlines = Path(out).with_suffix(".outlines")
    with outlines.open("wb") as file:
        for points in inputs.scene(scene, side):
            file.write(struct.pack("<I", len(points)))
            file.write(np.array(points, "<f8").tobytes())
    raw = Path(out).with_suffix(".raw")
    told = subprocess.run([os.environ["RELIEF_TINY_SKIA"], outlines, str(side), raw], check=True, capture_output=True, text=True)
    np.save(out, np.fromfile(raw, np.uint8).reshape(side, side))
    seconds, processor = map(float, told.stdout.split())
    return {"seconds": seconds, "processor": processor}


def tiny_skia_version():
    lock = (HERE / "tiny-skia" / "Cargo.lock").read_text()
    return lock.split('name = "tiny-skia"\nversion = "')[1].split('"')[0]


def versions():
    import cairocffi
    import rasterio
    import klayout.db
    import skia as library

    return {
        "klayout": klayout.db.Application.instance().version() if hasattr(klayout.db, "Application") else klayout.db.__version__,
        "gdal": rasterio.__gdal_version__,
        "skia-python": library.__version__,
        "cairo": cairocffi.cairo_version_string(),
        "tiny-skia": tiny_skia_version(),
    }


name, *arguments = sys.argv[1:]
if name == "versions":
    print(json.dumps(versions()))
else:
    what, side, out = arguments
    programs = {"klayout": klayout, "gdal": gdal, "skia": skia, "cairo": cairo, "tiny-skia": tiny_skia}
    print(json.dumps(programs[name](what, int(side), out)))
