"""Designs written in Python.

Every word of the design language is a function of this module. Names are written with `_` for `-`; values without a name come
first, nodes and parameters between them, values with a name last.

>>> from relief_surfaces import design as d
>>> plate = d.document(
...     d.canvas(width="20mm", height="12mm", pixel="10um"),
...     d.compose(
...         d.fill(value=100, role="base"),
...         d.repeat(d.disc(diameter=40, value=200), step_x=50, step_y=50, role="max"),
...     ),
... )
>>> print(plate)
relief version=1
canvas width="20mm" height="12mm" pixel="10um"
compose {
    (base)fill value=100
    (max)repeat step-x=50 step-y=50 {
        (pattern)disc diameter=40 value=200
    }
}
<BLANKLINE>
>>> plate.open().shape
(1200, 2000)

The functions are made of the table that the parser reads, so that they take what this version of the language takes: `words()` lists
them, and `help(design.repeat)` says what a word means. Where a word takes nodes in one role only, that role need not be written.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Callable, Iterable, Mapping

from . import _native

__all__ = ["Document", "Node", "document", "reference", "words"]


class _Word:
    """A word of the language."""

    __slots__ = ("name", "group", "meaning", "arguments", "properties", "children", "named", "example")

    def __init__(self, told: Mapping[str, Any]) -> None:
        for slot in self.__slots__:
            setattr(self, slot, told[slot])

    @property
    def roles(self) -> list[str]:
        return [child["name"] for child in self.children if child["kind"] == "role"]


_table: dict[str, _Word] = {}
_functions: dict[str, Callable[..., Node]] = {}


def _words() -> dict[str, _Word]:
    if not _table:
        import json

        _table.update((told["name"], _Word(told)) for told in json.loads(_native.signatures()))
    return _table


def words() -> list[str]:
    """The words of the language, as this module names them.

    >>> from relief_surfaces import design as d
    >>> "repeat" in d.words() and "step_x" not in d.words()
    True
    """
    return [_named(name) for name in _words()]


def reference(name: str) -> str:
    """The value of a parameter of the design: `$name`.

    >>> from relief_surfaces import design as d
    >>> print(d.fill(value=d.reference("gray")))
    fill value="$gray"
    """
    return f"${name}"


def _named(word: str) -> str:
    import keyword

    name = word.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


class Node:
    """A node of a design, or a parameter of one, with all that stands between its braces."""

    __slots__ = ("word", "arguments", "properties", "children", "role")

    def __init__(
        self,
        word: str,
        arguments: Iterable[Any] = (),
        properties: Mapping[str, Any] | None = None,
        children: Iterable[Node] = (),
        role: str | None = None,
    ) -> None:
        self.word = word
        """Its word in the language."""
        self.arguments: tuple[Any, ...] = tuple(arguments)
        """Its values that have no name."""
        self.properties: dict[str, Any] = dict(properties or {})
        """Its named values, with the names of the language."""
        self.children: tuple[Node, ...] = tuple(children)
        """The nodes between its braces."""
        self.role = role
        """Its role in the node around it: "pattern", "base", "max", …"""

    def as_(self, role: str) -> Node:
        """The same node in another role.

        >>> from relief_surfaces import design as d
        >>> print(d.fill(value=3).as_("max"))
        (max)fill value=3
        """
        return Node(self.word, self.arguments, self.properties, self.children, role)

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def __repr__(self) -> str:
        return f"<Node {self.word}>"

    def _lines(self, depth: int) -> Iterable[str]:
        indent = "    " * depth
        role = f"({self.role})" if self.role else ""
        parts = [role + self.word]
        parts += [_value(value) for value in self.arguments]
        parts += [f"{name}={_value(value)}" for name, value in self.properties.items()]
        line = indent + " ".join(parts)
        if not self.children:
            yield line
            return
        yield line + " {"
        for child in self.children:
            yield from child._lines(depth + 1)
        yield indent + "}"


class Document:
    """A design. The parser of the language has checked its text, as far as that needs no pictures."""

    __slots__ = ("nodes", "text")

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes: tuple[Node, ...] = tuple(nodes)
        """The nodes at the top level."""
        self.text: str = _native.format("<design>", "\n".join(str(node) for node in self.nodes) + "\n")
        """The design in KDL, as `relief fmt` lays it out."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Document: {len(self.text.splitlines())} lines>"

    def check(self, **options: Any) -> Any:
        """The errors and warnings of the design; `options` are those of `relief_surfaces.check`.

        >>> from relief_surfaces import design as d
        >>> found = d.document(d.canvas(width=40, height=30), d.fill(value=300)).check()
        >>> [problem.code for problem in found]
        ['E402']
        """
        from . import check

        return check(self.text, **options)

    def open(self, images: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """The design as a surface; `options` are those of `relief_surfaces.parse`.

        >>> from relief_surfaces import design as d
        >>> d.document(d.canvas(width=40, height=30), d.fill(value=7)).open()[0, :3]
        array([7, 7, 7], dtype=uint8)
        """
        from . import parse

        return parse(self.text, images, **options)

    def save(self, path: Any) -> None:
        """Writes the design into a file.

        >>> import os, tempfile
        >>> import relief_surfaces as relief
        >>> from relief_surfaces import design as d
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = os.path.join(folder, "plate.kdl")
        ...     d.document(d.canvas(width=40, height=30), d.fill(value=7)).save(file)
        ...     relief.open(file).shape
        (30, 40)
        """
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(self.text)


def document(*nodes: Node | Iterable[Node], version: int = 1) -> Document:
    """A design of its nodes: parameters, the canvas, definitions and the root. `relief version=1` need not be among them."""
    flat = list(_flat(nodes))
    if not any(node.word == "relief" for node in flat):
        flat.insert(0, Node("relief", (), {"version": version}))
    return Document(flat)


def _flat(values: Iterable[Any]) -> Iterable[Node]:
    for value in values:
        if isinstance(value, Node):
            yield value
        elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
            yield from _flat(value)
        else:
            raise TypeError(f"a node is expected, {value!r} was given")


def _value(value: Any) -> str:
    """A value as KDL writes it."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        raise TypeError(f"{value!r} is neither a number nor a text")
    try:
        return str(operator.index(value))
    except TypeError:
        pass
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{value!r} is neither a number nor a text") from None
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a finite number")
    return repr(number)


def _quoted(text: str) -> str:
    escaped = []
    for char in text:
        if char in '"\\':
            escaped.append("\\" + char)
        elif char.isprintable():
            escaped.append(char)
        else:
            escaped.append(f"\\u{{{ord(char):x}}}")
    return '"' + "".join(escaped) + '"'


def _function(word: _Word) -> Callable[..., Node]:
    from inspect import Parameter, Signature

    properties = {_named(one["name"]): one for one in word.properties}
    name = _named(word.name)
    roles = word.roles

    def make(*values: Any, role: str | None = None, **named: Any) -> Node:
        arguments, children = [], []
        for value in values:
            if isinstance(value, Node) or (isinstance(value, Iterable) and not isinstance(value, (str, bytes))):
                children += _flat([value])
            else:
                arguments.append(value)
        needed = sum(1 for one in word.arguments if one["required"])
        if not needed <= len(arguments) <= len(word.arguments):
            expected = ", ".join(one["name"] for one in word.arguments) or "none"
            raise TypeError(f"{name}() takes these values without a name: {expected}; {len(arguments)} were given")
        given = {}
        for key, value in named.items():
            # The name of a node is for the node that it stands in.
            known = properties.get(key) or ({"name": "name"} if key == "name" and word.group == "node" else None)
            if known is None:
                raise TypeError(f"{name}() has no value {key!r}{_meant(key, properties)}")
            if value is not None:
                given[known["name"]] = value
        missing = [key for key, one in properties.items() if one["required"] and one["name"] not in given]
        if missing:
            raise TypeError(f"{name}() needs {', '.join(missing)}")
        placed = [_placed(child, roles) for child in children]
        return Node(word.name, arguments, given, placed, role)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = _told(word)
    make.__module__ = __name__
    parameters = [Parameter(_named(one["name"]), Parameter.POSITIONAL_ONLY) for one in word.arguments]
    parameters.append(Parameter("children", Parameter.VAR_POSITIONAL))
    keywords = list(properties) + (["role"] if word.group == "node" else [])
    parameters += [
        Parameter(
            key,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if key in properties and properties[key]["required"] else None,
        )
        for key in keywords
        if key.isidentifier()
    ]
    make.__signature__ = Signature(parameters, return_annotation=Node)  # type: ignore[attr-defined]
    return make


def _placed(child: Node, roles: list[str]) -> Node:
    """A child in its role, where there is only one."""
    known = _words().get(child.word)
    if child.role is None and len(roles) == 1 and known is not None and known.group == "node":
        return child.as_(roles[0])
    return child


def _meant(key: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(known) or 'none'}"


def _told(word: _Word) -> str:
    lines = [word.meaning, ""]
    values = [(one["name"], one) for one in word.arguments]
    values += [(_named(one["name"]), one) for one in word.properties]
    for name, one in values:
        default = "" if one["required"] else f" ({one['default']!r})" if one["default"] is not None else " (optional)"
        lines.append(f"{name}{default}: {one['meaning']}; {one['type']}")
    taken = [f"{child['name'] or 'a node'} ({child['count']})" for child in word.children]
    if taken:
        lines.append(f"between its braces: {', '.join(taken)}")
    lines += ["", "In KDL:", "", word.example]
    return "\n".join(lines)


def __getattr__(name: str) -> Callable[..., Node]:
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in _functions:
        table = {_named(word): told for word, told in _words().items()}
        if name not in table:
            raise AttributeError(f"{name!r} is not a word of the language{_meant(name, table)}")
        _functions[name] = _function(table[name])
    return _functions[name]


def __dir__() -> list[str]:
    return sorted([*__all__, *words()])
