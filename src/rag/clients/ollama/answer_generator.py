"""The chat generator of the question answering pipeline, where Ollama answers."""

from __future__ import annotations

from haystack import component

from rag.clients.chat.generator import AnswerGeneratorBase
from rag.clients.ollama.chat_generator import OllamaGenerator


@component
class AnswerGenerator(AnswerGeneratorBase, OllamaGenerator):  # type: ignore[misc]
    """Let the chat model answer, with what goes wrong as a value; see `AnswerGeneratorBase`."""

    def _reasons(self) -> bool:
        """Return whether the model is to reason first: it is asked for, and the model can."""
        return bool(self.think) and "thinking" in (self.chat.info.capabilities or ("thinking",))

    def _model_asked(self) -> str:
        return self._chat_model.model if self._chat_model else ""
