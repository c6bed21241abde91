"""What mends an error, in words for an agent: it has no shell of ours, the user has."""

from __future__ import annotations

from rag.exceptions import Message, NotFoundError, RAGError, Remedy
from rag.mcp.results import Result, clean_line

_QUOTE = "Leave out model, or say none to have the notes quoted."
_REBUILD = (Remedy.REBUILD_INDEX, Remedy.REBUILD_IF_AGAIN, Remedy.REBUILD_OR_REPORT)
_INDEX = (Remedy.RUN_INDEX, Remedy.UPDATE_INDEX, Remedy.WRITE_MISSING)
_MADE_BY_INDEX = ("INDEX_", "EMBED_", "MAKE_VECTORS")
_WORDS: dict[Remedy, str] = {
    **{
        one: "Tell the user to run `rag index`."
        for one in Remedy
        if one in _INDEX or one.name.startswith(_MADE_BY_INDEX)
    },
    **dict.fromkeys(_REBUILD, "Tell the user to run `rag index --rebuild`."),
    Remedy.MAKE_INDEX: "Tell the user to run `rag index FOLDER` on the folder of the notes.",
    Remedy.SEARCH_WORDS: "Look for its words with search.",
    Remedy.SEARCH_OR_CHOOSE: "Name one of these, or look for its words with search.",
    Remedy.LOWER_MIN_SCORE: "(min_score 0 gives them)",
    Remedy.TYPE_QUERY: "Give a query or a filter.",
    Remedy.TYPE_QUESTION: "Give a question.",
    Remedy.LIST_VAULTS: "{hint} The tool status lists the vaults.",
    Remedy.CHOOSE_MODE: "Leave out mode, or use lexical.",
    Remedy.EMBED_OR_CHOOSE_MODE: "Leave out mode, or use lexical.",
    Remedy.ASK_AT_ONCE: _QUOTE,
    Remedy.CHECK_CHAT_MODEL: _QUOTE,
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


def error_lines(error: RAGError) -> str:
    """Return what went wrong, and what is near: names of notes are among it."""
    near = [f"near: {clean_line(one)}" for one in getattr(error, "suggestions", ())]
    return "\n".join([clean_line(str(error)), *near])


def error_result(error: RAGError) -> Result:
    """Return an error as a result: what went wrong, what to do, what is near."""
    hint = worded(error.hint)
    if isinstance(error, NotFoundError):
        return Result(f"Error ({error.kind}).", error_lines(error), hint, is_error=True)
    return Result(f"Error ({error.kind}): {error}\n{hint}".strip(), is_error=True)
