"""Query transformers and classifiers by name, and plug-ins: what other distributions bring, found
by the entry points they declare.

A group is a kind of plug-in, such as `rag.transformers`; `docs/query.md` shows how to bring one.
Names may be written with `-` or `_` and in any case. Nothing here imports Haystack before a
transformer is made, since names alone are wanted for help and completion.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, cast

from rag.exceptions import ConfigError, RAGError, UsageError

if TYPE_CHECKING:
    from rag.query.models import QueryClassifier, QueryTransformer

TRANSFORMERS = "rag.transformers"
CLASSIFIERS = "rag.classifiers"
STEPS = "rag.steps"


def canonical(name: str) -> str:
    """Return a plug-in's name as it is listed: `Multi_Query` is `multi-query`."""
    return name.strip().lower().replace("_", "-")


def plugin_names(group: str) -> list[str]:
    """Return the names of a group's plug-ins, sorted; none of them is imported."""
    return sorted(_entries(group))


def make_plugin(group: str, name: str, *arguments: Any) -> Any:
    """Call what a plug-in's entry point names, and return what it makes.

    :raises UsageError: for a name that nobody declares, with the nearest ones.
    :raises RAGError: when it cannot be imported, cannot be called or fails.
    """
    entries = _entries(group)
    if (entry := entries.get(canonical(name))) is None:
        raise unknown_name(f"plug-in of {group}", name, sorted(entries))
    try:
        return entry.load()(*arguments)
    except RAGError:
        raise
    except (Exception, SystemExit) as error:
        owner = entry.dist.name if entry.dist else "an unnamed distribution"
        raise RAGError(
            f"the plug-in {entry.name!r} of {owner} cannot be used",
            " ".join(f"{type(error).__name__}: {error}".split()),
            hint=f"Its entry point in {group} is {entry.value}; update or remove it.",
        ) from error


def unknown_name(what: str, name: str, names: Sequence[str]) -> UsageError:
    """Return the error for a name that nothing has, with the nearest names.

    :param what: what was to be named, such as `transform`.
    """
    near = get_close_matches(canonical(name), names, 3, 0.5)
    hint = f"There are {', '.join(names)}." if names else "None is installed."
    if near:
        hint = f"Did you mean {' or '.join(near)}? {hint}"
    return UsageError(f"no {what} is named {name!r}", hint=hint)


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    """Read what all distributions declare, which takes 7 ms."""
    return {canonical(entry.name): entry for entry in entry_points(group=group)}


# Name -> the transformer, and what makes its callback from a generator.
_BUILT_IN = {
    "decompose": ("DecompositionTransformer", "SubQuestions"),
    "hyde": ("HyDETransformer", "HypotheticalDocuments"),
    "multi-query": ("MultiQueryTransformer", "QueryVariations"),
    "step-back": ("StepBackTransformer", "StepBackQuestions"),
}
_ALIASES = {"decomposition": "decompose", "multiquery": "multi-query", "stepback": "step-back"}


def transformer_name(name: str) -> str:
    """Return the canonical name of a transformer: `multi_query` is `multi-query`.

    :raises UsageError: for a name that nothing has, with the nearest ones.
    """
    wanted = canonical(name)
    wanted = _ALIASES.get(wanted, wanted)
    # What is installed takes its time to read.
    if wanted not in _BUILT_IN and wanted not in (names := transformer_names()):
        raise unknown_name("transform", name, names)
    return wanted


def transformer_names() -> list[str]:
    """Return the names of all transformers: the built-in ones, then those of plug-ins, which
    cannot take the name of a built-in one."""
    plugins = plugin_names(TRANSFORMERS)
    return [*_BUILT_IN, *(name for name in plugins if name not in {*_BUILT_IN, *_ALIASES})]


def needs_model(name: str) -> bool:
    """Return whether the transformer of a canonical name is none without a generator; a plug-in
    may do without."""
    return name in _BUILT_IN


def create_transformer(
    name: str, generator: Any | None = None, timeout: float | None = None
) -> QueryTransformer:
    """Make a transformer of one of `transformer_names`, or another spelling of it.

    :param generator: a Haystack chat generator, or `None` where there is none.
    :param timeout: seconds that a built-in one waits for the generator; without it a minute.
    :raises UsageError: for a name that nothing has; `ConfigError`: for a built-in one without a
        generator; `RAGError`: when a plug-in fails, or makes something else.
    """
    name = transformer_name(name)
    if not needs_model(name):
        transformer: QueryTransformer = _plugin(TRANSFORMERS, name, generator, "transform")
        return transformer
    if generator is None:
        raise ConfigError(
            f"the transform {name} needs a chat model",
            hint="Set chat.url, or ollama.chat_model and ollama.enabled = true;"
            " `rag doctor` checks them.",
        )
    from rag.query import transformers

    kind, callback = _BUILT_IN[name]
    generate = getattr(transformers, callback)(generator, timeout or transformers.TIMEOUT)
    return cast("QueryTransformer", getattr(transformers, kind)(generate))


def classifier_names() -> list[str]:
    """Return the names of the classifiers that plug-ins bring, sorted."""
    return plugin_names(CLASSIFIERS)


def create_classifier(name: str, generator: Any | None = None) -> QueryClassifier:
    """Make a classifier that a plug-in brings, from a Haystack chat generator or `None`.

    :raises UsageError: for a name that nothing has, with the nearest ones.
    :raises RAGError: when the plug-in fails, or makes something else.
    """
    if canonical(name) not in (names := classifier_names()):
        raise unknown_name("classifier", name, names)
    classifier: QueryClassifier = _plugin(CLASSIFIERS, name, generator, "classify")
    return classifier


def _plugin(group: str, name: str, generator: Any | None, method: str) -> Any:
    made = make_plugin(group, name, generator)
    if not hasattr(made, method):
        kind = type(made).__name__
        raise RAGError(
            f"the plug-in {name!r} of {group} made a {kind}, which has no {method}(query)"
        )
    return made
