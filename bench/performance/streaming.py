"""Measures streaming; started by `streaming`. Writes a dated record and prints its figures."""

import argparse
import datetime
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from measure import HOUSE, device

ROUNDS = 5
DIFFUSED = """relief version=1
canvas width=2000000 height=1800000
scan bits=1 {
    halftone "floyd-steinberg"
}
ramp axis="x" from=0 to=255
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--relief", required=True)
    parser.add_argument("--loopback", required=True)
    arguments = parser.parse_args()
    record = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": "bench/performance/streaming",
        "device": device(),
        "load_before": os.getloadavg(),
    }
    said = subprocess.run([arguments.loopback, "--json"], capture_output=True, text=True, check=True).stdout
    print(said[: said.rindex("\n{")])
    record["loopback"] = json.loads(said.splitlines()[-1])
    with tempfile.TemporaryDirectory() as folder:
        record["sheet_seconds"] = [sheet(arguments.relief, Path(folder)) for _ in range(ROUNDS)]
    for name, options in [("diffusion", []), ("diffusion_high_water_1MB", ["--high-water", "1MB"])]:
        with tempfile.TemporaryDirectory() as folder:
            record[name] = diffusion(arguments.relief, Path(folder), options)
    record["load_after"] = os.getloadavg()
    print(f"the sheet of 3.6 TB, taken up in its middle: {statistics.median(record['sheet_seconds']):.3f} s to its first line")
    for name in ["diffusion", "diffusion_high_water_1MB"]:
        print(f"{name}, taken up after a crash: {statistics.median(record[name]['seconds']):.2f} s {record[name]}")
    place = HOUSE / "bench" / "record" / f"{record['date'][:10]}-streaming.json"
    place.write_text(json.dumps(record, indent=1) + "\n")
    print(place)


class Machine:
    """A receiver that executes so many lines a second into a file."""

    def __init__(self, relief, folder, output, lines):
        command = [relief, "receive", "--listen", "tcp://127.0.0.1:0", "-o", output, "--line-rate", str(lines)]
        command += ["--largest", "4MiB"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def sender(relief, folder, *arguments):
    command = [relief, "stream", *arguments, "--device", "cpu", "--quiet"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(condition, process, patience=120):
    start = time.perf_counter()
    while not condition():
        if time.perf_counter() - start > patience or process.poll() is not None:
            raise RuntimeError("it never happens")
        time.sleep(0.001)


def size(path):
    return path.stat().st_size if path.exists() else 0


def sheet(relief, folder):
    """Seconds from the start of the process to the first line executed, where half of the sheet is done."""
    design = HOUSE / "examples" / "sheet" / "design.kdl"
    manifest, first, second = folder / "job.json", folder / "first", folder / "second"
    for path in folder.iterdir():
        path.unlink()
    with Machine(relief, folder, "first", 20) as machine:
        process = sender(relief, folder, str(design), machine.address, "--manifest", "job.json")
        wait_for(lambda: size(first) > 0, process)
        process.kill()
        process.wait()
    job = json.loads(manifest.read_text())
    band, middle, digest = job["cut"]["band"], job["lines"] // 2, "0a" * 32
    job["executed"] = middle
    job["bands"] = [{"first": at * band, "lines": band, "digest": digest} for at in range(middle // band)]
    job["open"] = [digest] * (middle % band // job["cut"]["group"])
    manifest.write_text(json.dumps(job))
    with Machine(relief, folder, "second", 20) as machine:
        start = time.perf_counter()
        process = sender(relief, folder, "--resume", "job.json", "--to", machine.address)
        wait_for(lambda: size(second) > 0, process)
        took = time.perf_counter() - start
        process.kill()
        process.wait()
    return took


def diffusion(relief, folder, options):
    """The same for error diffusion of lines of 2 000 000 pixels at 10 MB/s, after crashes of the sender: each time the
    lines since the last stored state are made again, and the look-ahead fills up to its high-water mark."""
    (folder / "design.kdl").write_text(DIFFUSED)
    output, line, seconds = folder / "out", 250_000, []
    with Machine(relief, folder, "out", 40) as machine:
        process = sender(relief, folder, "design.kdl", machine.address, "--manifest", "job.json")
        wait_for(lambda: size(output) > 0, process)
        for _ in range(3):
            time.sleep(10)
            process.send_signal(signal.SIGKILL)
            process.wait()
            time.sleep(2)  # the machine executes what it has
            executed = size(output)
            start = time.perf_counter()
            process = sender(relief, folder, "--resume", "job.json", *options)
            wait_for(lambda: size(output) > executed, process)
            seconds.append(time.perf_counter() - start)
        lines = size(output) // line
        process.kill()
        process.wait()
    return {"seconds": seconds, "lines_executed": lines}


if __name__ == "__main__":
    main()
