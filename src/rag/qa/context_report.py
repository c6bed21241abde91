"""The user's own steps, and what is told of the window that a model answered from."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from pydantic import ValidationError

from rag.answers.prompt_texts import Source
from rag.context.formatters import role_of
from rag.context.models import ContextItem, ContextResult, Items, SourceType
from rag.context.steps import PipelineStep, find_step
from rag.query.models import QueryBundle
from rag.support.json_reports import hidden, nullable, optional
from rag.text.messages import brief

# A step that fails is told of in the answer's notices, and need not be printed as a log line too.
logging.getLogger("rag.context").addHandler(logging.NullHandler())


LeftOut = tuple[ContextItem, str]  # what did not go on, and why


def rank_of(item: ContextItem) -> int:
    """Return the number (from 1) that a note has in the search; 0 when it is no note of it."""
    found = item.metadata.get("rank") if item.source == SourceType.RETRIEVAL else None
    return int(found or 0)


class OwnSteps:
    """Watch over some steps; a callback of the context pipeline.

    :param steps: in order.
    :param dropped: notes that they left out of a longer form of the same prompt.
    """

    def __init__(self, steps: Sequence[PipelineStep], dropped: Sequence[LeftOut] = ()) -> None:
        self._steps = steps
        self.left_out = list(dropped)
        self.failed: dict[str, str] = {}  # steps that failed, and how

    @property
    def dropped_notes(self) -> list[LeftOut]:
        """Those of the notes that were found which they dropped."""
        return [(item, why) for item, why in self.left_out if rank_of(item)]

    def guarded(self) -> list[PipelineStep]:
        """Return the steps, kept to what they may do; one that fails is skipped."""
        return [PipelineStep(s.name, self._guarded(s).run, on_error="skip") for s in self._steps]

    def _guarded(self, step: PipelineStep) -> _Guarded:
        return _Guarded(step, self.left_out)

    def on_step_error(self, step_name: str, error: Exception) -> None:
        """Keep why a step failed."""
        self.failed[step_name] = brief(_reason(error))


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):  # whose own words are lines with addresses
        wrong = error.errors(include_url=False)
        return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong)
    return str(error) or type(error).__name__


class _Guarded:
    def __init__(self, step: PipelineStep, left_out: list[LeftOut]) -> None:
        self._step, self._left_out = step, left_out

    def run(self, items: Items, query: QueryBundle) -> Items:
        # Copies: metadata, from which sources are made, would be the step's to change.
        given = [item.model_copy(deep=True) for item in items]
        made = self._step.execute(given, query.model_copy(deep=True))
        known = {item.id: item for item in items}
        kept = {i.id: _taken_over(known[i.id], i) for i in reversed(made) if i.id in known}
        name = self._step.name
        for item in items:
            if item.id not in kept and item.source != SourceType.SYSTEM:
                self._left_out.append((item, f"dropped by {name}"))
        for item in made:
            if item.id not in known:
                self._left_out.append(
                    (_added(item), f"added by {name}: the search did not find it")
                )
        return [kept.pop(item.id) for item in made if item.id in kept]


def _taken_over(old: ContextItem, new: ContextItem) -> ContextItem:
    """Return an item with those of its changes that a step may make."""
    if old.source != SourceType.RETRIEVAL:
        return old
    changes = {"content": new.content, "score": new.score, "priority": new.priority}
    return ContextItem.model_validate({**old.model_dump(), **changes})


def _added(item: ContextItem) -> ContextItem:
    """Return an item that cannot be taken for a note that was found."""
    return item.model_copy(update={"metadata": {}})


def load_steps(names: Sequence[str]) -> list[PipelineStep]:
    """Make the user's own steps by their names; see `find_step`.

    :raises UsageError: for a name that nothing has.
    :raises RAGError: when one cannot be made.
    """
    return [find_step(name) for name in names]


_NO_ROOM = "no room"


@dataclass(frozen=True, kw_only=True)
class ShownItem:
    """A piece of the prompt, or what was to be one.

    :param label: what it is, in one line: a note's title and place, a message's role.
    :param content: its text.
    :param number: of a note, that under which the model was shown it; 0 when it was not.
    :param cited: of a note, its number in the answer; 0 when the answer does not name it.
    :param cut: it is one part of a note that was cut: that which is in, or the rest.
    :param why: why it is not in the prompt; empty when it is.
    :param rank: of a note, its number (from 1) in the search; 0 when it has none.
    :param found_by: which variants of the query found a note, where there were any.
    :param added: of a note, the lines (first, last) that the search did not find, and that stand
        before and after what it found.
    """

    source: str
    priority: int
    tokens: int
    label: str
    number: int = nullable(0)
    cited: int = nullable(0)
    cut: bool = False
    why: str = nullable("")
    content: str
    rank: int = hidden(0)
    found_by: list[str] = optional(factory=list)
    added: list[tuple[int, int]] = optional(factory=list)


@dataclass(frozen=True)
class WindowReport:
    """The window of an answer.

    :param max_tokens: how many tokens of prompt there was room for, by our estimate.
    :param window: what went in, first what has the highest priority.
    :param overflow: what did not.
    :param usage: tokens in the window, by source.
    :param budgets: the most that each source could have had.
    :param steps: the steps of the context pipeline: `name`, `items_after`, `ms`; in an `Answer`
        all from the question on, those before and after it without `items_after`.
    :param skipped: steps that failed, and how.
    """

    max_tokens: int
    used_tokens: int
    window: list[ShownItem]
    overflow: list[ShownItem]
    usage: dict[str, int]
    budgets: dict[str, int]
    steps: list[dict[str, str | int | float]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    def with_cited(self, order: Sequence[int]) -> WindowReport:
        """Return the report with the numbers that notes have in the answer.

        :param order: the notes that the answer names, by the number the model was shown.
        """
        numbers = {shown: cited for cited, shown in enumerate(order, 1)}
        window = [replace(item, cited=numbers.get(item.number, 0)) for item in self.window]
        return replace(self, window=window)

    def with_finders(self, finders: Sequence[list[str]]) -> WindowReport:
        """Return the report with what found each note.

        :param finders: of each note that the search found, the best first.
        """

        def told(items: list[ShownItem]) -> list[ShownItem]:
            return [
                replace(item, found_by=finders[item.rank - 1]) if item.rank else item
                for item in items
            ]

        return replace(self, window=told(self.window), overflow=told(self.overflow))

    def with_times(self, before: Mapping[str, float], after: Mapping[str, float]) -> WindowReport:
        """Return the report with the ms of what came before its steps, and after them."""
        return replace(self, steps=[*_timed(before), *self.steps, *_timed(after)])


def _timed(times: Mapping[str, float]) -> list[dict[str, str | int | float]]:
    return [{"name": name, "ms": ms} for name, ms in times.items()]


def window_report(
    made: ContextResult,
    limits: dict[SourceType, int],
    own: OwnSteps,
    untried: Mapping[int, Source],
) -> WindowReport:
    """Return what the context pipeline made.

    :param untried: sources, by rank, that were left out since the server found a prompt too long.
    """
    numbers = count(1)
    window = [
        _shown(item, number=next(numbers) if item.source == SourceType.RETRIEVAL else 0)
        for item in made.window.items
    ]
    left_out = [(item, _why(item, limits)) for item in made.overflow_items]
    return WindowReport(
        max_tokens=made.window.max_tokens,
        used_tokens=made.window.used_tokens,
        window=window,
        overflow=[
            *(_shown(item, why=why) for item, why in [*left_out, *own.left_out]),
            *(_untried(rank, source) for rank, source in untried.items()),
        ],
        usage=dict(made.diagnostics["token_usage_by_source"]),
        budgets={source.value: tokens for source, tokens in limits.items()},
        steps=[
            {"name": s["name"], "items_after": s["items_after"], "ms": round(s["time_ms"], 3)}
            for s in made.diagnostics["steps"]
        ],
        skipped=dict(own.failed),
    )


def _why(item: ContextItem, limits: dict[SourceType, int]) -> str:
    if item.source in (SourceType.MEMORY, SourceType.CONVERSATION):
        return f"more than the {limits[item.source]:,} tokens of its share"
    return _NO_ROOM


def _shown(item: ContextItem, number: int = 0, why: str = "") -> ShownItem:
    return ShownItem(
        source=item.source.value,
        priority=item.priority,
        tokens=item.token_count,
        label=_label(item),
        content=item.content,
        number=number,
        cut=bool(item.metadata.get("cut")),
        why=why,
        rank=rank_of(item),
        added=list(item.metadata.get("added") or ()),
    )


def _label(item: ContextItem) -> str:
    if item.source == SourceType.SYSTEM:
        return "the rules"
    if item.source == SourceType.USER:
        return "the question"
    if item.source == SourceType.MEMORY:
        return item.content.removeprefix("- ").strip()
    if item.source == SourceType.CONVERSATION:
        return f"{role_of(item)}: {' '.join(item.content.split())}"
    named = item.metadata
    return f"{named.get('title') or 'untitled'} ({named.get('place') or 'no note'})"


def _untried(rank: int, source: Source) -> ShownItem:
    return ShownItem(
        source=SourceType.RETRIEVAL.value,
        priority=5,
        tokens=0,
        label=f"{source.title} ({source.place})",
        content=source.text,
        why="the server found the prompt too long",
        rank=rank,
    )
