"""The measured false positive rate of every kind.

Of 200,000 absent keys about n p are reported as present.  A test fails if the probability of that
many or more were below 1e-6 at the promised rate (the normal bound of the binomial distribution,
4.9 standard deviations), so that a right filter fails once in a million runs.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from conftest import DYNAMIC, KINDS

import tamis

PROBES = 200_000
KEYS = 20_000
DEVIATIONS = 4.9


def false_positives(f: tamis.Filter, rng: random.Random) -> int:
    """How many of PROBES absent keys are reported as present."""
    hashes = [rng.getrandbits(64) for _ in range(PROBES)]
    return f.contains_many(hashes, hashed=True, result="list").count(True)


def bound(fpr: float) -> float:
    """The number that is exceeded once in a million runs."""
    return PROBES * fpr + DEVIATIONS * math.sqrt(PROBES * fpr * (1 - fpr))


@pytest.mark.parametrize("fpr", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("kind", KINDS)
def test_rate_of_a_built_filter(kind: Any, fpr: float, rng: random.Random) -> None:
    f = tamis.build([rng.getrandbits(64) for _ in range(KEYS)], fpr, kind, hashed=True)
    found = false_positives(f, rng)
    assert found <= bound(fpr)
    now = f.info().fpr_now
    assert found <= bound(now)
    # Nor is it so much lower that the filter is larger than it needs to be.
    assert found >= PROBES * now - DEVIATIONS * math.sqrt(PROBES * now) - 5


@pytest.mark.parametrize("kind", DYNAMIC)
def test_rate_of_a_filter_with_adds(kind: Any, rng: random.Random) -> None:
    f = tamis.Filter(KEYS, 0.01, kind)
    f.add_many([rng.getrandbits(64) for _ in range(KEYS)], hashed=True)
    assert false_positives(f, rng) <= bound(0.01)


def test_growing_keeps_its_rate(rng: random.Random) -> None:
    f = tamis.Filter(fpr=0.01)
    assert f.kind == "growing"
    for _ in range(20):
        f.add_many([rng.getrandbits(64) for _ in range(KEYS)], hashed=True)
    assert false_positives(f, rng) <= bound(0.01)


def test_rate_of_text(rng: random.Random) -> None:
    f = tamis.build((f"key-{i}" for i in range(KEYS)), 0.01)
    found = f.contains_many([f"other-{i}" for i in range(PROBES)], result="list").count(True)
    assert found <= bound(0.01)


@pytest.mark.parametrize("kind", DYNAMIC)
def test_estimated_number_of_keys(kind: Any, rng: random.Random) -> None:
    f = tamis.Filter(KEYS, 0.01, kind)
    f.add_many([rng.getrandbits(64) for _ in range(KEYS)], hashed=True)
    info = f.info()
    assert abs(info.distinct - KEYS) <= max(6 * info.distinct_error, 0.02 * KEYS)
