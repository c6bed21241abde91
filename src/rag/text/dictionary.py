"""Common English words: a word that is among them is hardly a slip of another one."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from rag.text.normalize import fold_accents

# 160,000 words of pyspellchecker, as JSON: {"word": how often, ...}. Its module is not imported.
_PACKAGE, _FILE = "spellchecker", "resources/en.json.gz"


def is_common(word: str) -> bool:
    """Return whether a word, in small letters, is a common English one; accents do not matter.

    >>> is_common("flight"), is_common("naïve"), is_common("fligth")
    (True, True, False)
    """
    return f'"{fold_accents(word)}":'.encode() in _content()


@cache
def _content() -> bytes:
    found = find_spec(_PACKAGE)
    folders = (found.submodule_search_locations if found else None) or []
    files = [Path(folder) / _FILE for folder in folders]
    # To look for a word in the text takes less than to parse it.
    return next((gzip.decompress(file.read_bytes()) for file in files if file.is_file()), b"")
