"""The texts of a plan, made of the query and its metadata where no model wrote them."""

from __future__ import annotations

from collections.abc import Sequence

from rag.query.planner.plan import FullTransformationResult
from rag.query.syntax import plain_words
from rag.query.transforms.fallbacks import subject_words
from rag.text.normalize import name_key
from rag.text.sanitize import without_controls
from rag.text.scripts import is_japanese
from rag.text.tokenizer import has_words

_LEAST_WORDS = 3  # of a rerank query
_LONGEST = 1500  # characters of a text that is made here
_WORDING = {
    "en": {
        "about": "A note about {}.",
        "nothing": "A note.",
        "tags": "Tags: {}.",
        "vaults": "Vault: {}.",
        "titles": "Title: {}.",
        "time": "Time: {} – {}.",
    },
    "ja": {
        "about": "{}についてのノート。",
        "nothing": "ノート。",
        "tags": "タグ: {}。",
        "vaults": "保管庫: {}。",
        "titles": "題名: {}。",
        "time": "期間: {}〜{}。",
    },
}


def paragraph_of(plan: FullTransformationResult) -> str:
    """Return what a note that answers the query would say of itself; never nothing."""
    read, japanese = plan.metadata, is_japanese(plan.query)
    words = _WORDING["ja" if japanese else "en"]
    subject = _subject(plan)
    parts = [words["about"].format(subject)] if subject else [words["nothing"]]
    for key, names in (("tags", read.tags), ("vaults", read.vaults), ("titles", read.titles)):
        if names:
            parts.append(words[key].format(", ".join(map(_plain, names))))
    window = read.time_window
    if not window.is_open:
        parts.append(words["time"].format(window.first or "", window.last or ""))
    return ("" if japanese else " ").join(parts)[:_LONGEST].strip()


def rerank_query_of(plan: FullTransformationResult, near: Sequence[str] = ()) -> str:
    """Return text, event keyword, titles, tags and the tags near them, each once; filled up to
    three words."""
    read = plan.metadata
    tags = [tag.replace("/", " ") for tag in (*read.tags, *near)]
    parts: dict[str, str] = {}
    text = plain_words(plan.text[:_LONGEST])
    said = {*name_key(text).split()} >= {*name_key(read.event_keyword).split()}
    keyword = "" if said else read.event_keyword
    for part in (text, keyword, *read.titles, *tags):
        if has_words(part):
            parts.setdefault(name_key(part), _plain(part))
    made = (" ".join(parts.values()) or _subject(plan))[:_LONGEST].strip()
    if is_short(made):
        made = f"{made} ノート 記録 メモ" if is_japanese(made) else f"notes about {made}"
    return made if not is_short(made) else "notes in all vaults"


def is_short(rerank_query: str) -> bool:
    """Return whether a query has fewer than three words; of a Japanese one, three content words."""
    if is_japanese(rerank_query):
        return len(subject_words(rerank_query)) < _LEAST_WORDS
    return sum(map(has_words, rerank_query.split())) < _LEAST_WORDS


def _subject(plan: FullTransformationResult) -> str:
    """Return in words what a plan is about, empty when it says nothing."""
    given = (plain_words(plan.text[:_LONGEST]), plan.metadata.event_keyword, plan.query)
    return next(
        (plain for text in given if has_words(plain := _plain(text).rstrip("?!.。？！ "))), ""
    )


def _plain(text: str) -> str:
    return " ".join(without_controls(text[:_LONGEST]).split())
