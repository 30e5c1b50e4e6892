"""Threads that use one filter at once, with and without the GIL."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterable
from typing import Any, Callable

import pytest
from conftest import DYNAMIC, UNITABLE, times

import tamis

THREADS = 4
EACH = times(20_000)


def run(workers: Iterable[Callable[[], object]]) -> None:
    """Runs the workers at once; fails with the first exception of one."""
    errors: list[BaseException] = []
    workers = list(workers)
    start = threading.Barrier(len(workers))

    def work(worker: Callable[[], object]) -> None:
        start.wait()
        try:
            worker()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


@pytest.fixture(autouse=True)
def switch_often() -> Iterable[None]:
    """Threads change places more often than usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def test_a_build_without_the_gil_does_not_enable_it() -> None:
    is_enabled = getattr(sys, "_is_gil_enabled", None)
    if is_enabled is None or "free-threading" not in sys.version:
        pytest.skip("this Python always has a GIL")
    assert not is_enabled()


INTERPRETERS = """
import threading
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import tamis
code = (
    "import tamis\\n"
    "f = tamis.build(map(str, range(100_000)), threads=2)\\n"
    "assert all(f.contains_many([str(i) for i in range(100_000)], threads=2))\\n"
    "assert f.info().keys == 100_000\\n"
    "try:\\n"
    "    tamis.open('/no such directory/file')\\n"
    "    raise AssertionError\\n"
    "except FileNotFoundError:\\n"
    "    pass\\n"
)
failures = []
def run():
    for _ in range(5):
        interpreter = interpreters.create()
        failures.append(interpreters.run_string(interpreter, code))
        interpreters.destroy(interpreter)
threads = [threading.Thread(target=run) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert "a" in tamis.build(["a"])
print(failures)
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before 3.12 interpreters share a GIL")
def test_interpreters_with_a_gil_of_their_own() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETERS], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == f"{[None] * 15}\n", done.stdout + done.stderr


@pytest.mark.parametrize("kind", DYNAMIC)
def test_adds(kind: Any) -> None:
    f = tamis.Filter(THREADS * EACH, 0.01, kind)

    def adder(number: int) -> None:
        for i in range(EACH):
            f.add(f"{number}-{i}")
            assert f"{number}-{i}" in f

    run([lambda n=n: adder(n) for n in range(THREADS)])  # type: ignore[misc]
    for n in range(THREADS):
        assert all(f.contains_many([f"{n}-{i}" for i in range(EACH)], result="list"))
    assert f.info().adds == THREADS * EACH


@pytest.mark.parametrize("kind", ["bloom", "block"])
def test_adds_to_a_shared_filter(kind: Any) -> None:
    f = tamis.Filter(THREADS * EACH, 0.01, kind, shared=True)

    def adder(number: int) -> None:
        for i in range(0, EACH, 1000):
            keys = [f"{number}-{j}" for j in range(i, min(i + 1000, EACH))]
            f.update(keys)
            f.add(("tuple", number, i))
            assert ("tuple", number, i) in f
            assert all(f.contains_many(keys, result="list"))

    run([lambda n=n: adder(n) for n in range(THREADS)])  # type: ignore[misc]
    for n in range(THREADS):
        assert all(f.contains_many([f"{n}-{i}" for i in range(EACH)], result="list"))


@pytest.mark.parametrize("kind", UNITABLE)
def test_everything_at_once(kind: Any) -> None:
    f = tamis.Filter(100_000, 0.01, kind)
    other = tamis.Filter(100_000, 0.01, kind)
    other.update(range(1000))
    keys = [f"key-{i}" for i in range(1000)]
    f.update(keys)

    def looks_up() -> None:
        for _ in range(times(50)):
            assert all(f.contains_many(keys, result="list"))
            assert keys[0] in f

    def adds() -> None:
        for i in range(times(50)):
            f.update(range(i * 1000, i * 1000 + 1000))
            f.add(("a", i))

    def merges() -> None:
        nonlocal f
        for _ in range(times(50)):
            f |= other
            assert 5 in f

    def copies() -> None:
        for _ in range(times(20)):
            copy = f.copy()
            assert all(copy.contains_many(keys, result="list"))
            assert len(f.to_bytes()) == len(copy.to_bytes())
            assert f.info().kind == kind
            assert repr(f)

    run([looks_up, adds, merges, copies])


def test_two_filters_merged_into_each_other() -> None:
    """Threads that take two filters in opposite order do not wait for each other for ever."""
    a = tamis.Filter(10_000, kind="bloom")
    b = tamis.Filter(10_000, kind="bloom")
    a.add("a")
    b.add("b")

    def merge(into: tamis.Filter, other: tamis.Filter) -> None:
        for _ in range(times(300)):
            into |= other
            _ = into == other.copy()
            _ = into | other

    run([lambda: merge(a, b), lambda: merge(b, a), lambda: merge(a, a)])
    assert "a" in b
    assert "b" in a


SIGNALS = """
import signal, sys, tamis
f, g = tamis.Filter(1000, kind="bloom"), tamis.Filter(1000, kind="bloom")
handled = 0
def handle(*_):
    global handled
    handled += 1
    f.add(str(handled))
    g.add(str(handled))
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
while handled < 300:
    f.info(), repr(f), len(f), f.to_bytes(), f == g
    f |= g
    try:
        f.remove("no such key")
    except TypeError:
        pass
    f.contains_many(["a"])
signal.setitimer(signal.ITIMER_REAL, 0)
"""

FINALIZERS = """
import gc, sys, tamis
f = tamis.Filter(1000, kind="bloom")
finalized = 0
class Cycle:
    def __init__(self):
        self.me = self
    def __del__(self):
        global finalized
        finalized += 1
        f.add(str(finalized))
gc.set_threshold(1)
while finalized < 300:
    Cycle()
    f.info(), repr(f), f.to_bytes(), f.copy()
    try:
        f.contains_many(["a", 1.5])
    except TypeError:
        pass
"""


@pytest.mark.parametrize("code", [SIGNALS, FINALIZERS])
def test_signal_handlers_and_finalizers_may_use_the_filter(code: str) -> None:
    """They run in the middle of a call, which must not have access to the filter then."""
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_threads_of_a_call() -> None:
    keys = [f"key-{i}" for i in range(100_000)]
    f = tamis.Filter(len(keys), kind="block")
    f.update(keys, threads=2)
    assert all(f.contains_many(keys, threads=2, result="list"))
    assert f.contains_many(keys, threads=3) == f.contains_many(keys)
    assert tamis.build(keys, threads=2) == tamis.build(keys)


def test_builder() -> None:
    builder = tamis.Builder(kind="fuse")

    def adder(number: int) -> None:
        for i in range(0, EACH, 500):
            builder.update([(number, j) for j in range(i, i + 500)])
            builder.add(f"{number} {i}")

    run([lambda n=n: adder(n) for n in range(THREADS)])  # type: ignore[misc]
    f = builder.finish()
    for n in range(THREADS):
        assert all(f.contains_many([(n, i) for i in range(EACH)], result="list"))
        assert f"{n} 0" in f


def test_close_while_in_use() -> None:
    """Other threads get an exception, or the answer: never a crash."""
    for _ in range(times(50)):
        f = tamis.build(map(str, range(1000)))

        def looks_up(f: tamis.Filter = f) -> None:
            try:
                for i in range(2000):
                    assert str(i % 1000) in f
                    if i % 100 == 0:
                        f.contains_many(["1", "2"])
            except ValueError as error:
                assert "closed" in str(error)

        run([looks_up, looks_up, f.close])
        assert f.closed


def test_other_threads_run_during_a_call() -> None:
    """A long call releases the GIL: a thread that only counts goes on."""
    f = tamis.Filter(100_000_000, kind="bloom")
    done = threading.Event()
    counted = [0]

    def counts() -> None:
        while not done.is_set():
            counted[0] += 1

    def reads() -> None:
        before = counted[0]
        for _ in range(5):
            f.info()  # passes over 120 MB
        during = counted[0] - before
        done.set()
        # Much more than the thread could count between two bytecodes.
        assert during > 5000

    run([counts, reads])
