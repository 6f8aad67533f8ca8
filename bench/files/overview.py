#!/usr/bin/env python3
"""Says what the overview costs that `relief render` leaves behind: the same raster is written with and without one in turn.

    bench/files/overview.py target/release/relief [--side 32768] [--rounds 7] [--record FILE]

The raster is examples/texture on a square canvas of so many pixels, as raw samples in TMPDIR. The first round is not counted. Needs Python alone.
"""

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("relief")
    parser.add_argument("--side", type=int, default=32_768)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--record")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        record = measure(arguments, Path(folder))
    for name, figures in record["seconds"].items():
        print(f"{name:8} {figures['wall']:.3f} s, {figures['processor']:.3f} s of processor")
    print(f"the overview takes {record['wall']:+.1%} of the time, {record['processor']:+.1%} of the processor, {record['bytes']:.4%} of the bytes")
    if arguments.record:
        Path(arguments.record).write_text(json.dumps(record, indent=1) + "\n")


def measure(arguments, folder):
    design = folder / "design.kdl"
    text = (HOUSE / "examples" / "texture" / "design.kdl").read_text()
    text, found = re.subn(r"(?m)^canvas .*$", f"canvas width={arguments.side} height={arguments.side} bits=8", text)
    assert found == 1, "the example has one canvas"
    design.write_text(text)
    for picture in (HOUSE / "examples" / "texture").glob("*.png"):
        shutil.copy(picture, folder)
    out = folder / "out.raw"
    ways = {"without": "--no-overview", "with": "--overview"}
    seconds = {name: {"wall": [], "processor": []} for name in ways}
    for number in range(arguments.rounds + 1):
        for name, flag in ways.items():
            out.unlink(missing_ok=True)
            os.sync()
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            command = [arguments.relief, "render", str(design), "--device", "cpu", "--quiet", "--output", str(out), flag]
            subprocess.run(command, check=True)
            wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            if number:
                seconds[name]["wall"].append(wall)
                seconds[name]["processor"].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    medians = {name: {what: statistics.median(times) for what, times in figures.items()} for name, figures in seconds.items()}
    ratio = lambda what: medians["with"][what] / medians["without"][what] - 1
    share = Path(f"{out}.overview").stat().st_size / out.stat().st_size
    return {
        "side": arguments.side,
        "rounds": arguments.rounds,
        "cores": os.cpu_count(),
        "seconds": medians,
        "all": seconds,
        "wall": ratio("wall"),
        "processor": ratio("processor"),
        "bytes": share,
    }


main()
