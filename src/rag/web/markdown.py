"""A note as HTML: CommonMark with tables, and what Obsidian adds; raw HTML is shown as text.

Nothing in the result runs, and nothing is fetched but pictures of the vault, by a route of ours.
Blocks carry the number of their line in `data-line`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlencode

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup

from rag.support.file_kinds import DOCUMENTS
from rag.text.messages import without_controls
from rag.vault.frontmatter import split_front_matter
from rag.vault.markdown import MARKDOWN

PICTURES = {f".{kind}": f"image/{kind}" for kind in ("png", "jpeg", "gif", "webp", "avif", "bmp")}
PICTURES |= {".jpg": "image/jpeg", ".svg": "image/svg+xml"}
_OUTSIDE = ("http", "https", "mailto", "obsidian")
_SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_CALLOUT = re.compile(r"\[!([\w-]{1,40})\][+-]?[ \t]*(.*)")
_TASK = re.compile(r"\[([ xX/-])\]\s")
_WIDTH = re.compile(r"\d{1,4}(?:x\d{1,4})?$")


def render(lines: list[str], vault: str, path: str) -> tuple[Markup, Mapping[str, object]]:
    """Return a note as HTML, and the fields of its front matter.

    :param lines: all of its file.
    """
    if not path.lower().endswith((*MARKDOWN, *DOCUMENTS)):
        return Markup("<pre>{}</pre>").format(without_controls("\n".join(lines))), {}
    front = split_front_matter(lines)
    body = "\n".join(lines[front.body_line :])
    env: dict[str, Any] = {"vault": vault, "path": path, "shift": front.body_line + 1}
    return Markup(_MARKDOWN.render(without_controls(body), env)), front.fields


def note_address(note: str, vault: str = "", line: int = 0) -> str:
    """Return the address of a note in the page.

    :param vault: where a name is looked for first.
    """
    asked = {"note": note, "in": vault, "line": line or ""}
    return "/?" + urlencode({name: value for name, value in asked.items() if value})


def is_picture(name: str) -> bool:
    """Return whether a file is a picture by its name."""
    return posixpath.splitext(name)[1].lower() in PICTURES


_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
for _character in "=%#":  # where text ends, so that a rule may begin
    _MARKDOWN.inline.add_terminator_char(_character)

# -- what Obsidian adds ----------------------------------------------------------------

Write = Callable[[StateInline, "re.Match[str]"], None]


def _inline(before: str, pattern: str) -> Callable[[Write], Write]:
    """Have what matches a pattern written as tokens, by a rule ahead of one of markdown-it."""
    compiled = re.compile(pattern, re.DOTALL)

    def add(write: Write) -> Write:
        def rule(state: StateInline, silent: bool) -> bool:
            match = compiled.match(state.src, state.pos, state.posMax)
            if match and not silent:
                write(state, match)
            if match:
                state.pos = match.end()
            return match is not None

        _MARKDOWN.inline.ruler.before(before, pattern, rule)
        return write

    return add


@_inline("link", r"(!?)\[\[([^\[\]|\n]+?)\\?(?:\|([^\[\]\n]*))?\]\]")
def _wiki_link(state: StateInline, link: re.Match[str]) -> None:
    """`[[note#heading|words]]`, and `![[picture.png|200]]`."""
    embeds, target, words = link.groups()
    target = target.strip()
    if embeds and is_picture(target):
        token = state.push("image", "img", 0)
        token.attrs = {"src": quote(target)}
        token.content = "" if words and _WIDTH.match(words) else words or target
        return
    vault, path = state.env["vault"], state.env["path"]
    name = target if not target.startswith("#") else f"{vault}/{path}{target}"
    words = words or target.lstrip("#").replace("#", " › ")
    _push(state, "link", "a", words, {"href": note_address(name, vault), "class": "wiki"})


@_inline("escape", r"\$\$(?P<block>.+?)\$\$|\$(?! )(?P<line>[^$\n]+?)(?<! )\$(?!\d)")
def _math(state: StateInline, math: re.Match[str]) -> None:
    """`$x^2$` and `$$…$$`, shown as they are written."""
    token = state.push("code_inline", "code", 0)
    token.content = (math["block"] or math["line"]).strip()
    token.attrs = {"class": "math block" if math["block"] else "math"}


@_inline("emphasis", r"==(?! )(.+?)(?<! )==|%%.*?%%")
def _mark(state: StateInline, mark: re.Match[str]) -> None:
    """`==marked==`, and `%%comments%%`, which are left out."""
    if mark[1]:
        _push(state, "mark", "mark", mark[1])


@_inline("emphasis", r"(?<!\S)#([^\W\d_][\w/-]*|[\w/-]*[^\W\d_][\w/-]*)")
def _tag(state: StateInline, tag: re.Match[str]) -> None:
    """`#tag`, which leads to the notes that have it."""
    address = f"/?{urlencode({'tag': tag[1]})}"
    _push(state, "link", "a", tag[0], {"href": address, "class": "tag"})


def _push(state: StateInline, name: str, tag: str, text: str, attrs: Any = None) -> None:
    state.push(f"{name}_open", tag, 1).attrs = attrs or {}
    state.push("text", "", 0).content = text
    state.push(f"{name}_close", tag, -1)


def _finish(state: StateCore) -> None:
    """Give blocks the numbers of their lines, and what they hold its looks."""
    tokens = state.tokens
    for at, token in enumerate(tokens):
        inline = tokens[at + 2].children if at + 2 < len(tokens) else None
        if inline and inline[0].type == "text":
            if token.type == "blockquote_open":
                _make_callout(token, inline)
            elif token.type == "list_item_open" and (match := _TASK.match(inline[0].content)):
                token.attrs = {"class": "task done" if match[1] in "xX" else "task"}
                inline[0].content = inline[0].content[match.end() :]
        if token.map and token.nesting >= 0 and token.type != "inline":
            token.attrSet("data-line", str(token.map[0] + state.env["shift"]))
        if style := token.attrs.pop("style", None):  # an alignment: no style is taken
            token.attrSet("class", str(style).rpartition(":")[2])
        if token.type == "fence" and token.info.strip():  # a label
            token.attrSet("data-language", token.info.split()[0][:40])
        for child in token.children or ():
            if child.type == "link_open" and "class" not in child.attrs:  # it is no wiki link
                child.attrs = _link(str(child.attrs.get("href", "")), state.env)
            elif child.type == "image":
                child.type, child.content = "html_inline", _picture(child, state.env)


def _make_callout(quote: Token, children: list[Token]) -> None:
    """Make a block of `> [!note] title`."""
    match = _CALLOUT.match(children[0].content)
    if not match:
        return
    kind = match[1].lower()
    quote.attrs = {"class": f"callout callout-{kind}"}
    ends = (at for at, child in enumerate(children) if child.type.endswith("break"))
    end = next(ends, len(children))
    children[0].content = match[2] if match[2] or end > 1 else kind.capitalize()
    children.insert(end, Token("strong_close", "strong", -1))
    children.insert(0, Token("strong_open", "strong", 1, {"class": "callout-title"}))


def _picture(image: Token, env: Mapping[str, Any]) -> Markup:
    """Return a picture of the vault; one from elsewhere is a link, which nobody follows unasked."""
    source = str(image.attrs["src"])
    words = image.content or posixpath.basename(unquote(source))
    if _SCHEME.match(source) or source.startswith("//"):
        attrs = (Markup(' {}="{}"').format(*pair) for pair in _link(source, env).items())
        return Markup("<a{}>{}</a>").format(Markup("").join(attrs), words)
    asked = urlencode({"note": f"{env['vault']}/{env['path']}", "name": unquote(source)})
    return Markup('<img src="/page/image?{}" alt="{}" loading="lazy">').format(asked, words)


def _link(href: str, env: Mapping[str, Any]) -> dict[str, str | int | float]:
    """Return the attributes of a link: to a note in the page, or out of it in a tab of its own."""
    scheme = _SCHEME.match(href)
    if href.startswith("//") or (scheme and scheme[1].lower() in _OUTSIDE):
        rel = "noopener noreferrer nofollow"
        return {"href": href, "target": "_blank", "rel": rel, "class": "out"}
    if scheme:
        return {"class": "dead"}
    path, _, heading = unquote(href).partition("#")
    folder = posixpath.dirname(env["path"])
    inner = posixpath.normpath(posixpath.join(folder, path)) if path else env["path"]
    name = f"{env['vault']}/{inner}{f'#{heading}' if heading else ''}"
    return {"href": note_address(name, env["vault"]), "class": "wiki"}


_MARKDOWN.core.ruler.push("finish", _finish)
