#!/usr/bin/env python3
"""Draws the pictures of the pages "How it works" of docs/book: docs/images/how/draw.py [--check]

Plain Python. --check compares with the files that are there and writes nothing.
"""

import sys
from math import gcd
from pathlib import Path

HERE = Path(__file__).resolve().parent
INK, SOFT, LINE, PAPER = "#1c2733", "#5b6b7a", "#c4ced6", "#ffffff"
BLUE, PALE, ORANGE, CREAM, GREEN, MINT = "#1f6fb2", "#dcebf7", "#c8641b", "#fbe6d4", "#2f7d4f", "#dcf0e3"


class Drawing:
    def __init__(self, width, height, title):
        self.size, self.title, self.parts = (width, height), title, []

    def add(self, text):
        self.parts.append(text)

    def box(self, x, y, w, h, fill=PAPER, stroke=LINE, radius=0, width=1, dash=None, opacity=None):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        faint = f' fill-opacity="{opacity}"' if opacity is not None else ""
        self.add(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{radius}" fill="{fill}"{faint} stroke="{stroke}" stroke-width="{width:g}"{dashes}/>'
        )

    def text(self, x, y, text, size=13, fill=INK, anchor="start", weight="normal", mono=False):
        family = ' font-family="ui-monospace, Consolas, monospace"' if mono else ""
        bold = f' font-weight="{weight}"' if weight != "normal" else ""
        side = f' text-anchor="{anchor}"' if anchor != "start" else ""
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        self.add(f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{side}{bold}{family}>{text}</text>')

    def line(self, x1, y1, x2, y2, stroke=SOFT, width=1.5, arrow=False, dash=None):
        end = f' marker-end="url(#{stroke[1:]})"' if arrow else ""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.add(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{stroke}" stroke-width="{width:g}"{dashes}{end}/>')

    def shape(self, points, fill="none", stroke=SOFT, width=1.5, opacity=1):
        way = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.add(f'<polygon points="{way}" fill="{fill}" fill-opacity="{opacity}" stroke="{stroke}" stroke-width="{width:g}"/>')

    def svg(self):
        width, height = self.size
        heads = "".join(
            f'<marker id="{colour[1:]}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0L10 5L0 10z" fill="{colour}"/></marker>'
            for colour in (INK, SOFT, BLUE, ORANGE, GREEN)
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif" role="img">\n<title>{self.title}</title>\n'
            f'<defs>{heads}</defs>\n<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>\n' + "\n".join(self.parts) + "\n</svg>\n"
        )


def hermite(u, v):
    """Steps (a, b, c) of the lattice of two vectors: (a, 0) and (b, c) span it."""
    c = gcd(u[1], v[1])
    a = abs(u[0] * v[1] - u[1] * v[0]) // c
    for b in range(a):
        # Is (b, c) a whole combination of u and v?
        det = u[0] * v[1] - u[1] * v[0]
        i, j = b * v[1] - c * v[0], u[0] * c - u[1] * b
        if i % det == 0 and j % det == 0:
            return a, b, c
    raise ValueError("no such lattice")


def periods():
    u, v, side, columns, rows = (8, 2), (-2, 6), 12, 52, 18
    a, b, c = hermite(u, v)
    d = Drawing(740, 420, "A lattice of two vectors, and the cell that holds all of it")
    left, top = 38, 64
    d.text(left, 28, f"u = ({u[0]}, {u[1]}),  v = (−{-v[0]}, {v[1]})", 15, weight="600")
    d.text(left, 48, "A disc stands at every whole combination of u and v.", 13, SOFT)
    # The cell, and where it stands again: every c rows, b columns further on.
    for row in range(rows // c):
        start = (row * b) % a
        for begin in range(start - a, columns, a):
            low, high = max(begin, 0), min(begin + a, columns)
            if low >= high:
                continue
            first = row == 0 and begin == 0
            d.box(
                left + low * side, top + row * c * side, (high - low) * side, c * side,
                CREAM if first else ("#f3f7fa" if (begin - start) // a % 2 else "#fbfcfd"), LINE, width=0.75,
            )
    for i in range(-8, 12):
        for j in range(-4, 6):
            x, y = i * u[0] + j * v[0], i * u[1] + j * v[1]
            if 0 <= x < columns and 0 <= y < rows:
                d.add(
                    f'<circle cx="{left + (x + .5) * side:g}" cy="{top + (y + .5) * side:g}" r="{side * .42:g}" '
                    f'fill="{BLUE}" fill-opacity="0.85"/>'
                )

    def at(x, y):
        return left + (x + 0.5) * side, top + (y + 0.5) * side

    origin = (3 * u[0], 3 * u[1])
    x0, y0 = at(*origin)
    (x1, y1), (x2, y2) = at(origin[0] + u[0], origin[1] + u[1]), at(origin[0] + v[0], origin[1] + v[1])
    d.shape([(x0, y0), (x1, y1), (x1 + x2 - x0, y1 + y2 - y0), (x2, y2)], ORANGE, ORANGE, 1, 0.10)
    d.line(x0, y0, x1, y1, ORANGE, 2.2, True)
    d.line(x0, y0, x2, y2, ORANGE, 2.2, True)
    d.text((x0 + x1) / 2 + 4, (y0 + y1) / 2 - 8, "u", 15, ORANGE, weight="600")
    d.text(x2 - 18, (y0 + y2) / 2 + 8, "v", 15, ORANGE, weight="600")
    d.box(left, top, a * side, c * side, "none", ORANGE, width=2)
    bottom = top + rows * side
    d.line(left, bottom + 14, left + a * side, bottom + 14, ORANGE, 1.5, True)
    d.line(left + a * side, bottom + 14, left, bottom + 14, ORANGE, 1.5, True)
    d.text(left + a * side / 2, bottom + 32, f"a = {a} columns", 13, ORANGE, "middle")
    d.text(left + columns * side + 8, top + side * c / 2 + 4, f"c = {c}", 13, ORANGE)
    d.line(left, top + c * side * 1.5, left + b * side, top + c * side * 1.5, INK, 1.5, True)
    d.text(left + b * side + 4, top + c * side * 1.5 + 5, f"b = {b}", 12)
    d.text(left, bottom + 62, f"One cell of {a} × {c} samples holds the whole raster:", 14, weight="600")
    d.text(left, bottom + 84, f"sample (x, y) is sample ((x − {b}·⌊y / {c}⌋) mod {a},  y mod {c}) of the cell.", 14, mono=True)
    d.text(left, bottom + 108, f"{a}·{c} = {a * c} is the determinant of u and v: as many samples as the orange parallelogram has.", 13, SOFT)
    return d


def tiles():
    d = Drawing(780, 404, "A tile of the raster, and what it reads of the nodes below it")
    d.text(30, 30, "compose", 15, weight="600", mono=True)
    d.text(112, 30, "the raster, in bands of tiles", 13, SOFT)
    left, top, band, tile = 30, 44, 56, 80
    for row in range(4):
        for column in range(4):
            done = row == 0
            current = row == 1 and column == 1
            fill = MINT if done else (CREAM if current else PAPER)
            d.box(left + column * tile, top + row * band, tile, band, fill)
        d.box(left, top + row * band, 4 * tile, band, "none", SOFT, width=1.4)
    d.text(left + 8, top + 33, "band 0: handed on", 13, GREEN)
    d.text(left + 2.0 * tile + 30, top + band + 40, "band 1: in work", 13)
    d.text(left + 8, top + 2 * band + 33, "band 2: in work, by other threads", 13)
    d.text(left + 8, top + 3 * band + 33, "band 3: waits for memory", 13, SOFT)
    d.text(left + tile * 1.5, top + band + 33, "tile", 13, ORANGE, "middle", "600")
    # The children.
    x, w = 500, 250
    d.text(x, 30, "lattice", 15, weight="600", mono=True)
    d.text(x + 68, 30, "the same pixels", 13, SOFT)
    d.box(x, 44, w, 84, "#f6f9fb", SOFT)
    d.box(x + 59, 65, 62, 21, CREAM, ORANGE)
    d.text(x + w / 2, 118, "copied from one cell", 12, SOFT, "middle")
    d.text(x, 158, "distance radius=30", 15, weight="600", mono=True)
    d.box(x, 172, w, 84, "#f6f9fb", SOFT)
    d.box(x + 59, 193, 62, 21, CREAM, ORANGE)
    d.text(x + w / 2 + 40, 246, "computed for this tile", 12, SOFT, "middle")
    d.text(x, 286, "mask", 15, weight="600", mono=True)
    d.text(x + 48, 286, "the tile and its halo of 30 pixels", 13, SOFT)
    d.box(x, 300, w, 84, "#f6f9fb", SOFT)
    d.box(x + 39, 308, 102, 57, PALE, BLUE, dash="4 3")
    d.box(x + 59, 326, 62, 21, CREAM, ORANGE)
    d.line(x + 121, 336, x + 140, 336, BLUE, 1.4, True)
    d.text(x + 150, 341, "halo", 13, BLUE)
    tx, ty = left + 2 * tile, top + 1.6 * band
    d.line(tx, ty - 14, x + 55, 74, ORANGE, 1.8, True)
    d.line(tx, ty - 4, x + 55, 202, ORANGE, 1.8, True)
    d.line(x + 90, 216, x + 90, 306, BLUE, 1.8, True)
    d.text(30, 310, "A tile asks each node below it for what it reads of it, and no more.", 13)
    d.text(30, 330, "The halo of a filter is computed again for the next tile, or taken", 13)
    d.text(30, 350, "from a cache where that is cheaper. No tile writes what another", 13)
    d.text(30, 370, "one writes, so the cut changes no sample.", 13)
    return d


def zoom():
    d = Drawing(780, 390, "One sample of a level: the mean of a block")
    d.text(30, 30, "one sample of level L", 15, weight="600")
    d.text(30, 50, "stands for a block of 2ᴸ × 2ᴸ pixels", 13, SOFT)
    d.box(92, 66, 22, 22, CREAM, ORANGE, width=2)
    d.line(92, 88, 42, 128, ORANGE, 1)
    d.line(114, 88, 282, 128, ORANGE, 1)
    left, top, side, n = 42, 128, 15, 16
    step = 5
    # What repeats: a cell of five pixels, of which the block holds whole ones and parts.
    for j in range(n):
        for i in range(n):
            inside = (i % step - 2) ** 2 + (j % step - 2) ** 2 <= 2
            d.box(left + i * side, top + j * side, side, side, BLUE if inside else PALE, "#ffffff", width=0.6, opacity=0.75 if inside else 1)
    for i in range(0, n - step + 1, step):
        for j in range(0, n - step + 1, step):
            d.box(left + i * side, top + j * side, step * side, step * side, "none", INK, width=1.6)
    d.box(left + 15 * side, top, side, n * side, ORANGE, ORANGE, width=0.5, opacity=0.25)
    d.box(left, top + 15 * side, 15 * side, side, ORANGE, ORANGE, width=0.5, opacity=0.25)
    d.box(left, top, n * side, n * side, "none", ORANGE, width=2)
    x = 330
    d.text(x, 84, "1. What is known is taken", 15, weight="600")
    d.text(x, 106, "Whole cells count as often as they are there: 9 × one sum.", 13)
    d.text(x, 124, "What is left (orange) comes from sums over rows and columns.", 13)
    d.text(x, 142, "Constants, ramps, discs have closed forms.", 13)
    d.text(x, 180, "2. What is not known is bounded", 15, weight="600")
    d.box(x, 192, 330, 16, PALE, SOFT)
    d.box(x + 120, 192, 84, 16, BLUE, BLUE)
    d.text(x, 226, "0", 12, SOFT)
    d.text(x + 330, 226, "M", 12, SOFT, "end")
    d.text(x + 162, 226, "proved: it lies here", 12, BLUE, "middle")
    d.text(x, 262, "3. Until it is exact", 15, weight="600")
    d.text(x, 284, "The block is cut in up to 8 × 8 parts. The part that matters most", 13)
    d.text(x, 302, "is asked next; small parts are computed pixel by pixel.", 13)
    d.text(x, 340, "sample = ⌊(2·S + n) / 2·n⌋", 15, mono=True)
    d.text(x, 362, "of n pixels with the sum S: rounded once, halves up.", 13, SOFT)
    return d


def determinism():
    d = Drawing(780, 366, "From a design to the same bytes, however it is computed")

    def card(x, y, w, h, title, lines, fill=PAPER, stroke=SOFT):
        d.box(x, y, w, h, fill, stroke, 6, 1.4)
        d.text(x + 12, y + 23, title, 14, weight="600")
        for number, line in enumerate(lines):
            d.text(x + 12, y + 43 + 18 * number, line, 12.5, SOFT)

    card(24, 28, 190, 88, "text", ["decimals are read exactly:", "0.1mm is 1/10, not a float"])
    card(24, 140, 190, 106, "tables, made once", ["profile, levels, sin, exp …", "by pinned functions,", "before the first pixel"])
    d.line(119, 116, 119, 138, INK, 1.6, True)
    card(262, 66, 204, 124, "whole numbers", ["every sample of every node is", "one exact result of whole", "numbers, rounded once to", "8 or 16 bits"], CREAM, ORANGE)
    d.line(214, 192, 260, 150, INK, 1.6, True)
    ways = ["1 thread", "16 threads", "tiles of 64 × 64", "bands of one row", "a GPU, or four", "part 3 of 64", "another machine"]
    for number, way in enumerate(ways):
        y = 30 + number * 32
        d.box(540, y, 130, 25, PALE, BLUE, 12)
        d.text(605, y + 17, way, 12.5, INK, "middle")
        d.line(468, 128, 538, y + 12, SOFT, 1)
        d.line(670, y + 12, 706, 128, SOFT, 1)
    d.box(706, 112, 52, 32, MINT, GREEN, 6, 1.6)
    d.text(732, 133, "bytes", 13, GREEN, "middle", "600")
    d.text(24, 288, "What may come in any order is made so that the order does not matter: sums are whole numbers, divided once", 12.5)
    d.text(24, 306, "at the end; random bits are a function of the seed and the place; of equal distances the definition chooses one.", 12.5)
    d.text(24, 334, "What cannot be made so runs where it is exact. A formula is computed in binary64, and no GPU promises to round", 12.5, SOFT)
    d.text(24, 352, "each operation once: so the processor computes formulas.", 12.5, SOFT)
    return d


def streaming():
    d = Drawing(780, 404, "From workers to a machine, and what is known after a crash")
    d.text(24, 28, "computed in any order, handed on in order", 14, weight="600")
    for number, (label, fill) in enumerate([("worker", CREAM), ("worker", CREAM), ("worker", CREAM)]):
        d.box(24, 42 + number * 34, 74, 26, fill, ORANGE, 5)
        d.text(61, 60 + number * 34, label, 12.5, INK, "middle")
    for number, (name, state) in enumerate([(7, "ready"), (8, "…"), (9, "ready")]):
        y = 42 + number * 34
        d.line(98, y + 13, 126, y + 13, SOFT, 1.4, True)
        d.box(128, y, 104, 26, MINT if state == "ready" else PAPER, GREEN if state == "ready" else SOFT, 3)
        d.text(180, y + 18, f"band {name} {state}", 12.5, INK, "middle")
        d.line(232, y + 13, 282, 88, SOFT, 1.2, True)
    d.box(284, 66, 90, 44, PAPER, INK, 5)
    d.text(329, 85, "in order", 12.5, INK, "middle")
    d.text(329, 101, "7, then 8 …", 12, SOFT, "middle")
    d.line(374, 80, 424, 58, INK, 1.5, True)
    d.line(374, 96, 424, 118, INK, 1.5, True)
    d.box(426, 38, 120, 36, PAPER, INK, 5)
    d.text(486, 60, "a file", 13, INK, "middle")
    d.text(556, 53, "a tile is noted after", 12, SOFT)
    d.text(556, 68, "the disk has it", 12, SOFT)
    d.box(426, 102, 120, 36, PAPER, INK, 5)
    d.text(486, 124, "lines, frames", 13, INK, "middle")
    d.text(556, 117, "sent as far as the", 12, SOFT)
    d.text(556, 132, "machine gives credit", 12, SOFT)
    d.line(180, 150, 180, 166, SOFT, 1.2)
    d.line(180, 166, 61, 166, SOFT, 1.2)
    d.line(61, 166, 61, 142, SOFT, 1.2, True)
    d.text(190, 166, "the memory of a band that was handed on comes back", 12, SOFT)
    # The lines of a job.
    y, left, right = 236, 40, 740
    d.text(24, 204, "the lines of a job, at one moment", 14, weight="600")
    marks = [
        (40, 260, "executed", GREEN, MINT),
        (260, 420, "in the machine's buffer", BLUE, PALE),
        (420, 510, "on the way", ORANGE, CREAM),
        (510, 610, "computed", SOFT, "#eef2f5"),
        (610, 740, "not yet", LINE, PAPER),
    ]
    for begin, end, label, colour, fill in marks:
        d.box(begin, y, end - begin, 34, fill, colour, width=1.4)
        d.text((begin + end) / 2, y - 7, label, 12, colour if colour != LINE else SOFT, "middle")
    for x in range(left + 12, right, 12):
        d.line(x, y + 5, x, y + 29, LINE, 0.8)
    d.line(260, y + 62, 260, y + 38, GREEN, 2, True)
    d.text(270, y + 64, "executed: the machine records it, line by line", 12.5, GREEN)
    d.line(226, y + 94, 226, y + 38, INK, 1.6, True)
    d.text(236, y + 96, "executed, as the sender's manifest says: once a second", 12.5)
    d.text(24, y + 132, "After a crash the machine says which line comes next, and no other line is sent: none is left out, and none that the", 12.5, SOFT)
    d.text(24, y + 150, "machine has recorded is executed again.", 12.5, SOFT)
    return d


def main():
    check, wrong = sys.argv[1:] == ["--check"], 0
    for make in (periods, tiles, zoom, determinism, streaming):
        path, svg = HERE / f"{make.__name__}.svg", make().svg()
        if not check:
            path.write_text(svg)
        elif not path.is_file() or path.read_text() != svg:
            print(f"{path.name} is not what draw.py draws", file=sys.stderr)
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
