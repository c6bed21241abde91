"""What commands that search share: filters made of options, and what is said of the index."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

from rag.cli.render.console import plural, print_file, say, say_notice
from rag.config import MODES
from rag.exceptions import UsageError
from rag.text.messages import shortened

if TYPE_CHECKING:
    from datetime import date

    from rag.app.index_state import IndexState
    from rag.config import RAGConfig
    from rag.search.results import NearWord, QueryFilters, SearchResult

# A name, and a value after a `=`, or a comparison.
_CONDITION = re.compile(r"([^=<>≤≥]*)(?:=|(?=[<>≤≥]))(.*)", re.DOTALL)


def make_filters(
    vaults: list[str] | None,
    tags: list[str] | None,
    date_from: str | None,
    date_to: str | None,
    paths: list[str] | None,
    modified_from: str | None = None,
    modified_to: str | None = None,
    where: list[str] | None = None,
) -> QueryFilters:
    """Make filters of options.

    :raises UsageError: for words that are no date, a span that ends before it begins, or a
        condition that is none.
    """
    from rag.search.results import QueryFilters

    for option, given in (("--tag", tags), ("--path", paths)):
        if any(not value.strip("#/ \t") for value in given or []):
            raise UsageError(f"{option} is empty", hint=f"Leave out {option}, or give it a value.")
    first, last = _days("", date_from, date_to)
    modified = _days("modified-", modified_from, modified_to)
    return QueryFilters(
        vaults or None,
        tags or None,
        first,
        last,
        paths or None,
        values=dict(_conditions(where or [])) or None,
        modified_from=modified[0],
        modified_to=modified[1],
    )


def _days(kind: str, since: str | None, until: str | None) -> tuple[date | None, date | None]:
    """Return the first and the last day of a span, `None` for an open end."""
    from rag.query import parse_date_range

    first = None if since is None else parse_date_range(since).first
    last = None if until is None else parse_date_range(until).last
    if first and last and last < first:
        raise UsageError(f"--{kind}to {last} lies before --{kind}from {first}", hint="Swap them?")
    return first, last


def _conditions(where: list[str]) -> Iterator[tuple[str, str]]:
    """Yield name and condition of each property; comparisons of one are joined, else it has one."""
    from rag.query.property_values import is_comparison

    conditions: dict[str, str] = {}
    for given in where:
        stated = _CONDITION.fullmatch(normalize("NFC", given))
        name, value = (stated[1].strip().lower(), stated[2].strip()) if stated else ("", "")
        if not name or not value:
            raise UsageError(
                f"{given!r} is no condition",
                hint="Name a property and its value: status=done, or compare it: 'price>200'.",
            )
        known = conditions.get(name)
        if known and not (is_comparison(known) and is_comparison(value)):
            raise UsageError(f"--where names {name!r} twice", hint="Leave one out.")
        conditions[name] = f"{known} {value}" if known else value
    yield from conditions.items()


def check_asks(
    words: Sequence[str] | None, filters: QueryFilters | None, like: str | None = None
) -> None:
    """Refuse to search for nothing at all: neither words nor filters.

    :param like: the name of a note, in the place of words.
    :raises UsageError: naming both.
    """
    from rag.search.results import QueryFilters

    if not words and like is None and filters in (None, QueryFilters()):
        raise UsageError(
            "neither a query nor a filter is given",
            hint="Say what to look for; `rag search --help` lists the filters.",
        )


def wants_refresh(config: RAGConfig, wanted: bool | None) -> bool:
    """Return whether what changed is indexed first: for somebody at a terminal, if the settings
    let it, or for whoever asks for it.

    :param wanted: what was said on the command line, if anything.
    """
    if wanted is not None:
        return wanted
    return config.search.refresh == "auto" and sys.stdout.isatty()


def check_mode(mode: str) -> str:
    """Return a mode, or refuse one that does not exist.

    :raises UsageError: for an unknown mode.
    """
    if mode not in MODES:
        raise UsageError(f"no mode {mode!r}", hint=f"Use --mode {', '.join(MODES)}.")
    return mode


class Output(NamedTuple):
    """What of a search or an answer is printed."""

    as_json: bool
    paths: bool
    print0: bool
    quiet: bool
    data_format: str = ""

    @property
    def names_files(self) -> bool:
        """Whether only files are printed."""
        return self.paths or self.print0

    @property
    def is_data(self) -> bool:
        """Whether stdout is for programs."""
        return self.as_json or self.names_files or bool(self.data_format)

    def print_index_warnings(
        self, state: IndexState, corrections: dict[str, str], query: str
    ) -> None:
        """Say what may be wrong with what follows: its age, and words that were not typed."""
        if not self.quiet:
            warn_if_stale(state)
            print_corrections(corrections, query)

    def print_warnings(self, notices: list[str]) -> None:
        """Say what there is to know of what was found."""
        for notice in [] if self.quiet else notices:
            say_notice(notice)

    def printed(self, results: list[SearchResult]) -> list[SearchResult]:
        """Return the results that are printed: where files are named, those that are there."""
        if self.as_json or not (self.names_files or self.data_format == "lines"):
            return results
        there = [result for result in results if not result.gone]
        if len(there) < len(results) and not self.quiet:
            left = plural(len(results) - len(there), "note")
            say(f"left out {left}, gone since the last index (`rag index`)")
        return there

    def print_files(self, state: IndexState, results: list[SearchResult]) -> None:
        """Print the file of each note."""
        for file in dict.fromkeys(map(state.file, results)):
            print_file(file, self.print0)


def warn_if_stale(state: IndexState) -> None:
    """Say when what is shown may be older than the notes."""
    if state.changed:
        say(f"{plural(state.changed, 'note')} changed since the last index (`rag index`)")


def print_corrections(corrections: dict[str, str], query: str) -> None:
    """Say which words were searched for instead of those that no note holds, in the language of a
    query."""
    if not corrections:
        return
    from rag.app.interpretation_text import words_for

    for word, meant in corrections.items():
        say(words_for(query)["corrected"].format(meant, word))


def print_missing(missing: dict[str, NearWord | None], query: str) -> None:
    """Say which words of a query no note holds."""
    if not missing:
        return
    from rag.app.interpretation_text import missing_words

    for text in missing_words(missing, query):
        say(text)


def print_nothing_found(query: str) -> None:
    """Say that nothing was found for a query, in its language."""
    from rag.app.interpretation_text import words_for

    if not query.strip():
        say("no note fits the filters")
        return
    say(words_for(query)["none"].format(shortened(query)))
