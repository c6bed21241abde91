"""The chat generator of the question answering pipeline, where a server of OpenAI's API answers."""

from __future__ import annotations

from haystack import component

from rag.clients.chat.generator import AnswerGeneratorBase
from rag.clients.openai.chat_generator import OpenAIGenerator


@component
class OpenAIAnswerGenerator(AnswerGeneratorBase, OpenAIGenerator):  # type: ignore[misc]
    """Let the chat model answer, with what goes wrong as a value; see `AnswerGeneratorBase`."""

    def _model_asked(self) -> str:
        return self.model or self.config.chat.model
