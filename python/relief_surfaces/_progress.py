"""Who is told how far a job is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .errors import OptionError

Tell = Callable[[int, int], object]


@contextmanager
def telling(progress: Any, what: str) -> Iterator[Tell | None]:
    """The function that is told samples done and samples of all: `progress` itself, or one that moves a bar.

    `True` shows a bar of tqdm, in a notebook as well. An object with `update` and `total` is moved as a bar of tqdm.
    """
    if progress is None or progress is False:
        yield None
    elif progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise OptionError(
                "progress", "a bar needs tqdm: pip install tqdm, or give a function of (done, total)"
            ) from None
        with tqdm(desc=what, unit="px", unit_scale=True) as bar:
            yield _moving(bar)
    elif hasattr(progress, "update") and hasattr(progress, "total"):
        yield _moving(progress)
    elif callable(progress):
        yield progress
    else:
        raise OptionError("progress", f"{progress!r} is neither True nor a bar nor a function of (done, total)")


def _moving(bar: Any) -> Tell:
    before = 0

    def tell(done: int, total: int) -> None:
        nonlocal before
        bar.total = total
        bar.update(done - before)
        before = done

    return tell
