# %% [markdown]
# # 3.6 TB by windows
#
# A sheet of 2 m × 1.8 m at 1 µm is read where it is needed.

# %%
import tempfile

import numpy as np

import relief_surfaces as relief

sheet = relief.open("../../examples/sheet/design.kdl", memory="128MiB")
print(sheet, f"{sheet.nbytes / 1e12:.1f} TB")
print(sheet.plan())

# %% A window of a megapixel, at the seam of two marks.
window = sheet[900_000:901_000, 1_500_000:1_501_000]
print(window.mean(), window.min(), window.max())

# %% A mark from further away: exact means of 32 × 32 pixels.
mark = sheet.level(5)[28_125:28_189, 46_875:46_939]
print(mark.shape, mark.mean())

# %% A square millimetre of it is a surface, and shows itself as a picture.
sheet.crop(np.s_[900_000:901_000, 1_500_000:1_501_000])

# %% Why a pixel is what it is.
print(sheet.why(900_500, 1_500_500))

# %% A part as a file, with a bar of tqdm while it is written.
part = sheet.crop(np.s_[900_000:904_000, 1_500_000:1_508_000])
with tempfile.TemporaryDirectory() as folder:
    print(part.render(f"{folder}/part.tif", tile=(1024, 1024), progress=True).complete)

# %% The dose of a strip: one pass over 40 Mpx of it in bands, none of which is kept.
strip = sheet.crop(np.s_[900_000:900_020, :])
dose = sum(int(band.samples.sum(dtype=np.uint64)) for band in strip.bands())
least, most = strip.bounds()
assert least * strip.size <= dose <= most * strip.size
print(dose)
