"""What a project's file may set before the user trusts it, and which files the user trusts: those
whose path and content are in the user's own list.

As with direnv and git's `safe.directory`, to enter a folder is not to agree to what lies in it. A
file that was changed is another file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rag.config.files import platform_folder
from rag.config.sections import ROUTE, are_texts
from rag.exceptions import ConfigError
from rag.support.files import read_file

_DAMAGE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)

# -- what takes no trust --------------------------------------------------------------------

# Those of `rag.query.registry`, other spellings too; any other name is a plug-in's.
TRANSFORMS = frozenset(
    {"decompose", "hyde", "multi-query", "step-back", "decomposition", "multiquery", "stepback"}
)


class Place(NamedTuple):
    """The real folder in which a project's file was found; `has_vaults` where the user has set
    `vaults_dir`, so that what the file says of vaults would be about the user's."""

    folder: Path
    has_vaults: bool = False


def _are_built_in(names: Any, _place: Place | None = None) -> bool:
    return are_texts(names) and all(
        name.strip().lower().replace("_", "-") in TRANSFORMS for name in names
    )


def _are_own_routes(table: dict[str, Any], _place: Place) -> bool:
    routes = [route for route in table.values() if isinstance(route, dict)]
    return all({*r} <= {*ROUTE} and _are_built_in(r.get("transforms", [])) for r in routes)


def _is_off(value: Any, _place: Place) -> bool:
    return value is False


_ANY_VALUE = """
    search.top_k search.mode search.freshness routes.default routes.min_similarity
    ask.top_k ask.max_quotes ask.max_answer_tokens ask.temperature ask.think
    planner.plan planner.extractor planner.router planner.mode planner.fields
    planner.confidence_threshold planner.max_tool_iterations planner.max_candidates
    planner.tag_cap planner.tag_keep planner.time_window planner.aliases planner.neighbours
"""
# What a project's file may set though nobody trusts it, because it only changes how notes are cut,
# searched, planned and shown: any value, or the values that pass a test. All else takes trust.
FREE: dict[str, Callable[[Any, Place], Any] | None] = {
    **dict.fromkeys(_ANY_VALUE.split()),
    "index.chunk_size": lambda size, _: 256 <= size <= 4096,
    "index.chunk_overlap": lambda overlap, _: 0 <= overlap <= 128,
    "search.transforms": _are_built_in,
    "search.refresh": lambda value, _: value == "never",
    "ask.transforms": _are_built_in,
    "ollama.enabled": _is_off,
    "routes.classifier": lambda name, _: name in ("", "keyword", "embedding"),
    "routes.rules": _are_own_routes,
    "planner.audit": _is_off,
    "planner.raw_replies": _is_off,
    "warm": _is_off,
    "vaults_dir": lambda folder, place: Path(os.path.realpath(folder)).is_relative_to(place.folder),
    "target_vaults": lambda _, place: not place.has_vaults,
}


def takes_trust(name: str, value: Any, place: Place) -> bool:
    """Return whether a project's file needs the user's trust to set a setting to a value."""
    test = FREE.get(name)
    return not test(value, place) if test else name not in FREE


# -- the list -------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrustEntry:
    """A file that was asked about, what was answered, and when.

    :param sha256: of its content, and of the folders outside that it leads to.
    """

    file: str
    trusted: bool
    since: str
    sha256: str


def read_trust() -> dict[str, TrustEntry]:
    """Read the user's list: files by their real path; without one nothing is trusted.

    :raises ConfigError: when it is damaged.
    """
    file = trust_file()
    if not os.path.lexists(file):
        return {}
    try:
        data = json.loads(read_file(file))
        return {
            path: TrustEntry(path, e["trusted"] is True, str(e["since"]), str(e["sha256"]))
            for path, e in data["files"].items()
        }
    except _DAMAGE as error:
        what = f"the list of trusted files {file} is damaged"
        hint = f"Delete {file}, then `rag trust` in each folder whose file you trust."
        raise ConfigError(what, str(error), hint=hint) from error


def trust_file() -> Path:
    """Return where the list is, or would be."""
    return platform_folder("user_config_dir") / "trusted.json"


def record(file: Path, digest: str) -> None:
    """Keep that the user trusts a file with this content."""
    from datetime import datetime

    now = datetime.now().astimezone().isoformat(timespec="seconds")
    with _changing() as listed:
        listed[str(file)] = TrustEntry(str(file), True, now, digest)


def forget(file: Path) -> bool:
    """Take a file out of the list; tell whether it was there."""
    if str(file) not in read_trust():
        return False
    with _changing() as listed:
        return listed.pop(str(file), None) is not None


@contextmanager
def _changing() -> Iterator[dict[str, TrustEntry]]:
    """Give the list to the one process that changes it, and write it.

    :raises ConfigError: when it cannot be written.
    """
    from rag.support.files import changing, replace_durably

    folder = trust_file().parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
        with changing(folder):
            listed = read_trust()
            yield listed
            files = {
                path: {"sha256": e.sha256, "trusted": e.trusted, "since": e.since}
                for path, e in listed.items()
            }
            text = json.dumps({"files": files}, indent=2, sort_keys=True)
            replace_durably(trust_file(), f"{text}\n".encode())
    except OSError as error:
        what, why = f"{trust_file()} cannot be written", error.strerror or str(error)
        hint = "`--config FILE` reads a file without asking."
        raise ConfigError(what, why, hint=hint) from error


def shown(value: Any) -> str:
    """Return a value for people, in one line and with nothing in it that cannot be seen."""
    plain = isinstance(value, Path)
    text = visible(str(value) if plain else json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= 500 else f"{text[:500]}… ({len(text) - 500:,} more characters)"


def visible(text: str) -> str:
    """Return a text with whatever is not printed, line feeds too, written as `\\n` or `\\u202e`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
