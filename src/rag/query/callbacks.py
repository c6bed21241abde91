"""Callbacks of transformers that let a model write: any Haystack chat generator.

    generator = OllamaGenerator(model="llama3.2")
    transformer = MultiQueryTransformer(QueryVariations(generator))

A callback never fails because of its model, and never waits longer than its `timeout`. What it
gives then is the query itself, or nothing, and `fallback` says why in one short sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rag.query.llm import (
    LONGEST_QUERY,
    Asked,
    Prompt,
    ask,
    build_prompt,
    document_in,
    same_text,
    texts_in,
)
from rag.query.models import ConversationTurn
from rag.query.serialization import QueryComponent
from rag.query.transformers import GeneratedText, GeneratedTexts
from rag.text.bm25 import content_terms
from rag.text.tokenizer import has_words

_TURNS = 6
_LONGEST_TURN = 600  # characters


def schema_of(key: str, most: int = 0) -> dict[str, Any]:
    """Return the JSON schema of a reply with a text under a key, or with at most so many."""
    text: dict[str, Any] = {"type": "string"}
    if most:
        text = {"type": "array", "items": text, "minItems": 1, "maxItems": most}
    return {"type": "object", "properties": {key: text}, "required": [key]}


def rewriting_prompt(query: str, turns: Sequence[ConversationTurn]) -> Prompt:
    """Return what a model is asked to rewrite a query after a conversation, of which it is shown
    the end."""
    spoken = [turn for turn in turns if turn.role in ("user", "assistant")][-_TURNS:]
    lines = (f"{turn.role}: {turn.content[:_LONGEST_TURN]}" for turn in spoken)
    return build_prompt("rewritten", query, conversation="\n".join(lines))


TIMEOUT = 60.0  # seconds
_MOST_PARTS = 5
_LEAST_SHARED = 0.5  # of a rewritten question's terms


class _FromModel(QueryComponent):
    """A callback that asks a generator.

    :param generator: a Haystack chat generator; a `run` that takes a `response_format` is given
        the JSON schema of the reply.
    :param timeout: seconds for one text or list of texts, whatever the generator allows itself.
    :raises TypeError: for a generator without `run`.
    :raises ValueError: for a timeout that is not positive.
    """

    _callables = ("generator",)

    def __init__(self, generator: Any, timeout: float = TIMEOUT) -> None:
        if not callable(getattr(generator, "run", None)):
            kind = type(generator).__name__
            raise TypeError(f"generator must be a chat generator with run(), not {kind}")
        if not timeout > 0:
            raise ValueError(f"timeout must be positive, not {timeout}")
        self.generator, self.timeout = generator, timeout

    def _reply(self, prompt: Prompt, query: str, schema: dict[str, Any]) -> Asked:
        if not has_words(query):
            return Asked("", "", "the query holds no word")
        return ask(self.generator, prompt, schema, self.timeout)

    def _texts(
        self, prompt: Prompt, query: str, key: str, most: int, lacking: str
    ) -> tuple[list[str], str]:
        """Return the texts of the model's reply, one more than the most if the query is among them,
        and what to say where none of them is usable."""
        asked = self._reply(prompt, query, schema_of(key, most))
        longest = max(LONGEST_QUERY, 2 * len(query))
        texts = texts_in(asked.reply, (most or 1) + 1, without=prompt.code, longest=longest)
        return texts, asked.failure or f"{asked.model} gave {lacking}"


class HypotheticalDocuments(_FromModel):
    """For `HyDETransformer`: the passage of a note that would answer the query, else the query."""

    def __call__(self, query: str) -> GeneratedText:
        prompt = build_prompt("document", query)
        asked = self._reply(prompt, query, schema_of("document"))
        text = document_in(asked.reply, without=prompt.code)
        if text and not same_text(text, query):
            return GeneratedText(text)
        return GeneratedText(query, asked.failure or f"{asked.model} wrote no passage")


class QueryVariations(_FromModel):
    """For `MultiQueryTransformer`: other ways to put the query."""

    def __call__(self, query: str, num_queries: int) -> GeneratedTexts:
        """Return at most `num_queries` variations, none of them the query."""
        if num_queries < 1:
            return GeneratedTexts([])
        prompt = build_prompt("variations", query, {"count": str(num_queries)})
        texts, reason = self._texts(prompt, query, "queries", num_queries, "no variation")
        texts = [text for text in texts if not same_text(text, query)][:num_queries]
        return GeneratedTexts(texts, "" if texts else reason)


class SubQuestions(_FromModel):
    """For `DecompositionTransformer`: the questions that a query is made of, at most five; the
    query itself where it has one part."""

    def __call__(self, query: str) -> GeneratedTexts:
        prompt = build_prompt("sub_questions", query, {"count": str(_MOST_PARTS)})
        texts, reason = self._texts(prompt, query, "questions", _MOST_PARTS, "no sub-question")
        parts = [text for text in texts if not same_text(text, query)][:_MOST_PARTS]
        return GeneratedTexts(parts or [query], "" if texts else reason)


class StepBackQuestions(_FromModel):
    """For `StepBackTransformer`: a more general question, else the query."""

    def __call__(self, query: str) -> GeneratedText:
        prompt = build_prompt("step_back", query)
        texts, reason = self._texts(prompt, query, "question", 0, "no general question")
        others = [GeneratedText(text) for text in texts if not same_text(text, query)]
        return others[0] if others else GeneratedText(query, reason)


class RewrittenQuestions(_FromModel):
    """For `ConversationRewriter`: the query, made to stand by itself, else the query.

    A question of other words than those of the conversation is not believed.
    """

    def __call__(self, query: str, turns: Sequence[ConversationTurn]) -> GeneratedText:
        prompt = rewriting_prompt(query, turns)
        texts, reason = self._texts(prompt, query, "question", 0, "no question")
        if not texts:
            return GeneratedText(query, reason)
        terms = {*content_terms(texts[0])}
        if len(terms & {*content_terms(prompt.user)}) >= _LEAST_SHARED * len(terms):
            return GeneratedText(texts[0])
        return GeneratedText(query, reason.replace("gave no question", "asked something else"))
