"""What a model that plans a query is asked: the query, names of the index near it, what is open,
and what its tools said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

from rag.query.catalogue import Catalogue
from rag.query.matching import best_matches
from rag.query.plan import Named
from rag.query.prompts import Prompt
from rag.query.templates import build
from rag.query.transformation import QueryPurpose, QueryType
from rag.text.scripts import is_japanese
from rag.text.wording import plural

_LONGEST = 200  # characters of a query that names are compared with
_LONGEST_NAME = 100
_MOST_OPEN = 20

_TYPES = {
    QueryType.LOOKUP: ("one fact or one note", "一つの事実、または一つのノート"),
    QueryType.LISTING: ("all notes of a kind", "ある種類のノートすべて"),
    QueryType.HOW_TO: ("how something is done", "やり方"),
    QueryType.OVERVIEW: ("a subject as a whole", "ある主題の全体"),
    QueryType.COMPARISON: ("things set against each other", "比べること"),
    QueryType.TIMELINE: ("what happened when", "いつ何が起きたか"),
    QueryType.SIMILAR: ("notes like something", "何かに似たノート"),
    QueryType.UNKNOWN: ("anything else", "それ以外"),
}
_INTENTS = {
    QueryPurpose.FIND: ("the notes are to be opened", "ノートを開きたい"),
    QueryPurpose.ANSWER: ("a question is to be answered from them", "質問の答えがほしい"),
    QueryPurpose.EXPLORE: ("a look around in a subject", "ある主題を見て回りたい"),
    QueryPurpose.REVIEW: ("a look back at a time", "ある時期を振り返りたい"),
    QueryPurpose.UNKNOWN: ("anything else", "それ以外"),
}
_LEFT = {
    "en": (
        "You have used up your tools: only a final answer counts now.",
        "Uses of tools left: {}. After that only a final answer counts.",
    ),
    "ja": (
        "道具はもう使えません。最終の答えだけが有効です。",
        "道具はあと {} 回使えます。そのあとは最終の答えだけが有効です。",
    ),
}


def planning_prompt(
    query: str,
    catalogue: Catalogue,
    slots: Sequence[Named],
    time_slot: str,
    *,
    today: date,
    tools: str,
    told: Sequence[str],
    left: int,
    threshold: float,
    most: int,
) -> Prompt:
    """Return the prompt of one turn.

    :param tools: what each does, from the tools themselves.
    :param told: what tools said so far.
    :param left: how often a tool may still be used.
    :param most: names of a kind that are shown.
    """
    japanese = is_japanese(query)
    language = "ja" if japanese else "en"
    wanted = [slot.model_dump(include={"kind", "words"}) for slot in slots[:_MOST_OPEN]]
    wanted += [{"kind": "time", "words": time_slot}] if time_slot else []
    rules = {
        "threshold": f"{threshold:g}",
        "types": _listed(_TYPES, japanese),
        "intents": _listed(_INTENTS, japanese),
        "tools": tools,
        "today": today.isoformat(),
        "counts": counted(catalogue),
        "left": _LEFT[language][bool(left)].format(left),
    }
    words = " ".join([query[:_LONGEST], *(slot.words for slot in slots[:_MOST_OPEN])])
    data = {
        "names": _json(nearest_names(words, catalogue, most)),
        "open": _json(wanted),
        "history": "\n".join(told) or "-",
    }
    return build("query_transformation", query, rules, **data)


def answer_schema(tools: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of a reply; without tools it is an answer."""
    text, unsure = {"type": "string"}, {"type": "number", "minimum": 0, "maximum": 1}
    labels = {
        "query_type": {"type": "string", "enum": list(QueryType)},
        "intent": {"type": "string", "enum": list(QueryPurpose)},
        "confidence": unsure,
    }
    unit = {"type": "object", "properties": {"query": text, **labels}, "required": ["query"]}
    match = {
        "type": "object",
        "properties": {
            "words": text,
            "kind": {"type": "string", "enum": ["vault", "tag", "title", "field"]},
            "name": text,
        },
        "required": ["words", "kind", "name"],
    }
    window = {"type": "object", "properties": {"first": text, "last": text}}
    answer = {
        "transformed_query": text,
        **labels,
        "units": {"type": "array", "items": unit, "maxItems": 5},
        "matches": {"type": "array", "items": match, "maxItems": 20},
        "time_window": window,
        "event_keyword": text,
        "rerank_query": text,
        "reasoning": text,
    }
    action = {"type": "string", "enum": ["final", "tool"] if tools else ["final"]}
    use = {"tool": {"type": "string", "enum": list(tools)}, "arguments": {"type": "object"}}
    return {
        "type": "object",
        "properties": {"action": action, **(use if tools else {}), **answer},
        "required": ["action"] if tools else ["action", "transformed_query", "confidence"],
    }


def nearest_names(words: str, catalogue: Catalogue, most: int) -> dict[str, list[str]]:
    """Return the names of each kind that are most like some words."""
    kinds = {
        "vaults": catalogue.vaults(),
        "tags": catalogue.tags(),
        "titles": catalogue.titles(),
        "fields": catalogue.fields(),
    }
    return {
        kind: [name[:_LONGEST_NAME] for name, _ in best_matches(words, names, most, "WRatio")]
        for kind, names in kinds.items()
    }


def counted(catalogue: Catalogue) -> str:
    """Return how many names of each kind there are."""
    kinds = ("vault", "tag", "title", "field")
    return ", ".join(plural(len(getattr(catalogue, f"{kind}s")()), kind) for kind in kinds)


def _listed(labels: dict[Any, tuple[str, str]], japanese: bool) -> str:
    return "\n".join(f"- {label.value}: {texts[japanese]}" for label, texts in labels.items())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
