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
# Where ISO-2022-JP, which has no byte above ASCII, begins and ends a run of Japanese.
_ESCAPES = re.compile(rb"\x1b\$[@B][^\x1b]*\x1b\([BJ]")
_HIGH = re.compile(r"[^\x00-\x7f]+")
# What a right reading consists of above ASCII: kana, ideographs and full-width marks; in Western
# text one or two letters beside others, one alone, and marks. Half-width kana are none of it, since
# any byte from A1 to DF reads so.
_JAPANESE = re.compile("[\u2000-\u30ff\u4e00-\u9fff\uff01-\uff5e]")
_LETTERS = "À-ÖØ-öø-þŠšŽžŒœ"
_WESTERN = re.compile(
    rf"(?<=[A-Za-z])[{_LETTERS}]{{1,2}}(?![{_LETTERS}])"
    rf"|(?<![{_LETTERS}])[{_LETTERS}]{{1,2}}(?=[A-Za-z])"
    rf"|(?<![^\x00-\x7f])[{_LETTERS}](?![^\x00-\x7f])"
    "|[“”„‘’–—…•€«»°§´¿¡\xa0©®™²³µ·]"
)
_READINGS = {  # of equally good ones the first
    "cp1252": ("Windows-1252", _WESTERN),
    "cp932": ("Shift_JIS", _JAPANESE),
    "euc_jp": ("EUC-JP", _JAPANESE),
}
_PLAUSIBLE = 0.7


def decode_other(raw: bytes) -> tuple[str, str] | None:
    """Decode bytes that are no UTF-8, or ASCII with escapes; return the text and the name of its
    encoding, `None` where nothing tells what it is. Bytes that have no meaning in the encoding are
    replaced by U+FFFD."""
    if raw.isascii():
        escaped = raw.decode("iso2022_jp_ext", "replace")
        return (escaped, "ISO-2022-JP") if _ESCAPES.search(raw) else None
    encoding = _encoding(_LONG_ASCII.sub(rb"\1\n", raw)[:_SAMPLE])
    if not encoding:
        return None
    name, _ = _READINGS.get(encoding, (encoding, None))
    return raw.decode(encoding, "replace"), name


def _encoding(sample: bytes) -> str:
    scores = {name: _plausibility(sample, name) for name in _READINGS}
    best = max(scores, key=scores.__getitem__)
    if scores[best] >= _PLAUSIBLE:
        return best
    text = sample.decode("utf-8", "replace")
    is_damaged_utf8 = sum(map(len, _HIGH.findall(text))) > 2 * text.count("\ufffd")
    return "" if is_damaged_utf8 else _guess(sample)


def _plausibility(sample: bytes, encoding: str) -> float:
    """Return how much of what is above ASCII is what a right reading has there; 0 where bytes have
    no meaning."""
    is_cut = len(sample) >= _SAMPLE  # within a character perhaps
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample, final=not is_cut)
    except UnicodeDecodeError:
        return 0.0
    _, expected = _READINGS[encoding]
    return sum(map(len, expected.findall(text))) / max(sum(map(len, _HIGH.findall(text))), 1)


def _guess(sample: bytes) -> str:
    if sum(byte > 0x7F for byte in sample) < _FEWEST:
        return ""
    from charset_normalizer import from_bytes

    match = from_bytes(sample[:_GUESSED]).best()
    return match.encoding if match else ""
