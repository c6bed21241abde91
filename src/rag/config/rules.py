"""Rules of values: how a setting must be, and what a project's file may set without trust.

A rule takes a value and what is around it: of a setting its section, of what a project's file sets
the `Place` of the file. It returns how the value must be, or nothing when it is so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

from rag.config.servers import is_address

Rule = Callable[[Any, Any], str]

# Those of `rag.query.registry`, other spellings too; any other name is a plug-in's.
TRANSFORMS = frozenset(
    {"decompose", "hyde", "multi-query", "step-back", "decomposition", "multiquery", "stepback"}
)
_NEEDED = {"keyword": "keywords", "embedding": "examples"}  # of a classifier, in a route
_ROUTE = ("keywords", "examples", "vaults", "transforms", "mode")


def must_fit(demand: str, holds: Callable[[Any, Any], Any]) -> Rule:
    """Return the rule that a test of the value and of what is around it makes."""
    return lambda value, around: "" if holds(value, around) else f"must be {demand}"


def must_be(demand: str, holds: Callable[[Any], Any]) -> Rule:
    """Return the rule that a test of the value makes."""
    return must_fit(demand, lambda value, _around: holds(value))


def within(least: float, most: float) -> Rule:
    """Return the rule of numbers between two, which are among them."""
    return must_be(f"within {least:,} and {most:,}", lambda value: least <= value <= most)


def at_least(least: int) -> Rule:
    """Return the rule of numbers without an upper bound."""
    return must_be(f"at least {least:,}", lambda value: value >= least)


def positive_below(limit: int) -> Rule:
    """Return the rule of numbers above 0 and below a limit."""
    return must_be(f"positive and below {limit:,}", lambda value: 0 < value < limit)


def matching(pattern: str, demand: str) -> Rule:
    """Return the rule of texts that match a pattern of ASCII."""
    return must_be(demand, re.compile(pattern, re.ASCII).fullmatch)


def one_of(*names: Any, more: Collection[str] = ()) -> Rule:
    """Return the rule of a choice.

    :param more: further names; those that are in it when a value is checked count.
    """

    def rule(value: Any, _around: Any) -> str:
        known = (*names, *more)
        wanted = ", ".join(map(str, known))
        return "" if value in known else f"must be one of {wanted}, not {value[:100]!r}"

    return rule


def addresses(port: int, least: int = 0, most: int = 100) -> Rule:
    """Return the rule of so many addresses of servers, in a list or in a text with commas."""

    def holds(value: list[str] | str) -> bool:
        urls = value if isinstance(value, list) else value.split(",") if value else []
        return least <= len(urls) <= most and all(is_address(url.strip(" ")) for url in urls)

    several = "" if most == 1 else ", or several with commas between"
    return must_be(f"an address such as http://127.0.0.1:{port}{several}", holds)


anything = must_be("anything", lambda _value: True)
nothing = must_be("trusted", lambda _value: False)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(t, str) and t.strip() for t in value)


names_by_name = must_be(
    'a table of names, such as { k8s = "kubernetes" }',
    lambda table: _are_texts([*table, *table.values()]),
)


def lists_of(what: str) -> Rule:
    """Return the rule of tables of lists of texts."""
    return must_be(
        f"a table of lists of {what}",
        lambda table: _are_texts([*table]) and all(map(_are_texts, table.values())),
    )


def routes(modes: Collection[str]) -> Rule:
    """Return the rule of `routes.rules`; what it says of one route begins with the route's name.

    Whether the vaults and transforms of a route exist is found out where they are known.
    """

    def rule(table: dict[str, Any], section: Any) -> str:
        for label, route in table.items():
            if demand := _route(route, modes):
                return f".{label}{demand}"
        needed = _NEEDED.get(section.classifier)
        if needed and not any(route.get(needed) for route in table.values()):
            return f"must hold one with {needed}"
        return ""

    return rule


def _route(route: Any, modes: Collection[str]) -> str:
    known = ", ".join(_ROUTE)
    if not isinstance(route, dict):
        return f" must be a table; a route has {known}"
    for key, value in route.items():
        if key not in _ROUTE:
            return f".{key} is unknown; a route has {known}"
        if key == "mode" and value not in modes:
            return f".mode must be one of {', '.join(modes)}"
        if key != "mode" and not _are_texts(value):
            return f".{key} must be a list of texts, none of them empty"
    return ""


class Place(NamedTuple):
    """Where a project's file was found. Whoever puts it there must not by that reach a server, a
    folder outside or a program.

    :param folder: the real path of the folder.
    :param has_vaults: whether the user has set `vaults_dir`, so that what the file says of vaults
        would be about the user's.
    """

    folder: Path
    has_vaults: bool = False


def _are_built_in(names: Any) -> bool:
    return _are_texts(names) and all(
        name.strip().lower().replace("_", "-") in TRANSFORMS for name in names
    )


built_in = must_be("transforms of ours", _are_built_in)
own_routes = must_be(
    "words, vaults, modes and transforms of ours",
    lambda table: all(
        {*route} <= {*_ROUTE} and _are_built_in(route.get("transforms", []))
        for route in table.values()
        if isinstance(route, dict)  # any other is a mistake, which is told
    ),
)
below_project = must_fit(
    "in the project, after all links",
    lambda folder, place: Path(os.path.realpath(folder)).is_relative_to(place.folder),
)
of_own_vaults = must_fit("of the project's vaults", lambda _names, place: not place.has_vaults)
