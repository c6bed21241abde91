"""Which way a query goes, whoever chooses it."""

from typing import Any

from haystack.components.generators.chat import MockChatGenerator

from rag.query import Extraction, IntentRouter, MetadataExtraction, Route
from tables import rows

META, VECTOR, HYBRID = Route.METADATA_ONLY, Route.VECTOR_ONLY, Route.HYBRID_BOTH


def route(router: IntentRouter, query: str, text: str | None = None, **read: Any) -> Any:
    metadata = MetadataExtraction(**read)
    return router.classify(
        query, Extraction(text=query if text is None else text, metadata=metadata)
    )


def says(reply: str) -> IntentRouter:
    return IntentRouter("model", MockChatGenerator(reply, model="mock"))


class TestByRules:
    @rows(
        "query, text, tags, expected",
        ("rolling back", "rolling back", [], HYBRID),
        ("tagged helm", "", ["helm"], META),
        ("tagged helm?", " ?", ["helm"], META),
        ("rollbacks tagged helm", "rollbacks", ["helm"], HYBRID),
        ("", "", [], HYBRID),
        ("?!", "?!", [], HYBRID),
        ("tag:helm", "tag:helm", [], META),
        ("tag:helm rollback", "tag:helm rollback", [], HYBRID),
        ("-draft", "-draft", [], META),
        ('"roll back"', '"roll back"', ["helm"], HYBRID),
        ("something like a diary", "something like a diary", [], VECTOR),
        ("notes SIMILAR  to my essay", "notes SIMILAR  to my essay", [], VECTOR),
        ("what reminds me of Kyoto", "what reminds me of Kyoto", [], VECTOR),
        ("京都の話に似たノート", "京都の話に似たノート", [], VECTOR),
        ("日記のような文章", "日記のような文章", [], VECTOR),
        ("something like a diary", "something like a diary", ["helm"], HYBRID),
        ("something like tag:x", "something like tag:x", [], HYBRID),
        ('something like "a diary"', 'something like "a diary"', [], HYBRID),
        ("I would like a list", "I would like a list", [], HYBRID),
    )
    def test_words_and_filters_say_where(self, query, text, tags, expected):
        intent = route(IntentRouter(), query, text, tags=tags)
        assert (intent.primary_route, intent.by) == (expected, "rules")
        assert intent.reason


class TestByModel:
    @rows(
        "reply",
        '{"primary_route": "vector_only", "reason": "like"}',
        '<think>hm</think>```json\n{"primary_route": "VECTOR-ONLY"}\n```',
        "vector_only",
    )
    def test_it_is_understood_however_it_is_written(self, reply):
        intent = route(says(reply), "rolling back")
        assert (intent.primary_route, intent.by) == (VECTOR, "model")

    @rows("reply", "", "{}", "sure", '{"primary_route": 3}', '["vector"]', "[]")
    def test_what_is_no_route_is_in_doubt(self, reply):
        intent = route(says(reply), "rolling back")
        assert (intent.primary_route, intent.by) == (HYBRID, "default")
        assert intent.reason == "mock named no route"

    def test_without_a_model_it_is_in_doubt(self):
        intent = route(IntentRouter("model"), "rolling back")
        assert (intent.primary_route, intent.reason) == (HYBRID, "there is no model")

    @rows("tags", [], ["helm"])
    @rows("name", "metadata_only", "sql_only")
    def test_words_that_are_left_are_ranked_by_whatever_it_says(self, tags, name):
        intent = route(says(f'{{"primary_route": "{name}"}}'), "rolling back", tags=tags)
        assert intent.primary_route == HYBRID
