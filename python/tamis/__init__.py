"""Membership filters: is this key in the set?

A filter answers from a few bits per key: "no" is always right, "yes" is wrong at a false positive
rate that you choose.

>>> import tamis
>>> seen = tamis.Filter(capacity=1_000_000, fpr=0.01)
>>> seen.add('apple')
True
>>> 'apple' in seen, 'pear' in seen
(True, False)
>>> fruit = tamis.build(['apple', 'pear', 'fig'], fpr=0.001)    # static, smaller
>>> fruit.contains_many(['fig', 'plum'])
[True, False]
"""

from __future__ import annotations

from tamis._tamis import (
    FORMATS,
    KINDS,
    ArgumentError,
    Array,
    Builder,
    BusyError,
    ChangedError,
    Container,
    Error,
    Filter,
    FormatError,
    FullError,
    LostError,
    MismatchError,
    PartError,
    SecretError,
    UnsupportedError,
    __version__,
    build,
    detect,
    hash_integer,
    open,
    plan,
)

TYPE_CHECKING = False  # importing it from typing would take longer than all the rest
if TYPE_CHECKING:
    from typing import Any

    from tamis._info import Info, Part, Plan, Sizing

__all__ = [
    "FORMATS",
    "KINDS",
    "ArgumentError",
    "Array",
    "Builder",
    "BusyError",
    "ChangedError",
    "Container",
    "Error",
    "Filter",
    "FormatError",
    "FullError",
    "Info",
    "LostError",
    "MismatchError",
    "Part",
    "PartError",
    "Plan",
    "SecretError",
    "Sizing",
    "UnsupportedError",
    "__version__",
    "build",
    "detect",
    "hash_integer",
    "open",
    "plan",
]

_DATACLASSES = ("Info", "Part", "Plan", "Sizing")


def __getattr__(name: str) -> Any:
    # Loaded on first use: dataclasses would take most of the import time.
    if name in _DATACLASSES:
        from tamis import _info

        return getattr(_info, name)
    raise AttributeError(f"module 'tamis' has no attribute '{name}'")
