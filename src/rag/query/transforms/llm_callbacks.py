"""Callbacks of transformers that let a model write: any Haystack chat generator.

    generator = OllamaGenerator(model="llama3.2")
    transformer = MultiQueryTransformer(QueryVariations(generator))

A callback never fails because of its model, and never waits longer than its `timeout`. What it
gives then is made of the query's own words, and says so: `fallback` is one short sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from haystack import default_from_dict, default_to_dict

from rag.query.llm import LONGEST_QUERY, Asked, ask, document_in, same_text, texts_in
from rag.query.models import ConversationTurn
from rag.query.serialization import to_serialised, with_callables
from rag.query.transforms.prompts import (
    DOCUMENT,
    REWRITTEN,
    STEP_BACK,
    SUB_QUESTIONS,
    VARIATIONS,
    Prompt,
    Task,
    build_prompt,
    said_before,
)
from rag.query.transforms.transformers import GeneratedText, GeneratedTexts
from rag.text.bm25 import content_terms
from rag.text.ngrams import UNSEGMENTED
from rag.text.scripts import HIRAGANA, KATAKANA
from rag.text.tokenizer import JAPANESE_QUESTION, STOP_TERMS, has_words, normalize, stem

_KANJI = "\u3005\u3400-\u4dbf\u4e00-\u9fff"
# Runs of kanji and of katakana are words, or nearly. A kanji alone is one before a particle; before
# other hiragana it is a verb's or adjective's.
_WORD = re.compile(
    f"[{KATAKANA}]{{2,}}|[{_KANJI}]{{2,}}|[{_KANJI}](?![{HIRAGANA}])"
    f"|[{_KANJI}](?=[のをはがにでとへもや])"
    rf"|\d+(?:[.,]\d+)+|(?:(?![{UNSEGMENTED}])[\w.+#'’/-])+"
)
_NUMBER = re.compile(r"\d[\d.,:/-]*(?:年度?|月|日|時間?|分|秒|円|人|個|件|回|台|歳|つ)?")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|「[^」]*」|『[^』]*』")
_NAMED = f"[{KATAKANA}{_KANJI}A-Za-z0-9]"
_SEAM = re.compile(
    r"((?<=[?？])\s*|[。；;]\s*|と?、|,\s+|\s+(?:and|as well as|及び|および)\s+|及び|および"
    rf"|(?<={_NAMED})と(?={_NAMED}))",
    re.IGNORECASE,
)


def subject_words(query: str) -> list[str]:
    """Return the words that name what a query is about, each once, as they are written.

    >>> subject_words("How do I roll back a bad deploy?")
    ['roll', 'back', 'bad', 'deploy']
    >>> subject_words("証明書の更新はいつですか？")
    ['証明書', '更新']
    """
    words: dict[str, str] = {}
    for match in _WORD.finditer(JAPANESE_QUESTION.sub(" ", query)):
        word = match[0].strip(".'’/-")
        key = normalize(word)
        if any(map(str.isalnum, key)) and stem(key) not in STOP_TERMS:
            words.setdefault(key, word)
    return list(words.values())


def bare_words(query: str) -> list[str]:
    """Return the query's subject words as one variation of it; none when that is the query.

    >>> bare_words("How do I roll back a bad deploy?"), bare_words("roll back")
    (['roll back bad deploy'], [])
    """
    bare = " ".join(subject_words(query))
    same = normalize(bare).split() == normalize(query).strip("?？!.。 ").split()
    return [] if same or not bare else [bare]


def parts_of(query: str, count: int) -> list[str]:
    """Split a query where it asks for several things; each part names something.

    >>> parts_of("How is TLS renewed, and who owns the backups?", 5)
    ['How is TLS renewed', 'who owns the backups?']
    >>> parts_of("バックアップと復元の手順は？", 5)
    ['バックアップ', '復元の手順は？']
    """
    first, *rest = _SEAM.split(query)
    parts = [first]
    for seam, text in zip(rest[::2], rest[1::2], strict=True):
        if len(parts) < count and subject_words(text) and subject_words(parts[-1]):
            parts.append(text)
        else:
            parts[-1] += seam + text
    trimmed = [re.sub(r"^(?:and|or|but)\s+", "", part.strip(), flags=re.I) for part in parts]
    return list(dict.fromkeys(trimmed)) if len(parts) > 1 else [query]


def without_specifics(query: str) -> str:
    """Return the query's subject words without numbers and quotations; if none is left, the query.

    >>> without_specifics('Why did "api-7" fail on 2024-03-05 in Berlin?')
    'fail Berlin'
    """
    words = subject_words(_NUMBER.sub("0 ", _QUOTED.sub(" ", query)))
    return " ".join(word for word in words if not any(map(str.isdigit, word))) or query


TIMEOUT = 60.0  # seconds
_MOST_PARTS = 5
_MIN_KNOWN = 0.5  # of a rewritten question's terms


class _FromModel:
    """What all callbacks are: a generator that is asked, within a time.

    :param generator: a Haystack chat generator; a `run` that takes a `response_format` is given
        the JSON schema of the reply.
    :param timeout: seconds for one text or list of texts, whatever the generator allows itself.
    :raises TypeError: for a generator without `run`.
    :raises ValueError: for a timeout that is not positive.
    """

    def __init__(self, generator: Any, timeout: float = TIMEOUT) -> None:
        if not callable(getattr(generator, "run", None)):
            kind = type(generator).__name__
            raise TypeError(f"generator must be a chat generator with run(), not {kind}")
        if not timeout > 0:
            raise ValueError(f"timeout must be positive, not {timeout}")
        self.generator, self.timeout = generator, timeout

    def _ask(self, task: Task, query: str, count: int = 1, said: str = "") -> tuple[Prompt, Asked]:
        prompt = build_prompt(task, query, count, said)
        if not has_words(query):
            return prompt, Asked("", "", "the query holds no word")
        return prompt, ask(self.generator, prompt, task.schema(count), self.timeout)

    def to_dict(self) -> dict[str, Any]:
        """Serialise the callback with its generator."""
        return default_to_dict(self, generator=to_serialised(self.generator), timeout=self.timeout)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the callback from what `to_dict` gave."""
        return default_from_dict(cls, with_callables(data, "generator"))


class HypotheticalDocuments(_FromModel):
    """For `HyDETransformer`: the passage of a note that would answer the query.

    Without a model it is the query itself.
    """

    def __call__(self, query: str) -> GeneratedText:
        """Return the passage, on one line."""
        prompt, asked = self._ask(DOCUMENT, query)
        text = document_in(asked.reply, without=prompt.code)
        if text and not same_text(text, query):
            return GeneratedText(text)
        return GeneratedText(query, asked.failure or f"{asked.model} wrote no passage")


class QueryVariations(_FromModel):
    """For `MultiQueryTransformer`: other ways to put the query.

    Without a model it is the query's content words, or nothing when the query is just these.
    """

    def __call__(self, query: str, num_queries: int) -> GeneratedTexts:
        """Return at most `num_queries` variations, none of them the query."""
        if num_queries < 1:
            return GeneratedTexts([])
        prompt, asked = self._ask(VARIATIONS, query, num_queries)
        texts = texts_in(
            asked.reply, num_queries, unlike=[query], without=prompt.code, longest=_longest(query)
        )
        if texts:
            return GeneratedTexts(texts)
        reason = asked.failure or f"{asked.model} gave no variation"
        return GeneratedTexts(bare_words(query), reason)


class SubQuestions(_FromModel):
    """For `DecompositionTransformer`: the questions that a query is made of, at most five.

    A query of one part is its own only sub-question. Without a model a query is split where it
    enumerates.
    """

    def __call__(self, query: str) -> GeneratedTexts:
        """Return the sub-questions, at least one."""
        prompt, asked = self._ask(SUB_QUESTIONS, query, _MOST_PARTS)
        texts = texts_in(asked.reply, _MOST_PARTS + 1, without=prompt.code, longest=_longest(query))
        parts = [text for text in texts if not same_text(text, query)][:_MOST_PARTS]
        if texts:
            return GeneratedTexts(parts or [query])
        reason = asked.failure or f"{asked.model} gave no sub-question"
        return GeneratedTexts(parts_of(query, _MOST_PARTS), reason)


class StepBackQuestions(_FromModel):
    """For `StepBackTransformer`: a more general question.

    Without a model it is the query's content words without numbers and quotations.
    """

    def __call__(self, query: str) -> GeneratedText:
        """Return the general question."""
        prompt, asked = self._ask(STEP_BACK, query)
        texts = texts_in(
            asked.reply, 1, unlike=[query], without=prompt.code, longest=_longest(query)
        )
        if texts:
            return GeneratedText(texts[0])
        reason = asked.failure or f"{asked.model} gave no general question"
        return GeneratedText(without_specifics(query), reason)


class RewrittenQuestions(_FromModel):
    """For `ConversationRewriter`: the query, made to stand by itself.

    A question of other words than those of the conversation is not believed. Without a model it
    is the query itself.
    """

    def __call__(self, query: str, turns: Sequence[ConversationTurn]) -> GeneratedText:
        """Return the rewritten query."""
        said = said_before(turns)
        prompt, asked = self._ask(REWRITTEN, query, said=said)
        texts = texts_in(asked.reply, 1, without=prompt.code, longest=_longest(query))
        if texts and _is_known(texts[0], f"{query}\n{said}"):
            return GeneratedText(texts[0])
        reason = f"{asked.model} {'asked something else' if texts else 'gave no question'}"
        return GeneratedText(query, asked.failure or reason)


def _longest(query: str) -> int:
    return max(LONGEST_QUERY, 2 * len(query))


def _is_known(text: str, conversation: str) -> bool:
    """Return whether a text is made of the words of a conversation."""
    terms = set(content_terms(text))
    return len(terms & set(content_terms(conversation))) >= _MIN_KNOWN * len(terms)
