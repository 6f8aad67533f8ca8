"""Surfaces and their levels: arrays that are computed where they are read."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native
from ._asked import Difference, Explanation, difference, explanation
from ._index import Axis, normalised, place, window
from ._open import Recipe
from ._quantity import shown, size
from .errors import CostRefused, DigestMismatch, MemoryRefused, OptionError, Problems

if TYPE_CHECKING:
    import numpy as np

    from ._native import Surface as Core

EFFORT = 1 << 24
"""The samples that may be computed for an exact figure, if nothing else is said: some seconds."""

DIFF_EFFORT = 1 << 30
"""The samples that may be computed of each of two surfaces to compare them."""

PREVIEW_EFFORT = 1 << 20
"""The samples that may be computed for a picture in a notebook."""

MAX_CHUNKS = 1_000_000
"""The most chunks of a Dask array: each is a Python object on the way to the scheduler."""


class Band(NamedTuple):
    """Some rows of a surface."""

    y: int
    """The first row."""
    x: int
    """The first column: 0, unless a row does not fit into the memory."""
    samples: np.ndarray[Any, Any]
    """Rows and columns, as a window of the surface has them."""


class Written(NamedTuple):
    """A file that was written, or a part of it."""

    path: str
    """The path that was given."""
    complete: bool
    """Whether the file is complete and has its name. It is not while other parts are missing."""
    missing: int | None
    """How many tiles of other parts are missing; None while other processes write theirs."""


class Stats(NamedTuple):
    """Figures of all samples of a region. A pair is the least and the greatest that a figure can be; both are equal where it is known exactly."""

    pixels: int
    """How many samples the region has."""
    mean: int
    """The mean, rounded halves up: ⌊(2S + n) / 2n⌋ of n samples with the sum S."""
    min: int
    """The least sample."""
    max: int
    """The greatest sample."""
    sum: tuple[int, int]
    """The sum of all samples."""
    zeros: tuple[int, int]
    """How many samples are 0."""


class Plan:
    """How a surface is computed, and how much memory that takes. It prints much as `relief plan` does.

    >>> import relief_surfaces as relief
    >>> plan = relief.parse("relief version=1\\ncanvas width=4000 height=3000\\nnoise seed=1", memory="64MiB", threads=2).plan()
    >>> plan.threads, plan.peak <= 64 << 20
    (2, True)
    >>> [(node["kind"], node["line"]) for node in plan.nodes]
    [('noise', 3)]
    """

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told
        self.memory: dict[str, int] = told["memory"]
        """The most bytes of each part: `bands`, `tile_cache`, `scratch`, `images`, `decoding`, `preparing`, `fonts`, `design`, `levels`,
        `tables`, `cells_and_patterns` and `output`."""
        self.peak: int = told["peak_bytes"]
        """The most bytes that the surface holds at once."""
        self.threads: int = told["threads"]
        """The number of threads that compute."""
        self.bands: int = int(told["bands"])
        """The number of bands."""
        self.preparation: int = int(told["preparation_samples"])
        """Samples that are computed before the first one is handed out, because a node needs to know all of its source."""
        self.nodes: list[dict[str, Any]] = told["nodes"]
        """The nodes, children before parents: `kind`, `line`, `width`, `height`; `kept`, what stays in memory of it: nothing, a picture, a
        cell, the whole, tiles or windows; its `bytes`; `by_host`, where a GPU computes: the bytes that the host computes and copies for
        each band, None where it does not compute the node; and its `children` with their `role`, `x` and `y`."""

    def as_dict(self) -> dict[str, Any]:
        """All that is known, as values of JSON: also `tile` and `band`, their columns and rows, `bands_in_flight`, the `period` that the
        surface has, if any, and the `ids` and `bytes` of its `devices`.
        """
        return self._told

    def __repr__(self) -> str:
        return f"<Plan: {shown(self.peak)} at most, {self.threads} threads, {self.bands} bands>"

    def __str__(self) -> str:
        told = self._told
        lines = [
            f"raster   {told['width']} × {told['height']} pixels, {told['bits']} bits",
            f"bands    {self.bands} of {told['band'][0]} × {told['band'][1]} pixels, {told['bands_in_flight']} in flight",
            f"tiles    {told['tile'][0]} × {told['tile'][1]} pixels on {self.threads} threads",
        ]
        if self.preparation:
            lines.append(f"before   {self.preparation} samples are looked at before the first band")
        if told["devices"]:
            ids = ", ".join(told["devices"]["ids"])
            lines.append(f"devices  {ids}: {shown(told['devices']['bytes'])} each")
        lines.append(f"memory   {shown(self.peak)} at most")
        lines += [f"         {shown(count):>10}  {name.replace('_', ' ')}" for name, count in self.memory.items() if count]
        lines.append("nodes")
        for node in reversed(self.nodes):
            kept = "" if node["kept"] == "nothing" else f"; {node['kept']}, {shown(node['bytes'])}"
            host = "" if node["by_host"] is None else f"; by the host, {shown(node['by_host'])} a band copied"
            lines.append(f"  {node['kind']} (line {node['line']}) {node['width']} × {node['height']}{host}{kept}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


class _Lazy:
    """What all arrays that are computed where they are read share."""

    __slots__ = ()

    # NumPy leaves arithmetic with such an object to it, which has none: reading 3.6 TB is no one's wish.
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """uint8 or uint16."""
        raise NotImplementedError

    def _read(self, rows: Axis, columns: Axis) -> np.ndarray[Any, Any]:
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    @property
    def size(self) -> int:
        """The number of samples."""
        return self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        """The bytes that all samples would take."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        (rows, columns), after = normalised(key, self.shape)
        if rows.length == 0 or columns.length == 0:
            import numpy as np

            return np.empty((rows.length, columns.length), self.dtype)[after]
        _affordable(rows.length * columns.length * self.dtype.itemsize)
        return self._read(rows, columns)[after]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("samples are computed into a new array: copy=False cannot be met")
        samples: np.ndarray[Any, Any] = self[...]
        return samples if dtype is None else samples.astype(dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        return self[...].__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def _affordable(count: int) -> None:
    """Refuses an array that the machine cannot hold, before the system hands out memory that it has not."""
    limit = _physical()
    if limit is not None and count > limit:
        raise MemoryRefused(
            f"an array of {shown(count)} was asked for, and this machine has {shown(limit)}; "
            "read windows, bands(), a level, or dask()",
            count,
            limit,
            "read windows",
        )


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


class Surface(_Lazy):
    """A design as an array of two axes that is computed where it is read.

    `surface[rows, columns]` is a NumPy array, computed now: slices with steps, negative indexes, integers, `...` and None mean what
    they mean to NumPy. A surface may be used by several threads at once, and another one does not wait while samples are
    computed. In the main thread Ctrl-C interrupts. `open` and `parse` make one.

    >>> import relief_surfaces as relief
    >>> wedge = relief.parse('relief version=1\\ncanvas width=256 height=4\\nramp axis="x" from=0 to=255')
    >>> wedge
    <Surface <text>: 4 × 256 uint8>
    >>> wedge[0, ::-64]
    array([255, 191, 127,  63], dtype=uint8)
    """

    __slots__ = ("_core", "_recipe", "_part", "_pid", "_digests", "_shape", "_dtype", "_lock", "warnings", "__weakref__")

    def __init__(self, core: Core, recipe: Recipe, part: Any, doubts: Problems = Problems()) -> None:
        self._core: Core | None = core
        self._recipe = recipe
        # The part of the canvas: x, y, width and height.
        self._part = part
        self._pid = os.getpid()
        self._digests: tuple[tuple[str, str], ...] | None = None
        self._shape: tuple[int, int] = core.shape
        self._dtype: np.dtype[Any] | None = None
        self._lock = threading.Lock()
        self.warnings: Problems = doubts
        """The warnings about the design."""

    # What it is

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """uint8 or uint16."""
        if self._dtype is None:
            import numpy as np

            self._dtype = np.dtype(np.uint8 if self._native().bits == 8 else np.uint16)
        return self._dtype

    @property
    def name(self) -> str:
        """The name of the design in messages."""
        return self._recipe.name

    @property
    def path(self) -> str | None:
        """The design file; None where a text was given."""
        return self._recipe.path

    @property
    def pixel(self) -> float | None:
        """The side of a pixel in metres, where the design says it."""
        return self._native().pixel

    @property
    def amplitude(self) -> float | None:
        """The height in metres that the greatest sample stands for, where the design says it."""
        return self._native().amplitude

    @property
    def region(self) -> tuple[slice, slice]:
        """The part of the canvas that this is, rows first."""
        x, y, width, height = self._native().region
        return slice(y, y + height), slice(x, x + width)

    @property
    def digest(self) -> str:
        """The BLAKE3 of all that decides the samples of the canvas: the design, its parameters and its pictures, which it reads.

        >>> import relief_surfaces as relief
        >>> text = 'relief version=1\\nparameter "gray" 7\\ncanvas width=4 height=3\\nfill value=$gray'
        >>> relief.parse(text).digest == relief.parse(text, set={"gray": 8}).digest
        False

        Two surfaces with the same digest and region have the same samples, wherever their files lie. Files that are written of
        the whole canvas have it as the digest of their job.
        """
        digest: str = self._native().digest()
        return digest

    def _files(self) -> tuple[tuple[str, str], ...]:
        if self._digests is None:
            self._digests = tuple((name, digest) for name, digest in self._native().digests())
        return self._digests

    def __repr__(self) -> str:
        rows, columns = self._shape
        if self._core is None:
            return f"<Surface {self.name}: {rows} × {columns}, closed>"
        return f"<Surface {self.name}: {rows} × {columns} uint{self._native().bits}>"

    # How it lives

    def _native(self) -> Core:
        core = self._core
        if core is None:
            raise ValueError(f"the surface of {self.name} is closed")
        if self._pid != os.getpid():
            # The threads of the parent are not here: a process that was forked makes its own.
            with self._lock:
                if self._pid != os.getpid():
                    again = _made_again(self._recipe, self._digests)[0]
                    self._core = again if self._part is None else _part_of(again, self._part)
                    self._pid = os.getpid()
                core = self._core or core
        return core

    def close(self) -> None:
        """Gives the memory and the threads back. Parts and levels of it live on."""
        self._core = None

    def __enter__(self) -> Surface:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._recipe, self._part, self._files())

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "relief_surfaces.Surface", self._files(), self._native().region, _native.MEANING

    def bundle(self, *, limit: int | str = "256MiB") -> bytes:
        """The design with its values and all files that it names, as bytes that travel where no file system is shared.

        >>> import os, tempfile
        >>> import relief_surfaces as relief
        >>> packed = relief.open("../examples/texture/design.kdl", threads=1).bundle()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     job = os.path.join(folder, "texture.relief")
        ...     _ = open(job, "wb").write(packed)
        ...     relief.open(job, threads=1).shape
        (1200, 2000)

        They are those of a file by `relief pack`: `open` reads it, and every command does. It is the whole canvas, also of a part.
        More than `limit` bytes are refused, and so is a design with arrays in place of files: a pickle holds those.
        """
        core, most = self._native(), size("limit", limit)
        return core.bundle(most or 0)

    # Reading

    def _read(self, rows: Axis, columns: Axis) -> np.ndarray[Any, Any]:
        if rows.step == 1 and columns.step == 1:
            return self._native().read((columns.start, rows.start, columns.length, rows.length))
        return self._native().read_steps((*columns,), (*rows,))

    def crop(self, region: Any) -> Surface:
        """A part of the surface. It shares cached cells, pictures and preparations with the whole: none is computed again.

        >>> import numpy as np
        >>> import relief_surfaces as relief
        >>> wedge = relief.parse('relief version=1\\ncanvas width=256 height=4\\nramp axis="x" from=0 to=255')
        >>> wedge.crop(np.s_[:2, 100:103])[...]
        array([[100, 101, 102],
               [100, 101, 102]], dtype=uint8)
        """
        core = self._native().part(window(region, self._shape))
        part = Surface(core, self._recipe, core.region, self.warnings)
        part._digests = self._digests
        return part

    def bands(self) -> Iterator[Band]:
        """Iterates over all samples from the top to the bottom, a band at a time: one pass over a surface of any size.

        >>> import relief_surfaces as relief
        >>> surface = relief.parse("relief version=1\\ncanvas width=4000 height=3000\\nfill value=2")
        >>> sum(int(band.samples.sum()) for band in surface.bands())
        24000000
        """
        core, index = self._native(), 0
        while (place := core.band(index)) is not None:
            x, y, _, _ = place
            yield Band(y, x, core.read(place))
            index += 1

    def render(
        self,
        out: Any = None,
        *,
        format: str | None = None,
        part: tuple[int, int] | None = None,
        tile: tuple[int, int] | None = None,
        shard: tuple[int, int] | None = None,
        compress: str | None = None,
        one_bit: bool = False,
        share: bool = False,
        progress: Any = None,
    ) -> Any:
        """Computes all samples, into an array or a file.

        >>> import numpy as np
        >>> import relief_surfaces as relief
        >>> surface = relief.parse("relief version=1\\ncanvas width=3 height=2\\nfill value=2")
        >>> array = np.zeros((2, 5), np.uint8)
        >>> surface.render(out=array[:, 1:4])
        array([[2, 2, 2],
               [2, 2, 2]], dtype=uint8)

        Parameters
        ----------
        out
            An array of the surface's shape and dtype, which is filled and returned: in place where it is contiguous, else by way of
            some rows. None makes a new one. A path is a file, which appears when it is complete; what is returned then is `Written`.
        format
            raw, pgm, png, tiff, bmp, dzi or zarr; by the extension of the file if nothing is said.
        part
            (i, n): of n parts only part i, counted from 0. Several processes write one Zarr store or uncompressed TIFF, each its part,
            in any order; the last one gives the file its name. A process that was killed is started again with the same arguments.
        tile
            Columns and rows of the tiles of a TIFF or the chunks of a Zarr store.
        shard
            Columns and rows of the shards of a Zarr store.
        compress
            deflate, packbits, lzw or g4 in a TIFF, gzip in a Zarr store.
        one_bit
            One bit a pixel, for surfaces of two values.
        share
            Equal tiles of a TIFF, or chunks of a shard, are stored once.
        progress
            True, a bar of tqdm, or a function of (done, total), in samples. What it raises ends the job.
        """
        from ._progress import telling

        if isinstance(out, (str, os.PathLike)):
            path = os.fspath(out)
            export = {
                "format": format,
                "part": part,
                "tile": tile,
                "shard": shard,
                "compress": compress,
                "one_bit": bool(one_bit),
                "share": bool(share),
            }
            with telling(progress, os.path.basename(path)) as tell:
                missing = self._native().render(path, export, tell)
            return Written(path, missing is None, 0 if missing is None else missing or None)
        for option, value in (("format", format), ("part", part), ("tile", tile), ("shard", shard), ("compress", compress)):
            if value is not None:
                raise OptionError(option, "this is for files: give out= a path")
        with telling(progress, self.name) as tell:
            return self._into(out, tell)

    def _into(self, out: Any, tell: Any) -> Any:
        import numpy as np

        if out is None:
            _affordable(self.nbytes)
            out = np.empty(self._shape, self.dtype)
        if not isinstance(out, np.ndarray) or out.shape != self._shape or out.dtype != self.dtype:
            found = f"{out.shape} of {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
            raise OptionError("out", f"an array {self._shape} of {self.dtype} or a path is expected, {found} was given")
        if not out.flags.writeable:
            raise OptionError("out", "the array cannot be written")
        core, (rows, columns) = self._native(), self._shape
        if out.flags.c_contiguous and out.flags.aligned:
            core.read_into(out, 0, 0, tell)
            return out
        step = max(1, (8 << 20) // (columns * self.dtype.itemsize))
        for y in range(0, rows, step):
            height = min(step, rows - y)
            out[y : y + height] = core.read((0, y, columns, height))
            if tell is not None:
                tell((y + height) * columns, rows * columns)
        return out

    def to_zarr(
        self,
        path: str | os.PathLike[str],
        *,
        part: tuple[int, int] | None = None,
        chunks: tuple[int, int] | int | None = None,
        shards: tuple[int, int] | int | None = None,
        compress: str | None = None,
        progress: Any = None,
    ) -> Written:
        """Writes a Zarr store, or a part of it. `chunks` and `shards` are rows and columns, as in Zarr.

        >>> import os, tempfile
        >>> import relief_surfaces as relief
        >>> surface = relief.parse("relief version=1\\ncanvas width=3000 height=2000\\nfill value=2")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = os.path.join(folder, "store.zarr")
        ...     first = surface.to_zarr(store, part=(0, 2), chunks=500)
        ...     last = surface.to_zarr(store, part=(1, 2), chunks=500)
        >>> first.complete, first.missing, last.complete
        (False, 12, True)
        """
        written: Written = self.render(
            path,
            format="zarr",
            part=part,
            tile=_turned("chunks", chunks),
            shard=_turned("shards", shards),
            compress=compress,
            progress=progress,
        )
        return written

    # Figures

    @property
    def levels(self) -> int:
        """How many levels there are: the last one has one sample."""
        return max(0, (max(self._shape) - 1).bit_length()) + 1

    def level(
        self, level: int, statistic: str = "mean", *, effort: int | None = EFFORT, exact: bool = True
    ) -> Level:
        """A level: a sample of level L stands for a block of 2^L × 2^L pixels, by their "mean", "min" or "max".

        >>> import relief_surfaces as relief
        >>> plate = relief.parse('''
        ...     relief version=1
        ...     canvas width="2m" height="1.8m" pixel="1um"
        ...     repeat step-x="5mm" step-y="4500um" { (pattern)disc diameter="3mm" value=200 }
        ... ''')
        >>> plate.level(14)
        <Level 14 of <text>, mean: 110 × 123 uint8>
        >>> int(plate.level(14)[50, 60])
        63

        Its samples are exact: known in closed form, or computed. Where a window of it takes more than `effort` samples of the surface to
        be exact, `CostRefused` is raised; None computes whatever it takes. With `exact=False` what is known after that much effort is
        given instead, as viewers want it.
        """
        if not self._native().has_levels:
            raise OptionError("levels", "the surface was opened without them: open it with levels=True and more memory")
        if isinstance(level, bool) or not 0 <= level <= _native.MAX_LEVEL:
            raise OptionError("level", f"there is no level {level}; the coarsest is {_native.MAX_LEVEL}")
        return Level(self, level, statistic, effort, exact)

    def pyramid(
        self, statistic: str = "mean", *, smallest: int = 512, effort: int | None = EFFORT, exact: bool = True
    ) -> list[Any]:
        """The surface and its levels until both sides are at most `smallest`: what viewers call multiscale. `exact=False` is for those
        that read whole levels, whatever they hold.

        >>> import relief_surfaces as relief
        >>> surface = relief.parse("relief version=1\\ncanvas width=4000 height=3000\\nfill value=2")
        >>> [level.shape for level in surface.pyramid()]
        [(3000, 4000), (1500, 2000), (750, 1000), (375, 500)]
        """
        levels: list[Any] = [self]
        while max(levels[-1].shape) > max(1, smallest):
            levels.append(self.level(len(levels), statistic, effort=effort, exact=exact))
        return levels

    def stats(self, region: Any = None, *, effort: int | None = EFFORT) -> Stats:
        """Mean, least and greatest sample of a region, exactly, without computing what is known in closed form.

        >>> import relief_surfaces as relief
        >>> wedge = relief.parse('relief version=1\\ncanvas width=256 height=1000000\\nramp axis="x" from=0 to=255')
        >>> wedge.stats()[:4]
        (256000000, 128, 0, 255)

        Raises `CostRefused` where that takes more than `effort` samples to be computed.
        """
        core = self._native()
        if not core.has_levels:
            raise OptionError("levels", "the surface was opened without them: open it with levels=True and more memory")
        place = window(region, self._shape)
        figures: dict[str, int] = {}
        told: dict[str, Any] = {}
        for figure in ("mean", "min", "max"):
            found = core.summary(place, figure, effort)
            least, most = found[figure]
            if least != most:
                raise CostRefused(
                    f"the {figure} lies between {least} and {most}; to know it exactly takes more than {effort} samples to be "
                    "computed: give a smaller region, or effort=None to compute whatever it takes",
                    effort or 0,
                    most - least,
                )
            figures[figure] = least
            for name in ("sum", "zeros"):
                before = told.get(name, found[name])
                told[name] = (max(before[0], found[name][0]), min(before[1], found[name][1]))
        return Stats(found["pixels"], figures["mean"], figures["min"], figures["max"], told["sum"], told["zeros"])

    def bounds(self, region: Any = None) -> tuple[int, int]:
        """The least and the greatest that a sample of a region can be, without computing one. Where both are equal, all samples are.

        >>> import numpy as np
        >>> import relief_surfaces as relief
        >>> wedge = relief.parse('relief version=1\\ncanvas width=256 height=4\\nramp axis="x" from=0 to=255')
        >>> wedge.bounds(np.s_[:, 100:103])
        (100, 102)
        """
        return self._native().bounds(window(region, self._shape))

    def histogram(self, region: Any = None, *, effort: int | None = EFFORT) -> np.ndarray[Any, Any]:
        """How often each sample, from 0 to 255 or 65 535, is there in a region: exactly, as int64, or as numbers of Python where there
        are 2^63 samples or more.

        >>> import relief_surfaces as relief
        >>> plate = relief.parse('''
        ...     relief version=1
        ...     canvas width=1000000000 height=1000000000
        ...     repeat step-x=100 step-y=100 { (pattern)fill value=200 width=10 height=50 }
        ... ''')
        >>> counts = plate.histogram()
        >>> int(counts[200]), int(counts.sum())
        (50000000000000000, 1000000000000000000)

        What repeats is counted by one cell, as often as it is there, and the rest is computed. Where that takes more than `effort`
        samples, `CostRefused` is raised; None computes whatever it takes. Counting is a job of its own, which takes the memory of
        the surface once more.
        """
        import numpy as np

        pixels, known, counts = self._native().histogram(window(region, self._shape), effort)
        if counts is None:
            raise CostRefused(
                f"{known} of {pixels} samples are counted after {effort} were computed; give a smaller region, or effort=None to compute "
                "whatever it takes",
                effort or 0,
            )
        return np.array(counts, dtype=np.int64 if pixels < 1 << 63 else object)

    def why(self, row: int, column: int) -> Explanation:
        """Why a sample is what it is: the nodes that it is made of, and the one that decides. It prints what `relief why` prints.

        >>> import relief_surfaces as relief
        >>> plate = relief.parse('''
        ... relief version=1
        ... canvas width=100 height=100
        ... compose {
        ...     (base)fill value=7
        ...     (max)disc diameter=10 value=200 x=20 y=30
        ... }''')
        >>> why = plate.why(35, 25)
        >>> why.value, why.decides.kind, why.decides.line, why.decides.folded
        (200, 'disc', 6, (7, 200))
        >>> print(why)
        <text>: the sample at 25, 35 is 200 of 255
        compose 4:1        at 25, 35: 200
          (base)fill 5:11  at 25, 35: 7; replaces 0 by 7
          (max)disc 6:10   at 5, 5: 200; makes 200 of 7
        <text>:6:10: disc decides

        Negative numbers count from the end. A part tells the pixel of its canvas. That pixel is planned and computed as a job of its
        own, by the processor.
        """
        return explanation(self._native().why(place(column, 1, self._shape), place(row, 0, self._shape)))

    def diff(self, other: Surface, *, effort: int | None = DIFF_EFFORT) -> Difference:
        """Where another surface differs from this one, and by how much. It is true where they differ, and prints what `relief diff` prints.

        >>> import relief_surfaces as relief
        >>> text = '''
        ...     relief version=1
        ...     parameter "gray" 200
        ...     canvas width="2m" height="1.8m" pixel="1um"
        ...     compose { (base)noise seed=1; (max)disc diameter=9 value=$gray x=20 y=30 }
        ... '''
        >>> one, other = relief.parse(text), relief.parse(text, set={"gray": 250})
        >>> found = one.diff(other)
        >>> bool(found), found.regions[0].region
        (True, (slice(30, 39, None), slice(20, 29, None)))
        >>> bool(one.diff(relief.parse(text)))
        False

        Nodes that are written alike are equal without being computed, however large the surfaces are. Only where the designs can differ
        are samples of both computed, at most `effort` of each; what is left is counted in `not_compared`. Pictures of one name are
        equal where their bytes are. Of surfaces of different shapes what both have is compared; parts have to be of one region.
        Both are held at once within the memory of this surface, and computed by the processor.
        """
        if not isinstance(other, Surface):
            raise OptionError("other", f"a surface is expected, {type(other).__name__} was given")
        return difference(self._native().difference(other._native(), effort), (self._shape, other._shape))

    def plan(self) -> Plan:
        """How the surface is computed, and how much memory that takes.

        >>> import relief_surfaces as relief
        >>> sheet = relief.open("../examples/sheet/design.kdl", memory="64MiB", threads=1)
        >>> sheet.plan().peak <= 64 << 20
        True
        """
        import json

        return Plan(json.loads(self._native().plan()))

    def preview(
        self, side: int = 512, statistic: str = "mean", *, effort: int | None = EFFORT
    ) -> np.ndarray[Any, Any]:
        """The finest level whose longer side has at most `side` samples.

        >>> import relief_surfaces as relief
        >>> relief.parse("relief version=1\\ncanvas width=4000 height=3000\\nfill value=2").preview(500).shape
        (375, 500)
        """
        longest, level = max(self._shape), 0
        while -(-longest >> level) > max(1, side):
            level += 1
        if level == 0:
            level_0: np.ndarray[Any, Any] = self[...]
            return level_0
        samples: np.ndarray[Any, Any] = self.level(level, statistic, effort=effort)[...]
        return samples

    def _repr_png_(self) -> bytes | None:
        """The surface as a picture, where it is known in about a second."""
        from ._png import gray

        if self._core is None:
            return None
        try:
            return gray(self.preview(effort=PREVIEW_EFFORT))
        except (CostRefused, OptionError):
            return None

    # Others

    def dask(self, region: Any = None, chunks: Any = 4096) -> Any:
        """The surface, or a region of it, as a Dask array. Its name follows from the digest: equal surfaces are computed once.

        >>> import numpy as np
        >>> import relief_surfaces as relief
        >>> sheet = relief.open("../examples/sheet/design.kdl", threads=1)
        >>> window = sheet.dask(np.s_[900_000:902_000, 1_500_000:1_503_000], chunks=1000)
        >>> window
        dask.array<Surface, shape=(2000, 3000), dtype=uint8, chunksize=(1000, 1000), chunktype=numpy.ndarray>
        >>> int((window > 0).sum().compute(scheduler="synchronous")) > 0
        True
        """
        from ._dask import array

        return array(self, region, chunks)


def _turned(option: str, size: Any) -> tuple[int, int] | None:
    """Columns and rows, of rows and columns."""
    if size is None:
        return None
    if isinstance(size, int):
        size = (size, size)
    rows, columns = size
    if rows < 1 or columns < 1:
        raise OptionError(option, f"{rows} × {columns} samples are none")
    return columns, rows


class Level(_Lazy):
    """A level of a surface: an array whose samples stand for blocks of pixels. `Surface.level` makes one.

    >>> import relief_surfaces as relief
    >>> wedge = relief.parse('relief version=1\\ncanvas width=256 height=4\\nramp axis="x" from=0 to=255')
    >>> wedge.level(2).shape, wedge.level(2, "max")[0, :3]
    ((1, 64), array([ 3,  7, 11], dtype=uint8))
    """

    __slots__ = ("surface", "number", "statistic", "effort", "exact", "_shape")

    def __init__(
        self, surface: Surface, number: int, statistic: str, effort: int | None, exact: bool = True
    ) -> None:
        if statistic not in ("mean", "min", "max"):
            raise OptionError("statistic", f"{statistic!r} is none; there are 'mean', 'min' and 'max'")
        self.surface = surface
        """The surface that it is a level of."""
        self.number = number
        """A sample stands for 2^number × 2^number pixels."""
        self.statistic = statistic
        """Which figure of its pixels a sample is: "mean", "min" or "max"."""
        self.effort = effort
        """How many samples of the surface may be computed for one window of the level."""
        self.exact = exact
        """True refuses a window that takes more; False gives the best estimate."""
        self._shape: tuple[int, int] = surface._native().level_shape(number)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the surface."""
        return self.surface.dtype

    def __repr__(self) -> str:
        rows, columns = self._shape
        return f"<Level {self.number} of {self.surface.name}, {self.statistic}: {rows} × {columns} {self.dtype}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Level, (self.surface, self.number, self.statistic, self.effort, self.exact)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        # What is given of an exact level does not depend on the effort.
        effort = None if self.exact else (self.effort,)
        return "relief_surfaces.Level", self.surface.__dask_tokenize__(), self.number, self.statistic, effort

    def _read(self, rows: Axis, columns: Axis) -> np.ndarray[Any, Any]:
        width, height = (columns.length - 1) * columns.step + 1, (rows.length - 1) * rows.step + 1
        _affordable(width * height * self.dtype.itemsize)
        place = (columns.start, rows.start, width, height)
        core = self.surface._native()
        samples, within = core.read_level(self.number, place, self.statistic, self.effort)
        if within and self.exact:
            raise CostRefused(
                f"{height} × {width} samples of level {self.number} are known within {within} after {self.effort} samples of the "
                "surface; give a smaller window, another level, or effort=None to compute whatever it takes",
                self.effort or 0,
                within,
            )
        return samples[:: rows.step, :: columns.step]

    def _repr_png_(self) -> bytes | None:
        from ._png import gray

        if max(self._shape) > 1024:
            return None
        try:
            return gray(Level(self.surface, self.number, self.statistic, PREVIEW_EFFORT)[...])
        except CostRefused:
            return None


# Surfaces that were made of pickles: a worker is handed the same one with every task.
_KEPT = 4
_made: OrderedDict[Any, Core] = OrderedDict()
_making = threading.Lock()


def _part_of(core: Core, part: tuple[int, int, int, int]) -> Core:
    x, y, width, height = part
    left, top, _, _ = core.region
    return core.part((x - left, y - top, width, height))


def _made_again(recipe: Recipe, digests: tuple[tuple[str, str], ...] | None) -> tuple[Core, Any]:
    """The native surface of a recipe, which is as it was."""
    core, _ = recipe.made()
    if digests is None:
        return core, None
    found = tuple((name, digest) for name, digest in core.digests())
    if found != digests:
        now = dict(found)
        for name, digest in digests:
            other = now.get(name, "none")
            if other != digest:
                what = f"the picture {name}" if name else f"the design {recipe.name}"
                raise DigestMismatch(
                    f"{what} is not the one that the surface was made of: its digest is {other[:16]}…, not {digest[:16]}…",
                    name or recipe.path or recipe.name,
                    digest,
                    other,
                )
        raise DigestMismatch(f"the pictures of {recipe.name} are others", recipe.name, str(digests), str(found))
    return core, found


def _unpickled(recipe: Recipe, part: Any, digests: tuple[tuple[str, str], ...]) -> Surface:
    if recipe.threads is None and _is_worker():
        # Workers share the processors among them.
        recipe = recipe._replace(threads=1)
    # The digests stand for the pictures.
    key = (tuple(recipe._replace(images={}))[:5], tuple(recipe)[6:], digests, os.getpid())
    with _making:
        core = _made.pop(key, None)
        if core is None:
            core = _made_again(recipe, digests)[0]
        _made[key] = core
        while len(_made) > _KEPT:
            _made.popitem(last=False)
    surface = Surface(core if part is None else _part_of(core, part), recipe, part)
    surface._digests = digests
    return surface


def _is_worker() -> bool:
    """Whether this is one of several processes that compute together: of a pool, or a worker of Dask."""
    import sys

    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is not None and multiprocessing.parent_process() is not None:
        return True
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except (ValueError, AttributeError):
        return False
    return True
