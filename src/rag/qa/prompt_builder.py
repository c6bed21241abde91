"""The component that puts a question and its notes into a prompt."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, Document

from rag.answers.evidence import Evidence
from rag.answers.prompt_texts import Source
from rag.clients.factory import chat_provider
from rag.clients.serialization import with_config
from rag.config import ModelsConfig, OllamaConfig, complete, models_config
from rag.context.models import ContextItem
from rag.exceptions import RAGError
from rag.qa.answer_stream import AnswerStream
from rag.qa.neighbours.around import Around
from rag.qa.plugin_steps import load_steps
from rag.qa.prompt import BuiltPrompt, build_prompt
from rag.qa.prompt_template import PromptTemplate, TemplatedPrompt


@dataclass
class AnswerPrompt:
    """What the answer checker is to know of a prompt.

    :param began: when the first of its forms was begun, by the monotonic clock.
    :param documents: those that it was to be made from.
    :param built: the prompt; `None` when there is none.
    :param failure: why there is none, or why it is not sent.
    """

    question: str
    began: float
    documents: list[Document]
    built: BuiltPrompt | TemplatedPrompt | None = None
    failure: RAGError | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> AnswerPrompt:
        return self  # Haystack copies what goes from one component to the next

    @property
    def window(self) -> list[Evidence]:
        """The sources in the prompt, in the order of their numbers."""
        return [source.evidence() for source in self.built.sources] if self.built else []


@component
class AnswerPromptBuilder:
    """Make the prompt that a model answers from ranked documents.

    :param config: the sections of providers, such as a `RAGConfig`; or the `[ollama]` section;
        without it those in force.
    :param model: another model than the configured one.
    :param max_tokens: the longest answer.
    :param window: the tokens of prompt and answer together; 0 asks the chat model, or takes what
        the settings say (`ollama.max_context`) where it cannot be asked.
    :param steps: names of the user's own steps (entry points of the group `rag.steps`).
    :param template: the user's message in Jinja, in the place of the built-in one; its variables
        are those of `rag.qa.prompt_template`. Number the notes in it: without numbers an answer
        can name no source, and is shown as unverified.
    :raises UsageError: for a step that does not exist, or a template that is empty or does not
        parse.
    """

    def __init__(
        self,
        config: ModelsConfig | OllamaConfig | None = None,
        model: str = "",
        max_tokens: int = 1024,
        window: int = 0,
        steps: list[str] | None = None,
        template: str | None = None,
    ) -> None:
        self.config = None if config is None else models_config(config)
        self.model, self.max_tokens = model, max_tokens
        self.window, self.steps, self.template = window, steps or [], template
        self._template = None if template is None else PromptTemplate(template)
        self._known_window = window
        self._window_of: Callable[[], int] | None = None

    def ask_with(self, window_of: Callable[[], int]) -> None:
        """Ask for the model's window by the connection that answers will come by.

        What fails then is why there is no prompt: the model itself would be waited for again.
        """
        self._window_of = window_of

    @component.output_types(messages=list[ChatMessage], prompt=AnswerPrompt)
    def run(
        self,
        query: str = "",
        documents: list[Document] | None = None,
        around: dict[str, Around] | None = None,
        remembered: list[ContextItem] | None = None,
        stream: AnswerStream | None = None,
        too_long: AnswerPrompt | None = None,
        failure: RAGError | None = None,
    ) -> dict[str, Any]:
        """Return the `messages` for a chat generator, and the `prompt` for the answer checker;
        no messages, so that no model is asked, without documents or where no prompt can be made.

        :param around: what stands before and after documents in their notes, by their ids. A
            prompt that was too long is made without.
        :param remembered: facts that the user told and what was said before.
        :param stream: the listener that the answer is to be verified by.
        :param too_long: the prompt that the server found too long: half of its notes are tried.
            It stands for query and documents.
        :param failure: why the generator, which was asked before, is not to be asked again.
        """
        if too_long:
            prompt = AnswerPrompt(too_long.question, too_long.began, too_long.documents)
        else:
            prompt = AnswerPrompt(query, time.monotonic(), documents or [], failure=failure)
        if not prompt.documents:
            return {"prompt": prompt}
        try:
            before = too_long.built if too_long else None
            prompt.built = self._built(prompt, remembered or [], before, around or {})
        except RAGError as error:
            prompt.failure = error
        if prompt.failure or not prompt.built:
            return {"prompt": prompt}
        if stream:
            stream.begin(prompt.window, prompt.question, prompt.built.numbered)
        return {"prompt": prompt, "messages": [_message(m) for m in prompt.built.messages]}

    def _built(
        self,
        prompt: AnswerPrompt,
        remembered: Sequence[ContextItem],
        too_long: BuiltPrompt | TemplatedPrompt | None,
        around: Mapping[str, Around],
    ) -> BuiltPrompt | TemplatedPrompt:
        query, documents = prompt.question, prompt.documents
        window = self._known_window or self._model_window()
        room = window - min(self.max_tokens, window // 3)
        sources = [source_of(document) for document in documents]
        if self._template:
            assert not isinstance(too_long, BuiltPrompt)
            return self._template.build(query, documents, sources, room, remembered, too_long)
        assert not isinstance(too_long, TemplatedPrompt)
        near = {n: around[d.id] for n, d in enumerate(documents, 1) if d.id in around}
        steps = load_steps(self.steps)
        return build_prompt(query, sources, room, remembered, steps, too_long, near)

    def _model_window(self) -> int:
        if self._window_of:
            self._known_window = self._window_of()
        else:
            chat = chat_provider(self.config or complete())
            self._known_window = chat.context_window(self.model)
        return self._known_window

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its settings."""
        return default_to_dict(
            self,
            config=self.config and asdict(self.config),
            model=self.model,
            max_tokens=self.max_tokens,
            window=self.window,
            steps=self.steps,
            template=self.template,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_config(data))


def _message(given: Mapping[str, str]) -> ChatMessage:
    make = {"system": ChatMessage.from_system, "assistant": ChatMessage.from_assistant}
    return make.get(given["role"], ChatMessage.from_user)(given["content"])


def source_of(document: Document) -> Source:
    """Return a document as a source of a prompt."""
    meta = document.meta
    return Source(
        title=str(meta.get("title") or ""),
        place=f"{meta.get('vault')}/{meta.get('file_path')}",
        text=document.content or "",
        heading=tuple(map(str, meta.get("heading") or ())),
        tags=tuple(map(str, meta.get("tags") or ())),
    )
