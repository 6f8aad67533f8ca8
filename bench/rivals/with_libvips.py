"""Relief and libvips on the same graphs, in turn, whole rasters to nowhere: `with_libvips.py RECORD`.

Relief is the whole process, its start included; libvips is already loaded. RELIEF is the program, else this workspace's last release build;
THREADS how many threads both have (2).
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOUSE = HERE.parent.parent
sys.path.insert(0, str(HOUSE / "bench" / "performance"))

from processes import peak  # noqa: E402
from record import Record, processor, quantile  # noqa: E402
from workers import optional  # noqa: E402

RELIEF = os.environ.get("RELIEF", str(HOUSE / "target" / "release" / "relief"))
THREADS = os.environ.get("THREADS", "2")
SIZE = (32768, 32768)
SMALL = (301, 203)
ROUNDS = 9

REPEAT = 'repeat {{ (pattern)image "{}.pgm"; }}'
DESIGNS = {
    "repeat": REPEAT.format(100),
    "repeat-table": "map {{ gamma 2.2; (source)" + REPEAT.format(100) + "; }}",
    "compose": "map {{ gamma 2.2; (source)compose {{ (base)" + REPEAT.format(100) + "; (max)" + REPEAT.format(64) + "; }}; }}",
}
IN_LIBVIPS = {"repeat": "replicate", "repeat-table": "replicate, maplut", "compose": "two replicates, bandrank, maplut"}


def design(folder, name, width, height):
    path = folder / f"{name}-{width}.kdl"
    root = DESIGNS[name].replace("{{", "{").replace("}}", "}")
    path.write_text(f"relief version=1\ncanvas width={width} height={height}\n{root}\n")
    return str(path)


def main():
    libvips = optional(sys.executable, str(HERE / "libvips.py"), VIPS_CONCURRENCY=THREADS)
    if not libvips:
        print("left out: libvips cannot be loaded (Debian: libvips42)")
        return
    if not os.access(RELIEF, os.X_OK):
        print(f"left out: libvips beside Relief: there is no {RELIEF} (RELIEF)")
        return
    version = re.search(r"[\d.]+", libvips.version).group(0)
    record = Record(sys.argv[1], "libvips", version, processor(), f"{THREADS} threads", "bench/rivals/run OUT cpu", None)
    with tempfile.TemporaryDirectory() as folder:
        for side in (100, 64):
            libvips.ask(f"pattern {side} {side} {folder}/{side}.pgm")
        for name in DESIGNS:
            compare(record, libvips, Path(folder), name)
    libvips.end()


def compare(record, libvips, folder, name):
    """Both on one graph, round after round; the first round warms up."""
    case = f"{name}, {SIZE[0]} × {SIZE[1]} u8, {THREADS} threads"
    ours, theirs = folder / "ours.pgm", folder / "theirs.pgm"
    command = [RELIEF, "render", "--device", "cpu", "--threads", THREADS, "--quiet"]
    subprocess.run([*command, design(folder, name, *SMALL), "--output", str(ours)], check=True)
    libvips.ask(f"{name} {SMALL[0]} {SMALL[1]} {theirs}")
    pixels = SMALL[0] * SMALL[1]
    if ours.read_bytes()[-pixels:] != theirs.read_bytes()[-pixels:]:
        for program in ("libvips", "relief render"):
            record.line(failed={"ladder": "graph", "case": case, "name": program, "reason": "the samples of the two differ"})
        print(f"graph, {case}: FAILED: the samples of the two differ")
        return
    whole = [*command, design(folder, name, *SIZE), "--format", "null"]
    found = {"libvips": [], "relief render": []}
    for number in range(ROUNDS + 1):
        seconds = {
            "libvips": float(libvips.ask(f"{name} {SIZE[0]} {SIZE[1]}").split()[0]),
            "relief render": peak(whole)[1],
        }
        if number:
            for program, each in seconds.items():
                found[program].append(each)
    ratios = sorted(a / b for a, b in zip(found["libvips"], found["relief render"]))
    how = f"the samples of both on {SMALL[0]} × {SMALL[1]}"
    for program, seconds in found.items():
        seconds.sort()
        middle, low, high = (quantile(seconds, q) for q in (0.5, 0.1, 0.9))
        called = f"libvips: {IN_LIBVIPS[name]}" if program == "libvips" else program
        times = {"median": middle, "p10": low, "p90": high, "samples": len(seconds)}
        record.line(rival={"ladder": "graph", "case": case, "name": called, **times, "right": how})
        print(f"graph, {case}: {called}: {middle * 1e3:.4g} ms, {SIZE[0] * SIZE[1] / middle / 1e9:.3g} Gpx/s")
    print(f"graph, {case}: Relief is {quantile(ratios, 0.5):.3g} × libvips ({quantile(ratios, 0.1):.3g}–{quantile(ratios, 0.9):.3g}, round by round)", flush=True)


if __name__ == "__main__":
    main()
