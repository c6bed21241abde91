"""Words that several of the rules know: parts of patterns, and names of front matter fields.

`rag.query.note_hints` imports them for every query, so there is nothing else here.
"""

from __future__ import annotations

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

MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
FULL_MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
)
_WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAYS = _WEEKDAY_NAMES.split()
WEEKDAY = f"(?:{'|'.join(WEEKDAYS)})"
SEASON = "(?:spring|summer|autumn|fall|winter)"

# What people call the fields of their front matter; the words of a row mean the same.
CONCEPTS: dict[str, tuple[str, ...]] = {
    "status": ("state", "progress", "状態", "ステータス", "進捗", "状況"),
    "author": (
        "authors",
        "writer",
        "written by",
        "by whom",
        "作者",
        "作成者",
        "著者",
        "筆者",
        "執筆者",
    ),
    "due": ("due date", "deadline", "due by", "締切", "締め切り", "〆切", "期限", "期日"),
    "created": ("created on", "creation date", "date", "作成日", "作成", "日付"),
    "modified": ("updated", "last changed", "changed", "更新日", "更新", "変更日"),
    "rating": ("score", "stars", "rated", "評価", "点数", "星"),
    "url": ("link", "website", "web page", "リンク", "サイト"),
    "source": ("origin", "taken from", "出典", "情報源", "引用元"),
    "project": ("projects", "プロジェクト", "案件"),
    "type": ("kind", "category", "categories", "種類", "種別", "分類", "カテゴリ", "カテゴリー"),
    "priority": ("urgency", "important", "優先度", "重要度", "優先順位"),
    "owner": ("responsible", "assignee", "in charge", "担当", "担当者", "責任者"),
    "people": ("person", "participants", "attendees", "members", "参加者", "出席者", "人物"),
    "location": ("place", "city", "場所", "所在地", "会場"),
    "language": ("lang", "言語"),
    "version": ("release", "バージョン", "版"),
    "isbn": ("book number",),
    "client": ("customer", "customers", "顧客", "取引先", "クライアント"),
    "cost": ("price", "amount", "費用", "価格", "金額", "値段"),
}
