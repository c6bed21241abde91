"""The page docs/benchmarks.md, made of the results in docs/benchmarks.json and of nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

Record = dict[str, Any]

_HEAD = """\
# Benchmarks

`rag` beside other programs, on generated vaults, half English and half Japanese. All are whole
processes that take turns in one run; the ratios say more than the seconds.
`python benchmarks/peers.py` measures, and writes this page and [benchmarks.json](benchmarks.json);
`--report` writes the page from the numbers that are there. How good the results are:
[ranking](ranking.md). What else can be measured: [below](#other-benchmarks).
"""

_HOW = """\
## How it is measured

- **Vaults**: front matter, headings, lists, tags, links, {bytes:,.0f} bytes a note; the same ones
  every time. No model is used. In parentheses stands `rag` ÷ the other.
- **First index** starts from nothing. `rag` indexes sections, the others whole notes; scripts in
  [benchmarks/programs](../benchmarks/programs) drive SQLite and tantivy, which cannot update.
- **CPU** is of a process and its children, **memory** the peak of all of them.
- **Search** takes titles of {queries} notes. *Cold* is a process that starts, answers and ends;
  *warm* has one ready. A program marked *en* or *ja* got the queries of that language only.
- Every index must hold all notes, every program find a word of one note only and what was changed.
  What fails, or takes over {limit:,.0f} s to index, is named below its table.
- Figures are medians: of first indexings {rounds}; of searches one for each query, {warm} if warm.

## Other benchmarks

`make bench` runs the first five and this page, at 1,000 and 10,000 notes. Each prints both sides of
its comparison in one run; `--help` says what it takes.

- `quality.py`: ranking beside bm25s and SQLite FTS5; `--meaning FOLDER` with the built-in model
- `right_first.py`: the right note first in seven languages, and nothing where there is nothing
- `hostile_replies.py`: false sentences that the checker of answers lets pass
- `answers.py`: quoted answers, refusals, calibration
- `related.py`: hidden links among related notes
- `scores.py`: calibration of scores, and silence
- `costs.py`, `call_paths.py`: commands in turns with another checkout; functions that run
- `asking.py`: `rag ask` with the [reader](meaning.md#the-reader) and without it, 10,000 notes:
  .73 s instead of .59 cold, .31 instead of .22 warm, 131 MB more in all processes together
- `http_server.py`, `watching.py`: the server under load; the watcher, idle and in a burst
- `copying.py`: `rag index --to-server` beside the bare server
- `documents.py`: a first index of 1,000 notes and 300 PDF files of 10 pages beside the bare reader
  of these: 2.5 times as long on two cores, 4 times the processor time;
  270 MB at most. Notes alone: 1.4 times as long, 190 MB
- `ocr.py`: of 20 scanned pages in each of English and Japanese all characters and 99.9 % are read,
  99.8 % and 99.5 % of the worst page; 3 seconds of a processor a page, 830 MB
- `faults`: kills, power cuts, damage, full disks, attackers (`make faults`)
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


def seconds(first: float, second: float) -> str:
    """Return two durations in one unit, ms or s, with two or three digits that count."""
    if first < 0.995:
        return f"{first * 1000:.0f}/{second * 1000:.0f} ms"
    digits = 0 if first >= 99.5 else 1 if first >= 9.95 else 2
    return f"{first:.{digits}f}/{second:.{digits}f} s"


def megabytes(value: float) -> str:
    """Return bytes as MB."""
    return f"{value / 1e6:,.0f} MB" if value >= 9.95e6 else f"{value / 1e6:.1f} MB"


def _wall_and_cpu(record: Record) -> str:
    return seconds(record["wall"], record["cpu"])


def _latency(record: Record) -> str:
    return seconds(record["wall"], record["p95"])


_WALL, _CPU, _PEAK, _BYTES = map(itemgetter, ("wall", "cpu", "peak", "bytes"))
_MEDIAN = "median/95th percentile (ratio of medians)"
TABLES = (
    Table("First index", "index", "wall/CPU (ratio of CPU)", _wall_and_cpu, _CPU),
    Table("Nothing changed", "unchanged", "wall/CPU (ratio of wall)", _wall_and_cpu, _WALL),
    Table("1 % changed", "changed", "wall/CPU (ratio of wall)", _wall_and_cpu, _WALL),
    Table("Search, cold", "search", _MEDIAN, _latency, _WALL),
    Table("Search, warm", "search", f"{_MEDIAN}; qmd is cold", _latency, _WALL, "rag, warm"),
    Table("Memory", "index", "peak of the first index", lambda r: megabytes(r["peak"]), _PEAK),
    Table("Disk", "disk", "after the first index", lambda r: megabytes(r["bytes"]), _BYTES),
)


def page(results: Record) -> str:
    """Return the page as Markdown, of the two largest sizes."""
    results = results | {"sizes": dict([*results["sizes"].items()][-2:])}
    parts = [_HEAD, _machine(results)]
    parts += [_table(table, results) for table in TABLES]
    return "\n".join(part for part in [*parts, _how(results)] if part)


def _machine(results: Record) -> str:
    machine = results["machine"]
    versions = {name.split(",")[0]: version for name, version in results["versions"].items()}
    lines = [
        f"Measured with {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']}, Python {machine['python']}: "
        f"{', '.join(map(' '.join, versions.items()))}."
    ]
    missing = {pair for size in results["sizes"].values() for pair in size["missing"].items()}
    lines += [f"**{name}** was left out: {reason}." for name, reason in sorted(missing)]
    return "\n\n".join(lines) + "\n"


def _table(table: Table, results: Record) -> str:
    """Return one question as a table: a row a program, a column a size."""
    sizes = results["sizes"]
    rows, notes = [], []
    for name in _programs_of(table, results):
        cells: list[str] = []
        for size, programs in ((size, found["programs"]) for size, found in sizes.items()):
            cells.append(_cell(table, name, programs))
            given_up = programs.get(name, {}).get("given_up", {})
            if reason := given_up.get(table.what) or given_up.get("index"):
                notes.append(f"\n– {name} at {int(size):,} notes: {reason}.\n")
        if any(cells):
            rows.append(
                f"| {_label(name, results)} | {' | '.join(cell or '–' for cell in cells)} |"
            )
    if not rows:
        return "".join(notes)
    head = " | ".join(f"{int(size):,} notes" for size in sizes)
    lines = [f"## {table.title}", "", f"{table.unit[0].upper()}{table.unit[1:]}.", ""]
    lines += [f"| | {head} |", "|---" + "|--:" * len(sizes) + "|", *rows]
    return "\n".join(lines) + "\n" + "".join(notes)


def _programs_of(table: Table, results: Record) -> list[str]:
    """Return the programs of a table, ours first; the warm one is compared with qmd alone."""
    if table.ours != "rag":
        return [table.ours, "qmd"]
    return [name for name in results["versions"] if name != "rag, warm"]


def _cell(table: Table, name: str, programs: Record) -> str:
    """Return what a program did at a size, and the ratio to it; empty without figures."""
    record, ours = (programs.get(key, {}).get(table.what) for key in (name, table.ours))
    if not record:
        return ""
    if name == table.ours or not ours:
        return table.cell(record)
    ratio = table.value(ours) / table.value(record)
    return f"{table.cell(record)} ({ratio:.{0 if ratio >= 9.95 else 2}f})"


def _label(name: str, results: Record) -> str:
    reads = results["reads"].get(name, [])
    label = f"**{name}**" if name.startswith("rag") else name
    return f"{label} *({reads[0]})*" if len(reads) == 1 else label


def _how(results: Record) -> str:
    size, last = list(results["sizes"].items())[-1]
    rounds = (f"{found['rounds']} of {int(n):,} notes" for n, found in results["sizes"].items())
    return _HOW.format(
        bytes=last["megabytes"] * 1e6 / int(size),
        queries=results["queries"],
        warm=results["warm_rounds"],
        limit=last["limit"],
        rounds=", ".join(rounds),
    )
