"""Heights of the coin of the golden designs by the rays of trimesh, at the centres of pixels of 0.1 mm.

    pip install trimesh==5.2.0 rtree numpy
    python make.py

coin.expected holds columns and rows, then a line a row: the greatest height of each pixel in mm, or a dash where no ray meets the mesh.
"""

import math
import pathlib

import numpy as np
import trimesh

HERE = pathlib.Path(__file__).parent
SIDE = 0.1
mesh = trimesh.load(HERE / "../../../relief-engine/tests/golden/coin.stl", process=False)
(left, front, _), (right, back, _) = mesh.bounds
columns, rows = math.ceil((right - left) / SIDE - 1e-6), math.ceil((back - front) / SIDE - 1e-6)
xs = left + (np.arange(columns) + 0.5) * SIDE
ys = back - (np.arange(rows) + 0.5) * SIDE
places = np.array([(x, y, 10.0) for y in ys for x in xs])
down = np.tile((0.0, 0.0, -1.0), (len(places), 1))
met, rays, _ = mesh.ray.intersects_location(places, down, multiple_hits=True)
heights = np.full(len(places), -np.inf)
np.maximum.at(heights, rays, met[:, 2])
lines = [f"{columns} {rows}"]
for row in heights.reshape(rows, columns):
    lines.append(" ".join(f"{z:.4f}" if np.isfinite(z) else "-" for z in row))
(HERE / "coin.expected").write_text("\n".join(lines) + "\n")
