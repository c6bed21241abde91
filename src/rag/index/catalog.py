"""The parts of the manifest that know what notes have: tags and front matter values; the words that
they hold, as they are written, for `word*` and for words misspelt; and links.

A fact is a field and one value of it; the values of `TAGS` are the notes' tags. Only notes with
chunks have facts. Words are only ever added; one whose last note went stays until the index is
rebuilt: who takes a word from here asks whether any chunk still holds it (`Frequencies.holds`).

A link is kept as it is written, and resolved when somebody asks, against the notes that are indexed
then: so it follows notes that are renamed, added or deleted. The table `links` holds, for what the
link and every name of its note have in common (`link_key`), the notes with such a link.
"""

from __future__ import annotations

import json
import posixpath
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from hashlib import sha256
from itertools import product
from pathlib import PurePath
from typing import Any, NamedTuple

from rag.text.tokenizer import name_key, spelling_key
from rag.vault.markdown import MARKDOWN, SUFFIXES

SCHEMA = """
CREATE TABLE facts (
    field TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (field, value, id)
) WITHOUT ROWID;
CREATE INDEX facts_by_note ON facts (id);
CREATE TABLE words (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE INDEX cards ON notes (modified, id, title) WHERE length(chunks) > 0;
CREATE TABLE names (
    id TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (id, key)
) WITHOUT ROWID;
CREATE INDEX names_by_key ON names (key);
CREATE TABLE links (key TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (key, id)) WITHOUT ROWID;
CREATE INDEX links_by_note ON links (id);
"""
TAGS = "tags"
_NOTE = "notes.id, vault, path, title, aliases"
_OTHER_FILE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")
_VALUES = "SELECT value, id FROM facts WHERE field = ?"
_COUNTED = "SELECT value, count(*) FROM facts WHERE field = ? GROUP BY value"
_SAMPLE = 100  # notes of a tag, by which its neighbours are told
_MOST_TERMS, _MOST_STATED = 20, 200  # that values are looked for by, and values
# Shorter words have too many neighbours; in longer ones two slips are as likely as one is in
# these (the lengths that Lucene's "fuzziness auto" uses are 3 and 6).
_ONE_SLIP, _TWO_SLIPS = 4, 8
# Of the shortest of them every third is another word with one letter changed (rice, rich); kana,
# which are syllables, are more apart.
_LETTERS = re.compile("[^\u3000-\uffff]{4}")
_MAX_NEAR = 5
_KATAKANA = ("\u30a1", "\u3100")  # between these is every word of katakana
# A word that another may be a slip of, behind: how many slips, whether it begins otherwise, whether
# it is no note's name, and how unlike it is. The likelier sorts first.
_Near = tuple[int, bool, bool, float, str]


# -- which note a link means -----------------------------------------------------------


class NamedNote(NamedTuple):
    """A note and what it is called; `path` is relative to its vault."""

    id: str
    vault: str
    path: str
    title: str
    aliases: tuple[str, ...]


@lru_cache(1 << 14)  # of each link of each note that may lead somewhere
def link_key(name: str) -> str:
    """Return what a link and a name of its note have in common: the last part of either, without
    the suffix of a note, in lower case and without accents."""
    return spelling_key(_bare(name.rstrip("/").rpartition("/")[2]))


def matching_notes(
    target: str, vault: str, folder: str, notes: Sequence[NamedNote]
) -> list[NamedNote]:
    """Return the notes that a link of a note in a folder of a vault leads to: one; several when
    they answer equally; none.

    Notes of its own vault go before others; then a path from the note with the link, one from the
    vault, the end of a path (a file name is one), a title, an alias."""
    own = [note for note in notes if note.vault == vault]
    others = [note for note in notes if note.vault != vault]
    for some, within in ((own, folder), (others, None)):
        for answers in _readings(target, within):
            if matches := [note for note in some if answers(note)]:
                if target.lower().endswith(SUFFIXES):
                    return matches
                # A link that names no suffix means notes in Markdown, where there are some.
                return [m for m in matches if m.path.lower().endswith(MARKDOWN)] or matches
    return []


def _readings(target: str, folder: str | None) -> Iterator[Callable[[NamedNote], bool]]:
    """Yield what tells the notes that a link may mean, the surest first."""
    wanted = name_key(target)
    whole = wanted.lstrip("/")
    if folder is not None:
        path = name_key(posixpath.normpath(posixpath.join(folder, target)))
        if not path.startswith("..") and not target.startswith("/"):
            yield lambda note: path in _paths(note.path)
        if target.startswith("."):  # it is a path from the note, and nothing else
            return
        yield lambda note: whole in _paths(note.path)
    yield lambda note: any(
        path.endswith(f"/{whole}") for path in _paths(f"/{note.vault}/{note.path}")
    )
    yield lambda note: wanted == name_key(note.title)
    yield lambda note: wanted in map(name_key, note.aliases)


def _paths(path: str) -> tuple[str, str]:
    """Return what a path is compared by: with its suffix and without."""
    return name_key(path), name_key(_bare(path))


def _bare(path: str) -> str:
    suffix = next((end for end in SUFFIXES if path.lower().endswith(end)), "")
    return path.removesuffix(path[len(path) - len(suffix) :]) if suffix else path


# -- links -----------------------------------------------------------------------------


class Link(NamedTuple):
    """A link of the note `source`: what it names, the line where it stands first, from 1, and the
    notes that answer to it: none, one, or several equally."""

    source: NamedNote
    target: str
    line: int
    notes: list[NamedNote]

    @property
    def is_clear(self) -> bool:
        """Whether it leads to one note."""
        return len(self.notes) == 1

    def to_json(self) -> dict[str, Any]:
        """Return `from`, the note with the link (`vault`, `path`, `title`), the `line` where it
        stands, its `target`, its `state` (`ok`, `ambiguous` or `broken`), and `to`, the notes that
        it may mean."""
        ends = (self.source, *self.notes)
        source, *notes = [{"vault": n.vault, "path": n.path, "title": n.title} for n in ends]
        state = "ok" if self.is_clear else "ambiguous" if notes else "broken"
        head = {"from": source, "line": self.line, "target": self.target}
        return {**head, "state": state, "to": notes}


def _note(identity: str, vault: str, path: str, title: str, aliases: str) -> NamedNote:
    return NamedNote(identity, vault, path, title, tuple(json.loads(aliases)))


# -- the tables --------------------------------------------------------------------------


class CatalogTables:
    """What notes have, the words that they hold, and their links: a
    `rag.query.planner.names.Catalogue`.

    :param db: the manifest's connection; what is read once is kept.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._named: dict[str, list[NamedNote]] = {}  # by the target of a link
        self._rows = cache(lambda query, *values: tuple(db.execute(query, values)))

    def _column(self, query: str, *values: object) -> list[str]:
        return [value for (value,) in self._rows(query, *values)]

    def digest(self) -> str:
        """Return a hash that changes with the index."""
        revision = "(SELECT value FROM meta WHERE key = 'revision')"
        [facts] = self._rows(f"SELECT CAST({revision} AS INTEGER), count(*) FROM notes")
        parts = (facts[0] or 0, facts[1], self.vaults())
        return sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:16]

    def vaults(self) -> list[str]:
        """Return the names of the vaults, sorted."""
        return self._column("SELECT name FROM vaults ORDER BY name")

    # -- tags and fields ---------------------------------------------------------------

    def tags(self) -> dict[str, int]:
        """Return every tag with the number of notes that have it, sorted."""
        return dict(self._rows(_COUNTED, TAGS))

    def has_tag(self, tag: str) -> bool:
        """Return whether a note has exactly this tag."""
        query = "SELECT 1 FROM facts WHERE field = ? AND value = ? LIMIT 1"
        return bool(self._column(query, TAGS, tag))

    def neighbours(self, tag: str, limit: int = 5) -> list[str]:
        """Return the tags that stand beside a tag most often, as far as some of its notes tell."""
        return self._column(
            "SELECT value FROM facts WHERE field = ? AND value != ? AND id IN"
            f" (SELECT id FROM facts WHERE field = ? AND value = ? LIMIT {_SAMPLE})"
            " GROUP BY value ORDER BY count(*) DESC, value LIMIT ?",
            *(TAGS, tag, TAGS, tag, limit),
        )

    def fields(self) -> list[str]:
        """Return the names of the front matter fields, sorted."""
        # One look for each name, where a DISTINCT would read all values.
        return self._column(
            "WITH RECURSIVE names (name) AS (SELECT min(field) FROM facts UNION ALL"
            " SELECT (SELECT min(field) FROM facts WHERE field > name) FROM names"
            " WHERE name IS NOT NULL)"
            " SELECT name FROM names WHERE name IS NOT NULL AND name != ?",
            TAGS,
        )

    def values(self, field: str, limit: int = 1_000) -> list[str]:
        """Return what a field holds, the most frequent first."""
        query = "SELECT value FROM facts WHERE field = ? AND field != ? GROUP BY value"
        return self._column(f"{query} ORDER BY count(*) DESC, value LIMIT ?", field, TAGS, limit)

    def counts(self, field: str = "") -> list[tuple[str, int]]:
        """Return the front matter fields, or the values of one, and how many notes have each."""
        if field:
            return [*self._rows(_COUNTED, field)] if field != TAGS else []
        query = "SELECT field, count(DISTINCT id) FROM facts WHERE field != ? GROUP BY field"
        return [*self._rows(query, TAGS)]

    # -- notes -------------------------------------------------------------------------

    def bearing(self, field: str, holds: Callable[[str], bool]) -> list[str]:
        """Return the ids of the notes whose field has a value that a test holds of."""
        is_wanted = cache(holds)
        return sorted({i for value, i in self._rows(_VALUES, field) if is_wanted(value)})

    def with_values(self, values: Iterable[str], but: Collection[str]) -> set[str]:
        """Return the ids of the notes that hold one of some values, as written, in any front matter
        field but some."""
        fields = [field for field in self.fields() if field not in but]
        query = "SELECT id FROM facts WHERE field = ? AND value = ?"
        return {i for fact in product(fields, values) for i in self._column(query, *fact)}

    def modified(self, first: str, last: str) -> list[str]:
        """Return the ids of the notes that were modified from one ISO date to another, both
        included; an empty one leaves its end open."""
        where = "modified >= ? AND modified < ? AND length(chunks) > 0"
        ends = first or "0", f"{last}T24" if last else "~"
        return self._column(f"SELECT id FROM notes WHERE {where} ORDER BY id", *ends)

    def cards(self) -> list[Any]:
        """Return id, title and time of modification of every note."""
        query = "SELECT id, title, modified FROM notes WHERE length(chunks) > 0 ORDER BY id"
        return [*self._db.execute(query)]

    def named(self, *names: str) -> list[str]:
        """Return the ids of the notes with one of some titles, aliases or file names, in order."""
        marks = ", ".join("?" * len(names))
        query = f"SELECT DISTINCT id FROM names WHERE key IN ({marks}) ORDER BY id"
        return self._column(query, *map(spelling_key, names))

    def titled(self, name: str) -> list[str]:
        """Return the titles of the notes with that title, alias or file name."""
        query = "SELECT title FROM names CROSS JOIN notes USING (id) WHERE key = ? ORDER BY id"
        return [*dict.fromkeys(self._column(query, name_key(name)))]

    def titles(self) -> list[str]:
        """Return the titles, aliases and file names of all notes."""
        return list(dict.fromkeys(self._column("SELECT name FROM names")))

    def stated_in(self, text: str, terms: Iterable[str]) -> list[tuple[str, str, int]]:
        """Return field, value and number of notes of each value that a text in lower case holds, or
        that holds one of some terms, the most frequent first."""
        long = [term for term in terms if len(term) > 1][:_MOST_TERMS]
        holds = "".join(" OR instr(lower(value), ?)" for _ in long)
        query = (
            "SELECT field, value, count(*) FROM facts WHERE field != ? AND length(value) > 1"
            f" GROUP BY field, value HAVING instr(?, lower(value)){holds}"
            f" ORDER BY count(*) DESC LIMIT {_MOST_STATED}"
        )
        return [*self._rows(query, TAGS, text, *long)]

    # -- words -------------------------------------------------------------------------

    def words_starting(self, prefix: str) -> list[str]:
        """Return the words that begin with `prefix`, in alphabetical order."""
        query = "SELECT word FROM words WHERE word >= ? AND word < ? ORDER BY word"
        return self._column(query, prefix, prefix + "\U0010ffff")

    def words_around(self, part: str) -> list[str]:
        """Return the words of katakana in which `part` stands."""
        query = "SELECT word FROM words WHERE word BETWEEN ? AND ? AND instr(word, ?)"
        return self._column(query, *_KATAKANA, part)

    def words_near(self, word: str) -> list[str]:
        """Return the words that `word` may be a slip of, the likeliest first.

        A slip adds, drops or changes a letter, or swaps two neighbours (optimal string alignment
        distance); in words of four letters none is changed. `_Near` says which come first, the
        last of it by Jaro and Winkler.
        """
        slips = 0 if len(word) < _ONE_SLIP else 1 if len(word) < _TWO_SLIPS else 2
        if not slips:
            return []
        nearest = self._nearest(word, slips, word[0])
        # Few slips are in the first letter; most often this spares reading all words.
        if not nearest or nearest[0][0] > 1:
            nearest = self._nearest(word, slips)
        return [near for *_, near in nearest[:_MAX_NEAR]]

    def _nearest(self, word: str, slips: int, beginning: str = "") -> list[_Near]:
        """Return the words with some beginning that another may be a slip of."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA, JaroWinkler

        likeness = JaroWinkler.similarity
        is_name = partial(self._column, "SELECT 1 FROM names WHERE key = ?")
        # In one text: rows of their own take twice as long.
        (text,) = self._db.execute(
            "SELECT group_concat(word, char(10)) FROM words"
            " WHERE word >= ? AND word < ? AND length(word) BETWEEN ? AND ?",
            (beginning, beginning + "\U0010ffff", len(word) - slips, len(word) + slips),
        ).fetchone()
        words = (text or "").split("\n")
        similar = process.extract(word, words, scorer=OSA.distance, score_cutoff=slips, limit=None)
        return sorted(
            (int(n), near[0] != word[0], not is_name(near), -likeness(word, near), near)
            for near, n, _ in similar
            if not (_LETTERS.fullmatch(word) and _is_changed(word, near))
        )

    # -- links -------------------------------------------------------------------------

    def resolve(self, target: str, vault: str, path: str) -> list[NamedNote]:
        """Return the notes that a link, without heading, of the note at a path leads to: one;
        several when they answer equally; none."""
        if target not in self._named:
            rows = self._db.execute(
                f"SELECT DISTINCT {_NOTE} FROM names CROSS JOIN notes ON notes.id = names.id"
                " WHERE key IN (?, ?) ORDER BY vault, path",
                (spelling_key(target), link_key(target)),
            )
            self._named[target] = [_note(*row) for row in rows]
        return matching_notes(target, vault, posixpath.dirname(path), self._named[target])

    def links_from(self, vault: str, path: str) -> list[Link]:
        """Return the links of a note, in the order of its text; those to files that are no notes
        are left out."""
        return [*self._read_links("vault = ? AND path = ?", vault, path)]

    def links_to(self, note: Any, among: Collection[str] | None = None) -> list[Link]:
        """Return the links of other notes to a note, by the vault and path of these.

        :param note: a `NamedNote`, or a row of the manifest.
        :param among: the ids of the notes whose links are looked at; all, where there are none.
        """
        keys = {link_key(name) for name in (PurePath(note.path).stem, note.title, *note.aliases)}
        marks = ", ".join("?" * len(keys))
        where = f"id IN (SELECT id FROM links WHERE key IN ({marks})) AND id != ?"
        return [
            link
            for link in self._read_links(where, *keys, note.id, keys=keys)
            if among is None or link.source.id in among
            if [target.id for target in link.notes] == [note.id]
        ]

    def wrong_links(self) -> Iterator[Link]:
        """Yield every link that no note answers to, or several do, by vault and path."""
        return (link for link in self._read_links("links != '{}'") if not link.is_clear)

    def _read_links(
        self, where: str, *values: str, keys: Collection[str] | None = None
    ) -> Iterator[Link]:
        """Yield the links to what may be a note, of the notes that a condition in SQL selects.

        :param keys: of the links that are wanted; all, without them.
        """
        query = f"SELECT links, {_NOTE} FROM notes WHERE {where} ORDER BY vault, path"
        for links, *row in self._db.execute(query, values):
            source = _note(*row)
            for target, line in json.loads(links).items():
                is_file = _OTHER_FILE.search(target) and not target.lower().endswith(SUFFIXES)
                if not is_file and (keys is None or link_key(target) in keys):
                    notes = self.resolve(target, source.vault, source.path)
                    yield Link(source, target, line, notes)


def _is_changed(word: str, near: str) -> bool:
    return len(word) == len(near) and sum(a != b for a, b in zip(word, near, strict=True)) == 1
