#!/usr/bin/env python3
"""Writes docs/python-api.md: every public name of the package, from its source. Nothing has to be built for that.

    python/reference.py            fails where the page is not what it would write
    python/reference.py --write    writes it
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "relief_surfaces"
PAGE = PACKAGE.parents[1] / "docs" / "python-api.md"

HEAD = """\
# Python: every name

All public names of `relief_surfaces`, with what they take and give. [python.md](python.md) shows how they are used. `python/reference.py --write`
writes this page from the source, and a test says when it is old.

`relief_surfaces.__version__` is the version of the package. `relief_surfaces.MEANING` is a number that grows when a design comes to mean other samples; it is
part of every digest.
"""

# The headings, the modules that they are of, what stands before their names, and the names, in the order of the page.
SECTIONS: list[tuple[str, str, str, list[str]]] = [
    ("Designs to surfaces", "_open", "relief_surfaces", ["open", "parse", "check", "explain", "devices", "Device", "Devices"]),
    ("Surfaces", "_surface", "relief_surfaces", ["Surface", "Level", "Band", "Written", "Stats", "Plan"]),
    ("Answers", "_asked", "relief_surfaces", ["Explanation", "ExplainedNode", "Difference", "DifferentRegion"]),
    ("Problems of a design", "errors", "relief_surfaces", ["Problems", "Problem", "Place", "DesignWarning"]),
    (
        "Errors",
        "errors",
        "relief_surfaces",
        [
            "ReliefError",
            "DesignError",
            "MemoryRefused",
            "OptionError",
            "RegionError",
            "CostRefused",
            "FileError",
            "OutputError",
            "ImageError",
            "DigestMismatch",
            "DeviceError",
            "Cancelled",
            "Defect",
        ],
    ),
    ("Designs written in Python", "design", "relief_surfaces.design", ["document", "words", "reference", "Document", "Node"]),
    ("xarray", "xarray_backend", "relief_surfaces.xarray_backend", ["ReliefBackend"]),
]

NOTES = {
    "Problems of a design": "`check` gives them, and a `DesignError` holds them.",
    "Errors": "All are `ReliefError`, and what stands in brackets after their names as well.",
    "Designs written in Python": "Beside these, every word of [the language](nodes.md) is a function of this module.",
    "xarray": '`xarray.open_dataset(file, engine="relief")` finds it.',
}

# Names of types that only the source knows.
ALIASES = {"Settings": "Mapping[str, Any]", "Region": "tuple[slice, slice]", "Core": "Any"}


class _Plain(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.parse(ALIASES[node.id], mode="eval").body if node.id in ALIASES else node


def plain(node: ast.AST) -> str:
    """The text of an annotation or a value."""
    return ast.unparse(_Plain().visit(node)).replace("'", '"')


def signature(name: str, function: ast.FunctionDef, is_method: bool) -> str:
    """What a function takes and gives, on one line where that is short."""
    given = function.args
    parts = []
    positional = given.posonlyargs + given.args
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)

    def one(argument: ast.arg, default: ast.AST | None) -> str:
        text = argument.arg
        if argument.annotation is not None:
            text += f": {plain(argument.annotation)}"
        if default is not None:
            text += f" = {plain(default)}" if argument.annotation is not None else f"={plain(default)}"
        return text

    for argument, default in list(zip(positional, defaults))[1 if is_method else 0 :]:
        parts.append(one(argument, default))
    if given.vararg is not None:
        parts.append("*" + one(given.vararg, None))
    elif given.kwonlyargs:
        parts.append("*")
    parts += [one(argument, default) for argument, default in zip(given.kwonlyargs, given.kw_defaults)]
    if given.kwarg is not None:
        parts.append("**" + one(given.kwarg, None))
    end = f") -> {plain(function.returns)}" if function.returns is not None else ")"
    line = f"{name}({', '.join(parts)}{end}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), end])


def told(text: str | None) -> str:
    """A docstring as Markdown: sections of NumPy become lists, examples become blocks."""
    lines = (text or "").strip().splitlines()
    out: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        if index + 1 < len(lines) and set(lines[index + 1]) == {"-"} and line:
            out += [f"{line}:", ""]
            index += 2
            while index < len(lines):
                if not lines[index].strip():
                    index += 1
                    if index < len(lines) and (index + 1 == len(lines) or set(lines[index + 1]) == {"-"}):
                        break
                    continue
                name, meaning = lines[index].strip(), []
                index += 1
                while index < len(lines) and lines[index].startswith(" "):
                    meaning.append(lines[index].strip())
                    index += 1
                out.append(f"- `{name}`: {' '.join(meaning)}")
            out.append("")
            continue
        if line.startswith(">>> "):
            out.append("```pycon")
            while index < len(lines) and lines[index].strip():
                out.append(lines[index])
                index += 1
            out.append("```")
            continue
        out.append(line)
        index += 1
    return "\n".join(out).strip()


def string(node: ast.stmt | None) -> str | None:
    """The docstring that this statement is."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return None


def fields(body: list[ast.stmt], of_self: bool) -> Iterator[tuple[str, str, str]]:
    """Attributes that a class or its constructor sets: name, type, meaning."""
    for statement, following in zip(body, [*body[1:], None]):
        kind = ""
        if isinstance(statement, ast.AnnAssign):
            target: ast.expr = statement.target
            kind = plain(statement.annotation)
            if kind.startswith("ClassVar["):
                kind = kind.removeprefix("ClassVar[").removesuffix("]")
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            # The name of an argument, whose type the signature says.
            kind = statement.value.id if isinstance(statement.value, ast.Name) else ""
        else:
            continue
        if of_self and isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            name = target.attr
        elif not of_self and isinstance(target, ast.Name):
            name = target.id
        else:
            continue
        if not name.startswith("_"):
            yield name, kind, string(following) or ""


class Module:
    """A module by its source."""

    def __init__(self, name: str) -> None:
        self.name = name
        tree = ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8"))
        self.named = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}

    def members(self, node: ast.ClassDef) -> Iterator[ast.stmt]:
        """The statements of a class, and those of the classes that are not shown themselves."""
        own = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
        yield from node.body
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id.startswith("_") and isinstance(self.named.get(base.id), ast.ClassDef):
                for one in self.members(self.named[base.id]):  # type: ignore[arg-type]
                    if isinstance(one, ast.FunctionDef) and one.name not in own:
                        yield one

    def constructor(self, node: ast.ClassDef) -> ast.FunctionDef | None:
        found = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        return found[0] if found else None

    def given(self, node: ast.ClassDef) -> dict[str, str]:
        """The types of what its constructor takes."""
        made = self.constructor(node)
        if made is None:
            return {}
        arguments = made.args.args + made.args.kwonlyargs
        return {one.arg: plain(one.annotation) for one in arguments if one.annotation is not None}

    def written(self, name: str, prefix: str) -> Iterator[str]:
        node = self.named[name]
        if isinstance(node, ast.FunctionDef):
            yield f"### `{name}`\n\n```python\n{signature(name, node, False)}\n```\n\n{told(ast.get_docstring(node))}\n"
            return
        bases = [plain(base) for base in node.bases]
        shown = [base for base in bases if not base.startswith("_") and base != "NamedTuple"]
        title = f"`{name}`" + (f" ({', '.join(shown)})" if shown else "")
        yield f"### {title}\n\n{told(ast.get_docstring(node))}\n"
        attributes = {one: (kind, meaning) for one, kind, meaning in fields(node.body, False)}
        made = self.constructor(node)
        if made is not None:
            types = self.given(node)
            for one, kind, meaning in fields(made.body, True):
                attributes[one] = (types.get(kind, kind), meaning)
        methods = []
        for one in self.members(node):
            if not isinstance(one, ast.FunctionDef) or one.name.startswith("_"):
                continue
            if any(isinstance(mark, ast.Name) and mark.id == "property" for mark in one.decorator_list):
                kind = plain(one.returns) if one.returns is not None else ""
                attributes[one.name] = (kind, told(ast.get_docstring(one)).replace("\n\n", " ").replace("\n", " "))
            else:
                methods.append(one)
        if attributes:
            yield "| attribute | type | meaning |\n|---|---|---|"
            for one, (kind, meaning) in attributes.items():
                if not kind or not meaning:
                    raise SystemExit(f"{self.name}.py: {name}.{one} has no {'meaning' if kind else 'type'}")
                escaped = kind.replace("|", "\\|")
                yield f"| `{one}` | `{escaped}` | {meaning} |"
            yield ""
        for method in methods:
            text = signature(f"{name}.{method.name}", method, True)
            if not ast.get_docstring(method):
                raise SystemExit(f"{self.name}.py: {name}.{method.name}() has no docstring")
            yield f"#### `{name}.{method.name}`\n\n```python\n{text}\n```\n\n{told(ast.get_docstring(method))}\n"


def page() -> str:
    """All of the page."""
    parts = [HEAD]
    for title, module, prefix, names in SECTIONS:
        parts.append(f"## {title}\n")
        parts.append(f"From `{prefix}`." + (f" {NOTES[title]}" if title in NOTES else "") + "\n")
        known = Module(module)
        for name in names:
            parts += known.written(name, prefix)
    return "\n".join(parts).rstrip() + "\n"


def main() -> int:
    text = page()
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if sys.argv[1:]:
        print(__doc__)
        return 2
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print(f"{PAGE.name} is not what its source says: python/reference.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
