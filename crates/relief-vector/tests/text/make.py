"""Texts as HarfBuzz and fontTools have them, for the tests of `text`.

python3 make.py FONT > letters.expected, with uharfbuzz and fonttools from PyPI. A line holds a text, how far it goes, the box around its
outlines and their area, in font units.
"""

import sys

import uharfbuzz as hb
from fontTools.pens.areaPen import AreaPen
from fontTools.pens.boundsPen import BoundsPen
from fontTools.pens.transformPen import TransformPen
from fontTools.ttLib import TTFont

TEXTS = ["AVATAR", "Waffle fi fl", "Tö. 0042", "1/2", "Relief", "éÀÿ"]

path = sys.argv[1]
font = TTFont(path)
glyphs, names = font.getGlyphSet(), font.getGlyphOrder()
shaper = hb.Font(hb.Face(hb.Blob.from_file_path(path)))
for text in TEXTS:
    buffer = hb.Buffer()
    buffer.add_str(text)
    buffer.guess_segment_properties()
    hb.shape(shaper, buffer)
    x, bounds, area = 0, BoundsPen(glyphs), 0.0
    for info, place in zip(buffer.glyph_infos, buffer.glyph_positions):
        move = (1, 0, 0, 1, x + place.x_offset, place.y_offset)
        glyph = glyphs[names[info.codepoint]]
        glyph.draw(TransformPen(bounds, move))
        pen = AreaPen(glyphs)
        glyph.draw(TransformPen(pen, move))
        area += abs(pen.value)
        x += place.x_advance
    box = " ".join(str(round(side, 3)) for side in bounds.bounds)
    print(f"{text}\t{x}\t{box}\t{round(area, 1)}")
