"""`rag ask`."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Annotated

import typer

from rag.cli.framework.options import (
    ConfigFile,
    DateFrom,
    DateTo,
    ExplainWindow,
    Json,
    ModelName,
    NoModel,
    NoSources,
    OutputFormat,
    PathGlobs,
    Paths,
    Plan,
    Print0,
    Quiet,
    Tags,
    Think,
    TopK,
    Transforms,
    Vaults,
    wants_json,
)
from rag.cli.framework.query import (
    check_vaults,
    index_facts,
    make_filters,
    near_tags,
    tell_corrections,
)
from rag.cli.framework.settings import load_settings
from rag.cli.render.answer import AnswerPrinter, answer_to_dict, exit_code, read_stdin, with_choices
from rag.cli.render.console import print_file, print_json, say
from rag.cli.render.context_report import print_window, window_to_dict
from rag.cli.render.plan import intent_to_dict, tell_intent


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
    transforms: Transforms = None,
    plan: Plan = None,
    model: ModelName = "",
    no_model: NoModel = False,
    think: Think = False,
    explain: ExplainWindow = False,
    no_stream: Annotated[
        bool, typer.Option("--no-stream", help="Print the answer when it is whole.")
    ] = False,
    no_sources: NoSources = False,
    json: Json = False,
    output_format: OutputFormat = "text",
    paths: Paths = False,
    print0: Print0 = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Answer a question from the notes, each sentence with its source.

    A chat model of Ollama writes the answer where there is one (ollama.chat_model), and what it
    says is checked against the notes; without one the nearest sentences are quoted.

    \b
    rag ask "When do holds expire?"
    rag ask 取り置きの期限は何日？ --vault エンジニア
    rag ask "Who is on call?" --no-model             quote, whatever models there are
    echo "What is a Pod?" | rag ask - --json
    """
    from rag.qa.run import ask as run_ask
    from rag.qa.run import create_qa_pipeline
    from rag.qa.user_facts import open_memory
    from rag.search.relaxation import intent_of
    from rag.stores import get_document_store

    as_json = wants_json(json, output_format)
    config = with_choices(load_settings(config_file), model, no_model, think)
    question = " ".join(words)
    if question == "-":
        question = read_stdin()
    started = time.monotonic()
    filters = make_filters(vaults, tags, date_from, date_to, path_globs)
    facts = index_facts(config)
    check_vaults(vaults, facts)
    printer = AnswerPrinter(facts, sources=not no_sources, quiet=quiet)
    silent = as_json or paths or print0
    with (
        get_document_store(config) as store,
        closing(create_qa_pipeline(store, config, model, transforms or None)) as pipeline,
    ):
        if not silent:
            printer.wait("asking…")
        try:
            intent, notices = intent_of(store, config, question, filters, plan)
            if intent and not quiet:
                printer.stop_waiting()
                tell_intent(intent, facts, wanted=bool(plan), data=silent)
            answer = run_ask(
                pipeline,
                question,
                filters,
                top_k or config.ask.top_k,
                mode=config.search.mode,
                on_text=None if silent or no_stream else printer.on_text,
                on_thinking=printer.on_thinking if think and not silent else None,
                memory=open_memory(config.data_dir),
                intent=intent,
            )
            answer.notices = [*notices, *answer.notices]
        finally:
            printer.stop_waiting()
    if not quiet:
        facts.warn_if_stale()
        tell_corrections(answer.corrections)
    if as_json:
        milliseconds = round((time.monotonic() - started) * 1000)
        about = {"elapsed_ms": milliseconds, "index": facts.to_json()}
        about |= {"plan": intent_to_dict(intent, answer.relaxed)} if intent else {}
        about |= {"context": window_to_dict(answer)} if explain else {}
        print_json({"question": question, **answer_to_dict(answer, think), **about})
    elif paths or print0:
        for source in answer.sources:
            print_file(facts.file(source), print0)
        for notice in [] if quiet else answer.notices:
            say(notice)
    else:
        printer.finish(answer)
        if not answer.found:
            told = {named.words for named in intent.plan.out_of_scope} if intent else {}
            for text in near_tags([tag for tag in answer.tags if tag not in told], facts):
                say(text)
    if explain and not as_json:
        print_window(answer)
    if code := exit_code(answer):
        raise typer.Exit(code)
