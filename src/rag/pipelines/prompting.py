"""The prompt of an answer, assembled by the context pipeline.

| source | priority | what it is | how much of the room |
|---|---|---|---|
| system | 10 | the rules | all that it needs |
| user | 9 | the question, as the last message | all that it needs |
| memory | 8 | facts that the user told, in the user's message | at most a tenth of the rest |
| conversation | 7 | what was said before, as user and assistant | at most a fifth of the rest |
| retrieval | 5 | notes, fenced and numbered in the user's message | what the others leave |

Everything but the rules is data, and speaks as user or assistant. A note that is too long for
what is left is cut at the end of a sentence; a smaller one may follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rag.answers import prompting as words
from rag.answers.language import marks_for
from rag.answers.prompting import Prompt, Source
from rag.context.budget import BudgetAllocation, TokenBudget
from rag.context.formatters import Message, merged, role_of
from rag.context.models import ContextItem, ContextResult, ContextWindow, SourceType, by_priority
from rag.context.pipeline import ContextPipeline
from rag.context.steps import Items, PipelineStep, retriever_step
from rag.exceptions import ContextError, TooLongError
from rag.pipelines.own_steps import OwnSteps
from rag.pipelines.window import WindowReport, window_report
from rag.query.models import QueryBundle
from rag.text.budget import count_tokens

QUESTION_PRIORITY = 9
# Of what rules and question leave; what is not used goes to the notes.
SHARES = {SourceType.MEMORY: 0.1, SourceType.CONVERSATION: 0.2}
_MESSAGE_TOKENS = 8  # what a chat template puts around one more message


@dataclass(frozen=True, kw_only=True)
class BuiltPrompt(Prompt):
    """A prompt, and how it came about.

    :param ranks: of each of its sources the number (from 1) that it had before.
    :param made: what the context pipeline made.
    :param limits: how many tokens each kind of source could have had.
    :param own: what the user's own steps did.
    """

    ranks: list[int]
    made: ContextResult
    limits: dict[SourceType, int]
    own: OwnSteps

    def report(self, untried: Sequence[Source] = ()) -> WindowReport:
        """Return what it holds in words, and what it does not.

        :param untried: sources that it was not made from, since the server found a prompt with
            them too long.
        """
        return window_report(self.made, self.limits, self.own, untried)


def build_prompt(
    question: str,
    sources: Sequence[Source],
    room: int,
    remembered: Sequence[ContextItem] = (),
    steps: Sequence[PipelineStep] = (),
) -> BuiltPrompt:
    """Put a question, what is remembered, and as many sources as fit into a prompt.

    The last sources, which rank lowest, are left out first.

    :param room: how many tokens the model reads, those of the answer not counted.
    :param remembered: facts and messages, as `MemoryManager.get_context_items` gives them.
    :param steps: the user's own, which may reorder, change and drop sources and what is
        remembered; see `OwnSteps`.
    :raises TooLongError: when the question leaves no room for a single source.
    :raises ContextError: when `steps` leave no source.
    """
    memory = _Remembered(remembered, question)
    budget, limits = _share_out(question, room, memory.items)
    layout = _Layout(question, budget.get_allocation(SourceType.RETRIEVAL))
    own = OwnSteps(steps)
    pipeline = (
        ContextPipeline(room, budget=budget)
        .add_system_prompt(words.rules(question))
        .with_memory(memory)
        .with_formatter(layout)
        .add_callback(own)
        .add_step(retriever_step("notes", _Ranked(sources), top_k=len(sources) or 1))
    )
    for step in [
        *own.guarded(),
        PipelineStep("clean", layout.clean),
        PipelineStep("question", layout.add_question),
        PipelineStep("fit", layout.fit),
    ]:
        pipeline.add_step(step)
    made = pipeline.build(question)
    shown = [item for item in made.window.items if item.source == SourceType.RETRIEVAL]
    if not shown:
        if own.dropped_notes == len(sources):
            raise ContextError("your own steps left no note", hint="Check ask.steps.")
        raise _no_room()
    messages = made.formatted_output
    return BuiltPrompt(
        messages=messages,
        sources=[_source(item) for item in shown],
        tokens=sum(count_tokens(message["content"]) for message in messages),
        planted=sum(item.metadata["planted"] for item in shown),
        ranks=[item.metadata["rank"] for item in shown],
        made=made,
        limits=limits,
        own=own,
    )


def _no_room() -> TooLongError:
    return TooLongError(
        "the question leaves no room for notes in what the model reads",
        hint="Ask in fewer words, or raise ollama.max_context.",
    )


def _share_out(
    question: str, room: int, remembered: Items
) -> tuple[TokenBudget, dict[SourceType, int]]:
    """Return the budget, and what each source could have had of it."""
    usable = int((room - words.TEMPLATE_TOKENS) / words.MARGIN)
    if any(item.source == SourceType.MEMORY for item in remembered):
        usable -= count_tokens(words.facts_heading(question))
    needed = {
        SourceType.SYSTEM: count_tokens(words.rules(question)),
        SourceType.USER: count_tokens(words.asked(question)),
    }
    rest = usable - sum(needed.values())
    if rest <= len(SHARES):
        raise _no_room()
    limits = {source: int(rest * share) for source, share in SHARES.items()}
    used = {source: _used(remembered, source, most) for source, most in limits.items()}
    shares = {**needed, **used, SourceType.RETRIEVAL: max(1, rest - sum(used.values()))}
    allocations = [BudgetAllocation(source=s, max_tokens=n) for s, n in shares.items()]
    budget = TokenBudget(total_tokens=room, reserve_tokens=room - usable, allocations=allocations)
    return budget, {**shares, **limits}


def _used(remembered: Items, source: SourceType, most: int) -> int:
    """Return how much of its share a source takes: a question comes with its answer.

    It is at least 1, which lets nothing in: a source without a cap could take what is left.
    """
    taken, whole = 0, 1
    for item in by_priority([item for item in remembered if item.source == source]):
        taken += item.token_count
        if taken > most:
            break
        if source != SourceType.CONVERSATION or role_of(item) == "user":
            whole = taken
    return whole


class _Remembered:
    """What is remembered, as it goes into the prompt: the newest facts and messages first."""

    def __init__(self, items: Sequence[ContextItem], question: str) -> None:
        facts = [item for item in items if item.source == SourceType.MEMORY]
        said = [item for item in items if item.source == SourceType.CONVERSATION]
        self.items = [
            *(self._fact(item, number / len(facts)) for number, item in enumerate(facts, 1)),
            *(self._said(item, question) for item in said),
        ]

    def get_context_items(self) -> Items:
        """Return facts and messages."""
        return self.items

    def _fact(self, item: ContextItem, score: float) -> ContextItem:
        line = words.fact_line(item.content)
        return item.model_copy(
            update={"content": line, "score": score, "token_count": count_tokens(line)}
        )

    def _said(self, item: ContextItem, question: str) -> ContextItem:
        text = words.as_said(item.content, question)
        tokens = count_tokens(text) + _MESSAGE_TOKENS
        return item.model_copy(update={"content": text, "token_count": tokens})


class _Ranked:
    """Ranked sources as a retriever of items; scores only fall, so that the order is kept."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources

    def retrieve(self, query: QueryBundle, top_k: int = 10) -> Items:
        """Return the sources as items, best first."""
        count = len(self._sources)
        return [
            ContextItem(
                content=source.text,
                source=SourceType.RETRIEVAL,
                score=1 - rank / (count + 1),
                metadata={
                    "rank": rank,
                    "title": source.title,
                    "place": source.place,
                    "heading": list(source.heading),
                },
            )
            for rank, source in enumerate(self._sources[:top_k], 1)
        ]


def _source(item: ContextItem) -> Source:
    of = item.metadata
    return Source(of["title"], of["place"], item.content, tuple(of["heading"]))


class _Layout:
    """What is done with the items of one prompt last, and the form they are sent in.

    :param room: how many tokens the notes may take.
    """

    format_type = "rag_prompt"

    def __init__(self, question: str, room: int) -> None:
        self._question, self._room = question, room
        self._code = ""

    def clean(self, items: Items, query: QueryBundle) -> Items:
        """Take out of the notes what instructs a model."""
        return [self._cleaned(i) if i.source == SourceType.RETRIEVAL else i for i in items]

    def _cleaned(self, item: ContextItem) -> ContextItem:
        source, planted = words.clean(_source(item), marks_for(self._question).left_out)
        return _with(item, source, planted=planted)

    def add_question(self, items: Items, query: QueryBundle) -> Items:
        """Add the question; a step of the user's cannot lose it."""
        question = words.asked(self._question)
        item = ContextItem(content=question, source=SourceType.USER, priority=QUESTION_PRIORITY)
        return [*items, item]

    def fit(self, items: Items, query: QueryBundle) -> Items:
        """Measure the notes as they will be shown, and cut the first that is too long.

        What is cut off follows as an item that has no room, and so has nothing behind it.
        """
        notes = by_priority([item for item in items if item.source == SourceType.RETRIEVAL])
        self._code = words.unused_code(item.content for item in items)
        left, placed = self._room, [i for i in items if i.source != SourceType.RETRIEVAL]
        for number, item in enumerate(notes, 1):
            whole = self._measured(item, number)
            if whole.token_count <= left:
                placed.append(whole)
                left -= whole.token_count
            else:
                placed += self._cut(item, number, left) or [whole]
                left = 0
        return placed

    def _cut(self, item: ContextItem, number: int, room: int) -> Items:
        parts = words.cut(_source(item), number, self._code, room)
        if not parts:
            return []
        first, rest = (_with(item, source, cut=True) for source in parts)
        rest = rest.model_copy(update={"id": f"{item.id}/rest"})
        return [self._measured(first, number), self._measured(rest, number)]

    def _measured(self, item: ContextItem, number: int) -> ContextItem:
        tokens = count_tokens(words.render(_source(item), number, self._code))
        return item.model_copy(update={"token_count": tokens})

    def format(self, window: ContextWindow) -> list[dict[str, str]]:
        """Return messages: the rules, what was said before, and then facts, notes and question."""
        by: dict[SourceType, Items] = {source: [] for source in SourceType}
        for item in window.items:
            by[item.source].append(item)
        for source in (SourceType.MEMORY, SourceType.CONVERSATION):
            by[source].sort(key=lambda item: item.created_at)
        facts = "".join(item.content for item in by[SourceType.MEMORY])
        notes = enumerate(map(_source, by[SourceType.RETRIEVAL]), 1)
        last = [
            f"{words.facts_heading(self._question)}{facts}\n" if facts else "",
            *(words.render(source, number, self._code) for number, source in notes),
            *(item.content for item in by[SourceType.USER]),
        ]
        said = [*by[SourceType.SYSTEM], *by[SourceType.CONVERSATION]]
        messages = [Message(role_of(item), item.content) for item in said]
        return [m._asdict() for m in merged([*messages, Message("user", "".join(last))])]


def _with(item: ContextItem, source: Source, **metadata: Any) -> ContextItem:
    """Return an item that holds another form of its source."""
    named = {"title": source.title, "place": source.place, "heading": list(source.heading)}
    changes = {"content": source.text, "metadata": {**item.metadata, **named, **metadata}}
    return item.model_copy(update=changes)
