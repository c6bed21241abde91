"""The sections of a note, by their headings."""

from __future__ import annotations

import re
from difflib import get_close_matches

from rag.exceptions import NotFoundError
from rag.index.lookup import FoundNote
from rag.text.normalize import name_key
from rag.vault.frontmatter import split_front_matter
from rag.vault.markdown import Heading, outline

_SUGGESTED = 5
_NO_SLUG = re.compile(r"[^\w\- ]")


def section_of(note: FoundNote, lines: list[str], wanted: str) -> slice:
    """Return the place in a note's lines of the section that a heading begins, up to the next
    heading that is not below it.

    :param wanted: the heading, in any case and width, or as the address of a web page has it
        (`rolling-back`); before it, each followed by `#`, may stand those above it.
    :raises NotFoundError: when there is no such heading; it suggests.
    """
    headings = outline(lines, split_front_matter(lines)).headings
    at = _find(headings, [part for part in wanted.split("#") if part.strip()])
    if at is None:
        texts = list(dict.fromkeys(heading.text for heading in headings))
        near = get_close_matches(wanted, texts, _SUGGESTED, 0.5) or texts[:_SUGGESTED]
        place = f"{note.row.vault}/{note.row.path}"
        raise NotFoundError(
            f"{place} has no heading {wanted!r}",
            hint="Name one of these." if near else "It has no headings at all.",
            suggestions=[f"{place}#{text}" for text in near],
        )
    heading = headings[at]
    below = (one.line for one in headings[at + 1 :] if one.level <= heading.level)
    return slice(heading.line, next(below, len(lines)))


def _find(headings: list[Heading], parts: list[str]) -> int | None:
    """Return which heading is the last of some parts, and stands below the others."""
    above: list[Heading] = []
    for at, heading in enumerate(headings):
        above = [one for one in above if one.level < heading.level] + [heading]
        if _matches(heading, parts[-1]) and _in_order(above[:-1], parts[:-1]):
            return at
    return None


def _in_order(above: list[Heading], parts: list[str]) -> bool:
    left = iter(above)
    return all(any(_matches(heading, part) for heading in left) for part in parts)


def _matches(heading: Heading, wanted: str) -> bool:
    text, asked = name_key(heading.text), name_key(wanted)
    return asked in (text, _NO_SLUG.sub("", text).replace(" ", "-"))
