from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any

from . import Problems, Surface

class Node:
    word: str
    arguments: tuple[Any, ...]
    properties: dict[str, Any]
    children: tuple[Node, ...]
    role: str | None
    def __init__(
        self,
        word: str,
        arguments: Iterable[Any] = ...,
        properties: Mapping[str, Any] | None = ...,
        children: Iterable[Node] = ...,
        role: str | None = ...,
    ) -> None: ...
    def as_(self, role: str) -> Node: ...

class Document:
    nodes: tuple[Node, ...]
    text: str
    def __init__(self, nodes: Iterable[Node]) -> None: ...
    def check(self, *, set: Mapping[str, Any] | None = ..., images: Mapping[str, Any] | None = ...) -> Problems: ...
    def open(self, images: Mapping[str, Any] | None = ..., **options: Any) -> Surface: ...
    def save(self, path: str | PathLike[str]) -> None: ...

def document(*nodes: Node | Iterable[Node], version: int = ...) -> Document: ...
def reference(name: str) -> str: ...
def words() -> list[str]: ...

# The words of the language, which the module makes of the table that the parser reads.
def __getattr__(name: str) -> Callable[..., Node]: ...
