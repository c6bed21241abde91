"""A passage together with what stands before and after it in its note."""

from __future__ import annotations

from dataclasses import dataclass

from haystack.dataclasses import Document

from rag.vault.chunk_lines import chunk_lines, merged_text


@dataclass(frozen=True)
class Span:
    """The text of neighbouring chunks of a note, without what two of them repeat.

    :param heading: the headings above its first line.
    :param added: the lines (first, last) of each part that is no part of the passage itself, in
        order.
    """

    text: str
    heading: tuple[str, ...]
    added: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Around:
    """A passage that was found, and the chunks before and after it, where there are any."""

    passage: Document
    before: Document | None = None
    after: Document | None = None

    def span(self, before: bool, after: bool) -> Span:
        """Return the passage with those of its neighbours that are wanted and there."""
        parts = [
            *([self.before] if before and self.before else []),
            self.passage,
            *([self.after] if after and self.after else []),
        ]
        held = [chunk_lines(part.content or "", part.meta) for part in parts]
        added = [
            (lines.first, lines.last)
            for part, lines in zip(parts, held, strict=True)
            if part is not self.passage
        ]
        heading = tuple(map(str, parts[0].meta.get("heading") or ()))
        return Span(merged_text(held), heading, tuple(added))
