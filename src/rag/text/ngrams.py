"""Grams of scripts that put no space between words: what stands in for words there.

No analyser cuts the text. Which grams there are, and what each says, follows from the script
of its characters, as a reader of Japanese sees it: a kanji has meaning alone, two of them or
two katakana are most often part of one word, hiragana are endings and particles until three
of them stand together. Of two characters of different scripts only a kanji with what follows it
in hiragana (使う) and a polite prefix with its kanji (お茶) are grams; all others are more often
a seam than part of a word. Weighed so, grams ranked better than a dictionary's words on the
questions this was developed with.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

# numpy is loaded where it is used: looking whether anything changed must not wait for it.
if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

# Ranges of code points by how their script is read.
IDEOGRAPHS, HIRAGANA, KATAKANA, LETTERS = 1, 2, 3, 4
_RANGES = {
    # Han, the iteration mark and the zero of numbers; Hangul, whose syllables are as rich.
    IDEOGRAPHS: "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7a3\u1100-\u11ff"
    "\U00020000-\U0003134f",
    HIRAGANA: "\u3041-\u3096\u309d-\u309f",
    KATAKANA: "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff",
    # Thai, Lao, Myanmar and Khmer: alphabets, written without spaces.
    LETTERS: "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff",
}
UNSEGMENTED = "".join(_RANGES.values())
RUN = re.compile(f"[{UNSEGMENTED}]+")
KATAKANA_CHARACTERS = _RANGES[KATAKANA]

_BITS = 21  # of a code point
_MULTIPLIER = 0x9E3779B97F4A7C15  # 2^64 / golden ratio, as in Knuth's multiplicative hash
_SHIFT = 64 - 29

UNIGRAM_WEIGHT = 0.3
TRIGRAM_WEIGHT = 0.3
WORD_WEIGHT = 0.5  # a pair that is a word, or part of one
_PAIR_WEIGHTS = {IDEOGRAPHS: WORD_WEIGHT, KATAKANA: WORD_WEIGHT, HIRAGANA: 0.05, LETTERS: 0.05}
_SEAM_WEIGHT = 0.15  # a pair of two scripts
_POLITE = "おご"  # prefixes of words that are written with kanji


@cache
def script_table() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return, by code point, how its script is read; 0 where words are spaced."""
    import numpy as np

    table = np.zeros(0x110000, np.uint8)
    for script, ranges in _RANGES.items():
        for first, last in zip(ranges[::3], ranges[2::3], strict=True):
            table[ord(first) : ord(last) + 1] = script
    return table


def is_seam(pair: str) -> bool:
    """Return whether two characters are of two unsegmented scripts."""
    scripts = {int(script_table()[ord(char)]) for char in pair}
    return len(scripts) == 2 and 0 not in scripts


def is_ideograph(text: str) -> bool:
    """Return whether a text is one character that is a gram wherever it stands."""
    return len(text) == 1 and int(script_table()[ord(text)]) == IDEOGRAPHS


class Gram(NamedTuple):
    """A gram: its text, where in its run it begins, and what it says of the run."""

    text: str
    start: int
    weight: float


def weigh_grams(run: str) -> list[Gram]:
    """Return the grams of a run of unsegmented text.

    Single characters: ideographs, and any that stands alone. Pairs: of one script, of an ideograph
    with hiragana behind it, and of a polite prefix with its kanji. Triples: of hiragana or letters.
    """
    scripts, starts = _find_grams(code_points(f"\n{run}\n"))
    grams = []
    for length, places in enumerate(starts, 1):
        for at in places.tolist():
            weight = UNIGRAM_WEIGHT if length == 1 else TRIGRAM_WEIGHT
            if length == 2:
                first, second = scripts[at : at + 2].tolist()
                weight = _PAIR_WEIGHTS[first] if first == second else _SEAM_WEIGHT
                # Two characters by themselves are a word to whoever wrote them so.
                weight = WORD_WEIGHT if len(run) == 2 else weight
            grams.append(Gram(run[at - 1 : at - 1 + length], at - 1, weight))
    return grams


def hash_gram(gram: str) -> int:
    """Return the 29-bit hash of a gram of one to three characters."""
    packed = sum(ord(char) << _BITS * at for at, char in enumerate(gram))
    return (packed * _MULTIPLIER & 0xFFFFFFFFFFFFFFFF) >> _SHIFT


def hash_grams(codes: Array) -> tuple[Array, Array, Array]:
    """Find the grams of `weigh_grams` in many texts at once.

    :param codes: code points (uint32) of texts, with a character of no unsegmented script
        between any two and at both ends.
    :returns: the hashes of the grams (uint64), where in `codes` each begins, and which of
        `codes` belong to a run (bool, of their shape).
    """
    import numpy as np

    scripts, starts = _find_grams(codes)
    wide = codes.astype(np.uint64)
    packed = [
        sum(wide[places + at] << np.uint64(_BITS * at) for at in range(length))
        for length, places in enumerate(starts, 1)
    ]
    with np.errstate(over="ignore"):
        hashes = np.concatenate(packed) * np.uint64(_MULTIPLIER) >> np.uint64(_SHIFT)
    return hashes, np.concatenate(starts), scripts > 0


def code_points(text: str) -> Array:
    """Return the code points of a text (uint32)."""
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _find_grams(codes: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    """Return how the script of each code point is read, and where grams of one, two and three of
    them begin."""
    import numpy as np

    scripts = script_table()[codes]
    runs = scripts > 0
    alone = np.zeros_like(runs)
    alone[1:-1] = runs[1:-1] & ~runs[:-2] & ~runs[2:]
    first, second = scripts[:-1], scripts[1:]
    same = first == second
    ending = (first == IDEOGRAPHS) & (second == HIRAGANA)
    polite = (codes == ord(_POLITE[0])) | (codes == ord(_POLITE[1]))
    prefix = polite[:-1] & (second == IDEOGRAPHS)
    light = (scripts == HIRAGANA) | (scripts == LETTERS)
    return scripts, (
        np.flatnonzero((scripts == IDEOGRAPHS) | alone),
        np.flatnonzero(runs[:-1] & (same | ending | prefix)),
        np.flatnonzero(light[:-2] & same[:-1] & same[1:]),
    )
