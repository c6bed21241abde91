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
from typing import Any

from rag.support.regular_files import open_file
from rag.support.unicode_forms import nfc

_APP, _FILTERS = "app.json", "userIgnoreFilters"
_TEMPLATES = {
    "templates.json": "folder",
    "plugins/templater-obsidian/data.json": "templates_folder",
}
_LARGEST = 1_000_000  # bytes of a file
_MOST_FILTERS = 1_000
_MOST_PATTERNS = 30
_LONGEST = 500  # characters of a pattern
_MOST_REPEATED = 1_000  # parts of a pattern with counts: they are written out to compile it
_COUNT = re.compile(r"\{(\d+)")
_PATIENCE = 1.0  # seconds that the patterns may take for all files of a vault

Report = Callable[[str, str], None]


class ObsidianRules:
    """The paths that one `.obsidian` folder excludes, relative to the folder it lies in.

    :param folder: the path of the `.obsidian` folder.
    :param report: is told the name of a file in it and what is wrong there.
    """

    def __init__(self, folder: str, report: Report) -> None:
        self._report = report
        self._patterns: list[Callable[..., Any]] = []  # of compiled ones: what searches
        self._left = _PATIENCE
        filters = self._setting(folder, _APP, _FILTERS, list) or []
        starts = [*filter(None, map(self._prefix, filters[:_MOST_FILTERS]))]
        for name, key in _TEMPLATES.items():
            value = self._setting(folder, name, key, str) or ""
            if (path := value.strip("/ ")) and path != ".":
                starts.append(f"{nfc(path)}/")
        self._starts = tuple(starts)

    def verdict(self, path: str) -> bool | None:
        """Return whether a path is excluded, `None` where nothing is said of it.

        :param path: that of a folder ends with `/`; patterns are matched with files alone.
        """
        if path.startswith(self._starts):
            return True
        if path.endswith("/") or not self._patterns:
            return None
        began = time.perf_counter()
        try:
            if self._left > 0:
                found = (search(path, timeout=self._left) for search in self._patterns)
                return any(match is not None for match in found) or None
        except TimeoutError:
            self._left = 0
        finally:
            self._left -= time.perf_counter() - began
        self._patterns = []
        self._report(_APP, f"{_FILTERS}: the patterns take too long, and are left out")
        return None

    def _setting(self, folder: str, name: str, key: str, kind: type) -> Any:
        """Return what a file of the folder says of a key; `None` where it says nothing."""
        try:
            with open_file(f"{folder}/{name}") as file:
                raw = file.read(_LARGEST + 1)
            if len(raw) > _LARGEST:
                raise ValueError(f"larger than {_LARGEST // 1_000_000} MB: not read")
            settings = json.loads(raw.decode("utf-8-sig")) if raw.strip() else {}
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._report(name, f"cannot be read: {error.strerror or type(error).__name__}")
            return None
        except (ValueError, RecursionError) as error:
            self._report(name, str(error) if "larger" in str(error) else "not JSON")
            return None
        if not isinstance(settings, dict):
            self._report(name, "not a table of settings")
            return None
        value = settings.get(key)
        if value is not None and not isinstance(value, kind):
            self._report(name, f"{key}: not a {'list' if kind is list else 'text'}")
            return None
        return value

    def _prefix(self, item: Any) -> str:
        """Return what excluded paths begin with; a filter that is a pattern is kept for itself."""
        if not isinstance(item, str):
            self._report(_APP, f"{_FILTERS}: not a text: {str(item)[:100]}")
            return ""
        if len(item) > 2 and item.startswith("/") and item.endswith("/"):
            self._add_pattern(nfc(item[1:-1]))
            return ""
        return nfc(item) if item.strip("/ ") else ""

    def _add_pattern(self, text: str) -> None:
        repeated = prod(max(1, int(count[:9])) for count in _COUNT.findall(text))
        if len(self._patterns) == _MOST_PATTERNS:
            self._report(_APP, f"{_FILTERS}: only {_MOST_PATTERNS} patterns count")
        elif len(text) > _LONGEST or repeated > _MOST_REPEATED:
            self._report(_APP, f"{_FILTERS}: too large, and left out: {text[:100]}")
        elif search := _compiled(text):
            self._patterns.append(search)
        else:
            self._report(_APP, f"{_FILTERS}: not a pattern: {text[:100]}")


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
