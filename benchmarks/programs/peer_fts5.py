"""SQLite FTS5 by hand. VARIANT: porter or trigram."""

import sqlite3
from pathlib import Path

from baselines import any_of, trigrams, words
from program import TOP_K, read_notes, run

_TOKENIZERS = {"porter": "porter unicode61", "trigram": "trigram"}
_TERMS = {"porter": words, "trigram": trigrams}


def _load(variant: str, vault: Path, index: Path) -> int:
    db = sqlite3.connect(index / "notes.db")
    db.execute(
        "CREATE VIRTUAL TABLE notes USING fts5"
        f"(path UNINDEXED, title, text, tokenize='{_TOKENIZERS[variant]}')"
    )
    db.executemany("INSERT INTO notes VALUES (?, ?, ?)", read_notes(vault))
    db.commit()
    [(count,)] = db.execute("SELECT count(*) FROM notes")
    return int(count)


def _search(variant: str, index: Path, query: str) -> list[str]:
    match = any_of(_TERMS[variant](query))
    if not match:
        return []
    found = sqlite3.connect(index / "notes.db").execute(
        "SELECT path FROM notes WHERE notes MATCH ? ORDER BY bm25(notes, 0, 5, 1) LIMIT ?",
        (match, TOP_K),
    )
    return [path for (path,) in found]


run(_load, _search)
