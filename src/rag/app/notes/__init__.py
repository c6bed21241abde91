"""Reading notes, and parts of them, by what people type to name them, and walking their links."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from errno import ELOOP
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from rag.app.index_state import check_vaults, open_index
from rag.app.results import copied
from rag.config import RAGConfig
from rag.exceptions import UPDATE_INDEX, NotFoundError, QueryError, UsageError
from rag.index.catalog import Link, NamedNote
from rag.index.lookup import FoundNote, find_note
from rag.index.manifest import NoteRow
from rag.support.json_reports import hidden, inline, optional
from rag.text.tokenizer import name_key
from rag.vault.chunking import chunk_lines, joined_lines
from rag.vault.markdown import SUFFIXES, page_starts

if TYPE_CHECKING:
    from rag.index.manifest import Manifest
    from rag.vault.markdown import Heading

NOT_HERE = (
    "the file is not on this machine: these are the lines that were indexed, without front matter"
)


@dataclass(frozen=True, kw_only=True)
class NoteReport:
    """A note, or some of its lines.

    :param id: `rag get ID` prints it. It stays as long as the note has its path.
    :param created: a day, or a day and a time; empty where it is not known.
    :param links: what it links to, as it is written.
    :param backlinks: the links of other notes to it.
    :param problems: what is wrong with it.
    :param line_start: the first line of `content`, from 1 in the file.
    :param more: how many lines are left out, where a limit was given.
    :param part: which lines were asked for, as it is written after a note's name.
    """

    id: str
    vault: str
    path: str
    file: Path
    title: str
    aliases: list[str]
    tags: list[str]
    created: str
    modified: str
    links: list[str]
    backlinks: list[Link]
    problems: list[str]
    line_start: int
    line_end: int
    content: str
    notice: str
    more: int = optional(0)
    part: str = hidden()
    lines: list[str] = hidden()
    note: FoundNote = hidden()


@dataclass(frozen=True)
class UnknownNote:
    """A name that no note answers to, or several do, or whose note cannot be read; `suggestions`
    are notes that may be meant."""

    name: str
    message: str
    hint: str
    suggestions: list[str]


@dataclass(frozen=True)
class NotesReport:
    """Notes that were asked for together.

    :param unknown: names that no note answers to.
    :param several: whether more than one was asked for, or a pattern.
    """

    notes: list[NoteReport]
    unknown: list[UnknownNote] = optional(factory=list)
    several: bool = hidden(False)


@dataclass(frozen=True)
class Limits:
    """How much of each note is given: whole lines; `None` where that does not matter."""

    lines: int | None = None
    bytes: int | None = None


def get_note(
    config: RAGConfig,
    name: str,
    vaults: Sequence[str] | None = None,
    folder: Path | None = None,
    limits: Limits | None = None,
) -> NoteReport:
    """Read a note, a section (`Glossary#Holds`) or lines of it (`Glossary:10-20`, `Glossary:10:5`).

    :param name: path, `vault/path`, title, alias or id, or a wiki link.
    :param folder: where a path may begin too.
    :raises UsageError: for lines that the note has not.
    """
    with open_index(config) as manifest:
        check_vaults(config, vaults, manifest.vaults())
        named = find_named(manifest, name, vaults, folder)
        backlinks = manifest.catalogue.links_to(named.note.row)
    return _read(config, named, backlinks, limits or Limits())


def get_notes(
    config: RAGConfig,
    names: Sequence[str],
    vaults: Sequence[str] | None = None,
    folder: Path | None = None,
    limits: Limits | None = None,
) -> NotesReport:
    """Read several notes, each once; a name may be a pattern of paths (`daily/2026-11-*`).

    A name that nothing answers to, and a note that cannot be read, is among `unknown` where there
    are others.

    :raises NotFoundError: as `get_note`, where the only name is not that of a note.
    """
    parts: dict[object, tuple[Named, list[Link]]] = {}
    several, unknown = len(names) > 1, list[UnknownNote]()
    with open_index(config) as manifest:
        check_vaults(config, vaults, manifest.vaults())
        for name in names:
            try:
                notes = [find_named(manifest, name, vaults, folder)]
            except NotFoundError as error:
                if notes := notes_like(manifest, name, vaults):
                    several = True
                elif len(names) == 1:
                    raise
                else:
                    unknown.append(_unknown(name, error))
            for named in notes:
                row = named.note.row
                parts[row.id, named.heading, named.span] = named, manifest.catalogue.links_to(row)
    read = []
    for named, links in parts.values():
        try:
            read.append(_read(config, named, links, limits or Limits()))
        except (NotFoundError, UsageError) as error:  # one that cannot be read stops no other
            if not several:
                raise
            unknown.append(_unknown(f"{named.note.row.vault}/{named.note.row.path}", error))
    return NotesReport(read, unknown, several)


def _unknown(name: str, error: NotFoundError | UsageError) -> UnknownNote:
    return UnknownNote(name, str(error), error.hint, error.suggestions)


def _read(config: RAGConfig, named: Named, backlinks: list[Link], limits: Limits) -> NoteReport:
    note, notice, first = named.note, "", 0
    if config.store.url and not note.file.exists():
        lines, notice = _indexed_lines(config, note.row), NOT_HERE
        first = next((at for at, line in enumerate(lines) if line), 0)  # that holds something
    else:
        lines = read_lines(note, config)
    span = named.part_of(lines)
    first = (first if span.start is None else span.start) + 1
    chosen = lines[first - 1 : span.stop]
    kept = chosen if limits.lines is None else chosen[: limits.lines]
    if limits.bytes is not None:
        sizes = accumulate(len(line.encode("utf-8", "replace")) + 1 for line in kept)
        kept = kept[: sum(size <= limits.bytes for size in sizes)]
    part = f"#{named.heading}" if named.heading else ""
    if named.span and (count := len(page_starts(lines))):
        last = named.span[1]
        notice = f"it has {count} pages" if last and last > count else notice
        part = f":{'-'.join(str(min(page, count)) for page in named.span if page)}"
    elif named.span:
        part = f":{first}-{first - 1 + len(chosen)}"
    return copied(
        NoteReport,
        note.row,
        file=note.file,
        links=[*note.row.links],
        backlinks=backlinks,
        line_start=first,
        line_end=max(first, first + len(kept) - 1),
        content="\n".join(kept),
        notice=notice,
        more=len(chosen) - len(kept),
        part=part,
        lines=kept,
        note=note,
    )


def _indexed_lines(config: RAGConfig, row: NoteRow) -> list[str]:
    """Return the lines of a note as far as its chunks hold them, the others empty."""
    from rag.stores import get_document_store

    with get_document_store(config) as store:
        chunks = store.get_documents([key.id for key in row.chunks])
    chunks.sort(key=lambda chunk: int(chunk.meta["position"]))
    held = joined_lines(chunk_lines(chunk.content or "", chunk.meta) for chunk in chunks)
    last = max(row.lines, max(held, default=0))
    return [held.get(number, "") for number in range(1, last + 1)]


def read_lines(note: FoundNote, config: RAGConfig) -> list[str]:
    """Return the lines of a note's file, or of the text in one that is no text, such as a PDF.

    :raises RAGError: when it is gone, cannot be read, or is too large to print.
    """
    from rag.support.files import open_file
    from rag.vault.limits import LARGEST_PRINTED
    from rag.vault.readers import reader_of

    name = f"{note.row.vault}/{note.row.path}"
    try:
        if not note.file.resolve().is_relative_to(note.root.resolve()):
            raise OSError(ELOOP, "it leads out of its vault now")
        reader = reader_of(note.row.path)
        if reader.is_document:
            from rag.indexing.note_reader import scanned_texts
            from rag.vault.document_process import read_document
            from rag.vault.documents import NOT_READ

            texts = scanned_texts(config.index_dir, note.row.hash) if config.index.ocr else {}
            document = read_document(str(note.file), texts)
            for problem in document.problems if not document.lines else ():
                why = problem.removeprefix(NOT_READ)
                raise NotFoundError(f"{name} has no text: {why}", hint=f"It is {note.file}.")
            return document.lines
        with open_file(note.file) as stream:
            raw = stream.read(LARGEST_PRINTED + 1)
    except OSError as error:
        what = f"{name} is in the index, but its file cannot be read"
        hint = UPDATE_INDEX if isinstance(error, FileNotFoundError) else ""
        raise NotFoundError(what, error.strerror or "", hint=hint) from error
    if len(raw) > LARGEST_PRINTED:
        hint = f"Open it with another program: it is {note.file}."
        raise UsageError(f"{name} is larger than {LARGEST_PRINTED // 1_000_000} MB", hint=hint)
    return reader.lines(raw)


OUT, IN, BOTH = "out", "in", "both"


@dataclass(frozen=True)
class Step:
    """A link that was walked, `depth` links from the note, in the direction `out` or `in`."""

    depth: int
    direction: str
    link: Link = inline()


@dataclass(frozen=True)
class LinksReport:
    """The links that lead from a note, or to it, the nearest first: `total`, of which `links` are
    as many as were asked for."""

    note: NoteRef
    direction: str
    links: list[Step]
    total: int


def walk_links(
    config: RAGConfig,
    note: str,
    direction: str = BOTH,
    depth: int = 1,
    limit: int | None = None,
    folder: Path | None = None,
) -> LinksReport:
    """Walk the links from a note (`out`), to it (`in`), or both, each note once.

    Links that no note answers to, or several do, are among them, and lead no further.

    :param depth: how many links after each other.
    """
    if direction not in (OUT, IN, BOTH):
        raise UsageError(f"unknown direction {direction!r}", hint="Links lead out, in or both.")
    with open_index(config) as manifest:
        row = find_named(manifest, note, folder=folder).note.row
        start = NamedNote(row.id, row.vault, row.path, row.title, tuple(row.aliases))
        steps: list[Step] = []
        seen, level = {start.id}, [start]
        for away in range(1, depth + 1):
            reached: dict[str, NamedNote] = {}
            for place in level:
                ends = list[tuple[str, Link, NamedNote | None]]()
                for link in manifest.catalogue.links_from(place.vault, place.path):
                    ends.append((OUT, link, link.notes[0] if link.is_clear else None))
                ends += [(IN, link, link.source) for link in manifest.catalogue.links_to(place)]
                for way, link, other in (end for end in ends if direction in (BOTH, end[0])):
                    if other is None or other.id not in seen:
                        steps.append(Step(away, way, link))
                    if other is not None and other.id not in seen:
                        reached[other.id] = other
            seen |= reached.keys()
            level = [*reached.values()]
    return LinksReport(NoteRef(*start[:4]), direction, steps[:limit], len(steps))


# -- what people type to name a note, or a part of it: a name, a link, lines, a heading, a pattern

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
    from rag.search.conditions import Places

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

    headings = outline(lines, split_front_matter(lines).body_line).headings
    parts = [part for part in wanted.split("#") if part.strip()]
    above: list[Heading] = []
    for at, heading in enumerate(headings):
        above = [parent for parent in above if parent.level < heading.level] + [heading]
        left = iter(above[:-1])  # those above must come in the order of the parts
        if _matches(heading, parts[-1]) and all(
            any(_matches(parent, part) for parent in left) for part in parts[:-1]
        ):
            below = (later.line for later in headings[at + 1 :] if later.level <= heading.level)
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
