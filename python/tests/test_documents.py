"""What the documentation shows is what happens."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import runpy
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, requires

import relief_surfaces

MODULES = sorted(
    one.name for one in pkgutil.iter_modules(relief_surfaces.__path__) if one.name not in ("_native", "xarray_backend")
)
PAGES = [ROOT / "python" / "README.md", ROOT / "docs" / "python.md"]
EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))
NEEDS = {"cluster": ["distributed"], "filter": ["scipy"], "sheet": []}


@pytest.mark.parametrize("name", ["", *MODULES])
def test_docstrings(here: Path, name: str) -> None:
    requires("dask.array")
    module = importlib.import_module(f"relief_surfaces.{name}".rstrip("."))
    told: list[str] = []
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(module, module.__name__):
        runner.run(test, out=told.append)
    assert runner.failures == 0, "".join(told)


def blocks(page: Path) -> list[Any]:
    """The blocks of Python of a page, with the lines where they begin."""
    out, start, lines = [], 0, None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line == "```python":
            start, lines = number, []
        elif line == "```" and lines is not None:
            out.append(("\n" * start + "\n".join(lines), start))
            lines = None
        elif lines is not None:
            lines.append(line)
    assert out, page
    return out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page follow each other, as a reader types them, in a folder with the examples."""
    for module in ("dask.array", "xarray", "tqdm"):
        requires(module)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for code, _ in blocks(page):
        exec(compile(code, str(page), "exec"), names)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in NEEDS[example.stem]:
        requires(module)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")


def test_stubs_name_what_there_is() -> None:
    import ast

    stub = Path(relief_surfaces.__file__).with_name("_native.pyi")
    from relief_surfaces import _native

    declared: dict[str, set[str]] = {"": set()}
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ClassDef):
            declared[node.name] = {
                one.name if isinstance(one, ast.FunctionDef) else one.target.id  # type: ignore[union-attr]
                for one in node.body
                if isinstance(one, (ast.FunctionDef, ast.AnnAssign))
            }
        elif isinstance(node, ast.FunctionDef):
            declared[""].add(node.name)
    there = {name for name in dir(_native) if not name.startswith("_") and callable(getattr(_native, name))}
    assert there == declared[""] | {"Surface"}
    assert {name for name in dir(_native.Surface) if not name.startswith("_")} == declared["Surface"]
