"""How a model says that the notes hold no answer."""

from __future__ import annotations

import re

from rag.text.normalize import normalize

# What a model is told to say; the Japanese one is that of the earlier system.
PHRASES = {"en": "NOT_FOUND", "ja": "情報が見つかりませんでした"}

_SAID = re.compile(r"\bnot_found\b|情報が見つかりません(?:でした)?")
_FEW = 20  # characters
# What models say instead.
_LIKE = re.compile(
    r"\b(?:do(?:es)? ?n[o'’]t|did ?n[o'’]t|cannot|can'?t|could ?n[o'’]t|no)\b.{0,30}"
    r"\b(?:contain|mention|provide|include|say|hold|have|specify|state|find|answer|information)"
    r"|\bnot (?:mentioned|found|contained|specified|stated|available|enough)\b"
    r"|(?:記載|記述|情報|言及|説明|答え|回答)(?:が|は|も)?[^。]{0,12}"
    r"(?:ありません|ない|見つかり|なく|ございません)"
    r"|(?:見つかり|見当たり|見つけられ)ません"
    r"|(?:書かれて|載って|含まれて|記載されて)いません|わかりません|分かりません|お答えできません"
)


def is_not_found(sentence: str) -> bool:
    """Return whether a sentence is the phrase that means: not found, with few words around it.

    A note may speak of an error of that name.
    """
    rest, count = _SAID.subn("", normalize(sentence).replace("\\", ""))
    return bool(count) and len(rest) <= _FEW


def is_refusal(sentence: str) -> bool:
    """Return whether a sentence says in other words that there is no answer."""
    return bool(_LIKE.search(normalize(sentence)))
