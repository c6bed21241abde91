"""Notes and queries made to take the machine.

5 MB of the worst kinds of note go through `rag index`: one fails when that takes more than 3 s of
processor time, or 300 MB, above a note of one line. Then 4,000 characters of each family of
`tests/support/hostile_queries.py` are searched, asked and planned over 1,000 generated notes: one
fails when that takes more than half a second of processor time above a plain query. Each file of
`tests/support/hostile_documents.py` must be indexed, or be named by `rag status --skipped`.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

from faults import Row
from made_words import english_word, japanese_word
from measuring import Measured, TooLong, measure
from vaults import BYTES, make_vault, title_query

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import hostile_queries  # type: ignore[import-not-found]
from hostile import FAMILIES  # type: ignore[import-not-found]
from hostile_documents import FILES as DOCUMENTS  # type: ignore[import-not-found]

_SIZE = 5_000_000  # bytes of a note: the default of `index.max_note_mb`
_SECONDS, _BYTES = 3.0, 300_000_000
_SMALL = 30_000  # bytes of a note where all kinds are in one vault
_NOTES, _LENGTH, _QUERY_SECONDS = 1_000, 4_000, 0.5
_DOCUMENT_SECONDS = 15.0  # of processor time: ten in which it is read, and what surrounds them
_LIMIT = 120.0  # seconds after which a command is taken to hang
_AT_ONCE, _TRIES = 2, 3  # a busy machine takes longer: what takes too long is tried again
# The kinds that cost the most, and those that took the machine before notes had bounds.
_WORST = (
    *("merge keys", "aliases of aliases", "nested flow lists", "front matter sexagesimal number"),
    *("front matter tags in a list", "nested tags", "inline tags", "tags and headings"),
    *("headings", "long headings", "closing hashes", "wiki links never closed"),
    *("inline link openings", "bold and strikes", "backquotes of all lengths", "fences"),
    *("lines of a letter", "sentences of a letter", "list numbers", "table", "new words"),
    *("katakana words", "numbers", "addresses", "one word of new letters"),
    *("combining marks", "combining marks in a heading", "tibetan", "ligatures"),
)


def rows(room: Path) -> Iterator[Row]:
    """Index the notes, one by one and together; then ask the queries."""
    resting = [_index(room, "# One line\n") for _ in range(3)]
    cpu, peak = median(run.cpu for run in resting), median(run.peak for run in resting)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        costs = list(pool.map(partial(_cost, room, cpu, peak), _WORST))
    failed = [text for is_too_much, text in costs if is_too_much]
    yield Row("5 MB of hostile text", len(costs), len(failed), "; ".join(failed[:1]))
    notes = {f"{number}.md": make(_SMALL) for number, make in enumerate(FAMILIES.values())}
    run = _rag(_home(room, notes), "index", "notes")
    is_whole = run.code == 0 and f"{len(notes)} new" in run.output
    note = f"{run.cpu:.1f} s" if is_whole else run.output.strip()[-100:]
    yield Row("a small note of each kind, in one vault", len(notes), int(not is_whole), note)
    failed = [name for name in DOCUMENTS if not _is_accounted_for(room, name)]
    yield Row(
        "PDF, Office and pages: in 10 s, and accounted for",
        len(DOCUMENTS),
        len(failed),
        "; ".join(failed[:1]),
    )
    yield from _queries(room)


def _is_accounted_for(room: Path, name: str) -> bool:
    """Index a file beside a note: whether both are in the index, or it is said why not."""
    home, (make, why) = _home(room, {"a.md": "# One line\n"}), DOCUMENTS[name]
    (home / "notes" / name).write_bytes(make())
    run, skipped = _rag(home, "index", "notes"), _rag(home, "status", "--skipped")
    is_said = (name in skipped.output) == bool(why)
    return run.code == 0 and run.cpu < _DOCUMENT_SECONDS and is_said


def _cost(room: Path, cpu: float, peak: float, name: str) -> tuple[bool, str]:
    for _ in range(_TRIES):
        try:
            run = _index(room, FAMILIES[name](_SIZE))
        except TooLong as error:
            return True, f"{name}: {error}"
        seconds, size = run.cpu - cpu, run.peak - peak
        text = f"{name}: exit code {run.code}, {seconds:.1f} s, {size / 1e6:.0f} MB"
        is_too_much = bool(run.code) or size > _BYTES or seconds > _SECONDS
        if not is_too_much:
            break
    return is_too_much, text


def _queries(room: Path) -> Iterator[Row]:
    home = _home(room, {})
    make_vault(home / "notes", _NOTES, _NOTES * BYTES / 1e6)
    _rag(home, "index", "-q", "notes")
    titles = [title_query(number) for number in range(1, 50, 2)]
    words = map(english_word, range(2_000)), map(japanese_word, range(2_000))
    stock = hostile_queries.stock_of(*words, ["work", "project/alpha", "日記"], titles)
    families: Sequence[str] = [*hostile_queries.FAMILIES]
    for command in ("search", "ask", "plan"):
        plain = min(_rag(home, command, "--", "plain words of a query").cpu for _ in range(3))
        seconds: dict[str, float] = {}
        for family in families:
            text = hostile_queries.query(family, _LENGTH, stock)
            for _ in range(_TRIES):
                cost = _rag(home, command, "--", text).cpu - plain
                seconds[family] = min(cost, seconds.get(family, cost))
                if cost <= _QUERY_SECONDS:
                    break
        worst = max(families, key=lambda family: seconds[family])
        slow = sum(taken > _QUERY_SECONDS for taken in seconds.values())
        what = f"{command}: {_LENGTH:,} characters take {_QUERY_SECONDS} s of CPU at most"
        yield Row(what, len(families), slow, f"most: {seconds[worst]:.2f} s, {worst}")


def _index(room: Path, text: str) -> Measured:
    return _rag(_home(room, {"a.md": text}), "index", "notes")


def _home(room: Path, notes: dict[str, str]) -> Path:
    """Return a folder of its own that holds notes and, once indexed, their index."""
    home = Path(tempfile.mkdtemp(dir=room))
    (home / "notes").mkdir()
    settings = 'data_dir = "data"\n[ollama]\nenabled = false\n[embedding]\nprovider = "none"\n'
    (home / "rag.toml").write_text(settings, "utf-8")
    for name, text in notes.items():
        (home / "notes" / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    return home


def _rag(home: Path, *arguments: str) -> Measured:
    environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}
    environment |= {"RAG_CONFIG": str(home / "rag.toml"), "RAG_WARM": "0"}
    return measure([sys.executable, "-m", "rag", *arguments], environment, home, _LIMIT)
