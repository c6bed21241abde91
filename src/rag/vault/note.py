"""A note as it was read: its text by lines, what its front matter says, what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from rag.support.unicode_forms import compose
from rag.vault import limits
from rag.vault.frontmatter import as_strings, as_text, as_timestamp, split_front_matter
from rag.vault.markdown import INVISIBLE, Outline, outline

_CREATED_FIELDS = ("created", "date", "created_at", "date created", "作成日")
_MODIFIED_FIELDS = ("modified", "updated", "updated_at", "date modified", "更新日")


@dataclass(slots=True)
class Note:
    """One note.

    `path` is relative to the vault, with forward slashes, in NFC. `tags` are lower case and
    hold the parents of nested tags too. `created` and `modified` are ISO dates or date-times
    without a zone, empty where neither note nor file has one. `problems` says, in words, what
    could not be read as it was meant.
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
    links: list[str] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    body_line: int = 0
    problems: list[str] = field(default_factory=list)


def read_note(
    raw: bytes, vault: str, path: str, mtime: float, birthtime: float | None = None
) -> Note:
    """Make a note of a file's bytes.

    :param path: the path inside the vault.
    :param mtime: seconds since the epoch; the note's dates where its front matter has none.
    :param birthtime: when the file was made, where the system knows it.
    """
    problems: list[str] = []
    lines = split_lines(decode(raw, problems))
    if len(lines) > limits.MOST_LINES:
        problems.append(limits.too_many("lines", limits.MOST_LINES))
        del lines[limits.MOST_LINES :]
    front = split_front_matter(lines)
    if front.problem:
        problems.append(front.problem)
    found = outline(lines, front)
    problems += found.problems
    fields = front.fields
    lower = {key.lower(): value for key, value in fields.items()}
    tags = as_strings(lower.get("tags", lower.get("tag")), r"[,\s、]+")
    return Note(
        vault=vault,
        path=path,
        title=_title(lower.get("title"), found, path, problems),
        lines=lines,
        outline=found,
        aliases=_aliases(lower.get("aliases", lower.get("alias")), problems),
        tags=normalize_tags([*tags, *found.tags], problems),
        created=_date(lower, _CREATED_FIELDS, mtime if birthtime is None else birthtime, problems),
        modified=_date(lower, _MODIFIED_FIELDS, mtime, problems),
        links=list(found.links),
        fields=fields,
        body_line=front.body_line,
        problems=problems,
    )


def normalize_tags(tags: list[str], problems: list[str] | None = None) -> list[str]:
    """Return tags in NFKC and lower case, without `#` and zero-width characters, each followed
    by its parents.

    :param problems: receives what went beyond the bounds of a note, and is left out.
    """
    found: dict[str, None] = {}
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
            found[name] = None
            name = name.rpartition("/")[0].rstrip("/")
        if len(found) > limits.MOST_TAGS:
            left_out[limits.too_many("tags", limits.MOST_TAGS)] = None
            break
    if problems is not None:
        problems += [problem for problem in left_out if problem not in problems]
    return list(found)[: limits.MOST_TAGS]


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
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        name = encoding = "UTF-16"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        text = raw.decode(encoding, "replace")
        problems.append(f"not {name}: byte {error.start} was replaced by \ufffd")
    if "\0" in text:
        problems.append("holds NUL characters; is it a text file?")
        text = text.replace("\0", " ")
    return text


def _title(value: Any, found: Outline, path: str, problems: list[str]) -> str:
    title = as_text(value)
    if len(title) > limits.LONGEST_TITLE:
        problems.append(limits.cut_short("title", limits.LONGEST_TITLE))
        title = title[: limits.LONGEST_TITLE].rstrip()
    if title:
        return title
    for heading in found.headings:
        if heading.level == 1 and heading.text:
            return heading.text
    return PurePosixPath(path).stem


def _aliases(value: Any, problems: list[str]) -> list[str]:
    found = as_strings(value, r"[,、]")
    kept = [alias for alias in found if len(alias) <= limits.LONGEST_ALIAS]
    if len(kept) < len(found):
        problems.append(limits.too_long("alias", limits.LONGEST_ALIAS))
    if len(kept) > limits.MOST_ALIASES:
        problems.append(limits.too_many("aliases", limits.MOST_ALIASES))
    return kept[: limits.MOST_ALIASES]


def _date(
    fields: dict[str, Any], names: tuple[str, ...], fallback: float, problems: list[str]
) -> str:
    for name in names:
        value = fields.get(name)
        if value in (None, ""):
            continue
        stamp = as_timestamp(value)
        if stamp:
            return stamp
        shown = as_text(value)[:40] or type(value).__name__
        problems.append(f"front matter: {name!r} is not a date: {shown!r}")
    try:
        return datetime.fromtimestamp(fallback).replace(microsecond=0).isoformat()
    except (OSError, OverflowError, ValueError):
        problem = f"the file's own date is out of range: {fallback:.0f} seconds after 1970"
        if problem not in problems:
            problems.append(problem)
        return ""
