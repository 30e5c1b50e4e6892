"""The filters that are compared, each in the form that its documentation recommends.

A contender makes a filter of a capacity for a false positive rate of 1 %, and runs the loops that a
program would write.  The loops are written out for each library, because a call through another
function would cost more than some of the operations.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import version
from typing import Any

import fastbloom_rs  # type: ignore[import-untyped]
import pybloom_live  # type: ignore[import-untyped]
import pyfusefilter  # type: ignore[import-untyped]
import rbloom

import tamis

FPR = 0.01

# Packages for the venv, and the modules whose import is timed.
PEERS = {
    "rbloom": "rbloom",
    "fastbloom-rs": "fastbloom_rs",
    "pybloom-live": "pybloom_live",
    "pyfusefilter": "pyfusefilter",
}
NOT_MEASURED = {"datasketches": "its Python package (5.2.0) has no Bloom filter"}


class Contender:
    """A filter with `in` and add(): what most libraries have."""

    static = False
    fpr: float | None = FPR
    note = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def make(self, capacity: int, kind: str) -> Any:
        """An empty filter for keys of this kind: "str", "bytes" or "int"."""
        raise NotImplementedError

    def build(self, keys: list[Any], kind: str) -> Any:
        """A filter of a list of keys."""
        made = self.make(len(keys), kind)
        self.update(made, keys, kind)
        return made

    def update(self, made: Any, keys: list[Any], kind: str) -> None:
        made.update(keys)

    def add_each(self, made: Any, keys: list[Any], kind: str) -> None:
        for key in keys:
            made.add(key)

    def query_each(self, made: Any, keys: list[Any], kind: str) -> None:
        for key in keys:
            key in made  # noqa: B015

    def count(self, made: Any, keys: list[Any], kind: str) -> int:
        """How many of the keys are possibly in the filter."""
        return sum(key in made for key in keys)

    def bits(self, made: Any) -> int:
        """The size of the filter."""
        raise NotImplementedError


class Set(Contender):
    """For comparison: exact."""

    fpr = None
    note = "exact; without the memory of the keys"

    def make(self, capacity: int, kind: str) -> Any:
        return set()

    def bits(self, made: Any) -> int:
        return sys.getsizeof(made) * 8


class Tamis(Contender):
    def __init__(self, kind: Any, shared: bool = False) -> None:
        super().__init__(f"tamis {kind}" + ", shared" * shared)
        self.kind, self.shared = kind, shared

    def make(self, capacity: int, kind: str) -> Any:
        return tamis.Filter(capacity, FPR, self.kind, shared=self.shared)

    def bits(self, made: Any) -> int:
        return int(made.nbytes) * 8


class TamisStatic(Tamis):
    static = True
    note = "static"

    def build(self, keys: Any, kind: str) -> Any:
        return tamis.build(keys, FPR, self.kind)


class RBloom(Contender):
    note = "Python's hash(); a filter that can be saved needs a hash function in Python"

    def make(self, capacity: int, kind: str) -> Any:
        return rbloom.Bloom(capacity, FPR)

    def bits(self, made: Any) -> int:
        return int(made.size_in_bits)


class FastBloom(Contender):
    """With the methods for the type of the key: add_str, contains_str."""

    def make(self, capacity: int, kind: str) -> Any:
        return fastbloom_rs.BloomFilter(capacity, FPR)

    def update(self, made: Any, keys: list[Any], kind: str) -> None:
        getattr(made, f"add_{kind}_batch")(keys)

    def add_each(self, made: Any, keys: list[Any], kind: str) -> None:
        add = getattr(made, f"add_{kind}")
        for key in keys:
            add(key)

    def query_each(self, made: Any, keys: list[Any], kind: str) -> None:
        contains = getattr(made, f"contains_{kind}")
        for key in keys:
            contains(key)

    def count(self, made: Any, keys: list[Any], kind: str) -> int:
        return sum(getattr(made, f"contains_{kind}_batch")(keys))

    def bits(self, made: Any) -> int:
        return len(made.get_bytes()) * 8


class PyBloom(Contender):
    def make(self, capacity: int, kind: str) -> Any:
        return pybloom_live.BloomFilter(capacity, FPR)

    def update(self, made: Any, keys: list[Any], kind: str) -> None:
        self.add_each(made, keys, kind)

    def bits(self, made: Any) -> int:
        return len(made.bitarray)


class PyFuse(Contender):
    static = True
    fpr = 1 / 256  # the only one
    note = "static; hashes str(key)"

    def build(self, keys: list[Any], kind: str) -> Any:
        return pyfusefilter.Fuse8(keys)

    def bits(self, made: Any) -> int:
        return int(made.size_in_bytes()) * 8


CONTENDERS = [
    Tamis("bloom"),
    Tamis("block"),
    TamisStatic("fuse"),
    RBloom("rbloom"),
    FastBloom("fastbloom-rs"),
    PyBloom("pybloom-live"),
    PyFuse("pyfusefilter"),
    Set("set"),
]
# Only these accept adds from several threads.
SHARED = [Tamis("bloom", shared=True), Tamis("block", shared=True)]
BY_NAME = {contender.name: contender for contender in [*CONTENDERS, *SHARED]}


# A way to use a filter with a column of keys: the contender, and what is called.
Method = tuple[str, Callable[[Any, Any], object]]


def _contains_many(made: Any, column: Any, threads: int) -> object:
    return made.contains_many(column, threads=threads)


def _update(made: Any, column: Any, threads: int) -> object:
    return made.update(column, threads=threads)


def batch_queries(kind: str) -> dict[str, Method]:
    """Ways to query a column.  Libraries that read no columns need a list first."""
    to_list, contains = LISTS[kind], f"contains_{kind}_batch"
    methods: dict[str, Method] = {
        f"{name}, {threads} thread{'s' * (threads > 1)}": (
            name,
            partial(_contains_many, threads=threads),
        )
        for name in ("tamis bloom", "tamis block", "tamis fuse")
        for threads in (1, 2)
    }
    methods["rbloom, loop"] = ("rbloom", lambda f, column: [key in f for key in to_list(column)])
    methods["fastbloom-rs, batch"] = (
        "fastbloom-rs",
        lambda f, column: getattr(f, contains)(to_list(column)),
    )
    return methods


def batch_adds(kind: str) -> dict[str, Method]:
    """Ways to add a column."""
    to_list, add = LISTS[kind], f"add_{kind}_batch"
    methods: dict[str, Method] = {}
    for name in ("tamis bloom", "tamis block"):
        methods[f"{name}, 1 thread"] = (name, partial(_update, threads=1))
        shared = f"{name}, shared"
        methods[f"{shared}, 2 threads"] = (shared, partial(_update, threads=2))
    methods["rbloom, update()"] = ("rbloom", lambda f, column: f.update(to_list(column)))
    methods["fastbloom-rs, batch"] = (
        "fastbloom-rs",
        lambda f, column: getattr(f, add)(to_list(column)),
    )
    return methods


# The list of keys of an Arrow array, or of a NumPy array.
LISTS: dict[str, Callable[[Any], list[Any]]] = {
    "str": lambda column: column.to_pylist(),
    "bytes": lambda column: column.tolist(),
    "int": lambda column: column.tolist(),
}


def versions() -> dict[str, str]:
    names: Iterable[str] = ("tamis", *PEERS, "numpy", "pyarrow")
    return {"Python": platform.python_version(), **{name: _version(name) for name in names}}


def _version(name: str) -> str:
    return tamis.__version__ if name == "tamis" else version(name)
