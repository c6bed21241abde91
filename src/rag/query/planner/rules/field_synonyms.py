"""What people call the fields of their front matter, in English and Japanese."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rag.text.tokenizer import name_key

if TYPE_CHECKING:  # `rag.query.note_hints` reads the words below, and needs no index
    from rag.query.planner.rules.names import Resolver

# The words of a row mean the same.
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


def field_words(
    resolver: Resolver,
    meant: Mapping[str, Sequence[str]] | None = None,
    unlike: frozenset[str] = frozenset(),
) -> dict[str, list[str]]:
    """Return the fields of the index by the words that mean them, each in normal form: first their
    own names, then what the settings say, then the concepts.

    :param meant: words of the settings, by field.
    :param unlike: fields that are left out.
    """
    own = {name_key(field): field for field in resolver.catalogue.fields()}
    own = {key: field for key, field in own.items() if key not in unlike}
    known = {key: [field] for key, field in own.items()}
    for name, words in (meant or {}).items():
        field = resolver.field(name)
        if field in own.values():
            known |= {key: [field] for key in map(name_key, words) if key not in own}
    for name, others in CONCEPTS.items():
        row = [name_key(word) for word in (name, *others)]
        if fields := [own[word] for word in row if word in own]:
            known |= {word: fields for word in row if word not in known}
    return known
