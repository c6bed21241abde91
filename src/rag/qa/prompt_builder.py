"""The component that puts a question and its notes into a prompt."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from traceback import walk_tb
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.components.builders import PromptBuilder
from haystack.dataclasses import ChatMessage, Document

from rag.answers import prompt_texts as words
from rag.answers.evidence import Evidence
from rag.answers.notices import marks_for
from rag.answers.prompt_injection import clean_name
from rag.answers.prompt_texts import Prompt, Source
from rag.clients.factory import chat_provider, with_config
from rag.config import ModelsConfig, OllamaConfig, complete, models_config
from rag.context.formatters import role_of
from rag.context.models import ContextItem, SourceType
from rag.exceptions import RAGError, TooLongError, UsageError
from rag.qa.answer import AnswerStream
from rag.qa.context_report import OwnSteps, WindowReport, load_steps
from rag.qa.neighbours import load_neighbours
from rag.qa.prompt import BuiltPrompt, build_prompt
from rag.search.query import Retrieval
from rag.stores.base.batch import NotCopied
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.edge.retrievers import with_store
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


@dataclass
class AnswerPrompt(NotCopied):
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
    :param document_store: where the neighbours of passages are read; without one only the passages
        themselves are shown.
    :param template: the user's message in Jinja, in the place of the built-in one; its variables
        are those of `rag.qa.prompt_builder`. Number the notes in it: without numbers an answer
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
        document_store: BaseDocumentStore | None = None,
    ) -> None:
        self.document_store = document_store
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
        retrieval: Retrieval | None = None,
        remembered: list[ContextItem] | None = None,
        stream: AnswerStream | None = None,
        too_long: AnswerPrompt | None = None,
        failure: RAGError | None = None,
    ) -> dict[str, Any]:
        """Return the `messages` for a chat generator, and the `prompt` for the answer checker;
        no messages, so that no model is asked, without documents or where no prompt can be made.

        :param retrieval: the question, and the documents that may answer it.
        :param remembered: facts that the user told and what was said before.
        :param stream: the listener that the answer is to be verified by.
        :param too_long: the prompt that the server found too long: half of its notes are tried.
            It stands for the retrieval, and is made without neighbours.
        :param failure: why the generator, which was asked before, is not to be asked again.
        """
        if too_long:
            prompt = AnswerPrompt(too_long.question, too_long.began, too_long.documents)
        elif retrieval:
            question, documents = retrieval.query.question, retrieval.documents
            prompt = AnswerPrompt(question, time.monotonic(), documents, failure=failure)
        else:
            prompt = AnswerPrompt("", time.monotonic(), [])
        if not prompt.documents:
            return {"prompt": prompt}
        try:
            before = too_long.built if too_long else None
            prompt.built = self._built(prompt, remembered or [], before)
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
    ) -> BuiltPrompt | TemplatedPrompt:
        query, documents = prompt.question, prompt.documents
        window = self._known_window or self._model_window()
        room = window - min(self.max_tokens, window // 3)
        sources = [source_of(document) for document in documents]
        if self._template:
            assert not isinstance(too_long, BuiltPrompt)
            return self._template.build(query, documents, sources, room, remembered, too_long)
        assert not isinstance(too_long, TemplatedPrompt)
        around = {}
        if self.document_store and not too_long:
            around = load_neighbours(self.document_store, documents)
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
            document_store=self.document_store and self.document_store.to_dict(),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        if data["init_parameters"].get("document_store"):
            data = with_store(data)
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
