"""The gate before questions about the notes themselves: it costs nothing, since all pass it.

Most questions hold no word for notes and none for the last time, and then there is no pattern of
`rag.query.note_questions` to compile.
"""

from __future__ import annotations

import unicodedata

_HINTS = (
    *("notes", "memos", "entries", "last", "latest", "recent"),
    *("ノート", "メモ", "記事", "日記", "最後", "前回", "最近", "直近", "この前", "このあいだ"),
)


def may_ask_of_notes(question: str) -> bool:
    """Return whether a question holds a word that one about the notes themselves has.

    >>> may_ask_of_notes("How many notes are there?"), may_ask_of_notes("When do holds expire?")
    (True, False)
    """
    text = unicodedata.normalize("NFKC", question).lower()
    return any(hint in text for hint in _HINTS)
