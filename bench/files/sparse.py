#!/usr/bin/env python3
"""Filters a TIFF of 200 Gpx within 256 MiB and tells how fast and in how much memory. Nothing is downloaded or compared.

    cargo build --release --locked -p relief --no-default-features
    bench/files/sparse.py --relief target/release/relief [--threads 2] [--rows 447232] [--record FILE]

It needs that program and Python alone, and some 200 KiB in TMPDIR. All of it takes half an hour of a processor; it ends with an error where more memory was
taken than was allowed, with 16 MiB for the program itself.

The file has 447 232 × 447 232 pixels of 8 bits in tiles of 4096 × 4096. All of it but its lists is a hole, which takes no room on the disk and reads as
0; so what is measured is reading through the system, the filter and the plan, not a disk. With fewer rows a part is rendered, whole rows from the middle.
"""

import argparse
import datetime
import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIDE, TILE = 447_232, 4_096
# What the job may take, and what a process takes that does nothing, in MiB.
MEMORY, PROGRAM = 256, 16


def make(path):
    across = -(-SIDE // TILE)
    tiles = across * across
    tags = [(256, 1, SIDE), (257, 1, SIDE), (258, 1, 8), (259, 1, 1), (262, 1, 1), (277, 1, 1), (322, 1, TILE), (323, 1, TILE)]
    lists = 16 + 8 + (len(tags) + 2) * 20 + 8
    first = -(-(lists + tiles * 16) // TILE) * TILE
    tags += [(324, tiles, lists), (325, tiles, lists + tiles * 8)]
    with open(path, "wb") as file:
        file.write(struct.pack("<2sHHHQQ", b"II", 43, 8, 0, 16, len(tags)))
        for tag, count, value in tags:
            file.write(struct.pack("<HHQQ", tag, 16, count, value))
        file.write(bytes(8))
        file.write(struct.pack(f"<{tiles}Q", *(first + tile * TILE * TILE for tile in range(tiles))))
        file.write(struct.pack(f"<{tiles}Q", *[TILE * TILE] * tiles))
        file.truncate(first + tiles * TILE * TILE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relief", required=True, type=Path)
    parser.add_argument("--rows", type=int, default=SIDE)
    parser.add_argument("--radius", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--record", type=Path)
    arguments = parser.parse_args()
    rows = min(arguments.rows, SIDE)
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / "scan.tif")
        design = Path(folder) / "scan.kdl"
        design.write_text(f'relief version=1\ncanvas from="scan.tif"\nbox radius={arguments.radius} {{ (source)image "scan.tif" }}\n')
        relief = arguments.relief.resolve()
        options = ["--threads", str(arguments.threads), "--memory", f"{MEMORY}MiB"]
        plan = subprocess.run([relief, "plan", design, *options], check=True, capture_output=True, text=True).stdout
        planned = re.search(r"^memory +(.*)", plan, re.M)[1]
        command = [relief, "render", design, "--device", "cpu", *options]
        command += ["--region", f"0,{(SIDE - rows) // 2},{SIDE}x{rows}", "-f", "null"]
        load, start = os.getloadavg(), time.perf_counter()
        told = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        version = subprocess.run([relief, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    pixels = SIDE * rows
    part = "all" if rows == SIDE else f"{rows} rows, {100 * rows / SIDE:.0f} %,"
    text = "\n".join([
        f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {version}, {model[1] if model else 'unknown processor'}, {arguments.threads} threads, "
        f"load {load[0]:.1f} before and {os.getloadavg()[0]:.1f} after",
        f"box radius={arguments.radius} of a TIFF of {SIDE} × {SIDE} pixels, 200 Gpx, in holes; --memory {MEMORY}MiB; {part} of it rendered to nothing",
        f"{pixels / 1e9:.1f} Gpx in {seconds:.1f} s: {pixels / seconds / 1e9:.3f} Gpx/s; {usage.ru_utime + usage.ru_stime:.1f} processor seconds: "
        f"{pixels / (usage.ru_utime + usage.ru_stime) / 1e9:.3f} Gpx for each",
        f"the most memory that it had: {usage.ru_maxrss / 1024:.0f} MiB; the plan: {planned}",
        told.stdout.strip().splitlines()[-1].split(": ", 1)[-1] if told.stdout.strip() else "",
    ])
    print(text)
    if arguments.record:
        arguments.record.write_text(text + "\n")
    if usage.ru_maxrss / 1024 > MEMORY + PROGRAM:
        sys.exit(f"more memory than {MEMORY} MiB and {PROGRAM} MiB for the program")


main()
