"""What is told of the window that a model answered from."""

from __future__ import annotations

from dataclasses import dataclass, field

from rag.support.json_reports import hidden, nullable, optional


@dataclass(kw_only=True)
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


@dataclass
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
