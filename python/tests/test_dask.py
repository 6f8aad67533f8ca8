"""Dask, xarray, napari and files in parts: many processes, one result."""

from __future__ import annotations

import os
import pickle
import re
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import NOISE8, NOISE16, noise, requires

import relief_surfaces as relief


def test_a_dask_array_is_the_surface(noise8: Any) -> None:
    requires("dask.array")
    surface, whole = noise8
    array = surface.dask(chunks=(10, 16))
    assert array.chunks == ((10, 10, 10, 10, 3), (16, 16, 16, 13)) and array.dtype == whole.dtype
    for scheduler in ("synchronous", "threads"):
        np.testing.assert_array_equal(array.compute(scheduler=scheduler), whole)
    found = (array[::-2, 5:].astype("i8") ** 2).sum(axis=0).compute(scheduler="threads")
    np.testing.assert_array_equal(found, (whole[::-2, 5:].astype("i8") ** 2).sum(axis=0))
    part = surface.dask(np.s_[5:20, 7:], chunks=-1)
    np.testing.assert_array_equal(part.compute(scheduler="synchronous"), whole[5:20, 7:])


def test_equal_surfaces_have_one_name(tmp_path: Path) -> None:
    requires("dask.array")
    (tmp_path / "a.kdl").write_text(NOISE8)
    one, other = relief.parse(NOISE8, threads=1), relief.open(tmp_path / "a.kdl", memory="64MiB", threads=2)
    assert one.dask(chunks=16).name == other.dask(chunks=16).name
    names = {
        one.dask(chunks=16).name,
        one.dask(chunks=8).name,
        one.dask(np.s_[1:], chunks=16).name,
        relief.parse(NOISE16).dask(chunks=16).name,
    }
    assert len(names) == 4
    from dask.base import tokenize

    assert tokenize(one.level(2)) == tokenize(other.level(2)) != tokenize(one.level(2, "max"))


SHEET = (1_800_000, 2_000_000)


@pytest.mark.parametrize(
    ("chunks", "count"),
    [
        (256, 7_032 * 7_813),
        ((1, 1024), 1_800_000 * 1_954),
        ([200, 200], 9_000 * 10_000),
        ((1, -1), 1_800_000),
        ((-1, 1), 2_000_000),
        ((None, 1), 2_000_000),
        ({0: 1}, 1_800_000),
        ({1: 1}, 2_000_000),
        ((np.int64(1), -1), 1_800_000),
        ("1MiB", 1_758 * 1_954),
        ((1, "64KiB"), 1_800_000 * 31),
        (("1B", -1), 1_800_000),
        (((1,) * 1_800_000, (2_000_000,)), 1_800_000),
        ((4, (1_000,) * 2_000), 450_000 * 2_000),
    ],
    ids=lambda value: str(value)[:20],
)
def test_too_many_chunks_are_refused_with_a_region_that_would_do(sheet: relief.Surface, chunks: Any, count: int) -> None:
    requires("dask.array")
    with pytest.raises(relief.OptionError, match=f"^chunks: {count} chunks are more") as refused:
        sheet.dask(chunks=chunks)
    told = re.search(r"dask\((np\.s_\[.*?\]), chunks=(.*?)\), or", str(refused.value))
    assert told
    array = sheet.dask(eval(told[1], {"np": np}), chunks=eval(told[2]))
    assert 100_000 < array.npartitions <= 1_000_000


def test_chunks_are_counted_before_they_are_listed() -> None:
    """Of 2^40 samples a side, which no list of chunks would fit."""
    requires("dask.array")
    vast = relief.parse("relief version=1\ncanvas width=1099511627776 height=1099511627776\nfill value=7", threads=1)
    for chunks in (1, (1, -1), (-1, 1), "auto", ("auto", -1), (-1, "auto"), "1GiB", "1B", (1 << 39, "auto")):
        with pytest.raises(relief.OptionError, match="cut the region first"):
            vast.dask(chunks=chunks)
    assert vast.dask(chunks=1 << 31).numblocks == (512, 512)
    assert vast.dask(chunks=1 << 50).chunks == vast.dask(chunks=-1).chunks == ((1 << 40,), (1 << 40,))


@pytest.mark.parametrize(
    "chunks",
    [4096, (4096, -1), (-1, 4096), (None, 4096), "auto", "64MiB", (2048, "auto"), ("8MiB", 4096), {0: 4096}, (np.int64(4096), 4096)],
    ids=str,
)
def test_chunks_are_those_that_dask_makes(sheet: relief.Surface, chunks: Any) -> None:
    requires("dask.array")
    from dask.array.core import normalize_chunks

    assert sheet.dask(chunks=chunks).chunks == normalize_chunks(chunks, SHEET, dtype="u1")


def test_explicit_chunks_are_taken(noise8: Any) -> None:
    requires("dask.array")
    surface, whole = noise8
    array = surface.dask(chunks=((40, 3), (1, 60)))
    assert array.chunks == ((40, 3), (1, 60))
    np.testing.assert_array_equal(array.compute(scheduler="synchronous"), whole)


@pytest.mark.parametrize(
    ("chunks", "word"),
    [
        (0, "0 is not a length"),
        (-2, "-2 is not a length"),
        (True, "True is not a length"),
        (2.5, "2.5 is not a length"),
        (None, "two axes"),
        ((1, 2, 3), "two axes"),
        ("many", "not a number of bytes"),
        (("1MiB", "2MiB"), "says two"),
        (((40, 2), (61,)), "42 samples together, and it has 43"),
        (((), (61,)), "0 samples together"),
        (((50, -7), (61,)), "-7 is not a length"),
        ({"y": 3}, "'y' is not an axis"),
        (b"12", "not a length"),
    ],
    ids=str,
)
def test_chunks_that_cannot_be_are_refused(noise8: Any, chunks: Any, word: str) -> None:
    requires("dask.array")
    with pytest.raises(relief.OptionError, match=re.escape(word)):
        noise8[0].dask(chunks=chunks)


def test_a_window_of_the_sheet(sheet: relief.Surface) -> None:
    requires("dask.array")
    region = np.s_[900_000:901_000, 1_500_000:1_502_000]
    found = sheet.dask(chunks=4096)[region].sum(dtype="u8").compute(scheduler="threads")
    assert found == sheet[region].sum(dtype="u8")


def test_a_cluster_of_processes(noise8: Any) -> None:
    distributed = requires("distributed")
    surface, whole = noise8
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )
    with cluster, distributed.Client(cluster) as client:
        array = surface.dask(chunks=(7, 61))
        np.testing.assert_array_equal(array.compute(scheduler=client), whole)
        # Every worker is another process, and opens the surface there with one thread.
        seen = client.run(_seen, pickle.dumps(relief.parse(NOISE8)))
        assert len({process for process, _ in seen.values()} | {os.getpid()}) == 3
        assert {threads for _, threads in seen.values()} == {1}
        total = client.submit(lambda one: int(one[...].sum()), relief.parse(NOISE8)).result()
        assert total == int(whole.sum())


def _seen(pickled: bytes) -> tuple[int, int]:
    return os.getpid(), pickle.loads(pickled).plan().threads


def test_xarray_opens_designs(tmp_path: Path) -> None:
    xarray = requires("xarray")
    file = tmp_path / "a.kdl"
    file.write_text('relief version=1\ncanvas width=2000000 height=1800000 pixel="1um" amplitude="80um"\nnoise seed=5')
    data = xarray.open_dataset(file, engine="relief", threads=1)
    assert data.surface.shape == (1_800_000, 2_000_000) and data.surface.dims == ("y", "x")
    assert (data.surface.attrs["pixel_metres"], data.surface.attrs["amplitude_metres"]) == (1e-6, 80e-6)
    np.testing.assert_array_equal(data.surface[:9, :7].values, noise(5, 7, 9, 8))
    window = data.surface[900_000:900_100, 1_500_000:1_500_200]
    np.testing.assert_array_equal(window.values, relief.open(file)[900_000:900_100, 1_500_000:1_500_200])
    np.testing.assert_array_equal(window[::-3, 5], window.values[::-3, 5])
    # The name alone says what it is.
    with xarray.open_dataset(file, drop_variables="surface") as nothing:
        assert not nothing.data_vars
    lazy = xarray.open_dataset(file, engine="relief", chunks={}).surface
    assert lazy.chunksizes["y"][0] == 4096


def test_napari_shows_levels_without_a_window(sheet: relief.Surface) -> None:
    requires("napari")
    from napari.components import ViewerModel

    pyramid = sheet.pyramid(smallest=1024, effort=1 << 20, exact=False)
    viewer = ViewerModel()
    layer = viewer.add_image(pyramid, contrast_limits=(0, 255), multiscale=True)
    assert layer.multiscale and layer.data[0].shape == sheet.shape
    for level, corners in [
        (len(pyramid) - 1, np.array([[0, 0], [sheet.shape[0] - 1, sheet.shape[1] - 1]])),
        (0, np.array([[900_000, 1_500_000], [900_299, 1_500_399]])),
    ]:
        # What a window does when it is moved: the level and the part of it that are seen.
        layer.data_level = level
        layer.corner_pixels = corners // np.array(layer.downsample_factors[level]).astype(int)
        layer.refresh()
        top, left = layer.corner_pixels[0]
        bottom, right = layer.corner_pixels[1] + 1
        seen = layer._slice.image.raw
        expected = pyramid[level][top:bottom, left:right]
        assert expected.any() and seen.shape == expected.shape
        np.testing.assert_array_equal(seen, expected)


PART = """
import sys
import relief_surfaces as relief

surface = relief.parse({text!r}, threads=1)
path, part, parts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
told = False

def tell(done, total):
    global told
    if not told:
        told = True
        print("begun", flush=True)
        # Whoever is to be killed waits for that.
        sys.stdin.read()

written = surface.render(path, part=(part, parts), tile=(64, 64), progress=tell)
print(written.complete, flush=True)
"""

LARGE = "relief version=1\ncanvas width=1000 height=700\ngauss sigma=20 { (source)noise seed=3 }"


def started(path: Path, part: int, parts: int, waits: bool = False) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", PART.format(text=LARGE), str(path), str(part), str(parts)]
    waiting = subprocess.PIPE if waits else subprocess.DEVNULL
    return subprocess.Popen(arguments, stdin=waiting, stdout=subprocess.PIPE, text=True)


def files(folder: Path) -> dict[str, bytes]:
    if folder.is_file():
        return {"": folder.read_bytes()}
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("name", ["a.zarr", "a.tif"])
def test_four_processes_of_which_one_is_killed_write_what_one_writes(tmp_path: Path, name: str) -> None:
    whole = tmp_path / f"whole-{name}"
    relief.parse(LARGE).render(whole, tile=(64, 64))
    path = tmp_path / name
    first = started(path, 1, 4, waits=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "begun\n"
    first.kill()
    first.communicate(timeout=60)
    assert first.returncode == -signal.SIGKILL and not path.exists()
    processes = [started(path, part, 4) for part in range(4)]
    ends = [process.communicate(timeout=300)[0].splitlines()[-1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert "True" in ends
    assert files(path) == files(whole)


# Of a pipe of one page all but this is full: one line of progress has room, which is 94 to 154 bytes long, and a second has not.
ROOM = 175


@pytest.mark.skipif(sys.platform != "linux", reason="pipes whose length can be set")
@pytest.mark.parametrize("name", ["a.zarr", "a.tif"])
def test_four_jobs_of_the_command_line_of_which_one_is_killed(tmp_path: Path, program: str, name: str) -> None:
    """A job tells its progress after the first tile and again before the file is complete. Where the second has no room it waits."""
    import fcntl

    design = tmp_path / "a.kdl"
    design.write_text(LARGE)
    whole, path = tmp_path / f"whole-{name}", tmp_path / name
    relief.open(design).render(whole, tile=(64, 64))

    def job(part: int, stderr: int, *more: str) -> subprocess.Popen[bytes]:
        tiles = ["--file-tile", "64x64", "--part", f"{part}/4"]
        command = [program, "render", str(design), "--device", "cpu", "-o", str(path), *tiles, *more, "--threads", "1"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)

    reader, writer = os.pipe()
    length = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    full = os.write(writer, bytes(length - ROOM))
    events = select.epoll()
    # By edges: each write is an event, though nothing is read.
    events.register(reader, select.EPOLLIN | select.EPOLLET)
    assert events.poll(60)
    killed = job(1, writer, "--json-progress")
    os.close(writer)
    assert events.poll(300) == [(reader, select.EPOLLIN)]
    killed.kill()
    killed.communicate(timeout=60)
    told = os.read(reader, length)[full:]
    os.close(reader)
    assert told.startswith(b'{"done":')
    assert killed.returncode == -signal.SIGKILL
    # What it leaves is the beginning of a file, which has not the name of one.
    assert not path.exists()
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(f"{name}.")], list(tmp_path.iterdir())

    jobs = [job(part, subprocess.PIPE, "--quiet") for part in range(4)]
    ends = [one.communicate(timeout=300) for one in jobs]
    assert [one.returncode for one in jobs] == [0] * 4, ends
    assert files(path) == files(whole)


def test_parts_by_the_command_line_and_by_python_make_one_file(tmp_path: Path, program: str) -> None:
    design = tmp_path / "a.kdl"
    design.write_text(NOISE8)
    whole, path = tmp_path / "whole.zarr", tmp_path / "a.zarr"
    command = [program, "render", str(design), "--file-tile", "16x16", "--quiet", "-o"]
    subprocess.run([*command, str(whole)], check=True, timeout=60)
    subprocess.run([*command, str(path), "--part", "0/2"], check=True, timeout=60)
    assert relief.open(design).to_zarr(path, part=(1, 2), chunks=16).complete
    assert files(path) == files(whole)
