"""Words that several of the rules know, as parts of patterns; names of front matter fields; and
words without which a query filters by nothing, and asks nothing about the notes themselves.

Every query passes here, so it costs microseconds: the rules and `rag.query.note_questions`, which
read what such words mean, are imported for few.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from rag.support.month_names import ENGLISH_MONTH, MONTHS

EXAMINED = 4000  # characters; what a longer query says after them filters nothing

B, E = "(?<![a-z0-9_])", "(?![a-z0-9_])"  # where a Latin word begins and ends

NOTE = "notes?|memos?|entry|entries"
JA_NOTE = "ノート|メモ|記事|ページ|文書"
# What somebody asks about a time who wants all of it.
WHAT_HAPPENED = "what(?:'s| is| was)? (?:happened|new|going on|went on)|happened"
JA_WHAT_HAPPENED = (
    "(?:何|なに)(?:か|が)?(?:あった|起きた|起こった)(?:か|の|っけ)?|出来事|できごと"
    "|(?:何|なに)を?(?:した|やった)(?:か|の|っけ)?"
)

_NUMBER_NAMES = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBERS = _NUMBER_NAMES.split()
KANJI = "〇一二三四五六七八九"
COUNT = rf"(?:\d{{1,3}}|{'|'.join(NUMBERS[1:])}|an?|a couple of|a few|few|several)"
JA_COUNT = rf"(?:\d{{1,3}}|[{KANJI[1:]}十]{{1,3}}|数)"
UNIT = "(?:days?|weeks?|months?|years?)"
JA_UNIT = "(?:日|週|[かカヵケヶ箇]月|年)"

MONTH = rf"(?:{ENGLISH_MONTH})\.?"
FULL_MONTH = f"(?:{'|'.join(MONTHS)})"
_WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAYS = _WEEKDAY_NAMES.split()
WEEKDAY = f"(?:{'|'.join(WEEKDAYS)})"
SEASON = "(?:spring|summer|autumn|fall|winter)"

# What people call the fields of their front matter; the words of a row mean the same.
_CONCEPTS = {
    "status": "state|progress|状態|ステータス|進捗|状況",
    "author": "authors|writer|written by|by whom|作者|作成者|著者|筆者|執筆者",
    "due": "due date|deadline|due by|締切|締め切り|〆切|期限|期日",
    "created": "created on|creation date|date|作成日|作成|日付",
    "modified": "updated|last changed|changed|更新日|更新|変更日",
    "rating": "score|stars|rated|評価|点数|星",
    "url": "link|website|web page|リンク|サイト",
    "source": "origin|taken from|出典|情報源|引用元",
    "project": "projects|プロジェクト|案件",
    "type": "kind|category|categories|種類|種別|分類|カテゴリ|カテゴリー",
    "priority": "urgency|important|優先度|重要度|優先順位",
    "owner": "responsible|assignee|in charge|担当|担当者|責任者",
    "people": "person|participants|attendees|members|参加者|出席者|人物",
    "location": "place|city|場所|所在地|会場",
    "language": "lang|言語",
    "version": "release|バージョン|版",
    "isbn": "book number",
    "client": "customer|customers|顧客|取引先|クライアント",
    "cost": "price|amount|費用|価格|金額|値段",
}
CONCEPTS = {name: words.split("|") for name, words in _CONCEPTS.items()}

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
_WORDS = frozenset((*_ENGLISH.split(), *WEEKDAYS, *MONTHS))
_MARKS = (
    "#|\"|“|„| '|‘|「|『|タグ|保管庫|ボルト|ヴォルト|notes by |note by |memos by |memo by "
    "|entries by |entry by |written by |the other day|new year|a while|some time|but not"
    "|, not|other than|が書いた|が作成した|が執筆した|最近|近頃|このごろ|きのう|おととい"
    "|おととし|お盆|正月|曜|旬|四半期|ゴールデンウィーク|クリスマス|こないだ|しばらく前|以外"
    "|を除|をのぞ|締切|締め切り|〆切|期限|期日"
)
_PARTS = _MARKS.split("|")
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
        says and f" {' '.join(_WORD.findall(field))} " in line if field.isascii() else field in text
        for field in (*_FIELDS, *fields)
    )
