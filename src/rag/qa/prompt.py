"""The prompt of an answer, assembled by the context pipeline.

| source | priority | what it is | how much of the room |
|---|---|---|---|
| system | 10 | the rules | all that it needs |
| user | 9 | the question, as the last message | all that it needs |
| memory | 8 | facts that the user told, in the user's message | at most a tenth of the rest |
| conversation | 7 | what was said before, as user and assistant | at most a fifth of the rest |
| retrieval | 5 | notes, fenced and numbered in the user's message | what the others leave |

Everything but the rules is data, and speaks as user or assistant. Notes stand in the order of their
rank. What stands before and after a passage in its note is added to it where there is room. A note
that is too long for what is left is cut, but not within a list, a table or code, nor between them
and the sentence that introduces them (`rag.answers.quotation.units`).
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rag.answers import prompt_texts as words
from rag.answers.notices import marks_for
from rag.answers.prompt_texts import Prompt, Source
from rag.context.budget import BudgetAllocation, TokenBudget
from rag.context.formatters import Message, merged, role_of
from rag.context.models import (
    ContextItem,
    ContextResult,
    ContextWindow,
    Items,
    SourceType,
    by_priority,
)
from rag.context.pipeline import ContextPipeline
from rag.context.steps import PipelineStep, retriever_step
from rag.exceptions import ContextError, TooLongError
from rag.qa.context_report import OwnSteps, WindowReport, rank_of, window_report
from rag.qa.neighbours import Around
from rag.query.models import QueryBundle
from rag.text.messages import unused_code
from rag.text.token_estimate import count_tokens

QUESTION_PRIORITY = 9


def source_of(item: ContextItem) -> Source:
    """Return the source that an item holds."""
    of = item.metadata
    return Source(of["title"], of["place"], item.content, tuple(of["heading"]), tuple(of["tags"]))


class Layout:
    """What is done with the items of one prompt last, and the form they are sent in.

    :param room: how many tokens the notes may take.
    :param around: what stands around notes, by the number that they have in the search.
    """

    format_type = "rag_prompt"

    def __init__(
        self, question: str, room: int, around: Mapping[int, Around] | None = None
    ) -> None:
        self._question, self._room, self._around = question, room, around or {}
        self._code = secrets.token_hex()  # another as long takes its place, where notes hold it

    def widen(self, items: Items, query: QueryBundle) -> Items:
        """Add to the notes what stands before and after them, as far as all of them leave room.

        The best note comes first, and of its neighbours the one that follows it.
        """
        notes = by_priority([item for item in items if item.source == SourceType.RETRIEVAL])
        whole = [self._measured(item, number) for number, item in enumerate(notes, 1)]
        left = self._room - sum(item.token_count for item in whole)
        wider: dict[str, ContextItem] = {}
        for number, item in enumerate(whole, 1):
            around = self._around.get(rank_of(item))
            # Another component may have changed its text, which is what counts then.
            if left > 0 and around and around.passage.content == item.content:
                wider[item.id] = self._widened(item, around, number, left)
                left -= wider[item.id].token_count - item.token_count
        return [wider.get(item.id, item) for item in items]

    def _widened(self, item: ContextItem, around: Around, number: int, room: int) -> ContextItem:
        best, sides = item, set[str]()
        for side in ("after", "before"):
            span = around.span(*(one in {*sides, side} for one in ("before", "after")))
            source = replace(source_of(item), text=span.text, heading=span.heading)
            wider = self._measured(_with(item, source, added=span.added), number)
            if wider.token_count - item.token_count <= room:
                best, sides = wider, {*sides, side}
        return best

    def clean(self, items: Items, query: QueryBundle) -> Items:
        """Remove prompt injections from the notes."""
        return [self._cleaned(i) if i.source == SourceType.RETRIEVAL else i for i in items]

    def _cleaned(self, item: ContextItem) -> ContextItem:
        source, planted = words.clean(source_of(item), marks_for(self._question).left_out)
        return _with(item, source, planted=planted)

    def add_question(self, items: Items, query: QueryBundle) -> Items:
        """Add the question; a step of the user's cannot lose it."""
        question = words.asked(self._question)
        item = ContextItem(content=question, source=SourceType.USER, priority=QUESTION_PRIORITY)
        return [*items, item]

    def fit(self, items: Items, query: QueryBundle) -> Items:
        """Measure the notes as they will be shown, and cut the first that is too long.

        What is cut off follows as an item of its own, which has no room.
        """
        notes = by_priority([item for item in items if item.source == SourceType.RETRIEVAL])
        self._code = unused_code((item.content for item in items), self._code)
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
        parts = words.cut(source_of(item), number, self._code, room)
        if not parts:
            return []
        first, rest = (_with(item, source, cut=True) for source in parts)
        rest = rest.model_copy(update={"id": f"{item.id}/rest"})
        return [self._measured(first, number), self._measured(rest, number)]

    def _measured(self, item: ContextItem, number: int) -> ContextItem:
        tokens = count_tokens(words.render(source_of(item), number, self._code))
        return item.model_copy(update={"token_count": tokens})

    def format(self, window: ContextWindow) -> list[dict[str, str]]:
        """Return messages: the rules, what was said before, and then facts, notes and question."""
        by: dict[SourceType, Items] = {source: [] for source in SourceType}
        for item in window.items:
            by[item.source].append(item)
        for source in (SourceType.MEMORY, SourceType.CONVERSATION):
            by[source].sort(key=lambda item: item.created_at)
        facts = "".join(item.content for item in by[SourceType.MEMORY])
        notes = enumerate(map(source_of, by[SourceType.RETRIEVAL]), 1)
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


# Of what rules and question leave; what is not used goes to the notes.
SHARES = {SourceType.MEMORY: 0.1, SourceType.CONVERSATION: 0.2}
_MESSAGE_TOKENS = 8  # what a chat template puts around one more message


@dataclass(frozen=True, kw_only=True)
class BuiltPrompt(Prompt):
    """A prompt, and how it came about.

    :param ranks: of each of its sources the number (from 1) that it had in the search.
    :param made: what the context pipeline made.
    :param limits: how many tokens each kind of source could have had.
    :param own: what the user's own steps did.
    :param untried: sources, by their numbers, that it was not made from, since the server found
        a prompt with them too long.
    """

    ranks: list[int]
    made: ContextResult
    limits: dict[SourceType, int]
    own: OwnSteps
    untried: Mapping[int, Source] = field(default_factory=dict)

    def report(self) -> WindowReport:
        """Return what it holds in words, and what it does not."""
        return window_report(self.made, self.limits, self.own, self.untried)


def build_prompt(
    question: str,
    sources: Sequence[Source],
    room: int,
    remembered: Sequence[ContextItem] = (),
    steps: Sequence[PipelineStep] = (),
    too_long: BuiltPrompt | None = None,
    around: Mapping[int, Around] | None = None,
) -> BuiltPrompt:
    """Put a question, what is remembered, and as many sources as fit into a prompt.

    The last sources, which rank lowest, are left out first.

    :param room: how many tokens the model reads, those of the answer not counted.
    :param remembered: facts and messages, as `MemoryManager.get_context_items` gives them.
    :param steps: the user's own, which may reorder, change and drop sources and what is
        remembered; see `OwnSteps`.
    :param too_long: the prompt that was made of the same before, and that the server found too
        long: the better half of its notes is tried.
    :param around: what stands before and after sources in their notes, by number; it is added as
        far as all of them leave room.
    :raises TooLongError: when the question leaves no room for a single source.
    :raises ContextError: when `steps` leave no source.
    """
    memory = _Remembered(remembered, question)
    budget, limits = _share_out(question, room, memory.items)
    layout = Layout(question, budget.get_allocation(SourceType.RETRIEVAL), around)
    numbers = too_long.ranks[: len(too_long.ranks) // 2] if too_long else range(1, len(sources) + 1)
    own = OwnSteps(steps, too_long.own.dropped_notes if too_long else ())
    known = {*numbers, *(rank_of(item) for item, _ in own.dropped_notes)}
    untried = {n: source for n, source in enumerate(sources, 1) if n not in known}
    pipeline = (
        ContextPipeline(room, budget=budget)
        .add_system_prompt(words.rules(question))
        .with_memory(memory)
        .with_formatter(layout)
        .add_callback(own)
        .add_step(retriever_step("notes", _Ranked(sources, numbers), top_k=len(sources) or 1))
    )
    for step in [
        PipelineStep("neighbours", layout.widen),
        *own.guarded(),
        PipelineStep("clean", layout.clean),
        PipelineStep("question", layout.add_question),
        PipelineStep("fit", layout.fit),
    ]:
        pipeline.add_step(step)
    made = pipeline.build(question)
    shown = [item for item in made.window.items if item.source == SourceType.RETRIEVAL]
    if not shown:
        if len(own.dropped_notes) + len(untried) == len(sources):
            raise ContextError("your own steps left no note", hint="Check ask.steps.")
        raise _no_room()
    messages = made.formatted_output
    return BuiltPrompt(
        messages=messages,
        sources=[source_of(item) for item in shown],
        tokens=sum(count_tokens(message["content"]) for message in messages),
        planted=sum(item.metadata["planted"] for item in shown),
        ranks=[rank_of(item) for item in shown],
        made=made,
        limits=limits,
        own=own,
        untried=untried,
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
    if rest <= 0:
        raise _no_room()
    limits = {source: int(rest * share) for source, share in SHARES.items()}
    used = {source: _used(remembered, source, most) for source, most in limits.items()}
    # A source without an allocation may take the whole window; one token holds none of its items.
    used |= {item.source: 1 for item in remembered if not used.get(item.source, 1)}
    shares = {**needed, **used, SourceType.RETRIEVAL: rest - sum(used.values())}
    allocations = [BudgetAllocation(source=s, max_tokens=n) for s, n in shares.items() if n]
    budget = TokenBudget(total_tokens=room, reserve_tokens=room - usable, allocations=allocations)
    return budget, {**shares, **limits}


def _used(remembered: Items, source: SourceType, most: int) -> int:
    """Return how much of its share a source takes: a question comes with its answer."""
    taken = whole = 0
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
    """Ranked sources as a retriever of items; scores only fall, so that the order is kept.

    :param numbers: of those that are wanted, counted from 1.
    """

    def __init__(self, sources: Sequence[Source], numbers: Collection[int]) -> None:
        self._sources, self._numbers = sources, numbers

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
                    "tags": list(source.tags),
                },
            )
            for rank, source in enumerate(self._sources[:top_k], 1)
            if rank in self._numbers
        ]
