"""The page docs/benchmarks.md, made of the results in docs/benchmarks.json and of nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from verdicts import verdicts

Record = dict[str, Any]

_HEAD = """\
# Benchmarks

`rag` beside other programs, on generated vaults, half English and half Japanese. All are whole
processes that take turns in the same run, so the ratios say more than the seconds. `python
benchmarks/peers.py` measures and writes this page, its plots and
[benchmarks.json](benchmarks.json), which holds all numbers; `--report` writes it from the numbers
that are there. Edit none of it by hand.
"""

_PLOTS = """\
## At a glance

![How each grows with the number of notes](benchmarks.png)

Both axes are logarithmic, and down is better. The same as [SVG](benchmarks.svg).
"""

_HOW = """\
## How it is measured

- **Vaults** are generated, the same ones every time: front matter, headings, lists, tags, links,
  {bytes:,.0f} bytes a note. How often words come lies between encyclopaedia articles and help
  pages (`benchmarks/frequencies.py` compares).
- **First index** starts from nothing, with the files in the page cache. `rag` and qmd then bring
  their index up to date; the others have no such thing and start again. `rag` indexes sections,
  the others whole notes. No model is used.
- **CPU** is user and system time of a process and its children. **Memory** is the peak of the whole
  process tree while it indexes, what processes share counted once.
- **Search** takes the titles of {queries} notes as queries, half English and half Japanese. A
  program is asked what its tokenizer can read; one marked *en* or *ja* got the queries of that
  language only. *Cold* is a process that starts, opens its index, answers and ends, with the page
  cache warm; *warm* is the same command while `rag warm` holds a process ready.
- **By hand** (SQLite, tantivy, bm25s, qdrant-client) are the short scripts in
  [benchmarks/programs](../benchmarks/programs), a process to load and a process to search.
  qdrant-client's local mode holds hashed words weighed by BM25. ripgrep counts the lines that hold
  one of the words.
- **That it works** is checked: every index holds all notes, every program finds a word that is in
  one note only, and the changed notes are found by what was added. What fails, or takes too long
  ({limit:,.0f} s for an index), is left out and named below the table.
- Figures are medians. First indexings: {rounds}, and one where it took over {indexing:.0f} s.
  Searches: a process for each query, {warm} when warm.
"""


@dataclass(frozen=True)
class Table:
    """A question: `cell` says what a program did, `value` is what ratios compare.

    :ivar what: the part of a program's record that answers it.
    :ivar ours: what the others are compared with.
    """

    title: str
    what: str
    unit: str
    cell: Callable[[Record], str]
    value: Callable[[Record], float]
    ours: str = "rag"


def page(results: Record) -> str:
    """Return the page as Markdown."""
    parts = [_HEAD, _machine(results), _verdicts(results), _PLOTS]
    parts += [_table(table, results) for table in TABLES]
    parts += [_growth(results), _how(results)]
    return "\n".join(part for part in parts if part)


def seconds(value: float) -> str:
    """Return seconds with three digits that count, or milliseconds."""
    if value < 0.995:
        return f"{value * 1000:.0f} ms"
    return (
        f"{value:.0f} s"
        if value >= 99.5
        else f"{value:.1f} s"
        if value >= 9.95
        else f"{value:.2f} s"
    )


def megabytes(value: float) -> str:
    """Return bytes as MB."""
    return f"{value / 1e6:,.0f} MB" if value >= 9.95e6 else f"{value / 1e6:.1f} MB"


def _wall_and_cpu(record: Record) -> str:
    return f"{seconds(record['wall'])} / {seconds(record['cpu'])}"


def _latency(record: Record) -> str:
    return f"{seconds(record['wall'])} / {seconds(record['p95'])}"


_COLD = Table(
    "Search, cold",
    "search",
    "median / 95th percentile of wall; ratio of medians",
    _latency,
    itemgetter("wall"),
)
TABLES = (
    Table("First index", "index", "wall / CPU; ratio of CPU", _wall_and_cpu, itemgetter("cpu")),
    Table(
        "Nothing changed",
        "unchanged",
        "wall / CPU; ratio of wall",
        _wall_and_cpu,
        itemgetter("wall"),
    ),
    Table("1 % changed", "changed", "wall / CPU; ratio of wall", _wall_and_cpu, itemgetter("wall")),
    _COLD,
    replace(_COLD, title="Search, warm", unit=f"{_COLD.unit}, the others cold", ours="rag, warm"),
    Table(
        "Memory",
        "index",
        "peak of the first index",
        lambda record: megabytes(record["peak"]),
        itemgetter("peak"),
    ),
    Table(
        "Disk",
        "disk",
        "after the first index",
        lambda record: megabytes(record["bytes"]),
        itemgetter("bytes"),
    ),
)
_OURS = {table.ours for table in TABLES}
_ALL_DO = ("index", "search")


def _machine(results: Record) -> str:
    machine = results["machine"]
    versions = {name.split(",")[0]: version for name, version in results["versions"].items()}
    lines = [
        f"Measured with {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']}, Python {machine['python']}: "
        f"{', '.join(map(' '.join, versions.items()))}."
    ]
    sizes_of: dict[str, list[str]] = {}
    for size, found in results["sizes"].items():
        for name, reason in found["missing"].items():
            sizes_of.setdefault(f"**{name}** was left out: {reason}", []).append(f"{int(size):,}")
    for reason, sizes in sizes_of.items():
        where = "" if len(sizes) == len(results["sizes"]) else f" (at {', '.join(sizes)} notes)"
        lines.append(f"{reason}{where}.")
    return "\n\n".join(lines) + "\n"


def _verdicts(results: Record) -> str:
    rows = ["## What was demanded", "", "At 10,000 notes, where nothing else is said.", ""]
    rows += ["| demanded | measured | |", "|---|---|---|"]
    for verdict in verdicts(results["sizes"]):
        met = {True: "met", False: "**not met**", None: "not measured"}[verdict.met]
        rows.append(f"| {verdict.demanded} | {verdict.measured} | {met} |")
    return "\n".join(rows) + "\n"


def _table(table: Table, results: Record) -> str:
    """Return one question as a table: a row a program, two columns a size."""
    sizes = results["sizes"]
    rows, notes = [], []
    for name in _named(table, results):
        cells: list[str] = []
        reasons: list[str] = []
        for size, found in sizes.items():
            cells += _cells(table, name, found["programs"])
            record = found["programs"].get(name, {})
            reason = _given_up(table, record) or _hurried(table, record, name, results)
            if reason:
                reasons.append(f"\n– {name} at {int(size):,} notes: {reason}.\n")
        if any(cells):
            rows.append(
                f"| {_label(name, results)} | {' | '.join(cell or '–' for cell in cells)} |"
            )
        if any(cells) or table.what in _ALL_DO:
            notes += reasons
    if not rows and not notes:
        return ""
    head = "".join(f" {int(size):,} notes | {table.ours} ÷ |" for size in sizes)
    lines = [f"## {table.title}", "", f"{table.unit[0].upper()}{table.unit[1:]}.", ""]
    lines += [f"| |{head}", "|---" + "|--:|--:" * len(sizes) + "|", *rows]
    return "\n".join(lines) + "\n" + "".join(notes)


def _named(table: Table, results: Record) -> list[str]:
    """Return the programs of a table: ours first, and the others without our other form."""
    return [table.ours, *(name for name in results["versions"] if name not in _OURS)]


def _given_up(table: Table, record: Record) -> str:
    given_up: dict[str, str] = record.get("given_up", {})
    return given_up.get(table.what) or given_up.get("index", "")


def _hurried(table: Table, record: Record, name: str, results: Record) -> str:
    """Return how few queries a slow program was asked."""
    asked = record.get(table.what, {}).get("runs", 0) if table.what == "search" else 0
    whole = results["queries"] * len(results["reads"].get(name, [])) // 2
    return f"slow, so asked {asked} queries only" if 0 < asked < whole else ""


def _cells(table: Table, name: str, programs: Record) -> tuple[str, str]:
    """Return what a program did at a size, and the ratio to it; empty without figures."""
    found, ours = (programs.get(key, {}).get(table.what) for key in (name, table.ours))
    if not found:
        return "", ""
    if name == table.ours or not ours:
        return table.cell(found), " " if name == table.ours else ""
    ratio = table.value(ours) / table.value(found)
    return table.cell(found), f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.2f}"


def _label(name: str, results: Record) -> str:
    reads = results["reads"].get(name, [])
    label = f"**{name}**" if name in _OURS else name
    return f"{label} *({reads[0]})*" if len(reads) == 1 else label


def _growth(results: Record) -> str:
    """Return by how much each grows from the first size to the last."""
    sizes = list(results["sizes"])
    if len(sizes) < 2:
        return ""
    first, last = (results["sizes"][size]["programs"] for size in (sizes[0], sizes[-1]))
    tables = [table for table in TABLES if table.title != "Search, warm"]
    rows = []
    for name in results["versions"]:
        cells = []
        for table in tables:
            small, large = (programs.get(name, {}).get(table.what) for programs in (first, last))
            grown = small and large and table.value(large) / table.value(small)
            cells.append(f"×{grown:.1f}" if grown else "–")
        if set(cells) != {"–"}:
            rows.append(f"| {_label(name, results)} | {' | '.join(cells)} |")
    times = int(sizes[-1]) / int(sizes[0])
    lines = [
        "## Growth",
        "",
        f"From {int(sizes[0]):,} to {int(sizes[-1]):,} notes, {times:g} times as many: how many "
        "times as much each takes.",
        "By the figures that the ratios above compare.",
        "",
        f"| | {' | '.join(table.title.split(',')[0].lower() for table in tables)} |",
        "|---" + "|--:" * len(tables) + "|",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def _how(results: Record) -> str:
    size, last = list(results["sizes"].items())[-1]
    rounds = (f"{found['rounds']} of {int(n):,} notes" for n, found in results["sizes"].items())
    return _HOW.format(
        bytes=last["megabytes"] * 1e6 / int(size),
        queries=results["queries"],
        warm=results["warm_rounds"],
        limit=last["limit"],
        rounds=", ".join(rounds),
        indexing=results["indexing"],
    )
