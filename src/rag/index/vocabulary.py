"""The words that the notes hold, as they are written: for `word*`, and for words misspelt.

Words are only ever added; one whose last note went stays until the index is rebuilt. Whoever
takes a word from here asks the index whether any chunk still holds it (`ChunkCounts.holds`).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator

from rag.index.note_rows import transaction

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


class Vocabulary:
    """Reads and extends the table `words` of a manifest, and knows the notes' names.

    :param db: the manifest's connection.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def add(self, words: Iterable[str]) -> None:
        """Add words, those that are there already too."""
        with transaction(self._db):
            self._db.executemany("INSERT OR IGNORE INTO words VALUES (?)", ((w,) for w in words))

    def starting_with(self, prefix: str) -> list[str]:
        """Return the words that begin with `prefix`, in alphabetical order."""
        rows = self._db.execute(
            "SELECT word FROM words WHERE word >= ? AND word < ? ORDER BY word",
            (prefix, prefix + "\U0010ffff"),
        )
        return [word for (word,) in rows]

    def around(self, part: str) -> Iterator[str]:
        """Yield the words of katakana in which `part` stands."""
        find = "SELECT word FROM words WHERE word BETWEEN ? AND ? AND instr(word, ?)"
        return (word for (word,) in self._db.execute(find, (*_KATAKANA, part)))

    def near(self, word: str) -> Iterator[str]:
        """Yield the words that `word` may be a slip of, the likeliest first.

        A slip adds, drops or changes a letter, or swaps two neighbours (optimal string
        alignment distance); in words of four letters none is changed. Of words of as many slips
        those with the same first letter come first, then those that are a note's name, then the
        more similar by Jaro and Winkler.
        """
        slips = 0 if len(word) < _ONE_SLIP else 1 if len(word) < _TWO_SLIPS else 2
        if not slips:
            return
        nearest = self._nearest(word, slips, word[0])
        # Few slips are in the first letter; most often this spares reading all words.
        if not nearest or nearest[0][0] > 1:
            nearest = self._nearest(word, slips)
        yield from (near for *_, near in nearest[:_MAX_NEAR])

    def _nearest(self, word: str, slips: int, beginning: str = "") -> list[_Near]:
        """Return the words with some beginning that another may be a slip of."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA, JaroWinkler

        likeness = JaroWinkler.similarity
        rows = self._db.execute(
            "SELECT word FROM words WHERE word >= ? AND word < ? AND length(word) BETWEEN ? AND ?",
            (beginning, beginning + "\U0010ffff", len(word) - slips, len(word) + slips),
        )
        words = [near for (near,) in rows]
        similar = process.extract(word, words, scorer=OSA.distance, score_cutoff=slips, limit=None)
        return sorted(
            (int(n), near[0] != word[0], not self._is_name(near), -likeness(word, near), near)
            for near, n, _ in similar
            if not (_LETTERS.fullmatch(word) and _is_changed(word, near))
        )

    def _is_name(self, word: str) -> bool:
        query = "SELECT 1 FROM names WHERE key = ?"
        return self._db.execute(query, (word,)).fetchone() is not None


def _is_changed(word: str, near: str) -> bool:
    return len(word) == len(near) and sum(a != b for a, b in zip(word, near, strict=True)) == 1
