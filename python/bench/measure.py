"""The measurements: every operation by all contenders in turn, each round in another order."""

from __future__ import annotations

import gc
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from datetime import date
from functools import partial
from statistics import median
from typing import Any

import contenders as they
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

KINDS = ("str", "bytes", "int")
# Keys that are queried before each timing, to read the table into the caches.  A query of a blocked
# filter reads one line: 20,000 would leave a third of it outside.
WARMING = 100_000
Z99 = 2.5758293035489004  # the 99.5 % point of the normal distribution


class Timings:
    """Nanoseconds per key of each contender, one for each round."""

    def __init__(self, names: Iterable[str]) -> None:
        self.rounds: dict[str, list[float]] = {name: [] for name in names}

    def add(self, name: str, nanoseconds: float) -> None:
        self.rounds[name].append(nanoseconds)

    def summary(self) -> dict[str, dict[str, float]]:
        return {
            name: {"best": min(rounds), "median": median(rounds)}
            for name, rounds in self.rounds.items()
            if rounds
        }


def timed(work: Callable[[], object], count: int) -> float:
    """Nanoseconds per key.  The result is freed before the next timing, not in this one."""
    start = time.perf_counter_ns()
    result = work()
    end = time.perf_counter_ns()
    del result
    return (end - start) / count


def rotated(items: list[Any], by: int) -> list[Any]:
    by %= len(items)
    return items[by:] + items[:by]


class Keys:
    """Distinct keys of one kind: members, and others."""

    def __init__(self, kind: str, count: int) -> None:
        # In an array: a list of numbers would be 2 * count objects, and the keys that are made
        # later would lie in the gaps between objects that have been freed.
        self.numbers = np.random.default_rng(7).integers(1 << 60, size=2 * count)
        self.kind, self.count = kind, count

    def made(self, start: int, stop: int) -> list[Any]:
        """New objects, as they come from a file or a socket: the hash() of a str or bytes object is
        computed once and kept in the object, which would favor filters that use it."""
        numbers: list[Any] = self.numbers[start:stop].tolist()
        if self.kind == "int":
            return numbers
        texts = [f"https://example.org/{number:015x}" for number in numbers]
        return texts if self.kind == "str" else [text.encode() for text in texts]

    def members(self) -> list[Any]:
        return self.made(0, self.count)

    def others(self) -> list[Any]:
        return self.made(self.count, 2 * self.count)

    def column(self, numbers: Any) -> Any:
        """Keys as a column: Arrow strings, or a NumPy array of bytes or integers."""
        if self.kind == "int":
            return numbers
        texts = [f"https://example.org/{number:015x}" for number in numbers.tolist()]
        return pa.array(texts) if self.kind == "str" else np.array(texts, dtype="S")


# ---- one key at a time


def single(kind: str, count: int, rounds: int, log: Callable[[str], None]) -> dict[str, Any]:
    """add, and `in` for members and for others.  One half of the keys is in the filters before the
    adds are timed, so that no table is touched for the first time."""
    keys = Keys(kind, count)
    half, chunk = count // 2, count // 2 // rounds
    filters = {}
    for contender in they.CONTENDERS:
        log(f"{kind}: filling {contender.name}")
        if contender.static:
            filters[contender.name] = contender.build(keys.members(), kind)
        else:
            filters[contender.name] = contender.make(count, kind)
            contender.update(filters[contender.name], keys.made(0, half), kind)
    results = {}
    for operation in ("add", "hit", "miss", "hit again", "miss again"):
        if operation.endswith("again") and kind != "str":
            continue
        log(f"{kind}: {operation}")
        results[operation] = _single_rounds(operation, keys, filters, half, chunk, rounds)
    for contender in they.CONTENDERS:
        if not contender.static:
            contender.update(filters[contender.name], keys.made(half + chunk * rounds, count), kind)
    return {"times": results, "filters": filters, "keys": keys}


def _single_rounds(
    operation: str, keys: Keys, filters: dict[str, Any], half: int, chunk: int, rounds: int
) -> dict[str, Any]:
    timings = Timings(they.BY_NAME)
    for i in range(rounds):
        start = i * chunk + {"a": half, "h": 0, "m": keys.count}[operation[0]]
        for contender in rotated(they.CONTENDERS, i):
            if operation == "add" and contender.static:
                continue
            each = contender.add_each if operation == "add" else contender.query_each
            made, warming = keys.made(start, start + chunk), keys.made(0, WARMING)
            if operation.endswith("again"):
                for key in made:
                    hash(key)
            table = filters[contender.name]
            contender.query_each(table, warming, keys.kind)
            took = timed(partial(each, table, made, keys.kind), chunk)
            timings.add(contender.name, took)
    return timings.summary()


def rates(single_str: dict[str, Any], log: Callable[[str], None]) -> dict[str, Any]:
    """Bits per key, and the false positive rate with a 99 % interval, of the filters of str keys,
    which are as full as they were made for."""
    keys, filters = single_str["keys"], single_str["filters"]
    others = keys.others()
    results = {}
    for contender in they.CONTENDERS:
        log(f"false positives of {contender.name}")
        made = filters[contender.name]
        members = keys.members()
        lost = len(members) - contender.count(made, members, keys.kind)
        found = contender.count(made, others, keys.kind)
        low, high = interval99(found, len(others))
        results[contender.name] = {
            "bits_per_key": contender.bits(made) / keys.count,
            "promised": contender.fpr,
            "measured": found / len(others),
            "low": low,
            "high": high,
            "lost": lost,
            "note": contender.note,
        }
    return results


def interval99(found: int, tries: int) -> tuple[float, float]:
    """Wilson's interval."""
    rate, z2 = found / tries, Z99 * Z99
    middle = (rate + z2 / (2 * tries)) / (1 + z2 / tries)
    spread = Z99 * math.sqrt(rate * (1 - rate) / tries + z2 / (4 * tries * tries))
    spread /= 1 + z2 / tries
    return max(0.0, middle - spread), middle + spread


# ---- many keys


def builds(count: int, rounds: int, log: Callable[[str], None]) -> dict[str, Any]:
    """A filter of a list of str, from nothing."""
    keys, timings = Keys("str", count), Timings(they.BY_NAME)
    for i in range(rounds):
        log(f"builds: round {i + 1} of {rounds}")
        for contender in rotated(they.CONTENDERS, i):
            made = keys.members()
            timings.add(contender.name, timed(partial(contender.build, made, "str"), count))
    return timings.summary()


def batches(kind: str, count: int, rounds: int, log: Callable[[str], None]) -> dict[str, Any]:
    """Queries, half of them of members, and adds of a column."""
    keys, half = Keys(kind, count), count // 2
    mixed = np.concatenate([keys.numbers[:half], keys.numbers[count : count + half]])
    np.random.default_rng(8).shuffle(mixed)
    column, rest = keys.column(mixed), keys.column(keys.numbers[half:count])
    full = {contender.name: contender.build(keys.members(), kind) for contender in they.CONTENDERS}

    def half_full(name: str) -> Any:
        made = they.BY_NAME[name].make(count, kind)
        they.BY_NAME[name].update(made, keys.made(0, half), kind)
        return made

    log(f"batches of {kind}: query")
    queries = _batch_rounds(they.batch_queries(kind), full.__getitem__, column, rounds)
    log(f"batches of {kind}: add")
    adds = _batch_rounds(they.batch_adds(kind), half_full, rest, rounds)
    return {"query": queries, "add": adds}


def _batch_rounds(
    methods: dict[str, they.Method], filter_of: Callable[[str], Any], column: Any, rounds: int
) -> dict[str, Any]:
    timings = Timings(methods)
    for i in range(rounds + 1):
        for label in rotated(list(methods), i):
            name, method = methods[label]
            table = filter_of(name)
            took = timed(partial(method, table, column), len(column))
            if i > 0:  # the first round warms the tables, and starts threads
                timings.add(label, took)
    return timings.summary()


# ---- imports and the machine


def imports(rounds: int, log: Callable[[str], None]) -> dict[str, Any]:
    """Milliseconds of a new process that imports a module, and of one that imports nothing."""
    log("import times")
    modules = ["", "tamis", *they.PEERS.values()]
    timings = Timings(modules)
    for i in range(rounds + 1):
        for module in rotated(modules, i):
            words = [sys.executable, "-c", f"import {module}" if module else "pass"]
            took = timed(partial(_run, words), 1_000_000)
            if i > 0:  # the first round reads the files
                timings.add(module, took)
    bare = median(timings.rounds[""])
    return {
        module or "(nothing)": {"total": median(times), "net": median(times) - bare}
        for module, times in timings.rounds.items()
    }


def _run(words: list[str]) -> None:
    # Not in the caller's directory, whose files a process of `python -c` could import.
    subprocess.run(words, check=True, cwd=os.path.dirname(os.path.abspath(__file__)))


def machine() -> dict[str, Any]:
    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    name = line.split(":", 1)[1].strip()
                    break
    return {
        "processor": name,
        "processors": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "load": os.getloadavg()[0],
        "date": date.today().isoformat(),
    }


def run(count: int, rounds: int, log: Callable[[str], None]) -> dict[str, Any]:
    """All measurements, as numbers that json can write."""
    results: dict[str, Any] = {
        "machine": machine(),
        "versions": they.versions(),
        "not_measured": they.NOT_MEASURED,
        "keys": count,
        "rounds": rounds,
        "imports": imports(10, log),
    }
    gc.disable()
    results["single"] = {}
    for kind in KINDS:
        measured = single(kind, count, rounds, log)
        results["single"][kind] = measured["times"]
        if kind == "str":
            results["filters"] = rates(measured, log)
        del measured
    results["batches"] = {kind: batches(kind, count, rounds, log) for kind in KINDS}
    results["builds"] = builds(count, max(3, rounds // 2), log)
    gc.enable()
    return results
