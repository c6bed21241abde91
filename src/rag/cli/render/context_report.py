"""`--explain` of `ask` and `chat`: what the model was shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rag.cli.render.console import make_console, print_between_words, visible
from rag.text.messages import shortened

if TYPE_CHECKING:
    from rag.qa.answer import Answer
    from rag.qa.context_report import ShownItem, WindowReport

_NAMES = {
    "system": "rules",
    "user": "question",
    "memory": "fact",
    "conversation": "said before",
    "retrieval": "note",
}
_PLURAL = {"memory": "facts", "conversation": "conversation", "retrieval": "notes"}
_WIDTH = 64  # of what is said of one item
_MOST = 5  # lines for what was left out of one source


def print_window(answer: Answer) -> None:
    """Print on stderr how the notes were searched, what of them the model was shown, what it was
    not, and what took how long."""
    console = make_console(stderr=True)
    for line in _lines(answer):
        print_between_words(console, visible(line), style="dim")


def _lines(answer: Answer) -> Iterator[str]:
    from rag.cli.render.results import plan_lines

    made = answer.context
    yield ""
    yield from plan_lines(answer.route, answer.variants)
    if made is None:
        yield "no window was built: no model was asked"
        return
    reader, reads = answer.model or "the model", answer.usage.get("num_ctx") or 0
    yield (
        f"shown to {reader}: {made.used_tokens:,} of {made.max_tokens:,} tokens"
        f" (it reads {reads:,}, its answer and a margin included)"
    )
    yield "  priority  tokens  what"
    yield from map(_line, made.window)
    if made.overflow:
        yield "left out"
        for source in dict.fromkeys(item.source for item in made.overflow):
            yield from _some([item for item in made.overflow if item.source == source])
    yield f"tokens: {' · '.join(_usage(made))}"
    for step, why in made.skipped.items():
        yield f"skipped: {step} ({why})"
    times = (f"{step['name']} {step['ms']:,.1f}" for step in made.steps)
    yield f"time in ms: {' · '.join(times)}"


def _some(items: list[ShownItem]) -> Iterator[str]:
    """Yield a line for each of some items of one source; many end in a line for the rest."""
    first, rest = items[:_MOST], items[_MOST:]
    yield from map(_line, first)
    if rest:
        tokens = sum(item.tokens for item in rest)
        yield f"  {rest[0].priority:>8}  {tokens:>6,}  {len(rest):,} more of these"


def _line(item: ShownItem) -> str:
    name = _NAMES.get(item.source, item.source)
    part = (", cut" if item.number else ", the rest") if item.cut else ""
    label = shortened(" ".join(item.label.split()), _WIDTH)
    said = "" if item.source in ("system", "user") else f"{name}{part}: {label}"
    more = (
        f" — {item.why}" if item.why else f" — [{item.cited}] in the answer" if item.cited else ""
    )
    by = f", found by {', '.join(item.found_by)}" if item.found_by else ""
    near = f", with lines {' and '.join(map(_lines_of, item.added))} around it"
    return (
        f"  {item.priority:>8}  {item.tokens:>6,}  {said or name}{by}"
        f"{near if item.added else ''}{more}"
    )


def _lines_of(added: tuple[int, int]) -> str:
    first, last = added
    return f"{first}–{last}" if last > first else str(first)


def _usage(made: WindowReport) -> Iterator[str]:
    """Yield what each kind of source took, and what it could have had."""
    for source, most in made.budgets.items():
        used = made.usage.get(source, 0)
        if used or any(item.source == source for item in made.overflow):
            yield f"{_PLURAL.get(source, _NAMES[source])} {used:,} of {most:,}"
