"""How much of a query is read, so that no query takes long.

A query in words stays far below each bound; beyond one, what counts and what does not is said.
"""

from __future__ import annotations

from rag.exceptions import QueryError
from rag.support.unicode_forms import with_few_marks
from rag.text.normalize import normalize

MAX_LENGTH = 4_000  # characters of a query
MOST_PHRASES = 16  # that must stand in a note
MOST_EXCLUDED = 32  # words and phrases that must not
MOST_BEGINNINGS = 16  # of words, with a star; as many again that are excluded
MOST_FIELDS = 16  # `tag:`, `vault:`, `path:` and `title:`
MOST_WORDS = 2_000  # of the notes that all beginnings of a query stand for


def bounded(query: str) -> str:
    """Return a query with no more marks on any letter than a language has.

    :raises QueryError: when it is no text, or too long, as it is typed or in its normal form.
    """
    if not isinstance(query, str):
        raise not_text("query", query)
    if len(query) > MAX_LENGTH:
        raise _too_long(len(query))
    if query.isascii():
        return query
    query = with_few_marks(query)
    # Some characters stand for a whole phrase.
    if (length := len(normalize(query))) > MAX_LENGTH:
        raise _too_long(length)
    return query


def not_text(what: str, given: object) -> QueryError:
    """Return the error of a query, or a question, that is something else than text."""
    return QueryError(f"the {what} must be text, not of type {type(given).__name__}")


def _too_long(length: int) -> QueryError:
    return QueryError(
        f"the query has {length:,} characters, more than {MAX_LENGTH:,}",
        hint="Say it in fewer words.",
    )
