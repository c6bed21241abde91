"""Plug-ins: what other distributions bring, found by the entry points they declare.

A group is a kind of plug-in, such as `rag.transformers`; `docs/query.md` shows how to bring one.
Names may be written with `-` or `_` and in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from rag.exceptions import RAGError, UsageError

TRANSFORMERS = "rag.transformers"
CLASSIFIERS = "rag.classifiers"
STEPS = "rag.steps"
TOOLS = "rag.tools"


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
