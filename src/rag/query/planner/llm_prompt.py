"""What a model that plans a query is asked: the query, names of the index near it, what is open,
and what its tools said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple, get_args

from rag.query.planner.catalog import Catalogue, names_by_kind
from rag.query.planner.fuzzy_match import best_matches
from rag.query.planner.llm_result import QueryPurpose, QueryType
from rag.query.planner.plan import Kind, Named
from rag.query.planner.templates import build
from rag.query.transforms.prompts import Prompt
from rag.text.messages import plural, without_halves
from rag.text.scripts import is_japanese

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


class Known(NamedTuple):
    """What a model is told of an index.

    :param counts: how many names of each kind there are.
    :param nearest: the names of each kind that are most like a query.
    """

    counts: str
    nearest: dict[str, list[str]]

    @classmethod
    def of(cls, query: str, slots: Sequence[Named], catalogue: Catalogue, most: int) -> Known:
        """Look up what a query, and what it leaves open, may mean.

        :param most: names of a kind.
        """
        words = " ".join([query[:_LONGEST], *(slot.words for slot in slots[:_MOST_OPEN])])
        names = names_by_kind(catalogue)
        nearest = {
            f"{kind}s": [n[:_LONGEST_NAME] for n, _ in best_matches(words, of, most, "WRatio")]
            for kind, of in names.items()
        }
        return cls(", ".join(plural(len(of), kind) for kind, of in names.items()), nearest)


def planning_prompt(
    query: str,
    known: Known,
    slots: Sequence[Named],
    time_slot: str,
    *,
    today: date,
    tools: str,
    told: Sequence[str],
    left: int,
    threshold: float,
) -> Prompt:
    """Return the prompt of one turn.

    :param known: from `Known.of`.
    :param tools: what each does, from the tools themselves.
    :param told: what tools said so far.
    :param left: how often a tool may still be used.
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
        "counts": known.counts,
        "left": _LEFT[language][bool(left)].format(left),
    }
    data = {
        "names": _json(known.nearest),
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
            "kind": {"type": "string", "enum": list(get_args(Kind))},
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


def _listed(labels: dict[Any, tuple[str, str]], japanese: bool) -> str:
    return "\n".join(f"- {label.value}: {texts[japanese]}" for label, texts in labels.items())


def _json(value: Any) -> str:
    return without_halves(json.dumps(value, ensure_ascii=False))
