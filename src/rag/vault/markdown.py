"""One pass over the lines of a note: what each line is, and the headings, tags and links in it.

It knows as much of Markdown as search needs: code fences (also inside quotes and callouts),
tables, `%%` and HTML comments, ATX and setext headings. Its patterns are written not to
backtrack over a line, so its cost is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from enum import IntEnum
from urllib.parse import unquote

from rag.vault.frontmatter import FrontMatter

# A quote mark at the head of a line, any depth: callouts and quotes may hold fences.
_QUOTE = re.compile(r"[ ]{0,3}(?:>[ ]?)+")
# A fence may be indented or follow a list mark, since lists hold fences too.
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_ATX = re.compile(r"[ ]{0,3}(#{1,6})(?:[ \t\u3000]+(.*))?$")
_SETEXT = re.compile(r"[ ]{0,3}(=+|-+)[ \t]*$")
_NOT_A_PARAGRAPH = re.compile(r"[ ]{0,3}(?:[-*+>|#]|\d+[.)])|[ ]{4}|\t")
_TABLE_RULE = re.compile(r"[ ]{0,3}\|?[ ]*:?-+:?[ ]*(?:\|[ ]*:?-+:?[ ]*)*\|?$")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_COMMENT_OR_CODE = re.compile(_CODE_SPAN.pattern + "|%%|<!--")
# Zero-width characters and soft hyphens, which nobody means to be part of a tag.
INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
# A tag stands at the start of a line, after white space or after opening punctuation.
_TAG = re.compile(r"(?:^|(?<=[\s(\[（「『、。，]))#([\w/\-]+)", re.UNICODE)
_WIKI_LINK = re.compile(r"!?\[\[([^\[\]\n]+?)\]\]")
_MD_LINK = re.compile(r"\]\((?:<([^<>]+)>|([^()\s<>]+))(?:\s+\"[^\"]*\")?\)")


class Kind(IntEnum):
    """What a line is to the chunker."""

    BLANK = 0
    TEXT = 1
    HEADING = 2
    CODE = 3  # inside a closed fence, its fence lines included
    TABLE = 4


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: `line` counts from 0 in the file; `last_line` is its underline for setext."""

    level: int
    text: str
    line: int
    last_line: int


@dataclass(slots=True)
class Outline:
    """What a pass over the lines found; all line numbers count from 0 in the file.

    `fences` maps the first line of each closed fence to its last.
    """

    kinds: list[Kind]
    fences: dict[int, int] = field(default_factory=dict)
    headings: list[Heading] = field(default_factory=list)
    tags: dict[str, None] = field(default_factory=dict)
    links: dict[str, None] = field(default_factory=dict)


class _Comments:
    """Follows `%%…%%` and `<!--…-->` over line ends.

    One that is never closed is no comment, and neither is one inside a code span. A mark
    inside a fence is code and closes nothing.
    """

    def __init__(self, lines: list[str], kinds: list[Kind]) -> None:
        self._lines = lines
        self._kinds = kinds  # the fences must be marked already
        self._closing = ""
        # Marks known not to occur again: looking for them twice would cost a square.
        self._exhausted: set[str] = set()

    def strip(self, number: int) -> str:
        """Return what of a line stands outside comments; lines must come in order."""
        line = self._lines[number]
        if not self._closing and "%%" not in line and "<!--" not in line:
            return line
        kept, at = [], 0
        while True:
            if self._closing:
                end = line.find(self._closing, at)
                if end < 0:
                    break
                at = end + len(self._closing)
                self._closing = ""
            begin = at
            while (mark := _COMMENT_OR_CODE.search(line, at)) and mark[1]:
                at = mark.end()
            if not mark:
                kept.append(line[begin:])
                break
            closing = "%%" if mark[0] == "%%" else "-->"
            if line.find(closing, mark.end()) < 0 and not self._closed_below(closing, number):
                kept.append(line[begin:])
                break
            kept.append(line[begin : mark.start()])
            self._closing, at = closing, mark.end()
        return "".join(kept)

    def _closed_below(self, closing: str, number: int) -> bool:
        if closing in self._exhausted:
            return False
        for at in range(number + 1, len(self._lines)):
            if closing in self._lines[at] and self._kinds[at] != Kind.CODE:
                return True
        self._exhausted.add(closing)
        return False


def outline(lines: list[str], front: FrontMatter) -> Outline:
    """Read the body of a note, from the line after its front matter.

    :param lines: all lines of the file, without line ends.
    """
    found = Outline([Kind.BLANK] * len(lines), _closed_fences(lines, front.body_line))
    for begin, end in found.fences.items():
        found.kinds[begin : end + 1] = [Kind.CODE] * (end + 1 - begin)
    comments = _Comments(lines, found.kinds)
    for number in range(front.body_line, len(lines)):
        line = lines[number]
        if line and not line.isspace() and found.kinds[number] != Kind.CODE:
            _read_line(found, lines, number, comments.strip(number), front.body_line)
    return found


def _read_line(found: Outline, lines: list[str], number: int, text: str, first: int) -> None:
    found.kinds[number] = Kind.TEXT
    atx = _ATX.match(text) if "#" in text else None
    if atx:
        found.kinds[number] = Kind.HEADING
        title = _without_closing_hashes(atx[2] or "")
        found.headings.append(Heading(len(atx[1]), plain(title), number, number))
    elif "|" in text or (number > first and found.kinds[number - 1] == Kind.TABLE):
        _read_table_line(found, lines, number, text, first)
    elif "=" in text or "-" in text:
        _read_setext(found, lines, number, text, first)
    if "#" in text or "[" in text:
        _read_inline(found, text)


def _without_closing_hashes(title: str) -> str:
    title = title.rstrip(" \t")
    bare = title.rstrip("#")
    return bare if not bare or bare[-1] in " \t" else title


def _read_table_line(found: Outline, lines: list[str], number: int, text: str, first: int) -> None:
    if "|" in text and number > first and found.kinds[number - 1] == Kind.TABLE:
        found.kinds[number] = Kind.TABLE
    elif (
        "|" in text
        and number > first
        and found.kinds[number - 1] == Kind.TEXT
        and "|" in lines[number - 1]
        and _TABLE_RULE.match(_unquote(text).rstrip())
    ):
        found.kinds[number - 1] = found.kinds[number] = Kind.TABLE


def _read_setext(found: Outline, lines: list[str], number: int, text: str, first: int) -> None:
    underline = _SETEXT.match(text)
    if not underline or number == first or found.kinds[number - 1] != Kind.TEXT:
        return
    above = lines[number - 1]
    if (
        _NOT_A_PARAGRAPH.match(above)
        or (number - 1 > first and found.kinds[number - 2] == Kind.TEXT)
        or "%%" in above  # a comment, and no title
        or "-->" in above
    ):
        return
    found.kinds[number - 1] = found.kinds[number] = Kind.HEADING
    level = 1 if underline[1][0] == "=" else 2
    found.headings.append(Heading(level, plain(above), number - 1, number))


def _read_inline(found: Outline, text: str) -> None:
    # Paths and tags are NFC everywhere; a mark of its own would also end a tag.
    text = unicodedata.normalize("NFC", _CODE_SPAN.sub(" ", text))
    if "](" in text:
        for bracketed, bare in _MD_LINK.findall(text):
            path = unicodedata.normalize("NFC", unquote((bracketed or bare).partition("#")[0]))
            if path.lower().endswith(".md") and "://" not in path:
                found.links[path] = None
        text = _MD_LINK.sub("] ", text)  # [text](#heading) holds no tag
    if "[[" in text:
        for target in _WIKI_LINK.findall(text):
            note = re.split(r"\\?\||#", target, maxsplit=1)[0].strip()
            if note:
                found.links[note] = None
        text = _WIKI_LINK.sub(" ", text)  # [[Note#Heading]] holds no tag
    if "#" in text:
        for tag in _TAG.findall(INVISIBLE.sub("", text)):
            if not tag.replace("/", "").replace("-", "").isdigit() and tag.strip("/-_"):
                found.tags[tag.strip("/")] = None


def _unquote(line: str) -> str:
    quote = _QUOTE.match(line)
    return line[quote.end() :] if quote else line


def _closed_fences(lines: list[str], first: int) -> dict[int, int]:
    """Map the opening line of every closed fence to its closing line.

    A fence inside a quote ends with the quote. One that is never closed is not a fence to
    us: its writer forgot, and the rest of the note should keep its headings.
    """
    fences: dict[int, int] = {}
    opened = -1
    mark, quoted = "", False
    for number in range(first, len(lines)):
        line = lines[number]
        if opened >= 0 and quoted and not line.lstrip().startswith(">"):
            fences[opened] = number - 1
            opened = -1
        if "```" not in line and "~~~" not in line:
            continue
        bare = _unquote(line) if opened < 0 or quoted else line
        fence = _FENCE.match(bare)
        if not fence:
            continue
        if opened < 0:
            opened, mark, quoted = number, fence[1], bare is not line
        elif fence[1].startswith(mark) and bare.strip() == fence[1]:
            fences[opened] = number
            opened = -1
    return fences


_EMBED_OR_LINK = re.compile(r"!?\[\[(?:[^\[\]|\\\n]*(?:\\?\|))?([^\[\]\n]*?)\]\]")
_INLINE_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)")
_BLOCK_ID = re.compile(r"(?:^[ \t]*|(?<=\S)[ \t]+)\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
_MARKUP = re.compile(r"(\*\*|__|~~|==)(?=\S)(.+?)(?<=\S)\1")


_KEPT = re.compile("\0(\\d+)\0")


def plain(text: str) -> str:
    """Return Markdown as a reader sees it: links give their text, emphasis marks go.

    Code stays as it is written, its backquotes too: a mark in it is what it speaks of. Line ends
    stay, so that line numbers hold.
    """
    if "`" not in text and "~~~" not in text:
        return _without_marks(text).strip()
    kept: list[str] = []

    def keep(code: str) -> str:
        kept.append(code)
        return f"\0{len(kept) - 1}\0"

    lines = text.replace("\0", " ").split("\n")
    for first, last in reversed(_closed_fences(lines, 0).items()):
        lines[first : last + 1] = [keep("\n".join(lines[first : last + 1]))]
    text = _CODE_SPAN.sub(lambda m: keep(m[0]), "\n".join(lines))
    return _KEPT.sub(lambda m: kept[int(m[1])], _without_marks(text)).strip()


def _without_marks(text: str) -> str:
    if "[" in text:
        text = _EMBED_OR_LINK.sub(lambda m: m[1].replace("#", " "), text)
        text = _INLINE_LINK.sub(r"\1", text)
    if "^" in text:
        text = _BLOCK_ID.sub("", text)
    if "%%" in text:
        text = text.replace("%%", "")
    return _MARKUP.sub(r"\2", text)
