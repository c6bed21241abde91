"""Which notes lie at a path or have a title: read from the index's list of notes, once a query."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import PurePath
from unicodedata import normalize

from rag.exceptions import QueryError
from rag.index.manifest import Manifest
from rag.text.normalize import fold_accents, name_key


class Places:
    """Finds notes of a manifest; without one there are none."""

    def __init__(self, manifest: Manifest | None) -> None:
        self._manifest = manifest

    def titled(self, value: str) -> list[str]:
        """Return the ids of the notes whose title, file name or an alias holds `value`."""
        wanted = _folded(value)
        return [identity for identity, names in self._names if any(wanted in n for n in names)]

    def on_path(self, value: str) -> list[str]:
        """Return the ids of the notes whose vault and path hold `value`, or match it as a
        pattern."""
        if "*" in value or "?" in value:
            with suppress(QueryError):
                return self.at_paths([value])
        wanted = _folded(value)
        return [identity for identity, path in self._paths if wanted in path]

    def at_paths(self, globs: Sequence[str]) -> list[str]:
        """Return the ids of the notes whose path, or vault and path, matches one of `globs`.

        :raises QueryError: when one of them is no pattern.
        """
        patterns = _patterns(globs)
        return [
            identity
            for vault, path, _, _, identity in self._notes
            if _matches(patterns, path) or _matches(patterns, f"{vault}/{path}")
        ]

    @cached_property
    def _notes(self) -> list[tuple[str, str, str, list[str], str]]:
        return self._manifest.names() if self._manifest else []

    @cached_property
    def _names(self) -> list[tuple[str, list[str]]]:
        return [
            (identity, [_folded(name) for name in (title, PurePath(path).stem, *aliases)])
            for _, path, title, aliases, identity in self._notes
        ]

    @cached_property
    def _paths(self) -> list[tuple[str, str]]:
        return [
            (identity, _folded(f"{vault}/{path}")) for vault, path, _, _, identity in self._notes
        ]


def _folded(name: str) -> str:
    return fold_accents(name_key(name))


_Pattern = tuple[bool, re.Pattern[str]]


def _patterns(globs: Iterable[str]) -> list[_Pattern]:
    """Return the expressions of patterns such as .gitignore has, and whether what they match is
    wanted.

    :raises QueryError: when one of them is no pattern.
    """
    from pathspec import PathSpec

    lines = [normalize("NFC", glob if "/" in glob else f"/**/{glob}") for glob in globs]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of `[[`, which may mean something else one day
            return [
                (pattern.include, re.compile(_without_choice(_in_names(pattern.regex.pattern))))
                for pattern in PathSpec.from_lines("gitignore", lines).patterns
                if pattern.include is not None and pattern.regex is not None
            ]
    except (ValueError, re.error) as error:
        raise QueryError(
            "not a path pattern", str(error), hint="Try 'folder/**' or '*.md'."
        ) from error


_CLASS = re.compile(r"\\.|\[\^?\]?[^\]]*\]", re.DOTALL)  # and what is escaped


def _in_names(expression: str) -> str:
    """Return the expression of a path pattern so that no class of characters holds the slash, as in
    git: `a[!b]c` is one name."""

    def kept(found: re.Match[str]) -> str:
        is_class = not found[0].startswith("\\") and found[0] != "[^/]"
        return f"(?!/){found[0]}" if is_class else found[0]

    return _CLASS.sub(kept, expression)


_STAR, _FOLDERS, _ROOT = "[^/]*", "(?:/.+)?", "^(?:.+/)?"  # as pathspec writes them


def _without_choice(expression: str) -> str:
    """Return the expression of a path pattern so that it is matched in one way at most.

    As it is, all ways are tried of sharing a name among its stars: with a dozen of them, for hours.
    What stands between two stars may be taken where it is found first, for that leaves the most to
    match the rest; and so may the names between two `**`.
    """
    *firsts, last = [_starred(part) for part in expression.split(_FOLDERS)]
    if not firsts:
        return last
    head, *inner = firsts
    if head.startswith(_ROOT):
        head = f"^(?>(?:[^/]+/)*?{head.removeprefix(_ROOT)}(?=/))"
    between = "".join(f"(?>(?:/[^/]+)*?{part}(?=/))" for part in inner)
    return f"{head}{between}{_FOLDERS}{last}"


def _starred(part: str) -> str:
    first, *others = part.split(_STAR)
    if not others:
        return part
    *inner, last = others
    return f"{first}{''.join(f'(?>[^/]*?{text})' for text in inner)}{_STAR}{last}"


def _matches(patterns: Sequence[_Pattern], path: str) -> bool:
    """Return whether a path is wanted: the last pattern that matches it decides."""
    for wanted, expression in reversed(patterns):
        if expression.search(path):
            return wanted
    return False
