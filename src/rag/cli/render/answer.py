"""What `ask` and `chat` share: which model answers, and how an answer is printed as it comes."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from rag.cli.render.console import (
    clean,
    make_console,
    print_between_words,
    print_error,
    say,
    say_notice,
    visible,
)
from rag.cli.render.sources import print_places, print_quotes, print_sources
from rag.cli.render.status_line import StatusLine
from rag.exceptions import UnfinishedError, UsageError

if TYPE_CHECKING:
    from rag.answers.verdicts import Progress
    from rag.app.index_state import IndexState
    from rag.qa.answer import Answer

_MARKS = {
    "interrupted": "(interrupted)",
    "error": "(broken off)",
    "length": "(cut off: the answer reached its limit)",
}
_INDENT = 2
_BLOCK_END = re.compile(r"\n[ \t]*\n")


def check_model(model: str, no_model: bool) -> None:
    """Refuse a model and none at once.

    :raises UsageError: for both.
    """
    if model and no_model:
        raise UsageError("--model and --no-model exclude each other", hint="Leave one out.")


_LONGEST_INPUT = 100_000  # characters of stdin that are read; no query may be nearly as long


def read_stdin() -> str:
    """Return what stands in stdin, as far as a query may go; bytes that are no UTF-8 are
    replaced."""
    if not sys.stdin:
        return ""
    tolerate_stdin()
    return sys.stdin.read(_LONGEST_INPUT).strip()


def read_line_of_stdin() -> str:
    """Return the next line of stdin, its beginning if it is far too long; empty at the end."""
    line = part = sys.stdin.readline(_LONGEST_INPUT)
    while len(part) == _LONGEST_INPUT and not part.endswith("\n"):
        part = sys.stdin.readline(_LONGEST_INPUT)
    return line


def tolerate_stdin() -> None:
    """Read stdin as UTF-8 in any locale, whatever is in it."""
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")


class AnswerPrinter:
    """Print one answer: `on_text` and `on_thinking` while it comes, `finish` the rest.

    On a terminal Markdown is set, a block (a paragraph, list or fence) at a time; off it the text
    is printed as it comes.
    """

    def __init__(
        self,
        facts: IndexState,
        *,
        question: str = "",
        sources: bool = True,
        quiet: bool = False,
    ) -> None:
        self._facts, self._question = facts, question
        self._sources, self._quiet = sources, quiet
        self._console, self._messages = make_console(), make_console(stderr=True)
        self._status = StatusLine(self._messages, not quiet)
        self._pending = ""
        self._printed = self._thinks = False

    def wait(self, message: str) -> None:
        """Show a message on the terminal until the first sentence comes."""
        self._status.show(message)

    def stop_waiting(self) -> None:
        """Take away what the terminal shows only while it waits."""
        self._status.clear()

    def on_thinking(self, text: str) -> None:
        """Print a piece of reasoning on stderr."""
        self.stop_waiting()
        self._messages.print(clean(text), style="dim", end="", soft_wrap=True)
        self._thinks = True

    def on_progress(self, progress: Progress) -> None:
        """Show on the terminal how many sentences have come, until more of them is printed.

        Where stdout is no terminal, that ends with the first word: what reads it may write to the
        same terminal, and its line must not be cleared.
        """
        if progress.sentences and (self._console.is_terminal or not self._printed):
            self._end_thinking()
            self._status.show(_said(progress, self._question))

    def on_text(self, text: str) -> None:
        """Print a piece of an answer."""
        self._end_thinking()
        if not self._console.is_terminal:
            self.stop_waiting()
        self._printed = True
        if self._console.is_terminal:
            self._pending += clean(text)
            while end := _end_of_block(self._pending):
                self.stop_waiting()
                self._print_block(self._pending[:end])
                self._pending = self._pending[end:]
        else:
            sys.stdout.write(clean(text))
            sys.stdout.flush()

    def _end_thinking(self) -> None:
        """Leave the line on which reasoning ends, and one more."""
        if self._thinks:
            say("")
            say("")
        self._thinks = False

    def _print_block(self, text: str) -> None:
        from rich.segment import Segment, Segments

        from rag.cli.render.markdown import Markdown

        options = self._console.options.update(width=max(self._console.width - _INDENT, 20))
        lines = self._console.render_lines(Markdown(text), options, pad=False)
        blank = ["".join(part.text for part in line).strip() == "" for line in lines]
        while blank and blank[-1]:
            blank.pop()
        for line in lines[blank.index(False) if blank else 0 : len(blank)]:
            self._console.print(Segments([Segment(" " * _INDENT), *line]))
        if blank:
            self._console.print()

    def finish(self, answer: Answer) -> int:
        """Print what is left of an answer: its end, its sources, and what there is to say of it.

        :returns: the exit code.
        """
        self.stop_waiting()
        if answer.model and answer.found and not self._printed:
            self.on_text(answer.text)
        if self._console.is_terminal:
            self._print_block(self._pending)
        elif self._printed:
            sys.stdout.write("\n")
        if answer.partial:
            self._console.print(_MARKS.get(answer.finish_reason, "(incomplete)"), style="dim")
        if not self._quiet:
            for notice in answer.notices:
                say_notice(notice)
        if answer.notes and answer.found:
            from rag.cli.render.note_answers import print_notes

            print_notes(self._console, answer, self._facts, sources=self._sources)
            return exit_code(answer)
        if answer.quotes:
            print_quotes(self._console, answer)
        elif not (answer.partial or (answer.model and answer.found)):
            self._console.print(answer.text)
            self._print_near(answer)
        if self._sources and answer.sources:
            if not self._printed or not self._console.is_terminal:
                self._console.print()
            print_sources(self._console, answer.sources, self._facts, answer.quoted_lines)
        if not self._quiet:
            self._say_how(answer)
        return exit_code(answer)

    def _print_near(self, answer: Answer) -> None:
        """Print where to look for what was not found, as no part of the answer."""
        if self._sources and answer.near and not self._quiet:
            from rag.answers.notices import notice

            say(notice(self._question, "near"))
            print_places(self._messages, answer.near, self._facts)

    def _say_how(self, answer: Answer) -> None:
        if answer.quotes:
            from rag.answers.notices import notice
            from rag.cli.render.session import is_news

            key = "quoted" if answer.confidence else "listed"  # listed notes have no score
            if not is_news(notice(self._question, key, confidence=0.0)):
                key += "_again"
            say("")
            say(notice(self._question, key, confidence=answer.confidence))
        elif answer.model:
            print_between_words(self._messages, summary(answer), style="dim")
        if answer.partial and answer.failure:
            print_error(answer.failure, as_json=False)


def _said(progress: Progress, question: str) -> str:
    """Say how far an answer is."""
    from rag.answers.notices import notice

    count, waits, struck = progress
    said = [notice(question, "sentence" if count == 1 else "sentences", count=count)]
    said += [notice(question, "held_back", count=waits)] if waits else []
    said += [notice(question, "struck", count=struck)] if struck else []
    return ", ".join(said)


def _end_of_block(text: str) -> int:
    """Return where the first whole block of Markdown ends; 0 while none does."""
    for found in _BLOCK_END.finditer(text):
        if len(re.findall(r"(?m)^[ \t]*(?:```|~~~)", text[: found.end()])) % 2 == 0:
            return found.end()
    return 0


def exit_code(answer: Answer) -> int:
    """Return the exit code of an answer: what broke it off counts, then whether it is one."""
    if answer.finish_reason == "interrupted":
        return 130
    # It is set once a model is asked; where none could be, the quotations are the answer.
    said_nothing = isinstance(answer.failure, UnfinishedError)
    was_asked = bool(answer.usage.get("num_ctx")) or said_nothing
    if answer.failure and (answer.partial or (was_asked and not answer.found)):
        return answer.failure.exit_code
    return 0 if answer.found else 1


def summary(answer: Answer) -> str:
    """Return one line on a model's answer: who wrote it, how long it took, what to think of it."""
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
        counts = {what: answer.struck.count(what) for what in answer.struck}
        removed = (f"{n} × {what}" if n > 1 else what for what, n in counts.items())
        parts.append(f"removed: {', '.join(removed)}")
    return visible(" · ".join(parts))
