"""Measures filters of Relief beside libvips and OpenCV, alternating in one run; started by `run`."""

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
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOUSE = HERE.parent.parent

# Node, and how far samples of a rival may lie off: by how much, and of how many in a thousand.
FILTERS = {
    # Both rivals have weights of eight bits here.
    "gauss": ("gauss sigma=2", {"opencv": (2, 1000), "libvips": (4, 1000)}),
    # libvips rounds after each direction.
    "box": ("box radius=5", {"opencv": (0, 0), "libvips": (5, 1000)}),
    "erode": ("erode radius=7", {"opencv": (0, 0), "libvips": (0, 0)}),
    "sobel": ("sobel", {"opencv": (1, 5), "libvips": None}),
    "median": ("median radius=2", {"opencv": (0, 0), "libvips": (0, 0)}),
}
# A spherical lens array whose pitch is no number of pixels, so that no sample of it repeats: computed pixel by pixel.
LENSES = '''formula "M * (sqrt(max(0, s - u * u - v * v)) - 120) / 30" {
    let "s" "150 * 150"
    let "u" "mod(x, 97.3) - 48.65"
    let "v" "mod(y, 97.3) - 48.65"
}'''
# Pixels a second that it should reach.
LENSES_WANTED = 200e6
# What is asked: so many times the rival's rate.
WANTED = {"opencv": 1.0, "libvips": 2.0}


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        record = measure(arguments, Path(folder))
    date = record["date"][:10]
    place = arguments.record or HOUSE / "bench" / "record" / f"{date}-filters.json"
    Path(place).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    show(record)
    print(f"\n{place}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--relief", required=True)
    parser.add_argument("--side", type=int, default=32_768)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--record")
    parser.add_argument("--filters", nargs="*", default=list(FILTERS), choices=list(FILTERS))
    return parser.parse_args()


class Rival:
    """A process that holds the source, and filters it whenever a line asks for it."""

    def __init__(self, script, source, side, threads):
        command = [sys.executable, str(HERE / script), str(source), str(side), str(threads)]
        environment = {**os.environ, "VIPS_CONCURRENCY": str(threads)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
        )
        self.version = self.process.stdout.readline().strip()

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise RuntimeError(f"no answer to '{question}'")
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure(arguments, folder):
    source = folder / "noise.raw"
    render(arguments, folder, arguments.side, None, source)
    rivals = {}
    for name, script in [("opencv", "with_opencv.py"), ("libvips", "with_libvips.py")]:
        rival = Rival(script, source, arguments.side, arguments.threads)
        if rival.version:
            rivals[name] = rival
        else:
            print(f"left out: {name} cannot be imported", file=sys.stderr)
    record = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "side": arguments.side,
        "threads": arguments.threads,
        "rounds": arguments.rounds,
        "versions": {name: rival.version for name, rival in rivals.items()},
        "load_before": os.getloadavg(),
        "filters": {},
        # What computing the source takes alone, which rivals have in memory.
        "source_seconds": source_alone(arguments, folder),
        "lenses": {"formula": LENSES, "seconds": lenses(arguments, folder)},
    }
    for name in arguments.filters:
        checked = compare(arguments, folder, name, rivals)
        record["filters"][name] = {"checked": checked, "seconds": alternate(arguments, folder, name, rivals)}
    for rival in rivals.values():
        rival.end()
    record["load_after"] = os.getloadavg()
    return record


def design(folder, side, node):
    """A design of noise under a filter."""
    noise = "noise seed=1"
    root = f"{node} {{ (source){noise} }}" if node else noise
    path = folder / "design.kdl"
    path.write_text(f"relief version=1\ncanvas width={side} height={side} bits=8\n{root}\n")
    return str(path)


def render(arguments, folder, side, node, out):
    command = [arguments.relief, "render", design(folder, side, node), "--quiet", "--threads", str(arguments.threads)]
    subprocess.run([*command, "--format", "raw", "--output", str(out), "--force"], check=True)


def compare(arguments, folder, name, rivals):
    """How far the samples of the rivals lie off ours, in the rows that they filter again into a file; beyond what is allowed it is refused."""
    node, allowed = FILTERS[name]
    rows = min(arguments.side, 1_024)
    out = folder / "ours.raw"
    command = [arguments.relief, "render", design(folder, arguments.side, node), "--device", "cpu", "--quiet"]
    region = ["--region", f"0,0,{arguments.side}x{rows}"]
    subprocess.run([*command, *region, "--format", "raw", "--output", str(out), "--force"], check=True)
    found = {}
    for rival, process in rivals.items():
        greatest, thousandths = process.ask(f"compare {name} {rows} {out}").split()
        found[rival] = {"greatest": int(greatest), "thousandths": float(thousandths)}
        limit = allowed[rival]
        if limit and (int(greatest) > limit[0] or float(thousandths) > limit[1]):
            raise SystemExit(f"{rival} {name}: samples differ by up to {greatest}, {thousandths} of 1000")
    return found


def null_command(arguments, path):
    return [arguments.relief, "render", path, "--device", "cpu", "--format", "null", "--quiet", "--threads", str(arguments.threads)]


def source_alone(arguments, folder):
    """Seconds of the noise without a filter."""
    return alone(arguments, design(folder, arguments.side, None))


def lenses(arguments, folder):
    """Seconds of the array of lenses."""
    path = folder / "lenses.kdl"
    path.write_text(f"relief version=1\ncanvas width={arguments.side} height={arguments.side} bits=8\n{LENSES}\n")
    return alone(arguments, str(path))


def alone(arguments, path):
    """Seconds of a design in a process of its own each time; the first is not counted."""
    seconds = []
    for number in range(arguments.rounds + 1):
        start = time.perf_counter()
        subprocess.run(null_command(arguments, path), check=True)
        if number:
            seconds.append(time.perf_counter() - start)
    return seconds


def alternate(arguments, folder, name, rivals):
    """All programs in turn, round after round; the first round warms up and is not counted."""
    path = design(folder, arguments.side, FILTERS[name][0])
    command = null_command(arguments, path)
    seconds = {"relief": [], **{rival: [] for rival in rivals}}
    for number in range(arguments.rounds + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True)
        found = {"relief": time.perf_counter() - start}
        for rival, process in rivals.items():
            found[rival] = float(process.ask(f"run {name}"))
        if number:
            for program, time_taken in found.items():
                seconds[program].append(time_taken)
    return seconds


def processor():
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", text)
    return model.group(1) if model else platform.processor()


def show(record):
    """Medians as a table: megapixels a second, and how many times the rival's rate ours is."""
    pixels = record["side"] ** 2
    programs = ["relief", *record["versions"]]
    print(f"{record['side']}², {record['threads']} threads, {record['processor']}, medians of {record['rounds']}, Mpx/s")
    source = statistics.median(record["source_seconds"])
    print(f"The source alone takes ours {source:.3f} s, {pixels / source / 1e6:.0f} Mpx/s; it is in memory for the others.")
    rate = pixels / statistics.median(record["lenses"]["seconds"])
    below = "" if rate >= LENSES_WANTED else " (below)"
    print(f"A formula of lenses, {rate / 1e6:.0f} Mpx/s; {LENSES_WANTED / 1e6:.0f} are wanted{below}.")
    print(f"| filter | {' | '.join(programs)} | {' | '.join(f'ours / {name}' for name in programs[1:])} |")
    print(f"|---|{'---|' * (2 * len(programs) - 1)}")
    for name, found in record["filters"].items():
        rates = {program: pixels / statistics.median(times) / 1e6 for program, times in found["seconds"].items()}
        times = []
        for program in programs[1:]:
            ratio = rates["relief"] / rates[program]
            times.append(f"{ratio:.2f}{'' if ratio >= WANTED[program] else ' (below)'}")
        print(f"| {name} | {' | '.join(f'{rates[program]:.0f}' for program in programs)} | {' | '.join(times)} |")


main()
