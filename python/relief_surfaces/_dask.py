"""Surfaces as Dask arrays."""

from __future__ import annotations

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
    _few(surface, chunks)
    cut = normalize_chunks(chunks, surface.shape, dtype=surface.dtype)
    return da.from_array(
        surface,
        chunks=cut,
        name=f"Surface-{tokenize(surface, cut)}",
        meta=np.empty((0, 0), surface.dtype),
        asarray=False,
        inline_array=True,
        fancy=False,
    )


def _few(surface: Surface, chunks: Any) -> None:
    """Refuses what would take a scheduler minutes and gigabytes, before chunks are listed."""
    sides = chunks if isinstance(chunks, (tuple, list)) else (chunks, chunks)
    if len(sides) != 2 or not all(isinstance(side, int) and side > 0 for side in sides):
        # Lists of chunks are as long as they are; "auto" makes chunks of 128 MiB.
        if chunks == "auto" or "auto" in sides:
            count = surface.nbytes // (32 << 20)
            sides = (4096, 4096)
        else:
            return
    else:
        count = -(-surface.shape[0] // sides[0]) * -(-surface.shape[1] // sides[1])
    if count <= MAX_CHUNKS:
        return
    across = min(1000, -(-surface.shape[1] // sides[1]))
    down = MAX_CHUNKS // across
    rows, columns = min(surface.shape[0], down * sides[0]), min(surface.shape[1], across * sides[1])
    raise OptionError(
        "chunks",
        f"{count} chunks are more than a scheduler can take ({MAX_CHUNKS}): cut the region first, such as "
        f"dask(np.s_[:{rows}, :{columns}], chunks={sides!r}), or take larger chunks",
    )
