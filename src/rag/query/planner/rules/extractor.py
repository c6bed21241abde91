"""Reads a query without a model: what it filters by, and what it is about.

A filter takes evidence, which is a cue in the query's own words: `#tag`, "in my work vault",
先週の. Whatever a cue announces is looked up in the index; words without a cue filter nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from rag.query.planner.catalog import Catalogue
from rag.query.planner.plan import Extraction, MetadataExtraction, Named, TimeWindow
from rag.query.planner.rules.fields import FieldReader
from rag.query.planner.rules.names import Resolver
from rag.query.planner.rules.query_text import (
    NormalizedQuery,
    read_unwanted,
    residual_text,
    subject_words,
)
from rag.query.planner.rules.slot_reader import SlotReader, Slots, read_titles
from rag.query.planner.rules.time_range_reader import find_slot, find_time
from rag.query.syntax import plain_words
from rag.text.messages import without_halves
from rag.text.scripts import is_japanese

_EXAMINED = 300  # characters of a text
_MOST_WORDS = 3
_MOST_PARTS = 8

_ENGLISH = {
    "vault": "“{words}” names the vault {name}",
    "tag": "“{words}” names the tag {name}",
    "title": "“{words}” names the note {name}",
    "excluded": "“{words}” names the tag {name}, which is not wanted",
    "open": "nothing is called “{words}”",
    "value": "{name} is “{words}”",
    "between": "“{words}” is {first} to {last}",
    "day": "“{words}” is {first}",
    "since": "“{words}” begins on {first}",
    "until": "“{words}” ends on {last}",
    "nothing": "no words filter",
}
_JAPANESE = {
    "vault": "「{words}」は保管庫 {name}",
    "tag": "「{words}」はタグ {name}",
    "title": "「{words}」はノート {name}",
    "excluded": "「{words}」は除くタグ {name}",
    "open": "「{words}」という名前はない",
    "value": "{name} は「{words}」",
    "between": "「{words}」は {first} から {last} まで",
    "day": "「{words}」は {first}",
    "since": "「{words}」は {first} 以降",
    "until": "「{words}」は {last} 以前",
    "nothing": "絞り込む言葉はない",
}


def subject_of(text: str) -> str:
    """Return what a text is about, in at most three of its words."""
    return " ".join(subject_words(plain_words(text[:_EXAMINED]))[:_MOST_WORDS])


def reasoning_of(
    query: str, read: MetadataExtraction, found: Sequence[Named], unknown: Sequence[Named]
) -> str:
    """Return in the query's language which of its words filter, and by what.

    :param found: what it names; `unknown`: what the index does not have.
    """
    japanese = is_japanese(query[:_EXAMINED])
    wording = _JAPANESE if japanese else _ENGLISH
    parts = list(_parts(wording, read, found, unknown))[:_MOST_PARTS] or [wording["nothing"]]
    return "、".join(parts) if japanese else "; ".join(parts)


def _parts(
    wording: dict[str, str],
    read: MetadataExtraction,
    found: Sequence[Named],
    unknown: Sequence[Named],
) -> Iterator[str]:
    for named in found:
        excluded = named.kind == "tag" and named.name not in read.tags
        kind = "excluded" if excluded else named.kind
        yield wording[kind].format(words=named.words, name=named.name)
    for field, value in read.values.items():
        yield wording["value"].format(words=value, name=field)
    if not read.time_window.is_open:
        yield _time(wording, read.time_window)
    for named in unknown:
        yield wording["open"].format(words=named.words)


def _time(wording: dict[str, str], window: TimeWindow) -> str:
    kind = "between" if window.first != window.last else "day"
    if window.first is None or window.last is None:
        kind = "since" if window.first else "until"
    return wording[kind].format(words=window.text, first=window.first, last=window.last)


def extract(
    query: str,
    catalogue: Catalogue,
    *,
    aliases: Mapping[str, str] | None = None,
    fields: Mapping[str, Sequence[str]] | None = None,
    meant: Sequence[Named] = (),
    time: TimeWindow | None = None,
    today: date | None = None,
) -> Extraction:
    """Return what a query filters by, and the text that is left.

    The text is the query as it was typed when nothing filters. Any text is a query; only its first
    4,000 characters are read.

    :param aliases: other names of tags and vaults.
    :param fields: words that mean a front matter field, by field.
    :param meant: what words of open slots mean, as somebody said who read the query.
    :param time: what the time slot means.
    :param today: the day from which times are counted.
    """
    today = today or date.today()
    query = without_halves(query)
    normalized, resolver, slots = (
        NormalizedQuery(query),
        Resolver(catalogue, aliases, meant),
        Slots(),
    )
    reader = SlotReader(normalized, resolver, slots)
    held = FieldReader(normalized, resolver, today, fields)
    reader.read_hashes()
    held.read()
    window, vague = _read_time(normalized, today, time)
    reader.read_tags()
    reader.read_vaults()
    read_titles(normalized, resolver, slots)
    metadata = MetadataExtraction(
        vaults=slots.vaults,
        tags=slots.tags,
        tag_match=slots.tag_match if len(slots.tags) > 1 else "all",
        excluded_tags=slots.excluded_tags,
        titles=slots.titles,
        time_window=window,
        fields=held.fields,
        values=held.values,
    )
    text, unwanted = query, []
    if metadata.filters_anything:
        unwanted = read_unwanted(normalized)
        text = residual_text(normalized)
    metadata.event_keyword = subject_of(text)
    metadata.logical_reasoning = reasoning_of(query, metadata, slots.found, slots.open)
    return Extraction(
        metadata=metadata,
        text=text,
        unwanted=unwanted,
        found=slots.found,
        open=slots.open,
        time_slot=vague,
    )


def _read_time(
    normalized: NormalizedQuery, today: date, known: TimeWindow | None
) -> tuple[TimeWindow, str]:
    """Return the window that a query asks for, and the words of one that nobody knows.

    :param known: what those words mean.
    """
    if found := find_time(normalized.open, today):
        normalized.take(found.start, found.end)
        text = normalized.words(found.start, found.end)
        return found.window.model_copy(update={"text": text}), ""
    slot = find_slot(normalized.open, today)
    if slot is None:
        return TimeWindow(), ""
    words = normalized.words(slot.first, slot.last)
    if known is None:
        return TimeWindow(), words
    normalized.take(slot.start, slot.end)
    update = {"text": words, **({"field": "modified"} if slot.edited else {})}
    return known.model_copy(update=update), ""
