"""Draws the public tests of resvg by Relief and compares each with what resvg draws of it, at 16 × 16 samples a pixel.

    git clone --depth 1 https://github.com/linebender/resvg /tmp/resvg
    python3 bench/drawings/resvg_cases.py --relief target/release/relief --suite /tmp/resvg/crates/resvg/tests [--record FILE]

The tests are not part of this tree. Python needs numpy, pillow and resvg-py==0.5.0, which draw the reference: resvg takes 4 × 4 samples a pixel, so that
4 times the size has 16 × 16. What is compared is the opacity. What is off by more than 2 of 255 is compared once more with resvg at 16 times the size,
where pixels that two shapes cover in part weigh less, both at its own size and at 16 times. With `--kinds text` the texts are compared, by the fonts of the tests.
"""

import argparse
import collections
import concurrent.futures
import datetime
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import resvg_py
from PIL import Image

KINDS = ["shapes", "structure", "painting", "masking"]
# Of 255: nothing but rounding; edges at their own size; the same averaged from 16 times the size.
SAME, EDGES, ENLARGED = 2, 17, 13
# No edge is off by so much.
FAR = 64
# The font that stands for any.
FONT = "NotoSans-Regular.ttf"
OUTCOMES = ["within 2", "edges", "told", "refused", "other", "no reference"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relief", required=True, type=Path)
    parser.add_argument("--suite", required=True, type=Path, help="the folder with the folders `tests` and `fonts`")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--record", type=Path)
    return parser.parse_args()


def fonts(suite):
    """The fonts of the tests, that which stands for any first."""
    found = (path for path in (suite / "fonts").iterdir() if path.suffix in (".ttf", ".otf"))
    # Those that hold pictures have no outlines.
    files = sorted(path for path in found if "CBDT" not in path.name)
    return sorted(files, key=lambda path: path.name != FONT)


def reference(path, suite, zoom):
    """The opacity by resvg; nothing where it draws nothing."""
    options = {"dpi": 96, "languages": ["en"]}
    if "text" in path.parts:
        families = ["font_family", "serif_family", "sans_serif_family", "cursive_family", "fantasy_family", "monospace_family"]
        options |= {family: "Noto Sans" for family in families}
        options["font_dirs"] = [str(suite / "fonts")]
    try:
        png = resvg_py.svg_to_bytes(svg_path=str(path), zoom=zoom, skip_system_fonts=True, resources_dir=str(path.parent), **options)
    except ValueError:
        return None
    return np.asarray(Image.open(io.BytesIO(bytes(png))).convert("RGBA"))[:, :, 3].astype(float)


def relief(program, path, suite, size, times, folder):
    """The opacity by Relief, or why there is none, and what it warns of."""
    width, height = size[0] * times, size[1] * times
    sides = f" width={width} height={height}" if times > 1 else ""
    given = ""
    if "text" in path.parts:
        names = [f'font "{file}"' for file in fonts(suite)]
        given = " {\n" + "\n".join(names) + "\n}"
    design, out, drawing = (folder / f"{os.getpid()}.{kind}" for kind in ("kdl", "raw", "svg"))
    # Under a short name, which no message breaks. No other file is opened.
    shutil.copyfile(path, drawing)
    design.write_text(
        f"relief version=1\ncanvas width={width} height={height} bits=8 dpi=96\n"
        f'compose {{\n(base)svg "{drawing}" gray="opacity"{sides}{given}\n}}\n'
    )
    told = subprocess.run([program, "check", design], capture_output=True, text=True)
    text = " ".join((told.stdout + told.stderr).split())
    # Only places in the drawing are of the drawing.
    warnings = re.findall(r"Warning: W210 ⚠ .*?\.svg:(\d+:\d+: .*?) ╭", text.replace("│ ", ""))
    if told.returncode != 0 and "Error" in text:
        found = re.search(r"× the drawing cannot be used: \S*?\.svg:?(.*?) ╭", text.replace("│ ", ""))
        return None, [found[1].strip() if found else text[:200]]
    done = subprocess.run(
        [program, "render", design, "--device", "cpu", "--threads", "1", "-f", "raw", "-o", out, "-q"], capture_output=True, text=True
    )
    if done.returncode != 0:
        return None, [" ".join(done.stderr.split())[:200]]
    return np.fromfile(out, np.uint8).reshape(height, width).astype(float), warnings


def averaged(samples, size):
    width, height = size
    times = samples.shape[0] // height
    whole = samples[: height * times, : width * times]
    return whole.reshape(height, times, width, times).mean(axis=(1, 3))


def compare(program, path, suite, folder):
    """What came of a document: one of OUTCOMES, and the reason where it is not the first."""
    once = reference(path, suite, 1)
    if once is None:
        return "no reference", "resvg refuses the document"
    size = (once.shape[1], once.shape[0])
    ours, told = relief(program, path, suite, size, 1, folder)
    if ours is None:
        return "refused", told[0]
    if size[0] * size[1] > 1 << 22:
        return "no reference", f"its page has {size[0]} × {size[1]} pixels"
    theirs = averaged(reference(path, suite, 4), size)
    off = np.abs(ours - theirs).max()
    if off <= SAME:
        return "within 2", ""
    if told and off > FAR:
        return "told", f"off by {off:.0f}; {told[0]}"
    finer = averaged(reference(path, suite, 16), size)
    larger, _ = relief(program, path, suite, size, 16, folder)
    off = np.abs(ours - finer).max()
    still = np.abs(averaged(larger, size) - finer).max() if larger is not None else 255.0
    by = f"off by {off:.0f}, by {still:.0f} averaged from 16 times the size"
    if off <= EDGES and still <= ENLARGED:
        return "edges", by
    if told:
        return "told", f"{by}; {told[0]}"
    if not theirs.any():
        return "other", f"resvg draws nothing, {by}"
    return "other", by


def main():
    arguments = parse()
    program, suite = arguments.relief.resolve(), arguments.suite.resolve()
    lines, counts = [], {}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ProcessPoolExecutor(arguments.processes) as pool:
        for kind in arguments.kinds.split(","):
            paths = sorted((suite / "tests" / kind).rglob("*.svg"))
            if not paths:
                sys.exit(f"{suite / 'tests' / kind} holds no drawings")
            counts[kind] = collections.Counter()
            work = [pool.submit(compare, program, path, suite, Path(folder)) for path in paths]
            for path, done in zip(paths, work):
                outcome, reason = done.result()
                counts[kind][outcome] += 1
                if outcome != "within 2":
                    lines.append(f"{path.relative_to(suite / 'tests')}: {outcome}: {reason}")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    head = [
        f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {version}, resvg-py {resvg_py.__version__}",
        f"bench/drawings/resvg_cases.py --kinds {arguments.kinds}",
        "",
        f"{'':14}" + "".join(f"{kind:>11}" for kind in counts),
    ]
    for outcome in OUTCOMES:
        head.append(f"{outcome:14}" + "".join(f"{counts[kind][outcome]:11}" for kind in counts))
    head.append(f"{'documents':14}" + "".join(f"{sum(counts[kind].values()):11}" for kind in counts))
    text = "\n".join([*head, "", *lines]) + "\n"
    if arguments.record:
        arguments.record.write_text(text)
    print("\n".join(head))


main()
