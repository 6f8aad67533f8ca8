#!/usr/bin/env python3
"""How long the first look at each example takes: the tiles of the level that fits a window, asked for as the page does.

bench/view/fit.py RELIEF [DESIGN...] [--record FILE]

For each design: seconds from the first request until every tile of the level that fits 1200 × 760 is there, at the effort that the page begins with, how
far they may be off then, and seconds until all are exact (given up after --patience).
"""

import argparse
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
WINDOW = (1_200, 760)
TILE = 256
EFFORTS = [1 << 20, 1 << 24, 1 << 28, 1 << 32, (1 << 64) - 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("relief")
    parser.add_argument("designs", nargs="*")
    parser.add_argument("--record")
    parser.add_argument("--patience", type=float, default=20)
    arguments = parser.parse_args()
    designs = arguments.designs or sorted(str(path) for path in ROOT.glob("examples/*/*.kdl"))
    found = {}
    for design in designs:
        name = os.path.relpath(design, ROOT) if design.startswith(str(ROOT)) else design
        found[name] = looked_at(arguments.relief, design, arguments.patience)
        print(name, found[name], flush=True)
    if arguments.record:
        record = {"date": time.strftime("%Y-%m-%d"), "processors": os.cpu_count(), "load": os.getloadavg()[0], "designs": found}
        pathlib.Path(arguments.record).write_text(json.dumps(record, indent=1) + "\n")


def looked_at(relief, design, patience):
    server = subprocess.Popen([relief, "view", design], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        line = server.stdout.readline()
        address = re.match(r"http://[0-9.:]+", line)
        if not address:
            return {"refused": line.strip()}
        address = address.group(0)
        state = until_ready(address, patience)
        if state is None:
            return {"refused": "not ready"}
        scene, at_once = state["designs"][0]["scene"], min(max(state["threads"], 2), 5)
        scale = max(scene["width"] / WINDOW[0], scene["height"] / WINDOW[1])
        level = 0
        while level < scene["levels"] and (2 << level) <= scale * 1.4:
            level += 1
        columns, rows = (-(-side // (TILE << level)) for side in (scene["width"], scene["height"]))
        tiles = [(x, y) for y in range(rows) for x in range(columns)]
        began = time.monotonic()
        first = asked(address, scene, level, tiles, 0, at_once)
        there = time.monotonic() - began
        off = max(first.values())
        exact, effort, left = None, 1, [tile for tile, within in first.items() if within > 0]
        while left and time.monotonic() - began < patience:
            now = asked(address, scene, level, left, min(effort, len(EFFORTS) - 1), at_once)
            left, effort = [tile for tile, within in now.items() if within > 0], effort + 1
        if not left:
            exact = round(time.monotonic() - began, 3)
        return {"level": level, "tiles": len(tiles), "there": round(there, 3), "within": off, "of": scene["max"], "exact": exact}
    finally:
        server.kill()
        server.wait()


def until_ready(address, patience):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        state = json.load(urllib.request.urlopen(f"{address}/api/state"))
        if state["designs"][0]["ready"]:
            return state
        if state["designs"][0]["trouble"]:
            return None
        time.sleep(0.02)
    return None


def asked(address, scene, level, tiles, effort, at_once):
    """How far each tile may be off, of the greatest sample."""
    waiting, found, lock = queue.SimpleQueue(), {}, threading.Lock()
    for tile in tiles:
        waiting.put(tile)

    def ask():
        while True:
            try:
                x, y = waiting.get_nowait()
            except queue.Empty:
                return
            url = f"{address}/tile/{scene['key']}/root/mean/{level}/{x}/{y}?effort={EFFORTS[effort]}{'&near=32' if effort == 0 else ''}&view=bench.1"
            with urllib.request.urlopen(url) as reply:
                reply.read()
                said = reply.headers["Relief-Exactness"]
            with lock:
                found[x, y] = 0 if said == "exact" else int(said.split()[1])

    threads = [threading.Thread(target=ask) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


if __name__ == "__main__":
    sys.exit(main())
