#!/usr/bin/env python3
"""Asks a viewer for the tiles of a recorded path of panning and zooming, as its page does, and says how long they took.

    bench/view/pan_and_zoom.py target/release/relief [DESIGN.kdl [JSON]]

The window has 1200 x 760 pixels. As many requests are on the way at a time as the server has threads, two at least and five at most, and a
tile is asked for once, with the effort of the page's first request. The path goes from the whole of the sheet to single pixels of a mark, along a row of marks, and out again. Needs Python alone.
"""

import http.client
import json
import math
import os
import re
import subprocess
import sys
import threading
import time

WINDOW = (1200, 760)
TILE = 256
EFFORT = 1 << 20
NEAR = 32

# Where the middle of the window is, in parts of the raster, and how many pixels of the raster a pixel of the screen has; the steps between
# two such places follow each other geometrically in scale.
PATH = [
    (0.5, 0.5, None, 1),
    (0.38, 0.41, 400.0, 12),
    (0.3802, 0.4102, 8.0, 12),
    (0.38021, 0.41021, 0.25, 10),
    (0.38032, 0.41021, 0.25, 8),
    (0.3852, 0.4102, 4.0, 10),
    (0.4852, 0.4102, 64.0, 12),
    (0.4852, 0.6102, 64.0, 12),
    (0.5, 0.5, None, 12),
]


def steps(width, height):
    """The places of the path: the middle in pixels, and pixels of the raster in one of the screen."""
    whole = max(width / WINDOW[0], height / WINDOW[1])
    stops = [(x * width, y * height, scale or whole, count) for x, y, scale, count in PATH]
    yield stops[0][:3]
    for (x0, y0, s0, _), (x1, y1, s1, count) in zip(stops, stops[1:]):
        for step in range(1, count + 1):
            part = step / count
            scale = s0 * (s1 / s0) ** part
            # What is zoomed at stays where it is on the screen: the middle moves as the scale does.
            moved = part if s0 == s1 else (scale - s0) / (s1 - s0)
            yield x0 + (x1 - x0) * moved, y0 + (y1 - y0) * moved, scale


def tiles(place, width, height, coarsest):
    """The tiles that are wanted: coarse ones that show all of the window, and those of the level whose samples are nearest to screen pixels."""
    level = min(max(math.floor(math.log2(max(place[2], 1)) + 0.5), 0), coarsest)
    sharp = tiles_of(level, place, width, height)
    coarse = min(level + 3, coarsest)
    first = tiles_of(coarse, place, width, height) if len(sharp) > 4 and coarse > level else []
    return [*first, (coarsest, 0, 0)], sharp


def tiles_of(level, place, width, height):
    """The tiles of a level that are seen, the one in the middle first."""
    x, y, scale = place
    side = TILE << level
    left, right = x - WINDOW[0] / 2 * scale, x + WINDOW[0] / 2 * scale
    top, bottom = y - WINDOW[1] / 2 * scale, y + WINDOW[1] / 2 * scale
    columns = range(max(0, int(left // side)), min(math.ceil(width / side), int(right // side) + 1))
    rows = range(max(0, int(top // side)), min(math.ceil(height / side), int(bottom // side) + 1))
    found = [(level, column, row) for row in rows for column in columns]
    return sorted(found, key=lambda tile: (abs((tile[1] + 0.5) * side - x) + abs((tile[2] + 0.5) * side - y)))


class Client:
    """A few connections that are kept."""

    def __init__(self, host, port):
        self.address = (host, port)
        self.local = threading.local()

    def get(self, path):
        if not hasattr(self.local, "connection"):
            self.local.connection = http.client.HTTPConnection(*self.address)
        self.local.connection.request("GET", path)
        response = self.local.connection.getresponse()
        return response.status, response.getheader("relief-exactness"), response.read()


def asked(client, key, wanted, at_once):
    """Asks for tiles, so many at a time; how long each took and how exact it is."""
    lock, taken, waiting = threading.Lock(), [], list(reversed(wanted))

    def work():
        while True:
            with lock:
                if not waiting:
                    return
                level, column, row = waiting.pop()
            began = time.perf_counter()
            path = f"/tile/{key}/root/mean/{level}/{column}/{row}?effort={EFFORT}&near={NEAR}"
            status, exactness, _ = client.get(path)
            took = time.perf_counter() - began
            if status != 200:
                raise SystemExit(f"{path}: {status}")
            with lock:
                taken.append((took, exactness))

    threads = [threading.Thread(target=work) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def resident(pid):
    """The most bytes of memory that a process has had; None where the system does not say."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) * 1024
    except (OSError, TypeError):
        return None


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    design = sys.argv[2] if len(sys.argv) > 2 else os.path.join(root, "examples/sheet/design.kdl")
    server = subprocess.Popen([sys.argv[1], "view", design], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        host, port = re.match(r"http://([^:/]+):(\d+)", url).groups()
        client = Client(host, int(port))
        while True:
            state = json.loads(client.get("/api/state")[2])
            scene = state["designs"][0].get("scene")
            at_once = min(max(state["threads"], 2), 5)
            if scene:
                break
            time.sleep(0.01)
        began = time.perf_counter()
        for path in ["/", "/style.css", "/main.js", "/camera.js", "/tiles.js", "/assembly.js", "/gl.js", "/panels.js"]:
            client.get(path)
        width, height, key = scene["width"], scene["height"], scene["key"]
        seen, all_taken, after = set(), [], []
        for place in steps(width, height):
            for wanted in tiles(place, width, height, scene["levels"]):
                wanted = [tile for tile in dict.fromkeys(wanted) if tile not in seen]
                seen.update(wanted)
                all_taken += asked(client, key, wanted, at_once)
                after.append(time.perf_counter() - began)
        times = sorted(took for took, _ in all_taken)
        at = lambda part: times[min(len(times) - 1, int(part * len(times)))] * 1e3
        told = {
            "design": os.path.relpath(design, root),
            "tiles": len(times),
            "exact at once": sum(exactness == "exact" for _, exactness in all_taken),
            "first picture, ms": round(after[0] * 1e3, 1),
            "sharp, ms": round(after[1] * 1e3, 1),
            "median tile, ms": round(at(0.5), 1),
            "95 % of tiles within, ms": round(at(0.95), 1),
            "slowest tile, ms": round(times[-1] * 1e3, 1),
            "most memory, MiB": round((resident(server.pid) or 0) / 2**20, 1),
        }
        for name, value in told.items():
            print(f"{name:26} {value}")
        if len(sys.argv) > 3:
            with open(sys.argv[3], "w", encoding="utf-8") as out:
                json.dump(told, out, indent=2)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
