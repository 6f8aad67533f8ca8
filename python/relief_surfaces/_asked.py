"""Answers about surfaces: why a sample is what it is, and where two surfaces differ."""

from __future__ import annotations

from typing import Any, NamedTuple

from .errors import CostRefused

Region = tuple[slice, slice]

# The most rectangles that are told as text.
_MOST = 20


def _region(rect: tuple[int, int, int, int] | None) -> Region | None:
    if rect is None:
        return None
    x, y, width, height = rect
    return slice(y, y + height), slice(x, x + width)


def _shown(region: Region) -> str:
    """As `--region` of the command line is written."""
    rows, columns = region
    return f"{columns.start},{rows.start},{columns.stop - columns.start}x{rows.stop - rows.start}"


class ExplainedNode(NamedTuple):
    """A node that a sample is made of."""

    kind: str
    """The kind of the node, as a design writes it: `disc`, `repeat`, …"""
    role: str | None
    """Its role in the node that reads it: `base`, `pattern`, …; None of the root."""
    parent: int | None
    """The number, in `Explanation.nodes`, of the node that reads it; None of the root."""
    line: int
    """Its line in the design, counted from 1."""
    column: int
    """Its column in that line, counted from 1."""
    y: int
    """The row of the pixel that is read, in the node's own coordinates."""
    x: int
    """The column of that pixel."""
    inside: bool
    """Whether that pixel lies in the node; beyond its edge the node counts as 0."""
    value: int
    """The sample of the node there."""
    folded: tuple[int, int] | None
    """Of a child of `compose`: the sample before it was folded in, and after."""
    reads: Region | None
    """Where the parent reads more of the node than one sample: rows and columns. The pixel is the one in the middle."""
    replaced: int
    """How many of its children have no effect here, because a later one replaces them."""


class Explanation(NamedTuple):
    """The nodes that a sample is made of. `Surface.why` makes one; it prints what `relief why` prints."""

    name: str
    """The name of the design."""
    y: int
    """The row of the canvas."""
    x: int
    """The column of the canvas."""
    value: int
    """The sample."""
    greatest: int
    """The greatest sample that the depth has: 255 or 65 535."""
    nodes: tuple[ExplainedNode, ...]
    """The root, and each node before its children. At most 1 024."""
    decides: ExplainedNode
    """The node that decides: the way to it follows from the root the child that changed the sample last, the copy that is seen, or the
    only child. It ends where a node makes its sample of several others, or of none."""
    cut: bool
    """Whether there are more nodes than are listed."""

    def __str__(self) -> str:
        depths: list[int] = []
        heads = []
        for node in self.nodes:
            depths.append(0 if node.parent is None else depths[node.parent] + 1)
            role = f"({node.role})" if node.role else ""
            heads.append(f"{'  ' * depths[-1]}{role}{node.kind} {node.line}:{node.column}")
        wide = min(60, max(map(len, heads)))
        lines = [f"{self.name}: the sample at {self.x}, {self.y} is {self.value} of {self.greatest}"]
        lines += [f"{head:{wide}}  {_tale(number, node)}" for number, (head, node) in enumerate(zip(heads, self.nodes))]
        if self.cut:
            lines.append(f"… and more nodes: {len(self.nodes)} are told")
        decides = self.decides
        lines.append(f"{self.name}:{decides.line}:{decides.column}: {decides.kind} decides")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def _tale(number: int, node: ExplainedNode) -> str:
    text = f"at {node.x}, {node.y}: {node.value}"
    if not node.inside:
        text += ", beyond its edge"
    if node.reads is not None:
        rows, columns = node.reads
        text += f", the middle of {columns.stop - columns.start}×{rows.stop - rows.start} that are read"
    if node.folded is not None:
        before, after = node.folded
        if node.role == "base" and number:
            text += f"; replaces {before} by {after}"
        elif before == after:
            text += f"; leaves {before}"
        else:
            text += f"; makes {after} of {before}"
    if node.replaced:
        text += f"; {node.replaced} child{'' if node.replaced == 1 else 'ren'} replaced by a later one"
    return text


def explanation(told: dict[str, Any]) -> Explanation:
    """What the native part tells."""
    nodes = tuple(
        ExplainedNode(kind, role, parent, line, column, y, x, inside, value, folded, _region(reads), replaced)
        for kind, role, parent, (line, column), (x, y), inside, value, folded, reads, replaced in told["nodes"]
    )
    decides = nodes[told["decides"]]
    return Explanation(told["name"], told["y"], told["x"], told["value"], told["greatest"], nodes, decides, told["cut"])


class DifferentRegion(NamedTuple):
    """A rectangle in which two surfaces may differ, and how many samples of it do."""

    region: Region
    """Rows and columns."""
    compared: int
    """The samples that were compared in it."""
    different: int
    """The samples that differ."""
    largest: int
    """The largest difference of two samples."""


class Difference(NamedTuple):
    """Where two surfaces differ. It is true where they do, and prints what `relief diff` prints. `Surface.diff` makes one."""

    same: bool | None
    """True where they are the same, False where they differ. None where no difference was found in a part of what may differ, and the rest was not compared."""
    shapes: tuple[tuple[int, int], tuple[int, int]] | None
    """Rows and columns of both, where they differ: then the part that both have is compared."""
    bits: tuple[int, int] | None
    """The bits of a sample of both, where they differ: then no sample is compared."""
    compared: int
    """The samples that were compared. All others but `not_compared` are known to be equal, because their nodes are."""
    not_compared: int
    """The samples that may differ and were not compared, because `effort` did not allow it."""
    different: int
    """The samples that differ."""
    largest: int
    """The largest difference of two samples."""
    within: Region | None
    """The least rows and columns that hold all samples that differ."""
    regions: tuple[DifferentRegion, ...]
    """Where they can differ: rectangles that do not overlap."""

    def __bool__(self) -> bool:
        if self.same is None:
            raise CostRefused(
                f"no difference was found in the {self.compared} samples that were compared; {self.not_compared} more may differ: "
                "give more effort, or None",
                self.compared,
            )
        return not self.same

    def __str__(self) -> str:
        if self.bits is not None:
            return f"samples of {self.bits[0]} bits and of {self.bits[1]} bits"
        lines = []
        if self.shapes is not None:
            (rows, columns), (other_rows, other_columns) = self.shapes
            lines.append(f"{columns} × {rows} and {other_columns} × {other_rows} pixels; what both have is compared")
        if not self.regions:
            return "\n".join([*lines, "no pixel can differ: the designs compute the same"])
        lines.append(f"{self.different} of {self.compared} samples differ, by at most {self.largest}")
        if self.within is not None:
            lines.append(f"all of them lie in {_shown(self.within)}")
        if self.not_compared:
            lines.append(f"{self.not_compared} samples are not compared: effort= allows no more")
        lines.append("the designs may differ in")
        lines += [
            f"  {_shown(one.region):<32} {one.different} of {one.compared} differ, by at most {one.largest}"
            for one in self.regions[:_MOST]
        ]
        if len(self.regions) > _MOST:
            lines.append(f"  and {len(self.regions) - _MOST} more rectangles")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def difference(told: dict[str, Any], shapes: tuple[tuple[int, int], tuple[int, int]]) -> Difference:
    """What the native part tells."""
    sized = shapes[0] != shapes[1]
    same: bool | None = not (sized or told["bits"] is not None or told["different"])
    if same and told["not_compared"]:
        same = None
    regions = tuple(DifferentRegion(_region(rect) or (slice(0), slice(0)), *counts) for rect, *counts in told["rectangles"])
    return Difference(
        same,
        shapes if sized else None,
        told["bits"],
        told["compared"],
        told["not_compared"],
        told["different"],
        told["largest"],
        _region(told["within"]),
        regions,
    )
