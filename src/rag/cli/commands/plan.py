"""`rag plan`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.options import (
    ConfigFile,
    DateFrom,
    DateTo,
    Json,
    PathGlobs,
    Quiet,
    Tags,
    Vaults,
)
from rag.cli.framework.query import make_filters
from rag.cli.framework.settings import load_settings
from rag.cli.render.answer import check_model, read_stdin
from rag.cli.render.console import print_json, print_line, say
from rag.cli.render.plan import plan_lines
from rag.config import RAGConfig

if TYPE_CHECKING:
    from rag.search.planned_query import Intent


def plan(
    words: Annotated[
        list[str],
        typer.Argument(metavar="QUERY", help="What to look for; `-` reads it from stdin."),
    ],
    vaults: Vaults = None,
    tags: Tags = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    path_globs: PathGlobs = None,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="Ask this chat model, and no other.")
    ] = "",
    no_model: Annotated[
        bool, typer.Option("--no-model", help="Ask no model, whatever models there are.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Show what a query means, without searching: its filters, dates and vaults, and what is left
    to search for.

    It is what `rag search --plan` goes by; the chat model is asked where there is one.

    \b
    rag plan "notes tagged k8s from last month in my work vault about rollbacks"
    rag plan 先週の会議のメモ --json
    """
    from rag.app.choices import with_model
    from rag.app.index_state import check_vaults, open_state
    from rag.app.interpretation_text import missing
    from rag.app.schema import plan_to_json
    from rag.search.planned_query import find_intent
    from rag.search.query_understanding import understand
    from rag.stores import get_document_store

    config = load_settings(config_file)
    check_model(model, no_model)
    config = _with_model(with_model(config, model, no_model, False), model)
    query = " ".join(words)
    if query == "-":
        query = read_stdin()
    filters = make_filters(vaults, tags, date_from, date_to, path_globs)
    state = open_state(config)
    check_vaults(vaults, state.roots)
    with get_document_store(config) as store:
        bounds = understand(store, query).notices  # what no search takes is no query
        intent, notices = find_intent(store, config, query, filters, full=True)
    for notice in [] if quiet else [*bounds, *notices]:
        say(notice)
    if intent is None:
        raise typer.Exit(1)
    if json:
        print_json({"query": query, **plan_to_json(intent), "index": state.to_json()})
    else:
        _print(intent)
        for text in [] if quiet else missing(intent, state):
            say(text)


def _print(intent: Intent) -> None:
    from rag.app.interpretation_text import understood_line

    print_line(understood_line(intent))
    for line in plan_lines(intent):
        print_line(f"  {line}")


def _with_model(config: RAGConfig, model: str) -> RAGConfig:
    """Return the settings with one chat model for all that is asked, if one was named."""
    if not model:
        return config
    planner = replace(config.planner, extractor_model="", hyde_model="", router_model="")
    ollama = replace(config.ollama, chat_model=model)
    return replace(config, planner=planner, ollama=ollama)
