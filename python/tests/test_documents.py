"""What the documentation shows is what happens."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import runpy
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, is_there, requires

import relief_surfaces

MODULES = sorted(one.name for one in pkgutil.iter_modules(relief_surfaces.__path__) if one.name != "_native")
PAGES = {ROOT / "python" / "README.md": [], ROOT / "docs" / "python.md": ["dask.array", "distributed", "xarray", "tqdm"]}
EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))
NEEDS = {"cluster": ["distributed"], "filter": ["scipy"], "sheet": []}


@pytest.mark.parametrize("name", ["", *MODULES])
def test_docstrings(here: Path, name: str) -> None:
    if name == "xarray_backend":
        requires("xarray")
    module = importlib.import_module(f"relief_surfaces.{name}".rstrip("."))
    told: list[str] = []
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(module, module.__name__):
        if test.name.endswith("Surface.dask") and not is_there("dask"):
            continue
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
    for module in PAGES[page]:
        requires(module)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for code, _ in blocks(page):
        exec(compile(code, str(page), "exec"), names)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in NEEDS[example.stem]:
        requires(module)
    # A notebook begins in its own folder.
    monkeypatch.chdir(example.parent)
    runpy.run_path(str(example), run_name="__main__")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples_as_notebooks(example: Path) -> None:
    """As Jupyter runs them, cell by cell."""
    for module in [*NEEDS[example.stem], "ipykernel"]:
        requires(module)
    notebook = requires("jupytext").read(example)
    resources = {"metadata": {"path": str(example.parent)}}
    requires("nbclient").NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs and not any(output.output_type == "error" for output in outputs)
    # Surfaces that a cell ends with are shown.
    shown = sum("image/png" in output.get("data", {}) for output in outputs)
    assert shown == {"cluster": 0, "filter": 2, "sheet": 1}[example.stem]


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


def test_annotations_and_stubs_agree() -> None:
    requires("mypy")
    import subprocess
    import sys

    package = str(ROOT / "python" / "relief_surfaces")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "python" / "pyproject.toml"), "--cache-dir", os.devnull]
    found = subprocess.run([*command, package], capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_page_of_all_names_is_current() -> None:
    import subprocess
    import sys

    found = subprocess.run([sys.executable, str(ROOT / "python" / "reference.py")], capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr


def test_the_page_of_all_names_has_all_names() -> None:
    """Of the package as it is when it runs, which the script that writes the page does not ask."""
    from relief_surfaces import design

    page = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
    surface = relief_surfaces.parse("relief version=1\ncanvas width=4 height=3\nfill value=9")
    problem = relief_surfaces.check("relief version=1\n")[0]
    made = [
        surface,
        surface.level(1),
        surface.plan(),
        surface.stats(),
        problem,
        relief_surfaces.DesignError("", [problem]),
        relief_surfaces.MemoryRefused(""),
        relief_surfaces.OptionError("", ""),
        relief_surfaces.CostRefused("", 1),
        relief_surfaces.DigestMismatch("", "", "", ""),
        relief_surfaces.ImageError("", ""),
        design.document(design.canvas(width=1, height=1)),
        design.Node("fill"),
    ]
    names = {type(one).__name__: {name for name in getattr(one, "__dict__", {}) if not name.startswith("_")} for one in made}
    for module in (relief_surfaces, design):
        for name in module.__all__:
            if isinstance(value := getattr(module, name), type):
                inherited = {one for base in value.__mro__[1:] if base.__module__ == "builtins" for one in dir(base)}
                own = {one for one in dir(value) if not one.startswith("_") and one not in inherited}
                names.setdefault(name, set()).update(own)
            elif callable(value):
                assert f"\n### `{name}`" in page, name
    for name, attributes in names.items():
        found = page.split(f"\n### `{name}`")
        assert len(found) == 2, name
        section = found[1].split("\n### ")[0].split("\n## ")[0]
        for attribute in attributes:
            # What all errors have stands with the first.
            assert f"| `{attribute}` |" in section or f"#### `{name}.{attribute}`" in section, (name, attribute)
