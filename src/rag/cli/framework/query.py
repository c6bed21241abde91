"""What commands that search share: filters made of options, and what is said of the index."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING
from unicodedata import normalize

from rag.cli.render.console import plural, say
from rag.config import MODES
from rag.exceptions import UsageError
from rag.text.messages import shortened

if TYPE_CHECKING:
    from datetime import date

    from rag.app.index_state import IndexState
    from rag.config import RAGConfig
    from rag.search.results import NearWord, QueryFilters

_CONDITION = re.compile(r"([^=<>≤≥]*)(?:=|(?=[<>≤≥]))(.*)", re.DOTALL)  # name=value, or name>value


def make_filters(
    vaults: list[str] | None = None,
    tags: list[str] | None = None,
    date_from: str | None = None,
    date_to: str | None = None,
    paths: list[str] | None = None,
    modified_from: str | None = None,
    modified_to: str | None = None,
    where: list[str] | None = None,
) -> QueryFilters:
    """Make filters of options.

    :raises UsageError: for words that are no date, a span that ends before it begins, or a
        condition that is none.
    """
    from rag.search.results import QueryFilters

    for option, values in (("--tag", tags), ("--path", paths)):
        if any(not value.strip("#/ \t") for value in values or []):
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


def _conditions(where: list[str]) -> Iterable[tuple[str, str]]:
    """Return name and condition of each property; comparisons of one are joined."""
    from rag.query.property_values import is_comparison

    conditions: dict[str, str] = {}
    for text in where:
        parts = _CONDITION.fullmatch(normalize("NFC", text))
        name, value = (parts[1].strip().lower(), parts[2].strip()) if parts else ("", "")
        if not name or not value:
            raise UsageError(
                f"{text!r} is no condition",
                hint="Name a property and its value: status=done, or compare it: 'price>200'.",
            )
        earlier = conditions.get(name)
        if earlier and not (is_comparison(earlier) and is_comparison(value)):
            raise UsageError(f"--where names {name!r} twice", hint="Leave one out.")
        conditions[name] = f"{earlier} {value}" if earlier else value
    return conditions.items()


def read_query(words: list[str]) -> str:
    """Return the query of an argument: its words, or what stands in stdin where it is `-`."""
    from rag.cli.render.console import read_stdin

    query = " ".join(words)
    return read_stdin() if query == "-" else query


def check_model(model: str, no_model: bool) -> None:
    """Refuse a model and none at once.

    :raises UsageError: for both.
    """
    if model and no_model:
        raise UsageError("--model and --no-model exclude each other", hint="Leave one out.")


def check_mode(mode: str) -> str:
    """Return a mode, or refuse one that does not exist.

    :raises UsageError: for an unknown mode.
    """
    if mode not in MODES:
        raise UsageError(f"no mode {mode!r}", hint=f"Use --mode {', '.join(MODES)}.")
    return mode


def wants_refresh(config: RAGConfig, wanted: bool | None) -> bool:
    """Return whether what changed is indexed first: for somebody at a terminal, if the settings
    let it, or for whoever asks for it.

    :param wanted: what was said on the command line, if anything.
    """
    if wanted is not None:
        return wanted
    return config.search.refresh == "auto" and sys.stdout.isatty()


def warn_if_stale(state: IndexState) -> None:
    """Say when what is shown may be older than the notes."""
    if state.changed:
        say(f"{plural(state.changed, 'note')} changed since the last index (`rag index`)")


def print_corrections(corrections: dict[str, str], query: str) -> None:
    """Say which words were searched for instead of those that no note holds, in the language of a
    query."""
    if corrections:
        from rag.app.interpretation_text import words_for

        for word, meant in corrections.items():
            say(words_for(query)["corrected"].format(meant, word))


def print_missing(missing: dict[str, NearWord | None], query: str) -> None:
    """Say which words of a query no note holds."""
    if missing:
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
