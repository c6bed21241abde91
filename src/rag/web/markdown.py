"""A note as HTML: CommonMark with tables, and what Obsidian adds; raw HTML is shown as text.

Nothing in the result runs, and nothing is fetched but pictures of the vault, by a route of ours.
Blocks carry the number of their line in `data-line`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup

from rag.support.file_kinds import DOCUMENTS
from rag.text.messages import without_controls
from rag.vault.frontmatter import split_front_matter
from rag.vault.markdown import MARKDOWN

PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".svg": "image/svg+xml",
}
_OUTSIDE = ("http", "https", "mailto", "obsidian")
_WIKI = re.compile(r"(!?)\[\[([^\[\]|\n]+?)\\?(?:\|([^\[\]\n]*))?\]\]")
_CALLOUT = re.compile(r"\[!([\w-]{1,40})\][+-]?[ \t]*(.*)")
_TASK = re.compile(r"\[([ xX/-])\]\s")
_TAG = re.compile(r"(?<!\S)#([^\W\d_][\w/-]*|[\w/-]*[^\W\d_][\w/-]*)")
_MATH = re.compile(r"\$\$(?P<block>.+?)\$\$|\$(?! )(?P<line>[^$\n]+?)(?<! )\$(?!\d)", re.DOTALL)
_BETWEEN = re.compile(r"(==)(?! )(.+?)(?<! )==|(%%)(.*?)%%", re.DOTALL)
_SHOWN = ("tags", "tag", "title", "created", "cssclasses")  # elsewhere on the page, or nowhere
_WIDTH = re.compile(r"\d{1,4}(?:x\d{1,4})?$")


@dataclass(frozen=True)
class Heading:
    """A heading of a note: its level, its text and its line."""

    level: int
    text: str
    line: int


@dataclass
class Page:
    """A note as HTML, its headings, and what else its front matter says."""

    html: Markup
    headings: list[Heading] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)


def render(lines: list[str], vault: str, path: str) -> Page:
    """Return a note as HTML.

    :param lines: all of its file.
    """
    if not path.lower().endswith((*MARKDOWN, *DOCUMENTS)):
        return Page(Markup("<pre>{}</pre>").format(without_controls("\n".join(lines))))
    front = split_front_matter(lines)
    body = "\n".join(lines[front.body_line :])
    env: dict[str, Any] = {"vault": vault, "path": path, "shift": front.body_line + 1}
    tokens = _MARKDOWN.parse(without_controls(body), env)
    html = str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, env))
    worded = {str(name): _worded(value) for name, value in front.fields.items()}
    properties = {
        name: value for name, value in worded.items() if value and name.lower() not in _SHOWN
    }
    return Page(Markup(html), [*_headings(tokens, env["shift"])], properties)


def note_address(note: str, vault: str = "", line: int = 0) -> str:
    """Return the address of a note in the page.

    :param vault: where a name is looked for first.
    """
    asked = {"note": note, "in": vault, "line": line or ""}
    return "/?" + urlencode({name: value for name, value in asked.items() if value})


def is_picture(name: str) -> bool:
    """Return whether a file is a picture by its name."""
    return posixpath.splitext(name)[1].lower() in PICTURES


def _worded(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_worded, value))
    return "" if value is None else without_controls(str(value))


def _headings(tokens: Sequence[Token], shift: int) -> Iterator[Heading]:
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.map:
            text = "".join(child.content for child in inline.children or ())
            yield Heading(int(token.tag[1]), text, token.map[0] + shift)


# -- what Obsidian adds ----------------------------------------------------------------


def _wiki_link(state: StateInline, link: re.Match[str]) -> None:
    """`[[note#heading|words]]`, and `![[picture.png|200]]`."""
    embeds, target, words = link.groups()
    target = target.strip()
    if embeds and is_picture(target):
        token = state.push("image", "img", 0)
        token.attrs = {"src": quote(target), "alt": ""}
        token.content = "" if words and _WIDTH.match(words) else words or target
        token.children = []
        return
    vault, path = state.env["vault"], state.env["path"]
    name = target if not target.startswith("#") else f"{vault}/{path}{target}"
    words = words or target.lstrip("#").replace("#", " › ")
    _push(state, "link", "a", words, href=note_address(name, vault), kind="wiki")


def _math(state: StateInline, math: re.Match[str]) -> None:
    """`$x^2$` and `$$…$$`, shown as they are written."""
    token = state.push("code_inline", "code", 0)
    token.content = (math["block"] or math["line"]).strip()
    token.attrs = {"class": "math block" if math["block"] else "math"}


def _mark(state: StateInline, mark: re.Match[str]) -> None:
    """`==marked==`, and `%%comments%%`, which are left out."""
    if mark[1]:
        _push(state, "mark", "mark", mark[2])


def _tag(state: StateInline, tag: re.Match[str]) -> None:
    """`#tag`, which leads to the notes that have it."""
    _push(state, "link", "a", tag[0], href=f"/?{urlencode({'tag': tag[1]})}", kind="tag")


def _push(
    state: StateInline, name: str, element: str, text: str, href: str = "", kind: str = ""
) -> None:
    opening = state.push(f"{name}_open", element, 1)
    opening.attrs = {"href": href, "class": kind} if href else {}
    state.push("text", "", 0).content = text
    state.push(f"{name}_close", element, -1)


def _rule(
    pattern: re.Pattern[str], write: Callable[[StateInline, re.Match[str]], None]
) -> Callable[[StateInline, bool], bool]:
    """Return a rule of markdown-it: what matches a pattern is written as tokens."""

    def rule(state: StateInline, silent: bool) -> bool:
        match = pattern.match(state.src, state.pos, state.posMax)
        if match and not silent:
            write(state, match)
        if match:
            state.pos = match.end()
        return match is not None

    return rule


def _callouts(state: StateCore) -> None:
    """Make blocks of `> [!note] title` callouts, and boxes of `- [ ]`."""
    tokens = state.tokens
    for at, token in enumerate(tokens):
        inline = tokens[at + 2].children if at + 2 < len(tokens) else None
        if not inline or inline[0].type != "text":
            continue
        first = inline[0]
        if token.type == "blockquote_open" and (match := _CALLOUT.match(first.content)):
            kind = match[1].lower()
            token.attrs = {"class": f"callout callout-{kind}"}
            first.content = match[2] or kind.capitalize()
            tokens[at + 1].attrs = {"class": "callout-title"}
            _split_title(tokens, at + 1)
        elif token.type == "list_item_open" and (match := _TASK.match(first.content)):
            token.attrs = {"class": "task done" if match[1] in "xX" else "task"}
            first.content = first.content[match.end() :]


def _split_title(tokens: list[Token], at: int) -> None:
    """Part the title of a callout from the text that follows it in the same paragraph."""
    inline = tokens[at + 1]
    children = inline.children or []
    end = next((n for n, one in enumerate(children) if one.type.endswith("break")), None)
    if end is None:
        return
    rest = Token("inline", "", 0, children=children[end + 1 :], content="")
    inline.children = children[:end]
    opening = Token("paragraph_open", "p", 1, block=True, map=tokens[at].map)
    tokens[at + 3 : at + 3] = [opening, rest, Token("paragraph_close", "p", -1, block=True)]


def _number_lines(state: StateCore) -> None:
    """Give blocks the numbers of their lines, and alignments as classes: styles are not taken."""
    for token in state.tokens:
        if token.map and token.nesting >= 0 and token.type != "inline":
            token.attrSet("data-line", str(token.map[0] + state.env["shift"]))
        if style := token.attrs.pop("style", None):
            token.attrSet("class", str(style).rpartition(":")[2])


# -- links and pictures ----------------------------------------------------------------


class _Renderer(RendererHTML):
    def link_open(
        self, tokens: Sequence[Token], at: int, options: Any, env: Mapping[str, Any]
    ) -> str:
        """Return the beginning of a link: to a note in the page, or out of it in a tab of its
        own."""
        token = tokens[at]
        if "class" not in token.attrs:  # of Markdown, not a wiki link
            token.attrs = _link(str(token.attrs.get("href", "")), env)
        return str(self.renderToken(tokens, at, options, env))  # type: ignore[arg-type]

    def image(self, tokens: Sequence[Token], at: int, options: Any, env: Mapping[str, Any]) -> str:
        """Return a picture of the vault; one from elsewhere is a link, which nobody follows
        unasked."""
        token = tokens[at]
        source = str(token.attrs.get("src", ""))
        words = token.content or posixpath.basename(unquote(source))
        if urlsplit(source).scheme or source.startswith("//"):
            attrs = (Markup(' {}="{}"').format(*one) for one in _link(source, env).items())
            return Markup("<a{}>{}</a>").format(Markup("").join(attrs), words)
        asked = urlencode({"note": f"{env['vault']}/{env['path']}", "name": unquote(source)})
        html = Markup('<img src="/page/image?{}" alt="{}" loading="lazy">')
        return html.format(asked, words)

    def fence(self, tokens: Sequence[Token], at: int, options: Any, env: Mapping[str, Any]) -> str:
        """Return a block of code, with its language as a label."""
        token = tokens[at]
        line, language = token.attrs.get("data-line", ""), token.info.strip().partition(" ")[0][:40]
        html = Markup('<pre data-line="{}" data-language="{}"><code>{}</code></pre>\n')
        return html.format(line, language, token.content)


def _link(href: str, env: Mapping[str, Any]) -> dict[str, str | int | float]:
    scheme = urlsplit(href).scheme.lower()
    if scheme in _OUTSIDE or href.startswith("//"):
        rel = "noopener noreferrer nofollow"
        return {"href": href, "target": "_blank", "rel": rel, "class": "out"}
    if scheme:
        return {"class": "dead"}
    path, _, heading = unquote(href).partition("#")
    folder = posixpath.dirname(env["path"])
    inner = posixpath.normpath(posixpath.join(folder, path)) if path else env["path"]
    name = f"{env['vault']}/{inner}{f'#{heading}' if heading else ''}"
    return {"href": note_address(name, env["vault"]), "class": "wiki"}


class _Markdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        """Return whether an address may stand in a link at all."""
        try:
            scheme = urlsplit(url.strip()).scheme.lower()
        except ValueError:
            return False
        return not scheme or scheme in _OUTSIDE


_MARKDOWN = _Markdown("commonmark", {"html": False}, renderer_cls=_Renderer)
_MARKDOWN.enable(["table", "strikethrough"])
for _behind, _pattern, _write in (
    ("link", _WIKI, _wiki_link),
    ("escape", _MATH, _math),
    ("emphasis", _BETWEEN, _mark),
    ("emphasis", _TAG, _tag),
):
    _MARKDOWN.inline.ruler.before(_behind, _write.__name__, _rule(_pattern, _write))
_MARKDOWN.core.ruler.push("callouts", _callouts)
_MARKDOWN.core.ruler.push("lines", _number_lines)
for _character in "=%#":  # where text ends, so that a rule may begin
    _MARKDOWN.inline.add_terminator_char(_character)
