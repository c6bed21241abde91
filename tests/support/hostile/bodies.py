"""Hostile bodies: Markdown, and text that is hard to normalise, to cut or to weigh."""

from collections.abc import Callable

from hostile.making import counted, repeated, size_of, word

_MARKS = "\u0301\u0323"  # of two classes, so that each must be sorted past the other


def _units(unit: str, head: str = "", tail: str = "") -> Callable[[int], str]:
    return lambda size: repeated(unit, size, head, tail)


def _counted(unit: Callable[[int], str], head: str = "", tail: str = "") -> Callable[[int], str]:
    return lambda size: counted(unit, size, head, tail)


def _halves(first: str, second: str) -> Callable[[int], str]:
    """Return the family of as much of one unit as of the other."""
    return lambda size: repeated(first, size // 2) + repeated(second, size // 2)


def _quoted_runs(size: int) -> str:
    """Return runs of backquotes of every length once: each may open and none closes."""
    return counted(lambda number: "`" * (number + 1) + "a", size)


def _path_of_headings(size: int) -> str:
    """Return six long headings, one below the other, and many paragraphs below them all."""
    long = "heading " * (size // 16 // 6 // 8)
    head = "".join(f"{'#' * level} {long}\n" for level in range(1, 7))
    return head + repeated("word " * 300 + "\n\n", size - size_of(head))


def _long_title(size: int) -> str:
    """Return a title of half the size, and many paragraphs below it."""
    return repeated("word " * 300 + "\n\n", size, f"# {'title ' * (size // 12)}\n")


def _many_headings_of_many_tags(size: int) -> str:
    """Return as many tags as headings: with each heading's chunk all tags are stored."""
    half = counted(lambda number: f"#t{number} ", size // 2)
    return half + "\n" + counted(lambda number: f"# h{number}\n", size - size_of(half) - 1)


FAMILIES: dict[str, Callable[[int], str]] = {
    "nested tag": _units("/a", "#a"),
    "nested tags": _counted(lambda n: f"#{word(n)}/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p "),
    "inline tags": _counted(lambda n: f"#t{n} "),
    "long tags": _counted(lambda n: f"#{word(n) * 100} "),
    "tags and headings": _many_headings_of_many_tags,
    "slashes of a tag": _units("/", "#a", "b"),
    "hashes": _units("#"),
    "hash words": _units("#a"),
    "headings": _units("# h\n"),
    "headings of six levels": _units("# a\n## b\n### c\n#### d\n##### e\n###### f\n"),
    "headings with text": _counted(lambda n: f"# {word(n)}\n\n{word(n + 1)}\n\n"),
    "setext headings": _units("h\n=\n\n"),
    "setext candidates": _units("h\n=\nh\n"),
    "long headings": _path_of_headings,
    "long title": _long_title,
    "closing hashes": _units("# a #\t"),
    "brackets": _units("["),
    "brackets and marks": _units("[a" + _MARKS),
    "brackets, open and closed": _halves("[", "]"),
    "wiki links": _counted(lambda n: f"[[{word(n)}]] "),
    "wiki link openings": _units("[["),
    "wiki link bars": _units("|", "[[a", "]]"),
    "wiki links never closed": _units("[[a|b\\|c"),
    "embeds": _units("![[a"),
    "links": _counted(lambda n: f"[a]({word(n)}.md) "),
    "link openings": _units("]("),
    "link openings, angled": _units("](<"),
    "link titles": _units('](a "'),
    "link spaces": _units(" ", "](a", "b"),
    "link escapes": _units("%41", "](", ".md)"),
    "inline link openings": _units("[a]("),
    "inline link in itself": _units("[a](b"),
    "bold": _units("**"),
    "bold openings": _units("**a "),
    "bold and strikes": _units("**a~~b==c__d "),
    "bold of one letter": _units("**a"),
    "stars": _units("*"),
    "underscores": _units("__ a"),
    "equal signs": _units("=="),
    "backquotes": _units("`"),
    "backquotes of all lengths": _quoted_runs,
    "backquotes apart": _units("` "),
    "backquotes and letters": _units("`a``b"),
    "backquotes on each line": _units("`a\n"),
    "fences never closed": _units("```\n~~~~\n", "`````\n"),
    "fences": _units("```\na\n```\n"),
    "fence openings": _counted(lambda n: "`" * (3 + n % 300) + "a\n"),
    "fence": _units("code and code\n", "```\n", "\n```\n"),
    "list marks": _units("- "),
    "list marks before a fence": _units("- ", "", "`"),
    "list numbers": _units("1. ", "", "``"),
    "quotes": _units("> "),
    "quoted fences": _units("> ```\n> a\nb\n"),
    "comment openings": _units("%%a\n"),
    "comments": _units("%% a %% b "),
    "html comment openings": _units("<!--"),
    "html comments and marks": _units("<!--%%`"),
    "block ids": _units(" ^a"),
    "block id spaces": _units(" ", "a", "^a b"),
    "block id letters": _units("a", "b ^", "!"),
    "table": _units("| a | b |\n", "| a | b |\n|---|---|\n"),
    "table rules": _units("|-"),
    "table rule of dashes": _units("-", "|a|\n|", "|x"),
    "table candidates": _units("|a|\n|-|\n\n"),
    "bars": _units("|"),
    "dashes": _units("-", "a\n"),
    "rules": _units("---\n"),
    "blank lines": _units("\n"),
    "lines of spaces": _units(" \n"),
    "spaces": _units(" ", "a", "b"),
    "tabs": _units("\t", "a", "b"),
    "letter": _units("a"),
    "letters and blank lines": _units("a\n\n"),
    "lines of a letter": _units("a\n"),
    "sentences of a letter": _units("a. "),
    "sentences": _units("ab. "),
    "form feeds": _units("\n\x0c"),
    "questions": _units("? "),
    "stops": _units("."),
    "stops and quotes": _units(".\""),
    "japanese stops": _units("。"),
    "japanese brackets": _units("。」"),
    "ellipses": _units("a.b"),
    "possessives": _units("'s"),
    "apostrophes": _units("a's "),
    "symbol words": _units("c++"),
    "sharps": _units("c#"),
    "new words": _counted(lambda n: f"{word(n)} "),
    "new short words": _counted(lambda n: f"{word(n)[:5]} "),
    "new words with accents": _counted(lambda n: f"{word(n)}é "),
    "new words of letters and digits": _counted(lambda n: f"{n * 2654435761 % 2**32:x}\n"),
    "new long words": _counted(lambda n: f"{word(n) * 12} "),
    "one word of new letters": _counted(word),
    "numbers": _counted(lambda n: f"{n * 2654435761 % 10**9},"),
    "digits": _units("0123456789"),
    "digits apart": _units("1 "),
    "punctuation": _units("!a"),
    "kanji": _counted(lambda n: chr(0x4E00 + n * 7919 % 20_000)),
    "kanji pairs": _counted(lambda n: chr(0x4E00 + n * 7919 % 20_000) * 2 + " "),
    "hiragana": _counted(lambda n: chr(0x3041 + n * 37 % 80)),
    "katakana words": _counted(lambda n: "".join(chr(0x30A1 + ord(c) % 80) for c in word(n)) + " "),
    "half-width kana": _units("ﾌﾟ"),
    "thai": _counted(lambda n: chr(0x0E01 + n * 31 % 46)),
    "hangul letters": _units("\u1100\u1161\u11a8"),
    "cyrillic": _counted(lambda n: "".join(chr(0x430 + ord(c) % 32) for c in word(n)) + " "),
    "emoji": _units("👩\u200d👩\u200d👧"),
    "private use": _counted(lambda n: chr(0xE000 + n * 31 % 6000)),
    "flags": _units("🇯🇵"),
    "ligatures": _units("\ufdfa"),
    "squared words": _units("㍿㌖"),
    "dotted capital i": _units("\u0130"),
    "combining marks": _units(_MARKS, "a"),
    "combining marks in a word": _units(_MARKS + "a"),
    "combining marks in a tag": _units(_MARKS, "#a"),
    "combining marks in a heading": _units(_MARKS, "# a"),
    "combining marks in a link": _units(_MARKS, "[[a", "]]"),
    "combining marks in a path": _units("%CC%81%CC%A3", "](a", ".md)"),
    "composing marks": _units("\u0f71\u0f72\u0f74", "a"),
    "tibetan": _units("\u0f73\u0f75\u0f81"),
    "zero-width": _units("\u200b"),
    "zero-width in a tag": _units("\u200b", "#a", "b"),
    "soft hyphens": _units("a\u00ad"),
    "controls": _units("\x07"),
    "escape sequences": _units("\x1b]"),
    "nul": _units("\0"),
    "carriage returns": _units("\r"),
    "line separators": _units("\u2028\u0085"),
    "ideographic spaces": _units("\u3000", "a", "b"),
    "ideographic space headings": _units("\u3000", "#", "\n"),
    "surrogate escapes": _units("\ufffd"),
    "arabic": _counted(lambda n: "".join(chr(0x621 + ord(c) % 26) for c in word(n)) + " "),
    "arabic points": _units("\u0628\u064b\u064c"),
    "html": _units("<div><p>"),
    "json": _counted(lambda n: f'{{"{word(n)}":[{n},{{"a":"b"}}]}},'),
    "base64": _counted(lambda n: f"{word(n)}{word(n + 7).upper()}/+" + "\n" * (n % 4 == 0)),
    "addresses": _counted(lambda n: f"https://{word(n)}.example/{n}?q={word(n + 9)}\n"),
}  # fmt: skip

FRAGMENTS = [
    "#", "# ", "## ", "#a/", "/", "[[", "]]", "![[", "](", "](<", ")", ">", '"', "|", "\\|", "%41",
    "`", "``", "```", "```\n", "~~~", "~~~\n", "**", "__", "~~", "==", "%%", "<!--", "-->", " ^a",
    "- ", "1. ", "> ", "|-", "---", "===", "\n", "\n\n", "\r", " ", "\t", "\u3000", "\u200b",
    "\u00ad", *_MARKS, "\u0f73", "\u1100\u1161", "ﾌﾟ", "\ufdfa", "日", "が", "カタ", "ก", "a", "B",
    "c++", "c#", "'s", "é", "1", ". ", "。", "」", "!", "\0", "\x1b[", "\u2028", "\ufffd", ".md",
]  # fmt: skip
