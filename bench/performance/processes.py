"""What whole processes of the program take: memory, the time to start, the long run of the sheet."""

import json
import os
import signal
import statistics
import subprocess
import threading
import time

MIB = 1 << 20


def resident(pid, field="VmRSS"):
    """Bytes of memory of a process, or 0 where it has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            lines = [line for line in status if line.startswith(field + ":")]
    except OSError:
        return 0
    return int(lines[0].split()[1]) * 1024 if lines else 0


def peak(command):
    """Runs a command to its end: its greatest resident memory, and seconds."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return usage.ru_maxrss * 1024, seconds


def planned(relief, design, *options):
    """The peak bytes of a plan."""
    plan = subprocess.run(
        [relief, "plan", design, "--json", *options], capture_output=True, text=True, check=True
    )
    return json.loads(plan.stdout)["peak_bytes"]


def memory(relief, name, design, *options):
    """Greatest resident memory of one job beside its plan."""
    plan = planned(relief, design, *options)
    used, seconds = peak([relief, "render", design, "--format", "null", "--quiet", *options])
    return {
        "name": name,
        "plan_bytes": plan,
        "resident_bytes": used,
        "above_plan_bytes": used - plan,
        "seconds": seconds,
        "holds": used <= plan + 16 * MIB,
    }


def refused(relief, design, limit):
    """What is said where a job does not fit."""
    said = subprocess.run(
        [relief, "plan", design, "--memory", limit], capture_output=True, text=True, check=False
    )
    return {"memory": limit, "exit_code": said.returncode, "message": said.stderr.strip()}


def sheet(relief, design, threads, seconds):
    """The first band and the resident memory of an endless job, watched for a while."""
    plan = planned(relief, design, "--threads", str(threads))
    command = [relief, "render", design, "--format", "null", "--json-progress", "--threads", str(threads)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    lines = []

    def read():
        for line in process.stderr:
            if line.startswith("{"):
                lines.append((time.perf_counter() - start, json.loads(line)))

    reader = threading.Thread(target=read)
    reader.start()
    samples = []
    while time.perf_counter() - start < seconds:
        time.sleep(0.5)
        samples.append(resident(process.pid))
    most = resident(process.pid, "VmHWM")
    process.send_signal(signal.SIGINT)
    process.wait()
    reader.join()
    first, (_, latest) = lines[0][0], lines[-1]
    samples = samples[2:]
    return {
        "plan_bytes": plan,
        "resident_bytes": {"least": min(samples), "greatest": max(samples), "samples": len(samples), "peak": most},
        "first_band_seconds": first,
        "pixels_per_second": latest["pixels_per_second"],
        "whole_sheet_seconds": latest["total"] / latest["pixels_per_second"],
        "watched_seconds": seconds,
    }


def first_bands(relief, design, times):
    """Seconds from the start of the process to the first band, again and again."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        process = subprocess.Popen(
            [relief, "render", design, "--format", "null", "--json-progress"], stderr=subprocess.PIPE, text=True
        )
        for line in process.stderr:
            if line.startswith("{"):
                break
        found.append(time.perf_counter() - start)
        process.kill()
        process.wait()
        process.stderr.close()
    return statistics.median(found)


def start_ups(commands, rounds):
    """Seconds of each command, alternating; median, p10 and p90."""
    times = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            times[name].append(time.perf_counter() - start)
    return times
