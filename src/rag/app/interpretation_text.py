"""What was understood of a query, in one line and in words: vaults, tags, dates, and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING

from rag.app.index_state import IndexState, near_tags
from rag.support.month_names import MONTHS
from rag.text.messages import shortened
from rag.text.scripts import is_japanese

if TYPE_CHECKING:
    from rag.query.planner.plan import MetadataExtraction, TimeWindow
    from rag.search.planned_query import Intent
    from rag.search.results import NearWord

_LONGEST = 80  # characters of the words that are left
# fmt: off
_ENGLISH = {
    "vault": "{} vault", "vaults": "{} vaults", "or": " or ", "and": ", ", "not": "not {}",
    "title": "“{}”", "created": "{}", "modified": "modified {}", "path": "path {}",
    "listed": "newest first", "since": "since {}", "until": "until {}",
    "no_vault": "no vault is named {!r}; there are: {}",
    "no_title": "no note is called {!r}", "no_value": "no note has {}",
    "no_tag": "no note has the tag #{}", "near": "; near: {}",
    "nothing": "no filters were recognised in the query", "too_many": "too many tags; left out: {}",
    "way_back": "searches the words as typed",
    "corrected": 'searched for "{}": no note holds "{}"', "none": "nothing found for {!r}",
    "lacking": 'no note holds "{}"', "nearest": '; nearest: "{}"', "count": " ({} notes)",
    "count_1": " (1 note)",
}
_JAPANESE = {
    "vault": "{} 保管庫", "vaults": "{} 保管庫", "or": "または", "and": "・", "not": "{} 以外",
    "title": "「{}」", "created": "{}", "modified": "更新 {}", "path": "パス {}",
    "listed": "新しい順", "since": "{}から", "until": "{}まで",
    "no_vault": "「{}」という保管庫はありません。あるのは: {}",
    "no_title": "「{}」というノートはありません", "no_value": "{} のノートはありません",
    "no_tag": "タグ #{} の付いたノートはありません", "near": "。近いタグ: {}",
    "nothing": "クエリに絞り込みの条件はありません", "too_many": "タグが多すぎるため除きました: {}",
    "way_back": "で入力した言葉のまま検索します",
    "corrected": "「{}」で検索しました（「{}」を含むノートはありません）",
    "none": "「{}」に合うノートは見つかりませんでした",
    "lacking": "「{}」を含むノートはありません", "nearest": "。近い語:「{}」", "count": "（{}件）",
    "count_1": "（1件）",
}
# fmt: on


def words_for(query: str) -> dict[str, str]:
    """Return the words for what is said of a query, in its language."""
    return _JAPANESE if is_japanese(query) else _ENGLISH


def missing_words(missing: Mapping[str, NearWord | None], query: str) -> Iterator[str]:
    """Yield which words of a query no note holds, and what is near, in its language."""
    words = words_for(query)
    for word, near in missing.items():
        text = words["lacking"].format(shortened(word))
        if near:
            text += words["nearest"].format(near.word)
            count = words["count_1" if near.notes == 1 else "count"]
            text += count.format(f"{near.notes:,}") if near.notes else ""
        yield text


def interpretation_line(intent: Intent) -> str:
    """Return what a query means: `work vault · #kubernetes · 1–31 October · rollbacks`.

    It is in Japanese where the query is.
    """
    words = words_for(intent.plan.query)
    parts = [*_filters(intent.plan.metadata, words, intent.today)]
    parts += [words["path"].format(path) for path in intent.flags.paths or []]
    parts.append(words["listed"] if intent.lists else shortened(intent.text.strip(), _LONGEST))
    return " · ".join(parts)


def missing(intent: Intent, state: IndexState) -> Iterator[str]:
    """Yield what the query names and the index does not have, and what is near it."""
    words = words_for(intent.plan.query)
    for named in intent.plan.out_of_scope:
        if named.kind == "tag":
            yield from _near_tags([named.words], state, words)
        elif named.kind == "vault":
            yield words["no_vault"].format(named.words, ", ".join(state.roots))
        elif named.kind == "title":
            yield words["no_title"].format(named.words)
        else:
            yield words["no_value"].format(named.words)


def unknown_tags(
    tags: list[str], intent: Intent | None, state: IndexState, query: str
) -> Iterator[str]:
    """Yield which tags are near those of filters that no note has, as far as `missing` does not.

    :param query: in whose language they are told.
    """
    told = {named.words for named in intent.plan.out_of_scope} if intent else {}
    return _near_tags([tag for tag in tags if tag not in told], state, words_for(query))


def _near_tags(tags: list[str], state: IndexState, words: dict[str, str]) -> Iterator[str]:
    for name, near in near_tags(tags, state):
        also = words["near"].format(", ".join(f"#{one}" for one in near)) if near else ""
        yield words["no_tag"].format(name) + also


def _filters(read: MetadataExtraction, words: dict[str, str], today: date) -> Iterator[str]:
    if read.vaults:
        kind = "vault" if len(read.vaults) == 1 else "vaults"
        yield words[kind].format(words["and"].join(read.vaults))
    tags = [f"#{tag}" for tag in read.tags]
    yield from [words["or"].join(tags)] if tags and read.tag_match == "any" else tags
    yield from (f"#{tag}" for tag in read.all_tags)
    for tag in read.excluded_tags:
        yield words["not"].format(f"#{tag}")
    if read.titles:
        yield words["or"].join(words["title"].format(title) for title in read.titles)
    for name, value in read.values.items():
        yield f"{name}: {value}"
    if not read.time_window.is_open:
        days = time_range_text(read.time_window, today, words is _JAPANESE)
        yield words[read.time_window.field].format(days)


def time_range_text(window: TimeWindow, today: date, japanese: bool = False) -> str:
    """Return the days of a window as people say them: `1–31 October`, `10月1日〜31日`.

    A year is said where it is not this one.
    """
    words, day = (_JAPANESE, _japanese_day) if japanese else (_ENGLISH, _english_day)
    first, last = window.first, window.last
    if first is None or last is None:
        given = first or last
        return words["since" if first else "until"].format(day(given, today)) if given else ""
    if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31):
        years = dict.fromkeys(str(one.year) for one in (first, last))
        return ("〜" if japanese else "–").join(years) + ("年" if japanese else "")
    if first == last:
        return day(first, today)
    if japanese:
        return f"{day(first, today)}〜{_japanese_day(last, first, month=first.month)}"
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{day(last, today)}"
    seen = last if first.year == last.year else today
    return f"{_english_day(first, seen)} – {day(last, today)}"


def _english_day(day: date, known: date) -> str:
    """Return a day; its year too where it is not that of a known one."""
    year = "" if day.year == known.year else f" {day.year}"
    return f"{day.day} {MONTHS[day.month - 1].capitalize()}{year}"


def _japanese_day(day: date, known: date, month: int = 0) -> str:
    """Return a day; its month alone where it is not that of the day that stands before it."""
    year = "" if day.year == known.year else f"{day.year}年"
    return (
        f"{year}{day.day}日"
        if day.month == month and not year
        else f"{year}{day.month}月{day.day}日"
    )
