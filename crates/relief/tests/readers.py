"""Reads windows of files by programs of others: requests as JSON lines on the standard input, answers as JSON lines.

A request is {"path", "reader", "window": [x, y, width, height] or null, "out"}. The samples go to the file `out`, row by row as u16
little-endian; the answer is {"size": [width, height]} or {"error": text}. `--check` only imports the readers.

    python -m venv VENV && VENV/bin/pip install -r crates/relief/tests/readers.txt
    RELIEF_READERS=VENV/bin/python cargo test -p relief --test command readers::
"""

import json
import pathlib
import sys
import tempfile
import warnings
import xml.etree.ElementTree

import numpy
import PIL.Image
import pyvips
import rasterio
import rasterio.windows
import rio_cogeo.cogeo
import tifffile
import xarray
import zarr

warnings.simplefilter("ignore")
PIL.Image.MAX_IMAGE_PIXELS = None
# A file that was written anew is read anew.
pyvips.cache_set_max(0)


def by_tifffile(path, window):
    if window is None:
        return tifffile.imread(path)
    x, y, w, h = window
    return numpy.asarray(zarr.open(tifffile.imread(path, aszarr=True), mode="r")[y : y + h, x : x + w])


def by_gdal(path, window):
    with rasterio.open(path) as image:
        return image.read(1, window=window and rasterio.windows.Window(*window))


def by_vips(path, window):
    image = pyvips.Image.new_from_file(path)
    return (image.crop(*window) if window else image).numpy()


def by_pillow(path, window):
    # Pillow has no windows: it reads the whole picture and cuts.
    image = PIL.Image.open(path)
    if window:
        x, y, w, h = window
        image = image.crop((x, y, x + w, y + h))
    array = numpy.asarray(image)
    return array.astype("u1") * 255 if array.dtype == bool else array


def by_zarr(path, window):
    array = zarr.open_array(path, mode="r")
    if window is None:
        return array[:]
    x, y, w, h = window
    return array[y : y + h, x : x + w]


def by_xarray(path, window):
    """An array of a store, by its dimensions; a store with levels has several of one name."""
    store = pathlib.Path(path)
    others = [folder.name for folder in store.parent.iterdir() if folder.is_dir() and folder != store]
    array = xarray.open_zarr(store.parent, consolidated=False, mask_and_scale=False, drop_variables=others)[store.name]
    assert array.dims == ("y", "x"), array.dims
    if window:
        x, y, w, h = window
        array = array.isel(y=slice(y, y + h), x=slice(x, x + w))
    return array.values


def by_gdal_zarr(path, window):
    store = pathlib.Path(path)
    return by_gdal(f'ZARR:"{store.parent}":/{store.name}', window)


def by_cog(path, window):
    """The level of half the size, of a file that is a Cloud Optimized GeoTIFF to rio-cogeo and to GDAL."""
    valid, errors, doubts = rio_cogeo.cogeo.cog_validate(path, strict=True, quiet=True)
    assert valid and not errors and not doubts, (errors, doubts)
    with rasterio.open(path) as image:
        levels = image.overviews(1)
    assert levels == [2 ** (k + 1) for k in range(len(levels))], levels
    with rasterio.open(path, overview_level=0) as image:
        return image.read(1, window=window and rasterio.windows.Window(*window))


def by_dzi(path, window):
    """The whole level, put together; its tiles are those that libvips makes of it."""
    size = xml.etree.ElementTree.parse(path).getroot()
    tile, overlap = int(size.get("TileSize")), int(size.get("Overlap"))
    width, height = int(size[0].get("Width")), int(size[0].get("Height"))
    files = pathlib.Path(path[: -len(".dzi")] + "_files")
    deepest = max(files.iterdir(), key=lambda folder: int(folder.name))
    out = None
    for name in deepest.iterdir():
        column, row = map(int, name.stem.split("_"))
        part = numpy.asarray(PIL.Image.open(name))
        out = numpy.zeros((height, width), part.dtype) if out is None else out
        x, y = max(column * tile - overlap, 0), max(row * tile - overlap, 0)
        out[y : y + part.shape[0], x : x + part.shape[1]] = part
    with tempfile.TemporaryDirectory() as folder:
        other = pathlib.Path(folder) / "other"
        pyvips.Image.new_from_array(out).dzsave(str(other), suffix=".png", tile_size=tile, overlap=overlap)
        theirs = pathlib.Path(folder) / "other_files"
        names = lambda files: {str(n.relative_to(files)): PIL.Image.open(n).size for n in files.glob("*/*.png")}
        assert names(files) == names(theirs), "names and sizes of tiles differ from those of libvips"
    return out


def one(request):
    array = globals()["by_" + request["reader"]](request["path"], request["window"])
    assert array.ndim == 2, array.shape
    if array.dtype == bool:
        array = array.astype("u1") * 255
    assert array.dtype in ("u1", "u2"), array.dtype
    array.astype("<u2").tofile(request["out"])
    return {"size": [array.shape[1], array.shape[0]]}


if sys.argv[1:] != ["--check"]:
    for line in sys.stdin:
        try:
            answer = one(json.loads(line))
        except Exception as error:  # whatever a reader says
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
