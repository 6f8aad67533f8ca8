"""Writes copper.gbr: a ring of twelve lamps around a chip, on a plane of copper. Python alone, and no other package."""

import math
from pathlib import Path

WIDTH, HEIGHT = 24.0, 24.0
LAMPS, RING = 12, 9.0


def at(x, y):
    return f"X{round(x * 1e6)}Y{round(y * 1e6)}"


def around(radius, angle):
    return WIDTH / 2 + radius * math.cos(math.radians(angle)), HEIGHT / 2 + radius * math.sin(math.radians(angle))


def lines():
    yield "G04 A ring of lamps around a chip.*"
    yield "%TF.GenerationSoftware,Relief,board.py*%"
    yield "%TF.FileFunction,Copper,L1,Top*%"
    yield "%FSLAX36Y36*%"
    yield "%MOMM*%"
    # A rectangle with round corners, of two sides and a radius.
    yield "%AMROUND*"
    yield "21,1,$1-2x$3,$2,0,0,0*"
    yield "21,1,$1,$2-2x$3,0,0,0*"
    yield "$4=$1/2-$3*"
    yield "$5=$2/2-$3*"
    for x in ("", "-"):
        for y in ("", "-"):
            yield f"1,1,2x$3,{x}$4,{y}$5*"
    yield "%"
    # What ties a pad to the plane.
    yield "%AMTIE*7,0,0,1.9,1.3,0.35,45*%"
    yield "%ADD10C,0.3*%"
    yield "%ADD11C,0.25*%"
    yield "%ADD12ROUND,1.5X1.0X0.25*%"
    yield "%ADD13ROUND,2.1X1.6X0.4*%"
    yield "%ADD14R,0.3X1.3*%"
    yield "%ADD15C,1.3X0.7*%"
    yield "%ADD16C,1.9*%"
    yield "%ADD17TIE*%"
    yield "%ADD18O,1.6X2.4X0.9*%"
    yield "%ADD19C,0.9*%"
    # The two pads of a lamp, with the plane cleared around them.
    yield "%ABD20*%"
    yield "%LPC*%"
    yield "D13*"
    yield at(0, 1.0) + "D03*"
    yield at(0, -1.0) + "D03*"
    yield "%LPD*%"
    yield "D12*"
    yield at(0, 1.0) + "D03*"
    yield at(0, -1.0) + "D03*"
    yield "%AB*%"

    # The plane, with round corners.
    left, bottom, right, top, corner = 0.5, 0.5, WIDTH - 0.5, HEIGHT - 0.5, 2.0
    yield "G75*"
    yield "G36*"
    yield at(left + corner, bottom) + "D02*"
    yield "G01*"
    yield at(right - corner, bottom) + "D01*"
    yield "G03" + at(right, bottom + corner) + f"I0J{round(corner * 1e6)}D01*"
    yield "G01" + at(right, top - corner) + "D01*"
    yield "G03" + at(right - corner, top) + f"I-{round(corner * 1e6)}J0D01*"
    yield "G01" + at(left + corner, top) + "D01*"
    yield "G03" + at(left, top - corner) + f"I0J-{round(corner * 1e6)}D01*"
    yield "G01" + at(left, bottom + corner) + "D01*"
    yield "G03" + at(left + corner, bottom) + f"I{round(corner * 1e6)}J0D01*"
    yield "G37*"

    # Room for the chip, and for the tracks from it.
    yield "%LPC*%"
    yield "G36*"
    x, y = WIDTH / 2, HEIGHT / 2
    for number, (dx, dy) in enumerate([(-3, -3), (3, -3), (3, 3), (-3, 3), (-3, -3)]):
        yield ("G01" if number == 1 else "") + at(x + dx, y + dy) + ("D02*" if number == 0 else "D01*")
    yield "G37*"
    yield "D19*"
    for lamp in range(LAMPS):
        yield from track(lamp)
    yield "%LPD*%"
    for lamp in range(LAMPS):
        yield "D11*"
        yield from track(lamp)
        yield f"%LR{lamp * 360 / LAMPS - 90:g}*%"
        yield "D20*"
        yield at(*around(RING, lamp * 360 / LAMPS)) + "D03*"
    yield "%LR0*%"

    # The chip: four rows of pads, each an array.
    yield "D14*"
    yield "%SRX6Y2I0.65J4.7*%"
    yield at(x - 2.5 * 0.65, y - 2.35) + "D03*"
    yield "%SR*%"
    yield "%LR90*%"
    yield "%SRX2Y6I4.7J0.65*%"
    yield at(x - 2.35, y - 2.5 * 0.65) + "D03*"
    yield "%SR*%"
    yield "%LR0*%"
    # A pad below it, with holes.
    yield "%SRX3Y3I1.0J1.0*%"
    yield "D15*"
    yield at(x - 1, y - 1) + "D03*"
    yield "%SR*%"

    # Holes in the corners: cleared, tied to the plane, and a ring of copper.
    for cx in (3.0, WIDTH - 3.0):
        for cy in (3.0, HEIGHT - 3.0):
            yield "%LPC*%"
            yield "D16*"
            yield at(cx, cy) + "D03*"
            yield "%LPD*%"
            yield "D17*"
            yield at(cx, cy) + "D03*"
            yield "D15*"
            yield at(cx, cy) + "D03*"
    # Holes of a plug, at the lower edge.
    for number in range(-1, 2):
        yield "%LPC*%"
        yield "G01*"
        yield "D16*"
        yield at(x + 2.5 * number, 1.9) + "D02*"
        yield at(x + 2.5 * number, 2.5) + "D01*"
        yield "%LPD*%"
        yield "D18*"
        yield at(x + 2.5 * number, 2.2) + "D03*"
    yield "M02*"


def track(lamp):
    """Out of the chip, along an arc, and to the inner pad of a lamp."""
    angle = lamp * 360 / LAMPS
    inner = around(RING - 1.0, angle)
    middle = around(5.0, angle - 8)
    bend = around(5.0, angle)
    side, number = divmod(lamp, 3)
    offset = (number - 1) * 1.3
    start = {0: (2.35, offset), 1: (-offset, 2.35), 2: (-2.35, -offset), 3: (offset, -2.35)}[side]
    yield "G01*"
    yield at(WIDTH / 2 + start[0], HEIGHT / 2 + start[1]) + "D02*"
    yield at(*middle) + "D01*"
    i, j = WIDTH / 2 - middle[0], HEIGHT / 2 - middle[1]
    yield f"G03{at(*bend)}I{round(i * 1e6)}J{round(j * 1e6)}D01*"
    yield "G01*"
    yield at(*inner) + "D01*"


Path(__file__).with_name("copper.gbr").write_text("\n".join(lines()) + "\n")
