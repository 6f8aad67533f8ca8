"""Designs written in Python."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relief_surfaces as relief
from relief_surfaces import _native
from relief_surfaces import design as d

WORDS = json.loads(_native.signatures())


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word["name"])
def test_every_word_takes_what_the_language_takes(word: dict) -> None:
    function = getattr(d, word["name"].replace("-", "_") + ("_" if word["name"] in ("from", "in") else ""))
    assert word["meaning"] in inspect.getdoc(function) or word["meaning"] in function.__doc__
    for one in word["properties"]:
        assert one["name"].replace("-", "_") in str(inspect.signature(function)), one["name"]
    # Required values are asked for before the parser is.
    if any(one["required"] for one in word["properties"] + word["arguments"]):
        with pytest.raises(TypeError):
            function()
    with pytest.raises(TypeError, match="no value"):
        function(*[1 for one in word["arguments"]], no_such_value=1)


def test_a_design_is_the_one_that_is_written_by_hand(tmp_path: Path) -> None:
    cell = np.random.default_rng(2).integers(0, 256, (9, 9), dtype=np.uint8)
    written = d.document(
        d.parameter("top", 200),
        d.canvas(width=120, height=90, bits=16),
        d.define("dot", d.disc(diameter=5, value=d.reference("top"))),
        d.compose(
            d.lattice(d.u(14, 3), d.v(-2, 11), d.image("cell"), blend="mean", role="base"),
            d.distance(
                d.repeat(d.use("dot"), step_x=40, step_y=30),
                d.profile(d.point(0, 255), d.point(12.5, 100), beyond=0),
                radius=20,
                role="max",
            ),
            (d.use("dot", x=20 * i).as_("add") for i in range(3)),
        ),
    )
    by_hand = """
        relief version=1
        parameter "top" 200
        canvas width=120 height=90 bits=16
        define "dot" { disc diameter=5 value=$top }
        compose {
            (base)lattice blend="mean" { u 14 3; v -2 11; (pattern)image "cell" }
            (max)distance radius=20 {
                (mask)repeat step-x=40 step-y=30 { (pattern)use "dot" }
                profile beyond=0 { point 0 255; point 12.5 100 }
            }
            (add)use "dot" x=0
            (add)use "dot" x=20
            (add)use "dot" x=40
        }
    """
    assert not written.check(images={"cell": cell})
    expected = relief.parse(by_hand, {"cell": cell})[...]
    np.testing.assert_array_equal(written.open({"cell": cell})[...], expected)
    written.save(tmp_path / "a.kdl")
    again = relief.open(tmp_path / "a.kdl", images={"cell": cell})
    np.testing.assert_array_equal(again[...], expected)


@given(text=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0$"), min_size=1, max_size=30))
def test_texts_are_quoted(text: str) -> None:
    # The picture is found by its name, so that the parser has read the text that was written. A path has no NUL, and $ is
    # that of a parameter.
    document = d.document(d.canvas(width=1, height=1), d.image(text))
    assert document.open({text: np.full((1, 1), 7, np.uint8)})[0, 0] == 7


@given(number=st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_written_as_they_are(number: float) -> None:
    text = str(d.gauss(d.noise(seed=1), sigma=number))
    assert float(text.split("sigma=")[1].split(" ")[0]) == number


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, np.True_, object(), b"a"])
def test_what_is_no_value_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        str(d.fill(value=value))


def test_mistakes_are_told_with_what_would_work() -> None:
    with pytest.raises(AttributeError, match="did you mean 'repeat'"):
        d.repaet
    with pytest.raises(TypeError, match="did you mean 'step_x'"):
        d.repeat(d.fill(value=1), stepx=5)
    with pytest.raises(TypeError, match="needs value"):
        d.fill()
    with pytest.raises(TypeError, match="a node is expected"):
        d.document(3)
    with pytest.raises(TypeError):
        d.fill(3, value=2)
    # What only the parser knows, it tells.
    assert d.document(d.canvas(width=1, height=1), d.fill(value=300)).check()[0].code == "E402"
    with pytest.raises(relief.DesignError):
        d.document(d.Node("no word {"))


def test_words_are_listed() -> None:
    assert set(d.words()) <= set(dir(d))
    assert str(d.fill(value=3, x=None)) == "fill value=3"
