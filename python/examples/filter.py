# %% [markdown]
# # A design, a filter of SciPy, and back
#
# A design becomes an array, SciPy filters it, and the result is a picture of another design.

# %%
import numpy as np
from scipy import ndimage

import relief_surfaces as relief
from relief_surfaces import design as d

# %% A cell of the surface: marks on a ramp, as a design that is written in Python.
cell = d.document(
    d.canvas(width=96, height=64),
    d.compose(
        d.ramp(axis="x", from_=0, to=120, role="base"),
        d.disc(diameter=40, value=200, x=28, y=12, role="max"),
    ),
).open()
cell

# %% What no node of the language does: a gray opening by an ellipse.
rows, columns = np.ogrid[-4:5, -7:8]
ellipse = (rows / 4) ** 2 + (columns / 7) ** 2 <= 1
opened = ndimage.grey_opening(cell[...], footprint=ellipse, mode="wrap")

# %% The result repeats over 4 m² at 1 µm: 3.6 TB that nobody stores.
sheet = d.document(
    d.canvas(width="2m", height="1.8m", pixel="1um"),
    d.repeat(d.image("opened")),
).open({"opened": opened})
window = sheet[1_000_000:1_000_128, 1_200_000:1_200_192]

# %% 2 m hold whole cells, so that the window begins where a cell does.
assert 1_000_000 % 64 == 0 and 1_200_000 % 96 == 0
np.testing.assert_array_equal(window, np.tile(opened, (2, 2)))
print(sheet, sheet.stats())

# %% A part of it, as a picture.
sheet.crop(np.s_[1_000_000:1_000_256, 1_200_000:1_200_384])
