"""How many tokens a model will see in a text, without the model's tokenizer.

Byte-pair tokenizers learn pieces by how common they are, so a count by script comes close.
The costs below were fitted by least squares to the counts of Mistral Nemo's tokenizer ("tekken") on
English and Japanese help pages and encyclopaedia paragraphs.
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

# numpy is loaded where it is used: looking whether anything changed must not wait for it.
if TYPE_CHECKING:
    import numpy as np

# Of Latin words and their letters, kana, ideographs, digits, punctuation, all other characters, and
# line ends.
WEIGHTS = (0.85, 0.048, 0.6, 0.96, 1.18, 1.01, 1.58, 0.58)

# Classes of characters, each as first and last of its ranges; a later class takes what it
# shares with an earlier one. Of Latin letters, ASCII punctuation and line ends the runs count.
# White space and controls count nothing; what is in no class is `other`.
_NOTHING, _LATIN, _PUNCTUATION, _LINE, _KANA, _IDEOGRAPH, _DIGIT, _MARK, _OTHER = range(9)
_RANGES = {
    _NOTHING: "\x00\x7f\x85\x85\u00a0\u00a0\u1680\u1680\u2000\u200a\u205f\u205f",
    _LATIN: "AZaz\u00c0\u024f",
    _PUNCTUATION: "!/:@[`{~",
    _LINE: "\n\n",
    _KANA: "\u3041\u30ff\u31f0\u31ff\uff66\uff9f",
    _IDEOGRAPH: "\u3005\u3007\u3400\u4dbf\u4e00\u9fff\uf900\ufaff",
    _DIGIT: "09\uff10\uff19",
    _MARK: "\u2010\u203e\u3000\u3004\u3008\u303f\uff01\uff0f\uff1a\uff65",
}
_PLANE = 0x10000  # beyond the first plane everything is `other`


def count_tokens(text: str) -> int:
    """Estimate the number of tokens of `text`.

    :returns: at least 1 for a text that is not empty.
    """
    counts = _ascii_counts(text) if text.isascii() else _counts(text)
    tokens: float = sum(map(mul, WEIGHTS, counts))
    return max(1, round(tokens)) if text else 0


def _ascii_counts(text: str) -> tuple[int, ...]:
    """Return what `_counts` does, in a third of the time and without numpy."""
    raw = f" {text}".encode()  # each run stands behind a blank
    latin, punctuation, line, digit = map(_ascii_class, (_LATIN, _PUNCTUATION, _LINE, _DIGIT))
    return (
        raw.translate(latin.blanked).count(b" x"),
        len(raw.translate(None, latin.others)),
        0,
        0,
        len(raw.translate(None, digit.others)),
        raw.translate(punctuation.blanked).count(b" x"),
        0,
        raw.translate(line.blanked).count(b" x"),
    )


def _counts(text: str) -> tuple[int, ...]:
    """Return how much there is in a text of what each of `WEIGHTS` is for."""
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    classes = _class_table().take(codes, mode="clip")
    later = classes[1:]
    starts = later[later != classes[:-1]]
    # Bytes count themselves faster than numpy does where there are as few as in a note.
    size = classes.tobytes().count
    runs = (classes[:1].tobytes() + starts.tobytes()).count
    return (
        runs(_LATIN),
        size(_LATIN),
        size(_KANA),
        size(_IDEOGRAPH),
        size(_DIGIT),
        runs(_PUNCTUATION) + size(_MARK),
        size(_OTHER),
        runs(_LINE),
    )


class _AsciiClass(NamedTuple):
    """The ASCII characters that are not of a class, and a table that makes blanks of them and an
    `x` of all others."""

    others: bytes
    blanked: bytes


@cache
def _ascii_class(number: int) -> _AsciiClass:
    ranges = [*map(ord, _RANGES[number])]
    spans = [range(first, last + 1) for first, last in zip(ranges[::2], ranges[1::2], strict=True)]
    members = {*chain.from_iterable(spans)}
    others = bytes(code for code in range(128) if code not in members)
    return _AsciiClass(others, bytes(b" x"[code in members] for code in range(256)))


@cache
def _class_table() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the class of every character of the first plane."""
    import numpy as np

    table = np.full(_PLANE + 1, _OTHER, np.uint8)
    for number, ranges in _RANGES.items():
        for first, last in zip(ranges[::2], ranges[1::2], strict=True):
            table[ord(first) : ord(last) + 1] = number
    return table
