"""`RAG_*` in the environment: which variables are settings, and which are nobody's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

# What the program reads that is no setting; `RAG_TEST_…` are those of its tests.
_OTHERS = ("RAG_CONFIG",)
_TESTS = "RAG_TEST_"


def variable_of(setting: str) -> str:
    """Return the variable of a setting: `RAG_SEARCH__TOP_K` of `search.top_k`."""
    return f"RAG_{setting.upper().replace('.', '__')}"


def from_environment(
    env: Mapping[str, str], names: Iterable[str], sections: Iterable[str]
) -> dict[str, str]:
    """Return the settings that are in the environment, as text, by name.

    An empty value counts as unset. A name that cannot be a setting is not ours; one that is
    unknown, but in a known section, is among them.
    """
    known, prefixes = set(names), tuple(f"{section}." for section in sections)
    found: dict[str, str] = {}
    for key, value in env.items():
        if key.startswith("RAG_") and value:
            name = key[4:].lower().replace("__", ".")
            if name in known or name.startswith(prefixes):
                found[name] = value
    return found


def unknown_variables(
    env: Mapping[str, str], names: Iterable[str], of_keys: Iterable[str] = ()
) -> dict[str, str]:
    """Return the variables that look like settings and set nothing, each with the nearest name.

    :param of_keys: variables that settings name.
    """
    from difflib import get_close_matches

    settings = list(map(variable_of, names))
    known = {*settings, *_OTHERS, *of_keys}
    strange = sorted(
        key
        for key, value in env.items()
        if key.startswith("RAG_") and value and key not in known and not key.startswith(_TESTS)
    )
    return {key: get_close_matches(key[:100], [*settings, *_OTHERS], 1, 0)[0] for key in strange}


def parse_text(text: str, expected: type) -> Any:
    """Return what a variable says: a list with commas between, true or 0, or as in JSON."""
    if expected is list and not text.strip().startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    text = text.strip()
    if expected is bool:
        text = {"0": "false", "1": "true"}.get(text, text.lower())
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
