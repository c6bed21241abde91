"""What `ask` and `chat` print: an answer as it comes, what it rests on, what a model was shown."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from rag.answers.notices import notice
from rag.app.chat import TurnReport
from rag.cli.framework.options import print_corrections
from rag.cli.render.console import clean, is_news, print_error, print_report, say, say_notice
from rag.cli.render.results import marked, place, print_interpretation, searched_lines
from rag.cli.render.terminal import make_console, print_markdown, print_styled
from rag.exceptions import UnfinishedError
from rag.text.matches import match_spans
from rag.text.messages import shortened, visible

if TYPE_CHECKING:
    from rich.console import Console

    from rag.app.ask import AnswerReport
    from rag.app.index_state import IndexState
    from rag.cli.render.formats import Output
    from rag.qa.answer import Answer
    from rag.qa.prompt import ShownItem
    from rag.search.planned_query import Intent
    from rag.search.results import SearchResult

Listeners = dict[str, Callable[..., None]]
_MARKS = {
    "interrupted": "(interrupted)",
    "error": "(broken off)",
    "length": "(cut off: the answer reached its limit)",
}
_INDENT = 2
_BLOCK_END = re.compile(r"\n[ \t]*\n")


class AnswerPrinter:
    """Prints one answer: `listeners` while it comes, `print` the rest.

    On a terminal Markdown is set, a block (a paragraph, list or fence) at a time; off it the text
    is printed as it comes.
    """

    def __init__(
        self, state: IndexState, out: Output, question: str, *, sources: bool = True
    ) -> None:
        self._state, self._out, self._question = state, out, question
        self._sources, self._quiet = sources, out.quiet
        self._console, self._messages = make_console(), make_console(stderr=True)
        self._pending = ""
        self._printed = self._thinks = self._waits = False

    def listeners(self, *, streams: bool, think: bool, plan: bool) -> Listeners:
        """Return what prints an answer while it comes, by the names of `rag.app.ask.ask`; nothing
        where stdout is for programs."""

        def on_plan(intent: Intent) -> None:
            self.stop_waiting()
            print_interpretation(intent, self._state, wanted=plan)

        listeners: Listeners = {} if self._quiet else {"on_plan": on_plan}
        if not self._out.is_data:
            # A console may be told to be one of a terminal, in a pipe too.
            if sys.stderr.isatty() and not (self._quiet or self._messages.is_dumb_terminal):
                sys.stderr.write("asking…\r")
                sys.stderr.flush()
                self._waits = True
            listeners |= {"on_text": self.on_text} if streams else {}
            listeners |= {"on_thinking": self.on_thinking} if think else {}
        return listeners

    def stop_waiting(self) -> None:
        """Take away what the terminal shows only while it waits."""
        if self._waits:
            sys.stderr.write("\x1b[2K\r")
            sys.stderr.flush()
        self._waits = False

    def on_thinking(self, text: str) -> None:
        """Print a piece of reasoning on stderr."""
        self.stop_waiting()
        self._messages.print(clean(text), style="dim", end="", soft_wrap=True)
        self._thinks = True

    def on_text(self, text: str) -> None:
        """Print a piece of an answer."""
        sys.stderr.write("\n\n" * self._thinks)
        self._thinks, self._printed = False, True
        if self._console.is_terminal:
            self._pending += clean(text)
            while end := _end_of_block(self._pending):
                self.stop_waiting()
                print_markdown(self._console, self._pending[:end], _INDENT)
                self._pending = self._pending[end:]
        else:
            self.stop_waiting()
            sys.stdout.write(clean(text))
            sys.stdout.flush()

    def print(self, report: AnswerReport | TurnReport, explain: bool) -> int:
        """Print what was not printed while it came; return the exit code."""
        answer = report.answer
        self.stop_waiting()
        if not self._quiet and not (self._out.as_json and isinstance(report, TurnReport)):
            print_corrections(answer.corrections)
        if self._out.as_json:
            print_report(report)
        elif self._out.names_files:
            self._out.print_files(source.file for source in self._out.printed(answer.sources))
            for text in () if self._quiet else filter(None, (*answer.notices, more_notes(answer))):
                say_notice(text)
        else:
            self._print_text(answer)
        if explain and not self._out.as_json:
            for line in ("", *searched_lines(answer.route, answer.variants), *_window(answer)):
                say(line)
        return exit_code(answer)

    def _print_text(self, answer: Answer) -> None:
        is_written = bool(answer.model and answer.found)
        if is_written and not self._printed:
            self.on_text(answer.text)
        if self._console.is_terminal:
            print_markdown(self._console, self._pending, _INDENT)
        elif self._printed:
            sys.stdout.write("\n")
        if answer.partial:
            self._console.print(_MARKS.get(answer.finish_reason, "(incomplete)"), style="dim")
        for text in () if self._quiet else answer.notices:
            say_notice(text)
        if answer.notes and answer.found:
            self._print_notes(answer)
            return
        if answer.quotes:
            _print_quotes(self._console, answer)
        elif not (answer.partial or is_written):
            self._console.print(answer.text)
            if self._sources and answer.near and not self._quiet:
                say(notice(self._question, "near"))  # no part of the answer
                print_sources(self._messages, answer.near, self._state)
        if self._sources and answer.sources:
            if not self._printed or not self._console.is_terminal:
                self._console.print()
            print_sources(self._console, answer.sources, self._state, answer.quoted_lines)
        if not self._quiet:
            self._say_how(answer)

    def _print_notes(self, answer: Answer) -> None:
        about = answer.notes
        assert about
        is_named = bool(answer.sources) and (self._sources or about.asked == "list")
        day = about.last and about.last.date
        head = answer.text.partition(": ")[0] if day else answer.text
        colon = ":" if is_named and not day else ""
        print_styled(self._console, visible(f"{head}{colon}"), "bold")
        _print_quotes(self._console, answer)
        if is_named:
            if day:
                self._console.print()
            lines = {number: source.line for number, source in enumerate(answer.sources, 1)}
            print_sources(self._console, answer.sources, self._state, lines)
            if more := more_notes(answer):
                self._console.print(more, style="dim")

    def _say_how(self, answer: Answer) -> None:
        if answer.quotes:
            key = "quoted" if answer.confidence else "listed"  # listed notes have no score
            if not is_news(notice(self._question, key, confidence=0.0)):
                key += "_again"
            say("")
            say(notice(self._question, key, confidence=answer.confidence))
        elif answer.model:
            print_styled(self._messages, _summary(answer), "dim")
        if answer.partial and answer.failure:
            print_error(answer.failure, as_json=False)


def _end_of_block(text: str) -> int:
    """Return where the first whole block of Markdown ends; 0 while none does."""
    for blank in _BLOCK_END.finditer(text):
        if len(re.findall(r"(?m)^[ \t]*(?:```|~~~)", text[: blank.end()])) % 2 == 0:
            return blank.end()
    return 0


def exit_code(answer: Answer) -> int:
    """Return the exit code of an answer: what broke it off counts, then whether it is one."""
    if answer.finish_reason == "interrupted":
        return 130
    # It is set once a model is asked; where none could be, the quotations are the answer.
    was_asked = bool(answer.usage.get("num_ctx")) or isinstance(answer.failure, UnfinishedError)
    if answer.failure and (answer.partial or (was_asked and not answer.found)):
        return answer.failure.exit_code
    return 0 if answer.found else 1


def _summary(answer: Answer) -> str:
    parts = [answer.model]
    if tokens := answer.usage.get("tokens"):
        parts.append(f"{tokens:,} tokens")
    parts.append(f"{answer.timings.get('generation', 0) / 1000:.1f} s")
    if answer.found:
        borne_out = round(answer.verified * answer.sentences)
        parts.append(f"confidence {answer.confidence:.2f}")
        parts.append(f"{borne_out} of {answer.sentences} sentences with a source")
    if any(not citation.supported for citation in answer.citations):
        parts.append("[n?]: that source does not bear it out")
    if answer.struck:
        removed = (f"{n} × {what}" if n > 1 else what for what, n in Counter(answer.struck).items())
        parts.append(f"removed: {', '.join(removed)}")
    return visible(" · ".join(parts))


def print_sources(
    console: Console,
    sources: list[SearchResult],
    state: IndexState,
    lines: Mapping[int, int] | None = None,
) -> None:
    """Print the numbered sources of an answer, some by their number at another line."""
    for number, source in enumerate(sources, 1):
        head = ((f"[{number}] ", "cyan"), (f"{visible(source.title)}  ", "bold"))
        where = place(source, state, (lines or {}).get(number, 0))
        print_styled(console, Text.assemble(*head, where))


def _print_quotes(console: Console, answer: Answer) -> None:
    for quote in answer.quotes:
        shown = clean(quote.text)
        at = shown.find(quote.answer) if quote.answer else -1
        spans = [(at, at + len(quote.answer))] if at >= 0 else match_spans(shown, answer.searched)
        text = marked(shown, spans, "bold")
        text.append(f" [{quote.source}]", style="cyan")
        if quote.also:
            others = ", ".join(f"[{source}]" for source, _ in quote.also)
            text.append(f" (also in {others})", style="dim")
        print_styled(console, text, indent=_INDENT)


def more_notes(answer: Answer) -> str:
    """Return how many notes were meant and not named; empty where all were."""
    count = answer.notes.count if answer.notes and answer.notes.asked != "last" else 0
    left = count - len(answer.sources)
    return f"… and {left:,} more (--top-k {count} names all)" if left > 0 else ""


_NAMES = {
    "system": "rules",
    "user": "question",
    "memory": "fact",
    "conversation": "said before",
    "retrieval": "note",
}
_LONGEST = 64  # characters of what is said of one item
_MOST = 10  # items that are listed as left out


def _window(answer: Answer) -> Iterator[str]:
    """Yield what a model was shown of the notes, and what it was not; JSON has more."""
    report = answer.context
    if report is None:
        yield "no window was built: no model was asked"
        return
    yield (
        f"shown to {answer.model or 'the model'}: {report.used_tokens:,} of"
        f" {report.max_tokens:,} tokens (it reads {answer.usage.get('num_ctx') or 0:,})"
    )
    yield "  priority  tokens  what"
    yield from map(_item, report.window)
    if report.overflow:
        yield "left out"
        yield from map(_item, report.overflow[:_MOST])
        if rest := report.overflow[_MOST:]:
            yield f"  and {len(rest):,} more"


def _item(item: ShownItem) -> str:
    what = _NAMES.get(item.source, item.source)
    if item.source not in ("system", "user"):
        part = ", cut" if item.cut else ""
        what += f"{part}: {shortened(' '.join(item.label.split()), _LONGEST)}"
    if item.found_by:
        what += f", found by {', '.join(item.found_by)}"
    if item.added:
        what += f", with lines {' and '.join(f'{a}–{b}' for a, b in item.added)} around it"
    if why := item.why or (item.cited and f"[{item.cited}] in the answer"):
        what += f" — {why}"
    return f"  {item.priority:>8}  {item.tokens:>6,}  {what}"
