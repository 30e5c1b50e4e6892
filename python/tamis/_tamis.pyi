"""Types of the extension module; everything in it is exported by the package tamis."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import (
    Any,
    ClassVar,
    Literal,
    Protocol,
    SupportsFloat,
    SupportsIndex,
    Union,
    final,
    overload,
)

from typing_extensions import Buffer, Self, TypeAlias

from tamis._info import Info, Part, Plan

# A field of a composite key, and a key.
Field: TypeAlias = Union[str, Buffer, SupportsIndex, float]
Key: TypeAlias = Union[str, Buffer, SupportsIndex, SupportsFloat, float, tuple[Field, ...]]

class ArrowArray(Protocol):
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

class ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

# Many keys: a list or any other iterable of keys, a NumPy array, an Arrow array or stream.
Keys: TypeAlias = Union[Iterable[Key], Buffer, ArrowArray, ArrowStream]
Path: TypeAlias = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]
Kind: TypeAlias = Literal[
    "bloom", "block", "counting", "cuckoo", "xor", "fuse", "ribbon", "growing"
]
Need: TypeAlias = Literal["add", "remove", "grow", "merge", "static"]
KeyType: TypeAlias = Literal["bytes", "utf16", "i32", "i64", "u64", "f32", "f64"]
Result: TypeAlias = Literal["list", "numpy", "arrow"]

__version__: str
KINDS: tuple[Kind, ...]
FORMATS: tuple[str, ...]

class Error(Exception):
    status: str

class ArgumentError(Error, ValueError): ...
class FormatError(Error, ValueError): ...
class SecretError(Error, ValueError): ...
class MismatchError(Error, ValueError): ...
class UnsupportedError(Error, TypeError): ...
class FullError(Error, OverflowError): ...
class PartError(Error, LookupError): ...
class ChangedError(Error, OSError): ...
class BusyError(Error, TimeoutError): ...
class LostError(Error, RuntimeError): ...

class Filter:
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __init__(
        self,
        capacity: int = 0,
        fpr: float | None = None,
        kind: Kind | None = None,
        *,
        needs: Need | Iterable[Need] | None = (),
        bytes: int = 0,
        bits: int = 0,
        hashes: int = 0,
        stage: Kind | None = None,
        seed: int = 0,
        secret: Buffer | None = None,
        shared: bool = False,
        prehashed: bool = False,
        key_type: KeyType = "bytes",
        fold_case: bool = False,
        format: str | None = None,
    ) -> None: ...
    @classmethod
    def open(
        cls,
        path: Path,
        *,
        format: str | None = None,
        part: str | None = None,
        secret: Buffer | None = None,
        update: bool = False,
        shared: bool = False,
        map: bool = True,
        verify: Literal["touched", "all", "later"] | None = None,
        wait: float | None = None,
        threads: int = 1,
    ) -> Self: ...
    @classmethod
    def from_bytes(
        cls,
        data: Buffer,
        *,
        format: str | None = None,
        part: str | None = None,
        secret: Buffer | None = None,
        shared: bool = False,
    ) -> Self: ...

    # keys
    def __contains__(self, key: Key, /) -> bool: ...
    def add(self, key: Key, /) -> bool: ...
    def update(self, *keys: Keys, threads: int = 1) -> None: ...
    def remove(self, key: Key, /) -> None: ...
    def discard(self, key: Key, /) -> bool: ...
    def count(self, key: Key, /) -> int: ...
    def hash(self, key: Key, /) -> int: ...

    # batches
    @overload
    def contains_many(
        self, keys: Keys, *, threads: int = 1, hashed: bool = False, result: Literal["list"]
    ) -> list[bool | None]: ...
    @overload
    def contains_many(
        self, keys: Keys, *, threads: int = 1, hashed: bool = False, result: Result | None = None
    ) -> Any: ...
    def add_many(
        self, keys: Keys, *, threads: int = 1, hashed: bool = False, result: Result | None = None
    ) -> Any: ...
    def discard_many(
        self, keys: Keys, *, threads: int = 1, hashed: bool = False, result: Result | None = None
    ) -> Any: ...
    def hash_many(
        self, keys: Keys, *, threads: int = 1, result: Result | None = None
    ) -> Any: ...

    # sets
    def __or__(self, other: Filter, /) -> Self: ...
    def __and__(self, other: Filter, /) -> Self: ...
    def __ior__(self, other: Filter, /) -> Self: ...
    def __iand__(self, other: Filter, /) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __sizeof__(self) -> int: ...
    def copy(self) -> Self: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: dict[int, Any], /) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def convert(self, kind: Kind | None = None, *, format: str | None = None) -> Filter: ...

    # files and bytes
    def save(self, path: Path, *, replace: bool = True) -> None: ...
    def to_bytes(self) -> bytes: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def verify(self) -> None: ...
    def commit(self) -> int: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

    # facts
    def info(self) -> Info: ...
    @property
    def kind(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def capacity(self) -> int: ...
    @property
    def fpr(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def keyed(self) -> bool: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def name(self) -> str | None: ...
    @property
    def closed(self) -> bool: ...

class Builder:
    def __init__(
        self,
        capacity: int = 0,
        fpr: float | None = None,
        kind: Kind | None = None,
        *,
        needs: Need | Iterable[Need] | None = (),
        bytes: int = 0,
        bits: int = 0,
        hashes: int = 0,
        arity: int = 0,
        stage: Kind | None = None,
        seed: int = 0,
        secret: Buffer | None = None,
        prehashed: bool = False,
        key_type: KeyType = "bytes",
        fold_case: bool = False,
        format: str | None = None,
        check: bool = False,
        threads: int = 1,
        memory: int = 0,
        temporary: Path | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> None: ...
    def add(self, key: Key, /) -> None: ...
    def update(self, *keys: Keys, hashed: bool = False) -> None: ...
    def finish(self) -> Filter: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __len__(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

class Container:
    @classmethod
    def open(cls, path: Path, *, format: str | None = None) -> Self: ...
    @classmethod
    def from_bytes(cls, data: Buffer, *, format: str | None = None) -> Self: ...
    def __contains__(self, key: Key, /) -> bool: ...
    def contains(self, key: Key, /, part: str | None = None) -> bool: ...
    def contains_many(
        self, keys: Keys, *, part: str | None = None, result: Result | None = None
    ) -> Any: ...
    def parts(self) -> list[Part]: ...
    def filter(self, part: str | int, /) -> Filter: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Part]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    @property
    def format(self) -> str: ...
    @property
    def name(self) -> str | None: ...
    @property
    def closed(self) -> bool: ...

@final
class Array(Sequence[Any]):
    """What a batch of Arrow keys returns: Booleans or 64-bit hashes, with nulls."""

    @property
    def null_count(self) -> int: ...
    def tolist(self) -> list[Any]: ...
    def index(self, value: Any, start: int = 0, stop: int = sys.maxsize, /) -> int: ...
    def count(self, value: Any, /) -> int: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    @overload
    def __getitem__(self, key: int, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[Any]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __invert__(self) -> Self: ...

def open(
    path: Path,
    *,
    format: str | None = None,
    part: str | None = None,
    secret: Buffer | None = None,
    update: bool = False,
    shared: bool = False,
    map: bool = True,
    verify: Literal["touched", "all", "later"] | None = None,
    wait: float | None = None,
    threads: int = 1,
) -> Any: ...
def build(
    keys: Keys,
    fpr: float | None = None,
    kind: Kind | None = None,
    *,
    capacity: int = 0,
    needs: Need | Iterable[Need] | None = (),
    bytes: int = 0,
    bits: int = 0,
    hashes: int = 0,
    arity: int = 0,
    stage: Kind | None = None,
    seed: int = 0,
    secret: Buffer | None = None,
    prehashed: bool = False,
    key_type: KeyType = "bytes",
    fold_case: bool = False,
    format: str | None = None,
    check: bool = False,
    threads: int = 1,
    memory: int = 0,
    temporary: Path | None = None,
    progress: Callable[[int], object] | None = None,
    hashed: bool = False,
) -> Filter: ...
def plan(
    capacity: int,
    fpr: float | None = None,
    *,
    bytes: int = 0,
    needs: Need | Iterable[Need] | None = (),
) -> Plan: ...
def detect(data: Buffer, /) -> list[str]: ...
def hash_integer(value: int, /) -> int: ...
