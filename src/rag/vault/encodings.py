"""Text that is no UTF-8: which encoding its bytes are in.

Japanese and Western text is told by what its readings give; `charset_normalizer`, which misreads
one short line of Japanese in 20, is asked about all other text, and imported for that alone.
"""

from __future__ import annotations

import codecs
import re

_SAMPLE = 100_000  # bytes that are looked at
_GUESSED = 20_000  # bytes that the library is given, which takes its time
_LONG_ASCII = re.compile(rb"([\x00-\x7f])[\x00-\x7f]{200,}")
_FEWEST = 8  # bytes above ASCII by which the library can tell anything
_NAMES = {"cp932": "Shift_JIS", "euc_jp": "EUC-JP", "cp1252": "Windows-1252"}
_PLAUSIBLE = 0.4
# Where ISO-2022-JP, which has no byte above ASCII, begins and ends a run of Japanese.
_ESCAPES = re.compile(rb"\x1b\$[@B][^\x1b]*\x1b\([BJ]")
_HIGH = re.compile(r"[^\x00-\x7f]+")
_LETTERS = "À-ÖØ-öø-þŠšŽžŒœ"
# How much runs of characters above ASCII tell of a right reading: kana and full-width marks;
# ideographs; in Western text one or two letters beside others, one alone, or a mark; half-width
# kana tell against it, since any byte from A1 to DF reads so; other marks tell a little.
_WEIGHTS = (
    (re.compile("[\u3000-\u30ff\uff01-\uff5e]"), 1.0),
    (re.compile("[\u4e00-\u9fff]"), 0.45),
    (re.compile("[\uff61-\uff9f]"), -1.0),
    (
        re.compile(
            rf"(?<=[A-Za-z])[{_LETTERS}]{{1,2}}(?![{_LETTERS}])"
            rf"|(?<![{_LETTERS}])[{_LETTERS}]{{1,2}}(?=[A-Za-z])"
            rf"|(?<![^\x00-\x7f])[{_LETTERS}](?![^\x00-\x7f])"
        ),
        0.9,
    ),
    (re.compile("[“”„‘’–—…•€«»°§´¿¡\xa0©®™²³µ·]"), 0.5),
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
    scores = {name: _plausibility(sample, name) for name in _NAMES}
    best = max(scores, key=lambda name: scores[name])
    if scores[best] >= _PLAUSIBLE:
        return best
    text = sample.decode("utf-8", "replace")
    is_damaged_utf8 = sum(map(len, _HIGH.findall(text))) > 2 * text.count("\ufffd")
    return "" if is_damaged_utf8 else _guess(sample)


def _plausibility(sample: bytes, encoding: str) -> float:
    """Return how much what is above ASCII is like text in a reading of it, from -1 to 1."""
    is_cut = len(sample) >= _SAMPLE  # within a character perhaps
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample, final=not is_cut)
    except UnicodeDecodeError:
        return -1.0
    left = "".join(_HIGH.findall(text))
    size, score = len(left), 0.0
    for pattern, weight in _WEIGHTS:
        count = sum(map(len, pattern.findall(text)))
        score += weight * count
        text = pattern.sub(" ", text)
    rest = sum(map(len, _HIGH.findall(text)))
    return (score + _OTHER * rest) / max(size, 1)


def _guess(sample: bytes) -> str:
    if sum(byte > 0x7F for byte in sample) < _FEWEST:
        return ""
    from charset_normalizer import from_bytes

    match = from_bytes(sample[:_GUESSED]).best()
    return match.encoding if match else ""
