"""Front matter: the YAML block at the head of a note, read as forgivingly as people write it; and
what it says besides title, aliases and tags, as texts to look for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime
from itertools import islice
from typing import Any, NamedTuple

from rag.vault.limits import LONGEST_FRONT_MATTER, MOST_NESTED
from rag.vault.markdown import plain

_LONGEST_NUMBER = 300  # characters; to read one costs the square of them
_LONG_NUMBER = re.compile(rf"\d[\d:._]{{{_LONGEST_NUMBER}}}")
_TOO_DEEP = f"nested deeper than {MOST_NESTED} levels"


def load_yaml(block: str) -> Any:
    """Return what a block of YAML holds.

    :raises ValueError: when it is nested too deep, has aliases (a few may stand for millions of
        values), or a number that is too long.
    :raises Exception: whatever the parser says of a block that is no YAML.
    """
    from frontmatter.default_handlers import SafeLoader, YAMLHandler
    from yaml import AliasEvent, CollectionEndEvent, CollectionStartEvent, YAMLError, parse

    if _LONG_NUMBER.search(block):
        raise ValueError(f"a number of more than {_LONGEST_NUMBER} characters")
    depth = 0
    try:
        # To look at the events first takes a third as long again, of some 50 microseconds.
        for event in parse(block, SafeLoader):
            if isinstance(event, AliasEvent) and "&" in block:
                raise ValueError("aliases are not read")
            depth += isinstance(event, CollectionStartEvent)
            depth -= isinstance(event, CollectionEndEvent)
            if depth > MOST_NESTED:
                raise ValueError(_TOO_DEEP)
    except YAMLError as error:
        if "nesting depth" in str(error):  # a limit of the parser's own, in newer versions
            raise ValueError(_TOO_DEEP) from error
        raise
    return YAMLHandler().load(block)


_FENCE = re.compile(r"---[ \t]*$")
_END = re.compile(r"(?:---|\.\.\.)[ \t]*$")
_SIMPLE = re.compile(r"([^\W\d][\w -]*):[ \t]+(\S.*)$")
_DAY_FIRST = re.compile(r"^(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)")
_LONGEST_REASON = 200  # characters; an error may quote all that it could not read
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

    A block that is not valid YAML still gives those of its entries that are, and its plain
    `key: value` lines, and says what is wrong. A block that is no mapping is part of the body.
    """
    is_there = lines and _FENCE.match(lines[0])
    ends = (at for at, line in enumerate(lines[1:_MAX_LINES], 1) if _END.match(line))
    end = next(ends, 0) if is_there else 0
    if not end:
        return FrontMatter({}, 0, "")
    block = "\n".join(lines[1:end])
    if len(block) >= LONGEST_FRONT_MATTER:
        head = block[:LONGEST_FRONT_MATTER].split("\n")
        problem = f"front matter: only its first {LONGEST_FRONT_MATTER:,} characters are read"
        return FrontMatter(_salvage(head[:-1] or head), end + 1, problem)
    try:
        loaded = load_yaml(block) if block.strip() else None
        if isinstance(loaded, dict):
            loaded = {str(key): value for key, value in loaded.items()}
    except Exception as error:  # YAMLError, ValueError (impossible dates), RecursionError, …
        return FrontMatter(_salvage(lines[1:end]), end + 1, f"front matter: {_brief(error)}")
    if loaded is not None and not isinstance(loaded, dict):
        kind = type(loaded).__name__
        return FrontMatter({}, 0, f"front matter: expected `key: value` lines, found a {kind}")
    return FrontMatter(loaded or {}, end + 1, "")


def _salvage(lines: list[str]) -> dict[str, Any]:
    """Keep what can be read of a broken block: `title: Foo: bar` is what people write."""
    fields: dict[str, Any] = {}
    # An entry is a line at the margin and the list or lines below it.
    for entry in re.split(r"\n(?![ \t]|- )", "\n".join(lines)):
        try:
            # A tab may not indent in YAML; people do it all the same.
            loaded = load_yaml(entry.replace("\t", "  "))
        except Exception:
            loaded = None
        if isinstance(loaded, dict):
            for key, value in loaded.items():
                if isinstance(key, str):
                    fields.setdefault(key, value)
        elif pair := _SIMPLE.match(entry.partition("\n")[0]):
            fields.setdefault(pair[1].strip(), pair[2].strip())
    return fields


def _brief(error: Exception) -> str:
    problem = getattr(error, "problem", None)
    mark = getattr(error, "problem_mark", None)
    # The block starts below its `---`, and marks count from 0.
    where = f" (line {mark.line + 2})" if mark is not None else ""
    text = str(problem or error).split("\n")[0]
    return f"{text[:_LONGEST_REASON] or type(error).__name__}{where}"


def as_strings(value: Any, separators: str) -> list[str]:
    """Flatten a null, a scalar, a list or a mixed list into distinct, stripped strings.

    :param separators: a regular expression that splits a bare string.
    """
    if value is None or isinstance(value, dict):
        return []
    items = re.split(separators, value) if isinstance(value, str) else value
    items = items if isinstance(items, (list, tuple, set)) else [items]
    return [*filter(None, dict.fromkeys(map(as_text, items)))]


def as_text(value: Any) -> str:
    """Return a scalar as one line of text; an empty string for what is no scalar."""
    if isinstance(value, (str, int, float, date)):
        try:
            return " ".join(str(value).split())
        except ValueError:  # a number of thousands of digits
            pass
    return ""


def as_timestamp(value: Any) -> str:
    """Return `value` as the ISO date or date-time that its author wrote, or an empty string; of
    `1.2.2026` the day comes first.

    A time zone is dropped: "notes from 31 May" means the author's own 31 May.
    """
    if isinstance(value, str):
        text = value.strip().replace("/", "-")
        if day_first := _DAY_FIRST.match(text):
            day, month, year = day_first.groups()
            text = f"{year}-{month:0>2}-{day:0>2}{text[day_first.end() :]}"
        try:
            value = date.fromisoformat(text) if len(text) <= 10 else datetime.fromisoformat(text)
        except ValueError:
            return ""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None, microsecond=0).isoformat()
    return value.isoformat() if isinstance(value, date) else ""


# -- properties ------------------------------------------------------------------------

MOST_VALUES = 30  # of a note
_LONGEST_VALUE = 100  # characters of a value, and of a field's name
_KEY = re.compile(r"[\"']?(\w[^\"':]*?)[\"']?\s*:(?:\s|$)")
_NAMED = ("title", "tags", "tag", "aliases", "alias")  # fields that notes are known by anyway


def searchable_fields(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what each field of a front matter holds, by its name in lower case.

    Dates are ISO, and booleans `true` or `false`; of a list each member counts. Longer texts
    than a value has, tables, and what comes after the first 30 values are left out.
    """
    values: dict[str, list[str]] = {}
    for name, value in islice(dict.fromkeys(_pairs(fields)), MOST_VALUES):
        values.setdefault(name, []).append(value)
    return values


class Property(NamedTuple):
    """What a line of front matter says: the number of the `line` in the file, from 1, the name in
    lower case, and the values as a reader sees them, parted by commas."""

    line: int
    name: str
    value: str

    @property
    def text(self) -> str:
        """It in one line."""
        return f"{self.name}: {self.value}"


def property_meta(
    fields: Mapping[str, Any], lines: Sequence[str], but: Collection[str] = ()
) -> dict[str, Any]:
    """Return what a chunk's meta holds of a front matter: in `properties` each as
    `name: value, value`, and in `property_lines` the line that each begins in.

    :param lines: of the file, as far as the front matter reaches.
    :param but: names of fields to leave out.
    """
    kept = {name: v for name, v in searchable_fields(fields).items() if name not in but}
    if not kept:
        return {}
    keys = ((n, _KEY.match(line)) for n, line in enumerate(lines, 1))
    begun = {_value_text(key[1]).lower(): n for n, key in keys if key}
    return {
        "properties": [f"{name}: {', '.join(values)}" for name, values in kept.items()],
        "property_lines": [begun.get(name, 1) for name in kept],
    }


def properties_of(meta: Mapping[str, Any]) -> list[Property]:
    """Return what the front matter of a note says, of its first chunk's meta; else nothing."""
    parts = (text.partition(": ") for text in meta.get("properties") or ())
    return [
        Property(int(line), name, plain(value))
        for line, (name, _, value) in zip(meta.get("property_lines") or (), parts, strict=False)
    ]


def _pairs(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in fields.items():
        name = _value_text(key).lower()
        if not name or name in _NAMED or len(name) > _LONGEST_VALUE:
            continue
        for item in value if isinstance(value, (list, tuple, set)) else [value]:
            text = _value_text(item)
            if text and len(text) <= _LONGEST_VALUE:
                yield name, text


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = as_timestamp(value) if isinstance(value, date) else as_text(value)
    return text.encode("utf-8", "replace").decode("utf-8")  # escapes may stand for surrogates
