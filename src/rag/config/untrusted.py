"""What a project's file may set before the user trusts it.

A setting has a rule that tells for a value whether it may be set so; without one it needs trust.
Whoever puts a file into a folder must not by that reach a server, a folder outside or a program.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Those of `rag.query.registry`, other spellings too; any other name is a plug-in's.
TRANSFORMS = frozenset(
    {"decompose", "hyde", "multi-query", "step-back", "decomposition", "multiquery", "stepback"}
)
_OF_A_ROUTE = ("keywords", "examples", "vaults", "mode", "transforms")


@dataclass(frozen=True)
class Ask:
    """Something that a project's file asks for and that takes trust.

    :param value: what it is to be, as it is shown.
    """

    name: str
    value: str


@dataclass(frozen=True)
class Project:
    """A project's file, what it asks for, and what the user said to that.

    :param digest: of the file's content, and of the folders outside that it leads to.
    :param answer: `True` when the user trusts it, `False` when the user said no, `None` when
        nobody has asked.
    """

    file: Path
    digest: str
    asks: tuple[Ask, ...] = ()
    answer: bool | None = None


@dataclass(frozen=True)
class LeftOut:
    """A setting of a file that does not count.

    :param value: what it was to be, as it is shown.
    :param hint: what makes it count.
    """

    value: str
    reason: str
    hint: str


@dataclass(frozen=True)
class Place:
    """Where a project's file was found.

    :param folder: the real path of the folder.
    :param has_vaults: whether the user has set `vaults_dir`, so that what the file says of vaults
        would be about the user's.
    """

    folder: Path
    has_vaults: bool = False


Rule = Callable[[Any, Place], bool]


def needs_trust(_value: Any, _place: Place) -> bool:
    """Tell that no value is free: the rule of every setting that is given no other."""
    return False


def is_free(_value: Any, _place: Place) -> bool:
    """Tell that any value is: it changes how notes are searched, planned or shown, and no more."""
    return True


def off_only(value: Any, _place: Place) -> bool:
    """Tell whether something is switched off, by which nothing more can happen."""
    return value is False


def within(least: int, most: int) -> Rule:
    """Return the rule of numbers up to which no index grows by much."""
    return lambda value, _place: bool(least <= value <= most)


def one_of(*names: str) -> Rule:
    """Return the rule of built-in names; any other is a plug-in's."""
    return lambda value, _place: value in names


def built_in(names: Any, _place: Place) -> bool:
    """Tell whether all names of transforms are ours."""
    return isinstance(names, list) and all(
        isinstance(name, str) and name.strip().lower().replace("_", "-") in TRANSFORMS
        for name in names
    )


def plain_routes(routes: Any, place: Place) -> bool:
    """Tell whether routes have nothing but words, vaults, modes and transforms of ours."""
    return all(
        set(route) <= set(_OF_A_ROUTE) and built_in(route.get("transforms", []), place)
        for route in routes.values()
        if isinstance(route, dict)  # any other is a mistake, which is told
    )


def below_project(folder: Path, place: Place) -> bool:
    """Tell whether a folder lies in the project, after all links."""
    return real_path(folder).is_relative_to(place.folder)


def of_own_vaults(_names: Any, place: Place) -> bool:
    """Tell whether the vaults to be chosen from are those of the project."""
    return not place.has_vaults


def real_path(path: Path) -> Path:
    """Return where a path leads after all links; a link to itself is where it is."""
    return Path(os.path.realpath(path))
