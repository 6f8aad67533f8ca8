"""What tests share: designs with the arrays that they are, computed here from the definitions by NumPy alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import relief_surfaces as relief

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

# The same cases on every run: a failure can be repeated, and a run takes as long as the one before.
settings.register_profile("tests", deadline=None, derandomize=True, max_examples=60, database=None)
settings.load_profile("tests")


def noise(seed: int, width: int, height: int, bits: int) -> np.ndarray[Any, Any]:
    """White noise as docs/nodes.md defines it, by the whole numbers of Python."""
    mask, rows = (1 << 64) - 1, []
    for y in range(height):
        row = []
        for x in range(width):
            z = (seed + x * 0x9E3779B97F4A7C15 + y * 0xC2B2AE3D27D4EB4F) & mask
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
            row.append((z ^ (z >> 31)) >> (64 - bits))
        rows.append(row)
    return np.array(rows, dtype=np.uint8 if bits == 8 else np.uint16)


def lattice(pattern: np.ndarray[Any, Any], u: tuple[int, int], v: tuple[int, int], width: int, height: int) -> Any:
    """The greatest of all copies of a pattern along two vectors, by going through all copies that can reach the canvas."""
    out = np.zeros((height, width), pattern.dtype)
    rows, columns = pattern.shape
    reach = width + height + rows + columns
    for i in range(-reach, reach):
        for j in range(-reach, reach):
            x, y = i * u[0] + j * v[0], i * u[1] + j * v[1]
            left, top, right, bottom = max(x, 0), max(y, 0), min(x + columns, width), min(y + rows, height)
            if left < right and top < bottom:
                part = pattern[top - y : bottom - y, left - x : right - x]
                out[top:bottom, left:right] = np.maximum(out[top:bottom, left:right], part)
    return out


NOISE8 = "relief version=1\ncanvas width=61 height=43 bits=8\nnoise seed=5"
NOISE16 = "relief version=1\ncanvas width=37 height=53 bits=16\nnoise seed=-7"


@pytest.fixture(scope="session")
def noise8() -> tuple[relief.Surface, np.ndarray[Any, Any]]:
    return relief.parse(NOISE8, threads=2), noise(5, 61, 43, 8)


@pytest.fixture(scope="session")
def noise16() -> tuple[relief.Surface, np.ndarray[Any, Any]]:
    return relief.parse(NOISE16, threads=2), noise(-7, 37, 53, 16)


@pytest.fixture(scope="session")
def sheet() -> relief.Surface:
    """3.6 TB."""
    return relief.open(EXAMPLES / "sheet" / "design.kdl", threads=2)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Examples of documents name files as seen from the folder of the package."""
    folder = ROOT / "python"
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def program() -> str:
    """The command line, where its tests have built it: RELIEF names it."""
    found = os.environ.get("RELIEF")
    if not found:
        pytest.skip("RELIEF names no program")
    return found


def is_there(module: str) -> bool:
    """Whether a module is installed; it has to be where RELIEF_REQUIRE_PYTHON=1 is set."""
    import importlib.util

    return bool(os.environ.get("RELIEF_REQUIRE_PYTHON")) or importlib.util.find_spec(module) is not None


def requires(module: str) -> Any:
    """A module that tests need; they are skipped without it, unless RELIEF_REQUIRE_PYTHON=1 makes that a failure."""
    if os.environ.get("RELIEF_REQUIRE_PYTHON"):
        import importlib

        return importlib.import_module(module)
    return pytest.importorskip(module)
