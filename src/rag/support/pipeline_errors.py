"""What a pipeline's failure means to the caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rag.exceptions import RAGError


@contextmanager
def own_errors(kind: type[RAGError], message: str) -> Iterator[None]:
    """Raise what a component of ours raised as it is, and any other failure as `kind`.

    Haystack wraps what a component raises; the original is the wrapper's cause.
    """
    try:
        yield
    except RAGError:
        raise
    except Exception as error:
        cause = error.__cause__ or error
        if isinstance(cause, RAGError):
            # Not from the wrapper, whose cause it is: that would be a circle.
            raise cause from cause.__cause__
        raise kind(message, str(cause)) from error
