"""Reads a query without a model: what it filters by, and what it is about.

A filter takes evidence, which is a cue in the query's own words: `#tag`, "in my work vault",
先週の. Whatever a cue announces is looked up in the index; words without a cue filter nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from rag.query.catalogue import Catalogue
from rag.query.field_slots import FieldReader
from rag.query.folding import Folded
from rag.query.leftover import leftover
from rag.query.plan import Extraction, MetadataExtraction, TimeWindow
from rag.query.resolving import Resolver
from rag.query.slots import SlotReader, Slots
from rag.query.times import find_time, time_slot
from rag.query.title_slots import read_titles


def extract(
    query: str,
    catalogue: Catalogue,
    *,
    aliases: Mapping[str, str] | None = None,
    today: date | None = None,
) -> Extraction:
    """Return what a query filters by, and the text that is left.

    The text is the query as it was typed when nothing filters. Any text is a query; only its first
    4,000 characters are read.

    :param aliases: other names of tags and vaults.
    :param today: the day from which times are counted.
    """
    today = today or date.today()
    query = query.encode("utf-8", "replace").decode("utf-8")  # a shell may pass any bytes
    folded, resolver, slots = Folded(query), Resolver(catalogue, aliases), Slots()
    reader, fields = SlotReader(folded, resolver, slots), FieldReader(folded, resolver, today)
    reader.read_hashes()
    fields.read()
    window = _read_time(folded, today)
    vague = "" if not window.is_open else _time_slot(folded)
    reader.read_tags()
    reader.read_vaults()
    read_titles(folded, resolver, slots)
    metadata = MetadataExtraction(
        vaults=slots.vaults,
        tags=slots.tags,
        tag_match=slots.tag_match if len(slots.tags) > 1 else "all",
        excluded_tags=slots.excluded_tags,
        titles=slots.titles,
        time_window=window,
        fields=fields.fields,
        values=fields.values,
    )
    return Extraction(
        metadata=metadata,
        text=leftover(folded) if metadata.filters_anything else query,
        found=slots.found,
        open=slots.open,
        time_slot=vague,
    )


def _read_time(folded: Folded, today: date) -> TimeWindow:
    found = find_time(folded.open, today)
    if not found:
        return TimeWindow()
    folded.take(found.start, found.end)
    text = folded.words(found.start, found.end)
    return found.window.model_copy(update={"text": text})


def _time_slot(folded: Folded) -> str:
    slot = time_slot(folded.open)
    return folded.words(*slot) if slot else ""
