"""`rag ask`."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.options import (
    ConfigFile,
    DateFrom,
    DateTo,
    Json,
    OutputFormat,
    PathGlobs,
    Paths,
    Quiet,
    Tags,
    TopK,
    Vaults,
    wants_json,
)
from rag.cli.output import print_file, print_json, print_line, say
from rag.cli.query import (
    IndexFacts,
    check_vaults,
    index_facts,
    make_filters,
    near_tags,
    tell_corrections,
)
from rag.config import load_config

if TYPE_CHECKING:
    from rag.pipelines.models import Answer


def ask(
    words: Annotated[
        list[str],
        typer.Argument(metavar="QUESTION", help="The question; `-` reads it from stdin."),
    ],
    vaults: Vaults = None,
    tags: Tags = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    path_globs: PathGlobs = None,
    top_k: TopK = None,
    no_sources: Annotated[
        bool, typer.Option("--no-sources", help="Leave out the list of sources.")
    ] = False,
    json: Json = False,
    output_format: OutputFormat = "text",
    paths: Paths = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Answer a question from the notes, each sentence with its source.

    \b
    rag ask "When do holds expire?"
    rag ask 取り置きの期限は何日？ --vault エンジニア
    """
    from rag.pipelines.qa import ask as run_ask
    from rag.pipelines.qa import create_qa_pipeline
    from rag.stores import get_document_store

    as_json = wants_json(json, output_format)
    config = load_config(config_file)
    question = " ".join(words)
    if question == "-":
        question = sys.stdin.read().strip() if sys.stdin else ""
    started = time.monotonic()
    filters = make_filters(vaults, tags, date_from, date_to, path_globs)
    facts = index_facts(config)
    check_vaults(vaults, facts)
    with (
        get_document_store(config) as store,
        closing(create_qa_pipeline(store, config)) as pipeline,
    ):
        answer = run_ask(pipeline, question, filters, top_k or config.ask.top_k)
    milliseconds = round((time.monotonic() - started) * 1000)
    if not quiet:
        facts.warn_if_stale()
        tell_corrections(answer.corrections)
    if as_json:
        print_json(_to_json(question, answer, facts, milliseconds))
    elif paths:
        for source in answer.sources:
            print_file(facts.file(source))
    elif answer.found:
        _print(answer, facts, no_sources, quiet)
    else:
        print_line(answer.text)
        near_tags(answer.tags, facts)
    if not answer.found:
        raise typer.Exit(1)


def _to_json(question: str, answer: Answer, facts: IndexFacts, milliseconds: int) -> dict[str, Any]:
    from rag.pipelines.models import result_to_dict

    return {
        "question": question,
        "answer": answer.text,
        "found": answer.found,
        "model": answer.model or None,
        "confidence": round(answer.confidence, 6),
        "quotes": [
            {"text": quote.text, "source": quote.source, "line": quote.line}
            for quote in answer.quotes
        ],
        "sources": [
            {"number": number, **result_to_dict(source)}
            for number, source in enumerate(answer.sources, 1)
        ],
        "corrections": answer.corrections,
        "elapsed_ms": milliseconds,
        "index": facts.to_json(),
    }


def _print(answer: Answer, facts: IndexFacts, no_sources: bool, quiet: bool) -> None:
    from rich.text import Text

    from rag.cli.output import clean, make_console
    from rag.cli.results import place, print_indented
    from rag.text.highlight import match_spans

    console = make_console()
    for quote in answer.quotes:
        shown = clean(quote.text)
        text = Text(shown)
        for start, end in match_spans(shown, answer.searched):
            text.stylize("bold", start, end)
        print_indented(console, text.append(f" [{quote.source}]", style="cyan"), 2)
    if not no_sources:
        console.print()
        for number, source in enumerate(answer.sources, 1):
            line = next(q.line for q in answer.quotes if q.source == number)
            text = Text(f"[{number}] ", style="cyan").append(
                f"{clean(source.title)}  ", style="bold"
            )
            console.print(text.append_text(place(source, facts.file(source), line)), soft_wrap=True)
    if not quiet:
        say(
            "\nNo model wrote this: these are the sentences of your notes nearest to the question"
            f" (confidence {answer.confidence:.2f})."
        )
