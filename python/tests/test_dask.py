"""Dask, xarray, napari and files in parts: many processes, one result."""

from __future__ import annotations

import os
import pickle
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


def test_too_many_chunks_are_refused_with_a_region_that_would_do(sheet: relief.Surface) -> None:
    requires("dask.array")
    for chunks in (256, (1, 1024), [200, 200]):
        with pytest.raises(relief.OptionError, match="cut the region first") as refused:
            sheet.dask(chunks=chunks)
        region, size = str(refused.value).split("dask(")[1].split(", chunks=")
        array = sheet.dask(eval(region, {"np": np}), chunks=eval(size.split(")")[0] + ")" if "(" in size else size.split("]")[0] + "]"))
        assert array.npartitions <= 1_000_000
    assert sheet.dask(chunks=4096).npartitions == 440 * 489


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
    pytest.importorskip("napari")
    from napari.components import ViewerModel

    viewer = ViewerModel()
    layer = viewer.add_image(sheet.pyramid(smallest=1024, effort=1 << 20, exact=False), contrast_limits=(0, 255), multiscale=True)
    assert layer.multiscale and layer.data[0].shape == sheet.shape
    layer.data_level = len(layer.data) - 1
    layer.refresh()


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


@pytest.mark.parametrize("name", ["a.zarr", "a.tif"])
def test_four_jobs_of_the_command_line_of_which_one_is_killed(tmp_path: Path, program: str, name: str) -> None:
    design = tmp_path / "a.kdl"
    design.write_text(LARGE)
    whole, path = tmp_path / f"whole-{name}", tmp_path / name
    relief.open(design).render(whole, tile=(64, 64))

    def job(part: int, *more: str) -> subprocess.Popen[str]:
        tiles = ["--file-tile", "64x64", "--part", f"{part}/4"]
        command = [program, "render", str(design), "--device", "cpu", "-o", str(path), *tiles, *more]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    killed = job(1, "--json-progress", "--threads", "1")
    assert killed.stderr is not None
    assert killed.stderr.readline()
    killed.kill()
    killed.communicate(timeout=60)
    jobs = [job(part, "--quiet", "--threads", "1") for part in range(4)]
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
