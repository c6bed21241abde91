"""The component that puts a question and its notes into a prompt."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from haystack import component
from haystack.components.builders import PromptBuilder
from haystack.dataclasses import ChatMessage, Document

from rag.answers.agreement import Verification
from rag.answers.notices import marks_for
from rag.answers.prompt_injection import clean_name
from rag.clients.factory import chat_provider
from rag.clients.protocols import Response
from rag.config import ModelsConfig, OllamaConfig, complete, models_config
from rag.context.formatters import role_of
from rag.context.models import ContextItem, Items, SourceType
from rag.context.steps import find_step
from rag.exceptions import RAGError, UsageError
from rag.qa.answer import AnswerStream, HopelessError
from rag.qa.prompt import (
    MARGIN,
    TEMPLATE_TOKENS,
    Prompt,
    build_prompt,
    evidence_of,
    load_neighbours,
    no_room,
    rank_of,
)
from rag.search.components import SearchComponent
from rag.search.query import Retrieval
from rag.stores.base.document_store import BaseDocumentStore
from rag.support.pipeline_parts import NotCopied
from rag.text.messages import brief


class PromptTemplate:
    """Write the user's message by a Jinja template, of `query`, `documents`, `facts` and `history`.

    Text of notes is data to it, and never evaluated; prompt injections are taken out of it.

    :raises UsageError: for a template that is empty or does not parse.
    """

    def __init__(self, template: str) -> None:
        if not isinstance(template, str) or not template.strip():
            raise UsageError(
                "the prompt template is empty", hint="Leave it out to use the built-in prompt."
            )
        try:
            self._builder = PromptBuilder(template, required_variables=[])
        except Exception as error:
            raise _wrong("cannot be read", error) from error

    def write(self, question: str, documents: Sequence[Document], items: Items) -> str:
        """Return the message.

        :param documents: by the ranks of the notes among the items.
        :param items: facts, messages and notes, as they are to stand in the prompt.
        :raises UsageError: when the template fails.
        """
        mark = marks_for(question).left_out
        by: dict[SourceType, Items] = {source: [] for source in SourceType}
        for item in items:
            by[item.source].append(item)
        notes = []
        for item in by[SourceType.RETRIEVAL]:
            meta = _clean(documents[rank_of(item) - 1].meta, mark)
            meta |= {name: item.metadata[name] for name in ("title", "heading")}
            notes.append(Document(content=item.content, meta=meta))
        history = [
            {"role": role_of(item), "content": item.content} for item in by[SourceType.CONVERSATION]
        ]
        facts = [item.content.removeprefix("- ").strip() for item in by[SourceType.MEMORY]]
        try:
            made = self._builder.run(query=question, documents=notes, facts=facts, history=history)
        except Exception as error:
            raise _wrong("failed", error) from error
        return str(made["prompt"])


def _clean(value: Any, mark: str) -> Any:
    if isinstance(value, str):
        return clean_name(value, mark)[0]
    if isinstance(value, list):
        return [_clean(item, mark) for item in value]
    if isinstance(value, dict):
        return {name: _clean(item, mark) for name, item in value.items()}
    return value


def _wrong(what: str, error: Exception) -> UsageError:
    return UsageError(
        f"the prompt template {what}: {brief(str(error)).rstrip('.')}",
        hint="Its variables are query, documents, facts and history.",
    )


@dataclass
class Written(NotCopied):
    """A question on its way to a model, and what the model wrote: the prompt builder makes it, and
    the answer checker completes it.

    :param began: when the first form of its prompt was begun, by the monotonic clock.
    :param documents: those that the prompt was to be made from.
    :param built: the prompt; `None` when there is none.
    :param failure: why there is no prompt, no answer, or not all of it; a `HopelessError` where the
        program ended it, since nothing of it was borne out.
    :param is_sent: whether the model was asked.
    :param notices: what the reader should know of how it was made.
    """

    question: str
    began: float
    documents: list[Document]
    built: Prompt | None = None
    failure: RAGError | None = None
    is_sent: bool = False
    model: str = ""
    verification: Verification = field(default_factory=Verification)
    response: Response = field(default_factory=Response)
    notices: list[str] = field(default_factory=list)

    @property
    def is_shown(self) -> bool:
        """Whether there is something to show of it."""
        return self.verification.believed or self.verification.unverified

    @property
    def finish_reason(self) -> str:
        """How it ended: as the model says, or `interrupted`, `stopped`, `error`."""
        if self.response.interrupted:
            return "interrupted"
        if self.failure:
            return "stopped" if isinstance(self.failure, HopelessError) else "error"
        return self.response.finish_reason or ("length" if self.response.text else "")

    def begin(self, stream: AnswerStream) -> None:
        """Let a listener verify what is written by the sources of the prompt."""
        assert self.built
        window = [*map(evidence_of, self.built.sources)]
        stream.begin(window, self.question, self.built.numbered)


_MESSAGES = {
    "system": ChatMessage.from_system,
    "assistant": ChatMessage.from_assistant,
    "user": ChatMessage.from_user,
}


@component
class AnswerPromptBuilder(SearchComponent):
    """Make the prompt that a model answers from ranked documents.

    :param model: another model than the configured one; `max_tokens` is its longest answer.
    :param window: the tokens of prompt and answer together; 0 asks the chat model.
    :param steps: names of the user's own steps (entry points of the group `rag.steps`).
    :param document_store: where the neighbours of passages are read; without one there are none.
    :param template: of the user's message, in Jinja; see `PromptTemplate`. An answer to one without
        the numbers of the notes can name no source, and is shown as unverified.
    """

    def __init__(
        self,
        config: ModelsConfig | OllamaConfig | None = None,
        model: str = "",
        max_tokens: int = 1024,
        window: int = 0,
        steps: list[str] | None = None,
        template: str | None = None,
        document_store: BaseDocumentStore | None = None,
    ) -> None:
        self.document_store = document_store
        self.config = None if config is None else models_config(config)
        self.model, self.max_tokens = model, max_tokens
        self.window, self.steps, self.template = window, steps or [], template
        self._template = None if template is None else PromptTemplate(template)
        self._known_window = window

    @component.output_types(messages=list[ChatMessage], prompt=Written)
    def run(
        self,
        retrieval: Retrieval | None = None,
        remembered: list[ContextItem] | None = None,
        stream: AnswerStream | None = None,
        too_long: Written | None = None,
        failure: RAGError | None = None,
    ) -> dict[str, Any]:
        """Return the `messages` for a chat generator, and the `prompt` for the answer checker; no
        messages, so that no model is asked, without documents or where no prompt can be made.

        :param stream: the listener that the answer is to be verified by.
        :param too_long: the prompt that the server found too long: half of its notes are tried.
        :param failure: why the generator, which was asked before, is not to be asked again.
        """
        prompt = Written("", time.monotonic(), [], failure=failure)
        if too_long:
            prompt = Written(too_long.question, too_long.began, too_long.documents)
        elif retrieval:
            prompt.question, prompt.documents = retrieval.query.question, retrieval.documents
        if prompt.documents:
            try:
                before = too_long.built if too_long else None
                prompt.built = self._built(prompt, remembered or [], before)
            except RAGError as error:
                prompt.failure = error
        if prompt.failure or not prompt.built:
            return {"prompt": prompt}
        if stream:
            prompt.begin(stream)
        return {
            "prompt": prompt,
            "messages": [_MESSAGES[m["role"]](m["content"]) for m in prompt.built.messages],
        }

    def _built(
        self, prompt: Written, remembered: Sequence[ContextItem], too_long: Prompt | None
    ) -> Prompt:
        question, documents = prompt.question, prompt.documents
        if not self._known_window:
            chat = chat_provider(self.config or complete())
            self._known_window = chat.context_window(self.model)
        room = self._known_window - min(self.max_tokens, self._known_window // 3)
        steps = [find_step(name) for name in self.steps]
        template = self._template
        if template is None:
            store = None if too_long else self.document_store
            around = load_neighbours(store, documents) if store else {}
            return build_prompt(question, documents, room, remembered, steps, too_long, around)

        def write(items: Items) -> str:
            return template.write(question, documents, items)

        while True:
            built = build_prompt(
                question, documents, room, remembered, steps, too_long, write=write
            )
            if built.tokens * MARGIN + TEMPLATE_TOKENS <= room:
                return built
            if len(built.ranks) < 2:
                raise no_room()
            too_long = built
