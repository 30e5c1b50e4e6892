"""One filter spread over the nodes of a Redis Cluster, or over one server.

A Redis key lives on one node.  A sharded filter NAME is a hash and S ordinary filters NAME:{0} to
NAME:{S-1}, which the cluster places and moves like other keys; each item is in exactly one of them:

    shard(item) = ((crc32(item) * 0x9E3779B1 mod 2**32) * S) >> 32

The command ``tamis redis`` and the C client read and write the same filters.  The servers need the
tamis module, or RedisBloom.  The client is one of redis-py: ``redis.Redis`` or
``redis.RedisCluster``.

    >>> import redis
    >>> from tamis.redis import ShardedFilter
    >>> client = redis.RedisCluster(port=7000)                            # doctest: +SKIP
    >>> seen = ShardedFilter.create(client, "seen", capacity=100_000_000) # doctest: +SKIP
    >>> seen.add_many(["ann", "bob"])                                     # doctest: +SKIP
    [True, True]
    >>> "ann" in seen, "eve" in seen                                      # doctest: +SKIP
    (True, False)

A shard that is missing or has another type is an error, never "definitely not in the set".  What
redis-py raises (a lost connection, a denied command) passes through; a call that failed may have
added some of its keys and can be repeated.  The client follows redirections and retries as it is
configured.  With ``read_from_replicas`` a query may miss keys that were added just before it.
"""

from __future__ import annotations

import math
import uuid
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn, Protocol, Union

from tamis import Error, FullError

__all__ = [
    "ExistsError",
    "NotFoundError",
    "ShardError",
    "ShardedFilter",
    "ShardedInfo",
    "shard_of",
]

FORMAT = "tamis-shards-1"
SHARDS_MAX = 16384
DEFAULT_SHARDS = 16
DEFAULT_FPR = 0.01

# Keys in a pipeline, and keys in a command: enough to make the cost of a command negligible, few
# enough not to block the server, which runs one command at a time.
WINDOW_KEYS = 32768
COMMAND_KEYS = 1000

# The smallest capacity of CF.RESERVE: two buckets of two.
CUCKOO_MIN = 4

Key = Union[str, bytes, bytearray, memoryview]


class NotFoundError(Error, LookupError):
    """There is no filter of this name, or its creation was never completed."""

    status = "E_ABSENT"


class ExistsError(Error):
    """The name, or the name of a shard, is in use."""

    status = "E_EXISTS"


class ShardError(Error, RuntimeError):
    """A shard is missing or is not the filter that was created."""

    status = "E_CORRUPT"


class Client(Protocol):
    """What is needed of redis.Redis and redis.RedisCluster."""

    def pipeline(self, transaction: bool = ...) -> Any: ...


@dataclass(frozen=True)
class _Verbs:
    """The commands of a kind; a static filter accepts no keys."""

    type: str
    query: str
    info: str
    add: str = ""
    reserve: str = ""


_VERBS = {
    "bloom": _Verbs("MBbloom--", "BF.MEXISTS", "BF.INFO", "BF.INSERT", "BF.RESERVE"),
    "cuckoo": _Verbs("MBbloomCF", "CF.MEXISTS", "CF.INFO", "CF.INSERTNX", "CF.RESERVE"),
    "static": _Verbs("tamisfilt", "TAMIS.MEXISTS", "TAMIS.INFO"),
}
_KINDS_BY_TYPE = {verbs.type: kind for kind, verbs in _VERBS.items()}

# Names of the fields of BF.INFO and CF.INFO, and the attributes of the objects that redis-py makes
# of these replies after client.bf() or client.cf() was called.
_INFO_ATTRIBUTES = {
    "Capacity": "capacity",
    "Size": "size",
    "Number of filters": "filterNum",
    "Number of items inserted": "insertedNum",
    "Number of buckets": "bucketNum",
    "Bucket size": "bucketSize",
}


@dataclass(frozen=True)
class ShardedInfo:
    """Facts of a sharded filter; those of the shards are sums."""

    name: str
    kind: str
    """"bloom", "cuckoo", or "static": a file that was uploaded as one key."""
    shards: int
    reserved: int
    """The capacity it was created for; 0: unknown."""
    fpr: float
    """The false positive rate it was created for; 0: unknown."""
    items: int
    capacity: int
    """Of the shards as they are now."""
    nbytes: int
    stages: int
    """Sub-filters; more than `shards` if some have grown."""
    items_min: int
    items_max: int
    """Items in the emptiest and in the fullest shard."""


def shard_of(key: Key, shards: int) -> int:
    """The shard of a key, from 0 to shards - 1.

    >>> shard_of("apple", 16)
    3
    """
    return _shard_of_item(_item_of(key), shards)


def _shard_of_item(item: bytes, shards: int) -> int:
    return (zlib.crc32(item) * 0x9E3779B1 % 2**32) * shards >> 32


def _item_of(key: object) -> bytes:
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, (bytes, bytearray, memoryview)):
        return bytes(key)
    # redis-py sends the digits of an int and tamis.Filter hashes its 8 bytes: taking either would
    # deny the keys that a program with the other rule has added.
    if hasattr(key, "__index__"):
        raise TypeError(
            "an int is no key in Redis: pass str(key) for its digits, or "
            "key.to_bytes(8, 'little', signed=key < 0) for the bytes that tamis.Filter uses"
        )
    raise TypeError(f"a key is str or bytes, not {type(key).__name__}")


def _windows(keys: Iterable[Key]) -> Iterator[list[bytes]]:
    if isinstance(keys, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"pass a list of keys, not one {type(keys).__name__}")
    items = map(_item_of, keys)
    while window := list(islice(items, WINDOW_KEYS)):
        yield window


def _text(reply: object) -> str:
    """A string reply, decoded by the client or not."""
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else str(reply)


def _is_error(reply: object, words: str) -> bool:
    return isinstance(reply, Exception) and words in str(reply)


class _Batch:
    """Commands that are sent in one pipeline.  Errors are replies: the caller judges them."""

    def __init__(self, client: Client) -> None:
        self._pipeline = client.pipeline(transaction=False)

    def add(self, *words: object) -> None:
        self._pipeline.execute_command(*words)

    def run(self) -> list[Any]:
        replies = self._pipeline.execute(raise_on_error=False)
        if not isinstance(replies, list):
            replies.close()  # a coroutine
            raise TypeError("the client is that of redis.asyncio: pass redis.Redis or RedisCluster")
        return replies


def _run_one(client: Client, *words: object) -> Any:
    """The reply of one command; an error is raised."""
    batch = _Batch(client)
    batch.add(*words)
    return _checked(batch.run()[0])


def _checked(reply: Any) -> Any:
    if isinstance(reply, Exception):
        raise reply
    return reply


def _check_name(name: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of a filter is str, not {type(name).__name__}")
    if not 1 <= len(name.encode()) <= 480:
        raise ValueError("the name of a filter must have 1 to 480 bytes")
    if "{" in name:  # all shards would be in one slot
        raise ValueError(f"{name!r}: the name of a filter cannot contain braces")


def _info_field(info: Any, field: str) -> Any:
    """A field of BF.INFO, CF.INFO or TAMIS.INFO; 0 if it is missing.  The reply is a list of names
    and values, a dict (protocol 3), or an object of redis-py."""
    if isinstance(info, (list, tuple)):
        info = dict(zip(info[::2], info[1::2]))
    if isinstance(info, dict):
        return info.get(field, info.get(field.encode(), 0))
    return getattr(info, _INFO_ATTRIBUTES.get(field, ""), 0)


class ShardedFilter:
    """A filter whose shards are keys of a Redis Cluster or of one server.

    Use `create` or `open`.  An object may be used by several threads if its client may.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        kind: str,
        shards: int,
        *,
        capacity: int = 0,
        fpr: float = 0,
        plain: bool = False,
    ) -> None:
        self._client = client
        self._plain = plain  # NAME is the filter itself
        self._is_complete = True  # False: the creation was interrupted
        self._verbs = _VERBS[kind]
        self.name, self.kind, self.shards = name, kind, shards
        self.capacity, self.fpr = capacity, fpr

    def __repr__(self) -> str:
        return f"<ShardedFilter {self.name!r}: {self.kind}, {self.shards} shards>"

    # ---- creating, opening, deleting

    @classmethod
    def create(
        cls,
        client: Client,
        name: str,
        *,
        capacity: int,
        fpr: float | None = None,
        kind: str = "bloom",
        shards: int = DEFAULT_SHARDS,
    ) -> ShardedFilter:
        """Creates an empty filter for `capacity` keys in all; it grows beyond that.

        `shards` cannot be changed later: choose about five for each node that the cluster may ever
        have.  `fpr` is 1 % by default (bloom), or what the module chooses (cuckoo).  Raises
        ExistsError if the name or the key of a shard is in use.
        """
        _check_name(name)
        if kind not in ("bloom", "cuckoo"):
            raise ValueError(f"kind {kind!r}: a sharded filter is bloom or cuckoo")
        if not 1 <= shards <= SHARDS_MAX:
            raise ValueError(f"a filter has 1 to {SHARDS_MAX} shards")
        if capacity < 1:
            raise ValueError("the capacity must be at least 1")
        if fpr is None:
            fpr = DEFAULT_FPR if kind == "bloom" else 0.0
        elif not 0 < fpr < 1:
            raise ValueError("the false positive rate must be greater than 0 and less than 1")
        new = cls(client, name, kind, shards, capacity=capacity, fpr=fpr)
        new._reserve()
        return new

    @classmethod
    def open(cls, client: Client, name: str) -> ShardedFilter:
        """Opens a filter and checks that all of its shards exist.

        A key that is itself a filter (of BF.RESERVE, CF.RESERVE or ``tamis redis put``) is opened
        as a filter of one shard.  Raises NotFoundError if there is no such filter.
        """
        found = cls._look_up(client, name)
        if found is None:
            raise NotFoundError(f"there is no filter {name!r}: create it first")
        if not found._is_complete:
            raise NotFoundError(f"{name!r} was never completed: drop it and create it again")
        found._check_shards()
        return found

    @classmethod
    def drop(cls, client: Client, name: str) -> bool:
        """Deletes a filter, or what an interrupted `create` left.  False: there was nothing."""
        found = cls._look_up(client, name)
        if found is not None:
            found.delete()
        return found is not None

    def delete(self) -> None:
        """Deletes the filter; an interrupted call can be repeated with `drop`."""
        if not self._plain:
            batch = _Batch(self._client)
            for shard in range(self.shards):
                batch.add("UNLINK", self._key(shard))
            for reply in batch.run():
                _checked(reply)
        _run_one(self._client, "UNLINK", self.name)  # last, so that `drop` finds the rest

    # ---- keys

    def add(self, key: Key) -> bool:
        """Adds a key; True if it was definitely not in the filter before."""
        return self.add_many([key])[0]

    def add_many(self, keys: Iterable[Key]) -> list[bool]:
        """Adds keys; True for those that were definitely not in the filter before.

        (A key that the client sent twice, after a lost connection, may be reported as known.)
        """
        if not self._verbs.add:
            raise TypeError(f"{self.name!r} is static and accepts no keys: build a new file")
        return [new for window in _windows(keys) for new in self._run_items(window, add=True)]

    def __contains__(self, key: Key) -> bool:
        return self.contains_many([key])[0]

    def contains_many(self, keys: Iterable[Key]) -> list[bool]:
        """True for keys that are possibly in the filter, False for those that definitely are not.

        Keys are sent in pipelines of tens of thousands, so pass many per call.
        """
        return [maybe for window in _windows(keys) for maybe in self._run_items(window, add=False)]

    def info(self) -> ShardedInfo:
        """Reads the facts of all shards."""
        batch = _Batch(self._client)
        for shard in range(self.shards):
            batch.add(self._verbs.info, self._key(shard))
        replies = [self._shard_reply(i, reply) for i, reply in enumerate(batch.run())]
        items = [int(_info_field(reply, self._items_field)) for reply in replies]
        fpr = float(_info_field(replies[0], "Error rate")) if self.kind == "static" else self.fpr
        return ShardedInfo(
            name=self.name,
            kind=self.kind,
            shards=self.shards,
            reserved=self.capacity,
            fpr=fpr,
            items=sum(items),
            capacity=sum(map(self._capacity_of, replies)),
            nbytes=sum(int(_info_field(reply, "Size")) for reply in replies),
            stages=sum(int(_info_field(reply, "Number of filters")) or 1 for reply in replies),
            items_min=min(items),
            items_max=max(items),
        )

    # ---- inside

    def _key(self, shard: int) -> str:
        return self.name if self._plain else f"{self.name}:{{{shard}}}"

    @property
    def _items_field(self) -> str:
        return "Number of keys" if self.kind == "static" else "Number of items inserted"

    def _capacity_of(self, info: Any) -> int:
        if self.kind == "cuckoo":
            return int(_info_field(info, "Number of buckets") * _info_field(info, "Bucket size"))
        return int(_info_field(info, "Capacity" if self.kind == "bloom" else self._items_field))

    @classmethod
    def _look_up(cls, client: Client, name: str) -> ShardedFilter | None:
        """What NAME is: a filter itself, the hash of a sharded filter, or None: nothing."""
        batch = _Batch(client)
        batch.add("TYPE", name)
        batch.add("HGETALL", name)
        type_reply, fields = batch.run()
        type_name = _text(_checked(type_reply))
        if type_name in _KINDS_BY_TYPE:
            return cls(client, name, _KINDS_BY_TYPE[type_name], 1, plain=True)
        if type_name == "none":
            return None
        if type_name != "hash":
            raise ShardError(f"{name!r} is a {type_name}, not a filter")
        return cls._from_hash(client, name, _checked(fields))

    @classmethod
    def _from_hash(cls, client: Client, name: str, reply: dict[Any, Any]) -> ShardedFilter:
        fields = {_text(field): _text(value) for field, value in reply.items()}
        shards = fields.get("shards", "")
        if not shards.isdigit() or not 1 <= int(shards) <= SHARDS_MAX:
            raise ShardError(f"{name!r} is a hash, but not of a filter")
        kind = "cuckoo" if fields.get("kind") == "cuckoo" else "bloom"
        found = cls(
            client,
            name,
            kind,
            int(shards),
            capacity=int(fields.get("capacity", 0)),
            fpr=float(fields.get("rate", 0)),
        )
        found._is_complete = fields.get("format") == FORMAT
        return found

    def _check_shards(self) -> None:
        batch = _Batch(self._client)
        for shard in range(self.shards):
            batch.add("TYPE", self._key(shard))
        for shard, reply in enumerate(batch.run()):
            self._check_type(shard, reply)

    def _check_type(self, shard: int, reply: Any) -> None:
        """A missing shard, or one of another type, would deny every key."""
        type_name = _text(_checked(reply))
        if type_name == "none":
            self._raise_missing(shard)
        if type_name != self._verbs.type:
            raise ShardError(
                f"{self._key(shard)!r} is a {type_name}, not the filter that was created"
            )

    def _raise_missing(self, shard: int) -> NoReturn:
        if self._plain:
            raise ShardError(f"{self.name!r} is missing")
        raise ShardError(
            f"the shard {self._key(shard)!r} is missing: drop the filter and load it again"
        )

    def _shard_reply(self, shard: int, reply: Any) -> Any:
        """The reply of a shard to a command about a filter."""
        if _is_error(reply, "not found"):
            self._raise_missing(shard)
        if _is_error(reply, "being loaded"):
            raise ShardError(
                f"{self._key(shard)!r} is incomplete: its upload is running or was interrupted"
            )
        if _is_error(reply, "WRONGTYPE"):
            raise ShardError(f"{self._key(shard)!r} is not the filter that was created")
        return _checked(reply)

    def _run_items(self, items: list[bytes], *, add: bool) -> list[bool]:
        """Adds or queries: sorts the keys by shard, sends them, and puts the results in order."""
        groups: list[list[int]] = [[] for _ in range(self.shards)]
        for i, item in enumerate(items):
            groups[_shard_of_item(item, self.shards)].append(i)
        commands = [
            (shard, group[i : i + COMMAND_KEYS])
            for shard, group in enumerate(groups)
            for i in range(0, len(group), COMMAND_KEYS)
        ]
        batch = _Batch(self._client)
        for shard, group in commands:
            key, chosen = self._key(shard), [items[i] for i in group]
            if add:
                batch.add(self._verbs.add, key, "NOCREATE", "ITEMS", *chosen)
            else:
                batch.add(self._verbs.query, key, *chosen)
                batch.add("TYPE", key)
        replies = iter(batch.run())
        results = [False] * len(items)
        for shard, group in commands:
            self._scatter(shard, group, next(replies), results)
            if not add:
                self._check_type(shard, next(replies))
        return results

    def _scatter(self, shard: int, group: list[int], reply: Any, results: list[bool]) -> None:
        """Copies the results of one command to their keys."""
        values = self._shard_reply(shard, reply)
        if len(values) != len(group):
            raise ShardError(f"{self._key(shard)!r}: {len(values)} results for {len(group)} keys")
        for i, value in zip(group, values):
            if int(_checked(value)) < 0:
                error = FullError(f"{self._key(shard)!r}: the filter is full")
                error.status = "E_FULL"
                raise error
            results[i] = int(value) == 1

    # ---- reserving
    #
    #     1. HSETNX name owner TOKEN       one client wins; the token identifies a repetition
    #     2. no NAME:{i} exists
    #     3. BF.RESERVE each               "item exists": our own command, sent twice
    #     4. HSET name format ...          the filter is complete

    def _reserve(self) -> None:
        self._check_fpr_is_kept()
        self._claim()
        undo_shards = False
        try:
            self._check_room()
            undo_shards = True
            self._make_shards()
            self._complete()
        except BaseException:
            self._undo(undo_shards)
            raise

    def _check_fpr_is_kept(self) -> None:
        """RedisBloom accepts the rate of a CF and ignores it."""
        if self.kind != "cuckoo" or not self.fpr:
            return
        batch = _Batch(self._client)
        batch.add("TAMIS.INFO", self.name)
        if _is_error(batch.run()[0], "unknown command"):
            raise ValueError(
                "the server has not loaded the tamis module; other modules ignore the false "
                "positive rate of a cuckoo filter"
            )

    def _claim(self) -> None:
        token = uuid.uuid4().hex
        batch = _Batch(self._client)
        batch.add("HSETNX", self.name, "owner", token)
        batch.add("HSETNX", self.name, "shards", self.shards)
        batch.add("HGET", self.name, "owner")
        replies = batch.run()
        for reply in replies:
            if not _is_error(reply, "WRONGTYPE"):
                _checked(reply)
        if _text(replies[-1]) != token:
            raise ExistsError(f"{self.name!r} already exists")

    def _check_room(self) -> None:
        batch = _Batch(self._client)
        for shard in range(self.shards):
            batch.add("EXISTS", self._key(shard))
        for shard, reply in enumerate(batch.run()):
            if _checked(reply):
                raise ExistsError(f"the key {self._key(shard)!r} already exists: remove it first")

    def _shard_capacity(self) -> int:
        """The part of a shard has a binomial distribution: with five standard deviations on top it
        rarely has to grow."""
        mean = self.capacity / self.shards
        room = mean + 5 * math.sqrt(mean) if self.shards > 1 else mean
        return math.ceil(max(room, CUCKOO_MIN if self.kind == "cuckoo" else 1))

    def _make_shards(self) -> None:
        batch = _Batch(self._client)
        capacity = self._shard_capacity()
        for shard in range(self.shards):
            key = self._key(shard)
            if self.kind == "bloom":
                batch.add(self._verbs.reserve, key, f"{self.fpr:.17g}", capacity)
            else:
                # Without EXPANSION a CF grows only by its first capacity each time, and some
                # dozens of times at most.
                rate = ("ERROR", f"{self.fpr:.17g}") if self.fpr else ()
                batch.add(self._verbs.reserve, key, capacity, "EXPANSION", 2, *rate)
        for reply in batch.run():
            if not _is_error(reply, "item exists"):
                _checked(reply)

    def _complete(self) -> None:
        """In one command, so that readers see all fields or an unfinished hash."""
        fields = {
            "format": FORMAT,
            "kind": self.kind,
            "capacity": self.capacity,
            "rate": f"{self.fpr:.17g}",
        }
        words = [word for field in fields.items() for word in field]
        _run_one(self._client, "HSET", self.name, *words)

    def _undo(self, shards_too: bool) -> None:
        """After a failure, as far as the servers permit; `drop` can finish it."""
        try:
            if shards_too:
                self.delete()
            else:
                _run_one(self._client, "UNLINK", self.name)
        except Exception:
            pass
