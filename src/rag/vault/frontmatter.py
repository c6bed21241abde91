"""Front matter: the YAML block at the head of a note, read as forgivingly as people write it."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any, NamedTuple

_FENCE = re.compile(r"---[ \t]*$")
_END = re.compile(r"(?:---|\.\.\.)[ \t]*$")
_SIMPLE = re.compile(r"([A-Za-z_][\w -]*):[ \t]+(\S.*)$")
_MAX_LINES = 2000  # a `---` rule without front matter must not be searched to the end of a book


class FrontMatter(NamedTuple):
    """What stood above the body.

    `fields` is empty when there was none; `body_line` is the number of lines before the
    body; `problem` says what was wrong with the block, or is empty.
    """

    fields: dict[str, Any]
    body_line: int
    problem: str


def split_front_matter(lines: list[str]) -> FrontMatter:
    """Read the front matter of a note given as lines.

    A block that is not valid YAML still gives those of its lines that are plain `key: value`
    pairs, and says what is wrong. A block that is no mapping is part of the body.
    """
    if not lines or not _FENCE.match(lines[0]):
        return FrontMatter({}, 0, "")
    for end, line in enumerate(lines[1:_MAX_LINES], 1):
        if _END.match(line):
            break
    else:
        return FrontMatter({}, 0, "")
    block = "\n".join(lines[1:end])
    if not block.strip():
        return FrontMatter({}, end + 1, "")
    try:
        loaded = _load_yaml(block)
    except Exception as error:  # YAMLError, ValueError (impossible dates), RecursionError, …
        return FrontMatter(_salvage(lines[1:end]), end + 1, f"front matter: {_brief(error)}")
    if loaded is None:
        return FrontMatter({}, end + 1, "")
    if not isinstance(loaded, dict):
        kind = type(loaded).__name__
        return FrontMatter({}, 0, f"front matter: expected `key: value` lines, found a {kind}")
    return FrontMatter({str(key): value for key, value in loaded.items()}, end + 1, "")


def _load_yaml(block: str) -> Any:
    from frontmatter.default_handlers import YAMLHandler

    return YAMLHandler().load(block)  # type: ignore[no-untyped-call]


def _salvage(lines: list[str]) -> dict[str, Any]:
    """Keep the `key: value` lines of a broken block: `title: Foo: bar` is what people write."""
    fields: dict[str, Any] = {}
    for line in lines:
        pair = _SIMPLE.match(line)
        if not pair:
            continue
        key, text = pair[1].strip(), pair[2].strip()
        try:
            value = _load_yaml(text)
        except Exception:
            value = text
        fields.setdefault(key, value if isinstance(value, (str, int, float, list, date)) else text)
    return fields


def _brief(error: Exception) -> str:
    problem = getattr(error, "problem", None)
    mark = getattr(error, "problem_mark", None)
    # The block starts below its `---`, and marks count from 0.
    where = f" (line {mark.line + 2})" if mark is not None else ""
    text = str(problem or error).split("\n")[0]
    return f"{text or type(error).__name__}{where}"


def as_strings(value: Any, separators: str) -> list[str]:
    """Flatten a null, a scalar, a list or a mixed list into distinct, stripped strings.

    :param separators: a regular expression that splits a bare string.
    """
    if value is None or isinstance(value, dict):
        return []
    items = re.split(separators, value) if isinstance(value, str) else value
    found: dict[str, None] = {}
    for item in items if isinstance(items, (list, tuple, set)) else [items]:
        if item is None or isinstance(item, (list, tuple, set, dict)):
            continue
        text = " ".join(str(item).split())
        if text:
            found[text] = None
    return list(found)


def as_timestamp(value: Any) -> str:
    """Return `value` as the ISO date or date-time that its author wrote, or an empty string.

    A time zone is dropped: "notes from 31 May" means the author's own 31 May.
    """
    if isinstance(value, str):
        text = value.strip().replace("/", "-")
        try:
            value = date.fromisoformat(text) if len(text) <= 10 else datetime.fromisoformat(text)
        except ValueError:
            return ""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None, microsecond=0).isoformat()
    return value.isoformat() if isinstance(value, date) else ""
