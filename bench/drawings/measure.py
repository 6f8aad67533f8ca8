"""Measures drawings of Relief beside other programs, in turn in one run; started by `run`."""

import argparse
import datetime
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import shapely

import inputs

HERE = Path(__file__).resolve().parent
HOUSE = HERE.parent.parent
FONT = HOUSE / "examples" / "plate" / "FredokaOne-Regular.ttf"
WORDS = "every tile of this page is the same on every machine and its letters are as exact as their outlines".split()
SCENES = ["polygons", "large", "ring"]
RENDERERS = ["skia", "cairo", "tiny-skia"]
# Columns and rows of what is compared with exact coverage.
WINDOW = 96


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--relief", required=True, type=Path)
    parser.add_argument("--side", type=int, default=50_000, help="columns and rows of the layout, in micrometres")
    parser.add_argument("--page", type=int, default=20_000, help="columns and rows of the page and of the ring")
    parser.add_argument("--scene", type=int, default=8_192)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="parts whose name has this text: layout, pages, scenes")
    parser.add_argument("--record", type=Path)
    return parser.parse_args()


class Bench:
    def __init__(self, arguments, folder):
        self.relief, self.threads, self.folder = arguments.relief.resolve(), arguments.threads, folder

    def design(self, name, side, body, pixel=""):
        path = self.folder / f"{name}.kdl"
        path.write_text(f"relief version=1\ncanvas width={side} height={side} bits=8{pixel}\n{body}\n")
        return path

    def render(self, design, *options):
        """Seconds of the whole process, processor seconds, and what it says of its rate."""
        command = [str(self.relief), "render", str(design), "--device", "cpu", "--threads", str(self.threads), *map(str, options)]
        before = children()
        start = time.perf_counter()
        told = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        found = re.search(r"in ([0-9.]+) s, ([0-9.]+) ([GM])px/s", told.stdout + told.stderr)
        rate = float(found[2]) * (1e9 if found[3] == "G" else 1e6) if found else None
        return {"seconds": seconds, "processor": children() - before, "rendering_rate": rate}

    def rival(self, *arguments):
        command = [sys.executable, str(HERE / "rival.py"), *map(str, arguments)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def rows_of_tiff(path, side):
    """Packed rows of an uncompressed 1-bit TIFF of strips, by its tags."""
    import struct

    with open(path, "rb") as file:
        head = file.read(16)
        order = "<" if head[:2] == b"II" else ">"
        big = struct.unpack(order + "H", head[2:4])[0] == 43
        (place,) = struct.unpack(order + ("Q" if big else "I"), head[8:16] if big else head[4:8])
        file.seek(place)
        (count,) = struct.unpack(order + ("Q" if big else "H"), file.read(8 if big else 2))
        sizes = {3: "H", 4: "I", 16: "Q"}
        tags = {}
        for _ in range(count):
            entry = file.read(20 if big else 12)
            tag, kind = struct.unpack(order + "HH", entry[:4])
            (number,) = struct.unpack(order + ("Q" if big else "I"), entry[4:12] if big else entry[4:8])
            value = entry[12:] if big else entry[8:]
            if kind not in sizes:
                continue
            length = struct.calcsize(sizes[kind]) * number
            if length > len(value):
                (at,) = struct.unpack(order + ("Q" if big else "I"), value)
                back = file.tell()
                file.seek(at)
                value = file.read(length)
                file.seek(back)
            tags[tag] = struct.unpack(f"{order}{number}{sizes[kind]}", value[:length])
        assert (tags[256][0], tags[257][0], tags.get(258, (1,))[0]) == (side, side, 1), tags
        inverted = tags[262][0] == 0
        row = (side + 7) // 8
        for offset, length in zip(tags[273], tags[279]):
            file.seek(offset)
            strip = np.frombuffer(file.read(length), np.uint8).reshape(-1, row)
            yield ~strip if inverted else strip


def differing(one, other, side):
    """The share of pixels that two files have different."""
    a, b = (np.concatenate(list(rows_of_tiff(path, side))) for path in (one, other))
    different = sum(int(np.bitwise_count(x ^ y).sum()) for x, y in zip(np.array_split(a, 64), np.array_split(b, 64)))
    return different / side**2


def layout(bench, arguments):
    side = arguments.side
    flat = bench.folder / "flat.gds"
    inputs.flat(flat, side)
    body = f'gds "{flat}" origin="datum" width={side} height={side} value=255 antialias="none"'
    design = bench.design("flat", side, body, ' pixel="1um"')
    files = {name: bench.folder / f"{name}.tif" for name in ("relief", "klayout", "gdal")}
    times = {name: [] for name in files}
    for _ in range(arguments.rounds):
        times["relief"].append(bench.render(design, "--bits", 1, "-o", files["relief"], "-q"))
        times["klayout"].append(bench.rival("klayout", flat, side, files["klayout"]))
        times["gdal"].append(bench.rival("gdal", flat, side, files["gdal"]))
    record = {"name": f"{(side // inputs.PITCH) ** 2} polygons to a 1-bit TIFF of {side} × {side}", "series": times}
    record["differing"] = {name: differing(files["relief"], files[name], side) for name in ("klayout", "gdal")}
    # GDAL has the same rule of centres, but not points and crossings in 1/256 px; the viewer of KLayout draws edges as lines.
    assert record["differing"]["gdal"] < 1e-3, record["differing"]
    assert record["differing"]["klayout"] < 0.05, record["differing"]
    record["ratios"] = [ratio(times, "klayout", 5), ratio(times, "gdal", 5)]
    arrays = bench.folder / "arrays.gds"
    inputs.arrays(arrays)
    body = f'gds "{arrays}" origin="datum" width=50000 height=50000 value=255'
    design = bench.design("arrays", 50_000, body, ' pixel="1um"')
    start = time.perf_counter()
    subprocess.run([bench.relief, "plan", design], check=True, capture_output=True)
    record["arrays"] = {"polygons": 10**8, "plan_seconds": time.perf_counter() - start}
    return record


def ratio(times, rival, wanted):
    found = statistics.median(theirs["seconds"] / ours["seconds"] for ours, theirs in zip(times["relief"], times[rival]))
    return {"what": f"relief ÷ {rival}, speed", "ratio": found, "wanted": wanted, "reached": found >= wanted}


def pages(bench, arguments):
    side = arguments.page
    # As many letters as a text may have.
    texts = [" ".join(WORDS[(7 * line + k) % len(WORDS)] for k in range(13)) for line in range(58)]
    text = "\\n".join(texts)[:4000]
    body = f'text "{text}" font="{FONT}" size={side // 75} x={side // 50} y={side // 50} value=255'
    records = []
    inputs.svg(bench.folder / "ring.svg", side, f'<path fill="#fff" d="{inputs.path_of([inputs.ring(1_000_000, side)])}"/>')
    designs = {
        "a page of text": bench.design("page", side, "compose {\n    (base)" + body + "\n}"),
        "a polygon of 10^6 edges": bench.design("ring", side, f'svg "{bench.folder / "ring.svg"}" gray="opacity"'),
    }
    for name, design in designs.items():
        runs = [bench.render(design, "-f", "null") for _ in range(max(arguments.rounds, 3))]
        rendering = statistics.median(run["rendering_rate"] for run in runs)
        whole = side**2 / statistics.median(run["seconds"] for run in runs)
        records.append({"name": f"{name}, {side} × {side}", "series": {"relief": runs}, "rendering_gpxps": rendering / 1e9,
                        "whole_process_gpxps": whole / 1e9, "wanted": 1, "reached": whole >= 1e9})
    return records


def exact(name, side, at):
    """The share of every pixel of a window that is covered, by Shapely."""
    left, top = at
    window = shapely.box(left, top, left + WINDOW, top + WINDOW)
    near = [shapely.Polygon(points) for points in inputs.scene(name, side)]
    near = shapely.union_all([shapely.intersection(shapely.make_valid(shape), window) for shape in near if shape.intersects(window)])
    shares = np.zeros((WINDOW, WINDOW))
    # Parts first: what a pixel is cut from should have few edges.
    part = 8
    for y in range(0, WINDOW, part):
        for x in range(0, WINDOW, part):
            here = shapely.intersection(near, shapely.box(left + x, top + y, left + x + part, top + y + part))
            if here.is_empty:
                continue
            xs, ys = np.meshgrid(np.arange(left + x, left + x + part), np.arange(top + y, top + y + part))
            shares[y : y + part, x : x + part] = shapely.area(shapely.intersection(shapely.box(xs, ys, xs + 1, ys + 1), here))
    return shares


def scenes(bench, arguments):
    side = arguments.scene
    for name in SCENES:
        outlines = inputs.scene(name, side)
        inputs.svg(bench.folder / f"{name}.svg", side, "".join(f'<path fill="#fff" d="{inputs.path_of([one])}"/>' for one in outlines))
        design = bench.design(name, side, f'svg "{bench.folder / f"{name}.svg"}" gray="opacity"')
        pixels, times = {}, {name: [] for name in ["relief", *RENDERERS]}
        bench.render(design, "-f", "raw", "-o", bench.folder / "scene.raw", "-q")
        pixels["relief"] = np.fromfile(bench.folder / "scene.raw", np.uint8).reshape(side, side)
        for _ in range(max(arguments.rounds, 3)):
            run = bench.render(design, "-f", "null")
            run["seconds"] = side**2 / run["rendering_rate"]
            times["relief"].append(run)
            for rival in RENDERERS:
                times[rival].append(bench.rival(rival, name, side, bench.folder / f"{rival}.npy"))
        for rival in RENDERERS:
            pixels[rival] = np.load(bench.folder / f"{rival}.npy", mmap_mode="r")
        # Around corners of outlines.
        corners = [outlines[0][0], outlines[len(outlines) // 2][0], outlines[-1][len(outlines[-1]) // 2]]
        places = [tuple(min(max(int(v) - WINDOW // 2, 0), side - WINDOW) for v in corner) for corner in corners]
        errors = {}
        for program, samples in pixels.items():
            off = []
            for at in places:
                window = samples[at[1] : at[1] + WINDOW, at[0] : at[0] + WINDOW].astype(float)
                off.append(np.abs(window - 255 * exact(name, side, at)))
            off = np.concatenate(off)
            edges = off[off > 0.5]
            errors[program] = {"greatest": float(off.max()), "mean_of_edges": float(edges.mean()) if edges.size else 0.0}
        yield {"name": f"{name}, {side} × {side}", "series": times, "errors": errors,
               "ratios": [ratio(times, rival, 2) for rival in RENDERERS]}


def show(record):
    print(f"{record['date']}, {record['processor']}, load {record['load_before'][0]:.1f} to {record['load_after'][0]:.1f}")
    print(f"{record['relief']}, {record['threads']} threads; {record['versions']}\n")
    for part in record["parts"]:
        print(part["name"])
        for name, runs in part["series"].items():
            seconds, used = (statistics.median(run[key] for run in runs) for key in ("seconds", "processor"))
            error = part.get("errors", {}).get(name)
            error = f", off by {error['greatest']:.1f} of 255 at most" if error else ""
            print(f"  {name:10} {seconds:8.3f} s, {used:8.3f} processor s{error}")
        for ratio_ in part.get("ratios", []):
            print(f"  {ratio_['what']}: {ratio_['ratio']:.2f}, wanted {ratio_['wanted']}")
        for key in ("differing", "arrays", "rendering_gpxps", "whole_process_gpxps"):
            if key in part:
                print(f"  {key}: {part[key]}")


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, Path(folder))
        version = subprocess.run([bench.relief, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        record = {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "processor": model[1] if model else platform.processor(),
            "cores": os.cpu_count(),
            "relief": version,
            "threads": arguments.threads,
            "versions": bench.rival("versions"),
            "load_before": os.getloadavg(),
            "parts": [],
        }
        if arguments.only in "pages":
            record["parts"] += pages(bench, arguments)
        if arguments.only in "scenes":
            record["parts"] += scenes(bench, arguments)
        if arguments.only in "layout":
            record["parts"].append(layout(bench, arguments))
        record["load_after"] = os.getloadavg()
    place = arguments.record or HOUSE / "bench" / "record" / f"{record['date'][:10]}-drawings.json"
    place.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    show(record)


main()
