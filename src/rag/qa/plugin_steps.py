"""The user's own steps in the prompt of an answer: what they may do, and what they did.

They may change the text, score and priority of notes, which decides on their order, and drop
notes, facts and messages. They come before the notes are cleaned, fenced and numbered, so that
whatever they write is shown as data and is all that it can support. What they add is left out:
an answer names only what the search found.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pydantic import ValidationError

from rag.context.models import ContextItem, SourceType
from rag.context.registry import find_step
from rag.context.steps import Items, PipelineStep
from rag.query.models import QueryBundle
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
    """Make the user's own steps by their names; see `rag.context.registry`.

    :raises UsageError: for a name that nothing has.
    :raises RAGError: when one cannot be made.
    """
    return [find_step(name) for name in names]
