"""Text that is no UTF-8: which encoding its bytes are in.

For Japanese and Western text that is decided here, by what a reading gives: of the
beginnings of Japanese lines, 2 to 200 characters long, less than one in 500 is misread, and by
`charset_normalizer` one in 20. It is asked about all other text, and imported for that alone.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

_SAMPLE = 100_000  # bytes that are looked at
_GUESSED = 20_000  # bytes that the library is given, which takes its time
_LONG_ASCII = re.compile(rb"([\x00-\x7f])[\x00-\x7f]{200,}")
_FEWEST = 8  # bytes above ASCII by which it can tell anything
_JAPANESE = {"cp932": "Shift_JIS", "euc_jp": "EUC-JP"}
_WESTERN = "cp1252"
_PLAUSIBLE = 0.3
_SHORT = 20  # characters above ASCII; longer Japanese text has kana
_LEVEL_1 = b"\x98\x72"  # the last, in Shift_JIS, of the kanji that are in daily use
# Where ISO-2022-JP, which has no byte above ASCII, begins and ends a run of Japanese.
_ESCAPES = re.compile(rb"\x1b\$[@B][^\x1b]*\x1b\([BJ]")
_HIGH = re.compile(r"[^\x00-\x7f]+")
_HALF_WIDTH = re.compile("[\uff61-\uff9f]{3,}")
_APART = re.compile(r"(?<![A-Za-z])[^\x00-\x7f]+(?![A-Za-z])")
_KANA = re.compile("[\u3040-\u30ff]")
_LETTERS = "À-ÖØ-öø-þŠšŽžŒœ"
# What stands in Western text above ASCII: one or two letters beside others, one alone, or a mark.
_WORD_PART = re.compile(
    rf"(?<=[A-Za-z])[{_LETTERS}]{{1,2}}(?![{_LETTERS}])"
    rf"|(?<![{_LETTERS}])[{_LETTERS}]{{1,2}}(?=[A-Za-z])"
    rf"|(?<![^\x00-\x7f])[{_LETTERS}](?![^\x00-\x7f])"
    "|[“”„‘’–—…•€«»°§´¿¡\xa0©®™²³µ·]"
)


class Decoded(NamedTuple):
    """A text, and the name of the encoding that it was in."""

    text: str
    encoding: str


def decode_other(raw: bytes) -> Decoded | None:
    """Decode bytes that are no UTF-8, or ASCII with escapes; `None` where nothing tells what they
    are. Bytes that have no meaning in the encoding are replaced by U+FFFD."""
    if raw.isascii():
        escaped = raw.decode("iso2022_jp_ext", "replace")
        return Decoded(escaped, "ISO-2022-JP") if _ESCAPES.search(raw) else None
    encoding = _encoding(_LONG_ASCII.sub(rb"\1\n", raw)[:_SAMPLE])
    if not encoding:
        return None
    name = "Windows-1252" if encoding == _WESTERN else _JAPANESE.get(encoding, encoding)
    return Decoded(raw.decode(encoding, "replace"), name)


def _encoding(sample: bytes) -> str:
    readings = {name: text for name in _JAPANESE if (text := _strictly(sample, name))}
    scores = {name: _likeness(text) for name, text in readings.items()}
    best = max(scores, key=scores.__getitem__, default="")
    reading = readings[best] if best and scores[best] >= _PLAUSIBLE else ""
    if _KANA.search(reading):
        return best
    is_short = 0 < len("".join(_HIGH.findall(reading))) <= _SHORT
    # A curly quote and the letter behind it make a kanji, which stands within a word.
    if is_short and _APART.search(reading):
        return best
    if _is_damaged_utf_8(sample):
        return ""
    if _is_western(sample.decode(_WESTERN, "replace")):
        return _WESTERN
    return best if is_short else _guess(sample)


def _is_damaged_utf_8(sample: bytes) -> bool:
    """Return whether most of what is above ASCII is UTF-8."""
    text = sample.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    return len("".join(_HIGH.findall(text))) - wrong > wrong


def _strictly(sample: bytes, encoding: str) -> str:
    is_cut = len(sample) >= _SAMPLE  # within a character perhaps
    try:
        return codecs.getincrementaldecoder(encoding)().decode(sample, final=not is_cut)
    except UnicodeDecodeError:
        return ""


def _likeness(text: str) -> float:
    """Return how much what is above ASCII in a text is like Japanese, from -1 to 1."""
    high = "".join(_HIGH.findall(text))
    half_width = sum(len(run) for run in _HALF_WIDTH.findall(text))
    return (sum(map(_weight, high)) + (1 + _PLAUSIBLE) * half_width) / max(len(high), 1)


def _weight(character: str) -> float:
    if "\u3000" <= character <= "\u30ff" or "\uff01" <= character <= "\uff5e":
        return 1  # kana, and the full-width marks
    if "\uff61" <= character <= "\uff9f":
        return -1  # half-width kana: any byte from A1 to DF reads so
    if "\u4e00" <= character <= "\u9fff":
        return 0.5 if b"\x80" < character.encode("shift_jis", "replace") <= _LEVEL_1 else -0.5
    return 0.3 if "\u2000" <= character <= "\u2fff" else -0.2  # arrows, bullets and other marks


def _is_western(text: str) -> bool:
    """Return whether most of what is above ASCII stands as it does in Western text."""
    expected = sum(len(part) for part in _WORD_PART.findall(text))
    return 2 * expected > len("".join(_HIGH.findall(text)))


def _guess(sample: bytes) -> str:
    if sum(byte > 0x7F for byte in sample) < _FEWEST:
        return ""
    from charset_normalizer import from_bytes

    found = from_bytes(sample[:_GUESSED]).best()
    return found.encoding if found else ""
