"""Why, how many, and what changed: against NumPy, and word by word what the command line prints."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relief_surfaces as relief

CELL = np.random.default_rng(4).integers(0, 256, (5, 7), dtype=np.uint8)

PLATE = """
relief version=1
parameter "base" 100
canvas width=40 height=30
compose {
    (base)fill value=$base
    (max)repeat x=3 y=2 width=30 height=20 {
        (pattern)image "cell"
    }
    (subtract)fill value=0
}
"""


def plate(cell: np.ndarray[Any, Any] = CELL, base: int = 100) -> relief.Surface:
    return relief.parse(PLATE, {"cell": cell}, set={"base": base}, name="plate")


def by_numpy(cell: np.ndarray[Any, Any] = CELL, base: int = 100) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The samples of the plate, and whether the picture decides them."""
    copies = np.zeros((30, 40), np.uint8)
    copies[2:22, 3:33] = np.tile(cell, (4, 5))[:20, :30]
    return np.maximum(copies, base), copies > base


def test_every_sample_is_explained() -> None:
    surface = plate()
    whole, by_cell = by_numpy()
    np.testing.assert_array_equal(surface[...], whole)
    for y in range(0, 30, 3):
        for x in range(0, 40, 3):
            why = surface.why(y, x)
            assert (why.y, why.x, why.value, why.greatest, why.cut) == (y, x, whole[y, x], 255, False)
            assert (why.decides.kind, why.decides.line) == (("image", 8) if by_cell[y, x] else ("fill", 6))
            if by_cell[y, x]:
                assert (why.decides.y, why.decides.x) == ((y - 2) % 5, (x - 3) % 7)
            # What each child of the root makes of the sample is what the next one begins with.
            folded = [node.folded for node in why.nodes if node.parent == 0 and node.folded]
            assert folded[0][0] == 0 and folded[-1][1] == why.value
            assert [after for _, after in folded[:-1]] == [before for before, _ in folded[1:]]


def test_a_pixel_of_a_part_is_that_of_the_canvas() -> None:
    surface = plate()
    part = surface.crop(np.s_[5:25, 10:])
    assert part.why(2, 3) == surface.why(7, 13)
    assert surface.why(-1, np.int64(-40)) == surface.why(29, 0)
    for place in [(30, 0), (0, 40), (-31, 0), (1.5, 0), (True, 0), (slice(3), 0), (None, 0)]:
        with pytest.raises(IndexError):
            surface.why(*place)


def test_what_a_filter_reads_is_told() -> None:
    surface = relief.parse("relief version=1\ncanvas width=30 height=20\nbox radius=2 {\n(source)noise seed=3\n}")
    why = surface.why(9, 11)
    [root, noise] = why.nodes
    assert why.decides == root and (noise.parent, noise.role, noise.folded) == (0, "source", None)
    assert noise.reads == np.s_[7:12, 9:14] and (noise.y, noise.x) == (9, 11)
    assert "the middle of 5×5 that are read" in str(why) and why._repr_html_().startswith("<pre>")


def test_why_prints_what_the_command_line_prints(tmp_path: Path, program: str) -> None:
    text = """
        relief version=1
        canvas width=90 height=70 bits=16
        compose {
            (max)ramp axis="x" from=0 to=9
            (base)gauss sigma=2 { (source)noise seed=1 }
            (mask)lattice blend="mean" { u 14 3; v -2 11; (pattern)disc diameter=12 value=60000 }
            (add)disc diameter=9 value=5 x=80 y=60
        }
    """
    file = tmp_path / "a.kdl"
    file.write_text(text)
    surface = relief.open(file, threads=1)
    for y, x in [(0, 0), (34, 20), (66, 85), (69, 89)]:
        told = subprocess.run(
            [program, "why", str(file), str(x), str(y)], check=True, stdout=subprocess.PIPE, text=True, timeout=60
        )
        assert f"{surface.why(y, x)}\n" == told.stdout


@pytest.mark.parametrize("region", [np.s_[:, :], np.s_[3:40, -20:], np.s_[7, 5]])
def test_histograms_are_those_of_numpy(noise8: Any, noise16: Any, region: Any) -> None:
    for surface, whole in (noise8, noise16):
        most = np.iinfo(whole.dtype).max
        found = surface.histogram(region)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, np.bincount(whole[region].ravel(), minlength=most + 1))


def test_histograms_of_parts_and_of_what_repeats() -> None:
    surface, (whole, _) = plate(), by_numpy()
    part = surface.crop(np.s_[5:25, 10:])
    np.testing.assert_array_equal(part.histogram(np.s_[1:, :-3]), np.bincount(whole[6:25, 10:37].ravel(), minlength=256))
    text = """
        relief version=1
        canvas width=1000000000000 height=1000000000000
        repeat step-x=100 step-y=100 { (pattern)fill value=200 width=10 height=50 }
    """
    counts = relief.parse(text).histogram(effort=1 << 20)
    # More than 64 bits can count.
    assert counts.dtype == object
    assert counts[200] == 10**24 // 20 and counts[0] == 10**24 - 10**24 // 20


def test_a_histogram_that_costs_too_much_is_refused() -> None:
    large = relief.parse("relief version=1\ncanvas width=1000000 height=1000000\nnoise seed=1")
    with pytest.raises(relief.CostRefused, match="of 1000000000000 samples are counted") as refused:
        large.histogram(effort=1000)
    assert refused.value.effort == 1000
    with pytest.raises(relief.RegionError):
        large.histogram(np.s_[3:3])


def test_differences_are_those_of_numpy() -> None:
    other_cell = CELL.copy()
    other_cell[2, 3] ^= 255
    one, other = plate(), plate(other_cell)
    first, second = by_numpy()[0].astype(int), by_numpy(other_cell)[0].astype(int)
    apart = np.abs(first - second)
    rows, columns = np.nonzero(apart)
    found = one.diff(other)
    assert found and found.same is False and (found.shapes, found.bits, found.not_compared) == (None, None, 0)
    assert (found.different, found.largest) == (np.count_nonzero(apart), apart.max())
    assert found.within == np.s_[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    covered = np.zeros_like(apart)
    for one_of in found.regions:
        covered[one_of.region] += 1
        inside = apart[one_of.region]
        assert (one_of.different, one_of.largest, one_of.compared) == (np.count_nonzero(inside), inside.max(), inside.size)
    assert covered.max() == 1 and not apart[covered == 0].any()

    # Parts count from their own corner.
    region = np.s_[4:20, 9:]
    found = one.crop(region).diff(other.crop(region))
    inside = apart[region]
    assert found.different == np.count_nonzero(inside)
    assert all(inside[one_of.region].shape for one_of in found.regions)
    rows, columns = np.nonzero(inside)
    assert found.within == np.s_[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]


def test_what_is_written_alike_is_the_same_without_computing() -> None:
    text = 'relief version=1\ncanvas width=1000000 height=1000000\ncompose { (base)noise seed=1; (max)image "p" x=7 }'
    one, other = (relief.parse(text, {"p": CELL.copy()}) for _ in range(2))
    found = one.diff(other, effort=0)
    assert not found and found.same is True and found.regions == ()
    assert str(found) == "no pixel can differ: the designs compute the same"
    changed = relief.parse(text, {"p": CELL[::-1]})
    assert one.diff(changed).regions[0].region == np.s_[0:5, 7:14]
    # A changed seed may change everything.
    found = one.diff(relief.parse(text.replace("seed=1", "seed=2"), {"p": CELL}), effort=0)
    assert found.same is None and found.not_compared == 10**12
    with pytest.raises(relief.CostRefused, match="more may differ"):
        bool(found)


def test_other_shapes_and_depths_differ() -> None:
    text = "relief version=1\ncanvas width={} height=9 bits={}\nnoise seed=1"
    one, wider, deeper = (relief.parse(text.format(*size)) for size in [(8, 8), (9, 8), (8, 16)])
    assert one.diff(wider).shapes == ((9, 8), (9, 9)) and bool(one.diff(wider))
    assert one.diff(deeper).bits == (8, 16) and bool(one.diff(deeper))
    assert str(one.diff(deeper)) == "samples of 8 bits and of 16 bits"
    with pytest.raises(relief.OptionError, match="one region"):
        one.diff(wider.crop(np.s_[:, 1:]))
    with pytest.raises(relief.OptionError, match="ndarray"):
        one.diff(one[...])


def test_diff_prints_what_the_command_line_prints(tmp_path: Path, program: str) -> None:
    text = "relief version=1\ncanvas width=40 height=30\ncompose {{ (base)noise seed=1; {} }}"
    children = [
        "(max)disc diameter=9 value=200 x=3 y=4; (max)disc diameter=5 value=100 x=30 y=20",
        "(max)disc diameter=9 value=250 x=3 y=4; (max)disc diameter=5 value=100 x=30 y=21",
        "(max)disc diameter=9 value=200 x=3 y=4; (max)disc diameter=5 value=100 x=30 y=20 // the same",
    ]
    files = [tmp_path / f"{number}.kdl" for number in range(len(children) + 1)]
    for file, child in zip(files, children):
        file.write_text(text.format(child + "\n"))
    files[-1].write_text("relief version=1\ncanvas width=50 height=20 bits=8\nfill value=1")
    one = relief.open(files[0])
    for file in files[1:]:
        told = subprocess.run([program, "diff", str(files[0]), str(file)], stdout=subprocess.PIPE, text=True, timeout=60)
        found = one.diff(relief.open(file))
        assert f"{found}\n" == told.stdout
        assert told.returncode == int(bool(found))
