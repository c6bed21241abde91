"""The commands of `rag chat`: lines that begin with a slash and a word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from rag.cli.render.console import clean, make_console, print_error, print_line, print_report, say
from rag.cli.render.sources import print_sources
from rag.exceptions import NotFoundError, RAGError, UsageError

if TYPE_CHECKING:
    from rag.app.chat import Chat

LEAVE = ("/quit", "/exit", "/q")
BARE = ("quit", "exit")  # nobody asks their notes that
HELP = {
    "/facts": "list what you told with /remember",
    "/remember TEXT": "keep a fact about you; the model is shown it with every question",
    "/forget N": "forget a fact: its number in /facts, or words of it",
    "/sources": "list the sources of the last answer again",
    "/clear": "begin a new conversation; facts stay",
    "/help": "list these commands",
    "/quit": "leave; Ctrl-D does too",
}
_NAMES = [*(usage.split()[0] for usage in HELP), *LEAVE[1:]]
_WORD = re.compile(r"/[^\W\d_]+")


class Command(NamedTuple):
    """A command that was typed: `/forget`, and what follows it."""

    name: str
    rest: str


def as_command(line: str) -> Command | None:
    """Return a line as a command; `None` when it is a question.

    A command is a slash and letters, and then nothing or white space: `/etc/hosts what is it?`
    is a question. Width and case make no difference.
    """
    first, *rest = line.split(maxsplit=1)
    name = unicodedata.normalize("NFKC", first).lower()
    return Command(name, rest[0].strip() if rest else "") if _WORD.fullmatch(name) else None


@dataclass(frozen=True)
class Commands:
    """Run the commands of one conversation, and print what they find.

    :param as_json: print one JSON object for each.
    """

    chat: Chat
    as_json: bool = False
    quiet: bool = False

    def run(self, command: Command) -> int:
        """Run a command; an error is printed, and ends nothing.

        :returns: the exit code.
        """
        runs: dict[str, Callable[[str], int]] = {
            "/facts": self._facts,
            "/remember": self._remember,
            "/forget": self._forget,
            "/sources": self._sources,
            "/clear": self._clear,
            "/help": self._help,
        }
        try:
            if command.name not in runs:
                raise _unknown(command.name)
            return runs[command.name](command.rest)
        except RAGError as error:
            print_error(error, self.as_json)
            return error.exit_code

    def _print(self, report: object, said: str) -> int:
        """Say what was done."""
        if self.as_json:
            print_report(report)
        elif not self.quiet:
            say(said)
        return 0

    def _facts(self, _: str) -> int:
        report = self.chat.facts()
        if self.as_json:
            print_report(report)
        elif not report.facts:
            from rag.qa.user_facts import no_facts

            raise no_facts()
        else:
            for number, fact in enumerate(report.facts, 1):
                print_line(f"{number:>3}  {' '.join(clean(fact.content).split())}")
        return 0 if report.facts else 1

    def _remember(self, text: str) -> int:
        report = self.chat.remember(text)
        return self._print(report, f"remembered: {report.text}")

    def _forget(self, which: str) -> int:
        report = self.chat.forget(which)
        return self._print(report, f"forgotten: {report.text}")

    def _sources(self, _: str) -> int:
        report = self.chat.sources()
        if self.as_json:
            print_report(report)
        elif report.sources is None:
            raise NotFoundError("there is no answer yet", hint="Ask something first.")
        elif not report.sources:
            raise NotFoundError("the last answer has no sources")
        else:
            print_sources(make_console(), report.sources, self.chat.state)
        return 0 if report.sources else 1

    def _clear(self, _: str) -> int:
        report = self.chat.clear()
        kept = report.old
        back = f"; `rag chat --session {kept}` goes back to the old one" if kept else ""
        return self._print(report, f"a new conversation{back}")

    def _help(self, _: str) -> int:
        if self.as_json:
            from rag.app.chat import ChatCommandsReport

            print_report(ChatCommandsReport(HELP))
        for usage, text in {} if self.as_json else HELP.items():
            print_line(f"{usage:<15} {text}")
        return 0


def _unknown(name: str) -> UsageError:
    near = get_close_matches(name, _NAMES, 1, 0.5)
    meant = f"Did you mean {near[0]}? " if near else ""
    return UsageError(
        f"there is no command {name}",
        hint=f"{meant}/help lists them. A question begins with another word.",
    )
