"""A note as it was read: its text by lines, what its front matter says, what is wrong with it."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any

from rag.support.file_kinds import READ
from rag.support.unicode_forms import compose
from rag.vault import limits
from rag.vault.frontmatter import FrontMatter, as_strings, as_text, as_timestamp, split_front_matter
from rag.vault.markdown import INVISIBLE, MARKDOWN, Heading, Outline, outline, page_starts

CREATED = ("created", "date", "created_at", "date created", "作成日")
MODIFIED = ("modified", "updated", "updated_at", "date modified", "更新日")
_YEARS = range(1900, 2101)
_NO_DATE = 40  # characters of a value that are shown

# A digit before or behind makes it another number, and so does a further part of one.
_NAMED = re.compile(
    r"(?<!\d)(?<!\d[-_.])(?P<year>\d{4})(?:"
    r"(?P<mark>[-_.])(?P<month>\d\d)(?P=mark)(?P<day>\d\d)(?!\d)"
    r"|-?[Ww](?P<week>\d\d?)(?!\d)"
    r"|-(?P<whole>\d\d)(?![\d]|[-_.]\d)"
    r"|年\s?(?P<month_ja>\d\d?)月(?:\s?(?P<day_ja>\d\d?)日)?"
    r"|(?P<joined>\d{4})(?:[-_T]?\d{4}(?:\d\d)?)?(?![\d]|[-_.]\d)"
    r")"
)


def date_in_name(name: str) -> str:
    """Return the first day that a name holds, as an ISO date: of a week its Monday, of a month the
    first. Empty where it holds none, or one before 1900 or after 2100.

    >>> date_in_name("2026-11-18 Anna"), date_in_name("2026-W47"), date_in_name("2026-13-40")
    ('2026-11-18', '2026-11-16', '')
    """
    for match in _NAMED.finditer(name):
        year, joined = int(match["year"]), match["joined"] or ""
        month = match["month"] or match["whole"] or match["month_ja"] or joined[:2]
        day = match["day"] or match["day_ja"] or joined[2:] or 1
        with suppress(ValueError):  # there may be no such day
            if match["week"]:
                named = date.fromisocalendar(year, int(match["week"]), 1)
            else:
                named = date(year, int(month), int(day))
            if year in _YEARS:
                return named.isoformat()
    return ""


def _own_date(fields: Mapping[str, Any], names: tuple[str, ...], problems: list[str]) -> str:
    for name in names:
        value = fields.get(name)
        if value in (None, ""):
            continue
        if stamp := as_timestamp(value):
            return stamp
        shown = as_text(value)[:_NO_DATE] or type(value).__name__
        problems.append(f"front matter: {name!r} is not a date: {shown!r}")
    return ""


def _file_date(time: float | None, problems: list[str]) -> str:
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time).replace(microsecond=0).isoformat()
    except (OSError, OverflowError, ValueError):
        problem = f"the file's own date is out of range: {time:.0f} seconds after 1970"
        if problem not in problems:
            problems.append(problem)
        return ""


_ESCAPE = "\x1b$"  # before Japanese in ISO-2022-JP


@dataclass(slots=True)
class Note:
    """One note.

    `path` is relative to the vault, with forward slashes, in NFC. `tags` are lower case and
    hold the parents of nested tags too. `created` and `modified` are ISO dates or date-times
    without a zone, empty where neither note nor file has one. `links` maps what each link names to
    the line where it stands first, from 1. `problems` says, in words, what could not be read as it
    was meant; `state` is that of a `rag.vault.documents.Document`.
    """

    vault: str
    path: str
    title: str
    lines: list[str]
    outline: Outline
    aliases: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    created: str = ""
    modified: str = ""
    links: dict[str, int] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    body_line: int = 0
    problems: list[str] = field(default_factory=list)
    state: str = ""
    _pages: list[int] | None = None

    def page_at(self, line: int) -> int:
        """Return the number of the page that a line, from 1, is on; 0 where there are no pages."""
        if self._pages is None:
            self._pages = page_starts(self.lines)
        return bisect_left(self._pages, line)


def read_note(
    raw: bytes, vault: str, path: str, mtime: float | None, birthtime: float | None = None
) -> Note:
    """Make a note of the bytes of a Markdown file.

    :param path: the path inside the vault.
    :param mtime: seconds since the epoch, for a note that names no date itself; `None` where the
        time says nothing about it.
    :param birthtime: when the file was made, where the system knows it.
    """
    problems: list[str] = []
    lines = split_lines(decode(raw, problems))
    front = split_front_matter(lines)
    if front.problem:
        problems.append(front.problem)
    return make_note(lines, vault, path, mtime, birthtime, problems, front)


def make_note(
    lines: list[str],
    vault: str,
    path: str,
    mtime: float | None,
    birthtime: float | None,
    problems: list[str],
    front: FrontMatter | None = None,
) -> Note:
    """Make a note of lines; see `read_note`.

    :param problems: what was wrong with them; more may be added.
    :param front: their front matter; `None` for a kind of file that has none.
    """
    if len(lines) > limits.MOST_LINES:
        problems.append(limits.too_many("lines", limits.MOST_LINES))
        del lines[limits.MOST_LINES :]
    head = front or FrontMatter({}, 0, "")
    if "excalidraw-plugin" in head.fields or path.lower().endswith(_DRAWINGS):
        blank_drawing(lines, head.body_line)
    is_document = PurePosixPath(path).suffix.lower() in READ  # what looks like a link there is none
    body = outline(lines, head.body_line, links=not is_document)
    problems += body.problems
    fields = {key.lower(): value for key, value in head.fields.items()}
    tags = as_strings(fields.get("tags", fields.get("tag")), r"[,\s、]+")
    return Note(
        vault=vault,
        path=path,
        title=_title(
            fields.get("title"), body.headings if front and not is_document else [], path, problems
        ),
        lines=lines,
        outline=body,
        aliases=_aliases(fields.get("aliases", fields.get("alias")), problems),
        tags=normalize_tags([*tags, *body.tags], problems),
        created=_own_date(fields, CREATED, problems)
        or date_in_name(PurePosixPath(path).stem)
        or _file_date(mtime if birthtime is None else birthtime, problems),
        modified=_own_date(fields, MODIFIED, problems) or _file_date(mtime, problems),
        links={link: line + 1 for link, line in body.links.items()},
        fields=head.fields,
        body_line=head.body_line,
        problems=problems,
    )


def normalize_tags(tags: list[str], problems: list[str] | None = None) -> list[str]:
    """Return tags in NFKC and lower case, without `#` and zero-width characters, each followed
    by its parents.

    :param problems: receives what went beyond the bounds of a note, and is left out.
    """
    names: dict[str, None] = {}
    left_out: dict[str, None] = {}
    for tag in tags:
        name = compose(INVISIBLE.sub("", tag[: 2 * limits.LONGEST_TAG]), "NFKC").lower()
        name = name.lstrip("#").strip("/ ")
        if max(len(name), len(tag)) > limits.LONGEST_TAG:
            left_out[limits.too_long("tag", limits.LONGEST_TAG)] = None
            continue
        if name.count("/") >= limits.MOST_TAG_LEVELS:
            left_out[f"a tag has more than {limits.MOST_TAG_LEVELS} levels: it is left out"] = None
            continue
        while name:
            names[name] = None
            name = name.rpartition("/")[0].rstrip("/")
        if len(names) > limits.MOST_TAGS:
            left_out[limits.too_many("tags", limits.MOST_TAGS)] = None
            break
    if problems is not None:
        problems += [problem for problem in left_out if problem not in problems]
    return list(names)[: limits.MOST_TAGS]


def split_lines(text: str) -> list[str]:
    r"""Split at `\n`, `\r\n` and `\r` alone: what an editor counts as lines.

    `str.splitlines` would also split at form feeds and Unicode separators.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def decode(raw: bytes, problems: list[str]) -> str:
    """Return the text of a note's bytes; what had to be replaced is added to `problems`."""
    name, encoding = "UTF-8", "utf-8-sig"
    if raw.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # the first begins as UTF-16's
        name = encoding = "UTF-32"
    elif raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name = encoding = "UTF-16"
    text, wrong = "", -1
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        wrong = error.start
    # Japanese in ISO-2022-JP is ASCII with escapes.
    if name == "UTF-8" and (wrong >= 0 or (_ESCAPE in text and raw.isascii())):
        from rag.vault.encodings import decode_other

        if other := decode_other(raw):
            text, wrong = other[0], -1
            problems.append(f"not UTF-8: read as {other[1]}")
    if wrong >= 0:
        problems.append(f"not {name}: byte {wrong} was replaced by \ufffd")
        text = raw.decode(encoding, "replace")
    if "\0" in text:
        problems.append("holds NUL characters; is it a text file?")
        text = text.replace("\0", " ")
    return text


def _title(value: Any, headings: list[Heading], path: str, problems: list[str]) -> str:
    title = as_text(value)
    if len(title) > limits.LONGEST_TITLE:
        problems.append(limits.cut_short("title", limits.LONGEST_TITLE))
        title = title[: limits.LONGEST_TITLE].rstrip()
    if title:
        return title
    for heading in headings:
        if heading.level == 1 and heading.text:
            return heading.text
    stem = PurePosixPath(path).stem
    return stem[: -len(_MARK)] or stem if path.lower().endswith(_DRAWINGS) else stem


def _aliases(value: Any, problems: list[str]) -> list[str]:
    names = as_strings(value, r"[,、]")
    kept = [alias for alias in names if len(alias) <= limits.LONGEST_ALIAS]
    if len(kept) < len(names):
        problems.append(limits.too_long("alias", limits.LONGEST_ALIAS))
    if len(kept) > limits.MOST_ALIASES:
        problems.append(limits.too_many("aliases", limits.MOST_ALIASES))
    return kept[: limits.MOST_ALIASES]


# -- drawings of the Excalidraw plugin: text of the user, then parts of the plugin ---------

_MARK = ".excalidraw"
_DRAWINGS = tuple(_MARK + suffix for suffix in MARKDOWN)
_TEXTS, _DRAWING = "Text Elements", "Drawing"
_FIRST = ("Excalidraw Data", _TEXTS)  # of which one begins the plugin's parts; no note is called so
_PARTS = (*_FIRST, "Element Links", "Embedded Files", _DRAWING)
_HEADING = re.compile(r"#{1,6}[ \t]+(\S.*)$")
_DATA = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*(?:compressed-json|json)[ \t]*$")
_NOTICE = re.compile(r"==\s*\u26a0.*EXCALIDRAW VIEW")


def blank_drawing(lines: list[str], first: int) -> None:
    """Empty the lines of a drawing that its user did not write: the plugin's notice and all of its
    parts but for the text elements. No line gets another number.

    :param first: the first line of the body.
    """
    part, above = "", first  # the plugin's part that a line is in; the last line that is not empty
    for number in range(first, len(lines)):
        line, below = lines[number], filter(str.strip, lines[number + 1 : number + 4])
        heading = _HEADING.match(line)
        name = heading[1].rstrip("# \t") if heading else ""
        is_data = name == _DRAWING and _DATA.match(next(below, "")) is not None
        if name in (_PARTS if part else _FIRST) or is_data:
            if not part and lines[above].strip() == "%%":
                lines[above] = ""  # it makes a comment of the plugin's parts
            part, lines[number] = name, ""
        elif _NOTICE.match(line) or (part and (part != _TEXTS or line.strip() == "%%")):
            lines[number] = ""
        elif line.strip():
            above = number
