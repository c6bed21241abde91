"""`rag search`."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.framework.options import (
    ConfigFile,
    DateFrom,
    DateTo,
    Json,
    Mode,
    OutputFormat,
    PathGlobs,
    Paths,
    Plan,
    Print0,
    Quiet,
    Tags,
    TopK,
    Transforms,
    Vaults,
    wants_json,
)
from rag.cli.framework.query import (
    IndexFacts,
    check_mode,
    check_vaults,
    index_facts,
    make_filters,
    near_tags,
    tell_corrections,
)
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import print_file, print_json, print_line, say, shortened
from rag.cli.render.plan import intent_to_dict, plan_lines, tell_intent

if TYPE_CHECKING:
    from rag.search.planned_query import Intent
    from rag.search.results import SearchResponse


def search(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY",
            help='What to look for: words, "an exact phrase", -without, begin*, tag: vault: path:'
            " title:",
        ),
    ],
    vaults: Vaults = None,
    tags: Tags = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    path_globs: PathGlobs = None,
    top_k: TopK = None,
    mode: Mode = None,
    transforms: Transforms = None,
    plan: Plan = None,
    chunks: Annotated[bool, typer.Option("--chunks", help="List chunks instead of notes.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each result's score is made of.")
    ] = False,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Let the chat model order the best results anew.")
    ] = False,
    table: Annotated[bool, typer.Option("--table", help="Print a table.")] = False,
    json: Json = False,
    output_format: OutputFormat = "text",
    paths: Paths = False,
    print0: Print0 = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Find notes.

    Words need not all be found; the more a note says of them, the higher it stands. A query
    in which a word begins with a minus goes in quotes, or after `--`.

    \b
    rag search "rolling back a deploy"
    rag search 証明書の更新 --vault エンジニア
    rag search restore --tag runbook --from 2025-06 --to "last week"
    rag search "error budget" --path "runbooks/**" --paths
    rag search 'rollb* "error budget" -draft'
    rag search "notes tagged runbook about the error budget" --plan
    """
    from rag.search.relaxation import intent_of
    from rag.search.run import create_search_pipeline
    from rag.search.run import search as run_search
    from rag.stores import get_document_store

    as_json = wants_json(json, output_format)
    config = load_settings(config_file)
    query = " ".join(words)
    started = time.monotonic()
    wanted = check_mode(config.search.mode if mode is None else mode)
    filters = make_filters(vaults, tags, date_from, date_to, path_globs)
    facts = index_facts(config)
    check_vaults(vaults, facts)
    if mode in ("dense", "hybrid"):  # insists, whatever was found a minute ago
        from rag.clients.ollama.silent_servers import forget

        forget(config.ollama.embedding_urls)
    with (
        get_document_store(config) as store,
        closing(create_search_pipeline(store, config, rerank, transforms or None)) as pipeline,
    ):
        limit = top_k or config.search.top_k
        intent, notices = intent_of(store, config, query, filters, plan)
        response = run_search(
            pipeline,
            query,
            filters,
            limit,
            mode=wanted,
            chunks=chunks,
            explained=explain,
            keep_mode=mode is not None,
            intent=intent,
        )
        response.notices = [*notices, *response.notices]
    milliseconds = round((time.monotonic() - started) * 1000)
    if not quiet:
        facts.warn_if_stale()
        tell_corrections(response.corrections)
        if intent:
            tell_intent(intent, facts, wanted=bool(plan), data=as_json or paths or print0)
        for notice in response.notices:
            say(notice)
    if as_json:
        print_json(to_json(response, facts, milliseconds, intent))
    elif paths or print0:
        for file in dict.fromkeys(map(facts.file, response.results)):
            print_file(file, print0)
    elif response.results:
        _print(response, facts, table, explain, intent)
    if not response.results:
        if not as_json:
            say(f"nothing found for {shortened(query)!r}")
            told = {named.words for named in intent.plan.out_of_scope} if intent else {}
            for text in near_tags([tag for tag in response.tags if tag not in told], facts):
                say(text)
        raise typer.Exit(1)


def to_json(
    response: SearchResponse, facts: IndexFacts, milliseconds: int, intent: Intent | None = None
) -> dict[str, Any]:
    """Return the JSON of a search."""
    from rag.search.results import plan_to_dict, result_to_dict

    return {
        "query": response.query,
        "mode": response.mode,
        **plan_to_dict(response),
        **({"timings": response.timings} if response.timings else {}),
        "notices": response.notices,
        "corrections": response.corrections,
        "results": [
            {"rank": rank, **result_to_dict(result)}
            for rank, result in enumerate(response.results, 1)
        ],
        "total": response.total,
        **({"plan": intent_to_dict(intent, response.relaxed)} if intent else {}),
        "elapsed_ms": milliseconds,
        "index": facts.to_json(),
    }


def _print(
    response: SearchResponse,
    facts: IndexFacts,
    table: bool,
    explain: bool,
    intent: Intent | None,
) -> None:
    from rag.cli.render.results import print_plan, print_results, print_table

    if explain:
        for line in plan_lines(intent) if intent else ():
            print_line(line)
        print_plan(response)
    show = print_table if table else print_results
    show(response.results, response.searched, facts)
