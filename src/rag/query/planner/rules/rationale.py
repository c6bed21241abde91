"""What the rules made of a query, in a sentence, and its subject in a few words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rag.query.planner.plan import MetadataExtraction, Named, TimeWindow
from rag.query.syntax import plain_words
from rag.query.transforms.fallbacks import subject_words
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
