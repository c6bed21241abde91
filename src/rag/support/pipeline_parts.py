"""Parts of Haystack pipelines, which somebody else may have made, and what their failures mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from rag.exceptions import RAGError


class NotCopied:
    """Base of what Haystack, which copies the inputs of every component, is to hand on as it is."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def component_of(pipeline: Any, name: str) -> Any | None:
    """Return a component of a Haystack pipeline; `None` when it has none of that name."""
    try:
        return pipeline.get_component(name)
    except ValueError:
        return None


@contextmanager
def own_errors(kind: type[RAGError], message: str) -> Iterator[None]:
    """Raise errors of ours and of SQLite as they are, and any other failure as `kind`.

    Haystack wraps what a component raises; the original is the wrapper's cause.
    """
    try:
        yield
    except (RAGError, sqlite3.DatabaseError):
        raise
    except Exception as error:
        cause = error.__cause__ or error
        if isinstance(cause, (RAGError, sqlite3.DatabaseError)):
            # Not from the wrapper, whose cause it is: that would be a circle.
            raise cause from cause.__cause__
        raise kind(message, str(cause)) from error
