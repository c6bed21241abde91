"""What a chunk is found by, and what it is embedded by."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from rag.text.tokenizer import TOKEN, cleaned
from rag.vault.markdown import plain


def file_name(meta: Mapping[str, Any]) -> str:
    """Return the name of the note's file, without its ending."""
    return PurePath(str(meta.get("file_path") or "")).stem


def lexical_parts(meta: Mapping[str, Any], content: str | None) -> list[str]:
    """Return what a chunk is found by: title, headings, aliases, and last its text.

    A note's first chunk is found by its file name too, as far as the title does not say the same.
    """
    *names, body = _parts(meta, content)
    if meta.get("position") == 0:
        known = set(TOKEN.findall(cleaned(str(meta.get("title") or ""))))
        stem = TOKEN.findall(cleaned(file_name(meta)))
        names.append(" ".join("".join(piece) for piece in stem if piece not in known))
    return [*names, body]


def embedded_text(meta: Mapping[str, Any], content: str | None) -> str:
    """Return what a chunk is embedded by: the same, without its file name, so that renaming a
    file costs nothing."""
    parts = _parts(meta, content)
    return "\n".join(part for part in parts if part.strip())


def _parts(meta: Mapping[str, Any], content: str | None) -> list[str]:
    """A heading that repeats the title counts once, and the heading's own line not again."""
    title = str(meta.get("title") or "")
    heading = [str(part) for part in meta.get("heading") or []]
    names = [title, *(part for part in heading if part != title), *(meta.get("aliases") or [])]
    body = content or ""
    if heading:
        first, _, rest = body.partition("\n")
        if plain(first.lstrip("# ").rstrip("# ")) == heading[-1]:
            body = rest
    return [*names, plain(body)]
