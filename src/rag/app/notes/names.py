"""What people type to name a note, or a part of it: a name, a link, lines, a heading, a pattern."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from rag.exceptions import NotFoundError, QueryError, UsageError
from rag.index.lookup import FoundNote, find_note
from rag.text.tokenizer import name_key
from rag.vault.markdown import SUFFIXES, page_starts

if TYPE_CHECKING:
    from rag.index.manifest import Manifest
    from rag.vault.markdown import Heading

_LINK = re.compile(r"!?\[\[(?P<target>[^\[\]|]+?)\\?(?:\|[^\[\]]*)?\]\]$")
_PAGE = re.compile(r"page=(\d{1,9})")  # as in the address of a PDF
_SUGGESTED = 5
_NO_SLUG = re.compile(r"[^\w\- ]")
_MOST_MARKS = 8  # of a heading, in one name: at each of them the note's name may end
_SPAN = re.compile(
    r"(?P<name>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9})|:(?P<count>\d{1,9}))?$", re.DOTALL
)


@dataclass(frozen=True)
class NoteRef:
    """A note of a report, in the names of schema 1."""

    id: str
    vault: str
    path: str
    title: str


@dataclass(frozen=True)
class Named:
    """A note that was named, and the part of it: a heading, or a first and a last line, or neither.
    A span without a last line goes on to the note's end. Of a file with pages it is one of these,
    and without a last page one page."""

    note: FoundNote
    heading: str = ""
    span: tuple[int, int | None] | None = None

    def part_of(self, lines: list[str]) -> slice:
        """Return the place of the part in the note's lines.

        :raises UsageError: for lines that run backwards, or that the note has not.
        """
        pages = page_starts(lines)
        span, page = self.span, _PAGE.fullmatch(self.heading) if pages else None
        if page:
            span = int(page[1]), None
        elif pages and self.heading.startswith("page="):
            raise UsageError(f"{self.heading[5:]!r} is no page", hint=f"It has {len(pages)}.")
        elif span is None:
            return section_of(self.note, lines, self.heading) if self.heading else slice(len(lines))
        (first, last), count = span, len(pages or lines)
        what = "page" if pages else "line"
        if last is not None and last < first:
            swapped = f"Name the smaller number first: {last}-{first}."
            raise UsageError(f"{what}s {first}-{last} run backwards", hint=swapped)
        if not 1 <= first <= max(count, 1):
            raise UsageError(f"there is no {what} {first}", hint=f"It has {count}.")
        if pages:
            return slice(pages[first - 1], [*pages, len(lines)][min(last or first, count)])
        return slice(first - 1, count if last is None else last)


def find_named(
    manifest: Manifest, name: str, vaults: Sequence[str] | None = None, folder: Path | None = None
) -> Named:
    """Find the note, or the part of one, that a text names.

    Besides the names of `find_note` it may be a wiki link; a name and `#heading`, or lines; or a
    path from a folder. A note whose own name reads like one of these goes first.

    """
    link = _LINK.match(name.strip())
    missing: list[NotFoundError] = []
    for called, heading, span in _readings(link["target"].strip() if link else name):
        try:
            return Named(_find(manifest, called, list(vaults or ()), folder), heading, span)
        except NotFoundError as error:
            missing.append(error)
    raise next((error for error in reversed(missing) if error.suggestions), missing[0])


def _readings(text: str) -> Iterator[tuple[str, str, tuple[int, int | None] | None]]:
    """Yield what a text may mean: the name of a note, and a heading or lines."""
    yield text, "", None
    if span := _SPAN.match(text):
        first, last = int(span["first"]), int(span["last"]) if span["last"] else None
        if span["count"]:
            last = first + int(span["count"]) - 1
            if last < first:
                hint = "The second number is how many: note:10:5."
                raise UsageError("no lines are named", hint=hint)
        yield span["name"], "", (first, last)
    for mark in islice(re.finditer("#", text), _MOST_MARKS):
        called, heading = text[: mark.start()].strip(), text[mark.end() :].strip()
        if called and heading:
            yield called, heading, None


def _find(manifest: Manifest, name: str, vaults: list[str], folder: Path | None) -> FoundNote:
    """Find a note by its name, or by its path from a folder where no one note has that name."""
    try:
        return find_note(manifest, name, vaults or None)
    except NotFoundError:
        if not folder or "\0" in name:
            raise
        file = folder / name
        wanted = {Path(os.path.normpath(file)), Path(os.path.realpath(file))}
        for vault, root in manifest.vaults().items():
            for start in {Path(root), Path(os.path.realpath(root))}:
                for path in wanted if not vaults or vault in vaults else ():
                    inner = path.relative_to(start) if path.is_relative_to(start) else Path()
                    for suffix in ("", *SUFFIXES):
                        row = manifest.note(vault, normalize("NFC", inner.as_posix()) + suffix)
                        if row and row.chunks:
                            return FoundNote(row, Path(root))
        raise


def notes_like(manifest: Manifest, name: str, vaults: Sequence[str] | None = None) -> list[Named]:
    """Return the notes whose path matches a pattern such as `daily/2026-11-*`, by vault and path.

    None when the text is no pattern.
    """
    if not {"*", "?"} & {*name}:
        return []
    from rag.search.understanding.query_conditions import Places

    try:
        matched = {*Places(manifest).at_paths([name, *(name + suffix for suffix in SUFFIXES)])}
    except QueryError:  # a title that ends with a backslash, for example
        return []
    roots = manifest.vaults()
    rows = (
        manifest.note(vault, path)
        for vault, path, _, _, identity in manifest.names()
        if identity in matched and (not vaults or vault in vaults)
    )
    return [Named(FoundNote(row, Path(roots[row.vault]))) for row in rows if row]


def section_of(note: FoundNote, lines: list[str], wanted: str) -> slice:
    """Return the place in a note's lines of the section that a heading begins, up to the next
    heading that is not below it.

    :param wanted: the heading, in any case and width, or as the address of a web page has it
        (`rolling-back`); before it, each followed by `#`, may stand those above it.
    """
    from rag.vault.frontmatter import split_front_matter
    from rag.vault.markdown import outline

    headings = outline(lines, split_front_matter(lines)).headings
    parts = [part for part in wanted.split("#") if part.strip()]
    above: list[Heading] = []
    for at, heading in enumerate(headings):
        above = [one for one in above if one.level < heading.level] + [heading]
        left = iter(above[:-1])  # those above must come in the order of the parts
        if _matches(heading, parts[-1]) and all(
            any(_matches(one, part) for one in left) for part in parts[:-1]
        ):
            below = (one.line for one in headings[at + 1 :] if one.level <= heading.level)
            end = next(below, len(lines))
            return slice(heading.line, end - len(page_starts(lines[end - 1 : end])))
    texts = [text for text in dict.fromkeys(heading.text for heading in headings) if text]
    near = get_close_matches(wanted, texts, _SUGGESTED, 0.5) or texts[:_SUGGESTED]
    place = f"{note.row.vault}/{note.row.path}"
    raise NotFoundError(
        f"{place} has no heading {wanted!r}",
        hint="Name one of these." if near else "It has no headings at all.",
        suggestions=[f"{place}#{text}" for text in near],
    )


def _matches(heading: Heading, wanted: str) -> bool:
    text, asked = name_key(heading.text), name_key(wanted)
    return asked in (text, _NO_SLUG.sub("", text).replace(" ", "-"))
