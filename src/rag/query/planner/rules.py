"""Reads a query without a model: what it filters by, and what it is about.

A filter takes evidence, which is a cue in the query's own words: `#tag`, "in my work vault",
先週の. Whatever a cue announces is looked up in the index; words without a cue filter nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from rag.query.planner.catalog import Catalogue
from rag.query.planner.names import Resolver
from rag.query.planner.plan import Extraction, Named, TimeWindow
from rag.query.planner.query_text import (
    NormalizedQuery,
    read_unwanted,
    residual_text,
    subject_words,
)
from rag.query.planner.slots import FieldReader, SlotReader
from rag.query.planner.time_windows import find_slot, find_time
from rag.query.syntax import plain_words
from rag.text.messages import without_halves
from rag.text.scripts import is_japanese

_EXAMINED = 300  # characters of a text
_MOST_WORDS = 3
_MOST_PARTS = 8

# Of names by kind (`not` of a tag that is not wanted), and of days: both ends, one day, one end.
_ENGLISH = {
    "vault": "“{words}” names the vault {name}",
    "tag": "“{words}” names the tag {name}",
    "title": "“{words}” names the note {name}",
    "not": "“{words}” names the tag {name}, which is not wanted",
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
    "not": "「{words}」は除くタグ {name}",
    "open": "「{words}」という名前はない",
    "value": "{name} は「{words}」",
    "between": "「{words}」は {first} から {last} まで",
    "day": "「{words}」は {first}",
    "since": "「{words}」は {first} 以降",
    "until": "「{words}」は {last} 以前",
    "nothing": "絞り込む言葉はない",
}


def _reasoning(query: str, read: Extraction) -> str:
    """Return in the query's language which of its words filter, and by what."""
    japanese, metadata = is_japanese(query[:_EXAMINED]), read.metadata
    wording, window = _JAPANESE if japanese else _ENGLISH, metadata.time_window
    parts: list[tuple[str, dict[str, object]]] = []
    for named in read.found:
        is_unwanted = named.kind == "tag" and named.name not in metadata.tags
        parts.append(("not" if is_unwanted else named.kind, vars(named)))
    parts += [("value", {"name": f, "words": v}) for f, v in metadata.values.items()]
    if not window.is_open:
        both = "day" if window.first == window.last else "between"
        kind = both if window.first and window.last else "since" if window.first else "until"
        parts.append((kind, {"words": window.text, **vars(window)}))
    parts += [("open", vars(named)) for named in read.open]
    texts = [wording[kind].format(**names) for kind, names in parts[:_MOST_PARTS]]
    return ("、" if japanese else "; ").join(texts or [wording["nothing"]])


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

    :param aliases: other names of tags and vaults; `fields`: words for front matter fields.
    :param meant: what words of open slots mean, as a model said, and the time slot: `time`.
    :param today: the day from which times are counted.
    """
    today, query = today or date.today(), without_halves(query)
    normalized, resolver = NormalizedQuery(query), Resolver(catalogue, aliases, meant)
    read = Extraction(text=query)
    metadata, reader = read.metadata, SlotReader(normalized, resolver, read)
    reader.read_hashes()
    FieldReader(normalized, resolver, today, metadata, fields).read()
    metadata.time_window, read.time_slot = _read_time(normalized, today, time)
    reader.read_tags()
    reader.read_vaults()
    reader.read_titles()
    if len(metadata.tags) < 2:
        metadata.tag_match = "all"
    if metadata.filters_anything:
        read.unwanted = read_unwanted(normalized)
        read.text = residual_text(normalized)
    subject = subject_words(plain_words(read.text[:_EXAMINED]))
    metadata.event_keyword = " ".join(subject[:_MOST_WORDS])
    metadata.logical_reasoning = _reasoning(query, read)
    return read


def _read_time(
    normalized: NormalizedQuery, today: date, known: TimeWindow | None
) -> tuple[TimeWindow, str]:
    """Return the window that a query asks for, and the words of one that nobody knows.

    :param known: what those words mean.
    """
    if found := find_time(normalized.open, today):
        window = found.window
    elif found := find_slot(normalized.open, today):
        if known is None:
            return TimeWindow(), normalized.words(*found.words)
        window = known.model_copy(update={"field": "modified"} if found.edited else {})
    else:
        return TimeWindow(), ""
    normalized.take(found.start, found.end)
    return window.model_copy(update={"text": normalized.words(*found.words)}), ""
