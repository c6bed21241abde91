"""Other lexical searches to compare with, each as its own users would set it up.

Every peer indexes whole notes: the title and the text below the front matter. Their numbers are
their defaults; where a form had to be chosen, the one that ranked better was, and a comment
says which.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from Stemmer import Stemmer

if TYPE_CHECKING:  # the programs of peers import this too, and start without it
    from rag.vault import Note

Key = tuple[str, str]  # vault, path


class PeerMissing(Exception):
    """A peer that cannot run here; the message says what would help."""


class Peer(Protocol):
    """A search: `reads` names the languages whose questions it can be asked."""

    name: str
    reads: tuple[str, ...]

    def build(self, notes: Sequence[Note]) -> None: ...

    def search(self, query: str, k: int) -> list[Key]: ...


def peers() -> list[Peer]:
    """Return all peers, with nothing indexed."""
    return [
        Bm25s("bm25s, Snowball", ("en",), snowball),
        Bm25s("bm25s, Sudachi C", ("en", "ja"), sudachi),
        Fts5("porter", ("en",)),
        Fts5("trigram", ("en", "ja")),
    ]


def _body(note: Note) -> str:
    return "\n".join(note.lines[note.body_line :])


Tokenize = Callable[[str], list[str]]


class Bm25s:
    """bm25s with its defaults (Lucene's BM25, k1 1.5, b .75), in memory."""

    def __init__(
        self, name: str, reads: tuple[str, ...], tokenizer: Callable[[], Tokenize]
    ) -> None:
        self.name, self.reads = name, reads
        self._tokenizer = tokenizer
        self._keys: list[Key] = []

    def build(self, notes: Sequence[Note]) -> None:
        """Index `notes`, the title before the text as in this program."""
        bm25s = load("bm25s")
        self._tokenize = self._tokenizer()
        self._keys = [(note.vault, note.path) for note in notes]
        self._index = bm25s.BM25()
        texts = (f"{note.title}\n{_body(note)}" for note in notes)
        self._index.index([self._tokenize(text) for text in texts], show_progress=False)

    def search(self, query: str, k: int) -> list[Key]:
        """Return the best notes; those that score nothing only fill bm25s's matrix."""
        words = self._tokenize(query)
        if not words:
            return []
        found, scores = self._index.retrieve(
            [words], k=min(k, len(self._keys)), show_progress=False
        )
        pairs = zip(found[0], scores[0], strict=True)
        return [self._keys[number] for number, score in pairs if score > 0]


def snowball() -> Tokenize:
    """Words of two letters or more, English stop words out, stemmed: bm25s's own tokenizer."""
    bm25s, stemmer = load("bm25s"), Stemmer("english")

    def tokenize(text: str) -> list[str]:
        found: list[list[str]] = bm25s.tokenize(
            text, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
        )
        return found[0]

    return tokenize


# Punctuation, spaces, particles and auxiliaries: Sudachi's counterpart of stop words. Japanese
# ranked better without them (nDCG .924 against .914, or .921 with particles and auxiliaries).
_SUDACHI_STOP = ("補助記号", "空白", "助詞", "助動詞")


def sudachi() -> Tokenize:
    """Sudachi's longest words that are content, in their normalised form."""
    sudachipy = load("sudachipy", "sudachidict_core")
    tokenizer = sudachipy.Dictionary().tokenizer(mode=sudachipy.SplitMode.C)

    def tokenize(text: str) -> list[str]:
        return [
            word.normalized_form().lower()
            for line in text.splitlines()  # it takes 49,149 bytes at once
            for word in tokenizer.tokenize(line)
            if word.part_of_speech()[0] not in _SUDACHI_STOP
        ]

    return tokenize


# The title as a column of weight 5 ranked better than as a column of weight 1 or a prefix of
# the text (porter: R@1 .874 against .864); weight 10 ranked about as well.
_FTS5_SEARCH = (
    "SELECT vault, path FROM notes WHERE notes MATCH ? ORDER BY bm25(notes, 0, 0, 5, 1) LIMIT ?"
)


class Fts5:
    """SQLite's full-text index, terms of the query ORed, ranked by its bm25().

    :param variant: `porter` or `trigram`.
    :param file: of the database; without it, it is in memory.
    """

    def __init__(self, variant: str, reads: tuple[str, ...], file: Path | str = ":memory:") -> None:
        self.name, self.reads = f"SQLite FTS5, {variant}", reads
        self._tokenizer, self._terms = (
            ("trigram", trigrams) if variant == "trigram" else ("porter unicode61", words)
        )
        self._db = sqlite3.connect(file)

    def build(self, notes: Sequence[Note]) -> None:
        """Index `notes`."""
        self.add((note.vault, note.path, note.title, _body(note)) for note in notes)

    def add(self, rows: Iterable[tuple[str, str, str, str]]) -> int:
        """Index vaults, paths, titles and texts; return how many there are."""
        try:
            self._db.execute(
                "CREATE VIRTUAL TABLE notes USING fts5"
                f"(vault UNINDEXED, path UNINDEXED, title, text, tokenize='{self._tokenizer}')"
            )
        except sqlite3.OperationalError as error:
            raise PeerMissing(f"SQLite {sqlite3.sqlite_version}: {error}") from error
        self._db.executemany("INSERT INTO notes VALUES (?, ?, ?, ?)", rows)
        self._db.commit()
        return int(self._db.execute("SELECT count(*) FROM notes").fetchone()[0])

    def search(self, query: str, k: int) -> list[Key]:
        """Return the best notes."""
        terms = sorted(self._terms(query))
        match = " OR ".join('"{}"'.format(term.replace('"', '""')) for term in terms)
        return self._db.execute(_FTS5_SEARCH, (match, k)).fetchall() if match else []


def words(query: str) -> set[str]:
    """Return the words of a query, in lower case."""
    return set(re.findall(r"\w+", query.lower()))


def trigrams(query: str) -> set[str]:
    """Return the runs of three characters of a query, spaces and all."""
    return {query[i : i + 3] for i in range(len(query) - 2)}


def load(*packages: str) -> Any:
    """Return the first of `packages`, all of which are needed.

    :raises PeerMissing: when one is not installed.
    """
    try:
        modules = [import_module(package) for package in packages]
    except ImportError as error:
        raise PeerMissing(f"not installed: pip install {' '.join(packages)}") from error
    return modules[0]
