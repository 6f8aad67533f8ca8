"""Measures Relief beside ceilings and rivals; started by `run`. Writes a dated record and prints its tables."""

import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import processes
from workers import Worker, optional

HERE = Path(__file__).resolve().parent
HOUSE = HERE.parent.parent
MIB = 1 << 20
BAND = MIB // 2  # of the jobs without a halo that are measured
MASKS = ["1%", "0.01%", "50%", "lines"]


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        record = measure(arguments, Path(folder))
    place = HOUSE / "bench" / "record" / f"{record['date'][:10]}-performance.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    show(record)
    print(f"\n{place}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--relief", required=True)
    parser.add_argument("--stopwatch", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sheet-seconds", type=float, default=60)
    return parser.parse_args()


def measure(arguments, folder):
    threads, relief = arguments.threads, arguments.relief
    stopwatch = Worker(arguments.stopwatch)
    stopwatch.ask(f"write {folder}")
    opencv = optional(os.environ.get("OPENCV_PYTHON", sys.executable), str(HERE / "opencv.py"))
    libvips = optional(sys.executable, str(HOUSE / "bench" / "rivals" / "libvips.py"), VIPS_CONCURRENCY=str(threads))
    record = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "device": device(),
        "threads": threads,
        "opencv": opencv and opencv.version,
        "libvips": libvips and libvips.version,
        "load_before": os.getloadavg(),
    }
    record["periodic"] = alternate(periodic(stopwatch, libvips, threads, relief, folder), arguments.rounds)
    stopwatch.ask("forget")
    record["distance"] = {}
    for mask in MASKS:
        # The slowest series take seconds: fewer rounds.
        series = distances(stopwatch, opencv, threads, relief, folder, mask)
        record["distance"][mask] = alternate(series, max(3, arguments.rounds * 2 // 3))
        stopwatch.ask("forget")
    for worker in filter(None, [stopwatch, opencv, libvips]):
        worker.end()
    record["memory"] = memories(relief, folder, threads)
    record["refused"] = processes.refused(relief, wide(folder, 100_000), "64KiB")
    record["start_up"] = start_ups(relief, folder, arguments.rounds * 4)
    record["first_band_seconds"] = processes.first_bands(relief, sheet(), arguments.rounds)
    record["sheet"] = processes.sheet(relief, sheet(), threads, arguments.sheet_seconds)
    record["load_after"] = os.getloadavg()
    return record


def sheet():
    return str(HOUSE / "examples" / "sheet" / "design.kdl")


def device():
    """The machine, in the words of the system."""
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", text)
    total = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    caches = subprocess.run(["lscpu", "-C=NAME,ALL-SIZE"], capture_output=True, text=True, check=False).stdout
    return {
        "processor": model.group(1) if model else platform.processor(),
        "cores": os.cpu_count(),
        "memory_bytes": int(total.group(1)) * 1024,
        "caches": dict(line.split() for line in caches.splitlines()[1:]),
        "system": platform.platform(),
    }


def periodic(stopwatch, libvips, threads, relief, folder):
    """What repeats: ceilings, jobs, rivals."""
    size = 32_768 * 65_536

    def job(name, count):
        return lambda: stopwatch.rate(f"run {name} {count}")

    series = {
        "memset, one band": lambda: stopwatch.rate(f"memset {4 * size} {BAND} {threads}"),
        "memset, all bands": lambda: stopwatch.rate(f"memset {4 * size} {2 * threads * BAND} {threads}"),
        "memset, one band, 1 thread": lambda: stopwatch.rate(f"memset {4 * size} {BAND} 1"),
    }
    names = ["repeat", "repeat-wide", "repeat-table", "lattice", "lattice-direct"]
    for name in [*names, "compose", "compose-direct", "compose-coprime"]:
        series[name] = job(name, threads)
    for name in ["repeat", "repeat-table", "lattice-direct", "compose-direct"]:
        series[f"{name}, 1 thread"] = job(name, 1)
    series["repeat, the program"] = program(relief, folder / "repeat.kdl", threads, size)
    if libvips:
        for name in ["repeat", "repeat-table", "compose"]:
            series[f"libvips {name}"] = lambda name=name: libvips.rate(f"{name} 32768 16384")
    return series


def program(relief, design, threads, pixels):
    """Pixels a second of a whole process."""
    command = [relief, "render", str(design), "--format", "null", "--quiet", "--threads", str(threads)]
    return lambda: pixels / processes.peak(command)[1]


def distances(stopwatch, opencv, threads, relief, folder, mask):
    """Distances of one mask, and OpenCV's."""
    series = {
        f"R = {radius}": lambda radius=radius: stopwatch.rate(f"run distance-{radius}-{mask} {threads}")
        for radius in [15, 100, 1000]
    }
    if mask == "1%":
        for radius in [15, 100]:
            name = f"distance-{radius}-{mask}"
            series[f"R = {radius}, 1 thread"] = lambda name=name: stopwatch.rate(f"run {name} 1")
            design = folder / f"{name}.kdl"
            series[f"R = {radius}, the program"] = program(relief, design, threads, 16_384 * 8_192)
    if opencv:
        path = folder / f"mask-{mask}.pgm"
        series["OpenCV, exact"] = lambda: opencv.rate(f"{path} {threads}")
    return series


def alternate(series, rounds):
    """Runs all series in turn, round after round; the first round warms up and is not counted."""
    rates = {name: [] for name in series}
    loads = []
    for number in range(rounds + 1):
        for name, rate in series.items():
            found = rate()
            if number:
                rates[name].append(found)
        loads.append(os.getloadavg()[0])
    return {"rates": rates, "load": loads}


def memories(relief, folder, threads):
    """Greatest memory beside the plan: every example, and what stresses it."""
    options = ["--threads", str(threads)]
    designs = sorted((HOUSE / "examples").glob("*/design.kdl"))
    rows = [
        processes.memory(relief, f"examples/{design.parent.name}", str(design), *options)
        for design in designs
        if design.parent.name != "sheet"
    ]
    # The first two thousand rows of the sheet: what it takes later is watched for longer.
    rows.append(processes.memory(relief, "examples/sheet, 4 Gpx", sheet(), *options, "--region", "0,0,2000000x2000"))
    low = [*options, "--memory", "64MiB"]
    rows.append(processes.memory(relief, "100 000 wide, 64 MiB", wide(folder, 100_000), *low))
    rows.append(processes.memory(relief, "distance, 1 %, R = 100", str(folder / "distance-100-1%.kdl"), *options))
    return rows


def wide(folder, width):
    """A wide design with everything that takes memory: cells, cached tiles, a halo."""
    path = folder / "wide.kdl"
    path.write_text(
        f"relief version=1\ncanvas width={width} height=20000\ncompose {{\n"
        '    (base)lattice blend="mean" {\n        u 90 20\n        v -15 85\n        (pattern)image "100x100.pgm"\n    }\n'
        "    (max)distance radius=100 {\n        (mask)threshold level=255 { (source)noise seed=3; }\n"
        '        profile "255 * (1 - d / 100)" beyond=0\n    }\n}\n'
    )
    return str(path)


def start_ups(relief, folder, rounds):
    """The seconds of commands that compute nothing."""
    group = (
        '    (add)distance radius=40 x="1.5mm" y=-20 {{\n        (mask)disc diameter={0} value=255\n'
        '        profile "255 * (1 - (d / 40) ^ 2)" beyond=0\n    }}\n'
        "    (max)repeat step-x=150 {{\n        (pattern)disc diameter={0} value=200\n    }}\n"
    )
    path = folder / "thousand.kdl"
    body = "".join(group.format(20 + number % 50) for number in range(250))
    path.write_text(f'relief version=1\ncanvas width="20mm" height="12mm" pixel="10um"\ncompose {{\n{body}}}\n')
    commands = {"--help": [relief, "--help"], "check, 1 000 nodes": [relief, "check", str(path)]}
    return processes.start_ups(commands, rounds)


def spread(values):
    """Median, p10, p90."""
    ordered = sorted(values)
    at = lambda share: ordered[round(share * (len(ordered) - 1))]
    return statistics.median(ordered), at(0.1), at(0.9)


def ratio(rates, name, other):
    """The spread of the ratio of two series, round by round."""
    return spread([a / b for a, b in zip(rates[name], rates[other])])


def rates_table(title, group, others):
    """Rates, and ratios to other series of the same rounds."""
    rates = group["rates"]
    others = [other for other in others if other in rates]
    lines = [f"| {title} | Gpx/s (p10–p90) | " + " | ".join(f"÷ {other}" for other in others) + " |"]
    lines.append("|---" * (2 + len(others)) + "|")
    for name, values in rates.items():
        middle, low, high = (value / 1e9 for value in spread(values))
        cells = [f"{ratio(rates, name, other)[0]:.3g}" for other in others]
        lines.append(f"| {name} | {middle:.3g} ({low:.3g}–{high:.3g}) | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def show(record):
    """The tables of a record, in Markdown."""
    print(f"\n{record['date']}, {record['device']['processor']}, {record['threads']} threads")
    ceilings = ["memset, one band", "memset, one band, 1 thread", "repeat", "libvips repeat", "libvips repeat-table", "libvips compose"]
    print("\n" + rates_table("job", record["periodic"], ceilings))
    for mask, group in record["distance"].items():
        print("\n" + rates_table(f"distance, {mask}", group, ["OpenCV, exact"]))
    print("\n| job | plan, MiB | peak RSS, MiB | above the plan, MiB | seconds |\n|---|---|---|---|---|")
    for row in record["memory"]:
        sizes = [row[key] / MIB for key in ("plan_bytes", "resident_bytes", "above_plan_bytes")]
        print(f"| {row['name']} | " + " | ".join(f"{size:.1f}" for size in sizes) + f" | {row['seconds']:.2f} |")
    print(f"\nrefused: {record['refused']}")
    for name, values in record["start_up"].items():
        print(f"{name}: " + "{:.1f} ms ({:.1f}–{:.1f})".format(*(value * 1e3 for value in spread(values))))
    print(f"first band: {record['first_band_seconds']:.3f} s")
    print(f"sheet: {record['sheet']}")


if __name__ == "__main__":
    main()
