"""The part of the manifest that knows the values of notes: their tags and front matter values.

A fact is a field and one value of it; the values of `TAGS` are the notes' tags. Only notes with
chunks have facts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from itertools import product

from rag.text.tokenizer import name_key

SCHEMA = """
CREATE TABLE facts (
    field TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (field, value, id)
) WITHOUT ROWID;
CREATE INDEX facts_by_note ON facts (id);
CREATE INDEX cards ON notes (modified, id, title) WHERE length(chunks) > 0;
"""
TAGS = "tags"
_VALUES = "SELECT value, id FROM facts WHERE field = ?"
_SAMPLE = 100  # notes of a tag, by which its neighbours are told
_MOST_TERMS, _MOST_STATED = 20, 200  # that values are looked for by, and values


class CatalogTables:
    """What notes have."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def _column(self, query: str, *values: object) -> list[str]:
        return [value for (value,) in self._db.execute(query, values)]

    # -- tags and fields ---------------------------------------------------------------

    def tags(self) -> dict[str, int]:
        """Return every tag with the number of notes that have it, sorted."""
        return dict(self._counted(TAGS))

    def has_tag(self, tag: str) -> bool:
        """Return whether a note has exactly this tag."""
        query = "SELECT 1 FROM facts WHERE field = ? AND value = ? LIMIT 1"
        return bool(self._column(query, TAGS, tag))

    def beside(self, tag: str, limit: int = 5) -> list[str]:
        """Return the tags that stand beside a tag most often, as far as some of its notes tell."""
        return self._column(
            "SELECT value FROM facts WHERE field = ? AND value != ? AND id IN"
            f" (SELECT id FROM facts WHERE field = ? AND value = ? LIMIT {_SAMPLE})"
            " GROUP BY value ORDER BY count(*) DESC, value LIMIT ?",
            *(TAGS, tag, TAGS, tag, limit),
        )

    def has_field(self, name: str) -> bool:
        """Return whether a note has this front matter field."""
        query = "SELECT 1 FROM facts WHERE field = ? AND field != ? LIMIT 1"
        return bool(self._column(query, name, TAGS))

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
        """Return the names of the front matter fields with the number of notes that have each.

        :param field: return its values in their place.
        """
        if field:
            return self._counted(field) if field != TAGS else []
        query = "SELECT field, count(DISTINCT id) FROM facts WHERE field != ? GROUP BY field"
        return [*self._db.execute(query, (TAGS,))]

    def _counted(self, field: str) -> list[tuple[str, int]]:
        query = "SELECT value, count(*) FROM facts WHERE field = ? GROUP BY value"
        return [*self._db.execute(query, (field,))]

    # -- notes -------------------------------------------------------------------------

    def bearing(self, field: str, holds: Callable[[str], bool]) -> list[str]:
        """Return the ids of the notes whose field has a value that a test holds of."""
        rows, is_wanted = self._db.execute(_VALUES, (field,)), cache(holds)
        return sorted({identity for value, identity in rows if is_wanted(value)})

    def with_values(self, values: Iterable[str], but: Collection[str]) -> set[str]:
        """Return the ids of the notes that hold one of some values, as written, in any front matter
        field but some."""
        fields = [field for field in self.fields() if field not in but]
        query = "SELECT id FROM facts WHERE field = ? AND value = ?"
        return {i for fact in product(fields, values) for i in self._column(query, *fact)}

    def modified(self, first: str, last: str) -> list[str]:
        """Return the ids of the notes that were modified from one day to another, both included.

        :param first: an ISO date; empty leaves that end open, as for `last`.
        """
        return self._column(
            "SELECT id FROM notes WHERE modified >= ? AND modified < ? AND length(chunks) > 0"
            " ORDER BY id",
            *(first or "0", f"{last}T24" if last else "~"),
        )

    def cards(self) -> Iterator[tuple[str, str, str]]:
        """Yield id, title and time of modification of every note."""
        yield from self._db.execute(
            "SELECT id, title, modified FROM notes WHERE length(chunks) > 0 ORDER BY id"
        )

    def titled(self, name: str) -> list[str]:
        """Return the titles of the notes with that title, alias or file name."""
        titles = self._column(
            "SELECT title FROM names CROSS JOIN notes USING (id) WHERE key = ? ORDER BY id",
            name_key(name),
        )
        return list(dict.fromkeys(titles))

    def names(self) -> list[str]:
        """Return the titles, aliases and file names of all notes."""
        return list(dict.fromkeys(self._column("SELECT name FROM names")))

    def stated_in(self, text: str, terms: Iterable[str]) -> list[tuple[str, str, int]]:
        """Return field, value and number of notes of each value that a text in lower case holds, or
        that holds one of some terms, the most frequent first."""
        long = [term for term in terms if len(term) > 1][:_MOST_TERMS]
        holds = "".join(" OR instr(lower(value), ?)" for _ in long)
        rows = self._db.execute(
            "SELECT field, value, count(*) FROM facts WHERE field != ? AND length(value) > 1"
            f" GROUP BY field, value HAVING instr(?, lower(value)){holds}"
            f" ORDER BY count(*) DESC LIMIT {_MOST_STATED}",
            (TAGS, text, *long),
        )
        return [*rows]
