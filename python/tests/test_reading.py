"""Reading windows: every kind of index gives what NumPy gives of the whole array."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import lattice
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import basic_indices

import relief_surfaces as relief


def parts(length: int) -> st.SearchStrategy[Any]:
    """Slices with any bounds and steps, within and without."""
    bound = st.none() | st.integers(-2 * length, 2 * length)
    step = st.none() | st.integers(-2 * length, 2 * length).filter(bool)
    return st.builds(slice, bound, bound, step)


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@given(rows=parts(43), columns=parts(61))
def test_slices(noise8: Any, rows: slice, columns: slice) -> None:
    surface, whole = noise8
    same(surface[rows, columns], whole[rows, columns])


@given(rows=parts(53) | st.integers(-53, 52), columns=parts(37) | st.integers(-37, 36))
def test_integers_drop_axes(noise16: Any, rows: Any, columns: Any) -> None:
    surface, whole = noise16
    same(surface[rows, columns], whole[rows, columns])


@given(key=basic_indices((43, 61), allow_ellipsis=True, allow_newaxis=True))
def test_all_basic_indices(noise8: Any, key: Any) -> None:
    surface, whole = noise8
    same(surface[key], whole[key])


@pytest.mark.parametrize("key", [(44, 0), (-44, 0), (0, 61), 43, (0, -62)])
def test_an_index_beyond_the_end_is_refused_as_numpy_does(noise8: Any, key: Any) -> None:
    surface, whole = noise8
    with pytest.raises(IndexError) as expected:
        whole[key]
    with pytest.raises(IndexError) as found:
        surface[key]
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("key", [(0, 0, 0), (Ellipsis, Ellipsis), [1, 2], ([0], 1), True, np.True_, 1.5, "a", np.zeros(43, bool)])
def test_what_is_no_basic_index_is_refused(noise8: Any, key: Any) -> None:
    with pytest.raises(IndexError):
        noise8[0][key]


def test_long_steps_read_single_samples() -> None:
    text = "relief version=1\ncanvas width=1000000 height=900000\nramp axis=\"x\" from=0 to=255"
    surface = relief.parse(text)
    columns = np.arange(0, 1_000_000, 3_001)
    # Halves away from zero; products of whole numbers below 2^53 are exact.
    expected = np.floor(255 * columns / 999_999 + 0.5).astype(np.uint8)
    found = surface[::100_000, ::3_001]
    np.testing.assert_array_equal(found, np.tile(expected, (9, 1)))
    np.testing.assert_array_equal(surface[::-100_000, ::-3_001], surface[899_999::-100_000, 999_999::-3_001])


@pytest.mark.parametrize(("first", "last", "bits"), [(0, 255, 8), (200, 3, 8), (0, 65_535, 16), (17, 18, 16)])
def test_ramps(first: int, last: int, bits: int) -> None:
    width = 777
    text = f"relief version=1\ncanvas width={width} height=3 bits={bits}\nramp axis=\"x\" from={first} to={last}"
    steps = (last - first) * np.arange(width)
    rounded = np.sign(steps) * ((2 * np.abs(steps) + width - 1) // (2 * (width - 1)))
    np.testing.assert_array_equal(relief.parse(text)[1], first + rounded)


@pytest.mark.parametrize(("u", "v"), [((7, 0), (0, 5)), ((5, 2), (-3, 4)), ((11, -3), (2, 6))])
def test_lattices_by_brute_force(u: tuple[int, int], v: tuple[int, int]) -> None:
    pattern = np.random.default_rng(1).integers(0, 256, (4, 6), dtype=np.uint8)
    text = f"""
        relief version=1
        canvas width=50 height=40
        lattice blend="max" {{
            u {u[0]} {u[1]}
            v {v[0]} {v[1]}
            (pattern)image "cell"
        }}
    """
    surface = relief.parse(text, {"cell": pattern})
    np.testing.assert_array_equal(surface[...], lattice(pattern, u, v, 50, 40))


def test_it_is_an_array(noise8: Any, noise16: Any) -> None:
    for surface, whole in (noise8, noise16):
        for attribute in ("shape", "dtype", "ndim", "size", "nbytes"):
            assert getattr(surface, attribute) == getattr(whole, attribute), attribute
        assert len(surface) == len(whole)
        np.testing.assert_array_equal(np.asarray(surface), whole)
        np.testing.assert_array_equal(np.from_dlpack(surface), whole)
        np.testing.assert_array_equal(np.stack(list(surface)), whole)
        assert np.asarray(surface, dtype=float).dtype == float
        with pytest.raises(ValueError):
            np.array(surface, copy=False)


def test_levels_and_parts_are_arrays_of_other_libraries_as_well(noise16: Any) -> None:
    surface, whole = noise16
    part = surface.crop(np.s_[3:, 5:])
    assert part.__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(np.from_dlpack(part), whole[3:, 5:])
    np.testing.assert_array_equal(np.from_dlpack(surface.level(0)), whole)


def test_arithmetic_with_a_surface_is_refused(noise8: Any) -> None:
    with pytest.raises(TypeError):
        operator.add(np.ones((43, 61)), noise8[0])


def test_samples_can_be_written_and_are_new(noise8: Any) -> None:
    surface, whole = noise8
    window = surface[2:5, 3:9]
    window[...] = 0
    np.testing.assert_array_equal(surface[2:5, 3:9], whole[2:5, 3:9])


def test_parts_are_windows_of_the_whole(noise8: Any) -> None:
    surface, whole = noise8
    part = surface.crop(np.s_[5:-3, 10:40])
    np.testing.assert_array_equal(part[...], whole[5:-3, 10:40])
    inner = part.crop(np.s_[2:9, -7:])
    np.testing.assert_array_equal(inner[...], whole[5:-3, 10:40][2:9, -7:])
    assert inner.region == (slice(7, 14), slice(33, 40))
    region = relief.parse("relief version=1\ncanvas width=61 height=43 bits=8\nnoise seed=5", region=np.s_[-4:, :9])
    np.testing.assert_array_equal(region[...], whole[-4:, :9])


@pytest.mark.parametrize("region", [np.s_[3:3, :], np.s_[::2, :], np.s_[100:200, :]])
def test_a_region_has_pixels_and_no_steps(noise8: Any, region: Any) -> None:
    with pytest.raises(relief.RegionError):
        noise8[0].crop(region)


def test_bands_follow_each_other(noise16: Any) -> None:
    surface, whole = noise16
    whole_again = np.concatenate([band.samples for band in surface.bands()])
    np.testing.assert_array_equal(whole_again, whole)


def test_a_window_of_a_sheet_of_terabytes(sheet: relief.Surface) -> None:
    assert sheet.nbytes == 3_600_000_000_000
    window = sheet[900_000:900_100, 1_500_000:1_500_100]
    assert window.shape == (100, 100) and window.any()
    np.testing.assert_array_equal(sheet[900_050, 1_500_010:1_500_020], window[50, 10:20])


def test_an_array_that_no_machine_holds_is_refused(sheet: relief.Surface) -> None:
    for read in (lambda: sheet[...], lambda: np.asarray(sheet), sheet.render):
        with pytest.raises(relief.MemoryRefused) as refused:
            read()
        assert refused.value.needed == sheet.nbytes
        assert isinstance(refused.value, MemoryError)


@pytest.mark.parametrize(
    "picture",
    [
        np.array([[True, False], [False, True]]),
        np.array([[0, 255], [7, 128]], np.uint8),
        np.array([[0, 65_535], [7, 30_000]], np.uint16),
        np.array([[0, 65_535], [7, 30_000]], ">u2"),
        np.arange(24, dtype=np.uint8).reshape(4, 6)[::-2, ::3],
        np.array([[[10, 20, 30], [0, 255, 255]]], np.uint8),
        np.array([[[200, 128], [255, 0]]], np.uint8),
    ],
    ids=["bool", "uint8", "uint16", "big-endian", "strided", "rgb", "transparent"],
)
def test_arrays_are_pictures(picture: np.ndarray[Any, Any]) -> None:
    whole = picture.astype(np.uint8) * 255 if picture.dtype == bool else picture
    most = 255 if whole.dtype.itemsize == 1 else 65_535
    wide = whole.astype(object)
    if picture.ndim == 3 and picture.shape[2] == 3:
        gray = (2_126 * wide[..., 0] + 7_152 * wide[..., 1] + 722 * wide[..., 2], 10_000 * most)
    elif picture.ndim == 3:
        gray = (wide[..., 0] * wide[..., 1], most * most)
    else:
        gray = (wide, most)
    rows, columns = picture.shape[:2]
    for bits, top in ((8, 255), (16, 65_535)):
        text = f'relief version=1\ncanvas width={columns} height={rows} bits={bits}\nimage "p"'
        expected = (2 * gray[0] * top + gray[1]) // (2 * gray[1])
        np.testing.assert_array_equal(relief.parse(text, {"p": picture})[...], expected.astype(int))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int32, np.uint32])
def test_numbers_are_pictures_by_their_range(dtype: Any) -> None:
    picture = np.array([[-20, -10, 0], [10, 20, 30]]).clip(0 if np.dtype(dtype).kind == "u" else None).astype(dtype)
    text = 'relief version=1\ncanvas width=3 height=2\nimage "p" low=-10 high=10'
    # 255·(v + 10) / 20, halves up, clamped.
    expected = ((2 * 255 * (picture.astype(int) + 10) + 20) // 40).clip(0, 255)
    np.testing.assert_array_equal(relief.parse(text, {"p": picture})[...], expected)


def test_a_picture_larger_than_the_memory_of_the_job_is_read_by_windows() -> None:
    picture = np.random.default_rng(3).integers(0, 256, (3000, 3000), dtype=np.uint8)
    text = 'relief version=1\ncanvas width=3000 height=3000\nimage "p"'
    surface = relief.parse(text, {"p": picture}, memory="4MiB", threads=2)
    assert surface.plan().peak <= 4 << 20
    np.testing.assert_array_equal(surface[1000:1100, 500:2500], picture[1000:1100, 500:2500])


def test_files_by_name_may_be_bytes() -> None:
    text = """
        relief version=1
        canvas width=30 height=4
        array columns=3 rows=1 step-x=10 step-y=0 data="rows.csv" {
            (max)fill value=$gray width=10
        }
    """
    surface = relief.parse(text, {"rows.csv": b"gray\n7\n8\n9\n"})
    np.testing.assert_array_equal(surface[0, ::10], [7, 8, 9])


def test_a_file_with_values_memory_and_a_device(tmp_path: Path) -> None:
    file = tmp_path / "a.kdl"
    file.write_text('relief version=1\nparameter "gray" 7\ncanvas width=4000 height=3000\nfill value=$gray')
    with relief.open(file, set={"gray": 9}, memory="16MiB", threads=1, device="cpu") as surface:
        assert (surface[:3, 5:9] == 9).all()
        plan = surface.plan()
        assert plan.peak <= 16 << 20 and plan.threads == 1 and plan.as_dict()["devices"] is None
    with pytest.raises(relief.MemoryRefused):
        relief.open(file, memory="1KiB")
    # A device that is not there is refused, not replaced.
    with pytest.raises(relief.OptionError):
        relief.open(file, device="vulkan:99")


def test_parameters() -> None:
    text = 'relief version=1\nparameter "gray" 7\ncanvas width=2 height=1\nfill value=$gray'
    assert relief.parse(text)[0, 0] == 7
    assert relief.parse(text, set={"gray": np.uint8(9)})[0, 0] == 9
    with pytest.raises(relief.DesignError) as wrong:
        relief.parse(text, set={"grey": 1})
    assert "gray" in str(wrong.value.problems[0].show())
    with pytest.raises(relief.OptionError):
        relief.parse(text, set={"gray": [1]})
