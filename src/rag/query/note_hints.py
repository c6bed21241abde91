"""Words without which a query filters by nothing, and asks nothing about the notes themselves.

Every query passes here, so it costs microseconds: the rules of the planner and those of
`rag.query.note_questions`, which read what such words mean, are imported for few.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from rag.query.planner.words import CONCEPTS, EXAMINED, FULL_MONTH, KANJI, MONTH, WEEKDAYS

_NOTES = (
    *("notes", "memos", "entries", "last", "latest", "recent"),
    *("ノート", "メモ", "記事", "日記", "最後", "前回", "最近", "直近", "この前", "このあいだ"),
)
_ENGLISH = (
    "tag tags tagged vault vaults called titled named entitled due deadline past previous ago since"
    " yesterday today recent recently lately weekend quarter days week weeks month months year"
    " years spring summer autumn fall winter q1 q2 q3 q4 christmas easter thanksgiving halloween"
    " holidays mid except excluding"
)
_WORDS = frozenset((*_ENGLISH.split(), *WEEKDAYS, *FULL_MONTH[3:-1].split("|")))
_PARTS = (
    *("#", '"', "“", "„", " '", "‘", "「", "『", "タグ", "保管庫", "ボルト", "ヴォルト"),
    *("notes by ", "note by ", "memos by ", "memo by ", "entries by ", "entry by ", "written by "),
    *("the other day", "new year", "a while", "some time", "but not", ", not", "other than"),
    *("が書いた", "が作成した", "が執筆した", "最近", "近頃", "このごろ", "きのう", "おととい"),
    *("おととし", "お盆", "正月", "曜", "旬", "四半期", "ゴールデンウィーク", "クリスマス"),
    *(
        "こないだ",
        "しばらく前",
        "以外",
        "を除",
        "をのぞ",
        "締切",
        "締め切り",
        "〆切",
        "期限",
        "期日",
    ),
)
_DATE = re.compile(
    rf"\d{{4}}|\d/\d|\d(?:st|nd|rd|th)?(?: of)? {MONTH}|{MONTH} \d"
    f"|[{KANJI}十数半\\d][日月週年かカヵケヶ箇]|[今先昨去本々][日月週年]|この[春夏秋冬頃前]"
    "|年[末始]|月[末初]"
)
_FIELDS = [word for name, words in CONCEPTS.items() for word in (name, *words)]
_SAYS = frozenset(("is", "are", "equals", "with", "whose", "having", "where", "by", "of"))
_WORD = re.compile("[a-z0-9]+")


def may_ask_of_notes(question: str) -> bool:
    """Return whether a question holds a word that one about the notes themselves has.

    >>> may_ask_of_notes("How many notes are there?"), may_ask_of_notes("When do holds expire?")
    (True, False)
    """
    text = unicodedata.normalize("NFKC", question).lower()
    return any(hint in text for hint in _NOTES)


def may_filter(query: str, fields: Iterable[str] = ()) -> bool:
    """Return whether a query holds words or marks without which no rule of the planner reads a
    filter, or what is not wanted.

    :param fields: names of front matter fields, and words for them, in normal form.

    >>> may_filter("rollbacks in March"), may_filter("先週の会議"), may_filter("error budget")
    (True, True, False)
    """
    text = " " + " ".join(unicodedata.normalize("NFKC", query[:EXAMINED]).lower().split())
    words = _WORD.findall(text)
    if not _WORDS.isdisjoint(words) or any(part in text for part in _PARTS) or _DATE.search(text):
        return True
    says = ":" in text or "=" in text or not _SAYS.isdisjoint(words)
    line = f" {' '.join(words)} "
    return any(
        f" {' '.join(_WORD.findall(field))} " in line and says if field.isascii() else field in text
        for field in (*_FIELDS, *fields)
    )
