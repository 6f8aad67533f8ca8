"""Designs as datasets of xarray: `xarray.open_dataset("sheet.kdl", engine="relief")`."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
from xarray import Dataset, Variable
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from ._open import open as _open_surface
from ._surface import Surface


class _Samples(BackendArray):
    """A surface as xarray indexes one: by whole numbers and slices."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface
        self.shape = surface.shape
        self.dtype = surface.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        return np.asarray(self.surface[key])


class ReliefBackend(BackendEntrypoint):
    """Opens a design file as a dataset with one variable, `surface`, of the axes y and x. It is read where it is indexed.

    >>> import xarray
    >>> data = xarray.open_dataset("../examples/sheet/design.kdl", engine="relief")
    >>> data.surface.dims, data.surface.shape
    (('y', 'x'), (1800000, 2000000))
    """

    description: ClassVar[str] = "Designs of Relief, computed where they are read"
    """What xarray shows of it."""
    url: ClassVar[str] = ""
    """Where it is found: the address of the sources, once they have one."""
    open_dataset_parameters: ClassVar[tuple[str, ...]] = (
        "filename_or_obj",
        "drop_variables",
        "set",
        "images",
        "region",
        "memory",
        "threads",
        "device",
        "device_memory",
        "levels",
    )
    """What `open_dataset` takes."""

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: Any = None,
        **options: Any,
    ) -> Dataset:
        """The design as a dataset. `options` are those of `relief_surfaces.open`."""
        surface = filename_or_obj
        if not isinstance(surface, Surface):
            surface = _open_surface(os.fspath(filename_or_obj), **options)
        dropped = {drop_variables} if isinstance(drop_variables, str) else {*(drop_variables or ())}
        attributes: dict[str, Any] = {"name": surface.name}
        if surface.pixel is not None:
            attributes["pixel_metres"] = surface.pixel
        if surface.amplitude is not None:
            attributes["amplitude_metres"] = surface.amplitude
        variables = {}
        if "surface" not in dropped:
            lazy = indexing.LazilyIndexedArray(_Samples(surface))
            preferred = {"y": min(4096, surface.shape[0]), "x": min(4096, surface.shape[1])}
            variables["surface"] = Variable(
                ("y", "x"), lazy, attributes, encoding={"preferred_chunks": preferred}
            )
        return Dataset(variables, attrs={"source": surface.path or surface.name})

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether the name is that of a design."""
        try:
            name = os.fspath(filename_or_obj)
        except TypeError:
            return isinstance(filename_or_obj, Surface)
        return isinstance(name, str) and name.endswith((".kdl", ".relief"))
