"""What a chunk is found by, and what it is embedded by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from posixpath import basename, splitext
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from rag.text.matches import word_parts
from rag.text.tokenizer import TOKEN, cleaned
from rag.vault.markdown import plain
from rag.vault.sentences import sentence_units

if TYPE_CHECKING:
    from rag.text.bm25_documents import Beside

_LINK = re.compile(r"\]\(<?((?:[a-z][a-z0-9+.-]*://|mailto:)[^()\s<>]+)", re.IGNORECASE)
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:(?://)?(?:www\.)?", re.IGNORECASE)
_MOST_LINKS = 30  # of a chunk; a page of bookmarks has more, and each is a dozen words
_LONGEST_ADDRESS = 100  # characters; what follows are keys and hashes


def file_name(meta: Mapping[str, Any]) -> str:
    """Return the name of the note's file, without its ending."""
    return splitext(basename(str(meta.get("file_path") or "")))[0]


def names_of(meta: Mapping[str, Any]) -> list[str]:
    """Return what a chunk is called: the title of its note, its headings, and the note's aliases; a
    heading that repeats the title counts once."""
    title = str(meta.get("title") or "")
    heading = (str(part) for part in meta.get("heading") or ())
    return [title, *(part for part in heading if part != title), *(meta.get("aliases") or ())]


def lexical_parts(meta: Mapping[str, Any], content: str | None) -> list[str]:
    """Return what a chunk is found by: title, headings, aliases, and last its text.

    A note's first chunk is found by its file name too, as far as the title does not say the same.
    """
    *names, body = _parts(meta, content)
    if meta.get("position") == 0:
        in_title = set(TOKEN.findall(cleaned(str(meta.get("title") or ""))))
        stem = TOKEN.findall(cleaned(file_name(meta)))
        names.append(" ".join("".join(piece) for piece in stem if piece not in in_title))
    return [*names, body]


def indexed_text(meta: Mapping[str, Any], content: str | None) -> str:
    """Return what of a chunk goes into the lexical index: what it is found by, and after it the
    parts of its words in mixed case, each once."""
    text = "\n".join(lexical_parts(meta, content))
    parts = dict.fromkeys(part.text for part in word_parts(text))
    return f"{text}\n{' '.join(parts)}" if parts else text


def beside(meta: Mapping[str, Any], content: str | None) -> Beside:
    """Return what a chunk is found by that a reader does not see in it: the front matter of its
    note, and the addresses that its links hide."""
    from rag.text.bm25_documents import Beside  # who searches needs no numpy, which it is made with

    return Beside("\n".join(meta.get("properties") or ()), " ".join(_addresses(content or "")))


def _addresses(text: str) -> Iterator[str]:
    """Yield the addresses of links, without the scheme, as far as they may be searched for."""
    if "](" not in text:
        return
    for link in islice(_LINK.finditer(text), _MOST_LINKS):
        yield unquote(_SCHEME.sub("", link[1]))[:_LONGEST_ADDRESS]


def embedded_text(meta: Mapping[str, Any], content: str | None) -> str:
    """Return what a chunk is embedded by: the same, without its file name, so that renaming a
    file costs nothing."""
    parts = _parts(meta, content)
    return "\n".join(part for part in parts if part.strip())


def sentence_texts(meta: Mapping[str, Any], content: str | None) -> list[str]:
    """Return what the sentences of a chunk are embedded by: each with the title and the heading
    above it, without which many say little. Of a chunk of one sentence it is the chunk's text.
    """
    units = sentence_units(content or "")
    if len(units) < 2:
        return [embedded_text(meta, content)]
    title, heading = str(meta.get("title") or ""), [str(part) for part in meta.get("heading") or []]
    names = [name for name in dict.fromkeys([title, *heading[-1:]]) if name.strip()]
    return ["\n".join([*names, unit.text]) for unit in units]


def _parts(meta: Mapping[str, Any], content: str | None) -> list[str]:
    """Return the names of a chunk, and last its text, without the line of the heading."""
    body = content or ""
    if heading := meta.get("heading"):
        first, _, rest = body.partition("\n")
        if plain(first.lstrip("# ").rstrip("# ")) == str(heading[-1]):
            body = rest
    return [*names_of(meta), plain(body)]
