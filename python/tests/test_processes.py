"""Threads, processes, interruption and memory."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLES, NOISE8, noise

import relief_surfaces as relief


def test_threads_read_at_the_same_time(noise8: Any) -> None:
    surface, whole = noise8
    windows = [np.s_[y : y + 9, x : x + 11] for y in range(0, 40, 4) for x in range(0, 60, 7)]
    with ThreadPoolExecutor(8) as pool:
        for window, found in zip(windows * 5, pool.map(surface.__getitem__, windows * 5)):
            np.testing.assert_array_equal(found, whole[window])


def test_the_interpreter_is_free_while_samples_are_computed() -> None:
    """A thread computes until another, which needs the interpreter, tells it to stop: with the lock held it would never end."""
    surface = relief.parse("relief version=1\ncanvas width=1000000 height=1000000\nnoise seed=1", threads=1)
    started, stop = threading.Event(), threading.Event()

    class Stopped(Exception):
        pass

    def tell(done: int, total: int) -> None:
        started.set()
        if stop.is_set():
            raise Stopped

    raised: list[BaseException] = []

    def compute() -> None:
        try:
            surface.crop(np.s_[:100_000, :]).render(os.devnull, format="raw", progress=tell)
        except Stopped as error:
            raised.append(error)

    thread = threading.Thread(target=compute)
    thread.start()
    assert started.wait(60)
    stop.set()
    thread.join(60)
    assert not thread.is_alive() and len(raised) == 1


FREE = """
import os, sys, threading
import relief_surfaces as relief

# Nobody is made to give the interpreter up but by blocking, or by releasing it.
sys.setswitchinterval(1000)
text = "relief version=1\\ncanvas width=1000000 height=1000000\\nmedian radius=16 { (source)noise seed=1 }"
surface = relief.parse(text, threads=1)
calls = [
    lambda: surface[:5_000],
    lambda: surface[:5_000:2],
    lambda: surface.stats(effort=None),
    lambda: surface.histogram(effort=None),
    lambda: surface.level(12, effort=None)[...],
]
for call in calls:
    begun = threading.Event()

    def compute():
        begun.set()
        call()

    threading.Thread(target=compute, daemon=True).start()
    begun.wait()
    print("free", flush=True)
os._exit(0)
"""


@pytest.mark.skipif((relief._surface._physical() or 0) < 8 << 30, reason="memory for 5 GB that are never written")
def test_no_call_holds_the_interpreter_while_it_computes() -> None:
    """A thread goes on only when the one that computes, for much longer than the test may take, has released the interpreter."""
    done = subprocess.run([sys.executable, "-c", FREE], stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    assert done.stdout == "free\n" * 5


INTERRUPTED = """
import sys
import relief_surfaces as relief

surface = relief.parse("relief version=1\\ncanvas width=1000000 height=1000000\\nnoise seed=1", threads=1)
began = False

def tell(done, total):
    global began
    if not began:
        began = True
        print("computing", flush=True)

try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    # It can be used after that.
    print(surface[0, :3].shape, flush=True)
"""


@pytest.mark.parametrize(
    "call",
    [
        "surface.render(sys.argv[1], format='raw', progress=tell)",
        "print('computing', flush=True); surface.crop((slice(0, 20_000), slice(None))).render()",
        "print('computing', flush=True); surface.stats(effort=None)",
        "print('computing', flush=True); surface.histogram(effort=None)",
        "print('computing', flush=True); relief.parse("
        "'relief version=1\\ncanvas width=1000000 height=1000000\\nequalise { (source)noise seed=1 }')",
    ],
    ids=["file", "array", "stats", "histogram", "preparation"],
)
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_interrupts(call: str, tmp_path: Path) -> None:
    file = tmp_path / "a.raw"
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(call=call), str(file)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "computing\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (out, process.returncode) == ("interrupted\n(3,)\n", 0)
    assert list(tmp_path.iterdir()) == []


def test_pickles_are_small_and_name_the_file(tmp_path: Path) -> None:
    for file in (EXAMPLES / "texture").iterdir():
        shutil.copy(file, tmp_path)
    file = tmp_path / "design.kdl"
    surface = relief.open(file, threads=1)
    pickled = pickle.dumps(surface)
    assert len(pickled) < 2_000
    again = pickle.loads(pickled)
    window = np.s_[900:950, 1_500:1_600]
    np.testing.assert_array_equal(again[window], surface[window])
    part = pickle.loads(pickle.dumps(surface.crop(window).crop(np.s_[5:, 7:])))
    np.testing.assert_array_equal(part[...], surface[window][5:, 7:])
    level = pickle.loads(pickle.dumps(surface.level(5)))
    np.testing.assert_array_equal(level[20:22, 30:33], surface.level(5)[20:22, 30:33])

    # The file of a picture, then that of the design, is another: the message names it.
    for name in ("cell.png", "design.kdl"):
        kept = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(kept + b"\n// other\n" if name == "design.kdl" else (EXAMPLES / "sheet" / "logo.png").read_bytes())
        changed = pickle.dumps(relief.open(file, threads=1))
        (tmp_path / name).write_bytes(kept)
        with pytest.raises(relief.DigestMismatch) as other:
            pickle.loads(changed)
        assert name in str(other.value) and other.value.expected != other.value.found
    (tmp_path / "cell.png").unlink()
    with pytest.raises((relief.DesignError, relief.ReliefError)):
        relief._surface._made.clear()
        pickle.loads(pickled)


def test_pickles_of_texts_hold_their_pictures() -> None:
    picture = np.random.default_rng(5).integers(0, 65_536, (7, 5), dtype=np.uint16)
    surface = relief.parse('relief version=1\ncanvas width=5 height=7 bits=16\nimage "p"', {"p": picture})
    relief._surface._made.clear()
    again = pickle.loads(pickle.dumps(surface))
    np.testing.assert_array_equal(again[...], picture)
    assert again.digest == surface.digest
    other = relief.parse('relief version=1\ncanvas width=5 height=7 bits=16\nimage "p"', {"p": picture + np.uint16(1)})
    assert other.digest != surface.digest


def test_a_digest_is_of_what_decides_the_samples(tmp_path: Path) -> None:
    text = 'relief version=1\nparameter "gray" 7\ncanvas width=2 height=1\nfill value=$gray'
    digests = {
        relief.parse(text).digest,
        relief.parse(text, set={"gray": 8}).digest,
        relief.parse(text + "\n").digest,
    }
    assert len(digests) == 3
    file = tmp_path / "a.kdl"
    file.write_text(text)
    assert relief.open(file, threads=1, memory="8MiB").digest == relief.parse(text).digest


def _window(surface: relief.Surface) -> tuple[int, int, bytes]:
    return os.getpid(), surface.plan().threads, surface[3:5, 2:9].tobytes()


@pytest.mark.parametrize("method", [one for one in ("fork", "spawn") if one in multiprocessing.get_all_start_methods()])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pools_of_processes(noise8: Any, method: str) -> None:
    surface = relief.parse(NOISE8)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        for process, threads, samples in pool.map(_window, [surface] * 4):
            assert process != os.getpid()
            # Processes share the processors among them.
            assert threads == 1
            assert samples == noise8[1][3:5, 2:9].tobytes()


FORKED = """
import os
import relief_surfaces as relief

surface = relief.parse({text!r}, threads=2)
part = surface.crop((slice(3, 5), slice(2, 9)))
before = surface[3:5, 2:9]
child = os.fork()
if child == 0:
    # The threads of the parent are not here.
    same = (surface[3:5, 2:9] == before).all() and (part[...] == before).all()
    os._exit(0 if same else 1)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_that_was_forked_makes_its_own_threads() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED.format(text=NOISE8)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == "0\n"


# The most memory that this process ever held. That of `getrusage` may be that of the process that started it.
PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
"""

MEMORY = PEAK + """
import sys
import numpy as np
import relief_surfaces as relief

surface = relief.open(sys.argv[1], memory="24MiB", threads=2)
surface[900_000:900_010, 0:10]
before = peak()
total = 0
for band in surface.crop(np.s_[900_000:900_100, :]).bands():
    total += int(band.samples[::100, ::100].sum())
for k in range(50):
    surface[900_000 + k : 900_500 + k, 1_500_000:1_500_500]
print(surface.plan().peak, before, peak(), total > 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status")
def test_reading_much_holds_little() -> None:
    """200 MB go through a process that holds the plan, one band and what Python has."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(EXAMPLES / "sheet" / "design.kdl")],
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
    )
    peak, before, after, seen = done.stdout.split()
    assert int(peak) <= 24 << 20 and seen == "True"
    assert int(after) - int(before) <= 40 << 20, done.stdout


IN_PLACE = PEAK + """
import numpy as np
import relief_surfaces as relief

text = "relief version=1\\ncanvas width=16384 height=16384\\nrepeat step-x=50 { (pattern)disc diameter=40 value=9 }"
surface = relief.parse(text, memory="24MiB", threads=2)
surface[:9, :9]
wide = np.ones((16384, 16400), np.uint8)
out = wide.reshape(-1)[: 16384 * 16384].reshape(16384, 16384)
steps = [peak()]
assert surface.render(out=out) is out
steps.append(peak())
surface.render(out=out, progress=lambda done, total: None)
steps.append(peak())
surface.render(out=wide[:, 16:])
steps.append(peak())
new = surface.render()
steps.append(peak())
assert (new == wide[:, 16:]).all()
print(*steps)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status")
def test_a_given_array_is_filled_in_place() -> None:
    """256 MiB: samples that were computed elsewhere and copied would be held twice, which a new array shows."""
    done = subprocess.run([sys.executable, "-c", IN_PLACE], stdout=subprocess.PIPE, text=True, timeout=300, check=True)
    before, packed, told, rows, new = map(int, done.stdout.split())
    assert packed - before <= 40 << 20, done.stdout
    assert told - packed <= 16 << 20, done.stdout
    # Rows with gaps between them go by way of 8 MiB.
    assert rows - told <= 32 << 20, done.stdout
    assert new - rows >= 200 << 20, done.stdout


def test_importing_reads_neither_numpy_nor_others() -> None:
    code = "import sys, relief_surfaces; print([name for name in ('numpy', 'dask', 'xarray', 'inspect') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_the_oracle_of_noise_is_that_of_the_page() -> None:
    # The finaliser of SplitMix64 of 0 is 0.
    assert noise(0, 2, 1, 8)[0, 0] == 0
