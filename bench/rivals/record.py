"""The record of a rival, as `relief lab run --rivals` reads it: lines of JSON, appended to a file.

{"tool": {"tool", "version", "device", "driver", "date", "command"}}        what was measured, on what; then, for each case,
{"rival": {"ladder", "case", "name", "median", "p10", "p90", "samples", "right"}}   seconds of a call, and what the result was compared with
{"failed": {"ladder", "case", "name", "reason"}}                            or why there are none

`ladder` and `case` are the lab's own words for the problem. Nothing is timed that is not right.
"""

import datetime
import json
import re
import time
from pathlib import Path


class Record:
    """Appends to a file; `sample(run, budget)` measures seconds of calls `run(i)`, `poison` runs before a check."""

    def __init__(self, path, tool, version, device, driver, command, sample):
        self.file = open(path, "a", encoding="utf-8")
        self.sample = sample
        now = datetime.datetime.now(datetime.timezone.utc)
        self.line(
            tool={
                "tool": tool,
                "version": version,
                "device": device,
                "driver": driver,
                "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "command": command,
            }
        )

    def line(self, **content):
        self.file.write(json.dumps(content, ensure_ascii=False) + "\n")
        self.file.flush()

    def rival(self, ladder, case, name, how, run, check, budget=0.4, also=()):
        """Checks `run(0)` by `check()`, which says what differs or nothing, then times `run(i)`. `also` are other ladders and cases
        that this is a rival of."""
        try:
            run(0)
            wrong = check()
            seconds = None if wrong else sorted(self.sample(run, budget))
        except Exception as error:  # Whatever a library throws; the others go on.
            wrong = f"{type(error).__name__}: {error}"[:300]
        rows = [{"ladder": of, "case": what, "name": name} for of, what in [(ladder, case), *also]]
        if wrong:
            for row in rows:
                self.line(failed={**row, "reason": wrong})
            print(f"{ladder}, {case}: {name}: FAILED: {wrong}", flush=True)
            return
        middle, low, high = (quantile(seconds, q) for q in (0.5, 0.1, 0.9))
        times = {"median": middle, "p10": low, "p90": high, "samples": len(seconds)}
        for row in rows:
            self.line(rival={**row, **times, "right": how})
        print(f"{ladder}, {case}: {name}: {middle * 1e3:.4g} ms", flush=True)


def quantile(ordered, q):
    """Interpolated between neighbours, as the lab does."""
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def wall(run, budget):
    """Seconds of calls by the clock of the host."""
    start = time.perf_counter()
    run(0)
    about = time.perf_counter() - start
    batch = 1 if about > 1e-3 else 10
    found = []
    for number in range(max(3, min(30, int(budget / (about * batch))))):
        start = time.perf_counter()
        for k in range(batch):
            run(number * batch + k)
        found.append((time.perf_counter() - start) / batch)
    return found


AWAKE = 0.3
BATCH = 0.01


def events(new, elapsed, synchronize):
    """Seconds of calls by the clock of a device: `new()` makes an event, `elapsed(a, b)` says milliseconds.

    All calls are asked for before the first is waited for, so that the device never waits for the host. As in the lab's own runs the device is
    at work for AWAKE seconds before the first is timed, and each time is that of BATCH seconds of calls: its clock falls with the work."""

    def timed(run, first, batch, count):
        pairs = []
        for number in range(count):
            start, end = new(), new()
            start.record()
            for k in range(batch):
                run(first + number * batch + k)
            end.record()
            pairs.append((start, end))
        synchronize()
        return [elapsed(start, end) * 1e-3 / batch for start, end in pairs]

    def sample(run, budget):
        run(0)
        synchronize()
        (about,) = timed(run, 1, 1, 1)
        if about < budget:
            about = min([about, *timed(run, 2, 1, 1)])
        batch = max(1, min(1000, int(BATCH / about)))
        if about < AWAKE:
            timed(run, 3, batch, max(1, int(AWAKE / (about * batch))))
        return timed(run, 3, batch, max(3, min(40, int(budget / (about * batch)))))

    return sample


def rotation(moved, most=16):
    """How many copies of a working set keep caches from answering, or as many as may be."""
    return 1 if moved >= 480e6 else min(most, 1 + int(480e6 / moved))


def processor():
    """The name of the processor, as the lab says it."""
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return found.group(1).strip() if found else "unknown"


def power(n):
    """A count as the lab writes it."""
    if n >= 1024 and n & (n - 1) == 0:
        return f"2^{n.bit_length() - 1}"
    return f"{n:,}".replace(",", " ")
