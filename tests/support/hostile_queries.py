"""Queries made to take long: a family for each rule and step that a query passes.

    query("phrases of two words", 4_000, STOCK)

They are the same every time. Families are written by what they repeat, so that a query of any
length can be made, and twice the length should take twice the time.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import count, cycle, islice, product
from typing import NamedTuple


class Stock(NamedTuple):
    """What an index holds, of which queries are made.

    :param words: of a script with spaces, the most frequent first.
    :param runs: of a script without, the most frequent first.
    :param tags: at least one, and `titles` likewise.
    """

    words: list[str]
    runs: list[str]
    tags: list[str]
    titles: list[str]


_WORDS = "the of and note water cold deploy backup status review restore check kubernetes"
STOCK = Stock(
    words=_WORDS.split(),
    runs=["の", "設定", "証明書", "更新", "サーバー", "障害対応", "こと", "確認"],
    tags=["work", "meeting", "運用/監視"],
    titles=["Deploy checklist", "証明書の更新"],
)

_LETTERS = "etaoinshrdlucmfwypvbgkqjxz"
_ACUTE, _BELOW = "\u0301", "\u0316"  # of two classes, which a normal form puts in order
_FAMILY = (
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"  # one emoji of seven characters
)
_DATES = (
    "2024-05-03 2024/5/3 2024.05.03 14/03/2025 May 3rd 2024 3–5 May May 2024 last week yesterday"
    " 3 days ago Q3 2025 last summer the last week of May 2024 older than 3 weeks 2024年5月3日"
    " 先週 3日前 去年の8月 先週の月曜 5月3日〜5日 過去3か月 第3四半期 最近 年末"
)

Family = Callable[[Stock, int], str]


def _said(pieces: Iterable[str], length: int, joint: str = " ") -> str:
    """Return pieces, again and again, until there is enough of them."""
    found: list[str] = []
    size = 0
    for piece in pieces:
        found.append(piece)
        size += len(piece) + len(joint)
        if size > length:
            break
    return joint.join(found)[:length]


def _again(text: str) -> Family:
    """Return the family of a text that is repeated."""
    return lambda stock, length: (text * (length // len(text) + 1))[:length]


def _each(make: Callable[[Stock], Iterator[str]], joint: str = " ") -> Family:
    """Return the family of different pieces, one after the other."""
    return lambda stock, length: _said(make(stock), length, joint)


def _beginnings() -> Iterator[str]:
    for letters in range(2, 4):
        yield from map("".join, product(_LETTERS, repeat=letters))


def _pairs(words: list[str]) -> Iterator[str]:
    for step in count(1):
        yield from (
            f"{a} {b}" for a, b in zip(words, words[step % len(words) :] + words, strict=False)
        )


def _slips(words: list[str]) -> Iterator[str]:
    """Yield long words of the index with two letters of each changed, all of them different."""
    long = [word for word in words if len(word) > 6 and word.isascii()] or ["kubernetes"]
    for letter, word in product(_LETTERS, long):
        for at in range(1, len(word) - 2):
            yield f"{word[:at]}{letter}{word[at + 1 : -1]}{letter}"


def _unknown() -> Iterator[str]:
    yield from (f"zq{a}{b}{c}xv" for a, b, c in product(_LETTERS, repeat=3))


def _characters(first: int, last: int) -> Iterator[str]:
    yield from cycle(map(chr, range(first, last)))


def _katakana() -> Iterator[str]:
    kana = [chr(code) for code in range(0x30AB, 0x30EE)]
    yield from (a + b + c + "ー" for a, b, c in product(kana, repeat=3))


def _nested(opens: str, closes: str) -> Family:
    def make(stock: Stock, length: int) -> str:
        deep = length // (len(opens) + len(closes))
        return opens * deep + closes * deep

    return make


FAMILIES: dict[str, Family] = {
    # the syntax
    "phrases of two words": _each(lambda s: (f'"{pair}"' for pair in _pairs(s.words))),
    "phrases of one word": _each(lambda s: (f'"{w}"' for w in cycle(s.words))),
    "phrases of frequent words": _each(lambda s: (f'"the {w}"' for w in cycle(s.words))),
    "phrases of pairs": _each(lambda s: (f'"{r}"' for r in cycle(s.runs))),
    "phrases of one character": _each(lambda s: (f'"{c}"' for c in _characters(0x4E00, 0x5E00))),
    "a phrase of 4,000 letters": lambda s, n: f'"{_said(cycle(s.words), n - 2)}"',
    "a phrase of 4,000 kanji": lambda s, n: f'"{_said(cycle(s.runs), n - 2, "")}"',
    "phrases without": _each(lambda s: (f'-"{pair}"' for pair in _pairs(s.words))),
    "characters without": _each(lambda s: (f"-{c}" for c in _characters(0x4E00, 0x5E00))),
    "words without": _each(lambda s: (f"-{w}" for w in cycle(s.words))),
    "unknown words without": _each(lambda s: (f"-{w}" for w in _unknown())),
    "a long run without": lambda s, n: f"-{_said(cycle(s.runs), n - 1, '')}",
    "beginnings": _each(lambda s: (f"{b}*" for b in _beginnings())),
    "beginnings of one word": _each(lambda s: (f"{w[:2]}*" for w in cycle(s.words))),
    "beginnings without": _each(lambda s: (f"-{b}*" for b in _beginnings())),
    "Japanese beginnings": _each(lambda s: (f"{r}*" for r in cycle(s.runs))),
    "Japanese beginnings without": _each(lambda s: (f"-{r}*" for r in cycle(s.runs))),
    "tags": _each(lambda s: (f"tag:{w}" for w in cycle([*s.tags, *s.words]))),
    "tags without": _each(lambda s: (f"-tag:{w}" for w in cycle([*s.words, *s.tags]))),
    "numbered tags": _each(lambda s: (f"tag:a{number}" for number in count())),
    "nested tags": _again("tag:a/b/c/d "),
    "a deep tag": lambda s, n: "tag:" + "a/" * (n // 2 - 2),
    "titles": _each(lambda s: (f"title:{w}" for w in cycle(s.words))),
    "letters in titles": _each(lambda s: (f"title:{a}{b}" for a, b in product(_LETTERS, repeat=2))),
    "titles without": _each(lambda s: (f"-title:{a}{b}" for a, b in product(_LETTERS, repeat=2))),
    "paths": _each(lambda s: (f"path:{w}" for w in cycle(s.words))),
    "letters in paths": _each(lambda s: (f"path:{a}{b}" for a, b in product(_LETTERS, repeat=2))),
    "paths without": _each(lambda s: (f"-path:{a}{b}" for a, b in product(_LETTERS, repeat=2))),
    "patterns of paths": _each(lambda s: (f"path:*{b}*" for b in _beginnings())),
    "patterns without": _each(lambda s: (f"-path:*{b}*" for b in _beginnings())),
    "a pattern of stars": lambda s, n: "path:" + "*a" * (n // 2 - 4) + "b",
    "a pattern of double stars": lambda s, n: "path:" + "**/" * (n // 3 - 3) + "b",
    "a pattern of questions": lambda s, n: "path:" + "?" * (n - 6) + "*",
    "a pattern of any characters": lambda s, n: "path:" + "*?" * 12 + "b.md",
    "a long pattern of any characters": lambda s, n: "path:" + "*?" * (n // 2 - 4) + "b",
    "a pattern of folders": lambda s, n: "path:" + "*/**/" * 12 + "b",
    "a pattern of sets": lambda s, n: "path:*" + "[a-z]" * (n // 5 - 2),
    "vaults without": _each(lambda s: (f"vault:v{number}" for number in count())),
    "a title of 4,000 letters": lambda s, n: f'title:"{_said(cycle(s.words), n - 8)}"',
    # quotes, minus signs, brackets
    "quotes": _again('"'),
    "curly quotes that open": _again("“"),
    "low quotes": _again("„"),
    "quotes of all kinds": _again('“„＂”"'),
    "fields that open a quote": _again("tag:“"),
    "nested conditions": _nested('"tag:', '"'),
    "nested curly quotes": _nested("“", "”"),
    "quotes within quotes": _nested('"“', '”"'),
    "quoted conditions": _again('"“tag:a”" '),
    "minus signs": _again("-"),
    "minus signs apart": _again("- "),
    "minus and letter": _again("-a "),
    "stars": _again("*"),
    "word stars": _again("ab*cd* "),
    "brackets": _nested("(", ")"),
    "brackets that open": _again("(["),
    "corner brackets": _again("「"),
    "corner brackets in pairs": _again("「あ」"),
    "empty brackets": _again("( ) "),
    "apostrophes": _again("'a "),
    "possessives": _again("it's "),
    "hashes": _again("#"),
    "hash tags": _each(lambda s: (f"#{w}" for w in cycle([*s.words, *s.tags]))),
    "unknown hash tags": _each(lambda s: (f"#{w}" for w in _unknown())),
    "colons": _again(":"),
    "commas": _again(","),
    "Japanese commas": _again("、"),
    "white space": _again(" "),
    "ideographic space": _again("\u3000"),
    "new lines": _again("a\n"),
    "control characters": _again("\x01\x1f"),
    # words
    "one letter": _again("a"),
    "one word": lambda s, n: (s.words[-1] * (n // len(s.words[-1]) + 1))[:n],
    "words of the index": _each(lambda s: cycle(s.words)),
    "unknown words": _each(lambda s: _unknown()),
    "misspelt words": _each(lambda s: _slips(s.words)),
    "one misspelt word": lambda s, n: _said(_slips(s.words), n, ""),
    "long misspelt words": _each(lambda s: (slip * 6 for slip in _slips(s.words))),
    "runs of the index": _each(lambda s: cycle(s.runs), ""),
    "kanji": _each(lambda s: _characters(0x4E00, 0x5E00), ""),
    "kanji apart": _each(lambda s: _characters(0x4E00, 0x5E00)),
    "hiragana": _each(lambda s: _characters(0x3041, 0x3096), ""),
    "katakana": _each(lambda s: _characters(0x30A1, 0x30FA), ""),
    "katakana words": _each(lambda s: _katakana()),
    "katakana words in a row": _each(lambda s: _katakana(), "の"),
    "half-width kana": _again("ﾌﾟﾗｸﾞｲﾝ"),
    "question words": _again("とは何ですかどこでいつ"),
    "Hangul": _each(lambda s: _characters(0xAC00, 0xBC00), ""),
    "conjoining Hangul": _again("\u1112\u1161\u11ab"),
    "Thai": _again("ภาษาไทย"),
    "Devanagari": _again("हिन्दी "),
    "Arabic ligature": _again("\ufdfa"),  # eighteen characters in normal form
    "mixed scripts": _again("aあ漢ア1я"),
    "digits": _again("1234567890"),
    "numbers": _each(lambda s: map(str, count())),
    "dotted numbers": _again("1.2."),
    "combining marks": _again("a" + _ACUTE * 40),
    "one letter with marks": lambda s, n: "a" + (_ACUTE + _BELOW) * (n // 2 - 1),
    "marks alone": lambda s, n: (_ACUTE + _BELOW) * (n // 2),
    "voiced marks": _again("か\u3099\u309a"),
    "marks in brackets": lambda s, n: "[" + "a" + (_ACUTE + _BELOW) * (n // 2 - 2),
    "quoted marks": lambda s, n: '"a' + (_ACUTE + _BELOW) * (n // 2 - 2) + '"',
    "emoji": _again(_FAMILY),
    "flags": _again("\U0001f1ef\U0001f1f5"),
    "zero width": _again("a\u200b"),
    "right to left": _again("שלום "),
    "Turkish letters": _again("İI"),
    "sharp s": _again("ß"),
    "halves of characters": _again("\udc80"),
    "symbol words": _again("c++ c# "),
    "plus signs": _again("c+"),
    "addresses": _again("https://example.com/a?b=c#d&e "),
    "one address": lambda s, n: "https://example.com/" + "a/" * (n // 2 - 10),
    "mail addresses": _again("a@b.c "),
    "patterns": _again("(a+)+$|[^]]* "),
    "paths of files": _again("/usr/lib/a.md "),
    "JSON": _nested('{"a":[', "]}"),
    "Markdown": _again("**[[a|b]]** `c` "),
    # what the planner reads
    "from last month": _again("from last month "),
    "not from last month": _again("not from last month "),
    "dates": lambda s, n: _again(f"{_DATES} ")(s, n),
    "notes from dates": lambda s, n: f"notes {_again(f'from {_DATES} ')(s, n - 6)}",
    "days in ISO": _each(lambda s: (f"2024-{1 + n % 12:02}-{1 + n % 28:02}" for n in count())),
    "spans of days": _again("between 2024-05-03 and "),
    "days without years": _again("May 3 "),
    "days ago": _each(lambda s: (f"{n % 999} days ago" for n in count())),
    "days in Japanese": _again("2024年5月3日"),
    "weekdays": _again("on monday "),
    "Japanese weekdays": _again("先週の月曜"),
    "kanji numbers": _again("二十三"),
    "months": _again("may "),
    "the end of": _again("the end of last month "),
    "untold times": _again("notes from the holidays "),
    "tagged": _again("tagged "),
    "tagged with unknown": _each(lambda s: (f"notes tagged {w}" for w in _unknown())),
    "tagged with misspelt": _each(lambda s: (f"notes tagged {w}" for w in _slips(s.words))),
    "a list of tags": lambda s, n: "notes tagged " + _said(cycle(s.tags), n - 13, ", "),
    "a list of any tags": lambda s, n: "notes tagged " + _said(cycle(s.tags), n - 13, " or "),
    "a list of unknown tags": lambda s, n: "notes tagged " + _said(_unknown(), n - 13, ", "),
    "words before tags": _each(lambda s: (f"with the {w} tag" for w in cycle(s.words))),
    "Japanese tags": _each(lambda s: (f"タグ{r}の" for r in cycle(s.runs)), ""),
    "Japanese tags behind": _each(lambda s: (f"{r}タグの" for r in cycle(s.runs)), ""),
    "quoted tags": _again("タグ「あ」の"),
    "vaults": _each(lambda s: (f"in my {w} vault" for w in cycle(s.words))),
    "vault": _again("vault "),
    "Japanese vaults": _each(lambda s: (f"{r}保管庫の" for r in cycle(s.runs)), ""),
    "titled notes": _each(lambda s: (f'the note "{w}"' for w in _slips(s.words))),
    "notes called": _each(lambda s: (f"note called {w}" for w in _slips(s.words))),
    "titles in brackets": _each(lambda s: (f"「{r}」というノート" for r in cycle(s.runs)), ""),
    "works of art": _again("昨日の世界という映画"),
    "という": _again("という"),
    "fields": _again("status: draft "),
    "fields that are": _again("with status "),
    "Japanese fields": _again("作者が佐藤の"),
    "written by": _each(lambda s: (f"notes by {w}" for w in cycle(s.words))),
    "due": _again("due on may 3 "),
    "negations": _again("not "),
    "not only": _again("not only "),
    "except": _again("except for the notes "),
    "Japanese negations": _again("以外ではない"),
    "fillers": _again("show me all my notes about "),
    "links": _again("and "),
    "notes": _again("notes "),
    "names": lambda s, n: _said(cycle(word.capitalize() for word in s.words), n, ", ") + " and C",
    "and": lambda s, n: _said(cycle(s.words), n, " and "),
    "questions": _again("who and what? "),
    "like": _again("something like notes "),
    "this": _again("this that it "),
    "what is": lambda s, n: "what is " + _said(cycle(s.words), n - 8),
    "とは": lambda s, n: _said(cycle(s.runs), n - 2, "") + "とは",
    "how many": _again("how many "),
    "particles": _again("のをはが"),
    "Japanese questions": _again("証明書の更新はいつですか？"),
}


def query(family: str, length: int, stock: Stock = STOCK) -> str:
    """Return a query of a family, at most so many characters long."""
    return FAMILIES[family](stock, length)[:length]


def fragments(stock: Stock = STOCK, length: int = 24) -> list[str]:
    """Return a piece of each family, to make other queries of."""
    return [*dict.fromkeys(query(family, length, stock) for family in FAMILIES)]


def stock_of(
    words: Iterable[str], runs: Iterable[str], tags: list[str], titles: list[str]
) -> Stock:
    """Return a stock of the first 400 different words and runs."""
    return Stock(
        [*islice(dict.fromkeys(words), 400)], [*islice(dict.fromkeys(runs), 400)], tags, titles
    )
