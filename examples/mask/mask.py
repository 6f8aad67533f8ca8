"""Writes mask.gds and mask.oas: microlenses in an array, with crosses for alignment, in GDSII and in OASIS. Python alone, and no other package."""

import math
import struct
import zlib
from pathlib import Path

NANOMETRES = 1_000
PITCH, RADIUS = 50 * NANOMETRES, 21 * NANOMETRES
COLUMNS, ROWS = 40, 30


def record(kind, data_type, data=b""):
    return struct.pack(">HBB", len(data) + 4, kind, data_type) + data


def short(kind, *numbers):
    return record(kind, 2, struct.pack(f">{len(numbers)}h", *numbers))


def long(kind, *numbers):
    return record(kind, 3, struct.pack(f">{len(numbers)}i", *numbers))


def name(kind, text):
    data = text.encode()
    return record(kind, 6, data + b"\0" * (len(data) % 2))


def real(value):
    """A number of base 16: sign and exponent in a byte, 56 bits of fraction."""
    exponent = 64
    while value < 1 / 16:
        value, exponent = value * 16, exponent - 1
    return struct.pack(">Q", exponent << 56 | round(value * 2**56))


def boundary(layer, points):
    flat = [side for point in [*points, points[0]] for side in point]
    return record(0x08, 0) + short(0x0D, layer) + short(0x0E, 0) + long(0x10, *flat) + record(0x11, 0)


def placed(cell, x, y, angle=0.0):
    turn = record(0x1A, 1, bytes(2)) + record(0x1C, 5, degrees(angle)) if angle else b""
    return record(0x0A, 0) + name(0x12, cell) + turn + long(0x10, x, y) + record(0x11, 0)


def degrees(angle):
    exponent = 64
    while angle >= 1:
        angle, exponent = angle / 16, exponent + 1
    return struct.pack(">Q", exponent << 56 | round(angle * 2**56))


def array(cell, x, y, columns, rows, pitch):
    corners = (x, y, x + columns * pitch, y, x, y + rows * pitch)
    return record(0x0B, 0) + name(0x12, cell) + short(0x13, columns, rows) + long(0x10, *corners) + record(0x11, 0)


def cell(title, *elements):
    return short(0x05, *[0] * 12) + name(0x06, title) + b"".join(elements) + record(0x07, 0)


def circle(radius, corners=96):
    turns = (2 * math.pi * corner / corners for corner in range(corners))
    return [(round(radius * math.cos(turn)), round(radius * math.sin(turn))) for turn in turns]


def bar(x, y, width, height):
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


LONG, THIN = 150 * NANOMETRES, 12 * NANOMETRES
WIDTH, HEIGHT = COLUMNS * PITCH, ROWS * PITCH
EDGE = 4 * PITCH
stream = (
    short(0x00, 600)
    + short(0x01, *[0] * 12)
    + name(0x02, "MASK")
    + record(0x03, 5, real(1e-3) + real(1e-9))
    # Layer 1 holds the lenses, layer 2 what is exposed to the full depth.
    + cell("LENS", boundary(1, circle(RADIUS)))
    + cell("BAR", boundary(2, bar(-LONG // 2, -THIN // 2, LONG, THIN)))
    + cell("CROSS", placed("BAR", 0, 0), placed("BAR", 0, 0, 90.0))
    + cell(
        "TOP",
        array("LENS", EDGE + PITCH // 2, EDGE + PITCH // 2, COLUMNS, ROWS, PITCH),
        *(
            placed("CROSS", x, y)
            for x in (EDGE, EDGE + WIDTH)
            for y in (EDGE // 2 + 25 * NANOMETRES, 2 * EDGE + HEIGHT - EDGE // 2 - 25 * NANOMETRES)
        ),
    )
    + record(0x04, 0)
)
Path(__file__).with_name("mask.gds").write_bytes(stream)


# The same in OASIS (SEMI P39), without blocks that are compressed.
def unsigned(value):
    """Seven bits a byte, the least first."""
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes([*data, value])


def signed(value):
    return unsigned(abs(value) << 1 | (value < 0))


def text(words):
    return unsigned(len(words)) + words.encode()


def step(dx, dy):
    """From a corner to the next one: a delta of two axes."""
    return unsigned(abs(dx) << 2 | (dx < 0) << 1 | 1) + signed(dy)


def polygon(layer, points):
    steps = b"".join(step(x - fore, y - up) for (fore, up), (x, y) in zip(points, points[1:]))
    head = unsigned(21) + b"\x3b" + unsigned(layer) + unsigned(0)
    return head + unsigned(4) + unsigned(len(points) - 1) + steps + signed(points[0][0]) + signed(points[0][1])


def placement(cell, x, y, quarters=0, repetition=b""):
    info = 0xB0 | bool(repetition) << 3 | quarters << 1
    return unsigned(17) + bytes([info]) + text(cell) + signed(x) + signed(y) + repetition


def titled(title, *elements):
    return unsigned(14) + text(title) + b"".join(elements)


grid = unsigned(1) + b"".join(unsigned(value) for value in (COLUMNS - 2, ROWS - 2, PITCH, PITCH))
stream = (
    b"%SEMI-OASIS\r\n"
    # A thousand steps of the grid to a micrometre; no tables of names.
    + unsigned(1) + text("1.0") + unsigned(0) + unsigned(1_000) + unsigned(0) + bytes(12)
    + titled("LENS", polygon(1, circle(RADIUS)))
    + titled("BAR", polygon(2, bar(-LONG // 2, -THIN // 2, LONG, THIN)))
    + titled("CROSS", placement("BAR", 0, 0), placement("BAR", 0, 0, quarters=1))
    + titled(
        "TOP",
        placement("LENS", EDGE + PITCH // 2, EDGE + PITCH // 2, repetition=grid),
        *(
            placement("CROSS", x, y)
            for x in (EDGE, EDGE + WIDTH)
            for y in (EDGE // 2 + 25 * NANOMETRES, 2 * EDGE + HEIGHT - EDGE // 2 - 25 * NANOMETRES)
        ),
    )
)
# The last record has 256 bytes and ends with a check sum of all before it.
padding = 256 - 1 - 2 - 1 - 4
stream += unsigned(2) + unsigned(padding) + bytes(padding) + unsigned(1)
Path(__file__).with_name("mask.oas").write_bytes(stream + struct.pack("<I", zlib.crc32(stream)))
