"""SQLite FTS5 by hand. VARIANT: porter or trigram."""

from pathlib import Path

from baselines import Fts5
from program import TOP_K, read_notes, run


def _engine(variant: str, index: Path) -> Fts5:
    return Fts5(variant, (), index / "notes.db")


def _load(variant: str, vault: Path, index: Path) -> int:
    return _engine(variant, index).add(("", *note) for note in read_notes(vault))


def _search(variant: str, index: Path, query: str) -> list[str]:
    return [path for _, path in _engine(variant, index).search(query, TOP_K)]


run(_load, _search)
