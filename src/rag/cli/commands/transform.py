"""`rag transform`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.options import ConfigFile, Json, Quiet, Transforms
from rag.cli.framework.settings import load_settings
from rag.cli.render.answer import read_stdin
from rag.cli.render.console import print_line, print_report, say

if TYPE_CHECKING:
    from rag.app.transform_preview import TransformReport
    from rag.search.results import SearchedVariant


def transform(
    words: Annotated[
        list[str],
        typer.Argument(metavar="QUERY", help="What to look for; `-` reads it from stdin."),
    ],
    transforms: Transforms = None,
    json: Json = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Show what a search would look for, without searching: the query as it is understood, and
    what transforms make of it.

    Without --transform it is what `rag search` would do. No index is needed.

    \b
    rag transform "how do we undo a release" --transform step-back
    rag transform "tag:ops rolback"
    """
    from rag.app.workspace import Workspace

    query = " ".join(words)
    if query == "-":
        query = read_stdin()
    with Workspace(load_settings(config_file)) as workspace:
        plan = workspace.preview_transforms(query, transforms or None)
    for notice in () if quiet else plan.notices:
        say(notice)
    if json:
        print_report(plan)
    else:
        _print(plan)


def _print(plan: TransformReport) -> None:
    rows = [("original", f"1.00  {plan.text}")] if plan.text else []
    rows += [("filter", text) for text in plan.filters]
    rows += [("corrected", f"{word} -> {meant}") for word, meant in plan.corrections.items()]
    rows += [("also", word) for word in plan.also if word not in plan.corrections.values()]
    rows += [("route", plan.route)] if plan.route else []
    rows += [(variant.label, _told(variant)) for variant in plan.variants]
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print_line(f"{name:{width}}  {text}")


def _told(variant: SearchedVariant) -> str:
    sides = "" if len(variant.sides) == 2 else f" (by {variant.sides[0]} only)"
    fallback = f" (made without a model: {variant.fallback})" if variant.fallback else ""
    return f"{variant.weight:.2f}  {variant.text}{sides}{fallback}"
