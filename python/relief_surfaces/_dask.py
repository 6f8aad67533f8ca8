"""Surfaces as Dask arrays."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ._index import window
from ._surface import MAX_CHUNKS, Surface
from .errors import OptionError


def array(surface: Surface, region: Any, chunks: Any) -> Any:
    """The region of a surface as a Dask array. Each chunk is a window, which is computed where it is needed."""
    try:
        import dask.array as da
        from dask.array.core import normalize_chunks
        from dask.base import tokenize
    except ImportError:
        raise OptionError("dask", "Dask is not installed: pip install 'dask[array]'") from None
    import numpy as np

    if region is not None:
        window(region, surface.shape)
        surface = surface.crop(region)
    sides = _sides(surface, chunks)
    _few(surface.shape, sides)
    cut = normalize_chunks(sides, surface.shape, dtype=surface.dtype)
    return da.from_array(
        surface,
        chunks=cut,
        name=f"Surface-{tokenize(surface, cut)}",
        meta=np.empty((0, 0), surface.dtype),
        asarray=False,
        inline_array=True,
        fancy=False,
    )


Side = int | tuple[int, ...]


def _sides(surface: Surface, chunks: Any) -> tuple[Side, Side]:
    """The rows and the columns of a chunk, or of each, of all that Dask takes for `chunks`. Nothing is listed for that."""
    from dask.array.core import auto_chunks
    from dask.utils import parse_bytes

    if isinstance(chunks, dict):
        if strange := set(chunks) - {0, 1}:
            raise OptionError("chunks", f"{strange.pop()!r} is not an axis; a surface has 0, the rows, and 1, the columns")
        given = [chunks.get(0), chunks.get(1)]
    elif hasattr(chunks, "__iter__") and not isinstance(chunks, (str, bytes)):
        given = list(chunks)
    else:
        given = [chunks, chunks]
    if len(given) != 2 or chunks is None:
        raise OptionError("chunks", f"{chunks!r} is not of two axes; such as 4096, (1024, 2048), (1, -1), 'auto' or '64MiB'")
    sides: list[Any] = []
    limits = set()
    for side, length in zip(given, surface.shape):
        if side is None or isinstance(side, Integral) and side == -1:
            side = length
        elif isinstance(side, str):
            if side != "auto":
                try:
                    limits.add(int(parse_bytes(side)))
                except ValueError:
                    raise OptionError("chunks", f"{side!r} is not a number of bytes; such as '64MiB', or 'auto'") from None
            side = "auto"
        elif hasattr(side, "__iter__") and not isinstance(side, bytes):
            side = tuple(_length(one, 0) for one in side)
            if sum(side) != length:
                raise OptionError("chunks", f"the chunks of an axis are {sum(side)} samples together, and it has {length}")
        else:
            side = min(_length(side, 1), length)
        sides.append(side)
    if len(limits) > 1:
        raise OptionError("chunks", f"the chunks have one number of bytes, and {chunks!r} says two")
    if "auto" in sides:
        # Dask's own rule, which says lengths: those that it lists are listed later.
        sides = list(auto_chunks(tuple(sides), surface.shape, limits.pop() if limits else None, surface.dtype))
    return sides[0], sides[1]


def _length(side: Any, least: int) -> int:
    if isinstance(side, bool) or not isinstance(side, Integral) or side < least:
        raise OptionError("chunks", f"{side!r} is not a length of a chunk; it is a whole number from 1 on, or -1 for all of the axis")
    return int(side)


def _count(length: int, side: Side) -> int:
    return len(side) if isinstance(side, tuple) else -(-length // side)


def _few(shape: tuple[int, int], sides: tuple[Side, Side]) -> None:
    """Refuses what would take a scheduler minutes and gigabytes, before chunks are listed."""
    count = _count(shape[0], sides[0]) * _count(shape[1], sides[1])
    if count <= MAX_CHUNKS:
        return
    # Of a region explicit chunks say nothing.
    rows, columns = ((4096 if isinstance(side, tuple) else side) for side in sides)
    # One that is whole in one axis may have all chunks in the other.
    across = min(-(-shape[1] // columns), max(1000, MAX_CHUNKS // -(-shape[0] // rows)))
    down = MAX_CHUNKS // across
    height, width = min(shape[0], down * rows), min(shape[1], across * columns)
    raise OptionError(
        "chunks",
        f"{count} chunks are more than a scheduler can take ({MAX_CHUNKS}): cut the region first, such as "
        f"dask(np.s_[:{height}, :{width}], chunks={(rows, columns)!r}), or take larger chunks",
    )
