"""The part of the manifest that knows the values of notes: their tags and front matter values.

A fact is a field and one value of it; the values of `TAGS` are the notes' tags. Facts and notes
have numbers. The table `bearers` holds which notes have a fact, the table `cards` which facts a
note has, so that every question is an index look-up. A pair is one number, that of the fact before
that of the note: pairs then take a fifth of the time to verify, which every search does.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

from rag.text.tokenizer import name_key

SCHEMA = """
CREATE TABLE cards (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
    modified TEXT NOT NULL, facts TEXT NOT NULL
);
CREATE INDEX cards_by_modified ON cards (modified);
CREATE TABLE facts (
    number INTEGER PRIMARY KEY, field TEXT NOT NULL, value TEXT NOT NULL, notes INTEGER NOT NULL,
    UNIQUE (field, value)
);
CREATE INDEX facts_by_use ON facts (field, notes);
CREATE TABLE bearers (pair INTEGER PRIMARY KEY);
"""
TAGS = "tags"
_NOTES = 1 << 32  # more than there ever are
_SAMPLE = 100  # notes of a tag, by which its neighbours are told
_MOST_BESIDE = 500  # of the facts that those have
_MOST_TERMS, _MOST_STATED = 20, 200  # that values are looked for by, and values

FieldValue = tuple[str, str]  # field and value


class CatalogTables:
    """What notes have. Its writing methods are part of the manifest's own transactions."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    # -- writing -----------------------------------------------------------------------

    def put(self, identity: str, title: str, modified: str, facts: Iterable[FieldValue]) -> None:
        """Record what a note has, in the place of what it had before."""
        self.drop(identity)
        numbers = [self._count(fact) for fact in dict.fromkeys(facts)]
        note = self._db.execute(
            "INSERT INTO cards (id, title, modified, facts) VALUES (?, ?, ?, ?)",
            (identity, title, modified, json.dumps(numbers)),
        ).lastrowid
        pairs = [(number * _NOTES + (note or 0),) for number in numbers]
        self._db.executemany("INSERT INTO bearers VALUES (?)", pairs)

    def _count(self, fact: FieldValue) -> int:
        """Count one more note that has a fact; return the fact's number."""
        rows = self._db.execute(
            "INSERT INTO facts (field, value, notes) VALUES (?, ?, 1)"
            " ON CONFLICT (field, value) DO UPDATE SET notes = notes + 1 RETURNING number",
            fact,
        )
        return int(rows.fetchone()[0])

    def drop(self, identity: str) -> None:
        """Forget a note, and what no other note has."""
        wanted = "SELECT number, facts FROM cards WHERE id = ?"
        for note, facts in self._db.execute(wanted, (identity,)).fetchall():
            numbers = [(number,) for number in json.loads(facts)]
            self._db.executemany(f"DELETE FROM bearers WHERE pair = ? * {_NOTES} + {note}", numbers)
            self._db.executemany("UPDATE facts SET notes = notes - 1 WHERE number = ?", numbers)
            self._db.executemany("DELETE FROM facts WHERE number = ? AND notes = 0", numbers)
            self._db.execute("DELETE FROM cards WHERE number = ?", (note,))

    def _number(self, fact: FieldValue) -> int:
        """Return the number of a fact, 0 where no note has it."""
        wanted = "SELECT number FROM facts WHERE field = ? AND value = ?"
        row = self._db.execute(wanted, fact).fetchone()
        return row[0] if row else 0

    def _notes_with(self, column: str, fact: int, most: int = -1) -> Iterator[tuple[str]]:
        """Yield a column of the cards of the notes that have a fact."""
        first = fact * _NOTES
        return self._db.execute(
            f"SELECT {column} FROM bearers CROSS JOIN cards ON number = pair - ?"
            " WHERE pair BETWEEN ? AND ? LIMIT ?",
            (first, first, first + _NOTES - 1, most),
        )

    # -- reading -----------------------------------------------------------------------

    def tags(self) -> dict[str, int]:
        """Return every tag with the number of notes that have it, sorted."""
        query = "SELECT value, notes FROM facts WHERE field = ? ORDER BY value"
        return dict(self._db.execute(query, (TAGS,)))

    def has_tag(self, tag: str) -> bool:
        """Return whether a note has exactly this tag."""
        return self._number((TAGS, tag)) > 0

    def beside(self, tag: str, limit: int) -> list[str]:
        """Return the tags that stand beside a tag most often, as far as some of its notes tell."""
        cards = self._notes_with("facts", self._number((TAGS, tag)), _SAMPLE)
        counts = Counter(number for (facts,) in cards for number in json.loads(facts))
        often = [number for number, _ in counts.most_common(_MOST_BESIDE)]
        marks = ", ".join("?" * len(often))
        names = self._db.execute(
            "SELECT value, number FROM facts WHERE field = ? AND value != ?"
            f" AND number IN ({marks})",
            (TAGS, tag, *often),
        )
        ranked = sorted((-counts[number], name) for name, number in names)
        return [name for _, name in ranked[:limit]]

    def has_field(self, name: str) -> bool:
        """Return whether a note has this front matter field."""
        wanted = "SELECT 1 FROM facts WHERE field = ? AND field != ? LIMIT 1"
        return self._db.execute(wanted, (name, TAGS)).fetchone() is not None

    def fields(self) -> list[str]:
        """Return the names of the front matter fields, sorted."""
        # One look for each name, where a DISTINCT would read all values.
        rows = self._db.execute(
            "WITH RECURSIVE names (name) AS (SELECT min(field) FROM facts UNION ALL"
            " SELECT (SELECT min(field) FROM facts WHERE field > name) FROM names"
            " WHERE name IS NOT NULL)"
            " SELECT name FROM names WHERE name IS NOT NULL AND name != ?",
            (TAGS,),
        )
        return [name for (name,) in rows]

    def values(self, field: str, limit: int) -> list[str]:
        """Return what a field holds, the most frequent first."""
        rows = self._db.execute(
            "SELECT value FROM facts WHERE field = ? AND field != ?"
            " ORDER BY notes DESC, number DESC LIMIT ?",
            (field, TAGS, limit),
        )
        return [value for (value,) in rows]

    def counts(self, field: str = "") -> list[tuple[str, int]]:
        """Return the names of the front matter fields with the number of notes that have each.

        :param field: return its values in their place.
        """
        if field:
            wanted = "SELECT value, notes FROM facts WHERE field = ? AND field != ?"
            return [*self._db.execute(wanted, (field, TAGS))]
        rows = self._db.execute(
            f"SELECT field, count(DISTINCT pair % {_NOTES}) FROM facts CROSS JOIN bearers"
            f" ON pair BETWEEN number * {_NOTES} AND number * {_NOTES} + {_NOTES - 1}"
            " WHERE field != ? GROUP BY field",
            (TAGS,),
        )
        return [*rows]

    def bearing(self, field: str, holds: Callable[[str], bool]) -> list[str]:
        """Return the ids of the notes whose field has a value that a test holds of."""
        values = self._db.execute("SELECT value, number FROM facts WHERE field = ?", (field,))
        numbers = [number for value, number in values if holds(value)]
        return sorted(
            {identity for number in numbers for (identity,) in self._notes_with("id", number)}
        )

    def with_values(self, values: Iterable[str], but: Collection[str]) -> set[str]:
        """Return the ids of the notes that hold one of some values, as written, in any front matter
        field but some."""
        fields = [field for field in self.fields() if field not in but]
        facts = [self._number((field, value)) for value in values for field in fields]
        return {identity for fact in facts if fact for (identity,) in self._notes_with("id", fact)}

    def modified(self, first: str, last: str) -> list[str]:
        """Return the ids of the notes that were modified from one day to another, both included.

        :param first: an ISO date; empty leaves that end open, as for `last`.
        """
        rows = self._db.execute(
            "SELECT id FROM cards WHERE modified >= ? AND modified < ? ORDER BY id",
            (first or "0", f"{last}T24" if last else "~"),
        )
        return [identity for (identity,) in rows]

    def cards(self) -> Iterator[tuple[str, str, str]]:
        """Yield id, title and time of modification of every note."""
        yield from self._db.execute("SELECT id, title, modified FROM cards ORDER BY id")

    def titled(self, name: str) -> list[str]:
        """Return the titles of the notes with that title, alias or file name."""
        rows = self._db.execute(
            "SELECT title FROM names JOIN cards USING (id) WHERE key = ? ORDER BY id",
            (name_key(name),),
        )
        return list(dict.fromkeys(title for (title,) in rows))

    def names(self) -> list[str]:
        """Return the titles, aliases and file names of all notes."""
        return list(dict.fromkeys(name for (name,) in self._db.execute("SELECT name FROM names")))

    def stated_in(self, text: str, terms: Iterable[str]) -> list[tuple[str, str, int]]:
        """Return field, value and number of notes of each value that a text holds, or that holds
        one of some terms, the most frequent first.

        :param text: in lower case, as the terms are.
        """
        long = [term for term in terms if len(term) > 1][:_MOST_TERMS]
        holds = "".join(" OR instr(lower(value), ?)" for _ in long)
        rows = self._db.execute(
            "SELECT field, value, notes FROM facts WHERE field != ? AND length(value) > 1"
            f" AND (instr(?, lower(value)){holds}) ORDER BY notes DESC LIMIT {_MOST_STATED}",
            (TAGS, text, *long),
        )
        return [*rows]

    def size(self) -> tuple[int, int]:
        """Return how many notes and facts there are."""
        query = "SELECT (SELECT count(*) FROM cards), (SELECT count(*) FROM facts)"
        notes, facts = self._db.execute(query).fetchone()
        return notes, facts
