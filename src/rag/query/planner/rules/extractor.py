"""Reads a query without a model: what it filters by, and what it is about.

A filter takes evidence, which is a cue in the query's own words: `#tag`, "in my work vault",
先週の. Whatever a cue announces is looked up in the index; words without a cue filter nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from rag.query.planner.catalog import Catalogue
from rag.query.planner.plan import Extraction, MetadataExtraction, Named, TimeWindow
from rag.query.planner.rules.field_reader import FieldReader
from rag.query.planner.rules.name_resolver import Resolver
from rag.query.planner.rules.normalized_query import NormalizedQuery
from rag.query.planner.rules.rationale import reasoning_of, subject_of
from rag.query.planner.rules.residual_text import residual_text
from rag.query.planner.rules.slot_reader import SlotReader, Slots, read_titles
from rag.query.planner.rules.time_range_reader import find_slot, find_time
from rag.query.planner.rules.unwanted_words import read_unwanted
from rag.text.surrogates import without_halves


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
