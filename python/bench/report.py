"""Writes the results: results.md, the table in README.md, and the figure speed.svg with the style
of doc/draw.py."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "doc"))

from draw import BLUE, INK, RED, RULE, SOFT, Figure  # type: ignore[import-not-found]  # noqa: E402

OPERATIONS = {
    "add": "add",
    "hit": "`in`, member",
    "miss": "`in`, other",
    "hit again": "`in`, member, same object again",
    "miss again": "`in`, other, same object again",
}
COLUMNS = {"str": "Arrow strings", "bytes": "NumPy S35", "int": "NumPy int64"}


def nanoseconds(value: float) -> str:
    return f"{value:.1f}" if value < 100 else spaced(round(value))


def spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def cell(times: dict[str, float] | None) -> str:
    if times is None:
        return "-"
    return f"{nanoseconds(times['best'])} ({nanoseconds(times['median'])})"


def percent(rate: float) -> str:
    return f"{rate * 100:.3f} %"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def head(results: dict[str, Any]) -> str:
    machine, versions = results["machine"], results["versions"]
    sentences = [
        f"{machine['processor']}, {machine['processors']} processors, {machine['system']};",
        ", ".join(f"{name} {version}" for name, version in versions.items()) + ".",
        f"{machine['date']}.",
        f"{spaced(results['keys'])} keys: strings of 35 bytes, or 64-bit integers;",
        f"best and (median) of {results['rounds']} rounds, each with the contenders in another",
        "order.  Wall-clock time with the loop around the operation.",
        f"Load of the machine at the start: {machine['load']:.2f}.",
    ]
    return "\n".join(sentences)


def single_table(results: dict[str, Any]) -> str:
    names = list(results["filters"])
    rows = []
    for kind, operations in results["single"].items():
        for operation, times in operations.items():
            label = f"{kind}: {OPERATIONS[operation]}"
            rows.append([label, *(cell(times.get(name)) for name in names)])
    return table(["ns per key", *names], rows)


def batch_table(results: dict[str, Any], operation: str) -> str:
    by_kind = {kind: results["batches"][kind][operation] for kind in COLUMNS}
    names = list(by_kind["str"])
    rows = [[name, *(cell(times.get(name)) for times in by_kind.values())] for name in names]
    return table(["ns per key", *COLUMNS.values()], rows)


def filter_table(results: dict[str, Any]) -> str:
    rows = []
    for name, facts in results["filters"].items():
        exact = facts["promised"] is None
        rows.append(
            [
                name,
                f"{facts['bits_per_key']:.2f}",
                "-" if exact else percent(facts["promised"]),
                percent(facts["measured"]),
                f"{percent(facts['low'])} to {percent(facts['high'])}",
                str(facts["lost"]),
                facts["note"],
            ]
        )
    head = ["", "bits per key", "promised FPR", "measured FPR", "99 % interval", "lost", ""]
    return table(head, rows)


def import_table(results: dict[str, Any]) -> str:
    rows = [
        [module, f"{times['net']:.1f}", f"{times['total']:.1f}"]
        for module, times in results["imports"].items()
    ]
    return table(["ms, median of 10", "import", "whole process"], rows)


def build_table(results: dict[str, Any]) -> str:
    rows = [[name, cell(times)] for name, times in results["builds"].items()]
    return table(["", "ns per key"], rows)


def markdown(results: dict[str, Any]) -> str:
    absent = "; ".join(f"{name}: {why}" for name, why in results["not_measured"].items())
    parts = [
        "# Python libraries compared",
        "`python3 python/bench/run.py` makes these measurements and writes this page.",
        head(results),
        f"Not measured: {absent}.",
        "![Time per key of single queries, builds and batches](speed.svg)",
        "## One key at a time",
        "A false positive rate of 1 %.  Keys are new objects in every round, as they come from a "
        'file; "same object again" are `str` objects whose `hash()` is known, which helps the '
        "libraries that use it.  Tables are in the caches.",
        single_table(results),
        "## Batches",
        "Queries, half of them of members:",
        batch_table(results, "query"),
        "Adds:",
        batch_table(results, "add"),
        "Libraries that read no columns are given the list that `to_pylist()` or `tolist()` makes; "
        "its time is included.",
        "## Builds",
        "A filter of a list of `str`, from nothing:",
        build_table(results),
        "## Size and false positives",
        "Of the filters of `str`, with as many keys as they were made for; other keys were "
        "queried as often.  *lost* counts members that a filter denies.",
        filter_table(results),
        "## Import",
        import_table(results),
    ]
    return "\n\n".join(parts) + "\n"


# ---- the table in README.md

README = ROOT / "python" / "README.md"
BEGIN, END = "<!-- from bench/results.md -->\n", "<!-- end -->\n"
SHOWN = ["tamis block", "rbloom", "fastbloom-rs", "pybloom-live", "pyfusefilter"]
MODULES = ["tamis", "rbloom", "fastbloom_rs", "pybloom_live", "pyfusefilter"]


def best(times: dict[str, Any], name: str) -> str:
    return nanoseconds(times[name]["best"]) if name in times else "-"


def singles_row(label: str, results: dict[str, Any], kind: str, operation: str) -> list[str]:
    times = results["single"][kind][operation]
    return [f"{label}, ns", *(best(times, name) for name in SHOWN)]


def batch_row(label: str, results: dict[str, Any], kind: str, names: dict[str, str]) -> list[str]:
    """A row of queries of a column; the libraries that read none get a list."""
    times = results["batches"][kind]["query"]
    return [f"{label}, ns per key", *(best(times, names.get(name, "")) for name in SHOWN)]


def brief_table(results: dict[str, Any]) -> str:
    peers = {"rbloom": "rbloom, loop", "fastbloom-rs": "fastbloom-rs, batch"}
    one, two = ({"tamis block": f"tamis block, {n}", **peers} for n in ("1 thread", "2 threads"))
    facts = [results["filters"][name] for name in SHOWN]
    rows = [
        singles_row("`add` of a `str`", results, "str", "add"),
        singles_row("`in`, a `str`", results, "str", "miss"),
        singles_row("`in`, `bytes`", results, "bytes", "miss"),
        singles_row("`in`, an `int`", results, "int", "miss"),
        ["build from a list of `str`, ns per key", *(best(results["builds"], n) for n in SHOWN)],
        batch_row("query an Arrow column of strings", results, "str", one),
        batch_row("the same with two threads", results, "str", two),
        batch_row("query a NumPy array of bytes", results, "bytes", one),
        batch_row("the same with two threads", results, "bytes", two),
        batch_row("query a NumPy array of integers", results, "int", one),
        batch_row("the same with two threads", results, "int", two),
        ["bits per key", *(f"{fact['bits_per_key']:.2f}" for fact in facts)],
        ["promised FPR", *(percent(fact["promised"]) for fact in facts)],
        ["measured FPR", *(percent(fact["measured"]) for fact in facts)],
        ["import, ms", *(f"{results['imports'][name]['net']:.1f}" for name in MODULES)],
    ]
    return table(["", "tamis (`block`)", *SHOWN[1:]], rows)


def update_readme(results: dict[str, Any]) -> None:
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(f"{before}{BEGIN}{brief_table(results)}\n{END}{after}", encoding="utf-8")


# ---- the figure

BAR, LEFT, LABELS, LENGTH, VALUE = 22, 20, (90, 90, 142), 140, 62


def panel(
    f: Figure, x: float, label: float, title: str, under: str, bars: list[tuple[str, float, bool]]
) -> None:
    """Horizontal bars.  A bar that is much longer than the others is cut, and marked."""
    f.text(x, 62, title, 14, INK, "start", "bold")
    f.text(x, 79, under, 11.5, SOFT, "start")
    ordered = sorted(bars, key=lambda bar: bar[1])
    limit = max((ns for _, ns, _ in ordered if ns <= 5 * ordered[len(ordered) // 2][1]), default=1)
    for i, (name, ns, ours) in enumerate(ordered):
        y = 94 + i * (BAR + 6)
        color = BLUE if ours else RULE
        length = max(2.0, LENGTH * min(1.0, ns / limit))
        f.text(x + label - 6, y + 15, name, 11.5, INK if ours else SOFT, "end")
        f.rect(x + label, y, length, BAR, color, color, 2)
        if ns > limit:
            cut = x + label + length - 14
            f.path(
                f"M{cut:g} {y - 2:g}l6 {BAR + 4:g}M{cut + 5:g} {y - 2:g}l6 {BAR + 4:g}",
                "#fcfcf9",
                3,
            )
        words = nanoseconds(ns) + (" ns" if i == 0 else "")
        f.text(x + label + length + 5, y + 15.5, words, 11.5, RED if ns > limit else INK, "start")


def figure(results: dict[str, Any], directory: Path) -> None:
    misses = results["single"]["str"]["miss"]
    builds, batches = results["builds"], results["batches"]["str"]["query"]
    shown = [name for name in results["filters"] if name != "set"]
    panels = [
        ("key in filter", "one str at a time, not a member; ns", misses, shown),
        ("build", "a filter of a list of str; ns per key", builds, shown),
        ("contains_many", "a column of Arrow strings; ns per key", batches, list(batches)),
    ]
    rows = max(sum(name in times for name in names) for _, _, times, names in panels)
    f = Figure(
        "speed",
        sum(LABELS) + 3 * (LENGTH + VALUE) + 2 * LEFT,
        94 + rows * (BAR + 6) + 34,
        "Time per key",
    )
    f.text(LEFT, 32, "Time per key, shorter is better", 16, INK, "start", "bold")
    for i, (title, under, times, names) in enumerate(panels):
        bars = [
            (name, times[name]["best"], name.startswith("tamis")) for name in names if name in times
        ]
        panel(f, LEFT + sum(LABELS[:i]) + i * (LENGTH + VALUE), LABELS[i], title, under, bars)
    machine = results["machine"]
    f.text(
        LEFT,
        f.height - 14,
        f"{spaced(results['keys'])} keys, 1 % false positives; {machine['processor']}, "
        f"Python {results['versions']['Python']}",
        11.5,
        SOFT,
        "start",
    )
    f.save(str(directory))


def write(results: dict[str, Any], directory: Path) -> None:
    (directory / "results.md").write_text(markdown(results), encoding="utf-8")
    figure(results, directory)
    if directory == HERE:
        update_readme(results)
