"""Surfaces too large to store, as arrays that are computed where they are read.

>>> import relief_surfaces as relief
>>> sheet = relief.parse('''
... relief version=1
... canvas width="2m" height="1.8m" pixel="1um"
... repeat step-x="5mm" step-y="4500um" {
...     (pattern)disc diameter="3mm" value=200
... }
... ''')
>>> sheet.shape, sheet.dtype
((1800000, 2000000), dtype('uint8'))
>>> sheet[900_000, 1_001_459:1_001_464]
array([  0,   0, 200, 200, 200], dtype=uint8)
>>> sheet.stats().mean
63

Nothing is computed before it is read, and nothing holds the 3.6 TB: see `Surface`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._asked import Difference, DifferentRegion, ExplainedNode, Explanation
from ._native import MEANING, __version__
from ._open import check, devices, explain, open, parse
from .errors import (
    Cancelled,
    CostRefused,
    Defect,
    DesignError,
    DesignWarning,
    DeviceError,
    DigestMismatch,
    FileError,
    ImageError,
    MemoryRefused,
    OptionError,
    OutputError,
    Place,
    Problem,
    Problems,
    RegionError,
    ReliefError,
)
from ._surface import Band, Level, Plan, Stats, Surface, Written

if TYPE_CHECKING:
    from . import design

__all__ = [
    "MEANING",
    "Band",
    "Cancelled",
    "CostRefused",
    "Defect",
    "DesignError",
    "DesignWarning",
    "DeviceError",
    "Difference",
    "DifferentRegion",
    "DigestMismatch",
    "ExplainedNode",
    "Explanation",
    "FileError",
    "ImageError",
    "Level",
    "MemoryRefused",
    "OptionError",
    "OutputError",
    "Place",
    "Plan",
    "Problem",
    "Problems",
    "RegionError",
    "ReliefError",
    "Stats",
    "Surface",
    "Written",
    "__version__",
    "check",
    "design",
    "devices",
    "explain",
    "open",
    "parse",
]


def __getattr__(name: str) -> Any:
    # The builder is read when it is first asked for, so that importing the package stays quick.
    if name == "design":
        from importlib import import_module

        return import_module(".design", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
