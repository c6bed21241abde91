"""A template in the place of the built-in prompt.

It is given `query`, the question; `documents`, Haystack documents, best first; `facts`, what the
user told, as a list of lines; and `history`, what was said before, oldest first, as a list of
`role` and `content`.

All but the question is cleaned as in the built-in prompt. `history` is as much as a fifth of what
the model reads. The steps of `ask.steps` work on the built-in prompt alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from traceback import walk_tb
from typing import Any

from haystack.components.builders import PromptBuilder
from haystack.dataclasses import Document

from rag.answers import prompt_texts as words
from rag.answers.language import marks_for
from rag.answers.prompt_injection import clean_name
from rag.answers.prompt_texts import Prompt, Source
from rag.context.formatters import role_of
from rag.context.models import ContextItem, SourceType
from rag.exceptions import TooLongError, UsageError
from rag.qa.context_report import WindowReport
from rag.qa.plugin_steps import OwnSteps
from rag.text.messages import brief
from rag.text.token_estimate import count_tokens

_HISTORY = 0.2  # of what the model reads
# More characters a token no text has that a model can use; blanks count as no token at all.
_CHARACTERS_PER_TOKEN = 32
_LEAST_CHARACTERS = 10_000
_SOURCE_NAMES = ("title", "heading", "vault", "file_path")  # counted in the `Source`


@dataclass(frozen=True, kw_only=True)
class TemplatedPrompt(Prompt):
    """A prompt of a template.

    :param ranks: of each of its sources the number (from 1) that it had in the search.
    """

    ranks: list[int]
    own: OwnSteps = field(default_factory=lambda: OwnSteps(()))

    def report(self) -> WindowReport | None:
        """Return nothing: no context pipeline made it."""
        return None


class PromptTemplate:
    """Write prompts by a Jinja template, which makes the user's message.

    Text of notes is data to it, and never evaluated; prompt injections are taken out of it.

    :raises UsageError: for a template that is empty or does not parse.
    """

    def __init__(self, template: str) -> None:
        if not isinstance(template, str):
            raise UsageError(
                f"the prompt template is of type {type(template).__name__}, and no text",
                hint="Give the text of a Jinja template.",
            )
        if not template.strip():
            raise UsageError(
                "the prompt template is empty", hint="Leave it out to use the built-in prompt."
            )
        try:
            self._builder = PromptBuilder(template, required_variables=[])
        except Exception as error:
            raise _wrong("cannot be read", error) from error

    def build(
        self,
        question: str,
        documents: Sequence[Document],
        sources: Sequence[Source],
        room: int,
        remembered: Sequence[ContextItem] = (),
        too_long: TemplatedPrompt | None = None,
    ) -> TemplatedPrompt:
        """Put a question and as many documents as fit into a prompt, the best first.

        :param sources: the same documents.
        :param room: how many tokens the model reads, those of the answer not counted.
        :param remembered: facts that the user told and what was said before.
        :param too_long: the prompt that the server found too long.
        :raises TooLongError: when not even one document fits.
        :raises UsageError: when the template fails.
        """
        mark = marks_for(question).left_out
        cleaned = [_cleaned(*pair, mark) for pair in zip(documents, sources, strict=True)]
        shown = [document for document, _, _ in cleaned]
        rules = {"role": "system", "content": words.rules(question)}
        usable = (room - words.TEMPLATE_TOKENS) / words.MARGIN - count_tokens(rules["content"])
        known = {
            "query": question,
            "facts": [words.one_line(i.content) for i in _of(remembered, SourceType.MEMORY)],
            "history": self._history(remembered, question, usable),
        }
        most = len(too_long.ranks) // 2 if too_long else len(shown)
        for count in range(most, 0, -1):
            text = self._rendered({**known, "documents": shown[:count]}, usable)
            if text is not None and (tokens := count_tokens(text)) <= usable:
                return TemplatedPrompt(
                    messages=[rules, {"role": "user", "content": text}],
                    sources=[source for _, source, _ in cleaned[:count]],
                    tokens=tokens + count_tokens(rules["content"]),
                    planted=sum(planted for _, _, planted in cleaned[:count]),
                    ranks=list(range(1, count + 1)),
                    numbered=all(f"[{number}]" in text for number in range(1, count + 1)),
                )
        raise TooLongError(
            "the prompt template leaves no room for notes in what the model reads",
            hint="Shorten it, or raise ollama.max_context.",
        )

    def _rendered(self, given: dict[str, Any], usable: float) -> str | None:
        """Return what the template makes; `None` as soon as it is much too long for the model.

        A template can make any amount of text, and counting its tokens takes much longer.
        """
        most = max(_LEAST_CHARACTERS, _CHARACTERS_PER_TOKEN * usable)
        pieces: list[str] = []
        try:
            for piece in self._builder.template.generate(given):
                pieces.append(piece)
                most -= len(piece)
                if most < 0:
                    return None
        except Exception as error:
            raise _wrong("failed", error) from error
        return "".join(pieces)

    def _history(
        self, remembered: Sequence[ContextItem], question: str, usable: float
    ) -> list[dict[str, str]]:
        """Return the newest questions with their answers, as many as there is room for."""
        if "history" not in self._builder.variables:
            return []
        said = [
            {"role": role_of(item), "content": words.as_said(item.content, question)}
            for item in _of(remembered, SourceType.CONVERSATION)
        ]
        starts = [n for n, one in enumerate(said) if one["role"] == "user"]
        left, first = usable * _HISTORY, len(said)
        for start, end in reversed([*pairwise([*starts, len(said)])]):
            left -= sum(count_tokens(one["content"]) for one in said[start:end])
            if left < 0:
                break
            first = start
        return said[first:]


def _of(remembered: Sequence[ContextItem], source: SourceType) -> list[ContextItem]:
    """Return the items of a source, oldest first."""
    return sorted((i for i in remembered if i.source == source), key=lambda i: i.created_at)


def _cleaned(document: Document, source: Source, mark: str) -> tuple[Document, Source, int]:
    """Return a document and its source without prompt injections, and how much that was."""
    shown, planted = words.clean(source, mark)
    meta: dict[str, Any] = {}
    for name, value in document.meta.items():
        meta[name], count = _clean_value(value, mark)
        planted += 0 if name in _SOURCE_NAMES else count
    meta |= {"title": shown.title, "heading": [*shown.heading]}
    return replace(document, content=shown.text, meta=meta), shown, planted


def _clean_value(value: Any, mark: str) -> tuple[Any, int]:
    if isinstance(value, str):
        return clean_name(value, mark)
    if isinstance(value, list):
        cleaned = [_clean_value(one, mark) for one in value]
        return [one for one, _ in cleaned], sum(count for _, count in cleaned)
    return value, 0


def _wrong(what: str, error: Exception) -> UsageError:
    """Return what is wrong with a template, and in which of its lines."""
    line = getattr(error, "lineno", None)
    for frame, number in walk_tb(error.__traceback__):
        if frame.f_code.co_filename == "<template>":
            line = number
    where = f" in line {line}" if line else ""
    why = getattr(error, "message", "") or error or type(error).__name__
    return UsageError(
        f"the prompt template {what}{where}: {brief(str(why)).rstrip('.')}",
        hint="Its variables are query, documents, facts and history.",
    )
