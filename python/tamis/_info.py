"""What Filter.info(), Container.parts() and plan() return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

__all__ = ["Info", "Part", "Plan", "Sizing"]


@dataclass(frozen=True)
class Info:
    """The parameters and the state of a filter, as ``tamis info --json`` prints them (rounded).

    >>> info = tamis.build(["ada", "grace"], fpr=0.01).info()
    >>> info.kind, info.keys, info.keyed
    ('fuse', 2, False)
    """

    file: Optional[str]
    """The path that the filter was opened from; None: it was made in memory."""
    format: str
    """``"tamis"``, or a compatible format: ``"guava"``, ``"leveldb"``, ..."""
    kind: str
    """The kind of filter: ``"bloom"``, ``"fuse"``, ..."""
    keys: int
    """The number of keys: counted if the format counts them, otherwise estimated."""
    distinct: float
    """The estimated number of distinct keys; exact for static kinds."""
    distinct_error: float
    """One standard deviation of that estimate; 0: exact."""
    adds: int
    """Adds less removes, duplicates included; 0 if the format does not count them."""
    capacity: int
    """The distinct keys that the filter was sized for; 0: unknown."""
    bytes: int
    """The size of the encoded filter, with its header and checksums."""
    table_bytes: int
    """The size of the table alone."""
    bits_per_key: float
    """Encoded bits per distinct key, or per key of the capacity if the filter is empty."""
    hashes: int
    """Bits, slots or counters that a lookup reads."""
    width: int
    """Bits of a fingerprint or counter; 0 if there is none."""
    stages: int
    """growing: stages; static kinds: shards; otherwise 1."""
    fill: float
    """The fraction of bits that are set, or of counters or slots that are in use."""
    fpr_target: float
    """The false positive rate that the filter was made for; 0: unknown."""
    fpr_now: float
    """The false positive rate expected now, from the fill."""
    over_capacity: bool
    """fpr_now is above what was promised."""
    hasher: str
    """The hash function: ``"xxh3"``, ``"siphash-2-4"``, ``"none"`` or another system's."""
    seed: int
    """The seed of the hash function."""
    keyed: bool
    """The filter needs its secret key."""
    key_options: str
    """The command's options for how records become keys; ``""``: keys are used as they are."""
    checksum: str
    """``"ok"``: verified; ``"none"`` for other systems' filters, which have no checksum."""
    note: Optional[str] = None
    """A remark on a filter of a compatible format."""


@dataclass(frozen=True)
class Part:
    """One part of a file that holds several filters."""

    name: str
    """The name for ``part=``: ``"17"``, or ``"2/address.zip"`` in a Parquet file."""
    format: str
    """The format of its filter."""
    offset: int
    """Where the filter begins in the file."""
    bytes: int
    """The size of the filter; 0: this part has none."""
    row_group: Optional[int] = None
    """The row group of a Parquet file; None in other files."""


@dataclass(frozen=True)
class Sizing:
    """What one kind of filter takes for the keys of a plan."""

    kind: str
    """The kind of filter."""
    bits_per_key: float
    """The size of the encoded filter in bits per key; 0 for 0 keys."""
    bytes: int
    """The size of the encoded filter."""
    hashes: int
    """Bits, slots or fingerprints that a lookup reads."""
    fpr: float
    """The false positive rate expected with all keys."""
    fpr_at_half: float
    """The false positive rate expected with half as many keys."""
    fpr_at_double: float
    """The false positive rate expected with twice as many; 1: it cannot hold them."""
    cache_lines: float
    """Cache lines that a lookup of an absent key reads."""
    build_bytes: int
    """Memory needed to build the filter, the filter included."""
    static: bool
    """It is built from all keys at once."""
    remove: bool
    """Keys can be removed."""
    grow: bool
    """It needs no capacity."""
    merge: bool
    """Filters can be merged."""


@dataclass(frozen=True)
class Plan:
    """The kinds of filters compared for a number of keys, as ``tamis plan --json`` prints them.

    >>> plan = tamis.plan(1_000_000, 0.01, needs="remove")
    >>> plan.choice
    'cuckoo'
    >>> [sizing.kind for sizing in plan.families if sizing.grow]
    ['growing']
    """

    n: int
    """The number of keys."""
    fpr: float
    """The false positive rate given, or that of the choice in the size given."""
    size: Optional[int]
    """The size given, in bytes; None: a false positive rate was given."""
    choice: Optional[str]
    """The kind to choose; None: no kind does what is needed, and ``why`` has the reason."""
    why: str
    """The reason, one sentence."""
    classic_bits: Optional[int]
    """The bits of a Bloom filter by the classic formula; None: no rate was given."""
    classic_hashes: Optional[int]
    """Its number of hash functions; None: no rate was given."""
    bound_bits_per_key: Optional[float]
    """What every filter of this rate takes at least; None: no rate was given."""
    families: tuple[Sizing, ...]
    """What each kind takes that supports the rate or fits in the size."""
