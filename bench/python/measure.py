"""What Python costs: rates of windows, of many windows, of Dask over processes, and of the import.

Run it with a release build on an idle machine: `maturin develop --release && python benches/rates.py`. Each time is the least of
several. The engine by itself is what is left of a window when the call of one pixel is taken away, which is all that Python adds.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import relief_surfaces as relief

SHEET = Path(__file__).resolve().parents[2] / "examples" / "sheet" / "design.kdl"


def least(work: Callable[[], object], times: int) -> float:
    """The least time of a call in seconds."""
    found = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        found = min(found, time.perf_counter() - start)
    return found


def imported() -> float:
    """The least time of an import in a fresh process, in seconds."""
    code = "import time; t = time.perf_counter(); import relief_surfaces; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(9)]
    return min(float(run.stdout) for run in runs)


def main() -> None:
    print(f"import: {1e3 * imported():.1f} ms")
    sheet = relief.open(SHEET)
    out = np.empty((4096, 4096), np.uint8)
    window = sheet.crop(np.s_[900_000:904_096, 1_500_000:1_504_096])
    one = least(lambda: sheet[900_000, 1_500_000], 500)
    filled = least(lambda: window.render(out=out), 30)
    new = least(lambda: sheet[900_000:904_096, 1_500_000:1_504_096], 30)
    pixels = out.size
    print(f"a call: {1e6 * one:.0f} µs at most")
    print(f"4096² into an array: {pixels / filled / 1e9:.2f} Gpx/s, {100 * (1 - one / filled):.1f} % of the engine's")
    print(f"4096² as a new array: {pixels / new / 1e9:.2f} Gpx/s, {100 * (filled - one) / new:.1f} % of the engine's")

    rows, columns = np.random.default_rng(1).integers(0, 1_700_000, (2, 10_000)).tolist()

    def windows() -> None:
        for y, x in zip(rows, columns):
            sheet[y : y + 256, x : x + 256]

    print(f"10 000 windows of 256²: {10_000 / least(windows, 2):.0f} a second")

    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return
    # Windows that take long enough for a scheduler.
    text = "relief version=1\ncanvas width=16384 height=16384\ngauss sigma=12 { (source)noise seed=3 }"
    alone = relief.parse(text, threads=1)
    region = np.s_[:8192, :8192]
    single = least(lambda: [alone[y : y + 2048, x : x + 2048].sum() for y in range(0, 8192, 2048) for x in range(0, 8192, 2048)], 2)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        array = alone.dask(region, chunks=2048)
        sums = array.map_blocks(lambda block: block.sum(keepdims=True), chunks=(1, 1), dtype="u8").sum()
        client.compute(sums).result()

        def compute() -> None:
            # The results of before are forgotten.
            client.cancel(list(client.futures))
            client.compute(sums).result()

        print(f"Dask over 2 processes: {single / least(compute, 3):.2f} × one thread")


if __name__ == "__main__":
    main()
