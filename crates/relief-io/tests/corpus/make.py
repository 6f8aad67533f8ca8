"""Makes the pictures of this folder and `index.json`, which says what each of them has to read as.

    python -m venv /tmp/venv && /tmp/venv/bin/pip install -r requirements.txt && /tmp/venv/bin/python make.py

Files come from several independent writers, and from bytes put together here where no writer makes them. What a file
reads as is never asked of Relief: an independent reader gives its samples, and `gray` below applies the formulas of
docs/nodes.md to them in exact fractions. Where the reader is "formula", no reader at hand reads the file as its format
says, and the samples are those that went into it.
"""

import io
import json
import pathlib
import struct
import zlib
from fractions import Fraction

import numpy
import pyvips
import rasterio
import tifffile
from PIL import Image, ImageOps

HERE = pathlib.Path(__file__).parent
FILES = HERE / "files"
INDEX = []
W, H = 23, 13


def data(shape, dtype, seed=1):
    """Smooth waves with noise, over the whole range of the type."""
    rng = numpy.random.default_rng(seed)
    h, w = shape[:2]
    y, x = numpy.mgrid[0:h, 0:w]
    wave = 0.5 + 0.35 * numpy.sin(x / 3.1 + y / 2.3)
    if len(shape) == 3:
        wave = numpy.stack([numpy.roll(wave, 3 * i, axis=1) for i in range(shape[2])], axis=2)
    wave = wave + rng.uniform(-0.14, 0.14, shape)
    dtype = numpy.dtype(dtype)
    if dtype.kind == "f":
        return (wave * 250 - 60).astype(dtype)
    info = numpy.iinfo(dtype)
    return (info.min + wave.clip(0, 1) * (float(info.max) - info.min)).astype(dtype)


def rounded(value):
    """Half up."""
    return int((2 * value.numerator + value.denominator) // (2 * value.denominator))


def gray(pixel, colors, alpha, top, want, low, high, depth_max):
    """The sample of one pixel, a tuple of numbers; `alpha` is None, "straight" or "associated"."""
    ranged = low is not None

    def share(value, is_alpha=False):
        if ranged and not is_alpha:
            if value != value or value == "nothing":
                return Fraction(0)
            if value in (float("inf"), float("-inf")):
                return Fraction(int((value > 0) == (high > low)))
            part = (Fraction(value) - Fraction(low)) / (Fraction(high) - Fraction(low))
            return min(max(part, Fraction(0)), Fraction(1))
        return Fraction(value) / top

    count = {"gray": 1, "rgb": 3, "cmyk": 4}[colors]
    parts = [share(value) for value in pixel[:count]]
    a = share(pixel[count], True) if alpha else Fraction(1)
    if ranged and (count > 1 or alpha or want in ("cyan", "magenta", "yellow", "black")):
        parts = [Fraction(rounded(part * 65535), 65535) for part in parts]
        a = Fraction(rounded(a * 65535), 65535)
    full = a if alpha == "associated" else Fraction(1)
    if colors == "cmyk":
        c, m, y, k = parts
        r, g, b = [(1 - ink) * (1 - k) for ink in (c, m, y)]
        inks = parts
    else:
        r, g, b = parts if colors == "rgb" else parts * 3
        inks = [max(full - v, 0) for v in (r, g, b, max(r, g, b))]
    value = {
        "luma": (2126 * r + 7152 * g + 722 * b) / 10000,
        "average": (r + g + b) / 3,
        "red": r,
        "green": g,
        "blue": b,
        "cyan": inks[0],
        "magenta": inks[1],
        "yellow": inks[2],
        "black": inks[3],
    }[want]
    if alpha == "straight":
        value *= a
    return min(rounded(value * depth_max), depth_max)


def turned(array, orientation):
    return {
        1: lambda a: a,
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.swapaxes(0, 1),
        6: lambda a: a.swapaxes(0, 1)[:, ::-1],
        7: lambda a: a.swapaxes(0, 1)[::-1, ::-1],
        8: lambda a: a.swapaxes(0, 1)[::-1],
    }[orientation](array)


def write(name, content):
    path = FILES / name
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)
    return path


def refused(name, content, *parts, low=None, high=None, late=False):
    """A file that is refused, by a sentence with these parts; `late` where only reading its samples finds it out."""
    write(name, content)
    INDEX.append({"file": name, "refused": list(parts), "low": low, "high": high, "late": late})


def with_tifffile(path):
    with tifffile.TiffFile(path) as file:
        return file.pages[0].asarray()


def with_gdal(path):
    with rasterio.open(path) as file:
        bands = file.read()
    return bands[0] if len(bands) == 1 else numpy.moveaxis(bands, 0, 2)


def with_vips(path):
    array = pyvips.Image.new_from_file(str(path)).numpy()
    return array


def with_pillow(path):
    return numpy.array(Image.open(path))


READERS = {"tifffile": with_tifffile, "gdal": with_gdal, "vips": with_vips, "pillow": with_pillow}


def read(
    name,
    content,
    reader="tifffile",
    colors="gray",
    alpha=None,
    extra=None,
    top=None,
    invert=False,
    orientation=1,
    palette=None,
    want="luma",
    low=None,
    high=None,
    nodata=None,
    within=0,
    raw=None,
):
    """A file that is read. `extra` is the sample of a pixel that is alpha; `invert` where white is zero."""
    path = write(name, content)
    array = raw if reader == "formula" else READERS[reader](path)
    if raw is not None and reader != "formula" and within == 0:
        assert numpy.array_equal(numpy.asarray(raw), array, equal_nan=array.dtype.kind == "f"), name
    if array.ndim == 2:
        array = array[:, :, None]
    if array.dtype == bool:
        array = array.astype("u1")
    if palette is not None:
        array = numpy.asarray(palette)[array[:, :, 0]]
    if top is None:
        top = int(numpy.iinfo(array.dtype).max) if array.dtype.kind in "ui" else 1
    array = turned(array, orientation)
    count = {"gray": 1, "rgb": 3, "cmyk": 4}[colors]
    picked = list(range(count)) + ([extra if extra is not None else count] if alpha else [])
    samples = {8: [], 16: []}
    cache = {}
    for row in array:
        for pixel in row:
            values = tuple(pixel[i].item() for i in picked)
            if invert and low is None:
                values = tuple(top - v for v in values[:count]) + values[count:]
            if nodata is not None:
                values = tuple("nothing" if v == nodata else v for v in values)
            key = repr(values)
            if key not in cache:
                cache[key] = [
                    gray(values, colors, alpha, top, want, low, high, depth_max) for depth_max in (255, 65535)
                ]
            samples[8].append(cache[key][0])
            samples[16].append(cache[key][1])
    INDEX.append(
        {
            "file": name,
            "reader": reader,
            "gray": want,
            "low": low,
            "high": high,
            "within": within,
            "width": array.shape[1],
            "height": array.shape[0],
            "eight": "".join(f"{v:02x}" for v in samples[8]),
            "sixteen": "".join(f"{v:04x}" for v in samples[16]),
        }
    )


def tiff(array=None, **options):
    options.setdefault("metadata", None)
    options.setdefault("software", False)
    return lambda path: tifffile.imwrite(path, array, **options)


def gdal(array, nodata=None, skip=None, **options):
    """By GDAL; `skip` leaves tiles out that hold nothing else than the number."""
    if array.ndim == 2:
        array = array[:, :, None]
    bands = numpy.moveaxis(array, 2, 0)

    def save(path):
        count, height, width = bands.shape
        profile = dict(driver="GTiff", width=width, height=height, count=count, dtype=bands.dtype.name, **options)
        if nodata is not None:
            profile["nodata"] = nodata
        with rasterio.open(path, "w", **profile) as file:
            if skip is None:
                file.write(bands)
            else:
                file.write(bands[:, :16, 16:32], window=rasterio.windows.Window(16, 0, 16, 16))
        path.with_suffix(".tif.aux.xml").unlink(missing_ok=True)

    return save


def pillow(mode, array, **options):
    def save(path):
        Image.fromarray(array).convert(mode).save(path, **options)

    return save


def vips(array, **options):
    def save(path):
        image = pyvips.Image.new_from_array(numpy.ascontiguousarray(array))
        if array.ndim == 3:
            image = image.copy(interpretation="rgb16" if array.dtype.itemsize == 2 else "srgb")
        image.write_to_file(str(path), **options)

    return save


TYPES = {1: "B", 2: "c", 3: "H", 4: "I", 7: "B", 12: "d"}


def hand(tags, chunks, order="<", offsets=None, counts=True, tiled=False, after=0, big=False):
    """A TIFF from its tags, {number: (type, values)}, and its chunks; `counts` may be a list in place of the lengths."""
    body = b""
    places = []
    start = 16 if big else 8
    for chunk in chunks:
        places.append(start + len(body) if chunk is not None else 0)
        body += chunk or b""
    body += b"\0" * (len(body) % 2)
    tags = dict(tags)
    tags[324 if tiled else 273] = (4, offsets or places)
    if counts is True:
        counts = [len(chunk or b"") for chunk in chunks]
    if counts is not None:
        tags[325 if tiled else 279] = (4, counts)
    at = start + len(body)
    entries, lists = b"", b""
    width, count = ("Q", "Q") if big else ("I", "H")
    inline = 8 if big else 4
    directory = struct.calcsize(count) + len(tags) * (20 if big else 12) + struct.calcsize(width)
    for tag in sorted(tags):
        kind, values = tags[tag]
        if kind in (2, 7):
            packed, number = bytes(values), len(values)
        else:
            packed, number = struct.pack(f"{order}{len(values)}{TYPES[kind]}", *values), len(values)
        if len(packed) <= inline:
            value = packed.ljust(inline, b"\0")
        else:
            value = struct.pack(order + width, at + directory + len(lists))
            lists += packed + b"\0" * (len(packed) % 2)
        entries += struct.pack(f"{order}HH{width}", tag, kind, number) + value
    head = (b"II" if order == "<" else b"MM") + struct.pack(order + "H", 43 if big else 42)
    if big:
        head += struct.pack(order + "HH", 8, 0)
    head += struct.pack(order + width, at)
    follow = at if after == "itself" else after
    return head + body + struct.pack(order + count, len(tags)) + entries + struct.pack(order + width, follow) + lists


def tags(array, bits=None, photometric=1, compression=1, **more):
    samples = 1 if array.ndim == 2 else array.shape[2]
    bits = bits or array.dtype.itemsize * 8
    found = {
        256: (3, [array.shape[1]]),
        257: (3, [array.shape[0]]),
        258: (3, [bits] * samples),
        259: (3, [compression]),
        262: (3, [photometric]),
        277: (3, [samples]),
        278: (3, [array.shape[0]]),
    }
    found.update({int(key[1:]): value for key, value in more.items()})
    return found


def packed(array, bits):
    """Samples of a few bits, the first in the high ones, each row to a whole byte."""
    out = b""
    for row in array.reshape(array.shape[0], -1):
        text = "".join(f"{int(v):0{bits}b}" for v in row)
        text += "0" * (-len(text) % 8)
        out += bytes(int(text[i : i + 8], 2) for i in range(0, len(text), 8))
    return out


def mirrored(content):
    return bytes(int(f"{byte:08b}"[::-1], 2) for byte in content)


def packbits(content):
    out = b""
    for start in range(0, len(content), 100):
        part = content[start : start + 100]
        out += bytes([len(part) - 1]) + part
    return out + b"\x80"


def lzw(content):
    import imagecodecs

    return imagecodecs.lzw_encode(content)


def tiffs():
    g8, g16 = data((H, W), "u1"), data((H, W), "u2")
    rgb8, rgb16 = data((H, W, 3), "u1"), data((H, W, 3), "u2")

    for name, options in {
        "lzw": {"compression": "lzw"},
        "deflate": {"compression": "deflate"},
        "packbits": {"compression": "packbits"},
        "zstd": {"compression": "zstd"},
        "lzma": {"compression": "lzma"},
        "none": {},
    }.items():
        for order, letter in (("<", "le"), (">", "be")):
            for kind, array in (("gray8", g8), ("gray16", g16), ("rgb8", rgb8), ("rgb16", rgb16)):
                if order == ">" and (kind in ("gray8", "rgb8") or name in ("packbits", "zstd", "lzma")):
                    continue
                photometric = "rgb" if array.ndim == 3 else "minisblack"
                colors = "rgb" if array.ndim == 3 else "gray"
                read(
                    f"tifffile-{kind}-{name}-{letter}.tif",
                    tiff(array, photometric=photometric, byteorder=order, rowsperstrip=5, **options),
                    colors=colors,
                    raw=array,
                )
    for kind, array in (("gray8", g8), ("gray16", g16), ("rgb16", rgb16), ("gray32", data((H, W), "u4"))):
        for name in ("lzw", "deflate", "zstd", "lzma"):
            if name in ("zstd", "lzma") and kind != "gray16":
                continue
            read(
                f"tifffile-{kind}-{name}-predictor2-tiles.tif",
                tiff(
                    array,
                    photometric="rgb" if array.ndim == 3 else "minisblack",
                    compression=name,
                    predictor=2,
                    tile=(16, 16),
                ),
                colors="rgb" if array.ndim == 3 else "gray",
                raw=array,
            )
    read(
        "tifffile-gray16-be-predictor2-strips.tif",
        tiff(g16, byteorder=">", compression="lzw", predictor=2, rowsperstrip=4),
        raw=g16,
    )
    # LZW in tiles that the right edge cuts, by three writers.
    for width in (17, 31, 40):
        wide = data((19, width), "u1", seed=width)
        ramp = (numpy.arange(width)[None] * numpy.arange(19)[:, None] % 251).astype("u1")
        read(f"tifffile-lzw-tiles-{width}-wide.tif", tiff(ramp, tile=(16, 16), compression="lzw"), raw=ramp)
        read(
            f"gdal-lzw-tiles-{width}-wide.tif",
            gdal(wide, compress="lzw", tiled=True, blockxsize=16, blockysize=16),
            reader="gdal",
            raw=wide,
        )
        read(
            f"vips-lzw-tiles-{width}-wide.tif",
            vips(wide, tile=True, tile_width=16, tile_height=16, compression="lzw"),
            raw=wide,
        )
    # Signed and floating point numbers.
    for dtype, low, high in (("i1", -100, 90), ("i2", -20000, 25000), ("i4", -2e9, 1.5e9)):
        array = data((H, W), dtype)
        read(f"tifffile-signed-{dtype}.tif", tiff(array), low=low, high=high, raw=array)
        refused(
            f"tifffile-signed-{dtype}-without-range.tif",
            tiff(array),
            f"signed integers of {array.dtype.itemsize * 8} bits",
            "`low` and `high`",
        )
    for dtype in ("f2", "f4", "f8"):
        array = data((H, W), dtype)
        for order, letter in (("<", "le"), (">", "be")):
            read(f"tifffile-{dtype}-{letter}.tif", tiff(array, byteorder=order), low=-50, high=175.5, raw=array)
        read(
            f"tifffile-{dtype}-predictor3-deflate.tif",
            tiff(array, compression="deflate", predictor=3),
            low=170,
            high=-45.25,
            raw=array,
        )
        refused(
            f"tifffile-{dtype}-without-range.tif",
            tiff(array),
            f"floating point numbers of {array.dtype.itemsize * 8} bits",
            "`low` and `high`",
        )
    tiles = data((19, 33), "f4")
    read(
        "tifffile-f4-be-predictor3-lzw-tiles.tif",
        tiff(tiles, byteorder=">", compression="lzw", predictor=3, tile=(16, 16)),
        low=0,
        high=100,
        raw=tiles,
    )
    read(
        "gdal-f4-predictor3-zstd.tif",
        gdal(tiles, compress="zstd", predictor=3),
        reader="gdal",
        low=0,
        high=100,
        raw=tiles,
    )
    read("gdal-f4-predictor2-deflate.tif", gdal(tiles, compress="deflate", predictor=2), low=0, high=100, raw=tiles)
    special = data((H, W), "f4")
    special[2, 3:9] = [numpy.nan, numpy.inf, -numpy.inf, -9999, 0, -0.0]
    read("gdal-f4-nodata-nan-and-infinities.tif", gdal(special, nodata=-9999), reader="gdal", low=-50, high=150, nodata=-9999)
    special[5, 5] = numpy.float32(0.1)
    read("gdal-f4-nodata-0.1.tif", gdal(special, nodata=0.1), reader="gdal", low=-50, high=150, nodata=float(numpy.float32(0.1)))
    colors = data((H, W, 3), "f4")
    read("tifffile-f4-rgb.tif", tiff(colors, photometric="rgb"), colors="rgb", low=-20, high=200, raw=colors)
    read("tifffile-f4-rgb-cyan.tif", tiff(colors, photometric="rgb"), colors="rgb", low=-20, high=200, want="cyan")
    # Halves, exactly at the borders of samples: (2k + 1) / 2 of 0…255 and of 0…65 535.
    halves = (numpy.arange(256, dtype="f8") - 0.5).reshape(16, 16)
    read("tifffile-f8-halves-of-255.tif", tiff(halves), low=0, high=255, raw=halves)
    halves = (numpy.arange(0, 65536, 257, dtype="f8") + 0.5).reshape(16, 16)
    read("tifffile-f8-halves-of-65535.tif", tiff(halves), low=0, high=65535, raw=halves)
    read("tifffile-gray16-range.tif", tiff(g16), low=1000, high=60000.5, raw=g16)
    read("tifffile-miniswhite-gray16-range.tif", tiff(g16, photometric="miniswhite"), low=1000, high=60000, raw=g16)

    u4 = data((H, W), "u4")
    read("tifffile-gray32.tif", tiff(u4), raw=u4)
    read("tifffile-gray32-be.tif", tiff(u4, byteorder=">"), raw=u4)
    refused("tifffile-gray64.tif", tiff(data((H, W), "u8")), "unsigned integers of 64 bits")
    refused("tifffile-complex.tif", tiff(data((H, W), "f4").astype("c8")), "complex")
    # Any number of bits.
    for bits in range(1, 17):
        array = data((H, W), "u2") >> (16 - bits)
        array = array.astype("u1") if bits <= 8 else array
        read(f"gdal-nbits-{bits:02}.tif", gdal(array, nbits=bits), reader="gdal", top=2**bits - 1, raw=array)
    array = data((H, W), "u2") >> 4
    read("gdal-nbits-12-deflate-tiles.tif", gdal(array, nbits=12, compress="deflate", tiled=True, blockxsize=16, blockysize=16), reader="gdal", top=4095, raw=array)
    read("hand-12-bits-be.tif", hand(tags(array, bits=12), [packed(array, 12)], order=">"), reader="gdal", top=4095, raw=array)
    ten = rgb16 >> 6
    read("hand-10-bits-rgb.tif", hand(tags(ten, bits=10, photometric=2), [packed(ten, 10)]), reader="gdal", colors="rgb", top=1023, raw=ten)
    array = data((H, W), "u4") >> 8
    content = b"".join(int(v).to_bytes(3, "little") for v in array.flat)
    read("hand-24-bits.tif", hand(tags(array, bits=24), [content]), reader="formula", top=2**24 - 1, raw=array)
    # White is zero, palettes, inks.
    read("tifffile-miniswhite-gray8.tif", tiff(g8, photometric="miniswhite"), invert=True, raw=g8)
    read("tifffile-miniswhite-gray16.tif", tiff(g16, photometric="miniswhite"), invert=True, raw=g16)
    read("vips-miniswhite-1-bit.tif", vips((g8 > 128).astype("u1") * 255, bitdepth=1, miniswhite=True), reader="vips", colors="gray", top=255)
    bits = (g8 > 128).astype("u1")
    read("vips-1-bit.tif", vips(bits * 255, bitdepth=1), reader="tifffile", top=1)
    indices = data((H, W), "u1")
    colormap = data((3, 256), "u2", seed=9)
    read("tifffile-palette-8.tif", tiff(indices, photometric="palette", colormap=colormap), colors="rgb", top=65535, palette=colormap.T)
    sixteen = colormap[:, :16]
    four = hand(tags(indices, bits=4, photometric=3, t320=(3, [int(v) for v in sixteen.flat])), [packed(indices >> 4, 4)])
    read("hand-palette-4-green.tif", four, reader="gdal", colors="rgb", top=65535, palette=sixteen.T, want="green", raw=indices >> 4)
    small = hand(tags(indices, photometric=3, t320=(3, [int(v) >> 8 for v in colormap.flat])), [indices.tobytes()])
    read("hand-palette-of-8-bits-in-16.tif", small, reader="tifffile", colors="rgb", top=255, palette=(colormap.T >> 8))
    palette_image = Image.fromarray(rgb8).quantize(13)
    table = numpy.array(palette_image.getpalette()[: 3 * 13]).reshape(13, 3)
    table = numpy.vstack([table, numpy.zeros((256 - 13, 3), table.dtype)])
    read("pillow-palette.tif", lambda path: palette_image.save(path), reader="pillow", colors="rgb", top=255, palette=table)
    inks = data((H, W, 4), "u1")
    for want in ("luma", "average", "red", "cyan", "magenta", "yellow", "black"):
        read(f"tifffile-cmyk8-{want}.tif", tiff(inks, photometric="separated"), colors="cmyk", want=want, raw=inks)
    inks16 = data((H, W, 4), "u2")
    read("tifffile-cmyk16-planes-deflate.tif", tiff(numpy.moveaxis(inks16, 2, 0), photometric="separated", planarconfig="separate", compression="deflate", rowsperstrip=5), colors="cmyk", reader="formula", raw=inks16)
    read("pillow-cmyk-lzw.tif", lambda path: Image.fromarray(inks, "CMYK").save(path, compression="tiff_lzw"), colors="cmyk", raw=inks)
    more = data((H, W, 5), "u1")
    read("tifffile-cmyk8-alpha.tif", tiff(more, photometric="separated", extrasamples=["unassalpha"]), colors="cmyk", alpha="straight", raw=more)
    for want in ("average", "red", "green", "blue", "cyan", "magenta", "yellow", "black"):
        read(f"tifffile-rgb8-{want}.tif", tiff(rgb8, photometric="rgb"), colors="rgb", want=want, raw=rgb8)
    read("tifffile-gray8-cyan.tif", tiff(g8), want="cyan", raw=g8)
    # Transparency and other extra samples.
    for kind, dtype in (("8", "u1"), ("16", "u2")):
        four = data((H, W, 4), dtype)
        two = data((H, W, 2), dtype)
        read(f"tifffile-rgba{kind}-straight.tif", tiff(four, photometric="rgb", extrasamples=["unassalpha"], compression="lzw", predictor=2), colors="rgb", alpha="straight", raw=four)
        multiplied = numpy.minimum(four, four[:, :, 3:])
        for want in ("luma", "cyan"):
            read(f"tifffile-rgba{kind}-associated-{want}.tif", tiff(multiplied, photometric="rgb", extrasamples=["assocalpha"]), colors="rgb", alpha="associated", want=want, raw=multiplied)
        read(f"tifffile-gray-alpha{kind}.tif", tiff(two, photometric="minisblack", planarconfig="contig", extrasamples=["unassalpha"]), alpha="straight", raw=two)
        read(f"tifffile-miniswhite-alpha{kind}.tif", tiff(two, photometric="miniswhite", planarconfig="contig", extrasamples=["unassalpha"]), alpha="straight", invert=True, raw=two)
        for samples in (4, 5, 6):
            many = data((H, W, samples), dtype)
            for order, letter in (("<", "le"), (">", "be")):
                if order == ">" and kind == "8":
                    continue
                read(
                    f"tifffile-rgb{kind}-of-{samples}-samples-predictor2-{letter}.tif",
                    tiff(many, photometric="rgb", extrasamples=["unspecified"] * (samples - 3), compression="deflate", predictor=2, byteorder=order),
                    colors="rgb",
                    raw=many,
                )
    many = data((H, W, 5), "u1")
    read("tifffile-rgb-infrared-alpha.tif", tiff(many, photometric="rgb", extrasamples=["unspecified", "unassalpha"]), colors="rgb", alpha="straight", extra=4, raw=many)
    four = data((H, W, 4), "u1")
    read("gdal-rgb-and-infrared-predictor2.tif", gdal(four, photometric="RGB", compress="deflate", predictor=2, alpha="no", interleave="pixel"), reader="gdal", colors="rgb", raw=four)
    read("gdal-rgba-lzw-planes.tif", gdal(four, photometric="RGB", compress="lzw", alpha="yes", interleave="band", blockysize=4), reader="gdal", colors="rgb", alpha="straight", raw=four)
    floats = data((H, W, 2), "f4")
    floats[:, :, 1] = data((H, W), "u1") / 255
    read("tifffile-f4-alpha.tif", tiff(floats, photometric="minisblack", planarconfig="contig", extrasamples=["unassalpha"]), alpha="straight", low=-10, high=180, top=1, raw=floats)
    # Planes.
    for name, options in (("strips", {"rowsperstrip": 4}), ("tiles-lzw-predictor2", {"tile": (16, 16), "compression": "lzw", "predictor": 2})):
        read(f"tifffile-planes-{name}.tif", tiff(numpy.moveaxis(rgb16, 2, 0), photometric="rgb", planarconfig="separate", **options), reader="formula", colors="rgb", raw=rgb16)
    read("gdal-planes-tiles.tif", gdal(rgb8, photometric="RGB", interleave="band", tiled=True, blockxsize=16, blockysize=16), reader="gdal", colors="rgb", raw=rgb8)
    # Orientation.
    for orientation in range(1, 9):
        read(f"tifffile-orientation-{orientation}.tif", tiff(g8, extratags=[(274, 3, 1, orientation, True)], rowsperstrip=4), orientation=orientation, raw=g8)
    # BigTIFF, many pages, pyramids.
    read("tifffile-bigtiff-be.tif", tiff(g16, bigtiff=True, byteorder=">", rowsperstrip=3), raw=g16)
    read("tifffile-two-pages.tif", tiff(numpy.stack([g8, g8[::-1]])), raw=g8)
    read("vips-pyramid-deflate.tif", vips(data((80, 70), "u1"), tile=True, tile_width=32, tile_height=32, pyramid=True, compression="deflate"), reader="tifffile")
    # Facsimile.
    marks = (data((29, 67), "u1") > 128).astype("u1")
    for name in ("group3", "group4", "tiff_ccitt"):
        image = Image.fromarray(marks * 255).convert("1")
        read(f"pillow-{name}.tif", lambda path, image=image, name=name: image.save(path, compression=name), reader="pillow", top=1, raw=marks.astype(bool))
    for name in ("ccittrle", "ccittfax3", "ccittfax4"):
        read(f"gdal-{name}.tif", gdal(marks, nbits=1, compress=name), reader="gdal", top=1, raw=marks)
        read(f"gdal-{name}-miniswhite.tif", gdal(marks, nbits=1, compress=name, photometric="MINISWHITE"), reader="gdal", top=1, invert=True, raw=marks)
    read("gdal-ccittfax4-tiles.tif", gdal(marks, nbits=1, compress="ccittfax4", tiled=True, blockxsize=32, blockysize=16), reader="gdal", top=1, raw=marks)
    read("pillow-group3-two-dimensional.tif", lambda path: Image.fromarray(marks * 255).convert("1").save(path, compression="group3", tiffinfo={292: 1}), reader="pillow", top=1, raw=marks.astype(bool))
    with tifffile.TiffFile(FILES / "pillow-group4.tif") as file:
        page = file.pages[0]
        content = (FILES / "pillow-group4.tif").read_bytes()[page.dataoffsets[0] :][: page.databytecounts[0]]
        polarity = int(page.photometric)
    read("hand-group4-fillorder2.tif", hand(tags(marks, bits=1, compression=4, photometric=polarity, t266=(3, [2])), [mirrored(content)]), reader="pillow", top=1, raw=marks.astype(bool))
    # JPEG within TIFF: two decoders may differ by a little.
    big = data((45, 53), "u1")
    color = data((45, 53, 3), "u1")
    read("gdal-jpeg-gray.tif", gdal(big, compress="jpeg", jpeg_quality=90), reader="gdal", within=2)
    read("gdal-jpeg-rgb.tif", gdal(color, compress="jpeg", photometric="RGB", interleave="pixel"), reader="gdal", colors="rgb", within=3)
    read("gdal-jpeg-ycbcr-tiles.tif", gdal(color, compress="jpeg", photometric="YCBCR", interleave="pixel", tiled=True, blockxsize=32, blockysize=32), reader="gdal", colors="rgb", within=10)
    read("vips-jpeg-tiles.tif", vips(big, tile=True, tile_width=32, tile_height=32, compression="jpeg"), reader="gdal", within=2)
    four = data((45, 53, 4), "u1")
    read("gdal-jpeg-cmyk.tif", gdal(four, compress="jpeg", photometric="CMYK", interleave="pixel", jpeg_quality=90), reader="tifffile", colors="cmyk", within=4)
    read("gdal-jpeg-planes.tif", gdal(color, compress="jpeg", photometric="RGB", interleave="band", jpeg_quality=90), reader="gdal", colors="rgb", within=3)
    read("tifffile-jpeg-without-tables.tif", tiff(big, compression="jpeg", compressionargs={"level": 90}, tile=(16, 16)), within=2)
    for compress, options in (("lzma", {"predictor": 2}), ("lzma", {"lzma_preset": 9}), ("zstd", {"zstd_level": 22})):
        name = "-".join([compress, *(f"{key}-{value}" for key, value in options.items())]).replace("_", "-")
        read(f"gdal-{name}.tif", gdal(g16, compress=compress, **options), reader="gdal", raw=g16)
    # Chunks that were never written.
    holes = numpy.zeros((32, 48), "u1")
    holes[:16, 16:32] = data((16, 16), "u1")
    for compress in ("none", "deflate", "lzw", "packbits"):
        options = {} if compress == "none" else {"compress": compress}
        read(f"gdal-sparse-tiles-{compress}.tif", gdal(holes, skip=True, sparse_ok=True, tiled=True, blockxsize=16, blockysize=16, **options), reader="gdal", raw=holes)
    full = holes.copy()
    full[holes == 0] = 77
    full[:16, 16:32] = holes[:16, 16:32]
    read("gdal-sparse-tiles-nodata-77.tif", gdal(full, nodata=77, skip=True, sparse_ok=True, tiled=True, blockxsize=16, blockysize=16), reader="gdal")
    numbers = numpy.full((32, 48), -1e6, "f4")
    numbers[:16, 16:32] = data((16, 16), "f4")
    read("gdal-sparse-tiles-float-nodata.tif", gdal(numbers, nodata=-1e6, skip=True, sparse_ok=True, tiled=True, blockxsize=16, blockysize=16), reader="gdal", low=-60, high=190, nodata=-1e6)
    rows = [g8[i : i + 4].tobytes() for i in range(0, H, 4)]
    gap = g8.copy()
    gap[4:8] = 0
    strip = {"t278": (3, [4])}
    read("hand-sparse-strip.tif", hand(tags(g8, **strip), [rows[0], None, *rows[2:]]), raw=gap)
    read("hand-sparse-strip-with-a-place.tif", hand(tags(g8, **strip), rows, counts=[len(r) if i != 1 else 0 for i, r in enumerate(rows)]), reader="gdal", raw=gap)
    # FillOrder 2.
    for order, letter in (("<", "le"), (">", "be")):
        content = g16.astype(order + "u2").tobytes()
        read(f"hand-fillorder2-gray16-{letter}.tif", hand(tags(g16, t266=(3, [2])), [mirrored(content)], order=order), raw=g16)
    ways = {"none": (1, lambda c: c), "packbits": (32773, packbits), "deflate": (8, zlib.compress), "lzw": (5, lzw)}
    for name, (number, encode) in ways.items():
        read(f"hand-fillorder2-gray8-{name}.tif", hand(tags(g8, compression=number, t266=(3, [2])), [mirrored(encode(g8.tobytes()))]), raw=g8)
    for bits in (1, 2, 4):
        array = g8 >> (8 - bits)
        read(f"hand-fillorder2-gray{bits}.tif", hand(tags(array, bits=bits, t266=(3, [2])), [mirrored(packed(array, bits))]), reader="gdal", top=2**bits - 1, raw=array)
    # LZW before TIFF 5.0: codes of nine bits and more, the first in the low bits.
    read("hand-lzw-of-the-old-kind.tif", hand(tags(g8, compression=5), [old_lzw(g8.tobytes())]), reader="gdal", raw=g8)
    # Directories that leave things out or lead astray.
    read("hand-directory-follows-itself.tif", hand(tags(g8), [g8.tobytes()], after="itself"), raw=g8)
    read("hand-next-directory-beyond-the-end.tif", hand(tags(g8), [g8.tobytes()], after=10**9), raw=g8)
    read("hand-no-stripbytecounts.tif", hand(tags(g8), [g8.tobytes()], counts=None), raw=g8)
    read("hand-no-stripbytecounts-deflate.tif", hand(tags(g8, compression=8), [zlib.compress(g8.tobytes())], counts=None), reader="gdal", raw=g8)
    refused("hand-no-stripbytecounts-many-lzw.tif", hand(tags(g8, compression=5, **strip), [lzw(r) for r in rows], counts=None), "does not say how many bytes", "4 compressed strips")
    read("hand-sampleformat-4.tif", hand(tags(g16, t339=(3, [4])), [g16.tobytes()]), raw=g16)
    read("hand-rowsperstrip-2-32.tif", hand(tags(g8, t278=(4, [2**32 - 1])), [g8.tobytes()]), raw=g8)
    without = tags(g8)
    del without[278]
    read("hand-no-rowsperstrip.tif", hand(without, [g8.tobytes()]), raw=g8)
    read("hand-counts-too-large.tif", hand(tags(g8), [g8.tobytes()], counts=[10**6]), reader="formula", raw=g8)
    read("hand-counts-too-large-deflate.tif", hand(tags(g8, compression=8), [zlib.compress(g8.tobytes())], counts=[10**6]), reader="formula", raw=g8)
    read("hand-bigtiff.tif", hand(tags(g8), [g8.tobytes()], big=True), raw=g8)
    refused("hand-count-too-small.tif", hand(tags(g8), [g8.tobytes()], counts=[150]), "strip 0 has 150 bytes", "299")
    refused("hand-strip-beyond-the-end.tif", hand(tags(g8), [g8.tobytes()], offsets=[10**7]), "begins at byte 10000000")
    refused("hand-strip-at-the-start.tif", hand(tags(g8), [g8.tobytes()], offsets=[0]), "begins at byte 0")
    refused("hand-fewer-strips-than-rows.tif", hand(tags(g8, **strip), rows[:2]), "4 strips", "2 of them")
    whole = hand(tags(g8, compression=8), [zlib.compress(g8.tobytes())])
    head, rest = whole[:8], whole[8:]
    moved = hand(tags(g8, compression=8), [b"\0" * 2], offsets=[400], counts=[300])
    refused("hand-deflate-cut-short.tif", moved.ljust(400, b"\0") + zlib.compress(g8.tobytes())[:120], "ends too early")
    del head, rest, whole
    # What is not read.
    refused("hand-predictor-without-compression.tif", hand(tags(g8, t317=(3, [2])), [g8.tobytes()]), "predictor", "two ways")
    refused("hand-predictor-2-of-4-bits.tif", hand(tags(g8 >> 4, bits=4, compression=8, t317=(3, [2])), [zlib.compress(packed(g8 >> 4, 4))]), "differences of samples of 4 bits")
    refused("hand-predictor-3-of-integers.tif", hand(tags(g8, compression=8, t317=(3, [3])), [zlib.compress(g8.tobytes())]), "floating point", "integers")
    refused("hand-bits-5-6-5.tif", hand(tags(rgb8, photometric=2, t258=(3, [5, 6, 5])), [rgb8.tobytes()]), "differ in their bits")
    refused("hand-luma-and-chroma.tif", hand(tags(rgb8, photometric=6), [rgb8.tobytes()]), "luma and chroma (6)")
    refused("hand-cielab.tif", hand(tags(rgb8, photometric=8), [rgb8.tobytes()]), "CIE L*a*b* (8)")
    refused("hand-mask.tif", hand(tags(g8, photometric=4), [g8.tobytes()]), "mask of transparency (4)")
    refused("hand-no-photometric.tif", hand({k: v for k, v in tags(g8).items() if k != 262}, [g8.tobytes()]), "what its samples mean")
    refused("hand-inks-of-another-set.tif", hand(tags(inks, photometric=5, t332=(3, [2])), [inks.tobytes()]), "inks other than")
    for number, name in ((6, "JPEG in the manner of TIFF 6.0"), (34712, "JPEG 2000"), (34887, "LERC"), (50001, "WebP"), (50002, "JPEG XL"), (34661, "JBIG"), (1234, "unknown")):
        refused(f"hand-compression-{number}.tif", hand(tags(g8, compression=number), [g8.tobytes()]), name, f"({number})", "Zstandard are read")
    refused("tifffile-jpeg2000.tif", tiff(g8, compression="jpeg2000"), "JPEG 2000")


def old_lzw(content):
    """Codes as GIF has them, with 8 bits of data: least significant bit first, no early change of width."""
    bits, table, width, out, prefix = [], {bytes([i]): i for i in range(256)}, 9, [256], b""
    following = 258
    codes = [(256, 9)]
    for byte in content:
        joined = prefix + bytes([byte])
        if joined in table:
            prefix = joined
            continue
        codes.append((table[prefix], width))
        table[joined] = following
        following += 1
        if following > (1 << width):
            width += 1
        prefix = bytes([byte])
        if following == 4094:
            codes.append((256, width))
            table, width, following = {bytes([i]): i for i in range(256)}, 9, 258
    codes.append((table[prefix], width))
    if following + 1 > (1 << width):
        width += 1
    codes.append((257, width))
    number, at = 0, 0
    for code, count in codes:
        number |= code << at
        at += count
    return number.to_bytes((at + 7) // 8, "little")


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


SIGNATURE = b"\x89PNG\r\n\x1a\n"


def png(array, bits, color, before=(), after=(), interlaced=False, data_chunks=None):
    """A PNG by hand, without filters; `array` holds the samples as stored."""
    rows = b"".join(b"\0" + packed(row[None], bits) for row in array)
    header = struct.pack(">IIBBBBB", array.shape[1], array.shape[0], bits, color, 0, 0, 0)
    content = data_chunks or [zlib.compress(rows)]
    return b"".join(
        [SIGNATURE, chunk(b"IHDR", header), *(chunk(*c) for c in before), *(chunk(b"IDAT", c) for c in content)]
        + [chunk(*c) for c in after]
        + [chunk(b"IEND", b"")]
    )


def exif(orientation, order="<"):
    head = b"II*\0" if order == "<" else b"MM\0*"
    return head + struct.pack(order + "IHHHIHHI", 8, 1, 274, 3, 1, orientation, 0, 0)


def pngs():
    g8, rgb8 = data((H, W), "u1"), data((H, W, 3), "u1")
    for mode, array, colors, alpha in (
        ("L", g8, "gray", None),
        ("LA", data((H, W, 2), "u1"), "gray", "straight"),
        ("RGB", rgb8, "rgb", None),
        ("RGBA", data((H, W, 4), "u1"), "rgb", "straight"),
    ):
        read(f"pillow-{mode.lower()}.png", lambda path, a=array, m=mode: Image.fromarray(a, m).save(path), reader="pillow", colors=colors, alpha=alpha, raw=array)
    g16 = data((H, W), "u2")
    read("pillow-16-bits.png", lambda path: Image.fromarray(g16).save(path), reader="pillow", raw=g16, top=65535)
    for name, array in (("rgb16", data((H, W, 3), "u2")), ("rgba16", data((H, W, 4), "u2"))):
        read(f"vips-{name}-interlaced.png", vips(array, interlace=True), reader="vips", colors="rgb", alpha="straight" if "a" in name else None, raw=array)
    for bits in (1, 2, 4):
        array = g8 >> (8 - bits)
        read(f"hand-gray{bits}.png", png(array, bits, 0), reader="formula", top=2**bits - 1, raw=array)
        low, high = (0, 1) if bits == 1 else (1, 2)
        read(f"hand-gray{bits}-range.png", png(array, bits, 0), reader="formula", low=low, high=high, raw=array)
        key = (int(array[3, 3]) | 0xFFFF << bits) & 0xFFFF
        keyed = numpy.dstack([array, numpy.where(array == array[3, 3], 0, 2**bits - 1)]).astype("u1")
        read(f"hand-gray{bits}-trns-with-high-bits.png", png(array, bits, 0, before=[(b"tRNS", struct.pack(">H", int(key)))]), reader="formula", alpha="straight", top=2**bits - 1, raw=keyed)
    for orientation in range(1, 9):
        array = g8
        order = "<" if orientation % 2 else ">"
        before, after = ([(b"eXIf", exif(orientation, order))], []) if orientation < 5 else ([], [(b"eXIf", exif(orientation, order))])
        path = write(f"hand-exif-orientation-{orientation}.png", png(array, 8, 0, before=before, after=after))
        seen = numpy.array(ImageOps.exif_transpose(Image.open(path))) if orientation < 5 else turned(array, orientation)
        read(f"hand-exif-orientation-{orientation}.png", path.read_bytes(), reader="formula", raw=seen)
    read("hand-gamma-is-not-applied.png", png(g8, 8, 0, before=[(b"gAMA", struct.pack(">I", 45455)), (b"sRGB", b"\0")]), reader="pillow", raw=g8)
    whole = zlib.compress(b"".join(b"\0" + row.tobytes() for row in g8))
    read("hand-empty-idat.png", png(g8, 8, 0, data_chunks=[b"", whole[:50], b"", whole[50:], b""]), reader="pillow", raw=g8)
    read("hand-bytes-after-iend.png", png(g8, 8, 0) + b"more", reader="pillow", raw=g8)
    palette = bytes(range(12))
    refused("hand-index-beyond-the-palette.png", png(g8 >> 5, 4, 3, before=[(b"PLTE", palette)]), "of a palette of 4", "at row", late=True)
    table = data((16, 3), "u1", seed=5)
    read("hand-palette4.png", png(g8 >> 4, 4, 3, before=[(b"PLTE", table.tobytes())]), reader="formula", colors="rgb", top=255, palette=table, raw=g8 >> 4)
    shades = numpy.array([0, 128, 255, 7] + [255] * 12)
    with_alpha = numpy.hstack([table, shades[:, None]])
    read("hand-palette4-trns.png", png(g8 >> 4, 4, 3, before=[(b"PLTE", table.tobytes()), (b"tRNS", bytes([0, 128, 255, 7]))]), reader="formula", colors="rgb", alpha="straight", top=255, palette=with_alpha, raw=g8 >> 4)
    good = png(g8, 8, 0)
    refused("hand-cut-in-idat.png", good[:150], "ends beyond the file", "IDAT")
    refused("hand-cut-before-iend.png", good[:-12], "before its chunk IEND")
    broken = bytearray(good)
    broken[100] ^= 0x55
    refused("hand-damaged-idat.png", bytes(broken), "damaged", late=True)


def bmp(width, height, bits, content, size=40, compression=0, masks=(), palette=(), gap=0, colors=0, os2=False):
    entry = 3 if size == 12 else 4
    table = b"".join(bytes([c[2], c[1], c[0]]) + b"\0" * (entry - 3) for c in palette)
    if size == 12:
        head = struct.pack("<IHHHH", 12, width, abs(height), 1, bits)
    else:
        head = struct.pack("<IiiHHIIiiII", size, width, height, 1, bits, compression, len(content), 2835, 2835, colors, 0)
    inside = b"".join(struct.pack("<I", mask) for mask in masks)
    if size > 40 and not os2:
        head += inside
        inside = b""
    head = head.ljust(size, b"\0")
    start = 14 + len(head) + len(inside) + len(table) + gap
    return b"BM" + struct.pack("<IHHI", start + len(content), 0, 0, start) + head + inside + table + b"\xAA" * gap + content


def rows(array, bits, bottom_up=True):
    """Rows of whole words: numbers of `bits` bits, little-endian from 16 bits on."""
    out = b""
    for row in array[::-1] if bottom_up else array:
        line = packed(row[None], bits) if bits < 16 else b"".join(int(v).to_bytes(bits // 8, "little") for v in row)
        out += line + b"\0" * (-len(line) % 4)
    return out


def fields(array, widths, shifts):
    """Pixels whose samples stand in the bits of a number."""
    value = numpy.zeros(array.shape[:2], "u8")
    for i, (width, shift) in enumerate(zip(widths, shifts)):
        value |= (array[:, :, i].astype("u8") >> (16 - width)) << shift
    return value


def scaled(array, widths, to):
    parts = [array[:, :, i] >> (16 - width) for i, width in enumerate(widths)]
    dtype = "u1" if to == 255 else "u2"
    return numpy.dstack([
        numpy.vectorize(lambda v, m=2**width - 1: rounded(Fraction(int(v) * to, m)), otypes=[dtype])(part)
        for part, width in zip(parts, widths)
    ])


def bmps():
    g8, rgb8 = data((H, W), "u1"), data((H, W, 3), "u1")
    wide = data((H, W, 4), "u2")
    table = data((256, 3), "u1", seed=3)
    for bits in (1, 2, 4, 8):
        array = g8 >> (8 - bits)
        colors = table[: 2**bits]
        read(f"hand-palette{bits}.bmp", bmp(W, H, bits, rows(array, bits), palette=colors), reader="formula", colors="rgb", top=255, palette=colors, raw=array)
    read("hand-os2-header-12.bmp", bmp(W, H, 8, rows(g8, 8), size=12, palette=table), reader="pillow", colors="rgb", top=255, palette=table, raw=g8)
    read("hand-os2-header-64.bmp", bmp(W, H, 8, rows(g8, 8), size=64, palette=table, os2=True), reader="pillow", colors="rgb", top=255, palette=table, raw=g8)
    read("hand-top-down-gap.bmp", bmp(W, -H, 8, rows(g8, 8, False), palette=table, gap=9), reader="formula", colors="rgb", top=255, palette=table, raw=g8)
    few = (g8 >> 5).astype("u1")
    short = numpy.vstack([table[:5], numpy.zeros((251, 3), "u1")])
    read("hand-few-colours.bmp", bmp(W, H, 8, rows(few, 8), palette=table[:5], colors=5), reader="formula", colors="rgb", top=255, palette=short, raw=few)
    read("pillow-rgb.bmp", lambda path: Image.fromarray(rgb8).save(path), reader="pillow", colors="rgb", raw=rgb8)
    for name, widths, shifts, bits in (
        ("555", (5, 5, 5), (10, 5, 0), 16),
        ("565", (5, 6, 5), (11, 5, 0), 16),
        ("444", (4, 4, 4), (8, 4, 0), 16),
        ("888", (8, 8, 8), (0, 8, 16), 32),
        ("10-10-10", (10, 10, 10), (20, 10, 0), 32),
        ("11-11-10", (11, 11, 10), (21, 10, 0), 32),
    ):
        numbers = fields(wide, widths, shifts)
        masks = [((1 << width) - 1) << shift for width, shift in zip(widths, shifts)]
        top = 65535 if max(widths) > 8 else 255
        read(f"hand-fields-{name}.bmp", bmp(W, H, bits, rows(numbers, bits), compression=3, masks=masks), reader="formula", colors="rgb", top=top, raw=scaled(wide, widths, top))
    numbers = fields(wide, (5, 5, 5), (10, 5, 0))
    read("hand-16-bits.bmp", bmp(W, H, 16, rows(numbers, 16)), reader="formula", colors="rgb", top=255, raw=scaled(wide, (5, 5, 5), 255))
    numbers = fields(wide, (8, 8, 8), (16, 8, 0))
    read("hand-32-bits-without-masks.bmp", bmp(W, H, 32, rows(numbers | 0x77000000, 32)), reader="formula", colors="rgb", top=255, raw=scaled(wide, (8, 8, 8), 255))
    masks = [0xFF0000, 0xFF00, 0xFF, 0xFF000000]
    for size in (56, 108, 124):
        clear = rows(numbers, 32)
        read(f"hand-header-{size}-alpha-all-0.bmp", bmp(W, H, 32, clear, size=size, compression=3, masks=masks), reader="formula", colors="rgb", top=255, raw=scaled(wide, (8, 8, 8), 255))
        full = fields(wide, (8, 8, 8, 8), (16, 8, 0, 24))
        read(f"hand-header-{size}-alpha.bmp", bmp(W, H, 32, rows(full, 32), size=size, compression=3, masks=masks), reader="formula", colors="rgb", alpha="straight", top=255, raw=scaled(wide, (8, 8, 8, 8), 255))
    small = fields(wide, (5, 5, 5), (10, 5, 0))
    read("hand-1555-alpha-all-0.bmp", bmp(W, H, 16, rows(small, 16), size=56, compression=3, masks=[0x7C00, 0x3E0, 0x1F, 0x8000]), reader="formula", colors="rgb", top=255, raw=scaled(wide, (5, 5, 5), 255))
    # Runs: four pixels, two as they are, a jump that skips, an end of line, a run beyond the row.
    skipped = 256
    picture = numpy.full((4, 8), skipped)
    picture[3] = [9, 9, 9, 9, 1, 2, 3, 7]
    picture[2, 5:7] = 4
    picture[1, :] = 5
    content = bytes([4, 9, 0, 3, 1, 2, 3, 0, 1, 7, 0, 0, 0, 2, 5, 0, 2, 4, 0, 0, 12, 5, 0, 0, 0, 1])
    with_skips = numpy.vstack([table, [[0, 0, 0]]])
    read("hand-rle8.bmp", bmp(8, 4, 8, content, compression=1, palette=table), reader="formula", colors="rgb", top=255, palette=with_skips, raw=picture)
    picture = numpy.full((3, 7), skipped)
    picture[2] = [1, 2, 1, 2, 1, 6, 7]
    picture[0, 3:6] = [8, 9, 10]
    content = bytes([5, 0x12, 2, 0x67, 0, 2, 0, 0, 0, 0, 0, 2, 3, 1, 0, 3, 0x89, 0xA0, 0, 1])
    four = numpy.vstack([table[:16], numpy.zeros((241, 3), "u1")])
    read("hand-rle4.bmp", bmp(7, 3, 4, content, compression=2, palette=table[:16]), reader="formula", colors="rgb", top=255, palette=four, raw=picture)
    refused("hand-compression-5.bmp", bmp(W, H, 0, b"", compression=5), "compression is PNG (5)")
    refused("hand-header-20000.bmp", b"BM" + struct.pack("<IHHI", 60, 0, 0, 54) + struct.pack("<I", 20000), "header has 20000 bytes")
    refused("hand-cut-short.bmp", bmp(W, H, 8, rows(g8, 8), palette=table)[:-30], "need", "there are")
    refused("hand-mask-with-holes.bmp", bmp(W, H, 32, rows(numbers, 32), compression=3, masks=[0xFF0F00, 0xF0, 0xF]), "side by side")


def others():
    g8, g16 = data((H, W), "u1"), data((H, W), "u2")
    rgb8 = data((H, W, 3), "u1")
    for top in (1, 2, 3, 100, 254, 255, 256, 1000, 4095, 65534, 65535):
        array = (data((H, W), "u2").astype("u8") * top // 65535).astype("u2")
        body = array.astype("u1" if top < 256 else ">u2").tobytes()
        read(f"hand-maximum-{top}.pgm", f"P5\n{W} {H}\n{top}\n".encode() + body, reader="formula", top=top, raw=array)
    read("hand-range.pgm", f"P5 {W} {H} 1000\n".encode() + (g16 // 66).astype(">u2").tobytes(), reader="formula", low=100, high=900, raw=g16 // 66)
    read("hand-plain.pgm", (f"P2 # by hand\n{W} {H} 255\n" + " ".join(str(v) for v in g8.flat)).encode(), reader="pillow", raw=g8)
    read("pillow.ppm", lambda path: Image.fromarray(rgb8).save(path), reader="pillow", colors="rgb", raw=rgb8)
    read("hand-comments.ppm", b"P6 #a\r\n#b\n23\t13\r\n255\n" + rgb8.tobytes(), reader="pillow", colors="rgb", raw=rgb8)
    refused("hand-crlf.pgm", f"P5\r\n{W} {H}\r\n255\r\n".encode() + g8.tobytes(), "\\r\\n", "one byte too long")
    refused("hand-cut-short.pgm", f"P5 {W} {H} 255\n".encode() + g8.tobytes()[:-1], "need 299 bytes", "there are 298")
    refused("hand-above-the-maximum.pgm", f"P5 {W} {H} 100\n".encode() + g8.tobytes(), "more than the maximum 100", late=True)
    bits = numpy.array([[1, 0] * 4], "u1")
    read("hand-bitmap.pbm", b"P4 8 1\n\xAA", reader="formula", top=1, invert=True, raw=bits)
    big, color = data((45, 53), "u1"), data((45, 53, 3), "u1")
    for name, array, options in (
        ("gray", big, {}),
        ("rgb", color, {"quality": 90, "subsampling": 0}),
        ("rgb-subsampled", color, {"quality": 90, "subsampling": 2}),
        ("progressive", color, {"quality": 90, "subsampling": 0, "progressive": True}),
        ("restarts", big, {"restart_marker_blocks": 2}),
        ("keep-rgb", color, {"keep_rgb": True, "quality": 95}),
    ):
        read(f"pillow-{name}.jpg", lambda path, a=array, o=options: Image.fromarray(a).save(path, "JPEG", **o), reader="pillow", colors="rgb" if array.ndim == 3 else "gray", within=10 if "sub" in name else 3)
    for orientation in (3, 6, 8):
        block = b"Exif\0\0" + exif(orientation)
        read(f"pillow-exif-orientation-{orientation}.jpg", lambda path, b=block: Image.fromarray(big).save(path, "JPEG", exif=b), reader="pillow", orientation=orientation, within=3)
    refused("pillow-cmyk.jpg", lambda path: Image.fromarray(data((16, 16, 4), "u1"), "CMYK").save(path, "JPEG"), "four inks")
    stream = io.BytesIO()
    Image.fromarray(big).save(stream, "JPEG")
    refused("hand-cut-short.jpg", stream.getvalue()[:700], "JPEG", late=True)
    for kind, name in (("GIF", "a GIF"), ("WEBP", "a WebP"), ("JPEG2000", "a JPEG 2000 file")):
        extension = {"GIF": "gif", "WEBP": "webp", "JPEG2000": "jp2"}[kind]
        refused(f"pillow.{extension}", lambda path, k=kind: Image.fromarray(rgb8).save(path, k), name, "are read")


def main():
    FILES.mkdir(exist_ok=True)
    for path in FILES.iterdir():
        path.unlink()
    tiffs()
    pngs()
    bmps()
    others()
    INDEX.sort(key=lambda case: case["file"])
    lines = ",\n".join(json.dumps(case, sort_keys=True) for case in INDEX)
    (HERE / "index.json").write_text(f"[\n{lines}\n]\n")
    size = sum(path.stat().st_size for path in FILES.iterdir())
    print(len(INDEX), "files of", size, "bytes, index of", (HERE / "index.json").stat().st_size)


main()
