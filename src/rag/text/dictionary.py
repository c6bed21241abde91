"""Common words of seven languages: a word that is among them is hardly a slip of another one."""

from __future__ import annotations

import gzip
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from rag.text.tokenizer import fold_accents

# Word lists of pyspellchecker, as JSON: {"word": how often, ...}. Its module is not imported.
_PACKAGE, _FILE = "spellchecker", "resources/{}.json.gz"
LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pt")


def is_common(word: str, languages: Sequence[str] = LANGUAGES) -> bool:
    """Return whether a word, in small letters, is a common one; accents do not matter in English.

    >>> is_common("flight"), is_common("naïve"), is_common("passwort"), is_common("fligth")
    (True, True, True, False)
    """
    forms = [form.encode() for form in dict.fromkeys([word, fold_accents(word)])]
    return any(_has(_content(language), form) for language in languages for form in forms)


def _has(content: bytes, word: bytes) -> bool:
    """Return whether a list has a word: they stand one a line, in order."""

    def word_at(place: int) -> bytes:
        start = content.rfind(b"\n", 0, place) + 2  # behind the quotation mark
        return content[start : content.find(b'"', start)]

    places = range(2, len(content) - 1)  # between the brackets
    place = bisect_left(places, word, key=word_at) + 2
    return place < len(content) - 1 and word_at(place) == word


@cache
def _content(language: str) -> bytes:
    spec = find_spec(_PACKAGE)
    folders = (spec.submodule_search_locations if spec else None) or []
    files = [Path(folder) / _FILE.format(language) for folder in folders]
    # To look for a word in the text takes less than to parse it, by far.
    return next((gzip.decompress(file.read_bytes()) for file in files if file.is_file()), b"")
