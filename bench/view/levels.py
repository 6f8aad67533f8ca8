#!/usr/bin/env python3
"""How long a tile of each level takes with the effort that the page begins with, and how far it may be off.

bench/view/levels.py RELIEF [DESIGN] [--tiles N] [--record FILE]

Asks for N tiles of 256 × 256 samples of each level, one after the other, at places spread over the raster; each is asked for once. For each level: the
first, the median and the slowest in milliseconds, and the most that any of them may be off. Needs Python alone.
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TILE = 256
EFFORT = 1 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("relief")
    parser.add_argument("design", nargs="?", default=str(ROOT / "examples/sheet/design.kdl"))
    parser.add_argument("--tiles", type=int, default=20)
    parser.add_argument("--record")
    arguments = parser.parse_args()
    server = subprocess.Popen([arguments.relief, "view", arguments.design], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        host, port = re.match(r"http://([^:/]+):(\d+)", server.stdout.readline()).groups()
        connection = http.client.HTTPConnection(host, int(port))

        def get(path):
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
            if response.status != 200:
                raise SystemExit(f"{path}: {response.status} {body[:200]}")
            return response, body

        scene = None
        while not scene:
            state = json.loads(get("/api/state")[1])
            scene = state["designs"][0].get("scene")
        found = {}
        for level in range(scene["levels"] + 1):
            columns, rows = (-(-(scene[side] >> level) // TILE) for side in ("width", "height"))
            # Places spread by the golden ratio and its square: no two near each other.
            places = [(int(i * 0.7548776662 % 1 * columns), int(i * 0.5698402909 % 1 * rows)) for i in range(1, 40 * arguments.tiles)]
            took, off = [], 0
            for column, row in list(dict.fromkeys(places))[: arguments.tiles]:
                began = time.perf_counter()
                response, _ = get(f"/tile/{scene['key']}/root/mean/{level}/{column}/{row}?effort={EFFORT}&near=32")
                took.append((time.perf_counter() - began) * 1000)
                said = response.getheader("relief-exactness")
                off = max(off, 0 if said == "exact" else int(said.split()[-1]))
            found[level] = {
                "tiles": len(took),
                "first, ms": round(took[0], 1),
                "median, ms": round(statistics.median(took), 1),
                "slowest, ms": round(max(took), 1),
                "within": off,
            }
            print(f"level {level:2}: {found[level]}", flush=True)
    finally:
        server.kill()
    if arguments.record:
        record = {
            "date": time.strftime("%Y-%m-%d"),
            "design": os.path.relpath(arguments.design, ROOT),
            "bits": scene.get("bits"),
            "processors": os.cpu_count(),
            "load": round(os.getloadavg()[0], 2),
            "levels": found,
        }
        pathlib.Path(arguments.record).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
