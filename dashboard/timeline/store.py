"""Arrays of one flow in a folder, memory-mapped: the data of a long transfer's timeline.

A view then costs the pages of the files that it touches, however long the transfer was. Such pages count as resident in
the server until the kernel wants them back. An array is written once, under a temporary name, and renamed. Rejected:
the Parquet files themselves, because a view would decode whole row groups.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dashboard.core.levels import Levels
from dashboard.core.mapping import mapped
from dashboard.core.series import Series
from netcommon.strangers import replacing

T = TypeVar("T")
DONE = "done"
KEPT: list[str] = []  # the properties of flows that are kept


class Store:
    """The arrays in `folder`. `whole`: they will be read from end to end, as `prepare` does, not at random."""

    def __init__(self, folder: Path, whole: bool = False) -> None:
        self.folder = folder
        self._whole = whole

    def get(self, name: str, make: Callable[[], T]) -> T:
        """The value of a name: an array, a tuple of arrays, or a series with its index. It is made and written if it
        does not exist yet."""
        found: Any = self._found(name)
        if found is None:
            self.put(name, make())
            found = self._found(name)
        value: T = found
        return value

    @property
    def done(self) -> bool:
        """Whether all arrays of a flow are stored."""
        return (self.folder / DONE).is_file()

    def array(self, name: str) -> NDArray[Any]:
        """An array that was put."""
        return mapped(self.folder / f"{name}.ndarray.0.npy", self._whole)

    def arrays(self, name: str) -> tuple[NDArray[Any], ...]:
        """A stored tuple of arrays; empty if none is stored."""
        found: tuple[NDArray[Any], ...] = self._found(name) or ()
        return found

    def finish(self) -> None:
        """All has been put."""
        (self.folder / DONE).touch()

    def put(self, name: str, value: Any) -> None:
        if isinstance(value, Series):
            parts = [value.t_ns, value.value, *value.levels.parts]
        else:
            parts = list(value) if isinstance(value, tuple) else [value]
        for number, part in reversed(list(enumerate(parts))):  # the first part's file says that all exist
            self._write(self._path(name, number, value), part)

    def _found(self, name: str) -> Any:
        for kind in (np.ndarray, tuple, Series):
            paths = [self.folder / f"{name}.{kind.__name__}.{number}.npy" for number in range(64)]
            parts = [mapped(path, self._whole) for path in paths if path.is_file()]
            if parts and kind is Series:
                return Series.indexed(parts[0], parts[1], Levels.of_parts(parts[0], parts[1], parts[2:]))
            if parts:
                return tuple(parts) if kind is tuple else parts[0]
        return None

    def _path(self, name: str, number: int, value: Any) -> Path:
        kind = next(kind for kind in (Series, tuple, np.ndarray) if isinstance(value, kind))
        return self.folder / f"{name}.{kind.__name__}.{number}.npy"

    def _write(self, path: Path, values: NDArray[Any]) -> None:
        with replacing(path) as file:
            np.save(file, values)


def kept(make: Callable[[Any], T]) -> cached_property[T]:
    """A property of a flow that is computed once: kept with the flow, and also in its store if it has one."""

    def through(flow: Any) -> T:
        store: Store | None = flow.store
        return make(flow) if store is None else store.get(make.__name__, lambda: make(flow))

    through.__doc__ = make.__doc__
    found = cached_property(through)
    KEPT.append(make.__name__)
    return found
