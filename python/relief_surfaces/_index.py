"""Indexes of two axes, as NumPy has them."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple


class Axis(NamedTuple):
    """Which samples of an axis are read: `length` of them, each `step` after the one before, from `start` on."""

    start: int
    length: int
    step: int


def normalised(key: Any, shape: tuple[int, int]) -> tuple[tuple[Axis, Axis], tuple[Any, ...]]:
    """What has to be read for `key`, rows first, and the index that makes its result of what was read.

    >>> normalised((3, slice(None, None, -2)), (10, 5))
    ((Axis(start=3, length=1, step=1), Axis(start=0, length=3, step=2)), (0, slice(None, None, -1)))
    """
    keys = key if isinstance(key, tuple) else (key,)
    given = sum(1 for one in keys if one is not None and one is not Ellipsis)
    if given > 2:
        raise IndexError(f"too many indices for array: array is 2-dimensional, but {given} were indexed")
    if sum(1 for one in keys if one is Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    axes: list[Axis] = []
    after: list[Any] = []
    for one in keys:
        if one is None:
            after.append(None)
        elif one is Ellipsis:
            # It stays: an array of no axis is no sample.
            axes += [Axis(0, length, 1) for length in shape[len(axes) :][: 2 - given]]
            after.append(Ellipsis)
        else:
            axis, index = _axis(one, len(axes), shape[len(axes)])
            axes.append(axis)
            after.append(index)
    axes += [Axis(0, length, 1) for length in shape[len(axes) :]]
    return (axes[0], axes[1]), tuple(after)


def place(index: Any, axis: int, shape: tuple[int, int]) -> int:
    """An index of one sample along an axis, counted from its start.

    >>> place(-1, 1, (10, 5))
    4
    """
    if isinstance(index, slice):
        raise IndexError("one sample is asked for: give whole numbers")
    return _axis(index, axis, shape[axis])[0].start


def _axis(key: Any, axis: int, length: int) -> tuple[Axis, Any]:
    if isinstance(key, slice):
        taken = range(*key.indices(length))
        count = len(taken)
        if count == 0:
            return Axis(0, 0, 1), slice(None)
        if taken.step < 0:
            return Axis(taken[-1], count, -taken.step), slice(None, None, -1)
        return Axis(taken[0], count, taken.step), slice(None)
    # True and False are masks for NumPy, not numbers.
    if isinstance(key, bool) or type(key).__name__ in ("bool_", "bool"):
        raise IndexError("masks are not understood: read a window by slices and index that")
    try:
        index = operator.index(key)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`) and None are valid indices; "
            "for lists and masks read a window by slices and index that"
        ) from None
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")
    return Axis(index % length, 1, 1), 0


def window(region: Any, shape: tuple[int, int]) -> tuple[int, int, int, int]:
    """x, y, width and height of a region: two slices without steps, rows first, or None for all."""
    from .errors import RegionError

    if region is None:
        region = ()
    rows, columns = normalised(region, shape)[0]
    if rows.step != 1 or columns.step != 1:
        raise RegionError("a region is two slices without steps, such as np.s_[0:480, 0:640]")
    if rows.length == 0 or columns.length == 0:
        raise RegionError(f"the region {region!r} has no pixel of the {shape[0]} × {shape[1]}")
    return columns.start, rows.start, columns.length, rows.length
