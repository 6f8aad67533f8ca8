"""From files and texts to surfaces."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple

from . import _native
from ._quantity import size
from .errors import DesignWarning, OptionError, Problems

if TYPE_CHECKING:
    from ._surface import Surface

Settings = Mapping[str, Any]


class Recipe(NamedTuple):
    """What a surface is made of, so that another process can make it again."""

    path: str | None
    """The design file; None where the text was given."""
    text: str | None
    name: str
    folder: str
    settings: tuple[tuple[str, str], ...]
    images: dict[str, Any]
    memory: int | None
    threads: int | None
    device: str
    device_memory: int | None
    levels: bool | None

    def given(self) -> list[tuple[str, Any]]:
        return list(self.images.items())

    def read(self) -> str:
        return _native.read_text(self.path) if self.text is None and self.path else self.text or ""

    def canvas(self) -> tuple[int, int]:
        """Rows and columns of the canvas. Nothing is prepared."""
        return _native.canvas(
            self.name, self.read(), self.path, self.folder, list(self.settings), self.given(), self.memory
        )

    def made(self, region: Any = None, progress: Any = None) -> tuple[Any, list[Any]]:
        """The native surface and what is doubtful in the design."""
        return _native.open(
            self.name,
            self.read(),
            self.path,
            self.folder,
            list(self.settings),
            self.given(),
            memory=self.memory,
            threads=self.threads,
            device=self.device,
            device_memory=self.device_memory,
            levels=self.levels,
            region=region,
            progress=progress,
        )


def _settings(values: Settings | None) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), _text(name, value)) for name, value in (values or {}).items())


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        raise OptionError("set", f"{name} is {value!r}; a parameter is a number or a text")
    try:
        number = value.item() if hasattr(value, "item") else value
    except ValueError:
        number = value
    if not isinstance(number, (int, float)):
        raise OptionError("set", f"{name} is {value!r}; a parameter is a number or a text")
    return repr(number)


def _images(images: Mapping[str, Any] | None) -> dict[str, Any]:
    """Pictures as arrays that the native part reads: contiguous, of 8 or 16 bits or of binary64, and its own."""
    if not images:
        return {}
    import numpy as np

    own: dict[str, Any] = {}
    for name, value in images.items():
        if isinstance(value, (bytes, bytearray, memoryview)):
            own[str(name)] = bytes(value)
            continue
        array = np.asarray(value)
        kind, width = array.dtype.kind, array.dtype.itemsize
        if kind == "b":
            array = array.astype(np.uint8) * np.uint8(255)
        elif kind == "u" and width <= 2:
            array = array.astype(array.dtype.newbyteorder("="), copy=False)
        elif kind == "f" and width <= 8 or kind in "iu" and width <= 4:
            # Exact: binary64 holds them all.
            array = array.astype(np.float64, copy=False)
        else:
            raise OptionError(
                "images", f"{name} is an array of {array.dtype}; take uint8, uint16, int32, float32, float64 or bool"
            )
        own[str(name)] = np.ascontiguousarray(array)
    return own


def open(  # noqa: A001
    file: str | os.PathLike[str],
    *,
    set: Settings | None = None,
    images: Mapping[str, Any] | None = None,
    region: Any = None,
    memory: int | str | None = None,
    threads: int | None = None,
    device: str = "auto",
    device_memory: int | str | None = None,
    levels: bool | None = None,
    progress: Any = None,
) -> Surface:
    """Opens a design file as a surface.

    >>> import relief_surfaces as relief
    >>> with relief.open("../examples/sheet/design.kdl", memory="64MiB", threads=1) as sheet:
    ...     window = sheet[900_000:900_480, 1_500_000:1_500_640]
    >>> window.shape
    (480, 640)

    Parameters
    ----------
    file
        The design, in KDL or JSON, whose pictures are looked for in its folder; or a packed job, as `relief pack` and
        `Surface.bundle` make one, which holds its pictures and its values.
    set
        Values for parameters of the design, in place of their defaults.
    images
        Arrays or bytes that take the place of files that the design names, by the names that it writes.
    region
        The part of the canvas that is wanted: two slices, rows first. Nothing beyond it is prepared.
    memory
        The most bytes that the surface may hold, as a number or as "64MiB"; 1 GiB where nothing is said. The arrays that are
        read are not part of it.
    threads
        Threads that compute; one for each processor where nothing is said.
    device
        "auto", "cpu", "cuda:0,1", "vulkan", … as `devices` lists them. The samples do not depend on it.
    device_memory
        The most bytes of buffers on each GPU; nine tenths of its memory where nothing is said.
    levels
        Whether `Surface.level` and `Surface.stats` can be asked for; where the memory allows it, if nothing is said.
    progress
        Reports how far the preparation is, which nodes such as `equalise` need before the first sample: True, a bar of tqdm, or a function of (done, total).

    Raises
    ------
    DesignError
        Where the design is wrong: `problems` says what, where, and what would work.
    MemoryRefused
        Where it does not fit in `memory`: `needed` would do.
    FileError
        Where the file cannot be read.
    """
    path = os.path.abspath(os.fspath(file))
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    name = f"{os.fspath(file)} as KDL" if path.endswith(".json") else str(os.fspath(file))
    recipe = Recipe(
        path,
        None,
        name,
        os.path.dirname(path),
        _settings(set),
        _images(images),
        size("memory", memory),
        threads,
        device,
        size("device_memory", device_memory),
        levels,
    )
    return _opened(recipe, region, progress)


def parse(
    text: str,
    images: Mapping[str, Any] | None = None,
    *,
    set: Settings | None = None,
    name: str = "<text>",
    folder: str | os.PathLike[str] = ".",
    region: Any = None,
    memory: int | str | None = None,
    threads: int | None = None,
    device: str = "auto",
    device_memory: int | str | None = None,
    levels: bool | None = None,
    progress: Any = None,
) -> Surface:
    """Makes a surface of the text of a design, whose pictures are arrays.

    >>> import numpy as np
    >>> import relief_surfaces as relief
    >>> mark = np.array([[0, 255], [255, 0]], dtype=np.uint8)
    >>> text = "relief version=1\\ncanvas width=6 height=2\\nrepeat { (pattern)image \\"mark\\" }"
    >>> relief.parse(text, {"mark": mark})[...]
    array([[  0, 255,   0, 255,   0, 255],
           [255,   0, 255,   0, 255,   0]], dtype=uint8)

    `images` are arrays of two axes, or of three whose last one holds gray and transparency, RGB or RGBA: uint8 and uint16 from
    nothing to all, bool, and numbers of which the design says by `low` and `high` which become 0 and M. Tables and rows are bytes.
    Arrays are copied. What is not among them is looked for in `folder`. `name` is what problems call the text; other
    options are those of `open`.
    """
    recipe = Recipe(
        None,
        str(text),
        name,
        os.path.abspath(os.fspath(folder)),
        _settings(set),
        _images(images),
        size("memory", memory),
        threads,
        device,
        size("device_memory", device_memory),
        levels,
    )
    return _opened(recipe, region, progress)


def _opened(recipe: Recipe, region: Any, progress: Any) -> Surface:
    from ._index import window
    from ._progress import telling
    from ._surface import Surface

    with telling(progress, "preparing") as tell:
        # Slices may count from the end, so that the size of the canvas has to be known.
        place = None if region is None else window(region, recipe.canvas())
        core, doubts = recipe.made(place, tell)
    for doubt in doubts:
        warnings.warn(str(doubt), DesignWarning, stacklevel=3)
    return Surface(core, recipe, None if region is None else core.region, Problems(doubts))


def check(
    design: str | os.PathLike[str],
    *,
    set: Settings | None = None,
    images: Mapping[str, Any] | None = None,
    name: str = "<text>",
    folder: str | os.PathLike[str] = ".",
) -> Problems:
    """The errors and warnings of a design. `design` is a text if it has a line break, otherwise a file.

    >>> import relief_surfaces as relief
    >>> print(relief.check("relief version=1\\ncanvas width=4 height=3\\nfill value=300"))
    error E402: `fill value`: 300 is not a sample of 8 bits: they are 0 to 255
      3 | fill value=300
        |            ^^^ out of range
      2 | canvas width=4 height=3
        | ^^^^^^ the depth is 8 where the canvas does not say it
      help: write a sample of 0 to 255, or bits=16 at the canvas
    """
    if isinstance(design, str) and "\n" in design:
        path, text = None, design
        where = os.path.abspath(os.fspath(folder))
    else:
        path = os.path.abspath(os.fspath(design))
        text, name, where = _native.read_text(path), str(os.fspath(design)), os.path.dirname(path)
    given = list(_images(images).items())
    return Problems(_native.check(name, text, path, where, list(_settings(set)), given))


class Device(NamedTuple):
    """A device that can compute surfaces."""

    id: str
    """Its name for `device=`: "cpu", "cuda:0", "vulkan:1"."""
    name: str
    """Its name by the driver; for the processor the number of its threads."""
    memory: int | None
    """Its memory in bytes; None where the driver does not say."""
    software: bool
    """Whether it is software Vulkan, which runs on the processor."""


class Devices(tuple[Device, ...]):
    """The devices of this machine, the processor first."""

    missing: dict[str, str]
    """The kinds of devices that were not found, each with the reason."""

    def __str__(self) -> str:
        lines = [f"{device.id:<10} {device.name}" for device in self]
        lines += [f"{kind:<10} none: {reason}" for kind, reason in self.missing.items()]
        return "\n".join(lines)


def devices() -> Devices:
    """The devices of this machine, and the reason for each kind that was not found.

    >>> import relief_surfaces as relief
    >>> relief.devices()[0].id
    'cpu'
    """
    import json

    told = json.loads(_native.devices())
    threads = told["threads"]
    all_of = [Device("cpu", f"{threads} thread{'' if threads == 1 else 's'}", None, False)]
    all_of += [Device(gpu["id"], gpu["name"], gpu["memory"], gpu["software"]) for gpu in told["gpus"]]
    found = Devices(all_of)
    found.missing = {one["backend"]: one["reason"] for one in told["missing"]}
    return found


def explain(code: str) -> str:
    """The meaning of the code of a problem, with a wrong and a right design.

    >>> import relief_surfaces as relief
    >>> "range" in relief.explain("E402")
    True
    """
    text = _native.explain(code.strip().upper())
    if text is None:
        raise OptionError("code", f"{code!r} is not a code of a problem; they are like E402 and W204")
    return text
