"""Whether what the settings name exists: transforms, the classifier of routes, own steps."""

from __future__ import annotations

from collections.abc import Iterator

from rag.app.doctor.check import Check, Examination, from_error
from rag.exceptions import RAGError
from rag.qa.plugin_steps import load_steps
from rag.search.components.query_expander import configured_transforms
from rag.search.components.query_router import check_routes


def check_transforms(examination: Examination) -> Iterator[Check]:
    """Say of each setting whether there is what it names; nothing where none names anything."""
    config = examination.config
    named = {"search.transforms": config.search.transforms, "ask.transforms": config.ask.transforms}
    told = []
    for setting, names in named.items():
        try:
            if names:
                told.append(
                    f"{setting}: {', '.join(configured_transforms(names, setting) or ['none'])}"
                )
        except RAGError as error:
            yield from_error("transforms", error)
    if config.routes.classifier:
        try:
            check_routes(config.routes)
            told.append(f"routes by {config.routes.classifier}")
        except RAGError as error:
            yield from_error("transforms", error)
    elif config.routes.rules:
        yield Check(
            "transforms",
            "warn",
            "routes.rules do nothing without routes.classifier",
            'Set routes.classifier = "keyword" or "embedding".',
        )
    if config.ask.steps:
        try:
            load_steps(config.ask.steps)
            told.append(f"ask.steps: {', '.join(config.ask.steps)}")
        except RAGError as error:
            yield from_error("transforms", error)
    if told:
        yield Check("transforms", "pass", "; ".join(told))
