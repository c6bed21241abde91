"""Notes made to take the machine, 5 MB of each kind through `rag index`.

A note fails when indexing it takes more than 3 s of processor time, or 300 MB, above what indexing
a note of one line takes here and now.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from faults import Row
from measuring import Measured, TooLong, measure

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from hostile import FAMILIES  # type: ignore[import-not-found]

_SIZE = 5_000_000  # bytes of a note: the default of `index.max_note_mb`
_SECONDS, _BYTES = 3.0, 300_000_000
_LIMIT = 120.0  # seconds after which a command is taken to hang
_AT_ONCE = 2
_SMALL = 30_000  # bytes of a note where all kinds are in one vault

# The kinds that cost the most, and those that took the machine before notes had bounds.
_GROUPS = {
    "front matter": (
        "merge keys",
        "merge keys in one entry",
        "aliases of aliases",
        "nested flow lists",
        "nested flow mappings",
        "nested block lists",
        "front matter sexagesimal number",
        "front matter tags in a list",
        "front matter combining marks",
    ),
    "tags": ("nested tag", "nested tags", "inline tags", "tags and headings"),
    "titles and headings": (
        "headings",
        "setext headings",
        "headings with text",
        "headings of six levels",
        "long headings",
        "long title",
        "closing hashes",
    ),
    "links, emphasis and code": (
        "wiki links",
        "wiki links never closed",
        "inline link openings",
        "inline link in itself",
        "bold openings",
        "bold and strikes",
        "backquotes of all lengths",
        "backquotes apart",
        "fences",
        "comment openings",
    ),
    "lines and sentences": (
        "lines of a letter",
        "letters and blank lines",
        "setext candidates",
        "sentences of a letter",
        "list numbers",
        "stops",
        "form feeds",
        "table",
    ),
    "words": (
        "new words",
        "new short words",
        "new words with accents",
        "katakana words",
        "cyrillic",
        "kanji",
        "numbers",
        "addresses",
        "one word of new letters",
    ),
    "marks and ligatures": (
        "brackets and marks",
        "combining marks",
        "combining marks in a tag",
        "combining marks in a heading",
        "tibetan",
        "ligatures",
        "squared words",
    ),
}


def rows(room: Path) -> Iterator[Row]:
    resting = [_index(room, "# One line\n") for _ in range(3)]
    cpu, peak = median(run.cpu for run in resting), median(run.peak for run in resting)
    for group, names in _GROUPS.items():
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            costs = list(pool.map(lambda name: _cost(room, name, cpu, peak), names))
        # Two processors that share a core count more seconds for the same work than one alone.
        for at, (cost, name) in enumerate(zip(costs, names, strict=True)):
            if cost[0] > _SECONDS:
                costs[at] = _cost(room, name, cpu, peak)
        yield _row(f"5 MB of hostile {group}", list(names), costs)
    yield _all_together(room)


_Cost = tuple[float, float, str]  # seconds and bytes above resting, and what went wrong


def _cost(room: Path, name: str, cpu: float, peak: float) -> _Cost:
    try:
        run = _index(room, FAMILIES[name](_SIZE))
    except TooLong as error:
        return _LIMIT, 0.0, str(error)
    wrong = "" if run.code == 0 else f"exit code {run.code}: {run.output.strip()[-80:]}"
    return run.cpu - cpu, run.peak - peak, wrong


def _row(what: str, names: list[str], costs: list[_Cost]) -> Row:
    failed = [
        f"{name}: {wrong or f'{seconds:.1f} s, {size / 1e6:.0f} MB'}"
        for name, (seconds, size, wrong) in zip(names, costs, strict=True)
        if wrong or seconds > _SECONDS or size > _BYTES
    ]
    slowest = max(zip(costs, names, strict=True))
    largest = max((size, name) for (_, size, _), name in zip(costs, names, strict=True))
    most = (
        f"most {slowest[0][0]:.1f} s ({slowest[1]}), {largest[0] / 1e6:.0f} MB ({largest[1]})"
        " above resting"
    )
    return Row(what, len(names), len(failed), "; ".join([*failed[:1], most]))


def _all_together(room: Path) -> Row:
    """Index one vault with a small note of each kind."""
    notes = {f"{number}.md": make(_SMALL) for number, make in enumerate(FAMILIES.values())}
    vault = _vault(room, notes)
    run = _rag(vault, "index", "notes")
    is_whole = run.code == 0 and f"{len(notes)} new" in run.output
    note = f"{run.cpu:.1f} s" if is_whole else run.output.strip()[-100:]
    return Row("a small note of each kind, in one vault", len(notes), int(not is_whole), note)


def _index(room: Path, text: str) -> Measured:
    return _rag(_vault(room, {"a.md": text}), "index", "notes")


def _vault(room: Path, notes: dict[str, str]) -> Path:
    """Return a folder of its own that holds notes and, once indexed, their index."""
    home = Path(tempfile.mkdtemp(dir=room))
    (home / "notes").mkdir()
    (home / "rag.toml").write_text('data_dir = "data"\n[ollama]\nenabled = false\n', "utf-8")
    for name, text in notes.items():
        (home / "notes" / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    return home


def _rag(home: Path, *arguments: str) -> Measured:
    environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}
    command = [sys.executable, "-m", "rag", *arguments]
    return measure(command, environment, home, _LIMIT)
