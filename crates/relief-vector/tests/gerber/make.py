"""Makes the boards of the tests, and what is expected of them with the geometry of other programs.

    pip install --pre 'pygerber[shapely]==3.0.0a4' gerbonara==1.5.0
    python make.py

NAME.gbr is a board. NAME.expected holds, a line each: the side of a pixel in micrometres, columns and rows, and the share of every pixel that is
covered, by polygons of Shapely with 720 chords in a circle, cut by every pixel. Those of apertures, lines and regions are pygerber's. Those of macros, copies
and blocks are written out below: pygerber 3.0.0a4 turns polygons of macros around the wrong place, and has repeated blocks and clear ones elsewhere.
One board is written by gerbonara, of objects that are written out below.
"""

import logging
import math
import pathlib

import shapely
from gerbonara import GerberFile as Gerbonara
from gerbonara.apertures import CircleAperture, RectangleAperture
from gerbonara.graphic_objects import Arc, Flash, Line, Region
from gerbonara.utils import MM
from pygerber.gerber.api import GerberFile
from pygerber.vm import render
from shapely import affinity
from shapely.geometry import LineString, Point, Polygon

HERE = pathlib.Path(__file__).parent
HEAD = "G04 A board of the tests.*\n%TF.GenerationSoftware,Relief,make.py*%\n%FSLAX26Y26*%\n%MOMM*%\n"

BOARDS = {
    # All standard apertures, with holes and without.
    "apertures": (
        HEAD
        + """%ADD10C,1.8*%
%ADD11C,1.6X0.7*%
%ADD12R,2.0X1.2*%
%ADD13R,2.0X1.2X0.5*%
%ADD14O,1.0X2.4*%
%ADD15O,2.4X1.0X0.4*%
%ADD16P,2.2X3*%
%ADD17P,2.0X6X20X0.7*%
G01*
D10*
X1000000Y1000000D03*
D11*
X4050000Y1020000D03*
D12*
X7000000Y1000000D03*
D13*
X10010000Y1030000D03*
D14*
X1000000Y4000000D03*
X1500000Y4500000D03*
D15*
X4070000Y4000000D03*
D16*
X7000000Y4000000D03*
D17*
X10000000Y4000000D03*
M02*
""",
        80,
    ),
    # Every primitive of macros, on and off, turned, with expressions.
    "macros": (
        HEAD
        + """%AMPAD*
0 A comment, with a comma*
$4=$1x0.5*
1,1,$1,0,0*
1,0,$4,0.1,0.2*
21,1,$2,$3,0,0,30*
20,0,0.2,-2,0,2,0,-15*
4,1,3,
0,0,
1,0,
0.5,1,
0,0,45*
5,1,5,-1,-1,0.8,10*
22,1,1-$3,$3/2,-1.5,1,5*%
%ADD10PAD,2.4X3X0.4*%
%AMCORNERS*21,1,$1-$3-$3,$2,0,0,0*21,1,$1,$2-2x$3,0,0,0*
$5=$1/2-$3*$6=$2/2-$3*
1,1,$3+$3,$5,$6*1,1,$3+$3,-$5,$6*1,1,2x$3,$5,-$6*1,1,$3X2,-$5,-$6*%
%ADD11CORNERS,3.2X2X0.6*%
%AMHOLES*1,1,3,0,0*21,0,1,1,0,0,45*1,0,0.5,1,0,0*1,0,0.5,1,0,120*1,1,0.3,0,0*%
%ADD12HOLES*%
D10*
X2500000Y2500000D03*
D11*
X7000000Y2000000D03*
D12*
X11030000Y2010000D03*
M02*
""",
        90,
    ),
    # Lines and arcs of discs; arcs narrower than the line, whole circles.
    "lines": (
        "%FSLAX35Y35*%\n%MOIN*%\n"
        + """%ADD10C,0.010*%
%ADD11C,0.050*%
G75*
D10*
G01X00000Y00000D02*
X20000Y10000D01*
X30000D01*
G02X40000Y00000I00000J-10000D01*
G03X60000Y00000I10000J00000D01*
G01*
X60000Y20000D01*
D11*
X10000Y30000D02*
G03X10000Y30000I01000J00000D01*
G02X30000Y30000I10000J-00500D01*
G01X36000Y30000D01*
X31000Y31000D01*
M02*
""",
        254,
    ),
    # Regions of arcs, of several contours, with a cut-in; what is clear erases what lies below and not what comes after.
    "regions": (
        HEAD
        + """%ADD10C,0.6*%
%ADD11R,1X1*%
G75*
G36*
X0Y0D02*
G01*
X8000000D01*
Y5000000D01*
G03X5000000Y8000000I-3000000J0D01*
G01X0D01*
Y0D01*
X10000000Y0D02*
X12000000Y0D01*
X12000000Y2000000D01*
X10000000Y0D01*
G37*
G36*
X9000000Y4000000D02*
X12000000Y4000000D01*
X12000000Y8000000D01*
X9000000Y8000000D01*
X9000000Y4000000D01*
X10000000Y5000000D01*
X10000000Y7000000D01*
X11000000Y7000000D01*
X11000000Y5000000D01*
X10000000Y5000000D01*
X9000000Y4000000D01*
G37*
%LPC*%
D10*
X1000000Y1000000D02*
X5000000Y5030000D01*
D11*
X6000000Y2000000D03*
%LPD*%
D10*
X3000000Y3000000D03*
X2000000Y7000000D02*
X11000000Y6000000D01*
%LPC*%
G36*
X3000000Y6000000D02*
G02X3000000Y6000000I-500000J0D01*
G37*
M02*
""",
        110,
    ),
    # Steps and repeats, of what is clear as well, and apertures that are mirrored, turned and scaled.
    "copies": (
        HEAD
        + """%ADD10C,0.5*%
%ADD11R,1.2X0.6*%
%AMFLAG*21,1,1.4,0.2,0,0,0*21,1,0.2,0.7,-0.6,0.35,0*%
%ADD12FLAG*%
%SRX3Y2I2.5J2.0*%
D11*
X1000000Y1000000D03*
%LPC*%
D10*
X1250000Y1100000D03*
%LPD*%
%SR*%
D12*
X9000000Y1000000D03*
%LMX*%
X11000000Y1000000D03*
%LMN*%
%LR30*%
X9000000Y3000000D03*
%LMY*%
X11000000Y3000000D03*
%LS1.5*%
%LR90*%
X9000000Y5000000D03*
%LMN*%
%LR0*%
D10*
X1000000Y5500000D02*
X6000000Y6000000D01*
%LS1*%
X1000000Y6500000D02*
X6000000Y6700000D01*
M02*
""",
        70,
    ),
    # Blocks in blocks, flashed in all ways.
    "blocks": (
        HEAD
        + """%ADD10C,0.4*%
%ADD11R,1.6X1.2*%
%ABD20*%
D11*
X0Y0D03*
%LPC*%
D10*
X400000Y200000D03*
%LPD*%
D10*
X-300000Y-100000D02*
X700000Y900000D01*
%AB*%
%ABD21*%
D20*
X0Y0D03*
%LR90*%
X2500000Y0D03*
%LR0*%
%AB*%
D21*
X1000000Y1000000D03*
%LMX*%
X8000000Y1000000D03*
%LMN*%
%LR45*%
%LS0.8*%
X2000000Y4000000D03*
%LR0*%
%LS1*%
G36*
X5000000Y3000000D02*
X9000000Y3000000D01*
X9000000Y7000000D01*
X5000000Y7000000D01*
G37*
%LPC*%
D20*
X7000000Y5000000D03*
M02*
""",
        100,
    ),
}


def disc(x, y, diameter):
    return Point(x, y).buffer(diameter / 2, quad_segs=180)


def rectangle(x, y, width, height):
    return shapely.box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def line(x, y, u, v, width):
    return LineString([(x, y), (u, v)]).buffer(width / 2, quad_segs=180)


def turned(shape, angle):
    return affinity.rotate(shape, angle, origin=(0, 0))


def at(shape, x, y):
    return affinity.translate(shape, x, y)


def painted(objects):
    """Dark and clear shapes, one after the other."""
    whole = Polygon()
    for dark, shape in objects:
        whole = whole | shape if dark else whole - shape
    return whole


def macros():
    corner = [(0.4 * math.cos(math.radians(72 * k)), 0.4 * math.sin(math.radians(72 * k))) for k in range(5)]
    pad = painted(
        [
            (True, disc(0, 0, 2.4)),
            (False, disc(0.1, 0.2, 1.2)),
            (True, turned(rectangle(0, 0, 3, 0.4), 30)),
            (False, turned(rectangle(0, 0, 4, 0.2), -15)),
            (True, turned(Polygon([(0, 0), (1, 0), (0.5, 1)]), 45)),
            (True, turned(at(Polygon(corner), -1, -1), 10)),
            (True, turned(shapely.box(-1.5, 1, -0.9, 1.2), 5)),
        ]
    )
    corners = [disc(x, y, 1.2) for x in (-1, 1) for y in (-0.4, 0.4)]
    round_ = shapely.union_all([rectangle(0, 0, 2, 2), rectangle(0, 0, 3.2, 0.8), *corners])
    holes = painted(
        [
            (True, disc(0, 0, 3)),
            (False, turned(rectangle(0, 0, 1, 1), 45)),
            (False, disc(1, 0, 0.5)),
            (False, turned(disc(1, 0, 0.5), 120)),
            (True, disc(0, 0, 0.3)),
        ]
    )
    return at(pad, 2.5, 2.5) | at(round_, 7, 2) | at(holes, 11.03, 2.01)


def copies():
    objects = []
    for column in range(3):
        for row in range(2):
            x, y = 2.5 * column, 2.0 * row
            objects += [(True, rectangle(1 + x, 1 + y, 1.2, 0.6)), (False, disc(1.25 + x, 1.1 + y, 0.5))]
    flag = rectangle(0, 0, 1.4, 0.2) | rectangle(-0.6, 0.35, 0.2, 0.7)
    in_x, in_y = (affinity.scale(flag, *signs, origin=(0, 0)) for signs in ((-1, 1), (1, -1)))
    objects += [
        (True, at(flag, 9, 1)),
        (True, at(in_x, 11, 1)),
        (True, at(turned(flag, 30), 9, 3)),
        (True, at(turned(in_y, 30), 11, 3)),
        (True, at(turned(affinity.scale(in_y, 1.5, 1.5, origin=(0, 0)), 90), 9, 5)),
        (True, line(1, 5.5, 6, 6, 0.75)),
        (True, line(1, 6.5, 6, 6.7, 0.5)),
    ]
    return painted(objects)


def blocks():
    small = [
        (True, rectangle(0, 0, 1.6, 1.2)),
        (False, disc(0.4, 0.2, 0.4)),
        (True, line(-0.3, -0.1, 0.7, 0.9, 0.4)),
    ]
    each = lambda objects, change: [(dark, change(shape)) for dark, shape in objects]
    pair = small + each(small, lambda shape: at(turned(shape, 90), 2.5, 0))
    mirrored = lambda shape: affinity.scale(shape, -1, 1, origin=(0, 0))
    smaller = lambda shape: turned(affinity.scale(shape, 0.8, 0.8, origin=(0, 0)), 45)
    objects = each(pair, lambda shape: at(shape, 1, 1))
    objects += each(pair, lambda shape: at(mirrored(shape), 8, 1))
    objects += each(pair, lambda shape: at(smaller(shape), 2, 4))
    objects += [(True, shapely.box(5, 3, 9, 7))]
    # Flashed clear, what is dark erases and what is clear is dark.
    objects += [(not dark, at(shape, 7, 5)) for dark, shape in small]
    return painted(objects)


def written_by_gerbonara():
    board = Gerbonara()
    thin, wide = CircleAperture(0.4, unit=MM), CircleAperture(0.9, unit=MM)
    pad = RectangleAperture(1.2, 0.8, unit=MM)
    board.objects += [
        Line(1, 1, 5, 1.5, aperture=thin, unit=MM),
        Arc(5, 1.5, 5, 4.5, 0, 1.5, False, aperture=wide, unit=MM),
        Flash(2, 4, aperture=pad, unit=MM),
        Region([(7, 4), (9, 4.25), (9, 6), (7.5, 6)], [None] * 4, unit=MM),
    ]
    return board.write_to_bytes().decode()


def gerbonara():
    """The objects of that board."""
    arc = [(5 + 1.5 * math.sin(a), 3 - 1.5 * math.cos(a)) for a in (math.pi * k / 360 for k in range(361))]
    return shapely.union_all(
        [
            line(1, 1, 5, 1.5, 0.4),
            LineString(arc).buffer(0.45, quad_segs=180),
            rectangle(2, 4, 1.2, 0.8),
            Polygon([(7, 4), (9, 4.25), (9, 6), (7.5, 6)]),
        ]
    )


def by_pygerber(text):
    """What is dark, in millimetres."""
    rvmc = GerberFile.from_str(text)._get_rvmc()
    shapes = render(rvmc, backend="shapely", angle_length_to_segment_count=lambda _: 720).shape
    side = 25.4 if "%MOIN*%" in text else 1
    return affinity.scale(shapely.union_all(shapes), side, side, origin=(0, 0))


def main():
    logging.disable(logging.WARNING)
    written = {"macros": macros, "copies": copies, "blocks": blocks, "gerbonara": gerbonara}
    boards = BOARDS | {"gerbonara": (written_by_gerbonara(), 110)}
    for name, (text, micrometres) in boards.items():
        (HERE / f"{name}.gbr").write_text(text)
        shape = written[name]() if name in written else by_pygerber(text)
        left, bottom, right, top = shape.bounds
        side = micrometres / 1000
        columns, rows = (int(-(-(a - 1e-9) // side)) for a in (right - left, top - bottom))
        lines = [f"{micrometres} {columns} {rows}"]
        shapely.prepare(shape)
        for row in range(rows):
            ys = top - side * row
            boxes = [shapely.box(left + side * x, ys - side, left + side * (x + 1), ys) for x in range(columns)]
            shares = shapely.area(shapely.intersection(boxes, shape)) / side**2
            lines.append(" ".join(f"{share:.4g}" for share in shares))
        (HERE / f"{name}.expected").write_text("\n".join(lines) + "\n")
        print(name, columns, rows, shape.area, shape.bounds)


main()
