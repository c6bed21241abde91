"""Text that is no UTF-8: which encoding its bytes are in.

For Japanese and Western text that is decided here, by what a reading gives: of the
beginnings of Japanese lines, 2 to 200 characters long, less than one in 500 is misread, and by
`charset_normalizer` one in 20. It is asked about all other text, and imported for that alone.
"""

from __future__ import annotations

import codecs
import re

_SAMPLE = 100_000  # bytes that are looked at
_GUESSED = 20_000  # bytes that the library is given, which takes its time
_LONG_ASCII = re.compile(rb"([\x00-\x7f])[\x00-\x7f]{200,}")
_FEWEST = 8  # bytes above ASCII by which it can tell anything
_WESTERN = "cp1252"
_NAMES = {"cp932": "Shift_JIS", "euc_jp": "EUC-JP", _WESTERN: "Windows-1252"}
_PLAUSIBLE = 0.3
_SHORT = 20  # characters above ASCII; longer Japanese text has kana
# Where ISO-2022-JP, which has no byte above ASCII, begins and ends a run of Japanese.
_ESCAPES = re.compile(rb"\x1b\$[@B][^\x1b]*\x1b\([BJ]")
_HIGH = re.compile(r"[^\x00-\x7f]+")
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
# How much characters are like Japanese: kana and full-width marks, ideographs; half-width kana are
# not, since any byte from A1 to DF reads so; other marks are a little, and other letters are not.
_WEIGHTS = (
    (re.compile("[\u3000-\u30ff\uff01-\uff5e]"), 1.0),
    (re.compile("[\u4e00-\u9fff]"), 0.5),
    (re.compile("[\uff61-\uff9f]"), -1.0),
    (re.compile("[\u2000-\u2fff]"), 0.3),
)
_OTHER = -0.2


def decode_other(raw: bytes) -> tuple[str, str] | None:
    """Decode bytes that are no UTF-8, or ASCII with escapes; return the text and the name of its
    encoding, `None` where nothing tells what it is. Bytes that have no meaning in the encoding are
    replaced by U+FFFD."""
    if raw.isascii():
        escaped = raw.decode("iso2022_jp_ext", "replace")
        return (escaped, "ISO-2022-JP") if _ESCAPES.search(raw) else None
    encoding = _encoding(_LONG_ASCII.sub(rb"\1\n", raw)[:_SAMPLE])
    return (raw.decode(encoding, "replace"), _NAMES.get(encoding, encoding)) if encoding else None


def _encoding(sample: bytes) -> str:
    readings = {name: _strictly(sample, name) for name in ("cp932", "euc_jp")}
    best = max(readings, key=lambda name: _likeness(readings[name]))
    reading = readings[best] if _likeness(readings[best]) >= _PLAUSIBLE else ""
    if _KANA.search(reading):
        return best
    is_short = 0 < _count(_HIGH, reading) <= _SHORT
    # A curly quote and the letter behind it make a kanji, which stands within a word.
    if is_short and _APART.search(reading):
        return best
    text = sample.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    if _count(_HIGH, text) > 2 * wrong:  # damaged UTF-8
        return ""
    western = sample.decode(_WESTERN, "replace")
    if 2 * _count(_WORD_PART, western) > _count(_HIGH, western):
        return _WESTERN
    return best if is_short else _guess(sample)


def _count(pattern: re.Pattern[str], text: str) -> int:
    """Return how many characters of a text are in what a pattern matches."""
    return sum(map(len, pattern.findall(text)))


def _strictly(sample: bytes, encoding: str) -> str:
    is_cut = len(sample) >= _SAMPLE  # within a character perhaps
    try:
        return codecs.getincrementaldecoder(encoding)().decode(sample, final=not is_cut)
    except UnicodeDecodeError:
        return ""


def _likeness(text: str) -> float:
    """Return how much what is above ASCII in a text is like Japanese, from -1 to 1."""
    high = "".join(_HIGH.findall(text))
    counts = [(len(pattern.findall(high)), weight) for pattern, weight in _WEIGHTS]
    others = len(high) - sum(count for count, _ in counts)
    return (sum(count * weight for count, weight in counts) + _OTHER * others) / max(len(high), 1)


def _guess(sample: bytes) -> str:
    if sum(byte > 0x7F for byte in sample) < _FEWEST:
        return ""
    from charset_normalizer import from_bytes

    match = from_bytes(sample[:_GUESSED]).best()
    return match.encoding if match else ""
