"""The texts of chunks, as phrases are looked for in them."""

from __future__ import annotations

import re
from functools import cached_property

from haystack.dataclasses import Document

from rag.index.searchable_text import file_name, lexical_parts, names_of
from rag.text.bm25 import pieces
from rag.text.tokenizer import TOKEN, cleaned


class Passage:
    """A chunk in which phrases are looked for."""

    def __init__(self, document: Document) -> None:
        self.note = note_of(document)
        self._document = document

    def holds(self, rough: re.Pattern[str], exact: re.Pattern[str]) -> bool:
        """Return whether a phrase stands in one of its texts.

        :param rough: finds the phrase wherever no markup parts its tokens; a tenth of the work.
        :param exact: finds it in the tokens of a text.
        """
        if not self._has_targets and not rough.search(self._raw):
            return False
        return any(map(exact.search, self._texts))

    @cached_property
    def _has_targets(self) -> bool:
        """Whether there may be markup with words that a reader does not see."""
        content = self._document.content or ""
        return "[" in content or "^" in content

    @cached_property
    def _raw(self) -> str:
        meta, content = self._document.meta, self._document.content or ""
        stated = meta.get("properties") or ()
        return cleaned("\n".join([file_name(meta), *names_of(meta), content, *stated]))

    @cached_property
    def _texts(self) -> list[str]:
        meta, content = self._document.meta, self._document.content
        stated = meta.get("properties") or ()
        parts = [file_name(meta), *lexical_parts(meta, content), *stated]
        return [_in_a_row(part) for part in parts]


def _in_a_row(text: str) -> str:
    text = cleaned(text)
    if text.isascii():  # several times as fast, and most English notes are
        return " ".join(pieces(text)[0])
    return " ".join(run or word for run, word in TOKEN.findall(text))


def rough_pattern(tokens: list[tuple[str, str]]) -> re.Pattern[str]:
    """Match the tokens with nothing between them but what is part of no token."""
    return re.compile(r"[\W_]*".join(re.escape(run or word) for run, word in tokens))


def pattern(tokens: list[tuple[str, str]]) -> re.Pattern[str]:
    """Match the tokens in a row: whole words, but any part of an unsegmented run at the ends."""
    row = " ".join(run or word for run, word in tokens)
    first, last = tokens[0][1], tokens[-1][1]
    head, tail = r"(?<!\S)" if first else "", r"(?!\S)" if last else ""
    return re.compile(head + re.escape(row) + tail)


def note_of(document: Document) -> str:
    """Return the id of a chunk's note."""
    return str(document.meta.get("file_id", document.id))
