"""What Obsidian leaves out of a vault: its excluded files, and the folders of templates.

The files that say so came with the vault: they are read as far as they make sense, and what does
not is reported.
"""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from rag.support.regular_files import open_file
from rag.support.unicode_forms import nfc

_APP, _TEMPLATES = "app.json", "templates.json"
_TEMPLATER = "plugins/templater-obsidian/data.json"
_FILTERS = "userIgnoreFilters"
_LARGEST = 1_000_000  # bytes of a file
_MOST_FILTERS = 1_000
_MOST_PATTERNS = 30
_LONGEST = 500  # characters of a pattern
_MOST_REPEATED = 1_000  # parts of a pattern with counts: they are written out to compile it
_COUNT = re.compile(r"\{(\d+)")
_PATIENCE = 1.0  # seconds that a pattern may take for all files of a vault

Report = Callable[[str, str], None]


class _Pattern(NamedTuple):
    text: str
    search: Callable[..., Any]  # of a compiled one


class ObsidianRules:
    """The paths that one `.obsidian` folder excludes, relative to the folder it lies in.

    :param folder: the path of the `.obsidian` folder.
    :param report: is told the name of a file in it and what is wrong there.
    """

    def __init__(self, folder: str, report: Report) -> None:
        self._report = report
        self._prefixes: dict[str, None] = {}
        self._patterns: list[_Pattern] = []
        self._left: dict[str, float] = {}  # seconds, by pattern
        self._add_filters(self._read(folder, _APP).get(_FILTERS))
        for name, key in ((_TEMPLATES, "folder"), (_TEMPLATER, "templates_folder")):
            self._add_templates(name, key, self._read(folder, name).get(key))
        self._starts = tuple(self._prefixes)

    def __bool__(self) -> bool:
        return bool(self._starts or self._patterns)

    def verdict(self, path: str) -> bool | None:
        """Return whether a path is excluded, `None` where nothing is said of it.

        :param path: that of a folder ends with `/`; patterns are matched with files alone.
        """
        if path.startswith(self._starts):
            return True
        if path.endswith("/"):
            return None
        return any(self._matches(pattern, path) for pattern in [*self._patterns]) or None

    def _matches(self, pattern: _Pattern, path: str) -> bool:
        began = time.perf_counter()
        left = self._left[pattern.text]
        try:
            if left > 0:
                return pattern.search(path, timeout=left) is not None
        except TimeoutError:
            pass
        finally:
            self._left[pattern.text] -= time.perf_counter() - began
        self._patterns.remove(pattern)
        self._report(_APP, f"{_FILTERS}: takes too long, and is left out: {pattern.text[:100]}")
        return False

    def _read(self, folder: str, name: str) -> dict[str, Any]:
        """Return what a file of the folder holds; nothing where there is none."""
        try:
            with open_file(f"{folder}/{name}") as file:
                raw = file.read(_LARGEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            self._report(name, f"cannot be read: {error.strerror or type(error).__name__}")
            return {}
        if len(raw) > _LARGEST:
            self._report(name, f"larger than {_LARGEST // 1_000_000} MB: not read")
            return {}
        try:
            held = json.loads(raw.decode("utf-8-sig")) if raw.strip() else {}
        except (ValueError, RecursionError):
            self._report(name, "not JSON")
            return {}
        if not isinstance(held, dict):
            self._report(name, "not a table of settings")
            return {}
        return held

    def _add_filters(self, value: Any) -> None:
        if value is None:
            return
        if not isinstance(value, list):
            self._report(_APP, f"{_FILTERS}: not a list")
            return
        if len(value) > _MOST_FILTERS:
            self._report(_APP, f"{_FILTERS}: only the first {_MOST_FILTERS:,} count")
        for item in value[:_MOST_FILTERS]:
            if not isinstance(item, str):
                self._report(_APP, f"{_FILTERS}: not a text: {str(item)[:100]}")
            elif len(item) > 2 and item.startswith("/") and item.endswith("/"):
                self._add_pattern(nfc(item[1:-1]))
            elif item.strip("/ "):
                self._prefixes[nfc(item)] = None

    def _add_pattern(self, text: str) -> None:
        repeated = prod(max(1, int(count[:9])) for count in _COUNT.findall(text))
        if len(self._patterns) == _MOST_PATTERNS:
            self._report(_APP, f"{_FILTERS}: only {_MOST_PATTERNS} patterns count")
        elif len(text) > _LONGEST or repeated > _MOST_REPEATED:
            self._report(_APP, f"{_FILTERS}: too large, and left out: {text[:100]}")
        elif text not in self._left:
            if search := _compiled(text):
                self._left[text] = _PATIENCE
                self._patterns.append(_Pattern(text, search))
            else:
                self._report(_APP, f"{_FILTERS}: not a pattern: {text[:100]}")

    def _add_templates(self, name: str, key: str, value: Any) -> None:
        if value is not None and not isinstance(value, str):
            self._report(name, f"{key}: not a text")
        elif value and (folder := value.strip("/ ")) and folder != ".":
            self._prefixes[f"{nfc(folder)}/"] = None


def _compiled(text: str) -> Callable[..., Any] | None:
    """Compile a pattern by a library that can stop it; `None` where it is none."""
    import regex

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what other versions will take for something else
        try:
            search: Callable[..., Any] = regex.compile(text).search
            return search
        except (regex.error, ValueError, OverflowError, RecursionError, KeyError, IndexError):
            return None
