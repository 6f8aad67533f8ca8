"""Errors are classes with what, where, and what would work."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import pytest

import relief_surfaces as relief

WRONG = "relief version=1\ncanvas width=4 height=3\nfil value=3"


def test_problems_have_places() -> None:
    [problem] = relief.check(WRONG)
    assert (problem.code, problem.line, problem.column, problem.warning) == ("E301", 3, 1, False)
    assert problem.help and "fill" in problem.help
    assert problem.show().splitlines()[1:3] == ["  3 | fil value=3", "    | ^^^ " + problem.places[0].text]
    assert str(problem).startswith("<text>:3:1: E301: ")
    assert pickle.loads(pickle.dumps(problem)) == problem


def test_problems_are_a_list_that_is_empty_where_all_is_right() -> None:
    assert not relief.check("relief version=1\ncanvas width=4 height=3\nfill value=3")
    problems = relief.check("relief version=1\ncanvas width=4 height=3\nfill value=300 valeu=3")
    assert len(problems) == 2 and problems.errors == problems and not problems.warnings
    assert "<b" in problems._repr_html_() and "E402" in repr(problems)


def test_a_doubt_is_a_warning() -> None:
    text = "relief version=1\ncanvas width=4 height=3 depth=16\nfill value=9"
    [doubt] = relief.check(text)
    assert doubt.warning and doubt.code == "W101"
    with pytest.warns(relief.DesignWarning, match="W101"):
        surface = relief.parse(text)
    assert [one.code for one in surface.warnings] == ["W101"]


def test_what_is_shown_of_hostile_text_is_escaped() -> None:
    hostile = 'relief version=1\ncanvas width=4 height=3\n"<script>" value="<b>&"'
    page = relief.check(hostile)._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page
    long = "relief version=1\ncanvas width=4 height=3\nfill value=" + "9" * 100_000
    assert max(len(problem.show()) for problem in relief.check(long)) < 20_000
    wide = relief.check('relief version=1\ncanvas width=4 height=3\n/*ä日*/ fil value="日本"')
    assert wide[0].places[0].before == 7 and wide[0].places[0].marked == 3


def test_a_wrong_design_raises_all_its_problems(tmp_path: Path) -> None:
    with pytest.raises(relief.DesignError) as wrong:
        relief.parse(WRONG, name="plate")
    error = wrong.value
    assert (error.code, error.line, error.column) == ("E301", 3, 1)
    assert "plate:3:1: E301" in str(error) and isinstance(error, ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.problems, again.code) == (str(error), error.problems, error.code)
    file = tmp_path / "a.kdl"
    file.write_text(WRONG)
    with pytest.raises(relief.DesignError, match="a.kdl:3:1"):
        relief.open(file)
    assert relief.check(file)[0].file == str(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(relief.FileError) as missing:
        relief.open(tmp_path / "none.kdl")
    assert missing.value.errno == 2 and isinstance(missing.value, OSError)
    file = tmp_path / "a.kdl"
    file.write_bytes(b"relief version=1\xff")
    with pytest.raises(relief.FileError, match="byte 16"):
        relief.open(file)
    file.write_text('relief version=1\ncanvas width=4 height=3\nimage "none.png"')
    with pytest.raises(relief.DesignError, match="none.png"):
        relief.open(file)


def test_a_design_as_json(tmp_path: Path) -> None:
    import json

    document = [
        {"name": "relief", "properties": {"version": 1}},
        {"name": "canvas", "properties": {"width": 4, "height": 3}},
        {"name": "fill", "properties": {"value": 3}},
    ]
    file = tmp_path / "a.json"
    file.write_text(json.dumps(document))
    assert (relief.open(file)[...] == 3).all()
    file.write_text("{}")
    with pytest.raises(relief.FileError):
        relief.open(file)


def test_memory_is_refused_with_what_would_do() -> None:
    text = "relief version=1\ncanvas width=4000 height=4000\ngauss sigma=40 { (source)noise seed=1 }"
    with pytest.raises(relief.MemoryRefused) as refused:
        relief.parse(text, memory="16KiB", threads=4)
    error = refused.value
    assert error.limit == 16 << 10 and error.needed and error.needed > error.limit and error.code == "memory"
    fitting = relief.parse(text, memory=error.needed, threads=4, levels=False)
    assert fitting.plan().peak <= error.needed


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"memory": "lots"}, "memory"),
        ({"memory": -1}, "memory"),
        ({"memory": "99999999999TiB"}, "memory"),
        ({"threads": 0}, "threads"),
        ({"threads": 100_000}, "threads"),
        ({"device": "gpu"}, "device"),
        ({"device": "cuda:1,1"}, "device"),
        ({"images": {"a": [None]}}, "images"),
    ],
)
def test_options_that_cannot_be(options: dict[str, object], option: str) -> None:
    with pytest.raises(relief.OptionError) as wrong:
        relief.parse("relief version=1\ncanvas width=4 height=3\nfill value=3", **options)
    assert wrong.value.option.split()[0] == option


def test_a_device_that_is_not_there_says_why() -> None:
    found = relief.devices()
    assert found[0].id == "cpu" and str(found)
    if not any(device.id.startswith("cuda") for device in found):
        with pytest.raises(relief.OptionError, match="cuda|CUDA"):
            relief.parse("relief version=1\ncanvas width=4 height=3\nfill value=3", device="cuda:99")


def test_a_closed_surface_says_so() -> None:
    with relief.parse("relief version=1\ncanvas width=4 height=3\nfill value=3", name="plate") as surface:
        part = surface.crop((slice(0, 2), slice(0, 2)))
        assert surface[0, 0] == 3
    assert "closed" in repr(surface)
    for use in (lambda: surface[0, 0], surface.render, surface.plan, lambda: surface.level(0), lambda: surface.digest):
        with pytest.raises(ValueError, match="plate is closed"):
            use()
    assert surface._repr_png_() is None and surface.shape == (3, 4)
    assert part[0, 0] == 3


def test_codes_are_explained() -> None:
    assert relief.explain("e402 ") == relief.explain("E402")
    with pytest.raises(relief.OptionError):
        relief.explain("E999")


def test_the_plan_tells_memory() -> None:
    plan = relief.parse("relief version=1\ncanvas width=4000 height=3000\nnoise seed=1", memory="32MiB", threads=1).plan()
    assert 0 < plan.peak <= 32 << 20
    assert plan.threads == 1 and plan.nodes[-1]["kind"] == "noise"
    assert "4000 × 3000" in str(plan) and "<pre>" in plan._repr_html_()


def test_nothing_is_warned_of_what_is_right() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        relief.parse("relief version=1\ncanvas width=4 height=3\nfill value=3")
