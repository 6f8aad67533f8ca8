"""Makes the OASIS layouts of the tests: those of `../gds/make.py` by gdstk and KLayout, and files of every record, byte by byte.

    pip install gdstk==1.0.2 klayout==0.30.12
    python make.py

NAME.hex holds a file as text. NAME.expected is as that of the GDSII layouts, by KLayout: of the files byte by byte, which both programs read.
The others cover what the GDSII of the same name covers, but for paths, as OASIS has no round ends.
"""

import datetime
import importlib.util
import math
import pathlib
import struct
import sys
import zlib

import gdstk
import klayout.db as kdb

HERE = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("gds", HERE.parent / "gds" / "make.py")
gds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gds)

STRICT, CHECKSUM, CRC = 1, 2, 1


def u(n):
    out = []
    while True:
        n, low = n >> 7, n & 127
        out.append(low | (128 if n else 0))
        if not n:
            return bytes(out)


def s(n):
    return u(abs(n) << 1 | (n < 0))


def text(letters):
    return u(len(letters)) + letters.encode()


def g(x, y):
    """A vector by its coordinates."""
    return u(abs(x) << 2 | (x < 0) << 1 | 1) + u(abs(y) << 1 | (y < 0))


def along(direction, length):
    """A vector along one of eight directions, from east against the clock, the diagonals after."""
    return u(length << 4 | direction << 1)


def block(body):
    """A compressed block."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(body) + packer.flush()
    return u(34) + u(0) + u(len(body)) + u(len(packed)) + packed


def file(body, unit=u(0) + u(1000), offsets_at_end=False, scheme=0):
    tables = u(0) * 12
    whole = b"%SEMI-OASIS\r\n" + u(1) + text("1.0") + unit + u(int(offsets_at_end))
    whole += b"" if offsets_at_end else tables
    whole += body + u(2) + (tables if offsets_at_end else b"")
    # The record END has 256 bytes.
    left = 256 - 1 - (12 if offsets_at_end else 0) - 1 - (4 if scheme else 0)
    whole += u(left - 2) + b"\0" * (left - 2) + u(scheme)
    if scheme == CRC:
        whole += struct.pack("<I", zlib.crc32(whole))
    elif scheme == CHECKSUM:
        whole += struct.pack("<I", sum(whole) & 0xFFFFFFFF)
    return whole


def cell(name):
    return u(14) + text(name)


X, Y, R, D, L = 0x10, 0x08, 0x04, 0x02, 0x01


def trapezoids():
    """All kinds of trapezoids."""
    body = cell("TOP")
    for kind in range(26):
        w, h = (300, 1000) if 8 <= kind <= 15 else (1000, 300)
        one = {16: 0x40, 17: 0x40, 18: 0x40, 19: 0x40, 22: 0x40, 23: 0x40, 25: 0x40, 20: 0x20, 21: 0x20}.get(kind, 0x60)
        info = 0x80 | one | X | Y | (D | L if kind == 0 else 0)
        body += u(26) + bytes([info]) + (u(1) + u(0) if kind == 0 else b"") + u(kind)
        body += (u(w) if one & 0x40 else b"") + (u(h) if one & 0x20 else b"")
        body += s(2300 * (kind % 7)) + s(2300 * (kind // 7))
    number = 0
    for record in (23, 24, 25):
        for upright in (0, 0x80):
            for a, b in ((200, 300), (-200, 300), (200, -300), (-200, -300)):
                body += u(record) + bytes([upright | (0x60 if number == 0 else 0) | X | Y])
                body += u(900) + u(1100) if number == 0 else b""
                body += (s(a) if record != 25 else b"") + (s(b) if record != 24 else b"")
                body += s(1500 * (number % 8)) + s(-3000 - 1500 * (number // 8))
                number += 1
    # The sides that followed from another hold on: a rectangle of 1500 × 3000.
    body += u(26) + bytes([0xC0 | X | Y]) + u(22) + u(1500) + s(17000) + s(0)
    body += u(20) + bytes([X]) + s(20000)
    return file(body, scheme=CRC)


def points():
    """All lists of points, of polygons and of paths with all ends, and circles."""
    lists = [
        (0, [s(400), s(300), s(-200), s(500)]),
        (1, [s(400), s(300), s(500), s(-200)]),
        (2, [u(400 << 2), u(300 << 2 | 1), u(200 << 2 | 2), u(500 << 2 | 1), u(100 << 2 | 2), u(250 << 2 | 3)]),
        (3, [u(400 << 3), u(300 << 3 | 4), u(200 << 3 | 1), u(350 << 3 | 5), u(100 << 3 | 2), u(90 << 3 | 6)]),
        (4, [along(0, 500), g(70, 330), along(5, 120), g(-240, 90), along(2, 50)]),
        (5, [g(500, 20), along(5, 150), g(-60, 300), g(-500, -50)]),
    ]
    body = cell("TOP")
    for number, (kind, deltas) in enumerate(lists):
        drawn = u(kind) + u(len(deltas)) + b"".join(deltas)
        body += u(21) + bytes([0x20 | X | Y | D | L]) + u(1) + u(0) + drawn + s(1200 * number) + s(0)
        body += u(22) + bytes([0xE0 | X | Y | D | L]) + u(1) + u(0) + u(35) + u(0b0101 + number % 2) + drawn
        body += s(1200 * number) + s(-1500)
    # Ends by lengths of their own, then the same again elsewhere, then with half the width.
    body += u(22) + bytes([0xC0 | X | Y]) + u(60) + u(0b1111) + s(200) + s(-30) + s(0) + s(-3600)
    body += u(22) + bytes([X]) + s(1500)
    body += u(22) + bytes([0xC0 | X]) + u(40) + u(0b1010) + s(3000)
    body += u(27) + bytes([0x20 | X | Y]) + u(500) + s(5500) + s(-3000)
    body += u(27) + bytes([X]) + s(6900)
    return file(body, offsets_at_end=True, scheme=CHECKSUM)


def corners():
    """Paths of no length, that turn back, and with corners of all sharpness to both sides, some with sides shorter than their width."""
    body = cell("TOP")

    def path(number, half, ends, deltas):
        nonlocal body
        scheme = u(0b1111) + s(ends[0]) + s(ends[1])
        body += u(22) + bytes([0xE0 | X | Y | D | L]) + u(1) + u(0) + u(half) + scheme + u(4) + u(len(deltas))
        body += b"".join(g(*delta) for delta in deltas) + s(3400 * (number % 7)) + s(3400 * (number // 7))

    lines = [
        (200, (400, 80), [(0, 0)]),
        (200, (-120, 400), [(0, 0), (0, 0)]),
        (200, (-520, 400), [(0, 0)]),
        (200, (0, 0), [(1000, 0), (-500, 0)]),
        (200, (160, 0), [(0, 1000), (0, 0), (0, -980)]),
        (200, (200, 200), [(300, 400), (-600, -800)]),
        (200, (0, 0), [(30, 0), (-1000, 0)]),
        (240, (0, 0), [(1000, 0), (-20, 20)]),
        (240, (0, 0), [(20, 0), (-500, 500)]),
        (240, (0, 0), [(1000, 0), (-900, 300), (900, 300), (-900, 300)]),
        (240, (240, 240), [(1000, 0), (-300, -900), (-300, 900), (1000, -100)]),
    ]
    for degrees in (85, 90, 95, 110, 135, 160, 175, 179):
        angle = math.radians(degrees)
        x, y = round(900 * math.cos(angle)), round(900 * math.sin(angle))
        lines += [(280, (0, 0), [(1000, 0), (x, y)]), (280, (280, 280), [(0, 1000), (y, x)])]
    for number, (half, ends, deltas) in enumerate(lines):
        path(number, half, ends, deltas)
    return file(body, scheme=CRC)


def repetitions():
    """All repetitions, of shapes and of cells, absolute and relative; cells by number, with names behind them, in compressed blocks."""
    body = u(13) + u(3)
    body += u(20) + bytes([0x40 | 0x80 | X | Y | D | L]) + u(1) + u(0) + u(300) + s(0) + s(0)
    body += u(16)  # relative
    body += u(20) + bytes([X | Y]) + s(150) + s(350)
    leaf = body
    kinds = [
        u(1) + u(1) + u(2) + u(900) + u(700),
        u(0),
        u(2) + u(3) + u(700),
        u(3) + u(0) + u(1100),
        u(4) + u(1) + u(500) + u(1300),
        u(5) + u(1) + u(100) + u(7) + u(9),
        u(6) + u(2) + u(600) + u(800) + u(700),
        u(7) + u(0) + u(50) + u(17),
        u(8) + u(1) + u(1) + g(700, 150) + g(-100, 800),
        u(9) + u(2) + along(4, 600),
        u(10) + u(2) + g(800, 100) + along(1, 700) + g(-1500, 60),
        u(11) + u(1) + u(20) + g(40, 5) + along(5, 30),
        # More copies than are written out, and places that are equally far from each other.
        u(1) + u(8) + u(8) + u(350) + u(400),
        u(10) + u(70) + along(0, 330) * 71,
    ]
    body = u(13) + u(0) + u(16)
    for number, kind in enumerate(kinds):
        body += u(20) + bytes([(0x60 | D | L if number == 0 else 0) | X | Y | R])
        body += u(2) + u(5) + u(210) + u(260) if number == 0 else b""
        body += s(4000 if number else 0) + s(0 if number else 0) + kind
        if number % 5 == 4:
            body += u(0) + u(15) + u(20) + bytes([X | Y]) + s(-4000) + s(4200 * (number // 5 + 1)) + u(16)
    shapes = body
    body = u(13) + u(7)
    for number, kind in enumerate(kinds):
        x, y = 6000 * (number % 5), 20000 + 6000 * (number // 5)
        # A cell by number, then the last one; quarter turns and mirrors.
        info = (0xC0 if number == 0 else 0) | 0x20 | 0x10 | 0x08 | (number % 4) << 1 | number % 2
        body += u(17) + bytes([info]) + (u(3) if number == 0 else b"") + s(x) + s(y) + kind
    body += u(17) + bytes([0xC0 | 0x20 | 0x10]) + u(0) + s(0) + s(0)
    # A magnification and an angle, by name.
    body += u(18) + bytes([0x80 | 0x04 | 0x02 | 0x20 | 0x10]) + text("LEAF") + u(4) + u(5) + u(2)
    body += u(7) + struct.pack("<d", 33.25) + s(-3000) + s(3000)
    body += u(18) + bytes([0x04 | 0x02 | 0x01 | 0x20 | 0x10]) + u(0) + u(3) + u(6) + struct.pack("<f", -22.5) + s(-3000) + s(9000)
    placed = body
    names = u(4) + text("LEAF") + u(3) + u(4) + text("SHAPES") + u(0) + u(4) + text("TOP") + u(7)
    return file(block(placed) + block(shapes + leaf) + u(0) + block(names), scheme=CRC)


def passed():
    """What covers nothing between what does: texts, properties, names of all kinds, extensions; a unit that is a fraction."""
    body = u(7) + text("KEY") + u(9) + text("value") + u(5) + text("LABEL") + u(11) + text("metal") + u(3) + u(1) + u(0)
    body += u(11) + text("via") + u(4) + u(2) + u(5) + u(1) + u(9) + u(12) + text("marks") + u(2) + u(3) + u(1) + u(4)
    body += u(3) + text("ONE") + u(3) + text("TOP")
    body += u(13) + u(0)
    body += u(20) + bytes([0x60 | X | Y | D | L]) + u(70000) + u(3) + u(200) + u(100) + s(50) + s(60)
    body += u(28) + bytes([0x26]) + u(0) + u(8) + u(7) + u(9) + s(-3) + u(29)
    body += u(28) + bytes([0x34]) + text("OTHER") + u(10) + text("abc") + u(14) + u(0) + u(7) + struct.pack("<d", 1.5)
    body += u(28) + bytes([0x0C]) + text("OTHER")
    body += u(28) + bytes([0xF4]) + text("MANY") + u(16) + (u(2) + u(3)) * 16
    body += u(19) + bytes([0x40 | X | Y | R | D | L]) + text("a text") + u(9) + u(9) + s(1) + s(2) + u(2) + u(1) + u(30)
    body += u(19) + bytes([0x60 | X]) + u(0) + s(5)
    body += u(20) + bytes([X | L]) + u(1) + s(400)
    body += u(13) + u(1) + u(17) + bytes([0xC0 | 0x20 | 0x08]) + u(0) + s(0) + u(2) + u(3) + u(700)
    return file(body, unit=u(4) + u(2000) + u(3), scheme=CHECKSUM)


def expected(path):
    return gds.expected(path, lambda *_: True)


def by_programs():
    def keep(path):
        gds.as_text(path)
        if path.stem.startswith("paths"):
            path.with_suffix(".expected").write_text(expected(path))
        path.unlink()

    for make in (gds.cells, gds.turned, gds.paths, gds.layers):
        stream = HERE / "as.gds"
        make().write_gds(stream, timestamp=datetime.datetime(2000, 1, 1))
        layout = kdb.Layout()
        layout.read(str(stream))
        stream.unlink()
        # Of gdstk's trapezoids and checksum, and KLayout's repetitions, blocks and strict tables.
        path = HERE / f"{make.__name__}_gdstk.oas"
        make().write_oas(path, compression_level=0, detect_rectangles=True, detect_trapezoids=True, validation="checksum32")
        keep(path)
        path = HERE / f"{make.__name__}_klayout.oas"
        options = kdb.SaveLayoutOptions()
        options.format = "OASIS"
        options.oasis_compression_level = 10
        options.oasis_write_cblocks = True
        options.oasis_strict_mode = True
        layout.write(str(path), options)
        keep(path)


def byte_by_byte():
    for make in (trapezoids, points, corners, repetitions, passed):
        path = HERE / f"{make.__name__}.oas"
        path.write_bytes(make())
        # Both programs take it for a layout.
        cells = sorted(cell.name for cell in gdstk.read_oas(path).cells)
        layout = kdb.Layout()
        layout.read(str(path))
        assert cells == sorted(cell.name for cell in layout.each_cell()), cells
        gds.as_text(path)
        path.with_suffix(".expected").write_text(expected(path))
        path.unlink()


def example():
    """The layout of `examples/mask` by gdstk."""
    folder = HERE.parents[3] / "examples" / "mask"
    library = gdstk.read_gds(folder / "mask.gds")
    library.write_oas(folder / "mask.oas", compression_level=9, validation="crc32")


if __name__ == "__main__":
    example()
    by_programs()
    byte_by_byte()
