"""Random sequences of operations on every kind, against Python's own sets."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from conftest import DYNAMIC, INTERSECTABLE, KINDS, REMOVABLE, STATIC, UNITABLE, times

import tamis

pytest.importorskip("hypothesis", reason="hypothesis, which makes the sequences, is not installed")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

settings.register_profile(
    "tamis",
    deadline=None,
    max_examples=times(60),
    stateful_step_count=25,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("tamis")

FIELDS = st.one_of(
    st.text(max_size=8),
    st.binary(max_size=8),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
)
KEYS = st.one_of(
    st.text(max_size=12),
    st.binary(max_size=12),
    st.integers(-(2**63), 2**64 - 1),
    st.lists(FIELDS, max_size=3).map(tuple),
)
# Few different keys, so that operations meet the same ones again.
FEW = st.integers(0, 40).map(str)

# Counts end here: a key that was added more often may stay for good, which is a false positive.
COUNTS = {"counting": 15, "cuckoo": 4}


def identity(key: Any) -> Any:
    """What decides whether two keys are the same: the bytes; of a tuple the fields and types."""
    if isinstance(key, tuple):
        return tuple((type(f), identity(f)) if f == f else f for f in key)
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, int):
        return (key % 2**64).to_bytes(8, "little")
    return key


class FilterMachine(RuleBasedStateMachine):
    """One filter and the set of the keys that it must contain."""

    kind: Any

    def __init__(self) -> None:
        super().__init__()
        self.model: Counter[str] = Counter()
        self.directory = TemporaryDirectory()

    @initialize(seed=st.integers(0, 2**64 - 1), fpr=st.sampled_from([0.5, 0.01, 1e-6]))
    def create(self, seed: int, fpr: float) -> None:
        self.fpr = fpr
        self.filter = tamis.Filter(1000, fpr, self.kind, seed=seed)
        self.seed = seed

    def teardown(self) -> None:
        self.directory.cleanup()

    def may_be_full(self) -> None:
        """Copies of few keys fill their buckets; which keys a batch added is left open."""
        assert self.kind == "cuckoo"
        assert sum(self.model.values()) > 4

    @rule(key=FEW)
    def add(self, key: str) -> None:
        before = key in self.filter
        try:
            fresh = self.filter.add(key)
        except tamis.FullError:
            self.may_be_full()
            return
        assert fresh is (not before)
        assert key in self.filter
        self.model[key] += 1

    @rule(keys=st.lists(FEW, max_size=20))
    def update(self, keys: list[str]) -> None:
        try:
            self.filter.update(keys)
        except tamis.FullError:
            self.may_be_full()
            return
        for key in keys:
            self.model[key] += 1

    @rule(keys=st.lists(FEW, max_size=20))
    def add_many(self, keys: list[str]) -> None:
        known = set(+self.model)
        try:
            fresh = self.filter.add_many(keys, result="list")
        except tamis.FullError:
            self.may_be_full()
            return
        assert len(fresh) == len(keys)
        for key, new in zip(keys, fresh):
            assert not (new and key in known)
            known.add(key)
            self.model[key] += 1

    @precondition(lambda self: self.kind in REMOVABLE)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        present = sorted(+self.model)
        if not present:
            return
        key = data.draw(st.sampled_from(present))
        if data.draw(st.booleans()):
            self.filter.remove(key)
        else:
            assert self.filter.discard(key) is True
        self.model[key] -= 1

    @precondition(lambda self: self.kind in REMOVABLE)
    @rule(key=st.integers(1000, 2000).map(str))
    def remove_absent(self, key: str) -> None:
        if key in self.filter:
            return
        assert self.filter.discard(key) is False
        with pytest.raises(KeyError):
            self.filter.remove(key)

    @rule(keys=st.lists(FEW, max_size=10))
    def unite(self, keys: list[str]) -> None:
        if self.kind not in UNITABLE:
            return
        other = tamis.Filter(1000, self.fpr, self.kind, seed=self.seed)
        other.update(keys)
        union = self.filter | other
        self.filter |= other
        assert union == self.filter
        for key in keys:
            self.model[key] += 1

    @rule(keys=st.lists(FEW, max_size=10))
    def intersect(self, keys: list[str]) -> None:
        if self.kind not in INTERSECTABLE:
            return
        other = tamis.Filter(1000, self.fpr, self.kind, seed=self.seed)
        other.update(keys)
        both = self.filter & other
        self.filter &= other
        assert both == self.filter
        for key in list(self.model):
            if key not in keys:
                del self.model[key]

    @rule(how=st.sampled_from(["copy", "pickle", "bytes", "save"]))
    def replace(self, how: str) -> None:
        before = self.filter
        if how == "copy":
            self.filter = before.copy()
        elif how == "pickle":
            self.filter = pickle.loads(pickle.dumps(before))
        elif how == "bytes":
            self.filter = tamis.Filter.from_bytes(before.to_bytes())
        else:
            path = Path(self.directory.name) / "f.tamis"
            before.save(path)
            self.filter = tamis.Filter.open(path, map=False)
        assert self.filter == before
        assert self.filter.to_bytes() == before.to_bytes()

    @invariant()
    def never_a_false_negative(self) -> None:
        keys = sorted(+self.model)
        assert all(self.filter.contains_many(keys, result="list"))
        for key in keys[:5]:
            assert key in self.filter
            if self.kind in REMOVABLE:
                assert self.filter.count(key) >= min(self.model[key], COUNTS[self.kind])


@pytest.mark.parametrize("kind", DYNAMIC)
def test_sequences(kind: Any) -> None:
    machine = type(f"Machine_{kind}", (FilterMachine,), {"kind": kind})
    run_state_machine_as_test(machine)


@pytest.mark.parametrize("kind", KINDS)
@given(keys=st.lists(KEYS, max_size=60), seed=st.integers(0, 2**64 - 1))
def test_build(kind: Any, keys: list[Any], seed: int) -> None:
    f = tamis.build(keys, 0.01, kind, seed=seed)
    assert f.kind == kind
    assert all(f.contains_many(keys, result="list"))
    assert all(key in f for key in keys)
    distinct = len({identity(key) for key in keys})
    if kind in STATIC:
        assert abs(len(f) - distinct) <= sum(key != key for key in keys)
    assert tamis.build(reversed(keys), 0.01, kind, seed=seed) == f
    assert tamis.Filter.from_bytes(f.to_bytes()) == f
    with tamis.Builder(fpr=0.01, kind=kind, seed=seed) as builder:
        for key in keys:
            builder.add(key)
        assert len(builder) == len(keys)
        assert builder.finish() == f


@pytest.mark.parametrize("kind", DYNAMIC)
@given(keys=st.lists(KEYS, max_size=60))
def test_batches_are_single_calls(kind: Any, keys: list[Any]) -> None:
    one = tamis.Filter(1000, 0.01, kind)
    many = tamis.Filter(1000, 0.01, kind)
    fresh = [one.add(key) for key in keys]
    assert many.add_many(keys, result="list") == fresh
    assert one == many
    hashes = [one.hash(key) for key in keys]
    assert many.hash_many(keys, result="list") == hashes
    assert all(many.contains_many(hashes, hashed=True, result="list"))


@given(key=KEYS, other=KEYS)
def test_keys_are_their_bytes(key: Any, other: Any) -> None:
    f = tamis.Filter(10)
    same = f.hash(key) == f.hash(other)
    assert same == (identity(key) == identity(other))
    if not isinstance(key, tuple):
        assert f.hash(identity(key)) == f.hash(key)
        assert f.hash(bytearray(identity(key))) == f.hash(key)
        assert f.hash(memoryview(identity(key))) == f.hash(key)
