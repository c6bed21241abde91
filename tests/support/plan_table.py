"""What people ask for, and the plan they would expect: the measure of the planner.

Each line of `plans.jsonl` was written as a person would answer it, before looking at what the rules
make of it.
"""

import json
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from rag.query.planner.names import StaticCatalogue

TODAY = date(2026, 11, 21)  # a Saturday

CATALOGUE = StaticCatalogue(
    vaults=[
        *("work", "personal", "research", "garden", "home lab", "Book club", "Daily notes"),
        *("仕事", "日記", "読書", "研究室", "レシピ"),
    ],
    tags=[
        *("kubernetes", "kubernetes/storage", "docker", "helm", "containers", "deployment"),
        *("rollback", "incident", "postmortem", "security", "security/tls", "python"),
        *("python/asyncio", "rust", "machine-learning", "deep-learning", "database"),
        *("database/postgres", "meeting", "meeting/weekly", "project", "project/alpha"),
        *("project/beta", "idea", "book", "book-review", "recipe", "recipe/soup", "travel"),
        *("travel/kyoto", "health", "finance", "finance/tax", "todo", "journal", "design"),
        *("design-system", "internationalization", "accessibility", "observability", "gtd"),
        *("c++", "2026-goals", "会議", "会議/定例", "議事録", "料理", "料理/和食", "旅行"),
        *("旅行/京都", "読書メモ", "証明書", "健康", "確定申告", "アイデア", "振り返り"),
        *("プロジェクト", "プロジェクト/甲", "障害", "障害対応", "機械学習", "英語", "設計"),
        *("買い物", "引っ越し"),
    ],
    titles=[
        *("Deploy checklist", "Kubernetes rollback guide", "Weekly review", "1984"),
        *("March plan", "Tax return 2025", "Yesterday", "Reading list", "Café notes"),
        *("障害対応手順", "議事録の書き方", "引っ越しの準備", "世界の終わり", "年間計画"),
    ],
    aliases={"Release checklist": "Deploy checklist", "障害マニュアル": "障害対応手順"},
    fields={
        "status": ["draft", "done", "in progress", "完了", "下書き"],
        "author": ["Sato", "Alice Smith", "佐藤", "田中"],
        "due": ["2026-11-30", "2026-12-15"],
        "priority": ["high", "low", "高"],
        "type": ["how-to", "meeting", "recipe"],
        "rating": ["5", "4", "3"],
    },
)


class Row(NamedTuple):
    """A query and its plan.

    :param filters: what differs from a plan without filters, by the names of
        `MetadataExtraction`; `window` is first day, last day and field.
    :param text: what is left to rank by; without any, notes are listed.
    """

    query: str
    filters: dict[str, Any]
    text: str
    route: str


def _row(query: str, text: str, filters: dict[str, Any]) -> Row:
    if window := filters.get("window"):
        *days, field = window
        ends = (date.fromisoformat(day) if day else None for day in days)
        filters = {**filters, "window": (*ends, field)}
    return Row(query, filters, text, "hybrid_both" if text else "metadata_only")


_LINES = Path(__file__).with_name("plans.jsonl").read_text("utf-8").splitlines()
ROWS = [_row(**json.loads(line)) for line in _LINES]
