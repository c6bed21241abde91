"""A template in the place of the built-in prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from haystack.components.builders import PromptBuilder
from haystack.dataclasses import Document

from rag.answers import prompt_texts as words
from rag.answers.language import marks_for
from rag.answers.prompt_texts import Prompt, Source
from rag.context.models import ContextItem, SourceType
from rag.exceptions import TooLongError, UsageError
from rag.qa.context_report import WindowReport
from rag.qa.plugin_steps import OwnSteps
from rag.text.token_estimate import count_tokens


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

    Text of notes is data to it, and never evaluated; what instructs a model is taken out of it.

    :raises UsageError: for a template that does not parse.
    """

    def __init__(self, template: str) -> None:
        try:
            self._builder = PromptBuilder(template, required_variables=[])
        except Exception as error:
            raise UsageError(f"the prompt template cannot be read: {error}") from error

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
        :param remembered: of it the template is given the facts.
        :param too_long: the prompt that the server found too long.
        :raises TooLongError: when not even one document fits.
        """
        mark = marks_for(question).left_out
        cleaned = [words.clean(source, mark) for source in sources]
        shown = [
            replace(d, content=s.text, meta={**d.meta, "title": s.title, "heading": [*s.heading]})
            for d, (s, _) in zip(documents, cleaned, strict=True)
        ]
        facts = [i.content for i in remembered if i.source == SourceType.MEMORY]
        rules = {"role": "system", "content": words.rules(question)}
        usable = (room - words.TEMPLATE_TOKENS) / words.MARGIN - count_tokens(rules["content"])
        most = len(too_long.ranks) // 2 if too_long else len(shown)
        for count in range(most, 0, -1):
            given = {"query": question, "documents": shown[:count], "facts": facts}
            text = self._builder.run(template_variables=given)["prompt"]
            if (tokens := count_tokens(text)) <= usable:
                return TemplatedPrompt(
                    messages=[rules, {"role": "user", "content": text}],
                    sources=[source for source, _ in cleaned[:count]],
                    tokens=tokens + count_tokens(rules["content"]),
                    planted=sum(planted for _, planted in cleaned[:count]),
                    ranks=list(range(1, count + 1)),
                )
        raise TooLongError(
            "the prompt template leaves no room for notes in what the model reads",
            hint="Shorten it, or raise ollama.max_context.",
        )
