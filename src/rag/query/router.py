"""Where a query is answered: by filters alone, by semantic search, or by all of them."""

from __future__ import annotations

import re
from typing import Any

from rag.query.llm import NO_MODEL, TEXT, LiveAsker, build_prompt, object_in, schema_of
from rag.query.models import QueryBundle, as_bundle
from rag.query.planner.plan import Extraction, FullTransformationResult, QueryIntent, Route
from rag.query.planner.words import EXAMINED
from rag.query.syntax import parse_query
from rag.text.messages import brief
from rag.text.tokenizer import has_words

ROUTERS = ("rules", "model")
Understood = Extraction | FullTransformationResult
_SCHEMA = schema_of("primary_route", primary_route={**TEXT, "enum": [*Route]}, reason=TEXT)
_LIKE = re.compile(
    r"\b(?:something|anything|stuff|notes?|pages?|documents?|one|ones|texts?)"
    r"\s+(?:that\s+(?:is|are|feels?|reads?)\s+)?(?:like|akin to|resembling|close to)\b"
    r"|\bsimilar\s+to\b|\bremind(?:s|ed)?\s+me\s+of\b|\balong\s+the\s+lines\s+of\b"
    r"|\bin\s+the\s+(?:spirit|vein)\s+of\b"
    r"|のような|みたいな|に似た|に似て|っぽい|に近い(?:内容|ノート|メモ|話)|を思い出させる|を連想",
    re.IGNORECASE,
)


class IntentRouter:
    """Choose the route of a query; in doubt `hybrid_both`. Whoever chooses, a query with filters
    and nothing to rank by is `metadata_only`, and no other one is.

    :param router: `rules` or `model`.
    :param generator: a Haystack chat generator, for `model`.
    :raises ValueError: for another router.
    """

    def __init__(self, router: str = "rules", generator: Any | None = None) -> None:
        if router not in ROUTERS:
            raise ValueError(f"router must be {' or '.join(ROUTERS)}, not {router!r}")
        self.router, self.generator = router, generator

    def classify(
        self, query: QueryBundle | str, extraction: Understood, asker: LiveAsker | None = None
    ) -> QueryIntent:
        """Return the route of a query.

        :param extraction: what is filtered by, and the text that is left to rank by.
        :param asker: asks the model of the stage `route`; without it the generator is asked.
        """
        rest = parse_query(extraction.text)
        filters = extraction.metadata.filters_anything or rest.has_filters
        if not has_words(rest.text):
            reason = "only filters" if filters else "nothing to rank by"
            route = Route.METADATA_ONLY if filters else Route.HYBRID_BOTH
            return QueryIntent(primary_route=route, by="rules", reason=reason)
        text = as_bundle(query).query_str
        if self.router == "rules":
            like = _LIKE.search(text[:EXAMINED])
            if like and not (filters or rest.phrases):
                reason = f"“{like[0]}”"
                return QueryIntent(primary_route=Route.VECTOR_ONLY, by="rules", reason=reason)
            return QueryIntent(by="rules", reason="words to rank by")
        intent = _by_model(text, extraction, asker or LiveAsker({"route": self.generator}))
        if intent.primary_route == Route.METADATA_ONLY:
            reason = "words are left to rank by" if filters else "nothing is filtered"
            return QueryIntent(by=intent.by, reason=reason)
        return intent


def _by_model(query: str, extraction: Understood, asker: LiveAsker) -> QueryIntent:
    if not asker.has("route"):
        return QueryIntent(reason=NO_MODEL)
    prompt = build_prompt("route", query, text=extraction.text)
    asked = asker.ask("route", prompt, _SCHEMA)
    if asked.failure:
        return QueryIntent(reason=asked.failure)
    reply = object_in(asked.reply, without=prompt.code)
    route = Route.named(reply.get("primary_route") if reply else asked.reply.strip()[:40])
    if route is None:
        return QueryIntent(reason=f"{asked.model} named no route")
    reason = reply.get("reason")
    reason = brief(reason) if isinstance(reason, str) else ""
    asker.trace.keep({"primary_route": route.value, "reason": reason})
    return QueryIntent(primary_route=route, by="model", reason=reason)
