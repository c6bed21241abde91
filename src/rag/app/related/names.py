"""Names in front matter that relate notes: of other notes, of people and of places."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag.index.manifest import Manifest
    from rag.index.note_rows import NoteRow

_LINK = re.compile(r"!?\[\[([^\[\]|#]+)[^\[\]]*\]\]")
# Words that begin with a capital, small ones such as "van der" between them; or a short text in a
# script without capitals. What holds a figure is a date or a measure.
_WORD = r"(?=[^a-zß-öø-ÿа-я])[^\W\d_][^\W\d_]*\.?"
_NAME = re.compile(rf"{_WORD}(?:(?: [a-z]{{1,3}}){{0,2}}[ '’·・-]{_WORD}){{0,5}}")
_LONGEST = 40  # characters of a name
# Properties that sort notes into kinds, in English, German and Japanese.
_KINDS = {
    *("status", "state", "stage", "type", "kind", "category", "class", "cssclass", "cssclasses"),
    *("priority", "rating", "mood", "lang", "language", "template", "layout", "publish"),
    *("art", "typ", "kategorie", "zustand", "priorität", "sprache"),
    *("状態", "状況", "ステータス", "種類", "種別", "分類", "カテゴリ", "カテゴリー"),
    *("優先度", "重大度", "評価", "言語", "気分"),
}
_MOST = 0.2  # of the notes may share a name that still relates two


def shared_names(manifest: Manifest, row: NoteRow) -> dict[str, dict[str, float]]:
    """Return the notes that front matter relates to a note, by id: the names, and what each tells,
    from 0 to 1.

    Related is a note that its front matter names, by a link, title or alias; a note that names it
    so; and one whose front matter names the same person or place, in whatever property. The more
    notes do that, the less it tells.
    """
    found: dict[str, dict[str, float]] = defaultdict(dict)
    values = [value for field, held in row.fields.items() if field not in _KINDS for value in held]
    for value in values:
        link = _LINK.fullmatch(value)
        name = link[1].strip() if link else value
        notes = manifest.links.resolve(name, row.vault, row.path) if link or _is_name(name) else []
        if len(notes) == 1:
            found[notes[0].id][name] = 1.0
        if _is_name(name):
            for identity, tells in _naming(manifest, name).items():
                found[identity].setdefault(name, tells)
    for name in dict.fromkeys([row.title, PurePath(row.path).stem, *row.aliases]):
        for identity in _naming(manifest, name):
            found[identity][name] = 1.0
    found.pop(row.id, None)
    return dict(found)


def _naming(manifest: Manifest, name: str) -> dict[str, float]:
    """Return the notes whose front matter has a name, by id, and what that tells."""
    written = [f"[[{name}]]", *([name] if _is_name(name) else [])]
    notes = manifest.catalogue.with_values(written, _KINDS)
    every = max(2, manifest.rows())
    if len(notes) > max(2, _MOST * every):
        return {}
    return dict.fromkeys(notes, 1.0 - math.log(max(1, len(notes) - 1)) / math.log(every))


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST and bool(_NAME.fullmatch(text))
