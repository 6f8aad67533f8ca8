"""Makes the layouts of the tests with gdstk, and what is expected of them with KLayout.

    pip install gdstk==1.0.2 klayout==0.30.12
    python make.py

NAME.hex holds a GDSII file as text. NAME.expected holds, a line each: the number of polygons with all copies, the area they
cover in square database units, the box as left, bottom, right and top, then the side of a pixel in database units, the columns
and rows of a grid from the box's top-left, and the share of every pixel that is covered.
"""

import math
import pathlib

import gdstk
import klayout.db as kdb

HERE = pathlib.Path(__file__).parent


def cells():
    """Cells in cells: quarter turns, mirrors, whole magnification, arrays in arrays."""
    library = gdstk.Library(unit=1e-6, precision=1e-9)
    leaf = library.new_cell("LEAF")
    leaf.add(gdstk.Polygon([(0, 0), (3, 0), (3, 1), (1, 1), (1, 4), (0, 4)], layer=1))
    pair = library.new_cell("PAIR")
    pair.add(gdstk.Reference(leaf, (5, 0), rotation=math.pi / 2))
    pair.add(gdstk.Reference(leaf, (7, 6), x_reflection=True))
    pair.add(gdstk.Reference(leaf, (12, 0), magnification=2))
    pair.add(gdstk.rectangle((10, 8), (11.5, 9.25), layer=2))
    row = library.new_cell("ROW")
    row.add(gdstk.Reference(pair, (0, 0), columns=3, rows=1, spacing=(24.125, 0)))
    top = library.new_cell("TOP")
    top.add(gdstk.Reference(row, (0, 0), columns=1, rows=4, spacing=(0, 17.5)))
    top.add(gdstk.Reference(row, (-9, 3), rotation=math.pi, x_reflection=True, columns=2, rows=2, spacing=(80, 11)))
    return library


def turned():
    """Any angle and magnification."""
    library = gdstk.Library(unit=1e-6, precision=1e-9)
    leaf = library.new_cell("LEAF")
    leaf.add(gdstk.Polygon([(0, 0), (30, 0), (30, 10), (10, 10), (10, 40), (0, 40)]))
    middle = library.new_cell("MIDDLE")
    middle.add(gdstk.Reference(leaf, (3, 7), rotation=math.radians(30), magnification=1.5))
    middle.add(gdstk.Reference(leaf, (90, 20), rotation=math.radians(-77.3), x_reflection=True))
    top = library.new_cell("TOP")
    top.add(gdstk.Reference(middle, (10, -20), rotation=math.radians(12.5), columns=2, rows=2, spacing=(150, 130)))
    return library


def paths():
    """Paths with all ends, and with right and blunt corners."""
    library = gdstk.Library(unit=1e-6, precision=1e-9)
    top = library.new_cell("TOP")
    for number, ends in enumerate(["flush", "extended", "round", (7, 3)]):
        x = 60 * number
        line = [(x, 0), (x + 40, 0), (x + 40, 30), (x + 10, 60)]
        top.add(gdstk.FlexPath(line, 8, ends=ends, simple_path=True, layer=number))
    inner = library.new_cell("INNER")
    inner.add(gdstk.FlexPath([(0, 0), (20, 20)], 3, ends="extended", simple_path=True))
    inner.add(gdstk.FlexPath([(0, 30), (20, 30)], 3, ends="flush", simple_path=True))
    top.add(gdstk.Reference(inner, (0, 90), magnification=2))
    return library


def layers():
    """Elements of several layers and types; only 1/0 and 3 are expected."""
    library = gdstk.Library(unit=1e-6, precision=5e-9)
    top = library.new_cell("TOP")
    for number, (layer, datatype) in enumerate([(1, 0), (1, 1), (2, 0), (3, 0), (3, 9)]):
        x = 10 * number
        top.add(gdstk.Polygon([(x, 0), (x + 13, 2), (x + 5, 17 + number)], layer=layer, datatype=datatype))
    top.add(gdstk.Label("covers nothing", (500, 500)))
    return library


def expected(path, wanted):
    layout = kdb.Layout()
    layout.read(str(path))
    top = layout.top_cell()
    region = kdb.Region()
    for index in layout.layer_indexes():
        info = layout.get_info(index)
        if wanted(info.layer, info.datatype):
            region += kdb.Region(top.begin_shapes_rec(index))
    box = kdb.Region()
    for index in layout.layer_indexes():
        box += kdb.Region(top.begin_shapes_rec(index))
    box = box.bbox()
    count = region.count()
    region.merge()
    side = -(-max(box.width(), box.height()) // 24)
    columns, rows = -(-box.width() // side), -(-box.height() // side)
    lines = [f"{count}", f"{region.area()}", f"{box.left} {box.bottom} {box.right} {box.top}", f"{side} {columns} {rows}"]
    for row in range(rows):
        shares = []
        for column in range(columns):
            left, top_y = box.left + column * side, box.top - row * side
            pixel = kdb.Region(kdb.Box(left, top_y - side, left + side, top_y))
            shares.append(f"{(region & pixel).area() / side**2:.4f}")
        lines.append(" ".join(shares))
    return "\n".join(lines) + "\n"


def as_text(file):
    digits = file.read_bytes().hex()
    lines = "\n".join(digits[at : at + 120] for at in range(0, len(digits), 120))
    file.with_suffix(".hex").write_text(lines + "\n")


def write():
    for make in (cells, turned, paths, layers):
        file = HERE / f"{make.__name__}.gds"
        make().write_gds(file, timestamp=__import__("datetime").datetime(2000, 1, 1))
        as_text(file)
        wanted = (lambda layer, datatype: layer == 3 or (layer, datatype) == (1, 0)) if make is layers else (lambda *_: True)
        file.with_suffix(".expected").write_text(expected(file, wanted))
        file.unlink()


if __name__ == "__main__":
    write()
