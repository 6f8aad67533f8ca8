"""Designs with all files that they name, in one: packed jobs."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from conftest import EXAMPLES, noise, requires

import relief_surfaces as relief

DESIGN = """relief version=1
parameter "gray" 7
canvas width=40 height=30 bits=8
compose {
    (base)fill value=$gray
    (max)image "parts/mark.pgm"
    (max)svg "disc.svg" width=20 height=20
}
"""

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><circle cx="10" cy="10" r="9" fill="white"/></svg>'


@pytest.fixture
def design(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "mark.pgm").write_bytes(b"P5 12 9 255 " + noise(3, 12, 9, 8).tobytes())
    (folder / "disc.svg").write_text(SVG)
    (folder / "a.kdl").write_text(DESIGN)
    return folder / "a.kdl"


def job(design: Path, folder: Path, **options: object) -> Path:
    """A bundle in another folder; the files that it was made of are gone."""
    folder.mkdir()
    path = folder / "b.relief"
    path.write_bytes(relief.open(design, **options).bundle())  # type: ignore[arg-type]
    shutil.rmtree(design.parent)
    return path


def test_a_bundle_is_the_surface_where_its_files_are_not(design: Path, tmp_path: Path) -> None:
    surface = relief.open(design, set={"gray": 9}, threads=1)
    whole, digest = surface[...], surface.digest
    assert whole[29, 39] == 9 and whole[10, 10] == 255
    path = job(design, tmp_path / "other", set={"gray": 9})
    found = relief.open(path, threads=1)
    np.testing.assert_array_equal(found[...], whole)
    assert found.digest == digest
    assert found.bundle() == path.read_bytes() == found.crop(np.s_[:3, :4]).bundle()
    np.testing.assert_array_equal(relief.open(path, region=np.s_[-5:, 3:])[...], whole[-5:, 3:])
    # A value that is given goes before that of the job.
    assert relief.open(path, set={"gray": 11})[29, 39] == 11
    relief._surface._made.clear()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found))[...], whole)
    assert relief.check(path) == ()


def test_a_bundle_is_a_tar_archive_of_all_files(design: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(relief.open(design, set={"gray": 9}).bundle())) as archive:
        names = archive.getnames()
        contents = [archive.extractfile(name).read() for name in names]  # type: ignore[union-attr]
    assert names == ["relief.json", "design.kdl", "files/1.svg", "files/2.pgm"]
    told = json.loads(contents[0])
    assert (told["name"], told["parameters"]) == ("a.kdl", [{"name": "gray", "value": "9"}])
    assert contents[1:] == [
        DESIGN.encode(), SVG.encode(), (design.parent / "parts" / "mark.pgm").read_bytes()
    ]


@pytest.mark.parametrize("options", [{}, {"gray": 200}], ids=str)
def test_a_bundle_is_what_the_command_line_packs(
    design: Path, tmp_path: Path, program: str, options: dict[str, int]
) -> None:
    packed = tmp_path / "a.relief"
    values = [word for name, value in options.items() for word in ("--set", f"{name}={value}")]
    subprocess.run([program, "pack", str(design), "-o", str(packed), *values], check=True, timeout=60)
    assert relief.open(design, set=options).bundle() == packed.read_bytes()
    # And it reads what is made here.
    packed.write_bytes(relief.open(design, set=options).bundle())
    raw = tmp_path / "a.raw"
    subprocess.run([program, "render", str(packed), "-o", str(raw), "--device", "cpu", "--quiet"], check=True, timeout=60)
    assert raw.read_bytes() == relief.open(design, set=options)[...].tobytes()


def test_bytes_that_were_given_are_files_of_a_bundle(tmp_path: Path) -> None:
    text = 'relief version=1\ncanvas width=20 height=20\nsvg "disc.svg" width=20 height=20'
    surface = relief.parse(text, {"disc.svg": SVG.encode()}, name="given")
    path = tmp_path / "a.relief"
    path.write_bytes(surface.bundle())
    np.testing.assert_array_equal(relief.open(path)[...], surface[...])


def test_what_no_bundle_holds_is_refused(design: Path) -> None:
    array = relief.open(design, images={"parts/mark.pgm": np.ones((3, 3), np.uint8)})
    with pytest.raises(relief.OptionError, match="parts/mark.pgm is an array.*pickle"):
        array.bundle()
    surface = relief.open(design)
    length = len(surface.bundle())
    assert len(surface.bundle(limit=length)) == length
    with pytest.raises(relief.OptionError, match=f"limit: .* more than {length - 1} bytes"):
        surface.bundle(limit=length - 1)
    (design.parent / "disc.svg").unlink()
    with pytest.raises(relief.FileError, match="disc.svg"):
        surface.bundle()


def test_a_damaged_bundle_is_refused(design: Path, tmp_path: Path) -> None:
    whole = relief.open(design).bundle()
    path = tmp_path / "a.relief"
    places = [whole.index(b"gray"), whole.index(b"circle"), whole.index(b"P5 12") + 20, whole.index(b'"digest": "') + 20]
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(relief.FileError, match="a.relief"):
            relief.open(path)
    for length in (600, 2_000, whole.index(b"P5 12") + 5):
        path.write_bytes(whole[:length])
        with pytest.raises(relief.FileError, match="a.relief"):
            relief.open(path)


def test_xarray_opens_a_bundle(design: Path, tmp_path: Path) -> None:
    xarray = requires("xarray")
    whole = relief.open(design)[...]
    path = job(design, tmp_path / "other")
    with xarray.open_dataset(path) as data:
        np.testing.assert_array_equal(data.surface.values, whole)


def test_drawings_are_read_within_the_memory(tmp_path: Path) -> None:
    points = " ".join(f"{k % 997},{k * 7 % 991}" for k in range(200_000))
    (tmp_path / "a.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="1000" height="1000"><polygon fill="white" points="{points}"/></svg>'
    )
    file = tmp_path / "a.kdl"
    file.write_text('relief version=1\ncanvas width=1000 height=1000\nsvg "a.svg" width=1000 height=1000')
    assert relief.open(file, threads=1).shape == (1000, 1000)
    for region in (None, np.s_[:5, :5]):
        with pytest.raises(relief.ReliefError, match="memory|bytes"):
            relief.open(file, memory="2MiB", threads=1, region=region)


def test_a_picture_that_is_a_folder_has_a_digest(tmp_path: Path) -> None:
    relief.parse("relief version=1\ncanvas width=9 height=7\nnoise seed=5").to_zarr(tmp_path / "a.zarr", chunks=4)
    file = tmp_path / "a.kdl"
    file.write_text('relief version=1\ncanvas width=9 height=7\nimage "a.zarr"')
    surface = relief.open(file, threads=1)
    np.testing.assert_array_equal(surface[...], noise(5, 9, 7, 8))
    relief._surface._made.clear()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(surface))[...], noise(5, 9, 7, 8))
    with pytest.raises(relief.FileError, match="a.zarr"):
        surface.bundle()
