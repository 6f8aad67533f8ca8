"""Levels and figures against sums of all samples."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relief_surfaces as relief


def reduced(whole: np.ndarray[Any, Any], level: int, statistic: str) -> np.ndarray[Any, Any]:
    """A level by its definition, block by block."""
    side = 1 << level
    rows, columns = (-(-length // side) for length in whole.shape)
    out = np.zeros((rows, columns), whole.dtype)
    for y in range(rows):
        for x in range(columns):
            block = whole[y * side : (y + 1) * side, x * side : (x + 1) * side]
            if statistic == "mean":
                total, count = int(block.sum(dtype=np.uint64)), block.size
                out[y, x] = (2 * total + count) // (2 * count)
            else:
                out[y, x] = block.min() if statistic == "min" else block.max()
    return out


@pytest.mark.parametrize("statistic", ["mean", "min", "max"])
def test_levels_are_exact(noise8: Any, noise16: Any, statistic: str) -> None:
    for surface, whole in (noise8, noise16):
        assert surface.levels == 7
        for level in range(surface.levels):
            expected = reduced(whole, level, statistic)
            array = surface.level(level, statistic)
            assert array.shape == expected.shape and array.dtype == whole.dtype
            np.testing.assert_array_equal(array[...], expected)
            np.testing.assert_array_equal(np.asarray(array)[::-1, ::2], array[::-1, ::2])
        assert surface.level(6).shape == (1, 1)


@given(level=st.integers(1, 4), y=st.integers(0, 30), x=st.integers(0, 30))
def test_windows_of_levels(noise8: Any, level: int, y: int, x: int) -> None:
    surface, whole = noise8
    expected = reduced(whole, level, "mean")
    np.testing.assert_array_equal(surface.level(level)[y:, : x + 1], expected[y:, : x + 1])


def test_a_repetition_of_any_size_is_known_without_computing_it() -> None:
    text = """
        relief version=1
        canvas width=1000000000 height=1000000000
        repeat step-x=100 step-y=100 { (pattern)fill value=200 width=10 height=50 }
    """
    surface = relief.parse(text)
    stats = surface.stats(effort=0)
    # Every twentieth of 10^18 samples is 200.
    assert stats == (10**18, 10, 0, 200, (10**19, 10**19), (10**18 * 19 // 20,) * 2)
    assert surface.level(30, effort=0)[0, 0] == 10


def test_stats_of_regions(noise16: Any) -> None:
    surface, whole = noise16
    region = np.s_[3:40, -20:]
    part = whole[region]
    stats = surface.stats(region)
    count, total = part.size, int(part.sum())
    assert stats[:4] == (count, (2 * total + count) // (2 * count), part.min(), part.max())
    assert stats.sum[0] <= total <= stats.sum[1]
    zeros = int((part == 0).sum())
    assert stats.zeros[0] <= zeros <= stats.zeros[1]
    least, most = surface.bounds(region)
    assert least <= part.min() and part.max() <= most


def test_what_costs_too_much_is_refused() -> None:
    large = relief.parse("relief version=1\ncanvas width=1000000 height=1000000\nnoise seed=1")
    with pytest.raises(relief.CostRefused) as refused:
        large.stats(effort=1000)
    assert refused.value.effort == 1000 and "effort=None" in str(refused.value)
    with pytest.raises(relief.CostRefused) as refused:
        large.level(18, effort=1000)[...]
    assert refused.value.within
    assert large._repr_png_() is None


def test_what_is_known_after_some_effort(noise8: Any) -> None:
    surface, whole = noise8
    for level in (2, 4):
        exact = reduced(whole, level, "mean").astype(int)
        with pytest.raises(relief.CostRefused) as refused:
            surface.level(level, effort=0)[...]
        known = surface.level(level, effort=0, exact=False)
        assert np.abs(known[...].astype(int) - exact).max() <= refused.value.within
        np.testing.assert_array_equal(surface.level(level, exact=False)[...], exact)
        again = pickle.loads(pickle.dumps(known))
        assert not again.exact and again.effort == 0
        assert known.__dask_tokenize__() != surface.level(level).__dask_tokenize__()


def test_without_levels_or_with_a_wrong_one() -> None:
    surface = relief.parse("relief version=1\ncanvas width=9 height=9\nnoise seed=1", levels=False)
    for ask in (lambda: surface.level(1), surface.stats):
        with pytest.raises(relief.OptionError, match="levels=True"):
            ask()
    surface = relief.parse("relief version=1\ncanvas width=9 height=9\nnoise seed=1")
    for level in (-1, 41, True):
        with pytest.raises(relief.OptionError):
            surface.level(level)
    with pytest.raises(relief.OptionError):
        surface.level(1, "median")


def test_a_pyramid_is_what_viewers_take(noise8: Any) -> None:
    surface, whole = noise8
    levels = surface.pyramid(smallest=10)
    assert levels[0] is surface
    for number, level in enumerate(levels):
        np.testing.assert_array_equal(level[1:, :3], reduced(whole, number, "mean")[1:, :3])
    assert max(levels[-1].shape) <= 10 < max(levels[-2].shape)
