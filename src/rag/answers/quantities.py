"""Numbers with their units, so that 5 days are not 5 hours and 24 hours are a day.

A quantity has a dimension ("time", "euro", "clock", "" for a mere count) and a value in the
dimension's base unit. Months and years are a dimension of their own, since their days vary.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rag.support.month_names import DAY_OF, MONTH, month_number
from rag.text.tokenizer import cleaned

# dimension: (how many base units, the unit's names in normal form)
_UNITS: dict[str, tuple[tuple[float, str], ...]] = {
    "time": (
        (0.001, "ms msec millisecond milliseconds ミリ秒"),
        (1, "s sec secs second seconds 秒間 秒"),
        (60, "min mins minute minutes 分間 分"),
        (3600, "h hr hrs hour hours 時間"),
        (86400, "d day days 日間 日"),
        (604800, "wk week weeks 週間 週"),
    ),
    "months": (
        (1, "month months か月間 ヶ月間 か月 ヶ月 ヵ月 カ月 ケ月 箇月"),
        (12, "yr yrs year years 年間 年"),
    ),
    "euro": ((1, "€ eur euro euros ユーロ"),),
    "dollar": ((1, "$ usd dollar dollars ドル"),),
    "pound": ((1, "£ gbp ポンド"),),
    "yen": ((1, "¥ jpy yen 円"),),
    "cent": ((1, "cent cents セント"),),
    "percent": ((1, "% percent パーセント"),),
    "bytes": (
        (1, "byte bytes バイト"),
        (1e3, "kb kilobytes キロバイト"),
        (1e6, "mb megabytes メガバイト"),
        (1e9, "gb gigabytes ギガバイト"),
        (1e12, "tb terabytes テラバイト"),
    ),
    "rate": ((1e3, "kbps"), (1e6, "mbps"), (1e9, "gbps")),
    "length": (
        (0.001, "mm millimetres millimeters ミリ"),
        (0.01, "cm centimetres centimeters センチ"),
        (1, "m metre metres meter meters メートル"),
        (1000, "km kilometre kilometres kilometer kilometers キロメートル"),
        (1609.344, "mile miles マイル"),
    ),
    "area": ((1, "m2 平方メートル"),),
    "mass": (
        (0.001, "mg"),
        (1, "g gram grams グラム"),
        (1000, "kg kilo kilos kilogram kilograms キログラム"),
    ),
    "volume": (
        (0.001, "ml millilitres milliliters ミリリットル"),
        (1, "l litre litres liter liters リットル"),
    ),
    "warmth": ((1, "°c °f ° degrees 度"),),
    "power": ((1, "w watts ワット"), (1e3, "kw キロワット")),
    "frequency": ((1, "hz"), (1e6, "mhz"), (1e9, "ghz")),
}
_NAMES = {
    name: (dimension, factor)
    for dimension, sizes in _UNITS.items()
    for factor, names in sizes
    for name in names.split()
}
_SPACED = "|".join(sorted((n for n in _NAMES if n[0] < "\u3000"), key=len, reverse=True))
_WIDE = "|".join(sorted((n for n in _NAMES if n[0] >= "\u3000"), key=len, reverse=True))
_UNIT = rf"(?:[ \t-]?(?P<unit>{_SPACED})(?![a-z0-9])|[ \t]?(?P<wide>{_WIDE}))"
_SMALL_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL, _TENS = _SMALL_WORDS.split(), _TENS_WORDS.split()
_WORDS = {word: number for number, word in enumerate(_SMALL)}
_WORDS |= {word: 10 * number for number, word in enumerate(_TENS, 2)}
_WORDS |= {"once": 1, "twice": 2, "first": 1, "second": 2, "third": 3, "fourth": 4}
_WORDS |= {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_KANJI = {char: number for number, char in enumerate("〇一二三四五六七八九")}
_POWERS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10_000, "億": 100_000_000}
_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,]*\d)|\d+(?:\.\d+)*"
_SIGN = r"(?:(?<![\w.,])-|minus |マイナス|氷点下)"
_PATTERN = re.compile(
    rf"(?P<iso>\b\d{{4}}-\d\d?-\d\d?\b)"
    rf"|\b(?P<d1>\d{{1,2}}){DAY_OF}(?P<m1>{MONTH})\b"
    rf"|\b(?P<m2>{MONTH}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)"
    rf"|(?P<m3>\d{{1,2}})月(?P<d3>\d{{1,2}})日|(?P<m4>\d{{1,2}})月(?!間)"
    rf"|\b(?P<month>(?!(?:may|march|mars)\b)(?:{MONTH})"
    r"|(?<=\bin )(?:may|march)|(?<=from )(?:may|march)|(?<=\bof )(?:may|march)"
    r"|(?<=and )(?:may|march)|(?<=ntil )(?:may|march)|(?<=\bto )(?:may|march))\b"
    rf"|(?P<half>午前|午後|朝の?|夜の?)?(?P<h1>\d{{1,2}})時(?!間)"
    rf"(?:(?P<q1>\d{{1,2}})分|(?P<q2>半))?"
    rf"|\b(?P<h2>\d{{1,2}})[:.](?P<q3>\d\d)(?: ?(?P<am1>[ap])\.?m\b\.?)"
    rf"|\b(?P<h3>\d{{1,2}}):(?P<q4>\d\d)\b"
    rf"|\b(?P<h4>\d{{1,2}}) ?(?P<am2>[ap])\.?m\b\.?"
    rf"|(?P<before>[$€£¥])[ ]?(?P<priced>{_DIGITS})"
    rf"|(?P<place>\b(?:week|day|month|year|page|section|chapter) )(?P<placed>\d+)\b"
    rf"|(?P<nth>\b\d+(?:st|nd|rd|th)\b|第[〇一二三四五六七八九十\d]+|\d+(?:週目|日目|番目|回目))"
    rf"|(?P<sign>{_SIGN})?(?:(?P<mixed>(?:(?:{_DIGITS})[万億千百])+(?:{_DIGITS})?)"
    rf"|(?P<kanji>(?!一度)[一二三四五六七八九十百千万億〇]{{1,12}})"
    rf"(?={_WIDE}|[個人冊枚回度台本件名つ階歳匹倍割時月]|以)"
    rf"|(?P<digits>(?<![a-z_])(?:{_DIGITS}))(?!\w*[a-z_]\d)"
    rf"|\b(?P<words>(?:{'|'.join(_TENS)})[ -](?:{'|'.join(_SMALL[1:10])})"
    rf"|(?:{'|'.join(_SMALL[1:])} )?(?:hundred|thousand|million)|{'|'.join(_WORDS)})\b){_UNIT}?"
)
_MIN = re.compile(
    r"(?:at least|no less than|not less than|minimum(?: of)?|more than|over|above|exceed(?:s|ing)?"
    r"|from|after|since|starting(?: on| in)?|最低|最小)(?: about| the)? ?$"
)
_MAX = re.compile(
    r"(?:at most|up to|no more than|not more than|maximum(?: of)?|less than|fewer than|under|below"
    r"|within|until|till|before|最大|最高|最長)(?: about| the)? ?$"
)
_MIN_AFTER = re.compile(
    r"\s?(?:or more|and more|and over|at least|minimum|later|after|onwards?|以上|以降|超"
    r"|を超|より[多大長高]|後|から|過ぎ)"
)
_MAX_AFTER = re.compile(
    r"\s?(?:or less|or fewer|at most|maximum|earlier|before|以下|未満|以内|まで|より[少小短低]|前)"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number: its `value` in the base unit of its `dimension`, and as it is written.

    :param bound: 1 for "at least", "after" and the like, -1 for "at most", "before", else 0.
    :param loose: a small number in words, such as "one", which need not be a count.
    """

    value: float
    dimension: str
    written: float
    start: int
    end: int
    bound: int = 0
    loose: bool = False

    def agrees(self, other: Quantity) -> bool:
        """Return whether it may say the same as another: where one has no unit, the number has
        to do."""
        if self.bound * other.bound < 0:
            return False
        if self.dimension and other.dimension:
            same = self.dimension == other.dimension
            return same and abs(self.value - other.value) <= 1e-6 * abs(other.value)
        return self.written == other.written


@lru_cache(maxsize=4096)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the quantities of a text in normal form (`cleaned`), in their order."""
    read: list[Quantity] = []
    for match in _PATTERN.finditer(text):
        start, end = match.span()
        before, after = text[max(0, start - 24) : start], text[end : end + 12]
        bound = int(bool(_MIN.search(before) or _MIN_AFTER.match(after)))
        bound = -1 if _MAX.search(before) or _MAX_AFTER.match(after) else bound
        for value, dimension, written in _read(match):
            loose = bool(match["words"] or match["kanji"]) and written <= 2 and not dimension
            read.append(Quantity(value, dimension, written, start, end, bound, loose))
    return tuple(read)


def without_quantities(text: str) -> str:
    """Return a text in normal form with a space in the place of each quantity."""
    parts, at = [], 0
    for quantity in quantities(text):
        parts.append(text[at : quantity.start])
        at = max(at, quantity.end)
    return " ".join([*parts, text[at:]])


def read_quantities(text: str) -> tuple[Quantity, ...]:
    """Return the quantities of any text."""
    return quantities(cleaned(text))


def _read(match: re.Match[str]) -> Iterator[tuple[float, str, float]]:
    """Yield value, dimension and number of what a match holds: a date has several."""
    of = match.groupdict()
    if iso := of["iso"]:
        year, month, day = map(int, iso.split("-"))
        yield from ((year, "", year), *_date(month, day))
    elif month_name := of["m1"] or of["m2"]:
        yield from _date(month_number(month_name), int(of["d1"] or of["d2"]))
    elif of["m3"]:
        yield from _date(int(of["m3"]), int(of["d3"]))
    elif of["m4"] or of["month"]:
        month = int(of["m4"]) if of["m4"] else month_number(of["month"])
        yield month, "month", month
    elif hour := of["h1"] or of["h2"] or of["h3"] or of["h4"]:
        yield _clock(match, int(hour))
    elif of["placed"]:
        yield float(of["placed"]), f"nth {of['place'].strip()}", float(of["placed"])
    elif nth := of["nth"]:
        number = re.search(r"\d+", nth)
        value = int(number[0]) if number else _kanji_value(nth[1:])
        yield value, "nth week" if nth.endswith("週目") else "", value
    else:
        yield _measured(match)


def _date(month: int, day: int) -> tuple[tuple[float, str, float], ...]:
    return (month, "month", month), (day, "day of month", day)


def _clock(match: re.Match[str], hour: int) -> tuple[float, str, float]:
    minute = int(match["q1"] or match["q3"] or match["q4"] or (30 if match["q2"] else 0))
    half = match["am1"] or match["am2"] or (match["half"] or "")[:2]
    if half in ("p", "午後", "夜", "夜の") and hour < 12:
        hour += 12
    return 60 * hour + minute, "clock", hour


def _measured(match: re.Match[str]) -> tuple[float, str, float]:
    if match["priced"]:
        name = match["before"]
        number = _value(match["priced"])
    else:
        name = match["unit"] or match["wide"] or ""
        if match["digits"]:
            number = _value(match["digits"])
        elif match["words"]:
            number = _word_value(match["words"])
        else:
            number = _kanji_value(match["mixed"] or match["kanji"])
    if match["sign"]:
        number = -number
    dimension, factor = _NAMES.get(name, ("", 1))
    if dimension == "months" and factor == 12 and number >= 1000:
        return number, "", number  # 2022年 is a year, not a length of time
    return number * factor, dimension, number


def _value(digits: str) -> float:
    """Return a number; of a version or an address, a number that only the same one has."""
    digits = digits.replace(",", "")[:40]
    if digits.count(".") > 1:
        return zlib.crc32(digits.encode()) + 0.5
    return float(digits)


def _word_value(words: str) -> float:
    total = 0
    for word in re.split("[ -]", words):
        number = _WORDS[word]
        total = (total or 1) * number if number >= 100 else total + number
    return total


def _kanji_value(run: str) -> float:
    """`九十` is 90, `6万4千` 64000, `二〇二五` 2025."""
    if not set(run) & {*_POWERS, *_MYRIADS}:
        return float("".join(str(_KANJI.get(char, char)) for char in run[:18] if char != ",") or 0)
    whole = total = 0.0
    digits = ""
    for char in run.replace(",", ""):
        if char in _MYRIADS:
            whole += (total + float(digits or 0) or 1) * _MYRIADS[char]
            total, digits = 0.0, ""
        elif char in _POWERS:
            total += float(digits or 1) * _POWERS[char]
            digits = ""
        else:
            digits += str(_KANJI.get(char, char))
    return whole + total + float(digits or 0)
