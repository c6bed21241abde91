"""Where a query is answered: by filters alone, by semantic search, or by all of them."""

from __future__ import annotations

import re
from typing import Any

from rag.exceptions import RAGError
from rag.query.llm import NO_MODEL, LiveAsker, RawResponse, build_prompt, object_in
from rag.query.models import QueryBundle, QueryClassifier, as_bundle
from rag.query.planner.plan import Extraction, FullTransformationResult, QueryIntent, Route
from rag.query.planner.words import EXAMINED
from rag.query.registry import create_classifier
from rag.query.syntax import parse_query
from rag.text.messages import brief
from rag.text.tokenizer import has_words

ROUTERS = ("rules", "model")  # any other is a plug-in
Understood = Extraction | FullTransformationResult
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "primary_route": {"type": "string", "enum": [route.value for route in Route]},
        "reason": {"type": "string"},
    },
    "required": ["primary_route"],
}
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

    :param router: `rules`, `model`, or the name of a classifier, that of a plug-in or the one
        given.
    :param generator: a Haystack chat generator, for `model`.
    """

    def __init__(
        self,
        router: str = "rules",
        generator: Any | None = None,
        classifier: QueryClassifier | None = None,
    ) -> None:
        self.router, self.generator, self.classifier = router, generator, classifier

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
        query = as_bundle(query)
        if self.classifier is None and self.router == "rules":
            like = _LIKE.search(query.query_str[:EXAMINED])
            if like and not (filters or rest.phrases):
                reason = f"“{like[0]}”"
                return QueryIntent(primary_route=Route.VECTOR_ONLY, by="rules", reason=reason)
            return QueryIntent(by="rules", reason="words to rank by")
        asker = asker or LiveAsker({"route": self.generator})
        if self.classifier is None and self.router == "model":
            intent = _by_model(query.query_str, extraction, asker)
        else:
            intent = self._by_classifier(query)
            text = intent.primary_route.value if intent.by == self.router else ""
            asker.trace.responses.append(
                RawResponse(stage="route", model=self.router, text=text, failure=intent.reason)
            )
        if intent.primary_route == Route.METADATA_ONLY:
            reason = "words are left to rank by" if filters else "nothing is filtered"
            return QueryIntent(by=intent.by, reason=reason)
        return intent

    def _by_classifier(self, query: QueryBundle) -> QueryIntent:
        try:
            self.classifier = self.classifier or create_classifier(self.router, self.generator)
            label = self.classifier.classify(query)
        except RAGError as error:
            return QueryIntent(reason=brief(error.message))
        except Exception as error:  # of a plug-in, which may raise anything
            return QueryIntent(reason=brief(f"{self.router} failed: {error or type(error)}"))
        if route := Route.named(label):
            return QueryIntent(primary_route=route, by=self.router)
        return QueryIntent(reason=brief(f"{self.router} said {label!r}, which is no route"))


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
