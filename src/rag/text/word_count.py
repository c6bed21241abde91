"""How many different words a text holds, about, at a twentieth of what weighing it costs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.text.ngrams import KATAKANA_CHARACTERS, UNSEGMENTED

_SPACE, _FIRST_NOT_ASCII = 0x20, 0x80
# ASCII letters in lower case and digits, spaces for what is between them; other bytes as they are.
_LETTERS = bytes(
    code if code >= _FIRST_NOT_ASCII else ord(chr(code).lower()) if chr(code).isalnum() else _SPACE
    for code in range(256)
)
_MOSTLY_ASCII = 1.2  # bytes a character
# Of the scripts without spaces only runs of katakana are words.
_BETWEEN = re.compile(f"[\\W{UNSEGMENTED.replace(KATAKANA_CHARACTERS, '')}]+")


def rough_words(text: str) -> Sequence[str | bytes]:
    """Return the words of a text, in lower case and otherwise as they are written."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= _MOSTLY_ASCII * len(text):
        return raw.translate(_LETTERS).split()
    return _BETWEEN.sub(" ", text.lower()).split()
