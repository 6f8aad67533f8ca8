"""What can go wrong, as classes, and the problems of a design, as objects.

Every class derives from `ReliefError` and from the class of Python that means the same, so that both can be caught.
"""

from __future__ import annotations

from typing import Any, Iterable, NamedTuple


class Place(NamedTuple):
    """A place of a design that a problem points to."""

    line: int
    """Counted from 1."""
    column: int
    """Counted from 1."""
    text: str
    """What stands at the place, in words."""
    excerpt: str
    """The line of the design, cut where it is long."""
    before: int
    """The number of characters of the excerpt before the marked ones."""
    marked: int
    """The number of characters that are marked."""


class Problem:
    """One thing that is wrong with a design, or doubtful in it.

    >>> import relief_surfaces as relief
    >>> [problem] = relief.check("relief version=1\\ncanvas width=4 height=3\\nfill value=300")
    >>> problem.code, problem.line, problem.column
    ('E402', 3, 12)
    """

    __slots__ = ("code", "message", "help", "warning", "file", "places")

    def __init__(
        self,
        *,
        code: str,
        message: str,
        help: str | None,
        warning: bool,
        file: str,
        places: Iterable[tuple[int, int, str, str, int, int]],
    ) -> None:
        self.code = code
        """Its code, which `relief_surfaces.explain` knows: E402, or W204 of a warning."""
        self.message = message
        """What was expected and what was found."""
        self.help = help
        """What would work."""
        self.warning = warning
        """Whether the design is right, though most likely not what is meant."""
        self.file = file
        """The name of the design."""
        self.places: tuple[Place, ...] = tuple(Place(*place) for place in places)
        """Where the problem is. Places after the first are those that it conflicts with."""

    @property
    def line(self) -> int | None:
        """The line, counted from 1."""
        return self.places[0].line if self.places else None

    @property
    def column(self) -> int | None:
        """The column, counted from 1."""
        return self.places[0].column if self.places else None

    def __str__(self) -> str:
        place = f":{self.line}:{self.column}" if self.places else ""
        return f"{self.file}{place}: {self.code}: {self.message}"

    def __repr__(self) -> str:
        return f"<Problem {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def _all(self) -> tuple[Any, ...]:
        return (self.code, self.message, self.help, self.warning, self.file, self.places)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_problem, self._all())

    def show(self) -> str:
        """The problem as text, with the lines of the design that it is about."""
        kind = "warning" if self.warning else "error"
        lines = [f"{kind} {self.code}: {self.message}"]
        for place in self.places:
            number = str(place.line)
            lines.append(f"  {number} | {place.excerpt}")
            mark = " " * place.before + "^" * place.marked
            lines.append(f"  {' ' * len(number)} | {mark} {place.text}")
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        colour = "#9a6700" if self.warning else "#b42318"
        rows = []
        for place in self.places:
            line, start, end = place.excerpt, place.before, place.before + place.marked
            rows.append(
                f"<div><span style='opacity:.6'>{place.line:>5} │ </span>{escape(line[:start])}"
                f"<span style='color:{colour};text-decoration:underline'>{escape(line[start:end]) or '·'}</span>"
                f"{escape(line[end:])}  <i style='color:{colour}'>{escape(place.text)}</i></div>"
            )
        help = f"<div>{escape(self.help)}</div>" if self.help else ""
        return (
            f"<div style='border-left:3px solid {colour};padding-left:.6em;margin:.4em 0'>"
            f"<b style='color:{colour}'>{self.code}</b> {escape(self.message)}"
            f"<pre style='margin:.2em 0'>{''.join(rows)}</pre>{help}</div>"
        )


def _problem(code: str, message: str, help: str | None, warning: bool, file: str, places: Any) -> Problem:
    return Problem(code=code, message=message, help=help, warning=warning, file=file, places=places)


class Problems(tuple[Problem, ...]):
    """The problems of a design, in the order of its text. It is empty, and so false, where the design is right.

    >>> import relief_surfaces as relief
    >>> found = relief.check("relief version=1\\ncanvas width=4 height=3\\nfill value=300\\nfill value=1")
    >>> len(found.errors) == len(found), [(problem.code, problem.line) for problem in found][0]
    (True, ('E402', 3))
    """

    __slots__ = ()

    @property
    def errors(self) -> Problems:
        """The errors: a design with one cannot be used."""
        return Problems(problem for problem in self if not problem.warning)

    @property
    def warnings(self) -> Problems:
        """The warnings: the design can be used."""
        return Problems(problem for problem in self if problem.warning)

    def __str__(self) -> str:
        return "\n".join(problem.show() for problem in self) or "no problems"

    def __repr__(self) -> str:
        return f"<{len(self)} problem{'' if len(self) == 1 else 's'}>" + "".join(f"\n{problem}" for problem in self)

    def _repr_html_(self) -> str:
        return "".join(problem._repr_html_() for problem in self) or "<div>no problems</div>"


class DesignWarning(UserWarning):
    """A design can be used, and most likely is not what its author means."""


class ReliefError(Exception):
    """The base class of all errors of this package."""

    code: str = "error"
    """A word for the kind of error; for a wrong design the code of its first problem, such as E402."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (type(self), self.args, dict(self.__dict__)))


def _restored(cls: type[ReliefError], args: tuple[Any, ...], state: dict[str, Any]) -> ReliefError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class DesignError(ReliefError, ValueError):
    """A design is wrong."""

    code: str = "design"
    """The code of its first problem, such as E402; `design` where there is none."""

    def __init__(self, message: str, problems: Iterable[Problem] = ()) -> None:
        super().__init__(message)
        self.problems: Problems = Problems(problems)
        """All problems of the design."""
        if self.problems:
            self.code = self.problems[0].code

    @property
    def line(self) -> int | None:
        """The line of the first problem."""
        return self.problems[0].line if self.problems else None

    @property
    def column(self) -> int | None:
        """The column of the first problem."""
        return self.problems[0].column if self.problems else None

    def _repr_html_(self) -> str:
        return self.problems._repr_html_()


class MemoryRefused(ReliefError, MemoryError):
    """A job does not fit in the memory that it was given, or the system does not have that much."""

    code: str = "memory"
    """`memory`."""

    def __init__(self, message: str, needed: int | None = None, limit: int | None = None, advice: str = "") -> None:
        super().__init__(message)
        self.needed = needed
        """How many bytes would be enough."""
        self.limit = limit
        """How many bytes were allowed, where that is known."""
        self.advice = advice
        """What would fit."""


class OptionError(ReliefError, ValueError):
    """An option has a value that cannot be used."""

    code: str = "option"
    """`option`."""

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(f"{option}: {problem}")
        self.option = option
        """The name of the option."""
        self.problem = problem
        """What is wrong and what would work."""


class RegionError(ReliefError, IndexError):
    """A region is empty or leaves the surface."""

    code: str = "region"
    """`region`."""


class ImageError(ReliefError, OSError):
    """A picture of a design cannot be read."""

    code: str = "image"
    """`image`."""

    def __init__(self, message: str, image: str) -> None:
        super().__init__(message)
        self.image = image
        """The picture, as the design names it."""


class FileError(ReliefError, OSError):
    """A file cannot be read or written."""

    code: str = "file"
    """`file`."""

    def __init__(self, message: str, number: int | None = None) -> None:
        super().__init__(message)
        self.errno: int | None = number
        """The error number of the system, where there is one."""


class OutputError(ReliefError, OSError):
    """An output cannot be written."""

    code: str = "output"
    """`output`."""

    def __init__(self, message: str, number: int | None = None) -> None:
        super().__init__(message)
        self.errno: int | None = number
        """The error number of the system, where there is one."""


class DeviceError(ReliefError, RuntimeError):
    """A device cannot compute a design, or failed."""

    code: str = "device"
    """`device`."""


class CostRefused(ReliefError, ValueError):
    """An exact answer takes more than was allowed."""

    code: str = "cost"
    """`cost`."""

    def __init__(self, message: str, effort: int, within: int | None = None) -> None:
        super().__init__(message)
        self.effort = effort
        """The samples that were allowed to be computed."""
        self.within = within
        """How far off an estimate after that much effort may be, in steps of a sample."""


class DigestMismatch(ReliefError, ValueError):
    """A file is not the one that a surface was made of."""

    code: str = "digest"
    """`digest`."""

    def __init__(self, message: str, file: str, expected: str, found: str) -> None:
        super().__init__(message)
        self.file = file
        """Which file differs."""
        self.expected = expected
        """The BLAKE3 that it had."""
        self.found = found
        """The BLAKE3 that it has."""


class Cancelled(ReliefError, RuntimeError):
    """A job was cancelled."""

    code: str = "cancelled"
    """`cancelled`."""


class Defect(ReliefError, RuntimeError):
    """A defect of Relief: please report it."""

    code: str = "defect"
    """`defect`."""
