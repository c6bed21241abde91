"""How many tokens a model will see in a text, without the model's tokenizer.

Byte-pair tokenizers learn pieces by how common they are, so a count by script comes close.
The costs below were fitted by least squares to the counts of a real tokenizer on English and
Japanese help pages and encyclopaedia paragraphs; `benchmarks/token_counts.py` names it,
prints the error and fits them again.
"""

from __future__ import annotations

import re

FEATURES = ("word", "letter", "kana", "ideograph", "digit", "mark", "other", "line")
WEIGHTS = (0.85, 0.048, 0.6, 0.96, 1.18, 1.01, 1.58, 0.58)

_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_DIGIT = re.compile(r"[0-9\uff10-\uff19]+")
_MARK = re.compile(
    r"[!-/:-@\[-`{-~]+|[\u3000-\u3004\u3008-\u303f\u2010-\u203e\uff01-\uff0f\uff1a-\uff65]"
)
_LINE = re.compile(r"\n+")
_KANA = re.compile(r"[\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f]+")
_IDEOGRAPH = re.compile(r"[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_OTHER = re.compile(
    r"[^\s\x00-\x7f\u00c0-\u024f\u2010-\u203e\u3000-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\uff01-\uff9f]+"
)


def count_tokens(text: str) -> int:
    """Estimate the number of tokens of `text`.

    :returns: at least 1 for a text that is not empty.
    """
    if not text:
        return 0
    return max(1, round(sum(w * n for w, n in zip(WEIGHTS, features(text), strict=True))))


def features(text: str) -> tuple[int, ...]:
    """Count what `FEATURES` names: Latin words and their letters, kana, ideographs, digits,
    punctuation, all other characters, and line ends."""
    words = _WORD.findall(text)
    counts = [len(words), _size(words)]
    if text.isascii():
        counts += [0, 0, _size(_DIGIT.findall(text)), len(_MARK.findall(text)), 0]
    else:
        counts += [_size(p.findall(text)) for p in (_KANA, _IDEOGRAPH, _DIGIT)]
        counts += [len(_MARK.findall(text)), _size(_OTHER.findall(text))]
    return *counts, len(_LINE.findall(text))


def _size(found: list[str]) -> int:
    return sum(map(len, found))
