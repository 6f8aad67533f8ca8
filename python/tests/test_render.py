"""Rendering into arrays and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import requires

import relief_surfaces as relief


def test_into_a_new_array_and_into_given_ones(noise8: Any, tmp_path: Path) -> None:
    surface, whole = noise8
    np.testing.assert_array_equal(surface.render(), whole)
    given = np.zeros_like(whole)
    assert surface.render(out=given) is given
    np.testing.assert_array_equal(given, whole)
    mapped = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", whole.dtype, whole.shape)
    surface.render(out=mapped)
    mapped.flush()
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), whole)


@pytest.mark.parametrize("view", [np.s_[::2, 1:62], np.s_[10:53, 5:66], np.s_[52:9:-1, 70:9:-1]])
def test_into_views(noise8: Any, view: Any) -> None:
    surface, whole = noise8
    array = np.full((100, 100), 77, np.uint8)
    out = array[view][:43, :61]
    assert out.shape == whole.shape
    surface.render(out=out)
    expected = np.full((100, 100), 77, np.uint8)
    expected[view][:43, :61] = whole
    np.testing.assert_array_equal(array, expected)


def test_in_the_order_of_fortran(noise16: Any) -> None:
    surface, whole = noise16
    out = np.zeros(whole.shape, whole.dtype, order="F")
    np.testing.assert_array_equal(surface.render(out=out), whole)


def test_what_cannot_be_rendered_into_is_refused(noise8: Any) -> None:
    surface, whole = noise8
    frozen = np.zeros_like(whole)
    frozen.flags.writeable = False
    for out in (np.zeros((43, 60), np.uint8), np.zeros_like(whole, np.uint16), frozen, [[0]], 7):
        with pytest.raises(relief.OptionError):
            surface.render(out=out)
    with pytest.raises(relief.OptionError, match="for files"):
        surface.render(part=(0, 2))


def test_progress_ends_with_all(noise8: Any, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    noise8[0].render(progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (43 * 61, 43 * 61)
    assert told == sorted(told)
    noise8[0].render(tmp_path / "a.png", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (43 * 61, 43 * 61)


def test_a_bar_is_moved_to_its_end(noise8: Any) -> None:
    class Bar:
        total: int | None = None
        at = 0

        def update(self, more: int) -> None:
            self.at += more

    bar = Bar()
    noise8[0].render(progress=bar)
    assert (bar.total, bar.at) == (43 * 61, 43 * 61)
    with pytest.raises(relief.OptionError):
        noise8[0].render(progress=7)


def test_true_shows_a_bar_of_tqdm(noise8: Any, capsys: pytest.CaptureFixture[str]) -> None:
    requires("tqdm")
    noise8[0].render(progress=True)
    assert "100%" in capsys.readouterr().err


def test_progress_of_the_preparation() -> None:
    told: list[tuple[int, int]] = []
    text = "relief version=1\ncanvas width=300 height=200\nequalise { (source)noise seed=1 }"
    relief.parse(text, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told) and told[-1] == (300 * 200, 300 * 200)


def test_what_progress_raises_ends_the_job_and_leaves_no_file(noise8: Any, tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def tell(done: int, total: int) -> None:
        raise Enough

    with pytest.raises(Enough):
        noise8[0].render(progress=tell)
    large = relief.parse("relief version=1\ncanvas width=1000000 height=1000000\nnoise seed=1", threads=1)
    with pytest.raises(Enough):
        large.render(tmp_path / "a.raw", progress=tell)
    assert list(tmp_path.iterdir()) == []


def test_raw_and_pgm_files(noise16: Any, tmp_path: Path) -> None:
    surface, whole = noise16
    written = surface.render(tmp_path / "a.raw")
    assert written == (str(tmp_path / "a.raw"), True, 0)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "a.raw", "<u2").reshape(whole.shape), whole)
    part = surface.crop(np.s_[3:9, 4:20])
    part.render(tmp_path / "b.data", format="pgm")
    data = (tmp_path / "b.data").read_bytes()
    assert data.startswith(b"P5")
    np.testing.assert_array_equal(np.frombuffer(data[-6 * 16 * 2 :], ">u2").reshape(6, 16), whole[3:9, 4:20])


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("a.xyz", {}, "extension"),
        ("a.png", {"part": (0, 2)}, "TIFF and Zarr"),
        ("a.tif", {"part": (2, 2)}, "from 0"),
        ("a.tif", {"shard": (64, 64)}, "Zarr"),
        ("a.tif", {"tile": (0, 5)}, "none"),
        ("a.tif", {"compress": "gzip"}, "Zarr"),
        ("a.zarr", {"compress": "lzw"}, "gzip"),
        ("a.pgm", {"one_bit": True}, "1 bit"),
        ("a.stl", {}, "command line"),
        ("a.tif", {"compress": "zip"}, "compression"),
    ],
)
def test_what_does_not_go_together_is_refused(noise8: Any, tmp_path: Path, name: str, options: Any, word: str) -> None:
    with pytest.raises(relief.ReliefError, match=word):
        noise8[0].render(tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(noise8: Any, tmp_path: Path) -> None:
    with pytest.raises(relief.OutputError) as failed:
        noise8[0].render(tmp_path / "none" / "a.raw")
    assert isinstance(failed.value, OSError)


def test_a_design_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "a.kdl"
    file.write_text("relief version=1\ncanvas width=4 height=3\nfill value=9")
    with relief.open(file) as surface, pytest.raises(relief.OptionError, match="the design"):
        surface.render(file, format="raw")
    assert "fill" in file.read_text()


def test_zarr_by_another_reader(noise16: Any, tmp_path: Path) -> None:
    zarr = requires("zarr")
    surface, whole = noise16
    written = surface.to_zarr(tmp_path / "a.zarr", chunks=(8, 16), shards=(16, 32), compress="gzip")
    assert written.complete
    group = zarr.open_group(tmp_path / "a.zarr", mode="r")
    array = group["0"]
    assert array.chunks == (8, 16) and group.attrs["relief"]["job"] == surface.digest
    np.testing.assert_array_equal(array[...], whole)
    with pytest.raises(relief.OptionError):
        surface.to_zarr(tmp_path / "b.zarr", chunks=0)


def test_previews_are_pictures(noise16: Any, noise8: Any) -> None:
    import struct
    import zlib

    for surface, whole in (noise8, noise16):
        png = surface._repr_png_()
        width, height, bits = struct.unpack(">IIB", png[16:25])
        assert (height, width) == whole.shape and bits == 8 * whole.dtype.itemsize
        length = struct.unpack(">I", png[33:37])[0]
        rows = np.frombuffer(zlib.decompress(png[41 : 41 + length]), np.uint8).reshape(height, -1)
        assert not rows[:, 0].any()
        samples = rows[:, 1:].copy().view(whole.dtype.newbyteorder(">"))
        np.testing.assert_array_equal(samples, whole)
    text = "relief version=1\ncanvas width=1000000 height=600000\nrepeat step-x=50 { (pattern)disc diameter=40 value=9 }"
    preview = relief.parse(text).preview(200)
    assert preview.shape == (74, 123) and preview.any()
