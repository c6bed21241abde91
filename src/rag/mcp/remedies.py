"""What mends an error, in words for an agent: it has no shell of ours, the user has."""

from __future__ import annotations

from typing import Any

from rag.exceptions import Message, NotFoundError, RAGError, Remedy

_INDEX = "Tell the user to run `rag index`."
_REBUILD = "Tell the user to run `rag index --rebuild`."
_WORDS: dict[Remedy, str] = {
    **dict.fromkeys(
        (
            Remedy.RUN_INDEX,
            Remedy.INDEX_ANEW,
            Remedy.INDEX_FROM_NOTES,
            Remedy.INDEX_MADE_ANEW,
            Remedy.INDEX_AGAIN,
            Remedy.INDEX_MISSING,
            Remedy.UPDATE_INDEX,
            Remedy.WRITE_MISSING,
            Remedy.EMBED_REST,
            Remedy.EMBED_ANEW,
            Remedy.EMBED_AGAIN,
            Remedy.MAKE_VECTORS,
            Remedy.MAKE_VECTORS_ANEW,
        ),
        _INDEX,
    ),
    **dict.fromkeys(
        (Remedy.REBUILD_INDEX, Remedy.REBUILD_IF_AGAIN, Remedy.REBUILD_OR_REPORT), _REBUILD
    ),
    Remedy.MAKE_INDEX: "Tell the user to run `rag index FOLDER` on the folder of the notes.",
    Remedy.SEARCH_WORDS: "Look for its words with search.",
    Remedy.SEARCH_OR_CHOOSE: "Name one of these, or look for its words with search.",
    Remedy.LOWER_MIN_SCORE: "(min_score 0 gives them)",
    Remedy.TYPE_QUERY: "Give a query or a filter.",
    Remedy.TYPE_QUESTION: "Give a question.",
    Remedy.LIST_VAULTS: "{hint} The tool status lists the vaults.",
    Remedy.CHOOSE_MODE: "Leave out mode, or use lexical.",
    Remedy.EMBED_OR_CHOOSE_MODE: "Leave out mode, or use lexical.",
    Remedy.ASK_AT_ONCE: "Leave out model, or say none to have the notes quoted.",
    Remedy.CHECK_CHAT_MODEL: "Leave out model, or say none to have the notes quoted.",
    Remedy.ADD_EXTRA: "Tell the user to run `rag doctor`, which names the command.",
    Remedy.SEE_DOCTOR: "Tell the user to run `rag doctor`.",
}


def worded(text: str) -> str:
    """Return a text with what mends what it is about, as far as an agent can do or say it."""
    if not isinstance(text, Message) or text.remedy is None:
        return text
    words = _WORDS.get(text.remedy, "{hint}").format(hint=text.hint).strip()
    if not words:
        return text.cause
    return f"{text.cause}{text.joint}{words}" if text.cause else words


def error_text(error: RAGError) -> str:
    """Return an error in a few lines: what went wrong, what to do, what is near."""
    lines = [f"Error ({error.kind}): {error}", worded(error.hint)]
    if isinstance(error, NotFoundError) and error.suggestions:
        lines.append("Near: " + "; ".join(error.suggestions))
    return "\n".join(filter(None, lines))


def error_details(error: RAGError) -> dict[str, Any]:
    """Return an error for programs, in a result that has others beside it."""
    return {"kind": error.kind, "message": error_text(error)}
