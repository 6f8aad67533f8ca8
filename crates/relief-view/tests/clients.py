"""Reads a window of 300 x 200 samples of a store, or all levels of a small one, by programs of others, and prints what they read as JSON.

    python tests/clients.py URL X Y
    python tests/clients.py --levels URL
"""

import json
import sys
import warnings

import ome_zarr.io
import ome_zarr.reader
import xarray
import zarr

warnings.simplefilter("ignore")
if sys.argv[1] == "--check":
    import aiohttp  # noqa: F401

    sys.exit()

if sys.argv[1] == "--levels":
    group = zarr.open_group(sys.argv[2], mode="r")
    multiscale = list(ome_zarr.reader.Reader(ome_zarr.io.parse_url(sys.argv[2]))())
    levels = [data["path"] for data in group.attrs["ome"]["multiscales"][0]["datasets"]]
    opened = [xarray.open_dataset(sys.argv[2], engine="zarr", consolidated=True, chunks=None, drop_variables=[other for other in levels if other != level])[level] for level in levels]
    told = {
        "shapes": [list(group[level].shape) for level in levels],
        "zarr": [group[level][:].ravel().tolist() for level in levels],
        "ome_zarr": [data.compute().ravel().tolist() for data in multiscale[0].data],
        "xarray": [data.values.ravel().tolist() for data in opened],
    }
    print(json.dumps(told))
    sys.exit()

url, x, y = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rows, columns = slice(y, y + 200), slice(x, x + 300)
told = {}

group = zarr.open_group(url, mode="r")
told["zarr"] = group["0"][rows, columns].ravel().tolist()
told["levels"] = len(group.attrs["ome"]["multiscales"][0]["datasets"])

window = zarr.open_group(f"{url}/window/{x},{y},300x200", mode="r")
told["window"] = window["0"][:].ravel().tolist()

# Levels have other sizes under the same names of dimensions: one at a time.
coarser = [str(level) for level in range(1, len(list(window.arrays())))]
data = xarray.open_dataset(
    f"{url}/window/{x},{y},300x200", engine="zarr", consolidated=True, chunks=None, drop_variables=coarser
)
told["xarray"] = data["0"].values.ravel().tolist()

# The reader makes a Dask graph of every level: a window is small enough for one.
multiscale = list(ome_zarr.reader.Reader(ome_zarr.io.parse_url(f"{url}/window/{x},{y},300x200"))())
told["ome_zarr"] = multiscale[0].data[0].compute().ravel().tolist()

told["shapes"] = [list(group[str(level)].shape) for level in range(told["levels"])]
told["coarsest"] = list(group[str(told["levels"] - 1)][:].shape)
print(json.dumps(told))
