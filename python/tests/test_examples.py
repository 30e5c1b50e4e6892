"""Runs the examples and checks what they print."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tamis

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "python" / "examples"

if not EXAMPLES.is_dir():
    pytest.skip("the examples are not here", allow_module_level=True)


def run(name: str, *packages: str, **environment: str) -> str:
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def numbers(pattern: str, text: str) -> list[float]:
    match = re.search(pattern, text)
    assert match, text
    return [float(number) for number in match.groups()]


def test_dedupe_frames() -> None:
    out = run("dedupe_frames", "pandas", "numpy")
    exact, kept = numbers(r"300000 rows, (\d+) distinct, (\d+) kept", out)
    assert exact * 0.998 < kept <= exact
    assert numbers(r"filter: ([\d.]+) bytes", out)[0] < 8


def test_duckdb_join() -> None:
    out = run("duckdb_join", "duckdb", "pyarrow")
    left, matching = numbers(r"reach the join: (\d+) of 1000000, of which (\d+) match", out)
    assert matching <= left < matching + 2000


def test_parquet_row_groups() -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    if "bloom_filter_options" not in inspect.signature(parquet.write_table).parameters:
        pytest.skip("this version of pyarrow writes no Bloom filters")
    out = run("parquet_row_groups")
    assert "100 lookups in 20 row groups: 50 names found" in out
    assert 50 <= numbers(r"row groups read: (\d+) instead of 2000", out)[0] < 120


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_shared_processes() -> None:
    out = run("shared_processes")
    found = numbers(r"queries: 2560000, members found: (\d+)", out)[0]
    assert 1280000 <= found < 1280020
    assert "copies of the filter in a process: none" in out


def test_asyncio_reload() -> None:
    out = run("asyncio_reload")
    assert "many queries, all answered" in out
    assert "mallory: no, then maybe; reloads: 1" in out


def test_asyncio_reload_of_a_damaged_file(tmp_path: Path) -> None:
    """The old filter stays."""
    service_type = runpy.run_path(str(EXAMPLES / "asyncio_reload.py"))["Service"]
    path, other = tmp_path / "f.tamis", tmp_path / "other"
    tamis.build(["eve"], 1e-9).save(path)
    service = service_type(str(path))

    async def watch(expected: list[bool]) -> None:
        watcher = asyncio.create_task(service.watch(0.001))
        while service.version != service.file_version():
            await asyncio.sleep(0.001)
        watcher.cancel()
        assert [key in service.blocked for key in ("eve", "mallory")] == expected

    other.write_bytes(b"damaged")
    other.replace(path)
    asyncio.run(asyncio.wait_for(watch([True, False]), 30))
    tamis.build(["mallory"], 1e-9).save(path)
    asyncio.run(asyncio.wait_for(watch([False, True]), 30))
    assert service.reloads == 1


def test_redis_cluster() -> None:
    """On one server; test_redis.py tests the class in a cluster."""
    module = os.environ.get("TAMIS_MODULE", str(ROOT / "build" / "redis" / "tamis.so"))
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    if not os.path.exists(module):
        pytest.skip("TAMIS_MODULE does not name the Redis module (target tamis_redis)")
    if not (ROOT / "tests" / "redis" / "servers.py").exists():
        pytest.skip("tests/redis of the repository is not here")
    sys.path.insert(0, str(ROOT / "tests" / "redis"))
    try:
        servers = importlib.import_module("servers")
    finally:
        sys.path.pop(0)
    with servers.Server(module=module) as server:
        out = run("redis_cluster", "redis", TAMIS_REDIS=f"127.0.0.1:{server.port}")
        assert server.state("DBSIZE") == 0
    assert numbers(r"links: 200, definitely not crawled: (\d+)", out)[0] > 90
    assert "shards: 16" in out
