"""Texts of SVG as resvg draws them, for the tests of `svg`.

python3 make.py FONT > letters.expected, with resvg-py 0.5.0 and Pillow from PyPI. A line holds what stands in the document and the samples of
48 × 20 pixels, two hexadecimal digits each: the opacity, averaged from 8 times the size.
"""

import io
import sys

import numpy as np
import resvg_py
from PIL import Image

WIDTH, HEIGHT, TIMES = 48, 20, 8
CASES = [
    "<text x='3' y='15' font-size='14'>Tö fi</text>",
    "<text x='24' y='15' font-size='12' text-anchor='middle'>AVA<tspan fill='red'>TAR</tspan></text>",
    "<text x='46' y='1.2em' font-size='12' text-anchor='end'>right</text>",
    "<text x='2 14 30' y='15 12' font-size='12'>abcd</text>",
    "<text x='2' y='12' dx='0 2 3' dy='0 1 2 -3' font-size='12'>wavy</text>",
    "<text x='2' y='15' font-size='9'>big<tspan font-size='16'>ger</tspan><tspan dx='2' dy='-6'>up</tspan></text>",
    "<text x='2' y='14' font-size='12'>\n   a \n\n  b  <tspan> c</tspan>  </text>",
    "<text x='2' y='14' font-size='12' xml:space='preserve'>  a   b</text>",
    "<g transform='translate(4 3)'><text transform='rotate(20)' x='2' y='8' font-size='10'>turned</text></g>",
    "<text x='2' y='14' font-size='10' letter-spacing='2' word-spacing='4'>ab x y</text>",
    "<text x='2' y='16' font-size='16' fill='none' stroke='black' stroke-width='1'>Line</text>",
    "<text x='2' y='10' font-size='14' dominant-baseline='central'>mid</text>",
    "<text x='2' y='10' font-size='14' dominant-baseline='middle'>mid</text>",
    "<text x='2' y='8' font-size='8'>one<tspan x='6' dy='1.1em'>two</tspan></text>",
    "<text x='2' y='14' style='font: bold 14px \"Fredoka One\", serif'>bold</text>",
    "<text x='2' y='14' font-size='14'>a<tspan display='none'>bb</tspan><tspan visibility='hidden'>c</tspan>d</text>",
    "<clipPath id='c'><text x='1' y='17' font-size='20'>CLIP</text></clipPath><rect width='48' height='12' clip-path='url(#c)'/>",
    "<defs><text id='t' y='14' font-size='12' font-family='Fredoka One'>use</text></defs><use href='#t' x='4'/><use href='#t' x='26'/>",
    "<text x='2' y='14' font-size='12'>a<a href='x'>b<tspan y='18'>c</tspan></a></text>",
    "<text x='2' y='14' font-size='12'><tspan x='4 12 20'>a<tspan x='30'>b</tspan>c</tspan>d</text>",
]

font = sys.argv[1]
for body in CASES:
    text = f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}'>{body}</svg>"
    png = resvg_py.svg_to_bytes(
        svg_string=text, zoom=TIMES, font_files=[font], skip_system_fonts=True, font_family="Fredoka One",
        serif_family="Fredoka One", sans_serif_family="Fredoka One",
    )
    opacity = np.asarray(Image.open(io.BytesIO(bytes(png))).convert("RGBA"))[:, :, 3].astype(float)
    samples = opacity.reshape(HEIGHT, TIMES, WIDTH, TIMES).mean(axis=(1, 3)).round().astype(np.uint8)
    print(body.replace("\n", "&#10;") + "\t" + samples.tobytes().hex())
