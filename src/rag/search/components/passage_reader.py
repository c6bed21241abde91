"""Reading the best results of a question: those that answer it come first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, ClassVar

from haystack import component
from haystack.dataclasses import Document

from rag.clients.protocols import TextToRead
from rag.search.components import SearchComponent
from rag.search.query import WEIGHTS, Hit, Query, Retrieval
from rag.text.token_estimate import count_tokens
from rag.text.tokenizer import JAPANESE_QUESTION

_TOKENS = 190  # of a text; a longer one is read in parts
_MOST_TOKENS = 1600  # of all texts of a question
_LEAD = 80  # characters of title and heading before a text
_FLOOR, _CEILING = -4.0, 8.0  # log odds of a span beyond which all is the same
_ASKS = re.compile(
    r"[?？]\s*$|[すたるいうきん]か\s*$|^(?:who|whose|whom|what|when|where|why|how|which)\b"
    r"|^(?:is|are|was|were|do|does|did|can|could|should|will|would|has|have)"
    r" (?:i|you|he|she|it|we|they|the|an?|my|our|your|there|this|that)\b",
    re.IGNORECASE,
)


@component
@dataclass(eq=False)
class PassageReader(SearchComponent):
    """Let the reader among the built-in models read the best results of a question, where meaning
    counts: one that answers gains a little. Nothing changes where there is no reader; a result that
    is too far behind to come first is not read.
    """

    depth: ClassVar[int] = 8  # results that are looked at

    @component.output_types(documents=list[Document], retrieval=Retrieval)
    def run(self, retrieval: Retrieval) -> dict[str, Any]:
        """Return the best of what was given, as many as the query asks for; the others are
        `beyond` them."""
        query, hits = retrieval.query, [*retrieval.hits]
        if query.embedding is not None and is_question(query.meant):
            places = _contenders(query, hits[: self.depth])
            ranked = sorted(_read(query, [hits[at] for at in places]), key=lambda hit: -hit.score)
            for at, hit in zip(places, ranked, strict=True):
                hits[at] = hit
        beyond = [*hits[query.top_k :], *retrieval.beyond]
        retrieval = replace(retrieval, hits=hits[: query.top_k], beyond=beyond)
        return {"documents": retrieval.documents, "retrieval": retrieval}


def is_question(text: str) -> bool:
    """Return whether a query asks something, rather than names it."""
    return bool(_ASKS.search(text) or JAPANESE_QUESTION.search(text))


def _gain_per_log_odd(query: Query) -> float:
    """Return what each log odd of a span adds to a score."""
    return WEIGHTS.reading * (query.full or query.weight)


def _contenders(query: Query, hits: Sequence[Hit]) -> list[int]:
    """Return the places of the hits that may come first when they are read; none where only one
    may. What keeps its place, whatever it scores, is none of them."""
    best = max((hit.score for hit in hits), default=0.0)
    least = best - _gain_per_log_odd(query) * (_CEILING - _FLOOR)
    near = [at for at, hit in enumerate(hits) if hit.score >= least and not hit.kept]
    return near if len(near) > 1 else []


def _read(query: Query, hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with what they gain by answering a question."""
    from rag.clients.factory import read  # few searches do

    texts: list[TextToRead] = []
    owners, tokens = list[int](), 0
    for at, hit in enumerate(hits):
        assert hit.document
        meta, text = hit.document.meta, hit.document.content or ""
        size = max(1, count_tokens(text))
        tokens += size
        if tokens > _MOST_TOKENS:
            break
        lead = " · ".join([str(meta.get("title", "")), *(meta.get("heading") or [])[-1:]])[:_LEAD]
        lead += ": "
        length = max(1, ceil(len(text) / ceil(size / _TOKENS)))
        for begin in range(0, len(text), length):
            part = lead + text[begin : begin + length]
            texts.append((part, [(len(lead), len(part))]))
            owners.append(at)
    gains = [0.0] * len(hits)
    for at, reading in zip(owners, read(query.meant, texts), strict=False):
        for span in filter(None, reading.spans):
            above = min(span.score, _CEILING) - _FLOOR
            gains[at] = max(gains[at], above * _gain_per_log_odd(query))
    return [
        hit._replace(score=hit.score + gain, reading=gain)
        for hit, gain in zip(hits, gains, strict=True)
    ]
