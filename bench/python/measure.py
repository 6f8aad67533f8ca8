"""Windows through Python beside the engine alone, many windows, Dask over processes, and the import. `bench/python/run` starts it."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import relief_surfaces as relief

SHEET = Path(__file__).resolve().parents[2] / "examples" / "sheet" / "design.kdl"
X, Y, SIDE = 1_500_000, 900_000, 4_096
MANY, SMALL = 10_000, 256
# Windows of SIDE in one time: one alone takes a few milliseconds, which a timer's tick or another process doubles.
REPEATS = 20


def taken(work: Callable[[], object]) -> float:
    """The seconds of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class Engine:
    """The engine by itself, in a process of its own."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen(
            [program, str(SHEET)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, *words: object) -> float:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate(timeout=60)


def ratios(rounds: int, engine: Callable[[], float], package: Callable[[], float]) -> dict[str, Any]:
    """The engine's time over the package's, round by round, after one round that is thrown away."""
    engine(), package()
    both = []
    for number in range(rounds):
        # Neither always follows the other.
        if number % 2:
            slow = package()
            both.append((engine(), slow))
        else:
            both.append((engine(), package()))
    found = sorted(one / other for one, other in both)
    return {
        "engine_seconds": statistics.median(one for one, _ in both),
        "package_seconds": statistics.median(other for _, other in both),
        "ratio": statistics.median(found),
        "p10": found[len(found) // 10],
        "p90": found[len(found) - 1 - len(found) // 10],
    }


def imported(rounds: int) -> dict[str, Any]:
    """Imports in fresh processes, in seconds."""
    code = "import time; t = time.perf_counter(); import relief_surfaces; print(time.perf_counter() - t)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(rounds + 1)
    ][1:]
    return {"seconds": statistics.median(runs), "of_50_ms": statistics.median(runs) / 0.05}


def of_dask(rounds: int, side: int, chunk: int) -> dict[str, Any]:
    """The sum of `side` × `side` filtered samples: one thread here, one process of Dask with one thread, and two of them."""
    from distributed import Client, LocalCluster

    text = "relief version=1\ncanvas width=65536 height=65536\ngauss sigma=12 { (source)noise seed=3 }"
    alone = relief.parse(text, threads=1)
    places = [(y, x) for y in range(0, side, chunk) for x in range(0, side, chunk)]
    found = []
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        array = alone.dask(np.s_[:side, :side], chunks=chunk)

        def summed(block: Any, number: int) -> Any:
            return block.sum(keepdims=True, dtype="u8")

        def sums(number: int, workers: list[str] | None = None) -> int:
            # Each round has names of its own, so that no result of one before is taken.
            total = array.map_blocks(summed, number=number, chunks=(1, 1), dtype="u8").sum()
            return int(client.compute(total, workers=workers).result())

        one_worker = list(client.scheduler_info()["workers"])[:1]

        expected = sums(-1)

        def here() -> None:
            assert sum(int(alone[y : y + chunk, x : x + chunk].sum(dtype="u8")) for y, x in places) == expected

        for number in range(rounds):
            alone_took, two = taken(here), taken(lambda: sums(number))
            found.append((alone_took, taken(lambda: sums(-2 - number, one_worker)), two))
    times = sorted(one / two for one, _, two in found)
    return {
        "one_thread_seconds": statistics.median(one for one, _, _ in found),
        "one_process_seconds": statistics.median(one for _, one, _ in found),
        "two_processes_seconds": statistics.median(two for _, _, two in found),
        "ratio": statistics.median(times),
        "to_one_process": statistics.median(one / two for _, one, two in found),
        "side": side,
        "chunk": chunk,
        "all": times,
    }


HALF = """
import sys
import relief_surfaces as relief
surface = relief.parse(sys.argv[1], threads=1)
surface[:64, :64]
print("ready", flush=True)
sys.stdin.readline()
first, last, side = map(int, sys.argv[2:])
print(sum(int(surface[y : y + 4096, x : x + 4096].sum(dtype="u8")) for y in range(first, last, 4096) for x in range(0, side, 4096)), flush=True)
"""


def of_processes(rounds: int, side: int) -> dict[str, Any]:
    """The same sum by one process of one thread, and by two without Dask: what two cores allow."""
    text = f"relief version=1\ncanvas width={side} height={side}\ngauss sigma=12 {{ (source)noise seed=3 }}"

    def together(parts: list[tuple[int, int]]) -> tuple[float, int]:
        all_of_them = [
            subprocess.Popen(
                [sys.executable, "-c", HALF, text, str(first), str(last), str(side)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for first, last in parts
        ]
        for process in all_of_them:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        start = time.perf_counter()
        for process in all_of_them:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        total = sum(int(process.stdout.readline()) for process in all_of_them if process.stdout is not None)
        seconds = time.perf_counter() - start
        for process in all_of_them:
            process.communicate(timeout=60)
        return seconds, total

    found = []
    for _ in range(rounds):
        (one, whole), (two, halves) = together([(0, side)]), together([(0, side // 2), (side // 2, side)])
        assert whole == halves
        found.append(one / two)
    return {"side": side, "ratio": statistics.median(found), "all": sorted(found)}


def processor() -> str:
    """The name of the processor, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", required=True, help="the program of python/benches/engine.rs")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--record", type=Path, help="a file of JSON to write")
    arguments = parser.parse_args()
    rounds = arguments.rounds

    sheet = relief.open(SHEET)
    engine = Engine(arguments.engine)
    window = sheet.crop(np.s_[Y : Y + SIDE, X : X + SIDE])
    out = np.empty((SIDE, SIDE), np.uint8)
    place = (X, Y, SIDE, SIDE)
    record: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": processor(),
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "rounds": rounds,
    }

    def windows() -> float:
        generator = np.random.default_rng(1)
        columns = generator.integers(0, sheet.shape[1] - SMALL, MANY).tolist()
        rows = generator.integers(0, sheet.shape[0] - SMALL, MANY).tolist()

        def read() -> None:
            for y, x in zip(rows, columns):
                sheet[y : y + SMALL, x : x + SMALL]

        return taken(read)

    def asked(word: str) -> float:
        return sum(engine.ask(word, *place) for _ in range(REPEATS))

    def called(work: Callable[[], object]) -> float:
        return sum(taken(work) for _ in range(REPEATS))

    record["into_an_array"] = ratios(rounds, lambda: asked("held"), lambda: called(lambda: window.render(out=out)))
    record["as_a_new_array"] = ratios(
        rounds, lambda: asked("new"), lambda: called(lambda: sheet[Y : Y + SIDE, X : X + SIDE])
    )
    record["many"] = ratios(3, lambda: engine.ask("many", 1, MANY, SMALL, SMALL), windows)
    engine.close()
    record["import"] = imported(min(rounds, 9))
    # The same graph over more and more samples: what Dask takes for its tasks stays.
    for name, rounds, side, chunk in [("dask", 5, 8_192, 2_048), ("dask_gigapixel", 3, 32_768, 4_096), ("dask_longer", 3, 65_536, 8_192)]:
        record[name] = of_dask(rounds, side, chunk)
    record["processes"] = of_processes(3, 32_768)

    rate = MANY / record["many"]["package_seconds"]
    record["many"]["windows_per_second"] = rate
    rows = [
        ("4 096² into an array ÷ the engine", "≥ 0.95", record["into_an_array"]["ratio"], record["into_an_array"]["ratio"] >= 0.95),
        ("4 096² as a new array ÷ the engine", "≥ 0.95", record["as_a_new_array"]["ratio"], record["as_a_new_array"]["ratio"] >= 0.95),
        ("10 000 windows of 256²: a second ÷ 1 000", "≥ 1", rate / 1_000, rate >= 1_000),
        ("… ÷ the engine", "–", record["many"]["ratio"], None),
        ("Dask over two processes ÷ one thread, 64 Mpx", "≥ 1.8", record["dask"]["ratio"], record["dask"]["ratio"] >= 1.8),
        ("… 1 Gpx", "≥ 1.8", record["dask_gigapixel"]["ratio"], record["dask_gigapixel"]["ratio"] >= 1.8),
        ("… 4 Gpx", "≥ 1.8", record["dask_longer"]["ratio"], record["dask_longer"]["ratio"] >= 1.8),
        *(
            (f"Dask over two processes ÷ Dask over one of one thread, {size}", "≥ 1.8", record[name]["to_one_process"], record[name]["to_one_process"] >= 1.8)
            for size, name in [("64 Mpx", "dask"), ("1 Gpx", "dask_gigapixel"), ("4 Gpx", "dask_longer")]
        ),
        ("two processes without Dask ÷ one thread, 1 Gpx", "–", record["processes"]["ratio"], None),
        ("import ÷ 50 ms", "≤ 1", record["import"]["of_50_ms"], record["import"]["of_50_ms"] <= 1),
    ]
    print("| what | target | reached | |\n|---|---|---|---|")
    for what, target, found, reached in rows:
        word = {None: "", True: "reached", False: "missed"}[reached]
        print(f"| {what} | {target} | {found:.3g} | {word} |")
    if arguments.record:
        arguments.record.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
