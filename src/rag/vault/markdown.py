"""One pass over the lines of a note: what each line is, and the headings, tags and links in it.

It knows as much of Markdown as search needs: code fences (also inside quotes and callouts),
tables, `%%` and HTML comments, ATX and setext headings. Its patterns are written not to
backtrack over a line, so its cost is linear in the text, whatever that is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from urllib.parse import unquote

from rag.support.file_kinds import DOCUMENTS, READ
from rag.support.unicode_forms import compose
from rag.vault import limits

# A run of backquotes that no run of the same length follows costs reading the rest of its line.
# There are as many such runs in a line as lengths, so the lengths are few: nobody writes longer.
_MOST_BACKQUOTES = 8
# The group is atomic, not possessive: Python before 3.11.5 matches `(?:…)*+` wrongly.
CODE_SPAN = rf"(?<!`)(`{{1,{_MOST_BACKQUOTES}}})(?!`)[^`\n]*+(?>(?:(?!\1(?!`))`++[^`\n]*+)*)\1(?!`)"

# Emphasis by single marks, and code, in which they are none. A mark within a word is a letter.
_EMPHASIS = re.compile(
    rf"{CODE_SPAN}"
    r"|(?<![A-Za-z0-9*])\*(?=[^\s*])(?P<star>[^*\n]*[^\s*])\*(?![A-Za-z0-9*])"
    r"|(?<!\w)_(?=[^\s_])(?P<line>[^_\n]*[^\s_])_(?!\w)"
)
_OPENING = re.compile(r"(\*\*|__|~~|==)(?=\S)")
_CLOSING = {mark: re.compile(rf"(?<=\S){re.escape(mark)}|\n") for mark in ("**", "__", "~~", "==")}


def without_emphasis(text: str) -> str:
    r"""Return Markdown without the marks of emphasis: `(\*\*|__|~~|==)(?=\S)(.+?)(?<=\S)\1`
    replaced by its second group, but that what is opened again and again and never closed costs
    one look at its line and no more."""
    if not _OPENING.search(text):
        return text
    kept: list[str] = []
    done = at = 0
    unclosed: dict[str, int] = {}  # up to where it is known that a mark is not closed
    while opening := _OPENING.search(text, at):
        begin, mark = opening.start(), opening[1]
        at = begin + 1
        if begin < unclosed.get(mark, 0):
            continue
        closing = _CLOSING[mark].search(text, begin + 3)
        if closing and closing[0] == mark:
            kept += text[done:begin], text[begin + 2 : closing.start()]
            done = at = closing.end()
        else:
            unclosed[mark] = closing.start() if closing else len(text)
    kept.append(text[done:])
    return "".join(kept)


def without_single_marks(text: str) -> str:
    """Return Markdown without the single marks of emphasis around words."""
    if "*" not in text and "_" not in text:
        return text
    return _EMPHASIS.sub(lambda found: found["star"] or found["line"] or found[0], text)


MARKDOWN = (".md", ".markdown")
CANVAS, BASE = ".canvas", ".base"
SUFFIXES = (*MARKDOWN, CANVAS, BASE, *DOCUMENTS)
# These are shown as text of their own: a line of it is no line of the file.
RENDERED = (
    *(CANVAS, BASE),
    *(suffix for suffix, kind in READ.items() if kind not in ("text", "org", "rst")),
)
# A page begins with such a line, which holds nothing to read. No other line begins with a form
# feed and a bracket.
_PAGE = re.compile(r"\f\[(?:page|slide) (\d+)\]")
PAGE_LEVEL = 7  # of the heading that a page begins with, below all others


# A quote mark at the head of a line, any depth: callouts and quotes may hold fences.
_QUOTE = re.compile(r"[ ]{0,3}(?:>[ ]?)+")
# A fence may be indented or follow a list mark, since lists hold fences too.
FENCE_MARK = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_ATX = re.compile(r"[ ]{0,3}(#{1,6})(?:[ \t\u3000]+(.*))?$")
_SETEXT = re.compile(r"[ ]{0,3}(=+|-+)[ \t]*$")
_NOT_A_PARAGRAPH = re.compile(r"[ ]{0,3}(?:[-*+>|#]|\d+[.)])|[ ]{4}|\t")
_TABLE_RULE = re.compile(r"[ ]{0,3}\|?[ ]*:?-+:?[ ]*(?:\|[ ]*:?-+:?[ ]*)*\|?$")
_CODE_SPAN = re.compile(CODE_SPAN)
_COMMENT_OR_CODE = re.compile(CODE_SPAN + "|%%|<!--")
# Zero-width characters and soft hyphens, which nobody means to be part of a tag.
INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
# A tag stands at the start of a line, after white space or after opening punctuation.
_TAG = re.compile(r"(?:^|(?<=[\s(\[（「『、。，]))#([\w/\-]+)", re.UNICODE)
# `(?:!\[|\[)` is looked for in a third of the time of `!?\[`.
_WIKI_LINK = re.compile(r"(?:!\[|\[)\[([^\[\]\n]+?)\]\]")
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

    `fences` maps the first line of each closed fence to its last. `tags` and `links` map what was
    found to the line where it stands first. `problems` says, in words, what went beyond the bounds
    of a note.
    """

    kinds: list[Kind]
    fences: dict[int, int] = field(default_factory=dict)
    headings: list[Heading] = field(default_factory=list)
    tags: dict[str, int] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)
    problems: dict[str, None] = field(default_factory=dict)


def page_line(name: str, number: int) -> str:
    """Return the line that a page begins with."""
    return f"\f[{name} {number}]"


def page_starts(lines: Sequence[str]) -> list[int]:
    """Return where each page begins, counted from 0; none of a file without pages."""
    return [at for at, line in enumerate(lines) if line[:1] == "\f" and _PAGE.fullmatch(line)]


def without_comments(lines: list[str], kinds: list[Kind], first: int = 0) -> list[str]:
    """Return lines without `%%…%%` and `<!--…-->`, which may go over line ends; what becomes of
    fences, and of what is before the `first` line, is not said.

    One that is never closed is no comment, and neither is one inside a code span. A mark inside a
    fence is code and closes nothing.
    """
    if not any("%%" in line or "<!--" in line for line in lines):
        return lines
    outside = ["" if kind == Kind.CODE else line for line, kind in zip(lines, kinds, strict=True)]
    text = "\n".join([*[""] * first, *outside[first:]])
    kept: list[str] = []
    unclosed: set[str] = set()
    done = at = 0
    while mark := _COMMENT_OR_CODE.search(text, at):
        at = mark.end()
        closing = "%%" if mark[0] == "%%" else "-->"
        if mark[1] or closing in unclosed:
            continue
        end = text.find(closing, at)
        if end < 0:
            unclosed.add(closing)
            continue
        kept += text[done : mark.start()], "\n" * text.count("\n", at, end)
        done = at = end + len(closing)
    return "".join([*kept, text[done:]]).split("\n")


def outline(lines: list[str], first: int = 0, links: bool = True) -> Outline:
    """Read the body of a note.

    :param lines: all lines of the file, without line ends.
    :param first: the number of the line behind its front matter, from 0.
    :param links: whether tags and links are read too.
    """
    result = Outline([Kind.BLANK] * len(lines), _closed_fences(lines, first))
    for begin, end in result.fences.items():
        result.kinds[begin : end + 1] = [Kind.CODE] * (end + 1 - begin)
    shown = without_comments(lines, result.kinds, first)
    reader = _LineReader(lines, first, result, links)
    for number in range(first, len(lines)):
        line = lines[number]
        if line and not line.isspace() and result.kinds[number] != Kind.CODE:
            reader.read(number, shown[number])
    return result


@dataclass
class _LineReader:
    """Reads lines outside of fences into an outline; `first` is the first line of the body."""

    lines: list[str]
    first: int
    outline: Outline
    links: bool

    def read(self, number: int, text: str) -> None:
        """Read a line, of which `text` stands outside of comments."""
        kinds = self.outline.kinds
        kinds[number] = Kind.TEXT
        above = kinds[number - 1] if number > self.first else Kind.BLANK
        if text[:1] == "\f" and _PAGE.fullmatch(text):
            kinds[number] = Kind.HEADING
            self.outline.headings.append(Heading(PAGE_LEVEL, "", number, number))
        elif "#" in text and (atx := _ATX.match(text)):
            self._add_heading(len(atx[1]), _without_closing_hashes(atx[2] or ""), number, number)
        elif "|" in text:
            is_rule = above == Kind.TEXT and "|" in self.lines[number - 1]
            if above == Kind.TABLE:
                kinds[number] = Kind.TABLE
            elif is_rule and _TABLE_RULE.match(_unquote(text).rstrip()):
                kinds[number - 1] = kinds[number] = Kind.TABLE
        elif above == Kind.TEXT and (underline := _SETEXT.match(text)):
            self._read_setext(number, 1 if underline[1][0] == "=" else 2)
        if self.links and ("#" in text or "[" in text):
            self._read_inline(text, number)

    def _add_heading(self, level: int, title: str, line: int, last_line: int) -> None:
        outline = self.outline
        if len(outline.headings) == limits.MOST_HEADINGS:
            outline.problems[limits.too_many("headings", limits.MOST_HEADINGS)] = None
            return
        text = without_single_marks(plain(title))
        if len(text) > limits.LONGEST_HEADING:
            outline.problems[limits.cut_short("heading", limits.LONGEST_HEADING)] = None
            text = text[: limits.LONGEST_HEADING].rstrip()
        outline.kinds[line] = outline.kinds[last_line] = Kind.HEADING
        outline.headings.append(Heading(level, text, line, last_line))

    def _read_setext(self, number: int, level: int) -> None:
        above = self.lines[number - 1]
        goes_on = number - 1 > self.first and self.outline.kinds[number - 2] == Kind.TEXT
        is_comment = "%%" in above or "-->" in above
        if not (_NOT_A_PARAGRAPH.match(above) or goes_on or is_comment):
            self._add_heading(level, above, number - 1, number)

    def _read_inline(self, text: str, number: int) -> None:
        # Paths and tags are NFC everywhere; a mark of its own would also end a tag.
        text = compose(_CODE_SPAN.sub(" ", text) if "`" in text else text)
        if "](" in text:
            for link in _MD_LINK.finditer(text):
                path = compose(unquote((link[1] or link[2]).partition("#")[0]))
                if path.lower().endswith(SUFFIXES) and "://" not in path:
                    self._keep("link", path, number)
            text = _MD_LINK.sub("] ", text)  # [text](#heading) holds no tag
        if "[[" in text:
            for target in _WIKI_LINK.finditer(text):
                if note := re.split(r"\\?\||#", target[1], maxsplit=1)[0].strip():
                    self._keep("link", note, number)
            text = _WIKI_LINK.sub(" ", text)  # [[Note#Heading]] holds no tag
        if "#" in text:
            for match in _TAG.finditer(text if text.isascii() else INVISIBLE.sub("", text)):
                tag = match[1]
                is_number = tag.replace("/", "").replace("-", "").isdigit()
                if not is_number and tag.strip("/-_"):
                    self._keep("tag", tag.strip("/"), number)

    def _keep(self, thing: str, text: str, line: int) -> None:
        """Add a tag or link to those of the note, as far as its bounds go."""
        kept, most, longest = self.outline.links, limits.MOST_LINKS, limits.LONGEST_LINK
        if thing == "tag":
            kept, most, longest = self.outline.tags, limits.MOST_TAGS, limits.LONGEST_TAG
        if len(text) > longest:
            self.outline.problems[limits.too_long(thing, longest)] = None
        elif len(kept) < most or text in kept:
            kept.setdefault(text, line)
        else:
            self.outline.problems[limits.too_many(f"{thing}s", most)] = None


def _without_closing_hashes(title: str) -> str:
    title = title.rstrip(" \t")
    bare = title.rstrip("#")
    return bare if not bare or bare[-1] in " \t" else title


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
        fence = FENCE_MARK.match(bare)
        if not fence:
            continue
        if opened < 0:
            opened, mark, quoted = number, fence[1], bare is not line
        elif fence[1].startswith(mark) and bare.strip() == fence[1]:
            fences[opened] = number
            opened = -1
    return fences


def closes_fence(line: str) -> bool:
    """Return whether a line is nothing but the mark that closes a fence, in a quote perhaps."""
    bare = _unquote(line).strip()
    return len(bare) > 2 and not bare.strip(bare[0]) and bare[0] in "`~"


_EMBED_OR_LINK = re.compile(r"(?:!\[|\[)\[(?:[^\[\]|\\\n]*(?:\\?\|))?([^\[\]\n]*?)\]\]")
_INLINE_LINK = re.compile(r"(?:!\[|\[)([^\[\]\n]*)\]\([^()\n]*\)")
_BLOCK_ID = re.compile(r"(?:^[ \t]*|(?<=\S)[ \t]+)\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
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
    parts: list[str] = []
    done = 0
    for first, last in _closed_fences(lines, 0).items():
        parts += lines[done:first]
        parts.append(keep("\n".join(lines[first : last + 1])))
        done = last + 1
    text = _CODE_SPAN.sub(lambda m: keep(m[0]), "\n".join(parts + lines[done:]))
    return _KEPT.sub(lambda m: kept[int(m[1])], _without_marks(text)).strip()


def _without_marks(text: str) -> str:
    if "[" in text:
        text = _EMBED_OR_LINK.sub(lambda m: m[1].replace("#", " "), text)
        text = _INLINE_LINK.sub(r"\1", text)
    if "^" in text:
        text = _BLOCK_ID.sub("", text)
    if "%%" in text:
        text = text.replace("%%", "")
    return without_emphasis(text)
